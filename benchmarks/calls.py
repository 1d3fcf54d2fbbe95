"""Model calls that veridical needs for the error that lime, or captum, has at 5,000 calls.

The error is the root mean square, over seeds, of |weights - limit| / |limit|, on the parts that a sample
changes often enough to be judged. ``spread`` is lime's error around its own mean, without the bias that its
ridge and its extra row bring: ``ratio_spread`` is the saving against that, a stricter comparison. ``reached``
is the smallest number of samples we drew whose error, and that of all larger ones, is below lime's; the columns
that end in 1000 are the same against lime at 1,000 calls, its default for pictures.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import veridical as vd
from laws import Floats
from limits import SAMPLES, limits
from problems import choose_families, load, names, result
from tables import Target, arguments, at_least, finish
from tabular import KINDS

LIME_CALLS = 5000
ROWS = 3  # coverage wants as many, and limits are kept
SIZES = {  # that we draw
    "tables": [2**m for m in range(7, 14)],
    "masks": [k * 2**m for m in range(6, 12) for k in (2, 3)] + [2**13],
}


def measure(family: str, name: str, row: int, data: Path | None, seeds: int, samples: int) -> dict[str, Any]:
    """One line of the table: the package and veridical in turn, seed by seed."""
    problem = load(family, name, data)
    limit = limits(problem, 1 if family == "tables" else min(ROWS, len(problem.rows)), samples)
    at, truth = limit.judged(row), limit.weights[row]
    package, represent = problem.package(), problem.represent()
    sizes = [n for n in SIZES.get(family, SIZES["masks"]) if n >= 3 * len(truth)]
    budgets = list(dict.fromkeys([LIME_CALLS, package.default]))
    theirs, ours = np.empty((seeds, len(budgets), len(truth))), np.empty((seeds, len(sizes), len(truth)))
    calls = np.empty(len(sizes))
    for seed in range(seeds):
        for k, n in enumerate(budgets):
            theirs[seed, k] = package.weights(row, n, seed)
        for k, n in enumerate(sizes):
            why = vd.explain(problem.predict, represent, problem.row(row), method=vd.Lime(n_samples=n), rng=seed)
            ours[seed, k], calls[k] = why.weights[problem.order(row, why)], why.n_calls
    size = float(np.linalg.norm(truth[at]))
    curve = np.array([rms(ours[:, k, at] - truth[at]) for k in range(len(sizes))]) / size
    line: dict[str, Any] = {
        "problem": name if row == 0 else f"{name}#{row + 1}",
        "parts": len(truth),
        "judged": int(at.sum()),
        "limit": limit.relative_error(row),
    }
    for k, n in enumerate(budgets):
        line |= {key if n == LIME_CALLS else f"{key}_{n}": v for key, v in _saving(
            theirs[:, k, at], truth[at], n, calls, curve, package.name).items()}  # fmt: skip
    line["error_1024"] = float(np.interp(1024, sizes, curve))
    return {**line, "curve": {str(n): float(e) for n, e in zip(sizes, curve, strict=True)}}


def rms(gaps: Floats) -> float:
    """Root mean square of the length of the rows."""
    return float(np.sqrt(np.mean(np.sum(gaps**2, axis=1))))


def _saving(theirs: Floats, truth: Floats, n: int, calls: Floats, curve: Floats, package: str) -> dict[str, Any]:
    """The package's error at n calls, and what we need for the same."""
    size, seeds = float(np.linalg.norm(truth)), len(theirs)
    error = rms(theirs - truth) / size
    spread = rms(theirs - theirs.mean(axis=0)) / size * np.sqrt(seeds / (seeds - 1))
    needed = crossing(calls, curve, error)
    above = np.flatnonzero(curve > error)
    first = int(above[-1]) + 1 if len(above) else 0
    return {
        package: error,
        "spread": float(spread),
        "needed": needed,
        "reached": int(calls[first]) - 1 if first < len(calls) else None,
        "ratio": n / needed,
        "ratio_spread": n / crossing(calls, curve, float(spread)),
    }


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


def judge(family: str, rows: Sequence[dict[str, Any]]) -> list[Target]:
    if family in ("images", "networks"):
        return judge_images(family, rows)
    return (judge_tables if family == "tables" else judge_text)(rows)


def judge_text(rows: Sequence[dict[str, Any]]) -> list[Target]:
    return [
        at_least("text: calls saved, median", 4.5, float(np.median([row["ratio"] for row in rows]))),
        at_least("text: calls saved, least", 1.4, min(row["ratio"] for row in rows)),
        *_extent("text", rows),
        *(
            Target(f"text: of these {model}, median", "", _range(rows, f"-{model}-"), True)
            for model in ("lr", "rf", "mlp", "nb")
        ),
    ]


def judge_images(family: str, rows: Sequence[dict[str, Any]]) -> list[Target]:
    targets = []
    for parts, wanted in ((16, 8.0), (64, 2.0)):
        some = [row for row in rows if row["parts"] == parts]
        if some:
            which, ratios = f"{family} of {parts} parts", [row["ratio"] for row in some]
            targets += [
                at_least(f"{which}: calls saved, median", wanted, float(np.median(ratios))),
                at_least(f"{which}: calls saved, least", wanted, min(ratios)),
                *_extent(which, some),
            ]
    return targets


def _extent(what: str, rows: Sequence[dict[str, Any]]) -> list[Target]:
    strict = float(np.median([row["ratio_spread"] for row in rows]))
    return [
        Target(f"{what}: calls saved, most", "", f"{max(row['ratio'] for row in rows):.3g}", True),
        Target(f"{what}: saved against the spread alone, median", "", f"{strict:.3g}", True),
    ]


def _range(rows: Sequence[dict[str, Any]], which: str) -> str:
    some = [row["ratio"] for row in rows if which in row["problem"]]
    return f"{np.median(some):.3g} ({min(some):.3g} to {max(some):.3g})" if some else "none"


def judge_tables(rows: Sequence[dict[str, Any]]) -> list[Target]:
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
    samples = settings.samples if not settings.quick else 2**13
    seeds = settings.seeds if not settings.quick else 5
    for family in settings.on:
        chosen = names(family, settings.data, settings.quick)
        work = (
            delayed(measure)(family, name, row, settings.data, seeds, samples)
            for name in chosen
            for row in range(ROWS if family == "images" and name.startswith("digits") else 1)
        )
        rows = Parallel(n_jobs=settings.jobs)(work)
        finish(result("calls", family), settings, rows, judge(family, rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    choose_families(parser)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of each of the 8 samples behind a limit")
    main(parser.parse_args())
