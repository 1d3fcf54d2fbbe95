"""One bad row never stops explain_many: the others are explained, and it is told at the end."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from veridical.errors import RowsFailedWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
FRAME = pd.DataFrame(X, columns=list("abc"), index=[f"id{i}" for i in range(60)])
METHOD = vd.Lime(n_samples=32)
METHODS = [METHOD, vd.Occlusion(), vd.Lime(n_samples=32, kernel=lambda d: np.exp(-d))]


def predict(X: Any) -> Any:
    values = np.asarray(X, dtype=float)
    if (values[:, 0] > 50).any():
        raise ValueError("too large")
    return values @ [1.0, 2.0, 0.0]


def broken(row: int, value: float) -> pd.DataFrame:
    found = FRAME.copy()
    found.iloc[row, 0] = value
    return found


@pytest.mark.parametrize("method", METHODS, ids=["shared", "removal", "own kernel"])
@pytest.mark.parametrize("settings", [{}, {"n_jobs": 2}, {"batch_size": 7}], ids=str)
@pytest.mark.parametrize("value", [100.0, np.nan], ids=["model", "row"])
def test_the_others_are_explained(method: Any, settings: dict[str, Any], value: float) -> None:
    rows = vd.Rows(FRAME)
    with pytest.warns(RowsFailedWarning, match=r"1 of 60 rows .* row id7: .*(too large|missing).*failed"):
        found = vd.explain_many(predict, rows, broken(7, value), method=method, **settings)
    right = vd.explain_many(predict, rows, FRAME, method=method)
    assert [e.row for e in found] == [name for name in FRAME.index if name != "id7"]
    assert found.failed[["row", "number"]].values.tolist() == [["id7", 7]]
    for e in found:
        np.testing.assert_array_equal(e.weights, right[int(e.row[2:])].weights)


def test_the_first_row_may_be_bad() -> None:
    with pytest.warns(RowsFailedWarning, match="row id0"):
        found = vd.explain_many(predict, vd.Rows(FRAME), broken(0, 100.0), method=METHOD)
    assert found[0].row == "id1"


def test_without_names_rows_have_numbers() -> None:
    with pytest.warns(RowsFailedWarning):
        found = vd.explain_many(predict, vd.Rows(X), broken(7, 100.0).to_numpy(), method=METHOD)
    assert [e.row for e in found] == [i for i in range(60) if i != 7]
    assert found.failed["row"].tolist() == [7]


def test_texts() -> None:
    def count(texts: Any) -> Any:
        return [len(text) for text in texts]

    with pytest.warns(RowsFailedWarning, match="2 of 4"):
        found = vd.explain_many(count, vd.Words(), ["good film", None, "bad film", " "])
    assert [e.row for e in found] == [0, 2]
    assert found.failed["row"].tolist() == [1, 3]


def test_where_all_fail_the_first_error_is_raised_and_few_are_tried() -> None:
    calls: list[int] = []

    def never(X: Any) -> Any:
        calls.append(len(X))
        raise ValueError("down")

    with pytest.raises(vd.ModelError, match="down"):
        vd.explain_many(never, vd.Rows(FRAME), FRAME, method=METHOD)
    with pytest.raises(vd.ModelError, match="down"):
        vd.explain_many(never, vd.Rows(FRAME), FRAME, method=vd.Occlusion())
    assert len(calls) < 40


@pytest.mark.parametrize("method", METHODS[:2], ids=["shared", "removal"])
def test_what_is_wrong_as_a_whole_is_raised_at_once(method: Any) -> None:
    rows, asked = vd.Rows(FRAME), list[int]()

    def counted(X: Any) -> Any:
        asked.append(len(X))
        return predict(X)

    with pytest.raises(vd.InputError, match="target"):
        vd.explain_many(counted, rows, FRAME, method=method, target="cow")
    assert len(asked) < 40
    asked.clear()
    for wrong in (FRAME.rename(columns={"a": "z"}), FRAME[:0], X[:, :2], X[0], "abc", None, {"a": [1, 2]}):
        with pytest.raises(vd.InputError):
            vd.explain_many(counted, rows, wrong, method=method)
    assert not asked


def test_files_keep_what_failed(tmp_path: Path) -> None:
    with pytest.warns(RowsFailedWarning):
        found = vd.explain_many(predict, vd.Rows(FRAME), broken(7, np.nan), method=METHOD)
    for name in ("f.json", "f.parquet"):
        found.save(tmp_path / name)
        loaded = vd.load(tmp_path / name)
        assert isinstance(loaded, vd.Explanations)
        pd.testing.assert_frame_equal(loaded.failed, found.failed)
    text = (tmp_path / "f.json").read_text()
    (tmp_path / "f.json").write_text(text.replace('"failed": [["id7"', '"failed": [["id8"'))
    with pytest.raises(vd.InputError, match="checksum"):
        vd.load(tmp_path / "f.json")


def test_nothing_is_said_where_nothing_failed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = vd.explain_many(predict, vd.Rows(FRAME), FRAME[:5], method=METHOD)
    assert found.failed.empty
    assert list(found.failed) == ["row", "number", "error"]
