"""The schema of a table (columns, labels and types), and rows of any form read by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from veridical.errors import InputError, require

PROTOCOLS = ("__arrow_c_stream__", "to_pandas", "__dataframe__")  # by which other libraries hand their tables on
LABELLED = (Mapping, pd.Series, pd.DataFrame)  # they say which value belongs to which column
UNORDERED = (Set, Mapping)  # of these nobody knows which value belongs to which column


def as_pandas(table: Any) -> Any:
    """A table of polars, Arrow or another library as a DataFrame; anything else as it is.

    Whole numbers and truth values that are missing now and then become pandas' ``Int64`` and ``boolean``, dates
    become ``datetime64``, dictionaries and enumerations ``category``.
    """
    if isinstance(table, (pd.DataFrame, pd.Series, np.ndarray, list, tuple, Mapping, str)):
        return table
    if type(table).__name__ == "LazyFrame" and hasattr(table, "collect"):
        raise InputError("this is a LazyFrame, which holds no rows yet: pass frame.collect()")
    if not hasattr(table, "columns") or not any(hasattr(table, name) for name in PROTOCOLS):
        return table
    what = f"{type(table).__name__} of {type(table).__module__.partition('.')[0]}"
    try:
        frame = _convert(table)
    except InputError:
        raise
    except Exception as cause:
        raise InputError(
            f"this {what} does not become a DataFrame ({type(cause).__name__}: {cause}): pass a pandas DataFrame"
        ) from cause
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"this {what} became a {type(frame).__name__}: pass a pandas DataFrame")
    return frame


def _convert(table: Any) -> Any:
    """By the first protocol that the table and what is installed know."""
    if hasattr(table, "__arrow_c_stream__"):
        try:
            arrow = require("pyarrow", extra="all")
        except ImportError:
            if not hasattr(table, "to_pandas"):
                raise
        else:
            return _from_arrow(arrow.table(table), arrow.types)
    if hasattr(table, "to_pandas"):
        return table.to_pandas()
    return pd.api.interchange.from_dataframe(table)


def _from_arrow(table: Any, types: Any) -> pd.DataFrame:
    """An Arrow table; where a whole number or a truth value is missing, the others stay what they are."""
    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    names = list(map(str, frame.columns))
    for at, field in enumerate(table.schema):
        kind, held = field.type, table.column(at)
        if not held.null_count or names.count(field.name) != 1:
            continue
        place = names.index(field.name)
        if types.is_integer(kind):
            dtype = pd.api.types.pandas_dtype(str(kind).replace("uint", "UInt").replace("int", "Int"))
        elif types.is_boolean(kind):
            dtype = pd.BooleanDtype()
        else:
            continue
        if frame.dtypes.iloc[place] != dtype:
            own = held.to_pandas(types_mapper={kind: dtype}.get)
            frame.isetitem(place, own.set_axis(frame.index))
    return frame


def as_array(values: Any, what: str) -> Any:
    """Nested values as a plain array of the machine's own byte order, if they have a shape."""
    if isinstance(values, UNORDERED):
        raise InputError(f"wanted {what}, not a {type(values).__name__}: pass a DataFrame, an array or a list")
    try:
        array = np.asarray(_fill_masked(values, what) if isinstance(values, np.ma.MaskedArray) else values)
    except ValueError as cause:
        raise InputError(f"wanted {what}, all of equal length: {cause}") from cause
    if array.dtype.names is not None:
        raise InputError(f"wanted {what}; this array has fields of its own: pass pd.DataFrame(array)")
    if array.dtype.kind in "cV" or (array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] == "generic"):
        raise InputError(unsupported_message("the array", array.dtype))
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def unsupported_message(what: str, dtype: Any) -> str:
    """Why values of a type cannot be explained."""
    if getattr(dtype, "kind", "") == "c":
        return f"{what} holds complex numbers, which have no order: give real and imaginary parts as two columns"
    if getattr(dtype, "kind", "") in "mM":
        return f"{what} holds {dtype} without a unit: say which, as in array.astype('{dtype}[s]')"
    return f"{what} holds {dtype}: wanted numbers, texts, dates or categories"


