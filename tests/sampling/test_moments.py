"""Control variates of masks in closed form, against brute force."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.records import Neighborhood
from veridical.sampling.masks import all_masks, coins, log_choose, removals
from veridical.sampling.moments import PRODUCTS, MaskLaw
from veridical.surrogates.known_terms import with_controls
from veridical.surrogates.least_squares import Problem
from veridical.surrogates.linear import Linear
from veridical.toys import Game

SEED = np.random.SeedSequence(3)
LAWS = {"image": coins, "text": removals}


def columns_of(law: Any, d: int, b: Any) -> tuple[Any, Any, MaskLaw]:
    """All masks with their weights, and the law they follow."""
    near = law(d).near(vd.kernels.Gaussian(0.25))
    near = near / near.sum()
    masks = all_masks(d)
    weights = (near / np.exp(log_choose(d)))[masks.sum(axis=1).astype(int)]
    return masks, weights, MaskLaw.of(near)


@pytest.mark.parametrize("kind", LAWS)
def test_projections_are_those_of_brute_force(kind: str) -> None:
    d, rng = 7, np.random.default_rng(0)
    b = rng.normal(size=d)
    masks, weights, law = columns_of(LAWS[kind], d, b)
    index, size = masks @ b - law.share * b.sum(), law.standard[masks.sum(axis=1).astype(int)]
    np.testing.assert_allclose(law.spread(b[None]), np.sqrt(weights @ index**2), rtol=1e-10)
    products = np.stack([index**k * size**p for k, p in PRODUCTS], axis=1)
    A = np.column_stack([np.ones(len(masks)), masks - law.share])
    gram = A.T @ (A * weights[:, None])
    wanted = np.linalg.solve(gram, A.T @ (products * weights[:, None]))
    mean, slope = law.projections(b[None])
    np.testing.assert_allclose(np.vstack([mean, slope[0]]), wanted, atol=1e-10)
    inverse = np.linalg.inv(gram[1:, 1:])
    far = np.einsum("ij,jk,ik->i", A[:, 1:], inverse, A[:, 1:])
    np.testing.assert_allclose(law.leverage()[masks.sum(axis=1).astype(int)], far, rtol=1e-9)
    own = masks * size[:, None]
    rest = own - A @ np.linalg.solve(gram, A.T @ (own * weights[:, None]))
    np.testing.assert_allclose(law.interactions(masks), rest, atol=1e-10)
    own = np.stack([masks[:, i] * masks[:, j] for i, j in ((0, 2), (0, 5), (2, 5))], axis=1)
    rest = own - A @ np.linalg.solve(gram, A.T @ (own * weights[:, None]))
    np.testing.assert_allclose(law.pairs(masks, [0, 2, 5]), rest, atol=1e-10)


def saturating(masks: Any) -> Any:
    return 1 / (1 + np.exp(3 - np.asarray(masks) @ np.linspace(-1, 2, np.shape(masks)[1])))


@pytest.mark.parametrize(("kind", "d", "n"), [("text", 16, 512), ("image", 16, 500)])
def test_control_variates_make_the_error_of_a_saturating_model_much_smaller(kind: str, d: int, n: int) -> None:
    """The same samples with and without them, against the enumerated answer."""
    law, kernel = LAWS[kind](d), vd.kernels.Gaussian(0.25)
    every = law.enumerate(kernel, 2**d)
    assert every is not None

    def weights(sample: Any, plain: bool) -> Any:
        near = Neighborhood.of(tuple(map(str, range(d))), sample)
        if plain:
            near = replace(near, design=replace(sample.design, sizes=None))
        return Linear()(near, saturating(sample.designs[1:])).weights[0]

    truth = weights(every, plain=True)
    errors = np.zeros(2)
    for seed in range(20):
        kind_of = law if kind == "text" else _paired(law)
        sample = kind_of.draw(kernel, np.random.SeedSequence(seed), 0, n)
        errors += [np.sum((weights(sample, plain) - truth) ** 2) for plain in (False, True)]
    assert errors[0] < errors[1] / 4


def test_control_variates_that_sum_to_one_another_have_a_pull_still() -> None:
    """Products of all pairs, and of parts with the size, are linearly dependent: seed 37 was a singular matrix."""
    d, direction = 11, np.random.default_rng(0).normal(size=11)

    def step(masks: Any) -> Any:
        return (np.asarray(masks) @ direction > direction.sum() / 2).astype(float)

    why = vd.explain(step, Game(removals), d, rng=37)
    assert np.isfinite(why.intervals).all()
    sample = removals(d).draw(vd.kernels.Gaussian(0.25), SEED, 0, 1024)
    near = Neighborhood.of(tuple(map(str, range(d))), sample)
    problem = Problem.of(near.columns, step(sample.designs[1:])[None], near.weights, sample.design)
    wider, gram, _ = with_controls(problem, problem.grams())
    assert wider.controls is not None
    assert wider.controls.shape[1] > len(PRODUCTS)
    rows, own = slice(0, problem.n), np.diag(gram[0])
    inverse = np.linalg.inv(gram + 0.02 * np.diag(own))
    _, pull = wider._leverages(np, wider.columns(rows), rows, gram, inverse)
    assert (pull > 0).all()
    assert (pull < 1).all()


def test_intervals_of_few_parts_hold_whatever_the_order_of_what_they_do_together() -> None:
    """A code of eleven columns in 128 rows is so short that interactions of five parts pass for single ones."""
    d, direction = 11, np.random.default_rng(0).normal(size=11)

    def sigmoid(masks: Any) -> Any:
        return 1 / (1 + np.exp(direction.sum() - 2 * np.asarray(masks) @ direction))

    game = Game()
    truth = vd.explain(sigmoid, game, d, method=linear_lime(n_samples=2**d)).weights
    whys = [vd.explain(sigmoid, game, d, method=linear_lime(n_samples=1024), rng=seed) for seed in range(40)]
    covered = [(w.intervals[:, 0] <= truth) & (truth <= w.intervals[:, 1]) for w in whys]
    assert np.mean(covered) > 0.95
    assert np.mean(covered, axis=0).min() > 0.85


def _paired(law: Any) -> Any:
    return replace(law, fair=False)


@pytest.mark.parametrize(("kind", "d"), [("image", 20), ("image", 100), ("text", 20), ("text", 157)])
def test_as_few_samples_as_are_accepted_are_enough(kind: str, d: int) -> None:
    """A linear model is found from the fewest samples; one fewer is refused."""
    law, truth = LAWS[kind], np.arange(d) - d / 2
    fewest = law(d).smallest_sample

    def explain(n: int, rng: int) -> vd.Explanation:
        return vd.explain(lambda Z: 2 + Z @ truth, Game(law), d, method=linear_lime(n_samples=n), rng=rng)

    for rng in range(5):
        why = explain(fewest, rng)
        np.testing.assert_allclose(why.weights, truth, atol=1e-5)
        assert np.isfinite(why.intervals).all()
    with pytest.raises(vd.errors.InputError, match=f"at least {fewest}"):
        explain(fewest - 1, 0)


def test_parts_that_samples_cannot_tell_apart_get_no_weight() -> None:
    """Two parts that are always kept or taken away together: no number could be believed."""
    rng = np.random.default_rng(0)
    masks = rng.integers(0, 2, (200, 5)).astype(float)
    masks[:, 4] = masks[:, 3]
    sample = coins(5).draw(vd.kernels.Gaussian(0.25), SEED, 0, 200)
    near = Neighborhood.of(tuple("abcde"), replace(sample, designs=np.vstack([np.ones(5), masks])))
    fit = Linear()(near, masks @ [1.0, 2.0, 0.0, 3.0, -3.5])[0]
    np.testing.assert_array_equal(fit.measured, [True, True, True, False, False])
    np.testing.assert_allclose(fit.weights, [1, 2, 0, 0, 0], atol=1e-6)
    assert np.isinf(np.diag(fit.covariance)[3:]).all()
