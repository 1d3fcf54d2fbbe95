"""Data as a model takes them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.read.parts import kind_of_parts
from veridical.read.records import SERIES, TABLE, TEXT, Data, Loaded, near
from veridical.read.tables import text_columns


def fitted(data: Data, model: Loaded, parts: str | None = None) -> Data:
    """Data as the model takes them: its columns in its order, or texts, or pictures of its size.

    ``parts`` says what is asked for, where files do not: the windows of a table's rows, which are series, or the
    words of its column of texts.
    """
    asked = kind_of_parts(parts)
    if data.kind == TABLE:
        return _from_table(data, model, asked)
    raise InputError(f"the model takes a {model.kind}, and this is a {data.kind}")


def _from_table(data: Data, model: Loaded, asked: str | None) -> Data:
    kind = asked or model.kind or (TEXT if _is_texts(data, model) else TABLE)
    if kind == TABLE:
        return _table(data, model)
    if kind == TEXT:
        return _texts(data)
    if kind == SERIES:
        return _series(data)
    raise InputError(f"a table has no {kind}s in it: give {kind} files")


def _is_texts(data: Data, model: Loaded) -> bool:
    """Whether a table is meant as texts, for a model that does not say what it takes."""
    texts = text_columns(data.instances)
    return data.text is not None or (len(data.instances.columns) == 1 and len(texts) == 1)


def _texts(data: Data) -> Data:
    """A column of texts."""
    frame = data.instances
    found = [data.text] if data.text else text_columns(frame) or list(frame.columns)
    if len(found) != 1:
        raise InputError(f"which column holds the texts? Name one by --text: {', '.join(map(repr, found))}")
    column = frame[found[0]]
    wrong = [i for i, text in enumerate(column) if not isinstance(text, str)]
    if wrong:
        raise InputError(
            f"the column {found[0]!r} holds {column.iloc[wrong[0]]!r} in row {wrong[0]}; wanted texts: name "
            "another column by --text"
        )
    return replace(data, instances=column.tolist(), kind=TEXT, columns=None, text=None)


def _series(data: Data) -> Data:
    """Each row as a series, its columns as the steps."""
    return replace(data, instances=_numbers(data.instances), kind=SERIES, columns=None)


def _table(data: Data, model: Loaded) -> Data:
    frame, notes = data.instances, list(data.notes)
    if model.columns is not None:
        frame, told = _by_name(frame, model.columns)
        notes += told
    elif model.width is not None and len(frame.columns) != model.width:
        raise InputError(
            f"the model takes {model.width} columns, and these are {len(frame.columns)}: "
            f"{', '.join(frame.columns[:20])}; --label names the right answers, --columns those to keep, in order"
        )
    columns = tuple(map(str, frame.columns))
    text = data.text if data.text in columns else None
    return replace(
        data,
        instances=_numbers(frame) if model.arrays else frame,
        columns=columns,
        text=None if model.arrays else text,
        notes=tuple(notes),
    )


def _by_name(frame: pd.DataFrame, wanted: tuple[str, ...]) -> tuple[pd.DataFrame, list[str]]:
    """The columns that the model was trained on, in its order."""
    own = {_plain(c): c for c in frame.columns} | {c: c for c in frame.columns}
    found = {name: own.get(name, own.get(_plain(name))) for name in wanted}
    missing = [name for name, column in found.items() if column is None]
    if missing:
        first = near(missing[0], list(frame.columns))
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(f"the model wants a column {missing[0]!r}{more}, which the data do not have{first}")
    kept = frame[list(found.values())]
    extra = [c for c in frame.columns if c not in found.values()]
    notes = [f"left out, for the model does not take them: {', '.join(extra)}"] if extra else []
    return kept.set_axis(list(wanted), axis=1), notes


def _plain(name: str) -> str:
    """A name without what files of models cannot hold."""
    return re.sub(r"\W", "_", name)


def _numbers(frame: pd.DataFrame) -> np.ndarray:
    """A table of numbers as an array."""
    words = [c for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c])]
    if words:
        value = frame[words[0]].dropna().iloc[:1].tolist()
        raise InputError(
            f"wanted numbers in all columns, and {words[0]!r} holds {'nothing' if not value else repr(value[0])}: "
            "--label names the right answers, --columns those to keep"
        )
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)
