"""Records as strict JSON and back, bit for bit, by the types of their fields; what repeats in a file becomes one object.

A new record needs nothing here: its fields are written in their order, each as its type says. The tables below say
which fields hold more than their type tells, which lengths must agree, and which records are written as a list.
Only classes of veridical's own that a table names are ever made from a file, and no file runs code.

What a file unfolds to is at most 64 MiB, or a hundred times its size where that is more. Pictures of one color
and rows that are all alike shrink to less than a hundredth: files of them are made longer as they are written, so
that they can be read.
"""

from __future__ import annotations

import base64
import json
import math
import re
import sys
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache, partial
from types import MappingProxyType, NoneType, UnionType
from typing import Any, NamedTuple, NewType, Union, get_args, get_origin, get_type_hints
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, issparse

from veridical.checks.audits import Result
from veridical.comparisons.differences import Difference, Side
from veridical.comparisons.watching import ORDER, Drift
from veridical.errors import InputError
from veridical.methods.flips import Flip, Flips
from veridical.metrics.reports import Comparison, Curve, Example, Metric, Report, Score
from veridical.records import (
    IDENTITY,
    LOG_ODDS,
    Explanation,
    Explanations,
    Failure,
    FeatureCurve,
    FeaturePair,
    Floats,
    Measured,
    Output,
    Part,
    Verdict,
    View,
)
from veridical.representations.sounds import Mel
from veridical.representations.spaces import MaskSpace, TableSpace
from veridical.representations.tables.backgrounds import TableBackground
from veridical.representations.tables.columns import Binned, Coded, Normal, NumberLine
from veridical.representations.tables.rows import Rows
from veridical.representations.tables.schema import Schema
from veridical.representations.words import Words
from veridical.summaries.concepts import PartCluster
from veridical.summaries.groupings.gates import Centers, Nearest, Overlap, Size, Softmax, Sphere, TreeGate
from veridical.summaries.groupings.groups import Grouping, Membership, Region
from veridical.summaries.importances import Importance, RowSample
from veridical.summaries.picks import Pick

# Values of any type.
FLOOR = 64 * 2**20  # bytes that any file may unfold to
FACTOR = 100  # and how many times its own size, where that is more
ROW, VALUE = 2048, 32  # bytes of an explanation, and of an entry of its lists, as objects of Python

_taken: ContextVar[list[int] | None] = ContextVar("taken", default=None)


def allowed(size: int) -> int:
    """Bytes of memory that a file of so many bytes may take."""
    return max(FLOOR, FACTOR * size)


@contextmanager
def counting(most: int = sys.maxsize) -> Iterator[list[int]]:
    """Count the bytes that a file which is written, or read, unfolds to; at most so many."""
    count = [0, most]
    token = _taken.set(count)
    try:
        yield count
    finally:
        _taken.reset(token)


def spend(n: int) -> None:
    """Count bytes that reading takes, and raise if a file may take no more."""
    taken = _taken.get()
    if taken is not None:
        taken[0] += n
        if taken[0] > taken[1]:
            raise ValueError(f"it unfolds to more than {FLOOR // 2**20} MiB and {FACTOR} times its size")


STRICT = json.JSONEncoder(allow_nan=False)
TAGS = frozenset({"float", "tuple", "timestamp", "mapping", "value"})
AS_IT_IS = frozenset({bool, int, str, type(None)})
LONG = 10_000  # bits of a whole number: Python refuses to write longer ones in decimals
DEEPEST = 100  # lists and objects in each other
STRINGS, BRACKETS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL), re.compile(r"[^\[\]{}]+")
PLAIN = "biufcmMSU"  # kinds of arrays whose bytes are their values


def pack(value: Any) -> Any:
    """A value as strict JSON: what JSON does not know gets a tag, and what no tag is for becomes its str."""
    kind = type(value)
    if kind is int:
        if value.bit_length() > LONG:
            raise InputError(f"a whole number here has {value.bit_length():,} bits: a file holds at most {LONG:,}")
        return value
    if kind in AS_IT_IS:
        return value
    if kind in BY_TYPE:
        name, written = BY_TYPE[kind]
        return {"value": name, "of": written(value)}
    for plain, numpy in ((bool, np.bool_), (int, np.integer), (str, np.str_)):
        if isinstance(value, (plain, numpy)):
            return pack(plain(value))
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, (list, tuple)):
        packed_list = [pack(v) for v in value]
        return packed_list if isinstance(value, list) else {"tuple": packed_list}
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):  # so that 1 and "1" stay apart
            return {"value": "mapping", "of": [[pack(key), pack(each)] for key, each in value.items()]}
        packed = {str(key): pack(each) for key, each in value.items()}
        return {"mapping": packed} if TAGS & packed.keys() else packed
    if isinstance(value, pd.Timestamp):
        zone = None if value.tz is None else zone_name(str(value.tz))
        return {"timestamp": value.isoformat(), "unit": value.unit, **({} if zone is None else {"zone": zone})}
    if value is pd.NaT:
        return {"timestamp": "NaT"}
    if isinstance(value, np.complexfloating):
        return pack(complex(value))
    for base in kind.__mro__:
        if base in BY_TYPE:
            name, written = BY_TYPE[base]
            return {"value": name, "of": written(value)}
    return str(value)


