"""Simulated users: what explanations let someone do who knows something that the model does not.

A user who chooses between two models by a few explanations of each (section 5.4 of the LIME paper).

The models look equally good, and the user knows of some parts that should not matter. Of these it marks the ones
that it comes across in the explanations it is shown, of each model apart; then it goes over all predictions,
mistrusts those that the marked parts decide, and chooses the model with fewer of them. Who is shown nothing marks
nothing, and cannot tell the models apart: that is the null user. ``flips`` asks the models themselves, which no
user can: a choice by it is the best that counting can do.

A user who has to know which predictions to trust (section 5.3 of the LIME paper).

Some columns are not to be trusted, drawn at random, again and again. A prediction is trustworthy if the model
would predict the same without them: the oracle asks the model itself. The user may not ask; it has one explanation
of each prediction. While most predictions are trustworthy, who trusts them all seems nearly always right: look at
the mistrusted ones too, and at users who know nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from scipy import stats

from cleaners import (
    Cleaning,
    RandomColumns,
    RandomShown,
    Round,
    Rule,
    ShownColumns,
    Study,
    check_rule,
    clean,
)
from veridical.errors import InputError, check_number, check_whole
from veridical.methods.occlusion import check_removable
from veridical.metrics.weights import count_invalid
from veridical.models.outputs import Model
from veridical.models.validation import check_list, check_request, explanations_of, seed_of
from veridical.protocols import Predict, Representation, Representer, Seed
from veridical.records import Bools, Explanation, Floats, Ints, Part, Record
from veridical.seeds import generator

__all__ = [
    "Choice",
    "Chooser",
    "Cleaning",
    "Crosses",
    "Doubts",
    "Finds",
    "RandomColumns",
    "RandomShown",
    "Reading",
    "Round",
    "Rule",
    "ShownColumns",
    "Study",
    "Subtracts",
    "Trust",
    "choose",
    "clean",
    "contains",
    "doubts",
    "flips",
]


DRAWS = 64  # of the background, where what is there without a part is drawn from it


def stays(model: Model, representation: Representation, gone: Bools, threshold: float, seed: Seed) -> Bools:
    """Whether the model predicts the same without the parts that are gone, (m,); ``gone`` has a row a question.

    A prediction is the likeliest class, or of a model with one output whether it is above the threshold. Where
    what is there without a part is drawn from a background, the mean answer over many draws decides.
    """
    own = check_removable(representation, "the oracle")
    times = 1 if own.steady else DRAWS
    masks = np.vstack([np.ones_like(gone[:1]), np.repeat(~gone, times, axis=0)])
    outputs = model(own.keeping(masks, seed))
    after = outputs[1:].reshape(len(gone), times, -1).mean(axis=1)
    same = _label(after, threshold) == _label(outputs[:1], threshold)
    return np.asarray(same | ~gone.any(axis=1))


def _label(outputs: Floats, threshold: float) -> Any:
    return outputs[:, 0] > threshold if outputs.shape[1] == 1 else outputs.argmax(axis=1)


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
        readable = np.array([not count_invalid(why) for why in many], dtype=bool) & np.isfinite(local)
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


HALF_CROSSED = Crosses()


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
    mistrust: Mistrust = HALF_CROSSED

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
        mistrust: Mistrust = HALF_CROSSED,
    ) -> Chooser:
        """Read the explanations of both models; of each, the ``k`` heaviest parts are looked at, or all."""
        if k is not None:
            check_whole("k", k)
        names = _names(untrusted)
        check_rule("mistrust", mistrust, "Crosses(0.5)")
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
    mistrust: Mistrust = HALF_CROSSED,
) -> Choice:
    """Let a simulated user choose between two models by explanations of the same instances.

    ``untrusted`` are names of parts or columns that should not matter. ``shown`` says which explanations the user
    looks at: a pick or row numbers, for both models alike, or a pair of them, one a model; by default all. ``k``
    is how many of the heaviest parts of an explanation are looked at. ``mistrust`` decides, from the marked names,
    which predictions are mistrusted: ``Crosses(0.5)`` where weights add up to a prediction, else ``contains``.

    >>> import veridical as vd
    >>> from users import choose
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
    asked, names = check_request(predict, represent, rng=rng), frozenset(_names(untrusted))
    model, instances, seed = asked.model, represent.each(X), asked.seed
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


# whether a prediction is trusted (m,), by its explanation and by which parts are gone in each draw (m, d)
Believe: TypeAlias = Callable[[Explanation, Bools], Bools]


@dataclass(frozen=True)
class Subtracts:
    """Takes the weights of untrusted parts from the local prediction; trusts what stays on its side.

    The side is that of the model's own prediction. Of one class of two, the threshold is 0.5; of a difference,
    such as log odds, it is 0. With more classes, explain the difference between the first and the second.
    """

    threshold: float = 0.5

    def __call__(self, why: Explanation, gone: Bools) -> Bools:
        without = why.local_prediction - gone @ np.nan_to_num(why.weights)
        return np.asarray((without > self.threshold) == (why.prediction > self.threshold))


