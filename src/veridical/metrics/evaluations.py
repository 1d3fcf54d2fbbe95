"""Evaluations: every method and its null baselines explain every instance, and every metric measures them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import chain, combinations
from typing import Any
from zlib import crc32

import numpy as np

from veridical.errors import InputError, VeridicalError
from veridical.methods.registry import METHODS
from veridical.methods.results import describe, name_of
from veridical.metrics import METRICS
from veridical.metrics.faithfulness import find_slopes, query_ahead
from veridical.metrics.ground_truth import read_truth
from veridical.metrics.reports import Metric, Report, Score, Trial
from veridical.metrics.scenes import Scene, own_input
from veridical.metrics.significance import compare_rows, interval, min_instances
from veridical.metrics.weights import count_invalid, spread_blocks
from veridical.models.outputs import VALUE, Model
from veridical.models.targets import as_plain, resolve
from veridical.models.validation import check_explanations
from veridical.protocols import Instances, Method, Representation, Representer, Seed
from veridical.records import IDENTITY, VERSION, Explanation, Floats, Output
from veridical.seeds import child_of, generator

RANDOM, CONSTANT, SHUFFLED = "random", "constant", "shuffled "
NULL_SEED = 20  # that seeds are for


@dataclass(frozen=True, eq=False)
class NullMethod:
    """A null baseline: a method's explanations with other weights."""

    explain: Any  # of the method: (representation, seed, model) to its explanation
    change: Callable[[Floats, np.random.Generator], Floats]
    at: Floats | None = None  # (d,) the instance's own design, where its parts are numbers
    scale: float = 1.0  # how much heavier than the method's the weights are

    def __call__(self, representation: Representation, seed: Seed, model: Any = None) -> Explanation:
        """Explain by the method and replace its weights; other seeds and models replace them differently."""
        own: Explanation = self.explain(representation, seed, model)
        before, intervals = own.on_outputs
        weights = self.change(before, generator(seed, NULL_SEED, int(model is not None))) * self.scale
        known = np.nan_to_num(weights)
        added = known.sum() if self.at is None or len(self.at) != len(weights) else known @ self.at
        intercept = own.local_prediction - float(added)
        plain: dict[str, Any] = {"scale": IDENTITY, "curves": (), "pairs": (), "growth": 0.0, "changes": None}
        return replace(own, weights=weights, intervals=intervals, intercept=intercept, **plain)


def random_weights(weights: Floats, rng: np.random.Generator) -> Floats:
    """Random normal weights with the method's total weight."""
    drawn = np.where(np.isnan(weights), np.nan, rng.standard_normal(len(weights)))
    return np.asarray(drawn * (heaviness(weights) / (np.nan_to_num(np.abs(drawn)).sum() or 1.0)))


def constant_weights(weights: Floats, rng: np.random.Generator) -> Floats:
    """Equal shares of all that the method's weights add up to, for every feature."""
    tested = ~np.isnan(weights)
    total = float(np.nansum(weights))
    still = abs(total) < LEAST_SUM * heaviness(weights)  # then as heavy as the method
    return np.where(tested, (heaviness(weights) if still else total) / max(int(tested.sum()), 1), np.nan)


def shuffled_weights(weights: Floats, rng: np.random.Generator) -> Floats:
    """The method's weights, on other features."""
    found, tested = weights.copy(), ~np.isnan(weights)
    found[tested] = rng.permutation(weights[tested])
    return found


def heaviness(weights: Floats) -> float:
    """The sum of all sizes; 1 for an explanation without weight."""
    return float(np.nan_to_num(np.abs(weights)).sum()) or 1.0


LEAST_SUM = 1e-6  # of weights, relative to their sizes, below which they add up to nothing
MIN_SPARE_SAMPLES = 64  # samples beside those that the parts need, below which nothing is halved
SAMPLE_SETTINGS = ("n_samples", "n_draws")  # settings that say how many samples a method draws
EXPECTED_ERRORS = VeridicalError, ArithmeticError, np.linalg.LinAlgError  # what else our own code raises is a bug
EXPLAIN, MEASURE = 0, 30  # purposes that seeds are for: the explanations themselves, and what metrics draw


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The model, instances, methods and metrics of an evaluation."""

    model: Model
    represent: Representer
    instances: Instances
    methods: Mapping[str, Method]
    metrics: tuple[Metric, ...]
    target: Any
    seed: Seed
    truth: Sequence[Any] | None = None
    randomized: Model | None = None

    @property
    def nulls(self) -> tuple[str, ...]:
        """Names of the null baselines."""
        return (RANDOM, CONSTANT, *(SHUFFLED + name for name in self.methods))

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of all rows."""
        return (*self.methods, *self.nulls)


