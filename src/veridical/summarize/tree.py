"""Linear model trees: regions by rules, a sparse linear model in each."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from veridical.records import Floats
from veridical.summarize.gates import Leaves
from veridical.summarize.near import Near, dense
from veridical.summarize.regress import batch_errors, promising

FEW = 24  # features that models may use while a tree grows
MANY = 100  # features that may split, at most


@dataclass(eq=False)
class Node:
    """A part of the instances, and the best way to cut it in two."""

    members: Any  # (m,) rows
    depth: int
    error: float
    gain: float = 0.0
    feature: int = -1
    threshold: float = 0.0
    children: list[Node] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Grower:
    """Grows trees on the moments of neighbors."""

    near: Near
    n_features: int
    min_leaf: int = 20
    n_cuts: int = 10
    max_depth: int = 5
    ridge: float = 1e-3
    noise: float = 0.0  # gains are multiplied by 1 + noise · normal, so that restarts differ
    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def grow(self, k: int) -> Leaves:
        """Cut the leaf that gains most, until there are k."""
        near, (n, p) = self.near, self.near.values.shape
        d, each, y = near.rows.shape[1], near.flat_weights, near.values.ravel()
        columns = np.arange(d) if d <= FEW else promising(near.designs, each, y, FEW)
        splits = np.arange(d) if d <= MANY else promising(near.designs, each, y, MANY)
        designs, rows = near.designs[:, columns], near.rows[:, splits]
        designs, rows = dense(designs), dense(rows)
        A = np.column_stack([designs, np.ones(n * p), y]) * np.sqrt(each)[:, None]
        work = Work(self, A.reshape(n, p, -1), rows)
        root = work.node(np.arange(n), 0)
        leaves = [root]
        while len(leaves) < k:
            best = max(leaves, key=lambda node: node.gain)
            if best.gain <= 0:
                break
            yes = rows[best.members, best.feature] <= best.threshold
            best.children = [work.node(best.members[side], best.depth + 1) for side in (yes, ~yes)]
            leaves.remove(best)
            leaves += best.children
        return _flat(root, splits, k)


@dataclass(frozen=True, eq=False)
class Work:
    """The search for cuts."""

    settings: Grower
    A: Floats  # (n, p, m): features, 1 and y of the neighbors, each times the root of its weight
    rows: Floats  # (n, splits)

    def node(self, members: Any, depth: int) -> Node:
        error = float(self._errors(self._moments(members)[None])[0])
        node = Node(members, depth, error)
        if depth < self.settings.max_depth and len(members) >= 2 * self.settings.min_leaf:
            self._cut(node)
        return node

    def _cut(self, node: Node) -> None:
        s = self.settings
        for j in range(self.rows.shape[1]):
            x = self.rows[node.members, j]
            cuts = np.unique(np.quantile(x, np.linspace(0, 1, s.n_cuts + 2)[1:-1]))
            cuts = cuts[cuts < x.max()]
            if not len(cuts):
                continue
            bins = np.searchsorted(cuts, x, side="left")
            left = np.bincount(bins, minlength=len(cuts) + 1).cumsum()[:-1]
            good = (left >= s.min_leaf) & (len(x) - left >= s.min_leaf)
            if not good.any():
                continue
            order = np.argsort(bins, kind="stable")
            edges = np.searchsorted(bins[order], np.arange(len(cuts) + 2))
            binned = np.stack([self._moments(node.members[order[a:b]]) for a, b in pairwise(edges)]).cumsum(axis=0)
            low = binned[:-1][good]
            gains = node.error - self._errors(low) - self._errors(binned[-1] - low)
            if s.noise:
                gains = gains * (1 + s.noise * s.rng.normal(size=len(gains)))
            best = int(np.argmax(gains))
            if gains[best] > node.gain:
                node.gain, node.feature, node.threshold = float(gains[best]), j, float(cuts[good][best])

    def _moments(self, members: Any) -> Floats:
        A = self.A[members].reshape(-1, self.A.shape[2])
        return np.asarray(A.T @ A)

    def _errors(self, M: Floats) -> Floats:
        """Squared errors that sparse models of many moments leave."""
        d = M.shape[1] - 2
        mass = M[:, d, d]
        M = M.copy()
        M[:, np.arange(d), np.arange(d)] += self.settings.ridge * mass[:, None]
        return batch_errors(M, self.settings.n_features, 1e-6 * mass[:, None])


def _flat(root: Node, splits: Any, k: int) -> Leaves:
    """A tree as arrays."""
    feature, threshold, children, groups = list[int](), list[float](), list[list[int]](), 0
    queue = [root]
    for node in queue:
        if node.children:
            at = len(queue)
            queue += node.children
            feature.append(int(splits[node.feature]))
            threshold.append(node.threshold)
            children.append([at, at + 1])
        else:
            feature.append(-1)
            threshold.append(0.0)
            children.append([groups, groups])
            groups += 1
    return Leaves(np.array(feature), np.array(threshold), np.array(children), k)
