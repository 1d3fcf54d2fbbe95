"""Many explanations as one sparse matrix: a row each, and a column for each part that they share."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix

from veridical.errors import InputError
from veridical.records import Floats, Ints, Part, Record, View
from veridical.representations.masking import make_unique

Label: TypeAlias = Any  # of a target: a class, an Output, a name
OWN_VALUE = frozenset({"per sd", "not zero"})  # relations whose value is the instance's own
COLUMN = "column"  # the relation of a column of a table that counts whatever its value is


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


def column_part(column: str) -> Part:
    """What the parts of a column have in common, where each row has its own value there."""
    return Part(column, column, COLUMN)


class ExplanationSource(Protocol):
    """Explanations that can be read again and again, a few at a time."""

    def batches(self) -> Iterator[Batch]: ...

    def views(self) -> Iterator[tuple[int, View | None]]:
        """The number of parts of each explanation, and its view."""
        ...

    def targets(self) -> Iterator[Any]:
        """The target of each explanation."""
        ...

    def row_names(self, numbers: Sequence[int]) -> list[Any]:
        """The names of some rows; the number where a row has none."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock(Record):
    """Some rows of a table."""

    weights: Any  # (n, p) CSR, signed; where parts of a row share a column, their sum
    numbers: Ints  # (n,) of the explanations
    targets: tuple[Label, ...]  # (n,)

    def take(self, some: Ints) -> RowBlock:
        """Those of its rows that are at these positions."""
        return RowBlock(self.weights[some], self.numbers[some], tuple(self.targets[i] for i in some))


