"""How suspicious the label of each training row is: by the model's own loss, by influence, by explanations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from veridical.debug.influence import self_influence

import cnn
import suspects
import trained
from flips import precision

FOLDS = 5
OUTPUTS_ALONE = ("LIME", "KSHAP")  # methods for a model without gradients


def models(pictures: bool, methods: Sequence[str]) -> dict[str, list[str]]:
    """Models by name, and the methods that explain them."""
    found = {"network": list(methods)}
    return found if pictures else {**found, "regression": [m for m in methods if m in OUTPUTS_ALONE]}


def model(learned: suspects.Learned, kind: str, name: str, seed: int, device: str, folder: Path) -> Any:
    """The model that learned the labels as they are given: a network, or the logits of a regression."""
    if kind == "regression":
        return two_logits(suspects.regression(learned.X, learned.given))
    return misled(learned, name, seed, device, folder)


def misled(
    learned: suspects.Learned, name: str, seed: int, device: str, folder: Path, kind: str = "misled"
) -> Any:
    """The network that learned the wrong labels, or ("right") the right ones, from the same first weights."""
    labels = learned.y if kind == "right" else learned.given

    def train(_: Any) -> Any:
        return learned.fitted(labels, seed, device)

    called = f"labels-{name}-{len(learned.X)}-{kind}-{seed}"
    return trained.kept(folder, called, learned.built(seed), train, device)


def two_logits(regression: Any) -> Callable[[Any], Any]:
    """A function from rows to two logits, that of class 0 being none."""

    def logits(X: Any) -> Any:
        margins = regression.decision_function(np.asarray(X, float))
        return np.column_stack([np.zeros(len(margins)), margins])

    return logits


def of_model(learned: suspects.Learned, kind: str, seed: int, device: str) -> tuple[dict[str, Any], float]:
    """Scores that need no explanation, and how often the model is right on test rows with right labels."""
    rng = np.random.default_rng([81, seed])
    scores: dict[str, Any] = {"random": rng.random(len(learned.X))}
    if kind == "regression":
        fitted = suspects.regression(learned.X, learned.given)
        scores["training loss"] = losses(two_logits(fitted)(learned.X), learned.given)
        scores["self-influence"] = self_influence(fitted.predict_proba, learned.X, learned.given)

        def fit(rows: Any) -> Any:
            return two_logits(suspects.regression(learned.X[rows], learned.given[rows]))

        accuracy = float(fitted.score(learned.test, learned.test_y))
    else:
        kept = learned.checkpoints(seed, device)
        scores["training loss"] = losses(learned.logits(kept[-1], learned.X), learned.given)
        scores["TracIn"] = tracin(kept, learned)

        def fit(rows: Any) -> Any:
            module = learned.fitted(learned.given, seed, device, rows=rows)
            return lambda X: learned.logits(module, X)

        accuracy = cnn.accuracy(kept[-1], learned.inputs(learned.test), learned.test_y)
    scores["out-of-fold loss"] = out_of_fold(fit, learned.X, learned.given, seed)
    return scores, accuracy


def losses(logits: Any, labels: Any) -> Any:
    """Cross entropy of each row, (n,)."""
    shifted = logits - logits.max(1, keepdims=True)
    log_sums = np.log(np.exp(shifted).sum(1))
    return log_sums - shifted[np.arange(len(labels)), labels]


def out_of_fold(fit: Callable[[Any], Callable[[Any], Any]], X: Any, labels: Any, seed: int) -> Any:
    """The loss of each row under a model that learned from the rows of other folds, as ``fit`` gives it."""
    found = np.empty(len(labels))
    for rest, fold in StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(labels, labels):
        found[fold] = losses(fit(rest)(X[fold]), labels[fold])
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
