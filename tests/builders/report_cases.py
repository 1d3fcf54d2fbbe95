"""Reports made by hand: the plain case, and everything that can be awkward about one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tests.builders import explanations as made
from veridical.metrics.reports import Comparison, Metric, Report, Score

REASONS = (
    "needs truth=, and none was given",
    "needs randomized=, a model trained on shuffled labels, and none was given",
    "the parts cannot be taken away one by one: the representation has no keeping()",
    "ModelError: predict returned 3 rows for 1000 inputs; it must return one row per input",
)


def unmeasured(trial: Any, rng: Any) -> float:
    """A measure that no view may call."""
    raise AssertionError("views must not measure")


def metric(name: str, better: str = "higher", family: str = "fidelity") -> Metric:
    return Metric(name, unmeasured, better, family, f"What {name} measures, in one sentence.")


def score(metric: str, method: str, values: Sequence[float], null: bool = False, reason: str = "") -> Score:
    """The mean and a normal interval, as far as the values give them."""
    array = np.array(values, dtype=float)
    known = array[np.isfinite(array)]
    mean = float(known.mean()) if known.size else math.nan
    half = 1.96 * float(known.std(ddof=1)) / math.sqrt(known.size) if known.size > 1 else math.nan
    return Score(metric, method, array, mean, mean - half, mean + half, int(known.size), null, reason)


def report(metrics: Sequence[Metric], methods: dict[str, Any], n: int = 40, seed: int = 0) -> Report:
    """Values around the level of each method, and comparisons that follow from it: a step of 0.1 is told apart."""
    rng = np.random.default_rng(seed)
    nulls = ("random", "constant", *(f"shuffled {name}" for name in methods))
    levels = {**methods, **dict.fromkeys(nulls, 0.1)}
    scores, comparisons = [], []
    for m in metrics:
        sign = 1 if m.better == "higher" else -1
        for name, level in levels.items():
            values = 0.5 + sign * (level - 0.5) + rng.normal(0, 0.05, n)
            scores.append(score(m.name, name, values, name in nulls))
        for first in methods:
            for second in levels:
                if second != first and (second in nulls or list(levels).index(second) > list(levels).index(first)):
                    gap = sign * (levels[first] - levels[second])
                    p = 0.001 if abs(gap) > 0.099 else 0.4
                    comparisons.append(Comparison(m.name, first, second, gap, gap - 0.02, gap + 0.02, p))
    title = f"{len(methods)} methods on {n} reviews"
    return Report(
        title, tuple(metrics), tuple(methods), nulls, tuple(scores), tuple(comparisons), n, 123_456,
        {"seed": 0, "methods": {"Lime": {"n_samples": 512}}, "k": (1, 2.5)}, ("A note to the reader.",),
    )  # fmt: skip


def plain() -> Report:
    """Lime and KernelShap lead, RandomParts is no better than its null rows."""
    metrics = (
        metric("fidelity"),
        metric("infidelity", "lower"),
        metric("deletion", "lower", "removal"),
        metric("insertion", "higher", "removal"),
        metric("size", "lower", "complexity"),
    )
    return report(metrics, {"Lime": 0.8, "KernelShap": 0.78, "Occlusion": 0.5, "RandomParts": 0.12})


def lone() -> Report:
    """One method: nothing to be best of."""
    return report((metric("fidelity"), metric("deletion", "lower", "removal")), {"Lime": 0.8})


def wide() -> Report:
    """Twelve methods and thirty metrics in three families."""
    names = [f"metric_number_{i:02d}" for i in range(30)]
    metrics = [
        metric(name, ("higher", "lower")[i % 2], ("fidelity", "removal", "stability")[i * 3 // 30])
        for i, name in enumerate(names)
    ]
    return report(metrics, {f"Method(n_samples={2**i})": 0.9 - i / 15 for i in range(12)})


def reasons() -> Report:
    """Every way in which a number can be missing or rest on less."""
    r = plain()
    names = [m.name for m in r.metrics]
    changed = []
    for s in r.scores:
        gone = np.full(r.n_instances, np.nan)
        if s.metric == names[0]:
            s = score(s.metric, s.method, gone, s.null, REASONS[0])
        elif s.metric == names[2]:
            s = score(s.metric, s.method, gone, s.null, REASONS[1])
        elif s.metric == names[3] and s.method == "Lime":
            s = score(s.metric, s.method, gone, s.null, REASONS[3])
        elif s.metric == names[3] and s.method == "Occlusion":
            s = score(s.metric, s.method, [*s.values[:30], *gone[:10]], s.null, REASONS[2])
        elif s.metric == names[4] and s.method == "Lime":
            s = score(s.metric, s.method, gone, s.null, "")
        elif s.metric == names[4] and s.method == "KernelShap":
            s = score(s.metric, s.method, [*s.values[:39], np.nan], s.null, "")
        changed.append(s)
    return replace(r, scores=tuple(changed))


def nothing() -> Report:
    """Not a single number."""
    r = plain()
    gone = tuple(score(s.metric, s.method, np.full(40, np.nan), s.null, "predict failed") for s in r.scores)
    lost = tuple(replace(c, difference=np.nan, low=np.nan, high=np.nan, p=np.nan) for c in r.comparisons)
    return replace(r, scores=gone, comparisons=lost)


def single() -> Report:
    """One instance: means without intervals, and nothing can be told apart."""
    r = plain()
    scores = tuple(score(s.metric, s.method, s.values[:1], s.null, "one instance: no interval") for s in r.scores)
    lost = tuple(replace(c, low=np.nan, high=np.nan, p=np.nan) for c in r.comparisons)
    return replace(r, scores=scores, comparisons=lost, n_instances=1)


def strangers(names: Sequence[str] = made.HOSTILE) -> Report:
    """Every text that a stranger may choose is an attack or a nuisance."""
    unique = [f"{name[:5000]}{i}" for i, name in enumerate(names)]
    metrics = [
        Metric(name, unmeasured, ("higher", "lower")[i % 2], names[0], name) for i, name in enumerate(unique)
    ]
    r = report(metrics, {name: 0.9 - i / 20 for i, name in enumerate(unique)}, 5)
    scores = tuple(replace(s, reason=names[i % len(names)]) for i, s in enumerate(r.scores))
    return replace(r, title=names[0], scores=scores, notes=tuple(names), recipe={name: name for name in names})


def extreme() -> Report:
    """Numbers that are easily lost on the way to a file and back, or too long to print."""
    numbers = [np.pi, -0.0, 5e-324, 1.7976931348623157e308, -1e300, np.inf, -np.inf, np.nan, 1e-9, 12345.678]
    r = plain()
    values, turned = np.array(numbers), numbers[1:] + numbers[:1]
    scores = tuple(
        replace(s, values=values, mean=numbers[i % 10], low=-abs(numbers[i % 10]), high=turned[i % 10])
        for i, s in enumerate(r.scores)
    )
    return replace(
        r,
        scores=scores,
        n_instances=10,
        recipe={"float": 1, "limits": (0.5, float("inf")), "deep": {"tuple": [(2,)]}},
    )


def empty() -> Report:
    """No metric at all."""
    return replace(plain(), metrics=(), scores=(), comparisons=(), notes=(), title="")
