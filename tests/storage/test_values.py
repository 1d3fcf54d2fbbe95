"""Values come back from a file as what they were, and a small file never takes much memory."""

from __future__ import annotations

import base64
import datetime as dt
import enum
import json
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from dateutil import tz
from hypothesis import given, settings
from hypothesis import strategies as st

import veridical as vd
from tests.builders import explanations as made
from tests.builders import view_cases
from veridical.display.saving import save
from veridical.errors import InputError
from veridical.records import View
from veridical.scale.stores.store import load
from veridical.storage import codec
from veridical.storage.codec import encode, pack, unpack

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

BERLIN = ZoneInfo("Europe/Berlin")


class Color(enum.Enum):
    RED = 1


class Size(enum.IntEnum):
    LARGE = 3


def back(value: Any) -> Any:
    return unpack(json.loads(encode(value)))


def same(one: Any, other: Any) -> bool:
    """Equal, of one type, to the last bit; nan and NaT are themselves."""
    return type(one) is type(other) and (repr(one) == repr(other) or bool(one == other))


KEPT: list[Any] = [
    *(b"", b"a\xff\0", Fraction(1, 3), Fraction(-(10**50), 7), UUID(int=5), 1 + 2j, complex("nan+infj")),
    *(dt.time(1, 2, 3, 4), dt.time(2, fold=1), dt.time(1, tzinfo=BERLIN), dt.time(2, tzinfo=dt.timezone.utc)),
    *(dt.datetime(2020, 1, 1), dt.datetime(1, 1, 1, 0, 0, 0, 1), dt.date(1, 1, 1)),
    dt.datetime(2020, 10, 25, 2, 30, fold=1, tzinfo=BERLIN),
    dt.datetime(2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-1, seconds=3))),
    *(dt.timedelta(-1, 2, 3), dt.timedelta.max, Decimal("1.50"), Decimal("NaN"), Decimal("1e999999")),
    *(np.datetime64("NaT"), np.datetime64("2020-01-01T01", "h"), np.datetime64(5, "25s"), np.datetime64(-1, "as")),
    *(np.timedelta64(5), np.timedelta64(7, "D"), np.timedelta64("NaT", "ns")),
    *(np.longdouble("1.234567890123456789"), np.longdouble("-inf"), np.longdouble("nan")),
    *(10**3000, -(10**3000), 2**53 + 1, True, None, -0.0, float("-inf"), "\ud800", "", 5e-324),
    *(pd.Timestamp("2020", tz="Europe/Berlin"), pd.Timestamp(7), pd.NaT, pd.NA, pd.Timedelta("1ns")),
    *(pd.Period("2020Q1"), pd.Interval(pd.Timestamp(0), pd.Timestamp(9)), pd.Interval(0.5, 1.5, "both")),
    *((), [], {}, (1, ("a", b"b")), {1: "a", "1": "b"}, {("a", 1): [1]}, {"value": 1, "of": 2}, {"tuple": ()}),
]
CHANGED: list[tuple[Any, Any]] = [  # of numpy as of Python, and what no file knows as its text
    *((np.float32(0.5), 0.5), (np.int8(3), 3), (np.uint64(2**64 - 1), 2**64 - 1), (np.bool_(True), True)),
    *((np.str_("s"), "s"), (np.bytes_(b"s"), b"s"), (np.complex64(1 + 2j), 1 + 2j)),
    *((Color.RED, "Color.RED"), (Size.LARGE, 3), (frozenset({1}), "frozenset({1})")),
    (dt.datetime(2020, 1, 1, tzinfo=tz.tzutc()), dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)),
]


@pytest.mark.parametrize("value", KEPT, ids=lambda value: f"{type(value).__name__}-{encode(value)[:24]}")
def test_what_went_in_comes_out(value: Any) -> None:
    assert same(back(value), value)


@pytest.mark.parametrize(("value", "came"), CHANGED, ids=lambda value: type(value).__name__)
def test_what_becomes_something_else(value: Any, came: Any) -> None:
    assert same(back(value), came)


def test_a_time_zone_without_a_name_keeps_the_moment() -> None:
    moment = pd.Timestamp("2020-07-01", tz=tz.gettz("Europe/Berlin"))
    assert back(moment) == moment
    assert back(moment).utcoffset() == moment.utcoffset()


@pytest.mark.parametrize(
    "value", [10**6000, [-(10**6000)], Fraction(1, 10**6000)], ids=["whole", "list", "fraction"]
)
def test_a_number_that_nobody_can_write_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="bits: a file holds at most"):
        encode(value)


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_files_keep_them(suffix: str, tmp_path: Path) -> None:
    e = made.mushroom()
    parts = tuple(replace(e.parts[0], name=f"part {i}", value=each) for i, each in enumerate(KEPT))
    weights, intervals = np.zeros(len(KEPT)), np.zeros((len(KEPT), 2))
    recipe = {"odd": list(KEPT)}
    save(replace(e, parts=parts, weights=weights, intervals=intervals, recipe=recipe), tmp_path / f"e{suffix}")
    again: Any = load(tmp_path / f"e{suffix}")
    assert all(same(part.value, value) for part, value in zip(again.parts, KEPT, strict=True))
    assert all(same(came, value) for came, value in zip(again.recipe["odd"], KEPT, strict=True))


plain = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(max_size=9), st.uuids()),
    *(st.fractions(), st.decimals(), st.complex_numbers(), st.dates(), st.times(), st.timedeltas()),
    st.datetimes(timezones=st.sampled_from([None, dt.timezone.utc, BERLIN])),
    st.builds(np.datetime64, st.integers(-(2**62), 2**62), st.sampled_from(["Y", "D", "m", "ns", "7s"])),
    st.builds(np.timedelta64, st.integers(-(2**62), 2**62), st.sampled_from(["Y", "D", "m", "ns", "7s"])),
)
keys = st.one_of(st.text(), st.integers(), st.tuples(st.booleans(), st.text()))
anything = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(keys, inner, max_size=4),
    ),
    max_leaves=8,
)


@settings(max_examples=60)
@given(anything)
def test_any_value(value: Any) -> None:
    packed = pack(value)
    assert repr(unpack(json.loads(json.dumps(packed, allow_nan=False)))) == repr(value)


# A small file never takes much memory: at most 64 MiB, or a hundred times its size.


MOST = 1.6 * codec.FLOOR  # what is counted, and what Python adds to it


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
