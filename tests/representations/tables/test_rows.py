"""Table rows: what the model receives, and what the parts are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import veridical as vd
from tests.builders.contracts import Spy
from tests.builders.methods import linear_lime
from veridical.models.outputs import Model
from veridical.records import Explanation, Part

N = 240
SEED = np.random.SeedSequence(3)


@dataclass(frozen=True)
class Piecewise:
    """Asks the model about the samples of one instance in three pieces, as a growing neighborhood does."""

    n_calls: int = 1001
    lime: vd.Lime = field(default_factory=lambda: vd.Lime(n_samples=64))

    def __call__(self, model: Any, representation: Any, targets: Any, seed: Any) -> tuple[Explanation, ...]:
        for start, stop in ((0, 128), (128, 256), (256, self.n_calls - 1)):
            model(representation.realize(representation.draw(representation.kernel, seed, start, stop)))
        quiet = Model(lambda X: np.arange(X.shape[0]))  # what is tested is what was asked, not the answer
        return self.lime(quiet, representation, targets, seed)


def noise(X: Any) -> Any:
    return np.random.default_rng(X.shape[0]).normal(size=X.shape[0])


PIECEWISE = Piecewise()
EVERYWHERE = vd.kernels.Gaussian(1e3)  # a kernel so wide that samples follow the background


def series(values: Any, dtype: Any = None) -> pd.Series[Any]:
    return pd.Series(values, dtype=dtype)


def with_gaps(values: Any, rng: np.random.Generator, share: float = 0.2) -> list[Any]:
    return [None if gap else value for value, gap in zip(values, rng.random(N) < share, strict=True)]


def columns() -> dict[str, pd.Series[Any]]:
    """One column of every kind."""
    rng = np.random.default_rng(0)
    floats, whole = rng.normal(size=N), rng.integers(0, 30, N)
    words = [str(word) for word in rng.choice(["foul", "almond", "none"], N)]
    flags = rng.random(N) < 0.4
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 700, N), "D")
    return {
        "float64": series(floats),
        "float32": series(floats, "float32"),
        "float64 with nan": series(with_gaps(floats, rng), "float64"),
        "float32 with nan": series(with_gaps(floats, rng), "float32"),
        "Float64": series(with_gaps(floats, rng), "Float64"),
        "Float32": series(floats, "Float32"),
        "int64": series(whole),
        "int8": series(whole, "int8"),
        "uint8": series(whole, "uint8"),
        "Int64": series(whole, "Int64"),
        "Int64 with NA": series(with_gaps(whole, rng), "Int64"),
        "bool": series(flags),
        "boolean": series(with_gaps(flags, rng), "boolean"),
        "category": series(words, "category"),
        "category, unused level": series(pd.Categorical(words, ["almond", "foul", "none", "musty"])),
        "category, ordered": series(pd.Categorical(words, ["none", "almond", "foul"], ordered=True)),
        "category with nan": series(with_gaps(words, rng), "category"),
        "category of numbers": series(rng.choice([3, 1, 2], N), "category"),
        "str": series(words, "str"),
        "str with nan": series(with_gaps(words, rng), "str"),
        "string": series(with_gaps(words, rng), "string"),
        "object of words": series(words, object),
        "object of words and None": series(with_gaps(words, rng), object),
        "object of whole numbers": series(list(map(int, whole)), object),
        "object of floats": series(list(map(float, floats)), object),
        "object of flags": series(list(map(bool, flags)), object),
        "object of mixed types": series([(1, "one", 2.5)[i] for i in rng.integers(0, 3, N)], object),
        "datetime": series(days),
        "datetime with NaT": series(with_gaps(days, rng), "datetime64[ns]"),
        "datetime of seconds": series(days).astype("datetime64[s]"),
        "datetime with zone": series(days.tz_localize("Asia/Tokyo")),
        "timedelta": series(pd.to_timedelta(whole, "h")),
        "timedelta with NaT": series(with_gaps(pd.to_timedelta(whole, "h"), rng), "timedelta64[ns]"),
        "period": series(days.to_period("M")),
    }


COLUMNS = columns()


def table_with(kind: str) -> pd.DataFrame:
    other = np.random.default_rng(1).normal(size=N)
    return pd.DataFrame({"column": COLUMNS[kind], "other": other}, columns=["other", "column"])


def mixed(*kinds: str) -> pd.DataFrame:
    return pd.DataFrame({kind: COLUMNS[kind] for kind in kinds})


def assert_same_schema(got: pd.DataFrame, wanted: pd.DataFrame) -> None:
    pd.testing.assert_index_equal(got.columns, wanted.columns)
    assert got.dtypes.to_dict() == wanted.dtypes.to_dict()
    for name, dtype in wanted.dtypes.items():
        if isinstance(dtype, pd.CategoricalDtype):
            pd.testing.assert_index_equal(got[name].cat.categories, dtype.categories)
            assert got[name].cat.ordered == dtype.ordered


def assert_possible(got: pd.Series[Any], seen: pd.Series[Any]) -> None:
    """Only values that occur, or, for floats, that lie between values that occur."""
    assert got.isna().any() <= seen.isna().any()
    got, seen = got.dropna(), seen.dropna()
    if pd.api.types.is_float_dtype(seen.infer_objects().dtype):
        assert got.between(seen.min(), seen.max()).all()
    else:
        assert set(got) <= set(seen)
        assert {type(v) for v in got} <= {type(v) for v in seen}


# What the model receives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("i", [0, 5])
def test_every_batch_has_the_schema_of_the_background(kind: str, i: int) -> None:
    table, spy = table_with(kind), Spy(noise)
    vd.explain(spy, vd.Rows(table), table.iloc[[i]], method=PIECEWISE)
    assert len(spy.batches) == 3
    assert spy.n_rows == PIECEWISE.n_calls
    for batch in spy.batches:
        assert_same_schema(batch, table)
        assert_possible(batch["column"], table["column"])
    first = spy.batches[0].iloc[:1].reset_index(drop=True)
    pd.testing.assert_frame_equal(first, table.iloc[[i]].reset_index(drop=True))


@pytest.mark.parametrize("kind", COLUMNS)
def test_numbers_without_bins_have_the_schema_of_the_background(kind: str) -> None:
    table, spy = table_with(kind), Spy(noise)
    vd.explain(spy, vd.Rows(table, discretize=vd.bins.Continuous()), table.iloc[[0]], method=PIECEWISE)
    for batch in spy.batches:
        assert_same_schema(batch, table)
        assert not batch["other"].isna().any()
        assert batch["column"].isna().any() <= table["column"].isna().any()
    first = spy.batches[0].iloc[:1].reset_index(drop=True)
    pd.testing.assert_frame_equal(first, table.iloc[[0]].reset_index(drop=True))


@pytest.mark.parametrize("kind", COLUMNS)
def test_many_rows_have_the_schema_of_the_background(kind: str) -> None:
    table, spy = table_with(kind), Spy(noise)
    vd.explain_many(spy, vd.Rows(table), table[:3], method=vd.Lime(n_samples=64))
    for batch in spy.batches:
        assert_same_schema(batch, table)
        assert_possible(batch["column"], table["column"])


@pytest.mark.parametrize("kind", [kind for kind in COLUMNS if COLUMNS[kind].isna().any()])
def test_missing_is_a_state_that_is_sampled_at_its_rate(kind: str) -> None:
    table, spy = table_with(kind), Spy(noise)
    missing = int(np.flatnonzero(table["column"].isna())[0])
    why = vd.explain(spy, vd.Rows(table), table.iloc[missing], method=linear_lime(n_samples=4000))
    assert why.parts[1] == Part("column is missing", "column", "is missing")
    sampled, rate = spy.batches[0]["column"].isna()[1:], table["column"].isna().mean()
    assert sampled.mean() == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / 4000))


@pytest.mark.parametrize("kind", ["bool", "category", "str", "object of mixed types", "int8", "datetime"])
def test_levels_are_sampled_as_often_as_they_were_seen(kind: str) -> None:
    table, spy = table_with(kind), Spy(noise)
    vd.explain(spy, vd.Rows(table), table.iloc[0], method=linear_lime(n_samples=4000))
    sampled = spy.batches[0]["column"][1:].value_counts(normalize=True)
    for level, rate in table["column"].value_counts(normalize=True).items():
        assert sampled[level] == pytest.approx(rate, abs=4.5 * np.sqrt(rate * (1 - rate) / 4000))


def test_floats_keep_the_rates_of_their_bins() -> None:
    values = np.random.default_rng(2).exponential(size=(400, 1))
    spy = Spy(noise)
    rows = vd.Rows(values, discretize=vd.bins.Edges({"x0": [0.5, 1.0, 2.0]}))
    vd.explain(spy, rows, values[0], method=vd.Lime(n_samples=999, kernel=EVERYWHERE))
    sampled = spy.batches[0][1:, 0]
    wanted = np.histogram(values, [0, 0.5, 1.0, 2.0, np.inf])[0] / 400
    got = np.histogram(sampled, [0, 0.5, 1.0, 2.0, np.inf])[0] / len(sampled)
    # a stratified sample of one column errs by a few of its 999 points, the grid of rates by 1/8192
    np.testing.assert_allclose(got, wanted, atol=4 / 999)


@pytest.mark.parametrize(
    "discretize", [vd.bins.Quartiles(), vd.bins.Deciles(), vd.bins.Edges({"x1": [0.1]}), vd.bins.Continuous()]
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int16", "uint8", "object"])
def test_arrays_keep_their_type(dtype: str, discretize: Any) -> None:
    values = np.random.default_rng(0).integers(0, 50, (N, 3)).astype(dtype)
    for predict in (noise, lambda X: X[:, 0].astype(float)):
        spy = Spy(predict)
        vd.explain(spy, vd.Rows(values, discretize=discretize), values[4], method=PIECEWISE)
        for batch in spy.batches:
            assert isinstance(batch, np.ndarray)
            assert batch.dtype == values.dtype
            assert batch.shape[1] == 3
        np.testing.assert_array_equal(spy.batches[0][0], values[4])


def test_arrays_of_whole_numbers_stay_whole_and_were_seen() -> None:
    values = np.random.default_rng(0).integers(-20, 20, (N, 2)) * 3
    spy = Spy(noise)
    vd.explain(spy, vd.Rows(values), values[0], method=PIECEWISE)
    for batch in spy.batches:
        assert set(batch[:, 0]) <= set(values[:, 0])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "Int64", "UInt8"])
def test_whole_numbers_without_bins_stay_whole_and_near_their_mean(dtype: str) -> None:
    """A normal law goes below zero; a type that cannot must not wrap around to large numbers."""
    values = np.random.default_rng(0).poisson(2.0, N)
    table, spy = pd.DataFrame({"n": pd.Series(values, dtype=dtype), "x": values + 0.5}), Spy(noise)
    vd.explain(spy, vd.Rows(table, discretize=vd.bins.Continuous()), table.iloc[0], method=PIECEWISE)
    sampled = pd.concat(spy.batches)["n"].astype(float)
    assert (sampled == sampled.round()).all()
    assert sampled.abs().max() < 2.0 + 6 * values.std()
    if dtype.lower().startswith("u"):
        assert sampled.min() >= 0


def test_designs_say_whether_a_sample_fell_into_the_own_bin() -> None:
    table = mixed(
        "float64", "float32", "float64 with nan", "int8", "Int64 with NA", "datetime", "category", "bool"
    )
    rows = vd.Rows(table)
    edges = {c: np.quantile(table[c].dropna(), [0.25, 0.5, 0.75]) for c in ("float64", "float32", "int8")}
    for i in (0, 1, 2):
        row = rows(table.iloc[i])
        sample = row.draw(row.kernel, SEED, 0, 512)
        inputs = row.realize(sample)
        for j, name in enumerate(table.columns):
            if name in edges:
                bins = np.searchsorted(edges[name], inputs[name].to_numpy(float))
                own = bins == bins[0]
                # float32 rounds a sampled value now and then onto an edge
                assert (own != sample.designs[:, j]).sum() <= (2 if name == "float32" else 0)
            elif name in ("category", "bool"):
                np.testing.assert_array_equal(inputs[name] == table[name][i], sample.designs[:, j])


@pytest.mark.parametrize("make", [csr_matrix, csr_array])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_sparse_rows_lose_active_values_only(make: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((N, 40)) < 0.3, rng.integers(1, 9, (N, 40)), 0).astype(dtype)
    background, spy = make(dense), Spy(noise)
    why = vd.explain(spy, vd.Rows(background), background[[3]], method=PIECEWISE)
    active = np.flatnonzero(dense[3])
    assert [part.column for part in why.parts] == [f"x{j}" for j in active]
    assert why.parts[0] == Part(
        f"x{active[0]} = {dense[3, active[0]]:g}", f"x{active[0]}", "not zero", dense[3, active[0]]
    )
    assert len(spy.batches) > 1
    for batch in spy.batches:
        assert batch.format == "csr"
        assert batch.dtype == background.dtype
        assert batch.shape[1] == 40
        found = batch.toarray()
        assert np.all((found == 0) | (found == dense[3]))
    np.testing.assert_array_equal(spy.batches[0][[0]].toarray()[0], dense[3])


def test_sparse_rows_are_explained_in_many() -> None:
    dense = np.where(np.random.default_rng(0).random((30, 6)) < 0.6, 1.0, 0.0)
    dense[:, 0] = 1.0
    coefficients = np.arange(6.0)
    many = vd.explain_many(
        lambda X: X @ coefficients, vd.Rows(csr_matrix(dense)), csr_matrix(dense), method=linear_lime()
    )
    for why, row in zip(many, dense, strict=True):
        np.testing.assert_allclose(why.weights, coefficients[row > 0], atol=1e-7)


# What may be declared --------------------------------------------------------------------------------------

CITY = ["city_Bern", "city_Oslo", "city_Rome"]


def hot_table(dtype: str) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=N)})
    hot = np.eye(3)[rng.integers(0, 3, N)]
    return table.join(pd.DataFrame(hot, columns=CITY).astype(dtype))


@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8", "bool"])
def test_one_hot_groups_are_never_half_hot(dtype: str) -> None:
    table, spy = hot_table(dtype), Spy(noise)
    rows = vd.Rows(table, onehot={"city": CITY})
    why = vd.explain(spy, rows, table.iloc[0], method=PIECEWISE)
    assert len(why.parts) == 2
    own = CITY[int(table[CITY].iloc[0].to_numpy(float).argmax())].removeprefix("city_")
    assert why.parts[1] == Part(f"city = {own}", "city", "=", own)
    for batch in spy.batches:
        assert_same_schema(batch, table)
        assert (batch[CITY].astype(int).sum(axis=1) == 1).all()
        assert batch[CITY].astype(int).isin([0, 1]).all(axis=None)
    vd.explain_many(spy, rows, table[:3], method=PIECEWISE)
    assert (pd.concat(spy.batches)[CITY].astype(int).sum(axis=1) == 1).all()


def test_one_hot_groups_of_an_array_are_named_by_position() -> None:
    values, spy = hot_table("float64").to_numpy(), Spy(noise)
    why = vd.explain(spy, vd.Rows(values, onehot={"city": [1, 2, 3]}), values[0], method=PIECEWISE)
    assert why.parts[1].column == "city"
    assert (np.concatenate(spy.batches)[:, 1:].sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    "kind", ["float64", "int8", "category", "datetime", "object of words and None", "Int64 with NA"]
)
def test_immutable_columns_are_never_changed(kind: str) -> None:
    table, spy = table_with(kind), Spy(noise)
    why = vd.explain(spy, vd.Rows(table, immutable=["column"]), table.iloc[7], method=PIECEWISE)
    assert [part.column for part in why.parts] == ["other"]
    assert any("column" in note for note in why.notes)
    for batch in spy.batches:
        assert_same_schema(batch, table)
        wanted = table["column"].iloc[[7] * len(batch)].reset_index(drop=True)
        pd.testing.assert_series_equal(batch["column"], wanted)


def test_immutable_columns_of_many_rows_stay_each_rows_own() -> None:
    table, method = mixed("float64", "int8"), vd.Lime(n_samples=500)
    rows = vd.Rows(table, immutable=["int8"])

    def predict(X: Any) -> Any:
        return X["float64"] * X["int8"]

    many = vd.explain_many(predict, rows, table[:6], method=method)
    for i, why in enumerate(many):
        alone = vd.explain(predict, rows, table.iloc[i], method=method, rng=i)
        assert why.names == alone.names
        assert why.prediction == alone.prediction
        half = np.ptp(why.intervals, axis=1) + np.ptp(alone.intervals, axis=1)  # two 95 % intervals, twice
        assert np.all(np.abs(why.weights - alone.weights) <= half)


def test_a_valid_range_is_respected() -> None:
    table = pd.DataFrame({"share": np.random.default_rng(0).beta(0.5, 0.5, N), "n": np.arange(N) % 11})
    rows = vd.Rows(table, discretize=vd.bins.Continuous(), ranges={"share": (0.0, 1.0), "n": (0, 10)})
    for width in (1.0, 0.1):
        spy = Spy(noise)
        vd.explain(spy, rows, table.iloc[0], method=vd.Lime(n_samples=2000, width=width))
        assert spy.batches[0]["share"].between(0, 1).all()
        assert spy.batches[0]["n"].between(0, 10).all()
        assert spy.batches[0]["n"].nunique() > 1


def test_numbers_that_no_whole_number_holds_are_named() -> None:
    rows = vd.Rows(np.array([[0.0, 1.0], [4e38, 2.0], [2e38, 3.0]]))
    assert rows(np.array([4e38, 1.0])).names == ("x0 > 3e+38", "x1 ≤ 1.5")


def test_edges_beyond_the_data_invent_no_values_beyond_the_data() -> None:
    values, spy = np.random.default_rng(0).uniform(20, 60, (N, 2)), Spy(noise)
    vd.explain(spy, vd.Rows(values, discretize=vd.bins.Edges({"x0": [30.0, 200.0]})), values[0], method=PIECEWISE)
    sampled = np.concatenate(spy.batches)[:, 0]
    assert sampled.max() <= values[:, 0].max()
    assert sampled.min() >= values[:, 0].min()


def test_categorical_names_columns_whose_numbers_are_codes() -> None:
    values, spy = np.random.default_rng(0).integers(0, 4, (N, 2)).astype(float), Spy(noise)
    why = vd.explain(spy, vd.Rows(values, categorical=[1], names=["x", "code"]), values[0], method=PIECEWISE)
    assert why.parts[1] == Part(f"code = {values[0, 1]}", "code", "=", values[0, 1])
    assert set(np.concatenate(spy.batches)[:, 1]) == {0.0, 1.0, 2.0, 3.0}


def test_constant_columns_are_left_out_with_a_note() -> None:
    table = table_with("float64").assign(version=3, empty=np.nan, site="Bern")
    spy = Spy(lambda X: X["other"])
    rows = vd.Rows(table)
    why = vd.explain(spy, rows, table.iloc[0])
    assert [part.column for part in why.parts] == ["other", "column"]
    assert len(why.notes) == 1
    assert all(f"'{name}'" in why.notes[0] for name in ("version", "empty", "site"))
    for batch in spy.batches:
        assert_same_schema(batch, table)
        assert (batch["version"] == 3).all()
        assert (batch["site"] == "Bern").all()


@pytest.mark.parametrize("as_array", [False, True])
def test_constant_columns_are_no_obstacle_to_many_rows(as_array: bool) -> None:
    table: Any = pd.DataFrame({"x": np.arange(N) / N, "one": 1.0, "y": np.arange(N)[::-1] ** 2.0})
    table = table.to_numpy() if as_array else table
    many = vd.explain_many(lambda X: np.asarray(X)[:, 0], vd.Rows(table), table[:4], method=vd.Lime(n_samples=64))
    assert len(many) == 4
    assert all("never vary" in why.notes[0] for why in many)


# Names -----------------------------------------------------------------------------------------------------


def test_parts_read_like_a_person_and_keep_a_structured_form() -> None:
    table = pd.DataFrame(
        {
            "age": [20.0, 30.0, 50.5, 60.0] * 10,
            "odor": ["foul", "almond"] * 20,
            "income": [1.0, 2.0, 3.0, np.nan, 5.0] * 8,
            "member": [True, False] * 20,
            "rings": [0, 1, 2, 3] * 10,
        }
    )
    rows = vd.Rows(table, discretize=vd.bins.Edges({"age": [30, 50.5], "rings": [1]}))
    young, old = rows(table.iloc[0]).parts, rows(table.iloc[3]).parts
    assert young[0] == Part("age ≤ 30", "age", "≤", 30.0)
    assert rows(table.iloc[2]).parts[0] == Part("30 < age ≤ 50.5", "age", "in", (30.0, 50.5))
    assert old[0] == Part("age > 50.5", "age", ">", 50.5)
    assert young[1] == Part("odor = foul", "odor", "=", "foul")
    assert old[2] == Part("income is missing", "income", "is missing")
    assert young[3] == Part("member = True", "member", "=", True)
    assert young[4] == Part("rings ≤ 1", "rings", "≤", 1.0)
    assert old[4] == Part("rings > 1", "rings", ">", 1.0)


def test_a_value_on_an_edge_belongs_to_the_bin_below() -> None:
    rows = vd.Rows(np.arange(10.0)[:, None], names=["age"], discretize=vd.bins.Edges({"age": [3.0, 6.0]}))
    names = [rows([v]).names[0] for v in (3.0, 3.0000001, 6.0, 6.1)]
    assert names == ["age ≤ 3", "3 < age ≤ 6", "3 < age ≤ 6", "age > 6"]


def test_edges_are_written_with_enough_digits_to_tell_them_apart() -> None:
    rows = vd.Rows(100 + np.arange(40.0)[:, None] / 1e4, names=["x"])
    assert len({rows([100 + v / 1e4]).names[0] for v in (0, 12, 25, 39)}) == 4


@pytest.mark.parametrize(
    ("edge", "shown"), [(187_500.0, "187500"), (0.25, "0.25"), (1_250_000.0, "1250000"), (-45_000.0, "-45000")]
)
def test_edges_are_written_as_people_write_them(edge: float, shown: str) -> None:
    values = edge + np.linspace(-1, 1, 21)[:, None]
    rows = vd.Rows(values, names=["income"], discretize=vd.bins.Edges({"income": [edge]}))
    assert rows([edge + 1]).names[0] == f"income > {shown}"


def test_dates_and_durations_are_named_as_such() -> None:
    days = pd.date_range("2020-01-01", periods=5, freq="D")
    table = pd.DataFrame({"since": days, "lag": pd.to_timedelta(range(5), "h")})
    since, lag = vd.Rows(table)(table.iloc[0]).parts
    assert since == Part("since ≤ 2020-01-02", "since", "≤", pd.Timestamp("2020-01-02"))
    assert lag.value == pd.Timedelta(hours=1)
    assert lag.name == f"lag ≤ {pd.Timedelta(hours=1)}"


def test_dates_with_a_zone_are_named_in_that_zone() -> None:
    days = pd.date_range("2020-01-01", periods=5, freq="D", tz="Asia/Tokyo")
    table = pd.DataFrame({"since": days})
    (since,) = vd.Rows(table)(table.iloc[0]).parts
    assert since.value == days[1]
    assert since.name.startswith("since ≤ 2020-01-02")


def test_dates_far_away_are_dates_too() -> None:
    days = np.array(["2020-01-01", "2021-01-01", "2022-01-01", "9999-12-31"] * 5, "datetime64[s]")
    table = pd.DataFrame({"until": days})
    assert vd.Rows(table)(table.iloc[3]).names[0].startswith("until > ")


def test_edges_of_dates_are_dates() -> None:
    table = pd.DataFrame({"since": pd.date_range("2020-01-01", periods=100, freq="D"), "x": np.arange(100.0)})
    rows = vd.Rows(table, discretize=vd.bins.Edges({"since": [pd.Timestamp("2020-03-01")]}))
    assert rows(table.iloc[0]).names[0] == "since ≤ 2020-03-01"


def test_continuous_parts_are_named_by_their_column() -> None:
    values = np.random.default_rng(0).normal(size=(N, 2))
    part = vd.Rows(values, names=["age", "x"], discretize=vd.bins.Continuous())(values[3]).parts[0]
    assert part.name == part.column == "age"
    assert part.relation == "per sd"
    assert part.value == pytest.approx(values[3, 0])


# Bins ------------------------------------------------------------------------------------------------------


def states(rows: vd.Rows, values: Any) -> list[str]:
    return [rows([v]).names[0] for v in values]


@pytest.mark.parametrize(
    ("discretize", "n"), [(vd.bins.Quartiles(), 4), (vd.bins.Deciles(), 10), (vd.bins.Quantiles(3), 3)]
)
def test_quantiles_make_bins_of_equal_count(discretize: Any, n: int) -> None:
    values = np.random.default_rng(0).lognormal(size=(300, 1))
    counts = pd.Series(states(vd.Rows(values, discretize=discretize), values[:, 0])).value_counts()
    assert len(counts) == n
    assert counts.max() - counts.min() <= 2


def test_equal_edges_are_merged() -> None:
    values = np.array([0.0] * 70 + list(range(1, 31)))[:, None]
    names = set(states(vd.Rows(values), values[:, 0]))
    assert names == {"x0 ≤ 0", "0 < x0 ≤ 5.25", "x0 > 5.25"}


def test_a_spike_is_sampled_as_itself() -> None:
    """The lime package turned a column with 60 % fives into 62 % zeros (protocol card A.8)."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random((N, 1)) < 0.6, 5.0, rng.normal(20, 3, (N, 1)))
    spy = Spy(noise)
    vd.explain(spy, vd.Rows(values), values[0], method=vd.Lime(n_samples=2000, kernel=EVERYWHERE))
    sampled = spy.batches[0][1:, 0]
    assert (sampled == 5.0).mean() == pytest.approx((values == 5.0).mean(), abs=0.02)


