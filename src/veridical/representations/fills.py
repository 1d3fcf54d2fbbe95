"""Fills: what replaces regions, windows and tiles that are taken away.

A fill is called with ``values`` (..., c) of c channels and ``labels`` (...), the part of each place, and returns
values of the same shape: the instance with every part replaced. Any function that does so is a fill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view
from scipy import ndimage

from veridical.errors import InputError, check_positive, check_whole, require
from veridical.protocols import purpose_of
from veridical.records import Floats
from veridical.representations.masking import call_user_function
from veridical.representations.regions import (
    ArrayComposer,
    Places,
    TensorComposer,
    compose_regions,
    convert_like,
    is_tensor,
)

__all__ = [
    "Blur",
    "Constant",
    "Fallback",
    "Inpaint",
    "Interpolate",
    "Least",
    "LowRank",
    "Noise",
    "PartMean",
    "WholeMean",
]

Labels: TypeAlias = npt.NDArray[np.intp]
Fill: TypeAlias = Callable[[Floats, Labels], Any] | Any  # a function of values and labels, or other values


@dataclass(frozen=True)
class PartMean:
    """Replace each part by its own mean, per channel: it loses its detail and keeps its level.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> vd.fills.PartMean()(np.array([[1.0], [3.0], [8.0]]), np.array([0, 0, 1])).ravel()
    array([2., 2., 8.])
    """

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        d, flat = int(labels.max()) + 1, labels.ravel()
        counts = np.bincount(flat, minlength=d)
        sums = [np.bincount(flat, values[..., c].ravel(), d) for c in range(values.shape[-1])]
        means = np.stack(sums) / np.maximum(counts, 1)
        if values.strides[-1] > values.strides[0]:  # channels first in memory: so are the means, which is quicker
            return np.moveaxis(means.take(labels, axis=1), 0, -1)
        return np.ascontiguousarray(means.T).take(labels, axis=0)

    def on_device(self, values: Any, labels: Labels) -> Any:
        """The same for a tensor (..., c), where it is; sums are rounded otherwise."""
        torch, d = require("torch", extra="torch"), int(labels.max()) + 1
        flat = torch.as_tensor(labels.astype(np.int32).ravel(), device=values.device)
        own = (flat == torch.arange(d, device=values.device)[:, None]).double()  # (d, m)
        means = own @ values.reshape(len(flat), -1).double() / own.sum(dim=1, keepdim=True).clamp(min=1)
        return means.index_select(0, flat).reshape(values.shape)


@dataclass(frozen=True)
class WholeMean:
    """Replace each part by the mean of the whole instance, per channel."""

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        return np.broadcast_to(values.mean(axis=tuple(range(labels.ndim))), values.shape)


@dataclass(frozen=True)
class Least:
    """Replace each part by the least value of the whole instance, per channel."""

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        return np.broadcast_to(values.min(axis=tuple(range(labels.ndim))), values.shape)


@dataclass(frozen=True)
class Constant:
    """Replace each part by a constant, such as black or silence.

    Parameters
    ----------
    value : float or tuple of float, default 0.0
        One value for all channels, or one per channel, in the units of the instance.
    """

    value: float | tuple[float, ...] = 0.0

    def __post_init__(self) -> None:
        try:
            value = np.asarray(self.value, dtype=np.float64)
        except (TypeError, ValueError):
            value = np.array(np.nan)
        if value.ndim > 1 or not np.isfinite(value).all():
            raise InputError(f"Constant wants one finite number, or one per channel, not {self.value!r}")

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        value = np.asarray(self.value, dtype=np.float64)
        if value.ndim == 1 and len(value) != values.shape[-1]:
            raise InputError(
                f"Constant has shape {value.shape}, but there are {values.shape[-1]} channels: give one value, "
                "or one per channel"
            )
        return np.broadcast_to(value, values.shape)

    def on_device(self, values: Any, labels: Labels) -> Any:
        """The same for a tensor (..., c), where it is."""
        value = self(np.empty((1,) * labels.ndim + values.shape[-1:]), labels).copy()
        return require("torch", extra="torch").as_tensor(value, device=values.device).expand(values.shape)


@dataclass(frozen=True)
class Blur:
    """Replace each part by the blurred instance: it loses its detail and keeps its colors.

    Parameters
    ----------
    sigma : float, default 10.0
        Standard deviation of the Gaussian, in pixels or steps.
    """

    sigma: float = 10.0

    def __post_init__(self) -> None:
        check_positive("the sigma of Blur", self.sigma)

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        sigma = (self.sigma,) * labels.ndim + (0.0,)
        blurred: Floats = ndimage.gaussian_filter(values, sigma, mode="nearest")
        return blurred


@dataclass(frozen=True)
class Noise:
    """Replace each part by normal noise with each channel's mean and standard deviation, clipped to its range.

    Parameters
    ----------
    seed : int, default 0
        Seed of the noise, which is the same for every sample.
    """

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
    """Replace each part by inpainting from its surroundings (biharmonic, scikit-image).

    Parameters
    ----------
    detail : int, default 64
        Pixels per side that pictures are shrunk to first, at most: one equation is solved per pixel.
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
    """Replace each part by straight lines between the values on either side of it.

    Pictures, spectrograms and volumes get the mean of the lines along each axis. Where a part ends with the
    instance, the value on its other side is continued.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> vd.fills.Interpolate()(np.array([[1.0], [9.0], [9.0], [4.0]]), np.array([0, 1, 1, 2]))[1:3].ravel()
    array([2., 3.])
    """

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        total, n_lines = np.zeros(values.shape), np.zeros((*labels.shape, 1))
        for axis in range(labels.ndim):
            line, known = _across(np.moveaxis(values, axis, -2), np.moveaxis(labels, axis, -1))
            total += np.moveaxis(np.where(known[..., None], line, 0.0), -2, axis)
            n_lines += np.moveaxis(known, -1, axis)[..., None]
        return np.where(n_lines > 0, total / np.maximum(n_lines, 1), WholeMean()(values, labels))


