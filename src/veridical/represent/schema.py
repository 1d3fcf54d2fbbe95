"""What a table looks like, so that the model receives exactly what it was trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError


@dataclass(frozen=True)
class Schema:
    """Column names and types of the background; tables are read into, and built from, one array a column."""

    names: tuple[str, ...]
    labels: pd.Index | None  # of a DataFrame; None for an array
    dtypes: tuple[Any, ...]

    @classmethod
    def of(cls, background: Any, names: Sequence[str] | None) -> Schema:
        """The schema of a background; ``names`` are for arrays, which have none."""
        if isinstance(background, pd.DataFrame):
            if names is not None:
                raise InputError("names are for arrays; a DataFrame has its own: rename its columns instead")
            if not background.columns.is_unique:
                twice = sorted({str(c) for c in background.columns[background.columns.duplicated()]})
                raise InputError(f"column names must be unique; these occur twice: {', '.join(twice)}")
            labels = background.columns
            return cls(tuple(map(str, labels)), labels, tuple(background.dtypes))
        if background.ndim != 2:
            raise InputError(f"the background must have rows and columns; it has shape {background.shape}")
        width = background.shape[1]
        named = [f"x{j}" for j in range(width)] if names is None else [str(name) for name in names]
        if len(named) != width:
            raise InputError(f"names must name every column: {width} columns, {len(named)} names")
        if len(set(named)) != width:
            raise InputError("names must be unique")
        return cls(tuple(named), None, (background.dtype,) * width)

    @property
    def plain(self) -> Any | None:
        """The one floating dtype of all columns, or None if they differ or are not floats."""
        first = self.dtypes[0] if self.dtypes else None
        same = isinstance(first, np.dtype) and first.kind == "f" and all(t == first for t in self.dtypes)
        return first if same else None

    def column(self, table: Any, j: int) -> Any:
        """Column j of a checked table, as an array that has the column's own type."""
        return table.iloc[:, j].array if self.labels is not None else table[:, j]

    def check_table(self, X: Any) -> Any:
        """Many rows with this schema's columns, order and types."""
        if self.labels is not None:
            return self._check_frame(X)
        if isinstance(X, pd.DataFrame):
            X = X.to_numpy()
        table = _array(X)
        if table.ndim != 2 or table.shape[1] != len(self.names):
            raise InputError(
                f"wanted rows of {len(self.names)} columns, as in the background; "
                f"got an array of shape {table.shape}"
            )
        return self._cast_array(table)

    def check_row(self, x: Any) -> Any:
        """One row as a table of one row."""
        if isinstance(x, pd.DataFrame) or (isinstance(x, np.ndarray) and x.ndim == 2):
            if len(x) != 1:
                raise InputError(f"wanted one row to explain, got {len(x)}: use explain_many, or pick one row")
            return self.check_table(x)
        if self.labels is None:
            flat = _array(list(x.values()) if isinstance(x, Mapping) else x)
            if flat.shape != (len(self.names),):
                raise InputError(
                    f"wanted a row of {len(self.names)} columns, as in the background; "
                    f"got something of shape {flat.shape}"
                )
            return self._cast_array(flat[None, :])
        if isinstance(x, pd.Series):
            x = x.to_dict()
        elif not isinstance(x, Mapping):
            values = list(x)
            if len(values) != len(self.names):
                raise InputError(f"wanted a row of {len(self.names)} columns, got {len(values)} values")
            x = dict(zip(self.labels, values, strict=True))
        self._check_labels(pd.Index(list(x)))
        single = {c: _series([x[c]], t, str(c)) for c, t in zip(self.labels, self.dtypes, strict=True)}
        return pd.DataFrame(single, columns=self.labels)

    def build(self, columns: Sequence[Any], n: int) -> Any:
        """A table with this schema out of one array a column."""
        if self.labels is not None:
            return pd.DataFrame(dict(zip(self.labels, columns, strict=True)), columns=self.labels, index=range(n))
        out = np.empty((n, len(columns)), dtype=self.dtypes[0])
        for j, column in enumerate(columns):
            out[:, j] = column
        return out

    def build_plain(self, values: Any) -> Any:
        """A table out of one block of floats, for a schema that is ``plain``."""
        block = values.astype(self.plain, copy=False)
        return block if self.labels is None else pd.DataFrame(block, columns=self.labels)

    def stack(self, first: Any, rest: Any) -> Any:
        """One table below the other."""
        if self.labels is None:
            return np.concatenate([first, rest])
        return pd.concat([first, rest], ignore_index=True)

    def rows(self, table: Any, start: int, stop: int) -> Any:
        """Some rows of a checked table."""
        return table.iloc[start:stop] if self.labels is not None else table[start:stop]

    def _check_frame(self, X: Any) -> pd.DataFrame:
        if not isinstance(X, pd.DataFrame):
            table = _array(X)
            if table.ndim != 2 or table.shape[1] != len(self.names):
                raise InputError(
                    f"wanted rows of {len(self.names)} columns, as in the background; "
                    f"got something of shape {table.shape}"
                )
            X = pd.DataFrame(table, columns=self.labels)
        self._check_labels(X.columns)
        assert self.labels is not None
        ordered: pd.DataFrame = X[self.labels]
        if tuple(ordered.dtypes) == self.dtypes:
            return ordered
        X = ordered
        cast = {c: _series(X[c], t, str(c)) for c, t in zip(self.labels, self.dtypes, strict=True)}
        return pd.DataFrame(cast, columns=self.labels)

    def _check_labels(self, given: pd.Index) -> None:
        assert self.labels is not None
        missing = [str(c) for c in self.labels if c not in given]
        unknown = [str(c) for c in given if c not in self.labels]
        if missing or unknown:
            words = [f"missing: {', '.join(missing)}"] * bool(missing)
            words += [f"unknown: {', '.join(unknown)}"] * bool(unknown)
            raise InputError(f"wanted the {len(self.labels)} columns of the background; {'; '.join(words)}")

    def _cast_array(self, table: Any) -> Any:
        dtype = self.dtypes[0]
        if table.dtype == dtype or dtype.kind == "O":
            return table.astype(dtype, copy=False)
        try:
            cast = table.astype(dtype)
        except (TypeError, ValueError) as cause:
            raise InputError(f"the background holds {dtype}; this row does not: {cause}") from cause
        if dtype.kind in "iub" and not np.array_equal(cast, table):
            raise InputError(f"the background holds {dtype}; this row has values that are not whole numbers")
        return cast


