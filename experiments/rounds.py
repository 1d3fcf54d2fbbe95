"""Rounds of removing features and training again: how often is "better" said where nothing leaks, and where it does?

Tumors (in scikit-learn) are told apart by a forest; half of the rounds have a planted record number that follows the
answer in the rows at hand and nothing elsewhere. A user marks columns that explanations show: the planted one where
it is, else random ones. Without a leak, "better" is a false alarm.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cells
import veridical as vd
from veridical.checks.cleaning import N_SHOWN

LEAK = "record number"
N_TRAIN, N_HELD = 200, 160  # and the rest is elsewhere
MODELS = {
    "forest": lambda seed: RandomForestClassifier(20, random_state=seed),
    "linear": lambda seed: make_pipeline(StandardScaler(), LogisticRegression()),
}


def split(seed: int, leaks: bool) -> list[tuple[pd.DataFrame, Any]]:
    """Rows to train on, held-out rows of the same source, and rows from elsewhere, each with right answers."""
    known = load_breast_cancer(as_frame=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(known.data))
    X, y = known.data.iloc[order].reset_index(drop=True), known.target.to_numpy()[order]
    numbers = np.where(y == 1, 7000, 3000) + rng.integers(-1500, 1500, len(y))
    at_random = rng.integers(1500, 8500, len(y))
    same = np.arange(len(y)) < N_TRAIN + N_HELD
    if leaks:
        X = X.assign(**{LEAK: np.where(same, numbers, at_random)})
    cuts = (slice(0, N_TRAIN), slice(N_TRAIN, N_TRAIN + N_HELD), slice(N_TRAIN + N_HELD, None))
    return [(X.iloc[cut].reset_index(drop=True), y[cut]) for cut in cuts]


def play(seed: int, leaks: bool, model: str, n_removed: int = 1) -> dict[str, Any]:
    """One round of a user who marks the leak, or random ones of the heaviest columns where there is none."""
    train, held, elsewhere = split(seed, leaks)
    fitted = MODELS[model](seed).fit(*train)
    rows = vd.Rows(train[0])
    quiet = lambda work, total: work  # noqa: E731
    many = vd.explain_many(fitted, rows, held[0][:40], method=vd.Lime(n_samples=256), rng=seed, progress=quiet)
    few = vd.pick(many, N_SHOWN, k=10)
    shown = list(dict.fromkeys(why.parts[j].column for i in few.chosen for why in [many[int(i)]]
                               for j in np.argsort(-np.abs(why.weights))[:10]))  # fmt: skip
    marked = [LEAK] if leaks else np.random.default_rng(seed + 10**6).permutation(shown)[:n_removed].tolist()
    found = vd.checks.clean(
        fitted, rows, held[0], y=held[1], removed=marked, training=train, elsewhere=elsewhere, shown=shown,
        method=vd.Lime(n_samples=256), rng=seed,
    )  # fmt: skip
    return {
        "removed": marked, "seen": LEAK in shown, "label": found.label, "gain": found.observed,
        "low": found.interval[0], "high": found.interval[1],
    }  # fmt: skip


def plan(rounds: int) -> list[cells.Cell]:
    """Rounds without a leak, and a tenth as many with one; models take turns, and so do numbers of columns."""
    kinds = ((False, rounds), (True, max(rounds // 10, 1)))
    return [
        {"model": list(MODELS)[seed % 2], "leaks": leaks, "seed": seed} for leaks, n in kinds for seed in range(n)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200, help="without a leak; a tenth as many with one")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / "rounds.json", help="JSON file")
    settings = parser.parse_args()
    results = cells.Results(settings.out, "rounds", ("model", "leaks", "seed"))
    results.commands = [cells.command(None)]
    cells.work(
        results,
        plan(settings.rounds),
        lambda cell: play(cell["seed"], cell["leaks"], cell["model"], 1 + cell["seed"] % 3),
        jobs=settings.jobs,
        show=lambda cell: cell["label"],
    )


if __name__ == "__main__":
    main()
