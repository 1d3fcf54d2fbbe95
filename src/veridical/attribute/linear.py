"""The linear surrogate: weighted least squares, its sampling error, and its fidelity on samples left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from veridical.attribute.choose import Selector
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
    instead of fitting it, as in the papers.
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
        means = (w @ Z) / w.sum() if self.offset is None else np.zeros(Z.shape[1])
        flat = w[0] == w[-1] and np.all(w == w[0])
        root = np.sqrt(w[0]) if flat else np.sqrt(w)[:, None]
        A, t = (Z - means) * root, (y - shift) * np.ravel(root)
        gram, moment = A.T @ A, A.T @ t
        keep = np.arange(len(gram))
        if select is not None and k is not None and k < len(gram):
            keep = select(gram, moment, k)
            A, gram, moment = A[:, keep], gram[np.ix_(keep, keep)], moment[keep]
        extra = None
        if select is None and flat and near.design.center is not None and len(y) >= 4 * len(gram):
            extra = index_columns(A / root, t / root, means, near.design) * root
        share = np.full(len(y), 1 / len(y)) if flat else w / w.sum()
        if self.offset is not None:
            share = np.zeros(len(y))
        weights, spread, left_out = solve(A, t, gram, moment, self.ridge, share, extra, near.design)
        fidelity = 1 - float(left_out @ left_out) / max(float(np.sum((t / (1 - share)) ** 2)), 1e-300)
        full, covariance = _spread_out(live, keep, weights, spread)
        intercept = shift - float(means[keep] @ weights)
        return Fit(
            weights=full,
            intercept=intercept,
            covariance=covariance,
            local_prediction=intercept + float(near.designs[0] @ full),
            fidelity=fidelity,
            measured=live,
            chosen=full_mask(live, keep),
            degrees=max(len(y) / near.design.cluster - len(keep) - 1, 1.0),
        )


def solve(
    A: Floats,
    t: Floats,
    gram: Floats,
    moment: Floats,
    ridge: float,
    share: Floats,
    extra: Floats | None,
    design: Design,
) -> tuple[Floats, Floats, Floats]:
    """Weights, their covariance (HC3, by clusters), and each sample's residual from a fit without it.

    ``extra`` columns are control variates: they have no effect on what is estimated, only on its error.
    """
    d = len(gram)
    tiny = 1e-10 * np.trace(gram) / max(d, 1)
    penalty = np.full(d, ridge + tiny)
    B = A
    if extra is not None:
        B = np.concatenate([A, extra], axis=1)
        cross, own = A.T @ extra, extra.T @ extra
        gram = np.block([[gram, cross], [cross.T, own]])
        moment = np.append(moment, extra.T @ t)
        penalty = np.append(penalty, 0.02 * np.diag(own) + tiny)
    inverse = np.linalg.inv(gram + np.diag(penalty))
    weights = inverse @ moment
    if design.exact:
        return weights[:d], np.zeros((d, d)), t - A @ weights[:d]
    T = B @ inverse
    leverage = np.einsum("ij,ij->i", T, B)
    leverage += share
    room = 1 / (1 - np.minimum(leverage, 0.99))
    T = T[:, :d]
    T *= ((t - B @ weights) * room)[:, None]
    covariance = _covariance(T, design)
    return weights[:d], covariance, (t - A @ weights[:d]) * room


def _covariance(scores: Floats, design: Design) -> Floats:
    """Sum of squared scores; summed over clusters first, and deflated for a net."""
    if design.cluster > 1:
        scores = np.add.reduceat(scores, np.arange(0, len(scores), design.cluster), axis=0)
    covariance = scores.T @ scores
    if design.net and len(scores) >= 16 * BLOCKS:
        # A net is steadier than independent samples: compare the sums of consecutive blocks.
        sums = np.add.reduceat(scores, np.arange(0, len(scores), -(-len(scores) // BLOCKS)), axis=0)
        sums -= sums.mean(axis=0)
        between = float(np.sum(sums**2)) * len(sums) / (len(sums) - 1)
        covariance *= min(1.0, between / max(float(np.trace(covariance)), 1e-300))
    covariance_: Floats = covariance
    return covariance_


def index_columns(Z: Floats, y: Floats, means: Floats, design: Design) -> Floats:
    """Index control variates: hinges of the direction that is being explained, (n, 5).

    Most of what a linear fit leaves over of a saturating model is a function of the fitted sum itself. The
    hinges are made orthogonal to the designs under their normal law, in closed form, so that adding them
    leaves the estimate's meaning alone; the direction comes from the other folds. ``Z`` and ``y`` are centered,
    ``means`` is what was taken from Z.
    """
    assert design.center is not None
    assert design.spread is not None
    n, d = Z.shape
    cuts = np.linspace(0, n, FOLDS + 1).astype(int)
    folds = [slice(a, b) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
    grams = np.stack([Z[f].T @ Z[f] for f in folds])
    moments = np.stack([Z[f].T @ y[f] for f in folds])
    rest = grams.sum(axis=0) - grams
    rest[:, np.arange(d), np.arange(d)] += 1e-4 * np.trace(rest, axis1=1, axis2=2)[:, None] / d
    directions = np.linalg.solve(rest, (moments.sum(axis=0) - moments)[..., None])[..., 0]
    t = np.empty(n)
    for f, b in zip(folds, directions, strict=True):
        size = max(float(np.sqrt(np.sum((design.spread * b) ** 2))), 1e-300)
        t[f] = (Z[f] @ b + (means - design.center) @ b) / size
    density = np.exp(-0.5 * KNOTS**2) / np.sqrt(2 * np.pi)
    above = ndtr(-KNOTS)
    columns = np.maximum(t[:, None] - KNOTS, 0) - (density - KNOTS * above) - above * t[:, None]
    centered: Floats = columns - columns.mean(axis=0)
    return centered


def measured(design: Design, n: int) -> Bools:
    """Which parts the samples vary enough to weigh: (d,)."""
    if design.exact:
        return (design.shares > 0) & (design.shares < 1)
    vary = np.isnan(design.shares) | (n * design.shares * (1 - design.shares) >= LEAST)
    return np.asarray(vary)


def full_mask(live: Bools, keep: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Bools:
    """Positions among the live parts as a mask over all parts."""
    mask = np.zeros(len(live), bool)
    mask[np.flatnonzero(live)[keep]] = True
    return mask


def _spread_out(
    live: Bools, keep: np.ndarray[tuple[int], np.dtype[np.intp]], weights: Floats, covariance: Floats
) -> tuple[Floats, Floats]:
    """Weights and covariance over all parts; a part that was not measured has infinite variance."""
    if len(keep) == len(live):
        return weights, covariance
    at = np.flatnonzero(live)[keep]
    full = np.zeros(len(live))
    full[at] = weights
    spread = np.diag(np.where(live, 0.0, np.inf))
    spread[np.ix_(at, at)] = covariance
    return full, spread
