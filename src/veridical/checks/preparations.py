"""Ways in which inputs are prepared by mistake: another scale, another order of columns or channels, another case.

``mismatch`` makes such mistakes on purpose; ``accuracy`` tries to undo them where a model is wrong too often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from veridical.checks.subjects import Subject
from veridical.models.outputs import n_rows
from veridical.protocols import Viewable
from veridical.records import Floats, Ints
from veridical.representations.images import channel_axis
from veridical.representations.regions import is_tensor, numbers_of

Change = Callable[[Any], Any]  # a batch to a batch
WRONG_SCALE = 100.0  # what numbers that have no unit are multiplied by
MAX_UNIT_VALUE = 1.5  # a picture with numbers above it has them up to 255
MAX_EXPONENT = 20.0  # of numbers that may be logarithms
PHOTO_MEANS, PHOTO_SPREADS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # by which networks of photographs scale
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)  # by which a column is known again
MIN_MATCH = 0.5  # of the distance of columns in order that is left when they are matched


@dataclass(frozen=True)
class Rescaled:
    """All numbers of an array, on another scale."""

    factor: float

    def __call__(self, batch: Any) -> Any:
        return [x * self.factor for x in batch] if isinstance(batch, list) else batch * self.factor


@dataclass(frozen=True)
class ReversedChannels:
    """The channels of pictures the other way round."""

    axis: int  # of one picture

    def __call__(self, batch: Any) -> Any:
        if isinstance(batch, list):
            return [x.flip(self.axis) if is_tensor(x) else np.flip(x, self.axis) for x in batch]
        return batch.flip(self.axis + 1) if is_tensor(batch) else np.flip(batch, self.axis + 1)


@dataclass(frozen=True, eq=False)
class ExchangedColumns:
    """Tables in which each of some columns of numbers has the values of another, put on a scale of its own."""

    columns: Ints  # (m,) that are exchanged
    sources: Ints  # (m,) the column that each is made of
    centers: Floats  # (m,) what the values of the sources lose,
    units: Floats  # (m,) what they are divided by,
    spreads: Floats | float = 1.0  # (m,) what they are then multiplied by,
    means: Floats | float = 0.0  # (m,) and what they gain

    def __call__(self, table: Any) -> Any:
        standard = (read_columns(table, self.sources) - self.centers) / self.units
        return replace_columns(table, self.columns, standard * self.spreads + self.means)


def numeric_columns(X: Any) -> Ints:
    """Which columns of a table are numbers without gaps that vary; none of what is no table."""
    if isinstance(X, pd.DataFrame):
        places = np.flatnonzero([isinstance(each, np.dtype) and each.kind in "iuf" for each in X.dtypes])
        table = X.iloc[:, places].to_numpy(dtype=np.float64)
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf":
        table, places = X, np.arange(X.shape[1])
    else:
        return np.zeros(0, dtype=np.int64)
    return np.asarray(places[np.isfinite(table).all(axis=0) & (np.ptp(table, axis=0) > 0)], dtype=np.int64)


def read_columns(table: Any, at: Ints) -> Floats:
    """Columns of a table as numbers, (n, m)."""
    found = table.iloc[:, at].to_numpy(dtype=np.float64) if hasattr(table, "iloc") else table[:, at]
    return np.asarray(found, dtype=np.float64)


def replace_columns(table: Any, at: Ints, values: Floats) -> Any:
    """The same table with other numbers in some columns."""
    if not hasattr(table, "iloc"):
        made = np.array(table, dtype=np.float64)
        made[:, at] = values
        return made
    made = table.copy()
    for k, j in enumerate(at.tolist()):
        made.isetitem(j, values[:, k])
    return made


def list_preparations(subject: Subject, inputs: Any) -> Iterator[tuple[str, Change]]:
    """Other ways to prepare these inputs: what they would be, and how a batch is made so."""
    representation = subject.representer.each(subject.X).batch(0, 1)[0]
    view = representation.view if isinstance(representation, Viewable) else None
    if isinstance(inputs, list) and inputs and isinstance(inputs[0], str):
        yield from _prepare_texts()
    elif view is None and isinstance(inputs, (pd.DataFrame, np.ndarray)) and np.ndim(inputs) == 2:
        yield from _prepare_tables(subject, inputs)
    elif (isinstance(inputs, np.ndarray) and inputs.dtype.kind in "biuf") or is_tensor(inputs):
        picture = view is not None and view.kind == "picture"
        yield from _prepare_pictures(inputs) if picture else _prepare_series()


def _prepare_texts() -> Iterator[tuple[str, Change]]:
    yield "in lower case", lambda texts: [text.lower() for text in texts]
    yield "in upper case", lambda texts: [text.upper() for text in texts]


def _prepare_tables(subject: Subject, inputs: Any) -> Iterator[tuple[str, Change]]:
    here = read_table(inputs)
    columns = numeric_columns(inputs)
    if not len(columns):
        return
    known = inputs if subject.training is None else subject.representer.each(subject.training[0])
    train = known if subject.training is None else known.inputs(0, min(n_rows(subject.training[0]), 10_000))
    values = read_columns(train, columns)
    finite = np.where(np.isfinite(values), values, np.nan)
    means, spreads = np.nanmean(finite, axis=0), np.nanstd(finite, axis=0)
    spreads = np.where(spreads > 0, spreads, 1.0)
    yield "standardized by column", ExchangedColumns(columns, columns, means, spreads)
    yield (
        "on the scale before columns were standardized",
        ExchangedColumns(columns, columns, 0 * means, 1 / spreads, 1.0, means),
    )
    for factor in (WRONG_SCALE, 1 / WRONG_SCALE):
        yield f"multiplied by {factor:g}", ExchangedColumns(columns, columns, 0 * means, 0 * means + 1 / factor)
    if np.nanmin(here) > -1:
        yield (
            "logarithms (log1p)",
            lambda table: replace_columns(table, columns, np.log1p(read_columns(table, columns))),
        )
    if np.nanmax(here) < MAX_EXPONENT:
        yield (
            "exponentials (expm1)",
            lambda table: replace_columns(table, columns, np.expm1(read_columns(table, columns))),
        )
    if len(columns) > 2:
        for name, sources in _list_orders(subject, columns, values, read_columns(inputs, columns)):
            yield name, ExchangedColumns(columns, sources, 0 * means, 0 * means + 1)


def _list_orders(subject: Subject, columns: Ints, train: Floats, here: Floats) -> Iterator[tuple[str, Ints]]:
    """Other orders of columns: shifted, reversed, or as the training data have them."""
    yield "with each column one place further left", np.roll(columns, -1)
    yield "with each column one place further right", np.roll(columns, 1)
    yield "with its columns in reverse order", columns[::-1]
    if subject.training is None:
        return
    first, other = (np.nanquantile(each, QUANTILES, axis=0).T for each in (train, here))
    unit = np.ptp(first, axis=1)[:, None] + 1e-12
    cost = np.abs((first[:, None, :] - other[None]) / unit[:, None]).mean(axis=2)
    cost = np.minimum(cost, 10.0)
    at = linear_sum_assignment(cost)[1]
    if cost[np.arange(len(at)), at].sum() < MIN_MATCH * np.trace(cost):
        yield "with its columns in the order of the training data", columns[at]


def read_table(inputs: Any) -> Floats:
    """The numbers of a table, whatever else is in it left out."""
    columns = numeric_columns(inputs)
    return read_columns(inputs, columns) if len(columns) else np.zeros((n_rows(inputs), 1))


def _prepare_series() -> Iterator[tuple[str, Change]]:
    yield f"multiplied by {WRONG_SCALE:g}", Rescaled(WRONG_SCALE)
    yield f"divided by {WRONG_SCALE:g}", Rescaled(1 / WRONG_SCALE)
    yield "with each of mean 0 and spread 1", lambda batch: _standardize(batch, None)
    yield "turned upside down", Rescaled(-1.0)
    yield "reversed in time", lambda batch: batch.flip(-1) if is_tensor(batch) else np.flip(batch, -1).copy()


def _prepare_pictures(inputs: Any) -> Iterator[tuple[str, Change]]:
    values = numbers_of(inputs, "an input")
    low, high = float(values.min()), float(values.max())
    if high > MAX_UNIT_VALUE:
        yield "divided by 255", Rescaled(1 / 255)
        yield "scaled from 0…255 to −1…1", lambda batch: batch / 127.5 - 1
    else:
        yield "multiplied by 255", Rescaled(255.0)
        yield "scaled from 0…1 to −1…1", lambda batch: 2 * batch - 1
        yield "scaled from −1…1 to 0…1", lambda batch: (batch + 1) / 2
    yield "inverted (dark for bright)", lambda batch: low + high - batch
    yield "with each picture of mean 0 and spread 1", lambda batch: _standardize(batch, None)
    axis = channel_axis(tuple(values.shape[1:]), None)
    mean, spread = float(values.mean()), float(values.std()) or 1.0
    yield "standardized by mean and spread", lambda batch: (batch - mean) / spread
    if axis is not None and values.shape[axis + 1] == 3:
        yield "with their color channels in reverse order", ReversedChannels(axis)
        unit = 255.0 if high > MAX_UNIT_VALUE else 1.0
        yield "scaled as networks of photographs want it", lambda batch: _by_channel(batch, axis, unit, True)
        yield (
            "scaled back from what networks of photographs want",
            lambda batch: _by_channel(batch, axis, 1.0, False),
        )
    down, across = [i + 1 for i in range(values.ndim - 1) if i != axis][-2:]
    if values.shape[down] == values.shape[across]:
        yield "with rows and columns exchanged", lambda batch: _copy(batch.swapaxes(down, across))
    yield "mirrored", lambda batch: _flip(batch, across)
    yield "turned upside down", lambda batch: _flip(batch, down)


def _standardize(batch: Any, axes: Sequence[int] | None) -> Any:
    """Each instance with mean 0 and spread 1."""
    values = numbers_of(batch, "an input").astype(np.float64)
    own = tuple(range(1, values.ndim)) if axes is None else tuple(axes)
    spread = values.std(axis=own, keepdims=True)
    return _like(batch, (values - values.mean(axis=own, keepdims=True)) / np.where(spread > 0, spread, 1.0))


def _by_channel(batch: Any, axis: int, unit: float, forth: bool) -> Any:
    values = numbers_of(batch, "an input").astype(np.float64) / unit
    shape = [1] * values.ndim
    shape[axis + 1] = 3
    means, spreads = (np.reshape(each, shape) for each in (PHOTO_MEANS, PHOTO_SPREADS))
    return _like(batch, (values - means) / spreads if forth else values * spreads + means)


def _flip(batch: Any, axis: int) -> Any:
    return batch.flip(axis) if is_tensor(batch) else np.flip(batch, axis).copy()


def _copy(batch: Any) -> Any:
    return batch.contiguous() if is_tensor(batch) else np.ascontiguousarray(batch)


def _like(batch: Any, values: Floats) -> Any:
    """Numbers in the type of a batch, where that has fractions."""
    if is_tensor(batch):
        return batch.new_tensor(values)
    return values.astype(batch.dtype if batch.dtype.kind == "f" else np.float32)
