"""The columns of a background: their states, how often each occurs, and their names.

A part is sampled through one uniform number. For every kind of column that number picks a *cell*, and the
cells that an instance's own state covers are one range: so 'did the sample keep the part' is two integer
comparisons, whatever the column holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import floor
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr, ndtri

from veridical.errors import InputError
from veridical.records import Bools, Floats, Part
from veridical.representations.bins import BinStatistics, CategoryStatistics
from veridical.representations.tables.schema import (
    EXACT,
    NO_CATEGORY,
    Schema,
    label_names,
    list_some,
    missing_message,
)

CELL_BITS = 10
CELLS = 2**CELL_BITS  # of a binned column: the rates of its bins are rounded to this grid
PANDAS_TIME_UNITS = [(unit, 1) for unit in ("s", "ms", "us", "ns")]  # of dates and durations that pandas knows


@dataclass(frozen=True)
class NumberLine:
    """The number line on which values lie: dates and durations in steps of their type, counted from an origin.

    Floats do not tell whole numbers beyond 2^53 apart, and many dates are such numbers: those are counted from the
    least that was seen. Elsewhere the origin is 0.
    """

    dtype: Any = None  # of dates and durations; None for numbers
    origin: int = 0

    @classmethod
    def of(cls, values: Any) -> NumberLine:
        """The line of a column of numbers, dates or durations."""
        dtype = values.dtype if is_time(values.dtype) else None
        if dtype is None and not pd.api.types.is_integer_dtype(values.dtype):
            return cls()
        ticks, missing = as_ticks(values)
        seen = ticks[~missing]
        far = len(seen) and max(abs(int(seen.min())), abs(int(seen.max()))) > EXACT
        return cls(dtype, int(seen.min()) if far else 0)

    def numbers(self, values: Any) -> Floats:
        """Values as floats, counted from the origin; missing is nan."""
        if self.dtype is None and not self.origin:
            return as_numbers(values)
        ticks, missing = as_ticks(values, self.dtype)
        if ticks.dtype == object:
            apart = np.array(
                [0.0 if gone else float(v - self.origin) for v, gone in zip(ticks, missing, strict=True)]
            )
        elif not self.origin:
            apart = ticks.astype(np.float64)
        else:  # differences of 64 bits, which may need a bit more
            own, origin = ticks.astype(np.uint64), np.uint64(self.origin % 2**64)
            apart = np.where(ticks >= self.origin, (own - origin).astype(float), -(origin - own).astype(float))
        return np.where(missing, np.nan, apart)

    def values(self, numbers: Floats) -> list[int]:
        """The whole numbers at or right below some numbers of the line."""
        return [self.origin + floor(number) for number in numbers]


def is_time(dtype: Any) -> bool:
    """Whether a type is one of dates or durations."""
    return pd.api.types.is_datetime64_any_dtype(dtype) or getattr(dtype, "kind", "") in "mM"


@dataclass(frozen=True, eq=False)
class Binned:
    """A column of floats in bins; inside a bin a truncated normal, as in the lime package."""

    column: str
    position: int
    edges: Floats  # (bins - 1,), without the missing state
    bounds: npt.NDArray[np.int32]  # (states + 1,) first cell of each state; a last state may be 'missing'
    left: Floats  # (CELLS,) value where a cell begins
    rise: Floats  # (CELLS,) from there to its end
    parts: tuple[Part, ...]  # one per state

    @property
    def positions(self) -> tuple[int, ...]:
        """Of the columns of the table: one alone."""
        return (self.position,)

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
    line: NumberLine = field(default_factory=NumberLine)  # of numbers and dates
    cuts: Any = (
        None  # (edges,) the whole numbers at or right below the edges, where floats are too coarse for them
    )

    @property
    def position(self) -> int:
        """Of the first of its columns in the table."""
        return self.positions[0]

    def states(self, values: Any) -> npt.NDArray[np.int64]:
        """The state each value is in, -1 if the background has no such category."""
        missing = np.asarray(pd.isna(values))
        try:
            found = self._binned(values, missing) if self.edges is not None else _places(self.order, values)
        except (TypeError, ValueError, OverflowError) as cause:
            odd = list_some(values[~missing][:1])
            what = "hold" if len(values) > 1 else "is"
            kind = "dates" if self.line.dtype is not None else "numbers"
            raise InputError(
                f"column {self.column!r} holds {kind} in the background; here it {what}s {odd}"
            ) from cause
        if missing.any():
            if not self.has_missing:
                raise InputError(missing_message(self.column))
            found = np.where(missing, len(self.parts) - 1, found)
        return np.asarray(found)

    def _binned(self, values: Any, missing: Bools) -> npt.NDArray[np.int64]:
        numbers = self.line.numbers(values)
        infinite = np.isinf(numbers)
        if infinite.any():
            raise InputError(f"column {self.column!r} has an infinite value; wanted finite numbers")
        assert self.edges is not None
        if self.cuts is None:
            found = np.searchsorted(self.edges, numbers, side="left")
        else:
            ticks, _ = as_ticks(values, self.line.dtype)
            found = np.searchsorted(self.cuts.astype(ticks.dtype, copy=False), ticks, side="left")
        if self.is_category:
            known = self.order[np.minimum(found, len(self.order) - 1)] == numbers
            found = np.where(known | missing, found, -1)
        return np.asarray(found)

    @property
    def is_category(self) -> bool:
        """Whether each level is a state."""
        return self.parts[0].relation == "="

    @property
    def has_missing(self) -> bool:
        return self.parts[-1].relation == "is missing"

    def with_unseen(self, schema: Schema, table: Any, n_rows: int) -> Coded:
        """The same with the category of a table of one row, as if one more row of the background held it."""
        at = len(self.cumulative) - self.has_missing
        if len(self.positions) > 1:
            levels, order, text = np.vstack([self.levels, np.zeros(len(self.positions))]), self.order, NO_CATEGORY
            part = Part(f"{self.column} = {text}", self.column, "=", text)
        else:
            own = schema.column(table, self.position)
            levels = schema.concatenate([self.levels[:at], own, self.levels[at:]])
            order = _index(levels[: at + 1])
            value, shown = _plain(order[at]), str(order[at])
            if self.edges is not None:  # numbers, which are shown as those that were seen are
                known = format_edges(np.append(self.order, self.line.numbers(own)), own.dtype, self.line)
                value, shown = known[0][-1], known[1][-1]
            if any(part.name == f"{self.column} = {shown}" for part in self.parts):  # 1 and "1"
                shown = repr(value)
            part = Part(f"{self.column} = {shown}", self.column, "=", value)
        rates = np.insert(np.diff(self.cumulative, prepend=0.0) * n_rows, at, 1.0) / (n_rows + 1)
        cumulative = np.cumsum(rates)
        cumulative[-1] = 1.0
        bounds = np.arange(len(rates) + 1, dtype=np.int32)
        parts = (*self.parts[:at], part, *self.parts[at:])
        return Coded(self.column, self.positions, levels, order, None, bounds, cumulative, parts)

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
    line: NumberLine = field(default_factory=NumberLine)  # on which mean and spread are

    @property
    def positions(self) -> tuple[int, ...]:
        """Of the columns of the table: one alone."""
        return (self.position,)

    def part(self, number: float) -> Part:
        """The part whose value is a number of the line."""
        value = self.line.origin + round(number) if self.line.origin else float(number)
        return Part(self.column, self.column, "per sd", value)


TableColumn: TypeAlias = Binned | Coded | Normal


def as_numbers(values: Any) -> Floats:
    """Numbers as floats, of which missing is nan."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        return values.astype(np.float64, copy=False)
    return np.asarray(pd.Series(values).to_numpy(dtype=np.float64, na_value=np.nan))


