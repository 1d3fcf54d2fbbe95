"""Chunks handed to the executors of a Spark cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

from veridical.errors import InputError, require
from veridical.scale.engines.pools import Result, handed
from veridical.scale.engines.spark_rows import Partitions, Record, Shuffled, joined
from veridical.scale.sources.memory import Given, Source
from veridical.scale.work import Chunk, Done, Job, explained, packed, pickled, recalled


@dataclass(frozen=True)
class Spark:
    """The executors of a Spark cluster, through a ``SparkSession``.

    The job is broadcast once, and each chunk is a small Spark job of its own, so that one that fails takes no
    other with it; as many run at a time as ``spark.default.parallelism`` says. X may be a Spark DataFrame: its
    rows are numbered by partition, and one shuffle puts those of a chunk together, so that they never travel
    through this process. Times are as the session's clock shows them, as in ``toPandas``.
    """

    session: Any

    def __post_init__(self) -> None:
        sql = require("pyspark.sql", extra="spark")
        if not isinstance(self.session, sql.SparkSession) or not hasattr(self.session, "_jsparkSession"):
            raise InputError(
                f"Spark wants a SparkSession (not of Spark Connect), not {type(self.session).__name__}: "
                "give vd.engines.Spark(SparkSession.builder.getOrCreate())"
            )

    def source(self, X: Any) -> Source | None:
        """Where the rows of a Spark DataFrame come from; None if it is not one."""
        self._context()
        if not type(X).__module__.startswith("pyspark."):
            return None
        if not isinstance(X, require("pyspark.sql", extra="spark").DataFrame):
            raise InputError(f"X is a {type(X).__name__} of Spark: give its rows as a Spark DataFrame")
        return Partitions.of(X)

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Explain chunks on the executors."""
        context, payload = self._context(), packed(job)
        name, held = uuid4().hex, context.broadcast(payload)
        n_workers = max(1, context.defaultParallelism)
        pool = ThreadPoolExecutor(n_workers)  # of threads that only wait
        work = partial(_asked, context, name, held)
        try:
            yield from handed(partial(pool.submit, work), chunks, n_workers)
        except BaseException:  # nobody waits for the others
            context.cancelJobGroup(name)
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            held.destroy()

    def _context(self) -> Any:
        context = self.session.sparkContext
        if context._jsc is None or context._jsc.sc().isStopped():
            raise InputError(
                "the Spark session is stopped: make another, SparkSession.builder.getOrCreate(), "
                "and give it to vd.engines.Spark"
            )
        return context


def _asked(context: Any, name: str, held: Any, chunk: Chunk) -> Done:
    """One chunk as a Spark job: its rows are sent, or lie with the executors already."""
    context.setJobGroup(name, f"veridical: rows {chunk.start} to {chunk.stop - 1}")
    if isinstance(chunk.load, Shuffled):
        rows, which = chunk.load.partitions, [chunk.number]
        work = partial(_gathered, name, held, replace(chunk, load=Given(None)))
    else:
        rows, which, work = context.parallelize([pickled(chunk)], 1), [0], partial(_sent, name, held)
    try:
        (answer,) = context.runJob(rows, work, which)
    except Exception as cause:
        raise RuntimeError(_short(str(cause))) from cause
    if isinstance(answer, Exception):
        raise answer
    done: Done = answer
    return done


def _short(text: str) -> str:
    """What Spark says of a failure, without the traces of Java and Python."""
    lines = [line for line in text.splitlines() if line[:1].strip() and not line.startswith("Traceback")]
    return " ".join(lines)


def _sent(name: str, held: Any, chunks: Iterable[bytes]) -> list[Done | Exception]:
    return [_answer(name, held, partial(pickle.loads, chunk)) for chunk in chunks]


def _gathered(name: str, held: Any, chunk: Chunk, records: Iterable[Record]) -> list[Done | Exception]:
    return [_answer(name, held, lambda: replace(chunk, load=Given(joined(records))))]


def _answer(name: str, held: Any, chunk: Callable[[], Chunk]) -> Done | Exception:
    """What a chunk came to, or what it raised: Spark itself would make words of it."""
    try:
        return explained(recalled(name, lambda: held.value), chunk())
    except Exception as cause:
        return cause
