"""Picks: what they cover, and how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections.markdown import number, table
from summary import distinct, where


def tables(cells: Sequence[Cell]) -> str:
    timed, real = [], []
    for cell in cells:
        if "error" in cell:
            continue
        if "greedy" not in cell:
            told = {"explanations": cell["what"], "n": f"{cell['n']:,}", "parts": f"{cell['parts']:,}"}
            timed.append({**told, "seconds": number(cell["seconds"]), "covered": f"{cell['share']:.1%}"})
            continue
        for budget in (1, 5, 10, 20, 50):
            at = budget - 1
            told = {"set": cell["what"], "n": f"{cell['n']:,}", "parts": f"{cell['parts']:,}", "budget": budget}
            random = f"{cell['random'][at]:.1%} ± {cell['random_sd'][at]:.1%}"
            same = "yes" if cell["same_as_plain"] and cell["same_coverage"] else "**no**"
            real.append(
                {**told, "greedy": f"{cell['greedy'][at]:.1%}", "at random": random, "as the plain pick": same}
            )
    failed = [f"* {c['what']} {c['n']}: {c['error']}" for c in cells if "error" in c]
    return "\n\n".join([*(table(t) for t in (timed, real) if t), *failed])


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    drawing.save(picks(cells), folder / "sp_lime_scale.svg")


def picks(cells: Sequence[Cell]) -> Any:
    """What greedy and random picks cover, and how long a pick takes."""
    from sections import drawing

    real, timed = [c for c in cells if "greedy" in c], [c for c in cells if "greedy" not in c]
    figure, panels = drawing.panels(len(real) + bool(timed), 2.6)
    for panel, cell in zip(panels, real, strict=False):
        budget = np.arange(1, len(cell["greedy"]) + 1)
        mean, sd = np.array(cell["random"]), np.array(cell["random_sd"])
        panel.plot(budget, cell["greedy"], "C3", lw=2, label="greedy")
        panel.plot(budget, mean, "C0", label="at random")
        panel.fill_between(budget, mean - 2 * sd, mean + 2 * sd, color="C0", alpha=0.2, lw=0)
        panel.set_title(f"{cell['what']}, {cell['n']:,} explanations")
        panel.set_ylim(0, None)
        panel.set_xlabel("budget")
        panel.set_ylabel("share covered")
        panel.legend(frameon=False)
    if timed:
        for i, what in enumerate(distinct(timed, "what")):
            some = sorted(where(timed, what=what), key=lambda c: c["n"])
            panels[-1].loglog([c["n"] for c in some], [c["seconds"] for c in some], f"C{i}.-", label=what)
        panels[-1].set_title("budget 50")
        panels[-1].set_xlabel("explanations")
        panels[-1].set_ylabel("seconds")
        panels[-1].legend(frameon=False)
    return figure
