"""How alike two explanations are, beside pairs that have nothing to do with each other.

A similarity says nothing by itself: two unrelated maps with a few bright spots have an SSIM near 0.9. So every
measure is taken on null pairs, too, and ours is where the observed value lies between those and the likeness of
the same explanation made again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from veridical.errors import InputError, require
from veridical.metrics.significance import interval
from veridical.metrics.weights import cosine_similarity, mask_heaviest, match_parts, rank_correlation
from veridical.protocols import Seed
from veridical.records import Explanation, Floats, Measured
from veridical.seeds import generator

CONSTANT, NOISE, SHUFFLED, ANOTHER = "constant", "noise", "shuffled", "another"
MAX_TOP_PARTS = 5  # parts that a reader keeps in mind, but at most half of them
BRIGHT_PERCENTILE = 99  # percentile of sizes that is shown at full strength
SSIM_SIGMA = 1.5  # of the Gaussian window of SSIM, which has 11 taps
MIN_SSIM_PIXELS = 11  # pixels a side that SSIM's window needs
MIN_REACH = 0.1  # how much more alike than null pairs a method's repeats must be to be a measure
SIGNED, SIZES, PIXELS = "Spearman, signed", "Spearman, sizes", "Spearman of pixels, signed"
LIKENESS_LEFT = "likeness left"  # 0 as null pairs, 1 as the same explained again

SimilarityMeasure: TypeAlias = Callable[[Floats, Floats], float]
NullChange: TypeAlias = Callable[[Floats, np.random.Generator], Floats]


def top_overlap(a: Floats, b: Floats) -> float:
    """Overlap (Jaccard) of the five heaviest parts, of few parts the heavier half."""
    k, rng = max(min(MAX_TOP_PARTS, len(a) // 2), 1), np.random.default_rng(0)
    one, two = mask_heaviest(a, k, rng), mask_heaviest(b, k, rng)
    either = float((one | two).sum())
    return float((one & two).sum() / either) if either else 1.0


def cosine_or_empty(a: Floats, b: Floats) -> float:
    """The cosine of the angle between weights; 1 if both are empty."""
    return cosine_similarity(a, b) if np.nan_to_num(a).any() or np.nan_to_num(b).any() else 1.0


def rank_sizes(a: Floats, b: Floats) -> float:
    """Spearman's correlation of sizes, mid-ranks for ties."""
    return rank_correlation(np.abs(a), np.abs(b))


def draw_signed(values: Floats) -> Floats:
    """A map (channels, h, w) as it is shown in two colors, (h, w) in [0, 1]; 0.5 is nothing."""
    flat = np.nan_to_num(values.sum(axis=0))
    bright = float(np.percentile(np.abs(flat), BRIGHT_PERCENTILE)) or float(np.abs(flat).max())
    return np.clip(flat / bright, -1, 1) / 2 + 0.5 if bright else np.full(flat.shape, 0.5)


def draw_sizes(values: Floats) -> Floats:
    """A map (channels, h, w) as it is shown in gray, (h, w) in [0, 1]; what is the same all over is 0.5."""
    flat = np.nan_to_num(np.abs(values).sum(axis=0))
    low, bright = float(flat.min()), float(np.percentile(flat, BRIGHT_PERCENTILE))
    bright = bright if bright > low else float(flat.max())
    return np.clip((flat - low) / (bright - low), 0, 1) if bright > low else np.full(flat.shape, 0.5)


def ssim(a: Floats, b: Floats) -> float:
    """Structural similarity of two pictures (h, w) of numbers from 0 to 1 (Wang et al. 2004)."""
    if min(a.shape) < MIN_SSIM_PIXELS:
        raise InputError(
            f"SSIM needs at least {MIN_SSIM_PIXELS} pixels per side, not a picture of shape {a.shape}"
        )
    measure = require("skimage.metrics", extra="image").structural_similarity
    return float(
        measure(a, b, data_range=1.0, gaussian_weights=True, sigma=SSIM_SIGMA, use_sample_covariance=False)
    )


def ssim_signed(a: Floats, b: Floats) -> float:
    """SSIM of two maps (channels, h, w) as they are shown in two colors."""
    return ssim(draw_signed(a), draw_signed(b))


def ssim_sizes(a: Floats, b: Floats) -> float:
    """SSIM of two maps (channels, h, w) as they are shown in gray."""
    return ssim(draw_sizes(a), draw_sizes(b))


def map_ranks(a: Floats, b: Floats) -> float:
    """Spearman's correlation of two maps (channels, h, w), channels summed, over places."""
    return rank_correlation(a.sum(axis=0).ravel(), b.sum(axis=0).ravel())


def map_rank_sizes(a: Floats, b: Floats) -> float:
    """Spearman's correlation of the sizes of two maps (channels, h, w), over places."""
    return rank_correlation(np.abs(a).sum(axis=0).ravel(), np.abs(b).sum(axis=0).ravel())


def make_constant(values: Floats, rng: np.random.Generator) -> Floats:
    """Nothing is more than anything else."""
    return np.ones_like(values)


def draw_noise(values: Floats, rng: np.random.Generator) -> Floats:
    """Independent normal numbers."""
    return rng.standard_normal(values.shape)


def shuffle_map(values: Floats, rng: np.random.Generator) -> Floats:
    """The same numbers in other places; the channels of a place stay together."""
    if values.ndim == 1:
        return rng.permutation(values)
    places = values.reshape(len(values), -1)
    return np.asarray(places[:, rng.permutation(places.shape[1])].reshape(values.shape))


