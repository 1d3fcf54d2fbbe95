"""What is left of explanations when something is broken on purpose: the model, or what it is given.

What may stay alike is what the model's own answers keep, so those are measured beside the explanations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from veridical.attribute.ask import Model
from veridical.debug.cases import AGAIN, Cases, check_not_empty
from veridical.debug.similarity import OURS, Alike, Reference
from veridical.errors import ModelError, NotApplicable
from veridical.evaluate.weights import correlation, has_weight
from veridical.masks import child_of
from veridical.records import Explanation, Floats, Measured, Verdict

TOLERANCE = 0.5  # of the way from null pairs to repeats that explanations may stay when something is broken
SAME = 0.9  # correlation of answers above which a model answers as before
FEWEST = 3  # parts that have an order worth the name
NULLS, FIRST = 4, 10  # what seeds are for: null pairs, and explanations of twins
SHOWN = 3  # instances whose explanations are evidence


@dataclass(frozen=True, eq=False)
class Twin:
    """A broken model, with what was done to it."""

    name: str
    model: Model
    decides: bool = True  # or is only looked at


@dataclass(frozen=True)
class Words:
    """How a verdict begins: of explanations that change, of those that hardly do, and where it is not known."""

    changed: str
    same: str
    unsure: str


@dataclass(frozen=True, eq=False)
class Broken:
    """What is left of the explanations under all broken models of one kind."""

    name: str
    main: str  # the measure that ours rests on
    alike: tuple[dict[str, Alike], ...]  # one a model
    answers: Floats  # (models,) correlation of the models' own answers with those of the whole model
    chosen: bool  # to decide, where the model is broken indeed
    kept: float  # share of instances whose predicted class is the same; nan if there are no classes

    @property
    def ours(self) -> Floats:
        """(models, n): 0 as like as null pairs, 1 as like as repeats."""
        return np.stack([each[self.main].shares for each in self.alike])

    @property
    def decides(self) -> bool:
        """Whether the explanations have anything to notice: a model that answers as before is not broken."""
        return self.chosen and float(self.answers.mean()) <= SAME

    @property
    def limit(self) -> float:
        """The most that may stay: half, and more if the model itself still gives much the same answers."""
        stayed = float(np.clip(self.answers.mean(), 0, 1))
        return TOLERANCE + (1 - TOLERANCE) * stayed

    def measured(self) -> list[Measured]:
        """Lines of the table, ours first."""
        mean, low, high = crossed(self.ours)
        lines = [Measured(f"{self.name}: {OURS}", mean, low, high, self.ours.size, self._nulls())]
        for name, first in self.alike[0].items():
            mean, low, high = crossed(np.stack([each[name].values for each in self.alike]))
            lines.append(Measured(f"{self.name}: {name}", mean, low, high, self.ours.size, first.nulls))
        lines.append(
            Measured(f"{self.name}: answers, correlation", float(self.answers.mean()), n=len(self.answers))
        )
        if np.isfinite(self.kept):
            lines.append(Measured(f"{self.name}: same class predicted", self.kept, n=self.ours.size))
        return lines

    def _nulls(self) -> dict[str, float]:
        signed = self.alike[0][self.main]
        reach = signed.again - signed.null
        return {key: (value - signed.null) / reach for key, value in signed.nulls.items() if np.isfinite(value)}


def compared(some: Cases, made: Iterable[Twin], words: Words) -> Verdict:
    """Hold explanations against those of broken twins: none may be much like them."""
    own, again = some.explained(), some.explained(AGAIN)
    _check(own)
    check_not_empty(own)
    reference = Reference.of(own, again, child_of(some.seed, NULLS))
    main = reference.alike(again)[reference.main]
    if not main.clear:
        return _unstable(main, some, own)
    found, shown, notes = broken(some, reference, made)
    return _verdict(found, words, (*own[:SHOWN], *shown), (*some.notes, *notes))


def broken(
    some: Cases, reference: Reference, made: Iterable[Twin]
) -> tuple[list[Broken], tuple[Explanation, ...], tuple[str, ...]]:
    """What is left under each kind of twin, some explanations of the last one, and what could not be done."""
    alike: dict[str, list[dict[str, Alike]]] = {}
    answers: dict[str, list[Floats]] = {}
    decides: dict[str, bool] = {}
    shown, notes = tuple[Explanation, ...](), list[str]()
    for number, twin in enumerate(made):
        try:
            outputs = twin.model(some.inputs)
            explained = some.explained(FIRST + number, twin.model)
        except ModelError as cause:
            notes.append(f"{twin.name}: not measured, since the model fails then ({cause}).")
            continue
        alike.setdefault(twin.name, []).append(reference.alike(explained))
        answers.setdefault(twin.name, []).append(outputs)
        decides[twin.name] = twin.decides
        shown = explained[:SHOWN] if twin.decides else shown
    found = []
    for name, each in alike.items():
        same = np.array([_correlated(some.outputs, other) for other in answers[name]])
        kept = _kept(some.outputs, answers[name])
        found.append(Broken(name, reference.main, tuple(each), same, decides[name], kept))
    if not any(each.decides for each in found):
        notes += [
            f"{each.name}: the answers go up and down as before (correlation {each.answers.mean():.2f})."
            for each in found
        ]
        raise NotApplicable(
            f"nothing that was tried breaks the model, so there is nothing to notice. {' '.join(notes)}"
        )
    return found, shown, tuple(notes)


def crossed(values: Floats) -> tuple[float, float, float]:
    """Mean of (models, n) values with its 95 % interval, models and instances both drawn at random."""
    square = 0.0
    for axis in (0, 1):
        means = np.nanmean(values, axis=axis)
        if len(means) > 1:
            square += float(stdtrit(len(means) - 1, 0.975) ** 2 * means.var(ddof=1) / len(means))
    mean, half = float(np.nanmean(values)), float(np.sqrt(square))
    return mean, mean - half, mean + half


def _verdict(
    found: Sequence[Broken], words: Words, evidence: tuple[Explanation, ...], notes: tuple[str, ...]
) -> Verdict:
    lines = [each.measured() for each in found]
    limits = np.array([each.limit if each.decides else np.inf for each in found])
    over = np.array([line[0].low for line in lines]) - limits
    passed = bool((over <= 0).all())
    worst = int(np.argmax(np.array([line[0].value for line in lines]) - limits if passed else over))
    line, limit = lines[worst][0], float(limits[worst])
    begin = words.same if not passed else words.changed if line.value <= limit else words.unsure
    chance = ", but so much may be chance" if begin == words.unsure else ""
    left, what = f"{100 * max(line.value, 0):.0f} %", _told(found[worst].name)
    sentence = (
        f"{begin}: of how alike they are when made again, {left} is left ({what}), and at most "
        f"{100 * limit:.0f} % may be{chance}."
    )
    return Verdict(
        passed, line.value, limit, sentence, interval=(line.low, line.high), nulls=line.nulls,
        measures=tuple(m for each in lines for m in each), evidence=evidence, notes=notes,
    )  # fmt: skip


def _told(name: str) -> str:
    """What was done to a twin, for one who has not seen the table."""
    return f"layers drawn anew, from the last {name}" if name.startswith("down to ") else name


def _unstable(signed: Alike, some: Cases, own: tuple[Explanation, ...]) -> Verdict:
    words = (
        "Explanations of the same model, made again with another seed, are hardly more alike than random ones: "
        "whether they notice that something is broken cannot be seen."
    )
    line = signed.measured()
    return Verdict(
        False, line.value, signed.null, words, interval=(line.low, line.high), nulls=line.nulls, measures=(line,),
        evidence=own[:SHOWN], notes=some.notes,
    )  # fmt: skip


def _check(own: Sequence[Explanation]) -> None:
    if np.median([len(each.weights) for each in own]) < FEWEST:
        raise NotApplicable(
            f"explanations have fewer than {FEWEST} parts, which leaves no order to compare: give instances, or a "
            "representer, with more parts"
        )
    if np.mean([not has_weight(each) for each in own]) > 0.5:
        raise NotApplicable(
            "most explanations are empty: the model answers the same whatever is changed, so nothing can be "
            "broken, or what stands in for a part is the part itself, as one pixel's mean is: give another fill=…"
        )


def _correlated(one: Floats, other: Floats) -> float:
    if one.shape != other.shape:
        return 0.0
    return correlation((one - one.mean(axis=0)).ravel(), (other - other.mean(axis=0)).ravel())


def _kept(own: Floats, others: Sequence[Floats]) -> float:
    if own.shape[1] == 1:
        return float("nan")
    return float(np.mean([(own.argmax(axis=1) == each.argmax(axis=1)).mean() for each in others]))
