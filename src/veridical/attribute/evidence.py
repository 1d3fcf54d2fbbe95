"""What may be believed of a fit: intervals, whether the top is settled, and a verdict in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from veridical.errors import InputError, check_whole
from veridical.records import Fit, Floats, Verdict

DRAWS = 256
CANDIDATES = 64
GOOD_FIT = 0.5
TINY = 1e-100

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class TopK:
    """Settled when, with this probability, no part outside the top k beats one inside by more than the tolerance.

    The tolerance is a share of the largest weight: parts that close are as good as tied.
    """

    k: int = 5
    probability: float = 0.95
    tolerance: float = 0.1

    def __post_init__(self) -> None:
        check_whole("the k of TopK", self.k)
        if not 0 < self.probability < 1:
            raise InputError(f"TopK wants a probability between 0 and 1, not {self.probability}")
        if not 0 <= self.tolerance < 1:
            raise InputError(f"TopK wants a tolerance from 0 to below 1, not {self.tolerance}")


@dataclass(frozen=True, eq=False)
class Evidence:
    """How far a fit can be believed."""

    intervals: Floats
    top_probability: float
    unsettled: tuple[tuple[int, ...], ...]  # positions, heaviest first
    verdict: Verdict


def intervals(fit: Fit) -> Floats:
    """95 % intervals of the weights, (d, 2)."""
    half = stdtrit(fit.degrees, 0.975) * np.sqrt(np.diag(fit.covariance))
    if fit.relative:  # by logarithms, for no size is less than nothing
        far = np.exp(half / np.maximum(np.abs(fit.weights), TINY))
        return np.sort(np.stack([fit.weights / far, fit.weights * far], axis=1), axis=1)
    return np.stack([fit.weights - half, fit.weights + half], axis=1)


def top_probability(fit: Fit, rule: TopK) -> float:
    """Probability that the k heaviest of the parts that were measured are right, within the rule's tolerance."""
    known = np.flatnonzero(fit.measured & fit.chosen)
    if not len(known) or not fit.weights[known].any():
        return 0.0
    k = min(rule.k, len(known) - 1)
    size = np.abs(fit.weights[known])
    variance = np.diag(fit.covariance)[known]
    if not k or not variance.any():
        return 1.0
    rank = np.argsort(-size, kind="stable")
    inside, outside = rank[:k], rank[k:]
    error = np.sqrt(variance)
    reach = (size + 4 * error)[outside]  # a part whose reach is below all members' is no rival
    rivals = outside[reach > (size - 4 * error)[inside].min()]
    if not len(rivals):
        return 1.0
    if len(rivals) > CANDIDATES:
        rivals = rivals[np.argsort(-(size + 4 * error)[rivals], kind="stable")[:CANDIDATES]]
    at = known[np.concatenate([inside, rivals])]
    size_of_all = max(float(size.max()), float(error.max()))
    root = (_root(fit.covariance[np.ix_(at, at)]) / size_of_all).astype(np.float32)
    drawn = np.abs(root @ _normals(len(at)) + (fit.weights[at, None] / size_of_all).astype(np.float32))
    least, best_rival = drawn[:k].min(axis=0), drawn[k:].max(axis=0)
    limit = least + rule.tolerance * np.maximum(drawn[:k].max(axis=0), best_rival)
    return float(np.mean(best_rival <= limit))


def _root(covariance: Floats) -> Floats:
    """A matrix whose product with its transpose is the covariance, also if that is singular."""
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def weigh(fit: Fit, rule: TopK, probability: float, n_calls: int) -> Evidence:
    """All evidence on a fit."""
    bounds = intervals(fit)
    groups = tied_groups(fit, rule.k)
    verdict = judge(fit, rule, probability, groups, n_calls)
    return Evidence(bounds, probability, tuple(g for g in groups if len(g) > 1), verdict)


def tied_groups(fit: Fit, k: int) -> list[tuple[int, ...]]:
    """The heaviest k parts by rank, in groups whose members cannot be told from their first at 95 %."""
    size = np.abs(fit.weights)
    order = np.argsort(-size, kind="stable")[: 2 * k]
    order = order[(size[order] > 0) & fit.measured[order]]
    signs = np.sign(fit.weights[order])
    spread = (fit.covariance[np.ix_(order, order)] * signs[:, None] * signs).tolist()
    heavy = size[order].tolist()
    groups: list[list[int]] = []
    for place in range(len(order)):
        first = groups[-1][0] if groups else place
        variance = spread[first][first] + spread[place][place] - 2 * spread[first][place]
        noise = 1.645 * math.sqrt(max(variance, 0.0)) + 1e-12 * heavy[first]
        if groups and heavy[first] - heavy[place] <= noise:
            groups[-1].append(place)
        elif place < k:
            groups.append([place])
        else:
            break
    return [tuple(int(order[place]) for place in group) for group in groups]


