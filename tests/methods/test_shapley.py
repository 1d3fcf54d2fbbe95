"""Shapley values: closed forms, a slow reference, exact efficiency, and intervals that cover."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import veridical as vd
from tests.builders.contracts import Spy, bits, check
from veridical import toys
from veridical.methods.shapley import MIN_PAIRS_FOR_TERMS, Coalitions
from veridical.sampling.masks import all_masks

SEED = np.random.SeedSequence(3)


def slow_shapley(game: Callable[[Any], Any], d: int) -> Any:
    """What each part adds when it comes, averaged over all orders in which the parts may come."""
    values = {tuple(mask): float(game(mask[None].astype(float))[0]) for mask in all_masks(d) != 0}
    total, orders = np.zeros(d), list(permutations(range(d)))
    for order in orders:
        mask = np.zeros(d, bool)
        for j in order:
            before = values[tuple(mask)]
            mask[j] = True
            total[j] += values[tuple(mask)] - before
    return total / len(orders)


def sum_of_products(d: int, seed: int, most: int = 5) -> tuple[Callable[[Any], Any], Any]:
    """A game of products of one to ``most`` parts, whose Shapley values are equal shares of each product."""
    rng = np.random.default_rng(seed)
    terms = [(rng.choice(d, rng.integers(1, most + 1), replace=False), rng.normal()) for _ in range(12)]
    values = np.zeros(d)
    for parts, height in terms:
        values[parts] += height / len(parts)

    def game(masks: Any) -> Any:
        return sum(height * np.asarray(masks)[:, parts].min(axis=1) for parts, height in terms)

    return game, values


def explain(game: Callable[[Any], Any], d: int, method: Any = None, rng: int = 0) -> vd.Explanation:
    return vd.explain(game, toys.Game(), d, method=method or vd.KernelShap(), rng=rng)


# Closed forms ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 3, 5, 8])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_games_of_logic_have_their_known_values(n: int, d: int) -> None:
    if n > d:
        return
    parts, share = range(n), np.where(np.arange(d) < n, 1 / n, 0.0)
    for game, base in ((toys.all_of(*parts), 0.0), (toys.any_of(*parts), 0.0)):
        why = explain(game, d)
        np.testing.assert_allclose(why.weights, share, atol=1e-12)
        assert why.intercept == pytest.approx(base, abs=1e-12)
        np.testing.assert_allclose(why.intervals, np.stack([why.weights] * 2, axis=1))
        assert why.n_calls == 2**d


def test_of_exactly_one_nothing_is_left_to_share() -> None:
    np.testing.assert_allclose(explain(toys.one_of(0, 1), 4).weights, 0.0, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6])
def test_all_masks_give_what_the_definition_says(d: int) -> None:
    table = np.random.default_rng(d).normal(size=2**d)

    def game(masks: Any) -> Any:
        return table[(np.asarray(masks) @ 2 ** np.arange(d)).astype(int)]

    why = explain(game, d)
    np.testing.assert_allclose(why.weights, slow_shapley(game, d), atol=1e-12)
    assert why.intercept == table[0]


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7), st.integers(0, 2**31))
def test_shapleys_axioms(d: int, seed: int) -> None:
    """Efficiency, symmetry, a part that does nothing, and sums of games."""
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=(2, 2 ** (d - 1)))

    def of(table: Any) -> Callable[[Any], Any]:  # the last part does nothing
        return lambda masks: table[(np.asarray(masks)[:, :-1] @ 2 ** np.arange(d - 1)).astype(int)]

    first, second = explain(of(one), d), explain(of(other), d)
    both = explain(of(one + other), d)
    np.testing.assert_allclose(both.weights, first.weights + second.weights, atol=1e-10)
    assert abs(first.weights[-1]) < 1e-12
    assert first.intercept + first.weights.sum() == pytest.approx(first.prediction, abs=1e-12)
    turned = explain(lambda masks: of(one)(np.asarray(masks)[:, [*reversed(range(d - 1)), d - 1]]), d)
    np.testing.assert_allclose(turned.weights[:-1], first.weights[:-1][::-1], atol=1e-12)


def test_a_linear_model_of_many_parts_needs_few_calls() -> None:
    slopes = np.random.default_rng(0).normal(size=60)
    why = explain(lambda masks: np.asarray(masks) @ slopes + 2, 60)
    np.testing.assert_allclose(why.weights, slopes, atol=1e-9)
    assert why.intercept == pytest.approx(2, abs=1e-12)
    assert why.fidelity == pytest.approx(1)
    assert why.verdict.passed
    assert why.n_calls <= 1024


def test_products_of_two_and_three_parts_are_exact_from_a_sample() -> None:
    """What is even drops out of differences, and three of the heaviest have a term of their own."""
    heavy = np.array([3.0, -2.0, 2.5, 1.5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])

    def game(masks: Any) -> Any:
        m = np.asarray(masks)
        return m @ heavy + m[:, 4] * m[:, 5] + 2 * m[:, 0] * m[:, 1] * m[:, 2]

    truth = heavy + np.where(np.arange(14) < 3, 2 / 3, 0) + np.isin(np.arange(14), (4, 5)) / 2
    why = explain(game, 14, vd.KernelShap(n_samples=1024))
    np.testing.assert_allclose(why.weights, truth, atol=5e-3)
    few = explain(game, 14, vd.KernelShap(n_samples=2 * MIN_PAIRS_FOR_TERMS - 2))  # too few for those terms
    assert np.abs(few.weights - truth).max() > 10 * np.abs(why.weights - truth).max()


def test_rows_of_a_linear_model_against_the_mean_of_the_background() -> None:
    """Of a linear model a Shapley value is the slope times what the value is above the background's mean."""
    X = np.random.default_rng(0).normal(size=(4000, 6))
    slopes = np.array([2.0, -1.0, 0.5, 0.0, 1.0, -3.0])
    rows = vd.Rows(X)
    why = vd.explain(lambda X: X @ slopes, rows, X[5], method=vd.KernelShap(n_samples=2**15))
    drawn = rows(X[5]).keeping(np.zeros((2**17, 6), bool), SEED)
    truth = slopes * (X[5] - drawn.mean(axis=0))
    error = np.diff(why.intervals, axis=1)[:, 0] / 2 / 1.96 + np.abs(slopes) * X.std() / 2**8.5
    np.testing.assert_array_less(np.abs(why.weights - truth), 4 * error + 1e-12)
    assert error.max() < 0.05
    assert np.abs(truth).max() > 20 * error.max()


