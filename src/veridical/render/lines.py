"""Curves of flipped decisions as a figure: a panel a kind of cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.evaluate.records import Curve, Report
from veridical.render.blocks import paragraph
from veridical.render.board import SMALL, STRONG, Block, Board, Look, Palette, stacked
from veridical.render.canvas import Axes
from veridical.render.flips import SAYS, reach_of, steps
from veridical.render.reports import RANGE
from veridical.render.shots import rule
from veridical.render.words import percent, plain

ACROSS, MOST = 2, 12  # panels side by side, and in all
LEFT, HEAD, TALL, FOOT = 0.46, 0.24, 1.7, 0.34  # inches: ticks, title, panel, ticks
COLORS = ("#2f7fc1", "#d9730d", "#0c7d62", "#a8559b", "#8a6d1f", "#cf3a63", "#4a6fd0", "#5f7d2c")
MARKERS = "osD^vPX*"
DASHES: tuple[Any, ...] = ("-", "--", "-.")
NULLS: tuple[Any, ...] = (":", (0, (5, 1, 1, 1)), (0, (6, 3)))


def curves(r: Report, look: Look) -> Block:
    """A panel for every kind of cause: flips by number of parts; methods in color, null rows gray."""
    causes = list(dict.fromkeys(c.cause for c in r.curves))[:MOST]
    across = ACROSS if look.width > 4.6 and len(causes) > 1 else 1
    wide, step = (look.width - 0.2 * (across - 1)) / across, HEAD + TALL + FOOT
    names = list(dict.fromkeys(c.method for c in r.curves))

    def draw(board: Board, top: float) -> None:
        for i, cause in enumerate(causes):
            x, y = i % across * (wide + 0.2), top + i // across * step
            found = [c for c in r.curves if c.cause == cause and np.isfinite(c.rate).any()]
            k, at, size = reach_of(found) if found else 1, (x + LEFT, y + HEAD), (wide - LEFT, TALL)
            board.text((at[0], y + HEAD / 2), look.face.cut(plain(cause), STRONG.size, size[0]), STRONG)
            panel = board.panel(at, size)
            panel.set(xlim=(0, k), ylim=(-0.03, 1.03))
            _panel(panel, r, found, board)
            shares = [((value + 0.03) / 1.06, percent(value)) for value in (0.0, 0.5, 1.0)]
            rule(board, at, size, Axes([(i / k, str(i)) for i in steps(k)], shares))

    told = f"{SAYS}; tinted: {RANGE}."
    panels = Block(step * -(-len(causes) // across), draw)
    return stacked([paragraph(told, look, SMALL), panels, _key(r, names, look)], 0.08)


def _panel(panel: Any, r: Report, found: Sequence[Curve], board: Board) -> None:
    """Methods in color, with their intervals; rows that know more in ink, null rows in gray."""
    thin = board.scale
    for y in (0.0, 0.5, 1.0):
        panel.axhline(y, color=board.look.palette.ink, alpha=0.2, linewidth=0.5 * thin)
    for curve in found:
        k, style = np.arange(len(curve.rate)), _style(r, curve.method, board.look.palette)
        if curve.method in r.methods:
            panel.fill_between(k, curve.low, curve.high, color=style["color"], alpha=0.12, linewidth=0)
        panel.plot(k, curve.rate, linewidth=1.3 * thin, markersize=3.2 * thin, **style)


def _key(r: Report, names: Sequence[str], look: Look) -> Block:
    """A line of each look, and whose it is."""
    places, x, y = list[tuple[float, float, str]](), 0.0, 0.0
    for name in names:
        wide = look.face.width(plain(name, 40), SMALL.size) + 0.55
        if x and x + wide > look.width:
            x, y = 0.0, y + SMALL.step
        places.append((x, y, name))
        x += wide

    def draw(board: Board, top: float) -> None:
        for x, y, name in places:
            middle = top + y + SMALL.step / 2
            style = _style(r, name, look.palette)
            board.line(
                [x, x + 0.15, x + 0.3],
                [middle] * 3,
                {**style, "linewidth": 1.3, "markersize": 3.2, "markevery": [1]},
            )
            board.text((x + 0.36, middle), plain(name, 40), SMALL)

    return Block(y + SMALL.step if names else 0.0, draw)


def _style(r: Report, name: str, colors: Palette) -> dict[str, Any]:
    if name in r.methods:
        i = r.methods.index(name)
        return {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)], "zorder": 3}
    if name in r.references:
        return {"color": colors.ink, "linestyle": DASHES[r.references.index(name) % len(DASHES)]}
    return {"color": colors.gray, "linestyle": NULLS[r.nulls.index(name) % len(NULLS)]}
