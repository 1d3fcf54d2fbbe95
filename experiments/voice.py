"""A voice in music: detectors trained here, how often they are right, and whether tiles with the voice are found.

Voices (spoken digits, readers) are mixed into instrumental music, so that it is known when and where there is one;
speakers, tracks and other sounds of the tests are never heard in training. Needs no librosa with a pack:
``python experiments/voice.py --data DIR --pack PACK``; then PACK is the ``--data``.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

import cells
import cnn
import trained
import veridical as vd
import voices
from sets import NoDataError
from veridical.methods.undo import small_changes

KEY = ("seed", "size", "what")
SECONDS = {"voices": 17.0, "music": 26.0, "others": 1.6}  # of a recording in a pack
SNRS = (6, 3, 0, -3, -6)  # decibels of the voice above all else
UNCLEAR = "-6"  # not among those that the threshold is chosen by
LOUD = 6.0  # decibels of another sound above the music
BESIDE = ", another sound"
WIDE = 2 * voices.detector.FRAMES - 1  # frames of an excerpt in which a voice may be anywhere
HALF = 0.5  # of what the voice adds to the tile it adds most to: a tile with as much has the voice
TILES = {  # excerpts that are explained
    f"tiles at {snr:+d} dB{told}": (snr, loud) for loud, told in ((None, ""), (LOUD, BESIDE)) for snr in (6, 0, -6)
}
WHATS = ("frames", "windows", *TILES)
METHODS: dict[str, Any] = {
    "LIME, mean fill": vd.Lime(max_calls=1000, surrogate=vd.surrogates.Linear()),
    "content": vd.methods.Undo(),
    "change": small_changes(),
    "either": vd.methods.Either(),
    "Occlusion": vd.Occlusion(),
    "Sensitivity": vd.Sensitivity(),
    "Gradient": vd.gradients.Gradient(),
    "IntegratedGradients": vd.gradients.IntegratedGradients(),
}


def frames(net: Any, parts: Any, seed: int, size: voices.Size) -> dict[str, Any]:
    """Every frame of mixed songs: as it is, and with the median filter and threshold of the paper."""
    found = {}
    for part, n in (("valid", size.tests // 2), ("test", size.tests)):
        heard = voices.songs(parts[part], n, voices.chance(seed, part))
        near = voices.detector.NEAR
        found[part] = voices.answers(net, heard.log_mels), heard.truth[:, near:-near].numpy()
    scores, smoothed = voices.training.scores, voices.training.smoothed
    (valid, known), (test, truth) = found["valid"], found["test"]
    threshold = voices.training.chosen(smoothed(valid), known)
    return {
        "plain": scores(test, truth, 0.5),
        "tuned": scores(test, truth, voices.training.chosen(valid, known)),
        "smoothed": scores(smoothed(test), truth, threshold),
        "threshold": threshold,
        "voiced": float(truth.mean()),
    }


def windows(net: Any, parts: Any, seed: int, n: int) -> dict[str, Any]:
    """115 frames with a word across the middle, or without any voice: how often each is told right.

    The threshold is the best for such windows, as far as they are clear, of speakers and tracks left for it.
    """
    rng = voices.chance(seed, "windows")
    valid, test = (_answers(net, parts[part], n, rng) for part in ("valid", "test"))
    clear = {kind: said for kind, said in valid.items() if not kind.startswith(UNCLEAR)}
    spoken = np.array(["none" not in kind for kind in clear])
    weights = np.where(spoken, 1 / spoken.sum(), 1 / (~spoken).sum())  # half of them without a voice
    said = np.concatenate(list(clear.values()))
    threshold = voices.training.chosen(said, np.repeat(spoken, n), np.repeat(weights, n))
    return {
        "right": {kind: _right(kind, found, threshold) for kind, found in test.items()},
        "at one half": {kind: _right(kind, found, 0.5) for kind, found in test.items()},
        "threshold": threshold,
        "n": n,
    }


def _answers(net: Any, of: Any, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Probabilities (n,) for windows of each kind: "none" or decibels, and perhaps another sound."""
    found = {}
    for loud, told in ((None, ""), (LOUD, BESIDE)):
        for snr in (None, *SNRS):
            heard = voices.log_mels(voices.excerpts(of, n, rng, snr=snr, loud=loud))
            found[("none" if snr is None else f"{snr:+d}") + told] = voices.answers(net, heard)[:, 0]
    return found


def _right(kind: str, said: Any, threshold: float) -> float:
    return float(np.mean((said >= threshold) == ("none" not in kind)))


def tiles(net: Any, parts: Any, seed: int, *, snr: float, loud: float | None, n: int) -> dict[str, Any]:
    """Longer excerpts that are told to have a voice: do the heaviest tiles have it?"""
    rng = np.random.default_rng((seed, 4, round(snr) % 100, loud is not None))
    network = vd.Network(voices.detector.Anywhere(net))
    mixes = voices.excerpts(parts["test"], 2 * n, rng, snr=snr, loud=loud, frames=WIDE)
    heard = voices.log_mels(mixes)
    told = np.flatnonzero(network(heard)[:, 0] >= 0)
    if not len(told):
        raise ValueError(f"the detector hears no voice in any of {len(mixes)} excerpts: there is none to explain")
    cases = [_case(mixes[i], heard[i], network, rng) for i in told[:n]]
    rows = {
        row: {name: float(np.mean([case[row][name] for case in cases])) for name in MEASURES} for row in cases[0]
    }
    return {"rows": rows, "n": len(cases), "told": len(told) / len(mixes)}


MEASURES = ("hit", "overlap", "when", "calls")


