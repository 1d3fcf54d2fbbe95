"""Rows of the background that stand in for a row's own values, and blocks of columns that they replace together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from veridical.errors import InputError, safe_repr
from veridical.records import TOGETHER, Bools, Floats, Ints, Part
from veridical.representations.tables.columns import Coded, format_number
from veridical.representations.tables.schema import is_missing, position_of, read_values

if TYPE_CHECKING:
    from veridical.representations.tables.backgrounds import TableBackground
    from veridical.representations.tables.rows import Row

MAX_ROWS = 500  # of a background that stand in for others
LEAST_KNOWN = 8  # values of a column, below which it is correlated with nothing
DIGITS = 4  # of numbers in names

# How columns go together: by a correlation, not at all, by name, or as the method decides.
Blocks: TypeAlias = float | Mapping[str, Sequence[str | int]] | None


@dataclass(frozen=True)
class Block:
    """Parts that are kept or replaced together, the one that speaks for them first."""

    parts: tuple[int, ...]
    name: str = ""  # the caller's own


@dataclass(frozen=True, eq=False)
class BackgroundRows:
    """Rows of a background as they are, at most 500 of them, and which of its columns go together."""

    background: TableBackground
    table: Any
    together: float | bool | None = None  # least correlation of columns of a block; False for none
    named: tuple[Block, ...] = ()

    @classmethod
    def of(cls, background: TableBackground, table: Any, blocks: Any) -> BackgroundRows:
        """The rows of a checked table, or so many of them, and the caller's own blocks."""
        kept = np.arange(len(table))
        if len(table) > MAX_ROWS:
            kept = np.sort(np.random.default_rng(0).permutation(len(table))[:MAX_ROWS])
        some = table.iloc[kept].reset_index(drop=True) if hasattr(table, "iloc") else table[kept]
        if isinstance(blocks, Mapping):
            return cls(background, some, None, _named_blocks(background, blocks))
        number = isinstance(blocks, Real) and not isinstance(blocks, (bool, np.bool_))
        if number and 0 < float(blocks) <= 1:
            return cls(background, some, float(blocks))
        if blocks is None or blocks is False:
            return cls(background, some, blocks)
        raise InputError(
            "blocks wants a correlation from 0 to 1, from which on columns go together, False for none, or a mapping "
            f"of names to lists of columns; not {safe_repr(blocks)}"
        )

    def __len__(self) -> int:
        return len(self.table)

    @property
    def inputs(self) -> Any:
        """A copy of all rows: a model that changes its inputs must not change ours."""
        return self.table.copy()

    @cached_property
    def numeric(self) -> Bools:
        """Which parts are numbers or dates (d,), and no categories."""
        return np.array([not isinstance(c, Coded) or _lies_on_a_line(c) for c in self.background.columns], bool)

    @cached_property
    def points(self) -> Floats:
        """The rows as numbers on their lines, or states of categories (n, d); missing is nan, or a state."""
        return self.place(self.table)

    @cached_property
    def spread(self) -> Floats:
        """Standard deviation of each number (d,); 1 where it does not vary here."""
        known = np.where(self.numeric, self.points, 0.0)
        sd = np.array([float(np.nanstd(c)) if np.isfinite(c).any() else 0.0 for c in known.T])
        return np.where(sd > 0, sd, 1.0)

    def place(self, table: Any) -> Floats:
        """Rows of a checked table as numbers and states, (n, d)."""
        found = np.empty((len(table), len(self.background.columns)))
        for j, column in enumerate(self.background.columns):
            if self.numeric[j]:
                found[:, j] = self.background.numbers(table, column)
            else:
                assert isinstance(column, Coded)
                found[:, j] = self.background.coded_states(table, column)
        return found

    def distances(self, row: Any) -> Floats:
        """How far each row is from a table of one row (n,): numbers by their spread, categories by 1."""
        own, numeric = self.place(row), self.numeric
        apart = np.abs(self.points - own) / self.spread
        one_missing = np.isnan(apart) & (np.isnan(self.points) != np.isnan(own))
        apart = np.where(numeric, np.nan_to_num(apart, nan=0.0), self.points != own)
        apart[one_missing] = 1.0
        schema, squares = self.background.schema, np.square(apart).sum(axis=1)
        for position in self.background.fixed:  # which nobody replaces
            values, usual = schema.column(self.table, position), schema.column(row, position)[0]
            same = pd.isna(values) if is_missing(usual) else np.asarray(values == usual)
            squares += ~np.asarray(same, bool)
        return np.asarray(np.sqrt(squares))

    @cached_property
    def correlations(self) -> Floats:
        """Size of the rank correlation (Spearman's) of each two numbers (d, d); of categories it is 0."""
        d = len(self.numeric)
        ranks = np.zeros((len(self), d))
        for j in np.flatnonzero(self.numeric):
            known = ~np.isnan(self.points[:, j])
            if known.sum() >= LEAST_KNOWN:
                own = rankdata(self.points[known, j])
                ranks[known, j] = own - own.mean()  # a missing value is in the middle
        size = np.sqrt(np.square(ranks).sum(axis=0))
        varied = size > 0
        found = np.zeros((d, d))
        scaled = ranks[:, varied] / size[varied]
        found[np.ix_(varied, varied)] = np.minimum(np.abs(scaled.T @ scaled), 1.0)
        return found

    @cached_property
    def _tree(self) -> Any:
        """Which numbers are joined first, by average linkage."""
        from scipy.cluster.hierarchy import linkage

        among = np.flatnonzero(self.numeric)
        apart = 1 - self.correlations[np.ix_(among, among)]
        return linkage(apart[np.triu_indices(len(among), 1)], "average")

    def blocks(self, together: float) -> tuple[Block, ...]:
        """Blocks of all parts, in the order of the table; the caller's own, or those from this correlation on."""
        if self.named:
            taken = {j for block in self.named for j in block.parts}
            alone = (Block((j,)) for j in range(len(self.numeric)) if j not in taken)
            return tuple(sorted((*self.named, *alone), key=lambda block: min(block.parts)))
        least = together if self.together is None else self.together
        among = np.flatnonzero(self.numeric)
        if least is False or len(among) < 2:
            return tuple(Block((j,)) for j in range(len(self.numeric)))
        from scipy.cluster.hierarchy import fcluster

        label = -1 - np.arange(len(self.numeric))
        label[among] = fcluster(self._tree, 1 - float(least) + 1e-12, "distance")
        members = [np.flatnonzero(label == each) for each in dict.fromkeys(label.tolist())]
        return tuple(Block(self._spokesman_first(parts)) for parts in members)

    def _spokesman_first(self, parts: Ints) -> tuple[int, ...]:
        """Parts, the one that the others are like first."""
        like = self.correlations[np.ix_(parts, parts)].sum(axis=1)
        first = int(parts[np.argmax(np.round(like, 9))])
        return (first, *(int(j) for j in parts if j != first))


