"""Counterfactual: what each part of a small change does that takes the decision back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from veridical.attribute.ask import Model, stacked
from veridical.attribute.descent import Gradients, Subject, drawn_descent
from veridical.attribute.maps import network_of, on_arrays
from veridical.attribute.network import Network
from veridical.attribute.occlusion import fit_of
from veridical.attribute.question import Answer, Outputs, Question, judged
from veridical.attribute.removal import removable
from veridical.attribute.sensitivity import Moves, movable, steps_of
from veridical.attribute.slopes import by_function
from veridical.attribute.targets import Target, resolve
from veridical.errors import InputError, check_number, check_positive, check_whole
from veridical.masks import child_of
from veridical.records import (
    Bools,
    Explanation,
    Floats,
    Ints,
    Movable,
    Refillable,
    Replacement,
    Representation,
    Seed,
)

PROBE = 0.125  # standard deviations that parts are moved by to find the slope, as in Sensitivity
BLOCKS = 32  # of a part, about, whose values are drawn together: of more, a few draws say nothing of each
NAMED = 3  # parts that are named in a note


@dataclass(frozen=True)
class Counterfactual:
    """A part's weight is how much the output falls when a small change is made in that part alone.

    The change is looked for first: every value goes against the slope of the output, by ``step`` standard
    deviations of the instance at a time, until the decision is taken back, ``n_steps`` times at most. A vd.Network
    is asked for the slope at each step; of any other model its sign is estimated once, from ``n_draws`` random
    directions, in blocks of each part, and their opposites. The decision is the largest output; of one output,
    whether it is at least ``threshold``, 0.5 unless given, and of two, if it is given, whether the second is.
    Without gradients, ``Sensitivity`` finds parts that were changed a little more often.

    Of texts, tables, and sounds that lie over each other, each part's change is the one of ``n_draws`` small moves
    (as for ``Sensitivity``) that lowers the output most. Weights are exact for the change that was found, which
    the notes describe, so their intervals have no width.
    """

    step: float = 0.025
    n_steps: int = 40
    n_draws: int = 10
    threshold: float | None = None

    purpose: ClassVar[str] = "change"

    def __post_init__(self) -> None:
        check_positive("step", self.step)
        check_whole("n_steps", self.n_steps)
        check_whole("n_draws", self.n_draws)
        if self.threshold is not None:
            check_number("threshold", self.threshold)

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation a target, each by a change of its own."""
        parts = movable(representation, "Counterfactual")
        whole = removable(representation, "Counterfactual").keeping(np.ones((1, len(parts.names)), bool), seed)
        step, found = parts.step(1.0, child_of(seed, 7)), list[Explanation]()
        for wanted in targets:
            trial = Trial(self, model, parts, seed, wanted, model(whole))
            if isinstance(parts, Refillable) and step.both.all():
                found += trial.by_change(Subject.of(parts, step, seed))
            else:
                found += trial.by_moves()
        return tuple(found)


