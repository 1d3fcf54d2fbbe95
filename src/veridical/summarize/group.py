"""Groupwise explanations: from a model and its instances to K explanations with their regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from veridical.attribute.ask import Model
from veridical.attribute.recipe import recipe_of
from veridical.attribute.targets import Predicted, Target, resolve
from veridical.errors import InputError
from veridical.masks import generator
from veridical.records import Bools, Floats, Output, Seed, Verdict
from veridical.represent.space import space_of
from veridical.summarize.near import Near, dense
from veridical.summarize.records import Grouping
from veridical.summarize.regions import describe
from veridical.summarize.task import Found, Groups, Task

CHOOSE, MEASURE = 0.15, 0.1  # shares of the instances that are held out, to choose by and to measure by
LEAST = 10  # instances for each of these, at least
FEWEST = 60  # instances from which on some are held out
NEIGHBORS = 10  # on which fidelity is measured
TINY = 1e-20  # share of the squared outputs below which they do not vary
GOOD = 0.8  # fidelity from which on groups are worth believing
SAME = 0.01  # of fidelity that more groups must add


@dataclass(frozen=True, eq=False)
class Judged:
    """Groups, and how well they do on instances that were held out."""

    found: Found
    k: int
    losses: Floats  # (m,) of each held-out instance, by its own group
    ceiling: float
    near: Near
    group: Any  # (m,)
    held: bool  # whether nothing was learned from these instances


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is to be explained by groups, and how."""

    model: Model
    represent: Any
    X: Any
    validation: Any | None
    target: Any
    n_features: int
    seed: Seed


def group_all(method: Groups, wanted: Wanted, ks: Sequence[int]) -> Grouping:
    """Learn groups of the instances; of several numbers of groups, the fewest that are as good as the best."""
    space, seed = space_of(wanted.represent, wanted.X), wanted.seed
    points = space.read(wanted.X)
    if not len(points):
        raise InputError("there are no instances to group")
    if max(ks) > len(points):
        raise InputError(f"wanted at most as many groups as instances: k is {max(ks)}, instances {len(points)}")
    given = None if wanted.validation is None else space.read(wanted.validation)
    known, n_asked = _target(wanted)
    split, note = _split(points, given, max(ks), seed)
    task = Task(wanted.model, known, space, split.learn, split.choose, max(ks), wanted.n_features, seed)
    choose = task.near_held(NEIGHBORS, draw=1)
    tried = [_judge(method(own := replace(task, k=k)), own, choose) for k in ks]
    best = _fewest(tried)
    if len(ks) > 1:
        shown = ", ".join(f"{j.k}: {np.sqrt(j.losses.mean()):.3g}" for j in tried)
        note += (f"k = {best.k} is the least that is as good as any; held-out error by k: {shown}",)
    measure = choose if split.measure is None else replace(task, held=split.measure).near_held(NEIGHBORS, draw=2)
    task = replace(task, k=best.k)
    return _grouping(task, _judge(best.found, task, measure), points, note, recipe_of(method), n_asked)


def _target(wanted: Wanted) -> tuple[Target, int]:
    """One output for all instances: by default the class that is predicted most often."""
    instances, model, target = wanted.represent.each(wanted.X), wanted.model, wanted.target
    n = len(instances) if target is None else 1
    outputs = model(instances.inputs(0, n))
    if target is None and outputs.shape[1] > 1:
        votes = np.bincount(outputs.argmax(axis=1), minlength=outputs.shape[1])
        target = Output(np.argmax(votes))
    if target is None and model.scores_second(outputs.shape[1]):
        target = Predicted(int(2 * (outputs >= 0).sum() >= len(outputs)))
    return resolve(target, model, outputs), n


@dataclass(frozen=True, eq=False)
class Split:
    """Instances to learn from, to choose by, and to measure by; None where those that chose must do."""

    learn: Any
    choose: Any
    measure: Any | None = None


def _split(points: Any, given: Any, k: int, seed: Seed) -> tuple[Split, tuple[str, ...]]:
    """What is held out, with a note if the fidelity is not that of instances that nothing was chosen by."""
    if given is not None:
        if not len(given):
            raise InputError("validation is empty: give some instances, or leave it out to hold some of X out")
        return Split(points, given), (
            "the validation also chose among what was learned, so the fidelity may be a little high",
        )
    n = len(points)
    n_choose, n_measure = (max(round(share * n), LEAST) for share in (CHOOSE, MEASURE))
    if n < FEWEST or n - n_choose - n_measure < k:
        return Split(points, points), (
            "too few instances to hold some out: the fidelity is of new neighbors alone",
        )
    order = generator(seed, 9).permutation(n)
    measure, choose, learn = (np.sort(part) for part in np.split(order, [n_measure, n_measure + n_choose]))
    return Split(points[learn], points[choose], points[measure]), ()


