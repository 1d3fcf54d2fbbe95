"""Model calls that veridical needs for the error that lime has at 5,000 calls.

The error is the root mean square, over seeds, of |weights - limit| / |limit|, on the parts that a sample
changes often enough to be judged. ``spread`` is lime's error around its own mean, without the bias that its
ridge and its extra row bring: ``ratio_spread`` is the saving against that, a stricter comparison.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import veridical as vd
from limits import SAMPLES, limits
from package import Package
from problems import KINDS, Floats, load, names
from tables import Target, arguments, at_least, finish

LIME_CALLS = 5000


def measure(name: str, data: Path | None, seeds: int, sizes: Sequence[int], samples: int) -> dict[str, Any]:
    """One line of the table: lime and veridical in turn, seed by seed."""
    problem = load(name, data)
    limit = limits(problem, samples=samples)
    at, truth = limit.judged[0], limit.weights[0]
    package, represent = Package(problem), problem.represent()
    theirs, ours, calls = [], np.empty((seeds, len(sizes), len(truth))), np.empty(len(sizes))
    for seed in range(seeds):
        theirs.append(package.weights(0, LIME_CALLS, seed))
        for k, n in enumerate(sizes):
            why = vd.explain(problem.predict, represent, problem.instance, method=vd.Lime(n_samples=n), rng=seed)
            ours[seed, k], calls[k] = why.weights, why.n_calls
    size = float(np.linalg.norm(truth[at]))
    lime = np.array(theirs)[:, at]
    error = rms(lime - truth[at]) / size
    spread = rms(lime - lime.mean(axis=0)) / size * np.sqrt(seeds / (seeds - 1))
    curve = np.array([rms(ours[:, k, at] - truth[at]) for k in range(len(sizes))]) / size
    needed = crossing(calls, curve, error)
    return {
        "problem": name,
        "parts": len(truth),
        "judged": int(at.sum()),
        "limit": limit.relative_error(0),
        "lime": error,
        "spread": float(spread),
        "error_1024": float(np.interp(1024, sizes, curve)),
        "needed": needed,
        "ratio": LIME_CALLS / needed,
        "ratio_spread": LIME_CALLS / crossing(calls, curve, float(spread)),
        "curve": {str(n): float(e) for n, e in zip(sizes, curve, strict=True)},
    }


def rms(gaps: Floats) -> float:
    """Root mean square of the length of the rows."""
    return float(np.sqrt(np.mean(np.sum(gaps**2, axis=1))))


def crossing(calls: Floats, errors: Floats, wanted: float) -> float:
    """Calls from which on the error stays below what is wanted, on a log-log scale.

    Beyond the last size the error is taken to fall as 1/sqrt(calls); below the first, nothing is gained.
    """
    above = np.flatnonzero(errors > wanted)
    if not len(above):
        return float(calls[0])
    k = int(above[-1])
    if k == len(calls) - 1:
        return float(calls[k] * (errors[k] / wanted) ** 2)
    x, y = np.log(calls[k : k + 2]), np.log(errors[k : k + 2])
    return float(np.exp(x[0] + (x[1] - x[0]) * (y[0] - np.log(wanted)) / (y[0] - y[1])))


GROUPS = (("breast_cancer", "wine", "diabetes"), ("digits",), ("adult", "german_credit"))


def judge(rows: Sequence[dict[str, Any]]) -> list[Target]:
    targets = []
    for kind, wanted in zip(KINDS, (4.5, 4.0), strict=True):
        ratios = [row["ratio"] for row in rows if row["problem"].endswith(kind)]
        strict = [row["ratio_spread"] for row in rows if row["problem"].endswith(kind)]
        targets += [
            at_least(f"{kind}: calls saved, median", wanted, float(np.median(ratios))),
            at_least(f"{kind}: calls saved, least", 1.4, min(ratios)),
            Target(f"{kind}: calls saved, most", "", f"{max(ratios):.3g}", True),
            Target(f"{kind}: saved against lime's spread alone, median", "", f"{np.median(strict):.3g}", True),
        ]
        for group in GROUPS:
            some = [
                row["ratio"] for row in rows if row["problem"].endswith(kind) and row["problem"].startswith(group)
            ]
            if some:
                found = f"{np.median(some):.3g} ({min(some):.3g} to {max(some):.3g})"
                targets.append(Target(f"{kind}: of these {', '.join(group)}, median", "", found, True))
    return targets


def main(settings: argparse.Namespace) -> None:
    sizes = [2**m for m in range(7, 14)]
    samples = settings.samples if not settings.quick else 2**13
    seeds = settings.seeds if not settings.quick else 5
    work = (
        delayed(measure)(name, settings.data, seeds, sizes, samples)
        for name in names(settings.data, settings.quick)
    )
    rows = Parallel(n_jobs=settings.jobs)(work)
    finish("calls", settings, rows, judge(rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of each of the 8 scrambles of a limit")
    main(parser.parse_args())
