"""A progress bar with the time left, on stderr; where nobody watches, the lines alone tell the time left."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

WIDTH = 30  # characters of the bar
TICK = 1.0  # seconds between two looks at the clock


class Bar:
    """How much of ``n`` things, of ``total`` cost, is done; the bar counts down while a thing takes long."""

    def __init__(self, n: int, total: float) -> None:
        self.n, self.total, self.done, self.spent = n, total, 0, 0.0
        self.start = self.last = time.monotonic()
        self.watched = sys.stderr is not None and sys.stderr.isatty()
        self.over, self.lock = threading.Event(), threading.Lock()

    def __enter__(self) -> Bar:
        if self.watched:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.over.set()
        with self.lock:
            self._write("")

    def step(self, line: str, cost: float) -> None:
        """One more is done: its line stays, and the bar goes on below it."""
        with self.lock:
            self.done, self.spent, self.last = self.done + 1, self.spent + cost, time.monotonic()
            self._write("")
            left = f" ({clock(self.left())} left)" if self.done < self.n else ""
            print(f"{line}{left}", flush=True)
            if self.watched:
                self._write(self.text())

    def left(self) -> float:
        """Seconds to go if what is left takes as long as what is done, for its cost."""
        pace = (self.last - self.start) / max(self.spent, 1e-9)
        return max((self.total - self.spent) * pace - (time.monotonic() - self.last), 0.0)

    def text(self) -> str:
        share = self.spent / self.total if self.total else 1.0
        full = round(WIDTH * share)
        told = f"{clock(self.left())} left" if self.done else f"{clock(time.monotonic() - self.start)} so far"
        return f"{'█' * full}{'░' * (WIDTH - full)} {self.done}/{self.n} ({share:.0%}), {told}"

    def _tick(self) -> None:
        while not self.over.wait(TICK):
            with self.lock:
                if not self.over.is_set():
                    self._write(self.text())

    def _write(self, text: str) -> None:
        if self.watched:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()


def clock(seconds: float) -> str:
    """Hours, minutes and seconds, as far as there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
