"""Numbers of groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections.gime_tables import TITLES
from sections.markdown import spread, table
from summary import OURS, by_split, distinct, where


def tables(cells: Sequence[Cell]) -> str:
    pieces = []
    for name in distinct(cells, "set"):
        rows = []
        for k in distinct(where(cells, set=name), "k"):
            found = {m: spread(where(cells, set=name, k=k, method=m)) for m in distinct(cells, "method")}
            rows.append({TITLES[name] + ", groups": str(k), **found})
        pieces.append(table(rows))
    return "\n\n".join(pieces)


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    drawing.save(numbers(cells), folder / "gime_ks.svg")


def numbers(cells: Sequence[Cell]) -> Any:
    """A panel a set: the error by number of groups, mean and spread over splits."""
    from sections import drawing

    names, methods = distinct(cells, "set"), distinct(cells, "method")
    figure, panels = drawing.panels(len(names), 2.8)
    for panel, name in zip(panels, names, strict=True):
        for i, method in enumerate(methods):
            ks = distinct(where(cells, set=name, method=method), "k")
            values = [list(by_split(where(cells, set=name, method=method, k=k), "rmse").values()) for k in ks]
            means, sds = np.array([np.mean(v) for v in values]), np.array([np.std(v) for v in values])
            panel.plot(ks, means, f"C{i % 10}.-", lw=2 if method == OURS else 1, label=method)
            panel.fill_between(ks, means - sds, means + sds, color=f"C{i % 10}", alpha=0.12, lw=0)
        panel.set_title(TITLES[name])
        panel.set_ylim(bottom=0)
        panel.set_xlabel("groups")
        panel.set_ylabel("error")
    drawing.key(figure, panels)
    return figure
