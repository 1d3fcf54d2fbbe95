"""What a billion rows would cost, worked out from benchmarks/results: tables of docs/scale.md."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peers import RESULTS

ROWS = 10**9
CHUNK = 4096  # rows of a part, by default
RECEIPT = 270  # bytes of a part in the manifest, about
LIME = 5000  # lime's inputs a row, by default
COLUMNS = 30
WEIGHT = 18  # bytes of a weight in a pick: its value, and where it is, by row and by part
CORES = 1000
HOUR, YEAR = 3600, 3600 * 24 * 365


def table(name: str) -> str:
    """One of the tables, if what it is made of has been measured."""
    try:
        return {"billion": billion, "sketch": sketch}[name]()
    except FileNotFoundError as missing:
        return f"Not measured yet: {Path(missing.filename).name}.\n"


def read(name: str) -> Mapping[str, Any]:
    """A file of results."""
    found: Mapping[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def billion() -> str:
    """Each thing that costs: of a row as it was measured, and of a billion."""
    (found,), parts = read("scale-million")["rows"], -(-ROWS // CHUNK)
    seconds = found["workers"] * found["seconds"] / found["rows"]
    asked, stored = found["calls"] / found["rows"], found["bytes_a_row"]
    own = 1 / told("scale", "times the bare model's time for the rows, one process")
    lime = 1 / told("scale", "lime, rows a second, one process")
    on_all = (
        f"{seconds * ROWS / HOUR:,.0f} core hours: {seconds * ROWS / CORES / 60:.3g} minutes of {CORES:,} cores"
    )
    lines = [
        ("inputs asked of the model", f"{asked:.3f}", f"{asked:.3f} × 10⁹; lime asks {LIME / 1000:g} × 10¹²"),
        ("time of a core", f"{1000 * seconds:.2f} ms", on_all),
        (
            "of this, the model's own",
            f"{1000 * seconds * own:.2f} ms",
            f"{seconds * own * ROWS / HOUR:,.0f} core hours",
        ),
        ("time of a core, lime", f"{1000 * lime:,.0f} ms", f"{lime * ROWS / YEAR:,.1f} core years"),
        ("bytes stored", f"{stored:,.0f}", amount(stored * ROWS)),
        (f"part files of {CHUNK:,} rows", "", f"{parts:,}, of {amount(stored * CHUNK)} each"),
        ("the manifest", "", amount(parts * RECEIPT)),
        ("memory of a machine with two workers", "", f"{amount(found['peak_mb'] * 1e6)}, however many rows"),
        ("one pick from all rows, in memory", f"{WEIGHT * COLUMNS:,} bytes", amount(WEIGHT * COLUMNS * ROWS)),
        *pictures(),
    ]
    return rows(("", "a row, measured", "a billion rows"), lines)


def pictures() -> list[tuple[str, str, str]]:
    """The same for pictures on a GPU."""
    for row in read("gpu")["rows"]:
        if row["what"].startswith("a stream") and row["precision"] == "bfloat16" and "ResNet-50" in row["network"]:
            name = f"time of one GPU, {row['network']} in bfloat16, {row['calls']} inputs a picture"
            return [(name, f"{row['ms']:.1f} ms", f"{row['ms'] / 1000 * ROWS / HOUR:,.0f} GPU hours")]
    return []


def told(name: str, what: str) -> float:
    """What was found for a target."""
    (found,) = (target["found"] for target in read(name)["targets"] if target["what"] == what)
    return float(found)


def sketch() -> str:
    """What two rounds of picks cover, and what they weigh for a billion rows."""
    heads = (
        "parts that count",
        "rows picked",
        "covered by two rounds",
        "by a pick from as many random rows",
        "what travels",
    )
    found, lines = read("sketch")["rows"], []
    for row in (row for row in found if row["way"] == "chunks"):
        same = ("heaviest", "budget")
        drawn = next(r for r in found if r["way"] == "drawn" and all(r[key] == row[key] for key in same))
        counted = "all" if row["heaviest"] is None else f"{row['heaviest']} heaviest"
        size = row["bytes"] / row["chunks"] * ROWS / CHUNK
        lines.append((counted, str(row["budget"]), f"{row['covers']:.1%}", f"{drawn['covers']:.1%}", amount(size)))
    return rows(heads, lines)


def rows(heads: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    """A table, numbers on the right."""
    rule = ("---", *("---:" for _ in heads[1:]))
    return "".join(f"| {' | '.join(line)} |\n" for line in (heads, rule, *lines))


def amount(size: float) -> str:
    """Bytes in a unit that suits them."""
    for unit, least in {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3}.items():
        if size >= least:
            return f"{size / least:.3g} {unit}"
    return f"{size:.0f} bytes"