def _across(values: Floats, labels: Labels) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Lines through each part along the last axis of labels (..., n), and where there is one.

    A part that takes up the whole axis has nothing before or after it.
    """
    n, cut = labels.shape[-1], labels[..., 1:] != labels[..., :-1]
    at, edge = np.arange(n), np.ones((*labels.shape[:-1], 1), bool)
    before = np.maximum.accumulate(np.where(np.concatenate([edge, cut], axis=-1), at - 1, -1), axis=-1)
    last = np.where(np.concatenate([cut, edge], axis=-1), at + 1, n)
    after = np.minimum.accumulate(last[..., ::-1], axis=-1)[..., ::-1]
    left, right = np.where(before < 0, after, before), np.where(after == n, before, after)
    share = ((at - left) / np.where(right == left, 1, right - left))[..., None]
    one, other = (
        np.take_along_axis(values, np.clip(side, 0, n - 1)[..., None], axis=-2) for side in (left, right)
    )
    inside = (left != right)[..., None]
    return np.where(inside, (1 - share) * one + share * other, one), (before >= 0) | (after < n)


@dataclass(frozen=True)
class Fallback:
    """Replace each part by the first of several fills that changes it.

    The mean of a uniform region is the region itself, for one, so taking it away would test nothing. Notes say
    which parts a later fill replaced; a part that none of the fills changes is not tested.

    Parameters
    ----------
    fills : tuple of fills
        At least two, in order. By default the part's own mean, its surroundings, the mean of the whole, and zeros,
        which is how pictures are filled.
    """

    fills: tuple[Any, ...] = (PartMean(), Interpolate(), WholeMean(), Constant())

    def __post_init__(self) -> None:
        if not isinstance(self.fills, tuple) or len(self.fills) < 2:
            raise InputError(
                "Fallback wants a tuple of at least two fills, such as "
                f"(vd.fills.PartMean(), vd.fills.WholeMean()), not {self.fills!r}"
            )

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        places = Places(np.asarray(labels), values.shape, labels.ndim)
        made = (apply_fill(fill, values, labels, "instance") for fill in self.fills)
        return np.asarray(first_to_change(values, places, made)[0])


SUGGESTED_FILLS = (WholeMean(), Interpolate(), Constant(), Noise())  # where the chosen one changes nothing


def first_to_change(own: Any, places: Places, made: Iterator[Any]) -> tuple[Any, Labels, npt.NDArray[np.bool_]]:
    """An instance whose every part is that of the first of several others that changes it.

    Returns it with the number of that other for each part (d,), and which parts none of them changes (d,): those
    are as in the first. The others are made as they are needed.
    """
    d, found = int(places.labels.max()) + 1, next(made)
    chosen, left = np.zeros(d, np.intp), places.unchanged(own, found, d)
    k = 0
    while left.any() and (other := next(made, None)) is not None:
        k += 1
        better = left & ~places.unchanged(own, other, d)
        if better.any():
            where = np.append(better, False)[places.spread]
            if is_tensor(found):
                found = found.where(~require("torch", extra="torch").as_tensor(where, device=found.device), other)
            else:
                found = np.where(where, other, found)
            chosen[better] = k
            left &= ~better
    return found, chosen, left


def compose_filled(
    x: Any, apply: Callable[[Fill], Any], fill: Fill, places: Places, part: str
) -> ArrayComposer | TensorComposer:
    """What makes inputs in which a fill replaces some of the parts; ``apply`` gives x with all replaced."""
    if purpose_of(fill) == "change":
        places = replace(places, tolerance=0.0)
    if not isinstance(fill, Fallback):
        return compose_regions(x, apply(fill), places)
    own, made = x, map(apply, fill.fills)
    if is_tensor(x):
        own, made = x.detach(), map(partial(convert_like, x), made)
    found, chosen, left = first_to_change(own, places, made)
    notes = replacement_notes(fill.fills, chosen, part) if chosen.any() else ()
    return replace(compose_regions(x, found, places), notes=notes, known=left)


def replacement_notes(fills: Sequence[Any], chosen: Labels, what: str) -> tuple[str, ...]:
    """Which of several fills replaced parts that the first would have left as they are, in words."""
    notes = []
    for k in np.unique(chosen[chosen > 0]):
        n = int((chosen == k).sum())
        they, their = ("it was", "its") if n == 1 else ("they were", "their")
        same = "uniform" if isinstance(fills[0], PartMean) else f"what {_in_words(fills[0], their)} would be"
        instead = f"instead of {their} own mean" if isinstance(fills[0], PartMean) else "instead"
        count = f"1 {what} is" if n == 1 else f"{n} {what}s are"
        notes.append(f"{count} {same}; {they} replaced by {_in_words(fills[k], their)} {instead}")
    return tuple(notes)


def _in_words(fill: Any, their: str) -> str:
    if isinstance(fill, Constant):
        return f"the constant {fill.value:g}" if np.ndim(fill.value) == 0 else f"the constants {fill.value}"
    known = {
        PartMean: f"{their} own mean",
        Interpolate: f"{their} surroundings",
        WholeMean: "the mean of the whole",
    }
    return known.get(type(fill), repr(fill))


def is_other(fill: Any) -> bool:
    """Whether a fill is an instance of its own, rather than a function."""
    return not callable(fill) and not isinstance(fill, (str, bytes, int, float)) and fill is not None


def apply_fill(fill: Any, values: Floats, labels: Labels, what: str) -> Floats:
    """What a fill gives, checked; an array of the caller's own is taken as it is."""
    if isinstance(fill, type) or not (callable(fill) or is_other(fill)):
        raise InputError(
            f"fill wants an object such as PartMean() or Constant(0), or another {what}, not {fill!r}"
        )
    found = call_user_function("fill", fill, values, labels) if callable(fill) else fill
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
            f"the fill has shape {np.shape(found)}, but the {what} has {values.shape}: give one value per place"
        )
    if not np.isfinite(result).all():
        raise InputError("the fill has NaN or infinity: give finite numbers")
    return result


