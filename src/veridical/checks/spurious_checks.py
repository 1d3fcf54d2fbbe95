"""Does the explanation show a shortcut that was planted?

Adebayo et al. 2020, section 4: a model is trained on data in which a shortcut gives the answer away, and another
where the same shortcut comes at random. The share of the explanation that lies on the shortcut must be larger for
the first, on the same instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.checks.reliance_checks import RegionInParts, broadcast_region, locate_region, measure_shares
from veridical.checks.shortcuts import Column, Patch, Plant, Tone, Word
from veridical.checks.similarity import NULLS, draw_sizes, read_map, ssim
from veridical.checks.subjects import FIRST_TIME, Cases, Rng, Subject, draw_cases, draw_order
from veridical.errors import InputError, MissingPackage, NotApplicable
from veridical.metrics.significance import interval
from veridical.models.outputs import VALUE, Model, n_rows, rows_at
from veridical.models.targets import as_plain
from veridical.protocols import Method, Placed, Removable, Seed, Viewable
from veridical.records import UNCLEAR, Bools, Explanation, Floats, Measured, Output, Verdict
from veridical.representations.regions import numbers_of
from veridical.seeds import generator

MAX_TRAINING_ROWS = 2000  # instances that models are trained on, at most
# Share of answers that must go with the plant, whatever else is there; 0.5 if it is not used
MIN_DECIDED_SHARE = 0.6
ROUNDING = 1e-9  # difference of shares that is none
MAX_QUERIED = 200  # instances that show it, at most: models answer at once
MIN_INSTANCES = 5  # instances that have the plant as a part
PLANT, NULL, MAPS = 3, 4, 5  # what seeds are for
MODEL_NAMES = ("with the shortcut", "without")  # of the two models
N_EVIDENCE = 2  # explanations of each model that are evidence


@dataclass(frozen=True, eq=False)
class Spurious:
    """The check ``spurious`` with a shortcut and a label of your choice.

    Parameters
    ----------
    plant : callable, optional
        The shortcut, such as ``vd.shortcuts.Word()``. By default one that suits the instances: a word, a patch, a
        tone, or the column that says least about the answers.
    label : object, optional
        The answer whose instances get the shortcut; by default the last one in sorted order.

    Examples
    --------
    >>> import veridical as vd
    >>> vd.checks.Spurious(vd.shortcuts.Word("zyx"))
    Spurious(plant=Word(word='zyx'), label=None)
    """

    plant: Plant | None = None
    label: Any = None

    def __post_init__(self) -> None:
        if self.plant is not None and (not callable(self.plant) or isinstance(self.plant, type)):
            raise InputError(
                f"plant must be settings such as vd.shortcuts.Word() or vd.shortcuts.Patch(), not {self.plant!r}"
            )

    def __call__(self, method: Method, subject: Subject, rng: Rng) -> Verdict:
        """Train a model with the shortcut and one without, and compare how much their explanations show it."""
        some = draw_cases(method, subject, rng)
        X, y = _draw_training_data(subject, some.seed)
        label, on = _choose_label(y, self.label, some.outputs.shape[1] == 1)
        for plant in (self.plant,) if self.plant is not None else _default_plants(subject, X, on):
            models = ShortcutModels.of(some, plant, (X, y), on)
            decided = [models.share_decided(model, label) for model in (models.bugged, models.clean)]
            if decided[0] >= MIN_DECIDED_SHARE:
                return _judge_shortcut(models, label, decided)
        raise NotApplicable(
            f"not measured: only {100 * decided[0]:.0f} % of the answers of a model that was trained with {plant} "
            "follow the shortcut, and half would by chance: there is nothing to show; give "
            "check=vd.checks.Spurious(plant=…) with one that is easier to learn"
        )


def spurious(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Plant a shortcut, train a model with it and one without: does the explanation show the difference?"""
    return Spurious()(method, subject, rng)


