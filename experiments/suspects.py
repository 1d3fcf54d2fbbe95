"""Sets with wrong labels and the models that learned from them, for ``labels.py``."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from torch import nn

import cnn
import flips
import photos
import trained

PICTURES = ("clothes", "pets")
HIDDEN = 32
OF_TABLES = cnn.Training(epochs=40, batch=32, rate=3e-3, decay=1e-2)


@dataclass(frozen=True, eq=False)
class Learned:
    """Training rows with the labels they were given, a tenth of them wrong, and how a network learns from them."""

    X: Any  # pictures of 0 to 1, or rows of a table
    y: Any  # right labels
    given: Any  # labels as they are given
    wrong: Any  # bool
    test: Any
    test_y: Any
    built: Callable[[int], Any]  # an untrained network, by its seed
    how: cnn.Training
    augment: Any = None

    @property
    def pictures(self) -> bool:
        return self.X.ndim > 2

    def inputs(self, X: Any) -> Any:
        """What the network takes."""
        return cnn.prepare(X) if self.pictures else np.asarray(X, np.float32)

    def fitted(self, labels: Any, seed: int, device: str, rows: Any = slice(None), each: Any = None) -> Any:
        """A network trained on some rows with these labels."""
        module = self.built(seed).to(device)
        X = self.inputs(self.X[rows])
        cnn.train(module, X, labels[rows], seed=seed, how=self.how, augment=self.augment, each=each)
        return module.eval().requires_grad_(False)

    def checkpoints(self, seed: int, device: str) -> list[Any]:
        """The network after every epoch, the last one at the end."""
        kept: list[Any] = []
        self.fitted(self.given, seed, device, each=lambda epoch, module: kept.append(deepcopy(module)))
        return [module.eval().requires_grad_(False) for module in kept]

    def logits(self, module: Any, X: Any) -> Any:
        return cnn.outputs(module, self.inputs(X))


def load(data: Path, name: str, seed: int) -> Learned:
    """A set by its name, with labels flipped by the seed."""
    if name in flips.TABLES:
        X, y, _ = flips.table(data, name)
        cut = np.random.default_rng([78, seed]).permutation(len(X))
        test, train = cut[: len(X) // 5], cut[len(X) // 5 :]
        given, wrong = flips.flipped(y[train], 2, seed)

        def mlp(seed: int) -> Any:
            return dense(X.shape[1], seed)

        return Learned(X[train], y[train], given, wrong, X[test], y[test], mlp, OF_TABLES)
    if name == "pets":
        found, channels, how = photos.pets(data, trained.PETS_SIDE), 3, trained.LONG
    else:
        found, channels, how = photos.small(data, photos.CLOTHES), 1, trained.SHORT
    given, wrong = flips.flipped(found.train_y, len(found.classes), seed)

    def built(seed: int) -> Any:
        return cnn.built(len(found.classes), found.train.shape[1], channels, seed=seed)

    turned = cnn.flipped if name == "pets" else None
    return Learned(found.train, found.train_y, given, wrong, found.test, found.test_y, built, how, augment=turned)


def dense(width: int, seed: int) -> nn.Sequential:
    """A network of one hidden layer for rows of a table."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(width, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2))


def regression(X: Any, labels: Any) -> Any:
    return LogisticRegression(C=1.0, max_iter=2000).fit(X, labels)
