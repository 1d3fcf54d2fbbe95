"""How suspicious the label of each training row is: by the model's own loss, by influence, by explanations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from flips import precision

FOLDS = 5


def losses(logits: Any, labels: Any) -> Any:
    """Cross entropy of each row, (n,)."""
    shifted = logits - logits.max(1, keepdims=True)
    log_sums = np.log(np.exp(shifted).sum(1))
    return log_sums - shifted[np.arange(len(labels)), labels]


def out_of_fold(fit: Callable[[Any, Any], Callable[[Any], Any]], X: Any, labels: Any, seed: int) -> Any:
    """The loss of each row under a model that was trained without its fold; ``fit`` gives a function to logits."""
    found = np.empty(len(labels))
    for rest, fold in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(labels, labels):
        found[fold] = losses(fit(X[rest], labels[rest])(X[fold]), labels[fold])
    return found


def against(maps: Any) -> Any:
    """How much of a map speaks against the given label, whose output it explains: -1 to 1."""
    flat = maps.reshape(len(maps), -1)
    total = np.abs(flat).sum(1)
    return -flat.sum(1) / np.where(total > 0, total, 1.0)


def unlike_its_class(maps: Any, labels: Any) -> Any:
    """One minus the cosine with the mean map of the other rows of the same given label."""
    flat = maps.reshape(len(maps), -1)
    flat = flat / _length(flat)
    found = np.empty(len(flat))
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        rest = flat[rows].sum(0) - flat[rows]
        found[rows] = 1 - (flat[rows] * rest / _length(rest)).sum(1)
    return found


def weak(maps: Any) -> Any:
    """How little there is of the map, for and against together."""
    return -np.abs(maps.reshape(len(maps), -1)).sum(1)


def _length(rows: Any) -> Any:
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(size > 0, size, 1.0)


BY_MAP: dict[str, Callable[[Any, Any], Any]] = {
    "against the label": lambda maps, labels: against(maps),
    "unlike its class": unlike_its_class,
    "little of it": lambda maps, labels: weak(maps),
}


def judged(scores: Any, wrong: Any, seed: int) -> dict[str, float]:
    """Precision among the tenth most suspicious, and AUROC; what cannot be told is not suspicious."""
    scores = np.nan_to_num(np.asarray(scores, float), nan=-np.inf)
    scores = np.where(np.isneginf(scores), np.nanmin(scores[np.isfinite(scores)], initial=0.0) - 1, scores)
    return {
        "precision": precision(scores, wrong, seed),
        "auroc": float(roc_auc_score(np.asarray(wrong), scores)),
    }
