"""Tables out of files (CSV, Parquet, JSON lines), also those that are larger than memory."""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from veridical.cli.files import TABLES, find_files, read_text, reading_as
from veridical.cli.loading import TABLE, Data, ReadOptions, suggest
from veridical.errors import InputError, require
from veridical.scale.sources import (
    LINES,
    PARQUET,
    CsvRows,
    Parquet,
    detect_separator,
    encoding_of,
    reading_lines,
    separator_of,
    source_of_files,
)

MAX_VALUES = 1000  # values by which texts are told from other words
MIN_NAMED_ROWS = 20  # rows, from which on names can be told from values
DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?")
COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


def read_table(path: Path | str, reading: ReadOptions) -> Data:
    """The rows of one file."""
    suffix, notes = Path(path).suffix.lower(), list[str]()
    if suffix == ".parquet":
        require("pyarrow.parquet", extra="parquet")
        with reading_as(path, "Parquet"):
            frame = pd.read_parquet(path, engine="pyarrow")
    else:
        text = read_text(path, reading.encoding)
        if suffix in (".jsonl", ".ndjson", ".json") or (not suffix and text.lstrip()[:1] in ("{", "[")):
            frame = _read_json(path, text)
        else:
            frame, notes = _read_csv(path, text, reading)
    if not len(frame.columns) or not len(frame):
        raise InputError(f"{path} has {'no rows' if len(frame.columns) else 'no columns'}")
    return split_table(path, frame, notes, reading)


def split_table(path: Path | str, frame: pd.DataFrame, notes: list[str], reading: ReadOptions) -> Data:
    """A table with its labels, its names of rows and its dates where they belong."""
    frame.columns = [str(c) for c in frame.columns]
    known = list(frame.columns)
    asked = [reading.label, reading.index, reading.text, *(reading.columns or ()), *reading.dates]
    for name in filter(None, asked):
        if name not in known:
            raise InputError(f"{path} has no column {name!r}{suggest(name, known)}")
    index = frame.index if reading.index is None else frame.pop(reading.index)
    labels = None if reading.label is None else frame.pop(reading.label)
    if labels is not None and labels.isna().any():
        raise InputError(f"{path}: the label {reading.label!r} is missing in {int(labels.isna().sum())} rows")
    if reading.columns is not None:
        frame = frame[[c for c in reading.columns if c in frame.columns]]
    if not len(frame.columns):
        raise InputError(f"{path} has no column left to explain by: all are labels or names of rows")
    _check_flat(path, frame)
    frame = frame.assign(**{c: _parse_dates(path, frame[c]) for c in reading.dates if c in frame.columns})
    return Data(
        frame.reset_index(drop=True),
        tuple(map(str, index)),
        TABLE,
        None if labels is None else labels.to_numpy(),
        tuple(frame.columns),
        reading.text,
        notes=tuple(notes),
    )


def _read_csv(path: Path | str, text: str, reading: ReadOptions) -> tuple[pd.DataFrame, list[str]]:
    if not text.strip():
        raise InputError(f"{path} is empty")
    if "\0" in text:
        raise InputError(f"{path} has zero bytes in it, as no table has: it may be damaged, or of another kind")
    separator = reading.separator or ("\t" if str(path).endswith(".tsv") else separator_of(text))
    head = _read_header(path, text, separator)
    named = not all_numbers(head) or head == [str(j) for j in range(len(head))]
    twice = sorted({name for name in head if head.count(name) > 1})
    if named and twice:
        raise InputError(f"{path} names a column twice: {', '.join(map(repr, twice))}")
    notes = [] if named else [f"{path} has numbers in its first line, so that columns are called 0, 1, 2, …"]
    frame = _parse_csv(path, text, separator, ".", named)
    if separator == ";" and any(all_match(frame[c], COMMA) for c in frame.columns):
        frame = _parse_csv(path, text, separator, ",", named)
        notes.append("numbers with a comma, such as 1,5, were read as 1.5")
    if named and head[0].strip() == "":  # what to_csv of pandas writes for the names of rows
        frame = frame.set_index(frame.columns[0])
    return frame, notes


