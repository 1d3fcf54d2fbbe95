"""Networks for clothes, digits and pets, trained once for a seed and kept in a folder outside the project."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed

import cells
import cnn
import photos
import veridical as vd

FOLDER = Path(tempfile.gettempdir()) / "veridical-networks"
PETS_SIDE = 96
SHORT = cnn.Training(epochs=12, batch=64)  # of clothes and digits
LONG = cnn.Training(epochs=60, rate=5e-4)  # of pets
GRAY = vd.fills.Constant(0.5)  # what covers a part: 0 for the network, as where integrated gradients begin


def kept(folder: Path, name: str, module: Any, train: Callable[[Any], Any], device: str) -> Any:
    """The module as it was trained under that name; trained now if it was not."""
    path = folder / f"{name}.pt"
    if path.exists():
        module.load_state_dict(torch.load(path, weights_only=True, map_location="cpu"))
        return module.to(device).eval().requires_grad_(False)
    module = train(module.to(device)).eval().requires_grad_(False)
    folder.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    torch.save(module.state_dict(), fresh)
    fresh.replace(path)
    return module


def small(folder: Path, name: str, found: photos.Pictures, labels: Any, seed: int, device: str) -> Any:
    """A network for pictures of 28 × 28."""
    module = cnn.built(len(found.classes), found.train.shape[1], 1, seed=seed)
    run = partial(cnn.train, X=cnn.prepare(found.train), y=labels, seed=seed, how=SHORT)
    return kept(folder, f"{name}-{len(found.train)}-{seed}", module, run, device)


def of_pets(folder: Path, name: str, found: photos.Pictures, labels: Any, seed: int, device: str) -> Any:
    """A network for cats and dogs."""
    module = cnn.built(2, found.train.shape[1], 3, seed=seed)
    run = partial(cnn.train, X=cnn.prepare(found.train), y=labels, seed=seed, how=LONG, augment=cnn.flipped)
    return kept(folder, f"{name}-{len(found.train)}-{found.train.shape[1]}-{seed}", module, run, device)


def asking(module: Any, device: str) -> Any:
    """The network as methods are given it: it takes pictures of 0 to 1 and gives logits."""
    return vd.Network(module, prepare=partial(cnn.prepare, device=device))


def predicted(module: Any, pictures: Any) -> Any:
    """The class of each picture, (n,)."""
    return cnn.outputs(module, cnn.prepare(pictures)).argmax(1)


def squares(side: int, n: int = 7, border: int = 0) -> Any:
    """The parts of a picture: n × n squares, and what is around them, if anything."""
    at = np.arange(side) - border
    inside = (at >= 0) & (at < side - 2 * border)
    step = at * n // (side - 2 * border)
    labels = np.where(inside[:, None] & inside, step[:, None] * n + step, n * n)
    return vd.Superpixels(segment=labels, fill=GRAY)


def check_folder(folder: Path) -> None:
    """Weights are not for the project."""
    if folder.resolve().is_relative_to(Path(__file__).resolve().parents[1]):
        raise SystemExit(f"{folder} lies inside the project, where weights are not wanted: name another --weights")


def ready(tasks: Sequence[Callable[[], Any]], jobs: int) -> None:
    """Train what is wanted before it is asked for, several at a time."""
    Parallel(n_jobs=jobs)(delayed(_alone)(task) for task in tasks)


def _alone(task: Callable[[], Any]) -> None:
    torch.set_num_threads(1)
    task()


def run_by(parser: argparse.ArgumentParser, name: str) -> argparse.ArgumentParser:
    """What every experiment with networks takes about how it is run, and where its results go."""
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=int, default=1800, help="seconds after which a cell is given up")
    parser.add_argument("--resume", action="store_true", help="leave what was measured without an error as it is")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / f"{name}.json")
    return parser


def seeds_of(given: Sequence[int], full: bool) -> list[int]:
    return list(range(5)) if full else list(given)
