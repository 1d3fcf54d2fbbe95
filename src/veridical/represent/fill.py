"""What stands in for a part that is taken away, as functions of values and labels.

``values`` (..., c) hold c channels, ``labels`` (...) the part of each place. A fill returns values of the same
shape, the instance with every part taken away; anything callable so will do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from veridical.errors import InputError, check_positive, check_whole, require
from veridical.records import Floats
from veridical.represent.masked import tried

Labels: TypeAlias = npt.NDArray[np.intp]
Fill: TypeAlias = Callable[[Floats, Labels], Any] | Any  # a function of values and labels, or other values


@dataclass(frozen=True)
class PartMean:
    """The mean of the part itself."""

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        d, flat = int(labels.max()) + 1, labels.ravel()
        counts = np.bincount(flat, minlength=d)
        sums = [np.bincount(flat, values[..., c].ravel(), d) for c in range(values.shape[-1])]
        means: Floats = (np.stack(sums, axis=1) / np.maximum(counts, 1)[:, None])[labels]
        return means


@dataclass(frozen=True)
class WholeMean:
    """The mean of the whole instance."""

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        return np.broadcast_to(values.mean(axis=tuple(range(labels.ndim))), values.shape)


@dataclass(frozen=True)
class Least:
    """The least value of the whole instance."""

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        return np.broadcast_to(values.min(axis=tuple(range(labels.ndim))), values.shape)


@dataclass(frozen=True)
class Constant:
    """One value, or one a channel."""

    value: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        try:
            value = np.asarray(self.value, dtype=np.float64)
        except (TypeError, ValueError):
            value = np.array(np.nan)
        if value.ndim > 1 or not np.isfinite(value).all():
            raise InputError(f"Constant wants one finite number, or one a channel, not {self.value!r}")

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        value = np.asarray(self.value, dtype=np.float64)
        if value.ndim == 1 and len(value) != values.shape[-1]:
            raise InputError(
                f"Constant has shape {value.shape}, but there are {values.shape[-1]} channels: give one value, "
                "or one a channel"
            )
        return np.broadcast_to(value, values.shape)


@dataclass(frozen=True)
class Blur:
    """The instance blurred, so that a part loses its detail and keeps its place."""

    sigma: float = 10.0

    def __post_init__(self) -> None:
        check_positive("the sigma of Blur", self.sigma)

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        sigma = (self.sigma,) * labels.ndim + (0.0,)
        blurred: Floats = ndimage.gaussian_filter(values, sigma, mode="nearest")
        return blurred


@dataclass(frozen=True)
class Noise:
    """Normal noise with the mean and spread of each channel, the same for every sample."""

    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("the seed of Noise", self.seed, 0)

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        axes = tuple(range(labels.ndim))
        noise = np.random.default_rng(self.seed).standard_normal(values.shape)
        found: Floats = values.mean(axis=axes) + values.std(axis=axes) * noise
        return np.clip(found, values.min(axis=axes), values.max(axis=axes))


@dataclass(frozen=True)
class Inpaint:
    """Each part made up from what is around it (biharmonic, scikit-image).

    Pictures are made smaller to at most ``detail`` places a side first: it solves one equation a place.
    """

    detail: int = 64

    def __post_init__(self) -> None:
        check_whole("the detail of Inpaint", self.detail, 8)

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        restore = require("skimage.restoration", extra="image").inpaint_biharmonic
        step = -(-max(labels.shape) // self.detail)
        small = (slice(None, None, step),) * labels.ndim
        low, high = float(values.min()), float(values.max())
        scale = (high - low) or 1.0
        coarse, where = (values[small] - low) / scale, labels[small]
        found = coarse.copy()
        for part in np.unique(where):
            hole = where == part
            if not hole.all():
                found[hole] = restore(coarse, hole, channel_axis=-1)[hole]
        zoom = [n / m for n, m in zip(labels.shape, where.shape, strict=True)]
        large = ndimage.zoom(found, (*zoom, 1), order=1, mode="nearest", grid_mode=False)
        inside = tuple(slice(0, n) for n in labels.shape)
        return np.asarray(np.clip(large[inside] * scale + low, low, high))


@dataclass(frozen=True)
class Interpolate:
    """A straight line from the value before the part to the value after it: for series."""

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        if labels.ndim != 1:
            raise InputError("Interpolate is for series: a picture has no before and after; take Inpaint()")
        cuts = np.append(np.flatnonzero(np.diff(labels, prepend=labels[0] - 1)), len(labels))
        found = np.empty_like(values)
        for start, stop in pairwise(cuts.tolist()):
            before, after = max(start - 1, 0), min(stop, len(values) - 1)
            share = ((np.arange(start, stop) - before) / max(after - before, 1))[:, None]
            if start == 0 or stop == len(values):  # nothing on one side: the value on the other
                share = np.full_like(share, float(start == 0))
            found[start:stop] = (1 - share) * values[before] + share * values[after]
        return found


def is_other(fill: Any) -> bool:
    """Whether a fill is an instance of its own, rather than a function."""
    return not callable(fill) and not isinstance(fill, (str, bytes, int, float)) and fill is not None


def filled(fill: Any, values: Floats, labels: Labels, what: str) -> Floats:
    """What a fill gives, checked; an array of the caller's own is taken as it is."""
    if isinstance(fill, type) or not (callable(fill) or is_other(fill)):
        raise InputError(
            f"fill wants an object such as PartMean() or Constant(0), or another {what}, not {fill!r}"
        )
    found = tried("fill", fill, values, labels) if callable(fill) else fill
    try:
        result = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as cause:
        raise InputError(
            f"the fill gave no numbers: {cause}; it must give values of shape {values.shape}, or another {what}"
        ) from cause
    if result.shape == labels.shape:
        result = result[..., None]
    if result.shape != values.shape:
        raise InputError(
            f"the fill has shape {np.shape(found)}, but the {what} has {values.shape}: give one value a place"
        )
    if not np.isfinite(result).all():
        raise InputError("the fill has NaN or infinity: give finite numbers")
    return result
