"""What goes in as a table: columns of every type, rows in every form, labels of every kind, unseen categories.

Each property has saboteurs: the defect that it was written for, put back, must be found by it.
"""

from __future__ import annotations

import datetime
import decimal
from collections import namedtuple
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import veridical as vd
from tests.builders.contracts import Spy, check
from tests.builders.methods import linear_lime
from veridical.representations.tables import columns as columns_module
from veridical.representations.tables import schema as schema_module
from veridical.representations.tables.columns import NumberLine
from veridical.representations.tables.schema import Schema

pa = pytest.importorskip("pyarrow")

N = 48
CODES = np.random.default_rng(0).integers(0, 9, N)
OTHER = np.random.default_rng(1).normal(size=N)
QUICK = linear_lime(n_samples=64)
QUICKLY = settings(max_examples=25, deadline=None, derandomize=True)


def arrow(values: Any, kind: Any) -> pd.Series[Any]:
    return pd.Series(list(values)).astype(pd.ArrowDtype(kind))


def dates(unit: str, start: str = "1999-12-31") -> Callable[[Any], Any]:
    return lambda codes: np.datetime64(start).astype(f"M8[{unit}]") + codes.astype(f"m8[{unit}]")


# Columns whose values have an order and steps, made of codes 0 to 8: all are explained as the codes are.
ORDERED: dict[str, Callable[[Any], Any]] = {
    "int8": lambda c: c.astype(np.int8),
    "big-endian": lambda c: c.astype(">i4"),
    "beyond 2^53": lambda c: c + 2**62,
    "far below 0": lambda c: c - 2**62,
    "uint64": lambda c: c.astype(np.uint64) + np.uint64(2**63),
    "Int64": lambda c: pd.array(c + 2**60, dtype="Int64"),
    "objects": lambda c: np.array([2**61 + int(v) for v in c], dtype=object),
    "int64[pyarrow]": lambda c: arrow(c + 2**62, pa.int64()),
    "sparse": lambda c: pd.arrays.SparseArray(c),
    "decimal128": lambda c: arrow([decimal.Decimal(int(v)) for v in c], pa.decimal128(8, 2)),
    **{f"datetime64[{unit}]": dates(unit) for unit in ("s", "ms", "us", "ns")},
    "year 30000": dates("s", "30000-01-01"),
    "timestamp[us]": lambda c: arrow(pd.to_datetime(c, unit="D"), pa.timestamp("us")),
    "date32": lambda c: arrow(pd.to_datetime(c, unit="D").date, pa.date32()),
    "duration": lambda c: arrow(pd.to_timedelta(c, unit="h"), pa.duration("s")),
    "with a zone": lambda c: pd.to_datetime(c + 10**18).tz_localize("Asia/Tokyo"),
    "timedelta64[s]": lambda c: c.astype("m8[s]"),
    "Timestamp objects": lambda c: np.array(pd.to_datetime(c, unit="D").to_pydatetime(), dtype=object),
}
# Columns of categories: all are explained as texts are.
NAMES = [f"{'abcdefghi'[v]}" for v in range(9)]
WORDS = np.array(NAMES, dtype=object)
CATEGORIES: dict[str, Callable[[Any], Any]] = {
    "category": lambda c: pd.Categorical(WORDS[c]),
    "ordered category": lambda c: pd.Categorical(WORDS[c], NAMES, ordered=True),
    "string[pyarrow]": lambda c: pd.array(WORDS[c], dtype="string[pyarrow]"),
    "dictionary": lambda c: arrow(WORDS[c], pa.dictionary(pa.int32(), pa.string())),
    "bytes": lambda c: np.array([b"%d" % v for v in c], dtype=object),
    "tuples": lambda c: pd.Series([(int(v), "x") for v in c]),
    "times": lambda c: np.array([datetime.time(int(v)) for v in c], dtype=object),
    "decimals": lambda c: np.array([decimal.Decimal(int(v)) for v in c], dtype=object),
    "period": lambda c: pd.PeriodIndex(pd.to_datetime(c, unit="D"), freq="D"),
    "interval": lambda c: pd.arrays.IntervalArray.from_arrays(c * 1.0, c + 1.0),
    "lone surrogates": lambda c: np.array([chr(0xD800 + v) for v in c], dtype=object),
}
UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "15m")


