"""Mixtures of sparse linear models with a gate between them: Mixture, and GIME as published."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import diags, issparse
from scipy.special import softmax
from sklearn.linear_model import Ridge

from veridical.errors import InputError, check_positive, check_whole
from veridical.protocols import Kernel
from veridical.records import Bools, Floats
from veridical.representations.spaces import Matrix
from veridical.seeds import generator
from veridical.summaries.groupings.alternatives import Grower
from veridical.summaries.groupings.gates import (
    Softmax,
    Sphere,
    cluster_rows,
    mask_largest,
    normalize_rows,
    row_norms,
)
from veridical.summaries.groupings.tasks import (
    Gate,
    GroupingResult,
    GroupingTask,
    LinearModels,
    Neighbors,
    Regressions,
    compute_promising_moments,
    mean_loss,
    stack_neighbors,
)

Singles: TypeAlias = npt.NDArray[np.float32]
ScoreGradient: TypeAlias = Callable[[Singles], Singles]  # of probabilities (k, n): the loss by the scores


@dataclass(eq=False)
class Adam:
    """Steps of even size, whatever the scale of the gradient."""

    first: Singles
    second: Singles
    n: int = 0

    @classmethod
    def start(cls, x: Singles) -> Adam:
        return cls(np.zeros_like(x), np.zeros_like(x))

    def step(self, gradient: Singles, rate: float) -> Singles:
        self.n += 1
        self.first = 0.9 * self.first + 0.1 * gradient
        self.second = 0.99 * self.second + 0.01 * gradient**2
        size = np.sqrt(self.second / (1 - 0.99**self.n)) + 1e-9
        return np.asarray(rate / (1 - 0.9**self.n) * self.first / size)


@dataclass(frozen=True, eq=False)
class Slope:
    """What a gate is moved on: instances as the gate sees them, and how much each counts."""

    rows: Matrix  # (n, d)
    shares: Floats  # (n,)
    decay: float  # of the slopes

    def descend(
        self, gate: tuple[Floats, Floats], pull: ScoreGradient, mask: Bools | None, steps: int, rate: float
    ) -> tuple[Floats, Floats]:
        """Slopes (k, d) and offsets (k,) after some steps; a mask says which slopes may differ from zero."""
        used = np.arange(self.rows.shape[1]) if mask is None else np.flatnonzero(mask.any(axis=0))
        rows: Any = (self.rows if mask is None else self.rows[:, used]).astype(np.float32)
        across: Any = rows.T.tocsr() if issparse(rows) else np.ascontiguousarray(rows.T)
        free = None if mask is None else mask[:, used].astype(np.float32)
        slopes, offsets = gate[0][:, used].astype(np.float32), gate[1].astype(np.float32)
        share = (self.shares / len(self.shares)).astype(np.float32)
        by_slope, by_offset = Adam.start(slopes), Adam.start(offsets)
        for _ in range(steps):
            scores = (rows @ slopes.T).T if issparse(rows) else slopes @ across
            gradient = pull(_softmax(scores + offsets[:, None])) * share
            slope = (across @ gradient.T).T if issparse(rows) else gradient @ rows
            slope = slope + np.float32(self.decay) * slopes
            slopes -= by_slope.step(slope if free is None else slope * free, rate)
            offsets -= by_offset.step(gradient.sum(axis=1), rate)
        whole = np.zeros_like(gate[0])
        whole[:, used] = slopes
        return whole, offsets.astype(np.float64)


def pull_toward(wanted: Floats) -> ScoreGradient:
    """The pull of cross-entropy to wanted probabilities (n, k)."""
    goal = np.ascontiguousarray(wanted.T, dtype=np.float32)
    return lambda p: p - goal


def pull_downhill(losses: Floats) -> ScoreGradient:
    """The pull of the expected loss, of losses (n, k)."""
    cost = np.ascontiguousarray(losses.T, dtype=np.float32)
    return lambda p: p * (cost - np.einsum("kn,kn->n", p, cost))


def _softmax(scores: Singles) -> Singles:
    scores -= scores.max(axis=0)
    odds = np.exp(scores, out=scores)
    odds /= odds.sum(axis=0)
    return odds


NEW_SHARE = 0.5  # what a new instance counts
MAX_NEW = 6000  # new instances to learn from, at most
MAX_FRESH = 2000  # new instances to judge by, of each kind
N_JUDGED, N_JUDGED_ALONE = 2, 10  # to judge by, where there are new instances and where not
N_STARTS = (4, 32)  # fewest and most
MAX_WORK = 6e7  # instances × features × groups that all starts together may cost
START_PROBABILITY = 0.98  # how surely an instance belongs to the group that a start gives it
WARM_UP, STEPS = (300, 0.05), (60, 0.03)  # number and size of the gate's steps: at first, and each round
BEND = 1.5  # standard deviations from which on more of a feature hardly moves a cluster
EM_SHARE = 0.4  # share of the rounds in which the losses have a say in who belongs where
MAX_GATE_FEATURES = 60  # features that tell a region in the first round
LAST_DECAYS = (0.1, 3.0)  # times the decay, for last runs from the best groups
MIN_RIDGE = 3e-3  # ridge of explanations with few features; with all of many, up to ten times as much

Start: TypeAlias = Callable[[Matrix, int], Any]
Judge: TypeAlias = Callable[[LinearModels, Gate], float]


@dataclass(frozen=True)
class Mixture:
    """Sparse linear models, each with a region that few features tell.

    As in GIME (Gao et al. 2021), explanations and regions are learned in turns. What is different: a region is a
    linear score with an offset, of the instance or of its direction; new instances between the instances keep it
    from learning the instances by heart; features are chosen by forward selection with exchange; it starts several
    times, from model trees and clusters, and keeps the round that is best on held-out and further new instances.

    Parameters
    ----------
    n_starts : int, optional
        More starts find better groups and take longer; by default 4 to 32, the fewer the more instances and
        features there are.
    start : callable, optional
        Groups to start from instead: a function of the features (n, d), those of new instances among them, and k
        that returns one number from 0 to k - 1 per row.
    n_neighbors : int, optional
        Neighbors that the model is asked about around each instance.
    copies : int, optional
        New instances that are made for each instance.
    gate_features : int, optional
        Features that tell a region; by default as many as an explanation has.
    rounds : int, optional
        Rounds from each start.
    decay : float, optional
        Penalty that keeps regions soft.
    ridge : float, optional
        Penalty that keeps explanations small; by default it depends on the number of features.
    kernel : callable, optional
        With one, nearer neighbors count more.
    """

    n_starts: int | None = None
    start: Start | None = None
    n_neighbors: int = 3
    copies: int = 3
    gate_features: int | None = None
    rounds: int = 24
    decay: float = 1e-3
    ridge: float | None = None
    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        for name in ("n_starts", "gate_features"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name))
        if self.kernel is not None and not callable(self.kernel):
            raise InputError(
                f"kernel wants a function of distances such as vd.kernels.Gaussian(0.1), not {self.kernel!r}"
            )
        if self.start is not None and not callable(self.start):
            raise InputError(
                f"start wants a function of features (n, d) and k that gives each row a group, not {self.start!r}"
            )
        check_whole("n_neighbors", self.n_neighbors)
        check_whole("copies", self.copies, least=0)
        check_whole("rounds", self.rounds, least=4)
        check_positive("decay", self.decay)
        if self.ridge is not None:
            check_positive("ridge", self.ridge)

    def __call__(self, task: GroupingTask) -> GroupingResult:
        n_new = min(self.copies * len(task.points), MAX_NEW)
        new = task.new_neighbors(n_new, self.n_neighbors) if n_new else None
        more = 1 if new is not None else 1 + self.copies  # neighbors, where there is nothing between instances
        base = task.neighbors(self.n_neighbors * more, kernel=self.kernel)
        near = base if new is None else stack_neighbors([base, replace(new, shares=np.full(len(new), NEW_SHARE))])
        judge = make_judge(task)
        ridge, d = self.ridge, base.rows.shape[1]
        if ridge is None:  # choosing features keeps an explanation small; where all d are used, the ridge must
            ridge = MIN_RIDGE * (min(max(d / 10, 1.0), 10.0) if task.n_features >= d else 1.0)
        regress = Regressions.of(near, ridge)
        first = MixtureFit(self, task, near, regress, judge, False)
        tried = [(replace(first, directions=by), labels) for labels, by in self._starts(task, base, near)]
        found = [climb.run(labels) for climb, labels in tried]
        at = int(np.argmin([error for _, error in found]))
        best, error = found[at]
        groups = best.gate(near.rows).argmax(axis=1)
        for times in LAST_DECAYS:
            again, last = replace(tried[at][0], settings=replace(self, decay=times * self.decay)).run(groups)
            best, error = (again, last) if last < error else (best, error)
        return best

    def _starts(self, task: GroupingTask, base: Neighbors, near: Neighbors) -> Iterator[tuple[Any, bool]]:
        """Groups to start from, and whether the gate looks at directions alone."""
        rng, n = generator(task.seed, 30), self.n_starts
        leaf = max(min(20, len(base) // (2 * task.k)), 2)
        if n is None and self.start is not None:
            n = 2  # one for either gate
        elif n is None:
            n = int(np.clip(MAX_WORK / (near.rows.shape[0] * near.rows.shape[1] * task.k), *N_STARTS))
        bent = weigh_by_influence(near) if issparse(near.rows) else np.tanh(near.rows / BEND)
        for number in range(n):
            if self.start is not None:
                labels = check_labels(self.start(near.rows, task.k), len(near), task.k)
            elif number % 4 == 2:
                labels = cluster_rows(bent, task.k, rng, n_init=2)
            elif number != 1:  # the second start is the first one with another gate
                noise = 0.3 if number else 0.0
                tree = Grower(base, min(task.n_features, 8), min_leaf=leaf, noise=noise, rng=rng).grow(task.k)
                labels = tree.assign(near.rows)
            yield labels, number % 2 == 1


def make_judge(task: GroupingTask) -> Judge:
    """Mean loss around instances that are not learned from: those held out, and new ones where there are any."""
    kinds = (False,) if task.held is task.points else (False, True)
    made = (task.new_neighbors(MAX_FRESH, N_JUDGED, draw=1, held=held) for held in kinds)
    fresh = [new for new in made if new is not None]
    check = stack_neighbors([task.held_neighbors(N_JUDGED if fresh else N_JUDGED_ALONE), *fresh])
    return lambda models, gate: mean_loss(check.losses(models), gate(check.rows).argmax(axis=1), check.shares)


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """One run from given groups: explanations and regions in turns."""

    settings: Mixture
    task: GroupingTask
    near: Neighbors
    regress: Regressions
    judge: Judge
    directions: bool  # the gate looks at directions alone

    def run(self, labels: Any) -> tuple[GroupingResult, float]:
        """From labels (n,) to the best round and its error."""
        near, k, d = self.near, self.task.k, self.near.rows.shape[1]
        shares = np.full((len(near), k), (1 - START_PROBABILITY) / k)
        shares[np.arange(len(near)), labels] += START_PROBABILITY
        models = self.regress.fit(shares, self.task.n_features)
        length = float(np.sqrt(np.mean(row_norms(near.rows) ** 2))) if self.directions else None
        empty = Softmax(np.zeros((k, d)), np.zeros(k), length)
        slope = Slope(empty.view(near.rows), near.shares, self.settings.decay)
        gate = slope.descend((empty.slopes, empty.offsets), pull_toward(shares), None, *WARM_UP)
        losses, mask = near.losses(models), None
        sizes, rounds = self._sizes(d), self.settings.rounds
        n_em = 0 if self.directions else int(EM_SHARE * rounds)
        best, least = GroupingResult(models, empty), np.inf
        for t in range(rounds):
            p = softmax(np.asarray(slope.rows @ gate[0].T) + gate[1], axis=1)
            if t < n_em:
                p = shares = _posterior(p, losses, shares)
            models = self.regress.fit(p + 1e-9, self.task.n_features)
            losses = near.losses(models)
            if t < len(sizes):
                centered = gate[0] - np.median(gate[0], axis=0)
                mask = mask_largest(centered, sizes[t])
                gate = centered * mask, gate[1]
            pull = pull_toward(shares) if t < n_em else pull_downhill(losses / _scale(losses))
            gate = slope.descend(gate, pull, mask, *STEPS)
            if t >= len(sizes) - 1:
                now = GroupingResult(models, Softmax(*gate, length))
                error = self.judge(now.models, now.gate)
                best, least = (now, error) if error < least else (best, least)
        return best, least

    def _sizes(self, d: int) -> list[int]:
        """How many features tell a region, round by round, until it is as few as wanted."""
        few = self.settings.gate_features or self.task.n_features
        if few >= d:
            return []
        return [
            int(n)
            for n in np.geomspace(max(min(d, MAX_GATE_FEATURES), few), few, max(2, self.settings.rounds // 2))
        ]


def _posterior(p: Floats, losses: Floats, before: Floats) -> Floats:
    """Who belongs where, by region and by loss: the E step of a mixture of normals."""
    spread = max(float(np.mean((before * losses).sum(axis=1))), 1e-4 * float(losses.mean()), 1e-300)
    found = p * np.exp(-(losses - losses.min(axis=1, keepdims=True)) / (2 * spread))
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))


def _scale(losses: Floats) -> float:
    """A loss that matters: between the best and the mean."""
    return max(float(np.sqrt(losses.min(axis=1).mean() * losses.mean())), 1e-300)


def weigh_by_influence(near: Neighbors) -> Matrix:
    """What each feature of each instance adds by one linear model of all of them, as directions."""
    root = np.sqrt(near.flat_weights)
    y = near.values.ravel()
    model = Ridge(alpha=1.0, solver="sparse_cg", max_iter=50).fit(near.designs, y, sample_weight=root**2)
    return normalize_rows(near.rows @ diags(np.abs(model.coef_)))


def check_labels(labels: Any, n: int, k: int) -> Any:
    """Groups that a caller's function gives."""
    found = np.asarray(labels)
    if found.shape != (n,) or not np.isin(found, np.arange(k)).all():
        raise InputError(
            f"start must give each of {n} instances a group from 0 to {k - 1}; it gave {found.dtype} values of "
            f"shape {found.shape}"
        )
    return found.astype(np.intp)


