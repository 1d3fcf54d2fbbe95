"""Maps of gradient methods: one number a place, from orange over white to blue."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from veridical.records import Explanation, Floats, View
from veridical.render.canvas import Stage, drawn, figure, layer
from veridical.render.markup import Markup, data_uri, escape, join, minus, spaced, tag
from veridical.render.media import SMALL, picture
from veridical.render.pixels import Bytes, means, png
from veridical.render.words import number

PERCENTILE = 99  # of the sizes: what is larger has the deepest color
WIDTH, STRIP = 412, 206  # pixels: a map, one of several
FINE = (224, 160, 112, 80)  # places that a map keeps either way, the first that fit
LEVELS = 6  # tints of either sign
SHARP = 128  # places: a smaller map shows each
MOST_FRAMES = 4  # drawn of several
UP = ((247, 247, 247), (133, 182, 222), (20, 84, 148))  # from nothing to much
DOWN = ((247, 247, 247), (245, 176, 112), (163, 74, 0))


def planes(e: Explanation) -> Floats | None:
    """The map as frames (f, h, w) that lie on those of the view, its channels summed; none if it does not fit."""
    if not isinstance(e.map, np.ndarray) or e.view is None:
        return None
    values = e.map
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
    """The map as ``planes`` gives it, alone and over the picture in gray, in about so many bytes."""
    chosen = range(min(len(found), MOST_FRAMES))
    shown = [_fine(found[f]) for f in chosen]
    limit = reach(np.concatenate([frame.ravel() for frame in shown]))
    width = WIDTH if len(found) == 1 and most >= SMALL // 2 else STRIP
    room = (width, most // len(chosen))
    figures = join(
        *(_frame(frame / limit, gray_of(e.view, f), room) for f, frame in zip(chosen, shown, strict=True))
    )
    words = (("vd-up", "raises the output"), ("vd-down", "lowers it"))
    keys = [tag("span", {}, tag("i", {"class": sign}), escape(say)) for sign, say in words]
    least = f"deepest color: from {minus(number(limit))} on, the 99th percentile of sizes"
    key = tag("p", {"class": "vd-key"}, *spaced(*keys, tag("span", {}, escape(least))))
    return tag("div", {"class": "vd-view"}, tag("div", {"class": "vd-pair"}, figures), key)


def _frame(shares: Floats, gray: Floats | None, room: tuple[int, int]) -> Markup:
    """Shares of the deepest color (h, w), alone and on the picture: stored once, shown twice."""
    h, w = shares.shape
    width, most = room
    wide, content = round(width * w / max(h, w)), _colored(shares, 2 * most // 3)
    name = f"vd-{hashlib.blake2b(content.encode(), digest_size=8).hexdigest()}"
    sharp = "vd-sharp" if max(h, w) < SHARP else ""
    size, box = (float(w), float(h)), {"width": w, "height": h, "preserveAspectRatio": "none"}
    ground = tag("rect", {"width": w, "height": h, "class": "vd-ground"})
    stored = tag("image", {"id": name, **box, "href": content})
    alone = drawn(Stage(size, [layer(size, "the map of weights", ground, stored, wash=sharp)], width=wide))
    figures = [figure(escape("the map, place by place"), alone)]
    if gray is not None:
        below = picture(np.repeat(_fine(gray)[..., None].round().astype(np.uint8), 3, axis=-1), most // 3)
        shown = (tag("image", {**box, "href": below}), tag("use", {"href": f"#{name}"}))
        over = drawn(Stage(size, [layer(size, "the map over the picture", *shown, wash=sharp)], width=wide))
        figures.append(figure(escape("the map on the picture"), over))
    return join(*figures)


def _colored(shares: Floats, most: int) -> str:
    """A picture of few colors, the weaker the clearer, with fewer places until it fits."""
    sides = np.arange(-LEVELS, LEVELS + 1) / LEVELS
    palette = np.c_[tinted((sides + np.sign(sides)) / 2, 1.0), np.abs(255 * sides)]
    content = b""
    for fine in FINE:
        scale = min(fine / max(shares.shape), 1.0)
        small = means(shares, *(max(round(n * scale), 1) for n in shares.shape))
        content = png((LEVELS + LEVELS * np.clip(small, -1, 1)).round().astype(np.uint8), palette)
        if len(content) <= most:
            break
    return data_uri("image/png", content)


def _fine(values: Floats) -> Floats:
    """A plane no finer than the finest map."""
    scale = min(FINE[0] / max(values.shape), 1.0)
    return means(values, *(max(round(n * scale), 1) for n in values.shape))


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
