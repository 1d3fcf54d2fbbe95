"""How much work something is, in a number that is the same on every machine, however busy it is."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def calls(work: Callable[[], Any]) -> int:
    """The number of functions, Python's and C's, that are called."""
    n, before = 0, sys.getprofile()

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal n
        n += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return n


@contextmanager
def ending(seconds: int = 300) -> Iterator[None]:
    """Fail what would take hours, long after everything that works has ended."""

    def end(signum: int, frame: Any) -> None:
        raise AssertionError(f"not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
