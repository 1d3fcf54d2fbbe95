"""Does a map change when layers of the network are re-initialized? (Adebayo et al. 2020, Figure 7)

From the top down, each step kept (*cascade*), or each layer alone (*independent*), the target always the class
that the network as it was predicts. On the pretrained EfficientNet-Lite0 with photographs, and on networks that
were never trained with pictures made here: what stays the same there is a property of the method, not of learning.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from torch import nn

import cells
import cnn
import likeness
import lite0
import photos
import trained
import veridical as vd
from fifteen import METHODS, PAINTED, RANDOM, SIGNED, Asked, maps
from sets import NoDataError

KEY = ("network", "mode", "method", "seed", "n")
MODES = ("cascade", "independent")
ANOTHER = 1000  # apart from the seeds asked for
DRAWN = {"SGrad", "SGradSQ", "VGrad", "IntGrad", "EGrad"}  # many passes
BACKGROUND = 60  # pictures for what needs them
REGIONS, SAMPLES, DRAWS = 32, 128, 12  # of a photograph, of LIME, and of methods that draw
PLAIN_SIDE, SMOOTH, CLASSES = 64, 3.0, 10  # of pictures made here
WIDTHS, POOLED, HIDDEN = (32, 32, 64, 64, 128, 128), (2, 4, 6), 128


class Convolution(nn.Conv2d):
    """With first weights as He et al. 2015 have them."""

    def reset_parameters(self) -> None:
        he(self)


class Dense(nn.Linear):
    """With first weights as He et al. 2015 have them."""

    def reset_parameters(self) -> None:
        he(self)


def he(layer: Any) -> None:
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    nn.init.zeros_(layer.bias)


def plain(seed: int) -> nn.Sequential:
    """A network like VGG that was never trained: six convolutions, three pools, two dense layers."""
    torch.manual_seed(seed)
    layers: dict[str, nn.Module] = {}
    inner = 3
    for i, width in enumerate(WIDTHS, 1):
        layers[f"conv{i}"], layers[f"relu{i}"] = Convolution(inner, width, 3, padding=1), nn.ReLU()
        if i in POOLED:
            layers[f"pool{i}"] = nn.MaxPool2d(2)
        inner = width
    side = PLAIN_SIDE // 2 ** len(POOLED)
    layers |= {"flat": nn.Flatten(), "dense1": Dense(inner * side * side, HIDDEN), "relu7": nn.ReLU()}
    layers["dense2"] = Dense(HIDDEN, CLASSES)
    module = nn.Sequential()
    for name, layer in layers.items():
        module.add_module(name, layer)
    return module


PLAIN_STAGES = ("dense2", "dense1", *(f"conv{i}" for i in range(len(WIDTHS), 0, -1)))


def smooth(n: int, seed: int) -> Any:
    """Pictures of smooth noise, (n, side, side, 3) of 0 to 1."""
    noise = np.random.default_rng(seed).normal(size=(n, PLAIN_SIDE, PLAIN_SIDE, 3))
    wide = gaussian_filter(noise, (0, SMOOTH, SMOOTH, 0))
    low, high = wide.min((1, 2, 3), keepdims=True), wide.max((1, 2, 3), keepdims=True)
    return ((wide - low) / (high - low)).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Case:
    """A network, what is explained, and the layers from the top down."""

    module: Any
    asked: Asked
    stages: tuple[str, ...]

    def under(self, module: Any) -> Asked:
        """The same question of another network."""
        return replace(self.asked, network=replace(self.asked.network, module=module))


def of_photos(data: Path, n: int, seed: int, device: str) -> Case:
    """EfficientNet-Lite0 and n photographs; other photographs are the background."""
    pictures, _ = photos.photos(data, lite0.SIDE)
    module = lite0.network(data).to(device)
    return asked(module, partial(lite0.prepare, device=device), pictures, n, lite0.STAGES)


def of_noise(data: Path | None, n: int, seed: int, device: str) -> Case:
    """A network that was never trained, and smooth noise."""
    module = plain(seed).to(device).eval().requires_grad_(False)
    return asked(module, partial(cnn.prepare, device=device), smooth(n + BACKGROUND, seed), n, PLAIN_STAGES)


def asked(module: Any, prepare: Callable[[Any], Any], pictures: Any, n: int, stages: tuple[str, ...]) -> Case:
    some = pictures[:n]
    with torch.inference_mode():
        targets = module(prepare(some)).argmax(1).cpu().numpy()
    parts = [regions(picture) for picture in some]
    network = vd.Network(module, prepare=prepare)
    return Case(module, Asked(network, some, targets, pictures[n : n + BACKGROUND], parts, SAMPLES, DRAWS), stages)


def regions(picture: Any) -> Any:
    """The superpixels of a picture, found once."""
    found: Any = vd.Superpixels(n=REGIONS)(picture)
    numbers = np.asarray(found.paint(np.arange(len(found.parts), dtype=float))).astype(int)
    return vd.Superpixels(segment=numbers, fill=trained.GRAY)


CASES: dict[str, Callable[[Any, int, int, str], Case]] = {"lite0": of_photos, "untrained": of_noise}


def broken(module: Any, stages: Sequence[str], mode: str, seed: int) -> Iterator[tuple[str, Any]]:
    """Copies of the network with layers anew: all down to a stage, or that stage alone."""
    copy = deepcopy(module)
    for i, stage in enumerate(stages):
        if mode == "independent":
            copy = deepcopy(module)
        reset(copy.get_submodule(stage), seed + i)
        yield stage, copy


def reset(module: Any, seed: int) -> None:
    """First weights by each layer's own rule; batch norm forgets what it saw."""
    torch.manual_seed(seed)
    for layer in module.modules():
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()


