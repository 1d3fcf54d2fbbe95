"""A small file never takes much memory: at most 64 MiB, or a hundred times its size."""

from __future__ import annotations

import base64
import json
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import explanations as made
import veridical as vd
import view_cases
from veridical.packing import limits
from veridical.records import View

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

MOST = 1.6 * limits.FLOOR  # what is counted, and what Python adds to it


@contextmanager
def little_memory() -> Iterator[None]:
    """Neither Python and numpy nor Arrow take much."""
    before = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST
    assert pa.total_allocated_bytes() - before < MOST


@cache
def bomb(n: int) -> dict[str, Any]:
    """Zeros that shrink to a thousandth."""
    packed = base64.b64encode(zlib.compress(bytes(n), 6)).decode()
    return {"array": packed, "dtype": "|u1", "shape": [n]}


def unsigned(record: Any, path: Path) -> Any:
    record.save(path)
    document = json.loads(path.read_text())
    del document["checksum"]
    return document


@pytest.mark.parametrize("sizes", [[100 * 2**20], [2**20] * 100], ids=["one array", "many arrays"])
def test_arrays_that_unfold(sizes: list[int], tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    document = unsigned(made.mushroom(), path)
    document["items"][0]["map"] = [bomb(n) for n in sizes]
    path.write_text(json.dumps(document))
    assert path.stat().st_size < 500_000
    with little_memory(), pytest.raises(vd.VeridicalError, match="unfolds to more than 64 MiB"):
        vd.load(path)


@pytest.mark.parametrize("key", ["sentence", "view", "recipe", "names"])
def test_texts_that_repeat(key: str, tmp_path: Path) -> None:
    """One long text in a dictionary, and a thousand rows that refer to it."""
    path, n = tmp_path / "e.parquet", 1000
    made.many(2).save(path)
    table = pq.read_table(path)
    rows = table.take(pa.array(np.zeros(n, dtype=np.int64)))
    text = json.dumps({"text": "x" * 1_000_000}) if key in ("view", "recipe") else "x" * 1_000_000
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, dtype=np.int32)), [text])
    if key == "names":
        lists = rows.column("names").combine_chunks()
        flat = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(lists.flatten()), dtype=np.int32)), [text])
        column = pa.ListArray.from_arrays(lists.offsets, flat)
    at = rows.schema.names.index(key)
    pq.write_table(rows.set_column(at, key, column).replace_schema_metadata(table.schema.metadata), path)
    assert path.stat().st_size < 3 * 10**6
    with little_memory(), suppress(vd.VeridicalError):
        vd.load(path)


def uniform(n: int, size: int) -> vd.Explanations:
    """Explanations of pictures of one color, of size by size pixels."""
    e = view_cases.picture(1, 4, 4, 2)
    data = {"pixels": np.zeros((1, size, size, 3), np.uint8), "labels": np.zeros((1, size, size), np.int64)}
    return vd.Explanations(tuple(replace(e, view=View("picture", {**data, "titles": ()})) for _ in range(n)))


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_pictures_of_one_color_are_read_again(suffix: str, tmp_path: Path) -> None:
    many = uniform(8, 1000)  # 88 MB of arrays, which zlib makes 0.1 MB of
    path = tmp_path / f"e{suffix}"
    many.save(path)
    assert path.stat().st_size < 2 * 10**6
    again: Any = vd.load(path)
    assert len(again) == 8
    assert again[7].view.data["pixels"].shape == (1, 1000, 1000, 3)
    uniform(1, 1000)[0].save(path)
    assert vd.load(path).view is not None  # type: ignore[union-attr]


def test_many_rows_alike_are_read_again(tmp_path: Path) -> None:
    """Rows that shrink to less than a hundredth: the file is made longer, and other programs read it too."""
    many = vd.Explanations((made.constant(),) * 20_000)
    many.save(tmp_path / "e.parquet")
    assert len(vd.load(tmp_path / "e.parquet")) == 20_000  # type: ignore[arg-type]
    assert pq.read_table(tmp_path / "e.parquet").num_rows == 20_000
    assert (tmp_path / "e.parquet").read_bytes().count(b" " * 1000) > 100  # as long as it has to be
