"""Chunks handed to the workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from veridical.errors import InputError, require
from veridical.scale.driver import Chunk, ChunkDone, ChunkFailed, Job, explain_chunk, pack_job, recall_job
from veridical.scale.engines.local import AHEAD, Result, hand_out
from veridical.scale.sources import InstanceSource, Slice, chunks_of, frame_of, slices, some


@dataclass(frozen=True)
class Ray:
    """The workers of a Ray cluster: the one this process is connected to, else the one at ``address``.

    Without an address, one of this machine is started where there is none, and stays until ``ray.shutdown()``. The
    job is put into Ray's store once. X may be a Dataset of ``ray.data``: it is computed once, in order, and its
    blocks lie in that store, or where that spills to, and never travel through this process.

    Parameters
    ----------
    address : str, optional
        Of the cluster, as ``ray.init`` takes it.

    Raises
    ------
    MissingPackage
        If ray is not installed.

    Examples
    --------
    >>> import veridical as vd
    >>> vd.explain_many(model, rows, dataset, engine=vd.engines.Ray(), store="nightly")  # doctest: +SKIP
    """

    address: str | None = None

    def __post_init__(self) -> None:
        require("ray", extra="ray")

    def source(self, X: Any) -> InstanceSource | None:
        """Say where the rows of a ``ray.data`` Dataset come from; None if X is not one."""
        if not type(X).__module__.startswith("ray."):
            return None
        ray = self._connected()
        if not isinstance(X, require("ray.data", extra="ray").Dataset):
            raise InputError(f"X is a {type(X).__name__} of ray: give its rows as a Dataset of ray.data")
        options = X.context.execution_options
        before, options.preserve_order = options.preserve_order, True  # else blocks come as they are finished
        try:
            blocks = tuple(X.materialize().to_arrow_refs())
        finally:
            options.preserve_order = before
        length = ray.remote(_length)
        return RayBlocks(blocks, some(ray.get([length.remote(block) for block in blocks])))

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Explain chunks on the workers, as ``Engine.run`` says; what is tried again is not Ray's to say."""
        ray = self._connected()
        payload = pack_job(job)
        name, held = uuid4().hex, ray.put(payload)
        task = ray.remote(max_retries=0)(_explain)
        waiting: dict[Future[ChunkDone], Any] = {}

        def submit(chunk: Chunk) -> Future[ChunkDone]:
            reference = task.remote(name, [held], chunk)
            future: Future[ChunkDone] = reference.future()
            waiting[future] = reference
            future.add_done_callback(waiting.pop)
            return future

        try:
            yield from map(
                _unwrap, hand_out(submit, chunks, AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1))))
            )
        finally:
            for reference in list(waiting.values()):
                ray.cancel(reference)

    def _connected(self) -> Any:
        ray = require("ray", extra="ray")
        if not ray.is_initialized():
            ray.init(self.address, logging_level="ERROR")
        return ray


@dataclass(frozen=True, eq=False)
class RayBlocks:
    """The rows of a Dataset, block after block."""

    blocks: tuple[Any, ...]  # references to Arrow tables
    lengths: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    def head(self, n: int) -> Any:
        return self._pieces(next(slices(self.lengths, n)))()

    def chunks(self, size: int) -> Iterator[Chunk]:
        return chunks_of(self.lengths, size, self._pieces)

    def _pieces(self, cuts: Sequence[Slice]) -> RayPieces:
        return RayPieces(tuple(cuts), tuple(self.blocks[cut.block] for cut in cuts))


@dataclass(frozen=True, eq=False)
class RayPieces:
    """Slices of blocks, fetched by the worker that needs them."""

    cuts: tuple[Slice, ...]
    blocks: tuple[Any, ...]

    def __call__(self) -> Any:
        tables = require("ray", extra="ray").get(list(self.blocks))
        return frame_of(
            [t.slice(cut.start, cut.stop - cut.start) for t, cut in zip(tables, self.cuts, strict=True)]
        )


def _unwrap(result: Result) -> Result:
    """What a chunk raised, without what Ray says around it."""
    if isinstance(result, ChunkDone):
        return result
    inner = getattr(result.cause, "cause", None)
    return ChunkFailed(result.chunk, inner) if isinstance(inner, Exception) else result


def _length(block: Any) -> int:
    return int(block.num_rows)


def _explain(name: str, held: list[Any], chunk: Chunk) -> ChunkDone:
    """Explain a chunk in a process that may have done others of the same job: the job is fetched once."""
    return explain_chunk(recall_job(name, lambda: require("ray", extra="ray").get(held[0])), chunk)
