"""Pictures, volumes and video: regions that are kept, or covered by a fill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from veridical.errors import InputError, check_whole
from veridical.masks import coins
from veridical.records import Floats, Part, View
from veridical.represent.fill import (
    Constant,
    Fallback,
    Fill,
    Interpolate,
    Labels,
    Noise,
    WholeMean,
    filled,
    first_to_change,
    is_other,
    replaced_notes,
)
from veridical.represent.masked import Compose, Filled, Later, Listed, Masked, checked_parts
from veridical.represent.regions import (
    NEARLY,
    Array,
    Places,
    as_type,
    compose,
    is_tensor,
    like,
    numbers_of,
    on_gpu,
)
from veridical.represent.segment import Slic, relabeled, segmented

SHOWN = 320  # pixels a side that a view keeps, at most
AT_ONCE = 2**24  # numbers that are held on a GPU to find what fills parts, at most
FRAMES = 6  # of a volume or video that a view keeps, at most
OTHERS = (WholeMean(), Interpolate(), Constant(), Noise())  # that are suggested where a fill changes nothing


@dataclass(frozen=True, eq=False)
class Superpixels:
    """At most n regions of similar color.

    An instance is an array or a torch tensor of any number of channels: (h, w), (h, w, c), (c, h, w), volumes
    and video. ``axes`` spells out which axis is which, as in "CHW" or "THWC"; without it the last or first axis
    of at most four places holds the channels. ``segment`` is Slic(), Quickshift(), Felzenszwalb(), a function
    from a picture (..., c) to labels, or the labels themselves. ``fill`` says what covers a region that is
    taken away: its mean color by default, which a model may still recognize; Blur() and WholeMean() leave less. A
    region that is all of one color is replaced by what is around it instead (``Fallback``). With a fill of your
    own, a region that it leaves as it was is not tested and gets no weight.
    """

    n: int = 16
    segment: Any = field(default_factory=Slic)
    fill: Fill = field(default_factory=Fallback)
    axes: str | None = None

    def __post_init__(self) -> None:
        check_whole("n", self.n, 2)
        _check_axes(self.axes)
        if isinstance(self.segment, (type, str)) or self.segment is None:
            raise InputError(
                f"segment wants Slic(), Quickshift(), Felzenszwalb(), a function or labels, not {self.segment!r}"
            )

    def __call__(self, x: Any) -> Masked:
        return self.parts_of(x)

    def parts_of(self, x: Any, least: int = 2) -> Masked:
        """The picture as its regions; ``least`` is how few of them are still worth explaining."""
        picture = Picture.of(x, self.axes)
        if callable(self.segment):
            labels = segmented(self.segment, picture.scaled, self.n)
        else:
            labels = _own_labels(self.segment, picture)
        return picture.masked(labels, self.fill, _place_names(labels), least)

    def each(self, X: Any) -> Listed:
        """Many pictures."""
        return Listed.of(self, several(X, self.axes), "pictures")


@dataclass(frozen=True, eq=False)
class Grid:
    """Rows × cols rectangles; ``fill`` and ``axes`` are as for Superpixels. A volume or video is cut across."""

    rows: int
    cols: int
    fill: Fill = field(default_factory=Fallback)
    axes: str | None = None

    def __post_init__(self) -> None:
        check_whole("rows", self.rows)
        check_whole("cols", self.cols)
        _check_axes(self.axes)

    def __call__(self, x: Any) -> Masked:
        return self.parts_of(x)

    def parts_of(self, x: Any, least: int = 2) -> Masked:
        """The picture as its rectangles; ``least`` is how few of them are still worth explaining."""
        picture = Picture.of(x, self.axes)
        *_, height, width = picture.shape
        if self.rows > height or self.cols > width:
            raise InputError(
                f"a grid of {self.rows} × {self.cols} does not fit a picture of {height} × {width} pixels: "
                f"{picture.read_as}; say axes=…, as in axes='HWC', if that is wrong, or give a coarser grid"
            )
        row, col = np.arange(height) * self.rows // height, np.arange(width) * self.cols // width
        labels = np.broadcast_to(row[:, None] * self.cols + col, picture.shape)
        names = [f"row {r + 1}, column {c + 1}" for r in range(self.rows) for c in range(self.cols)]
        return picture.masked(labels, self.fill, names, least)

    def each(self, X: Any) -> Listed:
        """Many pictures."""
        return Listed.of(self, several(X, self.axes), "pictures")


@dataclass(frozen=True, eq=False)
class Picture:
    """An instance and where its channels are."""

    x: Any  # as it came
    array: Array  # the same as NumPy
    channel: int | None  # axis of the channels
    what: str = "picture"
    notes: tuple[str, ...] = ()
    part: str = "region"
    nearly: float = NEARLY  # standard deviations that a part changes by at most and still is what it was

    @classmethod
    def of(cls, x: Any, axes: str | None) -> Picture:
        array = numbers_of(x, "a picture")
        if array.size == 0:
            raise InputError(f"the picture is empty: its shape is {array.shape}")
        channel = channel_axis(array.shape, axes)
        volume = channel is None and array.ndim == 3 and axes is None
        shape = " × ".join(map(str, array.shape))
        notes = (f"{shape} was read as a volume without channels; say axes=… if it has them",) if volume else ()
        return cls(x, array, channel, notes=notes)

    @property
    def read_as(self) -> str:
        """Which axis was taken for what, in words."""
        shape, pixels = self.array.shape, " × ".join(map(str, self.shape))
        if self.channel is None:
            return f"shape {shape} was read as {pixels} pixels without channels"
        channels = f"{shape[self.channel]} channels in axis {self.channel}"
        return f"shape {shape} was read as {pixels} pixels, with {channels}"

    @property
    def values(self) -> Array:
        """The channels last, at least one of them."""
        return self.array[..., None] if self.channel is None else np.moveaxis(self.array, self.channel, -1)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the places, without the channels."""
        return self.values.shape[:-1]

    @property
    def scaled(self) -> Floats:
        """The values from 0 to 1."""
        return self._scaled(self.values)

    def _scaled(self, values: Array) -> Floats:
        """Some of the values, from 0 to 1 as all of them are."""
        low, high = float(self.array.min()), float(self.array.max())
        scaled: Floats = values.astype(np.float64)
        scaled -= low
        scaled /= (high - low) or 1.0
        return scaled

    def masked(self, labels: Labels, fill: Fill, names: Sequence[str], least: int) -> Masked:
        """The Representation by these regions."""
        d = int(labels.max()) + 1
        checked_parts(d, least, "region", "give labels of your own, or ask for more regions")
        parts = tuple(Part(name, name, self.part, j) for j, name in enumerate(names))
        refill, view = partial(self._composer, labels), View("picture", Later(partial(self._view, labels)))
        return Filled(parts, coins(d), refill(fill), view, self.notes, refill=refill, others=OTHERS)

    def _composer(self, labels: Labels, fill: Fill) -> Compose:
        """What makes pictures in which a fill covers some of the parts."""
        nearly = 0.0 if getattr(fill, "purpose", "content") == "change" else self.nearly
        if not isinstance(fill, Fallback):
            return compose(self.x, self._fitting(labels, fill), labels, self.channel, nearly=nearly)
        places = Places(np.asarray(labels, dtype=np.intp), self.array.shape, self.channel, nearly=nearly)
        own = self.x.detach() if is_tensor(self.x) else self.array
        made = [partial(like, own, partial(self._fitting, labels, each)) for each in fill.fills]
        found, chosen, left = first_to_change(own, places, made)
        composer = compose(self.x, found, labels, self.channel, nearly=nearly)
        return replace(composer, notes=replaced_notes(fill.fills, chosen, self.part), known=left)

    def _fitting(self, labels: Labels, fill: Fill) -> Any:
        """The picture with every part taken away, in its own layout."""
        if hasattr(fill, "on_device") and on_gpu(self.x) and labels.size * int(labels.max()) < AT_ONCE:
            x = self.x.detach()
            other = fill.on_device(x[..., None] if self.channel is None else x.movedim(self.channel, -1), labels)
            return other[..., 0] if self.channel is None else other.movedim(-1, self.channel)
        other = self._filled(fill, labels)
        return other[..., 0] if self.channel is None else np.moveaxis(other, -1, self.channel)

    def _filled(self, fill: Fill, labels: Labels) -> Array:
        """The picture with every part taken away, channels last."""
        if is_other(fill):
            other = numbers_of(fill, "the fill")
            if other.shape != self.array.shape:
                raise InputError(
                    f"the fill has shape {other.shape}, but the {self.what} has {self.array.shape}: give another "
                    f"{self.what} of the same shape"
                )
            fill = replace(self, array=other).values
        return as_type(filled(fill, self.values.astype(np.float64), labels, self.what), self.array.dtype)

    def _view(self, labels: Labels) -> dict[str, Any]:
        """A small copy to draw: at most a few frames of at most a few hundred pixels a side."""
        values, where = self.values, labels
        while where.ndim < 3:
            values, where = values[None], where[None]
        values, where = values.reshape(-1, *values.shape[-3:]), where.reshape(-1, *where.shape[-2:])
        frames = np.unique(np.linspace(0, len(where) - 1, min(FRAMES, len(where))).round().astype(int))
        scale = min(SHOWN / max(where.shape[1:]), 1.0)
        down, across = (
            np.linspace(0, n - 1, max(round(n * scale), 1)).round().astype(int) for n in where.shape[1:]
        )
        titles = tuple(f"frame {i + 1} of {len(where)}" for i in frames) if len(where) > 1 else ("",)
        for axis, at in enumerate((frames, down, across)):
            if len(at) < where.shape[axis]:
                values, where = values.take(at, axis), where.take(at, axis)
        pixels, small = _three_colors(self._scaled(values[..., :3])), np.asarray(where, dtype=np.uint16)
        return {"pixels": pixels, "labels": small, "titles": titles}


