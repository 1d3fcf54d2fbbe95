"""Time of an explanation by 8,192 samples over that of the network alone, and calls of the methods for purposes.

The network is the detector of singing voice of examples/models (untrained: that takes as long), the instance an
excerpt of 80 bands and 115 frames in 20 tiles. Every batch of inputs that the explanation asks about is given to
the module itself, too, before the next one is made, in pieces of the size that is quickest for it: ``over`` is the
time of all the rest, the network's answers among it, over that of those passes. ``calls`` are inputs asked about.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

import veridical as vd
from tables import Target, arguments, at_most, finish
from veridical.methods.undo import small_changes

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from models.detector import BANDS, FRAMES, asking, built

SAMPLES, OVER, CALLS = 8192, 1.3, 600
PIECES = (4, 8, 16, 32, 64)  # inputs at once that are tried for the network alone
TRIED = 64  # inputs they are tried on
TILES = vd.Tiles()


class Timed:
    """A network, and the same module asked about the same inputs right after it."""

    def __init__(self) -> None:
        self.module = built()
        self.network = asking(self.module)
        self.at_once = self._quickest()
        self.alone = 0.0  # seconds of the module itself
        self.n_calls = 0

    def __call__(self, batch: Any) -> Any:
        answers = self.network(batch)
        self.n_calls += len(batch)
        self.alone += self._pass(torch.as_tensor(np.array(batch)), self.at_once)
        return answers

    def _pass(self, inputs: Any, at_once: int) -> float:
        start = perf_counter()
        with torch.inference_mode():
            for piece in inputs.split(at_once):
                torch.sigmoid(self.module(piece))
        return perf_counter() - start

    def _quickest(self) -> int:
        inputs = torch.randn(TRIED, BANDS, FRAMES, generator=torch.Generator().manual_seed(0))
        self._pass(inputs, TRIED)
        times = {size: min(self._pass(inputs, size) for _ in range(3)) for size in PIECES}
        return min(times, key=times.__getitem__)


def excerpt() -> Any:
    """Log-mel levels of noise that swells and fades."""
    rng = np.random.default_rng(0)
    loud = 2 * np.sin(np.arange(FRAMES) / 9) - np.arange(BANDS)[:, None] / 20
    return (loud + rng.normal(size=(BANDS, FRAMES)) - 4).astype(np.float32)


def measure(name: str, **how: Any) -> dict[str, Any]:
    """One explanation, timed."""
    timed = Timed()
    start = perf_counter()
    why = vd.explain(timed, TILES, excerpt(), **how)
    rest = perf_counter() - start - timed.alone
    assert why.n_calls == timed.n_calls
    return {
        "explanation": name, "calls": why.n_calls, "seconds": rest, "network_s": timed.alone,
        "at_once": timed.at_once, "over": rest / timed.alone,
    }  # fmt: skip


def judge(rows: list[dict[str, Any]]) -> list[Target]:
    first, *purposes = rows
    most = max(purposes, key=lambda row: row["calls"])
    return [
        at_most(f"{first['calls']:,} calls of Lime: time over the network's alone", OVER, first["over"]),
        at_most(f"calls of the method for a purpose, the most ({most['explanation']})", CALLS, most["calls"]),
    ]


def main(settings: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    n = 256 if settings.quick else SAMPLES
    rows = [measure(f"Lime, {n:,} samples", method=vd.Lime(n_samples=n))]
    methods = {"change": small_changes(), "content": vd.methods.Undo(), "either": vd.methods.Either()}
    rows += [measure(f'purpose "{question}"', method=method) for question, method in methods.items()]
    finish("tiles", settings, rows, judge(rows))


if __name__ == "__main__":
    main(arguments(__doc__).parse_args())
