"""Views as figures: the text, picture, recording or series itself, with what each part counts on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from veridical.records import Explanation, View
from veridical.render import sound
from veridical.render.blocks import EMPTY, badge, legend, paragraph
from veridical.render.board import BODY, SMALL, STRONG, TINY, Block, Board, Look, stacked
from veridical.render.canvas import Axes
from veridical.render.flow import passage
from veridical.render.maps import gray_of, overlaid, planes, reach
from veridical.render.marks import Marks, telling
from veridical.render.markup import minus
from veridical.render.pixels import heat, sample, shrink
from veridical.render.shots import BASE, RULER, Shot, letter_of, negative, pale, placed, region, rule
from veridical.render.traces import Trace, series_traces, sound_traces
from veridical.render.views import BARE, KEY, SIGNS, fitted, scales
from veridical.render.words import number, percent, plain

DOTS = 150  # pixels an inch that pictures are kept with
TALLEST, GAP = 3.3, 0.16  # inches: of a picture, and between two
MOST_FRAMES, ACROSS = 8, 4  # of a film, and side by side


def scene(view: View, marks: Marks, look: Look) -> Block:
    """The whole view, with its key."""
    shown = _view(view, marks, look)
    return stacked([shown, legend(KEY, look, SIGNS)], 0.08) if shown.height else EMPTY


def _view(view: View, marks: Marks, look: Look) -> Block:
    kinds: Mapping[str, Callable[[View, Marks, Look], Block]] = {
        "text": passage,
        "picture": _picture,
        "spectrogram": _spectrogram,
        "sound": _sound,
        "series": lambda view, marks, look: _strips(*series_traces(view, marks), (marks, look)),
        "fields": _fields,
    }
    draw = kinds.get(view.kind)
    return draw(view, marks, look) if draw else EMPTY


def _picture(view: View, marks: Marks, look: Look) -> Block:
    """Each frame as it is, and in gray with its parts tinted."""
    pixels, labels = np.asarray(view.data["pixels"]), np.asarray(view.data["labels"])
    titles = [str(t) for t in view.data.get("titles") or [""] * len(pixels)]
    chosen, pairs = telling(labels, marks, MOST_FRAMES), []
    wide = _column(look, 2 if len(chosen) == 1 else ACROSS)
    for f in chosen:
        frame, parts, _ = fitted(pixels[f], labels[f], round(DOTS * wide))
        alone = titles[f] or ("as it is" if len(chosen) == 1 else f"frame {f}")
        pairs.append(
            [Shot(alone, frame), *([Shot("what counts in it", pale(frame), parts)] if marks.names else [])]
        )
    left = len(pixels) - len(chosen)
    more = f"{len(chosen)} of {len(pixels):,} frames: those with the heaviest parts." if left else ""
    return stacked([_album(pairs, marks, wide), paragraph(more, look, TINY)], 0.05)


def _column(look: Look, n: int) -> float:
    """Inches of one of n pictures side by side."""
    return (look.width - GAP * (n - 1)) / n


def _album(pairs: Sequence[Sequence[Shot]], marks: Marks, wide: float) -> Block:
    """One pair side by side; of several, each one above the other."""
    h, w = pairs[0][0].pixels.shape[:2]
    across = min(wide, TALLEST * w / h)
    size, step = (across, max(across * h / w, 0.03)), wide + GAP
    if len(pairs) == 1:
        return placed([((i * step, 0.0), shot) for i, shot in enumerate(pairs[0])], marks, size)
    tall = size[1] + TINY.step + 0.05
    return placed(
        [
            ((i % ACROSS * step, (i // ACROSS * len(pair) + k) * tall), shot)
            for i, pair in enumerate(pairs)
            for k, shot in enumerate(pair)
        ],
        marks,
        size,
    )


def _spectrogram(view: View, marks: Marks, look: Look) -> Block:
    """A heat map as it is, and beside it in gray with its tiles tinted."""
    data, wide = view.data, _column(look, 2)
    levels, labels = np.asarray(data["levels"])[::-1], np.asarray(data["labels"])[::-1]
    axes = scales(data, labels) if data.get("bounds") is not None else Axes()
    h, w = min(levels.shape[0], 240), min(levels.shape[1], round(DOTS * wide))
    colors = heat()[shrink(levels, h, w)]
    shots = [Shot("as it is", colors, None, axes)]
    shots += [Shot("what counts in it", negative(colors), sample(labels, h, w), axes)] if marks.names else []
    return placed([((i * (wide + GAP), 0.0), shot) for i, shot in enumerate(shots)], marks, (wide, 0.56 * wide))


def _sound(view: View, marks: Marks, look: Look) -> Block:
    """A waveform, or a spectrogram where parts differ in frequency and the rate is known."""
    if view.data.get("stems") is None and view.data["rate"] and sound.tiled(view.data):
        return _spectrogram(View("spectrogram", sound.spectrum(view.data)), marks, look)
    return _strips(*sound_traces(view.data, marks), (marks, look))


def _strips(traces: Sequence[Trace], notes: Sequence[str], room: tuple[Marks, Look]) -> Block:
    """One panel under the other."""
    left = RULER if any(trace.axes.y for trace in traces) else 0.0
    shown = [_strip(trace, left, room) for trace in traces]
    return stacked([*shown, *(paragraph(note, room[1], TINY) for note in notes)], 0.07)


def _strip(trace: Trace, left: float, room: tuple[Marks, Look]) -> Block:
    """A curve over the boxes of the parts, each with its letter."""
    marks, look = room
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

    return Block(head + size[1] + (BASE if trace.axes.x else 0.0), draw)


def _curve(panel: Any, trace: Trace, marks: Marks, board: Board) -> None:
    for (a, b, c, d), part in trace.boxes:
        if marks.sign(part):
            panel.fill([a, b, b, a], [1 - c, 1 - c, 1 - d, 1 - d], **region(marks, part, board), zorder=1)
    line: dict[str, Any] = {"color": board.look.palette.ink, "linewidth": 1.0 * board.scale, "zorder": 2}
    if trace.high is None:
        alone = {"marker": "o", "markersize": 2.5 * board.scale} if len(trace.x) == 1 else {}
        panel.plot(trace.x, trace.low, **line, **alone)
    else:
        panel.fill_between(
            trace.x, trace.low - 0.004, trace.high + 0.004, **{**line, "linewidth": 0, "alpha": 0.75}
        )
    for part, box in trace.widest(marks).items():
        found, (x, y) = letter_of(marks, part, board.look.palette), trace.place(box)
        if found:
            badge(panel, (x, 1 - y), found, 6.2 * board.scale)


def _fields(view: View, marks: Marks, look: Look) -> Block:
    """One field under the other, each with its share of the effect."""
    shown = []
    for name, (first, count, inner) in view.data["fields"].items():
        own = marks.field(int(first), int(count))
        seen = isinstance(inner, View)
        body = _view(inner, own, look) if seen else paragraph(plain(inner, 2000), look, SMALL, 8)
        shown.append(stacked([_field(str(name), own.share, look), body], 0.05))
    return stacked(shown, 0.14)


def _field(name: str, share: float, look: Look) -> Block:
    """The name of a field, and a bar of its share."""
    said = f"{percent(share)} of the effect"
    title = look.face.cut(plain(name), STRONG.size, look.width / 2)
    x = look.face.width(title, STRONG.size, bold=True) + 0.12
    bar = (x + look.face.width(said, SMALL.size) + 0.12, min(1.6, look.width / 4))

    def draw(board: Board, top: float) -> None:
        middle = top + BODY.step / 2
        board.text((0.0, middle), title, STRONG)
        board.text((x, middle), said, SMALL)
        for long, alpha in ((1.0, 0.3), (share, 0.8)):
            board.box((bar[0], middle - 0.03), (bar[1] * long, 0.06), {"color": look.palette.gray, "alpha": alpha})

    return Block(BODY.step, draw)


def heat_map(e: Explanation, look: Look) -> Block:
    """The map of an explanation, alone and over the picture in gray; nothing if it has none that can be drawn."""
    found = planes(e)
    if found is None or e.view is None:
        return EMPTY
    limit, pairs = reach(found), []
    wide = _column(look, 2 if len(found) == 1 else ACROSS)
    for f in range(min(len(found), ACROSS)):
        colors, over = overlaid(found[f], gray_of(e.view, f), (limit, round(DOTS * wide)))
        both = [Shot("the map, place by place", colors)]
        pairs.append([*both, *([Shot("the map on the picture", over)] if over is not None else [])])
    least = f"deepest color: from {minus(number(limit))} on, the 99th percentile of sizes"
    key = legend([least], look, ("raises the output", "lowers it"))
    return stacked([_album(pairs, BARE, wide), key], 0.08)
