"""The linear surrogate: weighted least squares, its sampling error, and its fidelity on samples left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr

from veridical.attribute.choose import Indices, Selector
from veridical.attribute.moments import PRODUCTS, MaskLaw
from veridical.errors import check_positive
from veridical.records import Bools, Design, Fit, Floats, Neighborhood

Folds: TypeAlias = list[tuple[Floats, Floats]]  # of each fold, the Gram matrix and its product with the outputs

LEAST = 5.0  # a part must change, and stay, in about this many samples before it gets a weight
KNOTS = np.array([-1.2, -0.6, 0.0, 0.6, 1.2])
HEAVY_TAILS = 12.0  # kurtosis of what a linear fit leaves over, above which control variates do harm
UNSURE = 1.2  # what control variates whose direction was estimated add to the variance
BLOCKS = 8
AT_ONCE = 1024
FEW = 16  # samples a column, below which leverages are worked out exactly
FEWER = 4  # samples a part, below which masks get no control variates
MANY = 32  # samples a part, from which on each part may have one of its own
PAIRED = 12  # heaviest parts, each two of which may have one, too
CLEAR = 0.95  # share of the outputs' variance from which on that would gain nothing
SMALL = 2**18  # numbers of a problem whose rows are kept at hand
WIDEST = 1024  # parts, above which nothing is learned: its folds would fill the memory
CONFUSED = 1e7  # times by which the variance of a weight grows, from which on others are as good a reason
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
            problem, gram, moment = with_controls(problem, folds)
        tiny = 0.0 if near.design.exact else 1e-10  # relative to each part's own spread, however small
        penalty = tiny * np.diag(gram)
        penalty[: len(keep)] += self.ridge
        penalty[len(keep) :] = SHRINK * np.diag(gram)[len(keep) :]
        found = problem.solve(gram, moment, penalty)
        total = float(w @ (y - mean) ** 2)
        fidelity = 1 - found.left_out / total if total > 0 else float("nan")
        intercept = shift - float(problem.center @ found.weights[: len(keep)])
        return _fit(near, live, keep, found, intercept, fidelity)


@dataclass(frozen=True, eq=False)
class Solved:
    """Coefficients of all columns, the covariance of the parts', and the squares of what is left out."""

    weights: Floats
    covariance: Floats
    left_out: float
    known: Bools  # (d,) False where the samples cannot tell a part from others


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
    scaled: Floats | None = None  # (n, d + c), all rows at once where they are few

    def prepared(self) -> Problem:
        """The same with its rows at hand, if they are few."""
        n, d = self.Z.shape
        return replace(self, scaled=self._scale(slice(0, n))) if n * d <= SMALL else self

    @property
    def learns(self) -> bool:
        """Whether control variates are worth learning: the law of designs is known, and samples are many."""
        (n, d), design = self.Z.shape, self.design
        if not self.intercept or design.exact or not 1 < d <= WIDEST:
            return False
        if design.sizes is not None:
            varied = n * (1 - design.sizes.max()) >= LEAST  # masks of one size say nothing of size
            return bool(varied and d == len(design.sizes) - 1 and n >= max(256, FEWER * d, 4 * design.stretch))
        return bool(design.center is not None and n >= max(256, FEW * d))

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
        """Blocks, two by two: what is learned for one fold comes from the others; one fold if nothing is."""
        if not self.learns:
            return [slice(0, len(self.t))]
        return [slice(a, min(a + 2 * self.length, len(self.t))) for a in range(0, len(self.t), 2 * self.length)]

    @property
    def reach(self) -> int:
        """Rows to work on at once: as many blocks as stay in the cache."""
        return max(AT_ONCE // self.length, 1) * self.length

    @property
    def pieces(self) -> list[slice]:
        """All rows, as many at a time as are worked on at once."""
        return [slice(a, min(a + self.reach, len(self.t))) for a in range(0, len(self.t), self.reach)]

    def rows(self, piece: slice) -> Floats:
        """Scaled rows, all columns."""
        return self._scale(piece) if self.scaled is None else self.scaled[piece]

    def _scale(self, piece: slice) -> Floats:
        Z, root = self.Z[piece], self.root[piece, None]
        d, extra = Z.shape[1], 0 if self.controls is None else self.controls.shape[1]
        A = np.empty((len(Z), d + extra), order="F")  # long columns are quicker than short rows
        np.subtract(Z, self.center, out=A[:, :d])
        if self.controls is not None:
            A[:, d:] = self.controls[piece]
        A *= root
        return A

    def grams(self) -> list[tuple[Floats, Floats]]:
        """For each fold, the Gram matrix of the columns, and their product with the outputs."""
        found = []
        for fold in self.folds:
            gram, moment = self._gram(slice(fold.start, min(fold.start + self.reach, fold.stop)))
            for start in range(fold.start + self.reach, fold.stop, self.reach):
                more, product = self._gram(slice(start, min(start + self.reach, fold.stop)))
                gram += more
                moment += product
            found.append((gram, moment))
        return found

    def _gram(self, piece: slice) -> tuple[Floats, Floats]:
        A = self.rows(piece)
        return A.T @ A, A.T @ self.t[piece]

    def solve(self, gram: Floats, moment: Floats, penalty: Floats) -> Solved:
        """Weights with HC3 errors by clusters, deflated for a net, and leave-one-out residuals.

        A sample of a net pulls the fit less than its leverage says, by the same factor by which the error of
        the weights is smaller; that factor compares the sums of blocks with what independent samples give.
        """
        d, inverse = self.Z.shape[1], np.asarray(np.linalg.inv(gram + np.diag(penalty)), np.float64)
        weights = inverse @ moment
        known = np.asarray(np.diag(inverse)[:d] * np.diag(gram)[:d] < CONFUSED)
        meat, sums = np.zeros(gram.shape), []
        plain, room = np.empty(len(self.t)), np.empty(len(self.t))
        for piece in self.pieces:
            A, t = self.rows(piece), self.t[piece]
            plain[piece] = t - A[:, :d] @ weights[:d]
            if self.design.exact:
                continue
            room[piece], pull = self._leverages(A, piece, gram, inverse)
            scores = A * ((t - A @ weights) / (1 - np.minimum(pull, 0.99)))[:, None]
            scores = _clustered(scores, self.design.cluster)
            meat += scores.T @ scores
            if self.design.net:
                starts = np.arange(0, len(scores), self.length // self.design.cluster)
                sums += list(np.add.reduceat(scores, starts, axis=0))
        if self.design.exact:
            return Solved(weights, np.zeros((d, d)), float(plain @ plain), known)
        bread = inverse[:d]
        covariance = bread @ meat @ bread.T
        steady = steadiness(np.array(sums) @ bread.T, covariance) if self.design.net else 1.0
        if self.controls is not None:
            covariance *= UNSURE
        plain *= 1 + steady * (1 / (1 - np.minimum(room, 0.99)) - 1)
        return Solved(weights, covariance * steady, float(plain @ plain), known)

    def _leverages(self, A: Floats, piece: slice, gram: Floats, inverse: Floats) -> tuple[Floats, Floats]:
        """How far each row pulls the surrogate's fit, and that of all columns.

        Parts of masks pull by the mask's size alone; parts of a net are independent, and have pulls that add up.
        """
        d, weights = self.Z.shape[1], self.root[piece] ** 2 / (self.root @ self.root)
        Z, sizes = A[:, :d], self.design.sizes
        share = weights if self.intercept else np.zeros(len(A))
        if sizes is not None and self.intercept and d == len(sizes) - 1:
            parts = share + weights * MaskLaw.of(sizes).leverage()[self.Z[piece].sum(axis=1).astype(int)]
        elif self.design.net and len(self.t) >= FEW * len(gram):
            parts = share + (Z * Z) @ (1 / np.maximum(np.diag(gram)[:d], 1e-300))
        else:
            own = inverse if self.controls is None else np.linalg.inv(gram[:d, :d] + _tiny(gram[:d, :d]))
            parts = share + np.einsum("ij,ij->i", Z @ own, Z)
            return parts, parts if self.controls is None else share + np.einsum("ij,ij->i", A @ inverse, A)
        if self.controls is None:
            return parts, parts
        C, own = A[:, d:], gram[d:, d:]  # singular: pairs, and parts times the size, sum to powers of the size
        return parts, parts + np.einsum("ij,ij->i", C @ np.linalg.inv(own + SHRINK * np.diag(np.diag(own))), C)


def _clustered(scores: Floats, size: int) -> Floats:
    """Sums of this many consecutive rows."""
    if size == 1:
        return scores
    whole = len(scores) // size * size
    found: Floats = scores[0:whole:size].copy(order="F")
    for i in range(1, size):
        found += scores[i:whole:size]
    return found if whole == len(scores) else np.vstack([found, scores[whole:].sum(axis=0)])


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


def heavy_tailed(problem: Problem, gram: Floats, moment: Floats) -> bool:
    """Whether what a linear fit leaves over has tails that control variates would follow; masks have none."""
    if problem.design.sizes is not None:
        return False
    rest = problem.t - problem.rows(slice(0, len(problem.t))) @ np.linalg.solve(gram + _tiny(gram), moment)
    squares = rest**2
    return bool(len(rest) * (squares @ squares) >= HEAVY_TAILS * squares.sum() ** 2)


def with_controls(problem: Problem, folds: Folds) -> tuple[Problem, Floats, Floats]:
    """The problem with the control variates of its law, and its Gram matrix and moment with them."""
    if problem.design.sizes is None:
        return _extended(problem, folds, index_columns(problem, folds))
    columns = size_columns(problem, folds)
    found, gram, moment = _extended(problem, folds, columns)
    n, d = problem.Z.shape
    if n >= MANY * d:
        penalty = np.append(np.full(d, 1e-10), np.full(columns.shape[1], SHRINK)) * np.diag(gram)
        weights = np.linalg.solve(gram + np.diag(penalty), moment)
        if float(moment @ weights) < CLEAR * float(problem.t @ problem.t):
            law, heaviest = (
                MaskLaw.of(problem.design.sizes),
                np.argsort(-np.abs(weights[:d]), kind="stable")[:PAIRED],
            )
            more = law.interactions(problem.Z), law.pairs(problem.Z, heaviest)
            return _extended(problem, folds, np.hstack([columns, *more]))
    return found, gram, moment


def _extended(problem: Problem, folds: Folds, columns: Floats) -> tuple[Problem, Floats, Floats]:
    """The problem with more columns; what is known of its own is not worked out again."""
    d, c = problem.Z.shape[1], columns.shape[1]
    gram, moment = np.empty((d + c, d + c)), np.empty(d + c)
    gram[:d, :d], moment[:d] = total_of(folds)
    scaled = columns * problem.root[:, None]
    gram[:d, d:] = sum(problem.rows(piece).T @ scaled[piece] for piece in problem.pieces)
    gram[d:, :d], gram[d:, d:], moment[d:] = gram[:d, d:].T, scaled.T @ scaled, scaled.T @ problem.t
    rows = None if problem.scaled is None else np.hstack([problem.scaled, scaled])
    return replace(problem, controls=columns, scaled=rows), gram, moment


def total_of(folds: Folds) -> tuple[Floats, Floats]:
    """Gram matrix and moment of all folds."""
    if len(folds) == 1:
        return folds[0]
    return np.sum([g for g, _ in folds], axis=0), np.sum([m for _, m in folds], axis=0)


def directions(problem: Problem, folds: Folds) -> Floats:
    """The direction that is being explained, (folds, d): each fold's comes from the other folds."""
    (gram, moment), d = total_of(folds), problem.Z.shape[1]
    found = []
    for own, product in folds:
        rest = gram - own
        rest[np.diag_indices(d)] += 1e-4 * np.trace(rest) / d
        found.append(np.linalg.solve(rest, moment - product))
    return np.array(found)


def index_columns(problem: Problem, folds: Folds) -> Floats:
    """Index control variates of normal designs: hinges of the direction that is being explained, (n, 5).

    Most of what a linear fit leaves over of a saturating model is a function of the fitted sum itself. The
    hinges are made orthogonal to 1 and the designs under their normal law, in closed form, so that adding them
    leaves the estimate's meaning alone.
    """
    center, spread = problem.design.center, problem.design.spread
    assert center is not None
    assert spread is not None
    index = np.empty(len(problem.t))
    for block, b in zip(problem.folds, directions(problem, folds), strict=True):
        b = b / max(float(np.linalg.norm(spread * b)), 1e-300)
        index[block] = problem.Z[block] @ b - center @ b
    density, above = np.exp(-0.5 * KNOTS**2) / np.sqrt(2 * np.pi), ndtr(-KNOTS)
    columns: Floats = np.maximum(index[:, None] - KNOTS, 0) - above * index[:, None]
    columns -= density - KNOTS * above
    return columns


def size_columns(problem: Problem, folds: Folds) -> Floats:
    """Index and size control variates of masks: products of powers of the fitted sum and of the mask's size.

    All masks of a size are equally likely, so the mean of any such product, alone and with a part kept, is a
    polynomial in the power sums of the direction: no sampling is needed to make the columns orthogonal to 1
    and the designs under their law.
    """
    assert problem.design.sizes is not None
    law = MaskLaw.of(problem.design.sizes)
    ways = directions(problem, folds)
    ways /= np.maximum(law.spread(ways), 1e-300)[:, None]
    means, slopes = law.projections(ways)
    constant = means - law.share * slopes.sum(axis=1)
    found = np.empty((len(problem.t), len(PRODUCTS)), order="F")
    size = law.standard[problem.Z.sum(axis=1).astype(int)]
    sizes = [np.ones_like(size), size, size**2, size**2 * size, (size**2) ** 2]
    for fold, b, offset, slope in zip(problem.folds, ways, constant, slopes, strict=True):
        index, *pulls = np.column_stack([b, slope]).T @ problem.Z[fold].T
        index -= law.share * b.sum()
        powers = [1.0, index, index**2, index**2 * index]
        for c, (k, power) in enumerate(PRODUCTS):
            found[fold, c] = powers[k] * sizes[power][fold] - pulls[c] - offset[c]
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
