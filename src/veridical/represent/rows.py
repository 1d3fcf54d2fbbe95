"""Table rows: DataFrames of any types, arrays, and sparse matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from veridical.errors import InputError
from veridical.masks import Gaussian, generator
from veridical.records import (
    Bools,
    Design,
    Features,
    Floats,
    Instances,
    Kernel,
    Part,
    Representation,
    Sample,
    Seed,
    Step,
)
from veridical.represent.background import Background, Located, Tilt, Values
from veridical.represent.columns import Coded
from veridical.represent.discretize import Discretizer, Quantiles
from veridical.represent.foreign import as_array, as_pandas
from veridical.represent.learn import learn
from veridical.represent.moves import step_of
from veridical.represent.own_values import OwnValues, Place
from veridical.represent.schema import Schema, some
from veridical.represent.sparse import check_sparse, sparse_rows
from veridical.represent.together import proximities, squared_distances

WIDTH = Gaussian(0.75)
RARE = 0.01  # a state of this share is too rare in a sample that is not drawn for it
FLOORS = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1)  # least shares that are considered
STEADY = 0.9  # from this effective share on, weighting samples of the background costs nothing worth saving


class Rows:
    """Table rows, as changes against a background.

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
        How numbers become bins, or stay numbers (Continuous); quartiles by default.
    onehot : dict of str to list of str or int, optional
        Groups of columns that change together. A row without a 1 in a group has a category that was never seen.
    immutable : list of str or int
        Columns that are never changed.
    ranges : dict of str or int to (low, high), optional
        The valid values of columns that stay numbers.

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
    (('city = Rome', 'age ≤ 9.75'), ("never seen in the background, so a category of its own: 'city = Rome'",))
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
    ) -> None:
        self.discretize = Quantiles(4) if discretize is None else discretize
        if not hasattr(self.discretize, "edges") or isinstance(self.discretize, type):
            raise InputError(
                f"discretize wants an object such as Quartiles(), Deciles(), Edges({{…}}) or Continuous(), "
                f"not {discretize!r}"
            )
        self.sparse = issparse(background)
        if self.sparse:
            if any((categorical, onehot, immutable, ranges, discretize)):
                raise InputError(
                    "a sparse background takes no categorical, onehot, immutable, ranges or discretize: "
                    "its parts are the values that are not zero"
                )
            self.names = check_sparse(background, names)
            return
        table = _as_table(background)
        schema = Schema.of(table, names)
        table = schema.native(table)
        self.names = schema.names
        self.background, self.notes = learn(
            schema,
            table,
            discretize=self.discretize,
            categorical=categorical or (),
            onehot=onehot or {},
            immutable=immutable,
            ranges=ranges or {},
        )

    def __call__(self, x: Any) -> Representation:
        """One row as parts."""
        if self.sparse:
            rows = sparse_rows(x, self.names)
            if len(rows) != 1:
                raise InputError(f"wanted one row to explain, got {len(rows)}: use explain_many")
            return rows.batch(0, 1)[0]
        schema = self.background.schema
        row = schema.check_row(x)
        return _rows(self.background, row, (*self.notes, *schema.matching_notes(x)))[0]

    def each(self, X: Any) -> Instances:
        """Every row of X as parts; all are checked before the first is explained."""
        if self.sparse:
            return sparse_rows(X, self.names)
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

    background: Background
    table: Any
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.table)

    def rows(self, start: int, stop: int) -> Any:
        schema = self.background.schema
        return schema.settled(schema.rows(self.table, start, stop))

    def inputs(self, start: int, stop: int) -> Any:
        """A copy: a model that changes its inputs must not change ours."""
        return self.rows(start, stop).copy()

    def batch(self, start: int, stop: int) -> list[Representation]:
        return _rows(self.background, self.rows(start, stop), self.notes)


