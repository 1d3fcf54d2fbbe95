"""Selectors from the Gram matrix equal slow references that see the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, lars_path

import veridical as vd
from veridical.surrogates.selection import as_package

PROBLEMS = range(18)


def problem(number: int) -> tuple[Any, Any, Any, int]:
    """Designs, outputs, proximities and k: masks and numbers, independent and correlated, few and many parts."""
    rng = np.random.default_rng(number)
    d, n = int(rng.integers(3, 15)), int(rng.integers(60, 400))
    Z = (
        rng.normal(size=(n, d))
        if number % 3 == 0
        else (rng.random((n, d)) < rng.uniform(0.2, 0.8, d)).astype(float)
    )
    if number % 4 == 0:
        Z[:, 0] = 0.8 * Z[:, 0] + 0.4 * Z[:, 1]
    beta = rng.normal(size=d) * (rng.random(d) < 0.6)
    y = Z @ beta + np.tanh(Z[:, 0] * Z[:, 1]) + 0.5 * rng.normal(size=n)
    w = np.exp(-rng.exponential(1 + number % 5, n))
    return Z, y, w, int(rng.integers(1, d + 1))


def centered(Z: Any, y: Any, w: Any) -> tuple[Any, Any]:
    """Weighted means subtracted, then multiplied by the root of the weights."""
    root = np.sqrt(w)
    return (Z - w @ Z / w.sum()) * root[:, None], (y - w @ y / w.sum()) * root


def gram_of(Z: Any, y: Any, w: Any) -> tuple[Any, Any]:
    A, t = centered(Z, y, w)
    return A.T @ A, A.T @ t


def slow_forward(Z: Any, y: Any, w: Any, k: int) -> set[int]:
    """k rounds, each adding the part with the best weighted R² of a refit with intercept."""
    chosen: list[int] = []
    for _ in range(k):
        scores = {}
        for j in set(range(Z.shape[1])) - set(chosen):
            parts = Z[:, [*chosen, j]]
            scores[j] = LinearRegression().fit(parts, y, sample_weight=w).score(parts, y, sample_weight=w)
        chosen.append(max(scores, key=scores.__getitem__))
    return set(chosen)


def slow_lasso(Z: Any, y: Any, w: Any, k: int) -> set[int]:
    """Walk the lasso path from its dense end back to the first point with at most k parts."""
    A, t = centered(Z, y, w)
    _, _, path = lars_path(A, t, method="lasso")
    for i in range(path.shape[1] - 1, -1, -1):
        if np.count_nonzero(path[:, i]) <= k:
            return set(np.flatnonzero(path[:, i]))
    raise AssertionError("the path begins with no part")


def slow_highest(Z: Any, y: Any, w: Any, k: int) -> set[int]:
    weights = LinearRegression().fit(Z, y, sample_weight=w).coef_
    return set(np.argsort(-np.abs(weights))[:k])


PAIRS = [
    (vd.selectors.forward_selection, slow_forward),
    (vd.selectors.lasso_path, slow_lasso),
    (vd.selectors.highest_weights, slow_highest),
]


@pytest.mark.parametrize("number", PROBLEMS)
@pytest.mark.parametrize(("fast", "slow"), PAIRS, ids=[fast.__name__ for fast, _ in PAIRS])
def test_gram_selectors_equal_slow_references(fast: Any, slow: Any, number: int) -> None:
    Z, y, w, k = problem(number)
    gram, moment = gram_of(Z, y, w)
    before = gram.copy(), moment.copy()
    found = fast(gram, moment, k)
    assert set(found) == slow(Z, y, w, k)
    assert list(found) == sorted(set(found))
    np.testing.assert_array_equal(gram, before[0])
    np.testing.assert_array_equal(moment, before[1])


@pytest.mark.parametrize("number", PROBLEMS)
@pytest.mark.parametrize("select", [fast for fast, _ in PAIRS])
def test_scale_does_not_matter(select: Any, number: int) -> None:
    Z, y, w, k = problem(number)
    gram, moment = gram_of(Z, y, w)
    np.testing.assert_array_equal(select(gram * 1e-9, moment * 1e-9, k), select(gram, moment, k))
    np.testing.assert_array_equal(select(gram, -moment, k), select(gram, moment, k))


@pytest.mark.parametrize("select", [fast for fast, _ in PAIRS])
def test_at_most_k_and_no_more_than_there_are(select: Any) -> None:
    Z, y, w, _ = problem(1)
    gram, moment = gram_of(Z, y, w)
    d = len(moment)
    for k in range(1, d + 3):
        found = select(gram, moment, k)
        assert len(found) <= min(k, d)
        if k >= d:
            np.testing.assert_array_equal(found, np.arange(d))


def test_forward_selection_never_takes_a_copy() -> None:
    Z, y, w, _ = problem(3)
    Z = np.concatenate([Z, Z[:, :1]], axis=1)
    found = vd.selectors.forward_selection(*gram_of(Z, y, w), Z.shape[1])
    assert not {0, Z.shape[1] - 1} <= set(found)


def test_the_packages_choice_is_forward_up_to_six_parts() -> None:
    rng = np.random.default_rng(0)
    Z, y, w = rng.normal(size=(200, 12)), rng.normal(size=200), rng.random(200)
    gram, moment = gram_of(Z, y, w)
    np.testing.assert_array_equal(as_package(gram, moment, 6), vd.selectors.forward_selection(gram, moment, 6))
    np.testing.assert_array_equal(as_package(gram, moment, 7), vd.selectors.highest_weights(gram, moment, 7))


def test_users_pass_their_own_selector() -> None:
    table = np.random.default_rng(0).normal(size=(100, 5))

    def the_first_two(gram: Any, moment: Any, k: int) -> Any:
        assert gram.shape == (5, 5)
        assert moment.shape == (5,)
        assert k == 2
        return np.array([0, 1])

    method = vd.Lime(n_samples=200, n_features=2, select=the_first_two)
    why = vd.explain(lambda X: X @ np.arange(5.0), vd.Rows(table), table[0], method=method)
    np.testing.assert_array_equal(np.flatnonzero(why.weights), [0, 1])
    np.testing.assert_array_equal(why.intervals[2:], 0)
    assert any("the_first_two" in note for note in why.notes)
