"""What every kind of record shows: one function from a record to its blocks, and one line in ``CONTENTS``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from veridical.checks.audits import Audit
from veridical.comparisons.differences import Difference, Side, differ
from veridical.comparisons.watching import DIRECTION, IMPORTANCE, LEAD, VERDICT_LABEL, Drift
from veridical.display import blocks
from veridical.display.assessments import audit, report, verdict
from veridical.display.explanations import (
    explanation,
    fidelity_facts,
    fidelity_words,
    headed,
    row_words,
    scale_of,
    verdict_words,
    weight_bars,
)
from veridical.display.marks import Badge, Marks, keyed, letters, marks_of
from veridical.display.media import PICTURE
from veridical.display.overviews import explanations, importance
from veridical.display.words import (
    NOT_TESTED,
    Scale,
    count,
    decimals,
    first,
    number,
    percent,
    plain,
    ranked,
    row_label,
    sentence,
)
from veridical.display.words import value_words as value_text
from veridical.errors import safe_str
from veridical.methods.flips import COLUMNS, LABEL, SCORE, SHARE, VALUE, Flip, Flips
from veridical.metrics.reports import Report
from veridical.records import Explanation, Explanations, Floats, Page, Part, Verdict
from veridical.scale.stores.store import Store
from veridical.summaries.groupings.groups import Grouping, Membership
from veridical.summaries.importances import Importance
from veridical.summaries.picks import Pick

# ---- groups, and why an instance belongs to one

NUMBERS = "a group's number is its column in assign(X), from 0; numbers weigh by their standard deviation"


@dataclass(frozen=True, slots=True, eq=False)
class GroupLine:
    """The explanation of one group, as tables want it."""

    parts: tuple[Part, ...]
    weights: Floats  # (d,)
    intervals: Floats  # (d, 2)


def grouping(g: Grouping, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """What is true of all groups, then a card each, the largest first, all on one scale."""
    shown = held(g)
    drawn = [line_of(g, group) for group in shown[: limits.groups]]
    intervals = np.concatenate([np.empty((0, 2)), *(line.intervals for line in drawn)])
    scale = scale_of(np.concatenate([np.empty(0), *(line.weights for line in drawn)]), intervals)
    cards = tuple(_card(g, group, line, limits, scale) for group, line in zip(shown, drawn, strict=False))
    known = f"{count(g.k, 'group')} of {count(int(g.sizes.sum()), 'instance')}"
    left, empty = len(shown) - len(drawn), _empty_words(g)
    asides = [f"And {count(left, 'smaller group')}, not drawn."] if left > 0 else []
    asides += [sentence(empty) + "."] if empty else []
    key = (blocks.Cards(cards), blocks.Legend(("right", "left", "whisker"), ("all groups on one scale", NUMBERS)))
    return (
        blocks.Headline(("Target ", plain(g.target, 80)), ((known, ""),)),
        verdict_words(g.verdict),
        _grouping_facts(g),
        blocks.Notes(first(g.notes, limits.notes), tuple(asides)),
        *(key if cards else ()),
    )


def held(g: Grouping) -> list[int]:
    """The groups that hold an instance, the largest first."""
    return [int(group) for group in np.argsort(-g.sizes, kind="stable") if g.sizes[group] > 0]


def line_of(g: Grouping, group: int) -> GroupLine:
    """The features that the group's explanation uses, heaviest first."""
    weights = g.weights[group]
    used = ranked(weights)
    return GroupLine(tuple(g.parts[j] for j in used), weights[used], g.intervals[group][used])


def _card(g: Grouping, group: int, line: GroupLine, limits: blocks.Limits, scale: Scale) -> blocks.Card:
    """One group: its number, size and region, its weights, its fidelity."""
    n, chosen = int(g.sizes[group]), range(min(len(line.parts), limits.group_parts))
    none = blocks.Text(("No feature has any weight.",))
    bars = weight_bars(line, chosen, limits, scale=scale) if chosen else none
    left, fidelity = len(line.parts) - len(chosen), float(g.fidelities[group])
    more = f"And {count(left, 'smaller part')}. " if left > 0 else ""
    unknown = "fidelity unknown: no held-out instance belongs to it, or the model says the same of all of them"
    good = unknown if math.isnan(fidelity) else fidelity_words(fidelity)
    foot = f"{more}Intercept {limits.signed(number(float(g.intercepts[group])))}; {good}."
    size = f"{count(n, 'instance')}, {percent(n / max(int(g.sizes.sum()), 1))}"
    where = blocks.Text(("Where ", g.regions[group].sentence), "where")
    said = (blocks.Text(("", sentence(_leading(line))), "where"),) if chosen else ()
    return blocks.Card((f"Group {group}",), size, (where, *said, bars, blocks.Text((foot,), "foot")))


