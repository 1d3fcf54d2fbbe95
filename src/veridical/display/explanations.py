"""Explanations as blocks: one alone, one of several, and many."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit

from veridical.display import blocks
from veridical.display.marks import Marks, keyed, marks_of
from veridical.display.media import PICTURE
from veridical.display.views import instance_of
from veridical.display.words import (
    Scale,
    Weighed,
    count,
    decimals,
    factor,
    first,
    listing,
    measured,
    number,
    part_words,
    percent,
    plain,
    ranked,
    rounded,
    row_label,
    sentence,
    unknown_words,
)
from veridical.errors import InputError, safe_str
from veridical.records import LOG_ODDS, Explanation, FeatureCurve, Floats, Verdict, shown_class
from veridical.storage.exchange import to_plain, why_no_sum

LISTED = 2_000  # bytes of the picture of one of several; outlines and marks come on top
FOLDED = 20  # features that are drawn where one has to open them
OTHERS = 3  # classes that are told beside the answer
MOST_RECIPE = 600  # characters
HEADS = ("Feature", "Effect on the output", "Weight", "95 % interval")
ODDS = ("Feature", "Effect on the log-odds", "Log-odds", "Odds, 95 % interval")


def explanation(e: Explanation, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """The answer, the verdict, the instance with its features marked, the heaviest of them, and the rest folded."""
    heavy, others = split(e, limits.parts)
    marks = marks_of(e, [j for j in heavy if j < len(e.parts)]) if e.view is not None else None
    seen = instance_of(e, marks, PICTURE) if marks is not None else ()
    bars = bars_of(e, heavy, limits, marks)
    none = blocks.Text(("No feature can be told from zero." if others else "No feature has any weight.",))
    below = (*_sums(e), _signs(bars)) if heavy else ()
    notes = blocks.Notes(first(e.notes, limits.notes), () if limits.folds else _left_out(e, others), e.path)
    return *headed(e, limits), *seen, bars if heavy else none, *below, notes, *_folded(e, heavy, others, limits)


def listed(e: Explanation, limits: blocks.Limits, n_bytes: int = LISTED) -> tuple[blocks.Block, ...]:
    """The same of one of several, in short; without bytes, without its instance."""
    heavy, others = split(e, limits.listed)
    marks = marks_of(e, [j for j in heavy if j < len(e.parts)]) if e.view is not None and n_bytes else None
    seen = instance_of(e, marks, n_bytes) if marks is not None else ()
    bars = (bars_of(replace(e, curves=()), heavy, limits, marks),) if heavy else ()
    return *headed(e, limits), *seen, *bars, blocks.Notes(e.notes, _left_out(e, others), e.path)


def split(e: Explanation, most: int) -> tuple[list[int], list[int]]:
    """The heaviest features and pairs that can be told from zero, and all others that have weight.

    Pairs are numbered after the features. What was not measured counts as told.
    """
    sizes = np.abs(np.concatenate([e.weights, [pair.weight for pair in e.pairs]]))
    low, high = np.concatenate([e.intervals, *([pair.interval] for pair in e.pairs)]).T
    told = ~np.isfinite(low) | ~np.isfinite(high)
    told |= np.concatenate([e.clear, (low > 0)[len(e.parts) :] | (high < 0)[len(e.parts) :]])
    order = ranked(sizes)
    heavy = [j for j in order if told[j]][:most]
    chosen = set(heavy)
    return heavy, [j for j in order if j not in chosen]


def headed(e: Explanation, limits: blocks.Limits) -> tuple[blocks.Headline, blocks.Judgment]:
    """What the model says; and how far the explanation can be relied on."""
    row = () if e.row is None else row_words(e.row)
    title, said = answer(e, limits)
    title = (*row[:-1], row[-1] + title[0], *title[1:]) if row else (sentence(title[0]), *title[1:])
    told = tuple((plain(name, 40), value) for name, value in said)
    if e.purpose != "content":
        told += ((f"asked: {plain(e.question, 100)}", ""),)
    beside = ", ".join(" ".join(filter(None, pair)) for pair in told)
    line = "".join(plain(word, 60) for word in title) + (f" ({beside})" if beside else "")
    return blocks.Headline(title, told, line), judged(e, limits)


def row_words(row: Any) -> blocks.Words:
    """The name of a row, or its number, before what is said of it."""
    numbered = isinstance(row, (int, np.integer)) and not isinstance(row, bool)
    return "Row " if numbered else "", row_label(row), ": "


def answer(e: Explanation, limits: blocks.Limits) -> tuple[blocks.Words, tuple[tuple[str, str], ...]]:
    """What the model says, in a few words, and what it says of other classes."""
    target = target_of(e)
    own = [i for i, (label, _) in enumerate(e.probabilities) if label == e.target]
    if not own:
        value = limits.signed(number(e.prediction))
        if math.isnan(e.prediction):  # weights that came without it
            of = () if e.target == "value" else (" for ", plain(target, 80))
            return ("weights of ", plain(e.recipe["method"]["name"], 80), *of), ()
        if e.target == "value":
            return (f"the model says {value}",), ()
        return (f"the model says {value} for ", plain(target, 80)), ()
    shares = [p for _, p in e.probabilities]
    show = percent if min(shares) >= 0 and max(shares) <= 1 else lambda p: limits.signed(number(p))
    order = np.argsort(-np.array(shares), kind="stable").tolist()
    best = order[0] if shares[order[0]] > shares[own[0]] else own[0]
    rest = [i for i in order if i != best]
    others = [(safe_str(e.probabilities[i][0]), show(shares[i])) for i in rest[:OTHERS]]
    if len(rest) > OTHERS:
        others.append((f"{len(rest) - OTHERS} more", ""))
    if best != own[0]:  # the explanation is of another class than the answer
        others = [("explained here: " + plain(target, 40), show(shares[own[0]]))]
    if show is not percent:
        others.append(("scores (logits), no probabilities", ""))
    name = target if best == own[0] else e.probabilities[best][0]
    return ("the model says ", plain(name, 80), f", {show(shares[best])}"), tuple(others)


def judged(e: Explanation, limits: blocks.Limits) -> blocks.Judgment:
    """The label, the sentence, the three numbers, and what to try."""
    none = e.verdict.label == "none"
    return verdict_words(e.verdict, () if none else three_numbers(e, limits), _none_word(e) if none else "")


def _none_word(e: Explanation) -> str:
    return "not found" if e.verdict.sentence.startswith("No change") else ""


def three_numbers(e: Explanation, limits: blocks.Limits) -> tuple[tuple[str, str], ...]:
    """How faithful the local model is, how it adds up, and whether the same top comes again."""
    unknown = "not measured"
    faithful = percent(max(e.fidelity, 0.0)) if math.isfinite(e.fidelity) else unknown
    adds = f"{limits.signed(rounded(e.local_prediction))} of {limits.signed(rounded(e.prediction))}"
    adds = adds if math.isfinite(e.local_prediction + e.prediction) else unknown
    stable = percent(e.top_probability) if math.isfinite(e.top_probability) else unknown
    return ("faithful", faithful), ("adds up", adds), ("stable", stable)


def verdict_words(v: Verdict, numbers: tuple[tuple[str, str], ...] = (), word: str = "") -> blocks.Judgment:
    """A verdict of any kind."""
    return blocks.Judgment(v.label, v.sentence, numbers, v.advice, word)


# ---- bars


def bars_of(e: Explanation, chosen: Sequence[int], limits: blocks.Limits, marks: Marks | None) -> blocks.Bars:
    """Features, and pairs of them, as bars on one axis."""
    own = [j for j in chosen if j < len(e.parts)]
    pairs = [e.pairs[j - len(e.parts)] for j in chosen if j >= len(e.parts)]
    weights = np.concatenate([e.weights[own], [pair.weight for pair in pairs]])
    ends = np.concatenate([e.intervals[own], *([pair.interval] for pair in pairs)])
    scale = scale_of(weights, ends)
    found = weight_bars(e, own, limits, marks if marks and keyed(e.view) else None, scale)
    lines = dict(zip(own, found.lines, strict=True))
    for j in chosen:
        if j >= len(e.parts):
            lines[j] = _pair_line(e, e.pairs[j - len(e.parts)], limits, scale)
    return replace(found, lines=tuple(lines[j] for j in chosen))


def _pair_line(e: Explanation, pair: Any, limits: blocks.Limits, scale: Scale) -> blocks.BarLine:
    """What two features contribute together."""
    (low, high), show = pair.interval, scale[1]
    names = " × ".join(plain(e.parts[j].column, 60) for j in pair.parts)
    known = math.isfinite(low + high)
    numbers = (
        limits.signed(show(pair.weight)),
        _interval_words(e, low, high, show, limits) if known else "not measured",
    )
    clear = not known or low > 0 or high < 0
    return blocks.BarLine(names, pair.weight, numbers, "together", (low, high) if known else None, clear=clear)


def _interval_words(weighed: Weighed, low: float, high: float, show: Any, limits: blocks.Limits) -> str:
    """An interval, as factors of the odds where weights are logarithms of them."""
    if isinstance(weighed, Explanation) and weighed.scale == LOG_ODDS:
        return f"×{factor(low)} to ×{factor(high)}"
    return limits.ends(show, low, high)


def weight_bars(
    e: Weighed,
    chosen: Sequence[int],
    limits: blocks.Limits,
    marks: Marks | None = None,
    scale: Scale | None = None,
) -> blocks.Bars:
    """The chosen features as bars with whiskers; several tables can share a scale."""
    span, show = scale or scale_of(e.weights[list(chosen)], e.intervals[list(chosen)])
    known, lines = measured(e), []
    clear = e.clear if isinstance(e, Explanation) else np.ones(len(e.parts), bool)
    sparks = _sparks(e, chosen) if isinstance(e, Explanation) and e.curves else {}
    for j in chosen:
        low, high = (float(end) for end in e.intervals[j])
        interval = _interval_words(e, low, high, show, limits) if known[j] else unknown_words(e, j)
        name, own, rest = part_words(e, j)
        lines.append(
            blocks.BarLine(
                name,
                float(e.weights[j]),
                (limits.signed(show(e.weights[j])), interval),
                rest,
                (low, high) if known[j] else None,
                marks.badge(j) if marks else None,
                own=own,
                clear=bool(clear[j]) or not known[j],
                part=j,
                spark=sparks.get(j),
            )
        )
    odds = isinstance(e, Explanation) and e.scale == LOG_ODDS
    return blocks.Bars(ODDS if odds else HEADS, tuple(lines), span)


def scale_of(weights: Floats, intervals: Floats) -> Scale:
    """The axis of bars, and how to write numbers on it."""
    ends = [(low, high) for low, high in intervals if math.isfinite(low) and math.isfinite(high)]
    return blocks.span_of(weights.tolist(), ends), decimals(weights)


def _sparks(e: Explanation, chosen: Sequence[int]) -> dict[int, blocks.ValueCurve]:
    """The curves of the chosen features, all on one scale."""
    curves = [curve for curve in e.curves if curve.part in set(chosen) and len(curve.values) > 1]
    every = [x for curve in curves for x in curve.effects.tolist() if math.isfinite(x)]
    low, high = min([*every, 0.0]), max([*every, 0.0])
    reach = (high - low) or 1.0

    def height(effect: float) -> float:
        return float(min(max((effect - low) / reach, 0.0), 1.0))

    return {curve.part: _spark(e, curve, height) for curve in curves}


def _spark(e: Explanation, curve: FeatureCurve, height: Any) -> blocks.ValueCurve:
    missing = curve.values[-1] is None
    n = len(curve.values) - missing
    values, effects = curve.values[:n], curve.effects[:n]
    own, at = e.values[curve.part] if e.values else None, None
    show = decimals(curve.effects)
    if curve.numeric and len(values) > 1 and isinstance(own, (int, float)) and math.isfinite(own):
        place = float(np.interp(own, np.array(values, dtype=float), np.arange(len(values))))
        at = place / (len(values) - 1), height(float(np.interp(place, np.arange(len(values)), effects)))
    elif own in values:
        place = values.index(own)
        at = (place + 0.5) / len(values), height(float(effects[place]))
    ends = [(values[i], show(float(effects[i])).strip()) for i in (0, -1)]
    told = " to ".join(f"{say} at {plain(value, 30)}" for value, say in ends)
    words = f"effect of {plain(e.parts[curve.part].column, 60)} at other values: {told}"
    return blocks.ValueCurve(tuple(height(float(x)) for x in effects), height(0.0), at, curve.numeric, words)


def waterfall(e: Explanation, most: int) -> blocks.Waterfall:
    """From the base value, feature by feature, to what the local model says."""
    if why := why_no_sum(e):
        raise InputError(f"a waterfall needs weights that add up to the prediction: {why}")
    heavy, others = split(e, most)
    chosen = sorted([*heavy, *others], key=lambda j: -abs(_weight(e, j)))[:most]
    rest = [j for j in (*heavy, *others) if j not in set(chosen)]
    steps = [(*_step_words(e, j), _weight(e, j)) for j in chosen]
    if rest:
        steps.append((f"{count(len(rest), 'smaller feature')}", "", sum(_weight(e, j) for j in rest)))
    at, lines = e.intercept, [blocks.WaterfallLine("average here", "", 0.0, e.intercept, True)]
    for name, own, weight in steps:
        lines.append(blocks.WaterfallLine(name, own, at, at + weight))
        at += weight
    lines.append(blocks.WaterfallLine("local model", "", 0.0, at, True))
    low = min(min(line.start, line.stop) for line in lines[1:-1]) if steps else 0.0
    if low > 0:  # sums are drawn from where the steps begin, so that these can be seen
        high = max(max(line.start, line.stop) for line in lines)
        lines = [
            replace(line, start=max(low - (high - low) * 0.15, 0.0)) if line.total else line for line in lines
        ]
    return blocks.Waterfall(tuple(lines), "log-odds" if e.scale == LOG_ODDS else "output")


def _weight(e: Explanation, j: int) -> float:
    """The weight of a feature, or of a pair, which are numbered after them."""
    return float(e.weights[j] if j < len(e.parts) else e.pairs[j - len(e.parts)].weight)


def _step_words(e: Explanation, j: int) -> tuple[str, str]:
    if j < len(e.parts):
        return part_words(e, j)[:2]
    return " × ".join(plain(e.parts[i].column, 60) for i in e.pairs[j - len(e.parts)].parts), ""


def _sums(e: Explanation) -> tuple[blocks.Block, ...]:
    """From the base value to what the local model says, where weights add up to it."""
    if not np.isfinite([e.intercept, *np.nan_to_num(e.weights, posinf=np.inf)]).all() or why_no_sum(e):
        return ()
    base = float(expit(e.intercept)) if e.scale == LOG_ODDS else e.intercept
    shown = f"average here {rounded(base)} → {rounded(e.local_prediction)} with all features"
    return (blocks.Text((shown.replace("-", "−"),), "sum"),)


def _signs(bars: blocks.Bars) -> blocks.Legend:
    """What the signs of the bars mean."""
    pale = ("pale: may be zero",) if not all(line.clear for line in bars.lines) else ()
    curves = any(line.spark for line in bars.lines)
    return blocks.Legend(("right", "left", "whisker", *(["curve"] if curves else [])), pale)


# ---- what an explanation rests on


def _folded(
    e: Explanation, heavy: Sequence[int], others: Sequence[int], limits: blocks.Limits
) -> tuple[blocks.Block, ...]:
    """The other features, and what the numbers rest on, where one can open them."""
    if not limits.folds:
        return (blocks.Facts((), evidence(e)),) if heavy or others else ()
    found = list[blocks.Block]()
    if others:
        drawn, told = others[:FOLDED], _asides(e)
        more = (
            [f"And {count(len(others) - len(drawn), 'smaller feature')}, not drawn."]
            if len(others) > FOLDED
            else []
        )
        shown = (bars_of(e, drawn, limits, None), blocks.Notes((), (*more, *told)))
        found.append(blocks.Details((sentence(_rest_words(e, others)),), "", shown, kind="folded"))
    elif told := _asides(e):
        found.append(blocks.Notes((), told))
    if heavy and _sums(e):
        found.append(
            blocks.Details(("From base to prediction",), "", (waterfall(e, limits.parts),), kind="folded")
        )
    facts = blocks.Facts(_facts(e))
    recipe = blocks.Text(("", json.dumps(to_plain(e.recipe), ensure_ascii=False)[:MOST_RECIPE]), "recipe")
    inner: tuple[blocks.Block, ...] = (facts, recipe) if e.recipe else (facts,)
    found.append(blocks.Details(("How this was made",), _cost(e), inner, kind="folded"))
    return tuple(found)


def _cost(e: Explanation) -> str:
    if not e.n_calls:
        return "weights as they were given, without calls of the model"
    return f"{count(e.n_calls, 'model call')}, effective sample {e.effective_size:,.0f}"


def _facts(e: Explanation) -> tuple[blocks.Fact, ...]:
    """The three numbers and what they cost, each with what it means."""
    k = top_count(e)
    known = math.isfinite(e.fidelity)
    local = "what the local model says, of what the model says"
    return (
        (
            "Faithful",
            percent(e.fidelity) if e.fidelity > 0 else "none" if known else "unknown",
            fidelity_words(e.fidelity),
        ),
        ("Adds up", f"{rounded(e.local_prediction)} of {rounded(e.prediction)}".replace("-", "−"), local),
        (
            "Stable",
            percent(e.top_probability),
            f"probability that {f'the top {k} are' if k > 1 else 'the first is'} right",
        ),
        ("Effective sample", f"{e.effective_size:,.0f}", "samples, once weighted by proximity"),
        ("Model calls", f"{e.n_calls:,}", "inputs the model was asked about"),
        ("Question", e.purpose, e.question),
    )


def _rest_words(e: Explanation, others: Sequence[int]) -> str:
    """How many features are not among the bars, and why."""
    told, _ = split(e, len(e.parts) + len(e.pairs))
    smaller = len(set(told) & set(others))
    unclear = len(others) - smaller
    words = [f"{smaller:,} smaller"] if smaller else []
    words += [f"{unclear:,} that may be zero"] if unclear else []
    pairs = f" and {count(len(e.pairs), 'pair')}" if e.pairs else ""
    return f"{' and '.join(words)} of {count(len(e.parts), 'feature')}{pairs}"


def _left_out(e: Explanation, others: Sequence[int]) -> tuple[str, ...]:
    """What is not drawn, not settled and not measured, where nothing can be opened."""
    more = (f"And {_rest_words(e, others)}, not drawn.",) if others and split(e, 1)[0] else ()
    return *more, *_asides(e)


def _asides(e: Explanation) -> tuple[str, ...]:
    """Features that are tied, and those that were not measured."""
    unknown = dict[str, list[str]]()
    for j, known in enumerate(measured(e)):
        if not known:
            unknown.setdefault(unknown_words(e, j), []).append(e.parts[j].name)
    columns = {part.name: part.column for part in e.parts}
    alone = len(set(columns.values())) == len(e.parts)
    groups = [[columns.get(name, name) if alone else name for name in group] for group in e.unsettled[:3]]
    ties = "; ".join(listing(group, " ~ ") for group in groups)
    unmeasured = "; ".join(f"{why}: {listing(names)}" for why, names in sorted(unknown.items()))
    return *([f"Tied: {ties}"] if ties else []), *([sentence(unmeasured)] if unmeasured else [])


def evidence(e: Explanation) -> tuple[str, ...]:
    """What the explanation rests on, one fact per line."""
    return (_cost(e),)


def top_count(e: Explanation) -> int:
    """How many parts the top has: fewer than were measured, for the top of all of them is always right."""
    moved = (np.nan_to_num(e.weights) != 0) | (e.intervals[:, 1] > e.intervals[:, 0])
    known = int(np.sum(np.array(measured(e), dtype=bool) & moved))
    return max(min(e.top_k, known - 1), 1)


def fidelity_facts(fidelity: float, explained: str) -> tuple[str, str]:
    """Fidelity as a number, and what it is a share of."""
    if fidelity > 0:
        return percent(fidelity), explained
    return "none" if fidelity <= 0 else "unknown", fidelity_words(fidelity)


def fidelity_words(fidelity: float) -> str:
    """Fidelity as a sentence without a subject."""
    if not math.isfinite(fidelity):
        return "how well it agrees with the model was not measured"
    if fidelity <= 0:
        return f"explains nothing of what the model does here (held-out R² {fidelity:.2f})"
    return f"explains {percent(fidelity)} of what the model does here (held-out R²)"


def target_of(e: Explanation) -> Any:
    """The target as it is shown."""
    return shown_class(e.target, e.recipe.get("classes"))


def top_names(e: Explanation) -> str:
    """The heaviest three parts in a line."""
    return ", ".join(plain(name, 30) for name, _ in e.top(3)) or "no feature has any weight"


def verdict_advice(verdicts: Sequence[Verdict]) -> str:
    """What is told to try most often, where explanations are not reliable."""
    told = Counter(v.advice for v in verdicts if v.advice and v.outcome == "failed")
    return told.most_common(1)[0][0] if told else ""