def _read_header(path: Path | str, text: str, separator: str) -> list[str]:
    """What the first line holds."""
    try:
        return next(csv.reader(io.StringIO(text.lstrip("\n")), delimiter=separator), [])
    except (csv.Error, TypeError) as cause:
        raise InputError(
            f"{path}: the first line does not name columns that {separator!r} separates: {cause}"
        ) from cause


def _parse_csv(path: Path | str, text: str, separator: str, decimal: str, named: bool) -> pd.DataFrame:
    header: Any = 0 if named else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            warnings.simplefilter("ignore", pd.errors.DtypeWarning)
            found = pd.read_csv(
                io.StringIO(text), sep=separator, decimal=decimal, header=header, index_col=False, low_memory=False
            )
        if len(found.columns) > 1 and found.iloc[:, -1].isna().any():  # as it is in a line that is too short
            _check_lengths(path, text, separator)
        return found
    except (ValueError, pd.errors.ParserWarning, csv.Error) as cause:
        if isinstance(cause, InputError):
            raise
        if "EOF inside string" in str(cause):
            raise InputError(
                f'{path}: a quote (") is opened and never closed, so that the table does not end'
            ) from cause
        _check_lengths(path, text, separator)
        raise InputError(
            f"{path} is no table that {separator!r} separates: {str(cause).strip()}; --separator says another"
        ) from cause


def _check_lengths(path: Path | str, text: str, separator: str) -> None:
    """Refuse a table whose lines have not all as many fields as the first."""
    width, lines = 0, csv.reader(io.StringIO(text), delimiter=separator)
    try:
        for fields in lines:
            width = width or len(fields)
            if fields and len(fields) != width:
                many = f"{len(fields)} field{'s' * (len(fields) != 1)}"
                raise InputError(
                    f"{path}: line {lines.line_num} has {many}, the header {width}; --separator says another "
                    f"separator than {separator!r}"
                )
    except csv.Error:  # what pandas reads otherwise
        return


