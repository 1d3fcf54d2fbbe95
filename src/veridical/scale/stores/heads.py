"""What a store is of, told by what model and representer do to the first rows: nothing needs to be pickled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from veridical.attribute.ask import Model
from veridical.attribute.recipe import describe
from veridical.attribute.targets import as_plain
from veridical.errors import VeridicalError, require
from veridical.packing.explanations import pack_target
from veridical.packing.values import encode, pack
from veridical.records import Floats, Representation, Representer, Seed
from veridical.represent.masked import Composed
from veridical.represent.regions import is_tensor
from veridical.scale.stores.beside import instance_columns
from veridical.scale.stores.digests import digest_of

FIRST = 16  # rows that model and representer are told by
PIECE = 2**16  # bytes of a file that are read at a time
PIECES = 2**14  # of all files together, spread over them where they are larger
NO_CONTENT = b" at 0x"  # an object that says where it lies, and not what it is
DRAWN = 8  # samples of each of them


@dataclass(frozen=True)
class Head:
    """What a store is of: only a run that asks the same goes on with it."""

    recipe: Mapping[str, Any]  # method, target, classes and rng, as plain data
    represent: str  # what the representer does to the first rows, as a digest
    data: Mapping[str, str]  # digests of the rows, by kind: those that both runs know are compared
    answers: Floats | None  # (m, k) of the model to the first rows that it can answer; None if to none
    keep: tuple[str, ...]  # columns beside the model's
    chunk_rows: int  # rows a part
    n_rows: int | None = None  # None where that shows only at the end


def settings_of(method: Any, target: Any, classes: Any, seed: Seed) -> dict[str, Any]:
    """What is asked for, as plain data."""
    return {
        "method": describe(method),
        "target": describe(target) if target is None or callable(target) else pack_target(as_plain(target)),
        "classes": None if classes is None else [pack(each) for each in classes],
        "rng": {"entropy": seed.entropy, "spawn_key": list(seed.spawn_key)},
    }


def answers_of(model: Model, represent: Representer, first: Any) -> Floats | None:
    """What the model says of the first rows, those left out that it fails on; this asks about them once more."""
    try:
        instances = represent.each(first)
    except VeridicalError:
        return None
    n = min(len(instances), FIRST)
    for spans in ([(0, n)], [(i, i + 1) for i in range(n)]):
        found = []
        for span in spans:
            with suppress(VeridicalError):
                found.append(model(instances.inputs(*span)))
        if found:
            return np.concatenate(found)
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
    if isinstance(X, pd.DataFrame):
        return content_of([list(X.columns), *X.to_numpy(dtype=object)])
    if not isinstance(X, (list, tuple, np.ndarray, pd.Series)) and not is_tensor(X):
        return ""
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


def told_by(source: Any) -> dict[str, str]:
    """All rows as a digest, by where they are: in memory (``X``), or in files (``paths``).

    Files of more than 1 GiB together are told by pieces of that much, spread over all of them.
    """
    if hasattr(source, "paths"):
        told = hashlib.sha256()
        for path in source.paths:
            _read(path, max(PIECES // len(source.paths), 2), told.update)
        return {"files": told.hexdigest()}
    X = getattr(source, "X", None)
    if isinstance(X, (pd.DataFrame, pd.Series)):
        try:
            each = pd.util.hash_pandas_object(X, index=False).to_numpy()
        except Exception:  # values that cannot be hashed
            return {"rows": content_of(X)}
        return {"frame": hashlib.sha256(each.tobytes()).hexdigest()}
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return {"array": hashlib.sha256(np.ascontiguousarray(X).data).hexdigest()}
    return {} if X is None else {"rows": content_of(X)}


def names_told_by(source: Any) -> dict[str, str]:
    """The names of rows in memory as a digest; "" where they have none."""
    if not hasattr(source, "names"):
        return {}
    told = hashlib.sha256()
    for name in source.names or ():
        told.update(encode(name).encode("utf-8", "surrogatepass") + b"\0")
    return {"names": "" if source.names is None else told.hexdigest()}


def _read(path: Path, most: int, hear: Callable[[bytes], None]) -> None:
    """A file: how long it is, and pieces from end to end, at most so many."""
    size = path.stat().st_size
    hear(str(size).encode())
    with path.open("rb") as stream:
        for place in np.linspace(0, max(size - PIECE, 0), min(-(-size // PIECE), most)).astype(np.int64):
            stream.seek(int(place))
            hear(stream.read(PIECE))


def _arrays(matrix: Any) -> list[Any]:
    csr = matrix.tocsr()
    return [csr.data, csr.indices, csr.indptr]
