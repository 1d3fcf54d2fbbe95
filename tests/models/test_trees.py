"""Trees are read as their packages answer, or not at all."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from veridical.models.trees import UnreadableError, read_trees

RNG = np.random.default_rng(0)
FULL = RNG.normal(size=(600, 5))
GAPS = np.where(RNG.random(FULL.shape) < 0.1, np.nan, FULL)
Y = FULL[:, 0] * 2 + FULL[:, 1] * FULL[:, 2] + np.sin(3 * FULL[:, 3])
TWO, THREE = (Y > 0).astype(int), np.digitize(Y, [-1, 1])
WORDS = pd.DataFrame(GAPS, columns=list("abcde")).assign(
    f=pd.Categorical(RNG.choice(["x", "y", "z", "w", None], 600)),
    g=pd.Categorical(RNG.choice(list("abcdefghijkl"), 600)),
)
MIXED = Y + 3 * WORDS["f"].isin(["x", "w"]) * WORDS["g"].isin(list("adgk"))
EARLY: dict[str, Any] = {"n_estimators": 200, "early_stopping_rounds": 3}


def stopped_lightgbm() -> Any:
    noise = lgb.Dataset(GAPS[:200], RNG.normal(size=200))
    stop = lgb.early_stopping(3, verbose=False)
    settings = {"verbose": -1, "num_threads": 1}
    return lgb.train(settings, lgb.Dataset(GAPS, Y), 200, valid_sets=[noise], callbacks=[stop])


def stopped_xgboost() -> Any:
    return xgb.XGBRegressor(**EARLY, n_jobs=1).fit(GAPS, Y, eval_set=[(GAPS[:99], -Y[:99])], verbose=0)


def small(kind: Any, **settings: Any) -> Any:
    verbose = {"verbose": -1} if kind.__name__.startswith("LGBM") else {}
    return kind(n_estimators=12, n_jobs=1, **verbose, **settings)


def margin(model: Any, X: Any) -> Any:
    return model.predict(X, output_margin=True)


def raw_score(model: Any, X: Any) -> Any:
    return model.predict(X, raw_score=True)


def decision(model: Any, X: Any) -> Any:
    return model.decision_function(X)


def value(model: Any, X: Any) -> Any:
    return model.predict(X)


def share(model: Any, X: Any) -> Any:
    return model.predict_proba(X)


CASES: dict[str, tuple[Any, Any, Any]] = {  # a fitted model, inputs, and what the sum of its trees is
    "decision tree": (DecisionTreeRegressor(max_depth=5).fit(GAPS, Y), GAPS, value),
    "random splits": (ExtraTreeRegressor(max_depth=5).fit(FULL, Y), FULL, value),
    "classes of a tree": (DecisionTreeClassifier(max_depth=5).fit(GAPS, THREE), GAPS, share),
    "several outputs": (RandomForestRegressor(5, max_depth=4).fit(FULL, np.stack([Y, -Y], 1)), FULL, value),
    "forest": (RandomForestRegressor(12, min_samples_leaf=5).fit(GAPS, Y), GAPS, value),
    "classes of a forest": (RandomForestClassifier(12, class_weight="balanced").fit(GAPS, THREE), GAPS, share),
    "extra trees": (ExtraTreesClassifier(12, min_samples_leaf=3).fit(FULL, TWO), FULL, share),
    "boosting": (GradientBoostingRegressor(n_estimators=12).fit(FULL, Y), FULL, value),
    "boosting from zero": (GradientBoostingRegressor(n_estimators=12, init="zero").fit(FULL, Y), FULL, value),
    "two classes": (
        GradientBoostingClassifier(n_estimators=50, n_iter_no_change=2).fit(FULL, TWO),
        FULL,
        decision,
    ),
    "three classes": (GradientBoostingClassifier(n_estimators=7).fit(FULL, THREE), FULL, decision),
    "histograms": (HistGradientBoostingRegressor(max_iter=12).fit(GAPS, Y), GAPS, value),
    "histograms, stopped": (
        HistGradientBoostingRegressor(max_iter=99, early_stopping=True, n_iter_no_change=2).fit(GAPS, Y),
        GAPS,
        value,
    ),
    "histograms, three classes": (HistGradientBoostingClassifier(max_iter=5).fit(GAPS, THREE), GAPS, decision),
    "histograms, categories": (
        HistGradientBoostingRegressor(max_iter=12, categorical_features="from_dtype").fit(WORDS, MIXED),
        WORDS,
        value,
    ),
    "lightgbm": (small(lgb.LGBMRegressor).fit(GAPS, Y), GAPS, value),
    "lightgbm without missing values": (small(lgb.LGBMRegressor).fit(FULL, Y), GAPS, value),
    "lightgbm, categories": (small(lgb.LGBMRegressor, min_child_samples=5).fit(WORDS, MIXED), WORDS, value),
    "lightgbm, two classes": (small(lgb.LGBMClassifier).fit(GAPS, TWO), GAPS, raw_score),
    "lightgbm, three classes": (small(lgb.LGBMClassifier).fit(GAPS, THREE), GAPS, raw_score),
    "lightgbm, forest": (
        small(lgb.LGBMRegressor, boosting_type="rf", bagging_freq=1, bagging_fraction=0.5).fit(GAPS, Y),
        GAPS,
        value,
    ),
    "lightgbm, dart": (small(lgb.LGBMRegressor, boosting_type="dart").fit(GAPS, Y), GAPS, value),
    "lightgbm, stopped booster": (stopped_lightgbm(), GAPS, value),
    "xgboost": (small(xgb.XGBRegressor).fit(GAPS, Y), GAPS, value),
    "xgboost, categories": (small(xgb.XGBRegressor, enable_categorical=True).fit(WORDS, MIXED), WORDS, value),
    "xgboost, two classes": (small(xgb.XGBClassifier).fit(GAPS, TWO), GAPS, margin),
    "xgboost, three classes": (small(xgb.XGBClassifier).fit(GAPS, THREE), GAPS, margin),
    "xgboost, dart": (small(xgb.XGBRegressor, booster="dart", rate_drop=0.3).fit(GAPS, Y), GAPS, value),
    "xgboost, forest": (small(xgb.XGBRFRegressor).fit(GAPS, Y), GAPS, value),
    "xgboost, stopped": (stopped_xgboost(), GAPS, value),
    "xgboost, booster": (stopped_xgboost().get_booster(), GAPS, lambda m, X: m.predict(xgb.DMatrix(X))),
}


@pytest.mark.parametrize("case", CASES)
def test_trees_answer_as_their_package_does(case: str) -> None:
    model, X, ask = CASES[case]
    found, wanted = read_trees(model), np.asarray(ask(model, X), np.float64)
    inputs = X if found.features is None else found.features(X)
    answers = found.forest.answers(np.asarray(inputs, np.float64))
    single = "xgboost" in case  # which adds up numbers of 32 bits
    assert (
        np.abs(answers - wanted.reshape(answers.shape)).max() <= (2e-6 if single else 1e-12) * np.abs(wanted).max()
    )


def test_leaves_are_counted() -> None:
    model = CASES["forest"][0]
    assert read_trees(model).forest.n_leaves == sum(int(tree.tree_.n_leaves) for tree in model.estimators_)


class Recorded:
    """A CatBoost model as it writes itself: recorded, for the package is large."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def save_model(self, path: str, format: str) -> None:
        assert format == "json"
        Path(path).write_text(json.dumps(self.data["model"]), encoding="utf-8")

    def get_all_params(self) -> Any:
        return self.data["params"]


