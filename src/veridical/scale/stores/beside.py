"""What stands beside explanations in a store: the instances, and columns of theirs that are not the model's.

Whatever a column of a table may be is stored: as a column of Arrow where Parquet gives it back as it was, else
value by value as JSON. How is said in the metadata of the part, and so is the type that the column had.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError, require
from veridical.packing.objects import pack_dtype, unpack_dtype
from veridical.packing.values import encode, pack, parse, unpack

KEPT, OWN, INSTANCE = "keep: ", "instance: ", "instance"  # before names of columns; the column of arrays and texts
LABELS, TYPES, ARRAY = "labels", "types", "array"  # in the metadata: of columns, and of an array that became some
UNIFORM = {str, bool, int, float, date}  # types of Python that a column of objects may have as they are
COMMON = ("float64", "int64", "bool")  # types that Arrow gives back by itself


def beside(instances: Any, kept: pd.DataFrame | None) -> tuple[dict[str, Any], dict[str, str]]:
    """Columns of Arrow, and metadata; instances of a kind that does not fit into columns are left out."""
    found, how = _instances(instances)
    types = dict(how.pop(TYPES, {}))
    if kept is not None:
        for j, name in enumerate(kept_names(kept.columns)):
            found[name], types[name] = _column(kept.iloc[:, j])
    return found, {key: json.dumps(value) for key, value in {**how, TYPES: types}.items() if value}


def instance_columns(X: Any) -> dict[str, Any]:
    """Table rows and texts as columns of Arrow; none for what does not fit into them."""
    return _instances(X)[0]


def _instances(X: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns of Arrow, and what to know to read them."""
    pa = require("pyarrow", extra="parquet")
    if isinstance(X, pd.DataFrame):
        names = own_names(X.columns)
        made = [_column(X.iloc[:, j]) for j in range(X.shape[1])]
        types = {name: how for name, (_, how) in zip(names, made, strict=True) if how}
        columns = {name: column for name, (column, _) in zip(names, made, strict=True)}
        return columns, {LABELS: pack(list(X.columns)), TYPES: types} if columns else {}
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf" and X.dtype.itemsize <= 8:
        flat, width = pa.array(np.ascontiguousarray(_native(X)).reshape(-1)), X.shape[1]
        ends = pa.array(np.arange(len(X) + 1, dtype=np.int32) * width)
        return {INSTANCE: pa.ListArray.from_arrays(ends, flat)}, {}
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fmMUSO":
        columns, how = _instances(pd.DataFrame({j: _values(X[:, j]) for j in range(X.shape[1])}))
        return columns, {**how, ARRAY: X.dtype.newbyteorder("=").str} if columns else {}
    if _are_texts(X):
        try:
            return {INSTANCE: pa.array([str(x) for x in X], pa.string())}, {}
        except UnicodeEncodeError:  # lone surrogates
            return {INSTANCE: pa.array([encode(x) for x in X], pa.string())}, {TYPES: {INSTANCE: {"json": True}}}
    return {}, {}


def _values(column: Any) -> Any:
    """A column of an array, of a type that a DataFrame leaves as it is; objects one by one."""
    own = column.dtype.kind in "mM" and np.datetime_data(column.dtype) in [(u, 1) for u in ("s", "ms", "us", "ns")]
    return _native(column) if own else pd.Series(_objects(list(map(_text, column))), dtype=object)


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, np.str_) else value


def _native(array: Any) -> Any:
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _are_texts(X: Any) -> bool:
    plain = isinstance(X, (Sequence, pd.Series)) or (isinstance(X, np.ndarray) and X.ndim == 1)
    return plain and not isinstance(X, str) and all(isinstance(x, str) for x in X)


def own_names(labels: Any) -> list[str]:
    """Names of the columns of instances, by their labels."""
    return _names(OWN, labels)


def kept_names(labels: Any) -> list[str]:
    """Names of the columns that were kept, by their labels."""
    return _names(KEPT, labels)


def _names(prefix: str, labels: Any) -> list[str]:
    """Each is another, also where labels have one text, as 1 and "1" have, and valid Unicode."""
    found: dict[str, None] = {}
    for j, label in enumerate(labels):
        name = f"{prefix}{label}".encode("utf-8", "backslashreplace").decode()
        found[f"{name} ({j})" if name in found else name] = None
    return list(found)


def _column(values: pd.Series) -> tuple[Any, dict[str, Any]]:
    """A column of Arrow that Parquet gives back as it is, and how to make of it what it was."""
    pa = require("pyarrow", extra="parquet")
    how = _dtype(values.dtype)
    try:
        made, more = _plain(values, pa)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError):
        made, more = pa.array([encode(value) for value in values], pa.string()), {"json": True}
    return made, {**how, **more}


def _dtype(dtype: Any) -> dict[str, Any]:
    """The type of a column, if it can be found again by what it is called."""
    if isinstance(dtype, pd.ArrowDtype):
        return {"arrow": str(dtype.pyarrow_dtype)}
    try:
        packed = pack_dtype(dtype)
        return {"dtype": packed} if packed not in COMMON and unpack_dtype(packed) == dtype else {}
    except (InputError, TypeError, ValueError):
        return {}


