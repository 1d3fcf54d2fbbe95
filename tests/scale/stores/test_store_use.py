"""What is done with stores: picks, comparisons and groups read a little at a time; digests know values only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.comparisons import differences as over_rows
from veridical.errors import InputError
from veridical.records import Explanation
from veridical.scale.stores import store as stores
from veridical.scale.stores.instances import MODULUS, digest_of, instances_in, pack_instances
from veridical.scale.stores.store import Store, explanation_source

pa = pytest.importorskip("pyarrow")

METHOD = linear_lime(n_samples=64)
TABLE = pd.DataFrame(np.random.default_rng(0).normal(size=(1100, 3)), columns=["a", "b", "c"])


def broken(X: pd.DataFrame) -> Any:
    """Fails on row 5, by what is in it."""
    if (X["a"] == TABLE["a"][5]).any():
        raise RuntimeError("not that one")
    return X["a"].to_numpy() * X["b"].to_numpy()


def silent(work: Any, total: int | None = None) -> Any:
    return work


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("stores") / "s"
    rows = vd.Rows(TABLE.drop(index=5))
    return vd.explain_many(broken, rows, TABLE, method=METHOD, store=path, batch_size=1024, progress=silent)


def test_a_pick_knows_rows_by_their_numbers(store: Store) -> None:
    assert store.failed["row"].tolist() == [5]
    numbered = list(store.numbered())
    in_memory = vd.pick([e for _, e in numbered], 6)
    for source in (store, store.path, str(store.path)):
        pick = vd.pick(source, 6)
        assert pick.chosen.tolist() == [numbered[i][0] for i in in_memory.chosen]
        np.testing.assert_array_equal(pick.coverage, in_memory.coverage)
        np.testing.assert_array_equal(pick.importance, in_memory.importance)
        assert pick.n == len(TABLE) - 1
    assert vd.picks.pick_at_random(store, 3).n == len(TABLE) - 1
    np.testing.assert_array_equal(vd.picks.pick_for_two(store, store, 2).chosen, vd.pick(store, 2).chosen)


def test_a_pick_reads_a_little_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, own = set[str](), stores.columns_of

    def watched(path: Path, names: Sequence[str], n_rows: int) -> Iterator[Any]:
        asked.update(names)
        return own(path, names, n_rows)

    monkeypatch.setattr(stores, "columns_of", watched)
    monkeypatch.setattr(Explanation, "__init__", None)
    vd.pick(store, 3)
    parts = {"names", "columns", "relations", "values", "weights", "positions"}
    assert asked == parts | {"target", "target_is_index", "target_class", "row", "error", "row_name", "keep: *"}
    assert [len(batch.targets) for batch in explanation_source(store).batches()] == [1023, 76]


def test_stores_are_compared_row_by_row(store: Store, tmp_path: Path) -> None:
    rows = vd.Rows(TABLE)
    asked = {"method": METHOD, "rng": 1, "progress": silent}
    other = vd.explain_many(lambda X: -X["a"].to_numpy(), rows, TABLE, store=tmp_path / "t", **asked)
    found = vd.compare(store.path, str(other.path), names=("old", "new"))
    numbers, first = zip(*store.numbered(), strict=True)
    expected = vd.compare(first, [e for i, e in other.numbered() if i in numbers])
    assert found.names == expected.names
    for name in ("weights", "intervals", "p", "counts"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)
    np.testing.assert_allclose(found.changes[list(numbers)], expected.changes)
    assert found.changes[5] == 0
    assert "1 row that only one of them explains is left out." in found.notes
    assert f"row {found.rows[0]}: " in str(found)
    assert "1,099 explanations, mean held-out R²" in str(found)
    assert "mean held-out R²" in found._repr_html_()
    found.save(tmp_path / "difference.csv")
    with pytest.raises(InputError, match=r"save it as \.csv, \.html or a picture, and keep the folder"):
        found.save(tmp_path / "difference.json")
    with pytest.raises(InputError, match="only the first has 3, 4, 5 and 1094 more"):
        vd.compare(store, other[:3])
    with pytest.raises(InputError, match="not 1100 of them and one Explanation"):
        vd.compare(store, other[0])
    mixed = vd.compare(store, other[:])
    np.testing.assert_array_equal(mixed.weights, found.weights)


def test_means_over_rows_do_not_know_how_rows_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way of working in parts against the plain formulas."""
    rows, asked = vd.Rows(TABLE[:90]), {"method": METHOD, "progress": silent}
    models = [lambda X: X["a"].to_numpy(), lambda X: X["a"].to_numpy() * X["b"].to_numpy()]
    first, second = (vd.explain_many(m, rows, TABLE[:90], rng=i, **asked) for i, m in enumerate(models))
    whole = vd.compare(first, second)
    monkeypatch.setattr(over_rows, "PAIRS_PER_BATCH", 7)
    again = vd.compare(first, second)
    for name in ("weights", "intervals", "p", "changes"):
        np.testing.assert_allclose(getattr(again, name), getattr(whole, name), rtol=1e-9)
    lines = pd.concat([first.to_frame(), second.to_frame()[["weight"]].add_prefix("other ")], axis=1)
    apart = (lines["other weight"] - lines["weight"]).groupby(lines["part"])
    named = list(whole.names)
    np.testing.assert_allclose(whole.difference, apart.mean()[named])
    np.testing.assert_array_equal(whole.counts, apart.count()[named])