def measure(cell: cells.Cell, data: Path | None, device: str) -> dict[str, Any]:
    """One method and one seed: how alike its maps are to the first, after each step."""
    torch.set_num_threads(1)
    case = CASES[cell["network"]](data, cell["n"], cell["seed"], device)
    method, seed = cell["method"], cell["seed"]
    first = likeness.shown(maps(method, case.asked, seed, SIGNED).to(device))
    again = first
    if method in RANDOM:
        again = likeness.shown(maps(method, case.asked, seed + ANOTHER, SIGNED).to(device))
    itself = likeness.compared(first, again)
    steps = []
    for stage, module in broken(case.module, case.stages, cell["mode"], seed * ANOTHER):
        now = likeness.shown(maps(method, case.under(module), seed, SIGNED).to(device))
        judged = likeness.judged(first, now, itself, seed).items()
        kept = {name: found for name, found in judged if not name.startswith("beyond")}  # which no table has
        steps.append({"stage": stage, **predictions(case, module), **kept})
    return {"itself": {m: likeness.summed(itself[m]) for m in likeness.MEASURES}, "steps": steps}


def predictions(case: Case, module: Any) -> dict[str, float]:
    """How often the class stays, and the probability that was and is given to it."""
    inputs = case.asked.network.tensor(case.asked.pictures)
    rows = np.arange(len(inputs))
    with torch.inference_mode():
        before, after = (net(inputs).softmax(1).cpu().numpy() for net in (case.module, module))
    return {
        "same": float(np.mean(after.argmax(1) == case.asked.targets)),
        "before": float(before[rows, case.asked.targets].mean()),
        "after": float(after[rows, case.asked.targets].mean()),
    }


def plan(settings: argparse.Namespace, seeds: Sequence[int]) -> list[cells.Cell]:
    """All cells, the slow ones first."""
    found = [
        {"network": network, "mode": mode, "method": method, "seed": seed, "n": settings.n}
        for network in settings.networks
        for seed in seeds
        for mode in settings.modes
        for method in settings.methods
    ]
    return sorted(found, key=cost, reverse=True)


def cost(cell: cells.Cell) -> float:
    """About how long it takes beside others."""
    much = 20.0 if cell["method"] in PAINTED else 8.0 if cell["method"] in DRAWN else 1.0
    return much * (4.0 if cell["network"] == "lite0" else 1.0)


def show(cell: cells.Cell) -> str:
    ranks = " ".join(f"{step['observed']['rank_signed']['mean']:.2f}" for step in cell["steps"])
    looks = " ".join(f"{step['observed']['ssim_abs']['mean']:.2f}" for step in cell["steps"])
    return f"signed ranks {ranks}; looks {looks}"


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with imagenet_samples/, or a pack of it")
    parser.add_argument("--networks", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="all by default")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="of new weights and of draws")
    parser.add_argument("--n", type=int, default=50, help="pictures explained")
    parser.add_argument("--full", action="store_true", help="five seeds")
    return trained.run_by(parser, "randomize")


def main(settings: argparse.Namespace) -> None:
    if "lite0" in settings.networks:
        try:
            photos.check(settings.data, [photos.PHOTOS])
        except NoDataError as error:
            raise SystemExit(f"randomize: {error}") from None
        lite0.weights(settings.data)  # says what is missing
    cnn.check_device(settings.device)
    results = cells.Results(settings.out, "randomize", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    seeds = trained.seeds_of(settings.seeds, settings.full)
    wanted = plan(settings, seeds)
    cells.work(
        results,
        wanted,
        lambda cell: measure(cell, settings.data, settings.device),
        resume=settings.resume,
        jobs=settings.jobs,
        limit=settings.limit,
        show=show,
        cost=cost,
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables: python experiments/report.py --only randomize")


if __name__ == "__main__":
    main(arguments().parse_args())