def as_ticks(values: Any, dtype: Any = None) -> tuple[Any, Bools]:
    """Whole numbers, dates and durations (of a type) as exact whole numbers, and which of them are missing."""
    if dtype is not None and pd.api.types.is_object_dtype(values.dtype):
        values = pd.Series(values).astype(dtype).array if not isinstance(dtype, np.dtype) else values.astype(dtype)
    if isinstance(values.dtype, pd.SparseDtype):
        values = np.asarray(values)
    missing = np.asarray(pd.isna(values))
    kind, numpy = getattr(values.dtype, "kind", "O"), getattr(values.dtype, "numpy_dtype", values.dtype)
    if isinstance(values, np.ndarray):
        return values.view(np.int64) if kind in "mM" else values, missing
    if isinstance(values.dtype, np.dtype) and kind not in "mM":
        return values.to_numpy(), missing
    if kind in "mM" and hasattr(values, "asi8"):
        return values.asi8, missing
    if kind in "mM":
        return values.to_numpy(dtype=numpy, na_value=np.array("NaT", numpy)).view(np.int64), missing
    if kind in "iu":
        return values.to_numpy(dtype=numpy, na_value=0), missing
    return np.asarray(values, dtype=object), missing


def numpy_type(dtype: Any) -> Any:
    """The type of numpy that an extension of pandas holds."""
    return getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))