@dataclass(frozen=True, eq=False)
class Row:
    """One row as parts: a sample keeps a part if it falls into the row's own bin or category."""

    background: Background
    table: Any  # of rows, among which it is number i
    placed: Located
    i: int
    parts: tuple[Part, ...]
    shares: Floats  # (d,) probability that a sample of the background keeps each part
    notes: tuple[str, ...]
    own: OwnValues  # of all rows of the table
    usual: Background | None = None  # the background without the row's own categories, where it never has those
    unseen: tuple[str, ...] = ()  # the parts that are such categories, by name

    @property
    def own_values(self) -> tuple[Any, ...]:
        """The row's own value for each part."""
        return self.own.rows[self.i]

    @property
    def row(self) -> Any:
        """A table of this row alone."""
        return self.background.schema.rows(self.table, self.i, self.i + 1)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @property
    def kernel(self) -> Kernel:
        return WIDTH

    @property
    def common(self) -> Background:
        """The law of the columns, which is the same for every row."""
        return self.usual or self.background

    def efficiency(self, kernel: Kernel) -> float:
        """What a sample that all rows share is worth against one drawn for this row; 0 if it cannot share it."""
        free = self.shares[(self.shares > 0) & (self.shares < 1)]
        rare = len(free) and min(free.min(), 1 - free.max()) < RARE
        if not self.placed.can_share[self.i] or rare:
            return 0.0
        better = lifted(self.shares)
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
        s = self._scale(kernel)
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
            or self._thickness(kernel) < STEADY
            or (lifted(self.shares) != self.shares).any()
        ):
            return self._draw_near(kernel, seed, start, stop)
        return self.place(self.background.draw(seed, start, stop), kernel, with_instance=start == 0)

    def place(self, values: Values, kernel: Kernel, with_instance: bool) -> Sample:
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
        sample = self.place(Values(cells, np.zeros(cells.shape)), kernel, with_instance=True)
        weights = sample.weights * np.append(0.0, share)
        return Sample(sample.designs, weights, sample.values, Design(self.shares, exact=True))

    def realize(self, sample: Sample) -> Any:
        """Rows with the schema of the background; the instance itself comes through untouched."""
        values: Values = sample.values
        table = self.background.realize(values, self.row)
        return self.below(table) if len(sample.designs) > len(values.numbers) else table

    @property
    def steady(self) -> bool:
        """What is there without a part is drawn from the background."""
        return False

    def keeping(self, masks: Bools, seed: Seed) -> Any:
        """The row's own values where a mask keeps them, else those of a sample of the background."""
        drawn = self.common.realize(self.common.draw_apart(seed, len(masks)), self.row)
        return self.background.mixed(self.row, drawn, masks)

    def step(self, size: float, seed: Seed, n_blocks: int | None = None) -> Step:
        """Numbers moved by ``size`` standard deviations of the background; categories become others."""
        return step_of(self.background, self.row, size, generator(seed))

    def gather(self, values: Any) -> Floats:
        """Sums over the parts (d,) of one number a column; those of a one-hot group go together."""
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
        return self.background.schema.stack(self.row, inputs)

    def _draw_near(self, kernel: Gaussian, seed: Seed, start: int, stop: int) -> Sample:
        """Samples from the law times the kernel itself, however narrow it is; rare states more often."""
        s, background = self._scale(kernel), self.background
        share, far, is_normal = self.shares, np.exp(-0.5 / s), background.is_normal
        x, with_instance = self.placed.normal[self.i], start == 0
        center, spread = x / (1 + s), np.full(len(x), np.sqrt(s / (1 + s)))
        near = np.where(is_normal, 1.0, share / (share + (1 - share) * far))
        mass = np.where(is_normal, spread * np.exp(-(x**2) / (2 + 2 * s)), share + (1 - share) * far)
        begin, end = np.zeros(len(x)), np.ones(len(x))
        for j in np.flatnonzero(~is_normal):
            low, high = self.placed.low[self.i, j], self.placed.high[self.i, j]
            begin[j], end[j] = background.interval(int(j), int(low), int(high))
        drawn = np.where(is_normal, 1.0, lifted(near))
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

    def _designs(self, values: Values, with_instance: bool) -> Floats:
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

    def _scale(self, kernel: Gaussian) -> float:
        return kernel.width**2 * len(self.background.columns)


def lifted(shares: Floats) -> Floats:
    """Shares to draw states with, so that the rare ones are not too rare to weigh: (d,).

    A state of share p that is drawn with share q leaves its weight a variance of 1 / q (1 - q), but multiplies
    that of every other by p² / q + (1 - p)² / (1 - q), through unequal weights. Of a few least shares, the one
    that makes the sum of all variances smallest. Shares of 0 and 1, and of numbers (nan), stay as they are.
    """
    free = (shares > 0) & (shares < 1)
    p = shares[free]
    if not len(p) or min(p.min(), 1 - p.max()) >= FLOORS[-1]:
        return shares
    choices = [np.clip(p, floor, 1 - floor) for floor in FLOORS]
    found = shares.copy()
    found[free] = choices[int(np.argmin([variance_of(q, p) for q in choices]))]
    return found


def variance_of(drawn: Floats, shares: Floats) -> float:
    """Sum of the variances of all weights if states of these shares are drawn with others, up to a factor."""
    free = (shares > 0) & (shares < 1)
    p, q = shares[free], drawn[free]
    cost = p**2 / q + (1 - p) ** 2 / (1 - q)
    return float(np.sum(1 / (q * (1 - q) * cost)) * np.prod(cost))


def _rows(background: Background, table: Any, notes: tuple[str, ...]) -> list[Representation]:
    """Every row of a checked table."""
    placed = background.place(table)
    lost: Any = (placed.states < 0).any(axis=1)
    more = background.schema.unseen(table)
    for odd in more.values():
        lost |= odd
    own = OwnValues(table, find_places(background))
    shares, known = background.shares(placed), background.schema.settled(table, known=True) if more else table
    return [
        _unseen_row(background, background.schema.rows(table, i, i + 1), placed.states[i], notes)
        if lost[i]
        else Row(background, known, placed, i, background.parts(placed, i), share, notes, own)
        for i, share in enumerate(shares)
    ]


def find_places(background: Background) -> list[Place]:
    """The columns that the value of each part is in; a one-hot group says which of its columns is 1."""
    return [
        (c.positions, tuple(str(part.value) for part in c.parts))
        if isinstance(c, Coded) and len(c.positions) > 1
        else ((c.positions[0] if isinstance(c, Coded) else c.position,), ())
        for c in background.columns
    ]


def _unseen_row(background: Background, table: Any, states: Any, notes: tuple[str, ...]) -> Row:
    """A row with categories that the background never has: each becomes a state of its own."""
    table, new = background.schema.settled(table), np.flatnonzero(states < 0)
    law = background.with_unseen(table, new.tolist())
    placed = replace(law.place(table), can_share=np.zeros(1, bool))
    parts = law.parts(placed, 0)
    unseen = tuple(parts[j].name for j in new)
    told = (f"never seen in the background, so a category of its own: {some(unseen)}",) if unseen else ()
    own = OwnValues(table, find_places(background))
    return Row(law, table, placed, 0, parts, law.shares(placed)[0], (*notes, *told), own, background, unseen)


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
