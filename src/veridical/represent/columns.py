"""What is learned of each column of a background: its states, how often each occurs, and their names.

A part is sampled through one uniform number. For every kind of column that number picks a *cell*, and the
cells that an instance's own state covers are one range: so 'did the sample keep the part' is two integer
comparisons, whatever the column holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr, ndtri

from veridical.errors import InputError
from veridical.records import Floats, Part
from veridical.represent.schema import Schema, never_missing, some

CELL_BITS = 10
CELLS = 2**CELL_BITS  # of a binned column: the rates of its bins are rounded to this grid


@dataclass(frozen=True, eq=False)
class Binned:
    """A column of floats in bins; inside a bin a truncated normal, as in the lime package."""

    column: str
    position: int
    edges: Floats  # (bins - 1,), without the missing state
    bounds: npt.NDArray[np.int32]  # (states + 1,) first cell of each state; a last state may be 'missing'
    left: Floats  # (CELLS,) value where a cell begins
    rise: Floats  # (CELLS,) from there to its end
    parts: tuple[Part, ...]  # one a state

    @property
    def has_missing(self) -> bool:
        return len(self.parts) > len(self.edges) + 1

    @property
    def sd(self) -> float:
        return float(np.nanstd(self.left + self.rise / 2))


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of levels: categories, whole numbers or dates, sampled as often as they were seen."""

    column: str
    positions: tuple[int, ...]  # several for a one-hot group
    levels: Any  # (levels,) in the column's own type, or (levels, width) for a group
    order: Any  # pandas Index to look a value up, or (levels,) floats for binned numbers
    edges: Floats | None  # between bins of numbers; None where each level is a state
    bounds: npt.NDArray[np.int32]  # (states + 1,) first level of each state
    cumulative: Floats  # (levels,) share of rows up to and including a level
    parts: tuple[Part, ...]

    def states(self, values: Any) -> npt.NDArray[np.int64]:
        """The state each value is in; an unknown one is an error."""
        if self.edges is not None:
            found = np.searchsorted(self.edges, as_numbers(values), side="left")
        else:
            found = self.order.get_indexer(pd.Index(values))
        missing = np.asarray(pd.isna(values))
        if missing.any():
            if not self.has_missing:
                raise InputError(never_missing(self.column))
            found = np.where(missing, len(self.parts) - 1, found)
        if (found < 0).any():
            unknown = values[int(np.flatnonzero(found < 0)[0])]
            raise InputError(
                f"unknown category {unknown!r} in column {self.column!r}; the background has {some(self.order)}"
            )
        return np.asarray(found)

    @property
    def has_missing(self) -> bool:
        return self.parts[-1].relation == "is missing"

    @property
    def sd(self) -> float:
        """Of numbers or dates, in the unit of their type."""
        shares = np.diff(self.cumulative, prepend=0.0)[: len(self.order)]
        mean = np.average(self.order, weights=shares)
        return float(np.sqrt(np.average(np.square(self.order - mean), weights=shares)))


@dataclass(frozen=True, eq=False)
class Normal:
    """A column of numbers without bins: normal with the background's mean and spread."""

    column: str
    position: int
    mean: float
    sd: float
    low: float  # valid range, in standard units
    high: float
    whole: bool  # the model wants whole numbers

    def part(self, value: float) -> Part:
        return Part(self.column, self.column, "per sd", float(value))


