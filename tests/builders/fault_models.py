"""Models that do harm: they end their own process, or answer no more, while explanations are made."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

N, WIDTH = 1_200, 4  # rows: two chunks of at most 1,024


def rows() -> Any:
    """A table whose first column is the number of the row, so that a model knows where it is."""
    values = np.random.default_rng(0).normal(size=(N, WIDTH))
    values[:, 0] = np.arange(N)
    return values


def wavy(X: Any) -> Any:
    """What all models here answer."""
    X = np.asarray(X, dtype=float)
    return np.sin(X[:, 0] / 500) + X[:, 1] - X[:, 2] * X[:, 3]


@dataclass(frozen=True)
class Fatal:
    """Kills the process that asks it about a row, unless that is the caller's own; ``times`` at most.

    Each time a mark is left in a folder, so that a new process knows.
    """

    folder: str
    row: int
    times: int = 1
    caller: int = field(default_factory=os.getpid)

    def __call__(self, X: Any) -> Any:
        if os.getpid() != self.caller and self.row in np.asarray(X)[:, 0] and self._mark():
            os.kill(os.getpid(), signal.SIGKILL)
        return wavy(X)

    def _mark(self) -> bool:
        """Whether this is one of the times, each of which has one file that only one process can make."""
        for i in range(self.times):
            try:
                Path(self.folder, f"killed-{i}").touch(exist_ok=False)
            except FileExistsError:
                continue
            return True
        return False


@dataclass(frozen=True)
class Failing:
    """Raises on batches that hold one of these rows."""

    bad: tuple[int, ...]

    def __call__(self, X: Any) -> Any:
        found = set(self.bad) & set(np.asarray(X)[:, 0].astype(int).tolist())
        if found:
            raise ZeroDivisionError(f"row {min(found)} is not liked")
        return wavy(X)


@dataclass(frozen=True)
class Slow:
    """Takes its time for each batch, so that there is a middle to be stopped in."""

    seconds: float

    def __call__(self, X: Any) -> Any:
        time.sleep(self.seconds)
        return wavy(X)


@dataclass(frozen=True)
class Waiting:
    """Answers about a row only after a file is there, so that there is a middle to be stopped in."""

    row: int
    file: str

    def __call__(self, X: Any) -> Any:
        end = time.monotonic() + 600
        while self.row in np.asarray(X)[:, 0] and not Path(self.file).exists() and time.monotonic() < end:
            time.sleep(0.02)
        return wavy(X)
