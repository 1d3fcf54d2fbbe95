"""How the detector learns, from mixed songs with a truth for every frame, and how its answers are scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from models.detector import FRAMES, MEL, NEAR, Detector
from models.ears import filters
from models.mixing import Mix
from scipy.ndimage import median_filter
from torch.nn.functional import binary_cross_entropy_with_logits

CHANGE = 0.3  # by which excerpts are slower or faster, lower or higher, at most
LOUDER = 10.0  # decibels of a random filter, at most
LOWEST = 150.0  # hertz of its middle, at least
SEMITONES = (5.0, 7.0)  # its deviation
SMOOTH = 56  # frames of the median filter
NEPERS = np.log(10) / 20  # of a decibel: what it adds to the logarithm of a magnitude

Filter = Callable[[int, torch.Generator], torch.Tensor]  # what is added to the log-mels of n excerpts, (n, bands)


@dataclass(frozen=True, eq=False)
class Songs:
    """Magnitudes (songs, bins, frames) of mixed songs, and whether there is a voice (songs, frames)."""

    spectra: torch.Tensor
    truth: torch.Tensor

    @classmethod
    def of(cls, mixes: Sequence[Mix], device: str = "cpu") -> Songs:
        """Songs of one length, by half precision."""
        spectra = [MEL.spectra(torch.from_numpy(m.samples)[None].to(device))[0].abs().half() for m in mixes]
        truth = torch.from_numpy(np.array([m.frames for m in mixes])).float()
        return cls(torch.stack(spectra), truth.to(device))

    @property
    def log_mels(self) -> torch.Tensor:
        """(songs, bands, frames), as ``vd.sounds.Mel()`` has them."""
        return torch.cat([MEL.levels(some.float()) for some in self.spectra.split(8)])


@dataclass(frozen=True)
class Training:
    """How long and how fast it learns; the defaults are the paper's.

    An excerpt longer than 115 frames teaches as many frames more at little cost: the network is convolutional.
    """

    epochs: int = 20
    batches: int = 2000  # an epoch
    batch: int = 32  # excerpts
    frames: int = FRAMES  # an excerpt
    rate: float = 1e-3
    decay: float = 0.85  # of the rate, an epoch
    soft: float = 0.02  # the target of frames without a voice; one minus that with one


QUICK = Training(epochs=4, batches=25, batch=8, frames=FRAMES + 128, rate=3e-3, decay=0.6)


def random_bands(n: int, generator: torch.Generator) -> torch.Tensor:
    """A Gaussian on the scale of octaves for each excerpt, by which a band of frequencies is louder or softer."""
    top = MEL.fmax or MEL.rate / 2
    low, high = np.log2(LOWEST), np.log2(top)
    middle = low + (high - low) * torch.rand(n, 1, generator=generator)
    octaves = (SEMITONES[0] + (SEMITONES[1] - SEMITONES[0]) * torch.rand(n, 1, generator=generator)) / 12
    return _gaussian(middle, octaves, _even(n, generator)[:, None])


def published_bands(n: int, generator: torch.Generator) -> torch.Tensor:
    """Such filters with two slips of the code that was published with the attack.

    The middle is drawn up to the logarithm of the size of the batch, not of the top frequency, and the deviation
    is normal, not even: the filters lie at the very bottom, and some are wide enough to cover all bands.
    """
    middle = np.log2(LOWEST) + (np.log2(max(n, 2)) - np.log2(LOWEST)) * torch.rand(n, 1, generator=generator)
    octaves = (SEMITONES[0] + SEMITONES[1] * torch.randn(n, 1, generator=generator)) / 12
    return _gaussian(middle, octaves, _even(n, generator)[:, None])


def _gaussian(middle: torch.Tensor, octaves: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
    bands = torch.from_numpy(np.log2((MEL.hertz[1:] + MEL.hertz[:-1]) / 2)).float()
    return LOUDER * NEPERS * size * torch.exp(-0.5 * ((bands - middle) / octaves) ** 2)


def _even(n: int, generator: torch.Generator) -> torch.Tensor:
    return 2 * torch.rand(n, generator=generator) - 1


def excerpts(
    songs: Songs, how: Training, generator: torch.Generator, bands: Filter = random_bands
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-mels (batch, bands, frames) from anywhere, slower or faster, lower or higher, filtered; their truth."""
    device, n = songs.spectra.device, how.batch
    speed, pitch = (1 + CHANGE * _even(n, generator) for _ in range(2))
    longest = int(np.ceil((1 + CHANGE) * (how.frames - 1))) + 2
    if longest > songs.truth.shape[1]:
        raise ValueError(f"songs of {songs.truth.shape[1]} frames are too short: excerpts take {longest}")
    which = torch.randint(len(songs.truth), (n,), generator=generator)
    start = torch.randint(songs.truth.shape[1] - longest + 1, (n,), generator=generator)
    source = torch.stack([songs.spectra[i, :, s : s + longest] for i, s in zip(which, start, strict=True)])
    mels = filters(MEL, pitch.to(device)) @ source.float()
    at = (speed[:, None] * torch.arange(how.frames)).to(device)  # in the frames of the song
    before = at.long()
    share = (at - before)[:, None]
    left, right = (mels.gather(2, i[:, None].expand(-1, mels.shape[1], -1)) for i in (before, before + 1))
    heard = (left + share * (right - left)).clamp(min=MEL.floor).log() + bands(n, generator).to(device)[:, :, None]
    nearest = (start[:, None].to(device) + (at + 0.5).long())[:, NEAR : how.frames - NEAR]
    return heard, songs.truth[which.to(device)[:, None], nearest]


