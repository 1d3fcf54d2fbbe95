"""What every figure is made of: verdicts, tables of bars, facts, notes; the same as those of a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from veridical.errors import require
from veridical.records import Verdict
from veridical.render.board import BODY, HEAD, SMALL, STRONG, TINY, Block, Board, Ink, Look, Palette, Place
from veridical.render.markup import minus
from veridical.render.tables import EFFECT, Scale, Span, scale_of
from veridical.render.words import Weighed, measured, part_line, plain, unknown_words

TINIEST = 1e-100  # what an axis can hold
ROW = 0.25  # inches from row to row of a table
EMPTY = Block(0.0, lambda board, top: None)
PAD = 0.11  # inches inside a box
NARROW, NARROW_ROW = 4.6, 0.41  # inches: a table below the first has rows of the second
ALIGNED = ("left", "left", "right", "right")
Badge: TypeAlias = tuple[str, str, bool]  # a letter, its color, and whether it is filled
Heads: TypeAlias = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: a name, a bar, numbers."""

    name: str
    value: float  # nan: no bar
    ends: Span | None  # of its interval, where it was measured
    numbers: tuple[str, str]
    badge: Badge | None = None
    color: str = ""  # that of its sign, if none is given

    def over(self, unit: float) -> Row:
        """The same in another unit, though not in words."""
        ends = None if self.ends is None else (self.ends[0] / unit, self.ends[1] / unit)
        return replace(self, value=self.value / unit, ends=ends)


def paragraph(text: str, look: Look, ink: Ink = BODY, most: int = 12) -> Block:
    """A text in as many lines as it takes, at most so many."""
    lines = look.face.wrap(text, ink.size, look.width, ink.bold)
    lines = lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1] + " …"]

    def draw(board: Board, top: float) -> None:
        for i, line in enumerate(lines):
            board.text((0.0, top + (i + 0.5) * ink.step), line, ink)

    return Block(len(lines) * ink.step if text else 0.0, draw)


def saying(head: str, words: Sequence[str], look: Look) -> Block:
    """What a figure is about, and what is said beside it, as far as there is room in the line."""
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

    return Block(tall, draw)


def judgment(verdict: Verdict, look: Look) -> Block:
    """The verdict in a box, with a mark and a word beside its color."""
    words = "Believe it" if verdict.passed else "Read with care"
    mark, color = ("✓", look.palette.yes) if verdict.passed else ("✗", look.palette.no)
    return boxed((mark, words, plain(verdict.sentence, 800)), color, look)


def boxed(said: tuple[str, str, str], color: str, look: Look) -> Block:
    """A mark, a word in bold and a sentence, in a box of a color."""
    mark, words, sentence = said
    left = 3 * PAD + 0.16
    body = paragraph(sentence, look.within(look.width - left - PAD))
    tall = body.height + BODY.step + 2 * PAD

    def draw(board: Board, top: float) -> None:
        board.box((0.0, top), (look.width, tall), {"color": color, "alpha": 0.1})
        board.box((0.0, top), (0.05, tall), {"color": color})
        middle = top + PAD + BODY.step / 2
        disc(board, (2 * PAD + 0.08, middle), mark, color)
        board.text((left, middle), words, STRONG)
        body.draw(board.moved(left, look.width - left - PAD), top + PAD + BODY.step)

    return Block(tall, draw)


def disc(board: Board, at: Place, mark: str, color: str, size: float = 12.5) -> None:
    """A mark, white on a colored disc."""
    dot = {"color": color, "marker": "o", "markersize": size * board.scale, "markeredgewidth": 0}
    board.line([at[0]], [at[1]], dot)
    board.text(at, mark, Ink(8 * size / 12.5, bold=True, align="center", color="#ffffff"))


def badge(ax: Any, at: Place, letter: Badge, size: float) -> None:
    """The letter of a part on a disc: filled where its sign is settled, hollow where not."""
    text, color, sure = letter
    dot: dict[str, Any] = {"color": color if sure else "#ffffff", "marker": "o", "markersize": 1.75 * size}
    dot |= {"markeredgecolor": "#ffffff" if sure else color, "markeredgewidth": 0.13 * size, "zorder": 5}
    ax.plot([at[0]], [at[1]], **dot)
    fit = size if len(text) == 1 else 0.72 * size
    options = {"color": "#ffffff" if sure else color, "size": fit, "weight": "bold"}
    ax.text(*at, text, ha="center", va="center_baseline", zorder=6, parse_math=False, **options)