def learn_binned(column: str, position: int, values: Floats, edges: Floats) -> Binned:
    """Bins, their rates and a truncated normal in each, plus a state for missing values."""
    seen = values[~np.isnan(values)]
    state, n_bins = np.searchsorted(edges, seen, side="left"), len(edges) + 1
    inside = [seen[state == b] for b in range(n_bins)]
    means, sds = np.array([(some.mean(), some.std()) if len(some) else (0.0, 0.0) for some in inside]).T
    shares = np.array([*map(len, inside), len(values) - len(seen)]) / len(values)
    missing = float(shares[-1])
    statistics = BinStatistics(edges, shares[:-1], means, sds, float(seen.min()), float(seen.max()), missing)
    return binned_of(column, position, statistics)


def binned_of(column: str, position: int, found: BinStatistics) -> Binned:
    """A column of numbers of which the share, mean and spread of each bin are known."""
    edges, missing = np.asarray(found.edges, np.float64), [found.missing] * (found.missing > 0)
    widths = _round_to_cells(np.append(np.asarray(found.shares, np.float64), missing))
    bounds = np.append(0, np.cumsum(widths)).astype(np.int32)
    inner = np.clip(edges, found.low, found.high)
    low, high = np.append(found.low, inner), np.append(inner, found.high)
    left, rise = np.full(CELLS, np.nan), np.zeros(CELLS)
    for b in range(len(edges) + 1):
        if widths[b]:
            spread = float(found.means[b]), float(found.sds[b])
            ends = _truncated_normal(*spread, float(low[b]), float(high[b]), int(widths[b]))
            cells = slice(bounds[b], bounds[b + 1])
            left[cells], rise[cells] = ends[:-1], np.diff(ends)
    parts = (*bin_parts(column, edges, edges.dtype), *((_missing_part(column),) if missing else ()))
    return Binned(column, position, edges, bounds, left, rise, parts)


def coded_of(column: str, position: int, found: CategoryStatistics, levels: Any) -> Coded:
    """A column of categories, of which the share of each is known; ``levels`` are they, and what is missing."""
    order = _index(levels[: len(found.values)])
    shown = zip(order, label_names(order), strict=True)
    parts = tuple(Part(f"{column} = {text}", column, "=", _plain(v)) for v, text in shown)
    parts += (_missing_part(column),) * (found.missing > 0)
    cumulative = np.cumsum([*found.shares, *[found.missing] * (found.missing > 0)])
    cumulative /= cumulative[-1]
    bounds = np.arange(len(cumulative) + 1, dtype=np.int32)
    return Coded(column, (position,), levels, order, None, bounds, cumulative, parts)


def learn_categories(column: str, position: int, values: Any, own: Any) -> Coded:
    """Every category a state, and missing values the last; ``own`` are the values as the table has them."""
    missing = np.asarray(pd.isna(values))
    seen = _index(values)[~missing]
    order = seen[~seen.duplicated()]  # unique() of pandas 3.0 takes all lone surrogates for one
    try:
        if isinstance(values, pd.Categorical):
            order = order[np.argsort(values.categories.get_indexer(order))]
        else:
            order = order.sort_values()
    except TypeError:  # categories of mixed types have no order
        pass
    codes = _places(order, values)
    if missing.any():
        codes = np.where(missing, len(order), codes)
    n_states = len(order) + bool(missing.any())
    first = np.zeros(n_states, int)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    shown = zip(order, label_names(order), strict=True)  # 1 and "1" are told apart
    parts = tuple(Part(f"{column} = {text}", column, "=", _plain(v)) for v, text in shown)
    parts += (_missing_part(column),) * bool(missing.any())
    return _coded(column, (position,), own.take(first), order, edges=None, codes=codes, parts=parts)


