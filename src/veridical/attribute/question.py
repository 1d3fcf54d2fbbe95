"""What is asked, and the record of what was found: the same for every method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veridical.attribute.additive import Sums
from veridical.attribute.ask import Model
from veridical.attribute.evidence import Evidence, TopK, most_untested, no_evidence, top_probability, weigh
from veridical.attribute.recipe import recipe_of
from veridical.attribute.targets import Target, resolve
from veridical.records import (
    PER_UNIT,
    VERSION,
    Bools,
    Explanation,
    Fit,
    Floats,
    Part,
    Replacement,
    Representation,
    Seed,
    Verdict,
    replacement_of,
)
from veridical.represent.masked import with_data

EPSILON = float(np.finfo(float).eps)
ROUNDING = 32  # units in the last place that outputs may differ by and still be the same
MOST_LABELS = 20  # of whole numbers that are taken for labels
STILL = 0.01  # of the prediction: what all weights together are at most, where the parts hardly move it


@dataclass(frozen=True, eq=False)
class Outputs:
    """The output that is explained, of the instance (row 0) and whatever else was asked about."""

    target: Target
    y: Floats  # (n,) in units of ``unit``
    unit: float
    prediction: float  # the model's own, to the last bit
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
    known: Sums | None = None  # what is known of samples that other instances could share
    removes: bool = False  # weights are of parts as they are here, numbers too, and not of one unit of a number
    purpose: str | None = None  # what is asked of the parts, if it is not what the method says
    row: Any = None  # the name of the instance

    def conclude(
        self, method: Any, outputs: Floats, answer: Callable[[Outputs], Answer | None]
    ) -> tuple[Explanation, ...]:
        """One explanation a target of outputs (n, k); none at all if there is no answer yet to one of them."""
        found = []
        for wanted in self.targets:
            target = resolve(wanted, self.model, outputs)
            y = target.read(outputs)
            unit = unit_of(y)
            asked = Outputs(target, y if unit == 1 else y / unit, unit, float(y[0]), are_labels(y, self.model))
            made = answer(asked)
            if made is None:
                return ()
            found.append(self.explanation(method, asked, made, self.recipe(method, target)))
        return tuple(found)

    def explanation(self, method: Any, asked: Outputs, answer: Answer, recipe: Mapping[str, Any]) -> Explanation:
        """The record of an answer."""
        replacement = self.replacement(answer)
        untested, parts = replacement.unchanged, self.representation.parts
        if untested.any():
            answer = without(answer, untested)
        fit, evidence = answer.fit, answer.evidence
        if self.removes:
            parts = tuple(as_it_is(part) for part in parts)
        return Explanation(
            parts=parts,
            weights=as_unknown(fit.weights, untested) * asked.unit,
            intervals=as_unknown(evidence.intervals, untested) * asked.unit,
            intercept=fit.intercept * asked.unit,
            prediction=asked.prediction,
            local_prediction=fit.local_prediction * asked.unit,
            fidelity=fit.fidelity,
            effective_size=answer.effective_size,
            n_calls=answer.n_calls,
            target=asked.target.label,
            top_k=answer.top_k,
            top_probability=evidence.top_probability,
            unsettled=tuple(tuple(parts[j].name for j in group) for group in evidence.unsettled),
            verdict=evidence.verdict if answer.verdict is None else answer.verdict,
            recipe=recipe,
            notes=(
                *self.representation.notes,
                *replacement.notes,
                *answer.notes,
                *_still(asked, answer),
                *self._labels(asked),
            ),
            path=fit.path,
            view=with_data(getattr(self.representation, "view", None)),
            map=answer.map,
            purpose=getattr(method, "purpose", "content") if self.purpose is None else self.purpose,
            row=self.row,
            values=getattr(self.representation, "own_values", ()),
        )

    def _labels(self, asked: Outputs) -> tuple[str, ...]:
        """A note where the model gives classes themselves, which say little of what moves it."""
        if not asked.labels and not self.model.labels:
            return self.model.notes
        few = "only a few whole numbers" if self.model.coarse else "only two whole numbers"
        what = "classes" if self.model.labels else f"{few}, as labels are"
        return (
            *self.model.notes,
            f"The model answers with {what}: its predict_proba, if it has one, would tell more.",
        )

    def replacement(self, answer: Answer) -> Replacement:
        """What stood in for the parts."""
        if answer.replacement is not None:
            return answer.replacement
        return replacement_of(self.representation)

    def recipe(self, method: Any, target: Target) -> dict[str, Any]:
        """All that is needed to ask again, as plain data."""
        classes = None if self.model.found else self.model.classes
        return {
            "veridical": VERSION,
            "method": recipe_of(method),
            "target": target.key,
            "classes": None if classes is None else list(classes),
            "rng": {"entropy": self.seed.entropy, "spawn_key": list(self.seed.spawn_key)},
            "shared": self.known is not None and self.known.answers.instance is None,
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
    evidence = weigh(fit, answer.rule, top_probability(fit, answer.rule), answer.n_calls)
    if answer.verdict is None or most_untested(fit):
        return replace(answer, fit=fit, evidence=evidence, verdict=None)
    return replace(answer, fit=fit, evidence=replace(evidence, top_probability=answer.evidence.top_probability))


def as_unknown(values: Floats, untested: Bools) -> Floats:
    """Values of parts (d, …), nan where they were not tested."""
    if untested.any():
        values = values.copy()
        values[untested] = np.nan
    return values


def _still(asked: Outputs, answer: Answer) -> tuple[str, ...]:
    """A note where the weights, however sure, are of next to nothing."""
    moved, own = float(np.abs(answer.fit.weights).sum()) * asked.unit, asked.prediction
    if np.isnan(answer.fit.fidelity) or answer.fit.path or not 0 < moved < STILL * abs(own):
        return ()
    return (
        f"All parts together move the output by at most {moved:.2g} of {own:.4g}: the model hardly uses them, or "
        "what they are replaced with keeps what it uses.",
    )


def as_it_is(part: Part) -> Part:
    """A number with the value that it has, which is what is taken away."""
    return replace(part, name=f"{part.name} = {part.value:g}", relation="=") if part.relation == PER_UNIT else part


def judged(fit: Fit, asked: Outputs, n_calls: int, notes: tuple[str, ...] = ()) -> Answer:
    """The answer of a method that has no rule of its own for when to stop."""
    rule, y = TopK(), asked.y
    probability = top_probability(fit, rule)
    evidence, verdict = weigh(fit, rule, probability, n_calls), None
    if is_flat(y):
        verdict = no_evidence(asked.prediction, asked.prediction, n_calls, rule.probability)
    return Answer(fit, evidence, rule.k, n_calls, float(n_calls - 1), notes, verdict=verdict)


def flat_fit(d: int, value: float, exact: bool) -> Fit:
    """The fit to samples on which the model does not move: nothing is known of any part, unless they are all."""
    none = np.zeros(d, bool)
    return Fit(
        np.zeros(d), value, np.diag(np.full(d, 0.0 if exact else np.inf)), value, float("nan"), ~none, none, 1.0
    )


def unit_of(y: Floats) -> float:
    """1, unless the outputs are so large or small that their squares would not be numbers."""
    largest = max(-float(y.min()), float(y.max()))
    return 1.0 if is_usual(np.float64(largest)) else largest


def is_usual(largest: Any) -> Any:
    """Whether outputs of this size, or of each of these sizes, have squares that are numbers."""
    return (largest == 0) | ((largest > 1e-100) & (largest < 1e100))


def are_labels(y: Floats, model: Model) -> bool:
    """Whether all outputs are one of two whole numbers, or of a few where those cannot be but labels."""
    low, high = float(y.min()), float(y.max())
    if low == high or not (low.is_integer() and high.is_integer()):
        return False
    if bool(((y == low) | (y == high)).all()):
        return True
    return model.coarse and bool((y == np.rint(y)).all()) and len(np.unique(y)) <= MOST_LABELS


def is_flat(y: Floats) -> bool:
    """The outputs are the same but for rounding, in the precision they seem to have."""
    low, high = float(y.min()), float(y.max())
    if high - low > ROUNDING * float(np.finfo(np.float32).eps) * max(-low, high):
        return False
    single = bool((y == y.astype(np.float32)).all() and (y != np.rint(y)).any())
    return high - low <= ROUNDING * (float(np.finfo(np.float32).eps) if single else EPSILON) * max(-low, high)
