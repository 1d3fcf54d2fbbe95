"""Tables in files that may be larger than memory: which are meant, and those of Parquet, which workers read."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

import pandas as pd

from veridical.errors import InputError, require
from veridical.records import Representer
from veridical.represent.rows import Rows
from veridical.scale.sources.blocks import Slice, chunks_of
from veridical.scale.sources.lines import LINES, Lines, types_of
from veridical.scale.sources.memory import Source, check_columns, counted
from veridical.scale.work import Chunk

PARQUET = (".parquet", ".pq")
LARGE = 2**17  # rows a row group, above which it is read once, here, and not by everyone who needs some of it


def paths_of(X: Any) -> tuple[Path, ...] | None:
    """The files that X names: a path, a folder, a pattern or a list of paths; None if it names none."""
    if isinstance(X, (list, tuple)) and X and all(_is_name(x) for x in X):
        return tuple(chain.from_iterable(_meant(x) for x in X))
    is_there = isinstance(X, str) and os.path.exists(X)
    return _meant(X) if is_there or _is_name(X) else None


def _is_name(x: Any) -> bool:
    """A path, or a text that can only be meant as one."""
    return isinstance(x, Path) or (isinstance(x, str) and x.lower().endswith((*PARQUET, *LINES)))


def _meant(place: str | Path) -> tuple[Path, ...]:
    path = Path(place).absolute()  # for workers may stand elsewhere
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.suffix.lower() in (*PARQUET, *LINES))
        what = f"the folder {str(place)!r} has no Parquet or CSV files in it"
    elif path.exists():
        found, what = [path], ""
    else:
        found = sorted(map(Path, glob.glob(str(path), recursive=True)))
        what = f"{'no file matches' if glob.has_magic(str(place)) else 'there is no file'} {str(place)!r}"
    if not found:
        raise InputError(what)
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Slices:
    """Rows of Parquet files, read where they are needed."""

    slices: tuple[tuple[Path, int, int], ...]  # file, first row, and the row after the last
    columns: tuple[str, ...]

    def __call__(self) -> pd.DataFrame:
        return frame_of([_read(*each, self.columns) for each in self.slices])


def _read(path: Path, start: int, stop: int, columns: tuple[str, ...]) -> Any:
    """Some rows of a Parquet file, by the row groups that they lie in."""
    parquet = require("pyarrow.parquet", extra="parquet")
    with path.open("rb") as stream:
        file = parquet.ParquetFile(stream)
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        ends = list(accumulate(sizes, initial=0))
        inside = [i for i, (a, b) in enumerate(pairwise(ends)) if a < stop and b > start]
        return file.read_row_groups(inside, list(columns)).slice(start - ends[inside[0]], stop - start)


def _columns(schema: Any) -> list[str]:
    """The columns of a file, without what is an index of pandas."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in schema.names if name not in index]


def frame_of(tables: Sequence[Any]) -> pd.DataFrame:
    """Tables of Arrow as one of pandas; whole numbers stay what they are, though some be missing.

    What was an index of pandas is a column like others, if it has a name.
    """
    pa = require("pyarrow", extra="parquet")
    try:
        whole = pa.concat_tables(tables, promote_options="permissive") if len(tables) > 1 else tables[0]
    except pa.ArrowException as cause:
        raise InputError(
            f"the files of rows have a column of types that do not go together ({cause}): write it in one type"
        ) from cause
    frame: pd.DataFrame = whole.to_pandas(integer_object_nulls=True)
    return frame.reset_index(drop=None in frame.index.names)


@dataclass(frozen=True, eq=False)
class Parquet:
    """Rows of Parquet files, one file after the other."""

    paths: tuple[Path, ...]
    counts: tuple[int, ...]  # rows a file
    largest: int  # rows of a row group, at most
    columns: tuple[str, ...]  # those that are read

    @classmethod
    def of(cls, paths: Sequence[Path]) -> Parquet:
        """Files that have the same columns."""
        parquet = require("pyarrow.parquet", extra="parquet")
        counts, largest, names = list[int](), 0, None
        for path in paths:
            try:
                known = parquet.read_metadata(path)
                columns = _columns(parquet.read_schema(path))
            except Exception as cause:  # a damaged file raises anything
                raise InputError(f"{path} cannot be read as Parquet: {cause}") from cause
            names = names or columns
            check_columns(path, columns, paths[0], names)
            counts.append(known.num_rows)
            largest = max([largest, *(known.row_group(i).num_rows for i in range(known.num_row_groups))])
        return cls(tuple(paths), tuple(counts), largest, tuple(names or ()))

    @property
    def n_rows(self) -> int:
        return sum(self.counts)

    def head(self, n: int) -> pd.DataFrame:
        if not self.n_rows:
            raise InputError(f"{self.paths[0]} has no rows")
        return next(self._read(n))

    def chunks(self, size: int) -> Iterator[Chunk]:
        if self.largest > LARGE:
            yield from counted(self._read(size))
            return
        yield from chunks_of(self.counts, size, self._slices)

    def _slices(self, cuts: Sequence[Slice]) -> Slices:
        return Slices(tuple((self.paths[cut.block], cut.start, cut.stop) for cut in cuts), self.columns)

    def _read(self, size: int) -> Iterator[pd.DataFrame]:
        """All rows, so many at a time."""
        pa, held, n = require("pyarrow", extra="parquet"), list[Any](), 0
        for batch in self._batches(size):
            table = pa.Table.from_batches([batch])
            while n + table.num_rows >= size:
                yield frame_of([*held, table.slice(0, size - n)])
                table, held, n = table.slice(size - n), [], 0
            held.append(table)
            n += table.num_rows
        if n:
            yield frame_of(held)

    def _batches(self, size: int) -> Iterator[Any]:
        parquet = require("pyarrow.parquet", extra="parquet")
        for path in self.paths:
            with path.open("rb") as stream:
                yield from parquet.ParquetFile(stream).iter_batches(size, columns=list(self.columns))


def source_of_files(paths: tuple[Path, ...]) -> Parquet | Lines:
    """The rows of files of one kind."""
    kinds = {path.suffix.lower() for path in paths}
    if kinds <= {*PARQUET}:
        return Parquet.of(paths)
    if len(kinds) > 1 or not kinds <= {*LINES}:
        known = ", ".join((*PARQUET, *LINES))
        raise InputError(f"files of rows are all of one kind, {known}; these end in {', '.join(sorted(kinds))}")
    return Lines(paths)


def fitting(files: Parquet | Lines, represent: Representer, keep: Sequence[str] = ()) -> Source:
    """The columns of files that are the representer's, of the types that it wants, and those to be kept."""
    if not isinstance(represent, Rows) or represent.sparse:
        return files
    columns = (*represent.names, *keep)
    if isinstance(files, Parquet):
        return replace(files, columns=columns)
    return replace(files, columns=columns, types=types_of(represent.background.schema, keep))
