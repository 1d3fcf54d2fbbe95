"""Pictures and recordings as media of a page, and recordings with only some of their parts."""

from __future__ import annotations

import inspect
import io
import wave
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from veridical.display.markup import data_uri
from veridical.display.pixels import Bytes, png, shrink
from veridical.errors import MissingPackage, require
from veridical.records import Floats
from veridical.representations.sounds import Mel, filter_tiles

Samples: TypeAlias = npt.NDArray[np.int16]
LONGEST = 10.0  # seconds of one player; of a longer recording, the beginning
RATES = (8_000, 11_025, 12_000, 16_000, 22_050, 24_000)  # that are played; the lowest is that of a telephone
PLAYERS = 23_000  # bytes of all players of a page, where a rate can be found that keeps to it
BANDS, RANGE = 96, 70.0  # rows of a spectrogram, and decibels from its brightest to its darkest
LOUDEST = 25.0  # a logarithm of a magnitude, above which it is none
FADE = 0.005  # seconds, so that a cut does not click


def kept(data: Mapping[str, Any], parts: Sequence[int]) -> Samples:
    """The recording of a view with only these parts left: stems added up, slices cut, tiles filtered."""
    samples, rate = np.asarray(data["samples"], dtype=np.float64), float(data["rate"])
    chosen = np.asarray(parts, dtype=int)
    if data.get("stems") is not None:
        return _whole(np.asarray(data["stems"], dtype=np.float64)[chosen].sum(axis=0))
    bounds = np.asarray(data["bounds"], dtype=np.float64)[chosen]
    top = rate / 2
    if np.all((bounds[:, 2] <= 0) & (bounds[:, 3] >= top) | ~np.isfinite(bounds[:, 2:]).all(axis=1)):
        return _whole(samples * _gate(bounds[:, :2] * rate, len(samples), rate))
    return _whole(filter_tiles(samples, rate, [bounds])[0])


def audible(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of a view with a recording, made of its spectrogram if it has to be; as it is where none can be."""
    if data.get("samples") is not None or data.get("front") is None:
        return data
    front, values = Mel(**data["front"]), np.asarray(data["values"], dtype=np.float64)
    if values.max() > LOUDEST:  # not the levels that the front end gives
        return data
    made = front.invert(values)
    return {**data, "samples": as_samples(made, peak_of(made)), "rate": front.rate}


def as_samples(samples: Any, peak: float) -> Samples:
    """Any recording as whole numbers of 16 bits, of which the largest stands for ``peak``."""
    return _whole(32767 / (peak or 1.0) * np.asarray(samples, dtype=np.float64))


def peak_of(samples: Any) -> float:
    """The loudest sample of a recording."""
    return float(np.abs(np.asarray(samples, dtype=np.float64)).max(initial=0.0))


def without(data: Mapping[str, Any], parts: Sequence[int]) -> Samples:
    """The recording of a view with these parts taken away: the rest alone."""
    return _whole(np.asarray(data["samples"], dtype=np.float64) - kept(data, parts))


def length(data: Mapping[str, Any]) -> float:
    """How long the sound of a view is, in the unit of its bounds; its rate may be unknown."""
    ends = np.asarray(data["bounds"], dtype=np.float64).reshape(-1, 4)[:, 1]
    known = ends[np.isfinite(ends)]
    return float(known.max()) if known.size else len(data["samples"]) / (float(data["rate"]) or 1.0)


def tiled(data: Mapping[str, Any]) -> bool:
    """Whether parts differ in frequency, so that time alone does not tell them apart."""
    return len({(low, high) for *_, low, high in np.asarray(data["bounds"], dtype=np.float64).tolist()}) > 1


def spectrum(data: Mapping[str, Any]) -> dict[str, Any]:
    """What a spectrogram of a sound is drawn from: loudness in bands of even pitch, and the part of each cell."""
    samples, rate = np.asarray(data["samples"], dtype=np.float64), float(data["rate"])
    window = min(2 ** round(np.log2(max(rate * 0.04, 16))), len(samples))
    hop = max(window // 4, len(samples) // 700, 1)
    from scipy import signal  # which takes a while to load

    hertz, seconds, found = signal.stft(samples, rate, nperseg=window, noverlap=max(window - hop, 0))
    pitch = 700 * np.expm1(np.linspace(0, np.log1p(rate / 1400), BANDS + 1))
    bins = np.searchsorted(hertz, pitch[:-1], side="right") - 1
    loud = np.maximum.reduceat(np.abs(found), bins, axis=0)
    decibel = 20 * np.log10(np.maximum(loud, 1e-9) / max(float(loud.max(initial=0.0)), 1e-9))
    labels = np.full(loud.shape, -1)
    middle = (pitch[:-1] + pitch[1:]) / 2
    times = np.minimum(seconds, len(samples) / rate * (1 - 1e-9))
    for part, (start, stop, low, high) in enumerate(np.asarray(data["bounds"], dtype=np.float64)):
        labels[np.ix_((middle >= low) & (middle < high), (times >= start) & (times < stop))] = part
    levels = np.asarray(255 * np.clip(1 + decibel / RANGE, 0, 1), dtype=np.uint8)
    return {**data, "levels": levels, "labels": labels, "unit": ("s", "Hz")}


def wav(samples: Samples, rate: float) -> bytes:
    """A WAV file of one channel."""
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(max(round(rate), 1))
        file.writeframes(np.ascontiguousarray(samples, dtype="<i2").tobytes())
    return stream.getvalue()


def playable(samples: Samples, rate: float, n_players: int = 1) -> tuple[Samples, float]:
    """The recording, small enough for one of so many players: at a lower rate first, cut only then."""
    clip = samples[: round(LONGEST * rate)]
    afford = [r for r in RATES if n_players * len(clip) / rate * _pace(r) <= PLAYERS]
    speed = max((r for r in afford if r <= rate), default=RATES[0])
    if speed >= rate:
        return clip, rate
    ratio = Fraction(speed, max(round(rate), 1)).limit_denominator(1000)
    from scipy import signal

    made = signal.resample_poly(clip.astype(np.float32), ratio.numerator, ratio.denominator)
    return _whole(np.asarray(made, dtype=np.float64)), float(speed)


def _pace(rate: float) -> float:
    """Bytes a second of the smallest MP3."""
    return 1_160 + 0.0875 * rate


def _gate(spans: Floats, n: int, rate: float) -> Floats:
    """1 inside the spans (m, 2), given in samples; 0 outside; short ramps between."""
    gate = np.zeros(n)
    for start, stop in spans.round().astype(int):
        gate[max(start, 0) : max(stop, 0)] = 1
    fade = min(round(FADE * rate), n // 4)
    ramp = np.minimum(np.arange(n) + 1, fade) / max(fade, 1)
    for edge in np.flatnonzero(np.diff(gate)) + 1:
        if gate[edge]:
            gate[edge : edge + fade] *= ramp[: len(gate[edge : edge + fade])]
        else:
            gate[max(edge - fade, 0) : edge] *= ramp[: min(fade, edge)][::-1]
    return gate


def _whole(samples: Floats) -> Samples:
    return np.asarray(np.clip(samples.round(), -32768, 32767), dtype=np.int16)


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
