"""Explanations as shap and other services take them: in shap's form, whose plots draw them, and as plain Python."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders import explanations as made
from tests.builders import view_cases as cases
from tests.builders.methods import linear_lime
from veridical.errors import InputError, NoSumWarning
from veridical.records import Explanations
from veridical.storage.exchange import to_plain


@pytest.fixture
def shap() -> Any:
    with warnings.catch_warnings():  # of shap and what it imports
        warnings.simplefilter("ignore")
        return pytest.importorskip("shap")


def with_shap(test: Any) -> Any:
    """A test of what is given to shap, with matplotlib at hand, whatever these two warn of."""
    return pytest.mark.usefixtures("pyplot", "shap")(pytest.mark.filterwarnings("ignore")(test))


@with_shap
@pytest.mark.parametrize("case", [made.mushroom, made.unmeasured, made.constant, *cases.PLAIN])
def test_base_and_values_add_up_to_the_surrogate(case: Any, shap: Any) -> None:
    e = case()
    found = e.to_shap()
    assert isinstance(found, shap.Explanation)
    np.testing.assert_array_equal(found.values, e.weights)
    np.testing.assert_allclose(found.base_values + found.values.sum(), e.local_prediction)
    assert list(found.feature_names) == list(e.names)
    assert found.output_names.startswith(str(e.target))


@with_shap
def test_the_base_is_the_intercept_where_parts_are_there_or_not() -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    e = vd.explain(lambda X: X @ [1.0, 2.0, 0.0], vd.Rows(X), X[0])
    assert e.to_shap().base_values == pytest.approx(e.intercept)
    by_shap = vd.explain(lambda X: X @ [1.0, 2.0, 0.0], vd.Rows(X), X[0], method=vd.KernelShap()).to_shap()
    assert by_shap.base_values + by_shap.values.sum() == pytest.approx(float(X[0] @ [1.0, 2.0, 0.0]))


@with_shap
def test_bounds_are_the_intervals_where_they_were_measured() -> None:
    e = made.unmeasured()
    found = e.to_shap()
    known = np.isfinite(e.intervals).all(axis=1)
    np.testing.assert_array_equal(found.lower_bounds[known], e.intervals[known, 0])
    np.testing.assert_array_equal(found.upper_bounds[known], e.intervals[known, 1])
    assert np.isnan(found.upper_bounds[~known]).all()


ONE: dict[str, Callable[[Any, Any], Any]] = {
    "waterfall": lambda shap, e: shap.plots.waterfall(e, show=False),
    "bar": lambda shap, e: shap.plots.bar(e, show=False),
    "force": lambda shap, e: shap.plots.force(e, matplotlib=True, show=False),
}
MANY: dict[str, Callable[[Any, Any], Any]] = {
    "beeswarm": lambda shap, e: shap.plots.beeswarm(e, show=False),
    "bar": lambda shap, e: shap.plots.bar(e, show=False),
    "heatmap": lambda shap, e: shap.plots.heatmap(e, show=False),
    "waterfall of a row": lambda shap, e: shap.plots.waterfall(e[1], show=False),
    "force": lambda shap, e: shap.plots.force(e),
}


@with_shap
@pytest.mark.parametrize("plot", ONE.values(), ids=list(ONE))
@pytest.mark.parametrize("case", [made.mushroom, made.unmeasured, cases.text, cases.picture])
def test_shap_draws_one(case: Any, plot: Any, shap: Any, pyplot: Any) -> None:
    plot(shap, case().to_shap())
    assert pyplot.gcf().axes


@with_shap
@pytest.mark.parametrize("plot", MANY.values(), ids=list(MANY))
def test_shap_draws_many(plot: Any, shap: Any, pyplot: Any) -> None:
    assert plot(shap, made.many(12).to_shap()) is not None or pyplot.gcf().axes


@with_shap
def test_many_rows_are_columns_of_the_table() -> None:
    table = pd.DataFrame({"age": [20.0, 40.0, 60.0, 80.0] * 10, "home": ["rent", "own"] * 20})
    rows = vd.Rows(table)
    many = vd.explain_many(lambda X: 0.01 * X["age"] + 0.2 * (X["home"] == "own"), rows, table.head(4))
    found = many.to_shap()
    assert found.feature_names == ["age", "home"]
    np.testing.assert_array_equal(found.values, [e.weights for e in many])
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), [e.local_prediction for e in many])
    ages = found.data[:, 0]
    assert (np.diff(ages) > 0).all()  # bins can be colored from low to high
    assert ages.tolist() == [20.0, 40.0, 60.0, 80.0]
    assert found.data[:, 1].tolist() == ["rent", "own"] * 2
    assert found.display_data[:, 1].tolist() == ["rent", "own"] * 2


@with_shap
def test_words_that_are_not_there_count_nothing() -> None:
    texts = ["a good film", "a bad film"]
    many = vd.explain_many(lambda T: [0.1 + 0.5 * ("good" in t) for t in T], vd.Words(), texts)
    found = many.to_shap()
    good, bad = (found.feature_names.index(word) for word in ("good", "bad"))
    np.testing.assert_allclose(found.values[:, good], [0.5, 0.0])
    np.testing.assert_array_equal(found.data[:, [good, bad]], [[1, 0], [0, 1]])
    assert found.display_data[:, bad].tolist() == ["not there", "there"]


@with_shap
def test_parts_at_different_places_are_refused() -> None:
    with pytest.raises(vd.errors.InputError, match="at the same places"):
        Explanations((cases.picture(), cases.picture(w=50))).to_shap()
    with pytest.raises(vd.errors.InputError, match="no explanations"):
        Explanations(()).to_shap()


@with_shap
def test_rows_of_several_targets_name_none() -> None:
    assert made.many(12).to_shap().output_names.startswith("several targets")


@with_shap
def test_data_are_the_rows_own_values() -> None:
    table = pd.DataFrame({"a": [2.0, 0.0, 1.0, 3.0] * 10, "b": [0.5, 1.5, 2.5, 3.5] * 10})
    many = vd.explain_many(lambda D: D["a"] + D["b"], vd.Rows(table), table.head(3))
    np.testing.assert_array_equal(many.to_shap().data, table.head(3))
    np.testing.assert_array_equal(many[1].to_shap().data, table.iloc[1])
    assert many[1].to_shap().feature_names == ["a", "b"]
    mixed = table.assign(c=pd.Categorical(["x", "y"] * 20), d=pd.date_range("2024", periods=40))
    one = vd.explain(lambda D: D["a"] + (D["c"] == "x"), vd.Rows(mixed), mixed.iloc[2]).to_shap()
    assert one.data.tolist() == mixed.iloc[2].tolist()


@pytest.mark.usefixtures("pyplot", "shap")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("rows", "method"),
    [
        ({"discretize": vd.bins.Continuous()}, linear_lime(n_samples=64)),
        ({}, vd.Occlusion()),
        ({}, vd.Sensitivity()),
    ],
    ids=["per sd", "occlusion", "sensitivity"],
)
def test_weights_that_are_no_shares_say_so(rows: Any, method: Any) -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    e = vd.explain(lambda X: X @ [1.0, 2.0, 0.0], vd.Rows(X, **rows), X[0], method=method)
    with pytest.warns(NoSumWarning, match="do not add up"):
        found = e.to_shap()
    assert "do not add up" in found.output_names
    for fair in (vd.Lime(n_samples=64), vd.KernelShap()):
        assert vd.explain(lambda X: X @ [1.0, 2.0, 0.0], vd.Rows(X), X[0], method=fair).to_shap().output_names


@with_shap
def test_parts_that_were_not_tested() -> None:
    e = made.mushroom()
    weights, intervals = e.weights.copy(), e.intervals.copy()
    weights[1], intervals[1] = np.nan, np.nan
    untested = replace(e, weights=weights, intervals=intervals)
    one, many = untested.to_shap(), Explanations((untested, e)).to_shap()
    for found in (one, many):  # shap has no word for what was not tested, and zero is another thing
        assert e.names[1] not in found.feature_names
        assert len(found.feature_names) == len(e.names) - 1
        assert np.isfinite(found.values).all()
    np.testing.assert_allclose(many.base_values + many.values.sum(axis=1), [e.local_prediction] * 2)


# Plain Python that any service can send.


TABLE = pd.DataFrame(
    {
        "age": [20.0, 40.0, np.nan, 60.0] * 10,
        "city": pd.Categorical(["Rome", "Oslo"] * 20),
        "since": pd.date_range("2024", periods=40),
    },
    index=pd.date_range("2025", periods=40),
)


def test_it_has_all_that_a_service_needs() -> None:
    why = vd.explain(lambda D: D["age"].fillna(0.0), vd.Rows(TABLE), TABLE.iloc[2])
    found = json.loads(json.dumps(why.to_dict(), allow_nan=False))
    assert found["row"] == "2025-01-03T00:00:00"
    assert [part["value"] for part in found["parts"]] == [None, "Rome", "2024-01-03T00:00:00"]
    assert [part["column"] for part in found["parts"]] == ["age", "city", "since"]
    assert set(found["parts"][0]) == {"name", "column", "value", "weight", "low", "high", "clear"}
    known = {"target", "prediction", "local_prediction", "intercept", "fidelity", "notes", "recipe", "verdict"}
    assert known <= set(found)
    assert found["prediction"] == why.prediction
    told = found["verdict"]
    assert (told["sentence"], told["label"]) == (why.verdict.sentence, why.verdict.label)
    assert (told["faithful"], told["stable"]) == (why.fidelity, why.top_probability)
    assert told["adds_up"] == why.local_prediction - why.prediction


@pytest.mark.parametrize(
    "case", [made.mushroom, made.unmeasured, made.constant, made.empty, made.extreme, made.hostile]
)
def test_strict_json_takes_every_explanation(case: Any) -> None:
    e = case()
    odd = (
        b"x",
        2**70,
        {1},
        complex(1, 2),
        np.float32(0.5),
        np.int8(3),
        pd.NaT,
        pd.NA,
        np.datetime64("2024"),
        "\ud800",
    )
    for value in odd:
        found = replace(e, row=(value, "x"), target=value, values=(value,) * len(e.parts)).to_dict()
        json.dumps(found, allow_nan=False)


def test_nothing_is_not_a_number() -> None:
    assert [to_plain(v) for v in (np.nan, np.inf, -np.inf, pd.NaT, pd.NA, None)] == [None] * 6
    assert to_plain({"a": (np.float64(0.5), np.bool_(True))}) == {"a": [0.5, True]}


def test_attributions_of_one_row_and_of_many() -> None:
    one = vd.attributions(
        ["age", "debt"], [0.3, -0.1], intercept=0.5, prediction=0.7, values=[41, None], rows="Ann"
    )
    assert (one.names, one.row, one.values) == (("age = 41", "debt is missing"), "Ann", (41, None))
    assert one.local_prediction == pytest.approx(0.7)
    assert (one.verdict.label, one.notes, one.n_calls) == ("unchecked", (), 0)
    frame = pd.DataFrame({"age": [41, 23], "debt": ["low", "high"]}, index=["Ann", "Bob"])
    many = vd.attributions(
        frame.columns, np.array([[0.3, -0.1], [0.2, 0.0]]), intercept=[0.5, 0.4], prediction=[0.7, 0.9],
        values=frame, rows=frame.index, target=["yes", "no"], method="captum", intervals=0,
    )  # fmt: skip
    assert isinstance(many, Explanations)
    assert [(e.row, e.target, e.values) for e in many] == [
        ("Ann", "yes", (41, "low")),
        ("Bob", "no", (23, "high")),
    ]
    assert "-0.3 off the prediction" in many[1].notes[0]
    np.testing.assert_array_equal(many[0].intervals, np.stack([many[0].weights] * 2, axis=1))
    assert many[1].recipe["method"]["name"] == "captum"
    assert str(many[0])


def test_attributions_of_torch_leave_their_graph() -> None:
    torch = pytest.importorskip("torch")
    weights = torch.tensor([[1.0, 2.0]], requires_grad=True) * 2
    assert vd.attributions(["a", "b"], weights)[0].top(1) == [("b", 4.0)]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"names": "ab"}, "list of texts"),
        ({"names": ["a"]}, "1 names and 2 weights"),
        ({"names": ["a", "a"]}, "names must differ"),
        ({"weights": ["x", "y"]}, "must be numbers"),
        ({"weights": [1, np.inf]}, "finite"),
        ({"weights": np.zeros((2, 2, 2))}, "of several outputs"),
        ({"values": [1, 2, 3]}, "one per weight"),
        ({"weights": [[1, 2], [3, 4]], "prediction": [1, 2, 3]}, "prediction is one"),
        ({"method": ""}, "method is the name"),
        ({"intervals": [1, 2]}, "a low and a high end"),
        ({"intercept": "much"}, "must be numbers"),
        ({"base_value": 1}, "no argument"),
    ],
)
def test_attributions_that_cannot_be_read(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(vd.VeridicalError, match=said):
        vd.attributions(**{"names": ["a", "b"], "weights": [1, 2], **settings})


@with_shap
def test_scatter_plots_of_shap_run(shap: Any) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    many = vd.explain_many(lambda X: X[:, 0], vd.Rows(X), X, method=linear_lime(n_samples=64))
    shap.plots.scatter(many.to_shap()[:, 0], show=False)


def test_weights_with_labels_are_matched_by_them() -> None:
    """Columns in another order keep their names; other labels are refused."""
    weights = pd.DataFrame([[0.31, -0.12, 0.05], [-0.2, 0.4, 0.0]], columns=list("cba"))
    values = pd.DataFrame([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], columns=list("bca"))
    first, _ = vd.attributions(["a", "b", "c"], weights, values=values)
    assert first.weights.tolist() == [0.05, -0.12, 0.31]
    assert first.values == (3.0, 1.0, 2.0)
    assert vd.attributions(["a", "b"], pd.Series([1.0, 2.0], index=["b", "a"])).weights.tolist() == [2.0, 1.0]
    assert vd.attributions(["a", "b"], pd.Series([1.0, 2.0])).weights.tolist() == [1.0, 2.0]  # numbered: in order
    with pytest.raises(InputError, match="which are not the names"):
        vd.attributions(["a", "b"], pd.Series([1.0, 2.0], index=["a", "x"]))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"names": [], "weights": []}, "at least one name"),
        (
            {"names": ["a", "b"], "weights": [1.0, 2.0], "intervals": [[5, 6], [1, 3]]},
            "does not hold the weight 1",
        ),
        (
            {"names": ["a", "b"], "weights": [1.0, 2.0], "intervals": [[1.5, 0.5], [1, 3]]},
            "from a low to a high end",
        ),
        ({"names": ["a", "b"], "weights": [1.0, 2.0], "prediction": [0.1, 0.9]}, "one number per row, not 2"),
    ],
)
def test_weights_that_make_no_sense_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        vd.attributions(**given)
