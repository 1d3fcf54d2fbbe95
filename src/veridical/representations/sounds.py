"""Recordings and spectrograms: time-frequency tiles, slices of time, stems, and the mel front end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import irfft, rfft

from veridical.errors import InputError, check_positive, check_whole, require
from veridical.records import Floats, View
from veridical.representations.fills import Constant, Fill, WholeMean
from veridical.representations.images import Picture
from veridical.representations.masking import (
    Masked,
    PartRepresenter,
    call_user_function,
    check_parts,
    make_unique,
    number_parts,
)
from veridical.representations.regions import UNCHANGED_IN_SIGNALS, Array, SumComposer, batch_hint, numbers_of
from veridical.representations.series import DEFAULT_FILL
from veridical.sampling.masks import coins

__all__ = ["Mel", "Slices", "Stems", "Tiles"]

MAX_FRAMES_PER_BATCH = 4096  # that are transformed at once
MAGNITUDE_ROUNDS, PHASE_ROUNDS = 50, 48  # of fitting magnitudes to bands, and phases to magnitudes
MOMENTUM = 0.99 / 1.99  # of phases, which makes them settle sooner (Perraudin et al. 2013)
TINY = 1e-12


@dataclass(frozen=True)
class Mel:
    """A front end that turns recordings (n,) into log-mel spectrograms (bands, frames).

    It gives the same spectrogram of magnitudes as librosa; ``tensor`` does so in torch, differentiably. The
    defaults are those of SLIME's veracity study.

    Parameters
    ----------
    rate : float, default 22050
        Samples per second.
    n_mels : int, default 80
        Mel bands.
    n_fft : int, default 1024
        Samples per frame.
    hop : int, default 315
        Samples from one frame to the next.
    fmin, fmax : float, default 27.5 and 8000.0
        Lowest and highest frequency, in hertz; without ``fmax`` it is half the rate.
    floor : float, default 1e-7
        Magnitudes below it are raised to it before the logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> vd.sounds.Mel()(np.sin(0.1 * np.arange(22050))).shape
    (80, 71)
    """

    rate: float = 22050
    n_mels: int = 80
    n_fft: int = 1024
    hop: int = 315
    fmin: float = 27.5
    fmax: float | None = 8000.0
    floor: float = 1e-7

    def __post_init__(self) -> None:
        for name in ("rate", "floor"):
            check_positive(name, getattr(self, name))
        for name in ("n_mels", "n_fft", "hop"):
            check_whole(name, getattr(self, name))
        if self.fmin != 0:
            check_positive("fmin", self.fmin)
        if self.fmax is not None:
            check_positive("fmax", self.fmax)
        top = self.rate / 2 if self.fmax is None else self.fmax
        if not self.fmin < top <= self.rate / 2:
            raise InputError(
                f"Mel wants fmin < fmax, and fmax of at most half the rate, {self.rate / 2:g}: not "
                f"{self.fmin:g} and {top:g}"
            )

    def __call__(self, samples: Any) -> Floats:
        """The spectrogram (n_mels, frames) of a recording (n,)."""
        if len(samples) < self.n_fft:
            raise InputError(
                f"the recording is too short: it has {len(samples)} samples, one frame has n_fft = {self.n_fft}"
            )
        mel = self.bank @ np.abs(self._spectra(np.asarray(samples, dtype=np.float64))).T
        return np.asarray(np.log(np.maximum(mel, self.floor)), dtype=np.float32)

    def tensor(self, samples: Any) -> Any:
        """The spectrograms (n, bands, frames) of a tensor of recordings (n, samples), differentiable."""
        return self.levels(self.spectra(samples).abs())

    def spectra(self, samples: Any) -> Any:
        """The complex spectra (n, bins, frames) of a tensor of recordings (n, samples)."""
        torch = require("torch", extra="torch")
        window = samples.new_tensor(self._window)
        return torch.stft(
            samples, self.n_fft, self.hop, window=window, pad_mode="constant", center=True, return_complex=True
        )

    def levels(self, magnitudes: Any) -> Any:
        """The spectrograms (n, bands, frames) that magnitudes (n, bins, frames) make, as tensors."""
        return (magnitudes.new_tensor(self.bank) @ magnitudes).clamp(min=self.floor).log()

    def sound(self, spectra: Any, n: int) -> Any:
        """The recordings (m, n) with about these complex spectra (m, bins, frames), as tensors."""
        torch = require("torch", extra="torch")
        window = spectra.real.new_tensor(self._window)
        return torch.istft(spectra, self.n_fft, self.hop, window=window, length=n)

    def invert(self, spectrogram: Any) -> Floats:
        """A recording with about this spectrogram.

        Parameters
        ----------
        spectrogram : array of shape (n_mels, frames)
            Log-mel magnitudes, as this front end gives them.

        Returns
        -------
        array of shape (samples,)
            The recording; its phases are found by the algorithm of Griffin and Lim.
        """
        mel, bank = np.exp(np.asarray(spectrogram, np.float64)), self.bank
        magnitudes, square = np.ones((bank.shape[1], mel.shape[1])), bank.T @ bank
        for _ in range(MAGNITUDE_ROUNDS):  # keeps them positive, and comes nearer each time
            magnitudes *= (bank.T @ mel) / (square @ magnitudes + TINY)
        turns = np.random.default_rng(0).random(magnitudes.T.shape)
        spectra, before = magnitudes.T * np.exp(2j * np.pi * turns), 0.0
        for _ in range(PHASE_ROUNDS):
            again = self._spectra(self._overlap_add(spectra))
            toward = again - MOMENTUM * before
            spectra, before = magnitudes.T * toward / (np.abs(toward) + TINY), again
        return self._overlap_add(spectra)

    def _spectra(self, samples: Floats) -> Any:
        """Complex spectra (frames, bins) of a recording."""
        edge = np.zeros(self.n_fft // 2)
        frames = sliding_window_view(np.concatenate([edge, samples, edge]), self.n_fft)[:: self.hop]
        pieces = np.array_split(frames, range(MAX_FRAMES_PER_BATCH, len(frames), MAX_FRAMES_PER_BATCH))
        return np.concatenate([rfft(piece * self._window) for piece in pieces])

    def _overlap_add(self, spectra: Any) -> Floats:
        """The recording whose frames come nearest to complex spectra (frames, bins)."""
        frames, square = irfft(spectra, self.n_fft) * self._window, self._window**2
        total, weight = (np.zeros(self.hop * (len(frames) - 1) + self.n_fft) for _ in range(2))
        for i, frame in enumerate(frames):
            at = slice(i * self.hop, i * self.hop + self.n_fft)
            total[at] += frame
            weight[at] += square
        edge = self.n_fft // 2
        return (total / np.maximum(weight, TINY))[edge : len(total) - edge]

    @property
    def silence(self) -> float:
        """The level of no sound at all."""
        return float(np.log(self.floor))

    @property
    def seconds(self) -> float:
        """From one frame to the next."""
        return self.hop / self.rate

    @property
    def hertz(self) -> Floats:
        """Where bands begin, and where the last one ends (n_mels + 1,)."""
        return self._even(self.n_mels + 1)

    @property
    def bank(self) -> Floats:
        """The share of each magnitude in each band (n_mels, bins): triangles between neighbors of neighbors."""
        corners = self._even(self.n_mels + 2)[:, None]
        hertz, wide = np.fft.rfftfreq(self.n_fft, 1 / self.rate), np.diff(corners, axis=0)
        rising, falling = (hertz - corners[:-2]) / wide[:-1], (corners[2:] - hertz) / wide[1:]
        return np.clip(np.minimum(rising, falling), 0, None) * 2 / (corners[2:] - corners[:-2])

    def _even(self, n: int) -> Floats:
        """Frequencies (n,) at even distances on the mel scale, from the least to the largest."""
        top = self.rate / 2 if self.fmax is None else self.fmax
        return 700 * np.expm1(np.linspace(np.log1p(self.fmin / 700), np.log1p(top / 700), n))

    @property
    def _window(self) -> Floats:
        return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(self.n_fft) / self.n_fft)


MIN_SAMPLES_TO_SEPARATE = 2048  # of one spectrum by which librosa separates sounds
SPECTRUM_SECONDS = 0.04  # of each short-time spectrum by which tiles are filtered
MAX_SAMPLES_HEARD = 2**21  # of a recording that a view keeps to be played


class SoundRepresenter(PartRepresenter):
    """Base of the representers of recordings."""

    kind: ClassVar[str] = "recordings"

    def hear(self, x: Any, parts: Sequence[int | str]) -> Floats:
        """The recording with only some of its parts.

        Parameters
        ----------
        x : array of shape (samples,) or (channels, samples)
            The recording.
        parts : sequence of int or str
            The parts that are kept, by number or name; of stems, what none of them has is always kept.

        Returns
        -------
        array
            The recording.
        """
        shown = self(x)
        return _floats(_compose_parts(shown, find_parts(shown, parts)))


@dataclass(frozen=True, eq=False)
class Tiles(SoundRepresenter):
    """The time-frequency tiles of a spectrogram or recording (SLIME).

    What the model receives depends on the instance:

    - a spectrogram (bands, frames), low bands first, or (c, bands, frames): spectrograms with some tiles filled;
    - a recording (n,) and a ``front`` such as Mel(): the front's spectrograms with some tiles filled;
    - a recording and its ``rate`` alone: recordings from which some tiles were filtered out.

    Parameters
    ----------
    times : int, default 5
        Blocks of time.
    bands : int, default 4
        Blocks of frequency.
    fill : fill, function or array, optional
        What replaces a tile of a spectrogram, by default the mean of the whole, as for ``Windows``.
    front : function, optional
        Turns a recording into a spectrogram. Tiles are named in seconds and hertz if it has ``rate``, ``seconds``
        (from frame to frame) and ``hertz`` (where bands begin, and the last ends), and can be heard if it has
        ``invert``.
    rate : float, optional
        Samples per second of recordings.
    time_axis : {-1, -2}, default -1
        Which axis of a spectrogram is time.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> vd.Tiles(times=2, bands=1)(np.arange(12.0).reshape(3, 4)).names
    ('frames 0-1, bands 0-2', 'frames 2-3, bands 0-2')
    """

    times: int = 5
    bands: int = 4
    fill: Fill = field(default_factory=lambda: DEFAULT_FILL)
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

    def parts_of(self, x: Any) -> Masked:
        """The sound as its tiles."""
        if numbers_of(x, "a recording or spectrogram").ndim != 1:
            return self._of_spectrogram(x, None)
        samples = check_recording(x, "a recording")
        if self.front is not None:
            return self._of_spectrogram(call_user_function("front", self.front, samples), samples)
        if self.rate is None:
            raise InputError(
                "a recording needs its rate=… (samples per second), or a front=… such as vd.sounds.Mel()"
            )
        if self.fill != DEFAULT_FILL and not isinstance(self.fill, WholeMean):
            raise InputError("tiles are filtered out of a recording, not filled: fill is for spectrograms")
        return self._of_recording(x, samples, self.rate)

    def hear(self, x: Any, parts: Sequence[int | str]) -> Floats:
        """The recording with only some of its tiles; of a spectrogram, about that.

        Parameters
        ----------
        x : array
            The recording or spectrogram. A spectrogram needs a ``front`` with ``invert``, such as Mel().
        parts : sequence of int or str
            The tiles that are kept, by number or name.

        Returns
        -------
        array of shape (samples,)
            The recording.
        """
        rate = getattr(self.front, "rate", self.rate)
        shown = self(x)
        kept = find_parts(shown, parts)
        if numbers_of(x, "a recording or spectrogram").ndim == 1:
            samples = check_recording(x, "a recording")
            bounds = shown.view.data["bounds"] if shown.view else np.empty((0, 4))
            return np.asarray(
                filter_tiles(samples, float(rate or 1), bounds[:, None])[kept].sum(axis=0), dtype=np.float64
            )
        invert = getattr(self.front, "invert", None)
        if invert is None:
            raise InputError("a spectrogram is heard through its front end: give front=vd.sounds.Mel(…)")
        return np.asarray(invert(_compose_parts(shown, kept)), dtype=np.float64)

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
        rows, frames = levels.shape
        if frames < self.times or rows < self.bands:
            raise InputError(
                f"shape {array.shape} was read as a spectrogram of {rows} bands and {frames} frames, which cannot be "
                f"cut into {self.bands} × {self.times} tiles: say time_axis=… if time is the other axis, or give "
                "fewer tiles; a recording has one axis, so pass x[0] of one with a single channel, and mix several "
                "down first"
            )
        (time, at), (band, of) = _cut_evenly(frames, self.times), _cut_evenly(rows, self.bands)
        labels = time * self.bands + band[:, None]
        bounds = np.array([(*t, *b) for t in pairwise(at) for b in pairwise(of)], dtype=np.float64)
        bounds, unit = self._bounds(bounds, rows, samples)
        shown = np.rint(255 * (levels - levels.min()) / np.ptp(levels)).astype(np.uint8)
        data = {"levels": shown, "labels": labels.astype(np.uint16), "bounds": bounds, "unit": unit}
        if samples is not None:
            data |= _playable(samples, getattr(self.front, "rate", self.rate))
        elif isinstance(self.front, Mel) and unit == ("s", "Hz") and levels.size <= MAX_SAMPLES_HEARD:
            data |= {"values": levels.astype(np.float32), "front": asdict(self.front)}
        parts = number_parts(make_unique([_tile_name(b, unit) for b in bounds]), "tile")
        own = labels if self.time_axis == -1 else labels.T
        return picture.masked(own, self.fill, parts, partial(View, "spectrogram", data))

    def _bounds(self, corners: Floats, n_bands: int, samples: Array | None) -> tuple[Floats, tuple[str, str]]:
        """Each tile's rectangle in seconds and hertz where they are known, else in frames and bands, as it was."""
        seconds, hertz = getattr(self.front, "seconds", None), getattr(self.front, "hertz", None)
        if seconds is None or hertz is None or len(hertz) != n_bands + 1:
            return corners, ("frame", "band")
        bounds = corners.copy()
        bounds[:, :2] *= seconds
        if samples is not None:
            length = len(samples) / getattr(self.front, "rate", 1.0)
            bounds[:, :2] = np.minimum(bounds[:, :2], length)
        bounds[:, 2:] = np.asarray(hertz)[corners[:, 2:].astype(int)]
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
        parts = number_parts(make_unique([_tile_name(b, ("s", "Hz")) for b in bounds]), "tile")
        show = partial(View, "sound", {**_playable(samples, rate), "bounds": bounds})
        composer = SumComposer.of(x, filter_tiles(_floats(samples), rate, bounds[:, None]))
        return Masked(parts, coins(len(parts)), composer, show)


