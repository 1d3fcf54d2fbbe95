"""Recognized models: exact where they answer as they were read, and sampled, with a note, where they do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import veridical as vd
from veridical.methods.exact import EXACT, MISREAD
from veridical.models import structures
from veridical.models.trees import Forest, TreeSum, read_trees

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 5))
GAPS = np.where(RNG.random(X.shape) < 0.15, np.nan, X)
Y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3])
TWO = np.where(Y > 0, "high", "low")
EXACTLY = vd.Lime(surrogate=vd.surrogates.Additive())
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(f=RNG.choice(["x", "y", "z"], 500))
FOREST = RandomForestRegressor(20, min_samples_leaf=5, random_state=0).fit(GAPS, Y)


def is_exact(why: Any) -> bool:
    return bool((why.intervals[:, 0] == why.intervals[:, 1]).all()) and EXACT in why.notes


@pytest.mark.parametrize(
    ("model", "X"),
    [
        (FOREST, GAPS),
        (RandomForestClassifier(20, random_state=0).fit(X, TWO), X),
        (GradientBoostingRegressor(random_state=0).fit(X, Y), X),
        (LogisticRegression().fit(X, TWO), X),
        (
            make_pipeline(
                make_column_transformer((OneHotEncoder(), ["f"]), (StandardScaler(), list("abcde"))),
                RandomForestClassifier(20, random_state=0),
            ).fit(FRAME, TWO),
            FRAME,
        ),
    ],
    ids=["forest", "classes", "boosting", "logistic", "pipeline"],
)
def test_recognized_models_are_explained_exactly(model: Any, X: Any) -> None:
    rows = vd.Rows(X)
    for number in (0, 17):
        x = X.iloc[number] if hasattr(X, "iloc") else X[number]
        why = vd.explain(model, rows, x, method=EXACTLY)
        assert is_exact(why)
        assert why.n_calls <= 65
        same = vd.surrogates.Additive(link=why.scale)
        sampled = vd.explain(model, rows, x, method=vd.Lime(n_samples=4096, surrogate=same))
        assert not is_exact(sampled)
        assert np.linalg.norm(why.weights - sampled.weights) <= 0.1 * np.linalg.norm(why.weights)
        assert why.fidelity >= sampled.fidelity - 0.04
        total = why.intercept + why.weights.sum() + sum(pair.weight for pair in why.pairs)
        local = total if why.scale == "identity" else 1 / (1 + np.exp(-total))
        assert local == pytest.approx(why.local_prediction)
        assert [curve.part for curve in why.curves] == list(range(len(why.parts)))


def test_a_logistic_model_is_exact_on_log_odds() -> None:
    model = LogisticRegression().fit(X, TWO)
    why = vd.explain(model, vd.Rows(X), X[0], method=EXACTLY, target="high")
    center = np.array([seen.shares @ seen.numbers for seen in vd.Rows(X).background.seen])
    assert why.scale == "log-odds"
    assert why.weights == pytest.approx(-model.coef_[0] * (X[0] - center))  # the second class is "low"
    assert why.fidelity == pytest.approx(1.0)
    plain = vd.explain(
        model, vd.Rows(X), X[0], target="high", method=vd.Lime(surrogate=vd.surrogates.Additive(link="identity"))
    )
    assert is_exact(plain)
    assert plain.scale == "identity"
    assert plain.prediction == pytest.approx(why.prediction)


def test_the_same_bits_again_and_saved(tmp_path: Any) -> None:
    rows = vd.Rows(GAPS)
    first, second = (vd.explain(FOREST, rows, GAPS[3], method=EXACTLY) for _ in range(2))
    first.save(tmp_path / "why.json")
    for other in (second, vd.load(tmp_path / "why.json")):
        assert (other.weights == first.weights).all()
        assert other.fidelity == first.fidelity


def leaf_changed(forest: Forest) -> Forest:
    values, leaves = forest.values.copy(), np.flatnonzero(forest.children[:, 0] < 0)
    values[leaves[np.argmax(forest.covers[leaves])]] += 5.0
    return replace(forest, values=values)


def missing_turned(forest: Forest) -> Forest:
    return replace(forest, missing_left=~forest.missing_left)


def tree_dropped(forest: Forest) -> Forest:
    return replace(forest, roots=forest.roots[1:])


SABOTEURS: list[Callable[[Forest], Forest]] = [leaf_changed, missing_turned, tree_dropped]


@pytest.mark.parametrize("sabotage", SABOTEURS)
def test_a_wrong_parse_is_noticed_and_sampled(sabotage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(model: Any) -> TreeSum:
        found = read_trees(model)
        return replace(found, forest=sabotage(found.forest))

    honest = vd.explain(FOREST, vd.Rows(GAPS), GAPS[0], method=EXACTLY)
    monkeypatch.setattr(structures, "read_trees", read)
    outside = 0
    for seed in range(8):
        why = vd.explain(FOREST, vd.Rows(GAPS), GAPS[0], method=EXACTLY, rng=seed)
        assert MISREAD in why.notes
        assert EXACT not in why.notes
        assert np.abs(why.weights - honest.weights).max() <= 0.15 * np.abs(honest.weights).max()
        outside += int(((why.intervals[:, 0] > honest.weights) | (why.intervals[:, 1] < honest.weights)).sum())
    assert outside <= 12  # of 40, of which the shrinkage of curves takes some


def test_a_leaf_that_few_samples_reach_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows about which the model is asked reach as many leaves as can be."""

    def read(model: Any) -> TreeSum:
        found = read_trees(model)
        leaves = np.flatnonzero(found.forest.children[:, 0] < 0)
        values = found.forest.values.copy()
        values[leaves[np.argsort(found.forest.covers[leaves])[3]]] += 5.0
        return replace(found, forest=replace(found.forest, values=values))

    model = GradientBoostingRegressor(n_estimators=10, max_leaf_nodes=8, random_state=0).fit(X, Y)
    monkeypatch.setattr(structures, "read_trees", read)
    assert MISREAD in vd.explain(model, vd.Rows(X), X[0], method=EXACTLY).notes


