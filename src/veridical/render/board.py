"""What every figure is drawn on: a board measured in inches, on which blocks stand one under the other.

A figure of our own is as tall as its blocks. On the axes of somebody else, the blocks are set smaller until they
fit; all panels are child axes of the axes that were given, so nothing is drawn outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from veridical.errors import require
from veridical.render.fonts import POINTS, SHRUNK, Face, face_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, MARGIN, GAP, COLUMN = 7.6, 0.2, 0.16, 0.24  # inches: of a figure, around it, between blocks, columns
NARROWEST = 3.2  # inches that blocks are set in, before they get smaller
SCALES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.44, 0.38, 0.33, 0.28, 0.24, 0.2, 0.16, 0.12)
READABLE = 0.7  # scale below which rather fewer rows are drawn
TRIED = (*((rows, s) for rows in (20, 12, 8) for s in SCALES if s >= READABLE), *((5, s) for s in SCALES))
LINE = 1.35  # times the size of its letters, from line to line

Place: TypeAlias = tuple[float, float]  # inches right and down, or wide and tall
Style: TypeAlias = Mapping[str, Any]  # as matplotlib calls it


@dataclass(frozen=True, slots=True)
class Ink:
    """How a text is written."""

    size: float = 9.0  # points
    bold: bool = False
    alpha: float = 1.0
    align: str = "left"
    color: str = ""  # that of the style, if none is given

    @property
    def step(self) -> float:
        """Inches from line to line."""
        return LINE * self.size / POINTS


BODY, HEAD, STRONG = Ink(), Ink(11.5, bold=True), Ink(bold=True)
SMALL, TINY = Ink(7.6, alpha=0.8), Ink(6.8, alpha=0.8)


@dataclass(frozen=True, slots=True)
class Palette:
    """Colors: blue and orange are told apart by every eye."""

    ink: str
    up: str  # raises the output
    down: str
    up_deep: str  # of lines and letters
    down_deep: str
    yes: str
    no: str
    gray: str = "#868b92"


LIGHT = Palette("#1d2126", "#2f7fc1", "#d9730d", "#1d5d97", "#a34a00", "#0c7d62", "#cf3a63")
DARK = Palette("#e4e7ea", "#58a6e6", "#f0923e", "#1d5d97", "#a34a00", "#2bb391", "#f0698c")


@dataclass(frozen=True, slots=True)
class Look:
    """What blocks are set by."""

    width: float  # inches
    palette: Palette
    face: Face
    rows: int = 20  # of a table, at most

    def within(self, width: float) -> Look:
        """The same in another width."""
        return replace(self, width=width)


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """Axes as a sheet of paper: places are inches from the upper left corner, whatever it was scaled to."""

    ax: Any
    size: tuple[float, float]
    scale: float
    look: Look
    left: float = 0.0

    def moved(self, left: float, width: float) -> Board:
        """A part of the board, further right."""
        return replace(self, left=self.left + left, look=self.look.within(width))

    def text(self, at: Place, text: str, ink: Ink = BODY) -> Any:
        """One line of text, taken literally; its place is the middle of its height."""
        shown = self.look.face.drawable(text)
        return self.ax.text(
            self.left + at[0],
            at[1],
            shown,
            color=ink.color or self.look.palette.ink,
            alpha=ink.alpha,
            family=list(self.look.face.family(shown)),
            size=ink.size * self.scale,
            weight="bold" if ink.bold else "normal",
            ha=ink.align,
            va="center_baseline",
            parse_math=False,
        )

    def box(self, at: Place, size: Place, style: Style) -> None:
        """A filled rectangle without a border, unless the style has one."""
        patches = require("matplotlib.patches", extra="plot")
        plain = {"linewidth": 0, "zorder": 0.5}
        self.ax.add_patch(patches.Rectangle((self.left + at[0], at[1]), *size, **{**plain, **style}))

    def line(self, xs: Sequence[float], ys: Sequence[float], style: Style) -> None:
        """A line through points, thin unless the style says otherwise."""
        plain = {"color": self.look.palette.ink, "solid_capstyle": "butt", "linewidth": 0.6}
        options = {**plain, **style}
        options["linewidth"] *= self.scale
        self.ax.plot([self.left + x for x in xs], ys, **options)

    def panel(self, at: Place, size: Place) -> Any:
        """Axes of their own on the board, bare."""
        wide, tall = self.size
        box = ((self.left + at[0]) / wide, 1 - (at[1] + size[1]) / tall, size[0] / wide, size[1] / tall)
        panel = self.ax.inset_axes(box)
        panel.set_facecolor("none")
        panel.set(xticks=[], yticks=[])
        for spine in panel.spines.values():
            spine.set_visible(False)
        return panel


@dataclass(frozen=True, slots=True)
class Block:
    """Something as wide as the board, and so tall."""

    height: float
    draw: Callable[[Board, float], None]  # on a board, from this height down


Blocks: TypeAlias = Callable[[Look], Sequence[Block]]


def stacked(blocks: Sequence[Block], gap: float = GAP) -> Block:
    """Blocks one under the other."""
    shown = [block for block in blocks if block.height > 0]

    def draw(board: Board, top: float) -> None:
        for block in shown:
            block.draw(board, top)
            top += block.height + gap

    return Block(sum(block.height for block in shown) + gap * max(len(shown) - 1, 0), draw)


def beside(columns: Sequence[Block], look: Look, n: int) -> Block:
    """At most n blocks side by side, each of the width of ``share(look, n)``."""
    wide = share(look, n).width

    def draw(board: Board, top: float) -> None:
        for i, block in enumerate(columns):
            block.draw(board.moved(i * (wide + COLUMN), wide), top)

    return Block(max((block.height for block in columns), default=0.0), draw)


def share(look: Look, n: int) -> Look:
    """The look of one of n columns."""
    return look.within((look.width - COLUMN * (n - 1)) / max(n, 1))


def show(blocks: Blocks, ax: Axes | None = None, width: float = WIDTH) -> Axes:
    """The blocks on these axes, or on a new figure of pyplot, whose current figure stays what it is."""
    if ax is not None:
        return _fitted(blocks, ax)
    pyplot = require("matplotlib.pyplot", extra="plot")
    current = pyplot.gcf() if pyplot.get_fignums() else None
    made = _alone(blocks, pyplot.figure(), (width, face_of(pyplot.rcParams["font.family"])))
    if current is not None:
        pyplot.figure(current.number)
    return made


def _alone(blocks: Blocks, figure: Any, settings: tuple[float, Face]) -> Axes:
    """The blocks on a figure that is made as large as they are."""
    ax, (width, face) = figure.add_axes((0, 0, 1, 1)), settings
    look = Look(width - 2 * MARGIN, palette_of(ax), face)
    whole = stacked(blocks(look))
    size = (width, whole.height + 2 * MARGIN)
    figure.set_size_inches(size)
    return _drawn(whole, Board(ax, size, 1.0, look, MARGIN), MARGIN)


def _fitted(blocks: Blocks, ax: Any) -> Axes:
    """The blocks on axes of a given size: smaller until they fit, with fewer rows if they got too small."""
    rc, engine = require("matplotlib", extra="plot").rcParams, ax.figure.get_layout_engine()
    ax.set_axis_off()
    if engine is not None:
        engine.execute(ax.figure)  # else the axes have another size once they are drawn
    wide, tall = ax.get_window_extent().size / ax.figure.dpi
    look = Look(wide, palette_of(ax), replace(face_of(rc["font.family"]), room=SHRUNK))
    for rows, scale in TRIED:
        if wide / scale >= NARROWEST or scale == SCALES[-1]:
            whole = stacked(blocks(replace(look, width=wide / scale, rows=rows)))
            if whole.height * scale <= tall:
                break
    size = (wide / scale, tall / scale)
    return _drawn(whole, Board(ax, size, scale, look.within(size[0])), 0.0)


def _drawn(whole: Block, board: Board, top: float) -> Axes:
    made: Axes = board.ax
    made.set_axis_off()
    made.set(xlim=(0, board.size[0]), ylim=(board.size[1], 0), autoscale_on=False)
    whole.draw(board, top)
    return made


def palette_of(ax: Any) -> Palette:
    """The colors for the ground that the axes lie on; the ink is that of the style."""
    colors = require("matplotlib.colors", extra="plot")
    ink = ax.xaxis.label.get_color()
    base = DARK if sum(colors.to_rgb(ink)) > 1.5 else LIGHT
    return replace(base, ink=colors.to_hex(ink))


@contextmanager
def bare_figure(blocks: Blocks, face: Face, width: float = WIDTH) -> Iterator[Any]:
    """A figure that pyplot does not know, in matplotlib's own style whatever the style of the day is."""
    styles, figures = (require(name, extra="plot") for name in ("matplotlib.style", "matplotlib.figure"))
    ours = {"svg.fonttype": "none", "svg.hashsalt": "veridical", "pdf.fonttype": 42, "axes.labelcolor": LIGHT.ink}
    with styles.context(["default", ours]):
        figure = figures.Figure()
        _alone(blocks, figure, (width, face))
        yield figure