def decoded(values: Any, known: Any) -> Any:
    """The codes of values, looked up among all that there are."""
    places = {str(value): code for value, code in zip(list(known), CODES, strict=True)}
    return np.array([float(places[str(value)]) for value in list(values)])


def table_of(make: Callable[[Any], Any]) -> pd.DataFrame:
    column = make(CODES)
    objects = isinstance(column, np.ndarray) and column.dtype == object
    return pd.DataFrame({"x": OTHER, "c": pd.Series(column, dtype=object) if objects else column})


def explained(make: Callable[[Any], Any], row: int, many: bool) -> tuple[vd.Explanation, list[Any], Any]:
    """An explanation of one row of a table, and what the model was given."""
    table = table_of(make)
    known = table["c"]
    spy = Spy(lambda X: decoded(X["c"], known) ** 2 + X["x"].to_numpy())
    if many:
        return vd.explain_many(spy, vd.Rows(table), table, method=QUICK)[row], spy.batches, table
    return vd.explain(spy, vd.Rows(table), table.iloc[[row]], method=QUICK), spy.batches, table


def assert_columns_are_kept(make: Callable[[Any], Any], alike: Callable[[Any], Any], row: int, many: bool) -> None:
    """The model gets values of the background in its type; the weights are those of an encoding of them."""
    why, batches, table = explained(make, row, many)
    seen = set(map(str, table["c"]))
    wanted = table["c"].dtype
    for batch in batches:
        assert str(batch["c"].dtype) == str(wanted).lstrip(">")
        assert set(map(str, batch["c"])) <= seen
    assert why.prediction == CODES[row] ** 2 + OTHER[row]
    np.testing.assert_array_equal(why.weights, explained(alike, row, many)[0].weights)
    part, own = why.parts[1], table["c"].iloc[row]
    if part.relation == "in":
        assert part.value[0] < own <= part.value[1], part.name
    elif part.relation in ("≤", ">"):
        assert (own <= part.value) == (part.relation == "≤"), part.name
    elif part.value is not None:
        assert part.value == own


ROW = st.integers(0, N - 1)


@QUICKLY
@given(st.sampled_from(sorted(set(ORDERED) - {"date32", "decimal128", "big-endian"})), ROW, st.booleans())
def test_columns_with_an_order_are_explained_as_whole_numbers_are(kind: str, row: int, many: bool) -> None:
    assert_columns_are_kept(ORDERED[kind], lambda c: c, row, many)


@QUICKLY
@given(st.sampled_from(sorted(CATEGORIES)), ROW, st.booleans())
def test_columns_of_categories_are_explained_as_texts_are(kind: str, row: int, many: bool) -> None:
    assert_columns_are_kept(CATEGORIES[kind], lambda c: WORDS[c], row, many)


@pytest.mark.parametrize("kind", ["date32", "decimal128"])
def test_columns_whose_values_are_of_other_types_than_their_bounds(kind: str) -> None:
    why, batches, table = explained(ORDERED[kind], 3, many=False)
    assert why.prediction == CODES[3] ** 2 + OTHER[3]
    np.testing.assert_array_equal(why.weights, explained(lambda c: c, 3, many=False)[0].weights)
    assert {str(batch["c"].dtype) for batch in batches} == {str(table["c"].dtype)}


def test_a_saboteur_that_counts_from_zero_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """S3: whole numbers beyond 2^53 as floats."""
    monkeypatch.setattr(
        NumberLine,
        "of",
        classmethod(lambda cls, values: cls(values.dtype if columns_module.is_time(values.dtype) else None)),
    )
    for kind in ("beyond 2^53", "uint64", "Int64", "with a zone"):
        with pytest.raises((AssertionError, KeyError, IndexError)):
            assert_columns_are_kept(ORDERED[kind], lambda c: c, 0, many=False)


