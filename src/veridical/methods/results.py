"""What is asked, and the record of what was found: the same for every method; settings as plain data and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from numbers import Number
from typing import Any

import numpy as np

from veridical.errors import InputError, safe_str
from veridical.evidence.verdicts import (
    Evidence,
    Side,
    TopK,
    VerdictContext,
    judge,
    most_untested,
    no_evidence,
    top_probability,
    weigh,
)
from veridical.models.outputs import Model
from veridical.models.targets import Target, resolve, sides_of
from veridical.protocols import (
    Refillable,
    Representation,
    Seed,
    Tabled,
    Valued,
    Viewable,
    purpose_of,
    replacement_of,
)
from veridical.records import (
    IDENTITY,
    PER_UNIT,
    VERSION,
    Bools,
    Explanation,
    Fit,
    Floats,
    Part,
    Replacement,
    Shape,
    Verdict,
    shown_class,
)

EPSILON = float(np.finfo(float).eps)
ROUNDING = 32  # units in the last place that outputs may differ by and still be the same
MOST_LABELS = 20  # of whole numbers that are taken for labels
MOST_CLASSES = 20  # whose answers are kept
STILL = 0.01  # of the prediction: what all weights together are at most, where the parts hardly move it


@dataclass(frozen=True, eq=False)
class Outputs:
    """The output that is explained, of the instance (row 0) and whatever else was asked about."""

    target: Target
    y: Floats  # (n,) in units of ``unit``
    unit: float
    prediction: float  # the model's own, to the last bit
    row: Floats  # (k,) all outputs of the instance
    labels: bool = False  # the outputs are two whole numbers, or a few, as labels of classes are


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method found, in units of the outputs, and what may be believed of it."""

    fit: Fit
    evidence: Evidence
    top_k: int
    n_calls: int
    effective_size: float
    notes: tuple[str, ...] = ()
    map: Any = None  # one number for every value of the instance, of methods that have them
    rule: TopK = field(default_factory=TopK)  # by which the evidence is weighed
    verdict: Verdict | None = None  # the method's own, whatever the evidence
    replacement: Replacement | None = None  # what stood in for parts, if not what the representation says


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked: of which model, about which instance, for which targets."""

    model: Model
    representation: Representation
    targets: Sequence[Any]
    seed: Seed
    shared: bool = False  # its samples are those of other instances, too
    removes: bool = False  # weights are of parts as they are here, numbers too, and not of one unit of a number
    purpose: str | None = None  # what is asked of the parts, if it is not what the method says
    row: Any = None  # the name of the instance
    notes: tuple[str, ...] = ()  # what was found before it was asked

    def read(self, outputs: Floats) -> Iterator[Outputs]:
        """The output that each target wants, of outputs (n, k) of which row 0 is the instance."""
        for wanted in self.targets:
            target = resolve(wanted, self.model, outputs)
            y = target.read(outputs)
            largest = max(-float(y.min()), float(y.max()))
            unit = 1.0 if is_usual(largest) else largest
            labels = are_labels(y[1:], float(y[0]), self.model)
            yield Outputs(target, y if unit == 1 else y / unit, unit, float(y[0]), outputs[0], labels)

    def record(
        self, method: Any, seen: Outputs, answer: Answer, recipe: Mapping[str, Any] | None = None
    ) -> Explanation:
        """The record of an answer; a recipe that many rows have is made once."""
        own, replacement = self.representation, answer.replacement
        if replacement is None:
            replacement = replacement_of(own)
        untested, parts = replacement.unchanged, own.parts
        if untested.any():
            answer = without(answer, untested)
        fit, evidence = answer.fit, answer.evidence
        if self.removes:
            parts = tuple(as_it_is(part) for part in parts)
        shape = Shape(IDENTITY, (), ()) if fit.shape is None else fit.shape
        if seen.unit != 1:
            shape = scaled_shape(shape, seen.unit)
        recipe = self.recipe(method, seen.target) if recipe is None else recipe
        verdict, intervals = answer.verdict, evidence.intervals
        low, high = float(seen.y.min()) * seen.unit, float(seen.y.max()) * seen.unit
        purpose = purpose_of(method) if self.purpose is None else self.purpose
        if verdict is None:
            verdict = judge(fit, evidence, self._case(seen, answer, parts, purpose, recipe["method"]))
        return Explanation(
            parts=parts,
            weights=np.where(untested, np.nan, fit.weights) * seen.unit,
            intervals=np.where(untested[:, None], np.nan, intervals) * seen.unit,
            intercept=fit.intercept * seen.unit,
            prediction=seen.prediction,
            local_prediction=fit.local_prediction * seen.unit,
            fidelity=fit.fidelity,
            effective_size=answer.effective_size,
            n_calls=answer.n_calls,
            target=seen.target.label,
            top_k=answer.top_k,
            top_probability=evidence.top_probability,
            unsettled=tuple(tuple(parts[j].name for j in group) for group in evidence.unsettled),
            verdict=verdict,
            recipe=recipe,
            notes=(*own.notes, *replacement.notes, *self.notes, *answer.notes, *self._notes(seen, answer)),
            path=fit.path,
            view=own.view if isinstance(own, Viewable) else None,
            map=answer.map,
            purpose=purpose,
            row=self.row,
            values=own.own_values if isinstance(own, Valued) else (),
            scale=shape.scale,
            curves=shape.curves,
            pairs=shape.pairs,
            chosen=tuple(np.flatnonzero(fit.chosen).tolist()) if not fit.chosen[fit.measured].all() else (),
            growth=shape.growth,
            changes=None if shape.changes is None else np.where(untested[:, None], np.nan, shape.changes),
            probabilities=self._probabilities(seen),
            positions=own.positions if isinstance(own, Tabled) else (),
            doubtful=tuple(
                np.flatnonzero(((intervals[:, 0] > 0) | (intervals[:, 1] < 0)) & ~evidence.clear).tolist()
            ),
            output_range=(min(low, seen.prediction), max(high, seen.prediction)),
        )

    def _probabilities(self, seen: Outputs) -> tuple[tuple[Any, float], ...]:
        """The answers for the likeliest classes, in the order of the outputs."""
        classes, row = self.model.names_of(len(seen.row)), seen.row
        if classes is None or len(row) < 2 or row.min() < 0 or row.max() > 1:
            return ()
        likely = np.sort(np.argsort(-row, kind="stable")[:MOST_CLASSES])
        return tuple((classes[j], float(row[j])) for j in likely.tolist())

    def _case(
        self, seen: Outputs, answer: Answer, parts: tuple[Part, ...], purpose: str, settings: Mapping[str, Any]
    ) -> VerdictContext:
        """What the verdict is about."""
        fit, own, surrogate = answer.fit, self.representation, settings.get("surrogate") or {}
        local, (low, high) = fit.local_prediction * seen.unit, (float(seen.y.min()), float(seen.y.max()))
        here = seen.prediction / seen.unit
        several = len(seen.row) > 1 or self.model.scores
        sides = sides_of(seen.target, self.model, seen.row, local) if several else None
        if sides is None and seen.labels:
            sides = nearest_labels(seen, local)
        named = isinstance(seen.target.key, Mapping) and "output" in seen.target.key
        return VerdictContext(
            parts,
            safe_str(shown_class(seen.target.label, self.model.classes)) if named else "",
            seen.prediction,
            local,
            (max(high, here) - min(low, here)) * seen.unit,
            sides,
            answer.n_calls,
            purpose,
            "table" if isinstance(own, Tabled) else "filled" if isinstance(own, Refillable) else "",
            str(settings.get("name", "")),
            str(surrogate.get("name", "")),
        )

    def _notes(self, seen: Outputs, answer: Answer) -> tuple[str, ...]:
        """Notes where the weights, however sure, are of next to nothing, and where the model gives classes."""
        notes, model = list(self.model.notes), self.model
        moved, fit = float(np.abs(answer.fit.weights).sum()) * seen.unit, answer.fit
        if not np.isnan(fit.fidelity) and not fit.path and 0 < moved < STILL * abs(seen.prediction):
            notes.insert(
                0,
                f"All parts together move the output by at most {moved:.2g} of {seen.prediction:.4g}: the model "
                "hardly uses them, or what they are replaced with keeps what it uses.",
            )
        if seen.labels or model.labels:
            few = "only a few whole numbers" if model.coarse else "only two whole numbers"
            what = "classes" if model.labels else f"{few}, as labels are"
            notes.append(f"The model answers with {what}: its predict_proba, if it has one, would tell more.")
        return tuple(notes)

    def recipe(self, method: Any, target: Target) -> dict[str, Any]:
        """All that is needed to ask again, as plain data."""
        classes = None if self.model.found else self.model.classes
        return {
            "veridical": VERSION,
            "method": describe(method),
            "target": target.key,
            "classes": None if classes is None else list(classes),
            "rng": {"entropy": self.seed.entropy, "spawn_key": list(self.seed.spawn_key)},
            "shared": self.shared,
        }


def without(answer: Answer, untested: Bools) -> Answer:
    """An answer in which parts that were not tested have no say; what was fitted to them is in the intercept."""
    fit, tested = answer.fit, ~untested
    fit = replace(
        fit,
        weights=np.where(tested, fit.weights, 0.0),
        intercept=fit.intercept + float(fit.weights[untested].sum()),
        measured=fit.measured & tested,
        chosen=fit.chosen & tested,
        tested=tested,
    )
    evidence = weigh(fit, answer.rule, top_probability(fit, answer.rule))
    if answer.verdict is None or most_untested(fit):
        return replace(answer, fit=fit, evidence=evidence, verdict=None)
    return replace(answer, fit=fit, evidence=replace(evidence, top_probability=answer.evidence.top_probability))


def scaled_shape(shape: Shape, unit: float) -> Shape:
    """Curves and pairs in another unit."""
    curves = tuple(replace(c, effects=c.effects * unit, intervals=c.intervals * unit) for c in shape.curves)
    pairs = tuple(
        replace(
            p,
            weight=p.weight * unit,
            interval=(p.interval[0] * unit, p.interval[1] * unit),
            effects=p.effects * unit,
        )
        for p in shape.pairs
    )
    return replace(
        shape, curves=curves, pairs=pairs, changes=None if shape.changes is None else shape.changes * unit
    )


def as_it_is(part: Part) -> Part:
    """A number with the value that it has, which is what is taken away."""
    return replace(part, name=f"{part.name} = {part.value:g}", relation="=") if part.relation == PER_UNIT else part


def judged(fit: Fit, asked: Outputs, n_calls: int, notes: tuple[str, ...] = ()) -> Answer:
    """The answer of a method that has no rule of its own for when to stop."""
    rule, y = TopK(), asked.y
    probability = top_probability(fit, rule)
    evidence, verdict = weigh(fit, rule, probability), None
    if is_flat(y):
        verdict = no_evidence(asked.prediction, asked.prediction, n_calls)
    return Answer(fit, evidence, rule.k, n_calls, float(n_calls - 1), notes, verdict=verdict)


def nearest_labels(seen: Outputs, local: float) -> tuple[Side, Side]:
    """Of outputs that are labels, the one that a local model is nearest to, and the model's own."""
    known = np.unique(np.append(seen.y * seen.unit, seen.prediction))
    near = float(known[np.abs(known - local).argmin()])
    return (f"{near:g}", local), (f"{seen.prediction:g}", seen.prediction)