def test_mixed_columns_and_sparse_rows() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=300), "city": rng.choice(["Bern", "Oslo"], 300)})

    def model(X: pd.DataFrame) -> Any:
        return np.where(X["city"] == "Oslo", 2.0, 0.0) + X["x"]

    x = {"x": 1.5, "city": "Oslo"}
    why = vd.explain(model, vd.Rows(frame), x, method=vd.KernelShap(n_samples=2**14))
    share = (frame["city"] == "Oslo").mean()
    low, high = why.intervals[1] + [-0.02, 0.02]
    assert low <= 2 * (1 - share) <= high
    sparse = csr_matrix(np.diag([1.0, 2.0, 3.0]) + 1)
    exact = vd.explain(lambda S: S @ [1.0, 2.0, 3.0], vd.Rows(sparse), sparse[0], method=vd.KernelShap())
    np.testing.assert_allclose(exact.weights, [2, 2, 3], atol=1e-12)


# Efficiency, budgets, growth -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [64, 200, 1000])
def test_intercept_and_weights_sum_to_the_prediction(n: int) -> None:
    for seed in range(5):
        game, _ = sum_of_products(18, seed)
        why = explain(game, 18, vd.KernelShap(n_samples=n), seed)
        assert why.intercept + why.weights.sum() == pytest.approx(why.prediction, abs=1e-12)
        assert why.local_prediction == why.prediction
        X = np.random.default_rng(seed).normal(size=(100, 9))
        row = vd.explain(lambda X: np.tanh(X.sum(axis=1)), vd.Rows(X), X[0], method=vd.KernelShap(n_samples=n))
        assert row.intercept + row.weights.sum() == pytest.approx(row.prediction, abs=1e-12)


@pytest.mark.parametrize("budget", [200, 333, 1024, 5000])
def test_the_budget_is_kept_and_no_mask_is_asked_about_twice(budget: int) -> None:
    never = vd.TopK(k=3, probability=0.999999, tolerance=0.0)
    spy = Spy(lambda masks: np.sin(np.asarray(masks) @ np.arange(1, 17.0) ** 2))
    why = explain(spy, 16, vd.KernelShap(until=never, max_calls=budget))
    assert budget - 20 <= why.n_calls == spy.n_rows <= budget
    masks = np.concatenate(spy.batches)
    assert len(np.unique(masks, axis=0)) == len(masks)


