"""The outputs of a model: checked predictions, their classes, and progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.sparse import issparse, vstack

from veridical.errors import (
    InputError,
    ModelError,
    NotApplicable,
    UnequalAnswers,
    VeridicalError,
    describe_error,
    require,
    safe_repr,
    safe_str,
)
from veridical.protocols import InputMaker, Predict, Stream
from veridical.records import Floats, Ints
from veridical.representations.regions import is_tensor

VALUE = "value"  # the target of a model with one output
EXACT = 2**53  # from here on floats skip whole numbers
MAX_ROWS_PER_BATCH = 8192  # that the model predicts at once

Decide: TypeAlias = Callable[[Any], Sequence[int | None]]  # positions of classes for a batch, None if not known


@dataclass(frozen=True, eq=False)
class Model:
    """A predict function whose answers are checked, with the names of its outputs if they are known."""

    predict: Predict
    classes: tuple[Any, ...] | None = None
    found: bool = False  # the classes are the estimator's, not the caller's
    labels: bool = False  # the only output is a class, as of a classifier's predict, and no score of one
    scores: bool = False  # an only output is a score of the second of two classes, and its sign decides
    coarse: bool = False  # a few whole numbers are labels, for the model is no regressor
    decide: Decide | None = None  # which classes it predicts, where that may not be its largest output
    notes: tuple[str, ...] = ()  # what has to be known of its outputs
    hear: Callable[[int], None] | None = None  # told of how many inputs were answered, after each batch

    def names_of(self, k: int) -> tuple[Any, ...] | None:
        """The classes that k outputs are of; the only output of a model with two classes is of the second."""
        if self.classes is None or len(self.classes) == k:
            return self.classes
        if self.scores and k == 1:
            return self.classes[1:]
        if self.found:
            return None
        hint = ": return two columns, 1 - p and p, or leave classes out" if k == 1 else ""
        raise InputError(
            f"classes must name every output: the model has {k}, classes has {len(self.classes)}{hint}"
        )

    def with_predict(self, predict: Predict) -> Model:
        """Another function with the same outputs, of which nobody hears."""
        return replace(self, predict=predict, decide=None, hear=None)

    def __call__(self, inputs: Any, first: int = 0) -> Floats:
        """Answers (n, k) to a batch of inputs, of which ``first`` were asked before."""
        batches: Iterable[Any] = (inputs,)
        if isinstance(inputs, Stream):  # whose batches may use the same memory again
            made = self.predict.switched(inputs) if isinstance(self.predict, InputMaker) else None
            batches = (made or inputs).batches()
        elif (n := n_rows(inputs)) > MAX_ROWS_PER_BATCH:
            starts = range(0, n, MAX_ROWS_PER_BATCH)
            batches = (rows_of(inputs, slice(at, at + MAX_ROWS_PER_BATCH)) for at in starts)
        found = list[Floats]()
        for batch in batches:
            n = n_rows(batch)
            try:
                answer = self.predict(batch)
            except VeridicalError:
                raise  # it says what to do already
            except (Exception, SystemExit) as cause:
                raise _failure(cause, batch, n, first) from cause
            if isinstance(getattr(answer, "index", None), pd.Index):
                answer = _match_order(answer, batch, self.classes)
            found.append(check_outputs(answer, n, first))
            first += n
            if self.hear is not None:
                self.hear(n)
        outputs = found[0] if len(found) == 1 else stack_outputs(found) if found else np.empty((0, 0))
        return np.ascontiguousarray(outputs) if isinstance(inputs, Stream) else outputs


def _failure(cause: BaseException, inputs: Any, n: int, first: int) -> ModelError:
    """What is said where predict raises, on n inputs of which ``first`` came before."""
    if any(kind.__name__ == "NotFittedError" for kind in type(cause).__mro__):
        return ModelError(
            f"the model is not fitted: call its fit(X, y) before it is explained ({safe_str(cause)})"
        )
    where = f"input {first}" if n == 1 else f"inputs {first} to {first + n - 1}"
    return ModelError(
        f"predict raised {type(cause).__name__} on {where}: {safe_str(cause)} (it was given "
        f"{describe_inputs(inputs)})"
    )


def with_progress(model: Model, hear: Callable[[int], None] | None) -> Model:
    """The same model, which also calls ``hear`` with the number of inputs that it has answered."""
    before = model.hear
    if hear is None or before is None:
        return model if hear is None else replace(model, hear=hear)

    def both(n: int) -> None:
        hear(n)
        before(n)

    return replace(model, hear=both)


def describe_inputs(inputs: Any) -> str:
    """A batch of inputs, in a few words."""
    if isinstance(inputs, list) and inputs:
        return f"a list of {len(inputs)} {type(inputs[0]).__name__}"
    shape = getattr(inputs, "shape", None)
    return (
        "a pandas " * isinstance(inputs, pd.DataFrame)
        + type(inputs).__name__
        + ("" if shape is None else f" of shape {tuple(shape)}")
    )


def stack_outputs(answers: Sequence[Floats]) -> Floats:
    """Answers to one batch after another, as one, if they are of one model."""
    width = answers[0].shape[1]
    for answer in answers:
        if answer.shape[1] != width:
            raise UnequalAnswers(
                f"predict returned {width} numbers per input for one batch and {answer.shape[1]} for the next; it "
                "must always return the same number"
            )
    return np.concatenate(answers)


def check_outputs(answer: Any, n: int, first: int = 0) -> Floats:
    """An answer as floats of shape (n, k) of our own, or an error that says what is wrong with it."""
    if answer is None:
        raise ModelError(f"predict returned None for {n} inputs; it must return one row, or one number, per input")
    array = answer if type(answer) is np.ndarray else _as_array(answer)
    if array.dtype.kind not in "biuf":
        array = _as_numbers(array, answer)
    found: Floats = array.astype(np.float64)  # a copy, which no later call can change
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        _check_exact(array, found)
    outputs = found[:, None] if found.ndim == 1 else found
    if outputs.ndim != 2 or len(outputs) != n:
        several = ": if it gives several answers at once, choose one by a function, a lambda" * (found.ndim == 3)
        raise ModelError(
            f"predict returned an answer of shape {found.shape} for {n} inputs; it must return one row, or one "
            f"number, per input{several}"
        )
    if not outputs.shape[1]:
        raise ModelError("predict returned rows without any number")
    finite = np.isfinite(outputs)
    if not finite.all():
        bad = ~finite.all(axis=1)
        raise ModelError(
            f"predict returned NaN or infinity for {bad.sum()} of {n} inputs (the first is row "
            f"{first + np.flatnonzero(bad)[0]}); it must return finite numbers for inputs near the instance too"
        )
    return outputs


def _match_order(answer: Any, inputs: Any, classes: Sequence[Any] | None) -> Any:
    """A Series or DataFrame with its columns in the order of the classes, where they are called as those are.

    Rows that are those of the input in another order are refused.
    """
    own, given = answer.index, getattr(inputs, "index", None)
    if not (isinstance(own, pd.RangeIndex) and (own.start, own.step) == (0, 1)):
        if not isinstance(given, pd.Index):
            given = pd.RangeIndex(n_rows(inputs))
        if len(own) == len(given) and not own.equals(given) and set(own) == set(given):
            raise ModelError(
                "predict returned a row for every row of its input, but in another order, as their index says: "
                "return them in the order of the input"
            )
    if classes is None or not isinstance(answer, pd.DataFrame) or len(answer.columns) != len(classes):
        return answer
    for written in (lambda each: each, safe_str):
        has, wanted = [written(each) for each in answer.columns], [written(each) for each in classes]
        if has != wanted and len(set(has)) == len(has) and set(has) == set(wanted):
            return answer.iloc[:, [has.index(each) for each in wanted]]
    return answer


def _as_array(answer: Any) -> Any:
    """An answer as an array, of whatever is in it."""
    if isinstance(answer, (list, tuple)) and getattr(next(iter(answer), None), "ndim", 0) == 2:
        raise ModelError(
            f"predict returned a list of {len(answer)} arrays: the model gives several answers at once; choose "
            "one by a function, such as lambda X: model.predict_proba(X)[0]"
        )
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


def _as_numbers(array: Any, answer: Any) -> Floats:
    """An array of objects as floats, if all are real numbers; whatever else there is instead of numbers is named."""
    kind = array.dtype.kind
    if kind in "mM":
        what = "dates" if kind == "M" else "durations"
        raise ModelError(
            f"predict returned {what} ({array.dtype}); it must return real numbers: turn them into numbers of "
            "one unit, such as days"
        )
    plain = [_is_number(value) for value in array.flat] if kind == "O" else []
    if kind == "O" and all(plain):
        with suppress(TypeError, ValueError, OverflowError):
            found: Floats = array.astype(np.float64)
            return found
    first = array.flat[plain.index(False) if False in plain else 0] if array.size else answer
    shown = first.item() if isinstance(first, np.generic) else first
    said = "complex numbers" if kind == "c" else f"{type(shown).__name__} values"
    raise ModelError(
        f"predict returned {said} such as {safe_repr(shown)}; it must return real numbers: pass a function that "
        "gives probabilities or values, such as model.predict_proba"
    )


def _check_exact(whole: Any, found: Floats) -> None:
    """Refuse whole numbers too large for floats to tell apart."""
    if np.abs(found).max(initial=0) > EXACT:
        with np.errstate(all="ignore"):
            kept = found.astype(whole.dtype) == whole
        if not kept.all():
            raise ModelError(
                "predict returned whole numbers beyond 2**53, which floats cannot tell apart; return their "
                "difference from a number near them, or floats"
            )


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


def rows_at(X: Any, rows: Ints | Sequence[int]) -> Any:
    """Take some instances of any collection, or some of their answers."""
    at = np.asarray(rows, dtype=np.int64)
    if hasattr(X, "iloc"):
        return X.iloc[at]
    return X[at] if hasattr(X, "shape") else [X[i] for i in at.tolist()]


def join_batches(batches: Sequence[Any]) -> Any:
    """Batches of inputs of one kind as one."""
    if not batches:
        raise NotApplicable("there are no inputs to ask the model about")
    first = batches[0]
    if isinstance(first, (pd.DataFrame, pd.Series)):
        return pd.concat(batches, ignore_index=True)
    if issparse(first):
        return vstack(batches).tocsr()
    if is_tensor(first):
        return require("torch", extra="torch").cat(batches)
    if isinstance(first, np.ndarray):
        return np.concatenate(batches)
    return [each for batch in batches for each in batch]
