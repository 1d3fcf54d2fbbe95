"""The law of a table's columns, learned once: what is sampled, and how it becomes rows again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr

from veridical.errors import InputError
from veridical.masks import Words, generator, net, normal_net, normal_quantiles
from veridical.records import Bools, Floats, Kernel, Part, Seed
from veridical.represent.columns import CELL_BITS, CELLS, Binned, Coded, Normal, as_numbers, hot_codes, numpy_type
from veridical.represent.regions import Places
from veridical.represent.schema import Schema, never_missing
from veridical.represent.together import Together, together

if TYPE_CHECKING:
    from veridical.represent.rows import Row

Cells = npt.NDArray[np.signedinteger[Any]]  # 16 bits where that is enough

GROUPS = 12  # states of a part that an additive model tells apart
_NO_CELLS: Cells = np.empty((0, 0), np.int16)
_INSIDE = 32 - CELL_BITS  # bits of a word that say where in its cell a number lies


@dataclass(frozen=True, eq=False)
class Values:
    """Samples of all parts: the cell each fell into, and the number it stands for."""

    cells: Cells  # (n, d); without rows where all parts are normal
    numbers: Floats  # (n, d): value of a binned part, standard units of a normal one


@dataclass(frozen=True, eq=False)
class Located:
    """Where instances are among the cells: a part is kept by a sample within its range."""

    can_share: Bools  # (n,) whether the columns that are no part are as usual
    low: Cells  # (n, d)
    high: Cells  # (n, d), exclusive
    states: Cells  # (n, d), for the names
    normal: Floats  # (n, d) standard units of normal parts, else 0


@dataclass(frozen=True, eq=False)
class Tilt:
    """How the law is moved towards an instance, so that samples near it are drawn more often."""

    near: Floats  # (d,) share that the instance's own cells get
    begin: Floats  # (d,) where those cells begin on [0, 1], before the move
    end: Floats  # (d,)
    center: Floats  # (d,) of normal parts
    spread: Floats  # (d,)


class Background:
    """All columns of a background. A part is a column or a one-hot group that varies."""

    def __init__(
        self,
        schema: Schema,
        columns: tuple[Binned | Coded | Normal, ...],
        usual: Any,
        fixed: Sequence[int],
        n_rows: int = 1000,  # older files do not say
    ) -> None:
        self.schema = schema
        self.n_rows = n_rows
        self.usual = usual  # a table of one row of the background, for columns that never vary
        self.fixed = tuple(fixed)  # columns that vary, but must not be changed
        self.columns = columns  # one a part, in the order of the table
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
            owner[list(c.positions) if isinstance(c, Coded) else c.position] = j
        self.places = Places(owner, owner.shape)  # the part of each column
        self.held: list[int] = np.flatnonzero(owner < 0).tolist()  # no part: always as in the instance
        self._all_binned = len(self.binned) == d
        self._parts = [(c.part(c.mean),) if isinstance(c, Normal) else c.parts for c in columns]
        grouped = [_group(c) for c in columns if not isinstance(c, Normal)] if not normals else []
        self._groups, self._grouped = [g for g, _ in grouped], [rates for _, rates in grouped]
        self._group_of = _pad(self._groups, 0).astype(np.intp)  # (d, most states)
        self._rates = np.concatenate(self._grouped) if grouped else np.empty(0)
        self._first = np.cumsum([0, *map(len, self._grouped)])[:-1]  # place of each part's first group
        self._plain = schema.plain is not None and not self.coded

    def draw(self, seed: Seed, start: int, stop: int, tilt: Tilt | None = None) -> Values:
        """Samples start..stop of the law of the background, or of the law moved towards an instance."""
        d = len(self.columns)
        if self.is_normal.all() and not self.cut:
            z = normal_net(d, seed, start, stop)
            return Values(_NO_CELLS, z if tilt is None else z * tilt.spread + tilt.center)
        words = net(d, seed, start, stop)
        if tilt is not None:
            words = np.where(self.is_normal, words, _bent(words, tilt))
        return self._values(words, tilt)

    def draw_apart(self, seed: Seed, n: int) -> Values:
        """Samples that know nothing of each other: a net would go along with whatever order there is in masks."""
        shape = (n, len(self.columns))
        return self._values(generator(seed, 1).integers(0, 2**32, shape, dtype=np.uint32), None)

    def _values(self, words: Words, tilt: Tilt | None) -> Values:
        if self._all_binned:
            return self._binned_values(words)
        cells, numbers = np.zeros(words.shape, np.int32), np.zeros(words.shape)
        if self.binned:
            part = self._binned_values(words[:, self.binned])
            cells[:, self.binned], numbers[:, self.binned] = part.cells, part.numbers
        for j in self.coded:
            column = self.columns[j]
            assert isinstance(column, Coded)
            cells[:, j] = np.searchsorted(column.cumulative, words[:, j] * 2.0**-32, side="right")
        if self.normal:
            numbers[:, self.normal] = self._normal_values(words[:, self.normal], tilt)
        return Values(cells, numbers)

    def _normal_values(self, words: Words, tilt: Tilt | None) -> Floats:
        center, spread = (0.0, 1.0) if tilt is None else (tilt.center[self.normal], tilt.spread[self.normal])
        ends = ndtr((self._limits - center) / spread) if self.cut else None
        return normal_quantiles(words, ends) * spread + center

    def _binned_values(self, words: Words) -> Values:
        """Table look-up with linear interpolation inside a cell; a few rows at a time stay in the cache."""
        cells, numbers = np.empty(words.shape, np.int16, order="F"), np.empty(words.shape)
        offsets = np.arange(0, words.shape[1] * CELLS, CELLS)
        for piece in (slice(a, a + 1024) for a in range(0, len(words), 1024)):
            cell = words[piece] >> np.uint32(_INSIDE)
            cells[piece] = cell
            found = self._table.take(cell + offsets, axis=0, mode="clip")
            inside = numbers[piece]
            np.multiply(words[piece] & np.uint32(2**_INSIDE - 1), 2.0**-_INSIDE, out=inside)
            inside *= found[..., 1]
            inside += found[..., 0]
        return Values(cells, numbers)

    @property
    def n_states(self) -> int:
        """States of all parts together, rare ones of a part as one; 0 where a part is a number."""
        return len(self._rates)

    def indicators(self, values: Values) -> Floats:
        """One column a state of each part, 1 where a sample is in it."""
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

    def together(self, rows: Sequence[Row], pieces: Sequence[Values], kernel: Kernel) -> Together:
        """Samples, a piece after the other, as many rows see them at once."""
        return together(self, rows, pieces, kernel)

    def place(self, table: Any) -> Located:
        """Where the rows of a checked table are among the cells; a category that was never seen is state -1."""
        shape = (len(table), len(self.columns))
        low, high, states = (np.zeros(shape, np.int32) for _ in range(3))
        normal = np.zeros(shape)
        if self.binned:
            state = self._binned_states(table)
            each = np.arange(len(self.binned))
            states[:, self.binned] = state
            low[:, self.binned], high[:, self.binned] = (
                self._bounds[each, state],
                self._bounds[each, state + 1],
            )
        for j in self.coded:
            column = self.columns[j]
            assert isinstance(column, Coded)
            found = self.coded_states(table, column)
            states[:, j], low[:, j], high[:, j] = found, column.bounds[found], column.bounds[found + 1]
            low[found < 0, j] = high[found < 0, j] = 0  # no sample is in a state that was never seen
        if self.normal:
            columns = [c for c in self.columns if isinstance(c, Normal)]
            numbers = self._numbers(table, columns)
            if np.isnan(numbers).any():
                raise InputError(never_missing(columns[int(np.argmax(np.isnan(numbers).any(axis=0)))].column))
            normal[:, self.normal] = z = (numbers - self._means) / self._sds
            self._check_limits(columns, numbers, (z < self._limits[0] - 1e-9) | (z > self._limits[1] + 1e-9))
        return Located(self._as_usual(table), low, high, states, normal)

    def with_unseen(self, row: Any, parts: Sequence[int]) -> Background:
        """The same with the categories that a table of one row has in some parts as states of their own."""
        columns = list(self.columns)
        for j in parts:
            column = columns[j]
            assert isinstance(column, Coded)
            columns[j] = column.with_unseen(self.schema, row, self.n_rows)
        return Background(self.schema, tuple(columns), self.usual, self.fixed, self.n_rows)

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

    def _as_usual(self, table: Any) -> Bools:
        """Rows whose columns that are no part hold what the background always holds."""
        same = np.full(len(table), not self.fixed)
        for position in self.held if not self.fixed else ():
            values, usual = self.schema.column(table, position), self.schema.column(self.usual, position)[0]
            same &= np.asarray(pd.isna(values) if pd.isna(usual) else np.asarray(values == usual, bool))
        return same

    def _check_limits(self, columns: Sequence[Normal], numbers: Floats, outside: Bools) -> None:
        if outside.any():
            i, j = np.argwhere(outside)[0]
            origin = columns[j].line.origin
            low, high = self._limits[:, j] * self._sds[j] + self._means[j] + origin
            name, value = columns[j].column, numbers[i, j] + origin
            raise InputError(f"column {name!r} is {value:g}, outside its valid range from {low:g} to {high:g}")

    def _binned_states(self, table: Any) -> npt.NDArray[np.int64]:
        columns = [c for c in self.columns if isinstance(c, Binned)]
        numbers = self._numbers(table, columns)
        states = np.zeros(numbers.shape, np.int64)
        for edges in self._edges:
            states += numbers > edges
        for i, j in np.argwhere(np.isnan(numbers)):
            if not columns[j].has_missing:
                raise InputError(never_missing(columns[j].column))
            states[i, j] = len(columns[j].parts) - 1
        return states

    def coded_states(self, table: Any, column: Coded) -> npt.NDArray[np.int64]:
        """The state of each row of a table in a column of levels."""
        if len(column.positions) == 1:
            return column.states(self.schema.column(table, column.positions[0]))
        codes = hot_codes(self.schema, table, column.column, column.positions)
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

    def numbers(self, table: Any, column: Binned | Coded | Normal) -> Floats:
        """A column of numbers or dates of a checked table, counted from the origin of its line."""
        position = column.positions[0] if isinstance(column, Coded) else column.position
        values = self.schema.column(table, position)
        try:
            return as_numbers(values) if isinstance(column, Binned) else column.line.numbers(values)
        except (TypeError, ValueError, OverflowError) as cause:
            raise InputError(f"column {column.column!r} holds numbers in the background, and not here") from cause

    def realize(self, values: Values, row: Any = None) -> Any:
        """Samples as a table; columns that are no part come from ``row``, or are as usual."""
        n, row = len(values.numbers), self.usual if row is None else row
        if self._plain:
            return self._realize_plain(values, row)
        columns: list[Any] = [None] * len(self.schema.names)
        for j, column in enumerate(self.columns):
            if isinstance(column, Coded):
                taken = column.levels.take(values.cells[:, j], axis=0) if len(column.positions) > 1 else None
                for at, position in enumerate(column.positions):
                    columns[position] = (
                        self.cast(taken[:, at], position)
                        if taken is not None
                        else column.levels.take(values.cells[:, j])
                    )
            else:
                columns[column.position] = self.cast(self._number(values, j), column.position, column)
        for position in self.held:
            columns[position] = self.schema.column(row, position).take(np.zeros(n, int))
        return self.schema.build(columns, n)

    def mixed(self, row: Any, drawn: Any, masks: Bools) -> Any:
        """A table whose columns are those of ``row``, a table of one row, where the part they belong to is kept.

        Elsewhere they are those of ``drawn``, which has a row a mask (n, d).
        """
        kept = np.append(masks, np.ones((len(masks), 1), bool), axis=1)[:, self.places.labels]
        if self._plain or self.schema.labels is None:
            mixed = np.where(kept, np.asarray(row), np.asarray(drawn))
            return self.schema.build_plain(mixed) if self._plain else mixed
        both = self.schema.stack(row, drawn)
        taken = np.where(kept, 0, np.arange(1, len(masks) + 1)[:, None])
        columns = [self.schema.column(both, position).take(at) for position, at in enumerate(taken.T)]
        return self.schema.build(columns, len(masks))

    def _realize_plain(self, values: Values, row: Any) -> Any:
        """All columns are floats of one type: fill one block."""
        if self._all_binned and not self.held:
            return self.schema.build_plain(values.numbers)
        block = np.empty((len(values.numbers), len(self.schema.names)))
        if self.is_normal.all() and not self.held:
            np.multiply(values.numbers, self._sds, out=block)
            block += self._means
            return self.schema.build_plain(block)
        for j, column in enumerate(self.columns):
            assert not isinstance(column, Coded)
            block[:, column.position] = self._number(values, j)
        for position in self.held:
            block[:, position] = self.schema.column(row, position)[0]
        return self.schema.build_plain(block)

    def _number(self, values: Values, j: int) -> Floats:
        column, numbers = self.columns[j], values.numbers[:, j]
        if not isinstance(column, Normal):
            return numbers
        numbers = numbers * column.sd + column.mean
        return np.round(numbers) if column.whole else numbers

    def cast(self, numbers: Floats, position: int, column: Binned | Coded | Normal | None = None) -> Any:
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

    def parts(self, placed: Located, i: int) -> tuple[Part, ...]:
        """The parts of placed row i, by name."""
        found = [parts[state] for parts, state in zip(self._parts, placed.states[i].tolist(), strict=True)]
        for j, z in zip(self.normal, placed.normal[i, self.normal].tolist(), strict=True):
            column = self.columns[j]
            assert isinstance(column, Normal)
            found[j] = column.part(z * column.sd + column.mean)
        return tuple(found)

    def shares(self, placed: Located) -> Floats:
        """Probability that a sample keeps each part of each row, (n, d); nan for normal parts."""
        shares: Floats = (placed.high - placed.low) / CELLS
        for j in self.coded:
            shares[:, j] = np.diff(self.interval(j, placed.low[:, j], placed.high[:, j]), axis=0)[0]
        shares[:, self.is_normal] = np.nan
        return shares

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
    group = np.minimum(rank, GROUPS - 1)
    return group, np.asarray(np.bincount(group, weights=rates), np.float64)


def _bent(words: Words, tilt: Tilt) -> Words:
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
