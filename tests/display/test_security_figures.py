"""Figures full of attacks: an SVG is a document that could run scripts, a PDF could open links."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.builders.browser import Chromium, Seen
from tests.builders.gallery import NAMES, everything
from tests.builders.hostile import SCRIPTS, Poison, poisoned
from tests.display.test_security import steering

pytest.importorskip("matplotlib")
DRAWN = [name for name in NAMES if name != "page"]
FEW = ["words", "grid", "report"]
ACTIVE = {"script", "foreignObject", "iframe", "a", "animate", "set", "handler", "listener"}
TRACES = ("/JavaScript", "/JS", "/Launch", "/URI", "/OpenAction", "/EmbeddedFile")  # what acts in a PDF


def drawn(name: str, path: Path, poison: Poison) -> Path:
    poisoned(everything()[name], poison).save(path)
    return path


@pytest.mark.parametrize("name", DRAWN)
def test_an_svg_holds_no_element_of_a_stranger(name: str, tmp_path: Path) -> None:
    path = drawn(name, tmp_path / "figure.svg", Poison(DRAWN.index(name)))
    text = path.read_text(encoding="utf-8")
    assert "<!ENTITY" not in text
    for element in ElementTree.fromstring(text).iter():
        assert element.tag.rpartition("}")[2] not in ACTIVE
        for key, value in element.attrib.items():
            assert not key.startswith("on")
            assert not value.lower().lstrip().startswith(("javascript:", "http:", "https:")) or "href" not in key
    assert not steering(text.replace("\t", " "))


@pytest.mark.parametrize("name", FEW)
def test_nothing_runs_in_an_svg(name: str, chromium: Chromium, tmp_path: Path) -> None:
    path = drawn(name, tmp_path / "figure.svg", Poison(0, SCRIPTS))
    canary, seen = chromium.visit(path, lambda page: page.evaluate("window.canary || 0"))
    assert canary == 0
    assert seen == Seen()


def test_what_would_have_run_is_seen(chromium: Chromium, tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg"><text>{SCRIPTS[0][9:]}</text></svg>', encoding="utf-8"
    )
    canary, _ = chromium.visit(path, lambda page: page.evaluate("window.canary || 0"))
    assert canary == 1


@pytest.mark.parametrize("name", FEW)
def test_a_pdf_and_a_png_are_drawn(name: str, tmp_path: Path) -> None:
    pdf = drawn(name, tmp_path / "figure.pdf", Poison(5)).read_bytes()
    assert pdf.startswith(b"%PDF")
    assert not [trace for trace in TRACES if re.search(re.escape(trace).encode() + rb"\b", pdf)]
    assert drawn(name, tmp_path / "figure.png", Poison(12)).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", FEW)
def test_a_megabyte_of_name_is_cut(name: str, tmp_path: Path) -> None:
    large: Any = ("x" * 1_000_000, "<" * 1_000_000)
    clean = tmp_path / "clean.svg"
    everything()[name].save(clean)
    flooded = drawn(name, tmp_path / "figure.svg", Poison(0, large))
    assert flooded.stat().st_size < 3 * clean.stat().st_size + 200_000
