"""GIME as published: Gao et al. 2021, with the settings of its authors' code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.errors import InputError, check_whole
from veridical.masks import generator
from veridical.records import Bools, Floats, Kernel
from veridical.summarize.gates import Sphere, clusters, largest, softmax, unit
from veridical.summarize.near import Lines, Near, is_sparse
from veridical.summarize.regress import moments, promising
from veridical.summarize.task import Found, Task

RATE = 1e-3  # of Adam
DENSE = 1000  # features among which a ridge chooses, where there are more


@dataclass(frozen=True)
class Gime:
    """K sparse linear models, each with a region on the unit sphere (von Mises-Fisher, one concentration).

    As in the authors' code: k-means on unit rows to start with; each model a ridge, its largest coefficients, and
    least squares on those; the regions by 30 steps of Adam, cut to their largest entries, then 600 more; 14
    rounds, of which the last is kept. ``gate_features`` tell a region, as many as an explanation has unless it is
    given. Neighbors count the same, as in the code, unless a ``kernel`` is given, as in the paper.
    Its ridge is not in units of the outputs, so that these are best given in standard deviations, as its authors
    do: outputs far from zero, or very small, make it choose features badly.
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

    def __call__(self, task: Task) -> Found:
        near = task.near(self.n_neighbors, kernel=self.kernel)
        rows = unit(near.rows)
        rng = generator(task.seed, 20)
        gate = _start(rows, task.k, rng)
        n_gate = min(task.n_features if self.gate_features is None else self.gate_features, rows.shape[1])
        lines = _lines(near, gate(rows), task.n_features)
        for t in range(self.rounds):
            if t:
                lines = _lines(near, gate(rows), task.n_features)
            losses = near.losses(lines) * self.n_neighbors
            gate = _descend(gate, rows, losses, self.steps[0], None)
            mask = largest(gate.directions, n_gate)
            gate = Sphere(gate.directions * mask, gate.concentration)
            gate = _descend(gate, rows, losses, self.steps[1], mask)
        return Found(lines, gate)


def _start(rows: Any, k: int, rng: np.random.Generator) -> Sphere:
    """The mean direction of each cluster; a cluster that is empty gets an instance."""
    labels = clusters(rows, k, rng)
    directions = np.zeros((k, rows.shape[1]))
    for g in range(k):
        members = np.flatnonzero(labels == g)
        members = members if len(members) else rng.integers(rows.shape[0], size=1)
        directions[g] = np.asarray(rows[members].mean(axis=0)).ravel()
    return Sphere(directions, 1.0)


def _lines(near: Near, shares: Floats, n_features: int) -> Lines:
    """Ridge without intercept, its largest coefficients, then least squares on those with one."""
    p, d = near.values.shape[1], near.designs.shape[1]
    y, each = near.values.ravel(), near.flat_weights
    weights, intercepts = np.zeros((shares.shape[1], d)), np.zeros(shares.shape[1])
    for g in range(shares.shape[1]):
        w = np.maximum(np.repeat(shares[:, g], p) * each, 1e-12)
        columns = np.arange(d) if d <= DENSE else promising(near.designs, w, y, DENSE)
        M, m = moments(near.designs[:, columns] if len(columns) < d else near.designs, w, y), len(columns)
        total = float(w.sum()) * p
        ridge = np.linalg.solve(M[:m, :m] * total + np.eye(m), M[:m, -1] * total)
        kept = np.argsort(-np.abs(ridge), kind="stable")[:n_features]
        at = np.append(kept, m)
        found = np.linalg.lstsq(M[np.ix_(at, at)], M[at, -1], rcond=1e-12)[0]
        weights[g, columns[kept]], intercepts[g] = found[:-1], found[-1]
    return Lines(weights, intercepts)


def _descend(gate: Sphere, rows: Any, losses: Floats, steps: int, mask: Bools | None) -> Sphere:
    """Adam on directions and concentration, the losses fixed."""
    C, tau = gate.directions.copy(), gate.concentration
    cost = np.ascontiguousarray(losses.T)
    first, second, slow, fast = np.zeros_like(C), np.zeros_like(C), 0.0, 0.0
    transposed = rows.T.tocsr() if is_sparse(rows) else np.ascontiguousarray(rows.T)
    for step in range(1, steps + 1):
        size = np.maximum(np.linalg.norm(C, axis=1, keepdims=True), 1e-12)
        unit_C = C / size
        along = (rows @ unit_C.T).T if is_sparse(rows) else unit_C @ transposed
        p = softmax(tau * along, axis=0)
        pull = p * (cost - (p * cost).sum(axis=0))
        by_tau = float((pull * along).sum())
        slope = tau * ((transposed @ pull.T).T if is_sparse(rows) else pull @ rows)
        slope = (slope - (slope * unit_C).sum(axis=1, keepdims=True) * unit_C) / size
        slope = slope if mask is None else slope * mask
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        slow, fast = 0.9 * slow + 0.1 * by_tau, 0.999 * fast + 0.001 * by_tau**2
        fade, rise = 1 - 0.9**step, 1 - 0.999**step
        C -= RATE * (first / fade) / (np.sqrt(second / rise) + 1e-8)
        tau -= RATE * (slow / fade) / (np.sqrt(fast / rise) + 1e-8)
    return Sphere(C, float(tau))
