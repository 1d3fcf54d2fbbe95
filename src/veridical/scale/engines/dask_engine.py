"""Chunks handed to the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

import pandas as pd

from veridical.errors import InputError, require
from veridical.scale.driver import Chunk, ChunkDone, Job, explain_chunk, pack_job, recall_job
from veridical.scale.engines.local import AHEAD, Result, hand_out
from veridical.scale.sources import InstanceSource, LoadedRows, Slice, chunks_of, slices, some


@dataclass(frozen=True)
class Dask:
    """The workers of a Dask cluster, through a client of ``dask.distributed``.

    The job is sent once to each worker. X may be a dask DataFrame: its partitions are computed where they are
    needed and never travel through this process; each is computed once more to know its length.

    Parameters
    ----------
    client : dask.distributed.Client
        Connected to the cluster, and not asynchronous.

    Raises
    ------
    InputError
        If ``client`` is anything else.
    MissingPackage
        If dask.distributed is not installed.

    Examples
    --------
    >>> import veridical as vd
    >>> engine = vd.engines.Dask(Client(cluster))  # doctest: +SKIP
    >>> vd.explain_many(model, rows, frame, engine=engine, store="nightly")  # doctest: +SKIP
    """

    client: Any

    def __post_init__(self) -> None:
        distributed = require("distributed", extra="dask")
        if not isinstance(self.client, distributed.Client):
            raise InputError(
                f"Dask wants a client of dask.distributed, not {type(self.client).__name__}: "
                "give vd.engines.Dask(Client(cluster)), with Client from dask.distributed"
            )
        if self.client.asynchronous:
            raise InputError("Dask wants a client that waits for answers: make it without asynchronous=True")

    def source(self, X: Any) -> InstanceSource | None:
        """Say where the rows of a dask DataFrame come from; None if X is not one."""
        self._check_open()
        if not type(X).__module__.startswith("dask"):
            return None
        if not isinstance(X, require("dask.dataframe", extra="dask").DataFrame):
            raise InputError(f"X is a {type(X).__name__} of dask: give its rows as a dask DataFrame")
        partitions = tuple(X.to_delayed())
        length = require("dask", extra="dask").delayed(len, pure=True)
        lengths = self.client.gather(self.client.compute([length(partition) for partition in partitions]))
        return DaskPartitions(self.client, partitions, some(lengths))

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Explain chunks on the workers, as ``Engine.run`` says."""
        self._check_open()
        sent = SentJob(self.client, pack_job(job))
        most = AHEAD * max(1, sum(self.client.nthreads().values()))
        pool = self.client.get_executor(pure=False)
        try:
            yield from hand_out(partial(_submit, pool, sent), chunks, most)
        finally:
            pool.shutdown(wait=False)

    def _check_open(self) -> None:
        if self.client.status != "running":
            raise InputError(
                f"the Dask client is {self.client.status}: make another, vd.engines.Dask(Client(address))"
            )


@dataclass(frozen=True, eq=False)
class DaskPartitions:
    """The rows of a dask DataFrame, partition after partition."""

    client: Any
    partitions: tuple[Any, ...]  # delayed
    lengths: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    def head(self, n: int) -> Any:
        cuts = next(slices(self.lengths, n))
        return self.client.submit(_join, cuts, *self.client.compute(self._pieces(cuts).partitions)).result()

    def chunks(self, size: int) -> Iterator[Chunk]:
        return chunks_of(self.lengths, size, self._pieces)

    def _pieces(self, cuts: Sequence[Slice]) -> DaskPieces:
        return DaskPieces(tuple(cuts), [self.partitions[cut.block] for cut in cuts])


@dataclass(frozen=True, eq=False)
class DaskPieces:
    """Slices of partitions that are computed when their chunk is handed over."""

    cuts: tuple[Slice, ...]
    partitions: list[Any]  # delayed

    def __call__(self) -> Any:
        return _join(self.cuts, *(partition.compute() for partition in self.partitions))


class SentJob:
    """A job in the memory of the workers, sent once more if all that held it are gone."""

    def __init__(self, client: Any, payload: bytes) -> None:
        self.client, self.payload = client, payload
        self.name = uuid4().hex
        self.held: Any = None

    def future(self) -> Any:
        if self.held is None or self.held.cancelled():
            self.held = self.client.scatter(self.payload, broadcast=True, hash=False)
        return self.held


def _submit(pool: Any, sent: SentJob, chunk: Chunk) -> Future[ChunkDone]:
    """A chunk on its way; rows go straight to a worker, and partitions that chunks share are computed once."""
    work, where, blocks = _explain, chunk, []
    if isinstance(chunk.load, LoadedRows):
        where = sent.client.scatter(chunk, hash=False)
    elif isinstance(chunk.load, DaskPieces):
        work, blocks = _explain_pieces, sent.client.compute(chunk.load.partitions)
        where = replace(chunk, load=LoadedRows(chunk.load.cuts))
    future: Future[ChunkDone] = pool.submit(work, sent.name, sent.future(), where, *blocks)
    return future


def _explain(name: str, payload: bytes, chunk: Chunk) -> ChunkDone:
    return explain_chunk(recall_job(name, lambda: payload), chunk)


def _explain_pieces(name: str, payload: bytes, chunk: Chunk, *blocks: pd.DataFrame) -> ChunkDone:
    return _explain(name, payload, replace(chunk, load=LoadedRows(_join(chunk.load(), *blocks))))


def _join(cuts: Sequence[Slice], *blocks: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([block.iloc[cut.start : cut.stop] for cut, block in zip(cuts, blocks, strict=True)])
