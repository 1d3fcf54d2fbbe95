"""Time and memory of groups as the rows grow: 100 features, 10 groups, each fit in a process of its own."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import cells
import veridical as vd
from group_fidelity import Counted, own_losses
from sets import DRAW, NEIGHBORS, neighbors
from veridical.summaries.groupings import GROUPINGS

D, K, N_TEST = 100, 10, 500


def bent(X: Any) -> Any:
    """A function with a few regimes: cheap, so that the time is that of the groups."""
    side = np.tanh(2 * X[:, 0] + X[:, 1])
    return side * (X[:, 2] + 0.5 * X[:, 3]) + (1 - side) * (X[:, 4] - X[:, 5]) * (X[:, 6] > 0) + 0.3 * X[:, 7]


def once(n: int, method: str) -> dict[str, Any]:
    """One fit, in this process."""
    from time import process_time

    rng = np.random.default_rng([DRAW, n])
    X, test = rng.normal(size=(n, D)), rng.normal(size=(N_TEST, D))
    asked, before, start = Counted(bent), _peak(), process_time()
    grouping = vd.group(asked, vd.Rows(X), X, k=K, method=GROUPINGS[method]())
    seconds, peak = process_time() - start, _peak()
    near = neighbors(test, rng)
    values = bent(near).reshape(N_TEST, NEIGHBORS)
    said = grouping.space.rows(grouping.space.read(near)) @ grouping.weights.T + grouping.intercepts
    losses = own_losses(said.reshape(N_TEST, NEIGHBORS, -1), values, grouping.assign(test).argmax(axis=1))
    return {
        "seconds": seconds,
        "before_mb": before,
        "extra_mb": peak - before,
        "calls": asked.calls,
        "rmse": float(np.sqrt(losses.mean()) / values.std()),
    }


def _peak() -> float:
    """The most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)


def measure(cell: cells.Cell) -> dict[str, Any]:
    """One fit, in a fresh process with one thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    call = [sys.executable, __file__, "--once", str(cell["rows"]), cell["method"]]
    done = subprocess.run(call, capture_output=True, text=True, env={**os.environ, **threads})
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(settings: argparse.Namespace) -> None:
    if settings.once:
        print(json.dumps(once(int(settings.once[0]), settings.once[1])))
        return
    results = cells.Results(settings.out, "gime_scale", ("rows", "method"))
    results.commands = list(dict.fromkeys([*results.commands, cells.command(None)]))
    wanted = [{"rows": n, "method": method} for method in settings.methods for n in settings.rows]
    cells.work(results, wanted, measure, resume=settings.resume, limit=settings.limit, show=show)


def show(cell: cells.Cell) -> str:
    return f"{cell['seconds']:.1f} s, {cell['extra_mb']:.0f} MB more, error {cell['rmse']:.3f} sd"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=int, default=[1250, 2500, 5000, 10_000])
    parser.add_argument("--methods", nargs="+", choices=GROUPINGS, default=["mixture", "gime"])
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--limit", type=int, default=1800, help="seconds after which a fit is given up")
    parser.add_argument("--out", type=Path, default=cells.FOLDER / "gime_scale.json")
    parser.add_argument("--once", nargs=2, metavar=("ROWS", "METHOD"), help=argparse.SUPPRESS)
    main(parser.parse_args())
