"""Pictures say what the record says, and foreign text stays text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explanations as made
from veridical.pages import Page
from veridical.records import Explanations
from veridical.render import html, terminal

VOID = {"meta", "col"}
KNOWN = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "h3",
    "div", "p", "span", "b", "bdi", "i", "strong", "small", "table", "colgroup", "col", "thead", "tbody",
    "tr", "th", "td", "svg", "rect", "path", "dl", "dt", "dd", "ul", "ol", "li", "details", "summary",
}  # fmt: skip
CASES = (made.mushroom, made.unmeasured, made.constant, made.empty, made.extreme, made.hostile)


class Reader(HTMLParser):
    """What a browser would see: elements, attributes and text; unbalanced markup is an error."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.feed(markup)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        data = data.replace("\u00a0", " ").strip()
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.texts)


def bars_of(page: Reader) -> list[str]:
    return [value for tag, name, value in page.attributes if tag == "rect" and name == "class"]


def test_the_reader_sees_an_attack() -> None:
    assert Reader("<div><script>alert(1)</script></div>").tags["script"] == 1
    with pytest.raises(AssertionError):
        Reader("<div></p></div>")


@pytest.mark.parametrize("case", CASES)
def test_markup_is_ours_alone(case: Any) -> None:
    e = case()
    shown = Explanations((e, made.mushroom()))
    whole = html.page(Page(made.HOSTILE[0], [(made.HOSTILE[1], e), ("", shown)], made.HOSTILE[2]))
    for markup in (html.fragment(e), html.fragment(shown), whole):
        page = Reader(markup)
        assert set(page.tags) <= KNOWN
        assert not [name for _, name, _ in page.attributes if name.startswith("on") or name in {"src", "href"}]
        assert not re.search(r"url\(|@import|https?:|javascript:", markup)
        assert not [c for c in set(markup) if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs"}]
        assert "None" not in page.text
        assert not re.search(r"\bnan\b", page.text) or case is made.extreme
        markup.encode()


def test_hostile_text_is_shown_as_text() -> None:
    page = Reader(html.fragment(made.hostile()))
    for name in (*made.HOSTILE[:4], "&amp; &lt;", "$\\nonsense{1}$"):
        assert name in page.texts
    assert "\ufffdgnp.exe\ufffd \ufffd" in page.texts
    assert made.HOSTILE[1] + made.HOSTILE[0] in page.texts  # the verdict
    assert max(map(len, page.texts)) < 1000
    assert "\ufffd[31mred\ufffd" in page.text


@settings(max_examples=60, deadline=None)
@given(names=st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_any_text_is_harmless(names: list[str]) -> None:
    e = made.hostile((names * 2)[: max(len(names), 2)])
    page = Reader(html.page(Page("", [("", e)])))
    assert set(page.tags) <= KNOWN
    terminal.picture(e)


def test_the_page_stands_alone_and_is_small() -> None:
    markup = html.page(Page("A title", [("First", made.mushroom())], "A lead."))
    page = Reader(markup)
    assert markup.startswith("<!DOCTYPE html>")
    assert ("meta", "content", html.POLICY) in page.attributes
    assert ("meta", "charset", "utf-8") in page.attributes
    for text in ("A title", "First", "A lead."):
        assert text in page.texts
    assert "prefers-color-scheme:dark" in markup
    assert len(markup.encode()) < 20_000
    worst = made.hostile(tuple('"' * 300 + str(i) for i in range(500)))
    assert len(html.page(Page("t", [("", worst)])).encode()) < 60_000


def test_the_fragment_says_everything() -> None:
    e = made.unmeasured()
    page = Reader(html.fragment(e))
    text = page.text
    assert "Read with care" in page.texts
    assert e.verdict.sentence in page.texts
    for words in ("0.93", "0.908", "12 %", "812", "2,001", "31 %", "Top 4", "Path through the tree"):
        assert words in text
    for words in ("+0.261", "−0.083", "+0.240 to +0.282", "not measured", *e.notes, *e.path):
        assert words in page.texts
    assert "Not measured: gill-size = narrow, cap-width is missing" in text
    assert "Order not settled: 30 < stalk-height ≤ 50.5 ~ gill-size = narrow" in text
    assert "Believe it" in Reader(html.fragment(made.mushroom())).texts


def test_bars_have_a_side_and_a_whisker_and_stand_beside_their_numbers() -> None:
    page = Reader(html.fragment(made.unmeasured()))
    assert bars_of(page) == ["vd-up", "vd-up", "vd-down", "vd-up", "vd-down", "vd-up"]
    assert ("svg", "aria-hidden", "true") in page.attributes
    said = " ".join(page.text.split())
    assert re.search(r"odor = foul █+ \+0.261 \+0.240 to \+0.282 gill-size = narrow █+ \+0.104 not measured", said)
    assert sum(value == "vd-whisk" for _, _, value in page.attributes) == 5  # one of six is not measured
    places = [float(v) for tag, name, v in page.attributes if (tag, name) == ("rect", "width")]
    np.testing.assert_allclose(np.array(places) / places[0], [1, 0.398, 0.318, 0.199, 0.08, 0.024], atol=5e-3)


def test_long_intervals_do_not_hide_the_bars() -> None:
    e = made.mushroom()
    intervals = e.intervals.copy()
    intervals[0] = [-1e6, 1e6]
    page = Reader(html.fragment(replace(e, intervals=intervals)))
    widths = [float(v) for tag, name, v in page.attributes if (tag, name) == ("rect", "width")]
    assert widths[0] > 80  # of 400


@pytest.mark.parametrize("case", [made.constant, made.empty])
def test_without_weights_there_is_only_the_verdict(case: Any) -> None:
    page = Reader(html.fragment(case()))
    assert page.tags["table"] == page.tags["svg"] == page.tags["dl"] == 0
    assert case().verdict.sentence in page.texts
    text = terminal.picture(case())
    assert case().verdict.sentence in text.replace("\n    ", " ")
    assert "│" not in text
    assert "odor" not in text


def test_lists_draw_the_first_and_count_the_rest() -> None:
    page = Reader(html.fragment(made.many(50)))
    assert page.tags["details"] == 12
    assert "And 38 more, not drawn here." in page.texts
    assert "80 %" in page.texts
    assert page.text.index("median held-out R²") < page.text.index("Row 0")
    assert Reader(html.fragment(made.many(12))).text.count("more, not drawn") == 0
    assert Reader(html.fragment(Explanations(()))).tags["details"] == 0
    e = made.mushroom()
    weights, intervals = np.tile(e.weights, 5), np.tile(e.intervals, (5, 1))
    long = replace(e, parts=e.parts * 5, weights=weights, intervals=intervals, notes=("a",) * 9)
    page = Reader(html.fragment(long))
    assert "And 10 smaller parts, not drawn." in page.texts
    assert "And 3 more notes." in page.texts


def test_records_open_these_doors() -> None:
    e, several = made.mushroom(), made.many(3)
    assert e._repr_html_() == html.fragment(e)
    assert several._repr_html_() == html.fragment(several)
    assert repr(e) == terminal.picture(e)
    assert repr(several) == terminal.overview(several)


def test_picture() -> None:
    lines = terminal.picture(made.unmeasured()).splitlines()
    assert lines[0] == "target output 1: the model says 0.93, the surrogate 0.908"
    first, third = lines[3], lines[5]
    assert first.split()[:3] == ["odor", "=", "foul"]
    assert first.endswith("+0.261  [+0.240, +0.282]")
    assert third.endswith("-0.083  [-0.103, -0.063]")
    assert first.index("│") == third.index("│")
    assert first.index("█") > first.index("│")
    assert third.index("█") < third.index("│")
    assert first.count("█") == pytest.approx(third.count("█") * 0.261 / 0.083, abs=2)
    assert lines[4].endswith("not measured")
    text = " ".join(line.strip() for line in lines)
    for words in (
        "explains 12 % of what the model does here (held-out R²)",
        "the top 4 are the right ones with probability 31 %",
        "order not settled: 30 < stalk-height ≤ 50.5 ~ gill-size = narrow",
        "not measured: gill-size = narrow, cap-width is missing",
        "effective sample size 812, the model was asked about 2,001 rows",
        "path: odor = foul → gill-size = narrow → stalk-height ≤ 50.5",
        "read with care: Only 12 % of what",
        "note: The column 'veil-type' is constant",
    ):
        assert words in text


def test_the_top_is_never_of_all_parts() -> None:
    e = made.mushroom()
    two = replace(e, parts=e.parts[:2], weights=e.weights[:2], intervals=e.intervals[:2])
    assert "the first is the right one with probability 96 %" in terminal.picture(two)
    assert "The first is right" in Reader(html.fragment(two)).texts
    assert "the top 5 are the right ones with probability 96 %" in terminal.picture(e)


def test_names_that_differ_at_their_ends_stay_apart() -> None:
    names = ["answers that it decides, with it", "answers that it decides, without", "another", "another"]
    first, second, *others = terminal.column(names, 20)
    assert (first, second) == ("answers t…s, with it", "answers t…s, without")
    assert others == ["another".ljust(20)] * 2


def test_picture_keeps_to_k_and_width() -> None:
    e = made.mushroom()
    assert terminal.picture(e, k=2).count("│") == 2
    assert "and 4 smaller parts" in terminal.picture(e, k=2)
    assert "smaller" not in terminal.picture(e, k=6)
    for width in (60, 80, 132):
        for case in (made.mushroom, made.unmeasured, made.hostile):
            chart = [line for line in terminal.picture(case(), width=width).splitlines() if "│" in line]
            assert max(map(terminal.cells, chart)) <= width
            assert len({terminal.cells(line[: line.index("│")]) for line in chart}) == 1


def test_terminal_text_cannot_steer_the_terminal() -> None:
    e = made.hostile()
    for text in (terminal.picture(e), terminal.overview(Explanations((e,)))):
        assert not [c for c in set(text) if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs"}]
        assert len(text) < 10_000
    assert terminal.plain("a\nb\tc\x1b[0m") == "a b c\ufffd[0m"
    assert terminal.plain("نمی\u200cخواهم") == "نمی\u200cخواهم"
    assert terminal.plain("x" * 300, 10) == "x" * 9 + "…"
    assert terminal.shorten("名前名前", 5) == "名前…"


@pytest.mark.parametrize(
    ("fidelity", "words"),
    [(0.41, "explains 41 % of"), (-0.3, "explains nothing of what the model does here (held-out R² -0.30)"),
     (float("nan"), "was not measured"), (0.001, "explains < 1 % of"), (0.9999, "explains > 99 % of"),
     (1.0, "explains 100 % of")],
)  # fmt: skip
def test_fidelity_in_words(fidelity: float, words: str) -> None:
    assert words in terminal.picture(replace(made.mushroom(), fidelity=fidelity))


@pytest.mark.parametrize(
    ("values", "value", "text"),
    [([0.261], -0.0831, "-0.083"), ([12.34], 1.0, "+1.0"), ([123456.0], 3.0, "+3"),
     ([1e-9], 1e-9, "+1.00e-09"), ([1e9], -5e8, "-5.00e+08"), ([0.5], -0.0001, " 0.000"), ([], 0.0, " 0.00"),
     ([np.inf, 2.0], 2.0, "+2.00")],
)  # fmt: skip
def test_decimals(values: list[float], value: float, text: str) -> None:
    assert terminal.decimals(values)(value) == text


def test_overview() -> None:
    text = terminal.overview(made.many(50))
    assert text.startswith("50 explanations\ntargets   poisonous (40), output 1 (10)\n")
    assert "0.873 (median held-out R²)" in text
    assert "80 % passed" in text
    parts = [line.strip().split("  ")[0] for line in text.splitlines()[6:]]
    assert parts[0] == "odor = foul"
    assert "cap-width is missing" not in parts  # its weight is zero everywhere
    assert terminal.overview(Explanations(())) == "no explanations"
    assert terminal.overview(Explanations((made.empty(),))).startswith("1 explanation\n")


def test_digest_means_are_over_all_items() -> None:
    a = made.mushroom()
    b = replace(a, parts=a.parts[1:], weights=-a.weights[1:], intervals=a.intervals[1:], fidelity=float("nan"))
    digest = terminal.digest(Explanations((a, b)))
    assert digest.fidelity == a.fidelity
    assert [(name, count) for name, _, count in digest.top[:2]] == [(a.names[0], 1), (a.names[1], 2)]
    np.testing.assert_allclose([mean for _, mean, _ in digest.top[:2]], [0.261 / 2, 0.104])