def _case(mix: Any, heard: Any, network: Any, rng: np.random.Generator) -> dict[str, dict[str, float]]:
    """What each row finds in one excerpt."""
    alone = voices.log_mels([type(mix)(mix.music, mix.music, mix.voiced)])[0]
    represent = vd.Tiles(front=voices.detector.MEL)
    labels = np.asarray(represent(heard).view.data["labels"], int)
    added = by_tile(np.abs(heard - alone), labels)
    voiced = by_tile(np.broadcast_to(mix.frames, labels.shape), labels) > 0
    orders = {name: explained(method, network, represent, heard) for name, method in METHODS.items()}
    as_music = vd.Tiles(front=voices.detector.MEL, fill=alone)
    orders["Occlusion, the music as fill"] = explained(vd.Occlusion(), network, as_music, heard)
    orders |= {name: (weights, 0) for name, weights in nulls(heard, labels, rng).items()}
    return {
        name: {**scored(weights, added, voiced, rng), "calls": float(calls)}
        for name, (weights, calls) in orders.items()
    }


def explained(method: Any, network: Any, represent: Any, heard: Any) -> tuple[Any, int]:
    """Weights for a voice, and calls."""
    why = vd.explain(network, represent, heard, target=0, method=method)
    return np.nan_to_num(why.weights), why.n_calls  # what was not tested comes with what does not matter


def nulls(heard: Any, labels: Any, rng: np.random.Generator) -> dict[str, Any]:
    """Orders of tiles that no model was asked for."""
    usual = heard.mean(axis=1, keepdims=True)
    middle = np.abs(np.arange(heard.shape[1]) - heard.shape[1] // 2)
    return {
        "loudness, no model": by_tile(np.exp(heard), labels),
        "louder than its band, no model": by_tile(heard - usual, labels),
        "middle first, no model": -by_tile(np.broadcast_to(middle, labels.shape), labels),
        "random": rng.random(labels.max() + 1),
    }


def by_tile(values: Any, labels: Any) -> Any:
    """The mean in each tile, (d,)."""
    flat = labels.ravel()
    return np.bincount(flat, np.asarray(values, float).ravel()) / np.bincount(flat)


def scored(weights: Any, added: Any, voiced: Any, rng: np.random.Generator) -> dict[str, float]:
    """Is the heaviest tile one that the voice adds to, and how many of these are among as many heaviest?"""
    order = np.lexsort((rng.random(len(weights)), -np.asarray(weights)))
    own = added >= HALF * added.max()
    k = int(own.sum())
    return {"hit": float(own[order[0]]), "overlap": float(own[order[:k]].mean()), "when": float(voiced[order[0]])}


def measure(cell: cells.Cell, settings: argparse.Namespace) -> dict[str, Any]:
    torch.set_num_threads(1)
    seed, what, start = cell["seed"], cell["what"], perf_counter()
    parts = voices.parts(settings.data, seed)
    net = voices.network(settings.weights, settings.data, seed, size=cell["size"], device=settings.device)
    if what == "frames":
        found = frames(net, parts, seed, voices.SIZES[cell["size"]])
    elif what == "windows":
        found = windows(net, parts, seed, settings.windows)
    else:
        snr, loud = TILES[what]
        found = tiles(net, parts, seed, snr=snr, loud=loud, n=settings.excerpts)
    return {**found, "seconds": perf_counter() - start}


def show(cell: cells.Cell) -> str:
    if cell["what"] == "frames":
        return f"accuracy {cell['plain']['accuracy']:.3f}, smoothed {cell['smoothed']['accuracy']:.3f}"
    if cell["what"] == "windows":
        return ", ".join(f"{name} {share:.2f}" for name, share in cell["right"].items())
    return ", ".join(f"{row} {found['hit']:.2f}" for row, found in cell["rows"].items())


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help=f"folder with audio/, a pack, or {voices.MADE}: sounds made here"
    )
    parser.add_argument("--pack", type=Path, help="write a pack of the data to this folder, and stop")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2], help="of detectors, and who is tested")
    parser.add_argument("--full", action="store_true", help="seeds 0 to 4")
    parser.add_argument("--size", choices=voices.SIZES, default=voices.ALL_OF_IT, help="of detectors and training")
    parser.add_argument("--what", nargs="+", choices=WHATS, default=WHATS)
    parser.add_argument("--windows", type=int, default=200, help="of each loudness")
    parser.add_argument("--excerpts", type=int, default=40, help="that are explained, of each loudness")
    parser.add_argument("--weights", type=Path, default=trained.FOLDER, help="folder for what was trained")
    return trained.run_by(parser, "voice")


def main(settings: argparse.Namespace) -> None:
    try:
        voices.check(settings.data)
    except NoDataError as error:
        raise SystemExit(f"voice: {error}") from None
    if settings.pack and str(settings.data) == voices.MADE:
        raise SystemExit(f"voice: sounds that are made here need no pack: give --data {voices.MADE} alone")
    if settings.pack:
        print(f"Written: {voices.pack(settings.data, settings.pack, SECONDS)}")
        return
    cnn.check_device(settings.device)
    trained.check_folder(settings.weights)
    seeds = trained.seeds_of(settings.seeds, settings.full)
    ask = partial(voices.network, settings.weights, settings.data, size=settings.size, device=settings.device)
    trained.ready([partial(ask, seed) for seed in seeds], settings.jobs)
    results = cells.Results(settings.out, "voice", KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    wanted = [{"seed": seed, "size": settings.size, "what": what} for seed in seeds for what in settings.what]
    cells.work(
        results,
        wanted,
        partial(measure, settings=settings),
        resume=settings.resume,
        jobs=settings.jobs,
        limit=settings.limit,
        show=show,
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables: python experiments/report.py --only voice")


if __name__ == "__main__":
    main(arguments().parse_args())
