"""Processor time of this tree over that of another one, such as the commit before a change of structure.

    benchmarks/run trees --before DIR [--rounds 7]

DIR is a checkout (``git worktree add DIR COMMIT``). Both run the same work in turns, a process for each, and the work
calls only what both have: explaining one row, text and picture, many rows, rows into a store, and commands. ``ratio`` is
the median over the rounds of this tree's time over the other's in the same round.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from tables import arguments, at_most, finish

SLOWER, COMMAND = 1.05, 0.75  # wanted: no work slower than this, and the command that explains one row
WORK = r'''
import json, os, sys, tempfile, time
import numpy as np
import veridical as vd
from sklearn.ensemble import RandomForestClassifier

def timed(work, least=0.25):
    """Processor seconds of one call, the least of some."""
    work()
    found, begin = [], time.process_time()
    while time.process_time() - begin < least or len(found) < 3:
        start = time.process_time(); work(); found.append(time.process_time() - start)
    return min(found)

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 10)); y = (X[:, 0] + X[:, 1] ** 2 > 0).astype(int)
forest = RandomForestClassifier(50, random_state=0, n_jobs=1).fit(X, y).predict_proba
def plain(X): return 1 / (1 + np.exp(-X[:, 0] + X[:, 1] * X[:, 2]))
rows = vd.Rows(X)
text = " ".join(rng.choice("a good film that is not as bad as this cut of it".split(), 60))
def count(texts): return np.array([t.count("good") / (1 + t.count("bad")) for t in texts])
picture = rng.random((32, 32, 3))
def bright(P): return 1 / (1 + np.exp(-P[:, 8:16, 8:16].mean(axis=(1, 2, 3))))
few = vd.Lime(n_samples=1024)
found = {
    "one row, trivial model": timed(lambda: vd.explain(plain, rows, X[0], method=few)),
    "one row, default method": timed(lambda: vd.explain(plain, rows, X[1])),
    "one row, forest": timed(lambda: vd.explain(forest, rows, X[0], method=few)),
    "one text": timed(lambda: vd.explain(count, vd.Words(), text, method=few)),
    "one picture": timed(lambda: vd.explain(bright, vd.Grid(4, 4), picture, method=few)),
    "one row, Shapley values": timed(lambda: vd.explain(plain, rows, X[0], method=vd.KernelShap(n_samples=512))),
    "1,000 rows": timed(lambda: vd.explain_many(plain, rows, X, method=few)),
    "100 texts": timed(lambda: vd.explain_many(count, vd.Words(), [text] * 100, method=vd.Lime(n_samples=256))),
}
def stored():
    with tempfile.TemporaryDirectory() as folder:
        vd.explain_many(plain, rows, np.tile(X, (8, 1)), store=folder + "/s", method=few)
found["8,000 rows into a store"] = timed(stored, 0.1)
print(json.dumps(found))
'''
RUN = """
import sys
try:
    from veridical_command import main  # as it was called before
except ImportError:
    from veridical.cli import main
sys.exit(main())
"""
COMMANDS = {
    "import veridical, and numpy": ("import numpy, veridical", ""),
    "veridical --help": (RUN, "--help"),
    "veridical explain, one row": (RUN, "explain model.joblib data.csv --row 3 --trust"),
}


def measure(tree: Path, samples: Path) -> dict[str, float]:
    """Processor seconds of all work in one tree."""
    told = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", WORK], env=told, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: dict[str, float] = json.loads(done.stdout)
    for name, (code, words) in COMMANDS.items():
        found[name] = min(_command(code, words, told, samples) for _ in range(2))
    return found


def _command(code: str, words: str, told: dict[str, str], folder: Path) -> float:
    before = os.times()
    done = subprocess.run([sys.executable, "-c", code, *words.split()], env=told, cwd=folder, capture_output=True)
    after = os.times()
    if done.returncode:
        raise SystemExit(done.stderr.decode())
    return after.children_user + after.children_system - before.children_user - before.children_system


def main(settings: argparse.Namespace) -> None:
    here = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as place:
        told = {**os.environ, "PYTHONPATH": str(here / "src")}
        subprocess.run(
            [sys.executable, "-c", RUN, "demo", "--files", place], env=told, check=True, capture_output=True
        )
        rounds = []
        for i in range(2 if settings.quick else settings.rounds):
            order = (here, settings.before) if i % 2 else (settings.before, here)
            rounds.append({tree: measure(tree, Path(place)) for tree in order})
    rows, targets = [], []
    for name in rounds[0][here]:
        ratio = median(each[here][name] / each[settings.before][name] for each in rounds)
        times = {f"{which}_ms": 1000 * median(each[tree][name] for each in rounds)
                 for which, tree in (("before", settings.before), ("now", here))}  # fmt: skip
        rows.append({"work": name, **times, "ratio": ratio})
        targets.append(at_most(name, COMMAND if name.endswith("one row") and "explain" in name else SLOWER, ratio))
    sys.argv = [
        "DIR" if word == str(settings.before) else word for word in sys.argv
    ]  # not the paths of this machine
    finish("trees", settings, rows, targets)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the tree to compare with")
    parser.add_argument("--rounds", type=int, default=7)
    main(parser.parse_args())
