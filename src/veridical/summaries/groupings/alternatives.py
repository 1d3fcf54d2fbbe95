"""Other ways to groups: one model for all, clusters, picks of single explanations, model trees, MAPLE and MAME."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags, issparse
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from veridical.errors import InputError, check_positive, check_whole
from veridical.records import Floats
from veridical.representations.spaces import Matrix
from veridical.seeds import generator
from veridical.summaries.groupings.gates import (
    Centers,
    Nearest,
    Overlap,
    Size,
    Softmax,
    TreeGate,
    cluster_rows,
    normalize_rows,
)
from veridical.summaries.groupings.tasks import (
    MAX_DENSE,
    Gate,
    GroupingResult,
    GroupingTask,
    Indices,
    LinearModels,
    Neighbors,
    Regressions,
    batch_errors,
    compute_moments,
    compute_promising_moments,
    dense,
    mean_loss,
    select_promising,
    solve_sparse,
)

MIN_SAMPLES = 50  # of a text's own words, which its explanation is fitted on
MIN_REACH = 10  # instances of a table that an explanation looks at
N_POOLED_NEIGHBORS = 3  # neighbors of each of these that it is fitted on
HELD_NEIGHBORS = 10  # neighbors of held-out instances, by which gates are chosen
RIDGE = 1e-3  # relative to the spread of the features


@dataclass(frozen=True, eq=False)
class LocalFits:
    """An explanation each of some instances."""

    near: Neighbors  # the instances
    weights: csr_matrix  # (n, d)
    intercepts: Floats  # (n,)

    def models(self, chosen: Indices) -> LinearModels:
        """The explanations of some, as they are."""
        return LinearModels(self.weights[chosen].toarray(), self.intercepts[chosen])


@dataclass(frozen=True)
class Around:
    """A sparse linear model around every instance, in the features that all instances share.

    The model of a table row is fitted on the neighbors of the instances nearest to it, which count the less the
    farther they are: neighbors of one instance alone lie so close together that they say little of any other. The
    model of a text is fitted on samples of its own words, at least 50 of them.

    Parameters
    ----------
    n_neighbors : int, optional
        Neighbors drawn around each instance.
    reach : float, optional
        Share of all instances that the model of a table row looks at.
    n_instances : int, optional
        Of more instances than these, a random sample is explained.
    """

    n_neighbors: int = 10
    reach: float = 0.5
    n_instances: int = 2000

    def __post_init__(self) -> None:
        check_whole("n_neighbors", self.n_neighbors)
        check_whole("n_instances", self.n_instances)
        check_positive("reach", self.reach)

    def __call__(self, task: GroupingTask, n_features: int) -> LocalFits:
        task = sample_task(task, self.n_instances)
        if issparse(task.space.rows(task.points[:1])):
            near = task.neighbors(max(self.n_neighbors, MIN_SAMPLES))
            return collect_fits(near, [_fit_own_words(near, i, n_features) for i in range(len(near))])
        near = task.neighbors(self.n_neighbors)
        few = thin_neighbors(near, N_POOLED_NEIGHBORS)
        m = min(len(near), max(int(np.ceil(self.reach * len(near))), MIN_REACH))
        apart, members = NearestNeighbors(n_neighbors=m).fit(near.rows).kneighbors(near.rows)
        shares = np.exp(-2 * np.square(apart / np.maximum(apart[:, -1:], 1e-12)))
        return collect_fits(near, [fit_around(few, members[i], shares[i], n_features) for i in range(len(near))])


@dataclass(frozen=True)
class LocalGrouping:
    """Base of the methods that make groups of explanations of single instances."""

    local: Around = field(default_factory=Around)

    def __post_init__(self) -> None:
        if not isinstance(self.local, Around):
            raise InputError(f"local wants settings such as vd.groupings.Around(reach=0.3), not {self.local!r}")


def sample_task(task: GroupingTask, n: int) -> GroupingTask:
    """The task with at most n of its instances."""
    if len(task.points) <= n:
        return task
    kept = generator(task.seed, 40).permutation(len(task.points))[:n]
    return replace(task, points=task.points[np.sort(kept)])


def thin_neighbors(near: Neighbors, n: int) -> Neighbors:
    """The first n neighbors of each instance of a table: enough where those of many instances are pooled."""
    whole = near.designs.reshape(*near.values.shape, -1)[:, :n]
    return replace(
        near, designs=whole.reshape(-1, whole.shape[2]), values=near.values[:, :n], weights=near.weights[:, :n]
    )


def fit_around(
    near: Neighbors, members: Indices, shares: Floats, n_features: int
) -> tuple[Indices, Floats, float]:
    """A sparse regression on the neighbors of some instances: features, their weights, the intercept."""
    at, w = weigh_neighbors(near, members, shares)
    columns, M = compute_promising_moments(near.designs[at], w, near.values.ravel()[at])
    return solve_sparse_fit(M, columns, n_features)


def weigh_neighbors(near: Neighbors, members: Indices, shares: Floats) -> tuple[Indices, Floats]:
    """Which neighbors belong to some instances, and what they count."""
    p = near.values.shape[1]
    at = (members[:, None] * p + np.arange(p)).ravel()
    return at, np.repeat(shares, p) * near.weights[members].ravel()


def solve_sparse_fit(M: Floats, columns: Indices, n_features: int) -> tuple[Indices, Floats, float]:
    """Features, weights and intercept of the sparse regression by moments of some columns."""
    d = len(M) - 2
    spread = np.diag(M)[:d] - np.square(M[:d, d])
    beta, intercept = solve_sparse(M, n_features, RIDGE * float(spread.mean()) if d else 0.0)
    used = np.flatnonzero(beta)
    return columns[used], beta[used], intercept


def _fit_own_words(near: Neighbors, i: int, n_features: int) -> tuple[Indices, Floats, float]:
    """The same for one text alone, on the words it has."""
    p, columns = near.values.shape[1], near.rows[[i]].indices
    designs = near.designs[i * p : (i + 1) * p][:, columns].toarray()
    return solve_sparse_fit(compute_moments(designs, near.weights[i], near.values[i]), columns, n_features)


def collect_fits(near: Neighbors, found: Sequence[tuple[Indices, Floats, float]]) -> LocalFits:
    """Explanations as one record."""
    starts = np.cumsum([0, *(len(columns) for columns, _, _ in found)])
    columns, weights = (np.concatenate([one[part] for one in found]) for part in (0, 1))
    shape = (len(found), near.rows.shape[1])
    return LocalFits(near, csr_matrix((weights, columns, starts), shape), np.array([one[2] for one in found]))


def spread_pick(weights: csr_matrix, rows: Matrix, k: int) -> Indices:
    """SP-LIME's pick of k rows: each time the one that adds most importance that is not yet covered.

    Explanations of a table are soon covered, and then all add nothing. Where several add as much, the one is taken
    that brings all rows nearest to a picked one.
    """
    has = csr_matrix((np.ones(weights.nnz), weights.indices, weights.indptr), weights.shape)
    importance = np.sqrt(np.asarray(abs(weights).sum(axis=0)).ravel())
    apart = euclidean_distances(view_rows(rows))
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


def usual_gates(models: LinearModels, rows: Matrix, labels: Any) -> list[Gate]:
    """The ways of choosing among explanations that GIME's authors let the others have, of instances in groups."""
    return [center_gate(rows, labels), Overlap(models.weights), Size(models.weights)]


