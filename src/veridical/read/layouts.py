"""How arrays of instances become what a network takes: the order of axes, and what pixels are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.read.records import near
from veridical.represent.regions import Array

COLORS = (1, 3, 4)  # how many channels pictures have
MEAN, SPREAD = (
    (0.485, 0.456, 0.406),
    (0.229, 0.224, 0.225),
)  # of the colors of ImageNet, which many networks expect
PIXELS = ("0..1", "0..255", "imagenet")

Shape = tuple[int | None, ...]  # None where any length will do


def check_pixels(pixels: str) -> None:
    """Refuse a scale of pixels that is not known."""
    if pixels not in PIXELS:
        raise InputError(f"pixels are {', '.join(PIXELS)}, not {pixels!r}{near(pixels, PIXELS)}")


def scaled(pictures: Array, pixels: str) -> Array:
    """Pictures of bytes (…, channels) on the scale that a network was trained on; others stay as they are."""
    if pictures.dtype != np.uint8 or pixels == "0..255":
        return pictures
    unit = pictures.astype(np.float32) / np.float32(255)
    if pixels == "0..1":
        return unit
    if pictures.shape[-1] != 3:
        raise InputError(f"imagenet is a scale of three colors; these pictures have {pictures.shape[-1]}")
    return (unit - np.array(MEAN, np.float32)) / np.array(SPREAD, np.float32)


def stacked(batch: Any) -> Array:
    """A batch of arrays as one."""
    if isinstance(batch, list) and len({np.shape(x) for x in batch}) > 1:
        raise InputError("instances of several shapes cannot be asked about at once")
    return np.asarray(batch)


def arranged(batch: Array, shape: Shape) -> Array | None:
    """A batch with its axes as a network takes them, of which ``shape`` tells the lengths of one instance.

    Where several orders fit, pictures get their channels first, as most networks have them; None if none fits.
    """
    orders = [batch]
    if batch.ndim > 2:
        first, last = np.moveaxis(batch, -1, 1), np.moveaxis(batch, 1, -1)
        orders = [first, batch] if is_picture(batch.shape[1:]) else [batch, first, last]
    orders += [batch[:, None], batch[..., None], *([batch[..., 0]] if batch.shape[-1] == 1 else [])]
    return next((order for order in orders if fits(order.shape[1:], shape)), None)


def is_picture(shape: Sequence[int | None]) -> bool:
    """Whether an instance of this shape is a picture with its channels last."""
    return len(shape) == 3 and shape[-1] in COLORS and shape[0] not in COLORS


def fits(shape: Sequence[int], wanted: Shape) -> bool:
    """Whether an instance of one shape is of the other."""
    return len(shape) == len(wanted) and all(w in (None, n) for n, w in zip(shape, wanted, strict=True))


def written(shape: Shape) -> str:
    """A shape as people write it."""
    return " × ".join("any" if n is None else str(n) for n in shape)
