"""Masks of kept features: their law by how many they keep, and samples of it, balanced by codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from veridical.protocols import Kernel, Seed
from veridical.records import Design, Floats, Sample
from veridical.sampling.kernels import cosine, flat
from veridical.seeds import generator

EVEN_SAMPLE = 512  # masks of even sizes that are drawn at once: of few, choices by held-out error are chance
THICK = 0.5  # effective share of the rows of a code below which masks are drawn by their weight instead


class ByLaw:
    """Draws masks by a law of sizes: what representations whose designs are masks share."""

    law: Sizes
    steady = True  # what is there without a part is fixed: the same masks give the same inputs

    @property
    def whole_sample(self) -> int:
        """Samples that are worth drawing at once: a code of strength five, where that is short."""
        if self.law.even:
            return EVEN_SAMPLE
        return code_length(self.law.d) if self.law.fair and self.law.d <= FEW_PARTS else 0

    @property
    def smallest_sample(self) -> int:
        """Samples below which parts could not be told apart: masks come in pairs, or as whole matrices."""
        return 2 * _hadamard_size(self.law.d) if self.law.fair else 3 * self.law.d

    def draw(self, kernel: Kernel, seed: Seed, start: int, stop: int) -> Sample:
        """Masks of balanced sizes; from 0 on, the full mask comes first.

        The masks of fair coins are rows of codes, unless the kernel is so narrow that few of them would count;
        others come in complement pairs.
        """
        law, near = self.law, self.law.near(kernel)
        relative = near / np.maximum(np.exp(law.log_share), 1e-300)
        thick = near.sum() ** 2 >= THICK * float(near @ relative)
        if law.fair and thick and law.d <= LARGEST_CODE:
            masks, stretch = code(law.d, seed, start, stop)
            weights = relative[masks.sum(axis=1).astype(int)]
        else:
            masks, weights = _draw_pairs(near, seed, start, stop)
            stretch = 2
        return law.sample(masks, weights, near, start == 0, cluster=2, stretch=stretch)

    def by_shares(self, shares: tuple[float, ...]) -> Any:
        """The same parts, of which each sample keeps any number with the same probability, and counts alike."""
        return replace(self, law=every_size(self.law.d), kernel=flat)  # type: ignore[type-var]

    def enumerate(self, kernel: Kernel, limit: int) -> Sample | None:
        """The full mask, then all 2ᵈ masks with their exact weights, if there are at most ``limit``."""
        d = self.law.d
        if d >= 31 or 2**d > limit:
            return None
        masks, near = all_masks(d), self.law.near(kernel)
        s = masks.sum(axis=1).astype(int)
        return self.law.sample(masks, near[s] / np.exp(log_choose(d))[s], near, with_instance=True, exact=True)


@dataclass(frozen=True)
class Sizes(ByLaw):
    """A law of masks that treats all parts alike: only the number of parts kept matters."""

    log_share: Floats  # (d + 1,) log probability that s parts are kept
    distances: Floats  # (d + 1,) from the full mask when s parts are kept
    fair: bool = False  # each part is kept by the toss of a fair coin
    even: bool = False  # all sizes are as likely

    @property
    def law(self) -> Sizes:  # type: ignore[override]  # it can be drawn from by itself
        return self

    @property
    def d(self) -> int:
        return len(self.log_share) - 1

    def near(self, kernel: Kernel) -> Floats:
        """Probability of each size times its proximity."""
        share: Floats = np.exp(self.log_share) * kernel(self.distances)
        return share

    def sample(
        self,
        masks: Floats,
        weights: Floats,
        near: Floats,
        with_instance: bool,
        *,
        cluster: int = 1,
        stretch: int = 1,
        exact: bool = False,
    ) -> Sample:
        """Masks as a sample, after the instance, which keeps every part: the law did not draw it."""
        if with_instance:
            masks, weights = np.vstack([np.ones(self.d), masks]), np.append(0.0, weights)
        kept = float(np.exp(self.log_share) @ np.arange(self.d + 1)) / self.d  # pairs keep half, about
        sizes = near / near.sum()
        design = Design(np.full(self.d, kept), cluster=cluster, stretch=stretch, exact=exact, sizes=sizes)
        return Sample(masks, weights, None, design)


def _draw_pairs(near: Floats, seed: Seed, start: int, stop: int) -> tuple[Floats, Floats]:
    """Masks and their complements, drawn by the mean of their probabilities, sizes stratified."""
    n, d, pairs = stop - start, len(near) - 1, -(-(stop - start) // 2)
    rng = generator(seed, 2, start)
    both = (near + near[::-1]) / 2
    strata = (np.arange(pairs) + rng.random(pairs)) / pairs
    sizes = np.searchsorted(np.cumsum(both / both.sum()), strata).clip(0, d)
    order = rng.random((pairs, d), dtype=np.float32).argsort(axis=1)
    kept = order < rng.permutation(sizes)[:, None]
    masks, weights = np.empty((2 * pairs, d), order="F"), np.empty(2 * pairs)
    masks[0::2], masks[1::2] = kept, ~kept
    s = kept.sum(axis=1)
    weights[0::2], weights[1::2] = near[s] / both[s], near[d - s] / both[s]
    return masks[:n], weights[:n] * both.sum()


def log_choose(d: int) -> Floats:
    """Log of the number of masks of each size 0..d."""
    s = np.arange(d + 1)
    count: Floats = gammaln(d + 1) - gammaln(s + 1) - gammaln(d - s + 1)
    return count


def coins(d: int, distances: Floats | None = None) -> Sizes:
    """Each part is kept by the toss of a fair coin: LIME's law for pictures. A part alone has no far end."""
    if d == 1 and distances is None:
        distances = np.zeros(2)
    return Sizes(log_choose(d) - d * np.log(2), cosine(d) if distances is None else distances, fair=True)


