"""Linear surrogates of many instances at once, from samples that they share.

Each instance's numbers come out the same to the last bit, however many are worked on together. Sums over samples
that are one matrix product for all instances are made exact: their terms are rounded to a grid so coarse that no
sum of them is rounded again. All else is worked out for each instance alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from veridical.attribute.least_squares import BLOCKS, CONFUSED, FEW, LEAST, steadiness
from veridical.attribute.linear import effective_sizes
from veridical.records import Bools, Fit, Floats, Neighborhood
from veridical.represent.together import Together


@dataclass(frozen=True, eq=False)
class Fits:
    """As many fits as there are instances."""

    weights: Floats  # (r, d)
    intercept: Floats  # (r,)
    covariance: Floats  # (r, d, d)
    local_prediction: Floats  # (r,)
    fidelity: Floats  # (r,)
    measured: Bools  # (r, d)
    degrees: Floats  # (r,)
    effective_size: Floats  # (r,)
    open: Bools  # (r,) whether some part could be measured with more samples

    @classmethod
    def joined(cls, pieces: Sequence[Fits]) -> Fits:
        """Those of some instances, and of others after them."""
        return cls(*(np.concatenate([getattr(piece, f.name) for piece in pieces]) for f in fields(cls)))

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, i: int) -> Fit:
        weights, covariance, live = self.weights[i], self.covariance[i], self.measured[i]
        intercept, local, fidelity, degrees = (
            float(each[i]) for each in (self.intercept, self.local_prediction, self.fidelity, self.degrees)
        )
        return Fit(weights, intercept, covariance, local, fidelity, live, live, degrees)


def of_one(near: Neighborhood) -> Together:
    """The neighborhood of one instance as that of many."""
    d = len(near.names)
    designs, own = near.designs[1:].T, near.designs[:1]
    return Together(designs, np.arange(d)[None], near.weights[None, 1:], own, near.design.shares[None])


def on_grid(terms: Floats) -> Floats:
    """The terms of sums, rounded in place so that the sum of a row, or of some of it, is exact: (r, n)."""
    _, exponents = np.frexp(np.abs(terms).max(axis=1, keepdims=True))
    beyond = np.ldexp(1.5, exponents + int(terms.shape[1]).bit_length())
    terms += beyond
    terms -= beyond
    return terms


def measured_at_once(seen: Together) -> tuple[Bools, Floats]:
    """Which parts the samples vary enough to weigh (r, d), and how many samples of equal weight there are (r,)."""
    size, (_, n), d = effective_sizes(seen.weights), seen.weights.shape, seen.at.shape[1]
    varied = np.isnan(seen.shares) | (n * seen.shares * (1 - seen.shares) >= LEAST)
    return varied & (size >= d + 2)[:, None], size


def fits_of(
    seen: Together, live: Bools, size: Floats, weights: Floats, covariance: Floats, others: Sequence[Floats]
) -> Fits:
    """Fits of all parts; one that was not measured has infinite variance."""
    intercept, fidelity = others
    if not live.all():
        covariance = np.where(live[:, :, None] & live[:, None], covariance, 0.0)
        np.einsum("rdd->rd", covariance)[...] += np.where(live, 0.0, np.inf)
    local = intercept + (seen.own * weights).sum(axis=1)
    degrees = np.maximum(size - live.sum(axis=1) - 1, 1.0)
    unmeasured = np.any(~live & (seen.shares > 0) & (seen.shares < 1), axis=1)
    return Fits(weights, intercept, covariance, local, fidelity, live, degrees, size, unmeasured)


def share_explained(left_out: Floats, weights: Floats, y: Floats) -> Floats:
    """One minus what is left out of the weighted squares of outputs (n,), for weights (r, n)."""
    mean = (weights * y).sum(axis=1) / weights.sum(axis=1)
    total = (weights * np.square(y - mean[:, None])).sum(axis=1)
    explained: Floats = np.where(total > 0, 1 - left_out / np.where(total > 0, total, 1.0), np.nan)
    return explained


def fits_alone(seen: Together, y: Floats) -> Fits:
    """Weighted least squares of outputs (n,) of a net, with HC3 errors, for each instance.

    As ``Linear`` does for one, but without selection or control variates.
    """
    W, n, (r, d) = seen.weights, len(y), seen.at.shape
    live, size = measured_at_once(seen)
    mass = W.sum(axis=1)
    mean = (W * y).sum(axis=1) / mass
    root = np.sqrt(W)
    columns = np.empty((r, d + 1, n))  # the parts, then the outputs
    columns[:, :d], columns[:, d] = seen.states[seen.at], y - mean[:, None]
    A, t = columns[:, :d], columns[:, d]
    center = (A @ W[:, :, None])[:, :, 0] / mass[:, None]
    A -= center[:, :, None]
    columns *= root[:, None]
    if not live.all():
        A[~live] = 0.0
    products = columns @ columns.transpose(0, 2, 1)
    gram, moment = products[:, :d, :d], products[:, :d, d:]
    spread = np.einsum("rdd->rd", gram).copy()
    np.einsum("rdd->rd", gram)[...] += np.where(live, 1e-10 * spread, 1.0)
    inverse = np.asarray(np.linalg.inv(gram), np.float64)
    weights = (inverse @ moment)[:, :, 0]
    live &= np.einsum("rdd->rd", inverse) * spread < CONFUSED
    plain = t - (weights[:, None] @ A)[:, 0]
    room = 1 - np.minimum(W / mass[:, None] + _pull(A, inverse, spread), 0.99)
    A *= (plain / room)[:, None]
    covariance = inverse @ (A @ A.transpose(0, 2, 1)) @ inverse
    sums = np.add.reduceat(A, np.arange(0, n, -(-n // BLOCKS)), axis=2).transpose(0, 2, 1)
    steady = steadiness(sums @ inverse, np.trace(covariance, axis1=1, axis2=2))
    covariance *= steady[:, None, None]
    left_out = np.square(plain * (1 + steady[:, None] * (1 / room - 1))).sum(axis=1)
    intercept = mean - (center * weights).sum(axis=1)
    weights = np.where(live & (np.abs(weights) >= 1e-9 * np.abs(weights).max(axis=1, keepdims=True)), weights, 0.0)
    return fits_of(seen, live, size, weights, covariance, (intercept, share_explained(left_out, W, y)))


def _pull(A: Floats, inverse: Floats, spread: Floats) -> Floats:
    """Leverages (r, n) of columns A (r, d, n): exact, or added up over the parts where samples are many."""
    many = A.shape[2] >= FEW * np.count_nonzero(spread, axis=1)
    exact = np.where(many[:, None, None], 0.0, inverse)
    np.einsum("rdd->rd", exact)[many] = 1 / np.maximum(spread[many], 1e-300)
    pulled = exact @ A
    pulled *= A
    return np.asarray(pulled.sum(axis=1))
