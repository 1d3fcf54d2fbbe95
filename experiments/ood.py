"""Clothes explained by a network that never saw any: do the maps look like those of the right one? (Table 3)

Pictures of Fashion-MNIST are explained by a network trained on them, by one trained on digits and by one trained
on cats and dogs, as in Adebayo et al. 2020, and by two more: one trained on the same clothes from another seed,
which is as alike as a right network gets, and one that was not trained at all. Each explains its own prediction.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cells
import cnn
import likeness
import photos
import trained
from fifteen import METHODS, RANDOM, SIGNED, Asked, maps
from sets import NoDataError

KEY = ("method", "seed", "n")
ANOTHER = 1000  # apart from the seeds asked for
TIMES, BORDER = 3, 6  # clothes for the network of pets: each pixel three times as large, black around them
PAIRS = ("digits", "pets", "another seed", "untrained")
WANTED = (photos.CLOTHES, photos.DIGITS, photos.PETS)
BACKGROUND = 200  # training pictures for what needs them


def network(kind: str, data: Path, seed: int, folder: Path, device: str) -> Any:
    """One of those that explain, by what it learned from."""
    if kind == "untrained":
        return cnn.built(10, 28, 1, seed=seed + ANOTHER).to(device).eval().requires_grad_(False)
    found = learned_from(kind, data)
    if kind == "pets":
        return trained.of_pets(folder, kind, found, found.train_y, seed, device)
    own = seed + ANOTHER if kind == "another seed" else seed
    return trained.small(folder, "digits" if kind == "digits" else "clothes", found, found.train_y, own, device)


def learned_from(kind: str, data: Path) -> photos.Pictures:
    if kind == "pets":
        return photos.pets(data, trained.PETS_SIDE)
    return photos.small(data, photos.DIGITS if kind == "digits" else photos.CLOTHES)


def enlarged(pictures: Any) -> Any:
    """Gray pictures (n, 28, 28) as the network of pets takes them, (n, 96, 96, 3)."""
    large = np.kron(pictures, np.ones((1, TIMES, TIMES), pictures.dtype))
    return np.repeat(np.pad(large, ((0, 0), (BORDER, BORDER), (BORDER, BORDER)))[..., None], 3, axis=-1)


def reduced(found: Any) -> Any:
    """Maps of enlarged pictures, (n, channels, 96, 96), over the pixels these were: (n, 9 channels, 28, 28)."""
    inner = found[..., BORDER:-BORDER, BORDER:-BORDER]
    n, channels, side, _ = inner.shape
    cut = inner.reshape(n, channels, side // TIMES, TIMES, side // TIMES, TIMES)
    return cut.permute(0, 1, 3, 5, 2, 4).reshape(n, -1, side // TIMES, side // TIMES)


def explained(method: str, kind: str, module: Any, pictures: Any, background: Any, seed: int) -> Any:
    """Maps of clothes by one of the networks, (n, channels, 28, 28)."""
    device = str(next(module.parameters()).device)
    parts = trained.squares(pictures.shape[1])
    if kind == "pets":
        pictures, background = enlarged(pictures), enlarged(background)
        parts = trained.squares(pictures.shape[1], border=BORDER)
    targets = trained.predicted(module, pictures)
    asked = Asked(trained.asking(module, device), pictures, targets, background, parts)
    found = maps(method, asked, seed, SIGNED)
    return reduced(found) if kind == "pets" else found


def measure(cell: cells.Cell, data: Path, folder: Path, device: str) -> dict[str, Any]:
    """One method, one seed: how alike the maps are to those of the right network."""
    torch.set_num_threads(1)
    clothes = photos.small(data, photos.CLOTHES)
    pictures, seed = clothes.test[: cell["n"]], cell["seed"]
    modules = {kind: network(kind, data, seed, folder, device) for kind in ("own", *PAIRS)}
    background = clothes.train[:BACKGROUND]
    shown = {
        kind: likeness.shown(explained(cell["method"], kind, module, pictures, background, seed).to(device))
        for kind, module in modules.items()
    }
    again = shown["own"]
    if cell["method"] in RANDOM:
        other = explained(cell["method"], "own", modules["own"], pictures, background, seed + ANOTHER)
        again = likeness.shown(other.to(device))
    itself = likeness.compared(shown["own"], again)
    return {
        "explained": len(pictures),
        "accuracy": accuracies(modules, data),
        "itself": {name: likeness.summed(itself[name]) for name in likeness.MEASURES},
        **{kind: likeness.judged(shown["own"], shown[kind], itself, seed) for kind in PAIRS},
    }


def accuracies(modules: dict[str, Any], data: Path) -> dict[str, float]:
    """How good each network is at what it learned."""
    tests = {kind: learned_from(kind, data) for kind in modules}
    return {
        kind: cnn.accuracy(module, cnn.prepare(tests[kind].test), tests[kind].test_y)
        for kind, module in modules.items()
    }


def show(cell: cells.Cell) -> str:
    told = []
    for kind in PAIRS:
        looks, ranks = (cell[kind]["observed"][name]["mean"] for name in ("ssim_abs", "rank_signed"))
        by_chance = cell[kind]["another"]["ssim_abs"]["mean"]
        told.append(f"{kind} {looks:.2f} (another picture {by_chance:.2f}), rank {ranks:.2f}")
    return "; ".join(told)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with fashion_mnist/, mnist/ and pets/, or a pack of it")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="all by default")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="of the networks and of draws")
    parser.add_argument("--n", type=int, default=190, help="pictures explained")
    parser.add_argument("--full", action="store_true", help="five seeds")
    parser.add_argument("--weights", type=Path, default=trained.FOLDER, help="where trained networks are kept")
    return trained.run_by(parser, "ood")


def main(settings: argparse.Namespace) -> None:
    try:
        photos.check(settings.data, WANTED)
    except NoDataError as error:
        raise SystemExit(f"ood: {error}") from None
    cnn.check_device(settings.device)
    trained.check_folder(settings.weights)
    results = cells.Results(settings.out, "ood", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    seeds = trained.seeds_of(settings.seeds, settings.full)
    wanted = [{"method": m, "seed": s, "n": settings.n} for s in seeds for m in settings.methods]
    if not (settings.resume and all(map(results.has, wanted))):
        trained.ready(
            [
                partial(network, kind, settings.data, seed, settings.weights, settings.device)
                for seed in seeds
                for kind in ("pets", "own", "digits", "another seed")
            ],
            settings.jobs,
        )
    cells.work(
        results,
        wanted,
        lambda cell: measure(cell, settings.data, settings.weights, settings.device),
        resume=settings.resume,
        jobs=settings.jobs,
        limit=settings.limit,
        show=show,
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables: python experiments/report.py --only ood")


if __name__ == "__main__":
    main(arguments().parse_args())
