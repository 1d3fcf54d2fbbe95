"""Stores: what is written is whole, what is there is resumed, what is of something else is refused."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.errors import InputError, ModelError
from veridical.models.adapters import model_of
from veridical.models.validation import seed_of
from veridical.records import Explanations
from veridical.scale.driver import Job, Run, describe_run, represent_head
from veridical.scale.engines.local import Threads
from veridical.scale.sources import instance_source
from veridical.scale.stores.store import Store
from veridical.scale.stores.writer import MANIFEST, ExplainedChunk, Folder, Head, begin, finish

N = 120
METHOD = linear_lime(n_samples=64)
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "age": RNG.normal(50, 10, N).round(1),
        "debt": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(size=N)),
        "town": pd.Categorical(RNG.choice(["Oslo", "Rome", "Łódź"], N)),
    }
)


def predict(X: pd.DataFrame) -> Any:
    return 1 / (1 + np.exp(-(X["age"].to_numpy() - 50) / 10 * np.where(X["town"] == "Rome", -1, 1)))


@pytest.fixture(scope="module")
def many() -> Explanations:
    return vd.explain_many(predict, vd.Rows(TABLE), TABLE, method=METHOD)


def head(size: int, X: Any = TABLE, **changed: Any) -> Head:
    """What explain_many writes down of a call."""
    asked = {"model": predict, "represent": vd.Rows(TABLE), "method": METHOD, "target": None, "rng": 0} | changed
    classes, keep, seed = asked.get("classes"), asked.get("keep", ()), seed_of(asked["rng"])
    model, source = model_of(asked["model"], None), instance_source(Threads(), X)
    job = Job(model, asked["represent"], asked["method"], asked["target"], seed, classes)
    run = Run(Threads(), job, source, lambda work, total: work, size)
    return replace(describe_run(run, model, represent_head(run, 16)), keep=keep)


def piece(many: Explanations, folder: Folder, number: int, failed: dict[int, str]) -> ExplainedChunk:
    start = number * folder.chunk_rows
    stop = min(start + folder.chunk_rows, N)
    found = [None if i in failed else many[i] for i in range(start, stop)]
    errors = {i: why for i, why in failed.items() if start <= i < stop}
    kept = pd.DataFrame({"id": [f"row {i}" for i in range(start, stop)]})
    return ExplainedChunk(number, start, stop, found, errors, TABLE[start:stop], kept, stop - start)


def filled(path: Path, many: Explanations, size: int, failed: dict[int, str] | None = None) -> Store:
    """A store of all rows, or what is left of them."""
    folder, there = begin(path, head(size, keep=("id",)))
    for number in range(-(-N // folder.chunk_rows)):
        if number not in there:
            folder.put(piece(many, folder, number, failed or {}))
    finish(folder, N, 65)
    return Store(path)


def test_rows_come_back_as_they_were(many: Explanations, tmp_path: Path) -> None:
    store = filled(tmp_path / "s", many, 50)
    assert (len(store), store.n_rows) == (N, N)
    assert sorted(p.name for p in store.path.iterdir()) == [MANIFEST, *(f"part-{i:06d}.parquet" for i in range(3))]
    pd.testing.assert_frame_equal(
        store.to_frame().drop(columns=["id", "row"]), many.to_frame().drop(columns="row")
    )
    assert store.to_frame()["row"].tolist() == store.to_frame()["id"].tolist()
    assert store.to_frame()["id"].iloc[-1] == f"row {N - 1}"
    for i in (0, 49, 50, N - 1, -1):
        assert store[i].parts == many[i].parts
        assert store[i].weights.tobytes() == many[i].weights.tobytes()
        assert dict(store[i].recipe) == dict(many[i].recipe)
    assert [e.prediction for e in store] == [e.prediction for e in many]
    pd.testing.assert_frame_equal(
        store[45:60:2].to_frame().drop(columns="row"), many[45:60:2].to_frame().drop(columns="row")
    )
    with pytest.raises(IndexError):
        store[N]
    with pytest.raises(TypeError):
        store[1.5]  # type: ignore[call-overload]
    assert len(store.failed) == 0
    store.check()
    assert (store.manifest["n_calls"], store.manifest["complete"]) == (65 + N, True)
    for opened in (vd.load(store.path), vd.load(str(store.path))):
        assert isinstance(opened, Store)
        assert opened.fingerprint == store.fingerprint
    part = vd.load(store.path / "part-000001.parquet")
    assert isinstance(part, Explanations)
    pd.testing.assert_frame_equal(part.to_frame(), many[50:100].to_frame())


def test_rows_that_failed_are_told(many: Explanations, tmp_path: Path) -> None:
    store = filled(tmp_path / "s", many, 50, {3: "the model said no", 70: "and no", 71: "again"})
    assert store.failed["row"].tolist() == ["row 3", "row 70", "row 71"]
    assert store.failed["number"].tolist() == [3, 70, 71]
    assert store.failed["error"].tolist() == ["the model said no", "and no", "again"]
    assert store.failed["id"].tolist() == ["row 3", "row 70", "row 71"]
    assert len(store) == N
    assert len(list(store)) == N - 3
    assert len(store[:10]) == 9
    assert store.manifest["n_failed"] == 3
    with pytest.raises(ModelError, match="row 70 has no explanation: and no"):
        store[70]
    pd.testing.assert_frame_equal(
        store.to_frame().drop(columns=["id", "row"]),
        many.to_frame().query("row not in (3, 70, 71)").reset_index(drop=True).drop(columns="row"),
    )
    assert len(vd.load(store.path / "part-000000.parquet")) == 49
    assert "3 rows have an error" in str(store)
    other = filled(tmp_path / "t", many, 120, {3: "the model said no", 70: "and no", 71: "again"})
    assert other.fingerprint == store.fingerprint
    assert filled(tmp_path / "u", many, 120).fingerprint != store.fingerprint


@pytest.mark.parametrize("size", [13, 119, 120, 4000])
def test_the_fingerprint_does_not_know_parts(many: Explanations, tmp_path: Path, size: int) -> None:
    assert filled(tmp_path / "s", many, size).fingerprint == filled(tmp_path / "t", many, 50).fingerprint


def test_the_fingerprint_knows_the_content(many: Explanations, tmp_path: Path) -> None:
    own = filled(tmp_path / "s", many, 50).fingerprint
    weights = many[7].weights.copy()
    weights[0] = np.nextafter(weights[0], 1)
    swapped = [*many]
    swapped[7], swapped[8] = swapped[8], swapped[7]
    for i, other in enumerate(
        [
            [*many[:7], replace(many[7], weights=weights), *many[8:]],
            [*many[:7], replace(many[7], notes=("one more",)), *many[8:]],
            swapped,
        ]
    ):
        changed = Explanations(tuple(other))
        assert filled(tmp_path / str(i), changed, 50).fingerprint != own


def test_the_same_content_is_the_same_bytes(many: Explanations, tmp_path: Path) -> None:
    one, other = (filled(tmp_path / name, many, 50) for name in "st")
    for path in one.path.glob("*.parquet"):
        assert path.read_bytes() == (other.path / path.name).read_bytes()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def moved(path: Path) -> None:
    path.write_bytes((path.parent / "part-000000.parquet").read_bytes())


@pytest.mark.parametrize("harm", [Path.unlink, cut, emptied, moved])
def test_what_is_missing_or_broken_is_written_again(
    many: Explanations, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    whole = filled(tmp_path / "s", many, 50)
    harm(whole.path / "part-000001.parquet")
    _, there = begin(whole.path, head(50, keep=("id",)))
    assert sorted(there) == [0, 2]
    again = filled(whole.path, many, 50)
    assert again.fingerprint == whole.fingerprint
    again.check()


def test_a_store_that_goes_on_keeps_its_parts(many: Explanations, tmp_path: Path) -> None:
    folder, _ = begin(tmp_path / "s", head(50, keep=("id",)))
    folder.put(piece(many, folder, 1, {}))
    half = Store(folder.path)
    assert (len(half), half.n_rows, half.manifest["complete"]) == (50, N, False)
    assert half[60].prediction == many[60].prediction
    with pytest.raises(InputError, match="row 0 is not done yet"):
        half[0]
    assert f"50 of {N} rows: not complete" in " ".join(repr(half).split())
    with pytest.raises(InputError, match=r"chunks \[0, 2\] are missing"):
        finish(folder, N, 0)
    store = filled(tmp_path / "s", many, 7)  # another size
    assert [r.stop - r.start for r in store.receipts] == [50, 50, 20]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"rng": 1}, "the seed (rng) was"),
        ({"target": 0}, 'target was None, and is {"class": 0}'),
        ({"classes": ["a"]}, 'classes was None, and is ["a"]'),
        ({"method": vd.KernelShap()}, "the method was"),
        ({"keep": ("name",)}, 'keep was [], and is ["name"]'),
        ({"X": TABLE[::-1]}, "the rows (X) are others"),
        ({"X": TABLE.assign(age=TABLE["age"].where(TABLE.index < 100, 1.0))}, "the rows (X) are others"),
        ({"X": TABLE[:100]}, "X had 120 rows, and has 100"),
        ({"represent": vd.Rows(TABLE[:60])}, "the representer makes other parts of the first rows"),
        ({"represent": vd.Rows(TABLE, discretize=vd.bins.Deciles())}, "the representer makes other parts"),
        ({"model": lambda X: predict(X) + 0.25}, "first 16 rows differ by up to 0.25: it is another model"),
        ({"model": lambda X: np.c_[predict(X), predict(X)]}, "answers of shape (16, 1) to the first rows"),
    ],
)
def test_a_store_of_something_else_is_refused(tmp_path: Path, changed: dict[str, Any], says: str) -> None:
    begin(tmp_path / "s", head(50))
    begin(tmp_path / "s", head(50))
    begin(tmp_path / "s", head(50, model=lambda X: predict(X) + 1e-9))  # as another machine may round
    with pytest.raises(InputError) as refused:
        begin(tmp_path / "s", head(50, **changed))
    assert says in str(refused.value)
    assert "no row is in it yet: delete it, if no other run is at work there" in str(refused.value)


def test_a_store_with_rows_of_something_else_is_refused(many: Explanations, tmp_path: Path) -> None:
    store = filled(tmp_path / "s", many, 50)
    with pytest.raises(InputError, match="Give another folder, or ask for the same again"):
        begin(store, head(50, rng=1))
    assert len(store) == N


def test_settings_that_no_row_fits_leave_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="wanted the 3 columns of the background; missing: town"):
        vd.explain_many(predict, vd.Rows(TABLE), TABLE.drop(columns="town"), store=tmp_path / "s", method=METHOD)
    assert not (tmp_path / "s").exists()


def test_a_column_is_kept_once(tmp_path: Path) -> None:
    X, asked = TABLE.assign(id=range(N)), {"method": METHOD, "keep": ["id", "id"]}
    store = vd.explain_many(predict, vd.Rows(TABLE), X, store=tmp_path / "s", **asked)
    assert store.manifest["keep"] == ["id"]


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("schema", 99, "upgrade veridical"),
        ("schema", 5, "schema 5.*make it again"),
        ("version", "0.0.1", "the version of veridical was '0.0.1'"),
        ("veridical", "pick", "is damaged, or was not written by veridical"),
        ("recipe", 3, "is damaged"),
        ("parts", None, "is damaged"),
    ],
)
def test_a_manifest_of_another_kind_is_refused(tmp_path: Path, field: str, value: Any, says: str) -> None:
    begin(tmp_path / "s", head(50))
    path = tmp_path / "s" / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(InputError, match=says):
        begin(tmp_path / "s", head(50))


def test_writers_that_are_no_stores(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / MANIFEST).write_text("{")
    for name, says in {
        "file": "a file has that name",
        "full": "holds other files ('thesis.txt') and no store: give a new or empty folder",
        "no/where": "create it",
        "broken": "is damaged, or was not written",
    }.items():
        with pytest.raises(InputError) as refused:
            begin(tmp_path / name, head(50))
        assert says in str(refused.value)
    for name, says in {
        "no": "there is no folder",
        "empty": "has no manifest.json",
        "broken": "is damaged",
    }.items():
        with pytest.raises(InputError, match=says):
            vd.Store(tmp_path / name)
    begin(tmp_path / "empty", head(50))
    with pytest.raises(InputError, match="no row of the store"):
        vd.Store(tmp_path / "empty").to_frame()


def test_temporary_files_never_count_and_go_away(many: Explanations, tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    old, new = (tmp_path / "s" / f".veridical-{name}.tmp" for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"PAR1")
    os.utime(old, (0, 0))
    begin(tmp_path / "s", head(50, keep=("id",)))
    assert (old.exists(), new.exists()) == (False, True)  # another run may be writing this one
    filled(tmp_path / "s", many, 50)
    assert not new.exists()


def test_a_full_disk_leaves_what_was_there(
    many: Explanations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = begin(tmp_path / "s", head(50, keep=("id",)))
    folder.put(piece(many, folder, 0, {}))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(InputError, match="the disk is full"):
            folder.put(piece(many, folder, 1, {}))
    assert sorted(p.name for p in folder.path.iterdir()) == [MANIFEST, "part-000000.parquet"]
    assert filled(tmp_path / "s", many, 50).fingerprint == filled(tmp_path / "t", many, 50).fingerprint


def test_who_comes_late_is_told_nothing(
    many: Explanations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run finished the store and cleaned up, while this one was writing a part of it."""
    store = filled(tmp_path / "s", many, 50)
    folder, _ = begin(store.path, head(50, keep=("id",)))

    def lost(temporary: Path, final: Path) -> None:
        raise FileNotFoundError(errno.ENOENT, "gone", str(temporary))

    monkeypatch.setattr(os, "replace", lost)
    folder.put(piece(many, folder, 1, {}))
    finish(folder, N, 65)
    (store.path / "part-000001.parquet").unlink()
    with pytest.raises(InputError, match="cannot save"):
        folder.put(piece(many, folder, 1, {}))