# Arrays ----------------------------------------------------------------------------------------------------


def assert_units_are_kept(kind: str, unit: str, row: int) -> None:
    """Dates or durations of a unit are explained as whole numbers are, and their bounds are true."""
    start = np.datetime64("2019-06-01")
    if unit in ("ps", "fs"):
        start = np.datetime64(3, unit)
    start = start if kind == "M" else np.timedelta64(3, np.datetime_data(f"m8[{unit}]")[0])
    values = start.astype(f"{kind}8[{unit}]") + np.c_[CODES, CODES[::-1]].astype(f"m8[{unit}]")
    spy = Spy(lambda X: (X - values.min()).astype(np.int64)[:, 0] * 1.0)
    why = vd.explain(spy, vd.Rows(values), values[row], method=QUICK)
    assert {batch.dtype for batch in spy.batches} == {values.dtype}
    plain = np.c_[CODES, CODES[::-1]]
    alike = vd.explain(lambda X: X[:, 0] - float(plain.min()), vd.Rows(plain), plain[row], method=QUICK)
    np.testing.assert_array_equal(why.weights, alike.weights)
    part = why.parts[0]
    bounds = [np.array(b.to_numpy() if hasattr(b, "to_numpy") else b).astype(values.dtype) for b in _bounds(part)]
    own = values[row, 0]
    assert all(low < own for low in bounds[: len(bounds) - (part.relation != ">")]), part.name
    if part.relation in ("≤", "in"):
        assert own <= bounds[-1], part.name


def _bounds(part: Any) -> tuple[Any, ...]:
    return part.value if isinstance(part.value, tuple) else (part.value,)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.sampled_from("Mm"), st.sampled_from(UNITS), ROW)
def test_arrays_of_dates_and_durations_of_every_unit(kind: str, unit: str, row: int) -> None:
    assert_units_are_kept(kind, unit, row)


def test_a_saboteur_that_takes_every_unit_for_seconds_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """S4: steps of minutes or days that are read as if they were seconds."""
    right = columns_module._format_times
    monkeypatch.setattr(
        columns_module, "_format_times", lambda ticks, dtype: right(ticks, np.dtype(f"{dtype.kind}8[s]"))
    )
    for kind, unit in (("M", "m"), ("M", "D"), ("m", "D")):
        with pytest.raises(AssertionError):
            [assert_units_are_kept(kind, unit, row) for row in range(9)]


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype(">f8"),
        lambda X: np.asfortranarray(X),
        lambda X: X[::-1][::-1],
        lambda X: X.view(Subclass),
        lambda X: np.ma.masked_array(X, mask=False),
        lambda X: _frozen(X),
        lambda X: X.astype(object),
    ],
    ids=["big-endian", "Fortran", "strides", "subclass", "masked", "read-only", "objects"],
)
def test_arrays_of_one_content_are_explained_alike(change: Callable[[Any], Any]) -> None:
    X = np.round(np.random.default_rng(0).normal(size=(N, 3)), 2)
    wanted = vd.explain(lambda X: np.asarray(X, float)[:, 0], vd.Rows(X), X[1], method=QUICK)
    made = change(X.copy())
    for x in (made[1], made[[1]], X[1], X[1].tolist()):
        found = vd.explain(lambda X: np.asarray(X, float)[:, 0], vd.Rows(made), x, method=QUICK)
        assert found.names == wanted.names
        np.testing.assert_array_equal(found.weights, wanted.weights)


class Subclass(np.ndarray):
    """An array that always has two axes, as np.matrix does."""

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return found[None] if isinstance(found, Subclass) and found.ndim == 1 else found


def _frozen(X: Any) -> Any:
    X.flags.writeable = False
    return X


