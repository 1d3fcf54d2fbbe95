"""The instance in a figure: texts, pictures, recordings, series and maps with their features marked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Any

import numpy as np

from veridical.display import blocks
from veridical.display.boards import (
    BODY,
    POINTS,
    SMALL,
    STRONG,
    TINY,
    Board,
    Box,
    Ink,
    Look,
    Palette,
    Place,
    rightward,
    stacked,
)
from veridical.display.marks import UNMARKED, Axes, Badge, Marks, Trace
from veridical.display.markup import minus
from veridical.display.pixels import (
    Bytes,
    Labels,
    borders,
    fitted,
    heat,
    inside,
    means,
    outline,
    sample,
    shrink,
    shrunk,
    tinted,
)
from veridical.display.views import map_key, reach
from veridical.display.words import percent, plain
from veridical.errors import harmless, require

EMPTY = Box(0.0, lambda board, top: None)
SIGNS = blocks.SIGNS | {
    "interval": (0, "dots: means; lines: 95 % interval over instances"),
    "best": (0, f"filled: {blocks.BEST}"),
    "null": (0, "gray: null rows; gray strokes: the method's own weights, shuffled"),
}


def set_legend(b: blocks.Legend, look: Look) -> Box:
    """What the signs mean; then more words."""
    return key_line([*(SIGNS[sign] for sign in b.signs if sign in SIGNS), *((0, word) for word in b.words)], look)


def set_passage(b: blocks.Passage, look: Look) -> Box:
    """The text in a box; of a long one, the lines with the heaviest parts."""
    marks, text = b.marks, "".join(piece for piece, _ in b.pieces)
    inner = look.within(look.width - 2 * PAD)
    lines = _lines(b, inner)
    chosen = _telling(lines, marks)
    numbered = groupby(enumerate(chosen), key=lambda found: found[1] - found[0])
    runs = [[lines[i] for _, i in run] for _, run in numbered]  # of lines that follow one another
    some = len(chosen) < len(lines) or len(text) > MOST_CHARACTERS
    note = f"{len(chosen)} of {len(lines):,} lines: those with the heaviest parts." if some else ""
    tall = STEP * (len(chosen) + max(len(runs) - 1, 0)) + 2 * PAD
    turned = not rightward(text)

    def draw(board: Board, top: float) -> None:
        border = {"fill": False, "edgecolor": look.palette.gray, "alpha": 0.4, "linewidth": 0.6}
        board.box((0.0, top), (look.width, tall), border)
        here, y = board.moved(PAD, inner.width), top + PAD + STEP / 2
        for i, run in enumerate(runs):
            if i:
                here.text((0.0, y), "⋯", WORDS)
                y += STEP
            for line in run:
                for word in line:
                    _word(here, (inner.width - word.left - word.width if turned else word.left, y), word, marks)
                y += STEP

    return stacked([Box(tall, draw), paragraph(note, look, TINY)], 0.05)


PAD = 0.11  # inches inside a box


# ---- what all of a figure is written with


def paragraph(text: str, look: Look, ink: Ink = BODY, most: int = 12) -> Box:
    """A text in as many lines as it takes, at most so many."""
    lines = look.face.wrap(text, ink.size, look.width, ink.bold)
    lines = lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1] + " …"]

    def draw(board: Board, top: float) -> None:
        for i, line in enumerate(lines):
            board.text((0.0, top + (i + 0.5) * ink.step), line, ink)

    return Box(len(lines) * ink.step if text else 0.0, draw)


def badge(ax: Any, at: Place, letter: Badge, colors: Palette, size: float) -> None:
    """The letter of a part on a disc: filled where its sign is settled, hollow where not."""
    color = {1: colors.up_deep, -1: colors.down_deep, 0: colors.gray}[letter.sign]
    dot: dict[str, Any] = {"color": color if letter.sure else "#ffffff", "marker": "o", "markersize": 1.75 * size}
    edge = "#ffffff" if letter.sure else color
    ax.plot([at[0]], [at[1]], **dot, markeredgecolor=edge, markeredgewidth=0.13 * size, zorder=5)
    fit = size if len(letter.letter) == 1 else 0.72 * size
    options = {"color": "#ffffff" if letter.sure else color, "size": fit, "weight": "bold"}
    ax.text(*at, letter.letter, ha="center", va="center_baseline", zorder=6, parse_math=False, **options)


def key_line(entries: Sequence[tuple[int | str | Mapping[str, Any], str]], look: Look) -> Box:
    """Signs and what they mean: the color of a side (1 or -1), a gray stroke, a line of a style, or words alone (0)."""
    lines, x, y = list[tuple[float, float, float, str, Any]](), 0.0, 0.0
    for sign, words in entries:
        shift = 0.36 if isinstance(sign, Mapping) else 0.16 if sign else 0.0
        said = look.face.cut(plain(words), SMALL.size, look.width - shift)
        wide = look.face.width(said, SMALL.size) + shift
        if x and x + wide > look.width:
            x, y = 0.0, y + SMALL.step
        lines.append((x, y, shift, said, sign))
        x += wide + 0.2

    def draw(board: Board, top: float) -> None:
        for x, y, shift, said, sign in lines:
            middle = top + y + SMALL.step / 2
            if isinstance(sign, Mapping):
                style = {**sign, "linewidth": 1.3, "markersize": 3.2, "markevery": [1]}
                board.line([x, x + 0.15, x + 0.3], [middle] * 3, style)
            elif isinstance(sign, str):
                style = {"color": look.palette.gray, "marker": sign, "markersize": 6 * board.scale}
                board.line([x + 0.06], [middle], style)
            elif sign:
                hatch = {"hatch": "//////", "edgecolor": hatched(look.palette)} if sign < 0 else {}
                board.box((x, middle - 0.05), (0.1, 0.1), {"facecolor": side(look.palette, sign), **hatch})
            board.text((x + shift, middle), said, SMALL)

    return Box(y + SMALL.step if entries else 0.0, draw)


def side(colors: Palette, sign: float) -> str:
    """The color of a sign."""
    return colors.up if sign > 0 else colors.down


def faded(color: str, alpha: float) -> Any:
    """A color that lets through what is below it."""
    return require("matplotlib.colors", extra="plot").to_rgba(color, alpha)


def hatched(colors: Palette) -> Any:
    """The strokes over a bar that lowers the output."""
    return faded(colors.down_deep, 0.55)


# ---- texts

WORDS = Ink(9.0)
STEP = 1.7 * WORDS.size / POINTS  # inches from line to line
MOST_LINES, MOST_CHARACTERS = 24, 100_000
TOKENS = re.compile(r"\n|[^\S\n]+|[^\s]+")


@dataclass(frozen=True, slots=True)
class PlacedWord:
    """A piece of a line: what stands there, where, and whose it is."""

    text: str
    part: int  # -1: no part's
    left: float  # inches
    width: float


def _word(board: Board, at: tuple[float, float], word: PlacedWord, marks: Marks) -> None:
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


def _lines(b: blocks.Passage, look: Look) -> list[list[PlacedWord]]:
    """All lines of a text; a word that is too long for one is broken."""
    lines, x, wrapped = [list[PlacedWord]()], 0.0, False
    for token, part in _tokens(b):
        for piece in [token] if token.isspace() else look.face.wrap(token, WORDS.size, look.width):
            width = look.face.width(piece, WORDS.size) if piece != "\n" else math.inf
            if x + width > look.width and (x or piece == "\n"):
                lines.append([])
                x, wrapped = 0.0, piece != "\n"
            if piece == "\n" or (piece.isspace() and not x and wrapped):
                continue  # no space where a line was broken
            lines[-1].append(PlacedWord(piece, part, x, width))
            x += width
    return lines


def _tokens(b: blocks.Passage) -> Iterator[tuple[str, int]]:
    """Words, spaces and line breaks, each with its part."""
    used = 0
    for text, part in b.pieces:
        for token in TOKENS.findall(text.replace("\r\n", "\n").replace("\r", "\n")):
            safe = token if token == "\n" or token.isprintable() else "".join(map(harmless, token))
            yield safe, part
        used += len(text)
        if used > MOST_CHARACTERS:
            return


def _telling(lines: Sequence[Sequence[PlacedWord]], marks: Marks) -> list[int]:
    """At most so many lines, in order: the first, and those with the heaviest parts."""
    if len(lines) <= MOST_LINES:
        return list(range(len(lines)))

    def weight(i: int) -> float:
        known = (abs(float(marks.strengths[w.part])) for w in lines[i] if marks.sign(w.part))
        return max(known, default=0.0) + 2 * (i == 0)

    return sorted(sorted(range(len(lines)), key=weight, reverse=True)[: MOST_LINES - 4])


RULER, BASE = 0.42, 0.2  # inches that ticks take at the left and below
MOST_SHAPES = 60  # parts tinted in one picture
SHARP = 512  # pixels below which a picture is kept as it is: a smaller file, which viewers smooth
STEPS = re.compile(r"([Mhvz])(-?\d+)?(?: (-?\d+))?")


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """A picture to be drawn: its pixels, the part of each where they are shown, and its ticks."""

    title: str
    pixels: Bytes  # (h, w, 3)
    labels: Labels | None = None  # (h, w)
    axes: Axes = field(default_factory=Axes)


def rule(board: Board, at: Place, size: Place, axes: Axes) -> None:
    """Ticks at the left of a panel and below it."""
    for share, say in axes.y:
        board.text(
            (at[0] - 0.06, at[1] + size[1] * (1 - share)), minus(plain(say, 24)), replace(TINY, align="right")
        )
    for share, say in axes.x:
        centered = replace(TINY, align="right" if share > 0.98 else "center")
        board.text((at[0] + size[0] * share, at[1] + size[1] + 0.1), minus(plain(say, 24)), centered)


def _show(panel: Any, shot: Shot, marks: Marks, board: Board) -> None:
    """The pixels; then lines between parts, tinted outlines and letters."""
    h, w = shot.pixels.shape[:2]
    smooth = "none" if max(h, w) < SHARP else "antialiased"
    panel.imshow(shot.pixels, extent=(0, w, h, 0), aspect="auto", interpolation=smooth)
    panel.set(xlim=(0, w), ylim=(h, 0))
    if shot.labels is None:
        return
    lines = {"fill": False, "edgecolor": faded("#ffffff", 0.5), "linewidth": 0.5 * board.scale}
    _draw_path(panel, borders(shot.labels), lines)
    here = [j for j in marks.marked() if (shot.labels == j).any()][:MOST_SHAPES]
    masks = {j: shot.labels == j for j in here}
    for j, mask in reversed(masks.items()):
        _draw_path(panel, outline(mask), region(marks, j, board))
    for j, mask in masks.items():
        _letter(panel, marks, j, inside(mask), board)


def _letter(panel: Any, marks: Marks, part: int, at: Place, board: Board) -> None:
    """The letter of a part, in the color of its sign, if it has one."""
    if part in marks.letters:
        badge(panel, at, marks.badge(part), board.look.palette, 6.2 * board.scale)


def region(marks: Marks, part: int, board: Board) -> dict[str, Any]:
    """How a part is tinted: deeper where it is stronger, dashed where it lowers, no line where it may be zero."""
    colors, strength, up = board.look.palette, abs(float(marks.strengths[part])), marks.strengths[part] > 0
    tint, edge = (colors.up, colors.up_deep) if up else (colors.down, colors.down_deep)
    return {
        "facecolor": faded(tint, 0.08 + 0.5 * strength),
        "edgecolor": faded(edge, 0.35 + 0.65 * strength),
        "linewidth": 1.3 * board.scale if marks.sure[part] else 0.0,
        "linestyle": "-" if up or not marks.sure[part] else (0, (3.2, 2.0)),
    }


def _draw_path(panel: Any, d: str, style: Mapping[str, Any]) -> None:
    """An outline along the edges of pixels, from SVG path data."""
    paths, patches = (require(f"matplotlib.{name}", extra="plot") for name in ("path", "patches"))
    points, codes, x, y = list[Place](), list[int](), 0, 0
    kinds = {"M": paths.Path.MOVETO, "z": paths.Path.CLOSEPOLY}
    for step, first, second in STEPS.findall(d):
        if step == "M":
            x, y = int(first), int(second)
        elif step != "z":
            x, y = (x + int(first), y) if step == "h" else (x, y + int(first))
        points.append((x, y))
        codes.append(kinds.get(step, paths.Path.LINETO))
    if points:
        panel.add_patch(patches.PathPatch(paths.Path(points, codes), **style))


def gray(pixels: Bytes, contrast: float, brightness: float) -> Bytes:
    """A picture in pale gray, for tints to lie on."""
    mean = pixels[..., :3] @ np.array([0.2126, 0.7152, 0.0722])
    light = np.clip(((mean - 127.5) * contrast + 127.5) * brightness, 0, 255).astype(np.uint8)
    return np.repeat(light[..., None], 3, axis=2)


def set_frames(b: blocks.Frames, look: Look) -> Box:
    """Each frame as it is, and in gray with its parts tinted; a spectrogram as a heat map."""
    marks, wide, pairs = b.marks, _column(look, 2 if len(b.frames) == 1 else ACROSS), []
    for frame in b.frames:
        (h, w), pixels = frame.labels.shape, frame.pixels
        if b.axes is None:
            h, w, _ = fitted(h, w, round(DOTS * wide))
            pixels, name = shrink(pixels, h, w), frame.title or "as it is"
            below = gray(pixels, 0.62, 1.22)
        else:
            h, w, name = min(h, 240), min(w, round(DOTS * wide)), "as it is"
            pixels = heat()[shrink(pixels, h, w)]
            below = gray(255 - pixels, 0.8, 1.12)
        tint = Shot("what counts in it", below, sample(frame.labels, h, w), b.axes or Axes())
        pairs.append([Shot(name, pixels, None, b.axes or Axes()), *([tint] if marks.names else [])])
    left = b.n_frames - len(b.frames)
    more = f"{len(b.frames)} of {b.n_frames:,} frames: those with the heaviest parts." if left else ""
    album = _album(pairs, marks, wide, None if b.axes is None else (wide, 0.56 * wide))
    return stacked([album, paragraph(more, look, TINY)], 0.05)


DOTS = 150  # pixels an inch that pictures are kept with
TALLEST, GAP = 3.3, 0.16  # inches: of a picture, and between two
ACROSS = 4  # frames of a film, side by side


def _column(look: Look, n: int) -> float:
    """Inches of one of n pictures side by side."""
    return (look.width - GAP * (n - 1)) / n


def _album(pairs: Sequence[Sequence[Shot]], marks: Marks, wide: float, size: Place | None = None) -> Box:
    """Shots with titles above and ticks around: one pair side by side; of several, each one above the other."""
    h, w = pairs[0][0].pixels.shape[:2]
    across, one = min(wide, TALLEST * w / h), len(pairs) == 1
    size = size or (across, max(across * h / w, 0.03))
    step, tall = wide + GAP, size[1] + TINY.step + 0.05
    places = [
        (k * step, 0.0) if one else (i % ACROSS * step, (i // ACROSS * len(pair) + k) * tall)
        for i, pair in enumerate(pairs)
        for k in range(len(pair))
    ]
    shots = list(zip(places, chain.from_iterable(pairs), strict=True))
    axes = pairs[0][0].axes
    left, below = RULER if axes.y else 0.0, BASE if axes.x else 0.0
    inner = (size[0] - left, size[1])

    def draw(board: Board, top: float) -> None:
        for (x, y), shot in shots:
            title = board.look.face.cut(plain(shot.title), TINY.size, inner[0])
            board.text((x + left, top + y + TINY.step / 2), title, TINY)
            at = (x + left, top + y + TINY.step + 0.02)
            _show(board.panel(at, inner), shot, marks, board)
            rule(board, at, inner, shot.axes)

    return Box(max(y for _, y in places) + TINY.step + 0.02 + size[1] + below, draw)


def set_traces(b: blocks.Traces, look: Look) -> Box:
    """One panel under the other."""
    left = RULER if any(trace.axes.y for trace in b.traces) else 0.0
    shown = [_strip(trace, left, b.marks, look) for trace in b.traces]
    return stacked([*shown, *(paragraph(note, look, TINY) for note in b.notes)], 0.07)


def _strip(trace: Trace, left: float, marks: Marks, look: Look) -> Box:
    """A curve over the boxes of the parts, each with its letter."""
    head = TINY.step + 0.02 if trace.name else 0.0
    size = (look.width - left, 1.5 if trace.tall else 0.92)

    def draw(board: Board, top: float) -> None:
        at = (left, top + head)
        board.text((left, top + TINY.step / 2), look.face.cut(plain(trace.name), TINY.size, size[0]), TINY)
        board.box(at, size, {"color": look.palette.gray, "alpha": 0.12})
        panel = board.panel(at, size)
        panel.set(xlim=(0, 1), ylim=(0, 1))
        _curve(panel, trace, marks, board)
        rule(board, at, size, trace.axes)

    return Box(head + size[1] + (BASE if trace.axes.x else 0.0), draw)


def _curve(panel: Any, trace: Trace, marks: Marks, board: Board) -> None:
    for (a, b, c, d), part in trace.boxes:
        if marks.sign(part):
            panel.fill([a, b, b, a], [1 - c, 1 - c, 1 - d, 1 - d], **region(marks, part, board), zorder=1)
    line: dict[str, Any] = {"color": board.look.palette.ink, "linewidth": 1.0 * board.scale, "zorder": 2}
    if trace.high is None:
        alone = {"marker": "o", "markersize": 2.5 * board.scale} if len(trace.x) == 1 else {}
        panel.plot(trace.x, trace.low, **line, **alone)
    else:
        line |= {"linewidth": 0, "alpha": 0.75}
        panel.fill_between(trace.x, trace.low - 0.004, trace.high + 0.004, **line)
    for part, box in trace.widest(marks).items():
        x, y = trace.place(box)
        _letter(panel, marks, part, (x, 1 - y), board)


def set_field_head(name: str, share: float, look: Look) -> Box:
    """The name of a field, and a bar of its share."""
    said = f"{percent(share)} of the effect"
    title = look.face.cut(plain(name), STRONG.size, look.width / 2)
    x = look.face.width(title, STRONG.size, bold=True) + 0.12
    left, wide = x + look.face.width(said, SMALL.size) + 0.12, min(1.6, look.width / 4)

    def draw(board: Board, top: float) -> None:
        middle = top + BODY.step / 2
        board.text((0.0, middle), title, STRONG)
        board.text((x, middle), said, SMALL)
        for long, alpha in ((1.0, 0.3), (share, 0.8)):
            board.box((left, middle - 0.03), (wide * long, 0.06), {"color": look.palette.gray, "alpha": alpha})

    return Box(BODY.step, draw)


def set_map(b: blocks.HeatMap, look: Look) -> Box:
    """A map of gradients, alone and over the picture in gray."""
    limit, pairs, wide = reach(np.stack(b.planes)), [], _column(look, 2 if len(b.planes) == 1 else ACROSS)
    for plane, below in zip(b.planes, b.grays, strict=True):
        size = shrunk(plane.shape, round(DOTS * wide))
        small = means(plane, *size)
        colors = tinted(small, limit)
        pairs.append([Shot("the map, place by place", colors)])
        if below is not None:
            fine = below.shape[0] >= size[0] and below.shape[1] >= size[1]
            base, depth = (
                means(below, *size) if fine else sample(below, *size),
                np.clip(np.abs(small) / limit, 0, 1),
            )
            mixed = base[..., None] * (1 - depth[..., None]) + colors * depth[..., None]
            pairs[-1].append(Shot("the map on the picture", mixed.round().astype(np.uint8)))
    return stacked([_album(pairs, UNMARKED, wide), set_legend(map_key(limit), look)], 0.08)
