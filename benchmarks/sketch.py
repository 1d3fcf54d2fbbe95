"""A pick from what chunks say of themselves, against the pick from all explanations: what it covers.

Every chunk of explanations sums up how heavy each part is; the sums of all chunks are the importance of the
parts. By it every chunk picks as many of its rows as are wanted in the end, and the pick from these is the answer
("chunks"). Beside it stand a pick from as many rows drawn at random ("drawn"), and one from one row of each
distinct set of parts ("sets", which loses nothing). ``covers`` is what a pick covers over what the pick from all
rows covers, ``bytes`` what travels, of which ``sums`` are the sums. Greedy is written here from its definition.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import veridical as vd
from laws import Floats
from tables import Target, arguments, at_least, at_most, finish

ROWS, CHUNK = 20_480, 1024
HEAVIEST = (5, None)  # parts of an explanation that count
BUDGETS = (5, 20)


def weighed(n: int) -> Floats:
    """Sizes of weights, (n, p), of rows that lie between those of breast_cancer."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(50, random_state=0, n_jobs=1).fit(X, y)
    rng = np.random.default_rng(0)
    one, other, share = rng.integers(0, len(X), n), rng.integers(0, len(X), n), rng.random((n, 1))
    rows = X.iloc[one].to_numpy() * share + X.iloc[other].to_numpy() * (1 - share)
    given = type(X)(rows, columns=X.columns)
    many = vd.explain_many(model.predict_proba, vd.Rows(X), given, target=1, method=vd.Lime(n_samples=2048))
    names = {name: j for j, name in enumerate(dict.fromkeys(name for why in many for name in why.names))}
    sizes = np.zeros((n, len(names)))
    for i, why in enumerate(many):
        sizes[i, [names[name] for name in why.names]] = np.abs(why.weights)
    return sizes


def heaviest(sizes: Floats, k: int | None) -> Floats:
    """Only the k heaviest parts of each row."""
    if k is None:
        return sizes
    kth = -np.sort(-sizes, axis=1)[:, k - 1 : k]
    return np.where(sizes >= kth, sizes, 0.0)


def greedy(has: Any, importance: Floats, budget: int) -> list[int]:
    """Rows picked: each the first that adds most to what is covered."""
    left, chosen = importance.copy(), list[int]()
    for _ in range(budget):
        chosen.append(int(np.argmax(has @ left)))
        left[has[chosen[-1]]] = 0
    return chosen


def measure(sizes: Floats, k: int | None, budget: int) -> list[dict[str, Any]]:
    """One line a way to pick."""
    chunks = np.split(sizes, len(sizes) // CHUNK)
    importance = np.sqrt(np.sum([chunk.sum(axis=0) for chunk in chunks], axis=0))
    has = sizes > 0
    best = importance[has[greedy(has, importance, budget)].any(axis=0)].sum()
    picked = [c * CHUNK + i for c, chunk in enumerate(chunks) for i in greedy(chunk > 0, importance, budget)]
    _, sets = np.unique(has, axis=0, return_index=True)
    drawn = np.random.default_rng(1).choice(len(has), len(picked), replace=False)
    each = -(-has.shape[1] // 8) + 8  # a bit a part, and the number of the row
    sums = 8 * has.shape[1] * len(chunks)
    lines = []
    for way, rows in {"chunks": np.array(picked), "drawn": drawn, "sets": np.sort(sets)}.items():
        chosen = rows[greedy(has[rows], importance, budget)]
        covers = importance[has[chosen].any(axis=0)].sum() / best
        known = {"way": way, "heaviest": k, "budget": budget, "rows": len(has), "chunks": len(chunks)}
        size = {"parts": has.shape[1], "kept": len(rows), "bytes": sums + each * len(rows), "sums": sums}
        lines.append({**known, **size, "covers": float(covers)})
    return lines


def targets(rows: list[dict[str, Any]]) -> list[Target]:
    def least(way: str) -> float:
        return min(float(row["covers"]) for row in rows if row["way"] == way)

    most = max(row["bytes"] / row["chunks"] for row in rows if row["way"] == "chunks")
    return [
        at_least("what chunks' picks cover, over the pick from all, least", 0.95, least("chunks")),
        at_least(
            "what one row of each set of parts covers, over the pick from all, least", 1 - 1e-9, least("sets")
        ),
        Target("what as many rows drawn at random cover, least", "", f"{least('drawn'):.3g}", True),
        at_most("bytes a chunk", 4096, most),
    ]


def main(settings: argparse.Namespace) -> None:
    n = 4 * CHUNK if settings.quick else ROWS
    sizes = weighed(n)
    rows = [line for k in HEAVIEST for budget in BUDGETS for line in measure(heaviest(sizes, k), k, budget)]
    finish("sketch", settings, rows, targets(rows))


if __name__ == "__main__":
    main(arguments(__doc__).parse_args())
