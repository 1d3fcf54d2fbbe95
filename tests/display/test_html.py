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

from tests.builders import explanations as made
from veridical.display import html, terminal
from veridical.display.contents import blocks_of
from veridical.display.explanations import split
from veridical.display.html_charts import script, script_policy
from veridical.display.markup import escape, tag
from veridical.display.words import decimals, plain, shorten
from veridical.records import Explanations, FeatureCurve, FeaturePair, Page

VOID = {"meta", "col"}
KNOWN = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "h3",
    "div", "p", "span", "b", "bdi", "i", "strong", "small", "code", "table", "colgroup", "col", "thead", "tbody",
    "tr", "th", "td", "svg", "rect", "path", "dl", "dt", "dd", "ul", "ol", "li", "details", "summary", "image",
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
    assert whole.count("<script>") == whole.count(f"<script>{script()}</script>") == 1
    assert script_policy() in whole
    for markup in (html.fragment(e), html.fragment(shown), whole.replace(f"<script>{script()}</script>", "")):
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
    assert any(made.HOSTILE[1] + made.HOSTILE[0] in text for text in page.texts)  # the verdict
    assert max(map(len, page.texts)) < 1000
    assert "\ufffd[31mred\ufffd" in page.text


@settings(max_examples=60, deadline=None)
@given(names=st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_any_text_is_harmless(names: list[str]) -> None:
    e = made.hostile((names * 2)[: max(len(names), 2)])
    page = Reader(html.page(Page("", [("", e)])))
    assert set(page.tags) <= KNOWN
    terminal.render_text(e)


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
    assert "unreliable." in page.texts
    assert e.verdict.sentence in page.texts
    for words in ("0.93", "12 %", "0.91 of 0.93", "31 %", "812", "2,001", "top 4", "Path through the tree"):
        assert words in text
    for words in ("faithful", "adds up", "stable", "method=vd.Contrast()", "+0.261", "−0.083", "not measured"):
        assert words in page.texts
    for words in ("+0.240 to +0.282", *e.notes, *e.path):
        assert words in page.texts
    assert "Not measured: gill-size = narrow, cap-width is missing" in text
    assert "Tied: stalk-height ~ gill-size" in text
    assert "reliable." in Reader(html.fragment(made.mushroom())).texts


def test_what_may_be_zero_is_folded() -> None:
    e = replace(made.mushroom(), doubtful=(3,))
    heavy, others = split(e, 8)
    assert heavy == [0, 1, 2, 4]
    assert others == [3, 5]
    assert "2 that may be zero of 7 features" in Reader(html.fragment(e)).text
    assert split(e, 3) == ([0, 1, 2], [3, 4, 5])


def test_the_answer_comes_first() -> None:
    both = (("edible", 0.07), ("poisonous", 0.93))
    e = replace(made.mushroom(), probabilities=both)
    assert terminal.render_text(e).splitlines()[0] == "The model says poisonous, 93 % (edible 7 %)"
    assert repr(e) == "<Explanation: The model says poisonous, 93 % (edible 7 %); ✓ reliable>"
    other = replace(e, target="edible", row="C-0193", prediction=0.07)
    first = terminal.render_text(other).splitlines()[0]
    assert first == "C-0193: the model says poisonous, 93 % (explained here: edible 7 %)"
    many = replace(e, probabilities=(*both, ("a", 0.0), ("b", 0.0), ("c", 0.0)))
    assert "(edible 7 %, a 0 %, b 0 %, 1 more)" in terminal.render_text(many)
    raw = replace(e, probabilities=(("edible", -2.5), ("poisonous", 3.1)))
    assert "poisonous, 3.1 (edible -2.5, scores (logits), no probabilities)" in terminal.render_text(raw)
    price = replace(e, target="value", prediction=155946.4, row=7, probabilities=())
    assert terminal.render_text(price).startswith("Row 7: the model says 155,946\n")


def test_a_value_stands_beside_its_column() -> None:
    e = made.mushroom()
    values = ("foul", "narrow", 41.0, "white", True, 2, None)
    page = Reader(html.fragment(replace(e, values=values)))
    assert "stalk-height" in page.texts
    assert {"41", "(30–50.5)", "foul"} <= set(page.texts)
    lines = terminal.render_text(replace(e, values=values)).splitlines()
    line = next(line for line in lines if "stalk" in line and "│" in line)
    assert line.strip().startswith("stalk-height 41 (30–50.5)")
    long = replace(e.parts[2], column="stalk-height-" * 4, name=f"30 < {'stalk-height-' * 4} ≤ 50.5")
    text = terminal.render_text(replace(e, values=values, parts=(*e.parts[:2], long, *e.parts[3:])))
    assert "… " not in text
    assert re.search(r"stalk-h\S+…\S+ 41 \(30–50.5\)", text), "the name is cut in its middle, the bin never"


def test_pairs_and_odds_are_shown() -> None:
    e = made.mushroom()
    pair = FeaturePair((0, 1), 0.2, (0.1, 0.3), np.zeros((2, 2)))
    total = float(np.log(9))
    e = replace(e, pairs=(pair,), scale="log-odds", intercept=total - e.weights.sum() - 0.2, local_prediction=0.9)
    text = terminal.render_text(e)
    assert re.search(r"odor × gill-size \(together\) .* \+0.200  ×1.11 to ×1.35", text)
    assert "average here 0.84 → 0.90 with all features" in text
    lines = [line for line in text.splitlines() if "│" in line]
    assert "odor × gill-size" in lines[1]
    assert "average here" not in terminal.render_text(replace(e, scale="identity")), "weights do not add up"


def test_a_small_curve_stands_beside_a_bar() -> None:
    e = made.mushroom()
    curve = FeatureCurve(2, (20.0, 40.0, 60.0), np.array([0.1, -0.083, -0.2]), np.zeros((3, 2)), True)
    values = ("foul", "narrow", 41.0, "white", True, 2, None)
    page = Reader(html.fragment(replace(e, values=values, curves=(curve,))))
    (words,) = [value for tag, name, value in page.attributes if tag == "svg" and name == "aria-label"]
    assert words == "effect of stalk-height at other values: +0.100 at 20.0 to -0.200 at 60.0"
    assert "Other values" in page.texts
    assert sum(value == "vd-at" for _, _, value in page.attributes) == 1


def test_a_part_of_a_page_takes_controls_and_shows_what_was() -> None:
    e = made.mushroom()
    button = tag("button", {"name": "mark"}, escape("mark"))
    markup = html.part(e, 2, controls={0: button}, was={1: 0.4})
    page = Reader(markup)
    assert page.tags["button"] == 1
    assert "<h2 class=" in markup
    assert "<style>" not in markup
    assert [value for _, name, value in page.attributes if name == "data-part"] == ["0", "1", "2", "3", "4", "5"]
    assert sum(value == "vd-was" for _, _, value in page.attributes) == 1
    style = html.stylesheet()
    assert "main{" not in style
    assert all(css in style for name, css in html.sheets().items() if name != "page")


def test_bars_have_a_side_and_a_whisker_and_stand_beside_their_numbers() -> None:
    page = Reader(html.fragment(made.unmeasured()))
    assert bars_of(page) == ["vd-up", "vd-up", "vd-down", "vd-up", "vd-down", "vd-up"]  # the last is folded
    assert ("svg", "aria-hidden", "true") in page.attributes
    said = " ".join(page.text.split())
    assert re.search(r"odor = foul █+ \+0.261 \+0.240 to \+0.282 gill-size = narrow █+ \+0.104 not measured", said)
    assert sum(value == "vd-whisk" for _, _, value in page.attributes) == 5  # one of six is not measured
    places = [float(v) for tag, name, v in page.attributes if (tag, name) == ("rect", "width")]
    np.testing.assert_allclose(np.array(places[:5]) / places[0], [1, 0.398, 0.318, 0.199, 0.08], atol=5e-3)


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
    assert page.tags["table"] == page.tags["svg"] == 0
    assert case().verdict.sentence in page.texts
    text = terminal.render_text(case())
    assert case().verdict.sentence in text.replace("\n    ", " ")
    assert "│" not in text
    assert "faithful" not in text


def test_lists_draw_the_first_and_count_the_rest() -> None:
    page = Reader(html.fragment(made.many(50)))
    assert page.tags["details"] == 14  # 12 rows in one, and rows by features
    assert "And 38 more, not drawn here." in page.texts
    assert "40 reliable" in page.texts
    assert Reader(html.fragment(made.many(12))).text.count("more, not drawn") == 0
    assert Reader(html.fragment(Explanations(()))).tags["details"] == 0
    e = made.mushroom()
    weights, intervals = np.tile(e.weights, 5), np.tile(e.intervals, (5, 1))
    long = replace(e, parts=e.parts * 5, weights=weights, intervals=intervals, notes=("a",) * 9)
    page = Reader(html.fragment(long))
    assert "17 smaller and 5 that may be zero of 35 features" in page.texts
    assert "And 3 more notes." in page.texts


def test_records_open_these_doors() -> None:
    e, several = made.mushroom(), made.many(3)
    assert e._repr_html_() == html.fragment(e)
    assert several._repr_html_() == html.fragment(several)
    assert str(e) == terminal.render_text(e)
    assert str(several) == terminal.render_text(several)
    assert (
        repr(several) == "<Explanations: 3 explanations: of poisonous (2), output 1 (1), faithful 62 % on average>"
    )
    assert e._repr_mimebundle_()["text/plain"] == str(e)


def test_the_text_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, width in (("60", 60), ("20", 50), ("500", 120)):
        monkeypatch.setenv("COLUMNS", columns)
        assert str(made.unmeasured()) == terminal.render_text(made.unmeasured(), width)


def test_picture() -> None:
    lines = terminal.render_text(made.unmeasured()).splitlines()
    assert lines[0] == "The model says 0.93 for output 1"
    assert lines[1].startswith("✗ unreliable. Only 12 % of what")
    assert lines[3] == "faithful 12 % · adds up 0.91 of 0.93 · stable 31 %"
    assert lines[4] == "Try `method=vd.Contrast()`."
    first, third = lines[7], lines[9]
    assert first.split()[:3] == ["odor", "=", "foul"]
    assert first.endswith("+0.261  [+0.240, +0.282]")
    assert third.endswith("-0.083  [-0.103, -0.063]")
    assert first.index("│") == third.index("│")
    assert first.index("█") > first.index("│")
    assert third.index("█") < third.index("│")
    assert first.count("█") == pytest.approx(third.count("█") * 0.261 / 0.083, abs=2)
    assert lines[8].endswith("not measured")
    text = " ".join(line.strip() for line in lines)
    for words in (
        "tied: stalk-height ~ gill-size",
        "not measured: gill-size = narrow, cap-width is missing",
        "2,001 model calls, effective sample 812",
        "and 1 that may be zero of 7 features, not drawn",
        "path: odor = foul → gill-size = narrow → stalk-height ≤ 50.5",
        "note: The column 'veil-type' is constant",
    ):
        assert words in text


def test_the_top_is_never_of_all_parts() -> None:
    e = made.mushroom()
    two = replace(e, parts=e.parts[:2], weights=e.weights[:2], intervals=e.intervals[:2])
    assert "probability that the first is right" in Reader(html.fragment(two)).text
    assert "probability that the top 5 are right" in Reader(html.fragment(e)).text


def test_names_that_differ_at_their_ends_stay_apart() -> None:
    names = ["answers that it decides, with it", "answers that it decides, without", "another", "another"]
    first, second, *others = terminal.column(names, 20)
    assert (first, second) == ("answers th…, with it", "answers th…, without")
    assert others == ["another".ljust(20)] * 2


def test_picture_keeps_to_k_and_width() -> None:
    e = made.mushroom()
    two, six = (blocks_of(e, replace(terminal.TERMINAL, parts=k)) for k in (2, 6))
    lines = terminal.write_lines(two, 80)
    assert sum("│" in line for line in lines) == 2
    assert "and 3 smaller and 1 that may be zero of 7 features, not drawn." in lines
    assert "smaller" not in "\n".join(terminal.write_lines(six, 80))
    for width in (60, 80, 132):
        for case in (made.mushroom, made.unmeasured, made.hostile):
            chart = [line for line in terminal.render_text(case(), width).splitlines() if "│" in line]
            assert max(map(terminal.cells, chart)) <= width
            assert len({terminal.cells(line[: line.index("│")]) for line in chart}) == 1


def test_terminal_text_cannot_steer_the_terminal() -> None:
    e = made.hostile()
    for text in (terminal.render_text(e), terminal.render_text(Explanations((e,)))):
        assert not [c for c in set(text) if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs"}]
        assert len(text) < 10_000
    assert plain("a\nb\tc\x1b[0m") == "a b c\ufffd[0m"
    assert plain("نمی\u200cخواهم") == "نمی\u200cخواهم"
    assert plain("x" * 300, 10) == "x" * 9 + "…"
    assert shorten("名前名前", 5) == "名前…"


@pytest.mark.parametrize(
    ("fidelity", "words"),
    [(0.41, "faithful 41 %"), (-0.3, "faithful 0 %"), (float("nan"), "faithful not measured"),
     (0.001, "faithful < 1 %"), (0.9999, "faithful > 99 %"), (1.0, "faithful 100 %")],
)  # fmt: skip
def test_fidelity_in_words(fidelity: float, words: str) -> None:
    assert words in terminal.render_text(replace(made.mushroom(), fidelity=fidelity))


@pytest.mark.parametrize(
    ("values", "value", "text"),
    [([0.261], -0.0831, "-0.083"), ([12.34], 1.0, "+1.0"), ([123456.0], 3.0, "+3"),
     ([1e-9], 1e-9, "+1.00e-09"), ([1e9], -5e8, "-500,000,000"), ([1e15], -5e14, "-5.00e+14"),
     ([0.5], -0.0001, " 0.000"), ([], 0.0, " 0.00"),
     ([np.inf, 2.0], 2.0, "+2.00")],
)  # fmt: skip
def test_decimals(values: list[float], value: float, text: str) -> None:
    assert decimals(values)(value) == text


def test_overview() -> None:
    text = terminal.render_text(made.many(50))
    first = "50 explanations: of poisonous (40), output 1 (10), faithful 72 % on average"
    assert text.startswith(f"{first}\n✓ 40 reliable · ✗ 10 unreliable\nTry `method=vd.Contrast()`.")
    lines = text.splitlines()
    parts = [line.strip().split("  ")[0] for line in lines[6:12]]
    assert parts == ["odor", "gill-size", "stalk-height", "spore-print", "bruises", "rings"]
    assert "cap-width" not in text  # its weight is zero everywhere
    assert "in 0 %" in next(line for line in lines if "stalk-height" in line)
    assert terminal.render_text(Explanations(())) == "no explanations"
    assert terminal.render_text(Explanations((made.empty(),))).startswith("1 explanation: ")
