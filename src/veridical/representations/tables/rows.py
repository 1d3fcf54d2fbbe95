"""The rows of a table as features: DataFrames of any types, arrays and sparse matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, issparse, vstack

from veridical.errors import InputError, check_whole, teach_settings
from veridical.protocols import Instances, Kernel, Representation, Seed
from veridical.records import Bools, Design, Features, Floats, Ints, Part, Sample, Step
from veridical.representations.bins import ColumnStatistics, Discretizer, Quantiles
from veridical.representations.regions import Places, as_type
from veridical.representations.tables.axes import RowChoices, RowColumns
from veridical.representations.tables.backgrounds import (
    CellSample,
    PlacedRows,
    TableBackground,
    Tilt,
    assemble_background,
    learn_background,
    proximities,
    squared_distances,
)
from veridical.representations.tables.columns import Binned, Coded, Normal, TableColumn
from veridical.representations.tables.references import BackgroundRows, Blocks, ContrastedRow
from veridical.representations.tables.schema import (
    Schema,
    as_array,
    as_pandas,
    check_ordered_list,
    list_some,
    read_values,
    unsupported_message,
)
from veridical.sampling.kernels import ROW_KERNEL, Gaussian, euclidean
from veridical.sampling.masks import ByLaw, Sizes, coins
from veridical.seeds import generator


@dataclass(frozen=True, eq=False)
class ColumnMove:
    """Where one part goes: the values of its columns, ahead and back."""

    ahead: list[Any]  # (columns,) arrays of one value
    back: list[Any] | None  # None where there is no opposite
    drawn: bool = False


def move_row(background: TableBackground, row: Any, size: float, rng: np.random.Generator) -> Step:
    """A row, a table of one row, with all its parts moved."""
    ways = [_move_part(background, column, row, size, rng) for column in background.columns]
    tables = []
    for back in (False, True):
        columns: list[Any] = [background.schema.column(row, j) for j in range(len(background.schema.names))]
        for column, way in zip(background.columns, ways, strict=True):
            chosen = way.back if back else way.ahead
            for position, value in zip(column.positions, chosen or (), strict=chosen is not None):
                columns[position] = value
        tables.append(background.schema.build(columns, 1))
    ahead, back_ = (partial(_mix, background, row, table) for table in tables)
    both = np.array([way.back is not None for way in ways])
    far = f"each number moves by {size:.3g} of its standard deviation, or to the next one that was seen"
    says = f"{far}, up and down; a category becomes another one" if not both.all() else f"{far}, up and down"
    return Step(ahead, back_, both, any(way.drawn for way in ways), says)


def _mix(background: TableBackground, row: Any, moved: Any, masks: Bools) -> Any:
    """The row once per mask, with the columns of the moved one where parts are not kept."""
    every = np.zeros(len(masks), np.intp)
    return background.mix_rows(row, moved.iloc[every] if hasattr(moved, "iloc") else moved[every], masks)


def _move_part(
    background: TableBackground, column: TableColumn, row: Any, size: float, rng: np.random.Generator
) -> ColumnMove:
    """Where one part goes from where it is in this row."""
    if isinstance(column, Coded):
        state = int(background.coded_states(row, column)[0])
        if column.edges is None or column.parts[state].relation in ("=", "is missing"):
            return _move_category(background, column, state, rng)
        return _move_number(column, float(background.numbers(row, column)[0]), size)
    own = float(background.numbers(row, column)[0])
    if np.isnan(own):  # missing: one of the values that are not
        known = np.flatnonzero(~np.isnan(column.left)) if isinstance(column, Binned) else np.zeros(1, np.intp)
        value = column.left[rng.choice(known)] if isinstance(column, Binned) else column.mean
        return ColumnMove([background.cast(np.array([value]), column.position, column)], None, True)
    far = size * column.sd
    if isinstance(column, Normal):
        far = max(np.rint(far), 1.0) if column.whole else far
        low, high = (end * column.sd + column.mean for end in (column.low, column.high))
        ends = min(own + far, high), max(own - far, low)
    else:
        ends = own + far, own - far
    ahead, back = ([background.cast(np.array([end]), column.position, column)] for end in ends)
    return ColumnMove(ahead, back)


def _move_category(background: TableBackground, column: Coded, state: int, rng: np.random.Generator) -> ColumnMove:
    """Another level, drawn as often as it was seen."""
    shares = np.diff(column.cumulative, prepend=0.0)
    shares[column.bounds[state] : column.bounds[state + 1]] = 0.0
    level = int(rng.choice(len(shares), p=shares / shares.sum()))
    values = [value for _, value in background.level_values(column, [level])]
    return ColumnMove(values, None, int((shares > 0).sum()) > 1)


def _move_number(column: Coded, own: float, size: float) -> ColumnMove:
    """The numbers that were seen about ``size`` standard deviations away, at least the next ones."""
    order, far = np.asarray(column.order), size * column.sd
    after, before = (np.searchsorted(order, own, side) for side in ("right", "left"))
    up = max(int(np.searchsorted(order, own + far, "right")) - 1, int(after))
    down = min(int(np.searchsorted(order, own - far, "left")), int(before) - 1)
    ways = [[column.levels.take([level])] for level in (up, down) if 0 <= level < len(order)]
    return ColumnMove(ways[0], ways[1] if len(ways) > 1 else None)


MIN_SHARED_SHARE = 0.01  # a state of this share is too rare in a sample that is not drawn for it
SHARE_FLOORS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1)  # least shares that are considered
EFFICIENT_SHARE = (
    0.9  # from this effective share on, weighting samples of the background costs nothing worth saving
)


@teach_settings
class Rows:
    """The rows of a table, as changes against a background.

    The background decides what the model receives: the columns, their order and their types. A row may be a
    Series, a dict, a DataFrame of one row, a named tuple, a list or an array; labels are matched, in any order.
    For an array background, a frame's columns match by ``names`` or by the numbers 0, 1, …; if the array has no
    names, columns with other texts for labels are taken in the order in which they come, with a note. Categories
    are recoded by value to the order that the background has, ordered ones too. A category that the background
    never has is a state of its own, with a note; if the model refuses it, the error says which it is.

    Parameters
    ----------
    background : DataFrame, array, CSR matrix, list of dicts, polars or Arrow table
        Usually the training data; any mixture of types. Missing values are a state of their own. Tables of polars,
        Arrow and others that know the dataframe protocols are read as pandas DataFrames, and the model receives
        pandas DataFrames: wrap it if it wants others, as in ``lambda df: predict(pl.from_pandas(df))``. Arrays of
        another byte order reach the model in the machine's own.
    names : list of str, optional
        Column names of an array.
    categorical : list of str or int, optional
        Columns whose numbers are codes.
    discretize : Quartiles, Deciles, Quantiles, Entropy, Edges or Continuous, optional
        How numbers become bins, or stay numbers (Continuous), for methods whose weights are of bins, such as
        ``Lime(surrogate=Linear())``; quartiles by default. Additive local models have a curve per number instead.
    onehot : dict of str to list of str or int, optional
        Groups of columns that change together. A row without a 1 in a group has a category that was never seen.
    immutable : list of str or int
        Columns that are never changed.
    ranges : dict of str or int to (low, high), optional
        The valid values of columns that stay numbers.
    blocks : float, False or dict of str to list of str or int, optional
        Columns that ``vd.Contrast`` keeps and replaces together: those whose rank correlation is at least so large
        (0.7 unless it is given), none, or lists of columns by name. Other methods go column by column.

    Examples
    --------
    >>> import pandas as pd
    >>> import veridical as vd
    >>> city = ["Bern", "Oslo"] * 20
    >>> rows = vd.Rows(pd.DataFrame({"city": city, "age": range(40)}))
    >>> def predict(table):
    ...     return (table["city"] == "Rome") * 0.5
    >>> why = vd.explain(predict, rows, {"age": 3, "city": "Rome"})
    >>> why.names, why.notes
    (('city = Rome', 'age = 3'), ("never seen in the background, so a category of its own: 'city = Rome'",))
    """

    def __init__(
        self,
        background: Any,
        *,
        names: Sequence[str] | None = None,
        categorical: Sequence[str | int] | None = None,
        discretize: Discretizer | None = None,
        onehot: Mapping[str, Sequence[str | int]] | None = None,
        immutable: Sequence[str | int] = (),
        ranges: Mapping[str | int, tuple[float, float]] | None = None,
        blocks: Blocks = None,
    ) -> None:
        self.discretize = Quantiles(4) if discretize is None else discretize
        if not hasattr(self.discretize, "edges") or isinstance(self.discretize, type):
            raise InputError(
                f"discretize wants an object such as Quartiles(), Deciles(), Edges({{…}}) or Continuous(), "
                f"not {discretize!r}"
            )
        self.sparse = issparse(background)
        if self.sparse:
            if any((categorical, onehot, immutable, ranges, discretize, blocks)):
                raise InputError(
                    "a sparse background takes no categorical, onehot, immutable, ranges, discretize or blocks: "
                    "its parts are the values that are not zero"
                )
            self.names = check_sparse(background, names)
            return
        table = _as_table(background)
        schema = Schema.of(table, names)
        table = schema.to_native(table)
        self.names = schema.names
        self.background, self.notes = learn_background(
            schema,
            table,
            discretize=self.discretize,
            categorical=categorical or (),
            onehot=onehot or {},
            immutable=immutable,
            ranges=ranges or {},
            blocks=blocks,
        )

    @classmethod
    def from_statistics(
        cls,
        statistics: Mapping[str, ColumnStatistics] | Sequence[ColumnStatistics],
        *,
        names: Sequence[str] | None = None,
        n_rows: int = 1000,
    ) -> Rows:
        """Make a background of what is known of each column, where the data themselves are not at hand.

        Methods that need rows of the background, such as ``vd.Contrast``, cannot use it.

        Parameters
        ----------
        statistics : mapping of str to statistics, or sequence of statistics
            ``vd.bins.BinStatistics``, ``NumberStatistics`` or ``CategoryStatistics``, one per column. Of a mapping
            of names the model receives DataFrames, of a list it receives arrays of numbers.
        names : list of str, optional
            Column names, for a list.
        n_rows : int, default 1000
            How many rows the statistics are of: a category that was never seen counts as one more row.

        Returns
        -------
        Rows
            The background.
        """
        check_whole("n_rows", n_rows)
        made = cls.__new__(cls)
        made.discretize, made.sparse = Quantiles(4), False
        made.background, made.notes = assemble_background(statistics, names, int(n_rows))
        made.names = made.background.schema.names
        return made

    def __call__(self, x: Any) -> Representation:
        """Represent one row by its parts.

        Parameters
        ----------
        x : Series, dict, DataFrame of one row, named tuple, list or array
            The row; labels are matched to the background's columns, in any order.

        Returns
        -------
        Representation
            The row's bins, categories and numbers.

        Raises
        ------
        InputError
            If columns are missing or unknown, or values do not fit the background's types.
        """
        if self.sparse:
            rows = read_sparse_rows(x, self.names)
            if len(rows) != 1:
                raise InputError(f"wanted one row to explain, got {len(rows)}: use explain_many")
            return rows.batch(0, 1)[0]
        schema = self.background.schema
        row = schema.check_row(x)
        matched = () if isinstance(x, np.ndarray) else schema.matching_notes(x)  # an array goes by position
        return _represent_rows(self.background, row, (*self.notes, *matched))[0]

    def each(self, X: Any) -> Instances:
        """Represent every row of a table; all are checked before the first is explained.

        Parameters
        ----------
        X : DataFrame, array, CSR matrix, list of rows, polars or Arrow table
            The rows.

        Returns
        -------
        Instances
            What ``vd.explain_many`` goes through.
        """
        if self.sparse:
            return read_sparse_rows(X, self.names)
        schema = self.background.schema
        table = schema.check_table(X)
        rows = TableRows(self.background, table, (*self.notes, *schema.matching_notes(X)))
        if not len(rows):
            raise InputError("there are no rows to explain")
        self.background.check(rows.table)
        return rows

    def __repr__(self) -> str:
        shape = f"{len(self.names)} columns"
        return f"Rows({shape}, sparse)" if self.sparse else f"Rows({shape}, {self.discretize!r})"


@dataclass(frozen=True, eq=False)
class TableRows:
    """The rows of a checked table."""

    background: TableBackground
    table: Any
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.table)

    def rows(self, start: int, stop: int) -> Any:
        schema = self.background.schema
        return schema.drop_unknown(schema.rows(self.table, start, stop))

    def inputs(self, start: int, stop: int) -> Any:
        """A copy: a model that changes its inputs must not change ours."""
        return self.rows(start, stop).copy()

    def batch(self, start: int, stop: int) -> list[Representation]:
        return _represent_rows(self.background, self.rows(start, stop), self.notes)


@dataclass(frozen=True, eq=False)
class Row:
    """One row as parts: a sample keeps a part if it falls into the row's own bin or category."""

    background: TableBackground
    table: Any  # of rows, among which it is number i
    placed: PlacedRows
    i: int
    parts: tuple[Part, ...]
    shares: Floats  # (d,) probability that a sample of the background keeps each part
    notes: tuple[str, ...]
    own_values: tuple[Any, ...]  # the row's own value for each part
    common: TableBackground  # the law of the columns that all rows share: it knows no category of this row alone
    unseen: tuple[str, ...] = ()  # the parts that are such categories, by name
    kernel: Kernel = ROW_KERNEL

    @property
    def row(self) -> Any:
        """A table of this row alone."""
        return self.background.schema.rows(self.table, self.i, self.i + 1)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    def by_shares(self, shares: tuple[float, ...]) -> RowColumns:
        """The same row, each sample of which keeps every column with one of these probabilities."""
        return RowColumns(self, shares)

    @property
    def choices(self) -> RowChoices:
        """The values that its columns may take instead of their own."""
        return RowChoices(self)

    @property
    def references(self) -> BackgroundRows:
        """Rows of the background as they are."""
        if self.background.rows is None:
            raise InputError(
                "this background has no rows, for it was made of statistics or read from a file: build Rows(…) from "
                "the data"
            )
        return self.background.rows

    def distances(self) -> Floats:
        """How far rows of the background are from this one (n,)."""
        return self.references.distances(self.row)

    def contrasted(self, at: Ints, together: float) -> ContrastedRow:
        """This row as blocks of columns, for which some rows of the background stand in."""
        return ContrastedRow(self, self.references, at, self.references.blocks(together))

    def efficiency(self, kernel: Kernel) -> float:
        """What a sample that all rows share is worth against one drawn for this row; 0 if it cannot share it."""
        free = self.shares[(self.shares > 0) & (self.shares < 1)]
        rare = len(free) and min(free.min(), 1 - free.max()) < MIN_SHARED_SHARE
        if not self.placed.can_share[self.i] or rare:
            return 0.0
        better = lift_shares(self.shares)
        gain = (
            1.0
            if better is self.shares
            else variance_of(better, self.shares) / variance_of(self.shares, self.shares)
        )
        return self._thickness(kernel) * gain

    def _thickness(self, kernel: Kernel) -> float:
        """Effective share of samples that are drawn without regard to the row; 1 if it cannot be known."""
        if not isinstance(kernel, Gaussian):
            return 1.0
        s = kernel.width**2 * len(self.shares)
        share, far = self.shares, np.exp(-0.5 / s)
        binary = (share + (1 - share) * far) ** 2 / (share + (1 - share) * far**2)
        if self.background.normal:
            x = self.placed.normal[self.i]
            normal = s / (1 + s) / np.sqrt(s / (2 + s)) * np.exp(x**2 / (2 + s) - x**2 / (1 + s))
            binary = np.where(self.background.is_normal, normal, binary)
        return float(np.prod(binary))

    def draw(self, kernel: Kernel, seed: Seed, start: int, stop: int) -> Sample:
        """Samples of the background, weighted by proximity; or samples drawn near the row, where that pays."""
        if isinstance(kernel, Gaussian) and (
            self.background.normal
            or self._thickness(kernel) < EFFICIENT_SHARE
            or (lift_shares(self.shares) != self.shares).any()
        ):
            return self._draw_near(kernel, seed, start, stop)
        return self.place(self.background.draw(seed, start, stop), kernel, with_instance=start == 0)

    def place(self, values: CellSample, kernel: Kernel, with_instance: bool) -> Sample:
        """Samples of the background as this row sees them."""
        designs = self._designs(values, with_instance)
        drawn, is_normal = designs[int(with_instance) :], self.background.is_normal
        squares = (~is_normal).sum() - drawn @ np.where(is_normal, 0.0, 1.0)
        if self.background.normal:
            squares += squared_distances(drawn, self.placed.normal[self.i : self.i + 1], is_normal)[0]
        weights = proximities(kernel, squares[None], is_normal)[0]
        if with_instance:
            weights = np.append(0.0, weights)
        return Sample(designs, weights, values, Design(self.shares, net=True))

    def enumerate(self, kernel: Kernel, limit: int) -> Sample | None:
        """Every combination of levels, if the parts have few enough of them and none is a number."""
        columns = [c for c in self.background.columns if isinstance(c, Coded)]
        sizes = [len(c.cumulative) for c in columns]
        if len(columns) < len(self.background.columns) or math.prod(sizes) > limit:
            return None
        cells = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1).astype(np.int32)
        share = np.ones(len(cells))
        for j, column in enumerate(columns):
            share *= np.diff(column.cumulative, prepend=0.0)[cells[:, j]]
        sample = self.place(CellSample(cells, np.zeros(cells.shape)), kernel, with_instance=True)
        weights = sample.weights * np.append(0.0, share)
        return Sample(sample.designs, weights, sample.values, Design(self.shares, exact=True))

    def realize(self, sample: Sample) -> Any:
        """Rows with the schema of the background; the instance itself comes through untouched."""
        values: CellSample = sample.values
        table = self.background.realize(values, self.row)
        return self.below(table) if len(sample.designs) > len(values.numbers) else table

    @property
    def steady(self) -> bool:
        """What is there without a part is drawn from the background."""
        return False

    def keeping(self, masks: Bools, seed: Seed) -> Any:
        """The row's own values where a mask keeps them, else those of a sample of the background."""
        drawn = self.common.realize(self.common.draw_apart(seed, len(masks)), self.row)
        return self.background.mix_rows(self.row, drawn, masks)

    def step(self, size: float, seed: Seed, n_blocks: int | None = None) -> Step:
        """Numbers moved by ``size`` standard deviations of the background; categories become others."""
        return move_row(self.background, self.row, size, generator(seed))

    def gather(self, values: Any) -> Floats:
        """Sums over the parts (d,) of one number per column; those of a one-hot group go together."""
        return self.background.places.gather(values, len(self.parts))

    def paint(self, weights: Floats) -> Floats:
        """The weight of its part at every column, 0 where a column is none."""
        return self.background.places.paint(weights, len(self.parts))

    def features(self, X: Any) -> Features:
        """This row and others, by whether they share its bins and categories, and by numbers in standard units."""
        placed, is_normal = self.background.place(self.background.schema.check_table(X)), self.background.is_normal
        own = np.where(is_normal, self.placed.normal[self.i], 1.0)
        others = np.where(is_normal, placed.normal, placed.states == self.placed.states[self.i])
        return Features(np.vstack([own, others]), np.arange(len(own)), np.ones(len(own)))

    def below(self, inputs: Any) -> Any:
        """Inputs with the row itself before them."""
        schema = self.background.schema
        return schema.stack([schema.rows(self.table, self.i, self.i + 1), inputs])

    def _draw_near(self, kernel: Gaussian, seed: Seed, start: int, stop: int) -> Sample:
        """Samples from the law times the kernel itself, however narrow it is; rare states more often."""
        s, background = kernel.width**2 * len(self.shares), self.background
        share, far, is_normal = self.shares, np.exp(-0.5 / s), background.is_normal
        x, with_instance = self.placed.normal[self.i], start == 0
        center, spread = x / (1 + s), np.full(len(x), np.sqrt(s / (1 + s)))
        near = np.where(is_normal, 1.0, share / (share + (1 - share) * far))
        mass = np.where(is_normal, spread * np.exp(-(x**2) / (2 + 2 * s)), share + (1 - share) * far)
        begin, end = np.zeros(len(x)), np.ones(len(x))
        for j in np.flatnonzero(~is_normal):
            low, high = self.placed.low[self.i, j], self.placed.high[self.i, j]
            begin[j], end[j] = background.interval(int(j), int(low), int(high))
        drawn = np.where(is_normal, 1.0, lift_shares(near))
        values = background.draw(seed, start, stop, Tilt(drawn, begin, end, center, spread))
        designs = self._designs(values, with_instance)
        weights = np.full(len(designs), max(np.prod(mass), 1e-100))  # its size matters to a ridge alone
        moved = np.flatnonzero(drawn != near)
        if len(moved):
            kept, changed = near[moved] / drawn[moved], (1 - near[moved]) / (1 - drawn[moved])
            weights *= np.exp(designs[:, moved] @ np.log(kept / changed)) * np.prod(changed)
        weights[:with_instance] = 0.0
        law = (center, spread) if is_normal.all() and not background.cut else (None, None)
        design = Design(np.where(is_normal, np.nan, drawn), net=True, center=law[0], spread=law[1])
        return Sample(designs, weights, values, design)

    def _designs(self, values: CellSample, with_instance: bool) -> Floats:
        """1 where a sample keeps a part, or the number a part stands for; the instance first if wanted."""
        first, is_normal = int(with_instance), self.background.is_normal
        cells, shape = values.cells, values.numbers.shape
        designs = np.empty((first + shape[0], shape[1]), order="F")
        if is_normal.all():
            designs[first:] = values.numbers
        else:
            kept = cells >= self.placed.low[self.i].astype(cells.dtype)
            kept &= cells < self.placed.high[self.i].astype(cells.dtype)
            designs[first:] = kept
            if self.background.normal:
                designs[first:, is_normal] = values.numbers[:, is_normal]
        if with_instance:
            designs[0] = np.where(is_normal, self.placed.normal[self.i], 1.0)
        return designs