@dataclass(frozen=True, eq=False)
class ShortcutModels:
    """A model that was trained with a shortcut, and one that was trained with it at random."""

    some: Cases
    bugged: Model
    clean: Model
    labels: tuple[Any, ...]  # in the order of the outputs, if nobody names them
    planted: Any  # the cases, all with the plant
    items: Sequence[Any]  # where the plant is
    queried: tuple[Any, Any]  # more instances, all with the plant, and without

    @classmethod
    def of(cls, some: Cases, plant: Plant, training: tuple[Any, Any], on: Bools) -> ShortcutModels:
        (X, y), subject, n = training, some.subject, len(some.rows)

        def planted(X: Any, on: Bools, key: int) -> Any:
            found = plant(X, on, generator(some.seed, PLANT, key))
            if not isinstance(found, tuple) or len(found) != 2 or n_rows(found[0]) != n_rows(X):
                raise InputError("a shortcut must return as many instances as it got, and where it lies in each")
            return found

        whole, items = planted(some.X, np.ones(n, bool), 0)
        every = draw_order(len(subject.representer.each(subject.X)), some.seed)[:MAX_QUERIED]
        more = rows_at(subject.X, every)
        queried = planted(more, np.ones(len(every), bool), 6)[0], planted(more, np.zeros(len(every), bool), 1)[0]
        seed = int(generator(some.seed, PLANT).integers(2**31))
        bugged = subject.train_model(planted(X, on, 2)[0], y, seed)
        at_random = generator(some.seed, PLANT, 4).permutation(on)
        clean = subject.train_model(planted(X, at_random, 2)[0], y, seed)
        return cls(some, bugged, clean, tuple(np.unique(np.asarray(y))), whole, items, queried)

    def target(self, model: Model, k: int, label: Any) -> Any:
        """The output that speaks for the shortcut's label."""
        if k == 1:
            return VALUE
        names = model.names_of(k) or self.labels
        return Output(next((i for i, name in enumerate(names) if name == as_plain(label)), k - 1))

    def share_decided(self, model: Model, label: Any) -> float:
        """The share of answers that follow the shortcut, whatever else is in the instance: 0.5 if none do."""
        each = self.some.subject.representer.each
        with_it, without = (model(each(X).inputs(0, n_rows(X))) for X in self.queried)
        k = with_it.shape[1]
        if k == 1:
            middle = float(np.median(np.concatenate([with_it, without])))
            return float(((with_it > middle).mean() + (without <= middle).mean()) / 2)
        at = self.target(model, k, label)
        return float(((with_it.argmax(axis=1) == at).mean() + (without.argmax(axis=1) != at).mean()) / 2)


def _draw_training_data(subject: Subject, seed: Seed) -> tuple[Any, Any]:
    """Instances and answers to train on, not too many."""
    X, y = subject.training_data()
    rows = np.sort(generator(seed, PLANT, 5).permutation(n_rows(X))[:MAX_TRAINING_ROWS])
    return rows_at(X, rows), rows_at(y, rows)


def _choose_label(y: Any, label: Any, single: bool) -> tuple[Any, Bools]:
    """The label that is given away, and who has it; of measurements, who is above the median."""
    values = np.asarray(y)
    if values.ndim != 1:
        raise NotApplicable(f"a shortcut gives away one answer per row, not answers of shape {values.shape[1:]}")
    kinds = np.unique(values)
    if label is None and single and values.dtype.kind in "iuf" and len(kinds) > 2:
        middle = np.median(values)
        return None, np.asarray(values > middle if middle < kinds[-1] else values == middle)
    label = kinds[-1] if label is None else label
    on = np.asarray(values == label)
    if not on.any() or on.all():
        raise InputError(f"the label {label} must be the answer of some of the instances, but not of all")
    return label, on


def _default_plants(subject: Subject, X: Any, on: Bools) -> tuple[Plant, ...]:
    """Plants that suit the instances; the next is tried if a model does not use the one before."""
    representation = subject.representer.each(rows_at(subject.X, [0])).batch(0, 1)[0]
    view = representation.view if isinstance(representation, Viewable) else None
    kind = None if view is None else view.kind
    if kind == "text":
        return (Word(),)
    if kind in ("picture", "spectrogram"):
        return (Patch(),)
    if kind in ("sound", "series"):
        return (Tone(0.05),)
    if kind is None and isinstance(representation, Placed) and np.ndim(X) == 2 and not hasattr(X, "tocsr"):
        return tuple(Column(name) for name in _least_telling_columns(X, on))
    raise NotApplicable(
        "no shortcut is known for these instances: give check=vd.checks.Spurious(plant=…) of your own"
    )


