"""Where rows come from: memory, and Parquet and CSV files that may be larger than memory."""

from __future__ import annotations

import csv
import glob
import io
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from veridical.errors import InputError, require
from veridical.models.outputs import n_rows, rows_of
from veridical.models.validation import split_names
from veridical.representations.regions import is_tensor
from veridical.representations.tables.rows import Rows
from veridical.scale.driver import Chunk

if TYPE_CHECKING:
    from veridical.scale.engines.local import Engine


@dataclass(frozen=True)
class Slice:
    """Rows of one block."""

    block: int
    start: int
    stop: int


def some(lengths: Iterable[int]) -> tuple[int, ...]:
    """Lengths of blocks that are not all empty."""
    known = tuple(map(int, lengths))
    if not sum(known):
        raise InputError("there are no rows to explain: the table is empty")
    return known


def slices(lengths: Iterable[int], size: int) -> Iterator[list[Slice]]:
    """Which rows of which blocks make up each chunk of ``size`` rows, in order; the last may be smaller."""
    chunk, room = list[Slice](), size
    for block, length in enumerate(lengths):
        at = 0
        while at < length:
            stop = min(length, at + room)
            chunk.append(Slice(block, at, stop))
            room -= stop - at
            at = stop
            if not room:
                yield chunk
                chunk, room = [], size
    if chunk:
        yield chunk


def chunks_of(
    lengths: Iterable[int], size: int, load: Callable[[Sequence[Slice]], Callable[[], Any]]
) -> Iterator[Chunk]:
    """All rows of blocks of these lengths, ``size`` at a time."""
    for number, cuts in enumerate(slices(lengths, size)):
        start = number * size
        yield Chunk(number, start, start + sum(cut.stop - cut.start for cut in cuts), load(cuts))


OWNERS = {"dask": "Dask(client)", "ray": "Ray()", "pyspark": "Spark(session)"}  # by package of their tables


class InstanceSource(Protocol):
    """Instances with numbers 0…n−1."""

    @property
    def n_rows(self) -> int | None:
        """How many there are, if it is known before all have been seen."""
        ...

    def head(self, n: int) -> Any:
        """The first n of them, or all if there are fewer."""
        ...

    def chunks(self, size: int) -> Iterator[Chunk]:
        """All of them in order, ``size`` at a time; chunks are made when they are asked for."""
        ...


@dataclass(frozen=True, eq=False)
class LoadedRows:
    """Instances that travel with their chunk."""

    X: Any

    def __call__(self) -> Any:
        return self.X


@dataclass(frozen=True, eq=False)
class InMemory:
    """Instances that are all here: a table, an array, a sparse matrix or a list."""

    X: Any
    n_rows: int
    names: Sequence[Any] | None = None  # of the instances, where they have names

    def head(self, n: int) -> Any:
        return rows_of(self.X, slice(0, n))

    def chunks(self, size: int) -> Iterator[Chunk]:
        for number, start in enumerate(range(0, self.n_rows, size)):
            stop = min(start + size, self.n_rows)
            own = rows_of(self.X, slice(start, stop))
            given = LoadedRows(own.clone() if is_tensor(own) else own)  # else all of it travels
            yield Chunk(number, start, stop, given, None if self.names is None else self.names[start:stop])


def refuse_foreign(X: Any) -> None:
    """Refuse a table of an engine that is not the one at work."""
    package = type(X).__module__.partition(".")[0]
    if package in OWNERS:
        raise InputError(f"X is a {type(X).__name__} of {package}: pass engine=vd.engines.{OWNERS[package]}")


def check_columns(path: Path, columns: Sequence[str], first: Path, wanted: Sequence[str]) -> None:
    if list(columns) != list(wanted):
        odd = sorted(set(columns) ^ set(wanted)) or list(columns)
        raise InputError(f"{path} has other columns than {first}, or in another order: {', '.join(odd[:5])}")


