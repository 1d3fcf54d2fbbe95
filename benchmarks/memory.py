"""Peak memory of explain_many above the data, the model and the libraries, in a fresh process.

What is measured is the process's peak less what it holds just before the call. The explanations themselves
are part of it: they are what the caller gets.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import veridical as vd
from problems import KINDS, load
from tables import arguments, at_most, finish

METHODS = {"2048": vd.Lime(n_samples=2048), "default": vd.Lime()}
WANTED = 1000  # MB


def peak() -> float:
    """Largest resident size so far, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def present() -> float:
    """Resident size now, in MB; the peak so far where the system does not tell."""
    status = Path("/proc/self/statm")
    if not status.exists():
        return peak()
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def child(kind: str, method: str, n_rows: int) -> None:
    """In the fresh process: explain once to load everything, then measure the real call."""
    problem = load(f"breast_cancer-rf-{kind}")
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(problem.rows), n_rows)
    X = problem.rows[drawn] * rng.uniform(0.95, 1.05, (n_rows, problem.rows.shape[1]))
    represent = problem.represent()
    vd.explain(problem.predict, represent, X[0], method=METHODS[method])
    before = present()
    begin = perf_counter()
    found = vd.explain_many(problem.predict, represent, X, method=METHODS[method])
    print(peak() - before, before, perf_counter() - begin, len(found))


def measure(kind: str, method: str, n_rows: int) -> dict[str, Any]:
    words = [sys.executable, __file__, "--child", kind, method, "--rows", str(n_rows)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    extra, before, spent, n = map(float, done.stdout.split()[-4:])
    return {
        "kind": kind,
        "method": method,
        "rows": int(n),
        "before_mb": before,
        "extra_mb": extra,
        "kb_a_row": 1000 * extra / n,
        "seconds": spent,
    }


def main(settings: argparse.Namespace) -> None:
    if settings.child:
        child(*settings.child, settings.rows)
        return
    n_rows = 5000 if settings.quick else settings.rows
    methods = list(METHODS) if settings.default else ["2048"]
    rows = [measure(kind, method, n_rows) for kind in KINDS for method in methods]
    finish("memory", settings, rows, [at_most("extra MB, most", WANTED, max(row["extra_mb"] for row in rows))])


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--default", action="store_true", help="the default method too, which takes longer")
    parser.add_argument("--child", nargs=2, default=None, help=argparse.SUPPRESS)
    main(parser.parse_args())
