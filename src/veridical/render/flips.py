"""Curves of flipped decisions and examples of known causes, as markup."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from veridical.evaluate.records import Curve, Example, Report
from veridical.records import Explanation, View
from veridical.render import sound
from veridical.render.canvas import Axes, Stage, drawn, figure, layer
from veridical.render.marks import letters
from veridical.render.markup import NONE, Markup, escape, join, minus, spaced, tag
from veridical.render.views import bare
from veridical.render.waves import heard
from veridical.render.words import listing, number, percent, plain

Draw: TypeAlias = Callable[[Explanation, bool], str]  # an explanation, and whether with its picture

HIGH = 250  # pixels of a chart
COLORS = 8  # that lines have before they repeat
MOST_LINES = 16
SETTLED = 0.995  # of all lines, from which on the rest of a chart shows nothing new
TOLD = (1, 3, 5)  # k that the text alternative names
MOST_VIEWS = 3  # examples whose pictures are drawn
SAYS = "Share of decisions that are the wrong one if only the k heaviest parts are changed, for k from 0 on"


def chart(report: Report, cause: str) -> Markup:
    """The curves of one kind of cause: methods in color with a letter each, other rows without."""
    found = {c.method: c for c in report.curves if c.cause == cause and np.isfinite(c.rate).any()}
    if not found:
        return NONE
    k = reach_of(list(found.values()))
    size, named = (float(k), 1.0), [name for name in report.methods if name in found][:MOST_LINES]
    keys = dict(zip(named, letters(len(named)), strict=True))
    others = [name for name in (*report.references, *report.nulls) if name in found]
    looks = {name: f"vd-line vd-c{i % COLORS}" for i, name in enumerate(named)}
    looks |= {name: f"vd-line {_look(report, name)}" for name in others}
    lines = [tag("path", {"class": looks[name], "d": _path(found[name], k)}) for name in reversed(looks)]
    label = f"{SAYS}; {'; '.join(_words(found[name]) for name in looks)}"
    axes = Axes([(i / k, str(i)) for i in steps(k)], [(y, percent(y)) for y in (0.0, 0.25, 0.5, 0.75, 1.0)])
    badges = [_badge(found[name], keys[name], i, (k, len(named))) for i, name in enumerate(named)]
    body = drawn(Stage(size, [layer(size, label, *lines)], badges, axes, height=HIGH))
    entries = [_entry(looks[name], keys.get(name, ""), name) for name in looks]
    legend = tag("p", {"class": "vd-key"}, *spaced(*entries))
    inner = tag("div", {"class": "vd-curves"}, figure(escape(SAYS, 200), body), legend)
    return tag("div", {"class": "vd-view"}, inner)


def examples(report: Report, draw: Draw) -> Markup:
    """Some instances with a known cause: before, after, and what methods say of it."""
    if not report.examples:
        return NONE
    shown = [_example(each, draw, i < MOST_VIEWS) for i, each in enumerate(report.examples)]
    return tag("section", {"class": "vd-family"}, tag("h4", {}, escape("Examples")), *shown)


def reach_of(curves: Sequence[Curve]) -> int:
    """Parts up to which there is something to see, and at least a few."""
    most = max(len(c.rate) - 1 for c in curves)
    lowest = np.nanmin([c.rate for c in curves if len(c.rate) == most + 1], axis=0)
    settled = np.flatnonzero(lowest < SETTLED)
    return int(min(max(settled[-1] + 1 if settled.size else 1, 5), most)) if most else 1


def _look(report: Report, name: str) -> str:
    known = name in report.references
    rows = report.references if known else report.nulls
    return f"vd-{'known' if known else 'nothing'} vd-d{rows.index(name) % 3}"


def _path(curve: Curve, k: int) -> str:
    points = [(i, y) for i, y in enumerate(curve.rate[: k + 1]) if math.isfinite(y)]
    return "M" + "L".join(f"{i} {1 - y:.4f}" for i, y in points)


def steps(k: int) -> range:
    return range(0, k + 1, max(1, -(-k // 20)))


def _badge(curve: Curve, key: str, i: int, room: tuple[int, int]) -> Markup:
    """The letter of a line, on it; those of several lines at several places, so that they can all be read."""
    k, n = room
    at = min(1 + round((k - 2) * (i + 0.5) / max(n, 1)), len(curve.rate) - 1)
    y = float(np.nan_to_num(curve.rate[at]))
    style = f"left:{100 * at / k:.1f}%;top:{100 * (1 - y):.1f}%"
    say = _words(curve)
    flip = (" vd-flip" if at > 0.55 * k else "") + (" vd-rise" if y < 0.4 else "")
    look = {"class": f"vd-badge vd-b{i % COLORS}{flip}", "style": style, "tabindex": 0, "role": "img"}
    return tag("span", {**look, "aria-label": f"{key}: {say}"}, escape(key))


def _entry(look: str, key: str, name: str) -> Markup:
    """A line of the key: the line, its letter and its name."""
    line = tag("path", {"class": look, "d": "M0 5H28"})
    sample = tag("svg", {"aria-hidden": "true", "viewBox": "0 0 28 10"}, line)
    said = f"{key}  {plain(name, 60)}" if key else plain(name, 60)
    return tag("span", {}, sample, tag("bdi", {}, escape(said, 80)))


def _words(curve: Curve) -> str:
    told = [f"{percent(float(curve.rate[k]))} with {k}" for k in TOLD if k < len(curve.rate)]
    return f"{plain(curve.method, 60)} flips {', '.join(told)}"


def _example(e: Example, draw: Draw, with_views: bool) -> Markup:
    """Before and after, then each method's explanation of what came after, to be opened."""
    change = f"{minus(number(e.before))} to {minus(number(e.after))}"
    label, wrong = plain(e.label, 40), plain(e.wanted, 40)
    what = f"Decided {label}; after the change {wrong}, whose probability went from {change}."
    where = f" Changed most: {listing(e.parts)}." if e.parts else ""
    head = join(escape(f"{plain(e.cause, 60)}, instance {e.row}"), tag("small", {}, escape(what + where, 400)))
    original = e.original if e.original is None or e.sounds is None else _silent(e.original)
    before = bare(original) if original is not None and with_views else NONE
    title = tag("p", {"class": "vd-aside"}, escape("Before the change")) if before else NONE
    found = [_audible(e, why) for why in e.explanations]
    shown = [_explained(m, why, draw, with_views) for m, why in zip(e.methods, found, strict=False)]
    return tag("details", {}, tag("summary", {}, head), tag("div", {}, title, before, _heard(e), *shown))


