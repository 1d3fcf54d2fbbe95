"""Blocks as matplotlib figures, on the screen and in files."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from veridical.display import blocks
from veridical.display import figure_instances as instances
from veridical.display.boards import (
    BODY,
    DARK,
    HEAD,
    LIGHT,
    MISSING,
    SMALL,
    STRONG,
    TINY,
    Board,
    Box,
    Ink,
    Look,
    Palette,
    Place,
    bare_figure,
    beside,
    face_of,
    share,
    show,
    stacked,
)
from veridical.display.contents import blocks_of
from veridical.display.figure_instances import EMPTY, PAD, badge, faded, hatched, key_line, paragraph, rule
from veridical.display.marks import Axes, short, ticks
from veridical.display.markup import Markup, escape, join, minus, tag, whole
from veridical.display.terminal import render_text
from veridical.display.views import view_blocks
from veridical.display.words import count, joined, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes as MatplotlibAxes

FIGURE = blocks.Limits(
    parts=8, listed=6, entries=12, compared=15, changed=5, groups=12, group_parts=10, matrix=(24, 24),
    measures=30, notes=6,
)  # fmt: skip
TINIEST, HUGE = 1e-100, 1e100  # what is smaller or larger, an axis cannot hold
ROW = 0.25  # inches from row to row of a table
NARROW, NARROW_ROW = 4.6, 0.41  # inches: a table below the first has rows of the second
CLOSE = 0.06  # inches between what belongs together
ALIGNED = ("left", "left", "right", "right")
TITLE, PAGE_TITLE = Ink(10.0, bold=True), Ink(14.0, bold=True)


# ---- figures and files


def card(record: Any, ax: MatplotlibAxes | None = None) -> MatplotlibAxes:
    """All of a record as a sheet inside these axes, or on a new figure; the current figure stays current."""
    return show(_boxes(record), ax)


def _boxes(record: Any) -> Callable[[Look], Sequence[Box]]:
    @cache
    def inner(rows: int) -> tuple[blocks.Block, ...]:
        most = min(FIGURE.parts, rows), min(FIGURE.compared, rows), min(FIGURE.matrix[1], rows)
        limits = replace(FIGURE, parts=most[0], compared=most[1], matrix=(FIGURE.matrix[0], most[2]))
        return blocks_of(record, limits)

    return lambda look: set_blocks(inner(look.rows), look)


DPI = 200  # of a PNG
FONT = "sans-serif"  # what matplotlib brings, or whatever a browser has instead
MOST_TOLD = 20_000  # characters of the description of an SVG


def write(form: str, record: Any, stream: BinaryIO) -> None:
    """The record as PNG, PDF or SVG: the same bytes each time, whatever the style."""
    out, face = io.BytesIO(), face_of(FONT, "" if form == "svg" else MISSING)
    title = plain(repr(record).strip("<>"), 160)
    pdf = {"Title": title, "Creator": "veridical", "CreationDate": None}
    known: dict[str, dict[str, Any]] = {"pdf": pdf, "svg": {"Date": None}}
    with bare_figure(_boxes(record), face) as figure, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(out, format=form, dpi=DPI, metadata=known.get(form, {}), transparent=form == "svg")
    content = out.getvalue()
    stream.write(content if form != "svg" else _told(content.decode(), title, record).encode())


def _told(svg: str, title: str, record: Any) -> str:
    """An SVG that readers of screens can tell, and that changes its colors on a dark ground."""
    start = svg.index("viewBox")  # of the outermost element
    end = svg.index(">", start) + 1
    names = 'role="img" aria-labelledby="vd-title vd-text"'
    both = [(getattr(LIGHT, f.name), getattr(DARK, f.name)) for f in fields(LIGHT)]
    rules = [
        f'[style*="{kind}: {light}"], [{kind}="{light}"] {{ {kind}: {dark} !important }}'
        for light, dark in both
        if light != dark
        for kind in ("fill", "stroke")
    ]
    inner = join(
        tag("title", {"id": "vd-title"}, escape(title)),
        tag("desc", {"id": "vd-text"}, whole(render_text(record)[:MOST_TOLD])),
        tag("style", {}, Markup(f"@media (prefers-color-scheme: dark) {{ {' '.join(rules)} }}")),
    )
    return f"{svg[:start]}{names} {svg[start:end]}\n{inner}{svg[end:]}"


def set_blocks(inner: Iterable[blocks.Block], look: Look) -> list[Box]:
    """Blocks as boxes of the width of the look; a key stands close below what it explains."""
    boxes = list[Box]()
    for block in inner:
        setter = SETTERS.get(type(block))
        box = setter(block, look) if setter else EMPTY
        if isinstance(block, blocks.Legend) and boxes:
            boxes[-1] = stacked([boxes[-1], box], CLOSE)
        elif box.height:
            boxes.append(box)
    return boxes


# ---- words


def _headline(b: blocks.Headline, look: Look) -> Box:
    """What a figure is about, and what is said beside it, as far as there is room in the line."""
    head, words = joined(b.title), [" ".join(filter(None, pair)) for pair in b.said]
    title = paragraph(head, look, HEAD, 4)
    gap, places, x, y = 0.22, list[tuple[float, float, str]](), 0.0, 0.0
    one = look.face.width(head, HEAD.size, bold=True)
    if one + gap < look.width and title.height < 1.5 * HEAD.step:
        x = one + gap
    else:
        y = title.height
    for word in words:
        for i, line in enumerate(look.face.wrap(word, BODY.size, look.width)):
            wide = look.face.width(line, BODY.size)
            if i or (x and x + wide > look.width):
                x, y = 0.0, max(y + BODY.step, title.height)
            places.append((x, y, line))
            x += wide + gap
    tall = max([title.height, *(y + BODY.step for _, y, _ in places)])

    def draw(board: Board, top: float) -> None:
        title.draw(board, top)
        for x, y, word in places:
            middle = HEAD.step / 2 + 0.01 if y == 0 else BODY.step / 2
            board.text((x, top + y + middle), word, replace(BODY, alpha=0.8))

    return Box(tall, draw)


def _judgment(b: blocks.Judgment, look: Look) -> Box:
    """A mark, the label in bold and a sentence, in a box of a color; three numbers, and what to try."""
    color, left = _color(b.label, look.palette), 3 * PAD + 0.16
    inner, numbers = look.within(look.width - left - PAD), "   ·   ".join(f"{n} {v}" for n, v in b.numbers)
    lines = [paragraph(plain(f"{b.said.capitalize()}. {b.sentence}", 1000), inner)]
    lines += [paragraph(numbers, inner, STRONG), paragraph(plain(b.advice, 300), inner, SMALL)]
    body = stacked(lines, 0.02)
    tall = body.height + 2 * PAD

    def draw(board: Board, top: float) -> None:
        board.box((0.0, top), (look.width, tall), {"color": color, "alpha": 0.1})
        board.box((0.0, top), (0.05, tall), {"color": color})
        middle = top + PAD + BODY.step / 2
        _disc(board, (2 * PAD + 0.08, middle), blocks.MARKS[b.label], color)
        body.draw(board.moved(left, look.width - left - PAD), top + PAD)

    return Box(tall, draw)


def _label_counts(b: blocks.LabelCounts, look: Look) -> Box:
    """One stacked bar, and each label with its number."""
    tall = 0.14

    def draw(board: Board, top: float) -> None:
        left = 0.0
        for label, n in b.counts:
            wide = look.width * n / b.total
            board.box((left, top), (max(wide - 0.02, 0.02), tall), {"color": _color(label, look.palette)})
            left += wide

    said = [paragraph(b.words, look), paragraph(plain(b.advice, 300), look, SMALL)]
    return stacked([Box(tall, draw), *said], 0.04)


def _color(label: str, colors: Palette) -> str:
    """Of a label or an outcome."""
    tones = {"yes": colors.yes, "care": colors.care, "no": colors.no}
    return tones.get(blocks.TONES.get(label, ""), colors.gray)


def _disc(board: Board, at: Place, mark: str, color: str, size: float = 12.5) -> None:
    """A mark, white on a colored disc."""
    dot = {"color": color, "marker": "o", "markersize": size * board.scale, "markeredgewidth": 0}
    board.line([at[0]], [at[1]], dot)
    board.text(at, mark, Ink(8 * size / 12.5, bold=True, align="center", color="#ffffff"))


def _facts(b: blocks.Facts, look: Look) -> Box:
    """Numbers, each with its name above and what it means below, side by side."""
    entries, n = b.entries, max(min(len(b.entries), int((look.width - PAD) / 1.4)), 1)
    wide = (look.width - PAD) / n
    values, small = Ink(10.0, bold=True), look.within(wide - PAD)
    meanings = [paragraph(plain(meaning, 200), small, TINY, 5) for _, _, meaning in entries]
    rows = [range(i, min(i + n, len(entries))) for i in range(0, len(entries), n)]
    tall = [SMALL.step + values.step + max(meanings[i].height for i in row) + 0.06 for row in rows]

    def draw(board: Board, top: float) -> None:
        board.box((0.0, top), (look.width, sum(tall) + 1.4 * PAD), {"color": look.palette.gray, "alpha": 0.13})
        y = top + 0.8 * PAD
        for row, height in zip(rows, tall, strict=True):
            for at, i in enumerate(row):
                name, value, _ = entries[i]
                here = board.moved(PAD + at * wide, wide - PAD)
                here.text((0.0, y + SMALL.step / 2), name, SMALL)
                shown = look.face.cut(minus(plain(value)), values.size, wide - PAD)
                here.text((0.0, y + SMALL.step + values.step / 2), shown, values)
                meanings[i].draw(here, y + SMALL.step + values.step)
            y += height

    return Box(sum(tall) + 1.4 * PAD if entries else 0.0, draw)


INKS = {
    "where": (SMALL, 6),
    "sum": (SMALL, 2),
    "foot": (TINY, 12),
    "key": (SMALL, 2),
    "side": (SMALL, 6),
    "field": (SMALL, 8),
}


def _text(b: blocks.Text, look: Look) -> Box:
    return paragraph(joined(b.words, 2000 if b.kind == "field" else 1000), look, *INKS.get(b.kind, (BODY, 12)))


def _findings(b: blocks.Findings, look: Look) -> Box:
    return stacked([paragraph(plain(name + said, 900), look) for name, said in b.lines], 0.05)


def _notes(b: blocks.Notes, look: Look) -> Box:
    """What a reader should know besides, one thing per line."""
    steps = " → ".join(plain(step, 60) for step in b.path[:20])
    lines = [*b.asides, *b.lines, *([f"Path through the tree: {steps}"] if steps else [])]
    inner = look.within(look.width - PAD)
    told = stacked([paragraph(plain(line, 400), inner, Ink(8.0), 6) for line in lines if line], 0.03)
    tall = told.height + 0.03 if told.height else 0.0

    def draw(board: Board, top: float) -> None:
        board.box((0.0, top), (0.02, tall), {"color": look.palette.gray, "alpha": 0.5})
        told.draw(board.moved(PAD, inner.width), top)

    return Box(tall, draw)


# ---- bars


def _bars(b: blocks.Bars, look: Look) -> Box:
    """Names, bars on one axis, and numbers."""
    unit = max(map(abs, b.span)) or 1.0
    unit = 1.0 if TINIEST < unit < 1 / TINIEST else unit  # else axes would overflow
    low, high = (end / unit for end in b.span)
    edge, thick = (high - low) * 0.01 or 1.0, 0.34 if look.width < NARROW else 0.5
    color = look.palette.gray if b.sizes else ""

    def paint(board: Board, panel: Any) -> None:
        panel.set_xlim(low - edge, high + edge)
        for i, line in enumerate(b.lines):
            ends = None if line.ends is None else (line.ends[0] / unit, line.ends[1] / unit)
            _draw_bar(panel, (i, thick), line.value / unit, ends, board, color)
        half = 0.24 if look.width < NARROW else 0.5
        zeros = {"color": look.palette.ink, "alpha": 0.45, "linewidth": 0.8 * board.scale}
        panel.vlines(
            [0.0] * len(b.lines), *([i + end for i in range(len(b.lines))] for end in (-half, half)), **zeros
        )

    return _grid(b.heads, b.lines, look, paint)


def _draw_bar(
    panel: Any, at: Place, value: float, ends: blocks.Span | None, board: Board, color: str = ""
) -> None:
    """A bar from zero, at a height and so thick: solid if it raises the output, hatched if it lowers it."""
    if not math.isfinite(value):
        return
    (height, thick), colors = at, board.look.palette
    own = color or (colors.up if value > 0 else colors.down)
    hatch = "//////" if value < 0 and not color else None
    style = {"facecolor": own, "hatch": hatch, "edgecolor": hatched(colors) if hatch else own, "linewidth": 0}
    panel.barh([height], [value], height=thick, **style)
    if ends:
        line = {"color": colors.ink, "linewidth": 1.1 * board.scale}
        panel.plot(ends, [height, height], solid_capstyle="butt", **line)
        panel.plot(ends, [height, height], linestyle="none", marker="|", markersize=5 * board.scale, **line)


def _grid(
    heads: Sequence[str], lines: Sequence[blocks.BarLine], look: Look, paint: Callable[[Board, Any], None]
) -> Box:
    """Rows in columns as wide as they need; ``paint`` draws row i at height i of a panel beside the names.

    Where there is little room, what is drawn stands below names and numbers.
    """
    narrow = look.width < NARROW
    step, at = (NARROW_ROW if narrow else ROW), _columns(heads, lines, look)
    middle = 0.12 if narrow else ROW / 2
    top_head = ROW if any(heads) and not narrow else 0.0

    def draw(board: Board, top: float) -> None:
        for x, head, align in zip((0.0, *at[:1], *at[2:]), heads, ALIGNED, strict=True):
            if top_head:
                board.text((x, top + ROW / 2), head, replace(SMALL, align=align))
        left, right = (0.0, look.width) if narrow else at[:2]
        panel = board.panel((left, top + top_head), (right - left, step * len(lines)))
        shift = 0.74 if narrow else 0.5  # where in its row a bar lies
        panel.set_ylim(len(lines) - shift, -shift)
        for i, line in enumerate(lines):
            _write_line(board, line, (top + top_head + step * i, middle), at)
        paint(board, panel)

    return Box(step * len(lines) + top_head if lines else 0.0, draw)


def _columns(
    heads: Sequence[str], lines: Sequence[blocks.BarLine], look: Look
) -> tuple[float, float, float, float]:
    """Where the drawing begins and ends, and where the two columns of numbers end."""
    narrow = look.width < NARROW
    first, second = (
        max((look.face.width(line.numbers[i].strip(), 9.0, bold=i == 0) for line in lines), default=0.0)
        for i in (0, 1)
    )
    if not narrow:
        first, second = (
            max(w, look.face.width(h, SMALL.size)) for w, h in zip((first, second), heads[2:], strict=True)
        )
    second *= 8 / 9 if narrow else 1
    keyed = 0.26 if any(line.badge for line in lines) else 0.0
    longest = max((look.face.width(line.label, BODY.size) for line in lines), default=0.0) + keyed
    numbers = first + second + 0.48
    drawn = 0.0 if narrow else max(1.2, 0.3 * look.width)
    left = min(longest, max(0.25 * look.width, look.width - numbers - drawn)) + 0.16
    return left, look.width - numbers + 0.16, look.width - second - 0.16, look.width


def _write_line(
    board: Board, line: blocks.BarLine, place: tuple[float, float], at: tuple[float, float, float, float]
) -> None:
    """The line above a row, its letter, its name and its numbers."""
    (top, down), face, keyed = place, board.look.face, 0.0
    board.rule(top)
    if line.badge:
        keyed = 0.26
        badge(board.ax, (board.left + 0.09, top + down), line.badge, board.look.palette, 6.6 * board.scale)
    room = min(at[0] - 0.12, at[1] - 0.12) if board.look.width < NARROW else at[0] - 0.12
    board.text((keyed, top + down), face.cut(line.label, BODY.size, room - keyed), BODY)
    board.text((at[2], top + down), line.numbers[0].strip(), replace(STRONG, align="right"))
    board.text((at[3], top + down), line.numbers[1].strip(), replace(SMALL, align="right", size=8.0))


PAIR_ROW = 0.4  # inches of a part
PLACES = (-0.21, 0.21)  # of the first and the second bar, within the room of a part


def _pairs(b: blocks.PairedBars, look: Look) -> Box:
    """A row a part: both bars, both weights, the difference with its interval."""
    face, (first, second), n = look.face, b.titles, len(b.lines)
    one = max(face.width(text.strip(), BODY.size) for line in b.lines for text in line.weight_words) + 0.1
    two = max(face.width(f"{line.mark} {line.numbers[0]}", BODY.size, bold=True) for line in b.lines)
    two = max(two, *(face.width(line.numbers[1], SMALL.size) for line in b.lines)) + 0.1
    keyed = 0.26 if any(line.badge for line in b.lines) else 0.0
    name = max(face.width(plain(line.name), BODY.size) for line in b.lines) + keyed + 0.12
    name = min(name, 0.32 * look.width)
    wide = (look.width - name - one - two - 0.24) / 2
    at, right = (name, name + wide + one + 0.12), replace(SMALL, align="right")

    def draw(board: Board, top: float) -> None:
        heads = ((0.0, b.heads[0]), (at[0], b.heads[1]), (at[1], f"{second} less {first}"))
        for x, head in heads:
            board.text((x, top + ROW / 2), face.cut(head, SMALL.size, wide + one), SMALL)
        both, apart = (board.panel((x, top + ROW), (wide, PAIR_ROW * n)) for x in at)
        for panel, (low, high) in zip((both, apart), b.spans, strict=True):
            edge = (high - low) * 0.02 or 1.0
            panel.set(xlim=(low - edge, high + edge), ylim=(n - 0.5, -0.5))
            panel.axvline(0, color=look.palette.ink, alpha=0.45, linewidth=0.8 * board.scale)
        for i, line in enumerate(b.lines):
            y = top + ROW + PAIR_ROW * i
            board.rule(y)
            if line.badge:
                badge(board.ax, (board.left + 0.09, y + PAIR_ROW / 2), line.badge, look.palette, 6.6 * board.scale)
            shown = face.cut(plain(line.name), BODY.size, name - keyed - 0.06)
            board.text((keyed, y + PAIR_ROW / 2), shown, BODY)
            for shift, text, weight in zip(PLACES, line.weight_words, line.weights, strict=True):
                place = (at[0] + wide + one, y + PAIR_ROW * (0.5 + shift))
                board.text(place, text.strip(), replace(right, size=8.0, alpha=1.0))
                _draw_bar(both, (i + shift, 0.32), float(np.nan_to_num(weight)), None, board)
            said = f"{line.mark} {line.numbers[0].strip()}"
            board.text((look.width, y + PAIR_ROW * 0.3), said, replace(STRONG, align="right"))
            board.text((look.width, y + PAIR_ROW * 0.72), line.numbers[1], right)
            _draw_bar(apart, (i, 0.32), float(np.nan_to_num(line.difference)), line.ends, board)

    return Box(ROW + PAIR_ROW * n, draw)


def _matrix(b: blocks.Matrix, look: Look) -> Box:
    """One line a row: a bar up or down for each part that it gives weight."""
    lines = [
        blocks.BarLine(name[:1].upper() + name[1:], math.nan, (covered, chance))
        for name, covered, chance in b.lines
    ]

    def paint(board: Board, panel: Any) -> None:
        panel.set_xlim(0, len(b.letters))
        style = {"size": 7.2 * board.scale, "weight": "bold", "color": look.palette.ink}
        for c, letter in enumerate(b.letters):
            panel.text(c + 0.5, panel.get_ylim()[1] - 0.12, letter, ha="center", va="bottom", **style)
        for t in range(len(lines)):
            panel.axhline(t, color=look.palette.ink, alpha=0.35, linewidth=0.6 * board.scale)
        for t, c in np.argwhere(b.strengths).tolist():
            strength = float(b.strengths[t, c])
            color = look.palette.up if strength > 0 else look.palette.down
            if b.new[t, c]:
                panel.bar([c + 0.5], [0.92], width=0.94, bottom=t - 0.46, color=faded(color, 0.2), linewidth=0)
            panel.bar([c + 0.5], [-0.44 * strength], width=0.72, bottom=t, color=color, linewidth=0)

    return _grid((b.heads[0], "", *b.heads[2:]), lines, look, paint)


# ---- dots

STROKES = ("|", "x", "+", "1", "2", "3", "4", ".")  # of null rows, by name


def _measures(b: blocks.Measures, look: Look) -> Box:
    """A dot and an interval for each measure; null rows are gray."""
    shown = [(line, line.dot) for line in b.lines if line.dot and abs(line.dot.value) < HUGE]
    if not shown:
        return paragraph("No measure has a number.", look)
    ranged = "95 % interval" in b.heads
    lines = [
        blocks.BarLine(line.name, dot.value, (line.texts[0], line.texts[1] if ranged else ""))
        for line, dot in shown
    ]

    def paint(board: Board, panel: Any) -> None:
        for i, (_, dot) in enumerate(shown):
            _draw_dot(panel, i, dot, board, look.palette.up)
            for stroke, value in zip(STROKES, dot.nulls, strict=False):
                if abs(value) < HUGE:
                    style = {"marker": stroke, "markersize": 6 * board.scale, "zorder": 1}
                    panel.plot([value], [i], color=look.palette.gray, **style)
            if abs(dot.want) < HUGE:
                panel.axvline(dot.want, color=look.palette.ink, linewidth=0.8 * board.scale, linestyle=":")
        panel.margins(x=0.04)

    table = _grid(("Measure", "", "Value", "95 % interval"), lines, look, paint)
    names = zip(STROKES, b.nulls, strict=False)
    return stacked([table, key_line([(0, f"gray: {blocks.NULLS}:"), *names] if b.nulls else [], look)], CLOSE)


def _draw_dot(
    panel: Any, height: float, dot: blocks.Dot, board: Board, color: str, fill: str = "", sign: str = "o"
) -> None:
    """A number and its interval, at a height."""
    if dot.ends and max(map(abs, dot.ends)) < HUGE:
        panel.plot(dot.ends, [height, height], color=color, linewidth=1.5 * board.scale, zorder=2)
    style = {"marker": sign, "markersize": 5 * board.scale, "markerfacecolor": fill or color}
    panel.plot([dot.value], [height], color=color, zorder=3, **style)


MOST_PANELS, WIDEST = 40, 1.9  # panels of a table of scores, and inches of one
LINE, PANEL_HEAD, PANEL_FOOT = 0.2, 0.24, 0.28  # inches: a line in a panel, its title, its ticks
BELOW = 0.24  # how far below a method its own weights, shuffled, are drawn


def _scores(b: blocks.Scores, look: Look) -> Box:
    """A panel for every metric that has a number, and what the signs mean and why others are not there."""
    known = [c for c in b.columns if any(cell.dot and abs(cell.dot.value) < HUGE for cell in c.cells)]
    missing = [c for c in b.columns if c not in known]
    lines = [] if known else ["No metric has a number."]
    lines += [f"{plain(c.name, 40)} is not drawn: {_why(c)}." for c in missing[:4]]
    left = len(missing[4:]) + len(known[MOST_PANELS:])
    lines += [f"And {count(left, 'more metric')}, not drawn."] if left else []
    own = {f"shuffled {name}": name for name in b.rows[: b.n_methods]}
    names = [name for name in b.rows if name not in own]
    panels = _score_panels(known[:MOST_PANELS], names, own, look) if known else EMPTY
    return stacked([panels, *(paragraph(line, look, SMALL) for line in lines)], 0.05)


def _why(c: blocks.ScoreColumn) -> str:
    reasons = dict.fromkeys(plain(cell.reason, 120) for cell in c.cells if cell.reason)
    return next(iter(reasons), "it has no number")


def _score_panels(
    columns: Sequence[blocks.ScoreColumn], names: Sequence[str], own: Mapping[str, str], look: Look
) -> Box:
    """Panels side by side, the names of the rows at the left of each line of them."""
    shown = [look.face.cut(plain(name), SMALL.size, look.width * 0.3) for name in names]
    left = max(look.face.width(name, SMALL.size) for name in shown) + 0.12
    across = max(int((look.width - left) // 1.24), 1)
    wide = min((look.width - left) / min(across, len(columns)), WIDEST)
    size, tall = (wide - 0.22, LINE * len(names)), PANEL_HEAD + LINE * len(names) + PANEL_FOOT

    def draw(board: Board, top: float) -> None:
        for i, column in enumerate(columns):
            at = (left + i % across * wide, top + i // across * tall + PANEL_HEAD)
            title = look.face.cut(f"{plain(column.title)} {column.arrow}", SMALL.size, wide - 0.1)
            board.text((at[0], at[1] - PANEL_HEAD / 2), title, replace(SMALL, bold=True, alpha=1.0))
            for k, name in enumerate(shown if i % across == 0 else ()):
                board.text((0.0, at[1] + LINE * (k + 0.5)), name, SMALL)
            panel = board.panel(at, size)
            panel.set_ylim(len(names) - 0.5, -0.5)
            for row in range(len(names)):
                panel.axhline(row, color=look.palette.ink, alpha=0.15, linewidth=0.4 * board.scale, zorder=0)
            for cell in column.cells:
                name = own.get(cell.method, cell.method)
                if cell.dot and abs(cell.dot.value) < HUGE and name in names:
                    color = look.palette.gray if cell.null else look.palette.up
                    height, fill = names.index(name) + BELOW * (cell.method in own), cell.best or cell.null
                    sign = "|" if cell.method in own else "o"
                    _draw_dot(panel, height, cell.dot, board, color, color if fill else "none", sign)
            rule(board, at, size, _score_axis(panel, column))

    return Box(tall * -(-len(columns) // across), draw)


def _score_axis(panel: Any, c: blocks.ScoreColumn) -> Axes:
    """An axis that holds all that is drawn, with a few ticks."""
    dots = [cell.dot for cell in c.cells if cell.dot and abs(cell.dot.value) < HUGE]
    ends = [end for dot in dots for end in (dot.value, *(dot.ends or ())) if abs(end) < HUGE]
    low, high = min(ends), max(ends)
    edge = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    low, high = low - edge, high + edge
    panel.set_xlim(low, high)
    return Axes([((value - low) / (high - low), short(value)) for value in ticks(low, high, 4)])


ACROSS, MOST_CURVES = 2, 12  # panels of curves side by side, and in all
LEFT, CURVE_HEAD, TALL, CURVE_FOOT = 0.46, 0.24, 1.7, 0.34  # inches: ticks, title, panel, ticks
COLORS = ("#2f7fc1", "#d9730d", "#0c7d62", "#a8559b", "#8a6d1f", "#cf3a63", "#4a6fd0", "#5f7d2c")
MARKERS = "osD^vPX*"
DASHES: tuple[Any, ...] = ("-", "--", "-.")
NULLS: tuple[Any, ...] = (":", (0, (5, 1, 1, 1)), (0, (6, 3)))


def _curves(b: blocks.Curves, look: Look) -> Box:
    """A panel for every kind of cause; methods in color with their intervals, other rows in ink or gray."""
    panels = b.panels[:MOST_CURVES]
    across = ACROSS if look.width > 4.6 and len(panels) > 1 else 1
    wide, step = (look.width - 0.2 * (across - 1)) / across, CURVE_HEAD + TALL + CURVE_FOOT
    lines = {line.name: line for panel in panels for line in panel.lines}

    def draw(board: Board, top: float) -> None:
        for i, panel in enumerate(panels):
            x, y = i % across * (wide + 0.2), top + i // across * step
            _curve_panel(panel, (x + LEFT, y + CURVE_HEAD), (wide - LEFT, TALL), board)

    told = f"{b.says}; tinted: 95 % interval over instances."
    samples = [(_curve_style(line, look.palette), plain(name, 60)) for name, line in lines.items()]
    drawn = Box(step * -(-len(panels) // across), draw)
    return stacked([paragraph(told, look, SMALL), drawn, key_line(samples, look)], 0.08)


def _curve_panel(b: blocks.CurvePanel, at: Place, size: Place, board: Board) -> None:
    look, thin = board.look, board.scale
    title = look.face.cut(plain(b.title), STRONG.size, size[0])
    board.text((at[0], at[1] - CURVE_HEAD / 2), title, STRONG)
    panel, axes = board.panel(at, size), b.axes(2)
    panel.set(xlim=(0, b.most), ylim=(-0.03 * b.high, 1.03 * b.high))
    for y, _ in axes.y:
        panel.axhline(y * b.high, color=look.palette.ink, alpha=0.2, linewidth=0.5 * thin)
    for line in b.lines:
        x, style = np.arange(len(line.rate)), _curve_style(line, look.palette)
        if line.kind == "method":
            panel.fill_between(x, line.low, line.high, color=style["color"], alpha=0.12, linewidth=0)
        panel.plot(x, line.rate, linewidth=1.3 * thin, markersize=3.2 * thin, **style)
    rule(board, at, size, replace(axes, y=[((y + 0.03) / 1.06, say) for y, say in axes.y]))


def _curve_style(b: blocks.CurveLine, colors: Palette) -> dict[str, Any]:
    if b.kind == "method":
        return {"color": COLORS[b.at % len(COLORS)], "marker": MARKERS[b.at % len(MARKERS)], "zorder": 3}
    if b.kind == "known":
        return {"color": colors.ink, "linestyle": DASHES[b.at % len(DASHES)]}
    return {"color": colors.gray, "linestyle": NULLS[b.at % len(NULLS)]}


# ---- tables and blocks that hold others

MOST_ROWS, MOST_COLUMNS = 40, 8  # of a table


def _table(b: blocks.Table, look: Look) -> Box:
    """Words and outcomes in rows and columns."""
    heads, shown = b.heads[1 : 1 + MOST_COLUMNS], b.rows[:MOST_ROWS]
    names = [look.face.cut(plain(row[0].text), BODY.size, look.width * 0.4) for row in shown]
    left = max((look.face.width(name, BODY.size) for name in names), default=0.0) + 0.25
    wide = min((look.width - left) / max(len(heads), 1), 1.6)

    def draw(board: Board, top: float) -> None:
        for k, head in enumerate(heads):
            title = look.face.cut(plain(head), SMALL.size, wide - 0.08)
            board.text((left + k * wide, top + ROW / 2), title, SMALL)
        for i, row in enumerate(shown):
            y = top + (i + 1) * ROW
            board.rule(y)
            board.text((0.0, y + ROW / 2), names[i], BODY)
            for k, cell in enumerate(row[1 : 1 + MOST_COLUMNS]):
                _table_cell(board, (left + k * wide, y + ROW / 2), cell)

    left_out = len(b.rows) - len(shown)
    more = f"And {count(left_out, 'more check')}, not drawn." if left_out > 0 else ""
    return stacked([Box(ROW * (len(shown) + 1) if shown else 0.0, draw), paragraph(more, look, SMALL)], 0.05)


def _table_cell(board: Board, at: Place, b: blocks.Cell) -> None:
    color = _color(b.outcome, board.look.palette)
    if b.outcome:
        _disc(board, (at[0] + 0.07, at[1]), blocks.MARKS[b.outcome], color, 9.5)
        board.text((at[0] + 0.19, at[1]), b.text, replace(BODY, color=color))


def _changes(b: blocks.ChangeTable, look: Look) -> Box:
    """Old and new values side by side; a change of two columns has two rows."""
    shown = b.rows[:MOST_ROWS]
    places = tuple(share * look.width for share in (0.0, 0.36, 0.5, 0.64))
    rooms = [end - start - 0.08 for start, end in pairwise((*places, look.width))]

    def draw(board: Board, top: float) -> None:
        for at, room, head in zip(places, rooms, b.heads, strict=True):
            board.text((at, top + ROW / 2), look.face.cut(head, SMALL.size, room), SMALL)
        for i, row in enumerate(shown):
            y = top + (i + 1) * ROW
            board.rule(y)
            for at, room, text in zip(places, rooms, row, strict=True):
                board.text((at, y + ROW / 2), look.face.cut(plain(text), BODY.size, room), BODY)

    return Box(ROW * (len(shown) + 1) if shown else 0.0, draw)


def _section(b: blocks.Section, look: Look) -> Box:
    inner = set_blocks(b.blocks, look)
    return stacked([paragraph(plain(b.title, 200), look, TITLE), *inner], 0.08) if inner else EMPTY


def _details(b: blocks.Details, look: Look) -> Box:
    """One line, and what it says below; of the results of checks those that stand open."""
    title = joined(b.title)
    if not b.outcome:
        return paragraph(f"{title}: {b.small}", look, SMALL)
    if b.kind == "line" and not b.opened:
        return EMPTY
    left = 0.26 + look.face.width(title, STRONG.size, bold=True) + 0.15
    beside_it = b.kind != "line"
    said = look.face.cut(plain(b.small, 1000), SMALL.size, look.width - max(0.95, left)) if beside_it else ""
    body = EMPTY if beside_it else paragraph(plain(b.small, 1000), look.within(look.width - 0.26), SMALL, 6)

    def draw(board: Board, top: float) -> None:
        if beside_it:
            board.rule(top)
        _disc(board, (0.1, top + 0.12), blocks.MARKS[b.outcome], _color(b.outcome, look.palette), 9.5)
        board.text((0.26, top + 0.12), title, STRONG)
        board.text((max(0.95, left), top + 0.12), said, SMALL)
        body.draw(board.moved(0.26, look.width - 0.26), top + 0.24)

    return Box(0.24 + body.height, draw)


def _listing(b: blocks.Listing, look: Look) -> Box:
    return stacked([stacked([_details(item, look) for item in b.items], 0.0), paragraph(b.more, look, SMALL)])


def _cards(b: blocks.Cards, look: Look) -> Box:
    """Frames side by side, as tall as the tallest beside it."""
    n = 2 if look.width > 5 and len(b.cards) > 1 else 1
    outer = share(look, n)
    inner, made = outer.within(outer.width - 2 * PAD), []
    for card in b.cards:
        head = _headline(blocks.Headline(card.title, ((card.small, ""),) if card.small else ()), inner)
        made.append(stacked([head, *set_blocks(card.blocks, inner)], 0.09))
    lines = [made[i : i + n] for i in range(0, len(made), n)]
    framed = ([_framed(box, outer, max(other.height for other in line)) for box in line] for line in lines)
    return stacked([beside(line, look, n) for line in framed])


def _framed(card: Box, look: Look, tall: float) -> Box:
    """A card with a border around it."""

    def draw(board: Board, top: float) -> None:
        border = {"fill": False, "edgecolor": look.palette.gray, "alpha": 0.5, "linewidth": 0.6}
        board.box((0.0, top), (look.width, tall + 2 * PAD), border)
        card.draw(board.moved(PAD, look.width - 2 * PAD), top + PAD)

    return Box(tall + 2 * PAD, draw)


def _document(b: blocks.Document, look: Look) -> Box:
    """Every section, one under the other."""
    boxes = [paragraph(plain(b.title, 200), look, PAGE_TITLE), paragraph(plain(b.lead, 2000), look)]
    for heading, text, inner in b.sections:
        boxes += [paragraph(plain(heading, 200), look, HEAD), paragraph(plain(text, 2000), look)]
        boxes += set_blocks(inner, look)
    return stacked(boxes)


def _instance(b: blocks.Instance, look: Look) -> Box:
    """What was explained, with its key."""
    shown = stacked(set_blocks(view_blocks(b), look), 0.14)
    return stacked([shown, instances.set_legend(blocks.TINTS, look)], 0.08) if shown.height else EMPTY


def _field(b: blocks.FieldBlock, look: Look) -> Box:
    """One field with its share of the effect."""
    return stacked([instances.set_field_head(b.name, b.share, look), *set_blocks(b.blocks, look)], 0.05)


SETTERS: Mapping[type, Callable[[Any, Look], Box]] = {
    blocks.Headline: _headline,
    blocks.Judgment: _judgment,
    blocks.LabelCounts: _label_counts,
    blocks.Facts: _facts,
    blocks.Text: _text,
    blocks.Findings: _findings,
    blocks.Notes: _notes,
    blocks.Legend: instances.set_legend,
    blocks.Bars: _bars,
    blocks.PairedBars: _pairs,
    blocks.Matrix: _matrix,
    blocks.Measures: _measures,
    blocks.Scores: _scores,
    blocks.Curves: _curves,
    blocks.Table: _table,
    blocks.ChangeTable: _changes,
    blocks.Section: _section,
    blocks.Details: _details,
    blocks.Listing: _listing,
    blocks.Cards: _cards,
    blocks.Document: _document,
    blocks.Instance: _instance,
    blocks.FieldBlock: _field,
    blocks.Passage: instances.set_passage,
    blocks.Frames: instances.set_frames,
    blocks.Traces: instances.set_traces,
    blocks.HeatMap: instances.set_map,
}  # a figure makes no sound