def judge(fit: Fit, rule: TopK, probability: float, groups: list[tuple[int, ...]], n_calls: int) -> Verdict:
    """One sentence on what to believe and why."""
    clear = _clear_of_zero(fit)
    if not groups or not any(clear[j] for g in groups for j in g):
        sentence = f"No evidence: after {n_calls} calls no part's weight can be told from zero."
        return Verdict(False, probability, rule.probability, sentence)
    words = _ranking_words(groups, clear)
    missed = int((~fit.measured).sum())
    if missed:
        words.append(f"{missed} {'part was' if missed == 1 else 'parts were'} not measured")
    if probability < rule.probability:
        k = min(rule.k, int((fit.measured & fit.chosen).sum()) - 1)  # the top of all parts is always right
        top = f"the top {k}" if k > 1 else "the first"
        words.append(f"{top} is not settled after {n_calls} calls ({100 * probability:.0f} % sure)")
    no_surrogate = math.isnan(fit.fidelity)
    if not no_surrogate:
        words.append(_fit_words(fit.fidelity))
    fits = no_surrogate or fit.fidelity >= GOOD_FIT
    passed = bool(clear[groups[0][0]] and probability >= rule.probability and fits)
    sentence = "; ".join(words) + "."
    return Verdict(passed, probability, rule.probability, sentence[0].upper() + sentence[1:])


def no_evidence(own: float, sampled: float, n_calls: int, expected: float) -> Verdict:
    """The verdict where the model does not move on any sample."""
    if own == sampled:
        sentence = f"No evidence: the model answers {own:.6g} to all {n_calls} inputs near this instance."
    else:
        sentence = (
            f"No evidence: the model answers {own:.6g} here, but {sampled:.6g} to all {n_calls - 1} samples: "
            "they cannot show why, since it may need several parts at once."
        )
    return Verdict(False, 0.0, expected, sentence)


def too_few(size: float, n_calls: int, expected: float) -> Verdict:
    """The verdict where proximity leaves too few samples to weigh anything."""
    sentence = (
        f"No evidence: the kernel leaves {size:.1f} effective samples of {n_calls - 1}; give a wider one, "
        "or Gaussian, which is sampled from directly."
    )
    return Verdict(False, 0.0, expected, sentence)


def _ranking_words(groups: list[tuple[int, ...]], clear: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[str]:
    """'believe the first two', 'the third and fourth cannot be told apart', …"""
    believed: list[int] = []
    tied: list[str] = []
    zero: list[int] = []
    place = 0
    for group in groups:
        places = list(range(place, place + len(group)))
        place += len(group)
        if not any(clear[j] for j in group):
            zero += places
        elif len(group) > 1:
            tied.append(f"the {_places(places)} cannot be told apart")
        else:
            believed += places
    words = tied
    if believed:
        run = believed == list(range(len(believed))) and len(believed) > 1
        which = f"first {_word(COUNTS, len(believed))}" if run else _places(believed)
        words = [f"believe the {which}", *tied] if believed[0] == 0 else [*tied, f"believe the {which}"]
    if zero:
        words.append(f"the {_places(zero)} cannot be told from zero, all parts counted")
    return words


def _places(places: range | list[int]) -> str:
    named = [_word(ORDINALS, p) for p in places]
    if len(named) > 3 and places[-1] - places[0] == len(places) - 1:
        return f"{named[0]} to {named[-1]}"
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _word(words: tuple[str, ...], i: int) -> str:
    return words[i] if i < len(words) else (f"{i + 1}th" if words is ORDINALS else str(i))


def _fit_words(fidelity: float) -> str:
    if fidelity <= 0:
        return "but the local fit explains nothing of what the model does here"
    only = "but the local fit explains only" if fidelity < GOOD_FIT else "the local fit explains"
    share = "more than 99" if 0.995 <= fidelity < 1 else f"{100 * fidelity:.0f}"
    return f"{only} {share} % of what the model does here"


def _clear_of_zero(fit: Fit) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Weights that are not zero, all at once with 95 % certainty (Bonferroni over the parts)."""
    if fit.relative:
        return np.asarray(fit.weights != 0)
    spread = np.sqrt(np.diag(fit.covariance))
    level = stdtrit(fit.degrees, 1 - 0.025 / max(int(fit.chosen.sum()), 1))
    return np.asarray(np.abs(fit.weights) > np.where(np.isinf(spread), np.inf, level * spread))


@lru_cache(maxsize=8)
def _normals(d: int) -> npt.NDArray[np.float32]:
    """Fixed standard normal draws: the same evidence for the same fit."""
    draws = np.random.default_rng(0).standard_normal((d, DRAWS), dtype=np.float32)
    draws.flags.writeable = False
    return draws
