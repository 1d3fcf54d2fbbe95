"""The linear surrogate: weighted least squares, its sampling error, and its fidelity on samples left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from veridical.attribute.choose import Indices, Selector
from veridical.attribute.controls import heavy_tailed, with_controls
from veridical.attribute.least_squares import LEAST, SHRINK, Problem, Solved, total_of
from veridical.errors import InputError, check_positive
from veridical.records import Bools, Fit, Floats, Neighborhood, Sample


@dataclass(frozen=True)
class Linear:
    """A weighted sum of parts.

    ``ridge`` is added to the diagonal of the weighted Gram matrix, so it is relative to the sum of
    proximities, as in the lime package. ``offset`` fixes the intercept to a function of (outputs, weights)
    instead of fitting it, as in the paper. With ``trees``, where parts are kept or taken away, what a sum leaves
    over is learned from other samples by a tree, whose own share of the weights is known: smaller errors from as
    many calls, for some milliseconds more. It pays where the model is slow, or full of thresholds.
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
        self, near: Neighborhood, outputs: Floats, select: Selector | None = None, k: int | None = None
    ) -> Fit:
        """Fit outputs (n + 1,) of the neighborhood; with a selector, keep at most k parts."""
        y, w = outputs[1:], near.weights[1:]
        live = measured(near)
        mean = float(w @ y / w.sum())
        shift = mean if self.offset is None else self.offset(y, w)
        Z = near.designs[1:] if live.all() else near.designs[1:, live]
        center = (w @ Z) / w.sum() if self.offset is None else np.zeros(Z.shape[1])
        root = np.sqrt(w)
        problem = Problem(Z, center, root, root * (y - shift), near.design, self.offset is None).prepared()
        folds = problem.grams()
        gram, moment = total_of(folds)
        keep = np.arange(len(gram))
        if select is not None and k is not None and k < len(gram):
            keep = select(gram, moment, k)
            problem = replace(problem, Z=Z[:, keep], center=center[keep], scaled=None)
            gram, moment = gram[np.ix_(keep, keep)], moment[keep]
        elif len(folds) > 1 and not heavy_tailed(problem, gram, moment):
            problem, gram, moment = with_controls(problem, folds, self.trees)
        tiny = 0.0 if near.design.exact else 1e-10  # relative to each part's own spread, however small
        penalty = tiny * np.diag(gram)
        penalty[: len(keep)] += self.ridge
        penalty[len(keep) :] = SHRINK * np.diag(gram)[len(keep) :]
        found = problem.solve(gram, moment, penalty)
        total = float(w @ (y - mean) ** 2)
        fidelity = 1 - found.left_out / total if total > 0 else float("nan")
        intercept = shift - float(problem.center @ found.weights[: len(keep)])
        return solution(near, live, keep, found, intercept, fidelity)


def effective_size(weights: Floats) -> float:
    """How many samples of equal weight these are worth."""
    return float(effective_sizes(weights))


def effective_sizes(weights: Floats) -> Floats:
    """The same for each row of weights (…, n)."""
    size: Floats = weights.sum(axis=-1) ** 2 / np.square(weights).sum(axis=-1)
    return size


def measured(near: Neighborhood | Sample) -> Bools:
    """Which parts the samples vary enough to weigh, (d,): none if the weights leave too few samples."""
    w, shares = near.weights[1:], near.design.shares
    if near.design.exact:
        return np.asarray((shares > 0) & (shares < 1))
    if effective_size(w) < len(shares) + 2:
        return np.zeros(len(shares), bool)
    return np.asarray(np.isnan(shares) | (len(w) * shares * (1 - shares) >= LEAST))


def over_all_parts(
    near: Neighborhood | Sample,
    live: Bools,
    weights: Floats,
    covariance: Floats,
    intercept: float,
    fidelity: float,
) -> Fit:
    """A fit of all parts; one that was not measured has infinite variance."""
    if not live.all():
        covariance = np.where(live[:, None] & live, covariance, 0.0) + np.diag(np.where(live, 0.0, np.inf))
    size = effective_size(near.weights[1:])
    return Fit(
        weights=weights,
        intercept=intercept,
        covariance=covariance,
        local_prediction=intercept + float(near.designs[0] @ weights),
        fidelity=fidelity,
        measured=live,
        chosen=live,
        degrees=max(size / near.design.cluster - int(live.sum()) - 1, 1.0),
    )


def solution(
    near: Neighborhood | Sample, live: Bools, keep: Indices, found: Solved, intercept: float, fidelity: float
) -> Fit:
    """The solution over all parts; one that was not chosen, or cannot be told from others, has weight zero."""
    at, known = np.flatnonzero(live)[keep], found.known
    live = live.copy()
    live[at[~known]] = False
    chosen = np.zeros(len(live), bool)
    chosen[at[known]] = True
    weights, covariance = np.zeros(len(live)), np.zeros((len(live), len(live)))
    weights[at[known]] = found.weights[: len(keep)][known]
    covariance[np.ix_(at[known], at[known])] = found.covariance[np.ix_(known, known)]
    weights[np.abs(weights) < 1e-9 * np.abs(weights).max(initial=0.0)] = 0.0  # what rounding leaves of nothing
    fit = over_all_parts(near, live, weights, covariance, intercept, fidelity)
    return fit if chosen.sum() == live.sum() else replace(fit, chosen=chosen)
