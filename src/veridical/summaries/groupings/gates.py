"""Gates: which group an instance belongs to, from its features alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special
from scipy.sparse import diags, issparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from veridical.records import Bools, Floats
from veridical.representations.spaces import Matrix
from veridical.summaries.groupings.tasks import dense, square

MIN_LENGTH = 1e-9  # below which a row has no direction


def softmax(scores: Floats, axis: int = 1) -> Floats:
    """Scores as probabilities along an axis."""
    return np.asarray(scipy.special.softmax(scores, axis=axis))


def row_norms(rows: Matrix) -> Floats:
    """Euclidean length of each row, (n,)."""
    return np.asarray(np.sqrt(np.asarray(square(rows).sum(axis=1)).ravel()))


def normalize_rows(rows: Matrix) -> Matrix:
    """Rows of length one; a row of zeros, up to rounding, stays what it is."""
    size = row_norms(rows)
    inverse = 1 / np.where(size > MIN_LENGTH, size, 1.0)
    return (diags(inverse) @ rows).tocsr() if issparse(rows) else rows * inverse[:, None]


def mask_largest(slopes: Floats, n: int) -> Bools:
    """The n largest entries of each row."""
    mask = np.zeros(slopes.shape, bool)
    np.put_along_axis(mask, np.argsort(-np.abs(slopes), axis=1, kind="stable")[:, :n], True, axis=1)
    return mask


def cluster_rows(rows: Matrix, k: int, rng: np.random.Generator, n_init: int = 10) -> Any:
    """The cluster of each row by k-means, (n,): numbers from zero, none of them empty."""
    means = KMeans(min(k, rows.shape[0]), n_init=n_init, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # different rows may be fewer than clusters
        labels = means.fit_predict(rows)
    return np.unique(labels, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Softmax:
    """Groups by linear scores of the features, or of the direction alone, as GIME does: rows made ``length`` long.

    A row of zeros has no direction: only the offsets speak there.
    """

    slopes: Floats  # (k, d)
    offsets: Floats  # (k,)
    length: float | None = None

    def view(self, rows: Matrix) -> Matrix:
        """Rows as the scores see them."""
        return rows if self.length is None else normalize_rows(rows) * self.length

    def __call__(self, rows: Matrix) -> Floats:
        """Probabilities (n, k)."""
        used = np.flatnonzero(self.slopes.any(axis=0))
        return softmax(np.asarray(self.view(rows)[:, used] @ self.slopes[:, used].T) + self.offsets)

    def reasons(self, row: Matrix, group: int) -> Floats:
        """Score that each feature gives the group, beyond what it gives the groups on average."""
        return np.asarray(dense(self.view(row))[0] * (self.slopes[group] - self.slopes.mean(axis=0)))


@dataclass(frozen=True, eq=False)
class Sphere:
    """GIME's regions: von Mises-Fisher distributions with one concentration; all equally likely at zero."""

    directions: Floats  # (k, d), of any length
    concentration: float

    def _unit(self) -> Floats:
        size = np.linalg.norm(self.directions, axis=1, keepdims=True)
        return np.asarray(self.directions / np.where(size > 0, size, 1.0))

    def __call__(self, rows: Matrix) -> Floats:
        """Probabilities (n, k)."""
        return softmax(self.concentration * np.asarray(normalize_rows(rows) @ self._unit().T))

    def reasons(self, row: Matrix, group: int) -> Floats:
        """Score that each feature gives the group, beyond what it gives the groups on average."""
        means = self._unit()
        return np.asarray(self.concentration * dense(normalize_rows(row))[0] * (means[group] - means.mean(axis=0)))