def _leading(line: GroupLine) -> str:
    """Which features raise and lower the output most in a group, as a sentence."""
    up, down = (
        [p.column for p, w in zip(line.parts, line.weights, strict=True) if w * sign > 0] for sign in (1, -1)
    )
    told = []
    for names, verb in ((up[:2], "raise"), (down[:2], "lower")):
        if names:
            told.append(
                f"{' and '.join(plain(name, 40) for name in names)} {verb}{'s' * (len(names) == 1)} the output"
            )
    return f"{'; '.join(told)}."


def _empty_words(g: Grouping) -> str:
    """Which groups hold no instance, or nothing."""
    empty = [str(group) for group in np.flatnonzero(g.sizes == 0)]
    if len(empty) < 2:
        return f"group {empty[0]} holds no instance and is not drawn" if empty else ""
    more = f" and {len(empty) - 12} more" if len(empty) > 12 else ""
    return f"groups {', '.join(empty[:12])}{more} hold no instance and are not drawn"


def _grouping_facts(g: Grouping) -> blocks.Facts:
    """How good the groups are on held-out instances, and how good the best choice among them would be."""
    fidelity, explained = fidelity_facts(
        g.fidelity, "of what the model does around held-out instances is explained (R²)"
    )
    error, ceiling = number(g.error), number(g.ceiling)
    facts = (
        ("Fidelity", fidelity, explained),
        ("Error", error, "root mean square on held-out instances, in units of the output"),
        ("Ceiling", ceiling, "the error if the best group of each instance were known"),
        ("Model calls", f"{g.n_calls:,}", "inputs the model was asked about"),
    )
    known = f"{g.fidelity:.2f}" if math.isfinite(g.fidelity) else "unknown"
    best = f"{ceiling} if the best group of each instance were known (the ceiling)"
    return blocks.Facts(facts, (f"held-out R² {known}, error {error} in units of the output; {best}",))


