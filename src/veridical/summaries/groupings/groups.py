"""Groupwise explanations: from a model and its instances to K explanations with their regions, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from veridical.errors import InputError
from veridical.evidence.verdicts import ROUGH_FIDELITY
from veridical.methods.results import describe
from veridical.models.outputs import Model
from veridical.models.targets import Predicted, Target, resolve
from veridical.protocols import Seed
from veridical.records import Bools, Floats, Ints, Output, Part, Record, Tabular, Verdict
from veridical.representations.spaces import Matrix, Space, space_of
from veridical.seeds import generator
from veridical.summaries.groupings.tasks import Gate, GroupingResult, GroupingTask, Groups, Neighbors, dense

MAX_REGION_FEATURES = 5
NOTABLE, STRONG = 0.25, 1.25  # standard deviations from the mean that are worth a word, and that are a lot
NARROW = 0.7  # of the spread: members that vary less have something in common
MAX_EXAMPLES = 50  # instances of a group whose reasons tell what is typical


@dataclass(frozen=True, slots=True, eq=False)
class Region(Record):
    """Where a group lies, in words.

    Attributes
    ----------
    sentence : str
        Such as "cylinders high (6 to 8) and origin = usa".
    features : tuple of str
        The features in it, the most telling first.
    """

    sentence: str
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Membership(Tabular):
    """Which group an instance belongs to, why, and what the group's explanation says of it.

    Attributes
    ----------
    group : int
        The number of the group.
    probabilities : array (k,)
        How likely each group is.
    parts : tuple of Part (d,)
        The features.
    values : array (d,)
        The instance's features.
    reasons : array (d,)
        How much each feature speaks for the group, against the others.
    weights : array (d,)
        The weights of the group's explanation.
    intercept : float
        The intercept of the group's explanation.
    prediction : float
        What the group's explanation says of the instance.
    region : Region
        Where the group lies.
    """

    group: int
    probabilities: Floats
    parts: tuple[Part, ...]
    values: Floats
    reasons: Floats
    weights: Floats
    intercept: float
    prediction: float
    region: Region


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Grouping(Tabular):
    """K explanations, each for a group of instances, with the regions where they apply.

    A group's number is its row in ``weights`` and its column in ``assign(X)``. The explanation of group g says
    ``intercepts[g] + weights[g] @ features``. Numbers are in standard deviations from the mean of all instances;
    categories and words are 1 where they are there and 0 where not.

    Attributes
    ----------
    parts : tuple of Part (d,)
        The features, which all instances share.
    weights : array (k, d)
        The weights of each explanation; in a table, per standard deviation of a number.
    intercepts : array (k,)
        The intercept of each explanation.
    intervals : array (k, d, 2)
        95 % confidence intervals of the weights, for the sampling error; zero for features that were not chosen.
    sizes : array (k,)
        How many instances belong to each group.
    regions : tuple of Region (k,)
        Where the groups lie.
    fidelity : float
        R² around held-out instances, each by the explanation of its own group.
    fidelities : array (k,)
        The same by group; nan where no held-out instance belongs to it.
    error : float
        The root mean squared error behind the fidelity, in units of the output.
    ceiling : float
        The same if the best group for each instance were known.
    target : object
        What is explained, as in an Explanation.
    n_calls : int
        Inputs that the model was asked about.
    verdict : Verdict
        Whether the groups can be relied on.
    space : Space
        Turns instances into features.
    gate : Gate
        Turns features into probabilities of groups.
    recipe : dict
        How the groups were made.
    notes : tuple of str
        What a reader should know.
    """

    parts: tuple[Part, ...]
    weights: Floats
    intercepts: Floats
    intervals: Floats
    sizes: Ints
    regions: tuple[Region, ...]
    fidelity: float
    fidelities: Floats
    error: float
    ceiling: float
    target: Any
    n_calls: int
    verdict: Verdict
    space: Any
    gate: Any
    recipe: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each feature, aligned with the weights."""
        return tuple(part.name for part in self.parts)

    @property
    def k(self) -> int:
        """How many groups there are."""
        return len(self.weights)

    def assign(self, X: Any) -> Floats:
        """The probability of each group for each instance; the model is not asked.

        Parameters
        ----------
        X : table, array or list
            Instances of the kind that was grouped.

        Returns
        -------
        array (n, k)
        """
        return np.asarray(self.gate(self.space.rows(self.space.read(X))))

    def coverage(self, X: Any) -> Floats:
        """How surely each instance belongs to its group: the probability of the likeliest.

        Parameters
        ----------
        X : table, array or list
            Instances of the kind that was grouped.

        Returns
        -------
        array (n,)
        """
        return np.asarray(self.assign(X).max(axis=1))

    def predict(self, X: Any) -> Floats:
        """What the explanation of its own group says of each instance.

        Parameters
        ----------
        X : table, array or list
            Instances of the kind that was grouped.

        Returns
        -------
        array (n,)
        """
        rows = self.space.rows(self.space.read(X))
        group = self.gate(rows).argmax(axis=1)
        predictions = np.asarray(rows @ self.weights.T) + self.intercepts
        return np.asarray(predictions[np.arange(len(group)), group])

    def explain(self, x: Any) -> Membership:
        """Which group an instance belongs to, why, and what the group's explanation says of it.

        Parameters
        ----------
        x : row, text or one-row table
            One instance.

        Returns
        -------
        Membership

        Raises
        ------
        InputError
            If it is several instances.
        """
        is_table = hasattr(x, "tocsr") or hasattr(x, "columns")  # of one row
        row = self.space.rows(self.space.read(x if is_table else [x]))
        if row.shape[0] != 1:
            raise InputError(
                f"wanted one instance to explain, got {row.shape[0]}: call assign or predict for many"
            )
        probabilities = self.gate(row)[0]
        group, values = int(np.argmax(probabilities)), dense(row)[0]
        weights, intercept = self.weights[group], float(self.intercepts[group])
        return Membership(
            group=group,
            probabilities=probabilities,
            parts=self.parts,
            values=values,
            reasons=self.gate.reasons(row, group),
            weights=weights,
            intercept=intercept,
            prediction=float(values @ weights + intercept),
            region=self.regions[group],
        )


