"""Flips: what is found is verified and small, what must not change stays, and what cannot be found is said."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import veridical as vd
from tests.builders.contracts import Spy
from veridical.errors import InputError, ModelError
from veridical.methods.flips import Flip, Flips, readable
from veridical.storage.schema import write_json

RNG = np.random.default_rng(0)
N = 300
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "income": np.where(RNG.random(N) < 0.1, np.nan, RNG.gamma(4, 12, N)),
        "home": pd.Categorical(RNG.choice(["own", "rent", "parents"], N)),
        "married": RNG.random(N) < 0.5,
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), "D"),
        "waited": pd.to_timedelta(RNG.integers(1, 500, N), "h"),
        "always": 1.0,
    }
)
ROWS = vd.Rows(TABLE)
X = {
    "age": 40, "income": 30.0, "home": "rent", "married": True, "since": pd.Timestamp("2021-06-01"),
    "waited": pd.Timedelta("50h"), "always": 1.0,
}  # fmt: skip
NAMES = ["no", "yes"]


def probabilities(score: Any) -> Any:
    p = 1 / (1 + np.exp(-np.asarray(score, dtype=float)))
    return np.stack([1 - p, p], axis=1)


def by(**terms: Any) -> Any:
    """A model that sums functions of some columns."""
    return lambda table: probabilities(sum(term(table[name]) for name, term in terms.items()))


def changes(found: Flips) -> list[dict[str, Any]]:
    return [dict(flip.changes) for flip in found]


def check_flips(found: Flips, model: Any, table: pd.DataFrame, x: Any) -> None:
    """Every change, put into the row by hand, gets the answer that it promises."""
    row = table.iloc[[0]].copy()
    for name, value in x.items():
        row[name] = pd.Series([value], index=row.index).astype(row[name].dtype)
    assert len(found)
    for flip in found:
        other = row.copy()
        for name, value in flip.changes.items():
            other[name] = pd.Series([value], index=row.index).astype(row[name].dtype)
        before, after = model(row)[0], model(other)[0]
        assert before.argmax() != after.argmax()
        assert NAMES[after.argmax()] == flip.answer
        assert after.max() == pytest.approx(flip.after)
        assert before[after.argmax()] == pytest.approx(flip.before)
        assert flip.values == {name: x[name] for name in flip.changes}


# ---- single columns


@pytest.mark.parametrize(
    ("name", "term", "expected"),
    [
        ("age", lambda c: (c - 60.5) / 9, 61),
        ("age", lambda c: (c < 33) * 2 - 1, 32),
        ("income", lambda c: (c.fillna(0) - 41.37) / 5, 41.4),
        ("home", lambda c: np.where(c == "own", 1.0, -1.0), "own"),
        ("married", lambda c: np.where(c, -1.0, 1.0), False),
        ("income", lambda c: np.where(c.isna(), 1.0, -1.0), None),
    ],
)
def test_the_smallest_change_of_a_column_is_found(name: str, term: Any, expected: Any) -> None:
    """Numbers go to the boundary and read well, whole numbers stay whole; categories, truths and gaps are set."""
    model = by(**{name: term})
    found = vd.flips(model, ROWS, X, classes=NAMES)
    assert [list(flip.changes) for flip in found][:1] == [[name]]
    value = found[0].changes[name]
    if expected is None:
        assert np.isnan(value)
    else:
        assert value == expected
        check_flips(found, model, TABLE, X)
    assert type(value) is not float or expected is None or len(f"{value:.15g}") <= 5


@pytest.mark.parametrize(
    ("name", "limit"), [("since", pd.Timestamp("2022-01-01")), ("waited", pd.Timedelta("200h"))]
)
def test_dates_and_durations_go_to_a_value_that_was_seen(name: str, limit: Any) -> None:
    model = by(**{name: lambda c: np.where(c > limit, 1.0, -1.0)})
    found = vd.flips(model, ROWS, X, classes=NAMES)
    assert changes(found) == [{name: TABLE[name][TABLE[name] > limit].min()}]


def test_fewer_columns_and_smaller_changes_come_first() -> None:
    model = by(age=lambda c: (c > 80) * 5.0, income=lambda c: (c.fillna(0) > 33) * 5.0 - 1)
    found = vd.flips(model, ROWS, X, classes=NAMES)
    assert [list(flip.changes) for flip in found] == [["income"], ["age"]]
    sizes = [flip.size for flip in found]
    assert sizes == sorted(sizes)
    known = TABLE["income"].dropna()
    value = found[0].changes["income"]
    assert sizes[0] == pytest.approx(((known > 30) & (known <= value)).mean())
    assert len(vd.flips(model, ROWS, X, classes=NAMES, n=1)) == 1


def test_a_narrow_island_between_the_first_values_is_found() -> None:
    """Ages from 52 to 54 alone flip, which hard labels do not hint at."""
    model = by(age=lambda c: c.between(52, 54) * 2.0 - 1)
    assert changes(vd.flips(model, ROWS, X, classes=NAMES)) == [{"age": 52}]


def test_two_columns_change_where_one_is_not_enough() -> None:
    model = by(age=lambda c: (c > 60) * 1.0, income=lambda c: (c.fillna(0) > 50) * 1.0 - 1.5)
    found = vd.flips(model, ROWS, X, classes=NAMES)
    check_flips(found, model, TABLE, X)
    assert set(found[0].changes) == {"age", "income"}
    assert found[0].changes["age"] == 61
    assert 50 < found[0].changes["income"] < 52


def test_one_hot_columns_change_together() -> None:
    table = pd.DataFrame(np.eye(3)[RNG.integers(0, 3, 60)], columns=["c_red", "c_green", "c_blue"]).assign(
        z=RNG.normal(size=60)
    )
    rows = vd.Rows(table, onehot={"c": ["c_red", "c_green", "c_blue"]})
    x = {"c_red": 1.0, "c_green": 0.0, "c_blue": 0.0, "z": 0.0}
    found = vd.flips(lambda t: probabilities(t["c_blue"] * 2 - 1), rows, x, classes=NAMES)
    assert changes(found) == [{"c": "blue"}]
    assert found[0].values == {"c": "red"}
    assert not vd.flips(lambda t: probabilities(t["c_blue"] * 2 - 1), rows, x, classes=NAMES, immutable=["c"])


def test_arrays_and_numbers_that_stay_numbers() -> None:
    A = RNG.normal(size=(200, 3))
    for rows in (vd.Rows(A), vd.Rows(A, discretize=vd.bins.Continuous()), vd.Rows(A.astype(np.float32))):
        x = np.array([-1.0, 0.0, 0.0], dtype=rows.background.schema.dtypes[0])
        found = vd.flips(lambda X: probabilities(5 * (X[:, 0] - 0.5)), rows, x)
        assert found.answer == vd.records.Output(0)
        assert 0.5 <= found[0].changes["x0"] <= 0.55


def test_old_values_are_short_and_new_ones_in_full() -> None:
    A = RNG.normal(size=(200, 2))
    found = vd.flips(lambda X: probabilities(5 * (X[:, 0] - 1.1)), vd.Rows(A), np.array([0.123456789, 0.0]))
    assert "0.123457  " in str(found)
    single = vd.flips(lambda X: probabilities(X[:, 0] - 1.1), vd.Rows(A.astype(np.float32)), np.zeros(2, "f4"))
    assert re.search(r" 1\.1\d?  ", str(single))


def test_a_background_of_statistics_is_enough() -> None:
    rows = vd.Rows.from_statistics(
        {"a": vd.bins.NumberStatistics(0.0, 1.0), "b": vd.bins.CategoryStatistics(("x", "y"), (0.5, 0.5))}
    )
    found = vd.flips(lambda t: probabilities(5 * (t["a"] - 1)), rows, {"a": 0.0, "b": "x"}, classes=NAMES)
    assert [list(flip.changes) for flip in found] == [["a"]]
    assert 1.0 <= found[0].changes["a"] <= 1.1


def test_exact_integers_stay_exact() -> None:
    table = pd.DataFrame({"id": 2**60 + RNG.integers(0, 2**59, 100), "a": RNG.normal(size=100)})
    model = by(id=lambda c: np.where(c > 2**60 + 2**58, 1.0, -1.0))
    found = vd.flips(model, vd.Rows(table), {"id": 2**60 + 5, "a": 0.0}, classes=NAMES)
    assert changes(found) == [{"id": int(table["id"][table["id"] > 2**60 + 2**58].min())}]


# ---- what must stay


def test_immutable_columns_stay() -> None:
    model = by(age=lambda c: (c > 60) * 3.0, income=lambda c: (c.fillna(0) > 33) * 3.0 - 1)
    assert changes(vd.flips(model, ROWS, X, classes=NAMES, immutable=["income"])) == [{"age": 61}]
    held = vd.Rows(TABLE, immutable=["income"])
    assert changes(vd.flips(model, held, X, classes=NAMES)) == [{"age": 61}]
    none = vd.flips(model, held, X, classes=NAMES, immutable=("age", "always"))
    assert not none
    assert none.verdict.label == "none"


@pytest.mark.parametrize(
    ("immutable", "match"),
    [
        (["agge"], "did you mean 'age'"),
        ("age", "list of columns"),
        (list(TABLE), "all 6 features are immutable"),
        ([9], "names the column 9"),
    ],
)
def test_wrong_immutable_columns_are_refused(immutable: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        vd.flips(by(age=lambda c: c - 60.0), ROWS, X, classes=NAMES, immutable=immutable)


def test_words_can_be_immutable_too() -> None:
    model = lambda texts: probabilities([2.0 * ("bad" not in t) - 1 for t in texts])  # noqa: E731
    assert changes(vd.flips(model, vd.Words(), "a bad day", classes=NAMES)) == [{"bad": None}]
    none = vd.flips(model, vd.Words(), "a bad day", classes=NAMES, immutable=["bad"])
    assert not none
    assert none.verdict.sentence.startswith("No change by leaving out up to 2 words flips")
    with pytest.raises(InputError, match="did you mean 'bad'"):
        vd.flips(model, vd.Words(), "a bad day", classes=NAMES, immutable=["bat"])
    with pytest.raises(InputError, match="list of names"):
        vd.flips(model, vd.Words(), "a bad day", classes=NAMES, immutable="bad")


# ---- answers that are wanted


def three(table: Any) -> Any:
    """Low, middle and high ages."""
    age = np.asarray(table["age"], float)
    scores = np.stack([40 - age, 15 - np.abs(age - 50), age - 60], axis=1)
    return np.exp(scores / 5) / np.exp(scores / 5).sum(axis=1, keepdims=True)


def test_a_named_class_is_found_beyond_a_nearer_one() -> None:
    classes = ["low", "middle", "high"]
    x = {**X, "age": 30}
    assert vd.flips(three, ROWS, x, classes=classes)[0].answer == "middle"
    found = vd.flips(three, ROWS, x, classes=classes, to="high")
    assert {flip.answer for flip in found} == {"high"}
    assert found.wanted == "high"
    assert found[0].changes["age"] >= 63
    assert vd.flips(three, ROWS, x, to=vd.records.Output(2))[0].answer == vd.records.Output(2)
    with pytest.raises(InputError, match="says 'low' already"):
        vd.flips(three, ROWS, x, classes=classes, to="low")
    with pytest.raises(InputError, match="no class is 'hihg'"):
        vd.flips(three, ROWS, x, classes=classes, to="hihg")


def test_a_number_crosses_a_value_from_either_side() -> None:
    price = lambda table: 3.0 * np.asarray(table["age"], float)  # noqa: E731
    up, down = (vd.flips(price, ROWS, X, to=level) for level in (150, 90))
    assert (changes(up), up.wanted) == ([{"age": 50}], "at least 150")
    assert (changes(down), down.wanted) == ([{"age": 30}], "at most 90")
    assert (up[0].before, up[0].after) == (120.0, 150.0)
    share = vd.flips(by(age=lambda c: (c - 60) / 10.0), ROWS, X, classes=NAMES, target="yes", to=0.3)
    assert share.answer == "yes"
    assert share[0].after >= 0.3 > share[0].before


@pytest.mark.parametrize("to", [None, "up", True, float("nan"), float("inf"), 120.0])
def test_a_number_wants_a_value_to_cross(to: Any) -> None:
    with pytest.raises(InputError, match="to"):
        vd.flips(lambda table: 3.0 * np.asarray(table["age"], float), ROWS, X, to=to)


class Cautious:
    """An estimator that predicts the second class from a probability of 30 % on."""

    classes_ = np.array(["out", "in"])

    def predict_proba(self, A: Any) -> Any:
        return probabilities(2 * np.asarray(A)[:, 0] + np.asarray(A)[:, 1] ** 2 - 0.5)

    def predict(self, A: Any) -> Any:
        return self.classes_[(self.predict_proba(A)[:, 1] >= 0.3).astype(int)]


def test_estimators_decide_by_themselves() -> None:
    """The class that an estimator predicts may not be that of its largest probability."""
    A = RNG.normal(size=(80, 3))
    y = np.where(A[:, 0] + A[:, 1] ** 2 > 0.5, "in", "out")
    for model in (Cautious(), SVC().fit(A, y), RandomForestClassifier(9, random_state=0).fit(A, y)):
        found = vd.flips(model, vd.Rows(A), A[0])
        assert found.answer == model.predict(A[:1])[0]
        assert len(found)
        for flip in found:
            x = A[:1].copy()
            for name, value in flip.changes.items():
                x[0, int(name[1:])] = value
            assert model.predict(x)[0] == flip.answer != found.answer
    shares = [flip.after for flip in vd.flips(Cautious(), vd.Rows(A), np.array([-1.0, 0.0, 0.0]))]
    assert shares
    assert min(shares) < 0.35


def test_hard_labels_flip() -> None:
    A = RNG.normal(size=(80, 2))
    model = LogisticRegression().fit(A, np.where(A[:, 0] > 0.3, 2, 7))
    x = np.array([0.0, 0.0])
    for given in (model.predict, type("Hard", (), {"predict": model.predict, "classes_": model.classes_})()):
        found = vd.flips(given, vd.Rows(A), x)
        assert (found.answer, [flip.answer for flip in found]) == (7, [2])


# ---- words and regions


def test_more_than_two_words_are_left_out_where_it_takes_them() -> None:
    """Of six good words four must go."""
    good = ("warm", "kind", "fine", "rich", "calm", "neat")
    weights = dict(zip(good, (1.0, 1.1, 1.2, 1.3, 1.4, 1.5), strict=True))
    model = lambda texts: probabilities([sum(weights.get(w, 0) for w in t.split()) - 3 for t in texts])  # noqa: E731
    text = " ".join(["a", *good, "day"])
    found = vd.flips(model, vd.Words(), text, classes=NAMES)
    assert len(found) == 1
    left = [word for word in text.split() if word not in found[0].changes]
    assert model([" ".join(left)])[0].argmax() == 0
    for word in found[0].changes:
        assert model([" ".join([*left, word])])[0].argmax() == 1
    assert found.kind == "parts"


def test_a_word_that_need_not_go_is_put_back() -> None:
    """Alone, "nice" tells most; but all that says "good" must go, and then "nice" may stay."""
    good = ("good", "great", "fine")
    model = lambda texts: probabilities([4.0 * any(g in t for g in good) + 0.5 * ("nice" in t) - 1 for t in texts])  # noqa: E731
    assert changes(vd.flips(model, vd.Words(), "nice good great fine", classes=NAMES)) == [dict.fromkeys(good)]


def test_the_only_word_of_a_text() -> None:
    model = lambda texts: probabilities([2.0 * ("yes" in t) - 1 for t in texts])  # noqa: E731
    assert changes(vd.flips(model, vd.Words(), "yes", classes=NAMES)) == [{"yes": None}]


def test_what_to_try_is_what_may_help() -> None:
    """More calls where they ran out, fewer immutable columns where there are some."""
    same = lambda inputs: np.tile([0.2, 0.8], (len(inputs), 1))  # noqa: E731
    word = vd.flips(same, vd.Words(), "yes").verdict
    assert "by leaving out its only word flips" in word.sentence
    assert word.advice == "Try a row nearer to the decision."
    many = vd.flips(same, ROWS, X, max_calls=20, immutable=["age"]).verdict.advice
    assert many == "Try a row nearer to the decision, fewer immutable columns or `max_calls=80`."


def test_of_very_many_words_those_that_tell_are_found() -> None:
    words = [f"w{i}" for i in range(2000)]
    model = lambda texts: probabilities([2.0 * (" w1234 " in t) - 1 for t in texts])  # noqa: E731
    found = vd.flips(model, vd.Words(), " ".join(words), classes=NAMES)
    assert changes(found) == [{"w1234": None}]
    assert found.n_calls <= 300


def test_regions_of_a_picture_are_left_out() -> None:
    picture = np.zeros((8, 8))
    picture[2:4, 2:4] = 1.0
    model = lambda X: probabilities(np.asarray(X)[:, 2:4, 2:4].sum(axis=(1, 2)) - 2)  # noqa: E731
    found = vd.flips(model, vd.Grid(4, 4, fill=vd.fills.Constant(0.0)), picture, classes=NAMES)
    assert len(found) == 1
    assert found.verdict.sentence.startswith("Leaving out ")


def test_what_is_drawn_by_chance_is_refused() -> None:
    fields = vd.Fields({"review": vd.Words(), "row": vd.Rows(TABLE[["age"]])})
    with pytest.raises(InputError, match=r"ask about its table with vd\.Rows"):
        vd.flips(lambda records: np.ones((len(records), 2)), fields, {"review": "a b", "row": {"age": 30}})


# ---- models and rows that are difficult


def test_a_model_with_one_answer_everywhere() -> None:
    found = vd.flips(lambda table: np.tile([0.2, 0.8], (len(table), 1)), ROWS, X, classes=NAMES)
    assert len(found) == 0
    assert found.verdict.sentence == f'No change of one or two columns flips "yes" ({found.n_calls - 1} tries).'
    assert "– not found. No change of one or two columns" in str(found)
    assert found.n_calls <= 300


def test_a_missing_value_of_the_row_is_filled_in() -> None:
    model = by(income=lambda c: np.where(c.isna(), -1.0, 1.0))
    found = vd.flips(model, ROWS, {**X, "income": np.nan}, classes=NAMES)
    (value,) = found[0].changes.values()
    assert abs((TABLE["income"] < value).mean() - 0.5) < 0.2  # a usual one
    assert "missing" in str(found)
    with pytest.raises(InputError, match="age"):
        vd.flips(model, ROWS, {**X, "age": None}, classes=NAMES)


def test_a_category_that_was_never_seen_changes_to_one_that_was() -> None:
    model = by(home=lambda c: np.where(c.astype(str) == "boat", 1.0, -1.0))
    found = vd.flips(model, ROWS, {**X, "home": "boat"}, classes=NAMES)
    assert {flip.changes["home"] for flip in found} <= {"own", "rent", "parents"}
    assert found[0].values == {"home": "boat"}
    assert any("never seen" in note for note in found.notes)


def test_changes_that_the_model_fails_on_are_skipped_and_told() -> None:
    def picky(table: Any) -> Any:
        if (table["age"] > 70).any():
            raise ZeroDivisionError("too old")
        return probabilities((table["age"] - 50.5) / 3)

    found = vd.flips(picky, ROWS, X, classes=NAMES)
    assert changes(found) == [{"age": 51}]
    assert any("failed on" in note and "too old" in note for note in found.notes)
    with pytest.raises(ModelError, match="too old"):
        vd.flips(picky, ROWS, {**X, "age": 80}, classes=NAMES)


def test_a_model_that_is_nowhere_defined_but_here() -> None:
    def only_here(table: Any) -> Any:
        return np.where((table["age"] == 40).to_numpy()[:, None], [[0.3, 0.7]], np.nan)

    found = vd.flips(only_here, ROWS, X, classes=NAMES, immutable=["home", "married", "since", "waited", "income"])
    assert not found
    assert "NaN" in found.notes[-1]


def test_a_model_that_changes_its_mind_is_not_believed() -> None:
    """What flipped when it was tried, and not when it was asked again, is left out."""
    spy = Spy(by(age=lambda c: (c > 60) * 2.0 - 1))
    assert len(vd.flips(spy, ROWS, X, classes=NAMES)) == 1
    left = [len(spy.batches) - 1]  # the last one verifies

    def fickle(table: Any) -> Any:
        left[0] -= 1
        return probabilities(((table["age"] > 60) & (left[0] >= 0)) * 2.0 - 1)

    found = vd.flips(fickle, ROWS, X, classes=NAMES)
    assert not found
    assert "gave 1 change another answer when it was asked again" in found.notes[-1]


@pytest.mark.parametrize("max_calls", [10, 40, 120])
def test_the_model_is_never_asked_more_often_than_allowed(max_calls: int) -> None:
    spy = Spy(by(age=lambda c: (c > 86) * 1.0, income=lambda c: (c.fillna(0) > 60) * 1.0 - 1.5))
    found = vd.flips(spy, ROWS, X, classes=NAMES, max_calls=max_calls)
    assert found.n_calls == spy.n_rows <= max_calls


@pytest.mark.parametrize("setting", [{"n": 0}, {"max_calls": 3}, {"n_samples": 9}, {"target": ["no", "yes"]}])
def test_wrong_settings_are_refused(setting: Any) -> None:
    with pytest.raises(InputError):
        vd.flips(by(age=lambda c: c - 60.0), ROWS, X, classes=NAMES, **setting)


def test_the_same_call_gives_the_same_bits() -> None:
    model = by(age=lambda c: (c - 60) / 9, income=lambda c: (c.fillna(0) - 41) / 20)
    first, second = (vd.flips(model, ROWS, X, classes=NAMES) for _ in range(2))
    assert [(dict(a.changes), a.after) for a in first] == [(dict(b.changes), b.after) for b in second]


# ---- the record


def test_the_record_is_a_sequence_a_table_and_a_file(tmp_path: Any) -> None:
    model = by(age=lambda c: (c > 60) * 3.0, home=lambda c: (c == "own") * 3.0 - 1)
    found = vd.flips(model, ROWS, pd.Series(X, name="Ada"), classes=NAMES)
    assert (len(found), list(found)[1], found[:1]) == (2, found[1], (found[0],))
    assert isinstance(found[0], Flip)
    frame = found.to_frame()
    assert frame.columns.tolist() == ["change", "column", "from", "to", "answer", "before", "after", "size"]
    assert sorted(zip(frame["column"], frame["from"], frame["to"], strict=True)) == [
        ("age", 40, 61),
        ("home", "rent", "own"),
    ]
    assert "Ada: the model says no" in repr(found)
    for suffix in ("html", "csv", "svg", "json"):
        found.save(tmp_path / f"found.{suffix}")
    again = vd.load(tmp_path / "found.json")
    assert str(again) == str(found)
    page = (tmp_path / "found.html").read_text(encoding="utf-8")
    assert "40" in page
    assert "61" in page
    with pytest.raises(AttributeError):
        found.items = ()  # type: ignore[misc]


def test_terminals_pages_and_figures_say_from_and_to() -> None:
    model = by(age=lambda c: (c > 60) * 1.0, income=lambda c: (c.fillna(0) > 50) * 1.0 - 1.5)
    found = vd.flips(model, ROWS, X, classes=NAMES)
    text, page = str(found), found._repr_html_()
    for said in ("age", "and income", "40", "61", "yes, ", "✓ found. "):
        assert said in text
    for said in ("and income", "The model then says"):
        assert said in page
    drawn = " ".join(each.get_text() for each in found.plot().figure.findobj(lambda o: hasattr(o, "get_text")))
    assert "61" in drawn


def test_numbers_that_read_well_lie_between_both_ends() -> None:
    assert readable(41.3721, 43.9)[:3] == [42.0, 41.4, 41.38]
    assert readable(-0.0123, -0.05) == [-0.02, -0.013, -0.0123]
    assert readable(686.51, 640.0) == [680.0, 686.0, 686.5, 686.51]
    assert readable(5.0, 5.0) == []
    for near, far in RNG.normal(size=(50, 2)) * 100:
        assert all(min(near, far) <= v <= max(near, far) for v in readable(near, far))


def test_a_file_whose_changes_do_not_fit_is_refused(tmp_path: Any) -> None:
    flip = Flip({"a": 1}, {"b": 2}, "yes", 0.1, 0.9, 0.5)
    found = replace(vd.flips(by(age=lambda c: c - 60.5), ROWS, X, classes=NAMES), items=(flip,))
    with (tmp_path / "odd.json").open("wb") as stream:
        write_json(found, stream)
    with pytest.raises(InputError):
        vd.load(tmp_path / "odd.json")
