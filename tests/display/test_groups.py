"""Groups, memberships and picks: their pictures say what the records say, and what is saved is what is loaded."""

from __future__ import annotations

import base64
import json
import pickle
import re
import unicodedata
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veridical as vd
from tests.builders import explanations as made
from tests.builders import group_cases as cases
from tests.builders.pages import Reader as Tables
from tests.builders.pages import assert_ours, exact, flat
from veridical.display import html, terminal
from veridical.display.contents import first_shown, held, line_of, pick_words, value_words
from veridical.display.html import PAGE
from veridical.display.saving import save
from veridical.errors import InputError
from veridical.records import Part, View
from veridical.scale.stores.store import load
from veridical.summaries.concepts import PartCluster
from veridical.summaries.groupings.groups import Grouping
from veridical.summaries.picks import Pick

TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "h3",
    "details", "summary", "figure", "figcaption", "h4", "div", "p", "span", "b", "bdi", "i", "strong", "small", "code",
    "table", "colgroup", "col", "thead", "tbody",
    "article", "tr", "th", "td", "svg", "rect", "path", "dl", "dt", "dd", "ul", "li",
}  # fmt: skip
GROUPINGS = (cases.cars, cases.emptied, cases.lone, cases.wide, cases.stranger)
PICKS = (cases.pick, cases.pick_of_two, cases.pick_of_targets, cases.pick_of_none, cases.pick_of_nothing,
         cases.pick_of_many, cases.pick_of_strangers)  # fmt: skip
SHOWN = (*GROUPINGS, *PICKS, *(lambda case=case: cases.member(case()) for case in GROUPINGS))


