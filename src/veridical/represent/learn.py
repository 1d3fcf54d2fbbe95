"""Which kind of column is which: the rules by which a background is learned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import floor
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.records import Floats
from veridical.represent.background import Background
from veridical.represent.columns import (
    CELLS,
    Binned,
    Coded,
    Line,
    Normal,
    as_numbers,
    as_ticks,
    is_time,
    learn_binned,
    learn_categories,
    learn_group,
    learn_levels,
    learn_pair,
    numpy_type,
)
from veridical.represent.discretize import Discretizer, Edges, Entropy, Quantiles
from veridical.represent.foreign import refusal
from veridical.represent.schema import Schema, some

Kind = Binned | Coded | Normal


def learn(
    schema: Schema,
    table: Any,
    *,
    discretize: Discretizer,
    categorical: Sequence[str | int],
    onehot: Mapping[str, Sequence[str | int]],
    immutable: Sequence[str | int],
    ranges: Mapping[str | int, tuple[float, float]],
) -> tuple[Background, tuple[str, ...]]:
    """The background, and notes on the columns that are no part of any explanation."""
    coded = positions_of(schema, categorical, "categorical")
    fixed = positions_of(schema, immutable, "immutable")
    if not isinstance(ranges, Mapping):
        raise InputError(f"ranges wants a mapping of columns to (low, high), not {type(ranges).__name__}")
    valid = {position_of(schema, c, "ranges"): limits for c, limits in ranges.items()}
    groups = _groups(schema, onehot)
    if isinstance(discretize, Edges):
        for column in discretize.by_column:
            position_of(schema, column, "Edges")
    columns: list[tuple[int, Kind]] = []
    constant = []
    for name, members in groups.items():
        group = learn_group(schema, table, name, members)
        if 1 in np.diff(group.cumulative, prepend=0.0):
            constant.append(name)
        elif not fixed.intersection(members):
            columns.append((members[0], group))
    for p in sorted(set(range(len(schema.names))) - fixed - {p for members in groups.values() for p in members}):
        kind = learn_column(schema, table, p, p in coded, discretize, valid.get(p))
        if kind is None:
            constant.append(schema.names[p])
        else:
            columns.append((p, kind))
    if not columns:
        raise InputError(
            "no column of the background varies and may change, so there is nothing to take away: "
            "give a background with different rows, and leave some columns out of immutable"
        )
    notes = []
    if constant:
        notes.append(f"left out, because they never vary in the background: {some(constant)}")
    if fixed:
        notes.append(f"never changed, as declared: {some(schema.names[p] for p in sorted(fixed))}")
    parts = tuple(c for _, c in sorted(columns, key=lambda pc: pc[0]))
    return Background(schema, parts, schema.rows(table, 0, 1).copy(), sorted(fixed), len(table)), tuple(notes)


def _groups(schema: Schema, onehot: Any) -> dict[str, list[int]]:
    """Positions of the columns of each one-hot group."""
    if not isinstance(onehot, Mapping):
        raise InputError(f"onehot wants a mapping of group names to columns, not {type(onehot).__name__}")
    groups = {str(name): sorted(positions_of(schema, m, "onehot")) for name, m in onehot.items()}
    seen: set[int] = set()
    for name, members in groups.items():
        if len(members) < 2:
            raise InputError(f"the one-hot group {name!r} wants at least two columns, not {len(members)}")
        for p in seen.intersection(members):
            raise InputError(f"a column can be in one one-hot group only; {schema.names[p]} is in two")
        seen.update(members)
    return groups


def learn_column(
    schema: Schema, table: Any, position: int, is_category: bool, discretize: Discretizer, valid: Any
) -> Kind | None:
    """One column; None if it never varies."""
    name, own = schema.names[position], schema.column(table, position)
    if pd.api.types.is_object_dtype(own.dtype):
        _check_truths(name, own)
    values = _refined(own)
    if getattr(values.dtype, "kind", "") == "c":
        raise InputError(refusal(f"column {name!r}", values.dtype))
    distinct = _n_distinct(name, values)
    number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    if valid is not None:
        _check_range(name, values if number and not is_category else None, valid)
    if distinct < 2:
        return None
    if is_category or not (number or is_time(values.dtype)):
        return learn_categories(name, position, values, own)
    line = Line.of(values)
    numbers = line.numbers(values)
    if np.isinf(numbers).any():
        raise InputError(f"column {name!r} of the background has infinite values; wanted finite numbers")
    size = float(np.nanmax(np.abs(numbers)))
    if not 1e-100 < size < 1e100:
        raise InputError(f"column {name!r} of the background has values of size {size:g}: give it in another unit")
    edges = _edges(discretize, values, numbers, name, position, line)
    whole = not pd.api.types.is_float_dtype(values)
    if edges is None:
        if number and not np.isnan(numbers).any():
            return _learn_normal(name, position, numbers, valid, schema.dtypes[position] if whole else None, line)
        edges = Quantiles(4).edges(numbers, name, position)
        assert edges is not None
    if len(edges) >= CELLS // 2:
        raise InputError(f"column {name!r} has {len(edges) + 1} bins; wanted at most {CELLS // 2}")
    if distinct == 2 and not isinstance(discretize, Edges):
        return learn_pair(name, position, values, line, own)
    if whole:
        return learn_levels(name, position, values, edges, line, own)
    return learn_binned(name, position, numbers, edges)


def _edges(
    discretize: Discretizer, values: Any, numbers: Floats, name: str, position: int, line: Line
) -> Floats | None:
    """The discretizer's edges, counted from the line's origin; a caller's own may be dates."""
    if line.dtype is None and not line.origin:
        return discretize.edges(numbers, name, position)
    if isinstance(discretize, Edges):
        given = discretize.by_column.get(name, discretize.by_column.get(position))
        if given is None:
            return Quantiles(4).edges(numbers, name, position)
        try:
            counted = _counted(list(given), line)
        except (TypeError, ValueError, OverflowError) as cause:
            kind = "numbers" if line.dtype is None else f"values of {line.dtype}"
            raise InputError(f"the edges of {name!r} must be a list of {kind}, not {given!r}") from cause
        return Edges({name: counted}).edges(numbers, name, position)
    if isinstance(discretize, (Quantiles, Entropy)):  # which go by the order of the values alone, or by steps
        return discretize.edges(numbers, name, position)
    found = discretize.edges(numbers + line.origin, name, position)  # a caller's own knows of no origin
    return None if found is None else np.array([floor(edge) - line.origin for edge in found], float)


