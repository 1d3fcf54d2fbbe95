"""What assigns instances to groups, as strict JSON and back: settings, columns and gates of veridical's own.

Only classes that are listed here are ever made from a file, and only from what they hold: no file runs code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, issparse

from veridical.errors import InputError
from veridical.packing.values import PLAIN, RARE, pack, pack_view, sparse, text, unpack, unpack_view
from veridical.records import Part
from veridical.represent.background import Background
from veridical.represent.columns import Binned, Coded, Line, Normal
from veridical.represent.rows import Rows
from veridical.represent.schema import Schema
from veridical.represent.space import MaskSpace, TableSpace
from veridical.represent.words import Words
from veridical.summarize.gates import Centers, Leaves, Nearest, Overlap, Size, Softmax, Sphere

KNOWN: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(Binned, Coded, Line, Normal, Schema, TableSpace, MaskSpace, Words),
        *(Centers, Leaves, Nearest, Overlap, Size, Softmax, Sphere),
    )
}
SCALARS = (
    bool,
    int,
    float,
    str,
    np.bool_,
    np.integer,
    np.floating,
    pd.Timestamp,
    *(kind for kind, _, _ in RARE.values()),
)
PICKLE = "which a file cannot hold: save it as .html to read it, or pickle it to use it again"


def pack_object(value: Any) -> Any:
    """An object as strict JSON, every kind with a tag of its own; what is the caller's own is refused."""
    if value is None or value is pd.NaT or isinstance(value, SCALARS):
        return {"of": pack(value)}
    for kind, (is_kind, written, _) in KINDS.items():
        if is_kind(value):
            return {kind: written(value)}
    name = getattr(value, "__qualname__", type(value).__name__)
    raise InputError(f"these groups are told by {name}, {PICKLE}")


def unpack_object(packed: Mapping[str, Any]) -> Any:
    """The inverse of ``pack_object``."""
    ((kind, content),) = packed.items()
    return unpack(content) if kind == "of" else KINDS[kind][2](content)


def pack_part(part: Part) -> list[Any]:
    """A part in one short list, for there may be many."""
    return [part.name, part.column, part.relation, pack(part.value)]


def unpack_part(packed: Any) -> Part:
    """The inverse of ``pack_part``."""
    name, column, relation, value = packed
    return Part(text(name), text(column), text(relation), unpack(value))


def _pack_known(value: Any) -> dict[str, Any]:
    return {"name": type(value).__name__, **{f.name: pack_object(getattr(value, f.name)) for f in fields(value)}}


def _unpack_known(packed: Mapping[str, Any]) -> Any:
    held = {key: unpack_object(each) for key, each in packed.items() if key != "name"}
    return KNOWN[packed["name"]](**held)


def pack_dtype(dtype: Any) -> Any:
    """The name of a type of columns, if it is enough to find it again."""
    if isinstance(dtype, pd.CategoricalDtype):
        return {"categories": pack_object(dtype.categories), "ordered": bool(dtype.ordered)}
    named = isinstance(dtype, pd.StringDtype) and str(dtype) == "string"
    name = f"string[{dtype.storage}]" if named else str(dtype)
    try:
        pd.api.types.pandas_dtype(name)
    except TypeError as cause:
        raise InputError(f"a column of these groups has the type {name}, {PICKLE}") from cause
    return name


def unpack_dtype(packed: Any) -> Any:
    """The inverse of ``pack_dtype``."""
    if isinstance(packed, str):
        return pd.api.types.pandas_dtype(packed)
    return pd.CategoricalDtype(unpack_object(packed["categories"]), packed["ordered"] is True)


def _pack_column(values: Any) -> Any:
    """The values of a column, one by one, with their type."""
    return {"dtype": pack_dtype(values.dtype), "values": [pack_object(v) for v in values]}


def _unpack_column(packed: Mapping[str, Any]) -> Any:
    return pd.array(list(map(unpack_object, packed["values"])), dtype=unpack_dtype(packed["dtype"]))


def _pack_objects(array: Any) -> Any:
    return {"shape": list(array.shape), "values": [pack_object(v) for v in array.ravel()]}


