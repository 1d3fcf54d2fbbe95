"""Rows from files: the same bits as from memory, however files, row groups and chunks are cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.records import Floats
from veridical.scale.engines.local import Threads
from veridical.scale.sources import LARGE, CsvRows, Parquet, instance_source, paths_of, values_of

rng = np.random.default_rng(0)
N = 1300
TABLE = pd.DataFrame(
    {
        "age": rng.integers(18, 90, N),
        "income": np.where(rng.random(N) < 0.1, np.nan, rng.lognormal(10, 1, N).round(2)),
        "city": pd.Categorical(rng.choice(["Linz", "Graz, Süd", 'the "Wald"', "two\nlines"], N)),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, N), unit="D"),
        "word": rng.choice(["yes", "no", ""], N),
        "member": rng.random(N) < 0.5,
        "id": [f"r{i}" for i in range(N)],
    }
)
TABLE["word"] = TABLE["word"].where(TABLE["word"] != "", None)
X = TABLE.drop(columns="id")
ROWS = vd.Rows(X[:500])
METHOD = linear_lime(n_samples=64)


def predict(X: pd.DataFrame) -> Floats:
    score = 0.02 * X["age"] + X["member"] - (X["city"].astype(str) == "Linz") + 1e-6 * X["income"].fillna(0)
    return (score + 0.001 * X["since"].dt.month + (X["word"] == "yes")).to_numpy(dtype=float)


def bits(many: Any) -> list[Any]:
    return [(e.weights.tobytes(), e.intervals.tobytes(), e.prediction, dict(e.recipe), e.names) for e in many]


@pytest.fixture(scope="module")
def whole() -> list[Any]:
    return bits(vd.explain_many(predict, ROWS, X, method=METHOD))


def parquet(folder: Path, *, rows: int, group: int, frame: pd.DataFrame = TABLE) -> list[Path]:
    """The table in files of so many rows, in row groups of so many."""
    paths = []
    for i, start in enumerate(range(0, len(frame), rows)):
        paths.append(folder / f"rows-{i:03d}.parquet")
        frame[start : start + rows].to_parquet(paths[-1], row_group_size=group, index=False)
    return paths


@pytest.mark.parametrize(("rows", "group"), [(N, N), (500, 300), (99, 1)])
def test_parquet_files_give_the_bits_of_memory(tmp_path: Path, whole: list[Any], rows: int, group: int) -> None:
    parquet(tmp_path, rows=rows, group=group)
    found = vd.explain_many(predict, ROWS, str(tmp_path / "*.parquet"), keep=["id"], method=METHOD, batch_size=1)
    assert bits(found) == whole


@pytest.mark.parametrize("large", [0, LARGE])
def test_large_row_groups_are_read_once_and_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr("veridical.scale.sources.LARGE", large)
    source = Parquet.of(parquet(tmp_path, rows=600, group=250))
    assert source.n_rows == N
    for size in (7, 300, 1024, 5000):
        chunks = list(source.chunks(size))
        assert [c.number for c in chunks] == list(range(len(chunks)))
        assert [c.start for c in chunks[1:]] == [c.stop for c in chunks[:-1]]
        read = pd.concat([c.load() for c in chunks], ignore_index=True)
        assert all(len(c.load()) == c.stop - c.start for c in chunks)
        pd.testing.assert_frame_equal(read, TABLE, check_dtype=False, check_categorical=False)
    pd.testing.assert_frame_equal(source.head(10), TABLE[:10], check_dtype=False, check_categorical=False)


def test_workers_read_no_more_than_the_row_groups_they_need(tmp_path: Path) -> None:
    import pickle

    first, *_ = Parquet.of(parquet(tmp_path, rows=N, group=100)).chunks(1024)
    assert len(pickle.dumps(first)) < 500  # the rows themselves do not travel


def write_lines(path: Path, frame: pd.DataFrame = TABLE, **settings: Any) -> Path:
    frame.to_csv(path, index=False, **settings)
    return path


@pytest.mark.parametrize(
    "settings", [{"sep": ";"}, {"sep": "\t", "encoding": "utf-16"}, {"encoding": "utf-8-sig"}], ids=str
)
def test_lines_give_the_bits_of_memory(tmp_path: Path, whole: list[Any], settings: dict[str, Any]) -> None:
    path = write_lines(tmp_path / "rows.csv", **settings)
    assert bits(vd.explain_many(predict, ROWS, path, keep=["id"], method=METHOD, batch_size=1024)) == whole


def test_several_files_of_lines_are_one_table(tmp_path: Path, whole: list[Any]) -> None:
    paths = [write_lines(tmp_path / f"{i}.csv", TABLE[i : i + 500]) for i in range(0, N, 500)]
    found = vd.explain_many(predict, ROWS, [*map(str, paths)], keep=["id"], method=METHOD)
    assert bits(found) == whole


def test_numbers_of_lines_are_those_that_pandas_reads(tmp_path: Path) -> None:
    numbers = pd.DataFrame({"a": rng.normal(size=3000) * 10.0 ** rng.integers(-20, 20, 3000)})
    path = write_lines(tmp_path / "numbers.csv", numbers)
    read = pd.concat([chunk.load() for chunk in CsvRows((path,)).chunks(777)], ignore_index=True)
    assert read["a"].to_numpy().tobytes() == pd.read_csv(path)["a"].to_numpy().tobytes()


def test_types_of_lines_do_not_depend_on_how_rows_are_cut(tmp_path: Path) -> None:
    """A column that is whole in one chunk and has gaps in another; one that is all words but in one chunk."""
    frame = pd.DataFrame({"a": ["1"] * 1500 + [""] + ["2"] * 1000, "b": ["x"] * 1200 + ["7"] * 1301})
    source = CsvRows((write_lines(tmp_path / "odd.csv", frame),), {"a": np.dtype(float)})
    for size in (100, 1024, 10_000):
        chunks = [chunk.load() for chunk in source.chunks(size)]
        assert {str(c["a"].dtype) for c in chunks} == {"float64"}
        assert len({str(c["b"].dtype) for c in chunks}) == 1


def test_a_text_among_numbers_stays_one() -> None:
    texts = pd.Series(["1", "2.5", None, "abc"])
    assert values_of(texts, np.dtype(float), ".").to_list()[:2] == [1.0, 2.5]
    assert values_of(texts, np.dtype(float), ".").to_list()[3] == "abc"
    assert values_of(pd.Series(["True", "maybe"]), np.dtype(bool), ".").to_list() == [True, "maybe"]
    assert values_of(pd.Series(["1,5", "2"]), np.dtype(float), ",").to_list() == [1.5, 2.0]
    assert values_of(pd.Series(["9007199254740993", None]), np.dtype(int), ".").to_list()[0] == 9007199254740993


def test_rows_with_a_wrong_value_in_a_file_are_recorded(tmp_path: Path) -> None:
    wrong = TABLE.astype({"age": object, "city": object})
    wrong.loc[3, "age"], wrong.loc[1200, "age"], wrong.loc[1201, "city"] = "old", "older", "Rome"
    store = vd.explain_many(
        predict, ROWS, write_lines(tmp_path / "w.csv", wrong), keep=["id"], method=METHOD, store=tmp_path / "s"
    )
    assert store.failed["row"].to_list() == ["r3", "r1200"]
    assert store.failed["number"].to_list() == [3, 1200]
    assert "age" in store.failed["error"][0]
    assert "age" in store.failed["error"][1]
    assert "city = Rome" in store[1201].names  # never seen, which is no error
    right = vd.explain_many(predict, ROWS, X, method=METHOD)
    assert bits([store[2], store[1199], store[1299]]) == bits([right[2], right[1199], right[1299]])


def test_texts_come_from_the_column_that_is_left(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": range(40), "text": [f"good film number {i}" for i in range(40)]})
    path = tmp_path / "texts.parquet"
    frame.to_parquet(path)

    def length(texts: Any) -> list[float]:
        return [float(len(text)) for text in texts]

    found = vd.explain_many(length, vd.Words(), path, keep=["id"], method=linear_lime())
    assert bits(found) == bits(vd.explain_many(length, vd.Words(), frame["text"], method=linear_lime()))


def test_paths_are_told_from_data(tmp_path: Path) -> None:
    paths = parquet(tmp_path, rows=1000, group=1000)
    assert (
        paths_of(tmp_path)
        == paths_of(str(tmp_path))
        == paths_of(str(tmp_path / "*.parquet"))
        == paths_of(paths)
        == tuple(paths)
    )
    assert paths_of(["a text", "another"]) is None
    assert paths_of(TABLE) is None
    assert instance_source(Threads(), iter([1, 2, 3])).n_rows == 3


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: folder / "none.parquet", ("there is no file", "none.parquet")),
        (lambda folder: str(folder / "*.csv"), ("no file matches",)),
        (lambda folder: folder, ("no Parquet or CSV files",)),
        (
            lambda folder: _written(folder / "broken.parquet", b"PAR1 and then nothing"),
            ("cannot be read as Parquet",),
        ),
        (lambda folder: _written(folder / "empty.csv", b""), ("empty.csv", "no table")),
        (lambda folder: _written(folder / "head.csv", b"age,income\n"), ("no rows",)),
        (lambda folder: _written(folder / "odd.csv", b"a,b\n1,2\n1,2,3\n"), ("odd.csv",)),
        (lambda folder: _written(folder / "latin.csv", "a\nä\n".encode("latin-1")), ("utf-8", "save it as UTF-8")),
        (lambda folder: _written(folder / "x.txt", b"a"), ("all of one kind", ".txt")),
        (lambda folder: write_lines(folder / "c.csv", TABLE[["age", "id"]]), ("missing: income",)),
    ],
    ids=["no file", "no match", "no table", "broken", "empty", "no rows", "ragged", "encoding", "kind", "columns"],
)
def test_files_that_cannot_be_read_are_told(tmp_path: Path, make: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(vd.errors.InputError) as caught:
        vd.explain_many(predict, ROWS, make(tmp_path), keep=["id"], method=linear_lime())
    assert all(word in str(caught.value) for word in words), str(caught.value)


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_an_index_of_pandas_is_in_nobodys_way(tmp_path: Path) -> None:
    some = TABLE[:60]
    some[:20].to_parquet(tmp_path / "a.parquet", index=False)
    some[20:40].set_axis(list("abcdefghijklmnopqrst")).to_parquet(tmp_path / "b.parquet")
    some[40:].set_index("id").to_parquet(tmp_path / "c.parquet")
    plain, named = [tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "c.parquet"
    found = vd.explain_many(predict, ROWS, plain, keep=["id"], method=METHOD, store=tmp_path / "plain")
    assert len(found) == 40
    found = vd.explain_many(predict, ROWS, named, keep=["id"], method=METHOD, store=tmp_path / "named")
    assert found.to_frame()["id"].unique().tolist() == [f"r{i}" for i in range(40, 60)]
    assert Parquet.of([named]).head(3).columns.tolist() == X.columns.tolist()


def test_kept_columns_are_not_the_models() -> None:
    with pytest.raises(vd.errors.InputError, match=r"keep names 'age', which the model needs"):
        vd.explain_many(predict, ROWS, TABLE, keep=["id", "age"], method=linear_lime())


def test_files_of_other_columns_are_refused(tmp_path: Path) -> None:
    first = parquet(tmp_path, rows=N, group=N)[0]
    TABLE.drop(columns="age").to_parquet(tmp_path / "z.parquet")
    with pytest.raises(vd.errors.InputError, match=r"z.parquet has other columns than .*rows-000.parquet.*age"):
        vd.explain_many(predict, ROWS, [first, tmp_path / "z.parquet"], keep=["id"], method=linear_lime())


def test_files_of_other_types_are_refused(tmp_path: Path) -> None:
    first = parquet(tmp_path, rows=N, group=N)[0]
    TABLE.astype({"age": str}).to_parquet(tmp_path / "z.parquet")
    with pytest.raises(vd.errors.InputError, match=r"types that do not go together .*age.*: write it in one type"):
        vd.explain_many(predict, ROWS, [first, tmp_path / "z.parquet"], keep=["id"], method=METHOD)


def test_kept_columns_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(vd.errors.InputError, match=r"keep names 'key', which is no column"):
        vd.explain_many(predict, ROWS, TABLE, keep=["key"], method=linear_lime())
    with pytest.raises(vd.errors.InputError, match=r"keep names columns of a table"):
        vd.explain_many(lambda X: X[:, 0], vd.Rows(np.eye(4)), np.eye(4), keep=["key"], method=linear_lime())
