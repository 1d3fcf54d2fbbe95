"""lime's explainers on our engine: what they are given, what comes back, and what they refuse."""

from __future__ import annotations

import contextlib
import copy
import io
import os
import pickle
import subprocess
import sys
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from veridical.compat.lime.explainers import (
    LimeImageExplainer,
    LimeTabularExplainer,
    LimeTextExplainer,
    RecurrentTabularExplainer,
    SubmodularPick,
)
from veridical.compat.lime.explanations import LimeError, LimeWarning
from veridical.compat.lime.local_models import AUTO, LimeBase, QuartileDiscretizer
from veridical.errors import InputError

rng = np.random.default_rng(0)
X = np.c_[rng.normal(size=(200, 2)), rng.integers(0, 3, 200), np.ones(200), rng.integers(0, 2, 200)].astype(float)
NAMES = ["a", "b", "c", "k", "z"]
TRUE = np.array([2.0, -1.0, 0.5, 0.0, 0.0])


class Spy:
    """A model that remembers what it was given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.given: list[Any] = []

    def __call__(self, batch: Any) -> Any:
        self.given.append(copy.copy(batch))
        return self.answer(batch)

    @property
    def rows(self) -> int:
        return sum(each.shape[0] if hasattr(each, "shape") else len(each) for each in self.given)


def line(rows: Any) -> Any:
    return rows @ TRUE


def classes(rows: Any) -> Any:
    p = 1 / (1 + np.exp(-line(rows)))
    return np.stack([1 - p, 0.25 * p, 0.75 * p], axis=1)


def tables(**settings: Any) -> LimeTabularExplainer:
    settings = {"feature_names": NAMES, "categorical_features": [2, 4], **settings}
    return LimeTabularExplainer(X, **settings)


def words(texts: Any) -> Any:
    p = np.array([0.2 + 0.5 * ("bad" in text) + 0.1 * ("not" in text) for text in texts])
    return np.stack([1 - p, p], axis=1)


# Tables


def test_names_keep_limes_bytes() -> None:
    exp = tables(categorical_names={2: ["x", "y", "zz"], 4: {0: "no", 1: "yes"}}).explain_instance(X[0], classes)
    quarters = np.percentile(X[:, 0], (25, 50, 75))
    at = np.searchsorted(quarters, X[0, 0])
    inner = "%.2f < a <= %.2f" % (quarters[at - 1], quarters[min(at, 2)])  # noqa: UP031
    wanted = f"a <= {quarters[0]:.2f}" if at == 0 else f"a > {quarters[2]:.2f}" if at == 3 else inner
    names = [name for name, _ in exp.as_list()]
    assert wanted in names
    assert f"c={['x', 'y', 'zz'][int(X[0, 2])]}" in names
    assert f"z={['no', 'yes'][int(X[0, 4])]}" in names
    assert "k <= 1.00" in names
    plain = tables(discretize_continuous=False).explain_instance(X[0], classes)
    assert {"a", "b", f"c={int(X[0, 2])}", "k"} < {name for name, _ in plain.as_list()}
    assert any(
        name.endswith("3 <= 1.00") for name, _ in LimeTabularExplainer(X).explain_instance(X[0], classes).as_list()
    )


def test_all_columns_come_back_padded_with_zeros() -> None:
    exp = tables().explain_instance(X[0], classes, num_features=10)
    assert sorted(id_ for id_, _ in exp.local_exp[1]) == [0, 1, 2, 3, 4]
    assert dict(exp.local_exp[1])[3] == 0.0
    sizes = [abs(weight) for _, weight in exp.local_exp[1]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(tables().explain_instance(X[0], classes, num_features=2).as_list()) == 2
    everything = tables(feature_selection="none").explain_instance(X[0], classes, num_features=2)
    assert len(everything.as_list()) == 5
    flat = tables().explain_instance(X[0], lambda rows: np.tile([0.5, 0.5], (len(rows), 1)), num_features=3)
    assert [weight for _, weight in flat.as_list()] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("selection", ["auto", "forward_selection", "highest_weights", "lasso_path"])
def test_selections_find_what_matters(selection: str) -> None:
    exp = tables(feature_selection=selection, mode="regression").explain_instance(X[0], line, num_features=2)
    assert {id_ for id_, _ in exp.local_exp[1]} == {0, 1}


@pytest.mark.parametrize("n", [50, 777, 5000])
def test_the_model_is_asked_about_as_many_rows_at_once(n: int) -> None:
    spy = Spy(classes)
    exp = tables().explain_instance(X[0], spy, num_samples=n)
    assert [each.shape for each in spy.given] == [(n, 5)]
    assert np.array_equal(spy.given[0][0], X[0])
    assert exp.veridical[1].n_calls == n


def test_samples_may_be_as_many_as_it_takes() -> None:
    spy = Spy(line)
    exp = tables(mode="regression").explain_instance(X[0], spy, num_samples=AUTO)
    assert spy.rows < 5000
    assert exp.veridical[1].top_probability > 0.9


def test_too_few_samples_are_raised_with_a_warning() -> None:
    spy = Spy(classes)
    with pytest.warns(LimeWarning, match="num_samples is 3, but 4 features need the instance and 6 more"):
        exp = tables().explain_instance(X[0], spy, num_samples=3)
    assert spy.rows == 12
    assert all(np.isfinite(weight) for _, weight in exp.as_list())


def test_few_effective_samples_give_zeros_and_a_warning() -> None:
    wide = np.random.default_rng(1).normal(size=(80, 40))
    explainer = LimeTabularExplainer(
        wide, mode="regression", kernel=lambda d, width: np.exp(-(d**2)), kernel_width=1
    )
    with pytest.warns(LimeWarning, match="effective samples for 40 features"):
        exp = explainer.explain_instance(wide[0], lambda rows: rows[:, 0], num_samples=60)
    assert not any(weight for _, weight in exp.as_list())


def test_regression_keeps_both_signs() -> None:
    exp = tables(mode="regression").explain_instance(X[0], line)
    assert exp.local_exp[0] == [(id_, -weight) for id_, weight in exp.local_exp[1]]
    assert exp.intercept[0] == exp.intercept[1]
    assert exp.predicted_value == pytest.approx(float(line(X[0])))
    assert exp.min_value < exp.predicted_value < exp.max_value
    assert (
        tables(mode="regression").explain_instance(X[0], lambda rows: line(rows)[:, None]).as_map() == exp.as_map()
    )


def test_labels_are_those_that_were_asked_for() -> None:
    explain = tables().explain_instance
    assert explain(X[0], classes, labels=[2, 0]).available_labels() == [2, 0]
    assert explain(X[0], classes, labels=2).available_labels() == [2]
    assert explain(X[0], classes, labels=(-1,)).as_map()[-1] == explain(X[0], classes, labels=(2,)).as_map()[2]
    own = classes(X[:1])[0]
    for k in (2, 9, sys.maxsize):
        top = explain(X[0], classes, top_labels=k)
        assert top.top_labels == np.argsort(-own)[:k].tolist()
    assert np.array_equal(top.predict_proba, own)
    assert top.class_names == ["0", "1", "2"]
    for label in (3, -4, "x", 1.5, True):
        with pytest.raises(IndexError, match="none of the model's 3 outputs"):
            explain(X[0], classes, labels=(label,))


def test_the_same_state_gives_the_same_bits_and_is_never_moved() -> None:
    explainer, before = tables(random_state=7), np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
    state = explainer.random_state.get_state()[1].tolist()
    first = explainer.explain_instance(X[0], classes).as_map()
    assert explainer.explain_instance(X[0], classes).as_map() == first
    assert explainer.random_state.get_state()[1].tolist() == state
    assert tables(random_state=np.random.RandomState(7)).explain_instance(X[0], classes).as_map() == first
    assert tables(random_state=8).explain_instance(X[0], classes).as_map() != first
    other = QuartileDiscretizer(X, [2, 4], NAMES, random_state=3)
    assert tables(random_state=7, discretizer=other).explain_instance(X[0], classes).as_map() != first
    explainer.random_state = 9
    assert explainer.explain_instance(X[0], classes).as_map() != first, "settings are read when it is called"
    generators = [
        tables(random_state=np.random.default_rng(s)).explain_instance(X[0], classes).as_map() for s in (1, 1, 2)
    ]
    assert generators[0] == generators[1] != generators[2]
    assert tables().explain_instance(X[0], classes).as_map() == tables().explain_instance(X[0], classes).as_map()
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index, union-attr]


TWICE = """
import numpy as np
from veridical.compat.lime.explainers import LimeTabularExplainer
X = np.random.default_rng(0).normal(size=(50, 3))
exp = LimeTabularExplainer(X, mode="regression").explain_instance(X[0], lambda rows: rows[:, 0] * rows[:, 1])
print(exp.as_list())
"""


def test_two_processes_give_the_same_bits() -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", TWICE], env=environment, capture_output=True, text=True, check=True
    )
    own = io.StringIO()
    with contextlib.redirect_stdout(own):
        exec(TWICE, {})
    assert done.stdout == own.getvalue() != ""


FRAME = pd.DataFrame(
    {
        "city": ["Bern", "Oslo", "Rome", None] * 25,
        "age": np.arange(100),
        "debt": [*np.linspace(0, 9, 99), np.nan],
        "member": [True, False] * 50,
    }
)


def frames(table: pd.DataFrame) -> Any:
    assert isinstance(table, pd.DataFrame)
    assert table.dtypes.equals(FRAME.dtypes)
    p = 0.2 + 0.4 * (table["city"] == "Bern") + 0.2 * (table["age"] > 50) + 0.1 * table["debt"].isna()
    return np.stack([1 - p, p], axis=1)


@pytest.mark.parametrize("discretize", [True, False])
def test_frames_reach_the_model_as_frames(discretize: bool) -> None:
    explainer = LimeTabularExplainer(FRAME, discretize_continuous=discretize)
    for at in (0, 3, 99):
        exp = explainer.explain_instance(FRAME.iloc[at], frames, num_samples=500)
        assert len(exp.as_list()) == 4
    first = explainer.explain_instance(FRAME.iloc[0], frames, num_samples=500)
    assert first.as_list()[0][0] == "city=Bern"
    assert "member=True" in dict(first.as_list())
    unseen = explainer.explain_instance({**FRAME.iloc[1].to_dict(), "city": "Paris"}, frames, num_samples=500)
    assert "city=Paris" in dict(unseen.as_list())


def test_arrays_of_objects_keep_their_texts() -> None:
    table = FRAME[["city", "age"]].dropna().to_numpy(dtype=object)

    def predict(rows: Any) -> Any:
        assert rows.dtype == object
        p = 0.3 + 0.4 * np.array([row[0] == "Oslo" for row in rows])
        return np.stack([1 - p, p], axis=1)

    exp = LimeTabularExplainer(table, feature_names=["city", "age"]).explain_instance(
        table[1], predict, num_samples=300
    )
    assert exp.as_list()[0][0] == "city=Oslo"
    assert exp.as_list()[0][1] == pytest.approx(0.4, abs=0.02)


def test_numbers_may_be_missing() -> None:
    table = X.copy()
    table[::5, 0] = np.nan

    def predict(rows: Any) -> Any:
        return 1.0 * np.isnan(rows[:, 0]) + np.nan_to_num(rows[:, 1])

    for discretize in (True, False):
        explainer = LimeTabularExplainer(
            table,
            feature_names=NAMES,
            mode="regression",
            discretize_continuous=discretize,
            categorical_features=[2],
        )
        exp = explainer.explain_instance(table[0], predict, num_samples=1000)
        assert dict(exp.local_exp[1])[0] == pytest.approx(1.0, abs=0.05)
    assert "a=nan" in dict(tables_of(table).explain_instance(table[0], predict).as_list())


def tables_of(table: Any) -> LimeTabularExplainer:
    return LimeTabularExplainer(table, feature_names=NAMES, mode="regression")


def test_columns_without_values_are_named() -> None:
    with pytest.raises(InputError, match="column 'k' of training_data has no values"):
        tables_of(np.where(np.arange(5) == 3, np.nan, X))


def test_codes_that_were_never_seen_are_explained() -> None:
    row = X[0].copy()
    row[2] = 7.0
    exp = tables(categorical_names={2: ["x", "y", "zz"]}).explain_instance(row, classes, num_samples=500)
    assert "c=7" in dict(exp.as_list())


def test_sparse_rows_stay_sparse() -> None:
    table = csr_matrix(np.where(rng.random((100, 8)) < 0.5, rng.integers(1, 5, (100, 8)), 0).astype(float))
    spy = Spy(lambda rows: np.asarray(rows[:, :2].sum(axis=1)).ravel())
    explainer = LimeTabularExplainer(table, mode="regression", feature_names=list("abcdefgh"))
    row = table[np.flatnonzero(np.diff(table.indptr) > 3)[0]]
    exp = explainer.explain_instance(row, spy, num_features=8)
    assert all(isinstance(each, csr_matrix) for each in spy.given)
    found = dict(exp.local_exp[1])
    assert sorted(found) == list(range(8))
    for j in range(8):
        assert found[j] == pytest.approx(row.toarray()[0, j] if j < 2 else 0.0, abs=0.1)


def test_rows_come_in_many_forms() -> None:
    exp = tables().explain_instance(X[0], classes).as_map()
    for row in (X[0].tolist(), X[:1], pd.Series(X[0], index=list("vwxyz")), X[0].astype(np.float32).astype(float)):
        assert set(dict(tables().explain_instance(row, classes).as_map()[1])) == set(dict(exp[1]))
    with pytest.raises(InputError):
        tables().explain_instance(X[0, :3], classes)


def test_numbers_may_be_drawn_around_the_row() -> None:
    spy = Spy(line)
    row = X[0] + [5.0, 0, 0, 0, 0]
    explainer = tables(mode="regression", discretize_continuous=False, sample_around_instance=True)
    exp = explainer.explain_instance(row, spy)
    assert abs(spy.given[0][1:, 0].mean() - row[0]) < 0.2
    assert dict(exp.local_exp[1])[0] == pytest.approx(2.0 * X[:, 0].std(), rel=0.02)


def statistics() -> dict[str, Any]:
    found = QuartileDiscretizer(X, [2, 4], NAMES)
    binned = found.discretize(X)
    counts = [dict(sorted(Counter(binned[:, j]).items())) for j in range(5)]
    return {
        "means": found.means,
        "stds": found.stds,
        "mins": found.mins,
        "maxs": found.maxs,
        "bins": {j: found.mins[j][1:] for j in found.mins},
        "feature_values": {j: list(count) for j, count in enumerate(counts)},
        "feature_frequencies": {j: list(count.values()) for j, count in enumerate(counts)},
    }


def test_statistics_stand_in_for_the_data() -> None:
    known = tables(training_data_stats=statistics(), mode="regression")
    blind = LimeTabularExplainer(
        np.zeros((1, 5)),
        mode="regression",
        feature_names=NAMES,
        categorical_features=[2, 4],
        training_data_stats=statistics(),
    )
    assert blind.explain_instance(X[0], line).as_list() == known.explain_instance(X[0], line).as_list()
    own = tables(mode="regression").explain_instance(X[0], line)
    for name, weight in blind.explain_instance(X[0], line).as_list():
        assert weight == pytest.approx(dict(own.as_list())[name], abs=0.05)
    with pytest.raises(InputError, match="training_data_stats lacks means, mins"):
        tables(training_data_stats={"stds": {}})


@pytest.mark.parametrize("regressor", [LinearRegression(), Ridge(alpha=2.0), Lasso(alpha=0.001)])
def test_regressors_of_the_caller_are_cloned(regressor: Any) -> None:
    exp = tables(mode="regression").explain_instance(X[0], line, model_regressor=regressor, num_features=3)
    assert not hasattr(regressor, "coef_")
    own = tables(mode="regression").explain_instance(X[0], line, num_features=3)
    for id_, weight in exp.local_exp[1]:
        assert weight == pytest.approx(dict(own.local_exp[1])[id_], abs=0.05)
    assert np.isfinite(exp.veridical[1].intervals[0]).all()
    assert exp.veridical[1].fidelity == pytest.approx(own.veridical[1].fidelity, abs=0.02)


def test_what_is_no_linear_regressor_is_refused() -> None:
    from sklearn.tree import DecisionTreeRegressor

    with pytest.raises(InputError, match="model_regressor failed with AttributeError"):
        tables().explain_instance(X[0], classes, model_regressor=DecisionTreeRegressor())


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "euclidean"])
def test_other_distances_and_kernels_are_used(metric: str) -> None:
    seen = list[Any]()

    def kernel(d: Any, width: float) -> Any:
        seen.append((d.copy(), width))
        return np.exp(-d / width)

    exp = tables(kernel=kernel, kernel_width=2.5, mode="regression").explain_instance(
        X[0], line, distance_metric=metric, num_samples=800
    )
    assert {width for _, width in seen} == {2.5}
    largest = {"cosine": 1.0, "manhattan": 5.0, "euclidean": 5.0**0.5}[metric]
    assert 0.5 < max(d.max() for d, _ in seen) <= largest
    assert exp.as_list()[0][0].find("a") >= 0


def test_samples_of_a_subclass_are_used() -> None:
    class Own(LimeTabularExplainer):
        def _LimeTabularExplainer__data_inverse(self, data_row: Any, num_samples: int) -> Any:  # noqa: N802
            data = np.ones((num_samples, 5))
            data[1:] = np.random.default_rng(5).integers(0, 2, (num_samples - 1, 5))
            return data, np.where(data == 1, data_row, X.mean(axis=0))

    exp = Own(X, mode="regression", feature_names=NAMES).explain_instance(X[0], line, num_samples=400)
    wanted = TRUE * (X[0] - X.mean(axis=0))
    for id_, weight in exp.local_exp[1]:
        assert weight == pytest.approx(wanted[id_], abs=0.05)
    why = exp.veridical[1]
    assert np.isinf(why.intervals).all()
    assert why.verdict.label == "unchecked"
    assert "samples are those of a subclass" in why.notes[-1]


@pytest.mark.parametrize("discretize", [True, False])
def test_limes_private_samples_are_there(discretize: bool) -> None:
    explainer: Any = tables(discretize_continuous=discretize)
    data, inverse = explainer._LimeTabularExplainer__data_inverse(X[0], 300)
    assert data.shape == inverse.shape == (300, 5)
    assert np.array_equal(inverse[0], X[0])
    kept = data[:, 2] == 1
    assert np.array_equal(inverse[kept, 2], np.full(kept.sum(), X[0, 2]))
    assert (inverse[~kept, 2] != X[0, 2]).all()
    if not discretize:
        assert np.allclose(data[:, 0], inverse[:, 0])


def test_attributes_are_limes() -> None:
    explainer = tables(class_names=["n", "p", "q"], kernel_width=2.0)
    assert explainer.categorical_features == [0, 1, 2, 3, 4]
    assert explainer.feature_values[2] == [0.0, 1.0, 2.0]
    assert explainer.feature_frequencies[0] == pytest.approx([0.25] * 4)
    assert np.array_equal(explainer.scaler.mean_, np.zeros(5))
    assert (explainer.mode, explainer.base.kernel_fn.width, explainer.class_names) == (
        "classification",
        2.0,
        ["n", "p", "q"],
    )
    plain = tables(discretize_continuous=False)
    assert plain.discretizer is None
    assert plain.categorical_features == [2, 4]
    assert plain.scaler.scale_[0] == pytest.approx(X[:, 0].std())
    assert plain.scaler.scale_[2] == 1
    plain.anything = 1  # type: ignore[attr-defined]


def test_explainers_pickle() -> None:
    for explainer in (tables(random_state=3), tables(discretize_continuous=False), LimeTabularExplainer(FRAME)):
        row, model = (FRAME.iloc[0], frames) if explainer.feature_names[0] == "city" else (X[0], classes)
        explainer.explain_instance(row, model, num_samples=100)
        again = pickle.loads(pickle.dumps(explainer))
        wanted = explainer.explain_instance(row, model, num_samples=100).as_list()
        assert again.explain_instance(row, model, num_samples=100).as_list() == wanted
    text = LimeTextExplainer(bow=False)
    wanted = text.explain_instance("not bad", words).as_list()
    assert pickle.loads(pickle.dumps(text)).explain_instance("not bad", words).as_list() == wanted
    pickle.dumps(LimeImageExplainer())


def test_explainers_of_lime_are_made_again_from_their_statistics() -> None:
    explainer = tables(mode="regression", random_state=3)
    state = {key: value for key, value in explainer.__getstate__().items() if key != "_rows"}
    made = LimeTabularExplainer.__new__(LimeTabularExplainer)
    kernel = partial(lambda d, kernel_width: np.zeros(3), kernel_width=state["base"].kernel_fn.width)
    kernel.func.__module__ = "lime.lime_tabular"
    state["base"] = LimeBase(kernel)
    made.__setstate__(state)
    assert made.base.kernel_fn.width == kernel.keywords["kernel_width"]
    found, wanted = (each.explain_instance(X[0], line).as_list() for each in (made, explainer))
    assert [name for name, _ in found[:3]] == [name for name, _ in wanted[:3]]
    assert [weight for _, weight in found] == pytest.approx([weight for _, weight in wanted], abs=1e-9)


def test_many_rows_share_samples() -> None:
    spy = Spy(classes)
    explainer = tables(class_names=["n", "p", "q"])
    many = explainer.explain_many(X[:15], spy, top_labels=2, num_features=3, num_samples=2000)
    assert spy.rows == 15 + 1999
    for row, exp in zip(X, many, strict=False):
        alone = explainer.explain_instance(row, classes, top_labels=2, num_features=3)
        assert exp.top_labels == alone.top_labels
        assert np.array_equal(exp.predict_proba, alone.predict_proba)
        assert (
            exp.domain_mapper.map_exp_ids(exp.local_exp[exp.top_labels[0]])[0][0]
            == alone.as_list(exp.top_labels[0])[0][0]
        )
        for label in exp.top_labels:
            for id_, weight in exp.local_exp[label]:
                assert weight == pytest.approx(dict(alone.local_exp[label]).get(id_, weight), abs=0.05)
    assert many[0].veridical[many[0].top_labels[0]].target == ["n", "p", "q"][many[0].top_labels[0]]
    frame = LimeTabularExplainer(FRAME).explain_many(FRAME[:5], frames, num_samples=300)
    assert [exp.as_list()[0][0] for exp in frame[:1]] == ["city=Bern"]
    numbers = tables(mode="regression").explain_many(X[:3], line)
    assert [exp.predicted_value for exp in numbers] == pytest.approx(line(X[:3]).tolist())


def test_the_twentieth_explanation_says_that_there_is_explain_many() -> None:
    explainer = tables()
    for _ in range(19):
        explainer.explain_instance(X[0], classes, num_samples=20)
    with pytest.warns(LimeWarning, match="called 20 times with one function: explainer.explain_many"):
        explainer.explain_instance(X[0], classes, num_samples=20)
    for _ in range(30):
        explainer.explain_instance(X[0], classes, num_samples=20)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"mode": "both"}, LimeError, "mode is"),
        ({"discretizer": "halves"}, ValueError, "discretizer is one of quartile, decile, entropy"),
        ({"discretizer": "entropy"}, ValueError, "needs labels"),
        ({"feature_names": ["a"]}, InputError, "1 names for 5 columns"),
        ({"feature_names": "abcde"}, InputError, "feature_names wants a list of names"),
        ({"class_names": "ab"}, InputError, "class_names wants a list of names"),
        ({"categorical_features": [9]}, InputError, "positions of columns from 0 to 4, not 9"),
        ({"categorical_features": ["a"]}, InputError, "positions of columns"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        tables(**settings)


@pytest.mark.parametrize("data", [X[0], X[:, :, None], 5, "table", []])
def test_what_is_no_table_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match="training_data wants rows and columns"):
        LimeTabularExplainer(data)


@pytest.mark.parametrize(
    ("model", "mode", "error", "said"),
    [
        (line, "classification", NotImplementedError, "pass predict_proba, or mode='regression'"),
        (classes, "regression", ValueError, "mode='regression' explains one"),
        (lambda rows: classes(rows)[:, :, None], "classification", ValueError, r"shape \(5000, 3, 1\)"),
        (lambda rows: classes(rows) * np.nan, "classification", ValueError, "NaN"),
        (lambda rows: classes(rows)[:-1], "classification", ValueError, "shape"),
        (lambda rows: {}["own"], "classification", KeyError, "own"),
        (5, "classification", InputError, "a model is a function"),
    ],
)
def test_models_that_cannot_be_explained(model: Any, mode: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        tables(mode=mode).explain_instance(X[0], model)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"num_samples": "many"}, "num_samples"),
        ({"num_samples": 10.5}, "num_samples"),
        ({"num_samples": 0}, "num_samples"),
        ({"num_features": 0}, "num_features"),
        ({"num_features": "all"}, "num_features"),
        ({"distance_metric": "far"}, "distance_metric 'far' failed"),
        ({"top_labels": -1}, "top_labels"),
    ],
)
def test_arguments_that_cannot_be_used(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        tables().explain_instance(X[0], classes, **settings)


def test_bad_kernels_and_selections() -> None:
    with pytest.raises(InputError, match="feature_selection is one of auto"):
        tables(feature_selection="best").explain_instance(X[0], classes)
    for width in (0, -1, np.nan):
        with pytest.raises(InputError, match="width"):
            tables(kernel_width=width).explain_instance(X[0], classes)
    with pytest.raises(InputError, match="kernel"):
        tables(kernel=lambda d, width: d * np.nan).explain_instance(X[0], classes)
    with pytest.raises(TypeError, match="unexpected keyword"):
        tables().explain_instance(X[0], classes, samples=5)  # type: ignore[call-arg]


def test_answers_that_are_no_probabilities_are_noted() -> None:
    with pytest.warns(LimeWarning, match="add up to 2, and not to 1"):
        tables().explain_instance(X[0], lambda rows: np.ones((len(rows), 2)))
    with pytest.warns(LimeWarning, match="sampling_method has no effect"):
        tables().explain_instance(X[0], classes, sampling_method="lhs")


def test_verbose_explainers_say_what_lime_prints(capsys: pytest.CaptureFixture[str]) -> None:
    tables(verbose=True).explain_instance(X[0], classes)
    said = capsys.readouterr().out.splitlines()
    assert [each.split()[0] for each in said] == ["Intercept", "Prediction_local", "Right:"]


def test_series_are_explained_step_by_step() -> None:
    series = rng.normal(size=(80, 3, 2))
    series[:, :, 1] = rng.integers(0, 2, (80, 3))
    spy = Spy(lambda x: classes(np.c_[x[:, 2, 0], x[:, 1, 1], np.zeros((len(x), 3))]))
    explainer = RecurrentTabularExplainer(
        series, feature_names=["u", "v"], categorical_features=[1], categorical_names={1: ["no", "yes"]}
    )
    assert explainer.feature_names == ["u_t-2", "u_t-1", "u_t-0", "v_t-2", "v_t-1", "v_t-0"]
    exp = explainer.explain_instance(series[0], spy, num_features=6)
    assert {each.shape[1:] for each in spy.given} == {(3, 2)}
    assert np.array_equal(spy.given[0][0], series[0])
    assert {int(v) for each in spy.given for v in np.unique(each[:, :, 1])} == {0, 1}
    names = [name for name, _ in exp.as_list()]
    assert "u_t-0" in names[0]
    assert names[1] == f"v_t-1={['no', 'yes'][int(series[0, 1, 1])]}"
    assert len(explainer.explain_many(series[:2], spy, num_samples=50)) == 2
    for bad in (series[0].T, series[0, 0]):
        with pytest.raises(InputError, match="3 steps and 2 features"):
            explainer.explain_instance(bad, spy)
    with pytest.raises(InputError, match=r"\(rows, steps, features\)"):
        RecurrentTabularExplainer(X)


# Texts


def test_words_are_weighed() -> None:
    exp = LimeTextExplainer(class_names=["good", "bad"]).explain_instance("not bad, not  good-ish: bad! no", words)
    assert [name for name, _ in exp.as_list()[:2]] == ["bad", "not"]
    assert dict(exp.as_list())["bad"] == pytest.approx(0.5, abs=0.01)
    assert exp.as_list(positions=True)[0][0] == "bad_4-24"
    assert sorted(id_ for id_, _ in exp.local_exp[1]) == [0, 1, 2, 3, 4]
    assert exp.predict_proba == pytest.approx([0.2, 0.8])
    assert exp.veridical[1].target == "bad"


def test_texts_come_a_few_at_a_time_unless_all_are_wanted() -> None:
    text = "bad and not so good " * 3 + " ".join(f"w{i}" for i in range(20))
    spy = Spy(words)
    LimeTextExplainer().explain_instance(text, spy)
    assert max(map(len, spy.given)) == 512
    assert spy.rows == 5000
    assert spy.given[0][0] == text
    whole, explainer = Spy(words), LimeTextExplainer(bow=False)
    explainer.batch_size = None
    explainer.explain_instance(text, whole)
    assert list(map(len, whole.given)) == [5000]
    assert "UNKWORDZ" in whole.given[0][1]


def test_masks_and_characters() -> None:
    spy = Spy(words)
    LimeTextExplainer(bow=False, mask_string="[MASK]").explain_instance("not bad", spy)
    assert {text for batch in spy.given for text in batch} == {
        "not bad",
        "[MASK] bad",
        "not [MASK]",
        "[MASK] [MASK]",
    }
    letters = Spy(words)
    exp = LimeTextExplainer(char_level=True, bow=False).explain_instance("bad x", letters)
    assert "\0ad x" in {text for batch in letters.given for text in batch}
    assert {name for name, _ in exp.as_list(positions=True)} == {"b_0", "a_1", "d_2", " _3", "x_4"}


def test_one_word_has_the_plain_difference_and_none_has_nothing() -> None:
    one = LimeTextExplainer().explain_instance("bad", words)
    assert one.as_list() == [("bad", pytest.approx(0.5))]
    assert one.intercept[1] == pytest.approx(0.2)
    for text in ("", "!?", " \n"):
        none = LimeTextExplainer().explain_instance(text, words, labels=(0, 1))
        assert none.as_list() == none.as_list(0) == []
        assert none.intercept[1] == pytest.approx(0.2)
        assert none.available_labels() == [0, 1]
    assert LimeTextExplainer().explain_instance("", words, top_labels=1).top_labels == [0]


def test_settings_of_texts_are_read_when_called() -> None:
    explainer = LimeTextExplainer()
    explainer.split_expression = lambda text: text.split(",")
    assert {name for name, _ in explainer.explain_instance("not bad, no", words).as_list()} == {"not bad", " no"}
    explainer.class_names = ["n", "p"]
    assert explainer.explain_instance("not bad, no", words).class_names == ["n", "p"]


def test_pipelines_of_texts_need_no_strings() -> None:
    texts = ["a fine film", "a fine cast", "great fun", "a dull film", "dull talk", "no fun at all"]
    pipeline = make_pipeline(CountVectorizer(token_pattern=r"\w+"), LogisticRegression()).fit(
        texts, list("aaabbb")
    )
    quick = LimeTextExplainer().explain_instance("fine, but a dull film at the end of all", pipeline.predict_proba)
    slow = LimeTextExplainer().explain_instance(
        "fine, but a dull film at the end of all", lambda some: pipeline.predict_proba(some)
    )
    assert [w for _, w in quick.as_list()] == pytest.approx([w for _, w in slow.as_list()], abs=1e-9)
    assert quick.veridical[1].target == "b"


def test_samples_of_texts_may_be_a_subclasss_own() -> None:
    class Own(LimeTextExplainer):
        def _LimeTextExplainer__data_labels_distances(  # noqa: N802
            self, indexed_string: Any, classifier_fn: Any, num_samples: int, distance_metric: str = "cosine"
        ) -> Any:
            data = np.random.default_rng(2).integers(0, 2, (num_samples, indexed_string.num_words()))
            data[0] = 1
            texts = [indexed_string.inverse_removing(np.flatnonzero(row == 0)) for row in data]
            return data, classifier_fn(texts), np.zeros(num_samples)

    exp = Own().explain_instance("not bad at all", words, num_samples=200)
    assert dict(exp.as_list())["bad"] == pytest.approx(0.5, abs=0.01)
    assert np.isinf(exp.veridical[1].intervals).all()
    private: Any = LimeTextExplainer()
    data, answers, distances = private._LimeTextExplainer__data_labels_distances(
        exp.domain_mapper.indexed_string, words, 50
    )
    assert data.shape == (50, 4)
    assert answers.shape == (50, 2)
    assert distances[0] == pytest.approx(0, abs=1e-9)
    assert distances.max() == pytest.approx(100)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "manhattan"])
def test_distances_of_texts(metric: str) -> None:
    exp = LimeTextExplainer(kernel_width=200).explain_instance(
        " ".join(["bad not", *(f"w{i}" for i in range(20))]), words, distance_metric=metric, num_samples=2000
    )
    assert exp.as_list()[0] == ("bad", pytest.approx(0.5, abs=0.06))


@pytest.mark.parametrize("text", [b"bad", None, 5, ["bad"], float("nan")])
def test_what_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(InputError, match="wanted a text"):
        LimeTextExplainer().explain_instance(text, words)


def test_many_texts_are_explained() -> None:
    many = LimeTextExplainer().explain_many(["not bad", "bad", ""] * 8, words, num_samples=50)
    assert len(many) == 24
    assert many[0].as_list()[0][0] == "bad"


# Pictures

PICTURE = np.random.default_rng(3).random((12, 12, 3))
SEGMENTS = np.repeat(np.repeat(np.array([[1, 2], [4, 9]]), 6, axis=0), 6, axis=1)


def bright(pictures: Any) -> Any:
    p = pictures[:, :6, :6].mean(axis=(1, 2, 3))
    return np.stack([1 - p, p / 4, 3 * p / 4], axis=1)


def seen(picture: Any) -> Any:
    return SEGMENTS


def test_segments_keep_their_numbers() -> None:
    exp = LimeImageExplainer().explain_instance(
        PICTURE, bright, segmentation_fn=seen, hide_color=0, num_samples=2000
    )
    assert {id_ for id_, _ in exp.local_exp[0]} == {1, 2, 4, 9}
    id_, weight = exp.local_exp[2][0]
    assert (id_, weight) == (1, pytest.approx(0.75 * PICTURE[:6, :6].mean(), rel=0.05))
    assert exp.top_labels == np.argsort(-bright(PICTURE[None])[0]).tolist()
    _, mask = exp.get_image_and_mask(2, num_features=1)
    assert np.array_equal(mask, SEGMENTS == 1)
    assert exp.local_exp[2][0][1].dtype == np.float64


def test_gray_pictures_become_three_channels() -> None:
    spy = Spy(bright)
    exp = LimeImageExplainer().explain_instance(
        PICTURE[..., 0], spy, segmentation_fn=seen, num_samples=40, batch_size=7
    )
    assert {each.shape[1:] for each in spy.given} == {(12, 12, 3)}
    assert max(map(len, spy.given)) == 7
    assert exp.image.shape == (12, 12, 3)


def test_hidden_segments_have_their_mean_or_a_color() -> None:
    whole = (PICTURE * 255).astype(np.uint8)
    for color, wanted in ((None, whole[:6, :6, 0].mean()), (7, 7), ([7, 8, 9], 7)):
        spy = Spy(bright)
        LimeImageExplainer().explain_instance(whole, spy, segmentation_fn=seen, hide_color=color, num_samples=64)
        corners = {int(v) for each in spy.given for v in each[:, 0, 0, 0]}
        assert corners == {int(whole[0, 0, 0]), int(wanted)}
        assert {each.dtype for each in spy.given} == {np.dtype(np.uint8)}


def test_pictures_are_segmented_by_default() -> None:
    pytest.importorskip("skimage")
    exp = LimeImageExplainer().explain_instance(PICTURE, bright, num_samples=100, labels=(2,), top_labels=None)
    assert exp.segments.shape == (12, 12)
    again = LimeImageExplainer().explain_instance(PICTURE, bright, num_samples=100, labels=(2,), top_labels=None)
    assert again.local_exp == exp.local_exp
    assert exp.top_labels is None
    for channels in (1, 4):
        other = np.repeat(PICTURE[..., :1], channels, axis=-1)
        assert LimeImageExplainer().explain_instance(other, bright, num_samples=50).image.shape == (
            12,
            12,
            channels,
        )


def test_samples_of_pictures_are_there() -> None:
    explainer = LimeImageExplainer()
    data, answers = explainer.data_labels(PICTURE, PICTURE * 0, SEGMENTS, bright, 30, 4)
    assert data.shape == (30, 4)
    assert data[0].tolist() == [1, 1, 1, 1]
    assert answers[0] == pytest.approx(bright(PICTURE[None])[0])

    class Own(LimeImageExplainer):
        def data_labels(self, *args: Any, **kwargs: Any) -> Any:
            return super().data_labels(*args, **kwargs)

    exp = Own().explain_instance(PICTURE, bright, segmentation_fn=seen, hide_color=0, num_samples=300)
    assert exp.local_exp[2][0][0] == 1
    assert np.isinf(exp.veridical[2].intervals).all()


@pytest.mark.parametrize(
    ("picture", "settings", "said"),
    [
        (PICTURE[None], {}, "pass one picture"),
        (np.zeros(5), {}, "pass one picture"),
        (PICTURE, {"segmentation_fn": lambda p: SEGMENTS[:5]}, "one label per pixel"),
        (PICTURE, {"batch_size": 0}, "batch_size"),
        (PICTURE * np.nan, {"segmentation_fn": seen}, "NaN"),
    ],
)
def test_pictures_that_cannot_be_explained(picture: Any, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        LimeImageExplainer().explain_instance(picture, bright, **settings)


# Picks


def test_picks_cover_what_matters() -> None:
    spy = Spy(line)
    explainer = tables(mode="regression")
    with pytest.warns(LimeWarning, match="SubmodularPick was given 'seed'"):
        pick = SubmodularPick(explainer, X, spy, sample_size=20, num_exps_desired=3, num_features=2, seed=5)
    assert len(pick.explanations) == 20
    assert [pick.explanations[i] for i in pick.V] == pick.sp_explanations
    assert len(set(pick.V)) == 3
    assert spy.rows < 20 + 5000 + 1
    whole = SubmodularPick(tables(), pd.DataFrame(X, columns=NAMES)[:10], classes, method="full", top_labels=2)
    assert len(whole.explanations) == 10
    assert len(SubmodularPick(tables(), X[:2], classes, num_exps_desired=5).sp_explanations) == 2
    texts = SubmodularPick(LimeTextExplainer(), ["not bad", "bad bad", "fine"], words, num_exps_desired=2)
    assert texts.V[0] == 0
    with pytest.raises(ValueError, match='method is "sample" or "full"'):
        SubmodularPick(explainer, X, line, method="some")


def test_explainers_of_other_people_can_be_picked_from() -> None:
    class Own:
        random_state = None

        def explain_instance(self, row: Any, predict: Any, top_labels: int, num_features: int) -> Any:
            return tables(mode="regression").explain_instance(
                row, predict, num_features=num_features, num_samples=50
            )

    assert len(SubmodularPick(Own(), X[:4], line, num_exps_desired=2).sp_explanations) == 2
