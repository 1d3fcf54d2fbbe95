"""Stability: does the explanation stay the same when made again, and change when the model is randomized?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from veridical.errors import InputError
from veridical.metrics.faithfulness import get_scene
from veridical.metrics.reports import Metric, Trial
from veridical.metrics.weights import (
    cosine_similarity,
    mask_heaviest,
    match_parts,
    rank_correlation,
    tested_in_both,
)
from veridical.records import Bools, Explanation, Floats, Ints

N_SEEDS = 1  # other explanations that each is compared with
MAX_TOP_PARTS = 5  # parts that are kept in mind, but at most half of them
OTHER_SEED, OTHER_SIZE, NEARBY_SEED = 10, 11, 12  # purposes that seeds are for


def seed_similarity(trial: Trial, rng: np.random.Generator) -> float:
    """Cosine of the weights with those of other seeds."""
    scene, own = get_scene(trial), trial.explanation.weights
    others = [trial.explain(trial.representation, scene.child(OTHER_SEED, i)).weights for i in range(N_SEEDS)]
    return float(np.mean([cosine_similarity(own, other) for other in others]))


def size_similarity(trial: Trial, rng: np.random.Generator) -> float:
    """Cosine of the weights with those from half as many samples; twice as many if half are too few."""
    if trial.again is None:
        raise InputError("this method has no number of samples")
    other = trial.again(trial.representation, get_scene(trial).child(OTHER_SIZE))
    return cosine_similarity(trial.explanation.weights, other.weights)


def max_sensitivity(trial: Trial, rng: np.random.Generator) -> float:
    """Largest relative change of the weights on nearby instances (Yeh et al. 2019, Definition 4.1)."""
    changes = []
    for own, other in (tested_in_both(*pair) for pair in _pair_nearby_weights(trial)):
        if not own.any():
            raise InputError("the explanation is empty: no feature has weight")
        changes.append(float(np.linalg.norm(other - own) / np.linalg.norm(own)))
    return max(changes)


def nearby_ranks(trial: Trial, rng: np.random.Generator) -> float:
    """Rank correlation of the weights with those of nearby instances."""
    return float(np.mean([rank_correlation(own, other) for own, other in _pair_nearby_weights(trial)]))


def nearby_parts(trial: Trial, rng: np.random.Generator) -> float:
    """Overlap (Jaccard) of the five heaviest features with those of nearby instances."""
    found = []
    for other, here, there in _explain_nearby(trial):
        one, two = _mask_top_of(trial.explanation, here, rng), _mask_top_of(other, there, rng)
        if not (one | two).any():
            raise InputError("the explanation is empty: no feature has weight")
        found.append(float((one & two).sum() / (one | two).sum()))
    return float(np.mean(found))


def _mask_top_of(explanation: Explanation, at: Ints, rng: np.random.Generator) -> Bools:
    """Which of the common features are among the heaviest."""
    weights = np.zeros_like(explanation.weights)
    weights[at] = explanation.weights[at]
    k = max(min(MAX_TOP_PARTS, len(np.unique(at)) // 2), 1)
    return np.asarray(mask_heaviest(weights, k, rng)[at])


def _explain_nearby(trial: Trial) -> Iterator[tuple[Explanation, Ints, Ints]]:
    """Explanations of nearby instances, and where the features are that the instance has, too: here and there."""
    scene = get_scene(trial)
    for i, other in enumerate(scene.neighbors()):
        found = trial.explain(other, scene.child(NEARBY_SEED, i))
        yield found, *match_parts(trial.explanation, found)


def _pair_nearby_weights(trial: Trial) -> list[tuple[Floats, Floats]]:
    own = trial.explanation.weights
    return [(own[here], other.weights[there]) for other, here, there in _explain_nearby(trial)]


STABILITY = (
    Metric("seeds", seed_similarity, "higher", "stability",
           "Cosine of the weights with those that other seeds give: 1 if only their unit differs.",
           least=-1.0, most=1.0),
    Metric("sizes", size_similarity, "higher", "stability",
           "Cosine of the weights with those from half (of few, twice) as many samples: 1 if only the unit "
           "differs.", least=-1.0, most=1.0),
    Metric("max_sensitivity", max_sensitivity, "lower", "stability",
           "Largest change of the weights on instances nearby, as a share of their size; the unit of the "
           "weights does not matter.", least=0.0),
    Metric("nearby_ranks", nearby_ranks, "higher", "stability",
           "Rank correlation of the weights with those of instances nearby; the unit of the weights does not "
           "matter.", least=-1.0, most=1.0),
    Metric("nearby_parts", nearby_parts, "higher", "stability",
           "Overlap of the five heaviest features (of few, the heavier half) with those of instances nearby: 1 "
           "if they are the same.", least=0.0, most=1.0),
)  # fmt: skip


RANDOMIZED = 13  # the purpose that the seed is for


def randomized_correlation(trial: Trial, rng: np.random.Generator) -> float:
    """Rank correlation of the weights' sizes with those of a randomized model (Adebayo et al. 2018)."""
    if trial.randomized is None:
        raise InputError("there is no randomized model: give randomized=…, a predict function")
    seed = get_scene(trial).child(RANDOMIZED)
    other = trial.explain(trial.representation, seed, trial.randomized)
    return abs(rank_correlation(np.abs(trial.explanation.weights), np.abs(other.weights)))


RANDOMIZATION = (
    Metric("randomization", randomized_correlation, "lower", "randomization",
           "Size of the rank correlation of the sizes of weights with those of a model whose parameters are "
           "random; the unit of the weights does not matter.", least=0.0, most=1.0),
)  # fmt: skip
