"""A copy of an instance without its fine detail, made of its strongest patterns alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from veridical.errors import check_whole
from veridical.records import Floats
from veridical.represent.fill import Labels

SHARE = 0.25  # of all patterns that are kept by default
WINDOW = 64  # values of a series that make up one pattern, at most
AT_ONCE = 2**14  # windows of a series that are held at once


@dataclass(frozen=True)
class LowRank:
    """The ``rank`` strongest patterns of the instance: a part keeps its content, and loses small changes in it.

    Of a picture or spectrogram they are the singular vectors of each channel, of a series those of its windows of
    up to 64 values (singular spectrum analysis). By default a quarter of them is kept: 10 of a spectrogram of
    40 bands. Fewer lose what the instance is made of, more keep what was changed.
    """

    rank: int | None = None

    purpose: ClassVar[str] = "change"

    def __post_init__(self) -> None:
        if self.rank is not None:
            check_whole("the rank of LowRank", self.rank)

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        channels = np.moveaxis(values, -1, 0)  # (c, ...)
        if labels.ndim == 1:
            return np.stack([self._series(x) for x in channels], axis=-1)
        mean = channels.mean(axis=(-2, -1), keepdims=True)
        left, sizes, right = np.linalg.svd(channels - mean, full_matrices=False)
        k = self._kept(sizes.shape[-1])
        strongest: Floats = mean + (left[..., :k] * sizes[..., None, :k]) @ right[..., :k, :]
        return np.moveaxis(strongest, 0, -1)

    def _kept(self, n: int) -> int:
        """How many of n patterns."""
        return min(max(round(SHARE * n), 1) if self.rank is None else self.rank, n)

    def _series(self, x: Floats) -> Floats:
        """The windows of a series (t,) without their weaker patterns, each value the mean over its windows."""
        length = min(WINDOW, (len(x) + 1) // 2)
        mean = x.mean()
        windows = sliding_window_view(x - mean, length)
        pieces = (windows[i : i + AT_ONCE] for i in range(0, len(windows), AT_ONCE))
        patterns = np.linalg.eigh(sum(piece.T @ piece for piece in pieces))[1].T[::-1]
        found = np.zeros(len(x))
        for pattern in patterns[: self._kept(length)]:
            found += np.convolve(np.correlate(x - mean, pattern, mode="valid"), pattern)
        counts = np.convolve(np.ones(len(windows)), np.ones(length))
        return np.asarray(mean + found / counts)