def check_ordered_list(argument: str, values: Any, what: str = "names") -> list[Any]:
    """A list of the caller's, in an order that means something."""
    if isinstance(values, (str, bytes, *UNORDERED)) or not isinstance(values, Iterable):
        raise InputError(f"{argument} wants a list of {what}, not {type(values).__name__} {values!r:.60}")
    return list(values)


def _fill_masked(values: Any, what: str) -> Any:
    """A masked array with its masked values missing, where its type knows what that is."""
    if not np.ma.getmaskarray(values).any():
        return values.data
    empty = {"f": np.nan, "M": np.datetime64("NaT"), "m": np.timedelta64("NaT"), "O": None}
    if values.dtype.kind not in empty:
        raise InputError(
            f"wanted {what}; an array of {values.dtype} has masked values: fill them in, or pass floats"
        )
    return values.filled(empty[values.dtype.kind])


IN_ORDER_NOTE = (
    "the columns were taken in their order, whatever they are called: the background is an array without names"
)
EXACT = 2**53  # floats tell whole numbers apart up to here


@dataclass(frozen=True)
class Schema:
    """Column names and types of the background; tables are read into, and built from, one array per column.

    ``names`` are unique texts, whatever the labels of a DataFrame are: columns labelled ``1`` and ``"1"`` are
    called ``1`` and ``'1'``.
    """

    names: tuple[str, ...]
    labels: pd.Index | None  # of a DataFrame; None for an array
    dtypes: tuple[Any, ...]
    named: bool = True  # False for an array whose columns are called x0, x1, … for want of names

    @classmethod
    def of(cls, background: Any, names: Sequence[str] | None) -> Schema:
        """The schema of a background; ``names`` are for arrays, which have none."""
        if isinstance(background, pd.DataFrame):
            if names is not None:
                raise InputError("names are for arrays; a DataFrame has its own: rename its columns instead")
            if not background.columns.is_unique:
                raise InputError(f"column names must be unique; {_duplicates_message(background.columns)}")
            labels, dtypes = background.columns, tuple(map(_to_native, background.dtypes))
            named = label_names(labels)
            for name, dtype in zip(named, dtypes, strict=True):
                if isinstance(dtype, np.dtype) and dtype.kind in "cV":
                    raise InputError(unsupported_message(f"column {name!r}", dtype))
            return cls(named, labels, dtypes)
        width = background.shape[1]
        texts = (
            [f"x{j}" for j in range(width)]
            if names is None
            else list(map(str, check_ordered_list("names", names)))
        )
        if len(texts) != width:
            raise InputError(f"names must name every column: {width} columns, {len(texts)} names")
        if len(set(texts)) != width:
            raise InputError(f"names must be unique; {_duplicates_message(pd.Index(texts, dtype=object))}")
        return cls(tuple(texts), None, (background.dtype,) * width, names is not None)

    @property
    def plain(self) -> Any | None:
        """The one floating dtype of all columns, or None if they differ or are not floats."""
        first = self.dtypes[0] if self.dtypes else None
        same = isinstance(first, np.dtype) and first.kind == "f" and all(t == first for t in self.dtypes)
        return first if same else None

    @cached_property
    def categorical(self) -> tuple[int, ...]:
        """Positions of the columns of categories."""
        return tuple(j for j, t in enumerate(self.dtypes) if isinstance(t, pd.CategoricalDtype))

    def column(self, table: Any, j: int) -> Any:
        """Column j of a checked table, as an array that has the column's own type."""
        if self.labels is None:
            return table[:, j]
        series = table.iloc[:, j]
        numpy = isinstance(series.dtype, np.dtype) and series.dtype.kind not in "mM"
        return series.to_numpy() if numpy else series.array

    def to_native(self, background: Any) -> Any:
        """The background with its columns in the machine's own byte order."""
        if self.labels is None or all(map(_same_type, background.dtypes, self.dtypes)):
            return background
        columns = [background.iloc[:, j].astype(t).reset_index(drop=True) for j, t in enumerate(self.dtypes)]
        return self._with_labels(columns)

    def check_table(self, X: Any) -> Any:
        """Many rows with this schema's columns, order and types."""
        X = as_pandas(X)
        if isinstance(X, (list, tuple)) and X and all(isinstance(x, LABELLED) or hasattr(x, "_fields") for x in X):
            checked = [self.check_row(x) for x in X]
            return checked[0] if len(checked) == 1 else self.stack(checked)
        if isinstance(X, pd.DataFrame):
            return self._check_frame(X) if self.labels is not None else self._check_unlabelled(X)
        table = as_array(X, "rows to explain")
        if table.ndim != 2 or table.shape[1] != len(self.names):
            one = ": explain is for one row" if table.ndim == 1 and len(table) == len(self.names) else ""
            raise InputError(self._shape_message(f"{type(X).__name__} of shape {table.shape}{one}"))
        if self.labels is None:
            return self._cast_array(table)
        return self._check_frame(pd.DataFrame(table, columns=self.labels))

    def check_row(self, x: Any) -> Any:
        """One row as a table of one row."""
        if type(x) is np.ndarray and self.labels is None and x.shape == (len(self.names),):
            row = x[None, :]
            return row if row.dtype == self.dtypes[0] else self._cast_array(as_array(row, "a row"))
        x = as_pandas(x)
        if isinstance(x, pd.DataFrame) or (isinstance(x, np.ndarray) and x.ndim == 2):
            if len(x) != 1:
                raise InputError(f"wanted one row to explain, got {len(x)}: use explain_many, or pick one row")
            return self.check_table(x)
        if isinstance(x, pd.Series):
            if not x.index.is_unique:
                raise InputError(f"the row has a column more than once; {_duplicates_message(x.index)}")
            values = self._match(x.index, x.to_list())
        elif isinstance(x, Mapping):
            values = self._match(x, list(x.values()))
        elif isinstance(x, tuple) and set(getattr(x, "_fields", ())) == set(self._wanted_labels):
            values = self._match(x._fields, list(x))  # type: ignore[attr-defined]
        elif (
            isinstance(x, Iterable)
            and np.ndim(x if isinstance(x, np.ndarray) else ())
            and not isinstance(x, (str, bytes, *UNORDERED))
        ):
            values = list(as_array(x, "a row") if isinstance(x, np.ndarray) else x)
        else:
            order = ", which has no order" if isinstance(x, UNORDERED) else ""
            raise InputError(
                f"wanted a row of {len(self.names)} columns (a Series, dict, list or array), got "
                f"{type(x).__name__} {x!r:.200}{order}"
            )
        if len(values) != len(self.names):
            raise InputError(self._shape_message(f"{len(values)} values", "a row"))
        if self.labels is None:
            flat = as_array(values, "one value per column")
            if flat.ndim != 1:
                raise InputError(f"wanted one value per column; got values of shape {flat.shape[1:]}")
            return self._cast_array(flat[None, :])
        zipped = zip(values, self.dtypes, self.names, strict=True)
        return self._with_labels([_cast_series([v], t, name) for v, t, name in zipped])

    def matching_notes(self, x: Any) -> tuple[str, ...]:
        """How the columns of a checked row, or of many, were matched to those of an array, where it matters."""
        first = next(iter(x), None) if isinstance(x, (list, tuple)) and not hasattr(x, "_fields") else x
        first = as_pandas(first)
        if self.labels is not None or not isinstance(first, LABELLED):
            return ()
        given = list(first.columns if isinstance(first, pd.DataFrame) else first.keys())
        if self._find_order(given) != list(range(len(given))):
            return ("the columns come in another order than the background's: they were matched by their labels",)
        known = {*self.names, *range(len(given)), *map(str, range(len(given)))}
        return () if known.issuperset(given) else (IN_ORDER_NOTE,)

    def build(self, columns: Sequence[Any], n: int) -> Any:
        """A table with this schema out of one array per column; categories may be more than the background has."""
        if self.labels is None:
            dtype = self.dtypes[0]
            if dtype.kind in "US":
                dtype = np.result_type(dtype, *(c.dtype for c in columns))
            out = np.empty((n, len(columns)), dtype=dtype)
            for j, column in enumerate(columns):
                out[:, j] = column
            return out
        zipped = zip(columns, self.dtypes, strict=True)
        return self._with_labels(
            [pd.Series(v, dtype=_widest(v, t), copy=False) for v, t in zipped],
        )

    def build_plain(self, values: Any) -> Any:
        """A table out of one block of floats, for a schema that is ``plain``."""
        block = values.astype(self.dtypes[0], copy=False)
        return block if self.labels is None else pd.DataFrame(block, columns=self.labels)

    def stack(self, tables: Sequence[Any]) -> Any:
        """Tables one below the other."""
        if self.labels is None:
            return np.concatenate(tables)
        for j in self.categorical:
            columns = [table.iloc[:, j].array for table in tables]
            if not all(_same_type(c.dtype, columns[0].dtype) for c in columns):
                tables = [table.copy() for table in tables]
                for table, column in zip(tables, _unite(columns), strict=True):
                    table.isetitem(j, column)
        return pd.concat(tables, ignore_index=True)

    def rows(self, table: Any, start: int, stop: int) -> Any:
        """Some rows of a checked table."""
        return table.iloc[start:stop] if self.labels is not None else table[start:stop]

    def find_unseen(self, table: Any) -> dict[int, Any]:
        """Where columns of categories of a checked table hold some that the background's type does not know."""
        found = {}
        for j in self.categorical:
            column, known = table.iloc[:, j].array, len(self.dtypes[j].categories)
            if len(column.categories) > known:
                found[j] = column.codes >= known
        return found

    def drop_unknown(self, table: Any, *, known: bool = False) -> Any:
        """A checked table with no more categories than it holds, or than are known."""
        for j, lost in self.find_unseen(table).items():
            dtype, column = self.dtypes[j], table.iloc[:, j]
            if lost.any() and not known:
                more = column.cat.categories[np.unique(column.cat.codes[lost])]
                dtype = pd.CategoricalDtype(_extend(dtype.categories, list(more)), dtype.ordered)
            table = table.copy(deep=False)
            table.isetitem(j, column.cat.set_categories(dtype.categories))
        return table

    def concatenate(self, arrays: Sequence[Any]) -> Any:
        """Arrays of one column, one below the other; categories that are not in all are put last."""
        if all(isinstance(array, np.ndarray) for array in arrays):
            return np.concatenate(arrays)
        if isinstance(arrays[0].dtype, pd.CategoricalDtype):
            arrays = _unite(arrays)
        return pd.concat([pd.Series(array) for array in arrays], ignore_index=True).array

    def _with_labels(self, columns: Sequence[pd.Series[Any]]) -> pd.DataFrame:
        """Columns under the labels of the background, of whatever kind those are."""
        frame = pd.DataFrame(dict(enumerate(columns)))
        assert self.labels is not None
        frame.columns = self.labels
        return frame

    @property
    def _wanted_labels(self) -> Any:
        return self.names if self.labels is None else self.labels

    def _shape_message(self, came: str, what: str = "rows") -> str:
        return f"wanted {what} of {len(self.names)} columns, as in the background; got {came}"

    def _match(self, labels: Iterable[Any], values: list[Any]) -> list[Any]:
        """The values under some labels, in the order of the columns."""
        return [values[at] for at in self._find_order(labels)]

    def _find_order(self, labels: Iterable[Any]) -> list[int]:
        """Where among labels each column is.

        Rows for an array match by its names, or by the numbers of its columns (as numbers or texts), in any order;
        where it has no names, other texts are taken in the order in which they come, as an array's values are.
        """
        given, wanted, width = list(labels), list(self._wanted_labels), len(self.names)
        if self.labels is None and len(given) == width and set(given) != set(self.names):
            if all(isinstance(c, (int, np.integer)) and not isinstance(c, bool) for c in given):
                if set(given) == set(range(width)):
                    return [given.index(at) for at in range(width)]
                raise InputError(
                    f"the columns are numbered {list_some(given)}, and those of the background 0 to {width - 1}: "
                    "number them so, or pass an array"
                )
            if set(given) == set(map(str, range(width))):  # as a CSV file names columns that have no names
                return [given.index(str(at)) for at in range(width)]
            if not self.named and all(isinstance(c, str) and c not in self.names for c in given):
                return list(range(width))
        places, known = {_lookup_key(c): at for at, c in enumerate(given)}, set(map(_lookup_key, wanted))
        missing = [c for c in wanted if _lookup_key(c) not in places]
        unknown = [c for c in given if _lookup_key(c) not in known]
        if missing or unknown:
            shown = repr if set(map(str, missing)) & set(map(str, unknown)) else str
            words = [f"missing: {', '.join(map(shown, missing))}"] * bool(missing)
            words += [f"unknown: {', '.join(map(shown, unknown))}"] * bool(unknown)
            words += ["leave them out"] * (not missing)
            raise InputError(f"wanted the {width} columns of the background; {'; '.join(words)}")
        return [places[_lookup_key(c)] for c in wanted]

    def _check_unlabelled(self, X: pd.DataFrame) -> Any:
        """A DataFrame as rows for an array."""
        if X.shape[1] != len(self.names):
            raise InputError(self._shape_message(f"DataFrame of shape {X.shape}"))
        if not X.columns.is_unique:
            raise InputError(f"the rows have a column more than once; {_duplicates_message(X.columns)}")
        order = self._find_order(X.columns)
        columns = [X.iloc[:, j] for j in order]
        if all(isinstance(c.dtype, np.dtype) for c in columns):
            return self._cast_array(as_array(X.iloc[:, order].to_numpy(), "rows to explain"))
        block = np.empty(X.shape, dtype=object)
        for j, column in enumerate(columns):
            values = column.to_numpy(dtype=object)
            block[:, j] = np.where(np.asarray(column.isna()), np.nan, values)
        return self._cast_array(block)

    def _check_frame(self, X: pd.DataFrame) -> pd.DataFrame:
        assert self.labels is not None
        ordered = X
        if X.columns is not self.labels and not _same_labels(X.columns, self.labels):
            if not X.columns.is_unique:
                raise InputError(f"the rows have a column more than once; {_duplicates_message(X.columns)}")
            ordered = X.iloc[:, self._find_order(X.columns)]
            ordered.columns = self.labels
        wrong = [j for j, t in enumerate(ordered.dtypes) if not _same_type(t, self.dtypes[j])]
        if not wrong:
            return ordered
        columns = [ordered.iloc[:, j].reset_index(drop=True) for j in range(len(self.names))]
        for j in wrong:
            columns[j] = _cast_series(columns[j], self.dtypes[j], self.names[j])
        return self._with_labels(columns)

    def _cast_array(self, table: Any) -> Any:
        """An array in the type of the background; what that cannot hold is an error, never silently changed."""
        dtype, own = self.dtypes[0], table.dtype
        if own == dtype or dtype.kind == "O":
            return table.astype(dtype, copy=False)
        if dtype.kind in "iubUS" and pd.isna(table).any():
            raise InputError(missing_message(self.names[int(np.argmax(pd.isna(table).any(axis=0)))]))
        if own.kind not in "OUS" and (own.kind in "mM" or dtype.kind in "mM") and own.kind != dtype.kind:
            raise InputError(f"the background holds {dtype}; this row holds {own}")
        try:
            with np.errstate(invalid="ignore", over="ignore"):
                cast = table.astype(dtype if dtype.kind not in "US" else dtype.kind)
        except (TypeError, ValueError, OverflowError) as cause:
            raise InputError(f"the background holds {dtype}; this row does not: {cause}") from cause
        if dtype.kind in "US":
            narrow = cast.astype(dtype)
            return narrow if np.array_equal(narrow, cast) else cast
        if dtype.kind in "mM" and own.kind == dtype.kind:
            gone = np.isnat(table)
            if not (
                np.array_equal(cast.astype(own)[~gone], table[~gone]) and np.array_equal(np.isnat(cast), gone)
            ):
                raise InputError(f"the background holds {dtype}; this row has values of {own} that it cannot hold")
        if dtype.kind in "iub":
            if dtype.kind in "iu" and own.kind == "f" and (np.abs(table) > EXACT).any():
                raise InputError(coarse_message(f"the background holds {dtype}"))
            kind = "True or False" if dtype.kind == "b" else "whole numbers that it can hold"
            if not np.array_equal(cast.astype(object), table.astype(object)):
                raise InputError(f"the background holds {dtype}; this row has values that are not {kind}")
        return cast


