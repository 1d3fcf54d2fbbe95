"""Shapley values (Lundberg and Lee 2017) from complement pairs of coalitions, with confidence intervals.

In a Shapley value as a regression (Lundberg and Lee 2017) a mask of s of d parts has weight 1 / (s (d - s)) shared
by all masks of its size. A class is the pairs of one size and the complements; classes that are small are taken
whole, the rest is sampled without repeating a mask.

What is the same for a mask and its complement drops out of the difference, products of two parts among it. What
is left is fitted by the parts, and by products of three of the heaviest; a Shapley value of those is known, and
what they leave over is weighed without bias.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from veridical.errors import InputError, check_whole, teach_settings
from veridical.evidence.verdicts import TopK, no_evidence, top_probability, weigh
from veridical.methods.engine import sizes
from veridical.methods.occlusion import Removal
from veridical.methods.results import EPSILON, ROUNDING, Answer, Outputs, Question, flat_fit, is_flat
from veridical.models.outputs import Model, stack_outputs
from veridical.protocols import Representation, Seed
from veridical.records import Bools, Explanation, Fit, Floats, Ints
from veridical.sampling.masks import log_choose
from veridical.seeds import generator
from veridical.surrogates.least_squares import UNSURE, invert

MIN_EMPTY_DRAWS = 8  # of the empty mask, at least
MAX_LISTED_PAIRS = 2**14  # pairs of a class, up to which it is listed and shuffled


@dataclass(frozen=True, eq=False)
class Coalitions:
    """The pairs of d parts, in an order that the seed fixes."""

    d: int
    seed: Seed
    again: bool  # a mask is worth asking about more than once
    sizes: Ints  # of each class, the parts in the smaller half of a pair
    shares: Floats  # of each class, what it weighs; all together 1
    counts: Floats  # of each class, its pairs; infinite if they are very many

    @classmethod
    def of(cls, d: int, seed: Seed, again: bool) -> Coalitions:
        """Of an instance with d parts."""
        sizes = np.arange(1, d // 2 + 1)
        halved = np.where(2 * sizes == d, 0.5, 1.0)  # a mask of half the parts has a complement of its own size
        shares = halved / (sizes * (d - sizes))
        many = log_choose(d)[1 : d // 2 + 1] > np.log(2.0**40)
        counts = [np.inf if much else float(math.comb(d, int(s))) for s, much in zip(sizes, many, strict=True)]
        return cls(d, seed, again, sizes, shares / shares.sum(), halved * counts)

    def allot(self, pairs: int, had: Ints) -> Ints:
        """Pairs to have of each class: all, where its share is more than there are; no fewer than it had."""
        counts = np.full(len(had), np.inf) if self.again else self.counts
        taken, whole, wanted = np.zeros(len(had)), np.zeros(len(had), bool), np.zeros(len(had))
        while not whole.all():
            left = np.where(whole, 0.0, self.shares)
            wanted = (pairs - taken[whole].sum()) * left / left.sum()
            more = ~whole & (wanted >= counts)
            if not more.any():
                break
            whole |= more
            taken[whole] = counts[whole]
        start = generator(self.seed, 12).random()  # so that what is rounded away is right on average
        rounded = np.diff(np.floor(np.append(0.0, np.cumsum(wanted)) + start))
        taken = np.maximum(np.where(whole, taken, np.minimum(rounded, counts)), had)
        for place in np.argsort(had - taken, kind="stable"):  # what was had already may be more than its share
            taken[place] -= min(max(taken.sum() - pairs, 0), taken[place] - had[place])
        return taken.astype(np.int64)

    def masks(self, place: int, start: int, stop: int) -> Bools:
        """The smaller halves of pairs start..stop of a class, (n, d)."""
        size = int(self.sizes[place])
        if self.counts[place] > MAX_LISTED_PAIRS:
            keys = generator(self.seed, 13, size, start).random((stop - start, self.d), dtype=np.float32)
            return np.asarray(keys.argsort(axis=1) < size)
        every = _combinations(self.d, size)[: int(self.counts[place])]
        order = generator(self.seed, 13, size).permutation(len(every))
        masks = np.zeros((stop - start, self.d), bool)
        chosen = every[order[np.arange(start, stop) % len(every)]].astype(np.intp)
        np.put_along_axis(masks, chosen, True, axis=1)
        return masks

    def weigh(self, taken: Ints) -> tuple[Floats, Floats]:
        """The weight of each pair that was taken, (m,), and its chance not to be, by which its error counts."""
        whole = np.zeros(len(taken), bool) if self.again else taken >= self.counts
        rest = self.shares[~whole].sum() / max(int(taken[~whole].sum()), 1)
        each = np.where(whole, self.shares / np.maximum(taken, 1), rest)
        listed = (self.counts <= MAX_LISTED_PAIRS) & (not self.again)
        missed = np.where(listed, 1 - taken / self.counts, 1.0)
        return np.repeat(each, taken), np.repeat(missed, taken)


@lru_cache(maxsize=32)
def _combinations(d: int, size: int) -> npt.NDArray[np.uint16]:
    """All sets of so many of d parts, (n, size), in order; kept for the next explanation."""
    parts = np.fromiter(chain.from_iterable(combinations(range(d), size)), np.uint16)
    every = parts.reshape(-1, size)
    every.flags.writeable = False
    return every


@dataclass(frozen=True, eq=False)
class CoalitionOutputs:
    """The model's answers so far: to the instance, to no part at all, and to pairs, class by class."""

    coalitions: Coalitions
    own: Floats  # (1, k)
    empty: Floats  # (draws, k)
    masks: tuple[Bools, ...]  # a class: (m, d)
    answers: tuple[Floats, ...]  # a class: (2 m, k), the halves of a pair in turn
    n_calls: int

    @classmethod
    def start(cls, coalitions: Coalitions) -> CoalitionOutputs:
        """Before the first call."""
        none = tuple(np.zeros((0, coalitions.d), bool) for _ in coalitions.sizes)
        return cls(coalitions, np.empty((0, 1)), np.empty((0, 1)), none, (), 0)

    @property
    def taken(self) -> Ints:
        """Pairs of each class."""
        return np.array([len(masks) for masks in self.masks], np.int64)

    @property
    def complete(self) -> bool:
        """Whether no mask is left to ask about."""
        return not self.coalitions.again and bool((self.taken >= self.coalitions.counts).all())

    @property
    def outputs(self) -> Floats:
        """The instance, the empty mask, all first halves and all second halves, (n, k)."""
        halves = [answers[half::2] for half in (0, 1) for answers in self.answers]
        return np.concatenate([self.own, self.empty, *halves])

    def grow(self, removal: Removal, n: int) -> CoalitionOutputs:
        """With answers to n samples in all; those that are there are kept."""
        d, had = removal.d, len(self.empty)
        # Of the empty mask, about the share that their error has:
        draws = max(n // (d + 2), MIN_EMPTY_DRAWS) if self.coalitions.again else 1
        wanted = self.coalitions.allot((n - draws) // 2, self.taken)
        new = [self.coalitions.masks(i, len(masks), int(wanted[i])) for i, masks in enumerate(self.masks)]
        pieces = [np.ones((0 if self.n_calls else 1, d), bool), np.zeros((draws - had, d), bool)]
        pieces += [np.stack([masks, ~masks], axis=1).reshape(-1, d) for masks in new]
        found = removal(np.concatenate(pieces), self.n_calls, 14, self.n_calls)
        own, empty, *answers = np.split(found, np.cumsum([len(piece) for piece in pieces])[:-1])
        if self.n_calls:
            own, empty = stack_outputs([self.own, own]), stack_outputs([self.empty, empty])
            answers = [stack_outputs([a, b]) for a, b in zip(self.answers, answers, strict=True)]
        masks = tuple(np.concatenate([a, b]) for a, b in zip(self.masks, new, strict=True))
        return CoalitionOutputs(self.coalitions, own, empty, masks, tuple(answers), self.n_calls + len(found))


MAX_TRIPLE_PARTS = 12  # heaviest parts of which each three may have a term
MIN_PAIRS_PER_TERM = 2  # pairs a term, at least
MIN_PAIRS_FOR_TERMS = 96  # pairs, below which there are no such terms: they would fit too well to show their error
RIDGES = 10.0 ** np.array([-3.0, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0])  # relative to the largest square
TINY = 1e-10
MIN_PAIRS_TO_CENTER = 4  # pairs of a class, below which its scores are not centered


@dataclass(frozen=True, eq=False)
class PairSlopes:
    """Shapley values but for a number that all parts share: what is missing to the whole is split evenly."""

    values: Floats  # (d,)
    covariance: Floats  # (d, d)
    weights: Floats  # (m,) of the pairs
    degrees: float  # of freedom
    pull: Floats  # (m,) of each pair on its own fit; 0 if its class was taken whole


@dataclass(frozen=True, eq=False)
class Terms:
    """What is fitted beside the parts: its Shapley values (d,), its scaled values and pulls (m,)."""

    shapley: Floats
    values: Floats
    pull: Floats

    @classmethod
    def none(cls, squares: Squares) -> Terms:
        """Parts alone."""
        m, d = squares.A.shape
        return cls(np.zeros(d), np.zeros(m), np.zeros(m))


@dataclass(frozen=True, eq=False)
class Squares:
    """Least squares of differences on the parts, each 1 if kept and -1 if not; rows are scaled by weight."""

    A: Floats  # (m, d)
    t: Floats  # (m,)
    root: Floats  # (m,)
    inverse: Floats  # (d, d) of the Gram matrix

    @classmethod
    def of(cls, masks: Bools, differences: Floats, weights: Floats) -> Squares:
        root = np.sqrt(weights)
        A = np.where(masks, 1.0, -1.0) * root[:, None]
        return cls(A, differences * root, root, invert(A.T @ A + TINY * np.eye(A.shape[1])))

    def fit(self, t: Floats) -> Floats:
        """Coefficients of the parts, for one column or several."""
        return np.asarray(self.inverse @ (self.A.T @ t))

    @property
    def pull(self) -> Floats:
        """How far each row pulls its own fit, (m,)."""
        return np.asarray(np.einsum("ij,ij->i", self.A @ self.inverse, self.A))


def fit_pairs(coalitions: Coalitions, taken: Ints, masks: Bools, differences: Floats) -> PairSlopes:
    """What pairs say of all parts, and how far it may be off.

    ``taken`` are the pairs of each class, ``masks`` (m, d) their first halves, class by class, and ``differences``
    (m,) how much more the model says to each than to its complement.
    """
    weights, missed = coalitions.weigh(taken)
    squares = Squares.of(masks, differences, weights)
    terms = _fit_triples(squares) if missed.any() else Terms.none(squares)
    rest = squares.t - terms.values
    own = squares.fit(rest)
    left = (rest - squares.A @ own) * squares.root
    centered = masks - masks.mean(axis=1, keepdims=True)  # the mean of these times differences is a Shapley value
    unbiased = float(np.sum(1 / np.arange(1, coalitions.d)))  # but for this factor
    values = own + terms.shapley + unbiased * (left @ centered)
    plain = np.minimum(squares.pull, 0.99)
    pull, sampled = np.minimum(plain + terms.pull, 0.99), missed > 0
    scores = (squares.A @ squares.inverse) * (left / squares.root / (1 - pull))[:, None]
    covariance = _sum_covariance(scores, missed, taken) * (UNSURE if terms.pull.any() else 1.0)
    degrees = max(float(np.sum((1 - pull)[sampled])), 1.0)
    return PairSlopes(values, covariance, weights, degrees, np.where(sampled, plain, 0.0))


def _fit_triples(squares: Squares) -> Terms:
    """Products of three of the heaviest parts, shrunk as far as the errors of pairs that are left out say.

    A product of three has a third of its coefficient as Shapley value of each of them.
    """
    m, d = squares.A.shape
    heaviest = max(
        (k for k in range(3, MAX_TRIPLE_PARTS + 1) if MIN_PAIRS_PER_TERM * math.comb(k, 3) <= m), default=3
    )
    if d < 4 or m < MIN_PAIRS_FOR_TERMS:
        return Terms.none(squares)
    plain = squares.fit(squares.t)
    heavy = np.argsort(-np.abs(plain), kind="stable")[:heaviest]
    which = np.array(list(combinations(heavy, 3)))
    columns = squares.A[:, which].prod(axis=2) / squares.root[:, None] ** 2
    apart, left = columns - squares.A @ squares.fit(columns), squares.t - squares.A @ plain
    squared, V = np.linalg.eigh(apart.T @ apart)
    s = np.sqrt(np.maximum(squared, TINY * squared[-1] + 1e-300))
    U = (apart @ V) / s
    along, own = U.T @ left, squares.pull
    errors, found = [_left_out_error(left, own)], [np.zeros(len(s))]
    for ridge in RIDGES:
        kept = s**2 / (s**2 + ridge * s[-1] ** 2)
        errors.append(_left_out_error(left - U @ (kept * along), own + U**2 @ kept))
        found.append(kept)
    kept = found[int(np.argmin(errors))]
    weights, shapley = V @ (kept / s * along), np.zeros(d)
    np.add.at(shapley, which, np.repeat(weights[:, None] / 3, 3, axis=1))
    return Terms(shapley, columns @ weights, U**2 @ kept)


def _left_out_error(rest: Floats, pull: Floats) -> float:
    """Mean squared error of pairs that are left out of the fit."""
    return float(np.mean((rest / (1 - np.minimum(pull, 0.99))) ** 2))


def _sum_covariance(scores: Floats, missed: Floats, taken: Ints) -> Floats:
    """Covariance of a sum of scores, class by class; what was taken whole has no error."""
    rows = np.sqrt(missed)[:, None] * scores
    for start, stop in pairwise(np.append(0, np.cumsum(taken)).tolist()):
        n, own = stop - start, rows[start:stop]
        if n >= MIN_PAIRS_TO_CENTER:
            rows[start:stop] = (own - own.mean(axis=0)) * np.sqrt(n / (n - 1))
    return np.asarray(rows.T @ rows)


@teach_settings
@dataclass(frozen=True)
class KernelShap:
    """How much does each feature add on average, over all orders in which they may come? Shapley values.

    The weights and the intercept, which is the output without any feature, sum to the prediction. All masks are asked about
    where that is affordable, and the values are exact then; otherwise as many as it takes until the top is settled. Where
    something must be there in place of a feature, as in tables, each mask has its own draw of the background.

    Parameters
    ----------
    n_samples : int, optional
        Fixes the number of masks; by default it is found by ``until``.
    until : TopK
        When the top features count as settled.
    max_calls : int
        Rows that the model is asked about at most.
    """

    n_samples: int | None = None
    until: TopK = field(default_factory=TopK)
    max_calls: int = 8192

    def __post_init__(self) -> None:
        check_whole("max_calls", self.max_calls)
        if self.n_samples is not None:
            check_whole("n_samples", self.n_samples)
        if not isinstance(self.until, TopK):
            raise InputError(f"until wants TopK(…), not {self.until!r}")

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[Any], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation per target, all from the same masks."""
        removal = Removal.of(model, representation, seed, "KernelShap")
        steady, d = removal.representation.steady, removal.d
        coalitions = Coalitions.of(d, seed, again=not steady)
        every = 2**d - 1 if steady and d < 31 else sys.maxsize
        affordable = self.max_calls // 8 if self.n_samples is None else self.n_samples
        least = min(max(3 * d, MIN_EMPTY_DRAWS + 2), every)
        n, last = (every, every) if every <= affordable else sizes(self.n_samples, self.max_calls, d, least)
        question = Question(model, representation, targets, seed, removes=True)
        asked = CoalitionOutputs.start(coalitions)
        while True:
            asked, found = asked.grow(removal, min(n, every)), list[Explanation]()
            for seen in question.read(asked.outputs):
                answer = self._answer(asked, n >= last, seen)
                if answer is None:
                    break
                found.append(question.record(self, seen, answer))
            if len(found) == len(targets):
                return tuple(found)
            n = min(2 * n, last)

    @property
    def most_calls(self) -> int:
        """Inputs that it asks about at most."""
        return self.n_samples or self.max_calls

    def _answer(self, asked: CoalitionOutputs, last: bool, seen: Outputs) -> Answer | None:
        """Values with their evidence; nothing if the top is not settled and there is budget left."""
        fit, constant = fit_shapley_values(asked, seen), is_flat(seen.y)
        unseen = is_flat(seen.y[1:]) and not asked.complete  # what moves the model was never among the masks
        probability = 0.0 if unseen else top_probability(fit, self.until)
        done = last or asked.complete or constant
        if not done and probability < self.until.probability:
            return None
        evidence, verdict = weigh(fit, self.until, probability), None
        if constant or unseen:
            sampled = seen.prediction if constant else float(seen.y[1]) * seen.unit
            verdict = no_evidence(seen.prediction, sampled, asked.n_calls)
        size = float(asked.n_calls - 1)
        return Answer(fit, evidence, self.until.k, asked.n_calls, size, rule=self.until, verdict=verdict)


def fit_shapley_values(asked: CoalitionOutputs, seen: Outputs) -> Fit:
    """The Shapley values of one output of all that was asked."""
    y, d, draws = seen.y, asked.coalitions.d, len(asked.empty)
    if is_flat(y):
        return flat_fit(d, float(y[0]), asked.complete)
    own, empty, halves = float(y[0]), y[1 : 1 + draws], y[1 + draws :].reshape(2, -1)
    base, error = float(empty.mean()), float(empty.var(ddof=1)) / draws if draws > 1 else 0.0
    masks = np.concatenate([np.zeros((0, d), bool), *asked.masks])
    found = fit_pairs(asked.coalitions, asked.taken, masks, halves[0] - halves[1])
    values = found.values + (own - base - float(found.values.sum())) / d
    values[np.abs(values) < ROUNDING * EPSILON * np.abs(values).max()] = 0.0  # what rounding leaves of nothing
    away = np.eye(d) - 1 / d  # what all parts share is known from the ends
    covariance = away @ found.covariance @ away + error / d**2
    if is_flat(y[1:]) and not asked.complete:
        covariance = np.diag(np.full(d, np.inf))
    every = np.ones(d, bool)
    return Fit(
        weights=values,
        intercept=base,
        covariance=covariance,
        local_prediction=own,
        fidelity=float("nan") if asked.coalitions.again else _fidelity(base, values, masks, halves, found),
        measured=every,
        chosen=every,
        degrees=found.degrees if len(masks) else max(draws - 1.0, 1.0),
    )


def _fidelity(base: float, values: Floats, masks: Bools, halves: Floats, found: PairSlopes) -> float:
    """Share of the outputs' variance that the intercept and the weights explain, of pairs that are left out.

    Under the law of Shapley values; nan if the outputs do not vary over masks between none and all.
    """
    kept = masks @ values
    said = base + np.stack([kept, values.sum() - kept])
    left = float(np.sum(found.weights * ((halves - said) / (1 - found.pull)) ** 2))
    mean = float(np.sum(found.weights * halves)) / max(2 * float(found.weights.sum()), 1e-300)
    total = float(np.sum(found.weights * (halves - mean) ** 2))
    return 1 - left / total if halves.size and not is_flat(halves.ravel()) else float("nan")