def as_numbers(values: Any) -> Floats:
    """Numbers, dates and durations (in the unit of their type) on one number line; missing is nan."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return values.astype(np.float64, copy=False)
    if pd.api.types.is_datetime64_any_dtype(values):
        ticks: Any = pd.DatetimeIndex(values).asi8
    elif pd.api.types.is_timedelta64_dtype(values):
        ticks = pd.TimedeltaIndex(values).asi8
    else:
        return np.asarray(pd.Series(values).to_numpy(dtype=np.float64, na_value=np.nan))
    return np.where(np.asarray(pd.isna(values)), np.nan, ticks.astype(np.float64))


def learn_binned(column: str, position: int, values: Floats, edges: Floats) -> Binned:
    """Bins, their rates and a truncated normal in each, plus a state for missing values."""
    seen = values[~np.isnan(values)]
    state = np.searchsorted(edges, seen, side="left")
    n_bins, missing = len(edges) + 1, len(values) - len(seen)
    counts = np.append(np.bincount(state, minlength=n_bins), [missing] if missing else []).astype(float)
    widths = _round_to_cells(counts / len(values))
    bounds = np.append(0, np.cumsum(widths)).astype(np.int32)
    inner = np.clip(edges, seen.min(), seen.max())
    low, high = np.append(seen.min(), inner), np.append(inner, seen.max())
    left, rise = np.full(CELLS, np.nan), np.zeros(CELLS)
    for b in range(n_bins):
        if widths[b]:
            ends = _truncated_normal(seen[state == b], low[b], high[b], int(widths[b]))
            cells = slice(bounds[b], bounds[b + 1])
            left[cells], rise[cells] = ends[:-1], np.diff(ends)
    parts = (*bin_parts(column, edges, values.dtype), *((_missing(column),) if missing else ()))
    return Binned(column, position, edges, bounds, left, rise, parts)


def learn_categories(column: str, position: int, values: Any) -> Coded:
    """Every category a state; missing values, if there are any, are the last one."""
    missing = np.asarray(pd.isna(values))
    codes, order = pd.factorize(pd.Series(values), sort=False)
    order = pd.Index(order)
    try:
        order = order.sort_values()
        codes = order.get_indexer(pd.Index(values))
    except TypeError:  # categories of mixed types have no order
        pass
    if missing.any():
        codes = np.where(missing, len(order), codes)
    n_states = len(order) + bool(missing.any())
    first = np.zeros(n_states, int)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    parts = tuple(Part(f"{column} = {v}", column, "=", _plain(v)) for v in order)
    parts += (_missing(column),) * bool(missing.any())
    return _coded(column, (position,), values[first], order, edges=None, codes=codes, parts=parts)


def learn_levels(column: str, position: int, values: Any, edges: Floats) -> Coded:
    """Whole numbers or dates in bins; inside a bin, the values that were seen."""
    numbers = as_numbers(values)
    missing = np.isnan(numbers)
    order, first, seen = np.unique(numbers[~missing], return_index=True, return_inverse=True)
    codes = np.full(len(numbers), len(order))
    codes[~missing] = seen
    first = np.flatnonzero(~missing)[first]
    parts = bin_parts(column, edges, values.dtype)
    if missing.any():
        first, parts = np.append(first, np.flatnonzero(missing)[0]), (*parts, _missing(column))
    return _coded(column, (position,), values[first], order, edges=edges, codes=codes, parts=parts)


def learn_pair(column: str, position: int, values: Any) -> Coded:
    """A column of two numbers, or of one that is missing now and then: states by value, as categories are."""
    seen = np.unique(as_numbers(values)[~np.asarray(pd.isna(values))])
    found = learn_levels(column, position, values, seen[:-1] + np.diff(seen) / 2)
    shown = readable(seen, values.dtype)
    named = [Part(f"{column} = {text}", column, "=", value) for value, text in zip(*shown, strict=True)]
    return replace(found, parts=(*named, *found.parts[len(seen) :]))


def learn_group(schema: Schema, table: Any, name: str, positions: Sequence[int]) -> Coded:
    """One-hot columns that change together."""
    codes = hot_codes(schema, table, name, positions)
    labels = [_suffix(schema.names[p], name) or schema.names[p] for p in positions]
    parts = tuple(Part(f"{name} = {label}", name, "=", label) for label in labels)
    order = pd.RangeIndex(len(positions))
    levels = np.eye(len(positions))
    return _coded(name, tuple(positions), levels, order, edges=None, codes=codes, parts=parts)


def hot_codes(schema: Schema, table: Any, name: str, positions: Sequence[int]) -> npt.NDArray[np.int64]:
    """Which column of a one-hot group is 1 in each row."""
    try:
        block = np.stack([as_numbers(schema.column(table, p)) for p in positions], axis=1)
        good = np.isin(block, (0, 1)).all() and (block.sum(axis=1) == 1).all()
    except (TypeError, ValueError):
        good = False
    if not good:
        names = some(schema.names[p] for p in positions)
        raise InputError(f"the one-hot group {name!r} wants exactly one 1 and otherwise 0 in each row of {names}")
    return np.asarray(block.argmax(axis=1))


def bin_parts(column: str, edges: Floats, dtype: Any) -> tuple[Part, ...]:
    """'age ≤ 30', '30 < age ≤ 50.5', 'age > 50.5', with as many digits as tell the edges apart."""
    values, shown = readable(edges, dtype)
    if not len(edges):
        return (Part(column, column, "="),)
    parts = [Part(f"{column} ≤ {shown[0]}", column, "≤", values[0])]
    for k in range(1, len(edges)):
        name = f"{shown[k - 1]} < {column} ≤ {shown[k]}"
        parts.append(Part(name, column, "in", (values[k - 1], values[k])))
    parts.append(Part(f"{column} > {shown[-1]}", column, ">", values[-1]))
    return tuple(parts)


def readable(edges: Floats, dtype: Any) -> tuple[list[Any], list[str]]:
    """Edges as values of the column's kind, and as text."""
    if pd.api.types.is_datetime64_any_dtype(dtype):
        unit = dtype.unit if isinstance(dtype, pd.DatetimeTZDtype) else np.datetime_data(dtype)[0]
        dates = pd.DatetimeIndex(edges.astype(np.int64).view(f"M8[{unit}]"))
        if isinstance(dtype, pd.DatetimeTZDtype):
            dates = dates.tz_localize("UTC").tz_convert(dtype.tz)
        whole_days = all(d == d.normalize() for d in dates)
        return list(dates), [str(d.date()) if whole_days else str(d.floor("s")) for d in dates]
    if pd.api.types.is_timedelta64_dtype(dtype):
        durations = pd.TimedeltaIndex(edges.astype(np.int64).view(f"m8[{np.datetime_data(dtype)[0]}]"))
        return list(durations), [str(d) for d in durations]
    for digits in range(4, 18):
        shown = [written(e, digits) for e in edges]
        if len(set(shown)) == len(edges):
            break
    return [float(e) for e in edges], shown


