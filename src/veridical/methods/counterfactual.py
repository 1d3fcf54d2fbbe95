"""Counterfactual: a small change that takes the decision back, and what each feature of it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Any, ClassVar

import numpy as np

from veridical.errors import InputError, check_number, check_positive, check_whole
from veridical.methods.occlusion import check_removable, fit_falls
from veridical.methods.results import Question, judged
from veridical.methods.sensitivity import Moves, check_movable, draw_steps
from veridical.models.outputs import Model, stack_outputs
from veridical.models.targets import resolve
from veridical.models.torch_modules import Network, as_numbers
from veridical.networks.derivatives import OutputGradients
from veridical.networks.maps import as_batch, find_layout, find_network, on_arrays, output_reader
from veridical.protocols import Movable, Refillable, Removable, Representation, Seed
from veridical.records import Bools, Explanation, Floats, Ints, Replacement, Step
from veridical.representations.regions import numbers_of
from veridical.seeds import child_of


@dataclass(frozen=True, eq=False)
class ChangedArray:
    """An array that is changed a little."""

    representation: Refillable
    batch: Any  # the instance alone, as the model takes it
    reach: Floats  # how far each value goes, in one standard deviation

    @classmethod
    def of(cls, representation: Refillable, step: Step, seed: Seed) -> ChangedArray:
        """Of an instance that a step moves both ways by one standard deviation."""
        nothing = np.zeros((1, len(step.both)), bool)
        batch = as_batch(representation.keeping(~nothing, seed))
        ahead, back = (read_numbers(as_batch(way(nothing))) for way in (step.ahead, step.back))
        own = read_numbers(batch)
        return cls(representation, batch, np.maximum(np.abs(ahead - own), np.abs(back - own)))

    @property
    def x(self) -> Floats:
        return read_numbers(self.batch)

    def refilled(self, change: Floats) -> Removable:
        """The same parts, with the change where they are taken away."""
        return self.representation.refilled(self.x + change)

    def at(self, change: Floats) -> Any:
        """The instance with the change everywhere, as the model takes it."""
        nothing = np.zeros((1, len(self.representation.names)), bool)
        return as_batch(self.refilled(change).keeping(nothing, np.random.SeedSequence(0)))


def read_numbers(batch: Any) -> Floats:
    """The only instance of a batch, as floats."""
    return numbers_of(batch[0], "an instance").astype(np.float64)


PROBE_STEP = 0.125  # standard deviations that parts are moved by to find the slope, as in Sensitivity
BLOCKS_PER_PART = 32  # of a part, about, whose values are drawn together: of more, a few draws say nothing of each
MAX_NAMED_PARTS = 3  # parts that are named in a note


@dataclass(frozen=True)
class Counterfactual:
    """Find a small change that takes the decision back, and tell what each feature of it does.

    A weight is how much the output falls when the change is made in that feature alone. The change is looked for first:
    every value goes against the slope of the output until the decision is taken back. A ``vd.Network`` is asked for the
    slope at each step; of any other model its sign is estimated once, from random directions, in blocks of each feature, and
    their opposites. The decision is the largest output. Without gradients, ``Sensitivity`` finds features that were changed
    a little more often.

    Of texts, tables, and sounds that lie over each other, each feature's change is the small move (as for ``Sensitivity``)
    that lowers the output most. Weights are exact for the change that was found, which the notes describe, so their
    intervals have no width.

    Parameters
    ----------
    step : float
        How far values go at a time, in standard deviations of the instance.
    n_steps : int
        Steps at most.
    n_draws : int
        Random directions, or small moves.
    threshold : float, optional
        Of one output, the decision is whether it is at least this (0.5 unless given); of two, whether the second is.
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
        """Explain one instance: one explanation per target, each by a change of its own."""
        parts = check_movable(representation, "Counterfactual")
        nothing_removed = np.ones((1, len(parts.names)), bool)
        whole = check_removable(representation, "Counterfactual").keeping(nothing_removed, seed)
        step, found = parts.step(1.0, child_of(seed, 7)), list[Explanation]()
        for wanted in targets:
            trial = CounterfactualSearch(self, model, parts, seed, wanted, model(whole))
            if isinstance(parts, Refillable) and step.both.all():
                found += trial.by_change(ChangedArray.of(parts, step, seed))
            else:
                found += trial.by_moves()
        return tuple(found)


