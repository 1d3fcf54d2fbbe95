"""The check: does the explanation name what was changed to make the model decide wrongly?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.attribute.given import answered, seed_of
from veridical.debug.adversary import CAUSES
from veridical.debug.adversary.records import Cause, Decision, aimed
from veridical.debug.cases import checked, drawn
from veridical.debug.ranking import auroc, rate
from veridical.debug.records import DEAR, Rng, Subject, rows_at
from veridical.debug.similarity import ANOTHER, CONSTANT, NOISE, SHUFFLED
from veridical.debug.veracity.case import Case
from veridical.debug.veracity.orders import Typical, ranked, unasked
from veridical.debug.veracity.plan import TABLES, TEXTS, defaults
from veridical.debug.veracity.trials import OWN, firsts
from veridical.errors import InputError, NotApplicable
from veridical.evaluate.compare import interval
from veridical.masks import child_of, generator
from veridical.records import Bools, Explanation, Floats, Ints, Measured, Method, Seed, Verdict

FEWEST = 8  # causes, below which nothing can be said
CANDIDATES, ROWS = 3, 8  # instances that a cause is looked for in, for each that is explained; and rows of a table
FAR, SURE = 0.5, 0.9  # of a small change: standard deviations of the instances, and the wrong label's output
TURNED = 0.5  # of other content: the wrong label's output
SPREAD = 50  # instances whose standard deviation it is
SHOWN = 3  # explanations that are evidence
WORST = 10  # rows of the data that are named
MAKE, CASE, SHUFFLE = range(3)  # what seeds are for
HIGHER = "guilty part higher for the wrong label than for the right one"
FIRST, FLIP = "guilty part named first", "decisions flipped, mean over k"


@dataclass(frozen=True, eq=False)
class Named:
    """One cause, and what a method says for the label that is wrong now, and for the one before."""

    row: int  # of the subject's X
    case: Case
    wrong: Explanation
    right: Explanation

    @property
    def effects(self) -> tuple[Floats, Floats]:
        """What each part adds for the wrong label, and for the right one."""
        return self.case.effects(self.wrong), self.case.effects(self.right)

    @property
    def order(self) -> Ints:
        """Parts as the explanation of the wrong label ranks them."""
        return ranked(self.effects[0], self.case.seed)

    def first(self, order: Ints) -> float:
        """1 where the first part is guilty."""
        assert self.case.guilty is not None
        return float(self.case.guilty[order[0]])

    def flips(self, order: Ints) -> float:
        """The share of all k at which the first k parts flip the decision."""
        return float(self.case.flips(firsts(order))[1:].mean())

    def higher(self, wrong: Floats, right: Floats) -> float:
        """How much higher the guilty parts stand by some weights than by others: from −1, last, to 1, first."""
        assert self.case.guilty is not None
        return above(wrong, self.case.guilty) - above(right, self.case.guilty)


def above(weights: Floats, guilty: Bools) -> float:
    """The chance that a guilty part has more weight than another one, ties half."""
    return auroc(weights, guilty)[0]


def veracity(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Does the explanation name what was changed to make the model decide wrongly?

    One part of each instance gets other content (another instance's, another word, another row's value) until the
    model decides otherwise. Observed is how much higher that part stands in the explanation of the wrong label
    than in that of the right one: 0 for whatever does not ask the model. It passed if it is clearly more. Methods
    that ask where a small change acts are held against small changes that may be anywhere: the parts of largest
    weight must flip more decisions than orders do that ask no model.
    """
    seed = seed_of(rng)
    some, notes = _named(method, subject, seed)
    rivals = _rivals(some, Typical.of(subject.X))
    if some[0].case.guilty is None:
        return _small(some, rivals, notes, generator(seed, SHUFFLE))
    values = np.array([each.higher(*each.effects) for each in some])
    mean, low, high = clipped(values)
    first = np.array([each.first(each.order) for each in some])
    got = {
        row: float(np.mean([n.first(o) for n, o in zip(some, each, strict=True)])) for row, each in rivals.items()
    }
    nulls = _nulls(some, generator(seed, SHUFFLE))
    lines = (
        Measured(HIGHER, mean, low, high, len(some), nulls),
        Measured(FIRST, *rate(first), len(some), got),
    )
    passed = bool(low > 0)
    return Verdict(
        passed, mean, 0.0, _said(passed, mean, lines[1]), interval=(low, high), nulls=nulls, measures=lines,
        evidence=_evidence(some, values), rows=_rows(some, values), notes=notes,
    )  # fmt: skip


