"""What checks say of subjects that are odd: one class, several answers, counts, mixed arrays, constant models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LinearRegression, LogisticRegression

import veridical as vd
from veridical.debug.mismatch import mistakes
from veridical.debug.points import points
from veridical.debug.shift import shift
from veridical.debug.twins import twins

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4))
Y = (X[:, 0] + 0.3 * RNG.normal(size=80) > 0).astype(int)
MODEL = LogisticRegression().fit(X, Y)
LIME = vd.Lime(n_samples=128)


def outcomes(subject: vd.Subject, *checks: str) -> dict[str, str]:
    found = vd.audit(subject, methods=LIME, checks=checks).results
    assert not [each.reason for each in found if each.outcome == "error"]
    return {each.check: each.outcome for each in found}


def test_one_class_alone_teaches_nothing() -> None:
    subject = vd.Subject(MODEL.predict_proba, vd.Rows(X), X, y=np.zeros(80, int))
    found = outcomes(subject, "labels", "spurious", "randomize")
    assert found == {"labels": "skipped", "spurious": "skipped", "randomize": "passed"}
    with pytest.raises(vd.NotApplicable, match="all right answers are the same"):
        subject.trained_on()


def test_several_answers_a_row() -> None:
    several = np.c_[X[:, 0], X[:, 1] - X[:, 2]]
    subject = vd.Subject(LinearRegression().fit(X, several).predict, vd.Rows(X), X, y=several)
    assert outcomes(subject, "spurious", "randomize") == {"spurious": "skipped", "randomize": "passed"}


@pytest.mark.parametrize("skewed", [False, True])
def test_counts_are_measurements(skewed: bool) -> None:
    """A shortcut gives away who is above the median, not the one row that has the highest count."""
    noisy = np.round(3 * RNG.normal(size=80)).astype(int) + 9
    counts = np.minimum(noisy, int(np.median(noisy))) if skewed else noisy
    subject = vd.Subject(LinearRegression().fit(X, counts).predict, vd.Rows(X), X, y=counts)
    found = vd.debug(subject.predict, subject.represent, X, y=counts, check="spurious", method=LIME)
    decided = {line.name: line.value for line in found.measures}
    assert decided["answers that the plant decides, with the shortcut"] > 0.9


def test_an_untrained_twin_gets_the_rows_that_it_needs() -> None:
    """Five folds of a class that one row in ten has want more than thirty rows."""
    rare = (X[:, 0] > np.quantile(X[:, 0], 0.9)).astype(int)
    model = CalibratedClassifierCV(LogisticRegression(), cv=5).fit(X, rare)
    made = list(twins(vd.Subject(model.predict_proba, vd.Rows(X), X, y=rare), np.random.SeedSequence(0), 1))
    assert [each.name for each in made] == ["permuted labels", "untrained twin", "permuted columns"]


def test_a_constant_model_shows_nothing_of_shifted_instances() -> None:
    subject = vd.Subject(lambda rows: np.ones(len(rows)), vd.Rows(X), X, shifted=X + 3)
    assert outcomes(subject, "shift", "mismatch", "fooling") == dict.fromkeys(
        ("shift", "mismatch", "fooling"), "skipped"
    )


def test_tables_of_mixed_values() -> None:
    """An array of objects is a table, and not a pile of numbers."""
    table = np.c_[X.astype(object), RNG.choice(["u", "v"], 80)]
    subject = vd.Subject(lambda rows: MODEL.predict_proba(rows[:, :4].astype(float)), vd.Rows(table), table)
    found = outcomes(subject, "fooling", "sampling", "mismatch")
    assert found == {"fooling": "passed", "sampling": "passed", "mismatch": "skipped"}


def test_missing_numbers_stay_on_the_scale_of_their_column() -> None:
    """Columns may differ by orders of magnitude: the gaps of one do not get the mean of another."""
    gaps = X * [1e6, 1e-3, 1, 1]
    gaps[::5, 1] = np.nan
    for made in (points(gaps, gaps[:1])[0], points(pd.DataFrame(gaps), pd.DataFrame(gaps[:1]))[0]):
        known = np.isfinite(gaps[:, 1])
        width = float(np.ptp(gaps[known, 1]))
        assert np.isfinite(made).all()
        assert 0 < gaps[known, 1].min() - made[~known, 1].max() <= width * 1.001


def test_capitals_of_a_series_of_texts() -> None:
    """One text in capitals does not make them the way in which all are written."""
    texts = pd.Series(["SO IT IS", *(f"one {word} more" for word in "abcdefghijk")], index=range(5, 17))
    ((name, way),) = mistakes(vd.Subject(lambda some: np.array([len(t) for t in some]), vd.Words(), texts))
    assert (name, way(["ab"])) == ("case", ["AB"])


def test_rows_of_the_data_are_no_other_kind() -> None:
    """Shifted instances that are among X are nearer to the others than those are to each other."""
    subject = vd.Subject(MODEL.predict_proba, vd.Rows(X), X, shifted=X[::-1])
    for seed in range(3):
        with pytest.raises(vd.NotApplicable, match="neither by the explanations nor by"):
            shift(LIME, subject, seed)
