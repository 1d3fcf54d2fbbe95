"""What every benchmark does at its end: judge the targets, print a table, keep the numbers."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import veridical

FOLDER = Path(__file__).parent / "results"
PACKAGES = (
    "lime",
    "shap",
    "captum",
    "torch",
    "typer",
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "scikit-image",
    "dask",
    "ray",
    "pyspark",
)
MODULES = {"scikit-learn": "sklearn", "scikit-image": "skimage"}  # where they differ
HIDDEN = ("curve",)  # in the JSON alone


@dataclass(frozen=True)
class Target:
    """What was wanted, what was found, and whether that is enough."""

    what: str
    wanted: str
    found: str
    met: bool


def at_least(what: str, wanted: float, found: float) -> Target:
    return Target(what, f"≥ {wanted:g}", f"{found:.3g}", bool(found >= wanted))


def at_most(what: str, wanted: float, found: float) -> Target:
    return Target(what, f"≤ {wanted:g}", f"{found:.3g}", bool(found <= wanted))


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options that all benchmarks share."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few problems and repetitions, to check the script")
    parser.add_argument(
        "--data",
        type=Path,
        default=None,
        help="folder with tabular/, sentences/ and newsgroups20/",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes, where nothing is timed")
    return parser


def finish(
    name: str, settings: argparse.Namespace, rows: Sequence[Mapping[str, Any]], targets: Sequence[Target]
) -> None:
    """Print the table and the targets; write results/<name>.json, or nothing after a quick run."""
    print(table(rows))
    print()
    print(table([_plain(t) for t in targets]))
    if settings.quick:
        print("\nA quick run: nothing is written.")
        return
    record = {
        "benchmark": name,
        "command": command(name.split("-")[0], settings),
        "date": date.today().isoformat(),
        "environment": environment(),
        "targets": [asdict(t) for t in targets],
        "rows": [short(row) for row in rows],
    }
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"\nWritten: {path.parent.parent.name}/{path.parent.name}/{path.name}")


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as a Markdown table that also reads well in a terminal."""
    if not rows:
        return "(nothing)"
    heads = [head for head in rows[0] if head not in HIDDEN]
    cells = [heads, *[[show(row.get(h)) for h in heads] for row in rows]]
    widths = [max(len(line[j]) for line in cells) for j in range(len(heads))]
    right = [isinstance(rows[0][h], (int, float)) and not isinstance(rows[0][h], bool) for h in heads]

    def line(values: Sequence[str]) -> str:
        padded = (v.rjust(w) if r else v.ljust(w) for v, w, r in zip(values, widths, right, strict=True))
        return f"| {' | '.join(padded)} |"

    rule = "|".join("-" * (w + 1) + ":" if r else "-" * (w + 2) for w, r in zip(widths, right, strict=True))
    return "\n".join([line(heads), f"|{rule}|", *map(line, cells[1:])])


def show(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


def short(value: Any) -> Any:
    """Numbers with no more digits than they deserve."""
    if isinstance(value, Mapping):
        return {key: short(v) for key, v in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def command(name: str, settings: argparse.Namespace) -> str:
    """The command again, without the paths of this machine."""
    paths = {str(settings.data): "DIR", str(getattr(settings, "weights", None)): "FILE"}
    shown = [paths.get(word, word) for word in sys.argv[1:]]
    return " ".join(["benchmarks/run", name, *shown])


def environment() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "veridical": veridical.__version__,
        **{package: version(package) for package in PACKAGES if find_spec(MODULES.get(package, package))},
        "system": platform.system(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "not set"),
        **_gpu(),
    }


def _gpu() -> dict[str, str]:
    """The accelerator, if a benchmark has torch and torch has one."""
    torch = sys.modules.get("torch")
    return {"gpu": torch.cuda.get_device_name()} if torch is not None and torch.cuda.is_available() else {}


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _plain(target: Target) -> dict[str, Any]:
    return {"target": target.what, "wanted": target.wanted, "found": target.found, "met": target.met}