@dataclass(frozen=True, eq=False)
class CachedMethod:
    """A method that explains each instance once and keeps the explanation."""

    method: Method
    model: Model
    target: Any
    made: dict[Any, Explanation] = field(default_factory=dict)
    calls: list[int] = field(default_factory=lambda: [0])
    smaller: list[CachedMethod] = field(default_factory=list)  # the method with fewer samples, once it is wanted

    @property
    def ours(self) -> bool:
        """Whether the method is veridical's own."""
        return type(self.method) in METHODS.values()

    def __call__(self, representation: Representation, seed: Seed, model: Model | None = None) -> Explanation:
        if not isinstance(representation, Hashable):  # of the caller's own: it cannot be told from others
            return self._explained(representation, seed, model)
        key = (representation, model is None, seed.entropy, tuple(seed.spawn_key))
        if key not in self.made:
            self.made[key] = self._explained(representation, seed, model)
        return self.made[key]

    def _explained(self, representation: Representation, seed: Seed, model: Model | None) -> Explanation:
        found = check_explanations(self.method(model or self.model, representation, (self.target,), seed))[0]
        self.calls[0] += int(found.n_calls)
        return _check_weights(spread_blocks(found, representation.parts), representation)

    def halved(self, explanation: Explanation) -> CachedMethod | None:
        """The same method with half as many samples, or twice as many if half are too few; None if it has none."""
        method: Any = self.method
        named = [f.name for f in fields(method) if f.name in SAMPLE_SETTINGS] if is_dataclass(method) else []
        now = getattr(method, named[0]) if named else ""
        if isinstance(now, (int, np.integer, type(None))) and not self.smaller:
            n = int(explanation.n_calls - 1 if now is None else now)
            few = n // 2 < (4 * len(explanation.parts) + MIN_SPARE_SAMPLES if named[0] == "n_samples" else 2)
            other = 2 * n if few else n // 2  # half might be too few to fit anything
            self.smaller.append(CachedMethod(replace(method, **{named[0]: other}), self.model, self.target))
        return self.smaller[0] if self.smaller else None


@dataclass(frozen=True, eq=False)
class InstanceOutcome:
    """What was measured on one instance."""

    values: Floats  # (metrics, rows), nan where it was not
    reasons: dict[tuple[int, int], str]  # (metric, row) to why it was not
    n_calls: int
    failed: Exception | None = None  # why no method explained the instance


def evaluate_instances(plan: Evaluation) -> Iterator[InstanceOutcome]:
    """One outcome per instance, in order."""
    for number in range(len(plan.instances)):
        try:
            scene, target = _build_scene(plan, number)
        except VeridicalError as cause:
            shape = (len(plan.metrics), len(plan.rows))
            reasons = dict.fromkeys(np.ndindex(*shape), describe_cause(cause))
            yield InstanceOutcome(np.full(shape, np.nan), reasons, 0, cause)
            continue
        yield _measure_instance(plan, scene, target, number)


def _build_scene(plan: Evaluation, number: int) -> tuple[Scene, Any]:
    """The instance, and the target as methods take it: the same for nearby instances and other models."""
    representation = plan.instances.batch(number, number + 1)[0]
    seed = child_of(plan.seed, number)
    outputs = plan.model(own_input(representation, seed))[:1]
    target = plan.target
    if target is None:
        target = VALUE if outputs.shape[1] == 1 else Output(np.argmax(outputs[0]))
    batch = plan.instances.inputs(number, number + 1)
    is_table = hasattr(batch, "iloc") or hasattr(batch, "tocsr") or hasattr(representation, "row")
    resolved = resolve(target, plan.model, outputs)
    x = batch if is_table else batch[0]
    return Scene(x, plan.represent, representation, plan.model, resolved, seed), target


