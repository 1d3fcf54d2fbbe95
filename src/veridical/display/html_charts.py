"""Bars and charts on a page: bars with intervals, swarms, dependence plots, heat maps, waterfalls, tables of rows."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources

import numpy as np

from veridical.display import blocks
from veridical.display.html_instances import SIDES, draw_figure, draw_layer, draw_stage
from veridical.display.marks import Badge, short, ticks
from veridical.display.markup import NONE, SPACE, Markup, data_uri, escape, join, minus, spaced, tag
from veridical.display.pixels import Bytes, png, shrink, tinted
from veridical.display.words import decimals, rounded
from veridical.records import Floats

ACROSS, TALL = 400, 28  # of a line of a swarm, in units of the drawing
BOX = (1000.0, 300.0)  # of a dependence plot
HIGH, HEAT_CELL = 190, 9  # pixels of a dependence plot, and of a row of a heat map
LONGEST_BARE = 12  # characters
THUMB = 72  # pixels of a small picture, at most, each way
LAST_HEADS = {  # of the last numbers: on a phone, where columns have no heads, the style sheet puts them before the numbers
    "95 % interval": "vd-with-interval",
    "Odds, 95 % interval": "vd-with-odds",
    "Raises the output": "vd-with-sign",
}
TONES = ("vd-t0", "vd-t1", "vd-t2", "vd-t3", "vd-t4")


def draw_bars(b: blocks.Bars) -> Markup:
    """A table of bars; a curve or a control has a column of its own where some line has one."""
    sparks, controls = any(line.spark for line in b.lines), any(line.control for line in b.lines)
    rows = []
    for line in b.lines:
        before = [draw_letter(line.badge)] if line.badge else []
        before += [_draw_thumb(line.thumb, line.thumb_words)] if line.thumb is not None else []
        own = join(SPACE, tag("b", {}, escape(line.own, 40))) if line.own else NONE
        gray = join(SPACE, tag("small", {}, escape(f"({line.rest})", 100))) if line.rest else NONE
        name = join(*before, SPACE if before else NONE, tag("bdi", {}, escape(line.name, 60), own, gray))
        more = [tag("td", {"class": "vd-s"}, _draw_curve(line.spark) if line.spark else NONE)] if sparks else []
        end = [tag("td", {"class": "vd-ctl"}, line.control)] if controls else []
        cells = (tag("td", {"class": "vd-b"}, _bar_of(line, b)), *more, *_number_cells(line.numbers), *end)
        kind = {"class": None if line.clear else "vd-pale", "data-part": line.part if line.part >= 0 else None}
        rows.append(tag("tr", kind, tag("th", {"scope": "row"}, name), *cells))
    if not rows:
        return NONE
    heads = list(zip(("", "", "vd-w", "vd-i"), map(escape, b.heads), strict=True))
    columns = ["vd-cn", "", "vd-cw", "vd-ci"]
    if sparks:
        heads.insert(2, ("vd-s", escape("Other values")))
        columns.insert(2, "vd-cs")
    if controls:
        heads.append(("vd-ctl", escape("")))
        columns.append("vd-cc")
    return draw_table(LAST_HEADS.get(b.heads[3], ""), heads, tag("tbody", {}, *rows), columns=columns)


def _bar_of(line: blocks.BarLine, b: blocks.Bars) -> Markup:
    """The bar of a line, above what it was, if that is known."""
    if math.isnan(line.value):
        return NONE
    return draw_bar(line.value, line.ends, b.span, "vd-size" if b.sizes else "", line.was)


def _draw_curve(b: blocks.ValueCurve) -> Markup:
    """A small curve, or a stroke for each category, with a dot at the row's own value."""
    n, points = len(b.heights), list[str]()
    zero = f"{30 - 28 * b.zero:.3g}"
    for i, height in enumerate(b.heights):
        y = f"{30 - 28 * height:.3g}"
        if math.isnan(height):
            continue
        if b.line:
            points.append(f"{'L' if points else 'M'}{100 * i / max(n - 1, 1):.3g} {y}")
        else:
            points.append(f"M{100 * (i + 0.5) / n:.3g} {zero}V{y}")
    shapes = [tag("path", {"class": "vd-axis", "d": f"M0 {zero}H100"})]
    shapes.append(tag("path", {"class": "vd-line", "d": "".join(points)}))
    if b.own is not None:
        d = f"M{min(max(100 * b.own[0], 3), 97):.3g} {30 - 28 * b.own[1]:.3g}h.01"
        shapes.append(tag("path", {"class": "vd-at", "d": d}))
    told = {"role": "img", "aria-label": b.words, "viewBox": "0 0 100 32", "preserveAspectRatio": "none"}
    return tag("svg", told, *shapes)


