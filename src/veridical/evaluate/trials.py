"""Explain each instance by each method, and measure every explanation beside those that know nothing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from veridical.attribute import METHODS
from veridical.attribute.ask import VALUE, Model
from veridical.attribute.given import answered
from veridical.attribute.targets import resolve
from veridical.errors import InputError, VeridicalError
from veridical.evaluate import METRICS
from veridical.evaluate.nulls import (
    CONSTANT,
    RANDOM,
    SHUFFLED,
    Null,
    constant_weights,
    heaviness,
    random_weights,
    shuffled_weights,
)
from veridical.evaluate.records import Metric, Trial
from veridical.evaluate.scene import Scene, own_input
from veridical.evaluate.taken import ask_ahead, slopes_of
from veridical.evaluate.truth import truth_of
from veridical.evaluate.weights import unsound
from veridical.masks import child_of, generator
from veridical.records import Explanation, Floats, Instances, Method, Output, Representation, Representer, Seed

FEWEST = 64  # samples beside those that the parts need, below which nothing is halved
SIZES = ("n_samples", "n_draws")  # settings that say how many samples a method draws
REASONS = (VeridicalError, ArithmeticError, np.linalg.LinAlgError)  # what else our own code raises is a bug
OWN, MEASURE = 0, 30  # purposes that seeds are for: the explanations themselves, and what metrics draw


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What is evaluated."""

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
        """Names of the rows that know nothing."""
        return (RANDOM, CONSTANT, *(SHUFFLED + name for name in self.methods))

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of all rows."""
        return (*self.methods, *self.nulls)


@dataclass(frozen=True, eq=False)
class Kept:
    """Explanations of one instance by one method, each made once."""

    method: Method
    model: Model
    target: Any
    made: dict[Any, Explanation] = field(default_factory=dict)
    calls: list[int] = field(default_factory=lambda: [0])
    smaller: list[Kept] = field(default_factory=list)  # the method with fewer samples, once it is wanted

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
        found = answered(self.method(model or self.model, representation, (self.target,), seed))[0]
        self.calls[0] += int(found.n_calls)
        return _checked(found, representation)

    def halved(self, explanation: Explanation) -> Kept | None:
        """The same method with half as many samples as it took, or twice if half were too few, if it has any."""
        method: Any = self.method
        named = [f.name for f in fields(method) if f.name in SIZES] if is_dataclass(method) else []
        now = getattr(method, named[0]) if named else ""
        if isinstance(now, (int, np.integer, type(None))) and not self.smaller:
            n = int(explanation.n_calls - 1 if now is None else now)
            few = n // 2 < (4 * len(explanation.parts) + FEWEST if named[0] == "n_samples" else 2)
            other = 2 * n if few else n // 2  # half might be too few to fit anything
            self.smaller.append(Kept(replace(method, **{named[0]: other}), self.model, self.target))
        return self.smaller[0] if self.smaller else None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was measured on one instance."""

    values: Floats  # (metrics, rows), nan where it was not
    reasons: dict[tuple[int, int], str]  # (metric, row) to why it was not
    n_calls: int
    failed: Exception | None = None  # why no method explained the instance


def trials(plan: Evaluation) -> Iterator[Outcome]:
    """One outcome an instance, in order."""
    for number in range(len(plan.instances)):
        try:
            scene, target = _scene(plan, number)
        except VeridicalError as cause:
            yield _nothing(plan, cause)
            continue
        yield _outcome(plan, scene, target, number)


def _scene(plan: Evaluation, number: int) -> tuple[Scene, Any]:
    """The instance, and the target as methods take it: the same for instances nearby and for other models."""
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


def _outcome(plan: Evaluation, scene: Scene, target: Any, number: int) -> Outcome:
    """All metrics on all rows."""
    kept = {name: Kept(method, plan.model, target) for name, method in plan.methods.items()}
    made, failed = explanations(kept, scene.representation, scene.child(OWN))
    rows = _rows(scene, kept, made, failed)
    truth, no_truth = _truth(plan, scene, number)
    values = np.full((len(plan.metrics), len(rows)), np.nan)
    found = [row if isinstance(row, str) else _trial(plan, scene, row, truth) for row in rows.values()]
    with suppress(VeridicalError):  # what fails now fails again below, for the metric that it is about
        ask_ahead(scene, [each for each in found if isinstance(each, Trial)], plan.metrics, _rng)
    reasons: dict[tuple[int, int], str] = {}
    for m, r in np.ndindex(*values.shape):
        metric, trial = plan.metrics[m], found[r]
        if isinstance(trial, str) or (no_truth and metric.family == "truth"):
            reasons[m, r] = trial if isinstance(trial, str) else no_truth
            continue
        values[m, r], reasons[m, r] = _measured(metric, trial, _rng(scene, metric))
    reasons = {place: reason for place, reason in reasons.items() if reason}
    n_calls = 1 + scene.calls[0] + sum(k.calls[0] for each in kept.values() for k in (each, *each.smaller))
    return Outcome(values, reasons, n_calls, None if made else next(iter(failed.values())))