def _counted(edges: list[Any], line: Line) -> list[float]:
    """Edges as numbers of a line, in whole steps from its origin."""
    if line.dtype is None:
        return [floor(edge) - line.origin for edge in edges]
    dtype: Any = getattr(line.dtype, "numpy_dtype", line.dtype)
    dates = np.array(edges, dtype) if isinstance(dtype, np.dtype) else pd.array(edges, dtype=dtype)
    return [float(number) for number in line.numbers(dates)]


def _check_truths(name: str, values: Any) -> None:
    """Refuse True beside 1, or False beside 0: they are equal, and would pass for one category."""
    if bool in (kinds := set(map(type, values))) and len(kinds) > 1:
        truths = {v for v in values if type(v) is bool}
        both = next((v for v in values if type(v) is not bool and isinstance(v, Real) and v in truths), None)
        if both is not None:
            raise InputError(
                f"column {name!r} holds both {bool(both)} and {both!r}, which are equal and cannot be told apart: "
                "make them one type"
            )


def _n_distinct(name: str, values: Any) -> int:
    """How many values a column has, a missing one among them."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        return len(np.unique(as_ticks(values)[0]))
    kind = getattr(values.dtype, "kind", "")
    dtype = object if pd.api.types.is_object_dtype(values.dtype) or kind in ("U", "S") else None
    try:
        series = pd.Series(values, dtype=dtype)
        found = len(pd.unique(series))
        if dtype is object and found == 1:  # pandas 3.0 takes all lone surrogates for one
            found = int((~series.duplicated()).sum())
        return found
    except (TypeError, NotImplementedError) as cause:
        raise InputError(
            f"column {name!r} holds {type(values[0]).__name__} values, which cannot be told apart: leave it out, "
            "or name it in immutable"
        ) from cause


def positions_of(schema: Schema, columns: Any, argument: str) -> set[int]:
    """Columns by name or position."""
    if isinstance(columns, (str, bytes, Mapping)) or not isinstance(columns, Iterable):
        raise InputError(f"{argument} wants a list of columns, not {columns!r}")
    return {position_of(schema, c, argument) for c in columns}


def position_of(schema: Schema, column: str | int, argument: str) -> int:
    """A column by its name or position."""
    try:
        if schema.labels is not None and column in (labels := list(schema.labels)):
            return labels.index(column)
    except (TypeError, ValueError):
        pass  # what no label is: an array, say
    if isinstance(column, str) and column in schema.names:
        return schema.names.index(column)
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(schema.names):
        return int(column)
    raise InputError(f"{argument} names the column {column!r}, but the background has {some(schema.names)}")


def _learn_normal(name: str, position: int, numbers: Floats, valid: Any, whole_type: Any, line: Line) -> Normal:
    """Mean and spread, cut to the valid range and to what a type of whole numbers can hold."""
    mean, sd = float(numbers.mean()), float(numbers.std())
    low, high = (end - line.origin for end in valid or (-np.inf, np.inf))
    if whole_type is not None and pd.api.types.is_integer_dtype(whole_type):
        limits = np.iinfo(numpy_type(whole_type))
        low, high = max(low, limits.min - line.origin), min(high, limits.max - line.origin)
    ends = [(end - mean) / sd for end in (low, high)]
    low, high = (end if valid or abs(end) < 8 else np.copysign(np.inf, end) for end in ends)
    return Normal(name, position, mean, sd, float(low), float(high), whole_type is not None, line)


def _check_range(name: str, values: Any, valid: Any) -> None:
    if not (isinstance(valid, Sequence) and len(valid) == 2 and valid[0] < valid[1]):
        raise InputError(f"the range of {name!r} must be (low, high) with low < high, not {valid!r}")
    if values is None:
        raise InputError(f"a range is for numbers, and the column {name!r} holds something else")
    numbers = as_numbers(values)
    if np.nanmin(numbers) < valid[0] or np.nanmax(numbers) > valid[1]:
        raise InputError(
            f"the background has values of {name!r} outside its range {valid}: "
            f"from {np.nanmin(numbers):g} to {np.nanmax(numbers):g}"
        )


def _refined(values: Any) -> Any:
    """A column of objects that are all numbers is a column of numbers."""
    if pd.api.types.is_object_dtype(values):
        try:
            inferred: Any = pd.Series(values, dtype=object).infer_objects().array
        except ValueError:  # a text that is no valid Unicode
            return values
        return values if pd.api.types.is_object_dtype(inferred.dtype) else inferred
    return values