def test_masked_values_are_missing_and_never_dropped() -> None:
    X = np.ma.masked_array(np.c_[OTHER, OTHER[::-1]], mask=np.c_[CODES == 3, CODES == 99])
    why = vd.explain(lambda X: np.isnan(X[:, 0]) * 1.0, vd.Rows(X), X[CODES == 3][:1], method=QUICK)
    assert why.names[0] == "x0 is missing"
    assert why.prediction == 1.0


def test_texts_of_an_array_are_never_cut() -> None:
    X = np.array([["Par", "a"], ["Rom", "b"]] * 20)
    spy = Spy(lambda X: (X[:, 0] == "Paris") * 1.0)
    why = vd.explain(spy, vd.Rows(X), ["Paris", "a"], method=QUICK)
    assert why.prediction == 1.0
    assert why.names[0] == "x0 = Paris"


# Rows and labels -------------------------------------------------------------------------------------------

LABELS: dict[str, list[Any]] = {
    "texts": ["c", "a", "b"],
    "numbers in any order": [2, 0, 1],
    "truth values": [True, False, "x"],
    "only truth values": [True, False],
    "missing ones": [None, "a", float("nan")],
    "tuples": [("a", 1), ("a", 2), ("b", 1)],
    "moments": [pd.Timestamp("2020"), pd.Timestamp("2019"), pd.Timestamp("2021")],
    "a number and its text": [1, "1", 2],
}
BLOCK = np.random.default_rng(2).normal(size=(N, 3))


def labelled(kind: str) -> pd.DataFrame:
    labels = LABELS[kind]
    index = pd.Index(labels) if kind in ("only truth values", "numbers in any order") else None
    index = pd.MultiIndex.from_tuples(labels) if kind == "tuples" else index
    index = pd.Index(labels, dtype=object) if index is None else index
    return pd.DataFrame(BLOCK[:, : len(labels)], columns=index)


def forms(table: pd.DataFrame, order: list[int]) -> list[Any]:
    """The second row in every form, with its columns in another order where they have labels."""
    shuffled = table.iloc[[1], order]
    series = table.iloc[1].iloc[order]
    values = list(series)
    return [
        table.iloc[[1]],
        shuffled,
        series,
        series.astype(object),
        dict(zip(list(shuffled.columns), values, strict=True)),
        table.iloc[1].tolist(),
        tuple(table.iloc[1]),
        table.to_numpy()[1],
        table.to_numpy()[[1]],
        [dict(zip(list(shuffled.columns), values, strict=True))][0],
    ]


def assert_forms_agree(table: Any, rows: list[Any]) -> None:
    def predict(X: Any) -> Any:
        values = np.asarray(X, float)
        return values[:, 0] - 2 * values[:, 1]

    found = [vd.explain(predict, vd.Rows(table), row, method=QUICK) for row in rows]
    for why in found[1:]:
        assert why.prediction == found[0].prediction
        assert why.names == found[0].names
        np.testing.assert_array_equal(why.weights, found[0].weights)


@QUICKLY
@given(st.sampled_from(sorted(LABELS)), st.randoms(use_true_random=False))
def test_rows_of_every_form_are_the_same_row(kind: str, random: Any) -> None:
    table = labelled(kind)
    order = list(range(table.shape[1]))
    random.shuffle(order)
    assert_forms_agree(table, forms(table, order))
    many = vd.explain_many(lambda X: X.iloc[:, 0].to_numpy(), vd.Rows(table), table.iloc[:2, order], method=QUICK)
    assert len(many) == 2
    assert len(set(many[0].names)) == len({part.column for part in many[0].parts}) == table.shape[1]


