"""Torch networks on torch tensors, where captum's Lime is the package to compare with.

captum is given our law and kernel and plain least squares, so that both estimate the same weights; its own
defaults (a kernel on pixels, a lasso) estimate others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from captum._utils.models.linear_model import SkLearnLinearRegression
from captum.attr import Lime
from torch import nn

from images import GRIDS, N_ROWS, PHOTO, ImageProblem, digits, enlarged, network, photograph, recorded
from laws import Floats
from maps import proximity
from problems import Predict

torch.set_num_threads(1)


@dataclass(frozen=True, eq=False)
class NetworkProblem(ImageProblem):
    """Pictures (c, h, w) as tensors."""

    @property
    def labels(self) -> Any:
        side = self.rows[0].shape[1]
        rows, columns = np.mgrid[:side, :side] * self.grid // side
        return rows * self.grid + columns

    def inputs(self, i: int, kept: Floats) -> Any:
        return torch.as_tensor((kept > 0)[:, None, self.labels]) * self.rows[i]

    def package(self) -> CaptumPackage:  # type: ignore[override]
        return CaptumPackage(self)


class CaptumPackage:
    """captum's Lime with the regions as features and black as the baseline, 64 pictures at a time."""

    name, default = "captum", 5000  # its own default of 25 samples is no explanation

    def __init__(self, problem: NetworkProblem) -> None:
        self.problem = problem
        self.regions = torch.as_tensor(problem.labels)[None, None]

    def weights(self, row: int, n_samples: int, seed: int) -> Floats:
        torch.manual_seed(seed)
        return self._explain(row, self.problem.predict, n_samples)

    def timed(self, n_samples: int, n_features: int) -> Callable[[int, Predict], None]:
        """It has no selection: all regions are weighed."""

        def explain(i: int, predict: Predict) -> None:
            self._explain(i, predict, n_samples)

        return explain

    def _explain(self, row: int, predict: Predict, n_samples: int) -> Floats:
        image = self.problem.row(row)[None]
        lime = Lime(
            lambda images: torch.as_tensor(predict(images)),
            interpretable_model=SkLearnLinearRegression(),
            similarity_func=proximity,
        )
        found = lime.attribute(
            image, target=self.problem.target(row), baselines=0, feature_mask=self.regions, n_samples=n_samples,
            perturbations_per_eval=64, return_input_shape=False,
        )  # fmt: skip
        return np.asarray(found, float)[0]


def names(data: Path | None, quick: bool = False) -> list[str]:
    """The problems as 'data-model-parts'."""
    return ["digits-cnn-16"] if quick else ["digits-cnn-16", "digits-cnn-64", PHOTO]


def load(name: str, data: Path | None = None) -> NetworkProblem:
    dataset, _, parts = name.split("-")
    grid = GRIDS[int(parts)]
    if dataset == "photo":
        image, ask = photograph(), network()
        rows = (torch.as_tensor(image).permute(2, 0, 1).float().contiguous(),)
        look, real = (lambda images, p=p: p(_last(images)) for p in (recorded(image, ask), ask))
        return NetworkProblem(name, rows, look, grid, real)
    rest, predict = _trained()
    return NetworkProblem(
        name, tuple(torch.as_tensor(enlarged(d, 4))[None] for d in rest[:N_ROWS]), predict, grid, predict
    )


def _last(images: Any) -> Any:
    return images.permute(0, 2, 3, 1).numpy()


@cache
def _trained() -> tuple[Floats, Predict]:
    """A small convolutional network on digits of 32 × 32 pixels, fitted in seconds."""
    torch.manual_seed(0)
    train, rest, known, _ = digits()
    X = torch.as_tensor(np.stack([enlarged(digit, 4) for digit in train]))[:, None]
    y = torch.as_tensor(known)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
        nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip
    optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    for _ in range(15):
        for batch in torch.randperm(len(X)).split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(X[batch] / 16), y[batch]).backward()
            optimizer.step()

    def predict(images: Any) -> Floats:
        with torch.inference_mode():
            answers: Floats = net(images / 16).softmax(1).double().numpy()
        return answers

    return rest, predict
