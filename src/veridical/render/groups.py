"""Groups, and why an instance belongs to one: the words that all media share, and the plain text."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np

from veridical.records import Floats, Part
from veridical.render.terminal import chart, ranges, wrap
from veridical.render.words import Fact, count, decimals, fidelity_words, first, number, percent, plain, sentence
from veridical.summarize.records import Grouping, Membership

MOST_GROUPS, MOST_PARTS = 10, 8  # in a terminal
MOST_REASONS = 5
WHY, HOW = "Why it belongs there", "What its explanation predicts, and how"
REASON_HEADS = ("Feature", "Why this group", "Score", "Value")
EFFECT_HEADS = ("Feature", "Effect on the output", "Effect", "Weight × value")
SPEAKS = ("right: speaks for the group", "left: against it")
Entry: TypeAlias = tuple[str, float, tuple[str, str]]  # a name, what is drawn, and what is written
NUMBERS = "a group's number is its column in assign(X), from 0; numbers weigh by their standard deviation"


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """The explanation of one group, as tables want it."""

    parts: tuple[Part, ...]
    weights: Floats  # (d,)
    intervals: Floats  # (d, 2)


def line_of(grouping: Grouping, group: int) -> Line:
    """The features that the group's explanation uses, heaviest first."""
    weights = grouping.weights[group]
    size = np.abs(weights)
    used = [int(j) for j in np.argsort(-size, kind="stable") if 0 < size[j] < math.inf]
    return Line(tuple(grouping.parts[j] for j in used), weights[used], grouping.intervals[group][used])


def held(grouping: Grouping) -> list[int]:
    """The groups that hold an instance, the largest first."""
    return [int(g) for g in np.argsort(-grouping.sizes, kind="stable") if grouping.sizes[g] > 0]


def together(lines: Sequence[Line]) -> Line:
    """All groups as one: its scale makes their bars comparable."""
    return Line(
        tuple(chain.from_iterable(line.parts for line in lines)),
        np.concatenate([np.empty(0), *(line.weights for line in lines)]),
        np.concatenate([np.empty((0, 2)), *(line.intervals for line in lines)]),
    )


def headline(grouping: Grouping) -> str:
    """How many groups of how many instances."""
    n = int(grouping.sizes.sum())
    return f"{count(grouping.k, 'group')} of {count(n, 'instance')}"


def size_words(grouping: Grouping, group: int) -> str:
    """How many instances belong to a group, and which share of all they are."""
    n = int(grouping.sizes[group])
    return f"{count(n, 'instance')}, {percent(n / max(int(grouping.sizes.sum()), 1))}"


def own_words(fidelity: float) -> str:
    """The fidelity of one group as a sentence without a subject."""
    if math.isnan(fidelity):
        return "fidelity unknown: no held-out instance belongs to it, or the model says the same of all of them"
    return fidelity_words(fidelity)


def error_words(grouping: Grouping) -> str:
    """How good the groups are on held-out instances, and how good the best choice among them would be."""
    known = f"{grouping.fidelity:.2f}" if math.isfinite(grouping.fidelity) else "unknown"
    return (
        f"held-out R² {known}, error {number(grouping.error)} in units of the output; "
        f"{number(grouping.ceiling)} if the best group of each instance were known (the ceiling)"
    )


def empty_words(grouping: Grouping) -> str:
    """Which groups hold no instance, or nothing."""
    empty = [str(g) for g in np.flatnonzero(grouping.sizes == 0)]
    if not empty:
        return ""
    more = f" and {len(empty) - 12} more" if len(empty) > 12 else ""
    one = len(empty) == 1
    names = f"group {empty[0]}" if one else f"groups {', '.join(empty[:12])}{more}"
    return f"{names} {'holds' if one else 'hold'} no instance and {'is' if one else 'are'} not drawn"


def facts_of(g: Grouping) -> tuple[Fact, ...]:
    """The numbers that the groups rest on."""
    good, explained = g.fidelity > 0, "of what the model does around held-out instances is explained (R²)"
    agreement = percent(g.fidelity) if good else "none" if g.fidelity <= 0 else "unknown"
    return (
        ("Fidelity", agreement, explained if good else fidelity_words(g.fidelity)),
        ("Error", number(g.error), "root mean square on held-out instances, in units of the output"),
        ("Ceiling", number(g.ceiling), "the error if the best group of each instance were known"),
        ("Model calls", f"{g.n_calls:,}", "inputs the model was asked about"),
    )