def coarse_message(column: str) -> str:
    return (
        f"{column}, and this row has one beyond 2^53 as a float, which no longer says which it was: "
        f"pass the row in its own type, as in table.iloc[[i]]"
    )


def label_names(labels: Iterable[Any]) -> tuple[str, ...]:
    """Labels as texts, told apart: where two read the same, as the code that makes them."""
    labels = list(labels)
    shown = list(map(str, labels))
    if len(set(shown)) < len(shown):
        often = Counter(shown)
        shown = [repr(c) if often[text] > 1 else text for c, text in zip(labels, shown, strict=True)]
    if len(set(shown)) < len(shown):
        often = Counter(shown)
        shown = [f"{text} (column {j})" if often[text] > 1 else text for j, text in enumerate(shown)]
    return tuple(shown)


def positions_of(schema: Schema, columns: Any, argument: str) -> set[int]:
    """Columns by name or position."""
    if isinstance(columns, (str, bytes, Mapping)) or not isinstance(columns, Iterable):
        raise InputError(f"{argument} wants a list of columns, not {columns!r}")
    return {position_of(schema, c, argument) for c in columns}


def position_of(schema: Schema, column: str | int, argument: str) -> int:
    """A column by its name or position."""
    try:
        if schema.labels is not None and column in (labels := list(schema.labels)):
            return labels.index(column)
    except (TypeError, ValueError):
        pass  # what no label is: an array, say
    if isinstance(column, str) and column in schema.names:
        return schema.names.index(column)
    if isinstance(column, (int, np.integer)) and not isinstance(column, bool) and 0 <= column < len(schema.names):
        return int(column)
    like = get_close_matches(column, schema.names, n=1) if isinstance(column, str) else []
    hint = f"; did you mean {like[0]!r}?" if like else ""
    raise InputError(
        f"{argument} names the column {column!r}, but the background has {list_some(schema.names)}{hint}"
    )


