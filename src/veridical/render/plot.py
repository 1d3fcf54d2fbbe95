"""Explanations as matplotlib figures."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.errors import require
from veridical.records import Explanation, Floats
from veridical.render.maps import planes, reach, tinted
from veridical.render.words import asked_words, measured, number, plain, ranked, shorten, teller, unmeasured_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

UP, DOWN = "#2f7fc1", "#d9730d"  # blue and orange: told apart by every eye
MOST = 15  # parts drawn


def bars(explanation: Explanation, ax: Axes | None = None) -> Axes:
    """The heaviest parts as horizontal bars, with 95 % intervals as whiskers; a map of the picture beside them."""
    e, chosen, found = explanation, ranked(explanation, MOST), planes(explanation)
    if ax is None:
        pyplot = require("matplotlib.pyplot", extra="plot")
        wide, tall = 7.2, 1.9 + 0.34 * len(chosen)
        if found is None:
            _, ax = pyplot.subplots(figsize=(wide, tall), layout="constrained")
        else:
            options = {"figsize": (wide + 3.4, max(tall, 3.2)), "width_ratios": (wide, 3.4)}
            _, (ax, panel) = pyplot.subplots(1, 2, layout="constrained", **options)
            _map(panel, found[0])
    rows = np.arange(len(chosen))
    weights = e.weights[chosen]
    ax.barh(rows, weights, height=0.62, color=[UP if w > 0 else DOWN for w in weights])
    _whiskers(ax, e, chosen)
    ax.set_yticks(rows, [literal(e.parts[j].name, 34) for j in chosen])
    ax.set_ylim(max(len(chosen), 1) - 0.4, -0.6)  # the heaviest part on top
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    if chosen:
        ax.axvline(0, color=ink(ax), linewidth=0.8)
        ax.set_xlabel("weight, with 95 % interval")
    else:
        ax.set_xticks([])
        ax.text(0.5, 0.5, "no part has any weight", transform=ax.transAxes, ha="center", va="center")
    answers = f"model {number(e.prediction)}, {teller(e)} {number(e.local_prediction)}"
    title = textwrap.fill(f"Target {literal(e.target, 24)}: {answers}", 48)
    ax.set_title(title, loc="left", fontsize="medium", weight="bold")
    _caption(ax, e)
    return ax


def _map(panel: Any, values: Floats) -> None:
    """One number a place, right of the bars: blue raises the output, orange lowers it."""
    limit = reach(values)
    colors = require("matplotlib.colors", extra="plot").ListedColormap(tinted(np.linspace(-1, 1, 255), 1.0) / 255)
    panel.imshow(values, cmap=colors, vmin=-limit, vmax=limit, interpolation="nearest")
    panel.set_xticks([])
    panel.set_yticks([])
    panel.set_title(f"the map; deepest color at {number(limit)}", fontsize="small", loc="left")


def _whiskers(ax: Any, e: Explanation, chosen: list[int]) -> None:
    """Intervals as they are, even where they do not hold the weight; none where infinite."""
    known, color = measured(e), ink(ax)
    for row, j in enumerate(chosen):
        if known[j]:
            low, high = e.intervals[j]
            ax.plot([low, high], [row, row], color=color, linewidth=1.2, solid_capstyle="butt")
            ax.plot([low, high], [row, row], color=color, linestyle="none", marker="|", markersize=6)


def _caption(ax: Any, e: Explanation) -> None:
    """The verdict and what was not measured, below the axis."""
    mark = "Believe it" if e.verdict.passed else "Read with care"
    sentences = [f"{mark}: {plain(e.verdict.sentence, 400)}", unmeasured_words(e), asked_words(e)]
    lines = [s[0].upper() + s[1:] for s in sentences if s]
    caption(ax, lines, 72, -38 if len(ax.get_xticks()) else -8)


def caption(ax: Any, lines: Sequence[str], width: int, height: int) -> None:
    """Sentences under a figure, so many points above its lower edge, wrapped and taken literally."""
    ax.annotate(
        "\n".join(textwrap.fill(line, width) for line in lines).replace("$", r"\$"),
        (0, 0),
        (0, height),
        xycoords="axes fraction",
        textcoords="offset points",
        va="top",
        fontsize="small",
        color=ink(ax),
        annotation_clip=False,
    )


def literal(text: object, limit: int) -> str:
    """Foreign text that matplotlib takes literally, dollar signs and all."""
    return shorten(plain(text), limit).replace("$", r"\$")


def ink(ax: Any) -> Any:
    """The color of the text, so that lines can be seen in a dark style too."""
    return ax.xaxis.label.get_color()
