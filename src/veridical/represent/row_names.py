"""The names that rows have: index labels, keys of records, names of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.represent.fields import Fields
from veridical.represent.foreign import as_pandas
from veridical.represent.rows import Rows


def get_row_name(represent: Any, x: Any) -> Any:
    """The name of one row: that of a Series, or the label of a DataFrame of one row; None where there is none."""
    if not isinstance(represent, (Rows, Fields)):
        return None  # a series or a table of numbers is an instance with axes of its own
    x = as_pandas(x)
    if isinstance(x, pd.Series):
        return _plain(x.name)
    if isinstance(x, pd.DataFrame) and len(x) == 1:
        names = get_index_names(x.index)
        return None if names is None else names[0]
    return None


def get_row_names(X: Any) -> list[Any] | None:
    """The names of many rows; None where they have none but their numbers."""
    if isinstance(X, (pd.DataFrame, pd.Series)):
        return get_index_names(X.index)
    if isinstance(X, (list, tuple)) and X and all(isinstance(x, pd.Series) and x.name is not None for x in X):
        return [_plain(x.name) for x in X]
    return None


def get_index_names(index: pd.Index) -> list[Any] | None:
    """The labels of an index; None where they are just the numbers 0, 1, 2, … that every frame begins with."""
    if isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1:
        return None
    return [_plain(label) for label in index.tolist()]


def split_names(represent: Any, X: Any) -> tuple[Any, list[Any] | None]:
    """Instances and their names; a mapping of names to instances is taken apart.

    A mapping of columns is refused: it would be read the wrong way round.
    """
    X = as_pandas(X)
    if isinstance(X, Set):
        raise InputError(
            f"X must be many instances in an order: pass a DataFrame or a list, not a {type(X).__name__}"
        )
    if not isinstance(X, Mapping):
        return X, get_row_names(X)
    if isinstance(represent, (Rows, Fields)) and not all(isinstance(x, Mapping) for x in X.values()):
        raise InputError(
            "X is a mapping whose values are no records: pass a DataFrame, or a mapping of names to records, each "
            "a mapping of columns to values"
        )
    return list(X.values()), [_plain(name) for name in X]


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def name_at(names: Sequence[Any] | None, number: int) -> Any:
    """The name of a row, or its number where rows have none."""
    return number if names is None else names[number]
