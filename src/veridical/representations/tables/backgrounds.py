"""The background of a table: what kind each column is, how it is sampled, and how samples become rows again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr

from veridical.errors import InputError
from veridical.protocols import Kernel, Seed
from veridical.records import Bools, Design, Floats, Ints, Neighborhood, Part
from veridical.representations.bins import (
    BinStatistics,
    ColumnStatistics,
    Discretizer,
    Edges,
    Entropy,
    NumberStatistics,
    Quantiles,
)
from veridical.representations.regions import Places
from veridical.representations.tables.axes import SeenValues
from veridical.representations.tables.columns import (
    CELL_BITS,
    CELLS,
    Binned,
    Coded,
    Normal,
    NumberLine,
    TableColumn,
    as_numbers,
    as_ticks,
    binned_of,
    coded_of,
    is_time,
    learn_binned,
    learn_categories,
    learn_group,
    learn_levels,
    learn_pair,
    numpy_type,
    one_hot_codes,
)
from veridical.representations.tables.references import BackgroundRows, Blocks
from veridical.representations.tables.schema import (
    Place,
    Schema,
    list_some,
    missing_message,
    position_of,
    positions_of,
    unsupported_message,
)
from veridical.sampling.kernels import Gaussian
from veridical.sampling.nets import Words, net, normal_net, normal_quantiles
from veridical.seeds import generator

if TYPE_CHECKING:
    from veridical.representations.tables.rows import Row


Cells = npt.NDArray[np.signedinteger[Any]]  # 16 bits where that is enough
MAX_STATES_PER_PART = 12  # states of a part that an additive model tells apart
_NO_CELLS: Cells = np.empty((0, 0), np.int16)
_INSIDE = 32 - CELL_BITS  # bits of a word that say where in its cell a number lies


@dataclass(frozen=True, eq=False)
class CellSample:
    """Samples of all parts: the cell each fell into, and the number it stands for."""

    cells: Cells  # (n, d); without rows where all parts are normal
    numbers: Floats  # (n, d): value of a binned part, standard units of a normal one


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Where instances are among the cells: a part is kept by a sample within its range."""

    can_share: Bools  # (n,) whether the columns that are no part are as usual
    low: Cells  # (n, d)
    high: Cells  # (n, d), exclusive
    states: Cells  # (n, d), for the names
    normal: Floats  # (n, d) standard units of normal parts, else 0
    shares: Floats  # (n, d) probability that a sample keeps each part; nan for normal parts


@dataclass(frozen=True, eq=False)
class Tilt:
    """How the law is moved towards an instance, so that samples near it are drawn more often."""

    near: Floats  # (d,) share that the instance's own cells get
    begin: Floats  # (d,) where those cells begin on [0, 1], before the move
    end: Floats  # (d,)
    center: Floats  # (d,) of normal parts
    spread: Floats  # (d,)


