"""Rows by columns: the values each column is drawn from, and the functions of them that a local model adds up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from veridical.protocols import Kernel, Seed
from veridical.records import Axis, Bools, Design, Floats, Ints, Part, Sample
from veridical.representations.tables.columns import (
    Binned,
    Coded,
    Normal,
    TableColumn,
    format_edges,
    format_number,
)
from veridical.representations.tables.schema import check_ordered_list, position_of, read_values
from veridical.sampling.kernels import flat
from veridical.sampling.nets import net

if TYPE_CHECKING:
    from veridical.representations.tables.backgrounds import TableBackground
    from veridical.representations.tables.rows import Row

MAX_VALUES = 1024  # of a column of numbers that are told apart: of more, so many quantiles
KNOTS = ((12, (0.05, 0.3, 0.5, 0.7, 0.95)), (40, (0.1, 0.5, 0.9)), (100, (0.2, 0.8)))  # by most parts
MAX_LEVELS = 12  # of a column that have effects of their own
LEAST_DRAWN = 8  # samples that a level needs for one
FEW_VALUES = 5  # of numbers that are treated as levels
SHOWN = 16  # values of a curve
REACH = 3.0  # times the middle 90 % of the values, beyond which a number counts as no further away
LINE, HAT, LEVEL, FLAG = 0.01, 1.0, 0.3, 0.01  # penalties of kinds of functions, relative to each other
WHOLE = 1024  # samples that are worth drawing at once
CODES = 20  # different whole numbers of a column, up to which no others may be put between them
NORMAL = np.array(
    [-2.2, -1.6, -1.2, -0.9, -0.65, -0.45, -0.25, -0.08, 0.08, 0.25, 0.45, 0.65, 0.9, 1.2, 1.6, 2.2]
)  # values of a normal column, in standard units, as if they were seen


@dataclass(frozen=True, eq=False)
class SeenValues:
    """The values of a column, each with a code, 0..m-1, and how often they occur; a missing one is last."""

    numbers: Floats  # of each value: on the column's line, or its place among categories
    cumulative: Floats  # (m,) share of rows up to and including a value
    numeric: bool

    @property
    def has_missing(self) -> bool:
        return len(self.cumulative) > len(self.numbers)

    @property
    def shares(self) -> Floats:
        """Of each value."""
        return np.diff(self.cumulative, prepend=0.0)

    @classmethod
    def of(cls, column: TableColumn, numbers: Floats | None = None) -> SeenValues:
        """Those of a column, of whose numbers in the background those of single ones are told apart."""
        if isinstance(column, Coded):
            lies = column.edges is not None and not column.is_category
            places = np.arange(len(column.cumulative) - column.has_missing)
            return cls(np.asarray(column.order if lies else places, np.float64), column.cumulative, lies)
        if numbers is None:
            numbers = (
                column.left + column.rise / 2 if isinstance(column, Binned) else column.mean + column.sd * NORMAL
            )
        known = np.sort(numbers[~np.isnan(numbers)])
        values, counts = np.unique(known, return_counts=True)
        if len(values) > MAX_VALUES:
            at = (np.arange(MAX_VALUES) + 0.5) / MAX_VALUES * len(known)
            values, counts = np.unique(known[at.astype(int)], return_counts=True)
        shares = counts / counts.sum() * len(known) / len(numbers)
        cumulative = np.cumsum(np.append(shares, [1 - shares.sum()] if len(known) < len(numbers) else []))
        cumulative[-1] = 1.0
        return cls(values, cumulative, True)

    def codes(self, numbers: Floats) -> Ints:
        """The codes of numbers (n,); one past all others where it was never seen."""
        at = np.searchsorted(self.numbers, numbers)
        known = self.numbers[np.minimum(at, len(self.numbers) - 1)] == numbers
        return np.asarray(
            np.where(np.isnan(numbers), len(self.numbers), np.where(known, at, len(self.cumulative)))
        )

    def draw(self, uniform: Floats) -> Ints:
        """Codes at uniform numbers in [0, 1)."""
        found = np.searchsorted(self.cumulative, uniform, side="right")
        return np.minimum(found, len(self.cumulative) - 1).astype(np.int64)


def axis_of(column: TableColumn, seen: SeenValues, own: int, number: float, dtype: Any, d: int, n: int) -> Axis:
    """The functions of a column's values in an explanation of d columns by about n samples."""
    shares = np.append(seen.shares, 0.0) if own == len(seen.cumulative) else seen.shares
    shown, pooled = shown_codes(seen), 0
    if seen.numeric and len(seen.numbers) > FEW_VALUES:
        functions, penalties, coarse = _curve_functions(seen, len(shares), number, d)
    else:
        functions, penalties, coarse, pooled = _level_functions(shares, own, n)
    others = np.where(np.arange(len(shares)) == own, 0.0, shares)
    if others.sum() > 0:
        others /= others.sum()
    functions = functions - others @ functions
    functions[own] = 0.0
    varied = np.square(functions).T @ others > 1e-12
    flag = (np.arange(len(shares)) == own).astype(float)
    return Axis(
        functions=np.column_stack([flag, functions[:, varied]]),
        penalties=np.append(FLAG, penalties[varied]),
        shares=shares,
        own=own,
        coarse=np.column_stack([flag, coarse]),
        shown=shown,
        values=_shown_values(column, seen, shown, dtype),
        numeric=seen.numeric,
        pooled=pooled,
    )


