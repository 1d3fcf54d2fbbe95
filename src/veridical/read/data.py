"""Data out of files: tables, texts, pictures, sounds, arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.read.arrays import array_of
from veridical.read.files import STDIN, Found, files_of
from veridical.read.media import lines_of, pictures_of, sounds_of, texts_of
from veridical.read.records import ARRAY, TABLE, TABLES, TEXT, Data, Reading
from veridical.read.tables import table_of
from veridical.scale.stores.manifests import MANIFEST
from veridical.scale.stores.store import Store, instances_of

FOLDER = "folder"  # the label of files: the name of the folder that they are in


def data_of(places: Sequence[str], reading: Reading | None = None) -> Data:
    """The instances that files, folders, patterns, a store of explanations or "-" (the standard input) hold."""
    reading = Reading() if reading is None else reading
    if not places:
        raise InputError("wanted data: a file, a folder, a pattern such as 'photos/*.png', or - to read a pipe")
    if list(places) == [STDIN]:
        return lines_of(reading) if reading.lines else table_of(STDIN, reading)
    if len(places) == 1 and (Path(places[0]) / MANIFEST).is_file():
        return _stored(Store(Path(places[0])))
    found = files_of(places)
    if found.family == "tables":
        return _tables(found, reading)
    if found.family == "arrays":
        if len(found.paths) > 1:
            raise InputError(f"wanted one file of arrays, not {len(found.paths)}: {found.names[0]} and others")
        return array_of(found.paths[0], reading)
    labels = _labels(found, reading)  # before much is read
    data = _media(found, reading)
    if labels is not None and len(labels) != len(data):
        raise InputError("files whose lines are texts have no folder a text: leave --label out")
    return replace(data, labels=labels)


def _stored(store: Store) -> Data:
    """The instances that a store of explanations holds beside them."""
    instances, notes = instances_of(store)
    known = TABLE if isinstance(instances, pd.DataFrame) else TEXT if isinstance(instances, list) else ARRAY
    columns = tuple(map(str, instances.columns)) if isinstance(instances, pd.DataFrame) else None
    return Data(instances, tuple(map(str, range(len(instances)))), known, columns=columns, notes=notes)


def _media(found: Found, reading: Reading) -> Data:
    if found.family == "texts":
        return texts_of(found, reading)
    return pictures_of(found) if found.family == "pictures" else sounds_of(found)


def _tables(found: Found, reading: Reading) -> Data:
    """One table, or one a file."""
    every = [table_of(path, reading) for path in found.paths]
    if len(every) == 1:
        return every[0]
    notes = tuple(dict.fromkeys(note for each in every for note in each.notes))
    return Data(every, found.names, TABLES, text=reading.text, notes=notes)


def _labels(found: Found, reading: Reading) -> np.ndarray | None:
    if reading.label is None:
        return None
    if reading.label != FOLDER:
        raise InputError(
            f"the label {reading.label!r} would be a column of a table, and these are files of their own: "
            f"--label {FOLDER} takes the folder that each is in"
        )
    folders = [PurePosixPath(path.resolve().as_posix()).parent.name for path in found.paths]
    if len(set(folders)) < 2:
        raise InputError(f"all files are in one folder, {folders[0]!r}, which tells no right answers apart")
    return np.array(folders)
