"""The measurement of how often watching is right: its pairs are what they say, and its plan is what is counted."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

EXPERIMENTS = str(Path(__file__).parents[2] / "experiments")
if EXPERIMENTS not in sys.path:
    sys.path.insert(0, EXPERIMENTS)

import watching  # noqa: E402 - it stands beside the package

SQUARES = 10_010  # a seed whose model is quick to explain


@pytest.mark.parametrize(
    ("kind", "label", "paired"),
    [("nights", "same", 0), ("models", "same", 40), ("shuffled", "different", 0), ("shortcut", "different", 0)],
)
def test_a_pair(kind: str, label: str, paired: int) -> None:
    found = watching.play(SQUARES, kind, n_rows=40)
    assert (found["model"], found["label"], found["paired"]) == ("squares", label, paired)
    if kind == "shortcut":
        assert f"importance x{watching.SHORTCUT}" in found["named"]


def test_the_plan_takes_kinds_by_turns_and_seeds_in_order() -> None:
    cells = watching.plan(4, 2, 7)
    assert [(cell["kind"], cell["seed"]) for cell in cells] == [
        ("nights", 7), ("models", 7), ("nights", 8), ("models", 8), ("shuffled", 7), ("shortcut", 7)
    ]  # fmt: skip


def test_a_shortcut_follows_the_answer() -> None:
    world = {"mix": np.eye(watching.N_COLUMNS), "slopes": np.ones(watching.SHORTCUT), "both": 0.0}
    for shortcut, least, most in ((True, 0.88, 1.0), (False, 0.4, 0.6)):
        X, y = watching.draw(np.random.default_rng(0), 500, world, shortcut)
        assert least < np.mean((X.iloc[:, watching.SHORTCUT] > 0) == y) < most
