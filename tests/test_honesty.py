"""Cases in which a careless tool would claim more than it knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from veridical.records import Floats
from veridical.toys import Game, all_of

TABLE = np.random.default_rng(0).normal(size=(500, 8))


def corner(X: Any) -> Floats:
    """1 if four conditions hold at once: a leaf of a tree, which few samples ever see."""
    return (np.asarray(X)[:, :4] > 0.6745).all(axis=1) * 1.0


@pytest.mark.parametrize("seed", range(5))
def test_samples_on_which_the_model_does_not_move_settle_nothing(seed: int) -> None:
    why = vd.explain(corner, vd.Rows(TABLE), np.ones(8), rng=seed)
    assert why.prediction == 1
    assert why.n_calls > 1000
    assert not why.verdict.passed
    assert np.isnan(why.fidelity) or why.fidelity < 0.3


def test_a_cause_that_no_sample_shows_is_said() -> None:
    why = vd.explain(corner, vd.Rows(TABLE), np.ones(8), method=vd.Lime(n_samples=12))
    assert why.top() == []
    assert "answers 1 here, but 0 to all 12 samples" in why.verdict.sentence
    assert np.isnan(why.fidelity)


@pytest.mark.parametrize("preset", [vd.Lime.paper(8), vd.Lime.experiments(8), vd.Lime.package(8), vd.Lime()])
def test_fidelity_is_about_the_mean_whatever_the_intercept(preset: vd.Lime) -> None:
    def noise(X: Any) -> Floats:
        return 0.5 + 0.05 * np.sin(1e5 * np.asarray(X).sum(axis=1))

    why = vd.explain(noise, vd.Rows(TABLE), TABLE[0], method=preset)
    assert why.fidelity < 0.05
    assert not why.verdict.passed


@pytest.mark.parametrize("d", [2, 3, 5, 10])
def test_fidelity_of_numbers_is_what_fresh_samples_show(d: int) -> None:
    """A skewed model, whose tails a careless leave-one-out would blow up."""
    X = np.random.default_rng(1).normal(size=(2000, d))
    rows, x = vd.Rows(X, discretize=vd.Continuous()), np.full(d, 0.3)

    def skewed(X: Any) -> Floats:
        return np.exp(0.5 * np.asarray(X).sum(axis=1))

    row = rows(x)
    fresh = row.draw(row.kernel, np.random.SeedSequence(99), 0, 2**15)
    y = skewed(row.realize(fresh))[1:]
    for seed in range(5):
        why = vd.explain(skewed, rows, x, method=vd.Lime(n_samples=1024), rng=seed)
        guess = why.intercept + fresh.designs[1:] @ why.weights
        assert abs(why.fidelity - (1 - np.sum((y - guess) ** 2) / np.sum((y - y.mean()) ** 2))) < 0.15


def test_intervals_of_a_skewed_model_cover() -> None:
    X = np.random.default_rng(1).normal(size=(2000, 5))
    rows, x = vd.Rows(X, discretize=vd.Continuous()), np.full(5, 0.3)

    def skewed(X: Any) -> Floats:
        return np.exp(0.5 * np.asarray(X).sum(axis=1))

    limit = vd.explain(skewed, rows, x, method=vd.Lime(n_samples=2**17, max_calls=2**18)).weights
    inside = []
    for seed in range(40):
        why = vd.explain(skewed, rows, x, rng=seed)
        inside.append((why.intervals[:, 0] <= limit) & (limit <= why.intervals[:, 1]))
    assert np.mean(inside) > 0.92


@pytest.mark.parametrize("width", [1.0, 0.2, 0.06, 0.03])
def test_a_narrow_kernel_shrinks_nothing(width: float) -> None:
    """Weights of bins of a linear model do not depend on the width (card A, T4), however narrow it is."""
    coefficients = np.arange(1.0, 9.0)
    truth = vd.explain(
        lambda X: X @ coefficients, vd.Rows(TABLE), TABLE[0], method=vd.Lime(n_samples=2**15, max_calls=2**16)
    )
    why = vd.explain(
        lambda X: X @ coefficients, vd.Rows(TABLE), TABLE[0], method=vd.Lime(width=width, n_samples=2048)
    )
    known = np.isfinite(why.intervals).all(axis=1)
    width_of = np.ptp(why.intervals, axis=1)[known]
    assert (np.abs(why.weights - truth.weights)[known] <= np.maximum(width_of, 0.1)).all()
    assert known.any() or not why.verdict.passed


def test_a_kernel_that_leaves_no_samples_is_told_so() -> None:
    narrow = vd.Lime(kernel=lambda D: np.exp(-0.5 * (D / 0.05) ** 2), n_samples=1024)
    why = vd.explain(lambda X: X[:, 0], vd.Rows(TABLE, discretize=vd.Continuous()), TABLE[0], method=narrow)
    assert "effective samples" in why.verdict.sentence
    assert np.isinf(why.intervals).all()
    assert why.top_probability == 0


def test_few_samples_raise_nothing_and_claim_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(500, 20))
    for seed in range(20):
        why = vd.explain(
            lambda X: np.sin(9 * X).sum(axis=1), vd.Rows(X), X[0], method=vd.Lime(n_samples=23), rng=seed
        )
        assert not why.verdict.passed


def test_a_sparse_choice_does_not_settle_the_top() -> None:
    noise = np.random.default_rng(1)
    why = vd.explain(
        lambda X: noise.random(len(X)), vd.Rows(TABLE), TABLE[0], method=vd.Lime(n_features=3, max_calls=600)
    )
    assert why.n_calls == 600
    assert why.top_probability < 0.95


def test_a_tree_samples_until_the_top_is_settled_too() -> None:
    noise = np.random.default_rng(1)
    why = vd.explain(
        lambda X: noise.random(len(X)),
        vd.Rows(TABLE),
        TABLE[0],
        method=vd.Lime(surrogate=vd.Tree(2), max_calls=600),
    )
    assert why.n_calls == 600


def test_many_rows_find_what_one_finds_when_a_state_is_rare() -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 5)), columns=list("abcde"))
    table["flag"] = np.where(np.arange(2000) == 7, "yes", "no")
    rows = vd.Rows(table)

    def model(X: Any) -> Any:
        return X["a"] + 50.0 * (X["flag"] == "yes")

    for why in (*vd.explain_many(model, rows, table[6:8]), vd.explain(model, rows, table.iloc[7])):
        name, weight = why.top(1)[0]
        assert name.startswith("flag")
        assert 40 < abs(weight) < 60


def test_a_recipe_belongs_to_one_explanation() -> None:
    first = vd.explain(lambda X: X[:, 0], vd.Rows(TABLE), TABLE[0])
    first.recipe["method"]["width"] = 99
    second = vd.explain(lambda X: X[:, 0], vd.Rows(TABLE), TABLE[0])
    assert second.recipe["method"]["width"] == 1.0


@pytest.mark.parametrize(("size", "told"), [(1e-3, True), (1.0, False)])
def test_weights_of_next_to_nothing_are_told(size: float, told: bool) -> None:
    why = vd.explain(lambda X: 1 + size * (X[:, 0] > 0), vd.Rows(TABLE), TABLE[0])
    assert any(note.startswith("All parts together move the output by at most") for note in why.notes) is told


def test_rounding_is_no_weight() -> None:
    table = pd.DataFrame(np.random.default_rng(0).random((100, 3)) < 0.5, columns=list("abc"))
    why = vd.explain(lambda X: 0.1 * X["a"], vd.Rows(table), table.iloc[0])
    assert [name.split()[0] for name, _ in why.top()] == ["a"]
    assert why.verdict.sentence.startswith("Believe the first;")


def test_a_tree_of_all_that_can_be_drawn_finds_an_and() -> None:
    why = vd.explain(all_of(0, 1), Game(), 3, method=vd.Lime(surrogate=vd.Tree(2)))
    assert set(np.flatnonzero(why.weights)) == {0, 1}
    assert why.fidelity == pytest.approx(1)


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-12, 1.0, 1e12, 1e160, 1e300])
@pytest.mark.parametrize("many", [False, True])
def test_the_size_of_the_outputs_changes_no_verdict(size: float, many: bool) -> None:
    def model(X: Any) -> Floats:
        return np.tanh(np.asarray(X)[:, 0] + np.asarray(X)[:, 1] / 2) * size

    rows, method = vd.Rows(TABLE), vd.Lime(n_samples=1024)
    why = (
        vd.explain_many(model, rows, TABLE[:1], method=method)[0]
        if many
        else vd.explain(model, rows, TABLE[0], method=method)
    )
    unit = (vd.explain_many if many else vd.explain)(
        lambda X: np.tanh(X[:, 0] + X[:, 1] / 2), rows, TABLE[:1], method=method
    )
    unit = unit[0] if many else unit
    assert why.verdict.sentence == unit.verdict.sentence
    np.testing.assert_allclose(why.weights / size, unit.weights, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(why.intervals / size, unit.intervals, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("z", [10.0, 50.0, 100.0, 1000.0])
def test_a_row_far_out_is_explained(z: float) -> None:
    x = TABLE[0].copy()
    x[0] = z
    rows = vd.Rows(TABLE, discretize=vd.Continuous())
    for why in (vd.explain(lambda X: X[:, 1], rows, x), vd.explain_many(lambda X: X[:, 1], rows, x[None])[0]):
        np.testing.assert_allclose(why.weights[1], TABLE[:, 1].std(), rtol=1e-6)
        assert why.verdict.passed


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("parts", [vd.Quartiles(), vd.Continuous()])
def test_columns_of_impossible_sizes_are_refused(size: float, parts: Any) -> None:
    with pytest.raises(vd.InputError, match="another unit"):
        vd.Rows(TABLE * size, discretize=parts)


def test_settings_that_would_be_ignored_are_refused() -> None:
    with pytest.raises(vd.InputError, match="n_features"):
        vd.Lime(select=vd.lasso_path)
    with pytest.raises(vd.InputError, match="width"):
        vd.Lime(kernel=vd.Gaussian(0.5), width=0.5)
    with pytest.raises(vd.InputError, match="at most 512"):
        vd.Rows(np.random.default_rng(0).normal(size=(5000, 2)), discretize=vd.Quantiles(2000))


def test_a_value_that_was_never_seen_is_explained() -> None:
    table = np.column_stack([TABLE[:, 0], np.arange(500) % 2])
    why = vd.explain(lambda X: X[:, 1], vd.Rows(table), [0.0, 2.0])
    assert why.names[1] == "x1 = 2"
    assert "never seen" in why.notes[0]
