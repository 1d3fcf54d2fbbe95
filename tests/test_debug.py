"""Subjects are checked, verdicts say what was found, and a check that does not apply says why."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from veridical.debug.cases import cases
from veridical.debug.records import rows_at
from veridical.debug.run import check_of

X, Y = load_wine(return_X_y=True)
MODEL = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
ROWS = vd.Rows(X)


def test_a_verdict_of_a_check_has_all_that_it_rests_on() -> None:
    line = vd.Measured("ours", 0.1, 0.0, 0.2, 50, {"noise": 0.01})
    verdict = vd.Verdict(True, 0.1, 0.5, "Fine.", "randomize", "Lime", (0.0, 0.2), {"noise": 0.0}, (line,))
    again = pickle.loads(pickle.dumps(verdict))
    assert again == verdict
    assert hash(again) == hash(verdict)
    assert str(again) == "Fine."
    with pytest.raises(TypeError):
        again.nulls["noise"] = 1.0
    assert vd.Verdict(True, 0.1, 0.5, "Fine.") == vd.Verdict(True, 0.1, 0.5, "Fine.")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": X[:9]}, "at least 10 instances to say anything; X has 9"),
        ({"y": Y[:5]}, "X has 178 of them, y 5"),
        ({"train": 3}, "train wants a function of"),
        ({"training": X}, "training wants a pair"),
        ({"training": (X, Y[:4])}, "178 instances and 4 answers"),
        ({"target": [0, 1]}, "one target per instance"),
        ({"predict": type(MODEL)}, "is a class"),
        ({"represent": vd.Rows}, "represent wants settings"),
    ],
)
def test_a_subject_is_checked(given: dict[str, object], message: str) -> None:
    known = {"predict": MODEL.predict_proba, "represent": ROWS, "X": X, **given}
    with pytest.raises(vd.InputError, match=message):
        vd.Subject(**known)


def test_a_clone_is_trained_where_predict_belongs_to_an_estimator() -> None:
    subject = vd.Subject(MODEL.predict_proba, ROWS, X, Y)
    again = subject.trained(*subject.trained_on(), 7)
    np.testing.assert_allclose(again(X), MODEL.predict_proba(X))
    with pytest.raises(vd.NotApplicable, match="give training"):
        vd.Subject(MODEL.predict_proba, ROWS, X).trained_on()
    with pytest.raises(vd.NotApplicable, match="give train=…"):
        vd.Subject(lambda x: x[:, 0], ROWS, X).trained(X, Y, 0)


def test_cases_keep_their_targets_and_seeds() -> None:
    subject = vd.Subject(MODEL.predict_proba, ROWS, X, Y)
    few = cases(vd.Lime(n_samples=128), subject, 3, 12)
    assert few.targets == tuple(MODEL.predict_proba(X[few.rows]).argmax(axis=1))
    one, same, other = few.explained(), few.explained(), few.explained(1)
    assert [e.target for e in one] == list(few.targets)
    np.testing.assert_array_equal(one[5].weights, same[5].weights)
    assert (one[5].weights != other[5].weights).any()
    assert few.notes == ("12 of 178 instances, drawn at random, were explained.",)


def test_rows_of_any_collection() -> None:
    table = pd.DataFrame({"a": [1, 2, 3]}, index=list("xyz"))
    assert rows_at(table, [2, 0])["a"].tolist() == [3, 1]
    assert rows_at(["p", "q", "r"], [1]) == ["q"]
    assert rows_at(np.arange(3), [1]).tolist() == [1]


def test_a_check_may_be_the_callers_own() -> None:
    def mine(method: object, subject: vd.Subject, rng: object) -> vd.Verdict:
        return vd.Verdict(True, float(len(subject.X)), 0.0, "Counted.")

    found = vd.debug(MODEL.predict_proba, ROWS, X, check=mine)
    assert (found.check, found.method, found.observed) == ("mine", "Lime", 178.0)
    with pytest.raises(vd.InputError, match="it returned int"):
        vd.debug(MODEL.predict_proba, ROWS, X, check=lambda method, subject, rng: 3)
    with pytest.raises(vd.InputError, match="no check is called 'randomise'; there are"):
        check_of("randomise")
    with pytest.raises(vd.InputError, match="check wants the name"):
        check_of(4)


def test_registries_are_found_by_the_names_of_the_functions() -> None:
    from veridical.debug import CHECKS
    from veridical.evaluate import METRICS

    assert vd.debug.CHECKS is CHECKS
    assert vd.evaluate.METRICS is METRICS