def missing_message(column: str) -> str:
    return (
        f"column {column!r} is missing here, but never in the background: fill it in, "
        f"or give a background in which it is missing as often as in your data"
    )


def list_some(values: Any, limit: int = 8) -> str:
    """The first few of many values, for a message."""
    values = list(values)
    more = f" and {len(values) - limit} more" if len(values) > limit else ""
    return ", ".join(repr(v) if isinstance(v, str) else str(v) for v in values[:limit]) + more


def _cast_series(values: Any, dtype: Any, column: str) -> pd.Series[Any]:
    """Values as a column of the given type; what the type cannot hold is an error, never silently changed.

    Categories are recoded by value, those that the type does not have being put last.
    """
    plain: pd.Series[Any] = pd.Series(list(values), dtype=object)
    missing = np.array([is_missing(v) for v in plain], bool)
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and missing.any():
        raise InputError(missing_message(column))
    times = _KINDS_OF_TIME.get(getattr(dtype, "kind", ""))
    if times is not None:
        _check_times(plain[~missing], dtype, column, times)
    try:
        if isinstance(dtype, pd.CategoricalDtype):
            return _recode(plain, missing, dtype)
        if isinstance(dtype, np.dtype) and dtype.kind in "mM":
            cast: pd.Series[Any] = pd.Series(_cast_times(plain.to_list(), missing, dtype))
        else:
            cast = pd.Series(plain.where(~missing, None).to_list(), dtype=dtype)
    except (TypeError, ValueError, OverflowError, NotImplementedError, ArithmeticError) as cause:
        first = plain[~missing].iloc[0] if not missing.all() else None
        if pd.api.types.is_integer_dtype(dtype):
            wrong = next((v for v in plain[~missing] if not _is_whole(v, dtype)), first)
            raise InputError(f"column {column!r} holds whole numbers; {_whole_message(wrong)}") from cause
        raise InputError(f"column {column!r} holds {times or dtype}; {first!r} is not: {cause}") from cause
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_integer_dtype(dtype):
        own = plain[~missing].to_numpy()
        coarse = [isinstance(v, (float, np.floating)) and abs(float(v)) > EXACT for v in own]
        if any(coarse) and pd.api.types.is_integer_dtype(dtype):
            raise InputError(coarse_message(f"column {column!r} holds whole numbers"))
        same = cast[~missing].to_numpy(dtype=object) == own
        if not np.all(same):
            wrong = plain[~missing][~same].iloc[0]
            if pd.api.types.is_bool_dtype(dtype):
                raise InputError(f"column {column!r} holds True or False; {wrong!r} is not")
            raise InputError(f"column {column!r} holds whole numbers; {_whole_message(wrong)}")
    return cast


