"""The submodular pick: ours against lime's SubmodularPick, plain greedy and lazy greedy, taking turns.

Explanations are made by hand, with 10 parts each: *words*, out of 2,000 of which few are frequent, and *bins*,
4 of each of 10 columns. ``ours`` is vd.pick from the explanations, ``file`` from a Parquet file of them, ``table``
from the matrix. Plain greedy, by a sparse product a step, and lazy greedy, by a heap, start from the matrix too
and do nothing but pick; ours also finds what random picks cover. lime gets explanations that are ready, so that
only its pick is timed. Processor seconds; medians over repetitions, lime once where it is slow.
"""

from __future__ import annotations

import argparse
import heapq
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from lime.submodular_pick import SubmodularPick
from scipy.sparse import csr_matrix

import veridical as vd
from overhead import seconds
from tables import Target, arguments, at_most, finish
from veridical.scale.stores.store import explanation_source
from veridical.summaries.matrices import ExplanationMatrix, build_matrix
from veridical.summaries.picks import build_pick, draw_rows, greedy, measure_coverage

SIZES = (1000, 10_000, 100_000)
LIME_MOST = 1000  # explanations: its time grows with the square of their number
PARTS, BUDGET, WORDS = 10, 50, 2000
SEED = np.random.SeedSequence(0)
WANTED = 1.0  # seconds, of the largest


def made(kind: str, n: int) -> vd.Explanations:
    """Explanations of n rows with random weights."""
    rng = np.random.default_rng(0)
    base = vd.explain(lambda X: X.sum(axis=1), vd.Rows(np.eye(4)), np.eye(4)[0], method=vd.Lime(n_samples=16))
    base = replace(base, intervals=np.zeros((PARTS, 2)), unsettled=())
    if kind == "words":
        parts = [vd.records.Part(f"word {j}", f"word {j}", "word", f"word {j}") for j in range(WORDS)]
        columns = np.minimum(WORDS ** rng.random((n, 3 * PARTS)), WORDS - 1).astype(int)
        columns = np.stack([_first(row) for row in columns])
    else:
        parts = [vd.records.Part(f"x{j // 4} in {j % 4}", f"x{j // 4}", "=", j % 4) for j in range(4 * PARTS)]
        columns = 4 * np.arange(PARTS) + rng.integers(0, 4, (n, PARTS))
    weights = rng.normal(size=(n, PARTS))
    return vd.Explanations(
        tuple(
            replace(base, parts=tuple(parts[j] for j in own), weights=w)
            for own, w in zip(columns, weights, strict=True)
        )
    )


def _first(row: Any) -> Any:
    """Ten different words, those drawn first; words that are not drawn fill up."""
    found = list(dict.fromkeys([*row.tolist(), *range(PARTS)]))
    return np.array(found[:PARTS])


def plain(table: ExplanationMatrix) -> list[int]:
    """Greedy as it is written: all gains again at each step."""
    left, chosen = table.importance.copy(), list[int]()
    w = table.weights
    has = csr_matrix((np.ones(w.nnz), w.indices, w.indptr), shape=w.shape)
    for _ in range(BUDGET):
        gains = has @ left
        gains[chosen] = -1
        chosen.append(int(np.argmax(gains)))
        left[w.indices[w.indptr[chosen[-1]] : w.indptr[chosen[-1] + 1]]] = 0
    return chosen


def lazy(table: ExplanationMatrix) -> list[int]:
    """Greedy with a heap of upper bounds."""
    left, w, chosen = table.importance.copy(), table.weights, list[int]()
    has = csr_matrix((np.ones(w.nnz), w.indices, w.indptr), shape=w.shape)
    heap = [(-gain, i) for i, gain in enumerate((has @ left).tolist())]
    heapq.heapify(heap)
    while heap and len(chosen) < BUDGET:
        _, i = heapq.heappop(heap)
        own = w.indices[w.indptr[i] : w.indptr[i + 1]]
        fresh = -float(left[own].sum()), i
        if heap and fresh > heap[0]:
            heapq.heappush(heap, fresh)
            continue
        chosen.append(i)
        left[own] = 0
    return chosen


