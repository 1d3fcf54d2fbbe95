"""Rows of a Spark DataFrame, put together into chunks by its executors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, TypeAlias

from veridical.errors import VeridicalError, require
from veridical.scale.sources.blocks import slices, some
from veridical.scale.sources.files import frame_of
from veridical.scale.work import Chunk

Record: TypeAlias = tuple[int, tuple[int, bytes]]  # chunk, number of the first row, rows as an Arrow stream


@dataclass(frozen=True, eq=False)
class Partitions:
    """The rows of a Spark DataFrame, partition after partition."""

    batches: Any  # RDD of numbers of rows, and the rows as Arrow streams
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, frame: Any) -> Partitions:
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
        return joined(records)

    def chunks(self, size: int) -> Iterator[Chunk]:
        starts = range(0, self.n_rows, size)
        shuffled = self._cut(size).partitionBy(len(starts), _itself)
        for number, start in enumerate(starts):
            yield Chunk(number, start, min(start + size, self.n_rows), Shuffled(shuffled))

    def _cut(self, size: int) -> Any:
        """The rows, cut where a chunk ends."""
        starts = tuple(accumulate(self.lengths, initial=0))
        return self.batches.mapPartitionsWithIndex(partial(_cuts, starts, size))


@dataclass(frozen=True, eq=False)
class Shuffled:
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


def joined(records: Iterable[Record]) -> Any:
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
