"""Segmentations: functions that cut a picture into regions, of scikit-image or of the caller's own."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from veridical.errors import InputError, check_positive, check_whole, require
from veridical.records import Floats
from veridical.representations.fills import Labels
from veridical.representations.masking import call_user_function
from veridical.representations.regions import numbers_of

__all__ = ["Felzenszwalb", "Quickshift", "Slic"]

MAX_PIXELS_PER_SIDE = 256  # of what is segmented; larger pictures are segmented coarsely


class Segmentation:
    """Base of segmentations that take a number of regions, as frozen settings."""

    def __call__(self, picture: Floats, n: int) -> Any:
        """Labels of about n regions of a picture (h, w, c)."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        for setting in fields(self):  # type: ignore[arg-type]  # of a subclass
            name, value = f"the {setting.name} of {type(self).__name__}", getattr(self, setting.name)
            if setting.name == "min_size":
                check_whole(name, value)
            elif setting.name != "sigma" or value != 0:  # no smoothing at all will do
                check_positive(name, value)


@dataclass(frozen=True)
class Slic(Segmentation):
    """Compact regions of similar color by k-means (SLIC).

    Parameters
    ----------
    compactness : float, default 10.0
        How much place counts against color; more of it gives squarer regions.
    sigma : float, default 1.0
        Standard deviation of the Gaussian that smooths the picture first, in pixels; 0 for none.
    """

    compactness: float = 10.0
    sigma: float = 1.0

    def __call__(self, picture: Floats, n: int) -> Any:
        find = require("skimage.segmentation", extra="image").slic
        colors = _colors(picture)
        # Compactness is in units of Lab color, whose range is a hundred times that of a gray value. Small regions
        # are joined later, so more are asked for.
        compactness = self.compactness if colors.shape[-1] == 3 else self.compactness / 100
        more = max(round(1.5 * n), n + 8)
        return find(colors, more, compactness, sigma=self.sigma, start_label=0, channel_axis=-1)


@dataclass(frozen=True)
class Quickshift(Segmentation):
    """Regions around modes of color and place (quickshift), merged until there are at most n.

    Parameters
    ----------
    kernel_size : float, default 4.0
        Width of the density estimate, in pixels.
    max_dist : float, default 200.0
        Distance between modes above which regions stay apart.
    ratio : float, default 0.2
        How much color counts against place.
    """

    kernel_size: float = 4.0
    max_dist: float = 200.0
    ratio: float = 0.2

    def __call__(self, picture: Floats, n: int) -> Any:
        find = require("skimage.segmentation", extra="image").quickshift
        _check_flat(self, picture)
        color = picture[..., :3] if picture.shape[-1] >= 3 else np.repeat(picture[..., :1], 3, axis=-1)
        return find(color, ratio=self.ratio, kernel_size=self.kernel_size, max_dist=self.max_dist, rng=0)


@dataclass(frozen=True)
class Felzenszwalb(Segmentation):
    """Regions of a minimum spanning tree of colors (Felzenszwalb), merged until there are at most n.

    Parameters
    ----------
    scale : float, default 100.0
        Larger values give larger regions.
    sigma : float, default 0.5
        Standard deviation of the Gaussian that smooths the picture first, in pixels; 0 for none.
    min_size : int, default 50
        Pixels that a region has at least.
    """

    scale: float = 100.0
    sigma: float = 0.5
    min_size: int = 50

    def __call__(self, picture: Floats, n: int) -> Any:
        find = require("skimage.segmentation", extra="image").felzenszwalb
        _check_flat(self, picture)
        with warnings.catch_warnings():  # which say that more than three channels may be a volume
            warnings.simplefilter("ignore", RuntimeWarning)
            return find(
                _colors(picture), scale=self.scale, sigma=self.sigma, min_size=self.min_size, channel_axis=-1
            )


def segment_picture(segment: Any, picture: Floats, n: int) -> Labels:
    """At most n regions of a picture (..., c) with values from 0 to 1; a large one is segmented coarsely.

    A function of the caller's own sees the whole picture, and may give as many regions as it likes.
    """
    shape = picture.shape[:-1]
    if not isinstance(segment, Segmentation):
        found = relabel_regions(numbers_of(call_user_function("segment", segment, picture), "the labels"))
        if found.shape != shape:
            raise InputError(
                f"segment gave labels of shape {found.shape} for a picture of shape {shape} (channels aside): "
                "it must give one label per pixel"
            )
        return found
    if len(shape) > 3:
        raise InputError(
            f"{type(segment).__name__} is for at most three axes beside the channels, not {len(shape)}: give "
            "labels of your own, or a grid such as vd.Grid(4, 4)"
        )
    step = -(-max(shape) // MAX_PIXELS_PER_SIDE)
    coarse = picture[(slice(None, None, step),) * len(shape)]
    labels = merge_regions(relabel_regions(segment(coarse, n)), coarse, n)
    for axis, size in enumerate(shape):
        labels = labels.take(np.arange(size) // step, axis=axis)
    return labels


def relabel_regions(labels: Any) -> Labels:
    """Labels as 0..d-1; refuse those that are not whole numbers."""
    array = np.asarray(labels)
    if array.dtype.kind not in "biu":
        whole = array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.rint(array)).all()
        if not whole:
            raise InputError(f"labels must be whole numbers, one per place, not {array.dtype}")
    _, found = np.unique(array, return_inverse=True)
    return np.asarray(found.reshape(array.shape), dtype=np.intp)


def merge_regions(labels: Labels, picture: Floats, n: int) -> Labels:
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
    return relabel_regions(into[labels])


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


def _check_flat(segment: Any, picture: Floats) -> None:
    if picture.ndim != 3:
        raise InputError(f"{type(segment).__name__} is for flat pictures; take Slic() for volumes and video")