def flat_fit(d: int, value: float, exact: bool) -> Fit:
    """The fit to samples on which the model does not move: nothing is known of any part, unless they are all."""
    none = np.zeros(d, bool)
    return Fit(
        np.zeros(d), value, np.diag(np.full(d, 0.0 if exact else np.inf)), value, float("nan"), ~none, none, 1.0
    )


def is_usual(largest: Any) -> Any:
    """Whether outputs of this size, or of each of these sizes, have squares that are numbers."""
    return (largest == 0) | ((largest > 1e-100) & (largest < 1e100))


def are_labels(y: Floats, own: float, model: Model) -> bool:
    """Whether outputs (n,) and the instance's own are two whole numbers, or a few that cannot be but labels."""
    low, high = float(y.min(initial=own)), float(y.max(initial=own))
    if low == high or not (low.is_integer() and high.is_integer()):
        return False
    every = np.append(own, y)
    if bool(((every == low) | (every == high)).all()):
        return True
    return model.coarse and bool((every == np.rint(every)).all()) and len(np.unique(every)) <= MOST_LABELS


def is_flat(y: Floats) -> bool:
    """The outputs are the same but for rounding, in the precision they seem to have."""
    low, high = float(y.min()), float(y.max())
    if high - low > ROUNDING * float(np.finfo(np.float32).eps) * max(-low, high):
        return False
    single = bool((y == y.astype(np.float32)).all() and (y != np.rint(y)).any())
    return high - low <= ROUNDING * (float(np.finfo(np.float32).eps) if single else EPSILON) * max(-low, high)