@dataclass(frozen=True, eq=False)
class Slices(SoundRepresenter):
    """The slices of a recording in time; those that are taken away are silent.

    An instance is a recording (samples,) or (channels, samples).

    Parameters
    ----------
    n : int, default 10
        Slices.
    rate : float, optional
        Samples per second; without it, slices are named by their samples.
    fill : fill, function or array, optional
        What replaces a slice that is taken away, silence by default.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> vd.Slices(2, rate=100)(np.sin(np.arange(200.0))).names
    ('0.00-1.00 s', '1.00-2.00 s')
    """

    n: int = 10
    rate: float | None = None
    fill: Fill = field(default_factory=Constant)

    def __post_init__(self) -> None:
        check_whole("n", self.n)
        if self.rate is not None:
            check_positive("rate", self.rate)

    def parts_of(self, x: Any) -> Masked:
        """The recording as its slices."""
        samples = check_recording(x, "a recording", channels=True)
        length = samples.shape[-1]
        if length < self.n:
            raise InputError(
                f"{length} samples cannot be cut into {self.n} slices: give fewer, or a longer recording"
            )
        labels, edges = _cut_evenly(length, self.n)
        rate = self.rate or 1.0
        names = [_span_name(a / rate, b / rate, "s" if self.rate else "samples") for a, b in pairwise(edges)]
        channel, mono = (0, samples.mean(axis=0)) if samples.ndim == 2 else (None, samples)
        picture = Picture(x, samples, channel, "recording", part="slice", tolerance=UNCHANGED_IN_SIGNALS)
        bounds = np.array([(a / rate, b / rate, 0.0, rate / 2) for a, b in pairwise(edges)])
        show = partial(View, "sound", {**_playable(mono, self.rate), "bounds": bounds})
        return picture.masked(labels, self.fill, number_parts(make_unique(names), "slice"), show)


