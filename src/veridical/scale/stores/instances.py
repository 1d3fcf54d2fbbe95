"""What stands beside explanations in a store: the instances, and columns of theirs that are not the model's; and digests.

Whatever a column of a table may be is stored: as a column of Arrow where Parquet gives it back as it was, else
value by value as JSON. How is said in the metadata of the part, and so is the type that the column had. A store
is told from others by digests of what it holds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from veridical.errors import InputError, require
from veridical.protocols import Hook
from veridical.representations.regions import is_tensor
from veridical.storage.codec import encode, pack, pack_dtype, parse, unpack, unpack_dtype

KEPT, OWN, INSTANCE = "keep: ", "instance: ", "instance"  # before names of columns; the column of arrays and texts
LABELS, TYPES, ARRAY = "labels", "types", "array"  # in the metadata: of columns, and of an array that became some
UNIFORM = {str, bool, int, float, date}  # types of Python that a column of objects may have as they are
COMMON = ("float64", "int64", "bool")  # types that Arrow gives back by itself


def pack_instances(X: Any, kept: pd.DataFrame | None = None) -> tuple[dict[str, Any], dict[str, str]]:
    """Columns of Arrow, and metadata; instances of a kind that does not fit into columns are left out."""
    pa = require("pyarrow", extra="parquet")
    columns, types, known = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    is_array, kind = isinstance(X, np.ndarray) and X.ndim == 2, getattr(getattr(X, "dtype", None), "kind", "")
    is_list = isinstance(X, (Sequence, pd.Series)) or (isinstance(X, np.ndarray) and X.ndim == 1)
    if is_array and kind in "biuf" and X.dtype.itemsize <= 8:
        native = np.ascontiguousarray(X.astype(X.dtype.newbyteorder("="), copy=False))
        ends = pa.array(np.arange(len(X) + 1, dtype=np.int32) * X.shape[1])
        columns[INSTANCE] = pa.ListArray.from_arrays(ends, pa.array(native.reshape(-1)))
    elif isinstance(X, pd.DataFrame) or (is_array and kind in "fmMUSO"):
        frame = X
        if is_array:
            frame = pd.DataFrame({j: _values(X[:, j]) for j in range(X.shape[1])})
        for j, name in enumerate(_names(OWN, frame.columns)):
            columns[name], how = _column(frame.iloc[:, j])
            types |= {name: how} if how else {}
        if columns:
            known = {
                LABELS: pack(list(frame.columns)),
                **({ARRAY: X.dtype.newbyteorder("=").str} if is_array else {}),
            }
    elif is_list and not isinstance(X, str) and all(isinstance(x, str) for x in X):
        try:
            columns[INSTANCE] = pa.array([str(x) for x in X], pa.string())
        except UnicodeEncodeError:  # lone surrogates
            columns[INSTANCE] = pa.array([encode(x) for x in X], pa.string())
            types[INSTANCE] = {"json": True}
    if kept is not None:
        for j, name in enumerate(kept_names(kept.columns)):
            columns[name], types[name] = _column(kept.iloc[:, j])
    return columns, {key: json.dumps(value) for key, value in {**known, TYPES: types}.items() if value}


def _values(column: Any) -> Any:
    """A column of an array, of a type that a DataFrame leaves as it is; objects one by one."""
    if column.dtype.kind in "mM" and np.datetime_data(column.dtype) in [(u, 1) for u in ("s", "ms", "us", "ns")]:
        return column.astype(column.dtype.newbyteorder("="), copy=False)
    values = [str(value) if isinstance(value, np.str_) else value for value in column]
    return pd.Series(_objects(values), dtype=object)


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
        made, more = _to_arrow(values, pa)
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


def _to_arrow(values: pd.Series, pa: Any) -> tuple[Any, dict[str, Any]]:
    """A column of plain values: the same types whatever held them. It raises where there is none."""
    kind = values.dtype
    if kind == np.dtype(object):
        return _objects_to_arrow(values, pa)
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


def _objects_to_arrow(values: pd.Series, pa: Any) -> tuple[Any, dict[str, Any]]:
    """Objects of one plain type, and one kind of missing value among them."""
    absent = {encode(value): type(value) for value in values[values.isna().to_numpy()]}
    kinds = set(map(type, values)) - (set(absent.values()) - {float})
    if float in absent.values() and len(kinds) > 1:  # nan stands for what is missing, and is no number here
        kinds -= {float} if all(value != value for value in values if type(value) is float) else set()
    if len(kinds) > 1 or len(absent) > 1 or not kinds <= UNIFORM:
        raise TypeError("objects of several kinds")
    return pa.array(values, from_pandas=True), {"missing": next(iter(absent))} if absent else {}


def find_instance_columns(schema: Any) -> list[str]:
    """Names of the columns of the instances, of a schema of Arrow."""
    return [name for name in schema.names if name == INSTANCE or name.startswith(OWN)]


def instances_in(table: Any) -> Any:
    """The instances of a part, of a table of Arrow: a DataFrame, an array, or a list of texts."""
    pa = require("pyarrow", extra="parquet")
    names, known = find_instance_columns(table.schema), _read_metadata(table.schema)
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


def join_instances(found: Sequence[Any]) -> Any:
    """The instances of several parts as those of one."""
    first = found[0]
    if isinstance(first, pd.DataFrame):
        return pd.concat(found, ignore_index=True) if len(found) > 1 else first
    return np.concatenate(found) if isinstance(first, np.ndarray) else [x for some in found for x in some]


def column_in(table: Any, name: str) -> pd.Series:
    """A column as it was, of a table or batch of Arrow with the metadata of its part."""
    how, column = _read_metadata(table.schema).get(TYPES, {}).get(name, {}), table.column(name)
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


def _read_metadata(schema: Any) -> dict[str, Any]:
    """What the metadata of a part says of its columns."""
    written = schema.metadata or {}
    return {
        key: parse(written[key.encode()].decode()) for key in (LABELS, TYPES, ARRAY) if key.encode() in written
    }


# Digests.
MODULUS = 2**256
EXACT = 2**53  # whole numbers up to here are the same as floats
WIDTH = 16  # bytes that an entry of a list is told by
NONE = hashlib.sha256(b"none").digest()[:WIDTH]
PIECE = 2**16  # bytes of a file that are read at a time
PIECES = 2**14  # of all files together, spread over them where they are larger
NO_CONTENT = b" at 0x"  # an object that says where it lies, and not what it is


def digest_of(table: Any) -> int:
    """Of a table of Arrow with a column ``row``: the sum of one SHA-256 per row, modulo 2^256.

    Sums of tables add up to that of all their rows. Types that hold the same value have the same digest: whole
    numbers and floats, texts and categories; a missing value is one, whatever stands for it.
    """
    names = sorted(table.schema.names)
    held = [_hashes(table.column(name).combine_chunks()) for name in names]
    start = hashlib.sha256("\0".join(names).encode())
    total = 0
    for row in np.concatenate([*held, np.empty((table.num_rows, 0), np.uint8)], axis=1):
        own = start.copy()
        own.update(row)
        total += int.from_bytes(own.digest(), "big")
    return total % MODULUS


def _hashes(array: Any) -> Any:
    """Bytes (n, 8 or 16) that tell the entries of an array apart; what repeats is hashed once."""
    pa = require("pyarrow", extra="parquet")
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(
        kind
    ):  # by their entries in order; none is not an empty one
        inner = _hashes(array.flatten())
        counts = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        if len(counts) and (counts == counts[0]).all():
            lines = inner.reshape(len(counts), -1)
            if (lines == lines[0]).all():  # as of the columns of a table: one list is hashed for all
                inner, counts = lines[:1].reshape(-1, inner.shape[1]), counts[:1]
        stops = np.cumsum(counts) * inner.shape[1]
        starts, flat = stops - counts * inner.shape[1], memoryview(np.ascontiguousarray(inner).reshape(-1).data)
        each = [hashlib.sha256(flat[a:b]).digest() for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
        made = np.frombuffer(b"".join(digest[:WIDTH] for digest in each), np.uint8).reshape(-1, WIDTH)
        found = np.broadcast_to(made, (len(array), WIDTH)).copy()
        found[np.asarray(array.is_null())] = np.frombuffer(NONE, np.uint8)
        return found
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    if pa.types.is_integer(kind):  # those that no float holds are told by their digits
        whole = array.fill_null(0).to_numpy(zero_copy_only=False)
        is_number = not len(whole) or max(int(whole.max()), -int(whole.min())) <= EXACT
    if is_number:
        values, missing = array.to_numpy(zero_copy_only=False), np.asarray(array.is_null(nan_is_null=True))
        floats = np.where(missing, np.nan, values).astype(np.float64)
        return np.ascontiguousarray(floats).view(np.uint8).reshape(len(floats), 8)
    text = array.cast(pa.string()) if not pa.types.is_nested(kind) else pa.array(map(str, array.to_pylist()))
    coded = text.dictionary_encode()
    each = [hashlib.sha256(b"text" + entry.encode()).digest()[:WIDTH] for entry in coded.dictionary.to_pylist()]
    made = np.frombuffer(b"".join([*each, NONE]), np.uint8).reshape(-1, WIDTH)
    return made[coded.indices.fill_null(len(each)).to_numpy(zero_copy_only=False)]


def content_of(X: Any) -> str:
    """Rows of any kind as a digest; "" for what cannot be told apart."""
    pa, (columns, _) = require("pyarrow", extra="parquet"), pack_instances(X)
    if columns:
        n = len(next(iter(columns.values())))
        return f"{digest_of(pa.table({'row': np.arange(n), **columns})):064x}"
    if issparse(X):
        rows = X.tocsr()
        return content_of([rows.data, rows.indices, rows.indptr])
    if isinstance(X, pd.DataFrame):
        return content_of([list(X.columns), *X.to_numpy(dtype=object)])
    if not isinstance(X, (list, tuple, np.ndarray, pd.Series)) and not is_tensor(X):
        return ""
    told = hashlib.sha256()
    for each in X:
        own = _bytes(each)
        if NO_CONTENT in own:
            return ""
        told.update(own)
    return told.hexdigest()


def _bytes(value: Any) -> bytes:
    """Anything as bytes: numbers and arrays of them as doubles, and all else as what it says of itself."""
    if isinstance(value, Mapping):
        return b"".join(str(key).encode() + _bytes(own) for key, own in value.items())
    if is_tensor(value):
        value = value.detach().double().cpu().numpy()
    with suppress(ValueError):  # of lists of different lengths
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return str(array.shape).encode() + np.ascontiguousarray(array, dtype=np.float64).tobytes()
        value = array.tolist()
    return encode(value).encode()


@runtime_checkable
class HeldRows(Protocol, metaclass=Hook):
    """A source of rows that are in memory."""

    @property
    def X(self) -> Any: ...  # noqa: N802 - as callers call it


def digest_rows(source: Any) -> dict[str, str]:
    """All rows as a digest, by where they are: in memory (``X``), or in files (``paths``); and their names, if any.

    Files of more than 1 GiB together are told by pieces of that much, spread over all of them.
    """
    told, found = hashlib.sha256(), dict[str, str]()
    X = source.X if isinstance(source, HeldRows) else None
    if hasattr(source, "paths"):
        most = max(PIECES // len(source.paths), 2)
        for path in source.paths:
            size = path.stat().st_size
            told.update(str(size).encode())
            with path.open("rb") as stream:
                for place in np.linspace(0, max(size - PIECE, 0), min(-(-size // PIECE), most)).astype(np.int64):
                    stream.seek(int(place))
                    told.update(stream.read(PIECE))
        found["files"] = told.hexdigest()
    elif isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        found["array"] = hashlib.sha256(np.ascontiguousarray(X).data).hexdigest()
    elif isinstance(X, (pd.DataFrame, pd.Series)):
        try:
            each = pd.util.hash_pandas_object(X, index=False).to_numpy()
            found["frame"] = hashlib.sha256(each.tobytes()).hexdigest()
        except Exception:  # values that cannot be hashed
            found["rows"] = content_of(X)
    elif X is not None:
        found["rows"] = content_of(X)
    if hasattr(source, "names"):
        names = hashlib.sha256()
        for name in source.names or ():
            names.update(encode(name).encode("utf-8", "surrogatepass") + b"\0")
        found["names"] = "" if source.names is None else names.hexdigest()
    return found