@dataclass(frozen=True)
class Finds:
    """Trusts unless one of the ``k`` heaviest parts is untrusted: where weights are no sum to a prediction."""

    k: int = 10

    def __post_init__(self) -> None:
        check_whole("k", self.k)

    def __call__(self, why: Explanation, gone: Bools) -> Bools:
        size = np.nan_to_num(np.abs(why.weights))
        heaviest = np.argsort(-size, kind="stable")[: self.k]
        return np.asarray(~gone[:, heaviest[size[heaviest] > 0]].any(axis=1))


HALF_SUBTRACTED = Subtracts()


@dataclass(frozen=True, slots=True, eq=False)
class Trust(Record):
    """What a user trusted, beside what was trustworthy."""

    stays: Bools  # (m, n) by draw and prediction: the truth
    trusted: Bools  # (m, n)
    unread: int = 0  # explanations with numbers that are not finite: their predictions are left out

    @property
    def share(self) -> float:
        """The share of all predictions that are trustworthy."""
        return float(self.stays.mean()) if self.stays.size else float("nan")

    @property
    def f1(self) -> float:
        """F1 of finding the trustworthy ones, as in the paper; the mean over draws."""
        return _mean(_f1(_counts(self.stays, self.trusted)))

    @property
    def mistrust_f1(self) -> float:
        """F1 of finding those that are not trustworthy, over the draws in which any is, or is mistrusted."""
        return _mean(_mistrust_f1(_counts(self.stays, self.trusted)))

    @property
    def balanced_accuracy(self) -> float:
        """The mean share of right answers to trustworthy and to other ones: 0.5 for who does not look."""
        return _mean(_balanced(_counts(self.stays, self.trusted)))

    def interval(self, score: str) -> tuple[float, float]:
        """95 % interval of "f1", "mistrust_f1" or "balanced_accuracy" over other instances like these."""
        if score not in SCORES:
            raise InputError(f"no score is called {score!r}; there are {', '.join(SCORES)}")
        n = self.stays.shape[1]
        if n < 2:
            return float("nan"), float("nan")
        whole = _counts(self.stays, self.trusted)
        each = _cells(self.stays, self.trusted)  # (4, m, n)
        without = np.array([_mean(SCORES[score](whole - each[:, :, i])) for i in range(n)])
        error = float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))  # jackknife
        half = float(stats.t.ppf(0.975, n - 1)) * error
        mean = _mean(SCORES[score](whole))
        return mean - half, mean + half

    @property
    def sentence(self) -> str:
        unread = f"; {self.unread} without explanations that can be read are left out" if self.unread else ""
        return (
            f"trust F1 {self.f1:.3f}, mistrust F1 {self.mistrust_f1:.3f}, balanced accuracy "
            f"{self.balanced_accuracy:.3f}; {100 * self.share:.1f} % of the predictions are trustworthy{unread}"
        )

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True, eq=False)
class Doubts(Record):
    """Columns that are not to be trusted, draw by draw, and which predictions do not depend on them."""

    columns: tuple[str, ...]  # (c,)
    drawn: Bools  # (m, c)
    places: tuple[Ints, ...]  # the columns of each instance's parts
    stays: Bools  # (m, n) the oracle: the model predicts the same without them

    def gone(self, i: int) -> Bools:
        """Which parts of an instance are not trusted in each draw, (m, d)."""
        return np.asarray(self.drawn[:, self.places[i]])

    def user(self, explanations: Iterable[Explanation], believe: Believe = HALF_SUBTRACTED) -> Trust:
        """A user who has one explanation of each prediction, and believes by it."""
        many = explanations_of("explanations", explanations)
        check_rule("believe", believe, "Subtracts(0.5)")
        if len(many) != len(self.places):
            raise InputError(f"there are {len(self.places)} instances, but {len(many)} explanations")
        trusted, readable = np.zeros(self.stays.shape, bool), np.ones(len(many), bool)
        for i, why in enumerate(many):
            if len(why.parts) != len(self.places[i]):
                raise InputError(
                    f"instance {i} has {len(self.places[i])} parts, but its explanation {len(why.parts)}: explain "
                    "with the same representation"
                )
            readable[i] = not count_invalid(why) and np.isfinite(why.local_prediction)
            if readable[i]:
                trusted[:, i] = _believed(believe, why, self.gone(i))
        return Trust(self.stays[:, readable], trusted[:, readable], int((~readable).sum()))

    def everything(self) -> Trust:
        """A null user, who trusts every prediction."""
        return Trust(self.stays, np.ones(self.stays.shape, bool))

    def at_random(self, k: int = 10, rng: int | np.random.Generator = 0) -> Trust:
        """A null user, who finds k random parts of each instance in its explanation, some perhaps twice."""
        check_whole("k", k)
        trusted, seed = np.zeros(self.stays.shape, bool), seed_of(rng)
        for i, places in enumerate(self.places):
            seen = generator(seed, 0, i).integers(len(places), size=k)
            trusted[:, i] = ~self.gone(i)[:, seen].any(axis=1)
        return Trust(self.stays, trusted)


