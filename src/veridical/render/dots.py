"""A report as a matplotlib figure: a panel a metric, in it a dot and an interval a method."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from veridical.errors import require
from veridical.evaluate.records import Report
from veridical.render.plot import UP, caption, literal
from veridical.render.reports import BEST, RANGE, Cell, Column, headline, sheets_of
from veridical.render.words import count, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS, MOST = 3, 40  # panels side by side, unless there are many; and in all
PANEL, LINE, GAP = 2.7, 0.24, 0.8  # inches: width of a panel, height of a line in it, space between panels
BELOW = 0.24  # how far below a method its own weights, shuffled, are drawn
HUGE = 1e100  # what is larger cannot be drawn
GRAY = "#868b92"


def dots(report: Report, ax: Axes | None = None) -> Axes:
    """A panel for every metric that has a number, all inside ``ax``; null rows are gray.

    A method's own weights, shuffled, stand just below it; the other null rows have lines of their own.
    """
    columns = [c for sheet in sheets_of(report) for c in sheet.columns]
    known = [c for c in columns if any(_drawable(cell) for cell in c.cells)]
    shown, own = known[:MOST], {f"shuffled {name}": name for name in report.methods}
    rows = [*report.methods, *(null for null in report.nulls if null not in own)]
    across = max(min(len(shown), max(ACROSS, math.ceil(math.sqrt(len(shown))))), 1)
    down, tall = max(math.ceil(len(shown) / across), 1), LINE * len(rows)
    if ax is None:
        pyplot = require("matplotlib.pyplot", extra="plot")
        size = (1.8 + PANEL * across, 0.9 + (tall + GAP) * down)
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    ax.set_axis_off()
    high = tall / (tall + GAP) / down
    for i, column in enumerate(shown):
        box = ((i % across) / across, 1 - (i // across) / down - high, 0.88 / across, high)
        panel = ax.inset_axes(box)
        _frame(panel, column, rows, named=i % across == 0)
        _draw(panel, column, rows, own)
    ax.set_title(
        textwrap.fill(literal(headline(report), 160), 44 * across),
        loc="left",
        fontsize="medium",
        weight="bold",
        pad=24,
    )
    caption(ax, _words(columns, known, shown), 44 * across, 24)
    return ax


def _drawable(cell: Cell) -> bool:
    return abs(cell.score.mean) < HUGE


def _frame(panel: Any, column: Column, rows: Sequence[str], named: bool) -> None:
    """Title, lines and names of a panel; names only at the left."""
    panel.set_title(f"{literal(column.metric.name, 30)} {column.arrow}", fontsize="small", loc="left", pad=4)
    panel.set_yticks(range(len(rows)), [literal(name, 26) for name in rows] if named else [""] * len(rows))
    panel.set_ylim(len(rows) - 0.5, -0.5)
    panel.tick_params(labelsize="small", length=2)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="y", linewidth=0.4, alpha=0.5)
    panel.set_axisbelow(True)
    panel.locator_params(axis="x", nbins=4)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)


def _draw(panel: Any, column: Column, rows: Sequence[str], own: dict[str, str]) -> None:
    """The best are filled, the others hollow; null rows are gray."""
    for cell in column.cells:
        if not _drawable(cell):
            continue
        name, null = cell.score.method, cell.score.null
        at, color = rows.index(own.get(name, name)) + BELOW * (name in own), GRAY if null else UP
        if cell.ranged and max(abs(cell.score.low), abs(cell.score.high)) < HUGE:
            panel.plot([cell.score.low, cell.score.high], [at, at], color=color, linewidth=1.4, zorder=2 - null)
        look = {"marker": "|" if name in own else "o", "markersize": 5.5}
        fill = color if cell.best or null else panel.get_facecolor()
        panel.plot([cell.score.mean], [at], color=color, markerfacecolor=fill, zorder=3 - null, **look)


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
