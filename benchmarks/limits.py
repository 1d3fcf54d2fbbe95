"""What both libraries estimate: the weights that an endless sample would give.

Written from the formulas alone (lime's laws and kernels, least squares without a ridge), so that it shares no
code with the engine it judges. A table's law does not depend on the row: one sample serves every row of a
problem. Masks of few parts are all counted; otherwise they are sampled, each size as often as it should be.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln
from scipy.stats import qmc

from laws import Floats, columns_of, every_mask, masks, probabilities

if TYPE_CHECKING:
    from problems import MaskProblem, Problem
    from tabular import TableProblem

SAMPLES = 2**15
SCRAMBLES = 8
CACHE = Path(__file__).parent / ".cache"
RARE = 0.01  # a part is judged if its share p of samples has p (1 - p) of at least this
ALL = 16  # up to this many parts, every mask is asked about
CHUNK = 2**12  # inputs in memory at once


@dataclass(frozen=True, eq=False)
class Limits:
    """The large-sample weights of some rows, how well they are known, and which parts can be judged.

    Rows of a text have parts of their own, so these are lists over rows.
    """

    weights: list[Floats]  # (d,) a row
    errors: list[Floats]  # (d,) standard errors, from independent samples
    shares: list[Floats]  # (d,) probability that a sample keeps the part; nan for numbers

    def judged(self, row: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        return ~(self.shares[row] * (1 - self.shares[row]) < RARE)

    def relative_error(self, row: int) -> float:
        """Error of the limit itself, relative to its size, on the judged parts."""
        at = self.judged(row)
        return float(np.linalg.norm(self.errors[row][at]) / np.linalg.norm(self.weights[row][at]))


def limits(problem: Problem, n_rows: int = 1, samples: int = SAMPLES) -> Limits:
    """Limits of the first rows of a problem; kept on disk, because several benchmarks need them."""
    here = Path(__file__).parent
    code = (here / "limits.py").read_bytes() + (here / "laws.py").read_bytes()
    key = hashlib.sha256(code + problem.fingerprint(n_rows) + str((n_rows, samples)).encode()).hexdigest()[:16]
    path = CACHE / f"{problem.name}-{key}.npz"
    if path.exists():
        kept = np.load(path)
        return Limits(*([kept[f"{what}_{i}"] for i in range(n_rows)] for what in ("weights", "errors", "shares")))
    found = problem.limits(n_rows, samples)
    CACHE.mkdir(exist_ok=True)
    arrays = {"weights": found.weights, "errors": found.errors, "shares": found.shares}
    np.savez(path, **{f"{what}_{i}": row for what, rows in arrays.items() for i, row in enumerate(rows)})
    return found


def table_limits(problem: TableProblem, n_rows: int, samples: int) -> Limits:
    codes = problem.codes
    columns = columns_of(codes.encode(problem.background), codes.categorical, problem.discretized)
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
    return Limits(list(found.mean(axis=0)), list(errors), list(kept.mean(axis=0)))


def mask_limits(problem: MaskProblem, n_rows: int, samples: int) -> Limits:
    """The limit of each row; exact, without an error, where every mask is asked about."""
    weights, errors, shares = [], [], []
    for i in range(n_rows):
        law = problem.law(problem.n_parts(i))
        d = len(law) - 1
        if d <= ALL:
            designs = every_mask(d)
            found = least_squares(designs, _answers(problem, i, designs), probabilities(law))[None]
        else:
            designs = [masks(law, samples, np.random.default_rng([1000, i, s])) for s in range(SCRAMBLES)]
            alike = np.ones(samples)
            found = np.stack([least_squares(z, _answers(problem, i, z), alike) for z in designs])
        weights.append(found.mean(axis=0))
        errors.append(found.std(axis=0, ddof=1) / np.sqrt(SCRAMBLES) if len(found) > 1 else np.zeros(d))
        shares.append(np.full(d, law @ np.arange(d + 1) / d))
    return Limits(weights, errors, shares)


def _answers(problem: MaskProblem, row: int, designs: Floats) -> Floats:
    """The explained output of every mask."""
    target = problem.target(row)
    pieces = (designs[start : start + CHUNK] for start in range(0, len(designs), CHUNK))
    return np.concatenate([problem.predict(problem.inputs(row, piece))[:, target] for piece in pieces])


def least_squares(designs: Floats, outputs: Floats, proximity: Floats) -> Floats:
    """Weighted least squares with an intercept; a part that never changes gets zero."""
    root = np.sqrt(proximity)[:, None]
    share = proximity / proximity.sum()
    A = (designs - share @ designs) * root
    gram = A.T @ A
    gram[np.diag_indices(len(gram))] += 1e-9 * proximity.sum()
    solved: Floats = np.linalg.solve(gram, A.T @ ((outputs - share @ outputs) * root[:, 0]))
    return solved


def shapley_values(d: int, outputs: Floats) -> Floats:
    """Shapley values by their definition: each of all masks that has a part, against each that has not."""
    designs = every_mask(d)
    s = designs.sum(axis=1)
    choose = np.exp(gammaln(d + 1) - gammaln(s + 1) - gammaln(d - s + 1))
    inside = np.where(s > 0, 1 / (np.maximum(s, 1) * choose), 0.0)
    outside = np.where(s < d, 1 / (np.maximum(d - s, 1) * choose), 0.0)
    values: Floats = designs.T @ (inside * outputs) - (1 - designs).T @ (outside * outputs)
    return values
