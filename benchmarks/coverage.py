"""How often the 95 % intervals hold the limit, and whether the default stops with the right top five.

``share_N`` is the share of parts and seeds whose interval at N samples holds the limit; ``width_N`` is how
wide the interval is compared with one of exactly 95 % (the root mean square half-width over 1.96 times the
error). The limit has an error of its own, which the half-widths are given in addition, as independent errors
add. A part that was not measured has an endless interval and is not counted. The top five are right if
each of them weighs, in the limit, at least the fifth largest less a tenth of the largest, all parts counted.
``settled`` is the share of runs that stopped before the budget ended; the others say that they did not.
``share_stop``, where given, is the coverage of the intervals of the runs that stopped by themselves.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import veridical as vd
from laws import Floats
from limits import SAMPLES, Limits, limits
from problems import Problem, choose_families, load, names, result
from tables import Target, arguments, at_least, finish

SIZES = (512, 1024, 2048)
TOP, TOLERANCE = 5, 0.1


def measure(family: str, name: str, data: Path | None, plan: tuple[int, int, int, int]) -> dict[str, Any]:
    """One line of the table: the intervals of one row, then the stopping rule on several."""
    seeds, stop_seeds, stop_rows, samples = plan
    problem = load(family, name, data)
    stop_rows = min(stop_rows, len(problem.rows))
    limit = limits(problem, stop_rows, samples)
    return {
        "problem": name,
        **intervals(problem, limit, seeds),
        **stopping(problem, limit, stop_seeds, stop_rows),
    }


def intervals(problem: Problem, limit: Limits, seeds: int) -> dict[str, float]:
    represent = problem.represent()
    found: dict[str, float] = {}
    for n in SIZES:
        held = ExplanationsInMemory()
        for seed in range(seeds):
            method = vd.Lime(n_samples=n)
            why = vd.explain(problem.predict, represent, problem.instance, method=method, rng=seed)
            held.count(problem, limit, 0, why)
        found[f"share_{n}"], found[f"width_{n}"] = held.share, held.width
    return found


class ExplanationsInMemory:
    """Which intervals held the limit, and how wide they are against the errors."""

    def __init__(self) -> None:
        self.held: list[bool] = []
        self.halves: list[float] = []
        self.gaps: list[float] = []

    def count(self, problem: Problem, limit: Limits, row: int, why: vd.Explanation) -> None:
        order, truth = problem.order(row, why), limit.weights[row]
        low, high = why.intervals[order].T
        finite = np.isfinite(high - low)
        halves = np.hypot((high - low) / 2, 1.96 * limit.errors[row])[finite]
        gaps = (why.weights[order] - truth)[finite]
        self.held += list(np.abs(gaps) <= halves)
        self.halves += list(halves)
        self.gaps += list(gaps)

    @property
    def share(self) -> float:
        return float(np.mean(self.held))

    @property
    def width(self) -> float:
        return float(np.linalg.norm(self.halves) / (1.96 * np.linalg.norm(self.gaps)))


def stopping(problem: Problem, limit: Limits, seeds: int, rows: int) -> dict[str, float | None]:
    represent = problem.represent()
    calls, right, settled, held = [], [], [], ExplanationsInMemory()
    for row in range(rows):
        for seed in range(seeds):
            why = vd.explain(problem.predict, represent, problem.row(row), rng=seed)
            calls.append(why.n_calls)
            right.append(is_right(why.weights[problem.order(row, why)], limit.weights[row]))
            settled.append(why.top_probability >= why.verdict.expected)
            held.count(problem, limit, row, why)
    return {
        "calls": float(np.median(calls)),
        "calls_p90": float(np.quantile(calls, 0.9)),
        "settled": float(np.mean(settled)),
        "right": float(np.mean(right)),
        "right_if_settled": float(np.mean(np.array(right)[settled])) if any(settled) else None,
        "share_stop": held.share,
    }


def is_right(weights: Floats, truth: Floats) -> bool:
    """Is each of the top five among the true ones, within the tolerance?"""
    true = np.sort(np.abs(truth))[::-1]
    chosen = np.abs(truth)[np.argsort(-np.abs(weights), kind="stable")[:TOP]]
    return bool(chosen.min() >= true[min(TOP, len(true)) - 1] - TOLERANCE * true[0])


def judge(rows: Sequence[dict[str, Any]]) -> list[Target]:
    targets = []
    for n in SIZES:
        worst = min(rows, key=lambda row: row[f"share_{n}"])
        targets.append(at_least(f"coverage at {n}, least ({worst['problem']})", 0.92, worst[f"share_{n}"]))
    worst = min(rows, key=lambda row: row["share_stop"])
    targets.append(at_least(f"coverage at the stop, least ({worst['problem']})", 0.92, worst["share_stop"]))
    worst = min(rows, key=lambda row: row["right"])
    mean = float(np.mean([row["right"] for row in rows]))
    settled = [row for row in rows if row["settled"]]
    shares = np.average([r["right_if_settled"] for r in settled], weights=[r["settled"] for r in settled])
    return [
        *targets,
        at_least("top 5 right within tolerance, all runs", 0.93, mean),
        at_least("top 5 right within tolerance, runs that stopped settled", 0.93, float(shares)),
        at_least(f"top 5 right within tolerance, least ({worst['problem']})", 0.93, worst["right"]),
        Target("calls at the stop, median of medians", "", f"{np.median([r['calls'] for r in rows]):.0f}", True),
    ]


def main(settings: argparse.Namespace) -> None:
    plan = (8, 4, 2, 2**13) if settings.quick else (settings.seeds, settings.stop_seeds, settings.rows, SAMPLES)
    for family in settings.on:
        chosen = names(family, settings.data, settings.quick)
        work = (delayed(measure)(family, name, settings.data, plan) for name in chosen)
        rows = Parallel(n_jobs=settings.jobs)(work)
        which = "" if family == "tables" else f"{family}: "
        targets = [replace(t, what=which + t.what) for t in judge(rows)]
        finish(result("coverage", family), settings, rows, targets)


if __name__ == "__main__":
    parser = arguments(__doc__)
    choose_families(parser)
    parser.add_argument("--seeds", type=int, default=40, help="for the intervals")
    parser.add_argument("--stop-seeds", type=int, default=20, help="for the stopping rule, a row")
    parser.add_argument("--rows", type=int, default=3, help="for the stopping rule")
    main(parser.parse_args())
