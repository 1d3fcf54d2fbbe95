"""Pages of several records: what they hold, and what a browser gets."""

from __future__ import annotations

import html as markup
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import audit_cases
import explanations as made
import report_cases
import veridical as vd
from pages import Reader
from veridical.errors import InputError
from veridical.render import html


def several() -> vd.Page:
    sections = [
        ("Why <this> one?", made.mushroom(), "A text & more."),
        ("All of them", made.many(3)),
        ["Scores", report_cases.plain()],
        ("", audit_cases.plain()),
    ]
    return vd.Page("What the model goes by", sections, "One line that leads.")


def test_sections_are_pairs_or_triples() -> None:
    page = several()
    assert [len(section) for section in page.sections] == [3, 3, 3, 3]
    assert page.sections[1][2] == ""
    assert isinstance(page.sections, tuple)


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        (made.mushroom(), "pairs"),
        ("text", "pairs"),
        ([made.mushroom()], "for one record"),
        ([("only a heading",)], "for one record"),
        ([("heading", "no record")], "holds str"),
        ([("heading", vd.Page("t", []))], "holds Page"),
    ],
)
def test_what_is_no_section_is_refused(sections: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        vd.Page("t", sections)


def test_the_contents_lead_to_every_heading() -> None:
    page = Reader(html.page(several()))
    links = [known["href"] for known in page.all("a")]
    assert links == ["#s1", "#s2", "#s3"]
    assert {known.get("id") for known in page.all("section")} >= {link[1:] for link in links}
    assert "Why <this> one?" in page.text
    assert "A text & more." in page.text
    assert not Reader(html.page(vd.Page("t", [("One", made.mushroom()), ("Two", made.mushroom())]))).all("nav")


def levels(text: str) -> list[int]:
    found = re.findall(r'<h([1-6])(?: aria-level="(\d)")?', text)
    return [int(said or own) for own, said in found]


@pytest.mark.parametrize("heading", ["", "A heading"])
def test_no_level_of_headings_is_skipped(heading: str) -> None:
    for record in (made.mushroom(), made.many(2), report_cases.plain(), audit_cases.plain()):
        found = levels(html.page(vd.Page("t", [(heading, record)])))
        assert found[0] == 1
        assert all(b - a <= 1 for a, b in pairwise(found)), found


def test_a_page_is_saved_and_shown(tmp_path: Path) -> None:
    page = several()
    page.save(tmp_path / "page.html")
    saved = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert saved == html.page(page)
    assert html.POLICY in markup.unescape(saved)
    with pytest.raises(InputError, match=r"end in \.html"):
        page.save(tmp_path / "page.json")
    shown, told = Reader(page._repr_html_()).text, repr(page)
    for words in ("What the model goes by", "One line that leads.", "All of them", "A text & more.", "Target"):
        assert words in shown
        assert words.lower() in told.lower()
    assert max(map(len, told.splitlines())) <= 80