@lru_cache(maxsize=256)
def zone_name(name: str) -> str | None:
    """The name of a time zone, if it can be found again by that; a moment still has its distance from UTC."""
    try:
        pd.Timestamp(0, tz=name)
    except Exception:  # whatever a time zone of the caller's own calls itself
        return None
    return name


def unpack(value: Any) -> Any:
    """The inverse of ``pack``."""
    if isinstance(value, list):
        return [unpack(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "tuple" in value:
        return tuple(unpack(v) for v in value["tuple"])
    if "timestamp" in value:
        moment: Any = pd.Timestamp(value["timestamp"])
        moment = moment.as_unit(value["unit"]) if "unit" in value else moment
        return moment.tz_convert(value["zone"]) if "zone" in value else moment
    if value.keys() == {"value", "of"} and value["value"] in READ:
        return READ[value["value"]](value["of"])
    return {k: unpack(v) for k, v in value.get("mapping", value).items()}


def _numpy_ticks(value: Any) -> list[Any]:
    unit = str(value.dtype).partition("[")[2].rstrip("]")
    return [int(np.asarray(value).view(np.int64)), unit]


def _from_ticks(kind: str) -> Callable[[Any], Any]:
    def read(of: Any) -> Any:
        ticks, unit = of
        return np.array(ticks, dtype=np.int64).view(f"{kind}8[{text(unit)}]" if unit else f"{kind}8")[()]

    return read


def _clock(value: Any) -> list[Any]:
    """A datetime or time of Python's own: ISO 8601, which of two equal hours it is, and its time zone by name."""
    name: Any = getattr(value.tzinfo, "key", None) or getattr(value.tzinfo, "zone", None)
    try:
        same = value.replace(tzinfo=ZoneInfo(name)).utcoffset() == value.utcoffset()
    except Exception:  # it has no name, or one that nobody knows
        same = False
    return [value.isoformat(), value.fold, name if same else None]


def _from_clock(kind: Any) -> Callable[[Any], Any]:
    def read(of: Any) -> Any:
        written, fold, zone = of
        found = kind.fromisoformat(written).replace(fold=fold)
        return found if zone is None else found.replace(tzinfo=ZoneInfo(text(zone)))

    return read


RARE: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = {  # type, how it is written, and read
    "timedelta": (
        pd.Timedelta,
        lambda v: [int(v.to_numpy().astype(np.int64)), v.unit],
        lambda of: pd.Timedelta(np.timedelta64(*of)),
    ),
    "period": (pd.Period, lambda v: [v.ordinal, v.freqstr], lambda of: pd.Period(ordinal=of[0], freq=of[1])),
    "interval": (
        pd.Interval,
        lambda v: [pack(v.left), pack(v.right), v.closed],
        lambda of: pd.Interval(unpack(of[0]), unpack(of[1]), of[2]),
    ),
    "missing": (type(pd.NA), lambda v: None, lambda of: pd.NA),
    "decimal": (Decimal, str, Decimal),
    "datetime": (datetime, _clock, _from_clock(datetime)),
    "date": (date, lambda v: v.isoformat(), date.fromisoformat),
    "time": (time, _clock, _from_clock(time)),
    "duration": (timedelta, lambda v: [v.days, v.seconds, v.microseconds], lambda of: timedelta(*of)),
    "datetime64": (np.datetime64, _numpy_ticks, _from_ticks("M")),
    "timedelta64": (np.timedelta64, _numpy_ticks, _from_ticks("m")),
    "longdouble": (np.longdouble, lambda v: str(np.format_float_scientific(v)), np.longdouble),
    "complex": (
        complex,
        lambda v: [pack(v.real), pack(v.imag)],
        lambda of: complex(*(float(unpack(each)) for each in of)),
    ),
    "fraction": (
        Fraction,
        lambda v: [pack(v.numerator), pack(v.denominator)],
        lambda of: Fraction(*map(unpack, of)),
    ),
    "bytes": (bytes, lambda v: base64.b64encode(v).decode(), lambda of: base64.b64decode(text(of), validate=True)),
    "uuid": (UUID, str, UUID),
}
BY_TYPE = {kind: (name, written) for name, (kind, written, _) in RARE.items()}
READ: dict[str, Callable[[Any], Any]] = {
    **{name: read for name, (_, _, read) in RARE.items()},
    "mapping": lambda of: {unpack(key): unpack(each) for key, each in of},
}


def encode(value: Any) -> str:
    """``pack`` as text; the common cases are quick, for there may be millions."""
    if type(value) is float and math.isfinite(value):
        return repr(value)
    if type(value) is tuple and {type(v) for v in value} == {float} and math.isfinite(sum(value)):
        return f'{{"tuple": {list(value)!r}}}'
    return STRICT.encode(value if type(value) is str else pack(value))


def parse(text: str) -> Any:
    """Strict JSON, which has no nan and no infinity, and is not nested beyond what any record is."""
    if text.count("[") + text.count("{") > DEEPEST:
        marks = BRACKETS.sub("", STRINGS.sub("", text)).encode("ascii", "replace")
        steps = np.where(np.isin(np.frombuffer(marks, np.uint8), np.frombuffer(b"[{", np.uint8)), 1, -1)
        if np.cumsum(steps).max(initial=0) > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def finite(value: Any) -> Any:
    """A number for strict JSON: nan, inf and -inf become text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def pack_view(value: Any) -> Any:
    """``pack`` for a View and what is in one: arrays, views and mappings get tags, always."""
    if type(value) in AS_IT_IS:
        return value
    if isinstance(value, View):
        return {"view": value.kind, "data": pack_view(value.data)}
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in PLAIN:
            raise InputError(
                f"a view holds an array of {value.dtype}: only arrays of numbers and text can be saved"
            )
        spend(value.nbytes)
        packed = base64.b64encode(zlib.compress(value.tobytes(), 6)).decode()
        return {"array": packed, "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, (list, tuple)):
        inner = [pack_view(v) for v in value]
        return inner if isinstance(value, list) else {"tuple": inner}
    if isinstance(value, Mapping):
        return {"mapping": {str(k): pack_view(v) for k, v in value.items()}}
    return pack(value)


def unpack_view(value: Any) -> Any:
    """The inverse of ``pack_view``."""
    if isinstance(value, list):
        return [unpack_view(v) for v in value]
    if not isinstance(value, dict):
        return value
    if "view" in value:
        data = unpack_view(value["data"])
        if not isinstance(value["view"], str) or not isinstance(data, dict):
            raise TypeError("a view has a kind and data")
        return View(value["view"], data)
    if "array" in value:
        return _array(value)
    if "tuple" in value:
        return tuple(unpack_view(v) for v in value["tuple"])
    if "mapping" in value:
        return {k: unpack_view(v) for k, v in value["mapping"].items()}
    return unpack(value)


def _array(value: Mapping[str, Any]) -> Any:
    """An array of exactly the size it says, however much its bytes would unfold to."""
    dtype, shape = np.dtype(value["dtype"]), tuple(int(n) for n in value["shape"])
    if dtype.kind not in PLAIN or min(shape, default=0) < 0:
        raise TypeError(f"no array of {dtype} and shape {shape} was saved")
    size = math.prod(shape) * dtype.itemsize
    spend(size)
    content = zlib.decompressobj().decompress(base64.b64decode(value["array"], validate=True), size + 1)
    if len(content) != size:
        raise ValueError(f"{size} bytes were wanted for an array")
    return np.frombuffer(content, dtype).reshape(shape) if size else np.empty(shape, dtype)


def numbers(array: Any) -> list[Any]:
    """An array as lists of what JSON can write."""
    return [numbers(v) if isinstance(v, list) else finite(v) for v in np.asarray(array).tolist()]


def floats(values: Any) -> Any:
    return np.array(values, dtype=np.float64)


def whole(values: Any) -> Any:
    found = np.array(values)
    if found.size and found.dtype.kind not in "iu":
        raise TypeError("whole numbers were wanted")
    return np.array(values, dtype=np.int64)


def sparse(arrays: Sequence[Any], shape: Sequence[Any]) -> csr_matrix:
    """A matrix by the rules of CSR, which are checked: SciPy reads what breaks them beyond its memory."""
    n_rows, n_columns = (check_count(each) for each in shape)
    data, columns, ends = (np.asarray(each) for each in arrays)
    if not all(each.ndim == 1 and (each.dtype.kind in "iu" or not each.size) for each in (ends, columns)):
        raise TypeError("places in a matrix are whole numbers")
    fits = len(ends) == n_rows + 1 and ends[0] == 0 and ends[-1] == len(columns)
    inside = not columns.size or (columns.min() >= 0 and columns.max() < n_columns)
    if not fits or not inside or data.shape != columns.shape or (np.diff(ends) < 0).any() or n_columns < 0:
        raise ValueError("the parts of a matrix do not fit each other")
    found = csr_matrix((data, columns, ends), shape=(n_rows, n_columns))
    found.check_format(full_check=True)
    return found


def check_count(value: Any) -> int:
    """A whole number that an array of them can hold."""
    found = int(value)
    if not -(2**63) <= found < 2**63:
        raise OverflowError("a number of 64 bits was wanted")
    return found


def mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"a mapping was wanted, {type(value).__name__} came")
    return value


def sequence(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a list was wanted, {type(value).__name__} came")
    return value


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text was wanted, {value!r} came")
    return value


# Records.
Target = NewType("Target", object)  # a class, a position among the outputs, or the name of a function
Map = NewType("Map", object)
Samples = NewType("Samples", object)
Assigning = NewType("Assigning", object)  # of veridical's own, to assign instances to groups
Packed = NewType("Packed", object)  # an array, as that of a view
HINTS: dict[tuple[type, str], Any] = {  # of fields that hold more than their annotation says
    **dict.fromkeys([(Explanation, "target"), (Grouping, "target"), (Flip, "answer"), (Flips, "answer")], Target),
    **dict.fromkeys([(Pick, "targets"), (Pick, "chosen_targets")], tuple[Target, ...]),
    **dict.fromkeys([(Grouping, "space"), (Grouping, "gate")], Assigning),
    **dict.fromkeys([(Curve, name) for name in ("flips", "rate", "low", "high")], Packed),
    (Pick, "weights"): csr_matrix,
    (Explanation, "map"): Map,
    (Example, "sounds"): Samples,
}
LISTS = frozenset(
    {Part, Failure, FeatureCurve, FeaturePair, Measured, Metric, Score, Comparison, Curve, Region}
)  # short, and there may be many
SHAPES: dict[type, dict[str, str]] = {  # letters stand for lengths that agree; "?" for a field that may be empty
    Explanation: {"parts": "d", "weights": "d", "intervals": "d2", "values": "?d"},
    FeatureCurve: {"values": "m", "effects": "m", "intervals": "m2"},
    FeaturePair: {"effects": "ab"},
    Curve: {"rate": "m", "low": "m", "high": "m", "flips": "nm"},
    Difference: {"parts": "d", "p": "d", "counts": "d", "weights": "d2", "intervals": "d2", "changes": "n"},
    Drift: {"kinds": "m", "names": "m", "values": "m2", "intervals": "m2", "p": "m"},
    PartCluster: {"members": "m2"},
    Importance: dict.fromkeys(("columns", "importance", "means", "counts", "raising"), "c") | {"intervals": "c2"},
    RowSample: {
        **dict.fromkeys(("numbers", "rows", "predictions", "fidelities", "labels", "targets"), "m"),
        **{"weights": "ms", "values": "ms", "levels": "s"},
    },
    Membership: dict.fromkeys(("parts", "values", "reasons", "weights"), "d") | {"probabilities": "k"},
    Grouping: {
        **{"parts": "d", "weights": "kd", "intervals": "kd2"},
        **dict.fromkeys(("intercepts", "sizes", "regions", "fidelities"), "k"),
    },
    Pick: {
        **dict.fromkeys(("chosen", "coverage", "chosen_targets"), "b"),
        **dict.fromkeys(("parts", "names", "importance", "targets"), "p"),
        **{"rows": "?b", "random": "b2", "weights": "bp"},
    },
}


class Codec(NamedTuple):
    """How values of one type are written, and read."""

    pack: Callable[[Any], Any]
    unpack: Callable[[Any, Pool], Any]


class Pool:
    """Texts, parts and recipes of one file: equal ones are one object."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._parts: dict[tuple[str, ...], Part] = {}
        self._recipes: dict[str, Mapping[str, Any]] = {}

    def text(self, value: Any) -> str:
        return self._texts.setdefault(text(value), value)

    def part(self, name: str, column: str, relation: str, value: str) -> Part:
        """A part of its texts, and of its value as JSON."""
        key = (name, column, relation, value)
        if key not in self._parts:
            self._parts[key] = Part(*map(self.text, key[:3]), unpack(parse(value)))  # type: ignore[call-arg]
        return self._parts[key]

    def recipe(self, packed: str) -> Mapping[str, Any]:
        """A recipe of its JSON."""
        if packed not in self._recipes:
            self._recipes[packed] = MappingProxyType(dict(mapping(unpack(parse(packed)))))
        return self._recipes[packed]


def pack_record(record: Any) -> Any:
    """A record as strict JSON."""
    kind = type(record)
    if kind in LAYOUTS:
        return LAYOUTS[kind].pack(record)
    told = _pack_fields(record)
    return list(told.values()) if kind in LISTS else told


def unpack_record(kind: Any, packed: Any, pool: Pool) -> Any:
    """The inverse of ``pack_record``; raises anything where ``packed`` is not what was written."""
    if kind in LAYOUTS:
        return LAYOUTS[kind].unpack(packed, pool)
    codecs = codecs_of(kind)
    told = dict(zip(codecs, packed, strict=True)) if kind in LISTS else packed
    return _make(kind, {name: codec.unpack(told[name], pool) for name, codec in codecs.items()})


def _pack_fields(record: Any, without: Collection[str] = ()) -> dict[str, Any]:
    kind: Any = type(record)
    codecs = codecs_of(kind).items()
    return {name: codec.pack(getattr(record, name)) for name, codec in codecs if name not in without}


def _make(kind: Any, values: dict[str, Any]) -> Any:
    """A record whose fields fit each other; a function of the record's own was not kept."""
    sizes: dict[str, int] = {}
    for name, letters in sorted(SHAPES.get(kind, {}).items(), key=lambda shape: len(shape[1])):  # one length first
        value = values[name]
        if type(value) is tuple and (value or letters[0] != "?"):
            match_shape((len(value),), letters[-1], sizes)
        elif type(value) is CsrArrays:
            values[name] = _locked_matrix(value, (sizes[letters[0]], sizes[letters[1]]))
        elif type(value) is np.ndarray:
            if value.shape == (0,) and len(letters) > 1:  # no lists in a list
                values[name] = value = value.reshape(
                    [int(c) if c.isdigit() else sizes.get(c, -1) for c in letters]
                )
            match_shape(value.shape, letters, sizes)
    found = kind(**values, **dict.fromkeys(hints_of(kind).keys() - codecs_of(kind).keys(), _refuse_call))
    if kind in CHECKS and not CHECKS[kind](found):
        raise ValueError(f"the numbers of this {kind.__name__} do not fit each other")
    return found


def match_shape(shape: Sequence[int], letters: str, sizes: dict[str, int]) -> None:
    """Raise unless a shape is as ``letters`` say: a digit is a length, and equal letters are equal lengths."""
    fits = len(shape) == len(letters)
    for n, letter in zip(shape, letters, strict=False):
        fits &= n == (int(letter) if letter.isdigit() else sizes.setdefault(letter, n))
    if not fits:
        raise ValueError(f"the shape {tuple(shape)} does not fit ({', '.join(letters)}) with {sizes}")


def _refuse_call(*given: Any) -> float:
    raise InputError("a metric that was loaded from a file cannot measure: evaluate again with the metric itself")


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    """The type of each field of a record, in order."""
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)] if is_dataclass(kind) else list(hints)
    return {name: HINTS.get((kind, name), hints[name]) for name in names}


