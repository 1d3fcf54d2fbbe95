"""The linear surrogate: weighted least squares, its sampling error, and its fidelity on samples left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from veridical.attribute.choose import Indices, Selector
from veridical.records import Bools, Design, Fit, Floats, Neighborhood

LEAST = 5.0  # a part must change, and stay, in about this many samples before it gets a weight
KNOTS = np.array([-1.2, -0.6, 0.0, 0.6, 1.2])
BLOCKS = 8
FOLDS = 5


@dataclass(frozen=True)
class Linear:
    """A weighted sum of parts.

    ``ridge`` is added to the diagonal of the weighted Gram matrix, so it is relative to the sum of
    proximities, as in the lime package. ``offset`` fixes the intercept to a function of (outputs, weights)
    instead of fitting it, as in the paper.
    """

    ridge: float = 0.0
    offset: Callable[[Floats, Floats], float] | None = None

    def __call__(
        self, near: Neighborhood, outputs: Floats, select: Selector | None = None, k: int | None = None
    ) -> Fit:
        """Fit outputs (n + 1,) of the neighborhood; with a selector, keep at most k parts."""
        y, w = outputs[1:], near.weights[1:]
        live = measured(near.design, len(y))
        shift = float(w @ y / w.sum()) if self.offset is None else self.offset(y, w)
        Z = near.designs[1:] if live.all() else near.designs[1:, live]
        d, root = Z.shape[1], np.sqrt(w)
        # Columns: the parts, then 1 for a fitted intercept, then control variates; rows scaled by root.
        A = np.empty((len(y), d + (self.offset is None)))
        np.multiply(Z, root[:, None], out=A[:, :d])
        A[:, d:] = root[:, None]
        t = root * (y - shift)
        gram, moment, keep = A.T @ A, A.T @ t, np.arange(d)
        if select is not None and k is not None and k < d:
            keep = select(*_without_intercept(gram, moment, d), k)
            kept = np.append(keep, np.arange(d, len(gram)))
            A, gram, moment = A[:, kept], gram[np.ix_(kept, kept)], moment[kept]
        elif near.design.center is not None and self.offset is None and len(y) >= 4 * d:
            A, gram, moment = _append(A, t, gram, moment, index_columns(A, t, gram, moment, near.design))
        penalty = np.full(len(gram), 1e-10 * np.trace(gram) / len(gram))
        penalty[: len(keep)] += self.ridge
        if len(gram) > d + 1:
            penalty[d + 1 :] = 0.02 * np.diag(gram)[d + 1 :]
        found = solve(A, t, np.linalg.inv(gram + np.diag(penalty)), moment, near.design, len(keep))
        intercept = shift + (float(found.weights[len(keep)]) if self.offset is None else 0.0)
        return _fit(near, live, keep, found, intercept, float(t @ t))


@dataclass(frozen=True, eq=False)
class Solved:
    """Coefficients of all columns, the covariance of the parts', and the squares of what is left out."""

    weights: Floats
    covariance: Floats
    left_out: float


def solve(A: Floats, t: Floats, inverse: Floats, moment: Floats, design: Design, d: int) -> Solved:
    """Least squares with HC3 errors of the first d weights, and leave-one-out residuals of the surrogate.

    Columns after the intercept are control variates: they change the error of the weights, not their
    meaning, and are no part of the surrogate. A sample of a net pulls the fit less than its leverage says, by
    the same factor by which its error is smaller.
    """
    weights = inverse @ moment
    residual = t - A @ weights
    plain = residual if len(weights) <= d + 1 else t - A[:, : d + 1] @ weights[: d + 1]
    if design.exact:
        return Solved(weights, np.zeros((d, d)), float(plain @ plain))
    T = A @ inverse
    leverage = np.einsum("ij,ij->i", T, A)
    room = 1 / (1 - np.minimum(leverage, 0.99))
    scores = T[:, :d]
    scores *= (residual * room)[:, None]
    covariance, steady = _covariance(scores, design)
    plain = plain * (1 + steady * (room - 1))
    return Solved(weights, covariance, float(plain @ plain))


