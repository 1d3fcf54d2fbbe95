"""What stands beside explanations in a store: the instances, and columns of theirs that are not the model's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError, require
from veridical.packing.values import encode, pack, parse, unpack

KEPT, OWN, INSTANCE = "keep: ", "instance: ", "instance"  # before names of columns; the column of arrays and texts
LABELS = "labels"  # of the columns of the instances, in the metadata


def beside(instances: Any, kept: pd.DataFrame | None) -> tuple[dict[str, Any], dict[str, str]]:
    """Columns of Arrow, and metadata; instances of a kind that does not fit into columns are left out."""
    found = instance_columns(instances)
    framed = bool(found) and isinstance(instances, pd.DataFrame)
    labels = {LABELS: json.dumps(pack(list(instances.columns)))} if framed else {}
    if kept is not None:
        found |= {f"{KEPT}{name}": _any_column(kept[name]) for name in kept.columns}
    return found, labels


def instance_columns(X: Any) -> dict[str, Any]:
    """Table rows and texts as columns of Arrow; none for what does not fit into them."""
    pa = require("pyarrow", extra="parquet")
    try:
        if isinstance(X, pd.DataFrame):
            found = {f"{OWN}{name}": _column(X.iloc[:, j]) for j, name in enumerate(X.columns)}
            return found if len(found) == X.shape[1] else {}
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf":
            flat, width = pa.array(np.ascontiguousarray(X).reshape(-1)), X.shape[1]
            ends = pa.array(np.arange(len(X) + 1, dtype=np.int32) * width)
            return {INSTANCE: pa.ListArray.from_arrays(ends, flat)}
        if _are_texts(X):
            return {INSTANCE: pa.array([str(x) for x in X], pa.string())}
    except (pa.ArrowException, TypeError, ValueError):  # values of a kind that columns do not have
        return {}
    return {}


def _are_texts(X: Any) -> bool:
    plain = isinstance(X, (Sequence, pd.Series)) or (isinstance(X, np.ndarray) and X.ndim == 1)
    return plain and not isinstance(X, str) and all(isinstance(x, str) for x in X)


def _column(values: Any) -> Any:
    """A column of plain values: the same types whatever held them."""
    pa = require("pyarrow", extra="parquet")
    made = pa.array(values, from_pandas=True)
    if isinstance(made, pa.ChunkedArray):
        made = made.combine_chunks()
    if pa.types.is_dictionary(made.type):
        made = made.dictionary_decode()
    if str(made.type) in ("large_string", "string_view"):
        made = made.cast(pa.string())
    return made


def _any_column(values: Any) -> Any:
    """A column as it is, or its values as JSON if they are of a kind that columns do not have."""
    pa = require("pyarrow", extra="parquet")
    try:
        return _column(values)
    except (pa.ArrowException, TypeError, ValueError):
        return pa.array([encode(value) for value in values], pa.string())


def columns_beside(schema: Any) -> list[str]:
    """Names of the columns of the instances, of a schema of Arrow."""
    return [name for name in schema.names if name == INSTANCE or name.startswith(OWN)]


def instances_in(table: Any) -> Any:
    """The instances of a table of Arrow: a DataFrame, an array, or a list of texts."""
    pa = require("pyarrow", extra="parquet")
    names = columns_beside(table.schema)
    if not names:
        raise InputError(
            "the store does not hold the instances, for only table rows and texts are stored: give them as X"
        )
    if names != [INSTANCE]:
        labels = unpack(parse((table.schema.metadata or {})[LABELS.encode()].decode()))
        return pd.DataFrame({j: table.column(name).to_pandas() for j, name in enumerate(names)}).set_axis(
            labels, axis=1
        )
    column = table.column(INSTANCE).combine_chunks()
    if pa.types.is_string(column.type):
        return column.to_pylist()
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
