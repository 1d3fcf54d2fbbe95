"""A text set in lines, word by word, each word of a part tinted: what figures show of a text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from veridical.errors import harmless
from veridical.records import View
from veridical.render.blocks import PAD, paragraph
from veridical.render.board import TINY, Block, Board, Ink, Look, Palette, stacked
from veridical.render.fonts import POINTS, rightward
from veridical.render.marks import Marks, pieces

WORDS = Ink(9.0)
STEP = 1.7 * WORDS.size / POINTS  # inches from line to line
MOST_LINES, MOST_CHARACTERS = 24, 100_000
TOKENS = re.compile(r"\n|[^\S\n]+|[^\s]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A piece of a line: what stands there, where, and whose it is."""

    text: str
    part: int  # -1: no part's
    left: float  # inches
    width: float


def passage(view: View, marks: Marks, look: Look) -> Block:
    """The text in a box; of a long one, the lines with the heaviest parts."""
    text = str(view.data["text"])
    inner = look.within(look.width - 2 * PAD)
    lines = _lines(view, inner)
    chosen = _telling(lines, marks)
    shown = [(*(lines[i] for i in run),) for run in _runs(chosen)]
    some = len(chosen) < len(lines) or len(text) > MOST_CHARACTERS
    note = f"{len(chosen)} of {len(lines):,} lines: those with the heaviest parts." if some else ""
    tall = STEP * (len(chosen) + max(len(shown) - 1, 0)) + 2 * PAD
    turned = not rightward(text)

    def draw(board: Board, top: float) -> None:
        board.box((0.0, top), (look.width, tall), {"fill": False, "edgecolor": look.palette.gray, "alpha": 0.4,
                                                   "linewidth": 0.6})  # fmt: skip
        here, y = board.moved(PAD, inner.width), top + PAD + STEP / 2
        for i, run in enumerate(shown):
            if i:
                here.text((0.0, y), "⋯", WORDS)
                y += STEP
            for line in run:
                for word in line:
                    _word(here, (inner.width - word.left - word.width if turned else word.left, y), word, marks)
                y += STEP

    return stacked([Block(tall, draw), paragraph(note, look, TINY)], 0.05)


def _word(board: Board, at: tuple[float, float], word: Word, marks: Marks) -> None:
    """Tinted by sign and strength; a solid line below what raises the output, dashes below what lowers it."""
    (x, y), sign, colors = at, marks.sign(word.part), board.look.palette
    if sign:
        strength, color = abs(float(marks.strengths[word.part])), side(colors, sign)
        board.box(
            (x, y - 0.36 * STEP), (word.width, 0.72 * STEP), {"color": color, "alpha": 0.07 + 0.45 * strength}
        )
        if marks.sure[word.part]:
            look = {"color": color, "alpha": 0.4 + 0.6 * strength, "linewidth": 1.3}
            dashes = {"linestyle": (0, (2.2, 1.2))} if sign < 0 else {}
            board.line([x, x + word.width], [y + 0.36 * STEP] * 2, {**look, **dashes})
    if word.text.strip():
        board.text((x, y), word.text, WORDS)


def side(colors: Palette, sign: float) -> str:
    """The color of a sign."""
    return colors.up if sign > 0 else colors.down


def _lines(view: View, look: Look) -> list[list[Word]]:
    """All lines of a text; a word that is too long for one is broken."""
    lines, x, wrapped = [list[Word]()], 0.0, False
    for token, part in _tokens(view):
        for piece in [token] if token.isspace() else look.face.wrap(token, WORDS.size, look.width):
            width = look.face.width(piece, WORDS.size) if piece != "\n" else math.inf
            if x + width > look.width and (x or piece == "\n"):
                lines.append([])
                x, wrapped = 0.0, piece != "\n"
            if piece == "\n" or (piece.isspace() and not x and wrapped):
                continue  # no space where a line was broken
            lines[-1].append(Word(piece, part, x, width))
            x += width
    return lines


def _tokens(view: View) -> Iterator[tuple[str, int]]:
    """Words, spaces and line breaks, each with its part."""
    used = 0
    for text, part in pieces(view):
        for token in TOKENS.findall(text.replace("\r\n", "\n").replace("\r", "\n")):
            safe = token if token == "\n" or token.isprintable() else "".join(map(harmless, token))
            yield safe, part
        used += len(text)
        if used > MOST_CHARACTERS:
            return


def _telling(lines: Sequence[Sequence[Word]], marks: Marks) -> list[int]:
    """At most so many lines, in order: the first, and those with the heaviest parts."""
    if len(lines) <= MOST_LINES:
        return list(range(len(lines)))

    def weight(i: int) -> float:
        known = (abs(float(marks.strengths[w.part])) for w in lines[i] if marks.sign(w.part))
        return max(known, default=0.0) + 2 * (i == 0)

    return sorted(sorted(range(len(lines)), key=weight, reverse=True)[: MOST_LINES - 4])


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    """Numbers that follow one another, together."""
    runs = groupby(enumerate(numbers), key=lambda found: found[1] - found[0])
    return [[n for _, n in run] for _, run in runs]
