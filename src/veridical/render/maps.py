"""Maps of gradient methods: one number a place, from orange over white to blue."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from veridical.records import Explanation, Floats, View
from veridical.render.canvas import Stage, drawn, figure, layer
from veridical.render.markup import Markup, escape, join, minus, tag
from veridical.render.media import SMALL, picture
from veridical.render.pixels import Bytes, means
from veridical.render.words import number

PERCENTILE = 99  # of the sizes: what is larger has the deepest color
WIDTH, STRIP, FINE = 412, 206, 224  # pixels: a map, one of several, and places that it keeps either way
MOST_FRAMES = 4  # drawn of several
UP = ((247, 247, 247), (133, 182, 222), (20, 84, 148))  # from nothing to much
DOWN = ((247, 247, 247), (245, 176, 112), (163, 74, 0))


def planes(e: Explanation) -> Floats | None:
    """The map as frames (f, h, w) that lie on those of the view, its channels summed; none if it does not fit."""
    if e.map is None or e.view is None:
        return None
    values = np.asarray(e.map)
    if values.dtype.kind not in "biuf" or not values.size:
        return None
    known = np.nan_to_num(values.astype(np.float64), posinf=0.0, neginf=0.0)
    for found in _without_channels(known):
        placed = _placed(found, e.view)
        if placed is not None:
            return placed
    return None


def _without_channels(values: Floats) -> Iterator[Floats]:
    """The map as it is, then with the axis summed that may hold channels: the last, the first, those between."""
    yield values
    for axis in dict.fromkeys((values.ndim - 1, *range(values.ndim))):
        yield values.sum(axis=axis)


def _placed(values: Floats, view: View) -> Floats | None:
    if view.kind == "picture" and values.ndim in (2, 3):
        frames = values if values.ndim == 3 else values[None]
        pixels = np.asarray(view.data["pixels"])
        n, h, w = pixels.shape[:3]
        alike = abs(frames.shape[1] * w - frames.shape[2] * h) <= max(frames.shape[1:])
        at = np.unique(np.linspace(0, len(frames) - 1, n).round().astype(int))
        fits = frames.shape[1] >= h and frames.shape[2] >= w and alike
        return frames[at] if fits and len(at) == n and (n > 1) == (len(frames) > 1) else None
    if view.kind == "spectrogram" and values.ndim == 2:
        levels = np.asarray(view.data["levels"])
        turned = values if values.shape == levels.shape else values.T
        return turned[::-1][None] if turned.shape == levels.shape else None
    return None


def reach(values: Floats) -> float:
    """Where the deepest color begins: the 99th percentile of sizes, or the largest where that is zero."""
    sizes = np.abs(values)
    return float(np.percentile(sizes, PERCENTILE)) or float(sizes.max(initial=0.0)) or 1.0


def tinted(values: Floats, limit: float) -> Bytes:
    """Colors (…, 3) of values: blue above zero, orange below, white at it."""
    share = np.clip(values / limit, -1, 1)
    colors = [
        np.where(share >= 0, *(np.interp(np.abs(share), (0, 0.5, 1), np.array(side)[:, c]) for side in (UP, DOWN)))
        for c in range(3)
    ]
    return np.stack(colors, axis=-1).round().astype(np.uint8)


def heat_map(e: Explanation, found: Floats, most: int) -> Markup:
    """The map as ``planes`` gives it, alone and over the picture in gray, in so many bytes each."""
    limit = reach(found)
    chosen = range(min(len(found), MOST_FRAMES))
    width = WIDTH if len(found) == 1 and most >= SMALL // 4 else STRIP
    frames = (_frame(found[f], gray_of(e.view, f), limit, (width, most // len(chosen))) for f in chosen)
    figures = join(*frames)
    words = (
        ("vd-up", "raises the output"),
        ("vd-down", "lowers it"),
    )
    keys = [tag("span", {}, tag("i", {"class": sign}), escape(say)) for sign, say in words]
    least = f"deepest color: from {minus(number(limit))} on, the 99th percentile of sizes"
    key = tag("p", {"class": "vd-key"}, *keys, tag("span", {}, escape(least)))
    return tag("div", {"class": "vd-view"}, tag("div", {"class": "vd-pair"}, figures), key)


def _frame(values: Floats, gray: Floats | None, limit: float, room: tuple[int, int]) -> Markup:
    h, w = values.shape
    colors, over = overlaid(values, gray, (limit, FINE))
    fitted = (round(room[0] * w / max(h, w)), room[1])
    alone = figure(escape("the map, place by place"), _picture(colors, fitted, "the map of weights"))
    if over is None:
        return alone
    return join(
        alone, figure(escape("the map on the picture"), _picture(over, fitted, "the map over the picture"))
    )


def overlaid(values: Floats, gray: Floats | None, limits: tuple[float, int]) -> tuple[Bytes, Bytes | None]:
    """The map in colors, and over a picture in gray; limits: of the deepest color, and of pixels each way."""
    (h, w), (limit, most) = values.shape, limits
    scale = min(most / max(h, w), 1.0)
    size = max(round(h * scale), 1), max(round(w * scale), 1)
    small = means(values, *size)
    colors = tinted(small, limit)
    if gray is None:
        return colors, None
    base, depth = _fitted(gray, size)[..., None], np.clip(np.abs(small) / limit, 0, 1)[..., None]
    return colors, (base * (1 - depth) + colors * depth).round().astype(np.uint8)


def _fitted(gray: Floats, size: tuple[int, int]) -> Floats:
    """A gray picture of this size, whichever size it has."""
    if gray.shape[0] >= size[0] and gray.shape[1] >= size[1]:
        return means(gray, *size)
    at = ((np.arange(n) + 0.5) * have / n for n, have in zip(size, gray.shape, strict=True))
    rows, cols = (index.astype(int) for index in at)
    return np.asarray(gray[rows[:, None], cols])


def gray_of(view: View | None, f: int) -> Floats | None:
    """The picture below the map, pale."""
    if view is None or view.kind != "picture":
        return None
    return np.asarray(255 - (255 - np.asarray(view.data["pixels"])[f].mean(axis=-1)) * 0.55)


def _picture(colors: Bytes, room: tuple[int, int], label: str) -> Markup:
    """Colors as wide as there is room, in so many bytes."""
    (wide, most), (h, w) = room, colors.shape[:2]
    box = {"width": w, "height": h, "preserveAspectRatio": "none", "href": picture(colors, most)}
    shown = layer((float(w), float(h)), label, tag("image", box), wash="vd-sharp" if max(h, w) < 128 else "")
    return drawn(Stage((float(w), float(h)), [shown], width=wide))
