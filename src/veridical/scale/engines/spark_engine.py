"""Chunks explained by the executors of a Spark cluster, and rows of Spark DataFrames."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any, TypeAlias
from uuid import uuid4

from veridical.errors import InputError, VeridicalError, require
from veridical.scale.driver import Chunk, ChunkDone, Job, dump_pickle, explain_chunk, pack_job, recall_job
from veridical.scale.engines.local import Result, hand_out
from veridical.scale.sources import InstanceSource, LoadedRows, frame_of, slices, some

Record: TypeAlias = tuple[int, tuple[int, bytes]]  # chunk, number of the first row, rows as an Arrow stream


@dataclass(frozen=True, eq=False)
class SparkPartitions:
    """The rows of a Spark DataFrame, partition after partition."""

    batches: Any  # RDD of numbers of rows, and the rows as Arrow streams
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, frame: Any) -> SparkPartitions:
        """A DataFrame, kept by the executors so that its partitions stay as they are."""
        level = require("pyspark", extra="spark").StorageLevel.MEMORY_AND_DISK  # for they may come otherwise anew
        batches = frame.mapInArrow(_streams, "n long, rows binary").rdd.map(tuple).persist(level)
        return cls(batches, some(batches.mapPartitions(_length).collect()))

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    def head(self, n: int) -> Any:
        needed = [cut.block for cut in next(slices(self.lengths, n))]
        records = self.batches.context.runJob(self._cut(n), _firsts, needed)
        return join_rows(records)

    def chunks(self, size: int) -> Iterator[Chunk]:
        starts = range(0, self.n_rows, size)
        shuffled = self._cut(size).partitionBy(len(starts), _itself)
        for number, start in enumerate(starts):
            yield Chunk(number, start, min(start + size, self.n_rows), ShuffledRows(shuffled))

    def _cut(self, size: int) -> Any:
        """The rows, cut where a chunk ends."""
        starts = tuple(accumulate(self.lengths, initial=0))
        return self.batches.mapPartitionsWithIndex(partial(_cuts, starts, size))


@dataclass(frozen=True, eq=False)
class ShuffledRows:
    """Rows that lie in the partition of their chunk's number."""

    partitions: Any

    def __call__(self) -> Any:
        raise VeridicalError("rows of a Spark DataFrame can be had by its executors only")


def _streams(batches: Iterable[Any]) -> Iterator[Any]:
    """Arrow batches as rows that hold an Arrow stream each."""
    arrow = require("pyarrow", extra="parquet")
    for batch in batches:
        yield arrow.RecordBatch.from_pydict({"n": [batch.num_rows], "rows": [_stream(batch)]})


def _stream(rows: Any) -> bytes:
    arrow = require("pyarrow", extra="parquet")
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    return bytes(sink.getvalue())


def _table(stream: bytes) -> Any:
    return require("pyarrow", extra="parquet").ipc.open_stream(stream).read_all()


def _length(batches: Iterable[tuple[int, bytes]]) -> list[int]:
    return [sum(n for n, _ in batches)]


