"""Rows that know nothing: what a metric gives for them is where its scale begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veridical.masks import generator
from veridical.records import Explanation, Floats, Representation, Seed

RANDOM, CONSTANT, SHUFFLED = "random", "constant", "shuffled "
PURPOSE = 20  # that seeds are for


@dataclass(frozen=True, eq=False)
class Null:
    """Explanations of a method with other weights in their place."""

    explain: Any  # of the method: (representation, seed, model) to its explanation
    change: Callable[[Floats, np.random.Generator], Floats]
    at: Floats | None = None  # (d,) the instance's own design, where its parts are numbers
    scale: float = 1.0  # how much heavier than the method's the weights are

    def __call__(self, representation: Representation, seed: Seed, model: Any = None) -> Explanation:
        """The method's explanation, its weights changed; other seeds, and other models, change them otherwise."""
        own: Explanation = self.explain(representation, seed, model)
        weights = self.change(own.weights, generator(seed, PURPOSE, int(model is not None))) * self.scale
        added = weights.sum() if self.at is None or len(self.at) != len(weights) else weights @ self.at
        return replace(own, weights=weights, intercept=own.local_prediction - float(added))


def random_weights(weights: Floats, rng: np.random.Generator) -> Floats:
    """Normal weights, as heavy together as the method's."""
    drawn = rng.standard_normal(len(weights))
    return np.asarray(drawn * (heaviness(weights) / np.abs(drawn).sum()))


def constant_weights(weights: Floats, rng: np.random.Generator) -> Floats:
    """The same weight for every part, as heavy together as the method's."""
    return np.full(len(weights), heaviness(weights) / len(weights))


def shuffled_weights(weights: Floats, rng: np.random.Generator) -> Floats:
    """The method's weights, on other parts."""
    return rng.permutation(weights)


def heaviness(weights: Floats) -> float:
    """The sum of all sizes; of an explanation without weight, 1."""
    return float(np.abs(weights).sum()) or 1.0
