"""Workers die, disks fill up, runs are killed: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical as vd
from tests.builders.fault_models import Failing, Fatal, Slow, Waiting, rows, wavy
from tests.builders.methods import linear_lime
from veridical.errors import VeridicalError
from veridical.scale.driver import Chunk, ChunkDone, ChunkFailed, Job, run_chunks

X = rows()
ROWS, METHOD, BLOCK = vd.Rows(X[:500]), linear_lime(n_samples=64), 1024
ROOT = str(Path(__file__).parents[2])


def explained(predict: Any, store: Path, **settings: Any) -> Any:
    """All rows explained into a store, a block a chunk."""
    return vd.explain_many(predict, ROWS, X, method=METHOD, batch_size=BLOCK, store=store, **settings)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> vd.Store:
    """What an undisturbed run leaves."""
    return explained(wavy, tmp_path_factory.mktemp("whole") / "store")


def assert_same(found: vd.Store, whole: vd.Store) -> None:
    """The same content: every row once, and each with the same bits."""
    assert len(found) == len(whole)
    rows = np.concatenate([table.column("row").to_numpy() for table in found.batches(["row"])])
    np.testing.assert_array_equal(rows, np.arange(len(whole)))
    found.check()
    assert found.fingerprint == whole.fingerprint
    assert not [p.name for p in Path(found.path).iterdir() if ".tmp" in p.name]


def test_the_check_sees_what_is_lost_twice_or_changed(whole: vd.Store, tmp_path: Path) -> None:
    """Stores that were tampered with: the check of all tests below must fail on each."""
    for harm in (lost, twice, other):
        copy = tmp_path / harm.__name__
        shutil.copytree(whole.path, copy)
        harm(copy)
        with pytest.raises((AssertionError, VeridicalError)):
            assert_same(vd.Store(copy), whole)


def lost(folder: Path) -> None:
    next(folder.glob("part-*")).unlink()


def twice(folder: Path) -> None:
    first, second, *_ = sorted(folder.glob("part-*"))
    second.write_bytes(first.read_bytes())


def other(folder: Path) -> None:
    """A part of another model."""
    made = explained(Slow(0.0), folder.parent / "slow", rng=1)
    part = sorted(folder.glob("part-*"))[0]
    part.write_bytes((Path(made.path) / part.name).read_bytes())


@dataclass(frozen=True)
class Sabotaged:
    """An engine that gives something else than it should."""

    spoil: Callable[[list[ChunkDone | ChunkFailed]], list[ChunkDone | ChunkFailed]]
    engine: Any

    def source(self, X: Any) -> None:
        return None

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[ChunkDone | ChunkFailed]:
        yield from self.spoil(list(self.engine.run(job, chunks)))


class Idle:
    """An engine that does no work at all, and says that it is done."""

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[ChunkDone | ChunkFailed]:
        return (ChunkDone(chunk.number, chunk.start, chunk.stop, 0, 0) for chunk in chunks)


SPOILED: dict[str, tuple[Any, str]] = {
    "lost": (lambda done: done[1:], "did not give chunk 0 back"),
    "twice": (lambda done: [*done, done[0]], "gave chunk 0 back twice"),
    "another": (lambda done: [done[1], *done[1:]], "gave chunk 1 back twice"),
    "unknown": (lambda done: [*done, replace(done[0], number=7)], "chunk 7 back twice, or never had it"),
    "other rows": (lambda done: [replace(done[0], stop=5), *done[1:]], "chunk 0"),
}


@pytest.mark.parametrize("harm", SPOILED)
def test_an_engine_that_loses_or_repeats_a_chunk_is_found_out(harm: str) -> None:
    spoil, words = SPOILED[harm]
    job: Any = None
    chunks = [Chunk(i, 10 * i, 10 * i + 10, list) for i in range(3)]
    assert len(list(run_chunks(Sabotaged(list, Idle()), job, iter(chunks)))) == 3
    with pytest.raises(VeridicalError, match=words):
        list(run_chunks(Sabotaged(spoil, Idle()), job, iter(chunks)))


@pytest.mark.parametrize("kept", [True, False], ids=["store", "memory"])
def test_what_a_bad_engine_loses_is_not_called_complete(kept: bool, tmp_path: Path) -> None:
    spoil, words = SPOILED["lost"]
    engine = Sabotaged(spoil, vd.engines.Local())
    with pytest.raises(VeridicalError, match=words):
        explained(wavy, tmp_path / "store" if kept else None, engine=engine)
    assert not kept or not vd.Store(tmp_path / "store").manifest["complete"]


def test_a_local_worker_dies(whole: vd.Store, tmp_path: Path) -> None:
    fatal = Fatal(str(tmp_path), 1100)
    found = explained(fatal, tmp_path / "store", engine=vd.engines.Local(n_jobs=2))
    assert (tmp_path / "killed-0").exists()
    assert_same(found, whole)


def test_a_chunk_that_kills_every_worker(whole: vd.Store, tmp_path: Path) -> None:
    """Three times in all; the other chunks are done, and a model that lives goes on from there."""
    fatal = Fatal(str(tmp_path), 1100, times=9)
    with pytest.raises(VeridicalError, match=r"rows 1024 to 1199.* failed 3 times") as caught:
        explained(fatal, tmp_path / "store", engine=vd.engines.Local(n_jobs=2))
    assert len(list(tmp_path.glob("killed-*"))) == 3
    assert "tries only what is missing" in str(caught.value)
    assert len(vd.Store(tmp_path / "store")) == BLOCK
    assert_same(explained(wavy, tmp_path / "store"), whole)


@pytest.mark.parametrize("fixture", ["dask_client", "ray", "spark"])
def test_a_worker_of_a_cluster_dies(
    fixture: str, whole: vd.Store, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    there = request.getfixturevalue(fixture)
    engines = {"dask_client": vd.engines.Dask, "ray": lambda _: vd.engines.Ray(), "spark": vd.engines.Spark}
    found = explained(Fatal(str(tmp_path), 1100), tmp_path / "store", engine=engines[fixture](there))
    assert (tmp_path / "killed-0").exists()
    assert_same(found, whole)


SCRIPT = """
import sys
sys.path.insert(0, {root!r})
import veridical as vd
from tests.scale.test_driver import Slow, Waiting, explained
if __name__ == "__main__":
    explained({model!r}, {store!r}, engine=vd.engines.Local(n_jobs={jobs}))
