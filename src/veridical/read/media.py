"""Texts, pictures and sounds, a file each."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from veridical.errors import InputError, require
from veridical.read.files import STDIN, Found, text_of
from veridical.read.records import PICTURE, SOUND, TEXT, Data, Files, Reading
from veridical.represent.regions import Array

WIDE = ("I;16", "I;16L", "I;16B", "I", "F")  # modes of Pillow whose pixels are no bytes


def texts_of(found: Found, reading: Reading) -> Data:
    """A text a file, or a line."""
    texts, names = [], []
    for path, name in zip(found.paths, found.names, strict=True):
        text = text_of(path, reading.encoding)
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


def lines_of(reading: Reading) -> Data:
    """A text a line of the standard input."""
    return texts_of(Found("texts", (Path(STDIN),), (STDIN,)), reading)


def pictures_of(found: Found) -> Data:
    """Pictures as bytes (h, w, 3), turned as the camera was held."""
    images = require("PIL.Image", extra="image")
    turned = require("PIL.ImageOps", extra="image").exif_transpose
    notes: dict[str, list[str]] = {}
    for path in found.paths:
        for said in _opened(images, path, _remarks):
            notes.setdefault(said, []).append(path.name)
    told = tuple(f"{said}: {names[0]}" + _more(names) for said, names in notes.items())

    def read(path: Path) -> Array:
        found: Array = _opened(images, path, lambda image: _colors(images, turned(image)))
        return found

    return Data(Files(found.paths, read), found.names, PICTURE, notes=told)


def _opened(images: Any, path: Path, look: Callable[[Any], Any]) -> Any:
    """What a look at a picture gives, if it is one, and of a size that the memory holds."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd notes that cameras leave in files
            warnings.simplefilter("error", images.DecompressionBombWarning)
            with images.open(path) as image:
                return look(image)
    except (images.DecompressionBombWarning, images.DecompressionBombError) as cause:
        raise InputError(f"{path} is too large a picture: {cause}; make it smaller") from cause
    except Exception as cause:  # a damaged file raises anything
        raise InputError(f"{path} cannot be read as a picture: {cause}") from cause


def _remarks(image: Any) -> list[str]:
    """What is not read as it is."""
    found = {
        "only the first frame is read": getattr(image, "n_frames", 1) > 1,
        "values are brought to bytes": image.mode in WIDE,
        "what is transparent is put on white": _is_transparent(image),
    }
    return [said for said, so in found.items() if so]


def _is_transparent(image: Any) -> bool:
    return image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info


def _colors(images: Any, image: Any) -> Array:
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


def resized(picture: Array, height: int | None, width: int | None) -> Array:
    """A picture of this size; None keeps its own."""
    images = require("PIL.Image", extra="image")
    size = (height or picture.shape[0], width or picture.shape[1])
    if picture.shape[:2] == size:
        return picture
    return np.array(images.fromarray(picture).resize(size[::-1], images.Resampling.BILINEAR))


def sounds_of(found: Found) -> Data:
    """Recordings (samples,), their channels mixed, all of one rate."""
    soundfile = require("soundfile", extra="audio")
    rates: dict[int, Path] = {}
    mixed = []
    for path in found.paths:
        told = _heard(soundfile.info, path)
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
    notes = (f"channels are mixed into one: {mixed[0]}{_more(mixed)}",) if mixed else ()

    def read(path: Path) -> Array:
        samples, _ = _heard(lambda file: soundfile.read(file, dtype="float32", always_2d=True), path)
        mono: Array = samples.mean(axis=1)
        return mono

    return Data(Files(found.paths, read), found.names, SOUND, rate=float(next(iter(rates))), notes=notes)


def _heard(look: Callable[[Any], Any], path: Path) -> Any:
    try:
        return look(path)
    except Exception as cause:  # a damaged file raises anything
        raise InputError(f"{path} cannot be read as a recording: {cause}") from cause


def _more(names: list[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""
