"""Right answers beside those of a model: which output stands for which class, and who is right.

Classes are positions among the model's outputs; an answer that is a number is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from veridical.checks.subjects import Subject
from veridical.errors import InputError, ModelError, NotApplicable
from veridical.models.outputs import Model, rows_at
from veridical.records import Bools, Floats, Ints, Record

PROBABILITY_TOLERANCE = 1e-3  # by which probabilities may miss 1
MAX_NUMERIC_CLASSES = 20  # different whole numbers up to which a single output may be the name of a class
MAX_FAILURE_CALLS = 256  # calls by which rows that a model fails on are looked for


def order_classes(given: Any, model: Model, k: int) -> Any:
    """The classes in the order of the model's k outputs, as y has them."""
    found, classes, estimator = np.unique(given), model.classes, estimator_classes(model)
    if k == 1 and len(found) > 2:
        raise NotApplicable(
            "right answers are matched with classes, but the model has one output and y "
            f"{len(found)} different values: give predict_proba, or another check"
        )
    if classes is not None and set(found.tolist()) <= set(np.asarray(classes).tolist()):
        return np.asarray(classes)
    if estimator is not None and not set(found.tolist()) & set(np.asarray(estimator).tolist()):
        raise InputError(
            f"labels such as {str(found[0])!r} are none of the classes that the model was trained on, such as "
            f"{str(estimator[0])!r}: give labels as it has them, or classes=[…], what its outputs are in y"
        )
    if found.dtype.kind in "biu" and found.min() >= 0 and found.max() < max(k, 2):
        return np.arange(max(k, 2))
    if len(found) == max(k, 2):
        return found
    raise NotApplicable(
        f"labels are looked for among the {max(k, 2)} outputs of the model; y has {len(found)} different values: "
        "give classes=[…], what the outputs are in y"
    )


def place_answers(given: Any, answers: Any) -> Ints:
    """Positions of answers among the classes."""
    order = np.argsort(answers, kind="stable")
    return np.asarray(order[np.searchsorted(answers, given, sorter=order)], dtype=np.int64)


def to_probabilities(outputs: Floats) -> Floats:
    """Outputs (n, k) as probabilities of the classes: as they are, or, of logits, by softmax or sigmoid."""
    if outputs.shape[1] == 1:
        inside = outputs.min() >= 0 and outputs.max() <= 1
        p = outputs if inside else expit(outputs)
        return np.hstack([1 - p, p])
    if outputs.min() >= 0 and np.allclose(outputs.sum(axis=1), 1, atol=PROBABILITY_TOLERANCE):
        return outputs
    return np.asarray(softmax(outputs, axis=1))


def find_class_columns(model: Model, answers: Any) -> Ints:
    """The output of each class, -1 for one that the estimator was not trained on."""
    own = estimator_classes(model)
    if own is None:
        return np.arange(len(answers))
    at = {value: j for j, value in enumerate(np.asarray(own).tolist())}
    found = np.array([at.get(value, -1) for value in np.asarray(answers).tolist()], dtype=np.int64)
    return found if (found >= 0).any() else np.arange(len(answers))  # classes that go by other names


def estimator_classes(model: Model) -> Any:
    """The classes that a scikit-learn estimator was trained on, if it is one."""
    own = getattr(getattr(model.predict, "__self__", None), "classes_", None)
    return None if own is None or np.ndim(own) != 1 else np.asarray(own)


@dataclass(frozen=True, slots=True, eq=False)
class RightAnswers(Record):
    """What is right for some instances, in the terms of a model: classes by position, or numbers."""

    values: Any  # (n,) positions of classes, or numbers
    classes: Any = None  # (k,) what the positions are in y; None where answers are numbers
    codes: bool = False  # the only output is the class itself

    @property
    def n_classes(self) -> int:
        return 0 if self.classes is None else len(self.classes)

    def decide(self, outputs: Floats, model: Model) -> Ints:
        """The class (n,) that each row of outputs stands for."""
        if self.codes:
            at = np.argsort(self.classes, kind="stable")
            found = at[np.clip(np.searchsorted(self.classes, outputs[:, 0], sorter=at), 0, len(at) - 1)]
            known = np.asarray(self.classes, dtype=np.float64)[found] == outputs[:, 0]
            return np.where(known, found, -1)
        if outputs.shape[1] == 1:
            one = outputs[:, 0]
            if one.min() >= 0 and one.max() <= 1:
                return (one >= 0.5).astype(np.int64)
            sides = [(one > at).astype(np.int64) for at in (0.0, 0.5)]
            return max(sides, key=lambda side: float((side == self.values).mean()))
        columns = find_class_columns(model, self.classes)
        wide = np.full((len(outputs), len(self.classes)), -np.inf)
        known = (columns >= 0) & (columns < outputs.shape[1])
        wide[:, known] = outputs[:, columns[known]]
        return np.asarray(wide.argmax(axis=1), dtype=np.int64)


def read_right_answers(model: Model, outputs: Floats, y: Any) -> RightAnswers:
    """Right answers in the terms of a model that gave these outputs (n, k) to their instances."""
    given = np.asarray(y)
    if given.ndim != 1:
        raise NotApplicable(f"right answers are one per row, not an array of shape {given.shape}")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise InputError(
            f"y has {int((~np.isfinite(given)).sum())} answers that are missing or infinite: leave them out"
        )
    found = np.unique(given)
    if outputs.shape[1] == 1 and given.dtype.kind in "biuf":
        codes = (
            len(found) <= MAX_NUMERIC_CLASSES
            and np.isin(outputs[:, 0], found).all()
            and len(np.unique(outputs)) > 1
        )
        if codes and (model.labels or (found == np.round(found)).all()):
            return RightAnswers(np.searchsorted(found, given), found, codes=True)
        if len(found) > 2:
            return RightAnswers(given.astype(np.float64))
    answers = order_classes(given, model, outputs.shape[1])
    return RightAnswers(place_answers(given, answers), answers)


def ask_each(subject: Subject, rows: Ints) -> tuple[Floats, Bools, str]:
    """Outputs (m, k) for the rows that the model answers, which those are (n,), and what it said of the others."""
    model, instances = subject.checked_model, subject.representer.each(rows_at(subject.X, rows))
    found: dict[int, Floats] = {}
    said, calls = "", [0]
    for start, stop in _halves(len(rows)):
        if any(i in found for i in (start, stop - 1)) or calls[0] >= MAX_FAILURE_CALLS:
            continue
        calls[0] += 1
        try:
            outputs = model(instances.inputs(start, stop))
        except ModelError as cause:
            said = said or str(cause)
            continue
        found |= dict(zip(range(start, stop), outputs, strict=True))
    known = np.isin(np.arange(len(rows)), list(found))
    if not known.any():
        raise ModelError(said)
    widths = {len(each) for each in found.values()}
    if len(widths) > 1:
        raise ModelError(f"predict returns {min(widths)} numbers for some inputs and {max(widths)} for others")
    return np.stack([found[i] for i in np.flatnonzero(known).tolist()]), known, said


def _halves(n: int) -> Iterator[tuple[int, int]]:
    """All rows at once, then halves, quarters … down to single rows."""
    pieces = [(0, n)]
    while pieces:
        yield from pieces
        pieces = [
            half
            for start, stop in pieces
            if stop - start > 1
            for half in ((start, (start + stop) // 2), ((start + stop) // 2, stop))
        ]


def name_class(classes: Sequence[Any] | None, j: int) -> str:
    """A class as a sentence names it."""
    return f"class {j}" if classes is None else f"“{classes[j]}”"