def describe_regions(
    space: Space, rows: Matrix, group: Any, gate: Gate, sizes: Ints, most: int
) -> tuple[Region, ...]:
    """The region of each group, told by at most so many features."""
    if sizes.max() == sizes.sum():
        return tuple(Region("all instances" if size else "no instance", ()) for size in sizes)
    most = min(most, MAX_REGION_FEATURES)
    groups = range(len(sizes))
    return tuple(_describe_region(space, rows, np.flatnonzero(group == g), gate, g, most) for g in groups)


def _describe_region(space: Space, rows: Matrix, members: Any, gate: Gate, g: int, most: int) -> Region:
    if not len(members):
        return Region("no instance", ())
    some = members[:: max(len(members) // MAX_EXAMPLES, 1)][:MAX_EXAMPLES]
    telling = np.mean([gate.reasons(rows[[i]], g) for i in some], axis=0)
    order = [int(j) for j in np.argsort(-telling, kind="stable")[:most] if telling[j] > 0]
    parts, columns = [space.parts[j] for j in order], [dense(rows[:, [j]]).ravel() for j in order]
    words = [
        _describe_feature(part, column[members], column, partial(space.shown, j))
        for j, part, column in zip(order, parts, columns, strict=True)
    ]
    sentence = " and ".join(filter(None, words)) or "everything else"
    return Region(sentence, tuple(part.name for part in parts))


def _describe_feature(part: Any, own: Floats, everyone: Floats, format_value: Callable[[float], str]) -> str:
    """What the members have in common in one feature; nothing if they are like everyone else."""
    if part.relation != "per sd":
        share, usual = float(np.mean(own != 0)), float(np.mean(everyone != 0))  # a word may come twice
        name = f"“{part.name}”" if part.relation == "word" else part.name
        if abs(share - usual) <= NOTABLE * max(usual * (1 - usual), share * (1 - share)) ** 0.5:
            return ""
        if share > usual:
            return f"{name} ({100 * share:.0f} %)" if share < 0.995 else name
        return f"rarely {name} ({100 * share:.0f} %)" if share > 0.005 else f"not {name}"
    spread = max(float(everyone.std()), 1e-12)
    level = float(own.mean() - everyone.mean()) / spread
    if abs(level) < NOTABLE and float(own.std()) > NARROW * spread:
        return ""
    word = "medium" if abs(level) < NOTABLE else "high" if level > 0 else "low"
    word = f"very {word}" if abs(level) > STRONG else word
    low, high = (format_value(float(np.quantile(own, q, method="nearest"))) for q in (0.1, 0.9))
    return f"{part.name} {word} ({low} to {high})"


CHOOSE_SHARE, MEASURE_SHARE = 0.15, 0.1  # of the instances are held out, to choose by and to measure by
MIN_HELD_OUT = 10  # instances for each of the two
MIN_TO_SPLIT = 60  # instances; of fewer, none are held out
N_NEIGHBORS = 10  # of each instance, on which fidelity is measured
MIN_VARIANCE = 1e-20  # share of the squared outputs below which they do not vary
GOOD_FIDELITY = 0.8  # fidelity from which on groups are worth believing
MIN_GAIN = 0.01  # of fidelity that more groups must add


@dataclass(frozen=True, eq=False)
class ScoredGroups:
    """Groups, and how well they do on instances that were held out."""

    found: GroupingResult
    k: int
    losses: Floats  # (m,) of each held-out instance, by its own group
    ceiling: float
    near: Neighbors
    group: Any  # (m,)
    held: bool  # whether nothing was learned from these instances


@dataclass(frozen=True, eq=False)
class GroupingRequest:
    """What is to be explained by groups, and how."""

    model: Model
    representer: Any
    X: Any
    validation: Any | None
    target: Any
    n_features: int
    seed: Seed


def group_all(method: Groups, request: GroupingRequest, ks: Sequence[int]) -> Grouping:
    """Learn groups of the instances; of several numbers of groups, the fewest that are as good as the best."""
    space, most = space_of(request.representer, request.X), max(ks)
    points = space.read(request.X)
    if not len(points):
        raise InputError("there are no instances to group")
    if most > len(points):
        raise InputError(f"wanted at most as many groups as instances: k is {most}, instances {len(points)}")
    validation = None if request.validation is None else space.read(request.validation)
    target, n_calls = _choose_target(request)
    learn, choose, measure, notes = _split(points, validation, most, request.seed)
    task = GroupingTask(request.model, target, space, learn, choose, most, request.n_features, request.seed)
    near = task.held_neighbors(N_NEIGHBORS, draw=1)
    tried = [_score(method(own := replace(task, k=k)), own, near) for k in ks]
    best = _choose_fewest(tried)
    if len(ks) > 1:
        errors = ", ".join(f"{each.k}: {np.sqrt(each.losses.mean()):.3g}" for each in tried)
        notes += (f"k = {best.k} is the least that is as good as any; held-out error by k: {errors}",)
    if measure is not None:
        near = replace(task, held=measure).held_neighbors(N_NEIGHBORS, draw=2)
    task = replace(task, k=best.k)
    return _build_grouping(task, _score(best.found, task, near), points, notes, describe(method), n_calls)


def _choose_target(request: GroupingRequest) -> tuple[Target, int]:
    """One output for all instances, by default the class that is predicted most often; and the calls it took."""
    instances, model, target = request.representer.each(request.X), request.model, request.target
    n = len(instances) if target is None else 1
    outputs = model(instances.inputs(0, n))
    if target is None and outputs.shape[1] > 1:
        votes = np.bincount(outputs.argmax(axis=1), minlength=outputs.shape[1])
        target = Output(np.argmax(votes))
    if target is None and model.scores and outputs.shape[1] == 1:
        target = Predicted(int(2 * (outputs >= 0).sum() >= len(outputs)))
    return resolve(target, model, outputs), n


def _split(points: Any, validation: Any, k: int, seed: Seed) -> tuple[Any, Any, Any, tuple[str, ...]]:
    """Instances to learn from, to choose by and to measure by, with notes.

    Where there are none to measure by (None), the fidelity is measured on those that were chosen by.
    """
    if validation is not None:
        if not len(validation):
            raise InputError("validation is empty: give some instances, or leave it out to hold some of X out")
        note = "the validation also chose among what was learned, so the fidelity may be a little high"
        return points, validation, None, (note,)
    n = len(points)
    n_choose, n_measure = (max(round(share * n), MIN_HELD_OUT) for share in (CHOOSE_SHARE, MEASURE_SHARE))
    if n < MIN_TO_SPLIT or n - n_choose - n_measure < k:
        note = "too few instances to hold some out: the fidelity is of new neighbors alone"
        return points, points, None, (note,)
    order = generator(seed, 9).permutation(n)
    measure, choose, learn = (np.sort(part) for part in np.split(order, [n_measure, n_measure + n_choose]))
    return points[learn], points[choose], points[measure], ()


def _score(found: GroupingResult, task: GroupingTask, near: Neighbors) -> ScoredGroups:
    losses = near.losses(found.models)
    group = found.gate(near.rows).argmax(axis=1)
    own = losses[np.arange(len(group)), group]
    ceiling = float(losses.min(axis=1).mean())
    return ScoredGroups(found, task.k, own, ceiling, near, group, held=task.held is not task.points)


def _choose_fewest(tried: Sequence[ScoredGroups]) -> ScoredGroups:
    """The fewest groups whose error is within one standard error of the least, or hardly above it."""
    best = min(tried, key=lambda j: j.losses.mean())
    hardly = MIN_GAIN * float(best.near.values.var())
    for j in sorted(tried, key=lambda j: j.k):
        excess = j.losses - best.losses
        if excess.mean() <= max(excess.std() / np.sqrt(len(excess)), hardly):
            return j
    return best


def _build_grouping(
    task: GroupingTask, scored: ScoredGroups, points: Any, notes: Sequence[str], recipe: Any, n_calls: int
) -> Grouping:
    found, models, k = scored.found, scored.found.models, len(scored.found.models.weights)
    rows = task.space.rows(points)
    group = found.gate(rows).argmax(axis=1)
    sizes = np.bincount(group, minlength=k)
    near = task.neighbors(N_NEIGHBORS, draw=99)
    fidelity = _measure_fidelity(scored, np.ones(len(scored.group), bool))
    fewer = [f"groups found: {k}, of at most {task.k}"] if 1 < k < task.k else []
    return Grouping(
        parts=task.space.parts,
        weights=models.weights,
        intercepts=models.intercepts,
        intervals=_intervals(near, found),
        sizes=sizes,
        regions=describe_regions(task.space, rows, group, found.gate, sizes, task.n_features),
        fidelity=fidelity,
        fidelities=np.array([_measure_fidelity(scored, scored.group == g) for g in range(k)]),
        error=float(np.sqrt(scored.losses.mean())),
        ceiling=float(np.sqrt(scored.ceiling)),
        target=task.target.label,
        n_calls=n_calls + sum(task.calls),
        verdict=_verdict(fidelity, scored, k),
        space=task.space,
        gate=found.gate,
        recipe={"method": recipe, "k": task.k, "n_features": task.n_features, "target": task.target.key},
        notes=(*notes, *fewer),
    )


def _measure_fidelity(scored: ScoredGroups, some: Bools) -> float:
    """R² around some of the held-out instances; nan if there are none, or the model says the same of all."""
    values = scored.near.values[some]
    variance = float(values.var()) if values.size else 0.0
    if not variance > MIN_VARIANCE * float(np.square(values).mean() if values.size else 1.0):
        return float("nan")
    return 1 - float(scored.losses[some].mean()) / variance


def _verdict(fidelity: float, scored: ScoredGroups, k: int) -> Verdict:
    """Do the groups say what the model does?"""
    if not np.isfinite(fidelity):
        sentence = "The model says the same of all these instances: there is nothing to explain."
        return Verdict(False, 0.0, GOOD_FIDELITY, sentence, label="none")
    passed = fidelity >= GOOD_FIDELITY and scored.held
    label = "reliable" if passed else "rough" if fidelity >= ROUGH_FIDELITY else "unreliable"
    share = f"{100 * max(fidelity, 0):.0f} %"
    who = f"{k} explanations account" if k > 1 else "One explanation accounts"
    where = "held-out instances" if scored.held else "instances they were learned from"
    words = f"{who} for {share} of what the model does around {where}"
    best = np.sqrt(scored.ceiling / max(scored.losses.mean(), 1e-300))
    tail = f"; the best choice for each would leave {100 * best:.0f} % of the error"
    advice = (
        "" if passed else "Try more groups." if scored.held else "Try more instances, so that some are held out."
    )
    return Verdict(
        passed, fidelity, GOOD_FIDELITY, words + (tail if k > 1 else "") + ".", label=label, advice=advice
    )


def _intervals(near: Neighbors, found: GroupingResult) -> Floats:
    """95 % intervals of the weights, from how the instances of a group scatter around its explanation.

    A sandwich over instances: the neighbors of one are not independent. What choosing features and groups adds
    is not in them.
    """
    models, p = found.models, near.values.shape[1]
    k = len(models.weights)
    intervals = np.repeat(models.weights[:, :, None], 2, axis=2)
    shares = found.gate(near.rows)
    for g in range(k):
        used = np.flatnonzero(models.weights[g])
        w = np.repeat(shares[:, g], p) * near.flat_weights
        if not len(used) or w.sum() <= 0:
            continue
        Z = np.column_stack([dense(near.designs[:, used]), np.ones(len(w))])
        left = near.values.ravel() - Z @ np.append(models.weights[g, used], models.intercepts[g])
        bread = np.linalg.pinv((Z * w[:, None]).T @ Z)
        scores = (Z * (w * left)[:, None]).reshape(len(near), p, -1).sum(axis=1)
        size = shares[:, g].sum() ** 2 / max(float(shares[:, g] @ shares[:, g]), 1e-300)
        free = max(size - len(used) - 1, 1.0)
        covariance = bread @ (scores.T @ scores) @ bread * (size / free)
        half = stats.t.ppf(0.975, free) * np.sqrt(np.maximum(np.diag(covariance)[:-1], 0.0))
        intervals[g, used, 0] -= half
        intervals[g, used, 1] += half
    return intervals
