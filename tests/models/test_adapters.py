"""The model itself in the place of its function, method names, and keywords of other libraries."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import veridical as vd
from veridical.models.adapters import model_of, predict_of
from veridical.records import Output

FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(150, 3)), columns=list("abc"))
Y = np.where(FRAME.a + 0.3 * FRAME.b > 0, 2, 1)
ROWS, ROW, QUICK = vd.Rows(FRAME), FRAME.iloc[0], vd.Lime(n_samples=64)


def same(model: Any, predict: Any, **settings: Any) -> vd.Explanation:
    """The explanation of a model itself, which is that of its function."""
    found = vd.explain(model, ROWS, ROW, method=QUICK, **settings)
    np.testing.assert_array_equal(found.weights, vd.explain(predict, ROWS, ROW, method=QUICK, **settings).weights)
    return found


class OnlyPredict(ClassifierMixin, BaseEstimator):
    """A classifier with nothing but predict."""

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[(np.asarray(X)[:, 0] > 0).astype(int)]


def test_estimators_by_what_tells_most() -> None:
    logistic = LogisticRegression().fit(FRAME, Y)
    ridge, linear = RidgeClassifier().fit(FRAME, Y), LinearRegression().fit(FRAME, FRAME.a)
    search = GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {}, cv=2).fit(FRAME, Y)
    assert same(logistic, logistic.predict_proba).target == Y[0]
    assert same(ridge, ridge.decision_function).target == Y[0]
    assert same(linear, linear.predict).target == "value"
    assert same(search, search.predict_proba, target=2).target == 2
    only = OnlyPredict().fit(FRAME, np.where(Y == 2, "yes", "no"))
    why = vd.explain(only, ROWS, ROW, method=QUICK)
    assert why.target == only.predict(FRAME[:1])[0]
    assert any("predict_proba" in note for note in why.notes)
    clusters = KMeans(3, n_init=1, random_state=0).fit(FRAME)
    found = vd.explain(clusters, ROWS, ROW, method=QUICK)
    assert found.target == "value"
    assert any("a few whole numbers" in note for note in found.notes)
    assert vd.explain(KNeighborsRegressor(1).fit(FRAME, Y + (FRAME.a > 1)), ROWS, ROW, method=QUICK).notes == ()


def test_a_text_pipeline_of_scikit_learn() -> None:
    texts = ["good film", "bad film", "good play", "bad play"] * 3
    model = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, ["yes", "no"] * 6)
    why = vd.explain(model, vd.Words(), "a good film")
    assert (why.target, why.top(1)[0][0]) == ("yes", "good")


def test_several_answers_at_once_have_no_classes() -> None:
    model = MultiOutputClassifier(LogisticRegression()).fit(FRAME, np.stack([Y, 3 - Y], axis=1))
    assert model_of(model.predict).classes is None
    forest = RandomForestClassifier(3, random_state=0).fit(FRAME, np.stack([Y, 3 - Y], axis=1))
    assert model_of(forest.predict_proba).classes is None
    for several in (model, forest, lambda X: np.stack(forest.predict_proba(X))):
        with pytest.raises(
            vd.errors.ModelError, match=r"several answers at once.*choose one by a function.*lambda"
        ):
            vd.explain(several, ROWS, ROW, method=QUICK)
    assert vd.explain(lambda X: forest.predict_proba(X)[1], ROWS, ROW, method=QUICK).parts


@pytest.mark.parametrize("unfitted", [LogisticRegression(), make_pipeline(StandardScaler(), LinearRegression())])
def test_what_is_not_fitted_says_so(unfitted: Any) -> None:
    with pytest.raises(vd.errors.ModelError, match=r"not fitted: call its fit\(X, y\)"):
        vd.explain(unfitted, ROWS, ROW)


class Odd:
    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 2), 0.5)

    @property
    def classes_(self) -> Any:
        raise RuntimeError("no classes here")


def test_classes_that_cannot_be_read() -> None:
    with pytest.raises(
        vd.errors.ModelError, match=r"classes_ raised RuntimeError: no classes here; pass classes="
    ):
        vd.explain(Odd(), ROWS, ROW)
    assert vd.explain(Odd(), ROWS, ROW, classes=["a", "b"], method=QUICK).target == "a"


@pytest.mark.parametrize("wrong", [None, 5, "model", StandardScaler(), FRAME, LogisticRegression])
def test_what_is_no_model(wrong: Any) -> None:
    with pytest.raises(vd.errors.InputError, match="model"):
        vd.explain(wrong, ROWS, ROW)


def test_every_function_takes_the_model(tmp_path: Path) -> None:
    model = LogisticRegression().fit(FRAME, Y)
    many = vd.explain_many(model, ROWS, FRAME[:4], method=QUICK)
    other = vd.explain_many(vd.Factory(lambda: model), ROWS, FRAME[:4], method=QUICK, n_jobs=2)
    assert [e.target for e in many] == [e.target for e in other] == model.predict(FRAME[:4]).tolist()
    store = vd.explain_many(model, ROWS, FRAME, method=QUICK, store=tmp_path / "s", engine=vd.engines.Threads(1))
    assert store[0].target == Y[0]
    assert vd.rerun(model, ROWS, FRAME[:1], many[0].recipe).target == many[0].target
    assert vd.group(model, ROWS, FRAME, k=2, method="linear").target in (1, 2)
    assert vd.evaluate(model, ROWS, FRAME[:3], methods="lime", metrics=["size"]).scores
    assert vd.debug(model, ROWS, FRAME, check="sampling", method="lime").check == "sampling"
    assert vd.audit(model, ROWS, FRAME, y=Y, methods=["occlusion"], checks=["sampling"]).results
    assert vd.causes(model, ROWS, FRAME[:2], kind=vd.edits.EditedColumns())
    assert vd.Subject(model, ROWS, FRAME, y=Y).train_model(FRAME, Y, 0)(FRAME[:2]).shape == (2, 2)
    assert vd.believe(model, ROWS, ROW, vd.explain(model, ROWS, ROW, method="occlusion")).check


def test_xgboost() -> None:
    xgboost = pytest.importorskip("xgboost")
    settings = {"max_depth": 2, "nthread": 1}
    data = xgboost.DMatrix(FRAME, label=Y - 1)
    binary = xgboost.train({**settings, "objective": "binary:logistic"}, data, 4)
    own = lambda X: binary.predict(xgboost.DMatrix(X))  # noqa: E731
    assert same(binary, own).target == "value"
    both = [vd.explain(binary, ROWS, ROW, classes=["no", "yes"], target=t, method=QUICK) for t in ("no", "yes")]
    assert sum(each.prediction for each in both) == pytest.approx(1)
    named = vd.explain_many(binary, ROWS, FRAME[:9], classes=["no", "yes"], method=QUICK)
    assert [e.target for e in named] == np.where(own(FRAME[:9]) > 0.5, "yes", "no").tolist()
    raw = xgboost.train({**settings, "objective": "binary:logitraw"}, data, 2)
    with pytest.raises(vd.errors.InputError, match="classes must name every output"):
        vd.explain(raw, ROWS, ROW, classes=["no", "yes"], method=QUICK)
    labels = xgboost.train({**settings, "objective": "multi:softmax", "num_class": 3}, data, 2)
    assert model_of(labels).coarse
    several = xgboost.train({**settings, "objective": "multi:softprob", "num_class": 2}, data, 4)
    assert type(same(several, lambda X: several.predict(xgboost.DMatrix(X))).target) is Output
    as_array = vd.explain(binary, vd.Rows(FRAME.to_numpy()), FRAME.to_numpy()[0], method=QUICK)
    assert as_array.prediction == pytest.approx(float(own(FRAME[:1])[0]))
    fitted = xgboost.XGBClassifier(n_estimators=4, max_depth=2, n_jobs=1).fit(FRAME, Y - 1)
    assert same(fitted, fitted.predict_proba).target == Y[0] - 1
    pickle.loads(pickle.dumps(predict_of(binary)))(FRAME[:2])


def test_lightgbm() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"verbose": -1, "num_threads": 1, "objective": "binary"}
    booster = lightgbm.train(settings, lightgbm.Dataset(FRAME, label=Y - 1), 4)
    assert same(booster, booster.predict).target == "value"
    no = vd.explain(booster, ROWS, ROW, classes=["no", "yes"], target="no", method=QUICK)
    assert no.prediction == pytest.approx(1 - booster.predict(FRAME[:1])[0])
    fitted = lightgbm.LGBMClassifier(n_estimators=4, n_jobs=1, verbose=-1).fit(FRAME, Y)
    assert same(fitted, fitted.predict_proba, target=2).target == 2


class CatBoost:
    """As CatBoost's plain model answers: raw scores, and probabilities where it is asked for them."""

    classes_ = ("no", "yes")

    def predict(self, data: Any, prediction_type: str = "RawFormulaVal") -> Any:
        raw = np.asarray(data)[:, 0]
        p = 1 / (1 + np.exp(-raw))
        return np.stack([1 - p, p], axis=1) if prediction_type == "Probability" else raw


