"""The mel front end: recordings as log-mel spectrograms, by librosa."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.errors import InputError, check_positive, check_whole, require
from veridical.records import Floats


@dataclass(frozen=True)
class Mel:
    """A front end that turns recordings into log-mel spectrograms (bands, frames), by librosa.

    Magnitudes, the logarithm of at least ``floor``. The defaults are those of SLIME's veracity study.
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
        """The spectrogram of a recording."""
        if len(samples) < self.n_fft:
            raise InputError(
                f"the recording is too short: it has {len(samples)} samples, one frame has n_fft = {self.n_fft}"
            )
        feature = require("librosa", extra="audio").feature
        mel = feature.melspectrogram(y=np.asarray(samples, np.float32), power=1.0, htk=True, **self._settings())
        return np.asarray(np.log(np.maximum(mel, self.floor)), dtype=np.float32)

    def invert(self, spectrogram: Any) -> Floats:
        """A recording with about this spectrogram (Griffin-Lim)."""
        inverse = require("librosa", extra="audio").feature.inverse
        mel = np.exp(np.asarray(spectrogram, np.float32))
        return np.asarray(inverse.mel_to_audio(mel, power=1.0, htk=True, **self._settings()), dtype=np.float64)

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
        top = self.rate / 2 if self.fmax is None else self.fmax
        return 700 * np.expm1(np.linspace(np.log1p(self.fmin / 700), np.log1p(top / 700), self.n_mels + 1))

    def _settings(self) -> dict[str, Any]:
        shape = {"n_fft": self.n_fft, "hop_length": self.hop}
        return {"sr": self.rate, "n_mels": self.n_mels, "fmin": self.fmin, "fmax": self.fmax, **shape}
