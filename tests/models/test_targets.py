"""Targets: classes of any type, positions, and what a bare number means."""

from __future__ import annotations

import datetime as dt
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import veridical as vd
from veridical import cli
from veridical.models import targets
from veridical.models.outputs import Model
from veridical.models.targets import find_class, resolve
from veridical.records import Output

X = np.random.default_rng(0).normal(size=(120, 3))
ROWS, QUICK = vd.Rows(X), vd.Lime(n_samples=32)
ONE = np.array([[0.25, 0.75]])

VALUES = st.one_of(
    st.integers(-5, 5),
    st.booleans(),
    st.floats(-5, 5).map(lambda x: round(x, 1)),
    st.text("ab12.", max_size=3),
    st.tuples(st.integers(0, 2), st.sampled_from("ab")),
    st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 3)),
    st.dates(dt.date(2020, 1, 1), dt.date(2020, 1, 5)),
    st.integers(0, 5).map(np.int64),
    st.integers(0, 3).map(lambda i: np.datetime64("2020-01-01") + np.timedelta64(i, "D")),
)
CLASSES = st.lists(
    VALUES, min_size=2, max_size=6, unique_by=lambda v: (type(targets.as_plain(v)), targets.as_plain(v))
)


def model(classes: Any) -> Model:
    return Model(lambda X: X, tuple(targets.as_plain(each) for each in classes), found=True)


def two(X: Any) -> Any:
    p = 1 / (1 + np.exp(-X[:, 0]))
    return np.stack([1 - p, p], axis=1)


def fitted(classes: Any) -> Any:
    """A classifier of two classes, of any type that scikit-learn takes."""
    found = LogisticRegression().fit(X, X[:, 0] > 0)
    found.classes_ = np.asarray(classes)
    return found


@settings(max_examples=60, deadline=None, report_multiple_bugs=False)
@given(CLASSES, st.data())
def test_a_class_is_found_by_itself_and_shown_as_itself(classes: Any, data: Any) -> None:
    k = len(classes)
    outputs = np.arange(k, dtype=float)[None]
    i = data.draw(st.integers(0, k - 1))
    found = resolve(classes[i], model(classes), outputs)
    own = targets.as_plain(classes[i])
    assert found.key == {"output": i} if k > 1 else True
    assert type(found.label) is type(own)
    assert found.label == own
    assert found.read(outputs)[0] == i
    by_position = resolve(Output(i), model(classes), outputs)
    assert by_position.key == {"output": i}
    assert type(by_position.label) is type(own)


@settings(max_examples=60, deadline=None)
@given(CLASSES, VALUES)
def test_what_is_no_class_is_refused_with_the_classes(classes: Any, wanted: Any) -> None:
    """Neither a position nor another type is ever taken for a class, and the error names what there is."""
    plain = targets.as_plain(wanted)
    outputs = np.zeros((1, len(classes)))
    try:
        found = resolve(wanted, model(classes), outputs)
    except vd.errors.InputError:
        assert not any(type(targets.as_plain(c)) is type(plain) and targets.as_plain(c) == plain for c in classes)
    else:
        shown = found.label
        assert isinstance(shown, bool) == isinstance(plain, bool) or isinstance(plain, str)
        assert shown == plain or str(shown) == plain or isinstance(plain, str)


