"""Would the explanation show that the model goes by the background? Adebayo et al. 2020, Table 2, with pets.

One network learns cats before one kind of place and dogs before another; its twin learns from the same animals
before either. Both are explained on the same pictures by all fifteen methods. How like a map is to the background
(SSIM, as in the paper) stands beside what maps that know nothing get; ours is the share of the attribution that
lies on the background, and how much of it the twin does not have.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cells
import cnn
import fifteen
import likeness
import pets
import scenes
import seeds
import veridical as vd

KEY = ("seed", "network", "pictures", "samples", "epochs")
PARTS = vd.Superpixels(
    n=32, fill=vd.fills.Constant(cnn.MIDDLE)
)  # gray: 0 for the network, the baseline of the others
NULLS = ("constant", "noise")  # maps that know nothing; "shuffled" and "another" are made of each method's own
BACKGROUND = 256  # training pictures for methods that want some
DRAWS = 25  # of noise and of backgrounds, and steps from gray to the picture


@dataclass(frozen=True, eq=False)
class Stage:
    """Pictures to explain: animals before the place of their species, and the places alone."""

    pictures: Any  # (n, side, side, 3) of 0 to 1
    alone: Any  # the same without the animals
    swapped: Any  # the same animals before the place of the other species
    truth: Any  # bool (n, side, side): what is background
    labels: Any  # (n,)
    parts: Any  # int (n, side, side): the number of the part at each pixel

    @classmethod
    def of(cls, data: Path, found: scenes.Animals, seed: int) -> Stage:
        layers = torch.as_tensor(found.layers).float() / 255
        n = len(layers)
        pools = torch.stack([scenes.pieces(data, place, n, test=True, seed=seed) for place in scenes.PLACES])
        labels = torch.as_tensor(found.labels)
        behind, other = (pools[each, torch.arange(n)] for each in (labels, 1 - labels))
        before, swapped = (scenes.pictures(scenes.pasted(layers, place)) for place in (behind, other))
        numbers = [_numbers(picture) for picture in before]
        truth = (layers[:, 3] < 0.5).numpy()
        return cls(before, behind.permute(0, 2, 3, 1).numpy(), swapped, truth, found.labels, np.stack(numbers))


def _numbers(picture: Any) -> Any:
    parts: Any = PARTS(picture)
    return np.asarray(parts.paint(np.arange(len(parts.parts), dtype=float))).astype(int)


def staged(cell: cells.Cell, data: Path) -> tuple[scenes.Animals, Stage]:
    """The animals to train on, and the pictures to explain, as many of cats as of dogs."""
    rng = np.random.default_rng(cell["seed"])
    train, test = (scenes.animals(data, split) for split in ("trainval", "test"))
    return train.balanced(None, rng), Stage.of(data, test.balanced(cell["pictures"] // 2, rng), cell["seed"])


def measure(cell: cells.Cell, data: Path, device: str) -> dict[str, Any]:
    """One network: how good it is, and what fifteen methods say of it."""
    torch.set_num_threads(1)
    begun, shortcut, seed = time.perf_counter(), scenes.NETWORKS[cell["network"]], cell["seed"]
    train, stage = staged(cell, data)
    module = scenes.trained(data, train, shortcut, seed=seed, device=device, epochs=cell["epochs"])
    trained = time.perf_counter() - begun
    background = scenes.before(data, train, shortcut, BACKGROUND, seed=seed)
    explained = Explained(stage, module, background, device, cell)
    values, seconds = explained.values()
    return {
        "n": len(stage.labels),
        "trained_on": len(train.labels),
        "area": likeness.summed(stage.truth.mean((1, 2))),
        "seconds": {"training": trained, **seconds},
        **explained.accuracy(),
        "methods": {name: {kind: _summed(v) for kind, v in each.items()} for name, each in values.items()},
    }


def _summed(values: Any) -> dict[str, float]:
    """Mean and standard error over the pictures that have a share: a map of nothing has none."""
    known = values[np.isfinite(values)]
    return likeness.summed(known) if len(known) > 1 else {"mean": float("nan"), "sem": float("nan")}


@dataclass(frozen=True, eq=False)
class Explained:
    """A network, and the maps of every method on the pictures and on the places alone."""

    stage: Stage
    module: Any
    background: Any
    device: str
    cell: cells.Cell

    def accuracy(self) -> dict[str, float]:
        """How often it is right: as trained, before the other place, and with no animal at all."""
        return {
            "as_trained": cnn.accuracy(self.module, self._inputs(self.stage.pictures), self.stage.labels),
            "swapped": cnn.accuracy(self.module, self._inputs(self.stage.swapped), self.stage.labels),
            "alone": cnn.accuracy(self.module, self._inputs(self.stage.alone), self.stage.labels),
        }

    def _inputs(self, pictures: Any) -> Any:
        return cnn.prepare(pictures, self.device)

    def asked(self, pictures: Any) -> fifteen.Asked:
        """The class that is explained is the one predicted for the picture with the animal, also without it."""
        network = vd.Network(self.module, prepare=partial(cnn.prepare, device=self.device))
        targets = cnn.outputs(self.module, self._inputs(self.stage.pictures)).argmax(1)
        return fifteen.Asked(network, pictures, targets, self.background, PARTS, self.cell["samples"], DRAWS)

    def values(self) -> tuple[dict[str, dict[str, Any]], dict[str, float]]:
        """Measures by method and null row, one value a picture, and the seconds that all maps of a method took."""
        found, seconds, seed = {}, {}, self.cell["seed"]
        for method in fifteen.METHODS:
            begun = time.perf_counter()
            own, alone = (
                np.asarray(fifteen.maps(method, self.asked(pictures), seed))
                for pictures in (self.stage.pictures, self.stage.alone)
            )
            seconds[method] = time.perf_counter() - begun
            found[method] = measures(own, alone, self.stage, painted=method in fifteen.PAINTED, seed=seed)
        rng = np.random.default_rng(seed)
        for null in NULLS:
            shape = (2, len(self.stage.labels), 1, pets.SIDE, pets.SIDE)
            own, alone = np.ones(shape) if null == "constant" else rng.normal(size=shape)
            found[null] = measures(own, alone, self.stage, painted=False, seed=seed)
        return found, seconds


def measures(own: Any, alone: Any, stage: Stage, *, painted: bool, seed: int) -> dict[str, Any]:
    """Shares on the background and SSIM with both truths; the same of shuffled maps and of other pictures'."""
    rng, other = np.random.default_rng(seed), np.roll(np.arange(len(own)), 1)
    first = torch.as_tensor(stage.truth).double()
    second = first * likeness.gray(torch.as_tensor(np.abs(alone).sum(1)))
    found = {}
    for name, maps in {"": own, ", shuffled": _mixed(own, rng), ", another": own[other]}.items():
        pixels, signed = np.abs(maps).sum(1), torch.as_tensor(maps.sum(1))
        look = likeness.gray(torch.as_tensor(pixels))
        weights = [_weights(each, numbers, painted) for each, numbers in zip(maps, stage.parts, strict=True)]
        found[f"pixels{name}"] = _share(pixels, stage.truth)
        found[f"parts{name}"] = part_share(weights, stage)
        found[f"gt1{name}"] = likeness.ssim(look, first).numpy()
        found[f"gt1 signed{name}"] = likeness.ssim(likeness.diverging(signed), first).numpy()
        found[f"gt2{name}"] = likeness.ssim(look, second).numpy()
    mixed = [rng.permutation(_weights(*each, painted)) for each in zip(own, stage.parts, strict=True)]
    return found | {"parts, shuffled": part_share(mixed, stage)}  # whole parts change places, not their pixels


