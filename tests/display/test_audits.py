"""Verdicts and audits: their pictures say what the records say, and what is saved is what is loaded."""

from __future__ import annotations

import json
import math
import pickle
import re
import unicodedata
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veridical as vd
from tests.builders import audit_cases as cases
from tests.builders import explanations as made
from tests.builders.pages import Reader, assert_ours, exact, flat
from veridical.display import html, terminal
from veridical.display.assessments import MOST_EVIDENCE, brief, time_words
from veridical.display.blocks import NULLS
from veridical.display.html import PAGE
from veridical.display.pixels import tinted
from veridical.display.saving import save, write_junit
from veridical.display.views import planes, reach
from veridical.errors import InputError
from veridical.scale.stores.store import load

TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "h3",
    "h4", "div", "p", "span", "b", "bdi", "i", "strong", "small", "code", "sup", "table", "thead", "tbody", "tr", "th",
    "td", "svg", "path", "dl", "dt", "dd", "ul", "li", "details", "summary", "colgroup", "col", "rect", "ol",
    "figure", "figcaption", "image", "use",
}  # fmt: skip
VERDICTS = (cases.verdict, cases.bare, cases.strange_verdict, cases.extreme_verdict, cases.wide_verdict)
AUDITS = (cases.plain, cases.good, cases.broken, cases.unchecked, cases.empty, cases.strangers, cases.extreme)
SHAPES = [((48, 64, 3), -1), ((3, 48, 64), 0), ((48, 64), -1)]


def seen(record: Any) -> Reader:
    return Reader(html.fragment(record))


# ---- what holds for every picture


@pytest.mark.parametrize("case", [*VERDICTS, *AUDITS])
def test_markup_is_ours_alone(case: Any) -> None:
    found = case()
    for markup in (html.fragment(found), html.page(vd.Page(made.HOSTILE[0], [(made.HOSTILE[1], found)]))):
        own = re.sub(r'href="(data:image/png;base64,[\w+/=]+|#vd-\w+)"', "", markup)
        assert_ours(own, Reader(own), TAGS)
    assert found._repr_html_() == html.fragment(found)


