"""Layers re-initialized from the top down: Figure 7 of Adebayo et al. 2020, beside null rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cells import Cell
from sections import likenesses
from sections.likenesses import MEASURES
from sections.markdown import count, table
from summary import distinct, where

NETWORKS = {"lite0": "EfficientNet-Lite0", "untrained": "a network that was never trained"}


def tables(cells: Sequence[Cell]) -> str:
    good = [cell for cell in cells if "error" not in cell]
    pieces = []
    for network, name in NETWORKS.items():
        for mode in distinct(where(good, network=network), "mode"):
            some = where(good, network=network, mode=mode)
            pieces += [f"**{name}, {mode}**; {told(some)}.", predictions(some)]
            for measure in ("rank_signed", "ssim_abs"):
                pieces.append(f"{MEASURES[measure]} with the first map:\n\n{steps(some, measure)}")
            for measure in ("rank_abs", "ssim_signed"):
                pieces.append(likenesses.folded(f"{MEASURES[measure]}", steps(some, measure)))
            pieces.append(
                likenesses.folded(
                    "calibrated, rank correlation, signed: 0 as a map that knows nothing, 1 as itself",
                    scaled(some),
                )
            )
    failed = likenesses.failures(cells, ("network", "mode", "method", "seed"))
    return "\n\n".join([*pieces, *(["Failed:", failed] if failed else [])])


def told(cells: Sequence[Cell]) -> str:
    return f"{cells[0]['n']} pictures, {count(len({cell['seed'] for cell in cells}), 'seed')}"


def stages(cells: Sequence[Cell]) -> list[str]:
    return [step["stage"] for step in cells[0]["steps"]]


def at(cells: Sequence[Cell], i: int) -> list[Any]:
    return [cell["steps"][i] for cell in cells]


def predictions(cells: Sequence[Cell]) -> str:
    """What becomes of the prediction itself."""
    by_seed = list({cell["seed"]: cell for cell in cells}.values())
    rows = []
    for key, said in (("same", "class stays"), ("after", "probability of the first class")):
        row: dict[str, Any] = {"prediction": said}
        row["as it was"] = "100%" if key == "same" else f"{np.mean([s['before'] for s in at(by_seed, 0)]):.0%}"
        row |= {s: f"{np.mean([c[key] for c in at(by_seed, i)]):.0%}" for i, s in enumerate(stages(cells))}
        rows.append(row)
    return table(rows)


def steps(cells: Sequence[Cell], measure: str) -> str:
    """A method a line, a step a column; the null rows are of the last step."""
    rows = []
    for method, some in likenesses.by_method(cells).items():
        row: dict[str, Any] = {"method": method}
        row |= {s: likenesses.plain(at(some, i), "observed", measure) for i, s in enumerate(stages(some))}
        last = at(some, -1)
        row["± at the last"] = f"{likenesses.pooled(last, 'observed', measure)[1]:.3f}"
        row |= {f"*{told}*": likenesses.plain(last, null, measure) for null, told in likenesses.NULLS.items()}
        rows.append(row)
    return table(rows)


def scaled(cells: Sequence[Cell]) -> str:
    rows = []
    for method, some in likenesses.by_method(cells).items():
        shown = {s: likenesses.calibrated(at(some, i), "rank_signed") for i, s in enumerate(stages(some))}
        rows.append({"method": method, **shown})
    return table(rows)


def figures(cells: Sequence[Cell], folder: Path) -> None:
    from sections import drawing

    for measure in ("rank_signed", "ssim_abs"):
        kinds = [(n, m) for n in NETWORKS for m in distinct(where(cells, network=n), "mode")]
        figure, panels = drawing.panels(len(kinds), 3.4, wide=4.2)
        for panel, (network, mode) in zip(panels, kinds, strict=True):
            _lines(panel, where(cells, network=network, mode=mode), measure)
            panel.set_title(f"{NETWORKS[network]},\n{mode}", fontsize=9)
            panel.set_ylabel(MEASURES[measure])
        drawing.key(figure, panels)
        drawing.save(figure, folder / f"randomize-{measure.replace('_', '-')}.svg")


def _lines(panel: Any, cells: Sequence[Cell], measure: str) -> None:
    names = stages(cells)
    for j, (method, some) in enumerate(likenesses.by_method(cells).items()):
        values = [likenesses.pooled(at(some, i), "observed", measure)[0] for i in range(len(names))]
        style = ("-", "--", ":")[j // 5]
        panel.plot(range(-1, len(names)), [1.0, *values], style, color=f"C{j % 5}", lw=1.3, label=method)
    chance = [
        np.mean([likenesses.pooled(at(some, i), "another", measure)[0]
                 for some in likenesses.by_method(cells).values()]) for i in range(len(names))
    ]  # fmt: skip
    panel.plot(range(len(names)), chance, "-", color="0.75", lw=4, zorder=0, label="another picture's map, mean")
    panel.set_xticks(range(-1, len(names)), ["as it was", *names], rotation=60, fontsize=7)