def _mixed(maps: Any, rng: np.random.Generator) -> Any:
    """The same numbers at other pixels."""
    flat = maps.reshape(*maps.shape[:2], -1)
    order = rng.random((len(flat), flat.shape[2])).argsort(1)
    return np.take_along_axis(flat, order[:, None], 2).reshape(maps.shape)


def _share(values: Any, truth: Any) -> Any:
    """How much of all attribution lies on the background, (n,); nan where there is none."""
    total = values.sum((1, 2))
    return np.divide((values * truth).sum((1, 2)), total, out=np.full(len(total), np.nan), where=total > 0)


def _weights(values: Any, numbers: Any, painted: bool) -> Any:
    """The weight of each part: what its pixels sum to, or, where it was painted on them, what each has."""
    sums = np.bincount(numbers.ravel(), values.sum(0).ravel())
    return sums / np.bincount(numbers.ravel()) if painted else sums


def part_share(weights: Any, stage: Stage) -> Any:
    """How much of all |weight| lies on the background, (n,): a part's counts by how much of it is background."""
    found = []
    for each, numbers, truth in zip(weights, stage.parts, stage.truth, strict=True):
        inside = np.bincount(numbers.ravel(), truth.ravel()) / np.bincount(numbers.ravel())
        total = np.abs(each).sum()
        found.append(np.abs(each) @ inside / total if total > 0 else np.nan)
    return np.array(found)


def show(cell: cells.Cell) -> str:
    shares = {name: each["parts"]["mean"] for name, each in cell["methods"].items()}
    best = sorted(shares, key=lambda name: -shares[name])[:3]
    told = ", ".join(f"{name} {shares[name]:.2f}" for name in best)
    right = f"right before its own place {cell['as_trained']:.0%}, on places alone {cell['alone']:.0%}"
    return f"{right}; most on the background: {told}; {sum(cell['seconds'].values()):.0f} s"


def arguments() -> argparse.ArgumentParser:
    parser = seeds.arguments(__doc__, "spurious")
    parser.add_argument("--samples", type=int, default=1000, help="of LIME and KernelSHAP")
    return parser


def main(settings: argparse.Namespace) -> None:
    seeds.run("spurious", settings, measure, key=KEY, places=scenes.PLACES, show=show)


if __name__ == "__main__":
    main(arguments().parse_args())
