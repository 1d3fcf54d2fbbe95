"""Content as one number: what is equal has the same, however it was cut, ordered and stored."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from veridical.errors import require

MODULUS = 2**256
EXACT = 2**53  # whole numbers up to here are the same as floats
NONE = hashlib.sha256(b"none").digest()
WIDTH = 16  # bytes that an entry of a list is told by


def digest_of(table: Any) -> int:
    """Of a table of Arrow with a column ``row``: the sum of one SHA-256 a row, modulo 2^256.

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
    """Bytes (n, 8 or 16) that tell the entries of an array apart."""
    pa = require("pyarrow", extra="parquet")
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _hashes(array.dictionary_decode())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _of_lists(array)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return _of_numbers(array)
    return _of_texts(array)


def _of_numbers(array: Any) -> Any:
    """Numbers as bytes of a float, and whole numbers beyond as their own; missing is nan."""
    pa = require("pyarrow", extra="parquet")
    if pa.types.is_integer(array.type):
        whole = array.fill_null(0).to_numpy(zero_copy_only=False)
        if len(whole) and max(int(whole.max()), -int(whole.min())) > EXACT:
            return _of_texts(array)
    values = array.to_numpy(zero_copy_only=False)
    missing = np.asarray(array.is_null(nan_is_null=True))
    floats = np.where(missing, np.nan, values).astype(np.float64)
    return np.ascontiguousarray(floats).view(np.uint8).reshape(len(floats), 8)


def _of_texts(array: Any) -> Any:
    """Texts, and what has a text that tells it apart; each that repeats is hashed once."""
    pa = require("pyarrow", extra="parquet")
    text = array.cast(pa.string()) if not pa.types.is_nested(array.type) else pa.array(map(str, array.to_pylist()))
    coded = text.dictionary_encode()
    each = [hashlib.sha256(b"text" + entry.encode()).digest() for entry in coded.dictionary.to_pylist()]
    return _bytes([*each, NONE])[coded.indices.fill_null(len(each)).to_numpy(zero_copy_only=False)]


def _of_lists(array: Any) -> Any:
    """Lists by their entries in order; no list is not an empty one."""
    inner = _hashes(array.flatten())
    counts = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
    if len(counts) and (counts == counts[0]).all():
        lines = inner.reshape(len(counts), -1)
        if (lines == lines[0]).all():  # as of the columns of a table: one list is hashed for all
            inner, counts = lines[:1].reshape(-1, inner.shape[1]), counts[:1]
    stops = np.cumsum(counts) * inner.shape[1]
    flat = memoryview(np.ascontiguousarray(inner).reshape(-1).data)
    starts = stops - counts * inner.shape[1]
    made = [hashlib.sha256(flat[a:b]).digest() for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
    found = np.broadcast_to(_bytes(made), (len(array), WIDTH)).copy()
    found[np.asarray(array.is_null())] = _bytes([NONE])
    return found


def _bytes(digests: list[bytes]) -> Any:
    """Digests, cut, as lines of bytes."""
    return np.frombuffer(b"".join(each[:WIDTH] for each in digests), np.uint8).reshape(-1, WIDTH)
