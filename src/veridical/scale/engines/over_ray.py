"""Chunks handed to the workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from veridical.errors import InputError, require
from veridical.scale.engines.pools import AHEAD, Result, handed
from veridical.scale.sources.blocks import Slice, chunks_of, slices, some
from veridical.scale.sources.files import frame_of
from veridical.scale.sources.memory import Source
from veridical.scale.work import Chunk, Done, Failed, Job, explained, packed, recalled


@dataclass(frozen=True)
class Ray:
    """The workers of a Ray cluster: the one this process is connected to, else the one at ``address``.

    Without an address, one of this machine is started where there is none, and stays until ``ray.shutdown()``. The
    job is put into Ray's store once. X may be a Dataset of ``ray.data``: it is computed once, in order, and its
    blocks lie in that store, or where that spills to, and never travel through this process.
    """

    address: str | None = None

    def __post_init__(self) -> None:
        require("ray", extra="ray")

    def source(self, X: Any) -> Source | None:
        """Where the rows of a ``ray.data`` Dataset come from; None if it is not one."""
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
        return Blocks(blocks, some(ray.get([length.remote(block) for block in blocks])))

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Explain chunks on the workers; what is tried again is this library's to say, not Ray's."""
        ray = self._connected()
        payload = packed(job)
        name, held = uuid4().hex, ray.put(payload)
        task = ray.remote(max_retries=0)(_explained)
        waiting: dict[Future[Done], Any] = {}

        def submit(chunk: Chunk) -> Future[Done]:
            reference = task.remote(name, [held], chunk)
            future: Future[Done] = reference.future()
            waiting[future] = reference
            future.add_done_callback(waiting.pop)
            return future

        try:
            yield from map(
                _bare, handed(submit, chunks, AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1))))
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
class Blocks:
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

    def _pieces(self, cuts: Sequence[Slice]) -> Pieces:
        return Pieces(tuple(cuts), tuple(self.blocks[cut.block] for cut in cuts))


@dataclass(frozen=True, eq=False)
class Pieces:
    """Slices of blocks, fetched by the worker that needs them."""

    cuts: tuple[Slice, ...]
    blocks: tuple[Any, ...]

    def __call__(self) -> Any:
        tables = require("ray", extra="ray").get(list(self.blocks))
        return frame_of(
            [t.slice(cut.start, cut.stop - cut.start) for t, cut in zip(tables, self.cuts, strict=True)]
        )


def _bare(result: Result) -> Result:
    """What a chunk raised, without what Ray says around it."""
    if isinstance(result, Done):
        return result
    inner = getattr(result.cause, "cause", None)
    return Failed(result.chunk, inner) if isinstance(inner, Exception) else result


def _length(block: Any) -> int:
    return int(block.num_rows)


def _explained(name: str, held: list[Any], chunk: Chunk) -> Done:
    """Explain a chunk in a process that may have done others of the same job: the job is fetched once."""
    return explained(recalled(name, lambda: require("ray", extra="ray").get(held[0])), chunk)
