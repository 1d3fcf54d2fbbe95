"""The mel front end: recordings as log-mel spectrograms, in NumPy and, with gradients, in torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.fft import irfft, rfft

from veridical.errors import InputError, check_positive, check_whole, require
from veridical.records import Floats

AT_ONCE = 4096  # frames that are transformed at once
FITTED, PHASED = 50, 48  # rounds of fitting magnitudes to bands, and phases to magnitudes
MOMENTUM = 0.99 / 1.99  # of phases, which makes them settle sooner (Perraudin et al. 2013)
TINY = 1e-12


@dataclass(frozen=True)
class Mel:
    """A front end that turns recordings into log-mel spectrograms (bands, frames).

    Magnitudes, the logarithm of at least ``floor``. The defaults are those of SLIME's veracity study. It is the
    spectrogram that librosa makes; ``tensor`` does the same in torch, so that it can be differentiated.
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
        """The recordings (m, n) that have about these complex spectra (m, bins, frames), as tensors."""
        torch = require("torch", extra="torch")
        window = spectra.real.new_tensor(self._window)
        return torch.istft(spectra, self.n_fft, self.hop, window=window, length=n)

    def invert(self, spectrogram: Any) -> Floats:
        """A recording with about this spectrogram: magnitudes that have its bands, phases by Griffin and Lim."""
        mel, bank = np.exp(np.asarray(spectrogram, np.float64)), self.bank
        magnitudes, square = np.ones((bank.shape[1], mel.shape[1])), bank.T @ bank
        for _ in range(FITTED):  # keeps them positive, and comes nearer each time
            magnitudes *= (bank.T @ mel) / (square @ magnitudes + TINY)
        turns = np.random.default_rng(0).random(magnitudes.T.shape)
        spectra, before = magnitudes.T * np.exp(2j * np.pi * turns), 0.0
        for _ in range(PHASED):
            again = self._spectra(self._added(spectra))
            toward = again - MOMENTUM * before
            spectra, before = magnitudes.T * toward / (np.abs(toward) + TINY), again
        return self._added(spectra)

    def _spectra(self, samples: Floats) -> Any:
        """Complex spectra (frames, bins) of a recording."""
        edge = np.zeros(self.n_fft // 2)
        frames = sliding_window_view(np.concatenate([edge, samples, edge]), self.n_fft)[:: self.hop]
        pieces = np.array_split(frames, range(AT_ONCE, len(frames), AT_ONCE))
        return np.concatenate([rfft(piece * self._window) for piece in pieces])

    def _added(self, spectra: Any) -> Floats:
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