@cache
def codecs_of(kind: Any) -> dict[str, Codec]:
    """How each field of a record is written and read; functions are not."""
    return {name: codec_of(hint) for name, hint in hints_of(kind).items() if get_origin(hint) is not Callable}


def codec_of(hint: Any) -> Codec:
    """How values of a type are written and read."""
    if hint in CODECS:
        return CODECS[hint]
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        own = [each for each in inside if each is not NoneType]
        return _optional(codec_of(own[0])) if len(own) == 1 else CODECS[Any]
    if origin is tuple:
        return _list_of(codec_of(inside[0])) if inside[-1] is Ellipsis else _pair_of([*map(codec_of, inside)])
    if origin is Mapping:
        return _mapping_of(codec_of(inside[1]))
    if getattr(origin, "__name__", "") == "NDArray":  # an alias of its own from NumPy 2.5 on
        return CODECS[inside[0]]
    if origin is np.ndarray:
        return CODECS[get_args(inside[1])[0]]
    if is_dataclass(hint) or hint in LISTS:
        return Codec(pack_record, partial(unpack_record, hint))
    raise TypeError(f"a file cannot hold fields of the type {hint}: name another in HINTS")


def _optional(inner: Codec) -> Codec:
    return Codec(
        lambda value: None if value is None else inner.pack(value),
        lambda packed, pool: None if packed is None else inner.unpack(packed, pool),
    )