def _least_telling_columns(X: Any, on: Bools) -> list[Any]:
    """The column of numbers that says least of who gets the plant, and the widest one, for models that mind."""
    apart: dict[Any, float] = {}
    width: dict[Any, float] = {}
    for j in range(np.shape(X)[1]):
        column = X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]
        if getattr(column.dtype, "kind", "O") not in "iuf":
            continue
        values = np.asarray(column, dtype=np.float64)
        here, there = (values[np.isfinite(values) & which] for which in (on, ~on))
        if len(here) and len(there) and len(np.unique(np.concatenate([here, there]))) > 2:
            name = X.columns[j] if hasattr(X, "columns") else j
            width[name] = float(np.concatenate([here, there]).std())
            apart[name] = float(abs(here.mean() - there.mean()) / width[name])
    if not apart:
        raise NotApplicable(
            "no numeric column can hold a shortcut: give check=vd.checks.Spurious(plant=vd.shortcuts.Column(…))"
        )
    return list(
        dict.fromkeys([min(apart, key=lambda name: apart[name]), max(width, key=lambda name: width[name])])
    )


def _judge_shortcut(models: ShortcutModels, label: Any, decided: Sequence[float]) -> Verdict:
    some = models.some
    kept, where = _locate_plant(models)
    target = models.target(models.bugged, some.outputs.shape[1], label)
    held = Cases(some.method, some.subject, some.rows, some.outputs, (target,) * len(some.rows), some.seed)
    explained = [held.explain(FIRST_TIME, model, models.planted) for model in (models.bugged, models.clean)]
    own, other = ([each[i] for i in kept] for each in explained)
    by_part = [RegionInParts(each.shares) for each in where]
    found = _measure_both("share on the plant", (own, other), by_part, some.seed)
    sizes = np.array([each.shares.mean() for each in where])
    second = np.where(np.isfinite(found[1][0]), found[1][0], sizes)
    first = np.where(np.isfinite(found[0][0]), found[0][0], np.minimum(second, sizes))  # nothing shows nothing
    mean, low, high = interval(first - second)
    lines = [line for _, line in found]
    nulls = {key: lines[0].nulls[key] - lines[1].nulls[key] for key in lines[0].nulls if key in lines[1].nulls}
    maps = list[Measured]()
    if own[0].map is not None and where[0].places is not None:  # sums over parts leave out what cancels in them
        maps = [line for _, line in _measure_both("share of the map on the plant", (own, other), where, some.seed)]
    outcome = "passed" if low > ROUNDING else UNCLEAR if high > ROUNDING else "failed"
    outcome = outcome if first.mean() > sizes.mean() else "failed"
    return Verdict(
        passed=outcome == "passed",
        label=outcome,
        measured="share of the explanation's weight on the shortcut, more than for a model without it",
        better="higher",
        observed=mean,
        expected=0.0,
        sentence=_write_sentence(outcome, first, second, sizes),
        interval=(low, high),
        nulls=nulls,
        measures=(
            *lines,
            *maps,
            *_measure_ssim(own, where, some.seed),
            *(
                Measured(f"answers that the plant decides, {name}", share, n=n_rows(models.queried[0]))
                for name, share in zip(MODEL_NAMES, decided, strict=True)
            ),
        ),
        evidence=(*own[:N_EVIDENCE], *other[:N_EVIDENCE]),
        notes=(*some.notes, *_note_invisible_plant(models, kept[0], where[0])),
    )