def learn_levels(column: str, position: int, values: Any, edges: Floats, line: NumberLine, own: Any) -> Coded:
    """Whole numbers or dates in bins; inside a bin, the values that were seen, as the table has them (``own``)."""
    numbers = line.numbers(values)
    missing, exact = np.isnan(numbers), as_ticks(values)[0] if line.origin else numbers
    order, first, seen = np.unique(exact[~missing], return_index=True, return_inverse=True)
    codes = np.full(len(numbers), len(order))
    codes[~missing] = seen
    first = np.flatnonzero(~missing)[first]
    parts = bin_parts(column, edges, values.dtype, line)
    if missing.any():
        first, parts = np.append(first, np.flatnonzero(missing)[0]), (*parts, _missing_part(column))
    levels = own.take(first)
    if not line.origin:
        return _coded(column, (position,), levels, order, edges=edges, codes=codes, parts=parts, line=line)
    limits = np.iinfo(order.dtype)
    cuts = np.array([min(max(v, limits.min), limits.max) for v in line.values(edges)], dtype=order.dtype)
    found = _coded(column, (position,), levels, order, edges=cuts, codes=codes, parts=parts, line=line)
    return replace(found, order=numbers[first[: len(order)]], edges=edges, cuts=cuts)


def learn_pair(column: str, position: int, values: Any, line: NumberLine, own: Any) -> Coded:
    """A column of two numbers, or of one that is missing now and then: states by value, as categories are."""
    seen = np.unique(line.numbers(values)[~np.asarray(pd.isna(values))])
    found = learn_levels(column, position, values, seen[:-1] + np.diff(seen) / 2, line, own)
    shown = format_edges(seen, values.dtype, line)
    named = [Part(f"{column} = {text}", column, "=", value) for value, text in zip(*shown, strict=True)]
    return replace(found, parts=(*named, *found.parts[len(seen) :]))


def learn_group(schema: Schema, table: Any, name: str, positions: Sequence[int]) -> Coded:
    """One-hot columns that change together."""
    codes = one_hot_codes(schema, table, name, positions)
    if (codes < 0).any():
        raise _one_hot_error(schema, name, positions)
    labels = [_suffix(schema.names[p], name) or schema.names[p] for p in positions]
    parts = tuple(Part(f"{name} = {label}", name, "=", label) for label in labels)
    order = pd.RangeIndex(len(positions))
    levels = np.eye(len(positions))
    return _coded(name, tuple(positions), levels, order, edges=None, codes=codes, parts=parts)


def one_hot_codes(schema: Schema, table: Any, name: str, positions: Sequence[int]) -> npt.NDArray[np.int64]:
    """Which column of a one-hot group is 1 in each row; -1 where none is."""
    try:
        block = np.stack([as_numbers(schema.column(table, p)) for p in positions], axis=1)
        good = np.isin(block, (0, 1)).all() and (block.sum(axis=1) <= 1).all()
    except (TypeError, ValueError):
        good = False
    if not good:
        raise _one_hot_error(schema, name, positions)
    return np.where(block.any(axis=1), block.argmax(axis=1), -1)


def _one_hot_error(schema: Schema, name: str, positions: Sequence[int]) -> InputError:
    names = list_some(schema.names[p] for p in positions)
    return InputError(f"the one-hot group {name!r} wants exactly one 1 and otherwise 0 in each row of {names}")


def bin_parts(column: str, edges: Floats, dtype: Any, line: NumberLine | None = None) -> tuple[Part, ...]:
    """'age ≤ 30', '30 < age ≤ 50.5', 'age > 50.5', with as many digits as tell the edges apart."""
    values, shown = format_edges(edges, dtype, line)
    if not len(edges):
        return (Part(column, column, "="),)
    parts = [Part(f"{column} ≤ {shown[0]}", column, "≤", values[0])]
    for k in range(1, len(edges)):
        name = f"{shown[k - 1]} < {column} ≤ {shown[k]}"
        parts.append(Part(name, column, "in", (values[k - 1], values[k])))
    parts.append(Part(f"{column} > {shown[-1]}", column, ">", values[-1]))
    return tuple(parts)


def format_edges(edges: Floats, dtype: Any, line: NumberLine | None = None) -> tuple[list[Any], list[str]]:
    """Edges as values of the column's kind, and as text."""
    line = line or NumberLine()
    if is_time(dtype):
        return _format_times(line.values(edges), dtype)
    if line.origin:
        values = line.values(edges)
        return values, list(map(str, values))
    for digits in range(4, 18):
        shown = [format_number(e, digits) for e in edges]
        if len(set(shown)) == len(edges):
            break
    return [float(e) for e in edges], shown


