"""Does the explanation point at what is known to matter?"""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.evaluate.records import Metric, Trial
from veridical.evaluate.weights import mass_of, top_of
from veridical.records import Bools, Floats, Representation
from veridical.represent.regions import numbers_of

MOST = 10  # parts that a reader looks at, as in the LIME paper
INSIDE = 0.5  # share of a part from which on it counts as inside the truth


def recall(trial: Trial, rng: np.random.Generator) -> float:
    """Ribeiro et al. 2016, section 5.2: of the true parts, the share that the explanation shows."""
    true = _true(trial)
    shown = max(min(MOST, -(-len(true) // 2)), int(true.sum()))
    return float((top_of(trial.explanation.weights, shown, rng) & true).sum() / true.sum())


def precision(trial: Trial, rng: np.random.Generator) -> float:
    """Precision at k, where k is the number of true parts."""
    true = _true(trial)
    return float((top_of(trial.explanation.weights, int(true.sum()), rng) & true).sum() / true.sum())


def pointing(trial: Trial, rng: np.random.Generator) -> float:
    """The pointing game (Zhang et al. 2018): whether the heaviest part is inside the truth."""
    return float((top_of(trial.explanation.weights, 1, rng) & _true(trial)).any())


def mass(trial: Trial, rng: np.random.Generator) -> float:
    """Relevance mass accuracy (Arras et al. 2022): the share of weight inside the truth."""
    inside = _shares(trial)
    return float(mass_of(trial.explanation.weights) @ inside)


def _shares(trial: Trial) -> Floats:
    if trial.truth is None:
        raise InputError("there is no truth for this instance: give truth=[…], one item an instance")
    return trial.truth


def _true(trial: Trial) -> Bools:
    true = np.asarray(_shares(trial) >= INSIDE)
    if not true.any():
        raise InputError("no part lies inside the truth, half of it at least")
    return true


def truth_of(item: Any, representation: Representation, x: Any) -> Floats:
    """The share of each part that lies inside the truth, (d,).

    The truth is one number or bool a part, names of parts or of columns, or an array that fits the instance:
    one number a pixel, step, sample, or value of a spectrogram.
    """
    if isinstance(item, (set, frozenset)) or (
        isinstance(item, (list, tuple)) and item and all(isinstance(name, str) for name in item)
    ):
        names = {str(name) for name in item}
        found = np.array([bool({p.name, p.column} & names) for p in representation.parts])
        if not names:
            raise InputError("the truth is empty: it names no part")
        if not found.any():
            raise InputError(
                f"none of the truth's names ({', '.join(sorted(names)[:6])}) is a part of this instance; its "
                f"parts are called {', '.join(representation.names[:3])}, …"
            )
        return found.astype(np.float64)
    values = numbers_of(item, "the truth").astype(np.float64)
    if values.size and (values.min() < 0 or values.max() > 1):
        raise InputError("the truth wants bools, or shares from 0 to 1")
    d = len(representation.parts)
    shares = values if values.shape == (d,) else _by_place(values, representation, x)
    if not shares.any():
        raise InputError("the truth is empty: no part lies inside it")
    return shares


def _by_place(values: Floats, representation: Representation, x: Any) -> Floats:
    """The mean of an array over the places of each part."""
    d, places = len(representation.parts), getattr(getattr(representation, "compose", None), "places", None)
    shape = np.shape(x) if places is None else places.shape
    shares = places.shares(values, d) if places is not None and values.ndim else None
    if shares is not None:
        return np.asarray(shares)
    bounds = getattr(getattr(representation, "view", None), "data", {}).get("bounds")
    if bounds is not None and values.shape == np.shape(x)[-1:]:
        edges = np.rint(bounds[:, :2] / bounds[:, 1].max() * len(values)).astype(int)
        return np.array([values[a:b].mean() for a, b in edges])
    raise InputError(
        f"the truth has shape {values.shape}; wanted one bool a part ({d}), names of parts, or an array "
        f"of the instance's shape {shape}"
    )


TRUTH = (
    Metric(
        "recall",
        recall,
        "higher",
        "truth",
        "Of the parts that are known to matter, the share among the ten heaviest; of few parts, the heavier half.",
        least=0.0,
        most=1.0,
    ),
    Metric(
        "precision",
        precision,
        "higher",
        "truth",
        "Of the heaviest k parts, the share that is known to matter, where k is how many do.",
        least=0.0,
        most=1.0,
    ),
    Metric(
        "pointing",
        pointing,
        "higher",
        "truth",
        "How often the heaviest part is one that is known to matter.",
        least=0.0,
        most=1.0,
    ),
    Metric(
        "mass",
        mass,
        "higher",
        "truth",
        "The share of all weight, in size, that lies inside what is known to matter.",
        least=0.0,
        most=1.0,
    ),
)
