"""Generalized fidelity: how well the explanation of an instance's group fits the model near that instance.

The group is chosen from the instance alone (``assign``); the model's answers to fresh neighbors are only compared
with what that group's explanation says of them.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np

import veridical as vd
from sets import Problem

SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the test instances, the surest first
LOOKS = 50  # test instances that tell how many features a region looks at


class Counted:
    """A model that counts the inputs it is asked about, and the processor time it takes."""

    def __init__(self, predict: Callable[[Any], Any]) -> None:
        self.predict, self.calls, self.seconds = predict, 0, 0.0

    def __call__(self, inputs: Any) -> Any:
        start = process_time()
        answers = self.predict(inputs)
        self.seconds += process_time() - start
        self.calls += len(inputs)
        return answers


def fit(problem: Problem, method: Any, k: int | None = None) -> tuple[vd.groupings.Grouping, dict[str, Any]]:
    """Groups of the training instances, and what they cost."""
    asked, start, wall = Counted(problem.predict), process_time(), perf_counter()
    grouping = vd.group(
        asked,
        problem.represent,
        problem.train,
        k=problem.setting.k if k is None else k,
        n_features=problem.setting.n_features,
        validation=problem.valid,
        method=method,
        rng=problem.split,
    )
    return grouping, {
        "seconds": process_time() - start,
        "wall": perf_counter() - wall,
        "model_seconds": asked.seconds,
        "calls": asked.calls,
        "calls_a_row": asked.calls / len(problem.train),
    }


def judge(problem: Problem, grouping: vd.groupings.Grouping) -> dict[str, Any]:
    """How good the groups are on the test instances; errors are roots of mean squares, in units of the output."""
    chances = grouping.assign(problem.test)
    said = np.asarray(problem.designs(grouping) @ grouping.weights.T) + grouping.intercepts
    said = said.reshape(*problem.values.shape, -1)  # (n, p, k)
    found = errors(said, problem.values, chances.argmax(axis=1))
    if problem.setting.sizes is not None:
        found["accuracy"] = agreement(said, problem.values, chances.argmax(axis=1))
    return {
        **found,
        "constant": float(problem.values.std()),
        "model": problem.own,
        "curve": curve(own_losses(said, problem.values, chances.argmax(axis=1)), chances.max(axis=1)),
        **features(grouping, problem.test),
        "groups_used": len(np.unique(chances.argmax(axis=1))),
    }


def own_losses(said: Any, values: Any, group: Any) -> Any:
    """Mean squared error near each instance, of its own group's explanation: (n,)."""
    own = said[np.arange(len(group)), :, group]  # (n, p)
    return np.square(own - values).mean(axis=1)


def errors(said: Any, values: Any, group: Any) -> dict[str, float]:
    """The error of each instance's own group, and of the group that is best in hindsight."""
    losses = np.square(said - values[:, :, None]).mean(axis=1)  # (n, k)
    return {
        "rmse": float(np.sqrt(own_losses(said, values, group).mean())),
        "hindsight": float(np.sqrt(losses.min(axis=1).mean())),
    }


def agreement(said: Any, values: Any, group: Any) -> float:
    """How often explanation and model are on the same side of one half."""
    own = said[np.arange(len(group)), :, group]
    return float(np.mean((own > 0.5) == (values > 0.5)))


def curve(losses: Any, surely: Any) -> list[tuple[float, float]]:
    """Share of the instances that are at least so sure, and the error on these; those equally sure go together."""
    found = []
    for share in SHARES:
        threshold = np.sort(surely)[::-1][max(int(np.ceil(share * len(surely))), 1) - 1]
        kept = surely >= threshold
        found.append((float(kept.mean()), float(np.sqrt(losses[kept].mean()))))
    return found


def features(grouping: vd.groupings.Grouping, instances: Any) -> dict[str, Any]:
    """How many features explanations use, and regions: the most, and the mean."""
    lines = np.count_nonzero(grouping.weights, axis=1)
    regions = region_features(grouping, instances)
    return {
        "line_features": int(lines.max()),
        "line_features_mean": float(lines.mean()),
        "region_features": int(regions.max()),
        "region_features_mean": float(regions.mean()),
    }


def region_features(grouping: vd.groupings.Grouping, instances: Any) -> Any:
    """The features each region is told by, (k,); where the gate is no linear score, those it gives as reasons."""
    for scores in ("slopes", "directions"):
        if hasattr(grouping.gate, scores):
            return np.count_nonzero(getattr(grouping.gate, scores), axis=1)
    rows = grouping.space.rows(grouping.space.read(instances[:LOOKS]))
    group = grouping.gate(rows).argmax(axis=1)
    told = np.zeros((grouping.k, rows.shape[1]), bool)
    for i, g in enumerate(group):
        told[g] |= np.asarray(grouping.gate.reasons(rows[i : i + 1], int(g))).ravel() != 0
    return told.sum(axis=1)
