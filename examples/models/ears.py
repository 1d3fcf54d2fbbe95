"""Front ends in torch: recordings to magnitudes to bands of frequency, with gradients and on any device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import veridical as vd


def magnitudes(samples: torch.Tensor, n_fft: int, hop: int) -> torch.Tensor:
    """The spectra (n, n_fft / 2 + 1, frames) of recordings (n, samples); frames begin and end inside of them."""
    window = torch.hann_window(n_fft, device=samples.device, dtype=samples.dtype)
    return torch.stft(samples, n_fft, hop, window=window, center=False, return_complex=True).abs()


def log_mels(spectra: torch.Tensor, bank: torch.Tensor, floor: float) -> torch.Tensor:
    """Magnitudes (n, bins, frames) as log-mels (n, bands, frames), by a bank of filters (bands, bins)."""
    return (bank @ spectra).clamp(min=floor).log()


def filters(mel: vd.Mel, pitch: torch.Tensor | None = None) -> torch.Tensor:
    """The filters of ``vd.Mel``, (bands, bins).

    For each of several ``pitch`` (n,), (n, bands, bins): sounds are heard so many times as high as they are.
    """
    top = mel.rate / 2 if mel.fmax is None else mel.fmax
    corners = 700 * np.expm1(np.linspace(np.log1p(mel.fmin / 700), np.log1p(top / 700), mel.n_mels + 2))
    bins = torch.linspace(0, mel.rate / 2, mel.n_fft // 2 + 1, dtype=torch.float64)
    return triangles(corners, bins if pitch is None else (pitch[:, None] * bins.to(pitch.device))[:, None])


def triangles(corners: Any, hertz: torch.Tensor) -> torch.Tensor:
    """A triangle of area one between every three neighbors of corners (bands + 2,), (…, bands, bins)."""
    low, middle, high = (
        torch.from_numpy(corners[i : len(corners) - 2 + i, None]).to(hertz.device) for i in range(3)
    )
    heights = torch.minimum((hertz - low) / (middle - low), (high - hertz) / (high - middle)).clamp(min=0)
    return (heights * 2 / (high - low)).float()
