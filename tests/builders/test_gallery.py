"""The gallery holds every record and every kind of view, so that what looks at all of it misses none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import veridical as vd
from tests.builders.gallery import EXPLAINED, NAMES, REPORTED, SEEN, everything
from veridical.display import html
from veridical.records import Explanation, Explanations, View
from veridical.storage.schema import KINDS

DOCS = Path(__file__).parents[2] / "docs"
VIEWS = {"text", "picture", "spectrogram", "sound", "series", "fields"}


def inside(view: View | None) -> set[str]:
    """The kinds of a view and of those in it."""
    if view is None:
        return set()
    inner = [one for _, _, one in view.data["fields"].values()] if view.kind == "fields" else []
    return {view.kind}.union(*(inside(one) for one in inner if isinstance(one, View)))


def test_the_names_are_those_of_the_records() -> None:
    found = everything()
    assert sorted(found) == sorted(NAMES)
    assert {name for name, r in found.items() if type(r) is Explanation} == set(EXPLAINED)
    assert {name for name, r in found.items() if type(r) in (vd.metrics.Report, vd.checks.Audit)} == set(REPORTED)
    assert [name for name, r in found.items() if not hasattr(r, "to_frame")] == ["page"]


def test_every_record_and_every_view_is_there() -> None:
    found = everything()
    assert {type(record) for record in found.values()} >= set(KINDS)
    assert set().union(*(inside(r.view) for r in found.values() if isinstance(r, Explanation))) >= VIEWS
    assert any(r.map is not None for r in found.values() if isinstance(r, Explanation))
    assert any(r.path for r in found.values() if isinstance(r, Explanation))
    assert any(r.verdict.label == "none" for r in found.values() if isinstance(r, Explanation))
    assert sum(isinstance(r, Explanations) for r in found.values()) >= 3


def test_names_are_fit_for_files_and_all_is_shown() -> None:
    for name, record in everything().items():
        assert re.fullmatch(r"[a-z][a-z-]+[a-z]", name)
        shown: Any = html.fragment(record)
        assert len(shown) > 500
        assert 15 < len(repr(record)) < 250
        assert len(str(record)) > 100


def test_the_first_screens_are_kept_as_pictures() -> None:
    """Run docs/tools/screenshots.py, and look at what it makes."""
    folder = DOCS / "screenshots"
    wanted = {
        f"{name}-{device}-{theme}.png"
        for name in SEEN
        for device in ("desktop", "phone")
        for theme in ("light", "dark")
    }
    assert {path.name for path in folder.glob("*.png")} == wanted
    assert max((folder / name).stat().st_size for name in wanted) <= 40_000
