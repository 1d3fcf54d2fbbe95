"""Data read from files, and brought to what a model takes, with the representer that fits them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from veridical.cli.files import STDIN, FileFamily, find_files
from veridical.cli.loading import (
    ARRAY,
    PICTURE,
    SERIES,
    SOUND,
    TABLE,
    TABLES,
    TEXT,
    Data,
    LazyFiles,
    LoadedModel,
    ReadOptions,
    stack_equal,
    suggest,
)
from veridical.cli.media import (
    COLORS,
    Shape,
    is_picture,
    read_arrays,
    read_pictures,
    read_sounds,
    read_texts,
    resize_picture,
)
from veridical.cli.tables import note_doubts, read_table, text_columns
from veridical.errors import InputError
from veridical.records import Floats
from veridical.representations.fields import Fields
from veridical.representations.images import Grid, Superpixels
from veridical.representations.regions import Array
from veridical.representations.series import Bands, Windows
from veridical.representations.sounds import Slices, Stems, Tiles
from veridical.representations.tables.rows import Rows
from veridical.representations.tables.schema import list_some
from veridical.representations.words import Sentences, Words

FOLDER = "folder"  # the label of files: the name of the folder that they are in


def read_data(places: Sequence[str], reading: ReadOptions | None = None) -> Data:
    """The instances that files, folders, patterns, a store of explanations or "-" (the standard input) hold."""
    reading = reading or ReadOptions()
    if not places:
        raise InputError("wanted data: a file, a folder, a pattern such as 'photos/*.png', or - to read a pipe")
    if list(places) == [STDIN]:
        lines = FileFamily("texts", (Path(STDIN),), (STDIN,))
        return read_texts(lines, reading) if reading.lines else read_table(STDIN, reading)
    if len(places) == 1 and (stored := _read_store(Path(places[0]))) is not None:
        return stored
    files = find_files(places)
    if files.family == "tables":
        return _read_tables(files, reading)
    if files.family == "arrays":
        if len(files.paths) > 1:
            raise InputError(f"wanted one file of arrays, not {len(files.paths)}: {files.names[0]} and others")
        return read_arrays(files.paths[0], reading)
    labels = _read_labels(files, reading)  # before much is read
    if files.family == "texts":
        data = read_texts(files, reading)
    else:
        data = read_pictures(files) if files.family == "pictures" else read_sounds(files)
    if labels is not None and len(labels) != len(data):
        raise InputError("files whose lines are texts have no folder a text: leave --label out")
    return replace(data, labels=labels)


def _read_store(folder: Path) -> Data | None:
    """The instances that a store of explanations holds beside them; None where the path is no store."""
    if not folder.is_dir():
        return None
    from veridical.scale.stores.store import Store, instances_of
    from veridical.scale.stores.writer import MANIFEST

    if not (folder / MANIFEST).is_file():
        return None
    instances, notes = instances_of(Store(folder))
    is_table = isinstance(instances, pd.DataFrame)
    kind = TABLE if is_table else TEXT if isinstance(instances, list) else ARRAY
    columns = tuple(map(str, instances.columns)) if is_table else None
    return Data(instances, tuple(map(str, range(len(instances)))), kind, columns=columns, notes=notes)


def _read_tables(files: FileFamily, reading: ReadOptions) -> Data:
    """One table, or one per file."""
    tables = [read_table(path, reading) for path in files.paths]
    if len(tables) == 1:
        return tables[0]
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return Data(tables, files.names, TABLES, text=reading.text, notes=notes)


def _read_labels(files: FileFamily, reading: ReadOptions) -> np.ndarray | None:
    if reading.label is None:
        return None
    if reading.label != FOLDER:
        raise InputError(
            f"the label {reading.label!r} would be a column of a table, and these are files of their own: "
            f"--label {FOLDER} takes the folder that each is in"
        )
    folders = [PurePosixPath(path.resolve().as_posix()).parent.name for path in files.paths]
    if len(set(folders)) < 2:
        raise InputError(f"all files are in one folder, {folders[0]!r}, which tells no right answers apart")
    return np.array(folders)


OWN_BACKGROUND = "parts are compared with the other rows of the data; --background train.csv gives better ones"
PARTS = {  # names of parts by the kind of data; the first is what is taken where none is named
    TABLE: ("rows", "fields"),
    TEXT: ("words", "sentences"),
    PICTURE: ("superpixels", "grid"),
    SOUND: ("slices", "tiles", "stems"),
    SERIES: ("windows", "bands"),
}

SETTINGS: dict[str, tuple[Any, tuple[str, ...]]] = {  # and the names of those that numbers are for
    "words": (Words(), ()),
    "sentences": (Sentences(), ()),
    "superpixels": (Superpixels(), ("n",)),
    "grid": (Grid(6, 6), ("rows", "cols")),
    "slices": (Slices(), ("n",)),
    "tiles": (Tiles(), ("times", "bands")),
    "stems": (Stems(), ("times",)),
    "windows": (Windows(), ("n",)),
    "bands": (Windows(cut=Bands()), ("n",)),
}


def find_kind(parts: str | None) -> str | None:
    """The kind of data that has such parts."""
    if parts is None:
        return None
    name = parts.partition(":")[0]
    kind = next((kind for kind, names in PARTS.items() if name in names), None)
    if kind is None:
        known = [name for names in PARTS.values() for name in names]
        raise InputError(f"there are no parts called {name!r}{suggest(name, known)}")
    return kind


def choose_representer(data: Data, parts: str | None = None, background: Data | None = None) -> Any:
    """Settings that turn each instance into its parts; numbers may follow, as in "superpixels:30", "grid:4x6"."""
    mixed = data.kind == TABLE and data.text is not None
    name, _, numbers = (parts or PARTS[data.kind][mixed]).partition(":")
    if name not in PARTS[data.kind]:
        find_kind(name)
        raise InputError(f"a {data.kind} has no {name}; its parts are {' or '.join(PARTS[data.kind])}")
    if data.kind == TABLE:
        _parse_numbers(name, numbers, ())
        known = (background or data).instances
        if name == "fields":
            return _build_fields(data, known)
        if not isinstance(data.instances, pd.DataFrame):
            return Rows(known, names=data.columns)
        return Rows(_match_types(data.instances, known))  # of types that hold the values of both
    usual, settings = SETTINGS[name]
    own: dict[str, dict[str, Any]] = {SOUND: {"rate": data.rate}, SERIES: {"channels": data.columns}}
    return replace(usual, **own.get(data.kind, {}), **_parse_numbers(name, numbers, settings))


def _match_types(frame: pd.DataFrame, background: pd.DataFrame) -> pd.DataFrame:
    missing = [c for c in frame.columns if c not in background.columns]
    if missing:
        raise InputError(
            f"the background has no column {missing[0]!r}{suggest(missing[0], list(background.columns))}: give "
            "one that has; columns that are not the model's are named by --id, --label or, beside --store, --keep"
        )
    kept = background[list(frame.columns)]
    pairs: dict[str, tuple[Any, Any]] = {c: (kept[c].dtype, frame[c].dtype) for c in frame.columns}
    plain = {
        c: pair for c, pair in pairs.items() if all(isinstance(t, np.dtype) and t.kind in "iuf" for t in pair)
    }
    wider = {c: np.promote_types(*pair) for c, pair in plain.items()}
    return kept.astype({c: kind for c, kind in wider.items() if kind != kept[c].dtype})


def _build_fields(data: Data, background: Any) -> Fields:
    """Texts by their words, all other columns by their values."""
    frame = data.instances
    if not isinstance(frame, pd.DataFrame):
        raise InputError("fields are the columns of a table, and this model takes arrays: name parts 'rows'")
    texts = [data.text] if data.text else text_columns(frame)
    if not texts:
        raise InputError("no column holds texts: name parts 'rows', or the column by --text")
    others = frame[[c for c in frame.columns if c not in texts]]
    fields: dict[str, Any] = {text: Words() for text in texts}
    if len(others.columns):
        fields["the other columns"] = Rows(_match_types(others, background))
    return Fields(fields)


def _parse_numbers(name: str, given: str, settings: Sequence[str]) -> dict[str, int]:
    """The numbers after the name of parts, by the settings that they are; one may stand for two."""
    found = given.split("x") if given else []
    if len(found) > len(settings) or not all(n.isdecimal() and int(n) for n in found):
        how = ("no number", f"one number, as in {name}:12", f"two numbers, as in {name}:4x6")[len(settings)]
        raise InputError(f"{name} takes {how}, not {given!r}")
    return dict(zip(settings, map(int, found * len(settings)), strict=False))


MIN_SOUND_LENGTH = 16  # more than a recording or series has channels
CHOOSE = "--label names the right answers, --columns those to keep, in order"


def coerce_data(data: Data, model: LoadedModel, parts: str | None = None) -> Data:
    """Data as the model takes them: its columns in its order, or texts, or pictures of its size.

    ``parts`` says what is asked for, where files do not: the windows of a table's rows, which are series, or the
    words of its column of texts.
    """
    kind = find_kind(parts) or model.kind or _guess_kind(data, model)
    if data.kind == TABLES and kind != SERIES:
        data = _concatenate_tables(data)
    if model.kind not in (None, kind) and not (kind == SERIES and model.arrays):
        raise InputError(f"the model takes a {model.kind}, whose parts are {' or '.join(PARTS[model.kind])}")
    convert = CONVERSIONS.get((data.kind, kind))
    if convert is None:
        raise InputError(
            f"a {kind} was wanted by the {'parts' if parts else 'model'}; these data are {data.kind}s"
        )
    return replace(convert(data, model), kind=kind)


def _guess_kind(data: Data, model: LoadedModel) -> str:
    """What data are for, where neither the model nor the parts say it."""
    stepwise = model.shape is not None and len(model.shape) == 2
    if data.kind in (TABLE, TABLES):
        if data.kind == TABLE and not model.arrays:
            columns = list(data.instances.columns)
            if data.text is not None or (len(columns) == 1 and text_columns(data.instances) == columns):
                return TEXT
        return SERIES if stepwise else TABLE
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


def _to_texts(data: Data, model: LoadedModel) -> Data:
    """A column of texts."""
    frame = data.instances
    found = [data.text] if data.text else text_columns(frame) or list(frame.columns)
    if len(found) != 1:
        raise InputError(f"which column holds the texts? Name one by --text: {', '.join(map(repr, found))}")
    column = frame[found[0]]
    wrong = [i for i, text in enumerate(column) if not isinstance(text, str)]
    if wrong:
        raise InputError(
            f"the column {found[0]!r} holds {list_some(column.iloc[wrong[:1]])} in row {wrong[0]}; wanted texts: "
            "name another column by --text"
        )
    return replace(data, items=column.tolist(), columns=None, text=None)


def _to_table(data: Data, model: LoadedModel) -> Data:
    """The columns that the model takes."""
    frame, notes = data.instances, data.notes
    if model.columns is not None:
        frame, told = _select_columns(frame, model)
        notes += told
    elif model.width not in (None, len(frame.columns)):
        raise InputError(
            f"the model takes {model.width} columns, and these are {len(frame.columns)}: "
            f"{list_some(frame.columns)}; {CHOOSE}"
        )
    columns = tuple(map(str, frame.columns))
    text = data.text if data.text in columns and not model.arrays else None
    instances = _to_numbers(frame) if model.arrays else frame
    notes += note_doubts(frame, text)
    return replace(data, items=instances, columns=columns, text=text, notes=notes)


def _select_columns(frame: pd.DataFrame, model: LoadedModel) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The columns that the model was trained on, in its order."""
    simple = {
        name: re.sub(r"\W", "_", name) for name in (*frame.columns, *(model.columns or ()))
    }  # as files hold it
    plain = {} if model.exact else {simple[c]: c for c in frame.columns}
    found = {name: name if name in frame else plain.get(simple[name]) for name in model.columns or ()}
    missing = [name for name, column in found.items() if column is None]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        encoded = [c for c in frame.columns if missing[0].startswith(f"{c}_") and c not in found]
        do = (
            f": it was trained on columns made of {encoded[0]!r}; store a pipeline that makes them too, or name a "
            "function that does, as in file.py:predict"
            if encoded
            else suggest(missing[0], list(frame.columns))
        )
        raise InputError(f"the model wants a column {missing[0]!r}{more}, which the data do not have{do}")
    extra = [c for c in frame.columns if c not in found.values()]
    notes = (f"left out, for the model does not take them: {', '.join(extra)}",) if extra else ()
    return frame[list(found.values())], notes