def test_a_store_that_became_another_is_not_finished(many: Explanations, tmp_path: Path) -> None:
    folder = filled(tmp_path / "s", many, 50).path
    path = folder / MANIFEST
    mine, _ = begin(folder, head(50, keep=("id",)))
    path.write_text(path.read_text("utf-8").replace(mine.identity, "0" * 32), "utf-8")
    with pytest.raises(InputError, match="became one of something else meanwhile"):
        finish(mine, N, 65)


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unknown)
    begin(tmp_path / "s", head(50))
    begin(tmp_path / "s", head(50))
    assert [p.name for p in (tmp_path / "s").iterdir()] == [MANIFEST]


def test_a_manifest_of_wrong_parts_is_refused(many: Explanations, tmp_path: Path) -> None:
    path = filled(tmp_path / "s", many, 50).path / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), "parts": [{"rows": 3}]}))
    with pytest.raises(InputError, match="is damaged"):
        vd.Store(tmp_path / "s")


def test_bytes_that_changed_are_found(many: Explanations, tmp_path: Path) -> None:
    store = filled(tmp_path / "s", many, 50)
    path = store.path / "part-000001.parquet"
    group = pyarrow.parquet.read_metadata(path).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    weights = next(column for column in columns if column.path_in_schema.startswith("weight"))
    begins = weights.dictionary_page_offset if weights.has_dictionary_page else weights.data_page_offset
    held = bytearray(path.read_bytes())
    held[begins + weights.total_compressed_size - 3] ^= 255  # near the end of what every one of them reads
    path.write_bytes(held)
    for read in (store.to_frame, store.check, lambda: vd.pick(store, 2)):
        with pytest.raises(InputError, match="delete it if it is there, and call explain_many again"):
            read()


