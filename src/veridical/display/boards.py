"""Boards on which figures are drawn, measured in inches, and how wide their texts are.

A figure of our own is as tall as its boxes. On the axes of somebody else, the boxes are set smaller until they
fit; all panels are child axes of the axes that were given, so nothing is drawn outside.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from veridical.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


POINTS = 72  # an inch
HINTED = 1.04  # times the width of a line: what fitting its letters to pixels may take, on a coarse screen
SHRUNK = 1.1  # the same of small letters, as on axes that are part of a figure
MISSING = "□"  # stands for a character that no font at hand has
EAST = (  # any of these has Chinese, Japanese or Korean characters
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Noto Sans KR", "Source Han Sans",
    "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback", "IPAGothic", "NanumGothic", "PingFang SC",
    "Hiragino Sans", "Hiragino Sans GB", "Apple SD Gothic Neo", "Arial Unicode MS", "Microsoft YaHei",
    "Yu Gothic", "MS Gothic", "Malgun Gothic", "SimHei",
)  # fmt: skip
SIGNS = ("DejaVu Sans", "Noto Sans Symbols", "Noto Sans Symbols2", "Noto Emoji", "Symbola", "Segoe UI Symbol")


@dataclass(frozen=True, slots=True)
class Face:
    """The fonts of a figure: those of the style, and for characters they lack whichever are installed."""

    families: tuple[str, ...]
    substitute: str = MISSING  # for what no font has; nothing: such characters stay, for whoever shows the file
    room: float = HINTED  # times the width of a line

    def drawable(self, text: str) -> str:
        """The text, with a substitute for what cannot be drawn."""
        return self._with(self.substitute, text) if self.substitute else text

    def _with(self, substitute: str, text: str) -> str:
        if text.isascii():
            return text
        known = {c: c.isascii() or _holder(self.families, c) is not None for c in dict.fromkeys(text)}
        return "".join(c if known[c] else substitute for c in text)

    def family(self, text: str) -> tuple[str, ...]:
        """The families that a text needs, in the order in which they are asked."""
        found = (_holder(self.families, c) for c in dict.fromkeys(text) if not c.isascii())
        return tuple(dict.fromkeys([*self.families, *filter(None, found)]))

    def width(self, text: str, size: float, bold: bool = False) -> float:
        """Inches that a line of text takes, of a size in points."""
        known = self._with(MISSING, text)
        return self.room * _width(known, self.family(known), bold) * size / POINTS

    def cut(self, text: str, size: float, room: float) -> str:
        """The text, or as much of it as fits into so many inches, and an ellipsis."""
        if self._fits(text, size, room):
            return text
        low, high = 0, min(len(text), _most(size, room))
        while low < high:
            middle = (low + high + 1) // 2
            fits = self.width(text[:middle].rstrip() + "…", size) <= room
            low, high = (middle, high) if fits else (low, middle - 1)
        return text[:low].rstrip() + "…"

    def _fits(self, text: str, size: float, room: float) -> bool:
        return len(text) <= _most(size, room) and self.width(text, size) <= room

    def wrap(self, text: str, size: float, room: float, bold: bool = False) -> list[str]:
        """The text in lines of at most so many inches; words that are longer are broken, percentages are not."""
        lines, line = list[str](), ""
        for word in " ".join(text.split()).replace(" %", "\u00a0%").split(" "):
            joined = f"{line} {word}" if line else word
            if self.width(joined, size, bold) <= room:
                line = joined
                continue
            lines += [line] if line else []
            *whole, line = self._broken(word, size, room)
            lines += whole
        return [*lines, line] if line or not lines else lines

    def _broken(self, word: str, size: float, room: float) -> list[str]:
        """A word, in pieces if it is longer than a line."""
        pieces = list[str]()
        while word and not self._fits(word, size, room):
            fits = max(len(self.cut(word, size, room)) - 1, 1)
            pieces.append(word[:fits])
            word = word[fits:]
        return [*pieces, word]


def _most(size: float, room: float) -> int:
    """Letters that a line can hold at most, each a tenth as wide as it is high."""
    return int(10 * room * POINTS / size) + 1


def face_of(families: Any, substitute: str = MISSING) -> Face:
    """The fonts of a style."""
    return Face((families,) if isinstance(families, str) else tuple(families), substitute)


def rightward(text: str) -> bool:
    """Whether a text runs from left to right: by its first letter that says so."""
    kinds = (unicodedata.bidirectional(c) for c in text[:1000])
    return next((kind == "L" for kind in kinds if kind in {"L", "R", "AL"}), True)


@lru_cache(4096)
def _holder(families: tuple[str, ...], character: str) -> str | None:
    """The first family that has a character: one of the style, else one that is made for its script."""
    if _has(families, character) or unicodedata.category(character) in {"Cf", "Mn"}:
        return families[0]
    script: str = unicodedata.name(character, "").partition(" ")[0].title()
    wanted = EAST if script in {"Cjk", "Hiragana", "Katakana", "Hangul", "Fullwidth", "Ideographic"} else SIGNS
    found = (f for f in (f"Noto Sans {script}", *wanted) if f in _installed() and _has((f,), character))
    return next(found, None)


def _has(families: tuple[str, ...], character: str) -> bool:
    font = require("matplotlib.font_manager", extra="plot").get_font(_path(families, False))
    return bool(font.get_char_index(ord(character)))


@lru_cache(1)
def _installed() -> frozenset[str]:
    manager = require("matplotlib.font_manager", extra="plot").fontManager
    return frozenset(entry.name for entry in manager.ttflist)


@lru_cache(64)
def _path(families: tuple[str, ...], bold: bool) -> str:
    manager = require("matplotlib.font_manager", extra="plot")
    properties = manager.FontProperties(family=list(families), weight="bold" if bold else "normal")
    return str(manager.findfont(properties))


@lru_cache(8192)
def _width(text: str, families: tuple[str, ...], bold: bool) -> float:
    """Points that a line takes where letters are one point high."""
    manager = require("matplotlib.font_manager", extra="plot")
    setter = require("matplotlib.textpath", extra="plot").TextToPath()
    size, weight = 100.0, "bold" if bold else "normal"
    properties = manager.FontProperties(family=list(families), weight=weight, size=size)
    return float(setter.get_text_width_height_descent(text, properties, False)[0]) / size


WIDTH, MARGIN, GAP, COLUMN = 7.6, 0.2, 0.16, 0.24  # inches: of a figure, around it, between boxes, columns
NARROWEST = 3.2  # inches that boxes are set in, before they get smaller
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
    care: str
    no: str
    gray: str = "#868b92"


LIGHT = Palette("#1d2126", "#2f7fc1", "#d9730d", "#1d5d97", "#a34a00", "#0c7d62", "#a87400", "#cf3a63")
DARK = Palette("#e4e7ea", "#58a6e6", "#f0923e", "#1d5d97", "#a34a00", "#2bb391", "#d9a520", "#f0698c")


TONES = (  # of values from low to high, on white and on black
    ("#0a8f8f", "#5b9aa0", "#8d8d95", "#b0689a", "#b0127f"),
    ("#2cc3c3", "#5b9aa0", "#8d8d95", "#b0689a", "#f062bd"),
)


@dataclass(frozen=True, slots=True)
class Look:
    """What boxes are set by."""

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
        font = {"family": list(self.look.face.family(shown)), "size": ink.size * self.scale}
        style = {"color": ink.color or self.look.palette.ink, "alpha": ink.alpha, "ha": ink.align, **font}
        options = {"weight": "bold" if ink.bold else "normal", "va": "center_baseline", "parse_math": False}
        return self.ax.text(self.left + at[0], at[1], shown, **style, **options)

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

    def rule(self, top: float) -> None:
        """A faint line across, above a row."""
        self.line([0.0, self.look.width], [top, top], {"alpha": 0.18, "linewidth": 0.5})

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
class Box:
    """Something as wide as the board, and so tall."""

    height: float
    draw: Callable[[Board, float], None]  # on a board, from this height down


Boxes: TypeAlias = Callable[[Look], Sequence[Box]]


def stacked(boxes: Sequence[Box], gap: float = GAP) -> Box:
    """Boxes one under the other."""
    shown = [box for box in boxes if box.height > 0]

    def draw(board: Board, top: float) -> None:
        for box in shown:
            box.draw(board, top)
            top += box.height + gap

    return Box(sum(box.height for box in shown) + gap * max(len(shown) - 1, 0), draw)


def beside(columns: Sequence[Box], look: Look, n: int) -> Box:
    """At most n boxes side by side, each of the width of ``share(look, n)``."""
    wide = share(look, n).width

    def draw(board: Board, top: float) -> None:
        for i, box in enumerate(columns):
            box.draw(board.moved(i * (wide + COLUMN), wide), top)

    return Box(max((box.height for box in columns), default=0.0), draw)


def share(look: Look, n: int) -> Look:
    """The look of one of n columns."""
    return look.within((look.width - COLUMN * (n - 1)) / max(n, 1))


def show(boxes: Boxes, ax: Axes | None = None) -> Axes:
    """The boxes on these axes, or on a new figure of pyplot, whose current figure stays what it is."""
    if ax is not None:
        return _fitted(boxes, ax)
    pyplot = require("matplotlib.pyplot", extra="plot")
    current = pyplot.gcf() if pyplot.get_fignums() else None
    made = _alone(boxes, pyplot.figure(), face_of(pyplot.rcParams["font.family"]))
    if current is not None:
        pyplot.figure(current.number)
    return made


def _alone(boxes: Boxes, figure: Any, face: Face) -> Axes:
    """The boxes on a figure that is made as large as they are."""
    ax = figure.add_axes((0, 0, 1, 1))
    look = Look(WIDTH - 2 * MARGIN, palette_of(ax), face)
    whole = stacked(boxes(look))
    size = (WIDTH, whole.height + 2 * MARGIN)
    figure.set_size_inches(size)
    return _drawn(whole, Board(ax, size, 1.0, look, MARGIN), MARGIN)


def _fitted(boxes: Boxes, ax: Any) -> Axes:
    """The boxes on axes of a given size: smaller until they fit, with fewer rows if they got too small."""
    rc, engine = require("matplotlib", extra="plot").rcParams, ax.figure.get_layout_engine()
    ax.set_axis_off()
    if engine is not None:
        engine.execute(ax.figure)  # else the axes have another size once they are drawn
    wide, tall = ax.get_window_extent().size / ax.figure.dpi
    look = Look(wide, palette_of(ax), replace(face_of(rc["font.family"]), room=SHRUNK))
    for rows, scale in TRIED:
        if wide / scale >= NARROWEST or scale == SCALES[-1]:
            whole = stacked(boxes(replace(look, width=wide / scale, rows=rows)))
            if whole.height * scale <= tall:
                break
    size = (wide / scale, tall / scale)
    return _drawn(whole, Board(ax, size, scale, look.within(size[0])), 0.0)


def _drawn(whole: Box, board: Board, top: float) -> Axes:
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
def bare_figure(boxes: Boxes, face: Face) -> Iterator[Any]:
    """A figure that pyplot does not know, in matplotlib's own style whatever the style of the day is."""
    styles, figures = (require(name, extra="plot") for name in ("matplotlib.style", "matplotlib.figure"))
    ours = {"svg.fonttype": "none", "svg.hashsalt": "veridical", "pdf.fonttype": 42, "axes.labelcolor": LIGHT.ink}
    with styles.context(["default", ours]):
        figure = figures.Figure()
        _alone(boxes, figure, face)
        yield figure
