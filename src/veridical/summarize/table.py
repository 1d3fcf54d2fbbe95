"""Many explanations as one sparse matrix: a row each, and a column for each part that they share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix

from veridical.errors import InputError
from veridical.records import Floats, Ints, Part, Record, View
from veridical.represent.masked import unique

Label: TypeAlias = int | str  # of a target
OWN_VALUE = frozenset(
    {"per sd", "not zero"}
)  # relations whose value is the instance's, and does not tell parts apart


def shared(part: Part) -> Part:
    """A part as all instances have it: by its column, where the value is the instance's own."""
    return replace(part, name=part.column, value=None) if part.relation in OWN_VALUE else part


@dataclass(frozen=True, slots=True, eq=False)
class Batch(Record):
    """Some explanations as columns; a part that comes again is a number."""

    targets: tuple[Label, ...]  # (n,)
    counts: Ints  # (n,) parts of each
    parts: tuple[Part, ...]  # the distinct ones
    keys: tuple[Hashable, ...]  # of these, equal where they are the same thing
    codes: Ints  # (m,) which of them each part is, explanation after explanation
    weights: Floats  # (m,)
    rows: Ints | None = None  # (n,) numbers of the explanations; None where they are counted


class Source(Protocol):
    """Explanations that can be read again and again, a few at a time."""

    def batches(self) -> Iterator[Batch]: ...

    def views(self) -> Iterator[tuple[int, View | None]]:
        """The number of parts of each explanation, and its view."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Table(Record):
    """The explanations of SP-LIME as W: sparse, with what its rows and columns are.

    A column is a part for a target: what speaks for one class and against another is two things, and never
    cancels. Parts are the same if name, column, relation and value are, not if they are only shown alike.
    """

    weights: Any  # (n, p) CSR, signed; where parts of a row share a column, their sum
    importance: Floats  # (p,) I_j = √(Σ_i |W_ij|), in which parts that share a column do not cancel
    rows: Ints  # (n,) numbers of the explanations
    row_targets: tuple[Label, ...]  # (n,)
    parts: tuple[Part, ...]  # (p,) in the order they first appear
    targets: tuple[Label, ...]  # (p,)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each column, each once."""
        several = len(set(map(_typed, self.targets))) > 1
        shown = [
            f"{part.name} → {target}" if several else part.name
            for part, target in zip(self.parts, self.targets, strict=True)
        ]
        return tuple(unique(shown))


def table_of(batches: Iterable[Batch], target: Label | None = None, k: int | None = None) -> Table:
    """The table of all explanations, or of those of one target; of the k heaviest parts of each, or all."""
    made = _Builder(target, k)
    for batch in batches:
        made.add(batch)
    return made.table()


class _Builder:
    """Batches come in, and only entries of the matrix are kept."""

    def __init__(self, target: Label | None, k: int | None) -> None:
        self.target, self.k = target, k
        self.columns: dict[Hashable, int] = {}
        self.parts: list[Part] = []
        self.targets: list[Label] = []
        self.row_targets: list[Label] = []
        self.rows: list[Ints] = []
        self.counts: list[Ints] = []
        self.indices, self.data = _Grown(np.int32), _Grown(np.float64)
        self.sizes = np.empty(0)  # (p,) sums of |weight|
        self.seen = 0
        self.known: dict[Hashable, Label] = {}

    def add(self, batch: Batch) -> None:
        """The rows of the wanted target; weights of zero stay columns, but are no entries."""
        n = len(batch.targets)
        self.known.update((_typed(t), t) for t in batch.targets)
        labels = list(dict.fromkeys(map(_typed, batch.targets)))
        number = {label: i for i, label in enumerate(labels)}
        of_row = np.fromiter((number[_typed(t)] for t in batch.targets), np.int64, n)
        wanted = np.ones(n, bool) if self.target is None else of_row == number.get(_typed(self.target), -1)
        numbers = self.seen + np.arange(n) if batch.rows is None else batch.rows
        row, own = np.repeat(np.arange(n), batch.counts), np.repeat(wanted, batch.counts)
        row, codes, weights = row[own], batch.codes[own], batch.weights[own]
        bad = ~np.isfinite(weights)
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            raise InputError(
                f"explanation {numbers[row[at]]} gives the part {batch.parts[codes[at]].name!r} the weight "
                f"{weights[at]}: explain it again, or leave it out"
            )
        column = self._columns(of_row[row], codes, batch, labels)
        kept = np.flatnonzero(weights) if self.k is None else _heaviest(weights, row, self.k)
        self.indices.add(column[kept])
        self.data.add(weights[kept])
        p, before = len(self.parts), np.arange(len(self.sizes))  # added one after the other, however they are cut
        sums = np.r_[self.sizes, np.abs(weights[kept])]
        self.sizes = np.bincount(np.r_[before, column[kept]], sums, p).astype(np.float64)
        self.counts.append(np.bincount(row[kept], minlength=n)[wanted])
        self.rows.append(numbers[wanted])
        self.row_targets += [t for t, w in zip(batch.targets, wanted, strict=True) if w]
        self.seen += n

    def _columns(self, of_row: Any, codes: Ints, batch: Batch, labels: list[Hashable]) -> Any:
        """The column of each entry; new ones are numbered in the order they appear."""
        pairs = of_row * len(batch.parts) + codes
        found, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
        numbers = np.empty(len(found), dtype=np.int64)
        for i in np.argsort(first, kind="stable"):
            label, code = divmod(int(found[i]), len(batch.parts))
            key = labels[label], batch.keys[code]
            if key not in self.columns:
                part = batch.parts[code]
                self.columns[key] = len(self.parts)
                self.parts.append(shared(part))
                self.targets.append(self.known[labels[label]])
            numbers[i] = self.columns[key]
        return numbers[inverse]

    def table(self) -> Table:
        rows = np.concatenate([np.empty(0, np.int64), *self.rows])
        if self.target is not None and self.seen and not len(rows):
            had = ", ".join(repr(t) for t in list(self.known.values())[:12])
            raise InputError(f"no explanation is of the target {self.target!r}; there are {had}")
        counts = np.concatenate([np.zeros(1, np.int64), *self.counts])
        shape = (len(rows), len(self.parts))
        weights = csr_matrix((self.data.whole(), self.indices.whole(), np.cumsum(counts)), shape=shape)
        weights.sum_duplicates()
        for array in (weights.data, weights.indices, weights.indptr):
            array.flags.writeable = False
        columns = tuple(self.parts), tuple(self.targets)
        return Table(weights, np.sqrt(self.sizes), rows, tuple(self.row_targets), *columns)


class _Grown:
    """An array that grows at its end, in place: there may be as many entries as memory holds."""

    def __init__(self, kind: Any) -> None:
        self.n, self._room = 0, np.empty(2**16, kind)

    def add(self, values: Any) -> None:
        stop = self.n + len(values)
        if stop > len(self._room):
            self._room.resize(max(stop, len(self._room) * 3 // 2), refcheck=False)
        self._room[self.n : stop] = values
        self.n = stop

    def whole(self) -> Any:
        self._room.resize(self.n, refcheck=False)
        return self._room


def _heaviest(weights: Floats, row: Ints, k: int) -> Ints:
    """Where the k heaviest weights of each row are that are not zero; of equal ones the first."""
    order = np.lexsort((-np.abs(weights), row))
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    best = np.sort(order[rank < k])
    found: Ints = best[weights[best] != 0]
    return found


def _typed(target: Label) -> Hashable:
    """A target as a key: the class 1 is not the class named "1"."""
    return isinstance(target, str), target