def test_more_samples_keep_those_before_them() -> None:
    for again in (False, True):
        pairs = Coalitions.of(11, SEED, again)
        had = np.zeros(len(pairs.sizes), np.int64)
        for n in (10, 50, 51, 200, 900):
            taken = pairs.allot(n, had)
            assert (taken >= had).all()
            assert taken.sum() <= max(n, had.sum())
            assert n - 5 <= taken.sum() or (not again and n > 1000)
            had = taken


@pytest.mark.parametrize("d", [2, 5, 6, 9])
def test_pairs_of_a_class_are_all_its_masks_or_complements(d: int) -> None:
    pairs = Coalitions.of(d, SEED, again=False)
    found = [pairs.masks(i, 0, int(n)) for i, n in enumerate(pairs.counts)]
    every = np.concatenate([half for masks in found for half in (masks, ~masks)])
    assert len(np.unique(every, axis=0)) == len(every) == 2**d - 2
    for masks, size in zip(found, pairs.sizes, strict=True):
        assert (masks.sum(axis=1) == size).all()
    assert pairs.shares.sum() == pytest.approx(1)
    law = {s: 1 / (s * (d - s)) for s in range(1, d)}
    of_size = [(law[s] + law[d - s]) / (2 if 2 * s == d else 1) for s in pairs.sizes]
    np.testing.assert_allclose(pairs.shares, np.array(of_size) / sum(law.values()))


def test_a_thousand_parts() -> None:
    slopes = np.random.default_rng(0).normal(size=1000)
    why = explain(lambda masks: np.asarray(masks) @ slopes, 1000, vd.KernelShap(n_samples=3200))
    np.testing.assert_allclose(why.weights, slopes, atol=1e-6)


# Intervals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "n"), [(12, 64), (12, 200), (16, 256), (16, 1000), (30, 512)])
def test_intervals_cover_what_is_known(d: int, n: int) -> None:
    """95 % of them, over games and seeds; errors of one game go together, so games are what is counted."""
    covered = []
    for seed in range(60):
        game, truth = sum_of_products(d, seed)
        why = explain(game, d, vd.KernelShap(n_samples=n), seed)
        low, high = why.intervals.T
        covered.append(np.mean((low - 1e-9 <= truth) & (truth <= high + 1e-9)))
    error = np.std(covered, ddof=1) / np.sqrt(len(covered))
    assert np.mean(covered) >= 0.95 - 3 * error - 0.01  # 0.01: the bias that is allowed
    assert np.mean(covered) >= 0.9