def _list_of(inner: Codec) -> Codec:
    return Codec(
        lambda values: [inner.pack(value) for value in values],
        lambda packed, pool: tuple([inner.unpack(each, pool) for each in sequence(packed)]),
    )


def _pair_of(inner: Sequence[Codec]) -> Codec:
    return Codec(
        lambda values: [codec.pack(value) for codec, value in zip(inner, values, strict=True)],
        lambda packed, pool: tuple(
            codec.unpack(each, pool) for codec, each in zip(inner, sequence(packed), strict=True)
        ),
    )


def _mapping_of(inner: Codec) -> Codec:
    return Codec(
        lambda values: {name: inner.pack(value) for name, value in values.items()},
        lambda packed, pool: {pool.text(name): inner.unpack(each, pool) for name, each in mapping(packed).items()},
    )


def pack_target(target: Any) -> Any:
    """A target as strict JSON: a text is itself, any other class and a position have a tag."""
    if isinstance(target, Output):
        return {"output": int(target)}
    return target if type(target) is str else {"class": pack(target)}


def unpack_target(packed: Any, pool: Pool) -> Any:
    """The inverse of ``pack_target``."""
    if isinstance(packed, str):
        return pool.text(packed)
    (tag,) = packed
    return Output(packed["output"]) if tag == "output" else unpack(packed["class"])


