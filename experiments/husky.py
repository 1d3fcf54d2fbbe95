"""Is it the animal, or the snow? Two breeds, one always on snow, and whether explanations tell (LIME §6.4, D3).

A *bad* model learns from pictures where one breed is always on snow and the other never; a *good* one from the
same animals before mixed backgrounds. Both are a logistic regression on early features. Animals are cut out and
put before backgrounds here, so that it is known which pixels are background: how much of an explanation lies there
is measured for both models on the same test pictures, and simulated raters say whether they trust the model.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cells
import pets
import veridical as vd
from early import FEATURES
from raters import SEEN, panel
from sets import NoDataError

KEY = ("features", "pair", "seed", "animals")
PAIRS = (  # the first of each is the one on snow
    "samoyed/keeshond",
    "pug/chihuahua",
    "beagle/boxer",
    "saint_bernard/yorkshire_terrier",
    "Russian_Blue/Siamese",
    "Bengal/Persian",
)
TRAINED: dict[str, Callable[[bool, int], bool]] = {  # whether a copy of an animal is on snow
    "bad": lambda first, copy: first,
    "good": lambda first, copy: copy % 2 == 0,
}
COPIES = 4  # pictures made of each animal to train on
C = 0.01
SHOWN = 5  # regions that a rater sees: the heaviest of those in favor of the prediction
REPRESENT = vd.Superpixels(n=32, fill=vd.fills.Constant(0.5))  # gray, as in the paper
METHODS = {"Lime": vd.Lime(n_samples=512, surrogate=vd.surrogates.Linear()), "Occlusion": vd.Occlusion()}
DRAW = 64  # of seeds


def made(
    animals: Sequence[pets.Cutout], first: str, how: str, rng: Any, behind: pets.Backgrounds
) -> list[pets.Scene]:
    """Pictures to train on."""
    found = []
    for animal in animals:
        for copy in range(COPIES):
            snow = TRAINED[how](animal.breed == first, copy)
            found.append(pets.scene(animal, behind.draw(snow, rng), snow, bool(rng.random() < 0.5)))
    return found


def tested(animals: Sequence[pets.Cutout], rng: Any, behind: pets.Backgrounds) -> list[pets.Scene]:
    """Each test animal on snow, and elsewhere."""
    return [pets.scene(animal, behind.draw(snow, rng), snow) for animal in animals for snow in (True, False)]


def stacked(scenes: Sequence[pets.Scene]) -> Any:
    return np.stack([scene.picture for scene in scenes]).astype(np.float32)


def fitted(scenes: Sequence[pets.Scene], first: str, features: str) -> Any:
    """A pipeline from pictures to the probability of each breed; class 1 is the first."""
    labels = [int(scene.breed == first) for scene in scenes]
    model = make_pipeline(FEATURES[features](), StandardScaler(), LogisticRegression(C=C, max_iter=2000))
    return model.fit(stacked(scenes), labels)


def shown(trial: vd.metrics.Trial, rng: np.random.Generator) -> float:
    """How much of the heaviest regions in favor of the prediction is background."""
    weights, truth = trial.explanation.weights, trial.truth
    mixed = rng.permutation(len(weights))  # equal weights in no order of the picture
    best = mixed[np.argsort(-weights[mixed], kind="stable")][:SHOWN]
    best = best[weights[best] > 0]
    if truth is None or not len(best):
        raise vd.errors.InputError("no region is in favor of the prediction")
    return float(truth[best].mean())


SHARE = vd.metrics.Metric(
    "shown", shown, "lower", "truth", "How much of the heaviest regions in favor is background."
)


def measure(cell: cells.Cell, data: Path, pictures: Path | None = None) -> dict[str, Any]:
    """Two breeds, one seed: both models, their accuracy, and what explanations of them show."""
    first, second = cell["pair"].split("/")
    rng = np.random.default_rng([DRAW, cell["seed"]])
    train, test = (
        [animal for breed in (first, second) for animal in pets.cutouts(data, breed, split)]
        for split in ("trainval", "test")
    )
    behind = [pets.Backgrounds.read(data, test=of_test) for of_test in (False, True)]
    models = {how: fitted(made(train, first, how, rng, behind[0]), first, cell["features"]) for how in TRAINED}
    whole = tested(test, rng, behind[1])
    some = chosen(test, (first, second), cell["animals"], rng)
    explained = [scene for scene in whole if scene.name in some]
    found: dict[str, Any] = {
        "names": [scene.name for scene in explained],
        "snow": [scene.snow for scene in explained],
        "first": [scene.breed == first for scene in explained],
        "area": [float(scene.background.mean()) for scene in explained],
    }
    for how, model in models.items():
        found[how] = {**accuracy(model, whole, first), **on_background(model, explained, cell["seed"])}
        right = model.predict(stacked(explained)) == np.array(found["first"])
        found[how]["right"] = right.tolist()
        found[how]["raters"] = panel(found, how, cell["seed"])
    if pictures is not None:
        from husky_pictures import draw

        draw(models, explained, cell["pair"], pictures / f"{first}-{second}-{cell['seed']}.png")
    return found


def chosen(animals: Sequence[pets.Cutout], breeds: Sequence[str], n: int, rng: Any) -> set[str]:
    """Names of n animals of each breed."""
    names = [[animal.name for animal in animals if animal.breed == breed] for breed in breeds]
    return {name for each in names for name in rng.permutation(each)[:n]}


def accuracy(model: Any, scenes: Sequence[pets.Scene], first: str) -> dict[str, float]:
    """How often it is right, before any background and before those it knows; how often it goes by the snow."""
    said = model.predict(stacked(scenes)).astype(bool)
    breed, snow = (np.array([f(s) for s in scenes]) for f in (lambda s: s.breed == first, lambda s: s.snow))
    return {
        "accuracy": float(np.mean(said == breed)),
        "as_trained": float(np.mean((said == breed)[breed == snow])),
        "follows": float(np.mean(said == snow)),
        "flips": float(np.mean(said[0::2] != said[1::2])),  # of the same animal, on snow and elsewhere
    }


def on_background(model: Any, scenes: Sequence[pets.Scene], seed: int) -> dict[str, Any]:
    """By method and null row, what raters see of the background, and its share of all weight, one a picture."""
    report = vd.evaluate(
        model.predict_proba,
        REPRESENT,
        list(stacked(scenes)),
        methods=METHODS,
        metrics=[SHARE, "mass"],
        truth=[scene.background for scene in scenes],
        rng=seed,
    )
    values: dict[str, Any] = {"shown": {}, "mass": {}, "calls": report.n_calls}
    for score in report.scores:
        values[score.metric][score.method] = [None if np.isnan(v) else float(v) for v in score.values]
    return values


def show(cell: cells.Cell) -> str:
    pieces = []
    for how in TRAINED:
        model = cell[how]
        seen = np.nanmean(np.array(model["shown"]["Lime"], float))
        trusted = f"{model['raters']['accuracy alone']} then {model['raters']['Lime']} of {model['raters']['n']}"
        pieces.append(f"{how} {model['accuracy']:.0%} right, {seen:.0%} of it background, trusted by {trusted}")
    return "; ".join(pieces)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="folder with pets/ (images, trimaps, index.csv) and backgrounds/"
    )
    parser.add_argument("--features", choices=FEATURES, default="patches", help="network needs EfficientNet-Lite0")
    parser.add_argument("--pairs", nargs="+", default=list(PAIRS), help="breeds, the one on snow first")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="of backgrounds and test animals")
    parser.add_argument("--animals", type=int, default=8, help="of each breed that are explained, twice each")
    parser.add_argument("--full", action="store_true", help="ten seeds, and all test animals explained")
    parser.add_argument("--pictures", type=Path, help="folder outside the project for pictures like Figure 11")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=1800, help="seconds after which a cell is given up")
    parser.add_argument("--resume", action="store_true", help="leave what was measured without an error as it is")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / "husky.json")
    return parser


def main(settings: argparse.Namespace) -> None:
    try:
        pets.check(settings.data, [breed for pair in settings.pairs for breed in pair.split("/")])
    except NoDataError as error:
        raise SystemExit(f"husky: {error}") from None
    if settings.animals < max(SEEN.values()):
        raise SystemExit(f"husky: --animals wants at least {max(SEEN.values())}, for raters see so many of a kind")
    outside(settings.pictures)
    results = cells.Results(settings.out, "husky", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    seeds, animals = (range(10), 24) if settings.full else (settings.seeds, settings.animals)
    wanted = [
        {"features": settings.features, "pair": pair, "seed": seed, "animals": animals}
        for seed in seeds
        for pair in settings.pairs
    ]
    cells.work(
        results,
        wanted,
        lambda cell: measure(cell, settings.data, settings.pictures),
        resume=settings.resume,
        jobs=settings.jobs,
        limit=settings.limit,
        show=show,
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables: python experiments/report.py --only husky")


def outside(folder: Path | None) -> None:
    """Photographs of others are not for the project."""
    if folder is None:
        return
    if folder.resolve().is_relative_to(Path(__file__).resolve().parents[1]):
        raise SystemExit(
            f"husky: {folder} lies inside the project, and the photographs are not ours: name another"
        )
    folder.mkdir(parents=True, exist_ok=True)


if __name__ == "__main__":
    main(arguments().parse_args())
