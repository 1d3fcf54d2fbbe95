"""Explanations of single instances in features that all share: what groups of explanations are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from veridical.errors import InputError, check_positive, check_whole
from veridical.masks import generator
from veridical.records import Floats
from veridical.summarize.gates import Centers, Overlap, Size, unit
from veridical.summarize.near import Lines, Matrix, Near, error_of, is_sparse
from veridical.summarize.regress import DENSE, moments, promising, solve_sparse
from veridical.summarize.task import Gate, Task

MASKS = 50  # samples of a text's own words that its explanation is fitted on
FEWEST = 10  # instances of a table that an explanation looks at, at least
FEW = 3  # neighbors of each of these that it is fitted on
HELD = 10  # neighbors of held-out instances, by which gates are chosen
RIDGE = 1e-3  # relative to the spread of the features

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Local:
    """An explanation each of some instances."""

    near: Near  # the instances
    weights: csr_matrix  # (n, d)
    intercepts: Floats  # (n,)

    def lines(self, chosen: Indices) -> Lines:
        """The explanations of some, as they are."""
        return Lines(self.weights[chosen].toarray(), self.intercepts[chosen])


@dataclass(frozen=True)
class Around:
    """A sparse linear model around every instance, or around a sample where there are more than ``n_instances``.

    In a table it is fitted on the neighbors of the nearest instances, a share of all (``reach``), and these count
    the less the farther they are: neighbors of one instance alone lie so close that they say little of any other.
    A text's is fitted on samples of its own words, at least 50.
    """

    n_neighbors: int = 10
    reach: float = 0.5
    n_instances: int = 2000

    def __post_init__(self) -> None:
        check_whole("n_neighbors", self.n_neighbors)
        check_whole("n_instances", self.n_instances)
        check_positive("reach", self.reach)

    def __call__(self, task: Task, n_features: int) -> Local:
        task = sampled(task, self.n_instances)
        if is_sparse(task.space.rows(task.points[:1])):
            near = task.near(max(self.n_neighbors, MASKS))
            return collected(near, [_own(near, i, n_features) for i in range(len(near))])
        near = task.near(self.n_neighbors)
        few = thinned(near, FEW)
        m = min(len(near), max(int(np.ceil(self.reach * len(near))), FEWEST))
        apart, members = NearestNeighbors(n_neighbors=m).fit(near.rows).kneighbors(near.rows)
        shares = np.exp(-2 * np.square(apart / np.maximum(apart[:, -1:], 1e-12)))
        return collected(near, [around(few, members[i], shares[i], n_features) for i in range(len(near))])


def check_local(local: Any) -> None:
    """Refuse what does not explain single instances in shared features."""
    if not isinstance(local, Around):
        raise InputError(f"local wants settings such as vd.Around(reach=0.3), not {local!r}")


def sampled(task: Task, n: int) -> Task:
    """The task with at most n of its instances."""
    if len(task.points) <= n:
        return task
    kept = generator(task.seed, 40).permutation(len(task.points))[:n]
    return replace(task, points=task.points[np.sort(kept)])


def thinned(near: Near, n: int) -> Near:
    """The first n neighbors of each instance of a table: enough where those of many instances are pooled."""
    whole = near.designs.reshape(*near.values.shape, -1)[:, :n]
    return replace(
        near, designs=whole.reshape(-1, whole.shape[2]), values=near.values[:, :n], weights=near.weights[:, :n]
    )


def around(near: Near, members: Indices, shares: Floats, n_features: int) -> tuple[Indices, Floats, float]:
    """A sparse regression on the neighbors of some instances: features, their weights, the intercept."""
    at, w = weighed(near, members, shares)
    designs, y = near.designs[at], near.values.ravel()[at]
    d = designs.shape[1]
    columns = np.arange(d) if d <= DENSE else promising(designs, w, y, DENSE)
    return solved(moments(designs if len(columns) == d else designs[:, columns], w, y), columns, n_features)


def weighed(near: Near, members: Indices, shares: Floats) -> tuple[Indices, Floats]:
    """Which neighbors belong to some instances, and what they count."""
    p = near.values.shape[1]
    at = (members[:, None] * p + np.arange(p)).ravel()
    return at, np.repeat(shares, p) * near.weights[members].ravel()


def solved(M: Floats, columns: Indices, n_features: int) -> tuple[Indices, Floats, float]:
    """Features, weights and intercept of the sparse regression by moments of some columns."""
    d = len(M) - 2
    spread = np.diag(M)[:d] - np.square(M[:d, d])
    beta, intercept = solve_sparse(M, n_features, RIDGE * float(spread.mean()) if d else 0.0)
    used = np.flatnonzero(beta)
    return columns[used], beta[used], intercept


def _own(near: Near, i: int, n_features: int) -> tuple[Indices, Floats, float]:
    """The same for one text alone, on the words it has."""
    p, columns = near.values.shape[1], near.rows[[i]].indices
    designs = near.designs[i * p : (i + 1) * p][:, columns].toarray()
    return solved(moments(designs, near.weights[i], near.values[i]), columns, n_features)


def collected(near: Near, found: Sequence[tuple[Indices, Floats, float]]) -> Local:
    """Explanations as one record."""
    starts = np.cumsum([0, *(len(columns) for columns, _, _ in found)])
    columns, weights = (np.concatenate([one[part] for one in found]) for part in (0, 1))
    shape = (len(found), near.rows.shape[1])
    return Local(near, csr_matrix((weights, columns, starts), shape), np.array([one[2] for one in found]))


def spread_pick(weights: csr_matrix, rows: Matrix, k: int) -> Indices:
    """SP-LIME's pick of k rows: each time the one that adds most importance that is not yet covered.

    Explanations of a table are soon covered, and then all add nothing. Where several add as much, the one is taken
    that brings all rows nearest to a picked one.
    """
    has = csr_matrix((np.ones(weights.nnz), weights.indices, weights.indptr), weights.shape)
    importance = np.sqrt(np.asarray(abs(weights).sum(axis=0)).ravel())
    apart = euclidean_distances(seen(rows))
    nearest, left = np.full(len(apart), apart.max()), np.ones(len(apart), bool)
    chosen = list[int]()
    for _ in range(min(k, len(apart))):
        gains = np.where(left, has @ importance, -1.0)
        best = np.flatnonzero(gains >= gains.max() * (1 - 1e-9))
        one = int(best[np.argmin(np.minimum(apart[best], nearest).sum(axis=1))])
        chosen.append(one)
        left[one] = False
        nearest = np.minimum(nearest, apart[one])
        importance[has[[one]].indices] = 0.0
    return np.array(chosen, dtype=np.intp)


def gates_of(lines: Lines, rows: Matrix, labels: Any) -> list[Gate]:
    """The ways of choosing among explanations that GIME's authors let the others have, of instances in groups."""
    return [centers_of(rows, labels), Overlap(lines.weights), Size(lines.weights)]


def centers_of(rows: Matrix, labels: Any) -> Centers:
    """The gate by the mean of each group; of texts, which differ in length most, by the mean direction."""
    rows = seen(rows)
    means = [np.asarray(rows[labels == g].mean(axis=0)).ravel() for g in range(int(labels.max()) + 1)]
    return Centers(np.stack(means), unit=is_sparse(rows))


def seen(rows: Matrix) -> Matrix:
    """Rows as distances see them: of texts, the direction alone."""
    return unit(rows) if is_sparse(rows) else rows


def best_gate(lines: Lines, gates: Sequence[Gate], held: Near) -> Gate:
    """The gate that does best around held-out instances; of equals, the first."""
    losses = held.losses(lines)
    errors = [error_of(losses, gate(held.rows).argmax(axis=1), held.shares) for gate in gates]
    return gates[int(np.argmin(errors))]
