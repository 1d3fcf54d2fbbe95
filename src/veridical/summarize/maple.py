"""MAPLE: local explanations weighed by a forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags

from veridical.errors import check_positive, check_whole
from veridical.masks import generator
from veridical.records import Floats
from veridical.summarize.gates import Centers
from veridical.summarize.local import HELD, Indices, centers_of, collected, sampled, solved, spread_pick, weighed
from veridical.summarize.near import Matrix, Near, dense
from veridical.summarize.regress import DENSE, moments, promising
from veridical.summarize.task import Found, Task

JUDGED = 100  # held-out instances that choose the number of columns
RANKED = 100  # columns that may be kept
TINY = 1e-9  # what distance adds to the forest's weights


@dataclass(frozen=True)
class Maple:
    """MAPLE (Plumb et al. 2018) on every instance, and the k explanations that SP-LIME picks, as they are.

    A forest learns what the model says around each instance (the mean over its neighbors). An instance counts for
    the explanation of another by how often they share a leaf, over the leaf's size; columns are ranked by what the
    first splits gain, and how many are kept is chosen on held-out instances. Each explanation then is a sparse
    regression on those columns, where MAPLE has a ridge on all of them. Of more than 300 columns (words), the
    forest sees those that go best with the outputs. New instances go to the pick with the largest forest weight;
    where none shares a leaf, to the nearest one.
    """

    n_trees: int = 200
    max_features: float = 0.5
    min_leaf: int = 10
    n_neighbors: int = 10
    n_instances: int = 2000

    def __post_init__(self) -> None:
        for name in ("n_trees", "min_leaf", "n_neighbors", "n_instances"):
            check_whole(name, getattr(self, name))
        check_positive("max_features", self.max_features)

    def __call__(self, task: Task) -> Found:
        near, held = sampled(task, self.n_instances).near(self.n_neighbors), task.near_held(HELD)
        grove = self._grove(near, int(generator(task.seed, 43).integers(2**31)))
        columns = np.sort(_kept(near, held, grove, task.n_features))
        shares = grove.shares(near.rows)
        local = collected(near, [solved(_moments(near, w, columns), columns, task.n_features) for w in shares])
        chosen = spread_pick(local.weights, near.rows, task.k)
        centers = centers_of(near.rows[chosen], np.arange(len(chosen)))
        return Found(local.lines(chosen), Leafmates(grove, chosen, centers))

    def _grove(self, near: Near, seed: int) -> Grove:
        from sklearn.ensemble import RandomForestRegressor  # takes as long to import as all of veridical

        y = np.average(near.values, axis=1, weights=near.weights)
        d = near.rows.shape[1]
        columns = np.arange(d) if d <= DENSE else promising(near.rows, near.shares, y, DENSE)
        share = min(float(self.max_features), 1.0)
        forest = RandomForestRegressor(
            self.n_trees, max_features=share, min_samples_leaf=self.min_leaf, random_state=seed
        )
        forest.fit(dense(near.rows[:, columns]), y)
        return Grove(forest, columns, _leaves(forest, near.rows[:, columns]))


@dataclass(frozen=True, eq=False)
class Grove:
    """A forest, and where the instances are that it has learned from."""

    forest: Any
    columns: Indices  # (m,) that it sees
    known: csr_matrix  # (n, nodes): one for the leaf of each tree

    def shares(self, rows: Matrix, known: Any = slice(None)) -> Floats:
        """How much known instances count for rows: the mean over trees of [same leaf] / its size."""
        size = np.maximum(np.asarray(self.known.sum(axis=0)).ravel(), 1.0)
        others = self.known[known] @ diags(1 / size)
        return np.asarray((_leaves(self.forest, rows[:, self.columns]) @ others.T).toarray()) / len(self.forest)

    def ranked(self) -> Indices:
        """The columns by what the first splits on them gain, the best first."""
        gains = np.zeros(len(self.columns))
        for one in self.forest:
            tree = one.tree_
            if tree.node_count > 1:
                at = np.array([0, tree.children_left[0], tree.children_right[0]])
                left = tree.impurity[at] * tree.weighted_n_node_samples[at]
                gains[tree.feature[0]] += left[0] - left[1] - left[2]
        return self.columns[np.argsort(-gains, kind="stable")]


@dataclass(frozen=True, eq=False)
class Leafmates:
    """MAPLE's weights of the picked instances as probabilities; far from all of them, distance decides."""

    grove: Grove
    chosen: Indices  # (k,)
    centers: Centers

    def __call__(self, rows: Matrix) -> Floats:
        """Probabilities (n, k)."""
        found = self.grove.shares(rows, self.chosen) + TINY * self.centers(rows)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def reasons(self, row: Matrix, group: int) -> Floats:
        """How much nearer each feature that the forest sees is to the pick than to the picks on average."""
        told = np.zeros(row.shape[1])
        told[self.grove.columns] = self.centers.reasons(row, group)[self.grove.columns]
        return told


def _leaves(forest: Any, rows: Matrix) -> csr_matrix:
    """The leaf that each row reaches in each tree, one-hot, (n, nodes)."""
    at = forest.apply(dense(rows))
    sizes = np.cumsum([0, *(one.tree_.node_count for one in forest)])
    starts = np.arange(0, at.size + 1, at.shape[1])
    return csr_matrix((np.ones(at.size), (at + sizes[:-1]).ravel(), starts), (len(at), sizes[-1]))


def _kept(near: Near, held: Near, grove: Grove, n_features: int) -> Indices:
    """As many of the best columns as do best around held-out instances."""
    ranked, p = grove.ranked()[:RANKED], held.values.shape[1]
    counts = np.unique(np.geomspace(1, len(ranked), 12).round().astype(int))
    some = np.unique(np.linspace(0, len(held) - 1, min(JUDGED, len(held))).astype(int))
    shares, errors = grove.shares(held.rows[some]), np.zeros(len(counts))
    for i, own in zip(some, shares, strict=True):
        M, designs = _moments(near, own, ranked), dense(held.designs[i * p : (i + 1) * p][:, ranked])
        for c, count in enumerate(counts):
            at = np.append(np.arange(count), [len(ranked), len(ranked) + 1])
            used, beta, intercept = solved(M[np.ix_(at, at)], np.arange(count), n_features)
            errors[c] += np.square(designs[:, used] @ beta + intercept - held.values[i]).mean()
    return ranked[: counts[np.argmin(errors)]]


def _moments(near: Near, shares: Floats, columns: Indices) -> Floats:
    """Moments of some columns around the instances that count."""
    members = np.flatnonzero(shares)
    at, w = weighed(near, members, shares[members])
    return moments(near.designs[at][:, columns], w, near.values.ravel()[at])
