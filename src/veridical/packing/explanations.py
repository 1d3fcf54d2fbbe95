"""Explanations and verdicts as strict JSON, and back; what repeats in a file becomes one object."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from veridical.packing.values import (
    counted,
    finite,
    floats,
    mapping,
    numbers,
    pack,
    pack_view,
    parse,
    unpack,
    unpack_view,
)
from veridical.packing.views import check_map, check_view
from veridical.records import Explanation, Failure, Measured, Output, Part, Verdict

NUMBERS = ("intercept", "prediction", "local_prediction", "fidelity", "effective_size", "top_probability")
TEXTS = {"names": "name", "columns": "column", "relations": "relation"}  # of the parts
ARRAYS = ("weights", "low", "high")  # lists of numbers, one entry a part


def judgment(v: Verdict) -> dict[str, Any]:
    """What every verdict has, as plain values."""
    known = {"observed": float(v.observed), "expected": float(v.expected)}
    return {"passed": bool(v.passed), **known, "sentence": v.sentence}


def pack_verdict(v: Verdict) -> dict[str, Any]:
    """A Verdict as strict JSON."""
    return {**{key: finite(value) for key, value in judgment(v).items()}, "findings": pack_findings(v)}


def pack_findings(v: Verdict) -> dict[str, Any] | None:
    """What the verdict of a check has besides; none for that of an explanation."""
    found = v.nulls or v.measures or v.evidence or v.rows or v.notes
    if not (v.check or v.method or found) and all(map(math.isnan, v.interval)):
        return None
    return {
        "check": v.check,
        "method": v.method,
        "interval": numbers(v.interval),
        "nulls": _pack_nulls(v.nulls),
        "measures": [
            [m.name, *numbers((m.value, m.low, m.high)), int(m.n), _pack_nulls(m.nulls)] for m in v.measures
        ],
        "evidence": [pack_explanation(e) for e in v.evidence],
        "rows": [int(row) for row in v.rows],
        "notes": list(v.notes),
    }


def pack_target(target: Any) -> Any:
    """A target as strict JSON: a text is itself, any other class and a position have a tag."""
    if isinstance(target, Output):
        return {"output": int(target)}
    return target if type(target) is str else {"class": pack(target)}


def unpack_target(value: Any) -> Any:
    """The inverse of ``pack_target``; in older files a whole number is a position."""
    if isinstance(value, Mapping) and value.keys() == {"class"}:
        return unpack(value["class"])
    if isinstance(value, Mapping) and value.keys() == {"output"}:
        value = value["output"]
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return value if isinstance(value, str) else Output(value)
    raise TypeError(f"a target was wanted, {value!r} came")


def _pack_nulls(nulls: Mapping[str, float]) -> dict[str, Any]:
    return {name: finite(float(value)) for name, value in nulls.items()}


FACTS: dict[str, Callable[[Explanation], Any]] = {
    "target": lambda e: pack_target(e.target),
    **{name: lambda e, name=name: float(getattr(e, name)) for name in NUMBERS},  # type: ignore[misc]
    "n_calls": lambda e: int(e.n_calls),
    "top_k": lambda e: int(e.top_k),
    "passed": lambda e: bool(e.verdict.passed),
    "observed": lambda e: float(e.verdict.observed),
    "expected": lambda e: float(e.verdict.expected),
    "sentence": lambda e: e.verdict.sentence,
    "unsettled": lambda e: [list(group) for group in e.unsettled],
    "notes": lambda e: list(e.notes),
    "path": lambda e: list(e.path),
    "purpose": lambda e: e.purpose,
}  # all but parts, recipe, view and map; what every verdict has stands among the others


def pack_explanation(e: Explanation) -> dict[str, Any]:
    """An Explanation as strict JSON."""
    arrays = (e.weights, e.intervals[:, 0], e.intervals[:, 1])
    return {
        **{key: finite(read(e)) for key, read in FACTS.items()},
        **{key: [getattr(p, name) for p in e.parts] for key, name in TEXTS.items()},
        "values": [pack(p.value) for p in e.parts],
        **{key: numbers(array) for key, array in zip(ARRAYS, arrays, strict=True)},
        "recipe": pack(e.recipe),
        "view": pack_view(e.view),
        "findings": pack_findings(e.verdict),
        "map": pack_view(e.map),
        "row": pack(e.row),
        "own": [pack(value) for value in e.values],
    }


def pack_failures(failures: Sequence[Failure]) -> list[Any]:
    """Rows without an explanation, as strict JSON."""
    return [[pack(f.row), int(f.number), f.error] for f in failures]


class Pool:
    """Equal texts, parts and recipes of one file become one object."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._parts: dict[tuple[str, ...], Part] = {}
        self._recipes: dict[str, Mapping[str, Any]] = {}

    def text(self, value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError(f"text was wanted, {value!r} came")
        return self._texts.setdefault(value, value)

    def texts(self, values: Sequence[Any]) -> tuple[str, ...]:
        return tuple(self.text(v) for v in values)

    def target(self, value: Any) -> Any:
        """The inverse of ``pack_target``; in older files a whole number is a position."""
        return self.text(value) if isinstance(value, str) else unpack_target(value)

    def part(self, name: str, column: str, relation: str, value: str) -> Part:
        key = (name, column, relation, value)
        if key not in self._parts:
            self._parts[key] = Part(*self.texts(key[:3]), unpack(parse(value)))  # type: ignore[call-arg]
        return self._parts[key]

    def failures(self, packed: Any) -> tuple[Failure, ...]:
        """The inverse of ``pack_failures``."""
        return tuple(Failure(unpack(row), counted(number), self.text(error)) for row, number, error in packed)

    def recipe(self, text: str) -> Mapping[str, Any]:
        if text not in self._recipes:
            self._recipes[text] = MappingProxyType(dict(mapping(unpack(parse(text)))))
        return self._recipes[text]

    def verdict(self, body: Mapping[str, Any]) -> Verdict:
        """The inverse of ``pack_verdict``; older files know no findings."""
        known = float(body["observed"]), float(body["expected"])
        more, passed, sentence = body.get("findings"), body["passed"] is True, self.text(body["sentence"])
        if more is None:
            return Verdict(passed, *known, sentence)
        low, high = more["interval"]
        return Verdict(
            passed,
            *known,
            sentence,
            self.text(more["check"]),
            self.text(more["method"]),
            (float(low), float(high)),
            self._nulls(more["nulls"]),
            tuple(map(self._measured, more["measures"])),
            tuple(map(self.explanation, more["evidence"])),
            tuple(counted(row) for row in more["rows"]),
            self.texts(more["notes"]),
        )

    def _nulls(self, packed: Mapping[str, Any]) -> dict[str, float]:
        return {self.text(name): float(value) for name, value in packed.items()}

    def _measured(self, entry: Any) -> Measured:
        name, value, low, high, n, nulls = entry
        return Measured(self.text(name), float(value), float(low), float(high), counted(n), self._nulls(nulls))

    def explanation(self, body: Mapping[str, Any]) -> Explanation:
        """The inverse of ``pack_explanation``."""
        texts = zip(*(body[key] for key in TEXTS), map(json.dumps, body["values"]), strict=True)
        weights, low, high = (floats(body[key]) for key in ARRAYS)
        arrays = {"weights": weights, "intervals": np.stack([low, high], axis=1)}
        parts, recipe = tuple(self.part(*entry) for entry in texts), json.dumps(body["recipe"])
        return self.assembled({**body, **arrays, "parts": parts, "recipe": recipe})

    def assembled(self, found: Mapping[str, Any]) -> Explanation:
        """An explanation whose parts and arrays are made."""
        parts, weights, intervals = found["parts"], found["weights"], found["intervals"]
        if weights.shape != (len(parts),) or intervals.shape != (len(parts), 2):
            raise ValueError(f"{len(parts)} parts, but {weights.size} weights")
        values = tuple(map(unpack, found.get("own", ())))
        if values and len(values) != len(parts):
            raise ValueError(f"{len(parts)} parts, but {len(values)} values of the row's own")
        return Explanation(
            parts,
            weights,
            intervals,
            **{name: float(found[name]) for name in NUMBERS},
            n_calls=counted(found["n_calls"]),
            target=self.target(found["target"]),
            top_k=counted(found["top_k"]),
            unsettled=tuple(self.texts(group) for group in found["unsettled"]),
            verdict=self.verdict(found),
            recipe=self.recipe(found["recipe"]),
            notes=self.texts(found["notes"]),
            path=self.texts(found["path"]),
            view=check_view(unpack_view(found.get("view")), len(parts)),
            map=check_map(unpack_view(found.get("map"))),
            purpose=self.text(found.get("purpose", "content")),
            row=unpack(found.get("row")),
            values=values,
        )
