"""What checks say of subjects that are odd: one class, several answers, counts, mixed arrays, constant models."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LinearRegression, LogisticRegression

import veridical as vd
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
