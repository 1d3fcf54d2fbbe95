"""A logistic regression on the signs of vd.believe, and how well it tells right explanations from wrong ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import rankdata

from cells import Cell
from veridical.metrics.belief import SIGNS, Calibration

NAMES = tuple(SIGNS)
PENALTY = 0.3  # C of the regression, of signs in standard deviations
FIDELITY = NAMES.index("fidelity")
FLAT = 1e-9  # a spread that is none


@dataclass(frozen=True, eq=False)
class Judged:
    """Explanations of wrong decisions: what is known of each."""

    signs: Any  # (n, signs)
    right: Any  # (n,) whether the heaviest part is guilty
    about: Any  # (n, 4) standin, seed, kind, method

    def __getitem__(self, rows: Any) -> Judged:
        return Judged(self.signs[rows], self.right[rows], self.about[rows])

    def __len__(self) -> int:
        return len(self.right)


def judged(cells: Iterable[Cell]) -> Judged:
    """All explanations of some cells."""
    rows = [
        ((cell["standin"], str(cell["seed"]), cell["kind"], method), row)
        for cell in cells
        if "rows" in cell
        for method, found in cell["rows"].items()
        for row in found
    ]
    values = np.array([row for _, row in rows], dtype=float).reshape(-1, 1 + len(NAMES))
    return Judged(values[:, 1:], values[:, 0] == 1, np.array([about for about, _ in rows]))


def calibrated(cells: Iterable[Cell]) -> Calibration:
    """The calibration that these cells give."""
    return fitted(judged(cells))


def fitted(found: Judged) -> Calibration:
    """Fitted to explanations, each kind of cause with the same weight; no sign may speak against a part."""
    usual = float(np.nanmean(found.signs[:, FIDELITY]))
    signs = np.where(np.isnan(found.signs), usual, found.signs)
    middle, spread = signs.mean(axis=0), signs.std(axis=0)
    spread[spread < FLAT] = 1.0
    kinds, at, counts = np.unique(found.about[:, 2], return_inverse=True, return_counts=True)
    weights = len(found) / len(kinds) / counts[at]
    X, way = (signs - middle) / spread, np.where(found.right, 1.0, -1.0)

    def loss(point: Any) -> tuple[float, Any]:
        """Of the intercept and the slopes, and its gradient."""
        far = way * (point[0] + X @ point[1:])
        pull = -weights * way * expit(-far)
        value = weights @ np.logaddexp(0, -far) + point[1:] @ point[1:] / (2 * PENALTY)
        return float(value), np.concatenate([[pull.sum()], pull @ X + point[1:] / PENALTY])

    bounds = [(None, None), *[(0, None)] * len(NAMES)]
    point = minimize(loss, np.zeros(1 + len(NAMES)), jac=True, bounds=bounds, method="L-BFGS-B").x
    slopes = point[1:] / spread
    intercept = float(point[0] - slopes @ middle)
    return Calibration(intercept, dict(zip(NAMES, map(float, slopes), strict=True)), usual, "")


def said(scale: Calibration, found: Judged) -> Any:
    """The probability of each explanation, (n,)."""
    signs = np.where(np.isnan(found.signs), scale.usual_fidelity, found.signs)
    return np.array([scale(dict(zip(NAMES, row, strict=True))) for row in signs])


def area(right: Any, score: Any) -> float:
    """AUROC, where there are right and wrong ones."""
    known = ~np.isnan(score)
    yes, ranks = np.asarray(right)[known].astype(bool), rankdata(score[known])
    n, m = int(yes.sum()), int((~yes).sum())
    return float((ranks[yes].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")


def unseen(found: Judged, seeds: Sequence[int]) -> Any:
    """What a fit to other stand-ins, other kinds of cause and only these seeds says of each explanation, (n,)."""
    told = np.full(len(found), np.nan)
    standin, seed, kind = (found.about[:, i] for i in range(3))
    seen = np.isin(seed, [str(each) for each in seeds])
    for one in np.unique(standin):
        for other in np.unique(kind):
            test = (standin == one) & (kind == other)
            train = (standin != one) & (kind != other) & seen
            if test.any() and len(np.unique(found.right[train])) == 2:
                told[test] = said(fitted(found[train]), found[test])
    return told


def covered(right: Any, score: Any, precision: float = 0.95) -> float:
    """The largest share of explanations, those with the highest scores, of which so many are right."""
    order = np.argsort(-score, kind="stable")
    kept = np.cumsum(right[order]) / np.arange(1, len(order) + 1) >= precision
    return float((np.flatnonzero(kept).max() + 1) / len(order)) if kept.any() else 0.0


def literal(scale: Calibration) -> str:
    """The calibration as it is written in the package."""
    lines = [f'        "{name}": {slope:.3g},' for name, slope in scale.slopes.items()]
    return "\n".join(
        [
            "Calibration(",
            f"    intercept={scale.intercept:.3g},",
            "    slopes={",
            *lines,
            "    },",
            f"    usual_fidelity={scale.usual_fidelity:.2g},",
        ]
    )


def binned(right: Any, score: Any, edges: Sequence[float]) -> list[Mapping[str, float]]:
    """What was said and what came of it, over ranges of the probability."""
    found = []
    for low, high in pairwise(edges):
        inside = (score >= low) & ((score < high) | (high == edges[-1]))
        if inside.any():
            n, mean, came = int(inside.sum()), float(score[inside].mean()), float(right[inside].mean())
            found.append({"low": low, "high": high, "n": n, "said": mean, "was": came})
    return found
