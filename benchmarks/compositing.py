"""Time to make one masked picture of 224 × 224, on one core, against lime's loop in the same run.

The pictures alone: no model. A figure is the least, over repetitions, of the mean over 512 masks, since only
noise can add to it; ``median_ms`` is the median.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from lime.lime_image import LimeImageExplainer

import veridical as vd
from images import regions
from overhead import seconds
from tables import Target, arguments, at_most, finish

SIDE, MASKS = 224, 512
WANTED = 0.2  # ms
CASES = [(kind, layout, grid) for kind in ("uint8", "float32") for layout in ("last", "first") for grid in (4, 8)]


def ours(image: Any, grid: int) -> Callable[[], None]:
    """All the inputs of a sample, batch by batch."""
    represent = vd.Grid(grid, grid, fill=vd.fills.Constant(0))
    representation = represent(image)
    sample = representation.draw(representation.kernel, np.random.SeedSequence(0), 0, MASKS)

    def make() -> None:
        inputs = representation.realize(sample)
        count = sum(len(batch) for batch in inputs.batches())
        if count < MASKS:
            raise SystemExit(f"{count} pictures came for {MASKS} masks")

    return make


def lime(image: Any, grid: int, n: int) -> Callable[[], None]:
    """lime's own loop over masks, its model answering at once."""
    explainer, labels, black = LimeImageExplainer(random_state=0), regions(SIDE, grid), np.zeros_like(image)

    def make() -> None:
        import contextlib
        import io

        with contextlib.redirect_stderr(io.StringIO()):
            explainer.data_labels(image, black, labels, lambda images: np.zeros((len(images), 1)), n, 64)

    return make


def measure(kind: str, layout: str, grid: int, repetitions: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    picture = (rng.random((SIDE, SIDE, 3)) * 255).astype(kind)
    image = picture if layout == "last" else np.ascontiguousarray(np.moveaxis(picture, 2, 0))
    own, theirs = ours(image, grid), lime(picture, grid, MASKS // 8)
    own()
    times = [(seconds(own) / MASKS, seconds(theirs) / (MASKS // 8)) for _ in range(repetitions)]
    least, median = np.min(times, axis=0) * 1000, np.median(times, axis=0) * 1000
    return {
        "dtype": kind,
        "channels": layout,
        "parts": grid**2,
        "ms": float(least[0]),
        "median_ms": float(median[0]),
        "lime_ms": float(least[1]),
        "faster": float(np.median([b / a for a, b in times])),
    }


def main(settings: argparse.Namespace) -> None:
    repetitions = 3 if settings.quick else settings.repetitions
    rows = [measure(*case, repetitions) for case in CASES]
    targets = [
        at_most("compositing, ms a 224-pixel image, largest", WANTED, max(row["ms"] for row in rows)),
        at_most("compositing, ms, largest median", WANTED, max(row["median_ms"] for row in rows)),
        Target("lime's loop, ms, least", "", f"{min(row['lime_ms'] for row in rows):.3g}", True),
    ]
    finish("compositing", settings, rows, targets)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--repetitions", type=int, default=11)
    main(parser.parse_args())
