"""Methods with settings that many tests share."""

from __future__ import annotations

from typing import Any

import veridical as vd


def linear_lime(**settings: Any) -> vd.Lime:
    """LIME as its papers have it: a linear model, fitted to samples of LIME's own law."""
    return vd.Lime(surrogate=vd.surrogates.Linear(), **settings)
