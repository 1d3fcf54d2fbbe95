"""Simulated raters, as in section 6.4 of the LIME paper: ten test predictions each, and whether they trust it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

N_RATERS = 27  # as many as in the paper
SEEN = {(True, True): 4, (False, False): 4, (True, False): 1, (False, True): 1}  # by breed (first?) and snow
RIGHT = 8  # of ten: with fewer, nobody trusts a model
MOST = 0.5  # of the pictures


def panel(found: Mapping[str, Any], how: str, seed: int) -> dict[str, Any]:
    """How many of the raters trust a model: by its accuracy alone, and by each kind of explanation beside it."""
    rng = np.random.default_rng([N_RATERS, seed])  # the same raters for all models
    seen = np.stack([ten(found["first"], found["snow"], rng) for _ in range(N_RATERS)])
    enough = np.array(found[how]["right"])[seen].sum(axis=1) >= RIGHT
    trusted: dict[str, Any] = {"n": N_RATERS, "accuracy alone": int(enough.sum())}
    for method, values in found[how]["shown"].items():
        beyond = np.nan_to_num(np.array(values, float) - found["area"], nan=0.0)  # an empty one shows nothing
        trusted[method] = int((enough & ~suspects(beyond[seen])).sum())
    return trusted


def ten(first: Any, snow: Any, rng: np.random.Generator) -> Any:
    """Ten pictures for one rater: four and four as trained, and one of each other kind."""
    kinds = np.stack([np.asarray(first, bool), np.asarray(snow, bool)], axis=1)
    drawn = [rng.choice(np.flatnonzero((kinds == kind).all(axis=1)), n, replace=False) for kind, n in SEEN.items()]
    return np.concatenate(drawn)


def suspects(beyond: Any) -> Any:
    """Whether what is shown lies on the background more than by chance in most of the pictures (last axis)."""
    return (beyond > 0).mean(axis=-1) > MOST
