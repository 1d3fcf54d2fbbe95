"""What stands in for a part that is taken away, as functions of values and labels.

``values`` (..., c) hold c channels, ``labels`` (...) the part of each place. A fill returns values of the same
shape, the instance with every part taken away; anything callable so will do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from veridical.errors import InputError, check_positive, check_whole, require
from veridical.records import Floats
from veridical.represent.masked import tried
from veridical.represent.regions import Places, is_tensor

Labels: TypeAlias = npt.NDArray[np.intp]
Fill: TypeAlias = Callable[[Floats, Labels], Any] | Any  # a function of values and labels, or other values


@dataclass(frozen=True)
class PartMean:
    """The mean of the part itself."""

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

    def on_device(self, values: Any, labels: Labels) -> Any:
        """The same for a tensor (..., c), where it is."""
        value = self(np.empty((1,) * labels.ndim + values.shape[-1:]), labels).copy()
        return require("torch", extra="torch").as_tensor(value, device=values.device).expand(values.shape)


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
    """Each part made up from the values around it: straight lines from one side of the part to the other.

    Of a picture, spectrogram or volume it is the mean of the lines along each axis. Where a part ends with the
    instance, the value on its other side goes on.
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
    """The first of several fills that changes a part, for the first of all may leave it as it is.

    The mean of a uniform region is the region itself, say. By default, pictures are filled by
    ``Fallback((PartMean(), Interpolate(), WholeMean(), Constant()))``: a region that is its own mean is replaced
    by what is around it, by the mean of the whole picture if that is the same, too, or else by zeros. Notes say
    so. A part that none of the fills changes is not tested.
    """

    fills: tuple[Any, ...] = (PartMean(), Interpolate(), WholeMean(), Constant())

    def __post_init__(self) -> None:
        if not isinstance(self.fills, tuple) or len(self.fills) < 2:
            raise InputError(
                f"Fallback wants a tuple of at least two fills, such as (vd.PartMean(), vd.WholeMean()), not "
                f"{self.fills!r}"
            )

    def __call__(self, values: Floats, labels: Labels) -> Floats:
        places = Places(np.asarray(labels), values.shape, labels.ndim)
        made = [partial(filled, fill, values, labels, "instance") for fill in self.fills]
        return np.asarray(first_to_change(values, places, made)[0])


def first_to_change(
    own: Any, places: Places, made: Sequence[Callable[[], Any]]
) -> tuple[Any, Labels, npt.NDArray[np.bool_]]:
    """An instance whose every part is as the first of several others that changes it, and which that is, (d,).

    A part that none of them changes is as in the first; the last says which those are, (d,).
    """
    d, found = int(places.labels.max()) + 1, made[0]()
    chosen, left = np.zeros(d, np.intp), places.unchanged(own, found, d)
    for k, make in enumerate(made[1:], 1):
        if not left.any():
            break
        other = make()
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


def replaced_notes(fills: Sequence[Any], chosen: Labels, what: str) -> tuple[str, ...]:
    """Which of several fills replaced parts that the first would have left as they are, in words."""
    notes = []
    for k in np.unique(chosen[chosen > 0]):
        n = int((chosen == k).sum())
        they, their = ("it was", "its") if n == 1 else ("they were", "their")
        count = f"1 {what} is" if n == 1 else f"{n} {what}s are"
        second = _in_words(fills[k], their)
        if isinstance(fills[0], PartMean):
            notes.append(f"{count} uniform; {they} replaced by {second} instead of {their} own mean")
        else:
            notes.append(
                f"{count} what {_in_words(fills[0], their)} would be; {they} replaced by {second} instead"
            )
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