@dataclass(frozen=True, eq=False)
class CounterfactualSearch:
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

    def by_change(self, subject: ChangedArray) -> tuple[Explanation, ...]:
        """The effect of each part of a change of all of them."""
        is_network = isinstance(self.model.predict, Network)
        found = self._descend_by_gradients(subject) if is_network else self._descend_by_draws(subject)
        for change in islice(found, self.method.n_steps):
            back = bool(self._takes_back(self.ask(subject.at(change)))[0])
            if back or not change.any():
                break
        alone = ~np.eye(len(self.parts.names), dtype=bool)
        outputs = stack_outputs([self.own, self.ask(subject.refilled(change).keeping(alone, self.seed))])
        tested = Replacement.sound(len(self.parts.names))  # the slope was asked for everywhere
        return self._conclude(outputs, lambda y: y[0] - y[1:], _describe_change(change, back), tested)

    def by_moves(self) -> tuple[Explanation, ...]:
        """The effect of the move of each part that lowers the output most."""
        steps = draw_steps(self.parts, PROBE_STEP, self.method.n_draws, self.seed)
        moves = Moves.of(self.model, steps)
        self.counted.append(len(moves.outputs))
        names, back = self.parts.names, moves.most(self._takes_back(moves.outputs).astype(np.float64)) > 0
        named = ", ".join(names[j] for j in np.flatnonzero(back)[:MAX_NAMED_PARTS]) or "none"
        more = f" and {int(back.sum()) - MAX_NAMED_PARTS} more" if back.sum() > MAX_NAMED_PARTS else ""
        note = f"tried on each part alone: {moves.says}; parts that take the decision back so: {named}{more}"
        outputs = stack_outputs([self.own, moves.outputs])
        return self._conclude(outputs, lambda y: moves.most(y[0] - y[1:]), note, moves.replacement)

    def _descend_by_gradients(self, subject: ChangedArray) -> Iterator[Floats]:
        """Changes, each a step further along the signs of the network's own gradients."""
        network = find_network(self.model, "Counterfactual")
        read, change = output_reader(self.wanted, self.model, self.own), np.zeros_like(subject.reach)
        while True:
            batch = subject.at(change)
            inputs = network.tensor(batch)
            slopes = OutputGradients(network, inputs, read)
            found = slopes(slopes.to_points(inputs)[:, None], slopes.rows)[:, 0]
            self.counted.append(slopes.n_rows)
            slope = find_layout(network, batch, inputs)(as_numbers(found))[0]
            change = change - self.method.step * subject.reach * np.sign(slope)
            yield change

    def _descend_by_draws(self, subject: ChangedArray) -> Iterator[Floats]:
        """Changes, each a step further against the random directions that raise the output."""
        steps = list(draw_steps(self.parts, PROBE_STEP, self.method.n_draws, self.seed, BLOCKS_PER_PART))
        moves = Moves.of(self.model, steps)
        self.counted.append(len(moves.outputs))
        target = resolve(self._on_arrays, self.model, self.own)
        changes = moves.changes(target.read(stack_outputs([self.own, moves.outputs])))
        slope, alone = np.zeros_like(subject.reach), ~np.eye(changes.shape[1], dtype=bool)[:, None]
        for one, change in zip(steps, changes, strict=True):
            for mask, by in zip(alone, change, strict=True):  # one at a time, for instances may be large
                slope += by * (read_numbers(as_batch(one.ahead(mask))) - subject.x)
        for i in count(1):
            yield -i * self.method.step * subject.reach * np.sign(slope)

    @property
    def _on_arrays(self) -> Any:
        """What is wanted; of a network, a function of its outputs is one of tensors."""
        return on_arrays(self.wanted) if isinstance(self.model.predict, Network) else self.wanted

    def _takes_back(self, outputs: Floats) -> Bools:
        """Whether rows of outputs are decided otherwise than the instance."""
        threshold = self.method.threshold
        return np.asarray(decide(outputs, threshold) != decide(self.own, threshold))

    def _conclude(
        self, outputs: Floats, falls: Callable[[Floats], Floats], note: str, moved: Replacement
    ) -> tuple[Explanation, ...]:
        question = Question(self.model, self.parts, [self._on_arrays], self.seed, removes=True)
        (seen,) = question.read(outputs)
        made = judged(fit_falls(falls(seen.y)[None], float(seen.y[0])), seen, sum(self.counted), (note,))
        return (question.record(self.method, seen, replace(made, replacement=moved)),)


def _describe_change(change: Floats, back: bool) -> str:
    """What was found, in words."""
    if not change.any():
        return "no small change was found that lowers the output"
    said = "takes" if back else "does not take"
    more = "" if back else ", nor did the smaller ones before it"
    return f"a change of at most {np.abs(change).max():.3g} a value, in all parts at once, {said} the decision back{more}"


def decide(outputs: Floats, threshold: float | None) -> Ints:
    """The label of each row of outputs (n, k)."""
    k = outputs.shape[1]
    if threshold is not None and k > 2:
        raise InputError(f"a threshold is for one output or two, and the model has {k}: leave threshold out")
    if k == 1 or threshold is not None:
        return np.asarray(outputs[:, -1] >= (0.5 if threshold is None else threshold), np.int64)
    return np.asarray(outputs.argmax(axis=1))
