"""Chunks made of slices of blocks: the partitions of a cluster's table, wherever they were cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Slice:
    """Rows of one block."""

    block: int
    start: int
    stop: int


def slices(lengths: Iterable[int], size: int) -> Iterator[list[Slice]]:
    """Which rows of which blocks make up each chunk of ``size`` rows, in order; the last may be smaller."""
    chunk, room = [], size
    for block, length in enumerate(lengths):
        at = 0
        while at < length:
            stop = min(length, at + room)
            chunk.append(Slice(block, at, stop))
            room -= stop - at
            at = stop
            if not room:
                yield chunk
                chunk, room = [], size
    if chunk:
        yield chunk
