"""Explanations in the form that the plots of shap take, and weights of other libraries as explanations."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, time
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from veridical.comparisons.alignment import check_places, part_keys
from veridical.errors import InputError, MixedTargetsWarning, NoSumWarning, require, safe_repr, safe_str
from veridical.evidence.verdicts import Evidence, TopK, VerdictContext, judge
from veridical.models.outputs import VALUE
from veridical.records import (
    IDENTITY,
    LOG_ODDS,
    PER_UNIT,
    VERSION,
    Explanation,
    Explanations,
    Fit,
    Floats,
    Part,
)
from veridical.representations.tables.columns import format_number
from veridical.representations.tables.schema import is_missing, list_some

NO_SUMS = frozenset(  # methods whose weights are each of its own: they are no shares of the prediction
    {
        *("Counterfactual", "DeconvNet", "Either", "Gradient", "Greedy", "GuidedBackprop", "Occlusion", "Parzen"),
        *("PatternNet", "RandomParts", "Sensitivity", "SmoothGrad", "SmoothGradSquared", "Undo", "VarGrad"),
    }
)
ABSENT, PRESENT = "not there", "there"
NONE_TESTED = "no part was tested, because what replaces the parts is what was there: give another fill=…"
NO_INTERCEPT = "the intercept is not known, so that the base value is 0"
UNEQUAL = 1e-3  # of all weights, in size: how far intercept and weights may be from the prediction, for rounding
PLACED = frozenset({"region", "tile", "slice", "stem", "window", "band"})  # parts whose value is their number


def as_shap(record: Any) -> Any:
    """One explanation, or many."""
    return _one_for_shap(record) if isinstance(record, Explanation) else _many_for_shap(record.items)


def _one_for_shap(e: Explanation) -> Any:
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


def _many_for_shap(items: Sequence[Explanation]) -> Any:
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
            own_words = part.name.removeprefix(f"{part.column} = ")
            shown[i, j] = (
                _shown(part) if not value else _written(value[0]) if own_words == part.name else own_words
            )
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
    if math.isnan(e.intercept):
        return NO_INTERCEPT
    total = e.intercept + np.nansum(e.weights) + sum(pair.weight for pair in e.pairs)
    if not np.isclose(total, _local_sum(e), rtol=1e-6, atol=1e-9):
        return "weights do not add up to the prediction"
    return ""


def _local_sum(e: Explanation) -> float:
    """The local prediction on the scale on which weights are added up."""
    if math.isnan(e.intercept):  # of weights that came without one
        return float(np.nansum(e.weights))
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


# Weights of other libraries


def read_attributions(
    names: Any,
    weights: Any,
    intercept: Any = None,
    prediction: Any = None,
    values: Any = None,
    rows: Any = None,
    target: Any = VALUE,
    method: str = "attributions",
    intervals: Any = None,
    shown: Sequence[Any] | None = None,
) -> Explanation | Explanations:
    """Explanations of weights that were made elsewhere; ``shown`` are values as they are to be written."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"names are a list of texts, one per feature, not {safe_repr(names)}")
    columns = [safe_str(name) for name in names]
    if not columns:
        raise InputError("there are no features: give at least one name and one weight per row")
    found = _numbers("weights", _in_order("weights", weights, columns))
    if found.ndim not in (1, 2):
        raise InputError(
            f"weights are one per name (d,), or one line of them per row (n, d), not an array of shape {found.shape}; "
            "of several outputs, take those of one: weights[..., 1]"
        )
    if len(columns) != found.shape[-1]:
        raise InputError(
            f"there are {len(columns)} names and {found.shape[-1]} weights per row: give one name each"
        )
    if len(set(columns)) < len(columns):
        twice = list(dict.fromkeys(name for name in columns if columns.count(name) > 1))
        raise InputError(f"names must differ, and {list_some(twice, 3)} came more than once")
    if not isinstance(method, str) or not method:
        raise InputError(f"method is the name of what made the weights, as a text, not {safe_repr(method)}")
    lines, single = np.atleast_2d(found), found.ndim == 1
    n, d = lines.shape
    bounds = _bounds_of(intervals, lines)
    own = _values_of(_in_order("values", values, columns), (n, d), single)
    bases, answers, called, targets = (
        _per_row(name, given, n, single)
        for name, given in (
            ("intercept", intercept),
            ("prediction", prediction),
            ("rows", rows),
            ("target", target),
        )
    )
    items = tuple(
        attribution(
            named_parts(columns, line_values, words),
            line,
            ends,
            base=_number_of("intercept", base),
            prediction=_number_of("prediction", answer),
            values=() if line_values is None else tuple(line_values),
            row=row,
            target=wanted,
            method=method,
        )
        for line, ends, line_values, words, base, answer, row, wanted in zip(
            lines, bounds, own, shown or own, bases, answers, called, targets, strict=True
        )
    )
    return items[0] if single else Explanations(items)


