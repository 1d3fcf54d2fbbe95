"""Charts for papers: real matplotlib axes with ticks and labels, which align side by side and read at 8 points.

Nothing here shows a figure, and the current figure of pyplot stays what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from veridical.display import blocks, overviews
from veridical.display.boards import DARK, TONES, Face, Palette, face_of, palette_of
from veridical.display.explanations import bars_of, headed, split, waterfall
from veridical.display.figures import FIGURE, card
from veridical.display.terminal import cut
from veridical.display.words import joined, plain, value_words
from veridical.errors import InputError, require, safe_repr
from veridical.records import LOG_ODDS, Explanation, Explanations
from veridical.summaries.importances import Importance
from veridical.summaries.picks import Pick

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMN = 3.5  # inches: one column of a journal
FONT = 8.0  # points
LINE = 0.19  # inches from bar to bar
NAME = 30  # characters of a name
DOTS = 2000  # rows of a swarm
CAPTION, NONE = "caption", "none"


@dataclass(frozen=True, slots=True)
class ChartRequest:
    """What is to be drawn, and how."""

    kind: str
    top: int
    evidence: str
    column: str | None


Chart: TypeAlias = tuple[float, Callable[["Sheet"], None]]  # inches that it is high, and what draws it


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Axes, with the colors and fonts of their style."""

    ax: Any
    colors: Palette
    face: Face

    def text(self, text: str) -> str:
        """A foreign text that is drawn as it is: nothing in it is a formula, and what no font has is a box."""
        return self.face.drawable(text).replace("$", r"\$")

    def names(self, names: Sequence[str]) -> None:
        """Names at the left, the first at the top."""
        self.ax.set_yticks(range(len(names)), [self.text(cut(name, NAME)) for name in names], fontsize=FONT)
        self.ax.set_ylim(len(names) - 0.4, -0.6)
        self.ax.tick_params(axis="y", length=0)
        self.ax.tick_params(axis="x", labelsize=FONT)
        for side in ("top", "right", "left"):
            self.ax.spines[side].set_visible(False)

    def below(self, text: str, color: str, left: float = 0.02) -> None:
        """A line or two under the label of the axis, from the left of the figure, which leave room for themselves."""
        lines = text.count("\n") + 1
        self.ax.set_xlabel(self.ax.get_xlabel() + "\n" * lines + " ", fontsize=FONT)
        where: Any = ("figure fraction" if len(self.ax.figure.axes) == 1 else "axes fraction", "axes fraction")
        at = {"xy": (left, 0.0), "xytext": (left, -2.9 * FONT - 6), "xycoords": where}
        offset = (where[0], "offset points")
        note = self.ax.annotate(text, **at, textcoords=offset, fontsize=FONT - 0.5, color=color, va="top")
        note.set_in_layout(False)
        note.set_annotation_clip(False)

    def label(self, x: str = "", y: str = "", title: str = "") -> None:
        if x:
            self.ax.set_xlabel(self.text(x), fontsize=FONT)
        if y:
            self.ax.set_ylabel(self.text(y), fontsize=FONT)
        if title:
            self.ax.set_title(self.text(title), fontsize=FONT + 0.5, loc="left", wrap=True)


def plot(record: Any, ax: Axes | None, kind: str | None, top: int, evidence: str, column: str | None) -> Axes:
    """A record as a chart of this kind, in these axes or on a new figure."""
    known = KINDS.get(type(record), {})
    kinds = (*known, "card")
    wanted = kinds[0] if kind is None else kind
    if wanted not in kinds:
        near = _near(str(kind), kinds)
        raise InputError(
            f"{type(record).__name__} has no plot of kind {safe_repr(kind)}{near}: it has {', '.join(kinds)}"
        )
    if isinstance(top, bool) or not isinstance(top, (int, np.integer)) or top < 1:
        raise InputError(f"top must be a whole number from 1 on, not {safe_repr(top)}")
    if evidence not in (CAPTION, NONE):
        raise InputError(f'evidence is "caption" or "none", not {safe_repr(evidence)}')
    if wanted == "card":
        return card(record, ax)
    height, draw = known[wanted](record, ChartRequest(wanted, int(top), evidence, column))
    return _drawn(draw, height, ax)


