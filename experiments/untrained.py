"""Networks that were never trained, made anew from the top: which maps notice is a matter of the backward rule.

Six convolutions, three pools, two dense layers, smooth noise for pictures; rank correlations with the first map
after each step, value by value and of the sizes of pixels. Nothing has to be there but torch.
"""

from __future__ import annotations

import argparse
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from scipy.stats import spearmanr
from torch import nn

import cells
import veridical as vd

KEY = ("method", "seed", "pictures")
METHODS = {
    "Grad": vd.gradients.Gradient(absolute=False),
    "GBP": vd.gradients.GuidedBackprop(),
    "DConvNet": vd.gradients.DeconvNet(),
}
STEPS = {1: "last dense", 2: "both dense", 4: "conv 4 of 6", 6: "conv 2 of 6", 8: "everything"}  # layers anew
SIDE, SMOOTH = 64, 2.0
ANOTHER = 100  # apart from the seeds asked for


def network(seed: int) -> Any:
    """Six convolutions of 32 to 128, three pools, two dense layers, as He et al. 2015 start them."""
    rng, layers, width = torch.Generator().manual_seed(seed), list[Any](), 3
    for wider in (32, 64, 128):
        for _ in range(2):
            layers += [nn.Conv2d(width, wider, 3, padding=1), nn.ReLU()]
            width = wider
        layers.append(nn.MaxPool2d(2))
    module = nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 64, 256), nn.ReLU(), nn.Linear(256, 10))
    for part in weighted(module):
        nn.init.kaiming_normal_(part.weight, nonlinearity="relu", generator=rng)
        nn.init.zeros_(part.bias)
    return module.eval()


def weighted(module: Any) -> list[Any]:
    return [part for part in module if hasattr(part, "weight")]


def alike(first: Any, later: Any) -> tuple[float, float]:
    """Rank correlations of two maps (3, h, w): value by value, and of the size of each pixel."""
    sizes = [np.abs(each).sum(axis=0).ravel() for each in (first, later)]
    return spearmanr(first.ravel(), later.ravel())[0], spearmanr(*sizes)[0]


def cascade(method: Any, seed: int, pictures: int) -> Any:
    """(1 + steps, 2): means over pictures, of no step first."""
    noise = np.random.default_rng(seed).normal(size=(pictures, 3, SIDE, SIDE))
    smooth = gaussian_filter(noise, (0, 0, SMOOTH, SMOOTH))
    x = torch.as_tensor(smooth / smooth.std(), dtype=torch.float32)
    module, other, found = network(seed), network(seed + ANOTHER), []
    targets = module(x).argmax(dim=1)
    first, changed = method.maps(vd.Network(module), x, targets).values, deepcopy(module)
    pairs = list(zip(weighted(changed), weighted(other), strict=True))[::-1]
    for step in range(len(pairs) + 1):
        if step:
            pairs[step - 1][0].load_state_dict(pairs[step - 1][1].state_dict())
        if step in (0, *STEPS):
            later = method.maps(vd.Network(changed), x, targets).values
            found.append(np.mean([alike(a, b) for a, b in zip(first, later, strict=True)], axis=0))
    return np.array(found)


def measure(cell: cells.Cell) -> dict[str, Any]:
    torch.set_num_threads(1)
    return {"steps": cascade(METHODS[cell["method"]], cell["seed"], cell["pictures"])[1:].tolist()}


def show(cell: cells.Cell) -> str:
    return "signed and of sizes " + ", ".join(f"{signed:.2f} {sizes:.2f}" for signed, sizes in cell["steps"])


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="networks, each with pictures of its own")
    parser.add_argument("--pictures", type=int, default=4, help="a network")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--resume", action="store_true", help="leave what was measured without an error as it is")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / "untrained.json")
    return parser


def main(settings: argparse.Namespace) -> None:
    results = cells.Results(settings.out, "untrained", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(None)]))
    wanted = [
        {"method": method, "seed": seed, "pictures": settings.pictures}
        for seed in range(settings.seeds)
        for method in METHODS
    ]
    cells.work(results, wanted, measure, resume=settings.resume, jobs=settings.jobs, show=show)
    print(f"{results.path}: {len(results.cells)} cells. Tables: python experiments/report.py --only untrained")


if __name__ == "__main__":
    main(arguments().parse_args())