def test_entropy_cuts_where_the_labels_change() -> None:
    values = np.arange(100.0)[:, None]
    labels = np.where(values[:, 0] < 30, "a", np.where(values[:, 0] < 70, "b", "a"))
    rows = vd.Rows(values, discretize=vd.bins.Entropy(labels))
    assert set(states(rows, values[:, 0])) == {"x0 ≤ 29.5", "29.5 < x0 ≤ 69.5", "x0 > 69.5"}


def test_edges_by_name_or_position_and_quartiles_elsewhere() -> None:
    values = np.stack([np.arange(100.0), np.arange(100.0)], axis=1)
    for key in ("x0", 0):
        names = vd.Rows(values, discretize=vd.bins.Edges({key: [50.0]}))([60.0, 60.0]).names
        assert names == ("x0 > 50", "49.5 < x1 ≤ 74.25")


def test_a_column_of_two_values_is_a_column_of_two_levels() -> None:
    values = np.array([[0.0, 1.0], [1.0, 2.0], [1.0, 3.0], [0.0, 4.0]] * 10)
    assert vd.Rows(values)(values[0]).parts[0] == Part("x0 = 0", "x0", "=", 0.0)


# Instances -------------------------------------------------------------------------------------------------


def test_all_forms_of_a_row_give_the_same_explanation() -> None:
    table = mixed(
        "float64", "float32", "Float64", "int8", "Int64 with NA", "bool", "boolean", "category", "str with nan",
        "object of words and None", "datetime with NaT", "datetime with zone", "timedelta",
        "object of mixed types",
    )  # fmt: skip
    rows = vd.Rows(table)
    for i in (0, 1, 2, 3):
        row = table.iloc[i]
        shuffled = row.sample(frac=1, random_state=0)
        forms = [table.iloc[[i]], row, shuffled, row.to_dict(), row.tolist(), tuple(row), table[i : i + 1]]
        found = [vd.explain(lambda X: X["float64"] + X["int8"], rows, form) for form in forms]
        for why in found[1:]:
            assert why.names == found[0].names
            np.testing.assert_array_equal(why.weights, found[0].weights)


