"""One additive model of a shared sample, so that many instances need no least squares of their own.

The model's answers are fitted once by a sum of one effect a state of each part. The weights that such a sum
has at any instance are known without sampling, since the parts are drawn independently. What is left over has
no main effects, so each part's weight in it is a plain weighted covariance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from veridical.attribute.ask import Target
from veridical.attribute.least_squares import BLOCKS, steadiness
from veridical.attribute.linear import measured, over_all_parts
from veridical.attribute.neighborhood import Answers
from veridical.records import Fit, Floats, Neighborhood, Shareable

HEAVIEST = 12  # parts whose weights' covariances are worked out; the others' are taken as independent
CROWDED = 4  # samples an effect, below which an additive model would be fitted to noise


@dataclass(frozen=True, eq=False)
class Sum:
    """An additive model: its effects, and its values at the samples."""

    constant: float
    effects: Floats  # (states,)
    values: Floats  # (n,)

    def per(self, unit: float) -> Sum:
        """The same model of outputs that are divided by a unit."""
        return self if unit == 1.0 else Sum(self.constant / unit, self.effects / unit, self.values / unit)


@dataclass(frozen=True, eq=False)
class Sums:
    """The additive models of a shared sample, one a target and number of samples, each fitted once."""

    answers: Answers
    fitted: dict[tuple[int, str], Sum | None] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def __call__(self, n: int, target: Target) -> Sum | None:
        """The model of a target over the first n samples; None where there is none worth having."""
        key = (n, repr(target.key))
        with self.lock:
            if key not in self.fitted:
                self.fitted[key] = self._fit(n, target)
        return self.fitted[key]

    def _fit(self, n: int, target: Target) -> Sum | None:
        common, pieces = self.answers.common, self.answers.first(n)
        if not 0 < CROWDED * common.n_states <= n:
            return None
        X = np.concatenate([common.indicators(values) for values, _ in pieces])
        y = target.read(np.concatenate([outputs for _, outputs in pieces]))
        centers, mean = X.mean(axis=0), float(y.mean())
        C = X - centers
        gram = C.T @ C
        gram[np.diag_indices(len(gram))] += 1e-8 * n  # the states of a part sum to 1
        effects = np.linalg.solve(gram, C.T @ (y - mean))
        constant = mean - float(centers @ effects)
        return Sum(constant, effects, X @ effects + constant)


def fit_beside(near: Neighborhood, y: Floats, known: Sum, row: Shareable) -> Fit:
    """The linear surrogate of outputs (n + 1,), given an additive model of them."""
    Z, w, y, n = near.designs[1:], near.weights[1:], y[1:], len(y) - 1
    live = measured(near)
    base, intercept = row.weights_of(known.constant, known.effects)
    rest = y - known.values
    mass = float(w.sum())
    shift = float(w @ rest) / mass
    rest -= shift
    kept, pulled = np.stack([w, w * rest]) @ Z
    share = kept / mass
    spread = np.where(live, mass * share * (1 - share), 1.0)
    slope = np.where(live, pulled, 0.0) / spread
    weights = np.where(live, base + slope, 0.0)
    intercept += shift - float(share @ slope)
    by_slope, by_weights = (Z @ np.stack([slope, weights], axis=1)).T
    error = (rest - by_slope + share @ slope) * w
    error /= 1 - len(known.effects) / n
    covariance, steady = _covariance(Z, error, share, spread, weights)
    plain = y - by_weights
    plain -= intercept
    left_out = float(w @ (plain * plain)) * (1 + steady * (len(live) + 1) / (n - len(live) - 1)) ** 2
    deviation = y - float(w @ y) / mass
    total = float(w @ (deviation * deviation))
    fidelity = 1 - left_out / total if total > 0 else float("nan")
    return over_all_parts(near, live, weights, covariance, intercept, fidelity)


def _covariance(Z: Floats, error: Floats, share: Floats, spread: Floats, weights: Floats) -> tuple[Floats, float]:
    """Covariance of the weights from the errors, deflated for a net, and by how much."""
    n = len(Z)
    # Row 0: squared errors; row 1 + b: the errors of block b alone. One product gives all their sums.
    by_block = np.zeros((1 + BLOCKS, n))
    by_block[0] = error * error
    by_block[1 + np.arange(n) // -(-n // BLOCKS), np.arange(n)] = error
    totals, sums = by_block.sum(axis=1), by_block @ Z
    kept = sums[0]
    covariance = np.diag((kept * (1 - 2 * share) + totals[0] * share**2) / spread**2)
    top = np.argsort(-np.abs(weights), kind="stable")[:HEAVIEST]
    heavy, m, u = Z[:, top], share[top], kept[top]
    cross = np.outer(m, u)
    both = heavy.T @ (heavy * by_block[0, :, None]) - cross - cross.T + totals[0] * np.outer(m, m)
    covariance[np.ix_(top, top)] = both / np.outer(spread[top], spread[top])
    steady = steadiness((sums[1:] - totals[1:, None] * share) / spread, covariance)
    return covariance * steady, steady
