"""Reports: their pictures say what the records say, every reason is shown, and what is saved is what is loaded."""

from __future__ import annotations

import json
import pickle
import re
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veridical as vd
from tests.builders import explanations as made
from tests.builders import report_cases as cases
from tests.builders.pages import Reader, assert_ours, exact, flat
from veridical.display import html, terminal
from veridical.display.assessments import MOST_PAIRS, best_of, note_of, p_words, report
from veridical.display.blocks import LEVEL, Scores, Section
from veridical.display.html import PAGE
from veridical.display.saving import save
from veridical.errors import InputError
from veridical.metrics.reports import Report
from veridical.scale.stores.store import load

TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "footer", "section", "h1", "h2", "h3",
    "h4", "div", "p", "span", "b", "bdi", "i", "strong", "small", "sup", "table", "thead", "tbody", "tr", "th",
    "td", "svg", "path", "dl", "dt", "dd", "ul", "li", "details", "summary",
}  # fmt: skip
CASES = (
    cases.plain, cases.lone, cases.wide, cases.reasons, cases.nothing, cases.single, cases.strangers,
    cases.extreme, cases.empty,
)  # fmt: skip


def sheets_of(r: Report) -> list[Scores]:
    """The table of every family."""
    sections = [block for block in report(r, PAGE) if isinstance(block, Section)]
    return [block for section in sections for block in section.blocks if isinstance(block, Scores)]


def seen(report: Report) -> Reader:
    return Reader(html.fragment(report))


# ---- what holds for every picture


@pytest.mark.parametrize("case", CASES)
def test_markup_is_ours_alone(case: Any) -> None:
    r = case()
    for markup in (
        html.fragment(r),
        html.page(vd.Page(made.HOSTILE[0], [(made.HOSTILE[1], r), ("", made.mushroom())])),
    ):
        assert_ours(markup, Reader(markup), TAGS | {"colgroup", "col", "rect"})
    assert r._repr_html_() == html.fragment(r)
    assert set(seen(r).tags) <= TAGS


def test_the_reader_sees_an_attack() -> None:
    assert not set(Reader("<div><script>alert(1)</script></div>").tags) <= TAGS
    with pytest.raises(AssertionError):
        Reader("<div></p></div>")


def test_hostile_names_are_shown_as_text() -> None:
    page = seen(cases.strangers())
    for name in made.HOSTILE[:4]:
        assert page.text.count(flat(name)) > 10
    assert page.tags["script"] == 0


