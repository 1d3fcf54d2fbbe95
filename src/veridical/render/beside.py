"""Two explanations side by side as markup: both instances, both weights of each part, and the difference."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from veridical.evaluate.differences import Difference, Side
from veridical.records import Explanation
from veridical.render.differences import (
    KEY,
    LARGER,
    MARKS,
    UNMEASURED,
    absent_words,
    changed,
    changed_label,
    formats,
    letters_of,
    mark_of,
    marked,
    ordered,
    side_words,
    sides,
    verdict_words,
)
from veridical.render.markup import NONE, Markup, escape, join, minus, tag
from veridical.render.tables import EFFECT, Span, bar, judgment, legend, notes
from veridical.render.views import drawing
from veridical.render.words import NOT_TESTED, count, decimals, plain, sentence

MOST_PARTS, MOST_LISTED, MOST_ROWS, MOST_NOTES = 20, 6, 6, 8


def beside(difference: Difference, most: int = MOST_PARTS) -> Markup:
    """The verdict, both sides, a table of bars, and of many rows those that changed most."""
    d, chosen = difference, ordered(difference, most)
    first, second = (tag("bdi", {}, escape(title, 80)) for title in d.titles)
    said = tag("div", {"class": "vd-say"}, tag("h3", {}, first, escape(" and "), second))
    return tag(
        "div",
        {"class": "vd-difference"},
        said,
        judgment(d.verdict, sentence(verdict_words(d))),
        tag("div", {"class": "vd-sides"}, *(_side(d, title, side, chosen) for title, side in sides(d))),
        _table(d, chosen) if chosen else tag("p", {}, escape("No part has any weight.")),
        notes(notes_of(d, chosen)),
        _rows(d),
    )


def _side(d: Difference, title: str, side: Side, chosen: list[int]) -> Markup:
    """What one side says, with its instance."""
    head = tag("h4", {}, tag("bdi", {}, escape(title, 80)))
    lines = [tag("p", {}, escape(sentence(words), 900)) for words in side_words(side)]
    view = side.view if isinstance(side, Explanation) else None
    seen = drawing(view, marked(d, side, chosen)) if view is not None and isinstance(side, Explanation) else NONE
    return tag("article", {"class": "vd-side"}, head, *lines, seen)


def _table(d: Difference, chosen: list[int]) -> Markup:
    """A line a part: both bars, both weights, the difference with its interval."""
    show = decimals(formats(d, chosen))
    first, second = (plain(title, 24) for title in d.titles)
    spans = span_of(np.nan_to_num(d.weights[chosen]), None), span_of(d.difference[chosen], d.intervals[chosen])
    heads = (
        "Part",
        "Effect on the output",
        "Weights",
        f"{second} less {first}",
        "95 % interval",
    )
    classes = ("", "", "vd-w", "vd-apart", "vd-i")
    titles = [
        tag("th", {"scope": "col", **({"class": c} if c else {})}, escape(head))
        for head, c in zip(heads, classes, strict=True)
    ]
    keys = {j: tag("span", {"class": "vd-badge vd-neutral"}, escape(a)) for j, a in letters_of(d, chosen).items()}
    rows = [_row(d, j, spans, show, keys.get(j, NONE)) for j in chosen]
    columns = (tag("col", {"class": f"vd-c{c}"}) for c in ("n", "b", "w", "b", "i"))
    drawn = tag(
        "table",
        {},
        tag("colgroup", {}, *columns),
        tag("thead", {}, tag("tr", {}, *titles)),
        tag("tbody", {}, *rows),
    )
    return join(drawn, legend(*EFFECT, f"upper bar: {first}, lower bar: {second}", KEY))


def _row(d: Difference, j: int, spans: tuple[Span, Span], show: Callable[[float], str], key: Markup) -> Markup:
    mark, words = mark_of(d, j), list[str]()
    bars = []
    for weight in d.weights[j]:
        there = bool(np.isfinite(weight))
        words.append(minus(show(weight)).strip() if there else absent_words(d, j))
        bars.append(bar(float(weight) if there else 0.0, None, spans[0]))
    value, (low, high) = float(d.difference[j]), d.intervals[j]
    apart = NOT_TESTED if np.isnan(value) else minus(show(value)).strip()
    known = mark != UNMEASURED
    interval = f"{minus(show(low)).strip()} to {minus(show(high)).strip()}" if known else "not measured"
    drawn = bar(0.0 if np.isnan(value) else value, (float(low), float(high)) if known else None, spans[1])
    sign = tag("b", {"class": "vd-sign", "role": "img", "aria-label": MARKS[mark]}, escape(mark))
    return tag(
        "tr",
        {"class": "vd-larger"} if mark == LARGER else {},
        tag("th", {"scope": "row"}, key, tag("bdi", {}, escape(d.parts[j].name))),
        tag("td", {"class": "vd-b vd-two"}, *bars),
        tag("td", {"class": "vd-w"}, *(tag("div", {}, escape(word)) for word in words)),
        tag("td", {"class": "vd-b vd-apart"}, drawn),
        tag(
            "td", {"class": "vd-i"}, tag("div", {}, sign, escape(f" {apart}")), tag("small", {}, escape(interval))
        ),
    )


def span_of(values: object, intervals: object) -> Span:
    """An axis that holds zero, every bar, and every interval that is not absurdly long."""
    bars = np.nan_to_num(np.asarray(values, dtype=float).ravel())
    limit = 2 * float(np.abs(bars).max(initial=0.0))
    ends = np.asarray([] if intervals is None else intervals, dtype=float).ravel()
    ends = np.clip(ends[~np.isnan(ends)], -limit, limit)
    return float(min(bars.min(initial=0.0), ends.min(initial=0.0))), float(
        max(bars.max(initial=0.0), ends.max(initial=0.0))
    )


def notes_of(d: Difference, chosen: list[int]) -> list[str]:
    left = int((np.nan_to_num(np.abs(d.weights)).max(axis=1, initial=0.0) > 0).sum()) - len(chosen)
    lines = [f"And {count(left, 'more part')}, not drawn."] if left > 0 else []
    more = len(d.notes) - MOST_NOTES
    return [*lines, *d.notes[:MOST_NOTES], *([f"And {count(more, 'more note')}."] if more > 0 else [])]


def _rows(d: Difference) -> Markup:
    """The rows whose explanations are farthest apart, each to be opened."""
    found = changed(d, MOST_ROWS)
    if not found:
        return NONE
    drawn = []
    for row, own in found:
        top = ", ".join(f"{plain(name, 30)} {minus(f'{value:+.3g}')}" for name, value in own.top(2))
        line = tag("summary", {}, escape(f"Row {changed_label(d, row)}"), tag("small", {}, escape(top, 120)))
        drawn.append(tag("details", {}, line, tag("div", {}, beside(own, MOST_LISTED))))
    return join(tag("h4", {}, escape("Rows that changed most")), tag("div", {"class": "vd-list"}, *drawn))