def center_gate(rows: Matrix, labels: Any) -> Centers:
    """The gate by the mean of each group; of texts, which differ in length most, by the mean direction."""
    rows = view_rows(rows)
    means = [np.asarray(rows[labels == g].mean(axis=0)).ravel() for g in range(int(labels.max()) + 1)]
    return Centers(np.stack(means), unit=issparse(rows))


def view_rows(rows: Matrix) -> Matrix:
    """Rows as distances see them: of texts, the direction alone."""
    return normalize_rows(rows) if issparse(rows) else rows


def choose_gate(models: LinearModels, gates: Sequence[Gate], held: Neighbors) -> Gate:
    """The gate that does best around held-out instances; of equals, the first."""
    losses = held.losses(models)
    errors = [mean_loss(losses, gate(held.rows).argmax(axis=1), held.shares) for gate in gates]
    return gates[int(np.argmin(errors))]


COMPARED_FEATURES = 20  # of explanations that are compared, not shown


@dataclass(frozen=True)
class GlobalLinear:
    """One sparse linear model for all instances, whatever k is: the baseline that groups must beat.

    Parameters
    ----------
    n_neighbors : int, optional
        Neighbors drawn around each instance.
    """

    n_neighbors: int = 10

    def __post_init__(self) -> None:
        check_whole("n_neighbors", self.n_neighbors)

    def __call__(self, task: GroupingTask) -> GroupingResult:
        near = task.neighbors(self.n_neighbors)
        models = Regressions(near).fit(np.ones((len(near), 1)), task.n_features)
        return GroupingResult(models, Softmax(np.zeros((1, near.rows.shape[1])), np.zeros(1)))


