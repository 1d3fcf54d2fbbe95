"""A Difference as lists of numbers and texts, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.evaluate.differences import Difference
from veridical.packing.explanations import Pool, pack_explanation, pack_verdict
from veridical.packing.objects import pack_part, unpack_part
from veridical.packing.values import floats, numbers, text, whole
from veridical.records import Explanation, Explanations

SIDES = ("first", "second")


def pack_difference(d: Difference) -> dict[str, Any]:
    """A Difference as strict JSON, with both explanations in it, or all of them."""
    return {
        **{side: _pack_side(getattr(d, side)) for side in SIDES},
        "titles": list(d.titles),
        "parts": [pack_part(part) for part in d.parts],
        **{key: numbers(getattr(d, key)) for key in ("weights", "intervals", "p", "counts", "changes")},
        "verdict": pack_verdict(d.verdict),
        "notes": list(d.notes),
    }


def _pack_side(side: Any) -> Any:
    if not isinstance(side, (Explanation, Explanations)):
        raise InputError(
            "this difference is of a store, whose explanations are in its folder: save it as .csv, .html or a "
            "picture, and keep the folder"
        )
    return pack_explanation(side) if isinstance(side, Explanation) else [pack_explanation(e) for e in side]


def unpack_difference(body: Mapping[str, Any]) -> Difference:
    """The inverse of ``pack_difference``."""
    pool = Pool()
    first, second = (_side(body[side], pool) for side in SIDES)
    parts = tuple(map(unpack_part, body["parts"]))
    one, other = map(text, body["titles"])
    found = Difference(
        first,
        second,
        (one, other),
        parts,
        floats(body["weights"]).reshape(-1, 2),
        floats(body["intervals"]).reshape(-1, 2),
        floats(body["p"]),
        whole(body["counts"]),
        floats(body["changes"]),
        pool.verdict(body["verdict"]),
        tuple(map(text, body["notes"])),
    )
    n = len(first) if isinstance(first, Explanations) else 1
    by_part = (found.weights, found.intervals, found.p, found.counts)
    if {len(a) for a in by_part} != {len(parts)} or np.shape(found.changes) != (n,):
        raise ValueError(f"{len(parts)} parts and {n} rows, but lists of other lengths")
    return found


def _side(body: Any, pool: Pool) -> Explanation | Explanations:
    return Explanations(tuple(map(pool.explanation, body))) if isinstance(body, list) else pool.explanation(body)