def test_a_row_of_an_array_may_come_in_any_form() -> None:
    values = np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
    rows, x = vd.Rows(values, names=["a", "b", "c"]), values[0]
    for form in (x, x[None, :], list(x), tuple(x), x.astype(np.float64), pd.Series(x), pd.DataFrame([x])):
        assert rows(form).names == rows(x).names


def test_a_mapping_is_read_by_name_also_for_an_array() -> None:
    values = np.random.default_rng(0).normal(size=(N, 3)) + np.array([0, 100, 200])
    rows, x = vd.Rows(values, names=["a", "b", "c"]), values[0]
    reversed_row = {"c": x[2], "b": x[1], "a": x[0]}
    for form in (reversed_row, pd.Series(reversed_row), pd.DataFrame([reversed_row])):
        assert rows(form).names == rows(x).names


def test_many_rows_may_come_in_another_order_of_columns() -> None:
    table = mixed("float64", "int8", "category")
    rows, method = vd.Rows(table), vd.Lime(n_samples=100)
    straight = vd.explain_many(lambda X: X["float64"], rows, table[:4], method=method)
    turned = vd.explain_many(lambda X: X["float64"], rows, table[:4].iloc[:, ::-1], method=method)
    for a, b in zip(straight, turned, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)


def test_columns_may_have_labels_that_are_not_strings() -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 3)), columns=[10, 20, 30])
    spy = Spy(lambda X: X[20])
    why = vd.explain(spy, vd.Rows(table, immutable=[10]), table.iloc[0])
    assert [part.column for part in why.parts] == ["20", "30"]
    assert_same_schema(spy.batches[0], table)


