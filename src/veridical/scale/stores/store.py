"""A folder of explanations, read a little at a time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, overload

import numpy as np
import pandas as pd

from veridical.errors import InputError, ModelError, require
from veridical.records import Bools, Explanation, Explanations, Floats, Part, Shown, View
from veridical.representations.tables.schema import as_pandas
from veridical.scale.stores.instances import (
    INSTANCE,
    KEPT,
    MODULUS,
    column_in,
    digest_of,
    find_instance_columns,
    instances_in,
    join_instances,
    kept_names,
)
from veridical.scale.stores.writer import (
    PART,
    Folder,
    Receipt,
    damage_error,
    manifest_error,
    open_chunk,
    own_values_in,
    read_explanations,
    read_manifest,
    receipt_from,
    row_names_in,
)
from veridical.storage.atomic_files import path_of
from veridical.storage.codec import TEXTS, Pool, encode, parse, unpack, unpack_view
from veridical.storage.frames import failed_frame, row_column, target_column, value_column
from veridical.storage.schema import (
    OWN,
    ROWS,
    TARGET,
    Loaded,
    columns_of,
    distinct,
    load_file,
    own_of,
    reading,
    unpack_targets,
)
from veridical.summaries.importances import Importance, WeightBatch, WeightSums, hash_numbers
from veridical.summaries.matrices import COLUMN, OWN_VALUE, Batch, ExplanationSource, column_part

WORDS = {"part": "names", "column": "columns", "relation": "relations"}  # of a frame, and of a chunk
NUMBERS = {"weight": "weights", "low": "low", "high": "high"}
MOST = 10_000  # instances that groups are learned from
REPEATED = ("prediction", "local_prediction", "fidelity", "n_calls")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Store(Shown):
    """Explanations in a folder, as ``explain_many(..., store=folder)`` leaves them: read a little at a time.

    Rows have the numbers that they have in X: ``store[7]`` is the explanation of row 7, and a slice gives
    ``Explanations``. Rows that the model or the representer failed on have none: iteration and slices leave them
    out, and ``failed`` says why; to try them again, delete the files they are in. A store that is not complete
    holds the rows that are done: the same call of explain_many goes on with it. What is shown is as the folder was
    when it was opened.

    Parameters
    ----------
    path : str or Path
        The folder.

    Attributes
    ----------
    manifest : mapping
        What the store is of, and how far it is: ``complete``, ``n_rows``, ``n_done``, ``n_failed``, ``n_calls``.
    receipts : tuple of Receipt
        Of each chunk in a few numbers, in the order of the rows.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = vd.explain_many(lambda X: X[:, 0], vd.Rows(X), X, store=f"{folder}/nightly")
    ...     print(len(store), store[7].top(1)[0][0])
    200 x0 = 1.366
    """

    path: Path
    manifest: Mapping[str, Any] = field(init=False)  # what it is of, and how far it is
    receipts: tuple[Receipt, ...] = field(init=False)  # of the chunks, in order of their rows

    def __post_init__(self) -> None:
        path = Path(self.path)
        if not path.is_dir():
            raise InputError(f"there is no folder {str(path)!r}: a store is one that explain_many was given")
        known = read_manifest(path)
        if known["complete"]:
            try:
                receipts = tuple(receipt_from({**each, "store": known["identity"]}) for each in known["parts"])
                size, n_rows = known["chunk_rows"], known["n_rows"]
                for number, each in enumerate(receipts):  # they leave no gap
                    rows = (number, number * size, min((number + 1) * size, n_rows))
                    if (each.number, each.start, each.stop) != rows:
                        raise ValueError(f"chunk {number} holds other rows")
                if (receipts[-1].stop if receipts else 0) != n_rows:
                    raise ValueError(f"there are no chunks for all {n_rows} rows")
            except Exception as cause:
                raise manifest_error(path, f"{cause!r:.200}") from cause
        else:
            folder = Folder(path, str(known["identity"]), int(known["chunk_rows"]))
            receipts = tuple(folder.receipts().values())
        del known["parts"]
        known["n_done"] = sum(r.stop - r.start for r in receipts)
        known["n_failed"] = sum(r.n_failed for r in receipts)
        known["n_calls"] = known["n_shared_calls"] + sum(r.n_calls for r in receipts)
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "receipts", receipts)
        object.__setattr__(self, "manifest", MappingProxyType(known))

    def __reduce__(self) -> tuple[Any, ...]:
        return Store, (self.path,)

    def __fspath__(self) -> str:
        return str(self.path)

    def __len__(self) -> int:
        """Count the rows that are done, those that failed among them."""
        return int(self.manifest["n_done"])

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> Explanations: ...
    def __getitem__(self, index: int | slice) -> Explanation | Explanations:
        if isinstance(index, slice):
            wanted = range(*index.indices(self.n_rows))
            return self._some(_limit_range(wanted, max((r.stop for r in self.receipts), default=0)))
        number = operator.index(index) + (self.n_rows if index < 0 else 0)
        if not 0 <= number < self.n_rows:
            raise IndexError(f"row {index} of {self.n_rows}")
        for found in self._read_rows([number]):
            if isinstance(found, Explanation):
                return found
            raise ModelError(f"row {number} has no explanation: {found}")
        raise InputError(f"row {number} is not done yet: call explain_many again to go on with the store")

    def __iter__(self) -> Iterator[Explanation]:
        return (found for _, found in self.numbered())

    def numbered(self) -> Iterator[tuple[int, Explanation]]:
        """Iterate over the rows that have an explanation.

        Yields
        ------
        tuple of int and Explanation
            The number of the row, and its explanation, in order.
        """
        pool = Pool()
        for receipt in self.receipts:
            for group, table in enumerate(self._groups(receipt)):
                for i, found in enumerate(
                    read_explanations(table, pool, self._named_by), receipt.start + group * ROWS
                ):
                    if isinstance(found, Explanation):
                        yield i, found

    @property
    def n_rows(self) -> int:
        """Rows that there are in all; those that are done, until it is known."""
        known = self.manifest["n_rows"]
        return int(known) if known is not None else max((r.stop for r in self.receipts), default=0)

    @property
    def fingerprint(self) -> str:
        """The content as one number: the same rows, model and seed give the same, whatever engine made it."""
        return f"{sum(int(r.digest, 16) for r in self.receipts) % MODULUS:064x}"

    @property
    def failed(self) -> pd.DataFrame:
        """The rows that have no explanation: ``row``, ``number``, ``error``, and the columns that were kept."""
        kept, names = self._kept, ["row", "row_name", "error", *self._kept]
        failing = (b for r in self.receipts if r.n_failed for b in columns_of(self._chunk_path(r), names, ROWS))
        found = [_failed_frame(_table(batch.filter(batch.column("error").is_valid())), kept) for batch in failing]
        if not found:
            return failed_frame(())
        return pd.concat(found, ignore_index=True)

    def row_names(self) -> dict[int, Any]:
        """Read the names of the rows.

        Returns
        -------
        dict of int to object
            The name of every row that is done, by its number; the number itself where rows have no names.
        """
        found: dict[int, Any] = {}
        for batch in self.batches(self.naming):
            found |= dict(zip(batch.column("row").to_pylist(), self.names_in(batch), strict=True))
        return found

    def batches(self, columns: Sequence[str], n_rows: int = ROWS) -> Iterator[Any]:
        """Read some columns, in batches of Arrow.

        Parameters
        ----------
        columns : sequence of str
            Names of columns of the files; one that ends in * stands for all that begin so.
        n_rows : int
            The most rows of a batch.

        Yields
        ------
        pyarrow.RecordBatch
            The rows in order, those that failed among them.
        """
        for receipt in self.receipts:
            yield from self.read_chunk(receipt, columns, n_rows)

    def read_chunk(self, receipt: Receipt, columns: Sequence[str], n_rows: int = ROWS) -> Iterator[Any]:
        """Read some columns of one chunk, in batches of Arrow.

        Parameters
        ----------
        receipt : Receipt
            One of ``receipts``.
        columns : sequence of str
            Names of columns of the files; one that ends in * stands for all that begin so.
        n_rows : int
            The most rows of a batch.

        Yields
        ------
        pyarrow.RecordBatch
            The rows in order, those that failed among them.

        Raises
        ------
        InputError
            If the file is missing or damaged.
        """
        path = self._chunk_path(receipt)
        if not path.is_file():
            raise damage_error(path, "there is no such file")
        try:
            yield from columns_of(path, columns, n_rows)
        except InputError as cause:
            if cause.__cause__ is None:  # it is whole, and this version cannot read it
                raise
            raise damage_error(path, f"{cause.__cause__!r:.300}") from cause

    def names_in(self, batch: Any) -> list[Any]:
        """Read the names of some rows.

        Parameters
        ----------
        batch : pyarrow.RecordBatch
            With the columns of ``naming``.

        Returns
        -------
        list
            Their names; the number where a row has none.
        """
        return row_names_in(_table(batch), self._named_by)

    @property
    def naming(self) -> list[str]:
        """Columns of the files that ``names_in`` wants."""
        return ["row", "row_name", *self._kept]

    def frames(self) -> Iterator[pd.DataFrame]:
        """Iterate over ``to_frame`` of some thousand rows at a time.

        Yields
        ------
        pandas.DataFrame
            One line per part, in the order of the rows.
        """
        kept = self._kept
        names = [
            "row",
            "error",
            "label",
            "doubtful",
            *TARGET,
            *WORDS.values(),
            *NUMBERS.values(),
            *REPEATED,
            *kept,
        ]
        for batch in self.batches([*names, "row_name", *OWN, f"{INSTANCE}*"]):
            yield _frame(_table(batch.filter(batch.column("error").is_null())), kept)

    def to_frame(self) -> pd.DataFrame:
        """Tabulate all explanations.

        Returns
        -------
        pandas.DataFrame
            One line per part, as that of ``Explanations``, and the columns that were kept. ``row`` is the row's name
            where it has one, and ``number`` its number in X.

        Raises
        ------
        InputError
            If no row is done yet.
        """
        found = list(self.frames())
        if not found:
            raise self._empty()
        return pd.concat(found, ignore_index=True)

    def importance(self) -> Importance:
        """Return how much each column, word or region counts over all rows, in one pass over the files.

        Returns
        -------
        Importance
            Global feature importance: the mean size of the weights with intervals, their sign, and some rows, of which
            ``plot(kind="beeswarm")``, ``"dependence"`` and ``"heatmap"`` are drawn.
        """
        sums, kept = WeightSums(len(self) - self.manifest["n_failed"]), self._kept
        names = ["row", "error", "row_name", "columns", "weights", "low", "high", "label", "local_model"]
        for batch in self.batches([*names, *TARGET, *REPEATED[::2], *OWN, *kept, f"{INSTANCE}*"]):
            table = _table(batch.filter(batch.column("error").is_null()))
            found = _weights_in(table)
            some = np.flatnonzero(sums.chosen(found.numbers))
            chosen = table.take(some)
            own = own_values_in(chosen)
            if own is None:
                own = [tuple(map(unpack, values)) for values in own_of(chosen)]
            sums.add(found, row_names_in(chosen, self._named_by), own or [()] * len(some))
        return sums.result(self.manifest["n_failed"])

    def instances(self, most: int) -> Any:
        """Read instances that have an explanation.

        Parameters
        ----------
        most : int
            About how many. Which they are depends on their numbers alone, as if drawn at random.

        Returns
        -------
        DataFrame, array or list of str
            Instances as the representer takes them.

        Raises
        ------
        InputError
            If no row is done yet, or the store holds instances of a kind that is not stored.
        """
        pa, limit = require("pyarrow", extra="parquet"), 2**64 * min(most / max(len(self), 1), 1)
        found = []
        for receipt in self.receipts:
            with open_chunk(self._chunk_path(receipt)) as file:
                names = ["row", "error", *find_instance_columns(file.schema_arrow)]
                for group in range(file.num_row_groups):
                    table = file.read_row_group(group, columns=names)
                    chosen = hash_numbers(table.column("row").to_numpy()) < limit
                    good = np.asarray(table.column("error").is_null())
                    found.append(instances_in(table.filter(pa.array(chosen & good))))
        if not found:
            raise self._empty()
        return join_instances(found)

    def check(self) -> None:
        """Read everything, and compare it with what was written.

        Raises
        ------
        InputError
            If the content of a chunk is not what was written.
        """
        pa = require("pyarrow", extra="parquet")
        for receipt in self.receipts:
            content = digest_of(pa.concat_tables(self._groups(receipt)))
            if f"{content:064x}" != receipt.digest:
                raise damage_error(self._chunk_path(receipt), "its content is not what was written")

    def _empty(self) -> InputError:
        return InputError(f"no row of the store {str(self.path)!r} is done yet: call explain_many again to go on")

    @property
    def _kept(self) -> dict[str, Any]:
        """The columns that were kept: their names in the files, and their labels."""
        labels = unpack(self.manifest["keep"])
        return dict(zip(kept_names(labels), labels, strict=True))

    @property
    def _named_by(self) -> str | None:
        """The column that names rows which have no names of their own: the first that was kept."""
        return next(iter(self._kept), None)

    def _chunk_path(self, receipt: Receipt) -> Path:
        return self.path / PART.format(receipt.number)

    def _groups(self, receipt: Receipt) -> Iterator[Any]:
        """The row groups of a chunk, each a whole table."""
        path = self._chunk_path(receipt)
        with open_chunk(path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)

    def _read_rows(self, numbers: Sequence[int]) -> Iterator[Explanation | str]:
        """What is known of those of these rows that are done; each row group is read once if the numbers rise."""
        pool, size, there = Pool(), int(self.manifest["chunk_rows"]), {r.number: r for r in self.receipts}

        def place(number: int) -> tuple[int, int]:
            return number // size, number % size // ROWS

        for (chunk, group), some in groupby(numbers, place):
            if chunk in there:
                with open_chunk(self._chunk_path(there[chunk])) as file:
                    table = file.read_row_group(group)
                some_rows = table.take([number % size % ROWS for number in some])
                yield from read_explanations(some_rows, pool, self._named_by)

    def _some(self, numbers: Sequence[int]) -> Explanations:
        return Explanations(tuple(e for e in self._read_rows(numbers) if isinstance(e, Explanation)))


def _limit_range(numbers: range, stop: int) -> range:
    """Those of some numbers that are less than another."""
    n = len(range(numbers.start, stop, numbers.step)) if numbers.step > 0 else 0
    skipped = max(-(-(numbers.start - stop + 1) // -numbers.step), 0) if numbers.step < 0 else 0
    return numbers[:n] if numbers.step > 0 else numbers[skipped:]


def _table(batch: Any) -> Any:
    return require("pyarrow", extra="parquet").Table.from_batches([batch])


def _failed_frame(table: Any, kept: Mapping[str, Any]) -> pd.DataFrame:
    """The rows of a table that have no explanation."""
    known = {
        "row": row_column(row_names_in(table, next(iter(kept), None))),
        "number": table.column("row").to_pandas(),
        "error": table.column("error").to_pandas(),
    }
    return _with_kept(pd.DataFrame(known), {label: column_in(table, name) for name, label in kept.items()})


def _frame(table: Any, kept: Mapping[str, Any]) -> pd.DataFrame:
    """One line per part."""
    lists = {key: table.column(name).combine_chunks() for key, name in {**WORDS, **NUMBERS}.items()}
    counts = lists["weight"].value_lengths().to_numpy(zero_copy_only=False)
    line = np.repeat(np.arange(table.num_rows), counts)
    targets = target_column(unpack_targets(table))
    numbers = {key: table.column(key).to_numpy() for key in ("row", *REPEATED)}
    own = own_values_in(table)
    if own is None:
        own = [tuple(map(unpack, values)) for values in own_of(table)]
    told = [(own and own[i]) or (None,) * n for i, n in enumerate(counts.tolist())]
    made = pd.DataFrame(
        {
            "row": row_column(row_names_in(table, next(iter(kept), None))).take(line).array,
            "number": numbers.pop("row")[line],
            "target": targets.take(line).array,
            **{key: lists[key].flatten().to_pandas() for key in WORDS},
            "value": value_column(chain.from_iterable(told)),
            **{key: lists[key].flatten().to_pandas() for key in NUMBERS},
            "clear": _clear_parts(
                table, lists["low"].flatten().to_numpy(), lists["high"].flatten().to_numpy(), counts
            ),
            "label": table.column("label").combine_chunks().to_pandas().take(line).reset_index(drop=True),
            **{key: values[line] for key, values in numbers.items()},
        }
    )
    beside = {label: column_in(table, name).take(line).reset_index(drop=True) for name, label in kept.items()}
    return _with_kept(made, beside)


def _weights_in(table: Any) -> WeightBatch:
    """The weights of a table; a pair of features is shared by both."""
    lists = {key: table.column(key).combine_chunks() for key in ("columns", "weights", "low", "high")}
    counts = np.diff(lists["weights"].offsets.to_numpy()).astype(np.int64)
    columns = lists["columns"].flatten().dictionary_encode()
    weights, low, high = (lists[key].flatten().to_numpy() for key in ("weights", "low", "high"))
    told = table.column("local_model")
    paired = np.flatnonzero(
        require("pyarrow.compute", extra="parquet").match_substring(told, '"pairs"').fill_null(False)
    )
    if len(paired):
        starts, shared = np.cumsum(counts) - counts, np.stack([weights, low, high])
        for i, text in zip(paired.tolist(), told.take(paired).to_pylist(), strict=True):
            local = parse(text)
            if "log_odds" not in local:
                for pair in local["pairs"]:
                    shared[:, starts[i] + np.array(pair[0])] += pair[1] / 2
        weights, low, high = shared
    return WeightBatch(
        table.column("row").to_numpy(),
        counts,
        tuple(columns.dictionary.to_pylist()),
        columns.indices.to_numpy().astype(np.int64),
        weights,
        low,
        high,
        table.column("prediction").to_numpy(),
        table.column("fidelity").to_numpy(),
        tuple(table.column("label").to_pylist()),
        tuple(unpack_targets(table)),
    )


def _clear_parts(table: Any, low: Floats, high: Floats, counts: Any) -> Bools:
    """Weights that can be told from zero, all features of a row taken together, as ``Explanation.clear``."""
    with np.errstate(invalid="ignore"):
        clear = np.asarray(np.isfinite(low) & np.isfinite(high) & ((low > 0) | (high < 0)))
    doubtful = table.column("doubtful").combine_chunks()
    starts = np.repeat(np.cumsum(counts) - counts, np.diff(doubtful.offsets.to_numpy()))
    clear[starts + doubtful.flatten().to_numpy()] = False
    return clear


def _with_kept(frame: pd.DataFrame, kept: Mapping[Any, Any]) -> pd.DataFrame:
    """A frame with the columns that were kept; one whose name is taken already is told apart by ``keep: ``."""
    for label, values in kept.items():
        frame[f"{KEPT}{label}" if label in frame.columns else label] = values
    return frame


def instances_of(X: Any) -> tuple[Any, tuple[str, ...]]:
    """Instances as they are, or those of a store or of its path, with a note if they are not all."""
    if isinstance(X, (str, Path)) and Path(X).is_dir():
        X = Store(Path(X))
    if not isinstance(X, Store):
        return as_pandas(X), ()
    some = len(X) > MOST
    return X.instances(MOST), (
        (f"The groups are those of about {MOST:,} rows drawn from {len(X):,}.",) if some else ()
    )


# Explanations a few at a time, held in memory or stored in files.
Key: TypeAlias = tuple[str, str, str, str]  # of a part: name, column, relation, and value as JSON
VIEWS = 32  # read at once: a picture may be large


def explanation_source(explanations: Any) -> ExplanationSource:
    """Explanations, any iterable of them, a store, or the path of a store or of a file that ``save`` wrote."""
    if isinstance(explanations, (str, Path)):
        path = Path(explanations)
        return _from_store(Store(path)) if path.is_dir() else _from_file(path)
    if isinstance(explanations, Store):
        return _from_store(explanations)
    if isinstance(explanations, Explanations):
        return ExplanationsInMemory(explanations.items)
    if isinstance(explanations, Explanation) or not hasattr(explanations, "__iter__"):
        what = "one Explanation" if isinstance(explanations, Explanation) else type(explanations).__name__
        raise InputError(
            f"wanted many explanations, as explain_many gives them, or the path of a file, got {what}"
        )
    items = tuple(explanations)
    for i, item in enumerate(items):
        if not isinstance(item, Explanation):
            raise InputError(f"wanted explanations, but number {i} is of type {type(item).__name__}")
    return ExplanationsInMemory(items)


def _from_file(path: Path) -> ExplanationSource:
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}")
    if path.suffix.lower() == ".parquet":
        return ExplanationsInFiles(path.name, partial(columns_of, path))
    found = load_file(path)
    if not isinstance(found, Explanations):
        raise InputError(f"{path.name!r} holds one {type(found).__name__}, and many explanations were wanted")
    return ExplanationsInMemory(found.items)


def _from_store(store: Store) -> ExplanationSource:
    """The rows of a store that have an explanation."""

    def tables(names: Sequence[str], n_rows: int) -> Iterator[Any]:
        for table in store.batches([*names, "row", "error"], n_rows):
            yield table.filter(table.column("error").is_null())

    return ExplanationsInFiles(store.path.name, tables)


@dataclass(frozen=True, eq=False)
class ExplanationsInMemory:
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
        columns = dict[str, Part]()
        named = [
            [columns.setdefault(p.column, column_part(p.column)) for p in e.parts] if e.positions else e.parts
            for e in items
        ]
        codes, parts = distinct([*chain.from_iterable(named)])
        return Batch(
            tuple(e.target for e in items),
            np.fromiter((len(e.parts) for e in items), np.int64, len(items)),
            tuple(parts),
            tuple(_key(p.name, p.column, p.relation, encode(p.value)) for p in parts),
            codes,
            np.concatenate([np.empty(0), *(e.on_outputs[0] for e in items)]),
        )


@dataclass(frozen=True, eq=False)
class ExplanationsInFiles:
    """Explanations in Parquet files, of which only the columns that are needed are read."""

    name: str
    tables: Callable[[Sequence[str], int], Iterator[Any]]  # of some columns, at most so many rows at a time

    def batches(self) -> Iterator[Batch]:
        with reading(self.name):
            for table in self.tables((*TEXTS, "values", "weights", "positions", *TARGET), ROWS):
                yield self._batch(table)

    def views(self) -> Iterator[tuple[int, View | None]]:
        """The number of parts of each explanation, and its view."""
        with reading(self.name):
            for table in self.tables(("weights", "view"), VIEWS):
                counts = np.diff(table.column("weights").offsets.to_numpy()).tolist()
                for count, text in zip(counts, table.column("view").to_pylist(), strict=True):
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
        if "positions" in table.schema.names:  # what is a column is the same whatever its value
            placed = np.repeat(np.diff(table.column("positions").offsets.to_numpy()) > 0, counts[0])
            for at, other, more in ((0, indices[1], words[1]), (2, 0, [COLUMN]), (3, 0, ["null"])):
                indices[at] = np.where(placed, len(words[at]) + other, indices[at])
                words[at] = [*words[at], *more]
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


def load(path: str | Path) -> Loaded | Store:
    """Read back what ``save`` wrote as .json or .parquet; a folder is opened as the store that it is.

    Nothing in a file is run, and only records of veridical's own are made from it.

    Parameters
    ----------
    path : str or Path
        A file that the ``save`` of a record wrote, or the folder of a store.

    Returns
    -------
    Explanation, Explanations, Verdict, Report, Audit, Difference, Pick, Grouping, Membership or Store
        What was saved: numbers to the bit, texts to the last character.

    Raises
    ------
    InputError
        If there is no such file, or it is damaged, is of another schema, or would take too much memory.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> why = vd.explain(lambda X: X[:, 0], vd.Rows(X), X[0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     why.save(f"{folder}/why.json")
    ...     again = vd.load(f"{folder}/why.json")
    >>> again.top(1) == why.top(1)
    True
    """
    source = path_of(path, "load")
    return Store(source) if source.is_dir() else load_file(source)