class TableBackground:
    """All columns of a background. A part is a column or a one-hot group that varies."""

    def __init__(
        self,
        schema: Schema,
        columns: tuple[TableColumn, ...],
        usual: Any,
        fixed: Sequence[int],
        n_rows: int = 1000,  # older files do not say
        seen: Sequence[SeenValues] | None = None,
        rows: BackgroundRows | None = None,  # files do not have them
    ) -> None:
        self.schema = schema
        self.seen = tuple(map(SeenValues.of, columns)) if seen is None else tuple(seen)  # one per part
        self.n_rows = n_rows
        self.rows = rows
        self.usual = usual  # a table of one row of the background, for columns that never vary
        self.fixed = tuple(fixed)  # columns that vary, but must not be changed
        self.columns = columns  # one per part, in the order of the table
        d = len(columns)
        self.is_normal: Bools = np.array([isinstance(c, Normal) for c in columns], bool)
        self.binned = [j for j in range(d) if isinstance(columns[j], Binned)]
        self.coded = [j for j in range(d) if isinstance(columns[j], Coded)]
        self.normal = [j for j in range(d) if isinstance(columns[j], Normal)]
        binned = [c for c in columns if isinstance(c, Binned)]
        tables = [np.stack([c.left, c.rise], axis=1) for c in binned]
        self._table = np.concatenate(tables) if tables else np.empty((0, 2))  # (binned * CELLS, 2)
        self._edges = _pad([c.edges for c in binned], np.inf).T  # (most edges, binned)
        self._bounds = _pad([c.bounds for c in binned], 0).astype(np.int32)
        normals = [c for c in columns if isinstance(c, Normal)]
        self._means, self._sds = np.array([c.mean for c in normals]), np.array([c.sd for c in normals])
        self._limits = np.array([[c.low, c.high] for c in normals]).reshape(-1, 2).T  # (2, normals)
        self.cut = bool(np.isfinite(self._limits).any())
        owner = np.full(len(schema.names), -1, dtype=np.intp)
        for j, c in enumerate(columns):
            owner[list(c.positions)] = j
        self.places = Places(owner, owner.shape)  # the part of each column
        self.value_places: list[Place] = [  # a one-hot group says which of its columns is 1
            (c.positions, tuple(str(part.value) for part in c.parts))
            if isinstance(c, Coded) and len(c.positions) > 1
            else (c.positions, ())
            for c in columns
        ]
        self.held: list[int] = np.flatnonzero(owner < 0).tolist()  # no part: always as in the instance
        self._all_binned = len(self.binned) == d
        self._parts = [(c.part(c.mean),) if isinstance(c, Normal) else c.parts for c in columns]
        grouped = [_group(c) for c in columns if not isinstance(c, Normal)] if not normals else []
        self._groups, self._grouped = [g for g, _ in grouped], [rates for _, rates in grouped]
        self._group_of = _pad(self._groups, 0).astype(np.intp)  # (d, most states)
        self._rates = np.concatenate(self._grouped) if grouped else np.empty(0)
        self.n_states = len(self._rates)  # of all parts, rare ones of a part as one; 0 where a part is a number
        self._first = np.cumsum([0, *map(len, self._grouped)])[:-1]  # place of each part's first group
        self._plain = schema.plain is not None and not self.coded

    def draw(self, seed: Seed, start: int, stop: int, tilt: Tilt | None = None) -> CellSample:
        """Samples start..stop of the law of the background, or of the law moved towards an instance."""
        d = len(self.columns)
        if self.is_normal.all() and not self.cut:
            z = normal_net(d, seed, start, stop)
            return CellSample(_NO_CELLS, z if tilt is None else z * tilt.spread + tilt.center)
        words = net(d, seed, start, stop)
        if tilt is not None:
            words = np.where(self.is_normal, words, _tilt_words(words, tilt))
        return self._values(words, tilt)

    def draw_apart(self, seed: Seed, n: int) -> CellSample:
        """Samples that know nothing of each other: a net would go along with whatever order there is in masks."""
        shape = (n, len(self.columns))
        return self._values(generator(seed, 1).integers(0, 2**32, shape, dtype=np.uint32), None)

    def _values(self, words: Words, tilt: Tilt | None) -> CellSample:
        if self.binned:  # table look-up with linear interpolation inside a cell; a few rows stay in the cache
            binned = words if self._all_binned else words[:, self.binned]
            own, values = np.empty(binned.shape, np.int16, order="F"), np.empty(binned.shape)
            offsets = np.arange(0, binned.shape[1] * CELLS, CELLS)
            for piece in (slice(a, a + 1024) for a in range(0, len(binned), 1024)):
                cell = binned[piece] >> np.uint32(_INSIDE)
                own[piece] = cell
                found = self._table.take(cell + offsets, axis=0, mode="clip")
                inside = values[piece]
                np.multiply(binned[piece] & np.uint32(2**_INSIDE - 1), 2.0**-_INSIDE, out=inside)
                inside *= found[..., 1]
                inside += found[..., 0]
            if self._all_binned:
                return CellSample(own, values)
        cells, numbers = np.zeros(words.shape, np.int32), np.zeros(words.shape)
        if self.binned:
            cells[:, self.binned], numbers[:, self.binned] = own, values
        for j in self.coded:
            column = self.columns[j]
            assert isinstance(column, Coded)
            cells[:, j] = np.searchsorted(column.cumulative, words[:, j] * 2.0**-32, side="right")
        if self.normal:
            numbers[:, self.normal] = self._normal_values(words[:, self.normal], tilt)
        return CellSample(cells, numbers)

    def _normal_values(self, words: Words, tilt: Tilt | None) -> Floats:
        center, spread = (0.0, 1.0) if tilt is None else (tilt.center[self.normal], tilt.spread[self.normal])
        ends = ndtr((self._limits - center) / spread) if self.cut else None
        return normal_quantiles(words, ends) * spread + center

    def indicators(self, values: CellSample) -> Floats:
        """One column per state of each part, 1 where a sample is in it."""
        X = np.zeros((len(values.numbers), self.n_states), order="F")
        at = 0
        for j, (group, shares) in enumerate(zip(self._groups, self._grouped, strict=True)):
            column = self.columns[j]
            assert not isinstance(column, Normal)
            state = np.searchsorted(column.bounds, values.cells[:, j], side="right") - 1
            X[np.arange(len(X)), at + group[state]] = 1.0
            at += len(shares)
        return X

    def weights_of(self, rows: Sequence[Row], effects: Floats) -> tuple[Floats, Floats]:
        """Weights (r, d) and intercepts (r,) that a sum of effects of the indicators has at rows."""
        shares, states = np.stack([r.shares for r in rows]), np.stack([r.placed.states[r.i] for r in rows])
        own = effects[self._first + self._group_of[np.arange(len(self._groups)), states]]
        mean = np.add.reduceat(effects * self._rates, self._first)
        other = (mean - shares * own) / np.maximum(1 - shares, 1e-300)
        return own - other, other.sum(axis=1)

    def together(self, rows: Sequence[Row], pieces: Sequence[CellSample], kernel: Kernel) -> Neighborhood:
        """Samples, a piece after the other, as many rows see them at once."""
        low, high, x = (
            np.stack([getattr(row.placed, name)[row.i] for row in rows]) for name in ("low", "high", "normal")
        )
        is_normal, d = self.is_normal, low.shape[1]
        _, first, at = np.unique(low + (np.arange(d) << 32), return_index=True, return_inverse=True)
        at, part = at.reshape(low.shape), first % d
        binary, n = ~is_normal[part], sum(len(values.numbers) for values in pieces)
        begin, end = (bound.ravel()[first][binary, None] for bound in (low, high))
        states, start = np.empty((len(part), n)), 0
        for values in pieces:
            some = states[:, start : start + len(values.numbers)]
            some[~binary] = values.numbers.T[part[~binary]]
            if binary.any():
                cells = values.cells.T[part[binary]]
                some[binary] = (cells >= begin.astype(cells.dtype)) & (cells < end.astype(cells.dtype))
            start += len(values.numbers)
        marks = np.zeros((len(rows), len(part)), np.float32)  # of the states of each row's parts
        np.put_along_axis(marks, at[:, ~is_normal], np.float32(1), axis=1)
        squares = np.asarray((~is_normal).sum() - marks @ states.astype(np.float32), np.float64)  # how many change
        if self.normal:
            numbers = np.concatenate([values.numbers for values in pieces])
            squares += squared_distances(numbers, x, is_normal)
        own, shares = np.where(is_normal, x, 1.0), np.stack([row.shares for row in rows])
        names, weights = tuple(row.names for row in rows), proximities(kernel, squares, is_normal)
        return Neighborhood(names, states, at, weights, own, shares, Design(rows[0].shares, net=True))

    def place(self, table: Any) -> PlacedRows:
        """Where the rows of a checked table are among the cells; a category that was never seen is state -1."""
        shape = (len(table), len(self.columns))
        low, high, states = (np.zeros(shape, np.int32) for _ in range(3))
        normal = np.zeros(shape)
        if self.binned:
            binned = [c for c in self.columns if isinstance(c, Binned)]
            numbers = self._numbers(table, binned)
            state = np.zeros(numbers.shape, np.int64)
            for edges in self._edges:
                state += numbers > edges
            for i, j in np.argwhere(np.isnan(numbers)):
                if not binned[j].has_missing:
                    raise InputError(missing_message(binned[j].column))
                state[i, j] = len(binned[j].parts) - 1
            each = np.arange(len(binned))
            states[:, self.binned] = state
            low[:, self.binned], high[:, self.binned] = self._bounds[each, state], self._bounds[each, state + 1]
        shares: Floats = (high - low) / CELLS
        for j in self.coded:
            column = self.columns[j]
            assert isinstance(column, Coded)
            found = self.coded_states(table, column)
            states[:, j], low[:, j], high[:, j] = found, column.bounds[found], column.bounds[found + 1]
            low[found < 0, j] = high[found < 0, j] = 0  # no sample is in a state that was never seen
            shares[:, j] = np.diff(self.interval(j, low[:, j], high[:, j]), axis=0)[0]
        if self.normal:
            normal[:, self.normal], shares[:, self.normal] = self._standardize(table), np.nan
        usual = np.full(len(table), not self.fixed)
        for position in self.held if not self.fixed else ():  # no part: as the background always is
            values, always = self.schema.column(table, position), self.schema.column(self.usual, position)[0]
            usual &= np.asarray(pd.isna(values) if pd.isna(always) else np.asarray(values == always, bool))
        return PlacedRows(usual, low, high, states, normal, shares)

    def _standardize(self, table: Any) -> Floats:
        """The parts that are numbers in standard units; a row outside their valid range is refused."""
        columns = [c for c in self.columns if isinstance(c, Normal)]
        numbers = self._numbers(table, columns)
        if np.isnan(numbers).any():
            raise InputError(missing_message(columns[int(np.argmax(np.isnan(numbers).any(axis=0)))].column))
        z: Floats = (numbers - self._means) / self._sds
        outside = (z < self._limits[0] - 1e-9) | (z > self._limits[1] + 1e-9)
        if outside.any():
            i, j = np.argwhere(outside)[0]
            origin = columns[j].line.origin
            low, high = self._limits[:, j] * self._sds[j] + self._means[j] + origin
            name, value = columns[j].column, numbers[i, j] + origin
            raise InputError(f"column {name!r} is {value:g}, outside its valid range from {low:g} to {high:g}")
        return z

    def with_unseen(self, row: Any, parts: Sequence[int]) -> TableBackground:
        """The same with the categories that a table of one row has in some parts as states of their own."""
        columns, seen = list(self.columns), list(self.seen)
        for j in parts:
            column = columns[j]
            assert isinstance(column, Coded)
            columns[j] = column.with_unseen(self.schema, row, self.n_rows)
            seen[j] = SeenValues.of(columns[j])
        return TableBackground(self.schema, tuple(columns), self.usual, self.fixed, self.n_rows, seen, self.rows)

    def check(self, table: Any) -> None:
        """A wrong row is found, and its number said, before the model is asked."""
        for start in range(0, len(table), 10_000):
            self._check(table, start, start + 10_000)

    def _check(self, table: Any, start: int, stop: int) -> None:
        try:
            self.place(self.schema.rows(table, start, stop))
        except InputError as cause:
            if stop - start == 1:
                raise InputError(f"row {start}: {cause}") from cause
            middle = (start + stop) // 2
            self._check(table, start, middle)
            self._check(table, middle, stop)

    def coded_states(self, table: Any, column: Coded) -> npt.NDArray[np.int64]:
        """The state of each row of a table in a column of levels."""
        if len(column.positions) == 1:
            return column.states(self.schema.column(table, column.position))
        codes = one_hot_codes(self.schema, table, column.column, column.positions)
        none = len(column.positions) if len(column.levels) > len(column.positions) else -1
        return np.where(codes < 0, none, codes)

    def _numbers(self, table: Any, columns: Sequence[Binned | Normal]) -> Floats:
        """The columns as one block of finite or missing numbers."""
        if isinstance(table, np.ndarray) and table.dtype.kind == "f":
            block = table[:, [c.position for c in columns]].astype(np.float64, copy=False)
        else:
            block = np.stack([self.numbers(table, c) for c in columns], axis=1)
        infinite = np.isinf(block)
        if infinite.any():
            column = columns[int(np.argmax(infinite.any(axis=0)))].column
            raise InputError(f"column {column!r} has an infinite value; wanted finite numbers")
        return block

    def numbers(self, table: Any, column: TableColumn) -> Floats:
        """A column of numbers or dates of a checked table, counted from the origin of its line."""
        values = self.schema.column(table, column.position)
        try:
            return as_numbers(values) if isinstance(column, Binned) else column.line.numbers(values)
        except (TypeError, ValueError, OverflowError) as cause:
            raise InputError(f"column {column.column!r} holds numbers in the background, and not here") from cause

    def realize(self, values: CellSample, row: Any = None) -> Any:
        """Samples as a table; columns that are no part come from ``row``, or are as usual."""
        n, row = len(values.numbers), self.usual if row is None else row
        if self._plain and not self.held:  # all columns are parts, and one block of floats
            if self._all_binned:
                return self.schema.build_plain(values.numbers)
            if self.is_normal.all():
                block = np.multiply(values.numbers, self._sds)
                block += self._means
                return self.schema.build_plain(block)
        columns: list[Any] = [None] * len(self.schema.names)
        for j, column in enumerate(self.columns):
            if isinstance(column, Coded):
                for position, own in self.level_values(column, values.cells[:, j]):
                    columns[position] = own
            else:
                own = self._number(values, j)
                columns[column.position] = own if self._plain else self.cast(own, column.position, column)
        for position in self.held:
            columns[position] = self.schema.column(row, position).take(np.zeros(n, int))
        return self.schema.build_plain(np.stack(columns, axis=1)) if self._plain else self.schema.build(columns, n)

    def level_values(self, column: Coded, levels: Any) -> Iterator[tuple[int, Any]]:
        """The values at some levels of a column, with their position in the table; of a group, for each column."""
        if len(column.positions) == 1:
            yield column.position, column.levels.take(levels)
            return
        taken = column.levels.take(levels, axis=0)
        for j, position in enumerate(column.positions):
            yield position, self.cast(taken[:, j], position)

    def mix_rows(self, row: Any, drawn: Any, masks: Bools, which: Ints | None = None) -> Any:
        """A table whose columns are those of ``row``, a table of one row, where the part they belong to is kept.

        Elsewhere they are those of ``drawn``, which has one row per mask (n, d), or of which ``which`` tells one.
        """
        which = np.arange(len(masks)) if which is None else which
        kept = np.append(masks, np.ones((len(masks), 1), bool), axis=1)[:, self.places.labels]
        if self._plain or self.schema.labels is None:
            mixed = np.where(kept, np.asarray(row), np.asarray(drawn)[which])
            return self.schema.build_plain(mixed) if self._plain else mixed
        both = self.schema.stack([row, drawn])
        taken = np.where(kept, 0, 1 + which[:, None])
        columns = [self.schema.column(both, position).take(at) for position, at in enumerate(taken.T)]
        return self.schema.build(columns, len(masks))

    def _number(self, values: CellSample, j: int) -> Floats:
        column, numbers = self.columns[j], values.numbers[:, j]
        if not isinstance(column, Normal):
            return numbers
        numbers = numbers * column.sd + column.mean
        return np.round(numbers) if column.whole else numbers

    def cast(self, numbers: Floats, position: int, column: TableColumn | None = None) -> Any:
        """Numbers in the type of a column, counted from its origin."""
        dtype = self.schema.dtypes[position]
        if isinstance(column, Normal) and column.line.origin:
            whole_type = numpy_type(dtype)
            limits = np.iinfo(whole_type if whole_type.kind in "iu" else np.int64)
            whole = [min(max(column.line.origin + round(v), limits.min), limits.max) for v in numbers.tolist()]
            return np.array(whole, dtype) if isinstance(dtype, np.dtype) else pd.array(whole, dtype=dtype)
        if isinstance(dtype, np.dtype):
            return numbers.astype(dtype) if dtype.kind != "O" else numbers.astype(object)
        return pd.array(numbers, dtype=dtype)

    def parts(self, placed: PlacedRows, i: int) -> tuple[Part, ...]:
        """The parts of placed row i, by name."""
        found = [parts[state] for parts, state in zip(self._parts, placed.states[i].tolist(), strict=True)]
        for j, z in zip(self.normal, placed.normal[i, self.normal].tolist(), strict=True):
            column = self.columns[j]
            assert isinstance(column, Normal)
            found[j] = column.part(z * column.sd + column.mean)
        return tuple(found)

    def interval(self, j: int, low: Any, high: Any) -> Floats:
        """Where the cells low..high of part j begin and end on [0, 1], for one row or for many."""
        column = self.columns[j]
        if isinstance(column, Coded):
            return np.asarray(np.append(0.0, column.cumulative)[np.array([low, high])])
        return np.asarray(np.array([low, high]) / CELLS)


