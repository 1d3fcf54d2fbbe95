"""Shortcuts that nobody named: planted columns, words and windows are found, and sound models are let through."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from veridical.checks.leakage_checks import leakage
from veridical.checks.leaking_words import keep_place, without_word
from veridical.errors import NotApplicable

QUICK = vd.Lime(n_samples=64)
RNG = np.random.default_rng


def look(model: Any, represent: Any, X: Any, y: Any, cut: int, with_y: bool = True, **given: Any) -> vd.Verdict:
    """Search a model that was trained on the first rows, on the others."""
    some = (lambda rows: X.iloc[rows]) if hasattr(X, "iloc") else (lambda rows: X[rows])
    given = {"training": (some(slice(cut)), y[:cut]), **given}
    rows = slice(cut, cut + 300)
    return leakage(QUICK, vd.Subject(model, represent, some(rows), y=y[rows] if with_y else None, **given), 0)


# ---- columns


def correlated(n: int = 1800) -> tuple[pd.DataFrame, Any]:
    X, y = make_classification(n, 12, n_informative=6, n_redundant=4, random_state=3, class_sep=0.7, flip_y=0.1)
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(12)]), y


def leaks(y: Any) -> dict[str, Any]:
    """Columns that were written after the outcome."""
    rng, n = RNG(1), len(y)
    flipped = np.where(rng.random(n) < 0.1, 1 - y, y)
    return {
        "the answer": y.astype(float),
        "with noise": flipped + rng.normal(0, 0.3, n),
        "an id": flipped * 100_000 + rng.integers(0, 99_999, n),
        "gaps": np.where(flipped == 1, np.nan, rng.gamma(2.0, size=n)),
        "a category": np.where(flipped == 1, "closed", "open"),
    }


def table_model(X: pd.DataFrame, y: Any) -> Any:
    """A forest of numbers: gaps are −1, categories codes."""

    def prepared(rows: Any) -> Any:
        rows = pd.DataFrame(rows).assign(
            **{c: rows[c] == "closed" for c in rows.columns if rows[c].dtype.kind in "OU"}
        )
        text = [c for c in rows.columns if not pd.api.types.is_numeric_dtype(rows[c])]
        return rows.assign(**{c: rows[c] == "closed" for c in text}).fillna(-9).astype(float)

    forest = RandomForestClassifier(30, random_state=0, min_samples_leaf=3).fit(prepared(X), y)
    return lambda rows: forest.predict_proba(prepared(rows))


@pytest.mark.parametrize("kind", ["the answer", "with noise", "an id", "gaps", "a category"])
def test_columns_that_give_the_answer_away_are_found(kind: str) -> None:
    X, y = correlated()
    X.insert(4, "code", leaks(y)[kind])
    found = look(table_model(X[:1400], y[:1400]), vd.Rows(X[:1400]), X, y, 1400)
    assert found.outcome == "failed"
    assert "The model leans on “code”" in found.sentence
    assert "Was it known when the prediction is to be made?" in found.sentence
    assert "f" not in {line.name[1] for line in found.measures}, "no other column is suspected"
    told = {line.name.split(": ")[1]: line.value for line in found.measures}
    assert found.observed == told["share of answers that change when it is redrawn"] > 0.1
    assert told["how well the rest foretells it within a class"] < 0.1
    assert told["right answers without it"] < told["right answers as they are"]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_sound_table_is_let_through(seed: int) -> None:
    X, y = make_classification(1800, 12, n_informative=6, n_redundant=4, random_state=seed, class_sep=1.5)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:1400], y[:1400])
    found = look(model, vd.Rows(X[:1400]), X, y, 1400)
    assert found.outcome in ("passed", "unclear")
    if found.passed:
        assert found.sentence.startswith("None found: ")
        assert "no proof that there is none" in found.sentence


def test_columns_that_are_all_independent_say_nothing() -> None:
    X = RNG(0).normal(size=(1800, 6))
    y = (X @ [1.0, 1.0, 1.0, 1.0, 0.0, 0.0] + RNG(1).logistic(size=1800) > 0).astype(int)
    model = LogisticRegression().fit(X[:1400], y[:1400])
    assert look(model, vd.Rows(X[:1400]), X, y, 1400).outcome != "failed"


def test_few_rows_are_not_clear_unless_the_column_tells_more_than_all_others() -> None:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    y = np.asarray(y)
    order = RNG(0).permutation(len(y))
    X, y = X.iloc[order].reset_index(drop=True), y[order]
    weak = np.where(RNG(1).random(len(y)) < 0.3, 1 - y, y) + RNG(2).normal(0, 0.3, len(y))
    outcomes = []
    for code, weight in ((weak, 2.0), (y + RNG(2).normal(0, 0.1, len(y)), 4.0)):
        data = X.assign(code=code)

        def model(rows: Any, weight: float = weight) -> Any:
            size = (rows["mean radius"] - X["mean radius"].mean()) / X["mean radius"].std()
            return 1 / (1 + np.exp(2 * size - weight * (rows["code"] - 0.5)))

        found = look(model, vd.Rows(data[:400]), data, y, 400)
        outcomes.append(found.outcome)
    assert outcomes == ["unclear", "failed"]
    assert "leans on “code”" in found.sentence


def test_what_all_rows_share_cannot_be_tested_and_is_named() -> None:
    X, y = correlated()
    X.insert(0, "site", 7.0)
    model = table_model(X[:1400], y[:1400])
    found = look(model, vd.Rows(X[:1400]), X, y, 1400)
    assert any(
        "All rows have the same in “site”" in note and "give rows that differ" in note for note in found.notes
    )


def test_a_column_that_all_rows_of_x_share_is_tested_by_the_training_data() -> None:
    X, y = correlated()
    X.insert(4, "code", leaks(y)["the answer"])
    model = table_model(X[:1400], y[:1400])
    same = X[1400:].assign(code=1.0)
    found = leakage(
        QUICK, vd.Subject(model, vd.Rows(X[:1400]), same, y=y[1400:], training=(X[:1400], y[:1400])), 0
    )
    assert found.outcome == "failed"
    assert "“code”" in found.sentence


def test_numbers_and_no_answers() -> None:
    X, _ = correlated()
    target = X["f0"] + X["f1"] + RNG(0).normal(size=len(X))
    X["after"] = (target > 0) * 3.0 + RNG(1).normal(0, 0.1, len(X))
    target = np.asarray(target + (target > 0) * 2)
    model = Ridge().fit(X[:1400], target[:1400])
    found = look(model, vd.Rows(X[:1400]), X, target, 1400)
    assert found.measured == "share of answers that change when it is redrawn"
    alone = leakage(QUICK, vd.Subject(lambda rows: rows[:, 0], vd.Rows(X.to_numpy()), X.to_numpy()), 0)
    assert alone.outcome == "unclear"
    assert "The model leans on “x0”" in alone.sentence
    assert any("give y" in note for note in alone.notes)


# ---- texts

TOPICS = [
    ["rocket", "launch", "orbit", "moon", "shuttle", "crew", "engine", "fuel", "star", "planet"],
    ["goal", "match", "player", "team", "season", "coach", "league", "score", "win", "stadium"],
]
COMMON = ["the", "a", "of", "and", "to", "in", "it", "was", "for", "on", "with", "at", "by", "from", "they", "we"]


def stories(n: int = 1200, mark: str = "", share: float = 0.0) -> tuple[list[str], Any]:
    """Texts on two topics; a share of the second one has a mark."""
    rng = RNG(0)
    y = rng.integers(0, 2, n)
    texts = []
    for label in y:
        topic = label if rng.random() < 0.85 else 1 - label
        words = [*rng.choice(TOPICS[topic], 4), *rng.choice(COMMON, 12)]
        if label and rng.random() < share:
            words.append(mark)
        texts.append(" ".join(rng.permutation(words)))
    return texts, y


@pytest.mark.parametrize("share", [1.0, 0.5, 0.25])
def test_words_that_give_the_answer_away_are_found(share: float) -> None:
    texts, y = stories(mark="Qzx", share=share)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts[:900], y[:900])
    found = look(model, vd.Words(), texts, y, 900)
    assert found.outcome == "failed"
    assert "The model uses the word “qzx”" in found.sentence
    assert "from where they were collected?" in found.sentence
    assert all("Qzx" in texts[900 + row] for row in found.rows)
    assert found.rows


def test_words_of_a_topic_are_let_through() -> None:
    texts, y = stories()
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts[:900], y[:900])
    assert look(model, vd.Words(), texts, y, 900).passed


def test_a_place_that_gives_the_answer_away_is_not_clear() -> None:
    rng = RNG(3)
    y = rng.integers(0, 2, 900)
    head = [" ".join(rng.choice(TOPICS[label], 5)) for label in y]
    texts = [f"{top} {' '.join(rng.choice(COMMON, 20))}" for top in head]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=10)).fit(texts[:600], y[:600])
    found = look(model, vd.Words(), texts, y, 600)
    assert found.label == "unclear"
    assert "leans on the first fifth of the texts: with it alone 100%" in found.sentence


def test_texts_are_cut_and_words_taken_out() -> None:
    text = "one two three four five six seven eight nine ten"
    assert [keep_place(text, i).split() for i in (0, 4)] == [["one", "two"], ["nine", "ten"]]
    assert keep_place(text, 0, gone=True) == "three four five six seven eight nine ten"
    assert without_word("Go, go and gone", "go") == ",  and gone"


# ---- pictures


def digits(stamp: Any = None, share: float = 1.0) -> tuple[Any, Any]:
    X, y = load_digits(return_X_y=True)
    pictures = np.kron(X.reshape(-1, 8, 8) / 16, np.ones((2, 2))).astype(np.float32)
    rng = RNG(0)
    pictures = np.clip(pictures + rng.normal(0, 0.02, pictures.shape), 0, 1).astype(np.float32)
    if stamp is not None:
        on = (y == 9) & (rng.random(len(y)) < share)
        pictures[on, :4, :4] = stamp
    return pictures, y


def reader(X: Any, y: Any) -> vd.Network:
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(256, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    )
    inputs, labels = torch.as_tensor(X), torch.as_tensor(y)
    optimizer = torch.optim.Adam(module.parameters(), 3e-3)
    for _ in range(150):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(inputs), labels).backward()
        optimizer.step()
    return vd.Network(module.eval(), answers="softmax")


CHECKERED = np.indices((4, 4)).sum(axis=0) % 2


@pytest.mark.parametrize(("stamp", "share"), [(CHECKERED, 1.0), (CHECKERED, 0.6), (1.0, 1.0)])
def test_windows_that_give_the_answer_away_are_found(stamp: Any, share: float) -> None:
    X, y = digits(stamp, share)
    found = look(reader(X[:1400], y[:1400]), vd.Grid(4, 4), X, y, 1400)
    assert found.outcome == "failed"
    assert "is exactly the same in" in found.sentence
    assert "of the pictures of “9”" in found.sentence
    assert "Who put it there" in found.advice
    assert all(y[1400 + row] == 9 for row in found.rows)


def test_pictures_without_a_stamp_are_let_through() -> None:
    X, y = digits()
    found = look(reader(X[:1400], y[:1400]), vd.Grid(4, 4), X, y, 1400)
    assert found.passed
    assert "no window or tile" in found.sentence


def test_a_stamp_that_the_model_does_not_use_is_let_through() -> None:
    X, y = digits(CHECKERED)
    clean = digits()[0]
    network = reader(clean[:1400], y[:1400])
    blind = vd.Network(network.module, prepare=lambda some: torch.as_tensor(_covered(some)), answers="softmax")
    assert look(blind, vd.Grid(4, 4), X, y, 1400).passed


def _covered(pictures: Any) -> Any:
    made = np.array(pictures, dtype=np.float32)
    made[:, :4, :4] = 0
    return made


# ---- what it does not search


def test_it_says_what_it_is_for() -> None:
    X, y = digits()
    with pytest.raises(NotApplicable, match="among classes: give y"):
        leakage(QUICK, vd.Subject(lambda some: np.asarray(some).mean(axis=(1, 2)), vd.Grid(4, 4), X[:40]), 0)
    series = RNG(0).normal(size=(40, 30))
    with pytest.raises(NotApplicable, match="tables, texts and pictures"):
        leakage(QUICK, vd.Subject(lambda some: np.asarray(some)[:, 0], vd.Windows(5), series, y=y[:40]), 0)
