"""Scikit-learn estimators, and others that are used like them."""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.read.records import TABLE, TEXT, Loaded
from veridical.records import Floats, Predict


def is_estimator(thing: Any) -> bool:
    """Whether it answers by a method of its own."""
    return not isinstance(thing, type) and any(callable(getattr(thing, name, None)) for name in ASKED)


ASKED = ("predict_proba", "decision_function", "predict")  # the first that there is


def from_estimator(model: Any) -> Loaded:
    """A fitted estimator: its probabilities, or else its decisions or values."""
    classes = _classes(model)
    name = next(name for name in ASKED if callable(getattr(model, name, None)))
    predict: Predict = getattr(model, name)
    if name == "predict" and classes is not None:
        predict = _votes(model.predict, classes)
    if name == "decision_function" and classes is not None and len(classes) == 2:
        classes = None  # its one number speaks for the second class
    if _reads_texts(model):
        return Loaded(predict, classes, TEXT)
    names = getattr(model, "feature_names_in_", None)
    width = getattr(model, "n_features_in_", None)
    columns = None if names is None else tuple(map(str, names))
    kind = None if columns is None and width is None else TABLE
    arrays = columns is None and width is not None
    return Loaded(predict, classes, kind, columns, width=None if width is None else int(width), arrays=arrays)


def _classes(model: Any) -> tuple[Any, ...] | None:
    known = getattr(model, "classes_", None)
    if known is None:
        return None
    if np.ndim(known) != 1 or isinstance(known, list):
        raise InputError(
            f"{type(model).__name__} gives several answers at once; write a function that gives one of them, and "
            "name it as module:predict"
        )
    return tuple(c.item() if isinstance(c, np.generic) else c for c in known)


def _votes(predict: Predict, classes: tuple[Any, ...]) -> Predict:
    """Labels as one output a class: 1 for the class that is predicted."""

    def votes(X: Any) -> Floats:
        found: Floats = (np.asarray(predict(X))[:, None] == np.array(classes)).astype(np.float64)
        return found

    return votes


def _reads_texts(model: Any) -> bool:
    """Whether the first step turns texts into numbers."""
    model = getattr(model, "best_estimator_", model)  # of a search
    steps = getattr(model, "steps", None)
    first = steps[0][1] if steps else model
    return hasattr(first, "build_analyzer")