@QUICKLY
@given(st.permutations(range(3)), st.booleans())
def test_rows_for_an_array_match_by_label(order: list[int], named: bool) -> None:
    names = ["a", "b", "c"] if named else None
    labels: list[Any] = names or [0, 1, 2]
    frame = pd.DataFrame(BLOCK, columns=labels)
    shuffled = frame.iloc[[1], order]
    rows = [BLOCK[1], shuffled, shuffled.iloc[0], dict(shuffled.iloc[0]), pd.DataFrame(BLOCK[[1]])[list(order)]]
    rows += (
        [namedtuple("Row", "b c a")(*BLOCK[1, [1, 2, 0]])]
        if named
        else [pd.DataFrame(BLOCK[[1]], columns=list("pqr"))]
    )

    def predict(X: Any) -> Any:
        return X[:, 0] - 2 * X[:, 1]

    found = [vd.explain(predict, vd.Rows(BLOCK, names=names), row, method=QUICK) for row in rows]
    assert len({why.prediction for why in found}) == 1
    for why in found:
        np.testing.assert_array_equal(why.weights, found[0].weights)


def test_saboteurs_that_forget_labels_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """S5, S8: columns picked by a mask of their labels, or taken in the order in which they come."""
    with monkeypatch.context() as patch:
        patch.setattr(Schema, "_find_order", lambda self, labels: list(range(len(self.names))))
        with pytest.raises(AssertionError):
            test_rows_for_an_array_match_by_label.hypothesis.inner_test([2, 0, 1], False)
    with monkeypatch.context() as patch:
        patch.setattr(schema_module, "label_names", lambda labels: tuple(map(str, labels)))
        assert len(set(vd.Rows(labelled("a number and its text")).names)) < 3
    with monkeypatch.context() as patch:
        patch.setattr(Schema, "_check_frame", lambda self, X: X[list(self.labels)])
        with pytest.raises((AssertionError, ValueError)):
            test_rows_of_every_form_are_the_same_row.hypothesis.inner_test("only truth values", Random(0))


def test_a_number_and_its_text_stay_apart() -> None:
    table = labelled("a number and its text")
    many = vd.explain_many(lambda X: X["1"].to_numpy(), vd.Rows(table), table[:3], method=QUICK)
    assert [part.column for part in many[0].parts] == ["1", "'1'", "2"]
    assert set(many.to_frame()["column"]) == {"1", "'1'", "2"}
    chosen = vd.pick(many, 2)
    assert {part.column for part in chosen.parts} == {"1", "'1'", "2"}
    assert vd.Rows(table, immutable=["1"]).background.fixed == (1,)
    assert vd.Rows(table, immutable=[1]).background.fixed == (0,)


# Categories ------------------------------------------------------------------------------------------------


def assert_recoded(ordered: bool) -> None:
    """S2: models go by codes, and the codes are the background's."""
    words = WORDS[CODES % 3]
    table = pd.DataFrame({"c": pd.Categorical(words, ["a", "b", "c"], ordered), "x": OTHER})
    other = table.assign(c=pd.Categorical(words, ["c", "b", "a"], ordered))

    def predict(X: Any) -> Any:
        return X["c"].cat.codes.to_numpy() * 1.0

    rows, i = vd.Rows(table), int(np.flatnonzero(words == "c")[0])
    wanted = vd.explain(predict, rows, table.iloc[[i]], method=QUICK)
    for x in (other.iloc[i], other.iloc[[i]]):
        found = vd.explain(predict, rows, x, method=QUICK)
        assert found.prediction == wanted.prediction == 2.0
        np.testing.assert_array_equal(found.weights, wanted.weights)
    many = vd.explain_many(predict, rows, other, method=QUICK)
    assert [why.prediction for why in many] == [float("abc".index(word)) for word in words]


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_in_another_order_are_recoded(ordered: bool) -> None:
    assert_recoded(ordered)


def test_a_saboteur_that_compares_categories_as_sets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_module, "_same_type", lambda one, other: one == other)
    with pytest.raises(AssertionError):
        assert_recoded(ordered=False)


UNSEEN = {
    "city": ("Rome", "city = Rome"),
    "grade": ("zz", "grade = zz"),
    "code": (9, "code = 9"),
    "pair": (7, "pair = 7.0"),
}


def cities() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "city": WORDS[CODES % 2],
            "grade": pd.Categorical(WORDS[CODES % 3]),
            "code": CODES % 4,
            "pair": CODES % 2 * 1.0,
            "x": OTHER,
        }
    )


