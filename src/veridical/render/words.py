"""The words and numbers that all pictures share."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd

from veridical.attribute.purposes import question_of
from veridical.errors import JOINERS, harmless, safe_str
from veridical.records import Explanation, Explanations, Floats, Part

Fact: TypeAlias = tuple[str, str, str]  # a name, its value, what it means
MOST_NOTES = 6
NOT_TESTED = "not tested"  # a part that its replacement leaves as it was


class Weighed(Protocol):
    """Parts with weights: an explanation, or that of a group."""

    @property
    def parts(self) -> tuple[Part, ...]: ...

    @property
    def weights(self) -> Floats:
        """(d,)"""
        ...

    @property
    def intervals(self) -> Floats:
        """(d, 2)"""
        ...


@dataclass(frozen=True, slots=True)
class Digest:
    """Many explanations in a few numbers."""

    n_items: int
    targets: tuple[tuple[str, int], ...]  # most frequent first
    fidelity: float  # median
    passed: float  # share of the verdicts
    top: tuple[tuple[str, float, int], ...]  # part, mean |weight| over all items, items it counts in
    n_failed: int = 0  # rows that could not be explained

    def facts(self) -> tuple[Fact, ...]:
        """What many explanations have in common."""
        targets = ", ".join(f"{plain(t, 20)} ({n:,})" for t, n in self.targets[:3])
        return (
            ("Explanations", f"{self.n_items:,}", failed_words(self.n_failed, self.n_items) or "one per row"),
            ("Targets", f"{len(self.targets):,}", targets),
            ("Fidelity", number(self.fidelity), "median held-out R²"),
            ("Verdicts", percent(self.passed), "of the explanations can be believed"),
        )


def plain(text: object, limit: int = 200) -> str:
    """Foreign text on one line: cut to ``limit``, control and direction characters made harmless."""
    head = str(text)[: limit + 1]
    safe = head if head.isprintable() else "".join(harmless(c) for c in head)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


def number(value: float) -> str:
    """Four digits of a number, or a word."""
    return f"{value:.4g}" if math.isfinite(value) else "unknown"


def count(n: int, what: str) -> str:
    """So many of something."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def percent(share: float) -> str:
    """A share as a whole percentage that is 0 or 100 only when it is exactly so."""
    if not math.isfinite(100 * share):
        return "unknown"
    rounded = round(100 * share)
    if rounded == 100 and share < 1:
        return "> 99 %"
    return "< 1 %" if rounded == 0 and share > 0 else f"{rounded} %"


def decimals(values: Iterable[float]) -> Callable[[float], str]:
    """How to write signed numbers, so that the largest gets three significant digits."""
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    power = math.floor(math.log10(largest)) if largest > 0 else 0
    form = "+.2e" if not -4 <= power <= 6 else f"+.{max(2 - power, 0)}f"

    def show(value: float) -> str:
        text = format(value, form)
        return " " + text[1:] if float(text) == 0 else text

    return show


def ranked(weighed: Weighed, k: int) -> list[int]:
    """Where the k heaviest parts are; a weight of zero is never among them."""
    size = np.abs(weighed.weights)
    order = np.argsort(-size, kind="stable")
    return [int(j) for j in order if 0 < size[j] < math.inf][: max(k, 0)]


def unknown_words(weighed: Weighed, j: int) -> str:
    """Why a part has no interval."""
    return NOT_TESTED if math.isnan(weighed.weights[j]) else "not measured"


def row_label(row: object, limit: int = 60) -> str:
    """The name of a row, on one line: of several labels, one after the other."""
    return plain(", ".join(map(str, row)) if isinstance(row, tuple) else row, limit)


def value_words(value: Any) -> str:
    """The row's own value of a column."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return "missing" if math.isnan(value) else str(value)
        return f"{value:.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.4g}"  # 71000, not 7.1e+04
    if isinstance(value, pd.Timestamp) and value == value.normalize():
        return str(value.date())
    return plain(value, 40)


def part_words(weighed: Weighed, j: int) -> tuple[str, str]:
    """A part as a reader sees it: its name, or the column with the row's own value, and then the bin it is in."""
    part, values = weighed.parts[j], getattr(weighed, "values", ())
    if not isinstance(values, tuple) or len(values) != len(weighed.parts) or values[j] is None:
        return part.name, ""
    own = value_words(values[j])
    if part.relation == "per sd":
        return f"{part.name} {own}", "per sd"
    if part.relation not in ("≤", ">", "in"):
        return part.name, ""
    before, middle, after = part.name.partition(part.column)
    if not middle:  # a field has its own columns
        return f"{part.name}: {own}", ""
    if part.relation == "in":
        return f"{part.column} {own}", f"{before.removesuffix(' < ')} to {after.removeprefix(' ≤ ')}"
    return f"{part.column} {own}", after.strip()


