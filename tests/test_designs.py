"""Codes of masks, and control variates of masks in closed form, against brute force."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import veridical as vd
from veridical.attribute.controls import with_controls
from veridical.attribute.least_squares import Problem
from veridical.attribute.linear import Linear
from veridical.attribute.moments import PRODUCTS, MaskLaw
from veridical.masks import all_masks, code, code_length, coins, log_choose, removals
from veridical.records import Neighborhood
from veridical.toys import Game

SEED = np.random.SeedSequence(3)
LAWS = {"image": coins, "text": removals}


def unbalance(signs: Any, strength: int) -> float:
    """The largest sum of a product of at most this many columns, some of all products."""
    d = signs.shape[1]
    chosen = [c for k in range(1, strength + 1) for c in list(combinations(range(d), k))[:1500]]
    return max(abs(float(signs[:, list(c)].prod(axis=1).sum())) for c in chosen)


@pytest.mark.parametrize("d", [2, 11, 16])
@pytest.mark.parametrize(("start", "stop"), [(0, 256), (256, 512), (768, 1024)])
def test_the_nordstrom_robinson_code_has_strength_five(d: int, start: int, stop: int) -> None:
    masks, stretch = code(d, SEED, start, stop)
    assert code_length(d) == stretch == len(masks) == 256
    assert unbalance(2 * masks - 1, 5) == 0
    np.testing.assert_array_equal(masks[0::2] + masks[1::2], 1)


def test_the_reed_muller_code_has_strength_seven_and_its_quarters_five() -> None:
    masks, stretch = code(16, SEED, 0, 2048)
    assert stretch == 2048
    signs = 2 * masks - 1
    assert unbalance(signs, 7) == 0
    assert unbalance(signs, 8) > 0
    for start, stop in ((0, 512), (512, 1024), (0, 1024), (1024, 2048)):
        assert unbalance(signs[start:stop], 5) == 0
    other, _ = code(16, SEED, 2048, 4096)
    assert not np.array_equal(masks, other)


@pytest.mark.parametrize(("d", "half"), [(17, 512), (23, 512), (33, 1024)])
def test_a_code_has_strength_four_and_with_its_complement_five(d: int, half: int) -> None:
    assert code_length(d) == half
    masks, stretch = code(d, SEED, 0, 2 * half)
    assert stretch == len(masks) == 2 * half
    assert unbalance(2 * masks[:half] - 1, 4) == 0
    assert unbalance(2 * masks - 1, 5) == 0
    np.testing.assert_array_equal(masks[:half] + masks[half:], 1)


def test_the_widest_code_has_strength_four() -> None:
    assert code_length(65) == 4096
    masks, _ = code(65, SEED, 0, 4096)
    assert unbalance(2 * masks - 1, 4) == 0


@pytest.mark.parametrize("d", [16, 20])
def test_a_code_goes_on_where_it_was_left(d: int) -> None:
    whole, _ = code(d, SEED, 0, 2048)
    pieces = [code(d, SEED, *at)[0] for at in ((0, 512), (512, 1024), (1024, 2048))]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
    assert not np.array_equal(whole[:1024], whole[1024:])


@pytest.mark.parametrize(("start", "stop"), [(0, 100), (0, 300), (0, 1000), (10, 700), (300, 1024), (700, 701)])
def test_pieces_of_any_length_are_balanced_as_far_as_they_go(start: int, stop: int) -> None:
    masks, stretch = code(16, SEED, start, stop)
    assert masks.shape == (stop - start, 16)
    coded = any(start <= at and at + 256 * 0.9 <= stop for at in range(0, 1024, 256))
    assert stretch == (stop - start if coded else 32)
    assert len(np.unique(masks, axis=1).T) == 16 or stop - start < 32, "no two parts always go together"


def test_where_a_code_is_long_there_are_folded_hadamard_matrices() -> None:
    masks, stretch = code(64, SEED, 0, 1024)
    assert stretch == 128
    for start in range(0, 1024, 128):
        assert unbalance(2 * masks[start : start + 128] - 1, 3) == 0
    assert unbalance(2 * masks[:128] - 1, 4) > 0, "four columns of a Hadamard matrix may depend on each other"
    assert not np.array_equal(masks[:128], masks[128:256])
    np.testing.assert_array_equal(masks[0::2] + masks[1::2], 1)


def test_beyond_the_longest_code_there_are_hadamard_matrices_still() -> None:
    masks, stretch = code(100, SEED, 0, 512)
    assert code_length(100) == 0
    assert stretch == 256
    assert unbalance(2 * masks - 1, 3) == 0


def test_a_narrow_kernel_gets_masks_drawn_by_their_weight() -> None:
    """Almost no row of a code would be near enough to count."""
    sample = coins(64).sample(vd.Gaussian(0.05), SEED, 0, 512)
    w = sample.weights[1:]
    assert w.sum() ** 2 / (w @ w) > 0.4 * 512


def columns_of(law: Any, d: int, b: Any) -> tuple[Any, Any, MaskLaw]:
    """All masks with their weights, and the law they follow."""
    near = law(d).near(vd.Gaussian(0.25))
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
    law, kernel = LAWS[kind](d), vd.Gaussian(0.25)
    every = law.every(kernel, 2**d)
    assert every is not None

    def weights(sample: Any, plain: bool) -> Any:
        near = Neighborhood(
            tuple(map(str, range(d))), sample.designs, np.empty((0, 0)), sample.weights, sample.design
        )
        if plain:
            near = Neighborhood(near.names, near.designs, near.outputs, near.weights, _without_law(sample.design))
        return Linear()(near, saturating(near.designs)).weights

    def _without_law(design: Any) -> Any:
        from dataclasses import replace

        return replace(design, sizes=None)

    truth = weights(every, plain=True)
    errors = np.zeros(2)
    for seed in range(20):
        kind_of = law if kind == "text" else _paired(law)
        sample = kind_of.sample(kernel, np.random.SeedSequence(seed), 0, n)
        errors += [np.sum((weights(sample, plain) - truth) ** 2) for plain in (False, True)]
    assert errors[0] < errors[1] / 4


def test_control_variates_that_sum_to_one_another_have_a_pull_still() -> None:
    """Products of all pairs, and of parts with the size, are linearly dependent: seed 37 was a singular matrix."""
    d, direction = 11, np.random.default_rng(0).normal(size=11)

    def step(masks: Any) -> Any:
        return (np.asarray(masks) @ direction > direction.sum() / 2).astype(float)

    why = vd.explain(step, Game(removals), d, rng=37)
    assert np.isfinite(why.intervals).all()
    sample = removals(d).sample(vd.Gaussian(0.25), SEED, 0, 1024)
    w, Z = sample.weights[1:], sample.designs[1:]
    y, root = step(Z), np.sqrt(w)
    center = w @ Z / w.sum()
    problem = Problem(Z, center, root, root * (y - w @ y / w.sum()), sample.design, True).prepared()
    wider, gram, _ = with_controls(problem, problem.grams())
    assert wider.controls is not None
    assert wider.controls.shape[1] > len(PRODUCTS)
    rows = slice(0, len(y))
    _, pull = wider._leverages(wider.rows(rows), rows, gram, np.linalg.inv(gram + 0.02 * np.diag(np.diag(gram))))
    assert (pull > 0).all()
    assert (pull < 1).all()


def test_intervals_of_few_parts_hold_whatever_the_order_of_what_they_do_together() -> None:
    """A code of eleven columns in 128 rows is so short that interactions of five parts pass for single ones."""
    d, direction = 11, np.random.default_rng(0).normal(size=11)

    def sigmoid(masks: Any) -> Any:
        return 1 / (1 + np.exp(direction.sum() - 2 * np.asarray(masks) @ direction))

    game = Game()
    truth = vd.explain(sigmoid, game, d, method=vd.Lime(n_samples=2**d)).weights
    whys = [vd.explain(sigmoid, game, d, method=vd.Lime(n_samples=1024), rng=seed) for seed in range(40)]
    covered = [(w.intervals[:, 0] <= truth) & (truth <= w.intervals[:, 1]) for w in whys]
    assert np.mean(covered) > 0.95
    assert np.mean(covered, axis=0).min() > 0.85


def _paired(law: Any) -> Any:
    from dataclasses import replace

    return replace(law, fair=False)


@pytest.mark.parametrize(("kind", "d"), [("image", 20), ("image", 100), ("text", 20), ("text", 157)])
def test_as_few_samples_as_are_accepted_are_enough(kind: str, d: int) -> None:
    """A linear model is found from the fewest samples; one fewer is refused."""
    law, truth = LAWS[kind], np.arange(d) - d / 2
    fewest = law(d).fewest

    def explain(n: int, rng: int) -> vd.Explanation:
        return vd.explain(lambda Z: 2 + Z @ truth, Game(law), d, method=vd.Lime(n_samples=n), rng=rng)

    for rng in range(5):
        why = explain(fewest, rng)
        np.testing.assert_allclose(why.weights, truth, atol=1e-5)
        assert np.isfinite(why.intervals).all()
    with pytest.raises(vd.InputError, match=f"at least {fewest}"):
        explain(fewest - 1, 0)


def test_parts_that_samples_cannot_tell_apart_get_no_weight() -> None:
    """Two parts that are always kept or taken away together: no number could be believed."""
    rng = np.random.default_rng(0)
    masks = rng.integers(0, 2, (200, 5)).astype(float)
    masks[:, 4] = masks[:, 3]
    sample = coins(5).sample(vd.Gaussian(0.25), SEED, 0, 200)
    near = Neighborhood(
        tuple("abcde"), np.vstack([np.ones(5), masks]), np.empty((0, 0)), sample.weights, sample.design
    )
    fit = Linear()(near, near.designs @ [1.0, 2.0, 0.0, 3.0, -3.5])
    np.testing.assert_array_equal(fit.measured, [True, True, True, False, False])
    np.testing.assert_allclose(fit.weights, [1, 2, 0, 0, 0], atol=1e-6)
    assert np.isinf(np.diag(fit.covariance)[3:]).all()