WEIGHT_MEASURES: Mapping[str, SimilarityMeasure] = {
    SIGNED: rank_correlation,
    SIZES: rank_sizes,
    "cosine": cosine_or_empty,
    "top 5": top_overlap,
}
MAP_MEASURES: Mapping[str, SimilarityMeasure] = {
    "SSIM, signed": ssim_signed,
    "SSIM, sizes": ssim_sizes,
    PIXELS: map_ranks,
    "Spearman of pixels, sizes": map_rank_sizes,
}
ALL_MEASURES: Mapping[str, SimilarityMeasure] = {**WEIGHT_MEASURES, **MAP_MEASURES}
NULLS: Mapping[str, NullChange] = {
    CONSTANT: make_constant,
    NOISE: draw_noise,
    SHUFFLED: shuffle_map,
}


def read_map(explanation: Explanation) -> Floats | None:
    """The map of a picture's explanation, (channels, h, w): the method's own, or its weights painted on places."""
    view = explanation.view
    if view is None or view.kind != "picture" or len(view.data["labels"]) != 1:
        return None
    if explanation.map is None:
        return np.asarray(explanation.weights[view.data["labels"]], dtype=np.float64)
    values = np.asarray(explanation.map, dtype=np.float64)
    if values.ndim == 2:
        return values[None]
    return np.moveaxis(values, int(np.argmin(values.shape)), 0) if values.ndim == 3 else None


@dataclass(frozen=True, eq=False)
class Similarity:
    """How alike explanations are to others of the same instances, by one measure."""

    name: str
    values: Floats  # (n,)
    repeated: float  # of repeats with another seed
    nulls: Mapping[str, float]

    @property
    def null(self) -> float:
        """The most that explanations get which know nothing; one of another instance knows the model."""
        return max(self.nulls[key] for key in NULLS)

    @property
    def clear(self) -> bool:
        """Whether repeats are more alike than null pairs: else nothing can be read off the measure."""
        return self.repeated - self.null > MIN_REACH

    @property
    def shares(self) -> Floats:
        """Ours, (n,): 0 for null pairs and 1 for repeats; nan if those are the same."""
        reach = self.repeated - self.null
        return (self.values - self.null) / reach if self.clear else np.full(len(self.values), np.nan)

    def to_measured(self) -> Measured:
        """As a line of a table."""
        nulls = {key: value for key, value in self.nulls.items() if np.isfinite(value)}
        known = int(np.isfinite(self.values).sum())
        return Measured(self.name, *interval(self.values), known, nulls)


@dataclass(frozen=True, eq=False)
class Reference:
    """Explanations that others are held against, with what repeats and null pairs get."""

    own: tuple[Explanation, ...]
    known: Mapping[str, tuple[float, Mapping[str, float]]]  # of each measure: repeats, null pairs

    @classmethod
    def of(cls, own: Sequence[Explanation], again: Sequence[Explanation], seed: Seed) -> Reference:
        """``again`` are explanations of the same instances by the same method, with another seed."""
        found, another = {}, [*again[1:], again[0]]
        for name in _choose_measures(own):
            nulls = {key: _known_mean(_compare_with_null(name, own, key, seed)) for key in NULLS}
            nulls[ANOTHER] = _known_mean(_compare_pairs(name, own, another))
            found[name] = _known_mean(_compare_pairs(name, own, again)), nulls
        return cls(tuple(own), found)

    @property
    def main(self) -> str:
        """The measure that ours rests on: ranks with signs, of pixels where the method itself makes a map of them.

        Sums over regions are much alike for any network where a method has no signs: they follow the picture.
        """
        return PIXELS if PIXELS in self.known and all(each.map is not None for each in self.own) else SIGNED

    def compare(self, others: Sequence[Explanation]) -> dict[str, Similarity]:
        """Every measure of these explanations and others of the same instances."""
        return {
            name: Similarity(name, _compare_pairs(name, self.own, others), again, nulls)
            for name, (again, nulls) in self.known.items()
        }


def _choose_measures(own: Sequence[Explanation]) -> tuple[str, ...]:
    """Names of the measures that can be taken of these explanations."""
    maps = [read_map(each) for each in own]
    fits = all(each is not None and min(each.shape[1:]) >= MIN_SSIM_PIXELS for each in maps)
    return (*WEIGHT_MEASURES, *MAP_MEASURES) if fits else tuple(WEIGHT_MEASURES)


def _pair_values(name: str, first: Explanation, second: Explanation) -> tuple[Floats, Floats]:
    """What a measure compares of two explanations."""
    if name in WEIGHT_MEASURES:
        here, there = match_parts(first, second)
        return first.weights[here], second.weights[there]
    one, two = read_map(first), read_map(second)
    if one is None or two is None or one.shape != two.shape:
        raise InputError("these explanations have no maps of the same shape")
    return one, two


def _compare_pairs(name: str, first: Sequence[Explanation], second: Sequence[Explanation]) -> Floats:
    """A measure of each pair, (n,); nan where two explanations have nothing in common."""
    compare, found = ALL_MEASURES[name], []
    for one, two in zip(first, second, strict=True):
        try:
            found.append(compare(*_pair_values(name, one, two)))
        except InputError:
            found.append(np.nan)
    return np.array(found)


def _compare_with_null(name: str, own: Sequence[Explanation], null: str, seed: Seed) -> Floats:
    """A measure of each explanation and one that knows nothing, (n,)."""
    values = [_pair_values(name, each, each)[0] for each in own]
    return np.array([ALL_MEASURES[name](a, NULLS[null](a, generator(seed, i))) for i, a in enumerate(values)])


def _known_mean(values: Floats) -> float:
    return float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
