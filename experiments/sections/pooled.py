"""What came of known causes, over networks, seeds and parts of the instances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from cells import Cell

DRAWS = 2000  # of instances, for intervals


def values(cells: Iterable[Cell], row: str, test: str, before: str | None = None) -> Any:
    """A test of a row, one number an instance, nan where there is none; of one direction, if it is said."""
    found = []
    for cell in cells:
        known = cell["rows"].get(row, {}).get(test, "-" * cell["caused"])
        numbers = [np.nan if each in ("-", None) else float(each) for each in known]
        kept = [before is None or letter == before for letter in cell["before"]]
        found += [number for number, keep in zip(numbers, kept, strict=True) if keep]
    return np.array(found)


def known(cells: Iterable[Cell], row: str, test: str) -> Any:
    """A test that few instances have, of any of them."""
    return np.array([each for cell in cells for each in cell["rows"].get(row, {}).get(test, ())], dtype=float)


def curve(cells: Sequence[Cell], row: str) -> Any:
    """The share of causes whose first k parts flip the decision, k from 0 on; nothing if the row has failed."""
    known = [cell for cell in cells if "flip@1" in cell["rows"].get(row, {})]
    sums = [np.array(cell["rows"][row]["flips"].split(), dtype=int) for cell in known]
    n = sum(cell["caused"] - len(missing(cell, row)) for cell in known)
    return np.sum(sums, axis=0) / n if n and len({len(each) for each in sums}) == 1 else np.array([])


def missing(cell: Cell, row: str) -> str:
    """A letter an instance that the row has no order for."""
    return "".join(letter for letter in cell["rows"][row]["flip@1"] if letter == "-")


def mean(found: Any) -> tuple[float, float, int]:
    """The mean of what is known, the half width of its 95 % interval, and of how many."""
    known = found[np.isfinite(found)]
    if not len(known):
        return float("nan"), float("nan"), 0
    half = 1.96 * known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else float("nan")
    return float(known.mean()), float(half), len(known)


def ratio(ours: Any, theirs: Any) -> tuple[float, float, float]:
    """The sum of one over that of the other, over instances that both have, and its 95 % paired bootstrap."""
    both = np.isfinite(ours) & np.isfinite(theirs)
    a, b = ours[both], theirs[both]
    if not len(a) or not b.sum():
        return float("nan"), float("nan"), float("nan")
    at = np.random.default_rng(0).integers(0, len(a), (DRAWS, len(a)))
    below = b[at].sum(axis=1)
    drawn = a[at].sum(axis=1)[below > 0] / below[below > 0]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(a.sum() / b.sum()), float(low), float(high)


def area(signal: Any, right: Any) -> tuple[float, float, int, int]:
    """AUROC of a signal for right against wrong, its standard error (Hanley and McNeil), and how many of both."""
    known = np.isfinite(signal) & np.isfinite(right)
    yes, no = signal[known & (right == 1)], signal[known & (right == 0)]
    if not len(yes) or not len(no):
        return float("nan"), float("nan"), len(yes), len(no)
    over = (yes[:, None] > no).mean() + (yes[:, None] == no).mean() / 2
    one, two = over / (2 - over), 2 * over**2 / (1 + over)
    variance = over * (1 - over) + (len(yes) - 1) * (one - over**2) + (len(no) - 1) * (two - over**2)
    return float(over), float(np.sqrt(max(variance, 0) / (len(yes) * len(no)))), len(yes), len(no)


def rows_of(cells: Iterable[Cell]) -> list[str]:
    """All rows, in the order in which they came."""
    return list(dict.fromkeys(row for cell in cells for row in cell["rows"]))


def best(rows: Sequence[str], score: Callable[[str], float]) -> tuple[str, float]:
    """The row with the highest score, and that."""
    found = {row: score(row) for row in rows}
    known = {row: value for row, value in found.items() if np.isfinite(value)}
    return max(known.items(), key=lambda item: item[1]) if known else ("–", float("nan"))
