"""Explanations in the form that the plots of shap take."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import date, time
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from veridical.comparisons.alignment import check_places, part_keys
from veridical.errors import InputError, MixedTargetsWarning, NoSumWarning, require
from veridical.records import IDENTITY, LOG_ODDS, PER_UNIT, Explanation, Floats, Part
from veridical.representations.tables.schema import list_some

NO_SUMS = frozenset(  # methods whose weights are each of its own: they are no shares of the prediction
    {
        *("Counterfactual", "DeconvNet", "Either", "Gradient", "Greedy", "GuidedBackprop", "Occlusion", "Parzen"),
        *("PatternNet", "RandomParts", "Sensitivity", "SmoothGrad", "SmoothGradSquared", "Undo", "VarGrad"),
    }
)
ABSENT, PRESENT = "not there", "there"
NONE_TESTED = "no part was tested, because what replaces the parts is what was there: give another fill=…"
PLACED = frozenset({"region", "tile", "slice", "stem", "window", "band"})  # parts whose value is their number


def one_for_shap(e: Explanation) -> Any:
    """One explanation, its parts by their names; by their columns where the row's own values stand beside them."""
    shap = require("shap", extra="shap")
    tested = e.tested
    if not tested.any():
        raise InputError(NONE_TESTED)
    low, high = _bounds(e)[:, tested]
    columns = [part.column for part in e.parts]
    named = bool(e.values) and len(set(columns)) == len(columns)
    names = columns if named else list(e.names)
    found = shap.Explanation(
        values=e.weights[tested],
        base_values=_base(e),
        data=_data(np.array([e.values], dtype=object)[:, tested])[0] if named else None,
        feature_names=[name for name, known in zip(names, tested, strict=True) if known],
        lower_bounds=low,
        upper_bounds=high,
    )
    found.output_names = _output_name([e])  # a text is taken here, but not above
    return found


def many_for_shap(items: Sequence[Explanation]) -> Any:
    """Many explanations, a column for each part that any of them has."""
    if not items:
        raise InputError("there are no explanations to hand to shap")
    shap = require("shap", extra="shap")
    for e in items[1:]:
        check_places(items[0].view, e.view)
    keys = [list(each) for each in part_keys(items)]
    names = _names(keys, items)
    at = {key: j for j, key in enumerate(names)}
    if len({e.scale for e in items}) > 1:  # on that of the outputs they can stand beside each other
        items = [on_outputs(e) for e in items]
    values, data = np.zeros((len(items), len(names))), np.zeros((len(items), len(names)), dtype=object)
    bounds, shown = np.zeros((2, *values.shape)), np.full(values.shape, ABSENT, dtype=object)
    for i, (e, own) in enumerate(zip(items, keys, strict=True)):
        places = [at[key] for key in own]
        values[i, places], bounds[:, i, places] = e.weights, _bounds(e)
        for j, part, *value in zip(places, e.parts, *([e.values] if e.values else []), strict=True):
            data[i, j] = _number(part) if not value or value[0] is None else value[0]
            shown[i, j] = _shown(part) if not value else _written(value[0])
    tested = np.asarray(~np.isnan(values).any(axis=0))  # in all rows that have the part, for shap knows no gaps
    if not tested.any():
        bare = [i if e.row is None else e.row for i, e in enumerate(items) if not e.tested.any()]
        where = (
            f"row{'s' * (len(bare) > 1)} {list_some(bare, 3)}: leave {'them' if len(bare) > 1 else 'it'} out, for "
        )
        raise InputError(f"{where * bool(bare)}{NONE_TESTED}")
    values = values[:, tested]
    found = shap.Explanation(
        values=values,
        base_values=np.array([_local_sum(e) for e in items]) - values.sum(axis=1),
        data=_data(data[:, tested]),
        display_data=shown[:, tested],
        feature_names=[name for name, known in zip(names.values(), tested, strict=True) if known],
        lower_bounds=bounds[0][:, tested],
        upper_bounds=bounds[1][:, tested],
    )
    found.output_names = _output_name(items)
    return found


def _data(values: Any) -> Any:
    """Numbers as floats, and anything else as it is."""
    numbers = all(isinstance(value, (Real, np.bool_)) for value in values.ravel())
    return values.astype(np.float64) if numbers else values


def _output_name(items: Sequence[Explanation]) -> str:
    """The target, or that there are several; and that weights are no sum, where they are none."""
    targets = list(dict.fromkeys(str(e.target) for e in items))
    several = f"several targets ({', '.join(targets[:5])}{', …' * (len(targets) > 5)})"
    name = several if len(targets) > 1 else targets[0]
    scales = {e.scale for e in items}
    if scales == {LOG_ODDS}:
        name = f"log-odds of {name}"
    if len(targets) > 1:
        warnings.warn(
            f"rows explain {several}; weights of different targets cannot be averaged or compared in one plot: "
            "explain all rows with one target=…",
            MixedTargetsWarning,
            stacklevel=4,
        )
    why = next(filter(None, map(why_no_sum, items)), "")
    if why:
        warnings.warn(f"{why}: read base value and sum of shap's plots as no more", NoSumWarning, stacklevel=4)
        return f"{name} ({why})"
    return name


