"""Asking the model: what it may return, which output is explained, and what is wrong with an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.errors import InputError, ModelError
from veridical.records import Floats, Predict

VALUE = "value"  # the target of a model with one output
BATCH = 8192  # rows the model is asked about at once, at most


@dataclass(frozen=True, eq=False)
class Model:
    """A predict function whose answers are checked, with the names of its outputs if they are known."""

    predict: Predict
    classes: tuple[Any, ...] | None = None

    def __call__(self, inputs: Any, first: int = 0) -> Floats:
        """Answers (n, k) to a batch of inputs, of which ``first`` were asked before."""
        n = n_rows(inputs)
        if n <= BATCH:
            return self._ask(inputs, n, first)
        pieces = [slice(start, min(start + BATCH, n)) for start in range(0, n, BATCH)]
        return np.concatenate([self._ask(rows_of(inputs, p), p.stop - p.start, first + p.start) for p in pieces])

    def _ask(self, inputs: Any, n: int, first: int) -> Floats:
        try:
            answer = self.predict(inputs)
        except Exception as cause:
            raise ModelError(
                f"predict raised {type(cause).__name__} on rows {first} to {first + n - 1}: {cause}"
            ) from cause
        return checked(answer, n)


def checked(answer: Any, n: int) -> Floats:
    """An answer as floats of shape (n, k), or an error that says what is wrong with it."""
    if hasattr(answer, "detach"):  # a torch tensor
        answer = answer.detach().cpu().numpy()
    outputs = np.asarray(answer)
    if outputs.dtype.kind in "USO":
        try:
            outputs = outputs.astype(np.float64)
        except (TypeError, ValueError):
            raise ModelError(
                f"predict returned {outputs.dtype.name} such as {outputs.flat[0]!r}; it must return numbers: "
                "pass a function that gives probabilities or values, such as model.predict_proba"
            ) from None
    if outputs.ndim == 1:
        outputs = outputs[:, None]
    if outputs.ndim != 2 or len(outputs) != n:
        raise ModelError(
            f"predict returned an answer of shape {np.shape(answer)} for {n} inputs; "
            "it must return one row, or one number, per input"
        )
    if not outputs.shape[1]:
        raise ModelError("predict returned rows without any number")
    outputs = outputs.astype(np.float64, copy=False)
    if not np.isfinite(outputs).all():
        bad = ~np.isfinite(outputs).all(axis=1)
        raise ModelError(
            f"predict returned NaN or infinity for {bad.sum()} of {n} inputs (first: number "
            f"{np.flatnonzero(bad)[0]}); it must return finite numbers for inputs near the instance too"
        )
    return outputs


@dataclass(frozen=True, eq=False)
class Target:
    """The output that is explained."""

    label: int | str
    read: Callable[[Floats], Floats]  # outputs (n, k) to values (n,)


def resolve(target: Any, model: Model, outputs: Floats) -> Target:
    """What the caller asked to explain; by default the class that the model predicts for the instance."""
    if callable(target):
        return Target(getattr(target, "__name__", "target"), _by_function(target))
    k = outputs.shape[1]
    if k == 1 and (target is None or target == VALUE):
        return Target(VALUE, lambda outputs: outputs[:, 0])
    if target is None:
        target = int(np.argmax(outputs[0]))
    names = None if model.classes is None else [str(c) for c in model.classes]
    if isinstance(target, str):
        if names is None:
            raise InputError(
                f"the target {target!r} is a name, but the model's classes are not known: "
                "pass the class index, or classes=[…]"
            )
        if target not in names:
            raise InputError(f"unknown target {target!r}; the classes are {', '.join(names)}")
        target = names.index(target)
    if isinstance(target, (bool, np.bool_)) or not isinstance(target, (int, np.integer)):
        raise InputError(f"a target is a class index, a class name or a function of outputs, not {target!r}")
    if not 0 <= target < k:
        raise InputError(f"unknown target {target}; the model has outputs 0 to {k - 1}")
    index = int(target)
    named = model.classes is not None and isinstance(model.classes[index], str)
    return Target(names[index] if named and names else index, lambda outputs: outputs[:, index])


def _by_function(target: Callable[[Floats], Any]) -> Callable[[Floats], Floats]:
    def read(outputs: Floats) -> Floats:
        values = np.asarray(target(outputs), dtype=np.float64)
        if values.shape != (len(outputs),):
            raise InputError(
                f"the target function must give one number a row of outputs: {len(outputs)} rows, "
                f"answer of shape {values.shape}"
            )
        if not np.isfinite(values).all():
            raise ModelError(
                "the target function gives NaN or infinity near the instance; a logit, say, needs its "
                "probabilities clipped away from 0 and 1"
            )
        return values

    return read


def classes_of(predict: Any, classes: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """Names of the outputs: the caller's, or those of the estimator whose method ``predict`` is."""
    if classes is not None:
        return tuple(classes)
    known = getattr(getattr(predict, "__self__", None), "classes_", None)
    if known is None or np.ndim(known) != 1:
        return None
    return tuple(c.item() if isinstance(c, np.generic) else c for c in known)


def n_rows(inputs: Any) -> int:
    """Number of rows of any batch, sparse or dense."""
    shape = getattr(inputs, "shape", None)
    return int(shape[0]) if shape is not None else len(inputs)


def rows_of(inputs: Any, piece: slice) -> Any:
    """Some rows of any batch."""
    return inputs.iloc[piece] if hasattr(inputs, "iloc") else inputs[piece]
