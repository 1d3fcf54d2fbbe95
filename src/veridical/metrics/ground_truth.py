"""Ground truth metrics: does the explanation point at the features that are known to matter?"""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.metrics.reports import Metric, Trial
from veridical.metrics.weights import mask_heaviest, share_weights
from veridical.protocols import Representation, Viewable
from veridical.records import Bools, Floats
from veridical.representations.masking import Masked
from veridical.representations.regions import PlacedComposer, numbers_of

MAX_SHOWN_PARTS = 10  # parts that a reader looks at, as in the LIME paper
MIN_SHARE_INSIDE = 0.5  # share of a part from which on it counts as inside the truth


def recall(trial: Trial, rng: np.random.Generator) -> float:
    """Share of the true features among the heaviest ones (Ribeiro et al. 2016, section 5.2)."""
    true = _true_parts(trial)
    shown = max(min(MAX_SHOWN_PARTS, -(-len(true) // 2)), int(true.sum()))
    return float((mask_heaviest(trial.explanation.weights, shown, rng) & true).sum() / true.sum())


def precision(trial: Trial, rng: np.random.Generator) -> float:
    """Precision at k, where k is the number of true features."""
    true = _true_parts(trial)
    return float((mask_heaviest(trial.explanation.weights, int(true.sum()), rng) & true).sum() / true.sum())


def pointing(trial: Trial, rng: np.random.Generator) -> float:
    """The pointing game: is the heaviest feature inside the truth? (Zhang et al. 2018)"""
    return float((mask_heaviest(trial.explanation.weights, 1, rng) & _true_parts(trial)).any())


def mass_inside(trial: Trial, rng: np.random.Generator) -> float:
    """Relevance mass accuracy: the share of all weight inside the truth (Arras et al. 2022)."""
    inside = _truth_shares(trial)  # refused before the weights are
    return float(share_weights(trial.explanation.weights) @ inside)


def _truth_shares(trial: Trial) -> Floats:
    if trial.truth is None:
        raise InputError("there is no truth for this instance: give truth=[…], one item per instance")
    return trial.truth


def _true_parts(trial: Trial) -> Bools:
    true = np.asarray(_truth_shares(trial) >= MIN_SHARE_INSIDE)
    if not true.any():
        raise InputError("no feature lies inside the truth, at least half of it")
    return true


def read_truth(item: Any, representation: Representation, x: Any) -> Floats:
    """The share of each feature that lies inside the truth, (d,).

    The truth is one number or bool per feature, names of features or columns, or an array that fits the instance:
    one number per pixel, step, sample, or value of a spectrogram.
    """
    if isinstance(item, (set, frozenset)) or (
        isinstance(item, (list, tuple)) and item and all(isinstance(name, str) for name in item)
    ):
        names = {str(name) for name in item}
        found = np.array([bool({p.name, p.column} & names) for p in representation.parts])
        if not names:
            raise InputError("the truth is empty: it names no feature")
        if not found.any():
            raise InputError(
                f"none of the truth's names ({', '.join(sorted(names)[:6])}) is a feature of this instance; its "
                f"features are called {', '.join(representation.names[:3])}, …"
            )
        return found.astype(np.float64)
    values = numbers_of(item, "the truth").astype(np.float64)
    if values.size and (values.min() < 0 or values.max() > 1):
        raise InputError("the truth must be bools, or shares from 0 to 1")
    d = len(representation.parts)
    shares = values if values.shape == (d,) else _share_by_place(values, representation, x)
    if not shares.any():
        raise InputError("the truth is empty: no feature lies inside it")
    return shares


def _share_by_place(values: Floats, representation: Representation, x: Any) -> Floats:
    """The mean of an array over the places of each feature."""
    compose = representation.compose if isinstance(representation, Masked) else None
    places = compose.places if isinstance(compose, PlacedComposer) else None  # if each place is of one part alone
    d = len(representation.parts)
    shape = np.shape(x) if places is None else places.shape
    shares = places.shares(values, d) if places is not None and values.ndim else None
    if shares is not None:
        return np.asarray(shares)
    view = representation.view if isinstance(representation, Viewable) else None
    bounds = None if view is None else view.data.get("bounds")
    if bounds is not None and values.shape == np.shape(x)[-1:]:
        edges = np.rint(bounds[:, :2] / bounds[:, 1].max() * len(values)).astype(int)
        return np.array([values[a:b].mean() for a, b in edges])
    raise InputError(
        f"the truth has shape {values.shape}; it must be one bool per feature ({d}), names of features, or an "
        f"array of the instance's shape {shape}"
    )


TRUTH = (
    Metric("recall", recall, "higher", "truth",
           "Of the features that are known to matter, the share among the ten heaviest; of few features, the "
           "heavier half.", least=0.0, most=1.0),
    Metric("precision", precision, "higher", "truth",
           "Of the heaviest k features, the share that is known to matter, where k is how many do.",
           least=0.0, most=1.0),
    Metric("pointing", pointing, "higher", "truth",
           "How often the heaviest feature is one that is known to matter.", least=0.0, most=1.0),
    Metric("mass", mass_inside, "higher", "truth",
           "The share of all weight, in size, that lies inside what is known to matter.", least=0.0, most=1.0),
)  # fmt: skip