def written(number: float, digits: int) -> str:
    """A number with this many significant digits, its whole part in full, without an exponent if it can be."""
    whole = len(str(int(abs(number)))) if abs(number) < 1e15 else 0
    short = float(f"{number:.{max(digits, whole)}g}")
    usual = short == 0 or 1e-4 <= abs(short) < 1e15
    return np.format_float_positional(short, trim="-") if usual else f"{short:g}"


def _coded(
    column: str,
    positions: tuple[int, ...],
    levels: Any,
    order: Any,
    *,
    edges: Floats | None,
    codes: npt.NDArray[np.int64],
    parts: tuple[Part, ...],
) -> Coded:
    """Rates of the levels, and where each state begins among them."""
    counts = np.bincount(codes, minlength=len(levels))
    cumulative = np.cumsum(counts) / counts.sum()
    cumulative[-1] = 1.0
    if edges is None:
        bounds = np.arange(len(levels) + 1)
    else:
        inner = np.append(np.searchsorted(order, edges, side="right"), len(order))
        bounds = np.concatenate([[0], inner, [len(levels)][: len(parts) - len(edges) - 1]])
    return Coded(column, positions, levels, order, edges, bounds.astype(np.int32), cumulative, parts)


def _round_to_cells(shares: Floats) -> npt.NDArray[np.int64]:
    """Shares as whole numbers of cells that sum to CELLS; a state that occurs keeps at least one."""
    cells = np.where(shares > 0, np.maximum(np.round(shares * CELLS), 1), 0).astype(np.int64)
    cells[np.argmax(cells)] += CELLS - cells.sum()
    return cells


def _truncated_normal(values: Floats, low: float, high: float, n: int) -> Floats:
    """Quantiles 0, 1/n, …, 1 of a normal with the values' mean and spread, cut to [low, high]."""
    mean, sd = float(values.mean()), float(values.std())
    if low == high or sd <= 1e-12 * max(abs(low), abs(high), 1e-300):
        return np.full(n + 1, np.clip(mean, low, high))
    a, b = ndtr((np.array([low, high]) - mean) / sd)
    return np.asarray(np.clip(mean + sd * ndtri(a + (b - a) * np.arange(n + 1) / n), low, high))


def _missing(column: str) -> Part:
    return Part(f"{column} is missing", column, "is missing")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _suffix(full: str, name: str) -> str:
    return full[len(name) :].lstrip("_=. ") if full.startswith(name) else ""
