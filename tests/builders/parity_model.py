"""A fixed function of scikit-learn's wine data, so that recorded numbers do not depend on a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np

ROW = 20


def score(X: Any) -> Any:
    """A saturating function with an interaction: columns 0 alcohol, 6 flavanoids, 9 color, 12 proline."""
    X = np.asarray(X, float)
    alcohol, flavanoids, color, proline = X[:, 0] - 13, X[:, 6] - 2, X[:, 9] - 5, (X[:, 12] - 750) / 300
    return 1 / (1 + np.exp(-(1.2 * alcohol + 0.8 * flavanoids - 0.3 * color + 0.9 * proline * alcohol)))


def levels(X: Any) -> Any:
    """A function of four columns of levels 0, 1 and 2, with interactions of two and three."""
    X = np.asarray(X, float)
    return X[:, 0] + 0.5 * X[:, 1] * X[:, 2] - 0.25 * X[:, 0] * X[:, 2] * X[:, 3]
