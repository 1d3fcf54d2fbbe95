"""A user who chooses between two models by a few explanations of each (section 5.4 of the LIME paper).

The models look equally good, and the user knows of some parts that should not matter. Of these it marks the ones
that it comes across in the explanations it is shown, of each model apart; then it goes over all predictions,
mistrusts those that the marked parts decide, and chooses the model with fewer of them. Who is shown nothing marks
nothing, and cannot tell the models apart: that is the null user. ``flips`` asks the models themselves, which no
user can: a choice by it is the best that counting can do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from veridical.attribute.given import checked_representer, checked_rule, explanations_of, seed_of
from veridical.attribute.models import model_of
from veridical.errors import InputError, check_whole
from veridical.evaluate.users.oracle import stays
from veridical.evaluate.weights import unsound
from veridical.records import Bools, Explanation, Floats, Part, Predict, Record, Representer

Mistrust: TypeAlias = "Callable[[Reading, Bools], Bools]"  # which predictions (n,) are mistrusted, given the marks


@dataclass(frozen=True, slots=True, eq=False)
class Reading(Record):
    """What the explanations of a model say of the parts that should not matter."""

    names: tuple[str, ...]  # (u,) of parts, or of columns
    weights: Floats  # (n, u) in each explanation, all parts of a column together; 0 where there is none
    seen: Bools  # (n, u) whether who looks at an explanation comes across it
    local_predictions: Floats  # (n,)
    readable: Bools  # (n,) False where an explanation has numbers that are not finite

    @classmethod
    def of(cls, explanations: Iterable[Explanation], untrusted: Collection[str], k: int | None = None) -> Reading:
        """Look up the untrusted names; of an explanation only the ``k`` heaviest parts are looked at, or all."""
        many, names = explanations_of("explanations", explanations), _names(untrusted)
        at = {name: j for j, name in enumerate(names)}
        weights, seen = np.zeros((len(many), len(names))), np.zeros((len(many), len(names)), bool)
        local = np.array([why.local_prediction for why in many], dtype=float)
        readable = np.array([not unsound(why) for why in many], dtype=bool) & np.isfinite(local)
        for i in np.flatnonzero(readable):
            why = many[i]
            visible = {name for name, _ in why.top(len(why.parts) if k is None else k)}
            for part, weight in zip(why.parts, why.weights.tolist(), strict=True):
                j = _place(part, at)
                if j is not None and not np.isnan(weight):
                    weights[i, j] += weight
                    seen[i, j] |= part.name in visible
        return cls(names, weights, seen, local, readable)

    def __len__(self) -> int:
        return len(self.weights)


@dataclass(frozen=True)
class Crosses:
    """Mistrusts a prediction that would be on the other side of the threshold without the marked parts.

    By the explanation, that is: its local prediction less the weights of these parts.
    """

    threshold: float = 0.5

    def __call__(self, reading: Reading, marked: Bools) -> Bools:
        without = reading.local_predictions - reading.weights @ marked
        return np.asarray((without > self.threshold) != (reading.local_predictions > self.threshold))


HALF = Crosses()


def contains(reading: Reading, marked: Bools) -> Bools:
    """Mistrusts a prediction whose explanation shows a marked part: where weights are no sum to a prediction."""
    return np.asarray(reading.seen[:, marked].any(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class Choice(Record):
    """Which of two models was chosen, and why."""

    chosen: int | None  # 0 or 1; None where both have as many mistrusted predictions
    mistrusted: tuple[int, int]  # predictions of each model
    marked: tuple[tuple[str, ...], tuple[str, ...]]  # untrusted names that were come across, for each model
    n: int  # predictions that were gone over: those of which both explanations can be read
    unread: tuple[int, int] = (0, 0)  # explanations of each model with numbers that are not finite

    @classmethod
    def by(cls, mistrusted: tuple[int, int], marked: Any, *, n: int, unread: tuple[int, int] = (0, 0)) -> Choice:
        """The model with fewer mistrusted predictions."""
        first, second = mistrusted
        return cls(None if first == second else int(second < first), mistrusted, marked, n, unread)

    def right(self, better: int) -> float:
        """1 if the better model was chosen and 0 if not; a tie is settled by the toss of a coin, so it is 1/2."""
        return 0.5 if self.chosen is None else float(self.chosen == better)

    @property
    def sentence(self) -> str:
        first, second = self.mistrusted
        told = "a tie" if self.chosen is None else f"the {('first', 'second')[self.chosen]} model"
        marks = " and ".join(str(len(marked)) for marked in self.marked)
        unread = f"; {self.unread[0]} and {self.unread[1]} explanations cannot be read" if any(self.unread) else ""
        return f"{told}: {first} and {second} of {self.n} predictions mistrusted, for {marks} marked names{unread}"

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True, eq=False)
class Chooser(Record):
    """A user who has the explanations of two models on the same instances, and chooses by those it is shown."""

    first: Reading
    second: Reading
    mistrust: Mistrust = HALF

    def __post_init__(self) -> None:
        sizes = len(self.first), len(self.second)
        if sizes[0] != sizes[1]:
            raise InputError(
                f"both models must explain the same instances, but there are {sizes[0]} explanations of the first "
                f"and {sizes[1]} of the second"
            )
        if not sizes[0]:
            raise InputError("there are no explanations to choose by")
        if self.first.names != self.second.names:
            raise InputError("both models must be read for the same untrusted names")
        Record.__post_init__(self)

    @classmethod
    def of(
        cls,
        first: Any,
        second: Any,
        untrusted: Collection[str],
        *,
        k: int | None = None,
        mistrust: Mistrust = HALF,
    ) -> Chooser:
        """Read the explanations of both models; of each, the ``k`` heaviest parts are looked at, or all."""
        if k is not None:
            check_whole("k", k)
        names = _names(untrusted)
        checked_rule("mistrust", mistrust, "Crosses(0.5)")
        both = explanations_of("first", first), explanations_of("second", second)
        there = {name for many in both for why in many for part in why.parts for name in (part.name, part.column)}
        if any(both) and there.isdisjoint(names):
            some = next(why.names[0] for many in both for why in many if why.parts)
            raise InputError(
                f"no part of any explanation is called {names[0]!r}, or by another of the {len(names)} untrusted "
                f"names: name parts or columns as explanations do, such as {some!r}"
            )
        return cls(Reading.of(both[0], names, k), Reading.of(both[1], names, k), mistrust)

    def __call__(self, shown: Any = None) -> Choice:
        """Choose after a look at some of the explanations, by their numbers; see ``choose``."""
        rows, both = _pair(shown, len(self.first)), self.first.readable & self.second.readable
        counts, marks, unread = [], [], []
        for reading, looked in zip((self.first, self.second), rows, strict=True):
            marked = reading.seen[looked].any(axis=0)
            counts.append(int((self._mistrusted(reading, marked) & both).sum()))
            marks.append(tuple(name for name, mark in zip(reading.names, marked, strict=True) if mark))
            unread.append(int((~reading.readable).sum()))
        return Choice.by(
            (counts[0], counts[1]), (marks[0], marks[1]), n=int(both.sum()), unread=(unread[0], unread[1])
        )

    def _mistrusted(self, reading: Reading, marked: Bools) -> Bools:
        """The answer of the rule, which may be the caller's own."""
        found = np.asarray(self.mistrust(reading, marked))
        if found.shape != (len(reading),) or found.dtype != bool:
            raise InputError(
                f"mistrust must say True or False of each of {len(reading)} predictions; it gave {found.dtype} of "
                f"shape {found.shape}"
            )
        return found


