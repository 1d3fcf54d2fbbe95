"""How a picture is cut: functions from a picture to labels, of scikit-image or of the caller's own."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.errors import InputError, check_positive, check_whole, require
from veridical.records import Floats
from veridical.represent.fill import Labels
from veridical.represent.masked import tried
from veridical.represent.regions import numbers_of

DETAIL = 256  # places a side that a segmentation looks at, at most


@dataclass(frozen=True)
class Slic:
    """Compact regions of similar color (SLIC)."""

    compactness: float = 10.0
    sigma: float = 1.0

    def __post_init__(self) -> None:
        check_positive("the compactness of Slic", self.compactness)
        _check_sigma("Slic", self.sigma)

    def __call__(self, picture: Floats, n: int) -> Any:
        find = require("skimage.segmentation", extra="image").slic
        colors = _colors(picture)
        # Compactness is in units of Lab color, whose range is a hundred times that of a gray value. Small regions
        # are joined later, so more are asked for.
        compactness = self.compactness if colors.shape[-1] == 3 else self.compactness / 100
        more = max(round(1.5 * n), n + 8)
        return find(colors, more, compactness, sigma=self.sigma, start_label=0, channel_axis=-1)


@dataclass(frozen=True)
class Quickshift:
    """Regions around modes of color and place (quickshift), merged down to n; for pictures of three channels."""

    kernel_size: float = 4.0
    max_dist: float = 200.0
    ratio: float = 0.2

    def __post_init__(self) -> None:
        check_positive("the kernel_size of Quickshift", self.kernel_size)
        check_positive("the max_dist of Quickshift", self.max_dist)
        check_positive("the ratio of Quickshift", self.ratio)

    def __call__(self, picture: Floats, n: int) -> Any:
        find = require("skimage.segmentation", extra="image").quickshift
        color = _three_channels(picture, "Quickshift")
        return find(color, ratio=self.ratio, kernel_size=self.kernel_size, max_dist=self.max_dist, rng=0)


@dataclass(frozen=True)
class Felzenszwalb:
    """Regions of a minimum spanning tree of colors (Felzenszwalb), merged down to n."""

    scale: float = 100.0
    sigma: float = 0.5
    min_size: int = 50

    def __post_init__(self) -> None:
        check_positive("the scale of Felzenszwalb", self.scale)
        _check_sigma("Felzenszwalb", self.sigma)
        check_whole("the min_size of Felzenszwalb", self.min_size)

    def __call__(self, picture: Floats, n: int) -> Any:
        find = require("skimage.segmentation", extra="image").felzenszwalb
        if picture.ndim != 3:
            raise InputError("Felzenszwalb is for flat pictures; take Slic() for volumes and video")
        with warnings.catch_warnings():  # which say that more than three channels may be a volume
            warnings.simplefilter("ignore", RuntimeWarning)
            return find(
                _colors(picture), scale=self.scale, sigma=self.sigma, min_size=self.min_size, channel_axis=-1
            )


def segmented(segment: Any, picture: Floats, n: int) -> Labels:
    """At most n regions of a picture (..., c) with values from 0 to 1; a large one is looked at coarsely.

    A function of the caller's own sees the whole picture, and may give as many regions as it likes.
    """
    shape = picture.shape[:-1]
    if not _wants_n(segment):
        found = relabeled(numbers_of(tried("segment", segment, picture), "the labels"))
        if found.shape != shape:
            raise InputError(
                f"segment gave labels of shape {found.shape} for a picture of shape {shape} (channels aside): "
                "it must give one label a pixel"
            )
        return found
    if len(shape) > 3:
        raise InputError(
            f"{type(segment).__name__} is for at most three axes beside the channels, not {len(shape)}: give "
            "labels of your own, or a grid such as vd.Grid(4, 4)"
        )
    step = -(-max(shape) // DETAIL)
    coarse = picture[(slice(None, None, step),) * len(shape)]
    labels = merged(relabeled(segment(coarse, n)), coarse, n)
    for axis, size in enumerate(shape):
        labels = labels.take(np.arange(size) // step, axis=axis)
    return labels


def relabeled(labels: Any) -> Labels:
    """Labels as 0..d-1; refuse those that are not whole numbers."""
    array = np.asarray(labels)
    if array.dtype.kind not in "biu":
        whole = array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.rint(array)).all()
        if not whole:
            raise InputError(f"labels must be whole numbers, one a place, not {array.dtype}")
    _, found = np.unique(array, return_inverse=True)
    return np.asarray(found.reshape(array.shape), dtype=np.intp)


def merged(labels: Labels, picture: Floats, n: int) -> Labels:
    """Regions merged until there are at most n: the smallest with the neighbor of the most similar color."""
    d, flat = int(labels.max()) + 1, labels.ravel()
    if d <= n:
        return labels
    size = np.bincount(flat, minlength=d).astype(float)
    channels = picture.reshape(-1, picture.shape[-1]).T
    color = np.stack([np.bincount(flat, c, d) for c in channels], axis=1) / size[:, None]
    touching = _neighbors(labels, d)
    into = np.arange(d)
    for _ in range(d - n):
        alive = np.flatnonzero(into == np.arange(d))
        small = int(alive[np.argmin(size[alive])])
        others = sorted(touching[small]) or [int(j) for j in alive if j != small]
        gap = np.sum((color[others] - color[small]) ** 2, axis=1)
        best = others[int(np.argmin(gap))]
        total = size[best] + size[small]
        color[best] = (color[best] * size[best] + color[small] * size[small]) / total
        size[best], into[small] = total, best
        for j in touching.pop(small):
            touching[j].discard(small)
            if j != best:
                touching[j].add(best)
                touching[best].add(j)
    while (into[into] != into).any():
        into = into[into]
    return relabeled(into[labels])


def _neighbors(labels: Labels, d: int) -> dict[int, set[int]]:
    """Which regions touch which."""
    touching: dict[int, set[int]] = {j: set() for j in range(d)}
    for axis in range(labels.ndim):
        a = np.moveaxis(labels, axis, 0)
        pairs = np.stack([a[:-1].ravel(), a[1:].ravel()], axis=1)
        for i, j in np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0).tolist():
            touching[i].add(j)
            touching[j].add(i)
    return touching


def _colors(picture: Floats) -> Floats:
    """The channels that tell regions apart: how much of a pixel shows is none of them."""
    return picture[..., :3] if picture.shape[-1] in (3, 4) else picture


def _check_sigma(name: str, sigma: Any) -> None:
    if sigma != 0:  # which is no smoothing at all
        check_positive(f"the sigma of {name}", sigma)


def _wants_n(segment: Any) -> bool:
    return isinstance(segment, (Slic, Quickshift, Felzenszwalb))


def _three_channels(picture: Floats, name: str) -> Floats:
    if picture.ndim != 3:
        raise InputError(f"{name} is for flat pictures; take Slic() for volumes and video")
    return picture[..., :3] if picture.shape[-1] >= 3 else np.repeat(picture[..., :1], 3, axis=-1)