@pytest.mark.parametrize("case", [*VERDICTS, *AUDITS])
def test_the_terminal_is_80_columns_wide(case: Any) -> None:
    text = str(case())
    assert max(map(terminal.cells, text.splitlines())) <= 80
    assert not [c for c in set(text) if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs"}]
    assert not re.search(r"\b(None|nan|inf)\b", text)
    assert len(text) < 60_000


def test_hostile_names_are_shown_as_text() -> None:
    for record in (cases.strange_verdict(), cases.strangers()):
        page = seen(record)
        assert page.tags["script"] == page.tags["img"] == 0
        for name in made.HOSTILE[:4]:
            assert flat(name) in page.text


@settings(max_examples=15, deadline=None)
@given(names=st.lists(st.text(min_size=1, max_size=30), min_size=3, max_size=4))
def test_any_text_is_harmless(names: list[str]) -> None:
    a = cases.strangers(names)
    assert set(seen(a).tags) <= TAGS
    assert max(map(terminal.cells, str(a).splitlines())) <= 80
    root = ElementTree.fromstring(_written(a))
    assert len(root.findall(".//testcase")) == len(a.results)


def test_pages_are_light_and_dark_and_fragments_take_their_ink_from_around_them() -> None:
    assert "prefers-color-scheme:dark" in html.page(vd.Page("t", [("", cases.plain())]))
    names = next(names for names in html.sheets() if "vd-measures" in names)
    style = html.sheets()[names].replace(".vd ", ".vd.vd ")
    assert style in html.fragment(cases.plain())
    assert style not in html.fragment(cases.bare())
    assert style not in html.fragment(made.mushroom())


# ---- what they say


def test_a_verdict_shows_its_numbers_beside_null_rows() -> None:
    v, page, text = cases.verdict(), seen(cases.verdict()), flat(str(cases.verdict()))
    assert page.text.startswith("randomize · GuidedBackprop")
    assert v.sentence in page.text
    assert v.sentence in text
    table = page.tables[0]
    assert table[1] == [
        "Measure",
        "Drawn",
        "Value",
        "95 % interval",
        "n",
        "constant",
        "noise",
        "shuffled",
        "another instance",
    ]
    assert table[2] == ["observed", "", "0.930", "0.890 to 0.960", "", "0.000", "0.012", "0.034", "0.210"]
    assert table[3][:3] == ["expected", "", "0.310"]
    assert len(table) == 4 + len(v.measures)
    assert table[-1][:5] == ["SSIM, down to conv 1", "", "0.830", "0.790 to 0.860", "50"]
    assert f"Null rows: {NULLS}" in page.texts
    for words in ("rows 17, 3, 188 of the data", v.notes[0], "expected 0.310", "evidence: 2 explanations"):
        assert words in text
    grays = [known for tag, known in page.found if tag == "td" and "vd-null" in known.get("class", "")]
    assert len(grays) == 4 * (2 + len(v.measures))  # what was observed, expected, and measured besides


def test_outcomes_are_told_in_words_and_signs_not_by_color_alone() -> None:
    page, text = seen(cases.plain()), str(cases.plain())
    overview = page.tables[0]
    assert [cell.strip() for cell in overview[0]] == ["Its explanations", "Lime", "GuidedBackprop"]
    told = {row[0].split()[0]: row[1:] for row in overview[1:]}
    assert told["randomize"] == ["✓ Passed", "✗ Failed"]
    assert told["shift"] == ["– Skipped", "– Skipped"]
    signs = [known["aria-label"] for known in page.all("span", "vd-mark") if known.get("role") == "img"]
    assert {"Passed", "Failed"} == set(signs)
    for line in ("✗ failed   randomize · GuidedBackprop", "✓ passed   randomize · Lime", "note: Not run: "):
        assert line in text
    assert text.index("✗ failed") < text.index("✓ passed") < text.index("Not run: ")


def test_not_clear_has_a_sign_a_color_and_a_word_of_its_own() -> None:
    a = cases.doubtful()
    page, text = html.fragment(a), str(a)
    assert '"vd-verdict vd-care"' in page
    assert "Not clear" in page
    assert "? not clear  accuracy" in text
    assert "The model: 0 of 1 check passed; 1 is not clear. Its explanations: all 2 checks passed." in flat(text)
    assert text.index("── The model and its data ──") < text.index("── Its explanations ──")
    (suite,) = ElementTree.fromstring(_written(a))
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert suite[0].get("classname") == "veridical.model.accuracy"
    assert suite[0][0].get("message").startswith("Not clear: ")
    (strict,) = ElementTree.fromstring(_written(replace(a, strict=True)))
    assert (strict.get("failures"), strict[0][0].tag) == ("1", "failure")


def test_what_was_measured_stands_beside_its_limit_and_the_good_direction() -> None:
    v = cases.doubtful().results[0].verdict
    line = "share of right answers: 0.610 [0.480, 0.720]; higher is better, limit 0.550"
    assert line in flat(str(cases.doubtful()))
    page = seen(v)
    assert [row[0] for row in page.tables[0][2:4]] == ["share of right answers", "limit"]
    assert "expected" not in page.text.lower().replace("unexpected", "")


def test_what_failed_stands_open_and_the_rest_can_be_opened() -> None:
    page = seen(cases.plain())
    opened = [known for tag, known in page.found if tag == "details" and "open" in known]
    assert len(opened) == 2
    evidence = [known for tag, known in page.found if tag == "details" and known.get("class") == "vd-evidence"]
    assert len(evidence) == 1
    assert "open" not in evidence[0]


def test_pictures_are_many_only_where_something_is_wrong() -> None:
    found = replace(cases.verdict(), evidence=(cases.mapped(),) * 5)
    drawn = {}
    for passed in (False, True):
        result = vd.checks.Result("randomize", "Lime", replace(found, passed=passed))
        drawn[passed] = html.fragment(vd.checks.Audit("t", (result,))).count("the map, place by place")
    assert drawn == {False: 3, True: 1}


def test_every_reason_is_shown() -> None:
    a = replace(cases.plain(), results=cases.plain().results + cases.broken().results)
    page, text = seen(a).text, flat(str(a))
    for r in a.results:
        said = r.reason or r.verdict.sentence
        assert said in page
        assert said in text


@pytest.mark.parametrize(
    ("case", "sentence", "code", "mark"),
    [
        (cases.plain, "Its explanations: 2 of 5 checks failed.", 1, "✗"),
        (cases.good, "Its explanations: all 2 checks passed.", 0, "✓"),
        (
            cases.broken,
            "Its explanations: all 2 checks that could be finished passed; 1 could not be finished.",
            1,
            "✗",
        ),
        (cases.unchecked, "Its explanations: nothing could be checked.", 2, "–"),
        (cases.empty, "Nothing was checked.", 2, "–"),
    ],
)
def test_the_whole_in_one_line(case: Any, sentence: str, code: int, mark: str) -> None:
    a = case()
    assert (a.sentence, a.exit_code, a.passed) == (sentence, code, code == 0)
    assert str(a).splitlines()[1].startswith(mark)
    assert sentence in flat(str(a))
    assert sentence in seen(a).text


def test_what_is_left_out_is_counted() -> None:
    v, page = cases.wide_verdict(), seen(cases.wide_verdict())
    assert f"And {1 + 99 - PAGE.measures} more lines, not drawn." in page.texts
    assert f"And {30 - 2 * PAGE.notes} more notes." in page.texts
    assert f"And {20 - MOST_EVIDENCE} more, not drawn." in page.texts
    assert "and 88 more of the data, the worst first." in page.text
    assert all(note in str(v) for note in v.notes)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.12345, "0.123"),
        (-0.0, "0.000"),
        (1e-9, "1.0e-09"),
        (12345.6, "12,346"),
        (math.nan, "–"),
        (56.78, "56.8"),
    ],
)
def test_numbers_in_words(value: float, words: str) -> None:
    assert brief(value) == words