def _lies_on_a_line(column: Coded) -> bool:
    return column.edges is not None and not column.is_category


def _named_blocks(background: TableBackground, blocks: Mapping[Any, Any]) -> tuple[Block, ...]:
    """The caller's own blocks, as parts."""
    found, taken, owner = list[Block](), dict[int, str](), background.places.labels
    for name, columns in blocks.items():
        if isinstance(columns, (str, bytes, Mapping)) or not isinstance(columns, Sequence) or not len(columns):
            raise InputError(f"the block {str(name)!r} wants a list of columns, not {safe_repr(columns)}")
        parts = list[int]()
        for column in columns:
            position = position_of(background.schema, column, f"the block {str(name)!r}")
            part, shown = int(owner[position]), background.schema.names[position]
            if part < 0:
                raise InputError(
                    f"the block {str(name)!r} names the column {shown!r}, which is never changed: leave it out"
                )
            if taken.setdefault(part, str(name)) != str(name):
                raise InputError(
                    f"a column can be in one block only; {shown} is in {taken[part]!r} and in {str(name)!r}"
                )
            parts += [part] * (part not in parts)
        found.append(Block(tuple(parts), str(name)))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class ContrastedRow:
    """A row as blocks of columns, each of which is its own, or that of some rows of the background."""

    row: Row
    rows: BackgroundRows
    at: Ints  # (n,) of the rows that stand in
    blocks: tuple[Block, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def notes(self) -> tuple[str, ...]:
        return self.row.notes

    @property
    def own_values(self) -> tuple[Any, ...]:
        """The row's own value for each block: that of the column that speaks for it."""
        return tuple(self.row.own_values[block.parts[0]] for block in self.blocks)

    @property
    def positions(self) -> tuple[int, ...]:
        """The column that speaks for each block, by its place in the table."""
        return tuple(self.row.background.columns[block.parts[0]].positions[0] for block in self.blocks)

    @cached_property
    def _theirs(self) -> list[tuple[Any, ...]]:
        """The values of the rows that stand in, one per part."""
        some = self.rows.table
        some = some.iloc[self.at] if hasattr(some, "iloc") else some[self.at]
        return read_values(some, self.rows.background.value_places)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The blocks, with the values of both sides."""
        return tuple(map(self._part, self.blocks))

    def _part(self, block: Block) -> Part:
        """A block is called after its first column, and shows the values of the one that is most unlike theirs."""
        parts, more = list(block.parts), len(block.parts) - 1
        shown = int(parts[np.argmax(self._apart[parts])])
        own, names = self.row.own_values[shown], [self.row.background.columns[j].column for j in parts]
        both = f"{self.row.background.columns[shown].column} {_value_words(own)}"
        if len(self.at):
            both += f" (they {_values_words([values[shown] for values in self._theirs])})"
        if not more and not block.name:
            gone = is_missing(own)
            return Part(both, names[0], "is missing" if gone else "=", None if gone else own)
        others = [name for j, name in zip(parts, names, strict=True) if j != shown]
        every = (self.row.background.columns[shown].column, *others)
        like, column = (
            f" and {some[0]}" if more == 1 else f" and {more} like it" * (more > 0) for some in (others, names[1:])
        )
        if block.name:
            return Part(f"{block.name}: {both}{like}", block.name, TOGETHER, every)
        return Part(f"{both}{like}", f"{names[0]}{column}", TOGETHER, every)

    @cached_property
    def _apart(self) -> Floats:
        """How far each value is from the mean of theirs (d,), by its spread; of categories, how many differ."""
        own, theirs = self.rows.place(self.row.row)[0], self.rows.points[self.at]
        if not len(theirs):
            return np.zeros(len(own))
        known = ~np.isnan(theirs)
        means = np.where(known, theirs, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        far = np.abs(np.nan_to_num(means - own)) / self.rows.spread
        return np.asarray(np.where(self.rows.numeric, far, (theirs != own).mean(axis=0)))

    @cached_property
    def differs(self) -> Bools:
        """Blocks that some row that stands in has otherwise (b,)."""
        own, theirs = self.rows.place(self.row.row), self.rows.points[self.at]
        other = (theirs != own) & ~(np.isnan(theirs) & np.isnan(own))
        return np.array([bool(other[:, list(block.parts)].any()) for block in self.blocks], bool)

    @property
    def genuine(self) -> bool:
        """Whether columns that are no part are as they are in all rows."""
        return bool(self.row.background.place(self.row.row).can_share[0])

    @property
    def others(self) -> Any:
        """The rows that stand in, a copy."""
        some = self.rows.table
        return (some.iloc[self.at] if hasattr(some, "iloc") else some[self.at]).copy()

    def keeping(self, masks: Bools) -> Any:
        """The row once per mask (m, b) and row that stands in, in this order, with its own blocks where they are kept."""
        owner = np.empty(len(self.row.background.columns), np.int64)
        for b, block in enumerate(self.blocks):
            owner[list(block.parts)] = b
        n = len(self.at)
        which = np.tile(np.arange(n), len(masks))
        return self.row.background.mix_rows(
            self.row.row, self.others, np.repeat(masks[:, owner], n, axis=0), which
        )


def _value_words(value: Any) -> str:
    """A value, in a few characters."""
    if is_missing(value):
        return "missing"
    if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)):
        return format_number(float(value), DIGITS)
    if isinstance(value, pd.Timestamp) and value == value.normalize():
        return str(value.date())
    return str(value)


def _values_words(values: Sequence[Any]) -> str:
    """Values of several rows: the mean of numbers, the middle of dates, or what most of them have."""
    known = [value for value in values if not is_missing(value)]
    if known and all(isinstance(v, Real) and not isinstance(v, (bool, np.bool_)) for v in known):
        return format_number(float(np.mean([float(v) for v in known])), DIGITS)
    if known and all(isinstance(v, (pd.Timestamp, pd.Timedelta)) for v in known):
        return _value_words(sorted(known)[len(known) // 2])
    (most, count), *_ = Counter(map(_value_words, values)).most_common(1)
    return most if count == len(values) else f"{most} in {count} of {len(values)}"
