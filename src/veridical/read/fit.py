"""Data as a model takes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.read.layouts import COLORS, Shape, is_picture
from veridical.read.media import resized
from veridical.read.parts import PARTS, kind_of_parts
from veridical.read.records import (
    ARRAY,
    PICTURE,
    SERIES,
    SOUND,
    TABLE,
    TABLES,
    TEXT,
    Data,
    Files,
    Loaded,
    near,
    together,
)
from veridical.read.tables import doubts, text_columns
from veridical.records import Floats
from veridical.represent.regions import Array
from veridical.represent.schema import some

LONG = 16  # more steps than a recording or series has channels
CHOOSE = "--label names the right answers, --columns those to keep, in order"


def fitted(data: Data, model: Loaded, parts: str | None = None) -> Data:
    """Data as the model takes them: its columns in its order, or texts, or pictures of its size.

    ``parts`` says what is asked for, where files do not: the windows of a table's rows, which are series, or the
    words of its column of texts.
    """
    kind = kind_of_parts(parts) or model.kind or _usual(data, model)
    if data.kind == TABLES and kind != SERIES:
        data = _one_below_the_other(data)
    if model.kind not in (None, kind) and not (kind == SERIES and model.arrays):
        raise InputError(f"the model takes a {model.kind}, whose parts are {' or '.join(PARTS[model.kind])}")
    way = WAYS.get((data.kind, kind))
    if way is None:
        raise InputError(
            f"a {kind} was wanted by the {'parts' if parts else 'model'}; these data are {data.kind}s"
        )
    return way(data, model)


def _usual(data: Data, model: Loaded) -> str:
    """What data are for, where neither the model nor the parts say it."""
    stepwise = model.shape is not None and len(model.shape) == 2
    if data.kind in (TABLE, TABLES):
        texts = data.kind == TABLE and not model.arrays and _is_texts(data)
        return TEXT if texts else SERIES if stepwise else TABLE
    if data.kind == ARRAY:
        known = {2: SERIES if stepwise else TABLE, 3: SERIES if stepwise else "", 4: PICTURE}
        found = known.get(data.instances.ndim, "")
        if not found:
            raise InputError(
                f"what are arrays of shape {data.instances.shape[1:]}? Say it by --parts: rows, windows, "
                "superpixels, slices"
            )
        return found
    return data.kind


def _is_texts(data: Data) -> bool:
    """Whether a table is one of texts."""
    frame = data.instances
    return data.text is not None or (len(frame.columns) == 1 and text_columns(frame) == list(frame.columns))


def _texts(data: Data, model: Loaded) -> Data:
    """A column of texts."""
    frame = data.instances
    found = [data.text] if data.text else text_columns(frame) or list(frame.columns)
    if len(found) != 1:
        raise InputError(f"which column holds the texts? Name one by --text: {', '.join(map(repr, found))}")
    column = frame[found[0]]
    wrong = [i for i, text in enumerate(column) if not isinstance(text, str)]
    if wrong:
        raise InputError(
            f"the column {found[0]!r} holds {some(column.iloc[wrong[:1]])} in row {wrong[0]}; wanted texts: name "
            "another column by --text"
        )
    return replace(data, items=column.tolist(), kind=TEXT, columns=None, text=None)


def _table(data: Data, model: Loaded) -> Data:
    """The columns that the model takes."""
    frame, notes = data.instances, data.notes
    if model.columns is not None:
        frame, told = _by_name(frame, model)
        notes += told
    elif model.width not in (None, len(frame.columns)):
        raise InputError(
            f"the model takes {model.width} columns, and these are {len(frame.columns)}: {some(frame.columns)}; "
            f"{CHOOSE}"
        )
    columns = tuple(map(str, frame.columns))
    text = data.text if data.text in columns and not model.arrays else None
    instances = _numbers(frame) if model.arrays else frame
    notes += doubts(frame, text)
    return replace(data, items=instances, kind=TABLE, columns=columns, text=text, notes=notes)


def _by_name(frame: pd.DataFrame, model: Loaded) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The columns that the model was trained on, in its order."""
    plain = {} if model.exact else {_plain(c): c for c in frame.columns}
    found = {name: name if name in frame else plain.get(_plain(name)) for name in model.columns or ()}
    missing = [name for name, column in found.items() if column is None]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        encoded = [c for c in frame.columns if missing[0].startswith(f"{c}_") and c not in found]
        do = (
            f": it was trained on columns made of {encoded[0]!r}; store a pipeline that makes them too, or name a "
            "function that does, as in file.py:predict"
            if encoded
            else near(missing[0], list(frame.columns))
        )
        raise InputError(f"the model wants a column {missing[0]!r}{more}, which the data do not have{do}")
    extra = [c for c in frame.columns if c not in found.values()]
    notes = (f"left out, for the model does not take them: {', '.join(extra)}",) if extra else ()
    return frame[list(found.values())], notes


def _plain(name: str) -> str:
    """A name as files of models may hold it."""
    return re.sub(r"\W", "_", name)


def _numbers(frame: pd.DataFrame) -> Floats:
    """A table of numbers as an array."""
    words = [c for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c])]
    if words:
        held = some(frame[words[0]].dropna().iloc[:1])
        raise InputError(f"wanted numbers in all columns, and {words[0]!r} holds {held or 'nothing'}: {CHOOSE}")
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