@dataclass(frozen=True)
class ClusterThenExplain:
    """CTE: k-means on the instances, then one sparse regression per cluster, on the neighbors of its instances.

    Texts are clustered by direction, whatever their length. There are fewer than k clusters where fewer instances
    differ. New instances are assigned by the gate that does best around held-out instances, of those that GIME's
    authors gave this method: the distance to the center of a cluster, the features that an instance shares with
    its explanation, or the size of what the explanation says.

    Parameters
    ----------
    n_neighbors : int, optional
        Neighbors drawn around each instance.
    """

    n_neighbors: int = 10

    def __post_init__(self) -> None:
        check_whole("n_neighbors", self.n_neighbors)

    def __call__(self, task: GroupingTask) -> GroupingResult:
        near = task.neighbors(self.n_neighbors)
        return fit_labels(task, near, cluster_rows(view_rows(near.rows), task.k, generator(task.seed, 41)))


@dataclass(frozen=True)
class ExplainThenCluster(LocalGrouping):
    """ETC: an explanation of every instance, k-means on their coefficients, and one explanation per cluster.

    As published, a cluster gets the mean of its explanations, which is neither sparse nor a good fit; here it gets
    a sparse regression on the neighbors of its instances. Gates as in ClusterThenExplain.

    Parameters
    ----------
    local : Around, optional
        How single instances are explained.
    """

    def __call__(self, task: GroupingTask) -> GroupingResult:
        local = self.local(task, COMPARED_FEATURES)
        return fit_labels(task, local.near, cluster_rows(local.weights, task.k, generator(task.seed, 42)))


@dataclass(frozen=True)
class PickLime(LocalGrouping):
    """LIME on every instance, and the k explanations that SP-LIME picks, as they are.

    New instances are assigned by the gate that does best around held-out instances, of those that GIME's authors
    gave this method: the distance to the instance that was explained, the features that an instance shares with
    its explanation, or the size of what the explanation says. Where explanations cover as much, as those of tables
    soon do, the picks spread over the instances.

    Parameters
    ----------
    local : Around, optional
        How single instances are explained.
    """

    def __call__(self, task: GroupingTask) -> GroupingResult:
        local = self.local(task, task.n_features)
        chosen = spread_pick(local.weights, local.near.rows, task.k)
        models = local.models(chosen)
        gates = usual_gates(models, local.near.rows[chosen], np.arange(len(chosen)))
        return GroupingResult(models, choose_gate(models, gates, task.held_neighbors(HELD_NEIGHBORS)))


def fit_labels(task: GroupingTask, near: Neighbors, labels: Any, *gates: Gate) -> GroupingResult:
    """One sparse regression a group of instances, and the best gate, of these and the usual ones."""
    k = int(labels.max()) + 1
    models = Regressions(near).fit(np.eye(k)[labels], task.n_features)
    usual = usual_gates(models, near.rows, labels)
    return GroupingResult(models, choose_gate(models, [*gates, *usual], task.held_neighbors(HELD_NEIGHBORS)))