@dataclass(frozen=True, eq=False)
class TreeGate:
    """Groups as the leaves of a tree: inner node i asks whether feature j is at most a threshold."""

    feature: Any  # (nodes,) ints; -1 at a leaf
    threshold: Floats  # (nodes,)
    children: Any  # (nodes, 2) ints: yes, no; at a leaf, the group twice
    k: int

    def assign(self, rows: Matrix) -> Any:
        """The leaf of each row, (n,)."""
        at = np.zeros(rows.shape[0], int)
        for _ in range(len(self.feature)):
            inner = np.flatnonzero(self.feature[at] >= 0)
            if not len(inner):
                break
            node = at[inner]
            value = np.asarray(rows[inner, self.feature[node]]).ravel()
            at[inner] = self.children[node, (value > self.threshold[node]).astype(int)]
        return self.children[at, 0]

    def __call__(self, rows: Matrix) -> Floats:
        """One for the group of the leaf, zero for the others."""
        return np.asarray(np.eye(self.k)[self.assign(rows)])

    def reasons(self, row: Matrix, group: int) -> Floats:
        """One for every feature that the way to the leaf asks about."""
        reasons, at = np.zeros(row.shape[1]), 0
        while self.feature[at] >= 0:
            reasons[self.feature[at]] = 1.0
            at = int(self.children[at, int(row[0, self.feature[at]] > self.threshold[at])])
        return reasons


@dataclass(frozen=True, eq=False)
class Centers:
    """The nearer a center, the likelier its group: softmax of minus the distances.

    ``unit`` looks at the direction of a row alone.
    """

    centers: Floats  # (k, d)
    unit: bool = False

    def __call__(self, rows: Matrix) -> Floats:
        """Probabilities (n, k)."""
        return softmax(-euclidean_distances(normalize_rows(rows) if self.unit else rows, self.centers))

    def reasons(self, row: Matrix, group: int) -> Floats:
        """How much nearer each feature is, in squares, to the group's center than to the centers on average."""
        apart = np.square(dense(normalize_rows(row) if self.unit else row) - self.centers)
        return np.asarray(apart.mean(axis=0) - apart[group])


@dataclass(frozen=True, eq=False)
class Overlap:
    """The more features both a row and an explanation have, the likelier its group (LIME's choice for texts)."""

    weights: Floats  # (k, d) of the explanations

    def __call__(self, rows: Matrix) -> Floats:
        """Probabilities (n, k)."""
        used = np.flatnonzero(self.weights.any(axis=0))
        has = (rows[:, used] != 0).astype(np.float64)
        return softmax(np.asarray(has @ (self.weights[:, used] != 0).T.astype(np.float64)))

    def reasons(self, row: Matrix, group: int) -> Floats:
        """One for a feature that the group and the row have, less the share of groups that have it."""
        has = self.weights != 0
        return np.asarray((dense(row)[0] != 0) * (has[group] - has.mean(axis=0)))


@dataclass(frozen=True, eq=False)
class Size:
    """The more an explanation makes of a row, |weights · row|, the likelier its group."""

    weights: Floats  # (k, d) of the explanations

    def __call__(self, rows: Matrix) -> Floats:
        """Probabilities (n, k)."""
        used = np.flatnonzero(self.weights.any(axis=0))
        return softmax(np.sqrt(np.asarray(square(rows[:, used]) @ np.square(self.weights[:, used]).T)))

    def reasons(self, row: Matrix, group: int) -> Floats:
        """Square that each feature adds to the group's size, beyond what it adds on average."""
        squares = np.square(self.weights)
        return np.asarray(np.square(dense(row)[0]) * (squares[group] - squares.mean(axis=0)))


@dataclass(frozen=True, eq=False)
class Nearest:
    """The group of the nearest known row; ``unit`` looks at the direction of rows alone."""

    rows: Matrix  # (m, d)
    groups: Any  # (m,) ints
    k: int
    unit: bool = False

    def _view(self, rows: Matrix) -> Matrix:
        return normalize_rows(rows) if self.unit else rows

    def __call__(self, rows: Matrix) -> Floats:
        """One for the group, zero for the others."""
        near = NearestNeighbors(n_neighbors=1).fit(self._view(self.rows))
        found = self.groups[near.kneighbors(self._view(rows), return_distance=False)[:, 0]]
        return np.asarray(np.eye(self.k)[found])

    def reasons(self, row: Matrix, group: int) -> Floats:
        """How much nearer each feature is, in squares, to the nearest of the group than to the nearest other."""
        row, rows = self._view(row), self._view(self.rows)
        apart = euclidean_distances(row, rows)[0]
        own = self.groups == group
        if own.all():
            return np.zeros(row.shape[1])
        at, other = (int(np.argmin(np.where(side, apart, np.inf))) for side in (own, ~own))
        squares = np.square(dense(row) - dense(rows[[at, other]]))
        return np.asarray(squares[1] - squares[0])
