"""Tables of lines (CSV) that may be larger than memory: cut into rows here, made into values by workers."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.represent.schema import Schema
from veridical.scale.sources.memory import check_columns, counted
from veridical.scale.work import Chunk

LINES = (".csv", ".tsv")
SEPARATORS = (",", ";", "\t", "|")
LOOKED_AT = 50  # lines by which a separator is told
TOLD_BY = 2**13  # rows by which types are told that nobody knows
TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}

Types: TypeAlias = Mapping[str, Any]  # of columns; None for texts


def types_of(schema: Schema, keep: Sequence[str]) -> Types:
    """The types that columns of table rows are wanted in."""
    return {name: kind for name, kind in zip(schema.names, schema.dtypes, strict=True) if name not in keep}


@dataclass(frozen=True, eq=False)
class Lines:
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
        return Typed(self.first(n), self._all_types(), self.decimal)()

    def chunks(self, size: int) -> Iterator[Chunk]:
        """All rows, as texts that become values where they are loaded."""
        types = self._all_types()
        for chunk in counted(self._read(size)):
            yield replace(chunk, load=Typed(chunk.load(), types, self.decimal))

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
                separator = self.separator or told_separator(path, encoding)
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


def told_separator(path: Path, encoding: str) -> str:
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
class Typed:
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
        return _parsed(texts, kind, decimal)
    values = texts.astype(object)
    if pd.api.types.is_bool_dtype(kind):
        return values.map(lambda text: TRUTHS.get(text, text))
    numbers = pd.to_numeric(values.map(lambda text: str(text).replace(decimal, ".")), errors="coerce")
    good = numbers.notna() & texts.notna()
    if good.any():
        values[good] = _parsed(texts[good], type_of(texts[good], decimal), decimal).astype(object)
    return values


def _parsed(texts: pd.Series[Any], kind: Any, decimal: str) -> pd.Series[Any]:
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
        kind = _parsed(texts, None, decimal).dtype
        return kind if pd.api.types.is_numeric_dtype(kind) else None
    return None