class Reader(HTMLParser):
    """What a browser would see; unbalanced markup is an error."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.feed(markup)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in {"meta", "col"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        data = data.replace("\u00a0", " ").strip()
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)

    def all(self, tag: str, kind: str = "") -> list[dict[str, str]]:
        return [known for name, known in self.found if name == tag and kind in known.get("class", "")]


# ---- what holds for every picture


@pytest.mark.parametrize("case", SHOWN)
def test_markup_is_ours_alone(case: Any) -> None:
    shown = case()
    for markup in (html.fragment(shown), html.page(vd.Page(made.HOSTILE[0], [(made.HOSTILE[1], shown)]))):
        assert_ours(markup, Reader(markup), TAGS)
    assert shown._repr_html_() == html.fragment(shown)


def test_the_reader_sees_an_attack() -> None:
    assert not set(Reader("<div><script>alert(1)</script></div>").tags) <= TAGS
    with pytest.raises(AssertionError):
        Reader("<div></p></div>")


def test_hostile_names_are_shown_as_text() -> None:
    for shown in (cases.stranger(), cases.pick_of_strangers(), cases.member(cases.stranger())):
        page = Reader(html.fragment(shown))
        for name in made.HOSTILE[:4]:
            assert name in page.text
        assert page.tags["script"] == 0


@settings(max_examples=30, deadline=None)
@given(names=st.lists(st.text(max_size=30), min_size=2, max_size=5))
def test_any_text_is_harmless(names: list[str]) -> None:
    for shown in (cases.stranger(names), cases.pick_of_strangers(names), cases.member(cases.stranger(names))):
        assert set(Reader(html.fragment(shown)).tags) <= TAGS
        odd = [
            c for c in str(shown) if c not in "\n\u200c\u200d" and unicodedata.category(c) in {"Cc", "Cf", "Cs"}
        ]
        assert not odd


@pytest.mark.parametrize("case", SHOWN)
def test_the_terminal_is_80_columns_wide(case: Any) -> None:
    text = str(case())
    assert max(map(terminal.cells, text.splitlines())) <= 80
    assert not [c for c in set(text) if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs"}]
    assert not re.search(r"\b(None|nan|inf)\b", text)
    assert len(text) < 25_000
    bars = [line for line in text.splitlines() if "│" in line]
    sections = Counter(terminal.cells(line[: line.index("│")]) for line in bars)
    assert len(sections) <= 2  # all groups to one scale; a membership has two charts


@pytest.mark.parametrize(
    "text", ["名前 " * 16, "名" * 200, "a" * 200, "word " * 60, "note: " + "名" * 37, "a " + "b" * 50]
)
def test_lines_are_wrapped_by_columns(text: str) -> None:
    lines = terminal.wrap(text.strip(), 50)
    assert max(map(terminal.cells, lines)) <= 50
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(line.startswith("    ") for line in lines[1:])
    assert len(lines) > 1
    assert terminal.wrap("  " + "a" * 99, 50) == ["  " + "a" * 99]  # set already
    assert terminal.wrap("the local fit explains 56 % of it", 26) == ["the local fit explains", "    56 % of it"]


def test_pages_are_light_and_dark_and_stand_alone() -> None:
    for case in (cases.cars, cases.pick):
        markup = html.page(vd.Page("t", [("", case())]))
        assert "prefers-color-scheme:dark" in markup
        assert "vd-cards{" in markup
        style = re.search(r"<style>(.*?)</style>", html.fragment(case()), re.S)[1]
        cards, matrix = (html.sheets()[name] for name in ("vd-card", "vd-matrix"))
        assert [css.replace(".vd ", ".vd.vd ") in style for css in (cards, matrix)] == [
            True,
            case is cases.pick,
        ]
        assert not re.search(
            r"#[0-9a-f]{3,6}", cards + matrix
        )  # colors come from what is around or from the variables
    assert "vd-cards{" not in html.fragment(made.mushroom())


def test_every_drawing_has_a_text() -> None:
    for case in SHOWN:
        page = Reader(html.fragment(case()))
        for known in page.all("svg"):  # a bar stands beside its numbers
            assert known.get("aria-hidden") == "true" or (known["role"] == "img" and known["aria-label"])


# ---- groups


def test_groups_largest_first_under_their_own_number() -> None:
    g = cases.cars()
    assert held(g) == [1, 2, 0]
    page, text = Reader(html.fragment(g)), str(g)
    assert [known["aria-label"] for known in page.all("article")] == ["Group 1", "Group 2", "Group 0"]
    assert re.findall(r"^group (\d): (.*)$", text, re.M) == [
        ("1", "125 instances, 62 %"), ("2", "45 instances, 22 %"), ("0", "30 instances, 15 %")
    ]  # fmt: skip
    for words in ("125 instances, 62 %", "Group 1", *(r.sentence for r in g.regions)):
        assert words in page.texts
    assert all(region.sentence in text for region in g.regions)
    tied = replace(g, sizes=np.array([5, 7, 7]))
    assert held(tied) == [1, 2, 0]


def test_groups_say_how_good_they_are() -> None:
    g = cases.cars()
    page, text = Reader(html.fragment(g)), flat(str(g))
    for words in ("mpg", "91 %", "1.176", "0.9743", "9,710", f"{g.verdict.label}.", g.verdict.sentence, *g.notes):
        assert words in page.texts
    assert "the error if the best group of each instance were known" in page.texts
    assert text.startswith("target mpg: 3 groups of 200 instances ✓ passed. 3 explanations account for 91 %")
    for words in (
        "R² 0.91, error 1.176",
        "0.9743 if the best group",
        f"note: {g.notes[0]}",
        "Intercept -3.5; explains 87 % of",
    ):
        assert words in text
    for shown in (page.text, text):
        for words in ("explains 98 % of", "explains 87 % of", "explains nothing of what the model does here"):
            assert words in shown
    assert "failed" in str(cases.stranger())
    assert "failed." in Reader(html.fragment(cases.stranger())).texts


def test_only_features_with_weight_are_drawn_to_one_scale() -> None:
    g = cases.cars()
    page = Reader(html.fragment(g))
    tables = Tables(html.fragment(g)).tables
    said = [" ".join(line[:1] + line[2:]) for table in tables for line in table[1:]]
    assert said == [
        "weight −6.00 −6.50 to −5.50",
        "model-year +3.70 +3.20 to +4.20",
        "origin = usa −1.30 −1.80 to −0.80",
        "model-year +0.90 +0.40 to +1.40",
        "weight −2.40 −2.90 to −1.90",
        "model-year +1.40 +0.90 to +1.90",
        "cylinders −0.30 −0.80 to +0.20",
    ]
    widths = np.array([float(known["width"]) for known in page.all("rect")])
    np.testing.assert_allclose(widths / widths[0], np.array([6, 3.7, 1.3, 0.9, 2.4, 1.4, 0.3]) / 6, atol=2e-3)
    assert sum("vd-whisk" in known.get("class", "") for known in page.all("path")) == 7
    chart = [line for line in str(g).splitlines() if "│" in line]
    assert len(chart) == 7
    assert chart[0].split()[-3:] == ["-6.00", "[-6.50,", "-5.50]"]
    assert chart[0].count("█") == pytest.approx(chart[4].count("█") * 6 / 2.4, abs=3)
    assert [line_of(g, 2).parts[j].name for j in range(2)] == ["origin = usa", "model-year"]


def test_empty_groups_are_a_line_and_unknown_fidelity_is_a_word() -> None:
    g = cases.emptied()
    page, text = Reader(html.fragment(g)), flat(str(g))
    assert len(page.all("article")) == 2
    assert "Group 1 holds no instance and is not drawn." in page.texts
    assert "group 1 holds no instance and is not drawn" in text
    for shown in (page.text, text):
        assert "fidelity unknown: no held-out instance belongs to it" in shown
    both = replace(g, sizes=np.array([0, 0, 45]))
    assert "groups 0, 1 hold no instance and are not drawn" in flat(str(both))
    none = replace(g, sizes=np.zeros(3, np.int64))
    assert Reader(html.fragment(none)).tags["article"] == 0
    assert "hold no instance" in flat(str(none))
    assert "hold no instance" not in str(cases.cars())


def test_one_group_without_weights() -> None:
    g = cases.lone()
    page, text = Reader(html.fragment(g)), flat(str(g))
    assert "1 group of 1 instance" in page.texts
    assert "1 group of 1 instance" in text
    assert "No feature has any weight. Intercept 0.5; fidelity unknown" in text
    assert "No feature has any weight." in page.texts
    assert "unknown" in page.texts
    assert "held-out R² unknown, error unknown" in text


def test_what_is_left_out_is_counted() -> None:
    g = cases.wide()
    page, text = Reader(html.fragment(g)), flat(str(g))
    assert len(page.all("article")) == PAGE.groups
    assert f"And {40 - PAGE.groups} smaller groups, not drawn." in page.texts
    assert "And 14 more notes." in page.texts
    assert "And 288 smaller parts." in page.text
    assert "and 30 smaller groups, not drawn." in text
    assert "And 292 smaller parts. Intercept" in text
    assert "smaller" not in str(cases.cars())


# ---- memberships


def test_a_membership_says_which_group_why_and_what() -> None:
    m = cases.member()
    page, text = Reader(html.fragment(m)), flat(str(m))
    assert text.startswith(
        "group 1: with 93 %, then group 0 with 4 % Group 1, one of 3, with 93 %: weight -0.80 sd, origin = usa; "
        "its explanation predicts 6.85. Where weight low (1891 to 2809)"
    )
    said = "Group 1, one of 3, with 93 %: weight −0.80 sd, origin = usa; its explanation predicts 6.85."
    assert said in page.texts
    assert "then group 0 with 4 %" in page.texts
    tables = Tables(html.fragment(m)).tables
    said = [" ".join(line[:1] + line[2:]) for table in tables for line in table[1:]]
    assert said[:5] == [
        "weight +2.50 −0.80 sd",
        "model-year −0.70 +1.50 sd",
        "origin = usa +0.40 yes",
        "model-year +5.55 3.7 × +1.50 sd",
        "weight +4.80 −6 × −0.80 sd",
    ]
    assert "Intercept │ -3.5 What the explanation predicts │ 6.85 the sum" in text
    for words in ("−3.5", "6.85", "the sum"):
        assert words in page.texts
    chart = [line.split() for line in str(m).splitlines() if "│" in line]
    assert [line[-1] for line in chart] == ["sd", "sd", "yes", "sd", "sd", "-3.5", "sum"]


def test_a_membership_without_reasons_or_rivals() -> None:
    m = cases.member(cases.lone())
    m = replace(m, reasons=np.zeros(4))
    page, text = Reader(html.fragment(m)), flat(str(m))
    assert text.startswith(
        "group 0: with 100 % Group 0, the only one; its explanation predicts 0.5. Where everything else"
    )
    assert "then group" not in page.text + text
    assert "speaks" not in text
    assert "Intercept │ 0.5 What the explanation predicts │ 0.5 the sum" in text


def test_effects_that_are_not_drawn_still_add_up() -> None:
    m = cases.member(cases.wide())
    shown = str(m).split("What its explanation predicts", 1)[1].splitlines()
    *effects, first, total = [line for line in shown if "│" in line]
    numbers = [re.search(r"[│█▌] +([+-]?[\d.]+)", line)[1] for line in effects]
    unit = 10.0 ** -len(numbers[0].partition(".")[2])
    assert "292 smaller parts" in effects[-1]
    whole = sum(map(float, numbers)) + float(first.split()[-1])
    assert whole == pytest.approx(m.prediction, abs=unit / 2 * (len(numbers) + 1))
    assert float(total.split()[-3]) == pytest.approx(m.prediction, rel=1e-3)
    assert "288 smaller parts" in Reader(html.fragment(m)).texts


def test_no_effect_is_no_bar() -> None:
    m = replace(cases.member(values=(0.0, 1.5, 0.0, 0.0)), reasons=np.zeros(4))
    drawn = {line.split()[0]: "█" in line or "▌" in line for line in str(m).splitlines() if "│" in line}
    assert drawn == {"model-year": True, "weight": False, "Intercept": False, "What": False}
    widths = [float(known["width"]) for known in Reader(html.fragment(m)).all("rect")]
    assert widths == [400.0, 0.0]
    still = replace(cases.member(values=(0.0,)), reasons=np.zeros(4))
    assert {known["width"] for known in Reader(html.fragment(still)).all("rect")} == {"0"}
    assert "█" not in str(still)


@pytest.mark.parametrize(
    ("relation", "value", "words"),
    [("per sd", -0.5, "-0.50 sd"), ("per sd", 12.34, "+12.3 sd"), ("per sd", 0.0, "0.00 sd"), ("=", 1.0, "yes"),
     ("word", 0.0, "no"), ("=", 0.25, "0.25")],
)  # fmt: skip
def test_values_in_words(relation: str, value: float, words: str) -> None:
    assert value_words(Part("a", "a", relation), value) == words


# ---- picks


def test_a_pick_in_words() -> None:
    text = flat(str(cases.pick()))
    assert text.startswith("2 of 5 rows cover 84 % of what matters; 2 random rows cover 62 % on average")
    assert pick_words(cases.pick_of_none()) == "no row was picked, of 5"
    assert pick_words(cases.pick_of_nothing()).endswith("no part has any weight, so there is nothing to cover")
    one = replace(cases.pick(), chosen=np.array([1]), n=1)
    assert pick_words(one).startswith("1 of 1 row covers 84 % of what matters; 1 random row covers 62 %")


def test_the_matrix_in_characters() -> None:
    lines = str(cases.pick()).splitlines()
    assert lines[2:6] == [
        "         A B C D E  covered  at random",
        "  row 1  ▓ = · · ·     53 %  39 % ± 11",
        "  row 4  · · · ░ ≡     84 %   62 % ± 9",
        "  ░▒▓ raises the output, -=≡ lowers it, · no weight; letters as below",
    ]
    parts = [line.split() for line in lines[8:13]]
    assert [(p[0], p[1], " ".join(p[-3:])) for p in parts] == [
        ("A", "b", "in row 1"), ("B", "c", "in row 1"), ("C", "a", "in no row"), ("D", "d", "in row 4"),
        ("E", "e", "in row 4"),
    ]  # fmt: skip
    assert parts[0].count("████████████") == 1


def test_the_matrix_as_a_drawing() -> None:
    page = Reader(html.fragment(cases.pick()))
    rows = [known for known in page.all("svg") if known.get("aria-label", "").startswith("row ")]
    assert rows[0]["aria-label"] == "row 1: A b: +1.00; B c: −0.50"
    assert rows[1]["aria-label"] == "row 4: E e: −1.00; D d: +0.25"
    cells = [known for known in page.all("rect") if float(known["width"]) < 10 and known["height"] != "16"]
    assert [(c["class"], c["x"], c["y"], c["height"]) for c in cells] == [
        ("vd-up", "1", "1.0", "15.0"), ("vd-down", "11", "16.0", "7.5"),
        ("vd-up", "31", "12.2", "3.8"), ("vd-down", "41", "16.0", "15.0"),
    ]  # fmt: skip
    assert len(page.all("rect", "vd-new")) == 4
    for words in ("Row 1", "53 %", "39 % ± 11", "84 %", "62 % ± 9", "2 of 5", "4 of 5", "in no row"):
        assert words in page.texts
    sentence = "2 of 5 rows cover 84 % of what matters; 2 random rows cover 62 % on average."
    assert page.texts.count(sentence) == 1


def test_a_part_is_new_only_once() -> None:
    p = cases.pick()
    again = replace(p, weights=p.weights[[0, 0]])
    assert len(Reader(html.fragment(again)).all("rect", "vd-new")) == 2
    assert first_shown(again).tolist() == [-1, 0, 0, -1, -1]


def test_a_pick_for_two_shows_both() -> None:
    page, text = Reader(html.fragment(cases.pick_of_two())), flat(str(cases.pick_of_two()))
    assert text.startswith("first model: 2 of 5 rows cover 84 %")
    assert "second model: 2 of 5 rows cover 42 %" in text
    assert "note: of the second" in text
    assert [t for t in page.texts if "model: " in t] == [
        "First model: 2 of 5 rows cover 84 % of what matters; 2 random rows cover 62 % on average.",
        "Second model: 2 of 5 rows cover 42 % of what matters; 2 random rows cover 62 % on average.",
    ]
    drawn = [known.get("aria-label", "") for known in page.all("svg")]
    labels = [label for label in drawn if label.startswith("row 1")]
    assert labels == ["row 1: A b: +1.00; B c: −0.50", "row 1: A b: −1.00; B c: +0.50"]


def test_targets_are_named_where_there_are_several() -> None:
    page, text = Reader(html.fragment(cases.pick_of_targets())), str(cases.pick_of_targets())
    for words in ("targets y (1), n (1)", "row 1 (y)", "row 4 (n)", "A b → y"):
        assert words in text
    for words in ("Row 1 (y)", "y (1), n (1)", "two targets"):
        assert words in page.texts
    assert "target" not in str(cases.pick()) + Reader(html.fragment(cases.pick())).text.lower()


def test_long_picks_are_cut_and_counted() -> None:
    page, text = Reader(html.fragment(cases.pick_of_many())), flat(str(cases.pick_of_many()))
    matrix = [known for known in page.all("svg") if known.get("aria-label", "").startswith("row ")]
    assert len(matrix) == PAGE.matrix[0]
    assert f"And {60 - PAGE.matrix[0]} more rows, not drawn." in page.texts
    assert re.search(rf"And {400 - PAGE.matrix[1]} parts with \d\d % of the importance, not drawn\.", page.text)
    assert "and 48 more rows" in text
    assert re.search(r"and 388 parts with \d\d % of the importance", text)


def test_concepts_of_pictures_show_a_typical_region() -> None:
    p = with_concepts()
    page = Reader(html.fragment(p))
    (thumb,) = page.all("svg", "vd-thumb")
    assert thumb["aria-label"] == "a typical region, from row 4"
    assert thumb["viewbox"] == "0 0 2 1"  # the region alone, not the whole picture
    (image,) = page.all("image")
    content = base64.b64decode(image["href"].removeprefix("data:image/png;base64,"))
    assert content.startswith(b"\x89PNG")
    assert set(page.tags) <= TAGS | {"image"}
    other = replace(p.concepts[0], typical=(4, 9))  # a part that the view does not show
    assert not Reader(html.fragment(replace(p, concepts=(other,)))).all("image")


@pytest.mark.parametrize("case", [cases.pick_of_none, cases.pick_of_nothing])
def test_without_anything_to_show_there_is_a_sentence(case: Any) -> None:
    page = Reader(html.fragment(case()))
    assert page.tags["svg"] == page.tags["table"] == 0
    assert page.tags["h3"] == 1
    assert len(str(case()).splitlines()) == 1


# ---- frames and files


def test_frames_of_groups() -> None:
    g = cases.cars()
    frame = g.to_frame()
    assert list(frame.columns[:7]) == ["group", "size", "part", "weight", "low", "high", "region"]
    assert len(frame) == np.count_nonzero(g.weights) == 7
    line = frame[(frame["group"] == 1) & (frame["part"] == "model-year")].iloc[0]
    assert (line["size"], line["weight"], line["region"]) == (125, 3.7, "weight low (1891 to 2809)")
    np.testing.assert_allclose(line[["low", "high"]].astype(float), [3.2, 4.2])
    assert (line["fidelity"], line["intercept"]) == (0.874, -3.5)
    np.testing.assert_array_equal(frame["weight"], g.weights[g.weights != 0])


def test_frames_of_picks() -> None:
    p = cases.pick()
    frame = p.to_frame()
    assert frame["row"].tolist() == [1, 1, 4, 4]
    assert frame["part"].tolist() == ["b", "c", "d", "e"]
    assert frame["weight"].tolist() == [1.0, -0.5, 0.25, -1.0]
    np.testing.assert_allclose(frame["importance"], [2, np.sqrt(2), 1, 1])
    np.testing.assert_allclose(frame["coverage"], np.repeat(p.coverage, 2))
    both = cases.pick_of_two().to_frame()
    assert both["model"].tolist() == [1] * 4 + [2] * 4
    assert both["weight"].tolist() == [1.0, -0.5, 0.25, -1.0, -1.0, 0.5, -0.25, 1.0]
    assert len(cases.pick_of_none().to_frame()) == 0


def with_concepts() -> Pick:
    """A region at the bottom of a picture, and a concept that nothing shows."""
    labels = np.array([[[0, 0], [2, 2]]])
    view = View("picture", {"pixels": np.full((1, 2, 2, 3), 7, np.uint8), "labels": labels})
    concepts = (
        PartCluster("b", np.array([[0, 1], [4, 2]]), (4, 2), view),
        PartCluster("dark, <b>left", np.empty((0, 2), np.int64), (0, 0), None),
    )
    odd = np.array([[2.5, np.nan], [np.inf, 0.1 + 0.2]])
    return replace(cases.pick(), concepts=concepts, random=odd, targets=("1", 1, "b", 0, "名"))


@pytest.mark.parametrize("case", [*PICKS, with_concepts])
def test_picks_are_saved_exactly(case: Any, tmp_path: Path) -> None:
    p = case()
    p.save(tmp_path / "p.json")
    again = load(tmp_path / "p.json")
    assert exact(again) == exact(p)
    assert html.fragment(again) == html.fragment(p)
    assert not again.chosen.flags.writeable
    assert not again.weights.data.flags.writeable
    assert exact(pickle.loads(pickle.dumps(again))) == exact(p)
    json.loads((tmp_path / "p.json").read_text(), parse_constant=lambda word: pytest.fail(word))


def test_the_comparison_itself_can_fail() -> None:
    p = cases.pick()
    for changed in (
        replace(p, coverage=np.nextafter(p.coverage, 0)),
        replace(p, chosen=p.chosen.astype(np.int32)),
        replace(p, weights=p.weights * (1 + 1e-15)),
        replace(p, targets=("1",) * 5),
        replace(p, second=p),
        replace(p, notes=("",)),
    ):
        assert exact(changed) != exact(p)
    assert exact(p) == exact(cases.pick())


@pytest.mark.parametrize(
    ("field", "value"),
    [("names", ["a"]), ("coverage", [1.0]), ("chosen", [1, 2, 3]), ("weights", {"data": [1], "indices": [9],
     "indptr": [0, 1, 1]}), ("parts", None), ("names", [1, 2, 3, 4, 5]), ("random", [[1.0]]), ("second", {})],
)  # fmt: skip
def test_a_damaged_pick_is_refused(field: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    save(cases.pick(), path)
    document = json.loads(path.read_text())
    document["items"][0][field] = value
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="damaged"):
        load(path)


@pytest.mark.parametrize("case", [cases.cars, cases.pick, cases.pick_of_strangers])
def test_pages_are_saved(case: Any, tmp_path: Path) -> None:
    case().save(tmp_path / "page.html")
    markup = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert markup.startswith("<!DOCTYPE html>")
    assert html.part(case(), 1, limits=html.PAGE) in markup


# ---- real ones


@pytest.fixture(scope="module")
def table() -> tuple[Grouping, pd.DataFrame]:
    rng = np.random.default_rng(0)
    n = 200
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "kind": rng.choice(["!x", "<y>"], n)})

    def predict(X: pd.DataFrame) -> Any:
        return np.where(X["a"] > 0, 2 * X["b"], X["a"]) + (X["kind"] == "<y>")

    return vd.group(predict, vd.Rows(X), X, k=2, rng=1), X


def test_groups_of_a_table_can_be_seen_and_pickled(table: tuple[Grouping, pd.DataFrame]) -> None:
    g, X = table
    again = pickle.loads(pickle.dumps(g))
    for name in ("weights", "intercepts", "intervals", "sizes", "fidelities"):
        assert exact(getattr(again, name)) == exact(getattr(g, name))
        assert not getattr(again, name).flags.writeable
    assert exact(again.assign(X)) == exact(g.assign(X))
    assert exact(again.predict(X)) == exact(g.predict(X))
    assert (str(again), again._repr_html_()) == (str(g), g._repr_html_())
    m = again.explain(X.iloc[3])
    assert m.group == int(g.assign(X)[3].argmax())
    assert f"its explanation predicts {m.prediction:.4g}" in flat(str(m))
    assert set(Reader(html.fragment(m)).tags) <= TAGS
    assert "<y>" in Reader(html.fragment(g)).text + Reader(html.fragment(m)).text


def test_groups_of_texts_can_be_seen_and_pickled() -> None:
    texts = [f"{'good' if i % 2 else 'bad'} film number{i % 7} <script>alert({i % 3})</script>" for i in range(60)]

    def predict(texts: list[str]) -> Any:
        return np.array([0.5 + 0.4 * ("good" in t) - 0.3 * ("bad" in t) for t in texts])

    method = vd.groupings.Mixture(n_starts=1, rounds=4, copies=1, n_neighbors=1)
    g = vd.group(predict, vd.Words(), texts, k=2, n_features=3, method=method)
    again = pickle.loads(pickle.dumps(g))
    assert exact(again.assign(texts)) == exact(g.assign(texts))
    assert str(again) == str(g)
    m = g.explain("a good film")
    assert "“" in str(g)
    for shown in (g, m):
        assert set(Reader(html.fragment(shown)).tags) <= TAGS
        assert max(map(terminal.cells, str(shown).splitlines())) <= 80


def test_picks_of_explanations_can_be_seen() -> None:
    p = vd.pick(made.many(20), 3)
    assert str(p).startswith("3 of 20 rows cover")
    assert p._repr_html_() == html.fragment(p)
