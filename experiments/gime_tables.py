"""How well groups explain a model near new instances: every grouping method, on the sets of the GIME paper.

Three tables with an SVR and three sets of texts with a small network on TF-IDF. The fidelity is measured here, by
fidelity.py, on neighbors that the library never sees; every method gets the same splits and the same neighbors.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cells
import sets
from group_fidelity import fit, judge
from veridical.summaries.groupings import GROUPINGS

KEY = ("set", "k", "split", "method")


def measure(cell: cells.Cell, data: Path) -> dict[str, Any]:
    """One method on one split of one set."""
    problem = sets.load(cell["set"], cell["split"], data)
    grouping, cost = fit(problem, GROUPINGS[cell["method"]](), cell["k"])
    return {**judge(problem, grouping), **cost, "settings": grouping.recipe["method"]}


def plan(
    names: Sequence[str], ks: Sequence[int], splits: Sequence[int], methods: Sequence[str]
) -> list[cells.Cell]:
    """All cells, so ordered that a set and its model are made once."""
    return [
        {"set": name, "k": k, "split": split, "method": method}
        for name in names
        for split in splits
        for k in ks or [sets.SETS[name].k]
        for method in methods
    ]


def show(cell: cells.Cell) -> str:
    accuracy = f", accuracy {cell['accuracy']:.3f}" if "accuracy" in cell else ""
    return (
        f"rmse {cell['rmse']:.4f}{accuracy}, ceiling {cell['hindsight']:.4f}, {cell['seconds']:.1f} s, "
        f"{cell['calls']} calls, features {cell['line_features']} and {cell['region_features']}"
    )


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with tabular/, sentences/ and newsgroups20/")
    parser.add_argument("--set", nargs="+", choices=sets.SETS, default=list(sets.SETS), help="all by default")
    parser.add_argument("--methods", nargs="+", choices=GROUPINGS, default=list(GROUPINGS), help="all by default")
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--ks", nargs="+", type=int, default=[], help="numbers of groups; the paper's by default")
    parser.add_argument("--jobs", type=int, default=1, help="processes; processor time is of each alone")
    parser.add_argument(
        "--limit", type=int, default=1800, help="seconds after which a cell is given up; 0 is never"
    )
    parser.add_argument("--resume", action="store_true", help="leave what was measured without an error as it is")
    parser.add_argument("--out", type=Path, help="JSON file; cells of other runs in it stay")
    return parser


def main(settings: argparse.Namespace) -> None:
    try:
        sets.check(settings.set, settings.data)
    except sets.NoDataError as error:
        raise SystemExit(f"gime_tables: {error}") from None
    name = "gime_ks" if settings.ks else "gime_tables"
    results = cells.Results(settings.out or cells.FOLDER / f"{name}.json", name, KEY)
    results.commands = list(dict.fromkeys([*results.commands, cells.command(settings.data)]))
    wanted = plan(settings.set, settings.ks, settings.splits, settings.methods)
    cells.work(
        results,
        wanted,
        lambda cell: measure(cell, settings.data),
        resume=settings.resume,
        jobs=settings.jobs,
        limit=settings.limit,
        show=show,
    )
    print(f"{results.path}: {len(results.cells)} cells. Tables and figures: python experiments/report.py")


if __name__ == "__main__":
    main(arguments().parse_args())
