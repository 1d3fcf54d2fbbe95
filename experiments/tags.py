"""The pretrained music tagger musicnn as a judge of one thing: is there a voice, or none?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from modeled import tagger
from sets import NoDataError

FOLDERS = ("audio/music_speech", "audio/game_music")
PACKED, WEIGHTS = "audio/excerpts.npz", "audio/musicnn.npz"  # of a pack: librosa and musicnn are not needed
VOICES = ("Karissa_Hobbs", "stevieb357", "5703", "198-209", "3436")  # recordings with a singer or a reader
LEFT_OUT = ("bird", "humpback", "pibble", "robin")  # neither music nor a voice
VOCAL, NONE = "vocal", "no vocals"  # tags
MOST, MOST_VOICED = 5, 40  # excerpts of one recording without a voice, and with one


def check(data: Path | None) -> None:
    """Say what is missing before any work."""
    if data is None or not ((data / PACKED).exists() or all((data / folder).is_dir() for folder in FOLDERS)):
        raise NoDataError(
            f"wanted {' and '.join(FOLDERS)}, or {PACKED} of a pack: name their folder by --data DIR"
        )


class Voice(nn.Module):
    """Spectrograms (n, 96, 187) to two logits: no voice, and a voice."""

    def __init__(self, inner: Any, tags: Any) -> None:
        super().__init__()
        self.inner, self.at = inner, [list(tags).index(name) for name in (NONE, VOCAL)]

    def forward(self, x: Any) -> Any:
        return self.inner(x)[:, self.at]


def network(data: Path | None, device: str) -> Any:
    """The tagger with its weights, of a pack or of the package."""
    return Voice(tagger.Tagger(weights(data)), tagger.TAGS).to(device).eval().requires_grad_(False)


def weights(data: Path | None = None) -> dict[str, Any]:
    """What the network needs of its checkpoint, by name."""
    if data is not None and (data / WEIGHTS).exists():
        with np.load(data / WEIGHTS) as found:
            return {name: torch.from_numpy(found[name].astype(np.float32)) for name in found.files}
    return kept(tagger.Tagger().weights)


def kept(found: Mapping[str, Any]) -> dict[str, Any]:
    """Without what its training left behind."""
    return {name: value for name, value in found.items() if "Adam" not in name and "power" not in name}


def excerpts(data: Path) -> tuple[Any, Any]:
    """Spectrograms (n, 96, 187) of three seconds each, and whether their recording has a voice."""
    if not (data / PACKED).exists():
        return heard(data)
    with np.load(data / PACKED) as found:
        return found["X"].astype(np.float32), found["voiced"]


def heard(data: Path) -> tuple[Any, Any]:
    """The excerpts of all recordings, one after the other."""
    from librosa import load  # not needed with a pack

    mel, length = tagger.LogMel(), (tagger.FRAMES + 1) * tagger.HOP
    paths = sorted(p for f in FOLDERS for p in (data / f).iterdir() if p.suffix in (".ogg", ".flac"))
    X, voiced = [], []
    for path in paths:
        if any(word in path.name for word in LEFT_OUT):
            continue
        voice = path.name.startswith(VOICES)
        samples, _ = load(path, sr=tagger.RATE)
        starts = range(0, len(samples) - length, length)
        some = list(starts)[: MOST_VOICED if voice else MOST]
        X += [mel(samples[start : start + length]) for start in some]
        voiced += [voice] * len(some)
    return np.stack(X), np.array(voiced)
