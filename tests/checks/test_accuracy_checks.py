"""Is the model right? Sound ones pass; dummies, wrong weights, permuted outputs and wrong preparation do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from veridical.checks.accuracy_checks import accuracy
from veridical.errors import InputError, NotApplicable

QUICK = vd.Lime(n_samples=64)
CANCER = train_test_split(*load_breast_cancer(return_X_y=True, as_frame=True), random_state=0)
WINE = train_test_split(*load_wine(return_X_y=True), random_state=0)
SUGAR = train_test_split(*load_diabetes(return_X_y=True, as_frame=True), random_state=0)


def logistic(X: Any, y: Any) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)


def judge(model: Any, split: Any = CANCER, with_training: bool = True, **given: Any) -> vd.Verdict:
    train, test, labels, answers = split
    asked = {"y": answers, **({"training": (train, labels)} if with_training else {}), **given}
    return accuracy(QUICK, vd.Subject(model, vd.Rows(train), asked.pop("X", test), **asked), 0)


def lines(found: vd.Verdict) -> dict[str, float]:
    return {line.name: line.value for line in found.measures}


@pytest.mark.parametrize("with_training", [True, False])
@pytest.mark.parametrize("split", [CANCER, WINE], ids=["two classes", "three"])
def test_a_sound_model_passes(split: Any, with_training: bool) -> None:
    train, test, labels, answers = split
    model = logistic(train, labels)
    found = judge(model, split, with_training)
    assert found.passed
    assert found.observed == pytest.approx(model.score(test, answers))
    assert found.expected == pytest.approx(np.bincount(answers).max() / len(answers))
    assert (found.measured, found.better) == ("share of right answers", "higher")
    assert {"a constant guess", "a simple model of the same data"} <= set(lines(found))
    assert ("a freshly trained model" in lines(found)) == (with_training or len(answers) >= 60)
    assert lines(found)["right for “0”"] == pytest.approx(np.mean(model.predict(test)[answers == 0] == 0))
    wrong = np.flatnonzero(model.predict(test) != answers)
    assert sorted(found.rows) == wrong.tolist()


@pytest.mark.parametrize("strategy", ["prior", "most_frequent", "stratified", "uniform"])
def test_dummies_fail(strategy: str) -> None:
    model = DummyClassifier(strategy=strategy, random_state=0).fit(CANCER[0], CANCER[2])
    for with_training in (True, False):
        found = judge(model, with_training=with_training)
        assert found.outcome == "failed", found.sentence
        assert "a constant guess 63 %" in found.sentence


def test_a_model_of_permuted_labels_fails_though_its_twin_is_no_better() -> None:
    shuffled = np.random.default_rng(0).permutation(CANCER[2])
    model = logistic(CANCER[0], shuffled)
    found = judge(model, training=(CANCER[0], shuffled), with_training=False)
    assert found.outcome == "failed", found.sentence


def test_permuted_outputs_are_suspected_by_name() -> None:
    model = logistic(WINE[0], WINE[2])
    found = judge(lambda X: model.predict_proba(X)[:, [1, 2, 0]], WINE)
    assert found.outcome == "failed"
    assert "with its outputs in another order (“0” for “1”, “1” for “2”, “2” for “0”)" in found.sentence
    assert "classes=[…]" in found.advice
    two = judge(lambda X: model.predict_proba(X)[:, [1, 0, 2]], WINE)
    assert "(“0” for “1”, “1” for “0”)" in two.sentence


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda X: (X - CANCER[0].mean()) / CANCER[0].std(), "on the scale before columns were standardized"),
        (lambda X: X / 100, "multiplied by 100"),
        (lambda X: np.log1p(X), "exponentials (expm1)"),
    ],
    ids=["standardized", "other unit", "logarithms"],
)
def test_inputs_that_were_prepared_otherwise_are_suspected(change: Any, named: str) -> None:
    found = judge(logistic(CANCER[0], CANCER[2]), X=change(CANCER[1]))
    assert found.outcome == "failed"
    assert f"% if inputs were {named}" in found.sentence
    assert lines(found)[f"if inputs were {named}"] > found.observed + 0.1


def test_columns_in_another_order_are_suspected() -> None:
    X, other = (np.asarray(each) for each in CANCER[:2])
    order = np.random.default_rng(0).permutation(X.shape[1])
    split = (X, other[:, order], CANCER[2], CANCER[3])
    found = judge(logistic(X, CANCER[2]), split)
    assert found.outcome == "failed"
    assert "columns in the order of the training data" in found.sentence


def test_few_instances_are_not_clear() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), rng.integers(0, 2, 400)
    model = logistic(X[:360], (X[:360, 0] > 0).astype(int))
    found = judge(model, (X[:360], X[360:], y[:360], y[360:]), with_training=False)
    assert found.label == "unclear"
    assert "with so few instances that may be chance" in found.sentence
    many = judge(model, (X[:100], X[100:], y[:100], y[100:]), with_training=False)
    assert many.label == "failed", "what is not shown on many instances is not there"


def test_a_moved_threshold_is_no_fault() -> None:
    """A model for a rare class that never answers it, and one that answers it too often on purpose."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    y = (X[:, 0] + rng.normal(size=2000) > 2.2).astype(int)
    for weight in (None, "balanced"):
        model = LogisticRegression(class_weight=weight).fit(X[:1000], y[:1000])
        found = judge(model, (X[:1000], X[1000:], y[:1000], y[1000:]))
        assert found.passed, found.sentence