def _format_times(ticks: list[int], dtype: Any) -> tuple[list[Any], list[str]]:
    """Dates or durations, and their texts."""
    zone = getattr(dtype, "tz", None) or getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None)
    kind, unit = dtype.kind, getattr(dtype, "unit", None)
    numpy = np.dtype(f"{kind}8[{unit}]") if isinstance(unit, str) else getattr(dtype, "numpy_dtype", dtype)
    values = np.array(ticks, np.int64).view(numpy)
    unit = np.datetime_data(numpy)[0]
    coarse = (
        values.astype(f"{kind}8[s]") if unit in ("W", "D", "h", "m") or kind + unit in ("MY", "MM") else values
    )
    same = unit not in ("ps", "fs", "as") and kind + unit not in ("mY", "mM")
    if not same or not np.array_equal(coarse.astype(numpy), values):  # what pandas does not know
        return list(values), [str(v).replace("T", " ") if kind == "M" else str(v) for v in values]
    if kind == "m":
        durations = pd.TimedeltaIndex(coarse)
        return list(durations), [str(d) for d in durations]
    dates = pd.DatetimeIndex(coarse)
    if unit in ("Y", "M"):
        return list(dates), [str(v) for v in values]
    if zone is not None:
        dates = dates.tz_localize("UTC").tz_convert(zone)
    if all(d == d.normalize() for d in dates):
        return list(dates), [str(d)[: str(d).index(" ")] for d in dates]
    floored = [str(d.floor("s")) for d in dates]
    return list(dates), floored if len(set(floored)) == len(dates) else [str(d) for d in dates]


def format_number(number: float, digits: int) -> str:
    """A number with this many significant digits, its whole part in full, without an exponent if it can be."""
    whole = len(str(int(abs(number)))) if abs(number) < 1e15 else 0
    short = float(f"{number:.{max(digits, whole)}g}")
    usual = short == 0 or 1e-4 <= abs(short) < 1e15
    return np.format_float_positional(short, trim="-") if usual else f"{short:.{max(digits, 6)}g}"


def _index(values: Any) -> Any:
    """Values to look others up in, each as it is."""
    if isinstance(values, pd.Categorical):
        return pd.Index(values.categories.take(values.codes))
    if hasattr(values.dtype, "pyarrow_dtype"):  # some of which pandas can neither sort nor compare
        values = np.asarray(values, dtype=object)
    if isinstance(values.dtype, np.dtype) and not isinstance(values, np.ndarray):
        values = values.to_numpy() if values.dtype.kind not in "mM" else values
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "mM" and np.datetime_data(values.dtype) not in PANDAS_TIME_UNITS:
            return pd.Index(list(values), dtype=object)
        if values.dtype.kind == "f" and values.dtype not in (np.float32, np.float64):
            values = values.astype(np.float64)
        if values.dtype.kind in "OUS":
            values = values.astype(object)
            return pd.Index(values, dtype=object, tupleize_cols=False)
    return pd.Index(values)


def _places(order: pd.Index, values: Any) -> npt.NDArray[np.int64]:
    """Where each value is in an index, -1 if it is not."""
    if isinstance(values, pd.Categorical):
        known = order.get_indexer(values.categories) if len(values.categories) else np.empty(0, np.intp)
        return np.where(values.codes < 0, -1, np.append(known, -1)[values.codes])
    return np.asarray(order.get_indexer(_index(values)))


def _coded(
    column: str,
    positions: tuple[int, ...],
    levels: Any,
    order: Any,
    *,
    edges: Floats | None,
    codes: npt.NDArray[np.int64],
    parts: tuple[Part, ...],
    line: NumberLine | None = None,
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
    return Coded(
        column, positions, levels, order, edges, bounds.astype(np.int32), cumulative, parts, line or NumberLine()
    )


def _round_to_cells(shares: Floats) -> npt.NDArray[np.int64]:
    """Shares as whole numbers of cells that sum to CELLS; a state that occurs keeps at least one."""
    cells = np.where(shares > 0, np.maximum(np.round(shares * CELLS), 1), 0).astype(np.int64)
    cells[np.argmax(cells)] += CELLS - cells.sum()
    return cells


def _truncated_normal(mean: float, sd: float, low: float, high: float, n: int) -> Floats:
    """Quantiles 0, 1/n, …, 1 of a normal with this mean and spread, cut to [low, high]."""
    if low == high or sd <= 1e-12 * max(abs(low), abs(high), 1e-300):
        return np.full(n + 1, np.clip(mean, low, high))
    a, b = ndtr((np.array([low, high]) - mean) / sd)
    return np.asarray(np.clip(mean + sd * ndtri(a + (b - a) * np.arange(n + 1) / n), low, high))


def _missing_part(column: str) -> Part:
    return Part(f"{column} is missing", column, "is missing")


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _suffix(full: str, name: str) -> str:
    return full[len(name) :].lstrip("_=. ") if full.startswith(name) else ""