def several(X: Any, axes: str | None) -> Any:
    """A collection of pictures; refuse an array that looks like one picture alone."""
    shape = tuple(getattr(X, "shape", ()))
    color = len(shape) == 3 and shape[-1] in (3, 4) and axes is None
    if len(shape) == 2 or color or (axes is not None and len(shape) == len(axes)):
        raise InputError(f"wanted many pictures, but shape {shape} is that of one: call explain, or pass [x]")
    return X


def channel_axis(shape: tuple[int, ...], axes: str | None) -> int | None:
    """Which axis holds the channels, as spelled out or as it looks."""
    if axes is not None:
        if len(axes) != len(shape):
            raise InputError(f"axes is {axes!r}, but the picture has shape {shape}: give one letter an axis")
        return axes.upper().index("C") if "C" in axes.upper() else None
    if len(shape) > 2 and shape[0] == 1 and len(shape) == 4:
        raise InputError(
            f"the picture has shape {shape}, whose first axis looks like a batch of one: pass the picture alone, "
            "x[0], or spell out its axes, as in axes='THWC'"
        )
    if len(shape) == 2:
        return None
    if len(shape) not in (3, 4):
        raise InputError(
            f"a picture has two to four axes, this has shape {shape}: spell out its axes, one letter each, C for "
            "channels, as in axes='THWC'"
        )
    if shape[-1] <= 4:
        return len(shape) - 1
    candidates = (0,) if len(shape) == 3 else (1, 0)
    return next((axis for axis in candidates if shape[axis] <= 4), None)