_KINDS_OF_TIME = {"M": "dates", "m": "durations"}  # by kind of a type


def _is_whole(value: Any, dtype: Any) -> bool:
    """Whether a column of whole numbers can hold a value."""
    try:
        return bool(pd.Series([value], dtype=dtype)[0] == value)
    except (TypeError, ValueError, OverflowError):
        return False


def _whole_message(value: Any) -> str:
    """Why a value is none of a column of whole numbers."""
    if isinstance(value, str):
        return f"{value!r} is a text: give a number, without quotes"
    if isinstance(value, Integral):
        return f"{value!r} is too large for its type, or negative where that has no sign"
    return f"{value!r} is not"


def _check_times(values: pd.Series[Any], dtype: Any, column: str, kind: str) -> None:
    """Refuse numbers for dates or durations, and dates with a time zone where there is none, or the reverse."""
    zoned = getattr(dtype, "tz", None)
    for value in values:
        if isinstance(value, Real):
            example = "pd.Timestamp('2026-01-31')" if kind == "dates" else "pd.Timedelta('3h')"
            raise InputError(f"column {column!r} holds {kind}; {value!r} is a number: give one such as {example}")
        if kind == "dates" and (has := _has_zone(value)) is not None and has != (zoned is not None):
            here, there = ("a", "none") if has else ("no", f"one ({zoned})")
            do = "tz_localize(None)" if has else f"tz_localize({str(zoned)!r})"
            raise InputError(
                f"column {column!r}: {value!r} has {here} time zone, and the background has {there}: convert it "
                f"first, as by {do}"
            )