def doubts(
    predict: Predict,
    represent: Representer,
    X: Any,
    *,
    share: float = 0.25,
    n_draws: int = 100,
    untrusted: Sequence[Collection[str]] | None = None,
    threshold: float = 0.5,
    rng: int | np.random.Generator = 0,
) -> Doubts:
    """Draw columns that are not to be trusted, and ask the model which predictions depend on them.

    ``share`` of all columns that X has are drawn, ``n_draws`` times; or ``untrusted`` names them, one collection a
    draw. A prediction is the likeliest class, or of a model with one output whether it is above the threshold;
    where what is there without a part is drawn from a background, the mean answer over many draws decides.

    >>> import veridical as vd
    >>> from users import doubts
    >>> texts = ["a good film", "a bad film seen on dvd", "good acting on dvd"]
    >>> def predict(texts):
    ...     return [0.8 if "good" in text or "dvd" in text else 0.2 for text in texts]
    >>> asked = doubts(predict, vd.Words(), texts, untrusted=[{"dvd"}])
    >>> asked.stays.tolist()
    [[True, False, True]]
    >>> print(asked.user(vd.explain_many(predict, vd.Words(), texts)))
    trust F1 1.000, mistrust F1 1.000, balanced accuracy 1.000; 66.7 % of the predictions are trustworthy
    """
    asked = check_request(predict, represent, rng=rng)
    model, instances, seed = asked.model, represent.each(X), asked.seed
    named = [tuple(part.column for part in each.parts) for each in instances.batch(0, len(instances))]
    columns = tuple(dict.fromkeys(column for names in named for column in names))
    at = {column: j for j, column in enumerate(columns)}
    places = tuple(np.array([at[column] for column in names], dtype=np.int64) for names in named)
    check_number("threshold", threshold)
    drawn = _drawn(len(columns), share, n_draws, seed) if untrusted is None else _given(untrusted, at)
    kept = np.zeros((len(drawn), len(places)), bool)
    for i, each in enumerate(instances.batch(0, len(instances))):
        own = np.random.SeedSequence(seed.entropy, spawn_key=(i,))
        kept[:, i] = stays(model, each, drawn[:, places[i]], threshold, own)
    return Doubts(columns, drawn, places, kept)


def _believed(believe: Believe, why: Explanation, gone: Bools) -> Bools:
    """The answer of the rule, which may be the caller's own."""
    found = np.asarray(believe(why, gone))
    if found.shape != gone.shape[:1] or found.dtype != bool:
        raise InputError(
            f"believe must say True or False of each of {len(gone)} draws; it gave {found.dtype} of shape "
            f"{found.shape}"
        )
    return found


def _drawn(n: int, share: float, n_draws: int, seed: Seed) -> Bools:
    """So many columns at random in each draw, (n_draws, n)."""
    check_whole("n_draws", n_draws)
    if not isinstance(share, Real) or not 0 < share < 1:
        raise InputError(f"share is the share of columns that are not trusted, between 0 and 1, not {share!r}")
    order = generator(seed, 1, 0).random((n_draws, n)).argsort(axis=1).argsort(axis=1)
    return np.asarray(order < max(int(share * n), 1))


def _given(untrusted: Sequence[Collection[str]], at: dict[str, int]) -> Bools:
    """Named columns; a name that no instance has does no harm, unless none is known."""
    if any(isinstance(names, str) for names in check_list("untrusted", untrusted)):
        raise InputError("untrusted wants a list of sets of columns, one a draw, such as [{'dvd', 'disc'}]")
    drawn = np.zeros((len(untrusted), len(at)), bool)
    for row, names in zip(drawn, untrusted, strict=True):
        row[[at[name] for name in names if name in at]] = True
    if not drawn.any():
        raise InputError(
            f"no part of any instance has one of the untrusted columns; there are {', '.join(list(at)[:5])}, …"
        )
    return drawn


def _cells(stays: Bools, trusted: Bools) -> Ints:
    """What each prediction counts as, (4, m, n): rightly or wrongly trusted, wrongly or rightly mistrusted."""
    found = [stays & trusted, ~stays & trusted, stays & ~trusted, ~stays & ~trusted]
    return np.array(found, dtype=np.int64)


def _counts(stays: Bools, trusted: Bools) -> Ints:
    """The same for all predictions of a draw, (4, m)."""
    return np.asarray(_cells(stays, trusted).sum(axis=2))


def _f1(counts: Ints) -> Floats:
    right, wrong, missed, _ = counts
    return _ratio(2 * right, 2 * right + wrong + missed)


def _mistrust_f1(counts: Ints) -> Floats:
    return _f1(counts[::-1])


def _balanced(counts: Ints) -> Floats:
    right, wrong, missed, seen = counts
    return np.asarray((_ratio(right, right + missed) + _ratio(seen, seen + wrong)) / 2)


def _ratio(part: Ints, whole: Ints) -> Floats:
    """A share of each draw; nan where it is one of nothing."""
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)


def _mean(values: Floats) -> float:
    """Over the draws that have a value."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


SCORES: dict[str, Callable[[Ints], Floats]] = {
    "f1": _f1,
    "mistrust_f1": _mistrust_f1,
    "balanced_accuracy": _balanced,
}