def weights_table(
    e: Weighed,
    chosen: Sequence[int],
    look: Look,
    key: Callable[[int], Badge | None] = lambda part: None,
    scale: Scale | None = None,
) -> Block:
    """The chosen parts as bars with whiskers; several tables can share a scale."""
    span, show = scale or scale_of(e, chosen)
    known, rows = measured(e), []
    for j in chosen:
        low, high = (minus(show(end).strip()) for end in e.intervals[j])
        interval = f"{low} to {high}" if known[j] else unknown_words(e, j)
        ends = (float(e.intervals[j, 0]), float(e.intervals[j, 1])) if known[j] else None
        numbers = (minus(show(e.weights[j]).strip()), interval)
        rows.append(Row(part_line(e, j), float(e.weights[j]), ends, numbers, key(j)))
    return table(("Part", "Effect on the output", "Weight", "95 % interval"), rows, (span, look))


def table(heads: Heads, rows: Sequence[Row], room: tuple[Span, Look]) -> Block:
    """Names, bars on one axis, and numbers."""
    span, look = room
    unit = max(map(abs, span)) or 1.0
    unit = 1.0 if TINIEST < unit < 1 / TINIEST else unit  # else axes would overflow
    low, high = (end / unit for end in span)
    drawn = [row.over(unit) for row in rows]
    edge, thick = (high - low) * 0.01 or 1.0, 0.34 if look.width < NARROW else 0.5

    def paint(board: Board, panel: Any) -> None:
        panel.set_xlim(low - edge, high + edge)
        for i, row in enumerate(drawn):
            draw_bar(panel, (i, thick), row, board)
        half = 0.24 if look.width < NARROW else 0.5
        zeros = {"color": look.palette.ink, "alpha": 0.45, "linewidth": 0.8 * board.scale}
        panel.vlines([0.0] * len(rows), *([i + end for i in range(len(rows))] for end in (-half, half)), **zeros)

    return grid(heads, rows, look, paint)


def grid(heads: Heads, rows: Sequence[Row], look: Look, paint: Callable[[Board, Any], None]) -> Block:
    """Rows in columns as wide as they need; ``paint`` draws row i at height i of a panel beside the names.

    Where there is little room, what is drawn stands below names and numbers.
    """
    narrow = look.width < NARROW
    step, at = (NARROW_ROW if narrow else ROW), _columns(heads, rows, look)
    middle = 0.12 if narrow else ROW / 2
    keyed = 0.26 if any(row.badge for row in rows) else 0.0
    top_head = ROW if any(heads) and not narrow else 0.0

    def draw(board: Board, top: float) -> None:
        for x, head, align in zip((0.0, *at[:1], *at[2:]), heads, ALIGNED, strict=True):
            if top_head:
                board.text((x, top + ROW / 2), head, replace(SMALL, align=align))
        left, right = (0.0, look.width) if narrow else at[:2]
        panel = board.panel((left, top + top_head), (right - left, step * len(rows)))
        shift = 0.74 if narrow else 0.5  # where in its row a bar lies
        panel.set_ylim(len(rows) - shift, -shift)
        for i, row in enumerate(rows):
            _written(board, row, (top + top_head + step * i, middle), (at, keyed))
        paint(board, panel)

    return Block(step * len(rows) + top_head if rows else 0.0, draw)


def _columns(heads: Heads, rows: Sequence[Row], look: Look) -> tuple[float, float, float, float]:
    """Where the drawing begins and ends, and where the two columns of numbers end."""
    wide = [
        max(
            look.face.width(text, size, bold=i == 0)
            for text, size in [*((row.numbers[i], 9.0) for row in rows), ("", 9.0)]
        )
        for i in (0, 1)
    ]
    if look.width >= NARROW:
        wide = [max(have, look.face.width(head, SMALL.size)) for have, head in zip(wide, heads[2:], strict=True)]
    first, second = wide[0], wide[1] * 8 / 9 if look.width < NARROW else wide[1]
    keyed = 0.26 if any(row.badge for row in rows) else 0.0
    longest = max((look.face.width(row.name, BODY.size) for row in rows), default=0.0) + keyed
    numbers = first + second + 0.48
    drawn = 0.0 if look.width < NARROW else max(1.2, 0.3 * look.width)
    left = min(longest, max(0.25 * look.width, look.width - numbers - drawn)) + 0.16
    return left, look.width - numbers + 0.16, look.width - second - 0.16, look.width