def _has_zone(value: Any) -> bool | None:
    """Whether a date has a time zone; None where that cannot be told."""
    try:
        return pd.Timestamp(value).tzinfo is not None
    except (TypeError, ValueError, OverflowError):
        return None


def is_missing(value: Any) -> bool:
    """Whether a value is one that stands for none: None, nan, NaT or NA."""
    return value is None or (pd.api.types.is_scalar(value) and bool(pd.isna(value)))


def _recode(plain: pd.Series[Any], missing: Any, dtype: pd.CategoricalDtype) -> pd.Series[Any]:
    """Categories of the background by their values; others are added to them."""
    codes = dtype.categories.get_indexer(_object_index(plain))
    lost = ~missing & (codes < 0)
    if lost.any():
        more = list(dict.fromkeys(plain[lost]))
        places = {value: len(dtype.categories) + i for i, value in enumerate(more)}
        codes = np.array([places[v] if gone else c for v, c, gone in zip(plain, codes, lost, strict=True)])
        dtype = pd.CategoricalDtype(_extend(dtype.categories, more), dtype.ordered)
    return pd.Series(pd.Categorical.from_codes(np.where(missing, -1, codes), dtype=dtype))


def _cast_times(values: list[Any], missing: Any, dtype: np.dtype[Any]) -> Any:
    """Dates or durations in the unit of their type, which may reach further than nanoseconds do."""
    read = pd.Timestamp if dtype.kind == "M" else pd.Timedelta
    found = [
        np.array("NaT", dtype) if gone else read(v).to_numpy() for v, gone in zip(values, missing, strict=True)
    ]
    cast = np.array([one.astype(dtype) for one in found], dtype)
    for one, own, gone in zip(found, cast, missing, strict=True):
        if not gone and own.astype(one.dtype) != one:
            raise ValueError(f"it is between two steps of {dtype}, or beyond them")
    return cast