def removals(d: int) -> Sizes:
    """The number of parts removed is uniform on 1..d: LIME's law for text."""
    share = np.full(d + 1, -np.log(d))
    share[d] = -np.inf
    return Sizes(share, cosine(d))


def every_size(d: int) -> Sizes:
    """The number of parts kept is uniform on 0..d: what an additive local model is fitted to."""
    return Sizes(np.full(d + 1, -np.log(d + 1)), cosine(d), even=True)


def all_masks(d: int) -> Floats:
    """Every mask of d parts, (2ᵈ, d), the empty one first."""
    bits: Floats = ((np.arange(2**d)[:, None] >> np.arange(d)) & 1).astype(np.float64)
    return bits


# Codes: masks in which features are balanced against each other.

FEW_PARTS = 16  # of the Nordstrom-Robinson code
OCTACODE = np.array(
    [[1, 0, 0, 0, 3, 1, 2, 1], [0, 1, 0, 0, 1, 2, 3, 1], [0, 0, 1, 0, 3, 3, 3, 2], [0, 0, 0, 1, 2, 3, 1, 1]]
)
# By number of bits: as many columns as any code has of which no four sum to nothing, found by search.
COLUMNS = {
    9: (
        240, 261, 29, 241, 49, 129, 394, 79, 212, 195, 287, 70,
        34, 325, 154, 291, 505, 285, 292, 197, 132, 111, 18,
    ),
    10: (
        911, 998, 681, 323, 862, 141, 190, 254, 904, 32, 229, 305, 191, 828, 387, 325, 365, 753, 963, 9, 811, 379,
        217, 1014, 353, 400, 922, 619, 989, 143, 838, 318, 42,
    ),
}  # fmt: skip
ZETTERBERG = (12, 65, 0b1000111110001)  # bits, columns, and the polynomial of a code with 65 columns of 12 bits
LARGEST_CODE = 2**12  # parts
MOST = 0.9  # share of a code that is worth more than Hadamard matrices


def code_length(d: int) -> int:
    """Rows of the shortest code for d parts; 0 if there is none so wide."""
    if d <= FEW_PARTS:
        return len(nordstrom_robinson())
    return next((2**bits for bits, columns in _codes().items() if len(columns) >= d), 0)


