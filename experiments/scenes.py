"""Cats and dogs before two kinds of places, as arrays: what a network is trained on, with or without a shortcut.

``python experiments/scenes.py --data DIR --pack SMALL`` writes all that is needed of it, cut out and resized, to
another folder, which serves as ``--data`` as well and is a third as large.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

import cnn
import pets
from sets import NoDataError

SPECIES = ("cat", "dog")
PLACES = ("bluesky", "emptyroom")  # of cats and of dogs, where there is a shortcut
NETWORKS = {"bugged": True, "clean": False}  # whether the place tells the species
PACKED = "pets/cutouts.npz"
ZOOM, SHIFT = 0.15, 0.1  # how much larger or smaller an animal may be in training, and how far aside
POOL = 512  # pieces of photographs of each kind to train on
RATE = 5e-4  # of learning: at twice of it the network without a shortcut learns nothing for some epochs


@dataclass(frozen=True, eq=False)
class Animals:
    """Animals without their background: uint8 (n, 4, side, side).

    The last channel is how much of a pixel is animal, and the colors are multiplied by it.
    """

    names: Any  # (n,)
    labels: Any  # (n,); places in SPECIES
    layers: Any

    def of(self, rows: Any) -> Animals:
        return Animals(self.names[rows], self.labels[rows], self.layers[rows])

    def balanced(self, n: int | None, rng: np.random.Generator) -> Animals:
        """So many of each species, or as many as there are of the rarer one."""
        kinds = [np.flatnonzero(self.labels == label) for label in range(len(SPECIES))]
        least = min(map(len, kinds))
        if n is not None and n > least:
            raise SystemExit(f"wanted {n} animals of each species, but there are {least}: ask for fewer")
        return self.of(np.concatenate([rng.permutation(rows)[: n or least] for rows in kinds]))


def check(data: Path | None, places: Sequence[str]) -> None:
    """Say what is missing before any work."""
    if data is None or not (data / PACKED).exists():
        pets.check(data, [])
    assert data is not None
    for place in places:
        if len(list((data / "backgrounds" / place).glob("*.jpg"))) < 2:
            raise NoDataError(
                f"wanted two photographs or more in {data / 'backgrounds' / place}: choose another place"
            )


def animals(data: Path, split: str) -> Animals:
    """All of a part of the set, "trainval" or "test": from the packed file where there is one."""
    if (data / PACKED).exists():
        with np.load(data / PACKED) as file:
            rows, layers = file["split"] == split, file["layers"]
            if layers.shape[-1] != pets.SIDE:
                raise SystemExit(f"{data / PACKED} is of another size than {pets.SIDE}: pack it again")
            return Animals(file["names"][rows], file["labels"][rows], layers[rows])
    rows = [row for row in pets.index(data) if row["split"] == split]
    rows = [row for row in rows if float(row["foreground_fraction"]) > pets.LEAST]
    layers = np.stack([_layers(pets.cutout(data, row)) for row in rows])
    return Animals(
        np.array([row["name"] for row in rows]), np.array([SPECIES.index(row["species"]) for row in rows]), layers
    )


def _layers(cut: pets.Cutout) -> Any:
    """Colors and cover in whole numbers; what is behind the animal is black."""
    cover = cut.cover[..., None]
    both = np.concatenate([cut.colors * cover, cover], axis=-1)
    return np.rint(255 * both.clip(0, 1)).astype(np.uint8).transpose(2, 0, 1)


def pack(data: Path, to: Path) -> None:
    """Animals cut out and photographs of places, in a folder of their own."""
    parts = {split: animals(data, split) for split in ("trainval", "test")}
    (to / PACKED).parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        to / PACKED,
        names=np.concatenate([part.names for part in parts.values()]),
        labels=np.concatenate([part.labels for part in parts.values()]),
        layers=np.concatenate([part.layers for part in parts.values()]),
        split=np.repeat(list(parts), [len(part.names) for part in parts.values()]),
    )
    shutil.copytree(data / "backgrounds", to / "backgrounds", dirs_exist_ok=True)


def pieces(data: Path, place: str, n: int, *, test: bool, seed: int) -> torch.Tensor:
    """So many squares of photographs of a place, (n, 3, side, side) of 0 to 1."""
    rng, photos = np.random.default_rng([seed, int(test), *place.encode()]), pets.photographs(data, place, test)
    cut = np.stack([pets.piece(photos, rng) for _ in range(n)])
    return torch.as_tensor(cut.astype(np.float32).transpose(0, 3, 1, 2))


def pasted(layers: torch.Tensor, behind: torch.Tensor) -> torch.Tensor:
    """Animals (n, 4, side, side) of 0 to 1 before what is behind them, in the network's units."""
    return cnn.scaled(layers[:, :3] + behind * (1 - layers[:, 3:]))