def test_a_model_that_changes_its_inputs_changes_nothing_of_ours() -> None:
    values = np.random.default_rng(0).normal(size=(N, 3))
    untouched = values.copy()

    def careless(X: Any) -> Any:
        answer = np.tanh(X[:, 0] + X[:, 1] * X[:, 2])
        X *= 0.0
        return answer

    rows, method = vd.Rows(values), vd.Lime(n_samples=200)
    one = vd.explain(careless, rows, values[0], method=method)
    many = vd.explain_many(careless, rows, values[:5], method=method)
    np.testing.assert_array_equal(values, untouched)
    honest = vd.explain_many(lambda X: np.tanh(X[:, 0] + X[:, 1] * X[:, 2]), rows, untouched[:5], method=method)
    alone = vd.explain(lambda X: np.tanh(X[:, 0] + X[:, 1] * X[:, 2]), rows, untouched[0], method=method)
    np.testing.assert_array_equal(one.weights, alone.weights)
    for a, b in zip(many, honest, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights)


# Models ----------------------------------------------------------------------------------------------------


def test_a_pipeline_with_a_column_transformer_works_unchanged() -> None:
    table = mixed("float64 with nan", "float32", "int64", "bool", "category", "str")
    y = np.where(table["float64 with nan"].fillna(0) + (table["str"] == "foul") > 0.3, "eat", "leave")
    numbers, words = ["float64 with nan", "float32", "int64"], ["bool", "category", "str"]
    prepare = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("words", OneHotEncoder(handle_unknown="error"), words),
        ]
    )
    model = make_pipeline(prepare, RandomForestClassifier(20, random_state=0)).fit(table, y)
    rows = vd.Rows(table)
    why = vd.explain(model.predict_proba, rows, table.iloc[0], method=linear_lime())
    assert why.target == model.predict(table.iloc[[0]])[0]
    assert why.prediction == model.predict_proba(table.iloc[[0]]).max()
    assert {why.parts[why.names.index(name)].column for name, _ in why.top(2)} == {"float64 with nan", "str"}
    assert len(vd.explain_many(model.predict_proba, rows, table[:3], method=linear_lime())) == 3