DEFAULT_RANK_SHARE = 0.25  # of all patterns
MAX_WINDOW = 64  # values of a series that make up one pattern
MAX_WINDOWS_PER_BATCH = 2**14


@dataclass(frozen=True)
class LowRank:
    """Replace each part by its low-rank approximation: it keeps its content, and loses small changes in it.

    For the question which parts hold a small change such as an attack (``Undo``). The patterns are the singular
    vectors of each channel of a picture or spectrogram, or of the windows of a series of up to 64 values (singular
    spectrum analysis).

    Parameters
    ----------
    rank : int, optional
        The strongest patterns that are kept; a quarter of all by default, as 10 of a spectrogram of 40 bands.
        Fewer lose what the instance is made of, more keep what was changed.
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
        k = self._n_kept(sizes.shape[-1])
        strongest: Floats = mean + (left[..., :k] * sizes[..., None, :k]) @ right[..., :k, :]
        return np.moveaxis(strongest, 0, -1)

    def _n_kept(self, n: int) -> int:
        """How many of n patterns."""
        return min(max(round(DEFAULT_RANK_SHARE * n), 1) if self.rank is None else self.rank, n)

    def _series(self, x: Floats) -> Floats:
        """The windows of a series (t,) without their weaker patterns, each value the mean over its windows."""
        length = min(MAX_WINDOW, (len(x) + 1) // 2)
        mean = x.mean()
        windows = sliding_window_view(x - mean, length)
        pieces = (windows[i : i + MAX_WINDOWS_PER_BATCH] for i in range(0, len(windows), MAX_WINDOWS_PER_BATCH))
        patterns = np.linalg.eigh(sum(piece.T @ piece for piece in pieces))[1].T[::-1]
        found = np.zeros(len(x))
        for pattern in patterns[: self._n_kept(length)]:
            found += np.convolve(np.correlate(x - mean, pattern, mode="valid"), pattern)
        counts = np.convolve(np.ones(len(windows)), np.ones(length))
        return np.asarray(mean + found / counts)
