"""Recordings and spectrograms: time-frequency tiles, slices of time, and stems that sound together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from veridical.errors import InputError, check_positive, check_whole, require
from veridical.masks import coins
from veridical.records import Floats, Part, View
from veridical.represent.fill import Constant, Fill, WholeMean
from veridical.represent.masked import Listed, Masked, checked_parts, tried, unique
from veridical.represent.mel import Mel
from veridical.represent.pictures import Picture
from veridical.represent.regions import HARDLY, Array, batch_hint, numbers_of
from veridical.represent.series import DEFAULT
from veridical.represent.sums import SumComposer, tile_sounds

SEPARABLE = 2048  # samples of one spectrum by which librosa separates sounds
LONGEST = 2**21  # samples of a recording that a view keeps to be heard


@dataclass(frozen=True, eq=False)
class Tiles:
    """Rectangles of time and frequency (SLIME): ``times`` blocks of time by ``bands`` of frequency.

    Of a spectrogram (bands, frames), low bands first, the model is asked about spectrograms in which some tiles
    are filled; with leading channels it may be (c, bands, frames), and ``time_axis`` says where time is. Of a
    recording with a ``front`` such as Mel(), it is asked about the front's spectrograms. Of a recording with
    its ``rate`` alone, it is asked about recordings from which tiles were filtered out.

    A front is any function from a recording to a spectrogram; parts are named in seconds and hertz if it has
    ``rate``, ``seconds`` (from frame to frame) and ``hertz`` (where bands begin, and the last ends), and a
    spectrogram can be heard if it has ``invert``.
    """

    times: int = 5
    bands: int = 4
    fill: Fill = field(default_factory=lambda: DEFAULT)
    front: Callable[[Any], Any] | None = None
    rate: float | None = None
    time_axis: int = -1

    def __post_init__(self) -> None:
        check_whole("times", self.times)
        check_whole("bands", self.bands)
        if self.rate is not None:
            check_positive("rate", self.rate)
        if self.front is not None and (not callable(self.front) or isinstance(self.front, type)):
            raise InputError(f"front wants a function from a recording to a spectrogram, not {self.front!r}")
        if self.time_axis not in (-1, -2):
            raise InputError(
                f"time_axis is -1 for (bands, frames) or -2 for (frames, bands), not {self.time_axis!r}"
            )

    def __call__(self, x: Any) -> Masked:
        return self.parts_of(x)

    def parts_of(self, x: Any, least: int = 2) -> Masked:
        """The sound as its tiles; ``least`` is how few of them are still worth explaining."""
        checked_parts(self.times * self.bands, least, "tile", "ask for more times or bands")
        if numbers_of(x, "a recording or spectrogram").ndim != 1:
            return self._of_spectrogram(x, None)
        samples = recording(x, "a recording")
        if self.front is not None:
            return self._of_spectrogram(tried("front", self.front, samples), samples)
        if self.rate is None:
            raise InputError("a recording needs its rate=… (samples a second), or a front=… such as vd.Mel()")
        if self.fill != DEFAULT and not isinstance(self.fill, WholeMean):
            raise InputError("tiles are filtered out of a recording, not filled: fill is for spectrograms")
        return self._of_recording(x, samples, self.rate)

    def each(self, X: Any) -> Listed:
        """Many recordings or spectrograms."""
        return Listed.of(self, X, "recordings")

    def hear(self, x: Any, parts: Sequence[int | str]) -> Floats:
        """The recording with these parts alone; of a spectrogram, about that."""
        rate = getattr(self.front, "rate", self.rate)
        shown = self(x)
        kept = positions(shown, parts)
        if numbers_of(x, "a recording or spectrogram").ndim == 1:
            samples = recording(x, "a recording")
            bounds = shown.view.data["bounds"] if shown.view else np.empty((0, 4))
            return np.asarray(tile_sounds(samples, float(rate or 1), bounds)[kept].sum(axis=0), dtype=np.float64)
        invert = getattr(self.front, "invert", None)
        if invert is None:
            raise InputError("a spectrogram is heard through its front end: give front=vd.Mel(…)")
        mask = np.zeros((1, len(shown.parts)), bool)
        mask[0, kept] = True
        return np.asarray(invert(numbers_of(shown.compose(mask)[0], "a spectrogram")), dtype=np.float64)

    def _of_spectrogram(self, x: Any, samples: Array | None) -> Masked:
        array = numbers_of(x, "a spectrogram")
        if array.ndim not in (2, 3) or not array.size:
            raise InputError(
                f"a spectrogram has axes (bands, frames), perhaps after channels; this has shape "
                f"{array.shape}{batch_hint(array.shape, 3)}"
            )
        channel = 0 if array.ndim == 3 else None
        picture = Picture(x if samples is None else array, array, channel, "spectrogram", part="tile")
        levels = _floats(array) if array.ndim == 2 else array.mean(axis=0)
        levels = levels if self.time_axis == -1 else levels.T
        if np.ptp(levels) == 0:
            raise InputError("the spectrogram is the same everywhere: there is nothing to explain")
        cut = _tiling(levels.shape, self.times, self.bands, array.shape)
        labels = cut.labels if self.time_axis == -1 else cut.labels.T
        bounds, unit = self._bounds(cut, samples)
        names = [_tile_name(b, unit) for b in bounds]
        shown = np.rint(255 * (levels - levels.min()) / np.ptp(levels)).astype(np.uint8)
        data = {"levels": shown, "labels": cut.labels.astype(np.uint16), "bounds": bounds, "unit": unit}
        if samples is not None:
            data |= _heard(samples, getattr(self.front, "rate", self.rate))
        elif isinstance(self.front, Mel) and unit == ("s", "Hz") and levels.size <= LONGEST:
            data |= {"values": levels.astype(np.float32), "front": asdict(self.front)}
        masked = picture.masked(labels, self.fill, unique(names), 1)
        return replace(masked, view=View("spectrogram", data))

    def _bounds(self, cut: Tiling, samples: Array | None) -> tuple[Floats, tuple[str, str]]:
        """Each tile's rectangle in seconds and hertz where they are known, else in frames and bands."""
        seconds, hertz = getattr(self.front, "seconds", None), getattr(self.front, "hertz", None)
        if seconds is None or hertz is None or len(hertz) != cut.n_bands + 1:
            return cut.corners, ("frame", "band")
        bounds = cut.corners.copy()
        bounds[:, :2] *= seconds
        if samples is not None:
            length = len(samples) / getattr(self.front, "rate", 1.0)
            bounds[:, :2] = np.minimum(bounds[:, :2], length)
        bounds[:, 2:] = np.asarray(hertz)[cut.corners[:, 2:].astype(int)]
        return bounds, ("s", "Hz")

    def _of_recording(self, x: Any, samples: Array, rate: float) -> Masked:
        n = len(samples)
        if n < 16 * self.times:
            raise InputError(f"{n} samples are too short for {self.times} blocks of time: give fewer times")
        time, mel = np.linspace(0, n / rate, self.times + 1), np.linspace(0, np.log1p(rate / 1400), self.bands + 1)
        hertz = 700 * np.expm1(mel)
        bounds = np.array(
            [(*time[i : i + 2], *hertz[j : j + 2]) for i in range(self.times) for j in range(self.bands)]
        )
        parts = _sound_parts(unique([_tile_name(b, ("s", "Hz")) for b in bounds]), "tile")
        view = View("sound", {**_heard(samples, rate), "bounds": bounds})
        composer = SumComposer.of(x, tile_sounds(_floats(samples), rate, bounds))
        return Masked(parts, coins(len(parts)), composer, view)


