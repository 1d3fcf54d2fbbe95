"""Rows with labels, and what models that are trained anew answer to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from veridical.attribute.ask import VALUE, Model, n_rows
from veridical.attribute.many import Plan, explain_all
from veridical.attribute.models import model_of
from veridical.debug.records import Subject, rows_at
from veridical.errors import InputError, NotApplicable
from veridical.masks import child_of, generator
from veridical.records import Explanation, Floats, Ints, Method, Output, Record, Seed

FEWEST = 40  # labeled rows, below which nothing is told of them
SUM = 1e-3  # by which probabilities may miss 1


@dataclass(frozen=True, slots=True, eq=False)
class Labeled(Record):
    """Rows of a subject's training data, each with a position in the classes as its label."""

    subject: Subject
    X: Any
    labels: Ints  # (n,)
    answers: Any  # (k,) what the labels are in y
    rows: Ints  # (n,) of the data that was given

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, rows: Ints) -> Labeled:
        """Some of the rows."""
        return replace(self, X=rows_at(self.X, rows), labels=self.labels[rows], rows=self.rows[rows])

    def trained(self, rows: Ints, seed: int) -> Model:
        """A model that is trained on these rows alone."""
        assert self.subject.train is not None
        return model_of(self.subject.train(rows_at(self.X, rows), self.answers[self.labels[rows]], seed))

    def outputs(self, model: Model) -> Floats:
        """What a model answers to the rows."""
        return model(self.subject.represent.each(self.X).inputs(0, len(self)))

    def probabilities(self, model: Model) -> Floats:
        """What a model makes of the rows, (n, k); a class that it was not trained on has probability 0."""
        found, columns = probabilities(self.outputs(model)), columns_of(model, self.answers)
        wide = np.zeros((len(self), len(self.answers)))
        known = (columns >= 0) & (columns < found.shape[1])
        wide[:, known] = found[:, columns[known]]
        return wide

    def unseen(self, n_folds: int, seed: Seed) -> Floats:
        """Probabilities (n, k) for each row of a model that was trained without it."""
        drawn = generator(seed).permutation(len(self))
        order = drawn[np.argsort(self.labels[drawn], kind="stable")]  # class by class, at random
        folds = np.empty(len(self), np.int64)
        folds[order] = np.arange(len(self)) % n_folds
        found = np.empty((len(self), len(self.answers)))
        for fold in range(n_folds):
            left = np.flatnonzero(folds == fold)
            model = self.trained(np.flatnonzero(folds != fold), fold)
            found[left] = self.at(left).probabilities(model)
        return found

    def explained(self, method: Method, model: Model, seed: Seed) -> tuple[tuple[Explanation, ...], Floats]:
        """An explanation of each row's own label, and the sign (n,) that makes its weights speak for the label."""
        columns = columns_of(model, self.answers)[self.labels]
        single = self.at(np.arange(1)).outputs(model).shape[1] == 1
        found: dict[int, Explanation] = {}
        for label in np.unique(self.labels):
            at = np.flatnonzero(self.labels == label)
            target = VALUE if single else Output(columns[at[0]])
            instances = self.subject.represent.each(rows_at(self.X, at))
            own = child_of(seed, int(label))
            found |= dict(
                zip(at.tolist(), explain_all(method, model, instances, target, own, Plan()), strict=True)
            )
        signs = np.where(single & (self.labels == 0), -1.0, 1.0)
        return tuple(found[i] for i in range(len(self))), signs

    def flipped(self, rows: Ints, rng: np.random.Generator) -> Labeled:
        """The same rows, of which these have another label, drawn from all others."""
        labels, k = self.labels.copy(), len(self.answers)
        labels[rows] = (labels[rows] + rng.integers(1, k, len(rows))) % k
        return replace(self, labels=labels)


def labeled(subject: Subject) -> Labeled:
    """The rows and labels that a subject's model was trained on, or else X and y."""
    X, y = subject.trained_on()
    if n_rows(X) < FEWEST:
        raise NotApplicable(
            f"at least {FEWEST} labeled rows are needed to tell wrong labels from chance, not {n_rows(X)}"
        )
    given = np.asarray(y)
    if given.ndim != 1:
        raise NotApplicable(f"labels are one class a row, not an array of shape {given.shape}")
    first = subject.model(subject.represent.each(rows_at(X, [0])).inputs(0, 1))
    answers = _answers(given, subject.model.classes, first.shape[1], _classes(subject.model))
    order = np.argsort(answers, kind="stable")
    labels = order[np.searchsorted(answers, given, sorter=order)]
    return Labeled(subject, X, labels, answers, np.arange(len(given)))


def _answers(given: Any, classes: Sequence[Any] | None, k: int, estimator: Any) -> Any:
    """The classes in the order of the model's outputs, as y has them."""
    found = np.unique(given)
    if k == 1 and len(found) > 2:
        raise NotApplicable(
            "wrong labels are looked for among classes, but the model has one output and y "
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


def probabilities(outputs: Floats) -> Floats:
    """Outputs (n, k) as probabilities of the classes: as they are, or, of logits, by softmax or sigmoid."""
    if outputs.shape[1] == 1:
        inside = outputs.min() >= 0 and outputs.max() <= 1
        p = outputs if inside else expit(outputs)
        return np.hstack([1 - p, p])
    if outputs.min() >= 0 and np.allclose(outputs.sum(axis=1), 1, atol=SUM):
        return outputs
    return np.asarray(softmax(outputs, axis=1))


def columns_of(model: Model, answers: Any) -> Ints:
    """The output of each class, -1 for one that the estimator was not trained on."""
    own = _classes(model)
    if own is None:
        return np.arange(len(answers))
    at = {value: j for j, value in enumerate(np.asarray(own).tolist())}
    found = np.array([at.get(value, -1) for value in np.asarray(answers).tolist()], dtype=np.int64)
    return found if (found >= 0).any() else np.arange(len(answers))  # classes that go by other names


def _classes(model: Model) -> Any:
    """The classes that a scikit-learn estimator was trained on, if it is one."""
    own = getattr(getattr(model.predict, "__self__", None), "classes_", None)
    return None if own is None or np.ndim(own) != 1 else np.asarray(own)
