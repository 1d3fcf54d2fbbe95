"""The schema that docs/ has is the one that files follow, and nothing in it is left unsaid."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import audit_cases
import explanations as made
import group_cases
import report_cases
import veracity_cases
import veridical as vd
from gallery import everything
from veridical.serialize import PACKERS, SCHEMA, UNPACKERS, save

TOOLS = str(Path(__file__).parents[1] / "docs" / "tools")
sys.path.insert(0, TOOLS)  # for this import alone
try:
    from tables import filled
finally:
    sys.path.remove(TOOLS)

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).parents[1]
DOCUMENT: dict[str, Any] = json.loads((ROOT / "docs" / "schema" / f"veridical-{SCHEMA}.json").read_text("utf-8"))
PAGE = (ROOT / "docs" / "schema.md").read_text("utf-8")
CHECK = jsonschema.Draft202012Validator(DOCUMENT)


def records() -> dict[str, Any]:
    """Every record, and those at the limits of what a number or a text can be."""
    odd = {"extreme": made.extreme, "hostile": made.hostile, "constant": made.constant, "empty": made.empty}
    odd |= {"wide-report": report_cases.extreme, "strange-audit": audit_cases.strangers, "bare": audit_cases.bare}
    odd |= {
        "strange-groups": group_cases.stranger,
        "targets": group_cases.pick_of_targets,
        "caused": veracity_cases.caused,
    }
    found = {name: make() for name, make in odd.items()}
    found["difference"] = vd.compare(made.mushroom(), made.unmeasured())
    return {**everything(), **found}


def document(record: Any, folder: Path) -> Any:
    save(record, folder / "r.json")
    return json.loads((folder / "r.json").read_text("utf-8"))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)
    assert DOCUMENT["properties"]["schema"] == {"const": SCHEMA, "description": "the version of the schema"}
    assert set(DOCUMENT["properties"]["veridical"]["enum"]) == {"explanation", "explanations", *UNPACKERS}


def test_all_files_follow_it(tmp_path: Path) -> None:
    for name, record in records().items():
        if type(record) not in PACKERS and not isinstance(record, vd.Explanations):
            continue  # a page
        error = jsonschema.exceptions.best_match(CHECK.iter_errors(document(record, tmp_path)))
        assert error is None, f"{name}: {error.message[:300]} at {list(error.absolute_path)}"


def broken() -> Iterator[tuple[str, Any]]:
    yield "items", []
    yield "items", [{}]
    yield "items", None
    yield "schema", 1
    yield "veridical", "page"
    yield "checksum", 3
    yield "more", 1


@pytest.mark.parametrize(("key", "value"), list(broken()))
def test_it_refuses_what_no_file_is(key: str, value: Any, tmp_path: Path) -> None:
    good = document(made.mushroom(), tmp_path)
    assert not list(CHECK.iter_errors(good))
    assert list(CHECK.iter_errors({**good, key: value}))


@pytest.mark.parametrize(
    "change", [{"weights": ["x"]}, {"target": None}, {"unknown": 1}, {"recipe": {"float": 1}}]
)
def test_it_refuses_items_that_are_none(change: dict[str, Any], tmp_path: Path) -> None:
    good = document(made.mushroom(), tmp_path)
    assert list(CHECK.iter_errors({**good, "items": [good["items"][0] | change]}))


def pieces(schema: Any) -> Iterator[Any]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from pieces(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from pieces(value)


def test_every_field_is_explained() -> None:
    for piece in pieces(DOCUMENT):
        for name, field in piece.get("properties", {}).items() if piece.get("required") else ():
            tagged = len(piece["properties"]) <= 3 and piece.get("description")
            assert tagged or field.get("description") or "const" in field, name
    assert all(kind.get("description") for kind in DOCUMENT["$defs"].values())


def test_the_page_shows_all_of_it() -> None:
    assert filled(PAGE) == PAGE, "docs/tools/refresh.py docs/schema.md makes the tables anew"
    for name, kind in DOCUMENT["$defs"].items():
        assert f"### {name}" in PAGE
        for field in kind.get("properties", {}):
            assert f"| `{field}` |" in PAGE


TYPES = {
    "int": "i",
    "float": "f",
    "bool": "b",
    "text": "O",
    "class": "iObfM",
    "int or missing": "i",
    "any": "fO",
    "int or text": "iO",
    "1 or 2": "i",
}


@pytest.mark.parametrize(
    "record",
    [
        *(made.mushroom(), made.many(3), audit_cases.verdict(), audit_cases.plain(), report_cases.plain()),
        *(group_cases.pick(), group_cases.pick_of_two(), group_cases.cars(), group_cases.member()),
        vd.compare(made.mushroom(), made.constant()),
    ],
    ids=lambda record: type(record).__name__,
)
def test_the_page_has_the_columns_of_every_frame(record: Any) -> None:
    (line,) = [each for each in PAGE.splitlines() if re.match(rf"\| [\w, ]*\b{type(record).__name__}\b", each)]
    told: dict[str, str] = {}
    for names, kind in re.findall(r"((?:`[^`]+`(?:, )?)+) \(([^):]+)", line):
        told |= dict.fromkeys(re.findall(r"`([^`]+)`", names), kind)
    frame = record.to_frame()
    known = [name for name in frame.columns if not name.startswith("null: ")]
    assert set(known) == set(told) - {"model" if "model" not in known else "", "null: …"}
    for name in known:
        assert frame[name].dtype.kind in TYPES[told[name]], f"{name} is {frame[name].dtype}, not {told[name]}"