def count_chunks(frames: Iterator[pd.DataFrame]) -> Iterator[Chunk]:
    """Chunks of rows that are read here."""
    start = 0
    for number, frame in enumerate(frames):
        yield Chunk(number, start, start + len(frame), LoadedRows(frame))
        start += len(frame)


# Files.
LINES = (".csv", ".tsv")
SEPARATORS = (",", ";", "\t", "|")
LOOKED_AT = 50  # lines by which a separator is told
TOLD_BY = 2**13  # rows by which types are told that nobody knows
TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}

Types: TypeAlias = Mapping[str, Any]  # of columns; None for texts


@dataclass(frozen=True, eq=False)
class CsvRows:
    """Rows of CSV files, one file after the other.

    Types never depend on how rows are cut: they are those of ``types``, or what the first rows show. A text that
    is no value of its column's type stays a text, so that its row is known to be wrong.
    """

    paths: tuple[Path, ...]
    types: Types = field(default_factory=dict)
    separator: str | None = None  # by default, what cuts the first lines into the most columns
    decimal: str = "."
    encoding: str | None = None  # by default UTF-8, or UTF-16 where the file says so
    columns: tuple[str, ...] | None = None  # those that are read; None for all

    @property
    def n_rows(self) -> None:
        """Nobody knows before the end."""
        return

    def head(self, n: int) -> pd.DataFrame:
        """The first rows."""
        return TypedRows(self.first(n), self._all_types(), self.decimal)()

    def chunks(self, size: int) -> Iterator[Chunk]:
        """All rows, as texts that become values where they are loaded."""
        types = self._all_types()
        for chunk in count_chunks(self._read(size)):
            yield replace(chunk, load=TypedRows(chunk.load(), types, self.decimal))

    def first(self, n: int) -> pd.DataFrame:
        """The first rows as texts."""
        first = next(self._read(n), None)
        if first is None:
            raise InputError(f"{self.paths[0]} has no rows")
        return first

    def _all_types(self) -> Types:
        first = self.first(TOLD_BY)
        return {
            name: self.types[name] if name in self.types else type_of(first[name], self.decimal)
            for name in first.columns
        }

    def _read(self, size: int) -> Iterator[pd.DataFrame]:
        """All rows as texts, ``size`` at a time; only the last may be fewer."""
        held = pd.DataFrame()
        for frame in self._frames(size):
            held = pd.concat([held, frame], ignore_index=True) if len(held) else frame
            if len(held) >= size:
                yield held.iloc[:size]
                held = held.iloc[size:].reset_index(drop=True)
        if len(held):
            yield held

    def _frames(self, size: int) -> Iterator[pd.DataFrame]:
        """The rows of one file after the other."""
        names: list[str] | None = None
        for path in self.paths:
            encoding = self.encoding or encoding_of(path)
            with reading_lines(path, encoding):
                separator = self.separator or detect_separator(path, encoding)
                reader = pd.read_csv(
                    path, sep=separator, encoding=encoding, dtype=str, index_col=False, chunksize=size
                )
            with reader:
                while (frame := _next(reader, path, encoding)) is not None:
                    names = names or [*frame.columns]
                    check_columns(path, [*frame.columns], self.paths[0], names)
                    yield frame if self.columns is None else frame.loc[:, frame.columns.isin(self.columns)]


def _next(reader: Any, path: Path, encoding: str) -> pd.DataFrame | None:
    """The next rows, if there are any; without the names of rows that to_csv of pandas writes."""
    with reading_lines(path, encoding):
        frame: pd.DataFrame | None = next(reader, None)
    if frame is None:
        return None
    unnamed = str(frame.columns[0]).startswith("Unnamed: ")
    return frame.iloc[:, int(unnamed) :].reset_index(drop=True)