def part_line(weighed: Weighed, j: int) -> str:
    """``part_words`` in one text."""
    lead, rest = part_words(weighed, j)
    return f"{plain(lead)} ({plain(rest, 80)})" if rest else plain(lead)


def measured(weighed: Weighed) -> list[bool]:
    """False where an interval is infinite: the samples say nothing about the part."""
    finite = np.isfinite(weighed.intervals)
    return [bool(low and high) for low, high in finite]


def teller(explanation: Explanation) -> str:
    """What the weights add up in: a surrogate, or the explanation itself where gradients were read."""
    return "surrogate" if explanation.map is None else "explanation"


def asked_words(explanation: Explanation) -> str:
    """What was asked of the parts."""
    return f"asked: {plain(question_of(explanation.purpose), 100)}"


def fidelity_words(fidelity: float) -> str:
    """Fidelity as a sentence without a subject."""
    if not math.isfinite(fidelity):
        return "how well it agrees with the model was not measured"
    if fidelity <= 0:
        return f"explains nothing of what the model does here (held-out R² {fidelity:.2f})"
    return f"explains {percent(fidelity)} of what the model does here (held-out R²)"


def unmeasured_words(explanation: Explanation) -> str:
    """Which parts were not measured or not tested, or nothing."""
    e, found = explanation, dict[str, list[str]]()
    for j, ok in enumerate(measured(e)):
        if not ok:
            found.setdefault(unknown_words(e, j), []).append(e.parts[j].name)
    return "; ".join(f"{why}: {listing(names)}" for why, names in sorted(found.items()))


def unsettled_words(explanation: Explanation) -> str:
    """Which parts of the top may change places, or nothing."""
    groups = [listing(group, " ~ ") for group in explanation.unsettled[:5]]
    return f"order not settled: {'; '.join(groups)}" if groups else ""


def top_count(explanation: Explanation) -> int:
    """How many parts the top has: fewer than were measured, for the top of all of them is always right."""
    moved = (np.nan_to_num(explanation.weights) != 0) | (explanation.intervals[:, 1] > explanation.intervals[:, 0])
    known = int(np.sum(np.array(measured(explanation), dtype=bool) & moved))
    return max(min(explanation.top_k, known - 1), 1)


def top_words(explanation: Explanation) -> str:
    """How sure it is that the top parts are the right ones."""
    k = top_count(explanation)
    return (
        f"the top {k} are the right ones with probability"
        if k > 1
        else "the first is the right one with probability"
    )


def listing(names: Sequence[str], joint: str = ", ") -> str:
    """The first few names, and how many more there are."""
    shown = joint.join(plain(name, 60) for name in names[:6])
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown


def evidence(explanation: Explanation) -> list[str]:
    """What the explanation rests on, one fact a line."""
    e = explanation
    probability = f"{top_words(e)} {percent(e.top_probability)}" if math.isfinite(e.top_probability) else ""
    calls = f"effective sample size {e.effective_size:,.0f}, the model was asked about {count(e.n_calls, 'row')}"
    route = "path: " + " → ".join(plain(step, 80) for step in e.path[:20]) if e.path else ""
    words = [
        asked_words(e),
        fidelity_words(e.fidelity),
        probability,
        unsettled_words(e),
        unmeasured_words(e),
        calls,
        route,
    ]
    return [line for line in words if line]


def top_title(explanation: Explanation) -> str:
    """What the probability of the top is of, above its number."""
    k = top_count(explanation)
    return f"Top {k} are right" if k > 1 else "The first is right"


def facts_of(e: Explanation) -> tuple[Fact, ...]:
    """The numbers that an explanation rests on."""
    agreement = percent(e.fidelity) if e.fidelity > 0 else "none" if e.fidelity <= 0 else "unknown"
    explained = "of what the model does here is explained (held-out R²)"
    meaning = explained if e.fidelity > 0 else fidelity_words(e.fidelity)
    return (
        ("Fidelity", agreement, meaning),
        (top_title(e), percent(e.top_probability), "probability, within the tolerance"),
        ("Effective sample", f"{e.effective_size:,.0f}", "samples, once weighted by proximity"),
        ("Model calls", f"{e.n_calls:,}", "rows the model was asked about"),
    )


