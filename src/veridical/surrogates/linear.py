"""The linear surrogate: weighted sums of parts for many rows, their sampling errors, and their fidelity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from veridical.errors import InputError, check_positive
from veridical.protocols import KnownTerm, Selector
from veridical.records import Bools, Fits, Floats, Ints, Neighborhood
from veridical.surrogates.known_terms import with_controls
from veridical.surrogates.least_squares import BLOCKS, LEAST, Problem, Solved, on_grid, steadiness, total_of


@dataclass(frozen=True)
class Linear:
    """A weighted sum of parts.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of the weighted Gram matrix, so it is relative to the sum of proximities, as in the
        lime package.
    offset : callable, optional
        A function of (outputs, weights) that fixes the intercept, as in the paper; it is fitted if this is None.
    trees : bool
        Where parts are kept or taken away, a tree learns what the sum leaves over from other samples; its own
        share of the weights is known. Smaller errors from as many calls, for some milliseconds more: it pays where
        the model is slow, or full of thresholds.
    """

    ridge: float = 0.0
    offset: Callable[[Floats, Floats], float] | None = None
    trees: bool = False

    def __post_init__(self) -> None:
        if self.ridge != 0:
            check_positive("ridge, unless it is 0,", self.ridge)
        if not isinstance(self.trees, bool):
            raise InputError(f"trees is True or False, not {self.trees!r}")

    def __call__(
        self,
        near: Neighborhood,
        outputs: Floats,
        select: Selector | None = None,
        k: int | None = None,
        known: KnownTerm | None = None,
    ) -> Fits:
        """Fit outputs (r, n), or (n,) for all rows; with a selector, keep at most k parts of each."""
        if known is not None:
            return fit_beside(near, outputs, known, self.ridge, select, k)
        y = np.broadcast_to(outputs, near.weights.shape)
        live, size = measured(near)
        problem = Problem.of(near.columns, y, near.weights, near.design, live, self.offset)
        if len(y) > 1 and (select is not None or problem.learns):  # what is learned of a row is its own
            return Fits.joined([self(near.row(i), y[i], select, k) for i in range(len(y))])
        folds, chosen = problem.grams(), live
        gram, moment = total_of(folds)
        if select is not None and k is not None and k < np.count_nonzero(live):
            parts = np.flatnonzero(live[0])
            keep = parts[select(gram[0][np.ix_(parts, parts)], moment[0][parts], k)]
            return self._few(near, problem, keep, (gram, moment), (live, size))
        if problem.learns:
            problem, gram, moment = with_controls(problem, folds, self.trees)
        return fits_of(near, problem.solve(gram, moment, self.ridge), live, chosen, size)

    def _few(
        self,
        near: Neighborhood,
        problem: Problem,
        keep: Ints,
        products: tuple[Floats, Floats],
        measured: tuple[Bools, Floats],
    ) -> Fits:
        """The fit of few parts of one row; the others' weights are zero."""
        (gram, moment), (live, size), d = products, measured, problem.d
        few = replace(problem, Z=problem.Z[:, keep], center=problem.center[:, keep], dead=None, scaled=None)
        found = few.solve(gram[:, keep][:, :, keep], moment[:, keep], self.ridge)
        weights, covariance = np.zeros((1, d)), np.zeros((1, d, d))
        known, center, chosen = np.ones((1, d), bool), np.zeros((1, d)), np.zeros((1, d), bool)
        weights[:, keep], known[:, keep], center[:, keep] = found.weights, found.known, found.center
        covariance[:, keep[:, None], keep], chosen[:, keep] = found.covariance, True
        whole = replace(found, weights=weights, covariance=covariance, known=known, center=center)
        return fits_of(near, whole, live, chosen, size)


def effective_size(weights: Floats) -> Floats:
    """How many samples of equal weight these are worth, for each row of weights (…, n)."""
    size: Floats = weights.sum(axis=-1) ** 2 / np.square(weights).sum(axis=-1)
    return size


