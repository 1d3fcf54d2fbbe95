"""lime's laws, from their formulas alone: how samples lie, and how near they are to the instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ndtr, ndtri

Floats: TypeAlias = npt.NDArray[np.float64]
Draw: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]  # uniforms to values and states

WIDTH = 0.25  # of the kernel on masks


@dataclass(frozen=True, eq=False)
class Column:
    """How a column is sampled; a state is a bin, a category, or the standardized number itself."""

    draw: Draw
    state: Callable[[float], float]
    is_number: bool


def columns_of(background: Floats, categorical: Sequence[int], discretized: bool) -> list[Column]:
    """lime's law of a table: every column by itself."""
    return [
        category(column) if j in categorical else bins(column) if discretized else number(column)
        for j, column in enumerate(background.T)
    ]


def category(column: Floats) -> Column:
    """A category, as often as it was seen."""
    levels, counts = np.unique(column, return_counts=True)
    ends = np.cumsum(counts) / counts.sum()

    def draw(u: Floats) -> tuple[Floats, Floats]:
        state = np.searchsorted(ends[:-1], u, side="right")
        return levels[state], state.astype(float)

    return Column(draw, lambda x: float(np.searchsorted(levels, x)), is_number=False)


def bins(column: Floats) -> Column:
    """A quartile as often as it was seen, and inside it a truncated normal."""
    edges = np.unique(np.percentile(column, [25, 50, 75]))
    state = np.searchsorted(edges, column)
    full = np.unique(state)  # bins without a value are never drawn
    share = np.bincount(state)[full] / len(column)
    mean = np.array([column[state == b].mean() for b in full])
    sd = np.array([max(column[state == b].std(), 1e-11) for b in full])
    low = np.append(column.min(), edges)[full]
    high = np.append(edges, column.max())[full]
    below, above = ndtr((low - mean) / sd), ndtr((high - mean) / sd)
    ends = np.cumsum(share)
    begins = ends - share

    def draw(u: Floats) -> tuple[Floats, Floats]:
        b = np.searchsorted(ends[:-1], u, side="right")
        inside = np.clip((u - begins[b]) / share[b], 0, 1)
        values = mean[b] + sd[b] * ndtri(below[b] + inside * (above[b] - below[b]))
        return np.clip(values, low[b], high[b]), full[b].astype(float)

    return Column(draw, lambda x: float(np.searchsorted(edges, x)), is_number=False)


def number(column: Floats) -> Column:
    """A normal with the column's mean and spread."""
    mean, sd = column.mean(), column.std()

    def draw(u: Floats) -> tuple[Floats, Floats]:
        z = ndtri(np.clip(u, 1e-12, 1 - 1e-12))
        return mean + sd * z, z

    return Column(draw, lambda x: float((x - mean) / sd), is_number=True)


def coins(d: int) -> Floats:
    """Pictures: each of d parts is kept by a fair coin; the law of the number kept, near ones more."""
    s = np.arange(d + 1)
    return _near(np.exp(gammaln(d + 1) - gammaln(s + 1) - gammaln(d - s + 1) - d * np.log(2)))


def removals(d: int) -> Floats:
    """Texts: 1 to d parts are removed, each number as often; the law of the number kept, near ones more."""
    return _near(np.where(np.arange(d + 1) < d, 1.0 / d, 0.0))


def _near(share: Floats) -> Floats:
    """Times the kernel of the cosine distance to the full mask, made to add up to one."""
    d = len(share) - 1
    near = share * np.exp(-((1 - np.sqrt(np.arange(d + 1) / d)) ** 2) / (2 * WIDTH**2))
    law: Floats = near / near.sum()
    return law


def masks(law: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Masks (n, d) of a law of sizes: each size as often as it should be, its parts at random."""
    ends = np.cumsum(law)
    sizes = np.searchsorted(ends, (np.arange(n) + rng.random(n)) / n * ends[-1])
    d = len(law) - 1
    order = rng.permuted(np.broadcast_to(np.arange(d), (n, d)), axis=1)
    return (order < sizes[:, None]).astype(float)


def every_mask(d: int) -> Floats:
    """All 2ᵈ masks; that of number i keeps part j if bit j of i is set."""
    return ((np.arange(2**d)[:, None] >> np.arange(d)) & 1).astype(float)


def probabilities(law: Floats) -> Floats:
    """The probability of each of all masks, (2ᵈ,), under a law of sizes."""
    d = len(law) - 1
    s = np.arange(d + 1)
    each = law / np.exp(gammaln(d + 1) - gammaln(s + 1) - gammaln(d - s + 1))
    found: Floats = each[every_mask(d).sum(axis=1).astype(int)]
    return found
