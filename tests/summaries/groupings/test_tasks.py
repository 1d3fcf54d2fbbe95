"""Sparse regressions from moments, against plain linear algebra and slow loops."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from veridical.summaries.groupings.tasks import (
    Neighbors,
    Regressions,
    _exchange,
    batch_errors,
    compute_moments,
    dense,
    select_promising,
    solve_sparse,
    sweep,
    unsweep,
)

RIDGE = 1e-3
SEEDS = range(10)


def sample(seed: int, n: int = 60, d: int = 6) -> tuple[Any, Any, Any]:
    """Features that go together, weights and a value that needs several of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    return X, rng.uniform(0.1, 2, size=n), X @ rng.normal(size=d) + rng.normal(size=n) + 3


def ridge(X: Any, w: Any, y: Any, columns: Any, penalty: float = RIDGE) -> tuple[Any, float, float]:
    """Weights, intercept and penalized error, by the closed form."""
    w = w / w.sum()
    Z = X[:, columns] - w @ X[:, columns]
    beta = np.linalg.solve((Z * w[:, None]).T @ Z + penalty * np.eye(len(columns)), Z.T @ (w * (y - w @ y)))
    whole = np.zeros(X.shape[1])
    whole[columns] = beta
    error = w @ np.square(y - w @ y - Z @ beta) + penalty * beta @ beta
    return whole, float(w @ y - w @ X[:, columns] @ beta), float(error)


def error_of(X: Any, w: Any, y: Any, columns: Any) -> float:
    return ridge(X, w, y, list(columns))[2]


def near_of(seed: int, n: int = 25, p: int = 4, d: int = 5, sparse: bool = False) -> Neighbors:
    rng = np.random.default_rng(seed)
    designs = rng.normal(size=(n * p, d)) * (rng.random((n * p, d)) < (0.3 if sparse else 1.0))
    held = csr_matrix if sparse else np.asarray
    weights, shares = rng.uniform(0.2, 1, size=(n, p)), rng.uniform(0.5, 2, size=n)
    return Neighbors(held(designs[::p]), held(designs), rng.normal(size=(n, p)), weights, shares)


