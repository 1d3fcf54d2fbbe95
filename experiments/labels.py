"""Wrong labels in the training data: do explanations show them? (Adebayo et al. 2020, section 3.2)

*Maps*: a tenth of the labels is flipped; how alike are the maps of such rows under the network that learned the
right labels and under the one that learned the wrong ones, and are they less alike than those of rows whose label
is right? *Scores*: of all rows, which are suspicious? Scores from explanations beside the training loss, influence
and TracIn, by precision among the tenth most suspicious and by AUROC.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import cells
import cnn
import flips
import likeness
import photos
import suspects
import suspicion
import trained
import veridical as vd
from fifteen import METHODS, PAINTED, RANDOM, SIGNED, Asked, maps
from sets import NoDataError
from veridical.metrics.significance import auroc

KEY = ("part", "set", "model", "method", "seed")
SETS = (*suspects.PICTURES, *flips.TABLES)
MODEL = "(the model)"  # in place of a method: scores without explanations
ANOTHER = 1000  # apart from the seeds asked for
EXPLAINED, SCORED, SLOW = 190, 1200, 400  # rows: for maps, for scores, for scores by slow methods
BACKGROUND = 200  # training rows for what needs them
SAMPLES, EACH = 256, 16  # of LIME and KernelSHAP, at least; and for each column of a table


def compared(cell: cells.Cell, data: Path, device: str, folder: Path) -> dict[str, Any]:
    """Maps of flipped rows, and of as many others, under the two networks."""
    learned = suspects.load(data, cell["set"], cell["seed"])
    right, misled = (
        suspicion.misled(learned, cell["set"], cell["seed"], device, folder, kind) for kind in ("right", "misled")
    )
    rng = np.random.default_rng([79, cell["seed"]])
    flipped = rng.permutation(np.flatnonzero(learned.wrong))[:EXPLAINED]
    others = rng.permutation(np.flatnonzero(~learned.wrong))[: len(flipped)]
    found: dict[str, Any] = {
        "n": len(flipped),
        "accuracy": {
            "right labels": cnn.accuracy(right, learned.inputs(learned.test), learned.test_y),
            "wrong labels": cnn.accuracy(misled, learned.inputs(learned.test), learned.test_y),
            "flipped rows as given": _share(learned, misled, flipped),
        },
    }
    for reading in ("predicted", "same"):
        both = [_pair(learned, cell, (right, misled), rows, reading, device) for rows in (flipped, others)]
        (first, second, again), (other_first, other_second, _) = both
        itself = likeness.compared(first, again)
        found[reading] = likeness.judged(first, second, itself, cell["seed"])
        alike = likeness.compared(first, second), likeness.compared(other_first, other_second)
        found[reading]["right ones"] = {m: likeness.summed(alike[1][m]) for m in likeness.MEASURES}
        found[reading]["auroc"] = {m: _told_apart(alike[0][m], alike[1][m]) for m in likeness.MEASURES}
    return found


def _share(learned: suspects.Learned, module: Any, rows: Any) -> float:
    """How many rows have the class that they were given as prediction: what was learned by heart."""
    return float(np.mean(learned.logits(module, learned.X[rows]).argmax(1) == learned.given[rows]))


def _pair(
    learned: suspects.Learned, cell: cells.Cell, modules: tuple[Any, Any], rows: Any, reading: str, device: str
) -> list[likeness.Shown]:
    """Maps under both networks, and under the first once more by another seed."""
    seeds = (cell["seed"], cell["seed"], cell["seed"] + ANOTHER)
    found: list[likeness.Shown] = []
    for module, seed in zip((*modules, modules[0]), seeds, strict=True):
        if len(found) == 2 and cell["method"] not in RANDOM:
            return [*found, found[0]]
        said = learned.logits(module, learned.X[rows]).argmax(1)
        targets = said if reading == "predicted" else learned.y[rows]
        network, mine = trained.asking(module, device), {**cell, "seed": seed}
        found.append(likeness.shown(_maps(learned, mine, network, rows, targets).to(device)))
    return found


def _maps(learned: suspects.Learned, cell: cells.Cell, network: vd.Network, rows: Any, targets: Any) -> Any:
    parts = trained.squares(learned.X.shape[1])
    asked = Asked(network, learned.X[rows], targets, learned.X[:BACKGROUND], parts, SAMPLES)
    return maps(cell["method"], asked, cell["seed"], SIGNED)


def _told_apart(flipped: Any, others: Any) -> float:
    """AUROC of flipped rows against others, the less alike the more suspicious."""
    return auroc(-np.concatenate([flipped, others]), np.arange(2 * len(flipped)) < len(flipped))[0]


def scored(cell: cells.Cell, data: Path, device: str, folder: Path) -> dict[str, Any]:
    """Scores of training rows without explanations, or of the maps of one method."""
    learned = suspects.load(data, cell["set"], cell["seed"])
    rows = np.arange(len(learned.X)) if cell["method"] == MODEL else _rows(learned, cell)
    wrong, given = learned.wrong[rows], learned.given[rows]
    if cell["method"] == MODEL:
        scores, right = suspicion.of_model(learned, cell["model"], cell["seed"], device)
        more: dict[str, Any] = {"accuracy": right}
    else:
        model = suspicion.model(learned, cell["model"], cell["set"], cell["seed"], device, folder)
        shown, base = _explained(learned, cell, model, rows, device)
        scores, more = suspicion.of_maps(shown, given, base), {"nulls": {}}
        for null, each in suspicion.nulls(shown, given, cell["seed"]).items():
            more["nulls"][null] = {name: suspicion.judged(s, wrong) for name, s in each.items()}
    judged = {name: suspicion.judged(each, wrong) for name, each in scores.items()}
    return {"n": len(rows), **more, "scores": judged}


def _rows(learned: suspects.Learned, cell: cells.Cell) -> Any:
    most = SLOW if cell["method"] in PAINTED else SCORED
    return np.sort(np.random.default_rng([80, cell["seed"]]).permutation(len(learned.X))[:most])


def _explained(learned: suspects.Learned, cell: cells.Cell, model: Any, rows: Any, device: str) -> tuple[Any, Any]:
    """What speaks for the label that each row was given, (n, …), and what that is added to, where it is known."""
    given = learned.given[rows]
    if learned.pictures:
        return _maps(learned, cell, trained.asking(model, device), rows, given).sum(1).numpy(), 0.0
    if cell["method"] in PAINTED:
        return _weights(learned, cell, model, rows)
    asked = Asked(vd.Network(model), learned.X[rows].astype(np.float32), given, learned.X[:BACKGROUND], None)
    return maps(cell["method"], asked, cell["seed"], SIGNED).numpy(), 0.0


def _weights(learned: suspects.Learned, cell: cells.Cell, model: Any, rows: Any) -> tuple[Any, Any]:
    """Explanations of rows of a table by a method that asks for outputs alone: weights and intercepts."""
    predict = vd.Network(model) if isinstance(model, torch.nn.Module) else model
    represent = vd.Rows(learned.X.astype(np.float32))
    n_samples = max(SAMPLES, EACH * learned.X.shape[1])
    method = METHODS[cell["method"]](Asked(predict, None, None, None, represent, n_samples))
    found: dict[int, Any] = {}
    for label in np.unique(learned.given[rows]):
        at = np.flatnonzero(learned.given[rows] == label)
        X = learned.X[rows[at]].astype(np.float32)
        many = vd.explain_many(predict, represent, X, target=int(label), method=method, rng=cell["seed"])
        found |= dict(zip(at.tolist(), many, strict=True))
    every = [found[i] for i in range(len(rows))]
    return np.stack([each.weights for each in every]), np.array([each.intercept for each in every])


PARTS = {"maps": compared, "scores": scored}
KINDS = {"maps": ("right", "misled"), "scores": ("misled",)}  # networks that they need


def measure(cell: cells.Cell, data: Path, device: str, folder: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    return PARTS[cell["part"]](cell, data, device_of(cell["set"], device), folder)


def device_of(name: str, device: str) -> str:
    """Networks for tables are too small for a GPU."""
    return "cpu" if name in flips.TABLES else device


def plan(settings: argparse.Namespace) -> list[cells.Cell]:
    """Maps are of pictures; scores of all sets, with a regression beside the network for tables."""
    found = []
    for seed in trained.seeds_of(settings.seeds, settings.full):
        for name in settings.set:
            cell = {"set": name, "seed": seed}
            if name in suspects.PICTURES and "maps" in settings.parts:
                found += [{"part": "maps", **cell, "model": "network", "method": m} for m in settings.methods]
            for model, methods in suspicion.models(name in suspects.PICTURES, settings.methods).items():
                if "scores" in settings.parts:
                    cell |= {"part": "scores", "model": model}
                    found += [{**cell, "method": method} for method in (MODEL, *methods)]
    return [{key: cell[key] for key in KEY} for cell in found]


def _needed(left: Sequence[cells.Cell]) -> list[tuple[str, int, str]]:
    """Networks that cells ask for: set, seed and kind."""
    kinds = [(c["set"], c["seed"], kind) for c in left for kind in KINDS[c["part"]] if c["method"] != MODEL]
    return list(dict.fromkeys(kinds))


def prepared(name: str, seed: int, kind: str, data: Path, device: str, folder: Path) -> None:
    """Train a network and keep it."""
    suspicion.misled(suspects.load(data, name, seed), name, seed, device_of(name, device), folder, kind)


def show(cell: cells.Cell) -> str:
    if cell["part"] == "scores":
        return ", ".join(f"{name} {found['precision']:.2f}" for name, found in cell["scores"].items())
    found = cell["predicted"]
    alike = f"SSIM {found['observed']['ssim_signed']['mean']:.2f}, of right rows "
    return f"{alike}{found['right ones']['ssim_signed']['mean']:.2f}, AUROC {found['auroc']['ssim_signed']:.2f}"


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="folder with fashion_mnist/, pets/ and tabular/, or a pack of it"
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--set", nargs="+", choices=SETS, default=list(SETS), help="all by default")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="all by default")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="of flips, networks and draws")
    parser.add_argument("--full", action="store_true", help="five seeds")
    parser.add_argument("--weights", type=Path, default=trained.FOLDER, help="where trained networks are kept")
    return trained.run_by(parser, "labels")


def main(settings: argparse.Namespace) -> None:
    files = {"clothes": photos.CLOTHES, "pets": photos.PETS, **{k: t.file for k, t in flips.TABLES.items()}}
    try:
        photos.check(settings.data, [files[name] for name in settings.set])
    except NoDataError as error:
        raise SystemExit(f"labels: {error}") from None
    cnn.check_device(settings.device)
    trained.check_folder(settings.weights)
    results = cells.Results(settings.out, "labels", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    wanted = plan(settings)
    left = [cell for cell in wanted if not (settings.resume and results.has(cell)) and cell["model"] == "network"]
    trained.ready(
        [partial(prepared, *some, settings.data, settings.device, settings.weights) for some in _needed(left)],
        settings.jobs,
    )
    cells.work(
        results,
        wanted,
        lambda cell: measure(cell, settings.data, settings.device, settings.weights),
        resume=settings.resume,
        jobs=settings.jobs,
        limit=settings.limit,
        show=show,
        cost=lambda cell: 8.0 if cell["method"] in PAINTED else 1.0,
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables: python experiments/report.py --only labels")


if __name__ == "__main__":
    main(arguments().parse_args())
