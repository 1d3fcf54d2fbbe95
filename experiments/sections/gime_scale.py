"""Time and memory of groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cells import Cell
from sections.markdown import number, table


def tables(cells: Sequence[Cell]) -> str:
    keys = {"method": "method", "rows": "rows", "seconds": "seconds", "extra_mb": "extra MB", "rmse": "error"}
    rows = [
        {told: number(c[key]) if isinstance(c[key], float) else str(c[key]) for key, told in keys.items()}
        for c in cells
        if "error" not in c
    ]
    return table(rows)


def figures(cells: Sequence[Cell], folder: Path) -> None:
    """None."""
