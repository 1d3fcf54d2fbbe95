"""Trials with any weights at all, and games whose right explanation is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import veridical as vd
from veridical.metrics.reports import Trial
from veridical.metrics.scenes import Scene
from veridical.models.adapters import model_of
from veridical.models.targets import resolve
from veridical.toys import Game

COEFFICIENTS = (3.0, -2.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0)


def linear(masks: Any) -> Any:
    """A game that is a sum: its coefficients are the right explanation, whatever is asked."""
    return np.asarray(masks, float) @ np.array(COEFFICIENTS) + 0.25


def trial_of(
    predict: Callable[[Any], Any],
    d: int,
    weights: Any,
    *,
    intercept: float = 0.25,
    explain: Callable[..., Any] | None = None,
    seed: int = 0,
) -> Trial:
    """A trial of an explanation with these weights, of a game of d parts."""
    game, model = Game(), model_of(predict, None)
    representation = game(d)
    target = resolve(None, model, model(np.ones((1, d))))
    weights = np.asarray(weights, float)
    made = vd.explain(predict, game, d, method=vd.Occlusion())
    why = replace(
        made, weights=weights, intercept=intercept, local_prediction=float(intercept + weights.sum()), recipe={}
    )
    return Trial(
        x=np.ones(d),
        represent=game,
        representation=representation,
        model=model,
        target=target,
        explanation=why,
        explain=explain or (lambda other, seed, model=None: why),
        scene=Scene(np.ones(d), game, representation, model, target, np.random.SeedSequence(seed)),
    )
