"""The linear surrogate: weighted least squares, its sampling error, and its fidelity on samples left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from veridical.attribute.choose import Indices, Selector
from veridical.errors import check_positive
from veridical.records import Bools, Design, Fit, Floats, Neighborhood

LEAST = 5.0  # a part must change, and stay, in about this many samples before it gets a weight
KNOTS = np.array([-1.2, -0.6, 0.0, 0.6, 1.2])
BLOCKS = 8
AT_ONCE = 1024


@dataclass(frozen=True)
class Linear:
    """A weighted sum of parts.

    ``ridge`` is added to the diagonal of the weighted Gram matrix, so it is relative to the sum of
    proximities, as in the lime package. ``offset`` fixes the intercept to a function of (outputs, weights)
    instead of fitting it, as in the paper.
    """

    ridge: float = 0.0
    offset: Callable[[Floats, Floats], float] | None = None

    def __post_init__(self) -> None:
        if self.ridge != 0:
            check_positive("ridge, unless it is 0,", self.ridge)

    def __call__(
        self, near: Neighborhood, outputs: Floats, select: Selector | None = None, k: int | None = None
    ) -> Fit:
        """Fit outputs (n + 1,) of the neighborhood; with a selector, keep at most k parts."""
        y, w = outputs[1:], near.weights[1:]
        live = measured(near.design, len(y))
        shift = float(w @ y / w.sum()) if self.offset is None else self.offset(y, w)
        Z = near.designs[1:] if live.all() else near.designs[1:, live]
        d, root = Z.shape[1], np.sqrt(w)
        problem = Problem(Z, root, root * (y - shift), near.design, self.offset is None)
        gram, moment, keep = *problem.gram(), np.arange(d)
        if select is not None and k is not None and k < d:
            keep = select(*_without_intercept(gram, moment, d), k)
            kept = np.append(keep, np.arange(d, len(gram)))
            problem = replace(problem, Z=Z[:, keep])
            gram, moment = gram[np.ix_(kept, kept)], moment[kept]
        elif near.design.center is not None and self.offset is None and len(y) >= 4 * d:
            problem = replace(problem, controls=index_columns(problem, gram, moment))
            gram, moment = problem.gram()
        penalty = np.full(len(gram), 1e-10 * np.trace(gram) / len(gram))
        penalty[: len(keep)] += self.ridge
        if problem.controls is not None:
            penalty[d + 1 :] = 0.02 * np.diag(gram)[d + 1 :]
        found = problem.solve(gram, moment, penalty)
        intercept = shift + (float(found.weights[len(keep)]) if self.offset is None else 0.0)
        return _fit(near, live, keep, found, intercept, float(problem.t @ problem.t))


@dataclass(frozen=True, eq=False)
class Solved:
    """Coefficients of all columns, the covariance of the parts', and the squares of what is left out."""

    weights: Floats
    covariance: Floats
    left_out: float