def _curve_functions(seen: SeenValues, m: int, number: float, d: int) -> tuple[Floats, Floats, Floats]:
    """A line and hats at knots, one of them the own number, their penalties, and few functions for products."""
    numbers, weights = seen.numbers, seen.shares[: len(seen.numbers)]
    rank = (np.cumsum(weights) - weights / 2) / weights.sum()
    quantile = np.interp([0.05, 0.5, 0.95], rank, numbers)
    spread = max(quantile[2] - quantile[0], 1e-12 * max(abs(numbers[0]), abs(numbers[-1])), 1e-300)
    low, high = quantile[0] - REACH * spread, quantile[2] + REACH * spread
    values = np.append(numbers, np.full(m - len(numbers), np.nan))
    if m > len(seen.cumulative):
        values[-1] = number
    line, gone = np.clip(values, low, high), np.isnan(values)[:, None]
    knots = next((ranks for most, ranks in KNOTS if d <= most), ())
    own = [] if np.isnan(number) else [np.clip(number, low, high)]
    at = np.unique(np.append(np.interp(knots, rank, numbers), own))
    hats = np.zeros((m, 0))
    if len(knots):
        hats = np.stack([np.interp(line, at, each) for each in np.eye(len(at))], axis=1)
    slope, middle = (line - quantile[1]) * 3.3 / spread, np.clip((line - quantile[1]) / spread, -0.5, 0.5)
    columns = np.where(gone, 0.0, np.column_stack([slope, hats]))
    penalties = np.append(LINE, np.full(hats.shape[1], HAT))
    coarse = np.where(gone, 0.0, np.column_stack([middle, np.abs(middle)]))
    if seen.has_missing:
        columns, penalties = np.column_stack([columns, gone]), np.append(penalties, LEVEL)
    return columns, penalties, coarse


def _level_functions(shares: Floats, own: int, n: int) -> tuple[Floats, Floats, Floats, int]:
    """An indicator for every frequent value and one for all others, and how many those are."""
    order = np.argsort(-shares, kind="stable")
    order = order[(order != own) & (shares[order] > 0)]
    alone = order[: min(MAX_LEVELS, int(np.sum(n * 0.45 * shares[order] >= LEAST_DRAWN)))]
    rest = np.setdiff1d(order, alone)
    columns = np.zeros((len(shares), len(alone) + (len(rest) > 0)))
    columns[alone, np.arange(len(alone))] = 1.0
    columns[rest, -1:] = 1.0
    return columns, np.full(columns.shape[1], LEVEL), columns[:, :2], len(rest) if len(rest) > 1 else 0


def shown_codes(seen: SeenValues) -> Ints:
    """Codes of a curve's values: of many numbers, quantiles, the ends, and a missing value."""
    if not seen.numeric:
        return np.flatnonzero(seen.shares > 0)
    if len(seen.numbers) <= FEW_VALUES:
        return np.arange(len(seen.cumulative))
    weights = seen.shares[: len(seen.numbers)]
    at = np.searchsorted(np.cumsum(weights) / weights.sum(), np.linspace(0, 1, SHOWN) * (1 - 1e-9))
    found = np.unique(np.concatenate([[0], at, [len(seen.numbers) - 1]]))
    return np.append(found, [len(seen.numbers)] if seen.has_missing else []).astype(np.int64)