def named_parts(columns: Sequence[str], values: Any = None, shown: Any = None) -> tuple[Part, ...]:
    """Features of these columns, named by the row's own values where there are any, as ``shown`` writes them."""
    if values is None:
        return tuple(Part(column, column, "=") for column in columns)
    words = shown if shown is not None else values
    return tuple(
        Part(f"{column} is missing", column, "is missing")
        if is_missing(value)
        else Part(f"{column} = {_in_words(word)}", column, "=", value)
        for column, value, word in zip(columns, values, words, strict=True)
    )


def attribution(
    parts: tuple[Part, ...],
    weights: Floats,
    intervals: Floats,
    *,
    base: float,
    prediction: float,
    values: tuple[Any, ...] = (),
    row: Any = None,
    target: Any = VALUE,
    method: str = "attributions",
) -> Explanation:
    """One explanation of weights that were made elsewhere, whose fit was not measured."""
    local = base + float(np.nansum(weights))  # nan without an intercept
    notes, tested = list[str](), ~np.isnan(weights)
    answer = local if math.isnan(prediction) else prediction
    if math.isnan(prediction) and not math.isnan(local):
        notes.append("The prediction was not given: it is taken to be the intercept plus all weights.")
    if abs(local - answer) > UNEQUAL * float(np.nansum(np.abs(weights))) + 1e-9:
        notes.append(f"Intercept and weights add up to {local:.4g}, {local - answer:+.3g} off the prediction.")
    known, heavy = np.isfinite(intervals).all(axis=1), np.nan_to_num(weights) != 0
    clear = np.where(known, (intervals[:, 0] > 0) | (intervals[:, 1] < 0), heavy)
    fit = Fit(
        np.nan_to_num(weights), base, np.empty((0, 0)), local, math.nan, tested, tested, math.nan, tested=tested
    )
    evidence = Evidence(intervals, math.nan, (), clear)
    told = "" if target == VALUE else safe_str(target)
    verdict = judge(fit, evidence, VerdictContext(parts, told, answer, local, 0.0, None, 0, method=method))
    if heavy.any() and not clear.any() and tested.any():
        verdict = replace(
            verdict, sentence="No weight can be told from zero, by the intervals that came with them."
        )
    return Explanation(
        parts=parts,
        weights=weights,
        intervals=np.where(tested[:, None], intervals, np.nan),
        intercept=base,
        prediction=answer,
        local_prediction=local,
        fidelity=math.nan,
        effective_size=math.inf if known.any() else 0.0,
        n_calls=0,
        target=target,
        top_k=TopK().k,
        top_probability=math.nan,
        unsettled=(),
        verdict=verdict,
        recipe={
            "veridical": VERSION,
            "method": {"name": method},
            "target": None,
            "classes": None,
            "rng": None,
            "shared": False,
        },
        notes=tuple(notes),
        row=row,
        values=values,
        positions=tuple(range(len(parts))) if values else (),
    )


