"""Subjects are checked, verdicts say what was found, and a check that does not apply says why."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from veridical.checks.audits import find_check
from veridical.checks.query_checks import embed_batches
from veridical.checks.randomization import make_twins
from veridical.checks.shift_checks import list_mistakes, shift
from veridical.checks.subjects import draw_cases
from veridical.models.outputs import rows_at

X, Y = load_wine(return_X_y=True)


@cache
def model() -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)


ROWS = vd.Rows(X)


def test_a_verdict_of_a_check_has_all_that_it_rests_on() -> None:
    line = vd.records.Measured("ours", 0.1, 0.0, 0.2, 50, {"noise": 0.01})
    verdict = vd.Verdict(True, 0.1, 0.5, "Fine.", "randomize", "Lime", (0.0, 0.2), {"noise": 0.0}, (line,))
    again = pickle.loads(pickle.dumps(verdict))
    assert again == verdict
    assert hash(again) == hash(verdict)
    assert again.sentence == "Fine."
    with pytest.raises(TypeError):
        again.nulls["noise"] = 1.0
    assert vd.Verdict(True, 0.1, 0.5, "Fine.") == vd.Verdict(True, 0.1, 0.5, "Fine.")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": X[:9]}, "at least 10 instances to say anything; X has 9"),
        ({"y": Y[:5]}, "X has 178 instances, y 5"),
        ({"train": 3}, "train must be a function of"),
        ({"training": X}, "training needs a pair"),
        ({"training": (X, Y[:4])}, "178 instances and 4 answers"),
        ({"target": [0, 1]}, "one target for all instances"),
        ({"model": Pipeline}, "is a class"),
        ({"representer": vd.Rows}, "representer wants settings"),
    ],
)
def test_a_subject_is_checked(given: dict[str, object], message: str) -> None:
    known = {"model": model().predict_proba, "representer": ROWS, "X": X, **given}
    with pytest.raises(vd.errors.InputError, match=message):
        vd.Subject(**known)


def test_a_clone_is_trained_where_predict_belongs_to_an_estimator() -> None:
    subject = vd.Subject(model().predict_proba, ROWS, X, Y)
    again = subject.train_model(*subject.training_data(), 7)
    np.testing.assert_allclose(again(X), model().predict_proba(X))
    with pytest.raises(vd.errors.NotApplicable, match="give training"):
        vd.Subject(model().predict_proba, ROWS, X).training_data()
    with pytest.raises(vd.errors.NotApplicable, match="give train=…"):
        vd.Subject(lambda x: x[:, 0], ROWS, X).train_model(X, Y, 0)


def test_cases_keep_their_targets_and_seeds() -> None:
    subject = vd.Subject(model().predict_proba, ROWS, X, Y)
    few = draw_cases(vd.Lime(n_samples=128), subject, 3, 12)
    assert few.targets == tuple(model().predict_proba(X[few.rows]).argmax(axis=1))
    one, same, other = few.explain(), few.explain(), few.explain(1)
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

    found = vd.debug(model().predict_proba, ROWS, X, check=mine)
    assert (found.check, found.method, found.observed) == ("mine", "Lime", 178.0)
    with pytest.raises(vd.errors.InputError, match="it returned int"):
        vd.debug(model().predict_proba, ROWS, X, check=lambda method, subject, rng: 3)
    with pytest.raises(vd.errors.InputError, match="no check is called 'randomise'; there are"):
        find_check("randomise")
    with pytest.raises(vd.errors.InputError, match="check must be the name"):
        find_check(4)


# Odd subjects: one class, several answers, counts, mixed arrays, constant models.


RNG = np.random.default_rng(0)
NORMAL = RNG.normal(size=(80, 4))
SIGNS = (NORMAL[:, 0] + 0.3 * RNG.normal(size=80) > 0).astype(int)


@cache
def linear() -> LogisticRegression:
    return LogisticRegression().fit(NORMAL, SIGNS)


LIME = vd.Lime(n_samples=128)


def outcomes(subject: vd.Subject, *checks: str) -> dict[str, str]:
    found = vd.audit(subject, methods=LIME, checks=checks).results
    assert not [each.reason for each in found if each.outcome == "error"]
    return {each.check: each.outcome for each in found}


def test_one_class_alone_teaches_nothing() -> None:
    subject = vd.Subject(linear().predict_proba, vd.Rows(NORMAL), NORMAL, y=np.zeros(80, int))
    found = outcomes(subject, "labels", "spurious", "randomize")
    assert found == {"labels": "skipped", "spurious": "skipped", "randomize": "passed"}
    with pytest.raises(vd.errors.NotApplicable, match="all answers are the same"):
        subject.training_data()


def test_several_answers_a_row() -> None:
    several = np.c_[NORMAL[:, 0], NORMAL[:, 1] - NORMAL[:, 2]]
    subject = vd.Subject(LinearRegression().fit(NORMAL, several).predict, vd.Rows(NORMAL), NORMAL, y=several)
    assert outcomes(subject, "spurious", "randomize") == {"spurious": "skipped", "randomize": "passed"}


@pytest.mark.parametrize("skewed", [False, True])
def test_counts_are_measurements(skewed: bool) -> None:
    """A shortcut gives away who is above the median, not the one row that has the highest count."""
    noisy = np.round(3 * RNG.normal(size=80)).astype(int) + 9
    counts = np.minimum(noisy, int(np.median(noisy))) if skewed else noisy
    subject = vd.Subject(LinearRegression().fit(NORMAL, counts).predict, vd.Rows(NORMAL), NORMAL, y=counts)
    found = vd.debug(subject.model, subject.representer, NORMAL, y=counts, check="spurious", method=LIME)
    decided = {line.name: line.value for line in found.measures}
    assert decided["answers that the plant decides, with the shortcut"] > 0.9


def test_an_untrained_twin_gets_the_rows_that_it_needs() -> None:
    """Five folds of a class that one row in ten has want more than thirty rows."""
    rare = (NORMAL[:, 0] > np.quantile(NORMAL[:, 0], 0.9)).astype(int)
    model = CalibratedClassifierCV(LogisticRegression(), cv=5).fit(NORMAL, rare)
    made = list(
        make_twins(vd.Subject(model.predict_proba, vd.Rows(NORMAL), NORMAL, y=rare), np.random.SeedSequence(0), 1)
    )
    assert [each.name for each in made] == ["permuted labels", "untrained twin", "permuted columns"]


def test_a_constant_model_shows_nothing_of_shifted_instances() -> None:
    subject = vd.Subject(lambda rows: np.ones(len(rows)), vd.Rows(NORMAL), NORMAL, shifted=NORMAL + 3)
    assert outcomes(subject, "shift", "mismatch", "fooling") == dict.fromkeys(
        ("shift", "mismatch", "fooling"), "skipped"
    )


def test_tables_of_mixed_values() -> None:
    """An array of objects is a table, and not a pile of numbers."""
    table = np.c_[NORMAL.astype(object), RNG.choice(["u", "v"], 80)]
    subject = vd.Subject(lambda rows: linear().predict_proba(rows[:, :4].astype(float)), vd.Rows(table), table)
    found = outcomes(subject, "fooling", "sampling", "mismatch")
    assert found == {"fooling": "passed", "sampling": "passed", "mismatch": "skipped"}


def test_missing_numbers_stay_on_the_scale_of_their_column() -> None:
    """Columns may differ by orders of magnitude: the gaps of one do not get the mean of another."""
    gaps = NORMAL * [1e6, 1e-3, 1, 1]
    gaps[::5, 1] = np.nan
    for made in (embed_batches(gaps, gaps[:1])[0], embed_batches(pd.DataFrame(gaps), pd.DataFrame(gaps[:1]))[0]):
        known = np.isfinite(gaps[:, 1])
        width = float(np.ptp(gaps[known, 1]))
        assert np.isfinite(made).all()
        assert 0 < gaps[known, 1].min() - made[~known, 1].max() <= width * 1.001


def test_capitals_of_a_series_of_texts() -> None:
    """One text in capitals does not make them the way in which all are written."""
    texts = pd.Series(["SO IT IS", *(f"one {word} more" for word in "abcdefghijk")], index=range(5, 17))
    ((name, way),) = list_mistakes(vd.Subject(lambda some: np.array([len(t) for t in some]), vd.Words(), texts))
    assert (name, way(["ab"])) == ("case", ["AB"])


def test_rows_of_the_data_are_no_other_kind() -> None:
    """Shifted instances that are among X are nearer to the others than those are to each other."""
    subject = vd.Subject(linear().predict_proba, vd.Rows(NORMAL), NORMAL, shifted=NORMAL[::-1])
    for seed in range(3):
        with pytest.raises(vd.errors.NotApplicable, match="neither the explanations nor"):
            shift(LIME, subject, seed)
