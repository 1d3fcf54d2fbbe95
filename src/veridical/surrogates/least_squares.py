"""Weighted least squares of many rows at once, in NumPy or torch: the one module that solves linear equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from veridical.errors import require
from veridical.records import Bools, Design, Floats
from veridical.sampling.moments import MaskLaw

Folds: TypeAlias = list[tuple[Any, Any]]  # of each fold, the Gram matrices and their products with the outputs

LEAST = 5.0  # a part must change, and stay, in about this many samples before it gets a weight
UNSURE = 1.2  # what control variates whose direction was estimated add to the variance
BLOCKS = 8
AT_ONCE = 1024  # samples that are worked on at once, at least
CACHED = 2**15  # numbers of one row's columns that stay in the cache beside others
FEW = 16  # samples a column, below which leverages are worked out exactly
FEWER = 4  # samples a part, below which masks get no control variates
SMALL = 2**18  # numbers of one row's columns that are kept at hand
WIDEST = 1024  # parts, above which nothing is learned: its folds would fill the memory
CONFUSED = 1e7  # times by which the variance of a weight grows, from which on others are as good a reason
SHRINK = 0.02  # ridge of control variates, relative to their own size
TINY = 1e-10  # ridge that matters to nothing but a matrix that cannot be inverted
MOST_PULL = 0.99  # leverage of a sample, above which it would have the last word on its own residual


def solve(gram: Floats, moment: Floats) -> Floats:
    """The solution of linear equations (…, d, d), for one right side or several."""
    return np.asarray(np.linalg.solve(gram, moment), np.float64)


def invert(gram: Any) -> Any:
    """The inverse of each of some matrices (…, d, d); torch's has nan where there is none."""
    if isinstance(gram, np.ndarray):
        return np.asarray(np.linalg.inv(gram), np.float64)
    return require("torch", extra="torch").linalg.inv_ex(gram).inverse


def roots_of(covariances: Floats) -> Floats:
    """Matrices (r, m, m) whose products with their transposes are the covariances, also if those are singular."""
    try:
        return np.asarray(np.linalg.cholesky(covariances))
    except np.linalg.LinAlgError:
        if len(covariances) > 1:
            return np.concatenate([roots_of(one[None]) for one in covariances])
        values, vectors = np.linalg.eigh((covariances + covariances.swapaxes(1, 2)) / 2)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None])


def on_grid(terms: Floats) -> Floats:
    """The terms of sums, rounded in place so that the sum of a row, or of some of it, is exact: (r, n).

    Sums over samples that are one matrix product for many rows then have the same bits for each row alone.
    """
    _, exponents = np.frexp(np.abs(terms).max(axis=1, keepdims=True))
    beyond = np.ldexp(1.5, exponents + int(terms.shape[1]).bit_length())
    terms += beyond
    terms -= beyond
    return terms


@dataclass(frozen=True, eq=False)
class Solved:
    """What was found for r rows: arrays of NumPy, or tensors on a device."""

    weights: Any  # (r, d + c) of all columns
    covariance: Any  # (r, d, d) of the parts' weights
    left_out: Any  # (r,) squares of what is left over, each sample left out of the fit in turn
    known: Any  # (r, d) False where the samples cannot tell a part from others
    mean: Any  # (r,) of the outputs
    total: Any  # (r,) squares of the outputs around their mean
    center: Any  # (r, d) of the designs

    def packed(self) -> Any:
        """All numbers of each row in a line (r, …), in one tensor, so that they travel at once."""
        sums = [each[:, None] for each in (self.left_out, self.mean, self.total)]
        vectors = [self.weights, self.known.double(), self.center, self.covariance.flatten(1)]
        return require("torch", extra="torch").cat([*sums, *vectors], dim=1)

    @classmethod
    def unpacked(cls, numbers: Floats, d: int) -> Solved:
        """What ``packed`` gave, of parts alone, as arrays of NumPy."""
        (left_out, mean, total), rest = numbers[:, :3].T, numbers[:, 3:]
        weights, known, center = rest[:, : 3 * d].reshape(-1, 3, d).transpose(1, 0, 2)
        return cls(weights, rest[:, 3 * d :].reshape(-1, d, d), left_out, known > 0, mean, total, center)


