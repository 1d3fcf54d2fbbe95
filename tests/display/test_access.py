"""Pages are for everyone: no violation of WCAG 2.2 AA that axe-core can find, light and dark, wide and narrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import veridical as vd
from tests.builders.browser import Chromium, Look
from tests.builders.gallery import everything, model_page

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LIGHT, DARK = Look(), Look(dark=True)
PAGES = {  # one of every kind; axe is slow, and the others are made of the same
    "rows-unmeasured": (LIGHT,),
    "superpixels": (LIGHT, DARK),
    "slices": (LIGHT,),
    "windows": (LIGHT,),
    "many-words": (LIGHT,),
    "pick-two-models": (LIGHT,),
    "groups": (LIGHT,),
    "membership": (LIGHT,),
    "report": (LIGHT,),
    "verdict": (LIGHT, DARK),
    "difference-models": (LIGHT, DARK),
    "page": (LIGHT, DARK),  # rows, words and a map
    "model-page": (LIGHT, DARK),  # what a report has
}
STICKS_OUT = """() => [document.documentElement.scrollWidth, [...document.querySelectorAll('main *')]
  .filter(e => e.getBoundingClientRect().right > 361).map(e => e.outerHTML.slice(0, 200))]"""


def complaints(page: Any) -> list[str]:
    """What axe-core says of a page whose details are all open."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = true)")
    found = (
        Axe()
        .run(page, options={"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]})
        .response["violations"]
    )
    return [f"{v['id']}: {node['html'][:300]} {node['failureSummary']}" for v in found for node in v["nodes"]]


@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(name: str, chromium: Chromium, tmp_path: Path) -> None:
    pytest.importorskip("axe_playwright_python")
    path = tmp_path / "page.html"
    record = model_page() if name == "model-page" else everything()[name]
    (record if isinstance(record, vd.Page) else vd.Page(name, [("", record)])).save(path)
    for look in PAGES[name]:
        found, _ = chromium.visit(path, complaints, look)
        assert not found


def test_axe_sees_what_is_wrong(chromium: Chromium, tmp_path: Path) -> None:
    pytest.importorskip("axe_playwright_python")
    path = tmp_path / "page.html"
    bad = '<p style="color:#aaa;background:#fff">pale</p><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'
    path.write_text(f"<!DOCTYPE html><html><title>t</title><body><main><h1>t</h1>{bad}</main>", encoding="utf-8")
    found, _ = chromium.visit(path, complaints)
    kinds = {complaint.partition(":")[0] for complaint in found}
    assert {"color-contrast", "image-alt", "html-has-lang"} <= kinds


def test_pages_fit_a_telephone(chromium: Chromium, tmp_path: Path) -> None:
    """Nothing is wider than the screen: what must be wide scrolls in a box of its own."""
    path = tmp_path / "page.html"
    vd.Page("All", [(name, record) for name, record in everything().items() if name != "page"]).save(path)
    (wide, found), _ = chromium.visit(path, lambda page: page.evaluate(STICKS_OUT), Look(width=360))
    assert wide <= 360, found