def _measure_instance(plan: Evaluation, scene: Scene, target: Any, number: int) -> InstanceOutcome:
    """All metrics of all rows on one instance."""
    kept = {name: CachedMethod(method, plan.model, target) for name, method in plan.methods.items()}
    made, failed = explain_by_each(kept, scene.representation, scene.child(EXPLAIN))
    rows = _build_rows(scene, kept, made, failed)
    truth, no_truth = _read_truth(plan, scene, number)
    values = np.full((len(plan.metrics), len(rows)), np.nan)
    found = [row if isinstance(row, str) else _build_trial(plan, scene, row, truth) for row in rows.values()]
    with suppress(VeridicalError):  # what fails now fails again below, for the metric that it is about
        query_ahead(scene, [each for each in found if isinstance(each, Trial)], plan.metrics, _metric_rng)
    reasons: dict[tuple[int, int], str] = {}
    for m, r in np.ndindex(*values.shape):
        metric, trial = plan.metrics[m], found[r]
        if isinstance(trial, str) or (no_truth and metric.family == "truth"):
            reasons[m, r] = trial if isinstance(trial, str) else no_truth
            continue
        values[m, r], reasons[m, r] = _measure(metric, trial, _metric_rng(scene, metric))
    reasons = {place: reason for place, reason in reasons.items() if reason}
    n_calls = 1 + scene.calls[0] + sum(k.calls[0] for each in kept.values() for k in (each, *each.smaller))
    return InstanceOutcome(values, reasons, n_calls, None if made else next(iter(failed.values())))


def _metric_rng(scene: Scene, metric: Metric) -> np.random.Generator:
    """The same for all methods on an instance, and another for each metric."""
    return generator(scene.seed, MEASURE, crc32(metric.name.encode()))


def explain_by_each(
    kept: Mapping[str, CachedMethod], representation: Representation, seed: Seed
) -> tuple[dict[str, Explanation], dict[str, Exception]]:
    """The explanation by each method, or the error that it raised."""
    made, failed = {}, {}
    for name, explain in kept.items():
        try:
            made[name] = explain(representation, seed)
        except Exception as cause:
            if explain.ours and not isinstance(cause, EXPECTED_ERRORS):
                raise
            failed[name] = cause
    return made, failed


def _build_rows(
    scene: Scene,
    kept: Mapping[str, CachedMethod],
    made: Mapping[str, Explanation],
    failed: Mapping[str, Exception],
) -> dict[str, Any]:
    """What explains in each row, or why it cannot; the random baseline is as heavy as the methods' median.

    Baselines do not depend on the order of the methods. One very heavy method, which fidelity would punish, does
    not make it easier for the others to beat them.
    """
    found: dict[str, Any] = {name: kept[name] if name in made else describe_cause(failed[name]) for name in kept}
    slopes = {name: scene.own_design() if find_slopes(why.parts).any() else None for name, why in made.items()}
    few = {name: kept[name].halved(why) for name, why in made.items()}
    like = min(made, key=lambda name: (slopes[name] is None, few[name] is None, name), default=None)
    for name, change in ((RANDOM, random_weights), (CONSTANT, constant_weights)):
        found[name] = "no method explained the instance"
        if like is not None:
            heavy = [heaviness(why.on_outputs[0]) for why in made.values()]
            scale = float(np.median(heavy)) / heaviness(made[like].on_outputs[0]) if name == RANDOM else 1.0
            found[name] = NullMethod(kept[like], change, slopes[like], scale)
    for name in kept:
        own = slopes.get(name)
        found[SHUFFLED + name] = NullMethod(kept[name], shuffled_weights, own) if name in made else found[name]
    return found


def _build_trial(
    plan: Evaluation, scene: Scene, explain: CachedMethod | NullMethod, truth: Floats | None
) -> Trial:
    explanation = explain(scene.representation, scene.child(EXPLAIN))
    resized: Any = _base_method(explain).halved(explanation)  # how this row explains with fewer samples
    if resized is not None and isinstance(explain, NullMethod):
        resized = replace(explain, explain=resized)
    return Trial(
        x=scene.x,
        represent=scene.represent,
        representation=scene.representation,
        model=scene.model,
        target=scene.target,
        explanation=explanation,
        explain=explain,
        again=resized,
        truth=truth,
        randomized=plan.randomized,
        scene=scene,
    )


def _base_method(explain: Any) -> Any:
    """The method that a row rests on."""
    return explain.explain if isinstance(explain, NullMethod) else explain


def _read_truth(plan: Evaluation, scene: Scene, number: int) -> tuple[Floats | None, str]:
    item = None if plan.truth is None else plan.truth[number]
    if item is None:
        return None, ""
    try:
        return read_truth(item, scene.representation, scene.x), ""
    except InputError as cause:
        return None, str(cause)


def _measure(metric: Metric, trial: Trial, rng: np.random.Generator) -> tuple[float, str]:
    """A number, or nan and the reason."""
    try:
        value = float(metric.measure(trial, rng))
    except Exception as cause:
        ours = METRICS.get(metric.name) is metric and _base_method(trial.explain).ours
        if ours and not isinstance(cause, EXPECTED_ERRORS):
            raise
        return np.nan, describe_cause(cause)
    return (value, "") if np.isfinite(value) else (np.nan, f"the metric gave {value}")