def _small(
    some: Sequence[Named], rivals: Mapping[str, Sequence[Ints]], notes: tuple[str, ...], rng: np.random.Generator
) -> Verdict:
    """The verdict on a method that asks where a small change acts."""
    values = np.array([each.flips(each.order) for each in some])
    others = {row: np.array([n.flips(o) for n, o in zip(some, each, strict=True)]) for row, each in rivals.items()}
    got = {row: float(each.mean()) for row, each in others.items()}
    level = [row for row, each in others.items() if not interval(values - each)[1] > 0]
    mean, low, high = clipped(values)
    orders = _orders(some, rng)
    nulls = {
        row: float(np.mean([n.flips(o) for n, o in zip(some, each, strict=True)])) for row, each in orders.items()
    }
    lines = (Measured(FLIP, mean, low, high, len(some), nulls), *(
        Measured(f"{row} order, no model", *clipped(each), len(some)) for row, each in others.items()
    ))  # fmt: skip
    return Verdict(
        not level, mean, max(got.values()), _shown(mean, got, not level), interval=(low, high), nulls=nulls,
        measures=lines,
        evidence=_evidence(some, values), notes=notes,
    )  # fmt: skip


def clipped(values: Floats) -> tuple[float, float, float]:
    """The mean of numbers from −1 to 1 and its interval, which goes no further."""
    mean, low, high = (float(each) for each in np.clip(interval(values), -1, 1))
    return mean, low, high


def _evidence(some: Sequence[Named], values: Floats) -> tuple[Explanation, ...]:
    return tuple(some[i].wrong for i in np.argsort(values, kind="stable")[:SHOWN])


def _rows(some: Sequence[Named], values: Floats) -> tuple[int, ...]:
    """The rows in which the guilty part stands lowest."""
    return tuple(some[i].row for i in np.argsort(values, kind="stable")[:WORST] if values[i] <= 0)


def _named(method: Method, subject: Subject, seed: Seed) -> tuple[list[Named], tuple[str, ...]]:
    """Causes that were found in some instances, and the explanations of what came of them."""
    instances = subject.represent.each(subject.X)
    first = instances.batch(0, 1)[0]
    candidates = ROWS if defaults(subject.model, first) == TABLES else CANDIDATES
    rows = np.sort(drawn(len(instances), seed)[: candidates * DEAR])
    try:
        aim = aimed(subject.model, subject.represent, rows_at(subject.X, rows))
    except InputError as wrong:
        raise NotApplicable(f"it is not known what the model decides: {wrong}") from wrong
    kind = _kind(method, subject, first)
    try:
        causes = kind(aim, child_of(seed, MAKE))
    except InputError as unfit:
        raise NotApplicable(f"no part of these instances can be changed alone: {unfit}") from unfit
    found, why = list[Named](), ""
    for i, cause in enumerate(causes):
        if not cause.success or len(found) == DEAR:
            why = why or cause.reason
            continue
        try:
            case = _case(cause, subject, aim.decision, child_of(seed, CASE, i))
        except InputError as unfit:
            why = why or str(unfit)
            continue
        targets = [case.target, aim.decision.target(cause.label, aim.outputs.shape[1])]
        made = answered(method(subject.model, case.representation, targets, case.child(OWN)), 2)
        found.append(Named(int(rows[i]), case, *map(checked, made)))
    if len(found) < FEWEST:
        more = "give more instances" if len(rows) == len(instances) else "what this model decides is hard to turn"
        raise NotApplicable(
            f"a wrong decision could be caused in {len(found)} of {len(rows)} instances, and {FEWEST} are needed: "
            f"{more} ({why or 'that is all there are'})"
        )
    said = f"{len(found)} causes of the kind {type(kind).__name__} were explained, of {len(rows)} instances."
    return found, (said,)