@dataclass(frozen=True)
class Mame(LocalGrouping):
    """MAME: multilevel explanations (Natesan Ramamurthy et al. 2020), cut where k of them are left.

    As published, a tree has explanations of single instances at its leaves and one of the whole model at its
    root; between them, a growing penalty on the differences of coefficients fuses explanations, and a new
    instance is explained as the nearest known one. The paper leaves open how pairs are weighed, how the penalty
    grows and how sparse each level is. Here the path is followed greedily: each step fuses the two groups that
    cost least (Ward's criterion on the coefficients), as fusion penalties do in the limit of small steps. The
    explanation of a group is a sparse regression on the neighbors of its instances. The nearest instance assigns
    new ones, or one of the gates of ClusterThenExplain if that does better around held-out instances.

    Parameters
    ----------
    local : Around, optional
        How single instances are explained.
    n_linked : int, optional
        Only pairs among so many nearest instances are pulled together.
    """

    n_linked: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("n_linked", self.n_linked)

    def __call__(self, task: GroupingTask) -> GroupingResult:
        local = self.local(task, COMPARED_FEATURES)
        labels = self._cut(local, task.k)
        nearest = Nearest(local.near.rows, labels, int(labels.max()) + 1, unit=issparse(local.near.rows))
        return fit_labels(task, local.near, labels, nearest)

    def _cut(self, local: LocalFits, k: int) -> Any:
        """The group of each instance, (n,), where k are left."""
        n = len(local.near)
        if k >= n:
            return np.arange(n)
        links = link_neighbors(view_rows(local.near.rows), min(self.n_linked, n - 1))
        tree = AgglomerativeClustering(k, linkage="ward", connectivity=links)
        return np.unique(tree.fit_predict(place_rows(local.weights)), return_inverse=True)[1]


def link_neighbors(rows: Matrix, n: int) -> Matrix:
    """Which rows are among the n nearest of each other; pieces that are not linked are, by their first rows."""
    graph = kneighbors_graph(rows, n)
    _, piece = connected_components(graph, directed=False)
    first = np.unique(piece, return_index=True)[1]
    bridges = csr_matrix((np.ones(len(first) - 1), (first[:-1], first[1:])), graph.shape)
    return graph + graph.T + bridges + bridges.T


def place_rows(weights: csr_matrix) -> Floats:
    """Points with the distances of sparse rows, in at most as many dimensions as there are rows."""
    used = np.unique(weights.indices)
    if len(used) <= weights.shape[0]:
        return np.asarray(weights[:, used].toarray()) if len(used) else np.zeros((weights.shape[0], 1))
    size, axes = np.linalg.eigh((weights @ weights.T).toarray())
    return np.asarray(axes * np.sqrt(np.maximum(size, 0.0)))


MAX_MODEL_FEATURES = 24  # features that models may use while a tree grows
MAX_SPLIT_FEATURES = 100  # features that may split
TREE_RIDGE = 1e-3  # of models while a tree grows, relative to the sum of weights


