"""Assertions about reasons, and the baselines that they are held against."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from veridical.errors import InputError
from veridical.integrations.reasons import (
    Reasons,
    Share,
    explain_reasons,
    measure_shift,
    read_baseline,
    title_of_model,
)

NAMES = ["contract", "tenure", "charges", "customer_id"]
X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 4)), columns=NAMES)


def score(rows: Any) -> Any:
    """Mostly the contract, a third as much the tenure, a little of the charges, and nothing of the id."""
    return rows.to_numpy() @ [3.0, 1.0, 0.1, 0.0]


def leaking(rows: Any) -> Any:
    return rows.to_numpy() @ [3.0, 1.0, 0.1, 2.0]


@pytest.fixture(scope="module")
def reasons() -> Reasons:
    return explain_reasons(score, X)


@pytest.fixture(scope="module")
def leaked() -> Reasons:
    return explain_reasons(leaking, X)


@pytest.fixture
def baseline(reasons: Reasons, tmp_path: Path) -> Path:
    reasons.write(tmp_path / "reasons.json")
    return tmp_path / "reasons.json"


def test_shares_are_those_of_the_importance(reasons: Reasons) -> None:
    shares = reasons.shares
    assert sum(own.value for own in shares.values()) == pytest.approx(1)
    assert shares["contract"].value == pytest.approx(3 / 4.1, abs=0.06)
    own = reasons.importance
    ends = np.c_[own.importance, own.intervals] / own.importance.sum()
    for name, wanted in zip(own.columns, ends, strict=True):
        assert (shares[name].value, shares[name].low, shares[name].high) == pytest.approx(tuple(wanted))


def test_assertions_that_hold_are_chained(reasons: Reasons) -> None:
    found = reasons.relies_on("contract", "tenure", top=2).not_on("customer_id").reliable(at_least=0.9)
    assert found is reasons


def test_what_cannot_be_told_from_nothing_is_not_relied_on(reasons: Reasons) -> None:
    with pytest.raises(AssertionError, match="“customer_id” cannot be told from no effect") as said:
        reasons.relies_on("contract", "customer_id")
    assert "“contract”" not in str(said.value), "only what failed is named"
    assert "→ customer_id" in str(said.value)
    assert "  tenure  " in str(said.value), "the table shows the others"


def test_the_top_is_judged_beyond_the_noise(reasons: Reasons) -> None:
    with pytest.raises(
        AssertionError, match="“tenure” is not among the top 1: 1 columns have a lower bound above"
    ):
        reasons.relies_on("tenure", top=1)
    few = explain_reasons(lambda rows: rows.to_numpy() @ [1.0, 0.9, 0.0, 0.0], X[:12], background=X)
    assert few.shares["tenure"].value < few.shares["contract"].value
    few.relies_on("tenure", top=1)  # a tie beyond doubt


def test_a_share_is_judged_beyond_the_noise(reasons: Reasons) -> None:
    own = reasons.shares["tenure"]
    assert own.low < own.value
    with pytest.raises(AssertionError, match=r"“tenure” has more than 5.0% of the importance: the lower bound"):
        reasons.not_on("tenure")
    reasons.not_on("tenure", share=(own.low + own.value) / 2)
    with pytest.raises(AssertionError, match="relies on what it should not"):
        reasons.not_on("tenure", share=own.low * 0.99)


def test_reliable_counts_rows(reasons: Reasons) -> None:
    nothing = explain_reasons(lambda rows: np.zeros(len(rows)), X)
    with pytest.raises(
        AssertionError, match=r"0 of 60 explanations are reliable, 0%, and 60% were wanted \(60 none\)"
    ):
        nothing.reliable(at_least=0.6)
    nothing.reliable(at_least=0)
    with pytest.raises(AssertionError, match="no effect"):
        nothing.relies_on("contract")
    unmeasured = explain_reasons(score, X[:4], background=X, method=vd.Occlusion())
    with pytest.raises(AssertionError, match="4 unchecked"):
        unmeasured.reliable(at_least=0.5)


def test_rows_that_fail_are_not_reliable() -> None:
    def fussy(rows: Any) -> Any:
        if (np.asarray(rows)[:, 0] > 90).any():
            raise ValueError("too much")
        return np.asarray(rows)[:, 0] * 1.0

    rows = X.copy()
    rows.iloc[0, 0] = 99.0
    with pytest.warns(vd.errors.RowsFailedWarning):
        found = explain_reasons(fussy, rows[:20], background=X)
    with pytest.raises(AssertionError, match="1 not explained"):
        found.reliable(at_least=1)
    found.reliable(at_least=0.95)


def test_words_are_asserted_about() -> None:
    texts = ["good film", "bad film", "good plot", "a bad plot"] * 4
    found = explain_reasons(lambda some: np.array([float("good" in text) for text in some]), texts)
    found.relies_on("good", top=1).not_on("film", "plot")
    with pytest.raises(AssertionError, match="“good” has more than"):
        found.not_on("good")
    with pytest.raises(InputError, match="nothing is called 'contract' in the 16 instances explained"):
        found.not_on("contract")


def test_near_misses_are_suggested(reasons: Reasons) -> None:
    for asked in (reasons.relies_on, reasons.not_on):
        with pytest.raises(InputError, match=r"nothing is called 'contrat': did you mean “contract”\?"):
            asked("contrat")
        with pytest.raises(InputError, match="there are contract, tenure, charges, customer_id"):
            asked("zebra")
        with pytest.raises(InputError, match="at least one column"):
            asked()


def test_a_column_that_was_never_tested_is_said_so() -> None:
    same = X.assign(charges=1.0)
    found = explain_reasons(score, same[:20], background=same)
    with pytest.raises(InputError, match="“charges” was not tested in any row"):
        found.not_on("charges")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"X": X[:0]}, "X is empty"),
        ({"X": []}, "X is empty"),
        ({"X": "one text"}, "give a list of texts"),
        ({"X": 3}, "rows of a table or a list of texts, not 3"),
        ({"X": ["a b", "c"], "background": X}, "texts have no background"),
        ({"X": X, "background": X, "representer": vd.Rows(X)}, "not both"),
        ({"X": X[["contract", "tenure"]], "background": X}, "wanted rows of 4 columns|column"),
    ],
)
def test_what_cannot_be_explained_is_said_so(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        explain_reasons(score, **given)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda r: r.relies_on("contract", top=0), "top must be a whole number"),
        (lambda r: r.not_on("contract", share=2), "share must be a number from 0 to 1"),
        (lambda r: r.reliable(at_least=60), "at_least must be a number from 0 to 1"),
        (lambda r: r.like_before("x.json", shift=-1), "shift must be a number from 0 to 1"),
        (lambda r: r.like_before(3), "the path of a file"),
        (lambda r: r.write("nowhere/x.json"), "there is no folder"),
    ],
)
def test_arguments_are_checked(reasons: Reasons, asked: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        asked(reasons)


def test_the_same_reasons_are_like_before(reasons: Reasons, baseline: Path) -> None:
    assert reasons.like_before(baseline) is reasons
    other = explain_reasons(score, X, rng=1)
    other.like_before(baseline)
    fewer = explain_reasons(score, X[:40], background=X)
    fewer.like_before(baseline)


def test_reasons_that_changed_are_shown(leaked: Reasons, baseline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Reasons, "_facts", lambda self: read_facts(baseline)
    )  # both functions are called otherwise
    with pytest.raises(AssertionError, match=r"changed since '.*reasons\.json' beyond the noise") as said:
        leaked.like_before(baseline)
    told = str(said.value)
    assert "“customer_id”: 0.0% before, 3" in told
    assert "→ customer_id" in told
    assert "  charges  " in told, "what is the same is shown without a mark"
    assert "pytest --veridical-update" in told
    leaked.like_before(baseline, shift=0.5)


def read_facts(path: Path) -> dict[str, str]:
    record = read_baseline(path)
    return {key: record[key] for key in ("model", "representer", "method", "target")}


def test_a_shift_is_what_noise_cannot_explain() -> None:
    before, now = Share(0.1, 0.07, 0.13), Share(0.4, 0.36, 0.44)
    assert measure_shift(before, now) == pytest.approx(0.3 - 0.05)
    assert measure_shift(now, before) == pytest.approx(0.3 - 0.05)
    assert measure_shift(before, Share(0.12, 0.08, 0.16)) < 0
    assert measure_shift(before, Share(0.9, 0.0, np.inf)) < 0.3


def test_a_baseline_is_sorted_and_says_its_versions(reasons: Reasons, baseline: Path) -> None:
    text = baseline.read_text(encoding="utf-8")
    record = json.loads(text)
    assert [*record] == sorted(record)
    assert [*record["shares"]] == sorted(NAMES)
    assert (record["veridical"], record["format"], record["rows"]) == (vd.__version__, 1, 60)
    assert (record["model"], record["method"], record["representer"]) == ("score", "Lime", "Rows")
    assert sum('"contract": [' in line for line in text.splitlines()) == 1, "a line per column"
    reasons.write(baseline)
    assert baseline.read_text(encoding="utf-8") == text


def test_names_in_any_script_come_back(tmp_path: Path) -> None:
    odd = X.set_axis(['a "b"', "größe", "年齢\n", "\\"], axis=1)
    found = explain_reasons(score, odd)
    found.write(tmp_path / "odd.json")
    assert set(read_baseline(tmp_path / "odd.json")["shares"]) == set(odd.columns)
    found.like_before(tmp_path / "odd.json")


DAMAGED = {
    "no JSON": lambda record: "{",
    "a list": lambda record: "[]",
    "no shares": lambda record: json.dumps({k: v for k, v in record.items() if k != "shares"}),
    "shares are a list": lambda record: json.dumps({**record, "shares": [1]}),
    "a share of two numbers": lambda record: json.dumps({**record, "shares": {"contract": [0.1, 0.2]}}),
    "a share of text": lambda record: json.dumps({**record, "shares": {"contract": ["a", 0.1, 0.2]}}),
    "a share below zero": lambda record: json.dumps({**record, "shares": {"contract": [-1, 0, 0]}}),
    "nan": lambda record: json.dumps({**record, "shares": {"contract": [float("nan"), 0, 0]}}),
    "an old format": lambda record: json.dumps({**record, "format": 0}),
    "a format of text": lambda record: json.dumps({**record, "format": "1"}),
    "a model that is no text": lambda record: json.dumps({**record, "model": 3}),
    "not UTF-8": lambda record: b"\xff\xfe{",
    "deep": lambda record: "[" * 5000,
    "empty": lambda record: "",
}


@pytest.mark.parametrize("how", DAMAGED)
def test_a_damaged_baseline_is_refused(reasons: Reasons, baseline: Path, how: str) -> None:
    text = DAMAGED[how](json.loads(baseline.read_text(encoding="utf-8")))
    baseline.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError, match=r"'reasons\.json' is no baseline of reasons, or it is damaged") as said:
        reasons.like_before(baseline)
    assert "--veridical-update" in str(said.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "Other"}, "is of another model: 'Other', and this is 'score'"),
        ({"method": "KernelShap"}, "is of another method: 'KernelShap'"),
        ({"target": "yes"}, "is of another target: 'yes', and this is 'the predicted class'"),
        ({"representer": "Words"}, "is of another representer"),
        ({"veridical": "99.0.0"}, "written by veridical 99.0.0, which is newer than"),
        ({"format": 2}, "which is newer than"),
        (
            {"shares": {"contract": [1, 1, 1], "age": [0, 0, 0]}},
            "of other columns: “age” is gone, “charges” is new",
        ),
    ],
)
def test_a_baseline_of_something_else_is_refused(
    reasons: Reasons, baseline: Path, change: dict[str, Any], said: str
) -> None:
    record = json.loads(baseline.read_text(encoding="utf-8"))
    baseline.write_text(json.dumps({**record, **change}), encoding="utf-8")
    with pytest.raises(InputError, match=said) as found:
        reasons.like_before(baseline)
    assert "--veridical-update" in str(found.value)


def test_texts_may_have_other_words_than_before(tmp_path: Path) -> None:
    def praises(some: Any) -> Any:
        return np.array([float("good" in text) for text in some])

    explain_reasons(praises, ["good film", "bad film", "good plot"]).write(tmp_path / "words.json")
    explain_reasons(praises, ["good film", "bad song", "good plot"]).like_before(tmp_path / "words.json")


def test_a_baseline_that_is_missing_is_no_success(reasons: Reasons, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"no baseline '.*new.json' yet: run pytest --veridical-update"):
        reasons.like_before(tmp_path / "new.json")


def test_titles_of_models() -> None:
    linear = LinearRegression().fit(X, X["contract"])
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, X["contract"] > 0)
    assert title_of_model(score) == "score"
    assert title_of_model(linear) == title_of_model(linear.predict) == "LinearRegression"
    assert title_of_model(pipeline.predict_proba) == "Pipeline(StandardScaler, LogisticRegression)"


def test_a_shortcut_is_caught_and_another_seed_is_not(tmp_path: Path) -> None:
    """A small version of experiments/reasons.py: forests trained again, and a record number that follows the answer."""
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(3)
    y = (X["contract"] + 0.5 * X["tenure"] + rng.normal(size=60) > 0).to_numpy()
    known = X.assign(customer_id=rng.permutation(np.where(y, 7.0, 3.0) + rng.normal(size=60)))
    leaks = X.assign(customer_id=np.where(y, 7.0, 3.0) + rng.normal(size=60))
    quick = vd.Lime(n_samples=128)
    first, again = (RandomForestClassifier(20, random_state=seed).fit(known, y) for seed in (0, 1))
    planted = RandomForestClassifier(20, random_state=1).fit(leaks, y)
    own = explain_reasons(first, known[:30], background=known, method=quick)
    own.write(tmp_path / "forest.json")
    explain_reasons(again, known[:30], background=known, method=quick).like_before(tmp_path / "forest.json")
    caught = explain_reasons(planted, leaks[:30], background=leaks, method=quick)
    with pytest.raises(AssertionError, match="customer_id"):
        caught.like_before(tmp_path / "forest.json")
    with pytest.raises(AssertionError, match="customer_id"):
        caught.not_on("customer_id")
