"""The linear surrogate: weighted least squares, its sampling error, and its fidelity on samples left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from veridical.attribute.choose import Indices, Selector
from veridical.attribute.moments import PRODUCTS, MaskLaw
from veridical.errors import check_positive
from veridical.records import Bools, Design, Fit, Floats, Neighborhood

LEAST = 5.0  # a part must change, and stay, in about this many samples before it gets a weight
KNOTS = np.array([-1.2, -0.6, 0.0, 0.6, 1.2])
HEAVY_TAILS = 12.0  # kurtosis of what a linear fit leaves over, above which control variates do harm
UNSURE = 1.2  # what control variates whose direction was estimated add to the variance
BLOCKS = 8
AT_ONCE = 1024
FEW = 16  # samples a column, below which leverages are worked out exactly
FEWER = 4  # samples a part, below which masks get no control variates
MANY = 32  # samples a part, from which on each part may have one of its own
CLEAR = 0.95  # share of the outputs' variance from which on that would gain nothing
SHRINK = 0.02  # ridge of control variates, relative to their own size


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
        live = measured(near)
        mean = float(w @ y / w.sum())
        shift = mean if self.offset is None else self.offset(y, w)
        Z = near.designs[1:] if live.all() else near.designs[1:, live]
        center = (w @ Z) / w.sum() if self.offset is None else np.zeros(Z.shape[1])
        problem = Problem(Z, center, np.sqrt(w), np.sqrt(w) * (y - shift), near.design, self.offset is None)
        gram, moment = problem.gram()
        keep = np.arange(len(gram))
        if select is not None and k is not None and k < len(gram):
            keep = select(gram, moment, k)
            problem = replace(problem, Z=Z[:, keep], center=center[keep])
            gram, moment = gram[np.ix_(keep, keep)], moment[keep]
        elif self._controls_help(problem, gram, moment):
            problem, gram, moment = with_controls(problem, gram, moment)
        penalty = 1e-10 * np.diag(gram)  # relative to each part's own spread, however small
        penalty[: len(keep)] += self.ridge
        penalty[len(keep) :] = SHRINK * np.diag(gram)[len(keep) :]
        found = problem.solve(gram, moment, penalty)
        total = float(w @ (y - mean) ** 2)
        fidelity = 1 - found.left_out / total if total > 0 else float("nan")
        intercept = shift - float(problem.center @ found.weights[: len(keep)])
        return _fit(near, live, keep, found, intercept, fidelity)

    def _controls_help(self, problem: Problem, gram: Floats, moment: Floats) -> bool:
        """Where the law of designs is known, samples are many, and the outputs' tails are not heavy."""
        n, d = problem.Z.shape
        if problem.design.sizes is not None:  # no column of a mask has heavy tails
            enough = max(256, FEWER * d, 4 * problem.design.stretch)
            return not problem.design.exact and self.offset is None and n >= enough and d > 1
        if problem.design.center is None or self.offset is not None or n < max(256, FEW * d) or not d:
            return False
        rest = problem.t - problem.rows(slice(0, n)) @ np.linalg.solve(gram + _tiny(gram), moment)
        squares = rest**2
        return bool(n * (squares @ squares) < HEAVY_TAILS * squares.sum() ** 2)


@dataclass(frozen=True, eq=False)
class Solved:
    """Coefficients of all columns, the covariance of the parts', and the squares of what is left out."""

    weights: Floats
    covariance: Floats
    left_out: float


