"""Contrast: rows answered otherwise stand in for a row's values; whom it is held against, and what is said of it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

import veridical as vd
from tests.builders.contracts import Spy, bits
from veridical.methods import contrast

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
SLOPES = np.array([2.0, -1.0, 0.0, 0.5])


def linear(rows: Any) -> Any:
    return np.asarray(rows, float) @ SLOPES


def two(rows: Any) -> Any:
    p = 1 / (1 + np.exp(-linear(rows)))
    return np.stack([1 - p, p], axis=1)


def three(rows: Any) -> Any:
    scores = np.stack([linear(rows), np.zeros(len(rows)), -linear(rows) - 0.5], axis=1)
    weights = np.exp(scores)
    return weights / weights.sum(axis=1, keepdims=True)


def nearest(x: Any, rows: Any, n: int = 8) -> Any:
    """By Euclidean distance in standard deviations."""
    far = np.linalg.norm((rows - x) / X.std(axis=0), axis=1)
    return rows[np.argsort(far, kind="stable")[:n]]


# What is asked -------------------------------------------------------------------------------------------------


def test_a_linear_model_is_explained_exactly() -> None:
    """Against the nearest rows below the median, a weight is the slope times the mean difference."""
    answers = linear(X)
    i = int(np.argsort(answers)[200])
    others = nearest(X[i], X[answers < np.median(answers)])
    why = vd.explain(linear, vd.Rows(X, names=list("abcd")), X[i], method=vd.Contrast())
    np.testing.assert_allclose(why.weights, SLOPES * (X[i] - others.mean(axis=0)), atol=1e-3)
    assert why.intercept == pytest.approx(linear(others).mean(), abs=1e-3)
    assert why.local_prediction == pytest.approx(why.prediction, abs=1e-3)
    assert why.intercept + why.weights.sum() == pytest.approx(why.local_prediction)
    assert why.fidelity > 0.999
    assert why.scale == "identity"
    assert why.pairs == ()
    each = SLOPES * (X[i] - others)
    np.testing.assert_allclose(why.intervals[:, 0], each.min(axis=0), atol=2e-3)
    np.testing.assert_allclose(why.intervals[:, 1], each.max(axis=0), atol=2e-3)
    a = f"a {X[i, 0]:.4g} (they {others[:, 0].mean():.4g})"
    assert why.parts[0] == vd.records.Part(a, "a", "=", X[i, 0])
    assert why.values == tuple(X[i])
    assert why.positions == (0, 1, 2, 3)
    assert why.question.startswith(f"why {why.prediction:.3g} rather than less than")
    assert why.question.endswith("for the 8 nearest rows answered so)?")


def test_the_other_of_two_classes() -> None:
    i = int(np.argmax(two(X)[:, 1]))
    why = vd.explain(two, vd.Rows(X), X[i], method=vd.Contrast(), classes=["no", "yes"])
    others = nearest(X[i], X[two(X)[:, 0] > 0.5])
    assert why.target == "yes"
    mean = two(others)[:, 1].mean()
    assert why.question == (
        f"why yes ({why.prediction:.3f}) rather than no ({mean:.3f} for the 8 nearest rows answered so)?"
    )
    assert why.scale == "log-odds"
    assert 1 / (1 + np.exp(-why.intercept)) == pytest.approx(mean, abs=0.01)
    assert why.fidelity > 0.99
    assert why.local_prediction == pytest.approx(why.prediction, abs=0.01)
    other = vd.explain(two, vd.Rows(X), X[i], method=vd.Contrast(), classes=["no", "yes"], target="no")
    assert "why no (" in other.question
    assert "rather than yes (" in other.question  # the nearest rows are those of its own class


def test_the_runner_up_of_three_or_the_one_that_is_named() -> None:
    i = int(np.argmax(three(X)[:, 0]))
    rows, classes = vd.Rows(X), ["up", "flat", "down"]
    why = vd.explain(three, rows, X[i], method=vd.Contrast(), classes=classes)
    assert why.target == "up"
    answered = {classes[c] for c in three(X).argmax(axis=1)}
    assert "flat" in answered
    assert "rather than flat" in why.question
    named = vd.explain(three, rows, X[i], method=vd.Contrast(against="down"), classes=classes)
    assert "rather than down" in named.question
    by_position = vd.explain(three, rows, X[i], method=vd.Contrast(against=2))
    np.testing.assert_array_equal(by_position.weights, named.weights)


def test_a_runner_up_that_no_row_is_answered_with_is_passed_over() -> None:
    def never_flat(rows: Any) -> Any:
        found = three(rows)
        found[:, 1] = 0.9 * found[:, ::2].max(axis=1)
        return found

    i = int(np.argmax(three(X)[:, 0]))
    why = vd.explain(never_flat, vd.Rows(X), X[i], method=vd.Contrast(), classes=["up", "flat", "down"])
    assert "rather than down" in why.question
    assert any("runner-up, flat" in note for note in why.notes)


def test_scores_of_the_second_class() -> None:
    model = LinearSVC(dual="auto").fit(X, np.where(linear(X) > 0, "yes", "no"))
    order = np.argsort(linear(X))
    for i, words in ((order[-1], "why yes ("), (order[0], "why no (")):
        why = vd.explain(model, vd.Rows(X), X[i], method=vd.Contrast())
        assert why.question.startswith(words)
        assert why.prediction > 0 > why.intercept
        assert why.fidelity > 0.99
        assert why.scale == "identity"


def test_a_number_as_the_other_answer() -> None:
    i = int(np.argmax(linear(X)))
    why = vd.explain(linear, vd.Rows(X), X[i], method=vd.Contrast(against=-1.0))
    assert "rather than at most -1 (" in why.question
    others = nearest(X[i], X[linear(X) <= -1])
    np.testing.assert_allclose(why.weights, SLOPES * (X[i] - others.mean(axis=0)), atol=2e-3)
    low = int(np.argmin(linear(X)))
    assert "at least -1" in vd.explain(linear, vd.Rows(X), X[low], method=vd.Contrast(against=-1.0)).question


def test_a_median_that_most_rows_have() -> None:
    def counts(rows: Any) -> Any:
        return np.maximum(np.round(linear(rows)), 0.0)

    i = int(np.argmax(linear(X)))
    why = vd.explain(counts, vd.Rows(X), X[i], method=vd.Contrast())
    assert "rather than at most 0 (the median)" in why.question


# Blocks --------------------------------------------------------------------------------------------------------

TWINS = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "a again": X[:, 0] + 0.05 * X[:, 2], "c": X[:, 3]})


def of_twins(table: Any) -> Any:
    return 2 * table["a"].to_numpy() + 2 * table["a again"].to_numpy() - table["b"].to_numpy()


def test_correlated_columns_are_one_feature() -> None:
    i = int(np.argmax(of_twins(TWINS)))
    why = vd.explain(of_twins, vd.Rows(TWINS), TWINS.iloc[i], method=vd.Contrast())
    assert [part.column for part in why.parts] == ["a and a again", "b", "c"]
    assert why.parts[0].relation == "together"
    assert set(why.parts[0].value) == {"a", "a again"}
    assert why.names[0].endswith((" and a again", " and a"))
    assert why.weights[0] > 10 * abs(why.weights[2])


@pytest.mark.parametrize(
    ("blocks", "columns"),
    [
        (False, ["a", "b", "a again", "c"]),
        (1.0, ["a", "b", "a again", "c"]),
        (0.5, ["a and a again", "b", "c"]),
        ({"both": ["b", "c"]}, ["a", "both", "a again"]),
        ({"both": [1, "c"]}, ["a", "both", "a again"]),
    ],
)
def test_blocks_are_as_they_are_wanted(blocks: Any, columns: list[str]) -> None:
    rows = vd.Rows(TWINS, blocks=blocks)
    why = vd.explain(of_twins, rows, TWINS.iloc[3], method=vd.Contrast())
    assert [part.column for part in why.parts] == columns
    assert len(vd.explain(of_twins, rows, TWINS.iloc[3]).parts) == 4  # LIME goes by columns
    if isinstance(blocks, dict):
        assert why.names[1].startswith("both: ")


def test_all_values_of_a_block_come_from_one_row() -> None:
    spy = Spy(of_twins)
    i = int(np.argmax(of_twins(TWINS)))
    vd.explain(spy, vd.Rows(TWINS), TWINS.iloc[i], method=vd.Contrast())
    seen = pd.concat(spy.batches)
    pairs = set(zip(TWINS["a"], TWINS["a again"], strict=True))
    assert set(zip(seen["a"], seen["a again"], strict=True)) <= pairs


# References ----------------------------------------------------------------------------------------------------


def test_fewer_rows_than_wanted_are_said() -> None:
    few = np.vstack([X[linear(X) > 0.1], X[linear(X) < -3][:3]])
    i = int(np.argmax(linear(few)))
    why = vd.explain(two, vd.Rows(few), few[i], method=vd.Contrast())
    assert any("only 3 rows are answered with output 0" in note for note in why.notes)
    assert "for the 3 nearest rows" in why.question
    assert why.fidelity > 0.9


def test_one_answer_everywhere_is_no_evidence() -> None:
    why = vd.explain(two, vd.Rows(X + 50), X[3] + 50, method=vd.Contrast())
    assert not why.verdict.passed
    assert why.verdict.label == "none"
    assert why.verdict.sentence.startswith("The model has one answer for this row and all 300 of the background")
    assert not why.weights.any()
    assert why.n_calls == 1 + len(X)
    many = vd.explain_many(two, vd.Rows(X + 50), X[:3] + 50, method=vd.Contrast())
    assert len(many) == 3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: vd.Contrast(n=0), ("n", "at least 1")),
        (lambda: vd.Contrast(parts=0), ("parts", "at least 1")),
        (lambda: vd.Contrast(pairs=-1), ("pairs", "-1")),
        (lambda: vd.Contrast(pairs=True), ("pairs", "True")),
        (lambda: vd.Contrast(against=["a", "b"]), ("against", "one class or number")),
        (lambda: explain(two, vd.Contrast(against=1)), ("against", "output 1", "target")),
        (lambda: explain(three, vd.Contrast(against="flat"), ["up", "maybe", "down"]), ("no class is 'flat'",)),
        (lambda: explain(linear, vd.Contrast(against="low")), ("numbers", "'low'")),
        (lambda: explain(linear, vd.Contrast(against=-1e6)), ("none of the 300 rows", "at most")),
        (lambda: vd.Rows(TWINS, blocks={"x": ["a", "d"]}), ("'x'", "'d'", "'a'")),
        (lambda: vd.Rows(TWINS, blocks={"x": ["a"], "y": ["b", "a"]}), ("one block only", "'x'", "'y'")),
        (lambda: vd.Rows(TWINS, blocks={"x": "a"}), ("'x'", "list of columns")),
        (lambda: vd.Rows(TWINS, blocks={"x": ["a"]}, immutable=["a"]), ("never changed",)),
        (lambda: vd.Rows(TWINS, blocks=7), ("blocks", "7")),
        (lambda: vd.Rows(TWINS, blocks=True), ("blocks", "True")),
    ],
)
def test_what_cannot_be_used_is_refused(make: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(vd.errors.InputError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def explain(model: Any, method: Any, classes: Any = None) -> Any:
    i = int(np.argmax(linear(X)))
    return vd.explain(model, vd.Rows(X), X[i], method=method, classes=classes)


def test_a_class_that_is_never_answered() -> None:
    def almost(rows: Any) -> Any:
        found = three(rows)
        found[:, 1] *= 0.01
        return found

    with pytest.raises(
        vd.errors.InputError, match="none of the 300 rows of the background: it answers 'up', 'down'"
    ):
        explain(almost, vd.Contrast(against="flat"), ["up", "flat", "down"])


def test_missing_values_and_categories_are_shown_on_both_sides() -> None:
    n = 200
    table = pd.DataFrame(
        {
            "city": RNG.choice(["Bern", "Oslo"], n),
            "income": np.where(RNG.random(n) < 0.3, np.nan, RNG.normal(size=n)),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, n), "D"),
        }
    )

    def predict(rows: Any) -> Any:
        return (rows["city"] == "Bern") * 2.0 + rows["income"].isna() + 0.001 * rows["since"].dt.day

    row = {"city": "Bern", "income": np.nan, "since": pd.Timestamp("2021-02-03")}
    why = vd.explain(predict, vd.Rows(table), row, method=vd.Contrast())
    assert why.names[0].startswith("city Bern (they ")
    assert why.names[1].startswith("income missing (they ")
    assert why.names[2].startswith("since 2021-02-03 (they 20")
    assert why.parts[1].relation == "is missing"
    unseen = vd.explain(predict, vd.Rows(table), {**row, "city": "Rome"}, method=vd.Contrast())
    assert unseen.names[0].startswith("city Rome (they ")


def test_columns_that_all_sides_share_have_no_weight() -> None:
    table = pd.DataFrame({"kind": ["x"] * 290 + ["y"] * 10, "a": X[:, 0], "b": X[:, 1]})
    i = int(np.argmax(X[:200, 0]))
    why = vd.explain(lambda t: t["a"] + (t["kind"] == "y"), vd.Rows(table), table.iloc[i], method=vd.Contrast())
    assert why.weights[0] == 0
    assert any("1 feature is the same in all of these rows" in note for note in why.notes)


def test_immutable_columns_stay_the_rows_own() -> None:
    rows = vd.Rows(TWINS, immutable=["b"])
    spy = Spy(of_twins)
    i = int(np.argmax(of_twins(TWINS)))
    why = vd.explain(spy, rows, TWINS.iloc[i], method=vd.Contrast())
    assert "b" not in {part.column for part in why.parts}
    asked = pd.concat(spy.batches)
    changed = asked[~asked["a"].isin(TWINS["a"]) | (asked["b"] == TWINS["b"][i])]
    assert (changed["b"] == TWINS["b"][i]).all()
    assert why.n_calls == spy.n_rows


# Calls and memory ----------------------------------------------------------------------------------------------


def test_the_background_is_asked_about_once() -> None:
    spy, rows = Spy(two), vd.Rows(X)
    first = vd.explain(spy, rows, X[0], method=vd.Contrast())
    assert first.n_calls == spy.n_rows <= 300 + 1250
    second = vd.explain(spy, rows, X[1], method=vd.Contrast())
    assert spy.n_rows == first.n_calls + second.n_calls - len(X)
    assert second.n_calls - len(X) <= 1250
    other = Spy(two)
    vd.explain(other, rows, X[1], method=vd.Contrast())
    assert other.n_rows == second.n_calls


def test_many_rows_in_threads_ask_about_it_once() -> None:
    spy = Spy(two)
    many = vd.explain_many(spy, vd.Rows(X), X[:6], method=vd.Contrast(), n_jobs=3)
    assert spy.n_rows == 6 + sum(why.n_calls - len(X) for why in many) + len(X) - 6
    alone = [vd.explain(two, vd.Rows(X), X[i], method=vd.Contrast()) for i in range(1)]
    assert alone[0].prediction == many[0].prediction


def test_at_most_500_rows_of_a_background_are_asked_about() -> None:
    wide = RNG.normal(size=(2000, 4))
    spy = Spy(two)
    why = vd.explain(spy, vd.Rows(wide), wide[0], method=vd.Contrast())
    assert why.n_calls == spy.n_rows <= 500 + 1250
    assert why.n_calls <= vd.Contrast().most_calls


def test_a_model_that_was_fitted_again_is_asked_again() -> None:
    data = load_breast_cancer()
    model = LogisticRegression(max_iter=20_000).fit(data.data, data.target)
    rows, x = vd.Rows(data.data), data.data[0]
    before = vd.explain(model, rows, x, method=vd.Contrast())
    assert bits(vd.explain(model, rows, x, method=vd.Contrast())) == bits(before)
    model.fit(data.data[:, ::-1], 1 - data.target)
    after = vd.explain(model, rows, x, method=vd.Contrast(), target=0)
    fresh = vd.explain(model, vd.Rows(data.data), x, method=vd.Contrast(), target=0)
    np.testing.assert_array_equal(after.weights, fresh.weights)
    assert after.n_calls > fresh.n_calls


def test_nothing_is_kept_alive() -> None:
    rows = vd.Rows(X)
    vd.explain(lambda t: two(t), rows, X[0], method=vd.Contrast())
    kept = contrast._REMEMBERED[rows.background.rows]
    assert [each.model() for each in kept] == [None]
    for _ in range(9):
        vd.explain(lambda t: two(t), rows, X[0], method=vd.Contrast())
    assert len(contrast._REMEMBERED[rows.background.rows]) <= contrast.REMEMBERED
    n = len(contrast._REMEMBERED)
    del rows
    import gc

    gc.collect()
    assert len(contrast._REMEMBERED) < n


def test_locks_are_free_after_an_error() -> None:
    def fails(rows: Any) -> Any:
        raise RuntimeError("no such device")

    with pytest.raises(vd.errors.ModelError):
        vd.explain(fails, vd.Rows(X), X[0], method=vd.Contrast())
    done = threading.Thread(target=lambda: vd.explain(two, vd.Rows(X), X[0], method=vd.Contrast()))
    done.start()
    done.join(30)
    assert not done.is_alive()


# What becomes of it --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def patients() -> tuple[Any, vd.Rows, pd.DataFrame]:
    data = load_breast_cancer(as_frame=True)
    model = RandomForestClassifier(50, random_state=0).fit(data.data[100:], data.target_names[data.target[100:]])
    return model, vd.Rows(data.data[100:]), data.data[:100]


def test_a_forest_and_30_correlated_columns(patients: Any) -> None:
    model, rows, X = patients
    p = model.predict_proba(X)[:, 1]
    why = vd.explain(model, rows, X.iloc[int(np.argmin(np.abs(p - 0.5)))], method="contrast")
    assert len(why.parts) < 20
    assert any(" like it" in name for name in why.names)
    assert np.count_nonzero(why.weights) <= 5
    assert len(why.pairs) <= 2
    assert why.fidelity > 0.8
    assert abs(why.local_prediction - why.prediction) < 0.05
    assert any("equal shares for all features would explain" in note for note in why.notes)
    for shown in (str(why), why._repr_html_()):
        assert "they " in shown
        assert "rather than" in shown
    for part, (low, high), weight in zip(why.parts, why.intervals, why.weights, strict=True):
        assert low <= weight <= high, part


def test_evaluations_audits_picks_and_comparisons_take_it(patients: Any, tmp_path: Any) -> None:
    model, rows, X = patients
    method = vd.Contrast(n=4)
    report = vd.evaluate(
        model,
        rows,
        X.iloc[:3],
        methods={"contrast": method, "occlusion": vd.Occlusion(n_draws=4)},
        metrics=["deletion"],
    )
    assert {name for _, name in report.ranking("deletion")} == {"contrast", "occlusion"}
    many = vd.explain_many(model, rows, X.iloc[:8], method=method, target="malignant")
    assert len(vd.pick(many, budget=2).chosen) == 2
    store = vd.explain_many(model, rows, X.iloc[:8], method=method, target="malignant", store=tmp_path / "store")
    assert [bits(why) for why in store] == [bits(why) for why in many]
    other = RandomForestClassifier(50, random_state=1).fit(X, model.predict(X))
    second = vd.explain(other, rows, X.iloc[0], method=method, target="malignant")
    difference = vd.compare(many[0], second)
    assert not any("answer different questions" in note for note in difference.notes)
    assert vd.believe(model, rows, X.iloc[0], many[0]).sentence


def test_numbers_of_a_regression(tmp_path: Any) -> None:
    model = LinearRegression().fit(X, linear(X))
    many = vd.explain_many(model, vd.Rows(X), X[:4], method=vd.Contrast())
    many.save(tmp_path / "many.json")
    assert [bits(a) for a in vd.load(tmp_path / "many.json")] == [bits(b) for b in many]
    assert many[0].question == vd.load(tmp_path / "many.json")[0].question


def test_a_background_from_a_file_has_no_rows() -> None:
    rows = vd.Rows(X)
    rows.background.rows = None
    with pytest.raises(vd.errors.InputError, match="build Rows"):
        vd.explain(two, rows, X[0], method=vd.Contrast())
