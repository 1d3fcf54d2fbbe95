"""Figures of known causes: an example, curves, what was found, and fidelity of right and wrong explanations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections import drawing, pooled
from sections.veracity import ANYWHERE, IN_ONE, LIME, ONE, STANDINS, THREE, of
from summary import distinct, where

SHOWN = (LIME, "ours, content", "ours, change", "ours, either", "Counterfactual", "Gradient", "norm", "random",
         "contrast", "residual")  # fmt: skip
COLORS = dict(zip(SHOWN, ("C3", "C0", "C2", "k", "C4", "C8", "0.4", "0.8", "C1", "C5"), strict=True))
STYLES = {"norm": "--", "random": ":", "contrast": ":", "residual": ":"}
WIDE = 0.09  # of a bar
ROWS, COLS = 4, 5  # parts of an example, of frequency and of time


def draw(cells: Sequence[Cell], folder: Path) -> None:
    example(cells, folder)
    curves(cells, folder)
    found(cells, folder)
    fidelity(cells, folder)


def named(cells: Sequence[Cell]) -> list[str]:
    """Stand-ins that there are cells of, in the order of the tables."""
    there = distinct(cells, "standin")
    return [name for name in STANDINS if name in there]


def example(cells: Sequence[Cell], folder: Path) -> None:
    """Figure 1: a shape is drawn until the decision is another; who names its tile?"""
    known = [cell for cell in cells if cell.get("example", {}).get("pictures")]
    if not known:
        return
    kept = known[0]["example"]
    rows = [row for row in SHOWN if row in kept["weights"]]
    figure, panels = drawing.panels(2 + len(rows), 2.2, wide=2.8)
    for panel, picture, title in zip(panels, kept["pictures"], ("before", "with a shape"), strict=False):
        panel.imshow(picture, origin="lower", aspect="auto", cmap="magma", vmin=0, vmax=99)
        panel.set_title(title, fontsize=9)
    guilty = [j for j, letter in enumerate(kept["guilty"]) if letter == "1"]
    high, wide = np.shape(kept["pictures"][0])
    _outline(panels[1], guilty, wide / COLS, high / ROWS)
    for panel, row in zip(panels[2:], rows, strict=True):
        weights = np.array(kept["weights"][row], dtype=float).reshape(COLS, ROWS).T  # part i: time i // 4
        panel.imshow(weights, origin="lower", aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1)
        panel.set_title(row, fontsize=9)
        _outline(panel, guilty, 1, 1)
    for panel in panels:
        panel.set_xticks([])
        panel.set_yticks([])
    drawing.save(figure, folder / "veracity-1-example.svg")


def _outline(panel: Any, guilty: Sequence[int], wide: float, high: float) -> None:
    from matplotlib.patches import Rectangle

    for part in guilty:
        at = (part // ROWS * wide - 0.5, part % ROWS * high - 0.5)
        panel.add_patch(Rectangle(at, wide, high, fill=False, edgecolor="lime", linewidth=2))


def curves(cells: Sequence[Cell], folder: Path) -> None:
    """Figure 2: flips by how many parts."""
    some = of(cells, ANYWHERE)
    if not some:
        return
    figure, panels = drawing.panels(len(named(some)), 2.8)
    for panel, name in zip(panels, named(some), strict=True):
        for row in SHOWN:
            rates = pooled.curve(where(some, standin=name), row)
            panel.plot(range(len(rates)), 100 * rates, STYLES.get(row, "-"), color=COLORS[row], lw=1.4, label=row)
        n = sum(cell["caused"] for cell in where(some, standin=name))
        panel.set_title(f"{STANDINS[name]} ({n})", fontsize=9)
        panel.set_xlabel("parts with the change")
        panel.set_ylabel("wrong decisions, %")
    drawing.key(figure, panels)
    drawing.save(figure, folder / "veracity-2-curves.svg")


def found(cells: Sequence[Cell], folder: Path) -> None:
    """Figure 3: guilty parts found, by kind of cause."""
    groups = {
        "small change,\nkept in one part": (ANYWHERE, "hit@1"),
        "small change\nin one part": (IN_ONE, "hit@1"),
        "noise,\none part": (ONE[:1], "hit@1"),
        "shape,\none part": (ONE[1:2], "hit@1"),
        "swap,\none part": (ONE[2:], "hit@1"),
        "small change,\nkept in three": (ANYWHERE, "overlap@3"),
        "several\nparts": (THREE, "overlap"),
    }
    rows = [row for row in SHOWN if row != "norm"]  # which knows it
    figure, panels = drawing.panels(len(named(cells)), 4.2, wide=4.2)
    for panel, name in zip(panels, named(cells), strict=True):
        here = where(cells, standin=name)
        for i, row in enumerate(rows):
            of_row = [pooled.values(of(here, kinds), row, test) for kinds, test in groups.values()]
            at = np.arange(len(groups)) + (i - (len(rows) - 1) / 2) * WIDE
            means = [100 * pooled.mean(each)[0] for each in of_row]
            panel.barh(at, np.nan_to_num(means), WIDE, color=COLORS[row], label=row)
        counts = [pooled.mean(pooled.values(of(here, kinds), "norm", test))[2] for kinds, test in groups.values()]
        names = [f"{told} ({n or 'none'})" for told, n in zip(groups, counts, strict=True)]
        panel.set_yticks(range(len(groups)), names, fontsize=8)
        panel.invert_yaxis()
        panel.set_xlim(0, 100)
        panel.set_title(STANDINS[name], fontsize=9)
        panel.set_xlabel("found, %")
    drawing.key(figure, panels)
    drawing.save(figure, folder / "veracity-3-found.svg")


def fidelity(cells: Sequence[Cell], folder: Path) -> None:
    """Figure 4: held-out fidelity of LIME where its heaviest part is the guilty one, and where it is not."""
    some = of(cells, (*ANYWHERE, *IN_ONE, *ONE))
    figure, panels = drawing.panels(len(named(some)), 2.6, wide=2.6)
    for panel, name in zip(panels, named(some), strict=True):
        here = where(some, standin=name)
        right, told = (pooled.values(here, LIME, test) for test in ("hit@1", "fidelity"))
        known = np.isfinite(right) & np.isfinite(told)
        boxes = [told[known & (right == value)] for value in (0, 1)]
        panel.boxplot(boxes, widths=0.6)
        panel.set_xticks((1, 2), [f"wrong ({len(boxes[0])})", f"right ({len(boxes[1])})"])
        panel.set_title(STANDINS[name], fontsize=9)
        panel.set_ylabel("held-out fidelity of LIME")
    drawing.save(figure, folder / "veracity-4-fidelity.svg")
