"""Chunks on workers of this machine: the same bits, nothing lost or twice, clear words where it fails."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_info, threadpool_limits

import veridical as vd
from tests.builders.methods import linear_lime
from veridical.errors import RowsFailedWarning
from veridical.methods.many import CHUNK
from veridical.records import Floats
from veridical.scale import driver
from veridical.scale.driver import Chunk, ChunkDone, ChunkFailed, Job, explain_chunk, pack_job, recall_job
from veridical.scale.engines.local import Engine, Local, Threads

TABLE = np.random.default_rng(0).normal(size=(2 * CHUNK + 100, 4))
METHOD = linear_lime(n_samples=64)


def predict(X: Any) -> Floats:
    p = 1 / (1 + np.exp(-(X[:, 0] + 2 * X[:, 1] * X[:, 2])))
    return np.stack([1 - p, p], axis=1)


def bits(many: Any) -> list[Any]:
    return [
        (e.weights.tobytes(), e.intervals.tobytes(), e.prediction, e.fidelity, e.target, e.names, dict(e.recipe))
        for e in many
    ]


def frame(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.integers(18, 90, n), "pay": rng.lognormal(10, 1, n)})
    table["pay"] = table["pay"].where(rng.random(n) > 0.1)
    table["city"] = pd.Categorical(rng.choice(["Linz", "Graz"], n))
    table["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    table["word"] = rng.choice(["yes", "no"], n)
    return table


def of_frames(X: pd.DataFrame) -> Floats:
    score = 0.1 * X["age"] + (X["city"] == "Linz") * X["since"].dt.month + (X["word"] == "yes")
    return (score + 1e-5 * X["pay"].fillna(0)).to_numpy(dtype=float)


def of_texts(texts: Any) -> Floats:
    return np.array([len(text) + 3.0 * ("good" in text) for text in texts])


def of_pictures(X: Any) -> Floats:
    return np.array([float(np.asarray(x)[:2].sum()) for x in X])


def of_sparse(X: Any) -> Floats:
    return np.asarray(X @ np.arange(X.shape[1], dtype=float)).ravel()


WORDS = ["good", "bad", "film", "long", "short"]
DRAWN = np.random.default_rng(3)
KINDS = {
    "numbers": (predict, vd.Rows(TABLE, discretize=vd.bins.Continuous()), TABLE[: CHUNK + 60]),
    "frame": (of_frames, vd.Rows(frame(500)), frame(CHUNK + 60)),
    "texts": (of_texts, vd.Words(), [" ".join(DRAWN.permutation(WORDS)) for _ in range(CHUNK + 9)]),
    "pictures": (of_pictures, vd.Grid(2, 2), DRAWN.random((CHUNK + 9, 6, 6))),
    "sparse": (of_sparse, vd.Rows(csr_matrix(np.eye(5))), csr_matrix(DRAWN.integers(1, 3, (CHUNK + 9, 5)) * 1.0)),
}


@pytest.mark.parametrize(
    ("kind", "batch_size", "engine", "in_store"),
    [
        ("numbers", 700, Local(2), True),
        ("frame", 3 * CHUNK, Local(1), True),
        ("texts", 999, Threads(2), False),
        ("pictures", 1, Threads(1), True),
        ("sparse", 77, None, False),
    ],
    ids=str,
)
def test_no_bit_depends_on_engine_chunks_or_workers(
    tmp_path: Path, kind: str, batch_size: int, engine: Engine | None, in_store: bool
) -> None:
    model, represent, X = KINDS[kind]
    whole = vd.explain_many(model, represent, X, method=METHOD, rng=5)
    store = tmp_path / "store" if in_store else None
    found = vd.explain_many(
        model, represent, X, method=METHOD, rng=5, batch_size=batch_size, engine=engine, store=store
    )
    assert bits(found) == bits(whole)


@dataclass(frozen=True)
class Noted:
    """A model that notes down where it is unpickled and how many rows it is asked about."""

    folder: Path

    def __reduce__(self) -> Any:
        return _noted, (self.folder,)

    def __call__(self, X: Any) -> Floats:
        with (self.folder / f"asked-{os.getpid()}").open("a") as file:
            file.write(f"{len(X)}\n")
        return predict(X)


def _noted(folder: Path) -> Noted:
    with (folder / "unpickled").open("a") as file:
        file.write(f"{os.getpid()}\n")
    return Noted(folder)


def test_the_model_travels_once_to_a_worker_and_the_sample_is_asked_about_once(tmp_path: Path) -> None:
    rows = vd.Rows(TABLE)
    found = vd.explain_many(Noted(tmp_path), rows, TABLE, method=METHOD, engine=Local(2), batch_size=CHUNK)
    where = (tmp_path / "unpickled").read_text().split()
    assert len(where) == len(set(where)) <= 2
    asked = {p.name: [*map(int, p.read_text().split())] for p in tmp_path.glob("asked-*")}
    assert asked.pop(f"asked-{os.getpid()}") == [64]  # by the driver: the sample, and no row
    assert sorted(chain.from_iterable(asked.values())) == [100, CHUNK, CHUNK]
    assert len(found) == len(TABLE)


def test_calls_are_counted(tmp_path: Path) -> None:
    store = vd.explain_many(predict, vd.Rows(TABLE), TABLE, method=METHOD, store=tmp_path / "s")
    assert store.manifest["n_calls"] == 64 + 16 + len(TABLE)


class Locked:
    """A model that no process can send to another."""

    classes_ = ("no", "yes")

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def predict_proba(self, X: Any) -> Floats:
        with self.lock:
            return predict(X)


def test_a_model_that_cannot_be_sent_is_made_by_each_process() -> None:
    rows, few = vd.Rows(TABLE), TABLE[:50]
    with pytest.raises(vd.errors.InputError, match=r"the model cannot be sent .*lock.* vd\.Factory\(load_model\)"):
        vd.explain_many(Locked().predict_proba, rows, few, method=METHOD, engine=Local(2))
    made = vd.Factory(lambda: Locked().predict_proba)
    found = vd.explain_many(made, rows, few, method=METHOD, engine=Local(2))
    assert bits(found) == bits(vd.explain_many(Locked().predict_proba, rows, few, method=METHOD))
    assert {why.target for why in found} == {"no", "yes"}
    assert vd.explain(made, rows, few[0], method=linear_lime()).target in ("no", "yes")


def test_a_factory_makes_its_model_once_a_process() -> None:
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return predict

    vd.explain_many(vd.Factory(make), vd.Rows(TABLE), TABLE, method=METHOD, engine=Threads(2), batch_size=1)
    assert len(made) == 1
    with pytest.raises(vd.errors.InputError, match="a function without arguments"):
        vd.Factory("model.pkl")
    with pytest.raises(
        vd.errors.ModelError, match="the factory raised FileNotFoundError: no weights; it is called"
    ):
        vd.explain(vd.Factory(_without_weights), vd.Rows(TABLE), TABLE[0], method=linear_lime())


def _without_weights() -> Any:
    raise FileNotFoundError("no weights")


def test_what_else_cannot_be_sent_is_named() -> None:
    def target(outputs: Any, lock: Any = threading.Lock()) -> Any:  # noqa: B008
        return outputs[:, 0]

    with pytest.raises(vd.errors.InputError, match=r"target cannot be sent .* vd\.engines\.Threads\(\)"):
        vd.explain_many(predict, vd.Rows(TABLE), TABLE[:9], target=target, engine=Local(2), method=linear_lime())


def sometimes(X: Any) -> Floats:
    if (X[:, 3] > 100).any():
        raise ValueError("too large")
    return predict(X)


def test_rows_that_fail_are_recorded_with_a_store_and_without(tmp_path: Path) -> None:
    rows, X = vd.Rows(TABLE), TABLE.copy()
    X[CHUNK + 3, 3], X[7, 0] = 200, np.nan
    with pytest.warns(RowsFailedWarning, match=r"2 of .* rows .* row 7: column 'x0' is missing"):
        here = vd.explain_many(sometimes, rows, X, method=METHOD, engine=Threads(2))
    assert here.failed["row"].to_list() == [7, CHUNK + 3]
    store = vd.explain_many(sometimes, rows, X, method=METHOD, store=tmp_path / "s")
    assert store.failed["row"].to_list() == [7, CHUNK + 3]
    assert not store.failed["error"].str.contains("number|list").any()
    right = vd.explain_many(predict, rows, TABLE[: CHUNK + 9], method=METHOD)
    for i in (6, 8, CHUNK + 2, CHUNK + 4):
        np.testing.assert_array_equal(store[i].weights, right[i].weights)


def test_texts_that_cannot_be_represented_are_recorded(tmp_path: Path) -> None:
    texts: list[Any] = ["good film", None, "bad film", " "]
    store = vd.explain_many(of_texts, vd.Words(), texts, store=tmp_path / "s", method=linear_lime())
    assert store.failed["row"].to_list() == [1, 3]
    assert store.failed["error"].str.contains("wanted a text, got None|empty").all()


@pytest.mark.parametrize(
    "settings", [{"target": 7}, {"method": linear_lime(n_samples=3)}], ids=["target", "samples"]
)
def test_wrong_settings_are_no_failures_of_rows(tmp_path: Path, settings: dict[str, Any]) -> None:
    with pytest.raises(vd.errors.InputError, match=r"no output 7|n_samples is 3"):
        vd.explain_many(predict, vd.Rows(TABLE), TABLE, store=tmp_path / "s", **settings)


@dataclass(frozen=True)
class Shaky:
    """Rows of which some make the worker fail, and not by a fault of theirs, so many times."""

    rows: Any
    folder: Path
    times: int

    def __call__(self, x: Any) -> Any:
        return self.rows(x)

    def each(self, X: Any) -> Any:
        if len(X) == 100 and len(list(self.folder.glob("fell-*"))) < self.times:
            (self.folder / f"fell-{len(list(self.folder.iterdir()))}").touch()
            raise RuntimeError("the disk fell off")
        return self.rows.each(X)


@pytest.mark.parametrize("engine", [Threads(1), Threads(2)], ids=str)
def test_a_chunk_that_fails_is_tried_again(tmp_path: Path, engine: Engine) -> None:
    shaky = Shaky(vd.Rows(TABLE), tmp_path, times=2)
    found = vd.explain_many(predict, shaky, TABLE, method=METHOD, engine=engine, batch_size=CHUNK)
    assert len(list(tmp_path.glob("fell-*"))) == 2
    assert bits(found) == bits(vd.explain_many(predict, vd.Rows(TABLE), TABLE, method=METHOD))


def test_a_chunk_that_fails_three_times_is_told_and_all_else_is_kept(tmp_path: Path) -> None:
    shaky, where = Shaky(vd.Rows(TABLE), tmp_path, times=3), tmp_path / "store"
    words = rf"chunk 2 \(rows {2 * CHUNK} to {2 * CHUNK + 99}\) failed 3 times, .*RuntimeError: the disk fell off"
    with pytest.raises(vd.VeridicalError, match=rf"{words}.*the same call again"):
        vd.explain_many(predict, shaky, TABLE, method=METHOD, store=where, batch_size=CHUNK)
    assert len(vd.Store(where)) == 2 * CHUNK
    store = vd.explain_many(predict, shaky, TABLE, method=METHOD, store=where)
    assert len(store) == len(TABLE)
    whole = vd.explain_many(predict, vd.Rows(TABLE), TABLE, method=METHOD, store=tmp_path / "other")
    assert store.fingerprint == whole.fingerprint


def test_where_every_chunk_fails_the_run_does_not_try_them_all(tmp_path: Path) -> None:
    tried: list[int] = []

    class Broken(Threads):
        def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Any]:
            for chunk in chunks:
                tried.append(chunk.number)
                yield ChunkFailed(chunk, OSError("gone"))

    job = Job(predict, vd.Rows(TABLE), METHOD, None, np.random.SeedSequence(0))
    chunks = (Chunk(i, i * CHUNK, (i + 1) * CHUNK, lambda: TABLE[:CHUNK]) for i in range(1000))
    with pytest.raises(vd.VeridicalError, match=r"8 more|and 3 more|OSError: gone; without a store"):
        list(driver.run_chunks(Broken(), job, chunks))
    assert len(set(tried)) <= driver.SUSPECTS


def test_few_chunks_are_drawn_ahead() -> None:
    drawn, done, most = 0, 0, 0

    def chunks() -> Iterator[Chunk]:
        nonlocal drawn, most
        for i in range(12):
            drawn, most = drawn + 1, max(most, drawn + 1 - done)
            yield Chunk(i, i * CHUNK, i * CHUNK + 5, lambda: TABLE[:5])

    job = Job(predict, vd.Rows(TABLE), vd.Occlusion(), 1, np.random.SeedSequence(0))
    for result in Threads(2).run(job, chunks()):
        assert isinstance(result, ChunkDone)
        done += 1
    assert (drawn, done) == (12, 12)
    assert most <= 5


def test_work_that_is_stopped_goes_on(tmp_path: Path) -> None:
    """As by Ctrl-C: what is there is whole, and the same call finishes it with the same content."""

    def stop(work: Any, total: int | None) -> Iterator[Any]:
        yield next(work)
        raise KeyboardInterrupt

    def count(work: Any, total: int | None) -> Any:
        totals.append(total)
        return work

    rows, totals = vd.Rows(TABLE), list[int | None]()
    whole = bits(vd.explain_many(predict, rows, TABLE, method=METHOD))
    for engine in (Threads(1), Local(2)):
        where = tmp_path / str(engine)
        with pytest.raises(KeyboardInterrupt):
            vd.explain_many(
                predict, rows, TABLE, method=METHOD, store=where, batch_size=CHUNK, engine=engine, progress=stop
            )
        assert 0 < len(vd.Store(where)) < len(TABLE)
        store = vd.explain_many(predict, rows, TABLE, method=METHOD, store=where, progress=count)
        assert bits(store) == whole
    assert all(total is not None and total < len(TABLE) for total in totals)


def test_an_explanation_of_an_engine_can_be_made_again() -> None:
    rows = vd.Rows(TABLE, discretize=vd.bins.Continuous())
    X = TABLE[:30].copy()
    X[7] += 6  # gets samples of its own
    many = vd.explain_many(predict, rows, X, engine=Threads(2), rng=9, method=linear_lime())
    for i in (0, 7, 29):
        again = vd.rerun(predict, rows, X[i], many[i].recipe)
        assert again.weights.tobytes() == many[i].weights.tobytes()


@pytest.mark.parametrize("engine", [None, Threads(1), Threads(2)], ids=str)
def test_linear_algebra_of_many_rows_runs_in_one_thread(engine: Engine | None) -> None:
    """Sums in another order have other last bits: how many cores there are must not matter."""
    seen: set[int] = set()

    def threads() -> set[int]:
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    def watching(X: Any) -> Floats:
        seen.update(threads())
        return predict(X)

    with threadpool_limits(2, "blas"):
        before = threads()
        many = vd.explain_many(watching, vd.Rows(TABLE), TABLE[:5], method=METHOD, engine=engine)
        vd.rerun(watching, vd.Rows(TABLE), TABLE[0], many[0].recipe)
        assert threads() == before
    assert seen == {1}


def test_a_job_is_opened_once_a_process() -> None:
    job = Job(predict, vd.Rows(TABLE), METHOD, None, np.random.SeedSequence(0))
    body, loads = pack_job(job), []

    def load() -> bytes:
        loads.append(1)
        return body

    first = recall_job("run", load)
    assert recall_job("run", load) is first
    assert first.open() is first.open()
    assert len(loads) == 1
    chunk = Chunk(0, 0, 5, lambda: TABLE[:5])
    assert bits(explain_chunk(first, chunk).piece.explanations) == bits(
        explain_chunk(job, chunk).piece.explanations
    )
    assert pickle.loads(pickle.dumps(explain_chunk(job, chunk))).piece.stop == 5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"engine": "local"}, r"engine wants settings such as vd\.engines\.Local\(n_jobs=2\), not 'local'"),
        ({"engine": Local}, "engine wants settings"),
        ({"engine": Local(2), "n_jobs": 2}, "n_jobs is for work without an engine"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"engine": Threads(1), "batch_size": 0}, "batch_size"),
        ({"engine": Threads(1), "keep": "id"}, "keep must be a list"),
        ({"engine": Threads(1), "target": [0, 1]}, "one target for all rows"),
    ],
    ids=["text", "class", "both", "jobs", "batch", "keep", "targets"],
)
def test_wrong_arguments_are_told(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(vd.errors.InputError, match=words):
        vd.explain_many(predict, vd.Rows(TABLE), TABLE[:5], **settings)
    with pytest.raises(vd.errors.InputError, match="n_jobs"):
        Local(0)
