"""The fifteen methods of Adebayo et al. 2020, by the paper's names, as maps of the pixels of many pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import veridical as vd

PAINTED = {"LIME", "KSHAP"}  # ask for outputs alone: a weight a part, painted on its pixels


@dataclass(frozen=True, eq=False)
class Asked:
    """What is explained: a network, pictures as they are looked at, and the output of each."""

    network: Any  # vd.Network
    pictures: Any  # (n, side, side) or (n, side, side, 3), of 0 to 1
    targets: Any  # (n,) numbers of outputs
    background: Any  # pictures that it was trained on: for what needs them
    parts: Any  # a representer for LIME and KernelSHAP, or a list of them, one a picture
    n_samples: int = 256  # of LIME and KernelSHAP
    n_draws: int = 25  # of noise, of backgrounds, and steps on the way from a baseline


METHODS: dict[str, Callable[[Asked], Any]] = {
    "Grad": lambda asked: vd.gradients.Gradient(),
    "SGrad": lambda asked: vd.gradients.SmoothGrad(n_draws=asked.n_draws),
    "SGradSQ": lambda asked: vd.gradients.SmoothGradSquared(n_draws=asked.n_draws),
    "VGrad": lambda asked: vd.gradients.VarGrad(n_draws=asked.n_draws),
    "InputGrad": lambda asked: vd.gradients.InputXGradient(),
    "IntGrad": lambda asked: vd.gradients.IntegratedGradients(n_steps=asked.n_draws),
    "EGrad": lambda asked: vd.gradients.ExpectedGradients(background=asked.background, n_draws=asked.n_draws),
    "LIME": lambda asked: vd.Lime(n_samples=asked.n_samples, surrogate=vd.surrogates.Linear()),
    "KSHAP": lambda asked: vd.KernelShap(n_samples=asked.n_samples),
    "GBP": lambda asked: vd.gradients.GuidedBackprop(),
    "DConvNet": lambda asked: vd.gradients.DeconvNet(),
    "LRP-EPS": lambda asked: vd.gradients.LrpEpsilon(),
    "PNet": lambda asked: vd.gradients.PatternNet(asked.background),
    "PAttribution": lambda asked: vd.gradients.PatternAttribution(asked.background),
    "LRP-SPAF": lambda asked: vd.gradients.LrpPresetAFlat(),
}
# where signs are compared: the paper's size of the gradient has none, and the looks of sizes are the same
SIGNED = {**METHODS, "Grad": lambda asked: vd.gradients.Gradient(absolute=False)}
RANDOM = {"SGrad", "SGradSQ", "VGrad", "EGrad", "LIME", "KSHAP"}  # another seed gives another map


def maps(name: str, asked: Asked, seed: int = 0, methods: Mapping[str, Callable[[Asked], Any]] = METHODS) -> Any:
    """Maps (n, channels, side, side) of a method, channels of the network's input or one."""
    method = methods[name](asked)
    if name in PAINTED:
        return torch.as_tensor(np.stack([_painted(method, asked, i, seed) for i in range(len(asked.pictures))]))
    inputs = asked.network.tensor(asked.pictures)
    return torch.tensor(method.maps(asked.network, inputs, np.asarray(asked.targets), seed).values)


def _painted(method: Any, asked: Asked, i: int, seed: int) -> Any:
    """The weight of each part at its pixels, (1, side, side)."""
    picture, parts = asked.pictures[i], asked.parts[i] if isinstance(asked.parts, list) else asked.parts
    why = vd.explain(asked.network, parts, picture, target=int(asked.targets[i]), method=method, rng=seed + i)
    return np.asarray(parts(picture).paint(np.nan_to_num(why.weights)))[None]