def code(d: int, seed: Seed, start: int, stop: int) -> tuple[Floats, int]:
    """Rows start..stop of a sequence of binary codes with d columns, and how many balance each other.

    Wherever most of a code does not fit, there are folded Hadamard matrices, in which any three parts are kept
    and taken away in all ways equally often: strength three. Codes have strength four or more, with columns
    and signs of their own.
    """
    length, at = code_length(d), start
    made, stretch = list[Floats](), 2 * _hadamard_size(d)
    while at < stop:
        rows = _code_rows(d, seed, at, stop - at)
        if rows is None:  # a Hadamard matrix and its complement, in pairs: the columns' lowest bit is always 1
            rng, size = generator(seed, 6, at), _hadamard_size(d)
            columns = 1 + 2 * rng.permutation(size)[:d]
            end = (at // length + 1) * length if length else stop
            rows = _parities(np.arange(2 * size), columns, rng.integers(0, 2, d))[: min(end, stop) - at]
        else:
            stretch = stop - start  # so well balanced that nothing should be learned from some rows for others
        made.append(rows[: stop - at])
        at += len(made[-1])
    return np.concatenate(made), stretch


def _code_rows(d: int, seed: Seed, at: int, n: int) -> Floats | None:
    """The code that starts at a place of the sequence, if most of it fits into n rows.

    Up to 16 parts: a quarter of the Reed-Muller code of quadratic forms, whose quarters, halves and whole have
    strength five, five and seven; or the Nordstrom-Robinson code, which is half as long and has strength five.
    More parts: a code of strength four, and after it its complement, which together have strength five.
    """
    length = code_length(d)
    if d > FEW_PARTS:
        if not length or at % length or n < MOST * length:
            return None
        rng = generator(seed, 3, at // length // 2)
        columns, shift = rng.permutation(_codes()[length.bit_length() - 1])[:d], rng.integers(0, 2, d)
        return _parities(np.arange(length), columns, shift ^ (at // length % 2))
    quarter = 2 * length
    if at % quarter == 0 and n >= MOST * quarter:
        rng = generator(seed, 3, at // (4 * quarter))
        columns, shift = rng.permutation(quadratic_columns())[:d], rng.integers(0, 2, d)
        return _parities(at % (4 * quarter) + np.arange(quarter), columns, shift)
    if at % length == 0 and n >= MOST * length:
        rng = generator(seed, 7, at // length)
        chosen, shift = rng.permutation(FEW_PARTS)[:d], rng.integers(0, 2, d)
        return np.asarray(nordstrom_robinson()[:, chosen] ^ shift, dtype=np.float64)
    return None


@lru_cache(maxsize=1)
def quadratic_columns() -> npt.NDArray[np.int64]:
    """For each of 16 points x, as bits: 1, x, its cube in the field of 16 elements, and two products of its bits.

    A cube's bits are quadratic forms of those of x, and with the two products there are six independent ones:
    all that there are.
    """

    def times(a: int, b: int) -> int:
        product = 0
        for i in range(4):
            product ^= (a << i) * (b >> i & 1)
        for i in (6, 5, 4):
            product ^= (0b10011 << (i - 4)) * (product >> i & 1)
        return product

    x = np.arange(FEW_PARTS)
    cubes = np.array([times(times(a, a), a) for a in range(FEW_PARTS)])
    first, second = x & x >> 1 & 1, x & x >> 2 & 1
    return np.asarray(1 | x << 1 | cubes << 5 | first << 9 | second << 10)


@lru_cache(maxsize=1)
def nordstrom_robinson() -> npt.NDArray[np.int64]:
    """The Nordstrom-Robinson code, (256, 16): strength five in half the rows of a linear code.

    The image of the octacode, over the integers modulo 4, under the Gray map; complements lie side by side.
    """
    words = np.indices((4,) * 4).reshape(4, -1).T @ OCTACODE % 4
    bits = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])[words].reshape(256, FEW_PARTS)
    half = bits[bits[:, 0] == 0]
    rows = np.stack([half, 1 - half], axis=1).reshape(256, FEW_PARTS)
    rows.flags.writeable = False
    return rows


def _hadamard_size(d: int) -> int:
    return 1 << max((d - 1).bit_length(), 3)


def _parities(rows: Any, columns: Any, shift: Any) -> Floats:
    """1 where a row and a column share an odd number of bits, or an even number where it is shifted."""
    both = rows.astype(np.int32)[:, None] & columns.astype(np.int32)
    for half in (16, 8, 4, 2, 1):
        both ^= both >> half
    both &= 1
    both ^= shift.astype(np.int32)
    return np.asarray(both, dtype=np.float64)


@lru_cache(maxsize=1)
def _codes() -> dict[int, npt.NDArray[np.int64]]:
    """For some numbers of bits, columns of which no four sum to nothing."""
    bits, order, polynomial = ZETTERBERG
    powers = [1]
    while len(powers) < order:
        next_power = powers[-1] << 1
        powers.append(next_power ^ polynomial if next_power >> bits else next_power)
    return {**{bits: np.array(columns) for bits, columns in COLUMNS.items()}, bits: np.array(powers)}