@contextmanager
def reading_lines(path: Path, encoding: str) -> Iterator[None]:
    """What a reader of lines refuses, in words that say what to do."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except InputError:
        raise
    except OSError as cause:
        raise InputError(f"{path} cannot be read: {cause.strerror or cause}") from cause
    except LookupError as cause:
        raise InputError(
            f"there is no encoding {encoding!r}; utf-8, cp1252 and latin-1 are the usual ones"
        ) from cause
    except UnicodeDecodeError as cause:
        raise InputError(
            f"{path} is not written in {encoding.removesuffix('-sig')} (byte {cause.start}: {cause.reason}): "
            "save it as UTF-8"
        ) from cause
    except (ValueError, pd.errors.ParserWarning, csv.Error) as cause:
        raise InputError(f"{path} is no table of lines: {str(cause).strip()}") from cause


def encoding_of(path: Path) -> str:
    """UTF-16 where the file begins as such, else UTF-8."""
    with reading_lines(path, ""), path.open("rb") as stream:
        return "utf-16" if stream.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def detect_separator(path: Path, encoding: str) -> str:
    """What separates the columns of a file."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    with path.open(encoding=encoding, newline="") as stream:
        return separator_of("".join(islice(stream, LOOKED_AT + 1)))


def separator_of(text: str) -> str:
    """What separates the columns: what cuts the first lines into the most, as many in each."""
    lines = text.split("\n", LOOKED_AT)
    whole = len(lines) <= LOOKED_AT
    first = "\n".join(lines[:LOOKED_AT])
    widths = {separator: _width(first, separator, whole) for separator in SEPARATORS}
    best = max(widths, key=lambda separator: widths[separator])
    return best if widths[best] > 1 else SEPARATORS[0]


def _width(lines: str, separator: str, whole: bool) -> int:
    """Columns that a separator makes; 1 if lines do not agree. The last line may go on where they were cut off."""
    rows = csv.reader(io.StringIO(lines), delimiter=separator)
    widths: list[int] = []
    with suppress(csv.Error):  # a field that is too long for that reader
        widths += (len(row) for row in rows if row)
    told = set(widths if whole or len(widths) < 2 else widths[:-1])
    return told.pop() if len(told) == 1 else 1


@dataclass(frozen=True, eq=False)
class TypedRows:
    """Rows as texts, which become values when they are loaded."""

    texts: pd.DataFrame
    types: Types
    decimal: str

    def __call__(self) -> pd.DataFrame:
        columns = {
            name: values_of(self.texts[name], self.types[name], self.decimal) for name in self.texts.columns
        }
        return pd.DataFrame(columns, columns=self.texts.columns)


def values_of(texts: pd.Series[Any], kind: Any, decimal: str) -> pd.Series[Any]:
    """Texts as numbers or truths of a type, each by itself; what is none stays a text, as dates and words do."""
    if isinstance(kind, pd.CategoricalDtype):
        kind = kind.categories.dtype
    if kind is None or not pd.api.types.is_numeric_dtype(kind):  # truths are numbers here
        return texts
    with suppress(ValueError, OverflowError):
        return _parse_texts(texts, kind, decimal)
    values = texts.astype(object)
    if pd.api.types.is_bool_dtype(kind):
        return values.map(lambda text: TRUTHS.get(text, text))
    numbers = pd.to_numeric(values.map(lambda text: str(text).replace(decimal, ".")), errors="coerce")
    good = numbers.notna() & texts.notna()
    if good.any():
        values[good] = _parse_texts(texts[good], type_of(texts[good], decimal), decimal).astype(object)
    return values


def _parse_texts(texts: pd.Series[Any], kind: Any, decimal: str) -> pd.Series[Any]:
    """Texts without line ends as values of a type, just as pandas reads them from a file."""
    lines = io.StringIO("\n".join(texts.fillna("")) + "\n")
    settings: dict[str, Any] = {"header": None, "names": [texts.name], "skip_blank_lines": False, "sep": "\1"}
    settings |= {"quoting": csv.QUOTE_NONE, "low_memory": False}
    with np.errstate(invalid="ignore"):  # what no whole number can hold is an error
        found: pd.Series[Any] = pd.read_csv(lines, dtype=kind, decimal=decimal, **settings)[texts.name]
    if len(found) != len(texts):
        raise ValueError("line ends in a number")
    return found.set_axis(texts.index)