def _number_cells(numbers: tuple[str, str]) -> list[Markup]:
    return [tag("td", {"class": c}, escape(n)) for c, n in zip(("vd-w", "vd-i"), numbers, strict=True)]


def draw_table(
    kind: str,
    heads: Iterable[tuple[str, Markup]],
    *bodies: Markup,
    columns: Sequence[str] = (),
    above: Markup = NONE,
) -> Markup:
    """A table with the class and the words of each head, and classes of its columns; ``above`` is a line over all."""
    group = tag("colgroup", {}, *(tag("col", {"class": c or None}) for c in columns)) if columns else NONE
    line = tag("tr", {}, *(tag("th", {"scope": "col", "class": c or None}, inner) for c, inner in heads))
    return tag("table", {"class": kind or None}, group, tag("thead", {}, above, line), *bodies)


def draw_bar_table(heads: Sequence[str], rows: Iterable[Markup], kind: str = "", over: Markup = NONE) -> Markup:
    """A table whose second column is drawn, so that bars and numbers stay side by side; ``over`` heads that."""
    words = (join(escape(head), over if i == 1 else NONE) for i, head in enumerate(heads))
    titles = zip(("", "", "vd-w", "vd-i"), words, strict=True)
    return draw_table(kind, titles, tag("tbody", {}, *rows), columns=("vd-cn", "", "vd-cw", "vd-ci"))


def draw_bar_row(name: Markup, drawn: Markup, numbers: tuple[str, str]) -> Markup:
    """One line of a table of bars."""
    return tag(
        "tr", {}, tag("th", {"scope": "row"}, name), tag("td", {"class": "vd-b"}, drawn), *_number_cells(numbers)
    )


def draw_letter(b: Badge) -> Markup:
    """The letter of a part."""
    kind = (SIDES[b.sign] or "vd-neutral") + ("" if b.sure else " vd-unsure")
    return tag("span", {"class": f"vd-badge {kind}"}, escape(b.letter))


def _draw_thumb(pixels: Bytes, words: str) -> Markup:
    h, w = (min(n, THUMB) for n in pixels.shape[:2])
    content = data_uri("image/png", png(shrink(pixels, h, w)))
    image = tag("image", {"width": w, "height": h, "href": content})
    told = {"role": "img", "aria-label": words, "viewBox": f"0 0 {w} {h}"}
    return tag("svg", {"class": "vd-thumb", **told}, image)


def draw_bar(
    value: float, ends: blocks.Span | None, span: blocks.Span, kind: str = "", was: float = math.nan
) -> Markup:
    """One bar from zero, with a whisker where the interval is finite; its kind is its sign, if none is given.

    What it was stands behind it as an outline.

    The cells beside it say its numbers, so readers of the screen skip it. Where a preview takes away drawings and
    styles, there is a bar of characters, which is not shown elsewhere.
    """
    zero, end, *whisker = (blocks.place(v, span, 0, 400) for v in (0.0, value, *(ends or ())))
    box = {"x": f"{min(zero, end):g}", "y": 8, "width": f"{abs(end - zero):.4g}", "height": 16}
    shapes = [tag("rect", {"class": kind or ("vd-up" if value > 0 else "vd-down"), **box})]
    if not math.isnan(was):
        then = blocks.place(was, span, 0, 400)
        ghost = {"x": f"{min(zero, then):g}", "y": 3, "width": f"{abs(then - zero):.4g}", "height": 26}
        shapes.insert(0, tag("rect", {"class": "vd-was", **ghost}))
    shapes.append(tag("path", {"class": "vd-axis", "d": f"M{zero:g} 0V32"}))
    if ends:
        low, high = whisker
        d = f"M{low:g} 16H{high:g}M{low:g} 12V20M{high:g} 12V20"
        shapes.append(tag("path", {"class": "vd-whisk", "d": d}))
    frame = {"aria-hidden": "true", "viewBox": "0 0 400 32", "preserveAspectRatio": "none"}
    length = round(LONGEST_BARE * min(abs(value) / (max(abs(span[0]), abs(span[1])) or 1.0), 1.0))
    bare = tag("i", {"class": "vd-bare", "aria-hidden": "true"}, escape("█" * length)) if length else NONE
    return join(tag("svg", frame, *shapes), bare)


