"""Small pictures to learn from and to explain: clothes, digits, pets and photographs.

All are arrays of 0 to 1, gray (n, side, side) or colored (n, side, side, 3). The folder of ``--data`` may be a
pack (``pack.py``), which has fewer of them under the same names.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from sets import NoDataError

CLOTHES = "fashion_mnist/fashion_mnist_20k.npz"
DIGITS = "mnist/mnist_25k.npz"
PETS = "pets/index.csv"
PHOTOS = "imagenet_samples/index.csv"


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures to train on and to test on, with their labels."""

    train: Any  # (n, side, side) or (n, side, side, 3)
    train_y: Any
    test: Any
    test_y: Any
    classes: tuple[str, ...]


def check(data: Path | None, files: Sequence[str]) -> None:
    """Say what is missing before any work."""
    if data is None:
        raise NoDataError(f"wanted {', '.join(files)}: name their folder by --data DIR")
    for file in files:
        if not (data / file).exists():
            raise NoDataError(f"wanted {', '.join(files)}; {data / file} is not there. Give another --data")


def small(data: Path, file: str, sizes: tuple[int, int] = (6000, 1000)) -> Pictures:
    """Clothes or digits of 28 × 28: the first so many to train on, and to test on."""
    n, n_test = sizes
    with np.load(data / file) as found:
        kept = {name: found[name] for name in found.files}
    classes = kept.get("classes", np.arange(10))
    return Pictures(
        _scaled(kept["x_train"][:n]),
        kept["y_train"][:n].astype(int),
        _scaled(kept["x_test"][:n_test]),
        kept["y_test"][:n_test].astype(int),
        tuple(str(name) for name in classes),
    )


def pets(data: Path, side: int) -> Pictures:
    """Cats (0) and dogs (1), squashed to squares."""
    rows = _index(data / PETS)
    parts: dict[bool, tuple[list[Any], list[int]]] = {True: ([], []), False: ([], [])}
    for row in rows:
        pictures, labels = parts[row["split"] == "test"]
        pictures.append(read(data / f"pets/images/{row['name']}.jpg", side))
        labels.append(int(row["species"] == "dog"))
    made = [(np.stack(pictures), np.array(labels)) for pictures, labels in (parts[False], parts[True])]
    return Pictures(*made[0], *made[1], ("cat", "dog"))


def photos(data: Path, side: int) -> tuple[Any, Any]:
    """Photographs, one a class, cut to squares, and the number of their class; spread over the classes."""
    rows = _index(data / PHOTOS)
    mixed = np.random.default_rng(0).permutation(len(rows))
    pictures = [read(data / f"imagenet_samples/images/{rows[i]['file']}", side, square=True) for i in mixed]
    return np.stack(pictures), np.array([int(rows[i]["class_index"]) for i in mixed])


def read(path: Path, side: int, square: bool = False) -> Any:
    """A picture (side, side, 3); squashed, or a square cut out of its middle."""
    picture = Image.open(path).convert("RGB")
    if square:
        edge = min(picture.size)
        left, top = ((size - edge) // 2 for size in picture.size)
        picture = picture.crop((left, top, left + edge, top + edge))
    if picture.size != (side, side):
        picture = picture.resize((side, side), Image.Resampling.BICUBIC)
    return _scaled(np.asarray(picture))


def _scaled(values: Any) -> Any:
    return values.astype(np.float32) / 255


def _index(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
