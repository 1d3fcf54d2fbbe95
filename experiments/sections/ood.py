"""Clothes explained by networks that never saw any: Table 3 of Adebayo et al. 2020, beside null rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections import likenesses
from sections.likenesses import MEASURES, METHODS, NULLS
from sections.markdown import table

PAIRS = {
    "digits": "a network of digits",
    "pets": "a network of cats and dogs",
    "another seed": "a network of clothes, from another seed",
    "untrained": "a network that was not trained",
}
PAPER = {  # Table 3, methods in its order
    ("digits", "ssim"): (0.7, 0.54, 0.49, 0.92, 0.71, 0.69, 0.71, 0.46, 0.41, 0.81, 0.5, 0.77, 0.58, 0.77, 0.66),
    ("digits", "rank"): (
        *(0.0013, 0.00088, 0.37, 0.37, 0.0021, -0.003, 0.002, -0.01, 0.034, 0.51, 0.027),
        *(0.011, -0.14, 0.0082, 0.12),
    ),
    ("pets", "ssim"): (0.7, 0.5, 0.55, 0.93, 0.72, 0.7, 0.72, 0.72, 0.82, 0.63, 0.63, 0.79, 0.53, 0.36, 0.66),
    ("pets", "rank"): (
        *(0.0012, 0.0078, 0.43, 0.25, 0.0002, 0.002, 0.0025, 0.18, 0.067, 0.078, -0.05),
        *(-0.013, 0.25, -0.0095, 0.044),
    ),
}
MAIN = ("ssim_abs", "rank_signed")


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    pieces = [told(good), accuracies(good), overview(good)] if good else []
    for pair, name in PAIRS.items():
        for measure, called in MEASURES.items():
            if good:
                body = likeness(good, pair, measure)
                pieces.append(likenesses.folded(f"{called}: own network against {name}", body))
    failed = likenesses.failures(cells, ("method", "seed"))
    return "\n\n".join([*pieces, *(["Failed:", failed] if failed else [])])


def told(cells: Sequence[Cell]) -> str:
    seeds = sorted({cell["seed"] for cell in cells})
    return f"{cells[0]['explained']} pictures, seeds {', '.join(map(str, seeds))} (each its own networks)."


def accuracies(cells: Sequence[Cell]) -> str:
    """How good the networks are at what they learned."""
    by_seed = {cell["seed"]: cell["accuracy"] for cell in cells}
    names = {"own": "clothes", **PAIRS}
    rows = [{"network": names[kind], "right": ", ".join(f"{found[kind]:.0%}" for found in by_seed.values())}
            for kind in ("own", *PAIRS)]  # fmt: skip
    return table(rows)


def overview(cells: Sequence[Cell]) -> str:
    """Looks and ranks of all methods against every network, and what the map of another picture gets."""
    rows = []
    for method, some in likenesses.by_method(cells).items():
        row = {"method": method}
        for measure in MAIN:
            for pair in PAIRS:
                found = [cell[pair] for cell in some]
                by_chance = likenesses.plain(found, "another", measure)
                row[f"{measure.split('_')[0]}, {pair}"] = (
                    f"{likenesses.plain(found, 'observed', measure)} ({by_chance})"
                )
        rows.append(row)
    said = "SSIM of sizes and signed rank correlation with the map of the own network; in brackets what the map of"
    return f"{said} another picture by that network gets.\n\n{table(rows)}"


def likeness(cells: Sequence[Cell], pair: str, measure: str) -> str:
    """One pair by one measure, all methods, all null rows."""
    rows = []
    for method, some in likenesses.by_method(cells).items():
        row: dict[str, Any] = {"method": method}
        published = PAPER.get((pair, measure.split("_")[0]))
        if published:
            row["published"] = f"{published[METHODS.index(method)]:.2g}"
        rows.append(row | likenesses.compared([cell[pair] for cell in some], measure))
    return table(rows)


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    figure, panels = drawing.panels(2, 4.2, wide=5.0)
    found = likenesses.by_method(cells)
    for panel, measure in zip(panels, MAIN, strict=True):
        for y, (_, some) in enumerate(found.items()):
            for at, (pair, color) in enumerate(zip(PAIRS, ("C3", "C1", "C0", "C2"), strict=True)):
                rows = [cell[pair] for cell in some]
                mean, sem = likenesses.pooled(rows, "observed", measure)
                place = y + 0.18 * (at - 1.5)
                panel.plot([mean - 1.96 * sem, mean + 1.96 * sem], [place] * 2, "-", color=color)
                panel.plot(mean, place, "o", ms=3, color=color, label=PAIRS[pair])
                chance = np.mean([likenesses.pooled(rows, null, measure)[0] for null in ("another",)])
                panel.plot(chance, place, "|", ms=7, color="0.5", label=f"{NULLS['another']}'s map")
        panel.set_yticks(range(len(found)), list(found))
        panel.invert_yaxis()
        panel.set_xlabel(MEASURES[measure])
    drawing.key(figure, panels)
    drawing.save(figure, folder / "ood.svg")
