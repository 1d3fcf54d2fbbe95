"""A user who takes away what a model should not use, round by round (section 6.3 of the LIME paper).

In each round the user is shown a few explanations and names columns (of a text, words) to be rid of; the model
is trained again without them. How good it is where it will be used is measured each time, out of the user's sight.
A gain counts only beside that of users who know nothing: taking any shown column away can help by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import stats

from veridical.attribute.given import checked_rule, explanations_of, listed, seed_of
from veridical.errors import InputError, ModelError, check_number, check_whole, describe_error
from veridical.masks import child_of, generator
from veridical.records import Explanation, Explanations, Floats, Predict, Record, Seed

Gone: TypeAlias = frozenset[str]  # columns that were removed
Fit: TypeAlias = Callable[[Gone], Predict]
Explain: TypeAlias = Callable[[Predict, Gone, np.random.Generator], Iterable[Explanation]]
Choose: TypeAlias = Callable[[Explanations, np.random.Generator], Iterable[int]]
Columns: TypeAlias = tuple[tuple[str, float], ...]  # with their weights
Hidden: TypeAlias = Mapping[str, Callable[[Predict], float]]


@dataclass(frozen=True, slots=True, eq=False)
class Seen(Record):
    """What a user sees in a round: columns and their weights, and no way to the data, the model or its scores."""

    round: int  # from 1 on
    lists: tuple[Columns, ...]  # of each explanation its heaviest columns
    removed: tuple[str, ...]  # in rounds before

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is shown, once, in the order it is come across."""
        return tuple(dict.fromkeys(column for each in self.lists for column, _ in each))


