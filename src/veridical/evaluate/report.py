"""From what was measured on each instance to a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from itertools import combinations
from typing import Any

import numpy as np

from veridical.attribute.recipe import name_of, recipe_of
from veridical.attribute.targets import as_plain
from veridical.errors import InputError
from veridical.evaluate import METRICS
from veridical.evaluate.compare import compare, fewest, interval
from veridical.evaluate.nulls import CONSTANT, RANDOM, SHUFFLED
from veridical.evaluate.records import Comparison, Metric, Report, Score
from veridical.evaluate.trials import Evaluation, Outcome
from veridical.evaluate.truth import truth_of
from veridical.masks import child_of
from veridical.records import VERSION, Floats, Instances, Output

COMPARE = 40  # the purpose that a seed is for
LONGEST = 40  # letters of a setting that a name can bear


def reported(plan: Evaluation, outcomes: Sequence[Outcome]) -> Report:
    """The report of all instances; if no method explained any, the error that the first one met."""
    if all(outcome.failed is not None for outcome in outcomes):
        assert outcomes[0].failed is not None
        raise outcomes[0].failed
    values = np.stack([outcome.values for outcome in outcomes], axis=-1)  # (metrics, rows, n)
    comparisons = [c for m in range(len(plan.metrics)) for c in _comparisons(plan, m, values[m])]
    return Report(
        title=_title(plan),
        metrics=plan.metrics,
        methods=tuple(plan.methods),
        nulls=plan.nulls,
        scores=tuple(_scores(plan, values, outcomes)),
        comparisons=tuple(comparisons),
        n_instances=len(outcomes),
        n_calls=sum(outcome.n_calls for outcome in outcomes),
        recipe=_recipe(plan),
        notes=_notes(plan, outcomes),
    )


def pairs_of(methods: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs of methods, and each method with the rows that know nothing, of its shuffled ones its own."""
    nulls = [(name, null) for name in methods for null in (RANDOM, CONSTANT, SHUFFLED + name)]
    return [*combinations(methods, 2), *nulls]


def _comparisons(plan: Evaluation, m: int, values: Floats) -> list[Comparison]:
    by_row = dict(zip(plan.rows, values, strict=True))
    seed = child_of(plan.seed, COMPARE, COMPARE)
    return compare(plan.metrics[m].name, by_row, pairs_of(list(plan.methods)), seed)


def _scores(plan: Evaluation, values: Floats, outcomes: Sequence[Outcome]) -> Iterable[Score]:
    for m, metric in enumerate(plan.metrics):
        for r, row in enumerate(plan.rows):
            known = int(np.isfinite(values[m, r]).sum())
            why = Counter(o.reasons[m, r] for o in outcomes if (m, r) in o.reasons)
            reason = reason_of(why, len(outcomes)) if known < len(outcomes) else ""
            mean, *ends = interval(values[m, r])
            low, high = (float(end) for end in np.clip(ends, metric.least, metric.most))
            yield Score(metric.name, row, values[m, r], mean, low, high, known, row in plan.nulls, reason)


def reason_of(why: Counter[str], n: int) -> str:
    """Why there are no numbers, with how often where that is not always."""
    most = why.most_common(2)
    words = [said if count == n else f"{said} ({count} of {n} instances)" for said, count in most]
    more = sum(why.values()) - sum(count for _, count in most)
    return "; ".join([*words, *([f"and other reasons ({more})"] if more else [])])


def _title(plan: Evaluation) -> str:
    n, kind = len(plan.instances), type(plan.represent).__name__
    return f"{len(plan.methods)} method{'s' * (len(plan.methods) > 1)} on {n} instance{'s' * (n > 1)} ({kind})"


def _recipe(plan: Evaluation) -> dict[str, Any]:
    classes = None if plan.model.found else plan.model.classes
    target = {"function": name_of(plan.target)} if callable(plan.target) else as_plain(plan.target)
    return {
        "veridical": VERSION,
        "methods": {name: recipe_of(method) for name, method in plan.methods.items()},
        "metrics": [metric.name for metric in plan.metrics],
        "target": {"output": int(target)} if isinstance(target, Output) else target,
        "classes": None if classes is None else list(classes),
        "rng": {"entropy": plan.seed.entropy, "spawn_key": list(plan.seed.spawn_key)},
    }


