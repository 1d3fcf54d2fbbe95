"""The music tagger musicnn (Pons and Serra, 2019) in torch, with the weights of the package ``musicnn``.

The package keeps its weights as TensorFlow checkpoints, and its own code needs TensorFlow. Here is the network in
torch, and the few lines that read a checkpoint: an index, which is a LevelDB table of protocol buffers, and one
file of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import linear, pad, relu

import veridical as vd

RATE = 16_000  # samples a second
WIDE, HOP = 512, 256  # samples of a frame, and from one frame to the next
BANDS, FRAMES = 96, 187  # the network hears three seconds at a time
TAGS = [  # of MagnaTagATune, the 50 that are most common
    "guitar", "classical", "slow", "techno", "strings", "drums", "electronic", "rock", "fast", "piano",
    "ambient", "beat", "violin", "vocal", "synth", "female", "indian", "opera", "male", "singing", "vocals",
    "no vocals", "harpsichord", "loud", "quiet", "flute", "woman", "male vocal", "no vocal", "pop", "soft",
    "sitar", "solo", "man", "classic", "choir", "voice", "new age", "dance", "male voice", "female vocal",
    "beats", "harp", "cello", "no voice", "weird", "country", "metal", "female voice", "choral",
]  # fmt: skip
__all__ = ["RATE", "TAGS", "LogMel", "Tagger", "asking"]


def hertz(mels: Any) -> Any:
    """Frequencies on Slaney's scale: even up to 1000 Hz, which is 15, and by ratios above."""
    return np.where(mels < 15, mels * 200 / 3, 1000 * 6.4 ** ((mels - 15) / 27))


TOP = 15 + 27 * np.log(RATE / 2000) / np.log(6.4)  # where half the rate is on that scale