@pytest.mark.parametrize(
    ("classes", "target", "at"),
    [
        ([1, 2], 2, 1),
        ([1, 2], "2", 1),
        ([1, 2], 2.0, 1),
        ([1, 2], np.int8(2), 1),
        ([1, 2], np.array(2), 1),
        ([False, True], True, 1),
        ([False, True], np.True_, 1),
        ([False, True], "True", 1),
        ([0.5, 1.0], 1, 1),
        ([0.5, 1.0], "1", 1),
        (["1", 1], "1", 0),
        (["1", 1], 1, 1),
        ([("a", 1), ("a", 2)], ("a", 2), 1),
        ([pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")], np.datetime64("2020-01-02", "ns"), 1),
        ([pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")], "2020-01-02", 1),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)], "2020-01-02", 1),
        (["value", "other"], "value", 0),
    ],
)
def test_classes_by_themselves_and_by_how_they_are_written(classes: Any, target: Any, at: int) -> None:
    assert find_class(target, classes) == at
    assert resolve(target, model(classes), ONE).key == {"output": at}


@pytest.mark.parametrize(
    ("classes", "target", "said"),
    [
        ([1, 2], 0, "no class is 0; the classes are 1, 2"),
        ([1, 2], True, "no class is True"),
        ([False, True], 1, "no class is 1; the classes are False, True"),
        ([1, 1.0], "1", "2 classes may be meant by '1'"),
        (["a", "a"], "a", "2 classes may be meant by 'a'.*Output\\(0\\) or vd.records.Output\\(1\\)"),
        (["a", "b"], Output(2), "no output 2.*outputs 0 to 1"),
        (["a", "b"], {"a"}, "no class is"),
    ],
)
def test_what_names_no_class_or_several(classes: Any, target: Any, said: str) -> None:
    with pytest.raises(vd.errors.InputError, match=said):
        resolve(target, model(classes), ONE)


def test_a_position_where_no_classes_are_known() -> None:
    """As ever: a bare number is a position, and what is shown is a position."""
    why = vd.explain(two, ROWS, X[0], target=1, method=QUICK)
    assert why.target == Output(1)
    assert type(why.target) is Output
    assert "output 1" in str(why)
    assert why.recipe["target"] == {"output": 1}
    assert type(vd.rerun(two, ROWS, X[0], why.recipe).target) is Output
    old = {**why.recipe, "target": 1}  # as older versions wrote it
    np.testing.assert_array_equal(vd.rerun(two, ROWS, X[0], old).weights, why.weights)
    assert vd.explain(lambda X: X[:, 0], ROWS, X[0], target=Output(0), method=QUICK).target == "value"


@pytest.mark.parametrize("wrong", [-1, True, 1.0, "1", None, [1]])
def test_outputs_are_whole_numbers_from_0_on(wrong: Any) -> None:
    with pytest.raises(vd.errors.InputError, match="whole number from 0 on"):
        Output(wrong)
    assert pickle.loads(pickle.dumps(Output(3))) == Output(3)


def test_the_only_output_of_two_classes_is_a_score_of_the_second() -> None:
    estimator = RidgeClassifier().fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    score = float(estimator.decision_function(X[:1])[0])
    second, first, raw = (
        vd.explain(estimator.decision_function, ROWS, X[0], target=t, method=QUICK)
        for t in ("yes", "no", Output(0))
    )
    assert (second.target, first.target, raw.target) == ("yes", "no", "yes")
    assert (second.prediction, first.prediction, raw.prediction) == (score, -score, score)
    np.testing.assert_allclose(first.weights, -second.weights)
    again = vd.rerun(estimator.decision_function, ROWS, X[0], first.recipe)
    assert again.target == "no"
    np.testing.assert_array_equal(again.weights, first.weights)


def test_scores_of_pairs_of_classes_are_not_called_by_a_class() -> None:
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    pairs = SVC(decision_function_shape="ovo").fit(X, y).decision_function
    assert pairs(X[:1]).shape == (1, 3)
    why = vd.explain(pairs, ROWS, X[0], method=QUICK)
    assert type(why.target) is Output
    assert any("pairs of classes" in note for note in why.notes)


def test_one_probability_is_not_named_by_two_classes() -> None:
    for target in (None, "no"):
        with pytest.raises(vd.errors.InputError, match="return two columns, 1 - p and p, or leave classes out"):
            vd.explain(lambda X: two(X)[:, 1], ROWS, X[0], classes=["no", "yes"], target=target, method=QUICK)


@pytest.mark.parametrize("kind", ["svc", "margin", "bound", "search", "threshold", "probability"])
def test_by_default_it_is_the_predicted_class(kind: str, tmp_path: Path) -> None:
    y = np.where(X[:, 0] > 0, 2, 1)
    owner: Any = {
        "svc": lambda: SVC(),
        "margin": lambda: LinearSVC(),
        "bound": lambda: RidgeClassifier(),
        "search": lambda: GridSearchCV(SVC(), {"C": [1]}, cv=2),
        "threshold": lambda: Threshold(),
        "probability": lambda: make_pipeline(Threshold()),
    }[kind]().fit(X, y)
    model: Any = owner.decision_function if kind == "bound" else owner
    expected = owner.predict(X[:8]).tolist()
    assert set(expected) == {1, 2}
    alone = [vd.explain(model, ROWS, x, method=QUICK) for x in X[:8]]
    assert [why.target for why in alone] == expected
    if "threshold" not in kind and kind != "probability":
        assert all(why.prediction > 0 for why in alone)
    assert [why.target for why in vd.explain_many(model, ROWS, X[:8], method=QUICK)] == expected
    assert [w.target for w in vd.explain_many(model, ROWS, X[:8], method=vd.Occlusion())] == expected
    store = vd.explain_many(model, ROWS, X[:8], method=QUICK, store=tmp_path / "s")
    assert [why.target for why in store] == expected
    again = vd.rerun(model, ROWS, X[0], alone[0].recipe)
    assert again.target == expected[0]
    np.testing.assert_array_equal(again.weights, alone[0].weights)


class Threshold(LogisticRegression):
    """Predicts the second class only where it is sure, whatever its larger probability."""

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.9).astype(int)]


def test_the_own_classes_in_another_order_are_refused() -> None:
    estimator = fitted(["no", "yes"])
    for model in (estimator, estimator.predict_proba):
        with pytest.raises(vd.errors.InputError, match="another order than its outputs, which is 'no', 'yes'"):
            vd.explain(model, ROWS, X[0], classes=["yes", "no"], method=QUICK)
    assert vd.explain(estimator, ROWS, X[0], classes=["No", "Yes"], method=QUICK).target in ("No", "Yes")


def test_a_class_that_is_not_a_number() -> None:
    nan = float("nan")
    why = vd.explain(two, ROWS, X[0], classes=[nan, 1.0], target=np.float64(nan), method=QUICK)
    assert why.recipe["target"] == {"output": 0}
    assert np.isnan(why.target)


def test_one_that_predicts_classes_has_no_output_of_a_class() -> None:
    labels = fitted([1, 2]).predict
    why = vd.explain(labels, ROWS, X[0], method=QUICK)
    assert why.target == "value"
    assert any("predict_proba" in note for note in why.notes)
    with pytest.raises(vd.errors.InputError, match=r"classes themselves.*predict_proba"):
        vd.explain(labels, ROWS, X[0], target=2, method=QUICK)


CASES: dict[str, tuple[Any, Any]] = {
    "int": ([1, 2], 2),
    "bool": ([False, True], True),
    "float": ([0.5, 1.5], 1.5),
    "text": (["no", "yes"], "yes"),
    "date": (np.array(["2020-01-01", "2020-01-02"], "M8[D]"), pd.Timestamp("2020-01-02")),
}


@pytest.mark.parametrize("kind", CASES)
def test_every_medium_has_the_class(kind: str, tmp_path: Path) -> None:
    classes, wanted = CASES[kind]
    estimator = fitted(classes)
    many = vd.explain_many(estimator, ROWS, X[:6], target=wanted, method=QUICK)
    own = vd.explain_many(estimator, ROWS, X[:6], method=QUICK)
    assert [e.target for e in own] == [targets.as_plain(c) for c in estimator.predict(X[:6])]
    assert {type(e.target) for e in many} == {type(wanted)}
    why = many[0]
    assert f"for {wanted}" in str(why)
    assert str(wanted) in why._repr_html_()
    assert many.to_frame()["target"].tolist() == [wanted] * 18
    for suffix in (".json", ".parquet"):
        many.save(tmp_path / f"many{suffix}")
        again = vd.load(tmp_path / f"many{suffix}")
        assert [e.target for e in again] == [wanted] * 6
        assert {type(e.target) for e in again} == {type(wanted)}
    why.save(tmp_path / "why.csv")
    assert str(wanted).removesuffix(" 00:00:00") in (tmp_path / "why.csv").read_text()
    picked = vd.pick(tmp_path / "many.parquet", 2, target=wanted)
    assert picked.chosen_targets == (wanted, wanted)
    picked.save(tmp_path / "pick.json")
    assert vd.load(tmp_path / "pick.json").chosen_targets == (wanted, wanted)
    np.testing.assert_array_equal(vd.rerun(estimator, ROWS, X[:1], why.recipe).weights, why.weights)


def test_a_store_keeps_the_class(tmp_path: Path) -> None:
    estimator = fitted([1, 2])
    store = vd.explain_many(estimator, ROWS, X, target=2, method=QUICK, store=tmp_path / "s")
    assert store[0].target == 2
    assert type(store[0].target) is int
    assert set(store.to_frame()["target"]) == {2}
    assert vd.pick(store, 1, target="2").chosen_targets == (2,)
    with pytest.raises(vd.errors.InputError, match="no explanation is of the target output 0"):
        vd.pick(store, 1, target=Output(0))
    with pytest.raises(vd.errors.InputError, match="target"):
        vd.explain_many(estimator, ROWS, X, target=1, method=QUICK, store=tmp_path / "s")


def test_a_tuple_is_a_class_where_it_is_one_and_several_targets_where_not() -> None:
    names = [("a", 1), ("b", 2)]
    assert vd.explain(two, ROWS, X[0], classes=names, target=("b", 2), method=QUICK).target == ("b", 2)
    assert [e.target for e in vd.explain(two, ROWS, X[0], classes=names, target=names, method=QUICK)] == names
    assert [e.target for e in vd.explain(two, ROWS, X[0], target=(0, 1), method=QUICK)] == [Output(0), Output(1)]
    many = vd.explain_many(two, ROWS, X[:2], classes=names, target=("b", 2), method=QUICK)
    assert many.to_frame()["target"].tolist() == [("b", 2)] * 6


@pytest.mark.parametrize(
    "change",
    [
        {"rng": {"entropy": -1, "spawn_key": ()}},
        {"rng": {"entropy": "a", "spawn_key": ()}},
        {"rng": None},
        {"method": {"name": "Lime", "n_samples": -1}},
        {"method": {"name": "Lime", "nothing": 1}},
        {"target": {"output": 7}},
        {"target": {"output": True}},
        {"target": {"negated": True}},
        {"target": {"output": 0, "negated": True}},
        {"classes": 5},
    ],
    ids=str,
)
def test_recipes_with_odd_contents_are_refused(change: Any) -> None:
    recipe = {**vd.explain(two, ROWS, X[0], method=QUICK).recipe, **change}
    with pytest.raises(vd.VeridicalError):
        vd.rerun(two, ROWS, X[0], recipe)


def test_classes_that_are_alike_stay_apart_in_a_pick() -> None:
    made = [vd.explain(two, ROWS, x, classes=[1, True], method=QUICK) for x in X[:8]]
    assert {type(e.target) for e in made} == {int, bool}
    chosen = vd.pick(made, 8, target=True).chosen
    assert [type(made[i].target) for i in chosen] == [bool] * len(chosen)


@pytest.mark.parametrize("wrong", [5, "ab", {"a", "b"}, {"a": 1}, [[1], [2]], np.eye(2), []])
def test_classes_are_a_list(wrong: Any) -> None:
    with pytest.raises(vd.errors.InputError, match="classes"):
        vd.explain(two, ROWS, X[0], classes=wrong)


@pytest.mark.parametrize("wrong", [np.array([0, 1]), {0}, {}, object(), b"a", float("nan"), pd.NaT])
def test_odd_targets_are_refused_in_one_sentence(wrong: Any) -> None:
    one = lambda X: X[:, 0]  # noqa: E731
    for predict, known in ((one, None), (two, None), (two, ["a", "b"])):
        with pytest.raises(vd.errors.InputError):
            vd.explain(predict, ROWS, X[0], target=wrong, classes=known)
        with pytest.raises(vd.errors.InputError):
            vd.explain_many(predict, ROWS, X[:2], target=wrong, classes=known)


def test_groups_checks_and_metrics_take_the_class(tmp_path: Path) -> None:
    estimator = fitted([1, 2])
    groups = vd.group(estimator, ROWS, X, k=2, target=2, method="linear")
    assert (groups.target, type(groups.target)) == (2, int)
    groups.save(tmp_path / "g.json")
    assert vd.load(tmp_path / "g.json").target == 2
    with pytest.raises(vd.errors.InputError, match="the classes are 1, 2"):
        vd.group(estimator, ROWS, X, k=2, target=0)
    report = vd.evaluate(estimator, ROWS, X[:3], methods=QUICK, metrics=["correlation"], target=2)
    assert report.recipe["target"] == 2
    why = vd.explain(estimator, ROWS, X[0], target=2, method=vd.Occlusion())
    assert vd.believe(estimator, ROWS, X[0], why).check
    with pytest.raises(vd.errors.InputError, match="one target for all instances"):
        vd.debug(estimator, ROWS, X, check="cascade", target=[1, 2])


def test_the_command_line_takes_a_class_and_says_so(tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    joblib = pytest.importorskip("joblib")
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.to_csv("data.csv", index=False)
    joblib.dump(LogisticRegression().fit(frame, np.where(frame.a > 0, 2, 1)), "m.joblib")
    ask = ["explain", "m.joblib", "data.csv", "--row", "0", "--trust", "--out", "why.json", "--samples", "32"]
    assert cli.main([*ask, "--target", "2"]) == 0
    assert "--target 2 is the class 2" in capsys.readouterr().err
    assert (vd.load("why.json").target, type(vd.load("why.json").target)) == (2, int)
    assert cli.main([*ask, "--target", "output 0"]) == 0
    assert vd.load("why.json").target == 1
    assert cli.main([*ask, "--target", "0"]) == 2
    assert re.search("no class is called '0'.*the classes are 1, 2.*output 0", capsys.readouterr().err, re.S)


def test_a_saboteur_that_shows_positions_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The old rule: a bare number is a position, whatever the classes are."""
    monkeypatch.setattr(targets, "choose_class", lambda target, classes: int(target))
    with pytest.raises((AssertionError, IndexError, TypeError, ValueError)):
        test_a_class_is_found_by_itself_and_shown_as_itself()


def test_classes_that_are_written_alike_are_shown_apart(tmp_path: Path) -> None:
    number, text = (vd.explain(two, ROWS, X[0], classes=[1, "1"], target=t, method=QUICK) for t in (1, "1"))
    text.save(tmp_path / "t.json")
    assert (number.target, text.target) == (1, "1")
    for why in (text, vd.load(tmp_path / "t.json")):
        assert "says '1'" in str(why)
        assert "for '1'" in why.verdict.sentence
        assert "&#x27;1&#x27;" in why._repr_html_()
    alone = vd.explain(two, ROWS, X[0], classes=["0", "1"], target="1", method=QUICK)
    for why in (number, alone):
        assert re.search("says 1\\b", str(why))
        assert "'1'" not in str(why)
    assert "'1'" in str(vd.Explanations((number, text)))
