"""Put the tables of results/*.json into README.md, between the marks of each benchmark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tables import FOLDER, table

README = Path(__file__).parent / "README.md"


def section(record: Mapping[str, Any]) -> str:
    """One benchmark: how it was run, its targets, its table."""
    made = record["environment"]
    packages = ", ".join(f"{p} {made[p]}" for p in ("veridical", "lime", "numpy", "scikit-learn"))
    machine = f"{made['cpu']}, {made['cores']} cores, Python {made['python']}"
    targets = [
        {"target": t["what"], "wanted": t["wanted"] or "–", "found": t["found"], "met": _met(t)}
        for t in record["targets"]
    ]
    rows = record["rows"]
    details = f"<details><summary>All {len(rows)} lines</summary>\n\n{table(rows)}\n\n</details>"
    return "\n\n".join(
        [f"`{record['command']}`, {record['date']}; {packages}; {machine}.", table(targets), details]
    )


def _met(target: Mapping[str, Any]) -> str:
    if not target["wanted"]:
        return "–"
    return "yes" if target["met"] else "**no**"


def main() -> None:
    text = README.read_text(encoding="utf-8")
    for path in sorted(FOLDER.glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        name = record["benchmark"]
        body = section(record) + "\n"
        marks = re.compile(f"<!-- {name} -->\n.*?<!-- /{name} -->", re.DOTALL)
        if not marks.search(text):
            raise SystemExit(f"README.md has no <!-- {name} --> … <!-- /{name} --> for {path.name}")
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        text = marks.sub(lambda _, whole=begin + body + end: whole, text)
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
