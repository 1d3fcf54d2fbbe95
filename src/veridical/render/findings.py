"""Verdicts of checks and whole audits as markup."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from veridical.debug.audit import OUTCOMES, Audit, Result
from veridical.records import Explanation, Verdict
from veridical.render.audits import HEADS, alike, by_outcome, facts_of, headline, overall, question_of, said_of
from veridical.render.markup import NONE, SPACE, Markup, escape, join, minus, spaced, tag
from veridical.render.tables import Span, facts, notes
from veridical.render.verdicts import (
    MARKS,
    MOST_LINES,
    NULLS,
    OBSERVED,
    RANGE,
    WORDS,
    Line,
    about,
    brief,
    lines_of,
    nulls_of,
    outcome_of,
    rows_words,
    span_words,
)
from veridical.render.words import count, first, listing, plain, target_of

Draw: TypeAlias = Callable[[Explanation, bool], str]  # an explanation, and whether with its picture

COLORS = {"passed": "yes", "failed": "no", "error": "no", "skipped": "none"}
MOST_NOTES = 12
MOST_EVIDENCE, MOST_VIEWS = 6, 3  # explanations shown, and of them with their picture; one where all is well
MOST_OPEN = 8  # results that stand open
MOST_RESULTS = 200
KEY = (f"● value, ─ {RANGE}", "┊ expected", f"│ gray: {NULLS}")


def verdict(v: Verdict, draw: Draw) -> Markup:
    """What a check found."""
    title = tag("h3", {}, tag("bdi", {}, escape(about(v), 170)))
    asks = question_of(v.check)
    said = [title, *([tag("span", {}, escape(asks, 200))] if asks else [])]
    box = _box(outcome_of(v), WORDS[outcome_of(v)], v.sentence)
    return tag("div", {"class": "vd-check"}, tag("div", {"class": "vd-say"}, *spaced(*said)), box, _body(v, draw))


def audit(a: Audit, draw: Draw) -> Markup:
    """The outcome of all checks, one line each, and what each rests on to be opened."""
    outcome = overall(a)
    return tag(
        "div",
        {"class": "vd-check"},
        tag("div", {"class": "vd-say"}, tag("h3", {}, tag("bdi", {}, escape(headline(a), 200)))),
        _box(outcome, "Not checked" if outcome == "skipped" else WORDS[outcome], a.sentence),
        facts(facts_of(a)),
        notes(first(a.notes, MOST_NOTES)),
        _overview(a),
        *(_group(outcome, some, draw) for outcome, some in by_outcome(a)),
    )


def _box(outcome: str, words: str, sentence: str) -> Markup:
    """The outcome with a mark and a word beside its color."""
    badge = tag("span", {"class": "vd-mark", "aria-hidden": "true"}, escape(MARKS[outcome]))
    said = tag("p", {}, tag("strong", {}, escape(words)), SPACE, escape(sentence, 1000))
    return tag("div", {"class": f"vd-verdict vd-{COLORS[outcome]}"}, badge, said)


def _overview(a: Audit) -> Markup:
    """A line a check, a column a method."""
    checks = list(dict.fromkeys(r.check for r in a.results))[:MOST_RESULTS]
    methods = list(dict.fromkeys(r.method for r in a.results))
    if not checks:
        return NONE
    found = {(r.check, r.method): r for r in a.results}
    heads = [tag("th", {"scope": "col"}, escape("Check"))]
    heads += [tag("th", {"scope": "col"}, tag("bdi", {}, escape(m or "Outcome", 60))) for m in methods]
    rows = []
    for check in checks:
        asks = question_of(check)
        name = tag("b", {}, tag("bdi", {}, escape(check, 60)))
        first = tag("th", {"scope": "row"}, name, SPACE, tag("small", {}, escape(asks, 200)) if asks else NONE)
        rows.append(tag("tr", {}, first, *(_cell(found.get((check, m))) for m in methods)))
    drawn = tag(
        "table", {"class": "vd-outcomes"}, tag("thead", {}, tag("tr", {}, *heads)), tag("tbody", {}, *rows)
    )
    return _scrolling("Outcomes", drawn)


def _cell(r: Result | None) -> Markup:
    if r is None:
        return tag("td", {})
    return tag("td", {"class": f"vd-{COLORS[r.outcome]}"}, _badge(r.outcome), SPACE, escape(WORDS[r.outcome]))


def _badge(outcome: str) -> Markup:
    return tag("span", {"class": "vd-mark", "aria-hidden": "true"}, escape(MARKS[outcome]))


def _scrolling(label: str, inner: Markup) -> Markup:
    """A wide table scrolls inside it, by keyboard too."""
    return tag("div", {"class": "vd-box", "role": "group", "aria-label": label, "tabindex": 0}, inner)


def _group(outcome: str, some: Sequence[Result], draw: Draw) -> Markup:
    every, opened = alike(some), outcome in OUTCOMES[:2]
    shown, left = every[:MOST_RESULTS], len(every) - MOST_RESULTS
    rows = [_result(several, draw, opened and i < MOST_OPEN) for i, several in enumerate(shown)]
    more = tag("p", {"class": "vd-key"}, escape(f"And {count(left, 'more result')}.")) if left > 0 else NONE
    return tag("section", {"class": "vd-family"}, tag("h4", {}, escape(HEADS[outcome])), *rows, more)


def _result(several: Sequence[Result], draw: Draw, opened: bool) -> Markup:
    """One line, to be opened where there is more to see; it may say the same of several methods."""
    r, methods = several[0], listing([each.method for each in several if each.method])
    method = [tag("span", {}, escape(" by "), tag("bdi", {}, escape(methods, 200)))] if methods else []
    name = tag("span", {"class": "vd-name"}, tag("b", {}, tag("bdi", {}, escape(r.check, 80))), *method)
    said = tag("span", {"class": "vd-said"}, tag("bdi", {}, escape(said_of(r), 1000)))
    told = {"class": "vd-mark", "role": "img", "aria-label": WORDS[r.outcome]}
    head = (tag("span", told, escape(MARKS[r.outcome])), SPACE, name, SPACE, said)
    kind = f"vd-{COLORS[r.outcome]}"
    if r.verdict is None:
        return tag("div", {"class": f"vd-line {kind}"}, *head)
    views, inner = MOST_VIEWS if r.outcome == "failed" else 1, list[Markup]()
    for each in several:
        by = tag("p", {"class": "vd-aside"}, escape("By "), tag("bdi", {}, escape(each.method, 80)))
        inner += [by] if len(several) > 1 else []
        inner += [_body(each.verdict, draw, views)] if each.verdict is not None else []
    extra = {"open": ""} if opened else {}
    return tag("details", extra, tag("summary", {"class": f"vd-line {kind}"}, *head), tag("div", {}, *inner))


def _body(v: Verdict, draw: Draw, views: int = MOST_VIEWS) -> Markup:
    """Numbers beside their null rows, then rows, notes and explanations."""
    every = lines_of(v)
    shown, left = every[:MOST_LINES], len(every) - MOST_LINES
    rows = rows_words(v)
    lines = [f"And {count(left, 'more line')}, not drawn."] if left > 0 else []
    lines += [f"{rows} of the data{', the worst first' if len(v.rows) > 1 else ''}."] if rows else []
    return join(_table(shown, v.expected), notes([*lines, *first(v.notes, MOST_NOTES)]), _evidence(v, draw, views))


def _table(lines: Sequence[Line], expected: float) -> Markup:
    """A row a measure; what knowing nothing gets stands in gray at the right."""
    nulls, span = nulls_of(lines), _span(lines, expected)
    ranged, counted = any(line.ranged for line in lines), any(line.n for line in lines)
    heads = ["Measure", "Drawn", "Value", *([RANGE] if ranged else []), *(["n"] if counted else [])]
    top = [tag("th", {"scope": "col"}, escape(head)) for head in heads]
    top += [tag("th", {"scope": "col", "class": "vd-null"}, tag("bdi", {}, escape(n, 40))) for n in nulls]
    rows = [_row(line, span, nulls, (ranged, counted), expected) for line in lines]
    above = NONE
    if nulls:
        over = tag(
            "th", {"colspan": len(nulls), "scope": "colgroup", "class": "vd-null"}, escape(f"Null rows: {NULLS}")
        )
        above = tag("tr", {}, tag("td", {"colspan": len(heads)}), over)
    if math.isfinite(expected):
        blank = len(heads) - 3 + len(nulls)
        cells = (
            tag("td", {}, escape(minus(brief(expected)))),
            *([tag("td", {"colspan": blank})] if blank else []),
        )
        rows.insert(1, tag("tr", {}, tag("th", {"scope": "row"}, escape("expected")), tag("td", {}), *cells))
    table = tag(
        "table", {"class": "vd-measures"}, tag("thead", {}, above, tag("tr", {}, *top)), tag("tbody", {}, *rows)
    )
    said = (tag("span", {}, escape(word)) for word in KEY[: 2 + bool(nulls)])
    return join(_scrolling("What was measured", table), tag("p", {"class": "vd-key"}, *said))


def _row(line: Line, span: Span, nulls: Sequence[str], shown: tuple[bool, bool], expected: float) -> Markup:
    value = escape(minus(brief(line.value)))
    first = line.name == OBSERVED
    numbers = [tag("td", {}, tag("strong", {}, value) if first else value)]
    numbers += [tag("td", {}, escape(minus(span_words(line))))] if shown[0] else []
    numbers += [tag("td", {}, escape(f"{line.n:,}" if line.n else ""))] if shown[1] else []
    for name in nulls:
        known = name in line.nulls
        numbers.append(tag("td", {"class": "vd-null"}, escape(minus(brief(line.nulls[name])) if known else "")))
    name = tag("th", {"scope": "row"}, tag("bdi", {}, escape(line.name, 80)))
    drawn = tag("td", {"class": "vd-b"}, _strip(line, span, expected if first else math.nan))
    return tag("tr", {}, name, drawn, *numbers)


def _span(lines: Sequence[Line], expected: float) -> Span:
    """One axis for all, where they are all of one kind; else none that all could share."""
    every = [number for line in lines for number in line.numbers()]
    every += [expected] if math.isfinite(expected) else []
    low, high = min(every, default=0.0), max(every, default=1.0)
    if low >= -1.0 and high <= 1.0:
        return (-1.0 if low < -0.25 else min(low, 0.0)), 1.0
    return math.nan, math.nan


def _strip(line: Line, span: Span, expected: float) -> Markup:
    """A dot with its interval, and a gray stroke for every null row, on the scale of the table or its own."""
    if not math.isfinite(line.value):
        return NONE
    own = [*line.numbers(), *([expected] if math.isfinite(expected) else [])]
    low, high = span if math.isfinite(span[0]) else (min(0.0, *own), max(0.0, *own))

    def at(value: float) -> float:
        share = (value / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)  # halves cannot overflow
        return round(3 + 94 * min(max(share, 0.0), 1.0), 1)

    known = [value for value in line.nulls.values() if math.isfinite(value)]
    shapes = [tag("path", {"class": "vd-axis", "d": f"M{at(0.0)} 0V16"})] if low <= 0 <= high else []
    shapes += [tag("path", {"class": "vd-nothing", "d": f"M{at(value)} 2V14"}) for value in known]
    if line.ranged:
        shapes.append(tag("path", {"class": "vd-whisk", "d": f"M{at(line.low)} 8H{at(line.high)}"}))
    if math.isfinite(expected):
        shapes.append(tag("path", {"class": "vd-want", "d": f"M{at(expected)} 0V16"}))
    shapes.append(tag("path", {"class": "vd-dot", "d": f"M{at(line.value)} 8h.01"}))
    box = {"aria-hidden": "true", "viewBox": "0 0 100 16", "preserveAspectRatio": "none"}
    return tag("svg", box, *shapes)


def _evidence(v: Verdict, draw: Draw, views: int) -> Markup:
    """The explanations themselves, for those who ask."""
    if not v.evidence:
        return NONE
    shown, left = v.evidence[:MOST_EVIDENCE], len(v.evidence) - MOST_EVIDENCE
    items = []
    for i, e in enumerate(shown):
        top = ", ".join(plain(name, 30) for name, _ in e.top(3)) or "no part has any weight"
        head = join(
            escape(f"Explanation {i + 1}"), tag("small", {}, escape(f"target {plain(target_of(e), 40)}: {top}"))
        )
        inner = Markup(draw(e, i < views))
        items.append(tag("details", {}, tag("summary", {}, head), tag("div", {}, inner)))
    more = tag("p", {"class": "vd-key"}, escape(f"And {left:,} more, not drawn.")) if left > 0 else NONE
    title = tag("summary", {}, escape(f"Evidence: {count(len(v.evidence), 'explanation')}"))
    return tag("details", {"class": "vd-evidence"}, title, tag("div", {}, *items, more))
