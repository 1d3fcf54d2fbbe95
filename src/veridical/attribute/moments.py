"""Means of products over masks, in closed form, where all masks of a size are equally likely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veridical.records import Floats

PRODUCTS = ((0, 2), (0, 3), (0, 4), (1, 1), (1, 2), (2, 0), (2, 1), (3, 0))  # powers of the index and the size
MOST = 4  # parts of a product, with the one it is held against
CHOOSE = ((1,), (1, 1), (1, 2, 1), (1, 3, 3, 1))


@dataclass(frozen=True, eq=False)
class MaskLaw:
    """A law of masks, given by that of the number of parts kept."""

    sizes: Floats  # (d + 1,), sums to 1
    standard: Floats  # (d + 1,) the sizes 0..d with mean 0 and spread 1
    kept: (
        Floats  # (5, 5) mean of a power of the standard size over masks that keep p given parts, times their share
    )

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
        return cls(sizes, standard, (powers * sizes) @ np.array(chance).T)

    @property
    def d(self) -> int:
        return len(self.sizes) - 1

    @property
    def share(self) -> float:
        """Probability that a part is kept."""
        return float(self.kept[0, 1])

    @property
    def apart(self) -> float:
        """Variance of a part less its covariance with another."""
        return float(self.kept[0, 1] - self.kept[0, 2])

    @property
    def common(self) -> float:
        """The inverse covariance matrix of the parts is (1 - common · ones) / apart."""
        together = float(self.kept[0, 2]) - self.share**2
        return together / (self.apart + self.d * together)

    def leverage(self) -> Floats:
        """Squared distance of masks of each size from the mean, in units of the law's covariance, (d + 1,)."""
        s = np.arange(self.d + 1.0)
        squares = s * (1 - self.share) ** 2 + (self.d - s) * self.share**2
        return np.asarray((squares - self.common * (s - self.d * self.share) ** 2) / self.apart)

    def spread(self, b: Floats) -> Floats:
        """Standard deviation of the sums of the rows of b (m, d) over the parts kept, (m,)."""
        together = float(self.kept[0, 2]) - self.share**2
        variance = self.apart * np.sum(b**2, axis=1) + together * b.sum(axis=1) ** 2
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def projections(self, b: Floats) -> tuple[Floats, Floats]:
        """Means (m, c) of the products and their slopes (m, d, c) on the designs, for indices b (m, d).

        An index is centered. A product of parts depends on how many of them differ, and power sums of b count
        the tuples of each kind.
        """
        center = self.share * b.sum(axis=1, keepdims=True)
        raw = [_tuples(b, k) for k in range(4)]
        means, slopes = [], []
        for k, power in PRODUCTS:
            kept = self.kept[power]
            factors = [CHOOSE[k][i] * (-center) ** (k - i) for i in range(k + 1)]
            mean = sum(f[:, 0] * (raw[i][0] @ kept) for i, f in enumerate(factors))
            beside = sum(f * (raw[i][1] @ kept) for i, f in enumerate(factors))
            pull = beside - self.share * np.asarray(mean)[:, None]
            means.append(mean)
            slopes.append((pull - self.common * pull.sum(axis=1, keepdims=True)) / self.apart)
        return np.stack(means, axis=1), np.stack(slopes, axis=2)

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


def _tuples(b: Floats, k: int) -> tuple[Floats, Floats]:
    """The k-th power of the sum of b (m, d), sorted by how many of its parts differ, 0..4.

    Alone (m, 5), and times each part (m, d, 5): a tuple that has the part already has no new one by it.
    """
    p1, p2, p3 = (np.sum(b**i, axis=1) for i in (1, 2, 3))
    o1, o2, o3 = (p[:, None] - b**i for i, p in enumerate((p1, p2, p3), 1))  # of the others
    none, one = np.zeros_like(p1), np.zeros_like(b)
    alone = {
        0: [none + 1],
        1: [none, p1],
        2: [none, p2, p1**2 - p2],
        3: [none, p3, 3 * (p1 * p2 - p3), p1**3 - 3 * p1 * p2 + 2 * p3],
    }[k]
    two, three = 3 * b**2 * o1 + 3 * b * o2 + o3, 3 * b * (o1**2 - o2) + 3 * (o1 * o2 - o3)
    beside = {
        0: [one, one + 1],
        1: [one, b, o1],
        2: [one, b**2, 2 * b * o1 + o2, o1**2 - o2],
        3: [one, b**3, two, three, o1**3 - 3 * o1 * o2 + 2 * o3],
    }[k]
    alone += [none] * (MOST + 1 - len(alone))
    beside += [one] * (MOST + 1 - len(beside))
    return np.stack(alone, axis=-1), np.stack(beside, axis=-1)
