"""Peak memory above the data, the model and the libraries, in a fresh process.

What is measured is the process's peak less what it holds just before the call. The explanations themselves
are part of it: they are what the caller gets. Tables: explain_many. Text and images: one explanation of a long
text, or of a large picture, by the default method, which the target is for, and with 8 samples a part or 2,048.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import veridical as vd
from problems import choose_families, load, result
from tables import Target, arguments, at_most, finish
from tabular import KINDS

METHODS = {"2048": vd.Lime(n_samples=2048), "default": vd.Lime()}
MASKS = ("default", "8 a part")
WANTED = {"tables": 1000, "text": 500, "images": 500}  # MB
WORDS, SIDE = 2000, 1024


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


def many_rows(kind: str, method: str, n_rows: int) -> Callable[[], int]:
    """explain_many on rows like those of breast_cancer; explains once before, to load everything."""
    problem = load("tables", f"breast_cancer-rf-{kind}")
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(problem.rows), n_rows)
    X = problem.rows[drawn] * rng.uniform(0.95, 1.05, (n_rows, problem.rows.shape[1]))
    represent = problem.represent()
    vd.explain(problem.predict, represent, X[0], method=METHODS[method])
    return lambda: len(vd.explain_many(problem.predict, represent, X, method=METHODS[method]))


def long_text(kind: str, method: str, n_words: int) -> Callable[[], int]:
    """A text of held-out paragraphs, as a bag of words or by positions, as strings or recognized."""
    import text

    problem = load("text", "docstrings-lr-40")
    rest, _ = text._fitted("docstrings", "lr", None)
    words = " ".join(rest).split()[:n_words]
    represent = vd.Words(positions="positions" in kind)
    predict = problem.predict if "recognized" in kind else lambda texts: problem.predict(texts)
    vd.explain(predict, represent, problem.instance)
    return mask_work(predict, represent, " ".join(words), method)


def mask_work(predict: Any, represent: Any, x: Any, method: str) -> Callable[[], int]:
    """One explanation, by the default method or by a number of samples."""
    many = max(2048, 8 * len(represent(x).parts)) if method == "8 a part" else None
    return lambda: vd.explain(predict, represent, x, method=vd.Lime(n_samples=many)).n_calls


def large_image(kind: str, method: str, side: int) -> Callable[[], int]:
    """A photograph and a model that needs no memory of its own: brightness in a corner, against the rest."""
    from skimage.data import astronaut
    from skimage.transform import resize

    image = (resize(astronaut(), (side, side)) * 255).astype("float32" if "float32" in kind else "uint8")
    represent = vd.Grid(8, 8) if "grid" in kind else vd.Superpixels()

    def predict(images: Any) -> Any:
        rows = [(np.mean(x[::16, ::16]), np.mean(x[: side // 2 : 16, : side // 2 : 16])) for x in images]
        score = np.array([1 / (1 + np.exp((whole - corner) / 16)) for whole, corner in rows])
        return np.stack([score, 1 - score], axis=1)

    vd.explain(predict, represent, image[::8, ::8])
    return mask_work(predict, represent, image, method)


CASES = {
    "tables": (many_rows, KINDS),
    "text": (long_text, ("bag strings", "bag recognized", "positions strings", "positions recognized")),
    "images": (large_image, ("uint8 superpixels", "float32 superpixels", "float32 grid")),
}


def child(family: str, kind: str, method: str, size: int) -> None:
    """In the fresh process: measure the call that was prepared."""
    work = CASES[family][0](kind, method, size)
    before = present()
    begin = perf_counter()
    count = work()
    print(peak() - before, before, perf_counter() - begin, count)


def measure(family: str, kind: str, method: str, size: int) -> dict[str, Any]:
    words = [sys.executable, __file__, "--child", family, kind, method, "--rows", str(size)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    extra, before, spent, n = map(float, done.stdout.split()[-4:])
    line = {"kind": kind, "method": method, "rows" if family == "tables" else "calls": int(n)}
    line |= {"before_mb": before, "extra_mb": extra}
    if family == "tables":
        line["kb_a_row"] = 1000 * extra / n
    return {**line, "seconds": spent}


def main(settings: argparse.Namespace) -> None:
    if settings.child:
        family, kind, method = settings.child
        child(family, kind, method, settings.rows)
        return
    sizes = {"tables": 5000 if settings.quick else settings.rows, "text": WORDS, "images": SIDE}
    for family in settings.on:
        known = list(METHODS) if settings.default else ["2048"]
        methods = known if family == "tables" else MASKS
        rows = [measure(family, kind, m, sizes[family]) for kind in CASES[family][1] for m in methods]
        finish(result("memory", family), settings, rows, judge(family, rows))


def judge(family: str, rows: list[dict[str, Any]]) -> list[Target]:
    if family == "tables":
        return [at_most("extra MB, most", WANTED[family], max(row["extra_mb"] for row in rows))]
    most = {m: max(row["extra_mb"] for row in rows if row["method"] == m) for m in MASKS}
    return [
        at_most(f"{family}: extra MB, most", WANTED[family], most["default"]),
        Target(f"{family}: extra MB with 8 samples a part, most", "", f"{most['8 a part']:.3g}", True),
    ]


if __name__ == "__main__":
    parser = arguments(__doc__)
    choose_families(parser, ("tables", "text", "images"))
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--default", action="store_true", help="the default method for tables, too")
    parser.add_argument("--child", nargs=3, default=None, help=argparse.SUPPRESS)
    main(parser.parse_args())