@dataclass(frozen=True, slots=True, eq=False)
class ExplanationMatrix(Record):
    """The explanations of SP-LIME as W: sparse, with what its rows and columns are.

    A column is a part for a target: what speaks for one class and against another is two things, and never
    cancels. Parts are the same if name, column, relation and value are, not if they are only shown alike.
    Where there are more rows than are held, the table has some of them or none, and its columns are those of all.
    """

    weights: Any  # (n, p) CSR, signed; where parts of a row share a column, their sum
    rows: Ints  # (n,) numbers of the explanations
    row_targets: tuple[Label, ...]  # (n,)
    n_rows: int  # that there are, held or not
    importance: Floats  # (p,) I_j = √(Σ_i |W_ij|), in which parts that share a column do not cancel
    having: Ints  # (p,) rows that have each part
    parts: tuple[Part, ...]  # (p,) in the order they first appear
    targets: tuple[Label, ...]  # (p,)
    labels: tuple[Label, ...]  # the targets of all rows, each once

    @property
    def whole(self) -> bool:
        """Whether all rows are held."""
        return len(self.rows) == self.n_rows

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each column, each once."""
        several = len(set(map(_target_key, self.targets))) > 1
        shown = [
            f"{part.name} → {target}" if several else part.name
            for part, target in zip(self.parts, self.targets, strict=True)
        ]
        return tuple(make_unique(shown))

    def with_rows(self, blocks: Iterable[RowBlock]) -> ExplanationMatrix:
        """The same columns with these rows."""
        weights, rows, targets = _stack(list(blocks), len(self.parts))
        return replace(self, weights=weights, rows=rows, row_targets=targets)


def build_matrix(batches: Iterable[Batch], target: Label | None = None, k: int | None = None) -> ExplanationMatrix:
    """The table of all explanations, or of those of one target; of the k heaviest parts of each, or all."""
    return Columns(target, k).table(batches)


class Columns:
    """What the columns of a table are: learned as explanations are read, which can then be read again."""

    def __init__(self, target: Label | None, k: int | None) -> None:
        self.target, self.k = target, k
        self.parts: list[Part] = []
        self.targets: list[Label] = []
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[Hashable, Label] = {}

    def table(self, batches: Iterable[Batch], most: float = np.inf) -> ExplanationMatrix:
        """The table of these explanations; rows and weights are not held if they are more than ``most``."""
        held, n, holding = list[RowBlock](), 0, True
        sizes, having = np.empty(0), np.empty(0)  # (p,) sums of |weight|, and of rows
        for block, columns, weights in self._read(batches):
            p = len(self.parts)
            sizes = _add_up(sizes, columns, np.abs(weights), p)
            having = _add_up(having, block.weights.indices, np.ones(block.weights.nnz), p)
            n += len(block.numbers)
            holding = holding and n + having.sum() <= most
            if holding:
                held.append(block)
            else:
                held.clear()
        return ExplanationMatrix(
            *_stack(held, len(self.parts)),
            n_rows=n,
            importance=np.sqrt(sizes),
            having=having.astype(np.int64),
            parts=tuple(self.parts),
            targets=tuple(self.targets),
            labels=tuple(self._known.values()) if self.target is None else (self.target,),
        )

    def blocks(self, batches: Iterable[Batch]) -> Iterator[RowBlock]:
        """The rows of the table of these explanations, some at a time."""
        return (block for block, _, _ in self._read(batches))

    def _read(self, batches: Iterable[Batch]) -> Iterator[tuple[RowBlock, Ints, Floats]]:
        """The rows of the wanted target, with the column and weight of each entry."""
        seen = n = 0
        for batch in batches:
            numbers = seen + np.arange(len(batch.targets)) if batch.rows is None else batch.rows
            read = self._read_batch(batch, numbers)
            seen, n = seen + len(numbers), n + len(read[0].numbers)
            yield read
        if self.target is not None and seen and not n:
            had = ", ".join(repr(t) for t in list(self._known.values())[:12])
            raise InputError(f"no explanation is of the target {self.target!r}; there are {had}")

    def _read_batch(self, batch: Batch, numbers: Ints) -> tuple[RowBlock, Ints, Floats]:
        """What counts in a batch; weights of zero stay columns, but are no entries."""
        n, typed = len(batch.targets), list(map(_target_key, batch.targets))
        self._known.update(zip(typed, batch.targets, strict=True))
        labels = list(dict.fromkeys(typed))
        number = {label: i for i, label in enumerate(labels)}
        of_row = np.fromiter((number[label] for label in typed), np.int64, n)
        wanted = np.ones(n, bool) if self.target is None else of_row == number.get(_target_key(self.target), -1)
        row, own = np.repeat(np.arange(n), batch.counts), np.repeat(wanted, batch.counts)
        own &= ~np.isnan(batch.weights)  # a part that was not tested is no entry, not even one of zero
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
        column, weights, counts = column[kept], weights[kept], np.bincount(row[kept], minlength=n)[wanted]
        shape = len(counts), len(self.parts)
        matrix = csr_matrix((weights, column, np.r_[0, np.cumsum(counts)]), shape=shape, copy=True)
        matrix.sum_duplicates()
        targets = tuple(t for t, w in zip(batch.targets, wanted, strict=True) if w)
        return RowBlock(matrix, numbers[wanted], targets), column, weights

    def _columns(self, of_row: Any, codes: Ints, batch: Batch, labels: list[Hashable]) -> Any:
        """The column of each entry; new ones are numbered in the order they appear."""
        pairs = of_row * len(batch.parts) + codes
        numbers = np.full(len(labels) * len(batch.parts), -1)
        numbers[pairs[::-1]] = np.arange(len(pairs))[::-1]  # where each comes first, for that is written last
        found = np.flatnonzero(numbers >= 0)
        for i in found[np.argsort(numbers[found])]:
            label, code = divmod(int(i), len(batch.parts))
            key = labels[label], batch.keys[code]
            if key not in self._numbers:
                part = batch.parts[code]
                if part.relation in OWN_VALUE:  # all instances have it, each with its own value
                    part = replace(part, name=part.column, value=None)
                self._numbers[key] = len(self.parts)
                self.parts.append(part)
                self.targets.append(self._known[labels[label]])
            numbers[i] = self._numbers[key]
        return numbers[pairs]


def _stack(blocks: Sequence[RowBlock], p: int) -> tuple[Any, Ints, tuple[Label, ...]]:
    """The rows of all blocks as one matrix of p columns, their numbers, and their targets."""
    data = np.concatenate([np.empty(0), *(block.weights.data for block in blocks)])
    indices = np.concatenate([np.empty(0, np.int32), *(block.weights.indices for block in blocks)])
    counts = np.concatenate([np.zeros(1, np.int64), *(np.diff(block.weights.indptr) for block in blocks)])
    matrix = csr_matrix((data, indices, np.cumsum(counts)), shape=(len(counts) - 1, p))
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    numbers = np.concatenate([np.empty(0, np.int64), *(block.numbers for block in blocks)])
    return matrix, numbers, tuple(chain.from_iterable(block.targets for block in blocks))


def _add_up(sums: Floats, columns: Ints, values: Floats, p: int) -> Floats:
    """Sums of each column with these values added one after the other, however they are cut into batches."""
    return np.bincount(np.r_[np.arange(len(sums)), columns], np.r_[sums, values], p).astype(np.float64)


def _heaviest(weights: Floats, row: Ints, k: int) -> Ints:
    """Where the k heaviest weights of each row are that are not zero; of equal ones the first."""
    order = np.lexsort((-np.abs(weights), row))
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    best = np.sort(order[rank < k])
    found: Ints = best[weights[best] != 0]
    return found


def _target_key(target: Label) -> Hashable:
    """A target as a key: the class 1 is neither the class "1" nor the class True nor output 1."""
    return type(target), target