def describe_cause(cause: Exception) -> str:
    """An error on one line."""
    said = str(cause).partition("\n")[0]
    return said if isinstance(cause, VeridicalError) else f"{type(cause).__name__}: {said}"


def _check_weights(found: Explanation, representation: Representation) -> Explanation:
    """Refuse an explanation without one finite weight per feature."""
    d = len(representation.names)
    if found.weights.shape != (d,):
        raise InputError(f"the method gave weights of shape {found.weights.shape} for {d} features")
    bad = count_invalid(found)
    if bad:
        raise InputError(f"the method gave {bad} of {d} weights that are NaN or infinite")
    return found


COMPARISON_SEED = 40  # the purpose that a seed is for
MAX_SETTING_LENGTH = 40  # letters of a setting that a name can bear


def build_report(plan: Evaluation, outcomes: Sequence[InstanceOutcome]) -> Report:
    """Build the report of all instances; if no method explained any, raise the first error."""
    if all(outcome.failed is not None for outcome in outcomes):
        assert outcomes[0].failed is not None
        raise outcomes[0].failed
    values = np.stack([outcome.values for outcome in outcomes], axis=-1)  # (metrics, rows, n)
    pairs, seed = list_pairs(plan.methods), child_of(plan.seed, COMPARISON_SEED, COMPARISON_SEED)
    comparisons = [
        compare_rows(metric.name, dict(zip(plan.rows, each, strict=True)), pairs, seed)
        for metric, each in zip(plan.metrics, values, strict=True)
    ]
    return Report(
        title=_write_title(plan),
        metrics=plan.metrics,
        methods=tuple(plan.methods),
        nulls=plan.nulls,
        scores=tuple(_build_scores(plan, values, outcomes)),
        comparisons=tuple(chain.from_iterable(comparisons)),
        n_instances=len(outcomes),
        n_calls=sum(outcome.n_calls for outcome in outcomes),
        recipe=_evaluation_recipe(plan),
        notes=_write_notes(plan, outcomes),
    )


def list_pairs(methods: Iterable[str]) -> list[tuple[str, str]]:
    """All pairs of methods, and each method with its null baselines."""
    nulls = [(name, null) for name in methods for null in (RANDOM, CONSTANT, SHUFFLED + name)]
    return [*combinations(methods, 2), *nulls]


def _build_scores(plan: Evaluation, values: Floats, outcomes: Sequence[InstanceOutcome]) -> Iterable[Score]:
    for m, metric in enumerate(plan.metrics):
        for r, row in enumerate(plan.rows):
            known = int(np.isfinite(values[m, r]).sum())
            why = Counter(o.reasons[m, r] for o in outcomes if (m, r) in o.reasons)
            reason = join_reasons(why, len(outcomes)) if known < len(outcomes) else ""
            mean, *ends = interval(values[m, r])
            low, high = (float(end) for end in np.clip(ends, metric.least, metric.most))
            yield Score(metric.name, row, values[m, r], mean, low, high, known, row in plan.nulls, reason)


def join_reasons(why: Counter[str], n: int) -> str:
    """Why there are no numbers, and how often."""
    most = why.most_common(2)
    words = [said if count == n else f"{said} ({count} of {n} instances)" for said, count in most]
    more = sum(why.values()) - sum(count for _, count in most)
    return "; ".join([*words, *([f"and other reasons ({more})"] if more else [])])


def _write_title(plan: Evaluation) -> str:
    n, kind = len(plan.instances), type(plan.represent).__name__
    return f"{len(plan.methods)} method{'s' * (len(plan.methods) > 1)} on {n} instance{'s' * (n > 1)} ({kind})"


def _evaluation_recipe(plan: Evaluation) -> dict[str, Any]:
    classes = None if plan.model.found else plan.model.classes
    target = {"function": name_of(plan.target)} if callable(plan.target) else as_plain(plan.target)
    return {
        "veridical": VERSION,
        "methods": {name: describe(method) for name, method in plan.methods.items()},
        "metrics": [metric.name for metric in plan.metrics],
        "target": {"output": int(target)} if isinstance(target, Output) else target,
        "classes": None if classes is None else list(classes),
        "rng": {"entropy": plan.seed.entropy, "spawn_key": list(plan.seed.spawn_key)},
    }


