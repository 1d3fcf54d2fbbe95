"""Libraries that import lime run their own code on veridical.compat.lime: dalex, interpret and dianna, unchanged."""

from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import veridical.compat
from veridical.compat.lime.explanations import Explanation

veridical.compat.install("lime")

CANCER = load_breast_cancer(as_frame=True)
SUGAR = load_diabetes(as_frame=True)
FOREST = RandomForestClassifier(20, random_state=0).fit(CANCER.data, CANCER.target)
TREES = RandomForestRegressor(20, random_state=0).fit(SUGAR.data, SUGAR.target)
ROW = CANCER.data.iloc[0]


MADE_BY_LIME = """
import pickle, sys
import dill
import numpy as np
from lime.lime_tabular import LimeTabularExplainer
from lime.lime_text import LimeTextExplainer

def classes(rows):
    p = 1 / (1 + np.exp(-rows[:, 0]))
    return np.stack([1 - p, p], axis=1)

X = np.random.RandomState(0).randn(100, 3)
explainer = LimeTabularExplainer(X, feature_names=list("abc"), random_state=0)
places = lambda texts: classes(np.array([[text.find("bad")] for text in texts]))
text = LimeTextExplainer(random_state=0).explain_instance("bad or not", places)
with open(sys.argv[1], "wb") as file:
    pickle.dump([explainer.explain_instance(X[0], classes), text], file)
with open(sys.argv[2], "wb") as file:
    dill.dump(explainer, file)
"""


def test_what_lime_saved_is_loaded(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("explanations", "explainer")]
    subprocess.run([sys.executable, "-c", MADE_BY_LIME, *paths], check=True)
    row, text = pickle.loads(Path(paths[0]).read_bytes())
    assert isinstance(row, Explanation)
    assert row.as_list()[0][0].find("a") >= 0
    assert "Weights for 1" in row.as_html()
    assert {name for name, _ in text.as_list(positions=True)} == {"bad_0", "or_4", "not_7"}
    explainer = importlib.import_module("dill").loads(Path(paths[1]).read_bytes())
    X = np.random.RandomState(0).randn(100, 3)
    again = explainer.explain_instance(X[0], lambda rows: np.stack([-rows[:, 0], rows[:, 0]], axis=1) / 9 + 0.5)
    made = importlib.import_module("lime.lime_tabular").LimeTabularExplainer(
        X, feature_names=list("abc"), random_state=0
    )
    wanted = made.explain_instance(X[0], lambda rows: np.stack([-rows[:, 0], rows[:, 0]], axis=1) / 9 + 0.5)
    assert dict(again.as_list())[wanted.as_list()[0][0]] == pytest.approx(wanted.as_list()[0][1], rel=0.02)
    assert explainer.base.kernel_fn.width == made.base.kernel_fn.width


def test_lime_is_ours() -> None:
    assert importlib.import_module("lime.lime_tabular").LimeTabularExplainer.__module__.startswith("veridical.")


@pytest.mark.parametrize(("model", "data"), [(FOREST, CANCER), (TREES, SUGAR)], ids=["classes", "numbers"])
def test_dalex(model: Any, data: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dalex = importlib.import_module("dalex")
    pyplot = importlib.import_module("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    explainer = dalex.Explainer(model, data.data, data.target, verbose=False)
    found = explainer.predict_surrogate(data.data.iloc[0], num_features=5, random_state=1)
    assert isinstance(found, Explanation)
    assert isinstance(found.result, pd.DataFrame)
    assert found.result.shape == (5, 2)
    assert found.plot(return_figure=True).axes
    assert found.verdict is not None


def test_interpret() -> None:
    blackbox = importlib.import_module("interpret.blackbox")
    explainer = blackbox.LimeTabular(FOREST, CANCER.data)
    found = explainer.explain_local(CANCER.data[:3], CANCER.target[:3], num_features=4)
    for i in range(3):
        local = found.data(i)
        assert len(local["names"]) == len(local["scores"]) == 4
        assert set(local["names"]) <= set(CANCER.data.columns)
        assert all(np.isfinite(local["scores"]))


def test_dianna_tables() -> None:
    home = importlib.import_module("dianna.methods.lime_tabular")
    explainer = home.LIMETabular(
        CANCER.data.to_numpy(), feature_names=list(CANCER.data), class_names=["bad", "fine"], random_state=0
    )
    found = explainer.explain(FOREST.predict_proba, ROW.to_numpy(), num_samples=500)
    assert found.shape == (2, 30)
    assert np.allclose(found[0], -found[1], atol=1e-6)
    numbers = home.LIMETabular(SUGAR.data.to_numpy(), mode="regression", feature_names=list(SUGAR.data))
    assert numbers.explain(TREES.predict, SUGAR.data.iloc[0].to_numpy(), num_samples=500).shape == (10,)


class Tokenizer:
    """What dianna asks of a tokenizer."""

    mask_token = "UNKWORDZ"

    def tokenize(self, text: str) -> list[str]:
        return text.split()

    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        return " ".join(tokens)


def test_dianna_texts() -> None:
    def predict(texts: Any) -> Any:
        p = np.array([0.2 + 0.6 * ("bad" in text) for text in texts])
        return np.stack([p, 1 - p], axis=1)

    home = importlib.import_module("dianna.methods.lime_text")
    explainer = home.LIMEText(random_state=0)
    ((*_, third),) = [
        explainer.explain(predict, "this is bad", labels=[0], tokenizer=Tokenizer(), num_samples=500)[0]
    ]
    word, position, weight = third
    assert (word, position) == ("bad", 2)
    assert weight == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize("masks", [True, False])
def test_dianna_pictures(masks: bool) -> None:
    def predict(pictures: Any) -> Any:
        p = pictures[:, :, :16].mean(axis=(1, 2, 3)) / 255
        return np.stack([p, 1 - p], axis=1).astype(np.float32)

    home = importlib.import_module("dianna.methods.lime_image")
    picture = np.random.default_rng(0).integers(0, 255, (32, 32, 3)).astype(np.float32)
    explainer = home.LIMEImage(random_state=0, axis_labels=["height", "width", "channels"])
    found = explainer.explain(predict, picture, labels=[0, 1], num_samples=200, return_masks=masks)
    assert found.shape == (2, 32, 32)
    assert np.isfinite(found).all()


def test_dianna_series() -> None:
    def predict(series: Any) -> Any:
        p = 1 / (1 + np.exp(-np.asarray(series).mean(axis=(1, 2))))
        return np.stack([p, 1 - p], axis=1)

    home = importlib.import_module("dianna.methods.lime_timeseries")
    series = np.random.default_rng(0).normal(size=(12, 1)).astype(np.float32)
    found = home.LIMETimeseries().explain(
        predict, series, labels=[0, 1], class_names=["up", "down"], num_features=12, num_samples=200, num_slices=12,
        batch_size=50,
    )  # fmt: skip
    assert found.shape == (2, 12, 1)
    assert np.allclose(found[0], -found[1], atol=1e-6)


def test_pages_of_dependents_are_ours(tmp_path: Path) -> None:
    dalex = importlib.import_module("dalex")
    explainer = dalex.Explainer(FOREST, CANCER.data, CANCER.target, verbose=False)
    explainer.predict_surrogate(ROW).save_to_file(tmp_path / "page.html")
    assert "Made with veridical" in (tmp_path / "page.html").read_text(encoding="utf-8")
