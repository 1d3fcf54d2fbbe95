"""The gallery holds every record and every kind of view, so that what looks at all of it misses none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from gallery import everything
from veridical.records import Explanation, Explanations, View
from veridical.render import html
from veridical.serialize import KINDS

DOCS = Path(__file__).parents[1] / "docs"
VIEWS = {"text", "picture", "spectrogram", "sound", "series", "fields"}


def inside(view: View | None) -> set[str]:
    """The kinds of a view and of those in it."""
    if view is None:
        return set()
    inner = [one for _, _, one in view.data["fields"].values()] if view.kind == "fields" else []
    return {view.kind}.union(*(inside(one) for one in inner if isinstance(one, View)))


def test_every_record_and_every_view_is_there() -> None:
    found = everything()
    assert {type(record) for record in found.values()} >= set(KINDS)
    assert set().union(*(inside(r.view) for r in found.values() if isinstance(r, Explanation))) >= VIEWS
    assert any(r.map is not None for r in found.values() if isinstance(r, Explanation))
    assert any(r.path for r in found.values() if isinstance(r, Explanation))
    assert any("No evidence" in r.verdict.sentence for r in found.values() if isinstance(r, Explanation))
    assert sum(isinstance(r, Explanations) for r in found.values()) >= 3


def test_names_are_fit_for_files_and_all_is_shown() -> None:
    for name, record in everything().items():
        assert re.fullmatch(r"[a-z][a-z-]+[a-z]", name)
        shown: Any = html.fragment(record)
        assert len(shown) > 500
        assert len(repr(record)) > 100


def test_every_view_was_photographed_in_both_themes() -> None:
    """Run docs/tools/screenshots.py, and look at what it makes."""
    page, folder = DOCS / "screenshots.md", DOCS / "screenshots"
    listed = re.findall(r"\]\(screenshots/([^)]+)\)", page.read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in folder.iterdir())
    assert {f"{name}-{theme}.png" for name in everything() for theme in ("light", "dark")} <= set(listed)
    sizes = [path.stat().st_size for path in folder.iterdir()]
    assert max(sizes) <= 40_000
    assert sum(sizes) <= 3_000_000
