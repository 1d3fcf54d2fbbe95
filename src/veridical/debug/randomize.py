"""Does the explanation change when the model is broken?

Adebayo et al. 2018 and 2020: an explanation that is the same for a model that knows nothing does not explain the
model. What may stay alike is what the model's own answers keep, so those are measured beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from veridical.attribute.network import Network
from veridical.debug.cascade import Depths, layer_twins
from veridical.debug.cases import AGAIN, Cases, cases, is_cheap
from veridical.debug.records import Rng, Subject
from veridical.debug.similarity import OURS, Alike, Reference
from veridical.debug.twins import Twin, twins
from veridical.errors import NotApplicable
from veridical.evaluate.weights import correlation
from veridical.masks import child_of
from veridical.records import Explanation, Floats, Measured, Method, Verdict

TOLERANCE = 0.5  # of the way from null pairs to repeats that explanations of a broken model may stay
N_TWINS = 3  # of each kind
FEWEST = 3  # parts that have an order worth the name
TWINS, NULLS, FIRST = 3, 4, 10  # what seeds are for: the twins, null pairs, and explanations of twins
SHOWN = 3  # instances whose explanations are evidence


@dataclass(frozen=True, eq=False)
class Broken:
    """What is left of the explanations under all broken models of one kind."""

    name: str
    main: str  # the measure that ours rests on
    alike: tuple[dict[str, Alike], ...]  # one a model
    answers: Floats  # (models,) correlation of the models' own answers with those of the whole model
    decides: bool
    kept: float  # share of instances whose predicted class is the same; nan if there are no classes

    @property
    def ours(self) -> Floats:
        """(models, n): 0 as like as null pairs, 1 as like as repeats."""
        return np.stack([each[self.main].shares for each in self.alike])

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


def randomize(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Compare explanations with those of broken twins of the model: none may be much like them."""
    some = cases(method, subject, rng)
    own, again = some.explained(), some.explained(AGAIN)
    _check(own)
    reference = Reference.of(own, again, child_of(some.seed, NULLS))
    signed = reference.alike(again)[reference.main]
    if not signed.clear:
        return _unstable(signed, some, own)
    found, shown = broken(some, reference, _twins(some))
    return _verdict(found, some, (*own[:SHOWN], *shown))


def _twins(some: Cases) -> Iterator[Twin]:
    """Broken twins: of a network, layer by layer; of any other model, by what it is trained on or shown."""
    subject, seed = some.subject, child_of(some.seed, TWINS)
    if not isinstance(subject.model.predict, Network):
        return twins(subject, seed, N_TWINS)
    cheap = is_cheap(some.method, subject.represent.each(subject.X))
    return layer_twins(subject, Depths() if cheap else Depths(2, 0), seed, N_TWINS if cheap else 2)


def broken(
    some: Cases, reference: Reference, made: Iterable[Twin]
) -> tuple[list[Broken], tuple[Explanation, ...]]:
    """What is left under each kind of twin, and some explanations of the last one."""
    alike: dict[str, list[dict[str, Alike]]] = {}
    answers: dict[str, list[Floats]] = {}
    decides: dict[str, bool] = {}
    shown: tuple[Explanation, ...] = ()
    for number, twin in enumerate(made):
        explained = some.explained(FIRST + number, twin.model)
        alike.setdefault(twin.name, []).append(reference.alike(explained))
        answers.setdefault(twin.name, []).append(twin.model(some.inputs))
        decides[twin.name] = twin.decides
        shown = explained[:SHOWN] if twin.decides else shown
    found = []
    for name, each in alike.items():
        same = [_correlated(some.outputs, other) for other in answers[name]]
        found.append(
            Broken(
                name,
                reference.main,
                tuple(each),
                np.array(same),
                decides[name],
                _kept(some.outputs, answers[name]),
            )
        )
    return found, shown


def crossed(values: Floats) -> tuple[float, float, float]:
    """Mean of (models, n) values with its 95 % interval, models and instances both drawn at random."""
    square = 0.0
    for axis in (0, 1):
        means = np.nanmean(values, axis=axis)
        if len(means) > 1:
            square += float(stdtrit(len(means) - 1, 0.975) ** 2 * means.var(ddof=1) / len(means))
    mean, half = float(np.nanmean(values)), float(np.sqrt(square))
    return mean, mean - half, mean + half


def _verdict(found: Sequence[Broken], some: Cases, evidence: tuple[Explanation, ...]) -> Verdict:
    lines = [each.measured() for each in found]
    limits = np.array([each.limit if each.decides else np.inf for each in found])
    over = np.array([line[0].low for line in lines]) - limits
    passed = bool((over <= 0).all())
    worst = int(np.argmax(np.array([line[0].value for line in lines]) - limits if passed else over))
    line = lines[worst][0]
    share = f"{100 * max(line.value, 0):.0f} %"
    name = found[worst].name
    if passed:
        words = (
            f"Explanations change when the model is broken: at most {share} of their likeness is left ({name}), "
            f"where {100 * found[worst].limit:.0f} % is the limit."
        )
    else:
        words = (
            f"Explanations hardly notice that the model is broken: {share} of their likeness is left with a model "
            f"that knows nothing ({name}), so they are not about what this model learned."
        )
    return Verdict(
        passed, line.value, found[worst].limit, words, interval=(line.low, line.high), nulls=line.nulls,
        measures=tuple(m for each in lines for m in each), evidence=evidence, notes=some.notes,
    )  # fmt: skip


def _unstable(signed: Alike, some: Cases, own: tuple[Explanation, ...]) -> Verdict:
    words = (
        "Explanations of the same model, made again with another seed, are hardly more alike than random ones: "
        "whether they notice a broken model cannot be seen."
    )
    return Verdict(
        False, signed.again, signed.null, words, nulls=signed.nulls, measures=(signed.measured(),),
        evidence=own[:SHOWN], notes=some.notes,
    )  # fmt: skip


def _check(own: Sequence[Explanation]) -> None:
    if np.median([len(each.weights) for each in own]) < FEWEST:
        raise NotApplicable(
            f"explanations have fewer than {FEWEST} parts, which leaves no order to compare: give instances, or a "
            "representer, with more parts"
        )
    if np.mean([not each.weights.any() for each in own]) > 0.5:
        raise NotApplicable(
            "most explanations are empty: the model answers the same whatever is changed, so nothing can be broken"
        )


def _correlated(one: Floats, other: Floats) -> float:
    if one.shape != other.shape:
        return 0.0
    return correlation((one - one.mean(axis=0)).ravel(), (other - other.mean(axis=0)).ravel())


def _kept(own: Floats, others: Sequence[Floats]) -> float:
    if own.shape[1] == 1:
        return float("nan")
    return float(np.mean([(own.argmax(axis=1) == each.argmax(axis=1)).mean() for each in others]))
