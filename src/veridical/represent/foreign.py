"""Tables from outside: those of polars, Arrow and others become DataFrames, arrays become plain ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError, require

PROTOCOLS = ("__arrow_c_stream__", "to_pandas", "__dataframe__")  # by which other libraries hand their tables on
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
        frame = _converted(table)
    except InputError:
        raise
    except Exception as cause:
        raise InputError(
            f"this {what} does not become a DataFrame ({type(cause).__name__}: {cause}): pass a pandas DataFrame"
        ) from cause
    if not isinstance(frame, pd.DataFrame):
        raise InputError(f"this {what} became a {type(frame).__name__}: pass a pandas DataFrame")
    return frame


def _converted(table: Any) -> Any:
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
        array = np.asarray(_unmasked(values, what) if isinstance(values, np.ma.MaskedArray) else values)
    except ValueError as cause:
        raise InputError(f"wanted {what}, all of equal length: {cause}") from cause
    if array.dtype.names is not None:
        raise InputError(f"wanted {what}; this array has fields of its own: pass pd.DataFrame(array)")
    if array.dtype.kind in "cV" or (array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] == "generic"):
        raise InputError(refusal("the array", array.dtype))
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def refusal(what: str, dtype: Any) -> str:
    """Why values of a type cannot be explained."""
    if getattr(dtype, "kind", "") == "c":
        return f"{what} holds complex numbers, which have no order: give real and imaginary parts as two columns"
    if getattr(dtype, "kind", "") in "mM":
        return f"{what} holds {dtype} without a unit: say which, as in array.astype('{dtype}[s]')"
    return f"{what} holds {dtype}: wanted numbers, texts, dates or categories"


def listed(argument: str, values: Any, what: str = "names") -> list[Any]:
    """A list of the caller's, in an order that means something."""
    if isinstance(values, (str, bytes, *UNORDERED)) or not isinstance(values, Iterable):
        raise InputError(f"{argument} wants a list of {what}, not {type(values).__name__} {values!r:.60}")
    return list(values)


def _unmasked(values: Any, what: str) -> Any:
    """A masked array with its masked values missing, where its type knows what that is."""
    if not np.ma.getmaskarray(values).any():
        return values.data
    empty = {"f": np.nan, "M": np.datetime64("NaT"), "m": np.timedelta64("NaT"), "O": None}
    if values.dtype.kind not in empty:
        raise InputError(
            f"wanted {what}; an array of {values.dtype} has masked values: fill them in, or pass floats"
        )
    return values.filled(empty[values.dtype.kind])
