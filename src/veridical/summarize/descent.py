"""Moving a softmax gate downhill: in single precision, with instances along the last axis, which is fast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from veridical.records import Bools, Floats
from veridical.summarize.near import Matrix, is_sparse

Singles: TypeAlias = npt.NDArray[np.float32]
Pull: TypeAlias = Callable[[Singles], Singles]  # probabilities (k, n) to the gradient of the loss by the scores


@dataclass(eq=False)
class Adam:
    """Steps of even size, whatever the scale of the gradient."""

    first: Singles
    second: Singles
    n: int = 0

    @classmethod
    def like(cls, x: Singles) -> Adam:
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
        self, gate: tuple[Floats, Floats], pull: Pull, mask: Bools | None, steps: int, rate: float
    ) -> tuple[Floats, Floats]:
        """Slopes (k, d) and offsets (k,) after some steps; a mask says which slopes may differ from zero."""
        used = np.arange(self.rows.shape[1]) if mask is None else np.flatnonzero(mask.any(axis=0))
        rows: Any = (self.rows if mask is None else self.rows[:, used]).astype(np.float32)
        across: Any = rows.T.tocsr() if is_sparse(rows) else np.ascontiguousarray(rows.T)
        free = None if mask is None else mask[:, used].astype(np.float32)
        slopes, offsets = gate[0][:, used].astype(np.float32), gate[1].astype(np.float32)
        share = (self.shares / len(self.shares)).astype(np.float32)
        by_slope, by_offset = Adam.like(slopes), Adam.like(offsets)
        for _ in range(steps):
            scores = (rows @ slopes.T).T if is_sparse(rows) else slopes @ across
            gradient = pull(_softmax(scores + offsets[:, None])) * share
            slope = (across @ gradient.T).T if is_sparse(rows) else gradient @ rows
            slope = slope + np.float32(self.decay) * slopes
            slopes -= by_slope.step(slope if free is None else slope * free, rate)
            offsets -= by_offset.step(gradient.sum(axis=1), rate)
        whole = np.zeros_like(gate[0])
        whole[:, used] = slopes
        return whole, offsets.astype(np.float64)


def toward(wanted: Floats) -> Pull:
    """The pull of cross-entropy to wanted probabilities (n, k)."""
    goal = np.ascontiguousarray(wanted.T, dtype=np.float32)
    return lambda p: p - goal


def downhill(losses: Floats) -> Pull:
    """The pull of the expected loss, of losses (n, k)."""
    cost = np.ascontiguousarray(losses.T, dtype=np.float32)
    return lambda p: p * (cost - np.einsum("kn,kn->n", p, cost))


def _softmax(scores: Singles) -> Singles:
    scores -= scores.max(axis=0)
    odds = np.exp(scores, out=scores)
    odds /= odds.sum(axis=0)
    return odds
