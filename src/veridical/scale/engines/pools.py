"""What an engine is, and how chunks are handed to any pool of workers: a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any, Protocol, TypeAlias, runtime_checkable

from veridical.scale.sources.memory import Source
from veridical.scale.work import Chunk, Done, Failed, Job

AHEAD = 2  # chunks a worker that wait for it or are done by it

Result: TypeAlias = Done | Failed


@runtime_checkable
class Engine(Protocol):
    """Frozen settings that say who does the work."""

    def source(self, X: Any) -> Source | None:
        """Where the instances of a table of the engine's own come from; None if it is not one."""
        ...

    def run(self, job: Job, chunks: Iterator[Chunk]) -> Iterator[Result]:
        """Hand the chunks to ``explained``, and give back what came of each, once, in any order.

        Chunks are drawn when there is room for them, a few at a time; what a chunk raises is no error here.
        """
        ...


def handed(submit: Callable[[Chunk], Future[Done]], chunks: Iterator[Chunk], most: int) -> Iterator[Result]:
    """Hand chunks to a pool, at most so many at a time; it ends early if the pool does."""
    waiting: dict[Future[Done], Chunk] = {}
    for chunk in chunks:
        try:
            waiting[submit(chunk)] = chunk
        except Exception as cause:  # no chunk's fault: who should work is gone, or does not answer
            yield Failed(chunk, cause)
            break
        if len(waiting) == most:
            yield from _finished(waiting)
    while waiting:
        yield from _finished(waiting)


def _finished(waiting: dict[Future[Done], Chunk]) -> Iterator[Result]:
    """What came of those chunks that are finished first."""
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        chunk = waiting.pop(future)
        cause = CancelledError("its worker was lost") if future.cancelled() else future.exception()
        yield future.result() if cause is None else Failed(chunk, cause)


def tried(explain: Callable[[Chunk], Done], chunk: Chunk) -> Result:
    """What came of a chunk."""
    try:
        return explain(chunk)
    except Exception as cause:
        return Failed(chunk, cause)
