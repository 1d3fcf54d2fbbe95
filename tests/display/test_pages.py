"""Pages of several records: what they hold, and what a browser gets."""

from __future__ import annotations

import html as markup
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders import audit_cases, report_cases
from tests.builders import explanations as made
from tests.builders.pages import Reader
from veridical.display import html
from veridical.errors import InputError


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
        ([("heading", None)], "holds NoneType"),
        ([("heading", None, "")], "holds NoneType"),
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


def test_a_section_may_be_a_text_alone() -> None:
    page = vd.Page("t", [("Why", made.mushroom()), ("Not known", None, "Nobody said why.")])
    assert page.sections[1] == ("Not known", None, "Nobody said why.")
    assert "Nobody said why." in Reader(html.page(page)).text
    assert "Nobody said why." in str(page)
    assert "Nobody said why." in page._repr_html_()


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
    shown, told = Reader(page._repr_html_()).text, str(page)
    for words in (
        "What the model goes by",
        "One line that leads.",
        "All of them",
        "A text & more.",
        "The model says",
    ):
        assert words in shown
        assert words.lower() in told.lower()
    assert max(map(len, told.splitlines())) <= 80


def unstyled(text: str) -> str:
    """What is left where a preview takes away styles, drawings and attributes, as one line."""
    kept = re.sub(r"<(style|svg)\b.*?</\1>", "", text, flags=re.DOTALL)
    lines = re.sub(r"</?(div|p|h\d|tr|td|th|li|dt|dd|table|ul|section)\b[^>]*>", " ", kept)
    return " ".join(markup.unescape(re.sub(r"<[^>]+>", "", lines)).split())


def test_a_preview_without_styles_and_drawings_still_reads() -> None:
    text = unstyled(made.mushroom()._repr_html_())
    assert text.startswith("The model says 0.93 for poisonous ✓ reliable. odor = foul speaks most")
    assert re.search(r"odor = foul █{9,} \+0.261 \+0.240 to \+0.282 gill-size = narrow █{4} \+0.104 ", text)
    assert "Row 0 target" in unstyled(made.many(3)._repr_html_())
    styled = Reader(html.fragment(made.mushroom()))
    assert all(known["aria-hidden"] == "true" for known in styled.all("i", "vd-bare") if "aria-hidden" in known)


def linear(color: str) -> Any:
    value = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    """Of two colors, as WCAG 2.2 has it."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def mixed(color: str, share: float, ground: str) -> str:
    parts = [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in (color, ground)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in zip(*parts, strict=True))


def colors(text: str) -> dict[str, str]:
    """Where a name is said twice, the first: the second is of a theme."""
    found = re.findall(r"--(vd-[\w-]+|paper|ink):(#[0-9a-f]{3,6})\b", text)
    return {name: c if len(c) == 7 else "#" + "".join(2 * x for x in c[1:]) for name, c in reversed(found)}


def themes() -> dict[str, dict[str, str]]:
    """The colors of both themes, as the style sheets have them."""
    base = {k: c for name, sheet in html.sheets().items() if name != "page" for k, c in colors(sheet).items()}
    light, _, dark = html.sheets()["page"].partition("@media print")[0].partition("prefers-color-scheme:dark")
    return {"light": base | colors(light), "dark": base | colors(dark)}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colors_can_be_told_from_the_paper_and_words_be_read(theme: str) -> None:
    found = themes()[theme]
    paper, ink = found["paper"], found["ink"]
    assert contrast(ink, paper) > 12
    assert contrast(mixed(ink, 0.65, paper), paper) >= 4.5  # the faintest words
    for name in ("up", "down", "yes", "no", *"01234567"):
        assert contrast(found[f"vd-{name}"], paper) >= 3, name  # bars, lines and marks
    for name in ("yes", "no", "up-deep", "down-deep", *"01234567"):
        assert contrast("#ffffff", found[f"vd-{name}"]) >= 4.5, name  # letters on them
    for name in ("up", "down"):  # words on the deepest tint
        assert contrast(ink, mixed(found[f"vd-{name}"], 0.52, paper)) >= 4.5, name


# Machado, Oliveira and Fernandes 2009, table 1, severity 1.0
BLIND = {
    "protanopia": "0.152286 1.052583 -0.204868 0.114503 0.786281 0.099216 -0.003882 -0.048116 1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968 0.280085 0.672501 0.047413 -0.011820 0.042940 0.968881",
    "tritanopia": "1.255528 -0.076749 -0.178779 -0.078411 0.930809 0.147602 0.004733 0.691367 0.303900",
}


def lab(light: Any) -> Any:
    """CIE L*a*b* of linear sRGB."""
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.array(to_xyz) @ light / [0.9505, 1, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eye", BLIND)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_two_signs_differ_to_every_eye(theme: str, eye: str) -> None:
    found = themes()[theme]
    matrix = np.array(BLIND[eye].split(), dtype=float).reshape(3, 3)
    seen = [lab(np.clip(matrix @ linear(found[f"vd-{sign}"]), 0, 1)) for sign in ("up", "down")]
    assert np.linalg.norm(seen[0] - seen[1]) > 60  # 2 can just be told apart
