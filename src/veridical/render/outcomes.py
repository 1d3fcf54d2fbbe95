"""Verdicts and audits as matplotlib figures."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from veridical.debug.audit import Audit
from veridical.errors import require
from veridical.records import Verdict
from veridical.render.audits import headline
from veridical.render.plot import UP, caption, ink, literal
from veridical.render.verdicts import MARKS, NULLS, RANGE, WORDS, about, lines_of, nulls_of, outcome_of
from veridical.render.words import count, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST, MOST_CHECKS, MOST_METHODS = 30, 40, 16  # measures drawn, and checks and methods
GRAY = "#868b92"
COLORS = {"passed": "#0f8a6d", "failed": "#cf3a63", "error": "#cf3a63", "skipped": GRAY}
STROKES = ("|", "x", "+", "1", "2", "3", "4", ".")  # of null rows, by name
HUGE = 1e100  # what is larger cannot be drawn


def measures(verdict: Verdict, ax: Axes | None = None) -> Axes:
    """A dot and an interval for each measure; null rows are gray."""
    v = verdict
    every = [line for line in lines_of(v) if abs(line.value) < HUGE]
    shown, names = every[:MOST], nulls_of(every[:MOST])
    if ax is None:
        pyplot = require("matplotlib.pyplot", extra="plot")
        _, ax = pyplot.subplots(figsize=(7.2, 2.0 + 0.34 * len(shown)), layout="constrained")
    for row, line in enumerate(shown):
        if line.ranged and max(abs(line.low), abs(line.high)) < HUGE:
            ax.plot([line.low, line.high], [row, row], color=UP, linewidth=1.6, zorder=2)
        ax.plot([line.value], [row], color=UP, marker="o", markersize=6, zorder=3)
    for name, stroke in zip(names, STROKES, strict=False):
        at = [
            (line.nulls[name], row) for row, line in enumerate(shown) if abs(line.nulls.get(name, math.nan)) < HUGE
        ]
        look: Any = {"color": GRAY, "marker": stroke, "markersize": 8, "linestyle": "none", "zorder": 1}
        ax.plot([value for value, _ in at], [row for _, row in at], label=literal(name, 20), **look)
    if abs(v.expected) < HUGE and shown:
        ax.axvline(v.expected, color=ink(ax), linewidth=0.8, linestyle=":")
    _frame(ax, [literal(line.name, 34) for line in shown])
    outcome = outcome_of(v)
    title = textwrap.fill(f"{MARKS[outcome]} {literal(about(v), 60)}: {outcome}", 60)
    ax.set_title(title, loc="left", fontsize="medium", weight="bold", color=COLORS[outcome])
    if names:
        ax.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small", frameon=False, title="null rows")
    lines = [plain(v.sentence, 400), _key(len(names) > 0, math.isfinite(v.expected))]
    lines += [f"And {count(len(every) - MOST, 'more line')}, not drawn."] if len(every) > MOST else []
    caption(ax, lines if shown else [*lines[:1], "No measure has a number."], 76, -24)
    return ax


def _key(nulls: bool, expected: bool) -> str:
    return f"Dots: values; lines: {RANGE}" + "; dotted: expected" * expected + f"; gray: {NULLS}" * nulls + "."


def _frame(ax: Any, names: list[str]) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", linewidth=0.4, alpha=0.5)
    ax.set_axisbelow(True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)


def outcomes(audit: Audit, ax: Axes | None = None) -> Axes:
    """A mark and a word for each check and method."""
    a = audit
    checks = list(dict.fromkeys(r.check for r in a.results))[:MOST_CHECKS]
    methods = list(dict.fromkeys(r.method for r in a.results))[:MOST_METHODS]
    if ax is None:
        pyplot = require("matplotlib.pyplot", extra="plot")
        size = (2.6 + 1.7 * max(len(methods), 2), 1.5 + 0.36 * len(checks))
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    for r in a.results:
        if r.check in checks and r.method in methods:
            at, word = (methods.index(r.method), checks.index(r.check)), f"{MARKS[r.outcome]} {WORDS[r.outcome]}"
            ax.text(*at, word, ha="center", va="center", color=COLORS[r.outcome], fontsize="medium")
    _frame(ax, [literal(name, 30) for name in checks])
    ax.set_xticks(range(len(methods)), [textwrap.fill(literal(name or "outcome", 30), 16) for name in methods])
    ax.set_xlim(-0.6, max(len(methods), 1) - 0.4)
    ax.grid(False)
    ax.xaxis.tick_top()
    ax.tick_params(axis="x", length=0)
    ax.spines["bottom"].set_visible(False)
    ax.set_title(
        textwrap.fill(literal(headline(a), 120), 60), loc="left", fontsize="medium", weight="bold", pad=14
    )
    left = len({(r.check, r.method) for r in a.results}) - len(checks) * len(methods)
    lines = [a.sentence, *([f"And {count(left, 'more result')}, not drawn."] if left > 0 else [])]
    caption(ax, lines, 30 + 20 * max(len(methods), 2), -8)
    return ax
