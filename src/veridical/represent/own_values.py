"""The row's own value of each column, as plain Python: what a reader sees beside a bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from veridical.represent.columns import NONE

Place: TypeAlias = tuple[
    tuple[int, ...], tuple[str, ...]
]  # columns of a part, and their names if it is one of them

NUMPY_ARRAY = type(pd.Series([0]).array)  # called PandasArray before pandas 2.1, and NumpyExtensionArray since


@dataclass(frozen=True, eq=False)
class OwnValues:
    """The own values of the rows of a table, read when the first is asked for."""

    table: Any
    places: Sequence[Place]

    @cached_property
    def rows(self) -> list[tuple[Any, ...]]:
        return read_values(self.table, self.places)


def read_values(table: Any, places: Sequence[Place]) -> list[tuple[Any, ...]]:
    """One tuple per row of a DataFrame or an array (n, columns), with one value per part."""
    single = [columns[0] for columns, names in places if not names]
    if isinstance(table, np.ndarray) and len(single) == len(places) and table.dtype in (np.float64, np.float32):
        return list(map(tuple, table[:, single].tolist()))
    if not places:
        return [()] * len(table)
    return list(zip(*(_part_values(table, place) for place in places), strict=True))


def _part_values(table: Any, place: Place) -> list[Any]:
    columns, names = place
    if not names:
        return plain_values(_column(table, columns[0]))
    hot = np.stack([np.asarray(_column(table, j), dtype=np.float64) for j in columns], axis=1)
    found, at = np.asarray(hot.any(axis=1)), hot.argmax(axis=1)
    return [names[j] if some else NONE for j, some in zip(at.tolist(), found.tolist(), strict=True)]


def _column(table: Any, j: int) -> Any:
    return table.iloc[:, j].array if isinstance(table, pd.DataFrame) else table[:, j]


def plain_values(values: Any) -> list[Any]:
    """A column as Python values; a missing value is nan among floats, and None among others."""
    numpy = isinstance(values, (np.ndarray, NUMPY_ARRAY))
    if numpy and values.dtype.kind in "iubf" and values.dtype.itemsize <= 8:
        found: list[Any] = np.asarray(values).tolist()
        return found
    floating = pd.api.types.is_float_dtype(values.dtype)
    if numpy and floating:
        return list(map(float, values))
    gone = np.asarray(pd.isna(values), dtype=bool)
    nothing = float("nan") if floating else None
    return [nothing if gap else _plain(value) for value, gap in zip(list(values), gone.tolist(), strict=True)]


def _plain(value: Any) -> Any:
    """A value as Python has it; of a date or duration that Python has not, as numpy has it."""
    if isinstance(value, (np.datetime64, np.timedelta64)):
        unit, step = np.datetime_data(value.dtype)
        if unit == "ns" and step == 1:
            return pd.Timestamp(value) if isinstance(value, np.datetime64) else pd.Timedelta(value)
        item = value.item()
        return value if isinstance(item, int) else item
    return value.item() if isinstance(value, np.generic) else value