LEARNING_RATE = 1e-3  # of Adam in GIME
MAX_RIDGE_FEATURES = 1000  # among which a ridge chooses; of more, the most promising ones


@dataclass(frozen=True)
class Gime:
    """GIME as published (Gao et al. 2021), with the settings of its authors' code.

    K sparse linear models, each with a region on the unit sphere: von Mises-Fisher distributions with one
    concentration. It starts from k-means on unit rows. In each round, every model is a ridge, its largest
    coefficients, and least squares on those; the regions take steps of Adam, are cut to their largest entries, and
    take more. The last round is kept. Its ridge is not in units of the outputs, so that these are best given in
    standard deviations, as its authors do: of outputs far from zero, or very small, it chooses features badly.

    Parameters
    ----------
    n_neighbors : int, optional
        Neighbors drawn around each instance.
    rounds : int, optional
        Rounds of learning explanations and regions in turns.
    gate_features : int, optional
        Features that tell a region; by default as many as an explanation has.
    steps : tuple of int, optional
        Steps of Adam before and after the cut.
    kernel : callable, optional
        With one, nearer neighbors count more, as in the paper; all count the same without, as in the code.
    """

    n_neighbors: int = 10
    rounds: int = 14
    gate_features: int | None = None
    steps: tuple[int, int] = (30, 600)
    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        check_whole("n_neighbors", self.n_neighbors)
        check_whole("rounds", self.rounds)
        if self.gate_features is not None:
            check_whole("gate_features", self.gate_features)
        if not isinstance(self.steps, tuple) or len(self.steps) != 2:
            raise InputError(f"steps wants two numbers, before and after the cut, not {self.steps!r}")
        for number in self.steps:
            check_whole("steps", number)

    def __call__(self, task: GroupingTask) -> GroupingResult:
        near = task.neighbors(self.n_neighbors, kernel=self.kernel)
        rows = normalize_rows(near.rows)
        gate = _start_regions(rows, task.k, generator(task.seed, 20))
        n_gate = min(task.n_features if self.gate_features is None else self.gate_features, rows.shape[1])
        for _ in range(self.rounds):
            models = _fit_ridges(near, gate(rows), task.n_features)
            losses = near.losses(models) * self.n_neighbors
            gate = _descend(gate, rows, losses, self.steps[0], None)
            mask = mask_largest(gate.directions, n_gate)
            gate = Sphere(gate.directions * mask, gate.concentration)
            gate = _descend(gate, rows, losses, self.steps[1], mask)
        return GroupingResult(models, gate)