def test_the_predicted_class_of_a_decision_function_is_named_rightly() -> None:
    from sklearn.linear_model import LogisticRegression

    table = mixed("float64", "int64")
    y = np.where(table["float64"] > 0, "yes", "no")
    model = LogisticRegression(max_iter=1000).fit(table, y)
    why = vd.explain(model.decision_function, vd.Rows(table), table.iloc[0])
    assert why.target != "no", "a binary decision function speaks for the second class"


@pytest.mark.parametrize("dtype", ["float64", "float32", "Int64", "Float64"])
def test_a_column_of_one_value_that_is_missing_now_and_then(dtype: str) -> None:
    rng = np.random.default_rng(0)
    gone = rng.random(N) < 0.3
    table = pd.DataFrame(
        {"x": rng.normal(size=N), "b": pd.array(np.where(gone, None, 3), dtype="Int64").astype(dtype)}
    )
    rows = vd.Rows(table)
    for i, name in ((int(np.argmax(gone)), "b is missing"), (int(np.argmin(gone)), "b = 3")):
        why = vd.explain(lambda X: X["b"].isna().to_numpy() * 2.0, rows, table.iloc[i], method=linear_lime())
        assert why.top(1)[0] == (name, pytest.approx(2.0 if gone[i] else -2.0, abs=1e-6))


