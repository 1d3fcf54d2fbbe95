"""Reasons as tests: false alarms of baselines, and planted shortcuts that were caught."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cells import Cell
from sections.markdown import table, target

ALIKE = 0.5  # likeness from which on reasons are the same: half of the way from unrelated ones to repeats
TAKEN = 0.05  # by how much the score falls, at least, where a model took the shortcut
MOST_ALARMS, LEAST_CAUGHT = 0.02, 0.95


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    taken = [cell for cell in good if cell["fall"] >= TAKEN]
    n_same, n_alarms = count_again(good, alike=True)
    targets = [
        target(
            "trained again, reasons the same: baseline fails",
            f"≤ {100 * MOST_ALARMS:.0f} %",
            share(n_alarms, n_same),
            n_alarms <= MOST_ALARMS * n_same,
        )
    ]
    for key, what in (("baseline_leak", "baseline fails"), ("not_on_leak", "`not_on` fails")):
        caught = sum(cell[key] for cell in taken)
        targets.append(
            target(
                f"shortcut taken: {what}",
                f"≥ {100 * LEAST_CAUGHT:.0f} %",
                share(caught, len(taken)),
                caught >= LEAST_CAUGHT * len(taken),
            )
        )
    rows = []
    for model in dict.fromkeys(cell["model"] for cell in good):
        own = [cell for cell in good if cell["model"] == model]
        used = [cell for cell in own if cell["fall"] >= TAKEN]
        same, alarms = count_again(own, alike=True)
        other, changes = count_again(own, alike=False)
        rows.append(
            {
                "model": model,
                "again, the same: fails": share(alarms, same),
                "again, not the same: fails": share(changes, other),
                "shortcut taken": share(len(used), len(own)),
                "baseline fails": share(sum(cell["baseline_leak"] for cell in used), len(used)),
                "`not_on` fails": share(sum(cell["not_on_leak"] for cell in used), len(used)),
                "`not_on` fails, no shortcut": share(sum(cell["not_on_quiet"] for cell in own), len(own)),
            }
        )
    return f"{table(targets)}\n\n{table(rows)}"


def count_again(cells: Sequence[Cell], *, alike: bool) -> tuple[int, int]:
    """Models that were trained again with reasons that are alike or not, and how many of their baselines fail."""
    pairs = [
        pair
        for cell in cells
        for pair in zip(cell.get("likeness", ()), cell.get("baseline_quiet", ()), strict=True)
    ]
    kept = [failed for likeness, failed in pairs if (likeness >= ALIKE) == alike]
    return len(kept), sum(kept)


def share(n: int, of: int) -> str:
    return f"{n} of {of}"


def figures(cells: Sequence[Cell], folder: Path) -> None:
    """None."""