def _written(
    board: Board, row: Row, place: tuple[float, float], columns: tuple[tuple[float, float, float, float], float]
) -> None:
    """The line above a row, its letter, its name and its numbers."""
    (top, down), (at, keyed), face = place, columns, board.look.face
    board.line([0.0, board.look.width], [top, top], {"alpha": 0.18, "linewidth": 0.5})
    if row.badge:
        badge(board.ax, (board.left + 0.09, top + down), row.badge, 6.6 * board.scale)
    room = min(at[0] - 0.12, at[1] - 0.12) if board.look.width < NARROW else at[0] - 0.12
    board.text((keyed, top + down), face.cut(row.name, BODY.size, room - keyed), BODY)
    board.text((at[2], top + down), row.numbers[0], replace(STRONG, align="right"))
    board.text((at[3], top + down), row.numbers[1], replace(SMALL, align="right", size=8.0))


def draw_bar(panel: Any, at: Place, row: Row, board: Board) -> None:
    """A bar from zero, at a height and so thick: solid if it raises the output, hatched if it lowers it."""
    if not math.isfinite(row.value):
        return
    (height, thick), colors = at, board.look.palette
    own = row.color or (colors.up if row.value > 0 else colors.down)
    hatch = "//////" if row.value < 0 and not row.color else None
    style = {"facecolor": own, "hatch": hatch, "edgecolor": hatched(colors) if hatch else own, "linewidth": 0}
    panel.barh([height], [row.value], height=thick, **style)
    if row.ends:
        line = {"color": colors.ink, "linewidth": 1.1 * board.scale}
        panel.plot(row.ends, [height, height], solid_capstyle="butt", **line)
        panel.plot(row.ends, [height, height], linestyle="none", marker="|", markersize=5 * board.scale, **line)


def faded(color: str, alpha: float) -> Any:
    """A color that lets through what is below it."""
    return require("matplotlib.colors", extra="plot").to_rgba(color, alpha)


def hatched(colors: Palette) -> Any:
    """The strokes over a bar that lowers the output."""
    return faded(colors.down_deep, 0.55)


def legend(words: Sequence[str], look: Look, signs: Sequence[str] = EFFECT) -> Block:
    """What the two sides of a bar mean; then more words."""
    swatches = [*signs, *words]
    lines, x, y = list[tuple[float, float, int]](), 0.0, 0.0
    for i, word in enumerate(swatches):
        wide = look.face.width(word, SMALL.size) + (0.16 if i < len(signs) else 0.0)
        if x and x + wide > look.width:
            x, y = 0.0, y + SMALL.step
        lines.append((x, y, i))
        x += wide + 0.2

    def draw(board: Board, top: float) -> None:
        for x, y, i in lines:
            middle, shift = top + y + SMALL.step / 2, 0.0
            if i < len(signs):
                color = (look.palette.up, look.palette.down)[i]
                hatch = {"hatch": "//////", "edgecolor": hatched(look.palette)} if i else {}
                board.box((x, middle - 0.05), (0.1, 0.1), {"facecolor": color, **hatch})
                shift = 0.16
            board.text((x + shift, middle), look.face.cut(swatches[i], SMALL.size, look.width - shift), SMALL)

    return Block(y + SMALL.step if swatches else 0.0, draw)


def facts(entries: Sequence[tuple[str, str, str]], look: Look) -> Block:
    """Numbers, each with its name above and what it means below, side by side."""
    n = max(min(len(entries), int((look.width - PAD) / 1.4)), 1)
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

    return Block(sum(tall) + 1.4 * PAD if entries else 0.0, draw)


def notes(lines: Sequence[str], look: Look) -> Block:
    """What a reader should know besides, one thing a line."""
    inner = look.within(look.width - PAD)
    told = [paragraph(plain(line, 400), inner, Ink(8.0), 6) for line in lines if line]
    tall = sum(block.height + 0.03 for block in told)

    def draw(board: Board, top: float) -> None:
        board.box((0.0, top), (0.02, tall), {"color": look.palette.gray, "alpha": 0.5})
        for block in told:
            block.draw(board.moved(PAD, inner.width), top)
            top += block.height + 0.03

    return Block(tall, draw)
