"""LIME's settings: stopping, presets, surrogates, targets, and honest evidence."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.records import Floats, Neighborhood
from veridical.toys import Game, LinearModel, all_of

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(500, 8)) @ np.diag([1, 2, 3, 1, 1, 1, 5, 1])


def bumpy(X: Any) -> Floats:
    """A saturating model with an interaction; columns 4 to 7 do nothing."""
    X = np.asarray(X)
    return 1 / (1 + np.exp(-(X[:, 0] + X[:, 1] / 2 - X[:, 2] / 3 + 0.5 * X[:, 0] * X[:, 3])))


def two_columns(X: Any) -> Floats:
    p = bumpy(X)
    return np.stack([1 - p, p], axis=1)


@pytest.mark.parametrize("parts", [vd.bins.Quartiles(), vd.bins.Continuous()], ids=["bins", "numbers"])
def test_fidelity_is_what_fresh_samples_show(parts: Any) -> None:
    """Held-out R² agrees with R² on 2¹⁵ fresh samples; the in-sample R² would be too high by about d/n."""
    rows = vd.Rows(TABLE, discretize=parts)
    for i in range(5):
        why = vd.explain(bumpy, rows, TABLE[i], method=linear_lime(n_samples=1024), rng=i)
        row = rows(TABLE[i])
        fresh = row.draw(row.kernel, np.random.SeedSequence(10**6 + i), 0, 2**15)
        y = bumpy(row.realize(fresh))[1:]
        w, guess = fresh.weights[1:], why.intercept + fresh.designs[1:] @ why.weights
        r2 = 1 - (w @ (y - guess) ** 2) / (w @ (y - w @ y / w.sum()) ** 2)
        assert abs(why.fidelity - r2) < 0.04


def test_fidelity_of_pure_noise_is_not_positive() -> None:
    """A model that answers at random has nothing to explain: held-out R² must not claim otherwise."""
    noise = np.random.default_rng(1)
    why = vd.explain(lambda X: noise.random(len(X)), vd.Rows(TABLE), TABLE[0], method=vd.Lime(n_samples=256))
    assert why.fidelity < 0.02
    assert not why.verdict.passed


def test_sampling_stops_when_the_top_is_settled() -> None:
    steep = LinearModel((9.0, 1.0, 0, 0, 0, 0, 0, 0))
    highest = TABLE[np.argmax(TABLE[:, 0])]
    easy = vd.explain(steep, vd.Rows(TABLE), highest, method=linear_lime(until=vd.TopK(1)))
    assert easy.n_calls == 129
    rule = vd.TopK(3, probability=0.99, tolerance=0.01)
    hard = vd.explain(bumpy, vd.Rows(TABLE), TABLE[0], method=linear_lime(until=rule, max_calls=4096))
    assert easy.n_calls < hard.n_calls <= 4096
    assert hard.top_k == 3


def test_a_budget_that_ends_first_is_said() -> None:
    noise = np.random.default_rng(1)
    why = vd.explain(lambda X: noise.random(len(X)), vd.Rows(TABLE), TABLE[0], method=vd.Lime(max_calls=300))
    assert why.n_calls == 300
    assert why.top_probability < 0.95
    assert why.verdict.sentence == "After 300 calls no weight can be told from zero."
    assert why.verdict.advice == "Try more samples: `n_samples=1200`."


def test_the_top_k_at_the_stop_is_right_within_the_tolerance() -> None:
    rows = vd.Rows(TABLE)
    right = 0
    for i in range(20):
        truth = np.abs(vd.explain(bumpy, rows, TABLE[i], method=vd.Lime(n_samples=2**16, max_calls=2**17)).weights)
        why = vd.explain(bumpy, rows, TABLE[i], method=vd.Lime(until=vd.TopK(3)), rng=i)
        chosen = np.argsort(-np.abs(why.weights))[:3]
        right += bool((truth[chosen] >= np.sort(truth)[-3] - 0.1 * truth.max()).all())
    assert right >= 18  # 95 % of 20, less one


def test_a_constant_model_gives_no_evidence_and_no_list() -> None:
    why = vd.explain(lambda X: np.full(len(X), 0.3), vd.Rows(TABLE), TABLE[0])
    assert why.top(5) == []
    assert not why.weights.any()
    assert "got the same answer, 0.3: there is nothing to explain" in why.verdict.sentence
    assert why.verdict.label == "none"


def test_several_targets_share_the_samples() -> None:
    asked: list[int] = []

    def predict(X: Any) -> Floats:
        asked.append(len(X))
        return two_columns(X)

    both = vd.explain(predict, vd.Rows(TABLE), TABLE[0], target=[0, 1], method=vd.Lime(n_samples=512))
    assert asked == [513]
    np.testing.assert_allclose(both[0].weights, -both[1].weights, atol=1e-12)


def test_targets_by_index_name_and_function() -> None:
    rows, fixed = vd.Rows(TABLE), vd.Lime(n_samples=512)

    def logit(outputs: Floats) -> Floats:
        return np.log(outputs[:, 1] / outputs[:, 0])

    index = vd.explain(two_columns, rows, TABLE[0], target=1, method=fixed)
    name = vd.explain(two_columns, rows, TABLE[0], target="yes", classes=["no", "yes"], method=fixed)
    logits = vd.explain(two_columns, rows, TABLE[0], target=logit, method=fixed)
    np.testing.assert_array_equal(index.weights, name.weights)
    assert (index.target, name.target, logits.target) == (1, "yes", "logit")
    assert logits.prediction == pytest.approx(np.log(index.prediction / (1 - index.prediction)))
    default = vd.explain(two_columns, rows, TABLE[0], method=fixed)
    assert default.target == int(np.argmax(two_columns(TABLE[:1])[0]))
    assert vd.explain(bumpy, rows, TABLE[0], method=fixed).target == "value"


@pytest.mark.parametrize(
    "select", [vd.selectors.highest_weights, vd.selectors.lasso_path, vd.selectors.forward_selection]
)
def test_sparse_explanations_keep_k_parts_and_say_so(select: Any) -> None:
    why = vd.explain(
        bumpy, vd.Rows(TABLE), TABLE[0], method=linear_lime(n_features=3, select=select, n_samples=2048)
    )
    assert np.count_nonzero(why.weights) == 3
    assert set(np.flatnonzero(why.weights)) == {0, 1, 2}
    assert any(f"3 of 8 parts were chosen by {select.__name__}" in note for note in why.notes)


def test_presets_have_the_settings_of_their_originals() -> None:
    paper, experiments, package = vd.Lime.paper(), vd.Lime.experiments(), vd.Lime.package()
    assert (paper.n_samples, experiments.n_samples, package.n_samples) == (5000, 15000, 5000)
    row = vd.Rows(TABLE)(TABLE[0])
    far = np.array([1.0])
    # the paper's kernel exp(-D²/σ²) is the square of the package's sqrt(exp(-D²/σ²))
    np.testing.assert_allclose(paper.kernel_for(row)(far), package.kernel_for(row)(far) ** 2)
    for preset in (paper, experiments, package):
        why = vd.explain(bumpy, vd.Rows(TABLE), TABLE[0], method=preset)
        assert why.n_calls == preset.n_samples + 1


def test_without_an_intercept_the_surrogate_goes_through_its_offset() -> None:
    rows = vd.Rows(TABLE)
    fitted = vd.explain(bumpy, rows, TABLE[0], method=vd.Lime(n_samples=2048))
    through_zero = vd.explain(bumpy, rows, TABLE[0], method=vd.Lime.paper(n_features=8))
    through_mean = vd.explain(bumpy, rows, TABLE[0], method=vd.Lime.experiments(n_features=8))
    assert fitted.intercept != 0
    assert through_zero.intercept == 0
    row = rows(TABLE[0])
    sample = row.draw(row.kernel, np.random.SeedSequence(0), 0, 15000)
    assert through_mean.intercept == pytest.approx(bumpy(row.realize(sample))[1:].mean())


def test_a_tree_shows_the_path_and_its_weights_add_up_to_the_leaf() -> None:
    why = vd.explain(all_of(1, 4), Game(), 8, method=vd.Lime(surrogate=vd.surrogates.Tree(2), n_samples=256))
    assert why.local_prediction == 1.0
    assert why.intercept + why.weights.sum() == pytest.approx(1.0)
    assert set(np.flatnonzero(why.weights)) == {1, 4}
    assert {why.path[0], why.path[1]} == {"part 1", "part 4"}
    assert why.path[2].startswith("leaf: 1,")
    assert why.fidelity == pytest.approx(1.0)


def test_a_sampled_tree_has_intervals_that_hold_its_weights() -> None:
    why = vd.explain(
        bumpy, vd.Rows(TABLE), TABLE[0], method=vd.Lime(surrogate=vd.surrogates.Tree(3), n_samples=512)
    )
    used = np.flatnonzero(why.weights)
    assert (why.intervals[used, 0] < why.weights[used]).all()
    assert (why.intervals[used, 1] > why.weights[used]).all()
    assert 0 < why.fidelity < 1


def test_enumeration_is_exact() -> None:
    why = vd.explain(all_of(0, 1), Game(), 8)
    np.testing.assert_array_equal(why.intervals[:, 0], why.intervals[:, 1])
    assert why.n_calls == 2**8 + 1
    assert why.top_probability == 1.0


def test_a_table_of_few_categories_is_enumerated() -> None:
    table = np.random.default_rng(0).integers(0, 3, (200, 4))
    rows = vd.Rows(table, categorical=[0, 1, 2, 3])
    why = vd.explain(
        lambda X: (X[:, 0] == 1) * 2.0 + (X[:, 1] == 0), rows, np.array([1, 0, 2, 2]), method=linear_lime()
    )
    np.testing.assert_allclose(why.weights, [2, 1, 0, 0], atol=1e-9)
    assert why.n_calls == 3**4 + 1


def test_a_narrow_kernel_is_no_problem() -> None:
    """Samples drawn near the row: a width at which weighting would leave one sample in ten thousand."""
    rows = vd.Rows(TABLE, discretize=vd.bins.Continuous())
    x = TABLE[0]
    why = vd.explain(bumpy, rows, x, method=vd.Lime(kernel=vd.kernels.Gaussian(0.05), n_samples=2048))
    step = 1e-4 * TABLE.std(axis=0)
    slope = np.array([(bumpy(x[None] + s) - bumpy(x[None] - s))[0] / 2e-4 for s in np.diag(step)])
    np.testing.assert_allclose(why.weights, slope, atol=0.02 * np.abs(slope).max())
    assert why.effective_size == pytest.approx(2048)


def test_a_part_that_never_occurs_in_the_background_gets_no_weight() -> None:
    x = TABLE[3].copy()
    x[5] = 99.0
    why = vd.explain(bumpy, vd.Rows(TABLE, discretize=vd.bins.Edges({5: [0.0, 50.0]})), x, method=linear_lime())
    assert why.weights[5] == 0
    assert np.isinf(why.intervals[5]).all()
    assert any("hardly ever change" in note for note in why.notes)


def test_rare_states_are_drawn_more_often_and_weighed_less() -> None:
    """A category of 1 row in 100: the same limit, a far smaller error than its share would allow."""
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=(2000, 5)), rng.random(2000) < 0.01])
    rows = vd.Rows(table)
    x = table[table[:, 5] == 1][0]

    def model(X: Any) -> Floats:
        return np.tanh(X[:, 0] + X[:, 1]) + X[:, 5] * (1 + 0.3 * X[:, 2])

    row = rows(x)
    sample = row.draw(row.kernel, np.random.SeedSequence(0), 0, 1024)
    assert 50 < sample.designs[1:, 5].sum() < 200
    y = model(rows.background.realize(rows.background.draw(np.random.SeedSequence(1), 0, 2**17)))
    runs = np.array([vd.explain(model, rows, x, method=vd.Lime(n_samples=1024), rng=s).weights for s in range(20)])
    limit = vd.explain(model, rows, x, method=vd.Lime(n_samples=2**17, max_calls=2**18)).weights
    rms = np.sqrt(np.mean((runs[:, 5] - limit[5]) ** 2))
    assert rms < 0.5 * y.std() / np.sqrt(0.01 * 1024)  # half of what drawing it at its rate would leave
    assert abs(runs[:, 5].mean() - limit[5]) < 4 * rms / np.sqrt(20)


def test_a_recipe_makes_the_same_explanation_again() -> None:
    rows = vd.Rows(TABLE)
    settings = vd.Lime(
        n_samples=700, n_features=4, select=vd.selectors.lasso_path, kernel=vd.kernels.Gaussian(0.5)
    )
    for method in (settings, vd.Lime(), vd.Lime(surrogate=vd.surrogates.Tree(2), n_samples=200), vd.Lime.paper()):
        why = vd.explain(two_columns, rows, TABLE[0], method=method, rng=np.random.default_rng(5), target=1)
        again = vd.rerun(two_columns, rows, TABLE[0], json.loads(json.dumps(dict(why.recipe))))
        np.testing.assert_array_equal(why.weights, again.weights)
        np.testing.assert_array_equal(why.intervals, again.intervals)


def test_a_recipe_with_a_function_of_ones_own_says_that_it_cannot_be_rerun() -> None:
    why = vd.explain(bumpy, vd.Rows(TABLE), TABLE[0], method=vd.Lime(kernel=lambda d: 1 / (1 + d)))
    with pytest.raises(vd.errors.InputError, match="build the method by hand"):
        vd.rerun(bumpy, vd.Rows(TABLE), TABLE[0], why.recipe)
    with pytest.raises(vd.errors.InputError, match=r"pass why\.recipe"):
        vd.rerun(bumpy, vd.Rows(TABLE), TABLE[0], {})


def test_the_index_control_variate_lowers_the_error_and_not_the_meaning() -> None:
    """On a saturating model the error falls; the mean over seeds stays at the limit."""

    def step(X: Any) -> Floats:
        return 1 / (1 + np.exp(-3 * (X[:, 0] + X[:, 1] / 2 - X[:, 2] / 3)))

    rows = vd.Rows(TABLE, discretize=vd.bins.Continuous())
    truth = vd.explain(step, rows, TABLE[1], method=linear_lime(n_samples=2**17, max_calls=2**18)).weights

    with_controls, without = [], []
    for seed in range(20):
        row = rows(TABLE[1])
        sample = row.draw(row.kernel, np.random.SeedSequence(seed), 0, 512)
        outputs = step(row.realize(sample))
        near = Neighborhood.of(row.names, sample)
        plain = replace(near, design=replace(near.design, center=None, spread=None))
        with_controls.append(vd.surrogates.Linear()(near, outputs[1:]).weights[0] - truth)
        without.append(vd.surrogates.Linear()(plain, outputs[1:]).weights[0] - truth)
    error = np.sqrt(np.mean(np.square(with_controls)))
    assert error < 0.8 * np.sqrt(np.mean(np.square(without)))
    assert np.abs(np.mean(with_controls, axis=0)).max() < 4 * error / np.sqrt(20)


class Tensor:
    """Answers as a torch tensor does to what we ask of it."""

    def __init__(self, values: Floats) -> None:
        self.values = values

    def detach(self) -> Tensor:
        return self

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> Floats:
        return self.values.astype(np.float32)


@pytest.mark.parametrize(
    "form",
    [
        lambda p: p,
        lambda p: p[:, None],
        lambda p: p.tolist(),
        lambda p: [[v] for v in p],
        lambda p: pd.Series(p),
        lambda p: pd.DataFrame({"p": p}),
        lambda p: p.astype(object),
        Tensor,
    ],
    ids=["(n,)", "(n, 1)", "list", "list of lists", "Series", "DataFrame", "objects", "tensor"],
)
def test_outputs_of_every_form_mean_the_same(form: Any) -> None:
    rows, method = vd.Rows(TABLE), vd.Lime(n_samples=256)
    plain = vd.explain(bumpy, rows, TABLE[0], method=method)
    why = vd.explain(lambda X: form(bumpy(X)), rows, TABLE[0], method=method)
    np.testing.assert_allclose(why.weights, plain.weights, atol=1e-6)  # tensors are of single precision
    assert why.target == "value"


def test_an_answer_that_differs_by_rounding_is_the_same_answer() -> None:
    why = vd.explain(lambda masks: 0.3 + 1e-16 * np.asarray(masks).min(axis=1), Game(), 12, method=linear_lime())
    assert why.verdict.sentence == "All 256 variations got the same answer, 0.3: there is nothing to explain here."


def test_an_explanation_keeps_how_far_outputs_reach() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    seen: list[Any] = []

    def model(Z: Any) -> Any:
        high = 1e3 * np.exp(Z[:, 0])
        seen.append(high)
        return np.stack([high, -high, np.ones(len(Z))], axis=1)

    for method in (vd.Lime(n_samples=100), vd.Occlusion()):
        seen.clear()
        why = vd.explain(model, vd.Rows(X), X[0], target=vd.records.Output(0), method=method)
        every = np.concatenate(seen)
        assert why.output_range == pytest.approx((every.min(), every.max()))
    one = vd.explain(lambda Z: Z[:, 0], vd.Rows(X), X[0])
    assert one.output_range[0] < one.prediction < one.output_range[1]
