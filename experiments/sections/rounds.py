"""Rounds of removing and training again: false alarms, and leaks that were found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cells import Cell
from sections.markdown import table, target

MOST_ALARMS = 0.08  # of rounds without a leak that may be called better


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    alarms, found = ([cell for cell in good if cell["leaks"] == leaks] for leaks in (False, True))
    n_alarms, n_found = (sum(cell["label"] == "passed" for cell in some) for some in (alarms, found))
    most = int(MOST_ALARMS * len(alarms))
    targets = [
        target("no leak: rounds called better", f"≤ {most} of {len(alarms)}", str(n_alarms), n_alarms <= most),
        target(
            "a leak: marked, removed, called better", f"≥ {0.8 * len(found):.0f} of {len(found)}", str(n_found),
            n_found >= 0.8 * len(found),
        ),
    ]  # fmt: skip
    rows = []
    for model in dict.fromkeys(cell["model"] for cell in good):
        for leaks, some in ((False, alarms), (True, found)):
            gains = [100 * cell["gain"] for cell in some if cell["model"] == model]
            rows.append(
                {
                    "model": model,
                    "leak": "yes" if leaks else "no",
                    "rounds": len(gains),
                    "gain beyond random, points": f"{np.mean(gains):+.1f}",
                    "from 10 to 90 %": f"{np.percentile(gains, 10):+.1f} to {np.percentile(gains, 90):+.1f}",
                }
            )
    return f"{table(targets)}\n\n{table(rows)}"


def figures(cells: Sequence[Cell], folder: Path) -> None:
    """None."""