def _group(column: Binned | Coded) -> tuple[npt.NDArray[np.int64], Floats]:
    """The group of each state of a column, frequent ones alone and the rest together, and the groups' rates."""
    ends = np.append(0.0, column.cumulative)[column.bounds] if isinstance(column, Coded) else column.bounds / CELLS
    rates = np.diff(ends)
    rank = np.empty(len(rates), np.int64)
    rank[np.argsort(-rates, kind="stable")] = np.arange(len(rates))
    group = np.minimum(rank, MAX_STATES_PER_PART - 1)
    return group, np.asarray(np.bincount(group, weights=rates), np.float64)


def _tilt_words(words: Words, tilt: Tilt) -> Words:
    """Uniform words moved so that the own cells of each part get their new share."""
    own = tilt.end - tilt.begin
    rest = (1 - tilt.near) / np.maximum(1 - own, 1e-300)  # how the other cells shrink or grow
    first = tilt.begin * rest
    u = words * 2.0**-32
    inside = tilt.begin + (u - first) * (own / np.maximum(tilt.near, 1e-300))
    before = u / np.maximum(rest, 1e-300)
    after = (u - tilt.near) / np.maximum(rest, 1e-300) + own
    moved = np.where(u < first, before, np.where(u < first + tilt.near, inside, after))
    bent: Words = (np.clip(moved, 0, 1 - 2.0**-32) * 2.0**32).astype(np.uint32)
    return bent


