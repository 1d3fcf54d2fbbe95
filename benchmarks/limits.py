"""What both libraries estimate: the weights that an endless sample would give.

Written from the formulas alone (lime's law and kernel, least squares without a ridge), so that it shares no
code with the engine it judges. The law does not depend on the row: one sample serves every row of a problem.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from problems import Floats, Problem

SAMPLES = 2**15
SCRAMBLES = 8
CACHE = Path(__file__).parent / ".cache"
RARE = 0.01  # a part is judged if its share p of samples has p (1 - p) of at least this

Draw: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]  # uniforms to values and states


@dataclass(frozen=True, eq=False)
class Column:
    """How a column is sampled; a state is a bin, a category, or the standardized number itself."""

    draw: Draw
    state: Callable[[float], float]
    is_number: bool


@dataclass(frozen=True, eq=False)
class Limits:
    """The large-sample weights of some rows, how well they are known, and which parts can be judged."""

    weights: Floats  # (rows, d)
    errors: Floats  # (rows, d) standard errors, from independent scrambles
    shares: Floats  # (rows, d) probability that a sample keeps the part; nan for numbers

    @property
    def judged(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        return ~(self.shares * (1 - self.shares) < RARE)

    def relative_error(self, row: int) -> float:
        """Error of the limit itself, relative to its size, on the judged parts."""
        at = self.judged[row]
        return float(np.linalg.norm(self.errors[row, at]) / np.linalg.norm(self.weights[row, at]))


def limits(problem: Problem, n_rows: int = 1, samples: int = SAMPLES) -> Limits:
    """Limits of the first rows of a problem; kept on disk, because two benchmarks need them."""
    path = CACHE / f"{problem.name}-{_fingerprint(problem, n_rows, samples)}.npz"
    if path.exists():
        kept = np.load(path)
        return Limits(kept["weights"], kept["errors"], kept["shares"])
    found = _limits(problem, n_rows, samples)
    CACHE.mkdir(exist_ok=True)
    np.savez(path, weights=found.weights, errors=found.errors, shares=found.shares)
    return found


def _limits(problem: Problem, n_rows: int, samples: int) -> Limits:
    codes = problem.codes
    columns = law(codes.encode(problem.background), codes.categorical, problem.discretized)
    rows = codes.encode(problem.rows[:n_rows])
    targets = [problem.target(i) for i in range(n_rows)]
    own = np.array([[c.state(x) for c, x in zip(columns, row, strict=True)] for row in rows])
    is_number = np.array([c.is_number for c in columns])
    found = np.empty((SCRAMBLES, *own.shape))
    kept = np.empty((SCRAMBLES, *own.shape))
    for s in range(SCRAMBLES):
        uniform = qmc.Sobol(len(columns), scramble=True, rng=1000 + s).random(samples)
        drawn = [c.draw(u) for c, u in zip(columns, uniform.T, strict=True)]
        outputs = problem.predict(codes.decode(np.stack([values for values, _ in drawn], axis=1)))
        states = np.stack([state for _, state in drawn], axis=1)
        for i, target in enumerate(targets):
            designs = np.where(is_number, states, states == own[i])
            gaps = np.where(is_number, states - own[i], 1 - designs)
            proximity = np.exp(-np.sum(gaps**2, axis=1) / (2 * 0.75**2 * len(columns)))
            found[s, i] = least_squares(designs, outputs[:, target], proximity)
            kept[s, i] = np.where(is_number, np.nan, designs.mean(axis=0))
    errors = found.std(axis=0, ddof=1) / np.sqrt(SCRAMBLES)
    return Limits(found.mean(axis=0), errors, kept.mean(axis=0))


def law(background: Floats, categorical: Sequence[int], discretized: bool) -> list[Column]:
    """lime's law of a table: every column by itself."""
    return [
        category(column) if j in categorical else bins(column) if discretized else number(column)
        for j, column in enumerate(background.T)
    ]


def category(column: Floats) -> Column:
    """A category, as often as it was seen."""
    levels, counts = np.unique(column, return_counts=True)
    ends = np.cumsum(counts) / counts.sum()

    def draw(u: Floats) -> tuple[Floats, Floats]:
        state = np.searchsorted(ends[:-1], u, side="right")
        return levels[state], state.astype(float)

    return Column(draw, lambda x: float(np.searchsorted(levels, x)), is_number=False)


def bins(column: Floats) -> Column:
    """A quartile as often as it was seen, and inside it a truncated normal."""
    edges = np.unique(np.percentile(column, [25, 50, 75]))
    state = np.searchsorted(edges, column)
    full = np.unique(state)  # bins without a value are never drawn
    share = np.bincount(state)[full] / len(column)
    mean = np.array([column[state == b].mean() for b in full])
    sd = np.array([max(column[state == b].std(), 1e-11) for b in full])
    low = np.append(column.min(), edges)[full]
    high = np.append(edges, column.max())[full]
    below, above = ndtr((low - mean) / sd), ndtr((high - mean) / sd)
    ends = np.cumsum(share)
    begins = ends - share

    def draw(u: Floats) -> tuple[Floats, Floats]:
        b = np.searchsorted(ends[:-1], u, side="right")
        inside = np.clip((u - begins[b]) / share[b], 0, 1)
        values = mean[b] + sd[b] * ndtri(below[b] + inside * (above[b] - below[b]))
        return np.clip(values, low[b], high[b]), full[b].astype(float)

    return Column(draw, lambda x: float(np.searchsorted(edges, x)), is_number=False)


def number(column: Floats) -> Column:
    """A normal with the column's mean and spread."""
    mean, sd = column.mean(), column.std()

    def draw(u: Floats) -> tuple[Floats, Floats]:
        z = ndtri(np.clip(u, 1e-12, 1 - 1e-12))
        return mean + sd * z, z

    return Column(draw, lambda x: float((x - mean) / sd), is_number=True)


def least_squares(designs: Floats, outputs: Floats, proximity: Floats) -> Floats:
    """Weighted least squares with an intercept; a part that never changes gets zero."""
    root = np.sqrt(proximity)[:, None]
    share = proximity / proximity.sum()
    A = (designs - share @ designs) * root
    gram = A.T @ A
    gram[np.diag_indices(len(gram))] += 1e-9 * proximity.sum()
    solved: Floats = np.linalg.solve(gram, A.T @ ((outputs - share @ outputs) * root[:, 0]))
    return solved


def _fingerprint(problem: Problem, n_rows: int, samples: int) -> str:
    """Changes whenever the data, the model or this file does."""
    answers = problem.predict(problem.background[:200])
    own = problem.codes.encode(problem.rows[:n_rows])
    text = Path(__file__).read_bytes() + answers.tobytes() + own.tobytes() + str((n_rows, samples)).encode()
    return hashlib.sha256(text).hexdigest()[:16]