def _shown_values(column: TableColumn, seen: SeenValues, shown: Ints, dtype: Any) -> tuple[Any, ...]:
    known = shown[shown < len(seen.numbers)]
    if isinstance(column, Coded) and not seen.numeric:
        found = [column.parts[code].value for code in known]
    else:
        numbers = seen.numbers[known]
        found = numbers.tolist()
        if not isinstance(column, Binned) and (column.line.dtype is not None or column.line.origin):
            found = list(format_edges(numbers, dtype, column.line)[0])
    return (*found, *([None] if len(known) < len(shown) else []))


def shown_values(background: TableBackground) -> list[tuple[Ints, tuple[Any, ...], bool]]:
    """For each column, the codes of the values that a curve shows, these values, and whether they lie on a line."""
    found = list[tuple[Ints, tuple[Any, ...], bool]]()
    for column, seen in zip(background.columns, background.seen, strict=True):
        dtype = background.schema.dtypes[column.positions[0]]
        shown = shown_codes(seen)
        found.append((shown, _shown_values(column, seen, shown, dtype), seen.numeric))
    return found


def own_codes(background: TableBackground, table: Any) -> tuple[Ints, Floats]:
    """The codes of the values of a checked table's rows (n, d), -1 where a category was never seen; and numbers."""
    shape = (len(table), len(background.columns))
    codes, numbers = np.empty(shape, np.int64), np.full(shape, np.nan)
    for j, (column, seen) in enumerate(zip(background.columns, background.seen, strict=True)):
        if seen.numeric:
            numbers[:, j] = background.numbers(table, column)
            codes[:, j] = seen.codes(numbers[:, j])
        else:
            assert isinstance(column, Coded)
            codes[:, j] = background.coded_states(table, column)
    return codes, numbers


def table_of_codes(background: TableBackground, row: Any, codes: npt.NDArray[np.int64]) -> Any:
    """A table of the values that codes (n, d) stand for; columns that are no part are as in a table of one row."""
    n, columns = len(codes), list[Any]([None] * len(background.schema.names))
    for j, (column, seen) in enumerate(zip(background.columns, background.seen, strict=True)):
        if isinstance(column, Coded):
            for position, values in background.level_values(column, codes[:, j]):
                columns[position] = values
        else:
            numbers = np.append(seen.numbers, [np.nan] * seen.has_missing)[codes[:, j]]
            columns[column.position] = background.cast(numbers, column.position, column)
    for position in background.held:
        columns[position] = background.schema.column(row, position).take(np.zeros(n, int))
    return background.schema.build(columns, n)


