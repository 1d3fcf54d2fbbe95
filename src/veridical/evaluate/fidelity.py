"""Does the explanation say what the model does nearby?"""

from __future__ import annotations

import numpy as np

from veridical.attribute.question import is_flat
from veridical.errors import InputError
from veridical.evaluate.records import Metric, Trial
from veridical.evaluate.taken import Taking, scene_of, slopes_of
from veridical.evaluate.weights import correlation
from veridical.records import Bools, Floats

MASKS = 128  # random sets of parts that are taken away
SHARE = 0.25  # of the parts, that each of them takes where their number is fixed


def fidelity(trial: Trial, rng: np.random.Generator) -> float:
    """Weighted R² of intercept and weights (Ribeiro et al. 2016, Equation 1, as a share of the variance)."""
    said, y, w = _nearby(trial)
    rest, mean = w @ (y - trial.explanation.intercept - said) ** 2, w @ y / w.sum()
    return float(1 - rest / (w @ (y - mean) ** 2))


def correlation_nearby(trial: Trial, rng: np.random.Generator) -> float:
    """The same without regard to scale: weighted correlation of the explanation's sum with the output."""
    return correlation(*_nearby(trial))


def without_some(effects: Floats, rng: np.random.Generator) -> Bools:
    """All parts, then all but random sets of a quarter of them."""
    d = len(effects)
    place = rng.random((MASKS, d)).argsort(axis=1).argsort(axis=1)
    return np.vstack([np.ones((1, d), bool), place >= max(round(SHARE * d), 1)])


def without_few(effects: Floats, rng: np.random.Generator) -> Bools:
    """All parts, then all but random sets of one part up to a quarter of them.

    Where half of the parts are gone, many models answer as if all were: then nothing is left to foretell.
    """
    d = len(effects)
    place = rng.random((MASKS, d)).argsort(axis=1).argsort(axis=1)
    sizes = rng.integers(1, max(round(SHARE * d), 1) + 1, (MASKS, 1))
    return np.vstack([np.ones((1, d), bool), place >= sizes])


def faithfulness(effects: Floats, kept: Bools, outputs: Floats) -> float:
    """Bhatt et al. 2020, Definition 3: correlation of what sets add with how much the output falls."""
    return correlation(~kept[1:] @ effects, _drops(outputs))


def infidelity(effects: Floats, kept: Bools, outputs: Floats) -> float:
    """Yeh et al. 2019, Definition 2.1, after the best scaling, over the mean square of the change.

    The best scale is not negative: weights with the wrong signs foretell nothing.
    """
    said, seen = ~kept[1:] @ effects, _drops(outputs)
    size, both = float(said @ said), max(float(said @ seen), 0.0)
    return 1.0 if size == 0 else max(float(1 - both**2 / (size * float(seen @ seen))), 0.0)


def _drops(outputs: Floats) -> Floats:
    """How much lower the output is than that of the instance, (n,)."""
    if is_flat(outputs):
        raise InputError("the output does not change, whichever parts are taken away")
    return np.asarray(outputs[0] - outputs[1:])


def _nearby(trial: Trial) -> tuple[Floats, Floats, Floats]:
    """What the weights add up to on fresh samples, the output there, and how much each counts, (n,) each."""
    designs, y, w = scene_of(trial).fresh()
    if is_flat(y[w > 0]):
        raise InputError("the output does not change near this instance")
    if (slopes_of(trial.representation.parts) & ~slopes_of(trial.explanation.parts)).any():
        raise InputError("the weights say what taking a number away does, and samples change numbers by degrees")
    return designs @ np.nan_to_num(trial.explanation.weights), y, w


FIDELITY = (
    Metric(
        "fidelity",
        fidelity,
        "higher",
        "fidelity",
        "Share of the output's variance near the instance that intercept and weights explain (R²), on fresh "
        "samples; it asks for weights in the unit of the output.",
        most=1.0,
    ),
    Metric(
        "correlation",
        correlation_nearby,
        "higher",
        "fidelity",
        "Correlation of the sum of the weights of kept parts with the output, on the same fresh samples; the unit "
        "of the weights does not matter.",
        least=-1.0,
        most=1.0,
    ),
    Metric(
        "faithfulness_correlation",
        Taking(without_some, faithfulness, key=1),
        "higher",
        "fidelity",
        "Correlation of the sum of the weights of a random quarter of the parts with how much the output falls "
        "without them; the unit of the weights does not matter.",
        least=-1.0,
        most=1.0,
    ),
    Metric(
        "infidelity",
        Taking(without_few, infidelity, key=2),
        "lower",
        "fidelity",
        "Share of the output's squared change, when one part up to a quarter of them are taken away at random, "
        "that the weights do not foretell at their best scale.",
        least=0.0,
        most=1.0,
    ),
)
