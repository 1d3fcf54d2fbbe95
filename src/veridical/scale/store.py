"""A folder of explanations, read a little at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, overload

import numpy as np
import pandas as pd

from veridical.errors import InputError, ModelError, require
from veridical.frames import answers
from veridical.packing.explanations import Pool
from veridical.records import Explanation, Explanations, Seen
from veridical.scale.beside import KEPT
from veridical.scale.digests import digest_of
from veridical.scale.folder import Folder, fingerprint, known_receipts, read_manifest
from veridical.scale.parts import Receipt, found_in
from veridical.serialize import ROWS, reading

TEXTS = {"part": "names", "column": "columns", "relation": "relations"}  # of a frame, and of a part file
NUMBERS = {"weight": "weights", "low": "low", "high": "high"}
REPEATED = ("prediction", "local_prediction", "fidelity", "n_calls")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Store(Seen):
    """Explanations in a folder, as ``explain_many(..., store=folder)`` leaves them: read a little at a time.

    Rows have the numbers that they have in X: ``store[7]`` is the explanation of row 7, and a slice gives
    ``Explanations``. Rows that the model or the representer failed on have none: iteration and slices leave them
    out, and ``failures`` says why. A store that is not complete holds the rows that are done: the same call of
    explain_many goes on with it. What is shown is as the folder was when it was opened.
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

    def __len__(self) -> int:
        """Rows that are done, those that failed among them."""
        return int(self.manifest["n_done"])

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> Explanations: ...
    def __getitem__(self, index: int | slice) -> Explanation | Explanations:
        if isinstance(index, slice):
            return self._some(range(*index.indices(self._end)))
        number = int(index) + (self._end if index < 0 else 0)
        if not 0 <= number < self._end:
            raise IndexError(f"row {index} of {self._end}")
        for found in self._found([number]):
            if isinstance(found, Explanation):
                return found
            raise ModelError(f"row {number} has no explanation: {found}")
        raise InputError(f"row {number} is not done yet: call explain_many again to go on with the store")

    def __iter__(self) -> Iterator[Explanation]:
        pool = Pool()
        for table in self.tables():
            yield from (found for found in found_in(table, pool) if isinstance(found, Explanation))

    @property
    def _end(self) -> int:
        """One more than the largest number of a row, if that is known."""
        known = self.manifest["n_rows"]
        return int(known) if known is not None else max((r.stop for r in self.receipts), default=0)

    @property
    def fingerprint(self) -> str:
        """The content as one number: the same rows, model and seed give the same, whatever engine made it."""
        return fingerprint([r.digest for r in self.receipts])

    @property
    def failures(self) -> pd.DataFrame:
        """The rows that have no explanation: ``row``, ``error``, and the columns that were kept."""
        pa, names = require("pyarrow", extra="parquet"), ["row", "error", *self._kept]
        failing = (table for r in self.receipts if r.n_failed for table in self._groups(r, names))
        found = [table.filter(table.column("error").is_valid()) for table in failing]
        if not found:
            return pd.DataFrame({"row": np.empty(0, np.int64), "error": pd.Series([], dtype=str)})
        return _plain(pa.concat_tables(found, promote_options="permissive").to_pandas())

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Tables of Arrow of some thousand rows each, in order; of some columns, or all."""
        for receipt in self.receipts:
            yield from self._groups(receipt, columns)

    def frames(self) -> Iterator[pd.DataFrame]:
        """``to_frame`` of some thousand rows at a time."""
        kept = self._kept
        names = ["row", "error", "target", "target_is_index", *TEXTS.values(), *NUMBERS.values(), *REPEATED, *kept]
        for table in self.tables(names):
            yield _frame(table.filter(table.column("error").is_null()), kept)

    def to_frame(self) -> pd.DataFrame:
        """One line a part, as that of ``Explanations``, and the columns that were kept."""
        found = list(self.frames())
        if not found:
            raise InputError(f"no row of the store {str(self.path)!r} is done yet")
        return pd.concat(found, ignore_index=True)

    def check(self) -> None:
        """Read everything, and raise if a part is not what was written."""
        pa = require("pyarrow", extra="parquet")
        for receipt in self.receipts:
            content = digest_of(pa.concat_tables(self._groups(receipt, None)))
            if f"{content:064x}" != receipt.digest:
                name = self._folder.part(receipt.number).name
                raise InputError(
                    f"{name!r} is damaged, or was changed after it was written: delete it, and call explain_many "
                    "again to write it anew"
                )

    @property
    def _folder(self) -> Folder:
        return Folder(self.path, str(self.manifest["identity"]), int(self.manifest["chunk_rows"]))

    @property
    def _kept(self) -> list[str]:
        return [f"{KEPT}{name}" for name in self.manifest["keep"]]

    def _groups(self, receipt: Receipt, columns: Sequence[str] | None) -> Iterator[Any]:
        """The row groups of a part."""
        parquet, path = require("pyarrow.parquet", extra="parquet"), self._folder.part(receipt.number)
        with reading(path.name), path.open("rb") as stream:
            file = parquet.ParquetFile(stream, page_checksum_verification=True)
            for group in range(file.num_row_groups):
                yield file.read_row_group(group, columns=columns)

    def _found(self, numbers: Sequence[int]) -> Iterator[Explanation | str]:
        """What is known of those of these rows that are done; each row group is read once if the numbers rise."""
        parquet, pool, last, table = require("pyarrow.parquet", extra="parquet"), Pool(), (-1, -1), None
        size, there = int(self.manifest["chunk_rows"]), {r.number for r in self.receipts}
        for number in numbers:
            part, at = divmod(number, size)
            if part not in there:
                continue
            if (part, at // ROWS) != last:
                last, path = (part, at // ROWS), self._folder.part(part)
                with reading(path.name), path.open("rb") as stream:
                    table = parquet.ParquetFile(stream, page_checksum_verification=True).read_row_group(last[1])
            yield from found_in(table.take([at % ROWS]), pool)  # type: ignore[union-attr]

    def _some(self, numbers: Sequence[int]) -> Explanations:
        return Explanations(tuple(e for e in self._found(numbers) if isinstance(e, Explanation)))


def _plain(made: pd.DataFrame) -> pd.DataFrame:
    return made.rename(columns={name: name.removeprefix(KEPT) for name in made.columns})


def _frame(table: Any, kept: Sequence[str]) -> pd.DataFrame:
    """One line a part."""
    lists = {key: table.column(name).combine_chunks() for key, name in {**TEXTS, **NUMBERS}.items()}
    counts = lists["weight"].value_lengths().to_numpy(zero_copy_only=False)
    line = np.repeat(np.arange(table.num_rows), counts)
    asked = zip(table.column("target").to_pylist(), table.column("target_is_index").to_pylist(), strict=True)
    targets = answers([int(target) if is_index else target for target, is_index in asked])
    numbers = {key: table.column(key).to_numpy() for key in ("row", *REPEATED)}
    return pd.DataFrame(
        {
            "row": numbers.pop("row")[line],
            "target": targets.take(line).array,
            **{key: lists[key].flatten().to_pandas() for key in (*TEXTS, *NUMBERS)},
            **{key: values[line] for key, values in numbers.items()},
            **{name.removeprefix(KEPT): table.column(name).to_pandas().take(line).array for name in kept},
        }
    )