@dataclass(frozen=True, eq=False)
class RowColumns:
    """A row of which a sample keeps every column with one of some shares, and draws the others."""

    row: Row
    shares: tuple[float, ...]
    kernel: Kernel = flat

    @property
    def background(self) -> TableBackground:
        return self.row.background

    @property
    def notes(self) -> tuple[str, ...]:
        return self.row.notes

    @property
    def unseen(self) -> tuple[str, ...]:
        return self.row.unseen

    @property
    def own_values(self) -> tuple[Any, ...]:
        """The row's own value for each part."""
        return self.row.own_values

    @property
    def positions(self) -> tuple[int, ...]:
        """The place of each part's column; of a one-hot group, of its first."""
        return tuple(column.positions[0] for column in self.background.columns)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return tuple(
            self._part(column, code, number)
            for column, code, number in zip(
                self.background.columns, *(each.tolist() for each in self.own), strict=True
            )
        )

    def _part(self, column: TableColumn, code: int, number: float) -> Part:
        """A column with the row's own value."""
        if isinstance(column, Coded) and not self.background.seen[self._place(column)].numeric:
            return column.parts[code]
        if np.isnan(number):
            return Part(f"{column.column} is missing", column.column, "is missing")
        if not isinstance(column, Binned) and (column.line.dtype is not None or column.line.origin):
            dtype = self.background.schema.dtypes[column.positions[0]]
            values, texts = format_edges(np.array([number]), dtype, column.line)
            return Part(f"{column.column} = {texts[0]}", column.column, "=", values[0])
        whole = isinstance(column, Coded) and float(number).is_integer()
        value = int(number) if whole else float(number)
        return Part(f"{column.column} = {format_number(value, 4)}", column.column, "=", value)

    def _place(self, column: TableColumn) -> int:
        return next(j for j, one in enumerate(self.background.columns) if one is column)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @cached_property
    def own(self) -> tuple[Ints, Floats]:
        """The codes of the row's own values (d,), and their numbers."""
        codes, numbers = own_codes(self.background, self.row.row)
        return codes[0], numbers[0]

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The functions of each column."""
        columns, types = self.background.columns, self.background.schema.dtypes
        return tuple(
            axis_of(column, seen, own, number, types[column.positions[0]], len(columns), WHOLE)
            for column, seen, own, number in zip(
                columns, self.background.seen, *(each.tolist() for each in self.own), strict=True
            )
        )

    @property
    def whole_sample(self) -> int:
        return WHOLE

    @property
    def smallest_sample(self) -> int:
        return 3 * (len(self.background.columns) + 2)

    def enumerate(self, kernel: Kernel, limit: int) -> None:
        """Samples are drawn, never listed."""

    def drawn(self, seed: Seed, start: int, stop: int) -> tuple[Ints, Bools]:
        """Codes (n, d) of a net with a dimension per column, and one that says which share is kept; and what is."""
        d = len(self.background.columns)
        words = net(d + 1, seed, start, stop) * 2.0**-32
        share = np.asarray(self.shares)[(words[:, d] * len(self.shares)).astype(int)][:, None]
        kept = words[:, :d] < share
        uniform, codes = (words[:, :d] - share) / (1 - share), np.empty(kept.shape, np.int64)
        for j, seen in enumerate(self.background.seen):
            codes[:, j] = seen.draw(uniform[:, j])
        return np.where(kept, self.own[0], codes), kept

    def draw(self, kernel: Kernel, seed: Seed, start: int, stop: int) -> Sample:
        """Samples start..stop; from 0 on, the instance comes first."""
        (codes, kept), own = self.drawn(seed, start, stop), self.own[0]
        designs, weights, values = codes == own, np.ones(len(codes)), (codes, kept)
        chance, mean = np.array([axis.shares[axis.own] for axis in self.axes]), float(np.mean(self.shares))
        if start == 0:
            codes = np.vstack([own, codes])
            designs, weights = np.vstack([np.ones(len(own), bool), designs]), np.append(0.0, weights)
        design = Design(mean + (1 - mean) * chance, net=True, axes=self.axes)
        return Sample(designs.astype(np.float64), weights, values, design, codes)

    def realize(self, sample: Sample) -> Any:
        """Rows with the schema of the background; the instance itself comes through untouched."""
        codes, kept = sample.values
        table = self.mixed(codes, kept)
        return self.row.below(table) if len(sample.designs) > len(codes) else table

    def mixed(self, codes: Ints, kept: Bools) -> Any:
        """A table of values by code (n, d), but for those of the row itself that are kept."""
        row = self.row.row
        return self.background.mix_rows(row, table_of_codes(self.background, row, np.where(kept, 0, codes)), kept)

    def gather(self, values: Any) -> Floats:
        """Sums over the parts (d,) of one number per column."""
        return self.row.gather(values)

    def paint(self, weights: Floats) -> Floats:
        """The weight of its part at every column."""
        return self.row.paint(weights)

    @property
    def steady(self) -> bool:
        return False

    def keeping(self, masks: Bools, seed: Seed) -> Any:
        """The row's own values where a mask keeps them, else those of a sample of the background."""
        return self.row.keeping(masks, seed)


