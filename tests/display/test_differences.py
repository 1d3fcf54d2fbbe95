"""Differences in every medium: both sides, the difference, its interval and the verdict are always there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders import explanations as made
from tests.builders import view_cases as cases
from tests.builders.pages import Reader, exact, flat
from veridical.display.contents import LARGER, NOISE, UNMEASURED, mark_of, marked, ordered
from veridical.display.terminal import render_text
from veridical.display.words import cells
from veridical.records import Explanation, Explanations

ALIKE = (made.mushroom, made.unmeasured, made.constant, made.empty, made.extreme, made.hostile)
EVERY = (*ALIKE, *cases.CASES)
TITLES = ("old model", "new model")


def other(e: Explanation) -> Explanation:
    """The same parts with weights turned round, as another model with another seed would give them."""
    turned = np.roll(e.weights, 1)
    ends = np.sort(np.stack([turned - 0.05, turned + 0.05], axis=1), axis=1) + 0 * np.nan_to_num(e.intervals)
    verdict = vd.Verdict(False, 0.1, 0.5, "The second is not settled.")
    return replace(
        e, weights=turned, intervals=ends, prediction=0.125, local_prediction=0.375, fidelity=0.25, verdict=verdict
    )


def pair(case: Any) -> vd.comparisons.Difference:
    e = case()
    return vd.compare(e, other(e) if len(e.weights) and np.isfinite(e.weights).all() else e, names=TITLES)


def rows() -> vd.comparisons.Difference:
    many = made.many(12)
    return vd.compare(many, Explanations(tuple(map(other, many))), names=TITLES)


@pytest.mark.parametrize("case", EVERY)
def test_every_pair_is_drawn_as_text(case: Any) -> None:
    d = pair(case)
    for width in (50, 80, 120):
        shown = render_text(d, width)
        assert max(map(cells, shown.splitlines())) <= width
        assert not [c for c in shown if c != "\n" and not c.isprintable()]
    assert flat(d.verdict.sentence)[:30] in flat(str(d)) or case is made.hostile


@pytest.mark.parametrize("case", EVERY)
def test_every_pair_is_drawn_as_a_page(case: Any) -> None:
    page = Reader(pair(case)._repr_html_())
    assert not set(page.tags) & {"script", "iframe", "object", "a", "img", "link"}
    assert not [name for _, known in page.found for name in known if name.startswith("on")]
    assert all(title in page.text for title in TITLES)


def said_in(shown: str) -> None:
    for words in (
        "old model", "new model", "0.93", "0.91 of 0.93", "0.12", "speaks most for poisonous",
        "The second is not settled.", "differ beyond the noise", "poisonous", "25 %", "87 %", "odor = foul",
    ):  # fmt: skip
        assert words in shown, words


def test_all_that_matters_is_said_in_text_and_page() -> None:
    d = pair(made.mushroom)
    said_in(flat(str(d)))
    page = Reader(d._repr_html_())
    said_in(flat(page.text).replace("\u00a0", " "))
    (table,) = page.tables
    assert len(table) == 8
    line = next(row for row in table if "odor = foul" in row[0])
    assert flat(line[2]) == "+0.2610.000"  # each a block of its own
    assert flat(line[4]) == f"{LARGER} −0.261−0.359 to −0.163"
    told = [known["aria-label"] for _, known in page.found if known.get("class") == "vd-sign"]
    assert told.count("larger than the noise") == int(d.larger.sum()) > 0


def test_the_order_is_by_what_is_sure() -> None:
    e = made.unmeasured()
    weights = e.weights + np.array([0.0, 9.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    moved = replace(e, weights=weights, intervals=e.intervals + (weights - e.weights)[:, None], recipe={"rng": 3})
    d = vd.compare(e, moved)
    assert [mark_of(d, j) for j in (0, 1, 2)] == [NOISE, UNMEASURED, LARGER]
    first, second = (str(d).index(name) for name in ("50.5   ", "gill-size"))
    assert first < second
    assert d.top(2) == [
        ("30 < stalk-height ≤ 50.5", pytest.approx(0.5)),
        ("gill-size = narrow", pytest.approx(9.0)),
    ]
    assert "not measured" in Reader(d._repr_html_()).text


def test_many_rows_show_those_that_changed_most() -> None:
    d = rows()
    worst = int(d.rows[0])
    assert f"row {worst}:" in str(d)
    page = Reader(d._repr_html_())
    assert page.tags["details"] == 6
    assert f"Row {worst}" in page.text
    assert "12 explanations" in page.text


def test_letters_are_the_same_on_both_sides() -> None:
    d = pair(cases.picture)
    (table,) = Reader(d._repr_html_()).tables
    named = {row[0][0]: row[0][1:] for row in table[1:]}
    assert list(named) == list("ABCDEF")
    for side in (d.first, d.second):
        letters = marked(d, side, ordered(d, 6)).letters
        assert {letter: side.names[j] for j, letter in letters.items()} == named


@pytest.mark.parametrize(
    "case", [made.mushroom, made.unmeasured, made.extreme, cases.text, cases.picture, cases.fields]
)
@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_what_is_saved_is_what_is_loaded(case: Any, suffix: str, tmp_path: Path) -> None:
    d = pair(case)
    d.save(tmp_path / f"d.{suffix}")
    assert exact(vd.load(tmp_path / f"d.{suffix}")) == exact(d)


def test_many_are_saved_too(tmp_path: Path) -> None:
    d = rows()
    for suffix in ("json", "parquet", "csv", "html"):
        d.save(tmp_path / f"d.{suffix}")
    for suffix in ("json", "parquet"):
        assert exact(vd.load(tmp_path / f"d.{suffix}")) == exact(d)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "d.parquet"), d.to_frame())
    assert list(pd.read_csv(tmp_path / "d.csv").columns) == list(d.to_frame().columns)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    pair(made.mushroom).save(path)
    whole = path.read_text()
    for broken in (
        whole.replace('"counts": [1, ', '"counts": ['),
        whole.replace('"titles": ["old model", ', '"titles": ['),
    ):
        assert broken != whole
        path.write_text(broken)
        with pytest.raises(vd.errors.InputError, match="damaged"):
            vd.load(path)
