"""A report as a figure: a panel a metric, in it a dot and an interval a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from veridical.evaluate.records import Report
from veridical.render.blocks import EMPTY, facts, notes, paragraph, saying
from veridical.render.board import SMALL, Block, Board, Look, stacked
from veridical.render.canvas import Axes, short, ticks
from veridical.render.lines import curves
from veridical.render.reports import BEST, RANGE, Cell, Column, facts_of, headline, sheets_of
from veridical.render.shots import rule
from veridical.render.words import count, first, plain

MOST, WIDEST = 40, 1.9  # panels in all, and inches of one
LINE, HEAD, FOOT = 0.2, 0.24, 0.28  # inches: a line in a panel, its title, its ticks
BELOW = 0.24  # how far below a method its own weights, shuffled, are drawn
HUGE = 1e100  # what is larger cannot be drawn


@dataclass(frozen=True, slots=True)
class Rows:
    """The lines of every panel: names from the top, and whose weights are shuffled in which row."""

    names: Sequence[str]
    own: Mapping[str, str]


def report(r: Report, look: Look) -> list[Block]:
    """What was compared and found; of known causes the curves, else a panel for every metric that has a number."""
    columns = [c for sheet in sheets_of(r) for c in sheet.columns]
    known = [c for c in columns if any(_drawable(cell) for cell in c.cells)]
    own = {f"shuffled {name}": name for name in r.methods}
    rows = Rows([*r.methods, *(null for null in r.nulls if null not in own)], own)
    found = stacked([paragraph(plain(said, 900), look) for said in r.findings], 0.05)
    drawn = [curves(r, look)] if r.curves else [_panels(known[:MOST], rows, look)]
    said = [] if r.curves else _words(columns, known, known[:MOST])
    return [
        saying(headline(r), [], look),
        facts(facts_of(r), look),
        found,
        *drawn,
        stacked([paragraph(line, look, SMALL) for line in said], 0.03),
        notes(first(r.notes), look),
    ]


def _panels(columns: Sequence[Column], rows: Rows, look: Look) -> Block:
    """Panels side by side, the names of the rows at the left of each line of them."""
    if not columns:
        return EMPTY
    names = [look.face.cut(plain(name), SMALL.size, look.width * 0.3) for name in rows.names]
    left = max(look.face.width(name, SMALL.size) for name in names) + 0.12
    across = max(int((look.width - left) // 1.24), 1)
    wide = min((look.width - left) / min(across, len(columns)), WIDEST)
    tall = HEAD + LINE * len(names) + FOOT

    def draw(board: Board, top: float) -> None:
        for i, column in enumerate(columns):
            at, size = (
                (left + i % across * wide, top + i // across * tall + HEAD),
                (wide - 0.22, LINE * len(names)),
            )
            title = look.face.cut(f"{plain(column.metric.name)} {column.arrow}", SMALL.size, wide - 0.1)
            board.text((at[0], at[1] - HEAD / 2), title, replace(SMALL, bold=True, alpha=1.0))
            for k, name in enumerate(names if i % across == 0 else ()):
                board.text((0.0, at[1] + LINE * (k + 0.5)), name, SMALL)
            panel = board.panel(at, size)
            panel.set_ylim(len(names) - 0.5, -0.5)
            _draw(panel, column, rows, board)
            rule(board, at, size, _axis(panel, column))

    return Block(tall * -(-len(columns) // across), draw)


def _axis(panel: Any, column: Column) -> Axes:
    """An axis that holds all that is drawn, with a few ticks."""
    known = [cell.score for cell in column.cells if _drawable(cell)]
    ends = [end for s in known for end in (s.mean, s.low, s.high) if abs(end) < HUGE]
    low, high = min(ends), max(ends)
    edge = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    low, high = low - edge, high + edge
    panel.set_xlim(low, high)
    return Axes([((value - low) / (high - low), short(value)) for value in ticks(low, high, 4)])


def _drawable(cell: Cell) -> bool:
    return abs(cell.score.mean) < HUGE


def _draw(panel: Any, column: Column, rows: Rows, board: Board) -> None:
    """The best are filled, the others hollow; null rows are gray."""
    colors, thin = board.look.palette, board.scale
    for at in range(len(rows.names)):
        panel.axhline(at, color=colors.ink, alpha=0.15, linewidth=0.4 * thin, zorder=0)
    for cell in column.cells:
        name, null = cell.score.method, cell.score.null
        line = rows.own.get(name, name)
        if not _drawable(cell) or line not in rows.names:
            continue
        height, color = rows.names.index(line) + BELOW * (name in rows.own), colors.gray if null else colors.up
        if cell.ranged and max(abs(cell.score.low), abs(cell.score.high)) < HUGE:
            panel.plot(
                [cell.score.low, cell.score.high],
                [height, height],
                color=color,
                linewidth=1.4 * thin,
                zorder=2 - null,
            )
        fill = color if cell.best or null else "none"
        look = {"marker": "|" if name in rows.own else "o", "markersize": 5 * thin, "markerfacecolor": fill}
        panel.plot([cell.score.mean], [height], color=color, zorder=3 - null, **look)


def _words(columns: Sequence[Column], known: Sequence[Column], shown: Sequence[Column]) -> list[str]:
    """What the signs mean, and what is not there."""
    arrows = "; ".join({c.arrow: f"{c.arrow} {c.metric.better} is better" for c in shown}.values())
    nulls = any(cell.score.null for c in shown for cell in c.cells)
    lines = [f"{arrows}. Dots: means; lines: {RANGE}."] if shown else ["No metric has a number."]
    lines += [f"Filled: {BEST}."] if any(cell.best for c in shown for cell in c.cells) else []
    lines += ["Gray: null rows; gray strokes: the method's own weights, shuffled."] if nulls and shown else []
    missing = [c for c in columns if c not in known]
    lines += [f"{plain(c.metric.name, 40)} is not drawn: {_why(c)}." for c in missing[:4]]
    left = len(missing[4:]) + len(known) - len(shown)
    return [*lines, *([f"And {count(left, 'more metric')}, not drawn."] if left else [])]


def _why(column: Column) -> str:
    reasons = dict.fromkeys(plain(cell.score.reason, 120) for cell in column.cells if cell.score.reason)
    return next(iter(reasons), "it has no number")
