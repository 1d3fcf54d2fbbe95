"""Weighted least squares over samples: its Gram matrix, its solution, and the error of that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from veridical.attribute.moments import MaskLaw
from veridical.records import Bools, Design, Floats

Folds: TypeAlias = list[tuple[Floats, Floats]]  # of each fold, the Gram matrix and its product with the outputs

LEAST = 5.0  # a part must change, and stay, in about this many samples before it gets a weight
UNSURE = 1.2  # what control variates whose direction was estimated add to the variance
BLOCKS = 8
AT_ONCE = 1024  # rows
FEW = 16  # samples a column, below which leverages are worked out exactly
FEWER = 4  # samples a part, below which masks get no control variates
SMALL = 2**18  # numbers of a problem whose rows are kept at hand
WIDEST = 1024  # parts, above which nothing is learned: its folds would fill the memory
CONFUSED = 1e7  # times by which the variance of a weight grows, from which on others are as good a reason
SHRINK = 0.02  # ridge of control variates, relative to their own size


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
        """Blocks, of masks two by two: what is learned for one fold comes from the others; one if nothing is."""
        size = len(self.t) if not self.learns else self.length if self.design.sizes is None else 2 * self.length
        return [slice(a, min(a + size, len(self.t))) for a in range(0, len(self.t), size)]

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
        net = self.design.net
        steady = float(steadiness(np.array(sums) @ bread.T, np.trace(covariance))) if net else 1.0
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
            own = inverse if self.controls is None else np.linalg.inv(gram[:d, :d] + tiny(gram[:d, :d]))
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


def tiny(gram: Floats) -> Floats:
    """A ridge that matters to nothing but a matrix that cannot be inverted."""
    return np.diag(1e-10 * np.diag(gram))


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


def total_of(folds: Folds) -> tuple[Floats, Floats]:
    """Gram matrix and moment of all folds."""
    if len(folds) == 1:
        return folds[0]
    return np.sum([g for g, _ in folds], axis=0), np.sum([m for _, m in folds], axis=0)
