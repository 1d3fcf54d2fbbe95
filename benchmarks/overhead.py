"""Time of an explanation over the time of one batched prediction of the same rows.

Everything is timed in turn within one run, in a new order each repetition. The prediction is of exactly the
rows that the explanation asked for, in one call. A figure is the median, over repetitions, of the ratio within
a repetition. Ours includes the intervals and the verdict; what can be prepared beforehand is, for both. A text
is explained twice: with the pipeline inside a function of the caller's (``ours``), so that the model gets
strings, and with the pipeline's own predict_proba, which is recognized, so that no string is made
(``recognized``); both are over the time of predicting the strings. ``classifier`` is the share of that time
that the pipeline's last step takes, which nobody can save.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np

import veridical as vd
from laws import Floats
from problems import Problem, choose_families, load, names, result
from tables import Target, arguments, at_most, finish
from tabular import KINDS

DATASETS = ("breast_cancer", "wine")
MODELS = ("rf", "gb", "svm")
WANTED = 1.25
SLOW = 5  # repetitions, at most, of lime's forward selection
RECOGNIZED = 0.6  # wanted, of the time of predicting the strings


class Recorder:
    """A model that remembers the rows it was last asked about."""

    def __init__(self, predict: Callable[[Any], Floats]) -> None:
        self.predict, self.asked = predict, []

    def __call__(self, inputs: Any) -> Floats:
        self.asked.append(list(inputs) if isinstance(inputs, list) else np.array(inputs))
        return self.predict(inputs)

    @property
    def rows(self) -> Any:
        """All of them, as one batch."""
        if isinstance(self.asked[0], list):
            return [row for batch in self.asked for row in batch]
        return np.concatenate(self.asked)


def contenders(problem: Problem, n: int) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Per contender: the explanation that is timed, and the prediction of the rows it asked for."""
    represent, package, x = problem.represent(), problem.package(), problem.instance

    def ours(predict: Callable[[Any], Floats]) -> None:
        vd.explain(predict, represent, x, method=vd.Lime(n_samples=n))

    text = isinstance(x, str)
    hidden = (lambda texts: problem.predict(texts)) if text else problem.predict
    made: dict[str, tuple[Callable[[Any], Any], Any]] = {"ours": (ours, hidden)}
    if text:
        made["recognized"] = (ours, problem.predict)
    for k in (10, 5):
        timed = package.timed(n, k)
        made[f"lime_{k}"] = (lambda predict, timed=timed: timed(0, predict), problem.predict)
    found = {}
    for name, (explain, predict) in made.items():
        recorder = Recorder(problem.predict)
        explain(recorder)
        rows = recorder.rows
        found[name] = (
            lambda explain=explain, predict=predict: explain(predict),
            lambda rows=rows: problem.predict(rows),
        )
    return found


def seconds(work: Callable[[], Any]) -> float:
    """Of the processor: there is one thread, and what else the machine does should not count."""
    begin = process_time()
    work()
    return process_time() - begin


def measure(problem: Problem, n: int, repetitions: int) -> dict[str, Any]:
    entries = contenders(problem, n)
    rng = np.random.default_rng(0)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in entries}
    for repetition in range(repetitions):
        for name in rng.permutation(list(entries)):
            if name == "lime_5" and repetition >= SLOW:
                continue
            explain, predict = entries[name]
            times[name].append((seconds(explain), seconds(predict)))
    ratios = {name: float(np.median([a / b for a, b in pairs])) for name, pairs in times.items()}
    plain, spent = np.median(times["ours"], axis=0)[::-1] * 1000
    if "recognized" in entries:
        ratios["classifier"] = classifier_share(problem, n, repetitions)
    return {
        "problem": problem.name,
        "n": n,
        "predict_ms": float(plain),
        "ours_ms": float(spent),
        "ours_extra_ms": float(np.median([a - b for a, b in times["ours"]]) * 1000),
        **ratios,
    }


def classifier_share(problem: Problem, n: int, repetitions: int) -> float:
    """Time of a pipeline's last step over that of the whole pipeline."""
    pipeline, recorder = problem.predict.__self__, Recorder(problem.predict)
    vd.explain(recorder, problem.represent(), problem.instance, method=vd.Lime(n_samples=n))
    rows, counts = recorder.rows, pipeline[:-1].transform(recorder.rows)
    pairs = [
        (seconds(lambda: pipeline[-1].predict_proba(counts)), seconds(lambda: problem.predict(rows)))
        for _ in range(repetitions)
    ]
    return float(np.median([a / b for a, b in pairs]))


def judge(family: str, rows: Sequence[dict[str, Any]]) -> list[Target]:
    at = [row for row in rows if family == "tables" or row["n"] == 1024]
    ratios = [row["ours"] for row in at]
    over = sum(r > WANTED for r in ratios)
    lime = {k: [row[f"lime_{k}"] for row in at] for k in (10, 5)}
    targets = [
        at_most("explain / predict, largest", WANTED, max(ratios)),
        at_most("explain / predict, median", WANTED, float(np.median(ratios))),
        Target("cases above", "0", f"{over} of {len(at)}", not over),
        *(Target(f"lime with {k} features, median", "", f"{np.median(v):.3g}", True) for k, v in lime.items()),
    ]
    if family == "tables":
        return targets
    known = [row["recognized"] for row in at]
    targets += [
        at_most("recognized pipeline, largest", RECOGNIZED, max(known)),
        at_most("recognized pipeline, median", RECOGNIZED, float(np.median(known))),
    ]
    return [replace(target, what=f"{family}: {target.what}") for target in targets]


def problems_of(family: str, settings: argparse.Namespace) -> list[str]:
    if family == "text":
        return names(family, settings.data, settings.quick)
    return [f"{d}-{m}-{k}" for d in DATASETS[: 1 if settings.quick else None] for m in MODELS for k in KINDS]


def main(settings: argparse.Namespace) -> None:
    repetitions = 5 if settings.quick else settings.repetitions
    for family in settings.on:
        sizes = (1024,) if settings.quick or family == "text" else (1024, 5000)
        rows = []
        for name in problems_of(family, settings):
            problem = load(family, name, settings.data)
            rows += [measure(problem, n, repetitions) for n in sizes]
        finish(result("overhead", family), settings, rows, judge(family, rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    choose_families(parser, ("tables", "text"))
    parser.add_argument("--repetitions", type=int, default=21)
    main(parser.parse_args())