class LogMel:
    """What the network hears of a recording: (96 mel bands from 0 to 8000 Hz, 187 frames), in log units from 0."""

    rate = RATE
    seconds = HOP / RATE  # from one frame to the next
    hertz = hertz(np.linspace(0, TOP, BANDS + 1))  # where bands begin, and where the last one ends

    def __call__(self, samples: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return self.tensor(torch.from_numpy(np.array(samples, np.float32))[None])[0].numpy()

    def tensor(self, samples: torch.Tensor) -> torch.Tensor:
        """The same of recordings (n, samples), with gradients: (n, 96, 187)."""
        from models.ears import triangles

        window = torch.hann_window(WIDE).to(samples)
        spectra = torch.stft(samples, WIDE, HOP, window=window, pad_mode="constant", return_complex=True).abs()
        if spectra.shape[2] < FRAMES:
            raise ValueError(f"the recording is too short: the tagger needs {FRAMES * self.seconds:.1f} seconds")
        bins = torch.linspace(0, RATE / 2, WIDE // 2 + 1, dtype=torch.float64)
        bank = triangles(hertz(np.linspace(0, TOP, BANDS + 2)), bins).to(spectra)
        return torch.log10(10_000 * (bank @ spectra[:, :, :FRAMES] ** 2) + 1)


class Tagger(nn.Module):
    """Log-mel spectrograms (n, 96, 187) to logits of 50 tags (n, 50).

    The weights, by the names of the checkpoint, are those of the package unless others are given.
    """

    def __init__(self, weights: Mapping[str, torch.Tensor] | None = None) -> None:
        super().__init__()
        if weights is None:
            weights = checkpoint(Path(str(files("musicnn") / "MTT_musicnn")))
        for name, value in weights.items():
            self.register_buffer(name, value)
        self.eval()

    @property
    def weights(self) -> dict[str, torch.Tensor]:
        """All of them by name."""
        return dict(self.named_buffers())

    def forward(self, spectrograms: torch.Tensor) -> torch.Tensor:
        x = self.normalize(spectrograms.transpose(1, 2)[:, None], 0)  # (n, 1, frames, bands)
        tall = pad(x, (0, 0, 3, 3))  # seven frames by 38 or 67 bands: timbre
        found = [self.filter(tall, 0), self.filter(tall, 1)]
        for i, width in ((2, 128), (3, 64), (4, 32)):  # many frames by one band: rhythm
            before = (width - 1) // 2
            found.append(self.filter(pad(x, (0, 0, before, width - 1 - before)), i))
        front = torch.cat([f.amax(3) for f in found], 1)  # (n, channels, frames): the strongest band

        layers = [front]
        for i in (5, 6, 7):  # each layer sees all channels of seven frames, and adds to the one before
            image = pad(layers[-1].transpose(1, 2)[:, None], (0, 0, 3, 3))
            new = self.filter(image, i)[..., 0]
            layers.append(new if i == 5 else new + layers[-1])
        deep = torch.cat(layers, 1)

        pooled = torch.stack([deep.amax(2), deep.mean(2)], 2).flatten(1)
        hidden = relu(self.dense(self.normalize(pooled, 9), 0))
        return self.dense(self.normalize(hidden, 10), 1)

    def weight(self, layer: str, i: int, name: str) -> torch.Tensor:
        return self.get_buffer(f"{layer}_{i}/{name}" if i else f"{layer}/{name}")

    def normalize(self, x: torch.Tensor, i: int) -> torch.Tensor:
        mean, variance, scale, shift = (
            self.weight("batch_normalization", i, name)
            for name in ("moving_mean", "moving_variance", "gamma", "beta")
        )
        return nn.functional.batch_norm(x, mean, variance, scale, shift, eps=1e-3)

    def filter(self, x: torch.Tensor, i: int) -> torch.Tensor:
        kernel = self.weight("conv2d", i, "kernel").permute(3, 2, 0, 1)
        return self.normalize(relu(nn.functional.conv2d(x, kernel, self.weight("conv2d", i, "bias"))), i + 1)

    def dense(self, x: torch.Tensor, i: int) -> torch.Tensor:
        return linear(x, self.weight("dense", i, "kernel").T, self.weight("dense", i, "bias"))


def asking(tagger: Tagger) -> vd.Network:
    """The tagger as methods are given it: spectrograms (n, 96, 187) to the probabilities of 50 tags (n, 50)."""
    return vd.Network(tagger, answers="sigmoid")


def checkpoint(folder: Path) -> dict[str, torch.Tensor]:
    """The float32 variables of a TensorFlow checkpoint whose files have no name but their endings."""
    index, numbers = (folder / ".index").read_bytes(), (folder / ".data-00000-of-00001").read_bytes()
    footer = index[-48:]
    place = 0
    handle = []  # where two blocks lie: the first is of no use here, the second lists the blocks of entries
    for _ in range(4):
        value, place = varint(footer, place)
        handle.append(value)
    variables = {}
    for _, pointer in entries(index, handle[2], handle[3]):
        start, place = varint(pointer, 0)
        size, _ = varint(pointer, place)
        for key, message in entries(index, start, size):
            fields = dict(protocol_buffer(message))
            if not key or fields.get(1) != 1:  # the header, or numbers that are not float32
                continue
            shape = [dict(protocol_buffer(d)).get(1, 0) for f, d in protocol_buffer(fields.get(2, b"")) if f == 2]
            start = fields.get(4, 0)
            values = np.frombuffer(numbers[start : start + fields[5]], "<f4").reshape(shape)
            variables[key.decode()] = torch.from_numpy(values.copy())
    return variables


def varint(data: bytes, place: int) -> tuple[int, int]:
    """A whole number in groups of seven bits, and where the next thing begins."""
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        shift, place = shift + 7, place + 1
        if byte < 128:
            return value, place


def entries(table: bytes, start: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of one LevelDB block; each key is told as its difference to the one before."""
    block = table[start : start + size]
    end = size - 4 - 4 * int.from_bytes(block[-4:], "little")
    place, key = 0, b""
    while place < end:
        shared, place = varint(block, place)
        fresh, place = varint(block, place)
        length, place = varint(block, place)
        key = key[:shared] + block[place : place + fresh]
        place += fresh
        yield key, block[place : place + length]
        place += length


def protocol_buffer(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values of a message, bytes where a field is a message or text of its own."""
    place = 0
    while place < len(data):
        tag, place = varint(data, place)
        kind = tag & 7
        if kind == 0:
            value, place = varint(data, place)
            yield tag >> 3, value
            continue
        length = {1: 8, 5: 4}.get(kind)
        if length is None:
            length, place = varint(data, place)
        yield tag >> 3, data[place : place + length]
        place += length
