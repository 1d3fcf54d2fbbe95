"""Do explanations show that inputs were prepared wrongly?

The model is given what a careless pipeline would give it: numbers on another scale, columns or channels in another
order, texts in another case. Where its answers change, its explanations should.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veridical.attribute.network import Network
from veridical.debug.broken import Twin, Words, compared
from veridical.debug.cases import cases
from veridical.debug.records import Rng, Subject
from veridical.debug.twins import columns_of, numeric_columns, with_columns
from veridical.errors import NotApplicable
from veridical.records import Floats, Ints, Method, Predict, Verdict
from veridical.represent.pictures import channel_axis
from veridical.represent.regions import is_tensor

LARGE = 1.5  # a picture with numbers above it has them up to 255
NEAR = 0.1  # of mean 0 and spread 1, up to which columns are standardized
FAR = 100.0  # what numbers that have no unit are multiplied by
WORDS = Words(
    "Explanations change when inputs are prepared wrongly",
    "Explanations hardly notice that inputs are prepared wrongly, though the model's answers do",
    "It is not clear whether explanations change enough when inputs are prepared wrongly",
)


@dataclass(frozen=True, eq=False)
class Standardized:
    """Columns of numbers are standardized where the model wants them as they are, or once more."""

    columns: Ints
    means: Floats
    sds: Floats

    def __call__(self, table: Any) -> Any:
        return with_columns(table, self.columns, (columns_of(table, self.columns) - self.means) / self.sds)


@dataclass(frozen=True, eq=False)
class Moved:
    """Each column of numbers has the values of the one before it."""

    columns: Ints

    def __call__(self, table: Any) -> Any:
        return with_columns(table, self.columns, columns_of(table, np.roll(self.columns, 1)))


@dataclass(frozen=True)
class Times:
    """All numbers of an array, on another scale."""

    factor: float

    def __call__(self, batch: Any) -> Any:
        return [x * self.factor for x in batch] if isinstance(batch, list) else batch * self.factor


@dataclass(frozen=True)
class Reversed:
    """The channels of pictures the other way round."""

    axis: int  # of one picture

    def __call__(self, batch: Any) -> Any:
        if isinstance(batch, list):
            return [_flipped(x, self.axis) for x in batch]
        return _flipped(batch, self.axis + 1)


def upper(texts: Any) -> list[str]:
    """Texts in capitals."""
    return [text.upper() for text in texts]


def lower(texts: Any) -> list[str]:
    """Texts without capitals."""
    return [text.lower() for text in texts]


def mismatch(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Compare explanations with those of the model behind a careless pipeline."""
    ways = dict(mistakes(subject))
    if not ways:
        raise NotApplicable(
            "no mistake in preparing these instances is known: give a table with columns of numbers, texts, "
            "pictures, sounds or series"
        )
    model = subject.model
    made = (Twin(name, model.with_predict(after(model.predict, way))) for name, way in ways.items())
    return compared(cases(method, subject, rng), made, WORDS)


def after(predict: Predict, way: Callable[[Any], Any]) -> Predict:
    """The model, given inputs that were changed in some way before."""
    if isinstance(predict, Network):
        return replace(predict, prepare=lambda batch: predict.tensor(way(batch)))
    return lambda batch: predict(way(batch))


def mistakes(subject: Subject) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """What can go wrong with instances like these: a name, and what it makes of a batch."""
    instances, X = subject.represent.each(subject.X), subject.X
    columns = numeric_columns(X)
    if len(columns):
        values = columns_of(X, columns)
        means, sds = values.mean(axis=0), values.std(axis=0)
        plain = np.abs(means).max() < NEAR and np.abs(sds - 1).max() < NEAR  # to do it again would change nothing
        yield (
            "scaling",
            Standardized(columns, means * 0, sds / FAR) if plain else Standardized(columns, means, sds),
        )
        if len(columns) > 1:
            yield "column order", Moved(columns)
        return
    if hasattr(X, "columns") or hasattr(X, "tocsr"):
        return
    first = next(iter(instances.inputs(0, 1)))
    if isinstance(first, str):
        capitals = np.mean([text.isupper() for text in instances.inputs(0, len(instances))])
        yield "case", lower if capitals > 0.5 else upper
    elif is_tensor(first) or (isinstance(first, np.ndarray) and first.dtype.kind in "biuf"):
        yield from _of_arrays(first, instances.batch(0, 1)[0])


def _of_arrays(first: Any, representation: Any) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    view = getattr(representation, "view", None)
    if view is None or view.kind != "picture":
        yield "scaling", Times(FAR)
        return
    yield "scaling", Times(1 / 255 if float(first.max()) > LARGE else 255.0)
    axis = channel_axis(tuple(first.shape), None)
    if axis is not None and first.shape[axis] == 3:
        yield "channel order", Reversed(axis)


def _flipped(x: Any, axis: int) -> Any:
    return x.flip(axis) if is_tensor(x) else np.flip(x, axis)