def _numbers(name: str, given: Any) -> Floats:
    """Numbers as an array of our own; those of torch leave their graph and device."""
    detach = getattr(given, "detach", None)
    try:
        found = np.array(detach().cpu().numpy() if detach is not None else given, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InputError(f"{name} must be numbers, not {safe_repr(given, 80)}: {cause}") from cause
    if np.isinf(found).any():
        raise InputError(f"{name} must be finite, or nan where a feature was not tested; some are infinite")
    return found


def _number_of(name: str, given: Any) -> float:
    """A number, or nan where none was given."""
    if given is None:
        return math.nan
    found = _numbers(name, given)
    if found.size != 1:
        raise InputError(
            f"{name} is one number per row, not {found.size}: of several outputs, take the one explained"
        )
    return float(found.item())


def _in_order(name: str, given: Any, columns: Sequence[str]) -> Any:
    """A Series or DataFrame with its columns in the order of the names; anything else as it is."""
    if not isinstance(given, (pd.Series, pd.DataFrame)):
        return given
    labels = list(given.index if isinstance(given, pd.Series) else given.columns)
    if labels == list(range(len(labels))) or [str(label) for label in labels] == list(columns):
        return given
    at = {str(label): i for i, label in enumerate(labels)}
    if sorted(at) != sorted(columns) or len(at) != len(labels):
        raise InputError(
            f"{name} has labels {list_some(labels, 4)}, which are not the names {list_some(list(columns), 4)}: give the "
            "same labels, in any order, or an array"
        )
    order = [at[column] for column in columns]
    return given.iloc[order] if isinstance(given, pd.Series) else given.iloc[:, order]


def _bounds_of(given: Any, weights: Floats) -> Floats:
    """Intervals (n, d, 2): as given, the weights themselves where 0 says that they are exact, else infinite."""
    if given is None:
        return np.broadcast_to(np.array([-math.inf, math.inf]), (*weights.shape, 2)).copy()
    if isinstance(given, Real) and given == 0:
        return np.stack([weights, weights], axis=-1)
    found = _numbers("intervals", given)
    found = found[None] if found.ndim == 2 else found
    if found.shape != (*weights.shape, 2):
        raise InputError(
            f"intervals are a low and a high end per weight, {(*weights.shape, 2)}, or 0 where weights are exact, "
            f"not of shape {found.shape}"
        )
    slack = 1e-9 * np.abs(weights)
    wrong = (found[..., 0] > weights + slack) | (found[..., 1] < weights - slack)  # of nan, neither is true
    if wrong.any():
        row, place = np.argwhere(wrong)[0].tolist()
        low, high = found[row, place].tolist()
        raise InputError(
            f"an interval goes from a low to a high end around its weight; {low:.4g} to {high:.4g} does not hold the "
            f"weight {weights[row, place]:.4g} (row {row}, feature {place})"
        )
    unknown = np.isnan(found).any(axis=-1, keepdims=True)
    return np.where(unknown, np.array([-math.inf, math.inf]), found)


def _values_of(given: Any, shape: tuple[int, int], single: bool) -> list[Any]:
    """The rows' own values, a list per row; None where there are none."""
    if given is None:
        return [None] * shape[0]
    frame = given.to_frame().T if isinstance(given, pd.Series) else given
    if isinstance(frame, pd.DataFrame):
        lines = [list(line) for line in frame.itertuples(index=False, name=None)]
    else:
        try:
            lines = [list(line) for line in ([given] if single else given)]
        except TypeError as cause:
            raise InputError(f"values are those of each row, {shape}, not {safe_repr(given, 80)}") from cause
    if len(lines) != shape[0] or any(len(line) != shape[1] for line in lines):
        raise InputError(f"values are one per weight, {shape}, and there are {[len(line) for line in lines[:5]]}")
    return [[value.item() if isinstance(value, np.generic) else value for value in line] for line in lines]


def _per_row(name: str, given: Any, n: int, single: bool) -> list[Any]:
    """One entry per row, of one for all or one each."""
    if single and np.shape(given) == (1,):
        return list(given)
    if single or np.shape(given) == ():
        return [given] * n
    found = [value.item() if isinstance(value, np.generic) else value for value in given]
    if len(found) != n:
        raise InputError(f"{name} is one for all rows or one per row: there are {n} rows, and {len(found)} came")
    return found


def _in_words(value: Any) -> str:
    """A value as names of features have it."""
    number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    return format_number(float(value), 4) if number and math.isfinite(value) else safe_str(value)
