"""Time of an explanation over the time of one batched prediction of the same rows.

Everything is timed in turn within one run, in a new order each repetition. The prediction is of exactly the
rows that the explanation asked for, in one call. A figure is the median, over repetitions, of the ratio within
a repetition. Ours includes the intervals and the verdict; what can be prepared beforehand is, for both.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

import veridical as vd
from package import Package
from problems import KINDS, Floats, Problem, load
from tables import Target, arguments, at_most, finish

DATASETS = ("breast_cancer", "wine")
MODELS = ("rf", "gb", "svm")
WANTED = 1.25


class Recorder:
    """A model that remembers the rows it was last asked about."""

    def __init__(self, predict: Callable[[Any], Floats]) -> None:
        self.predict, self.asked = predict, []

    def __call__(self, inputs: Any) -> Floats:
        self.asked.append(np.array(inputs))
        return self.predict(inputs)


def contenders(problem: Problem, n: int) -> dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]]:
    """Per contender: what is timed, given a model; and the prediction of the rows it asked for."""
    represent, package, x = problem.represent(), Package(problem), problem.instance

    def ours(predict: Callable[[Any], Floats]) -> None:
        vd.explain(predict, represent, x, method=vd.Lime(n_samples=n))

    made: dict[str, Callable[[Any], Any]] = {"ours": ours}
    for k in (10, 5):
        timed = package.timed(n, k)
        made[f"lime_{k}"] = lambda predict, timed=timed: timed(0, predict)
    found = {}
    for name, explain in made.items():
        recorder = Recorder(problem.predict)
        explain(recorder)
        rows = np.concatenate(recorder.asked)
        found[name] = (explain, lambda rows=rows: problem.predict(rows))
    return found


def seconds(work: Callable[[], Any]) -> float:
    begin = perf_counter()
    work()
    return perf_counter() - begin


def measure(problem: Problem, n: int, repetitions: int) -> dict[str, Any]:
    entries = contenders(problem, n)
    rng = np.random.default_rng(0)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in entries}
    for _ in range(repetitions):
        for name in rng.permutation(list(entries)):
            explain, predict = entries[name]
            explained = seconds(lambda explain=explain: explain(problem.predict))
            times[name].append((explained, seconds(predict)))
    ratios = {name: float(np.median([a / b for a, b in pairs])) for name, pairs in times.items()}
    plain, spent = np.median(times["ours"], axis=0)[::-1] * 1000
    return {
        "problem": problem.name,
        "n": n,
        "predict_ms": float(plain),
        "ours_ms": float(spent),
        "ours_extra_ms": float(np.median([a - b for a, b in times["ours"]]) * 1000),
        **ratios,
    }


def judge(rows: Sequence[dict[str, Any]]) -> list[Target]:
    ratios = [row["ours"] for row in rows]
    over = sum(r > WANTED for r in ratios)
    lime = {k: [row[f"lime_{k}"] for row in rows] for k in (10, 5)}
    return [
        at_most("explain / predict, largest", WANTED, max(ratios)),
        at_most("explain / predict, median", WANTED, float(np.median(ratios))),
        Target("cases above", "0", f"{over} of {len(rows)}", not over),
        *(Target(f"lime with {k} features, median", "", f"{np.median(v):.3g}", True) for k, v in lime.items()),
    ]


def main(settings: argparse.Namespace) -> None:
    sizes = (1024,) if settings.quick else (1024, 5000)
    repetitions = 5 if settings.quick else settings.repetitions
    rows = []
    for dataset in DATASETS[: 1 if settings.quick else None]:
        for model in MODELS:
            for kind in KINDS:
                problem = load(f"{dataset}-{model}-{kind}")
                rows += [measure(problem, n, repetitions) for n in sizes]
    finish("overhead", settings, rows, judge(rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--repetitions", type=int, default=21)
    main(parser.parse_args())