def _pack_side(side: Any) -> Any:
    """One of two sides of a difference: an explanation, or a list of them."""
    if not isinstance(side, (Explanation, Explanations)):
        raise InputError(
            "this difference is of a store, whose explanations are in its folder: save it as .csv, .html or a "
            "picture, and keep the folder"
        )
    return pack_record(side) if isinstance(side, Explanation) else [pack_record(e) for e in side]


def _unpack_side(packed: Any, pool: Pool) -> Explanation | Explanations:
    if not isinstance(packed, list):
        return unpack_explanation(packed, pool)
    return Explanations(tuple(unpack_explanation(each, pool) for each in packed))


class CsrArrays(NamedTuple):
    """A sparse matrix whose shape other fields tell."""

    data: Any
    indices: Any
    indptr: Any


def _locked_matrix(arrays: CsrArrays, shape: tuple[int, ...]) -> csr_matrix:
    found = sparse(arrays, shape)
    for array in (found.data, found.indices, found.indptr):
        array.flags.writeable = False
    return found


def _unpack_csr(packed: Any, pool: Pool) -> CsrArrays:
    ends, columns = (whole(packed[key]).astype(np.int32) for key in ("indptr", "indices"))
    return CsrArrays(floats(packed["data"]), columns, ends)


CODECS: dict[Any, Codec] = {
    Any: Codec(pack, lambda packed, pool: unpack(packed)),
    str: Codec(lambda value: value, lambda packed, pool: pool.text(packed)),
    bool: Codec(bool, lambda packed, pool: packed is True),
    int: Codec(int, lambda packed, pool: check_count(packed)),
    float: Codec(lambda value: finite(float(value)), lambda packed, pool: float(packed)),
    np.float64: Codec(numbers, lambda packed, pool: floats(packed)),  # an array of such numbers
    np.int64: Codec(numbers, lambda packed, pool: whole(packed)),
    csr_matrix: Codec(lambda m: {key: numbers(getattr(m, key)) for key in CsrArrays._fields}, _unpack_csr),
    Mapping[str, Any]: Codec(pack, lambda packed, pool: pool.recipe(json.dumps(packed))),
    View: Codec(pack_view, lambda packed, pool: check_view(unpack_view(packed))),
    Side: Codec(_pack_side, _unpack_side),
    Target: Codec(pack_target, unpack_target),
    Map: Codec(pack_view, lambda packed, pool: check_map(unpack_view(packed))),
    Samples: Codec(pack_view, lambda packed, pool: check_sounds(unpack_view(packed))),
    Packed: Codec(pack_view, lambda packed, pool: floats(unpack_view(packed))),
    Assigning: Codec(lambda value: pack_object(value), lambda packed, pool: unpack_object(packed)),
}

