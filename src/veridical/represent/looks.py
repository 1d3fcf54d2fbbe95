"""What regions of a picture look like: color, texture, place and size."""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.records import Floats, View

LOOKS = (("color", 3, 1.0, 0.1), ("texture", 4, 0.5, 0.1), ("place", 2, 0.35, 0.15), ("size", 1, 0.25, 0.1))
HUES = ((20, "pink"), (52, "red"), (85, "orange"), (115, "yellow"), (170, "green"), (230, "cyan"), (318, "blue"),
        (350, "purple"), (361, "pink"))  # fmt: skip
GRAYS = ((15, "black"), (40, "dark gray"), (65, "gray"), (90, "light gray"), (101, "white"))
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)  # D65


def look(view: View, d: int) -> Floats:
    """Lab color; spread, energy and direction of its lightness; center; size: one row a part (d, 10)."""
    pixels, labels = np.asarray(view.data["pixels"]), np.asarray(view.data["labels"]).astype(np.int64)
    lab = lab_of(pixels) / 100
    flat = np.where((labels >= 0) & (labels < d), labels, d).ravel()  # d: of no part
    counts = np.bincount(flat, minlength=d + 1)[:d]

    def mean(values: Any, weights: Any = None) -> Floats:
        share = np.ones(flat.shape) if weights is None else weights.ravel()
        total = np.bincount(flat, share, d + 1)[:d]
        summed = np.bincount(flat, np.broadcast_to(values, labels.shape).ravel() * share, d + 1)[:d]
        return summed / np.where(total > 0, total, 1)

    light = lab[..., 0]
    down, across = _slopes(light)
    inner = _inner(labels)  # an edge between two regions is no texture of either
    power = mean(down**2 + across**2, inner)
    energy = np.sqrt(power)
    turned = [mean(across**2 - down**2, inner), mean(2 * across * down, inner)]
    strength = np.minimum(10 * energy, 1) / np.where(power > 0, power, 1)
    _, h, w = labels.shape
    found = [*(mean(lab[..., c]) for c in range(3)), np.sqrt(np.maximum(mean(light**2) - mean(light) ** 2, 0))]
    found += [np.minimum(10 * energy, 1), *(strength * t for t in turned)]
    found += [mean(np.arange(h)[:, None] / max(h - 1, 1)), mean(np.arange(w) / max(w - 1, 1))]
    found.append(np.sqrt(counts / max(counts.sum(), 1)))
    features = np.stack(found, axis=1)
    features[counts == 0] = np.nan
    return features


def look_words(members: Floats, everyone: Floats, unit: str) -> str:
    """Such as "dark green, smooth, lower left"; the place only if it is about the same for all members."""
    middle = members.mean(axis=0)
    words = [color_name(100 * middle[:3]), _texture_word(middle[3:7])]
    if members[:, 7:9].std(axis=0).max() < 0.2:
        words.append(_place_word(*middle[7:9]))
    return ", ".join(words)


def lab_of(pixels: Any) -> Floats:
    """sRGB (…, 3) from 0 to 255 as CIE Lab."""
    share = np.arange(256) / 255
    linear = np.where(share > 0.04045, ((share + 0.055) / 1.055) ** 2.4, share / 12.92)
    ratio = linear[np.asarray(pixels, dtype=np.uint8)] @ (TO_XYZ / WHITE[:, None]).T
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def color_name(lab: Any) -> str:
    """What a person would call a color."""
    lightness, a, b = (float(v) for v in lab)
    if np.hypot(a, b) < 12:
        return next(name for top, name in GRAYS if lightness < top)
    hue = np.degrees(np.arctan2(b, a)) % 360
    name = next(name for top, name in HUES if hue < top)
    if name == "orange" and lightness < 55:
        return "brown"
    shade = "dark " if lightness < 32 else "light " if lightness > 80 and name != "yellow" else ""
    return shade + name


def _texture_word(texture: Floats) -> str:
    spread, energy, upright, diagonal = texture
    if energy < 0.25:
        return "smooth" if spread < 0.08 else "shaded"
    if np.hypot(upright, diagonal) < 0.5 * energy:
        return "textured"
    if abs(upright) >= abs(diagonal):
        return "upright lines" if upright > 0 else "level lines"
    return "slanted lines"


def _place_word(down: float, across: float) -> str:
    up = ("upper", "middle", "lower")[min(int(3 * down), 2)]
    side = ("left", "center", "right")[min(int(3 * across), 2)]
    return "center" if (up, side) == ("middle", "center") else f"{up} {side}"


def _slopes(light: Floats) -> tuple[Floats, Floats]:
    """Down and across each frame (f, h, w); none where a frame is one pixel wide."""
    down, across = (np.gradient(light, axis=a) if light.shape[a] > 1 else np.zeros_like(light) for a in (1, 2))
    return down, across


def _inner(labels: Any) -> Any:
    """Pixels whose neighbors above, below, left and right are of the same part."""
    inner = np.ones(labels.shape)
    for axis in (1, 2):
        same = np.diff(labels, axis=axis) == 0
        ends = [(0, 0)] * 3
        for side in ((1, 0), (0, 1)):
            ends[axis] = side
            inner *= np.pad(same, ends, constant_values=True)
    return inner