def notes_of(g: Grouping, n_drawn: int) -> list[str]:
    """What a reader should know besides, where so many groups are drawn."""
    left, empty = len(held(g)) - n_drawn, empty_words(g)
    lines = [f"And {count(left, 'smaller group')}, not drawn."] if left > 0 else []
    return [*lines, *([sentence(empty) + "."] if empty else []), *first(g.notes)]


def foot_words(g: Grouping, group: int, left: int) -> str:
    """What stands below the bars of a group, of which so many parts are left out."""
    more = f"And {count(left, 'smaller part')}. " if left > 0 else ""
    intercept = number(float(g.intercepts[group])).replace("-", "−")
    return f"{more}Intercept {intercept}; {own_words(float(g.fidelities[group]))}."


def grouping_picture(grouping: Grouping, width: int = 80) -> str:
    """All groups, one under the other, with the evidence for them above."""
    g, shown = grouping, held(grouping)[:MOST_GROUPS]
    mark = "believe it" if g.verdict.passed else "read with care"
    lines = [
        f"target {plain(g.target, 60)}: {headline(g)}",
        f"{mark}: {plain(g.verdict.sentence, 1000)}",
        error_words(g),
        *([empty_words(g)] if empty_words(g) else []),
        *(f"note: {plain(n, 500)}" for n in g.notes),
    ]
    drawn = [line_of(g, group) for group in shown]
    charts = _charts(drawn, max(width, 50))
    for group, line, bars in zip(shown, drawn, charts, strict=True):
        lines += ["", *_group(g, group, len(line.parts), bars)]
    left = len(held(g)) - len(shown)
    lines += ["", *([f"and {count(left, 'smaller group')}"] if left else []), NUMBERS]
    return "\n".join(chain.from_iterable(wrap(line, width) for line in lines))


def _charts(drawn: Sequence[Line], width: int) -> list[list[str]]:
    """A chart each, cut from one, so that all are to scale."""
    cut = [Line(a.parts[:MOST_PARTS], a.weights[:MOST_PARTS], a.intervals[:MOST_PARTS]) for a in drawn]
    whole = together(cut)
    every = range(len(whole.parts))
    if not every:
        return [[] for _ in drawn]
    head, *rows = chart([plain(p.name) for p in whole.parts], whole.weights, ranges(whole, every), width)
    rest = iter(rows)
    return [[head, *(next(rest) for _ in line.parts)] if line.parts else [] for line in cut]


def _group(g: Grouping, group: int, n_parts: int, bars: Sequence[str]) -> list[str]:
    """One group: where it lies, how well its explanation does, and what that is."""
    left = n_parts - MOST_PARTS
    more = f"and {count(left, 'smaller part')}, " if left > 0 else "" if bars else "no feature has any weight, "
    return [
        f"group {group}: {size_words(g, group)}",
        f"where {plain(g.regions[group].sentence, 600)}",
        own_words(float(g.fidelities[group])),
        *bars,
        f"  {more}intercept {number(float(g.intercepts[group]))}",
    ]


def reasons_of(m: Membership, k: int = MOST_REASONS) -> list[int]:
    """The features that speak loudest for the group or against it."""
    size = np.abs(m.reasons)
    return [int(j) for j in np.argsort(-size, kind="stable")[:k] if 0 < size[j] < math.inf]


