"""Pictures, volumes and video: regions that are kept, or replaced by a fill."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from veridical.errors import InputError, check_whole
from veridical.records import Floats, Part, View
from veridical.representations.descriptions import place_word, third
from veridical.representations.fills import (
    SUGGESTED_FILLS,
    Fallback,
    Fill,
    Labels,
    apply_fill,
    compose_filled,
    is_other,
)
from veridical.representations.masking import (
    Filled,
    InstanceList,
    Masked,
    PartRepresenter,
    number_parts,
)
from veridical.representations.regions import (
    UNCHANGED_IN_PICTURES,
    Array,
    Places,
    RegionComposer,
    as_type,
    is_tensor,
    numbers_of,
    on_gpu,
)
from veridical.representations.segmentation import Slic, relabel_regions, segment_picture
from veridical.sampling.masks import coins

MAX_PIXELS_SHOWN = 320  # per side, that a view keeps
MAX_FRAMES_SHOWN = 6  # of a volume or video that a view keeps
MAX_NUMBERS_ON_GPU = 2**24  # that are held to compute what replaces parts


class PictureRepresenter(PartRepresenter):
    """Base of the representers of pictures."""

    axes: str | None
    kind: ClassVar[str] = "pictures"

    def __post_init__(self) -> None:
        axes = self.axes
        if axes is not None and (not isinstance(axes, str) or axes.upper().count("C") > 1 or not axes):
            raise InputError(f"axes wants one letter per axis, with at most one C for the channels, not {axes!r}")

    def each(self, X: Any) -> InstanceList:
        """Represent many pictures, each when its turn comes; refuse an array that looks like one picture alone."""
        shape, axes = tuple(getattr(X, "shape", ())), self.axes
        color = len(shape) == 3 and shape[-1] in (3, 4) and axes is None
        if len(shape) == 2 or color or (axes is not None and len(shape) == len(axes)):
            raise InputError(f"wanted many pictures, but shape {shape} is that of one: call explain, or pass [x]")
        return super().each(X)


@dataclass(frozen=True, eq=False)
class Superpixels(PictureRepresenter):
    """The regions of similar color (superpixels) of a picture, volume or video.

    An instance is an array or torch tensor (h, w), (h, w, c) or (c, h, w), with more axes for volumes and video.

    Parameters
    ----------
    n : int, default 16
        Regions, at most.
    segment : Slic, Quickshift, Felzenszwalb, function or array, optional
        How the picture is cut (Slic() by default): a segmentation, a function from a picture (..., c) to labels,
        or the labels themselves.
    fill : fill, function or array, optional
        What replaces a region that is taken away. By default its mean color, which a model may still recognise
        (Blur() and WholeMean() leave less); a region of one color is replaced by what is around it (``Fallback``).
        With a fill of your own, a region that it does not change is not tested and gets no weight.
    axes : str, optional
        One letter per axis, with C for the channels, as in "CHW" or "THWC". By default the last or first axis of
        at most four places holds the channels.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> picture = np.kron([[0.1, 0.9], [0.5, 0.3]], np.ones((8, 8)))
    >>> vd.Superpixels(segment=np.repeat([[0, 1]], 16, axis=0).repeat(8, axis=1))(picture).names
    ('middle left: region 1', 'middle right: region 2')
    """

    n: int = 16
    segment: Any = field(default_factory=Slic)
    fill: Fill = field(default_factory=Fallback)
    axes: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("n", self.n, 2)
        if isinstance(self.segment, (type, str)) or self.segment is None:
            raise InputError(
                f"segment wants Slic(), Quickshift(), Felzenszwalb(), a function or labels, not {self.segment!r}"
            )

    def parts_of(self, x: Any) -> Masked:
        """The picture as its regions."""
        picture = Picture.of(x, self.axes)
        if callable(self.segment):
            labels = segment_picture(self.segment, picture.scale(picture.values), self.n)
        else:
            labels, shape = relabel_regions(numbers_of(self.segment, "the labels")), picture.values.shape[:-1]
            if labels.shape != shape:
                raise InputError(
                    f"the labels have shape {labels.shape}, but the picture has {shape} (channels aside): "
                    f"give one label per pixel; {picture.read_as}"
                )
        return _mask_picture(picture, labels, self.fill, _place_names(labels))


@dataclass(frozen=True, eq=False)
class Grid(PictureRepresenter):
    """The rectangles of a grid over a picture; volumes and video are cut across all their frames.

    Parameters
    ----------
    rows, cols : int
        Rectangles down and across.
    fill : fill, function or array, optional
        What replaces a rectangle that is taken away, as for ``Superpixels``.
    axes : str, optional
        One letter per axis, with C for the channels, as for ``Superpixels``.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> vd.Grid(1, 2)(np.eye(8)).names
    ('row 1, column 1', 'row 1, column 2')
    """

    rows: int
    cols: int
    fill: Fill = field(default_factory=Fallback)
    axes: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("rows", self.rows)
        check_whole("cols", self.cols)

    def parts_of(self, x: Any) -> Masked:
        """The picture as its rectangles."""
        picture = Picture.of(x, self.axes)
        *_, height, width = shape = picture.values.shape[:-1]
        if self.rows > height or self.cols > width:
            raise InputError(
                f"a grid of {self.rows} × {self.cols} does not fit a picture of {height} × {width} pixels: "
                f"{picture.read_as}; say axes=…, as in axes='HWC', if that is wrong, or give a coarser grid"
            )
        row, col = np.arange(height) * self.rows // height, np.arange(width) * self.cols // width
        labels = np.broadcast_to(row[:, None] * self.cols + col, shape)
        names = [f"row {r + 1}, column {c + 1}" for r in range(self.rows) for c in range(self.cols)]
        return _mask_picture(picture, labels, self.fill, names)


def _mask_picture(picture: Picture, labels: Labels, fill: Fill, names: Sequence[str]) -> Masked:
    """A picture by these regions."""
    return picture.masked(labels, fill, number_parts(names, picture.part), partial(picture.small_copy, labels))


@dataclass(frozen=True, eq=False)
class Picture:
    """An instance and where its channels are: a picture, a spectrogram, a recording or a series."""

    x: Any  # as it came
    array: Array  # the same as NumPy
    channel: int | None  # axis of the channels
    what: str = "picture"
    notes: tuple[str, ...] = ()
    part: str = "region"
    tolerance: float = UNCHANGED_IN_PICTURES  # standard deviations by which an unchanged part may change

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
        shape, pixels = self.array.shape, " × ".join(map(str, self.values.shape[:-1]))
        if self.channel is None:
            return f"shape {shape} was read as {pixels} pixels without channels"
        channels = f"{shape[self.channel]} channels in axis {self.channel}"
        return f"shape {shape} was read as {pixels} pixels, with {channels}"

    @property
    def values(self) -> Array:
        """The channels last, at least one of them."""
        return self.array[..., None] if self.channel is None else np.moveaxis(self.array, self.channel, -1)

    def scale(self, values: Array) -> Floats:
        """Some of the values, from 0 to 1 if they were all of them."""
        low, high = float(self.array.min()), float(self.array.max())
        scaled: Floats = values.astype(np.float64)
        scaled -= low
        scaled /= (high - low) or 1.0
        return scaled

    def masked(self, labels: Labels, fill: Fill, parts: tuple[Part, ...], show: Callable[[], View]) -> Masked:
        """The Representation by these parts; labels (...) of places, or (..., c) where channels have their own."""
        refill = partial(self._composer, labels)
        law = coins(len(parts))
        return Filled(parts, law, refill(fill), show, self.notes, refill=refill, others=SUGGESTED_FILLS)

    def _composer(self, labels: Labels, fill: Fill) -> RegionComposer:
        """What makes instances in which a fill replaces some of the parts."""
        where, channel, apart = labels, self.channel, None
        if channel is not None and labels.ndim == self.array.ndim:
            where, channel, apart, labels = np.moveaxis(labels, -1, channel), None, channel, labels[..., 0]
        places = Places(np.asarray(where, np.intp), self.array.shape, channel, apart, self.tolerance)
        x = self.x if is_tensor(self.x) else self.array
        return compose_filled(x, partial(self._filled, labels), fill, places, self.part)

    def _filled(self, labels: Labels, fill: Fill) -> Any:
        """The instance with every part taken away, in its own layout."""
        if on_gpu(self.x) and hasattr(fill, "on_device") and labels.size * int(labels.max()) < MAX_NUMBERS_ON_GPU:
            x = self.x.detach()
            other = fill.on_device(x[..., None] if self.channel is None else x.movedim(self.channel, -1), labels)
            return other[..., 0] if self.channel is None else other.movedim(-1, self.channel)
        if is_other(fill):
            own = numbers_of(fill, "the fill")
            if own.squeeze().shape != self.array.squeeze().shape:
                raise InputError(
                    f"the fill has shape {own.shape}, but the {self.what} has {self.array.shape}: give another "
                    f"{self.what} of the same shape"
                )
            fill = replace(self, array=own.reshape(self.array.shape)).values
        other = as_type(apply_fill(fill, self.values.astype(np.float64), labels, self.what), self.array.dtype)
        return other[..., 0] if self.channel is None else np.moveaxis(other, -1, self.channel)

    def small_copy(self, labels: Labels) -> View:
        """What is shown of a picture: at most a few frames of at most a few hundred pixels a side."""
        values, where = self.values, labels
        while where.ndim < 3:
            values, where = values[None], where[None]
        values, where = values.reshape(-1, *values.shape[-3:]), where.reshape(-1, *where.shape[-2:])
        frames = np.unique(np.linspace(0, len(where) - 1, min(MAX_FRAMES_SHOWN, len(where))).round().astype(int))
        scale = min(MAX_PIXELS_SHOWN / max(where.shape[1:]), 1.0)
        down, across = (
            np.linspace(0, n - 1, max(round(n * scale), 1)).round().astype(int) for n in where.shape[1:]
        )
        titles = tuple(f"frame {i + 1} of {len(where)}" for i in frames) if len(where) > 1 else ("",)
        for axis, at in enumerate((frames, down, across)):
            if len(at) < where.shape[axis]:
                values, where = values.take(at, axis), where.take(at, axis)
        colors = self.scale(values[..., :3])
        colors *= 255
        pixels = np.rint(colors, out=colors).astype(np.uint8)
        pixels = pixels if pixels.shape[-1] == 3 else np.repeat(pixels[..., :1], 3, axis=-1)
        data = {"pixels": pixels, "labels": np.asarray(where, dtype=np.uint16), "titles": titles}
        return View("picture", data)


def channel_axis(shape: tuple[int, ...], axes: str | None) -> int | None:
    """Which axis holds the channels, as spelled out or as it looks."""
    if axes is not None:
        if len(axes) != len(shape):
            raise InputError(f"axes is {axes!r}, but the picture has shape {shape}: give one letter per axis")
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


def _place_names(labels: Labels) -> list[str]:
    """Where each region lies, in words, and its number."""
    d, flat = int(labels.max()) + 1, labels.ravel()
    counts = np.bincount(flat, minlength=d)
    centers = [
        np.bincount(flat, grid.ravel(), d) / counts / max(size - 1, 1)
        for grid, size in zip(np.indices(labels.shape), labels.shape, strict=True)
    ]
    *deep, down, across = centers
    depths = ["".join(f", {('front', 'halfway', 'back')[third(c[j])]}" for c in deep) for j in range(d)]
    return [f"{place_word(down[j], across[j])}{depths[j]}: region {j + 1}" for j in range(d)]
