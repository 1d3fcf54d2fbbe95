"""Put the tables of results/*.json into README.md here, and their targets into targets.md."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tables import FOLDER, table

README = Path(__file__).parent / "README.md"
TARGETS = Path(__file__).parent / "targets.md"
ORDER = (
    "calls",
    "coverage",
    "overhead",
    "clock",
    "compositing",
    "batch",
    "compat",
    "pick",
    "flips",
    "sketch",
    "memory",
    "scale",
    "imports",
    "pages",
    "charts",
    "commands",
    "shapley",
    "fidelity",
    "audit",
    "maps",
    "gpu",
    "tiles",
    "trees",
)
FAMILIES = ("", "-text", "-images", "-networks", "-truth", "-cuda", "-million", "-engines")


def section(record: Mapping[str, Any]) -> str:
    """One benchmark: how it was run, its targets, its table."""
    made = record["environment"]
    name = record["benchmark"]
    torch = dict.fromkeys(("audit", "tiles", "maps", "maps-cuda", "gpu"), "torch")
    plain = {"flips": "pandas", "sketch": "scipy", "scale-million": "pandas", "scale-engines": "dask"}
    peer = {"shapley": "shap", "charts": "shap", "commands": "typer", **plain, **torch}.get(name, "lime")
    others = {
        "networks": ("captum", "torch"),
        "maps": ("captum",),
        "gpu": ("captum",),
        "engines": ("ray", "pyspark"),
    }
    shown = ("veridical", peer, *(p for kind, added in others.items() if kind in name for p in added))
    packages = ", ".join(f"{p} {made[p]}" for p in (*shown, "numpy", "scikit-learn"))
    machine = f"{made.get('gpu', made['cpu'])}, {made['cores']} cores, Python {made['python']}"
    wanted = [
        {"target": t["what"], "wanted": t["wanted"] or "–", "found": t["found"], "met": _met(t)}
        for t in record["targets"]
    ]
    rows = record["rows"]
    details = f"<details><summary>All {len(rows)} lines</summary>\n\n{table(rows)}\n\n</details>"
    return "\n\n".join(
        [f"`{record['command']}`, {record['date']}; {packages}; {machine}.", table(wanted), details]
    )


def _met(target: Mapping[str, Any]) -> str:
    if not target["wanted"]:
        return "–"
    return "yes" if target["met"] else "**no**"


def targets(records: Mapping[str, Mapping[str, Any]]) -> str:
    """All targets of all benchmarks, met or not."""
    lines = [
        {"benchmark": name, "measured": t["what"], "wanted": t["wanted"], "found": t["found"], "met": _met(t)}
        for name in (each + family for each in ORDER for family in FAMILIES)
        if name in records
        for t in records[name]["targets"]
        if t["wanted"]
    ]
    met = sum(line["met"] == "yes" for line in lines)
    return f"**{met} of {len(lines)} targets are met.**\n\n{table(lines)}"


def put(path: Path, name: str, body: str) -> None:
    """Replace what is between the marks of that name."""
    text = path.read_text(encoding="utf-8")
    marks = re.compile(f"<!-- {name} -->\n.*?<!-- /{name} -->", re.DOTALL)
    if not marks.search(text):
        raise SystemExit(f"{path.name} has no <!-- {name} --> … <!-- /{name} -->")
    whole = f"<!-- {name} -->\n{body}\n<!-- /{name} -->"
    path.write_text(marks.sub(lambda _: whole, text), encoding="utf-8")


def main() -> None:
    paths = [path for path in sorted(FOLDER.glob("*.json")) if not path.stem.endswith("-part")]
    records = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    for name, record in records.items():
        put(README, name, section(record))
    put(TARGETS, "measured", targets(records))


if __name__ == "__main__":
    main()
