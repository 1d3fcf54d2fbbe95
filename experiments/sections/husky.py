"""The animal or the snow: what explanations show of the background, and who trusts the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections.markdown import table
from summary import distinct, paired, where

MODELS = {"bad": "snow always, or never", "good": "mixed backgrounds"}
METHODS = ("Lime", "Occlusion")
NULL = "shuffled Lime"
NULLS = ("random", "constant", NULL)


def tables(cells: Sequence[Cell]) -> str:
    pieces = []
    for features in distinct(cells, "features"):
        some = [cell for cell in where(cells, features=features) if "error" not in cell]
        if some:
            pieces += [
                f"Features: {features}; {told(some)}.",
                targets(some),
                verdicts(some),
                shares(some),
                pairs(some),
            ]
    failed = [f"* {c['features']}, {c['pair']}, seed {c['seed']}: {c['error']}" for c in cells if "error" in c]
    return "\n\n".join([*pieces, *(["Failed:", "\n".join(failed)] if failed else [])])


def told(cells: Sequence[Cell]) -> str:
    pictures = sum(len(cell["area"]) for cell in cells)
    return f"{len(distinct(cells, 'pair'))} pairs of breeds, {len(cells)} runs, {pictures} pictures explained"


def targets(cells: Sequence[Cell]) -> str:
    """What was wanted of LIME: that it tells the models apart, and that its readers do."""
    gap = paired(*(by_animal(cells, how, "shown", "Lime") for how in ("bad", "good")))
    by = {kind: {how: trusting(cells, how, kind) for how in MODELS} for kind in ("accuracy alone", "Lime", NULL)}
    apart = {kind: {run: two["good"][run] - two["bad"][run] for run in two["good"]} for kind, two in by.items()}
    none = dict.fromkeys(apart[NULL], 0.0)
    wanted = (
        ("background shown: of the bad model, less that of the good one", gap),
        ("raters who trust the good model, less those who trust the bad one", paired(apart["Lime"], none)),
        ("the same, less that of raters who see accuracy alone", paired(apart["Lime"], apart["accuracy alone"])),
        ("the same, less that of raters who see shuffled explanations", paired(apart["Lime"], apart[NULL])),
    )
    rows = []
    for what, found in wanted:
        if found is not None:
            rows.append({"target": what, "wanted": "> 0", "found": interval(found)})
            rows[-1]["met"] = "yes" if found[1] > 0 else "**no**"
    return table(rows)


def verdicts(cells: Sequence[Cell]) -> str:
    """How good the models are, and how many raters trust them: by accuracy, by explanations, by null rows."""
    rows = []
    for how, name in MODELS.items():
        row: dict[str, Any] = {"trained on": name}
        for key, said in (("as_trained", "right as trained"), ("accuracy", "right on mixed"), ("flips", "flips")):
            row[said] = percent([cell[how][key] for cell in cells])
        for kind in ("accuracy alone", *METHODS, *NULLS):
            row[f"trusted: {kind}"] = percent(list(trusting(cells, how, kind).values()))
        rows.append(row)
    return table(rows)


def shares(cells: Sequence[Cell]) -> str:
    """What methods and null rows show of the background, for both models, and the paired difference."""
    rows = []
    for metric, said in (("shown", "of the five regions shown"), ("mass", "of all weight")):
        for method in (*METHODS, *NULLS):
            values = {how: by_animal(cells, how, metric, method) for how in MODELS}
            name = method if method in METHODS else f"*{method}*"
            row = {"background's share": said, "explanation": name}
            row |= {how: f"{np.mean(list(found.values())):.3f}" for how, found in values.items()}
            row["bad minus good"] = interval(paired(values["bad"], values["good"]))
            row["bad minus area"] = interval(paired(values["bad"], areas(cells)))
            row["good minus area"] = interval(paired(values["good"], areas(cells)))
            rows.append(row)
    area = f"{np.mean(list(areas(cells).values())):.3f}"
    rows.append({"background's share": "of the picture (area)", "explanation": "", "bad": area, "good": area})
    return table(rows)


def by_animal(cells: Sequence[Cell], how: str, metric: str, method: str) -> dict[Any, float]:
    """The mean over the pictures of one animal, which are not independent; not measured is left out."""
    return _means(cells, [cell[how][metric][method] for cell in cells])


def areas(cells: Sequence[Cell]) -> dict[Any, float]:
    return _means(cells, [cell["area"] for cell in cells])


def _means(cells: Sequence[Cell], values: Sequence[Sequence[float | None]]) -> dict[Any, float]:
    """By pair and animal, over seeds and both backgrounds."""
    found: dict[Any, list[float]] = {}
    for cell, some in zip(cells, values, strict=True):
        for name, value in zip(cell["names"], some, strict=True):
            if value is not None:
                found.setdefault((cell["pair"], name), []).append(value)
    return {key: float(np.mean(each)) for key, each in found.items()}


def pairs(cells: Sequence[Cell]) -> str:
    rows = []
    for pair in distinct(cells, "pair"):
        some = where(cells, pair=pair)
        row: dict[str, Any] = {"breeds, the first on snow": pair.replace("/", ", ").replace("_", " ")}
        for how in MODELS:
            row[f"{how}: right"] = f"{np.mean([c[how]['accuracy'] for c in some]):.0%}"
            row[f"{how}: by snow"] = f"{np.mean([c[how]['follows'] for c in some]):.0%}"
            trusted = [[c[how]["raters"][kind] for c in some] for kind in ("accuracy alone", "Lime")]
            row[f"{how}: trusted of 27"] = " → ".join(f"{np.mean(t):.1f}" for t in trusted)
        gap = paired(*(by_animal(some, how, "shown", "Lime") for how in ("bad", "good")))
        rows.append({**row, "shown, bad minus good": interval(gap)})
    return table(rows)


def interval(found: tuple[float, float, float, int] | None) -> str:
    return "–" if found is None else f"{found[0]:+.3f} [{found[1]:+.3f}, {found[2]:+.3f}]"


def trusting(cells: Sequence[Cell], how: str, kind: str) -> dict[Any, float]:
    """The share of raters who trust a model, by run."""
    return {(c["pair"], c["seed"]): c[how]["raters"][kind] / c[how]["raters"]["n"] for c in cells}


def mean_of(values: Mapping[Any, float]) -> tuple[float, float, float] | None:
    """The mean with its 95 % interval."""
    found = paired(dict(values), dict.fromkeys(values, 0.0))
    return None if found is None else found[:3]


def percent(values: Sequence[float]) -> str:
    """The mean over runs, with a 95 % interval."""
    found = mean_of(dict(enumerate(values)))
    if found is None or np.isnan(found[1]):
        return f"{np.mean(values):.0%}"
    return f"{found[0]:.0%} [{max(found[1], 0):.0%}, {min(found[2], 1):.0%}]"


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    drawing.save(dots(cells), folder / "husky.svg")
    drawing.save(bars(cells), folder / "husky-trust.svg")


def dots(cells: Sequence[Cell]) -> Any:
    """The share of the background in what is shown, by pair and model, with 95 % intervals over animals."""
    from sections import drawing

    kinds, names = distinct(cells, "features"), distinct(cells, "pair")
    figure, panels = drawing.panels(len(kinds), 0.8 + 0.42 * len(names), wide=7.5)
    for panel, features in zip(panels, kinds, strict=True):
        for y, pair in enumerate(names):
            _dots_of(panel, y, where(cells, features=features, pair=pair))
        panel.set_yticks(range(len(names)), [name.replace("/", " / ").replace("_", " ") for name in names])
        panel.invert_yaxis()
        panel.set_xlim(0, 1)
        panel.set_xlabel("background, of the five heaviest regions in favor")
        panel.set_title(features)
    drawing.key(figure, panels)
    return figure


def _dots_of(panel: Any, y: int, cells: Sequence[Cell]) -> None:
    """One pair: both models, a random explanation, and the area of the background."""
    rows = {
        "bad model": by_animal(cells, "bad", "shown", "Lime"),
        "good model": by_animal(cells, "good", "shown", "Lime"),
        "random explanation": by_animal(cells, "bad", "shown", "random"),
    }
    for at, (row, color) in enumerate(zip(rows, ("C3", "C0", "0.6"), strict=True)):
        found = mean_of(rows[row])
        if found is not None:
            mean, low, high = found
            place = y + 0.2 * (at - 1)
            panel.plot([low, high], [place, place], "-", color=color)
            panel.plot(mean, place, "o", color=color, ms=4, label=row)
    if cells:
        area = float(np.mean(list(areas(cells).values())))
        panel.plot([area, area], [y - 0.35, y + 0.35], "k:", lw=1, label="area of the background")


def bars(cells: Sequence[Cell]) -> Any:
    """Raters who trust each model: by accuracy alone, and with explanations or null rows beside it."""
    from sections import drawing

    kinds, rows = distinct(cells, "features"), ("accuracy alone", *METHODS, *NULLS)
    figure, panels = drawing.panels(len(kinds), 2.6, wide=6.0)
    for panel, features in zip(panels, kinds, strict=True):
        some = where(cells, features=features)
        for how, color, aside in (("bad", "C3", -0.2), ("good", "C0", 0.2)):
            for x, kind in enumerate(rows):
                mean, low, high = mean_of(trusting(some, how, kind)) or (np.nan,) * 3
                panel.bar(x + aside, mean, 0.38, color=color, alpha=0.8, label=f"{how} model")
                panel.plot([x + aside] * 2, [max(low, 0), min(high, 1)], "k-", lw=1)
        panel.set_xticks(range(len(rows)), [row.replace(" ", "\n") for row in rows], fontsize=8)
        panel.set_ylabel("raters who trust it")
        panel.set_ylim(0, 1)
        panel.set_title(features)
    drawing.key(figure, panels)
    return figure