def _pad(rows: Sequence[npt.NDArray[Any]], fill: float) -> npt.NDArray[Any]:
    """Rows of unequal length as one block."""
    block = np.full((len(rows), max(map(len, rows), default=0)), fill)
    for i, row in enumerate(rows):
        block[i, : len(row)] = row
    return block


def learn_background(
    schema: Schema,
    table: Any,
    *,
    discretize: Discretizer,
    categorical: Sequence[str | int],
    onehot: Mapping[str, Sequence[str | int]],
    immutable: Sequence[str | int],
    ranges: Mapping[str | int, tuple[float, float]],
    blocks: Blocks = None,
) -> tuple[TableBackground, tuple[str, ...]]:
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
    columns: list[tuple[int, TableColumn]] = []
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
        notes.append(f"left out, because they never vary in the background: {list_some(constant)}")
    if fixed:
        notes.append(f"never changed, as declared: {list_some(schema.names[p] for p in sorted(fixed))}")
    parts = tuple(c for _, c in sorted(columns, key=lambda pc: pc[0]))
    found = TableBackground(schema, parts, schema.rows(table, 0, 1).copy(), sorted(fixed), len(table), ())
    numbers = [None if isinstance(c, Coded) else found.numbers(table, c) for c in parts]
    found.seen = tuple(map(SeenValues.of, parts, numbers))
    found.rows = BackgroundRows.of(found, table, blocks)
    return found, tuple(notes)


