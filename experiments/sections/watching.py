"""Watching reasons: alarms without a change, and planted changes that were found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cells import Cell
from sections.markdown import table, target

KINDS = {  # of pairs, and whether anything changed
    "nights": ("other rows, the same model", False),
    "models": ("the same rows and model, other samples", False),
    "shuffled": ("trained with the heaviest column shuffled", True),
    "shortcut": ("trained with a shortcut", True),
}
MOST_ALARMS, LEAST_FOUND = 0.08, 0.95


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    quiet, changed = ([cell for cell in good if KINDS[cell["kind"]][1] == planted] for planted in (False, True))
    alarms, found = count(quiet), count(changed)
    targets = [
        target(
            "no change: alarms",
            f"≤ {int(MOST_ALARMS * len(quiet))} of {len(quiet)}",
            str(alarms),
            alarms <= MOST_ALARMS * len(quiet),
        ),
        target(
            "planted changes found",
            f"≥ {100 * LEAST_FOUND:.0f} %",
            f"{found} of {len(changed)}",
            found >= LEAST_FOUND * len(changed),
        ),
    ]
    rows = []
    for kind, (what, _) in KINDS.items():
        own = [cell for cell in good if cell["kind"] == kind]
        rows.append(
            {
                "pairs": what,
                "different": f"{count(own)} of {len(own)}",
                "with `tolerance=0`": f"{count(own, 'strict')} of {len(own)}",
            }
        )
    return f"{table(targets)}\n\n{table(rows)}"


def count(cells: Sequence[Cell], key: str = "label") -> int:
    """Pairs that were called different."""
    return sum(cell[key] == "different" for cell in cells)


def figures(cells: Sequence[Cell], folder: Path) -> None:
    """None."""