def _explained(method: str, why: Explanation, draw: Draw, with_view: bool) -> Markup:
    top = ", ".join(plain(name, 30) for name, _ in why.top(3)) or "no part has any weight"
    head = join(tag("bdi", {}, escape(method, 60)), tag("small", {}, escape(top, 200)))
    return tag("details", {}, tag("summary", {}, head), tag("div", {}, Markup(draw(why, with_view))))


def _heard(e: Example) -> Markup:
    """The recording before and after the change, each as loud beside the other as it is."""
    if e.sounds is None:
        return NONE
    *samples, rate = e.sounds
    peak = max(map(sound.peak_of, samples))
    names = ("Before the change", "After it")
    tracks = [("", name, sound.as_samples(one, peak)) for name, one in zip(names, samples, strict=True)]
    return tag("div", {"class": "vd-view"}, heard(tracks, rate))


def _audible(e: Example, why: Explanation) -> Explanation:
    """An explanation of a spectrogram with the recording it was made of, so that its parts can be heard."""
    if e.sounds is None or why.view is None or why.view.kind != "spectrogram" or "samples" in why.view.data:
        return why
    _, after, rate = e.sounds
    samples = sound.as_samples(after, sound.peak_of(after))
    return replace(
        why, view=View("spectrogram", {**_silent(why.view).data, "samples": samples, "rate": float(rate)})
    )


def _silent(view: View) -> View:
    """A view of which no sound is made."""
    return View(view.kind, {key: value for key, value in view.data.items() if key not in ("front", "values")})