def _one_below_the_other(data: Data) -> Data:
    """Several tables of the same columns as one."""
    first: Data = data.instances[0]
    columns = list(first.instances.columns)
    for name, each in zip(data.names, data.instances, strict=True):
        odd = sorted(set(each.instances.columns) ^ set(columns))
        if odd:
            raise InputError(
                f"{data.names[0]} and {name} do not have the same columns: {odd[0]!r} is in one of them"
            )
    frames = [each.instances[columns] for each in data.instances]
    names = [f"{name}:{row}" for name, each in zip(data.names, data.instances, strict=True) for row in each.names]
    labels = None if first.labels is None else np.concatenate([each.labels for each in data.instances])
    return replace(first, items=pd.concat(frames, ignore_index=True), names=tuple(names), labels=labels)


def _rows_as_series(data: Data, model: Loaded) -> Data:
    """Each row as a series, its columns as the steps."""
    return replace(data, items=_numbers(data.instances), kind=SERIES, columns=None)


def _files_as_series(data: Data, model: Loaded) -> Data:
    """Each file as a series, its rows as the steps and its columns as the channels."""
    columns = data.instances[0].columns
    odd = [name for name, each in zip(data.names, data.instances, strict=True) if each.columns != columns]
    if odd:
        raise InputError(f"series must have the same channels: {odd[0]} has other columns than {data.names[0]}")
    series = [_numbers(each.instances) for each in data.instances]
    single = len(columns) == 1
    arrays = together([values[:, 0] for values in series] if single else series)
    return replace(data, items=arrays, kind=SERIES, columns=None if single else columns)


def _array_as_table(data: Data, model: Loaded) -> Data:
    array = data.instances
    if array.ndim != 2:
        raise InputError(f"a table has rows and columns; this is an array of shape {array.shape}")
    columns = data.columns or model.columns or tuple(f"x{j}" for j in range(array.shape[1]))
    if len(columns) != array.shape[1]:
        raise InputError(f"the array has {array.shape[1]} columns, and {len(columns)} are named or wanted")
    frame = pd.DataFrame(array, columns=list(columns))
    found = _table(replace(data, items=frame), model)
    by_name = model.columns is not None
    return found if by_name else replace(found, items=array if model.arrays or model.kind is None else frame)


def _array_as(kind: str) -> Callable[[Data, Loaded], Data]:
    def way(data: Data, model: Loaded) -> Data:
        return replace(data, kind=kind, columns=None)

    return way


def _pictures(data: Data, model: Loaded) -> Data:
    """Pictures of the size and the colors that the model takes."""
    if model.pixels is not None:
        data = replace(data, notes=(*data.notes, f"pixels are given as {model.pixels} (--pixels says otherwise)"))
    if model.shape is None:
        return data
    height, width, channels = _size(model.shape)
    notes = data.notes
    if height or width:
        notes += (f"pictures are brought to the model's size, {height or 'any'} × {width or 'any'}",)
    if channels == 1:
        notes += ("colors are taken out, for the model takes gray pictures",)

    def change(picture: Array) -> Array:
        sized = resized(picture, height, width)
        return np.rint(sized @ np.array(LUMINANCE)).astype(np.uint8)[..., None] if channels == 1 else sized

    return replace(data, items=_changed(data.items, change), notes=notes)


def _changed(items: Any, change: Callable[[Array], Array]) -> Any:
    """Pictures or sounds, each changed: now, or when its file is read."""
    return items.then(change) if isinstance(items, Files) else together([change(x) for x in items])


def _size(shape: Shape) -> tuple[int | None, int | None, int | None]:
    """Height, width and channels of the pictures that a network takes."""
    if len(shape) == 2:
        return (shape[0], shape[1], 1)
    if len(shape) != 3:
        raise InputError(f"the model takes instances of {len(shape)} axes, and pictures have two or three")
    last = is_picture(shape) or (shape[-1] in COLORS and shape[0] is None)
    height, width, channels = shape if last else (shape[1], shape[2], shape[0])
    if channels not in (None, 1, 3):
        raise InputError(f"the model takes pictures of {channels} channels, and files have 1 or 3")
    return height, width, channels


def _sounds(data: Data, model: Loaded) -> Data:
    """Recordings as long as the model takes them."""
    lengths = [n for n in model.shape or () if n is not None and n > LONG]
    if not lengths:
        return data
    n = lengths[0]
    note = f"recordings are cut, or silence is added, to the model's {n} samples"
    sounds = _changed(data.items, lambda x: np.pad(x[:n], (0, max(n - len(x), 0))))
    return replace(data, items=sounds, notes=(*data.notes, note))


def _as_they_are(data: Data, model: Loaded) -> Data:
    return data


def _recordings_as_series(data: Data, model: Loaded) -> Data:
    return replace(_sounds(data, model), kind=SERIES)


LUMINANCE = (0.299, 0.587, 0.114)
WAYS: dict[tuple[str, str], Callable[[Data, Loaded], Data]] = {
    (TABLE, TABLE): _table,
    (TABLE, TEXT): _texts,
    (TABLE, SERIES): _rows_as_series,
    (TABLES, SERIES): _files_as_series,
    (ARRAY, TABLE): _array_as_table,
    (ARRAY, PICTURE): _array_as(PICTURE),
    (ARRAY, SOUND): _array_as(SOUND),
    (ARRAY, SERIES): _array_as(SERIES),
    (TEXT, TEXT): _as_they_are,
    (PICTURE, PICTURE): _pictures,
    (SOUND, SOUND): _sounds,
    (SOUND, SERIES): _recordings_as_series,
}
