"""How much memory a file may take: in proportion to its size, so that a small one cannot fill a machine.

What a file unfolds to is at most 64 MiB, or a hundred times its size where that is more. Pictures of one color
and rows that are all alike shrink to less than a hundredth: files of them are made longer as they are written, so
that they can be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FLOOR = 64 * 2**20  # bytes that any file may unfold to
FACTOR = 100  # and how many times its own size, where that is more
ROW, VALUE = 2048, 32  # bytes of an explanation, and of an entry of its lists, as objects of Python

_left: ContextVar[list[int] | None] = ContextVar("left", default=None)
_packed: ContextVar[list[int] | None] = ContextVar("packed", default=None)


def allowed(size: int) -> int:
    """Bytes of memory that a file of so many bytes may take."""
    return max(FLOOR, FACTOR * size)


@contextmanager
def bounded(size: int) -> Iterator[None]:
    """While a file of so many bytes is read, what it unfolds to is counted."""
    token = _left.set([allowed(size)])
    try:
        yield
    finally:
        _left.reset(token)


def spend(n: int) -> None:
    """Count bytes that are about to be taken, and raise if a file has no more left."""
    left = _left.get()
    if left is not None:
        left[0] -= n
        if left[0] < 0:
            raise ValueError(f"it unfolds to more than {FLOOR // 2**20} MiB and {FACTOR} times its size")


@contextmanager
def counting() -> Iterator[list[int]]:
    """While a file is written, the bytes that will be taken to read it."""
    count = [0]
    token = _packed.set(count)
    try:
        yield count
    finally:
        _packed.reset(token)


def count(n: int) -> None:
    """Count bytes that reading will take."""
    packed = _packed.get()
    if packed is not None:
        packed[0] += n