@dataclass(frozen=True, eq=False)
class Slices:
    """Slices of a recording in time; those taken away are silent. A recording is (n,) or (channels, n)."""

    n: int = 10
    rate: float | None = None
    fill: Fill = field(default_factory=Constant)

    def __post_init__(self) -> None:
        check_whole("n", self.n)
        if self.rate is not None:
            check_positive("rate", self.rate)

    def __call__(self, x: Any) -> Masked:
        return self.parts_of(x)

    def parts_of(self, x: Any, least: int = 2) -> Masked:
        """The recording as its slices; ``least`` is how few of them are still worth explaining."""
        checked_parts(self.n, least, "slice", "ask for more")
        samples = recording(x, "a recording", channels=True)
        length = samples.shape[-1]
        if length < self.n:
            raise InputError(
                f"{length} samples cannot be cut into {self.n} slices: give fewer, or a longer recording"
            )
        labels = np.arange(length) * self.n // length
        edges = np.searchsorted(labels, np.arange(self.n + 1))
        rate = self.rate or 1.0
        names = [_span_name(a / rate, b / rate, "s" if self.rate else "samples") for a, b in pairwise(edges)]
        channel = 0 if samples.ndim == 2 else None
        picture = Picture(x, samples, channel, "recording", part="slice", nearly=HARDLY)
        bounds = np.array([(a / rate, b / rate, 0.0, rate / 2) for a, b in pairwise(edges)])
        view = View("sound", {**_heard(_mono(samples), self.rate), "bounds": bounds})
        return replace(picture.masked(labels, self.fill, unique(names), 1), view=view)

    def each(self, X: Any) -> Listed:
        """Many recordings."""
        return Listed.of(self, X, "recordings")

    def hear(self, x: Any, parts: Sequence[int | str]) -> Floats:
        """The recording with these parts alone."""
        return _kept_alone(self(x), parts)


