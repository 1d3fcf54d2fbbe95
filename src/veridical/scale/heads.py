"""What a store is of, told by what model and representer do to the first rows: nothing needs to be pickled."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from veridical.attribute.ask import Model
from veridical.attribute.recipe import describe
from veridical.errors import VeridicalError, require
from veridical.packing.values import encode
from veridical.records import Floats, Representation, Representer, Seed
from veridical.represent.masked import Composed
from veridical.represent.regions import is_tensor
from veridical.scale.beside import instance_columns
from veridical.scale.digests import digest_of

FIRST = 16  # rows that model and representer are told by
END = 2**16  # bytes of either end of a file
DRAWN = 8  # samples of each of them


@dataclass(frozen=True)
class Head:
    """What a store is of: only a run that asks the same goes on with it."""

    recipe: Mapping[str, Any]  # method, target, classes and rng, as plain data
    represent: str  # what the representer does to the first rows, as a digest
    data: Mapping[str, str]  # digests of the rows, by kind: those that both runs know are compared
    answers: Floats | None  # (m, k) of the model to the first rows; None where it fails on them
    keep: tuple[str, ...]  # columns beside the model's
    chunk_rows: int  # rows a part
    n_rows: int | None = None  # None where that shows only at the end


def settings_of(method: Any, target: Any, classes: Any, seed: Seed) -> dict[str, Any]:
    """What is asked for, as plain data."""
    return {
        "method": describe(method),
        "target": describe(target),
        "classes": None if classes is None else [str(each) for each in classes],
        "rng": {"entropy": seed.entropy, "spawn_key": list(seed.spawn_key)},
    }


def answers_of(model: Model, represent: Representer, first: Any) -> Floats | None:
    """What the model says of the first rows; they are asked about once more for this."""
    try:
        instances = represent.each(first)
        return model(instances.inputs(0, min(len(instances), FIRST)))
    except VeridicalError:
        return None


def seen_by(represent: Representer, first: Any) -> str:
    """What a representer makes of the first rows: their parts, and some samples of each."""
    told = hashlib.sha256(type(represent).__name__.encode())
    try:
        instances = represent.each(first)
        found = instances.batch(0, min(len(instances), FIRST))
    except VeridicalError:
        return ""
    for i in range(len(found)):
        try:
            told.update(_seen(found[i]).encode())
        except VeridicalError:  # this one cannot be represented, and others can
            told.update(b"none")
    return told.hexdigest()


def _seen(row: Representation) -> str:
    """The parts of a row, and samples of it."""
    parts = encode([[p.name, p.column, p.relation, encode(p.value)] for p in row.parts])
    sample = row.draw(row.kernel, np.random.SeedSequence(0), 0, DRAWN)
    made = row.realize(sample)
    inputs = made[0 : len(made)] if isinstance(made, Composed) else made
    return parts + content_of([sample.designs, sample.weights]) + content_of(inputs)


def content_of(X: Any) -> str:
    """Rows of any kind as a digest; "" for what cannot be told apart."""
    pa = require("pyarrow", extra="parquet")
    columns = instance_columns(X)
    if columns:
        n = len(next(iter(columns.values())))
        return f"{digest_of(pa.table({'row': np.arange(n), **columns})):064x}"
    told = hashlib.sha256()
    if issparse(X):
        return content_of(_arrays(X))
    if not isinstance(X, (list, tuple, np.ndarray, pd.Series)) and not is_tensor(X):
        return ""
    for each in X:
        array = each.detach().double().cpu().numpy() if is_tensor(each) else np.asarray(each)
        if array.dtype.kind not in "biuf":
            return ""
        told.update(str(array.shape).encode() + np.ascontiguousarray(array, dtype=np.float64).tobytes())
    return told.hexdigest()


def told_by(source: Any) -> dict[str, str]:
    """All rows as a digest, by where they are: in memory (``X``), or in files (``paths``), by their two ends."""
    if hasattr(source, "paths"):
        told = hashlib.sha256()
        for path in source.paths:
            with path.open("rb") as stream:
                size = stream.seek(0, os.SEEK_END)
                stream.seek(0)
                told.update(str(size).encode() + stream.read(END))
                stream.seek(max(size - END, 0))
                told.update(stream.read(END))
        return {"files": told.hexdigest()}
    X = getattr(source, "X", None)
    if isinstance(X, (pd.DataFrame, pd.Series)):
        try:
            each = pd.util.hash_pandas_object(X, index=False).to_numpy()
        except TypeError:  # values that cannot be hashed
            return {}
        return {"frame": hashlib.sha256(each.tobytes()).hexdigest()}
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return {"array": hashlib.sha256(np.ascontiguousarray(X).data).hexdigest()}
    return {} if X is None else {"rows": content_of(X)}


def _arrays(matrix: Any) -> list[Any]:
    csr = matrix.tocsr()
    return [csr.data, csr.indices, csr.indptr]
