"""Spaces of features that all instances of a representer share: what groups of instances are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, issparse, vstack
from sklearn.neighbors import NearestNeighbors

from veridical.errors import InputError
from veridical.protocols import Instances, Kernel, Representation, Representer, Seed
from veridical.records import Floats, Part
from veridical.representations.descriptions import COMPARABLE
from veridical.representations.fields import Fields
from veridical.representations.masking import InstanceList, NoParts
from veridical.representations.tables.backgrounds import TableBackground
from veridical.representations.tables.columns import (
    Binned,
    Coded,
    Normal,
    NumberLine,
    format_edges,
    format_number,
)
from veridical.representations.tables.rows import Rows
from veridical.representations.tables.schema import NO_CATEGORY, list_some
from veridical.seeds import child_of, generator

Matrix: TypeAlias = Any  # (n, d): an array, or CSR where most entries are zero

NEIGHBOR_SD = 0.1  # of a neighbor's move, in standard deviations of each number (GIME's tables)
SWAP_PROBABILITY = 0.15  # that a neighbor has another category (GIME's tables)
MAX_ROWS_PER_BATCH = 1024  # of a table whose neighbors are drawn at once
MAX_INSTANCES_PER_BATCH = 128  # with parts of their own
MAX_CHARACTERS_KEPT = 2**24  # of texts that are kept in pieces
INTERPOLATION = (-0.5, 1.0)  # where a new row lies on the line from one row to another
SHARE_INTERPOLATED = 2 / 3  # of the new rows; the others are moved by the difference of two rows
MAX_LEVELS = 50  # of a category that are features
N_NEAREST = 10  # rows that count as near


@dataclass(frozen=True, eq=False)
class DrawnNeighbors:
    """Neighbors of some instances: what the surrogate sees of them, what the model sees, and how near they are."""

    designs: Matrix  # (n * p, d)
    inputs: Any  # n * p of them
    weights: Floats  # (n, p)


class Space(Protocol):
    """Features that all instances share."""

    @property
    def parts(self) -> tuple[Part, ...]: ...

    def shown(self, j: int, value: float) -> str:
        """A value of feature j as a person reads it, in its own unit."""
        ...

    def read(self, X: Any) -> Any:
        """Instances, checked; they have a length, and a list of numbers picks some of them."""
        ...

    def rows(self, points: Any) -> Matrix:
        """The features of instances, (n, d)."""
        ...

    def near(self, points: Any, n: int, kernel: Kernel | None, seed: Seed) -> Iterator[DrawnNeighbors]:
        """n neighbors of each instance, some instances at a time; all count the same without a kernel."""
        ...

    def between(self, points: Any, copies: int, seed: Seed) -> Any | None:
        """New instances between the instances, ``copies`` times as many, where that has a meaning."""
        ...


@dataclass(frozen=True, eq=False)
class Points:
    """Rows of a table: numbers in standard units (nan is missing), categories by state."""

    numbers: Floats  # (n, a)
    states: npt.NDArray[np.int64]  # (n, b)
    table: Any  # where columns that are no feature are found
    source: npt.NDArray[np.int64]  # (n,) row of the table each point comes from

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, at: Any) -> Points:
        return replace(self, numbers=self.numbers[at], states=self.states[at], source=self.source[at])


@dataclass(frozen=True, eq=False)
class TableSpace:
    """The columns of a table: numbers in standard deviations, categories one by one."""

    background: TableBackground
    means: Floats  # (a,) of the columns of numbers, and sds (a,)
    sds: Floats
    numeric: tuple[Any, ...]  # the background's columns of numbers, (a,)
    coded: tuple[Coded, ...]  # and of categories, (b,)
    gaps: tuple[int, ...]  # columns of numbers that may be missing
    parts: tuple[Part, ...]
    order: npt.NDArray[np.intp]  # where each feature stands among numbers, categories and gaps

    @classmethod
    def of(cls, background: TableBackground, X: Any) -> TableSpace:
        """Means and spreads are those of X; of a column that never varies there, that of the background."""
        numeric = tuple(c for c in background.columns if not _is_category(c))
        coded = tuple(c for c in background.columns if isinstance(c, Coded) and _is_category(c))
        raw = _raw(background, numeric, background.schema.check_table(X))
        known = np.isfinite(raw)
        count = np.maximum(known.sum(axis=0), 1)
        means = np.where(known, raw, 0.0).sum(axis=0) / count
        sds = np.sqrt(np.where(known, (raw - means) ** 2, 0.0).sum(axis=0) / count)
        sds = np.where(sds > 1e-12 * np.maximum(np.abs(means), 1e-100), sds, [c.sd for c in numeric])
        gaps = tuple(np.flatnonzero(~known.all(axis=0)).tolist())
        named = [(c.position, 0, Part(c.column, c.column, "per sd")) for c in numeric]
        named += [(c.position, i, p) for c in coded for i, p in ((i, c.parts[i]) for i in _shown(c))]
        for j in gaps:
            name = numeric[j].column
            named.append((numeric[j].position, 1, Part(f"{name} is missing", name, "is missing")))
        order = np.array(sorted(range(len(named)), key=lambda i: named[i][:2]), dtype=np.intp)
        return cls(background, means, sds, numeric, coded, gaps, tuple(named[i][2] for i in order), order)

    def shown(self, j: int, value: float) -> str:
        at = int(self.order[j])
        if at >= len(self.numeric):
            return f"{value:g}"
        column, number = self.numeric[at], value * self.sds[at] + self.means[at]
        dtype = self.background.schema.dtypes[column.position]
        line = NumberLine() if isinstance(column, Binned) else column.line
        if line.dtype is not None or line.origin:
            return format_edges(np.array([number]), line.dtype or dtype, line)[1][0]
        whole = isinstance(column, Coded) or (isinstance(column, Normal) and column.whole)
        return format_number(round(number) if whole and abs(number - round(number)) < 1e-6 else number, 4)

    def read(self, X: Any) -> Points:
        table = self.background.schema.check_table(X)
        self.background.check(table)
        numbers = (_raw(self.background, self.numeric, table) - self.means) / self.sds
        states = [self._find_states(table, c) for c in self.coded]
        block = np.stack(states, axis=1) if states else np.zeros((len(table), 0), np.int64)
        return Points(numbers, block.astype(np.int64), table, np.arange(len(table)))

    def _find_states(self, table: Any, column: Coded) -> npt.NDArray[np.int64]:
        """The categories of a column, all of which the background must have: groups are told by them."""
        found = self.background.coded_states(table, column)
        if (found < 0).any():
            row = int(np.argmax(found < 0))
            is_group = len(column.positions) > 1
            value = NO_CATEGORY if is_group else self.background.schema.column(table, column.position)[row]
            raise InputError(
                f"row {row}: unknown category {value!r} in column {column.column!r}; "
                f"the background has {list_some(p.value for p in column.parts)}"
            )
        return found

    def rows(self, points: Points) -> Floats:
        missing = np.isnan(points.numbers)
        blocks = [np.where(missing, 0.0, points.numbers)]
        for j, column in enumerate(self.coded):
            blocks.append((points.states[:, [j]] == _shown(column)).astype(np.float64))
        blocks.append(missing[:, list(self.gaps)].astype(np.float64))
        return np.asarray(np.concatenate(blocks, axis=1)[:, self.order])

    def near(self, points: Points, n: int, kernel: Kernel | None, seed: Seed) -> Iterator[DrawnNeighbors]:
        """Numbers move a little, each by a normal of a tenth of its spread; now and then a category changes."""
        for start in range(0, len(points), MAX_ROWS_PER_BATCH):
            some = points[start : start + MAX_ROWS_PER_BATCH]
            moved = self._moved(some[np.repeat(np.arange(len(some)), n)], generator(seed, start))
            designs = self.rows(moved)
            weights = np.ones(len(designs))
            if kernel is not None:
                apart = np.square(designs - np.repeat(self.rows(some), n, axis=0)).mean(axis=1)
                weights = kernel(np.sqrt(apart))
            yield DrawnNeighbors(designs, self._table(moved), weights.reshape(len(some), n))

    def _moved(self, points: Points, rng: np.random.Generator) -> Points:
        """Every point somewhere near where it was."""
        numbers = points.numbers + NEIGHBOR_SD * rng.normal(size=points.numbers.shape)
        states = points.states.copy()
        for j, column in enumerate(self.coded):
            moved = np.flatnonzero(rng.random(len(points)) < SWAP_PROBABILITY)
            cell = np.searchsorted(column.cumulative, rng.random(len(moved)), side="right")
            states[moved, j] = np.searchsorted(column.bounds, cell, side="right") - 1
        return self._valid(replace(points, numbers=numbers, states=states))

    def between(self, points: Points, copies: int, seed: Seed) -> Points | None:
        """New rows like the rows: on the way to a near one or beyond, or moved as two near ones are apart."""
        rng, rows = generator(seed), self.rows(points)
        n_near = min(N_NEAREST, len(rows) - 1)
        if n_near < 1 or copies < 1:
            return None
        found = NearestNeighbors(n_neighbors=n_near + 1).fit(rows).kneighbors(rows, return_distance=False)[:, 1:]
        start = np.tile(np.arange(len(rows)), copies)
        one, two = (found[start, rng.integers(n_near, size=len(start))] for _ in range(2))
        way = rng.random(len(start)) < SHARE_INTERPOLATED
        share = np.where(way, rng.uniform(*INTERPOLATION, size=len(start)), 1.0)[:, None]
        other = np.where(way, start, two)
        numbers = points.numbers[start] + share * (points.numbers[one] - points.numbers[other])
        states = np.where(way[:, None] & (share > 0.5), points.states[one], points.states[start])
        return self._valid(replace(points[start], numbers=numbers, states=states))

    def _valid(self, points: Points) -> Points:
        """Numbers that the columns can hold: within their range, whole, or one of the values that were seen."""
        numbers = points.numbers * self.sds + self.means
        for j, column in enumerate(self.numeric):
            if isinstance(column, Normal):
                low, high = (end * column.sd + column.mean for end in (column.low, column.high))
                numbers[:, j] = np.clip(numbers[:, j], low, high)
                numbers[:, j] = np.round(numbers[:, j]) if column.whole else numbers[:, j]
            elif isinstance(column, Coded):
                known = ~np.isnan(numbers[:, j])
                numbers[known, j] = column.order[_nearest(column.order, numbers[known, j])]
        return replace(points, numbers=(numbers - self.means) / self.sds)

    def _table(self, points: Points) -> Any:
        """Points as a table that the model can be asked about."""
        background, schema = self.background, self.background.schema
        numbers = points.numbers * self.sds + self.means
        columns: list[Any] = [None] * len(schema.names)
        for j, column in enumerate(self.numeric):
            if isinstance(column, Coded):
                at = np.where(np.isnan(numbers[:, j]), -1, _nearest(column.order, numbers[:, j]))
                columns[column.position] = column.levels.take(at)
            else:
                own = np.round(numbers[:, j]) if isinstance(column, Normal) and column.whole else numbers[:, j]
                columns[column.position] = background.cast(own, column.position, column)
        for j, coded in enumerate(self.coded):
            for position, own in background.level_values(coded, coded.bounds[points.states[:, j]]):
                columns[position] = own
        for position in background.held:
            columns[position] = schema.column(points.table, position).take(points.source)
        return schema.build(columns, len(points))


def _is_category(column: Any) -> bool:
    return isinstance(column, Coded) and column.parts[0].relation == "="


def _shown(column: Coded) -> npt.NDArray[np.intp]:
    """The states that are features: of two, the second says it all; of very many, the most frequent."""
    if len(column.parts) == 2:
        return np.array([1])
    shares = np.diff(np.append(0.0, column.cumulative)[column.bounds])
    return np.sort(np.argsort(-shares, kind="stable")[:MAX_LEVELS])


def _raw(background: TableBackground, columns: Sequence[Any], table: Any) -> Floats:
    """Columns of numbers, (n, a)."""
    found = [background.numbers(table, c) for c in columns]
    return np.stack(found, axis=1).astype(np.float64) if found else np.zeros((len(table), 0))


def _nearest(order: Floats, numbers: Floats) -> npt.NDArray[np.intp]:
    """The place of the value that is nearest to each number."""
    at = np.clip(np.searchsorted(order, numbers), 1, max(len(order) - 1, 1))
    at = np.minimum(at, len(order) - 1)
    before = np.maximum(at - 1, 0)
    return np.asarray(np.where(numbers - order[before] <= order[at] - numbers, before, at))


@dataclass(frozen=True, eq=False)
class LazyInstances:
    """Instances by number, represented when their turn comes; short texts once and for all."""

    instances: Instances
    numbers: npt.NDArray[np.int64]
    known: tuple[Representation | None, ...] | None = None

    @classmethod
    def of(cls, represent: Any, X: Any) -> LazyInstances:
        """Instances, with few parts or none if they are so."""
        instances = represent.each(X)
        found = cls(instances, np.arange(len(instances)))
        texts = isinstance(instances, InstanceList) and all(isinstance(x, str) for x in instances.items)
        if texts and sum(map(len, instances.items)) <= MAX_CHARACTERS_KEPT:
            return replace(found, known=tuple(representation for _, representation in found))
        return found

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, at: Any) -> LazyInstances:
        return replace(self, numbers=self.numbers[at])

    def __iter__(self) -> Iterator[tuple[int, Representation | None]]:
        """Each number with its representation; None if the instance has nothing to take away."""
        for number in self.numbers.tolist():
            try:
                one = self.instances.batch(number, number + 1)[0] if self.known is None else self.known[number]
            except InputError as cause:
                if not isinstance(cause.__cause__, NoParts):
                    raise
                one = None
            yield number, one


@dataclass(frozen=True, eq=False)
class MaskSpace:
    """Parts that instances may have or lack: the words of texts, the columns of sparse rows."""

    represent: Representer
    parts: tuple[Part, ...]
    column: dict[str, int]  # of each part's own column, such as the word

    @classmethod
    def of(cls, represent: Representer, X: Any) -> MaskSpace:
        """All parts that the instances of X have."""
        found: dict[str, Part] = {}
        for _, representation in LazyInstances.of(represent, X):
            for part in () if representation is None else representation.parts:
                if part.relation not in COMPARABLE:
                    raise InputError(
                        "groups need features in which instances differ, as the columns of a table do, or the "
                        f"words of texts; {part.name!r} is a part that every instance has, or only one"
                    )
                found.setdefault(part.column, Part(part.column, part.column, part.relation))
        if not found:
            raise InputError("none of these instances has a part, so there is nothing to group by")
        return cls(represent, tuple(found.values()), {key: j for j, key in enumerate(found)})

    def shown(self, j: int, value: float) -> str:
        return f"{value:g}"

    def read(self, X: Any) -> LazyInstances:
        return LazyInstances.of(self.represent, X)

    def rows(self, points: LazyInstances) -> Matrix:
        return self._matrix([(r, np.ones((1, _size(r)))) for _, r in points])

    def near(self, points: LazyInstances, n: int, kernel: Kernel | None, seed: Seed) -> Iterator[DrawnNeighbors]:
        """The instance itself, then n - 1 samples of its own law."""
        for start in range(0, len(points), MAX_INSTANCES_PER_BATCH):
            masks, weights, inputs = list[tuple[Any, Floats]](), list[Floats](), list[Any]()
            for number, r in points[start : start + MAX_INSTANCES_PER_BATCH]:
                if r is None or len(r.parts) < 2:
                    own = points.instances.inputs(number, number + 1)
                    masks.append((r, np.ones((n, _size(r)))))
                    weights.append(np.ones(n))
                    inputs += [own] * n
                    continue
                child = child_of(seed, number)
                sample = r.draw(np.ones_like if kernel is None else kernel, child, 0, n - 1)
                masks.append((r, sample.designs))
                weights.append(np.append(1.0, sample.weights[1:]))
                inputs.append(r.realize(sample)[:n])
            yield DrawnNeighbors(self._matrix(masks), _joined(inputs), np.stack(weights))

    def between(self, points: LazyInstances, copies: int, seed: Seed) -> None:
        """Nothing lies between two texts."""

    def _matrix(self, masks: Sequence[tuple[Representation | None, Floats]]) -> Any:
        """Masks of each instance's own parts as rows over all parts; parts that are not known are left out."""
        indices, counts = [np.zeros(0, np.int64)], [np.zeros(1, np.int64)]
        for r, mask in masks:
            own = () if r is None else r.parts
            at = np.array([self.column.get(part.column, -1) for part in own], np.int64)
            kept = (mask != 0) & (at >= 0)
            indices.append(np.broadcast_to(at, kept.shape)[kept])
            counts.append(kept.sum(axis=1))
        flat_indices, starts = np.concatenate(indices), np.cumsum(np.concatenate(counts))
        found = csr_matrix((np.ones(len(flat_indices)), flat_indices, starts), (len(starts) - 1, len(self.parts)))
        found.sum_duplicates()
        return found


def space_of(represent: Any, X: Any) -> Space:
    """The features that all instances of a representer share."""
    if isinstance(represent, Fields):
        raise InputError("groups are of instances of one kind: give one of the fields alone, such as vd.Words()")
    if isinstance(represent, Rows) and not represent.sparse:
        return TableSpace.of(represent.background, X)
    return MaskSpace.of(represent, X)


def _size(representation: Representation | None) -> int:
    return 0 if representation is None else len(representation.parts)


def _joined(pieces: Sequence[Any]) -> Any:
    """Batches of inputs as one."""
    first = pieces[0]
    if isinstance(first, list):
        return [x for piece in pieces for x in piece]
    if issparse(first):
        return vstack(pieces).tocsr()
    return np.concatenate(pieces)
