"""Small changes that take a decision back: closed forms, gradients and predict alone, and what notes say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders.contracts import check
from veridical.methods.counterfactual import decide

RNG = np.random.default_rng(0)
PLANE = 2.5 * RNG.normal(size=(12, 20))
SLOPES = RNG.normal(size=PLANE.shape) / 40
TILES = vd.Tiles(5, 4)


def logit(X: Any) -> Any:
    return np.asarray(X, float).reshape(len(X), -1) @ SLOPES.ravel()


OWN = float(logit(PLANE[None])[0])


def classes(X: Any) -> Any:
    """Two probabilities; the instance is at 0.7, of the second class."""
    p = 1 / (1 + np.exp(-(logit(X) - OWN + np.log(0.7 / 0.3))))
    return np.stack([1 - p, p], axis=1)


def explain(model: Any = classes, x: Any = PLANE, **settings: Any) -> vd.Explanation:
    return vd.explain(model, TILES, x, method=vd.methods.Counterfactual(**settings))


def linear_network(k: int = 2) -> Any:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(PLANE.size, k).double()
    with torch.no_grad():
        layer.weight[:] = torch.as_tensor(np.stack([-SLOPES.ravel(), SLOPES.ravel()])[-k:])
        layer.bias[:] = torch.as_tensor(np.array([OWN - 0.5, 0.5 - OWN])[-k:])
    return vd.Network(torch.nn.Sequential(torch.nn.Flatten(), layer))


def constant(network: Any) -> Any:
    """A network that does not look at its input."""
    for parameter in network.module.parameters():
        parameter.data *= 0
    return network


def test_of_a_linear_network_the_change_is_the_sign_of_its_slopes() -> None:
    """Each part's effect is how far it may go times the sum of the sizes of its slopes."""
    why = explain(linear_network(), step=0.2)
    reach = 0.2 * PLANE.std()
    np.testing.assert_allclose(why.weights, reach * TILES(PLANE).gather(np.abs(SLOPES)), rtol=1e-6)
    assert "takes the decision back" in why.notes[0]
    assert f"at most {reach:.3g}" in why.notes[0]
    assert why.n_calls == 1 + 1 + 1 + 20
    np.testing.assert_array_equal(why.intervals, np.stack([why.weights] * 2, axis=1))


def test_the_first_change_that_takes_the_decision_back_is_taken() -> None:
    """The output has to fall by 0.5, which takes 0.5 over the sum of all slopes of every value."""
    least = 0.5 / np.abs(SLOPES).sum() / PLANE.std()
    for share, n in ((1.1, 1), (0.6, 2), (0.3, 4)):
        why = explain(linear_network(), step=share * least)
        assert f"at most {n * share * least * PLANE.std():.3g}" in why.notes[0]
        assert why.n_calls == 1 + 2 * n + 20


def test_a_decision_that_stays_is_told() -> None:
    why = explain(lambda X: classes(X) * 1e-9 + [0.1, 0.9], n_draws=2, n_steps=3)
    assert "does not take the decision back" in why.notes[0]
    assert why.n_calls == 1 + 80 + 3 + 20


@pytest.mark.parametrize(
    ("model", "asked"),
    [(lambda: lambda X: np.full((len(X), 2), 0.5), 80), (lambda: constant(linear_network()), 1)],
    ids=["predict", "network"],
)
def test_where_nothing_lowers_the_output_the_search_ends(model: Any, asked: int) -> None:
    """It is asked once about a change that is none, and not as often as there are steps."""
    why = explain(model(), n_draws=2)
    assert why.notes == ("no small change was found that lowers the output",)
    assert why.n_calls == 1 + asked + 1 + 20
    assert not why.verdict.passed


def test_answers_alone_find_the_slopes_that_blocks_can_tell() -> None:
    """Slopes that are the same in a block of values are found by sign, and so is every part's effect."""
    blocks = np.kron(RNG.normal(size=(6, 10)), np.ones((2, 2)))

    def model(X: Any) -> Any:
        return np.asarray(X, float).reshape(len(X), -1) @ blocks.ravel()

    why = vd.explain(model, TILES, PLANE, method=vd.methods.Counterfactual(n_draws=60, step=0.1, n_steps=1))
    truth = 0.1 * PLANE.std() * TILES(PLANE).gather(np.abs(blocks))
    assert np.corrcoef(why.weights, truth)[0, 1] > 0.9
    assert (why.weights <= truth * (1 + 1e-9)).all()
    assert why.weights.sum() > 0.6 * truth.sum()