def _read_json(path: Path | str, text: str) -> pd.DataFrame:
    """Records of columns: one a line, or one list of them."""
    if text.lstrip().startswith("["):
        records = _decode_json(path, text, 1)
    else:
        records = [_decode_json(path, line, i) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise InputError(f'{path} must have a record of columns a line, such as {{"age": 31, "city": "Linz"}}')
    return pd.DataFrame.from_records(records)


def _decode_json(path: Path | str, text: str, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise InputError(f"{path}, line {line}: this is no JSON: {cause}") from cause


def _check_flat(path: Path | str, frame: pd.DataFrame) -> None:
    """Refuse values that are made of values."""
    for name in frame.columns:
        if frame[name].dtype == object:
            nested = [v for v in frame[name] if hasattr(v, "__len__") and not isinstance(v, str)]
            if nested:
                raise InputError(
                    f"{path}: the column {name!r} holds {type(nested[0]).__name__} values; wanted one number or "
                    "text a row: take such columns out, or name those to keep by --columns"
                )


def _is_text(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_string_dtype(column) and not isinstance(column.dtype, pd.CategoricalDtype)


def text_columns(frame: pd.DataFrame) -> list[str]:
    """The columns that hold texts of several words."""
    some = {name: frame[name].dropna()[:MAX_VALUES] for name in frame.columns if _is_text(frame[name])}
    return [name for name, texts in some.items() if len(texts) and texts.str.contains(r"\S\s+\S").mean() > 0.5]


def note_doubts(frame: pd.DataFrame, text: str | None) -> tuple[str, ...]:
    """What may have been meant otherwise: columns that look like dates, texts or names of rows."""
    words = [c for c in frame.columns if c != text and _is_text(frame[c])]
    dates = [c for c in words if all_match(frame[c], DATE)]
    texts = [c for c in text_columns(frame[words]) if c not in dates and frame[c].nunique() > len(frame) / 2]
    names = [c for c in words if c not in dates + texts and len(frame) >= MIN_NAMED_ROWS and frame[c].is_unique]
    said = {
        "read as words, though they look like dates: {} (--dates reads them as such)": dates,
        "each text is taken as a whole: {} (--text explains one by its words)": texts,
        "different in every row: {} (--id takes it for the names of rows)": names,
    }
    return tuple(note.format(", ".join(columns)) for note, columns in said.items() if columns)


def _parse_dates(path: Path | str, column: pd.Series[Any]) -> pd.Series[Any]:
    try:
        return pd.to_datetime(column)
    except (ValueError, TypeError) as cause:
        raise InputError(f"{path}: the column {column.name!r} does not hold dates: {cause}") from cause


def all_match(column: pd.Series[Any], pattern: re.Pattern[str]) -> bool:
    """Whether all values that are there look like this."""
    if not _is_text(column):
        return False
    values = column.dropna()
    return bool(len(values)) and all(isinstance(v, str) and pattern.fullmatch(v.strip()) for v in values)


def all_numbers(cells: list[str]) -> bool:
    try:
        return bool([float(cell) for cell in cells])
    except ValueError:
        return False


Large: TypeAlias = Parquet | CsvRows

ROWS_PER_PIECE = 2**13  # rows that are read at once
MAX_SAMPLED_ROWS = 2**14  # rows that all others are told by, at most


def open_large_table(places: Sequence[str], reading: ReadOptions) -> Large | None:
    """Where the rows of tables are that can be read a little at a time; None for others."""
    if not all(Path(place).suffix.lower() in TABLES or Path(place).is_dir() for place in places):
        return None
    paths = find_files(places).paths
    kinds = {path.suffix.lower() for path in paths}
    if kinds <= {*PARQUET}:
        return source_of_files(paths)
    return _lines(paths, reading) if len(kinds) == 1 and kinds <= {*LINES} else None


def _lines(paths: tuple[Path, ...], reading: ReadOptions) -> CsvRows | None:
    """Files of lines whose columns have names, each another; others are read whole, and told of there."""
    encoding = reading.encoding or encoding_of(paths[0])
    with reading_lines(paths[0], encoding):
        separator = reading.separator or detect_separator(paths[0], encoding)
        with paths[0].open(encoding=encoding, newline="") as stream:
            head = next(csv.reader(stream, delimiter=separator), [])
    if not head or all_numbers(head) or len(set(head)) < len(head):
        return None
    found = CsvRows(paths, separator=separator, encoding=reading.encoding)
    texts = found.first(ROWS_PER_PIECE)
    comma = separator == ";" and any(all_match(texts[name], COMMA) for name in texts.columns)
    return replace(found, decimal="," if comma else ".")


def sample_rows(large: Large, reading: ReadOptions, keep: Sequence[str] = ()) -> Data:
    """Rows from all over the files, in which every column that is ever missing is missing at least once.

    The columns to ``keep`` are not of the data.
    """
    frame = _sample(large)
    for name in keep:
        if name not in frame:
            raise InputError(
                f"{large.paths[0]} has no column {name!r} to keep{suggest(name, list(frame.columns))}"
            )
    beside = [name for name in keep if name not in (reading.label, reading.index)]
    return split_table(large.paths[0], frame.drop(columns=beside), [], reading)


def _sample(large: Large) -> pd.DataFrame:
    """Evenly spaced rows, and the first row of each piece in which a column is missing."""
    held: list[pd.DataFrame] = []
    holes: dict[str, pd.DataFrame] = {}
    step = 1
    for piece in _read_pieces(large):
        at = -piece.index[0] % step
        held.append(piece.iloc[at::step])
        for name in piece.columns[piece.isna().any()].difference(list(holes)):
            holes[name] = piece[piece[name].isna()].iloc[:1]
        while sum(map(len, held)) > MAX_SAMPLED_ROWS:
            step *= 2
            held = [each[each.index % step == 0] for each in held]
    rows = pd.concat([*(each for each in held if len(each)), *holes.values()])
    return rows[~rows.index.duplicated()].sort_index().reset_index(drop=True)


def _read_pieces(large: Large) -> Iterator[pd.DataFrame]:
    """All rows, numbered, a few thousand at a time."""
    for chunk in large.chunks(ROWS_PER_PIECE):
        frame = chunk.load()
        columns = {name: _numbers(frame[name]) for name in frame.columns}
        yield pd.DataFrame(columns).set_axis(pd.RangeIndex(chunk.start, chunk.stop))


def _numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers of which some are missing, or have a point and some not, as pandas reads them from a whole file."""
    known: Any = column.dropna() if column.dtype == object else ()
    mixed = len(known) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in known)
    return pd.to_numeric(column) if mixed else column
