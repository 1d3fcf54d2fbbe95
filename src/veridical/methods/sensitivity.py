"""Sensitivity: how much the output moves when a part is moved a little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from veridical.errors import InputError, check_positive, check_whole
from veridical.methods.occlusion import check_removable, fit_draws
from veridical.methods.results import EPSILON, Question, judged
from veridical.models.outputs import Model, stack_outputs
from veridical.protocols import Movable, Representation, Seed
from veridical.records import Bools, Explanation, Fit, Floats, Replacement, Step
from veridical.seeds import child_of


@dataclass(frozen=True)
class Sensitivity:
    """Where would a small change act? A weight is how far the output moves when one feature is moved a little.

    Each value of the feature moves up or down at random, and the opposite way; half the difference of the two answers is
    what counts, so that only slopes do, and the weight is the root mean square over random directions. Whole numbers move
    by whole steps within their range. A number of a table moves by standard deviations of the background, a category becomes
    another one, words are misspelled, sounds that lie over each other become louder and softer. Only predict is called, and
    a feature that moves the output either way gets a positive weight.

    Parameters
    ----------
    step : float
        How far values move, in standard deviations of the instance.
    n_draws : int
        Random directions, from which the intervals come, too.
    """

    step: float = 0.125
    n_draws: int = 10

    purpose: ClassVar[str] = "change"

    def __post_init__(self) -> None:
        check_positive("step", self.step)
        check_whole("n_draws", self.n_draws, 2)

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation per target, all from the same answers."""
        parts = check_movable(representation, "Sensitivity")
        moves = Moves.of(model, draw_steps(parts, self.step, self.n_draws, seed))
        whole = np.ones((1, len(parts.names)), bool)
        own = model(check_removable(parts, "Sensitivity").keeping(whole, seed))
        outputs = stack_outputs([own, moves.outputs])
        note = f"weights are how far the output moves, root mean square, as {moves.says}"
        question, found = Question(model, representation, targets, seed, removes=True), list[Explanation]()
        for seen in question.read(outputs):
            made = judged(_fit(moves.changes(seen.y), float(seen.y[0])), seen, len(outputs), (note,))
            found.append(question.record(self, seen, replace(made, replacement=moves.replacement)))
        return tuple(found)


def check_movable(representation: Representation, wanted_by: str) -> Movable:
    """A Representation whose parts can be moved a little, or an error that says what it lacks."""
    if not isinstance(representation, Movable):
        raise InputError(
            f"{wanted_by} moves parts a little, and {type(representation).__name__} does not say how: it needs "
            "step(size, seed), as in veridical.protocols.Movable (vd.Occlusion takes parts away instead)"
        )
    return representation


def draw_steps(
    parts: Movable, size: float, n_draws: int, seed: Seed, n_blocks: int | None = None
) -> Iterator[Step]:
    """``n_draws`` ways to move an instance, or one if nothing is drawn."""
    for i in range(n_draws):
        step = parts.step(size, child_of(seed, 6, i), n_blocks)
        yield step
        if not step.drawn:
            break


@dataclass(frozen=True, eq=False)
class Moves:
    """Answers to an instance each of whose parts was moved alone, some times."""

    outputs: Floats  # (m · (d + those of both ways), k)
    both: Bools  # (d,)
    says: str
    still: Bools | None = None  # (d,) parts that did not move

    @property
    def replacement(self) -> Replacement:
        """Which parts were not moved, and so not tested."""
        if self.still is None or not self.still.any():
            return Replacement.sound(len(self.both))
        n = int(self.still.sum())
        what = "1 part was" if n == 1 else f"{n} parts were"
        return Replacement(self.still, (f"{what} not tested: there is nothing in them to be moved",))

    @classmethod
    def of(cls, model: Model, steps: Iterable[Step]) -> Moves:
        """Ask about all parts, once a step; the instance itself was asked about before."""
        found, step = list[Floats](), None
        for step in steps:
            alone = ~np.eye(len(step.both), dtype=bool)
            found.append(model(step.ahead(alone), first=1 + sum(map(len, found))))
            if step.both.any():
                found.append(model(step.back(alone[step.both]), first=1 + sum(map(len, found))))
        assert step is not None
        return cls(stack_outputs(found), step.both, step.says, step.still)

    def most(self, values: Floats) -> Floats:
        """The largest of one number an answer, over all moves of each part (d,)."""
        d = len(self.both)
        largest = values.reshape(-1, d + int(self.both.sum())).max(axis=0)
        largest[:d][self.both] = np.maximum(largest[:d][self.both], largest[d:])
        return np.asarray(largest[:d])

    def changes(self, y: Floats) -> Floats:
        """How far each part moves the output (m, d), of the answers after the instance's own."""
        d, n_both = len(self.both), int(self.both.sum())
        answers = y[1:].reshape(-1, d + n_both)
        changes: Floats = answers[:, :d] - y[0]
        changes[:, self.both] = (answers[:, :d][:, self.both] - answers[:, d:]) / 2
        return changes


def _fit(changes: Floats, own: float) -> Fit:
    """Root mean squares of the draws (m, d), and their error to first order.

    A few draws that happen to be small vary little, too: no part's error is less than the mean one, relative to
    its weight, unless its draws are all the same.
    """
    (m, d), squares = changes.shape, changes**2
    weights = np.sqrt(squares.mean(axis=0))
    shares = squares / np.maximum(weights**2, np.finfo(float).tiny)
    spread = shares.var(axis=0, ddof=1) if m > 1 else np.zeros(d)
    varies = spread > EPSILON
    least = float(spread[varies].mean()) if varies.any() else 0.0
    variance = np.where(varies, np.maximum(spread, least), 0.0) * weights**2 / (4 * m)
    return replace(fit_draws(weights, variance, own, m), relative=True)