def train(
    detector: Detector, songs: Songs, how: Training, *, seed: int = 0, bands: Filter = random_bands
) -> Detector:
    """The detector, trained in place, ready to be asked."""
    detector.to(songs.spectra.device).train().requires_grad_(True)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(detector.parameters(), lr=how.rate)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, how.decay)
    with torch.random.fork_rng():
        torch.manual_seed(seed)  # of dropout
        for _ in range(how.epochs):
            for _ in range(how.batches):
                heard, truth = excerpts(songs, how, generator, bands)
                optimizer.zero_grad()
                wanted = how.soft + (1 - 2 * how.soft) * truth
                binary_cross_entropy_with_logits(detector(heard), wanted).backward()
                optimizer.step()
            schedule.step()
    return detector.eval().requires_grad_(False)


def answers(detector: Detector, heard: torch.Tensor) -> Any:
    """Probabilities of a voice (songs, frames - 114) of log-mels (songs, bands, frames)."""
    device = next(detector.parameters()).device
    with torch.inference_mode():
        return torch.cat([detector(some.to(device)).sigmoid().cpu() for some in heard.split(4)]).numpy()


def smoothed(probabilities: Any, frames: int = SMOOTH) -> Any:
    """The median over so many frames of each song."""
    return median_filter(probabilities, (1, frames), mode="nearest")


def scores(probabilities: Any, truth: Any, threshold: float) -> dict[str, float]:
    """Accuracy, and how often a frame with a voice (recall) or without one (specificity) is told to be so."""
    said, there = probabilities >= threshold, np.asarray(truth) > 0.5
    return {
        "accuracy": float(np.mean(said == there)),
        "recall": float(said[there].mean()) if there.any() else float("nan"),
        "specificity": float(1 - said[~there].mean()) if (~there).any() else float("nan"),
    }


def chosen(probabilities: Any, truth: Any, weights: Any = None) -> float:
    """The threshold, in hundredths, with the best (weighted) accuracy; of several the one nearest to one half."""
    candidates, there = np.arange(1, 100) / 100, np.asarray(truth) > 0.5
    found = [np.average((probabilities >= t) == there, weights=weights) for t in candidates]
    best = candidates[np.isclose(found, max(found))]
    return float(best[np.argmin(np.abs(best - 0.5))])