def why_no_sum(e: Explanation) -> str:
    """Why the weights are no decomposition of the prediction, or nothing where they are."""
    method = e.recipe.get("method")
    name = method.get("name", "") if isinstance(method, Mapping) else ""
    if any(part.relation == PER_UNIT for part in e.parts):
        return "weights are per standard deviation of a number, and do not add up to the prediction"
    if name in NO_SUMS or e.purpose == "change" or e.path:
        return f"weights of {name or 'this method'} do not add up to the prediction"
    total = e.intercept + np.nansum(e.weights) + sum(pair.weight for pair in e.pairs)
    if not np.isclose(total, _local_sum(e), rtol=1e-6, atol=1e-9):
        return "weights do not add up to the prediction"
    return ""


def _local_sum(e: Explanation) -> float:
    """The local prediction on the scale on which weights are added up."""
    if e.scale == LOG_ODDS:  # of which the logarithm of the odds would lose digits
        return float(e.intercept + np.nansum(e.weights) + sum(pair.weight for pair in e.pairs))
    return e.local_prediction


def on_outputs(e: Explanation) -> Explanation:
    """The same explanation on the scale of the outputs: average changes nearby, and what is left of the prediction."""
    if e.changes is None:
        return e
    (weights, intervals), plain = e.on_outputs, {"curves": (), "pairs": (), "growth": 0.0, "changes": None}
    intercept = e.local_prediction - float(np.nansum(weights))
    return replace(e, weights=weights, intervals=intervals, intercept=intercept, scale=IDENTITY, **plain)  # type: ignore[arg-type]


def plain_dict(e: Explanation) -> dict[str, Any]:
    """An explanation as plain Python that ``json.dumps`` takes."""
    verdict, clear = e.verdict, e.clear.tolist()
    return {
        "row": to_plain(e.row),
        "target": to_plain(e.target),
        **{key: to_plain(getattr(e, key)) for key in ("prediction", "local_prediction", "intercept", "fidelity")},
        "parts": [
            {
                "name": part.name,
                "column": part.column,
                "value": to_plain(e.values[j]) if e.values else None,
                "weight": to_plain(e.weights[j]),
                "low": to_plain(e.intervals[j, 0]),
                "high": to_plain(e.intervals[j, 1]),
                "clear": clear[j],
            }
            for j, part in enumerate(e.parts)
        ],
        "verdict": {
            "label": verdict.label,
            "passed": bool(verdict.passed),
            "sentence": str(verdict.sentence),
            "faithful": to_plain(e.fidelity),
            "adds_up": to_plain(e.local_prediction - e.prediction),
            "stable": to_plain(e.top_probability),
            "advice": str(verdict.advice),
            "observed": to_plain(verdict.observed),
            "expected": to_plain(verdict.expected),
        },
        "scale": e.scale,
        "pairs": [
            {
                "names": [e.parts[j].name for j in pair.parts],
                "weight": to_plain(pair.weight),
                "low": to_plain(pair.interval[0]),
                "high": to_plain(pair.interval[1]),
            }
            for pair in e.pairs
        ],
        "curves": [
            {
                "column": e.parts[curve.part].column,
                "values": [to_plain(value) for value in curve.values],
                "effects": to_plain(curve.effects.tolist()),
                "low": to_plain(curve.intervals[:, 0].tolist()),
                "high": to_plain(curve.intervals[:, 1].tolist()),
            }
            for curve in e.curves
        ],
        "probabilities": [[to_plain(label), to_plain(p)] for label, p in e.probabilities],
        "n_calls": int(e.n_calls),
        "purpose": e.purpose,
        "notes": list(e.notes),
        "recipe": to_plain(e.recipe),
    }


def to_plain(value: Any) -> Any:
    """A value as JSON has it: nan and infinity are None, dates are ISO 8601, and what is left is its text."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Fraction):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(each) for each in value]
    if value is pd.NA or value is pd.NaT:
        return None
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


def _base(e: Explanation) -> float:
    """What is left of the surrogate's value without the weights."""
    return float(_local_sum(e) - np.nansum(e.weights))


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
        return float(np.mean([_to_number(end) for end in value]))
    if isinstance(value, str) and part.relation == "=":
        return float("nan")
    if part.relation == "is missing":
        return float("nan")
    return 1.0 if value is None or isinstance(value, str) or part.relation in PLACED else _to_number(value)


def _to_number(value: Any) -> float:
    if isinstance(value, pd.Timestamp) and not pd.isna(value):
        return float(value.timestamp())
    return float(value) if isinstance(value, (Real, np.bool_)) else float("nan")


def _written(value: Any) -> str:
    """The row's own value, to be read before "= its column"."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


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
