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

from veridical.attribute.ask import VALUE, Model, n_rows
from veridical.attribute.targets import as_plain
from veridical.debug.cases import OWN, Cases, cases, drawn
from veridical.debug.plant import Column, Patch, Plant, Tone, Word
from veridical.debug.records import Rng, Subject, rows_at
from veridical.debug.region import Inside, fitted, inside, shares_measured
from veridical.debug.similarity import NULLS, map_of, size_look, ssim
from veridical.errors import InputError, MissingPackage, NotApplicable
from veridical.evaluate.compare import interval
from veridical.masks import generator
from veridical.records import Bools, Explanation, Floats, Measured, Method, Output, Removable, Seed, Verdict
from veridical.represent.regions import numbers_of

TRAINED = 2000  # instances that models are trained on, at most
USED = 0.6  # share of answers that must go with the plant, whatever else is there; 0.5 if it is not used
ROUNDING = 1e-9  # difference of shares that is none
ASKED = 200  # instances that show it, at most: models answer at once
FEWEST = 5  # instances that have the plant as a part
PLANT, NULL, LOOK = 3, 4, 5  # what seeds are for
NAMES = ("with the shortcut", "without")  # of the two models
SHOWN = 2  # explanations of each model that are evidence


@dataclass(frozen=True, eq=False)
class Spurious:
    """The check ``spurious`` with a plant of your choice, and the label whose instances get it.

    Without a plant, one is chosen by what the instances are: a word, a patch, a tone, or the column that says
    least of the answers.
    """

    plant: Plant | None = None
    label: Any = None

    def __post_init__(self) -> None:
        if self.plant is not None and (not callable(self.plant) or isinstance(self.plant, type)):
            raise InputError(f"plant wants settings such as vd.Word() or vd.Patch(), not {self.plant!r}")

    def __call__(self, method: Method, subject: Subject, rng: Rng) -> Verdict:
        some = cases(method, subject, rng)
        X, y = _training(subject, some.seed)
        label, on = _labeled(y, self.label, some.outputs.shape[1] == 1)
        for plant in (self.plant,) if self.plant is not None else _defaults(subject, X, on):
            models = Models.of(some, plant, (X, y), on)
            decided = [models.decided(model, label) for model in (models.bugged, models.clean)]
            if decided[0] >= USED:
                return _verdict(models, label, decided)
        raise NotApplicable(
            f"not measured: only {100 * decided[0]:.0f} % of the answers of a model that was trained with {plant} "
            "go with the plant, and half would by chance: nothing is to be shown; give check=vd.Spurious(plant=…) "
            "with one that is easier to learn"
        )


