"""Sparse weighted regressions, many at a time, from moments alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from veridical.records import Bools, Floats
from veridical.summarize.near import Lines, Matrix, Near, is_sparse

DENSE = 300  # features up to which all moments are worked out; beyond, those of the most promising ones
PACKED = 2**25  # numbers that moments of every instance may take
SWAPS = 10  # features up to which each chosen one is weighed against all others
FAINT = 1e-3  # share of the largest weight below which a neighbor does not count
TINY = 1e-6  # share of a feature's spread that the others must leave of it

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Regressions:
    """Weighted least squares on the neighbors, with at most so many features in each model.

    ``ridge`` is relative to the sum of weights.
    """

    near: Near
    ridge: float = 1e-3
    packed: Floats | None = None  # (n, m) upper half of the moments of each instance's neighbors, if they are few

    @classmethod
    def of(cls, near: Near, ridge: float = 1e-3) -> Regressions:
        """Moments that are worked out once, where memory allows."""
        e = near.designs.shape[1] + 2
        few = not is_sparse(near.designs) and len(near) * e * (e + 1) // 2 <= PACKED
        return cls(near, ridge, _packed(near) if few else None)

    def fit(self, shares: Floats, n_features: int) -> Lines:
        """One model a column of shares (n, k): how much each instance counts for it."""
        k, d = shares.shape[1], self.near.designs.shape[1]
        weights, intercepts = np.zeros((k, d)), np.zeros(k)
        sums = None if self.packed is None else shares.T @ self.packed
        for g in range(k):
            if sums is not None:
                columns, M = np.arange(d), _unpacked(sums[g], d + 2)
            else:
                columns, M = self._moments(shares[:, g])
            weights[g, columns], intercepts[g] = solve_sparse(M, n_features, self.ridge)
        return Lines(weights, intercepts)

    def _moments(self, shares: Floats) -> tuple[Indices, Floats]:
        """The moments of one model, and of which features; neighbors that hardly count are left out."""
        near, d = self.near, self.near.designs.shape[1]
        w = np.repeat(shares, near.values.shape[1]) * near.flat_weights
        live = np.flatnonzero(w > FAINT * w.max())
        designs, w, y = near.designs[live], w[live], near.values.ravel()[live]
        columns = np.arange(d) if d <= DENSE else promising(designs, w, y, DENSE)
        return columns, moments(designs[:, columns] if len(columns) < d else designs, w, y)


def _packed(near: Near) -> Floats:
    n, p = near.values.shape
    A = np.column_stack([near.designs, np.ones(n * p), near.values.ravel()]) * np.sqrt(near.flat_weights)[:, None]
    A = A.reshape(n, p, -1)
    rows, columns = np.triu_indices(A.shape[2])
    found = np.empty((n, len(rows)))
    for i in range(0, n, 256):
        some = A[i : i + 256]
        found[i : i + 256] = np.einsum("npi,npj->nij", some, some)[:, rows, columns]
    return found


def _unpacked(half: Floats, e: int) -> Floats:
    """Moments of weights that sum to one."""
    M = np.zeros((e, e))
    rows, columns = np.triu_indices(e)
    M[rows, columns] = M[columns, rows] = half
    M /= max(float(M[e - 2, e - 2]), 1e-300)
    M[e - 2, e - 2] = 1.0  # also where nothing counts
    return M


def moments(designs: Matrix, w: Floats, y: Floats) -> Floats:
    """Weighted second moments of the features, 1 and y, (d + 2, d + 2), of weights that sum to one."""
    d = designs.shape[1]
    w = w / w.sum()
    M = np.empty((d + 2, d + 2))
    if is_sparse(designs):
        scaled = designs.multiply(w[:, None]).tocsr()
        M[:d, :d] = (designs.T @ scaled).toarray()
        M[:d, d], M[:d, d + 1] = np.asarray(scaled.sum(axis=0)).ravel(), scaled.T @ y
    else:
        scaled = designs * w[:, None]
        M[:d, :d] = designs.T @ scaled
        M[:d, d], M[:d, d + 1] = scaled.sum(axis=0), scaled.T @ y
    M[d:, :d] = M[:d, d:].T
    M[d, d], M[d, d + 1], M[d + 1, d + 1] = 1.0, w @ y, w @ np.square(y)
    M[d + 1, d] = M[d, d + 1]
    return M


def promising(designs: Matrix, w: Floats, y: Floats, n: int) -> Indices:
    """The n features that go best with y, one at a time."""
    w = w / w.sum()
    mean = np.asarray(designs.T @ w).ravel()
    square = designs.multiply(designs) if is_sparse(designs) else np.square(designs)
    spread = np.asarray(square.T @ w).ravel() - mean**2
    together = np.asarray(designs.T @ (w * (y - w @ y))).ravel()
    score = np.where(spread > 1e-12, together**2 / np.maximum(spread, 1e-12), 0.0)
    return np.sort(np.argsort(-score, kind="stable")[:n])


def solve_sparse(M: Floats, n_features: int, ridge: float) -> tuple[Floats, float]:
    """Forward selection by sweeping, then each chosen feature against all others."""
    d = len(M) - 2
    spread = np.diag(M)[:d] - M[:d, d] ** 2
    swept = M.copy()
    swept[np.arange(d), np.arange(d)] += ridge
    sweep(swept, d)
    least = ridge + TINY * np.maximum(spread, 0) + 1e-12  # what never varies has the ridge alone
    chosen: list[int] = []
    for _ in range(min(n_features, d)):
        best = _best(swept, chosen, least)
        if best is None:
            break
        sweep(swept, best)
        chosen.append(best)
    if len(chosen) < d and n_features <= SWAPS:
        _exchange(swept, chosen, least)
    beta = np.zeros(d)
    beta[chosen] = swept[chosen, d + 1]
    return beta, float(swept[d, d + 1])


def _exchange(swept: Floats, chosen: list[int], least: Floats, passes: int = 2) -> None:
    """Let each chosen feature go, and take the best one instead."""
    for _ in range(passes):
        changed = False
        for old in list(chosen):
            unsweep(swept, old)
            chosen.remove(old)
            best = _best(swept, chosen, least, favorite=old)
            new = old if best is None else best
            sweep(swept, new)
            chosen.append(new)
            changed |= new != old
        if not changed:
            return


def _best(swept: Floats, chosen: list[int], least: Floats, favorite: int | None = None) -> int | None:
    """The feature that lowers the error most; a tie goes to the favorite, then to the first."""
    d = len(swept) - 2
    left = np.diag(swept)[:d]
    usable: Bools = left > least
    usable[chosen] = False
    gain = np.where(usable, swept[:d, d + 1] ** 2 / np.where(usable, left, 1.0), -1.0)
    best = int(np.argmax(gain))
    if gain[best] <= 0:
        return None
    if favorite is not None and gain[favorite] * (1 + 1e-6) >= gain[best]:
        return favorite
    return best


def sweep(M: Floats, j: int) -> None:
    """Take variable j into the regression, in place."""
    pivot, row = M[j, j], M[j].copy()
    M -= np.outer(row, row / pivot)
    M[j] = M[:, j] = row / pivot
    M[j, j] = -1 / pivot


def unsweep(M: Floats, j: int) -> None:
    """Take variable j out of the regression again, in place."""
    pivot, row = M[j, j], M[j].copy()
    M -= np.outer(row, row / pivot)
    M[j] = M[:, j] = -row / pivot
    M[j, j] = -1 / pivot


def batch_errors(M: Floats, n_features: int, least: Any) -> Floats:
    """Errors that forward selection leaves of many moments (b, d + 2, d + 2) at once: (b,)."""
    M = M.copy()
    b, d = len(M), M.shape[1] - 2
    each, features = np.arange(b), np.arange(d)
    mass = np.maximum(M[:, d, d], 1e-300)
    M -= M[:, :, d, None] * (M[:, d, None, :] / mass[:, None, None])
    used = np.zeros((b, d), bool)
    for _ in range(min(n_features, d)):
        left = M[:, features, features]
        usable = (left > least) & ~used
        gain = np.where(usable, M[:, :d, d + 1] ** 2 / np.where(usable, left, 1.0), -1.0)
        best = gain.argmax(axis=1)
        good = gain[each, best] > 0
        column = M[each, :, best]
        pivot = np.where(good, M[each, best, best], 1.0)
        M -= (good / pivot)[:, None, None] * column[:, :, None] * column[:, None, :]
        used[each, best] = True
    return np.maximum(M[:, d + 1, d + 1], 0.0)