RECORDED = json.loads((Path(__file__).parent / "catboost.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", RECORDED)
def test_catboost_answers_as_recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "catboost", ModuleType("catboost"))
    held = (
        {"__module__": "catboost.core", "predict_proba": None} if "Class" in name else {"__module__": "catboost"}
    )
    found = read_trees(type(name, (Recorded,), held)(RECORDED[name]))
    answers = found.forest.answers(np.array(RECORDED[name]["rows"], np.float64))
    assert answers == pytest.approx(np.reshape(RECORDED[name]["raw"], answers.shape), rel=1e-12)
    assert found.link == ("softmax" if "Class" in name else "identity")


class Mine(RandomForestRegressor):
    """A forest whose answers are other ones."""

    def predict(self, X: Any) -> Any:
        return -super().predict(X)


REFUSED: dict[str, Any] = {
    "no trees": LinearRegression().fit(FULL, Y),
    "a class of one's own": Mine(3).fit(FULL, Y),
    "starts from another model": GradientBoostingRegressor(n_estimators=2, init=LinearRegression()).fit(FULL, Y),
    "another loss": GradientBoostingClassifier(n_estimators=2, loss="exponential").fit(FULL, TWO),
    "linear leaves": small(lgb.LGBMRegressor, linear_tree=True).fit(FULL, Y),
    "zeros are missing": small(lgb.LGBMRegressor, zero_as_missing=True).fit(np.round(FULL), Y),
    "a number is missing": small(xgb.XGBRegressor, missing=-1.0).fit(FULL, Y),
    "a linear booster": xgb.XGBRegressor(booster="gblinear", n_estimators=3).fit(FULL, Y),
    "leaves of several values": small(xgb.XGBRegressor, multi_strategy="multi_output_tree").fit(
        FULL, np.stack([Y, -Y], axis=1)
    ),
    "pairs of classes": DecisionTreeClassifier(max_depth=2).fit(FULL, np.stack([TWO, 1 - TWO], axis=1)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_understood_is_refused(case: str) -> None:
    with pytest.raises(UnreadableError):
        read_trees(REFUSED[case])


def test_an_unfitted_model_is_no_tree() -> None:
    with pytest.raises((UnreadableError, AttributeError)):
        read_trees(RandomForestRegressor())
