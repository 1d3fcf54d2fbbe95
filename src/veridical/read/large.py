"""Tables in files that may be larger than memory: what their columns are, told by some of their rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from veridical.errors import InputError
from veridical.read.files import TABLES, files_of
from veridical.read.records import Data, Reading, near
from veridical.read.tables import COMMA, all_match, all_numbers, told_apart
from veridical.scale.sources.files import PARQUET, Parquet, source_of_files
from veridical.scale.sources.lines import LINES, Lines, encoding_of, reading_lines, told_separator

Large: TypeAlias = Parquet | Lines

LOOKED_AT = 2**13  # rows that are read at once
MOST = 2**14  # rows that all others are told by, at most


def large_of(places: Sequence[str], reading: Reading) -> Large | None:
    """Where the rows of tables are that can be read a little at a time; None for others."""
    if not all(Path(place).suffix.lower() in TABLES or Path(place).is_dir() for place in places):
        return None
    paths = files_of(places).paths
    kinds = {path.suffix.lower() for path in paths}
    if kinds <= {*PARQUET}:
        return source_of_files(paths)
    return _lines(paths, reading) if len(kinds) == 1 and kinds <= {*LINES} else None


def _lines(paths: tuple[Path, ...], reading: Reading) -> Lines | None:
    """Files of lines whose columns have names, each another; others are read whole, and told of there."""
    encoding = reading.encoding or encoding_of(paths[0])
    with reading_lines(paths[0], encoding):
        separator = reading.separator or told_separator(paths[0], encoding)
        with paths[0].open(encoding=encoding, newline="") as stream:
            head = next(csv.reader(stream, delimiter=separator), [])
    if not head or all_numbers(head) or len(set(head)) < len(head):
        return None
    found = Lines(paths, separator=separator, encoding=reading.encoding)
    texts = found.first(LOOKED_AT)
    comma = separator == ";" and any(all_match(texts[name], COMMA) for name in texts.columns)
    return replace(found, decimal="," if comma else ".")


def sampled(large: Large, reading: Reading, keep: Sequence[str] = ()) -> Data:
    """Rows from all over the files, in which every column that is ever missing is missing at least once.

    The columns to ``keep`` are not of the data.
    """
    frame = _some(large)
    for name in keep:
        if name not in frame:
            raise InputError(f"{large.paths[0]} has no column {name!r} to keep{near(name, list(frame.columns))}")
    beside = [name for name in keep if name not in (reading.label, reading.index)]
    return told_apart(large.paths[0], frame.drop(columns=beside), [], reading)


def _some(large: Large) -> pd.DataFrame:
    """Every so-manieth row, at most ``MOST``, and the first of each piece in which a column is missing."""
    held: list[pd.DataFrame] = []
    holes: dict[str, pd.DataFrame] = {}
    step = 1
    for piece in _pieces(large):
        at = -piece.index[0] % step
        held.append(piece.iloc[at::step])
        for name in piece.columns[piece.isna().any()].difference(list(holes)):
            holes[name] = piece[piece[name].isna()].iloc[:1]
        while sum(map(len, held)) > MOST:
            step *= 2
            held = [each[each.index % step == 0] for each in held]
    rows = pd.concat([*(each for each in held if len(each)), *holes.values()])
    return rows[~rows.index.duplicated()].sort_index().reset_index(drop=True)


def _pieces(large: Large) -> Iterator[pd.DataFrame]:
    """All rows, numbered, a few thousand at a time."""
    for chunk in large.chunks(LOOKED_AT):
        frame = chunk.load()
        columns = {name: _numbers(frame[name]) for name in frame.columns}
        yield pd.DataFrame(columns).set_axis(pd.RangeIndex(chunk.start, chunk.stop))


def _numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers of which some are missing, or have a point and some not, as pandas reads them from a whole file."""
    known: Any = column.dropna() if column.dtype == object else ()
    mixed = len(known) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in known)
    return pd.to_numeric(column) if mixed else column