def draw_swarm(b: blocks.Swarm) -> Markup:
    """One line per feature, one dot per row; the axis below."""
    zero = f"{blocks.place(0.0, b.span, 4, ACROSS - 8):g}"
    rows = []
    for line in b.lines:
        shapes = [tag("path", {"class": "vd-axis", "d": f"M{zero} 0V{TALL}"})]
        places = 4 + (line.xs - b.span[0]) / ((b.span[1] - b.span[0]) or 1.0) * (ACROSS - 8)
        heights = TALL / 2 + line.ys * (TALL / 2 - 3)
        for tone, kind in ((-1, "vd-t"), *enumerate(TONES)):
            here = line.tones == tone
            if here.any():
                shapes.append(tag("path", {"class": f"vd-dots {kind}", "d": _dots(places[here], heights[here])}))
        told = {"role": "img", "aria-label": line.words, "preserveAspectRatio": "none"}
        drawn = tag("svg", {**told, "viewBox": f"0 0 {ACROSS} {TALL}"}, *shapes)
        name = tag("th", {"scope": "row"}, tag("bdi", {}, escape(line.name, 60)))
        rows.append(tag("tr", {}, name, tag("td", {"class": "vd-b"}, drawn)))
    at = [(blocks.place(t, b.span, 1, 98), short(t)) for t in ticks(*b.span)]
    axis = tag(
        "div", {"class": "vd-x"}, *(tag("span", {"style": f"left:{x:g}%"}, escape(minus(say))) for x, say in at)
    )
    below = tag("tr", {"aria-hidden": "true"}, tag("td", {}), tag("td", {"class": "vd-b"}, axis))
    columns = tag("colgroup", {}, tag("col", {"class": "vd-cn"}), tag("col", {}))
    head = tag(
        "thead",
        {},
        tag("tr", {}, *(tag("th", {"scope": "col"}, escape(h)) for h in ("Feature", "Weight in each row"))),
    )
    table = tag("table", {"class": "vd-swarm"}, columns, head, tag("tbody", {}, *rows, below))
    return join(table, _tone_key(b))


def _tone_key(b: blocks.Swarm) -> Markup:
    """What the colors of dots mean."""
    said = [escape(f"a dot for each row ({b.told})")]
    if b.colored:
        dots = (tag("i", {"class": f"vd-dot {kind}"}) for kind in TONES)
        said.append(join(escape("low "), *dots, escape(" high value of the feature")))
    return tag("p", {"class": "vd-key"}, *spaced(*(tag("span", {}, each) for each in said)))


def _dots(xs: Floats, ys: Floats) -> str:
    """A path whose points are all dots, by round ends of lines without length."""
    return "".join(f"M{x:.4g} {y:.3g}h0" for x, y in zip(xs.tolist(), ys.tolist(), strict=True))


def draw_scatter(b: blocks.Scatter) -> Markup:
    """Weight against value, with local curves behind the dots."""
    wide, tall = BOX
    shapes = [tag("path", {"class": "vd-axis", "d": f"M0 {tall * (1 - b.zero):.4g}H{wide:g}"})]
    for xs, ys in b.curves:
        points = zip((xs * wide).tolist(), ((1 - ys) * tall).tolist(), strict=True)
        shapes.append(
            tag("path", {"class": "vd-behind", "d": "M" + "L".join(f"{x:.4g} {y:.4g}" for x, y in points)})
        )
    for sign, kind in ((1, "vd-up"), (-1, "vd-down"), (0, "")):
        here = b.signs == sign
        if here.any():
            d = _dots(b.xs[here] * wide, (1 - b.ys[here]) * tall)
            shapes.append(tag("path", {"class": f"vd-dots {kind}".strip(), "d": d}))
    stage = draw_stage(BOX, draw_layer(BOX, b.words, *shapes), axes=b.axes, height=HIGH)
    return tag("div", {"class": "vd-view vd-scatter"}, draw_figure(tag("bdi", {}, escape(b.name, 80)), stage))


def draw_heat(b: blocks.Heat) -> Markup:
    """Rows by features as a picture, the names of features below it."""
    r, c = b.strengths.shape
    shades = np.rint(10 * np.clip(b.strengths, -1, 1)).astype(int)
    sides = np.arange(-10, 11) / 10
    palette = np.c_[tinted(sides, 1.0), np.full(21, 255)]
    content = data_uri("image/png", png((shades + 10).astype(np.uint8), palette))
    image = {"width": c, "height": r, "href": content, "preserveAspectRatio": "none"}
    heaviest = ", ".join(b.columns[:5])
    label = f"weights of {r} rows by {c} features, rows that are alike beside each other; features: {heaviest}"
    drawn = draw_layer((float(c), float(r)), label, tag("image", image), wash="vd-sharp")
    box = tag("div", {"class": "vd-plot", "style": f"--h:{max(HEAT_CELL * r, 120)}px"}, drawn)
    names = (tag("span", {}, tag("bdi", {}, escape(name, 40))) for name in b.columns)
    return tag("div", {"class": "vd-view vd-heat"}, box, tag("div", {"class": "vd-names"}, *names))