def _measure_both(
    what: str, explained: Sequence[Sequence[Explanation]], where: Sequence[RegionInParts], seed: Seed
) -> list[tuple[Floats, Measured]]:
    """The shares on the plant in explanations of both models."""
    pairs = zip(MODEL_NAMES, explained, strict=True)
    return [measure_shares(f"{what}, {name}", each, where, generator(seed, NULL)) for name, each in pairs]


def _locate_plant(models: ShortcutModels) -> tuple[list[int], list[RegionInParts]]:
    """Which of the cases have the plant as a part, and where it lies in them."""
    X, kept, found = models.planted, [], []
    instances = models.some.subject.representer.each(X)
    for i, representation in enumerate(instances.batch(0, len(models.some.rows))):
        x = None if hasattr(X, "iloc") or hasattr(X, "tocsr") else X[i]
        each = locate_region(models.items[i], representation, x)
        if each is not None:
            kept.append(i)
            found.append(each)
    if len(kept) < MIN_INSTANCES:
        raise InputError(
            f"the shortcut is no feature of {len(models.some.rows) - len(kept)} instances: where is it?"
        )
    return kept, found


def _note_invisible_plant(models: ShortcutModels, i: int, where: RegionInParts) -> list[str]:
    """That a plant looks as before when it is taken away, if it does."""
    own = models.some.subject.representer.each(models.planted).batch(i, i + 1)[0]
    if where.places is None or not isinstance(own, Removable) or not own.steady:
        return []
    inputs = own.keeping(np.stack([np.ones(len(where.shares), bool), ~where.parts]), models.some.seed)
    whole, without = (numbers_of(each, "an input") for each in inputs[:2])
    if not np.allclose(whole, without):
        return []
    return [
        "The shortcut looks the same once it is replaced, so no method that removes features can show it: give "
        "another fill, such as vd.fills.Blur() or vd.fills.WholeMean()."
    ]


def _measure_ssim(own: Sequence[Explanation], where: Sequence[RegionInParts], seed: Seed) -> list[Measured]:
    """Of pictures, SSIM with the plant's mask (GT-1 of Adebayo et al. 2020), beside maps that know nothing."""
    pairs = []
    for explanation, each in zip(own, where, strict=True):
        values = read_map(explanation)
        mask = None if each.places is None else _flatten_mask(each.places)
        if values is None or mask is None or values.shape[1:] != mask.shape:
            return []
        pairs.append((values, mask.astype(np.float64)))
    with suppress(MissingPackage, InputError):  # small pictures, or no scikit-image
        rng = generator(seed, MAPS)
        values = np.array([ssim(draw_sizes(a), mask) for a, mask in pairs])
        nulls = {
            key: float(np.mean([ssim(draw_sizes(change(a, rng)), mask) for a, mask in pairs]))
            for key, change in NULLS.items()
        }
        rolled = [pair[0] for pair in (*pairs[1:], pairs[0])]
        if len({a.shape for a in rolled}) == 1:
            nulls["another"] = float(
                np.mean([ssim(draw_sizes(a), mask) for a, (_, mask) in zip(rolled, pairs, strict=True)])
            )
        return [Measured("SSIM with the plant's mask", *interval(values), len(values), nulls)]
    return []


def _flatten_mask(places: Bools) -> Any:
    """A mask (h, w), where it is one of a picture."""
    if places.ndim == 2:
        return places
    for axis in range(places.ndim):
        first = places.take(0, axis)
        if (
            places.ndim == 3
            and broadcast_region(first, places.shape) is not None
            and (places == np.expand_dims(first, axis)).all()
        ):
            return first
    return None


def _write_sentence(outcome: str, first: Floats, second: Floats, sizes: Floats) -> str:
    numbers = (
        f"it gives the shortcut {100 * first.mean():.0f} % of its weight for a model that uses it, "
        f"{100 * second.mean():.0f} % for one that does not, and {100 * sizes.mean():.0f} % is its share of the "
        "features"
    )
    if outcome == "passed":
        return f"The explanation shows a planted shortcut: {numbers}."
    if outcome == UNCLEAR:
        return f"It is not clear whether the explanation shows a shortcut that the model uses: {numbers}."
    return f"The explanation does not show a shortcut that the model uses: {numbers}."
