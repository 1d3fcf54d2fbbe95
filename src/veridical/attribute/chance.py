"""Random parts: the control that every explanation has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veridical.attribute.ask import Model
from veridical.attribute.evidence import Evidence, TopK, intervals
from veridical.attribute.question import Answer, Outputs, Question
from veridical.attribute.removal import Removal
from veridical.errors import check_whole
from veridical.masks import generator
from veridical.records import Explanation, Fit, Representation, Seed, Verdict

SAYS = "No evidence: these parts and weights were drawn at random, for other explanations to be compared with."


@dataclass(frozen=True)
class RandomParts:
    """Random weights of random parts, whatever the model does: ``n_features`` of them, or all if that is None.

    The sizes of the weights sum to that of the prediction.
    """

    n_features: int | None = 10

    def __post_init__(self) -> None:
        if self.n_features is not None:
            check_whole("n_features", self.n_features)

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Weights for one instance, the same for each target but for their size."""
        removal = Removal.of(model, representation, seed, "RandomParts")
        d, rng = removal.d, generator(seed, 10)
        shares, kept = rng.normal(size=d), rng.permutation(d)[: self.n_features]
        chosen = np.isin(np.arange(d), kept)
        shares[~chosen] = 0.0
        shares /= np.abs(shares).sum()

        def answer(asked: Outputs) -> Answer:
            weights = shares * (abs(float(asked.y[0])) or 1.0)
            total, unknown = float(weights.sum()), np.where(chosen, np.inf, 0.0)
            fit = Fit(weights, 0.0, np.diag(unknown), total, float("nan"), ~chosen, chosen, 1.0)
            verdict = Verdict(False, 0.0, TopK().probability, SAYS)
            return Answer(fit, Evidence(intervals(fit), 0.0, (), verdict), TopK().k, 1, 1.0, verdict=verdict)

        outputs = removal(np.ones((1, d), bool), 0)
        return Question(model, representation, targets, seed, removes=True).conclude(self, outputs, answer)
