"""Measurements one by one: done in any order, kept as soon as they are there, done again or left alone."""

from __future__ import annotations

import json
import os
import platform
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import veridical
from bar import Bar

FOLDER = Path(__file__).parent / "results"
PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas")

Cell = dict[str, Any]  # what is measured, by its key, and what was found


class Results:
    """The cells of a JSON file; ``key`` names the fields that tell one cell from another."""

    def __init__(self, path: Path, experiment: str, key: Sequence[str]) -> None:
        self.path, self.experiment, self.key = path, experiment, tuple(key)
        self.cells: dict[tuple[Any, ...], Cell] = {}
        self.commands: list[str] = []
        if path.exists():
            known = json.loads(path.read_text(encoding="utf-8"))
            if known.get("experiment") != experiment:
                raise SystemExit(
                    f"{path} holds {known.get('experiment')!r}, not {experiment!r}: choose another --out"
                )
            self.commands = known["commands"]
            self.cells = {self.key_of(cell): cell for cell in known["cells"]}

    def key_of(self, cell: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(cell[name] for name in self.key)

    def has(self, cell: Mapping[str, Any]) -> bool:
        """Whether it was measured, and without an error."""
        return "error" not in self.cells.get(self.key_of(cell), {"error": "not there"})

    def put(self, cell: Cell) -> None:
        """Keep a cell in place of the one with the same key, and write all of them."""
        self.cells[self.key_of(cell)] = cell
        record = {
            "experiment": self.experiment,
            "commands": self.commands,
            "date": date.today().isoformat(),
            "environment": environment(),
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".part")
        fresh.write_text(written(record, [short(each) for each in self.cells.values()]), encoding="utf-8")
        fresh.replace(self.path)  # at once: a run that is stopped leaves a whole file


def written(record: Mapping[str, Any], found: Sequence[Cell]) -> str:
    """A record of cells as JSON, a cell a line: small, and a change shows where it is."""
    head = json.dumps(record, indent=1, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n  ".join(json.dumps(cell, ensure_ascii=False) for cell in found)
    return f'{head},\n "cells": [\n  {lines}\n ]\n}}\n'


def work(
    results: Results,
    wanted: Sequence[Cell],
    measure: Callable[[Cell], Mapping[str, Any]],
    *,
    resume: bool = False,
    jobs: int = 1,
    limit: int = 0,
    show: Callable[[Cell], str] = str,
    cost: Callable[[Cell], float] = lambda _: 1.0,
) -> None:
    """Measure the wanted cells; one that fails is kept with its error, and the others go on.

    ``cost`` says how long a cell takes beside the others, where they differ much: the time left is told by it.
    """
    left = [cell for cell in wanted if not (resume and results.has(cell))]
    if len(left) < len(wanted):
        print(f"{len(wanted) - len(left)} of {len(wanted)} are there already")
    asked = (delayed(attempt)(cell, measure, limit) for cell in left)
    with Bar(len(left), sum(map(cost, left))) as bar:
        for i, cell in enumerate(Parallel(n_jobs=jobs, return_as="generator_unordered")(asked), 1):
            results.put(cell)
            told = cell["error"] if "error" in cell else show(cell)
            key = " ".join(map(str, results.key_of(cell)))
            bar.step(f"[{i}/{len(left)}] {key}: {told}", cost(cell))


def attempt(cell: Cell, measure: Callable[[Cell], Mapping[str, Any]], limit: int = 0) -> Cell:
    """A cell with what was measured, or with the error that came instead."""
    try:
        with within(limit), threadpool_limits(1):
            return {**cell, **measure(cell)}
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"
        return {**cell, "error": told}


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Give up after so many seconds; 0 is never. Where there are no alarms, nothing is given up."""
    if not seconds or not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def short(value: Any) -> Any:
    """Numbers with no more digits than they deserve."""
    if isinstance(value, Mapping):
        return {key: short(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [short(v) for v in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def command(data: Path | None) -> str:
    """The command again, without the paths of this machine."""
    words = ["DIR" if data is not None and word == str(data) else _local(word) for word in sys.argv[1:]]
    return shlex.join(["python", f"experiments/{Path(sys.argv[0]).name}", *words])


def _local(word: str) -> str:
    return Path(word).name if Path(word).is_absolute() else word


def environment() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "veridical": veridical.__version__,
        **{package: version(package) for package in PACKAGES},
        "system": platform.system(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
