"""Data out of files: tables, texts, pictures, sounds, series."""

from __future__ import annotations

from collections.abc import Sequence

from veridical.errors import InputError
from veridical.read.files import STDIN, files_of
from veridical.read.records import Data, Reading
from veridical.read.tables import table_of


def data_of(places: Sequence[str], reading: Reading | None = None) -> Data:
    """The instances that files, folders, patterns or "-" (the standard input) hold."""
    reading = Reading() if reading is None else reading
    if not places:
        raise InputError(
            "wanted data: a file, a folder, a pattern such as 'photos/*.png', or - to read from a pipe"
        )
    if list(places) == [STDIN]:
        return table_of(STDIN, reading)
    found = files_of(places)
    if found.family == "tables" and len(found.paths) == 1:
        return table_of(found.paths[0], reading)
    raise InputError("not yet")