# Sweeping --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_sweeping_solves(seed: int) -> None:
    """Swept on a set of variables, a matrix holds the solution, the rest of the others, and minus the inverse."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(30, 6))
    M = A.T @ A
    inside = rng.permutation(6)[: rng.integers(1, 6)]
    outside = np.setdiff1d(np.arange(6), inside)
    swept = M.copy()
    for j in inside:
        sweep(swept, j)
    solution = np.linalg.solve(M[np.ix_(inside, inside)], M[np.ix_(inside, outside)])
    rest = M[np.ix_(outside, outside)] - M[np.ix_(outside, inside)] @ solution
    np.testing.assert_allclose(swept[np.ix_(inside, outside)], solution, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(swept[np.ix_(outside, inside)], solution.T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(swept[np.ix_(outside, outside)], rest, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(swept[np.ix_(inside, inside)], -np.linalg.inv(M[np.ix_(inside, inside)]), atol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_unsweeping_takes_back_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(30, 6))
    M = A.T @ A
    swept = M.copy()
    for j in rng.permutation(6)[:4].tolist():
        sweep(swept, j)
    inside = np.flatnonzero(np.diag(swept) < 0)
    for j in rng.permutation(inside):
        unsweep(swept, j)
    np.testing.assert_allclose(swept, M, rtol=1e-9, atol=1e-9)


# Moments ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_moments_dense_sparse_and_slow(seed: int) -> None:
    X, w, y = sample(seed)
    X = np.where(np.random.default_rng(seed).random(X.shape) < 0.4, X, 0.0)
    slow = np.zeros((X.shape[1] + 2,) * 2)
    for x, weight, value in zip(X, w / w.sum(), y, strict=True):
        z = np.concatenate([x, [1, value]])
        slow += weight * np.outer(z, z)
    np.testing.assert_allclose(compute_moments(X, w, y), slow, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(compute_moments(csr_matrix(X), w, y), slow, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(compute_moments(X, 7 * w, y), slow, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_features", [2, 5])
def test_the_packed_way_is_the_direct_way(n_features: int) -> None:
    near = near_of(0)
    shares = np.random.default_rng(1).dirichlet(np.ones(3), len(near)) + 0.01  # none so faint that it is left out
    packed, direct = Regressions.of(near, RIDGE), Regressions(near, RIDGE)
    assert packed.packed is not None
    one, other = packed.fit(shares, n_features), direct.fit(shares, n_features)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.intercepts, other.intercepts, rtol=1e-9, atol=1e-12)
    for g in range(3):  # and both are the closed form on neighbors that count what their instance does
        w = np.repeat(shares[:, g], near.values.shape[1]) * near.flat_weights
        used = np.flatnonzero(one.weights[g])
        beta, intercept, _ = ridge(near.designs, w, near.values.ravel(), used)
        np.testing.assert_allclose(one.weights[g], beta, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(one.intercepts[g], intercept, rtol=1e-9, atol=1e-12)


def test_neighbors_add_up_to_their_instance() -> None:
    near = near_of(2)
    np.testing.assert_allclose(near.flat_weights.reshape(near.values.shape).sum(axis=1), near.shares)


def test_sparse_designs_are_fitted_as_dense_ones() -> None:
    near = near_of(3, sparse=True)
    full = Neighbors(dense(near.rows), dense(near.designs), near.values, near.weights, near.shares)
    shares = np.random.default_rng(1).dirichlet(np.ones(2), len(near)) + 0.01
    assert Regressions.of(near).packed is None
    one, other = Regressions.of(near, RIDGE).fit(shares, 3), Regressions.of(full, RIDGE).fit(shares, 3)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(near.losses(one), full.losses(other), rtol=1e-9)


@pytest.mark.parametrize("way", [Regressions.of, Regressions])
def test_a_group_that_nobody_belongs_to(way: Any) -> None:
    near = near_of(4)
    shares = np.column_stack([np.ones(len(near)), np.zeros(len(near))])
    lines = way(near, RIDGE).fit(shares, 2)
    np.testing.assert_array_equal(lines.weights[1], 0)
    assert lines.intercepts[1] == 0
    assert (lines.weights[0] != 0).sum() == 2


@pytest.mark.parametrize("way", [Regressions.of, Regressions])
def test_instances_that_do_not_count(way: Any) -> None:
    """They may be anything."""
    near = near_of(5)
    shares = np.where(np.arange(len(near)) < 15, 1.0, 0.0)[:, None]
    wild = near.values.copy()
    wild[15:] = 1e6
    one, other = (
        way(Neighbors(near.rows, near.designs, y, near.weights, near.shares), RIDGE) for y in (near.values, wild)
    )
    np.testing.assert_allclose(one.fit(shares, 3).weights, other.fit(shares, 3).weights, rtol=1e-9, atol=1e-12)


# Choosing features -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_all_features_is_ridge_regression(seed: int) -> None:
    X, w, y = sample(seed)
    for n_features in (6, 60):
        beta, intercept = solve_sparse(compute_moments(X, w, y), n_features, RIDGE)
        wanted, level, _ = ridge(X, w, y, np.arange(6))
        np.testing.assert_allclose(beta, wanted, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(intercept, level, rtol=1e-8, atol=1e-9)


def greedy(X: Any, w: Any, y: Any, n: int) -> list[int]:
    """Forward selection, every candidate fitted anew."""
    chosen: list[int] = []
    for _ in range(n):
        rest = [j for j in range(X.shape[1]) if j not in chosen]
        chosen.append(min(rest, key=lambda j: error_of(X, w, y, [*chosen, j])))
    return chosen


def exchanged(X: Any, w: Any, y: Any, chosen: list[int]) -> list[int]:
    """Two passes: each chosen feature goes, and the best one of all takes its place."""
    chosen = list(chosen)
    for _ in range(2):
        for old in list(chosen):
            chosen.remove(old)
            rest = [j for j in range(X.shape[1]) if j not in chosen]
            chosen.append(min(rest, key=lambda j: error_of(X, w, y, [*chosen, j])))
    return chosen


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_forward_selection_and_exchange_as_by_fitting_anew(seed: int, n_features: int) -> None:
    X, w, y = sample(seed)
    beta, intercept = solve_sparse(compute_moments(X, w, y), n_features, RIDGE)
    first = greedy(X, w, y, n_features)
    chosen = exchanged(X, w, y, first)
    assert sorted(chosen) == np.flatnonzero(beta).tolist()
    wanted, level, error = ridge(X, w, y, chosen)
    np.testing.assert_allclose(beta, wanted, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(intercept, level, rtol=1e-8, atol=1e-8)
    assert error <= error_of(X, w, y, first) * (1 + 1e-12)


def test_the_exchange_finds_a_pair_that_greed_misses() -> None:
    """The sum of two features, seen with noise, is taken first; the two themselves are the answer."""
    rng = np.random.default_rng(0)
    n = 400
    a, b = rng.normal(size=(2, n))
    X = np.column_stack([a + b + 0.2 * rng.normal(size=n), a, b])
    w, y = np.ones(n), a + b
    assert greedy(X, w, y, 2)[0] == 0
    beta, _ = solve_sparse(compute_moments(X, w, y), 2, 1e-9)
    np.testing.assert_allclose(beta, [0, 1, 1], atol=1e-6)


def test_the_exchange_never_raises_the_error() -> None:
    """One pass at a time, from features at random."""
    moved = 0
    for seed in range(30):
        X, w, y = sample(seed, d=8)
        M = compute_moments(X, w, y)
        swept = M.copy()
        swept[np.arange(8), np.arange(8)] += RIDGE
        sweep(swept, 8)
        chosen = np.random.default_rng(seed).permutation(8)[:3].tolist()
        for j in chosen:
            sweep(swept, j)
        errors = [error_of(X, w, y, chosen)]
        for _ in range(3):
            _exchange(swept, chosen, np.full(8, 1e-12), passes=1)
            errors.append(error_of(X, w, y, chosen))
        assert all(after <= before * (1 + 1e-9) for before, after in pairwise(errors))
        moved += errors[-1] < errors[0] * (1 - 1e-9)
    assert moved > 20


def test_columns_that_say_nothing_new() -> None:
    """A constant, a copy and a sum of others are never chosen beside what they copy."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 200))
    X = np.column_stack([np.full(200, 5.0), a, a, b, a - b, np.zeros(200)])
    y = 2 * a + b + 1
    beta, intercept = solve_sparse(compute_moments(X, np.ones(200), y), 6, 1e-10)
    assert np.isfinite(beta).all()
    assert beta[[0, 5]].tolist() == [0, 0]
    np.testing.assert_allclose(X @ beta + intercept, y, atol=1e-6)
    assert (beta != 0).sum() == 2
    alone, level = solve_sparse(compute_moments(X[:, [0, 5]], np.ones(200), y), 2, 1e-10)
    np.testing.assert_array_equal(alone, 0)
    np.testing.assert_allclose(level, y.mean())


