"""What sections are written of: Markdown tables, means with spreads, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cells import Cell
from summary import by_split, mean_sd, over_splits


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a Markdown table."""
    if not rows:
        return "(nothing)"
    heads = list(rows[0])
    cells = [heads, *[[str(row.get(head, "")) for head in heads] for row in rows]]
    widths = [max(len(line[j]) for line in cells) for j in range(len(heads))]

    def line(values: Sequence[str]) -> str:
        return "| " + " | ".join(v.ljust(w) for v, w in zip(values, widths, strict=True)) + " |"

    return "\n".join([line(heads), "|" + "|".join("-" * (w + 2) for w in widths) + "|", *map(line, cells[1:])])


def spread(cells: Sequence[Cell], field: str = "rmse", digits: int = 3) -> str:
    """Mean ± standard deviation of a field over splits."""
    values = list(by_split(cells, field).values())
    if not values:
        return "failed" if cells else "–"
    mean, sd = mean_sd(values)
    some = "" if len(values) == len(cells) else f" ({len(values)} of {len(cells)})"
    return (f"{mean:.{digits}f}" if np.isnan(sd) else f"{mean:.{digits}f} ± {sd:.{digits}f}") + some


def number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(cells: Sequence[Cell], field: str, digits: int = 1) -> str:
    """Mean of a share over splits and the half width of its 95 % interval, in percent."""
    mean, half = over_splits(cells, field)
    if np.isnan(mean):
        return "failed" if any("error" in cell for cell in cells) else "–"
    return f"{100 * mean:.{digits}f}" + ("" if np.isnan(half) else f" ± {100 * half:.{digits}f}")


def target(what: str, wanted: str, found: str, met: bool) -> dict[str, str]:
    """A line of a table of targets."""
    return {"target": what, "wanted": wanted, "found": found, "met": "yes" if met else "**no**"}


def count(n: int, thing: str) -> str:
    return f"{n} {thing}" + ("" if n == 1 else "s")