def _start_regions(rows: Any, k: int, rng: np.random.Generator) -> Sphere:
    """The mean direction of each cluster; a cluster that is empty gets an instance."""
    labels = cluster_rows(rows, k, rng)
    directions = np.zeros((k, rows.shape[1]))
    for g in range(k):
        members = np.flatnonzero(labels == g)
        members = members if len(members) else rng.integers(rows.shape[0], size=1)
        directions[g] = np.asarray(rows[members].mean(axis=0)).ravel()
    return Sphere(directions, 1.0)


def _fit_ridges(near: Neighbors, shares: Floats, n_features: int) -> LinearModels:
    """Ridge without intercept, its largest coefficients, then least squares on those with one."""
    p, d = near.values.shape[1], near.designs.shape[1]
    y, each = near.values.ravel(), near.flat_weights
    weights, intercepts = np.zeros((shares.shape[1], d)), np.zeros(shares.shape[1])
    for g in range(shares.shape[1]):
        w = np.maximum(np.repeat(shares[:, g], p) * each, 1e-12)
        columns, M = compute_promising_moments(near.designs, w, y, MAX_RIDGE_FEATURES)
        m, total = len(columns), float(w.sum()) * p
        ridge = np.linalg.solve(M[:m, :m] * total + np.eye(m), M[:m, -1] * total)
        kept = np.argsort(-np.abs(ridge), kind="stable")[:n_features]
        at = np.append(kept, m)
        found = np.linalg.lstsq(M[np.ix_(at, at)], M[at, -1], rcond=1e-12)[0]
        weights[g, columns[kept]], intercepts[g] = found[:-1], found[-1]
    return LinearModels(weights, intercepts)