def _cuts(
    starts: tuple[int, ...], size: int, block: int, batches: Iterable[tuple[int, bytes]]
) -> Iterator[Record]:
    """The rows of a partition, cut where a chunk ends."""
    at = starts[block]
    for n, stream in batches:
        table, stop = _table(stream), at + n
        while at < stop:
            n_here = min(stop, (at // size + 1) * size) - at
            yield at // size, (at, _stream(table.slice(n - (stop - at), n_here)))
            at += n_here


def _firsts(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record[0] == 0]


def join_rows(records: Iterable[Record]) -> Any:
    """Rows in the order of their numbers, times as the session's clock shows them, as ``toPandas`` has it."""
    arrow = require("pyarrow", extra="parquet")
    tables = [_table(stream) for _, (_, stream) in sorted(records)]
    table = arrow.concat_tables(tables)
    for i, column in enumerate(table.schema):
        if arrow.types.is_timestamp(column.type) and column.type.tz is not None:
            times = require("pyarrow.compute", extra="parquet").local_timestamp(table.column(i))
            table = table.set_column(i, column.name, times)
    return frame_of([table])


def _itself(chunk: int) -> int:
    return chunk


@dataclass(frozen=True)
class Spark:
    """The executors of a Spark cluster, through a ``SparkSession``.

    The job is broadcast once, and each chunk is a small Spark job of its own, so that one that fails takes no
    other with it; as many run at a time as ``spark.default.parallelism`` says. X may be a Spark DataFrame: its
    rows are numbered by partition, and one shuffle puts those of a chunk together, so that they never travel
    through this process. Times are as the session's clock shows them, as in ``toPandas``.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        Not of Spark Connect.

    Raises
    ------
    InputError
        If ``session`` is anything else.
    MissingPackage
        If pyspark is not installed.

    Examples
    --------
    >>> import veridical as vd
    >>> engine = vd.engines.Spark(SparkSession.builder.getOrCreate())  # doctest: +SKIP
    >>> vd.explain_many(model, rows, frame, engine=engine, store="nightly")  # doctest: +SKIP
    """

    session: Any

    def __post_init__(self) -> None:
        sql = require("pyspark.sql", extra="spark")
        if not isinstance(self.session, sql.SparkSession) or not hasattr(self.session, "_jsparkSession"):
            raise InputError(
                f"Spark wants a SparkSession (not of Spark Connect), not {type(self.session).__name__}: "
                "give vd.engines.Spark(SparkSession.builder.getOrCreate())"
            )

    def source(self, X: Any) -> InstanceSource | None:
        """Say where the rows of a Spark DataFrame come from; None if X is not one."""
        self._context()
        if not type(X).__module__.startswith("pyspark."):
            return None
        if not isinstance(X, require("pyspark.sql", extra="spark").DataFrame):
            raise InputError(f"X is a {type(X).__name__} of Spark: give its rows as a Spark DataFrame")
        return SparkPartitions.of(X)

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Explain chunks on the executors, as ``Engine.run`` says."""
        context, payload = self._context(), pack_job(job)
        name, held = uuid4().hex, context.broadcast(payload)
        n_workers = max(1, context.defaultParallelism)
        pool = ThreadPoolExecutor(n_workers)  # of threads that only wait
        work = partial(_run_chunk, context, name, held)
        try:
            yield from hand_out(partial(pool.submit, work), chunks, n_workers)
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


def _run_chunk(context: Any, name: str, held: Any, chunk: Chunk) -> ChunkDone:
    """One chunk as a Spark job: its rows are sent, or lie with the executors already."""
    context.setJobGroup(name, f"veridical: rows {chunk.start} to {chunk.stop - 1}")
    if isinstance(chunk.load, ShuffledRows):
        rows, which = chunk.load.partitions, [chunk.number]
        work = partial(_explain_gathered, name, held, replace(chunk, load=LoadedRows(None)))
    else:
        rows, which, work = context.parallelize([dump_pickle(chunk)], 1), [0], partial(_explain_sent, name, held)
    try:
        (answer,) = context.runJob(rows, work, which)
    except Exception as cause:
        raise RuntimeError(_abbreviate(str(cause))) from cause
    if isinstance(answer, Exception):
        raise answer
    done: ChunkDone = answer
    return done


def _abbreviate(text: str) -> str:
    """What Spark says of a failure, without the traces of Java and Python."""
    lines = [line for line in text.splitlines() if line[:1].strip() and not line.startswith("Traceback")]
    return " ".join(lines)


def _explain_sent(name: str, held: Any, chunks: Iterable[bytes]) -> list[ChunkDone | Exception]:
    return [_try_chunk(name, held, partial(pickle.loads, chunk)) for chunk in chunks]


def _explain_gathered(
    name: str, held: Any, chunk: Chunk, records: Iterable[Record]
) -> list[ChunkDone | Exception]:
    return [_try_chunk(name, held, lambda: replace(chunk, load=LoadedRows(join_rows(records))))]


def _try_chunk(name: str, held: Any, chunk: Callable[[], Chunk]) -> ChunkDone | Exception:
    """What a chunk came to, or what it raised: Spark itself would make words of it."""
    try:
        return explain_chunk(recall_job(name, lambda: held.value), chunk())
    except Exception as cause:
        return cause