def test_numbers_are_held_against_the_mean() -> None:
    train, _, labels, _ = SUGAR
    model = Ridge(0.01).fit(train, labels)
    found = judge(model, SUGAR)
    assert found.passed
    assert found.observed == pytest.approx(model.score(SUGAR[1], SUGAR[3]), abs=1e-9)
    assert found.measured == "share of the variation explained (R²)"
    assert judge(DummyRegressor().fit(train, labels), SUGAR).outcome == "failed"
    scaled = judge(lambda X: model.predict(X) / 100, SUGAR)
    assert scaled.outcome == "failed"
    assert "on another scale (rank correlation with the right answers 0." in scaled.sentence
    assert judge(RandomForestRegressor(20, random_state=0).fit(train, labels), SUGAR).passed


# ---- networks


def trained_network(X: Any, y: Any, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    layers = torch.nn.Linear(64, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10)
    module = torch.nn.Sequential(torch.nn.Flatten(), *layers)
    inputs, labels = torch.as_tensor(X, dtype=torch.float32), torch.as_tensor(y)
    optimizer = torch.optim.Adam(module.parameters(), 5e-3)
    for _ in range(120):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(inputs), labels).backward()
        optimizer.step()
    return module.eval()


DIGITS, NUMBERS = load_digits(return_X_y=True)
PICTURES = (DIGITS.reshape(-1, 8, 8) / 16).astype(np.float32)
SEEN, FRESH = slice(0, 800), slice(800, 1200)


def judge_network(module: Any, X: Any = PICTURES[FRESH], **given: Any) -> vd.Verdict:
    network = vd.Network(module, answers="softmax")
    return accuracy(QUICK, vd.Subject(network, vd.Grid(4, 4), X, y=NUMBERS[FRESH], **given), 0)