# Statistics instead of data ------------------------------------------------------------------------------------


def test_statistics_of_the_data_give_what_the_data_give() -> None:
    """The law of a background is known from its bins' shares, means and spreads: the same samples, to the bit."""
    rng = np.random.default_rng(0)
    numbers, codes = rng.normal(size=N), rng.integers(0, 3, N).astype(float)
    edges = vd.bins.Quartiles().edges(numbers, "", 0)
    inside = [numbers[np.searchsorted(edges, numbers) == b] for b in range(4)]
    known = vd.bins.BinStatistics(
        edges,
        [len(some) / N for some in inside],
        [some.mean() for some in inside],
        [some.std() for some in inside],
        numbers.min(),
        numbers.max(),
    )
    shares = np.bincount(codes.astype(int)) / N
    table = np.stack([numbers, codes], axis=1)
    drawn = []
    for rows in (
        vd.Rows(table, categorical=[1]),
        vd.Rows.from_statistics([known, vd.bins.CategoryStatistics([0.0, 1.0, 2.0], shares)]),
    ):
        spy = Spy(noise)
        why = vd.explain(spy, rows, table[0], method=Piecewise(lime=linear_lime(n_samples=64)))
        drawn.append((np.concatenate(spy.batches), why.names, why.weights))
    np.testing.assert_array_equal(drawn[0][0], drawn[1][0])
    assert drawn[0][1] == drawn[1][1]
    np.testing.assert_array_equal(drawn[0][2], drawn[1][2])


