"""A Pick as lists of numbers and texts, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from veridical.packing.explanations import pack_target, unpack_target
from veridical.packing.objects import pack_part, unpack_part
from veridical.packing.values import (
    counted,
    finite,
    floats,
    numbers,
    pack,
    pack_view,
    sparse,
    text,
    unpack,
    unpack_view,
    whole,
)
from veridical.packing.views import check_view
from veridical.summarize.records import Concept, Pick


def pack_pick(p: Pick) -> dict[str, Any]:
    """A Pick as strict JSON: its matrix by the rules of CSR."""
    return {
        **{key: numbers(getattr(p, key)) for key in ("chosen", "coverage", "importance", "random")},
        "total": finite(float(p.total)),
        "n": int(p.n),
        "names": list(p.names),
        "parts": [pack_part(part) for part in p.parts],
        "targets": list(map(pack_target, p.targets)),
        "chosen_targets": list(map(pack_target, p.chosen_targets)),
        "weights": {key: numbers(getattr(p.weights, key)) for key in ("data", "indices", "indptr")},
        "concepts": [
            {"name": c.name, "members": c.members.tolist(), "typical": list(c.typical), "view": pack_view(c.view)}
            for c in p.concepts
        ],
        "notes": list(p.notes),
        "second": None if p.second is None else pack_pick(p.second),
        "rows": [pack(row) for row in p.rows],
    }


def unpack_pick(body: Mapping[str, Any]) -> Pick:
    """The inverse of ``pack_pick``."""
    parts = tuple(map(unpack_part, body["parts"]))
    chosen, importance = whole(body["chosen"]), floats(body["importance"])
    shape, arrays = (len(chosen), len(parts)), body["weights"]
    rows = (floats(arrays["data"]), *(whole(arrays[key]).astype(np.int32) for key in ("indices", "indptr")))
    weights = sparse(rows, shape)
    for array in (weights.data, weights.indices, weights.indptr):
        array.flags.writeable = False
    found = Pick(
        chosen,
        floats(body["coverage"]),
        importance,
        float(body["total"]),
        tuple(map(text, body["names"])),
        parts,
        tuple(map(unpack_target, body["targets"])),
        weights,
        tuple(map(unpack_target, body["chosen_targets"])),
        counted(body["n"]),
        floats(body["random"]).reshape(-1, 2),
        tuple(map(_concept, body["concepts"])),
        tuple(map(text, body["notes"])),
        None if body["second"] is None else unpack_pick(body["second"]),
        tuple(map(unpack, body.get("rows", ()))),
    )
    if len(found.rows) not in (0, len(chosen)):
        raise ValueError(f"{len(chosen)} rows, but {len(found.rows)} names")
    by_row, by_part = (
        (found.coverage, found.random, found.chosen_targets),
        (importance, found.names, found.targets),
    )
    if {len(a) for a in by_row} != {shape[0]} or {len(a) for a in by_part} != {shape[1]}:
        raise ValueError(f"{shape[0]} rows and {shape[1]} parts, but lists of other lengths")
    return found


def _concept(body: Mapping[str, Any]) -> Concept:
    view = check_view(unpack_view(body["view"]), None)
    row, part = body["typical"]
    return Concept(text(body["name"]), whole(body["members"]).reshape(-1, 2), (counted(row), counted(part)), view)