def _plain(values: pd.Series, pa: Any) -> tuple[Any, dict[str, Any]]:
    """A column of plain values: the same types whatever held them. It raises where there is none."""
    kind = values.dtype
    if kind == np.dtype(object):
        return _of_objects(values, pa)
    if isinstance(kind, np.dtype) and kind.kind == "m":
        ticks = values.to_numpy().astype(np.int64)
        return pa.array(ticks, mask=values.isna().to_numpy()), {"ticks": True}
    if isinstance(kind, np.dtype) and kind.kind == "f" and kind.itemsize != 8:
        if kind.itemsize > 8:
            raise TypeError("no number of Arrow is that long")
        values = values.astype(np.float32)
    dense = pd.Series(np.asarray(values)) if isinstance(kind, pd.SparseDtype) else values
    made = pa.array(dense, from_pandas=True)
    if isinstance(made, pa.ChunkedArray):
        made = made.combine_chunks()
    if pa.types.is_dictionary(made.type):
        made = made.dictionary_decode()
    if str(made.type) in ("large_string", "string_view"):
        made = made.cast(pa.string())
    if str(made.type).startswith("timestamp[s"):  # which Parquet does not know
        made = made.cast(pa.timestamp("ms", made.type.tz))
    number = pa.types.is_integer(made.type) or pa.types.is_floating(made.type) or pa.types.is_boolean(made.type)
    if number or pa.types.is_string(made.type) or pa.types.is_timestamp(made.type):
        return made, {}
    raise TypeError(f"Parquet may give {made.type} back as something else")


def _of_objects(values: pd.Series, pa: Any) -> tuple[Any, dict[str, Any]]:
    """Objects of one plain type, and one kind of missing value among them."""
    absent = {encode(value): type(value) for value in values[values.isna().to_numpy()]}
    kinds = set(map(type, values)) - (set(absent.values()) - {float})
    if float in absent.values() and len(kinds) > 1:  # nan stands for what is missing, and is no number here
        kinds -= {float} if all(value != value for value in values if type(value) is float) else set()
    if len(kinds) > 1 or len(absent) > 1 or not kinds <= UNIFORM:
        raise TypeError("objects of several kinds")
    return pa.array(values, from_pandas=True), {"missing": next(iter(absent))} if absent else {}


def columns_beside(schema: Any) -> list[str]:
    """Names of the columns of the instances, of a schema of Arrow."""
    return [name for name in schema.names if is_beside(name)]


def is_beside(name: str) -> bool:
    """Whether a column is of the instances."""
    return name == INSTANCE or name.startswith(OWN)


def instances_in(table: Any) -> Any:
    """The instances of a part, of a table of Arrow: a DataFrame, an array, or a list of texts."""
    pa = require("pyarrow", extra="parquet")
    names, known = columns_beside(table.schema), _known(table.schema)
    if not names:
        raise InputError(
            "the store does not hold the instances, for only table rows and texts are stored: give them as X"
        )
    if names != [INSTANCE]:
        found = pd.DataFrame({j: column_in(table, name) for j, name in enumerate(names)})
        if ARRAY not in known:
            return found.set_axis(unpack(known[LABELS]), axis=1)
        dtype = np.dtype(known[ARRAY])
        return np.stack([found[j].to_numpy().astype(dtype) for j in found.columns], axis=1)
    column = table.column(INSTANCE).combine_chunks()
    if pa.types.is_string(column.type):
        return [unpack(parse(x)) if known.get(TYPES, {}).get(INSTANCE) else x for x in column.to_pylist()]
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)


def joined(found: Sequence[Any]) -> Any:
    """The instances of several parts as those of one."""
    first = found[0]
    if isinstance(first, pd.DataFrame):
        return pd.concat(found, ignore_index=True) if len(found) > 1 else first
    return np.concatenate(found) if isinstance(first, np.ndarray) else [x for some in found for x in some]


def column_in(table: Any, name: str) -> pd.Series:
    """A column as it was, of a table or batch of Arrow with the metadata of its part."""
    how, column = _known(table.schema).get(TYPES, {}).get(name, {}), table.column(name)
    if "ticks" in how and "dtype" in how:
        ticks = column.fill_null(np.iinfo(np.int64).min).to_numpy()
        return pd.Series(ticks.view(unpack_dtype(how["dtype"])))
    if "json" in how:
        values = [None if text is None else unpack(parse(text)) for text in column.to_pylist()]
        found = pd.Series(_objects(values), dtype=object)
    elif how.get("dtype") == "object":
        absent = unpack(parse(how["missing"])) if "missing" in how else None
        found = pd.Series(_objects([absent if v is None else v for v in column.to_pylist()]), dtype=object)
    elif "dtype" in how or "arrow" in how:
        return _typed(column, how)
    else:
        found = column.to_pandas()
    if "arrow" in how:
        with suppress(Exception):  # no name that Arrow knows, or no values for it
            return found.astype(pd.ArrowDtype(require("pyarrow", extra="parquet").type_for_alias(how["arrow"])))
    return found.astype(unpack_dtype(how["dtype"])) if how.get("dtype", "object") != "object" else found


def _typed(column: Any, how: dict[str, Any]) -> pd.Series:
    """A plain column as one of the type that it had."""
    pa = require("pyarrow", extra="parquet")
    if "dtype" in how:
        wanted = unpack_dtype(how["dtype"])
        if hasattr(wanted, "__from_arrow__") and not isinstance(wanted, (pd.StringDtype, pd.DatetimeTZDtype)):
            return pd.Series(wanted.__from_arrow__(column))
        return pd.Series(column.to_pandas().astype(wanted))
    try:
        return pd.Series(column.cast(how["arrow"]), dtype=pd.ArrowDtype(pa.type_for_alias(how["arrow"])))
    except (pa.ArrowException, ValueError):
        return pd.Series(column.to_pandas())


def _objects(values: list[Any]) -> Any:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _known(schema: Any) -> dict[str, Any]:
    """What the metadata of a part says of its columns; parts of older schemas say less."""
    written = schema.metadata or {}
    return {
        key: parse(written[key.encode()].decode()) for key in (LABELS, TYPES, ARRAY) if key.encode() in written
    }
