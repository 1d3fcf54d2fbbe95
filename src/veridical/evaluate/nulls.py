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
        known = np.nan_to_num(weights)
        added = known.sum() if self.at is None or len(self.at) != len(weights) else known @ self.at
        return replace(own, weights=weights, intercept=own.local_prediction - float(added))


def random_weights(weights: Floats, rng: np.random.Generator) -> Floats:
    """Normal weights, as heavy together as the method's."""
    drawn = np.where(np.isnan(weights), np.nan, rng.standard_normal(len(weights)))
    return np.asarray(drawn * (heaviness(weights) / (np.nan_to_num(np.abs(drawn)).sum() or 1.0)))


def constant_weights(weights: Floats, rng: np.random.Generator) -> Floats:
    """The same weight for every part, as heavy together as the method's."""
    tested = ~np.isnan(weights)
    return np.where(tested, heaviness(weights) / max(int(tested.sum()), 1), np.nan)


def shuffled_weights(weights: Floats, rng: np.random.Generator) -> Floats:
    """The method's weights, on other parts."""
    found, tested = weights.copy(), ~np.isnan(weights)
    found[tested] = rng.permutation(weights[tested])
    return found


def heaviness(weights: Floats) -> float:
    """The sum of all sizes; of an explanation without weight, 1."""
    return float(np.nan_to_num(np.abs(weights)).sum()) or 1.0