def measured(near: Neighborhood) -> tuple[Bools, Floats]:
    """Which parts the samples vary enough to weigh (r, d), and how many samples of equal weight there are (r,).

    None is weighed if the weights leave too few samples.
    """
    size, shares, d = effective_size(near.weights), near.shares, near.at.shape[1]
    if near.design.exact:
        return np.asarray((shares > 0) & (shares < 1)), size
    varied = np.isnan(shares) | (near.weights.shape[1] * shares * (1 - shares) >= LEAST)
    return varied & (size >= d + 2)[:, None], size


def fits_of(near: Neighborhood, found: Solved, live: Bools, chosen: Bools, size: Floats) -> Fits:
    """A solution as fits of all parts; one that was not chosen, or cannot be told from others, has weight zero."""
    d, known = live.shape[1], live & chosen & found.known
    weights = found.weights[:, :d]
    intercept = found.mean - (found.center * weights).sum(axis=1)
    weights = np.where(known, weights, 0.0)
    weights[np.abs(weights) < 1e-9 * np.abs(weights).max(axis=1, keepdims=True)] = (
        0.0  # what rounding leaves of nothing
    )
    covariance = np.where(known[:, :, None] & known[:, None], found.covariance, 0.0)
    squares, live = (found.left_out, found.total), live & (known | ~chosen)
    return _over_parts(near, weights, intercept, covariance, squares, (live, known, size))


def _over_parts(
    near: Neighborhood,
    weights: Floats,
    intercept: Floats,
    covariance: Floats,
    squares: tuple[Floats, Floats],
    sampled: tuple[Bools, Bools, Floats],
) -> Fits:
    """Fits of all parts; one that was not measured has infinite variance.

    ``squares`` (r,) are those of what is left out, and of all; ``sampled`` says which parts are measured and chosen,
    and what the samples are worth.
    """
    (left_out, total), (live, chosen, size) = squares, sampled
    fidelity = np.where(total > 0, 1 - left_out / np.where(total > 0, total, 1.0), np.nan)
    if not live.all():
        np.einsum("rdd->rd", covariance)[~live] = np.inf
    return Fits(
        weights,
        intercept,
        covariance,
        intercept + (near.own * weights).sum(axis=1),
        fidelity,
        live,
        chosen,
        np.maximum(size / near.design.cluster - live.sum(axis=1) - 1, 1.0),
        size,
        np.any(~live & (near.shares > 0) & (near.shares < 1), axis=1),
    )


HEAVIEST = 12  # parts whose weights' covariances are worked out; the others' are taken as independent
ROOM = 2**16  # numbers of an array that should stay in the cache


def fit_beside(
    near: Neighborhood,
    y: Floats,
    known: KnownTerm,
    ridge: float = 0.0,
    select: Selector | None = None,
    k: int | None = None,
) -> Fits:
    """The surrogates of outputs (n,) of a sample that rows share, given a term that has the parts' main effects.

    The term is subtracted before the fit and added after it. Parts are drawn independently, and what is left over
    has no main effects, so that each part's weight in it is a plain weighted covariance, whichever others are kept.
    """
    n, (live, size), W = len(y), measured(near), on_grid(near.weights.copy())
    mass = W.sum(axis=1)[:, None]
    shift = (W * (y - known.values)).sum(axis=1)[:, None] / mass
    rest = (y - known.values) - shift
    share = _sums(W, near) / mass
    spread = np.where(live, mass * share * (1 - share), 1.0)
    slope = np.where(live, _sums(on_grid(W * rest), near), 0.0) / spread
    weights = np.where(live, known.weights + slope, 0.0)
    pulled = (share * slope).sum(axis=1)[:, None]
    intercept = known.intercepts + (shift - pulled)[:, 0]
    rest -= _values(slope, near)
    rest += pulled
    rest *= W
    rest /= 1 - known.n_effects / n
    covariance, steady = _covariance(rest, near, weights, (share, spread))
    chosen = live if select is None or k is None else _select_apart(select, k, live, weights, spread)
    if chosen is not live or ridge:
        pull = np.where(chosen, spread / (spread + ridge), 0.0)  # towards zero; all the way for what is not chosen
        intercept += (share * weights * (1 - pull)).sum(axis=1)
        weights, covariance = weights * pull, covariance * pull[:, :, None] * pull[:, None]
    plain = y - _values(weights, near)
    plain -= intercept[:, None]
    fitted = live.shape[1] if chosen is live else k or 0
    factor = 1 + steady * (fitted + 1) / (n - fitted - 1)
    left_out = (W * np.square(plain)).sum(axis=1) * factor**2
    total = (W * np.square(y - (W * y).sum(axis=1)[:, None] / W.sum(axis=1)[:, None])).sum(axis=1)
    if not live.all():
        covariance = np.where(live[:, :, None] & live[:, None], covariance, 0.0)
    return _over_parts(near, weights, intercept, covariance, (left_out, total), (live, chosen, size))


