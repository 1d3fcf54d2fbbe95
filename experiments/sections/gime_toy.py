"""Two half-spaces: the error beside the oracle's, and the share assigned rightly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cells import Cell
from sections.markdown import spread, table
from summary import by_split, distinct, where


def tables(cells: Sequence[Cell]) -> str:
    rows = []
    for variant in distinct(cells, "variant"):
        for d in distinct(cells, "d"):
            for method in distinct(cells, "method"):
                some = where(cells, variant=variant, d=d, method=method)
                ratios, assigned = (list(by_split(some, f).values()) for f in ("ratio", "assigned"))
                if ratios:
                    right = float(np.mean(ratios)) <= 1.10 and float(np.mean(assigned)) > 0.97
                    fields = {"error / oracle's": "ratio", "at x": "at_x", "assigned": "assigned"}
                    found = {told: spread(some, field) for told, field in fields.items()}
                    head = {"variant": variant, "d": str(d), "method": method}
                    rows.append({**head, **found, "≤ 1.10 and > 0.97": "yes" if right else "no"})
    return table(rows)


def figures(cells: Sequence[Cell], folder: Path) -> None:
    """None."""
