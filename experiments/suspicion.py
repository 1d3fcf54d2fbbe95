"""How suspicious the label of each training row is: by the model's own loss, by influence, by explanations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

import cnn
import suspects
import trained
import veridical as vd
from flips import SHARE
from veridical.checks.influence import self_influence, tracin
from veridical.checks.label_checks import SCORES
from veridical.metrics.significance import auroc, precision

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
    """A function from rows to two logits, each the other's opposite."""

    def logits(X: Any) -> Any:
        margins = regression.decision_function(np.asarray(X, float))
        return np.column_stack([-margins, margins]) / 2

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
        scores["TracIn"] = tracin(
            [vd.Network(module) for module in kept], learned.inputs(learned.X), learned.given
        )

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


def of_maps(maps: Any, labels: Any, base: Any = 0.0) -> dict[str, Any]:
    """Scores by what maps (n, …) of the given labels say; ``base`` is what they start from, where they tell."""
    weights = maps.reshape(len(maps), -1)
    found = {name: score(weights, labels) for name, score in SCORES.items()}
    return {**found, "little in favor": -(base + weights.sum(1))}


def nulls(maps: Any, labels: Any, seed: int) -> dict[str, dict[str, Any]]:
    """The same of maps that know nothing of the label."""
    rng, weights = np.random.default_rng([82, seed]), maps.reshape(len(maps), -1)
    made = {
        "constant": np.ones_like(weights),
        "noise": rng.normal(size=weights.shape),
        "shuffled": rng.permuted(weights, axis=1),
        "another": weights[rng.permutation(len(weights))],
    }
    return {name: of_maps(each, labels) for name, each in made.items()}


def judged(scores: Any, wrong: Any) -> dict[str, float]:
    """Precision among the tenth most suspicious, and AUROC."""
    scores = np.nan_to_num(np.asarray(scores, float))
    return {"precision": precision(scores, wrong, SHARE)[0], "auroc": auroc(scores, wrong)[0]}
