"""What may be believed of a fit: intervals, whether the top is settled, and a verdict in plain words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from veridical.errors import InputError, check_whole
from veridical.records import OUTCOMES, PER_UNIT, TOGETHER, Bools, Fit, Floats, Ints, Part, Verdict
from veridical.surrogates.least_squares import roots_of

DRAWS = 256
CANDIDATES = 64
MOST_UNTESTED = 0.5  # share of parts: where more were not tested, what the others say is no explanation
TINY = 1e-100
BOTH = np.array([-1.0, 1.0])

RANGES = ("≤", ">", "in")  # of a number: its column alone names it
MARKED = {
    "word": ('"', '"'),
    "sentence": ('"', '"'),
    PER_UNIT: ("higher ", ""),
}  # what stands around names in a sentence
LONGEST_NAME, NAME_WORDS = 40, 4  # of a part or a class in a sentence
NO_EFFECT_ADVICE = "Try another replacement or background, or a row nearer to the decision."

Side: TypeAlias = tuple[str, float]  # a class, and the output that speaks for it


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
    clear: Bools  # (d,) weights that can be told from zero, all parts counted


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
        root = (roots_of(covariance[rows[:, :, None], at[:, :, None], at[:, None]]) / scale).astype(np.float32)
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


def weigh(fit: Fit, rule: TopK, probability: float) -> Evidence:
    """All evidence on a fit. Weights are clear of zero all at once with 95 % certainty (Bonferroni over the parts)."""
    ties = tuple(group for group in tied_groups(fit, rule.k) if len(group) > 1)
    spread = np.sqrt(fit.covariance.diagonal())
    level = stdtrit(fit.degrees, 1 - 0.025 / max(int(np.count_nonzero(fit.chosen)), 1))
    least = np.where(np.isfinite(spread), 0.0, np.inf) if fit.relative else level * spread
    return Evidence(intervals(fit), probability, ties, np.asarray(np.abs(fit.weights) > least))


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


# Thresholds of the labels, which are to be fitted where right and wrong explanations are known.
RELIABLE_FIDELITY = 0.75  # held-out R² of a reliable explanation, at least
ROUGH_FIDELITY = 0.5  # and of a rough one
MOST_GAP = 0.1  # between local model and model at the instance, as a share of how far outputs reach nearby
OTHER_GAP = 0.25  # from here on the local model says something else, where outputs are of no classes
LEAST_STABLE = 0.8  # probability of the same top again
MOST_WORDS = 25  # of a sentence
MOST_NAMED = 2  # parts for, and as many against
DO_NOT_USE = "do not use these weights"
ENDINGS = {  # of a sentence that names parts, by what failed
    "": "",
    "fit": ": trust directions, not sizes",
    "top": "; other samples may name others first",
    "unchecked": "; how well that fits was not measured",
}


def label_of(faithful: float, gap: float, stable: float, agrees: bool = True) -> str:
    """The label that three numbers have: held-out R², the gap at the instance as a share, and how stable the top is.

    ``agrees`` is whether the local model decides as the model does, at the instance itself.
    """
    if math.isnan(faithful):
        return "unchecked"
    if not agrees or faithful < ROUGH_FIDELITY:
        return "unreliable"
    good = faithful >= RELIABLE_FIDELITY and abs(gap) <= MOST_GAP and stable >= LEAST_STABLE
    return "reliable" if good else "rough"


@dataclass(frozen=True, eq=False)
class VerdictContext:
    """What a verdict is about, besides the fit: names, numbers at the instance, and how they came about."""

    parts: Sequence[Part]
    target: str  # the class that parts speak for; nothing, where they raise or lower the output
    prediction: float
    local_prediction: float
    reach: float  # from the lowest to the highest output nearby
    sides: tuple[Side, Side] | None  # what the local model and the model decide, where outputs are of classes
    n_calls: int
    purpose: str = "content"
    kind: str = ""  # "table" or "filled", by what stands in for parts; nothing for others
    method: str = ""  # name of the method, and of its surrogate if it has one
    surrogate: str = ""


def judge(fit: Fit, evidence: Evidence, context: VerdictContext) -> Verdict:
    """Whether to rely on it: one word, one sentence, and one thing to try."""
    if fit.tested is not None and most_untested(fit):
        return not_tested(int((~fit.tested).sum()), len(fit.weights))
    gap, clear = abs(context.local_prediction - context.prediction) / (context.reach or math.inf), evidence.clear
    agrees = context.sides[0][0] == context.sides[1][0] if context.sides is not None else not gap > OTHER_GAP
    leads = bool(clear.any() and clear[np.argmax(np.abs(fit.weights))])  # a lead that may be zero is not stable
    label = label_of(fit.fidelity, gap, evidence.top_probability if leads else 0.0, agrees)
    if not clear.any():
        failed, sentence = "top", f"After {context.n_calls} calls no weight can be told from zero."
        if label != "unchecked":
            label = "unreliable"
        elif not fit.weights.any():
            label, failed, sentence = (
                "none",
                "none",
                "No feature moves the output: there is nothing to explain here.",
            )
    elif label == "unreliable":
        failed, sentence = "fit", _refused(fit.fidelity, agrees, context)
    else:
        rough = "fit" if fit.fidelity < RELIABLE_FIDELITY or gap > MOST_GAP else "top"
        failed = {"reliable": "", "rough": rough}.get(label, label)
        sentence = _named(fit, clear, context, ENDINGS[failed])
    advice, passed = _advice(failed, context) if failed else "", OUTCOMES[label] == "passed"
    return Verdict(passed, evidence.top_probability, LEAST_STABLE, sentence, label=label, advice=advice)


def _refused(fidelity: float, agrees: bool, context: VerdictContext) -> str:
    """Why not to rely on the weights at all."""
    if not agrees:
        local, own = context.sides or (("", context.local_prediction), ("", context.prediction))
        if context.sides is None:
            return f"The local model says {local[1]:.3g}, the model {own[1]:.3g}: {DO_NOT_USE}."
        said = (
            f"The local model says {_brief(local[0])} ({local[1]:.2g}), the model {_brief(own[0])} ({own[1]:.2g})"
        )
        return f"{said}: {DO_NOT_USE}."
    share = f"only {100 * fidelity:.0f} %" if fidelity >= 0.005 else "nothing"
    return f"The local model explains {share} of what the model does here: {DO_NOT_USE}."


def _named(fit: Fit, clear: Bools, context: VerdictContext, after: str) -> str:
    """'a and b speak most for X, c against', of parts that are clear of zero, in at most so many words."""
    size = np.where(clear, np.abs(fit.weights), 0.0)
    order = [j for j in np.argsort(-size, kind="stable")[: 2 * MOST_NAMED + 1].tolist() if size[j] > 0]
    columns = Counter(context.parts[j].column for j in order)
    named: tuple[list[str], list[str]] = [], []
    for j in order:
        part = context.parts[j]
        own = part.relation == "=" and isinstance(part.value, (int, float)) and not isinstance(part.value, bool)
        number = own or part.relation in RANGES
        name = _brief(part.column if number and columns[part.column] == 1 else part.name)  # without its range
        if part.relation == TOGETHER:
            name = part.column if _brief(part.column) == part.column else _brief(part.value[0])
        before, behind = MARKED.get(part.relation, ("", ""))
        named[int(fit.weights[j] < 0)].append(f"{before}{name}{behind}")
    up, down = named
    for n, m in ((MOST_NAMED, MOST_NAMED), (MOST_NAMED, 1), (1, 1), (1, not up)):
        one, other = " and ".join(up[:n]), " and ".join(down[:m])
        raises, lowers = "s" * (min(n, len(up)) == 1), "s" * (min(m, len(down)) == 1)
        if context.purpose == "change":
            said = f"Small changes of {' and '.join(filter(None, (one, other)))} move the output most"
        elif context.target:
            target = _brief(context.target)
            said = (
                f"{one} speak{raises} most for {target}" if up else f"{other} speak{lowers} most against {target}"
            )
            said += f", {other} against" if up and other else ""
        else:
            said = f"{one} raise{raises} the output most" if up else f"{other} lower{lowers} the output most"
            said += f", {other} lower{lowers} it" if up and other else ""
        sentence = f"{said}{after}."
        if len(sentence.split()) <= MOST_WORDS:
            break
    return sentence


def _brief(name: str) -> str:
    """A name of a few words."""
    words = name[: LONGEST_NAME + 1].split()
    some = " ".join(words[:NAME_WORDS])
    return some if len(name) <= LONGEST_NAME and len(words) <= NAME_WORDS else f"{some[: LONGEST_NAME - 1]}…"


def _advice(failed: str, context: VerdictContext) -> str:
    """One thing to try, by what failed."""
    if failed == "none":
        return NO_EFFECT_ADVICE
    if failed == "top" and context.method in ("Lime", "KernelShap"):
        return f"Try more samples: `n_samples={4 * context.n_calls}`."
    if context.method == "Contrast":
        more = "`parts=10, pairs=5`, which say more" if failed == "fit" else "`n=16`, against more rows"
        return f"Try {more}."
    if context.method != "Lime":
        return "Try `method=vd.Lime()`, which measures how well it fits."
    if context.surrogate != "Additive":
        return "Try `surrogate=vd.surrogates.Additive()`, which has curves and pairs."
    if context.kind == "table":
        return "Try `method=vd.Contrast()`, which asks why not another answer."
    return "Try another replacement, or larger parts." if context.kind == "filled" else "Try larger parts."


def no_evidence(own: float, sampled: float, n_calls: int) -> Verdict:
    """The verdict where the model does not move on any sample."""
    if own == sampled:
        sentence = (
            f"All {n_calls - 1} variations got the same answer, {own:.6g}: there is nothing to explain here."
        )
    else:
        sentence = (
            f"The model answers {own:.6g} here, but {sampled:.6g} to all {n_calls - 1} variations: none shows why."
        )
    return Verdict(False, 0.0, LEAST_STABLE, sentence, label="none", advice=NO_EFFECT_ADVICE)


def most_untested(fit: Fit) -> bool:
    """Whether so many parts were not tested that the others are no explanation."""
    return fit.tested is not None and bool((~fit.tested).mean() > MOST_UNTESTED)


def not_tested(n: int, d: int) -> Verdict:
    """The verdict where most parts, or all, were replaced by what was there."""
    what = f"None of the {d} parts was tested" if n == d else f"{n} of {d} parts were not tested"
    sentence = f"{what}: what replaces them is what was there."
    return Verdict(
        False, 0.0, LEAST_STABLE, sentence, label="unchecked", advice="Try another replacement: see the notes."
    )


def too_few(size: float, n_calls: int) -> Verdict:
    """The verdict where proximity leaves too few samples to weigh anything."""
    sentence = f"The kernel leaves {size:.1f} effective samples of {n_calls - 1}, too few to weigh anything."
    advice = "Try a wider kernel, or `vd.kernels.Gaussian`, which is sampled from directly."
    return Verdict(False, 0.0, LEAST_STABLE, sentence, label="unreliable", advice=advice)


@lru_cache(maxsize=8)
def _normals(d: int) -> npt.NDArray[np.float32]:
    """Fixed standard normal draws: the same evidence for the same fit."""
    draws = np.random.default_rng(0).standard_normal((d, DRAWS), dtype=np.float32)
    draws.flags.writeable = False
    return draws