@dataclass(frozen=True, eq=False)
class RowChoices:
    """A row, and the values of the background that its columns may take instead of their own."""

    row: Row

    @property
    def background(self) -> TableBackground:
        return self.row.background

    @cached_property
    def own(self) -> Floats:
        """The row's own numbers, or the codes of its categories (d,); nan where a number is missing."""
        codes, numbers = own_codes(self.background, self.row.row)
        return np.asarray(np.where(self.numeric, numbers[0], codes[0]), np.float64)

    @cached_property
    def numeric(self) -> Bools:
        """Columns whose values lie on a line (d,)."""
        return np.array([seen.numeric for seen in self.background.seen], bool)

    def values(self, j: int) -> Floats:
        """Those of the background in order, its ends among them; of categories the codes, also of a missing one."""
        seen, column = self.background.seen[j], self.background.columns[j]
        if not seen.numeric:
            return np.arange(len(seen.cumulative), dtype=np.float64)
        if not isinstance(column, Binned) or not len(seen.numbers):
            return np.asarray(seen.numbers)
        ends = np.nanmin(column.left), np.nanmax(column.left + column.rise)  # of more values than are told apart
        return np.unique([*(end for end in ends if not seen.numbers[0] <= end <= seen.numbers[-1]), *seen.numbers])

    def may_miss(self, j: int) -> bool:
        """Whether a number is missing in some rows of the background."""
        return self.background.seen[j].numeric and self.background.seen[j].has_missing

    def grain(self, j: int) -> float:
        """1 where values between those of the background are whole, 0 where any will do, nan where none will."""
        column, numbers = self.background.columns[j], self.background.seen[j].numbers
        kind = getattr(self.background.schema.dtypes[column.positions[0]], "kind", "O")
        exact = not isinstance(column, Binned) and (column.line.dtype is not None or bool(column.line.origin))
        few = len(numbers) <= CODES and not isinstance(column, Normal)
        if not self.numeric[j] or exact or kind not in "iuf" or few:
            return float("nan")
        return 1.0 if kind != "f" or bool((numbers == np.rint(numbers)).all()) else 0.0

    def sizes(self, j: int, numbers: Floats) -> Floats:
        """The share of the rows between a number and the row's own; of a category, of those that have another one."""
        seen, own = self.background.seen[j], self.own[j]
        if not seen.numeric:
            return np.asarray(1 - seen.shares[numbers.astype(np.int64)])
        known = np.append(0.0, seen.cumulative[: len(seen.numbers)] / seen.cumulative[len(seen.numbers) - 1])
        lost = seen.cumulative[len(seen.numbers) - 1]  # of a value that becomes missing
        after, before = (known[np.searchsorted(seen.numbers, numbers, side)] for side in ("right", "left"))
        if np.isnan(own):  # the usual ones are near
            return np.asarray(0.5 + np.abs((after + before) / 2 - 0.5))
        here = [known[np.searchsorted(seen.numbers, own, side)] for side in ("right", "left")]
        apart = np.where(numbers > own, after - here[0], here[1] - before)
        return np.asarray(np.where(np.isnan(numbers), lost, np.maximum(apart, 0.0)))

    def held(self, names: Sequence[str | int]) -> set[int]:
        """The parts that columns of these names belong to, or groups of them."""
        columns, schema = self.background.columns, self.background.schema
        groups = {column.column: j for j, column in enumerate(columns) if len(column.positions) > 1}
        found = set()
        for name in check_ordered_list("immutable", names, "columns"):
            own = groups.get(name) if isinstance(name, str) else None
            at = self.background.places.labels[position_of(schema, name, "immutable")] if own is None else own
            found |= {int(at)} - {-1}
        return found

    def inputs(self, changed: Bools, numbers: Floats) -> Any:
        """The row once per change, with other values in the columns that it changes."""
        background, row, n = self.background, self.row.row, len(changed)
        columns = [
            background.schema.column(row, p).take(np.zeros(n, int)) for p in range(len(background.schema.names))
        ]
        for j, column in enumerate(background.columns):
            if not changed[:, j].any():
                continue
            given, seen = numbers[:, j], background.seen[j]
            given = np.where(changed[:, j], given, given[changed[:, j]][0])
            codes = seen.codes(given) if seen.numeric else given.astype(np.int64)
            if isinstance(column, Coded) and (codes < len(seen.cumulative)).all():
                for position, values in background.level_values(column, codes):
                    columns[position] = values
            else:
                columns[column.positions[0]] = background.cast(given, column.positions[0], column)
        return background.mix_rows(row, background.schema.build(columns, n), ~changed)

    def plain(self, inputs: Any) -> list[tuple[Any, ...]]:
        """The values of all columns, as plain Python; of a one-hot group, which of its columns is 1."""
        return read_values(inputs, self.background.value_places)
