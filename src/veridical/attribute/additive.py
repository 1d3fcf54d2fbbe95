"""One additive model of a shared sample, so that many instances need no least squares of their own.

The model's answers are fitted once by a sum of one effect a state of each part. The weights that such a sum
has at any instance are known without sampling, since the parts are drawn independently. What is left over has
no main effects, so each part's weight in it is a plain weighted covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

import numpy as np
from threadpoolctl import ThreadpoolController

from veridical.attribute.fits import Fits, fits_alone, fits_of, measured_at_once, on_grid, share_explained
from veridical.attribute.least_squares import BLOCKS, steadiness
from veridical.attribute.neighborhood import Answers
from veridical.attribute.targets import Target
from veridical.records import Floats, Ints, Shareable
from veridical.represent.together import Together

HEAVIEST = 12  # parts whose weights' covariances are worked out; the others' are taken as independent
ROOM = 2**16  # numbers of an array that should stay in the cache
CROWDED = 4  # samples an effect, below which an additive model would be fitted to noise


@dataclass(frozen=True, eq=False)
class Sum:
    """An additive model: its effects, and its values at the samples."""

    constant: float
    effects: Floats  # (states,)
    values: Floats  # (n,)

    def per(self, unit: float) -> Sum:
        """The same model of outputs that are divided by a unit."""
        return self if unit == 1.0 else Sum(self.constant / unit, self.effects / unit, self.values / unit)


@dataclass(frozen=True, eq=False)
class Sums:
    """The additive models of a shared sample, one a target and number of samples, each fitted once."""

    answers: Answers
    fitted: dict[tuple[int, str], Sum | None] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def __call__(self, n: int, target: Target, unit: float) -> Sum | None:
        """The model of a target over the first n samples, in a unit; None where there is none worth having."""
        key = (n, repr(target.key))
        with self.lock:
            if key not in self.fitted:
                self.fitted[key] = self._fit(n, target)
        found = self.fitted[key]
        return None if found is None else found.per(unit)

    def _fit(self, n: int, target: Target) -> Sum | None:
        common, pieces = self.answers.common, self.answers.first(n)
        if not 0 < CROWDED * common.n_states <= n:
            return None
        X = np.concatenate([common.indicators(values) for values, _ in pieces])
        y = target.read(np.concatenate([outputs for _, outputs in pieces]))
        mean, counts = float(y.mean()), X.T @ X  # whole numbers: these sums, and those on grids, are exact
        rest, centers = on_grid(y[None] - mean)[0], counts.diagonal() / n
        gram = counts - n * centers[:, None] * centers
        gram[np.diag_indices(len(gram))] += 1e-8 * n  # the states of a part sum to 1
        with algebra().limit(limits=1, user_api="blas"):  # for several threads would have other last bits
            effects = on_grid(np.linalg.solve(gram, rest @ X - centers * rest.sum())[None])[0]
        constant = mean - float((centers * effects).sum())
        return Sum(constant, effects, X @ effects + constant)


@lru_cache(maxsize=1)
def algebra() -> ThreadpoolController:
    """The libraries of linear algebra that are loaded, whose threads can be limited."""
    return ThreadpoolController()


def fits_from(seen: Together, y: Floats, known: Sum | None, rows: Sequence[Shareable]) -> Fits:
    """The linear surrogates of outputs (n,) at rows, by an additive model of the outputs where there is one."""
    return fits_alone(seen, y) if known is None else fits_beside(seen, y, known, rows)


def fits_beside(seen: Together, y: Floats, known: Sum, rows: Sequence[Shareable]) -> Fits:
    """The linear surrogates of outputs (n,) at rows, given an additive model of the outputs."""
    n, (live, size), W = len(y), measured_at_once(seen), on_grid(seen.weights.copy())
    base, intercept = rows[0].common.weights_of(rows, known.effects)
    mass = W.sum(axis=1)[:, None]
    shift = (W * (y - known.values)).sum(axis=1)[:, None] / mass
    rest = (y - known.values) - shift
    share = _sums(W, seen) / mass
    spread = np.where(live, mass * share * (1 - share), 1.0)
    slope = np.where(live, _sums(on_grid(W * rest), seen), 0.0) / spread
    weights = np.where(live, base + slope, 0.0)
    pulled = (share * slope).sum(axis=1)[:, None]
    intercept += known.constant + (shift - pulled)[:, 0]
    rest -= _values(slope, seen)
    rest += pulled
    rest *= W
    rest /= 1 - len(known.effects) / n
    covariance, steady = _covariance(rest, seen, weights, (share, spread))
    plain = y - _values(weights, seen)
    plain -= intercept[:, None]
    factor = 1 + steady * (live.shape[1] + 1) / (n - live.shape[1] - 1)
    left_out = (W * np.square(plain)).sum(axis=1) * factor**2
    return fits_of(seen, live, size, weights, covariance, (intercept, share_explained(left_out, W, y)))


def _sums(terms: Floats, seen: Together) -> Floats:
    """Sums (r, d) of terms (r, n) that lie on a grid, over the samples that keep each part."""
    return np.take_along_axis(terms @ seen.states.T, seen.at, axis=1)


def _values(weights: Floats, seen: Together) -> Floats:
    """What weights (r, d) of parts add up to in each sample, (r, n)."""
    placed = np.zeros((len(weights), len(seen.states)))
    np.put_along_axis(placed, seen.at, on_grid(weights.copy()), axis=1)
    values: Floats = placed @ seen.states
    return values


def _covariance(
    error: Floats, seen: Together, weights: Floats, moments: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Covariances (r, d, d) of weights from errors (r, n), deflated for a net, and by how much."""
    (share, spread), (r, d) = moments, weights.shape
    squares = on_grid(np.square(error))
    total, kept = squares.sum(axis=1)[:, None], _sums(squares, seen)
    covariance = np.zeros((r, d, d))
    np.einsum("rdd->rd", covariance)[...] = (kept * (1 - 2 * share) + total * share**2) / spread**2
    top = np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :HEAVIEST]
    each = np.arange(r)[:, None]
    scale = spread[each, top]
    m, u = share[each, top] / scale, kept[each, top] / scale
    both = _sums_of_pairs(squares, seen.states, seen.at[each, top])
    both /= scale[:, :, None] * scale[:, None]
    both -= m[:, :, None] * u[:, None]
    both -= u[:, :, None] * m[:, None]
    both += total[:, :, None] * (m[:, :, None] * m[:, None])
    covariance[each[:, :, None], top[:, :, None], top[:, None]] = both
    steady = steadiness(_by_blocks(error, seen, share) / spread[:, None], np.trace(covariance, axis1=1, axis2=2))
    covariance *= steady[:, None, None]
    return covariance, steady


def _sums_of_pairs(terms: Floats, states: Floats, at: Ints) -> Floats:
    """Sums (r, m, m) of terms (r, n) over the samples that keep both of two parts, of m parts a row (r, m)."""
    (r, n), m = terms.shape, at.shape[1]
    sums, length = np.empty((r, m, m)), max(ROOM // (m * n), 1)  # rows whose parts stay in the cache
    for some in (slice(a, a + length) for a in range(0, r, length)):
        kept = states[at[some]]
        np.matmul(kept, (kept * terms[some, None]).transpose(0, 2, 1), out=sums[some])
    return sums


def _by_blocks(error: Floats, seen: Together, share: Floats) -> Floats:
    """Sums (r, b, d) of errors (r, n) that keep each part, less its share of all, by block."""
    on_grid(error)
    n, sums = error.shape[1], []
    length = -(-n // BLOCKS)
    for block in (slice(a, a + length) for a in range(0, n, length)):
        some = error[:, block]
        kept = np.take_along_axis(some @ seen.states[:, block].T, seen.at, axis=1)
        sums.append(kept - some.sum(axis=1)[:, None] * share)
    return np.stack(sums, axis=1)