def test_a_network_with_wrong_weights_fails() -> None:
    module = trained_network(PICTURES[SEEN], NUMBERS[SEEN])
    assert judge_network(module).passed
    torch.manual_seed(1)
    module[-1].reset_parameters()
    last = judge_network(module)
    assert last.outcome == "failed"
    assert "last layer" in last.sentence + last.advice
    module[1].reset_parameters()
    every = judge_network(module)
    assert every.outcome == "failed"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda X: 2 * X - 1, "scaled from −1…1 to 0…1"),
        (lambda X: 1 - X, "inverted (dark for bright)"),
        (lambda X: np.ascontiguousarray(X.swapaxes(1, 2)), "with rows and columns exchanged"),
        (lambda X: X[:, ::-1].copy(), "turned upside down"),
    ],
    ids=["another range", "inverted", "transposed", "upside down"],
)
def test_pictures_that_were_prepared_otherwise_are_suspected(change: Any, named: str) -> None:
    found = judge_network(trained_network(PICTURES[SEEN], NUMBERS[SEEN]), change(PICTURES[FRESH]))
    assert found.outcome == "failed"
    assert named in found.sentence


def test_texts() -> None:
    rng = np.random.default_rng(0)
    words = np.array(["film", "plot", "actor", "scene", "music"])
    y = rng.integers(0, 2, 400)
    texts = [" ".join([*rng.choice(words, 5), "Good" if label else "Bad"]) for label in y]
    model = make_pipeline(TfidfVectorizer(lowercase=False), LogisticRegression()).fit(texts[:200], y[:200])
    subject = vd.Subject(model, vd.Words(), texts[200:], y=y[200:], training=(texts[:200], y[:200]))
    assert accuracy(QUICK, subject, 0).passed
    lower = make_pipeline(TfidfVectorizer(lowercase=False), LogisticRegression())
    lower.fit([text.lower() for text in texts[:200]], y[:200])
    found = accuracy(QUICK, vd.Subject(lower, vd.Words(), texts[200:], y=y[200:]), 0)
    assert found.outcome == "failed"
    assert "if inputs were in lower case" in found.sentence


# ---- bad input


def test_without_right_answers_it_says_what_they_are_for() -> None:
    with pytest.raises(NotApplicable, match="the most important check needs the right answers: give y"):
        judge(logistic(CANCER[0], CANCER[2]), y=None)


def test_one_class_says_nothing() -> None:
    train, test, labels, answers = CANCER
    only = (train, test[answers == 1], labels, answers[answers == 1])
    with pytest.raises(NotApplicable, match="all right answers are “1”, of which the model has 97 % right"):
        judge(logistic(train, labels), only)


def test_answers_that_do_not_fit() -> None:
    model = logistic(CANCER[0], CANCER[2])
    with pytest.raises(InputError, match="y needs one answer per instance: X has 143 instances, y 142"):
        judge(model, y=CANCER[3][:-1])
    with pytest.raises(InputError, match="are none of the classes that the model was trained on"):
        judge(model, y=np.where(CANCER[3] == 1, "benign", "malignant"))
    with pytest.raises(InputError, match="y has 1 answers that are missing"):
        judge(model, y=np.r_[np.nan, CANCER[3][1:]])
    with pytest.raises(NotApplicable, match="one per row"):
        judge(model, y=np.stack([CANCER[3]] * 2, axis=1))


@pytest.mark.parametrize(
    ("train", "says"),
    [
        (lambda X, y, seed: 1 / 0, "failed with ZeroDivisionError"),
        (lambda X, y, seed: lambda Z: np.ones((len(Z), 5)), "it gives 5 numbers per instance, and this one 2"),
        (lambda X, y, seed: 7, "must return the predict function"),
    ],
    ids=["fails", "another kind", "no function"],
)
def test_a_train_that_fails_is_told_in_a_note(train: Any, says: str) -> None:
    found = judge(logistic(CANCER[0], CANCER[2]), train=train)
    assert found.passed
    assert any("Not compared with a freshly trained model" in note and says in note for note in found.notes)


def test_a_model_that_answers_classes() -> None:
    model = logistic(CANCER[0], CANCER[2])
    assert judge(model.predict).passed
    assert judge(lambda X: 1 - model.predict(X)).outcome == "failed"
    names = np.array(["malignant", "benign"])
    named = logistic(CANCER[0], names[CANCER[2]])
    assert judge(named, y=pd.Series(names[CANCER[3]]), with_training=False).passed
