"""A small copy of the data for experiments with networks: fewer pictures, at the size that is needed.

``python experiments/pack.py --data DIR --out PACK``; then PACK is the ``--data`` of labels, randomize, ood and
veracity, the last of which wants ``--parts spoken machines tagged photos weights``. The weights of
EfficientNet-Lite0 are rounded to half precision: its logits move by 0.03 at most. So are those of the tagger, and
spectrograms.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image

import flips
import lite0
import photos
import spoken
import standins
import tags
import trained
from sets import NoDataError

SIZES = {photos.CLOTHES: (4000, 600), photos.DIGITS: (3000, 300)}  # to train on, and to test on
OF_MACHINES = {standins.PICTURES: (1800, 240)}
N_PHOTOS = 120
QUALITY = 85  # of JPEG


def small(data: Path, out: Path, sizes: Mapping[str, tuple[int, int]] = SIZES) -> None:
    """Clothes and digits, or others."""
    for file, (n, n_test) in sizes.items():
        with np.load(data / file) as found:
            kept = {k: found[k] for k in found.files}
        cut = {k: v[: n_test if k.endswith("_test") else n] if "_" in k else v for k, v in kept.items()}
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(out / file, **cut)


def pets(data: Path, out: Path) -> None:
    """All pets at the side of the network."""
    rows = pd.read_csv(data / photos.PETS)
    folder = out / "pets/images"
    folder.mkdir(parents=True, exist_ok=True)
    rows.to_csv(out / photos.PETS, index=False)
    for name in rows["name"]:
        save(photos.read(data / f"pets/images/{name}.jpg", trained.PETS_SIDE), folder / f"{name}.jpg")


def save(picture: Any, path: Path) -> None:
    Image.fromarray((255 * picture).round().astype(np.uint8)).save(path, quality=QUALITY)


def sampled(data: Path, out: Path) -> None:
    """Photographs, spread over the classes."""
    rows = pd.read_csv(data / photos.PHOTOS)
    some = rows.iloc[np.sort(np.random.default_rng(0).permutation(len(rows))[:N_PHOTOS])]
    folder = out / "imagenet_samples/images"
    folder.mkdir(parents=True, exist_ok=True)
    some.to_csv(out / photos.PHOTOS, index=False)
    for file in some["file"]:
        picture = photos.read(data / f"imagenet_samples/images/{file}", lite0.SIDE, square=True)
        save(picture, folder / file)


def weights(out: Path) -> None:
    """Matrices and filters by half precision, the rest as it is."""
    (out / lite0.WEIGHTS).parent.mkdir(parents=True, exist_ok=True)
    state = {name: value.half() if value.ndim > 1 else value for name, value in lite0.weights().items()}
    torch.save(state, out / lite0.WEIGHTS)


def tables(data: Path, out: Path) -> None:
    """As many rows of each table as are used."""
    for known in flips.TABLES.values():
        (out / known.file).parent.mkdir(parents=True, exist_ok=True)
        flips.some(pd.read_csv(data / known.file)).to_csv(out / known.file, index=False)


def digits(data: Path, out: Path) -> None:
    """Spoken digits as spectrograms."""
    X, which, takes = spoken.heard(data)
    (out / spoken.PACKED).parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out / spoken.PACKED, X=X.astype(np.float16), digits=which, takes=takes)


def tagged(data: Path, out: Path) -> None:
    """Excerpts of music as the tagger hears them, and its weights."""
    X, voiced = tags.heard(data)
    (out / tags.PACKED).parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out / tags.PACKED, X=X.astype(np.float16), voiced=voiced)
    kept = {name: value.numpy().astype(np.float16) for name, value in tags.weights().items()}
    np.savez_compressed(out / tags.WEIGHTS, **kept)


PARTS: dict[str, Callable[[Path, Path], None]] = {
    "small": small,
    "pets": pets,
    "photos": sampled,
    "tables": tables,
    "weights": lambda data, out: weights(out),
    "spoken": digits,
    "machines": partial(small, sizes=OF_MACHINES),
    "tagged": tagged,
}


WANTED: dict[str, list[str]] = {  # files of each part
    "small": list(SIZES),
    "pets": [photos.PETS],
    "photos": [photos.PHOTOS],
    "tables": [known.file for known in flips.TABLES.values()],
    "weights": [],
    "spoken": [spoken.FOLDER],
    "machines": list(OF_MACHINES),
    "tagged": list(tags.FOLDERS),
}


def main(settings: argparse.Namespace) -> None:
    try:
        photos.check(settings.data, [file for name in settings.parts for file in WANTED[name]])
    except NoDataError as error:
        raise SystemExit(f"pack: {error}") from None
    for name in settings.parts:
        PARTS[name](settings.data, settings.out)
    sizes = {
        folder.name: sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
        for folder in sorted(settings.out.iterdir())
    }
    told = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in sizes.items())
    print(f"{settings.out}: {sum(sizes.values()) / 1e6:.1f} MB ({told})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder to copy from")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write, outside the project")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    main(parser.parse_args())
