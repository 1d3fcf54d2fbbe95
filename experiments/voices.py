"""Detectors of a voice in music, one a seed, and excerpts of speakers and tracks that they never heard.

What is trained, and on what, is in examples/models; the seed says who is left for the tests, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import trained
from modeled import detector, mixing, sounds, training
from sets import NoDataError

ALL_OF_IT, QUICK = "all of it", "quick"
MADE = "made"  # in place of a folder: sounds made here
PART = {"train": 0, "valid": 1, "test": 2, "windows": 3}  # each has its own chance


LONG = replace(training.Training(), batches=120, frames=detector.FRAMES + 256)  # fewer, longer excerpts


@dataclass(frozen=True)
class Size:
    """How large a detector is, and how much it hears."""

    width: int = 32
    songs: int = 500  # of 20 seconds, mixed to train on
    tests: int = 40  # songs to test on, and half as many to choose a threshold by
    how: training.Training = LONG


SIZES = {
    ALL_OF_IT: Size(),
    QUICK: Size(8, 60, 12, training.Training(epochs=8, batches=50, batch=8, frames=243, rate=2e-3, decay=0.8)),
    "tiny": Size(2, 2, 2, training.Training(epochs=1, batches=1, batch=2, frames=120)),
}


def check(data: Path | None) -> None:
    """Say what is missing before any work."""
    if data is None or not (str(data) == MADE or any((folder / name).exists() for folder, name in places(data))):
        raise NoDataError(
            f"wanted fsdd/, game_music/, music_speech/ and esc10/ in DIR or DIR/audio, or {sounds.PACK} of a pack "
            f"there: name it by --data DIR, or take --data {MADE} for sounds made here"
        )


def places(data: Path) -> list[tuple[Path, str]]:
    return [(folder, name) for folder in (data, data / "audio") for name in (sounds.PACK, "fsdd")]


def pack(data: Path, out: Path, longest: Mapping[str, float]) -> Path:
    """One small file of the sounds in a folder, for machines that read no sound files."""
    return sounds.pack(
        next(folder for folder, name in places(data) if (folder / name).exists()), out, longest=longest
    )


def parts(data: Path, seed: int) -> dict[str, Any]:
    """Sounds to train on, to choose a threshold by and to test on, by turns."""
    if str(data) == MADE:
        return sounds.split(sounds.made(), seed)
    folder = next(folder for folder, name in places(data) if (folder / name).exists())
    return sounds.split(sounds.read(folder), seed)


def chance(seed: int, part: str) -> np.random.Generator:
    return np.random.default_rng((seed, PART[part]))


def songs(
    of: Any, n: int, rng: np.random.Generator, *, how: mixing.Mixing = mixing.USUAL, device: str = "cpu"
) -> training.Songs:
    """Mixed songs, each with a truth."""
    return training.Songs.of([mixing.song(of, rng, how) for _ in range(n)], device)


def name_of(seed: int, size: str) -> str:
    """How the weights of a detector are called: by all that they come from."""
    told = asdict(SIZES[size])
    return f"voice-{seed}-{told['width']}-{told['songs']}-" + "-".join(f"{v:g}" for v in told["how"].values())


def network(folder: Path, data: Path, seed: int, *, size: str = ALL_OF_IT, device: str = "cpu") -> Any:
    """The detector of a seed; trained now if it was not."""
    made = SIZES[size]

    def train(module: Any) -> Any:
        own = parts(data, seed)["train"]
        heard = songs(own, made.songs, chance(seed, "train"), how=mixing.VARIED, device=device)
        return training.train(module, heard, made.how, seed=seed)

    name = f"{name_of(seed, size)}-{MADE}" if str(data) == MADE else name_of(seed, size)
    return trained.kept(folder, name, detector.built(seed, made.width), train, device)


def log_mels(mixes: Sequence[Any]) -> Any:
    """What the detector hears of them, (n, 80, frames): as ``vd.sounds.Mel()`` has it."""
    return np.asarray(training.Songs.of(mixes).log_mels)


def excerpts(
    of: Any, n: int, rng: np.random.Generator, *, snr: float | None, loud: float | None = None, frames: int = 115
) -> list[Any]:
    """Music with a word in it, or with none: mixes of which the truth is known."""
    return [mixing.excerpt(of, rng, snr=snr, loud=loud, frames=frames) for _ in range(n)]


def answers(module: Any, heard: Any) -> Any:
    """Probabilities of a voice, (n, frames that can be told)."""
    return training.answers(module, torch.as_tensor(heard))