def type_of(texts: pd.Series[Any], decimal: str) -> Any:
    """What texts can all be read as: numbers or truths; None for texts."""
    with suppress(ValueError, OverflowError):
        kind = _parse_texts(texts, None, decimal).dtype
        return kind if pd.api.types.is_numeric_dtype(kind) else None
    return None


PARQUET = (".parquet", ".pq")
SUFFIXES = (*PARQUET, *LINES)
LARGE = 2**17  # rows of a row group, above which it is read once, here, and not by everyone who needs some of it


def paths_of(X: Any) -> tuple[Path, ...] | None:
    """The files that X names: a path, a folder, a pattern or a list of paths; None if it names none.

    A text is a path if it can only be meant as one, or if it is there.
    """
    places = X if isinstance(X, (list, tuple)) and X else [X]
    named = all(isinstance(x, Path) or (isinstance(x, str) and x.lower().endswith(SUFFIXES)) for x in places)
    if not named and not (isinstance(X, str) and os.path.exists(X)):
        return None
    return tuple(chain.from_iterable(map(_find_files, places)))


def _find_files(place: str | Path) -> tuple[Path, ...]:
    path = Path(place).absolute()  # for workers may stand elsewhere
    if path.is_dir():
        found = sorted(p for p in path.iterdir() if p.suffix.lower() in SUFFIXES)
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
class ParquetRows:
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
    counts: tuple[int, ...]  # rows per file
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
            yield from count_chunks(self._read(size))
            return
        yield from chunks_of(self.counts, size, self._slices)

    def _slices(self, cuts: Sequence[Slice]) -> ParquetRows:
        return ParquetRows(tuple((self.paths[cut.block], cut.start, cut.stop) for cut in cuts), self.columns)

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


def source_of_files(paths: tuple[Path, ...]) -> Parquet | CsvRows:
    """The rows of files of one kind."""
    kinds = {path.suffix.lower() for path in paths}
    if kinds <= {*PARQUET}:
        return Parquet.of(paths)
    if len(kinds) > 1 or not kinds <= {*LINES}:
        known = ", ".join(SUFFIXES)
        raise InputError(f"files of rows are all of one kind, {known}; these end in {', '.join(sorted(kinds))}")
    return CsvRows(paths)


def instance_source(engine: Engine, X: Any, represent: Any = None, keep: Sequence[str] = ()) -> InstanceSource:
    """Where the instances come from: files, a table of the engine's own, or any collection of instances.

    Of files, the columns that are the representer's are read, of the types that it wants, and those to be kept.
    """
    paths = paths_of(X)
    files = source_of_files(paths) if paths is not None else X
    if isinstance(files, (Parquet, CsvRows)):
        if not isinstance(represent, Rows) or represent.sparse:
            return files
        files, schema = replace(files, columns=(*represent.names, *keep)), represent.background.schema
        wanted = {name: kind for name, kind in zip(schema.names, schema.dtypes, strict=True) if name not in keep}
        return files if isinstance(files, Parquet) else replace(files, types=wanted)
    if (own := engine.source(X)) is not None:
        return own
    refuse_foreign(X)
    X, names = split_names(represent, X)
    if issparse(X):
        X = cast(Any, X).tocsr()
    if isinstance(X, (str, bytes)) or not isinstance(X, Iterable):
        what = repr(X) if isinstance(X, str) else type(X).__name__
        raise InputError(f"X must be many instances, or paths of .parquet, .csv or .tsv files, not {what:.60}")
    if not hasattr(X, "shape") and not isinstance(X, (list, tuple)):
        X = list(X)
    if not n_rows(X):
        raise InputError("there are no rows to explain: X is empty")
    return InMemory(X, n_rows(X), names)