def test_groups_are_those_of_the_rows(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, X = vd.Rows(TABLE), TABLE.drop(index=5).reset_index(drop=True)
    asked = {"k": 2, "method": vd.groupings.ModelTree(), "progress": silent}

    def model(X: pd.DataFrame) -> Any:
        return np.where(X["a"] > 0, X["b"], X["c"])

    expected = vd.group(model, rows, X, **asked)
    for source in (store, store.path):
        found = vd.group(model, rows, source, **asked)
        np.testing.assert_array_equal(found.weights, expected.weights)
        assert found.notes == expected.notes
    monkeypatch.setattr(stores, "MOST", 400)
    some = vd.group(model, rows, store, **asked)
    assert some.notes[0] == "The groups are those of about 400 rows drawn from 1,100."
    assert 300 < some.sizes.sum() < 500


def test_a_sample_depends_on_the_numbers_alone(store: Store) -> None:
    few, more = (store.instances(n) for n in (200, 600))
    assert 150 < len(few) < 250 < 550 < len(more) < 650
    assert set(few["a"]) <= set(more["a"])
    assert TABLE["a"][5] not in set(store.instances(10**9)["a"])
    assert len(store.instances(10**9)) == len(TABLE) - 1


def round_trip(X: Any, kept: pd.DataFrame | None = None) -> Any:
    columns, labels = pack_instances(X, kept)
    return instances_in(pa.table(columns).replace_schema_metadata(labels))


def test_instances_come_back() -> None:
    frame = pd.DataFrame(
        {
            "n": [1, 2, 3],
            "x": [0.5, np.nan, 2.0],
            "who": ["a", None, "c"],
            "kind": pd.Categorical(["u", "v", "u"]),
            "yes": [True, False, True],
            "when": pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
        }
    )
    back = round_trip(frame)
    pd.testing.assert_frame_equal(back.astype({"kind": "category"}), frame, check_dtype=False)
    pd.testing.assert_frame_equal(round_trip(pd.DataFrame(np.eye(2))), pd.DataFrame(np.eye(2)), check_names=False)
    for array in (np.eye(3), np.eye(3, dtype=np.float32), np.arange(6).reshape(3, 2)):
        np.testing.assert_array_equal(round_trip(array), array)
        assert round_trip(array).dtype == array.dtype
    assert round_trip(["one", "two"]) == ["one", "two"]
    assert round_trip(pd.Series(["one", "two"])) == ["one", "two"]
    for other in ([np.zeros((2, 2, 3))], np.zeros((2, 4, 4)), csr_matrix(np.eye(2)), [{"text": "a"}]):
        with pytest.raises(InputError, match="give them as X"):
            round_trip(other)


def test_columns_of_any_kind_are_kept() -> None:
    kept = pd.DataFrame({"id": [1, 2], "day": [date(2020, 1, 1), None], "odd": [(1, 2), "three"]})
    columns, _ = pack_instances([np.zeros((2, 2))] * 2, kept)
    assert list(columns) == ["keep: id", "keep: day", "keep: odd"]
    assert columns["keep: odd"].to_pylist() == ['{"tuple": [1, 2]}', '"three"']


def digest(**columns: Any) -> int:
    n = len(next(iter(columns.values())))
    return digest_of(pa.table({"row": range(n), **columns}))


def test_equal_values_have_equal_digests() -> None:
    """Whatever type holds them; another value, order, place or name has another digest."""
    own = digest(x=pa.array([1, None, 3]))
    for same in (
        pa.array([1.0, None, 3.0]),
        pa.array([1.0, np.nan, 3.0]),
        pa.array([1, None, 3], pa.int8()),
        pa.array([1.0, None, 3.0], pa.float32()),
        pa.array([1, None, 3]).dictionary_encode(),
    ):
        assert digest(x=same) == own
    for other in ([3, None, 1], [1, 0, 3], [1, None, 4], ["1", None, "3"]):
        assert digest(x=pa.array(other)) != own
    assert digest(y=pa.array([1, None, 3])) != own
    texts = digest(x=pa.array(["a", None, ""]))
    assert digest(x=pa.array(["a", None, ""]).dictionary_encode()) == texts
    assert digest(x=pa.array(["a", None, ""], pa.large_string())) == texts
    assert digest(x=pa.array(["a", "", None])) != texts
    lists = digest(x=pa.array([["a", "b"], [], None]))
    assert lists != digest(x=pa.array([["a"], ["b"], None]))
    assert lists != digest(x=pa.array([["a", "b"], None, []]))
    assert digest(x=pa.array([2**53 + 1])) != digest(x=pa.array([2**53 + 2])) != digest(x=pa.array([float(2**53)]))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.floats(), st.text(max_size=3), st.lists(st.text(max_size=2))), min_size=1, max_size=20),
    st.data(),
)
def test_digests_add_up(rows: list[tuple[float, str, list[str]]], data: st.DataObject) -> None:
    """However rows are cut, and in whatever order the pieces come."""
    x, text, many = (list(column) for column in zip(*rows, strict=True))
    text = [each.encode("utf-8", "replace").decode() for each in text]
    many = [[each.encode("utf-8", "replace").decode() for each in some] for some in many]
    table = pa.table({"row": range(len(x)), "x": x, "text": text, "many": pa.array(many, pa.list_(pa.string()))})
    at = data.draw(st.integers(0, len(x)))
    assert (digest_of(table[at:]) + digest_of(table[:at])) % MODULUS == digest_of(table)