@pytest.mark.parametrize("column", UNSEEN)
@pytest.mark.parametrize("method", [vd.Lime(n_samples=2000), vd.Occlusion(), vd.KernelShap(), vd.Sensitivity()])
def test_an_unseen_category_is_a_state_of_its_own(column: str, method: Any) -> None:
    value, name = UNSEEN[column]
    table = cities()
    spy = Spy(lambda X: 3.0 * (X[column].astype(object) == value).to_numpy())
    row = {**table.iloc[0].to_dict(), column: value}
    why = vd.explain(spy, vd.Rows(table, categorical=["code"]), row, method=method)
    at = [part.column for part in why.parts].index(column)
    assert why.prediction == 3.0
    assert why.names[at].startswith(name.split(" = ")[0])
    assert why.weights[at] == pytest.approx(3.0, abs=0.4)
    assert any("never seen in the background" in note and why.names[at] in note for note in why.notes)
    for batch in spy.batches:
        assert batch.dtypes.drop("grade").to_dict() == table.dtypes.drop("grade").to_dict()
        known = table["grade"].cat.categories
        assert batch["grade"].cat.categories[: len(known)].equals(known)


def test_rows_beside_an_unseen_category_keep_their_bits() -> None:
    table = cities()
    rows = vd.Rows(table, categorical=["code"])

    def predict(X: Any) -> Any:
        return X["x"].to_numpy() + X["grade"].cat.codes.to_numpy()

    wanted = vd.explain_many(predict, rows, table[:8], method=QUICK)
    odd = table[:8].astype({"grade": object})
    odd.loc[0, ["grade", "city"]] = "zz", "Rome"
    found = vd.explain_many(predict, rows, odd, method=QUICK)
    assert found[0].prediction == OTHER[0] + 3
    for i in range(1, 8):
        assert found[i].prediction == wanted[i].prediction
        np.testing.assert_array_equal(found[i].weights, wanted[i].weights)


def test_a_one_hot_group_without_a_one_is_an_unseen_category() -> None:
    hot = pd.DataFrame(np.eye(3)[CODES % 3], columns=["c_a", "c_b", "c_c"]).assign(x=OTHER)
    rows = vd.Rows(hot, onehot={"c": ["c_a", "c_b", "c_c"]})
    why = vd.explain(lambda X: (X.iloc[:, :3].sum(axis=1) == 0).to_numpy() * 2.0, rows, [0, 0, 0, 1.0])
    assert why.names[0] == "c = none of them"
    assert why.weights[0] == pytest.approx(2.0, abs=0.3)
    check(lambda: rows([1, 1, 0, 1.0]), vd.errors.InputError, "exactly one 1")


def test_a_model_that_refuses_a_category_is_told_which() -> None:
    table = cities()

    def strict(X: Any) -> Any:
        if "Rome" in set(X["city"]):
            raise ValueError("found unknown categories in column 0")
        return X["x"].to_numpy()

    row = {**table.iloc[0].to_dict(), "city": "Rome"}
    call = lambda: vd.explain(strict, vd.Rows(table), row, method=QUICK)  # noqa: E731
    check(call, vd.errors.ModelError, "found unknown categories", "city = Rome", "never has")
    with pytest.warns(vd.errors.RowsFailedWarning, match="city = Rome"):
        many = vd.explain_many(strict, vd.Rows(table), [table.iloc[0].to_dict(), row], method=QUICK)
    assert len(many) == 1
    assert "the background never has city = Rome" in many.failed["error"].iloc[0]


# Refusals --------------------------------------------------------------------------------------------------

