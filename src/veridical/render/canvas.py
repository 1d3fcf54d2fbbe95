"""What every drawn view is made of: a box with layers, shapes of parts, letters on them, and axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from veridical.render.marks import Marks
from veridical.render.markup import NONE, Markup, escape, minus, tag

Tick = tuple[float, str]  # where on the axis, from 0 to 1, and what it says


@dataclass(frozen=True, slots=True)
class Axes:
    """Ticks along a box."""

    x: Sequence[Tick] = ()
    y: Sequence[Tick] = ()  # from the bottom


@dataclass(frozen=True, slots=True)
class Stage:
    """A box on the page: layers over one another, and badges placed in shares of it."""

    size: tuple[float, float]  # of the coordinates of all layers
    layers: Sequence[Markup]
    badges: Sequence[Markup] = ()
    axes: Axes = field(default_factory=Axes)
    width: int = 0  # in pixels; 0: as wide as there is room
    height: int = 0  # in pixels, where the width is free


def drawn(stage: Stage) -> Markup:
    """The box with its axes."""
    w, h = stage.size
    shape = f"--w:{stage.width}px;--r:{w / h:.4f}" if stage.width else f"--h:{stage.height}px"
    plot = tag("div", {"class": "vd-plot", "style": shape}, *stage.layers, *stage.badges)
    room = "vd-stage" if stage.width else "vd-stage vd-wide"
    left = [tag("span", {"style": f"top:{100 * (1 - at):.1f}%"}, escape(minus(say))) for at, say in stage.axes.y]
    below = [tag("span", {"style": _place(at)}, escape(minus(say))) for at, say in stage.axes.x]
    ruler = tag("div", {"class": "vd-y", "aria-hidden": "true"}, *left) if left else NONE
    base = tag("div", {"class": "vd-x", "aria-hidden": "true"}, *below) if below else NONE
    return tag("div", {"class": f"{room} vd-ruled" if left else room}, ruler, plot, base)


def _place(at: float) -> str:
    """Where the middle of a tick's words stands; of the last, where they end, for they would stick out."""
    return f"left:{100 * at:.1f}%" if at < 0.97 else f"right:{100 * (1 - at):.1f}%;transform:none"


def layer(size: tuple[float, float], label: str, *inner: Markup, wash: str = "") -> Markup:
    """One drawing that fills the box; without a label it is decoration."""
    told: dict[str, object] = {"role": "img", "aria-label": label} if label else {"aria-hidden": "true"}
    box = {"viewBox": f"0 0 {size[0]:g} {size[1]:g}", "preserveAspectRatio": "none"}
    return tag("svg", {**told, **box, **({"class": wash} if wash else {})}, *inner)


def shape(marks: Marks, part: int, d: str) -> Markup:
    """The outline of a part, tinted by sign and strength, with its numbers to hover."""
    title = tag("title", {}, escape(marks.words(part), 200))
    attributes = {"class": f"vd-part {kind(marks, part)}", "style": strength(marks, part), "d": d}
    return tag("path", attributes, title)


def badge(marks: Marks, part: int, x: float, y: float) -> Markup:
    """The letter of a part at (x, y) in shares of the box, its numbers on hover and on focus."""
    if part not in marks.letters:
        return NONE
    flip = (" vd-flip" if x > 0.55 else "") + (" vd-rise" if y > 0.6 else "")
    attributes = {
        "class": f"vd-badge {kind(marks, part)}{flip}",
        "style": f"left:{100 * x:.1f}%;top:{100 * y:.1f}%",
        "tabindex": 0,
        "role": "img",
        "aria-label": f"{marks.letters[part]}: {marks.words(part)}",
    }
    return tag("span", attributes, escape(marks.letters[part]))


def letter(marks: Marks, part: int) -> Markup:
    """The letter of a part, before its name in the table."""
    return tag("span", {"class": f"vd-badge {kind(marks, part)}"}, escape(marks.letters[part]))


def kind(marks: Marks, part: int) -> str:
    """The classes of a part: its sign, and whether that is settled."""
    sign = "vd-up" if marks.strengths[part] > 0 else "vd-down"
    return sign if marks.sure[part] else f"{sign} vd-unsure"


def strength(marks: Marks, part: int) -> str:
    return f"--s:{abs(marks.strengths[part]):.2g}".replace("0.", ".")


def summary(marks: Marks, what: str, parts: Iterable[int]) -> str:
    """The text alternative of a drawing: what it shows, and its heaviest parts."""
    heaviest = "; ".join(f"{marks.letters.get(j, '')} {marks.words(j)}".strip() for j in list(parts)[:5])
    return f"{what}; {heaviest}" if heaviest else f"{what}; no part stands out"


def figure(caption: Markup, *inner: Markup) -> Markup:
    """A drawing under its name."""
    return tag("figure", {}, tag("figcaption", {}, caption) if caption else NONE, *inner)


def note(text: str) -> Markup:
    return tag("p", {"class": "vd-aside"}, escape(text, 200))


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high."""
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return [low] if math.isfinite(low) else []
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def with_unit(axis: Sequence[Tick], unit: str) -> list[Tick]:
    """Ticks of which the last names the unit."""
    return [*axis[:-1], *((at, f"{say} {unit}".strip()) for at, say in axis[-1:])]


def short(value: float) -> str:
    """A number on an axis."""
    if abs(value) >= 1000 and abs(value) < 1e6:
        return f"{value / 1000:.3g}k"
    return f"{value:.3g}" if value else "0"
