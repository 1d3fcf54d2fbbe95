"""What shap gives, read as explanations: values, base values, data, names and bounds come back as they were."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier

import veridical as vd
from veridical.compat import from_shap

with warnings.catch_warnings():  # of shap and what it imports
    warnings.simplefilter("ignore")
    shap = pytest.importorskip("shap")

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(40, 3)), columns=["age", "debt", "income"])
Y = (X["age"] + X["debt"] > 0).map({True: "yes", False: "no"})
FOREST = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, Y)


def shapley(n: int = 6) -> Any:
    """All outputs of a forest."""
    return shap.TreeExplainer(FOREST)(X.head(n))


def plain(values: Any, **fields: Any) -> Any:
    return shap.Explanation(np.asarray(values, dtype=float), **fields)


TABLE = {"data": np.array([[41.0, 7.0], [23.0, 9.0]]), "feature_names": ["age", "debt"]}
FORMS: dict[str, Callable[[], Any]] = {
    "one row": lambda: shapley()[0, :, 1],
    "many rows": lambda: shapley()[..., 1],
    "one base value": lambda: plain([[0.5, -0.25], [0.125, 1]], base_values=0.5, **TABLE),
    "a base value per row": lambda: plain([[0.5, -0.25], [0.125, 1]], base_values=np.array([0.5, 0.25]), **TABLE),
    "base values in a column": lambda: plain([[0.5, -0.25], [0.125, 1]], base_values=np.array([[0.5], [0.5]]), **TABLE),
    "bounds": lambda: plain(
        [[0.5, -0.25], [0.125, 1]], base_values=0.5, lower_bounds=np.full((2, 2), -1.0),
        upper_bounds=np.full((2, 2), 2.0), **TABLE,
    ),
    "words": lambda: plain(
        [[0.5, -0.25]], base_values=0.5, data=np.array([["Private", True]], dtype=object), feature_names=["work", "own"]
    ),
    "codes displayed as words": lambda: plain(
        [[0.5, -0.25]], base_values=0.5, data=np.array([[4.0, 1.0]]), feature_names=["work", "own"],
        display_data=np.array([["Private", "yes"]], dtype=object),
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", list(FORMS))
def test_a_round_trip(form: str) -> None:
    given = FORMS[form]()
    read = from_shap(given)
    back = read.to_shap()
    np.testing.assert_allclose(back.values, given.values, rtol=1e-12)
    base = np.asarray(given.base_values, dtype=float)
    base = base.ravel() if base.size > 1 else np.full(np.shape(back.base_values), base.ravel()[0])
    np.testing.assert_allclose(back.base_values, base, atol=1e-12)
    assert np.array_equal(back.data, given.data)
    assert list(back.feature_names) == list(given.feature_names)
    if isinstance(given.output_names, str):
        assert back.output_names == given.output_names
    if given.lower_bounds is not None:
        np.testing.assert_array_equal(back.lower_bounds, given.lower_bounds)
        np.testing.assert_array_equal(back.upper_bounds, given.upper_bounds)
    if given.display_data is not None:
        assert np.array_equal(back.display_data, given.display_data)
        assert read[0].names[0] == "work = Private"


def test_what_was_not_measured_is_not_made_up() -> None:
    for e in from_shap(shapley()[..., 1]):
        assert e.verdict.label == "unchecked"
        assert np.isnan(e.fidelity)
        assert np.isinf(e.intervals).all()
        assert e.local_prediction == pytest.approx(e.intercept + e.weights.sum())
        assert any("prediction was not given" in note for note in e.notes)


def test_whether_it_adds_up_is_checked() -> None:
    known = FOREST.predict_proba(X.head(6))[:, 1]
    right = from_shap(shapley(), output=1, prediction=known)
    assert [e.notes for e in right] == [()] * 6
    wrong = from_shap(shapley(), output=1, prediction=known + 0.1)
    assert all("-0.1 off the prediction" in e.notes[0] for e in wrong)
    assert "adds up" in str(wrong[0])


def test_one_of_several_outputs_is_chosen() -> None:
    by_number, by_name = from_shap(shapley(), output=1), from_shap(shapley(), output="Output 1")
    np.testing.assert_array_equal([e.weights for e in by_number], [e.weights for e in by_name])
    assert {e.target for e in by_number} == {"Output 1"}
    row = from_shap(shapley()[0], output=0)
    np.testing.assert_array_equal(row.weights, shapley().values[0, :, 0])
    assert row.intercept == shapley().base_values[0, 0]
    bare = plain(np.arange(6).reshape(3, 2), base_values=np.array([1.0, 2.0]), feature_names=["a", "b", "c"])
    assert from_shap(bare, output=1, target="yes").intercept == 2.0


@pytest.mark.parametrize(
    ("given", "settings", "said"),
    [
        (shapley, {}, "there are 2 outputs: 'Output 0', 'Output 1', and none was chosen"),
        (shapley, {"output": 7}, "7 is none of them"),
        (lambda: shapley()[..., 1], {"output": 0}, "are of one"),
        (lambda: plain(np.zeros((2, 3, 4, 5))), {}, "pictures"),
        (lambda: plain(np.zeros((4, 3, 3))), {}, "interaction values"),
        (lambda: shapley().values, {}, "vd.attributions"),
        (lambda: plain([[1, 2]], data=np.zeros((1, 3)), base_values=0.0), {}, "data of shape"),
        (lambda: plain([[1, 2], [3, 4]], base_values=np.zeros(3)), {}, "base values"),
        (lambda: plain([[1, 2]], base_values=0.0, feature_names=["a", "a"]), {}, "names must differ"),
        (lambda: plain([[1, 2]], base_values=0.0), {"rows": ["a", "b"]}, "rows is one"),
        (lambda: plain([[1, 2]], base_values=0.0), {"intervals": np.zeros((3, 2))}, "intervals are"),
    ],
)
def test_what_cannot_be_read_is_refused(given: Callable[[], Any], settings: dict[str, Any], said: str) -> None:
    with pytest.raises(vd.VeridicalError, match=said):
        from_shap(given(), **settings)


def test_names_and_base_values_may_be_missing() -> None:
    e = from_shap(plain([1.0, -2.0]))
    assert e.names == ("Feature 0", "Feature 1")
    assert np.isnan([e.intercept, e.prediction, e.local_prediction]).all()
    assert "adds up not measured" in str(e)
    with pytest.warns(vd.errors.NoSumWarning, match="intercept is not known"):
        assert e.to_shap().base_values == 0


def test_texts_have_their_own_tokens() -> None:
    tokens = [["not ", "bad"], ["bad", "bad", "film"]]
    values = np.array([np.array([-0.5, 0.25]), np.array([0.1, 0.2, 0.3])], dtype=object)
    data = np.array([np.array(line, dtype=object) for line in tokens], dtype=object)
    many = from_shap(shap.Explanation(values, base_values=np.array([0.5, 0.25]), data=data))
    assert [e.names for e in many] == [("not ", "bad"), ("bad", "bad (2)", "film")]
    assert many.importance().columns[0] == "bad"
    one = from_shap(plain([-0.5, 0.25], base_values=0.5, data=np.array(tokens[0]), feature_names=tokens[0]))
    assert one.names == many[0].names


def test_what_was_read_is_used_as_any_other(tmp_path: Path) -> None:
    explainer = shap.TreeExplainer(GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, X["age"]))
    many = from_shap(explainer(X), rows=X.index, method="TreeExplainer", intervals=0)
    assert vd.pick(many, 2).coverage[-1] > 0.5
    assert many.importance().columns[0] == "age"
    assert vd.compare(many, many).verdict.passed
    far = max(many, key=lambda e: abs(e.weights[0] - many[0].weights[0]))
    assert vd.compare(many[0], far).larger[0]  # exact values have no noise
    assert vd.comparisons.watch(many, many).verdict.label == "same"
    many.save(tmp_path / "many.parquet")
    many[0].save(tmp_path / "one.json")
    many.save(tmp_path / "many.html")
    np.testing.assert_array_equal(vd.load(tmp_path / "many.parquet")[3].weights, many[3].weights)
    assert vd.load(tmp_path / "one.json").verdict.sentence == many[0].verdict.sentence
    assert (
        0
        <= vd.believe(FOREST, vd.Rows(X), X.iloc[0], from_shap(shapley(), output=1)[0], target="yes").observed
        <= 1
    )
    with pytest.raises(vd.VeridicalError, match="not one of veridical's own"):
        vd.rerun(FOREST, vd.Rows(X), X.iloc[0], many[0].recipe)