def membership(m: Membership, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """Which group an instance belongs to, why, and how the group's explanation comes to what it says."""
    sure = [(int(g), percent(float(m.probabilities[g]))) for g in np.argsort(-m.probabilities, kind="stable")]
    second = next(((f"then group {g} with {share}", "") for g, share in sure if g != m.group), None)
    said = (("with", percent(float(m.probabilities[m.group]))), *([second] if second else []))
    why = ranked(m.reasons, limits.group_parts)
    show, reasons = decimals([float(m.reasons[j]) for j in why]), list[blocks.BarLine]()
    for part, score, value in ((m.parts[j], float(m.reasons[j]), float(m.values[j])) for j in why):
        numbers = limits.signed(show(score)), limits.signed(value_words(part, value))
        reasons.append(blocks.BarLine(part.name, score, numbers))
    scores = blocks.Bars.of(("Feature", "Why this group", "Score", "Value"), reasons)
    effects = blocks.Bars.of(("Feature", "Effect on the output", "Effect", "Weight × value"), _effects(m, limits))
    speaks = blocks.Section("Why it belongs there", (scores, blocks.Legend(("for", "against"))))
    return (
        blocks.Headline((f"Group {m.group}",), said),
        blocks.Text((f"{sentence(membership_words(m, limits))}.",), "lead"),
        blocks.Text(("Where ", m.region.sentence), "where"),
        *([speaks] if reasons else []),
        blocks.Section("What its explanation predicts, and how", (effects, blocks.Legend(("right", "left")))),
    )


def membership_words(m: Membership, limits: blocks.Limits) -> str:
    """Which group, why, and what its explanation predicts."""
    telling = [j for j in ranked(m.reasons, 3) if m.reasons[j] > 0]
    why = ", ".join(_feature(m.parts[j], float(m.values[j]), limits) for j in telling)
    k, sure = len(m.probabilities), percent(float(m.probabilities[m.group]))
    which = f"group {m.group}, one of {k}, with {sure}" if k > 1 else f"group {m.group}, the only one"
    predicted = limits.signed(number(m.prediction))
    return f"{which}{': ' + why if why else ''}; its explanation predicts {predicted}"


def _feature(part: Part, value: float, limits: blocks.Limits) -> str:
    """A feature and the value that the instance has in it, for a sentence."""
    name = plain(part.name, 40)
    name = f"“{name}”" if part.relation == "word" else name
    if part.relation == "per sd" or value not in (0.0, 1.0):
        return f"{name} {limits.signed(value_words(part, value))}"
    return name if value else f"not {name}"


def value_words(part: Part, value: float) -> str:
    """The value that the instance has in a feature."""
    if part.relation == "per sd":
        return f"{decimals([max(abs(value), 1.0)])(value).strip()} sd"
    return {0.0: "no", 1.0: "yes"}.get(value, number(value))


def _effects(m: Membership, limits: blocks.Limits) -> list[blocks.BarLine]:
    """How the explanation of the group comes to what it says: effects, the intercept and the sum."""
    with np.errstate(over="ignore", invalid="ignore"):
        effects = m.weights * m.values
    used = np.flatnonzero(m.weights)
    used = used[np.lexsort((-np.abs(m.weights[used]), -np.abs(effects[used])))]
    shown, left = used[: limits.group_parts].tolist(), used[limits.group_parts :]
    values = {j: value_words(m.parts[j], float(m.values[j])) for j in shown}
    made = [(m.parts[j].name, float(effects[j]), f"{m.weights[j]:.3g} × {values[j]}") for j in shown]
    made += [(count(len(left), "smaller part"), float(effects[left].sum()), "")] if len(left) else []
    show = decimals([value for _, value, _ in made if math.isfinite(value)])
    lines = [blocks.BarLine(name, v, (limits.signed(show(v)), limits.signed(how))) for name, v, how in made]
    sums = (("Intercept", m.intercept, ""), ("What the explanation predicts", m.prediction, "the sum"))
    return lines + [blocks.BarLine(name, math.nan, (limits.signed(number(v)), how)) for name, v, how in sums]


# ---- picks

MOST_CARDS = 24  # picked rows that have a card
THUMB = 72  # pixels of a region, at most, each way


def pick(p: Pick, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """The pick, or both sides of a pick for two models."""
    if p.second is None:
        return _pick(p, limits, "")
    return *_pick(p, limits, "first model: "), *_pick(p.second, limits, "second model: ")


def _pick(p: Pick, limits: blocks.Limits, name: str) -> tuple[blocks.Block, ...]:
    """How much the rows cover, what they say of each part, and how important each part is over all rows."""
    order = [j for j in ranked(p.importance) if p.importance[j] > 0]
    rows, columns = min(len(p.chosen), limits.matrix[0]), np.array(order[: limits.matrix[1]], dtype=np.int64)
    title, targets = blocks.Headline((sentence(f"{name}{pick_words(p)}."),)), _targets(p)
    if not len(p.chosen) or not len(columns):
        return title, blocks.Notes(first(p.notes, limits.notes))
    new = first_shown(p)
    hidden, left = len(order) - len(columns), len(p.chosen) - rows
    rest = percent(max(1 - float(p.importance[columns].sum()) / (p.total or 1.0), 0.0))
    asides = [f"And {count(left, 'more row')}, not drawn."] if left > 0 else []
    asides += [f"And {count(hidden, 'part')} with {rest} of the importance, not drawn."] if hidden > 0 else []
    known = f"{int((new[p.importance > 0] >= 0).sum()):,} of {len(order):,}"
    facts = (
        ("Rows", f"{len(p.chosen):,} of {p.n:,}", "in the order of the pick"),
        ("Covered", percent(float(p.share[-1])), "of the importance of all parts"),
        ("At random", _chance(p, len(p.chosen) - 1), "as many rows, mean and standard deviation"),
        ("Features", known, "have weight in some row that was picked"),
        *([("Targets", str(len(set(map(str, p.chosen_targets)))), targets)] if targets else []),
    )
    whole = (
        matrix(p, rows, columns, limits),
        blocks.Legend(("up", "down", "new")),
        _importance(p, columns, new),
        blocks.Notes((), tuple(asides)),
    )
    notes = blocks.Notes(first(p.notes, limits.notes))
    if not limits.folds:
        return title, blocks.Facts(facts, (f"targets {targets}",) if targets else ()), *whole, notes
    cards = blocks.Cards(tuple(_row_card(p, step, limits) for step in range(min(rows, MOST_CARDS))))
    below = blocks.Details(("All rows by features",), "", (blocks.Facts(facts), *whole), kind="folded")
    return title, _coverage(p), cards, blocks.Legend(("right", "left")), notes, below


def _coverage(p: Pick) -> blocks.Curves:
    """How much the picked rows cover, beside as many random ones."""
    n, total = len(p.chosen), p.total or 1.0
    mean, spread = (np.concatenate([[0.0], each]) for each in p.random.T / total)
    share, none = np.concatenate([[0.0], p.share]), np.full(n + 1, np.nan)
    told = f"{percent(float(share[-1]))} with {count(n, 'row')}"
    picked = blocks.CurveLine("picked rows", "method", 0, share, none, none, f"picked rows cover {told}")
    words = f"random rows cover {percent(float(mean[-1]))} with as many"
    random = blocks.CurveLine("random rows", "null", 0, mean, mean - spread, mean + spread, words)
    high = min(max(math.ceil(10 * float(share[-1])), 1) / 10, 1.0)
    panel = blocks.CurvePanel("", (picked, random), max(n, 1), high)
    return blocks.Curves("Share of what counts that the rows cover", (panel,))


def _row_card(p: Pick, step: int, limits: blocks.Limits) -> blocks.Card:
    """One picked row: what it explains, and the features with the largest weights."""
    line = p.weights[[step]].tocoo()
    heavy = np.argsort(-np.abs(line.data), kind="stable")[: limits.listed]
    weights = np.asarray(line.data[heavy], dtype=float)
    show = decimals(weights)
    bars = [
        blocks.BarLine(p.names[j], weight, (limits.signed(show(weight)), ""))
        for j, weight in zip(line.col[heavy].tolist(), weights.tolist(), strict=True)
    ]
    heads = ("Feature", "Effect on the output", "Weight", "")
    inner = blocks.Bars.of(heads, bars) if bars else blocks.Text(("No feature has any weight.",))
    return blocks.Card(
        (sentence(_row_name(p, step)),), f"{percent(float(p.share[step]))} covered so far", (inner,)
    )


def matrix(p: Pick, rows: int, columns: npt.NDArray[np.int64], limits: blocks.Limits) -> blocks.Matrix:
    """The weights of the chosen rows and the most important parts."""
    weights = np.asarray(p.weights[:rows][:, columns].toarray(), dtype=np.float64)
    show, largest = decimals(weights.ravel()), float(np.abs(weights).max(initial=0.0)) or 1.0
    lines = ((_row_name(p, t), percent(float(p.share[t])), _chance(p, t)) for t in range(rows))
    return blocks.Matrix(
        ("Row", "Parts, the most important first", "Covered", "At random"),
        tuple(lines),
        tuple(letters(len(columns))),
        tuple(p.names[j] for j in columns),
        tuple(tuple(limits.signed(show(w)).strip() for w in row) for row in weights.tolist()),
        weights / largest,
        first_shown(p)[columns] == np.arange(rows)[:, None],
    )


def first_shown(p: Pick) -> npt.NDArray[np.int64]:
    """Which of the chosen rows shows each part first; -1: none."""
    shown = np.full(len(p.importance), -1, dtype=np.int64)
    found = p.weights.tocoo()
    for step, part in sorted(zip(found.row.tolist(), found.col.tolist(), strict=True), reverse=True):
        shown[part] = step
    return shown


def _importance(p: Pick, columns: npt.NDArray[np.int64], new: npt.NDArray[np.int64]) -> blocks.Bars:
    values = [float(v) for v in p.importance[columns]]
    show, lines = decimals(values), []
    for letter, j, value in zip(letters(len(columns)), columns.tolist(), values, strict=True):
        step, badge = int(new[j]), Badge(letter)
        numbers = show(value)[1:], f"in row {_label(p, step)}" if step >= 0 else "in no row"
        thumb, words = _typical(p, j)
        lines.append(blocks.BarLine(p.names[j], value, numbers, badge=badge, thumb=thumb, thumb_words=words))
    heads = ("Part", "Importance over all rows", "Importance", "Shown first")
    return blocks.Bars(heads, tuple(lines), (0.0, values[0]), sizes=True)


def _typical(p: Pick, j: int) -> tuple[npt.NDArray[np.uint8] | None, str]:
    """Of a concept in pictures: its most typical region, what is around it faded."""
    concept = next((c for c in p.concepts if c.name == p.parts[j].name), None)
    if concept is None or concept.view is None or concept.view.kind != "picture":
        return None, ""
    masks = np.asarray(concept.view.data["labels"]) == concept.typical[1]
    frame = int(masks.sum(axis=(1, 2)).argmax())
    mask, pixels = masks[frame], np.asarray(concept.view.data["pixels"])[frame]
    if not mask.any():
        return None, ""
    box = tuple(slice(at.min(), at.max() + 1) for at in np.nonzero(mask))
    crop = np.where(mask[box][..., None], pixels[box], 255 - (255 - pixels[box]) // 5)
    return crop.astype(np.uint8), f"a typical region, from row {concept.typical[0]}"


def pick_words(p: Pick) -> str:
    """How much the pick covers, and how much chance would."""
    b = len(p.chosen)
    if not b:
        return f"no row was picked, of {p.n:,}"
    rows = f"{b:,} of {count(p.n, 'row')}"
    if p.total <= 0:
        return f"{rows}; no part has any weight, so there is nothing to cover"
    mine, chance = percent(float(p.share[-1])), percent(float(p.random[-1, 0]) / p.total)
    random = f"{count(b, 'random row')} cover{'s' if b == 1 else ''}"
    return f"{rows} cover{'s' if b == 1 else ''} {mine} of what matters; {random} {chance} on average"


def _chance(p: Pick, step: int) -> str:
    """What as many random rows cover, with the standard deviation."""
    mean, spread = p.random[step] / (p.total or 1.0)
    known = f" ± {round(100 * float(spread))}" if np.isfinite(100 * float(spread)) else ""
    return f"{percent(float(mean))}{known}"


def _targets(p: Pick) -> str:
    """How often each target was picked, or nothing if there is but one."""
    counts = Counter(str(t) for t in p.chosen_targets).most_common()
    shown = ", ".join(f"{plain(name, 30)} ({times:,})" for name, times in counts[:5])
    return f"{shown} and {len(counts) - 5} more" if len(counts) > 5 else shown if len(counts) > 1 else ""


def _label(p: Pick, step: int) -> str:
    """The name of a chosen row, or its number."""
    return row_label(p.rows[step] if p.rows else p.chosen[step], 40)


def _row_name(p: Pick, step: int) -> str:
    """The row and, where there are several, its target."""
    several = len(set(map(str, p.chosen_targets))) > 1
    return f"row {_label(p, step)}" + (f" ({plain(p.chosen_targets[step], 20)})" if several else "")


# ---- flips


def flips(f: Flips, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """What the model says, whether changes turn it, and each of them: from which value to which."""
    row = ("", "", "") if f.row is None else row_words(f.row)
    said = output_words(f.prediction, f.unit, limits)
    named = ("the model says ", plain(safe_str(f.answer), 80), f", {said}" if f.unit in (SHARE, SCORE) else "")
    if f.unit == VALUE:
        named = (
            f"the model says {said}",
            *((" for ", plain(safe_str(f.answer), 80)) if f.answer != VALUE else ()),
        )
    title = (*row[:-1], row[-1] + named[0], *named[1:]) if f.row is not None else (sentence(named[0]), *named[1:])
    judgment = verdict_words(f.verdict, (("calls", f"{f.n_calls:,}"),), "found" if len(f) else "not found")
    heads = ("Change" if f.kind == COLUMNS else "Leave out", "From", "To", "The model then says")
    lines = tuple(_change_line(f, item, limits) for item in f.items)
    table = (blocks.ChangeTable(heads, lines),) if lines else ()
    wanted = f"wanted: {plain(f.wanted, 60)}" if f.wanted else ""
    line = "".join(plain(word, 80) for word in title) + (f" ({wanted})" if wanted else "")
    headline = blocks.Headline(title, ((wanted, ""),) if wanted else (), line)
    return headline, judgment, *table, blocks.Notes(first(f.notes, limits.notes))


def _change_line(f: Flips, item: Flip, limits: blocks.Limits) -> blocks.ChangeLine:
    """One change, from which values to which, and the output before and after."""
    if f.kind == COLUMNS:
        steps = tuple(
            (name, changed_words(item.values[name], 6), changed_words(new)) for name, new in item.changes.items()
        )
    else:
        steps = tuple((name, "there", "left out") for name in item.changes)
    both = " → ".join(output_words(value, f.unit, limits) for value in (item.before, item.after))
    answer = "" if f.unit in (VALUE, LABEL) else plain(safe_str(item.answer), 60)
    return blocks.ChangeLine(steps, answer, both)


def changed_words(value: Any, digits: int = 15) -> str:
    """A value of a column, of which a missing one says so; a new number in full, for another one may not flip."""
    if value is None or value is pd.NaT or value is pd.NA:
        return "missing"
    if isinstance(value, float) and 1e-4 <= abs(value) < 1e5:
        single = np.float32(value)  # whose digits say less, where that is all that it is
        return np.format_float_positional(single, trim="-") if float(single) == value else f"{value:.{digits}g}"
    return f"{value:.15g}" if isinstance(value, float) and math.isfinite(value) else value_text(value)


def output_words(value: float, unit: str, limits: blocks.Limits) -> str:
    """An output, as a percentage where it is a probability."""
    return percent(value) if unit == SHARE else limits.signed(number(value))


# ---- differences

LARGER, NOISE, UNMEASURED = "●", "○", "?"
MARKS = {LARGER: "larger than the noise", NOISE: "may be noise", UNMEASURED: "not measured"}
DRIFT_KEY = (
    "● changed by more than the noise, all numbers taken together (Holm, 5 %); ○ may be noise; ? not measured"
)
KEY = "● larger than the noise, ○ may be noise: the intervals hold for all features together; ? not measured"


def difference(d: Difference, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """The verdict, both sides, both weights of each part beside the difference, and rows that changed most."""
    chosen, titles = ordered(d, limits.compared), tuple(plain(title, 80) for title in d.titles)
    cards = tuple(_side(d, *each, chosen, limits) for each in zip(titles, (d.first, d.second), strict=True))
    left = int((np.nan_to_num(np.abs(d.weights)).max(axis=1, initial=0.0) > 0).sum()) - len(chosen)
    asides = (f"And {count(left, 'more part')}, not drawn.",) if left > 0 else ()
    drawn: tuple[blocks.Block, ...] = (blocks.Text(("No part has any weight.",)),)
    if chosen:
        told = f"upper bar: {plain(d.titles[0], 30)}, lower bar: {plain(d.titles[1], 30)}"
        drawn = (pairs(d, chosen, limits), blocks.Legend(("right", "left"), (told, KEY)))
    rows = _changed(d, limits)
    return (
        blocks.Headline(("", titles[0], " and ", titles[1])),
        verdict_words(d.verdict),
        blocks.Cards(cards),
        *drawn,
        blocks.Notes(first(d.notes, limits.notes), asides),
        *([blocks.Section("Rows that changed most", rows)] if rows else []),
    )


def ordered(d: Difference, k: int) -> list[int]:
    """The k parts to show: differences larger than the noise first, then by size; without any weight never."""
    size = np.abs(d.difference)
    heavy = np.nan_to_num(np.abs(d.weights)).max(axis=1, initial=0.0)
    order = np.lexsort((-np.nan_to_num(heavy, posinf=0.0), -np.nan_to_num(size, posinf=0.0), ~d.larger))
    return [int(j) for j in order if 0 < heavy[j] < math.inf][: max(k, 0)]


def mark_of(d: Difference, j: int) -> str:
    """Whether a difference is larger than the noise, as one character."""
    if not np.isfinite(d.intervals[j]).all():
        return UNMEASURED
    return LARGER if d.larger[j] else NOISE


def _side(d: Difference, title: str, side: Side, chosen: list[int], limits: blocks.Limits) -> blocks.Card:
    """What one side says: answers, fidelity, what was asked, verdict; and its instance."""
    if not isinstance(side, Explanation):
        return blocks.Card(("", title), "", (blocks.Text((_sum_words(side),), "side"),))
    e = side
    head, judgment = headed(e, limits)
    numbers = " · ".join(f"{name} {value}" for name, value in judgment.numbers)
    told = (
        blocks.Text(("", plain(head.line, 300)), "side"),
        blocks.Text(
            (f"{blocks.MARKS[judgment.label]} {judgment.said}. ", plain(e.verdict.sentence, 1000)), "side"
        ),
        *([blocks.Text((sentence(numbers),), "side")] if numbers else []),
    )
    seen = (blocks.Instance(e.view, marked(d, e, chosen), PICTURE),) if e.view is not None and chosen else ()
    return blocks.Card(("", title), "", (*told, *seen))


def _sum_words(side: Side) -> str:
    """What many explanations say, in a line."""
    if isinstance(side, Store):
        known = {name: value for name, value, _ in _store_facts(side)}
        n, fidelity = len(side) - side.manifest["n_failed"], f"mean held-out R² {known['Fidelity']}"
        return f"{count(n, 'explanation')}, {fidelity}, {known['Verdicts']} reliable"
    if not isinstance(side, Explanations):
        return count(len(side), "explanation")  # type: ignore[arg-type]  # anything that can be iterated
    found = side.importance()
    faithful = (
        f", faithful {percent(max(found.fidelity, 0.0))} on average" if math.isfinite(found.fidelity) else ""
    )
    return f"{count(found.n_rows, 'explanation')}{faithful}; {blocks.LabelCounts(found.labels).words}"


def marked(d: Difference, side: Explanation, chosen: list[int]) -> Marks:
    """The marks of one side, with the letters that both sides share."""
    place = {name: j for j, name in enumerate(side.names)}
    at = dict[int, str]()
    for letter, j in zip(letters(len(chosen)), chosen, strict=True):
        name = d.parts[j].name
        names = (name, *name.split(" | ")) if d.parts[j].relation == "|" else (name,)
        at |= {place[each]: letter for each in names if each in place}
    return replace(marks_of(side, ranked(side.weights, len(chosen))), letters=at)


def pairs(d: Difference, chosen: list[int], limits: blocks.Limits) -> blocks.PairedBars:
    """Both weights of the chosen parts, and their difference."""
    weights, apart = d.weights[chosen], d.difference[chosen]
    show = decimals(np.concatenate([np.nan_to_num(weights).ravel(), np.nan_to_num(apart)]))
    lettered = any(keyed(side.view) for side in (d.first, d.second) if isinstance(side, Explanation))
    badges = [Badge(letter) if lettered else None for letter in letters(len(chosen))]
    ends = [(low, high) for low, high in d.intervals[chosen].tolist() if math.isfinite(low + high)]
    spans = blocks.span_of(np.nan_to_num(weights).ravel().tolist()), blocks.span_of(apart.tolist(), ends)
    lines = tuple(_pair(d, j, show, limits, badge) for j, badge in zip(chosen, badges, strict=True))
    return blocks.PairedBars((plain(d.titles[0], 30), plain(d.titles[1], 30)), lines, spans)


def _pair(
    d: Difference, j: int, show: Callable[[float], str], limits: blocks.Limits, badge: Badge | None
) -> blocks.PairLine:
    value, (low, high), mark = float(d.difference[j]), d.intervals[j].tolist(), mark_of(d, j)
    untested, known = math.isnan(value), mark != UNMEASURED
    weights = [w if math.isfinite(w) else math.nan for w in d.weights[j].tolist()]
    absent = NOT_TESTED if untested else "not there"
    first, second = (absent if math.isnan(w) else limits.signed(show(w)) for w in weights)
    apart = NOT_TESTED if untested else limits.signed(show(value))
    interval = limits.ends(show, low, high) if known else "not measured"
    ends = (low, high) if known else None
    words, numbers = (first, second), (apart, interval)
    return blocks.PairLine(
        d.parts[j].name,
        (weights[0], weights[1]),
        words,
        value,
        ends,
        mark,
        MARKS[mark],
        numbers,
        badge,
        mark == LARGER,
    )


def _changed(d: Difference, limits: blocks.Limits) -> tuple[blocks.Details, ...]:
    """Of many rows, those whose explanations are farthest apart, each to be opened."""
    if isinstance(d.first, Explanation) or isinstance(d.second, Explanation):
        return ()
    shown = []
    for row in (int(i) for i in d.rows[: limits.changed] if d.changes[i] > 0):
        own = differ(d.first[row], d.second[row], d.titles)
        top = ", ".join(f"{plain(name, 30)} {limits.signed(f'{value:+.3g}')}" for name, value in own.top(2))
        name = d.first[row].row if isinstance(d.first, Explanations) else None
        inner = difference(own, replace(limits, compared=limits.listed)) if limits.folds else ()
        shown.append(blocks.Details(("Row ", row_label(row if name is None else name)), top, inner))
    return tuple(shown)


# ---- what changed from one set of explanations to the next

DRIFT_HEADS = {LEAD: "Rows that a column leads", VERDICT_LABEL: "Verdicts", DIRECTION: "Mean weight with its sign"}


def drift(d: Drift, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """The verdict, importance of both sides column by column, and what else was watched."""
    chosen = [j for j, kind in enumerate(d.kinds) if kind == IMPORTANCE]
    chosen.sort(key=lambda j: (not d.changed[j], -abs(float(d.change[j]))))
    shown, titles = chosen[: limits.compared], tuple(plain(title, 80) for title in d.titles)
    rows = " and ".join(
        f"{count(n, 'row')}{f' ({failed:,} failed)' if failed else ''}"
        for n, failed in zip(d.n_rows, d.n_failed, strict=True)
    )
    drawn: tuple[blocks.Block, ...] = ()
    if shown:
        told = f"upper bar: {plain(d.titles[0], 30)}, lower bar: {plain(d.titles[1], 30)}"
        drawn = _importances(d, shown, limits), blocks.Legend((), (told, DRIFT_KEY))
    left = len(chosen) - len(shown)
    paired = f"{count(d.n_pairs, 'row')} of both sides were compared one by one." if d.n_pairs else ""
    tables = tuple(_numbers_table(d, kind, head, limits) for kind, head in DRIFT_HEADS.items() if kind in d.kinds)
    return (
        blocks.Headline(("Importance by column, ", titles[0], " and ", titles[1]), ((rows, ""),)),
        verdict_words(d.verdict),
        *drawn,
        *([blocks.Findings(said)] if (said := _said_of(d, limits)) else []),
        *(tables if limits.folds else ()),
        blocks.Notes(
            first(d.notes, limits.notes),
            tuple(filter(None, (paired, f"And {count(left, 'more column')}, not drawn." if left else ""))),
        ),
    )


def _said_of(d: Drift, limits: blocks.Limits) -> tuple[tuple[str, str], ...]:
    """What changed besides importance, a line each."""
    said = []
    for j in (j for j, kind in enumerate(d.kinds) if d.changed[j] and kind != IMPORTANCE):
        before, after = d.values[j].tolist()
        shares = f"{percent(before)} → {percent(after)}"
        name = blocks.LABELS.get(d.names[j], d.names[j]) if d.kinds[j] == VERDICT_LABEL else plain(d.names[j], 60)
        words = {
            LEAD: (f"{name} is the heaviest column", f" of {shares} of the rows."),
            VERDICT_LABEL: (f"{name}:", f" {shares} of the rows."),
            DIRECTION: (f"{name} moves the output", f" by {before:+.3g} → {after:+.3g} on average."),
        }[d.kinds[j]]
        said.append((words[0], limits.signed(words[1])))
    return tuple(said[: limits.compared])


def _importances(d: Drift, chosen: list[int], limits: blocks.Limits) -> blocks.PairedBars:
    """Both importances of some columns, and their change."""
    show = decimals(np.concatenate([d.values[chosen].ravel(), d.change[chosen]]))
    ends = [(low, high) for low, high in d.intervals[chosen].tolist() if math.isfinite(low + high)]
    spans = blocks.span_of(d.values[chosen].ravel().tolist()), blocks.span_of(d.change[chosen].tolist(), ends)
    lines = []
    for j in chosen:
        (before, after), (low, high) = d.values[j].tolist(), d.intervals[j].tolist()
        known, larger = math.isfinite(low + high), bool(d.changed[j])
        mark = LARGER if larger else NOISE if known else UNMEASURED
        lines.append(
            blocks.PairLine(
                d.names[j],
                (before, after),
                (show(before).lstrip("+"), show(after).lstrip("+")),
                after - before,
                (low, high) if known else None,
                mark,
                MARKS[mark],
                (
                    limits.signed(f"{after - before:+.3g}"),
                    limits.ends(show, low, high) if known else "not measured",
                ),
                larger=larger,
            )
        )
    heads = "Column", "Importance: mean size of the weight", "Importance"
    return blocks.PairedBars((plain(d.titles[0], 30), plain(d.titles[1], 30)), tuple(lines), spans, heads)


def _numbers_table(d: Drift, kind: str, head: str, limits: blocks.Limits) -> blocks.Table:
    """All numbers of a kind, what changed first."""
    chosen = sorted(
        (j for j, each in enumerate(d.kinds) if each == kind), key=lambda j: (not d.changed[j], float(d.p[j]))
    )
    share = kind in (LEAD, VERDICT_LABEL)
    rows = []
    for j in chosen[: limits.compared]:
        (before, after), (low, high) = d.values[j].tolist(), d.intervals[j].tolist()
        texts = (
            (percent(before), percent(after), f"{100 * low:+.0f} to {100 * high:+.0f} points")
            if share
            else (f"{before:+.3g}", f"{after:+.3g}", f"{low:+.3g} to {high:+.3g}")
        )
        name = blocks.LABELS.get(d.names[j], d.names[j]) if kind == VERDICT_LABEL else d.names[j]
        cells = (blocks.Cell(limits.signed(text)) for text in texts)
        outcome = blocks.Cell(bold=bool(d.changed[j]), text="changed" if d.changed[j] else "may be noise")
        rows.append((blocks.Cell(name), *cells, outcome))
    heads = (head, plain(d.titles[0], 30), plain(d.titles[1], 30), "Change, 95 % interval", "")
    return blocks.Table(head, heads, tuple(rows), "pairs")


# ---- stores and pages


def store(s: Store, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """Where it is, how far it is, and how good the explanations are."""
    done, known = s.manifest["n_done"], s.manifest["n_rows"]
    state = f"{done:,} of {count(known, 'row') if known is not None else 'all rows'}: not complete"
    state = f"{count(done, 'row')}, complete" if s.manifest["complete"] else state
    line = f"store {plain(s.path, 200)}: {state}"
    folder = (f"Folder: {s.path}",) if limits.folds else ()
    return blocks.Headline((f"Store: {state}",), (), line), blocks.Facts(_store_facts(s)), blocks.Notes((), folder)


def _store_facts(s: Store) -> tuple[blocks.Fact, ...]:
    done, n_failed, n_calls = len(s), s.manifest["n_failed"], s.manifest["n_calls"]
    n_known, n_good = sum(r.n_fidelity for r in s.receipts), max(done - n_failed, 1)
    fidelity = sum(r.fidelity for r in s.receipts) / n_known if n_known else math.nan
    passed = percent(sum(r.n_passed for r in s.receipts) / n_good)
    failed = [("Failed", f"{n_failed:,}", "rows have an error in the place of an explanation")] if n_failed else []
    calls = f"inputs that the model was asked about, {number(n_calls / max(done, 1))} per row"
    return (
        *failed,
        ("Calls", f"{n_calls:,}", calls),
        ("Fidelity", number(fidelity), "mean held-out R²" if n_known else "(mean held-out R²)"),
        ("Verdicts", passed, "of the explanations are reliable"),
    )


def page(p: Page, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """Every record under its heading."""
    sections = (
        (heading, text, () if record is None else blocks_of(record, limits))
        for heading, record, text in p.sections
    )
    return (blocks.Document(p.title, p.lead, tuple(sections)),)


CONTENTS: Mapping[type, Callable[[Any, blocks.Limits], Sequence[blocks.Block]]] = {
    Explanation: explanation,
    Explanations: explanations,
    Importance: importance,
    Grouping: grouping,
    Membership: membership,
    Pick: pick,
    Report: report,
    Verdict: verdict,
    Audit: audit,
    Difference: difference,
    Flips: flips,
    Drift: drift,
    Store: store,
    Page: page,
}


def blocks_of(record: Any, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """The blocks of a record, as many as a medium has room for."""
    return tuple(CONTENTS[type(record)](record, limits))