def choose(
    first: Any,
    second: Any,
    untrusted: Collection[str],
    *,
    shown: Any = None,
    k: int | None = None,
    mistrust: Mistrust = HALF,
) -> Choice:
    """Let a simulated user choose between two models by explanations of the same instances.

    ``untrusted`` are names of parts or columns that should not matter. ``shown`` says which explanations the user
    looks at: a pick or row numbers, for both models alike, or a pair of them, one a model; by default all. ``k``
    is how many of the heaviest parts of an explanation are looked at. ``mistrust`` decides, from the marked names,
    which predictions are mistrusted: ``Crosses(0.5)`` where weights add up to a prediction, else ``contains``.

    >>> import veridical as vd
    >>> from veridical.evaluate.users import choose
    >>> texts = ["a good film", "a bad film seen on dvd", "good acting on dvd"]
    >>> def honest(texts):
    ...     return [0.8 if "good" in text else 0.2 for text in texts]
    >>> def leaky(texts):
    ...     return [0.8 if "good" in text or "dvd" in text else 0.2 for text in texts]
    >>> first, second = (vd.explain_many(model, vd.Words(), texts) for model in (honest, leaky))
    >>> print(choose(first, second, {"dvd"}, shown=[1]))
    the first model: 0 and 1 of 3 predictions mistrusted, for 0 and 1 marked names
    """
    return Chooser.of(first, second, untrusted, k=k, mistrust=mistrust)(shown)


