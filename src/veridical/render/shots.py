"""Pictures in figures: pixels as they are, and in gray under the tinted outlines and letters of their parts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veridical.errors import require
from veridical.render.blocks import Badge, badge, faded
from veridical.render.board import TINY, Block, Board, Palette, Place
from veridical.render.canvas import Axes
from veridical.render.marks import Marks
from veridical.render.markup import minus
from veridical.render.pixels import Bytes, Labels, borders, inside, outline
from veridical.render.words import plain

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


def placed(shots: Sequence[tuple[Place, Shot]], marks: Marks, size: Place) -> Block:
    """Shots of one size at their places, each with its title above and its ticks around."""
    left = RULER if any(shot.axes.y for _, shot in shots) else 0.0
    below = BASE if any(shot.axes.x for _, shot in shots) else 0.0
    inner = (size[0] - left, size[1])

    def draw(board: Board, top: float) -> None:
        for (x, y), shot in shots:
            title = board.look.face.cut(plain(shot.title), TINY.size, inner[0])
            board.text((x + left, top + y + TINY.step / 2), title, TINY)
            at = (x + left, top + y + TINY.step + 0.02)
            _show(board.panel(at, inner), shot, marks, board)
            rule(board, at, inner, shot.axes)

    return Block(max(y for (_, y), _ in shots) + TINY.step + 0.02 + size[1] + below, draw)


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
        found = letter_of(marks, j, board.look.palette)
        if found:
            badge(panel, inside(mask), found, 6.2 * board.scale)


def letter_of(marks: Marks, part: int, colors: Palette) -> Badge | None:
    """The letter of a part, in the color of its sign; hollow where that is not settled."""
    if part not in marks.letters:
        return None
    deep = colors.up_deep if marks.strengths[part] > 0 else colors.down_deep
    return marks.letters[part], deep, bool(marks.sure[part])


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
    for step, first, second in STEPS.findall(d):
        if step == "M":
            x, y = int(first), int(second)
        elif step == "h":
            x += int(first)
        elif step == "v":
            y += int(first)
        points.append((x, y))
        kinds = {"M": paths.Path.MOVETO, "z": paths.Path.CLOSEPOLY}
        codes.append(kinds.get(step, paths.Path.LINETO))
    if points:
        panel.add_patch(patches.PathPatch(paths.Path(points, codes), **style))


def pale(pixels: Bytes) -> Bytes:
    """A picture in pale gray, for tints to lie on."""
    return _gray(pixels, 0.62, 1.22)


def negative(pixels: Bytes) -> Bytes:
    """A dark picture as a pale one."""
    return _gray(255 - pixels, 0.8, 1.12)


def _gray(pixels: Bytes, contrast: float, brightness: float) -> Bytes:
    gray = pixels[..., :3] @ np.array([0.2126, 0.7152, 0.0722])
    light = np.clip(((gray - 127.5) * contrast + 127.5) * brightness, 0, 255).astype(np.uint8)
    return np.repeat(light[..., None], 3, axis=2)
