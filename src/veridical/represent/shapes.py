"""What windows of a series are like: level, spread and shape."""

from __future__ import annotations

import numpy as np

from veridical.records import Floats, View

POINTS = 8
SHAPES = (("level", 1, 1.0, 0.0), ("spread", 1, 0.7, 0.0), ("shape", POINTS, 1.0, 0.5))
FLAT = 0.1  # of the spread of the whole series, below which a window's shape is noise


def shape(view: View, d: int) -> Floats:
    """Mean, standard deviation, and the window at 8 points, scaled: one row a part (d, 10).

    A window of several channels is described by each of them scaled by its own spread, on average.
    """
    values = np.nan_to_num(np.asarray(view.data["values"], dtype=np.float64), posinf=0.0, neginf=0.0)
    labels = np.asarray(view.data["labels"]).astype(np.int64)
    features = np.full((d, 2 + POINTS), np.nan)
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


def shape_words(members: Floats, everyone: Floats, unit: str) -> str:
    """Such as "rising, high"."""
    middle = members.mean(axis=0)
    above = middle[0] - np.median(everyone[:, 0])
    level = "middle" if abs(above) < 0.5 * everyone[:, 0].std() else "high" if above > 0 else "low"
    return f"{_shape_word(middle[2:])}, {level}"


def _window(window: Floats, spread: float) -> Floats:
    deviation = window - window.mean()
    points = np.interp(np.linspace(0, len(window) - 1, POINTS), np.arange(len(window)), deviation)
    scale = max(float(window.std()), FLAT * spread) or 1.0
    return np.concatenate([[window.mean(), window.std()], points / scale])


def _shape_word(points: Floats) -> str:
    size = float(np.linalg.norm(points))
    if size < 0.5 * np.sqrt(POINTS):
        return "flat"
    line = np.linspace(-1, 1, POINTS)
    bend = line**2 - np.mean(line**2)
    rise, dip = (float(points @ pattern) / np.linalg.norm(pattern) / size for pattern in (line, bend))
    if max(abs(rise), abs(dip)) < 0.5:
        return "wavy"
    if abs(rise) >= abs(dip):
        return "rising" if rise > 0 else "falling"
    return "dip" if dip > 0 else "peak"