CatBoost.__module__ = "catboost.core"


def test_catboost() -> None:
    why = vd.explain(CatBoost(), ROWS, ROW, target="yes", method=QUICK)
    assert why.prediction == pytest.approx(1 / (1 + np.exp(-ROW.iloc[0])))


class Keras:
    """As a Keras model is asked; called by itself it would be given tensors."""

    def __call__(self, X: Any) -> Any:
        raise AssertionError("a Keras model is asked by predict")

    def predict_on_batch(self, X: Any) -> Any:
        raise AssertionError

    def predict(self, X: Any, batch_size: int | None = None, verbose: str | int = "auto") -> Any:
        assert verbose == 0
        assert type(X) is np.ndarray
        return X[:, :1].astype(np.float32)


def test_keras() -> None:
    assert vd.explain(Keras(), ROWS, ROW, method=QUICK).prediction == np.float32(ROW.iloc[0])
    with pytest.raises(vd.errors.InputError, match="classes must name every output"):
        vd.explain(Keras(), ROWS, ROW, classes=["no", "yes"], method=QUICK)
    sure: Any = Keras()
    sure.layers = [SimpleNamespace(activation=SimpleNamespace(__name__="sigmoid"))]
    no = vd.explain(sure, ROWS, ROW, classes=["no", "yes"], target="no", method=QUICK)
    assert no.prediction == pytest.approx(1 - ROW.iloc[0], rel=1e-6)


