"""What is logged of a record; tests/peers/test_mlflow.py logs to a real store."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

import veridical as vd
from veridical.checks.audits import Result
from veridical.errors import InputError, MissingPackage
from veridical.integrations.mlflow_runs import label_of, log, make_audit_metric, read_numbers, suffixes_of, unique

X = np.random.default_rng(0).normal(size=(40, 3))
ROWS = vd.Rows(X, names=["age", "cost / day", "id"])


def predict(rows: Any) -> Any:
    return 2 * np.asarray(rows)[:, 0] + np.asarray(rows)[:, 1]


MANY = vd.explain_many(predict, ROWS, X[:8], progress=lambda work, total: work)


def audit() -> Any:
    good = vd.Verdict(True, 0.9, 0.5, "Fine.", check="accuracy")
    bad = vd.Verdict(False, 0.1, 0.5, "Bad.", check="mine", method="Lime")
    results = (
        Result("accuracy", "", good),
        Result("mine", "Lime", bad),
        Result("shift", "", None, "no shifted"),
    )
    return vd.checks.Audit("forest", results)


def test_numbers_of_many_explanations() -> None:
    found = read_numbers(MANY)
    assert (found["rows"], found["reliable"]) == (8.0, 1.0)
    assert found["fidelity"] == pytest.approx(1)
    assert found["importance/age"] == MANY.importance().importance[0]
    assert "importance/cost _ day" in found, "a slash would make a folder"
    assert found == read_numbers(MANY.importance())


def test_numbers_of_one_explanation_and_of_verdicts() -> None:
    why = MANY[0]
    assert read_numbers(why) == {"fidelity": why.fidelity, "prediction": why.prediction, "calls": why.n_calls}
    verdict = vd.Verdict(False, 0.25, math.nan, "Bad.")
    assert {k: v for k, v in read_numbers(verdict).items() if v == v} == {"observed": 0.25, "passed": 0.0}


def test_numbers_of_an_audit_are_those_of_its_checks() -> None:
    found = read_numbers(audit())
    assert {key: found[key] for key in ("passed", "failed", "unclear", "error", "skipped")} == {
        "passed": 1, "failed": 1, "unclear": 0, "error": 0, "skipped": 1
    }  # fmt: skip
    assert (found["observed/accuracy"], found["observed/mine/Lime"]) == (0.9, 0.1)


def test_numbers_of_a_report_and_of_a_comparison() -> None:
    report = vd.evaluate(predict, ROWS, X[:4], methods=vd.Lime(n_samples=64), metrics=["correlation"])
    (score,) = (each for each in report.scores if not each.null)
    assert read_numbers(report) == {"score/correlation/Lime": score.mean}
    found = vd.compare(MANY[0], MANY[1])
    assert read_numbers(found)["largest difference"] == pytest.approx(np.nanmax(np.abs(found.difference)))
    assert read_numbers(vd.Page("all", [("one", MANY[0])])) == {}


def test_labels() -> None:
    assert label_of(MANY) == label_of(MANY.importance()) == label_of(MANY[0]) == "reliable"
    assert label_of(audit()) == "failed"
    assert label_of(MANY[0].verdict) == "reliable"
    assert label_of(vd.Page("all", [("one", MANY[0])])) == ""


def test_keys_are_unique() -> None:
    assert unique([(("a", "b?"), 1), (("a", "b!"), 2), (("", "…"), 3)]) == {"a/b_": 1.0, "a/b__": 2.0, "_": 3.0}


def test_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veridical.integrations.mlflow_runs.find_spec", lambda name: None)
    assert suffixes_of(MANY) == (".html", ".json")
    monkeypatch.setattr("veridical.integrations.mlflow_runs.find_spec", lambda name: name)
    assert suffixes_of(MANY) == (".html", ".parquet")
    assert suffixes_of(MANY[0]) == (".html", ".json")
    assert suffixes_of(vd.Page("all", [("one", MANY[0])])) == (".html",)


def test_without_mlflow_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(MissingPackage, match=r"needs mlflow, which is not installed: .*veridical\[mlflow\]"):
        log(MANY)
    with pytest.raises(MissingPackage, match="needs mlflow"):
        make_audit_metric(vd.Subject(predict, ROWS, X))


class NoRun:
    """A module that has no active run."""

    @staticmethod
    def active_run() -> None:
        return None


@pytest.mark.parametrize(
    ("record", "name", "said"),
    [
        (3, None, r"log wants a record of veridical \(explanation, .*\), not int"),
        (MANY, "../up", "name wants letters"),
        (MANY, "a//b", "name wants letters"),
        (MANY, "", "name wants letters"),
        (MANY, "what?", "name wants letters"),
        (MANY, 5, "name wants letters.*not 5"),
        (MANY, None, "no run of MLflow is active"),
    ],
)
def test_what_cannot_be_logged_is_said_so(
    record: Any, name: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", NoRun)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=said):
        log(record, name)