Z = BLOCK[:, 0] + 1j * BLOCK[:, 1]
REFUSED: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "complex array": (lambda: vd.Rows(np.c_[Z, Z]), ("complex", "two columns")),
    "complex column": (lambda: vd.Rows(pd.DataFrame({"z": Z, "x": OTHER})), ("'z'", "complex")),
    "complex objects": (
        lambda: vd.Rows(pd.DataFrame({"z": pd.Series(list(Z), dtype=object)})),
        ("'z'", "complex"),
    ),
    "complex row": (lambda: vd.Rows(BLOCK)(BLOCK[0] + 1j), ("complex",)),
    "lists": (lambda: vd.Rows(pd.DataFrame({"c": [[1], [2]] * 9})), ("'c'", "list", "immutable")),
    "arrow lists": (
        lambda: vd.Rows(pd.DataFrame({"c": arrow([[1], [2]], pa.list_(pa.int64()))})),
        ("'c'", "list"),
    ),
    "fields": (lambda: vd.Rows(np.zeros(5, [("a", float), ("b", int)])), ("fields", "DataFrame")),
    "no unit": (lambda: vd.Rows(np.zeros((3, 2), "m8")), ("unit",)),
    "set of rows": (lambda: vd.Rows({1, 2}), ("set",)),
    "dict of columns": (lambda: vd.Rows({"a": [1, 2]}), ("dict", "DataFrame")),
    "masked whole numbers": (lambda: vd.Rows(np.ma.masked_array([[1, 2], [3, 4]], [[1, 0], [0, 0]])), ("masked",)),
    "names=5": (lambda: vd.Rows(BLOCK, names=5), ("names", "list", "5")),  # type: ignore[arg-type]
    "names as a text": (lambda: vd.Rows(BLOCK, names="abc"), ("names", "list")),
    "names as a set": (lambda: vd.Rows(BLOCK, names={"a", "b", "c"}), ("names", "list")),  # type: ignore[arg-type]
    "row as a set": (lambda: vd.Rows(BLOCK)(set(BLOCK[0])), ("no order",)),
    "row as keys": (lambda: vd.Rows(BLOCK)({1.0: 0, 2.0: 0, 3.0: 0}.keys()), ("no order",)),
    "other numbers": (lambda: vd.Rows(BLOCK)(pd.DataFrame(BLOCK[:1], columns=[5, 6, 7])), ("numbered 5, 6, 7",)),
    "other names": (
        lambda: vd.Rows(BLOCK, names=["a", "b", "c"])(pd.DataFrame(BLOCK[:1], columns=["p", "q", "r"])),
        ("missing: a, b, c", "unknown: p, q, r"),
    ),
    "a float beyond 2^53": (lambda: vd.Rows(np.c_[CODES, CODES])([2.0**60, 1.0]), ("2^53", "iloc")),
    "numbers for dates": (lambda: vd.Rows(np.c_[CODES, CODES].astype("M8[D]"))([1, 2]), ("datetime64[D]",)),
    "dates for numbers": (lambda: vd.Rows(BLOCK[:, :2])(np.array([1, 2], "M8[D]")), ("float64",)),
    "half a day": (
        lambda: vd.Rows(np.c_[CODES, CODES].astype("M8[D]"))(np.array([1, 2], "M8[h]")),
        ("datetime64[D]", "cannot hold"),
    ),
    "text in objects of numbers": (
        lambda: vd.Rows(pd.DataFrame({"c": pd.Series(CODES.tolist(), dtype=object), "x": OTHER}))(["a", 1.0]),
        ("'c'", "numbers"),
    ),
    "a number as a row": (lambda: vd.Rows(BLOCK)(np.array(3.0)), ("row of 3 columns", "ndarray")),
    "edges that are no dates": (
        lambda: vd.Rows(table_of(dates("s")), discretize=vd.bins.Edges({"c": ["soon"]})),
        ("edges of 'c'", "datetime64[s]", "soon"),
    ),
    "edges that are no list": (
        lambda: vd.Rows(table_of(dates("s")), discretize=vd.bins.Edges({"c": 5})),
        ("edges", "5"),
    ),
    "names of a sparse matrix": (lambda: vd.Rows(csr_matrix(BLOCK), names=5), ("names", "list")),  # type: ignore[arg-type]
    "complex sparse matrix": (lambda: vd.Rows(csr_matrix(np.c_[Z, Z])), ("complex",)),
    "complex row of a sparse matrix": (lambda: vd.Rows(csr_matrix(BLOCK))(BLOCK[0] + 1j), ("complex",)),
    "set for a sparse matrix": (lambda: vd.Rows(csr_matrix(BLOCK))(set(BLOCK[0])), ("set",)),
    "X as a set": (lambda: vd.explain_many(len, vd.Rows(BLOCK), {1, 2}), ("set",)),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_in_one_sentence(name: str) -> None:
    call, words = REFUSED[name]
    check(call, vd.errors.InputError, *words)


