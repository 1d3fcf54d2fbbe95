"""Which kind of column is which: the rules by which a background is learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.records import Floats
from veridical.represent.background import Background
from veridical.represent.columns import (
    Binned,
    Coded,
    Normal,
    as_numbers,
    learn_binned,
    learn_categories,
    learn_group,
    learn_levels,
)
from veridical.represent.discretize import Discretizer, Edges, Quantiles
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
    coded = {position_of(schema, c, "categorical") for c in categorical}
    fixed = {position_of(schema, c, "immutable") for c in immutable}
    valid = {position_of(schema, c, "ranges"): limits for c, limits in ranges.items()}
    groups = {name: [position_of(schema, c, "onehot") for c in members] for name, members in onehot.items()}
    grouped = {p for members in groups.values() for p in members}
    if len(grouped) < sum(map(len, groups.values())):
        raise InputError("a column can be in one one-hot group only")
    columns: list[tuple[int, Kind]] = []
    for name, members in groups.items():
        block = np.stack([as_numbers(schema.column(table, p)) for p in members], axis=1)
        if not fixed.intersection(members):
            columns.append((members[0], learn_group(name, members, [schema.names[p] for p in members], block)))
    constant = []
    for p, name in enumerate(schema.names):
        if p in grouped or p in fixed:
            continue
        column = learn_column(name, p, schema.column(table, p), p in coded, discretize, valid.get(p))
        if column is None:
            constant.append(name)
        else:
            columns.append((p, column))
    if not columns:
        raise InputError(
            "no column of the background varies, so there is nothing to take away: "
            "give a background with different rows"
        )
    notes = []
    if constant:
        notes.append(f"left out, because they never vary in the background: {some(constant)}")
    if fixed:
        notes.append(f"never changed, as declared: {some(schema.names[p] for p in sorted(fixed))}")
    return Background(schema, tuple(c for _, c in sorted(columns, key=lambda pc: pc[0]))), tuple(notes)


def learn_column(
    name: str,
    position: int,
    values: Any,
    is_category: bool,
    discretize: Discretizer,
    valid: tuple[float, float] | None,
) -> Kind | None:
    """One column; None if it never varies."""
    values = _refined(values)
    distinct = pd.unique(pd.Series(values))
    if len(distinct) < 2:
        return None
    number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    date = pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values)
    if is_category or not (number or date):
        return learn_categories(name, position, values)
    numbers = as_numbers(values)
    if np.isinf(numbers).any():
        raise InputError(f"column {name!r} of the background has infinite values; wanted finite numbers")
    _check_range(name, numbers, valid)
    edges = discretize.edges(numbers, name, position)
    whole = not pd.api.types.is_float_dtype(values)
    if edges is None:
        if number and not np.isnan(numbers).any():
            return _learn_normal(name, position, numbers, valid, whole)
        edges = Quantiles(4).edges(numbers, name, position)
        assert edges is not None
    if len(distinct) == 2 and not isinstance(discretize, Edges):
        return learn_categories(name, position, values)
    return (learn_levels if whole else learn_binned)(name, position, values if whole else numbers, edges)


def position_of(schema: Schema, column: str | int, argument: str) -> int:
    """A column by its name or position."""
    if schema.labels is not None and column in schema.labels:
        return int(schema.labels.get_loc(column))  # type: ignore[arg-type]
    if isinstance(column, str) and column in schema.names:
        return schema.names.index(column)
    if isinstance(column, (int, np.integer)) and 0 <= column < len(schema.names):
        return int(column)
    raise InputError(f"{argument} names the column {column!r}, but the background has {some(schema.names)}")


def _learn_normal(
    name: str, position: int, numbers: Floats, valid: tuple[float, float] | None, whole: bool
) -> Normal:
    mean, sd = float(numbers.mean()), float(numbers.std())
    low, high = valid or (-np.inf, np.inf)
    return Normal(name, position, mean, sd, (low - mean) / sd, (high - mean) / sd, whole)


def _check_range(name: str, numbers: Floats, valid: tuple[float, float] | None) -> None:
    if valid is None:
        return
    low, high = valid
    if not low < high:
        raise InputError(f"the range of {name!r} must be (low, high) with low < high, not {valid}")
    if np.nanmin(numbers) < low or np.nanmax(numbers) > high:
        raise InputError(
            f"the background has values of {name!r} outside its range {valid}: "
            f"from {np.nanmin(numbers):g} to {np.nanmax(numbers):g}"
        )


def _refined(values: Any) -> Any:
    """A column of objects that are all numbers is a column of numbers."""
    if pd.api.types.is_object_dtype(values):
        inferred: Any = pd.Series(values).infer_objects().array
        return values if inferred.dtype == object else inferred
    return values
