"""Arrays as PNG, regions as outlines: what pictures are drawn from, without any imaging package."""

from __future__ import annotations

import struct
import zlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from veridical.records import Floats

Bytes: TypeAlias = npt.NDArray[np.uint8]
Labels: TypeAlias = npt.NDArray[np.int64]  # whole numbers; below zero: no part
MAGMA = (  # lightness rises evenly
    (0, 0, 4), (20, 14, 54), (59, 15, 112), (100, 26, 128), (140, 41, 129), (183, 55, 121), (222, 73, 104),
    (247, 112, 92), (254, 159, 109), (254, 207, 146), (252, 253, 191),
)  # fmt: skip


def png(pixels: Bytes, palette: Bytes | None = None) -> bytes:
    """Pixels (h, w, 3), or numbers of colors (h, w) with their palette (n, 3), or (n, 4) with alpha, as a PNG."""
    h, w = pixels.shape[:2]
    rows = np.ascontiguousarray(pixels).reshape(h, -1)
    lines = np.pad(rows, ((0, 0), (1, 0))) if palette is not None else _filtered(rows)
    known = np.empty((0, 3)) if palette is None else palette
    columns = (known[:, :3], known[:, 3:])  # alpha may be none
    made = (c.astype(np.uint8).tobytes() for c in columns)
    colors = b"".join(_chunk(k, c) for k, c in zip((b"PLTE", b"tRNS"), made, strict=True) if c)
    head = struct.pack(">2I5B", w, h, 8, 2 if palette is None else 3, 0, 0, 0)
    body = _chunk(b"IDAT", zlib.compress(lines.tobytes(), 6))
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + colors + body + _chunk(b"IEND", b"")


def heat() -> Bytes:
    """256 colors from dark to light, ordered to every eye and in gray."""
    anchors = np.array(MAGMA, dtype=float)
    at = np.linspace(0, len(anchors) - 1, 256)
    return np.stack([np.interp(at, range(len(anchors)), c) for c in anchors.T], axis=1).round().astype(np.uint8)


def shrink(pixels: Bytes, h: int, w: int) -> Bytes:
    """Means over blocks, so that (h, w) are left."""
    return np.asarray(means(pixels, h, w).round(), dtype=np.uint8)


def means(values: npt.NDArray[Any], h: int, w: int) -> Floats:
    """Means over blocks, so that (h, w) are left."""
    found: Floats = values.astype(np.float64)
    for axis, n in ((0, h), (1, w)):
        edges = np.linspace(0, found.shape[axis], n + 1).round().astype(int)
        if n == found.shape[axis]:
            continue
        sums = np.cumsum(found, axis=axis)
        ends = np.take(sums, edges[1:] - 1, axis=axis)
        counts = np.diff(edges).reshape([-1 if i == axis else 1 for i in range(found.ndim)])
        found = np.diff(ends, axis=axis, prepend=0) / counts
    return found


def shrunk(shape: tuple[int, ...], most: int) -> tuple[int, int]:
    """The shape (h, w) with at most so many pixels either way."""
    scale = min(most / max(shape), 1.0)
    return max(round(shape[0] * scale), 1), max(round(shape[1] * scale), 1)


def fitted(h: int, w: int, width: int) -> tuple[int, int, int]:
    """The shape of a frame with at most ``width`` pixels either way, and how wide to draw it."""
    return *shrunk((h, w), width), max(round(w * width / max(h, w)), 1)


def sample(labels: npt.NDArray[Any], h: int, w: int) -> npt.NDArray[Any]:
    """The value in the middle of every block, so that (h, w) are left."""
    rows, cols = (
        ((np.arange(n) + 0.5) * size / n).astype(int) for n, size in zip((h, w), labels.shape, strict=True)
    )
    return np.asarray(labels[rows[:, None], cols])


def outline(mask: npt.NDArray[np.bool_]) -> str:
    """The border of a region as SVG path data, along the edges of its pixels."""
    top, left, crop = _cropped(mask)
    padded = np.pad(crop.astype(np.int8), 1)
    steps: dict[bool, dict[tuple[int, int], list[int]]] = {True: {}, False: {}}  # from a corner, along x or not
    for row, start, stop, sign in _runs(np.diff(padded, axis=0)[:, 1:-1]):
        first, last = (start, stop) if sign > 0 else (stop, start)
        steps[True].setdefault((first, row), []).append(last)
    for col, start, stop, sign in _runs(np.diff(padded, axis=1)[1:-1].T):
        first, last = (start, stop) if sign < 0 else (stop, start)
        steps[False].setdefault((col, first), []).append(last)
    path = []
    while steps[True]:
        x, y = next(iter(steps[True]))
        path.append(f"M{x + left} {y + top}")
        across, here = True, (x, y)
        while here in steps[across]:
            ends = steps[across][here]
            end = ends.pop()
            if not ends:
                del steps[across][here]
            path.append(f"h{end - here[0]}" if across else f"v{end - here[1]}")
            here = (end, here[1]) if across else (here[0], end)
            across = not across
        path.append("z")
    return "".join(path)


