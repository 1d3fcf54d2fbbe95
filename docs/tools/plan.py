"""What a billion rows would cost, worked out from benchmarks/results: tables of docs/scale.md."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from peers import RESULTS

ROWS = 10**9
CHUNK = 8192  # rows of a part, by default
RECEIPT = 330  # bytes of a part in the manifest, about
LIME = 5000  # lime's calls a row, by default
WEIGHT = 20  # bytes of a weight in a pick: value and size of 8, position of 4
CORES = 1000


def table(name: str) -> str:
    """One of the tables."""
    return {"sketch": sketch}[name]()


def read(name: str) -> Mapping[str, Any]:
    """A file of results."""
    found: Mapping[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def sketch() -> str:
    """What two rounds of picks cover, and what they weigh for a billion rows."""
    heads = (
        "parts that count",
        "rows picked",
        "covered by two rounds",
        "by a pick from as many random rows",
        "what travels",
    )
    lines = [f"| {' | '.join(heads)} |\n", "| --- | ---: | ---: | ---: | ---: |\n"]
    rows = read("sketch")["rows"]
    for row in (row for row in rows if row["way"] == "chunks"):
        same = ("heaviest", "budget")
        drawn = next(r for r in rows if r["way"] == "drawn" and all(r[key] == row[key] for key in same))
        counted = "all" if row["heaviest"] is None else f"{row['heaviest']} heaviest"
        size = row["bytes"] / row["chunks"] * ROWS / CHUNK
        lines.append(
            f"| {counted} | {row['budget']} | {row['covers']:.1%} | {drawn['covers']:.1%} | {amount(size)} |\n"
        )
    return "".join(lines)


def amount(size: float) -> str:
    """Bytes in a unit that suits them."""
    for unit, least in {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3}.items():
        if size >= least:
            return f"{size / least:.3g} {unit}"
    return f"{size:.0f} bytes"
