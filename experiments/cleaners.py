"""Simulated users remove columns that a model should not use, and it is trained again (section 6.3 of the LIME paper).

In each round a user sees a few explanations and names columns (of a text, words) to remove; the model is trained
again without them. How good it is in use is measured each time, hidden from the user. A gain counts only beside
that of random users, since removing any shown column may help by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from veridical.errors import InputError, ModelError, check_number, check_whole, describe_error
from veridical.models.validation import check_list, explanations_of, seed_of
from veridical.protocols import Predict, Seed
from veridical.records import Explanation, Explanations, Floats, Record
from veridical.seeds import child_of, generator

Removed: TypeAlias = frozenset[str]  # columns that were removed
FitWithout: TypeAlias = Callable[[Removed], Predict]
ExplainModel: TypeAlias = Callable[[Predict, Removed, np.random.Generator], Iterable[Explanation]]
ChooseShown: TypeAlias = Callable[[Explanations, np.random.Generator], Iterable[int]]
WeightedColumns: TypeAlias = tuple[tuple[str, float], ...]  # with their weights
HiddenScores: TypeAlias = Mapping[str, Callable[[Predict], float]]


@dataclass(frozen=True, slots=True, eq=False)
class ShownColumns(Record):
    """What a user sees in a round: columns and their weights, but not the data, the model or its scores."""

    round: int  # from 1 on
    lists: tuple[WeightedColumns, ...]  # of each explanation its heaviest columns
    removed: tuple[str, ...]  # in rounds before

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is shown, once, in order of appearance."""
        return tuple(dict.fromkeys(column for each in self.lists for column, _ in each))


