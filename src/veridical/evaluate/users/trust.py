"""A user who has to know which predictions to trust (section 5.3 of the LIME paper).

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

from veridical.attribute.given import checked_representer, checked_rule, explanations_of, listed, seed_of
from veridical.attribute.models import model_of
from veridical.errors import InputError, check_number, check_whole
from veridical.evaluate.users.oracle import stays
from veridical.evaluate.weights import unsound
from veridical.masks import generator
from veridical.records import Bools, Explanation, Floats, Ints, Predict, Record, Representer, Seed

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


HALF = Subtracts()


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

    def user(self, explanations: Iterable[Explanation], believe: Believe = HALF) -> Trust:
        """A user who has one explanation of each prediction, and believes by it."""
        many = explanations_of("explanations", explanations)
        checked_rule("believe", believe, "Subtracts(0.5)")
        if len(many) != len(self.places):
            raise InputError(f"there are {len(self.places)} instances, but {len(many)} explanations")
        trusted, readable = np.zeros(self.stays.shape, bool), np.ones(len(many), bool)
        for i, why in enumerate(many):
            if len(why.parts) != len(self.places[i]):
                raise InputError(
                    f"instance {i} has {len(self.places[i])} parts, but its explanation {len(why.parts)}: explain "
                    "with the same representation"
                )
            readable[i] = not unsound(why) and np.isfinite(why.local_prediction)
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
    >>> from veridical.evaluate.users import doubts
    >>> texts = ["a good film", "a bad film seen on dvd", "good acting on dvd"]
    >>> def predict(texts):
    ...     return [0.8 if "good" in text or "dvd" in text else 0.2 for text in texts]
    >>> asked = doubts(predict, vd.Words(), texts, untrusted=[{"dvd"}])
    >>> asked.stays.tolist()
    [[True, False, True]]
    >>> print(asked.user(vd.explain_many(predict, vd.Words(), texts)))
    trust F1 1.000, mistrust F1 1.000, balanced accuracy 1.000; 66.7 % of the predictions are trustworthy
    """
    model, instances, seed = model_of(predict), checked_representer(represent).each(X), seed_of(rng)
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
    if any(isinstance(names, str) for names in listed("untrusted", untrusted)):
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
