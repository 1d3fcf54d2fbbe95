"""Foreign text stays text in every medium: names, tokens, notes, error texts, whatever a stranger chooses."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pytest

import veridical as vd
from tests.builders.gallery import EXPLAINED, NAMES, REPORTED, everything
from tests.builders.hostile import ATTACKS, Poison, poisoned
from tests.builders.pages import Reader, exact
from veridical.display import html
from veridical.storage.schema import FORMULAS

STEERING = {"Cc", "Cf", "Cs"}
STARTS = range(0, len(ATTACKS), 5)


def steering(text: str) -> list[str]:
    """Characters that steer a terminal or hide what is there; joiners of letters aside."""
    return [hex(ord(c)) for c in set(text) - set("\n\u200c\u200d") if unicodedata.category(c) in STEERING]


def record_of(name: str, start: int = 0, attacks: tuple[str, ...] = ATTACKS) -> Any:
    return poisoned(everything()[name], Poison(start, attacks))


def test_poison_reaches_every_text() -> None:
    """The test of the test: no foreign text of a record is left as it was, and names still agree."""
    clean, bad = everything()["report"], record_of("report")
    assert bad.title.startswith(tuple(ATTACKS))
    assert {s.method for s in bad.scores} == {*bad.methods, *bad.nulls}
    assert not {s.method for s in clean.scores} & {s.method for s in bad.scores}
    text = record_of("words").view.data["text"]
    assert len(text) == len(everything()["words"].view.data["text"])
    assert text[:20] in "".join(ATTACKS) * 2


@pytest.mark.parametrize("name", NAMES)
def test_markup_holds_no_element_of_a_stranger(name: str) -> None:
    own = set(Reader(html.fragment(everything()[name])).tags)
    for start in STARTS:
        markup = html.fragment(record_of(name, start))
        page = Reader(markup)
        assert set(page.tags) <= own | {"bdi", "ul", "li"}  # notes that names differ
        assert not [key for _, known in page.found for key in known if key.startswith("on")]
        assert not [known for tag, known in page.found if known.get("href", "#")[0] != "#" and tag == "a"]
        assert not steering(markup.translate(dict.fromkeys(map(ord, "\t\u00ad\u200b\u2060\ufeff"))))
        markup.encode()


@pytest.mark.parametrize("name", NAMES)
def test_no_text_steers_a_terminal(name: str) -> None:
    for start in STARTS:
        record = record_of(name, start)
        for text in (str(record), str(record), f"{record}"):
            assert not steering(text)


@pytest.mark.parametrize("name", NAMES)
def test_a_megabyte_of_name_does_not_flood_anyone(name: str) -> None:
    clean, large = everything()[name], record_of(name, 0, ("<" * 1_000_000, "名" * 1_000_000, "&" * 1_000_000))
    assert len(html.fragment(large)) < len(html.fragment(clean)) + 250_000
    assert len(str(large)) < 3 * len(str(clean)) + 10_000


@pytest.mark.parametrize("name", [name for name in NAMES if name != "page"])
def test_frames_hold_every_text_exactly(name: str) -> None:
    for start in (0, 20):
        clean, bad = everything()[name].to_frame(), record_of(name, start).to_frame()
        assert len(clean) == len(bad)
        texts = [column for column in clean.columns if clean[column].map(type).eq(str).all() and column in bad]
        assert any(str(cell).startswith(ATTACKS) for column in texts for cell in bad[column])


def test_a_null_row_of_any_name_is_a_column(tmp_path: Path) -> None:
    verdict = vd.Verdict(True, 1.0, 2.0, "So it is.", nulls=dict.fromkeys(ATTACKS, 0.5))
    verdict.save(tmp_path / "verdict.csv")
    verdict.save(tmp_path / "verdict.parquet")
    assert not steering("".join(verdict.to_frame().columns))
    assert len(pd.read_csv(tmp_path / "verdict.csv").columns) == len(verdict.to_frame().columns)


def test_errors_cannot_steer_or_flood_a_terminal() -> None:
    for attack in ATTACKS:
        assert not steering(str(vd.errors.InputError(f"no column {attack}")))
    assert str(vd.errors.InputError("two\nlines of 5 %")) == "two\nlines of 5 %"
    assert len(str(vd.errors.ModelError("x" * 1_000_000))) < 5000
    assert str(vd.errors.MissingPackage("this needs \x1b[31mred")) == "this needs \ufffd[31mred"
    with pytest.raises(vd.VeridicalError) as caught:
        vd.explain(lambda rows: [1 / 0], vd.Words(), "a \x1b[31m b")
    assert not steering(str(caught.value))


def test_spreadsheets_find_no_formula(tmp_path: Path) -> None:
    path = tmp_path / "report.csv"
    names = ("=cmd()|' /C calc'!A0", "+1+cmd()", "-1+cmd()", "@SUM(A1)", "\t=1", "\r=1", "plain")
    poisoned(everything()["report"], Poison(0, names)).save(path)
    cells = pd.read_csv(path, dtype=str, keep_default_na=False)
    texts = {cell for column in ("family", "metric", "method", "reason") for cell in cells[column]}
    assert not {cell for cell in texts if cell.startswith(FORMULAS)}
    assert any(cell.startswith("'=cmd()|' /C calc'!A0") for cell in texts)
    assert any(cell.startswith("plain") for cell in texts)


# Files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", STARTS)
def test_junit_parses(start: int, tmp_path: Path) -> None:
    path = tmp_path / "audit.xml"
    record_of("audit", start).save(path)
    root = ElementTree.parse(path).getroot()
    assert len(root.findall(".//testcase")) == len(everything()["audit"].results)
    assert {e.tag for e in root.iter()} <= {
        "testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out",
    }  # fmt: skip
    assert not steering("".join(root.itertext()))


@pytest.mark.parametrize("name", [*EXPLAINED, *REPORTED])
def test_json_keeps_every_text_exactly(name: str, tmp_path: Path) -> None:
    for start in (0, 13):
        record = record_of(name, start)
        path = tmp_path / "record.json"
        record.save(path)
        json.loads(path.read_text(encoding="utf-8"))
        assert not steering(path.read_text(encoding="utf-8"))  # written as escapes
        assert exact(vd.load(path)) == exact(record)


@pytest.mark.parametrize(
    "name", ["rows-path", "words", "many-words", "fields", "veracity", "audit", "difference-models"]
)
def test_parquet_keeps_every_text_exactly_or_says_why_not(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "record.parquet"
    valid = tuple(attack for attack in ATTACKS if "\ud800" not in attack)
    record = record_of(name, 3, valid)
    record.save(path)
    assert exact(vd.load(path)) == exact(record)
    before = path.read_bytes()
    with pytest.raises(vd.errors.InputError, match=r"not valid Unicode: save as \.json"):
        record_of(name, 0, ("lone \ud800",)).save(path)
    assert path.read_bytes() == before  # what was there stays


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_get_the_same_harmless_texts(name: str) -> None:
    record = record_of(name, 7)
    shown = record._repr_mimebundle_()
    assert shown["text/html"] == record._repr_html_() == html.fragment(record)
    assert not steering(shown["text/plain"])
    assert set(shown) == {"text/html", "text/plain"}  # nothing that a notebook would run