def _array(X: Any) -> Any:
    try:
        return np.asarray(X)
    except (TypeError, ValueError) as cause:
        raise InputError(f"wanted rows of equal length: {cause}") from cause


def _series(values: Any, dtype: Any, column: str) -> pd.Series[Any]:
    """Values as a column of the given type; what the type cannot hold is an error, never a silent NaN."""
    plain = pd.Series(list(values), dtype=object)
    try:
        if isinstance(dtype, np.dtype) and dtype.kind in "iub" and plain.isna().any():
            raise InputError(f"column {column!r} has no missing values in the background, but this row has one")
        cast = pd.Series(list(values)).astype(dtype)
    except (TypeError, ValueError) as cause:
        if isinstance(cause, InputError):
            raise
        raise InputError(f"column {column!r} holds {dtype}; {plain.iloc[0]!r} is not: {cause}") from cause
    if isinstance(dtype, np.dtype) and dtype.kind in "iu" and not (cast.to_numpy() == plain.to_numpy()).all():
        raise InputError(f"column {column!r} holds whole numbers; {plain.iloc[0]!r} is not one")
    lost = cast.isna().to_numpy() & ~plain.isna().to_numpy()
    if lost.any():
        raise InputError(
            f"unknown category {plain[lost].iloc[0]!r} in column {column!r}; "
            f"the background has {some(dtype.categories)}"
        )
    return cast


def some(values: Any, limit: int = 8) -> str:
    """The first few of many values, for a message."""
    values = list(values)
    more = f" and {len(values) - limit} more" if len(values) > limit else ""
    return ", ".join(repr(v) if isinstance(v, str) else str(v) for v in values[:limit]) + more
