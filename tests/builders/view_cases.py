"""Explanations with a view of every kind, small and made by hand, and those that are awkward."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from tests.builders import explanations as made
from veridical.records import Explanation, Part, View

NASTY = (
    "</style><script>alert(1)</script> good \u202eevil\u2066 nul\x00 lone\ud800 bad <img src=x onerror=y>\r\n"
    "\ttab \x1b[31m 'quoted' \"twice\" &amp; 名前" + "x" * 5000 + " end"
)


def explained(view: View | None, d: int, weights: np.ndarray | None = None) -> Explanation:
    """An explanation of d parts; by default weights of both signs, the first the largest."""
    if weights is None:
        weights = np.array([(-0.8) ** j for j in range(d)])
    parts = tuple(Part(f"part-{j}", f"column {j % 3}", "present") for j in range(d))
    intervals = np.stack([weights - 0.05, weights + 0.05], axis=1)
    return replace(made.mushroom(), parts=parts, weights=weights, intervals=intervals, unsettled=(), view=view)


def text_view(text: str = "A good film, a bad end;\n  good  all the same.", pattern: str = r"\w+") -> View:
    words = list(re.finditer(pattern, text))
    names = list(dict.fromkeys(m.group() for m in words))
    spans = [(m.start(), m.end(), names.index(m.group())) for m in words]
    return View("text", {"text": text, "spans": np.array(spans, dtype=np.int64).reshape(-1, 3)})


def text() -> Explanation:
    return explained(text_view(), 9)


def nasty() -> Explanation:
    return explained(text_view(NASTY, r"\S+"), 15)


def picture(frames: int = 1, h: int = 30, w: int = 40, d: int = 6) -> Explanation:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (frames, h, w, 3), dtype=np.uint8)
    labels = np.broadcast_to((np.arange(w) * d // w), (frames, h, w)).astype(np.int64)
    view = View("picture", {"pixels": pixels, "labels": labels, "titles": tuple(f"z{f}" for f in range(frames))})
    return explained(view, d)


def tones(rate: int = 8000, seconds: float = 1.0) -> np.ndarray:
    """A low tone of 500 Hz and a high one of 2000 Hz, together all the time."""
    t = np.arange(round(rate * seconds)) / rate
    return np.asarray(8000 * (np.sin(2 * np.pi * 500 * t) + np.sin(2 * np.pi * 2000 * t)), dtype=np.int16)


def spectrogram() -> Explanation:
    levels = np.arange(20 * 24).reshape(20, 24) % 256
    labels = (np.arange(20) // 10)[:, None] * 2 + np.arange(24) // 12
    bounds = [(t, t + 0.5, f, g) for f, g in ((0, 1000), (1000, 4000)) for t in (0, 0.5)]
    data = {"levels": levels.astype(np.uint8), "labels": labels, "bounds": np.array(bounds), "unit": ("s", "Hz")}
    return explained(View("spectrogram", {**data, "samples": tones(), "rate": 8000}), 4)


def sound() -> Explanation:
    bounds = np.array([(i / 5, (i + 1) / 5, 0.0, 4000.0) for i in range(5)])
    return explained(View("sound", {"samples": tones(), "rate": 8000, "bounds": bounds}), 5)


def stems() -> Explanation:
    low = np.full(4000, 1000, dtype=np.int16)
    parts = np.stack([low, 2 * low, -low])
    bounds = np.tile([0.0, 0.5, 0.0, 4000.0], (3, 1))
    view = View("sound", {"samples": parts.sum(axis=0), "rate": 8000, "bounds": bounds, "stems": parts})
    return explained(view, 3)


def series(t: int = 60, channels: int = 2) -> Explanation:
    values = np.sin(np.arange(t)[:, None] / (4 + np.arange(channels)))
    labels = np.arange(t)[:, None] * 3 // t + 3 * np.arange(channels)
    names = tuple(f"channel {c}" for c in range(channels))
    return explained(View("series", {"values": values, "labels": labels, "channels": names}), 3 * channels)


def fields() -> Explanation:
    inner = {"review": (0, 9, text_view()), "price": (9, 1, "24.5 <b>"), "photo": (10, 6, picture().view)}
    return explained(View("fields", {"fields": inner}), 16)


def weightless() -> Explanation:
    e = picture()
    return replace(e, weights=np.zeros(6), intervals=np.zeros((6, 2)))


def unknown_weights() -> Explanation:
    e = picture()
    weights = np.array([np.nan, np.inf, -np.inf, 1.0, -0.5, 0.0])
    return replace(e, weights=weights, intervals=np.tile([-np.inf, np.inf], (6, 1)))


def no_parts() -> Explanation:
    return explained(text_view("nothing here", "zzz"), 0)


def empty_text() -> Explanation:
    return explained(text_view("", r"\w+"), 1)


def one_pixel() -> Explanation:
    return picture(1, 1, 1, 1)


def one_value() -> Explanation:
    return series(1, 1)


def gaps() -> Explanation:
    e = series(60, 1)
    values = e.view.data["values"].copy()
    values[10:20], values[30] = np.nan, np.inf
    return replace(e, view=View("series", {**e.view.data, "values": values}))


def all_missing() -> Explanation:
    e = series(60, 1)
    return replace(e, view=View("series", {**e.view.data, "values": np.full((60, 1), np.nan)}))


def bands() -> Explanation:
    e = series(60, 2)
    return replace(e, view=View("series", {**e.view.data, "labels": None}))


def one_sample() -> Explanation:
    e = sound()
    return replace(e, view=View("sound", {**e.view.data, "samples": np.array([7], dtype=np.int16)}))


def silence() -> Explanation:
    e = spectrogram()
    return replace(e, view=View("spectrogram", {**e.view.data, "samples": np.zeros(8000, dtype=np.int16)}))


def no_recording() -> Explanation:
    e = spectrogram()
    data = {k: v for k, v in e.view.data.items() if k not in {"samples", "rate"}}
    return replace(e, view=View("spectrogram", {**data, "unit": "frame, band"}))


def tiled_sound() -> Explanation:
    bounds = [(t, t + 0.5, f, g) for f, g in ((0, 1000), (1000, 4000)) for t in (0, 0.5)]
    return explained(View("sound", {"samples": tones(), "rate": 8000, "bounds": np.array(bounds, dtype=float)}), 4)


def unknown_rate() -> Explanation:
    """Bounds count samples, and there is nothing to be heard."""
    e = sound()
    bounds = e.view.data["bounds"] * [8000, 8000, 0, 0] + [0, 0, 0, 0.5]
    return replace(e, view=View("sound", {**e.view.data, "rate": 0.0, "bounds": bounds}))


def unknown_tiles() -> Explanation:
    e = tiled_sound()
    return replace(e, view=View("sound", {**e.view.data, "rate": 0.0}))


def three_hundred() -> Explanation:
    return picture(1, 60, 600, 300)


def long_series() -> Explanation:
    return series(50_000, 12)


def unowned() -> Explanation:
    """Pixels that belong to no part."""
    e = picture()
    labels = e.view.data["labels"].copy()
    labels[:, :10] = -1
    return replace(e, view=View("picture", {**e.view.data, "labels": labels}))


def video() -> Explanation:
    return picture(20)


def unheard_of() -> Explanation:
    return explained(View("smell", {"notes": "of pine"}), 2)


def hostile_picture() -> Explanation:
    return _renamed(picture(3), titles=made.HOSTILE[:3])


def hostile_series() -> Explanation:
    return _renamed(series(60, 6), channels=made.HOSTILE[:6])


def hostile_spectrogram() -> Explanation:
    return _renamed(spectrogram(), unit=made.HOSTILE[:2])


def hostile_fields() -> Explanation:
    inner = {name: (j, 1, name[:3000]) for j, name in enumerate(made.HOSTILE)}
    return _renamed(explained(View("fields", {"fields": inner}), len(inner)), more=1)


def _renamed(e: Explanation, **data: object) -> Explanation:
    """Every name a stranger may choose is an attack or a nuisance, those of the parts too."""
    parts = tuple(replace(p, name=made.HOSTILE[j % len(made.HOSTILE)]) for j, p in enumerate(e.parts))
    return replace(e, parts=parts, view=View(e.view.kind, {**e.view.data, **data}))


PLAIN = (text, picture, video, spectrogram, sound, stems, series, fields)
AWKWARD = (
    nasty, weightless, unknown_weights, no_parts, empty_text, one_pixel, one_value, gaps, all_missing, bands,
    one_sample, silence, tiled_sound, unknown_rate, unknown_tiles, no_recording, three_hundred, long_series,
    unowned, unheard_of, hostile_picture, hostile_series, hostile_spectrogram, hostile_fields,
)  # fmt: skip
CASES = PLAIN + AWKWARD
