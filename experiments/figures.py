"""Figures of results/*.json: errors by method, coverage, numbers of groups, picks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("svg")
mpl.rcParams.update({"svg.hashsalt": "veridical", "svg.fonttype": "none", "font.size": 9})

import matplotlib.pyplot as plt  # noqa: E402  (after the backend is chosen)

from cells import Cell  # noqa: E402
from report import TITLES  # noqa: E402
from summary import OURS, by_split, distinct, where  # noqa: E402


def draw(records: Mapping[str, Mapping[str, Any]], folder: Path) -> None:
    """Every figure that there are results for."""
    for name, record in records.items():
        cells = [cell for cell in record["cells"] if "error" not in cell]
        if not cells:
            continue
        if record["experiment"] == "gime_tables":
            _save(errors(cells), folder / f"{name}.svg")
            _save(coverage(cells), folder / f"{name}-coverage.svg")
        elif record["experiment"] == "gime_ks":
            _save(numbers(cells), folder / f"{name}.svg")
        elif record["experiment"] == "sp_lime_scale":
            _save(picks(cells), folder / f"{name}.svg")


def errors(cells: Sequence[Cell]) -> Any:
    """A panel a set: the error of each method in each split, and the mean; the ceiling as an open mark."""
    names, methods = distinct(cells, "set"), distinct(cells, "method")
    figure, panels = _panels(len(names), 0.9 + 0.28 * len(methods))
    for panel, name in zip(panels, names, strict=True):
        for y, method in enumerate(methods):
            some = where(cells, set=name, method=method)
            if some:
                color = "C3" if method == OURS else "C0"
                values = list(by_split(some, "rmse").values())
                panel.plot(values, [y] * len(values), "o", color=color, alpha=0.4, ms=4)
                panel.plot(np.mean(values), y, "|", color=color, ms=14, mew=2)
                panel.plot(np.mean([c["hindsight"] for c in some]), y, "<", mfc="none", color="0.5", ms=5)
        panel.set_yticks(range(len(methods)), methods)
        panel.invert_yaxis()
        panel.set_title(TITLES[name])
        panel.set_xlim(left=0)
        panel.set_xlabel("error (◁ best group in hindsight)")
    return figure


def coverage(cells: Sequence[Cell]) -> Any:
    """A panel a set: the error on the instances that belong most surely, the mean over splits."""
    names, methods = distinct(cells, "set"), distinct(cells, "method")
    figure, panels = _panels(len(names), 2.6)
    for panel, name in zip(panels, names, strict=True):
        for i, method in enumerate(methods):
            some = where(cells, set=name, method=method)
            if some:
                shares, found = np.mean([cell["curve"] for cell in some], axis=0).T
                panel.plot(shares, found, f"C{i % 10}.-", lw=2 if method == OURS else 1, label=method)
        panel.set_title(TITLES[name])
        panel.set_ylim(bottom=0)
        panel.set_xlabel("share of the instances, the surest")
        panel.set_ylabel("error")
    _key(figure, panels)
    return figure


def numbers(cells: Sequence[Cell]) -> Any:
    """A panel a set: the error by number of groups, mean and spread over splits."""
    names, methods = distinct(cells, "set"), distinct(cells, "method")
    figure, panels = _panels(len(names), 2.8)
    for panel, name in zip(panels, names, strict=True):
        for i, method in enumerate(methods):
            ks = distinct(where(cells, set=name, method=method), "k")
            values = [list(by_split(where(cells, set=name, method=method, k=k), "rmse").values()) for k in ks]
            means, sds = np.array([np.mean(v) for v in values]), np.array([np.std(v) for v in values])
            panel.plot(ks, means, f"C{i % 10}.-", lw=2 if method == OURS else 1, label=method)
            panel.fill_between(ks, means - sds, means + sds, color=f"C{i % 10}", alpha=0.12, lw=0)
        panel.set_title(TITLES[name])
        panel.set_ylim(bottom=0)
        panel.set_xlabel("groups")
        panel.set_ylabel("error")
    _key(figure, panels)
    return figure


def picks(cells: Sequence[Cell]) -> Any:
    """What greedy and random picks cover, and how long a pick takes."""
    real, timed = [c for c in cells if "greedy" in c], [c for c in cells if "greedy" not in c]
    figure, panels = _panels(len(real) + bool(timed), 2.6)
    for panel, cell in zip(panels, real, strict=False):
        budget = np.arange(1, len(cell["greedy"]) + 1)
        mean, sd = np.array(cell["random"]), np.array(cell["random_sd"])
        panel.plot(budget, cell["greedy"], "C3", lw=2, label="greedy")
        panel.plot(budget, mean, "C0", label="at random")
        panel.fill_between(budget, mean - 2 * sd, mean + 2 * sd, color="C0", alpha=0.2, lw=0)
        panel.set_title(f"{cell['what']}, {cell['n']:,} explanations")
        panel.set_ylim(0, None)
        panel.set_xlabel("budget")
        panel.set_ylabel("share covered")
        panel.legend(frameon=False)
    if timed:
        for i, what in enumerate(distinct(timed, "what")):
            some = sorted(where(timed, what=what), key=lambda c: c["n"])
            panels[-1].loglog([c["n"] for c in some], [c["seconds"] for c in some], f"C{i}.-", label=what)
        panels[-1].set_title("budget 50")
        panels[-1].set_xlabel("explanations")
        panels[-1].set_ylabel("seconds")
        panels[-1].legend(frameon=False)
    return figure


def _panels(n: int, height: float) -> tuple[Any, list[Any]]:
    """Panels in rows of three."""
    columns = min(n, 3)
    lines = -(-n // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(3.4 * columns, height * lines), layout="constrained", squeeze=False
    )
    for axis in axes.ravel()[n:]:
        axis.remove()
    for axis in axes.ravel()[:n]:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, list(axes.ravel()[:n])


def _key(figure: Any, panels: Sequence[Any]) -> None:
    """One key for all panels, beside them: a method has the same color everywhere."""
    lines = {
        label: line for panel in panels for line, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(list(lines.values()), list(lines), loc="outside right upper", frameon=False)


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(f"Written: {path.parent.name}/{path.name}")
