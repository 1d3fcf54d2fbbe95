"""Means of products over masks, in closed form, where all masks of a size are equally likely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veridical.records import Floats

PRODUCTS = ((0, 2), (0, 3), (0, 4), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0))  # powers of the index and the size


@dataclass(frozen=True, eq=False)
class MaskLaw:
    """A law of masks, given by that of the number of parts kept."""

    sizes: Floats  # (d + 1,), sums to 1

    @property
    def d(self) -> int:
        return len(self.sizes) - 1

    @property
    def share(self) -> float:
        """Probability that a part is kept."""
        return float(self.kept(np.ones(self.d + 1))[1])

    def kept(self, of_size: Floats) -> Floats:
        """Mean of a function of the size (d + 1,) times an indicator that p given parts are kept, p = 0..4."""
        s, found, chance = np.arange(self.d + 1), [], np.ones(self.d + 1)
        for p in range(5):
            found.append(float(self.sizes @ (of_size * chance)))
            chance = chance * np.maximum(s - p, 0) / max(self.d - p, 1)
        return np.array(found)

    def standard(self, s: Floats) -> Floats:
        """Sizes, with mean 0 and spread 1."""
        all_sizes = np.arange(self.d + 1)
        mean = self.sizes @ all_sizes
        spread = float(np.sqrt(self.sizes @ (all_sizes - mean) ** 2))
        return np.asarray((s - mean) / max(spread, 1e-300))

    def spread(self, b: Floats) -> float:
        """Standard deviation of the sum of b over the parts kept."""
        _, one, two, *_ = self.kept(np.ones(self.d + 1))
        return float(np.sqrt(max((one - two) * (b @ b) + (two - one**2) * b.sum() ** 2, 0.0)))

    def projections(self, b: Floats) -> tuple[Floats, Floats]:
        """Means (c,) of the products and their slopes (d, c) on the designs, the index being centered."""
        share, u = self.share, self.standard(np.arange(self.d + 1.0))
        _, one, two, *_ = self.kept(np.ones(self.d + 1))
        common = (two - one**2) / ((one - two) + self.d * (two - one**2))
        means, slopes = [], []
        for k, power in PRODUCTS:
            mean, with_part = self._centered(b, k, self.kept(u**power), share * float(b.sum()))
            pull = with_part - share * mean
            means.append(mean)
            slopes.append((pull - common * pull.sum()) / (one - two))
        return np.array(means), np.stack(slopes, axis=1)

    def interactions(self, Z: Floats) -> Floats:
        """Each part times the size, less what 1 and the designs say of it, (n, d)."""
        _, one, two, *_ = self.kept(np.ones(self.d + 1))
        _, with_one, with_two, *_ = self.kept(self.standard(np.arange(self.d + 1.0)))
        common = (two - one**2) / ((one - two) + self.d * (two - one**2))
        other, own = with_two - one * with_one, with_one - one * with_one  # pull of another part, and of its own
        shared = (other - common * (self.d * other + own - other)) / (one - two)
        size = Z.sum(axis=1)
        products: Floats = Z * self.standard(size)[:, None] - with_one
        products -= (own - other) / (one - two) * (Z - one)
        products -= shared * (size - self.d * one)[:, None]
        return products

    def _centered(self, b: Floats, k: int, kept: Floats, center: float) -> tuple[float, Floats]:
        """Mean of (sum - center)ᵏ times a function of the size, alone and with each part kept (d,)."""
        mean, with_part = 0.0, np.zeros(len(b))
        for i in range(k + 1):
            factor = _CHOOSE[k][i] * (-center) ** (k - i)
            alone, beside = _raw(b, i, kept)
            mean += factor * alone
            with_part += factor * beside
        return mean, with_part


_CHOOSE = ((1,), (1, 1), (1, 2, 1), (1, 3, 3, 1))


def _raw(b: Floats, k: int, kept: Floats) -> tuple[float, Floats]:
    """Mean of the k-th power of the sum of b over the parts kept, alone and with each part (d,) kept.

    A product of parts depends on how many of them differ; power sums count the tuples of each kind.
    """
    a0, a1, a2, a3, a4 = kept
    if k == 0:
        return a0, np.full(len(b), a1)
    p1, p2, p3 = float(b.sum()), float(b @ b), float(b @ (b * b))
    o1, o2, o3 = p1 - b, p2 - b**2, p3 - b**3  # of the others
    if k == 1:
        return p1 * a1, b * a1 + o1 * a2
    if k == 2:
        return p2 * a1 + (p1**2 - p2) * a2, b**2 * a1 + (2 * b * o1 + o2) * a2 + (o1**2 - o2) * a3
    alone = p3 * a1 + 3 * (p1 * p2 - p3) * a2 + (p1**3 - 3 * p1 * p2 + 2 * p3) * a3
    two = 3 * b**2 * o1 + 3 * b * o2 + o3
    three = 3 * b * (o1**2 - o2) + 3 * (o1 * o2 - o3)
    return alone, b**3 * a1 + two * a2 + three * a3 + (o1**3 - 3 * o1 * o2 + 2 * o3) * a4
