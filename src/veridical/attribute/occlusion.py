"""Occlusion: what the model loses when one part is taken away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veridical.attribute.ask import Model
from veridical.attribute.question import Answer, Outputs, Question, judged
from veridical.attribute.removal import Removal
from veridical.errors import check_whole
from veridical.records import Explanation, Fit, Floats, Representation, Seed


@dataclass(frozen=True)
class Occlusion:
    """A part's weight is how much the output falls when that part alone is taken away.

    Where something must be there in place of a part, as in tables, it is drawn ``n_draws`` times from the
    background, and the intervals are those of the mean; elsewhere one call a part is exact. Parts that stand in
    for each other get no weight, since taking one away changes nothing.
    """

    n_draws: int = 64

    def __post_init__(self) -> None:
        check_whole("n_draws", self.n_draws, 2)

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation a target, all from the same answers."""
        removal = Removal.of(model, representation, seed, "Occlusion")
        outputs = removal.start(~np.eye(removal.d, dtype=bool), self.n_draws)
        n_calls = 1 + removal.d * removal.draws(self.n_draws)

        def answer(asked: Outputs) -> Answer:
            falls = asked.y[0] - asked.y[1:].reshape(-1, removal.d)
            return judged(fit_of(falls, float(asked.y[0])), asked, n_calls)

        return Question(model, representation, targets, seed, removes=True).conclude(self, outputs, answer)


def fit_of(falls: Floats, own: float) -> Fit:
    """Weights that are the mean over independent draws (draws, d) of how far the output falls, and its error."""
    (draws, d), weights = falls.shape, falls.mean(axis=0)
    return drawn_fit(weights, falls.var(axis=0, ddof=1) / draws if draws > 1 else np.zeros(d), own, draws)


def drawn_fit(weights: Floats, variance: Floats, own: float, draws: int) -> Fit:
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