@settings(max_examples=15, deadline=None)
@given(names=st.lists(st.text(min_size=1, max_size=30), min_size=2, max_size=4))
def test_any_text_is_harmless(names: list[str]) -> None:
    r = cases.strangers(names)
    assert set(seen(r).tags) <= TAGS
    assert not [c for c in str(r) if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs"}]
    assert max(map(terminal.cells, str(r).splitlines())) <= 80


@pytest.mark.parametrize("case", CASES)
def test_the_terminal_is_80_columns_wide(case: Any) -> None:
    text = str(case())
    assert max(map(terminal.cells, text.splitlines())) <= 80
    assert not [c for c in set(text) if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs"}]
    assert not re.search(r"\b(None|nan|inf)\b", text)
    assert len(text) < 60_000


def test_pages_are_light_and_dark_and_fragments_take_their_ink_from_around_them() -> None:
    markup = html.page(vd.Page("t", [("", cases.plain())]))
    assert "prefers-color-scheme:dark" in markup
    style = re.search(r"<style>(.*?)</style>", html.fragment(cases.plain()), re.S)[1]
    scores = next(css for names, css in html.sheets().items() if "vd-scores" in names)
    assert scores.replace(".vd ", ".vd.vd ") in style
    assert not re.search(r"#[0-9a-f]{3,6}", scores)
    assert "vd-scores{" not in html.fragment(made.mushroom())


def test_wide_tables_scroll_in_a_box_that_the_keyboard_reaches() -> None:
    page = seen(cases.wide())
    boxes = page.all("div", "vd-box")
    assert len(boxes) == page.tags["table"] == 6  # scores and differences of three families
    assert all(box["role"] == "group" and box["tabindex"] == "0" and box["aria-label"] for box in boxes)
    assert "overflow-x:auto" in html.sheets()["vd-box"]


def test_no_drawing_says_what_words_do_not() -> None:
    page = seen(cases.plain())
    assert all(known["aria-hidden"] == "true" for known in page.all("svg"))
    signs = [known["aria-label"] for tag, known in page.found if known.get("role") == "img"]
    assert {"higher is better", "lower is better", "among the best", LEVEL} == set(signs)
    for scope in ("col", "row", "rowgroup"):
        assert [known for known in page.all("th") if known["scope"] == scope]


# ---- what the tables say


def test_a_table_a_family_with_methods_first_and_null_rows_below() -> None:
    r = cases.plain()
    sheets = sheets_of(r)
    assert [s.family for s in sheets] == ["fidelity", "removal", "complexity"]
    assert [[c.name for c in s.columns] for s in sheets] == [
        ["fidelity", "infidelity"], ["deletion", "insertion"], ["size"]
    ]  # fmt: skip
    page = seen(r)
    scores = [page.tables[i] for i in (0, 2, 4)]
    for table, sheet in zip(scores, sheets, strict=True):
        names = [row[0] for row in table]
        assert [n.strip() for n in names[1:5]] == list(r.methods)
        assert names[5].startswith("Null rows")
        assert [n.strip() for n in names[6:]] == list(r.nulls)
        assert [h.strip() for h in table[0][1:]] == [f"{c.name} {c.arrow}" for c in sheet.columns]
    assert len(page.all("tbody", "vd-null")) == 3


def test_cells_hold_mean_interval_and_mark() -> None:
    page, lines = seen(cases.plain()), str(cases.plain()).splitlines()
    s = cases.plain().score("fidelity", "Lime")
    row = next(row for row in page.tables[0] if row[0].strip() == "Lime")
    assert flat(row[1]) == f"{s.mean:.3f} ★ {s.low:.3f} to {s.high:.3f}"
    line = next(line for line in lines if line.startswith("  Lime "))
    assert f"{s.mean:.3f}* [{s.low:.3f}, {s.high:.3f}]" in line
    starts = {line.index("[") for line in lines if line.startswith(("  Lime ", "  random "))}
    assert len(starts) == 1, "numbers stand below one another"


def test_the_best_and_who_cannot_be_told_from_it_are_bold() -> None:
    r = cases.plain()
    assert set(best_of(r, "fidelity")) == set(best_of(r, "deletion")) == {"Lime", "KernelShap"}
    page, text = seen(r), str(r)
    assert page.tags["strong"] - sum(bold_pairs(r)) == 2 * len(r.metrics)
    for name in ("Lime", "KernelShap"):
        assert all("*" in line for line in rows_of(text, name))
    for name in ("Occlusion", "random"):
        assert not any("*" in line for line in rows_of(text, name))
    *beaten, short = rows_of(text, "RandomParts")
    assert all(line.count("~") == 2 for line in beaten)
    assert "~" not in short, "a short explanation need not be good, so null rows say nothing of its size"
    assert not any("~" in line for line in rows_of(text, "Occlusion"))


def rows_of(text: str, name: str) -> list[str]:
    found = [line for line in text.splitlines() if line.startswith(f"  {name} ")]
    assert found
    return found


def bold_pairs(r: Report) -> list[int]:
    """Bold cells in the tables of differences."""
    return [3 for c in r.comparisons if c.p < 0.05 and {c.first, c.second} <= set(r.methods)]


def test_one_method_is_not_the_best_of_one() -> None:
    page, text = seen(cases.lone()), str(cases.lone())
    assert page.tags["strong"] == 0
    assert "*" not in text
    assert "cannot be told from" not in page.text
    assert page.tags["table"] == 2  # nothing to differ from


def test_lower_is_better_where_the_metric_says_so() -> None:
    r = cases.plain()
    flipped = replace(r, metrics=tuple(replace(m, better="higher") for m in r.metrics))
    assert best_of(flipped, "deletion") == ("RandomParts",)


def test_sentences_stand_above_their_table() -> None:
    r = cases.plain()
    page, text = seen(r), flat(str(r))
    for sentence in r.sentences:
        assert flat(sentence) in page.text.replace(" (", " (")
        assert flat(sentence) in text
    assert page.text.index(r.sentences[1]) < page.text.index("Null rows: ") < page.text.index(r.sentences[2])


def test_what_metrics_measure_and_how_methods_differ_is_there() -> None:
    r, page = cases.plain(), seen(cases.plain())
    for m in r.metrics:
        assert f"{m.name} ({m.better} is better): {m.sentence}" in page.text
    pairs = page.tables[1]
    assert pairs[0] == ["Metric", "First", "Second", "First − second", "95 % interval", "p, adjusted"]
    assert len(pairs) == 1 + 2 * 6
    row = next(row for row in pairs if row[0].strip() == "infidelity" and row[2].strip() == "Occlusion")
    assert [flat(cell) for cell in row[1:]] == ["Lime", "Occlusion", "−0.300", "−0.320 to −0.280", "0.001"]
    assert f"And {10 * 66 - MOST_PAIRS:,} more pairs, not drawn." in seen(cases.wide()).texts


@pytest.mark.parametrize(("p", "words"), [(0.0, "< 0.001"), (0.0123, "0.012"), (1.0, "1.000"), (np.nan, "–")])
def test_p_values_in_words(p: float, words: str) -> None:
    assert p_words(p) == words


# ---- what is not there, and why


def test_every_reason_is_shown() -> None:
    r = cases.reasons()
    page, text = seen(r), flat(str(r))
    for words in (*cases.REASONS, "on 30 of 40 instances", "on 39 of 40 instances", "no reason was given"):
        assert words in page.text
        assert words in text
    for sheet in sheets_of(r):
        assert len(sheet.notes) == len(set(sheet.notes))
        used = {cell.note for c in sheet.columns for cell in c.cells} - {0}
        assert used == set(range(1, len(sheet.notes) + 1))
    dashes = sum(flat(cell).startswith("–") for table in page.tables for row in table for cell in row[1:])
    assert dashes == sum(not np.isfinite(s.mean) for s in r.scores) == 22


def test_a_footnote_is_found_by_its_number() -> None:
    r = cases.reasons()
    page = seen(r)
    table = next(t for t in page.tables if "deletion" in t[0][1])
    cells = {row[0].strip(): flat(row[2]) for row in table[1:] if len(row) > 2}
    assert cells["Lime"] == "– 2"
    assert cells["Occlusion"].split(" ")[1] == "3"
    notes = sheets_of(r)[1].notes
    assert (notes[1], notes[2]) == (cases.REASONS[3], f"on 30 of 40 instances: {cases.REASONS[2]}")
    assert re.search(r"^  Lime +– \(1\) +– +\(2\)$", str(r), re.M)


def test_without_any_number_there_is_no_winner() -> None:
    r = cases.nothing()
    page, text = seen(r), str(r)
    assert page.tags["strong"] == page.tags["svg"] == 0
    assert "*" not in text
    assert "★" not in page.text
    assert text.count("(1) predict failed") == 3
    assert page.text.count("predict failed") >= 3


def test_one_instance_has_means_but_no_intervals_and_no_winner() -> None:
    page, text = seen(cases.single()), str(cases.single())
    assert "one instance: no interval" in page.text
    assert "one instance: no interval" in text
    assert "[" not in text
    assert not re.search(r"\d[*~]", text)
    assert page.tags["strong"] == 0
    s = cases.single().scores[0]
    assert note_of(replace(s, reason=""), 1) == "no interval"
    assert note_of(cases.plain().scores[0], 40) == ""


def test_no_metric_is_a_headline() -> None:
    page, text = seen(cases.empty()), str(cases.empty())
    assert text.startswith("4 methods on 40 instances, by 0 metrics, beside 6 null rows")
    assert page.tags["table"] == 0
    assert len(cases.empty().to_frame()) == 0


def test_long_numbers_are_short() -> None:
    page = seen(cases.extreme())
    assert "1.8e+308" in page.text
    assert max(len(word) for table in page.tables for row in table for cell in row for word in cell.split()) < 40


def test_notes_are_shown_and_counted() -> None:
    r = replace(cases.plain(), notes=tuple(f"Note {i}." for i in range(20)))
    page = seen(r)
    assert f"And {20 - 2 * PAGE.notes} more notes." in page.texts
    assert page.text.index("Note 0.") < page.text.index(flat(r.sentences[0]))  # what limits them is said before
    assert all(f"note: Note {i}." in str(r) for i in range(20))


# ---- frames, files and figures


def test_frames() -> None:
    r = cases.plain()
    frame = r.to_frame()
    assert len(frame) == 5 * 10
    lime = frame[(frame["metric"] == "deletion") & (frame["method"] == "Lime")].iloc[0]
    s = r.score("deletion", "Lime")
    assert (lime["mean"], lime["low"], lime["high"], lime["n"]) == (s.mean, s.low, s.high, 40)
    assert (lime["family"], lime["better"], lime["null"], lime["reason"]) == ("removal", "lower", False, "")
    ranks = frame[frame["metric"] == "deletion"].set_index("method")["rank"]
    assert ranks[["Lime", "KernelShap", "Occlusion", "RandomParts"]].tolist() == [1, 1, 3, 4]
    assert ranks[list(r.nulls)].isna().all()
    assert frame["null"].sum() == 5 * 6
    gone = cases.nothing().to_frame()
    assert gone["rank"].isna().all()
    assert set(gone["reason"]) == {"predict failed"}
    assert list(cases.empty().to_frame().columns) == list(frame.columns)


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
@pytest.mark.parametrize("case", CASES)
def test_reports_are_saved_exactly(case: Any, suffix: str, tmp_path: Path) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    r = case()
    r.save(tmp_path / f"r{suffix}")
    again = load(tmp_path / f"r{suffix}")
    assert isinstance(again, Report)
    assert exact(again) == exact(r)
    assert not any(s.values.flags.writeable for s in again.scores)
    assert exact(pickle.loads(pickle.dumps(again))) == exact(r)


def test_json_is_strict_and_a_loaded_metric_does_not_measure(tmp_path: Path) -> None:
    cases.extreme().save(tmp_path / "r.json")
    json.loads((tmp_path / "r.json").read_text(), parse_constant=lambda word: pytest.fail(word))
    again = load(tmp_path / "r.json")
    with pytest.raises(InputError, match="cannot measure"):
        again.metrics[0].measure(None, np.random.default_rng())


def test_the_comparison_itself_can_fail() -> None:
    r = cases.plain()
    first, c = r.scores[0], r.comparisons[0]
    for changed in (
        replace(r, scores=(replace(first, mean=np.nextafter(first.mean, 1)), *r.scores[1:])),
        replace(r, scores=(replace(first, values=np.nextafter(first.values, 1)), *r.scores[1:])),
        replace(r, comparisons=(replace(c, p=np.nextafter(c.p, 1)), *r.comparisons[1:])),
        replace(r, metrics=(replace(r.metrics[0], sentence="?"), *r.metrics[1:])),
        replace(r, recipe={}),
        replace(r, title="?"),
    ):
        assert exact(changed) != exact(r)
    assert exact(cases.plain()) == exact(r)


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", 1), ("metrics", []), ("metrics", [["a", "sideways", "b", "c"]]), ("methods", ["Lime"]),
     ("nulls", [1]), ("scores", []), ("scores", None), ("n_instances", 39), ("comparisons", [[1]]),
     ("notes", [{}])],
)  # fmt: skip
def test_a_damaged_report_is_refused(field: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    save(cases.plain(), path)
    document = json.loads(path.read_text())
    document["items"][0][field] = value
    path.write_text(json.dumps(document))
    with pytest.raises(InputError):
        load(path)


def test_tables_can_be_read_by_anything(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    r = cases.reasons()
    r.save(tmp_path / "r.csv")
    r.save(tmp_path / "r.parquet")
    frame = r.to_frame()
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "r.parquet"), frame)
    again = pd.read_csv(tmp_path / "r.csv").fillna({"reason": ""})
    np.testing.assert_allclose(again["mean"], frame["mean"], rtol=1e-14)  # older pandas round the last digit
    assert again["reason"].tolist() == frame["reason"].tolist()
    with pytest.raises(InputError, match=r"must end in \.json, \.parquet"):
        load(tmp_path / "r.csv")


