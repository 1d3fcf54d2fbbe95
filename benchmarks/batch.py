"""A thousand rows: explain_many against lime row by row.

lime is timed on some rows, in turn with ours, and its time multiplied. The errors are to the large-sample
limit of the same weights, on the first rows, lime's with all features and 5,000 calls a row.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

import veridical as vd
from calls import LIME_CALLS, rms
from limits import Limits, limits
from tables import Target, arguments, at_least, finish
from tabular import KINDS, TableProblem, load

N_ROWS = 1000
METHODS = {"2048": vd.Lime(n_samples=2048), "default": vd.Lime()}
WANTED = {10: 50, 5: 400}


def resampled(problem: TableProblem, n: int) -> TableProblem:
    """The problem with n held-out rows, drawn with replacement after the real ones."""
    more = np.random.default_rng(0).integers(0, len(problem.rows), max(n - len(problem.rows), 0))
    return replace(problem, rows=np.concatenate([problem.rows, problem.rows[more]])[:n])


def measure(problem: TableProblem, lime_rows: int, judged_rows: int, repetitions: int) -> list[dict[str, Any]]:
    """One line a method; the repetitions of ours lie between lime's rows."""
    represent, package = problem.represent(), problem.package()
    spent: dict[str, list[float]] = {name: [] for name in METHODS}
    lime: dict[int, list[float]] = {k: [] for k in WANTED}
    timed = {k: package.timed(LIME_CALLS, k) for k in WANTED}
    found = {}
    for rows in np.array_split(np.arange(lime_rows), repetitions):
        for name, method in METHODS.items():
            begin = perf_counter()
            found[name] = vd.explain_many(problem.predict, represent, problem.rows, method=method)
            spent[name].append(perf_counter() - begin)
        for k in WANTED:
            for i in rows:
                begin = perf_counter()
                timed[k](int(i), problem.predict)
                lime[k].append(perf_counter() - begin)
    truth = limits(problem, judged_rows)
    theirs = error(truth, [package.weights(i, LIME_CALLS, i) for i in range(judged_rows)])
    times = {k: float(np.median(v)) * len(problem.rows) for k, v in lime.items()}
    lines = []
    for name, explanations in found.items():
        own = float(np.median(spent[name]))
        lines.append(
            {
                "problem": problem.name,
                "method": name,
                "rows": len(problem.rows),
                "ours_s": own,
                "lime_10_s": times[10],
                "lime_5_s": times[5],
                "faster_10": times[10] / own,
                "faster_5": times[5] / own,
                "error": error(truth, [explanations[i].weights for i in range(judged_rows)]),
                "lime_error": theirs,
                "calls_most": max(e.n_calls for e in explanations),
            }
        )
    return lines


def error(truth: Limits, weights: Sequence[Any]) -> float:
    """Root mean square, over rows, of the relative error."""
    judged = map(truth.judged, range(len(weights)))
    gaps = [(w - b)[at] / np.linalg.norm(b[at]) for w, b, at in zip(weights, truth.weights, judged, strict=True)]
    return float(np.sqrt(np.mean([rms(gap[None]) ** 2 for gap in gaps])))


def judge(rows: Sequence[dict[str, Any]]) -> list[Target]:
    fixed = [row for row in rows if row["method"] == "2048"]
    targets = []
    for kind in KINDS:
        for name in METHODS:
            some = [row for row in rows if row["method"] == name and row["problem"].endswith(kind)]
            for k, wanted in WANTED.items():
                least = min(row[f"faster_{k}"] for row in some)
                targets.append(
                    at_least(f"{kind} ({name}): times faster than lime with {k} features", wanted, least)
                )
            lower = sum(row["error"] < row["lime_error"] for row in some)
            found = f"{lower} of {len(some)}"
            targets.append(Target(f"{kind} ({name}): error below lime's", "all", found, lower == len(some)))
    return [
        *targets,
        Target("slowest, 2048 calls, seconds", "", f"{max(row['ours_s'] for row in fixed):.3g}", True),
    ]


def main(settings: argparse.Namespace) -> None:
    models = ("rf",) if settings.quick else ("rf", "gb", "svm", "mlp")
    sizes = (4, 2, 2) if settings.quick else (settings.lime_rows, 8, 3)
    n_rows = 200 if settings.quick else N_ROWS
    rows = []
    for model in models:
        for kind in KINDS:
            rows += measure(resampled(load(f"breast_cancer-{model}-{kind}"), n_rows), *sizes)
    finish("batch", settings, rows, judge(rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--lime-rows", type=int, default=12, help="rows on which lime is timed")
    main(parser.parse_args())