def _own_labels(labels: Any, picture: Picture) -> Labels:
    """The caller's own labels, which must fit the picture."""
    found = relabeled(numbers_of(labels, "the labels"))
    if found.shape != picture.shape:
        raise InputError(
            f"the labels have shape {found.shape}, but the picture has {picture.shape} (channels aside): "
            f"give one label a pixel; {picture.read_as}"
        )
    return found


def _place_names(labels: Labels) -> list[str]:
    """Where each region lies, in words, and its number."""
    d, flat = int(labels.max()) + 1, labels.ravel()
    counts = np.bincount(flat, minlength=d)
    centers = [
        np.bincount(flat, grid.ravel(), d) / counts / max(size - 1, 1)
        for grid, size in zip(np.indices(labels.shape), labels.shape, strict=True)
    ]
    *deep, down, across = centers
    names = []
    for j in range(d):
        up, side = (("upper", "middle", "lower")[_third(down[j])], ("left", "center", "right")[_third(across[j])])
        where = "center" if (up, side) == ("middle", "center") else f"{up} {side}"
        depth = "".join(f", {('front', 'halfway', 'back')[_third(c[j])]}" for c in deep)
        names.append(f"{where}{depth}: region {j + 1}")
    return names


def _third(share: float) -> int:
    return min(int(3 * share), 2)


def _three_colors(values: Floats) -> Array:
    """At most three channels, from 0 to 1, as red, green and blue; they are written over."""
    values *= 255
    levels = np.rint(values, out=values).astype(np.uint8)
    return levels if levels.shape[-1] == 3 else np.repeat(levels[..., :1], 3, axis=-1)


def _check_axes(axes: Any) -> None:
    if axes is not None and (not isinstance(axes, str) or axes.upper().count("C") > 1 or not axes):
        raise InputError(f"axes wants one letter an axis, with at most one C for the channels, not {axes!r}")
