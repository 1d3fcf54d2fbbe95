"""Explanations of a broken model differ: sound methods pass, those that ignore the model do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from veridical.debug.broken import crossed
from veridical.debug.twins import COLUMNS, LABELS, UNTRAINED, twins

WINE = load_wine(return_X_y=True)
LIME = vd.Lime(n_samples=256)


@dataclass(frozen=True)
class Ignoring:
    """A saboteur: its weights are those of the instance alone, whatever the model says."""

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> Any:
        found = vd.Occlusion(n_draws=2)(model, representation, targets, seed)
        own = [sum(part.name.encode()) % 97 - 48.0 for part in representation.parts]
        return tuple(replace(each, weights=np.array(own)) for each in found)


def models() -> dict[str, Any]:
    X, y = make_classification(600, 8, n_informative=4, random_state=1)
    linear = make_pipeline(StandardScaler(), LogisticRegression()).fit(*WINE)
    return {
        "linear": (linear.predict_proba, *WINE),
        "forest": (RandomForestClassifier(8, random_state=0).fit(X, y).predict_proba, X, y),
        "regression": (Ridge().fit(*load_diabetes(return_X_y=True)).predict, *load_diabetes(return_X_y=True)),
    }


@pytest.mark.parametrize(
    ("name", "method"),
    [("linear", LIME), ("forest", vd.Occlusion(n_draws=16)), ("regression", LIME)],
    ids=["linear", "forest", "regression"],
)
def test_sound_methods_pass(name: str, method: Any) -> None:
    predict, X, y = models()[name]
    found = vd.debug(predict, vd.Rows(X), X, y=y, check="randomize", method=method)
    assert found.passed, found.sentence
    assert abs(found.observed) < 0.5
    assert set(found.nulls) == {"constant", "noise", "shuffled", "another"}
    assert {m.name.partition(":")[0] for m in found.measures} == {LABELS, COLUMNS, UNTRAINED}
    assert len(found.evidence) == 6


def test_what_ignores_the_model_fails() -> None:
    predict, X, y = models()["linear"]
    found = vd.debug(predict, vd.Rows(X), X, y=y, check="randomize", method=Ignoring())
    assert not found.passed
    assert found.observed == pytest.approx(1.0)
    assert found.interval[0] > found.expected
    assert "hardly notice" in found.sentence


def test_what_says_anything_fails() -> None:
    """Random explanations change with the model, and without it."""
    predict, X, y = models()["linear"]
    found = vd.debug(predict, vd.Rows(X), X, y=y, check="randomize", method=vd.RandomParts())
    assert not found.passed
    assert "made again" in found.sentence


def test_texts() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    texts = [" ".join(rng.choice(words, 12, replace=False)) for _ in range(200)]
    y = np.array([("w1 " in t + " ") + ("w2 " in t + " ") - ("w3 " in t + " ") > 0 for t in texts]).astype(int)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, y)
    found = vd.debug(model.predict_proba, vd.Words(), texts, y=y, check="randomize", method=LIME)
    assert found.passed
    assert {m.name.partition(":")[0] for m in found.measures} == {LABELS, UNTRAINED}
    assert not vd.debug(model.predict_proba, vd.Words(), texts, y=y, check="randomize", method=Ignoring()).passed


def test_a_table_needs_no_training() -> None:
    """Columns in the place of others are a broken twin of any model, on a frame with texts, too."""
    X, _ = WINE
    table = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).assign(kind=["a", "b"] * 89)

    def predict(X: Any) -> Any:
        return X["c0"] - 2 * X["c6"] + (X["kind"] == "a") * 0.1

    found = vd.debug(predict, vd.Rows(table), table, check="randomize", method=LIME)
    assert found.passed
    assert {m.name.partition(":")[0] for m in found.measures} == {COLUMNS}


def test_twins_know_nothing() -> None:
    X, y = WINE
    subject = vd.Subject(models()["linear"][0], vd.Rows(X), X, y)
    made = list(twins(subject, np.random.SeedSequence(0), 2))
    assert [t.name for t in made] == [LABELS, UNTRAINED, COLUMNS] * 2
    for twin in made:
        assert (twin.model(X).argmax(axis=1) == y).mean() < 0.8
        assert twin.model(X).shape == (178, 3)


def test_a_check_says_what_it_misses() -> None:
    texts = ["some words here"] * 12
    with pytest.raises(vd.NotApplicable, match="give train=…"):
        vd.debug(lambda t: [float(len(x)) for x in t], vd.Words(), texts, check="randomize", method=LIME)
    X, y = WINE
    with pytest.raises(vd.NotApplicable, match="most explanations are empty"):
        vd.debug(lambda x: np.ones(len(x)), vd.Rows(X), X, y=y, check="randomize", method=LIME)
    with pytest.raises(vd.NotApplicable, match="fewer than 3 parts"):
        vd.debug(lambda x: x[:, 0], vd.Rows(X[:, :2]), X[:, :2], check="randomize", method=LIME)


def test_an_interval_over_models_and_instances_covers_both() -> None:
    """Values with an effect of the model and one of the instance: the interval covers zero as often as it says."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        values = rng.normal(size=(3, 1)) + rng.normal(size=(1, 20)) + rng.normal(size=(3, 20))
        _, low, high = crossed(values)
        covered.append(low <= 0 <= high)
    assert np.mean(covered) > 0.92