# Tables of other libraries ---------------------------------------------------------------------------------


def foreign_table() -> pd.DataFrame:
    whole = pd.array([None if v == 8 else 2**60 + int(v) for v in CODES], dtype="Int64")
    truth = pd.array([None if v == 7 else bool(v % 2) for v in CODES], dtype="boolean")
    return pd.DataFrame({"x": OTHER, "n": whole, "b": truth, "c": WORDS[CODES % 3]})


def total(X: Any) -> Any:
    assert isinstance(X, pd.DataFrame)
    return X["x"].to_numpy() + X["n"].isna().to_numpy() + (X["c"] == "a").to_numpy()


def assert_same_answers(table: Any, row: Any) -> None:
    plain = foreign_table()
    wanted = vd.explain(total, vd.Rows(plain), plain.iloc[[1]], method=QUICK)
    for rows, x in ((vd.Rows(table), row), (vd.Rows(plain), row), (vd.Rows(table), plain.iloc[[1]])):
        found = vd.explain(total, rows, x, method=QUICK)
        assert found.prediction == wanted.prediction
        assert found.names == wanted.names
        np.testing.assert_array_equal(found.weights, wanted.weights)
    assert len(vd.explain_many(total, vd.Rows(table), table, method=QUICK)) == N


def test_arrow_tables_are_tables() -> None:
    table = pa.Table.from_pandas(foreign_table(), preserve_index=False).replace_schema_metadata(None)
    assert_same_answers(table, table.slice(1, 1))
    assert_same_answers(table.to_batches()[0], table.slice(1, 1))


def test_tables_that_only_become_pandas_are_tables() -> None:
    class Other:
        columns = ("x", "n", "b", "c")

        def __init__(self, frame: pd.DataFrame) -> None:
            self.frame = frame

        def to_pandas(self) -> pd.DataFrame:
            return self.frame

    assert_same_answers(Other(foreign_table()), Other(foreign_table().iloc[[1]]))
    broken = Other(foreign_table())
    broken.to_pandas = lambda: 1 / 0  # type: ignore[method-assign,assignment,return-value]
    check(lambda: vd.Rows(broken), vd.errors.InputError, "Other", "ZeroDivisionError", "pandas DataFrame")


def test_polars_tables_are_tables() -> None:
    polars = pytest.importorskip("polars")
    table = polars.from_arrow(pa.Table.from_pandas(foreign_table(), preserve_index=False))
    for row in (table[1], table.row(1), table.row(1, named=True), table[1].select(table.columns[::-1])):
        assert_same_answers(table, row)
    check(lambda: vd.Rows(table.lazy()), vd.errors.InputError, "LazyFrame", "collect")
    words = polars.DataFrame({"c": polars.Series(WORDS[CODES % 3], dtype=polars.Categorical), "x": OTHER})
    flipped = words.with_columns(polars.Series("c", WORDS[CODES % 3], dtype=polars.Enum(["c", "b", "a"])))
    wanted = vd.explain(lambda X: (X["c"] == "a").to_numpy() * 1.0, vd.Rows(words), words[1], method=QUICK)
    found = vd.explain(lambda X: (X["c"] == "a").to_numpy() * 1.0, vd.Rows(words), flipped[1], method=QUICK)
    np.testing.assert_array_equal(found.weights, wanted.weights)