User: TypeAlias = Callable[[ShownColumns, np.random.Generator], Iterable[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Round(Record):
    """One round: what was shown, what was removed, and how good the model was after it. Round 0 is the first model.

    Attributes
    ----------
    number : int
        Number of the round.
    shown, removed : tuple of str
        Columns that were shown, and those that were removed in this round.
    scores : mapping
        Scores of the model, which the user did not see.
    """

    number: int
    shown: tuple[str, ...]  # columns
    removed: tuple[str, ...]  # in this round
    scores: Mapping[str, float]  # hidden from the user


@dataclass(frozen=True, slots=True, eq=False)
class Cleaning(Record):
    """The rounds of one user after another, each on the model that the one before left.

    Attributes
    ----------
    rounds : tuple of Round
        The rounds, number 0 first.
    """

    rounds: tuple[Round, ...]  # number 0 first

    @property
    def removed(self) -> tuple[str, ...]:
        """All removed columns, in order."""
        return tuple(column for each in self.rounds for column in each.removed)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many columns were removed in each round from 1 on: what a random user needs to remove as many."""
        return tuple(len(each.removed) for each in self.rounds[1:])

    def scores(self, name: str) -> Floats:
        """Return a hidden score by round.

        Parameters
        ----------
        name : str
            Name of the score.

        Returns
        -------
        array (rounds + 1,)
        """
        if name not in self.rounds[0].scores:
            raise InputError(f"no score is called {name!r}; there are {', '.join(self.rounds[0].scores)}")
        return np.array([each.scores[name] for each in self.rounds])


def check_rule(name: str, rule: Any, example: str) -> None:
    """Refuse what cannot be called, or is a class whose settings are missing."""
    if not callable(rule) or isinstance(rule, type):
        raise InputError(f"{name} wants a function, such as {example}, not {rule!r}")


@dataclass(frozen=True)
class Study:
    """A model that users clean: how it is trained, explained, shown and scored.

    Parameters
    ----------
    fit : callable
        ``fit(removed)`` trains as if those columns did not exist, and returns the predict function.
    explain : callable
        ``explain(predict, removed, rng)`` returns explanations; it is called once per model.
    choose : callable
        ``choose(explanations, rng)`` returns the positions of those that one user sees, such as
        ``lambda many, rng: vd.pick(many, 10, k=10).chosen``.
    hidden : mapping
        Scores that no user sees: functions of ``predict`` by name.
    k : int, default 10
        Number of heaviest columns that a user sees of each explanation; never one that was removed.

    Examples
    --------
    See ``clean``.
    """

    fit: FitWithout
    explain: ExplainModel
    choose: ChooseShown
    hidden: HiddenScores
    k: int = 10

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        if not isinstance(self.hidden, Mapping) or not self.hidden:
            raise InputError(
                f"hidden must be scores by their names, such as {{'accuracy': …}}, not {self.hidden!r}"
            )
        for name in ("fit", "explain", "choose"):
            check_rule(name, getattr(self, name), "those that the class tells of")

    def train_model(self, removed: Removed) -> Predict:
        """Train the model without these columns."""
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

    def score_model(self, predict: Predict) -> dict[str, float]:
        """Compute the hidden scores of a model."""
        found = {name: score(predict) for name, score in self.hidden.items()}
        for name, value in found.items():
            check_number(f"the score {name!r}", value)
        return {name: float(value) for name, value in found.items()}

    def show(
        self, number: int, many: tuple[Explanation, ...], removed: Removed, rng: np.random.Generator
    ) -> ShownColumns:
        """Choose what the next user sees of these explanations."""
        chosen = (
            [int(i) for i in check_list("what choose returns", self.choose(Explanations(many), rng))]
            if many
            else []
        )
        for i in chosen:
            if not 0 <= i < len(many):
                raise InputError(f"choose gave number {i} of {len(many)} explanations; they count from 0")
        lists = tuple(tuple(heaviest(many[i], removed, self.k)) for i in chosen)
        return ShownColumns(number, lists, tuple(sorted(removed)))


def heaviest(why: Explanation, removed: Collection[str], k: int) -> Iterator[tuple[str, float]]:
    """The k columns with the heaviest features, and the weights of these; none that is removed, or zero."""
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
    """A user that removes the shown columns that a rule says are bad.

    Parameters
    ----------
    bad : callable
        Takes the name of a column, and says whether it is bad.
    attention : float, default 1.0
        Probability with which each bad column is noticed.
    """

    bad: Callable[[str], bool]
    attention: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.attention <= 1:
            raise InputError(f"attention is a probability, from 0 to 1, not {self.attention!r}")

    def __call__(self, shown: ShownColumns, rng: np.random.Generator) -> list[str]:
        bad = [column for column in shown.columns if self.bad(column)]
        return [column for column, luck in zip(bad, rng.random(len(bad)), strict=True) if luck < self.attention]


@dataclass(frozen=True)
class RandomShown:
    """A random user: removes shown columns at random.

    Parameters
    ----------
    sizes : sequence of int
        How many columns to remove in each round, such as another user's ``Cleaning.sizes``.
    """

    sizes: Sequence[int]

    def __call__(self, shown: ShownColumns, rng: np.random.Generator) -> list[str]:
        return _draw_columns(shown.columns, self.sizes, shown, rng)


@dataclass(frozen=True)
class RandomColumns:
    """A random user: removes any columns at random, without a look at what is shown.

    Parameters
    ----------
    columns : sequence of str
        All columns.
    sizes : sequence of int
        How many columns to remove in each round.
    """

    columns: Sequence[str]
    sizes: Sequence[int]

    def __call__(self, shown: ShownColumns, rng: np.random.Generator) -> list[str]:
        left = [column for column in self.columns if column not in shown.removed]
        return _draw_columns(left, self.sizes, shown, rng)


def _draw_columns(
    columns: Sequence[str], sizes: Sequence[int], shown: ShownColumns, rng: np.random.Generator
) -> list[str]:
    """As many columns as are to be removed in this round."""
    if shown.round > len(sizes):
        raise InputError(f"sizes says what to remove in {len(sizes)} rounds, and this is round {shown.round}")
    size = sizes[shown.round - 1]
    check_whole("each of sizes", size, 0)
    return [columns[i] for i in rng.permutation(len(columns))[: int(size)]]


def clean(
    study: Study, user: User, *, fan: Sequence[int] = (1, 1, 1), rng: int | np.random.Generator = 0
) -> tuple[Cleaning, ...]:
    """Let users clean a model.

    Parameters
    ----------
    study : Study
        The model that is cleaned.
    user : callable
        ``user(shown, rng)`` returns the columns to remove, such as a ``Rule``.
    fan : sequence of int, default (1, 1, 1)
        How many users see each model of a round: (1, 1, 1) is one path of three rounds, (10, 5, 5) the paper's 10,
        then 50, then 250 models.
    rng : int or numpy.random.Generator, default 0
        Seed of everything random.

    Returns
    -------
    tuple of Cleaning
        One per path from the first model to a last one.

    Examples
    --------
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
    for number in check_list("fan", fan):
        check_whole("each number of fan", number)
    seed = seed_of(rng)
    predict = study.train_model(frozenset())
    first = Round(0, (), (), study.score_model(predict))
    return tuple(_grow_paths(study, user, predict, (first,), tuple(fan), seed))


def _grow_paths(
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
        shown = study.show(number, many, removed, generator(own, 0, 1))
        gone = tuple(
            dict.fromkeys(c for c in _check_columns(user(shown, generator(own, 0, 2))) if c not in removed)
        )
        after = study.train_model(removed | set(gone)) if gone else predict
        made = Round(number, shown.columns, gone, study.score_model(after))
        yield from _grow_paths(study, user, after, (*rounds, made), fan[1:], own)


def _check_columns(columns: Iterable[str]) -> Iterator[str]:
    for column in [columns] if isinstance(columns, str) else check_list("what a user removes", columns):
        if not isinstance(column, str):
            raise InputError(f"a user must name the columns to remove, as they are shown, not {column!r}")
        yield column
