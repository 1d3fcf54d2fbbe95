"""Concept directions of places: significant where the place is a shortcut, and only there?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections.markdown import count, table, target
from summary import distinct, where

JUDGED = "pool5"  # the layer that targets are judged at: what the last convolution makes
LEVEL = 0.05
MODELS = ("bugged", "clean")


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    failed = [f"* seed {cell['seed']}, {cell['network']}: {cell['error']}" for cell in cells if "error" in cell]
    pieces = [told(good), targets(good), scores(good)] if good else []
    return "\n\n".join([*pieces, *(["Failed:", "\n".join(failed)] if failed else [])])


def told(cells: Sequence[Cell]) -> str:
    right = {name: np.mean([cell["alone"] for cell in where(cells, network=name)]) for name in MODELS}
    seeds, n = count(len(distinct(cells, "seed")), "seed"), cells[0]["n"] // 2
    return (
        f"{seeds}, two networks each, {n} pictures a class; on places alone the network with the shortcut is "
        f"right in {right['bugged']:.0%}, its twin in {right['clean']:.0%}."
    )


def flat(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """One line a seed, network, class, concept and layer."""
    return [
        {"seed": cell["seed"], "network": cell["network"], **each} for cell in cells for each in cell["concepts"]
    ]


def own_place(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the control: the place that both classes are asked about."""
    asked = {place: {line["species"] for line in where(lines, place=place)} for place in distinct(lines, "place")}
    return [line for line in lines if len(asked[line["place"]]) == 1]


def significant(lines: Sequence[dict[str, Any]], key: str = "p") -> int:
    """How many have a logit that grows along the concept, surely."""
    return sum(line[key] < LEVEL and line["score"] > line["random"] for line in lines)


def targets(cells: Sequence[Cell]) -> str:
    """The place of a class raises its logit in the network with the shortcut, and in that alone."""
    rows = []
    own = where(own_place(flat(cells)), layer=JUDGED)
    by = {name: where(own, network=name) for name in MODELS}
    found = {name: f"{significant(each)} of {len(each)}" for name, each in by.items()}
    what = f"classes whose logit surely grows with their place, at {JUDGED}"
    rows.append(
        target(
            f"{what}: with the shortcut", "all", found["bugged"], significant(by["bugged"]) == len(by["bugged"])
        )
    )
    rows.append(target(f"{what}: its twin", "none", found["clean"], significant(by["clean"]) == 0))
    return table(rows)


def scores(cells: Sequence[Cell]) -> str:
    """By class, concept and layer: the scores of both networks, and in how many seeds they are significant."""
    lines, rows = flat(cells), []
    for species in distinct(lines, "species"):
        some = where(lines, species=species)
        for place in distinct(some, "place"):
            for layer in distinct(some, "layer"):
                row: dict[str, Any] = {"class": species, "concept": place, "layer": layer}
                for name in MODELS:
                    these = where(some, place=place, layer=layer, network=name)
                    row[f"{name}: score"] = f"{np.mean([t['score'] for t in these]):.2f}"
                    row[f"{name}: *random*"] = f"{np.mean([t['random'] for t in these]):.2f}"
                    row[f"{name}: cosine"] = f"{np.mean([t['cosine'] for t in these]):+.3f}"
                    row[f"{name}: p < .05"] = f"{sum(t['p'] < LEVEL for t in these)} of {len(these)}"
                    row[f"{name}: t-test < .05"] = f"{sum(t['paper_p'] < LEVEL for t in these)} of {len(these)}"
                rows.append(row)
    return table(rows)


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    lines = flat(cells)
    asked = [(s, p) for s in distinct(lines, "species") for p in distinct(where(lines, species=s), "place")]
    figure, panels = drawing.panels(len(asked), 2.2, wide=3.0)
    for panel, (species, place) in zip(panels, asked, strict=True):
        layers = distinct(where(lines, species=species), "layer")
        for name, color, aside in (("bugged", "C3", -0.1), ("clean", "C0", 0.1)):
            for x, layer in enumerate(layers):
                these = where(lines, species=species, place=place, layer=layer, network=name)
                for each in these:
                    sure = each["p"] < LEVEL
                    panel.plot(x + aside, each["cosine"], "o", color=color, ms=4, mfc=color if sure else "white")
            panel.plot([], [], "o", color=color, ms=4, label=f"{name} network")
        panel.plot([], [], "o", color="0.4", ms=4, mfc="white", label="not significant")
        panel.axhline(0, color="k", lw=0.6)
        panel.set_xticks(range(len(layers)), layers, fontsize=8)
        panel.set_title(f"{species}: {place}", fontsize=9)
    panels[0].set_ylabel("cosine of gradient and concept")
    drawing.key(figure, panels)
    drawing.save(figure, folder / "concepts.svg")