# Explanations, verdicts and results: their keys are not their fields.
TEXTS = {"names": "name", "columns": "column", "relations": "relation"}  # of the parts
JUDGMENT = ("passed", "observed", "expected", "sentence", "label", "advice")  # what every verdict has
FACTS = (  # keys of an explanation that are one value each, those of its verdict among them
    *("target", "intercept", "prediction", "local_prediction", "fidelity", "effective_size", "top_probability"),
    *("n_calls", "top_k", *JUDGMENT, "unsettled", "notes", "path", "purpose", "scale", "positions", "doubtful"),
)
ARRAYS = ("weights", "low", "high")  # lists of numbers, one entry per part
LOCAL = (
    "growth",
    "chosen",
    "output_range",
    "probabilities",
    "curves",
    "pairs",
)  # of a local model, beside its weights
LOG_WEIGHTS = (
    "log_odds"  # weights and intervals (d, 3) on log-odds: those beside them are on the scale of the outputs
)
KEYS = (*FACTS, *TEXTS, "values", *ARRAYS, "recipe", "view", "findings", "map", "row", "own", "local_model")
MADE = frozenset(
    {"parts", "weights", "intervals", "recipe", "verdict", "values", "changes", *LOCAL}
)  # fields with other keys


def _pack_explanation(e: Explanation) -> dict[str, Any]:
    flat = {
        **_pack_fields(e, MADE),
        **_pack_verdict(e.verdict),
        **{key: [getattr(part, name) for part in e.parts] for key, name in TEXTS.items()},
        "values": [pack(part.value) for part in e.parts],
        **{key: numbers(array) for key, array in zip(ARRAYS, (e.on_outputs[0], *e.on_outputs[1].T), strict=True)},
        "recipe": pack(e.recipe),
        "own": [pack(value) for value in e.values],
        "local_model": pack_local(e),
    }
    return {key: flat[key] for key in KEYS}


def pack_local(e: Explanation) -> dict[str, Any]:
    """What the local model of an explanation has beside weights, without what is empty."""
    codecs = codecs_of(Explanation)
    held = {key: getattr(e, key) for key in LOCAL}
    packed = {key: codecs[key].pack(value) for key, value in held.items() if value}
    if e.changes is not None:
        packed[LOG_WEIGHTS] = numbers(np.column_stack([e.weights, e.intervals]))
    return packed


def unpack_explanation(packed: Any, pool: Pool) -> Explanation:
    """The inverse of ``pack_record`` of an explanation."""
    texts = zip(*(packed[key] for key in TEXTS), map(json.dumps, packed["values"]), strict=True)
    parts, recipe = tuple(pool.part(*entry) for entry in texts), pool.recipe(json.dumps(packed["recipe"]))
    weights, low, high = (floats(packed[key]) for key in ARRAYS)
    return assemble(packed, parts, weights, np.stack([low, high], axis=1), recipe, pool)


def assemble(
    row: Mapping[str, Any],
    parts: tuple[Part, ...],
    weights: Floats,
    intervals: Floats,
    recipe: Mapping[str, Any],
    pool: Pool,
) -> Explanation:
    """An explanation whose parts, arrays and recipe are made; the rest is packed."""
    made: dict[str, Any] = {"parts": parts, "weights": weights, "intervals": intervals, "recipe": recipe}
    for name, codec in codecs_of(Explanation).items():
        if name not in MADE:
            made[name] = codec.unpack(row[name], pool)
    local, codecs = dict(mapping(row["local_model"])), codecs_of(Explanation)
    if LOG_WEIGHTS in local:
        own = floats(local.pop(LOG_WEIGHTS))
        if own.shape != (len(parts), 3):
            raise ValueError("a local model has weights of another shape")
        made |= {"weights": own[:, 0], "intervals": own[:, 1:], "changes": np.column_stack([weights, intervals])}
    if not local.keys() <= set(LOCAL):
        raise ValueError("a local model has other keys")
    made |= {key: codecs[key].unpack(value, pool) for key, value in local.items()}
    made |= {"verdict": _unpack_verdict(row, pool), "values": tuple(map(unpack, row["own"]))}
    found: Explanation = _make(Explanation, made)
    return found


def _pack_verdict(v: Verdict) -> dict[str, Any]:
    """What every verdict has, and the findings of a check."""
    codecs = codecs_of(Verdict)
    judgment = {key: codecs[key].pack(getattr(v, key)) for key in JUDGMENT}
    return {**judgment, "findings": pack_findings(v)}


