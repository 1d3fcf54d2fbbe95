"""Groupings and memberships as strict JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from veridical.packing.explanations import Pool, pack_target, pack_verdict
from veridical.packing.objects import pack_object, pack_part, unpack_object, unpack_part
from veridical.packing.values import counted, finite, floats, mapping, numbers, pack, text, unpack, whole
from veridical.summarize.records import Grouping, Membership, Region

ARRAYS = ("weights", "intercepts", "intervals", "fidelities")
NUMBERS = ("fidelity", "error", "ceiling")


def pack_grouping(g: Grouping) -> dict[str, Any]:
    """A Grouping as strict JSON; what assigns instances is kept whole, so that it assigns as before."""
    return {
        "parts": [pack_part(part) for part in g.parts],
        **{key: numbers(getattr(g, key)) for key in (*ARRAYS, "sizes")},
        **{key: finite(float(getattr(g, key))) for key in NUMBERS},
        "regions": [_pack_region(region) for region in g.regions],
        "target": pack_target(g.target),
        "n_calls": int(g.n_calls),
        "verdict": pack_verdict(g.verdict),
        "space": pack_object(g.space),
        "gate": pack_object(g.gate),
        "recipe": pack(g.recipe),
        "notes": list(g.notes),
    }


def unpack_grouping(body: Mapping[str, Any]) -> Grouping:
    """The inverse of ``pack_grouping``."""
    parts, pool = tuple(map(unpack_part, body["parts"])), Pool()
    weights, intercepts, intervals, fidelities = (floats(body[key]) for key in ARRAYS)
    k, d = len(intercepts), len(parts)
    regions, sizes = tuple(map(_region, body["regions"])), whole(body["sizes"])
    weights, intervals = weights.reshape(k, d), intervals.reshape(k, d, 2)
    if {len(each) for each in (fidelities, regions, sizes)} != {k}:
        raise ValueError(f"{k} groups, but lists of other lengths")
    return Grouping(
        parts,
        weights,
        intercepts,
        intervals,
        sizes,
        regions,
        float(body["fidelity"]),
        fidelities,
        float(body["error"]),
        float(body["ceiling"]),
        pool.target(body["target"]),
        counted(body["n_calls"]),
        pool.verdict(body["verdict"]),
        unpack_object(body["space"]),
        unpack_object(body["gate"]),
        mapping(unpack(body["recipe"])),
        pool.texts(body["notes"]),
    )


def pack_membership(m: Membership) -> dict[str, Any]:
    """A Membership as strict JSON."""
    return {
        "group": int(m.group),
        "parts": [pack_part(part) for part in m.parts],
        **{key: numbers(getattr(m, key)) for key in ("probabilities", "values", "reasons", "weights")},
        "intercept": finite(float(m.intercept)),
        "prediction": finite(float(m.prediction)),
        "region": _pack_region(m.region),
    }


def unpack_membership(body: Mapping[str, Any]) -> Membership:
    """The inverse of ``pack_membership``."""
    parts = tuple(map(unpack_part, body["parts"]))
    values, reasons, weights = (floats(body[key]) for key in ("values", "reasons", "weights"))
    if {each.shape for each in (values, reasons, weights)} != {(len(parts),)}:
        raise ValueError(f"{len(parts)} parts, but lists of other lengths")
    group, probabilities = counted(body["group"]), floats(body["probabilities"])
    if probabilities.ndim != 1 or not 0 <= group < len(probabilities):
        raise ValueError(f"{len(probabilities)} groups, and group {group} is none of them")
    return Membership(
        group,
        probabilities,
        parts,
        values,
        reasons,
        weights,
        float(body["intercept"]),
        float(body["prediction"]),
        _region(body["region"]),
    )


def _pack_region(region: Region) -> list[Any]:
    return [region.sentence, list(region.features)]


def _region(packed: Any) -> Region:
    sentence, features = packed
    return Region(text(sentence), tuple(map(text, features)))