@dataclass(frozen=True, eq=False)
class Before:
    """Puts every animal of a batch before a place: with the shortcut always that of its species, else either."""

    pools: torch.Tensor  # (species, n, 3, side, side)
    shortcut: bool

    def __call__(self, layers: torch.Tensor, labels: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        n, device = len(layers), layers.device
        chance = torch.rand(n, 6, generator=generator).to(device)
        place = labels if self.shortcut else (chance[:, 0] < 0.5).long()
        behind = self.pools[place, (chance[:, 1] * self.pools.shape[1]).long()]
        moved = torch.zeros(n, 2, 3, device=device)
        larger = 1 + ZOOM * (2 * chance[:, 2] - 1)
        moved[:, 0, 0] = torch.where(chance[:, 3] < 0.5, larger, -larger)  # from either side
        moved[:, 1, 1] = larger
        moved[:, :, 2] = 2 * SHIFT * (2 * chance[:, 4:] - 1)
        grid = functional.affine_grid(moved, [n, 4, *layers.shape[2:]], align_corners=False)
        return pasted(functional.grid_sample(layers.float() / 255, grid, align_corners=False), behind)


def before(data: Path, found: Animals, shortcut: bool, n: int, *, seed: int) -> Any:
    """So many of the pictures that a network is trained on, (n, side, side, 3) of 0 to 1."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(found.labels), generator=generator)[:n]
    pools = torch.stack([pieces(data, place, n, test=False, seed=seed) for place in PLACES])
    layers, labels = torch.as_tensor(found.layers)[rows], torch.as_tensor(found.labels)[rows]
    return pictures(Before(pools, shortcut)(layers, labels, generator))


def pictures(inputs: torch.Tensor) -> Any:
    """The network's input as pictures again."""
    return (inputs * cnn.SPREAD + cnn.MIDDLE).clamp(0, 1).permute(0, 2, 3, 1).contiguous().cpu().numpy()


def trained(data: Path, found: Animals, shortcut: bool, *, seed: int, device: str, epochs: int) -> Any:
    """A network that learns cats from dogs, before places that tell them apart or do not."""
    pools = torch.stack([pieces(data, place, POOL, test=False, seed=seed) for place in PLACES]).to(device)
    how = cnn.Training(epochs=epochs, rate=RATE)
    module = cnn.built(len(SPECIES), pets.SIDE, widths=cnn.WIDTHS, seed=seed).to(device)
    return cnn.train(module, found.layers, found.labels, seed=seed, how=how, augment=Before(pools, shortcut))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with pets/ and backgrounds/")
    parser.add_argument("--pack", type=Path, required=True, help="folder to write, to be given as --data later")
    settings = parser.parse_args()
    try:
        check(settings.data, PLACES)
    except NoDataError as error:
        raise SystemExit(f"scenes: {error}") from None
    pack(settings.data, settings.pack)
    size = sum(path.stat().st_size for path in settings.pack.rglob("*") if path.is_file())
    print(f"Written: {settings.pack}, {size / 1e6:.1f} MB")
