"""Cells over splits: means, spreads, and paired differences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from cells import Cell
from sets import SETS
from veridical.summaries.groupings import GROUPINGS

OURS = "mixture"


def by_split(cells: Iterable[Cell], field: str) -> dict[Any, float]:
    """A measured field by split (or seed); cells that failed are left out."""
    return {cell.get("split", cell.get("seed")): cell[field] for cell in cells if field in cell}


def mean_sd(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and standard deviation over splits; nan where one split cannot tell."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def over_splits(cells: Iterable[Cell], field: str) -> tuple[float, float]:
    """Mean of a field over splits and the half width of its 95 % interval, nan where none is known.

    By the spread of three splits or more; of fewer, by the standard errors within them, if the cells have any.
    """
    known = [cell for cell in cells if field in cell and not np.isnan(cell[field])]
    if not known:
        return float("nan"), float("nan")
    values, n = np.array([cell[field] for cell in known]), len(known)
    if n > 2:
        half = stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)
    else:
        half = 1.96 * np.sqrt(sum(cell.get(f"{field}_se", np.nan) ** 2 for cell in known)) / n
    return float(values.mean()), float(half)


def paired(first: dict[Any, float], second: dict[Any, float]) -> tuple[float, float, float, int] | None:
    """Mean of first - second over the splits that both have, its 95 % t interval, and how many they are."""
    both = sorted(first.keys() & second.keys())
    if not both:
        return None
    gaps = np.array([first[split] - second[split] for split in both])
    half = float("nan")
    if len(gaps) > 1:
        half = float(stats.t.ppf(0.975, len(gaps) - 1) * gaps.std(ddof=1) / np.sqrt(len(gaps)))
    return float(gaps.mean()), float(gaps.mean() - half), float(gaps.mean() + half), len(gaps)


def distinct(cells: Iterable[Cell], field: str) -> list[Any]:
    """The values of a field: numbers by size, methods and sets as they are registered, others as they come."""
    found = list(dict.fromkeys(cell[field] for cell in cells))
    known = {name: i for i, name in enumerate({"method": GROUPINGS, "set": SETS}.get(field, ()))}
    return sorted(found, key=lambda value: value if isinstance(value, int) else known.get(value, len(known)))


def where(cells: Iterable[Cell], **wanted: Any) -> list[Cell]:
    """The cells whose fields are these."""
    return [cell for cell in cells if all(cell.get(key) == value for key, value in wanted.items())]