def test_answers_alone_cost_less_than_600_calls() -> None:
    why = explain()
    assert why.n_calls <= 1 + 400 + 40 + 20
    assert (why.weights > 0).mean() > 0.9
    assert why.purpose == "change"


def test_the_threshold_decides_where_there_are_one_output_or_two() -> None:
    near = {"step": 0.02, "n_draws": 2, "n_steps": 2}
    assert "takes the decision back" in explain(**near, threshold=0.699).notes[0]
    assert "at most" in explain(**near, threshold=0.01).notes[0]
    assert "does not" in explain(**near, threshold=0.01).notes[0]
    outputs = np.array([[0.2, 0.8], [0.5, 0.5], [0.6, 0.4]])
    np.testing.assert_array_equal(decide(outputs, None), [1, 0, 0])
    np.testing.assert_array_equal(decide(outputs, 0.4), [1, 1, 1])
    np.testing.assert_array_equal(decide(outputs[:, 1:], None), [1, 1, 0])
    np.testing.assert_array_equal(decide(np.eye(3), None), [0, 1, 2])
    check(lambda: decide(np.eye(3), 0.5), vd.errors.InputError, "threshold", "3")


def test_whole_numbers_stay_whole_and_in_range() -> None:
    picture = RNG.integers(0, 256, (8, 8, 3), dtype=np.uint8)
    seen: list[Any] = []

    def model(X: Any) -> Any:
        seen.append(X.copy())
        return X.astype(float).mean(axis=(1, 2, 3)) / 255

    why = vd.explain(model, vd.Grid(2, 2), picture, method=vd.methods.Counterfactual(n_draws=4))
    assert all(X.dtype == np.uint8 for X in seen)
    assert (why.weights > 0).all()


def test_each_target_has_a_change_of_its_own() -> None:
    why = vd.explain(classes, TILES, PLANE, method=vd.methods.Counterfactual(n_draws=3), target=0)
    both = vd.explain(classes, TILES, PLANE, method=vd.methods.Counterfactual(n_draws=3), target=[0, 1])
    np.testing.assert_array_equal(both[0].weights, why.weights)
    assert (both[1].weights > 0).mean() > 0.7
    assert both[0].n_calls >= 1 + 120


def test_a_function_of_the_outputs_may_be_the_target() -> None:
    by_network = vd.explain(
        linear_network(),
        TILES,
        PLANE,
        method=vd.methods.Counterfactual(),
        target=lambda outputs: outputs[:, 1] - outputs[:, 0],
    )
    plain = explain(linear_network())
    np.testing.assert_allclose(by_network.weights, 2 * plain.weights, rtol=1e-6)


def test_of_words_and_columns_the_move_that_lowers_most_counts() -> None:
    def positive(texts: Any) -> Any:
        return [0.5 + 0.4 * ("good" in t) + 0.2 * ("fine" in t) - 0.3 * ("bad" in t) for t in texts]

    why = vd.explain(positive, vd.Words(), "good or fine or bad", method=vd.methods.Counterfactual())
    by_name = dict(zip(why.names, why.weights, strict=True))
    assert by_name["good"] == pytest.approx(0.4)
    assert by_name["bad"] == pytest.approx(-0.3)
    assert by_name["or"] == 0
    assert "take the decision back so: good" in why.notes[0]
    frame = pd.DataFrame({"amount": RNG.normal(size=50), "city": RNG.choice(["Bern", "Oslo"], 50)})
    row = pd.DataFrame({"amount": [0.0], "city": ["Oslo"]})
    why = vd.explain(
        lambda X: 0.55 - 0.1 * X["amount"] + 0.3 * (X["city"] == "Oslo"),
        vd.Rows(frame),
        row,
        method=vd.methods.Counterfactual(),
    )
    assert why.weights[0] == pytest.approx(0.0125 * frame["amount"].std(), rel=0.1)
    assert why.weights[1] == pytest.approx(0.3)
    assert "take the decision back so: none" in why.notes[0]


def test_bad_settings_are_refused() -> None:
    check(lambda: vd.methods.Counterfactual(step=-1), vd.errors.InputError, "step", "-1")
    check(lambda: vd.methods.Counterfactual(n_steps=0), vd.errors.InputError, "n_steps")
    check(lambda: vd.methods.Counterfactual(n_draws=0), vd.errors.InputError, "n_draws")
    check(lambda: vd.methods.Counterfactual(threshold="high"), vd.errors.InputError, "threshold")  # type: ignore[arg-type]