def draw_waterfall(b: blocks.Waterfall) -> Markup:
    """A step a line: its bar from where the sum was to where it is now, and the sum beside it."""
    low, high = b.span
    span = (low - 0.02 * (high - low), high + 0.02 * (high - low))
    show = decimals([line.stop - line.start for line in b.lines if not line.total])
    rows = []
    for line in b.lines:
        start, stop = (blocks.place(value, span, 0, ACROSS) for value in (line.start, line.stop))
        kind = "vd-size" if line.total else "vd-up" if line.stop >= line.start else "vd-down"
        box = {"x": f"{min(start, stop):g}", "y": 5, "width": f"{max(abs(stop - start), 0.5):.4g}", "height": 16}
        shapes = [tag("rect", {"class": kind, **box}), tag("path", {"class": "vd-step", "d": f"M{stop:g} 5V32"})]
        frame = {"aria-hidden": "true", "viewBox": f"0 0 {ACROSS} 26", "preserveAspectRatio": "none"}
        own = join(SPACE, tag("b", {}, escape(line.own, 40))) if line.own else NONE
        name = tag("th", {"scope": "row"}, tag("bdi", {}, escape(line.name, 60), own))
        step = "" if line.total else minus(show(line.stop - line.start).strip())
        cells = (
            tag("td", {"class": c}, escape(t)) for c, t in (("vd-w", step), ("vd-i", minus(rounded(line.stop))))
        )
        rows.append(tag("tr", {}, name, tag("td", {"class": "vd-b"}, tag("svg", frame, *shapes)), *cells))
    kinds = ("vd-cn", "", "vd-cw", "vd-ci")
    columns = tag("colgroup", {}, *(tag("col", {"class": kind or None}) for kind in kinds))
    heads = zip(
        ("Feature", f"From base to prediction ({b.unit})", "Weight", "Sum"), ("", "", "vd-w", "vd-i"), strict=True
    )
    head = tag("tr", {}, *(tag("th", {"scope": "col", "class": k or None}, escape(h)) for h, k in heads))
    return tag("table", {"class": "vd-waterfall"}, columns, tag("thead", {}, head), tag("tbody", {}, *rows))


# ---- rows


@cache
def script() -> str:
    """What sorts and filters tables of rows: the only script that a page may have."""
    return resources.files("veridical.display").joinpath("rows.js").read_text(encoding="utf-8").strip()


@cache
def script_policy() -> str:
    """The source of scripts that a page with this one allows."""
    digest = hashlib.sha256(script().encode()).digest()
    return f"script-src 'sha256-{base64.b64encode(digest).decode()}'"


def draw_rows(b: blocks.RowTable, tones: Mapping[str, str]) -> Markup:
    """Explanations a line each; numbers to sort by stand in attributes."""
    kinds = ("", "vd-n", "", "vd-n", "")
    heads = (
        tag("th", {"scope": "col", "class": k or None}, escape(h)) for h, k in zip(b.heads, kinds, strict=True)
    )
    rows = []
    for line in b.lines:
        mark = tag("span", {"class": "vd-mark", "aria-hidden": "true"}, escape(blocks.MARKS[line.label]))
        label = join(mark, SPACE, escape(blocks.LABELS.get(line.label, line.label)))
        cells = [tag("th", {"scope": "row"}, tag("bdi", {}, escape(line.name, 40)))]
        cells.append(_number_cell(line.model))
        cells.append(tag("td", {"class": f"vd-{tones.get(line.label, 'none')}"}, label))
        cells += [_number_cell(line.faithful), tag("td", {}, tag("bdi", {}, escape(line.top, 120)))]
        rows.append(tag("tr", {}, *cells))
    table = tag("table", {"class": "vd-rows"}, tag("thead", {}, tag("tr", {}, *heads)), tag("tbody", {}, *rows))
    box = {"class": "vd-box", "role": "group", "aria-label": "Rows", "tabindex": 0}
    more = tag("p", {"class": "vd-sum"}, escape(b.more)) if b.more else NONE
    return join(tag("div", box, table), more)


def _number_cell(told: tuple[str, float]) -> Markup:
    """A number in words, and as what it is sorted by."""
    words, value = told
    key = f"{value:.6g}" if np.isfinite(value) else None
    return tag("td", {"class": "vd-n", "data-n": key}, tag("bdi", {}, escape(words, 60)))
