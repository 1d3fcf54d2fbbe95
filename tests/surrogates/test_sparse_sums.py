"""Sums of few parts and pairs between two known ends."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from veridical.surrogates.sparse_sums import (
    Answers,
    equal_shares,
    fidelity_of,
    fit_columns,
    fit_sparse_sum,
)

RNG = np.random.default_rng(0)


def halves(d: int, n: int = 150, seed: int = 0) -> Any:
    masks = np.random.default_rng(seed).random((n, d)) < 0.5
    return masks[(masks.sum(axis=1) % d) > 0]


def asked(f: Any, masks: Any) -> Answers:
    d = masks.shape[1]
    ends = f(np.array([np.zeros(d, bool), np.ones(d, bool)]))
    return Answers(masks, f(masks), (float(ends[0]), float(ends[1])))


def shapley(f: Any, d: int) -> Any:
    """By all orders."""
    values, orders = np.zeros(d), list(permutations(range(d)))
    for order in orders:
        masks = np.zeros((d + 1, d), bool)
        for place, j in enumerate(order):
            masks[place + 1 :, j] = True
        values[list(order)] += np.diff(f(masks))
    return values / len(orders)


def test_a_sum_is_found_exactly() -> None:
    weights = np.array([0.5, -0.2, 0.1, 0.0, 0.0, 0.3])
    model = fit_sparse_sum(asked(lambda m: 2 + m @ weights, halves(6)), 5, 2)
    assert model.scale == "identity"
    assert model.pairs == ()
    np.testing.assert_allclose(model.weights(6), weights, atol=1e-3)
    assert model.intercept == pytest.approx(2, abs=1e-3)


def test_weights_are_the_shapley_values_of_a_sum_with_a_pair() -> None:
    def f(m: Any) -> Any:
        return m @ np.array([1.0, 0.5, 0.0, 0.2]) - 0.8 * (m[:, 0] & m[:, 1]) + 0.6 * (m[:, 2] & m[:, 3])

    masks = np.array([m for m in product([False, True], repeat=4) if 0 < sum(m) < 4])
    model = fit_sparse_sum(asked(f, masks), 4, 2)
    assert set(model.pairs) == {(0, 1), (2, 3)}
    np.testing.assert_allclose(model.weights(4), shapley(f, 4), atol=5e-3)
    np.testing.assert_allclose(model(masks), f(masks), atol=2e-2)
    assert model.intercept + model.slopes[:4].sum() == pytest.approx(float(model(np.ones((1, 4), bool))[0]))


def test_log_odds_are_chosen_where_they_add_up() -> None:
    def f(m: Any) -> Any:
        return expit(-4 + m @ np.array([5.0, 2.0, 1.0, 0.0, 0.0, 1.0]))

    answers = asked(f, halves(6))
    model = fit_sparse_sum(answers, 5, 0)
    assert model.scale == "log-odds"
    np.testing.assert_allclose(model(halves(6, seed=1)), f(halves(6, seed=1)), atol=0.03)
    doubled = Answers(answers.masks, 2 * answers.y, (2 * answers.ends[0], 2 * answers.ends[1]))
    assert fit_sparse_sum(doubled, 5, 0).scale == "identity"  # these are no probabilities


def test_no_more_parts_and_pairs_than_wanted() -> None:
    def f(m: Any) -> Any:
        return m.sum(axis=1) ** 2 / 100.0

    model = fit_sparse_sum(asked(f, halves(12)), 3, 1)
    assert len(model.parts) == 3
    assert len(model.pairs) <= 1
    assert np.count_nonzero(model.weights(12)) == 3
    assert fit_sparse_sum(asked(f, halves(12)), 3, 0).pairs == ()


def test_fidelity_is_that_of_fresh_masks() -> None:
    """On average over games with noise, of which the sum knows a part."""
    told, true = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        weights, noise = rng.normal(size=8), rng.normal(size=(8, 8))

        def f(m: Any, weights: Any = weights, noise: Any = noise) -> Any:
            return m @ weights + 0.4 * np.sin(3 * np.einsum("ni,ij,nj->n", m * 1.0, noise, m * 1.0))

        answers, fresh = asked(f, halves(8, seed=seed)), halves(8, 2000, seed + 100)
        told.append(fidelity_of(answers, 5, 2, rng))
        y, guess = f(fresh), fit_sparse_sum(answers, 5, 2)(fresh)
        true.append(1 - np.square(y - guess).sum() / np.square(y - y.mean()).sum())
    assert np.mean(told) == pytest.approx(np.mean(true), abs=0.05)
    assert np.mean(told) < np.mean(true) + 0.02  # not flattered by what was chosen


def test_equal_shares_explain_equal_weights_alone() -> None:
    assert equal_shares(asked(lambda m: m.mean(axis=1), halves(6))) == pytest.approx(1)
    assert equal_shares(asked(lambda m: 1.0 * m[:, 0], halves(6))) < 0.4


def test_little_is_not_too_little() -> None:
    one = Answers(np.zeros((0, 1), bool), np.zeros(0), (0.2, 0.7), True)
    model = fit_sparse_sum(one, 5, 2)
    np.testing.assert_allclose(model.weights(1), [0.5], atol=1e-6)
    assert fidelity_of(one, 5, 2, RNG) == 1
    both = np.array([[True, False], [False, True]])
    two = replace(asked(lambda m: 1.0 * (m[:, 0] & m[:, 1]), both), exact=True)
    np.testing.assert_allclose(fit_sparse_sum(two, 5, 2).weights(2), [0.5, 0.5], atol=0.02)


def test_more_parts_than_masks() -> None:
    d = 300
    answers = asked(lambda m: 2.0 * m[:, 7] + m[:, 100], halves(d))
    model = fit_sparse_sum(answers, 5, 2)
    assert list(np.argsort(-np.abs(model.weights(d)))[:2]) == [7, 100]
    assert np.isfinite(fit_columns(answers, "log-odds", range(d), (), (0.1,)).slopes).all()