def flips(
    predict: Predict,
    represent: Representer,
    X: Any,
    untrusted: Collection[str],
    *,
    threshold: float = 0.5,
    rng: int | np.random.Generator = 0,
) -> Bools:
    """Which predictions (n,) really change without the untrusted parts: the oracle asks the model itself.

    A prediction is the likeliest class, or of a model with one output whether it is above the threshold. Where
    what is there without a part is drawn from a background, the mean answer over many draws decides.
    """
    model, names, seed = model_of(predict), frozenset(_names(untrusted)), seed_of(rng)
    instances = checked_representer(represent).each(X)
    found = np.zeros(len(instances), bool)
    for i, representation in enumerate(instances.batch(0, len(instances))):
        gone = np.array([part.name in names or part.column in names for part in representation.parts], dtype=bool)
        if gone.any():
            own = np.random.SeedSequence(seed.entropy, spawn_key=(i,))
            found[i] = not stays(model, representation, gone[None], threshold, own)[0]
    return found


def _names(untrusted: Collection[str]) -> tuple[str, ...]:
    """Names in a fixed order, each once."""
    if (
        not isinstance(untrusted, Iterable)
        or isinstance(untrusted, str)
        or not all(isinstance(name, str) for name in untrusted)
    ):
        raise InputError(f"untrusted wants a set of names of parts or columns, not {untrusted!r}")
    if not untrusted:
        raise InputError("untrusted is empty: name at least one part that should not matter")
    return tuple(sorted(set(untrusted)))


def _place(part: Part, at: dict[str, int]) -> int | None:
    """Where an untrusted part is counted: under its own name, or under that of its column."""
    return at[part.name] if part.name in at else at.get(part.column)


def _pair(shown: Any, n: int) -> tuple[Any, Any]:
    """Row numbers for each model."""
    if shown is None:
        return np.arange(n), np.arange(n)
    if hasattr(shown, "chosen"):
        return _rows(shown, n), _rows(getattr(shown, "second", None) or shown, n)
    if not isinstance(shown, Iterable):
        return _rows(shown, n), _rows(shown, n)
    each = list(shown)
    if len(each) == 2 and not any(isinstance(item, (int, np.integer)) for item in each):
        return _rows(each[0], n), _rows(each[1], n)
    return _rows(each, n), _rows(each, n)


def _rows(shown: Any, n: int) -> Any:
    rows = np.asarray(getattr(shown, "chosen", shown))
    if rows.size == 0:
        return np.empty(0, dtype=np.int64)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise InputError(f"shown wants a pick or row numbers, or a pair of them, one a model, not {shown!r}")
    if rows.min() < 0 or rows.max() >= n:
        raise InputError(
            f"shown names row {rows.max() if rows.max() >= n else rows.min()}, but rows are 0 to {n - 1}"
        )
    return rows