def _lookup_key(label: Any) -> Any:
    """A label as it is looked up: nan is nan, whichever it is."""
    return ("nan", float) if isinstance(label, float) and label != label else label


def _object_index(labels: Iterable[Any]) -> pd.Index:
    """Labels of any kinds, each as it is."""
    return pd.Index(list(labels), dtype=object, tupleize_cols=False)


def _same_labels(one: pd.Index, other: pd.Index) -> bool:
    """Whether labels are exactly these: ``True`` is not 1 here, and None is not nan."""
    if (
        type(one) is not type(other)
        or one.dtype != other.dtype
        or one.names != other.names
        or not one.equals(other)
    ):
        return False
    return one.dtype != object or all(a is b or type(a) is type(b) for a, b in zip(one, other, strict=True))


def _same_type(one: Any, other: Any) -> bool:
    """Whether two types are one: of categories in the same order, too, for models go by their codes."""
    if one is other:
        return True
    if isinstance(one, pd.CategoricalDtype) and isinstance(other, pd.CategoricalDtype):
        a, b = one.categories, other.categories
        return one.ordered == other.ordered and (a is b or (a.dtype == b.dtype and a.equals(b)))
    return bool(one == other)


def _widest(values: Any, dtype: Any) -> Any:
    """The type of a column of categories that may have more of them than the background."""
    if isinstance(dtype, pd.CategoricalDtype) and isinstance(getattr(values, "dtype", None), pd.CategoricalDtype):
        return values.dtype
    return dtype


