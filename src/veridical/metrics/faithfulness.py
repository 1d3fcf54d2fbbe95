"""Does the explanation say what the model does nearby, and when features are removed or put back?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.methods.results import is_flat
from veridical.metrics.reports import Metric, Trial
from veridical.metrics.scenes import MAX_VALUES, KeptParts, Scene
from veridical.metrics.weights import correlation, rank_correlation, rank_descending
from veridical.protocols import Comparable
from veridical.records import PER_UNIT, Bools, Floats, Ints, Part
from veridical.surrogates.additive import local_values


@dataclass(frozen=True, eq=False)
class RemovalMeasure:
    """A metric in two steps, so that all queries of all methods and metrics reach the model in one batch.

    ``masks`` returns which features are kept, one mask per row; ``value`` computes the number from what the
    explanation says that each feature adds, the masks, and the outputs.
    """

    masks: Callable[[Floats, np.random.Generator], Bools]
    value: Callable[[Floats, Bools, Floats], float]
    draws: int = 32  # of the background a mask, where parts are not simply taken away
    scaled: bool = False  # 0 is the output without any part, and outputs of random parts range over 1
    key: int = 1

    def plan_masks(self, trial: Trial, rng: np.random.Generator) -> KeptParts:
        """What to query the model with; with fewer draws if there are very many features."""
        if not trial.explanation.tested.any():
            raise InputError("no feature was tested: the replacements are what was there")
        tested = trial.explanation.tested
        some = np.asarray(self.masks(trial_effects(trial)[tested], rng), dtype=bool)
        kept = np.ones((len(some), len(tested)), bool)  # what was not tested always stays
        kept[:, tested] = some
        return KeptParts(kept, min(self.draws, max(MAX_VALUES // kept.size, 2)), self.key)

    def __call__(self, trial: Trial, rng: np.random.Generator) -> float:
        scene, wanted = get_scene(trial), self.plan_masks(trial, rng)
        outputs = scene.outputs_without(wanted)
        if self.scaled:
            bottom, spread = scene.spread()
            outputs = (outputs - bottom) / (spread or np.nan)
        tested = trial.explanation.tested
        return self.value(trial_effects(trial)[tested], wanted.kept[:, tested], outputs)


def query_ahead(scene: Scene, trials: Sequence[Trial], metrics: Sequence[Metric], rng: Callable[..., Any]) -> None:
    """Query the model in one batch with all that these metrics need."""
    taking = [(metric, metric.measure) for metric in metrics if isinstance(metric.measure, RemovalMeasure)]
    able = [trial for trial in trials if trial.explanation.tested.any()]
    wanted = [measure.plan_masks(trial, rng(scene, metric)) for metric, measure in taking for trial in able]
    some = [scene.draw_spread_masks()] if any(measure.scaled for _, measure in taking) else []
    if wanted:
        scene.query([*wanted, *some])


def trial_effects(trial: Trial) -> Floats:
    """What each feature adds to the output here, as the explanation says, (d,)."""
    weights, numbers = trial.explanation.weights, find_slopes(trial.explanation.parts)
    return weights * np.where(numbers, get_scene(trial).own_design(), 1.0) if numbers.any() else weights


def find_slopes(parts: Sequence[Part]) -> Bools:
    """Which weights are per unit of a number, not for taking the feature away, (d,)."""
    return np.array([part.relation == PER_UNIT for part in parts], bool)


def get_scene(trial: Trial) -> Scene:
    """The scene that all explanations of an instance share; a trial without one gets its own."""
    if isinstance(trial.scene, Scene):
        return trial.scene
    seed = np.random.SeedSequence(0)
    return Scene(trial.x, trial.represent, trial.representation, trial.model, trial.target, seed)


MAX_CURVE_STEPS = 32  # of a curve, at most
MAX_SINGLE_REMOVALS = 512  # parts that are taken away alone, at most
TOP_SHARES = (0.05, 0.1, 0.2, 0.5)  # of the parts, as in ERASER but for 1 %, which is less than one of most


def insertion_masks(effects: Floats, rng: np.random.Generator) -> Bools:
    """From no feature to all of them, those that raise the output most first."""
    d = len(effects)
    counts = np.unique(np.linspace(0, d, min(d, MAX_CURVE_STEPS) + 1).round().astype(np.int64))
    return mask_first(rank_descending(effects, rng), counts)


def deletion_masks(effects: Floats, rng: np.random.Generator) -> Bools:
    """From all features to none, those that raise the output most first."""
    return ~insertion_masks(effects, rng)


def keep_top(effects: Floats, rng: np.random.Generator) -> Bools:
    """All features, then only the few that raise the output most."""
    d = len(effects)
    counts = np.unique(np.ceil(np.array(TOP_SHARES) * d).astype(np.int64))
    return np.vstack([np.ones((1, d), bool), mask_first(rank_descending(effects, rng), counts)])


def remove_top(effects: Floats, rng: np.random.Generator) -> Bools:
    """All features, then all but the few that raise the output most."""
    masks = keep_top(effects, rng)
    return np.vstack([masks[:1], ~masks[1:]])


def remove_each(effects: Floats, rng: np.random.Generator) -> Bools:
    """All features, then all but one; of very many features, a random sample."""
    d = len(effects)
    gone = np.arange(d) if d <= MAX_SINGLE_REMOVALS else np.sort(rng.choice(d, MAX_SINGLE_REMOVALS, replace=False))
    masks = np.ones((1 + len(gone), d), bool)
    masks[np.arange(1, len(masks)), gone] = False
    return masks


def mask_first(order: Ints, counts: Ints | None = None) -> Bools:
    """Masks (n, d) that keep the first so many features of an order; by default 0 to all of them."""
    counts = np.arange(len(order) + 1) if counts is None else counts
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return np.asarray(place < counts[:, None])


def area_under_curve(effects: Floats, kept: Bools, outputs: Floats) -> float:
    """Area under a curve over the share of features, by trapezoids (Petsiuk et al. 2018)."""
    if not np.isfinite(outputs).all():
        raise InputError("the output does not change, whichever features are removed")
    widths = np.abs(np.diff(kept.mean(axis=1)))
    return float(widths @ (outputs[1:] + outputs[:-1]) / 2)


def mean_drop(effects: Floats, kept: Bools, outputs: Floats) -> float:
    """Mean drop of the output below that of the instance (DeYoung et al. 2020, ERASER)."""
    return float(outputs[0] - outputs[1:].mean())


def rank_agreement(effects: Floats, kept: Bools, outputs: Floats) -> float:
    """Rank correlation of the size of each weight with how much the feature alone changes the output.

    After Nguyen and Martínez 2020. Where replacements are drawn, theirs is the mean square of the change; this is
    the size of the mean change, which is what weights estimate.
    """
    change = np.abs(outputs[0] - outputs[1:])
    if is_flat(outputs) or is_flat(change):
        raise InputError("all features change the output by the same when they are removed alone")
    size = np.abs(~kept[1:] @ effects)
    return 0.0 if np.ptp(size) == 0 else rank_correlation(size, change)


REMOVAL = (
    Metric("deletion", RemovalMeasure(deletion_masks, area_under_curve, draws=16, scaled=True, key=3), "lower", "removal",
           "Mean output while features are removed, those that raise it most first; 0 is the output without "
           "any feature, and outputs of random features range over 1. Only the order of the weights matters."),
    Metric("insertion", RemovalMeasure(insertion_masks, area_under_curve, draws=16, scaled=True, key=4), "higher", "removal",
           "Mean output while features are put back, those that raise it most first, on the same scale. Only "
           "the order of the weights matters."),
    Metric("comprehensiveness", RemovalMeasure(remove_top, mean_drop, key=5), "higher", "removal",
           "How much the output falls, in its own unit, without the features that raise it most (mean over 5, "
           "10, 20 and 50 % of the features). Only the order of the weights matters."),
    Metric("sufficiency", RemovalMeasure(keep_top, mean_drop, key=6), "lower", "removal",
           "How much the output falls, in its own unit, if only the features that raise it most are kept (mean "
           "over 5, 10, 20 and 50 % of the features). Only the order of the weights matters."),
    Metric("monotonicity", RemovalMeasure(remove_each, rank_agreement, draws=64, key=7), "higher", "removal",
           "Rank correlation of the size of each weight with how much the output changes when the feature "
           "alone is removed.", least=-1.0, most=1.0),
)  # fmt: skip


N_RANDOM_MASKS = 128  # random sets of parts that are taken away
REMOVED_SHARE = 0.25  # of the parts, that each of them takes where their number is fixed


def local_fidelity(trial: Trial, rng: np.random.Generator) -> float:
    """Weighted R² of the local model on fresh samples (Ribeiro et al. 2016, Equation 1)."""
    said, y, w = _predict_nearby(trial)
    mean = w @ y / w.sum()
    return float(1 - w @ (y - said) ** 2 / (w @ (y - mean) ** 2))


def local_correlation(trial: Trial, rng: np.random.Generator) -> float:
    """Weighted correlation of the local model with the output on fresh samples."""
    return correlation(*_predict_nearby(trial))


def remove_quarter(effects: Floats, rng: np.random.Generator) -> Bools:
    """All features, then all but random sets of a quarter of them."""
    d = len(effects)
    place = rng.random((N_RANDOM_MASKS, d)).argsort(axis=1).argsort(axis=1)
    return np.vstack([np.ones((1, d), bool), place >= max(round(REMOVED_SHARE * d), 1)])


def remove_up_to_quarter(effects: Floats, rng: np.random.Generator) -> Bools:
    """All features, then all but random sets of one up to a quarter of them.

    Without half of their features, many models answer as if all were gone: then nothing is left to predict.
    """
    d = len(effects)
    place = rng.random((N_RANDOM_MASKS, d)).argsort(axis=1).argsort(axis=1)
    sizes = rng.integers(1, max(round(REMOVED_SHARE * d), 1) + 1, (N_RANDOM_MASKS, 1))
    return np.vstack([np.ones((1, d), bool), place >= sizes])


def faithfulness(effects: Floats, kept: Bools, outputs: Floats) -> float:
    """Correlation of what removed sets add with how much the output drops (Bhatt et al. 2020, Definition 3)."""
    return correlation(~kept[1:] @ effects, _output_drops(outputs))


def infidelity(effects: Floats, kept: Bools, outputs: Floats) -> float:
    """Relative squared error of predicted drops, at their best scale (Yeh et al. 2019, Definition 2.1).

    The best scale is not negative: weights with wrong signs predict nothing.
    """
    said, seen = ~kept[1:] @ effects, _output_drops(outputs)
    size, both = float(said @ said), max(float(said @ seen), 0.0)
    return 1.0 if size == 0 else max(float(1 - both**2 / (size * float(seen @ seen))), 0.0)


def _output_drops(outputs: Floats) -> Floats:
    """How far the output drops below that of the instance, (n,)."""
    if is_flat(outputs):
        raise InputError("the output does not change, whichever features are removed")
    return np.asarray(outputs[0] - outputs[1:])


def _predict_nearby(trial: Trial) -> tuple[Floats, Floats, Floats]:
    """The local model's answers to fresh samples, the outputs there, and the samples' weights, (n,) each."""
    fresh, why, own = get_scene(trial).sample_fresh(), trial.explanation, trial.representation
    if is_flat(fresh.outputs[fresh.weights > 0]):
        raise InputError("the output does not change near this instance")
    if why.curves:
        said = local_values(why, fresh.inputs)
    elif fresh.inputs is not None and why.names == own.names and isinstance(own, Comparable):  # bins, and numbers
        features = own.features(fresh.inputs)
        assert features is not None
        said = why.intercept + features.points[1:] @ np.nan_to_num(why.weights)
    else:
        said = local_values(why, fresh.designs)
    return said, fresh.outputs, fresh.weights


FIDELITY = (
    Metric("fidelity", local_fidelity, "higher", "fidelity",
           "Share of the output's variance near the instance that the local model explains (R²), on fresh samples "
           "that keep about half of the features; it asks for weights in the unit of the output.", most=1.0),
    Metric("correlation", local_correlation, "higher", "fidelity",
           "Correlation of the local model with the output, on the same fresh samples; the unit of the weights "
           "does not matter.", least=-1.0, most=1.0),
    Metric("faithfulness_correlation", RemovalMeasure(remove_quarter, faithfulness, key=1), "higher", "fidelity",
           "Correlation of the sum of the weights of a random quarter of the features with how much the output "
           "falls without them; the unit of the weights does not matter.", least=-1.0, most=1.0),
    Metric("infidelity", RemovalMeasure(remove_up_to_quarter, infidelity, key=2), "lower", "fidelity",
           "Share of the output's squared change, when one feature up to a quarter of them are removed at "
           "random, that the weights do not predict at their best scale.", least=0.0, most=1.0),
)  # fmt: skip