def lift_shares(shares: Floats) -> Floats:
    """Shares to draw states with, so that the rare ones are not too rare to weigh: (d,).

    A state of share p that is drawn with share q leaves its weight a variance of 1 / q (1 - q), but multiplies
    that of every other by p² / q + (1 - p)² / (1 - q), through unequal weights. Of a few least shares, the one
    that makes the sum of all variances smallest. Shares of 0 and 1, and of numbers (nan), stay as they are.
    """
    free = (shares > 0) & (shares < 1)
    p = shares[free]
    if not len(p) or min(p.min(), 1 - p.max()) >= SHARE_FLOORS[-1]:
        return shares
    choices = [np.clip(p, floor, 1 - floor) for floor in SHARE_FLOORS]
    found = shares.copy()
    found[free] = choices[int(np.argmin([variance_of(q, p) for q in choices]))]
    return found


def variance_of(drawn: Floats, shares: Floats) -> float:
    """Sum of the variances of all weights if states of these shares are drawn with others, up to a factor."""
    free = (shares > 0) & (shares < 1)
    p, q = shares[free], drawn[free]
    cost = p**2 / q + (1 - p) ** 2 / (1 - q)
    return float(np.sum(1 / (q * (1 - q) * cost)) * np.prod(cost))


def _represent_rows(background: TableBackground, table: Any, notes: tuple[str, ...]) -> list[Representation]:
    """Every row of a checked table."""
    placed = background.place(table)
    lost: Any = (placed.states < 0).any(axis=1)
    schema = background.schema
    more = schema.find_unseen(table) if schema.categorical else {}
    for odd in more.values():
        lost |= odd
    own = read_values(table, background.value_places)
    known = schema.drop_unknown(table, known=True) if more else table
    return [
        _represent_unseen(background, schema.rows(table, i, i + 1), placed.states[i], notes)
        if lost[i]
        else Row(background, known, placed, i, background.parts(placed, i), share, notes, own[i], background)
        for i, share in enumerate(placed.shares)
    ]