def test_statistics_by_name_give_tables() -> None:
    rows = vd.Rows.from_statistics(
        {
            "city": vd.bins.CategoryStatistics(["Bern", "Oslo"], [0.3, 0.5], missing=0.2),
            "age": vd.bins.BinStatistics([30], [0.4, 0.5], [20, 50], [3, 9], 18, 90, missing=0.1),
            "debt": vd.bins.NumberStatistics(10, 2),
            "planet": vd.bins.CategoryStatistics(["Earth"], [1.0]),
        }
    )
    assert rows.notes == ("left out, because they never vary in the background: 'planet'",)
    seen: list[pd.DataFrame] = []

    def model(table: pd.DataFrame) -> Any:
        seen.append(table)
        return table["debt"] + 3 * (table["city"] == "Oslo") + table["age"].isna()

    own = {"city": None, "age": float("nan"), "debt": 12, "planet": "Earth"}
    why = vd.explain(model, rows, own, method=vd.Lime(n_samples=4000, kernel=EVERYWHERE))
    assert why.names == ("city is missing", "age is missing", "debt")
    table = pd.concat([piece.iloc[1:] for piece in seen])
    assert table["city"].value_counts(dropna=False, normalize=True)["Bern"] == pytest.approx(0.3, abs=0.1)
    assert set(table["planet"]) == {"Earth"}
    assert table["age"].min() >= 18
    assert why.weights == pytest.approx([-3 * 0.5 / 0.8, 1, 2], abs=0.1)
    unseen = vd.explain(model, rows, {**own, "city": "Rome"}, method=vd.Lime(n_samples=200))
    assert unseen.names[0] == "city = Rome"
    with pytest.raises(vd.errors.InputError, match="made of statistics"):
        vd.explain(model, rows, own, method=vd.Contrast())


