"""Does the explanation change when the model does?"""

from __future__ import annotations

import numpy as np

from veridical.errors import InputError
from veridical.evaluate.records import Metric, Trial
from veridical.evaluate.taken import scene_of
from veridical.evaluate.weights import rank_correlation

OTHER = 13  # the purpose that the seed is for


def randomization(trial: Trial, rng: np.random.Generator) -> float:
    """Adebayo et al. 2018: rank correlation of sizes of weights with those of a randomized model."""
    if trial.randomized is None:
        raise InputError("there is no randomized model: give randomized=…, a predict function")
    seed = scene_of(trial).child(OTHER)
    other = trial.explain(trial.representation, seed, trial.randomized)
    return abs(rank_correlation(np.abs(trial.explanation.weights), np.abs(other.weights)))


RANDOMIZATION = (
    Metric(
        "randomization",
        randomization,
        "lower",
        "randomization",
        "Size of the rank correlation of the sizes of weights with those of a model whose parameters are random; "
        "the unit of the weights does not matter.",
        least=0.0,
        most=1.0,
    ),
)
