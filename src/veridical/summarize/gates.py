"""Gates: which group an instance belongs to, from its features alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import diags, issparse

from veridical.records import Floats
from veridical.summarize.near import Matrix


def softmax(scores: Floats, axis: int = 1) -> Floats:
    """Scores as probabilities along an axis."""
    odds = np.exp(scores - scores.max(axis=axis, keepdims=True))
    odds /= odds.sum(axis=axis, keepdims=True)
    return odds


def _dense(rows: Matrix) -> Floats:
    return np.asarray(rows.toarray() if issparse(rows) else rows)


def lengths(rows: Matrix) -> Floats:
    """Euclidean length of each row, (n,)."""
    square = rows.multiply(rows) if issparse(rows) else np.square(rows)
    return np.sqrt(np.asarray(square.sum(axis=1)).ravel())


def unit(rows: Matrix) -> Matrix:
    """Rows of length one; a row of zeros stays what it is."""
    size = lengths(rows)
    inverse = 1 / np.where(size > 0, size, 1.0)
    return (diags(inverse) @ rows).tocsr() if issparse(rows) else rows * inverse[:, None]


@dataclass(frozen=True, eq=False)
class Softmax:
    """Groups by linear scores; ``unit`` looks at the direction of a row alone, as GIME does.

    A row of zeros has no direction: only the offsets speak there.
    """

    slopes: Floats  # (k, d)
    offsets: Floats  # (k,)
    unit: bool = False

    def view(self, rows: Matrix) -> Matrix:
        """Rows as the scores see them."""
        return unit(rows) * np.sqrt(rows.shape[1]) if self.unit else rows

    def scores(self, rows: Matrix) -> Floats:
        used = np.flatnonzero(self.slopes.any(axis=0))
        seen = self.view(rows)
        return np.asarray(seen[:, used] @ self.slopes[:, used].T) + self.offsets

    def __call__(self, rows: Matrix) -> Floats:
        """Probabilities (n, k)."""
        return softmax(self.scores(rows))

    def reasons(self, row: Matrix, group: int) -> Floats:
        """Score that each feature gives the group, beyond what it gives the groups on average."""
        return _dense(self.view(row))[0] * (self.slopes[group] - self.slopes.mean(axis=0))


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
        return softmax(self.concentration * np.asarray(unit(rows) @ self._unit().T))

    def reasons(self, row: Matrix, group: int) -> Floats:
        """Score that each feature gives the group, beyond what it gives the groups on average."""
        means = self._unit()
        return self.concentration * _dense(unit(row))[0] * (means[group] - means.mean(axis=0))


@dataclass(frozen=True, eq=False)
class Leaves:
    """Groups as the leaves of a tree: inner node i asks whether feature j is at most a threshold."""

    feature: Any  # (nodes,) ints; -1 at a leaf
    threshold: Floats  # (nodes,)
    children: Any  # (nodes, 2) ints: yes, no; at a leaf, the group twice
    k: int

    def assigned(self, rows: Matrix) -> Any:
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
        return np.eye(self.k)[self.assigned(rows)]

    def reasons(self, row: Matrix, group: int) -> Floats:
        """One for every feature that the way to the leaf asks about."""
        told, at = np.zeros(row.shape[1]), 0
        while self.feature[at] >= 0:
            told[self.feature[at]] = 1.0
            at = int(self.children[at, int(row[0, self.feature[at]] > self.threshold[at])])
        return told
