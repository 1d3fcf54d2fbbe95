"""One page for a model: what is on it, how rows are drawn, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import veridical as vd
from tests.builders.browser import Chromium, Look
from tests.builders.gallery import model_page, review
from veridical.errors import InputError, ModelError
from veridical.pages import QUICK_CHECKS, draw_rows, report_model
from veridical.records import Output
from veridical.summaries.importances import Importance
from veridical.summaries.picks import Pick

HEADINGS = (
    "What the model goes by",
    "Rows that show it",
    "Groups of rows",
    "Where explanations are unreliable",
    "Checks",
    "How this page was made",
)
QUICK = vd.Lime(n_samples=64)
X = np.random.default_rng(0).normal(size=(120, 3))
ROWS = vd.Rows(X, names=["a", "b", "c"])


def add(rows: Any) -> Any:
    return 3 * rows[:, 0] + rows[:, 1]


def sections(page: vd.Page) -> dict[str, tuple[Any, str]]:
    """Records and texts by their headings."""
    return {heading: (record, text) for heading, record, text in page.sections}


def test_the_sections_of_a_table() -> None:
    page = model_page()
    found = sections(page)
    assert tuple(found) == HEADINGS
    assert isinstance(found[HEADINGS[0]][0], Importance)
    assert isinstance(found[HEADINGS[1]][0], Pick)
    assert isinstance(found[HEADINGS[2]][0], vd.groupings.Grouping)
    assert page.title == "What loan goes by"
    assert "count most for paid" in page.lead
    assert "80 of 200 rows, drawn at random" in page.lead
    assert "80 of 200 rows were drawn at random" in found[HEADINGS[5]][1]
    assert "(seed 0)" in found[HEADINGS[5]][1]
    assert found[HEADINGS[4]] == (None, "No right answers were given (y=, or --label), so nothing was checked.")


def test_labels_are_counted_in_words() -> None:
    found = sections(model_page())
    counts = dict(found[HEADINGS[0]][0].labels)
    told = found[HEADINGS[3]][1]
    assert sum(counts.values()) == 80
    for label, n in counts.items():
        assert f"{n} {label}" in told


def test_the_same_seed_draws_the_same_rows_and_another_one_others() -> None:
    pages = [report_model(add, ROWS, X, n_rows=20, rng=rng, method=QUICK) for rng in (0, 0, 1)]
    rows = [page.sections[0][1].sample.rows for page in pages]
    assert rows[0] == rows[1] != rows[2]
    assert len(set(rows[0])) == 20
    assert set(rows[0]) <= set(range(120))
    assert pages[0].sections[1][1].share.tolist() == pages[1].sections[1][1].share.tolist()


def test_every_row_can_be_drawn() -> None:
    """Each row is drawn about as often as any other: 40 of 120 rows, by 30 seeds."""
    drawn = np.concatenate([draw_rows(X, 40, np.random.SeedSequence(seed)).rows for seed in range(30)])
    counts = np.bincount(drawn, minlength=120)
    assert counts.sum() == 1200
    assert 1 <= counts.min() <= counts.max() <= 20  # 10 on average, binomial


def test_names_of_rows_are_those_of_the_table() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"client {i}" for i in range(120)])
    page = report_model(lambda F: add(F.to_numpy()), vd.Rows(frame), frame, n_rows=20, method=QUICK)
    assert all(str(row).startswith("client ") for row in page.sections[0][1].sample.rows)
    assert "(row client " in page.sections[1][2]
    by_number = report_model(add, ROWS, X, n_rows=20, method=QUICK)
    assert max(by_number.sections[0][1].sample.rows) > 20  # among all rows, not among those drawn


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_the_second_of_two_classes_is_explained(kind: Any) -> None:
    model = kind().fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    page = report_model(model, ROWS, X, n_rows=20, method=QUICK)
    assert page.sections[0][1].targets == (("yes", 20),)
    assert page.title == f"What {kind.__name__} goes by"
    other = report_model(model, ROWS, X, n_rows=20, method=QUICK, target="no", title="Mine")
    assert other.sections[0][1].targets == (("no", 20),)
    assert other.title == "Mine"


def test_of_more_classes_the_most_frequent_is_explained() -> None:
    def three(rows: Any) -> Any:
        return np.tile([0.2, 0.3, 0.5], (len(rows), 1)) + 0.01 * rows[:, :1] * [[-1, 0, 1]]

    page = report_model(three, ROWS, X, n_rows=20, method=QUICK)
    assert page.sections[0][1].targets == ((Output(2), 20),)


def test_checks_run_where_answers_are_known() -> None:
    y = np.where(X[:, 0] > 0, "yes", "no")
    model = LogisticRegression().fit(X, y)
    page = report_model(model, ROWS, X, y=y, n_rows=60, method=QUICK)
    record, text = sections(page)["Checks"]
    assert {result.check for result in record.results} == set(QUICK_CHECKS)
    assert record.results[0].verdict.observed > 0.9  # right answers are those of the rows that were drawn
    assert "on 60 rows" in text
    for name in set(vd.checks.CHECKS) - set(QUICK_CHECKS):
        assert name in text
    assert record.sentence in page.lead
    with pytest.raises(InputError, match="one answer per row"):
        report_model(model, ROWS, X, y=y[:5], n_rows=60, method=QUICK)


def test_texts_are_reported_by_their_words() -> None:
    good, bad = ("wonderful", "warm", "funny"), ("dull", "worst", "noisy")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice([*good, *bad, "film", "scene", "cast"], 6)) for _ in range(30)]
    page = report_model(review, vd.Words(), texts, classes=("bad", "good"), method=QUICK, n_rows=30)
    assert set(page.sections[0][1].columns[:6]) == {*good, *bad}
    assert "Made from 30 rows, all that were given." in page.lead


def test_rows_that_fail_are_said() -> None:
    def picky(rows: Any) -> Any:
        if (rows == X[3]).all(axis=1).any():
            raise ZeroDivisionError("no")
        return add(rows)

    background = vd.Rows(np.delete(X, 3, axis=0))
    page = report_model(picky, background, X[:20], method=vd.Lime(n_samples=32))
    assert page.sections[0][1].n_failed == 1
    assert "1 row could not be explained" in page.sections[-1][2]


def test_what_has_no_report_is_refused() -> None:
    with pytest.raises(InputError, match=r"Superpixels differ from one instance to the next"):
        report_model(add, vd.Superpixels(), np.zeros((4, 8, 8, 3)))
    with pytest.raises(InputError, match="X has 1"):
        report_model(add, ROWS, X[:1])
    with pytest.raises(InputError, match="n_rows"):
        report_model(add, ROWS, X, n_rows=1)
    with pytest.raises(InputError, match="one target"):
        report_model(add, ROWS, X, target=[0, 1], classes=("a", "b"))
    with pytest.raises(ModelError):
        report_model(lambda rows: 1 / 0, ROWS, X, n_rows=10)


def test_the_page_is_small_and_its_contents_short(chromium: Chromium, tmp_path: Path) -> None:
    """Six links, in less than a third of the first screen together with the title; nothing is wider than it."""
    path = tmp_path / "page.html"
    model_page().save(path)
    assert path.stat().st_size < 500_000
    heights = "() => [document.querySelector('nav').offsetHeight + document.querySelector('h1').offsetHeight, \
        document.querySelectorAll('nav a').length, document.documentElement.scrollWidth]"
    for look in (Look(width=1280, height=800), Look(width=390, height=844)):
        (high, links, wide), _ = chromium.visit(path, lambda page: page.evaluate(heights), look)
        assert high < look.height / 3
        assert links == 6
        assert wide <= look.width


def test_a_closed_table_of_rows_is_not_printed(chromium: Chromium, tmp_path: Path) -> None:
    """All else that is closed is open on paper; a table of many rows is there only for those who opened it."""
    path = tmp_path / "page.html"
    model_page().save(path)
    high = "() => document.documentElement.scrollHeight"

    def measure(page: Any) -> tuple[float, float]:
        closed = page.evaluate(high)
        page.evaluate("() => document.querySelector('.vd-rows').closest('details').open = true")
        return closed, page.evaluate(high)

    (closed, opened), _ = chromium.visit(path, measure, Look(media="print"))
    assert opened > closed + 1000  # eighty rows
