"""Taking columns and words out of data: types and places stay, constants are usual values, controls are as large."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import veridical as vd
from veridical.checks.removal import draw_controls, hold_out, list_names, removable_names, without
from veridical.errors import InputError, NotApplicable

SEED = np.random.SeedSequence(0)
FRAME = pd.DataFrame(
    {
        "age": [20, 30, 70, 31],
        "height": [1.5, np.nan, 1.9, 1.7],
        "city": pd.Categorical(["Bern", "Oslo", "Oslo", "Rome"], ["Rome", "Oslo", "Bern"]),
        "vip": [True, False, False, False],
        "since": pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01", "2023-01-01"]),
    }
)


def test_columns_become_usual_values_of_the_same_type() -> None:
    rows = vd.Rows(FRAME)
    made = without(rows, FRAME, list(FRAME))(FRAME.iloc[:2])
    assert made.dtypes.equals(FRAME.dtypes)
    assert made.iloc[0].tolist() == [30, 1.7, "Oslo", False, pd.Timestamp("2021-01-01")]
    assert (made.nunique() == 1).all()
    assert FRAME["age"].tolist() == [20, 30, 70, 31]  # what was given is as it was


def test_arrays_and_sparse_matrices_keep_their_kind() -> None:
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    made = without(vd.Rows(X, names=["a", "b", "c"]), X, ["b"])(X)
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made, X - [[0, 1, 0]] * X + [[0, 4, 0]] * np.ones(4)[:, None])
    S = csr_matrix(X)
    made = without(vd.Rows(S, names=["a", "b", "c"]), S, ["b"])(S)
    np.testing.assert_array_equal(made.toarray(), X * [1, 0, 1])


def test_a_group_of_columns_goes_together() -> None:
    X = pd.DataFrame({"x": [1.0, 2, 3, 4], "is_a": [1, 0, 0, 0], "is_b": [0, 1, 1, 1]})
    rows = vd.Rows(X, onehot={"kind": ["is_a", "is_b"]})
    assert list_names(rows, X) == ("x", "kind")
    assert without(rows, X, ["kind"])(X)[["is_a", "is_b"]].to_numpy().tolist() == [[0, 1]] * 4


def test_words_leave_texts_by_the_words_that_explanations_show() -> None:
    texts = ["Don't leak. leaks leak-age", "LEAK, leak!"]
    assert without(vd.Words(), texts, ["leak", "Don't"])(texts) == [" . leaks -age", "LEAK, !"]
    letters = vd.Words(split="")
    assert without(letters, texts, ["e"])(["see"]) == ["s"]
    assert list_names(vd.Words(), ["b a", "a c"]) == ("b", "a", "c")


def test_fields_lose_words_of_texts_and_columns_of_tables() -> None:
    X = pd.DataFrame({"text": ["good leak", "bad"], "age": [1, 3], "size": [1.0, 2.0]})
    fields = vd.Fields({"text": vd.Words(), "rest": vd.Rows(X[["age", "size"]])})
    names = removable_names(fields(X.iloc[[0]]))
    assert names == ("text: good", "text: leak", "age", "size")
    assert list_names(fields, X) == ("text: good", "text: leak", "text: bad", "age", "size")
    made = without(fields, X, ["text: leak", "age"])(X)
    assert made["text"].tolist() == ["good ", "bad"]
    assert made["age"].tolist() == [1, 1]
    assert made["size"].tolist() == [1.0, 2.0]
    records = [{"text": "a leak", "rest": {"age": 9, "size": 2.0}}]
    assert without(fields, X, ["text: leak", "age"])(records) == [{"text": "a ", "rest": {"age": 1, "size": 2.0}}]


def test_parts_are_called_as_they_are_removed() -> None:
    assert removable_names(vd.Rows(FRAME)(FRAME.iloc[0])) == tuple(FRAME.columns)
    assert removable_names(vd.Words(positions=True)("a b a")) == ("a", "b", "a")
    assert removable_names(vd.Grid(2, 2)(np.zeros((4, 4)))) == ("",) * 4


@pytest.mark.parametrize(
    ("representer", "removed", "said"),
    [
        (vd.Rows(FRAME), ["agee"], "no column 'agee'; there are age"),
        (vd.Rows(FRAME), [3], "removed names columns or words"),
        (vd.Rows(FRAME), "age", "must be a list"),
        (vd.Fields({"age": vd.Rows(FRAME[["age"]])}), ["city"], "no field has a column 'city'"),
    ],
)
def test_wrong_names_are_refused(representer, removed, said) -> None:
    with pytest.raises(InputError, match=said):
        without(representer, FRAME, removed)


def test_of_pictures_nothing_can_be_taken_by_its_name() -> None:
    with pytest.raises(NotApplicable, match="out of what Grid represents"):
        without(vd.Grid(2, 2), [np.zeros((4, 4))], ["region 1"])


def test_controls_are_as_large_as_what_was_removed_and_none_of_it() -> None:
    shown, every = list("abcdef"), list("abcdefghij")
    for removed in (["a"], ["a", "b"], list("abcd")):
        draws = draw_controls(shown, removed, every, 10, SEED)
        assert len(draws) == 10
        for draw in draws:
            assert len(set(draw)) == len(removed)
            assert not set(draw) & set(removed)
        pool = [name for name in shown if name not in removed]
        inside = [set(draw) <= set(pool) or set(pool) <= set(draw) for draw in draws]
        assert all(inside)  # of those shown first, and of others only what is missing
    assert len(set(draw_controls(shown, ["a"], every, 5, SEED))) == 5  # none twice before all were drawn
    assert draw_controls(shown, list("abcdef"), every, 3, SEED) == ()
    many = draw_controls([f"w{i}" for i in range(200)], list("abcdefgh"), (), 4, SEED)
    assert len(set(many)) == 4


def test_half_of_the_rows_stay_sealed() -> None:
    watched, sealed = hold_out(101, SEED)
    assert len(watched) == 51
    assert sorted([*watched, *sealed]) == list(range(101))
