"""What every page is made of: verdicts, tables of bars, facts, notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from veridical.records import Verdict
from veridical.render.markup import NONE, SPACE, Markup, escape, join, minus, spaced, tag
from veridical.render.words import Weighed, decimals, measured, part_words, unknown_words

Span = tuple[float, float]  # the ends of an axis; zero lies between them
Scale = tuple[Span, Callable[[float], str]]  # an axis, and how to write the numbers on it

COLORS = ("--vd-up", "--vd-down")
LONGEST_BARE = 12  # characters
EFFECT = ("right: raises the output", "left: lowers it")
WHISKER = "├─┤ 95 % interval of the sampling error"


def judgment(verdict: Verdict, words: str = "") -> Markup:
    """The verdict in a box, with a mark and words beside its color."""
    kind, mark, known = ("yes", "✓", "Believe it") if verdict.passed else ("no", "✗", "Read with care")
    said = tag("p", {}, tag("strong", {}, escape(words or known)), SPACE, escape(verdict.sentence, 800))
    badge = tag("span", {"class": "vd-mark", "aria-hidden": "true"}, escape(mark))
    return tag("div", {"class": f"vd-verdict vd-{kind}"}, badge, said)


def weights_table(
    e: Weighed,
    chosen: Sequence[int],
    key: Callable[[int], Markup] = lambda part: NONE,
    scale: Scale | None = None,
) -> Markup:
    """The chosen parts as bars with whiskers; several tables can share a scale."""
    span, show = scale or scale_of(e, chosen)
    known, rows = measured(e), []
    for j in chosen:
        low, high = (minus(show(end)) for end in e.intervals[j])
        weight, interval = minus(show(e.weights[j])), f"{low} to {high}" if known[j] else unknown_words(e, j)
        ends = (float(e.intervals[j, 0]), float(e.intervals[j, 1])) if known[j] else None
        drawn = bar(float(e.weights[j]), ends, span)
        name, rest = part_words(e, j)
        rows.append(row(name, drawn, (weight, interval), key(j), rest))
    return table(("Part", "Effect on the output", "Weight", "95 % interval"), rows)


def scale_of(e: Weighed, chosen: Sequence[int]) -> Scale:
    """The axis holds zero, every bar, and every interval that is not absurdly long; and how to write numbers."""
    weights = [float(e.weights[j]) for j in chosen]
    limit = 2 * max((abs(w) for w in weights), default=0.0)
    ends = [min(max(float(v), -limit), limit) for j in chosen for v in e.intervals[j] if math.isfinite(v)]
    return (min(0.0, *weights, *ends, 0.0), max(0.0, *weights, *ends, 0.0)), decimals(weights)


def table(heads: tuple[str, str, str, str], rows: Sequence[Markup], kind: str = "", over: Markup = NONE) -> Markup:
    """A table whose second column is drawn, so that bars and numbers stay side by side; ``over`` heads that."""
    columns = (tag("col", {"class": name} if name else {}) for name in ("vd-cn", "", "vd-cw", "vd-ci"))
    classes: tuple[dict[str, object], ...] = ({}, {}, {"class": "vd-w"}, {"class": "vd-i"})
    below = (NONE, over, NONE, NONE)
    titles = (
        tag("th", {"scope": "col", **c}, escape(head), more)
        for head, c, more in zip(heads, classes, below, strict=True)
    )
    return tag(
        "table",
        {"class": kind} if kind else {},
        tag("colgroup", {}, *columns),
        tag("thead", {}, tag("tr", {}, *titles)),
        tag("tbody", {}, *rows),
    )


def row(name: str, drawn: Markup, numbers: tuple[str, str], key: Markup = NONE, rest: str = "") -> Markup:
    """One line of a table; ``rest`` stands in gray after the name."""
    gray = join(SPACE, tag("small", {}, escape(f"({rest})", 100))) if rest else NONE
    return tag(
        "tr",
        {},
        tag("th", {"scope": "row"}, key, SPACE if key else NONE, tag("bdi", {}, escape(name), gray)),
        tag("td", {"class": "vd-b"}, drawn),
        tag("td", {"class": "vd-w"}, escape(numbers[0])),
        tag("td", {"class": "vd-i"}, escape(numbers[1])),
    )


def bar(value: float, ends: Span | None, span: Span, kind: str = "") -> Markup:
    """One bar from zero, with a whisker where the interval is finite; its kind is its sign, if none is given.

    The cells beside it say its numbers, so readers of the screen skip it.
    """

    def at(place: float) -> float:
        share = (place - span[0]) / ((span[1] - span[0]) or 1.0)
        return round(400 * min(max(share, 0.0), 1.0), 1)

    left, right = sorted((at(0.0), at(value)))
    box = {"x": f"{left:g}", "y": 8, "width": f"{abs(right - left):.4g}", "height": 16}
    shapes = [tag("rect", {"class": kind or ("vd-up" if value > 0 else "vd-down"), **box})]
    shapes.append(tag("path", {"class": "vd-axis", "d": f"M{at(0.0):g} 0V32"}))
    if ends:
        low, high = at(ends[0]), at(ends[1])
        shapes.append(
            tag("path", {"class": "vd-whisk", "d": f"M{low:g} 16H{high:g}M{low:g} 12V20M{high:g} 12V20"})
        )
    frame = {"aria-hidden": "true", "viewBox": "0 0 400 32", "preserveAspectRatio": "none"}
    return join(tag("svg", frame, *shapes), _bare(value, span))


def _bare(value: float, span: Span) -> Markup:
    """The bar in characters, for previews that take away drawings and styles; elsewhere it is not shown."""
    longest = max(abs(span[0]), abs(span[1])) or 1.0
    length = round(LONGEST_BARE * min(abs(value) / longest, 1.0))
    return tag("i", {"class": "vd-bare", "aria-hidden": "true"}, escape("█" * length)) if length else NONE


def legend(up: str, down: str, *words: str) -> Markup:
    """What the two sides of a bar mean; then more words."""
    swatches = (
        tag("span", {}, tag("i", {"style": f"background:var({color})"}), escape(say))
        for color, say in zip(COLORS, (up, down), strict=True)
    )
    return tag("p", {"class": "vd-key"}, *spaced(*swatches, *(tag("span", {}, escape(say)) for say in words)))


def facts(entries: Sequence[tuple[str, str, str]]) -> Markup:
    """Numbers, each with its name above and what it means below."""
    shown = []
    for name, value, meaning in entries:
        said = tag("dd", {}, escape(value), SPACE, tag("small", {}, escape(meaning)))
        shown.append(tag("div", {}, tag("dt", {}, escape(name)), said))
    return tag("dl", {}, *shown)


def notes(lines: Sequence[str], *more: Markup) -> Markup:
    """What a reader should know besides, one thing a line."""
    items = [tag("li", {}, escape(line, 400)) for line in lines]
    return tag("ul", {"class": "vd-notes"}, *items, *more) if items or more else NONE