def test_a_changed_part_is_found(many: Explanations, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    store = filled(tmp_path / "s", many, 50)
    path = store.path / "part-000001.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index("fidelity")
    pq.write_table(table.set_column(at, "fidelity", table.column("row").cast("float64")), path)
    with pytest.raises(InputError, match="delete it if it is there, and call explain_many again"):
        store.check()
    path.unlink()
    with pytest.raises(InputError, match=r"'part-000001.parquet' of the store .* is missing or damaged"):
        list(store)


def test_a_store_is_seen(many: Explanations, tmp_path: Path) -> None:
    store = filled(tmp_path / "s<b>", many, 50)
    assert "120 rows, complete" in " ".join(repr(store).split())  # however long the path is
    assert "are reliable" in str(store)
    assert "120 rows, complete" in store._repr_html_()
    assert "s&lt;b&gt;" in store._repr_html_()


def told(page: str, name: str) -> list[str]:
    """The first column of a table of the page."""
    inner = page.partition(f"<!-- schema {name} -->")[2].partition("<!-- /schema -->")[0]
    return re.findall(r"^\| `(.+?)` \|", inner, re.MULTILINE)


def test_the_page_says_what_is_in_a_store(many: Explanations, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    page = (Path(__file__).parents[3] / "docs" / "schema.md").read_text("utf-8")
    store = filled(tmp_path / "s", many, 50)
    manifest = json.loads((store.path / MANIFEST).read_text("utf-8"))
    assert told(page, "manifest") == list(manifest)
    file = pq.ParquetFile(store.path / "part-000000.parquet")
    receipt = json.loads(file.schema_arrow.metadata[b"part"])
    assert told(page, "receipt") == list(receipt)
    assert {**manifest["parts"][0], "store": manifest["identity"]} == receipt
    names = [re.sub(": .*", ": …", name) for name in file.schema_arrow.names]
    assert list(dict.fromkeys(names)) == [
        *told(page, "parquet"),
        *told(page, "beside")[:2],
        "instance: …",
        "keep: …",
    ]


ASKED = """
import sys, numpy as np, pandas as pd, veridical as vd
X = pd.DataFrame(np.random.default_rng(0).normal(size=(2100, 3)), columns=list("abc"))
def predict(X):
    return X["a"].to_numpy() * X["b"].to_numpy()
def run(path, size):
    method, track = vd.Lime(n_samples=64, surrogate=vd.surrogates.Linear()), lambda work, total: work
    return vd.explain_many(predict, vd.Rows(X), X, store=path, batch_size=int(size), method=method, progress=track)
"""


def test_two_runs_at_once_leave_one_store(tmp_path: Path) -> None:
    """They race for the manifest and write the same parts; what is there in the end is whole."""
    where = {"PYTHONPATH": ":".join(sys.path), "OMP_NUM_THREADS": "1"}
    code = f"{ASKED}\nprint(run(*sys.argv[1:]).fingerprint)"
    command = [sys.executable, "-c", code, str(tmp_path / "both")]
    with ExitStack() as stack:
        runs = [
            stack.enter_context(subprocess.Popen([*command, size], stdout=subprocess.PIPE, env=where))
            for size in ("1024", "2048")
        ]
        here: dict[str, Any] = {}
        exec(ASKED, here)
        alone = here["run"](tmp_path / "alone", 4096).fingerprint
        assert [run.communicate()[0].decode().strip() for run in runs] == [alone, alone]
    store = Store(tmp_path / "both")
    store.check()
    assert store.fingerprint == alone
    assert not list(store.path.glob(".veridical-*"))
