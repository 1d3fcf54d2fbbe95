"""Chunks handed to the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

import pandas as pd

from veridical.errors import InputError, require
from veridical.scale.blocks import Slice, chunks_of
from veridical.scale.pools import AHEAD, Result, handed
from veridical.scale.sources import Given, Source
from veridical.scale.work import Chunk, Done, Job, explained, packed, recalled


@dataclass(frozen=True)
class Dask:
    """The workers of a Dask cluster, through a client of ``dask.distributed``.

    The job is sent once to each worker. Tables may be dask DataFrames: partitions are computed where they are
    needed and never travel through this process; their lengths are asked for first.
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

    def source(self, X: Any) -> Source | None:
        """Where the rows of a dask DataFrame come from; None if it is not one."""
        if not _is_frame(X):
            return None
        self._check_open()
        lengths = self.client.compute(X.map_partitions(len, meta=("length", "int64"))).result()
        return Partitions(X, tuple(int(n) for n in lengths))

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Explain chunks on the workers."""
        self._check_open()
        sent = _Sent(self.client, packed(job))
        most = AHEAD * max(1, sum(self.client.nthreads().values()))
        pool = self.client.get_executor(pure=False)
        try:
            yield from handed(partial(_submitted, pool, sent), chunks, most)
        finally:
            pool.shutdown(wait=False)

    def _check_open(self) -> None:
        if self.client.status != "running":
            raise InputError(
                f"the Dask client is {self.client.status}: make another, vd.engines.Dask(Client(address))"
            )


class _Sent:
    """A job in the memory of the workers, sent once more if all that held it are gone."""

    def __init__(self, client: Any, payload: bytes) -> None:
        self.client, self.payload = client, payload
        self.name = sha256(payload).hexdigest()
        self.held: Any = None

    def future(self) -> Any:
        if self.held is None or self.held.cancelled():
            self.held = self.client.scatter(self.payload, broadcast=True, hash=False)
        return self.held


@dataclass(frozen=True, eq=False)
class Partitions:
    """The rows of a dask DataFrame, partition after partition."""

    frame: Any
    lengths: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    def head(self, n: int) -> Any:
        return self.frame.head(n, npartitions=-1)

    def chunks(self, size: int) -> Iterator[Chunk]:
        partitions = self.frame.to_delayed()
        return chunks_of(
            self.lengths, size, lambda cuts: Pieces(tuple(cuts), tuple(partitions[cut.block] for cut in cuts))
        )


@dataclass(frozen=True, eq=False)
class Pieces:
    """Slices of partitions that are computed when their chunk is handed over."""

    cuts: tuple[Slice, ...]
    partitions: tuple[Any, ...]  # delayed

    def __call__(self) -> Any:
        return _joined(self.cuts, [partition.compute() for partition in self.partitions])


def _is_frame(X: Any) -> bool:
    if not type(X).__module__.startswith("dask"):
        return False
    dataframe = require("dask.dataframe", extra="dask")
    return isinstance(X, dataframe.DataFrame)


def _submitted(pool: Any, sent: _Sent, chunk: Chunk) -> Future[Done]:
    """A chunk on its way; partitions that others need at the same time are computed once."""
    work, blocks = _explained, []
    if isinstance(chunk.load, Pieces):
        work, blocks = _explained_pieces, sent.client.compute(list(chunk.load.partitions))
        chunk = replace(chunk, load=Given(chunk.load.cuts))
    future: Future[Done] = pool.submit(work, sent.name, sent.future(), chunk, *blocks)
    return future


def _explained(name: str, payload: bytes, chunk: Chunk) -> Done:
    return explained(recalled(name, lambda: payload), chunk)


def _explained_pieces(name: str, payload: bytes, chunk: Chunk, *blocks: Any) -> Done:
    return _explained(name, payload, replace(chunk, load=Given(_joined(chunk.load(), blocks))))


def _joined(cuts: tuple[Slice, ...], blocks: Any) -> pd.DataFrame:
    frames: list[pd.DataFrame] = [b.iloc[cut.start : cut.stop] for cut, b in zip(cuts, blocks, strict=True)]
    return pd.concat(frames)
