"""A folder of explanations, read a little at a time."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

import numpy as np
import pandas as pd

from veridical.errors import InputError, ModelError, require
from veridical.frames import answers, failed_frame, row_column, value_column
from veridical.packing.columns import OWN, TARGET, own_of, unpack_targets
from veridical.packing.explanations import Pool
from veridical.packing.values import unpack
from veridical.records import Explanation, Explanations, Record
from veridical.represent.foreign import as_pandas
from veridical.scale.stores.beside import (
    INSTANCE,
    KEPT,
    column_in,
    columns_beside,
    instances_in,
    joined,
    kept_names,
)
from veridical.scale.stores.digests import digest_of
from veridical.scale.stores.folder import fingerprint, known_receipts, part_path
from veridical.scale.stores.manifests import read_manifest
from veridical.scale.stores.parts import Receipt, damaged, found_in, opened, own_values_in, row_names_in
from veridical.serialize import ROWS, columns_of

TEXTS = {"part": "names", "column": "columns", "relation": "relations"}  # of a frame, and of a part file
NUMBERS = {"weight": "weights", "low": "low", "high": "high"}
MOST = 10_000  # instances that groups are learned from
REPEATED = ("prediction", "local_prediction", "fidelity", "n_calls")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Store(Record):
    """Explanations in a folder, as ``explain_many(..., store=folder)`` leaves them: read a little at a time.

    Rows have the numbers that they have in X: ``store[7]`` is the explanation of row 7, and a slice gives
    ``Explanations``. Rows that the model or the representer failed on have none: iteration and slices leave them
    out, and ``failed`` says why; to try them again, delete the parts they are in. A store that is not complete
    holds the rows that are done: the same call of explain_many goes on with it. What is shown is as the folder was
    when it was opened.

    >>> import tempfile
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = vd.explain_many(lambda X: X[:, 0], vd.Rows(X), X, store=f"{folder}/nightly")
    ...     print(len(store), store[7].top(1)[0][0])
    200 x0 > 0.6626
    """

    path: Path
    manifest: Mapping[str, Any] = field(init=False)  # what it is of, and how far it is
    receipts: tuple[Receipt, ...] = field(init=False)  # of the parts, in order of their rows

    def __post_init__(self) -> None:
        path = Path(self.path)
        if not path.is_dir():
            raise InputError(f"there is no folder {str(path)!r}: a store is one that explain_many was given")
        known = read_manifest(path)
        receipts = known_receipts(path, known)
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
        """Rows that are done, those that failed among them."""
        return int(self.manifest["n_done"])

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> Explanations: ...
    def __getitem__(self, index: int | slice) -> Explanation | Explanations:
        if isinstance(index, slice):
            wanted = range(*index.indices(self.n_rows))
            return self._some(_below(wanted, max((r.stop for r in self.receipts), default=0)))
        number = operator.index(index) + (self.n_rows if index < 0 else 0)
        if not 0 <= number < self.n_rows:
            raise IndexError(f"row {index} of {self.n_rows}")
        for found in self._found([number]):
            if isinstance(found, Explanation):
                return found
            raise ModelError(f"row {number} has no explanation: {found}")
        raise InputError(f"row {number} is not done yet: call explain_many again to go on with the store")

    def __iter__(self) -> Iterator[Explanation]:
        return (found for _, found in self.numbered())

    def numbered(self) -> Iterator[tuple[int, Explanation]]:
        """Every row that has an explanation, by its number, in order."""
        pool = Pool()
        for receipt in self.receipts:
            for group, table in enumerate(self._groups(receipt)):
                for i, found in enumerate(found_in(table, pool, self._named_by), receipt.start + group * ROWS):
                    if isinstance(found, Explanation):
                        yield i, found

    def __repr__(self) -> str:
        from veridical.render.stores import store_picture

        return store_picture(self)

    def _repr_html_(self) -> str:
        from veridical.render.html import fragment

        return fragment(self)

    @property
    def n_rows(self) -> int:
        """Rows that there are in all; those that are done, until it is known."""
        known = self.manifest["n_rows"]
        return int(known) if known is not None else max((r.stop for r in self.receipts), default=0)

    @property
    def fingerprint(self) -> str:
        """The content as one number: the same rows, model and seed give the same, whatever engine made it."""
        return fingerprint([r.digest for r in self.receipts])

    @property
    def failed(self) -> pd.DataFrame:
        """The rows that have no explanation: ``row``, ``number``, ``error``, and the columns that were kept."""
        kept, names = self._kept, ["row", "row_name", "error", *self._kept]
        failing = (b for r in self.receipts if r.n_failed for b in columns_of(self._part(r), names, ROWS))
        found = [_failed(_table(batch.filter(batch.column("error").is_valid())), kept) for batch in failing]
        if not found:
            return failed_frame(())
        return pd.concat(found, ignore_index=True)

    def row_names(self) -> dict[int, Any]:
        """The name of every row that is done, by its number; the number itself where rows have no names."""
        found: dict[int, Any] = {}
        for batch in self.batches(["row", "row_name", *self._kept]):
            table = _table(batch)
            names = row_names_in(table, self._named_by)
            found |= dict(zip(table.column("row").to_pylist(), names, strict=True))
        return found

    def batches(self, columns: Sequence[str], n_rows: int = ROWS) -> Iterator[Any]:
        """Some columns of the part files, in batches of Arrow with at most so many rows, in order."""
        for path in map(self._part, self.receipts):
            if not path.is_file():
                raise damaged(path, "there is no such file")
            try:
                yield from columns_of(path, columns, n_rows)
            except InputError as cause:
                if cause.__cause__ is None:  # it is whole, and this version cannot read it
                    raise
                raise damaged(path, f"{cause.__cause__!r:.300}") from cause

    def frames(self) -> Iterator[pd.DataFrame]:
        """``to_frame`` of some thousand rows at a time."""
        kept = self._kept
        names = ["row", "error", *TARGET, *TEXTS.values(), *NUMBERS.values(), *REPEATED, *kept]
        for batch in self.batches([*names, "row_name", *OWN, f"{INSTANCE}*"]):
            yield _frame(_table(batch.filter(batch.column("error").is_null())), kept)

    def to_frame(self) -> pd.DataFrame:
        """One line per part, as that of ``Explanations``, and the columns that were kept.

        ``row`` is the row's name where it has one; ``store[number]`` is its explanation.
        """
        found = list(self.frames())
        if not found:
            raise self._empty()
        return pd.concat(found, ignore_index=True)

    def instances(self, most: int) -> Any:
        """Instances that have an explanation, as the representer takes them: all, or about ``most`` of them.

        Which they are depends on their numbers alone, as if drawn at random.
        """
        pa, limit = require("pyarrow", extra="parquet"), 2**64 * min(most / max(len(self), 1), 1)
        found = []
        for receipt in self.receipts:
            with opened(self._part(receipt)) as file:
                names = ["row", "error", *columns_beside(file.schema_arrow)]
                for group in range(file.num_row_groups):
                    table = file.read_row_group(group, columns=names)
                    chosen = _mixed(table.column("row").to_numpy()) < limit
                    good = np.asarray(table.column("error").is_null())
                    found.append(instances_in(table.filter(pa.array(chosen & good))))
        if not found:
            raise self._empty()
        return joined(found)

    def check(self) -> None:
        """Read everything, and raise if a part is not what was written."""
        pa = require("pyarrow", extra="parquet")
        for receipt in self.receipts:
            content = digest_of(pa.concat_tables(self._groups(receipt)))
            if f"{content:064x}" != receipt.digest:
                raise damaged(self._part(receipt), "its content is not what was written")

    def _empty(self) -> InputError:
        return InputError(f"no row of the store {str(self.path)!r} is done yet: call explain_many again to go on")

    @property
    def _kept(self) -> dict[str, Any]:
        """The columns that were kept: their names in part files, and their labels."""
        labels = unpack(self.manifest["keep"])
        return dict(zip(kept_names(labels), labels, strict=True))

    @property
    def _named_by(self) -> str | None:
        """The column that names rows which have no names of their own: the first that was kept."""
        return next(iter(self._kept), None)

    def _part(self, receipt: Receipt) -> Path:
        return part_path(self.path, receipt.number)

    def _groups(self, receipt: Receipt) -> Iterator[Any]:
        """The row groups of a part, each a whole table."""
        path = self._part(receipt)
        with opened(path) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)

    def _found(self, numbers: Sequence[int]) -> Iterator[Explanation | str]:
        """What is known of those of these rows that are done; each row group is read once if the numbers rise."""
        pool, size, there = Pool(), int(self.manifest["chunk_rows"]), {r.number: r for r in self.receipts}

        def place(number: int) -> tuple[int, int]:
            return number // size, number % size // ROWS

        for (part, group), some in groupby(numbers, place):
            if part in there:
                with opened(self._part(there[part])) as file:
                    table = file.read_row_group(group)
                some_rows = table.take([number % size % ROWS for number in some])
                yield from found_in(some_rows, pool, self._named_by)

    def _some(self, numbers: Sequence[int]) -> Explanations:
        return Explanations(tuple(e for e in self._found(numbers) if isinstance(e, Explanation)))


def _below(numbers: range, stop: int) -> range:
    """Those of some numbers that are less than another."""
    n = len(range(numbers.start, stop, numbers.step)) if numbers.step > 0 else 0
    skipped = max(-(-(numbers.start - stop + 1) // -numbers.step), 0) if numbers.step < 0 else 0
    return numbers[:n] if numbers.step > 0 else numbers[skipped:]


def _mixed(numbers: Any) -> Any:
    """Whole numbers as if drawn at random from 0 to 2^64 (splitmix64: Steele et al. 2014)."""
    z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    return z ^ (z >> np.uint64(31))


def _table(batch: Any) -> Any:
    return require("pyarrow", extra="parquet").Table.from_batches([batch])


def _failed(table: Any, kept: Mapping[str, Any]) -> pd.DataFrame:
    """The rows of a table that have no explanation."""
    known = {
        "row": row_column(row_names_in(table, next(iter(kept), None))),
        "number": table.column("row").to_pandas(),
        "error": table.column("error").to_pandas(),
    }
    return _with_kept(pd.DataFrame(known), {label: column_in(table, name) for name, label in kept.items()})


def _frame(table: Any, kept: Mapping[str, Any]) -> pd.DataFrame:
    """One line a part."""
    lists = {key: table.column(name).combine_chunks() for key, name in {**TEXTS, **NUMBERS}.items()}
    counts = lists["weight"].value_lengths().to_numpy(zero_copy_only=False)
    line = np.repeat(np.arange(table.num_rows), counts)
    targets = answers(unpack_targets(table))
    numbers = {key: table.column(key).to_numpy() for key in ("row", *REPEATED)}
    own = own_values_in(table)
    if own is None and set(OWN) <= set(table.schema.names):
        own = [tuple(map(unpack, values)) for values in own_of(table)]
    told = [(own and own[i]) or (None,) * n for i, n in enumerate(counts.tolist())]
    made = pd.DataFrame(
        {
            "row": row_column(row_names_in(table, next(iter(kept), None))).take(line).array,
            "number": numbers.pop("row")[line],
            "target": targets.take(line).array,
            **{key: lists[key].flatten().to_pandas() for key in TEXTS},
            "value": value_column(chain.from_iterable(told)),
            **{key: lists[key].flatten().to_pandas() for key in NUMBERS},
            **{key: values[line] for key, values in numbers.items()},
        }
    )
    beside = {label: column_in(table, name).take(line).reset_index(drop=True) for name, label in kept.items()}
    return _with_kept(made, beside)


def _with_kept(frame: pd.DataFrame, kept: Mapping[Any, Any]) -> pd.DataFrame:
    """A frame with the columns that were kept; one whose name is taken already is told apart by ``keep: ``."""
    for label, values in kept.items():
        frame[f"{KEPT}{label}" if label in frame.columns else label] = values
    return frame


def instances_of(X: Any) -> tuple[Any, tuple[str, ...]]:
    """Instances as they are, or those of a store or of its path, with a note if they are not all."""
    if isinstance(X, (str, Path)) and Path(X).is_dir():
        X = Store(X)  # type: ignore[arg-type]
    if not isinstance(X, Store):
        return as_pandas(X), ()
    some = len(X) > MOST
    return X.instances(MOST), (
        (f"The groups are those of about {MOST:,} rows drawn from {len(X):,}.",) if some else ()
    )
