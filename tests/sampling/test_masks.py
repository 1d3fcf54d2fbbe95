"""Nets, kernels and laws of masks: what is true of them for every seed and size."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import qmc

import veridical as vd
from veridical.sampling.kernels import cosine, euclidean
from veridical.sampling.masks import Sizes, all_masks, code, code_length, coins, log_choose, removals
from veridical.sampling.nets import LARGEST_NET, net  # fmt: skip
from veridical.seeds import generator

seeds = st.integers(0, 2**128 - 1).map(np.random.SeedSequence)
SEED = np.random.SeedSequence(3)
LAWS = {"coins": coins, "removals": removals}


def flat(distances: Any) -> Any:
    return np.ones_like(distances)


# Nets ------------------------------------------------------------------------------------------------------


@given(seeds, st.integers(1, 40), st.integers(3, 9))
@settings(max_examples=40, deadline=None)
def test_each_coordinate_of_a_net_has_one_point_in_every_cell(seed: Any, d: int, bits: int) -> None:
    points = net(d, seed, 0, 2**bits)
    assert points.shape == (2**bits, d)
    assert points.dtype == np.uint32
    cells = np.sort(points >> np.uint32(32 - bits), axis=0)
    np.testing.assert_array_equal(cells, np.broadcast_to(np.arange(2**bits)[:, None], cells.shape))


@given(seeds, st.integers(1, 30), st.integers(1, 5), st.integers(1, 300))
@settings(max_examples=40, deadline=None)
def test_a_net_goes_on_where_it_stopped(seed: Any, d: int, doublings: int, odd: int) -> None:
    cut = 2**doublings
    whole = net(d, seed, 0, cut + odd)
    np.testing.assert_array_equal(net(d, seed, 0, cut), whole[:cut])
    np.testing.assert_array_equal(net(d, seed, cut, cut + odd), whole[cut:])
    np.testing.assert_array_equal(net(d, seed, 0, cut + odd), whole)


@given(seeds, st.integers(1, 2**40))
@settings(max_examples=30, deadline=None)
def test_two_seeds_are_two_shifts_of_one_net_with_its_dimensions_shuffled(seed: Any, other: int) -> None:
    a, b = net(5, seed, 0, 64), net(5, np.random.SeedSequence(other), 0, 64)
    shifts = a[:, :, None] ^ b[:, None, :]
    matches = (shifts == shifts[0]).all(axis=0)
    assert (matches.sum(axis=0) == 1).all()
    assert (matches.sum(axis=1) == 1).all()
    assert (a != b).any() or seed.entropy == other


def test_points_are_uniform_over_seeds() -> None:
    """The digital shift makes every single point uniform: 2,000 seeds, error of a mean 1/√(12·2000)."""
    points = np.stack([net(3, np.random.SeedSequence(s), 4, 6) for s in range(2000)]) / 2.0**32
    np.testing.assert_allclose(points.mean(axis=0), 0.5, atol=4.5 / np.sqrt(12 * 2000))
    np.testing.assert_allclose(points.var(axis=0), 1 / 12, atol=4.5 * np.sqrt(1 / 180 / 2000))


def test_a_net_is_more_even_than_chance() -> None:
    points = net(6, np.random.SeedSequence(1), 0, 512) / 2.0**32
    independent = np.random.default_rng(1).random((512, 6))
    assert qmc.discrepancy(points) < 0.25 * qmc.discrepancy(independent)


def test_above_the_tabulated_dimensions_points_are_independent_and_still_fixed_by_the_seed() -> None:
    d, seed = LARGEST_NET + 1, np.random.SeedSequence(3)
    points = net(d, seed, 0, 8)
    assert points.shape == (8, d)
    np.testing.assert_array_equal(net(d, seed, 0, 8), points)
    np.testing.assert_array_equal(net(d, seed, 0, 4), points[:4])
    more = net(d, seed, 8, 16)
    assert not np.array_equal(more, points)
    assert not np.array_equal(net(d, np.random.SeedSequence(4), 0, 8), points)
    assert points.mean() / 2**32 == pytest.approx(0.5, abs=4.5 / np.sqrt(12 * points.size))


def test_the_largest_net_is_a_net() -> None:
    cells = np.sort(net(LARGEST_NET, np.random.SeedSequence(0), 0, 8) >> np.uint32(29), axis=0)
    assert (cells == np.arange(8)[:, None]).all()


@given(seeds, st.lists(st.integers(0, 2**31), min_size=1, max_size=3))
@settings(max_examples=30, deadline=None)
def test_a_generator_is_fixed_by_seed_and_path(seed: Any, path: list[int]) -> None:
    once = generator(seed, *path).random(4)
    seed.spawn(2)  # what is done with the seed elsewhere does not matter
    np.testing.assert_array_equal(generator(seed, *path).random(4), once)
    assert not np.array_equal(generator(seed, *path, 0).random(4), once)


# Kernels ---------------------------------------------------------------------------------------------------


@given(st.floats(0.02, 50), st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_proximity_is_one_at_home_and_falls(width: float, distances: list[float]) -> None:
    near = vd.kernels.Gaussian(width)(np.sort(np.array([0.0, *distances])))
    assert near[0] == 1
    assert np.all(np.diff(near) <= 0)
    assert np.all(near >= 0)


@given(st.floats(0.05, 5), st.floats(0, 1))
def test_proximity_is_the_lime_packages(width: float, distance: float) -> None:
    """√exp(-D²/w²), and with distances and widths scaled alike nothing changes."""
    near = float(vd.kernels.Gaussian(width)(np.array(distance)))
    assert near == pytest.approx(np.sqrt(np.exp(-(distance**2) / width**2)), rel=1e-12)
    scaled = float(vd.kernels.Gaussian(100 * width)(np.array(100 * distance)))
    assert near == pytest.approx(scaled, rel=1e-9)


@given(st.integers(1, 200))
def test_distances_are_those_of_masks(d: int) -> None:
    full = np.ones(d)
    for s in {1, d // 2 or 1, d}:
        mask = np.r_[np.ones(s), np.zeros(d - s)]
        cos = 1 - mask @ full / (np.linalg.norm(mask) * np.linalg.norm(full))
        assert cosine(d)[s] == pytest.approx(cos, abs=1e-12)
        assert euclidean(d)[s] == pytest.approx(np.linalg.norm(full - mask) / np.sqrt(d), abs=1e-12)
    assert cosine(d)[0] == 1


# Laws of masks ---------------------------------------------------------------------------------------------


@given(st.integers(1, 500))
def test_laws_are_probabilities(d: int) -> None:
    for law in (coins(d), removals(d)):
        assert law.d == d
        assert np.exp(law.log_share).sum() == pytest.approx(1, rel=1e-9)
    assert np.exp(removals(d).log_share[d]) == 0, "text never keeps all words"
    assert np.exp(removals(d).log_share[0]) == pytest.approx(1 / d)
    np.testing.assert_allclose(coins(d).log_share, log_choose(d) - d * np.log(2))


@given(seeds, st.integers(1, 40), st.integers(1, 200), st.sampled_from(sorted(LAWS)), st.floats(0.05, 10))
@settings(max_examples=60, deadline=None)
def test_masks_come_in_complement_pairs(seed: Any, d: int, n: int, law: str, width: float) -> None:
    sample = LAWS[law](d).draw(vd.kernels.Gaussian(width), seed, 0, n)
    assert sample.designs[0].all(), "the instance comes first"
    assert sample.weights[0] == 0
    masks, weights, design = sample.designs[1:], sample.weights[1:], sample.design
    assert masks.shape == (n, d)
    assert weights.shape == (n,)
    assert np.isin(masks, (0, 1)).all()
    assert design.cluster == 2
    if design.stretch == 2:  # not a code
        pairs = n // 2
        np.testing.assert_array_equal(masks[0 : 2 * pairs : 2] + masks[1 : 2 * pairs : 2], 1)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    again = LAWS[law](d).draw(vd.kernels.Gaussian(width), seed, 0, n)
    np.testing.assert_array_equal(again.designs, sample.designs)
    np.testing.assert_array_equal(again.weights, sample.weights)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("d", [1, 2, 7, 30, 300])
@pytest.mark.parametrize(
    "kernel", [flat, vd.kernels.Gaussian(0.25), vd.kernels.Gaussian(0.08)], ids=["flat", "0.25", "0.08"]
)
def test_weighted_means_are_those_of_the_law(law: str, d: int, kernel: Any) -> None:
    """Any function of the size, and any single part: the mean over pairs is within 5 of its standard errors."""
    sizes: Sizes = LAWS[law](d)
    near, s = sizes.near(kernel), np.arange(d + 1)
    sample = sizes.draw(kernel, np.random.SeedSequence(5), 0, 4000)
    masks, weights = sample.designs[1:], sample.weights[1:]
    kept = masks.sum(axis=1)
    functions = {
        "mass": (np.ones(4000), near.sum()),
        "size": (kept / d, near @ s / d),
        "square": ((kept / d) ** 2, near @ (s / d) ** 2),
        "half": (kept <= d / 2, near @ (s <= d / 2)),
        "one part": (masks[:, -1], near @ s / d),
    }
    for name, (values, truth) in functions.items():
        pairs = (weights * values).reshape(-1, 2).mean(axis=1)
        error = pairs.std() / np.sqrt(len(pairs))
        assert pairs.mean() == pytest.approx(truth, abs=5 * error + 1e-9 * near.sum()), name


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("d", [1, 2, 5, 11])
def test_enumeration_is_the_law(law: str, d: int) -> None:
    sizes: Sizes = LAWS[law](d)
    kernel = vd.kernels.Gaussian(0.25)
    assert sizes.enumerate(kernel, 2**d - 1) is None
    sample = sizes.enumerate(kernel, 2**d)
    assert sample is not None
    assert sample.designs[0].all()
    assert sample.weights[0] == 0
    masks, weights, design = sample.designs[1:], sample.weights[1:], sample.design
    assert design.exact
    assert len(masks) == 2**d
    assert len(np.unique(masks, axis=0)) == 2**d
    kept = masks.sum(axis=1).astype(int)
    np.testing.assert_allclose(np.bincount(kept, weights, d + 1), sizes.near(kernel), rtol=1e-9)
    np.testing.assert_allclose(weights @ masks, (sizes.near(kernel) @ np.arange(d + 1)) / d, rtol=1e-9)
    np.testing.assert_allclose(design.shares, np.exp(sizes.log_share) @ np.arange(d + 1) / d, rtol=1e-9)


def test_sizes_are_stratified() -> None:
    """The number of masks of each size is what it should be, to within one."""
    sizes = replace(coins(6), fair=False)
    masks = sizes.draw(flat, np.random.SeedSequence(0), 0, 1280).designs[1:]
    found = np.bincount(masks[0::2].sum(axis=1).astype(int), minlength=7)
    assert np.abs(np.cumsum(found) - 640 * np.cumsum(np.exp(sizes.log_share))).max() <= 1


@given(st.integers(1, 12))
def test_all_masks(d: int) -> None:
    masks = all_masks(d)
    assert masks.shape == (2**d, d)
    assert not masks[0].any()
    assert masks[-1].all()
    assert len({tuple(m) for m in masks}) == 2**d


def test_a_later_piece_of_masks_is_another_one() -> None:
    law, seed = coins(12), np.random.SeedSequence(0)
    first, second = (law.draw(flat, seed, *at).designs for at in ((0, 64), (64, 128)))
    assert len(first) == 65
    assert len(second) == 64
    assert not np.array_equal(first[1:], second)


def test_very_many_parts_are_drawn_without_a_warning() -> None:
    """No share of masks is so small that it would not be a number."""
    sample = coins(1100).draw(vd.kernels.Gaussian(0.25), np.random.SeedSequence(0), 0, 4096)
    assert np.isfinite(sample.weights).all()
    assert sample.weights[1:].min() > 0


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
    sample = coins(64).draw(vd.kernels.Gaussian(0.05), SEED, 0, 512)
    w = sample.weights[1:]
    assert w.sum() ** 2 / (w @ w) > 0.4 * 512
