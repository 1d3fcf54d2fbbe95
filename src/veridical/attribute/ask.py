"""Asking the model: what it may return, which output is explained, and what is wrong with an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.attribute.switches import Switched
from veridical.errors import InputError, ModelError, VeridicalError
from veridical.records import Floats, Predict, Stream

VALUE = "value"  # the target of a model with one output
BATCH = 8192  # rows the model is asked about at once, at most


@dataclass(frozen=True, eq=False)
class Model:
    """A predict function whose answers are checked, with the names of its outputs if they are known."""

    predict: Predict
    classes: tuple[Any, ...] | None = None
    found: bool = False  # the classes are the estimator's, not the caller's

    def names_of(self, k: int) -> tuple[Any, ...] | None:
        """The classes, if they name k outputs; a decision function may have fewer outputs than classes."""
        if self.classes is None or len(self.classes) == k:
            return self.classes
        if self.found:
            return None
        raise InputError(f"classes must name every output: the model has {k}, classes has {len(self.classes)}")

    def __call__(self, inputs: Any, first: int = 0) -> Floats:
        """Answers (n, k) to a batch of inputs, of which ``first`` were asked before."""
        if isinstance(inputs, Stream):
            make = getattr(self.predict, "switched", None)  # a network makes them itself, where it is
            return self._ask_stream(inputs if make is None else make(inputs) or inputs, first)
        n = n_rows(inputs)
        if n <= BATCH:
            return self._ask(inputs, n, first)
        pieces = [slice(start, min(start + BATCH, n)) for start in range(0, n, BATCH)]
        return stacked([self._ask(rows_of(inputs, p), p.stop - p.start, first + p.start) for p in pieces])

    def _ask_stream(self, inputs: Stream, first: int) -> Floats:
        """Answers to inputs whose memory is used again: each is copied before the next batch is made."""
        outputs, at = np.empty((0, 0)), 0
        for batch in inputs.batches():
            n = n_rows(batch)
            answer = self._ask(batch, n, first + at)
            if n == len(inputs) and isinstance(inputs, Switched):
                return answer
            if not at:
                outputs = np.empty((len(inputs), answer.shape[1]))
            _check_width(outputs, answer)
            outputs[at : at + n] = answer
            at += n
        return outputs

    def _ask(self, inputs: Any, n: int, first: int) -> Floats:
        try:
            answer = self.predict(inputs)
        except VeridicalError:
            raise  # it says what to do already
        except Exception as cause:
            where = f"row {first}" if n == 1 else f"rows {first} to {first + n - 1}"
            kind, given = type(cause).__name__, described(inputs)
            raise ModelError(f"predict raised {kind} on {where}: {cause} (it was given {given})") from cause
        return checked(answer, n, first)


@dataclass(frozen=True, eq=False)
class Heard(Model):
    """A model that tells how many inputs it has answered, each time."""

    hear: Callable[[int], None] = lambda n: None

    def _ask(self, inputs: Any, n: int, first: int) -> Floats:
        answer = super()._ask(inputs, n, first)
        self.hear(n)
        return answer


def heard(model: Model, hear: Callable[[int], None]) -> Model:
    """The same model, telling ``hear`` how many inputs it has answered, and whoever heard of it before."""
    before = model.hear if isinstance(model, Heard) else None

    def both(n: int) -> None:
        hear(n)
        if before is not None:
            before(n)

    return Heard(model.predict, model.classes, model.found, both)


def described(inputs: Any) -> str:
    """A batch of inputs, in a few words."""
    if isinstance(inputs, list) and inputs:
        return f"a list of {len(inputs)} {type(inputs[0]).__name__}"
    shape = getattr(inputs, "shape", None)
    return type(inputs).__name__ + ("" if shape is None else f" of shape {tuple(shape)}")


def stacked(answers: Sequence[Floats]) -> Floats:
    """Answers to one batch after another, as one, if they are of one model."""
    for answer in answers:
        _check_width(answers[0], answer)
    return np.concatenate(answers)


def _check_width(before: Floats, answer: Floats) -> None:
    if answer.shape[1] != before.shape[1]:
        raise ModelError(
            f"predict returned {before.shape[1]} numbers an input for one batch and {answer.shape[1]} for the "
            "next; it must always return the same number"
        )


def checked(answer: Any, n: int, first: int = 0) -> Floats:
    """An answer as floats of shape (n, k), or an error that says what is wrong with it."""
    if hasattr(answer, "detach"):  # a torch tensor
        own = answer.detach().cpu()
        answer = (
            own.float() if str(getattr(own, "dtype", "")) == "torch.bfloat16" else own
        ).numpy()  # a type NumPy has not
    outputs = _numbers(answer)
    if outputs.ndim == 1:
        outputs = outputs[:, None]
    if outputs.ndim != 2 or len(outputs) != n:
        what = "None" if answer is None else f"an answer of shape {np.shape(answer)}"
        raise ModelError(
            f"predict returned {what} for {n} inputs; it must return one row, or one number, per input"
        )
    if not outputs.shape[1]:
        raise ModelError("predict returned rows without any number")
    with np.errstate(all="ignore"):
        total = outputs.sum()  # is finite only where all numbers are, and quicker than a look at each
    if not np.isfinite(total) and not np.isfinite(outputs).all():
        bad = ~np.isfinite(outputs).all(axis=1)
        raise ModelError(
            f"predict returned NaN or infinity for {bad.sum()} of {n} inputs (the first is row "
            f"{first + np.flatnonzero(bad)[0]}); it must return finite numbers for inputs near the instance too"
        )
    return outputs


def _numbers(answer: Any) -> Floats:
    """An answer as floats, if it is made of real numbers."""
    try:
        outputs = np.asarray(answer)
    except ValueError as cause:
        raise ModelError(
            "predict returned rows of unequal length; it must return one row, or one number, per input"
        ) from cause
    words = outputs.dtype.kind in "USc"
    try:
        if not words:
            return outputs.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        words = True
    found = outputs.flat[0] if outputs.size else answer
    shown = found.item() if isinstance(found, np.generic) else found
    kind = "complex numbers" if outputs.dtype.kind == "c" else f"{type(shown).__name__} values"
    raise ModelError(
        f"predict returned {kind} such as {shown!r}; it must return real numbers: pass a function that gives "
        "probabilities or values, such as model.predict_proba"
    )


@dataclass(frozen=True, eq=False)
class Target:
    """The output that is explained."""

    key: Any  # what a recipe keeps: an index, a name, or {"function": name}
    read: Callable[[Floats], Floats]  # outputs (n, k) to values (n,)

    @property
    def label(self) -> int | str:
        """What a reader sees."""
        label: int | str = self.key["function"] if isinstance(self.key, dict) else self.key
        return label


def resolve(target: Any, model: Model, outputs: Floats) -> Target:
    """What the caller asked to explain; by default the class that the model predicts for the instance."""
    k = outputs.shape[1]
    classes = model.names_of(k)
    if callable(target):
        return Target({"function": getattr(target, "__name__", "target")}, _by_function(target))
    if k == 1 and (target is None or target == VALUE):
        return Target(VALUE, lambda outputs: outputs[:, 0])
    if target is None:
        target = int(np.argmax(outputs[0]))
    index = _index_by_name(target, classes) if isinstance(target, str) else target
    if isinstance(index, (bool, np.bool_)) or not isinstance(index, (int, np.integer)):
        raise InputError(f"a target is a class index, a class name or a function of outputs, not {target!r}")
    if not 0 <= index < k:
        raise InputError(f"unknown target {target}; the model has outputs 0 to {k - 1}")
    name = None if classes is None else classes[index]
    return Target(name if isinstance(name, str) else int(index), lambda outputs: outputs[:, index])


def _index_by_name(target: str, classes: tuple[Any, ...] | None) -> int:
    if classes is None:
        raise InputError(
            f"the target {target!r} is a name, but the model's classes are not known: "
            "pass the class index, or classes=[…]"
        )
    names = [str(c) for c in classes]
    if names.count(target) > 1:
        raise InputError(
            f"{names.count(target)} classes are called {target!r}: pass the index of the one you mean"
        )
    if target not in names:
        raise InputError(f"unknown target {target!r}; the classes are {', '.join(names)}")
    return names.index(target)


def _by_function(target: Callable[[Floats], Any]) -> Callable[[Floats], Floats]:
    def read(outputs: Floats) -> Floats:
        try:
            values = np.asarray(target(outputs), dtype=np.float64)
        except VeridicalError:
            raise
        except Exception as cause:
            raise InputError(
                f"the target function failed on outputs of shape {outputs.shape} with {type(cause).__name__}: "
                f"{cause}; it must give one number a row"
            ) from cause
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


def model_of(predict: Predict, classes: Sequence[Any] | None) -> Model:
    """A model with the caller's names of its outputs, or those of the estimator whose method it is."""
    if classes is not None:
        return Model(predict, tuple(classes))
    known = getattr(getattr(predict, "__self__", None), "classes_", None)
    if known is None or np.ndim(known) != 1:
        return Model(predict)
    return Model(predict, tuple(c.item() if isinstance(c, np.generic) else c for c in known), found=True)


def n_rows(inputs: Any) -> int:
    """Number of rows of any batch, sparse or dense."""
    shape = getattr(inputs, "shape", None)
    return int(shape[0]) if shape is not None else len(inputs)


def rows_of(inputs: Any, piece: slice) -> Any:
    """Some rows of any batch."""
    return inputs.iloc[piece] if hasattr(inputs, "iloc") else inputs[piece]
