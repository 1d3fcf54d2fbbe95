"""Scikit-learn estimators, and others that are used like them."""

from __future__ import annotations

from typing import Any

import numpy as np

from veridical.attribute.models import METHODS, model_of
from veridical.errors import InputError
from veridical.read.records import TABLE, TEXT, Loaded


def is_estimator(thing: Any) -> bool:
    """Whether it answers by a method of its own."""
    return not isinstance(thing, type) and any(callable(getattr(thing, name, None)) for name in METHODS)


def from_estimator(model: Any) -> Loaded:
    """A fitted estimator: its probabilities, or else its decisions or values."""
    _check_one_answer(model)
    found = model_of(model)
    predict, classes = found.predict, found.classes
    if _reads_texts(model):
        return Loaded(predict, classes, TEXT)
    names = getattr(model, "feature_names_in_", None)
    width = getattr(model, "n_features_in_", None)
    columns = None if names is None else tuple(map(str, names))
    kind = None if columns is None and width is None else TABLE
    arrays = columns is None and width is not None
    return Loaded(predict, classes, kind, columns, width=None if width is None else int(width), arrays=arrays)


def _check_one_answer(model: Any) -> None:
    """Refuse an estimator that has several answers at once, each with classes of its own."""
    known = getattr(model, "classes_", None)
    if isinstance(known, list) and any(np.ndim(each) for each in known):
        raise InputError(
            f"{type(model).__name__} gives several answers at once; write a function that gives one of them, and "
            "name it as module:predict"
        )


def _reads_texts(model: Any) -> bool:
    """Whether the first step turns texts into numbers."""
    model = getattr(model, "best_estimator_", model)  # of a search
    steps = getattr(model, "steps", None)
    first = steps[0][1] if steps else model
    return hasattr(first, "build_analyzer")