def assemble_background(
    statistics: Mapping[str, ColumnStatistics] | Sequence[ColumnStatistics],
    names: Sequence[str] | None,
    n_rows: int,
) -> tuple[TableBackground, tuple[str, ...]]:
    """The background of columns of which only statistics are known: of a table by name, else of an array."""
    named = isinstance(statistics, Mapping)
    every: list[Any] = list(statistics.values() if isinstance(statistics, Mapping) else statistics)
    if not every or not all(isinstance(each, ColumnStatistics) for each in every):
        raise InputError(
            "statistics wants vd.bins.BinStatistics, NumberStatistics or CategoryStatistics, one per column: a "
            "mapping of names to them, or a list"
        )
    if named and names is not None:
        raise InputError("names are for a list of statistics; a mapping has its own")
    levels = [_levels_of(each, named) for each in every]
    first = [values.take([0]) for values in levels]
    usual: Any = pd.DataFrame(dict(zip(statistics, first, strict=True))) if named else np.stack(first, axis=1)
    schema = Schema.of(usual, names)
    columns, constant = list[TableColumn](), list[str]()
    for p, (name, found, own) in enumerate(zip(schema.names, every, levels, strict=True)):
        if isinstance(found, NumberStatistics):
            columns.append(Normal(name, p, float(found.mean), float(found.sd), -np.inf, np.inf, False))
        elif np.count_nonzero([*found.shares, found.missing]) < 2:
            constant.append(name)
        elif isinstance(found, BinStatistics):
            columns.append(binned_of(name, p, found))
        else:
            columns.append(coded_of(name, p, found, own))
    if not columns:
        raise InputError(
            "no column varies, so there is nothing to take away: each has all of its values in one bin"
        )
    notes = (f"left out, because they never vary in the background: {list_some(constant)}",) if constant else ()
    return TableBackground(schema, tuple(columns), usual, (), n_rows), notes