@dataclass(frozen=True, eq=False)
class Stems(SoundRepresenter):
    """The separated sources (stems) of a recording, such as voice and drums (audioLIME).

    Parameters
    ----------
    separate : function, optional
        Turns a recording (n,) into a mapping of names to recordings of the same length; what they do not sum up to
        always stays. By default librosa separates harmonic from percussive sound.
    rate : float, optional
        Samples per second; without it, blocks of time are named by their samples.
    times : int, default 1
        Blocks of time that each stem is cut into.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> def halves(samples):
    ...     return {"low": samples / 4, "high": samples * 3 / 4}
    >>> vd.Stems(halves)(np.sin(np.arange(200.0))).names
    ('low', 'high')
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

    def parts_of(self, x: Any) -> Masked:
        """The recording as its stems."""
        samples = check_recording(x, "a recording")
        stems = _stems(call_user_function("separate", self.separate or _harmonic_and_percussive, samples), samples)
        n, rate = len(samples), self.rate or 1.0
        check_parts(len(stems) * self.times, "stem", "separate into more stems, or ask for more times")
        if n < self.times:
            raise InputError(f"{n} samples are too short for {self.times} blocks of time: give fewer times")
        block, edges = _cut_evenly(n, self.times)
        pieces, names, bounds = [], [], []
        for name, stem in stems.items():
            for i, (start, stop) in enumerate(pairwise(edges / rate)):
                pieces.append(np.where(block == i, stem, 0.0).astype(np.float32))
                when = f", {_span_name(start, stop, 's' if self.rate else 'samples')}" if self.times > 1 else ""
                names.append(f"{name}{when}")
                bounds.append((start, stop, 0.0, rate / 2))
        view = {**_playable(samples, self.rate), "bounds": np.array(bounds)}
        if "samples" in view:
            view["stems"] = _as_int16(np.stack(pieces), float(np.abs(_floats(samples)).max()))
        parts = number_parts(make_unique(names), "stem")
        return Masked(parts, coins(len(parts)), SumComposer.of(x, np.stack(pieces)), partial(View, "sound", view))


def _cut_evenly(n: int, n_blocks: int) -> tuple[Array, Array]:
    """The block of each of n steps, and the steps between which the blocks lie."""
    block = np.arange(n) * n_blocks // n
    return block, np.searchsorted(block, np.arange(n_blocks + 1))


def check_recording(x: Any, what: str, channels: bool = False) -> Array:
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


def _compose_parts(shown: Masked, kept: list[int]) -> Array:
    """The recording or spectrogram with only these parts."""
    mask = np.zeros((1, len(shown.parts)), bool)
    mask[0, kept] = True
    return numbers_of(shown.compose(mask)[0], "what is heard")


def find_parts(shown: Masked, parts: Sequence[int | str]) -> list[int]:
    """The numbers of parts that are given by number or name."""
    found = []
    for part in [parts] if isinstance(parts, (int, str)) else parts:
        if isinstance(part, str) and part not in shown.names:
            raise InputError(f"there is no part {part!r}; the parts are {', '.join(shown.names[:8])} …")
        at = shown.names.index(part) if isinstance(part, str) else int(part)
        if not 0 <= at < len(shown.names):
            raise InputError(f"there is no part {at}; they go from 0 to {len(shown.names) - 1}")
        found.append(at)
    return found


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
    if len(samples) < MIN_SAMPLES_TO_SEPARATE:
        raise InputError(
            f"the recording is too short to be separated: {len(samples)} samples, and librosa wants "
            f"{MIN_SAMPLES_TO_SEPARATE}; give separate=… of your own, or take vd.Slices()"
        )
    separate = require("librosa", extra="audio").effects.hpss
    harmonic, percussive = separate(_floats(samples).astype(np.float32))
    return {"harmonic": harmonic, "percussive": percussive}


def _playable(samples: Array, rate: float | None) -> dict[str, Any]:
    """What a view needs to be played, and seen."""
    if rate is None or len(samples) > MAX_SAMPLES_HEARD:
        step = max(len(samples) // 2**16, 1)
        return {"samples": _as_int16(_floats(samples)[::step]), "rate": 0.0}
    return {"samples": _as_int16(_floats(samples)), "rate": float(rate)}


def _as_int16(samples: Floats, peak: float | None = None) -> Array:
    loudest = float(np.abs(samples).max()) if peak is None else peak
    scale = 32767 / (loudest or 1.0)  # channels that cancel each other are silent together
    return np.rint(np.clip(samples * scale, -32768, 32767)).astype(np.int16)


def _floats(samples: Array) -> Floats:
    return samples.astype(np.float64)


def _span_name(start: float, stop: float, unit: str) -> str:
    digits = 0 if unit == "samples" else 2 if stop < 100 else 1
    return f"{start:.{digits}f}-{stop:.{digits}f} {unit}"


def _tile_name(bounds: Any, unit: tuple[str, str]) -> str:
    start, stop, low, high = bounds
    if unit == ("s", "Hz"):
        return f"{_span_name(start, stop, 's')}, {low:.0f}-{high:.0f} Hz"
    return f"frames {start:.0f}-{stop - 1:.0f}, bands {low:.0f}-{high - 1:.0f}"


def filter_tiles(samples: Floats, rate: float, groups: Sequence[Floats] | Floats) -> Floats:
    """The recording filtered to the rectangles (seconds from, to, hertz from, to) of each group, (groups, n).

    Rectangles that tile the plane share every bin of a short-time spectrum between them, so the sounds sum to
    the recording. Those of a group must not overlap.
    """
    from scipy import signal  # which takes a while to load

    n = len(samples)
    if not n:
        return np.zeros((len(groups), 0))
    width = min(2 ** round(np.log2(max(SPECTRUM_SECONDS * rate, 16))), max(2 ** (n.bit_length() - 1), 4))
    settings: dict[str, Any] = {"fs": rate, "nperseg": width, "noverlap": 3 * width // 4}
    hertz, times, bins = signal.stft(np.asarray(samples, dtype=np.float64), **settings)
    found = np.zeros((len(groups), n))
    for j, bounds in enumerate(groups):
        kept = np.zeros(bins.shape, dtype=bool)
        for start, stop, low, high in bounds:
            end = np.inf if stop >= n / rate - 1e-9 else stop
            top = np.inf if high >= rate / 2 - 1e-9 else high
            kept |= np.outer((hertz >= low) & (hertz < top), (times >= start) & (times < end))
        _, sound = signal.istft(bins * kept, **settings)
        found[j, : len(sound)] = sound[:n]
    return found
