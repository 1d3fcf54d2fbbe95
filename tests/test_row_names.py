"""Rows keep their names and their own values, through every function, medium and file."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import explanations as made
import veridical as vd
from veridical.errors import InputError
from veridical.serialize import save

ROWS: list[tuple[Any, tuple[Any, ...]]] = [
    ("customer 17", (0.1, -0.0, math.inf)),
    (17, (1, True, None)),
    (("north", 3), ("a", "ü\n", "")),
    (pd.Timestamp("2024-02-03", tz="Europe/Berlin"), (date(2024, 2, 3), pd.Timedelta("2h"), 2**70)),
    (None, ()),
]


def rows() -> list[vd.Explanation]:
    first = made.mushroom()
    few = replace(
        first, parts=first.parts[:3], weights=first.weights[:3], intervals=first.intervals[:3], unsettled=()
    )
    return [replace(few, row=row, values=values) for row, values in ROWS]


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_files_keep_names_and_values(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"e.{suffix}"
    save(vd.Explanations(tuple(rows())), path)
    loaded = vd.load(path)
    assert isinstance(loaded, vd.Explanations)
    found = [(e.row, e.values) for e in loaded]
    assert repr(found) == repr(ROWS)


def test_a_value_too_many_is_refused(tmp_path: Path) -> None:
    save(rows()[0], tmp_path / "e.json")
    text = (tmp_path / "e.json").read_text().replace('"own": [0.1, ', '"own": [0.1, 3, ')
    text = text.partition(', "checksum"')[0] + "}"
    (tmp_path / "e.json").write_text(text)
    with pytest.raises(InputError, match="damaged"):
        vd.load(tmp_path / "e.json")