def _rng(scene: Scene, metric: Metric) -> np.random.Generator:
    """The same for all methods on an instance, and another for each metric, whichever others there are."""
    return generator(scene.seed, MEASURE, crc32(metric.name.encode()))


def explanations(
    kept: Mapping[str, Kept], representation: Representation, seed: Seed
) -> tuple[dict[str, Explanation], dict[str, Exception]]:
    """What each method gives for an instance, or why it does not."""
    made, failed = {}, {}
    for name, explain in kept.items():
        try:
            made[name] = explain(representation, seed)
        except Exception as cause:
            if explain.ours and not isinstance(cause, REASONS):
                raise
            failed[name] = cause
    return made, failed


def _rows(
    scene: Scene, kept: Mapping[str, Kept], made: Mapping[str, Explanation], failed: Mapping[str, Exception]
) -> dict[str, Any]:
    """How each row explains, or why it cannot; random and constant rows are as heavy as the median of methods.

    Those rows are the same in whatever order methods are given, and one method that is very heavy, which fidelity
    would punish in them, does not make it easy for the others to beat them.
    """
    found: dict[str, Any] = {name: kept[name] if name in made else words(failed[name]) for name in kept}
    slopes = {name: scene.own_design() if slopes_of(why.parts).any() else None for name, why in made.items()}
    few = {name: kept[name].halved(why) for name, why in made.items()}
    like = min(made, key=lambda name: (slopes[name] is None, few[name] is None, name), default=None)
    for name, change in ((RANDOM, random_weights), (CONSTANT, constant_weights)):
        found[name] = "no method explained the instance"
        if like is not None:
            heavy = float(np.median([heaviness(why.weights) for why in made.values()]))
            found[name] = Null(kept[like], change, slopes[like], heavy / heaviness(made[like].weights))
    for name in kept:
        own = slopes.get(name)
        found[SHUFFLED + name] = Null(kept[name], shuffled_weights, own) if name in made else found[name]
    return found


def _trial(plan: Evaluation, scene: Scene, explain: Kept | Null, truth: Floats | None) -> Trial:
    explanation = explain(scene.representation, scene.child(OWN))
    return Trial(
        x=scene.x,
        represent=scene.represent,
        representation=scene.representation,
        model=scene.model,
        target=scene.target,
        explanation=explanation,
        explain=explain,
        again=_again(explain, explanation),
        truth=truth,
        randomized=plan.randomized,
        scene=scene,
    )


def _again(explain: Kept | Null, explanation: Explanation) -> Callable[..., Explanation] | None:
    """How a row explains with fewer samples."""
    halved = _kept(explain).halved(explanation)
    return halved if halved is None or isinstance(explain, Kept) else replace(explain, explain=halved)


def _kept(explain: Any) -> Kept:
    """The method that a row rests on."""
    found: Kept = explain if isinstance(explain, Kept) else explain.explain
    return found


def _truth(plan: Evaluation, scene: Scene, number: int) -> tuple[Floats | None, str]:
    item = None if plan.truth is None else plan.truth[number]
    if item is None:
        return None, ""
    try:
        return truth_of(item, scene.representation, scene.x), ""
    except InputError as cause:
        return None, str(cause)


def _measured(metric: Metric, trial: Trial, rng: np.random.Generator) -> tuple[float, str]:
    """A number, or nan and the reason."""
    try:
        value = float(metric.measure(trial, rng))
    except Exception as cause:
        ours = METRICS.get(metric.name) is metric and _kept(trial.explain).ours
        if ours and not isinstance(cause, REASONS):
            raise
        return np.nan, words(cause)
    return (value, "") if np.isfinite(value) else (np.nan, f"the metric gave {value}")


def words(cause: Exception) -> str:
    """What went wrong, on one line."""
    said = str(cause).partition("\n")[0]
    return said if isinstance(cause, VeridicalError) else f"{type(cause).__name__}: {said}"


def _checked(found: Explanation, representation: Representation) -> Explanation:
    """An explanation with a finite weight for each part."""
    d = len(representation.names)
    if found.weights.shape != (d,):
        raise InputError(f"the method gave weights of shape {found.weights.shape} for {d} parts")
    bad = unsound(found)
    if bad:
        raise InputError(f"the method gave {bad} of {d} weights that are NaN or infinite")
    return found


def _nothing(plan: Evaluation, cause: Exception) -> Outcome:
    """The outcome of an instance that cannot be explained at all."""
    shape = (len(plan.metrics), len(plan.rows))
    return Outcome(np.full(shape, np.nan), dict.fromkeys(np.ndindex(*shape), words(cause)), 0, cause)