@dataclass(frozen=True)
class ModelTree:
    """A linear model tree: regions by rules, one cut at a time, and a sparse regression in each of k leaves.

    There are fewer than k leaves where no cut helps, or none leaves enough instances on both sides.

    Parameters
    ----------
    n_neighbors : int, optional
        Neighbors drawn around each instance.
    min_leaf : int, optional
        The fewest instances in a leaf; fewer where there are few instances.
    n_cuts : int, optional
        Thresholds that are tried per feature.
    max_depth : int, optional
        Cuts on the way from the root to a leaf, at most.
    """

    n_neighbors: int = 10
    min_leaf: int = 20
    n_cuts: int = 15
    max_depth: int = 5

    def __post_init__(self) -> None:
        for name in ("n_neighbors", "min_leaf", "n_cuts", "max_depth"):
            check_whole(name, getattr(self, name))

    def __call__(self, task: GroupingTask) -> GroupingResult:
        near = task.neighbors(self.n_neighbors)
        least = max(min(self.min_leaf, len(near) // (2 * task.k)), 1)
        grower = Grower(near, task.n_features, min_leaf=least, n_cuts=self.n_cuts, max_depth=self.max_depth)
        tree = grower.grow(task.k)
        tree = replace(tree, k=int(np.sum(tree.feature < 0)))
        return GroupingResult(Regressions(near).fit(tree(near.rows), task.n_features), tree)


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


class Grower:
    """Grows trees on the moments of neighbors; gains times 1 + noise · normal let restarts differ."""

    def __init__(
        self,
        near: Neighbors,
        n_features: int,
        *,
        min_leaf: int,
        n_cuts: int = 10,
        max_depth: int = 5,
        noise: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.n_features, self.min_leaf, self.n_cuts, self.max_depth = n_features, min_leaf, n_cuts, max_depth
        self.noise, self.rng = noise, rng
        (n, p), each, y = near.values.shape, near.flat_weights, near.values.ravel()
        designs = dense(near.designs[:, select_promising(near.designs, each, y, MAX_MODEL_FEATURES)])
        self.splits = select_promising(near.designs, each, y, MAX_SPLIT_FEATURES)
        self.rows = dense(near.rows[:, self.splits])  # (n, splits)
        A = np.column_stack([designs, np.ones(n * p), y]) * np.sqrt(each)[:, None]
        self.A = A.reshape(n, p, -1)  # features, 1 and y of the neighbors, each times the root of its weight

    def grow(self, k: int) -> TreeGate:
        """Cut the leaf that gains most, until there are k."""
        root = self._node(np.arange(len(self.rows)), 0)
        leaves = [root]
        while len(leaves) < k:
            best = max(leaves, key=lambda node: node.gain)
            if best.gain <= 0:
                break
            yes = self.rows[best.members, best.feature] <= best.threshold
            best.children = [self._node(best.members[side], best.depth + 1) for side in (yes, ~yes)]
            leaves.remove(best)
            leaves += best.children
        return _flatten(root, self.splits, k)

    def _node(self, members: Any, depth: int) -> Node:
        node = Node(members, depth, float(self._errors(self._moments(members)[None])[0]))
        if depth < self.max_depth and len(members) >= 2 * self.min_leaf:
            self._cut(node)
        return node

    def _cut(self, node: Node) -> None:
        for j in range(self.rows.shape[1]):
            x = self.rows[node.members, j]
            cuts = np.unique(np.quantile(x, np.linspace(0, 1, self.n_cuts + 2)[1:-1]))
            cuts = cuts[cuts < x.max()]
            if not len(cuts):
                continue
            bins = np.searchsorted(cuts, x, side="left")
            left = np.bincount(bins, minlength=len(cuts) + 1).cumsum()[:-1]
            good = (left >= self.min_leaf) & (len(x) - left >= self.min_leaf)
            if not good.any():
                continue
            order = np.argsort(bins, kind="stable")
            edges = np.searchsorted(bins[order], np.arange(len(cuts) + 2))
            binned = np.stack([self._moments(node.members[order[a:b]]) for a, b in pairwise(edges)]).cumsum(axis=0)
            low = binned[:-1][good]
            gains = node.error - self._errors(low) - self._errors(binned[-1] - low)
            if self.rng is not None and self.noise:
                gains = gains * (1 + self.noise * self.rng.normal(size=len(gains)))
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
        M[:, np.arange(d), np.arange(d)] += TREE_RIDGE * mass[:, None]
        return batch_errors(M, self.n_features, 1e-6 * mass[:, None])


def _flatten(root: Node, splits: Any, k: int) -> TreeGate:
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
    return TreeGate(np.array(feature), np.array(threshold), np.array(children), k)


MAX_JUDGES = 100  # held-out instances that choose the number of columns
MAX_COLUMNS = 100  # columns that may be kept
DISTANCE_SHARE = 1e-9  # what distance adds to the forest's weights


@dataclass(frozen=True)
class Maple:
    """MAPLE (Plumb et al. 2018) on every instance, and the k explanations that SP-LIME picks, as they are.

    A forest learns what the model says around each instance (the mean over its neighbors). How much an instance
    counts for the explanation of another is how often the two share a leaf, over the size of the leaf. Columns
    are ranked by the gain of the first splits on them, and how many are used is chosen on held-out instances.
    Each explanation is a sparse regression on those columns, where the paper has a ridge on all of them. Of more
    than 300 columns (words), the forest sees the most promising ones. New instances go to the pick with the
    largest forest weight, or to the nearest one where none shares a leaf.

    Parameters
    ----------
    n_trees : int, optional
        Trees of the forest.
    max_features : float, optional
        Share of the columns that each split of a tree chooses from.
    min_leaf : int, optional
        The fewest instances in a leaf.
    n_neighbors : int, optional
        Neighbors drawn around each instance.
    n_instances : int, optional
        Of more instances than these, a random sample is explained.
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

    def __call__(self, task: GroupingTask) -> GroupingResult:
        near = sample_task(task, self.n_instances).neighbors(self.n_neighbors)
        held = task.held_neighbors(HELD_NEIGHBORS)
        forest = self._grow(near, int(generator(task.seed, 43).integers(2**31)))
        columns = np.sort(_choose_columns(near, held, forest, task.n_features))
        shares = forest.shares(near.rows)
        local = collect_fits(
            near, [solve_sparse_fit(_moments(near, w, columns), columns, task.n_features) for w in shares]
        )
        chosen = spread_pick(local.weights, near.rows, task.k)
        centers = center_gate(near.rows[chosen], np.arange(len(chosen)))
        return GroupingResult(local.models(chosen), SharedLeaves(forest, chosen, centers))

    def _grow(self, near: Neighbors, seed: int) -> FittedForest:
        from sklearn.ensemble import RandomForestRegressor  # takes as long to import as all of veridical

        y = np.average(near.values, axis=1, weights=near.weights)
        columns = select_promising(near.rows, near.shares, y, MAX_DENSE)
        share = min(float(self.max_features), 1.0)
        forest = RandomForestRegressor(
            self.n_trees, max_features=share, min_samples_leaf=self.min_leaf, random_state=seed
        )
        forest.fit(dense(near.rows[:, columns]), y)
        return FittedForest(forest, columns, _leaves(forest, near.rows[:, columns]))


@dataclass(frozen=True, eq=False)
class FittedForest:
    """A forest, and where the instances are that it has learned from."""

    forest: Any
    columns: Indices  # (m,) that it sees
    known: csr_matrix  # (n, nodes): one for the leaf of each tree

    def shares(self, rows: Matrix, known: Any = slice(None)) -> Floats:
        """How much known instances count for rows: the mean over trees of [same leaf] / its size."""
        size = np.maximum(np.asarray(self.known.sum(axis=0)).ravel(), 1.0)
        others = self.known[known] @ diags(1 / size)
        return np.asarray((_leaves(self.forest, rows[:, self.columns]) @ others.T).toarray()) / len(self.forest)

    def rank_columns(self) -> Indices:
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
class SharedLeaves:
    """MAPLE's weights of the picked instances as probabilities; far from all of them, distance decides."""

    forest: FittedForest
    chosen: Indices  # (k,)
    centers: Centers

    def __call__(self, rows: Matrix) -> Floats:
        """Probabilities (n, k)."""
        found = self.forest.shares(rows, self.chosen) + DISTANCE_SHARE * self.centers(rows)
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def reasons(self, row: Matrix, group: int) -> Floats:
        """How much nearer each feature that the forest sees is to the pick than to the picks on average."""
        told = np.zeros(row.shape[1])
        told[self.forest.columns] = self.centers.reasons(row, group)[self.forest.columns]
        return told


def _leaves(forest: Any, rows: Matrix) -> csr_matrix:
    """The leaf that each row reaches in each tree, one-hot, (n, nodes)."""
    at = forest.apply(dense(rows))
    sizes = np.cumsum([0, *(one.tree_.node_count for one in forest)])
    starts = np.arange(0, at.size + 1, at.shape[1])
    return csr_matrix((np.ones(at.size), (at + sizes[:-1]).ravel(), starts), (len(at), sizes[-1]))


def _choose_columns(near: Neighbors, held: Neighbors, forest: FittedForest, n_features: int) -> Indices:
    """As many of the best columns as do best around held-out instances."""
    ranked, p = forest.rank_columns()[:MAX_COLUMNS], held.values.shape[1]
    counts = np.unique(np.geomspace(1, len(ranked), 12).round().astype(int))
    some = np.unique(np.linspace(0, len(held) - 1, min(MAX_JUDGES, len(held))).astype(int))
    shares, errors = forest.shares(held.rows[some]), np.zeros(len(counts))
    for i, own in zip(some, shares, strict=True):
        M, designs = _moments(near, own, ranked), dense(held.designs[i * p : (i + 1) * p][:, ranked])
        for c, count in enumerate(counts):
            at = np.append(np.arange(count), [len(ranked), len(ranked) + 1])
            used, beta, intercept = solve_sparse_fit(M[np.ix_(at, at)], np.arange(count), n_features)
            errors[c] += np.square(designs[:, used] @ beta + intercept - held.values[i]).mean()
    return ranked[: counts[np.argmin(errors)]]


def _moments(near: Neighbors, shares: Floats, columns: Indices) -> Floats:
    """Moments of some columns around the instances that count."""
    members = np.flatnonzero(shares)
    at, w = weigh_neighbors(near, members, shares[members])
    return compute_moments(near.designs[at][:, columns], w, near.values.ravel()[at])