def _case(cause: Cause, subject: Subject, decision: Decision, seed: Seed) -> Case:
    """A cause as its parts, which have to be several: one alone is always the first."""
    case = Case.of(cause, subject.represent, (subject.model, decision), seed)
    if case.d < 2:
        raise InputError("an instance has only one part, which there is nothing to tell from")
    return case


def _kind(method: Method, subject: Subject, representation: Any) -> Any:
    """The kind of cause that a method is held against: other content, or a small change if it asks for that."""
    names = defaults(subject.model, representation)
    if names in (TEXTS, TABLES):
        return _edit(names[0])
    small = getattr(method, "purpose", "content") == "change"
    if not small:
        return _edit("swapped_parts")
    spread = float(np.std(np.asarray(subject.represent.each(subject.X).inputs(0, SPREAD))))
    attack: Any = CAUSES[names[0]]
    return attack(eps=FAR * (spread or 1.0), confidence=SURE)


def _edit(name: str) -> Any:
    """Other content, as soon as it turns the decision."""
    edit: Any = CAUSES[name]
    return edit(confidence=TURNED)


def _rivals(some: Sequence[Named], typical: Typical) -> dict[str, list[Ints]]:
    """Orders that ask no model, one a case."""
    found: dict[str, list[Ints]] = {}
    for each in some:
        for row, order in unasked(each.case, typical).items():
            if not isinstance(order, str):
                found.setdefault(row, []).append(order)
    return {row: orders for row, orders in found.items() if len(orders) == len(some)}


def _changed(some: Sequence[Named], rng: np.random.Generator) -> dict[str, list[tuple[Floats, Floats]]]:
    """Weights for both labels that know nothing of the case: even, drawn, shuffled, another's."""
    found: dict[str, list[tuple[Floats, Floats]]] = {CONSTANT: [], NOISE: [], SHUFFLED: [], ANOTHER: []}
    for i, each in enumerate(some):
        own, d, other = each.effects, each.case.d, some[i - 1]
        found[CONSTANT].append((np.zeros(d), np.zeros(d)))
        found[NOISE].append((rng.random(d), rng.random(d)))
        found[SHUFFLED].append((rng.permutation(own[0]), rng.permutation(own[1])))
        fits = other.case.d == d
        found[ANOTHER].append(other.effects if fits else found[SHUFFLED][-1])
    return found


def _nulls(some: Sequence[Named], rng: np.random.Generator) -> dict[str, float]:
    known = _changed(some, rng)
    return {
        row: float(np.mean([n.higher(*w) for n, w in zip(some, each, strict=True)])) for row, each in known.items()
    }


def _orders(some: Sequence[Named], rng: np.random.Generator) -> dict[str, list[Ints]]:
    known = _changed(some, rng)
    return {
        row: [ranked(w[0], n.case.seed) for n, w in zip(some, each, strict=True)] for row, each in known.items()
    }


def _said(passed: bool, mean: float, first: Measured) -> str:
    named = f"it is the first part in {100 * first.value:.0f} % of the cases ({_unasked(first.nulls)})"
    far = f"by {100 * mean:.0f} % of the other parts"
    if passed:
        return (
            "The explanation names what made the model decide wrongly: the part that was changed stands higher "
            f"for the wrong label than for the right one, {far}; {named}."
        )
    return (
        "The explanation is not shown to name what made the model decide wrongly: the part that was changed does "
        f"not stand clearly higher for the wrong label than for the right one ({far}); {named}."
    )


def _shown(mean: float, got: Mapping[str, float], passed: bool) -> str:
    verb = "shows" if passed else "is not shown to name"
    return (
        f"The explanation {verb} where a small change acts: its heaviest parts flip the decision at "
        f"{100 * mean:.0f} % of all numbers of parts ({_unasked(got)})."
    )


def _unasked(got: Mapping[str, float]) -> str:
    return f"orders that ask no model: {', '.join(f'{row} {100 * value:.0f} %' for row, value in got.items())}"