def _near(wanted: str, known: Sequence[str]) -> str:
    """A name that is nearly the one that was asked for."""
    near = get_close_matches(wanted, known, 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _drawn(draw: Callable[[Sheet], None], height: float, ax: Any) -> Axes:
    """A chart in these axes, or on a new figure as wide as a column."""
    pyplot = require("matplotlib.pyplot", extra="plot") if ax is None else None
    if pyplot is not None:
        current = pyplot.gcf() if pyplot.get_fignums() else None
        figure = pyplot.figure(figsize=(COLUMN, height), layout="constrained")
        ax = figure.add_subplot()
        if current is not None:
            pyplot.figure(current.number)
    families = require("matplotlib", extra="plot").rcParams["font.family"]
    draw(Sheet(ax, palette_of(ax), face_of(families)))
    made: Axes = ax
    return made


def _in_order(draw: Callable[[Sheet], None], n: int, extra: float = 0.95) -> Chart:
    """A chart with so many lines under one another."""
    return extra + LINE * max(n, 2), draw


# ---- one explanation


def _caption(sheet: Sheet, e: Explanation) -> None:
    """The verdict and its three numbers below the axes."""
    judgment = headed(e, FIGURE)[1]
    numbers = " · ".join(f"{name} {value}" for name, value in judgment.numbers)
    tones = {"yes": sheet.colors.yes, "care": sheet.colors.care, "no": sheet.colors.no}
    tone = tones.get(blocks.TONES.get(judgment.label, ""), sheet.colors.gray)
    mark = sheet.face.drawable(blocks.MARKS[judgment.label])
    sheet.below(f"{mark} {judgment.said}" + (f"\n{numbers}" if numbers else ""), tone)


def _title(e: Explanation) -> str:
    return plain(joined(headed(e, FIGURE)[0].title), 120)


def _effect(e: Explanation) -> str:
    target = plain(e.target, 30)
    of = "" if e.target == "value" else f" for {target}"
    return f"effect on the log-odds{of}" if e.scale == LOG_ODDS else f"effect on the output{of}"


def _bar(e: Explanation, asked: ChartRequest) -> Chart:
    heavy, others = split(e, asked.top)
    bars = bars_of(e, heavy or others[: asked.top], FIGURE, None)

    def draw(sheet: Sheet) -> None:
        _bars(sheet, bars)
        sheet.label(_effect(e), title=_title(e))
        if asked.evidence == CAPTION:
            _caption(sheet, e)

    return _in_order(draw, len(bars.lines), 0.95 + 0.3 * (asked.evidence == CAPTION))


def _bars(sheet: Sheet, b: blocks.Bars) -> None:
    """Bars from zero with whiskers; those that may be zero are pale, those that lower the output hatched."""
    ax, colors = sheet.ax, sheet.colors
    for i, line in enumerate(b.lines):
        if not math.isfinite(line.value):
            continue
        own = colors.gray if b.sizes else colors.up if line.value > 0 else colors.down
        hatch = "////" if line.value < 0 and not b.sizes else None
        look = {
            "color": own,
            "alpha": 1.0 if line.clear else 0.35,
            "hatch": hatch,
            "edgecolor": "white",
            "linewidth": 0,
        }
        ax.barh([i], [line.value], height=0.62, **look)
        if line.ends:
            ax.plot(line.ends, [i, i], color=colors.ink, linewidth=0.9, solid_capstyle="butt")
    ax.axvline(0, color=colors.ink, linewidth=0.6)
    sheet.names([line.label for line in b.lines])


def _waterfall(e: Explanation, asked: ChartRequest) -> Chart:
    steps = waterfall(e, asked.top)
    lines = steps.lines

    def draw(sheet: Sheet) -> None:
        ax, colors = sheet.ax, sheet.colors
        for i, line in enumerate(lines):
            up = line.stop >= line.start
            look = {
                "color": colors.up if up else colors.down,
                "hatch": None if up else "////",
                "edgecolor": "white",
            }
            if line.total:
                look = {"color": colors.gray, "hatch": None, "edgecolor": "white"}
            ax.barh([i], [line.stop - line.start], left=[line.start], height=0.62, linewidth=0, **look)
            if i + 1 < len(lines):
                ax.plot([line.stop, line.stop], [i - 0.31, i + 1.31], color=colors.ink, linewidth=0.5)
        sheet.names([line.label for line in lines])
        sheet.label(steps.unit, title=_title(e))
        if asked.evidence == CAPTION:
            _caption(sheet, e)

    return _in_order(draw, len(lines), 0.95 + 0.3 * (asked.evidence == CAPTION))


def _curve(e: Explanation, asked: ChartRequest) -> Chart:
    """What other values of one feature would contribute, with its interval, and where the row itself lies."""
    known = {e.parts[curve.part].column: curve for curve in e.curves}
    if not known:
        raise InputError("this explanation has no curves: those of tables by Lime with surrogates.Additive have")
    heaviest = next(
        (e.parts[j].column for j in split(e, len(e.parts))[0] if e.parts[j].column in known), next(iter(known))
    )
    curve = known[_column(asked, list(known), heaviest)]
    name, own = e.parts[curve.part].column, e.values[curve.part] if e.values else None
    n = len(curve.values) - (curve.values[-1] is None)
    values, effects, ends = curve.values[:n], curve.effects[:n], curve.intervals[:n]

    def draw(sheet: Sheet) -> None:
        ax, colors = sheet.ax, sheet.colors
        ax.axhline(0, color=colors.ink, linewidth=0.6)
        if curve.numeric:
            xs = np.array(values, dtype=float)
            ax.fill_between(xs, *ends.T, color=colors.up, alpha=0.18, linewidth=0)
            ax.plot(xs, effects, color=colors.up, linewidth=1.2)
            if isinstance(own, (int, float)) and math.isfinite(own):
                ax.plot([own], [np.interp(own, xs, effects)], "o", color=colors.ink, markersize=4)
        else:
            where = np.arange(n)
            ax.bar(where, effects, width=0.6, color=[colors.up if x > 0 else colors.down for x in effects])
            ax.vlines(where, *ends.T, color=colors.ink, linewidth=0.9)
            ax.set_xticks(where, [sheet.text(cut(value_words(v), 12)) for v in values], fontsize=FONT, rotation=30)
        _open(sheet)
        sheet.label(name, _effect(e), _title(e))

    return 2.4, draw


def _open(sheet: Sheet) -> None:
    """Axes without a frame above and at the right, and small ticks."""
    sheet.ax.tick_params(labelsize=FONT)
    for side in ("top", "right"):
        sheet.ax.spines[side].set_visible(False)


def _column(asked: ChartRequest, known: Sequence[str], default: str) -> str:
    """The column that is asked for."""
    if asked.column is None:
        return default
    if asked.column not in known:
        raise InputError(f"no column {safe_repr(asked.column)} here{_near(str(asked.column), known)}")
    return asked.column


# ---- many


def _about(found: Importance) -> str:
    targets = f" for {plain(found.targets[0][0], 30)}" if len(found.targets) == 1 else ""
    return (
        f"{found.n_rows:,} explanations{targets}" if targets != " for value" else f"{found.n_rows:,} explanations"
    )


def _importance(found: Importance, asked: ChartRequest) -> Chart:
    bars = overviews.importance_bars(found, asked.top)

    def draw(sheet: Sheet) -> None:
        _bars(sheet, bars)
        sheet.label("importance: mean size of the weight", title=_about(found))

    return _in_order(draw, len(bars.lines))


def _beeswarm(found: Importance, asked: ChartRequest) -> Chart:
    some = overviews.spread(len(found.sample.numbers), DOTS)
    b = overviews.swarm(found, some, asked.top)

    def draw(sheet: Sheet) -> None:
        ax, shades = sheet.ax, TONES[sheet.colors.up == DARK.up]
        for i, line in enumerate(b.lines):
            colors = np.array([*shades, sheet.colors.gray])[line.tones]
            ax.scatter(
                line.xs,
                i - 0.38 * line.ys,
                s=3.5,
                c=colors,
                linewidths=0,
                alpha=0.8,
                rasterized=len(line.xs) > 500,
            )
        ax.axvline(0, color=sheet.colors.ink, linewidth=0.6)
        sheet.names([line.name for line in b.lines])
        sheet.label(
            "weight in each row", title=_about(found) + ("" if b.n_drawn == b.n_rows else f", {b.told} drawn")
        )
        if b.colored:
            for left, word, shade in ((0.02, "low", shades[0]), (0.18, "high value of the feature", shades[-1])):
                sheet.below(f"● {word}", shade, left)

    return _in_order(draw, len(b.lines))


def _dependence(found: Importance, asked: ChartRequest) -> Chart:
    valued = [
        found.columns[j]
        for j in range(found.sample.values.shape[1])
        if np.isfinite(found.sample.values[:, j]).any()
    ]
    if not valued:
        raise InputError("dependence plots need rows with values of their own, as those of tables are")
    name = _column(asked, valued, valued[0])
    j, sample = found.columns.index(name), found.sample
    xs, ys, levels = sample.values[:, j], sample.weights[:, j], sample.levels[j]

    def draw(sheet: Sheet) -> None:
        ax, colors = sheet.ax, sheet.colors
        ax.axhline(0, color=colors.ink, linewidth=0.6)
        shift = ((np.arange(len(xs)) * 0.618) % 1.0 - 0.5) * 0.5 if levels else 0.0
        side = np.where(ys > 0, colors.up, colors.down)
        ax.scatter(xs + shift, ys, s=5, c=side, linewidths=0, alpha=0.7, rasterized=len(xs) > 500)
        if levels:
            ax.set_xticks(range(len(levels)), [sheet.text(cut(value_words(v), 12)) for v in levels], rotation=30)
        _open(sheet)
        sheet.label(name, "weight", _about(found))

    return 2.4, draw


def _heatmap(found: Importance, asked: ChartRequest) -> Chart:
    b = overviews.heat(found, overviews.spread(len(found.sample.numbers), 200), (200, asked.top))
    if b is None:
        raise InputError("a heat map needs at least three rows with weights")

    def draw(sheet: Sheet) -> None:
        colors = require("matplotlib.colors", extra="plot")
        shades = colors.LinearSegmentedColormap.from_list(
            "veridical", [sheet.colors.down, "white", sheet.colors.up]
        )
        image = sheet.ax.imshow(
            b.strengths.T, cmap=shades, vmin=-1, vmax=1, aspect="auto", interpolation="nearest"
        )
        sheet.names(list(b.columns))
        sheet.ax.set_xticks([])
        bar = sheet.ax.figure.colorbar(image, ax=sheet.ax, ticks=[-1, 0, 1], fraction=0.05, pad=0.02)
        bar.ax.set_yticklabels(["lowers", "0", "raises"], fontsize=FONT - 1)
        sheet.label(f"{len(b.rows)} rows, alike ones beside each other", title=_about(found))

    return _in_order(draw, len(b.columns))


# ---- picks


def _coverage(p: Pick, asked: ChartRequest) -> Chart:
    """How much the picked rows cover, beside as many random ones."""
    total = p.total or 1.0

    def draw(sheet: Sheet) -> None:
        ax, colors, steps = sheet.ax, sheet.colors, np.arange(1, len(p.chosen) + 1)
        mean, spread = p.random.T / total
        ax.fill_between(steps, mean - spread, mean + spread, color=colors.gray, alpha=0.25, linewidth=0)
        ax.plot(steps, mean, color=colors.gray, linewidth=1, linestyle="--", label="random rows")
        ax.plot(steps, p.share, "o-", color=colors.up, linewidth=1.2, markersize=3, label="picked rows")
        ax.set_ylim(0, 1.02)
        ax.legend(fontsize=FONT - 1, frameon=False)
        _open(sheet)
        sheet.label("rows", "share of what counts that they cover")

    return 2.2, draw


def of_many(draw: Callable[[Importance, ChartRequest], Chart]) -> Callable[[Explanations, ChartRequest], Chart]:
    """The same of explanations in memory."""
    return lambda many, asked: draw(many.importance(), asked)


MANY: Mapping[str, Callable[[Importance, ChartRequest], Chart]] = {
    "bar": _importance,
    "beeswarm": _beeswarm,
    "dependence": _dependence,
    "heatmap": _heatmap,
}
KINDS: Mapping[type, Mapping[str, Callable[[Any, ChartRequest], Chart]]] = {  # and "card" of every record
    Explanation: {"bar": _bar, "waterfall": _waterfall, "dependence": _curve},
    Explanations: {kind: of_many(draw) for kind, draw in MANY.items()},
    Importance: MANY,
    Pick: {"coverage": _coverage},
}