def _levels_of(found: ColumnStatistics, named: bool) -> Any:
    """The values of a column, the most frequent first where any will do, as a column of the table has them."""
    if isinstance(found, NumberStatistics):
        return np.array([float(found.mean)])
    if isinstance(found, BinStatistics):
        return np.array([float(found.means[int(np.argmax(found.shares))])])
    values = [*found.values, *[None] * (found.missing > 0)]
    if named:
        return pd.Series(values).infer_objects().array
    try:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InputError(
            f"categories of an array are numbers, not {list_some(found.values)}: give a mapping of names to statistics"
        ) from cause


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
) -> TableColumn | None:
    """One column; None if it never varies."""
    name, own = schema.names[position], schema.column(table, position)
    if pd.api.types.is_object_dtype(own.dtype):
        _check_truths(name, own)
    values = _refined(own)
    if getattr(values.dtype, "kind", "") == "c":
        raise InputError(unsupported_message(f"column {name!r}", values.dtype))
    distinct = _n_distinct(name, values)
    number = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    if valid is not None:
        _check_range(name, values if number and not is_category else None, valid)
    if distinct < 2:
        return None
    if is_category or not (number or is_time(values.dtype)):
        return learn_categories(name, position, values, own)
    line = NumberLine.of(values)
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
    discretize: Discretizer, values: Any, numbers: Floats, name: str, position: int, line: NumberLine
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


def _counted(edges: list[Any], line: NumberLine) -> list[float]:
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


def _learn_normal(
    name: str, position: int, numbers: Floats, valid: Any, whole_type: Any, line: NumberLine
) -> Normal:
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


def squared_distances(numbers: Floats, x: Floats, is_normal: Bools) -> Floats:
    """Between samples (n, d) and instances (r, d), of the parts that are numbers: (r, n)."""
    found = np.zeros((len(x), len(numbers)))
    for j in np.flatnonzero(is_normal):  # one by one, so that no bit depends on how many rows there are
        found += np.square(numbers[:, j] - x[:, j, None])
    return found


def proximities(kernel: Kernel, squares: Floats, is_normal: Bools) -> Floats:
    """Of samples (r, n) at squared distances from their instance."""
    d = len(is_normal)
    if isinstance(kernel, Gaussian) and not is_normal.any():
        by_count: Floats = kernel(np.sqrt(np.arange(d + 1) / d)).take(squares.astype(np.intp))
        return by_count
    return np.stack([kernel(np.sqrt(row / d)) for row in squares])
