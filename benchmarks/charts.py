"""Charts of 100,000 rows beside shap's of the same values, and a report on a model of 100,000 rows.

Each chart is drawn in a fresh process that has drawn a small one before, from weights and values (100,000, 30) in
memory to a PNG of 200 dots per inch. ``seconds`` are those of the processor; ``extra_mb`` is the process's peak less
what it holds just before. shap's beeswarm and scatter draw every row, ours 2,000 of them, drawn at random; importance is
over all rows for both, ours with intervals. The report explains 1,000 of the rows, with a forest of 100 trees and checks.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from memory import peak, present
from tables import Target, arguments, at_most, finish
from veridical.summaries.importances import BATCH, Importance, WeightBatch, WeightSums

N, D = 100_000, 30
MEMORY, REPORT, PAGE = 200.0, 120.0, 5.0  # MB, seconds, MB
KINDS = {"importance": "bar", "beeswarm": "beeswarm", "dependence": "dependence"}
NAMES = tuple(f"column {j}" for j in range(D))


def values(n: int) -> tuple[Any, Any]:
    """Weights and the rows' own values (n, D): curves of each column, with some noise."""
    rng = np.random.default_rng(0)
    own = rng.normal(size=(n, D))
    return np.sin(own) * np.geomspace(1, 0.01, D) + rng.normal(size=(n, D)) / 50, own


def sum_weights(weights: Any, own: Any) -> Importance:
    """Importance over all rows, a batch at a time, as stores of explanations give it."""
    n = len(weights)
    sums = WeightSums(n)
    for start in range(0, n, BATCH):
        some = slice(start, min(start + BATCH, n))
        numbers = np.arange(n)[some]
        m, flat = len(numbers), weights[some].ravel()
        good = ("reliable",) * m
        counts, codes = np.full(m, D), np.tile(np.arange(D), m)
        ones = np.ones(m)
        sums.add(
            WeightBatch(
                numbers, counts, NAMES, codes, flat, flat - 0.04, flat + 0.04, ones, ones, good, ("yes",) * m
            ),
            (chosen := numbers[sums.chosen(numbers)]).tolist(),
            [tuple(row) for row in own[chosen].tolist()],
        )
    return sums.result()


def draw_ours(kind: str, weights: Any, own: Any) -> Any:
    """One of our charts."""
    return sum_weights(weights, own).plot(kind=KINDS[kind], top=10).figure


def draw_shap(kind: str, weights: Any, own: Any) -> Any:
    """One of shap's charts; its numba asks for a package "coverage", and is not to find coverage.py of this folder."""
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != Path(__file__).resolve().parent]
    import matplotlib.pyplot as plt
    import shap

    found = shap.Explanation(
        values=weights, base_values=np.zeros(len(weights)), data=own, feature_names=list(NAMES)
    )
    plt.close("all")
    if kind == "dependence":
        shap.plots.scatter(found[:, 0], show=False)
    else:
        {"importance": shap.plots.bar, "beeswarm": shap.plots.beeswarm}[kind](found, max_display=10, show=False)
    return plt.gcf()


DRAWERS: dict[str, Callable[[str, Any, Any], Any]] = {"veridical": draw_ours, "shap": draw_shap}


def chart(who: str, kind: str, n: int) -> None:
    """In the fresh process: draw one chart, after a small one that loads everything."""
    import matplotlib

    matplotlib.use("agg")
    DRAWERS[who](kind, *values(500)).savefig(io.BytesIO(), dpi=200)
    weights, own = values(n)
    before, begin = present(), process_time()
    DRAWERS[who](kind, weights, own).savefig(io.BytesIO(), dpi=200)
    print(process_time() - begin, max(peak() - before, 0.0), 0.0)


def report(n: int, explained: int) -> None:
    """In the fresh process: a report on a forest, saved as a page."""
    import pandas as pd
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier

    import veridical as vd

    rows, y = make_classification(n, D, n_informative=8, random_state=0)
    X = pd.DataFrame(rows, columns=list(NAMES))
    model = RandomForestClassifier(100, min_samples_leaf=5, random_state=0).fit(X[: n // 5], y[: n // 5])
    before, begin = present(), process_time()
    page = vd.pages.report_model(model, vd.Rows(X), X, y=y, n_rows=explained)
    with tempfile.TemporaryDirectory() as folder:
        page.save(Path(folder) / "page.html")
        size = (Path(folder) / "page.html").stat().st_size / 1e6
    print(process_time() - begin, max(peak() - before, 0.0), size)


def measure(what: str, who: str, words: list[str]) -> dict[str, Any]:
    """One line, from a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, extra, size = map(float, done.stdout.split()[-3:])
    return {"what": what, "who": who, "seconds": seconds, "extra_mb": extra, "page_mb": size or None}


def judge(rows: list[dict[str, Any]]) -> list[Target]:
    """Not slower than shap, in little memory; a report in two minutes, in a small file."""
    at = {(row["what"], row["who"]): row for row in rows}
    found = []
    for kind in KINDS:
        ours, theirs = at[kind, "veridical"], at[kind, "shap"]
        found.append(at_most(f"{kind}, seconds over shap's", 1.0, ours["seconds"] / theirs["seconds"]))
        found.append(at_most(f"{kind}, extra MB", MEMORY, ours["extra_mb"]))
    page = at["report", "veridical"]
    return [
        *found,
        at_most("report, seconds of one core", REPORT, page["seconds"]),
        at_most("report, MB of the page", PAGE, page["page_mb"]),
    ]


def main(settings: argparse.Namespace) -> None:
    if settings.child:
        who, kind, n = settings.child
        report(int(n), int(kind)) if who == "report" else chart(who, kind, int(n))
        return
    n, explained = (5000, 60) if settings.quick else (N, 1000)
    rows = [measure(kind, who, [who, kind, str(n)]) for kind in KINDS for who in DRAWERS]
    rows.append(measure("report", "veridical", ["report", str(explained), str(n)]))
    finish("charts", settings, rows, judge(rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--child", nargs=3, default=None, help=argparse.SUPPRESS)
    main(parser.parse_args())