"""


def test_the_caller_is_killed_and_comes_back(whole: vd.Store, tmp_path: Path) -> None:
    """Its workers live on for a moment: they write what the next run writes, too."""
    store = tmp_path / "store"
    model = Waiting(1100, str(tmp_path / "go on"))  # the second of two parts waits
    with started(SCRIPT.format(root=ROOT, store=str(store), jobs=2, model=model)) as begun:
        wait_for(lambda: list(store.glob("part-*")), begun)
        begun.kill()
        begun.wait()
        before = {p.name: p.stat().st_mtime_ns for p in store.glob("part-*")}
        assert len(before) == 1
        assert not vd.Store(store).manifest["complete"]
        Path(model.file).touch()
        assert_same(explained(wavy, store), whole)
        assert before.items() <= {p.name: p.stat().st_mtime_ns for p in store.glob("part-*")}.items()
        begun.communicate(timeout=600)  # nobody holds the other end of its pipe: no worker is left


@contextmanager
def started(script: str) -> Iterator[subprocess.Popen[bytes]]:
    """A script in a process group of its own, of which nothing is left in the end."""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait_for(there: Callable[[], Any], process: subprocess.Popen[bytes], seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not there():
        assert process.poll() is None, "the process ended before it could be killed"
        assert time.monotonic() < end, "it never happened"  # a generous end, not a measure
        time.sleep(0.02)


def test_ctrl_c_leaves_what_was_done(whole: vd.Store, tmp_path: Path) -> None:
    def stopping(X: Any) -> Any:
        if 1100 in np.asarray(X)[:, 0]:
            raise KeyboardInterrupt
        return wavy(X)

    with pytest.raises(KeyboardInterrupt):
        explained(stopping, tmp_path / "store")
    assert len(vd.Store(tmp_path / "store")) == BLOCK
    assert_same(explained(wavy, tmp_path / "store"), whole)


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))
"""