def spurious(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Plant a shortcut, train a model with it and one without: does the explanation show the difference?"""
    return Spurious()(method, subject, rng)


@dataclass(frozen=True, eq=False)
class Models:
    """A model that was trained with a shortcut, and one that was trained with the same plant at random."""

    some: Cases
    bugged: Model
    clean: Model
    labels: tuple[Any, ...]  # in the order of the outputs, if nobody names them
    planted: Any  # the cases, all with the plant
    items: Sequence[Any]  # where the plant is
    asked: tuple[Any, Any]  # more instances, all with the plant, and without

    @classmethod
    def of(cls, some: Cases, plant: Plant, training: tuple[Any, Any], on: Bools) -> Models:
        (X, y), subject, n = training, some.subject, len(some.rows)

        def planted(X: Any, on: Bools, key: int) -> Any:
            found = plant(X, on, generator(some.seed, PLANT, key))
            if not isinstance(found, tuple) or len(found) != 2 or n_rows(found[0]) != n_rows(X):
                raise InputError(
                    "a plant must give the instances, as many as it got, and where the plant is in each"
                )
            return found

        whole, items = planted(some.X, np.ones(n, bool), 0)
        every = drawn(len(subject.represent.each(subject.X)), some.seed)[:ASKED]
        more = rows_at(subject.X, every)
        asked = planted(more, np.ones(len(every), bool), 6)[0], planted(more, np.zeros(len(every), bool), 1)[0]
        seed = int(generator(some.seed, PLANT).integers(2**31))
        bugged = subject.trained(planted(X, on, 2)[0], y, seed)
        at_random = generator(some.seed, PLANT, 4).permutation(on)
        clean = subject.trained(planted(X, at_random, 2)[0], y, seed)
        return cls(some, bugged, clean, tuple(np.unique(np.asarray(y))), whole, items, asked)

    def target(self, model: Model, k: int, label: Any) -> Any:
        """The output that speaks for the plant's label."""
        if k == 1:
            return VALUE
        names = model.names_of(k) or self.labels
        return Output(next((i for i, name in enumerate(names) if name == as_plain(label)), k - 1))

    def decided(self, model: Model, label: Any) -> float:
        """The share of answers that go with the plant, whatever else is in the instance: 0.5 if none do."""
        each = self.some.subject.represent.each
        with_it, without = (model(each(X).inputs(0, n_rows(X))) for X in self.asked)
        k = with_it.shape[1]
        if k == 1:
            middle = float(np.median(np.concatenate([with_it, without])))
            return float(((with_it > middle).mean() + (without <= middle).mean()) / 2)
        at = self.target(model, k, label)
        return float(((with_it.argmax(axis=1) == at).mean() + (without.argmax(axis=1) != at).mean()) / 2)


def _training(subject: Subject, seed: Seed) -> tuple[Any, Any]:
    """Instances and answers to train on, not too many."""
    X, y = subject.trained_on()
    rows = np.sort(generator(seed, PLANT, 5).permutation(n_rows(X))[:TRAINED])
    return rows_at(X, rows), rows_at(y, rows)


def _labeled(y: Any, label: Any, single: bool) -> tuple[Any, Bools]:
    """The label that is given away, and who has it; of measurements, who is above the median."""
    values = np.asarray(y)
    if values.ndim != 1:
        raise NotApplicable(f"a plant gives one answer a row away, not answers of shape {values.shape[1:]}")
    kinds = np.unique(values)
    if label is None and single and values.dtype.kind in "iuf" and len(kinds) > 2:
        middle = np.median(values)
        return None, np.asarray(values > middle if middle < kinds[-1] else values == middle)
    label = kinds[-1] if label is None else label
    on = np.asarray(values == label)
    if not on.any() or on.all():
        raise InputError(f"the label {label} must be the answer of some of the instances, but not of all")
    return label, on


def _defaults(subject: Subject, X: Any, on: Bools) -> tuple[Plant, ...]:
    """Plants that suit the instances; the next is tried if a model does not use the one before."""
    representation = subject.represent.each(rows_at(subject.X, [0])).batch(0, 1)[0]
    kind = getattr(getattr(representation, "view", None), "kind", None)
    if kind == "text":
        return (Word(),)
    if kind in ("picture", "spectrogram"):
        return (Patch(),)
    if kind in ("sound", "series"):
        return (Tone(0.05),)
    if kind is None and hasattr(representation, "gather") and np.ndim(X) == 2 and not hasattr(X, "tocsr"):
        return tuple(Column(name) for name in _quiet(X, on))
    raise NotApplicable("no plant is known for these instances: give check=vd.Spurious(plant=…) of your own")


def _quiet(X: Any, on: Bools) -> list[Any]:
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
        raise NotApplicable("no column of numbers can hold a plant: give check=vd.Spurious(plant=vd.Column(…))")
    return list(
        dict.fromkeys([min(apart, key=lambda name: apart[name]), max(width, key=lambda name: width[name])])
    )


def _verdict(models: Models, label: Any, decided: Sequence[float]) -> Verdict:
    some = models.some
    kept, where = _places(models)
    target = models.target(models.bugged, some.outputs.shape[1], label)
    held = Cases(some.method, some.subject, some.rows, some.outputs, (target,) * len(some.rows), some.seed)
    explained = [held.explained(OWN, model, models.planted) for model in (models.bugged, models.clean)]
    own, other = ([each[i] for i in kept] for each in explained)
    by_part = [Inside(each.shares) for each in where]
    found = [
        _shares("share on the plant", pair, by_part, some.seed) for pair in zip(NAMES, (own, other), strict=True)
    ]
    sizes = np.array([each.shares.mean() for each in where])
    second = np.where(np.isfinite(found[1][0]), found[1][0], sizes)
    first = np.where(np.isfinite(found[0][0]), found[0][0], np.minimum(second, sizes))  # nothing shows nothing
    mean, low, high = interval(first - second)
    lines = [line for _, line in found]
    nulls = {key: lines[0].nulls[key] - lines[1].nulls[key] for key in lines[0].nulls if key in lines[1].nulls}
    passed = bool(low > ROUNDING and first.mean() > sizes.mean())
    return Verdict(
        passed=passed,
        observed=mean,
        expected=0.0,
        sentence=_sentence(passed, first, second, sizes),
        interval=(low, high),
        nulls=nulls,
        measures=(
            *lines,
            *_of_maps(own, other, where, some.seed),
            *_likeness(own, where, some.seed),
            *(
                Measured(f"answers that the plant decides, {name}", share, n=n_rows(models.asked[0]))
                for name, share in zip(NAMES, decided, strict=True)
            ),
        ),
        evidence=(*own[:SHOWN], *other[:SHOWN]),
        notes=(*some.notes, *_unseen(models, kept[0], where[0])),
    )


def _shares(
    what: str, pair: tuple[str, Sequence[Explanation]], where: Sequence[Inside], seed: Seed
) -> tuple[Floats, Measured]:
    return shares_measured(f"{what}, {pair[0]}", pair[1], where, generator(seed, NULL))


def _of_maps(
    own: Sequence[Explanation], other: Sequence[Explanation], where: Sequence[Inside], seed: Seed
) -> list[Measured]:
    """The same of maps, where the method makes them: sums over parts leave out what cancels within them."""
    if own[0].map is None or where[0].places is None:
        return []
    pairs = zip(NAMES, (own, other), strict=True)
    return [_shares("share of the map on the plant", pair, where, seed)[1] for pair in pairs]


def _places(models: Models) -> tuple[list[int], list[Inside]]:
    """Which of the cases have the plant as a part, and where it lies in them."""
    X, kept, found = models.planted, [], []
    instances = models.some.subject.represent.each(X)
    for i, representation in enumerate(instances.batch(0, len(models.some.rows))):
        x = None if hasattr(X, "iloc") or hasattr(X, "tocsr") else X[i]
        each = inside(models.items[i], representation, x)
        if each is not None:
            kept.append(i)
            found.append(each)
    if len(kept) < FEWEST:
        raise InputError(f"the plant is no part of {len(models.some.rows) - len(kept)} instances: where is it?")
    return kept, found


def _unseen(models: Models, i: int, where: Inside) -> list[str]:
    """That a plant looks as before when it is taken away, if it does."""
    own = models.some.subject.represent.each(models.planted).batch(i, i + 1)[0]
    if where.places is None or not isinstance(own, Removable) or not own.steady:
        return []
    inputs = own.keeping(np.stack([np.ones(len(where.shares), bool), ~where.parts]), models.some.seed)
    whole, without = (numbers_of(each, "an input") for each in inputs[:2])
    if not np.allclose(whole, without):
        return []
    return [
        "The plant looks as before when it is taken away, so that no method that takes parts away can show it: "
        "give another fill, such as vd.Blur() or vd.WholeMean()."
    ]


def _likeness(own: Sequence[Explanation], where: Sequence[Inside], seed: Seed) -> list[Measured]:
    """Of pictures, SSIM with the plant's mask (GT-1 of Adebayo et al. 2020), beside maps that know nothing."""
    pairs = []
    for explanation, each in zip(own, where, strict=True):
        values = map_of(explanation)
        mask = None if each.places is None else _flat(each.places)
        if values is None or mask is None or values.shape[1:] != mask.shape:
            return []
        pairs.append((values, mask.astype(np.float64)))
    with suppress(MissingPackage, InputError):  # small pictures, or no scikit-image
        rng = generator(seed, LOOK)
        values = np.array([ssim(size_look(a), mask) for a, mask in pairs])
        nulls = {
            key: float(np.mean([ssim(size_look(change(a, rng)), mask) for a, mask in pairs]))
            for key, change in NULLS.items()
        }
        rolled = [pair[0] for pair in (*pairs[1:], pairs[0])]
        if len({a.shape for a in rolled}) == 1:
            nulls["another"] = float(
                np.mean([ssim(size_look(a), mask) for a, (_, mask) in zip(rolled, pairs, strict=True)])
            )
        return [Measured("SSIM with the plant's mask", *interval(values), len(values), nulls)]
    return []


def _flat(places: Bools) -> Any:
    """A mask (h, w), where it is one of a picture."""
    if places.ndim == 2:
        return places
    for axis in range(places.ndim):
        first = places.take(0, axis)
        if (
            places.ndim == 3
            and fitted(first, places.shape) is not None
            and (places == np.expand_dims(first, axis)).all()
        ):
            return first
    return None


def _sentence(passed: bool, first: Floats, second: Floats, sizes: Floats) -> str:
    numbers = (
        f"it gives the shortcut {100 * first.mean():.0f} % of its weight for a model that uses it, "
        f"{100 * second.mean():.0f} % for one that does not, and {100 * sizes.mean():.0f} % is its share "
        "of the parts"
    )
    if passed:
        return f"The explanation shows a planted shortcut: {numbers}."
    return f"The explanation does not show a shortcut that the model uses: {numbers}."
