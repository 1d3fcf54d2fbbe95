"""Verdicts and audits as figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from veridical.debug.audit import Audit, Result
from veridical.records import Verdict
from veridical.render.audits import by_outcome, facts_of, headline, overall, question_of, said_of
from veridical.render.blocks import EMPTY, Row, boxed, disc, facts, grid, legend, notes, paragraph, saying
from veridical.render.board import BODY, SMALL, STRONG, Block, Board, Look, Palette, stacked
from veridical.render.markup import minus
from veridical.render.verdicts import (
    MARKS,
    NULLS,
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
from veridical.render.words import count, first, plain, sentence

MOST, MOST_CHECKS, MOST_METHODS, MOST_SAID = 30, 40, 8, 8  # measures, checks and methods drawn, sentences told
MOST_NOTES = 6
STROKES = ("|", "x", "+", "1", "2", "3", "4", ".")  # of null rows, by name
HUGE = 1e100  # what is larger cannot be drawn


def color_of(outcome: str, colors: Palette) -> str:
    """Of what passed, failed or never ran."""
    known = {"passed": colors.yes, "failed": colors.no, "error": colors.no}
    return known.get(outcome, colors.gray)


def verdict(v: Verdict, look: Look) -> list[Block]:
    """What a check found: a dot and an interval for each measure; null rows are gray."""
    outcome, asks = outcome_of(v), question_of(v.check)
    every = [line for line in lines_of(v) if abs(line.value) < HUGE]
    rows, names, left = rows_words(v), nulls_of(every[:MOST]), len(every) - MOST
    lines = [f"And {count(left, 'more line')}, not drawn."] if left > 0 else []
    lines += [] if every else ["No measure has a number."]
    lines += [f"{rows} of the data{', the worst first' if len(v.rows) > 1 else ''}."] if rows else []
    return [
        saying(about(v), [asks] if asks else [], look),
        boxed((MARKS[outcome], WORDS[outcome], plain(v.sentence, 1000)), color_of(outcome, look.palette), look),
        stacked([_measures(every[:MOST], v.expected, names, look), _key(names, v.expected, look)], 0.06)
        if every
        else EMPTY,
        notes([*lines, *first(v.notes, MOST_NOTES)], look),
    ]


def _measures(lines: Sequence[Line], expected: float, names: Sequence[str], look: Look) -> Block:
    rows = [
        Row(plain(line.name), line.value, None, (minus(brief(line.value)), minus(span_words(line))))
        for line in lines
    ]

    def paint(board: Board, panel: Any) -> None:
        thin = board.scale
        for i, line in enumerate(lines):
            if line.ranged and max(abs(line.low), abs(line.high)) < HUGE:
                panel.plot([line.low, line.high], [i, i], color=look.palette.up, linewidth=1.6 * thin, zorder=2)
            panel.plot([line.value], [i], color=look.palette.up, marker="o", markersize=5 * thin, zorder=3)
            for name, stroke in zip(names, STROKES, strict=False):
                value = line.nulls.get(name, math.nan)
                if abs(value) < HUGE:
                    style = {"marker": stroke, "markersize": 6 * thin, "zorder": 1}
                    panel.plot([value], [i], color=look.palette.gray, **style)
        if abs(expected) < HUGE:
            panel.axvline(expected, color=look.palette.ink, linewidth=0.8 * thin, linestyle=":")
        panel.margins(x=0.04)

    return grid(("Measure", "", "Value", "95 % interval"), rows, look, paint)


def _key(names: Sequence[str], expected: float, look: Look) -> Block:
    """What the signs mean."""
    said = [f"● value, ─ {RANGE}", *(["┊ expected"] if math.isfinite(expected) else [])]
    words = legend([*said, *([f"gray: {NULLS}:"] if names else [])], look, ())
    return stacked([words, _strokes(names, look)], 0.02)


def _strokes(names: Sequence[str], look: Look) -> Block:
    places, x, y = list[tuple[float, float, str, str]](), 0.06, 0.0
    for name, stroke in zip(names, STROKES, strict=False):
        said = look.face.cut(plain(name), SMALL.size, look.width - 0.2)
        wide = look.face.width(said, SMALL.size) + 0.32
        if x > 0.06 and x + wide > look.width:
            x, y = 0.06, y + SMALL.step
        places.append((x, y, stroke, said))
        x += wide

    def draw(board: Board, top: float) -> None:
        for x, y, stroke, said in places:
            middle = top + y + SMALL.step / 2
            style = {"color": look.palette.gray, "marker": stroke, "markersize": 6 * board.scale}
            board.line([x], [middle], style)
            board.text((x + 0.1, middle), said, SMALL)

    return Block(y + SMALL.step if places else 0.0, draw)


def audit(a: Audit, look: Look) -> list[Block]:
    """The outcome of all checks, then what those say that failed."""
    outcome = overall(a)
    word = "Not checked" if outcome == "skipped" else WORDS[outcome]
    failed = [r for kind, some in by_outcome(a) for r in some if kind in {"failed", "error"}]
    more = len(failed) - MOST_SAID
    left = [f"And {count(more, 'more result')} that failed, not told here."] if more > 0 else []
    return [
        saying(headline(a), [], look),
        boxed((MARKS[outcome], word, plain(a.sentence, 1000)), color_of(outcome, look.palette), look),
        facts(facts_of(a), look),
        _overview(a, look),
        *(_told(r, look) for r in failed[:MOST_SAID]),
        notes([*left, *first(a.notes, MOST_NOTES)], look),
    ]


def _overview(a: Audit, look: Look) -> Block:
    """A line a check, a column a method."""
    checks = list(dict.fromkeys(r.check for r in a.results))
    methods = list(dict.fromkeys(r.method for r in a.results))[:MOST_METHODS]
    found, shown = {(r.check, r.method): r.outcome for r in a.results}, checks[:MOST_CHECKS]
    names = [look.face.cut(plain(check), BODY.size, look.width * 0.4) for check in shown]
    left = max((look.face.width(name, BODY.size) for name in names), default=0.0) + 0.25
    wide, step = min((look.width - left) / max(len(methods), 1), 1.6), 0.25

    def draw(board: Board, top: float) -> None:
        for k, method in enumerate(methods):
            title = look.face.cut(plain(method) or "Outcome", SMALL.size, wide - 0.08)
            board.text((left + k * wide, top + step / 2), title, SMALL)
        for i, check in enumerate(shown):
            y = top + (i + 1) * step
            board.line([0.0, look.width], [y, y], {"alpha": 0.18, "linewidth": 0.5})
            board.text((0.0, y + step / 2), names[i], BODY)
            for k, method in enumerate(methods):
                outcome = found.get((check, method), "")
                if outcome:
                    _cell(board, (left + k * wide, y + step / 2), outcome)

    left_out = len(checks) - len(shown)
    more = f"And {count(left_out, 'more check')}, not drawn." if left_out > 0 else ""
    return stacked([Block(step * (len(shown) + 1) if shown else 0.0, draw), paragraph(more, look, SMALL)], 0.05)


def _cell(board: Board, at: tuple[float, float], outcome: str) -> None:
    color = color_of(outcome, board.look.palette)
    disc(board, (at[0] + 0.07, at[1]), MARKS[outcome], color, 9.5)
    board.text((at[0] + 0.19, at[1]), WORDS[outcome], replace(BODY, color=color))


def _told(r: Result, look: Look) -> Block:
    """What a check says that failed."""
    name = " · ".join(plain(word, 40) for word in (r.check, r.method) if word)
    body = paragraph(sentence(said_of(r)), look.within(look.width - 0.25), SMALL, 6)

    def draw(board: Board, top: float) -> None:
        disc(board, (0.09, top + BODY.step / 2), MARKS[r.outcome], color_of(r.outcome, look.palette), 9.5)
        board.text((0.25, top + BODY.step / 2), name, STRONG)
        body.draw(board.moved(0.25, look.width - 0.25), top + BODY.step)

    return Block(body.height + BODY.step, draw)
