"""Does the class depend on the place? Concept directions (TCAV) in the networks of ``spurious.py``.

The network with the shortcut must have a direction for the place of a class along which its logit grows, its twin
must not (Adebayo et al. 2020; Kim et al. 2018). Examples of a place and what it is told from are pieces of
photographs that neither network was trained on; a place that neither network knows is the control.
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
import pets
import scenes
import seeds
import veridical as vd
from spurious import staged

KEY = ("seed", "network", "pictures", "epochs")
LAYERS = ("pool3", "pool4", "pool5", "relu6")  # what the later convolutions and the first dense layer make
CONTROL = "track"
EXAMPLES, COUNTERS = 80, 320  # pieces of a place, and of others
N_RANDOM = 20  # sets of others that a concept is told from
P, PAPER_P = "p, beside random concepts", "p, t-test of the paper"


def measure(cell: cells.Cell, data: Path, device: str) -> dict[str, Any]:
    """One network: both classes, the place of each and the control, at every layer."""
    torch.set_num_threads(1)
    shortcut, seed = scenes.NETWORKS[cell["network"]], cell["seed"]
    train, stage = staged(cell, data)
    examples = {place: _pieces(data, place, EXAMPLES, seed) for place in (*scenes.PLACES, CONTROL)}
    counters = _others(data, seed)
    module = scenes.trained(data, train, shortcut, seed=seed, device=device, epochs=cell["epochs"])
    network = vd.Network(module, prepare=partial(cnn.prepare, device=device))
    found = []
    for label, place, layer in asked():
        concept = vd.concepts.Concept(place, examples[place], layer, counters)
        of_class = stage.pictures[stage.labels == label]
        told = vd.tcav(network, of_class, concept=concept, target=label, n_random=N_RANDOM, rng=seed)
        found.append({"species": scenes.SPECIES[label], "place": place, "layer": layer, **numbers(told)})
    right = cnn.accuracy(module, cnn.prepare(stage.alone, device), stage.labels)
    return {"n": len(stage.labels), "alone": right, "concepts": found}


def asked() -> list[tuple[int, str, str]]:
    """Classes with their own place and with the control, at every layer."""
    pairs = [(label, place) for label, own in enumerate(scenes.PLACES) for place in (own, CONTROL)]
    return [(label, place, layer) for label, place in pairs for layer in LAYERS]


def _pieces(data: Path, place: str, n: int, seed: int) -> Any:
    return scenes.pieces(data, place, n, test=True, seed=seed + 1).permute(0, 2, 3, 1).numpy()


def _others(data: Path, seed: int) -> Any:
    """Pieces of every other kind of place, of the photographs for testing where a kind has any."""
    kinds = [kind for kind in pets.kinds(data) if kind not in (*scenes.PLACES, CONTROL)]
    kinds = [kind for kind in kinds if pets.photographs(data, kind, test=True)]
    return np.concatenate([_pieces(data, kind, -(-COUNTERS // len(kinds)), seed) for kind in kinds])


def numbers(told: vd.Verdict) -> dict[str, float]:
    """What is kept of a verdict: the score, that of random concepts, and how sure it is."""
    measures = {measure.name: measure.value for measure in told.measures}
    return {
        "score": told.observed,
        "random": told.expected,
        "cosine": measures["mean cosine of gradient and concept"],
        "p": measures[P],
        "paper_p": measures[PAPER_P],
        "accuracy": measures["accuracy of the direction"],
    }


def show(cell: cells.Cell) -> str:
    own = [each for each in cell["concepts"] if each["place"] != CONTROL]
    return f"{sum(each['p'] < 0.05 for each in own)} of {len(own)} significant"


def main(settings: argparse.Namespace) -> None:
    seeds.run("concepts", settings, measure, key=KEY, places=(*scenes.PLACES, CONTROL), show=show)


if __name__ == "__main__":
    main(seeds.arguments(__doc__, "concepts").parse_args())
