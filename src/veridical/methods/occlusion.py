"""Occlusion: what the model loses when one feature is removed; and queries without some features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.errors import InputError, check_whole
from veridical.methods.engine import Ask, ask_by
from veridical.methods.results import Question, judged
from veridical.models.outputs import Model, stack_outputs
from veridical.protocols import Removable, Representation, Seed
from veridical.records import Bools, Explanation, Fit, Floats
from veridical.seeds import child_of

MAX_MASK_NUMBERS = 2**22  # numbers in the masks that inputs are made for at once, about


def check_removable(representation: Representation, wanted_by: str) -> Removable:
    """A Representation whose parts can be taken away, or an error that says what it lacks."""
    if not isinstance(representation, Removable):
        raise InputError(
            f"{wanted_by} takes parts away as it likes, and {type(representation).__name__} does not say how: it "
            "needs steady and keeping(masks, seed), as in veridical.protocols.Removable (of the methods, vd.Lime "
            "does without)"
        )
    return representation


@dataclass(frozen=True, eq=False)
class Removal:
    """One instance, and a model that is asked about what is left of it."""

    representation: Removable
    ask: Ask
    seed: Seed

    @classmethod
    def of(cls, model: Model, representation: Representation, seed: Seed, wanted_by: str) -> Removal:
        return cls(check_removable(representation, wanted_by), ask_by(model, representation), seed)

    @property
    def d(self) -> int:
        return len(self.representation.names)

    def __call__(self, masks: Bools, first: int, *path: int) -> Floats:
        """Answers (n, k) to one input a mask, of which ``first`` were asked before; ``path`` is for the seed."""
        child = child_of(self.seed, *path)
        return self.ask(
            masks.astype(np.float64), lambda designs: self.representation.keeping(designs != 0, child), first
        )

    def draws(self, n_draws: int) -> int:
        """How often the model is asked about a mask: once where nothing is drawn."""
        return 1 if self.representation.steady else n_draws

    def start(self, masks: Bools, n_draws: int) -> Floats:
        """The answer to the instance itself, then those of ``ask_draws``, (1 + draws · n, k)."""
        whole = np.ones((1, self.d), bool)
        if self.representation.steady:  # all at once, so that a shortcut is tried on more than the instance
            return self(np.vstack([whole, masks]), 0)
        return stack_outputs([self(whole, 0), self.ask_draws(masks, n_draws, 1)])

    def ask_draws(self, masks: Bools, n_draws: int, first: int, *path: int) -> Floats:
        """Answers to all masks, and again for each draw of what is there without the parts, (draws · n, k)."""
        draws, found = self.draws(n_draws), []
        step = max(MAX_MASK_NUMBERS // max(masks.size, 1), 1)
        for start in range(0, draws, step):
            again = np.tile(masks, (min(step, draws - start), 1))
            found.append(self(again, first + start * len(masks), *path, start))
        return stack_outputs(found)


@dataclass(frozen=True)
class Occlusion:
    """What does the model lose when one feature is removed? A weight is how much the output falls without it.

    Where something must be there in place of a feature, as in tables, it is drawn from the background, and the intervals
    are those of the mean; elsewhere one call per feature is exact. Features that stand in for each other get no weight,
    since removing one changes nothing.

    Parameters
    ----------
    n_draws : int
        Draws of the background per feature.
    """

    n_draws: int = 64

    def __post_init__(self) -> None:
        check_whole("n_draws", self.n_draws, 2)

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation per target, all from the same answers."""
        question = Question(model, representation, targets, seed, removes=True)
        return explain_removals(self, question, self.n_draws)


def explain_removals(
    method: Any, question: Question, n_draws: int, notes: tuple[str, ...] = ()
) -> tuple[Explanation, ...]:
    """Explanations by a method whose weights are how far the output falls without each part."""
    removal = Removal.of(question.model, question.representation, question.seed, type(method).__name__)
    d, found = removal.d, list[Explanation]()
    for seen in question.read(removal.start(~np.eye(d, dtype=bool), n_draws)):
        fit = fit_falls(seen.y[0] - seen.y[1:].reshape(-1, d), float(seen.y[0]))
        found.append(question.record(method, seen, judged(fit, seen, 1 + d * removal.draws(n_draws), notes)))
    return tuple(found)


def fit_falls(falls: Floats, own: float) -> Fit:
    """Weights that are the mean over independent draws (draws, d) of how far the output falls, and its error."""
    (draws, d), weights = falls.shape, falls.mean(axis=0)
    return fit_draws(weights, falls.var(axis=0, ddof=1) / draws if draws > 1 else np.zeros(d), own, draws)


def fit_draws(weights: Floats, variance: Floats, own: float, draws: int) -> Fit:
    """Weights (d,) of some draws, each with an error of its own, beside the output of the instance."""
    every = np.ones(len(weights), bool)
    return Fit(
        weights=weights,
        intercept=own - float(weights.sum()),
        covariance=np.diag(variance),
        local_prediction=own,
        fidelity=float("nan"),
        measured=every,
        chosen=every,
        degrees=max(draws - 1.0, 1.0),
    )
