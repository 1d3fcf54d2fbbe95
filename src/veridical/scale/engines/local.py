"""Chunks explained by this process, by threads of it, or by processes of this machine."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Thread
from typing import Any

from joblib import cpu_count

from veridical.errors import InputError, check_whole
from veridical.scale.engines.pools import AHEAD, Engine, Result, handed, tried
from veridical.scale.sources.memory import Source
from veridical.scale.work import Chunk, Done, Job, explained, packed, recalled


@dataclass(frozen=True)
class Threads:
    """Threads of this process, which pay where ``predict`` is slow and lets others run meanwhile; 1 is none."""

    n_jobs: int = 1  # -1: as many as there are cores

    def __post_init__(self) -> None:
        check_jobs(self.n_jobs)

    def source(self, X: Any) -> Source | None:
        """No table is of threads."""
        return None

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Explain chunks here."""
        if self.n_jobs == 1:
            yield from (tried(partial(explained, job), chunk) for chunk in chunks)
            return
        with _leaving(ThreadPoolExecutor(n_workers(self.n_jobs))) as pool:
            yield from handed(partial(pool.submit, explained, job), chunks, AHEAD * n_workers(self.n_jobs))


@dataclass(frozen=True)
class Local:
    """Processes of this machine (joblib); the model is sent once to each."""

    n_jobs: int = 1  # -1: as many as there are cores

    def __post_init__(self) -> None:
        check_jobs(self.n_jobs)

    def source(self, X: Any) -> Source | None:
        """No table is of processes."""
        return None

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Explain chunks in other processes; if one dies, those in work come back as failed, and others go on."""
        if self.n_jobs == 1:
            yield from Threads(1).run(job, chunks)
            return
        from joblib.externals.loky import ProcessPoolExecutor

        with tempfile.TemporaryDirectory(prefix="veridical-") as folder:
            path = Path(folder, "job")
            path.write_bytes(packed(job))
            while few := list(islice(chunks, n_workers(self.n_jobs))):
                with _leaving(ProcessPoolExecutor(len(few), initializer=_follow, initargs=(os.getpid(),))) as pool:
                    work = partial(pool.submit, _work, path)
                    yield from handed(work, chain(few, chunks), AHEAD * len(few))


def _follow(caller: int) -> None:
    """End this process soon after the one that it works for, which may have been killed and could say nothing."""

    def watch() -> None:
        while os.getppid() == caller:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _work(path: Path, chunk: Chunk) -> Done:
    """Explain a chunk in a process that may have done others of the same job."""
    return explained(recalled(str(path), path.read_bytes), chunk)


@contextmanager
def _leaving(pool: Any) -> Iterator[Any]:
    """A pool that is closed in the end; nobody waits for it where the work is given up."""
    try:
        yield pool
    except BaseException:
        pool.shutdown(
            **({"cancel_futures": True} if isinstance(pool, ThreadPoolExecutor) else {"kill_workers": True})
        )
        raise
    pool.shutdown()


def engine_asked(engine: Any, n_jobs: Any) -> Engine:
    """The engine that the caller names; threads of this process by default."""
    check_jobs(n_jobs)
    if engine is None:
        return Threads(n_jobs)
    if isinstance(engine, type) or not isinstance(engine, Engine):
        raise InputError(f"engine wants settings such as vd.engines.Local(n_jobs=2), not {engine!r}")
    if n_jobs != 1:
        raise InputError(
            f"n_jobs is for work without an engine: say how many workers {engine!r} has by its own settings"
        )
    return engine


def check_jobs(n_jobs: Any) -> None:
    """Refuse what is no number of workers."""
    if n_jobs != -1:
        check_whole("n_jobs (-1 for all cores)", n_jobs)


def n_workers(n_jobs: int) -> int:
    """How many workers that is."""
    return int(cpu_count()) if n_jobs == -1 else int(n_jobs)
