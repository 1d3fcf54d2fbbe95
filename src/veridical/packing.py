"""Values as strict JSON and back, bit for bit: what JSON does not know gets a tag.

A View has its own pair of functions: its arrays need tags that a recipe in an older file may use as names.
A Pick is lists of numbers and texts, and so is a Report; what a metric calls is not kept.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from veridical.errors import InputError
from veridical.evaluate.records import Comparison, Metric, Report, Score
from veridical.records import Part, Verdict, View
from veridical.summarize.records import Concept, Pick

STRICT = json.JSONEncoder(allow_nan=False)
TAGS = frozenset({"float", "tuple", "timestamp", "mapping"})
PLAIN = "biufcmMSU"  # kinds of arrays whose bytes are their values


def pack(value: Any) -> Any:
    """A value as strict JSON: what JSON does not know gets a tag, or becomes its str."""
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
    return None if value is None else str(value)


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
    return {k: unpack(v) for k, v in value.get("mapping", value).items()}


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


def judgment(v: Verdict) -> dict[str, Any]:
    """A Verdict as plain values."""
    numbers = {"observed": float(v.observed), "expected": float(v.expected)}
    return {"passed": bool(v.passed), **numbers, "sentence": v.sentence}


def pack_pick(p: Pick) -> dict[str, Any]:
    """A Pick as strict JSON: its matrix by the rules of CSR."""
    return {
        **{key: _numbers(getattr(p, key)) for key in ("chosen", "coverage", "importance", "random")},
        "total": finite(float(p.total)),
        "n": int(p.n),
        "names": list(p.names),
        "parts": [[part.name, part.column, part.relation, pack(part.value)] for part in p.parts],
        "targets": pack(list(p.targets)),
        "chosen_targets": pack(list(p.chosen_targets)),
        "weights": {key: _numbers(getattr(p.weights, key)) for key in ("data", "indices", "indptr")},
        "concepts": [
            {"name": c.name, "members": c.members.tolist(), "typical": list(c.typical), "view": pack_view(c.view)}
            for c in p.concepts
        ],
        "notes": list(p.notes),
        "second": None if p.second is None else pack_pick(p.second),
    }


def unpack_pick(body: Mapping[str, Any]) -> Pick:
    """The inverse of ``pack_pick``."""
    parts = tuple(Part(*map(_text, entry[:3]), unpack(entry[3])) for entry in body["parts"])  # type: ignore[call-arg]
    chosen, importance = _whole(body["chosen"]), _floats(body["importance"])
    shape, arrays = (len(chosen), len(parts)), body["weights"]
    rows = (_floats(arrays["data"]), *(_whole(arrays[key]).astype(np.int32) for key in ("indices", "indptr")))
    weights = csr_matrix(rows, shape=shape)
    weights.check_format(full_check=True)
    for array in (weights.data, weights.indices, weights.indptr):
        array.flags.writeable = False
    found = Pick(
        chosen,
        _floats(body["coverage"]),
        importance,
        float(body["total"]),
        tuple(map(_text, body["names"])),
        parts,
        tuple(unpack(body["targets"])),
        weights,
        tuple(unpack(body["chosen_targets"])),
        int(body["n"]),
        _floats(body["random"]).reshape(-1, 2),
        tuple(map(_concept, body["concepts"])),
        tuple(map(_text, body["notes"])),
        None if body["second"] is None else unpack_pick(body["second"]),
    )
    by_row, by_part = (
        (found.coverage, found.random, found.chosen_targets),
        (importance, found.names, found.targets),
    )
    if {len(a) for a in by_row} != {shape[0]} or {len(a) for a in by_part} != {shape[1]}:
        raise ValueError(f"{shape[0]} rows and {shape[1]} parts, but lists of other lengths")
    return found


def _concept(body: Mapping[str, Any]) -> Concept:
    view = unpack_view(body["view"])
    if not isinstance(view, View | None):
        raise TypeError(f"a view was wanted, {type(view).__name__} came")
    row, part = body["typical"]
    return Concept(_text(body["name"]), _whole(body["members"]).reshape(-1, 2), (int(row), int(part)), view)


def pack_report(r: Report) -> dict[str, Any]:
    """A Report as strict JSON: each score and each comparison is one list."""
    return {
        "title": r.title,
        "metrics": [[m.name, m.better, m.family, m.sentence, *_numbers((m.least, m.most))] for m in r.metrics],
        "methods": list(r.methods),
        "nulls": list(r.nulls),
        "scores": [
            [
                *(s.metric, s.method, _numbers(s.values), *_numbers((s.mean, s.low, s.high))),
                *(int(s.n), bool(s.null), s.reason),
            ]
            for s in r.scores
        ],
        "comparisons": [
            [c.metric, c.first, c.second, *_numbers((c.difference, c.low, c.high, c.p))] for c in r.comparisons
        ],
        "n_instances": int(r.n_instances),
        "n_calls": int(r.n_calls),
        "recipe": pack(r.recipe),
        "notes": list(r.notes),
    }


def unpack_report(body: Mapping[str, Any]) -> Report:
    """The inverse of ``pack_report``; its metrics can be read, but measure no more."""
    found = Report(
        _text(body["title"]),
        tuple(map(_metric, body["metrics"])),
        tuple(map(_text, body["methods"])),
        tuple(map(_text, body["nulls"])),
        tuple(map(_score, body["scores"])),
        tuple(map(_comparison, body["comparisons"])),
        int(body["n_instances"]),
        int(body["n_calls"]),
        unpack(body["recipe"]),
        tuple(map(_text, body["notes"])),
    )
    wanted = {(m.name, row) for m in found.metrics for row in (*found.methods, *found.nulls)}
    if {(s.metric, s.method) for s in found.scores} != wanted:
        raise ValueError("not one score for each metric and method")
    if {s.values.shape for s in found.scores} - {(found.n_instances,)}:
        raise ValueError(f"{found.n_instances} instances, but scores of another number")
    return found


def _metric(entry: Any) -> Metric:
    name, better, family, sentence, least, most = entry
    words = _text(better), _text(family), _text(sentence)
    return Metric(_text(name), _unkept, *words, least=float(least), most=float(most))


def _score(entry: Any) -> Score:
    metric, method, values, mean, low, high, n, null, reason = entry
    numbers = (float(mean), float(low), float(high))
    return Score(_text(metric), _text(method), _floats(values), *numbers, int(n), null is True, _text(reason))


def _comparison(entry: Any) -> Comparison:
    metric, first, second, difference, low, high, p = entry
    numbers = (float(difference), float(low), float(high), float(p))
    return Comparison(_text(metric), _text(first), _text(second), *numbers)


def _unkept(trial: Any, rng: Any) -> float:
    """In the place of a metric's function, once the report was saved."""
    raise InputError("a metric that was loaded from a file cannot measure: evaluate again with the metric itself")


def _numbers(array: Any) -> list[Any]:
    """An array as lists of what JSON can write."""
    return [_numbers(v) if isinstance(v, list) else finite(v) for v in np.asarray(array).tolist()]


def _floats(values: Any) -> Any:
    return np.array(values, dtype=np.float64)


def _whole(values: Any) -> Any:
    return np.array(values, dtype=np.int64)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text was wanted, {value!r} came")
    return value
