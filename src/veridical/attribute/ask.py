"""Asking the model: what it may return, which output is explained, and what is wrong with an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from decimal import Decimal
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from veridical.attribute.switches import Switched
from veridical.errors import (
    InputError,
    ModelError,
    UnequalAnswers,
    VeridicalError,
    describe_error,
    safe_repr,
    safe_str,
)
from veridical.records import Floats, Predict, Stream

VALUE = "value"  # the target of a model with one output
EXACT = 2**53  # from here on floats skip whole numbers
BATCH = 8192  # rows the model is asked about at once, at most

Decide: TypeAlias = Callable[[Any], Sequence[int | None]]  # positions of classes for a batch, None if not known


@dataclass(frozen=True, eq=False)
class Model:
    """A predict function whose answers are checked, with the names of its outputs if they are known."""

    predict: Predict
    classes: tuple[Any, ...] | None = None
    found: bool = False  # the classes are the estimator's, not the caller's
    labels: bool = False  # the only output is a class, as of a classifier's predict, and no score of one
    scores: bool = False  # of two classes, the only output is a score of the second, and its sign decides
    coarse: bool = False  # a few whole numbers are labels, for the model is no regressor
    decide: Decide | None = None  # which classes it predicts, where that may not be its largest output
    notes: tuple[str, ...] = ()  # what has to be known of its outputs

    def names_of(self, k: int) -> tuple[Any, ...] | None:
        """The classes that k outputs are of; the only output of a model with two classes is of the second."""
        if self.classes is None or len(self.classes) == k:
            return self.classes
        if self.scores_second(k):
            return self.classes[1:]
        if self.found:
            return None
        hint = ": return two columns, 1 - p and p, or leave classes out" if k == 1 else ""
        raise InputError(
            f"classes must name every output: the model has {k}, classes has {len(self.classes)}{hint}"
        )

    def scores_second(self, k: int) -> bool:
        """Whether the only output is a score of the second of two classes, as of a binary decision function."""
        return self.scores and k == 1 and len(self.classes or ()) == 2

    def with_predict(self, predict: Predict) -> Model:
        """Another function with the same outputs."""
        own = {each.name: getattr(self, each.name) for each in fields(Model)}
        return Model(**{**own, "predict": predict, "decide": None})

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
        except (Exception, SystemExit) as cause:
            if any(kind.__name__ == "NotFittedError" for kind in type(cause).__mro__):
                raise ModelError(
                    f"the model is not fitted: call its fit(X, y) before it is explained ({safe_str(cause)})"
                ) from cause
            where = f"row {first}" if n == 1 else f"rows {first} to {first + n - 1}"
            kind, given = type(cause).__name__, described(inputs)
            raise ModelError(
                f"predict raised {kind} on {where}: {safe_str(cause)} (it was given {given})"
            ) from cause
        check_order(answer, inputs)
        return checked(by_class(answer, self.classes), n, first)


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

    return Heard(**{each.name: getattr(model, each.name) for each in fields(Model)}, hear=both)


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
        raise UnequalAnswers(
            f"predict returned {before.shape[1]} numbers an input for one batch and {answer.shape[1]} for the "
            "next; it must always return the same number"
        )


def checked(answer: Any, n: int, first: int = 0) -> Floats:
    """An answer as floats of shape (n, k) of our own, or an error that says what is wrong with it."""
    if answer is None:
        raise ModelError(f"predict returned None for {n} inputs; it must return one row, or one number, per input")
    _check_one_answer(answer)
    found = _numbers(answer)
    outputs = found[:, None] if found.ndim == 1 else found
    if outputs.ndim != 2 or len(outputs) != n:
        several = ": if it gives several answers at once, choose one by a function, a lambda" * (found.ndim == 3)
        raise ModelError(
            f"predict returned an answer of shape {found.shape} for {n} inputs; it must return one row, or one "
            f"number, per input{several}"
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


def check_order(answer: Any, inputs: Any) -> None:
    """Refuse a Series or DataFrame whose rows are those of the input in another order."""
    own, given = getattr(answer, "index", None), getattr(inputs, "index", None)
    if not isinstance(own, pd.Index) or (isinstance(own, pd.RangeIndex) and (own.start, own.step) == (0, 1)):
        return
    if not isinstance(given, pd.Index):
        given = pd.RangeIndex(n_rows(inputs))
    if len(own) == len(given) and not own.equals(given) and set(own) == set(given):
        raise ModelError(
            "predict returned a row for every row of its input, but in another order, as their index says: return "
            "them in the order of the input"
        )


def by_class(answer: Any, classes: Sequence[Any] | None) -> Any:
    """An answer whose columns are in the order of the classes, where they are called as the classes are."""
    if classes is None or not isinstance(answer, pd.DataFrame) or len(answer.columns) != len(classes):
        return answer
    for written in (lambda each: each, safe_str):
        own, wanted = [written(each) for each in answer.columns], [written(each) for each in classes]
        if own == wanted or len(set(own)) < len(own) or set(own) != set(wanted):
            continue
        return answer.iloc[:, [own.index(each) for each in wanted]]
    return answer


def _check_one_answer(answer: Any) -> None:
    """Refuse a list with an array of outputs for each of several answers, as of a classifier of several."""
    if isinstance(answer, (list, tuple)) and getattr(next(iter(answer), None), "ndim", 0) == 2:
        raise ModelError(
            f"predict returned a list of {len(answer)} arrays: the model gives several answers at once; choose "
            "one by a function, such as lambda X: model.predict_proba(X)[0]"
        )


def _numbers(answer: Any) -> Floats:
    """An answer as floats that no later call can change, if it is made of real numbers."""
    outputs = _as_array(answer)
    kind = outputs.dtype.kind
    if kind in "mM":
        what = "dates" if kind == "M" else "durations"
        raise ModelError(
            f"predict returned {what} ({outputs.dtype}); it must return real numbers: turn them into numbers of "
            "one unit, such as days"
        )
    if kind in "biuf":
        return _exact(outputs)
    plain = [_is_number(value) for value in outputs.flat] if kind == "O" else []
    if kind == "O" and all(plain):
        with suppress(TypeError, ValueError, OverflowError):
            found: Floats = outputs.astype(np.float64)
            return found
    first = outputs.flat[plain.index(False) if False in plain else 0] if outputs.size else answer
    shown = first.item() if isinstance(first, np.generic) else first
    said = "complex numbers" if kind == "c" else f"{type(shown).__name__} values"
    raise ModelError(
        f"predict returned {said} such as {safe_repr(shown)}; it must return real numbers: pass a function that "
        "gives probabilities or values, such as model.predict_proba"
    )


def _as_array(answer: Any) -> Any:
    """An answer as an array, of whatever is in it."""
    try:
        if hasattr(answer, "detach"):  # a torch tensor
            own = answer.detach().cpu()
            half = str(getattr(own, "dtype", "")) == "torch.bfloat16"  # a type NumPy has not
            return np.asarray((own.float() if half else own).numpy())
        if hasattr(answer, "toarray") and hasattr(answer, "tocsr"):
            return np.asarray(answer.toarray())
        if isinstance(answer, np.ma.MaskedArray) and np.ma.getmaskarray(answer).any():
            n = int(np.ma.getmaskarray(answer).sum())
            raise ModelError(f"predict returned {n} masked numbers of {answer.size}; it must return real numbers")
        return np.asarray(answer)
    except ModelError:
        raise
    except ValueError as cause:
        raise ModelError(
            "predict returned rows of unequal length; it must return one row, or one number, per input"
        ) from cause
    except Exception as cause:
        raise ModelError(
            f"predict returned a {type(answer).__name__}, which cannot be read as numbers "
            f"({describe_error(cause)}); it must return one row, or one number, per input"
        ) from cause


def _exact(outputs: Any) -> Floats:
    """Numbers as floats, a copy; whole numbers too large for floats to tell apart are refused."""
    found: Floats = outputs.astype(np.float64)
    if outputs.dtype.kind in "iu" and outputs.dtype.itemsize == 8 and np.abs(found).max(initial=0) > EXACT:
        with np.errstate(all="ignore"):
            kept = found.astype(outputs.dtype) == outputs
        if not kept.all():
            raise ModelError(
                "predict returned whole numbers beyond 2**53, which floats cannot tell apart; return their "
                "difference from a number near them, or floats"
            )
    return found


def _is_number(value: Any) -> bool:
    """Whether an object is a real number, or a missing one, which is told apart later."""
    if isinstance(value, np.timedelta64):  # a whole number to NumPy
        return False
    return value is None or isinstance(value, (Real, np.integer, np.floating, np.bool_, Decimal))


def n_rows(inputs: Any) -> int:
    """Number of rows of any batch, sparse or dense."""
    shape = getattr(inputs, "shape", None)
    return int(shape[0]) if shape is not None else len(inputs)


def rows_of(inputs: Any, piece: slice) -> Any:
    """Some rows of any batch."""
    return inputs.iloc[piece] if hasattr(inputs, "iloc") else inputs[piece]