def _covariance(scores: Floats, design: Design) -> tuple[Floats, float]:
    """Sum of squared scores, over clusters, deflated for a net; and by how much it was deflated."""
    if design.cluster > 1:
        scores = np.add.reduceat(scores, np.arange(0, len(scores), design.cluster), axis=0)
    covariance = scores.T @ scores
    if not design.net or len(scores) < 16 * BLOCKS:
        return covariance, 1.0
    # A net is steadier than independent samples: compare the sums of consecutive blocks.
    length = -(-len(scores) // BLOCKS)
    sums = np.stack([np.ones(len(b)) @ b for b in (scores[i * length : (i + 1) * length] for i in range(BLOCKS))])
    sums -= sums.mean(axis=0)
    between = float(np.sum(sums**2)) * BLOCKS / (BLOCKS - 1)
    steady = min(1.0, between / max(float(np.trace(covariance)), 1e-300))
    return covariance * steady, steady


def index_columns(A: Floats, t: Floats, gram: Floats, moment: Floats, design: Design) -> Floats:
    """Index control variates: hinges of the direction that is being explained, (n, 5).

    Most of what a linear fit leaves over of a saturating model is a function of the fitted sum itself. The
    hinges are made orthogonal to 1 and the designs under their normal law, in closed form, so that adding them
    leaves the estimate's meaning alone; each fold's direction comes from the other folds. All samples weigh
    the same here, and the last column of A is their common root weight.
    """
    assert design.center is not None
    assert design.spread is not None
    n, d = len(A), A.shape[1] - 1
    cuts = np.linspace(0, n, FOLDS + 1).astype(int)
    index = np.empty(n)
    for start, stop in zip(cuts[:-1], cuts[1:], strict=True):
        fold = A[start:stop]
        rest, right = _without_intercept(gram - fold.T @ fold, moment - fold.T @ t[start:stop], d)
        rest[np.diag_indices(d)] += 1e-4 * np.trace(rest) / d
        b = np.linalg.solve(rest, right)
        b /= max(float(np.linalg.norm(design.spread * b)), 1e-300)
        index[start:stop] = fold[:, :d] @ b / A[0, d] - design.center @ b
    density, above = np.exp(-0.5 * KNOTS**2) / np.sqrt(2 * np.pi), ndtr(-KNOTS)
    columns: Floats = np.maximum(index[:, None] - KNOTS, 0) - above * index[:, None] - (density - KNOTS * above)
    columns *= A[0, d]
    return columns


def measured(design: Design, n: int) -> Bools:
    """Which parts the samples vary enough to weigh: (d,)."""
    if design.exact:
        return np.asarray((design.shares > 0) & (design.shares < 1))
    return np.asarray(np.isnan(design.shares) | (n * design.shares * (1 - design.shares) >= LEAST))


def _without_intercept(gram: Floats, moment: Floats, d: int) -> tuple[Floats, Floats]:
    """Gram matrix and moment of centered parts, if there is an intercept to center by."""
    if len(gram) == d:
        return gram, moment
    one = gram[:d, d]
    return gram[:d, :d] - np.outer(one, one) / gram[d, d], moment[:d] - one * (moment[d] / gram[d, d])


def _append(A: Floats, t: Floats, gram: Floats, moment: Floats, extra: Floats) -> tuple[Floats, Floats, Floats]:
    """A least-squares problem with more columns."""
    cross = A.T @ extra
    wider = np.block([[gram, cross], [cross.T, extra.T @ extra]])
    return np.concatenate([A, extra], axis=1), wider, np.append(moment, extra.T @ t)


def _fit(
    near: Neighborhood, live: Bools, keep: Indices, found: Solved, intercept: float, total: float
) -> Fit:
    """The solution over all parts; a part that was not measured has infinite variance."""
    d = len(live)
    weights, covariance = found.weights[: len(keep)], found.covariance
    chosen = np.zeros(d, bool)
    chosen[np.flatnonzero(live)[keep]] = True
    if len(keep) < d:
        full = np.zeros(d)
        full[chosen] = weights
        spread = np.diag(np.where(live, 0.0, np.inf))
        spread[np.ix_(chosen, chosen)] = covariance
        weights, covariance = full, spread
    return Fit(
        weights=weights,
        intercept=intercept,
        covariance=covariance,
        local_prediction=intercept + float(near.designs[0] @ weights),
        fidelity=1 - found.left_out / max(total, 1e-300),
        measured=live,
        chosen=chosen,
        degrees=max((len(near.weights) - 1) / near.design.cluster - len(keep) - 1, 1.0),
    )
