"""Values as strict JSON and back, bit for bit: what JSON does not know gets a tag.

A View has its own pair of functions: its arrays need tags that a recipe in an older file may use as names.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from veridical.errors import InputError
from veridical.records import View

STRICT = json.JSONEncoder(allow_nan=False)
TAGS = frozenset({"float", "tuple", "timestamp", "mapping", "value"})
AS_IT_IS = frozenset({bool, int, str, type(None)})
PLAIN = "biufcmMSU"  # kinds of arrays whose bytes are their values


def pack(value: Any) -> Any:
    """A value as strict JSON: what JSON does not know gets a tag, or becomes its str."""
    if type(value) in AS_IT_IS:
        return value
    for kind, numpy in ((bool, np.bool_), (int, np.integer), (str, np.str_)):
        if isinstance(value, (kind, numpy)):
            return kind(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, (list, tuple)):
        packed_list = [pack(v) for v in value]
        return packed_list if isinstance(value, list) else {"tuple": packed_list}
    if isinstance(value, Mapping):
        packed = {str(k): pack(v) for k, v in value.items()}
        return {"mapping": packed} if TAGS & packed.keys() else packed
    if isinstance(value, pd.Timestamp):
        zone = {} if value.tz is None else {"zone": str(value.tz)}
        return {"timestamp": value.isoformat(), "unit": value.unit, **zone}
    if value is pd.NaT:
        return {"timestamp": "NaT"}
    for name, (known, written, _) in RARE.items():
        if type(value) is known:
            return {"value": name, "of": written(value)}
    return str(value)


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
    if value.keys() == {"value", "of"} and value["value"] in RARE:
        return RARE[value["value"]][2](value["of"])
    return {k: unpack(v) for k, v in value.get("mapping", value).items()}


def _ticks(value: pd.Timedelta) -> list[Any]:
    return [int(value.to_numpy().astype(np.int64)), value.unit]


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
    "date": (date, lambda v: v.isoformat(), date.fromisoformat),
}


def encode(value: Any) -> str:
    """``pack`` as text; the common cases are quick, for there may be millions."""
    if type(value) is float and math.isfinite(value):
        return repr(value)
    if type(value) is tuple and {type(v) for v in value} == {float} and math.isfinite(sum(value)):
        return f'{{"tuple": {list(value)!r}}}'
    return STRICT.encode(value if type(value) is str else pack(value))


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
    return np.array(values, dtype=np.int64)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text was wanted, {value!r} came")
    return value
