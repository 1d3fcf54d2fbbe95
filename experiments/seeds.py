"""Experiments with the networks of ``scenes.py``, one network a cell: their command line, and how it is run."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cells
import cnn
import scenes
from sets import NoDataError


def arguments(told: str | None, name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(told or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with pets/ and backgrounds/, or what scenes.py packed")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3], help="of networks and test pictures")
    parser.add_argument("--full", action="store_true", help="seeds 1 to 5")
    parser.add_argument("--pictures", type=int, default=192, help="that are explained, half of them cats")
    parser.add_argument("--epochs", type=int, default=100, help="of training")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=7200, help="seconds after which a cell is given up")
    parser.add_argument("--resume", action="store_true", help="leave what was measured without an error as it is")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / f"{name}.json")
    return parser


def run(
    name: str,
    settings: argparse.Namespace,
    measure: Callable[[cells.Cell, Path, str], dict[str, Any]],
    *,
    key: Sequence[str],
    places: Sequence[str],
    show: Callable[[cells.Cell], str],
) -> None:
    """Measure the seeds asked for; ``key`` begins with seed and network, the rest of it are settings."""
    try:
        scenes.check(settings.data, places)
    except NoDataError as error:
        raise SystemExit(f"{name}: {error}") from None
    cnn.check_device(settings.device)
    results = cells.Results(settings.out, name, key)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    fixed = {each: getattr(settings, each) for each in key[2:]}
    numbers = range(1, 6) if settings.full else settings.seeds
    cells.work(
        results,
        [{"seed": seed, "network": network, **fixed} for seed in numbers for network in scenes.NETWORKS],
        lambda cell: measure(cell, settings.data, settings.device),
        resume=settings.resume,
        jobs=settings.jobs,
        limit=settings.limit,
        show=show,
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables: python experiments/report.py --only {name}")
