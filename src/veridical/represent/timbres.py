"""What tiles of a spectrogram and pieces of a recording sound like: level, movement, frequency."""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.records import Floats, View

# Bounds come last, for the words: hertz (or bands) from, to.
TILES = (("level", 1, 1.0, 0.1), ("movement", 3, 0.7, 0.1), ("pitch", 2, 1.0, 0.15), ("length", 1, 0.25, 0.2),
         ("bounds", 2, 0.0, 1.0))  # fmt: skip
N_BANDS = 8
SOUNDS = (("spectrum", N_BANDS, 1.0, 0.3), ("level", 1, 0.7, 0.2), ("movement", 1, 0.5, 0.2),
          ("length", 1, 0.25, 0.2), ("bounds", 2, 0.0, 1.0))  # fmt: skip
QUIETEST = 1e-6  # of the loudest power, below which all is silence
FRAMES = 16  # stretches of a piece whose levels are compared


def tile(view: View, d: int) -> Floats:
    """Level, spread, flux and tilt, center and height among the bands, length: one row a part (d, 9)."""
    levels = np.asarray(view.data["levels"], dtype=np.float64) / 255
    labels = np.asarray(view.data["labels"]).astype(np.int64)
    n_bands, n_frames = levels.shape
    flat = np.where((labels >= 0) & (labels < d), labels, d).ravel()
    counts = np.bincount(flat, minlength=d + 1)[:d]
    safe = np.where(counts > 0, counts, 1)

    def mean(values: Any) -> Floats:
        found: Floats = np.bincount(flat, np.broadcast_to(values, labels.shape).ravel(), d + 1)[:d] / safe
        return found

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


def tile_words(members: Floats, everyone: Floats, unit: str) -> str:
    """Such as "200-800 Hz, loud, changing"."""
    moving = members[:, 2].mean() > 1.25 * np.median(everyone[:, 2])
    low, high = np.median(members[:, -2:], axis=0)
    where = f"bands {low:.0f}-{high - 1:.0f}" if unit == "band" else f"{low:.0f}-{high:.0f} {unit}"
    return f"{where}, {_loudness(members[:, 0], everyone[:, 0])}, {'changing' if moving else 'steady'}"


def sound(view: View, d: int) -> Floats:
    """Power in octave bands, level, how it changes, length; the strongest band: one row a part (d, 13)."""
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
            told = _decibels(power, loudest), change, (stop - start) / length
            features[j] = *shares, *told, *_strongest(shares, rate)
    return features


def sound_words(members: Floats, everyone: Floats, unit: str) -> str:
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
    frames = np.array([np.mean(f**2) for f in np.array_split(piece, min(FRAMES, len(piece)))])
    mean = float(frames.mean())
    inside = float(power.sum() / (whole.sum() or 1.0))
    return shares, mean * inside, float(min(frames.std() / mean, 2.0)) if mean else 0.0


def _octaves(rate: float) -> Floats:
    """Where bands begin, and where the last ends: octaves down from half the rate, the rest in the first."""
    return np.append(0.0, rate / 2 / 2.0 ** np.arange(N_BANDS - 1, -1, -1))


def _strongest(shares: Floats, rate: float) -> Floats:
    best = int(np.argmax(shares))
    found: Floats = _octaves(rate)[best : best + 2]
    return found


def _decibels(power: Any, whole: float) -> Any:
    """Relative to a whole, from -3 (60 dB below it) to 0."""
    return np.log10(np.maximum(power / whole, QUIETEST)) / 2


def _loudness(members: Floats, everyone: Floats) -> str:
    above = members.mean() - np.median(everyone)
    return "middling" if abs(above) < 0.5 * everyone.std() else "loud" if above > 0 else "quiet"