def _write_notes(plan: Evaluation, outcomes: Sequence[InstanceOutcome]) -> tuple[str, ...]:
    n, n_pairs, notes = len(outcomes), len(list_pairs(plan.methods)), list[str]()
    needed = min_instances(n_pairs)
    if n == 1:
        notes.append("There is one instance: scores have no interval, and nothing can be compared.")
    elif n < needed:
        notes.append(
            f"{n} instances are too few to separate methods: at least {needed} are needed for {n_pairs} comparisons "
            "per metric."
        )
    failed = sum(outcome.failed is not None for outcome in outcomes)
    if failed:
        notes.append(f"{failed} of {n} instances could not be explained by any method.")
    return tuple(notes)


def choose_metrics(metrics: Any, *, truth: bool, randomized: bool) -> tuple[Metric, ...]:
    """Metrics by name; by default all that can apply."""
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
                f"unknown metric {each!r}; there are {', '.join(METRICS)}, or a vd.metrics.Metric of your own"
            )
    names = [metric.name for metric in found]
    if not found or len(set(names)) < len(names):
        raise InputError("the list of metrics is empty" if not found else "two metrics have the same name")
    return tuple(found)


def name_methods(methods: Any, what: str = "method", example: str = "vd.Lime()") -> dict[str, Any]:
    """Methods by name; those in a list are named by their class and the settings that differ."""
    if isinstance(methods, Mapping):
        found = {str(name): method for name, method in methods.items()}
        if len(found) < len(methods):
            raise InputError(f"two {what}s have the same name: {', '.join(str(name) for name in methods)}")
    else:
        several = list(methods) if isinstance(methods, (list, tuple)) else [methods]
        found = dict(zip(_unique_names(several), several, strict=True))
    if not found or any(method is None for method in found.values()):
        wrong = f"None is no {what}" if found else f"the list of {what}s is empty"
        raise InputError(f"{wrong}: give at least one, such as {example}")
    taken = [name for name in found if name in (RANDOM, CONSTANT) or name.startswith(SHUFFLED)]
    if taken:
        raise InputError(f"{taken[0]!r} is the name of a null baseline: give the {what} another")
    return found


def _unique_names(methods: Sequence[Any]) -> list[str]:
    plain = [type(m).__name__ if is_dataclass(m) else name_of(m) for m in methods]
    found = [
        name
        if plain.count(name) == 1
        else _add_settings(name, m, [o for o, p in zip(methods, plain, strict=True) if p == name])
        for name, m in zip(plain, methods, strict=True)
    ]
    nth = [found[: i + 1].count(name) for i, name in enumerate(found)]
    return [name if n == 1 else f"{name} {n}" for name, n in zip(found, nth, strict=True)]


def _add_settings(name: str, method: Any, alike: Sequence[Any]) -> str:
    """A name with the settings in which methods of one class differ."""
    if not is_dataclass(method):
        return name
    differing = [f.name for f in fields(method) if len({repr(getattr(o, f.name)) for o in alike}) > 1]
    held = {each: value for each, value in _changed_settings(method).items() if each in differing}
    shown = ", ".join(
        f"{each}={value if len(value) <= MAX_SETTING_LENGTH else '…'}" for each, value in held.items()
    )
    return f"{name}({shown})" if shown else name


def _changed_settings(method: Any) -> dict[str, str]:
    """Settings that differ from the defaults, in words."""
    found = {f.name: getattr(method, f.name) for f in fields(method) if f.default is not getattr(method, f.name)}
    return {name: _write_setting(value) for name, value in found.items()}


def _write_setting(value: Any) -> str:
    if not is_dataclass(value) or isinstance(value, type):
        return repr(value)
    own = ", ".join(f"{name}={words}" for name, words in _changed_settings(value).items())
    return f"{type(value).__name__}({own})"


def check_truth(truth: Any, instances: Instances) -> Sequence[Any] | None:
    """Check the truth: one item per instance, at least one of which fits.

    An instance without truth, or that cannot be explained, does not stop the others from being measured.
    """
    if truth is None:
        return None
    if isinstance(truth, (str, bytes, Mapping, set, frozenset)) or not hasattr(truth, "__len__"):
        raise InputError(f"truth needs a list with one item per instance, not {type(truth).__name__}")
    if len(truth) != len(instances):
        raise InputError(
            f"truth needs one item per instance: there are {len(instances)} instances and {len(truth)} items"
        )
    items = [truth[i] for i in range(len(truth))] if not hasattr(truth, "iloc") else list(truth)
    wrong: InputError | None = None
    for i, item in enumerate(items):
        try:
            if item is not None:
                batch = instances.inputs(i, i + 1)
                read_truth(item, instances.batch(i, i + 1)[0], batch if hasattr(batch, "iloc") else batch[0])
                return items
        except InputError as cause:
            wrong = wrong or cause
    if wrong is not None:
        raise wrong
    return items