def name_of(function: Any) -> str:
    """What to call a function of the caller's."""
    return str(getattr(function, "__name__", repr(function)))


def describe(setting: Any) -> Any:
    """A setting as JSON: its name and what it holds."""
    if setting is None or isinstance(setting, (int, float, str, Number)):
        return setting
    if is_dataclass(setting) and not isinstance(setting, type):
        held = {f.name: describe(getattr(setting, f.name)) for f in fields(setting)}
        return {"name": type(setting).__name__, **held}
    if callable(setting):
        return {"function": name_of(setting)}
    if isinstance(setting, tuple):
        return [describe(each) for each in setting]
    size = getattr(setting, "shape", None) or (len(setting) if hasattr(setting, "__len__") else 1)
    return {"object": type(setting).__name__, "size": list(size) if isinstance(size, tuple) else size}


def restore(data: Any, known: Mapping[str, Any]) -> Any:
    """The setting that ``describe`` described; a function of the caller's own cannot be restored."""
    if isinstance(data, (list, tuple)):
        return tuple(restore(each, known) for each in data)
    if not isinstance(data, Mapping):
        return data
    if "object" in data:
        raise InputError(
            f"the method has data of its own ({data['object']}, size {data['size']}), which a recipe cannot hold: "
            "build the method by hand and pass it to explain"
        )
    name = data.get("function", data.get("name"))
    if name not in known:
        raise InputError(
            f"the recipe names {name!r}, which is not one of veridical's own settings: "
            "build the method by hand and pass it to explain"
        )
    if "function" in data:
        return known[name]
    return known[name](**{k: restore(v, known) for k, v in data.items() if k != "name"})
