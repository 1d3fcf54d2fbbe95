"""Rows keep their names and their own values, through every function, medium and file."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders import explanations as made
from veridical.display.saving import save
from veridical.display.words import value_words
from veridical.errors import InputError, MixedTargetsWarning

ROWS: list[tuple[Any, tuple[Any, ...]]] = [
    ("customer 17", (0.1, -0.0, math.inf)),
    (17, (1, True, None)),
    (("north", 3), ("a", "ü\n", "")),
    (pd.Timestamp("2024-02-03", tz="Europe/Berlin"), (date(2024, 2, 3), pd.Timedelta("2h"), 2**70)),
    (None, ()),
]


def rows() -> list[vd.Explanation]:
    first = made.mushroom()
    few = replace(
        first, parts=first.parts[:3], weights=first.weights[:3], intervals=first.intervals[:3], unsettled=()
    )
    return [replace(few, row=row, values=values) for row, values in ROWS]


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_files_keep_names_and_values(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"e.{suffix}"
    save(vd.Explanations(tuple(rows())), path)
    loaded = vd.load(path)
    assert isinstance(loaded, vd.Explanations)
    found = [(e.row, e.values) for e in loaded]
    assert repr(found) == repr(ROWS)


def test_a_value_too_many_is_refused(tmp_path: Path) -> None:
    save(rows()[0], tmp_path / "e.json")
    text = (tmp_path / "e.json").read_text().replace('"own": [0.1, ', '"own": [0.1, 3, ')
    text = text.partition(', "checksum"')[0] + "}"
    (tmp_path / "e.json").write_text(text)
    with pytest.raises(InputError, match="damaged"):
        vd.load(tmp_path / "e.json")


RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.normal(40, 9, 80),
        "visits": RNG.integers(0, 9, 80),
        "city": pd.Categorical(RNG.choice(["Oslo", "Rome"], 80)),
        "since": pd.date_range("2024", periods=80),
        "member": RNG.random(80) > 0.5,
        "hot": 1,
        "cold": 0,
    },
    index=[f"id{i}" for i in range(80)],
)
TABLE.loc["id5":"id9", ["hot", "cold"]] = [0, 1]  # type: ignore[misc]
TABLE.loc["id3", "age"] = np.nan
ONEHOT = vd.Rows(TABLE, onehot={"weather": ["hot", "cold"]})
METHOD = vd.Lime(n_samples=64)
OWN = {7: (TABLE["age"].iloc[7], int(TABLE["visits"].iloc[7]), TABLE["city"].iloc[7], TABLE["since"].iloc[7])}


def predict(D: Any) -> Any:
    return D["visits"].to_numpy() + 0.1 * D["age"].fillna(0).to_numpy()


def test_one_row() -> None:
    why = vd.explain(predict, ONEHOT, TABLE.iloc[7], method=METHOD)
    assert why.row == "id7"
    assert why.values == (*OWN[7], bool(TABLE["member"].iloc[7]), "cold")
    assert [type(value) for value in why.values[:3]] == [float, int, str]
    assert vd.explain(predict, ONEHOT, TABLE.iloc[[7]], method=METHOD).row == "id7"
    alone = vd.explain(predict, ONEHOT, TABLE.reset_index(drop=True)[:1], method=METHOD)
    assert alone.row is None
    assert math.isnan(vd.explain(predict, ONEHOT, TABLE.iloc[3], method=METHOD).values[0])


def told(found: Any) -> Any:
    return [(e.row, repr(e.values)) for e in found]


def test_memory_engines_and_stores_say_the_same(tmp_path: Path) -> None:
    many = vd.explain_many(predict, ONEHOT, TABLE, method=METHOD)
    assert [e.row for e in many] == list(TABLE.index)
    shuffled = TABLE[list(TABLE.columns[::-1])]
    here = vd.explain_many(predict, ONEHOT, shuffled, method=METHOD, engine=vd.engines.Threads(1))
    store = vd.explain_many(predict, ONEHOT, shuffled, method=METHOD, store=tmp_path / "s")
    assert told(many) == told(here) == told(store) == told(store[:])
    assert told([store[7]]) == told([many[7]])
    frame = store.to_frame()
    pd.testing.assert_frame_equal(frame, many.to_frame())
    assert (frame["row"][0], frame["number"].iloc[-1]) == ("id0", 79)
    assert frame["value"][1] == many[0].values[1]
    store.check()
    records = {name: dict(row) for name, row in TABLE.iterrows()}
    assert told(vd.explain_many(predict, ONEHOT, records, method=METHOD)) == told(many)
    listed = [TABLE.iloc[i] for i in (4, 7)]
    assert [e.row for e in vd.explain_many(predict, ONEHOT, listed, method=METHOD)] == ["id4", "id7"]


def test_values_that_no_column_of_a_store_has(tmp_path: Path) -> None:
    records = [dict(row) for _, row in TABLE[:5].iterrows()]
    store = vd.explain_many(predict, ONEHOT, records, method=METHOD, store=tmp_path / "s")
    assert told(store) == told(vd.explain_many(predict, ONEHOT, records, method=METHOD))


def test_the_first_column_that_is_kept_names_rows(tmp_path: Path) -> None:
    table = TABLE.rename_axis("customer").reset_index()
    store = vd.explain_many(predict, ONEHOT, table, method=METHOD, keep=["customer"], store=tmp_path / "s")
    assert [e.row for e in store] == list(TABLE.index)
    here = vd.explain_many(predict, ONEHOT, table, method=METHOD, keep=["customer"])
    assert [e.row for e in here] == list(TABLE.index)


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(100, 180),
        RNG.permutation(80),
        pd.date_range("2024", periods=80, tz="UTC"),
        pd.MultiIndex.from_product([["a", "b"], range(40)]),
        pd.period_range("2024", periods=80),
    ],
    ids=lambda index: type(index).__name__,
)
def test_labels_of_any_kind(index: Any, tmp_path: Path) -> None:
    table = TABLE.set_axis(index)
    many = vd.explain_many(predict, ONEHOT, table, method=METHOD)
    assert [e.row for e in many] == table.index.tolist()
    store = vd.explain_many(predict, ONEHOT, table, method=METHOD, store=tmp_path / "s")
    assert told(store) == told(many)
    pd.testing.assert_frame_equal(store.to_frame(), many.to_frame())


def test_rows_without_names_have_numbers() -> None:
    assert [e.row for e in vd.explain_many(predict, ONEHOT, TABLE.reset_index(drop=True), method=METHOD)] == [
        *range(80)
    ]


def test_texts_pictures_and_records_by_key() -> None:
    texts = pd.Series(["good film", "bad film"], index=["a.txt", "b.txt"])
    found = vd.explain_many(lambda texts: [len(t) for t in texts], vd.Words(), texts)
    assert [(e.row, e.values) for e in found] == [("a.txt", ()), ("b.txt", ())]
    named = vd.explain_many(lambda texts: [len(t) for t in texts], vd.Words(), dict(texts))
    assert [e.row for e in named] == ["a.txt", "b.txt"]
    fields = vd.Fields({"review": vd.Words(), "who": vd.Rows(TABLE[["age", "visits"]].dropna())})
    record = {"review": "very good", "who": {"age": 30.0, "visits": 2}}
    (why,) = vd.explain_many(
        lambda records: [r["who"]["visits"] for r in records], fields, {"x": record}, method=METHOD
    )
    assert (why.row, why.values) == ("x", (None, None, 30.0, 2))


@pytest.mark.parametrize(
    ("value", "words"),
    [(71_000.0, "71000"), (-71_234.6, "-71235"), (9999.6, "10000"), (1234.5, "1234"), (999.96, "1000"),
     (0.25, "0.25"), (1e7, "10000000"), (-math.inf, "-inf"), (math.nan, "missing")],
)  # fmt: skip
def test_values_are_written_as_people_write_them(value: float, words: str) -> None:
    assert value_words(value) == words


def test_numbers_count_the_rows_that_failed(tmp_path: Path) -> None:
    X = RNG.normal(size=(60, 2))
    given = X[:5].copy()
    given[[1, 3], 0] = np.inf
    with pytest.warns(vd.errors.RowsFailedWarning):
        many = vd.explain_many(lambda X: X[:, 0], vd.Rows(X), given, method=vd.Lime(n_samples=32))
    assert many.numbers == (0, 2, 4)
    assert many.failed["number"].tolist() == [1, 3]
    found = many.to_frame().query("column == 'x0'")
    assert found["value"].tolist() == given[found["number"], 0].tolist()
    many.save(tmp_path / "many.parquet")
    assert vd.load(tmp_path / "many.parquet").numbers == many.numbers


@pytest.mark.parametrize("index", ["cust-3", 400, -5, None])
def test_an_index_that_is_none_says_how_to_find_a_name(index: Any) -> None:
    X = RNG.normal(size=(40, 2))
    many = vd.explain_many(lambda X: X[:, 0], vd.Rows(X), X[:2], method=vd.Lime(n_samples=32))
    with pytest.raises((IndexError, TypeError), match=r"2 explanations, numbered from 0.*why\.row == "):
        many[index]


FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=list("abc"))
LIME = vd.Lime(n_samples=64)


def probabilities(table):
    p = 1 / (1 + np.exp(-table["a"].to_numpy()))
    return np.c_[1 - p, p]


def explain(frame, **more):
    return vd.explain_many(probabilities, vd.Rows(FRAME), frame, classes=["no", "yes"], method=LIME, **more)


def test_a_store_with_other_names_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    named, path = FRAME[:5].set_axis(list("pqrst")), tmp_path / "store"
    explain(named, store=path)
    assert [e.row for e in explain(named, store=path)] == list("pqrst")
    for other in (FRAME[:5].set_axis(list("vwxyz")), FRAME[:5]):
        with pytest.raises(vd.errors.InputError, match="have other names"):
            explain(other, store=path)


def test_a_store_that_was_begun_without_digests_of_names_goes_on(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "store"
    explain(FRAME[:5], store=path)
    manifest = json.loads((path / "manifest.json").read_text())
    del manifest["data"]["names"]
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert len(explain(FRAME[:5].set_axis(list("vwxyz")), store=path)) == 5


def test_shap_is_told_of_several_targets():
    pytest.importorskip("shap")
    many = explain(FRAME[:6])
    assert {e.target for e in many} == {"no", "yes"}
    with pytest.warns(MixedTargetsWarning, match="one target"):
        found = many.to_shap()
    assert found.output_names.startswith("several targets (")
    assert explain(FRAME[:6], target="yes").to_shap().output_names == "yes"


def test_the_row_without_any_tested_part_is_named():
    pytest.importorskip("shap")
    one, other = explain(FRAME[:2].set_axis(["p", "q"]), target="yes")
    gone = np.full(len(other.weights), np.nan)
    untested = replace(other, weights=gone, intervals=np.c_[gone, gone])
    with pytest.raises(vd.errors.InputError, match="row 'q': leave it out, for no part was tested"):
        vd.Explanations((one, untested)).to_shap()