def _to_numbers(frame: pd.DataFrame) -> Floats:
    """A table of numbers as an array."""
    words = [c for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c])]
    if words:
        held = list_some(frame[words[0]].dropna().iloc[:1])
        raise InputError(f"wanted numbers in all columns, and {words[0]!r} holds {held or 'nothing'}: {CHOOSE}")
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


def _concatenate_tables(data: Data) -> Data:
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


def _files_to_series(data: Data, model: LoadedModel) -> Data:
    """Each file as a series, its rows as the steps and its columns as the channels."""
    columns = data.instances[0].columns
    odd = [name for name, each in zip(data.names, data.instances, strict=True) if each.columns != columns]
    if odd:
        raise InputError(f"series must have the same channels: {odd[0]} has other columns than {data.names[0]}")
    series = [_to_numbers(each.instances) for each in data.instances]
    single = len(columns) == 1
    arrays = stack_equal([values[:, 0] for values in series] if single else series)
    return replace(data, items=arrays, columns=None if single else columns)


def _array_to_table(data: Data, model: LoadedModel) -> Data:
    array = data.instances
    if array.ndim != 2:
        raise InputError(f"a table has rows and columns; this is an array of shape {array.shape}")
    columns = data.columns or model.columns or tuple(f"x{j}" for j in range(array.shape[1]))
    if len(columns) != array.shape[1]:
        raise InputError(f"the array has {array.shape[1]} columns, and {len(columns)} are named or wanted")
    frame = pd.DataFrame(array, columns=list(columns))
    found = _to_table(replace(data, items=frame), model)
    by_name = model.columns is not None
    return found if by_name else replace(found, items=array if model.arrays or model.kind is None else frame)


