"""Texts, pictures and sounds, a file each."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from veridical.errors import InputError, require
from veridical.read.files import STDIN, Found, text_of
from veridical.read.records import PICTURE, SOUND, TEXT, Data, Reading
from veridical.represent.regions import Array

DEEP = ("I;16", "I;16L", "I;16B", "I")  # modes of Pillow whose pixels have 16 bits


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
            names += [f"{name}:{i}" if len(found.paths) > 1 else str(i) for i, _ in lines]
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
    pictures = [_picture(images, turned, path, notes) for path in found.paths]
    told = tuple(f"{said}: {paths[0]}" + _more(paths) for said, paths in notes.items())
    return Data(together(pictures), found.names, PICTURE, notes=told)


def _picture(images: Any, turned: Any, path: Path, notes: dict[str, list[str]]) -> Array:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd notes that cameras leave in files
            warnings.simplefilter("error", images.DecompressionBombWarning)
            with images.open(path) as image:
                if getattr(image, "n_frames", 1) > 1:
                    notes.setdefault("only the first frame was read", []).append(path.name)
                return _colors(images, turned(image), path.name, notes)
    except (images.DecompressionBombWarning, images.DecompressionBombError) as cause:
        raise InputError(f"{path} is too large a picture: {cause}; make it smaller") from cause
    except Exception as cause:  # a damaged file raises anything
        raise InputError(f"{path} cannot be read as a picture: {cause}") from cause


def _colors(images: Any, image: Any, name: str, notes: dict[str, list[str]]) -> Array:
    """Red, green and blue, on white where it is transparent."""
    if image.mode in DEEP or image.mode == "F":
        notes.setdefault("its range of values was brought to bytes", []).append(name)
        values = np.asarray(image, dtype=np.float64)
        low, high = (0.0, 65535.0) if image.mode in DEEP else (values.min(), values.max())
        bytes_ = np.rint(255 * (values - low) / ((high - low) or 1.0)).clip(0, 255).astype(np.uint8)
        return np.repeat(bytes_[..., None], 3, axis=2)
    if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
        layer = image.convert("RGBA")
        if layer.getextrema()[3][0] < 255:
            notes.setdefault("what is transparent was put on white", []).append(name)
        image = images.alpha_composite(images.new("RGBA", layer.size, (255, 255, 255, 255)), layer)
    return np.array(image.convert("RGB"))


def resized(pictures: Iterable[Array], height: int | None, width: int | None) -> list[Array]:
    """Pictures of a size; None keeps their own."""
    images = require("PIL.Image", extra="image")
    found = []
    for picture in pictures:
        size = (height or picture.shape[0], width or picture.shape[1])
        if picture.shape[:2] != size:
            small = images.fromarray(picture).resize(size[::-1], images.Resampling.BILINEAR)
            picture = np.array(small)
        found.append(picture)
    return found


def sounds_of(found: Found) -> Data:
    """Recordings (samples,), their channels mixed, all of one rate."""
    soundfile = require("soundfile", extra="audio")
    sounds, mixed = [], []
    rates: dict[int, Path] = {}
    for path in found.paths:
        try:
            samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        except Exception as cause:  # a damaged file raises anything
            raise InputError(f"{path} cannot be read as a recording: {cause}") from cause
        if not len(samples):
            raise InputError(f"{path} is a recording without samples")
        rates.setdefault(int(rate), path)
        if samples.shape[1] > 1:
            mixed.append(path.name)
        sounds.append(samples.mean(axis=1))
    if len(rates) > 1:
        (first, one), (second, other), *_ = rates.items()
        raise InputError(
            f"recordings must be of one rate: {one} has {first} samples a second, {other} has {second}: resample "
            "them first, or read them apart"
        )
    notes = (f"channels were mixed into one: {mixed[0]}{_more(mixed)}",) if mixed else ()
    return Data(together(sounds), found.names, SOUND, rate=float(next(iter(rates))), notes=notes)


def together(arrays: list[Array]) -> Any:
    """One array, where all are of one shape."""
    return np.stack(arrays) if len({a.shape for a in arrays}) == 1 else arrays


def _more(names: list[str]) -> str:
    return f" and {len(names) - 1} more" if len(names) > 1 else ""
