"""What groups are learned from: instances in features they share, their neighbors, and the model's answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

from veridical.records import Floats
from veridical.represent.space import Matrix as Matrix


def is_sparse(matrix: Matrix) -> bool:
    """Whether most entries are zero and not stored."""
    return bool(issparse(matrix))


def dense(matrix: Matrix) -> Floats:
    """All entries as an array."""
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Near:
    """Instances, each with p neighbors."""

    rows: Matrix  # (n, d)
    designs: Matrix  # (n * p, d): the neighbors of the first instance, then of the second, …
    values: Floats  # (n, p) what the model says of them
    weights: Floats  # (n, p) proximity
    shares: Floats  # (n,) how much each instance counts

    def __len__(self) -> int:
        return len(self.values)

    @property
    def flat_weights(self) -> Floats:
        """What each neighbor counts, (n * p,): those of an instance add up to its share."""
        each = self.weights * (self.shares / self.weights.sum(axis=1))[:, None]
        return np.asarray(each.ravel())

    def losses(self, lines: Lines) -> Floats:
        """Mean squared error of each linear model around each instance, (n, k)."""
        n, p = self.values.shape
        errors = np.square(lines(self.designs) - self.values.reshape(-1, 1)).reshape(n, p, -1)
        return np.asarray((errors * self.weights[:, :, None]).sum(axis=1) / self.weights.sum(axis=1)[:, None])


@dataclass(frozen=True, eq=False)
class Lines:
    """K linear models of the features."""

    weights: Floats  # (k, d)
    intercepts: Floats  # (k,)

    def __call__(self, designs: Matrix) -> Floats:
        """What each model says of each design, (n, k)."""
        used = np.flatnonzero(self.weights.any(axis=0))
        if len(used) < self.weights.shape[1] // 2 or is_sparse(designs):
            return np.asarray(designs[:, used] @ self.weights[:, used].T) + self.intercepts
        return np.asarray(designs @ self.weights.T) + self.intercepts


def stacked(pieces: Sequence[Near]) -> Near:
    """The instances of all pieces, which have as many neighbors each."""

    def all_of(blocks: Sequence[Matrix]) -> Matrix:
        return vstack(blocks).tocsr() if is_sparse(blocks[0]) else np.concatenate(blocks)

    return Near(
        all_of([near.rows for near in pieces]),
        all_of([near.designs for near in pieces]),
        np.concatenate([near.values for near in pieces]),
        np.concatenate([near.weights for near in pieces]),
        np.concatenate([near.shares for near in pieces]),
    )


def error_of(losses: Floats, assigned: Any, shares: Floats) -> float:
    """Mean loss of the models that were chosen."""
    return float(np.average(losses[np.arange(len(losses)), assigned], weights=shares))
