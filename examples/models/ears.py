"""Banks of filters in torch, on any device: for pitches of one's own, and for scales of one's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

import veridical as vd


def filters(mel: vd.sounds.Mel, pitch: torch.Tensor) -> torch.Tensor:
    """The bank of ``Mel`` (n, bands, bins) for sounds that shall be heard so many times as high, (n,)."""
    bins = torch.linspace(0, mel.rate / 2, mel.n_fft // 2 + 1, dtype=torch.float64, device=pitch.device)
    return triangles(replace(mel, n_mels=mel.n_mels + 1).hertz, (pitch[:, None] * bins)[:, None])


def triangles(corners: Any, hertz: torch.Tensor) -> torch.Tensor:
    """A triangle of area one between every three neighbors of corners (bands + 2,), (…, bands, bins)."""
    points = torch.as_tensor(corners, device=hertz.device)[:, None]
    low, middle, high = points[:-2], points[1:-1], points[2:]
    heights = torch.minimum((hertz - low) / (middle - low), (high - hertz) / (high - middle)).clamp(min=0)
    return (heights * 2 / (high - low)).float()
