"""The small network of Adebayo et al. 2020 (five convolutions, three dense layers, ReLU), and how it is trained.

Widths are not in the paper; these are ours. There is no batch norm and no dropout, and the outputs are logits, one
a class. All that is random comes from the seed: the first weights, the order of the pictures, what augments them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

WIDTHS = (32, 64, 128, 128, 128)
DENSE = (256, 64)
MIDDLE, SPREAD = 0.5, 0.25  # of pictures from 0 to 1: gray is 0 for the network
SMALLEST = 6  # pixels a side that are still halved

Augment = Callable[[Any, Any, torch.Generator], Any]  # a batch (n, …) and its labels, to what the network takes


@dataclass(frozen=True)
class Training:
    """How long and how fast it learns: AdamW, from the rate down to nothing along a cosine."""

    epochs: int = 30
    batch: int = 32
    rate: float = 1e-3
    decay: float = 1e-4
    doubt: float = 0.0  # share of each label that is spread over all classes, so that answers stay short of sure


USUAL = Training()


def built(
    classes: int = 2, side: int = 96, channels: int = 3, *, widths: Sequence[int] = WIDTHS, seed: int = 0
) -> nn.Sequential:
    """An untrained network for pictures (n, channels, side, side): conv1 … conv5, dense1 … dense3 and between."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        before = channels
        for i, width in enumerate(widths, 1):
            layers[f"conv{i}"] = nn.Conv2d(before, width, 3, padding=1)
            layers[f"relu{i}"] = nn.ReLU()
            if side >= SMALLEST:
                layers[f"pool{i}"], side = nn.MaxPool2d(2), side // 2
            before = width
        layers["flat"], before = nn.Flatten(), before * side * side
        for i, width in enumerate(DENSE, 1):
            layers[f"dense{i}"], before = nn.Linear(before, width), width
            layers[f"relu{len(widths) + i}"] = nn.ReLU()
        layers[f"dense{len(DENSE) + 1}"] = nn.Linear(before, classes)
    return nn.Sequential(layers)


def prepare(pictures: Any, device: str = "cpu") -> torch.Tensor:
    """Pictures (n, side, side) or (n, side, side, channels) of 0 to 1 as the network takes them."""
    pixels = tensor(pictures, device)
    pixels = pixels[:, None] if pixels.ndim == 3 else pixels.permute(0, 3, 1, 2)
    return scaled(pixels)


def tensor(pictures: Any, device: str) -> torch.Tensor:
    """An array, or a tensor with its gradients, on a device."""
    given = pictures if isinstance(pictures, torch.Tensor) else torch.as_tensor(np.asarray(pictures, np.float32))
    return given.to(device)


def scaled(pixels: Any) -> Any:
    """Values of 0 to 1 in the network's units."""
    return (pixels - MIDDLE) / SPREAD


def flipped(x: Any, y: Any, generator: torch.Generator) -> Any:
    """Every second picture, by chance, from right to left."""
    turn = torch.rand(len(x), generator=generator).to(x.device) < 0.5
    return torch.where(turn[:, None, None, None], x.flip(-1), x)


def train(
    module: nn.Module,
    X: Any,
    y: Any,
    *,
    seed: int = 0,
    how: Training = USUAL,
    augment: Augment | None = None,
    each: Callable[[int, nn.Module], None] | None = None,
) -> nn.Module:
    """The module, trained in place and in evaluation mode; ``each`` sees it after every epoch, counted from 1."""
    device = next(module.parameters()).device
    X, y = torch.as_tensor(X).to(device), torch.as_tensor(y).long().to(device)
    generator = torch.Generator().manual_seed(seed)
    steps = how.epochs * -(-len(X) // how.batch)
    optimizer = torch.optim.AdamW(module.parameters(), lr=how.rate, weight_decay=how.decay)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    loss = nn.CrossEntropyLoss(label_smoothing=how.doubt)
    for epoch in range(1, how.epochs + 1):
        module.train()
        for rows in torch.randperm(len(X), generator=generator).split(how.batch):
            rows = rows.to(device)
            seen = X[rows] if augment is None else augment(X[rows], y[rows], generator)
            optimizer.zero_grad()
            loss(module(seen), y[rows]).backward()
            optimizer.step()
            schedule.step()
        module.eval()
        if each is not None:
            each(epoch, module)
    return module.eval()


def outputs(module: nn.Module, X: Any, batch: int = 256) -> Any:
    """Logits (n, classes) of inputs in the network's units."""
    device = next(module.parameters()).device
    with torch.inference_mode():
        return np.concatenate([module(part.to(device)).cpu().numpy() for part in torch.as_tensor(X).split(batch)])


def accuracy(module: nn.Module, X: Any, y: Any) -> float:
    """How often the largest logit is that of the label."""
    return float(np.mean(outputs(module, X).argmax(1) == np.asarray(y)))


def check_device(device: str) -> None:
    """Say that there is no GPU before any work."""
    if device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("--device cuda wants a GPU that torch can use, and there is none: take --device cpu")