def _represent_unseen(background: TableBackground, table: Any, states: Any, notes: tuple[str, ...]) -> Row:
    """A row with categories that the background never has: each becomes a state of its own."""
    table, new = background.schema.drop_unknown(table), np.flatnonzero(states < 0)
    law = background.with_unseen(table, new.tolist())
    placed = replace(law.place(table), can_share=np.zeros(1, bool))
    parts = law.parts(placed, 0)
    unseen = tuple(parts[j].name for j in new)
    told = (f"never seen in the background, so a category of its own: {list_some(unseen)}",) if unseen else ()
    (own,) = read_values(table, background.value_places)
    return Row(law, table, placed, 0, parts, placed.shares[0], (*notes, *told), own, background, unseen)


def _as_table(background: Any) -> Any:
    """A DataFrame or a two-dimensional array with at least two rows."""
    if isinstance(background, pd.Series):
        raise InputError("the background must be a table of rows, not a Series: pass the training data")
    if background is None or isinstance(background, (str, bytes)):
        kind = "None" if background is None else type(background).__name__
        raise InputError(f"the background must be a table of rows, not {kind}: pass the training data")
    background = as_pandas(background)
    if isinstance(background, (list, tuple)) and background and all(isinstance(x, Mapping) for x in background):
        background = pd.DataFrame(list(background))
    table = background if isinstance(background, pd.DataFrame) else as_array(background, "a background of rows")
    if table.ndim != 2:
        raise InputError(f"the background must have rows and columns; it has shape {table.shape}")
    if len(table) < 2:
        raise InputError(
            f"the background must show how the columns vary: wanted at least two rows, got {len(table)}"
        )
    return table


