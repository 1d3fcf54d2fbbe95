"""Pages are for everyone: no violation of WCAG 2.2 AA that axe-core can find, light and dark, wide and narrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import veridical as vd
from browser import Chromium, Look
from gallery import everything

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LOOKS = {"light": Look(), "dark": Look(dark=True), "narrow": Look(width=360)}


def complaints(page: Any) -> list[str]:
    """What axe-core says of a page whose details are all open."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = true)")
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": RULES}}).response["violations"]
    return [f"{v['id']}: {node['html'][:300]} {node['failureSummary']}" for v in found for node in v["nodes"]]


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_on_a_page_of_everything(look: str, chromium: Chromium, tmp_path: Path) -> None:
    pytest.importorskip("axe_playwright_python")
    path = tmp_path / "page.html"
    sections = [(name, record) for name, record in everything().items() if name != "page"]
    vd.Page("Everything", sections, lead="All records, once.").save(path)
    found, _ = chromium.visit(path, complaints, LOOKS[look])
    assert not found


@pytest.mark.parametrize("name", ["rows", "words", "superpixels", "many-rows", "report", "audit", "page"])
def test_axe_finds_nothing_on_a_page_of_one_record(name: str, chromium: Chromium, tmp_path: Path) -> None:
    pytest.importorskip("axe_playwright_python")
    path = tmp_path / "page.html"
    everything()[name].save(path)
    found, _ = chromium.visit(path, complaints)
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
    for name, record in everything().items():
        (record if name == "page" else vd.Page(name, [("", record)])).save(path)
        wide, _ = chromium.visit(path, lambda page: page.evaluate("document.body.scrollWidth"), Look(width=360))
        assert wide <= 360, name
