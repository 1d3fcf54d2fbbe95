"""Pictures like Figure 11 of the LIME paper: a picture, and what explanations of two models show of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("agg")
import matplotlib.pyplot as plt

import husky
import pets
import veridical as vd

GRAY = 0.5  # of what an explanation does not show


def draw(models: Mapping[str, Any], scenes: Sequence[pets.Scene], pair: str, path: Path) -> None:
    """A line for one picture of each kind: either breed, on snow and elsewhere."""
    breeds = pair.split("/")
    kinds = [(breed, snow) for breed in breeds for snow in (True, False)]
    lines = [next(scene for scene in scenes if (scene.breed, scene.snow) == kind) for kind in kinds]
    size = (2 * (1 + len(models)), 2.2 * len(lines))
    figure, axes = plt.subplots(len(lines), 1 + len(models), figsize=size, layout="constrained")
    for line, scene in zip(axes, lines, strict=True):
        line[0].imshow(scene.picture)
        line[0].set_title(scene.breed, fontsize=8)
        for axis, (how, model) in zip(line[1:], models.items(), strict=True):
            seen, said = shown(model, scene.picture.astype(np.float32))
            axis.imshow(np.where(seen[..., None], scene.picture, GRAY))
            axis.set_title(f"{how}: {breeds[0] if said else breeds[1]}", fontsize=8)
        for axis in line:
            axis.axis("off")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown(model: Any, picture: Any) -> tuple[Any, int]:
    """Where the heaviest regions in favor of the prediction are (side, side), and the class predicted."""
    parts: Any = husky.REPRESENT(picture)
    why = vd.explain(model.predict_proba, husky.REPRESENT, picture, method=husky.METHODS["Lime"])
    best = [j for j in np.argsort(-why.weights)[: husky.SHOWN] if why.weights[j] > 0]
    labels = np.asarray(parts.compose.labels).reshape(*picture.shape[:2], -1)[..., 0]
    return np.isin(labels, best), int(model.predict(picture[None])[0])