@pytest.mark.parametrize("d", [2, 3, 5])
def test_intervals_of_rows_cover_what_is_known(d: int) -> None:
    """A product of normals with mean m: E of it over the values that are drawn is known."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(5000, d))
    rows, x = vd.Rows(X), X[11]
    means = rows(x).keeping(np.zeros((2**17, d), bool), SEED).mean(axis=0)

    def game(masks: Any) -> Any:  # columns are drawn independently
        shown = np.where(np.asarray(masks) != 0, x, means)
        return shown[:, 0] * shown[:, 1] + shown.sum(axis=1)

    truth = slow_shapley(game, d)
    covered = []
    for seed in range(80):
        why = vd.explain(
            lambda X: X[:, 0] * X[:, 1] + X.sum(axis=1), rows, x, method=vd.KernelShap(n_samples=300), rng=seed
        )
        covered.append(np.mean((why.intervals[:, 0] <= truth) & (truth <= why.intervals[:, 1])))
    error = np.std(covered, ddof=1) / np.sqrt(len(covered))
    assert np.mean(covered) >= 0.95 - 3 * error - 0.01
    assert np.mean(covered) <= 0.95 + 3 * error + 0.04  # nor are they wide for nothing


def test_values_of_samples_are_right_on_average() -> None:
    game, truth = sum_of_products(12, 4)
    runs = np.array([explain(game, 12, vd.KernelShap(n_samples=150), seed).weights for seed in range(100)])
    error = runs.std(axis=0, ddof=1) / 10
    np.testing.assert_array_less(np.abs(runs.mean(axis=0) - truth), 4.5 * error + 1e-9)
    assert np.abs(truth).max() > 20 * error.max()


# Evidence ------------------------------------------------------------------------------------------------------


def test_a_constant_model_gives_no_evidence() -> None:
    for d in (1, 4, 14):
        why = explain(lambda masks: np.full(len(masks), 0.25), d)
        assert not why.weights.any()
        assert (why.intercept, why.prediction) == (0.25, 0.25)
        assert "the same answer, 0.25" in why.verdict.sentence
        assert why.verdict.label == "none"


def test_what_no_sample_shows_is_shared_evenly_and_not_believed() -> None:
    why = explain(lambda masks: np.asarray(masks).min(axis=1), 16, vd.KernelShap(n_samples=300))
    np.testing.assert_allclose(why.weights, 1 / 16)
    assert np.isinf(why.intervals).all()
    assert "none shows why" in why.verdict.sentence


def test_fidelity_says_how_additive_a_game_is() -> None:
    additive = explain(lambda masks: np.asarray(masks) @ np.arange(12.0), 12, vd.KernelShap(n_samples=200))
    assert additive.fidelity == pytest.approx(1)
    odd = explain(lambda masks: np.asarray(masks).sum(axis=1) % 2, 12, vd.KernelShap(n_samples=200))
    assert odd.fidelity < 0.1
    assert not odd.verdict.passed


def test_large_and_small_outputs() -> None:
    game, _ = sum_of_products(12, 2)
    plain = explain(game, 12, vd.KernelShap(n_samples=200))
    for unit in (1e-200, 1e200):
        scaled = explain(lambda masks, unit=unit: unit * game(masks), 12, vd.KernelShap(n_samples=200))
        np.testing.assert_allclose(scaled.weights / unit, plain.weights, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(scaled.intervals / unit, plain.intervals, rtol=1e-9, atol=1e-12)


def test_several_targets_share_their_masks() -> None:
    def model(masks: Any) -> Any:
        m = np.asarray(masks)
        return np.stack([m[:, 0] * m[:, 1], m[:, 2], 1 - m[:, 2]], axis=1)

    found = vd.explain(model, toys.Game(), 4, target=[0, 1, 2], method=vd.KernelShap())
    np.testing.assert_allclose(
        [w.weights for w in found], [[0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, -1, 0]], atol=1e-12
    )
    alone = vd.explain(model, toys.Game(), 4, target=1, method=vd.KernelShap())
    assert bits(alone) == bits(found[1])


# Bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: vd.KernelShap(n_samples=0), ("n_samples", "at least 1", "0")),
        (lambda: vd.KernelShap(n_samples=2.5), ("n_samples", "2.5")),
        (lambda: vd.KernelShap(max_calls="many"), ("max_calls", "'many'")),
        (lambda: vd.KernelShap(until=5), ("TopK", "5")),
        (lambda: explain(toys.all_of(0), 50, vd.KernelShap(n_samples=60)), ("n_samples is 60", "50 parts", "150")),
        (lambda: explain(toys.all_of(0), 50, vd.KernelShap(max_calls=100)), ("max_calls is 100", "50 parts")),
    ],
)
def test_settings_that_are_none(build: Callable[[], Any], words: tuple[str, ...]) -> None:
    check(build, vd.errors.InputError, *words)


def test_a_model_that_fails_among_the_masks() -> None:
    def nan(masks: Any) -> Any:
        return np.where(np.asarray(masks).sum(axis=1) == 3, np.nan, 1.0)

    check(lambda: explain(nan, 6), vd.errors.ModelError, "NaN", "finite")

    def raises(masks: Any) -> Any:
        if len(masks) > 1:
            raise RuntimeError("out of memory")
        return masks[:, 0]

    check(lambda: explain(raises, 6), vd.errors.ModelError, "RuntimeError", "out of memory")


def test_the_slow_reference_is_the_textbooks() -> None:
    """The glove game: one left glove, two right ones."""

    def gloves(masks: Any) -> Any:
        m = np.asarray(masks)
        return np.minimum(m[:, 0], np.maximum(m[:, 1], m[:, 2]))

    np.testing.assert_allclose(slow_shapley(gloves, 3), [2 / 3, 1 / 6, 1 / 6])
    assert len(list(combinations(range(3), 2))) == 3
