"""What a table looks like, so that the model receives exactly what it was trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.represent.foreign import UNORDERED, as_array, as_pandas, listed, refusal

TAKEN_IN_ORDER = (
    "the columns were taken in their order, whatever they are called: the background is an array without names"
)
EXACT = 2**53  # floats tell whole numbers apart up to here


@dataclass(frozen=True)
class Schema:
    """Column names and types of the background; tables are read into, and built from, one array a column.

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
                raise InputError(f"column names must be unique; {_twice(background.columns)}")
            labels, dtypes = background.columns, tuple(map(_native, background.dtypes))
            named = names_of(labels)
            for name, dtype in zip(named, dtypes, strict=True):
                if isinstance(dtype, np.dtype) and dtype.kind in "cV":
                    raise InputError(refusal(f"column {name!r}", dtype))
            return cls(named, labels, dtypes)
        width = background.shape[1]
        texts = [f"x{j}" for j in range(width)] if names is None else list(map(str, listed("names", names)))
        if len(texts) != width:
            raise InputError(f"names must name every column: {width} columns, {len(texts)} names")
        if len(set(texts)) != width:
            raise InputError(f"names must be unique; {_twice(pd.Index(texts, dtype=object))}")
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

    def native(self, background: Any) -> Any:
        """The background with its columns in the machine's own byte order."""
        if self.labels is None or all(map(_same_type, background.dtypes, self.dtypes)):
            return background
        columns = [background.iloc[:, j].astype(t).reset_index(drop=True) for j, t in enumerate(self.dtypes)]
        return self._labelled(columns)

    def check_table(self, X: Any) -> Any:
        """Many rows with this schema's columns, order and types."""
        X = as_pandas(X)
        if isinstance(X, (list, tuple)) and X and all(map(_is_labelled, X)):
            checked = [self.check_row(x) for x in X]
            return checked[0] if len(checked) == 1 else self._stack_all(checked)
        if isinstance(X, pd.DataFrame):
            return self._check_frame(X) if self.labels is not None else self._check_unlabelled(X)
        table = as_array(X, "rows to explain")
        if table.ndim != 2 or table.shape[1] != len(self.names):
            raise InputError(self._wanted(f"{type(X).__name__} of shape {table.shape}"))
        return self._cast_array(table) if self.labels is None else self._check_frame(self._frame(table))

    def check_row(self, x: Any) -> Any:
        """One row as a table of one row."""
        if type(x) is np.ndarray and self.labels is None and x.shape == (len(self.names),):
            return self._cast_array(as_array(x[None, :], "a row"))
        x = as_pandas(x)
        if isinstance(x, pd.DataFrame) or (isinstance(x, np.ndarray) and x.ndim == 2):
            if len(x) != 1:
                raise InputError(f"wanted one row to explain, got {len(x)}: use explain_many, or pick one row")
            return self.check_table(x)
        if isinstance(x, pd.Series):
            if not x.index.is_unique:
                raise InputError(f"the row has a column more than once; {_twice(x.index)}")
            values = self._matched(x.index, x.to_list())
        elif isinstance(x, Mapping):
            values = self._matched(x, list(x.values()))
        elif isinstance(x, tuple) and set(getattr(x, "_fields", ())) == set(self._wanted_labels):
            values = self._matched(x._fields, list(x))  # type: ignore[attr-defined]
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
            raise InputError(self._wanted(f"{len(values)} values", "a row"))
        if self.labels is None:
            flat = as_array(values, "one value a column")
            if flat.ndim != 1:
                raise InputError(f"wanted one value a column; got values of shape {flat.shape[1:]}")
            return self._cast_array(flat[None, :])
        zipped = zip(values, self.dtypes, self.names, strict=True)
        return self._labelled([_series([v], t, name) for v, t, name in zipped])

    def matching_notes(self, x: Any) -> tuple[str, ...]:
        """How the columns of a checked row, or of many, were matched to those of an array, where it matters."""
        first = next(iter(x), None) if isinstance(x, (list, tuple)) and not hasattr(x, "_fields") else x
        first = as_pandas(first)
        if self.labels is not None or not isinstance(first, (Mapping, pd.Series, pd.DataFrame)):
            return ()
        given = list(first.columns if isinstance(first, pd.DataFrame) else first.keys())
        if self._order_in(given) != list(range(len(given))):
            return ("the columns come in another order than the background's: they were matched by their labels",)
        known = {*self.names, *range(len(given)), *map(str, range(len(given)))}
        return () if known.issuperset(given) else (TAKEN_IN_ORDER,)

    def build(self, columns: Sequence[Any], n: int) -> Any:
        """A table with this schema out of one array a column; categories may be more than the background has."""
        if self.labels is None:
            dtype = self.dtypes[0]
            if dtype.kind in "US":
                dtype = np.result_type(dtype, *(c.dtype for c in columns))
            out = np.empty((n, len(columns)), dtype=dtype)
            for j, column in enumerate(columns):
                out[:, j] = column
            return out
        zipped = zip(columns, self.dtypes, strict=True)
        return self._labelled(
            [pd.Series(v, dtype=_widest(v, t), copy=False) for v, t in zipped],
        )

    def build_plain(self, values: Any) -> Any:
        """A table out of one block of floats, for a schema that is ``plain``."""
        block = values.astype(self.plain, copy=False)
        return block if self.labels is None else pd.DataFrame(block, columns=self.labels)

    def stack(self, first: Any, rest: Any) -> Any:
        """One table below the other."""
        return self._stack_all([first, rest])

    def rows(self, table: Any, start: int, stop: int) -> Any:
        """Some rows of a checked table."""
        return table.iloc[start:stop] if self.labels is not None else table[start:stop]

    def unseen(self, table: Any) -> dict[int, Any]:
        """Where columns of categories of a checked table hold some that the background's type does not know."""
        found = {}
        for j in self.categorical:
            column, known = table.iloc[:, j].array, len(self.dtypes[j].categories)
            if len(column.categories) > known:
                found[j] = column.codes >= known
        return found

    def settled(self, table: Any, *, known: bool = False) -> Any:
        """A checked table with no more categories than it holds, or than are known."""
        for j, lost in self.unseen(table).items():
            dtype, column = self.dtypes[j], table.iloc[:, j]
            if lost.any() and not known:
                more = column.cat.categories[np.unique(column.cat.codes[lost])]
                dtype = pd.CategoricalDtype(_longer(dtype.categories, list(more)), dtype.ordered)
            table = table.copy(deep=False)
            table.isetitem(j, column.cat.set_categories(dtype.categories))
        return table

    def joined(self, arrays: Sequence[Any]) -> Any:
        """Arrays of one column, one below the other; categories that are not in all are put last."""
        if all(isinstance(array, np.ndarray) for array in arrays):
            return np.concatenate(arrays)
        if isinstance(arrays[0].dtype, pd.CategoricalDtype):
            arrays = _united(arrays)
        return pd.concat([pd.Series(array) for array in arrays], ignore_index=True).array

    def _labelled(self, columns: Sequence[pd.Series[Any]]) -> pd.DataFrame:
        """Columns under the labels of the background, of whatever kind those are."""
        frame = pd.DataFrame(dict(enumerate(columns)))
        assert self.labels is not None
        frame.columns = self.labels
        return frame

    def _stack_all(self, tables: Sequence[Any]) -> Any:
        if self.labels is None:
            return np.concatenate(tables)
        for j in self.categorical:
            columns = [table.iloc[:, j].array for table in tables]
            if not all(_same_type(c.dtype, columns[0].dtype) for c in columns):
                tables = [table.copy() for table in tables]
                for table, column in zip(tables, _united(columns), strict=True):
                    table.isetitem(j, column)
        return pd.concat(tables, ignore_index=True)

    def _frame(self, table: Any) -> pd.DataFrame:
        return pd.DataFrame(table, columns=self.labels)

    @property
    def _wanted_labels(self) -> Any:
        return self.names if self.labels is None else self.labels

    def _wanted(self, came: str, what: str = "rows") -> str:
        return f"wanted {what} of {len(self.names)} columns, as in the background; got {came}"

    def _matched(self, labels: Iterable[Any], values: list[Any]) -> list[Any]:
        """The values under some labels, in the order of the columns."""
        return [values[at] for at in self._order_in(labels)]

    def _order_in(self, labels: Iterable[Any]) -> list[int]:
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
                    f"the columns are numbered {some(given)}, and those of the background 0 to {width - 1}: "
                    "number them so, or pass an array"
                )
            if set(given) == set(map(str, range(width))):  # as a CSV file names columns that have no names
                return [given.index(str(at)) for at in range(width)]
            if not self.named and all(isinstance(c, str) and c not in self.names for c in given):
                return list(range(width))
        places, known = {_key(c): at for at, c in enumerate(given)}, set(map(_key, wanted))
        missing = [c for c in wanted if _key(c) not in places]
        unknown = [c for c in given if _key(c) not in known]
        if missing or unknown:
            shown = repr if set(map(str, missing)) & set(map(str, unknown)) else str
            words = [f"missing: {', '.join(map(shown, missing))}"] * bool(missing)
            words += [f"unknown: {', '.join(map(shown, unknown))}"] * bool(unknown)
            raise InputError(f"wanted the {width} columns of the background; {'; '.join(words)}")
        return [places[_key(c)] for c in wanted]

    def _check_unlabelled(self, X: pd.DataFrame) -> Any:
        """A DataFrame as rows for an array."""
        if X.shape[1] != len(self.names):
            raise InputError(self._wanted(f"DataFrame of shape {X.shape}"))
        if not X.columns.is_unique:
            raise InputError(f"the rows have a column more than once; {_twice(X.columns)}")
        order = self._order_in(X.columns)
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
                raise InputError(f"the rows have a column more than once; {_twice(X.columns)}")
            ordered = X.iloc[:, self._order_in(X.columns)]
            ordered.columns = self.labels
        wrong = [j for j, t in enumerate(ordered.dtypes) if not _same_type(t, self.dtypes[j])]
        if not wrong:
            return ordered
        columns = [ordered.iloc[:, j].reset_index(drop=True) for j in range(len(self.names))]
        for j in wrong:
            columns[j] = _series(columns[j], self.dtypes[j], self.names[j])
        return self._labelled(columns)

    def _cast_array(self, table: Any) -> Any:
        """An array in the type of the background; what that cannot hold is an error, never silently changed."""
        dtype, own = self.dtypes[0], table.dtype
        if own == dtype or dtype.kind == "O":
            return table.astype(dtype, copy=False)
        if dtype.kind in "iubUS" and pd.isna(table).any():
            raise InputError(never_missing(self.names[int(np.argmax(pd.isna(table).any(axis=0)))]))
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
                raise InputError(too_coarse(f"the background holds {dtype}"))
            kind = "True or False" if dtype.kind == "b" else "whole numbers that it can hold"
            if not np.array_equal(cast.astype(object), table.astype(object)):
                raise InputError(f"the background holds {dtype}; this row has values that are not {kind}")
        return cast


