"""Selectors: which parts a sparse explanation keeps, all from the Gram matrix alone.

A selector takes the Gram matrix of the centered designs (d, d), their product with the centered outputs (d,)
and k, and returns the positions of at most k parts.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import lars_path_gram

from veridical.records import Floats
from veridical.surrogates.least_squares import solve

__all__ = ["as_package", "forward_selection", "highest_weights", "lasso_path"]

Indices: TypeAlias = npt.NDArray[np.intp]


def highest_weights(gram: Floats, moment: Floats, k: int) -> Indices:
    """The k largest weights of the fit with all parts."""
    weights = solve(gram + 1e-10 * np.trace(gram) / len(gram) * np.eye(len(gram)), moment)
    return np.sort(np.argsort(-np.abs(weights), kind="stable")[:k])


def lasso_path(gram: Floats, moment: Floats, k: int) -> Indices:
    """K-LASSO: the last point of the lasso path that has at most k parts (LIME, section 3.4)."""
    if k >= len(moment):
        return np.arange(len(moment))
    scale = np.trace(gram) / len(gram)
    _, _, path = lars_path_gram(moment / scale, gram / scale, n_samples=1, method="lasso")
    sizes = np.count_nonzero(path, axis=0)
    return np.flatnonzero(path[:, np.flatnonzero(sizes <= k)[-1]])


def forward_selection(gram: Floats, moment: Floats, k: int) -> Indices:
    """Add, k times, the part that raises R² most, by sweeping the Gram matrix."""
    gram, moment = gram.copy(), moment.copy()
    enough = 1e-10 * np.diag(gram)
    chosen: list[int] = []
    for _ in range(min(k, len(moment))):
        rest = np.diag(gram)
        usable = rest > enough
        usable[chosen] = False
        if not usable.any():
            break
        gain = np.where(usable, moment**2 / np.where(usable, rest, 1.0), -np.inf)
        best = int(np.argmax(gain))
        chosen.append(best)
        row = gram[best] / rest[best]
        moment -= row * moment[best]
        gram -= np.outer(gram[:, best], row)
    return np.sort(np.array(chosen, dtype=np.intp))


def as_package(gram: Floats, moment: Floats, k: int) -> Indices:
    """The lime package's 'auto': forward selection up to six parts, highest weights above."""
    return (forward_selection if k <= 6 else highest_weights)(gram, moment, k)