@dataclass(frozen=True, eq=False)
class Problem:
    """Least squares over rows scaled by the roots of their weights, worked on a block of rows at a time.

    The columns are the parts, 1 if the intercept is fitted, and control variates: those change the error of
    the weights, not their meaning, and are no part of the surrogate.
    """

    Z: Floats  # (n, d)
    root: Floats  # (n,)
    t: Floats  # (n,), outputs, scaled already
    design: Design
    intercept: bool
    controls: Floats | None = None  # (n, c)

    @property
    def length(self) -> int:
        """Rows of a block: an eighth of all, clusters kept whole."""
        return -(-len(self.t) // (BLOCKS * self.design.cluster)) * self.design.cluster

    @property
    def blocks(self) -> list[slice]:
        """Consecutive rows, in eight blocks as far as there are rows."""
        return [slice(a, min(a + self.length, len(self.t))) for a in range(0, len(self.t), self.length)]

    @property
    def pieces(self) -> list[slice]:
        """Rows to work on at once: as many blocks as stay in the cache."""
        size = max(AT_ONCE // self.length, 1) * self.length
        return [slice(a, min(a + size, len(self.t))) for a in range(0, len(self.t), size)]

    def rows(self, piece: slice) -> Floats:
        """Scaled rows, all columns."""
        Z, root = self.Z[piece], self.root[piece, None]
        d, fitted = Z.shape[1], int(self.intercept)
        extra = 0 if self.controls is None else self.controls.shape[1]
        A = np.empty((len(Z), d + fitted + extra), order="F")  # long columns are quicker than short rows
        np.multiply(Z, root, out=A[:, :d])
        A[:, d : d + fitted] = root
        if self.controls is not None:
            np.multiply(self.controls[piece], root, out=A[:, d + fitted :])
        return A

    def gram(self) -> tuple[Floats, Floats]:
        """Gram matrix of the columns, and their product with the outputs."""
        first, *more = self.pieces
        A = self.rows(first)
        gram, moment = A.T @ A, A.T @ self.t[first]
        for piece in more:
            A = self.rows(piece)
            gram += A.T @ A
            moment += A.T @ self.t[piece]
        return gram, moment

    def solve(self, gram: Floats, moment: Floats, penalty: Floats) -> Solved:
        """Weights with HC3 errors by clusters, deflated for a net, and leave-one-out residuals.

        A sample of a net pulls the fit less than its leverage says, by the same factor by which the error of
        the weights is smaller; that factor compares the sums of blocks with what independent samples give.
        """
        d, inverse = self.Z.shape[1], np.linalg.inv(gram + np.diag(penalty))
        weights = inverse @ moment
        meat, sums = np.zeros(gram.shape), []
        plain, room = np.empty(len(self.t)), np.empty(len(self.t))
        for piece in self.pieces:
            A, t = self.rows(piece), self.t[piece]
            fitted = A @ weights
            beyond = A[:, d + 1 :] @ weights[d + 1 :]  # what the controls add is no part of the surrogate
            plain[piece] = t - fitted + beyond
            if self.design.exact:
                continue
            room[piece] = 1 / (1 - np.minimum(self.leverage(A, self.root[piece], gram), 0.99))
            scores = A * ((t - fitted) * room[piece])[:, None]
            if self.design.cluster > 1:
                scores = np.add.reduceat(scores, np.arange(0, len(scores), self.design.cluster), axis=0)
            meat += scores.T @ scores
            starts = np.arange(0, len(scores), self.length // self.design.cluster)
            sums += list(np.add.reduceat(scores, starts, axis=0))
        if self.design.exact:
            return Solved(weights, np.zeros((d, d)), float(plain @ plain))
        bread = inverse[:d]
        covariance = bread @ meat @ bread.T
        steady = steadiness(np.array(sums) @ bread.T, covariance) if self.design.net else 1.0
        plain *= 1 + steady * (room - 1)
        return Solved(weights, covariance * steady, float(plain @ plain))

    def leverage(self, A: Floats, root: Floats, gram: Floats) -> Floats:
        """How far each row pulls its own fit. Parts are drawn independently, so their pulls add up."""
        d = self.Z.shape[1]
        center = gram[:d, d] / gram[d, d] if self.intercept else np.zeros(d)
        inverse = 1 / np.maximum(np.diag(gram)[:d] - center * (gram[:d, d] if self.intercept else 0.0), 1e-300)
        Z = A[:, :d]
        pull = (Z * Z) @ inverse
        if self.intercept:
            pull += root * (root * (inverse @ center**2 + 1 / gram[d, d]) - 2 * (Z @ (inverse * center)))
        if self.controls is not None:
            C = A[:, d + 1 :]
            pull += np.einsum("ij,ij->i", C @ np.linalg.inv(gram[d + 1 :, d + 1 :]), C)
        return pull


def steadiness(sums: Floats, covariance: Floats) -> float:
    """Variance of a net against that of independent samples, at most 1, from the sums of its blocks.

    With few parts the ratio itself is uncertain, so it is raised by its own standard error.
    """
    freedom = (len(sums) - 1) * sums.shape[1]
    if len(sums) < BLOCKS or not freedom:
        return 1.0
    between = float(np.sum((sums - sums.mean(axis=0)) ** 2)) * len(sums) / (len(sums) - 1)
    unsure = 1 + float(np.sqrt(2 / freedom))
    return min(1.0, unsure * between / max(float(np.trace(covariance)), 1e-300))


def index_columns(problem: Problem, gram: Floats, moment: Floats) -> Floats:
    """Index control variates: hinges of the direction that is being explained, (n, 5).

    Most of what a linear fit leaves over of a saturating model is a function of the fitted sum itself. The
    hinges are made orthogonal to 1 and the designs under their normal law, in closed form, so that adding them
    leaves the estimate's meaning alone; each block's direction comes from the other blocks.
    """
    center, spread = problem.design.center, problem.design.spread
    assert center is not None
    assert spread is not None
    n, d = problem.Z.shape
    index = np.empty(n)
    for block in problem.blocks:
        A = problem.rows(block)
        rest, right = _without_intercept(gram - A.T @ A, moment - A.T @ problem.t[block], d)
        rest[np.diag_indices(d)] += 1e-4 * np.trace(rest) / d
        b = np.linalg.solve(rest, right)
        b /= max(float(np.linalg.norm(spread * b)), 1e-300)
        index[block] = problem.Z[block] @ b - center @ b
    density, above = np.exp(-0.5 * KNOTS**2) / np.sqrt(2 * np.pi), ndtr(-KNOTS)
    columns: Floats = np.maximum(index[:, None] - KNOTS, 0) - above * index[:, None]
    columns -= density - KNOTS * above
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


def over_all_parts(
    near: Neighborhood, live: Bools, weights: Floats, covariance: Floats, intercept: float, fidelity: float
) -> Fit:
    """A fit of all parts; one that was not measured has infinite variance."""
    if not live.all():
        covariance = np.where(live[:, None] & live, covariance, 0.0) + np.diag(np.where(live, 0.0, np.inf))
    return Fit(
        weights=weights,
        intercept=intercept,
        covariance=covariance,
        local_prediction=intercept + float(near.designs[0] @ weights),
        fidelity=fidelity,
        measured=live,
        chosen=live,
        degrees=max((len(near.weights) - 1) / near.design.cluster - int(live.sum()) - 1, 1.0),
    )


def _fit(near: Neighborhood, live: Bools, keep: Indices, found: Solved, intercept: float, total: float) -> Fit:
    """The solution over all parts; a part that was not chosen has weight zero."""
    chosen = np.zeros(len(live), bool)
    chosen[np.flatnonzero(live)[keep]] = True
    weights, covariance = np.zeros(len(live)), np.zeros((len(live), len(live)))
    weights[chosen] = found.weights[: len(keep)]
    covariance[np.ix_(chosen, chosen)] = found.covariance
    fit = over_all_parts(near, live, weights, covariance, intercept, 1 - found.left_out / max(total, 1e-300))
    return fit if chosen.sum() == live.sum() else replace(fit, chosen=chosen)