def _select_apart(select: Selector, k: int, live: Bools, weights: Floats, spread: Floats) -> Bools:
    """Which parts (r, d) a selector keeps of each row, where parts are drawn independently."""
    chosen = live.copy()
    for i in np.flatnonzero(live.sum(axis=1) > k):
        parts = np.flatnonzero(live[i])
        kept = parts[select(np.diag(spread[i, parts]), (spread * weights)[i, parts], k)]
        chosen[i] = False
        chosen[i, kept] = True
    return chosen


def _sums(terms: Floats, near: Neighborhood) -> Floats:
    """Sums (r, d) of terms (r, n) that lie on a grid, over the samples that keep each part."""
    return np.take_along_axis(terms @ near.states.T, near.at, axis=1)


def _values(weights: Floats, near: Neighborhood) -> Floats:
    """What weights (r, d) of parts add up to in each sample, (r, n)."""
    placed = np.zeros((len(weights), len(near.states)))
    np.put_along_axis(placed, near.at, on_grid(weights.copy()), axis=1)
    values: Floats = placed @ near.states
    return values


def _covariance(
    error: Floats, near: Neighborhood, weights: Floats, moments: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Covariances (r, d, d) of weights from errors (r, n), deflated for a net, and by how much."""
    (share, spread), (r, d) = moments, weights.shape
    squares = on_grid(np.square(error))
    total, kept = squares.sum(axis=1)[:, None], _sums(squares, near)
    covariance = np.zeros((r, d, d))
    np.einsum("rdd->rd", covariance)[...] = (kept * (1 - 2 * share) + total * share**2) / spread**2
    top = np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :HEAVIEST]
    each = np.arange(r)[:, None]
    scale = spread[each, top]
    m, u = share[each, top] / scale, kept[each, top] / scale
    both = _sums_of_pairs(squares, near.states, near.at[each, top])
    both /= scale[:, :, None] * scale[:, None]
    both -= m[:, :, None] * u[:, None]
    both -= u[:, :, None] * m[:, None]
    both += total[:, :, None] * (m[:, :, None] * m[:, None])
    covariance[each[:, :, None], top[:, :, None], top[:, None]] = both
    steady = steadiness(_by_blocks(error, near, share) / spread[:, None], np.trace(covariance, axis1=1, axis2=2))
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


def _by_blocks(error: Floats, near: Neighborhood, share: Floats) -> Floats:
    """Sums (r, b, d) of errors (r, n) that keep each part, less its share of all, by block."""
    on_grid(error)
    n, sums = error.shape[1], []
    length = -(-n // BLOCKS)
    for block in (slice(a, a + length) for a in range(0, n, length)):
        some = error[:, block]
        kept = np.take_along_axis(some @ near.states[:, block].T, near.at, axis=1)
        sums.append(kept - some.sum(axis=1)[:, None] * share)
    return np.stack(sums, axis=1)