def _unpack_objects(packed: Mapping[str, Any]) -> Any:
    found = np.empty(len(packed["values"]), dtype=object)
    found[:] = [unpack_object(v) for v in packed["values"]]
    return found.reshape(packed["shape"])


def _unpack_index(packed: Any) -> Any:
    values = unpack_object(packed)
    return pd.Index(values, dtype=values.dtype)


def _pack_frame(frame: pd.DataFrame) -> Any:
    columns = [pack_object(frame.iloc[:, j].array) for j in range(frame.shape[1])]
    return {"labels": pack_object(frame.columns), "columns": columns}


def _unpack_frame(packed: Mapping[str, Any]) -> pd.DataFrame:
    labels, columns = unpack_object(packed["labels"]), list(map(unpack_object, packed["columns"]))
    found = pd.DataFrame({j: pd.Series(column, dtype=column.dtype) for j, column in enumerate(columns)})
    found.columns = labels
    return found


def _pack_sparse(matrix: Any) -> Any:
    rows = matrix.tocsr()
    return {**{key: pack_view(getattr(rows, key)) for key in ("data", "indices", "indptr")}, "shape": rows.shape}


def _unpack_sparse(packed: Mapping[str, Any]) -> Any:
    arrays = tuple(unpack_view(packed[key]) for key in ("data", "indices", "indptr"))
    return sparse(arrays, packed["shape"])


def _pack_background(b: Background) -> Any:
    return [pack_object(each) for each in (b.schema, b.columns, b.usual, b.fixed, b.n_rows)]


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in PLAIN


def _sparse_rows(names: Any) -> Rows:
    found = unpack_object(names)
    return Rows(csr_matrix((1, len(found))), names=found)


Kind = tuple[Callable[[Any], bool], Callable[[Any], Any], Callable[[Any], Any]]
KINDS: dict[str, Kind] = {  # by tag: what it is for, how it is written, and how it is read
    "part": (lambda v: isinstance(v, Part), pack_part, unpack_part),
    "tuple": (
        lambda v: isinstance(v, tuple),
        lambda v: [pack_object(each) for each in v],
        lambda packed: tuple(map(unpack_object, packed)),
    ),
    "mapping": (
        lambda v: isinstance(v, dict),
        lambda v: [[pack_object(key), pack_object(each)] for key, each in v.items()],
        lambda packed: {unpack_object(key): unpack_object(each) for key, each in packed},
    ),
    "known": (lambda v: type(v) in KNOWN.values(), _pack_known, _unpack_known),
    "array": (_is_array, pack_view, unpack_view),
    "objects": (lambda v: isinstance(v, np.ndarray) and v.dtype.kind == "O", _pack_objects, _unpack_objects),
    "dtype": (lambda v: isinstance(v, (np.dtype, pd.api.extensions.ExtensionDtype)), pack_dtype, unpack_dtype),
    "index": (
        lambda v: isinstance(v, pd.Index) and not isinstance(v, pd.MultiIndex),
        lambda v: pack_object(v.array if isinstance(v.dtype, pd.api.extensions.ExtensionDtype) else v.to_numpy()),
        _unpack_index,
    ),
    "column": (lambda v: isinstance(v, pd.api.extensions.ExtensionArray), _pack_column, _unpack_column),
    "frame": (lambda v: isinstance(v, pd.DataFrame), _pack_frame, _unpack_frame),
    "sparse": (issparse, _pack_sparse, _unpack_sparse),
    "pattern": (
        lambda v: isinstance(v, re.Pattern) and isinstance(v.pattern, str),
        lambda v: [v.pattern, int(v.flags)],
        lambda packed: re.compile(text(packed[0]), packed[1]),
    ),
    "background": (
        lambda v: isinstance(v, Background),
        _pack_background,
        lambda packed: Background(*map(unpack_object, packed)),
    ),
    "sparse rows": (
        lambda v: isinstance(v, Rows) and v.sparse,
        lambda v: pack_object(tuple(v.names)),
        _sparse_rows,
    ),
}
