"""Pictures and recordings in as few bytes as a page can afford, in formats that every browser knows."""

from __future__ import annotations

import inspect
import io
from typing import Any

import numpy as np

from veridical.errors import MissingPackage, require
from veridical.render.markup import data_uri
from veridical.render.pixels import Bytes, png, shrink
from veridical.render.sound import RATES, Samples, wav

PICTURE = 12_000  # bytes of one picture; base64 adds a third
SMALL = 4_000  # bytes, below which a picture is drawn smaller
EXACT = 128 * 128  # pixels: a smaller picture keeps every one
LADDER = ((1.0, 60), (1.0, 30), (0.85, 35), (0.7, 40), (0.5, 40), (0.35, 40))  # share of the width, and quality
SHARES = (1.0, 0.72, 0.6, 0.45, 0.25, 0.14)  # of the bytes of the first step, as photographs have it
LEVELS = 32  # of each color, where no package can do better
SHORT = 4_000  # bytes of a recording that need not be made smaller


def picture(pixels: Bytes, most: int = PICTURE) -> str:
    """Pixels (h, w, 3) as an address that holds them: exact where they are few, else coarser until they fit."""
    if pixels.shape[0] * pixels.shape[1] <= EXACT:
        return data_uri("image/png", png(pixels))
    try:
        images = require("PIL.Image", extra="image")
    except MissingPackage:
        return data_uri("image/png", _posterized(pixels, most))
    return data_uri("image/webp", _photograph(images, pixels, most))


def recording(samples: Samples, rate: float) -> str:
    """A recording as an address that holds it: MP3, or WAV where nothing can make that, or need."""
    if samples.nbytes > SHORT and round(rate) in RATES:
        try:
            files = require("soundfile", extra="audio")
        except MissingPackage:
            files = None
        if files is not None and "MP3" in files.available_formats():
            return data_uri("audio/mpeg", _song(files, samples, rate))
    return data_uri("audio/wav", wav(samples, rate))


def _photograph(images: Any, pixels: Bytes, most: int) -> bytes:
    """WebP, at the first step of the ladder that fits, as the bytes of the first step foretell."""
    whole, content, first = images.fromarray(np.ascontiguousarray(pixels)), b"", 0
    for (scale, quality), share in zip(LADDER, SHARES, strict=True):
        if first * share > most and share > SHARES[-1]:
            continue
        size = [max(round(n * scale), 1) for n in whole.size]
        stream = io.BytesIO()
        shown = whole if scale == 1 else whole.resize(size, images.Resampling.BOX)
        shown.save(stream, "WEBP", quality=quality, method=2)
        content = stream.getvalue()
        first = first or len(content)
        if len(content) <= most:
            break
    return content


def _posterized(pixels: Bytes, most: int) -> bytes:
    """PNG with fewer colors, then with fewer pixels."""
    content, step = b"", 256 // LEVELS
    for scale in sorted({scale for scale, _ in LADDER}, reverse=True):
        h, w = (max(round(n * scale), 1) for n in pixels.shape[:2])
        content = png((shrink(pixels, h, w) // step * step + step // 2).astype(np.uint8))
        if len(content) <= most:
            break
    return content


def _song(files: Any, samples: Samples, rate: float) -> bytes:
    """MP3 of a rate that varies, the smallest there is."""
    stream = io.BytesIO()
    known = "compression_level" in inspect.signature(files.write).parameters
    smallest: dict[str, Any] = {"compression_level": 0.99} if known else {}
    files.write(stream, samples, round(rate), format="MP3", **smallest)
    return stream.getvalue()
