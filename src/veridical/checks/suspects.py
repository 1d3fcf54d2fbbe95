"""What a search for shortcuts asks the model about, and what it suspects: columns, words, places and windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veridical.checks.answers import RightAnswers, read_right_answers
from veridical.checks.subjects import Subject, draw_order
from veridical.errors import InputError, NotApplicable
from veridical.models.outputs import Model, join_batches, n_rows, rows_at
from veridical.protocols import Seed
from veridical.records import Floats, Ints, Record
from veridical.seeds import child_of, generator

MAX_LABELED = 3000  # labeled rows that quick models learn from
N_FOLDS = 2
N_USED, N_EXPLAINED = 6, 3  # candidates by use, and by explanations
MIN_SHIFT = 0.25  # of the spread of the right answers, from which on a number is another answer
ASKED, LABELED, FOLDS = range(3)  # what seeds are for


@dataclass(frozen=True, slots=True, eq=False)
class Suspect(Record):
    """Something that the model may use in the place of what it should."""

    kind: str  # "column", "word", "place", "window" or "tile"
    name: str  # as a sentence names it
    place: Any = None  # which it is
    used: float = np.nan  # share of answers that change without it
    share: float = np.nan  # of all that changes, what changes with it alone
    right: float = np.nan  # share of right answers: as they are,
    right_without: float = np.nan  # without it,
    right_alone: float = np.nan  # with it alone;
    column_alone: float = np.nan  # of a quick model of it alone,
    rest: float = np.nan  # and of all others
    own: float = np.nan  # how well the rest foretells it within a class
    often: tuple[float, float] = (
        np.nan,
        np.nan,
    )  # share of the instances of its class that have it, and of others
    label: str = ""  # the outcome: "failed" or "unclear"
    reason: str = ""  # why
    rows: tuple[int, ...] = ()  # examples
    of_class: int = -1  # that it speaks for

    def labeled(self, label: str, reason: str) -> Suspect:
        """The same with an outcome."""
        return replace(self, label=label, reason=reason)


@dataclass(frozen=True, eq=False)
class Material:
    """Rows that the model is asked about, and labeled rows to learn from."""

    subject: Subject
    model: Model
    rows: Ints  # of X, or of the training data where X has no answers
    instances: Any  # those rows, as they were given
    inputs: Any  # the same, as the model takes them
    outputs: Floats  # (n, k)
    right: RightAnswers  # of those rows; without classes and values where there are none
    labels: Ints  # (m,) classes of the labeled rows
    labeled_inputs: Any  # (m,)
    pool_inputs: Any  # what other rows have
    from_training: bool = False

    @property
    def has_labels(self) -> bool:
        return len(self.labels) > 0

    def ask(self, inputs: Any) -> Floats:
        return self.model(inputs)

    def decide(self, outputs: Floats) -> Any:
        """The answers of rows: classes, or numbers."""
        if self.has_labels and self.right.n_classes:
            return self.right.decide(outputs, self.model)
        return outputs.argmax(axis=1) if outputs.shape[1] > 1 else outputs[:, 0]

    def changed(self, one: Floats, other: Floats) -> float:
        """The share of answers that change."""
        a, b = self.decide(one), self.decide(other)
        if a.dtype.kind in "iu":
            return float((a != b).mean())
        spread = float(self.right.values.std()) if self.has_labels else float(a.std())
        return float((np.abs(a - b) > MIN_SHIFT * (spread or 1.0)).mean())

    def share_right(self, outputs: Floats) -> float:
        """The share of right answers; of numbers, the share of the variation that is explained, at least 0."""
        if not self.has_labels:
            return float("nan")
        if self.right.n_classes:
            return float((self.right.decide(outputs, self.model) == self.right.values).mean())
        unit = float(self.right.values.var()) or 1.0
        return float(max(1 - ((outputs[:, 0] - self.right.values) ** 2).mean() / unit, 0.0))

    def for_class(self, outputs: Floats, label: int) -> Floats:
        """What outputs say for a class: its output, or the only one, turned where it speaks against."""
        if outputs.shape[1] == 1:
            return outputs[:, 0] if label else -outputs[:, 0]
        return outputs[:, min(label, outputs.shape[1] - 1)]


def collect(subject: Subject, seed: Seed, most: int) -> Material:
    """Rows to ask the model about, at most so many, and all that is labeled."""
    model = subject.checked_model
    known = [
        pair for pair in (subject.training, (subject.X, subject.y)) if pair is not None and pair[1] is not None
    ]
    from_training = subject.y is None and subject.training is not None
    source = subject.training[0] if from_training and subject.training is not None else subject.X
    every = subject.representer.each(source)
    rows = np.sort(draw_order(len(every), child_of(seed, ASKED))[:most])
    instances = rows_at(source, rows)
    inputs = subject.representer.each(instances).inputs(0, len(rows))
    outputs = model(inputs)
    if not known:
        none = np.zeros(0, np.int64)
        return Material(subject, model, rows, instances, inputs, outputs, RightAnswers(none), none, inputs, inputs)
    answers = subject.training[1] if from_training and subject.training is not None else subject.y
    right = read_right_answers(model, outputs, rows_at(np.asarray(answers), rows))
    pieces, labels = [], []
    for number, (X, y) in enumerate(known):
        kept = np.sort(generator(seed, LABELED, number).permutation(n_rows(y))[: MAX_LABELED // len(known)])
        pieces.append(subject.representer.each(rows_at(X, kept)).inputs(0, len(kept)))
        labels.append(np.asarray(rows_at(np.asarray(y), kept)))
    try:
        joined = join_batches(pieces)
    except (TypeError, ValueError) as cause:
        raise InputError(f"training and X cannot be put beside each other: {cause}") from cause
    given = np.concatenate(labels)
    return Material(
        subject,
        model,
        rows,
        instances,
        inputs,
        outputs,
        right,
        to_classes(right, given),
        joined,
        joined,
        from_training,
    )


def to_classes(right: RightAnswers, given: Any) -> Ints:
    """Classes of labeled rows; of numbers, quarters."""
    if not right.n_classes:
        values = given.astype(np.float64)
        return np.asarray(np.searchsorted(np.quantile(values, (0.25, 0.5, 0.75)), values), dtype=np.int64)
    at = {value: j for j, value in enumerate(np.asarray(right.classes).tolist())}
    found = [at.get(value) for value in given.tolist()]
    if None in found:
        raise NotApplicable("training has other classes than y: give answers of the same kind")
    return np.array(found, dtype=np.int64)


def pick_candidates(used: Floats, by_weight: Floats) -> list[int]:
    """The most used, and the heaviest in explanations."""
    most = [int(j) for j in np.argsort(-used, kind="stable")[:N_USED] if used[j] > 0]
    heavy = [int(j) for j in np.argsort(-by_weight, kind="stable")[:N_EXPLAINED] if by_weight[j] > 0]
    return list(dict.fromkeys([*most, *heavy]))


def learn_out_of_fold(
    X: Any, y: Any, labels: Ints, learner: Callable[[Any, Any], Callable[[Any], Any]], seed: Seed
) -> Any:
    """What a learner says of rows that it was not trained on; classes are spread evenly over the folds."""
    drawn = generator(seed, FOLDS).permutation(len(labels))
    order = drawn[np.argsort(labels[drawn], kind="stable")]
    folds = np.empty(len(labels), np.int64)
    folds[order] = np.arange(len(labels)) % N_FOLDS
    found: Any = None
    for fold in range(N_FOLDS):
        left = folds == fold
        guess = learner(X[~left], y[~left])(X[left])
        if found is None:
            found = np.zeros((len(labels), *np.shape(guess)[1:]), dtype=np.asarray(guess).dtype)
        found[left] = guess
    return found