def _notes(plan: Evaluation, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    n, needed = len(outcomes), fewest(len(pairs_of(list(plan.methods))))
    notes = []
    if n == 1:
        notes.append("There is one instance: scores have no interval, and nothing can be compared.")
    elif n < needed:
        notes.append(
            f"{n} instances are too few to tell methods apart: at least {needed} are needed for "
            f"{len(pairs_of(list(plan.methods)))} comparisons a metric."
        )
    failed = sum(outcome.failed is not None for outcome in outcomes)
    if failed:
        notes.append(f"{failed} of {n} instances could not be explained by any method.")
    return tuple(notes)


def chosen(metrics: Any, *, truth: bool, randomized: bool) -> tuple[Metric, ...]:
    """Metrics by name or as they are; by default all that can apply."""
    if metrics is None:
        left_out = {"truth": not truth, "randomization": not randomized}
        return tuple(metric for metric in METRICS.values() if not left_out.get(metric.family, False))
    if isinstance(metrics, (str, Metric)) or not isinstance(metrics, Iterable):
        metrics = [metrics]
    found: list[Metric] = []
    for each in metrics:
        if isinstance(each, str) and each in METRICS:
            found.append(METRICS[each])
        elif isinstance(each, Metric):
            found.append(each)
        else:
            raise InputError(
                f"unknown metric {each!r}; there are {', '.join(METRICS)}, or a vd.Metric of your own"
            )
    names = [metric.name for metric in found]
    if not found or len(set(names)) < len(names):
        raise InputError("the list of metrics is empty" if not found else "two metrics have the same name")
    return tuple(found)


def named(methods: Any, what: str = "method", example: str = "vd.Lime()") -> dict[str, Any]:
    """Methods by name, or other settings: those of a list are called by their class, and by what differs."""
    if isinstance(methods, Mapping):
        found = {str(name): method for name, method in methods.items()}
        if len(found) < len(methods):
            raise InputError(f"two {what}s have the same name: {', '.join(str(name) for name in methods)}")
    else:
        several = list(methods) if isinstance(methods, (list, tuple)) else [methods]
        found = dict(zip(_names(several), several, strict=True))
    if not found or any(method is None for method in found.values()):
        wrong = f"None is no {what}" if found else f"the list of {what}s is empty"
        raise InputError(f"{wrong}: give at least one, such as {example}")
    taken = [name for name in found if name in (RANDOM, CONSTANT) or name.startswith(SHUFFLED)]
    if taken:
        raise InputError(f"{taken[0]!r} is the name of a row that knows nothing: give the {what} another")
    return found


def _names(methods: Sequence[Any]) -> list[str]:
    plain = [type(m).__name__ if is_dataclass(m) else name_of(m) for m in methods]
    found = [
        name
        if plain.count(name) == 1
        else _with_settings(name, m, [o for o, p in zip(methods, plain, strict=True) if p == name])
        for name, m in zip(plain, methods, strict=True)
    ]
    seen: Counter[str] = Counter()
    for i, name in enumerate(found):
        seen[name] += 1
        found[i] = name if seen[name] == 1 else f"{name} {seen[name]}"
    return found


def _with_settings(name: str, method: Any, alike: Sequence[Any]) -> str:
    """A name with the settings in which methods of one class differ."""
    if not is_dataclass(method):
        return name
    differing = [f.name for f in fields(method) if len({repr(getattr(o, f.name)) for o in alike}) > 1]
    held = {each: value for each, value in _settings(method).items() if each in differing}
    shown = ", ".join(f"{each}={value if len(value) <= LONGEST else '…'}" for each, value in held.items())
    return f"{name}({shown})" if shown else name


def _settings(method: Any) -> dict[str, str]:
    """Settings that are not the default ones, in words; of settings within settings, too."""
    found = {f.name: getattr(method, f.name) for f in fields(method) if f.default is not getattr(method, f.name)}
    return {name: _words(value) for name, value in found.items()}


def _words(value: Any) -> str:
    if not is_dataclass(value) or isinstance(value, type):
        return repr(value)
    own = ", ".join(f"{name}={words}" for name, words in _settings(value).items())
    return f"{type(value).__name__}({own})"


def checked_truth(truth: Any, instances: Instances) -> Sequence[Any] | None:
    """One item an instance; before anything is measured, that one of them fits.

    An instance that has nothing of the truth, or cannot be explained, is no reason to measure none.
    """
    if truth is None:
        return None
    if isinstance(truth, (str, bytes, Mapping, set, frozenset)) or not hasattr(truth, "__len__"):
        raise InputError(f"truth wants a list with one item an instance, not {type(truth).__name__}")
    if len(truth) != len(instances):
        raise InputError(
            f"truth wants one item an instance: there are {len(instances)} instances and {len(truth)} items"
        )
    items = [truth[i] for i in range(len(truth))] if not hasattr(truth, "iloc") else list(truth)
    wrong: InputError | None = None
    for i, item in enumerate(items):
        try:
            if item is not None:
                batch = instances.inputs(i, i + 1)
                truth_of(item, instances.batch(i, i + 1)[0], batch if hasattr(batch, "iloc") else batch[0])
                return items
        except InputError as cause:
            wrong = wrong or cause
    if wrong is not None:
        raise wrong
    return items
