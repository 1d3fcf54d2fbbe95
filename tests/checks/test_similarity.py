"""Similarities with their null pairs: why none of them says anything by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import veridical as vd
from veridical.checks.similarity import (
    MAP_MEASURES,
    PIXELS,
    SIGNED,
    WEIGHT_MEASURES,
    Reference,
    draw_signed,
    draw_sizes,
    map_rank_sizes,
    map_ranks,
    rank_sizes,
    read_map,
    shuffle_map,
    ssim,
    ssim_signed,
    ssim_sizes,
    top_overlap,
)

RNG = np.random.default_rng(0)


def spiky(power: int, shape: tuple[int, ...] = (1, 96, 96)) -> np.ndarray:
    """Noise with heavy tails: signed powers of normal numbers."""
    drawn = RNG.standard_normal(shape)
    return np.sign(drawn) * np.abs(drawn) ** power


def test_the_same_map_is_alike_by_every_measure() -> None:
    values = spiky(2, (3, 24, 24))
    for compare in MAP_MEASURES.values():
        assert compare(values, values) == pytest.approx(1)
        assert compare(values, 7 * values) == pytest.approx(1)
    weights = RNG.standard_normal(9)
    for compare in WEIGHT_MEASURES.values():
        assert compare(weights, 7 * weights) == pytest.approx(1)


def scaled(values: np.ndarray) -> np.ndarray:
    return ((values - values.min()) / np.ptp(values))[0]


def test_unrelated_spiky_maps_look_alike_to_ssim_alone() -> None:
    """Card G.3: min-max scaled noise of power 4 has an SSIM of about .7, and no relation."""
    pairs = [(spiky(4, (1, 224, 224)), spiky(4, (1, 224, 224))) for _ in range(2)]
    assert np.mean([ssim(scaled(a), scaled(b)) for a, b in pairs]) == pytest.approx(0.70, abs=0.12)
    assert max(abs(map_ranks(a, b)) for a, b in pairs) < 0.02
    assert abs(ssim_signed(*pairs[0])) < 0.5  # at the 99th percentile, as shown, it is less


def test_a_flat_map_is_like_any_mask() -> None:
    """Card G.3: against the background of an object of 31 % of the area, a constant gets .62."""
    background = np.ones((224, 224))
    background[50:175, 50:175] = 0
    assert ssim(np.ones((224, 224)), background) == pytest.approx(0.62, abs=0.05)


def test_looks_are_as_shown() -> None:
    values = np.zeros((2, 12, 12))
    values[0, 0, 0], values[1, 0, 0] = -3.0, 1.0
    assert draw_signed(values)[0, 0] == 0.0
    assert draw_signed(values)[5, 5] == 0.5
    assert draw_sizes(values)[0, 0] == 1.0
    assert draw_sizes(values)[5, 5] == 0.0
    assert (draw_sizes(np.ones((1, 4, 4))) == 0.5).all()
    assert ssim_sizes(values, -values) == pytest.approx(1)
    assert ssim_signed(values, -values) < 1


def test_shared_zeros_inflate_ranks_of_sizes() -> None:
    """Card G.3: two unrelated maps inside one box are alike in size, and not with their signs."""
    one, two = np.zeros((1, 40, 40)), np.zeros((1, 40, 40))
    one[0, 15:25, 15:25], two[0, 15:25, 15:25] = spiky(1, (10, 10)), spiky(1, (10, 10))
    assert map_rank_sizes(one, two) > 0.95
    assert abs(map_ranks(one, two)) < 0.3


def test_channels_of_a_place_stay_together_when_shuffled() -> None:
    values = np.stack([np.arange(9.0).reshape(3, 3), np.arange(9.0).reshape(3, 3)])
    mixed = shuffle_map(values, np.random.default_rng(1))
    np.testing.assert_array_equal(mixed[0], mixed[1])
    assert sorted(mixed[0].ravel()) == list(range(9))


def test_ssim_wants_a_window() -> None:
    with pytest.raises(vd.errors.InputError, match="at least 11 pixels"):
        ssim(np.zeros((8, 20)), np.zeros((8, 20)))


def test_top_parts_and_sizes() -> None:
    one, other = np.array([5.0, -4, 0, 0, 0, 0]), np.array([4.0, 0, 5, 0, 0, 0])
    assert top_overlap(one, other) == pytest.approx(1 / 3)
    assert top_overlap(np.zeros(4), np.zeros(4)) == 1.0
    assert rank_sizes(one, -one) == pytest.approx(1)


def explanations(n: int, noise: float = 0.0, d: int = 12) -> list[vd.Explanation]:
    base = vd.explain(lambda x: x @ np.arange(1.0, d + 1), vd.Rows(RNG.normal(size=(50, d))), np.ones(d))
    rng = np.random.default_rng(5)
    own = rng.normal(size=(n, d))
    return [replace(base, weights=w + noise * RNG.normal(size=d)) for w in own]


def test_ours_is_one_for_repeats_and_none_for_strangers() -> None:
    seed = np.random.SeedSequence(0)
    own, again, other = explanations(40), explanations(40, 0.4), explanations(40, 0.4)
    reference = Reference.of(own, again, seed)
    assert reference.main == SIGNED
    assert reference.compare(other)[SIGNED].shares.mean() == pytest.approx(1, abs=0.1)
    strangers = [*other[1:], other[0]]
    found = reference.compare(strangers)[SIGNED]
    assert found.shares.mean() == pytest.approx(0, abs=0.15)
    assert set(found.nulls) == {"constant", "noise", "shuffled", "another"}
    line = found.to_measured()
    assert line.n == 40
    assert line.low < line.value < line.high


def test_repeats_that_are_no_repeats_measure_nothing() -> None:
    own, again = explanations(30), explanations(30, 100.0)
    found = Reference.of(own, again, np.random.SeedSequence(0)).compare(own)[SIGNED]
    assert not found.clear
    assert np.isnan(found.shares).all()


def test_maps_are_painted_where_a_method_has_none() -> None:
    picture = RNG.random((16, 16, 3))
    why = vd.explain(lambda x: np.asarray(x)[:, :8].mean(axis=(1, 2, 3)), vd.Grid(4, 4), picture)
    painted = read_map(why)
    assert painted is not None
    assert painted.shape == (1, 16, 16)
    assert painted[0, 0, 0] == why.weights[0]
    own = read_map(replace(why, map=np.ones((16, 16, 3))))
    assert own is not None
    assert own.shape == (3, 16, 16)
    reference = Reference.of([why] * 3, [why] * 3, np.random.SeedSequence(0))
    assert reference.main == SIGNED
    assert PIXELS in reference.known
