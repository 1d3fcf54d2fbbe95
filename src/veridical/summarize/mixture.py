"""Mixture: groupwise explanations as sparse linear models with a sparse gate between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import diags
from sklearn.linear_model import Ridge

from veridical.errors import InputError, check_positive, check_whole
from veridical.masks import generator
from veridical.records import Floats, Kernel
from veridical.summarize.descent import Slope, downhill, toward
from veridical.summarize.gates import Softmax, clusters, largest, lengths, softmax, unit
from veridical.summarize.near import Lines, Matrix, Near, error_of, is_sparse, stacked
from veridical.summarize.regress import Regressions
from veridical.summarize.task import Found, Gate, Task
from veridical.summarize.tree import Grower

HALF = 0.5  # what a new instance counts
ENOUGH = 6000  # new instances to learn from, at most
FRESH = 2000  # new instances to judge by, of each kind
FEW, MANY = 2, 10  # neighbors to judge by, where there are new instances and where not
STARTS = (4, 32)  # fewest and most
WORK = 6e7  # instances × features × groups that all starts together may cost
SURE = 0.98  # how surely an instance belongs to the group that a start gives it
WARM, STEPS = (300, 0.05), (60, 0.03)  # number and size of the gate's steps: at first, and each round
BEND = 1.5  # standard deviations from which on more of a feature hardly moves a cluster
EM = 0.4  # share of the rounds in which the losses have a say in who belongs where
DENSE = 60  # features that tell a region in the first round
AGAIN = (0.1, 3.0)  # times the decay, for last runs from the best groups
SHRINK = 3e-3  # ridge of explanations with few features; with all of many, up to ten times as much

Start: TypeAlias = Callable[[Matrix, int], Any]
Judge: TypeAlias = Callable[[Lines, Gate], float]


@dataclass(frozen=True)
class Mixture:
    """Sparse linear models, each with a region that few features tell.

    As in GIME (Gao et al. 2021), explanations and regions are learned in turns. What is different: a region is a
    linear score with an offset, of the instance or of its direction; new instances between the instances keep it
    from learning the instances by heart; features are chosen by forward selection with exchange; it starts several
    times, from model trees and clusters, and keeps the round that is best on held-out and further new instances.

    ``n_starts``: more starts find better groups and take longer; by default 4 to 32, the fewer the more instances
    and features there are. ``start`` gives groups to start from instead: a function of the features (n, d), those
    of new instances among them, and k that returns one number from 0 to k - 1 a row. ``n_neighbors`` are asked
    about around each instance, and ``copies`` new instances are made for each. ``gate_features`` tell a region, as
    many as an explanation has unless it is given. ``rounds`` are taken from each start. ``decay`` keeps regions
    soft, ``ridge`` explanations small; with a ``kernel`` nearer neighbors count more.
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
            raise InputError(f"kernel wants a function of distances such as vd.Gaussian(0.1), not {self.kernel!r}")
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

    def __call__(self, task: Task) -> Found:
        new = task.new(min(self.copies * len(task.points), ENOUGH), self.n_neighbors) if self.copies else None
        more = 1 if new is not None else 1 + self.copies  # neighbors, where there is nothing between instances
        base = task.near(self.n_neighbors * more, kernel=self.kernel)
        near = base if new is None else stacked([base, replace(new, shares=np.full(len(new), HALF))])
        judge = judge_of(task)
        ridge = ridge_for(task.n_features, base.rows.shape[1]) if self.ridge is None else self.ridge
        regress = Regressions.of(near, ridge)
        first = Climb(self, task, near, regress, judge, False)
        tried = [(replace(first, directions=by), labels) for labels, by in self._starts(task, base, near)]
        found = [climb.run(labels) for climb, labels in tried]
        at = int(np.argmin([error for _, error in found]))
        best, error = found[at]
        groups = best.gate(near.rows).argmax(axis=1)
        for times in AGAIN:
            again, last = replace(tried[at][0], settings=replace(self, decay=times * self.decay)).run(groups)
            best, error = (again, last) if last < error else (best, error)
        return best

    def _starts(self, task: Task, base: Near, near: Near) -> Iterator[tuple[Any, bool]]:
        """Groups to start from, and whether the gate looks at directions alone."""
        rng, n = generator(task.seed, 30), self.n_starts
        leaf = max(min(20, len(base) // (2 * task.k)), 2)
        if n is None and self.start is not None:
            n = 2  # one for either gate
        elif n is None:
            n = int(np.clip(WORK / (near.rows.shape[0] * near.rows.shape[1] * task.k), *STARTS))
        bent = influences(near) if is_sparse(near.rows) else np.tanh(near.rows / BEND)
        for number in range(n):
            if self.start is not None:
                labels = checked_labels(self.start(near.rows, task.k), len(near), task.k)
            elif number % 4 == 2:
                labels = clusters(bent, task.k, rng, n_init=2)
            elif number != 1:  # the second start is the first one with another gate
                noise = 0.3 if number else 0.0
                tree = Grower(base, min(task.n_features, 8), min_leaf=leaf, noise=noise, rng=rng).grow(task.k)
                labels = tree.assigned(near.rows)
            yield labels, number % 2 == 1


def ridge_for(n_features: int, d: int) -> float:
    """Choosing features keeps an explanation small; where all d are used, the ridge must."""
    return SHRINK * (min(max(d / 10, 1.0), 10.0) if n_features >= d else 1.0)


def judge_of(task: Task) -> Judge:
    """Mean loss around instances that are not learned from: those held out, and new ones where there are any."""
    kinds = (False,) if task.held is task.points else (False, True)
    fresh = [new for held in kinds if (new := task.new(FRESH, FEW, draw=1, held=held)) is not None]
    check = stacked([task.near_held(FEW), *fresh]) if fresh else task.near_held(MANY)
    return lambda lines, gate: error_of(check.losses(lines), gate(check.rows).argmax(axis=1), check.shares)


@dataclass(frozen=True, eq=False)
class Climb:
    """One run from given groups: explanations and regions in turns."""

    settings: Mixture
    task: Task
    near: Near
    regress: Regressions
    judge: Judge
    directions: bool  # the gate looks at directions alone

    def run(self, labels: Any) -> tuple[Found, float]:
        """From labels (n,) to the best round and its error."""
        near, k, d = self.near, self.task.k, self.near.rows.shape[1]
        shares = np.full((len(near), k), (1 - SURE) / k)
        shares[np.arange(len(near)), labels] += SURE
        lines = self.regress.fit(shares, self.task.n_features)
        length = float(np.sqrt(np.mean(lengths(near.rows) ** 2))) if self.directions else None
        empty = Softmax(np.zeros((k, d)), np.zeros(k), length)
        slope = Slope(empty.view(near.rows), near.shares, self.settings.decay)
        gate = slope.descend((empty.slopes, empty.offsets), toward(shares), None, *WARM)
        losses, mask = near.losses(lines), None
        sizes, rounds = self._sizes(d), self.settings.rounds
        n_em = 0 if self.directions else int(EM * rounds)
        best, least = Found(lines, empty), np.inf
        for t in range(rounds):
            p = softmax(np.asarray(slope.rows @ gate[0].T) + gate[1])
            if t < n_em:
                p = shares = _posterior(p, losses, shares)
            lines = self.regress.fit(p + 1e-9, self.task.n_features)
            losses = near.losses(lines)
            if t < len(sizes):
                centered = gate[0] - np.median(gate[0], axis=0)
                mask = largest(centered, sizes[t])
                gate = centered * mask, gate[1]
            pull = toward(shares) if t < n_em else downhill(losses / _scale(losses))
            gate = slope.descend(gate, pull, mask, *STEPS)
            if t >= len(sizes) - 1:
                now = Found(lines, Softmax(*gate, length))
                error = self.judge(now.lines, now.gate)
                best, least = (now, error) if error < least else (best, least)
        return best, least

    def _sizes(self, d: int) -> list[int]:
        """How many features tell a region, round by round, until it is as few as wanted."""
        few = self.settings.gate_features or self.task.n_features
        if few >= d:
            return []
        return [int(n) for n in np.geomspace(max(min(d, DENSE), few), few, max(2, self.settings.rounds // 2))]


def _posterior(p: Floats, losses: Floats, before: Floats) -> Floats:
    """Who belongs where, by region and by loss: the E step of a mixture of normals."""
    spread = max(float(np.mean((before * losses).sum(axis=1))), 1e-4 * float(losses.mean()), 1e-300)
    found = p * np.exp(-(losses - losses.min(axis=1, keepdims=True)) / (2 * spread))
    return np.asarray(found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300))


def _scale(losses: Floats) -> float:
    """A loss that matters: between the best and the mean."""
    return max(float(np.sqrt(losses.min(axis=1).mean() * losses.mean())), 1e-300)


def influences(near: Near) -> Matrix:
    """What each feature of each instance adds by one linear model of all of them, as directions."""
    root = np.sqrt(near.flat_weights)
    y = near.values.ravel()
    model = Ridge(alpha=1.0, solver="sparse_cg", max_iter=50).fit(near.designs, y, sample_weight=root**2)
    return unit(near.rows @ diags(np.abs(model.coef_)))


def checked_labels(labels: Any, n: int, k: int) -> Any:
    """Groups that a caller's function gives."""
    found = np.asarray(labels)
    if found.shape != (n,) or not np.isin(found, np.arange(k)).all():
        raise InputError(
            f"start must give each of {n} instances a group from 0 to {k - 1}; it gave {found.dtype} values of "
            f"shape {found.shape}"
        )
    return found.astype(np.intp)
