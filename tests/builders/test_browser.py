"""The browser that tests look at pages with sees what a page does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import browser
from tests.builders.browser import Chromium, Look

SABOTEUR = """<!DOCTYPE html><html lang="en"><title>t</title><body><p>text</p>
<script>window.stolen = 1; alert("boo"); console.error("odd"); open("about:blank")</script>
<img src="http://127.0.0.1:9/x.png" alt="">"""


def test_a_page_that_misbehaves_is_seen(chromium: Chromium, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(SABOTEUR, encoding="utf-8")
    stolen, seen = chromium.visit(path, lambda page: page.evaluate("window.stolen"))
    assert stolen == 1
    assert seen.dialogs == ["boo"]
    assert seen.requests == ["http://127.0.0.1:9/x.png"]
    assert "odd" in seen.errors
    assert len(seen.windows) <= 1  # a browser may block it


def test_a_quiet_page_is_quiet(chromium: Chromium, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text('<!DOCTYPE html><html lang="en"><title>t</title><body><p>text</p>', encoding="utf-8")
    dark, seen = chromium.visit(
        path, lambda page: page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches"), Look(dark=True)
    )
    assert dark
    assert seen == browser.Seen()


def test_without_a_browser_tests_are_skipped_unless_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "NAMES", ("no-such-browser",))
    monkeypatch.delenv(browser.REQUIRED, raising=False)
    with pytest.raises(pytest.skip.Exception, match="scripts/chromium"):
        browser.started()
    monkeypatch.setenv(browser.REQUIRED, "required")
    with pytest.raises(pytest.fail.Exception, match="for sure"):
        browser.started()
