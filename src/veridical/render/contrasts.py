"""Two explanations side by side as a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from veridical.evaluate.differences import Difference, Side
from veridical.records import Explanation
from veridical.render.beside import notes_of, span_of
from veridical.render.blocks import EMPTY, Row, badge, boxed, draw_bar, legend, notes, paragraph, saying
from veridical.render.board import BODY, SMALL, STRONG, Block, Board, Ink, Look, beside, share, stacked
from veridical.render.differences import (
    KEY,
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
from veridical.render.markup import minus
from veridical.render.scenes import scene
from veridical.render.words import NOT_TESTED, decimals, plain, sentence

MOST_PARTS, MOST_ROWS = 15, 5
ROW, HEAD = 0.4, 0.25  # inches of a part, and of the heads of columns
PLACES = (-0.21, 0.21)  # of the first and the second bar, within the room of a part
TITLE = Ink(10.0, bold=True)


@dataclass(frozen=True, slots=True)
class Line:
    """One part: its name, both weights and the difference in words."""

    name: str
    weights: tuple[str, str]
    apart: str
    interval: str


def contrast(d: Difference, look: Look) -> list[Block]:
    """The verdict, both sides, both weights of each part beside the difference, and rows that changed most."""
    chosen, n = ordered(d, min(MOST_PARTS, look.rows)), 2 if look.width > 5 else 1
    color = look.palette.yes if d.verdict.passed else look.palette.no
    box = ("✓" if d.verdict.passed else "✗", sentence(verdict_words(d)), plain(d.verdict.sentence, 800))
    half = share(look, n)
    shown = [[_told(title, side, half), _seen(d, side, chosen, half)] for title, side in sides(d)]
    both = [beside(pair, look, 2) for pair in zip(*shown, strict=True)] if n == 2 else [*shown[0], *shown[1]]
    first, second = (plain(title, 30) for title in d.titles)
    key = legend([f"upper bar: {first}, lower bar: {second}", KEY], look)
    return [
        saying(" and ".join(plain(title, 60) for title in d.titles), [], look),
        boxed(box, color, look),
        *both,
        stacked([_table(d, chosen, look), key], 0.08) if chosen else paragraph("No part has any weight.", look),
        _rows(d, look),
        notes(notes_of(d, chosen), look),
    ]


def _told(title: str, side: Side, look: Look) -> Block:
    """What one side says."""
    lines = [paragraph(sentence(words), look, SMALL, 6) for words in side_words(side)]
    return stacked([paragraph(plain(title, 80), look, TITLE), *lines], 0.05)


def _seen(d: Difference, side: Side, chosen: list[int], look: Look) -> Block:
    """The instance of one side."""
    if not isinstance(side, Explanation) or side.view is None:
        return EMPTY
    return scene(side.view, marked(d, side, chosen), look)


def _line(d: Difference, j: int, show: Callable[[float], str]) -> Line:
    def say(value: float) -> str:
        return minus(show(value)).strip()

    there = np.isfinite(d.weights[j])
    first, second = (say(w) if ok else absent_words(d, j) for w, ok in zip(d.weights[j], there, strict=True))
    mark, (low, high) = mark_of(d, j), d.intervals[j]
    interval = "not measured" if mark == UNMEASURED else f"{say(low)} to {say(high)}"
    apart = NOT_TESTED if np.isnan(d.difference[j]) else say(d.difference[j])
    return Line(plain(d.parts[j].name), (first, second), f"{mark} {apart}", interval)


def _table(d: Difference, chosen: Sequence[int], look: Look) -> Block:
    """A row a part: both bars, both weights, the difference with its interval."""
    show, keys, face = decimals(formats(d, list(chosen))), letters_of(d, list(chosen)), look.face
    lines = [_line(d, j, show) for j in chosen]
    one = max(face.width(text, BODY.size) for line in lines for text in line.weights) + 0.1
    two = max(face.width(line.apart, BODY.size, bold=True) for line in lines)
    two = max(two, *(face.width(line.interval, SMALL.size) for line in lines)) + 0.1
    keyed = 0.26 if keys else 0.0
    name = min(max(face.width(line.name, BODY.size) for line in lines) + keyed + 0.12, 0.32 * look.width)
    wide = (look.width - name - one - two - 0.24) / 2
    at = (name, name + wide + one + 0.12, wide)

    def draw(board: Board, top: float) -> None:
        first, second = (plain(title, 24) for title in d.titles)
        heads = ((0.0, "Part"), (at[0], "Effect on the output"), (at[1], f"{second} less {first}"))
        for x, head in heads:
            board.text((x, top + HEAD / 2), face.cut(head, SMALL.size, wide + one), SMALL)
        for i, (j, line) in enumerate(zip(chosen, lines, strict=True)):
            y = top + HEAD + ROW * i
            board.line([0.0, look.width], [y, y], {"alpha": 0.18, "linewidth": 0.5})
            if j in keys:
                badge(
                    board.ax,
                    (board.left + 0.09, y + ROW / 2),
                    (keys[j], look.palette.gray, True),
                    6.6 * board.scale,
                )
            board.text((keyed, y + ROW / 2), face.cut(line.name, BODY.size, name - keyed - 0.06), BODY)
            for k, text in enumerate(line.weights):
                place = (at[0] + wide + one, y + ROW * (0.5 + PLACES[k]))
                board.text(place, text, replace(SMALL, align="right", size=8.0, alpha=1.0))
            board.text((look.width, y + ROW * 0.3), line.apart, replace(STRONG, align="right"))
            board.text((look.width, y + ROW * 0.72), line.interval, replace(SMALL, align="right"))
        _panels(d, chosen, (board, top + HEAD), at)

    return Block(HEAD + ROW * len(lines), draw)


def _panels(
    d: Difference, chosen: Sequence[int], place: tuple[Board, float], at: tuple[float, float, float]
) -> None:
    """Both bars of each part on one axis, the difference with its interval on another."""
    (board, top), rows = place, list(chosen)
    spans = span_of(np.nan_to_num(d.weights[rows]), None), span_of(d.difference[rows], d.intervals[rows])
    left, right = (board.panel((x, top), (at[2], ROW * len(rows))) for x in at[:2])
    for panel, (low, high) in zip((left, right), spans, strict=True):
        edge = (high - low) * 0.02 or 1.0
        panel.set(xlim=(low - edge, high + edge), ylim=(len(rows) - 0.5, -0.5))
        panel.axvline(0, color=board.look.palette.ink, alpha=0.45, linewidth=0.8 * board.scale)
    for i, j in enumerate(rows):
        for side, shift in enumerate(PLACES):
            weight = float(np.nan_to_num(d.weights[j, side]))
            draw_bar(left, (i + shift, 0.32), Row("", weight, None, ("", "")), board)
        known = mark_of(d, j) != UNMEASURED
        ends = (float(d.intervals[j, 0]), float(d.intervals[j, 1])) if known else None
        draw_bar(right, (i, 0.32), Row("", float(np.nan_to_num(d.difference[j])), ends, ("", "")), board)


def _rows(d: Difference, look: Look) -> Block:
    """Of many rows, those whose explanations are farthest apart."""
    lines = [
        f"Row {changed_label(d, row)}: "
        + ", ".join(f"{plain(name, 40)} {minus(f'{value:+.3g}')}" for name, value in own.top(2))
        for row, own in changed(d, MOST_ROWS)
    ]
    told = [paragraph(line, look, SMALL) for line in lines]
    return stacked([paragraph("Rows that changed most", look, TITLE), *told], 0.04) if told else EMPTY
