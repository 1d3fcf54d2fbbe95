"""Is the explanation short enough to be read?"""

from __future__ import annotations

import numpy as np

from veridical.evaluate.records import Metric, Trial
from veridical.evaluate.weights import mass_of


def size(trial: Trial, rng: np.random.Generator) -> float:
    """How many parts have weight."""
    return float(np.count_nonzero(np.nan_to_num(trial.explanation.weights)))


def entropy(trial: Trial, rng: np.random.Generator) -> float:
    """Bhatt et al. 2020, Definition 4: entropy of the shares of weight, in nats."""
    mass = mass_of(trial.explanation.weights)
    some = mass[mass > 0]
    return float(-some @ np.log(some))


def sparseness(trial: Trial, rng: np.random.Generator) -> float:
    """Chalasani et al. 2020: Gini index of the sizes of weights, 0 if all are the same."""
    mass = np.sort(mass_of(trial.explanation.weights)[trial.explanation.tested])
    d = len(mass)
    return float((2 * np.arange(1, d + 1) - d - 1) @ mass / d)


COMPLEXITY = (
    Metric(
        "size",
        size,
        "lower",
        "complexity",
        "How many parts have a weight that is not zero.",
        least=0.0,
    ),
    Metric(
        "entropy",
        entropy,
        "lower",
        "complexity",
        "How evenly the weight is spread over parts, in nats: 0 if one part has it all; the unit of the weights "
        "does not matter.",
        least=0.0,
    ),
    Metric(
        "sparseness",
        sparseness,
        "higher",
        "complexity",
        "Gini index of the sizes of weights: 0 if all are the same, almost 1 if one part has all; the unit of the "
        "weights does not matter.",
        least=0.0,
        most=1.0,
    ),
)
