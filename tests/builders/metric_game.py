"""A fixed function of twelve parts and an explanation of it, so that recorded numbers do not depend on a model."""

from __future__ import annotations

from typing import Any

import numpy as np

D = 12
COEFFICIENTS = np.array([1.5, -0.4, 0.9, 0.1, 0.6, -0.2, 0.3, 1.1, -0.7, 0.05, 0.8, -0.1])
WEIGHTS = np.array([0.31, -0.05, 0.22, 0.01, 0.11, -0.07, 0.02, 0.19, -0.16, 0.03, 0.13, -0.04])
TRUTH = COEFFICIENTS > 0.55


def play(masks: Any) -> Any:
    """A saturating function with an interaction of parts 0 and 2; works on arrays and tensors."""
    linear = (
        sum(float(c) * masks[:, j] for j, c in enumerate(COEFFICIENTS)) + 0.8 * masks[:, 0] * masks[:, 2] - 1.2
    )
    return 1 / (1 + 2.718281828459045 ** (-linear))