@dataclass(frozen=True, eq=False)
class Stems:
    """Sounds that make up a recording together (audioLIME), each cut into ``times`` blocks of time.

    ``separate`` turns a recording (n,) into a mapping of names to recordings of the same length; what they do
    not sum up to always stays. By default librosa separates harmonic from percussive sound.
    """

    separate: Callable[[Any], Any] | None = None
    rate: float | None = None
    times: int = 1

    def __post_init__(self) -> None:
        check_whole("times", self.times)
        if self.rate is not None:
            check_positive("rate", self.rate)
        if self.separate is not None and (not callable(self.separate) or isinstance(self.separate, type)):
            raise InputError(f"separate wants a function from a recording to its stems, not {self.separate!r}")

    def __call__(self, x: Any) -> Masked:
        return self.parts_of(x)

    def parts_of(self, x: Any, least: int = 2) -> Masked:
        """The recording as its stems; ``least`` is how few of them are still worth explaining."""
        samples = recording(x, "a recording")
        stems = _stems(tried("separate", self.separate or _harmonic_and_percussive, samples), samples)
        n, rate = len(samples), self.rate or 1.0
        checked_parts(len(stems) * self.times, least, "stem", "separate into more stems, or ask for more times")
        if n < self.times:
            raise InputError(f"{n} samples are too short for {self.times} blocks of time: give fewer times")
        block = np.arange(n) * self.times // n
        edges = np.searchsorted(block, np.arange(self.times + 1)) / rate
        pieces, names, bounds = [], [], []
        for name, stem in stems.items():
            for i, (start, stop) in enumerate(pairwise(edges)):
                pieces.append(np.where(block == i, stem, 0.0).astype(np.float32))
                when = f", {_span_name(start, stop, 's' if self.rate else 'samples')}" if self.times > 1 else ""
                names.append(f"{name}{when}")
                bounds.append((start, stop, 0.0, rate / 2))
        view = {**_heard(samples, self.rate), "bounds": np.array(bounds)}
        if "samples" in view:
            view["stems"] = _as_int16(np.stack(pieces), float(np.abs(_floats(samples)).max()))
        parts = _sound_parts(unique(names), "stem")
        return Masked(parts, coins(len(parts)), SumComposer.of(x, np.stack(pieces)), View("sound", view))

    def each(self, X: Any) -> Listed:
        """Many recordings."""
        return Listed.of(self, X, "recordings")

    def hear(self, x: Any, parts: Sequence[int | str]) -> Floats:
        """The recording with these parts alone, and what no stem has."""
        return _kept_alone(self(x), parts)


@dataclass(frozen=True, eq=False)
class Tiling:
    """A plane of bands and frames cut into rectangles; tile i is block i // bands of time, band i % bands."""

    labels: Array  # (bands, frames)
    corners: Floats  # (d, 4) frame from, to, band from, to
    n_bands: int


def _tiling(shape: tuple[int, ...], times: int, bands: int, given: tuple[int, ...]) -> Tiling:
    rows, frames = shape
    if frames < times or rows < bands:
        raise InputError(
            f"shape {given} was read as a spectrogram of {rows} bands and {frames} frames, which cannot be cut "
            f"into {bands} × {times} tiles: say time_axis=… if time is the other axis, or give fewer tiles; a "
            "recording has one axis, so pass x[0] of one with a single channel, and mix several down first"
        )
    time, band = np.arange(frames) * times // frames, np.arange(rows) * bands // rows
    at, of = np.searchsorted(time, np.arange(times + 1)), np.searchsorted(band, np.arange(bands + 1))
    corners = [(*t, *b) for t in pairwise(at) for b in pairwise(of)]
    return Tiling(time * bands + band[:, None], np.array(corners, dtype=np.float64), rows)