def pack_findings(v: Verdict) -> dict[str, Any] | None:
    """What the verdict of a check has besides; none for that of an explanation."""
    if any((v.check, v.method, v.nulls, v.measures, v.evidence, v.rows, v.notes)) or not all(
        map(math.isnan, v.interval)
    ):
        return _pack_fields(v, JUDGMENT)
    return None


def _unpack_verdict(packed: Any, pool: Pool) -> Verdict:
    codecs = codecs_of(Verdict)
    names = JUDGMENT if packed["findings"] is None else codecs
    told = {**(packed["findings"] or {}), **{key: packed[key] for key in JUDGMENT}}
    return Verdict(**{name: codecs[name].unpack(told[name], pool) for name in names})


def _pack_result(r: Result) -> dict[str, Any]:
    told = {"check": r.check, "method": r.method, "outcome": r.outcome, **_pack_fields(r)}
    del told["broken"]
    return told


def _unpack_result(packed: Any, pool: Pool) -> Result:
    codecs, outcome = codecs_of(Result), packed["outcome"]
    told = {**packed, "broken": outcome == "error"}
    found = Result(**{name: codec.unpack(told[name], pool) for name, codec in codecs.items()})
    if found.outcome != outcome:
        raise ValueError(f"the outcome {outcome!r} does not fit the verdict")
    return found


LAYOUTS: dict[type, Codec] = {
    Explanation: Codec(_pack_explanation, unpack_explanation),
    Verdict: Codec(_pack_verdict, _unpack_verdict),
    Result: Codec(_pack_result, _unpack_result),
}


def _has_all_scores(r: Report) -> bool:
    wanted = {(m.name, row) for m in r.metrics for row in r.rows}
    one_each = {(s.metric, s.method) for s in r.scores} == wanted
    return one_each and {s.values.shape for s in r.scores} <= {(r.n_instances,)}


def _fits_parts(e: Explanation) -> bool:
    """Whether view, curves and pairs are those of as many parts."""
    d, sizes = len(e.parts), {curve.part: len(curve.values) + 1 for curve in e.curves}
    pairs = [(pair.effects.shape, pair.parts) for pair in e.pairs]
    return (
        check_view(e.view, d) is e.view
        and e.scale in (IDENTITY, LOG_ODDS)
        and len(sizes) == len(e.curves)
        and all(
            0 <= part < d for part in (*sizes, *e.chosen, *e.doubtful, *(j for _, parts in pairs for j in parts))
        )
        and all(shape == tuple(sizes.get(j, 2) for j in parts) for shape, parts in pairs)
        and len(e.positions) in (0, d)
        and len(e.output_range) in (0, 2)
        and math.isfinite(e.growth)
    )


CHECKS: dict[type, Callable[[Any], bool]] = {  # beyond the lengths
    Explanation: _fits_parts,
    Membership: lambda m: 0 <= m.group < len(m.probabilities),
    Pick: lambda p: bool(np.isfinite(p.weights.data).all()),
    Report: _has_all_scores,
    Flips: lambda f: all(item.changes.keys() == item.values.keys() for item in f.items),
    Drift: lambda d: set(d.kinds) <= set(ORDER) and bool(np.isfinite(d.values).all()),
    Difference: lambda d: len(d.changes) == (len(d.first) if isinstance(d.first, Explanations) else 1),
}


# Views and maps: what a picture is drawn from must be what ``records.View`` says.
FASTEST = 10**8  # samples a second that a recording may have
FRAME = 2**16  # samples of a frame of a front end
VIEWS: dict[str, dict[str, tuple[str, str]]] = {  # of a view: kinds of their numbers (B: bytes), and their shapes
    "text": {"spans": ("iu", "m3")},
    "picture": {"pixels": ("B", "fhw3"), "labels": ("iu", "fhw")},
    "sound": {"samples": ("iuf", "n"), "bounds": ("iuf", "d4"), "stems?": ("iuf", "dn")},
    "spectrogram": {
        **{"levels": ("B", "bt"), "labels": ("iu", "bt"), "bounds?": ("iuf", "d4")},
        **{"samples?": ("iuf", "n"), "values?": ("f", "bt")},
    },
    "series": {"values": ("iuf", "tc"), "labels?": ("iu", "tc")},
}


def check_view(view: Any, n_parts: int | None = None) -> View | None:
    """The view of an instance with so many parts, if it can be drawn; a kind that is not known is never drawn.

    Of some views it is not known here how many parts there are.
    """
    if view is None:
        return None
    if not isinstance(view, View):
        raise TypeError(f"a view was wanted, {type(view).__name__} came")
    data, sizes = view.data, {} if n_parts is None else {"d": n_parts}
    for name, (kinds, letters) in VIEWS.get(view.kind, {}).items():
        value = data.get(name[:-1]) if name.endswith("?") else data[name]
        if value is not None or not name.endswith("?"):
            match_shape(_numbers_in(value, kinds).shape, letters, sizes)
    if view.kind in RULES and not RULES[view.kind](data, sizes):
        raise ValueError(f"what the view of a {view.kind} is drawn from does not fit together")
    return view


def _numbers_in(value: Any, kinds: str) -> Any:
    found = np.asarray(value)
    if found.dtype.kind not in kinds and found.dtype.char not in kinds:
        raise TypeError(f"an array of numbers was wanted, not of {found.dtype}")
    return found


