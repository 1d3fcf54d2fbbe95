"""MAME: a tree of explanations, from one an instance to one for all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import AgglomerativeClustering
from sklearn.neighbors import kneighbors_graph

from veridical.errors import check_whole
from veridical.records import Floats
from veridical.summarize.baselines import COMPARED, by_labels
from veridical.summarize.gates import Nearest
from veridical.summarize.local import Around, Local, check_local, seen
from veridical.summarize.near import Matrix
from veridical.summarize.task import Found, Task


@dataclass(frozen=True)
class Mame:
    """Model agnostic multilevel explanations (Natesan Ramamurthy et al. 2020), cut where k of them are left.

    Published is: explanations of single instances at the leaves of a tree, one of the whole model at its root, and
    levels in between as a growing penalty on the differences of coefficients fuses them; a new instance is
    explained as the nearest known one is. The description leaves open how pairs are weighed, how the penalty grows
    and how sparse each level is. Here only pairs among the ``n_linked`` nearest instances are pulled together;
    the path is followed greedily, each step fusing the two groups that cost least (Ward's criterion on the
    coefficients), as fusion penalties do in the limit of small steps; and the explanation of a group is a sparse
    regression on the neighbors of its instances. The nearest instance decides, or one of ClusterThenExplain's
    gates if that does better around held-out instances.
    """

    local: Around = field(default_factory=Around)
    n_linked: int = 10

    def __post_init__(self) -> None:
        check_local(self.local)
        check_whole("n_linked", self.n_linked)

    def __call__(self, task: Task) -> Found:
        local = self.local(task, COMPARED)
        labels = self._cut(local, task.k)
        nearest = Nearest(local.near.rows, labels, int(labels.max()) + 1, unit=issparse(local.near.rows))
        return by_labels(task, local.near, labels, nearest)

    def _cut(self, local: Local, k: int) -> Any:
        """The group of each instance, (n,), where k are left."""
        n = len(local.near)
        if k >= n:
            return np.arange(n)
        links = linked(seen(local.near.rows), min(self.n_linked, n - 1))
        tree = AgglomerativeClustering(min(k, n), linkage="ward", connectivity=links)
        return np.unique(tree.fit_predict(apart(local.weights)), return_inverse=True)[1]


def linked(rows: Matrix, n: int) -> Matrix:
    """Which rows are among the n nearest of each other; pieces that are not linked are, by their first rows."""
    graph = kneighbors_graph(rows, n)
    _, piece = connected_components(graph, directed=False)
    first = np.unique(piece, return_index=True)[1]
    bridges = csr_matrix((np.ones(len(first) - 1), (first[:-1], first[1:])), graph.shape)
    return graph + graph.T + bridges + bridges.T


def apart(weights: csr_matrix) -> Floats:
    """Points with the distances of sparse rows, in at most as many dimensions as there are rows."""
    used = np.unique(weights.indices)
    if len(used) <= weights.shape[0]:
        return np.asarray(weights[:, used].toarray()) if len(used) else np.zeros((weights.shape[0], 1))
    size, axes = np.linalg.eigh((weights @ weights.T).toarray())
    return np.asarray(axes * np.sqrt(np.maximum(size, 0.0)))
