"""Means of products over masks, in closed form, where all masks of a size are equally likely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from veridical.records import Floats

PRODUCTS = ((0, 2), (0, 3), (0, 4), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0))  # powers of the index and the size
MOST = 4  # parts of a product, with the one it is held against
Kinds: TypeAlias = dict[int, Floats]
CHOOSE = ((1,), (1, 1), (1, 2, 1), (1, 3, 3, 1))


@dataclass(frozen=True, eq=False)
class MaskLaw:
    """A law of masks, given by that of the number of parts kept."""

    d: int
    sizes: Floats  # (d + 1,), sums to 1
    standard: Floats  # (d + 1,) the sizes 0..d with mean 0 and spread 1
    kept: Floats  # (5, 5) mean of a power of the standard size if p given parts are kept, times the share of that
    share: float  # probability that a part is kept
    together: float  # covariance of two parts
    apart: float  # variance of a part less that
    common: float  # the inverse covariance matrix of the parts is (1 - common · ones) / apart

    @classmethod
    def of(cls, sizes: Floats) -> MaskLaw:
        """The law of masks whose number of parts kept follows ``sizes``."""
        d = len(sizes) - 1
        s = np.arange(d + 1.0)
        mean = float(sizes @ s)
        standard = (s - mean) / max(float(np.sqrt(sizes @ (s - mean) ** 2)), 1e-300)
        chance = [np.ones(d + 1)]
        for p in range(MOST):
            chance.append(chance[-1] * np.maximum(s - p, 0) / max(d - p, 1))
        powers = standard ** np.arange(5)[:, None]
        kept = (powers * sizes) @ np.array(chance).T
        share, both = float(kept[0, 1]), float(kept[0, 2])
        apart, together = float(kept[0, 1] - kept[0, 2]), both - share**2
        return cls(d, sizes, standard, kept, share, together, apart, together / (apart + d * together))

    def leverage(self) -> Floats:
        """Squared distance of masks of each size from the mean, in units of the law's covariance, (d + 1,)."""
        s = np.arange(self.d + 1.0)
        squares = s * (1 - self.share) ** 2 + (self.d - s) * self.share**2
        return np.asarray((squares - self.common * (s - self.d * self.share) ** 2) / self.apart)

    def spread(self, b: Floats) -> Floats:
        """Standard deviation of the sums of the rows of b (m, d) over the parts kept, (m,)."""
        variance = self.apart * np.sum(b**2, axis=1) + self.together * b.sum(axis=1) ** 2
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def projections(self, b: Floats) -> tuple[Floats, Floats]:
        """Means (m, c) of the products and their slopes (m, d, c) on the designs, for indices b (m, d).

        An index is centered. A product of parts depends on how many of them differ, and power sums of b count
        the tuples of each kind.
        """
        center = self.share * b.sum(axis=1)
        means, slopes = np.empty((len(b), len(PRODUCTS))), np.empty((*b.shape, len(PRODUCTS)))
        raw = _tuples(b)
        for c, (k, power) in enumerate(PRODUCTS):
            mean, beside = np.zeros(len(b)), np.zeros(b.shape)
            for i, (alone, with_part) in enumerate(raw[: k + 1]):
                factor = CHOOSE[k][i] * (-center) ** (k - i)
                mean += factor * sum(a * self.kept[power, p] for p, a in alone.items())
                beside += factor[:, None] * sum(a * self.kept[power, p] for p, a in with_part.items())
            pull = beside - self.share * mean[:, None]
            means[:, c] = mean
            slopes[:, :, c] = (pull - self.common * pull.sum(axis=1, keepdims=True)) / self.apart
        return means, slopes

    def pairs(self, Z: Floats, parts: Any) -> Floats:
        """The products of each two of some parts, less what 1 and the designs say of them, (n, pairs)."""
        one, two, three = (float(a) for a in self.kept[0, 1:4])
        own, other = two * (1 - one), three - one * two  # pull of a part of the pair, and of another
        shared = (other - self.common * (2 * own + (self.d - 2) * other)) / self.apart
        first, second = (np.asarray(parts)[at] for at in np.triu_indices(len(parts), 1))
        a, b = Z[:, first], Z[:, second]
        products: Floats = a * b - two - (own - other) / self.apart * (a + b - 2 * one)
        products -= shared * (Z.sum(axis=1) - self.d * one)[:, None]
        return products

    def interactions(self, Z: Floats) -> Floats:
        """Each part times the size, less what 1 and the designs say of it, (n, d)."""
        one, with_one, with_two = self.share, float(self.kept[1, 1]), float(self.kept[1, 2])
        other, own = with_two - one * with_one, with_one - one * with_one  # pull of another part, and of its own
        shared = (other - self.common * (self.d * other + own - other)) / self.apart
        size = Z.sum(axis=1)
        products: Floats = Z * self.standard[size.astype(int)][:, None] - with_one
        products -= (own - other) / self.apart * (Z - one)
        products -= shared * (size - self.d * one)[:, None]
        return products


def _tuples(b: Floats) -> list[tuple[Kinds, Kinds]]:
    """The powers 0..3 of the sum of b (m, d), each sorted by how many of its parts differ.

    Alone (m,), and times each part (m, d): a tuple that has the part already has no new one by it.
    """
    square, cube = b * b, b * b * b
    p1, p2, p3 = b.sum(axis=1), square.sum(axis=1), cube.sum(axis=1)
    o1, o2, o3 = p1[:, None] - b, p2[:, None] - square, p3[:, None] - cube  # of the others
    apart = o1 * o1 - o2
    return [
        ({0: np.ones(len(b))}, {1: np.ones(b.shape)}),
        ({1: p1}, {1: b, 2: o1}),
        ({1: p2, 2: p1**2 - p2}, {1: square, 2: 2 * b * o1 + o2, 3: apart}),
        (
            {1: p3, 2: 3 * (p1 * p2 - p3), 3: p1**3 - 3 * p1 * p2 + 2 * p3},
            {
                1: cube,
                2: 3 * square * o1 + 3 * b * o2 + o3,
                3: 3 * b * apart + 3 * (o1 * o2 - o3),
                4: o1 * apart - 2 * (o1 * o2 - o3),
            },
        ),
    ]