class TextClassification:
    """As a pipeline of Hugging Face answers: the likeliest label first."""

    task = "text-classification"
    tokenizer = object()
    model = SimpleNamespace(config=SimpleNamespace(id2label={1: "POSITIVE", 0: "NEGATIVE"}))

    def __call__(self, texts: Any, top_k: int | None = 1) -> Any:
        assert type(texts) is list
        answers = []
        for text in texts:
            good = 0.9 if "good" in text else 0.2
            each = [{"label": "POSITIVE", "score": good}, {"label": "NEGATIVE", "score": 1 - good}]
            ordered = sorted(each, key=lambda a: -a["score"])
            answers.append(ordered if top_k is None else ordered[:1])
        return answers


def test_hugging_face() -> None:
    model: Any = TextClassification()
    why = vd.explain(model, vd.Words(), "a good film")
    assert (why.target, why.prediction, why.top(1)[0][0]) == ("POSITIVE", 0.9, "good")
    assert vd.explain(model, vd.Words(), "a good film", target="NEGATIVE").prediction == pytest.approx(0.1)
    assert [e.target for e in vd.explain_many(model, vd.Words(), ["good one", "a film"])] == [
        "POSITIVE",
        "NEGATIVE",
    ]
    model.task = "translation"
    with pytest.raises(vd.errors.InputError, match="a pipeline for translation cannot be explained"):
        vd.explain(model, vd.Words(), "a good film")


def test_torch_modules() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(3, 2).eval()
    assert type(vd.explain(module, vd.Rows(FRAME.to_numpy()), FRAME.to_numpy()[0], method=QUICK).target) is Output