def _to_pictures(data: Data, model: LoadedModel) -> Data:
    """Pictures of the size and the colors that the model takes."""
    if model.pixels is not None:
        data = replace(data, notes=(*data.notes, f"pixels are given as {model.pixels} (--pixels says otherwise)"))
    if model.shape is None:
        return data
    height, width, channels = _picture_size(model.shape)
    notes = data.notes
    if height or width:
        notes += (f"pictures are brought to the model's size, {height or 'any'} × {width or 'any'}",)
    if channels == 1:
        notes += ("colors are taken out, for the model takes gray pictures",)

    def change(picture: Array) -> Array:
        sized = resize_picture(picture, height, width)
        return np.rint(sized @ np.array(LUMINANCE)).astype(np.uint8)[..., None] if channels == 1 else sized

    return replace(data, items=_map_items(data.items, change), notes=notes)


def _map_items(items: Any, change: Callable[[Array], Array]) -> Any:
    """Pictures or sounds, each changed: now, or when its file is read."""
    return items.map(change) if isinstance(items, LazyFiles) else stack_equal([change(x) for x in items])


def _picture_size(shape: Shape) -> tuple[int | None, int | None, int | None]:
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


def _to_sounds(data: Data, model: LoadedModel) -> Data:
    """Recordings as long as the model takes them."""
    lengths = [n for n in model.shape or () if n is not None and n > MIN_SOUND_LENGTH]
    if not lengths:
        return data
    n = lengths[0]
    note = f"recordings are cut, or silence is added, to the model's {n} samples"
    sounds = _map_items(data.items, lambda x: np.pad(x[:n], (0, max(n - len(x), 0))))
    return replace(data, items=sounds, notes=(*data.notes, note))


LUMINANCE = (0.299, 0.587, 0.114)
CONVERSIONS: dict[tuple[str, str], Callable[[Data, LoadedModel], Data]] = {
    (TABLE, TABLE): _to_table,
    (TABLE, TEXT): _to_texts,
    (TABLE, SERIES): lambda data, model: replace(data, items=_to_numbers(data.instances), columns=None),
    (TABLES, SERIES): _files_to_series,
    (ARRAY, TABLE): _array_to_table,
    **dict.fromkeys(
        [(ARRAY, PICTURE), (ARRAY, SOUND), (ARRAY, SERIES), (TEXT, TEXT)],
        lambda data, model: replace(data, columns=None),
    ),
    (PICTURE, PICTURE): _to_pictures,
    (SOUND, SOUND): _to_sounds,
    (SOUND, SERIES): _to_sounds,
}
