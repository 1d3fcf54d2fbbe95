"""Signals as sums: parts that lie over each other, such as bands and stems, are taken away by subtraction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import signal

from veridical.errors import require
from veridical.records import Bools, Floats
from veridical.represent.regions import HARDLY, ROUNDING, Array, Moved, as_type, is_tensor, numbers_of

WINDOW = 0.04  # seconds of a short-time spectrum


@dataclass(frozen=True, eq=False)
class SumComposer:
    """The instance less the parts that are taken away; with all parts kept it is the very instance."""

    x: Array
    parts: Floats  # (d, x.size)
    like: Any = None  # the tensor that x was, if it was one
    reason: ClassVar[str] = "there is nothing to take out of {it}"
    notes: ClassVar[tuple[str, ...]] = ()

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

    @property
    def unchanged(self) -> Bools:
        """Parts that are silent, next to the whole, (d,): there is nothing to take away."""
        x = self.x.astype(np.float64)
        sd, size = float(x.std()), float(np.abs(x).max(initial=0.0))
        whole = sd if sd > ROUNDING * size else size or 1.0
        return np.asarray(np.sqrt(np.mean(np.square(self.parts, dtype=np.float64), axis=1)) <= HARDLY * whole)

    def moved(self, size: float, rng: np.random.Generator, n_blocks: int | None = None) -> Moved:
        """Every part louder, and softer."""
        ahead, back = (replace(self, parts=way * size * self.parts) for way in (-1, 1))
        says = f"each part becomes {100 * size:.3g} % louder, and softer"
        return Moved(ahead, back, False, says, np.asarray(~self.parts.any(axis=1)))


def tile_sounds(samples: Floats, rate: float, bounds: Floats) -> Floats:
    """What lies in each time-frequency rectangle (seconds from, to, hertz from, to), as sounds (d, n).

    Rectangles that tile the plane share every bin of a short-time spectrum between them, so the sounds sum to
    the recording.
    """
    return _inside(samples, rate, [bounds[j : j + 1] for j in range(len(bounds))])


def sound_of_tiles(samples: Floats, rate: float, bounds: Floats) -> Floats:
    """The sum (n,) of what ``tile_sounds`` gives, in one pass; of rectangles that do not overlap."""
    found: Floats = _inside(samples, rate, [bounds])[0]
    return found


def _inside(samples: Floats, rate: float, groups: Sequence[Floats]) -> Floats:
    """What lies in the rectangles of each group, as sounds, one a group."""
    n = len(samples)
    if not n:
        return np.zeros((len(groups), 0))
    width = min(2 ** round(np.log2(max(WINDOW * rate, 16))), max(2 ** (n.bit_length() - 1), 4))
    settings: dict[str, Any] = {"fs": rate, "nperseg": width, "noverlap": 3 * width // 4}
    hertz, times, bins = signal.stft(np.asarray(samples, dtype=np.float64), **settings)
    found = np.zeros((len(groups), n))
    for j, bounds in enumerate(groups):
        kept = np.zeros(bins.shape, dtype=bool)
        for start, stop, low, high in bounds:
            end = np.inf if stop >= n / rate - 1e-9 else stop
            top = np.inf if high >= rate / 2 - 1e-9 else high
            kept |= np.outer((hertz >= low) & (hertz < top), (times >= start) & (times < end))
        _, sound = signal.istft(bins * kept, **settings)
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
