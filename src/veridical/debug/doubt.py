"""What an explanation says of the label of its row: scores that are higher for labels that look wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from veridical.records import Floats, Ints

# explanations' weights (n, c) for the given labels, by column, and the labels (n,), to a score a row
Score = Callable[[Floats, Ints], Floats]


def against(weights: Floats, labels: Ints) -> Floats:
    """The share of all weight that speaks against the given label."""
    total = np.abs(weights).sum(axis=1)
    return np.asarray(np.maximum(-weights, 0).sum(axis=1) / np.where(total > 0, total, 1.0))


def unlike_class(weights: Floats, labels: Ints) -> Floats:
    """How unlike the mean explanation of the other rows with its label a row's is: 1 less the cosine."""
    found = np.ones(len(weights))
    for label in np.unique(labels):
        own = weights[labels == label]
        if len(own) > 1:
            found[labels == label] = 1 - cosines(own, own.sum(axis=0) - own)
    return found


def cosines(a: Floats, b: Floats) -> Floats:
    """Of rows, pair by pair; 0 where one has no weight."""
    sizes = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray((a * b).sum(axis=1) / np.where(sizes > 0, sizes, 1.0))


SCORES: Mapping[str, Score] = {"weight against the label": against, "unlike its class": unlike_class}
