"""Kernels that weigh samples by their distance to the instance, and distances of masks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veridical.errors import check_positive
from veridical.records import Floats

__all__ = ["Gaussian"]


@dataclass(frozen=True)
class Gaussian:
    """Proximity exp(-D² / 2 width²), D being a distance that is 1 at the far end.

    For tables D is the Euclidean distance of designs divided by the square root of their number, for masks
    the cosine distance to the full mask. The lime package's 0.75·sqrt(d) and 25 of 100 are 0.75 and 0.25 here.
    """

    width: float

    def __post_init__(self) -> None:
        check_positive("the width of a kernel", self.width)

    def __call__(self, distances: Floats) -> Floats:
        near: Floats = np.exp(-0.5 * np.square(distances / self.width))
        return near

    def scaled(self, width: float) -> Gaussian:
        """The same, wider or narrower."""
        return Gaussian(self.width * width)


MASK_KERNEL = Gaussian(0.25)  # of texts, pictures, sounds and series
ROW_KERNEL = Gaussian(0.75)  # of table rows


def flat(distances: Floats) -> Floats:
    """Every sample counts alike, however far away it is."""
    return np.ones_like(distances)


def cosine(d: int) -> Floats:
    """Cosine distance to the full mask, by number of parts kept."""
    return 1 - np.sqrt(np.arange(d + 1) / d)


def euclidean(d: int) -> Floats:
    """Euclidean distance to the full mask, divided by the largest one, by number of parts kept."""
    return np.sqrt(1 - np.arange(d + 1) / d)
