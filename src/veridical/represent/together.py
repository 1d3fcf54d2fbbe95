"""A sample that table rows share, as many of them see it at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veridical.masks import Gaussian
from veridical.records import Bools, Floats, Ints, Kernel

if TYPE_CHECKING:
    from veridical.represent.background import Background, Values
    from veridical.represent.rows import Row


@dataclass(frozen=True, eq=False)
class Together:
    """Designs and proximities of r instances with d parts each, whose n samples are the same.

    Instances in the same state of a part keep it in the same samples, so each state has its designs once.
    """

    states: Floats  # (u, n): 1 where a sample keeps a state, or the number that a part is
    at: Ints  # (r, d): where among them each part of each instance is
    weights: Floats  # (r, n)
    own: Floats  # (r, d) designs of the instances themselves
    shares: Floats  # (r, d) probability that a sample keeps each part; nan where the part is a number


def together(background: Background, rows: Sequence[Row], pieces: Sequence[Values], kernel: Kernel) -> Together:
    """Samples of the background, a piece after the other, as rows see them."""
    low, high, x = (
        np.stack([getattr(row.placed, name)[row.i] for row in rows]) for name in ("low", "high", "normal")
    )
    is_normal, d = background.is_normal, low.shape[1]
    _, first, at = np.unique(low + (np.arange(d) << 32), return_index=True, return_inverse=True)
    at, part = at.reshape(low.shape), first % d
    bounds = low.ravel()[first], high.ravel()[first]
    states = np.concatenate([_states(values, part, bounds, is_normal[part]) for values in pieces], axis=1)
    squares = _changed(states, at, ~is_normal)
    if background.normal:
        numbers = np.concatenate([values.numbers for values in pieces])
        squares += squared_distances(numbers, x, is_normal)
    own, shares = np.where(is_normal, x, 1.0), np.stack([row.shares for row in rows])
    return Together(states, at, proximities(kernel, squares, is_normal), own, shares)


def _states(values: Values, part: Ints, bounds: tuple[Ints, Ints], is_normal: Bools) -> Floats:
    """Designs (u, n) of some states of parts."""
    made = np.empty((len(part), len(values.numbers)))
    made[is_normal] = values.numbers.T[part[is_normal]]
    if not is_normal.all():
        cells = values.cells.T[part[~is_normal]]
        low, high = (bound[~is_normal, None].astype(cells.dtype) for bound in bounds)
        made[~is_normal] = (cells >= low) & (cells < high)
    return made


def _changed(states: Floats, at: Ints, binary: Bools) -> Floats:
    """How many of the parts that are kept or changed are changed in each sample, (r, n): a whole number."""
    marks = np.zeros((len(at), len(states)), np.float32)
    np.put_along_axis(marks, at[:, binary], np.float32(1), axis=1)
    return np.asarray(binary.sum() - marks @ states.astype(np.float32), np.float64)


def squared_distances(numbers: Floats, x: Floats, is_normal: Bools) -> Floats:
    """Between samples (n, d) and instances (r, d), of the parts that are numbers: (r, n)."""
    found = np.zeros((len(x), len(numbers)))
    for j in np.flatnonzero(
        is_normal
    ):  # a part after the other, so that no bit depends on how many rows there are
        found += np.square(numbers[:, j] - x[:, j, None])
    return found


def proximities(kernel: Kernel, squares: Floats, is_normal: Bools) -> Floats:
    """Of samples (r, n) at squared distances from their instance."""
    d = len(is_normal)
    if isinstance(kernel, Gaussian) and not is_normal.any():
        by_count: Floats = kernel(np.sqrt(np.arange(d + 1) / d)).take(squares.astype(np.intp))
        return by_count
    return np.stack([kernel(np.sqrt(row / d)) for row in squares])
