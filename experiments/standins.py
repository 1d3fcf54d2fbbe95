"""Networks whose wrong decisions are caused on purpose, with instances that they decide rightly.

Each gives probabilities when asked, and has logits for those who take gradients. A folder of ``--data`` may be a
pack (``pack.py``), which has fewer instances under the same names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import cnn
import lite0
import photos
import spoken
import tags
import trained
import veridical as vd
import voices

PICTURES = "cifar10/cifar10_5k.npz"
MACHINES = (0, 1, 8, 9)  # classes of the pictures: airplane, automobile, ship and truck; the others are animals
OF_PICTURES = cnn.Training(epochs=30, batch=64, doubt=0.04)
ROWS, COLS = 4, 5  # parts of a picture
N_VOICES, VOICE_SNR, LOUD = 60, 3.0, 3.0  # excerpts of each label, decibels of the voice, and of other sounds


@dataclass(frozen=True)
class Run:
    """Where things lie, and on what networks run."""

    data: Path
    weights: Path  # where trained networks are kept
    device: str = "cpu"
    detector: str = voices.ALL_OF_IT  # size of the detector of a voice


@dataclass(frozen=True, eq=False)
class Standin:
    """A network and instances that it decides."""

    network: Any
    represent: Any  # with the mean fill of the paper
    X: Any  # (n, …) not seen in training, in an order of the seed
    y: Any  # (n,) their right labels
    accuracy: float  # on instances that it was not trained on
    recordings: Any = None  # (n, samples) that they were made of, if they were
    hear: Any = None  # representer of those


def ordered(n: int, seed: int) -> Any:
    """Another order of the test instances for each seed."""
    return np.random.default_rng([7, seed]).permutation(n)


def of_digits(run: Run, seed: int) -> Standin:
    """Spoken digits under five against five and more."""
    found = spoken.read(run.data)
    module = spoken.network(run.weights, found, seed, run.device)
    at = ordered(len(found.test), seed)
    network = vd.Network(module, answers="sigmoid")
    own = spoken.accuracy(module, found)
    return Standin(network, vd.Tiles(), found.test[at], found.test_y[at], own)


def of_pictures(run: Run, seed: int) -> Standin:
    """Small photographs: animals against machines."""
    found = photos.small(run.data, PICTURES, (4000, 1000))
    train_y, test_y = (np.isin(y, MACHINES).astype(int) for y in (found.train_y, found.test_y))
    module = cnn.built(2, found.train.shape[1], 3, seed=seed)
    train = partial(
        cnn.train, X=cnn.prepare(found.train), y=train_y, seed=seed, how=OF_PICTURES, augment=cnn.flipped
    )
    module = trained.kept(run.weights, f"machines-{len(found.train)}-{seed}", module, train, run.device)
    own = cnn.accuracy(module, cnn.prepare(found.test), test_y)
    at = ordered(len(found.test), seed)
    network = vd.Network(module, prepare=partial(cnn.prepare, device=run.device), answers="softmax")
    return Standin(network, cut(), found.test[at], test_y[at], own)


def of_photos(run: Run, seed: int) -> Standin:
    """Photographs and the pretrained EfficientNet-Lite0, of 1,000 classes."""
    pictures, classes = photos.photos(run.data, lite0.SIDE)
    module = lite0.network(run.data).to(run.device)
    network = vd.Network(module, prepare=partial(lite0.prepare, device=run.device), answers="softmax")
    at = ordered(len(pictures), seed)
    own = float(np.mean(np.argmax(network(pictures), axis=1) == classes))
    return Standin(network, cut(), pictures[at], classes[at], own)


def of_tags(run: Run, seed: int) -> Standin:
    """Music with a voice and without, and the pretrained tagger: "vocal" against "no vocals"."""
    X, voiced = tags.excerpts(run.data)
    network = vd.Network(Pieces(tags.network(run.data, run.device), 64), answers="softmax")
    own = float(np.mean(np.argmax(network(X), axis=1) == voiced))
    at = ordered(len(X), seed)
    return Standin(network, vd.Tiles(), X[at], voiced[at].astype(int), own)


def of_voices(run: Run, seed: int) -> Standin:
    """Excerpts of music with a spoken word and without, of speakers and tracks that the detector never heard."""
    module = voices.network(run.weights, run.data, seed, size=run.detector, device=run.device)
    X, recordings, y = excerpts(run, seed)
    network = voices.detector.asking(Pieces(module))
    own = float(np.mean((network(X)[:, 0] >= 0.5) == y))
    hear = vd.Tiles(front=voices.detector.MEL)
    return Standin(network, vd.Tiles(), X, y, own, recordings, hear)


def excerpts(run: Run, seed: int) -> tuple[Any, Any, Any]:
    """Log-mels, recordings and labels, mixed once: reading all sounds takes long."""
    path = run.weights / f"voice-excerpts-{N_VOICES}-{seed}.npz"
    if not path.exists():
        rng, of = np.random.default_rng([7, seed]), voices.parts(run.data, seed)["test"]
        mixes = [
            voices.excerpts(of, 1, rng, snr=VOICE_SNR if i % 2 else None, loud=LOUD if i % 4 > 1 else None)[0]
            for i in range(2 * N_VOICES)
        ]
        fresh = path.with_suffix(f".{os.getpid()}.npz")
        np.savez(fresh, X=voices.log_mels(mixes), recordings=[mix.samples for mix in mixes])
        fresh.replace(path)
    with np.load(path) as found:
        return found["X"], found["recordings"], np.arange(len(found["X"])) % 2


class Pieces(nn.Module):
    """A network that is asked about few inputs at a time: several of them share a GPU."""

    def __init__(self, inner: Any, n: int = 256) -> None:
        super().__init__()
        self.inner, self.n = inner, n

    def forward(self, x: Any) -> Any:
        return torch.cat([self.inner(some) for some in x.split(self.n)])


def cut() -> Any:
    """A picture as rectangles, the mean of the whole in place of one that is taken away."""
    return vd.Grid(ROWS, COLS, fill=vd.fills.WholeMean(), axes="HWC")


STANDINS: dict[str, Callable[[Run, int], Standin]] = {
    "digits": of_digits,
    "pictures": of_pictures,
    "photos": of_photos,
    "tagger": of_tags,
    "voice": of_voices,
}
CHECKS: dict[str, Callable[[Path | None], None]] = {  # what each wants of the folder of --data
    "digits": spoken.check,
    "pictures": partial(photos.check, files=[PICTURES]),
    "photos": partial(photos.check, files=[photos.PHOTOS]),
    "tagger": tags.check,
    "voice": voices.check,
}
SEEDS = {"voice": (0, 1, 2), "photos": (3,), "tagger": (3,)}  # detectors of voice.py; one network, however asked
RECORDED = ("voice",)  # those whose instances are made of recordings