@dataclass(frozen=True)
class Ready:
    """An explanation as lime's pick sees it, and the explainer that hands it over."""

    listed: Sequence[Any]
    mode: str = "classification"

    def available_labels(self) -> list[int]:
        return [1]

    def as_list(self, label: int) -> Any:
        return self.listed

    def explain_instance(self, x: int, predict: Any, num_features: int, top_labels: int) -> Any:
        return self.listed[x]


def lime(explainer: Ready) -> list[int]:
    n = len(explainer.listed)
    return SubmodularPick(explainer, range(n), None, method="full", num_exps_desired=BUDGET).V


def measure(kind: str, n: int, repetitions: int, folder: Path) -> dict[str, Any]:
    many = made(kind, n)
    path = folder / f"{kind}-{n}.parquet"
    many.save(path)
    table = build_matrix(explanation_source(many).batches())
    work: dict[str, Callable[[], Any]] = {
        "ours": lambda: vd.pick(many, BUDGET),
        "file": lambda: vd.pick(path, BUDGET),
        "table": lambda: build_pick(table, greedy([table], BUDGET), draw_rows(table, BUDGET, SEED)),
        "plain": lambda: plain(table),
        "lazy": lambda: lazy(table),
    }
    if n <= LIME_MOST:
        listed = [Ready(list(zip(why.names, why.weights.tolist(), strict=True))) for why in many]
        work["lime"] = lambda: lime(Ready(listed))
    times: dict[str, list[float]] = {name: [] for name in work}
    found: dict[str, Any] = {}
    rng = np.random.default_rng(0)
    for repetition in range(repetitions):
        for name in rng.permutation(list(work)):
            if name != "lime" or repetition == 0 or times[name][0] < 20:
                times[name].append(seconds(lambda name=name: found.__setitem__(name, work[name]())))
    pick = found["ours"]
    spent = {f"{name}_s": float(np.median(times[name])) if name in times else None for name in (*work, "lime")}
    return {
        "kind": kind,
        "n": n,
        "parts": len(pick.names),
        **spent,
        "faster": None if spent["lime_s"] is None else spent["lime_s"] / spent["ours_s"],
        "as_plain": pick.chosen.tolist() == found["plain"] == found["lazy"],
        "share": float(pick.share[-1]),
        "share_random": float(pick.random[-1, 0] / pick.total),
        "share_lime": _share(table, found["lime"]) if "lime" in found else None,
    }


def _share(table: ExplanationMatrix, chosen: list[int]) -> float:
    importance = table.importance
    return float(measure_coverage(table, np.array(chosen), importance)[-1] / importance.sum())


def judge(rows: Sequence[dict[str, Any]]) -> list[Target]:
    largest = [row for row in rows if row["n"] == max(row["n"] for row in rows)]
    told = f"{largest[0]['n']:,} explanations, budget {BUDGET}"
    against = [row["faster"] for row in rows if row["faster"] is not None]
    equal = sum(row["as_plain"] for row in rows)
    return [
        at_most(f"seconds, {told}, most", WANTED, max(row["ours_s"] for row in largest)),
        Target(
            f"seconds, {told}, from the matrix, most", "", f"{max(row['table_s'] for row in largest):.3g}", True
        ),
        Target(f"seconds, {told}, from a file, most", "", f"{max(row['file_s'] for row in largest):.3g}", True),
        Target("the rows of plain and of lazy greedy", "all", f"{equal} of {len(rows)}", equal == len(rows)),
        Target(f"times faster than lime, {LIME_MOST:,} explanations, least", "", f"{min(against):.3g}", True),
    ]


def main(settings: argparse.Namespace) -> None:
    sizes = SIZES[:2] if settings.quick else SIZES
    repetitions = 2 if settings.quick else settings.repetitions
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(kind, n, repetitions, Path(folder)) for kind in ("bins", "words") for n in sizes]
    finish("pick", settings, rows, judge(rows))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--repetitions", type=int, default=7)
    main(parser.parse_args())