User: TypeAlias = Callable[[Seen, np.random.Generator], Iterable[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Round(Record):
    """One round: what was shown, what went, and how good the model was after it. Round 0 is the first model."""

    number: int
    shown: tuple[str, ...]  # columns
    removed: tuple[str, ...]  # in this round
    scores: Mapping[str, float]  # hidden from the user


@dataclass(frozen=True, slots=True, eq=False)
class Cleaning(Record):
    """The rounds of one user after another, each on the model that the one before left."""

    rounds: tuple[Round, ...]  # number 0 first

    @property
    def removed(self) -> tuple[str, ...]:
        """All columns that went, in order."""
        return tuple(column for each in self.rounds for column in each.removed)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many columns went in each round from 1 on: what a random user needs in order to do as much."""
        return tuple(len(each.removed) for each in self.rounds[1:])

    def scores(self, name: str) -> Floats:
        """A hidden score by round, (rounds + 1,)."""
        if name not in self.rounds[0].scores:
            raise InputError(f"no score is called {name!r}; there are {', '.join(self.rounds[0].scores)}")
        return np.array([each.scores[name] for each in self.rounds])


@dataclass(frozen=True)
class Study:
    """A model that users clean: how it is trained, explained, shown and scored.

    ``fit(removed)`` trains as if those columns did not exist, and returns the function that predicts.
    ``explain(predict, removed, rng)`` gives explanations, once for each model; ``choose(explanations, rng)`` the
    numbers of those that one user sees, such as ``lambda many, rng: vd.pick(many, 10, k=10).chosen``. Of each, the
    user sees the ``k`` heaviest columns; a column that was removed is never among them. ``hidden`` are scores that
    no user sees: functions of ``predict``, each with its name.
    """

    fit: Fit
    explain: Explain
    choose: Choose
    hidden: Hidden
    k: int = 10

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        if not isinstance(self.hidden, Mapping) or not self.hidden:
            raise InputError(f"hidden wants scores by their names, such as {{'accuracy': …}}, not {self.hidden!r}")
        for name in ("fit", "explain", "choose"):
            checked_rule(name, getattr(self, name), "those that the class tells of")

    def trained(self, removed: Gone) -> Predict:
        """The model without these columns."""
        try:
            predict = self.fit(removed)
        except Exception as cause:
            raise ModelError(
                f"fit failed without {len(removed)} columns ({describe_error(cause)}); perhaps nothing is "
                "left to learn from: remove fewer"
            ) from cause
        if not callable(predict):
            raise InputError(f"fit must return a function that predicts, not {type(predict).__name__}")
        return predict

    def scored(self, predict: Predict) -> dict[str, float]:
        """The hidden scores of a model."""
        found = {name: score(predict) for name, score in self.hidden.items()}
        for name, value in found.items():
            check_number(f"the score {name!r}", value)
        return {name: float(value) for name, value in found.items()}

    def seen(self, number: int, many: tuple[Explanation, ...], removed: Gone, rng: np.random.Generator) -> Seen:
        """What the next user sees of these explanations."""
        chosen = (
            [int(i) for i in listed("what choose returns", self.choose(Explanations(many), rng))] if many else []
        )
        for i in chosen:
            if not 0 <= i < len(many):
                raise InputError(f"choose gave number {i} of {len(many)} explanations; they count from 0")
        lists = tuple(tuple(heaviest(many[i], removed, self.k)) for i in chosen)
        return Seen(number, lists, tuple(sorted(removed)))


def heaviest(why: Explanation, removed: Collection[str], k: int) -> Iterator[tuple[str, float]]:
    """The k columns with the heaviest parts, and these parts' weights; none that is removed, or zero."""
    found: dict[str, float] = {}
    for j in np.argsort(-np.abs(why.weights), kind="stable"):
        column, weight = why.parts[j].column, float(why.weights[j])
        if weight != 0 and not np.isnan(weight) and column not in removed:
            found.setdefault(column, weight)
        if len(found) == k:
            break
    yield from found.items()


@dataclass(frozen=True)
class Rule:
    """Removes the shown columns that ``bad`` says are bad, each with probability ``attention``."""

    bad: Callable[[str], bool]
    attention: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.attention <= 1:
            raise InputError(f"attention is a probability, from 0 to 1, not {self.attention!r}")

    def __call__(self, seen: Seen, rng: np.random.Generator) -> list[str]:
        bad = [column for column in seen.columns if self.bad(column)]
        return [column for column, luck in zip(bad, rng.random(len(bad)), strict=True) if luck < self.attention]


@dataclass(frozen=True)
class RandomShown:
    """A null user: removes columns that are shown, drawn at random, so many in each round."""

    sizes: Sequence[int]

    def __call__(self, seen: Seen, rng: np.random.Generator) -> list[str]:
        return _drawn(seen.columns, _size(self.sizes, seen), rng)


@dataclass(frozen=True)
class RandomColumns:
    """A null user: removes any columns, drawn at random without a look at what is shown, so many in each round."""

    columns: Sequence[str]
    sizes: Sequence[int]

    def __call__(self, seen: Seen, rng: np.random.Generator) -> list[str]:
        gone = frozenset(seen.removed)
        return _drawn([c for c in self.columns if c not in gone], _size(self.sizes, seen), rng)


def _size(sizes: Sequence[int], seen: Seen) -> int:
    if seen.round > len(sizes):
        raise InputError(f"sizes says what to remove in {len(sizes)} rounds, and this is round {seen.round}")
    check_whole("each of sizes", sizes[seen.round - 1], 0)
    return int(sizes[seen.round - 1])


def _drawn(columns: Sequence[str], size: int, rng: np.random.Generator) -> list[str]:
    return [columns[i] for i in rng.permutation(len(columns))[:size]]


def clean(
    study: Study, user: User, *, fan: Sequence[int] = (1, 1, 1), rng: int | np.random.Generator = 0
) -> tuple[Cleaning, ...]:
    """Let users clean a model, a round for each number of ``fan``.

    ``fan`` says how many users are shown each model of a round: (1, 1, 1) is one path of three rounds, (10, 5, 5)
    the paper's 10, then 50, then 250 models. Each path from the first model to a last one is a Cleaning.

    >>> from veridical.evaluate.users import Rule, Study, clean
    >>> import veridical as vd
    >>> weights = {"good": 1.0, "leak": 2.0}
    >>> def fit(removed):
    ...     known = {word: w for word, w in weights.items() if word not in removed}
    ...     return lambda texts: [sum(known.get(word, 0.0) for word in text.split()) for text in texts]
    >>> def explain(predict, removed, rng):
    ...     return [vd.explain(predict, vd.Words(), "a good leak here")]
    >>> study = Study(fit, explain, lambda many, rng: [0], {"leaks": lambda predict: predict(["leak"])[0]})
    >>> (path,) = clean(study, Rule(lambda word: word == "leak"), fan=(1,))
    >>> path.removed, path.scores("leaks").tolist()
    (('leak',), [2.0, 0.0])
    """
    for number in listed("fan", fan):
        check_whole("each number of fan", number)
    seed = seed_of(rng)
    predict = study.trained(frozenset())
    first = Round(0, (), (), study.scored(predict))
    return tuple(_grown(study, user, predict, (first,), tuple(fan), seed))


def _grown(
    study: Study, user: User, predict: Predict, rounds: tuple[Round, ...], fan: tuple[int, ...], seed: Seed
) -> Iterator[Cleaning]:
    """Every path on from a model."""
    number, removed = len(rounds), frozenset(Cleaning(rounds).removed)
    if not fan:
        yield Cleaning(rounds)
        return
    many = explanations_of("what explain returns", study.explain(predict, removed, generator(seed, 0, 0)))
    for i in range(1, fan[0] + 1):
        own = child_of(seed, i)
        seen = study.seen(number, many, removed, generator(own, 0, 1))
        gone = tuple(dict.fromkeys(c for c in _named(user(seen, generator(own, 0, 2))) if c not in removed))
        after = study.trained(removed | set(gone)) if gone else predict
        made = Round(number, seen.columns, gone, study.scored(after))
        yield from _grown(study, user, after, (*rounds, made), fan[1:], own)


def _named(columns: Iterable[str]) -> Iterator[str]:
    for column in [columns] if isinstance(columns, str) else listed("what a user removes", columns):
        if not isinstance(column, str):
            raise InputError(f"a user must name the columns to remove, as they are shown, not {column!r}")
        yield column


def curve(cleanings: Sequence[Cleaning], name: str) -> Floats:
    """Mean of a hidden score by round, with its 95 % interval: (rounds + 1, 3). The interval is nan for one path.

    The cleanings must be of independent first users: a path each, or one of every fan.
    """
    if not len(cleanings):
        raise InputError("there are no cleanings to draw a curve of")
    scores = np.array([each.scores(name) for each in cleanings])
    mean, n = scores.mean(axis=0), len(scores)
    if n < 2:
        return np.column_stack([mean, np.full((len(mean), 2), np.nan)])
    half = stats.t.ppf(0.975, n - 1) * scores.std(axis=0, ddof=1) / np.sqrt(n)
    return np.column_stack([mean, mean - half, mean + half])