def test_a_constant_is_no_feature_whatever_the_ridge() -> None:
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(200, 4)), rng.random(200)
    X[:, [0, 3]] = 0.7, -1.3
    beta, _ = solve_sparse(compute_moments(X, w, X @ [0, 2, 1, 0]), 4, 3e-3)
    assert np.flatnonzero(beta).tolist() == [1, 2]


def test_a_tie_goes_to_the_first_and_then_stays() -> None:
    X, w, y = sample(0, d=1)
    M = compute_moments(np.column_stack([X, X, X]), w, y)
    beta, _ = solve_sparse(M, 1, RIDGE)
    assert np.flatnonzero(beta).tolist() == [0]
    chosen = [2]
    sweep(M, 3)
    sweep(M, 2)
    _exchange(M, chosen, np.full(3, 1e-12))
    assert chosen == [2]


def test_a_value_that_never_varies() -> None:
    X, w, _ = sample(0)
    beta, intercept = solve_sparse(compute_moments(X, w, np.full(len(X), 4.0)), 3, RIDGE)
    np.testing.assert_allclose(beta, 0, atol=1e-10)
    np.testing.assert_allclose(intercept, 4)


# Many at once ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [1, 3, 6])
def test_errors_of_many_are_those_of_each(n_features: int) -> None:
    """Forward selection alone: sums of weights that are not one, and a ridge that grows with them."""
    stack, wanted = [], []
    for seed in SEEDS:
        X, w, y = sample(seed)
        mass = w.sum()
        M = compute_moments(X, w, y) * mass
        M[np.arange(6), np.arange(6)] += RIDGE * mass
        stack.append(M)
        wanted.append(error_of(X, w, y, greedy(X, w, y, n_features)) * mass)
    together = batch_errors(np.stack(stack), n_features, 1e-9)
    np.testing.assert_allclose(together, wanted, rtol=1e-8)
    alone = [batch_errors(M[None], n_features, 1e-9)[0] for M in stack]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_errors_of_nothing_and_of_copies() -> None:
    X, w, y = sample(0)
    X[:, 1] = X[:, 0]
    M = np.stack([np.zeros((8, 8)), compute_moments(X, w, y)])
    found = batch_errors(M, 6, 1e-9)
    assert found[0] == 0
    np.testing.assert_allclose(found[1], ridge(X, w, y, [0, 2, 3, 4, 5], 0.0)[2], rtol=1e-8)


@pytest.mark.parametrize("held", [np.asarray, csr_matrix])
def test_promising_features(held: Any) -> None:
    """Those with the largest weighted correlation, in their own order; a constant is never one."""
    X, w, y = sample(1, d=12)
    X[:, 3] = 2.0
    found = select_promising(held(X), w, y, 5)
    centered = X - w @ X / w.sum()
    cov, var = centered.T @ (w * (y - w @ y / w.sum())), np.square(centered).T @ w
    score = np.where(var > 1e-9, cov**2 / np.maximum(var, 1e-9), -1)
    assert found.tolist() == sorted(np.argsort(-score)[:5].tolist())
    assert 3 not in select_promising(held(X), w, y, 11)


def test_many_features_are_screened() -> None:
    """Beyond DENSE features: the ones that matter are among the promising, and keep their places."""
    rng = np.random.default_rng(0)
    designs = csr_matrix((rng.random((600, 900)) < 0.05).astype(float))
    y = dense(designs[:, [7, 850]]) @ [3.0, -2.0] + 1
    near = Neighbors(designs[::3], designs, y.reshape(200, 3), np.ones((200, 3)), np.ones(200))
    lines = Regressions.of(near, 1e-9).fit(np.ones((200, 1)), 2)
    assert np.flatnonzero(lines.weights[0]).tolist() == [7, 850]
    np.testing.assert_allclose(lines.weights[0, [7, 850]], [3, -2], rtol=1e-6)
    np.testing.assert_allclose(lines.intercepts, 1, rtol=1e-6)