@dataclass(frozen=True, eq=False)
class Problem:
    """Least squares over rows scaled by the roots of their weights, worked on a few blocks of rows at a time.

    The columns are the centered parts and control variates: those change the error of the weights, not their
    meaning, and are no part of the surrogate.
    """

    Z: Floats  # (n, d)
    center: Floats  # (d,)
    root: Floats  # (n,)
    t: Floats  # (n,), outputs, scaled already
    design: Design
    intercept: bool  # whether it is fitted
    controls: Floats | None = None  # (n, c)

    @property
    def length(self) -> int:
        """Rows of a block: an eighth of all, what was drawn together kept whole."""
        whole = max(self.design.cluster, self.design.stretch)
        return -(-len(self.t) // (BLOCKS * whole)) * whole

    @property
    def blocks(self) -> list[slice]:
        """Consecutive rows, in eight blocks as far as there are rows."""
        return [slice(a, min(a + self.length, len(self.t))) for a in range(0, len(self.t), self.length)]

    @property
    def folds(self) -> list[slice]:
        """Blocks, two by two: what is learned for one fold comes from the others."""
        return [slice(a, min(a + 2 * self.length, len(self.t))) for a in range(0, len(self.t), 2 * self.length)]

    @property
    def pieces(self) -> list[slice]:
        """Rows to work on at once: as many blocks as stay in the cache."""
        size = max(AT_ONCE // self.length, 1) * self.length
        return [slice(a, min(a + size, len(self.t))) for a in range(0, len(self.t), size)]

    def rows(self, piece: slice) -> Floats:
        """Scaled rows, all columns."""
        Z, root = self.Z[piece], self.root[piece, None]
        d, extra = Z.shape[1], 0 if self.controls is None else self.controls.shape[1]
        A = np.empty((len(Z), d + extra), order="F")  # long columns are quicker than short rows
        np.subtract(Z, self.center, out=A[:, :d])
        if self.controls is not None:
            A[:, d:] = self.controls[piece]
        A *= root
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
        d, inverse = self.Z.shape[1], np.asarray(np.linalg.inv(gram + np.diag(penalty)), np.float64)
        weights = inverse @ moment
        meat, sums = np.zeros(gram.shape), []
        plain, room = np.empty(len(self.t)), np.empty(len(self.t))
        for piece in self.pieces:
            A, t = self.rows(piece), self.t[piece]
            plain[piece] = t - A[:, :d] @ weights[:d]
            if self.design.exact:
                continue
            room[piece], pull = self._leverages(A, piece, gram, inverse)
            scores = A * ((t - A @ weights) / (1 - np.minimum(pull, 0.99)))[:, None]
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
        if self.controls is not None:
            covariance *= UNSURE
        plain *= 1 + steady * (1 / (1 - np.minimum(room, 0.99)) - 1)
        return Solved(weights, covariance * steady, float(plain @ plain))

    def _leverages(self, A: Floats, piece: slice, gram: Floats, inverse: Floats) -> tuple[Floats, Floats]:
        """How far each row pulls the surrogate's fit, and that of all columns.

        Parts of masks pull by the mask's size alone; parts that are drawn independently have pulls that add up.
        """
        d, weights = self.Z.shape[1], self.root[piece] ** 2 / (self.root @ self.root)
        Z, sizes = A[:, :d], self.design.sizes
        share = weights if self.intercept else np.zeros(len(A))
        if sizes is not None and self.intercept and d == len(sizes) - 1:
            parts = share + weights * MaskLaw.of(sizes).leverage()[self.Z[piece].sum(axis=1).astype(int)]
        elif len(self.t) >= FEW * len(gram):
            parts = share + (Z * Z) @ (1 / np.maximum(np.diag(gram)[:d], 1e-300))
        else:
            own = inverse if self.controls is None else np.linalg.inv(gram[:d, :d] + _tiny(gram[:d, :d]))
            parts = share + np.einsum("ij,ij->i", Z @ own, Z)
            return parts, parts if self.controls is None else share + np.einsum("ij,ij->i", A @ inverse, A)
        if self.controls is None:
            return parts, parts
        C = A[:, d:]
        return parts, parts + np.einsum("ij,ij->i", C @ np.linalg.inv(gram[d:, d:]), C)


def _tiny(gram: Floats) -> Floats:
    """A ridge that matters to nothing but a matrix that cannot be inverted."""
    return np.diag(1e-10 * np.diag(gram))


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


def with_controls(problem: Problem, gram: Floats, moment: Floats) -> tuple[Problem, Floats, Floats]:
    """The problem with the control variates of its law, and its Gram matrix and moment with them."""
    if problem.design.sizes is None:
        found = replace(problem, controls=index_columns(problem, gram, moment))
        return found, *found.gram()
    columns = size_columns(problem, gram, moment)
    found = replace(problem, controls=columns)
    gram, moment = found.gram()
    n, d = problem.Z.shape
    if n >= MANY * d:
        penalty = np.append(np.full(d, 1e-10), np.full(columns.shape[1], SHRINK)) * np.diag(gram)
        explained = float(moment @ np.linalg.solve(gram + np.diag(penalty), moment))
        if explained < CLEAR * float(problem.t @ problem.t):
            more = MaskLaw.of(problem.design.sizes).interactions(problem.Z)
            found = replace(problem, controls=np.hstack([columns, more]))
            return found, *found.gram()
    return found, gram, moment


def directions(problem: Problem, gram: Floats, moment: Floats) -> Floats:
    """The direction that is being explained, (folds, d): each fold's comes from the other folds."""
    d, grams, moments = problem.Z.shape[1], [], []
    for fold in problem.folds:
        A = problem.rows(fold)
        rest = gram - A.T @ A
        rest[np.diag_indices(d)] += 1e-4 * np.trace(rest) / d
        grams.append(rest)
        moments.append(moment - A.T @ problem.t[fold])
    return np.asarray(np.linalg.solve(np.array(grams), np.array(moments)[..., None])[..., 0])


def index_columns(problem: Problem, gram: Floats, moment: Floats) -> Floats:
    """Index control variates of normal designs: hinges of the direction that is being explained, (n, 5).

    Most of what a linear fit leaves over of a saturating model is a function of the fitted sum itself. The
    hinges are made orthogonal to 1 and the designs under their normal law, in closed form, so that adding them
    leaves the estimate's meaning alone.
    """
    center, spread = problem.design.center, problem.design.spread
    assert center is not None
    assert spread is not None
    index = np.empty(len(problem.t))
    for block, b in zip(problem.folds, directions(problem, gram, moment), strict=True):
        b = b / max(float(np.linalg.norm(spread * b)), 1e-300)
        index[block] = problem.Z[block] @ b - center @ b
    density, above = np.exp(-0.5 * KNOTS**2) / np.sqrt(2 * np.pi), ndtr(-KNOTS)
    columns: Floats = np.maximum(index[:, None] - KNOTS, 0) - above * index[:, None]
    columns -= density - KNOTS * above
    return columns


def size_columns(problem: Problem, gram: Floats, moment: Floats) -> Floats:
    """Index and size control variates of masks: products of powers of the fitted sum and of the mask's size.

    All masks of a size are equally likely, so the mean of any such product, alone and with a part kept, is a
    polynomial in the power sums of the direction: no sampling is needed to make the columns orthogonal to 1
    and the designs under their law.
    """
    assert problem.design.sizes is not None
    law = MaskLaw.of(problem.design.sizes)
    ways = directions(problem, gram, moment)
    ways /= np.maximum(law.spread(ways), 1e-300)[:, None]
    means, slopes = law.projections(ways)
    found = np.empty((len(problem.t), len(PRODUCTS)))
    for fold, b, mean, slope in zip(problem.folds, ways, means, slopes, strict=True):
        Z = problem.Z[fold]
        index, *pulls = (Z @ np.column_stack([b, slope])).T
        index -= law.share * b.sum()
        size = law.standard[Z.sum(axis=1).astype(int)]
        powers = np.ones((2, 5, len(size)))
        for k in range(1, 5):
            powers[:, k] = powers[:, k - 1] * (index, size)
        for c, (k, power) in enumerate(PRODUCTS):
            found[fold, c] = powers[0, k] * powers[1, power] - pulls[c] - mean[c] + law.share * slope[:, c].sum()
    return found


def effective_size(weights: Floats) -> float:
    """How many samples of equal weight these are worth."""
    return float(weights.sum() ** 2 / (weights @ weights))


def measured(near: Neighborhood) -> Bools:
    """Which parts the samples vary enough to weigh, (d,): none if the weights leave too few samples."""
    w, shares = near.weights[1:], near.design.shares
    if near.design.exact:
        return np.asarray((shares > 0) & (shares < 1))
    if effective_size(w) < len(shares) + 2:
        return np.zeros(len(shares), bool)
    return np.asarray(np.isnan(shares) | (len(w) * shares * (1 - shares) >= LEAST))


def over_all_parts(
    near: Neighborhood, live: Bools, weights: Floats, covariance: Floats, intercept: float, fidelity: float
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


def _fit(near: Neighborhood, live: Bools, keep: Indices, found: Solved, intercept: float, fidelity: float) -> Fit:
    """The solution over all parts; a part that was not chosen has weight zero."""
    chosen = np.zeros(len(live), bool)
    chosen[np.flatnonzero(live)[keep]] = True
    weights, covariance = np.zeros(len(live)), np.zeros((len(live), len(live)))
    weights[chosen] = found.weights[: len(keep)]
    covariance[np.ix_(chosen, chosen)] = found.covariance
    weights[np.abs(weights) < 1e-9 * np.abs(weights).max(initial=0.0)] = 0.0  # what rounding leaves of nothing
    fit = over_all_parts(near, live, weights, covariance, intercept, fidelity)
    return fit if chosen.sum() == live.sum() else replace(fit, chosen=chosen)
