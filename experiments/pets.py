"""Pets cut out of photographs and put before other backgrounds, so that it is known what a model should go by."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy.ndimage import binary_dilation
from skimage.transform import resize

from sets import NoDataError

SIDE = 96  # pixels of a picture
FILLED = 0.4  # share of a picture that is animal
LEAST = 0.05  # of a photograph that must be animal: with less, the trimap cannot be right
SNOW = "snow"
ANIMAL = 1  # of a trimap; 2 is the background, 3 between the two
RIM = 2  # pixels of a photograph that are taken along beyond the animal: more would show where it was


@dataclass(frozen=True, eq=False)
class Cutout:
    """An animal without its background: colors (side, side, 3), and how much of each pixel is animal."""

    name: str
    breed: str
    colors: Any
    cover: Any


@dataclass(frozen=True, eq=False)
class Scene:
    """A picture (side, side, 3) of 0 to 1, where it is background, and what it shows."""

    picture: Any
    background: Any  # bool (side, side)
    breed: str
    snow: bool
    name: str


def check(data: Path | None, breeds: Sequence[str]) -> None:
    """Say what is missing before any work."""
    wanted = "pets/index.csv, pets/images, pets/trimaps and backgrounds/"
    if data is None:
        raise NoDataError(f"wanted {wanted}: name their folder by --data DIR")
    for path in (
        data / "pets/index.csv",
        data / "pets/images",
        data / "pets/trimaps",
        data / "backgrounds" / SNOW,
    ):
        if not path.exists():
            raise NoDataError(f"wanted {wanted}; looked for {path}, which is not there. Give another --data")
    missing = set(breeds) - {row["breed"] for row in index(data)}
    if missing:
        raise NoDataError(f"pets/index.csv has no {', '.join(sorted(missing))}: choose other --pairs")


def cutouts(data: Path, breed: str, split: str) -> list[Cutout]:
    """All animals of a breed in a part of the set, "trainval" or "test"."""
    rows = [row for row in index(data) if (row["breed"], row["split"]) == (breed, split)]
    return [cutout(data, row) for row in rows if float(row["foreground_fraction"]) > LEAST]


def index(data: Path) -> list[dict[str, str]]:
    with (data / "pets/index.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _photo(path: Path) -> Any:
    return np.asarray(Image.open(path).convert("RGB")) / 255.0


def cutout(data: Path, row: dict[str, str]) -> Cutout:
    """A square in the middle of the animal, so large that the animal fills its share of it."""
    trimap = np.asarray(Image.open(data / f"pets/trimaps/{row['name']}.png"))
    picture = _photo(data / f"pets/images/{row['name']}.jpg")
    cover = binary_dilation(trimap == ANIMAL, iterations=RIM).astype(float)
    down, across = np.nonzero(cover)
    middle = down.mean(), across.mean()
    apart = np.maximum(abs(down - middle[0]), abs(across - middle[1]))
    inside = np.bincount(np.ceil(apart).astype(int), minlength=max(trimap.shape)).cumsum()
    share = inside / (2 * np.arange(len(inside)) + 1) ** 2  # of squares around the middle
    half = int(np.flatnonzero(share >= min(FILLED, share[8:].max())).max())
    edges = [(round(m) - half, round(m) + half + 1) for m in middle]
    size = (SIDE, SIDE)
    colors = resize(_cut(picture, edges, "edge"), size, anti_aliasing=True)
    return Cutout(
        row["name"], row["breed"], colors, resize(_cut(cover, edges, "constant"), size, anti_aliasing=True)
    )


def _cut(array: Any, edges: Sequence[tuple[int, int]], mode: Any) -> Any:
    """A piece of a picture that may reach beyond it."""
    around = [(max(-low, 0), max(high - n, 0)) for (low, high), n in zip(edges, array.shape, strict=False)]
    wide = np.pad(array, [*around, *[(0, 0)] * (array.ndim - 2)], mode=mode)
    (top, bottom), (left, right) = (
        (low + before, high + before) for (low, high), (before, _) in zip(edges, around, strict=True)
    )
    return wide[top:bottom, left:right]


def kinds(data: Path) -> list[str]:
    """Of places that there are photographs of."""
    return sorted(path.name for path in (data / "backgrounds").iterdir() if path.is_dir())


def photographs(data: Path, kind: str, test: bool) -> list[Any]:
    """Of a kind of places; every third is for testing, the others are for training."""
    paths = sorted((data / "backgrounds" / kind).glob("*.jpg"))
    return [_photo(path) for i, path in enumerate(paths) if (i % 3 == 1) == test]


def piece(photos: Sequence[Any], rng: np.random.Generator) -> Any:
    """A square of one of them, (side, side, 3), from either side."""
    photo = photos[rng.integers(len(photos))]
    size = int(min(photo.shape[:2]) * rng.uniform(0.5, 1.0))
    top, left = (int(rng.integers(n - size + 1)) for n in photo.shape[:2])
    found = resize(photo[top : top + size, left : left + size], (SIDE, SIDE), anti_aliasing=True)
    return found[:, ::-1] if rng.random() < 0.5 else found


@dataclass(frozen=True, eq=False)
class Backgrounds:
    """Photographs to put behind: of snow, and of other places."""

    snow: tuple[Any, ...]
    other: tuple[Any, ...]

    @classmethod
    def read(cls, data: Path, test: bool) -> Backgrounds:
        """Those for testing are other photographs than those for training."""
        found: dict[bool, list[Any]] = {True: [], False: []}
        for kind in kinds(data):
            found[kind == SNOW] += photographs(data, kind, test)
        return cls(tuple(found[True]), tuple(found[False]))

    def draw(self, snow: bool, rng: np.random.Generator) -> Any:
        """A piece of one of them, (side, side, 3)."""
        return piece(self.snow if snow else self.other, rng)


def scene(animal: Cutout, behind: Any, snow: bool, flip: bool = False) -> Scene:
    """The animal before a background."""
    colors, cover = (animal.colors, animal.cover)
    if flip:
        colors, cover = colors[:, ::-1], cover[:, ::-1]
    picture = colors * cover[..., None] + behind * (1 - cover[..., None])
    return Scene(picture, cover < 0.5, animal.breed, snow, animal.name)
