"""Signals as sums: parts that lie over each other, such as bands and stems, are taken away by subtraction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import signal

from veridical.errors import require
from veridical.records import Bools, Floats
from veridical.represent.regions import Array, Moved, as_type, is_tensor, numbers_of

WINDOW = 0.04  # seconds of a short-time spectrum


@dataclass(frozen=True, eq=False)
class SumComposer:
    """The instance less the parts that are taken away; with all parts kept it is the very instance."""

    x: Array
    parts: Floats  # (d, x.size)
    like: Any = None  # the tensor that x was, if it was one

    @classmethod
    def of(cls, x: Any, parts: Floats) -> SumComposer:
        """Of an array or a tensor; sums are worked out in NumPy, and go back to the tensor's device."""
        return cls(numbers_of(x, "the signal"), parts, x.detach() if is_tensor(x) else None)

    @property
    def size(self) -> int:
        return int(self.x.size * 8)

    def __call__(self, masks: Bools, buffer: Any = None) -> Any:
        gone: Floats = (~masks).astype(self.parts.dtype) @ self.parts
        made = as_type(self.x - gone.reshape(len(masks), *self.x.shape), self.x.dtype)
        if self.like is None:
            return made
        torch = require("torch", extra="torch")
        return torch.as_tensor(made, dtype=self.like.dtype, device=self.like.device)

    def moved(self, size: float, rng: np.random.Generator, n_blocks: int | None = None) -> Moved:
        """Every part louder, and softer."""
        ahead, back = (replace(self, parts=way * size * self.parts) for way in (-1, 1))
        return Moved(ahead, back, False, f"each part becomes {100 * size:.3g} % louder, and softer")


def tile_sounds(samples: Floats, rate: float, bounds: Floats) -> Floats:
    """What lies in each time-frequency rectangle (seconds from, to, hertz from, to), as sounds (d, n).

    Rectangles that tile the plane share every bin of a short-time spectrum between them, so the sounds sum to
    the recording.
    """
    n = len(samples)
    width = min(2 ** round(np.log2(max(WINDOW * rate, 16))), max(2 ** (n.bit_length() - 1), 4))
    settings: dict[str, Any] = {"fs": rate, "nperseg": width, "noverlap": 3 * width // 4}
    hertz, times, bins = signal.stft(np.asarray(samples, dtype=np.float64), **settings)
    found = np.zeros((len(bounds), n))
    for j, (start, stop, low, high) in enumerate(bounds):
        end = np.inf if stop >= n / rate - 1e-9 else stop
        top = np.inf if high >= rate / 2 - 1e-9 else high
        inside, during = (hertz >= low) & (hertz < top), (times >= start) & (times < end)
        _, sound = signal.istft(bins * np.outer(inside, during), **settings)
        found[j, : len(sound)] = sound[:n]
    return found


def band_sounds(series: Floats, n_bands: int) -> tuple[Floats, Floats]:
    """What lies in each of n bands of frequency of a series (t,), as series (n, t), and the bands' edges.

    The mean is no band: it always stays. Edges are in cycles a step.
    """
    t = len(series)
    spectrum = np.fft.rfft(series)
    edges = np.linspace(1, len(spectrum), n_bands + 1).round().astype(int)
    found = np.empty((n_bands, t))
    for j in range(n_bands):
        own = np.zeros_like(spectrum)
        own[edges[j] : edges[j + 1]] = spectrum[edges[j] : edges[j + 1]]
        found[j] = np.fft.irfft(own, t)
    return found, np.append(edges[:-1], len(spectrum) - 1) / t