def n_weighty(weighed: Weighed) -> int:
    """How many parts have weight; those that were not tested have none."""
    return int(np.count_nonzero(np.nan_to_num(weighed.weights)))


def notes_of(e: Explanation, n_drawn: int) -> list[str]:
    """What a reader should know besides, where so many parts are drawn."""
    left = n_weighty(e) - n_drawn
    lines = [f"And {left:,} smaller parts, not drawn."] if left > 0 else []
    lines += [f"Order not settled: {listing(group, ' ~ ')}" for group in e.unsettled[:5]]
    unmeasured = unmeasured_words(e) if n_drawn else ""
    return [*lines, *([sentence(unmeasured)] if unmeasured else []), *first(e.notes)]


def first(notes: Sequence[str], most: int = MOST_NOTES) -> list[str]:
    """The first notes, and how many more there are."""
    more = len(notes) - most
    return [*notes[:most], *([f"And {count(more, 'more note')}."] if more > 0 else [])]


def sentence(text: str) -> str:
    """With a capital letter."""
    return text[:1].upper() + text[1:]


def target_of(e: Explanation) -> Any:
    """The target as it is shown: quoted where a class that is no text is written like it."""
    classes = e.recipe.get("classes") if isinstance(e.target, str) else None
    known = classes if isinstance(classes, (list, tuple)) else ()
    if any(not isinstance(each, str) and safe_str(each) == e.target for each in known):
        return repr(e.target)
    return e.target


def brief(e: Explanation) -> str:
    """An explanation in half a line."""
    top = ", ".join(plain(name, 30) for name, _ in e.top(3)) or "no part has any weight"
    return f"target {plain(target_of(e), 40)}, model {number(e.prediction).replace('-', '−')}: {top}"


def digest(explanations: Explanations) -> Digest:
    """The numbers that a list of explanations is introduced with."""
    items = explanations.items
    if not items:
        return Digest(0, (), math.nan, math.nan, ())
    fidelity = np.array([e.fidelity for e in items])
    known = fidelity[np.isfinite(fidelity)]
    names = list(chain.from_iterable((p.name for p in e.parts) for e in items))
    sizes = np.abs(np.concatenate([e.weights for e in items]))
    sizes[np.isinf(sizes)] = 0.0
    return Digest(
        len(items),
        tuple(Counter(str(target_of(e)) for e in items).most_common()),
        float(np.median(known)) if known.size else math.nan,
        float(np.mean([e.verdict.passed for e in items])),
        _heaviest(names, sizes, len(items)),
        len(explanations.failures),
    )


def failed_words(n_failed: int, n_items: int) -> str:
    """How many rows could not be explained, or nothing."""
    return f"{n_failed:,} of {n_failed + n_items:,} rows failed" if n_failed else ""


def _heaviest(names: list[str], sizes: Floats, n_items: int) -> tuple[tuple[str, float, int], ...]:
    codes, unique = pd.factorize(np.array(names, dtype=object))
    untested = np.isnan(sizes)
    sums = np.bincount(codes, weights=np.where(untested, 0.0, sizes), minlength=len(unique))
    counts = np.bincount(codes[sizes > 0], minlength=len(unique))
    tested = np.maximum(n_items - np.bincount(codes[untested], minlength=len(unique)), 1)
    means = sums / tested  # over explanations that did not fail to test the part
    order = [j for j in np.argsort(-sums, kind="stable")[:8] if sums[j] > 0]
    return tuple((str(unique[j]), float(means[j]), int(counts[j])) for j in order)


def cells(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) or c in JOINERS else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def fit(text: str, limit: int) -> str:
    """As much of the text as fits into ``limit`` columns of a terminal."""
    used = 0
    for i, c in enumerate(text):
        used += cells(c)
        if used > limit:
            return text[:i]
    return text


def shorten(text: str, limit: int) -> str:
    """The text, or what fits into ``limit`` columns of a terminal, and an ellipsis."""
    return text if fit(text, limit) == text else fit(text, limit - 1) + "…"
