"""Curves of flipped decisions as a matplotlib figure: a panel a kind of cause."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.errors import require
from veridical.evaluate.records import Curve, Report
from veridical.render.plot import caption, ink, literal
from veridical.render.reports import RANGE, headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ACROSS, MOST = 3, 12  # panels side by side, and in all
WIDE, TALL = 3.1, 2.5  # inches of a panel
COLORS = ("#2f7fc1", "#d9730d", "#0f8a6d", "#a8559b", "#8a6d1f", "#cf3a63", "#4a6fd0", "#5f7d2c")
MARKERS = "osD^vPX*"
DASHES: tuple[Any, ...] = ("-", "--", "-.")
NULLS: tuple[Any, ...] = (":", (0, (5, 1, 1, 1)), (0, (6, 3)))
GRAY = "#868b92"


def lines(report: Report, ax: Axes | None = None) -> Axes:
    """A panel for every kind of cause, all inside ``ax``: flips by number of parts, null rows gray."""
    causes = list(dict.fromkeys(c.cause for c in report.curves))[:MOST]
    across = min(len(causes), ACROSS)
    down = math.ceil(len(causes) / across)
    if ax is None:
        pyplot = require("matplotlib.pyplot", extra="plot")
        size = (0.8 + WIDE * across, 1.6 + TALL * down)
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    ax.set_axis_off()
    for i, cause in enumerate(causes):
        box = ((i % across) / across, 1 - (i // across + 0.8) / down, 0.84 / across, 0.72 / down)
        panel = ax.inset_axes(box)
        _panel(panel, report, [c for c in report.curves if c.cause == cause])
        panel.set_title(literal(cause, 30), fontsize="small", loc="left", pad=4)
    handles, names = panel.get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 0.97), "frameon": False}
    ax.legend(handles, names, ncols=min(len(names), 1 + 2 * across), fontsize="small", **place)
    title = textwrap.fill(literal(headline(report), 160), 38 * across)
    ax.set_title(title, loc="left", fontsize="medium", weight="bold", pad=30)
    told = "Share of wrong decisions if only the k heaviest parts are changed, by k"
    caption(ax, [f"{told}; tinted: {RANGE}."], 44 * across, 12)
    return ax


def _panel(panel: Any, report: Report, curves: Sequence[Curve]) -> None:
    """Methods in color, with their intervals; rows that know more in ink, null rows in gray."""
    for curve in curves:
        k, look = np.arange(len(curve.rate)), _look(report, curve.method, ink(panel))
        if curve.method in report.methods:
            panel.fill_between(k, curve.low, curve.high, color=look["color"], alpha=0.12, linewidth=0)
        panel.plot(k, curve.rate, label=literal(curve.method, 26), linewidth=1.4, markersize=3.5, **look)
    panel.set_ylim(-0.03, 1.03)
    panel.tick_params(labelsize="small", length=2)
    panel.grid(axis="y", linewidth=0.4, alpha=0.5)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _look(report: Report, name: str, color: Any) -> dict[str, Any]:
    if name in report.methods:
        i = report.methods.index(name)
        return {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)], "zorder": 3}
    if name in report.references:
        return {"color": color, "linestyle": DASHES[report.references.index(name) % len(DASHES)]}
    return {"color": GRAY, "linestyle": NULLS[report.nulls.index(name) % len(NULLS)]}
