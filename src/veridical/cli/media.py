"""Arrays, texts, pictures and sounds out of files, arranged as a model takes them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veridical.cli.files import FileFamily, check_zip_size, read_text, reading_as
from veridical.cli.loading import ARRAY, PICTURE, SOUND, TEXT, Data, LazyFiles, ReadOptions, suggest
from veridical.errors import InputError, require
from veridical.representations.regions import Array

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
        raise InputError(f"pixels are {', '.join(PIXELS)}, not {pixels!r}{suggest(pixels, PIXELS)}")


def scale_pixels(pictures: Array, pixels: str) -> Array:
    """Pictures of bytes (…, channels) on the scale that a network was trained on; others stay as they are."""
    if pictures.dtype != np.uint8 or pixels == "0..255":
        return pictures
    unit = pictures.astype(np.float32) / np.float32(255)
    if pixels == "0..1":
        return unit
    if pictures.shape[-1] != 3:
        raise InputError(f"imagenet is a scale of three colors; these pictures have {pictures.shape[-1]}")
    return (unit - np.array(MEAN, np.float32)) / np.array(SPREAD, np.float32)


def stack_batch(batch: Any) -> Array:
    """A batch of arrays as one."""
    if isinstance(batch, list) and len({np.shape(x) for x in batch}) > 1:
        raise InputError("instances of several shapes cannot be asked about at once")
    return np.asarray(batch)


def arrange_axes(batch: Array, shape: Shape) -> Array | None:
    """A batch with its axes as a network takes them, of which ``shape`` tells the lengths of one instance.

    Where several orders fit, pictures get their channels first, as most networks have them; None if none fits.
    """
    orders = [batch]
    if batch.ndim > 2:
        first, last = np.moveaxis(batch, -1, 1), np.moveaxis(batch, 1, -1)
        orders = [first, batch] if is_picture(batch.shape[1:]) else [batch, first, last]
    orders += [batch[:, None], batch[..., None], *([batch[..., 0]] if batch.shape[-1] == 1 else [])]
    return next((order for order in orders if fits_shape(order.shape[1:], shape)), None)


def is_picture(shape: Sequence[int | None]) -> bool:
    """Whether an instance of this shape is a picture with its channels last."""
    return len(shape) == 3 and shape[-1] in COLORS and shape[0] not in COLORS


def fits_shape(shape: Sequence[int], wanted: Shape) -> bool:
    """Whether an instance of one shape is of the other."""
    return len(shape) == len(wanted) and all(w in (None, n) for n, w in zip(shape, wanted, strict=True))


def format_shape(shape: Shape) -> str:
    """A shape as people write it."""
    return " × ".join("any" if n is None else str(n) for n in shape)


INSTANCES, LABELS = ("X", "x", "data", "instances"), ("y", "labels", "target")  # what they are often called


def read_arrays(path: Path, reading: ReadOptions) -> Data:
    """The instances of an .npy file, or of an .npz file with their right answers if it has them."""
    found, labels = _arrays(path, reading)
    if not found.ndim or not len(found):
        raise InputError(f"{path} holds an array of shape {found.shape}: there are no instances in it")
    if labels is not None and len(labels) != len(found):
        raise InputError(f"{path} has {len(found)} instances and {len(labels)} right answers")
    names = tuple(map(str, range(len(found))))
    if found.ndim == 1 and found.dtype.kind == "U":
        return Data(found.tolist(), names, TEXT, labels)
    if found.dtype.kind not in "biuf":
        raise InputError(f"{path} holds values of type {found.dtype}; wanted numbers")
    return Data(found, names, ARRAY, labels, reading.columns)


def _arrays(path: Path, reading: ReadOptions) -> tuple[Array, Any]:
    if path.suffix.lower() == ".npz":
        check_zip_size(path)
    try:
        read = np.load(path, allow_pickle=False)
        if isinstance(read, np.ndarray):
            return read, None
        with read:
            every = {name: read[name] for name in read.files}
    except Exception as cause:  # a damaged file raises anything
        pickled = "pickle" in str(cause)
        said = "it holds Python objects, not numbers" if pickled else str(cause)
        raise InputError(f"{path} cannot be read as arrays: {said}") from cause
    return _choose_arrays(path, every, reading)


def _choose_arrays(path: Path, every: dict[str, Array], reading: ReadOptions) -> tuple[Array, Any]:
    """Which of several arrays are the instances, and which their right answers."""
    label = reading.label or next((name for name in LABELS if name in every), None)
    if reading.label is not None and reading.label not in every:
        raise InputError(f"{path} has no array {reading.label!r}{suggest(reading.label, list(every))}")
    labels = None if label is None else every[label]
    others = [name for name in every if name != label]
    known = [name for name in INSTANCES if name in others] or others
    if len(others) != 1 and known == others:
        raise InputError(f"{path} has the arrays {', '.join(every)}: call the instances X, and right answers y")
    return every[known[0]], labels


WIDE = ("I;16", "I;16L", "I;16B", "I", "F")  # modes of Pillow whose pixels are no bytes


def read_texts(found: FileFamily, reading: ReadOptions) -> Data:
    """A text a file, or a line."""
    texts, names = [], []
    for path, name in zip(found.paths, found.names, strict=True):
        text = read_text(path, reading.encoding)
        if not text.strip():
            raise InputError(f"{path} has no text in it")
        if reading.lines:
            lines = [(i, line) for i, line in enumerate(text.split("\n"), 1) if line.strip()]
            texts += [line for _, line in lines]
            names += [f"{name}:{i}" for i, _ in lines]
        else:
            texts.append(text)
            names.append(name)
    return Data(texts, tuple(names), TEXT)


def read_pictures(found: FileFamily) -> Data:
    """Pictures as bytes (h, w, 3), turned as the camera was held."""
    images = require("PIL.Image", extra="image")
    turned = require("PIL.ImageOps", extra="image").exif_transpose
    notes: dict[str, list[str]] = {}
    for path in found.paths:
        for said in _open_picture(images, path, _note_changes):
            notes.setdefault(said, []).append(path.name)
    told = tuple(f"{said}: {_name_first(names)}" for said, names in notes.items())

    def read(path: Path) -> Array:
        found: Array = _open_picture(images, path, lambda image: _to_rgb(images, turned(image)))
        return found

    return Data(LazyFiles(found.paths, read), found.names, PICTURE, notes=told)


def _open_picture(images: Any, path: Path, look: Callable[[Any], Any]) -> Any:
    """What a look at a picture gives, if it is one, and of a size that the memory holds."""
    with reading_as(path, "a picture"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd notes that cameras leave in files
        warnings.simplefilter("error", images.DecompressionBombWarning)
        try:
            with images.open(path) as image:
                return look(image)
        except (images.DecompressionBombWarning, images.DecompressionBombError) as cause:
            raise InputError(f"{path} is too large a picture: {cause}; make it smaller") from cause


def _note_changes(image: Any) -> list[str]:
    """What is not read as it is."""
    first = ["only the first frame is read"] if getattr(image, "n_frames", 1) > 1 else []
    wide = ["values are brought to bytes"] if image.mode in WIDE else []
    return first + wide + (["what is transparent is put on white"] if _is_transparent(image) else [])


def _is_transparent(image: Any) -> bool:
    return image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info


def _to_rgb(images: Any, image: Any) -> Array:
    """Red, green and blue, on white where it is transparent."""
    if image.mode in WIDE:
        values = np.asarray(image, dtype=np.float64)
        low, high = (values.min(), values.max()) if image.mode == "F" else (0.0, 65535.0)
        gray = np.rint(255 * (values - low) / ((high - low) or 1.0)).clip(0, 255).astype(np.uint8)
        return np.repeat(gray[..., None], 3, axis=2)
    if _is_transparent(image):
        layer = image.convert("RGBA")
        image = images.alpha_composite(images.new("RGBA", layer.size, (255, 255, 255, 255)), layer)
    return np.array(image.convert("RGB"))


def resize_picture(picture: Array, height: int | None, width: int | None) -> Array:
    """A picture of this size; None keeps its own."""
    images = require("PIL.Image", extra="image")
    size = (height or picture.shape[0], width or picture.shape[1])
    if picture.shape[:2] == size:
        return picture
    return np.array(images.fromarray(picture).resize(size[::-1], images.Resampling.BILINEAR))


def read_sounds(found: FileFamily) -> Data:
    """Recordings (samples,), their channels mixed, all of one rate."""
    soundfile = require("soundfile", extra="audio")
    rates: dict[int, Path] = {}
    mixed = []
    for path in found.paths:
        with reading_as(path, "a recording"):
            told = soundfile.info(path)
        if not told.frames:
            raise InputError(f"{path} is a recording without samples")
        rates.setdefault(int(told.samplerate), path)
        mixed += [path.name] if told.channels > 1 else []
    if len(rates) > 1:
        (first, one), (second, other), *_ = rates.items()
        raise InputError(
            f"recordings must be of one rate: {one} has {first} samples a second, {other} has {second}: resample "
            "them first, or read them apart"
        )
    notes = (f"channels are mixed into one: {_name_first(mixed)}",) if mixed else ()

    def read(path: Path) -> Array:
        with reading_as(path, "a recording"):
            mono: Array = soundfile.read(path, dtype="float32", always_2d=True)[0].mean(axis=1)
        return mono

    return Data(LazyFiles(found.paths, read), found.names, SOUND, rate=float(next(iter(rates))), notes=notes)


def _name_first(names: list[str]) -> str:
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")
