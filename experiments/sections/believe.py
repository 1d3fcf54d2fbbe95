"""Believability: how well it tells right explanations from wrong ones, beside what else could."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import calibration
from calibration import NAMES, Judged, area, binned, covered, judged, said, unseen
from cells import Cell
from sections.markdown import table, target
from veridical.metrics.belief import FILLED, LEFT_OUT, Calibration

NETWORKS = ("digits", "pictures")
SEEN = (0, 1, 2)  # seeds that the fit may see
GROUPS: dict[str, Calibration] = {"networks for sounds and pictures": FILLED, "texts and tables": LEFT_OUT}
ALONE = ("fidelity", "settled", "lead", "ways that agree")  # what could be looked at instead
EDGES = (0.0, 0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
WANTED = 0.9
BOOTSTRAPS = 200


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    goals, parts = [], []
    for name, scale in GROUPS.items():
        networks = scale is FILLED
        found = judged([cell for cell in good if (cell["standin"] in NETWORKS) == networks])
        if len(found) < 2:
            continue
        goal, text = _group(name, scale, found)
        goals.append(goal)
        parts.append(text)
    return "\n\n".join([table(goals), *parts])


def _group(name: str, scale: Calibration, found: Judged) -> tuple[Mapping[str, Any], str]:
    """What was wanted of some models, and all tables of them."""
    score = unseen(found, SEEN)
    fresh = found[~np.isin(found.about[:, 1], [str(seed) for seed in SEEN])]
    found, score = found[~np.isnan(score)], score[~np.isnan(score)]
    value = area(found.right, score)
    fidelity = area(found.right, found.signs[:, calibration.FIDELITY])
    goal = target(
        f"AUROC of believability, {name}: models, seeds and kinds of cause that the fit did not see",
        f"≥ {WANTED:g}",
        f"{value:.3f} (n = {len(found)}; fidelity alone {fidelity:.2f})",
        value >= WANTED,
    )
    text = [
        f"**{name}**: by fits to the other sort of model, to other kinds of cause and to seeds 0 to 2 alone.",
        table(_rows(found, score, 3)),
        "By kind of cause:",
        table(_rows(found, score, 2)),
        "What the calibration in the package says, on seeds that it was not fitted on:",
        table(_reliability(fresh, said(scale, fresh))),
    ]
    return goal, "\n\n".join(text)


def _rows(found: Judged, score: Any, by: int) -> list[dict[str, Any]]:
    """A line a method (3) or a kind of cause (2), and one for all."""
    names = [*dict.fromkeys(found.about[:, by]), "all"]
    rows = []
    for name in names:
        at = found.about[:, by] == name if name != "all" else np.ones(len(found), bool)
        some, own = found[at], score[at]
        row = {
            "explanations by" if by == 3 else "cause": name,
            "n": len(some),
            "right": f"{some.right.mean():.2f}",
        }
        row["believability"] = _told(some.right, own)
        row |= {f"{sign} alone": _short(area(some.right, some.signs[:, NAMES.index(sign)])) for sign in ALONE}
        row["kept, 95 % right"] = f"{100 * covered(some.right, own):.0f} %"
        rows.append(row)
    return rows


def _told(right: Any, score: Any) -> str:
    """AUROC and its standard error, by a bootstrap over explanations."""
    value, rng = area(right, score), np.random.default_rng(0)
    if np.isnan(value):
        return "all right" if right.all() else "–"
    draws = rng.integers(0, len(right), (BOOTSTRAPS, len(right)))
    return f"{value:.3f} ± {np.nanstd([area(right[rows], score[rows]) for rows in draws]):.3f}"


def _short(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def _reliability(found: Judged, shipped: Any) -> list[dict[str, Any]]:
    rows = []
    for each in binned(found.right, shipped, EDGES):
        label = f"{each['low']:g} to {each['high']:g}"
        rows.append(
            {"probability": label, "n": each["n"], "said": f"{each['said']:.3f}", "right": f"{each['was']:.3f}"}
        )
    return rows


def figures(cells: Sequence[Cell], folder: Path) -> None:
    """None: the tables are all."""
