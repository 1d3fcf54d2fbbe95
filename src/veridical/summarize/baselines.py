"""Simple ways to groups: one model for all, clusters of instances, clusters of explanations, picks, a tree."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veridical.errors import check_whole
from veridical.masks import generator
from veridical.summarize.gates import Softmax, clusters
from veridical.summarize.local import HELD, Around, best_gate, check_local, gates_of, seen, spread_pick
from veridical.summarize.near import Near
from veridical.summarize.regress import Regressions
from veridical.summarize.task import Found, Gate, Task
from veridical.summarize.tree import Grower

COMPARED = 20  # features of explanations that are compared, not shown


@dataclass(frozen=True)
class GlobalLinear:
    """One sparse linear model for all instances, whatever k is: what any groups must beat."""

    n_neighbors: int = 10

    def __post_init__(self) -> None:
        check_whole("n_neighbors", self.n_neighbors)

    def __call__(self, task: Task) -> Found:
        near = task.near(self.n_neighbors)
        lines = Regressions(near).fit(np.ones((len(near), 1)), task.n_features)
        return Found(lines, Softmax(np.zeros((1, near.rows.shape[1])), np.zeros(1)))


@dataclass(frozen=True)
class ClusterThenExplain:
    """CTE: k-means on the instances, then one sparse regression on the neighbors of each cluster.

    Texts are clustered by direction, whatever their length. Fewer than k clusters where fewer instances differ. A
    gate assigns new instances: of those that GIME's authors gave it, the best around held-out instances, which is
    the distance to a cluster's center, features in common with its explanation, or the explanation's size.
    """

    n_neighbors: int = 10

    def __post_init__(self) -> None:
        check_whole("n_neighbors", self.n_neighbors)

    def __call__(self, task: Task) -> Found:
        near = task.near(self.n_neighbors)
        return by_labels(task, near, clusters(seen(near.rows), task.k, generator(task.seed, 41)))


@dataclass(frozen=True)
class ExplainThenCluster:
    """ETC: an explanation of every instance, k-means on their coefficients, one explanation a cluster.

    Published is the mean of a cluster's explanations, which is neither sparse nor a good fit; here a sparse
    regression on the neighbors of the cluster's instances takes its place. ``local`` says how instances are
    explained. Gates as in ClusterThenExplain.
    """

    local: Around = field(default_factory=Around)

    def __post_init__(self) -> None:
        check_local(self.local)

    def __call__(self, task: Task) -> Found:
        local = self.local(task, COMPARED)
        return by_labels(task, local.near, clusters(local.weights, task.k, generator(task.seed, 42)))


@dataclass(frozen=True)
class PickLime:
    """LIME on every instance, and the k explanations that SP-LIME picks, as they are.

    ``local`` says how instances are explained. A gate assigns new instances: of those that GIME's authors gave it,
    the best around held-out instances, which is the distance to the instance that was explained, features in
    common with its explanation, or the explanation's size. Where explanations cover as much, as those of tables
    soon do, picks spread over the instances.
    """

    local: Around = field(default_factory=Around)

    def __post_init__(self) -> None:
        check_local(self.local)

    def __call__(self, task: Task) -> Found:
        local = self.local(task, task.n_features)
        chosen = spread_pick(local.weights, local.near.rows, task.k)
        lines = local.lines(chosen)
        gates = gates_of(lines, local.near.rows[chosen], np.arange(len(chosen)))
        return Found(lines, best_gate(lines, gates, task.near_held(HELD)))


@dataclass(frozen=True)
class ModelTree:
    """A linear model tree: regions by rules, grown one cut at a time, a sparse regression in each of k leaves.

    Fewer than k leaves where no cut helps or leaves ``min_leaf`` instances on both sides (fewer where instances
    are few).
    """

    n_neighbors: int = 10
    min_leaf: int = 20
    n_cuts: int = 15
    max_depth: int = 5

    def __post_init__(self) -> None:
        for name in ("n_neighbors", "min_leaf", "n_cuts", "max_depth"):
            check_whole(name, getattr(self, name))

    def __call__(self, task: Task) -> Found:
        near = task.near(self.n_neighbors)
        least = max(min(self.min_leaf, len(near) // (2 * task.k)), 1)
        grower = Grower(near, task.n_features, min_leaf=least, n_cuts=self.n_cuts, max_depth=self.max_depth)
        tree = grower.grow(task.k)
        tree = replace(tree, k=int(np.sum(tree.feature < 0)))
        return Found(Regressions(near).fit(tree(near.rows), task.n_features), tree)


def by_labels(task: Task, near: Near, labels: Any, *gates: Gate) -> Found:
    """One sparse regression a group of instances, and the best gate, of these and the usual ones."""
    k = int(labels.max()) + 1
    lines = Regressions(near).fit(np.eye(k)[labels], task.n_features)
    usual = gates_of(lines, near.rows, labels)
    return Found(lines, best_gate(lines, [*gates, *usual], task.near_held(HELD)))