@dataclass(frozen=True, eq=False)
class SparseRow(ByLaw):
    """One sparse row: each value is kept, or set to zero, by the toss of a fair coin."""

    row: Any  # CSR of one row
    columns: Sequence[str]
    notes: tuple[str, ...] = ()
    kernel: Kernel = ROW_KERNEL
    law: Sizes = None  # type: ignore[assignment]  # by default, that of fair coins

    def __post_init__(self) -> None:
        if self.law is None:
            object.__setattr__(self, "law", coins(self.row.nnz, euclidean(self.row.nnz)))
        bad = ~np.isfinite(self.row.data)
        if bad.any():
            raise InputError(f"{self.columns[self.row.indices[bad][0]]} is not finite in this row")

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(
            Part(f"{self.columns[c]} = {v:g}", self.columns[c], "not zero", float(v))
            for c, v in zip(self.row.indices, self.row.data, strict=True)
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    def realize(self, sample: Sample) -> Any:
        """The row once per mask, without the values that are masked."""
        return self._masked(sample.designs)

    @property
    def own_values(self) -> tuple[Any, ...]:
        """The values that are not zero."""
        return tuple(self.row.data.tolist())

    def keeping(self, masks: Bools, seed: Seed) -> Any:
        """The row once per mask, as for ``realize``."""
        return self._masked(masks)

    def step(self, size: float, seed: Seed, n_blocks: int | None = None) -> Step:
        """Values moved by ``size`` of their own root mean square; whole ones by whole steps, and truths flip."""
        own, kind = self.row.data, self.row.dtype.kind
        far = size * float(np.sqrt(np.mean(np.square(own, dtype=np.float64))))
        far = far if kind == "f" else max(float(np.rint(far)), 1.0)

        def toward(way: float, masks: Bools) -> Any:
            moved = np.where(masks, own, as_type(own + way, own.dtype))
            places = np.tile(self.row.indices, len(masks))
            ends = np.arange(0, masks.size + 1, masks.shape[1])
            return csr_matrix((moved.ravel(), places, ends), shape=(len(masks), self.row.shape[1]))

        both = np.full(self.row.nnz, kind != "b")
        says = "each value flips" if kind == "b" else f"each value moves by {far:.3g}, up and down"
        return Step(partial(toward, -far if kind == "b" else far), partial(toward, -far), both, False, says)

    def gather(self, values: Any) -> Floats:
        """The numbers of the parts, of one number per column (p,)."""
        return self._places.gather(values, self.row.nnz)

    def paint(self, weights: Floats) -> Floats:
        """The weight of its part at every column, 0 where the row is."""
        return self._places.paint(weights, self.row.nnz)

    @property
    def _places(self) -> Places:
        owner = np.full(self.row.shape[1], -1, dtype=np.intp)
        owner[self.row.indices] = np.arange(self.row.nnz)
        return Places(owner, owner.shape)

    def features(self, X: Any) -> Features:
        """This row and others, in the space of all columns."""
        others = read_sparse_rows(X, self.columns, may_be_empty=True).matrix
        points = vstack([self.row, others], format="csr").astype(np.float64)
        return Features(points, self.row.indices.astype(np.int64), self.row.data.astype(np.float64))

    def _masked(self, masks: Any) -> Any:
        rows, kept = np.nonzero(masks)
        data, indices = self.row.data[kept], self.row.indices[kept]
        return csr_matrix((data, (rows, indices)), shape=(len(masks), self.row.shape[1]), dtype=self.row.dtype)


def check_sparse(background: Any, names: Sequence[str] | None) -> tuple[str, ...]:
    """Column names of a sparse background."""
    if background.shape[0] < 1:
        raise InputError("the background is empty")
    width = background.shape[1]
    if background.dtype.kind == "c":
        raise InputError(unsupported_message("the sparse matrix", background.dtype))
    named = (
        tuple(f"x{j}" for j in range(width))
        if names is None
        else tuple(map(str, check_ordered_list("names", names)))
    )
    if len(named) != width or len(set(named)) != width:
        raise InputError(f"names must name every column once: {width} columns, {len(set(named))} names")
    entries = background.tocoo()
    bad = ~np.isfinite(entries.data)
    if bad.any():
        raise InputError(f"column {named[entries.col[bad][0]]} of the background has values that are not finite")
    return named


@dataclass(frozen=True, eq=False)
class SparseRows:
    """The rows of a CSR matrix."""

    matrix: Any
    columns: Sequence[str]

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def inputs(self, start: int, stop: int) -> Any:
        return self.matrix[start:stop]

    def batch(self, start: int, stop: int) -> list[Representation]:
        return [SparseRow(self.matrix[i], self.columns) for i in range(start, stop)]


def read_sparse_rows(X: Any, names: Sequence[str], may_be_empty: bool = False) -> SparseRows:
    """One or many rows, checked."""
    rows: Any = X if issparse(X) else np.atleast_2d(as_array(as_pandas(X), "rows of numbers"))
    if rows.dtype.kind not in "biuf":
        raise InputError(f"wanted rows of real numbers, as in the sparse background; got {rows.dtype}")
    matrix: Any = csr_matrix(rows, copy=True)
    if matrix.shape[1] != len(names):
        raise InputError(f"wanted rows of {len(names)} columns, as in the background; got {matrix.shape[1]}")
    if not matrix.shape[0]:
        raise InputError("there are no rows to explain")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    empty = np.flatnonzero(np.diff(matrix.indptr) == 0)
    if len(empty) and not may_be_empty:
        raise InputError(f"row {empty[0]} is all zeros, so there is nothing to take away")
    return SparseRows(matrix, names)
