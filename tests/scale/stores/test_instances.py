"""Whatever can be explained can be stored: rows come back equal, are checked, and a run goes on with them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders import explanations as made
from tests.builders.methods import linear_lime
from veridical.scale.stores import instances as beside_module
from veridical.scale.stores.instances import instances_in, pack_instances
from veridical.scale.stores.writer import ExplainedChunk, Folder

pa = pytest.importorskip("pyarrow")

N = 24
RNG = np.random.default_rng(0)
NUMBERS = RNG.integers(0, 9, N)
MOMENTS = np.datetime64("2020-01-01", "s") + NUMBERS * 86_399
METHOD = linear_lime(n_samples=128)


def some(values: list[Any], dtype: Any = object) -> pd.Series:
    found = np.empty(N, dtype=object)
    found[:] = [values[i % len(values)] for i in range(N)]
    return pd.Series(found, dtype=object).astype(dtype)


def arrow(kind: Any, values: Any = None) -> pd.Series:
    plain = pa.array(NUMBERS.tolist() if values is None else [values[i % len(values)] for i in range(N)])
    return pd.Series(plain.cast(kind), dtype=pd.ArrowDtype(kind))


COLUMNS: dict[str, Any] = {
    **{f"datetime64[{unit}]": MOMENTS.astype(f"M8[{unit}]") for unit in ("s", "ms", "us", "ns")},
    **{f"timedelta64[{unit}]": NUMBERS.astype(f"m8[{unit}]") for unit in ("s", "ms", "us", "ns")},
    "NaT": pd.Series(MOMENTS.astype("M8[s]")).where(NUMBERS > 2),
    "timedelta NaT": pd.Series(NUMBERS.astype("m8[ms]")).where(NUMBERS > 2),
    "zone": pd.Series(MOMENTS.astype("M8[s]")).dt.tz_localize("Europe/Berlin"),
    **{str(np.dtype(kind)): NUMBERS.astype(kind) for kind in "bBhHiIlLefd?"},
    "longdouble": NUMBERS.astype(np.longdouble) / 3,
    "int beyond 2**53": NUMBERS + 2**62,
    "uint beyond 2**63": NUMBERS.astype(np.uint64) + np.uint64(2**63),
    "interval": pd.Series(pd.cut(NUMBERS / 1.0, 3)).astype(pd.IntervalDtype("float64", "right")),
    "category of intervals": pd.cut(NUMBERS / 1.0, 3),
    "category": pd.Categorical(some(["a", "b"]), categories=["b", "a", "c"], ordered=True),
    "category of numbers": pd.Categorical(NUMBERS),
    "category of dates": pd.Categorical(MOMENTS.astype("M8[ns]")),
    "period": pd.Series(pd.PeriodIndex(MOMENTS.astype("M8[ns]"), freq="D")),
    **{kind: some([1, 0, None], kind) for kind in ("Int64", "UInt8", "Float64", "boolean")},
    **{f"string[{kind}]": some(["a", "b", None], f"string[{kind}]") for kind in ("python", "pyarrow")},
    "text": some(["a", "b"]),
    "text or None": some(["a", None]),
    "text or nan": some(["a", "b", float("nan")]),
    "text or number": some(["a", 1, 2.5]),
    "1 and text": some([1, "1"]),
    "surrogate": some(["\ud800", "b"]),
    "bytes": some([b"a\xff", b"b"]),
    "decimal": some([Decimal("1.50"), Decimal("2")]),
    "date": some([dt.date(2020, 1, 1), dt.date(2021, 1, 1)]),
    "time": some([dt.time(1), dt.time(2)]),
    "datetime": some([dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)]),
    "uuid": some([UUID(int=1), UUID(int=2)]),
    "fraction": some([Fraction(1, 3), Fraction(2, 3)]),
    "tuple": some([("a", 1), ("b", 2)]),
    "huge": some([2**80, 2**81]),
    "bools of Python": some([True, False]),
    "sparse": pd.arrays.SparseArray(NUMBERS * 1.0, fill_value=0.0),
    "arrow int": arrow(pa.int32()),
    "arrow text": arrow(pa.string(), ["a", "b"]),
    "arrow timestamp": arrow(pa.timestamp("us"), [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)]),
    "arrow date": arrow(pa.date32(), [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]),
    "arrow decimal": arrow(pa.decimal128(5, 2), [Decimal("1.50"), Decimal("2.25")]),
    "arrow dictionary": arrow(pa.dictionary(pa.int32(), pa.string()), ["a", "b"]),
    "arrow binary": arrow(pa.binary(), [b"a\xff", b"b"]),
}
VALUES_ONLY = {
    "sparse",
    "arrow decimal",
    "arrow dictionary",
}  # whose types have no name that they could be found by


def answer(X: Any) -> Any:
    return X["x"].to_numpy() * 2.0


def explainable(name: str) -> bool:
    if name == "surrogate":  # rows whose parts have no valid name fail, each alone: see below
        return False
    X = pd.DataFrame({"c": COLUMNS[name], "x": NUMBERS / 7.0})
    try:
        vd.Rows(X)(X.iloc[[0]])
    except Exception:  # how it is refused is tested elsewhere
        return False
    return True


def same(one: pd.Series, other: pd.Series, name: str) -> None:
    if name in VALUES_ONLY:
        one, other = one.astype(object), other.astype(object)
    pd.testing.assert_series_equal(one, other, check_exact=True)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """All columns that can be explained, and a run that goes on where it was stopped."""
    X = pd.DataFrame({"x": NUMBERS / 7.0, **{name: COLUMNS[name] for name in COLUMNS if explainable(name)}})
    path, rows = tmp_path_factory.mktemp("stored") / "s", vd.Rows(X)
    store = vd.explain_many(answer, rows, X, method=METHOD, store=path)
    store.check()
    (path / "part-000000.parquet").unlink()
    again = vd.explain_many(answer, rows, X, method=METHOD, store=path)
    again.check()
    assert again.fingerprint == store.fingerprint
    assert again.manifest["n_failed"] == 0
    return X, again.instances(N)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Any:
    X = pd.DataFrame({"x": NUMBERS / 7.0, **COLUMNS})
    path = tmp_path_factory.mktemp("kept") / "s"
    store = vd.explain_many(answer, vd.Rows(X[["x"]]), X, method=METHOD, store=path, keep=list(COLUMNS))
    store.check()
    found = store.to_frame()
    return X.loc[found["number"]].reset_index(drop=True), found


@pytest.mark.parametrize("name", list(COLUMNS))
def test_a_column_comes_back_as_it_was(name: str, stored: Any) -> None:
    X, found = stored
    if name in X:
        same(found[name], X[name], name)
    else:
        assert not explainable(name)


def test_a_saboteur_that_forgets_types_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """D1: Parquet has no seconds, and what it holds instead is of another type."""
    X = pd.DataFrame({"moments": COLUMNS["datetime64[s]"]})
    monkeypatch.setattr(beside_module, "_dtype", lambda dtype: {})
    columns, known = pack_instances(X, None)
    with pytest.raises(AssertionError):
        same(instances_in(pa.table(columns).replace_schema_metadata(known))["moments"], X["moments"], "moments")


@pytest.mark.parametrize("name", list(COLUMNS))
def test_a_column_is_kept_as_it_is(name: str, kept: Any) -> None:
    X, found = kept
    same(found[name], X[name], name)


ARRAYS = {
    "days": MOMENTS.astype("M8[D]"),
    "minutes": MOMENTS.astype("M8[m]"),
    "seconds": MOMENTS,
    "durations": NUMBERS.astype("m8[h]"),
    "longdouble": NUMBERS.astype(np.longdouble) / 3,
    "texts": NUMBERS.astype("U3"),
    "bytes": NUMBERS.astype("S3"),
    "objects": some(["a", 1, None]).to_numpy(),
    "big-endian": NUMBERS.astype(">f8"),
    "beyond 2**53": NUMBERS + 2**62,
}


@pytest.mark.parametrize("name", list(ARRAYS))
def test_an_array_comes_back_as_it_was(name: str) -> None:
    X = np.stack([ARRAYS[name], ARRAYS[name][::-1]], axis=1)
    columns, known = pack_instances(X, None)
    found = instances_in(pa.table(columns).replace_schema_metadata(known))
    assert found.dtype == X.dtype.newbyteorder("=")
    assert found.tolist() == X.tolist()


def test_texts_come_back_as_they_were() -> None:
    for texts in (["a", ""], ["a\ud800", "b"]):
        columns, known = pack_instances(texts, None)
        assert instances_in(pa.table(columns).replace_schema_metadata(known)) == texts


def test_columns_of_one_text_stay_apart(tmp_path: Path) -> None:
    X = pd.DataFrame({1: NUMBERS / 7.0, "1": NUMBERS / 3.0, 2: NUMBERS, "2": NUMBERS + 1})
    rows, own = vd.Rows(X[["1"]]), {"keep": [1, 2, "2"], "store": tmp_path / "s"}
    store = vd.explain_many(lambda X: X["1"].to_numpy(), rows, X, method=METHOD, **own)
    store.check()
    found = store.to_frame()
    for label in (1, 2, "2"):
        assert found[label].tolist() == X[label].loc[found["number"]].tolist()
    both, known = pack_instances(X, None)
    pd.testing.assert_frame_equal(instances_in(pa.table(both).replace_schema_metadata(known)), X)


def test_parts_may_hold_a_column_in_several_ways(tmp_path: Path) -> None:
    """The first thousand objects are texts, and then there are others among them."""
    X = pd.DataFrame({"x": np.arange(1040.0), "c": pd.Series([*["a"] * 1030, *[b"b", None] * 5], dtype=object)})
    rows = vd.Rows(X[["x"]])
    store = vd.explain_many(answer, rows, X, method=METHOD, store=tmp_path / "s", keep=["c"], batch_size=1024)
    store.check()
    assert store.to_frame().drop_duplicates("number")["c"].tolist() == X["c"].tolist()


def test_a_row_that_is_no_unicode_fails_alone(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "s", chunk_rows=3)
    whys = (made.mushroom(), made.hostile(("\ud800", "b")), made.constant())
    receipt = folder.put(ExplainedChunk(0, 0, 3, whys, {}, ["a", "\ud800", "b"], None, 9))
    assert receipt.n_failed == 1
    with pytest.raises(vd.VeridicalError, match="lone surrogate"):
        folder.put(ExplainedChunk(0, 0, 1, whys[1:2], {}, ["a"], None, 9))