@dataclass(frozen=True, eq=False)
class Problem:
    """Least squares of r rows, each over n samples, worked on a few blocks of samples at a time.

    The columns are the centered parts and control variates, times the roots of the samples' weights: control
    variates change the error of the weights, not their meaning, and are no part of the surrogate.
    """

    Z: Any  # (r, d, n)
    center: Any  # (r, d)
    root: Any  # (r, n)
    t: Any  # (r, n) outputs, centered and scaled
    mean: Any  # (r,) of the outputs
    total: Any  # (r,) squares of the outputs around their mean
    design: Design
    intercept: bool  # whether it is fitted
    dead: Bools | None = None  # (r, d) parts that are left out; None: all count
    controls: Floats | None = None  # (1, c, n)
    scaled: Floats | None = None  # (r, d + c, n), all samples at once where they are few
    d: int = field(init=False)  # parts
    n: int = field(init=False)  # samples
    by_size: bool = field(init=False)  # designs are masks whose law knows their size alone
    learns: bool = field(init=False)  # control variates pay: the law of designs is known, and samples are many
    length: int = field(init=False)  # samples of a block: an eighth of all, what was drawn together kept whole
    folds: list[slice] = field(init=False)  # of blocks: what is learned for one comes from the others
    pieces: list[slice] = field(init=False)  # as many blocks as stay in the cache; a device takes them at once

    def __post_init__(self) -> None:
        (_, d, n), design = self.Z.shape, self.design
        sizes, whole = design.sizes, max(design.cluster, design.stretch)
        length, learns = -(-n // (BLOCKS * whole)) * whole, False
        by_size = sizes is not None and self.dead is None and d == len(sizes) - 1
        if self.intercept and not design.exact and 1 < d <= WIDEST and self.dead is None:
            if sizes is None:
                learns = design.center is not None and n >= max(256, FEW * d)
            else:
                varied = n * (1 - sizes.max()) >= LEAST  # masks of one size say nothing of size
                learns = bool(varied) and by_size and n >= max(256, FEWER * d, 4 * design.stretch)
        fold = n if not learns else length if sizes is None else 2 * length
        piece = max(max(AT_ONCE, CACHED // d) // length, 1) * length if isinstance(self.Z, np.ndarray) else n
        cuts = ([slice(a, min(a + size, n)) for a in range(0, n, size)] for size in (fold, piece))
        names = ("d", "n", "by_size", "learns", "length", "folds", "pieces")
        for name, value in zip(names, (d, n, by_size, learns, length, *cuts), strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls,
        Z: Any,
        y: Any,
        w: Any,
        design: Design,
        live: Bools | None = None,
        offset: Callable[[Floats, Floats], float] | None = None,
    ) -> Problem:
        """Of designs Z (r, d, n), outputs y and weights w (r, n), with an intercept unless ``offset`` fixes it."""
        mass, root = w.sum(axis=1), w**0.5
        mean = (w * y).sum(axis=1) / mass
        total = (w * (y - mean[:, None]) ** 2).sum(axis=1)
        if offset is None:
            shift, center = mean, (Z @ w[:, :, None])[:, :, 0] / mass[:, None]
        else:
            shift, center = np.array([offset(*one) for one in zip(y, w, strict=True)]), np.zeros(Z.shape[:2])
        dead = None if live is None or live.all() else ~live
        problem = cls(Z, center, root, root * (y - shift[:, None]), shift, total, design, offset is None, dead)
        few = isinstance(Z, np.ndarray) and Z[0].size <= SMALL
        return replace(problem, scaled=problem._scale(slice(0, Z.shape[2]))) if few else problem

    def columns(self, piece: slice) -> Any:
        """Scaled columns (r, d + c, m) of some samples."""
        return self._scale(piece) if self.scaled is None else self.scaled[:, :, piece]

    def _scale(self, piece: slice) -> Any:
        Z = self.Z[:, :, piece]
        if not isinstance(Z, np.ndarray):
            return self.root[:, None, piece] * (Z - self.center[:, :, None])
        d, extra = self.d, 0 if self.controls is None else self.controls.shape[1]
        A = np.empty((len(Z), d + extra, Z.shape[2]))  # long rows of memory are quicker than short ones
        np.subtract(Z, self.center[:, :, None], out=A[:, :d])
        if self.dead is not None:
            A[:, :d][self.dead] = 0.0
        if self.controls is not None:
            A[:, d:] = self.controls[:, :, piece]
        A *= self.root[:, None, piece]
        return A

    def grams(self) -> Folds:
        """For each fold, the Gram matrices of the columns, and their products with the outputs."""
        found = []
        for fold in self.folds:
            pieces = [slice(max(p.start, fold.start), min(p.stop, fold.stop)) for p in self.pieces]
            grams = []
            for piece in (piece for piece in pieces if piece.start < piece.stop):
                A = self.columns(piece)
                grams.append((A @ A.swapaxes(1, 2), (A @ self.t[:, piece, None])[:, :, 0]))
            found.append(total_of(grams))
        return found

    def solve(self, gram: Any, moment: Any, ridge: float = 0.0) -> Solved:
        """Weights with HC3 errors by clusters, deflated for a net, and residuals of samples left out.

        A sample of a net pulls the fit less than its leverage says, by the same factor by which the error of
        the weights is smaller; that factor compares the sums of blocks with what independent samples give.
        """
        xp = np if isinstance(gram, np.ndarray) else require("torch", extra="torch")
        d, own = self.d, xp.einsum("rii->ri", gram)
        penalty = (0.0 if self.design.exact else TINY) * own  # relative to each part's own spread, however small
        penalty[:, :d] += ridge
        penalty[:, d:] = SHRINK * own[:, d:]
        if self.dead is not None:
            penalty[:, :d][self.dead] = 1.0
        inverse = invert(gram + _diagonal(xp, penalty))
        weights = (inverse @ moment[:, :, None])[:, :, 0]
        known = xp.einsum("rii->ri", inverse)[:, :d] * own[:, :d] < CONFUSED
        plain, pulls, meat, sums = list[Any](), list[Any](), 0.0, list[Floats]()
        for piece in self.pieces:
            A, t = self.columns(piece), self.t[:, piece]
            plain.append(t - (weights[:, None, :d] @ A[:, :d])[:, 0])
            if self.design.exact:
                continue
            parts, every = self._leverages(xp, A, piece, gram, inverse)
            pulls.append(parts.clip(max=MOST_PULL))
            rest = plain[-1] if self.controls is None else t - (weights[:, None] @ A)[:, 0]
            scores = _clustered(xp, A * (rest / (1 - every.clip(max=MOST_PULL)))[:, None], self.design.cluster)
            meat = meat + scores @ scores.swapaxes(1, 2)
            if self.design.net:
                starts = np.arange(0, scores.shape[2], self.length // self.design.cluster)
                sums.append(np.add.reduceat(scores, starts, axis=2))
        rest, variance = xp.concatenate(plain, axis=1), xp.zeros_like(gram[:, :d, :d])
        if not self.design.exact:
            bread = inverse[:, :d]
            variance = bread @ meat @ bread.swapaxes(1, 2)
            steady: Any = 1.0
            if self.design.net:
                blocks = (bread @ np.concatenate(sums, axis=2)).swapaxes(1, 2)
                ratio = steadiness(blocks, np.trace(variance, axis1=1, axis2=2))
                variance, steady = variance * ratio[:, None, None], ratio[:, None]
            if self.controls is not None:
                variance = variance * UNSURE
            rest = rest * (1 + steady * (1 / (1 - xp.concatenate(pulls, axis=1)) - 1))
        return Solved(weights, variance, (rest**2).sum(axis=1), known, self.mean, self.total, self.center)

    def _leverages(self, xp: Any, A: Any, piece: slice, gram: Any, inverse: Any) -> tuple[Any, Any]:
        """How far each sample pulls the surrogate's fit (r, m), and that of all columns.

        Parts of masks pull by the mask's size alone; parts of a net are independent, and have pulls that add up.
        """
        d, own = self.d, xp.einsum("rii->ri", gram)
        weights = self.root[:, piece] ** 2 / (self.root**2).sum(axis=1)[:, None]
        share, Z = weights if self.intercept else 0.0 * weights, A[:, :d]
        if self.by_size and self.intercept:
            assert self.design.sizes is not None
            parts = share + weights * _look_up(
                MaskLaw.of(self.design.sizes).leverage(), self.Z[:, :, piece].sum(axis=1)
            )
        else:
            few = np.full(len(A), True)
            if self.design.net:
                few = self.n < FEW * np.count_nonzero(own, axis=1)
                parts = share + ((1 / np.maximum(own[:, None, :d], 1e-300)) @ (Z * Z))[:, 0]
            if few.any():
                alone = inverse if self.controls is None else invert(gram[:, :d, :d] * (1 + TINY * np.eye(d)))
                exact = share + ((alone @ Z) * Z).sum(axis=1)
                parts = exact if few.all() else np.where(few[:, None], exact, parts)
                if self.controls is not None:
                    return parts, share + ((inverse @ A) * A).sum(axis=1)
        if self.controls is None:
            return parts, parts
        C, ours = A[:, d:], gram[:, d:, d:]  # singular: pairs, and parts times the size, sum to powers of the size
        return parts, parts + ((invert(ours * (1 + SHRINK * np.eye(C.shape[1]))) @ C) * C).sum(axis=1)


def _diagonal(xp: Any, values: Any) -> Any:
    """Diagonal matrices (r, d, d) of values (r, d)."""
    return values[:, :, None] * (np.eye(values.shape[1]) if xp is np else xp.eye(values.shape[1]).to(values))


def _look_up(table: Floats, places: Any) -> Any:
    """Numbers of a table at places, which are whole numbers kept as floats."""
    if isinstance(places, np.ndarray):
        return table[places.astype(np.intp)]
    return require("torch", extra="torch").from_numpy(table).to(places.device)[places.long()]


def _clustered(xp: Any, scores: Any, size: int) -> Any:
    """Sums (r, c, n / size) of this many consecutive samples; the last may be of fewer."""
    if size == 1:
        return scores
    n = scores.shape[2]
    whole = n // size * size
    found = sum(scores[:, :, i:whole:size] for i in range(size))
    if whole == n:
        return found
    return xp.concatenate([found, scores[:, :, whole:].sum(axis=2)[:, :, None]], axis=2)


def steadiness(sums: Floats, variance: Floats) -> Floats:
    """Variance of a net against that of independent samples, at most 1, from the sums (…, b, d) of its blocks.

    ``variance`` (…,) is that of all parts together. With few parts the ratio itself is uncertain, so it is raised
    by its own standard error.
    """
    *shape, n_blocks, d = sums.shape
    freedom = (n_blocks - 1) * d
    if n_blocks < BLOCKS or not freedom:
        return np.ones(shape)
    apart = np.square(sums - sums.mean(axis=-2, keepdims=True)).reshape(*shape, n_blocks * d)
    between = apart.sum(axis=-1) * n_blocks / (n_blocks - 1)
    unsure = 1 + float(np.sqrt(2 / freedom))
    return np.asarray(np.minimum(1.0, unsure * between / np.maximum(variance, 1e-300)))


def total_of(folds: Folds) -> tuple[Any, Any]:
    """Gram matrices and moments of all folds."""
    if len(folds) == 1:
        return folds[0]
    return sum(gram for gram, _ in folds), sum(moment for _, moment in folds)
