"""Sounds and series: lines over time, with what each stretch of time counts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from veridical.records import Floats, View
from veridical.render import sound
from veridical.render.canvas import (
    Axes,
    Stage,
    badge,
    drawn,
    figure,
    layer,
    note,
    shape,
    short,
    summary,
    ticks,
    with_unit,
)
from veridical.render.marks import Marks, stretches
from veridical.render.markup import NONE, Markup, escape, join, tag
from veridical.render.media import recording
from veridical.render.pixels import envelope

WIDE, HIGH = 2000.0, 400.0  # coordinates of a panel: whole numbers are fine enough
POINTS = 600  # drawn of one line
MOST_PANELS = 8
MOST_TRACKS = 4  # players of one recording
HEAVIEST = 3  # parts that are heard, where more than half of all raise the output
Track = tuple[str, str, sound.Samples]  # class of its mark, words, samples
Box = tuple[float, float, float, float]  # left, right, top, bottom, in shares of a panel


def series(view: View, marks: Marks) -> Markup:
    """One panel a channel, those with the most weight first chosen, windows shaded."""
    values, step = np.asarray(view.data["values"], dtype=np.float64), int(view.data.get("step", 1))
    labels, names = view.data.get("labels"), [str(c) for c in view.data["channels"]]
    n, count = values.shape
    owned = [np.unique(labels[:, c]) if labels is not None else np.empty(0, int) for c in range(count)]
    weight = [sum(abs(marks.strengths[j]) for j in parts if 0 <= j < len(marks.names)) for parts in owned]
    chosen = sorted(np.argsort([-w for w in weight], kind="stable")[:MOST_PANELS].tolist())
    panels = []
    for c in chosen:
        line = np.where(np.isfinite(values[:, c]), values[:, c], np.nan)
        found = stretches(labels[:, c]) if labels is not None else []
        boxes = [((start / n, stop / n, 0.0, 1.0), part) for start, stop, part in found]
        low, high = _limits(line)
        axes = Axes(
            [((t / step + 0.5) / n, short(t)) for t in ticks(0, (n - 1) * step)] if c == chosen[-1] else (),
            [((v - low) / (high - low), short(v)) for v in ticks(low, high, 3)],
        )
        what = f"series {names[c]}, {n * step:,} values from {short(low)} to {short(high)}"
        body = _panel(_line(line, low, high), boxes, marks, (what, axes))
        panels.append(figure(escape(names[c], 60) if count > 1 or names[c] else NONE, body))
    notes = [f"And {count - len(chosen):,} more channels, with less weight."] if count > len(chosen) else []
    notes += ["The parts are bands of frequency: they have no place in time."] if labels is None else []
    return join(*panels, *map(note, notes))


def waveform(view: View, marks: Marks) -> Markup:
    """The recording with its slices shaded, or one panel a stem, and players."""
    data = view.data
    if data.get("stems") is not None and len(marks.names):
        return join(_stems(data, marks), players(data, marks))
    samples, bounds = np.asarray(data["samples"], dtype=np.float64), np.asarray(data["bounds"], dtype=np.float64)
    long, top = sound.length(data), float(bounds[:, 3].max(initial=0.0))
    boxes = [(_box(b, long, top), j) for j, b in enumerate(bounds)]
    loudest = float(np.abs(samples).max(initial=0.0)) or 1.0
    what = f"recording of {long:.3g} {_unit(data)}"
    body = _panel(_area(samples, loudest), boxes, marks, (what, _times(data)))
    return join(body, players(data, marks))


def players(data: Any, marks: Marks) -> Markup:
    """The recording, what raises the output in it, the rest alone, and what lowers the output, to be heard."""
    data = sound.audible(data)
    if data.get("samples") is None or not data.get("rate") or not len(data["samples"]):
        return NONE
    whole = "The recording" if data.get("front") is None else "The spectrogram as sound"
    seconds = len(data["samples"]) / float(data["rate"])
    if data.get("stems") is None:  # what is not played need not be filtered
        samples, rate = sound.playable(
            np.asarray(data["samples"], dtype=np.int16), float(data["rate"]), MOST_TRACKS
        )
        data = {**data, "samples": samples, "rate": rate}
    tracks = [("", whole, np.asarray(data["samples"]))]
    if data.get("unit", ("s",))[0] == "s":  # else the bounds do not say what to keep
        tracks += _parted(data, marks)
    return heard(tracks, float(data["rate"]), seconds)


def _parted(data: Any, marks: Marks) -> list[Track]:
    """What raises the output alone, and the rest alone; of many parts that all raise it, the heaviest."""
    up, down = ([j for j in marks.ordered() if np.sign(marks.strengths[j]) == sign] for sign in (1, -1))
    most = len(up) > len(marks.names) / 2 and len(up) > HEAVIEST
    words = f"the {HEAVIEST} heaviest parts" if most else "what raises the output"
    up, tracks = up[:HEAVIEST] if most else up, list[Track]()
    if up:
        tracks.append(("vd-up", f"Only {words}", sound.kept(data, up)))
        if len(up) < len(marks.names):
            tracks.append(("", f"All but {words}", sound.without(data, up)))
    if down:
        tracks.append(("vd-down", "Only what lowers it", sound.kept(data, down)))
    return tracks


def heard(tracks: Sequence[Track], rate: float, seconds: float = 0.0) -> Markup:
    """A player a track; a recording of so many seconds may have been cut before."""
    shown, cut = [], 0.0
    for kind, words, samples in tracks:
        clip, speed = sound.playable(np.asarray(samples, dtype=np.int16), rate, len(tracks))
        uri = recording(clip, speed)
        player = tag("audio", {"controls": "", "preload": "metadata", "aria-label": words, "src": uri})
        swatch = tag("i", {"class": kind}) if kind else NONE
        shown.append(figure(join(swatch, escape(words)), player))
        cut = len(clip) / speed if max(len(samples) / rate, seconds) - len(clip) / speed > 0.05 else cut
    more = note(f"Players hold the first {cut:.0f} seconds.") if cut else NONE
    return join(tag("div", {"class": "vd-players"}, *shown), more)


def _stems(data: Any, marks: Marks) -> Markup:
    """One panel a stem, those with the most weight, all on one scale; its parts are stretches of time."""
    stems, bounds = np.asarray(data["stems"], dtype=np.float64), np.asarray(data["bounds"], dtype=np.float64)
    loudest = float(np.abs(stems).max(initial=0.0)) or 1.0
    starts = np.flatnonzero(np.r_[True, np.diff(bounds[:, 0]) <= 0])  # where time begins again
    groups = [list(range(a, b)) for a, b in pairwise([*starts.tolist(), len(bounds)])]
    weight = [-float(np.abs(marks.strengths[group]).sum()) for group in groups]
    chosen = [groups[i] for i in sorted(np.argsort(weight, kind="stable")[:MOST_PANELS].tolist())]
    panels = []
    for group in chosen:
        name = marks.names[group[0]]
        name = name.rpartition(",")[0] or name if len(group) > 1 else name
        boxes = [(_box(bounds[j], sound.length(data), 0.0), j) for j in group]
        axes = _times(data) if group is chosen[-1] else Axes()
        body = _panel(_area(stems[group].sum(axis=0), loudest), boxes, marks, (f"stem {name}", axes))
        panels.append(figure(escape(name, 60), body))
    left = len(groups) - len(chosen)
    return join(*panels, note(f"And {left:,} more stems, with less weight.") if left > 0 else NONE)


def _panel(curve: Markup, boxes: Sequence[tuple[Box, int]], marks: Marks, told: tuple[str, Axes]) -> Markup:
    """A curve over the boxes of the parts; each part has its letter in its largest box."""
    shapes, widest = [], dict[int, Box]()
    for box, part in boxes:
        if marks.sign(part):
            left, right, top, bottom = (v * s for v, s in zip(box, (WIDE, WIDE, HIGH, HIGH), strict=True))
            shapes.append(shape(marks, part, f"M{left:.0f} {top:.0f}H{right:.0f}V{bottom:.0f}H{left:.0f}z"))
            known = widest.get(part, (0.0, 0.0, 0.0, 0.0))
            widest[part] = max(known, box, key=lambda b: b[1] - b[0])
    tall = len({box[2:] for box, _ in boxes}) > 1
    badges = [badge(marks, j, (a + b) / 2, (c + d) / 2 if tall else 0.13) for j, (a, b, c, d) in widest.items()]
    what, axes = told
    order = [j for j in marks.marked() if j in widest]
    drawing = layer((WIDE, HIGH), summary(marks, what, order), *shapes, curve)
    return drawn(Stage((WIDE, HIGH), [drawing], badges, axes, height=170 if tall else 104))


def _line(values: Floats, low: float, high: float) -> Markup:
    """A line with gaps where values are missing; the least and greatest of a stretch where there are many."""
    n = len(values)
    if n > POINTS:
        ends = np.stack(envelope(values, POINTS // 2), axis=1)
        ends[1::2] = ends[1::2, ::-1]  # down and up in turn: no needless jumps
        x, y = (np.arange(ends.size) + 0.5) / ends.size, ends.ravel()
    else:
        x, y = (np.arange(n) + 0.5) / max(n, 1), values
    height = (1 - (y - low) / (high - low)) * HIGH
    known = np.isfinite(height)
    runs = [slice(a, b) for a, b, there in stretches(known) if there]
    path = "".join(_path(x[run] * WIDE, height[run]) for run in runs)
    return tag("path", {"class": "vd-line", "d": path + ("h1" if n == 1 and path else "")})


def _path(x: Floats, y: Floats) -> str:
    """Path data through points: the first, then steps from one to the next, all in whole numbers."""
    places = np.stack([x, y], axis=1).round().astype(int)
    first, steps = places[0], np.diff(places, axis=0)
    return f"M{first[0]} {first[1]}" + "".join(f"l{a} {b}".replace(" -", "-") for a, b in steps.tolist())


def _area(samples: Floats, loudest: float) -> Markup:
    """The least and greatest sample of each stretch as one closed shape."""
    low, high = envelope(samples, POINTS)
    x = (np.arange(len(low)) + 0.5) / max(len(low), 1) * WIDE
    top, bottom = (HIGH / 2 - v / loudest * HIGH * 0.46 for v in (high, low))
    across, along = np.r_[x, x[::-1]], np.r_[top - 2, bottom[::-1] + 2]
    return tag("path", {"class": "vd-area", "d": _path(across, along) + "z" if len(x) else ""})


def _box(bounds: Floats, long: float, top: float) -> Box:
    """Where a part lies: its time across, its band up, by pitch."""
    start, stop, low, high = (float(b) for b in bounds)
    times = [min(max(t / long, 0.0), 1.0) if long else 0.0 for t in (start, stop)]
    if not 0 <= low < high < np.inf or top <= 0:
        return times[0], times[1], 0.0, 1.0
    above, below = (1 - float(np.log1p(f / 700) / np.log1p(top / 700)) for f in (high, low))
    return times[0], times[1], above, below


def _times(data: Any) -> Axes:
    long = sound.length(data)
    return Axes(with_unit([(t / long, short(t)) for t in ticks(0, long)] if long else [], _unit(data)))


def _unit(data: Any) -> str:
    """Seconds, unless the rate was never known."""
    return "s" if data["rate"] else ""


def _limits(values: Floats) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    margin = (high - low) * 0.06 or 0.5
    return low - margin, high + margin
