"""Recall of used words: by domain, model and method, as Figures 6 and 7 of the LIME paper have it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cells import Cell
from faithfulness import METHODS
from review_models import SPARSE
from reviews import DOMAINS
from sections.markdown import count, number, percent, table, target
from summary import over_splits, where

OURS = "ours"
PUBLISHED = {  # recall in percent, by domain and model
    ("books", "sparse regression"): {"random": 17.4, "parzen": 72.8, "greedy": 64.3, "LIME": 92.1},
    ("books", "tree"): {"random": 20.6, "parzen": 78.9, "greedy": 37.0, "LIME": 97.0},
    ("dvd", "sparse regression"): {"random": 19.2, "parzen": 60.8, "greedy": 63.4, "LIME": 90.2},
    ("dvd", "tree"): {"random": 17.4, "parzen": 80.6, "greedy": 47.6, "LIME": 97.8},
}
WANTED = {  # of our method: which score of a model, at least
    "sparse regression": ("recall", 99.5),
    "tree": ("known", 98.0),
    "tree, depth 20": ("recall", 98.0),
    "tree, depth 10": ("recall", 98.0),
}
ENSEMBLES = ("forest", "boosted trees")  # they use more than ten words, so lists are as long as that
LIMITS = {
    "ceiling": "*used words that can matter*",
    "with_luck": "*and luck with the others*",
    "by_chance": "*ten words by chance*",
}
TOLD = {"recall": "recall", "known": "recall of reachable words"}


def tables(cells: Sequence[Cell]) -> str:
    pieces = [targets(cells)]
    for domain, title in DOMAINS.items():
        some = where(cells, domain=domain)
        if some:
            pieces += [
                f"{title}, % of the used words (forest, boosted trees: in lists of their number):",
                recalls(some),
            ]
    pieces += ["The unlimited tree by split, %:", splits(where(cells, model="tree")), costs(cells)]
    failed = [
        f"* {c['domain']}, {c['model']}, split {c['split']}, {c['method']}: {c['error']}"
        for c in cells
        if "error" in c
    ]
    return "\n\n".join([*pieces, *(["Failed:\n\n" + "\n".join(failed)] if failed else [])])


def field_of(model: str) -> str:
    """The score that is shown of a model."""
    return "precision" if model in ENSEMBLES else "recall"


def recalls(cells: Sequence[Cell]) -> str:
    """Methods by models, in one domain."""
    domain = cells[0]["domain"]
    models = [model for model in SPARSE if where(cells, model=model)]
    rows = []
    for method in (method for method in METHODS if where(cells, method=method)):
        rows.append(
            {"method": method, **{m: percent(where(cells, model=m, method=method), field_of(m)) for m in models}}
        )
    for method in ("random", "parzen", "greedy", "LIME"):
        known = {m: PUBLISHED.get((domain, m), {}).get(method, "") for m in models}
        rows.append({"method": f"*{method}, published*", **known})
    for key, told in LIMITS.items():
        found = {m: percent(_once(where(cells, model=m)), key) for m in models if m not in ENSEMBLES}
        rows.append({"method": told, **found})
    return table(rows)


def _once(cells: Sequence[Cell]) -> list[Cell]:
    """One cell a split, for what does not depend on the method."""
    return list({cell["split"]: cell for cell in cells if "error" not in cell}.values())


def splits(cells: Sequence[Cell]) -> str:
    """The unlimited tree: what can be known in each split, and what is."""
    rows = []
    for domain, title in DOMAINS.items():
        for cell in sorted(where(cells, domain=domain, method=OURS), key=lambda c: c["split"]):
            if "error" not in cell:
                keys = {
                    "can matter": "ceiling",
                    "with luck": "with_luck",
                    "recall": "recall",
                    "of reachable words": "known",
                    "answers never change": "constant",
                    "accuracy of the tree": "accuracy",
                }
                told = {name: f"{100 * cell[key]:.1f}" for name, key in keys.items()}
                rows.append({"domain": title, "split": cell["split"], **told})
    return table(rows)


def costs(cells: Sequence[Cell]) -> str:
    """What a method asks of the model, and how long it takes."""
    rows = []
    for method in METHODS:
        some = [cell for cell in where(cells, method=method) if "error" not in cell]
        if some:
            calls, ms = (sum(cell[key] for cell in some) / len(some) for key in ("calls", "ms"))
            n = sum(cell["n"] for cell in some)
            rows.append({"method": method, "explanations": f"{n:,}", "calls": number(calls), "ms": number(ms)})
    return table(rows)


def targets(cells: Sequence[Cell]) -> str:
    """What was wanted of our method, and whether it was found."""
    rows = []
    for model, (field, least) in WANTED.items():
        for domain, title in DOMAINS.items():
            some = where(cells, domain=domain, model=model, method=OURS)
            mean, half = over_splits(some, field)
            if mean == mean:
                found = f"{100 * mean:.1f} ± {100 * half:.1f}, {count(len(some), 'split')}"
                rows.append(target(f"{title}, {model}: {TOLD[field]}", f"≥ {least}", found, 100 * mean >= least))
    ours = [c for c in where(cells, method=OURS) if "error" not in c]
    over, n = (sum(c[key] for c in ours) for key in ("over", "n"))
    return table([*rows, target("more than 2,048 calls", "none", f"{over} of {n:,}", not over)])


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    for domain in DOMAINS:
        some = where(cells, domain=domain)
        if some:
            drawing.save(bars(some), folder / f"faithfulness-{domain}.svg")


def bars(cells: Sequence[Cell]) -> Any:
    """A panel a model: the recall of each method with its 95 % interval; what is published as a mark."""
    from sections import drawing

    domain = cells[0]["domain"]
    models = [model for model in SPARSE if where(cells, model=model)]
    methods = [method for method in METHODS if where(cells, method=method)]
    figure, panels = drawing.panels(len(models), 2.4)
    for panel, model in zip(panels, models, strict=True):
        for x, method in enumerate(methods):
            mean, half = over_splits(where(cells, model=model, method=method), field_of(model))
            if mean == mean:
                color = "C3" if method.startswith(OURS) else "C0"
                panel.bar(
                    x, 100 * mean, color=color, alpha=0.75, yerr=100 * half if half == half else None, capsize=3
                )
                panel.text(x, 3, f"{100 * mean:.1f}", ha="center", color="white", fontsize=8)
            known = PUBLISHED.get((domain, model), {}).get(method)
            if known is not None:
                panel.plot(x, known, "_", color="k", ms=18)
        luck = over_splits(_once(where(cells, model=model)), "with_luck")[0]
        if model not in ENSEMBLES:
            panel.axhline(100 * luck, color="0.5", lw=0.8, ls=":")
        panel.set_xticks(range(len(methods)), methods, rotation=30, ha="right")
        panel.set_ylim(0, 105)
        panel.set_title(f"{DOMAINS[domain]}, {model}")
        panel.set_ylabel("% in lists of their number" if model in ENSEMBLES else "% found")
    return figure