def too_coarse(column: str) -> str:
    return (
        f"{column}, and this row has one beyond 2^53 as a float, which no longer says which it was: "
        f"pass the row in its own type, as in table.iloc[[i]]"
    )


def names_of(labels: Iterable[Any]) -> tuple[str, ...]:
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
    """Values as a column of the given type; what the type cannot hold is an error, never silently changed.

    Categories are recoded by value, those that the type does not have being put last.
    """
    plain: pd.Series[Any] = pd.Series(list(values), dtype=object)
    missing = np.array([is_missing(v) for v in plain], bool)
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and missing.any():
        raise InputError(never_missing(column))
    times = _TIMES.get(getattr(dtype, "kind", ""))
    if times is not None:
        _check_times(plain[~missing], dtype, column, times)
    try:
        if isinstance(dtype, pd.CategoricalDtype):
            return _recoded(plain, missing, dtype)
        if isinstance(dtype, np.dtype) and dtype.kind in "mM":
            cast: pd.Series[Any] = pd.Series(_times(plain.to_list(), missing, dtype))
        else:
            cast = pd.Series(plain.where(~missing, None).to_list(), dtype=dtype)
    except (TypeError, ValueError, OverflowError, NotImplementedError, ArithmeticError) as cause:
        first = plain[~missing].iloc[0] if not missing.all() else None
        if pd.api.types.is_integer_dtype(dtype):
            wrong = next((v for v in plain[~missing] if not _is_whole(v, dtype)), first)
            raise InputError(f"column {column!r} holds whole numbers; {_not_whole(wrong)}") from cause
        raise InputError(f"column {column!r} holds {times or dtype}; {first!r} is not: {cause}") from cause
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_integer_dtype(dtype):
        own = plain[~missing].to_numpy()
        coarse = [isinstance(v, (float, np.floating)) and abs(float(v)) > EXACT for v in own]
        if any(coarse) and pd.api.types.is_integer_dtype(dtype):
            raise InputError(too_coarse(f"column {column!r} holds whole numbers"))
        same = cast[~missing].to_numpy(dtype=object) == own
        if not np.all(same):
            wrong = plain[~missing][~same].iloc[0]
            if pd.api.types.is_bool_dtype(dtype):
                raise InputError(f"column {column!r} holds True or False; {wrong!r} is not")
            raise InputError(f"column {column!r} holds whole numbers; {_not_whole(wrong)}")
    return cast