@pytest.mark.parametrize(("seconds", "words"), [(1.26, "1.3 s"), (75.0, "1 min 15 s"), (math.nan, "unknown time")])
def test_times_in_words(seconds: float, words: str) -> None:
    assert time_words(seconds) == words


# ---- maps


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_maps_lie_on_their_picture_wherever_the_channels_are(shape: tuple[int, ...], axis: int) -> None:
    e = cases.mapped(shape, axis)
    (plane,) = planes(e)
    np.testing.assert_allclose(plane, e.map.sum(axis=axis) if len(shape) == 3 else e.map)
    assert plane.shape == (48, 64)
    assert html.fragment(e).count("data:image/png") == 3  # the picture, its map, and the map over it
    assert "the map, place by place" in seen(e).texts


def test_maps_that_fit_nothing_are_not_drawn() -> None:
    e = cases.mapped()
    for wrong in (None, np.zeros(7), np.zeros((5, 4)), "map", np.empty((0, 0)), np.array([["a"]])):
        assert planes(replace(e, map=wrong)) is None
        assert "the map" not in seen(replace(e, map=wrong)).text
    assert planes(replace(e, view=None)) is None


def test_colors_are_symmetric_and_saturate_at_the_99th_percentile() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=10_000)
    assert reach(values) == pytest.approx(np.percentile(np.abs(values), 99))
    assert reach(np.zeros(9)) == 1.0
    assert reach(np.r_[np.zeros(999), 3.0]) == 3.0
    colors = tinted(np.array([-9.0, -1.0, 0.0, 1.0, 9.0]), 1.0).astype(int)
    assert (colors[0] == colors[1]).all()
    assert (colors[3] == colors[4]).all()
    assert (colors[2] == 247).all()
    assert colors[3, 2] > colors[3, 0]  # blue raises
    assert colors[1, 0] > colors[1, 2]  # orange lowers