def test_texts_that_are_not_unicode_are_refused_where_they_would_be_lost(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    r = cases.plain()
    broken = replace(r, scores=(replace(r.scores[0], reason="lone \ud800"), *r.scores[1:]))
    with pytest.raises(InputError, match=r"not valid Unicode: save as \.json"):
        broken.save(tmp_path / "r.parquet")
    assert not list(tmp_path.iterdir())
    broken.save(tmp_path / "r.csv")  # for people
    assert "lone \ufffd" in (tmp_path / "r.csv").read_text(encoding="utf-8")
    broken.save(tmp_path / "r.json")
    assert exact(load(tmp_path / "r.json")) == exact(broken)


def test_pages_are_saved_and_other_suffixes_refused(tmp_path: Path) -> None:
    cases.plain().save(tmp_path / "r.html")
    markup = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert markup.startswith("<!DOCTYPE html>")
    assert html.part(cases.plain(), 1) in markup
    with pytest.raises(
        InputError, match=r"cannot save report as 'r\.txt': the name must end in \.json, \.parquet"
    ):
        cases.plain().save(tmp_path / "r.txt")


def test_a_page_takes_reports_among_other_records() -> None:
    page = Reader(html.page(vd.Page("t", [("One", cases.plain()), ("Two", vd.pick(made.many(20), 3))])))
    assert {"One", "Two"} <= set(page.texts)


@pytest.mark.parametrize(
    "case",
    [cases.plain, cases.lone, cases.wide, cases.reasons, cases.nothing, cases.single, cases.extreme, cases.empty],
)
def test_figures_are_drawn(case: Any, tmp_path: Path, pyplot: Any) -> None:
    case().save(tmp_path / "r.svg")
    assert "<svg" in (tmp_path / "r.svg").read_text(encoding="utf-8")
    assert not pyplot.get_fignums()


# ---- null rows that say nothing


@pytest.mark.parametrize(
    ("family", "beaten"),
    [
        ("fidelity", ("random", "constant", "shuffled b")),
        ("stability", ("random", "shuffled b")),
        ("randomization", ("constant",)),
        ("complexity", ()),
    ],
)
def test_methods_need_not_beat_null_rows_that_are_perfect_at_a_metric(
    family: str, beaten: tuple[str, ...]
) -> None:
    r = cases.report([cases.metric("m", "higher", family)], {"a": 0.8, "b": 0.12})
    assert r.no_better_than("m", "a") == ()
    assert r.no_better_than("m", "b") == beaten
    marked = [cell.level for cell in sheets_of(r)[0].columns[0].cells]
    assert marked == [False, bool(beaten), *[False] * 4]
    assert ("b is not shown to be better than" in r.sentences[0]) == bool(beaten)
    lines = seen(r).all("path", "vd-nothing")
    assert len(lines) == (0 if family == "complexity" else 2)


def test_what_was_not_compared_is_not_said_to_lose() -> None:
    r = cases.single()
    assert not any(r.no_better_than(m.name, method) for m in r.metrics for method in r.methods)
