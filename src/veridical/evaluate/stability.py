"""Is the explanation the same if it is made again, from fewer samples, or of an instance nearby?"""

from __future__ import annotations

import numpy as np

from veridical.errors import InputError
from veridical.evaluate.records import Metric, Trial
from veridical.evaluate.taken import scene_of
from veridical.evaluate.weights import likeness, matched, rank_correlation, tested_in_both, top_of
from veridical.records import Bools, Explanation, Floats

SEEDS = 1  # other explanations that each is compared with
TOP = 5  # parts that are kept in mind, but at most half of them
AGAIN, SIZED, CLOSE = 10, 11, 12  # purposes that seeds are for


def seeds(trial: Trial, rng: np.random.Generator) -> float:
    """Likeness of the weights to those that other seeds give."""
    scene, own = scene_of(trial), trial.explanation.weights
    others = [trial.explain(trial.representation, scene.child(AGAIN, i)).weights for i in range(SEEDS)]
    return float(np.mean([likeness(own, other) for other in others]))


def sizes(trial: Trial, rng: np.random.Generator) -> float:
    """Likeness of the weights to those from half as many samples; from twice as many, if half were too few."""
    if trial.again is None:
        raise InputError("this method has no number of samples")
    other = trial.again(trial.representation, scene_of(trial).child(SIZED))
    return likeness(trial.explanation.weights, other.weights)


def max_sensitivity(trial: Trial, rng: np.random.Generator) -> float:
    """Yeh et al. 2019, Definition 4.1: the largest change of the weights nearby, as a share of their size."""
    changes = []
    for own, other in (tested_in_both(*pair) for pair in _nearby_weights(trial)):
        if not own.any():
            raise InputError("the explanation is empty: no part has weight")
        changes.append(float(np.linalg.norm(other - own) / np.linalg.norm(own)))
    return max(changes)


def nearby_ranks(trial: Trial, rng: np.random.Generator) -> float:
    """Rank correlation of the weights with those of instances nearby."""
    return float(np.mean([rank_correlation(own, other) for own, other in _nearby_weights(trial)]))


def nearby_parts(trial: Trial, rng: np.random.Generator) -> float:
    """Overlap (Jaccard) of the five heaviest parts with those of instances nearby."""
    found = []
    for other in _nearby(trial):
        here, there = matched(trial.explanation, other)
        one, two = _top(trial.explanation, here, rng), _top(other, there, rng)
        if not (one | two).any():
            raise InputError("the explanation is empty: no part has weight")
        found.append(float((one & two).sum() / (one | two).sum()))
    return float(np.mean(found))


def _top(
    explanation: Explanation, at: np.ndarray[tuple[int], np.dtype[np.int64]], rng: np.random.Generator
) -> Bools:
    """Which of the parts that both have are among the heaviest of them."""
    weights = np.zeros_like(explanation.weights)
    weights[at] = explanation.weights[at]
    k = max(min(TOP, len(np.unique(at)) // 2), 1)
    return np.asarray(top_of(weights, k, rng)[at])


def _nearby(trial: Trial) -> list[Explanation]:
    scene = scene_of(trial)
    return [trial.explain(other, scene.child(CLOSE, i)) for i, other in enumerate(scene.neighbors())]


def _nearby_weights(trial: Trial) -> list[tuple[Floats, Floats]]:
    found = []
    for other in _nearby(trial):
        here, there = matched(trial.explanation, other)
        found.append((trial.explanation.weights[here], other.weights[there]))
    return found


STABILITY = (
    Metric(
        "seeds",
        seeds,
        "higher",
        "stability",
        "Cosine of the weights with those that other seeds give: 1 if only their unit differs.",
        least=-1.0,
        most=1.0,
    ),
    Metric(
        "sizes",
        sizes,
        "higher",
        "stability",
        "Cosine of the weights with those from half (of few, twice) as many samples: 1 if only the unit differs.",
        least=-1.0,
        most=1.0,
    ),
    Metric(
        "max_sensitivity",
        max_sensitivity,
        "lower",
        "stability",
        "Largest change of the weights on instances nearby, as a share of their size; the unit of the weights "
        "does not matter.",
        least=0.0,
    ),
    Metric(
        "nearby_ranks",
        nearby_ranks,
        "higher",
        "stability",
        "Rank correlation of the weights with those of instances nearby; the unit of the weights does not matter.",
        least=-1.0,
        most=1.0,
    ),
    Metric(
        "nearby_parts",
        nearby_parts,
        "higher",
        "stability",
        "Overlap of the five heaviest parts (of few, the heavier half) with those of instances nearby: 1 if they "
        "are the same.",
        least=0.0,
        most=1.0,
    ),
)
