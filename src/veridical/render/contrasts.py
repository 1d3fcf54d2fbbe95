"""Two explanations side by side as a matplotlib figure."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.errors import require
from veridical.evaluate.differences import Difference
from veridical.render.differences import MARKS, UNMEASURED, mark_of, ordered, side_words, sides, verdict_words
from veridical.render.plot import DOWN, UP, caption, ink, literal
from veridical.render.words import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 12  # parts drawn
PLACES = (-0.27, 0.0, 0.27)  # of the first, the second and the difference, within the room of a part


def contrast(difference: Difference, ax: Axes | None = None) -> Axes:
    """Three lines a part: a bar for each side, and the difference as a dot with its 95 % interval."""
    d, chosen = difference, ordered(difference, MOST)
    if ax is None:
        pyplot = require("matplotlib.pyplot", extra="plot")
        _, ax = pyplot.subplots(figsize=(7.6, 2.6 + 0.62 * len(chosen)), layout="constrained")
    rows, first, second = np.arange(len(chosen)), *(literal(title, 30) for title in d.titles)
    for side, hatch in enumerate(("////", None)):
        weights = np.nan_to_num(d.weights[chosen, side])
        colors = [UP if w > 0 else DOWN for w in weights]
        look: Any = {"facecolor": "none", "edgecolor": colors, "hatch": hatch} if hatch else {"color": colors}
        ax.barh(rows + PLACES[side], weights, height=0.25, **look)
    for row, j in enumerate(chosen):
        _dot(ax, d, j, row + PLACES[2])
    ax.set_yticks(rows, [f"{mark_of(d, j)} {literal(d.parts[j].name, 34)}" for j in chosen])
    ax.set_ylim(max(len(chosen), 1) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    for spine in ("top", "right", "left"):
        ax.spines[spine].set_visible(False)
    if chosen:
        ax.axvline(0, color=ink(ax), linewidth=0.8)
        ax.set_xlabel("weight; dot: the difference, with 95 % interval")
    else:
        ax.set_xticks([])
        ax.text(0.5, 0.5, "no part has any weight", transform=ax.transAxes, ha="center", va="center")
    title = textwrap.fill(f"{second} less {first}: {verdict_words(d)}", 56)
    ax.set_title(title, loc="left", fontsize="medium", weight="bold")
    caption(ax, _lines(d), 80, -38 if chosen else -8)
    return ax


def _dot(ax: Any, d: Difference, j: int, at: float) -> None:
    """One difference: a full dot where it is larger than the noise, an empty one where it may be noise."""
    color, mark = ink(ax), mark_of(d, j)
    if mark != UNMEASURED:
        ax.plot(d.intervals[j], [at, at], color=color, linewidth=1.2, solid_capstyle="butt")
    face = color if d.larger[j] else "none"
    ax.plot([d.difference[j]], [at], color=color, marker="o", markersize=5, markerfacecolor=face)


def _lines(d: Difference) -> list[str]:
    """The verdict, how to read the marks, and what each side says."""
    key = "; ".join(f"{mark} {words}" for mark, words in MARKS.items())
    lines = [
        plain(d.verdict.sentence, 400),
        f"Hatched: {plain(d.titles[0], 30)}; full: {plain(d.titles[1], 30)}; {key}",
    ]
    return [*lines, *(f"{plain(title, 30)}: {words}" for title, side in sides(d) for words in side_words(side))]
