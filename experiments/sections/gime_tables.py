"""Groups on the sets of the GIME paper: targets, errors, differences, costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections.markdown import number, spread, table
from summary import OURS, by_split, distinct, paired, where

TITLES = {
    "auto": "AutoMPG",
    "wine": "Wine",
    "communities": "Communities",
    "communities-dense": "Communities, not sparse",
    "newsgroups": "20 newsgroups",
    "subjectivity": "Subjectivity",
    "polarity": "Polarity",
}
# what issue and card ask of our method: error at most, and at most so many times GIME's
WANTED = {
    "wine": (0.205, 0.92),
    "auto": (0.122, 0.88),
    "communities": (0.235, 0.90),
    "communities-dense": (0.19, None),
}
RIVALS = ("lime", "etc", "cte", "maple")  # of the texts
DETAILS = {
    "hindsight": "ceiling",
    "calls_a_row": "calls a row",
    "seconds": "seconds",
    "model_seconds": "of these the model",
    "line_features": "features of an explanation, most",
    "region_features": "of a region, most",
    "groups_used": "groups used",
}


def tables(cells: Sequence[Cell]) -> str:
    pieces = [targets(cells), "Error:", fidelity(cells, "rmse"), differences(cells, "rmse")]
    if any("accuracy" in cell for cell in cells):
        pieces += ["Accuracy:", fidelity(cells, "accuracy"), differences(cells, "accuracy")]
    return "\n\n".join([*pieces, details(cells)])


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    drawing.save(errors(cells), folder / "gime_tables.svg")
    drawing.save(coverage(cells), folder / "gime_tables-coverage.svg")


def targets(cells: Sequence[Cell]) -> str:
    """What was wanted of our method, and whether it was found."""
    rows = []
    for name, (most, times) in WANTED.items():
        ours = by_split(where(cells, set=name, method=OURS), "rmse")
        if not ours:
            continue
        mean = float(np.mean(list(ours.values())))
        rows.append(_target(f"{TITLES[name]}: error", f"≤ {most}", f"{mean:.3f}", mean <= most))
        gime = by_split(where(cells, set=name, method="gime"), "rmse")
        if times is not None and gime.keys() >= ours.keys():
            ratio = mean / float(np.mean([gime[split] for split in ours]))
            rows.append(_target(f"{TITLES[name]}: times GIME's", f"≤ {times}", f"{ratio:.3f}", ratio <= times))
    for name in distinct(cells, "set"):
        rows += _ahead(where(cells, set=name), name)
    wine = list(by_split(where(cells, set="wine", method=OURS), "seconds").values())
    if wine:
        rows.append(_target("Wine: seconds of a fit, most", "≤ 20", f"{max(wine):.1f}", max(wine) <= 20))
    return table(rows)


def _ahead(cells: Sequence[Cell], name: str) -> list[dict[str, str]]:
    """Is our mean the best of all (tables), or of the paper's baselines (texts), by error and by accuracy?"""
    rows = []
    text = any("accuracy" in cell for cell in cells)
    rivals = [m for m in distinct(cells, "method") if m != OURS and (not text or m in RIVALS)]
    for field, sign in (("rmse", 1), ("accuracy", -1)):
        ours = by_split(where(cells, method=OURS), field)
        gaps = {m: paired(ours, by_split(where(cells, method=m), field)) for m in rivals}
        known = {m: sign * gap[0] for m, gap in gaps.items() if gap is not None}
        if ours and known:
            closest = max(known, key=lambda m: known[m])
            low, high = gaps[closest][1:3]  # type: ignore[index]
            told = f"{closest}, {sign * known[closest]:+.3f} [{low:+.3f}, {high:+.3f}]"
            what = f"{TITLES[name]}: {'error' if field == 'rmse' else 'accuracy'} against the closest"
            rows.append(_target(what, "ahead", told, known[closest] < 0))
    return rows


def _target(what: str, wanted: str, found: str, met: bool) -> dict[str, str]:
    return {"target": what, "wanted": wanted, "found": found, "met": "yes" if met else "**no**"}


def fidelity(cells: Sequence[Cell], field: str) -> str:
    """Methods by sets."""
    having = [name for name in distinct(cells, "set") if any(field in c for c in where(cells, set=name))]
    rows = [
        {"method": m, **{TITLES[s]: spread(where(cells, set=s, method=m), field) for s in having}}
        for m in distinct(cells, "method")
    ]
    if field == "rmse":
        ours = {TITLES[s]: spread(where(cells, set=s, method=OURS), "hindsight") for s in having}
        rows.append({"method": f"*{OURS}, best of its groups in hindsight*", **ours})
        for key, told in (("constant", "*a constant*"), ("model", "*the model itself, on the target*")):
            rows.append({"method": told, **{TITLES[s]: _once(where(cells, set=s), key) for s in having}})
    return table(rows)


def _once(cells: Sequence[Cell], field: str) -> str:
    """A field that does not depend on the method."""
    return spread(list({cell["split"]: cell for cell in cells if field in cell}.values()), field)


def differences(cells: Sequence[Cell], field: str) -> str:
    """Our method minus each other one, over the same splits."""
    having = [name for name in distinct(cells, "set") if any(field in c for c in where(cells, set=name))]
    rows = []
    for method in distinct(cells, "method"):
        if method == OURS:
            continue
        row = {f"{OURS} minus": method}
        for name in having:
            ours, other = (by_split(where(cells, set=name, method=m), field) for m in (OURS, method))
            found = paired(ours, other)
            row[TITLES[name]] = "–" if found is None else f"{found[0]:+.3f} [{found[1]:+.3f}, {found[2]:+.3f}]"
        rows.append(row)
    return table(rows)


def details(cells: Sequence[Cell]) -> str:
    """What each fit cost and used, means over splits."""
    rows = []
    for name in distinct(cells, "set"):
        for method in distinct(cells, "method"):
            some = [c for c in where(cells, set=name, method=method) if "rmse" in c]
            if some:
                means = {told: number(float(np.mean([c[key] for c in some]))) for key, told in DETAILS.items()}
                rows.append({"set": TITLES[name], "method": method, **means})
    failed = [f"* {c['set']}, split {c['split']}, {c['method']}: {c['error']}" for c in cells if "error" in c]
    whole = f"<details><summary>Costs, ceilings and sparsity</summary>\n\n{table(rows)}\n\n</details>"
    return whole + ("\n\nFailed:\n\n" + "\n".join(failed) if failed else "")


def errors(cells: Sequence[Cell]) -> Any:
    """A panel a set: the error of each method in each split, and the mean; the ceiling as an open mark."""
    from sections import drawing

    names, methods = distinct(cells, "set"), distinct(cells, "method")
    figure, panels = drawing.panels(len(names), 0.9 + 0.28 * len(methods))
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
    from sections import drawing

    names, methods = distinct(cells, "set"), distinct(cells, "method")
    figure, panels = drawing.panels(len(names), 2.6)
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
    drawing.key(figure, panels)
    return figure
