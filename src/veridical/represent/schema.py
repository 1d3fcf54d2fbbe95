"""What a table looks like, so that the model receives exactly what it was trained on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
                raise InputError(f"column names must be unique; {_twice(background.columns)}")
            labels = background.columns
            return cls(tuple(map(str, labels)), labels, tuple(background.dtypes))
        width = background.shape[1]
        named = [f"x{j}" for j in range(width)] if names is None else [str(name) for name in names]
        if len(named) != width:
            raise InputError(f"names must name every column: {width} columns, {len(named)} names")
        if len(set(named)) != width:
            raise InputError(f"names must be unique; {_twice(pd.Index(named))}")
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
        if isinstance(X, list) and X and all(isinstance(x, (Mapping, pd.Series)) for x in X):
            checked = [self.check_row(x) for x in X]
            return checked[0] if len(checked) == 1 else self._stack_all(checked)
        if self.labels is not None and isinstance(X, pd.DataFrame):
            return self._check_frame(X)
        if isinstance(X, pd.DataFrame) and set(X.columns) == set(self.names):
            X = X[list(self.names)]
        table = as_array(X.to_numpy() if isinstance(X, pd.DataFrame) else X, "rows to explain")
        if table.ndim != 2 or table.shape[1] != len(self.names):
            raise InputError(
                f"wanted rows of {len(self.names)} columns, as in the background; "
                f"got {type(X).__name__} of shape {table.shape}"
            )
        return self._cast_array(table) if self.labels is None else self._check_frame(self._frame(table))

    def check_row(self, x: Any) -> Any:
        """One row as a table of one row."""
        if isinstance(x, pd.DataFrame) or (isinstance(x, np.ndarray) and x.ndim == 2):
            if len(x) != 1:
                raise InputError(f"wanted one row to explain, got {len(x)}: use explain_many, or pick one row")
            return self.check_table(x)
        if type(x) is np.ndarray and self.labels is None and x.shape == (len(self.names),):
            return self._cast_array(x[None, :])
        if isinstance(x, pd.Series):
            if not x.index.is_unique:
                raise InputError(f"the row has a column more than once; {_twice(x.index)}")
            by_name = self.labels is not None or set(x.index) == set(self.names)
            x = dict(zip(x.index, x.to_list(), strict=True)) if by_name else x.to_numpy()
        if isinstance(x, Mapping):
            self._check_labels(pd.Index(list(x)))
            values = [x[c] for c in (self.names if self.labels is None else self.labels)]
        elif isinstance(x, Iterable) and not isinstance(x, (str, bytes)):
            values = list(x)
        else:
            raise InputError(f"wanted a row of {len(self.names)} columns, got {type(x).__name__} {x!r}")
        if len(values) != len(self.names):
            raise InputError(
                f"wanted a row of {len(self.names)} columns, as in the background; got {len(values)} values"
            )
        if self.labels is None:
            flat = as_array(values, "one value a column")
            if flat.ndim != 1:
                raise InputError(f"wanted one value a column; got values of shape {flat.shape[1:]}")
            return self._cast_array(flat[None, :])
        zipped = zip(self.labels, values, self.dtypes, strict=True)
        return pd.DataFrame({c: _series([v], t, str(c)) for c, v, t in zipped}, columns=self.labels)

    def build(self, columns: Sequence[Any], n: int) -> Any:
        """A table with this schema out of one array a column."""
        if self.labels is None:
            out = np.empty((n, len(columns)), dtype=self.dtypes[0])
            for j, column in enumerate(columns):
                out[:, j] = column
            return out
        zipped = zip(self.labels, columns, self.dtypes, strict=True)
        return pd.DataFrame({c: pd.Series(v, dtype=t, copy=False) for c, v, t in zipped}, columns=self.labels)

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

    def _stack_all(self, tables: list[Any]) -> Any:
        return np.concatenate(tables) if self.labels is None else pd.concat(tables, ignore_index=True)

    def _frame(self, table: Any) -> pd.DataFrame:
        return pd.DataFrame(table, columns=self.labels)

    def _check_frame(self, X: pd.DataFrame) -> pd.DataFrame:
        assert self.labels is not None
        if not X.columns.is_unique:
            raise InputError(f"the rows have a column more than once; {_twice(X.columns)}")
        self._check_labels(X.columns)
        ordered: pd.DataFrame = X[self.labels]
        if tuple(ordered.dtypes) == self.dtypes:
            return ordered
        cast = {c: _series(ordered[c], t, str(c)) for c, t in zip(self.labels, self.dtypes, strict=True)}
        return pd.DataFrame(cast, columns=self.labels)

    def _check_labels(self, given: pd.Index) -> None:
        wanted = pd.Index(self.names) if self.labels is None else self.labels
        missing = [str(c) for c in wanted if c not in given]
        unknown = [str(c) for c in given if c not in wanted]
        if missing or unknown:
            words = [f"missing: {', '.join(missing)}"] * bool(missing)
            words += [f"unknown: {', '.join(unknown)}"] * bool(unknown)
            raise InputError(f"wanted the {len(wanted)} columns of the background; {'; '.join(words)}")

    def _cast_array(self, table: Any) -> Any:
        dtype = self.dtypes[0]
        if table.dtype == dtype or dtype.kind == "O":
            return table.astype(dtype, copy=False)
        try:
            with np.errstate(invalid="ignore"):
                cast = table.astype(dtype)
        except (TypeError, ValueError) as cause:
            raise InputError(f"the background holds {dtype}; this row does not: {cause}") from cause
        if dtype.kind in "iub" and pd.isna(table).any():
            raise InputError(never_missing(self.names[int(np.argmax(pd.isna(table).any(axis=0)))]))
        if dtype.kind in "iub" and not np.array_equal(cast, table):
            raise InputError(f"the background holds {dtype}; this row has values that are not whole numbers")
        return cast


def as_array(values: Any, what: str) -> Any:
    """Nested values as an array, if they have a shape."""
    try:
        return np.asarray(values)
    except ValueError as cause:
        raise InputError(f"wanted {what}, all of equal length: {cause}") from cause


def never_missing(column: str) -> str:
    return (
        f"column {column!r} is missing here, but never in the background: fill it in, "
        f"or give a background in which it is missing as often as in your data"
    )


def some(values: Any, limit: int = 8) -> str:
    """The first few of many values, for a message."""
    values = list(values)
    more = f" and {len(values) - limit} more" if len(values) > limit else ""
    return ", ".join(repr(v) if isinstance(v, str) else str(v) for v in values[:limit]) + more


def _series(values: Any, dtype: Any, column: str) -> pd.Series[Any]:
    """Values as a column of the given type; what the type cannot hold is an error, never silently changed."""
    plain = pd.Series(list(values), dtype=object)
    missing = plain.isna().to_numpy()
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and missing.any():
        raise InputError(never_missing(column))
    if isinstance(dtype, pd.CategoricalDtype):
        lost = ~missing & ~plain.isin(dtype.categories).to_numpy()
        if lost.any():
            raise InputError(
                f"unknown category {plain[lost].iloc[0]!r} in column {column!r}; "
                f"the background has {some(dtype.categories)}"
            )
    try:
        if isinstance(dtype, np.dtype) and dtype.kind in "mM":
            cast: pd.Series[Any] = pd.Series(_times(plain.to_list(), missing, dtype))
        else:
            cast = pd.Series(plain.where(~missing, None).to_list(), dtype=dtype)
    except (TypeError, ValueError) as cause:
        kind = "whole numbers" if pd.api.types.is_integer_dtype(dtype) else dtype
        raise InputError(f"column {column!r} holds {kind}; {plain[~missing].iloc[0]!r} is not: {cause}") from cause
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_integer_dtype(dtype):
        same = cast[~missing].to_numpy(dtype=object) == plain[~missing].to_numpy()
        if not np.all(same):
            kind = "True or False" if pd.api.types.is_bool_dtype(dtype) else "whole numbers"
            raise InputError(f"column {column!r} holds {kind}; {plain[~missing][~same].iloc[0]!r} is not")
    return cast


def _times(values: list[Any], missing: Any, dtype: np.dtype[Any]) -> Any:
    """Dates or durations in the unit of their type, which may reach further than nanoseconds do."""
    read = pd.Timestamp if dtype.kind == "M" else pd.Timedelta
    found = [
        np.array("NaT", dtype) if gone else read(v).to_numpy() for v, gone in zip(values, missing, strict=True)
    ]
    return np.array([one.astype(dtype) for one in found], dtype)


def _twice(labels: pd.Index) -> str:
    return f"twice there: {', '.join(sorted({str(c) for c in labels[labels.duplicated()]}))}"
