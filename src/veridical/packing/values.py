"""Values as strict JSON and back, bit for bit: what JSON does not know gets a tag.

A View has its own pair of functions: its arrays need tags that a recipe in an older file may use as names.
"""

from __future__ import annotations

import base64
import json
import math
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from veridical.errors import InputError
from veridical.packing.limits import count, spend
from veridical.records import View

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
        return _pack_mapping(value)
    if isinstance(value, pd.Timestamp):
        return _pack_timestamp(value)
    if value is pd.NaT:
        return {"timestamp": "NaT"}
    if isinstance(value, np.complexfloating):
        return pack(complex(value))
    for base in kind.__mro__:
        if base in BY_TYPE:
            name, written = BY_TYPE[base]
            return {"value": name, "of": written(value)}
    return str(value)


def _pack_mapping(value: Mapping[Any, Any]) -> Any:
    """Keys that are no texts are written as values, so that 1 and "1" stay apart."""
    if not all(isinstance(key, str) for key in value):
        return {"value": "mapping", "of": [[pack(key), pack(each)] for key, each in value.items()]}
    packed = {str(key): pack(each) for key, each in value.items()}
    return {"mapping": packed} if TAGS & packed.keys() else packed


def _pack_timestamp(value: pd.Timestamp) -> dict[str, Any]:
    zone = None if value.tz is None else zone_name(str(value.tz))
    return {"timestamp": value.isoformat(), "unit": value.unit, **({} if zone is None else {"zone": zone})}


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


def _ticks(value: pd.Timedelta) -> list[Any]:
    return [int(value.to_numpy().astype(np.int64)), value.unit]


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


def _from_base64(of: Any) -> bytes:
    return base64.b64decode(text(of), validate=True)


RARE: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = {  # type, how it is written, and read
    "timedelta": (pd.Timedelta, _ticks, lambda of: pd.Timedelta(np.timedelta64(*of))),
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
    "bytes": (bytes, lambda v: base64.b64encode(v).decode(), _from_base64),
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
        count(value.nbytes)
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
    n_rows, n_columns = (counted(each) for each in shape)
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


def counted(value: Any) -> int:
    """A whole number that an array of them can hold."""
    found = int(value)
    if not -(2**63) <= found < 2**63:
        raise OverflowError("a number of 64 bits was wanted")
    return found


def mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"a mapping was wanted, {type(value).__name__} came")
    return value


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text was wanted, {value!r} came")
    return value
