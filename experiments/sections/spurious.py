"""The background as a shortcut: who shows it, what SSIM says of it, and what maps get that know nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections.markdown import count, table, target
from summary import paired, where

PAPER = {  # Table 2 of Adebayo et al. 2020: SSIM with the background, and with the map of the background alone
    "Grad": (0.62, 0.83),
    "SGrad": (0.63, 0.83),
    "SGradSQ": (0.063, 0.89),
    "VGrad": (0.075, 0.98),
    "InputGrad": (0.69, 0.85),
    "IntGrad": (0.7, 0.85),
    "EGrad": (0.63, 0.85),
    "LIME": (0.59, 0.88),
    "KSHAP": (0.58, 0.78),
    "GBP": (0.58, 0.82),
    "DConvNet": (0.6, 0.83),
    "LRP-EPS": (0.65, 0.85),
    "PNet": (0.51, 0.85),
    "PAttribution": (0.44, 0.8),
    "LRP-SPAF": (0.69, 0.85),
}
ASKING = ("LIME", "KSHAP")  # need outputs alone
NULLS = ("constant", "noise")
ALONE = 0.95
MODELS = {"bugged": "place tells the species", "clean": "either place"}


def tables(cells: Sequence[Cell]) -> str:
    good = paired_seeds(cells)
    failed = [f"* seed {cell['seed']}, {cell['network']}: {cell['error']}" for cell in cells if "error" in cell]
    pieces = [told(good), targets(good), models(good), ranking(good), words(good), likeness(good)] if good else []
    return "\n\n".join([*pieces, *(["Failed:", "\n".join(failed)] if failed else [])])


def told(cells: Sequence[Cell]) -> str:
    area = 100 * np.mean([cell["area"]["mean"] for cell in cells])
    return (
        f"{count(len(cells) // 2, 'seed')}, two networks each, {cells[0]['trained_on']} animals to train on, "
        f"{cells[0]['n']} pictures explained a seed; the background is {area:.0f} % of a picture."
    )


def paired_seeds(cells: Sequence[Cell]) -> list[Cell]:
    """The cells without an error whose twin has none either."""
    good = [cell for cell in cells if "error" not in cell]
    both = set.intersection(*({cell["seed"] for cell in where(good, network=name)} for name in MODELS))
    return [cell for cell in good if cell["seed"] in both]


def by_seed(cells: Sequence[Cell], model: str, method: str, measure: str) -> dict[Any, float]:
    """The mean over pictures, one a seed."""
    return {cell["seed"]: cell["methods"][method][measure]["mean"] for cell in where(cells, network=model)}


def gaps(cells: Sequence[Cell], method: str, measure: str = "parts") -> dict[Any, float]:
    """How much more of it lies on the background for the bugged network than for its twin, one a seed."""
    bugged, clean = (by_seed(cells, model, method, measure) for model in MODELS)
    return {seed: bugged[seed] - clean[seed] for seed in bugged}


def methods(cells: Sequence[Cell]) -> list[str]:
    """Those measured, by the difference between the networks, the largest first."""
    found = [name for name in cells[0]["methods"] if name not in NULLS]
    return sorted(found, key=lambda name: -float(np.mean(list(gaps(cells, name).values()))))


def targets(cells: Sequence[Cell]) -> str:
    alone = [cell["alone"] for cell in where(cells, network="bugged")]
    rows = [
        target(
            "the network with the shortcut, on places alone: right",
            f"≥ {ALONE:.0%}",
            f"{np.mean(alone):.1%}, the worst of {count(len(alone), 'seed')} {min(alone):.1%}",
            min(alone) >= ALONE,
        )
    ]
    for measure, said in (("parts", "of the weight of parts"), ("pixels", "of the attribution of pixels")):
        means = {name: float(np.mean(list(by_seed(cells, "bugged", name, measure).values()))) for name in PAPER}
        best = max((name for name in means if name not in ASKING), key=lambda name: means[name])
        gap = paired(*(by_seed(cells, "bugged", name, measure) for name in ("LIME", best)))
        rows.append(
            target(
                f"LIME's share on the background, {said}, less that of the best gradient method",
                "≥ 0",
                f"{best}, {interval(gap)}",
                gap is not None and gap[0] >= 0,
            )
        )
    return table(rows)


def models(cells: Sequence[Cell]) -> str:
    """How often each network is right."""
    rows = []
    for name, told in MODELS.items():
        row = {"network": name, "trained on": told}
        for key, said in (("as_trained", "own place"), ("swapped", "the other's place"), ("alone", "place alone")):
            row[f"right: {said}"] = f"{np.mean([cell[key] for cell in where(cells, network=name)]):.1%}"
        rows.append(row)
    return table(rows)


def ranking(cells: Sequence[Cell]) -> str:
    """Every method by ours: the share of the background for both networks, and the difference between them."""
    rows = []
    for i, name in enumerate([*methods(cells), *NULLS]):
        null = name in NULLS
        gap = gaps(cells, name)
        row = {"": "" if null else i + 1, "method": f"*{name}*" if null else name}
        row |= {model: f"{mean(by_seed(cells, model, name, 'parts')):.3f}" for model in MODELS}
        row["bugged - clean"] = interval(against_zero(gap))
        row["seeds > 0"] = f"{sum(each > 0 for each in gap.values())} of {len(gap)}"
        row["*shuffled*"] = f"{mean(by_seed(cells, 'bugged', name, 'parts, shuffled')):.3f}"
        row["*another*"] = f"{mean(by_seed(cells, 'bugged', name, 'parts, another')):.3f}"
        row["pixels: bugged"] = f"{mean(by_seed(cells, 'bugged', name, 'pixels')):.3f}"
        row["pixels: bugged - clean"] = interval(against_zero(gaps(cells, name, "pixels")))
        rows.append(row)
    return f"Share of the attribution on the background (of the same 32 parts for all):\n\n{table(rows)}"


def words(cells: Sequence[Cell]) -> str:
    """The ranking in words."""
    kinds: dict[str, list[str]] = {"shows": [], "little": [], "not": [], "wrong": []}
    for name in methods(cells):
        found = against_zero(gaps(cells, name))
        assert found is not None
        share = f"{name} ({mean(by_seed(cells, 'bugged', name, 'parts')):.0%}, {100 * found[0]:+.0f} points)"
        sure = found[1] > 0
        kind = "shows" if sure and found[0] >= 0.1 else "little" if sure else "wrong" if found[2] < 0 else "not"
        kinds[kind].append(share)
    said = {
        "shows": "Show the shortcut: at least ten points more of the weight on the background than for the twin",
        "little": "Show a little of it: surely more than for the twin, but by less than ten points",
        "not": "Do not show it: the interval of the difference holds 0",
        "wrong": "Mislead: surely less on the background than for the twin",
    }
    return "\n".join(f"* {said[kind]}: {', '.join(found)}." for kind, found in kinds.items() if found)


def likeness(cells: Sequence[Cell]) -> str:
    """Table 2: SSIM with both truths, with its standard error over pictures, beside four null rows."""
    rows = []
    for name in [*PAPER, *NULLS]:
        if name not in cells[0]["methods"]:
            continue
        row = {"method": f"*{name}*" if name in NULLS else name}
        for truth, at in (("gt1", 0), ("gt2", 1)):
            sem = np.mean([cell["methods"][name][truth]["sem"] for cell in where(cells, network="bugged")])
            row[truth.upper()] = f"{mean(by_seed(cells, 'bugged', name, truth)):.3f} ± {sem:.3f}"
            row[f"{truth.upper()}: clean"] = f"{mean(by_seed(cells, 'clean', name, truth)):.3f}"
            for null in ("shuffled", "another"):
                row[f"{truth.upper()}: *{null}*"] = (
                    f"{mean(by_seed(cells, 'bugged', name, f'{truth}, {null}')):.3f}"
                )
            row[f"{truth.upper()}: paper"] = f"{PAPER[name][at]:.2g}" if name in PAPER else ""
        row["GT1, signed"] = f"{mean(by_seed(cells, 'bugged', name, 'gt1 signed')):.3f}"
        row["GT1, signed: *shuffled*"] = f"{mean(by_seed(cells, 'bugged', name, 'gt1 signed, shuffled')):.3f}"
        rows.append(row)
    told = "SSIM with the background (GT1) and with the map of the background alone (GT2), of sizes and signed:"
    return f"{told}\n\n{table(rows)}"


def mean(values: dict[Any, float]) -> float:
    return float(np.mean(list(values.values())))


def against_zero(values: dict[Any, float]) -> tuple[float, float, float, int] | None:
    return paired(values, dict.fromkeys(values, 0.0))


def interval(found: tuple[float, float, float, int] | None) -> str:
    if found is None:
        return "–"
    return f"{found[0]:+.3f}" + ("" if np.isnan(found[1]) else f" [{found[1]:+.3f}, {found[2]:+.3f}]")


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    if found := paired_seeds(cells):
        drawing.save(dots(found), folder / "spurious.svg")


def dots(cells: Sequence[Cell]) -> Any:
    """The share of the background by method and network, with 95 % intervals over seeds."""
    from sections import drawing

    names = [*methods(cells), *NULLS]
    figure, panels = drawing.panels(2, 0.8 + 0.26 * len(names), wide=4.6)
    for panel, (measure, said) in zip(
        panels, {"parts": "of 32 parts", "pixels": "of pixels"}.items(), strict=True
    ):
        for model, color, aside in (("bugged", "C3", -0.12), ("clean", "C0", 0.12)):
            for y, name in enumerate(names):
                value, low, high, _ = against_zero(by_seed(cells, model, name, measure)) or (np.nan,) * 4
                panel.plot([low, high], [y + aside] * 2, "-", color=color, lw=1)
                panel.plot(value, y + aside, "o", color=color, ms=4, label=f"{model} network")
        area = float(np.mean([cell["area"]["mean"] for cell in cells]))
        panel.axvline(area, color="k", ls=":", lw=1, label="area of the background")
        panel.set_yticks(range(len(names)), names)
        panel.invert_yaxis()
        panel.set_xlabel(f"share on the background, {said}")
    drawing.key(figure, panels)
    return figure
