"""An Audit as strict JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from veridical.debug.audit import OUTCOMES, Audit, Result
from veridical.packing.explanations import Pool, pack_verdict
from veridical.packing.values import counted, finite, mapping, pack, unpack


def pack_audit(a: Audit) -> dict[str, Any]:
    """All that was checked, and what came of it."""
    return {
        "title": a.title,
        "results": [
            {
                "check": r.check,
                "method": r.method,
                "outcome": r.outcome,
                "verdict": None if r.verdict is None else pack_verdict(r.verdict),
                "reason": r.reason,
                "seconds": finite(float(r.seconds)),
            }
            for r in a.results
        ],
        "n_calls": int(a.n_calls),
        "seconds": finite(float(a.seconds)),
        "recipe": pack(a.recipe),
        "notes": list(a.notes),
    }


def unpack_audit(body: Mapping[str, Any]) -> Audit:
    """The inverse of ``pack_audit``."""
    pool = Pool()
    return Audit(
        pool.text(body["title"]),
        tuple(_result(entry, pool) for entry in body["results"]),
        counted(body["n_calls"]),
        float(body["seconds"]),
        mapping(unpack(body["recipe"])),
        pool.texts(body["notes"]),
    )


def _result(entry: Mapping[str, Any], pool: Pool) -> Result:
    verdict = None if entry["verdict"] is None else pool.verdict(entry["verdict"])
    found = Result(
        pool.text(entry["check"]),
        pool.text(entry["method"]),
        verdict,
        pool.text(entry["reason"]),
        float(entry["seconds"]),
        entry["outcome"] == "error",
    )
    if entry["outcome"] not in OUTCOMES or found.outcome != entry["outcome"]:
        raise ValueError(f"the outcome {entry['outcome']!r} does not fit the verdict")
    return found