def test_odd_numbers_in_maps_are_nothing() -> None:
    odd = cases.mapped().map.copy()
    odd[0, 0], odd[1, 1], odd[2, 2] = np.nan, np.inf, -np.inf
    (plane,) = planes(replace(cases.mapped(), map=odd))
    assert np.isfinite(plane).all()
    assert plane[0, 0] == plane[1, 1] == plane[2, 2] == 0


def test_frames_of_a_volume_and_spectrograms_have_maps_too() -> None:
    e = cases.mapped()
    frames = np.repeat(e.view.data["pixels"], 4, axis=0)
    labels = np.repeat(e.view.data["labels"], 4, axis=0)
    view = replace(e.view, data={"pixels": frames, "labels": labels, "titles": ("",) * 4})
    volume = np.arange(7)[:, None, None] * np.ones((7, 48, 64))
    found = planes(replace(e, view=view, map=volume))
    assert found[:, 0, 0].tolist() == [0, 2, 4, 6]
    levels = np.zeros((20, 30), np.uint8)
    heard = vd.records.View("spectrogram", {"levels": levels, "labels": np.zeros((20, 30), int)})
    own = np.arange(600.0).reshape(20, 30)
    for given_map in (own, own.T, own[None]):
        (plane,) = planes(replace(e, view=heard, map=given_map))
        assert plane[-1, 0] == 0  # low bands are below


# ---- frames, files and figures


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("case", [*VERDICTS, *AUDITS])
def test_records_are_saved_exactly(case: Any, suffix: str, tmp_path: Path) -> None:
    found = case()
    found.save(tmp_path / f"r{suffix}")
    again = vd.load(tmp_path / f"r{suffix}")
    assert exact(again) == exact(found)
    assert exact(pickle.loads(pickle.dumps(again))) == exact(found)


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_explanations_keep_map_and_what_a_check_found(suffix: str, dtype: str, tmp_path: Path) -> None:
    e = replace(cases.mapped(), map=cases.mapped().map.astype(dtype), verdict=cases.verdict())
    many = vd.Explanations((e, made.mushroom(), e))
    many.save(tmp_path / f"m{suffix}")
    again = load(tmp_path / f"m{suffix}")
    assert exact(again) == exact(many)
    assert not again[0].map.flags.writeable


def test_the_comparison_itself_can_fail() -> None:
    v, e = cases.verdict(), cases.mapped()
    for changed in (
        replace(v, interval=(np.nextafter(v.interval[0], 1), v.interval[1])),
        replace(v, nulls={**v.nulls, "noise": 0.0}),
        replace(v, measures=(replace(v.measures[0], n=7), *v.measures[1:])),
        replace(v, evidence=(replace(e, map=np.nextafter(e.map, 1)), *v.evidence[1:])),
        replace(v, rows=(1,)),
        replace(v, notes=()),
    ):
        assert exact(changed) != exact(v)
    assert exact(cases.verdict()) == exact(v)