_TIMES = {"M": "dates", "m": "durations"}  # by kind of a type


def _is_whole(value: Any, dtype: Any) -> bool:
    """Whether a column of whole numbers can hold a value."""
    try:
        return bool(pd.Series([value], dtype=dtype)[0] == value)
    except (TypeError, ValueError, OverflowError):
        return False


def _not_whole(value: Any) -> str:
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


def _recoded(plain: pd.Series[Any], missing: Any, dtype: pd.CategoricalDtype) -> pd.Series[Any]:
    """Categories of the background by their values; others are added to them."""
    codes = dtype.categories.get_indexer(_flat(plain))
    lost = ~missing & (codes < 0)
    if lost.any():
        more = list(dict.fromkeys(plain[lost]))
        places = {value: len(dtype.categories) + i for i, value in enumerate(more)}
        codes = np.array([places[v] if gone else c for v, c, gone in zip(plain, codes, lost, strict=True)])
        dtype = pd.CategoricalDtype(_longer(dtype.categories, more), dtype.ordered)
    return pd.Series(pd.Categorical.from_codes(np.where(missing, -1, codes), dtype=dtype))


def _times(values: list[Any], missing: Any, dtype: np.dtype[Any]) -> Any:
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


def _is_labelled(x: Any) -> bool:
    """Whether a row says which value belongs to which column, or is a table of its own."""
    return isinstance(x, (Mapping, pd.Series, pd.DataFrame)) or hasattr(x, "_fields")


