"""Descriptions of regions, windows and tiles, in numbers and words, to compare those of different instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from veridical.records import Floats, Ints, View

REGION_BLOCKS = (
    ("color", 3, 1.0, 0.1),
    ("texture", 4, 0.5, 0.1),
    ("place", 2, 0.35, 0.15),
    ("size", 1, 0.25, 0.1),
)
HUES = ((20, "pink"), (52, "red"), (85, "orange"), (115, "yellow"), (170, "green"), (230, "cyan"), (318, "blue"),
        (350, "purple"), (361, "pink"))  # fmt: skip
GRAYS = ((15, "black"), (40, "dark gray"), (65, "gray"), (90, "light gray"), (101, "white"))
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)  # D65


def describe_region(view: View, d: int) -> Floats:
    """Lab color; spread, energy and direction of its lightness; center; size: one row per part (d, 10)."""
    labels, counts, mean = _part_means(view, d)
    lab = rgb_to_lab(np.asarray(view.data["pixels"])) / 100
    light = lab[..., 0]
    down, across = (np.gradient(light, axis=a) if light.shape[a] > 1 else np.zeros_like(light) for a in (1, 2))
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


def _part_means(view: View, d: int) -> tuple[Any, Ints, Callable[..., Floats]]:
    """The part of each place, how many places each has (d,), and a function to its means of values there (d,)."""
    labels = np.asarray(view.data["labels"]).astype(np.int64)
    flat = np.where((labels >= 0) & (labels < d), labels, d).ravel()  # d: of no part

    def mean(values: Any, weights: Any = None) -> Floats:
        share = np.ones(flat.shape) if weights is None else weights.ravel()
        total = np.bincount(flat, share, d + 1)[:d]
        summed = np.bincount(flat, np.broadcast_to(values, labels.shape).ravel() * share, d + 1)[:d]
        return summed / np.where(total > 0, total, 1)

    return labels, np.bincount(flat, minlength=d + 1)[:d], mean


def name_region(members: Floats, everyone: Floats, unit: str) -> str:
    """Such as "dark green, smooth, lower left"; the place only if it is about the same for all members."""
    middle = members.mean(axis=0)
    words = [color_name(100 * middle[:3]), _texture_word(middle[3:7])]
    if members[:, 7:9].std(axis=0).max() < 0.2:
        words.append(place_word(*middle[7:9]))
    return ", ".join(words)


def rgb_to_lab(pixels: Any) -> Floats:
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


def third(share: float) -> int:
    """In which third of a length a share of it lies."""
    return min(int(3 * share), 2)


def place_word(down: float, across: float) -> str:
    """Where in a picture a place is, given by shares of its sides."""
    up, side = ("upper", "middle", "lower")[third(down)], ("left", "center", "right")[third(across)]
    return "center" if (up, side) == ("middle", "center") else f"{up} {side}"


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


N_POINTS = 8
WINDOW_BLOCKS = (("level", 1, 1.0, 0.0), ("spread", 1, 0.7, 0.0), ("shape", N_POINTS, 1.0, 0.5))
MIN_SPREAD = 0.1  # of the spread of the whole series, below which a window's shape is noise


def describe_window(view: View, d: int) -> Floats:
    """Mean, standard deviation, and the window at 8 points, scaled: one row per part (d, 10).

    A window of several channels is described by each of them scaled by its own spread, on average.
    """
    values = np.nan_to_num(np.asarray(view.data["values"], dtype=np.float64), posinf=0.0, neginf=0.0)
    labels = np.asarray(view.data["labels"]).astype(np.int64)
    features = np.full((d, 2 + N_POINTS), np.nan)
    spreads = values.std(axis=0)
    order = np.argsort(labels, axis=0, kind="stable")
    found: dict[int, list[Floats]] = {}
    for c in range(values.shape[1]):
        parts, starts = np.unique(labels[order[:, c], c], return_index=True)
        for part, steps in zip(parts, np.split(order[:, c], starts[1:]), strict=True):
            found.setdefault(int(part), []).append(_window(values[steps, c], float(spreads[c])))
    for part, rows in found.items():
        if 0 <= part < d:
            features[part] = np.mean(rows, axis=0)
    return features


def name_window(members: Floats, everyone: Floats, unit: str) -> str:
    """Such as "rising, high"."""
    middle = members.mean(axis=0)
    above = middle[0] - np.median(everyone[:, 0])
    level = "middle" if abs(above) < 0.5 * everyone[:, 0].std() else "high" if above > 0 else "low"
    return f"{_shape_word(middle[2:])}, {level}"


def _window(window: Floats, spread: float) -> Floats:
    deviation = window - window.mean()
    points = np.interp(np.linspace(0, len(window) - 1, N_POINTS), np.arange(len(window)), deviation)
    scale = max(float(window.std()), MIN_SPREAD * spread) or 1.0
    return np.concatenate([[window.mean(), window.std()], points / scale])


def _shape_word(points: Floats) -> str:
    size = float(np.linalg.norm(points))
    if size < 0.5 * np.sqrt(N_POINTS):
        return "flat"
    line = np.linspace(-1, 1, N_POINTS)
    bend = line**2 - np.mean(line**2)
    rise, dip = (float(points @ pattern) / np.linalg.norm(pattern) / size for pattern in (line, bend))
    if max(abs(rise), abs(dip)) < 0.5:
        return "wavy"
    if abs(rise) >= abs(dip):
        return "rising" if rise > 0 else "falling"
    return "dip" if dip > 0 else "peak"


# Bounds come last, for the words: hertz (or bands) from, to.
TILE_BLOCKS = (("level", 1, 1.0, 0.1), ("movement", 3, 0.7, 0.1), ("pitch", 2, 1.0, 0.15),
               ("length", 1, 0.25, 0.2), ("bounds", 2, 0.0, 1.0))  # fmt: skip
N_BANDS = 8
SOUND_BLOCKS = (("spectrum", N_BANDS, 1.0, 0.3), ("level", 1, 0.7, 0.2), ("movement", 1, 0.5, 0.2),
          ("length", 1, 0.25, 0.2), ("bounds", 2, 0.0, 1.0))  # fmt: skip
QUIETEST_POWER = 1e-6  # of the loudest power, below which all is silence
N_STRETCHES = 16  # stretches of a piece whose levels are compared


def describe_tile(view: View, d: int) -> Floats:
    """Level, spread, flux and tilt, center and height among the bands, length: one row per part (d, 9)."""
    labels, counts, mean = _part_means(view, d)
    levels = np.asarray(view.data["levels"], dtype=np.float64) / 255
    n_bands, n_frames = levels.shape
    band, frame = np.indices(labels.shape)
    level, height = mean(levels), mean(band)
    change = np.abs(np.diff(levels, axis=1, prepend=levels[:, :1]))
    change[:, 1:] *= np.diff(labels, axis=1) == 0  # from one part to the next is no movement of either
    rows, cols = (mean((at - mean(at)[np.minimum(labels, d - 1)]) ** 2) for at in (band, frame))
    tilt = mean(levels * band) - level * height
    found = [level, np.sqrt(np.maximum(mean(levels**2) - level**2, 0)), np.minimum(5 * mean(change), 1)]
    found += [tilt / np.sqrt(rows + 1), height / max(n_bands - 1, 1), np.sqrt(12 * rows) / n_bands]
    found.append(np.sqrt(12 * cols) / n_frames)
    bounds = np.asarray(view.data.get("bounds", np.zeros((d, 4))), dtype=np.float64)[:d]
    features = np.column_stack([*found, np.resize(bounds[:, 2:4], (d, 2))])
    features[counts == 0] = np.nan
    return features


def name_tile(members: Floats, everyone: Floats, unit: str) -> str:
    """Such as "200-800 Hz, loud, changing"."""
    moving = members[:, 2].mean() > 1.25 * np.median(everyone[:, 2])
    low, high = np.median(members[:, -2:], axis=0)
    where = f"bands {low:.0f}-{high - 1:.0f}" if unit == "band" else f"{low:.0f}-{high:.0f} {unit}"
    return f"{where}, {_loudness(members[:, 0], everyone[:, 0])}, {'changing' if moving else 'steady'}"


def describe_sound(view: View, d: int) -> Floats:
    """Power in octave bands, level, how it changes, length; the strongest band: one row per part (d, 13)."""
    data = view.data
    samples, bounds = np.asarray(data["samples"], dtype=np.float64), np.asarray(data["bounds"], dtype=np.float64)
    length = float(bounds[:, 1].max()) or 1.0
    pieces = [samples] * d if data.get("stems") is None else np.asarray(data["stems"], dtype=np.float64)
    rate = float(data.get("rate") or 0) or len(pieces[0]) / length  # of what is shown, where no rate is known
    loudest = float(np.max(samples**2, initial=0.0)) or 1.0
    features = np.full((d, N_BANDS + 5), np.nan)
    for j, (start, stop, low, high) in enumerate(bounds[:d]):
        a, b = round(start * rate), round(stop * rate)
        piece = pieces[j][a:b]
        if len(piece):
            shares, power, change = _spectrum(piece, rate, (low, high))
            best = int(np.argmax(shares))
            level, octave = _decibels(power, loudest), _octaves(rate)[best : best + 2]
            features[j] = *shares, level, change, (stop - start) / length, *octave
    return features


def name_sound(members: Floats, everyone: Floats, unit: str) -> str:
    """Such as "200-800 Hz, loud, steady"."""
    level = members[:, N_BANDS]
    if level.mean() < -2.9:
        return "silent"
    low, high = np.median(members[:, -2:], axis=0)
    moving = members[:, N_BANDS + 1].mean() > 0.5
    shown = f"{low:.2g}-{high:.2g} cycles a sample" if unit == "Hz of 0" else f"{low:.0f}-{high:.0f} Hz"
    return f"{shown}, {_loudness(level, everyone[:, N_BANDS])}, {'changing' if moving else 'steady'}"


def _spectrum(piece: Floats, rate: float, band: tuple[float, float]) -> tuple[Floats, float, float]:
    """Shares of power in octaves below half the rate, within a band alone; power; and how much it changes."""
    whole = np.abs(np.fft.rfft(piece * np.hanning(len(piece) + 2)[1:-1])) ** 2
    hertz = np.fft.rfftfreq(len(piece), 1 / rate)
    low, high = band
    power = np.where((hertz >= low) & (hertz <= high), whole, 0.0) if high > low else whole
    octave = np.searchsorted(_octaves(rate)[1:-1], hertz, side="right")
    octaves = np.bincount(octave, power, N_BANDS)
    shares = _decibels(octaves, float(octaves.sum()) or 1.0)
    frames = np.array([np.mean(f**2) for f in np.array_split(piece, min(N_STRETCHES, len(piece)))])
    mean = float(frames.mean())
    inside = float(power.sum() / (whole.sum() or 1.0))
    return shares, mean * inside, float(min(frames.std() / mean, 2.0)) if mean else 0.0


def _octaves(rate: float) -> Floats:
    """Where bands begin, and where the last ends: octaves down from half the rate, the rest in the first."""
    return np.append(0.0, rate / 2 / 2.0 ** np.arange(N_BANDS - 1, -1, -1))


def _decibels(power: Any, whole: float) -> Any:
    """Relative to a whole, from -3 (60 dB below it) to 0."""
    return np.log10(np.maximum(power / whole, QUIETEST_POWER)) / 2


def _loudness(members: Floats, everyone: Floats) -> str:
    above = members.mean() - np.median(everyone)
    return "middling" if abs(above) < 0.5 * everyone.std() else "loud" if above > 0 else "quiet"


# Relations of parts that are the same thing in every instance, and where others lie in a view.
COMPARABLE = frozenset({"≤", ">", "in", "=", "is missing", "not zero", "per sd", "word", "sentence"})
PLACES_IN_VIEW = {"picture": "labels", "series": "labels", "spectrogram": "labels", "sound": "bounds"}

Blocks = tuple[tuple[str, int, float, float], ...]  # (what, n features, weight in likeness, least spread)


@dataclass(frozen=True)
class Describer:
    """What a kind of view tells about its parts."""

    features: Callable[[View, int], Floats]  # of each part (d, f); nan where the view does not show it
    blocks: Blocks  # of the features, in order; a block of weight 0 is there for the words
    words: Callable[[Floats, Floats, str], str]  # (members, all parts, unit) to what the members have in common


DESCRIBERS = {
    "picture": Describer(describe_region, REGION_BLOCKS, name_region),
    "series": Describer(describe_window, WINDOW_BLOCKS, name_window),
    "sound": Describer(describe_sound, SOUND_BLOCKS, name_sound),
    "spectrogram": Describer(describe_tile, TILE_BLOCKS, name_tile),
}


@dataclass(frozen=True, eq=False)
class ViewScene:
    """A view of one of these kinds, and which parts of the explanation it shows."""

    title: str  # of the field or channel; none where it is all there is
    unit: str
    view: View
    parts: Ints  # (n,) their positions in the explanation

    @property
    def group(self) -> tuple[str, str, str]:
        """Parts of different groups are never alike."""
        return self.title, self.view.kind, self.unit

    @property
    def describer(self) -> Describer:
        return DESCRIBERS[self.view.kind]

    def features(self) -> Floats:
        """Of each part (n, f); a part too small for the view is taken for the mean of the others."""
        found = self.describer.features(self.view, len(self.parts))
        shown = ~np.isnan(found).any(axis=1)
        found[~shown] = found[shown].mean(axis=0) if shown.any() else 0.0
        return found

    def layout(self) -> bytes:
        """Where parts lie: equal for instances that are cut alike."""
        digest = blake2b(repr((self.group, self.parts.tolist())).encode())
        for name in ("labels", "bounds"):
            where = self.view.data.get(name)
            if where is not None:
                array = np.asarray(where, dtype=np.float64)
                digest.update(f"{name} {array.shape}".encode() + array.tobytes())
        return digest.digest()


def find_scenes(view: View | None, n_parts: int) -> Iterator[ViewScene]:
    """All that is in a view whose parts belong to one instance alone: not those of texts and tables."""
    if view is None:
        return
    if view.kind == "fields":
        for name, (first, n, own) in view.data["fields"].items():
            if isinstance(own, View):
                yield from _scenes_of_view(own, np.arange(first, first + n), str(name))
    else:
        yield from _scenes_of_view(view, np.arange(n_parts), "")


def _scenes_of_view(view: View, parts: Ints, title: str) -> Iterator[ViewScene]:
    if view.kind not in DESCRIBERS or view.data.get(PLACES_IN_VIEW[view.kind]) is None or not len(parts):
        return
    if view.kind == "series":
        yield from _channels(view, parts, title)
        return
    rate = f"Hz of {float(view.data.get('rate') or 0):g}"  # octaves are counted down from half the rate
    unit = view.data.get("unit") or ""
    unit = rate if view.kind == "sound" else unit if isinstance(unit, str) else str(unit[-1])
    yield ViewScene(title, unit, view, parts)


def _channels(view: View, parts: Ints, title: str) -> Iterator[ViewScene]:
    """A series channel by channel, for each has units of its own; all at once where parts are of several."""
    labels = np.asarray(view.data["labels"]).astype(np.int64)
    own = [np.unique(column[(column >= 0) & (column < len(parts))]) for column in labels.T]
    names = tuple(map(str, view.data.get("channels") or [""] * len(own)))
    if sum(map(len, own)) > len(np.unique(np.concatenate(own))) or len(own) == 1:
        yield ViewScene(title, " ".join(names), view, parts)
        return
    for c, (name, at) in enumerate(zip(names, own, strict=True)):
        where = np.searchsorted(at, labels[:, [c]])
        data = {"values": np.asarray(view.data["values"])[:, [c]], "labels": where}
        yield ViewScene(f"{title}, {name}" if title else name, name, View("series", data), parts[at])
