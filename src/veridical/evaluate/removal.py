"""Does the output follow when parts are taken away or put back in the order of their weights?"""

from __future__ import annotations

import numpy as np

from veridical.attribute.question import is_flat
from veridical.errors import InputError
from veridical.evaluate.records import Metric
from veridical.evaluate.taken import Taking
from veridical.evaluate.weights import ordered, rank_correlation
from veridical.records import Bools, Floats, Ints

STEPS = 32  # of a curve, at most
SINGLES = 512  # parts that are taken away alone, at most
SHARES = (0.05, 0.1, 0.2, 0.5)  # of the parts, as in ERASER but for 1 %, which is less than one of most


def coming(effects: Floats, rng: np.random.Generator) -> Bools:
    """From no part to all of them, those that raise the output most first."""
    d = len(effects)
    counts = np.unique(np.linspace(0, d, min(d, STEPS) + 1).round().astype(np.int64))
    return first_of(ordered(effects, rng), counts)


def going(effects: Floats, rng: np.random.Generator) -> Bools:
    """From all parts to none, those that raise the output most first."""
    return ~coming(effects, rng)


def with_top(effects: Floats, rng: np.random.Generator) -> Bools:
    """All parts, then the few alone that raise the output most."""
    d = len(effects)
    counts = np.unique(np.ceil(np.array(SHARES) * d).astype(np.int64))
    return np.vstack([np.ones((1, d), bool), first_of(ordered(effects, rng), counts)])


def without_top(effects: Floats, rng: np.random.Generator) -> Bools:
    """All parts, then all but the few that raise the output most."""
    masks = with_top(effects, rng)
    return np.vstack([masks[:1], ~masks[1:]])


def without_each(effects: Floats, rng: np.random.Generator) -> Bools:
    """All parts, then all but one; of very many parts, for some of them, drawn at random."""
    d = len(effects)
    gone = np.arange(d) if d <= SINGLES else np.sort(rng.choice(d, SINGLES, replace=False))
    masks = np.ones((1 + len(gone), d), bool)
    masks[np.arange(1, len(masks)), gone] = False
    return masks


def first_of(order: Ints, counts: Ints) -> Bools:
    """Masks that keep so many parts from the start of the order, (n, d)."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return np.asarray(place < counts[:, None])


def area(effects: Floats, kept: Bools, outputs: Floats) -> float:
    """Area under a curve over the share of parts, by trapezoids (Petsiuk et al. 2018)."""
    if not np.isfinite(outputs).all():
        raise InputError("the output does not change, whichever parts are taken away")
    widths = np.abs(np.diff(kept.mean(axis=1)))
    return float(widths @ (outputs[1:] + outputs[:-1]) / 2)


def mean_drop(effects: Floats, kept: Bools, outputs: Floats) -> float:
    """How much lower the output is than that of the instance, on average (DeYoung et al. 2020, ERASER)."""
    return float(outputs[0] - outputs[1:].mean())


def agreement(effects: Floats, kept: Bools, outputs: Floats) -> float:
    """Nguyen and Martínez 2020: rank correlation of what parts add, in size, and of what each changes.

    Where what is there without a part is drawn, theirs is the mean square of the change, and this the size of its
    mean, which is what weights are of.
    """
    change = np.abs(outputs[0] - outputs[1:])
    if is_flat(outputs) or is_flat(change):
        raise InputError("all parts change the output by the same when they are taken away alone")
    size = np.abs(~kept[1:] @ effects)
    return 0.0 if np.ptp(size) == 0 else rank_correlation(size, change)


REMOVAL = (
    Metric(
        "deletion",
        Taking(going, area, draws=16, scaled=True, key=3),
        "lower",
        "removal",
        "Mean output while parts are taken away, those that raise it most first; 0 is the output without any "
        "part, and outputs of random parts range over 1. Only the order of the weights matters.",
    ),
    Metric(
        "insertion",
        Taking(coming, area, draws=16, scaled=True, key=4),
        "higher",
        "removal",
        "Mean output while parts are put back, those that raise it most first, on the same scale. Only the order "
        "of the weights matters.",
    ),
    Metric(
        "comprehensiveness",
        Taking(without_top, mean_drop, key=5),
        "higher",
        "removal",
        "How much the output falls, in its own unit, without the parts that raise it most (mean over 5, 10, 20 "
        "and 50 % of the parts). Only the order of the weights matters.",
    ),
    Metric(
        "sufficiency",
        Taking(with_top, mean_drop, key=6),
        "lower",
        "removal",
        "How much the output falls, in its own unit, if only the parts that raise it most are kept (mean over 5, "
        "10, 20 and 50 % of the parts). Only the order of the weights matters.",
    ),
    Metric(
        "monotonicity",
        Taking(without_each, agreement, draws=64, key=7),
        "higher",
        "removal",
        "Rank correlation of the size of each weight with how much the output changes when the part alone is "
        "taken away.",
        least=-1.0,
        most=1.0,
    ),
)