B = vd.bins
STATISTICS: dict[str, tuple[Any, str]] = {
    "nothing": (lambda: vd.Rows.from_statistics([]), "one per column"),
    "data": (lambda: vd.Rows.from_statistics([[1.0, 2.0]]), "one per column"),
    "names twice": (lambda: vd.Rows.from_statistics({"a": B.NumberStatistics(0, 1)}, names=["b"]), "has its own"),
    "constant": (lambda: vd.Rows.from_statistics({"a": B.CategoryStatistics(["x"], [1.0])}), "no column varies"),
    "words in arrays": (
        lambda: vd.Rows.from_statistics([B.CategoryStatistics(["x", "y"], [0.5, 0.5])]),
        "numbers",
    ),
    "no spread": (lambda: B.NumberStatistics(0, 0), "sd must be a positive number"),
    "nan": (lambda: B.NumberStatistics(np.nan, 1), "mean must be a number"),
    "shares": (lambda: B.CategoryStatistics(["x", "y"], [0.5, 0.6]), "add up to 1"),
    "fewer shares": (lambda: B.CategoryStatistics(["x", "y"], [1.0]), "one category per share"),
    "one text": (lambda: B.CategoryStatistics("xy", [0.5, 0.5]), "one category per share"),
    "edges": (lambda: B.BinStatistics([2, 1], [0.2, 0.3, 0.5], [0] * 3, [1] * 3, 0, 3), "increasing"),
    "no edges": (lambda: B.BinStatistics([], [1.0], [0], [1], 0, 3), "at least one"),
    "bins": (lambda: B.BinStatistics([1], [0.5, 0.5], [0], [1, 1], 0, 3), "one number per bin: 2, not 1"),
    "spreads": (lambda: B.BinStatistics([1], [0.5, 0.5], [0, 2], [1, -1], 0, 3), "from 0 on"),
    "ends": (lambda: B.BinStatistics([1], [0.5, 0.5], [0, 2], [1, 1], 3, 0), "low must be below high"),
    "text": (lambda: B.BinStatistics("abc", [0.5, 0.5], [0, 2], [1, 1], 3, 0), "list of numbers"),
    "rows": (lambda: vd.Rows.from_statistics([B.NumberStatistics(0, 1)], n_rows=0), "n_rows"),
}


@pytest.mark.parametrize("case", STATISTICS)
def test_bad_statistics(case: str) -> None:
    make, words = STATISTICS[case]
    with pytest.raises(vd.errors.InputError, match=words):
        make()
