"""Groupwise explanations as a mixture of sparse linear models with a sparse gate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.cluster import KMeans

from veridical.records import Floats, Kernel
from veridical.summarize.gates import Softmax, softmax
from veridical.masks import generator
from veridical.summarize.near import Lines, Matrix, Near, error_of, stacked_near
from veridical.summarize.regress import Regressions
from veridical.summarize.task import Found, Task
from veridical.summarize.tree import Grower


HALF = 0.5  # what a new instance counts
EM = 0.4  # share of the rounds in which groups are what the losses say, too
DENSE = 60  # features that tell a region at first
STEPS, RATE = 60, 0.03  # of Adam, each round


@dataclass(frozen=True)
class Mixture:
    """A mixture of sparse linear models, each with a region told by few features.

    Like GIME, groups and explanations are learned in turns, and a region looks at few features. Unlike it, a
    region is a linear score with an offset, the instances are joined by new ones between them (``copies`` for
    each), features are chosen by forward selection with exchange, the groups grow out of a model tree or of
    clusters, and of ``n_starts`` starts and all rounds the best on held-out and new instances is kept.
    ``gate_features`` is how many features tell a region, as many as tell an explanation unless it is given.
    """

    n_starts: int = 6
    n_neighbors: int = 3
    copies: int = 3
    gate_features: int | None = None
    rounds: int = 24
    ridge: float = 3e-3
    decay: float = 1e-3
    kernel: Kernel | None = None

    def __call__(self, task: Task) -> Found:
        base = task.near(self.n_neighbors, kernel=self.kernel)
        new = task.between(self.copies, self.n_neighbors)
        near = base if new is None else stacked_near(base, replace(new, shares=np.full(len(new), HALF)))
        held, fresh = task.near_held(10), task.between(1, 2, draw=1)
        yardsticks = [base, held] + ([] if fresh is None else [fresh])

        def check(lines: Lines, gate: Softmax) -> float:
            return float(
                np.mean([error_of(n.losses(lines), gate(n.rows).argmax(axis=1), n.shares) for n in yardsticks])
            )

        n_gate = task.n_features if self.gate_features is None else self.gate_features
        best, least = None, np.inf
        for start, (labels, sphere) in enumerate(self._starts(task, base, near)):
            found, error = self._run(near, check, labels, task.k, task.n_features, n_gate, sphere)
            if error < least:
                best, least = found, error
        assert best is not None
        return best

    def _starts(self, task: Task, base: Near, near: Near) -> Iterator[tuple[Any, bool]]:
        """Groups to start from, and whether the gate looks at directions alone."""
        rng = generator(task.seed, 30)
        leaf = max(min(20, len(base) // (2 * task.k)), 2)
        for start in range(self.n_starts):
            if start % 4 == 2:
                bent = near.rows if issparse(near.rows) else np.tanh(near.rows / 1.5)
                labels = KMeans(task.k, random_state=int(rng.integers(2**31)), n_init=2).fit_predict(bent)
            elif start != 1:
                noise = 0.3 if start else 0.0
                tree = Grower(base, min(task.n_features, 8), min_leaf=leaf, noise=noise, rng=rng).grow(task.k)
                labels = tree.assigned(near.rows)
            yield labels, start % 2 == 1

    def _run(
        self, near: Near, checks: Any, start: Any, k: int, n_features: int, gate_features: int, unit: bool
    ) -> tuple[Found, float]:
        d = near.rows.shape[1]
        R = np.full((len(near), k), 0.02 / k)
        R[np.arange(len(near)), start] += 0.98
        shape = Softmax(np.zeros((k, d)), np.zeros(k), unit)
        Z = shape.view(near.rows)
        regress = Regressions(near, self.ridge)
        lines = regress.fit(R, n_features)
        L = near.losses(lines)
        W, b = descend(Z, shape.slopes, shape.offsets, toward(R), near.shares, None, self.decay, 300, 0.05)
        n_em = 0 if unit else int(EM * self.rounds)
        sizes = (
            np.geomspace(min(d, DENSE), gate_features, max(2, self.rounds // 2)).astype(int)
            if gate_features < d
            else []
        )
        mask, best, least = None, None, np.inf
        for t in range(self.rounds):
            p = softmax(np.asarray(Z @ W.T) + b)
            if t < n_em:
                spread = max(float(np.sum(R * L) / len(near)), 1e-12 + 1e-4 * float(L.mean()))
                R = p * np.exp(-(L - L.min(axis=1, keepdims=True)) / (2 * spread))
                R /= R.sum(axis=1, keepdims=True)
            lines = regress.fit((R if t < n_em else p) + 1e-9, n_features)
            L = near.losses(lines)
            if t < len(sizes):
                W = W - np.median(W, axis=0)
                mask = largest(W, sizes[t])
                W = W * mask
            if t < n_em:
                W, b = descend(Z, W, b, toward(R), near.shares, mask, self.decay, STEPS, RATE)
            else:
                c = np.sqrt(L.min(axis=1).mean() * L.mean())
                C = L / max(c, 1e-300)
                W, b = descend(Z, W, b, downhill(C), near.shares, mask, self.decay, STEPS, RATE)
            if t >= len(sizes) - 1:
                gate = Softmax(W, b, unit)
                error = checks(lines, gate)
                if best is None or error < least:
                    best, least = Found(lines, gate), error
        return best, least


@dataclass(eq=False)
class Adam:
    """Gradient descent with steps of even size."""

    first: Floats
    second: Floats
    n: int = 0

    @classmethod
    def like(cls, x: Floats) -> Adam:
        return cls(np.zeros_like(x), np.zeros_like(x))

    def step(self, gradient: Floats, rate: float) -> Floats:
        self.n += 1
        self.first = 0.9 * self.first + 0.1 * gradient
        self.second = 0.99 * self.second + 0.01 * gradient**2
        return rate * (self.first / (1 - 0.9**self.n)) / (np.sqrt(self.second / (1 - 0.99**self.n)) + 1e-9)


def descend(
    Z: Matrix,
    slopes: Floats,
    offsets: Floats,
    pull: Any,
    shares: Floats,
    mask: Any,
    decay: float,
    steps: int,
    rate: float,
) -> tuple[Floats, Floats]:
    """Move the gate: ``pull`` gives the gradient of the loss by the scores (k, n) from probabilities.

    In single precision and with instances along the last axis, which is several times faster.
    """
    used = np.flatnonzero(mask.any(axis=0)) if mask is not None else np.arange(Z.shape[1])
    Z = (Z[:, used] if len(used) < Z.shape[1] else Z).astype(np.float32)
    part = None if mask is None else mask[:, used].astype(np.float32)
    W, b = slopes[:, used].astype(np.float32), offsets.astype(np.float32)
    by_slope, by_offset = Adam.like(W), Adam.like(b)
    share = (shares / len(shares)).astype(np.float32)
    ZT = Z.T.tocsr() if issparse(Z) else np.ascontiguousarray(Z.T)
    for _ in range(steps):
        scores = (Z @ W.T).T if issparse(Z) else W @ ZT
        scores += b[:, None]
        scores -= scores.max(axis=0)
        p = np.exp(scores, out=scores)
        p /= p.sum(axis=0)
        g = pull(p)
        g *= share
        slope = (ZT @ g.T).T if issparse(Z) else g @ Z
        slope += np.float32(decay) * W
        if part is not None:
            slope *= part
        W -= by_slope.step(slope, rate)
        b -= by_offset.step(g.sum(axis=1), rate)
    whole = np.zeros_like(slopes)
    whole[:, used] = W
    return whole, b.astype(np.float64)


def toward(wanted: Floats) -> Any:
    """The pull of cross-entropy to wanted probabilities (n, k)."""
    goal = np.ascontiguousarray(wanted.T, dtype=np.float32)
    return lambda p: p - goal


def downhill(losses: Floats) -> Any:
    """The pull of the expected loss, of losses (n, k)."""
    cost = np.ascontiguousarray(losses.T, dtype=np.float32)
    return lambda p: p * (cost - np.einsum("kn,kn->n", p, cost))


def largest(W: Floats, n: int) -> Floats:
    """1 for the n largest entries of each row."""
    mask = np.zeros_like(W)
    np.put_along_axis(mask, np.argsort(-np.abs(W), axis=1, kind="stable")[:, :n], 1.0, axis=1)
    return mask