def _judge(found: Found, task: Task, near: Near) -> Judged:
    losses = near.losses(found.lines)
    group = found.gate(near.rows).argmax(axis=1)
    own = losses[np.arange(len(group)), group]
    ceiling = float(losses.min(axis=1).mean())
    return Judged(found, task.k, own, ceiling, near, group, held=task.held is not task.points)


def _fewest(tried: Sequence[Judged]) -> Judged:
    """The fewest groups whose error is within one standard error of the least, or hardly above it."""
    best = min(tried, key=lambda j: j.losses.mean())
    hardly = SAME * float(best.near.values.var())
    for j in sorted(tried, key=lambda j: j.k):
        excess = j.losses - best.losses
        if excess.mean() <= max(excess.std() / np.sqrt(len(excess)), hardly):
            return j
    return best


def _grouping(
    task: Task, judged: Judged, points: Any, notes: Sequence[str], recipe: Any, n_asked: int
) -> Grouping:
    found, lines, k = judged.found, judged.found.lines, len(judged.found.lines.weights)
    rows = task.space.rows(points)
    group = found.gate(rows).argmax(axis=1)
    sizes = np.bincount(group, minlength=k)
    near = task.near(NEIGHBORS, draw=99)
    fidelity = _share(judged, np.ones(len(judged.group), bool))
    fewer = [f"groups found: {k}, of at most {task.k}"] if 1 < k < task.k else []
    return Grouping(
        parts=task.space.parts,
        weights=lines.weights,
        intercepts=lines.intercepts,
        intervals=_intervals(near, found),
        sizes=sizes,
        regions=describe(task.space, rows, group, found.gate, sizes, task.n_features),
        fidelity=fidelity,
        fidelities=np.array([_share(judged, judged.group == g) for g in range(k)]),
        error=float(np.sqrt(judged.losses.mean())),
        ceiling=float(np.sqrt(judged.ceiling)),
        target=task.target.label,
        n_calls=n_asked + sum(task.calls),
        verdict=_verdict(fidelity, judged, k),
        space=task.space,
        gate=found.gate,
        recipe={"method": recipe, "k": task.k, "n_features": task.n_features, "target": task.target.key},
        notes=(*notes, *fewer),
    )


def _share(judged: Judged, some: Bools) -> float:
    """R² around some of the held-out instances; nan if there are none, or the model says the same of all."""
    values = judged.near.values[some]
    variance = float(values.var()) if values.size else 0.0
    if not variance > TINY * float(np.square(values).mean() if values.size else 1.0):
        return float("nan")
    return 1 - float(judged.losses[some].mean()) / variance


def _verdict(fidelity: float, judged: Judged, k: int) -> Verdict:
    """Do the groups say what the model does?"""
    if not np.isfinite(fidelity):
        return Verdict(False, 0.0, GOOD, "No evidence: the model says the same of all these instances.")
    passed = fidelity >= GOOD and judged.held
    share = f"{100 * max(fidelity, 0):.0f} %"
    who = f"{k} explanations account" if k > 1 else "One explanation accounts"
    where = "held-out instances" if judged.held else "instances they were learned from"
    words = f"{who} for {share} of what the model does around {where}"
    best = np.sqrt(judged.ceiling / max(judged.losses.mean(), 1e-300))
    tail = f"; choosing the best of them for each instance would leave {100 * best:.0f} % of the error"
    return Verdict(passed, fidelity, GOOD, words + (tail if k > 1 else "") + ".")


def _intervals(near: Near, found: Found) -> Floats:
    """95 % intervals of the weights, from how the instances of a group scatter around its explanation.

    A sandwich over instances: the neighbors of one are not independent. What choosing features and groups adds
    is not in them.
    """
    lines, p = found.lines, near.values.shape[1]
    k = len(lines.weights)
    intervals = np.repeat(lines.weights[:, :, None], 2, axis=2)
    shares = found.gate(near.rows)
    for g in range(k):
        used = np.flatnonzero(lines.weights[g])
        w = np.repeat(shares[:, g], p) * near.flat_weights
        if not len(used) or w.sum() <= 0:
            continue
        Z = np.column_stack([dense(near.designs[:, used]), np.ones(len(w))])
        left = near.values.ravel() - Z @ np.append(lines.weights[g, used], lines.intercepts[g])
        bread = np.linalg.pinv((Z * w[:, None]).T @ Z)
        scores = (Z * (w * left)[:, None]).reshape(len(near), p, -1).sum(axis=1)
        size = shares[:, g].sum() ** 2 / max(float(shares[:, g] @ shares[:, g]), 1e-300)
        free = max(size - len(used) - 1, 1.0)
        covariance = bread @ (scores.T @ scores) @ bread * (size / free)
        half = stats.t.ppf(0.975, free) * np.sqrt(np.maximum(np.diag(covariance)[:-1], 0.0))
        intervals[g, used, 0] -= half
        intervals[g, used, 1] += half
    return intervals