def _is_rate(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, (int, float)) and 0 <= value <= FASTEST


def _are_texts(value: Any, n: int) -> bool:
    """Whether a value is n texts, or none at all."""
    if value is None or (isinstance(value, (list, tuple)) and not value):
        return True
    return isinstance(value, (list, tuple)) and len(value) == n and all(isinstance(each, str) for each in value)


def _fits_spectrogram(data: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
    if (data.get("samples") is not None or data.get("rate") is not None) and not (
        _is_rate(data["rate"]) and data["samples"] is not None
    ):
        return False
    if data.get("front") is not None:
        front = Mel(**data["front"])
        small = max(front.n_fft, front.hop) <= FRAME and front.rate <= FASTEST
        if front.n_mels != sizes["b"] or not small or data["values"] is None:
            return False
    told = data.get("unit", "")
    return sizes["b"] * sizes["t"] > 0 and (isinstance(told, str) or _are_texts(told, 2))


def _fits_series(data: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
    step = data.get("step", 1)
    named = data["channels"] is not None and _are_texts(data["channels"], sizes["c"])
    return type(step) is int and 1 <= step <= FASTEST and sizes["t"] * sizes["c"] > 0 and named


def _fits_fields(data: Mapping[str, Any], sizes: Mapping[str, int]) -> bool:
    for name, (first, count, inner) in data["fields"].items():
        whole = all(type(each) is int and each >= 0 for each in (first, count))
        if not isinstance(name, str) or not whole or first + count > sizes.get("d", math.inf):
            return False
        if not isinstance(inner, str):
            check_view(inner, count)
    return True


RULES: dict[str, Callable[[Mapping[str, Any], Mapping[str, int]], bool]] = {  # beyond the shapes of the arrays
    "text": lambda data, sizes: isinstance(data["text"], str),
    "picture": lambda data, n: n["f"] * n["h"] * n["w"] > 0 and _are_texts(data.get("titles"), n["f"]),
    "sound": lambda data, sizes: _is_rate(data["rate"]),
    "spectrogram": _fits_spectrogram,
    "series": _fits_series,
    "fields": _fits_fields,
}


def check_map(value: Any) -> Any:
    """The map of an explanation: nothing, an array of numbers, or several by name or in order."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    for each in inner:
        check_map(each)
    plain = isinstance(value, (int, float, Mapping, list, tuple, type(None)))
    if not plain and not (isinstance(value, np.ndarray) and value.dtype.kind in "biuf"):
        raise TypeError(f"an array of numbers was wanted, {type(value).__name__} came")
    return value


def check_sounds(value: Any) -> Any:
    """Samples before and after a change, and their rate; or none."""
    if value is not None:
        before, after, rate = value
        if not _is_rate(rate) or any(_numbers_in(samples, "iuf").ndim != 1 for samples in (before, after)):
            raise ValueError("a recording has samples, and a rate")
    return value


# What assigns instances to groups: settings, columns and gates of veridical's own, every kind with a tag.
KNOWN: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(Binned, Coded, NumberLine, Normal, Schema, TableSpace, MaskSpace, Words),
        *(Centers, TreeGate, Nearest, Overlap, Size, Softmax, Sphere),
    )
}
SCALARS = (
    *(bool, int, float, str, np.bool_, np.integer, np.floating, pd.Timestamp),
    *(kind for kind, _, _ in RARE.values()),
)
PICKLE = "which a file cannot hold: save it as .html to read it, or pickle it to use it again"


def pack_object(value: Any) -> Any:
    """An object as strict JSON, every kind with a tag of its own; what is the caller's own is refused."""
    if value is None or value is pd.NaT or isinstance(value, SCALARS):
        return {"of": pack(value)}
    for kind, (is_kind, written, _) in OBJECTS.items():
        if is_kind(value):
            return {kind: written(value)}
    name = getattr(value, "__qualname__", type(value).__name__)
    raise InputError(f"these groups are told by {name}, {PICKLE}")


def unpack_object(packed: Mapping[str, Any]) -> Any:
    """The inverse of ``pack_object``."""
    ((kind, content),) = packed.items()
    return unpack(content) if kind == "of" else OBJECTS[kind][2](content)


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


def _sparse_rows(names: Any) -> Rows:
    found = unpack_object(names)
    return Rows(csr_matrix((1, len(found))), names=found)


Kind = tuple[Callable[[Any], bool], Callable[[Any], Any], Callable[[Any], Any]]
OBJECTS: dict[str, Kind] = {  # by tag: what it is for, how it is written, and how it is read
    "part": (lambda v: isinstance(v, Part), pack_record, lambda packed: unpack_record(Part, packed, Pool())),
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
    "array": (lambda v: isinstance(v, np.ndarray) and v.dtype.kind in PLAIN, pack_view, unpack_view),
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
        lambda v: isinstance(v, TableBackground),
        lambda b: [pack_object(each) for each in (b.schema, b.columns, b.usual, b.fixed, b.n_rows)],
        lambda packed: TableBackground(*map(unpack_object, packed)),
    ),
    "sparse rows": (
        lambda v: isinstance(v, Rows) and v.sparse,
        lambda v: pack_object(tuple(v.names)),
        _sparse_rows,
    ),
}