def test_json_is_strict(tmp_path: Path) -> None:
    for case in (cases.extreme_verdict, cases.extreme, cases.plain):
        case().save(tmp_path / "r.json")
        json.loads((tmp_path / "r.json").read_text(), parse_constant=lambda word: pytest.fail(word))


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", 1), ("results", None), ("results", [{}]), ("n_calls", "many"), ("notes", [{}]), ("seconds", None)],
)
def test_a_damaged_audit_is_refused(field: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    save(cases.plain(), path)
    document = json.loads(path.read_text())
    document["items"][0][field] = value
    path.write_text(json.dumps(document))
    with pytest.raises(InputError):
        load(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [("outcome", "passed"), ("outcome", "?"), ("verdict", None), ("check", 3), ("seconds", "soon")],
)
def test_a_damaged_result_is_refused(field: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    save(cases.plain(), path)
    document = json.loads(path.read_text())
    document["items"][0]["results"][1][field] = value
    path.write_text(json.dumps(document))
    with pytest.raises(InputError):
        load(path)


def test_frames(tmp_path: Path) -> None:
    a, v = cases.plain(), cases.verdict()
    frame = a.to_frame()
    assert frame["outcome"].tolist() == [r.outcome for r in a.results]
    assert frame.loc[1, ["observed", "low", "high", "expected"]].tolist() == [v.observed, *v.interval, v.expected]
    assert frame.loc[4, "reason"] == a.results[4].reason
    measures = v.to_frame()
    assert len(measures) == 1 + len(v.measures)
    assert measures["null: another"].tolist() == [0.21] * len(measures)
    assert measures.loc[0, "measure"] == ""
    for record in (a, v):
        for suffix in (".csv", ".parquet"):
            record.save(tmp_path / f"r{suffix}")
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "r.parquet"), record.to_frame())
        again = pd.read_csv(tmp_path / "r.csv", keep_default_na=False)
        assert again["sentence"].tolist() == record.to_frame()["sentence"].tolist()
    assert list(cases.empty().to_frame().columns) == list(frame.columns)


def _written(a: vd.checks.Audit) -> bytes:
    stream = BytesIO()
    write_junit(a, stream)
    return stream.getvalue()


def test_junit_says_what_failed_and_why(tmp_path: Path) -> None:
    a = replace(cases.plain(), results=cases.plain().results + cases.broken().results[-1:])
    a.save(tmp_path / "a.xml")
    (suite,) = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert (suite.tag, suite.get("name")) == ("testsuite", a.title)
    counted = {key: int(suite.get(key)) for key in ("tests", "failures", "errors", "skipped")}
    assert counted == {"tests": 9, "failures": 2, "errors": 1, "skipped": 3}
    by_name = {(case.get("classname"), case.get("name")): case for case in suite}
    failed = by_name["veridical.method.randomize", "GuidedBackprop"]
    assert failed.find("failure").get("message") == cases.verdict().sentence
    assert "Spearman, signed, down to conv 5" in failed.find("failure").text
    assert by_name["veridical.method.shift", "Lime"].find("skipped").get("message") == a.results[4].reason
    assert by_name["veridical.method.labels", "Lime"].find("error") is not None
    passed = by_name["veridical.method.randomize", "Lime"]
    assert [child.tag for child in passed] == ["system-out"]
    assert float(passed.get("time")) == pytest.approx(2.3)


def test_junit_of_strangers_is_well_formed() -> None:
    odd = (*made.HOSTILE[:8], "\ufffe\uffff", "]]>", "\x00\x0b")
    for names in (odd, odd[::-1]):
        assert ElementTree.fromstring(_written(cases.strangers(names))).tag == "testsuites"


@pytest.mark.parametrize(
    "case",
    [*VERDICTS[:2], *VERDICTS[3:], *AUDITS[:5], cases.extreme, cases.mapped],
    ids=lambda case: case.__name__,
)
def test_figures_are_drawn(case: Any, tmp_path: Path, pyplot: Any) -> None:
    case().save(tmp_path / "r.svg")
    assert "<svg" in (tmp_path / "r.svg").read_text(encoding="utf-8")
    assert not pyplot.get_fignums()


def test_pages_are_saved_and_other_suffixes_refused(tmp_path: Path) -> None:
    for record, kind in ((cases.plain(), "audit"), (cases.verdict(), "verdict")):
        record.save(tmp_path / "r.html")
        assert (tmp_path / "r.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
        with pytest.raises(InputError, match=rf"cannot save {kind} as 'r\.txt': the name must end in \.json, \."):
            record.save(tmp_path / "r.txt")
