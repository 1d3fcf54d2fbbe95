"""Explanations a few at a time, held in memory or stored in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from veridical.errors import InputError
from veridical.packing.columns import TARGET, distinct, unpack_targets
from veridical.packing.explanations import TEXTS
from veridical.packing.values import encode, parse, unpack, unpack_view
from veridical.records import Explanation, Explanations, Part, View
from veridical.scale.stores.beside import KEPT
from veridical.scale.stores.parts import row_names_in
from veridical.scale.stores.store import Store
from veridical.serialize import ROWS, columns_of, load, reading
from veridical.summarize.table import OWN_VALUE, Batch, Source

Key: TypeAlias = tuple[str, str, str, str]  # of a part: name, column, relation, and value as JSON
VIEWS = 32  # read at once: a picture may be large


def source_of(explanations: Any) -> Source:
    """Explanations, any iterable of them, a store, or the path of a store or of a file that ``save`` wrote."""
    if isinstance(explanations, (str, Path)):
        path = Path(explanations)
        return _from_store(Store(path)) if path.is_dir() else _from_file(path)
    if isinstance(explanations, Store):
        return _from_store(explanations)
    if isinstance(explanations, Explanations):
        return Held(explanations.items)
    if isinstance(explanations, Explanation) or not hasattr(explanations, "__iter__"):
        what = "one Explanation" if isinstance(explanations, Explanation) else type(explanations).__name__
        raise InputError(
            f"wanted many explanations, as explain_many gives them, or the path of a file, got {what}"
        )
    items = tuple(explanations)
    for i, item in enumerate(items):
        if not isinstance(item, Explanation):
            raise InputError(f"wanted explanations, but number {i} is of type {type(item).__name__}")
    return Held(items)


def _from_file(path: Path) -> Source:
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    if path.suffix.lower() == ".parquet":
        return Stored(path.name, partial(columns_of, path))
    found = load(path)
    if not isinstance(found, Explanations):
        raise InputError(f"{path.name!r} holds one {type(found).__name__}, and many explanations were wanted")
    return Held(found.items)


def _from_store(store: Store) -> Source:
    """The rows of a store that have an explanation."""

    def tables(names: Sequence[str], n_rows: int) -> Iterator[Any]:
        for table in store.batches([*names, "row", "error"], n_rows):
            yield table.filter(table.column("error").is_null())

    return Stored(store.path.name, tables)


@dataclass(frozen=True, eq=False)
class Held:
    """Explanations in memory."""

    items: Sequence[Explanation]

    def batches(self) -> Iterator[Batch]:
        for start in range(0, len(self.items), ROWS):
            yield self._batch(self.items[start : start + ROWS])

    def views(self) -> Iterator[tuple[int, View | None]]:
        """The number of parts of each explanation, and its view."""
        return ((len(e.parts), e.view) for e in self.items)

    def targets(self) -> Iterator[Any]:
        """The target of each explanation."""
        return (e.target for e in self.items)

    def row_names(self, numbers: Sequence[int]) -> list[Any]:
        """The names of some rows; the number where a row has none."""
        named = [(number, self.items[number].row) for number in numbers]
        return [number if row is None else row for number, row in named]

    def _batch(self, items: Sequence[Explanation]) -> Batch:
        codes, parts = distinct([p for e in items for p in e.parts])
        return Batch(
            tuple(e.target for e in items),
            np.fromiter((len(e.parts) for e in items), np.int64, len(items)),
            tuple(parts),
            tuple(_key(p.name, p.column, p.relation, encode(p.value)) for p in parts),
            codes,
            np.concatenate([np.empty(0), *(e.weights for e in items)]),
        )


@dataclass(frozen=True, eq=False)
class Stored:
    """Explanations in Parquet files, of which only the columns that are needed are read."""

    name: str
    tables: Callable[[Sequence[str], int], Iterator[Any]]  # of some columns, at most so many rows at a time

    def batches(self) -> Iterator[Batch]:
        with reading(self.name):
            for table in self.tables((*TEXTS, "values", "weights", *TARGET), ROWS):
                yield self._batch(table)

    def views(self) -> Iterator[tuple[int, View | None]]:
        """The number of parts of each explanation, and its view."""
        with reading(self.name):
            for table in self.tables(("weights", "view"), VIEWS):
                counts = np.diff(table.column("weights").offsets.to_numpy()).tolist()
                known = "view" in table.schema.names
                packed = table.column("view").to_pylist() if known else [None] * len(counts)
                for count, text in zip(counts, packed, strict=True):
                    view = unpack_view(parse(text)) if text else None
                    yield count, view if isinstance(view, View) else None

    def targets(self) -> Iterator[Any]:
        """The target of each explanation."""
        with reading(self.name):
            for table in self.tables(TARGET, ROWS):
                yield from unpack_targets(table)

    def row_names(self, numbers: Sequence[int]) -> list[Any]:
        """The names of some rows; the number where a row has none."""
        wanted, found, start = set(numbers), dict[int, Any](), 0
        for batch in self.tables(["row", "row_name", f"{KEPT}*"], ROWS):
            known = "row" in batch.schema.names
            places = batch.column("row").to_pylist() if known else range(start, start + len(batch))
            start += len(batch)
            here = [i for i, number in enumerate(places) if number in wanted]
            if here:
                kept = next((name for name in batch.schema.names if name.startswith(KEPT)), None)
                names = row_names_in(batch.take(here), kept, [places[i] for i in here])
                found.update(zip((places[i] for i in here), names, strict=True))
        return [found.get(number, number) for number in numbers]

    def _batch(self, table: Any) -> Batch:
        lists = {key: table.column(key) for key in (*TEXTS, "values", "weights")}
        counts = [np.diff(column.offsets.to_numpy()) for column in lists.values()]
        if any(not np.array_equal(count, counts[0]) for count in counts):
            raise ValueError("the lists of a row differ in length")
        encoded = [lists[key].flatten().dictionary_encode() for key in (*TEXTS, "values")]
        indices = np.stack([e.indices.to_numpy().astype(np.int64) for e in encoded])
        words = [e.dictionary.to_pylist() for e in encoded]
        codes, first = _combined(indices, [len(w) for w in words])
        found = [tuple(w[i] for w, i in zip(words, column, strict=True)) for column in indices[:, first].T]
        return Batch(
            tuple(unpack_targets(table)),
            counts[0].astype(np.int64),
            tuple(Part(*texts, unpack(parse(value))) for *texts, value in found),  # type: ignore[call-arg]
            tuple(_key(*texts) for texts in found),
            codes,
            lists["weights"].flatten().to_numpy(),
            table.column("row").to_numpy() if "row" in table.schema.names else None,
        )


def _combined(indices: Any, sizes: Sequence[int]) -> tuple[Any, Any]:
    """Rows of numbers as one number each, and where each of these first stands."""
    codes, span = np.zeros(indices.shape[1], np.int64), 1
    for row, size in zip(indices, sizes, strict=True):
        if span * size > 2**62:  # more than one number can tell apart: only those that come are counted
            found, codes = np.unique(codes, return_inverse=True)
            span = len(found)
        codes, span = codes * size + row, span * size
    _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
    return codes, first


def _key(name: str, column: str, relation: str, value: str) -> Key:
    """What makes two parts the same thing, in memory as in a file."""
    return (column, column, relation, "") if relation in OWN_VALUE else (name, column, relation, value)