@dataclass(frozen=True, eq=False)
class Trial:
    """One instance and one target, and the model that is asked about changes of it."""

    method: Counterfactual
    model: Model
    parts: Movable
    seed: Seed
    wanted: Any
    own: Floats  # (1, k) the model's answer to the instance
    counted: list[int] = field(default_factory=lambda: [1])  # rows that the model was asked about

    def ask(self, inputs: Any) -> Floats:
        """Answers that are counted."""
        found = self.model(inputs, first=sum(self.counted))
        self.counted.append(len(found))
        return found

    def by_change(self, subject: Subject) -> tuple[Explanation, ...]:
        """The effect of each part of a change of all of them."""
        asks_slopes = isinstance(self.model.predict, Network)
        found = self._by_gradients(subject) if asks_slopes else self._by_draws(subject)
        for change in islice(found, self.method.n_steps):
            back = bool(self._taken_back(self.ask(subject.at(change)))[0])
            if back or not change.any():
                break
        alone = ~np.eye(len(self.parts.names), dtype=bool)
        outputs = stacked([self.own, self.ask(subject.refilled(change).keeping(alone, self.seed))])
        tested = Replacement.sound(len(self.parts.names))  # the slope was asked for everywhere
        return self._concluded(outputs, lambda y: y[0] - y[1:], _found(change, back), tested)

    def by_moves(self) -> tuple[Explanation, ...]:
        """The effect of the move of each part that lowers the output most."""
        steps = steps_of(self.parts, PROBE, self.method.n_draws, self.seed)
        moves = Moves.of(self.model, steps)
        self.counted.append(len(moves.outputs))
        names, back = self.parts.names, moves.most(self._taken_back(moves.outputs).astype(np.float64)) > 0
        named = ", ".join(names[j] for j in np.flatnonzero(back)[:NAMED]) or "none"
        more = f" and {int(back.sum()) - NAMED} more" if back.sum() > NAMED else ""
        note = f"tried on each part alone: {moves.says}; parts that take the decision back so: {named}{more}"
        outputs = stacked([self.own, moves.outputs])
        return self._concluded(outputs, lambda y: moves.most(y[0] - y[1:]), note, moves.replacement)

    def _by_gradients(self, subject: Subject) -> Iterator[Floats]:
        """By the network's own gradients."""
        network = network_of(self.model, "Counterfactual")
        target = self._target
        read = by_function(self.wanted) if callable(self.wanted) else lambda outputs, own: target.read(outputs)
        return Gradients(subject, network, read, self.counted).descent(self.method.step)

    def _by_draws(self, subject: Subject) -> Iterator[Floats]:
        """By answers to random directions."""
        steps = list(steps_of(self.parts, PROBE, self.method.n_draws, self.seed, BLOCKS))
        moves = Moves.of(self.model, steps)
        self.counted.append(len(moves.outputs))
        y = self._target.read(stacked([self.own, moves.outputs]))
        return drawn_descent(subject, steps, moves.changes(y), self.method.step)

    @property
    def _target(self) -> Target:
        return resolve(self._on_arrays, self.model, self.own)

    @property
    def _on_arrays(self) -> Any:
        """What is wanted; of a network, a function of its outputs is one of tensors."""
        by_tensors = callable(self.wanted) and isinstance(self.model.predict, Network)
        return on_arrays(self.wanted) if by_tensors else self.wanted

    def _taken_back(self, outputs: Floats) -> Bools:
        """Whether rows of outputs are decided otherwise than the instance."""
        threshold = self.method.threshold
        return np.asarray(decided(outputs, threshold) != decided(self.own, threshold))

    def _concluded(
        self, outputs: Floats, falls: Callable[[Floats], Floats], note: str, moved: Replacement
    ) -> tuple[Explanation, ...]:
        def answer(asked: Outputs) -> Answer:
            made = judged(fit_of(falls(asked.y)[None], float(asked.y[0])), asked, sum(self.counted), (note,))
            return replace(made, replacement=moved)

        question = Question(self.model, self.parts, [self._on_arrays], self.seed, removes=True)
        return question.conclude(self.method, outputs, answer)


def _found(change: Floats, back: bool) -> str:
    """What was found, in words."""
    if not change.any():
        return "no small change was found that lowers the output"
    said = (
        "takes the decision back"
        if back
        else "does not take the decision back, nor did the smaller ones before it"
    )
    return f"a change of at most {np.abs(change).max():.3g} a value, in all parts at once, {said}"


def decided(outputs: Floats, threshold: float | None) -> Ints:
    """The label of each row of outputs (n, k)."""
    k = outputs.shape[1]
    if threshold is not None and k > 2:
        raise InputError(f"a threshold is for one output or two, and the model has {k}: leave threshold out")
    if k == 1 or threshold is not None:
        return np.asarray(outputs[:, -1] >= (0.5 if threshold is None else threshold), np.int64)
    return np.asarray(outputs.argmax(axis=1))