def _cropped(mask: npt.NDArray[np.bool_]) -> tuple[int, int, npt.NDArray[np.bool_]]:
    """Where a region begins, and the smallest box that holds it; of nothing, the whole."""
    rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return 0, 0, mask
    return int(rows[0]), int(cols[0]), mask[rows[0] : rows[-1] + 1, cols[0] : cols[-1] + 1]


def borders(labels: Labels) -> str:
    """All lines between different labels as SVG path data, each as long as it can be drawn without lifting."""
    across = _runs(np.diff(labels, axis=0) != 0)
    down = _runs((np.diff(labels, axis=1) != 0).T)
    lines = [((start, row + 1), (stop, row + 1)) for row, start, stop, _ in across]
    lines += [((col + 1, start), (col + 1, stop)) for col, start, stop, _ in down]
    meeting: dict[tuple[int, int], list[int]] = {}
    for i, ends in enumerate(lines):
        for end in ends:
            meeting.setdefault(end, []).append(i)
    path, drawn = list[str](), [False] * len(lines)
    for first, (here, _) in enumerate(lines):
        line = -1 if drawn[first] else first
        path += [f"M{here[0]} {here[1]}"] if line >= 0 else []
        while line >= 0:
            drawn[line] = True
            there = lines[line][1] if lines[line][0] == here else lines[line][0]
            path.append(f"h{there[0] - here[0]}" if there[1] == here[1] else f"v{there[1] - here[1]}")
            here = there
            line = next((j for j in meeting[here] if not drawn[j]), -1)
    return "".join(path)


def inside(mask: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The point (x, y) deepest in a region: where its name is put."""
    top, left, crop = _cropped(mask)
    depth = ndimage.distance_transform_edt(np.pad(crop, 1))[1:-1, 1:-1]
    deepest = np.argwhere(depth >= depth.max() - 0.5)
    middle = deepest.mean(axis=0)
    y, x = deepest[np.abs(deepest - middle).sum(axis=1).argmin()]
    return float(x + left) + 0.5, float(y + top) + 0.5


def envelope(values: Floats, n: int) -> tuple[Floats, Floats]:
    """The least and greatest of at most n blocks of values (t,); nan where a block has none."""
    edges = np.linspace(0, len(values), min(n, len(values)) + 1).round().astype(int)[:-1]
    if not len(edges):
        return np.empty(0), np.empty(0)
    return np.fmin.reduceat(values, edges), np.fmax.reduceat(values, edges)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _filtered(rows: Bytes) -> Bytes:
    """Each row by the one of PNG's five filters that leaves the smallest numbers."""
    now = rows.astype(np.int16)
    left, up = np.zeros_like(now), np.zeros_like(now)
    left[:, 3:], up[1:] = now[:, :-3], now[:-1]
    corner = np.zeros_like(now)
    corner[1:, 3:] = now[:-1, :-3]
    guess = left + up - corner
    away = [np.abs(guess - near) for near in (left, up, corner)]
    paeth = np.where((away[0] <= away[1]) & (away[0] <= away[2]), left, np.where(away[1] <= away[2], up, corner))
    tried = np.stack([now - p for p in (np.zeros_like(now), left, up, (left + up) // 2, paeth)]).astype(np.uint8)
    cost = np.abs(tried.view(np.int8).astype(np.int32)).sum(axis=2)
    best = cost.argmin(axis=0)
    chosen = tried[best, np.arange(len(rows))]
    return np.concatenate([best[:, None].astype(np.uint8), chosen], axis=1)


def _runs(signs: npt.NDArray[Any]) -> list[tuple[int, int, int, int]]:
    """(line, start, stop, sign) of each stretch of one nonzero sign along a line."""
    lines, n = signs.shape
    wide = np.zeros((lines, n + 2), dtype=np.int8)
    wide[:, 1:-1] = signs
    changes = np.diff(wide, axis=1) != 0
    line, at = np.nonzero(changes)
    value = wide[line, at + 1]
    found = []
    for i in np.flatnonzero(value):
        found.append((int(line[i]), int(at[i]), int(at[i + 1]), int(value[i])))
    return found


UP = ((247, 247, 247), (133, 182, 222), (20, 84, 148))  # of a map, from nothing to much
DOWN = ((247, 247, 247), (245, 176, 112), (163, 74, 0))


def tinted(values: Floats, limit: float) -> Bytes:
    """Colors (…, 3) of values: blue above zero, orange below, white at it."""
    share = np.clip(values / limit, -1, 1)
    colors = [
        np.where(share >= 0, *(np.interp(np.abs(share), (0, 0.5, 1), np.array(side)[:, c]) for side in (UP, DOWN)))
        for c in range(3)
    ]
    return np.stack(colors, axis=-1).round().astype(np.uint8)