def test_a_model_that_is_fitted_again_is_read_again() -> None:
    model, rows = clone(FOREST).fit(GAPS, Y), vd.Rows(GAPS)
    before = vd.explain(model, rows, GAPS[0], method=EXACTLY)
    model.fit(GAPS, -Y)
    after = vd.explain(model, rows, GAPS[0], method=EXACTLY)
    fresh = vd.explain(model, vd.Rows(GAPS), GAPS[0], method=EXACTLY)
    assert is_exact(after)
    assert after.weights == pytest.approx(fresh.weights)
    assert np.abs(after.weights - before.weights).max() > 0.5


def test_a_model_that_changes_between_calls_is_sampled() -> None:
    model, calls = clone(FOREST).fit(GAPS, Y), list[int]()
    plain = model.predict

    def predict(X: Any) -> Any:
        calls.append(len(X))
        return plain(X) + len(calls)

    model.predict = predict
    why = vd.explain(model, vd.Rows(GAPS), GAPS[0], method=EXACTLY)
    assert EXACT not in why.notes


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (GradientBoostingClassifier(n_estimators=5).fit(X, TWO), {}),
        (LogisticRegression().fit(X, np.arange(500) % 3), {}),
        (FOREST, {"n_samples": 512}),
        (FOREST, {"n_features": 2}),
        (FOREST, {"width": 0.5}),
        (FOREST, {"surrogate": vd.surrogates.Additive(link="log-odds")}),
        (FOREST.predict, {"surrogate": vd.surrogates.Linear()}),
        (lambda X: FOREST.predict(X), {}),
    ],
)
def test_what_has_no_closed_form_is_sampled_as_ever(model: Any, settings: Any) -> None:
    method = replace(EXACTLY, **settings)
    data = X if model is not FOREST else GAPS
    assert EXACT not in vd.explain(model, vd.Rows(data), data[0], method=method).notes


def test_a_category_that_was_never_seen_is_sampled() -> None:
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["f"]), remainder="passthrough"),
        RandomForestRegressor(10, random_state=0),
    ).fit(FRAME, Y)
    x = FRAME.iloc[0].copy()
    assert is_exact(vd.explain(model, vd.Rows(FRAME), x, method=EXACTLY))
    x["f"] = "w"
    assert EXACT not in vd.explain(model, vd.Rows(FRAME), x, method=EXACTLY).notes


def test_columns_that_never_change_are_part_of_the_row() -> None:
    rows = vd.Rows(X, immutable=[1], names=list("abcde"))
    model = RandomForestRegressor(20, random_state=0).fit(X, Y)
    for number in (0, 5):
        why = vd.explain(model, rows, X[number], method=EXACTLY)
        assert is_exact(why)
        sampled = vd.explain(model, rows, X[number], method=replace(EXACTLY, n_samples=4096))
        assert np.linalg.norm(why.weights - sampled.weights) <= 0.1 * np.linalg.norm(why.weights)


def test_a_model_that_is_not_fitted_says_so() -> None:
    with pytest.raises(vd.errors.ModelError, match="not fitted"):
        vd.explain(RandomForestRegressor(), vd.Rows(X), X[0], method=EXACTLY)


def test_a_model_of_other_columns_says_so() -> None:
    with pytest.raises(vd.errors.ModelError, match="features"):
        vd.explain(FOREST, vd.Rows(X[:, :3]), X[0, :3], method=EXACTLY)