def recording(x: Any, what: str, channels: bool = False) -> Array:
    """A recording with some sound in it, or an error that says what is wrong."""
    samples = numbers_of(x, what)
    if samples.ndim != 1 and not (channels and samples.ndim == 2):
        if samples.ndim == 2 and 1 in samples.shape:
            do = f": pass {'x[0]' if samples.shape[0] == 1 else 'x[:, 0]'}, its only channel"
        else:
            do = ": mix its channels down first" if samples.ndim == 2 else batch_hint(samples.shape, 1 + channels)
        wanted = "(samples,) or (channels, samples)" if channels else "(samples,)"
        raise InputError(f"{what} has shape {wanted}; this has {samples.shape}{do}")
    if samples.ndim == 2 and samples.shape[0] > samples.shape[1]:
        n, length = samples.shape
        raise InputError(
            f"shape {samples.shape} was read as {n} channels of {length} sample{'s' * (length != 1)} each, for "
            "channels come first: if they are last, pass x.T"
        )
    if samples.dtype.kind not in "if":
        raise InputError(f"{what} must hold signed numbers, not {samples.dtype}")
    if samples.size < 2:
        raise InputError(f"{what} is too short: it has {samples.size} samples")
    if np.ptp(samples) == 0:
        raise InputError(f"{what} is silent: all its samples are {samples.flat[0]}")
    return samples


def positions(shown: Masked, parts: Sequence[int | str]) -> list[int]:
    """Where parts are, by number or name."""
    found = []
    for part in [parts] if isinstance(parts, (int, str)) else parts:
        if isinstance(part, str) and part not in shown.names:
            raise InputError(f"there is no part {part!r}; the parts are {', '.join(shown.names[:8])} …")
        at = shown.names.index(part) if isinstance(part, str) else int(part)
        if not 0 <= at < len(shown.names):
            raise InputError(f"there is no part {at}; they go from 0 to {len(shown.names) - 1}")
        found.append(at)
    return found


def _kept_alone(shown: Masked, parts: Sequence[int | str]) -> Floats:
    mask = np.zeros((1, len(shown.parts)), bool)
    mask[0, positions(shown, parts)] = True
    return _floats(numbers_of(shown.compose(mask)[0], "a recording"))


def _stems(found: Any, samples: Array) -> dict[str, Floats]:
    """What a separation gave, checked."""
    if not isinstance(found, Mapping):
        if isinstance(found, (str, bytes)) or not hasattr(found, "__len__"):
            raise InputError(f"separate must give a mapping of names to recordings, not {type(found).__name__}")
        found = {f"stem {i + 1}": stem for i, stem in enumerate(found)}
    stems = {str(name): _floats(numbers_of(stem, f"the stem {name!r}")) for name, stem in found.items()}
    for name, stem in stems.items():
        if stem.shape != samples.shape:
            raise InputError(
                f"the stem {name!r} has shape {stem.shape}, the recording {samples.shape}: each stem must be as "
                "long as the recording"
            )
    return stems


def _harmonic_and_percussive(samples: Array) -> dict[str, Floats]:
    if len(samples) < SEPARABLE:
        raise InputError(
            f"the recording is too short to be separated: {len(samples)} samples, and librosa wants {SEPARABLE}; "
            "give separate=… of your own, or take vd.Slices()"
        )
    separate = require("librosa", extra="audio").effects.hpss
    harmonic, percussive = separate(_floats(samples).astype(np.float32))
    return {"harmonic": harmonic, "percussive": percussive}


def _sound_parts(names: Sequence[str], relation: str) -> tuple[Part, ...]:
    return tuple(Part(name, name, relation, j) for j, name in enumerate(names))


def _heard(samples: Array, rate: float | None) -> dict[str, Any]:
    """What a view needs to be heard, and seen."""
    if rate is None or len(samples) > LONGEST:
        step = max(len(samples) // 2**16, 1)
        return {"samples": _as_int16(_floats(samples)[::step]), "rate": 0.0}
    return {"samples": _as_int16(_floats(samples)), "rate": float(rate)}


def _as_int16(samples: Floats, peak: float | None = None) -> Array:
    loudest = float(np.abs(samples).max()) if peak is None else peak
    scale = 32767 / (loudest or 1.0)  # channels that cancel each other are silent together
    return np.rint(np.clip(samples * scale, -32768, 32767)).astype(np.int16)


def _floats(samples: Array) -> Floats:
    return samples.astype(np.float64)


def _mono(samples: Array) -> Array:
    return samples if samples.ndim == 1 else samples.mean(axis=0)


def _span_name(start: float, stop: float, unit: str) -> str:
    digits = 0 if unit == "samples" else 2 if stop < 100 else 1
    return f"{start:.{digits}f}-{stop:.{digits}f} {unit}"


def _tile_name(bounds: Any, unit: tuple[str, str]) -> str:
    start, stop, low, high = bounds
    if unit == ("s", "Hz"):
        return f"{_span_name(start, stop, 's')}, {low:.0f}-{high:.0f} Hz"
    return f"frames {start:.0f}-{stop - 1:.0f}, bands {low:.0f}-{high - 1:.0f}"
