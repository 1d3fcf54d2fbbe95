"""Twins of a model that are broken on purpose: the same in all but what they know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from veridical.attribute.ask import Model, n_rows
from veridical.debug.broken import Twin
from veridical.debug.records import Subject, rows_at
from veridical.errors import ModelError, NotApplicable
from veridical.masks import generator
from veridical.records import Floats, Ints, Seed

FEW = 30  # rows that an untrained twin has seen, or three a class
MANY = 2000  # rows that a twin is trained on, at most: it is to know nothing
NUMBERS = 3  # columns of numbers that a table must have to exchange them
LABELS, COLUMNS, UNTRAINED = "permuted labels", "permuted columns", "untrained twin"
NUMBER = {LABELS: 0, UNTRAINED: 1, COLUMNS: 2}  # what a seed is for


@dataclass(frozen=True, eq=False)
class Exchanged:
    """A model that is shown each column of numbers in the place, and on the scale, of another."""

    model: Model
    columns: Ints  # (m,) that are exchanged
    sources: Ints  # (m,) the column that each is made of
    means: Floats  # (columns,) of all columns
    sds: Floats

    def __call__(self, inputs: Any) -> Floats:
        standard = (columns_of(inputs, self.sources) - self.means[self.sources]) / self.sds[self.sources]
        return self.model(
            with_columns(inputs, self.columns, standard * self.sds[self.columns] + self.means[self.columns])
        )


def columns_of(table: Any, at: Ints) -> Floats:
    """Columns of a table as numbers, (n, m)."""
    found = table.iloc[:, at].to_numpy(dtype=np.float64) if hasattr(table, "iloc") else table[:, at]
    return np.asarray(found, dtype=np.float64)


def with_columns(table: Any, at: Ints, values: Floats) -> Any:
    """The same table with other numbers in some columns."""
    if not hasattr(table, "iloc"):
        made = np.array(table, dtype=np.float64)
        made[:, at] = values
        return made
    made = table.copy()
    for k, j in enumerate(at.tolist()):
        made.isetitem(j, values[:, k])
    return made


def twins(subject: Subject, seed: Seed, n: int) -> Iterator[Twin]:
    """n twins of each kind that can be made of this subject."""
    numeric, trainable = numeric_columns(subject.X), False
    with suppress(NotApplicable):
        trainable = subject.train is not None and bool(subject.trained_on())
    if not trainable and len(numeric) < NUMBERS:
        raise NotApplicable(
            "there is no broken twin to compare with: give train=… and training=(X, y), or y where predict is a "
            "method of a scikit-learn estimator; or a torch network, or a table with columns of numbers"
        )
    for i in range(n):
        if trainable:
            yield Twin(LABELS, _mislabeled(subject, generator(seed, NUMBER[LABELS], i)))
            yield Twin(UNTRAINED, _untrained(subject, generator(seed, NUMBER[UNTRAINED], i)))
        if len(numeric) >= NUMBERS:
            yield Twin(COLUMNS, _exchanged(subject, numeric, generator(seed, NUMBER[COLUMNS], i)))


def numeric_columns(X: Any) -> Ints:
    """Which columns of a table are numbers without gaps that vary; none of what is no table."""
    if isinstance(X, pd.DataFrame):
        kinds = [dtype.kind in "iuf" for dtype in map(np.dtype, map(_plain, X.dtypes))]
        table = X.iloc[:, np.flatnonzero(kinds)].to_numpy(dtype=np.float64)
        places = np.flatnonzero(kinds)
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf":
        table, places = X, np.arange(X.shape[1])
    else:
        return np.zeros(0, dtype=np.int64)
    return np.asarray(places[np.isfinite(table).all(axis=0) & (np.ptp(table, axis=0) > 0)], dtype=np.int64)


def permuted(y: Any, order: Ints | Sequence[int]) -> Any:
    """Answers in another order, at the same index."""
    found = rows_at(y, order)
    return found.set_axis(y.index) if hasattr(found, "set_axis") and len(found) == len(y) else found


def _plain(dtype: Any) -> Any:
    return dtype if isinstance(dtype, np.dtype) else object


def _mislabeled(subject: Subject, rng: np.random.Generator, most: int = MANY) -> Model:
    """Trained on so many rows with each other's answers."""
    X, y = subject.trained_on()
    rows = _some(y, rng, most)
    own = rows_at(y, rows)
    return subject.trained(rows_at(X, rows), permuted(own, rng.permutation(len(rows))), int(rng.integers(2**31)))


def _untrained(subject: Subject, rng: np.random.Generator) -> Model:
    """Trained on few rows; on more where it needs them, such as to validate itself on every class."""
    y = subject.trained_on()[1]
    few = max(FEW, 3 * len(_kinds(y)))
    while few < min(n_rows(y), MANY):
        try:
            return _mislabeled(subject, rng, few)
        except ModelError:
            few *= 4
    return _mislabeled(subject, rng)


def _kinds(y: Any) -> Ints:
    """A row of each class; none if the answers are measurements."""
    values = np.asarray(y)
    if values.ndim != 1:
        return np.zeros(0, dtype=np.int64)
    found, first = np.unique(values, return_index=True)
    return np.asarray(first if len(found) <= max(len(values) // 3, 2) else first[:0], dtype=np.int64)


def _some(y: Any, rng: np.random.Generator, most: int) -> Ints:
    """Rows at random, every class among them: a twin answers with the same classes."""
    order = rng.permutation(n_rows(y))
    must = order[_kinds(rows_at(y, order))]
    rest = order[~np.isin(order, must)]
    return np.asarray(rng.permutation(np.concatenate([must, rest])[: max(most, len(must))]), dtype=np.int64)


def _exchanged(subject: Subject, columns: Ints, rng: np.random.Generator) -> Model:
    order = rng.permutation(columns)
    values = columns_of(subject.X, columns)
    means, sds = np.zeros(int(columns.max()) + 1), np.ones(int(columns.max()) + 1)
    means[columns], sds[columns] = values.mean(axis=0), values.std(axis=0)
    own = subject.model
    made = Exchanged(own, order, np.roll(order, 1), means, sds)
    return own.with_predict(made)
