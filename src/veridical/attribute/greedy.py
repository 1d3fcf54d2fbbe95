"""Greedy removal (Martens and Provost 2014): take away what the prediction rests on most, one part at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.attribute.ask import Model, stacked
from veridical.attribute.question import Answer, Outputs, Question, is_flat, judged
from veridical.attribute.removal import Removal
from veridical.attribute.targets import resolve
from veridical.errors import InputError, check_whole
from veridical.records import Explanation, Fit, Floats, Representation, Seed

AGAIN = (0, 0)  # path of the draws that weights come from: one removal after another sees the same ones
SHOWN = 20  # parts whose order a note tells


@dataclass(frozen=True)
class Greedy:
    """Take away, again and again, the part whose removal lowers the output most.

    It ends when ``n_features`` are gone, when none lowers the output, or, with ``stop_at_flip``, when the model
    predicts another class. A part's weight is how much the output fell when it went; the others' is zero. In
    tables the values in place of parts are drawn ``n_draws`` times from the background, and once more for the
    weight of the part that was chosen, so that it is not the luckiest of many.
    """

    n_features: int = 10
    stop_at_flip: bool = False
    n_draws: int = 64

    def __post_init__(self) -> None:
        check_whole("n_features", self.n_features)
        check_whole("n_draws", self.n_draws, 2)
        if not isinstance(self.stop_at_flip, bool):
            raise InputError(f"stop_at_flip is True or False, not {self.stop_at_flip!r}")

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[Any], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance; each target has an order of its own."""
        found: list[Explanation] = []
        for wanted in targets:
            removal = Removal.of(model, representation, seed, "Greedy")
            walk = self._walk(removal, wanted, model)

            def answer(asked: Outputs, removal: Removal = removal, walk: Walk = walk) -> Answer:
                fit = _fit(removal, walk, asked.y[1:].reshape(-1, removal.draws(self.n_draws)), float(asked.y[0]))
                return judged(fit, asked, walk.n_calls, walk.notes(representation.names))

            question = Question(model, representation, (wanted,), seed, removes=True)
            found += question.conclude(self, walk.outputs, answer)
        return tuple(found)

    def _walk(self, removal: Removal, wanted: Any, model: Model) -> Walk:
        """Take parts away until it ends."""
        gone = list[int]()
        tried = removal.start(_without(removal.d, gone), self.n_draws)
        own, tried = tried[:1], tried[1:]
        target, draws = resolve(wanted, model, own), removal.draws(self.n_draws)
        if self.stop_at_flip and own.shape[1] == 1:
            raise InputError("stop_at_flip needs a model with one output a class; this one has a single output")
        n_calls, before, outputs, why = 1 + removal.d * draws, float(target.read(own)[0]), [own], ""
        while not why:
            left = [j for j in range(removal.d) if j not in gone]
            means = target.read(tried).reshape(-1, len(left)).mean(axis=0)
            best = int(np.argmin(means))
            if means[best] >= before or is_flat(np.array([before, means[best]])):
                why = "taking away no other part lowers it"
                break
            gone.append(left[best])
            after = tried.reshape(-1, len(left), own.shape[1])[:, best]
            if not removal.representation.steady:
                kept = _without(removal.d, gone[:-1])[[best]]
                after, n_calls = removal.repeated(kept, self.n_draws, n_calls, *AGAIN), n_calls + draws
            outputs.append(after)
            before = float(target.read(after).mean())
            why = self._reason(own, after, len(gone), removal.d)
            if not why:
                masks = _without(removal.d, gone)
                tried = removal.repeated(masks, self.n_draws, n_calls, len(gone))
                n_calls += len(masks) * draws
        return Walk(tuple(gone), stacked(outputs), n_calls, why)

    def _reason(self, own: Floats, after: Floats, n: int, d: int) -> str:
        """Why it ends here, or nothing."""
        if self.stop_at_flip and np.argmax(after.mean(axis=0)) != np.argmax(own[0]):
            return "the model predicts another class without them"
        if n == d:
            return "nothing is left"
        return f"{n} were wanted" if n == self.n_features else ""


@dataclass(frozen=True, eq=False)
class Walk:
    """The parts that were taken away in order, and the answers after each."""

    order: tuple[int, ...]
    outputs: Floats  # (1 + parts · draws, k); row 0 is the instance
    n_calls: int
    why: str

    def notes(self, names: Sequence[str]) -> tuple[str, ...]:
        if not self.order:
            return ("taking away any one part does not lower the output",)
        more = f" and {len(self.order) - SHOWN} more" if len(self.order) > SHOWN else ""
        shown = ", ".join(names[j] for j in self.order[:SHOWN])
        return (f"taken away in this order: {shown}{more}; then {self.why}",)


def _without(d: int, gone: Sequence[int]) -> Any:
    """Masks without the parts that are gone and one more, one mask a part that is left."""
    masks = ~np.eye(d, dtype=bool)
    masks[:, list(gone)] = False
    return np.delete(masks, list(gone), axis=0)


def _fit(removal: Removal, walk: Walk, after: Floats, own: float) -> Fit:
    """The falls of the output from one removal to the next, of answers (parts, draws)."""
    order, draws = list(walk.order), after.shape[1]
    steps = np.vstack([np.full((1, draws), own), after])
    falls = steps[:-1] - steps[1:]
    weights, covariance = np.zeros(removal.d), np.zeros((removal.d, removal.d))
    weights[order] = falls.mean(axis=1)
    if draws > 1 and order:
        covariance[np.ix_(order, order)] = np.atleast_2d(np.cov(falls)) / draws
    chosen = np.isin(np.arange(removal.d), order)
    left = float(steps[-1].mean())
    return Fit(
        weights, left, covariance, own, float("nan"), np.ones(removal.d, bool), chosen, max(draws - 1.0, 1.0)
    )
