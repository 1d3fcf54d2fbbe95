"""Watching two sets of explanations: how often is "different" said where nothing changed, and where something did?

Each pair has a table of its own, drawn at random, and a model fitted to it: a forest, explained in closed form or by
samples, a logistic regression, or one of squares, explained by linear local models whose rows share samples. Without
a change, the model explains other rows of the same kind (nights), or the same rows with another seed (models). With a
change, the new model was fitted after the column that the old one uses most had been shuffled, or after a column of
noise had become a shortcut that follows the answer in nine rows of ten.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import cells
import veridical as vd

N_TRAIN, N_COLUMNS = 300, 5
SHORTCUT = N_COLUMNS - 1  # a column of noise, until it follows the answer
FOLLOWS = 0.9  # share of rows in which it does
SAMPLED = vd.Lime(n_samples=256)
SETTINGS = {
    "forest": vd.Lime(),
    "linear": SAMPLED,
    "squares": vd.Lime(n_samples=256, surrogate=vd.surrogates.Linear()),
}
NULL, CHANGED = ("nights", "models"), ("shuffled", "shortcut")


def draw(rng: np.random.Generator, n: int, world: dict[str, Any], shortcut: bool) -> tuple[pd.DataFrame, Any]:
    """Rows of a world and their answers; the last column is noise, or a shortcut."""
    X = rng.normal(size=(n, N_COLUMNS)) @ world["mix"]
    z = X[:, :SHORTCUT] @ world["slopes"] + world["both"] * X[:, 0] * X[:, 1]
    y = (z + rng.normal(size=n) > 0).astype(int)
    X[:, SHORTCUT] = rng.normal(size=n)
    if shortcut:
        follows = rng.random(n) < FOLLOWS
        X[:, SHORTCUT] = np.where(follows, 2.0 * y - 1, rng.choice([-1.0, 1.0], n)) + 0.3 * rng.normal(size=n)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(N_COLUMNS)]), y


def fit(kind: str, X: pd.DataFrame, y: Any, seed: int) -> Any:
    """A model of the table."""
    if kind == "forest":
        return RandomForestClassifier(8, max_depth=3, random_state=seed).fit(X, y)
    squares = [PolynomialFeatures()] if kind == "squares" else []
    return make_pipeline(*squares, LogisticRegression(max_iter=1000)).fit(X, y)


def explain(model: Any, rows: vd.Rows, X: pd.DataFrame, method: Any, rng: int) -> vd.Explanations:
    """Explanations of the answer 1."""
    found: vd.Explanations = vd.explain_many(
        model, rows, X, target=1, method=method, rng=rng, progress=lambda work, total: work
    )
    return found


def play(seed: int, kind: str, n_rows: int = 60) -> dict[str, Any]:
    """One pair of stores, as ``vd.comparisons.watch`` sees it."""
    rng = np.random.default_rng([seed, 41])
    mix = np.eye(N_COLUMNS) + 0.3 * rng.normal(size=(N_COLUMNS, N_COLUMNS))
    world = {"mix": mix, "slopes": rng.normal(size=SHORTCUT), "both": rng.normal()}
    model = list(SETTINGS)[seed % 3]
    method = SAMPLED if kind == "models" and model == "forest" else SETTINGS[model]  # else there is no noise
    X, y = draw(rng, N_TRAIN, world, False)
    old, rows = fit(model, X, y, seed), vd.Rows(X)
    first, _ = draw(rng, n_rows, world, False)
    new, new_rows, second = old, rows, first
    paired = kind == "models" or (kind == "shuffled" and seed % 4 < 2)
    sides = [explain(old, rows, first, method, 2 * seed)]
    if kind == "shuffled":
        heavy = sides[0].importance().columns[0]
        new = fit(model, X.assign(**{heavy: rng.permutation(X[heavy])}), y, seed)
    if kind == "shortcut":
        X, y = draw(rng, N_TRAIN, world, True)
        new, new_rows = fit(model, X, y, seed), vd.Rows(X)
    if not paired:
        second, _ = draw(rng, n_rows, world, kind == "shortcut")
        second.index += n_rows  # other rows have other names
    sides.append(explain(new, new_rows, second, method, 2 * seed + 1))
    found, strict = (vd.comparisons.watch(*sides, tolerance=tolerance) for tolerance in (0.01, 0.0))
    return {
        "model": model, "paired": found.n_pairs, "numbers": len(found.p), "label": found.verdict.label,
        "strict": strict.verdict.label, "named": [f"{kind} {name}" for kind, name, _ in found.top(3)],
    }  # fmt: skip


def plan(pairs: int, changed: int, start: int) -> list[cells.Cell]:
    """Pairs without a change, of both kinds by turns, and pairs with one."""
    sizes = ((NULL, pairs), (CHANGED, changed))
    return [{"kind": kinds[i % 2], "seed": start + i // 2} for kinds, n in sizes for i in range(n)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=200, help="without a change")
    parser.add_argument("--changed", type=int, default=100, help="with one")
    parser.add_argument("--start", type=int, default=0, help="the first seed; settings were chosen from 10000 on")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--resume", action="store_true", help="leave what was measured as it is")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / "watching.json", help="JSON file")
    settings = parser.parse_args()
    results = cells.Results(settings.out, "watching", ("kind", "seed"))
    results.commands = [cells.command(None)]
    cells.work(
        results,
        plan(settings.pairs, settings.changed, settings.start),
        lambda cell: play(cell["seed"], cell["kind"]),
        resume=settings.resume,
        jobs=settings.jobs,
        show=lambda cell: cell["label"],
    )
    found = list(results.cells.values())
    for kinds, said in ((NULL, "alarms without a change"), (CHANGED, "changes found")):
        own = [cell for cell in found if cell["kind"] in kinds and "label" in cell]
        n = [sum(cell[key] == "different" for cell in own) for key in ("label", "strict")]
        print(f"{said}: {n[0]} of {len(own)}; with tolerance=0: {n[1]}")


if __name__ == "__main__":
    main()
