"""What figures are drawn of: panels, one key for all, files that are the same every time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "veridical", "svg.fonttype": "none", "font.size": 9})

import matplotlib.pyplot as plt  # noqa: E402  (after the backend is chosen)


def panels(n: int, height: float, wide: float = 3.4) -> tuple[Any, list[Any]]:
    """Panels in rows of three, so many inches high and wide."""
    columns = min(n, 3)
    lines = -(-n // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(wide * columns, height * lines), layout="constrained", squeeze=False
    )
    for axis in axes.ravel()[n:]:
        axis.remove()
    for axis in axes.ravel()[:n]:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, list(axes.ravel()[:n])


def key(figure: Any, panels: Sequence[Any]) -> None:
    """One key for all panels, beside them: a method has the same color everywhere."""
    lines = {
        label: line for panel in panels for line, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(list(lines.values()), list(lines), loc="outside right upper", frameon=False)


def save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
