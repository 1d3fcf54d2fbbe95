"""Values and texts that are easily taken for one another, or for none: they are told apart, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from veridical.cli.loading import ReadOptions
from veridical.cli.tables import read_table

X = np.random.default_rng(0).normal(size=(60, 2))


def table(values):
    return pd.DataFrame({"a": pd.Series(values, dtype=object), "b": X[:, 0]})


def test_numbers_and_texts_that_read_alike_are_named_apart():
    frame = table([1, "1"] * 30)
    names = [vd.Rows(frame)(frame.iloc[i]).names[0] for i in (0, 1)]
    assert names == ["a = 1", "a = '1'"]
    numbers = table([1, "x"] * 30)
    assert vd.Rows(numbers)({"a": "1", "b": 0.0}).names[0] == "a = '1'"


@pytest.mark.parametrize("values", [[1, True], [False, 0.0, "x"]])
def test_truths_beside_equal_numbers_are_refused(values):
    with pytest.raises(vd.errors.InputError, match="equal and cannot be told apart: make them one type"):
        vd.Rows(table(values * (60 // len(values))))
    vd.Rows(table([True, "x", 2] * 20))


def test_a_row_name_that_is_no_valid_unicode_has_a_frame():
    frame = pd.DataFrame(X[:2], columns=list("ab"), index=pd.Index(["\ud800", "b"], dtype=object))
    many = vd.explain_many(
        lambda t: t["a"].to_numpy(),
        vd.Rows(pd.DataFrame(X, columns=list("ab"))),
        frame,
        method=vd.Lime(n_samples=64),
    )
    assert many.to_frame()["row"].tolist() == ["\ud800", "\ud800", "b", "b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b,c\n1,2,3\n4,5\n6,7,8\n", "line 3 has 2 fields, the header 3"),
        ("a,b,c\n1,2,3\n4,5,6,7\n", "line 3 has 4 fields, the header 3"),
        ('a,b,c\n1,2,3\n4,"5,6\n7,8,9\n', r"a quote \(\"\) is opened and never closed"),
    ],
)
def test_lines_of_a_csv_that_do_not_fit_are_told(tmp_path: Path, text: str, says: str):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(vd.errors.InputError, match=says):
        read_table(tmp_path / "t.csv", ReadOptions())


def test_values_that_are_missing_in_a_csv_are_no_short_lines(tmp_path: Path):
    (tmp_path / "t.csv").write_text('a,b\n1,\n\n2,"x\ny"\n')
    assert read_table(tmp_path / "t.csv", ReadOptions()).items["b"].isna().tolist() == [True, False]