def effects_of(m: Membership) -> tuple[list[int], Floats]:
    """The features that the group's explanation uses, heaviest effect first; the effect of every feature (d,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        effects = m.weights * m.values
    used = np.flatnonzero(m.weights)
    order = used[np.lexsort((-np.abs(m.weights[used]), -np.abs(effects[used])))]
    return order.tolist(), effects


def value_words(part: Part, value: float) -> str:
    """The value that the instance has in a feature."""
    if part.relation == "per sd":
        return f"{decimals([max(abs(value), 1.0)])(value).strip()} sd"
    return {0.0: "no", 1.0: "yes"}.get(value, number(value))


def runner_up(m: Membership) -> str:
    """The group that comes second, or nothing."""
    order = np.argsort(-m.probabilities, kind="stable")
    second = [int(g) for g in order if g != m.group][:1]
    return "".join(f"then group {g} with {percent(float(m.probabilities[g]))}" for g in second)


def _feature(part: Part, value: float, sign: Callable[[str], str]) -> str:
    """A feature and the value that the instance has in it, for a sentence."""
    name = plain(part.name, 40)
    name = f"“{name}”" if part.relation == "word" else name
    if part.relation == "per sd" or value not in (0.0, 1.0):
        return f"{name} {sign(value_words(part, value))}"
    return name if value else f"not {name}"


def membership_sentence(m: Membership, sign: Callable[[str], str] = str) -> str:
    """Which group, why, and what its explanation predicts; ``sign`` says how numbers are written."""
    telling = [j for j in reasons_of(m, 3) if m.reasons[j] > 0]
    why = ", ".join(_feature(m.parts[j], float(m.values[j]), sign) for j in telling)
    k, sure = len(m.probabilities), percent(float(m.probabilities[m.group]))
    which = f"group {m.group}, one of {k}, with {sure}" if k > 1 else f"group {m.group}, the only one"
    return f"{which}{': ' + why if why else ''}; its explanation predicts {sign(number(m.prediction))}"


def membership_picture(membership: Membership, width: int = 80) -> str:
    """Which group, why, and how the group's explanation comes to what it says."""
    m, wide = membership, max(width, 50)
    said, second = membership_sentence(m), runner_up(m)
    lines = [said, *([second] if second else []), f"region: {plain(m.region.sentence, 600)}"]
    why = reasons_of(m)
    if why:
        names = [plain(m.parts[j].name) for j in why]
        values = [value_words(m.parts[j], float(m.values[j])) for j in why]
        lines += ["", "what speaks for the group (right) and against it (left)"]
        lines += chart(names, m.reasons[why], values, wide, ("score", "value"))
    used, effects = effects_of(m)
    shown = used[:MOST_PARTS]
    lines += ["", f"how the group's explanation comes to {number(m.prediction)}"]
    if shown:
        names = [plain(m.parts[j].name) for j in shown]
        lines += chart(names, effects[shown], [product(m, j) for j in shown], wide, ("effect", "weight × value"))
    rest = float(effects[used[MOST_PARTS:]].sum()) if len(used) > MOST_PARTS else 0.0
    more = (
        f" + {number(rest)} of {count(len(used) - MOST_PARTS, 'smaller part')}" if len(used) > MOST_PARTS else ""
    )
    sums = f"{number(m.intercept)} (intercept) + {number(float(effects[shown].sum()))} (above){more}"
    lines.append(f"{sums} = {number(m.prediction)}".replace("+ -", "- "))
    return "\n".join(chain.from_iterable(wrap(line, width) for line in lines))


def reason_entries(m: Membership, most: int) -> list[Entry]:
    """What speaks for the group or against it: scores, and the values of the instance."""
    why = reasons_of(m, most)
    show = decimals([float(m.reasons[j]) for j in why])
    return [
        (
            m.parts[j].name,
            float(m.reasons[j]),
            (_minus(show(float(m.reasons[j]))), _minus(value_words(m.parts[j], float(m.values[j])))),
        )
        for j in why
    ]


def effect_entries(m: Membership, most: int) -> list[Entry]:
    """How the explanation of the group comes to what it says: effects, the intercept and the sum."""
    used, effects = effects_of(m)
    entries = [(m.parts[j].name, float(effects[j]), product(m, j)) for j in used[:most]]
    rest = float(effects[used[most:]].sum())
    entries += [(count(len(used) - most, "smaller part"), rest, "")] if len(used) > most else []
    show = decimals([value for _, value, _ in entries if math.isfinite(value)])
    return [
        *((name, value, (_minus(show(value)), _minus(made))) for name, value, made in entries),
        ("Intercept", math.nan, (_minus(number(m.intercept)), "")),
        ("What the explanation predicts", math.nan, (_minus(number(m.prediction)), "the sum")),
    ]


def span_of(entries: Sequence[Entry]) -> tuple[float, float]:
    """An axis that holds zero and all values."""
    known = [value for _, value, _ in entries if math.isfinite(value)]
    return min(0.0, *known, 0.0), max(0.0, *known, 0.0)


def _minus(text: str) -> str:
    return text.replace("-", "−")


def product(m: Membership, j: int) -> str:
    """How an effect is made."""
    return f"{m.weights[j]:.3g} × {value_words(m.parts[j], float(m.values[j]))}"
