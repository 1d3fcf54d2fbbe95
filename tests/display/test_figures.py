"""Figures: every record is drawn, says what it must, stays inside its axes, and leaves matplotlib as it was."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.builders import audit_cases, group_cases, report_cases, view_cases
from tests.builders import explanations as made
from tests.builders.gallery import NAMES, everything
from veridical.display import blocks
from veridical.display.boards import MISSING, face_of, rightward
from veridical.display.explanations import split
from veridical.display.marks import keyed
from veridical.display.views import planes, reach
from veridical.display.words import number
from veridical.records import Explanation, Part, View

SVG = "{http://www.w3.org/2000/svg}"
GIVEN = ("rows", "words", "superpixels", "volume", "tiles", "windows", "many-rows", "pick", "groups", "membership",
         "report", "veracity", "verdict", "audit")  # fmt: skip


def texts(ax: Any) -> list[str]:
    """All that is written inside axes."""
    return [t.get_text() for t in ax.texts] + [t for child in ax.child_axes for t in texts(child)]


def said(ax: Any) -> str:
    return flat(" ".join(texts(ax)))


def flat(text: str) -> str:
    return " ".join(text.replace("-", "−").split())


def bars(ax: Any) -> Any:
    """The panel of bars, which comes last."""
    return ax.child_axes[-1]


def svg_of(record: Any, path: Path) -> ElementTree.Element:
    record.save(path)
    return ElementTree.fromstring(path.read_bytes())


# ---- every record


@pytest.mark.parametrize("name", NAMES)
def test_every_record_is_drawn_and_nothing_else_changes(name: str, pyplot: Any) -> None:
    record, own = everything()[name], pyplot.figure()
    style = dict(pyplot.rcParams)
    ax = record.plot(kind="card")
    assert ax.figure is not own
    assert ax.figure.axes[0] is ax
    assert pyplot.gcf() is own
    assert dict(pyplot.rcParams) == style
    assert pyplot.get_fignums() == [1, 2]
    if isinstance(record, Explanation):
        _needed(record, said(ax))


def _needed(e: Explanation, words: str) -> None:
    """Signs, sizes, intervals, target, both answers, fidelity and verdict are in words."""
    wanted = [
        "he model says",  # after the name of a row, where there is one
        blocks.LABELS.get(e.verdict.label, e.verdict.label).capitalize(),
        e.verdict.sentence,
        *(["faithful", "adds up", "stable"] if e.verdict.label != "none" else []),
        *(["95 % interval", "raises the output"] if np.any(e.clear) else []),
        *(["No feature has any weight"] if not np.any(e.weights != 0) else []),
    ]
    for word in wanted:
        assert flat(word) in words
    heavy, _ = split(e, 3)
    for j in heavy:  # features, then pairs
        at = (j,) if j < len(e.parts) else e.pairs[j - len(e.parts)].parts
        for part in (e.parts[i] for i in at):
            assert flat(part.column if e.values else part.name)[:12] in words


@pytest.mark.parametrize(("name", "size"), [(name, [(11, 8), (12, 5)][i % 2]) for i, name in enumerate(GIVEN)])
def test_all_is_inside_the_axes_that_were_given(name: str, size: tuple[int, int], pyplot: Any) -> None:
    figure, (_, mine) = pyplot.subplots(1, 2, figsize=size)
    assert everything()[name].plot(mine, kind="card") is mine
    assert figure.axes[:2] == [figure.axes[0], mine]
    assert pyplot.get_fignums() == [1]
    figure.canvas.draw()
    box, room = mine.get_tightbbox(), mine.get_window_extent()
    slack = 0.01 * room.width  # letters are fitted to the pixels of a screen
    assert box.x0 > room.x0 - slack
    assert box.x1 < room.x1 + slack
    assert box.y0 > room.y0 - slack
    assert box.y1 < room.y1 + slack


@pytest.mark.parametrize("name", NAMES)
def test_every_record_is_saved_as_a_picture_that_can_be_read(name: str, tmp_path: Path, pyplot: Any) -> None:
    record = everything()[name]
    root = svg_of(record, tmp_path / "r.svg")
    words = flat(" ".join("".join(t.itertext()) for t in root.iter(f"{SVG}text")))
    if isinstance(record, Explanation):
        _needed(record, words)
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "vd-title vd-text"
    assert root.find(f"{SVG}title").text
    assert len(root.find(f"{SVG}desc").text) > 100
    assert "prefers-color-scheme" in root.find(f"{SVG}style").text
    assert not pyplot.get_fignums()


# ---- explanations


def test_bars_are_weights_and_whiskers_are_intervals(pyplot: Any) -> None:
    e = made.unmeasured()
    ax = e.plot(kind="card")
    panel = bars(ax)
    widths = [bar.get_width() for bar in panel.patches]
    np.testing.assert_allclose(widths, [0.261, 0.104, -0.083, 0.052, -0.021])
    assert panel.patches[0].get_facecolor() != panel.patches[2].get_facecolor()
    assert [bool(bar.get_hatch()) for bar in panel.patches] == [w < 0 for w in widths]
    whiskers = [line for line in panel.lines if line.get_linestyle() == "-"]
    assert [int(line.get_ydata()[0]) for line in whiskers] == [0, 2, 3, 4]  # part 1 was not measured
    np.testing.assert_allclose(whiskers[0].get_xdata(), [0.24, 0.282])
    assert panel.yaxis_inverted()
    for words in ("+0.261", "−0.083", "not measured", "Not measured: gill−size = narrow", "Path through the tree"):
        assert words in said(ax)


@pytest.mark.parametrize("case", [made.constant, made.empty])
def test_without_weights_there_are_no_bars(case: Any, pyplot: Any) -> None:
    ax = case().plot(kind="card")
    assert not ax.child_axes
    assert "No feature has any weight" in said(ax)


@pytest.mark.parametrize("case", view_cases.CASES, ids=lambda case: case.__name__)
def test_every_view_is_drawn_with_its_letters(case: Any, pyplot: Any) -> None:
    e = case()
    ax = e.plot(kind="card")
    written = texts(ax)
    if keyed(e.view) and np.isfinite(e.weights).all():
        assert ("A" in written) == bool(np.any(e.weights != 0))
    ax.figure.savefig("/dev/null", format="png", dpi=40)


def test_parts_of_a_picture_are_outlined_and_lettered(pyplot: Any) -> None:
    e = view_cases.picture()
    alone, tinted, _ = e.plot(kind="card").child_axes
    assert len(alone.images) == len(tinted.images) == 1
    assert len(tinted.patches) == 1 + len(e.parts)  # lines between parts, and a region each
    assert sorted(t.get_text() for t in tinted.texts) == list("ABCDEF")
    solid = [patch.get_linestyle() in {"-", "solid"} for patch in tinted.patches[1:]]
    assert solid == [w > 0 for w in e.weights[::-1]]
    pixels = np.asarray(alone.images[0].get_array())
    np.testing.assert_array_equal(pixels, e.view.data["pixels"][0])


def test_words_are_tinted_where_they_stand(pyplot: Any) -> None:
    ax = view_cases.text().plot(kind="card")
    written = texts(ax)
    assert written.count("good") == 2
    tinted = [patch for patch in ax.patches if patch.get_alpha() and 0.07 < patch.get_alpha() < 0.6]
    assert len(tinted) >= 12


def test_a_long_text_shows_the_lines_with_the_heaviest_words(pyplot: Any) -> None:
    text = " ".join(["word"] * 2000 + ["needle"] + ["word"] * 2000)
    spans = np.array([[m.start(), m.end(), m.group() == "needle"] for m in re.finditer(r"\w+", text)])
    view = View("text", {"text": text, "spans": spans})
    ax = view_cases.explained(view, 2, np.array([0.0, 1.0])).plot(kind="card")
    assert "needle" in texts(ax)
    assert re.search(r"\d+ of \d+ lines: those with the heaviest parts", said(ax))


def test_a_text_from_right_to_left_begins_at_the_right(pyplot: Any) -> None:
    ax = view_cases.explained(view_cases.text_view("שלום עולם טוב"), 3).plot(kind="card")
    places = {t.get_text(): t.get_position()[0] for t in ax.texts}
    assert places["שלום"] > places["עולם"] > places["טוב"]
    assert rightward("12 a")
    assert not rightward("12 ש")


def test_the_map_is_drawn_alone_and_on_the_picture(pyplot: Any) -> None:
    e = audit_cases.mapped()
    shown = e.plot(kind="card")
    assert len(shown.child_axes) == 5  # the picture, its parts, the map, the map on the picture, bars
    assert number(reach(planes(e))) in said(shown)


# ---- other records


def test_a_panel_a_metric(pyplot: Any) -> None:
    r = report_cases.plain()
    ax = r.plot(kind="card")
    panels = ax.child_axes
    assert len(panels) == 5
    assert {"fidelity ↑", "infidelity ↓", "deletion ↓", "insertion ↑", "size ↓", *r.methods} <= set(texts(ax))
    points = {(float(a.get_xdata()[0]), a.get_ydata()[0]) for a in panels[0].lines if len(a.get_xdata()) == 1}
    assert (r.score("fidelity", "Occlusion").mean, 2) in points
    assert (r.score("fidelity", "shuffled Occlusion").mean, 2.24) in points
    assert (r.score("fidelity", "constant").mean, 5) in points
    dots = [line for line in panels[0].lines if line.get_marker() == "o"]
    assert sum(line.get_markerfacecolor() == "#2f7fc1" for line in dots) == 2


def test_reports_say_what_they_do_not_show(pyplot: Any) -> None:
    ax = report_cases.reasons().plot(kind="card")
    assert len(ax.child_axes) == 3
    for words in ("fidelity is not drawn", flat(report_cases.REASONS[0]), "deletion is not drawn"):
        assert words in said(ax)
    assert "No metric has a number" in said(report_cases.nothing().plot(kind="card"))


def test_verdicts_show_what_was_measured(pyplot: Any) -> None:
    v = audit_cases.verdict()
    ax = v.plot(kind="card")
    points = {(float(a.get_xdata()[0]), a.get_ydata()[0]) for a in bars(ax).lines if len(a.get_xdata()) == 1}
    assert (v.observed, 0) in points
    assert {"observed", v.measures[0].name} <= set(texts(ax))
    assert flat(v.sentence) in said(ax)


def test_audits_show_a_word_for_each_check_and_method(pyplot: Any) -> None:
    words = texts(audit_cases.plain().plot(kind="card"))
    table = words[words.index("GuidedBackprop") :]
    assert (table.count("Passed"), table.count("Failed"), table.count("Skipped")) == (3, 2, 3)


def test_picks_show_weights_up_and_down(pyplot: Any) -> None:
    p = group_cases.pick()
    strips = p.plot(kind="card").child_axes[0]
    heights = [bar.get_height() for bar in strips.patches if np.isclose(bar.get_width(), 0.72)]
    assert len(heights) == np.count_nonzero(p.weights.toarray())
    assert min(heights) < 0 < max(heights)


def test_groups_share_a_scale(pyplot: Any) -> None:
    panels = group_cases.cars().plot(kind="card").child_axes
    assert len(panels) == 3
    assert len({panel.get_xlim() for panel in panels}) == 1


# ---- styles, strangers and files


def test_a_dark_style_is_followed_by_plots_and_not_by_files(tmp_path: Path, pyplot: Any) -> None:
    made.mushroom().save(tmp_path / "light.svg")
    with pyplot.style.context("dark_background"):
        ax = made.mushroom().plot(kind="card")
        made.mushroom().save(tmp_path / "dark.svg")
    assert {t.get_color() for t in ax.texts if t.get_text() == "odor = foul"} == {"#ffffff"}
    assert (tmp_path / "light.svg").read_bytes() == (tmp_path / "dark.svg").read_bytes()


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_files_are_the_same_each_time(suffix: str, tmp_path: Path, pyplot: Any) -> None:
    for name in ("a", "b"):
        made.mushroom().save(tmp_path / f"{name}.{suffix}")
    content, again = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("a", "b"))
    assert content == again
    if suffix == "pdf":  # with fonts inside, and no date
        assert b"/FontFile2" in content
        assert b"/Title" in content
        assert not re.search(rb"/Type3|/CreationDate", content)


def test_bars_that_lower_the_output_are_hatched_lightly(pyplot: Any) -> None:
    """So that signs can be told without colors, and the bar still shows."""
    patches = [patch for panel in made.mushroom().plot(kind="card").child_axes for patch in panel.patches]
    strokes = [patch.get_edgecolor() for patch in patches if patch.get_hatch()]
    assert strokes
    assert {round(alpha, 2) for *_, alpha in strokes} == {0.55}


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_strangers_are_taken_literally(suffix: str, tmp_path: Path, pyplot: Any) -> None:
    records = (
        made.hostile(),
        view_cases.hostile_fields(),
        audit_cases.strange_verdict(made.HOSTILE),
        audit_cases.strangers(made.HOSTILE),
        report_cases.strangers(made.HOSTILE),
    )
    for record in records if suffix == "svg" else records[:1]:
        record.save(tmp_path / f"r.{suffix}")
        assert (tmp_path / f"r.{suffix}").stat().st_size < 3_000_000
    if suffix == "svg":
        root = svg_of(made.hostile(), tmp_path / "r.svg")
        assert not list(root.iter(f"{SVG}script"))
        assert any("</script>" in "".join(t.itertext()) for t in root.iter(f"{SVG}text"))
        assert any("名前" in "".join(t.itertext()) for t in root.iter(f"{SVG}text"))
        assert any("$\\nonsense{1}$" in "".join(t.itertext()) for t in root.iter(f"{SVG}text"))


def test_what_no_font_has_is_a_box_on_the_screen(pyplot: Any) -> None:
    e = made.mushroom()
    rare = "\U0001fae8\ue123"  # an emoji of few fonts, and a character of none
    ax = replace(e, parts=(Part(f"a {rare} b", "a", "="), *e.parts[1:])).plot(kind="card")
    assert any(t.startswith("a ") and MISSING in t for t in texts(ax))
    ax.figure.canvas.draw()  # warnings are errors


def test_lines_are_as_long_as_they_may_be(pyplot: Any) -> None:
    face = face_of("DejaVu Sans")
    lines = face.wrap("one two three " * 9 + "x" * 300, 9.0, 2.0)
    assert max(face.width(line, 9.0) for line in lines) <= 2.0
    assert "".join(lines).replace(" ", "") == "onetwothree" * 9 + "x" * 300
    assert face.width(face.cut("x" * 300, 9.0, 1.0), 9.0) <= 1.0
    assert face.cut("x", 9.0, 1.0) == "x"
