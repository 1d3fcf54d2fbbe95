"""What may be believed of a fit: intervals, whether the top is settled, and a verdict in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from veridical.errors import InputError, check_whole
from veridical.records import Bools, Fit, Floats, Ints, Verdict

DRAWS = 256
CANDIDATES = 64
GOOD_FIT = 0.5
MOST_UNTESTED = 0.5  # share of parts: where more were not tested, what the others say is no explanation
TINY = 1e-100
BOTH = np.array([-1.0, 1.0])

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
    half = stdtrit(fit.degrees, 0.975) * np.sqrt(fit.covariance.diagonal())
    if fit.relative:  # by logarithms, for no size is less than nothing
        far = np.exp(half / np.maximum(np.abs(fit.weights), TINY))
        return np.sort(np.stack([fit.weights / far, fit.weights * far], axis=1), axis=1)
    bounds: Floats = fit.weights[:, None] + half[:, None] * BOTH
    return bounds


def top_probability(fit: Fit, rule: TopK) -> float:
    """Probability that the k heaviest of the parts that were measured are right, within the rule's tolerance."""
    known = (fit.measured & fit.chosen)[None]
    return float(top_probabilities(fit.weights[None], fit.covariance[None], known, rule)[0])


def top_probabilities(weights: Floats, covariance: Floats, known: Bools, rule: TopK) -> Floats:
    """The same for each of many fits (r,), of weights (r, d) with covariances (r, d, d) where they are known."""
    size = np.where(known, np.abs(weights), 0.0)
    error = np.sqrt(np.where(known, np.einsum("rdd->rd", covariance), 0.0))
    k = np.minimum(rule.k, known.sum(axis=1) - 1)
    order, n_near = _candidates(size, error, known, k)
    found = np.where(size.any(axis=1), 1.0, 0.0)
    unsure = (found > 0) & (k > 0) & error.any(axis=1) & (n_near > k)
    for inside, m in sorted({*zip(k[unsure].tolist(), n_near[unsure].tolist(), strict=True)}):
        rows = np.flatnonzero(unsure & (k == inside) & (n_near == m))[:, None]
        at, scale = order[rows[:, 0], :m], np.maximum(size, error)[rows[:, 0]].max(axis=1)[:, None, None]
        root = (_roots(covariance[rows[:, :, None], at[:, :, None], at[:, None]]) / scale).astype(np.float32)
        drawn = root @ _normals(m)
        drawn += (weights[rows, at][:, :, None] / scale).astype(np.float32)
        np.abs(drawn, out=drawn)
        best_rival = drawn[:, inside:].max(axis=1)
        largest = np.maximum(drawn[:, :inside].max(axis=1), best_rival)
        limit = drawn[:, :inside].min(axis=1) + rule.tolerance * largest
        found[rows[:, 0]] = np.count_nonzero(best_rival <= limit, axis=1) / DRAWS
    return found


def _candidates(size: Floats, error: Floats, known: Bools, k: Ints) -> tuple[Ints, Ints]:
    """Parts by weight (r, d), the k heaviest and their rivals first, and how many those are (r,).

    A part whose reach is below that of all of the k is no rival; of many rivals, those with the longest reach are.
    """
    place, d = np.arange(size.shape[1]), size.shape[1]
    rank = np.argsort(np.where(known, -size, np.inf), axis=1, kind="stable")
    reach, least = (np.take_along_axis(size + way * error, rank, axis=1) for way in (4, -4))
    inside = place < k[:, None]
    lowest = np.where(inside, least, np.inf).min(axis=1, keepdims=True)
    rival = ~inside & (place < known.sum(axis=1)[:, None]) & (reach > lowest)
    n_rivals = rival.sum(axis=1)
    key = np.where(inside | rival, place, 2 * d)
    for i in np.flatnonzero(n_rivals > CANDIDATES):
        far = np.argsort(np.where(rival[i], -reach[i], np.inf), kind="stable")
        key[i, far] = np.where(np.arange(d) < CANDIDATES, d + np.arange(d), 3 * d)
        key[i, inside[i]] = place[inside[i]]
    near = np.argsort(key, axis=1, kind="stable")
    return np.take_along_axis(rank, near, axis=1), k + np.minimum(n_rivals, CANDIDATES)


def _roots(covariances: Floats) -> Floats:
    """Matrices (r, m, m) whose products with their transposes are the covariances, also if those are singular."""
    try:
        return np.asarray(np.linalg.cholesky(covariances))
    except np.linalg.LinAlgError:
        return np.stack([_root(covariance) for covariance in covariances])


def _root(covariance: Floats) -> Floats:
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
    spread = (fit.covariance[order[:, None], order] * signs[:, None] * signs).tolist()
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
    clear: list[bool] = _clear_of_zero(fit).tolist()
    untested = 0 if fit.tested is None else int((~fit.tested).sum())
    if most_untested(fit):
        return not_tested(untested, len(fit.weights), rule.probability)
    if not groups or not any(clear[j] for g in groups for j in g):
        sentence = f"No evidence: after {n_calls} calls no part's weight can be told from zero."
        return Verdict(False, probability, rule.probability, sentence)
    words = _ranking_words(groups, clear)
    missed = int((~fit.measured).sum()) - untested
    for count, what in ((missed, "measured"), (untested, "tested")):
        if count:
            words.append(f"{count} {'part was' if count == 1 else 'parts were'} not {what}")
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


def most_untested(fit: Fit) -> bool:
    """Whether so many parts were not tested that the others are no explanation."""
    return fit.tested is not None and bool((~fit.tested).mean() > MOST_UNTESTED)


def not_tested(n: int, d: int, expected: float) -> Verdict:
    """The verdict where most parts, or all, were replaced by what was there."""
    what = f"none of the {d} parts was tested" if n == d else f"{n} of {d} parts were not tested"
    sentence = (
        f"No evidence: {what}, because what replaces them is what was there; the notes say what to try instead."
    )
    return Verdict(False, 0.0, expected, sentence)


def too_few(size: float, n_calls: int, expected: float) -> Verdict:
    """The verdict where proximity leaves too few samples to weigh anything."""
    sentence = (
        f"No evidence: the kernel leaves {size:.1f} effective samples of {n_calls - 1}; give a wider one, "
        "or Gaussian, which is sampled from directly."
    )
    return Verdict(False, 0.0, expected, sentence)


def _ranking_words(groups: list[tuple[int, ...]], clear: list[bool]) -> list[str]:
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


def _clear_of_zero(fit: Fit) -> Bools:
    """Weights that are not zero, all at once with 95 % certainty (Bonferroni over the parts)."""
    if fit.relative:
        return np.asarray(fit.weights != 0)
    spread = np.sqrt(fit.covariance.diagonal())
    level = stdtrit(fit.degrees, 1 - 0.025 / max(int(np.count_nonzero(fit.chosen)), 1))
    return np.asarray(np.abs(fit.weights) > level * spread)


@lru_cache(maxsize=8)
def _normals(d: int) -> npt.NDArray[np.float32]:
    """Fixed standard normal draws: the same evidence for the same fit."""
    draws = np.random.default_rng(0).standard_normal((d, DRAWS), dtype=np.float32)
    draws.flags.writeable = False
    return draws