def _key(label: Any) -> Any:
    """A label as it is looked up: nan is nan, whichever it is."""
    return ("nan", float) if isinstance(label, float) and label != label else label


def _flat(labels: Iterable[Any]) -> pd.Index:
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


def _united(columns: Sequence[Any]) -> list[Any]:
    """Categoricals with all their categories, those of the one that has fewest first."""
    first, *rest = sorted((c.categories for c in columns), key=len)
    every = dict.fromkeys([*first])
    more = [v for categories in rest for v in categories if v not in every]
    longer = _longer(first, list(dict.fromkeys(more)))
    return [c.set_categories(longer) for c in columns]


def _longer(categories: pd.Index, more: list[Any]) -> pd.Index:
    """Categories and some more, of their own type if they are."""
    try:
        same = pd.Index(more, dtype=categories.dtype)
        if list(same) == more:
            return categories.append(same)
    except (TypeError, ValueError, OverflowError):
        pass
    return _flat([*categories, *more])


def _native(dtype: Any) -> Any:
    """A type in the machine's own byte order, which is how models get it."""
    return dtype.newbyteorder("=") if isinstance(dtype, np.dtype) and not dtype.isnative else dtype


def _twice(labels: pd.Index) -> str:
    return f"twice there: {', '.join(sorted({str(c) for c in labels[labels.duplicated()]}))}"