def _descend(gate: Sphere, rows: Any, losses: Floats, steps: int, mask: Bools | None) -> Sphere:
    """Adam on directions and concentration, the losses fixed."""
    C, tau = gate.directions.copy(), gate.concentration
    cost = np.ascontiguousarray(losses.T)
    first, second, slow, fast = np.zeros_like(C), np.zeros_like(C), 0.0, 0.0
    transposed = rows.T.tocsr() if issparse(rows) else np.ascontiguousarray(rows.T)
    for step in range(1, steps + 1):
        size = np.maximum(np.linalg.norm(C, axis=1, keepdims=True), 1e-12)
        unit_C = C / size
        along = (rows @ unit_C.T).T if issparse(rows) else unit_C @ transposed
        p = softmax(tau * along, axis=0)
        pull = p * (cost - (p * cost).sum(axis=0))
        by_tau = float((pull * along).sum())
        slope = tau * ((transposed @ pull.T).T if issparse(rows) else pull @ rows)
        slope = (slope - (slope * unit_C).sum(axis=1, keepdims=True) * unit_C) / size
        slope = slope if mask is None else slope * mask
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        slow, fast = 0.9 * slow + 0.1 * by_tau, 0.999 * fast + 0.001 * by_tau**2
        fade, rise = 1 - 0.9**step, 1 - 0.999**step
        C -= LEARNING_RATE * (first / fade) / (np.sqrt(second / rise) + 1e-8)
        tau -= LEARNING_RATE * (slow / fade) / (np.sqrt(fast / rise) + 1e-8)
    return Sphere(C, float(tau))
