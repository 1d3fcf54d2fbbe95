"""Spoken digits as log-mel spectrograms, and a small network that tells those under five from the others.

Takes 0 to 4 of every speaker are for testing, 5 to 9 for training, as the makers of the set ask.
"""

from __future__ import annotations

import wave
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import cnn
import photos
import trained
import veridical as vd
from sets import NoDataError

FOLDER = "audio/fsdd"
PACKED = "audio/fsdd/spectrograms.npz"  # of a pack: no recordings, and librosa is not needed
BANDS, FRAMES = 40, 60
MEL = vd.sounds.Mel(rate=8000, n_mels=BANDS, n_fft=512, hop=80, fmin=50.0, fmax=3900.0, floor=6.4e-7)
N_TEST_TAKES = 5
HALF = 5  # digits from here on are class 1
EPOCHS, BATCH, RATE = 45, 32, 1e-3
SMOOTH = 0.02  # what is taken from a sure answer
ROLL, GAIN, NOISE = 5, 0.3, 0.1  # frames, and log units, by which recordings are varied


def check(data: Path | None) -> None:
    """Say what is missing before any work."""
    if data is None:
        raise NoDataError(f"wanted {FOLDER}/*.wav: name their folder by --data DIR")
    if not (data / PACKED).exists() and not any((data / FOLDER).glob("*.wav")):
        raise NoDataError(f"wanted {FOLDER}/*.wav, or {PACKED} of a pack; {data} has neither. Give another --data")


def read(data: Path) -> photos.Pictures:
    """Spectrograms (n, bands, frames) and 1 for digits from five on."""
    X, digits, takes = _packed(data / PACKED) if (data / PACKED).exists() else heard(data)
    y, test = (digits >= HALF).astype(int), takes < N_TEST_TAKES
    return photos.Pictures(X[~test], y[~test], X[test], y[test], ("under five", "five or more"))


def heard(data: Path) -> tuple[Any, Any, Any]:
    """All recordings as spectrograms of one length, the digit and the take of each."""
    paths = sorted((data / FOLDER).glob("*.wav"))
    names = [path.stem.split("_") for path in paths]
    digits, takes = (np.array([int(name[i]) for name in names]) for i in (0, 2))
    return np.stack([spectrogram(path) for path in paths]), digits, takes


def spectrogram(path: Path) -> Any:
    """A recording, cut or followed by silence."""
    with wave.open(str(path)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 2**15
    found = MEL(samples)[:, :FRAMES]
    return np.pad(found, ((0, 0), (0, FRAMES - found.shape[1])), constant_values=MEL.silence)


def _packed(path: Path) -> tuple[Any, Any, Any]:
    with np.load(path) as found:
        return found["X"].astype(np.float32), found["digits"], found["takes"]


class Digits(nn.Module):
    """Three convolutions and two dense layers: (n, bands, frames) to one logit."""

    def __init__(self, shape: tuple[int, int] = (BANDS, FRAMES)) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(1, shape[0], 1))
        self.register_buffer("spread", torch.ones(1, shape[0], 1))
        layers: list[nn.Module] = []
        for i, (inner, outer) in enumerate(((1, 16), (16, 32), (32, 32))):
            layers += [nn.Conv2d(inner, outer, 3), nn.BatchNorm2d(outer), nn.LeakyReLU(0.01)]
            layers += [nn.MaxPool2d(2)] if i < 2 else []
        high, wide = (((side - 2) // 2 - 2) // 2 - 2 for side in shape)
        self.seen = nn.Sequential(*layers)
        self.judged = nn.Sequential(
            nn.Flatten(), nn.Dropout(0.5), nn.Linear(32 * high * wide, 64), nn.LeakyReLU(0.01), nn.Linear(64, 1)
        )

    def forward(self, x: Any) -> Any:
        return self.judged(self.seen(((x - self.mean) / self.spread)[:, None]))


def train(module: Any, X: Any, y: Any, seed: int) -> Any:
    """The module, trained in place on recordings that are varied a little."""
    device = module.mean.device
    X, y = torch.as_tensor(X).to(device), torch.as_tensor(y).float().to(device)
    module.mean.copy_(X.mean((0, 2), keepdim=True))
    module.spread.copy_(X.std((0, 2), keepdim=True))
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    optimizer, loss = torch.optim.Adam(module.parameters(), RATE), nn.BCEWithLogitsLoss()
    for _ in range(EPOCHS):
        module.train()
        for rows in np.array_split(rng.permutation(len(X)), -(-len(X) // BATCH)):
            seen = torch.roll(X[rows], int(rng.integers(-ROLL, ROLL + 1)), 2)
            seen = seen + GAIN * torch.randn(len(rows), 1, 1, device=device) + NOISE * torch.randn_like(seen)
            optimizer.zero_grad()
            loss(module(seen)[:, 0], y[rows] * (1 - 2 * SMOOTH) + SMOOTH).backward()
            optimizer.step()
    return module.eval()


def network(folder: Path, found: photos.Pictures, seed: int, device: str) -> Any:
    """The network of a seed, trained once."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = Digits(found.train.shape[1:])
    run = partial(train, X=found.train, y=found.train_y, seed=seed)
    return trained.kept(folder, f"spoken-{len(found.train)}-{seed}", module, run, device)


def accuracy(module: Any, found: photos.Pictures) -> float:
    """On recordings that it was not trained on."""
    return float(np.mean((cnn.outputs(module, found.test)[:, 0] >= 0) == found.test_y))
