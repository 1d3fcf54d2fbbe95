"""How long commands take from Enter to the prompt, in fresh processes, beside importing typer, which they need.

``cpu_s`` is processor time, which others on the machine do not lengthen; ``least_s`` and ``median_s`` are by the
clock. ``times_typer`` is processor time over that of ``python -c "import typer"``.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from tables import Target, arguments, at_most, finish

WANTED = 0.3  # seconds
COMMAND = "import sys; from veridical.cli import main; sys.exit(main())"
COMPLETE = {
    "_VERIDICAL_COMPLETE": "complete_bash",
    "COMP_WORDS": "veridical explain m d --method l",
    "COMP_CWORD": "5",
}
CASES: dict[str, tuple[str, str, dict[str, str]]] = {  # name to code, arguments and environment
    "python -c pass": ("pass", "", {}),
    "import typer": ("import typer", "", {}),
    "import veridical": ("import veridical", "", {}),
    "veridical --help": (COMMAND, "--help", {}),
    "veridical explain --help": (COMMAND, "explain --help", {}),
    "completion of a method": (COMMAND, "", COMPLETE),
    "veridical explain, one row": (COMMAND, "explain model.joblib data.csv --row 3 --trust", {}),
    "veridical show why.json": (COMMAND, "show why.json", {}),
}


def timed(name: str, folder: Path) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    code, words, told = CASES[name]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *words.split()], capture_output=True, env={**os.environ, **told}, cwd=folder
    )
    took, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(settings: argparse.Namespace) -> None:
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in CASES}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for words in (f"demo --files {folder}", "explain model.joblib data.csv --row 3 --trust --out why.json"):
            subprocess.run(
                [sys.executable, "-c", COMMAND, *words.split()], cwd=folder, check=True, capture_output=True
            )
        for _ in range(2 if settings.quick else settings.repetitions):
            for name in CASES:
                times[name].append(timed(name, folder))
    cpu = {name: median(each for _, each in pairs) for name, pairs in times.items()}
    rows: list[dict[str, Any]] = [
        {
            "what": name,
            "cpu_s": cpu[name],
            "least_s": min(each for each, _ in pairs),
            "median_s": median(each for each, _ in pairs),
            "times_typer": cpu[name] / cpu["import typer"],
        }
        for name, pairs in times.items()
    ]
    helped = next(row for row in rows if row["what"] == "veridical --help")
    targets = [
        at_most("veridical --help, seconds by the clock, least", WANTED, helped["least_s"]),
        at_most("veridical --help, seconds of the processor, median", WANTED, helped["cpu_s"]),
        Target("veridical --help, times importing typer", "", f"{helped['times_typer']:.3g}", True),
    ]
    finish("commands", settings, rows, targets)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--repetitions", type=int, default=15)
    main(parser.parse_args())
