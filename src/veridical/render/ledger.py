"""A report as markup: a table a family, methods first and null rows below them in gray."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from veridical.evaluate.records import EASY, Comparison, Report
from veridical.render.flips import Draw, chart, examples
from veridical.render.markup import NONE, SPACE, Markup, escape, minus, spaced, tag
from veridical.render.reports import (
    BEST,
    LEVEL,
    RANGE,
    REFERENCES,
    Cell,
    Column,
    Sheet,
    facts_of,
    headline,
    p_words,
    sheets_of,
)
from veridical.render.tables import Span, facts, notes
from veridical.render.words import count, first, plain

MOST_NOTES = 12
MOST_PAIRS = 60  # differences drawn of one family
NULLS = "Null rows: what explanations that know nothing of the model get"
PAIRS = ("Metric", "First", "Second", "First − second", "95 % interval", "p, adjusted")

Scale: TypeAlias = tuple[Span, float]  # of a column: its ends, and where the best null row is


def ledger(report: Report, draw: Draw) -> Markup:
    """What was compared and found, then every family: sentences, curves, table, and what its metrics measure."""
    r, sheets = report, sheets_of(report)
    return tag(
        "div",
        {"class": "vd-report"},
        tag("div", {"class": "vd-say"}, tag("h3", {}, tag("bdi", {}, escape(headline(r), 300)))),
        facts(facts_of(r)),
        _findings(r),
        notes(first(r.notes, MOST_NOTES)),
        *(_family(sheet, r) for sheet in sheets),
        _key(sheets),
        examples(r, draw),
    )


def _findings(r: Report) -> Markup:
    """What it comes to, a line a method."""
    lines = [_saying(m, s) for m, s in zip(r.methods, r.findings, strict=False)]
    return tag("ul", {"class": "vd-says vd-found"}, *lines) if lines else NONE


def _family(sheet: Sheet, r: Report) -> Markup:
    told = [_saying(c.metric.name, s) for c, s in zip(sheet.columns, sheet.sentences, strict=True)]
    says = tag("ul", {"class": "vd-says"}, *told)
    title = tag("summary", {}, escape("What the numbers say, one by one"))
    return tag(
        "section",
        {"class": "vd-family"},
        tag("h4", {}, tag("bdi", {}, escape(sheet.family[:1].upper() + sheet.family[1:], 60))),
        chart(r, sheet.family) if r.findings else says,
        _table(sheet),
        _footnotes(sheet),
        tag("details", {}, title, says) if r.findings else NONE,
        _measures(sheet),
        _differences(sheet, r.comparisons),
    )


def _saying(metric: str, sentence: str) -> Markup:
    """What the numbers say, the name of the metric in bold."""
    rest = sentence.removeprefix(metric)
    if rest == sentence:
        return tag("li", {}, tag("bdi", {}, escape(sentence, 800)))
    return tag("li", {}, tag("b", {}, tag("bdi", {}, escape(metric, 60))), tag("bdi", {}, escape(rest, 800)))


def _table(sheet: Sheet) -> Markup:
    heads = [tag("th", {"scope": "col"}, escape("Method")), *(_head(c) for c in sheet.columns)]
    scales = [_scale(c, sheet.n_methods) for c in sheet.columns]
    rows = [_row(sheet, i, scales) for i in range(len(sheet.rows))]
    known, nulls = rows[sheet.n_methods : sheet.n_real], rows[sheet.n_real :]
    drawn = tag(
        "table",
        {"class": "vd-scores", "style": f"--n:{len(sheet.columns)}"},
        tag("thead", {}, tag("tr", {}, *heads)),
        tag("tbody", {}, *rows[: sheet.n_methods]),
        tag("tbody", {}, _over(REFERENCES[:1].upper() + REFERENCES[1:], len(heads)), *known) if known else NONE,
        tag("tbody", {"class": "vd-null"}, _over(NULLS, len(heads)), *nulls) if nulls else NONE,
    )
    return _box(f"Scores: {plain(sheet.family, 60)}", drawn)


def _over(words: str, n: int) -> Markup:
    """A line that heads some rows."""
    wide = {"scope": "rowgroup", "colspan": n}
    return tag("tr", {"class": "vd-over"}, tag("th", wide, tag("span", {}, escape(words))))


def _box(label: str, inner: Markup) -> Markup:
    """A wide table scrolls inside it, by keyboard too."""
    return tag("div", {"class": "vd-box", "role": "group", "aria-label": label, "tabindex": 0}, inner)


def _head(c: Column) -> Markup:
    arrow = {"role": "img", "aria-label": f"{plain(c.metric.better, 20)} is better"}
    shown = tag("span", arrow, escape(c.arrow)) if c.arrow else NONE
    return tag("th", {"scope": "col"}, tag("bdi", {}, escape(c.title, 60)), SPACE, shown)


def _row(sheet: Sheet, i: int, scales: Sequence[Scale]) -> Markup:
    name = tag("th", {"scope": "row"}, tag("bdi", {}, escape(sheet.rows[i], 60)))
    numbers = (_cell(c, c.cells[i], scale) for c, scale in zip(sheet.columns, scales, strict=True))
    return tag("tr", {}, name, *numbers)


def _cell(c: Column, cell: Cell, scale: Scale) -> Markup:
    """Mean, marks and footnote; the interval below; a dot on the scale of the column below that."""
    number = escape(minus(c.show(cell.score.mean)) if cell.known else "–")
    shown = tag("strong", {}, number) if cell.best else tag("span", {}, number)
    foot = [tag("sup", {}, escape(cell.note))] if cell.note else []
    ends = interval_words(c, cell.score.low, cell.score.high) if cell.ranged else ""
    drawn = _dot(cell, scale) if cell.known and not cell.score.null else NONE
    marks = tag("i", {}, *_marks(cell), *foot)
    return tag("td", {}, shown, SPACE, marks, SPACE, tag("small", {}, escape(ends)), drawn)


def interval_words(c: Column, low: float, high: float) -> str:
    """From where to where, as a column writes its numbers."""
    return minus(f"{c.show(low)} to {c.show(high)}")


def _marks(cell: Cell) -> list[Markup]:
    best = tag("span", {"role": "img", "aria-label": "among the best"}, escape("★"))
    level = tag("span", {"role": "img", "aria-label": LEVEL}, escape("≈"))
    return [*([best] if cell.best else []), *([level] if cell.level else [])]


def _scale(c: Column, n_methods: int) -> Scale:
    """It holds all means, and intervals that are not absurdly long; and the best null row that means something."""
    means = [k.score.mean for k in c.cells if k.known]
    low, high = min(means, default=0.0), max(means, default=1.0)
    reach = (high - low) or abs(high) or 1.0
    ends = [
        e for k in c.cells if k.ranged for e in (k.score.low, k.score.high) if low - reach <= e <= high + reach
    ]
    easy, best = EASY.get(c.metric.family, ()), min if c.metric.better == "lower" else max
    known = [k.score for k in c.cells[n_methods:] if k.known and k.score.null]
    nulls = [score.mean for score in known if score.method.partition(" ")[0] not in easy]
    return (min([low, *ends]), max([high, *ends])), best(nulls, default=math.nan)


def _dot(cell: Cell, scale: Scale) -> Markup:
    """The mean as a dot, the interval as a line; the cell says both in words, so readers of the screen skip it."""
    (low, high), null = scale

    def at(value: float) -> float:
        share = (value / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)  # halves cannot overflow
        return round(4 + 92 * min(max(share, 0.0), 1.0), 1)

    shapes = [tag("path", {"class": "vd-best-null", "d": f"M{at(null)} 0V12"})] if math.isfinite(null) else []
    if cell.ranged:
        shapes.append(tag("path", {"class": "vd-whisk", "d": f"M{at(cell.score.low)} 6H{at(cell.score.high)}"}))
    shapes.append(tag("path", {"class": "vd-dot", "d": f"M{at(cell.score.mean)} 6h.01"}))
    box = {"aria-hidden": "true", "viewBox": "0 0 100 12", "preserveAspectRatio": "none"}
    return tag("svg", box, *shapes)


def _footnotes(sheet: Sheet) -> Markup:
    lines = [tag("li", {}, tag("sup", {}, escape(i)), escape(f" {n}", 400)) for i, n in enumerate(sheet.notes, 1)]
    return tag("ul", {"class": "vd-foots"}, *lines) if lines else NONE


def _measures(sheet: Sheet) -> Markup:
    """What each metric is, for those who ask."""
    told = [
        tag(
            "li",
            {},
            tag("b", {}, tag("bdi", {}, escape(c.metric.name, 60))),
            escape(f" ({c.metric.better} is better): "),
            tag("bdi", {}, escape(c.metric.sentence, 500)),
        )
        for c in sheet.columns
    ]
    return tag("details", {}, tag("summary", {}, escape("What these metrics measure")), tag("ul", {}, *told))


def _differences(sheet: Sheet, comparisons: Sequence[Comparison]) -> Markup:
    """Methods against one another, instance by instance."""
    columns, methods = {c.metric.name: c for c in sheet.columns}, set(sheet.rows[: sheet.n_methods])
    pairs = [c for c in comparisons if c.metric in columns and {c.first, c.second} <= methods]
    if not pairs:
        return NONE
    rows = [_difference(c, columns[c.metric]) for c in pairs[:MOST_PAIRS]]
    heads = (tag("th", {"scope": "col"}, escape(head)) for head in PAIRS)
    drawn = tag(
        "table", {"class": "vd-scores vd-pairs"}, tag("thead", {}, tag("tr", {}, *heads)), tag("tbody", {}, *rows)
    )
    left = len(pairs) - len(rows)
    more = tag("p", {"class": "vd-key"}, escape(f"And {count(left, 'more pair')}, not drawn.")) if left else NONE
    title = tag("summary", {}, escape("Differences between methods, on the same instances"))
    return tag("details", {}, title, _box("Differences between methods", drawn), more)


def _difference(pair: Comparison, c: Column) -> Markup:
    known = math.isfinite(pair.difference)
    ranged = math.isfinite(pair.low) and math.isfinite(pair.high)
    numbers = (
        minus(c.show(pair.difference)) if known else "–",
        interval_words(c, pair.low, pair.high) if ranged else "–",
        p_words(pair.p),
    )
    names = (tag("td", {"class": "vd-name"}, tag("bdi", {}, escape(n, 60))) for n in (pair.first, pair.second))
    metric = tag("th", {"scope": "row"}, tag("bdi", {}, escape(pair.metric, 60)))
    told = (tag("strong", {}, escape(n)) if pair.p < 0.05 else escape(n) for n in numbers)
    return tag("tr", {}, metric, *names, *(tag("td", {}, n) for n in told))


def _key(sheets: Sequence[Sheet]) -> Markup:
    """What the signs mean, of those that are there."""
    every = [cell for sheet in sheets for c in sheet.columns for cell in c.cells]
    arrows = {c.arrow: f"{c.arrow} {plain(c.metric.better, 20)} is better" for s in sheets for c in s.columns}
    said = list(arrows.values())
    said += [f"● mean, ─ {RANGE}, each column on its own scale"] if any(c.ranged for c in every) else []
    said += (
        ["thin upright line: the best mean of a null row"] if any(c.known and c.score.null for c in every) else []
    )
    said += [f"★ {BEST}"] if any(c.best for c in every) else []
    said += [f"≈ {LEVEL}"] if any(c.level for c in every) else []
    words = (tag("span", {}, escape(word, 200)) for word in said)
    return tag("p", {"class": "vd-key"}, *spaced(*words)) if said else NONE
