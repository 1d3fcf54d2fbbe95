"""How often the 95 % intervals hold the limit, and whether the default stops with the right top five.

``share_N`` is the share of parts and seeds whose interval at N samples holds the limit; ``width_N`` is how
wide the interval is compared with one of exactly 95 % (the root mean square half-width over 1.96 times the
error). A part that was not measured has an endless interval and is not counted. The top five are right if
each of them weighs, in the limit, at least the fifth largest less a tenth of the largest, all parts counted.
``settled`` is the share of runs that stopped before the budget ended; the others say that they did not.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import veridical as vd
from limits import SAMPLES, Limits, limits
from problems import Floats, Problem, load, names
from tables import Target, arguments, at_least, finish

SIZES = (512, 1024, 2048)
TOP, TOLERANCE = 5, 0.1


def measure(name: str, data: Path | None, plan: tuple[int, int, int, int]) -> dict[str, Any]:
    """One line of the table: the intervals of one row, then the stopping rule on several."""
    seeds, stop_seeds, stop_rows, samples = plan
    problem = load(name, data)
    limit = limits(problem, stop_rows, samples)
    return {
        "problem": name,
        **intervals(problem, limit, seeds),
        **stopping(problem, limit, stop_seeds, stop_rows),
    }


def intervals(problem: Problem, limit: Limits, seeds: int) -> dict[str, float]:
    represent, truth = problem.represent(), limit.weights[0]
    found: dict[str, float] = {}
    for n in SIZES:
        held, halves, gaps = [], [], []
        for seed in range(seeds):
            method = vd.Lime(n_samples=n)
            why = vd.explain(problem.predict, represent, problem.instance, method=method, rng=seed)
            low, high = why.intervals.T
            finite = np.isfinite(high - low)
            held += list(((low <= truth) & (truth <= high))[finite])
            halves += list((high - low)[finite] / 2)
            gaps += list((why.weights - truth)[finite])
        found[f"share_{n}"] = float(np.mean(held))
        found[f"width_{n}"] = float(np.linalg.norm(halves) / (1.96 * np.linalg.norm(gaps)))
    return found


def stopping(problem: Problem, limit: Limits, seeds: int, rows: int) -> dict[str, float]:
    represent = problem.represent()
    calls, right, settled = [], [], []
    for row in range(rows):
        for seed in range(seeds):
            why = vd.explain(problem.predict, represent, problem.row(row), rng=seed)
            calls.append(why.n_calls)
            right.append(is_right(why.weights, limit.weights[row]))
            settled.append(why.top_probability >= why.verdict.expected)
    return {
        "calls": float(np.median(calls)),
        "calls_p90": float(np.quantile(calls, 0.9)),
        "settled": float(np.mean(settled)),
        "right": float(np.mean(right)),
        "right_if_settled": float(np.mean(np.array(right)[settled])) if any(settled) else None,
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
    chosen = names(settings.data, settings.quick)
    rows = Parallel(n_jobs=settings.jobs)(delayed(measure)(name, settings.data, plan) for name in chosen)
    finish("coverage", settings, rows, judge(rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=40, help="for the intervals")
    parser.add_argument("--stop-seeds", type=int, default=20, help="for the stopping rule, a row")
    parser.add_argument("--rows", type=int, default=3, help="for the stopping rule")
    main(parser.parse_args())