@pytest.mark.parametrize(
    "name", ["lime", "Lime", "LIME", "kernel_shap", "kernelshap", "KernelShap", "kernel-shap"]
)
def test_methods_by_name(name: str) -> None:
    why = vd.explain(LogisticRegression().fit(FRAME, Y), ROWS, ROW, method=name)
    assert why.recipe["method"]["name"] == ("Lime" if name.lower() == "lime" else "KernelShap")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shap", r"did you mean 'kernel_shap', which is vd\.KernelShap\(\)\?"),
        ("lme", r"did you mean 'lime', which is vd\.Lime\(\)\?"),
        ("integrated_gradient", "did you mean 'integrated_gradients'"),
        ("qqqq", "there are contrast, counterfactual"),
    ],
)
def test_names_that_are_nearly_right(name: str, said: str) -> None:
    model = LogisticRegression().fit(FRAME, Y)
    for call in (
        lambda: vd.explain(model, ROWS, ROW, method=name),
        lambda: vd.explain_many(model, ROWS, FRAME[:2], method=name),
        lambda: vd.evaluate(model, ROWS, FRAME[:2], methods=[name]),
        lambda: vd.debug(model, ROWS, FRAME, check="sampling", method=name),
    ):
        with pytest.raises(vd.errors.InputError, match=said):
            call()
    with pytest.raises(vd.errors.InputError, match=r"did you mean 'gime', which is vd\.groupings\.Gime\(\)\?"):
        vd.group(model, ROWS, FRAME, k=2, method="gimee")


@pytest.mark.parametrize(
    ("keyword", "said"),
    [
        ("random_state", "rng=0"),
        ("seed", "rng=0"),
        ("n_samples", r"method=vd\.Lime\(n_samples=1000\)"),
        ("num_samples", r"method=vd\.Lime\(n_samples=1000\)"),
        ("num_features", "n_features"),
        ("class_names", r"classes=\["),
        ("targets", "did you mean target"),
        ("qqqq", "there are .*classes"),
    ],
)
def test_keywords_of_other_libraries(keyword: str, said: str) -> None:
    functions: Any = (vd.explain, vd.explain_many, vd.group) if keyword != "targets" else (vd.explain,)
    for function in functions:
        with pytest.raises(vd.errors.InputError, match=f"{function.__name__} has no argument '{keyword}'.*{said}"):
            function(lambda X: X[:, 0], ROWS, ROW, **{keyword: 5})


def test_keywords_of_settings() -> None:
    make: Any = vd.Lime
    for keyword, said in {"num_samples": "here it is n_samples", "random_state": "rng", "widht": "width"}.items():
        with pytest.raises(vd.errors.InputError, match=f"Lime has no argument '{keyword}': .*{said}"):
            make(**{keyword: 5})
    assert pickle.loads(pickle.dumps(vd.Lime(n_samples=5))) == vd.Lime(n_samples=5)


@pytest.mark.parametrize("surrogate", [vd.surrogates.Linear(), vd.surrogates.Tree()], ids=["linear", "tree"])
def test_a_surrogate_is_no_method(surrogate: Any) -> None:
    with pytest.raises(
        vd.errors.InputError, match=r"a surrogate belongs to Lime: method=vd\.Lime\(surrogate=vd\."
    ):
        vd.explain(lambda X: X["a"], ROWS, ROW, method=surrogate)


def test_what_cannot_track_or_count() -> None:
    model: Any = LogisticRegression().fit(FRAME, Y)
    wrong: Any = 5
    for call in (
        lambda: vd.explain(model, ROWS, ROW, method=QUICK, progress=wrong),
        lambda: vd.explain_many(model, ROWS, FRAME[:2], method=QUICK, progress=wrong),
        lambda: vd.group(model, ROWS, FRAME, k=2, progress=wrong),
    ):
        with pytest.raises(
            vd.errors.InputError, match=r"progress wants a function that wraps an iteration.*not 5"
        ):
            call()
    wrong = "a"
    with pytest.raises(vd.errors.InputError, match="top wants a whole number of parts, from 0 on, not 'a'"):
        vd.explain(model, ROWS, ROW, method=QUICK).top(wrong)


def test_signatures_stay_as_they_are_written() -> None:
    assert list(inspect.signature(vd.explain).parameters)[:3] == ["model", "representer", "x"]
    assert next(iter(inspect.signature(vd.Lime).parameters)) == "n_samples"
    assert inspect.getdoc(vd.explain)
