"""Shapley values (Lundberg and Lee 2017), from complement pairs, with intervals."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from veridical.attribute.ask import Model
from veridical.attribute.coalitions import DRAWS, Asked, Coalitions
from veridical.attribute.differences import Pairs, Slopes, slopes
from veridical.attribute.evidence import TopK, no_evidence, top_probability, weigh
from veridical.attribute.neighborhood import sizes
from veridical.attribute.question import EPSILON, ROUNDING, Answer, Outputs, Question, flat_fit, is_flat
from veridical.attribute.removal import Removal
from veridical.errors import InputError, check_whole
from veridical.keywords import teach_settings
from veridical.records import Bools, Explanation, Fit, Floats, Representation, Seed


@teach_settings
@dataclass(frozen=True)
class KernelShap:
    """Shapley values: what a part adds on average, over all orders in which the parts may come.

    The weights and the intercept, which is the output without any part, sum to the prediction. All masks are
    asked about where that is affordable, and the values are exact then; otherwise as many as it takes until the
    top parts are settled (``until``, at most ``max_calls`` rows). ``n_samples`` fixes their number instead.
    Where something must be there in place of a part, as in tables, each mask has its own draw of the background.
    """

    n_samples: int | None = None
    until: TopK = field(default_factory=TopK)
    max_calls: int = 8192

    def __post_init__(self) -> None:
        check_whole("max_calls", self.max_calls)
        if self.n_samples is not None:
            check_whole("n_samples", self.n_samples)
        if not isinstance(self.until, TopK):
            raise InputError(f"until wants TopK(…), not {self.until!r}")

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[Any], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation a target, all from the same masks."""
        removal = Removal.of(model, representation, seed, "KernelShap")
        steady, d = removal.representation.steady, removal.d
        coalitions = Coalitions.of(d, seed, again=not steady)
        every = 2**d - 1 if steady and d < 31 else sys.maxsize
        affordable = self.max_calls // 8 if self.n_samples is None else self.n_samples
        n, last = (every, every) if every <= affordable else self._sizes(d, every)
        question, asked = Question(model, representation, targets, seed, removes=True), Asked.nothing(coalitions)
        while True:
            asked = asked.grown(removal, min(n, every))
            found = question.conclude(self, asked.outputs, partial(self._answer, asked, n >= last))
            if found:
                return found
            n = min(2 * n, last)

    def _sizes(self, d: int, every: int) -> tuple[int, int]:
        return sizes(self.n_samples, self.max_calls, d, min(max(3 * d, DRAWS + 2), every))

    def _answer(self, asked: Asked, last: bool, seen: Outputs) -> Answer | None:
        """Values with their evidence; nothing if the top is not settled and there is budget left."""
        fit, constant = fit_of(asked, seen), is_flat(seen.y)
        unseen = is_flat(seen.y[1:]) and not asked.complete  # what moves the model was never among the masks
        probability = 0.0 if unseen else top_probability(fit, self.until)
        done = last or asked.complete or constant
        if not done and probability < self.until.probability:
            return None
        evidence, verdict = weigh(fit, self.until, probability, asked.n_calls), None
        if constant or unseen:
            sampled = seen.prediction if constant else float(seen.y[1]) * seen.unit
            verdict = no_evidence(seen.prediction, sampled, asked.n_calls, self.until.probability)
        size = float(asked.n_calls - 1)
        return Answer(fit, evidence, self.until.k, asked.n_calls, size, rule=self.until, verdict=verdict)


def fit_of(asked: Asked, seen: Outputs) -> Fit:
    """The Shapley values of one output of all that was asked."""
    y, d, draws = seen.y, asked.coalitions.d, len(asked.empty)
    if is_flat(y):
        return flat_fit(d, float(y[0]), asked.complete)
    own, empty, halves = float(y[0]), y[1 : 1 + draws], y[1 + draws :].reshape(2, -1)
    base, error = float(empty.mean()), float(empty.var(ddof=1)) / draws if draws > 1 else 0.0
    masks = np.concatenate([np.zeros((0, d), bool), *asked.masks])
    found = slopes(Pairs(asked.coalitions, asked.taken, masks, halves[0] - halves[1]))
    values = found.values + (own - base - float(found.values.sum())) / d
    values[np.abs(values) < ROUNDING * EPSILON * np.abs(values).max()] = 0.0  # what rounding leaves of nothing
    away = np.eye(d) - 1 / d  # what all parts share is known from the ends
    covariance = away @ found.covariance @ away + error / d**2
    if is_flat(y[1:]) and not asked.complete:
        covariance = np.diag(np.full(d, np.inf))
    every = np.ones(d, bool)
    return Fit(
        weights=values,
        intercept=base,
        covariance=covariance,
        local_prediction=own,
        fidelity=float("nan") if asked.coalitions.again else _fidelity(base, values, masks, halves, found),
        measured=every,
        chosen=every,
        degrees=found.degrees if len(masks) else max(draws - 1.0, 1.0),
    )


def _fidelity(base: float, values: Floats, masks: Bools, halves: Floats, found: Slopes) -> float:
    """Share of the outputs' variance that the intercept and the weights explain, of pairs that are left out.

    Under the law of Shapley values; nan if the outputs do not vary over masks between none and all.
    """
    kept = masks @ values
    said = base + np.stack([kept, values.sum() - kept])
    left = float(np.sum(found.weights * ((halves - said) / (1 - found.pull)) ** 2))
    mean = float(np.sum(found.weights * halves)) / max(2 * float(found.weights.sum()), 1e-300)
    total = float(np.sum(found.weights * (halves - mean) ** 2))
    return 1 - left / total if halves.size and not is_flat(halves.ravel()) else float("nan")
