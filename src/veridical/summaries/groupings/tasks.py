"""What grouping methods work with: a task and its neighbors, linear models, and sparse regressions on neighbors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse, vstack

from veridical.models.outputs import Model
from veridical.models.targets import Target
from veridical.protocols import Kernel, Seed
from veridical.records import Bools, Floats
from veridical.representations.spaces import Matrix, Space
from veridical.seeds import child_of, generator

Indices = npt.NDArray[np.intp]


def dense(matrix: Matrix) -> Floats:
    """All entries as an array."""
    return np.asarray(matrix.toarray() if issparse(matrix) else matrix, dtype=np.float64)


def square(matrix: Matrix) -> Matrix:
    """The square of each entry."""
    return matrix.multiply(matrix).tocsr() if issparse(matrix) else np.square(matrix)


@dataclass(frozen=True, eq=False)
class Neighbors:
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

    def losses(self, models: LinearModels) -> Floats:
        """Mean squared error of each linear model around each instance, (n, k)."""
        n, p = self.values.shape
        errors = np.square(models(self.designs) - self.values.reshape(-1, 1)).reshape(n, p, -1)
        return np.asarray((errors * self.weights[:, :, None]).sum(axis=1) / self.weights.sum(axis=1)[:, None])


@dataclass(frozen=True, eq=False)
class LinearModels:
    """K linear models of the features."""

    weights: Floats  # (k, d)
    intercepts: Floats  # (k,)

    def __call__(self, designs: Matrix) -> Floats:
        """What each model says of each design, (n, k)."""
        used = np.flatnonzero(self.weights.any(axis=0))
        if len(used) < self.weights.shape[1] // 2 or issparse(designs):
            return np.asarray(designs[:, used] @ self.weights[:, used].T) + self.intercepts
        return np.asarray(designs @ self.weights.T) + self.intercepts


def stack_rows(blocks: Sequence[Matrix]) -> Matrix:
    """The rows of all blocks, one block below the other."""
    return vstack(blocks).tocsr() if issparse(blocks[0]) else np.concatenate(blocks)


def stack_neighbors(pieces: Sequence[Neighbors]) -> Neighbors:
    """The instances of all pieces, which have as many neighbors each."""
    return Neighbors(*(stack_rows([getattr(near, each.name) for near in pieces]) for each in fields(Neighbors)))


def mean_loss(losses: Floats, assigned: Any, shares: Floats) -> float:
    """Mean loss of the models that were chosen."""
    return float(np.average(losses[np.arange(len(losses)), assigned], weights=shares))


class Gate(Protocol):
    """Which group an instance belongs to, from its features alone."""

    def __call__(self, rows: Matrix) -> Floats:
        """Probabilities (n, k)."""
        ...

    def reasons(self, row: Matrix, group: int) -> Floats:
        """How much each feature of one row (1, d) speaks for the group, against the others: (d,)."""
        ...


@dataclass(frozen=True, eq=False)
class GroupingResult:
    """K explanations, and the gate that chooses among them."""

    models: LinearModels
    gate: Gate


@dataclass(frozen=True, eq=False)
class GroupingTask:
    """Instances to group. A method draws the neighbors that it needs; the calls of the model are counted."""

    model: Model
    target: Target
    space: Space
    points: Any  # the instances, as the space reads them
    held: Any  # instances that were held out, read the same way
    k: int
    n_features: int
    seed: Seed
    calls: list[int] = field(default_factory=list)

    def neighbors(self, n: int, *, kernel: Kernel | None = None, draw: int = 0) -> Neighbors:
        """n neighbors of every instance; another number ``draw`` gives others."""
        return self._draw(self.points, n, kernel, child_of(self.seed, 0, draw))

    def held_neighbors(self, n: int, *, draw: int = 0) -> Neighbors:
        """n neighbors of every instance that was held out."""
        return self._draw(self.held, n, None, child_of(self.seed, 1, draw))

    def new_neighbors(self, count: int, n: int, *, draw: int = 0, held: bool = False) -> Neighbors | None:
        """n neighbors of about ``count`` new instances between the instances; None where nothing lies there."""
        points = self.held if held else self.points
        some = self.space.between(points, -(-count // len(points)), child_of(self.seed, 2, draw))
        if some is None:
            return None
        at = np.arange(count)
        if count < len(points):  # all parts of a sorted table, not its top
            at = np.sort(generator(child_of(self.seed, 4, draw)).permutation(len(points))[:count])
        return self._draw(some[at], n, None, child_of(self.seed, 3, draw))

    def _draw(self, points: Any, n: int, kernel: Kernel | None, seed: Seed) -> Neighbors:
        designs, values, weights = list[Matrix](), list[Floats](), list[Floats]()
        for drawn in self.space.near(points, n, kernel, seed):
            outputs = self.model(drawn.inputs, first=sum(self.calls))
            self.calls.append(len(outputs))
            designs.append(drawn.designs)
            values.append(self.target.read(outputs).reshape(drawn.weights.shape))
            weights.append(drawn.weights)
        rows, shares = self.space.rows(points), np.ones(len(points))
        return Neighbors(rows, stack_rows(designs), stack_rows(values), stack_rows(weights), shares)


class Groups(Protocol):
    """A grouping method: frozen settings that are called with a task."""

    def __call__(self, task: GroupingTask) -> GroupingResult: ...


MAX_DENSE = 300  # features up to which all moments are computed; beyond, those of the most promising ones
MAX_PACKED = 2**25  # numbers that moments of every instance may take
MAX_SWAPPED = 10  # features up to which each chosen one is weighed against all others
MIN_SHARE = 1e-3  # share of the largest weight below which a neighbor does not count
MIN_SPREAD = 1e-6  # share of a feature's spread that the others must leave of it


@dataclass(frozen=True, eq=False)
class Regressions:
    """Weighted least squares on the neighbors, with at most so many features in each model.

    ``ridge`` is relative to the sum of weights.
    """

    near: Neighbors
    ridge: float = 1e-3
    packed: Floats | None = None  # (n, m) upper half of the moments of each instance's neighbors, if they are few

    @classmethod
    def of(cls, near: Neighbors, ridge: float = 1e-3) -> Regressions:
        """Moments that are worked out once, where memory allows."""
        e = near.designs.shape[1] + 2
        few = not issparse(near.designs) and len(near) * e * (e + 1) // 2 <= MAX_PACKED
        return cls(near, ridge, _pack_moments(near) if few else None)

    def fit(self, shares: Floats, n_features: int) -> LinearModels:
        """One model per column of shares (n, k), which say how much each instance counts for it."""
        k, d = shares.shape[1], self.near.designs.shape[1]
        weights, intercepts = np.zeros((k, d)), np.zeros(k)
        sums = None if self.packed is None else shares.T @ self.packed
        for g in range(k):
            if sums is not None:
                columns, M = np.arange(d), _unpack_moments(sums[g], d + 2)
            else:
                columns, M = self._moments(shares[:, g])
            weights[g, columns], intercepts[g] = solve_sparse(M, n_features, self.ridge)
        return LinearModels(weights, intercepts)

    def _moments(self, shares: Floats) -> tuple[Indices, Floats]:
        """The moments of one model, and of which features; neighbors that hardly count are left out."""
        near = self.near
        w = np.repeat(shares, near.values.shape[1]) * near.flat_weights
        live = np.flatnonzero(w > MIN_SHARE * w.max())
        designs, w, y = near.designs[live], w[live], near.values.ravel()[live]
        return compute_promising_moments(designs, w, y)


def _pack_moments(near: Neighbors) -> Floats:
    n, p = near.values.shape
    A = np.column_stack([near.designs, np.ones(n * p), near.values.ravel()]) * np.sqrt(near.flat_weights)[:, None]
    A = A.reshape(n, p, -1)
    rows, columns = np.triu_indices(A.shape[2])
    found = np.empty((n, len(rows)))
    for i in range(0, n, 256):
        some = A[i : i + 256]
        found[i : i + 256] = np.einsum("npi,npj->nij", some, some)[:, rows, columns]
    return found


def _unpack_moments(half: Floats, e: int) -> Floats:
    """Moments of weights that sum to one."""
    M = np.zeros((e, e))
    rows, columns = np.triu_indices(e)
    M[rows, columns] = M[columns, rows] = half
    M /= max(float(M[e - 2, e - 2]), 1e-300)
    M[e - 2, e - 2] = 1.0  # also where nothing counts
    return M


def compute_moments(designs: Matrix, w: Floats, y: Floats) -> Floats:
    """Weighted second moments of the features, 1 and y, (d + 2, d + 2), of weights that sum to one."""
    d = designs.shape[1]
    w = w / w.sum()
    M = np.empty((d + 2, d + 2))
    if issparse(designs):
        scaled = designs.multiply(w[:, None]).tocsr()
        M[:d, :d] = (designs.T @ scaled).toarray()
        M[:d, d], M[:d, d + 1] = np.asarray(scaled.sum(axis=0)).ravel(), scaled.T @ y
    else:
        scaled = designs * w[:, None]
        M[:d, :d] = designs.T @ scaled
        M[:d, d], M[:d, d + 1] = scaled.sum(axis=0), scaled.T @ y
    M[d:, :d] = M[:d, d:].T
    M[d, d], M[d, d + 1], M[d + 1, d + 1] = 1.0, w @ y, w @ np.square(y)
    M[d + 1, d] = M[d, d + 1]
    return M


def compute_promising_moments(
    designs: Matrix, w: Floats, y: Floats, most: int = MAX_DENSE
) -> tuple[Indices, Floats]:
    """The most promising features, and their moments."""
    columns = select_promising(designs, w, y, most)
    return columns, compute_moments(designs if len(columns) == designs.shape[1] else designs[:, columns], w, y)


def select_promising(designs: Matrix, w: Floats, y: Floats, n: int) -> Indices:
    """The n features that go best with y, one at a time; all of them where there are no more."""
    if designs.shape[1] <= n:
        return np.arange(designs.shape[1])
    w = w / w.sum()
    mean = np.asarray(designs.T @ w).ravel()
    variance = np.asarray(square(designs).T @ w).ravel() - mean**2
    covariance = np.asarray(designs.T @ (w * (y - w @ y))).ravel()
    score = np.where(variance > 1e-12, covariance**2 / np.maximum(variance, 1e-12), 0.0)
    return np.sort(np.argsort(-score, kind="stable")[:n])


def solve_sparse(M: Floats, n_features: int, ridge: float) -> tuple[Floats, float]:
    """Forward selection by sweeping, then each chosen feature against all others."""
    d = len(M) - 2
    spread = np.diag(M)[:d] - M[:d, d] ** 2
    swept = M.copy()
    swept[np.arange(d), np.arange(d)] += ridge
    sweep(swept, d)
    least = ridge + MIN_SPREAD * np.maximum(spread, 0) + 1e-12  # what never varies has the ridge alone
    chosen: list[int] = []
    for _ in range(min(n_features, d)):
        best = _find_best(swept, chosen, least)
        if best is None:
            break
        sweep(swept, best)
        chosen.append(best)
    if len(chosen) < d and n_features <= MAX_SWAPPED:
        _exchange(swept, chosen, least)
    beta = np.zeros(d)
    beta[chosen] = swept[chosen, d + 1]
    return beta, float(swept[d, d + 1])


def _exchange(swept: Floats, chosen: list[int], least: Floats, passes: int = 2) -> None:
    """Let each chosen feature go, and take the best one instead."""
    for _ in range(passes):
        changed = False
        for old in list(chosen):
            unsweep(swept, old)
            chosen.remove(old)
            best = _find_best(swept, chosen, least, favorite=old)
            new = old if best is None else best
            sweep(swept, new)
            chosen.append(new)
            changed |= new != old
        if not changed:
            return


def _find_best(swept: Floats, chosen: list[int], least: Floats, favorite: int | None = None) -> int | None:
    """The feature that lowers the error most; a tie goes to the favorite, then to the first."""
    d = len(swept) - 2
    left = np.diag(swept)[:d]
    usable: Bools = left > least
    usable[chosen] = False
    gain = np.where(usable, swept[:d, d + 1] ** 2 / np.where(usable, left, 1.0), -1.0)
    best = int(np.argmax(gain))
    if gain[best] <= 0:
        return None
    if favorite is not None and gain[favorite] * (1 + 1e-6) >= gain[best]:
        return favorite
    return best


def sweep(M: Floats, j: int) -> None:
    """Take variable j into the regression, in place."""
    pivot, row = M[j, j], M[j].copy()
    M -= np.outer(row, row / pivot)
    M[j] = M[:, j] = row / pivot
    M[j, j] = -1 / pivot


def unsweep(M: Floats, j: int) -> None:
    """Take variable j out of the regression again, in place."""
    pivot, row = M[j, j], M[j].copy()
    M -= np.outer(row, row / pivot)
    M[j] = M[:, j] = -row / pivot
    M[j, j] = -1 / pivot


def batch_errors(M: Floats, n_features: int, least: Any) -> Floats:
    """Errors that forward selection leaves of many moments (b, d + 2, d + 2) at once: (b,)."""
    M = M.copy()
    b, d = len(M), M.shape[1] - 2
    each, features = np.arange(b), np.arange(d)
    mass = np.maximum(M[:, d, d], 1e-300)
    M -= M[:, :, d, None] * (M[:, d, None, :] / mass[:, None, None])
    used = np.zeros((b, d), bool)
    for _ in range(min(n_features, d)):
        left = M[:, features, features]
        usable = (left > least) & ~used
        gain = np.where(usable, M[:, :d, d + 1] ** 2 / np.where(usable, left, 1.0), -1.0)
        best = gain.argmax(axis=1)
        good = gain[each, best] > 0
        column = M[each, :, best]
        pivot = np.where(good, M[each, best, best], 1.0)
        M -= (good / pivot)[:, None, None] * column[:, :, None] * column[:, None, :]
        used[each, best] = True
    return np.maximum(M[:, d + 1, d + 1], 0.0)
