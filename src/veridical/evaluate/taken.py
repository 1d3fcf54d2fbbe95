"""Metrics that take parts away: which parts, and a number from what the model says without them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.evaluate.records import Metric, Trial
from veridical.evaluate.scene import CELLS, Keeping, Scene
from veridical.records import PER_UNIT, Bools, Floats, Part


@dataclass(frozen=True, eq=False)
class Taking:
    """A measure in two steps, so that all methods' and metrics' questions reach the model in one batch.

    ``kept`` says which parts are kept, a mask a row; ``value`` makes a number of what the explanation says that
    each part adds, the masks, and the outputs for them.
    """

    kept: Callable[[Floats, np.random.Generator], Bools]
    value: Callable[[Floats, Bools, Floats], float]
    draws: int = 32  # of the background a mask, where parts are not simply taken away
    scaled: bool = False  # 0 is the output without any part, and outputs of random parts range over 1
    key: int = 1

    def wants(self, trial: Trial, rng: np.random.Generator) -> Keeping:
        """What the model has to be asked; of very many parts, with fewer draws."""
        if not trial.explanation.tested.any():
            raise InputError("no part was tested: what replaces the parts is what was there")
        tested = trial.explanation.tested
        some = np.asarray(self.kept(effects_of(trial)[tested], rng), dtype=bool)
        kept = np.ones((len(some), len(tested)), bool)  # what was not tested always stays
        kept[:, tested] = some
        return Keeping(kept, min(self.draws, max(CELLS // kept.size, 2)), self.key)

    def __call__(self, trial: Trial, rng: np.random.Generator) -> float:
        scene, wanted = scene_of(trial), self.wants(trial, rng)
        outputs = scene.without(wanted)
        if self.scaled:
            bottom, spread = scene.spread()
            outputs = (outputs - bottom) / (spread or np.nan)
        tested = trial.explanation.tested
        return self.value(effects_of(trial)[tested], wanted.kept[:, tested], outputs)


def ask_ahead(scene: Scene, trials: Sequence[Trial], metrics: Sequence[Metric], rng: Callable[..., Any]) -> None:
    """Ask the model at once about all that these metrics will want to know."""
    taking = [(metric, metric.measure) for metric in metrics if isinstance(metric.measure, Taking)]
    able = [trial for trial in trials if trial.explanation.tested.any()]
    wanted = [measure.wants(trial, rng(scene, metric)) for metric, measure in taking for trial in able]
    some = [scene.some()] if any(measure.scaled for _, measure in taking) else []
    if wanted:
        scene.ask([*wanted, *some])


def effects_of(trial: Trial) -> Floats:
    """What each part adds to the output here, as the explanation says, (d,)."""
    weights, numbers = trial.explanation.weights, slopes_of(trial.explanation.parts)
    return weights * np.where(numbers, scene_of(trial).own_design(), 1.0) if numbers.any() else weights


def slopes_of(parts: Sequence[Part]) -> Bools:
    """Which weights are of one unit of a number, and not of taking the part away, (d,)."""
    return np.array([part.relation == PER_UNIT for part in parts], bool)


def scene_of(trial: Trial) -> Scene:
    """What is shared by all explanations of the instance; a trial of one's own gets one of its own."""
    if isinstance(trial.scene, Scene):
        return trial.scene
    seed = np.random.SeedSequence(0)
    return Scene(trial.x, trial.represent, trial.representation, trial.model, trial.target, seed)
