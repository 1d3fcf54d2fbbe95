"""Networks that were never trained, made anew from the top: the maps beside those that other code first found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections.markdown import table, target
from summary import where

STEPS = ("last dense", "both dense", "conv 4 of 6", "conv 2 of 6", "everything")
FIRST = {  # rank correlations, signed and of sizes, of each step, in one run of other code
    "Grad": ((0.11, 0.18), (0.00, 0.18), (0.00, 0.17), (0.00, 0.16), (0.00, 0.10)),
    "GBP": ((0.99, 0.97), (0.99, 0.95), (0.97, 0.91), (0.92, 0.79), (0.72, 0.37)),
    "DConvNet": ((0.82, 0.67), (0.77, 0.60), (0.66, 0.46), (0.50, 0.29), (-0.04, 0.01)),
}
DIGIT = 0.015  # of the numbers first found: their last digit, and a little


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    rows, goals = [], []
    for method, first in FIRST.items():
        found = values(where(good, method=method))
        fits = near(found, method)
        row: dict[str, Any] = {"method": method}
        for i, step in enumerate(STEPS):
            mean, spread = found[:, i].mean(axis=0), found[:, i].std(axis=0, ddof=1)
            told = " / ".join(f"{m:.2f} ± {s:.2f}" for m, s in zip(mean, spread, strict=True))
            row[step] = f"{told} (first {first[i][0]:.2f} / {first[i][1]:.2f})"
        rows.append(row)
        what = f"untrained networks, {method}: rank correlations that fit those first found"
        goals.append(target(what, f"{fits.size} of {fits.size}", str(int(fits.sum())), bool(fits.all())))
    said = "Signed / of sizes, mean ± standard deviation over networks; in brackets what other code first found."
    return f"{table(goals)}\n\n{said}\n\n{table(rows)}"


def values(cells: Sequence[Cell]) -> Any:
    """(networks, steps, 2)"""
    return np.array([cell["steps"] for cell in cells])


def near(found: Any, method: str) -> Any:
    """(steps, 2): whether what was first found is one more draw of a network like these."""
    return np.abs(found.mean(axis=0) - FIRST[method]) <= 3 * found.std(axis=0, ddof=1) + DIGIT


def figures(cells: Sequence[Cell], folder: Path) -> None:
    """None: the table is all."""
