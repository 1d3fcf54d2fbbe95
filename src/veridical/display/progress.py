"""How far long work has come: a line in a terminal, a bar in a notebook, nothing where nobody watches."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, Protocol, TypeVar

from veridical.display.markup import escape, tag
from veridical.errors import InputError, require
from veridical.methods.many import ProgressCallback

T = TypeVar("T")

PATIENCE = 1.0  # seconds of work before progress shows itself
PAUSE = {"terminal": 0.1, "notebook": 0.5}  # seconds from one sight to the next


@dataclass(frozen=True)
class Pace:
    """How far work has come, and how long the rest will take."""

    done: int
    total: int | None  # None where nobody knows
    unit: str  # "rows"; "calls, at most" where the total is the most there can be
    seconds: float  # since the start
    at_done: float  # seconds when the last of ``done`` was done

    @property
    def share(self) -> float | None:
        """The share that is done, if it is known."""
        return min(self.done / self.total, 1.0) if self.total else None

    @property
    def left(self) -> float | None:
        """Seconds that the rest takes if it goes on as before, if that can be said yet."""
        if not self.total or not self.done:
            return None
        whole = self.at_done / self.done * max(self.total - self.done, 0)
        return max(whole - (self.seconds - self.at_done), 0.0)

    def __str__(self) -> str:
        unit, _, most = self.unit.partition(", ")
        bound = f"{most} " if most else ""
        whole = "" if self.share is None else f" of {bound}{self.total:,}"
        share = "" if self.share is None else f" ({100 * self.share:.0f} %)"
        rate = f", {speed(self.done / self.at_done)} {unit}/s" if self.done and self.at_done else ""
        rest = f"{clock(self.seconds)} so far" if self.left is None else f"{bound}{clock(self.left)} left"
        return f"{self.done:,}{whole} {unit}{share}{rate}, {rest}"


def speed(rate: float) -> str:
    """How many a second, in two or more digits."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are some."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Screen(Protocol):
    """Where progress is shown."""

    pause: float  # seconds from one sight to the next

    def show(self, pace: Pace) -> None: ...

    def close(self) -> None:
        """Leave the screen as a reader wants to find it, whether the work was finished or not."""
        ...


@dataclass
class TerminalLine:
    """One line of a terminal, gone when the work is done."""

    pause: float = PAUSE["terminal"]
    width: int = 0

    def show(self, pace: Pace) -> None:
        text = str(pace)
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def close(self) -> None:
        sys.stderr.write("\r" + " " * self.width + "\r")
        sys.stderr.flush()


@dataclass
class NotebookBar:
    """A bar below the cell of a notebook, without widgets, gone when the work is done."""

    pause: float = PAUSE["notebook"]
    handle: Any = None

    def show(self, pace: Pace) -> None:
        known = {} if pace.share is None else {"value": pace.done, "max": pace.total}
        bar = tag("progress", {**known, "aria-label": str(pace), "style": "vertical-align:middle"})
        self._put(str(pace), tag("div", {}, bar, escape(f" {pace}")))

    def close(self) -> None:
        self._put("", "")

    def _put(self, text: str, markup: str) -> None:
        bundle = {"text/plain": text, "text/html": markup}
        if self.handle is None:
            display = importlib.import_module("IPython.display").display  # a kernel runs, so it is there
            self.handle = display(bundle, raw=True, display_id=True)
        else:
            self.handle.update(bundle, raw=True)


@dataclass
class Bar:
    """A bar of rich on stderr, gone when the work is done."""

    pause: float = PAUSE["terminal"]
    live: Any = None
    task: Any = None

    def show(self, pace: Pace) -> None:
        if self.live is None:
            rich, console = require("rich.progress", extra="cli"), require("rich.console", extra="cli")
            columns = (rich.BarColumn(bar_width=16), rich.TextColumn("{task.description}", markup=False))
            self.live = rich.Progress(*columns, transient=True, console=console.Console(stderr=True))
            self.live.start()
            self.task = self.live.add_task("", total=pace.total)
        self.live.update(self.task, completed=pace.done, description=str(pace))

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()


class Progress:
    """Hand the items of long work on, and show how far it has come: what ``track`` is by default.

    ``beat`` shows it once more while one item takes long. An object is for one piece of work.
    """

    def __init__(self, unit: str = "rows", screen: Callable[[], Screen | None] | None = None) -> None:
        self.unit, self.screen = unit, screen  # by default, where the work is watched
        self._look: Callable[[], None] | None = None  # where there is something to show

    def __call__(self, work: Iterable[T], total: int | None = None) -> Iterator[T]:
        screen = (self.screen or screen_here)()
        return iter(work) if screen is None else self._shown(work, total, screen)

    def _shown(self, work: Iterable[T], total: int | None, screen: Screen) -> Iterator[T]:
        start = last = time.monotonic()
        done, at_done, shown, thread = 0, 0.0, False, threading.get_ident()

        def look() -> None:
            """Show it, if it is long since the start and since the last time; only where the work began."""
            nonlocal last, shown
            now = time.monotonic()
            if threading.get_ident() == thread and now - start > PATIENCE and now - last > screen.pause:
                screen.show(Pace(done, total, self.unit, now - start, at_done))
                last, shown = now, True

        self._look = look
        try:
            for done, item in enumerate(work):  # noqa: B007 - look reads it
                at_done = time.monotonic() - start
                look()
                yield item
        finally:
            self._look = None
            if shown:
                screen.close()

    def beat(self) -> None:
        """Show how long it has been, if there is something to show."""
        if self._look is not None:
            self._look()


@contextmanager
def counting(track: ProgressCallback, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """What a model is to be told to call, so that ``track`` hears of every input it is asked about."""
    _check_track(track)
    steps = iter(track(count(), total=total))
    next(steps, None)  # the clock starts

    def hear(n: int) -> None:
        deque(islice(steps, n), maxlen=0)

    try:
        yield hear
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            close()


def beating(track: ProgressCallback) -> Callable[[int], None]:
    """What a model is to be told to call, so that ``track`` is seen to live while one item takes long."""
    _check_track(track)
    return lambda n: track.beat() if isinstance(track, Progress) else None


def _check_track(track: Any) -> None:
    """Refuse what cannot wrap the iteration."""
    if not callable(track):
        raise InputError(f"progress wants a function that wraps an iteration, such as tqdm.tqdm, not {track!r}")


def screen_here() -> Screen | None:
    """A notebook's cell, a terminal's line, or nothing where nobody watches."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if hasattr(shell, "kernel"):
        return NotebookBar()
    return TerminalLine() if sys.stderr is not None and sys.stderr.isatty() else None
