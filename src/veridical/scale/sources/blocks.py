"""Chunks made of slices of blocks: files, or partitions of a cluster's table, wherever they were cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from veridical.errors import InputError
from veridical.scale.work import Chunk


@dataclass(frozen=True)
class Slice:
    """Rows of one block."""

    block: int
    start: int
    stop: int


def some(lengths: Iterable[int]) -> tuple[int, ...]:
    """Lengths of blocks that are not all empty."""
    known = tuple(map(int, lengths))
    if not sum(known):
        raise InputError("there are no rows to explain: the table is empty")
    return known


def slices(lengths: Iterable[int], size: int) -> Iterator[list[Slice]]:
    """Which rows of which blocks make up each chunk of ``size`` rows, in order; the last may be smaller."""
    chunk, room = list[Slice](), size
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


def chunks_of(
    lengths: Iterable[int], size: int, load: Callable[[Sequence[Slice]], Callable[[], Any]]
) -> Iterator[Chunk]:
    """All rows of blocks of these lengths, ``size`` at a time."""
    for number, cuts in enumerate(slices(lengths, size)):
        start = number * size
        yield Chunk(number, start, start + sum(cut.stop - cut.start for cut in cuts), load(cuts))