def test_a_disk_quota(whole: vd.Store, tmp_path: Path) -> None:
    """A part that does not fit is said to, and nothing half is left; with more room the run goes on."""
    store = tmp_path / "store"
    script = LIMITED.format(most=20_000) + SCRIPT.format(root=ROOT, store=str(store), jobs=1, model=Slow(0))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "the disk is full" in done.stderr.splitlines()[-1]
    assert not list(store.glob("part-*"))
    assert_same(explained(wavy, store), whole)


def test_a_full_disk(whole: vd.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for one part, and then none."""
    plain, n = os.fsync, [0]

    def full(file: int) -> None:
        n[0] += 1
        if n[0] > 2:  # the manifest and a part
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        plain(file)

    store = tmp_path / "store"
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(VeridicalError, match="the disk is full"):
            explained(wavy, store)
    assert len(list(store.glob("part-*"))) == 1
    assert_same(explained(wavy, store), whole)


BAD = (3, 1023, 1199)


def test_rows_that_the_model_fails_on(whole: vd.Store, tmp_path: Path) -> None:
    """They are told with their errors; the others are as they would be without them, whoever does the work."""
    found = explained(Failing(BAD), tmp_path / "store")
    failures = found.failed
    assert failures["row"].tolist() == list(BAD)
    assert all(f"row {i} is not liked" in error for i, error in zip(BAD, failures["error"], strict=True))
    assert found.manifest["n_failed"] == len(BAD)
    for i in (0, 1022, 1024, 1198):
        np.testing.assert_array_equal(found[i].weights, whole[i].weights)
    assert_same(explained(Failing(BAD), tmp_path / "again", engine=vd.engines.Local(n_jobs=2)), found)


def test_without_a_store_bad_rows_are_told_too() -> None:
    with pytest.warns(vd.errors.RowsFailedWarning, match="row 3 is not liked"):
        found = explained(Failing(BAD), None, engine=vd.engines.Local())
    assert found.failed["row"].tolist() == list(BAD)


def doubled(outputs: Any) -> Any:
    return 2 * outputs[:, 0]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"store": 3}, "store wants the path of a folder, not 3"),
        ({"store": ""}, "store wants the path of a folder"),
        ({"store": "/proc/none"}, "cannot be made"),
        ({"X": X[:0]}, "there are no rows to explain: X is empty"),
        ({"X": "rows.xlsx"}, "paths of .parquet, .csv or .tsv files, not 'rows.xlsx'"),
        ({"X": None}, "not NoneType"),
        ({"rng": 1}, "entropy of the seed (rng) was 0, and is 1"),
        ({"method": linear_lime(n_samples=65)}, "n_samples of the method was 64, and is 65"),
        ({"method": vd.KernelShap()}, "the method was Lime, and is KernelShap"),
        ({"target": 0}, "function of target was 'doubled', and is None; class of target was None, and is 0"),
        ({"target": lambda outputs: doubled(outputs) + 1}, "differ by up to 1: it is another model, or target"),
        ({"engine": "dask"}, "engine wants settings such as vd.engines.Local(n_jobs=2)"),
        ({"engine": vd.engines.Local}, "engine wants settings"),
        ({"keep": "id"}, "keep must be a list"),
        ({"keep": ["id"]}, "keep names columns of a table"),
    ],
)
def test_what_cannot_be_done_is_said(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    target = changed.get("target")
    if callable(target):
        target.__name__ = doubled.__name__
    asked = {"X": X[:20], "store": tmp_path / "store", "method": METHOD, "target": doubled}
    vd.explain_many(wavy, ROWS, **asked)
    with pytest.raises(vd.errors.InputError) as caught:
        vd.explain_many(wavy, ROWS, **{**asked, **changed})
    assert words in str(caught.value)
