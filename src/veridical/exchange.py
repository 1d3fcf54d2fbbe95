"""Explanations in the form that the plots of shap take."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError, require
from veridical.evaluate.align import check_places, keys_of
from veridical.records import Explanation, Floats, Part

ABSENT, PRESENT = "not there", "there"
PLACED = frozenset({"region", "tile", "slice", "stem", "window", "band"})  # parts whose value is their number


def one_for_shap(e: Explanation) -> Any:
    """One explanation, its parts by their names."""
    shap = require("shap", extra="shap")
    low, high = _bounds(e)
    found = shap.Explanation(
        values=np.array(e.weights),
        base_values=_base(e),
        feature_names=list(e.names),
        lower_bounds=low,
        upper_bounds=high,
    )
    found.output_names = str(e.target)  # a text is taken here, but not above
    return found


def many_for_shap(items: Sequence[Explanation]) -> Any:
    """Many explanations, a column for each part that any of them has."""
    if not items:
        raise InputError("there are no explanations to hand to shap")
    shap = require("shap", extra="shap")
    for e in items[1:]:
        check_places(items[0].view, e.view)
    keys = [list(each) for each in keys_of(items)]
    names = _names(keys, items)
    at = {key: j for j, key in enumerate(names)}
    values, data = (np.zeros((len(items), len(names))) for _ in range(2))
    bounds, shown = np.zeros((2, *values.shape)), np.full(values.shape, ABSENT, dtype=object)
    for i, (e, own) in enumerate(zip(items, keys, strict=True)):
        places = [at[key] for key in own]
        values[i, places], bounds[:, i, places] = e.weights, _bounds(e)
        data[i, places] = [_number(part) for part in e.parts]
        shown[i, places] = [_shown(part) for part in e.parts]
    found = shap.Explanation(
        values=values,
        base_values=np.array([_base(e) for e in items]),
        data=data,
        display_data=shown,
        feature_names=list(names.values()),
        lower_bounds=bounds[0],
        upper_bounds=bounds[1],
    )
    targets = {str(e.target) for e in items}
    found.output_names = targets.pop() if len(targets) == 1 else None
    return found


def _base(e: Explanation) -> float:
    """What is left of the surrogate's value without the weights."""
    return float(e.local_prediction - e.weights.sum())


def _bounds(e: Explanation) -> Floats:
    """The ends of the intervals (2, d), around the weight; nan where it was not measured."""
    ends: Floats = np.stack([np.minimum(e.intervals[:, 0], e.weights), np.maximum(e.intervals[:, 1], e.weights)])
    ends[:, ~np.isfinite(e.intervals).all(axis=1)] = np.nan
    return ends


def _names(keys: Sequence[Sequence[Hashable]], items: Sequence[Explanation]) -> dict[Hashable, str]:
    """A name for each key: of its column in a table, for the value is told beside it."""
    named = (
        (key, part) for own, e in zip(keys, items, strict=True) for key, part in zip(own, e.parts, strict=True)
    )
    return {key: part.column if key == part.column else part.name for key, part in named}


def _number(part: Part) -> float:
    """A number to color a part by: its value, the middle or edge of its bin, 1 where it is just there."""
    value = part.value
    if part.relation == "in":
        return float(np.mean([_plain(end) for end in value]))
    if isinstance(value, str) and part.relation == "=":
        return float("nan")
    if part.relation == "is missing":
        return float("nan")
    return 1.0 if value is None or isinstance(value, str) or part.relation in PLACED else _plain(value)


def _plain(value: Any) -> float:
    if isinstance(value, pd.Timestamp) and not pd.isna(value):
        return float(value.timestamp())
    return float(value) if isinstance(value, (Real, np.bool_)) else float("nan")


def _shown(part: Part) -> str:
    """The value of a part, to be read before "= its column"."""
    if part.relation == "in":
        low, high = part.value
        return f"{low:.4g} to {high:.4g}" if isinstance(low, Real) else f"{low} to {high}"
    if part.relation in ("≤", ">"):
        return part.name.removeprefix(part.column).strip()
    if part.relation in ("=", "per sd", "not zero"):
        return f"{part.value:.4g}" if isinstance(part.value, float) else str(part.value)
    return "missing" if part.relation == "is missing" else PRESENT
