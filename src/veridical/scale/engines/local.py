"""Engines on this machine: this process, threads or processes; and how any pool of workers gets its chunks."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Thread
from typing import Any, Protocol, TypeAlias, runtime_checkable

from joblib import cpu_count

from veridical.errors import InputError, check_whole
from veridical.scale.driver import Chunk, ChunkDone, ChunkFailed, Job, explain_chunk, pack_job, recall_job
from veridical.scale.sources import InstanceSource

AHEAD = 2  # chunks per worker that wait for it or are done by it

Result: TypeAlias = ChunkDone | ChunkFailed


@runtime_checkable
class Engine(Protocol):
    """Frozen settings that say who does the work."""

    def source(self, X: Any) -> InstanceSource | None:
        """Say where the instances of a table of the engine's own come from.

        Parameters
        ----------
        X : object
            What ``explain_many`` was given.

        Returns
        -------
        InstanceSource or None
            None if X is no table of the engine's own.
        """
        ...

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Hand the chunks to ``explain_chunk``, and give back what came of each, once, in any order.

        Parameters
        ----------
        job : Job
            All that is needed to explain any chunk; it travels once to a worker.
        chunks : iterator of Chunk
            Drawn when there is room for them, a few at a time.

        Yields
        ------
        ChunkDone or ChunkFailed
            What a chunk raises is no error here.
        """
        ...


def hand_out(submit: Callable[[Chunk], Future[ChunkDone]], chunks: Iterator[Chunk], most: int) -> Iterator[Result]:
    """Hand chunks to a pool, at most so many at a time; it ends early if the pool does."""
    waiting: dict[Future[ChunkDone], Chunk] = {}
    for chunk in chunks:
        try:
            waiting[submit(chunk)] = chunk
        except Exception as cause:  # no chunk's fault: who should work is gone, or does not answer
            yield ChunkFailed(chunk, cause)
            break
        if len(waiting) == most:
            yield from _collect(waiting)
    while waiting:
        yield from _collect(waiting)


def _collect(waiting: dict[Future[ChunkDone], Chunk]) -> Iterator[Result]:
    """What came of those chunks that are finished first."""
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        chunk = waiting.pop(future)
        cause = CancelledError("its worker was lost") if future.cancelled() else future.exception()
        yield future.result() if cause is None else ChunkFailed(chunk, cause)


@dataclass(frozen=True)
class Threads:
    """Threads of this process, which pay where the model is slow and lets others run meanwhile.

    Parameters
    ----------
    n_jobs : int, default 1
        How many; -1 for as many as there are cores. One is this thread alone.

    Raises
    ------
    InputError
        If ``n_jobs`` is no number of workers.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> many = vd.explain_many(lambda X: X[:, 0], vd.Rows(X), X, engine=vd.engines.Threads(2))
    >>> len(many)
    50
    """

    n_jobs: int = 1

    def __post_init__(self) -> None:
        if self.n_jobs != -1:
            check_whole("n_jobs (-1 for all cores)", self.n_jobs)

    def source(self, X: Any) -> InstanceSource | None:
        """No table is of threads: None."""
        return None

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Explain chunks in this process, as ``Engine.run`` says."""
        if self.n_jobs == 1:
            for chunk in chunks:
                try:
                    result: Result = explain_chunk(job, chunk)
                except Exception as cause:
                    result = ChunkFailed(chunk, cause)
                yield result
            return
        with _closing(ThreadPoolExecutor(n_workers(self.n_jobs))) as pool:
            yield from hand_out(partial(pool.submit, explain_chunk, job), chunks, AHEAD * n_workers(self.n_jobs))


@dataclass(frozen=True)
class Local:
    """Processes of this machine (joblib); the model is sent once to each.

    A model that cannot be pickled is given as ``vd.Factory(load_model)``.

    Parameters
    ----------
    n_jobs : int, default 1
        How many; -1 for as many as there are cores. One is this process alone.

    Raises
    ------
    InputError
        If ``n_jobs`` is no number of workers.

    Examples
    --------
    >>> import veridical as vd
    >>> vd.explain_many(model, rows, "people.parquet", engine=vd.engines.Local(n_jobs=8))  # doctest: +SKIP
    """

    n_jobs: int = 1

    def __post_init__(self) -> None:
        if self.n_jobs != -1:
            check_whole("n_jobs (-1 for all cores)", self.n_jobs)

    def source(self, X: Any) -> InstanceSource | None:
        """No table is of processes: None."""
        return None

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Explain chunks in other processes, as ``Engine.run`` says; if one dies, its chunks come back as failed."""
        if self.n_jobs == 1:
            yield from Threads(1).run(job, chunks)
            return
        from joblib.externals.loky import ProcessPoolExecutor

        with tempfile.TemporaryDirectory(prefix="veridical-") as folder:
            path = Path(folder, "job")
            path.write_bytes(pack_job(job))
            while few := list(islice(chunks, n_workers(self.n_jobs))):
                with _closing(ProcessPoolExecutor(len(few), initializer=_follow, initargs=(os.getpid(),))) as pool:
                    work = partial(pool.submit, _work, path)
                    yield from hand_out(work, chain(few, chunks), AHEAD * len(few))


def _follow(caller: int) -> None:
    """End this process soon after the one that it works for, which may have been killed and could say nothing."""

    def watch() -> None:
        while os.getppid() == caller:
            time.sleep(1)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _work(path: Path, chunk: Chunk) -> ChunkDone:
    """Explain a chunk in a process that may have done others of the same job."""
    return explain_chunk(recall_job(str(path), path.read_bytes), chunk)


@contextmanager
def _closing(pool: Any) -> Iterator[Any]:
    """A pool that is closed in the end; nobody waits for it where the work is given up."""
    try:
        yield pool
    except BaseException:
        pool.shutdown(
            **({"cancel_futures": True} if isinstance(pool, ThreadPoolExecutor) else {"kill_workers": True})
        )
        raise
    pool.shutdown()


def check_engine(engine: Any, n_jobs: Any) -> Engine:
    """The engine that the caller names; threads of this process by default."""
    threads = Threads(n_jobs)
    if engine is None:
        return threads
    if isinstance(engine, type) or not isinstance(engine, Engine):
        raise InputError(f"engine wants settings such as vd.engines.Local(n_jobs=2), not {engine!r}")
    if n_jobs != 1:
        raise InputError(
            f"n_jobs is for work without an engine: say how many workers {engine!r} has by its own settings"
        )
    return engine


def n_workers(n_jobs: int) -> int:
    """How many workers that is."""
    return int(cpu_count()) if n_jobs == -1 else int(n_jobs)