def _unite(columns: Sequence[Any]) -> list[Any]:
    """Categoricals with all their categories, those of the one that has fewest first."""
    first, *rest = sorted((c.categories for c in columns), key=len)
    every = dict.fromkeys([*first])
    more = [v for categories in rest for v in categories if v not in every]
    longer = _extend(first, list(dict.fromkeys(more)))
    return [c.set_categories(longer) for c in columns]


def _extend(categories: pd.Index, more: list[Any]) -> pd.Index:
    """Categories and some more, of their own type if they are."""
    try:
        same = pd.Index(more, dtype=categories.dtype)
        if list(same) == more:
            return categories.append(same)
    except (TypeError, ValueError, OverflowError):
        pass
    return _object_index([*categories, *more])


def _to_native(dtype: Any) -> Any:
    """A type in the machine's own byte order, which is how models get it."""
    return dtype.newbyteorder("=") if isinstance(dtype, np.dtype) and not dtype.isnative else dtype


def _duplicates_message(labels: pd.Index) -> str:
    return f"twice there: {', '.join(sorted({str(c) for c in labels[labels.duplicated()]}))}"


NO_CATEGORY = "none of them"  # the category of a row that has no 1 in the columns of a one-hot group
Place: TypeAlias = tuple[
    tuple[int, ...], tuple[str, ...]
]  # columns of a part, and their names if it is one of them

NUMPY_ARRAY = type(pd.Series([0]).array)  # called PandasArray before pandas 2.1, and NumpyExtensionArray since


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
    return [names[j] if some else NO_CATEGORY for j, some in zip(at.tolist(), found.tolist(), strict=True)]


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
