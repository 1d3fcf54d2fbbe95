"""Small torch networks, and settings for every method that needs gradients."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch
from torch import nn

import veridical as vd

torch.set_num_threads(1)

GRADIENTS: dict[str, Any] = {
    "deconv_net": vd.gradients.DeconvNet(),
    "expected_gradients": vd.gradients.ExpectedGradients(n_draws=8),
    "gradient": vd.gradients.Gradient(),
    "guided_backprop": vd.gradients.GuidedBackprop(),
    "input_x_gradient": vd.gradients.InputXGradient(),
    "integrated_gradients": vd.gradients.IntegratedGradients(n_steps=8),
    "lrp_epsilon": vd.gradients.LrpEpsilon(),
    "lrp_preset_a_flat": vd.gradients.LrpPresetAFlat(),
    "smooth_grad": vd.gradients.SmoothGrad(n_draws=4),
    "smooth_grad_squared": vd.gradients.SmoothGradSquared(n_draws=4),
    "var_grad": vd.gradients.VarGrad(n_draws=4),
}
LEARNED: dict[str, Any] = {  # from data
    "pattern_attribution": vd.gradients.PatternAttribution,
    "pattern_net": vd.gradients.PatternNet,
}


def gradient_method(name: str, data: Any) -> Any:
    """A method by name, learned from data if it is one that learns."""
    return LEARNED[name](data) if name in LEARNED else GRADIENTS[name]


def seeded(build: Any, seed: int = 0) -> Any:
    """A module whose weights a seed fixes, ready to answer."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return build().eval()


def line(slopes: Any, constant: float = 0.0) -> Any:
    """One output: a weighted sum of the inputs, and a constant."""
    module = nn.Linear(len(slopes), 1).double().eval()
    with torch.no_grad():
        module.weight[:] = torch.as_tensor(np.asarray(slopes, dtype=float))
        module.bias[:] = constant
    return module


def dense(inputs: int = 4, outputs: int = 2, bias: bool = True, width: int = 8) -> Any:
    """Two hidden layers of ReLU."""
    return seeded(
        lambda: nn.Sequential(
            nn.Linear(inputs, width, bias), nn.ReLU(), nn.Linear(width, width, bias), nn.ReLU(),
            nn.Linear(width, outputs, bias),
        ).double()
    )  # fmt: skip


def convolutional(inplace: bool = False, channels: int = 3, size: int = 12) -> Any:
    """Two convolutions with batch norm, pooling, and a dense layer: three outputs."""
    half = (size - 2) // 2 - 2
    return seeded(
        lambda: nn.Sequential(
            nn.Conv2d(channels, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3),
            nn.ReLU(inplace), nn.Flatten(), nn.Linear(4 * half * half, 3),
        )
    )  # fmt: skip


class Reader(nn.Module):
    """Texts: the mean of the words' vectors, a hidden layer, two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors = nn.Embedding(64, 6)
        self.hidden = nn.Linear(6, 8)
        self.top = nn.Linear(8, 2)

    def forward(self, ids: Any) -> Any:
        return self.top(torch.relu(self.hidden(self.vectors(ids).mean(dim=1))))


def spans(text: str) -> list[tuple[int, int]]:
    """A token at the start that stands for nothing, then the words."""
    return [(0, 0), *(m.span() for m in re.finditer(r"\w+", text))]


def ids(texts: list[str]) -> Any:
    """Token ids, those of short texts padded by zeros."""
    rows = [[1, *(2 + sum(map(ord, word)) % 60 for word in re.findall(r"\w+", text))] for text in texts]
    longest = max(map(len, rows))
    return torch.tensor([row + [0] * (longest - len(row)) for row in rows])


def channels_first(pictures: Any) -> Any:
    """Pictures (n, h, w, c) of bytes as a network of (n, c, h, w) floats takes them."""
    return torch.as_tensor(np.array(pictures), dtype=torch.float32).permute(0, 3, 1, 2) / 255


def reading() -> Any:
    """The network of texts."""
    return vd.Network(seeded(Reader), prepare=ids, embedding="vectors", spans=spans)


def looking() -> Any:
    """The network of pictures, channels last."""
    return vd.Network(convolutional(), prepare=channels_first)
