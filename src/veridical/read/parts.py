"""What the parts of data are: a representer by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.read.records import PICTURE, SERIES, SOUND, TABLE, TEXT, Data, near
from veridical.read.tables import text_columns
from veridical.represent.fields import Fields
from veridical.represent.pictures import Grid, Superpixels
from veridical.represent.rows import Rows
from veridical.represent.series import Bands, Windows
from veridical.represent.sounds import Slices, Stems, Tiles
from veridical.represent.words import Sentences, Words

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


def kind_of_parts(parts: str | None) -> str | None:
    """The kind of data that has such parts."""
    if parts is None:
        return None
    name = parts.partition(":")[0]
    kind = next((kind for kind, names in PARTS.items() if name in names), None)
    if kind is None:
        known = [name for names in PARTS.values() for name in names]
        raise InputError(f"there are no parts called {name!r}{near(name, known)}")
    return kind


def representer_of(data: Data, parts: str | None = None, background: Data | None = None) -> Any:
    """Settings that turn each instance into its parts; numbers may follow, as in "superpixels:30", "grid:4x6"."""
    mixed = data.kind == TABLE and data.text is not None
    name, _, numbers = (parts or PARTS[data.kind][mixed]).partition(":")
    if name not in PARTS[data.kind]:
        kind_of_parts(name)
        raise InputError(f"a {data.kind} has no {name}; its parts are {' or '.join(PARTS[data.kind])}")
    if data.kind == TABLE:
        _numbers(name, numbers, ())
        return (_rows if name == "rows" else _fields)(data, background or data)
    usual, settings = SETTINGS[name]
    told: dict[str, dict[str, Any]] = {SOUND: {"rate": data.rate}, SERIES: {"channels": data.columns}}
    return replace(usual, **told.get(data.kind, {}), **_numbers(name, numbers, settings))


def _rows(data: Data, background: Data) -> Rows:
    """Rows of the background, of types that hold both its values and those of the data."""
    if not isinstance(data.instances, pd.DataFrame):
        return Rows(background.instances, names=data.columns)
    return Rows(_like(data.instances, background.instances))


def _like(frame: pd.DataFrame, background: pd.DataFrame) -> pd.DataFrame:
    missing = [c for c in frame.columns if c not in background.columns]
    if missing:
        raise InputError(
            f"the background has no column {missing[0]!r}{near(missing[0], list(background.columns))}: give one "
            "that has; columns that are not the model's are named by --id, --label or, beside --store, --keep"
        )
    kept = background[list(frame.columns)]
    wider = {c: _wider(kept[c].dtype, frame[c].dtype) for c in frame.columns}
    return kept.astype({c: t for c, t in wider.items() if t != kept[c].dtype})


def _wider(own: Any, other: Any) -> Any:
    """A type of numbers that holds those of both; what are no numbers stays as it is."""
    plain = all(isinstance(t, np.dtype) and t.kind in "iuf" for t in (own, other))
    return np.promote_types(own, other) if plain else own


def _fields(data: Data, background: Data) -> Fields:
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
        fields["the other columns"] = Rows(_like(others, background.instances))
    return Fields(fields)


def _numbers(name: str, given: str, settings: Sequence[str]) -> dict[str, int]:
    """The numbers after the name of parts, by the settings that they are; one may stand for two."""
    found = given.split("x") if given else []
    if len(found) > len(settings) or not all(n.isdecimal() and int(n) for n in found):
        how = ("no number", f"one number, as in {name}:12", f"two numbers, as in {name}:4x6")[len(settings)]
        raise InputError(f"{name} takes {how}, not {given!r}")
    return dict(zip(settings, map(int, found * len(settings)), strict=False))
