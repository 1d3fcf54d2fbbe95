"""Files that older versions wrote are read as what they were: ``tests/files`` has some of every schema.

They were written by those versions, with the same makers as below, and are never written again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import audit_cases
import explanations as made
import group_cases
import report_cases
import veracity_cases
import view_cases
from pages import exact
from veridical.differences import compare
from veridical.records import Explanations
from veridical.serialize import SCHEMA, load

pytest.importorskip("pyarrow")

FOLDER = Path(__file__).parent / "files"
FILES = sorted(FOLDER.glob("schema-*"))


def causes() -> Any:
    report, why = veracity_cases.caused(), made.mushroom()
    example = report.examples[0]
    shown = replace(example, sounds=None, original=None, explanations=(why,) * len(example.methods))
    return replace(report, examples=(shown,))


def report() -> Any:
    return report_cases.report([report_cases.metric("insertion")], {"Lime": 0.8, "Other": 0.2}, n=5)


def difference() -> Any:
    """As it was before notes told of different targets."""
    found = compare(made.mushroom(), made.unmeasured())
    return replace(found, notes=tuple(note for note in found.notes if "different targets" not in note))


MAKERS: dict[str, Callable[[], Any]] = {
    "audit": audit_cases.broken,
    "causes": causes,
    "check": audit_cases.extreme_verdict,
    "difference": difference,
    "extreme": made.extreme,
    "groups": group_cases.cars,
    "many": lambda: Explanations((made.mushroom(), made.unmeasured(), made.empty())),
    "map": lambda: audit_cases.mapped((6, 8, 3)),
    "member": group_cases.member,
    "pick": group_cases.pick_of_two,
    "report": report,
    "series": view_cases.series,
    "text": view_cases.text,
    "verdict": lambda: made.mushroom().verdict,
}


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_an_older_file_holds_what_was_saved(path: Path) -> None:
    schema, _, name = path.stem.removeprefix("schema-").partition("-")
    if path.suffix == ".json":
        assert json.loads(path.read_text())["schema"] == int(schema)
    assert exact(load(path)) == exact(MAKERS[name]())


def test_every_older_schema_has_files_of_both_formats() -> None:
    found = {(int(path.name.split("-")[1]), path.suffix) for path in FILES}
    assert found == {(schema, suffix) for schema in range(1, SCHEMA) for suffix in (".json", ".parquet")}


def test_a_store_of_schema_5_is_read() -> None:
    store: Any = load(FOLDER / "store-5")
    store.check()
    assert store.manifest["schema"] == 5
    assert store.fingerprint == "ffeb0461e7288e0f49603ef4af4482dab1bafb67bd3e46035e9959390be2d55f"
    assert [e.parts[0].column for e in store] == ["age"] * 6
    assert store.to_frame()["name"].iloc[-1] == "r5"
    rows = store.instances(10)
    assert rows["city"].tolist() == list("abcabc")
    assert rows["since"].iloc[1] == pd.Timestamp("2020-01-02")
