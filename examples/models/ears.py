"""The front end of the detector in torch: recordings to magnitudes to log-mels, as ``vd.Mel()`` has them."""

from __future__ import annotations

import numpy as np
import torch

import veridical as vd


def magnitudes(samples: torch.Tensor, mel: vd.Mel) -> torch.Tensor:
    """The spectra (n, n_fft / 2 + 1, frames) of recordings (n, samples); frames begin and end inside of them."""
    window = torch.hann_window(mel.n_fft, device=samples.device, dtype=samples.dtype)
    spectra = torch.stft(samples, mel.n_fft, mel.hop, window=window, center=False, return_complex=True)
    return spectra.abs()


def log_mels(spectra: torch.Tensor, bank: torch.Tensor, floor: float) -> torch.Tensor:
    """Magnitudes (n, bins, frames) as log-mels (n, bands, frames), by a bank of filters (bands, bins)."""
    return (bank @ spectra).clamp(min=floor).log()


def filters(mel: vd.Mel, pitch: torch.Tensor | None = None) -> torch.Tensor:
    """A triangle for each band, of equal area, (bands, bins).

    For each of several ``pitch`` (n,), (n, bands, bins): sounds are heard so many times as high as they are.
    """
    top = mel.rate / 2 if mel.fmax is None else mel.fmax
    corners = 700 * np.expm1(np.linspace(np.log1p(mel.fmin / 700), np.log1p(top / 700), mel.n_mels + 2))
    bins = torch.linspace(0, mel.rate / 2, mel.n_fft // 2 + 1, dtype=torch.float64)
    if pitch is not None:
        bins = (pitch.double().cpu()[:, None] * bins)[:, None]
    low, middle, high = (torch.from_numpy(corners[i : i + mel.n_mels, None]) for i in range(3))
    triangles = torch.minimum((bins - low) / (middle - low), (high - bins) / (high - middle)).clamp(min=0)
    return (triangles * 2 / (high - low)).float()
