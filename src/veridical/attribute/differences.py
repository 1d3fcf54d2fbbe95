"""Shapley values from the differences of complement pairs, and their error.

What is the same for a mask and its complement drops out of the difference, products of two parts among it. What
is left is fitted by the parts, and by products of three of the heaviest; a Shapley value of those is known, and
what they leave over is weighed without bias.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from veridical.attribute.coalitions import Coalitions
from veridical.attribute.least_squares import UNSURE
from veridical.records import Bools, Floats, Ints

MOST = 12  # heaviest parts of which each three may have a term
CROWDED = 2  # pairs a term, at least
SCARCE = 96  # pairs, below which there are no such terms: they would fit too well to show their error
RIDGES = 10.0 ** np.array([-3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0])  # relative to the largest square
TINY = 1e-10
FEW = 4  # pairs of a class, below which its scores are not centered


@dataclass(frozen=True, eq=False)
class Pairs:
    """Masks, and how much more the model says to each than to its complement."""

    coalitions: Coalitions
    taken: Ints  # pairs of each class
    masks: Bools  # (m, d), class by class
    differences: Floats  # (m,)


@dataclass(frozen=True, eq=False)
class Slopes:
    """Shapley values but for a number that all parts share: what is missing to the whole is split evenly."""

    values: Floats  # (d,)
    covariance: Floats  # (d, d)
    weights: Floats  # (m,) of the pairs
    degrees: float  # of freedom
    pull: Floats  # (m,) of each pair on its own fit; 0 if its class was taken whole


@dataclass(frozen=True, eq=False)
class Terms:
    """What is fitted beside the parts: its Shapley values (d,), its scaled values and pulls (m,)."""

    shapley: Floats
    values: Floats
    pull: Floats


@dataclass(frozen=True, eq=False)
class Squares:
    """Least squares of differences on the parts, each 1 if kept and -1 if not; rows are scaled by weight."""

    A: Floats  # (m, d)
    t: Floats  # (m,)
    root: Floats  # (m,)
    inverse: Floats  # (d, d) of the Gram matrix

    @classmethod
    def of(cls, pairs: Pairs, weights: Floats) -> Squares:
        root = np.sqrt(weights)
        A = np.where(pairs.masks, 1.0, -1.0) * root[:, None]
        inverse = np.linalg.inv(A.T @ A + TINY * np.eye(A.shape[1]))
        return cls(A, pairs.differences * root, root, np.asarray(inverse, np.float64))

    def fit(self, t: Floats) -> Floats:
        """Coefficients of the parts, for one column or several."""
        return np.asarray(self.inverse @ (self.A.T @ t))

    @property
    def pull(self) -> Floats:
        """How far each row pulls its own fit, (m,)."""
        return np.asarray(np.einsum("ij,ij->i", self.A @ self.inverse, self.A))


def slopes(pairs: Pairs) -> Slopes:
    """What the pairs say of all parts, and how far it may be off."""
    weights, missed = pairs.coalitions.weigh(pairs.taken)
    squares = Squares.of(pairs, weights)
    terms = _triples(squares) if missed.any() else _nothing(squares)
    rest = squares.t - terms.values
    own = squares.fit(rest)
    left = (rest - squares.A @ own) * squares.root
    centered = pairs.masks - pairs.masks.mean(axis=1, keepdims=True)
    values = own + terms.shapley + pairs.coalitions.unbiased * (left @ centered)
    plain = np.minimum(squares.pull, 0.99)
    pull, sampled = np.minimum(plain + terms.pull, 0.99), missed > 0
    scores = (squares.A @ squares.inverse) * (left / squares.root / (1 - pull))[:, None]
    covariance = _spread(scores, missed, pairs.taken) * (UNSURE if terms.pull.any() else 1.0)
    degrees = max(float(np.sum((1 - pull)[sampled])), 1.0)
    return Slopes(values, covariance, weights, degrees, np.where(sampled, plain, 0.0))


def _triples(squares: Squares) -> Terms:
    """Products of three of the heaviest parts, shrunk as far as the errors of pairs that are left out say.

    A product of three has a third of its coefficient as Shapley value of each of them.
    """
    m, d = squares.A.shape
    heaviest = max((k for k in range(3, MOST + 1) if CROWDED * math.comb(k, 3) <= m), default=3)
    if d < 4 or m < SCARCE:
        return _nothing(squares)
    plain = squares.fit(squares.t)
    heavy = np.argsort(-np.abs(plain), kind="stable")[:heaviest]
    which = np.array(list(combinations(heavy, 3)))
    columns = squares.A[:, which].prod(axis=2) / squares.root[:, None] ** 2
    apart, left = columns - squares.A @ squares.fit(columns), squares.t - squares.A @ plain
    squared, V = np.linalg.eigh(apart.T @ apart)
    s = np.sqrt(np.maximum(squared, TINY * squared[-1] + 1e-300))
    U = (apart @ V) / s
    along, own = U.T @ left, squares.pull
    errors, found = [_left_out(left, own)], [np.zeros(len(s))]
    for ridge in RIDGES:
        kept = s**2 / (s**2 + ridge * s[-1] ** 2)
        errors.append(_left_out(left - U @ (kept * along), own + U**2 @ kept))
        found.append(kept)
    kept = found[int(np.argmin(errors))]
    weights, shapley = V @ (kept / s * along), np.zeros(d)
    np.add.at(shapley, which, np.repeat(weights[:, None] / 3, 3, axis=1))
    return Terms(shapley, columns @ weights, U**2 @ kept)


def _nothing(squares: Squares) -> Terms:
    m, d = squares.A.shape
    return Terms(np.zeros(d), np.zeros(m), np.zeros(m))


def _left_out(rest: Floats, pull: Floats) -> float:
    """Mean squared error of pairs that are left out of the fit."""
    return float(np.mean((rest / (1 - np.minimum(pull, 0.99))) ** 2))


def _spread(scores: Floats, missed: Floats, taken: Ints) -> Floats:
    """Covariance of a sum of scores, class by class; what was taken whole has no error."""
    rows = np.sqrt(missed)[:, None] * scores
    for start, stop in pairwise(np.append(0, np.cumsum(taken)).tolist()):
        n, own = stop - start, rows[start:stop]
        if n >= FEW:
            rows[start:stop] = (own - own.mean(axis=0)) * np.sqrt(n / (n - 1))
    return np.asarray(rows.T @ rows)
