"""What sections on likeness share: a table of methods beside null rows, and how it reads against them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cells import Cell

METHODS = (
    "Grad",
    "SGrad",
    "SGradSQ",
    "VGrad",
    "InputGrad",
    "IntGrad",
    "EGrad",
    "LIME",
    "KSHAP",
    "GBP",
    "DConvNet",
    "LRP-EPS",
    "PNet",
    "PAttribution",
    "LRP-SPAF",
)
NULLS = {"constant": "constant", "noise": "noise", "shuffled": "shuffled", "another": "another picture"}
MEASURES = {
    "ssim_abs": "SSIM of sizes",
    "ssim_signed": "SSIM, signed",
    "rank_abs": "rank correlation of sizes",
    "rank_signed": "rank correlation, signed",
}
Found = Mapping[str, Any]  # what likeness.judged keeps


def pooled(found: Sequence[Found], row: str, measure: str) -> tuple[float, float]:
    """Mean over runs, and the standard error over pictures of one run: runs share their pictures."""
    values = [each[row][measure] for each in found]
    return float(np.mean([v["mean"] for v in values])), float(np.mean([v["sem"] for v in values]))


def cell(found: Sequence[Found], row: str, measure: str) -> str:
    mean, sem = pooled(found, row, measure)
    return f"{mean:.3f} ± {sem:.3f}"


def plain(found: Sequence[Found], row: str, measure: str) -> str:
    return f"{pooled(found, row, measure)[0]:.3f}"


def calibrated(found: Sequence[Found], measure: str) -> str:
    """Likeness between that to another picture's map (0) and that to the method's own (1)."""
    values = [each["calibrated"][measure] for each in found]
    value, low, high = (float(np.mean([v[k] for v in values])) for k in ("value", "low", "high"))
    return f"{value:.2f} [{low:.2f}, {high:.2f}]"


def reading(found: Sequence[Found], measure: str) -> str:
    """Whether the maps are alike beyond every null row, by 1.96 standard errors over pictures."""
    gaps = {null: pooled(found, f"beyond {null}", measure) for null in NULLS}
    not_beyond = [NULLS[null] for null, (mean, sem) in gaps.items() if mean - 1.96 * sem <= 0]
    return "alike beyond them" if not not_beyond else f"no more than {', '.join(not_beyond)}"


def compared(found: Sequence[Found], measure: str) -> dict[str, str]:
    """The columns of one comparison."""
    return {
        "found": cell(found, "observed", measure),
        **{told: plain(found, null, measure) for null, told in NULLS.items()},
        "calibrated": calibrated(found, measure),
        "reading": reading(found, measure),
    }


def folded(told: str, body: str) -> str:
    return f"<details><summary>{told}</summary>\n\n{body}\n\n</details>"


def by_method(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Cells without an error, methods in the order of the paper."""
    found = {name: [c for c in cells if c["method"] == name and "error" not in c] for name in METHODS}
    return {name: some for name, some in found.items() if some}


def failures(cells: Sequence[Cell], key: Sequence[str]) -> str:
    return "\n".join(f"* {', '.join(str(c[k]) for k in key)}: {c['error']}" for c in cells if "error" in c)
