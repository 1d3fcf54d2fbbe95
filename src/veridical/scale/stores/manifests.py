"""The manifest of a store, read with suspicion: every field is of the type and size that a run would write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.packing.values import parse, unpack
from veridical.scale.stores.parts import Receipt, is_count, receipt_from
from veridical.serialize import SCHEMA

MANIFEST = "manifest.json"


def read_manifest(path: Path) -> dict[str, Any]:
    """What the manifest says, if this version can read it."""
    try:
        written = (path / MANIFEST).read_bytes()
    except OSError as cause:
        raise InputError(f"{str(path)!r} is no store of explanations: it has no {MANIFEST}") from cause
    try:
        known = parse(written.decode())
        if known["veridical"] != "store" or not is_count(known["schema"]):
            raise ValueError("it is not the manifest of a store")
    except Exception as cause:  # whatever bytes make a decoder raise
        raise _damaged(path, f"{cause!r:.200}") from cause
    if known["schema"] > SCHEMA:
        raise InputError(
            f"the store {str(path)!r} has schema {known['schema']}, written by veridical {known.get('version')}; "
            f"this version reads up to schema {SCHEMA}: upgrade veridical"
        )
    for key, fits in FIELDS.items():
        if key not in known or not fits(known[key]):
            raise _damaged(path, f"its {key} is missing or not valid")
    return dict(known)


def receipts_in(path: Path, manifest: Mapping[str, Any]) -> tuple[Receipt, ...]:
    """Of all parts of a complete store, which hold its rows without a gap."""
    try:
        found = tuple(receipt_from({**each, "store": manifest["identity"]}) for each in manifest["parts"])
        size, n_rows = manifest["chunk_rows"], manifest["n_rows"]
        for number, each in enumerate(found):
            rows = (number, number * size, min((number + 1) * size, n_rows))
            if (each.number, each.start, each.stop) != rows:
                raise ValueError(f"part {number} holds other rows")
        if (found[-1].stop if found else 0) != n_rows:
            raise ValueError(f"there are no parts for all {n_rows} rows")
    except Exception as cause:
        raise _damaged(path, f"{cause!r:.200}") from cause
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_label(value: Any) -> bool:
    """Whether a value is the name of a column, as ``pack`` writes it."""
    try:
        return isinstance(hash(unpack(value)), int)
    except Exception:
        return False


def _are_answers(value: Any) -> bool:
    """Whether a value is a table of numbers, as ``pack`` writes it."""
    try:
        return value is None or np.array(unpack(value), dtype=np.float64).ndim == 2
    except Exception:
        return False


FIELDS: dict[str, Callable[[Any], bool]] = {  # of a manifest, and whether a value can be that of one
    **dict.fromkeys(("identity", "version", "represent"), _is_text),
    "recipe": lambda value: isinstance(value, dict),
    "data": lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
    "keep": lambda value: isinstance(value, list) and all(map(_is_label, value)),
    "parts": lambda value: isinstance(value, list),
    "chunk_rows": lambda value: is_count(value) and value > 0,
    "n_shared_calls": is_count,
    "complete": lambda value: type(value) is bool,
    "n_rows": lambda value: value is None or is_count(value),
    "answers": _are_answers,
}


def _damaged(path: Path, why: str) -> InputError:
    return InputError(
        f"{MANIFEST} in {str(path)!r} is damaged, or was not written by veridical ({why}): give another folder"
    )
