"""Sounds and series: lines over time, with what each stretch of time counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.records import Floats, View
from veridical.render import sound
from veridical.render.canvas import Stage, badge, drawn, figure, layer, note, shape, summary
from veridical.render.marks import Marks, stretches
from veridical.render.markup import NONE, Markup, escape, join, tag
from veridical.render.media import recording
from veridical.render.traces import Trace, series_traces, sound_traces

WIDE, HIGH = 2000.0, 400.0  # coordinates of a panel: whole numbers are fine enough
MOST_TRACKS = 4  # players of one recording
HEAVIEST = 3  # parts that are heard, where more than half of all raise the output
Track = tuple[str, str, sound.Samples]  # class of its mark, words, samples


def series(view: View, marks: Marks) -> Markup:
    """One panel a channel, windows shaded."""
    return _panels(*series_traces(view, marks), marks)


def waveform(view: View, marks: Marks) -> Markup:
    """The recording with its slices shaded, or one panel a stem, and players."""
    return join(_panels(*sound_traces(view.data, marks), marks), players(view.data, marks))


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


def _panels(traces: Sequence[Trace], notes: Sequence[str], marks: Marks) -> Markup:
    shown = [figure(escape(t.name, 60), _panel(t, marks)) if t.name else _panel(t, marks) for t in traces]
    return join(*shown, *map(note, notes))


def _panel(trace: Trace, marks: Marks) -> Markup:
    """A curve over the boxes of the parts; each part has its letter in its largest box."""
    shapes, widest = [], trace.widest(marks)
    for box, part in trace.boxes:
        if marks.sign(part):
            left, right, top, bottom = (v * s for v, s in zip(box, (WIDE, WIDE, HIGH, HIGH), strict=True))
            shapes.append(shape(marks, part, f"M{left:.0f} {top:.0f}H{right:.0f}V{bottom:.0f}H{left:.0f}z"))
    badges = [badge(marks, j, *trace.place(box)) for j, box in widest.items()]
    order = [j for j in marks.marked() if j in widest]
    curve = _line(trace) if trace.high is None else _area(trace.x, trace.low, trace.high)
    drawing = layer((WIDE, HIGH), summary(marks, trace.what, order), *shapes, curve)
    return drawn(Stage((WIDE, HIGH), [drawing], badges, trace.axes, height=170 if trace.tall else 104))


def _line(trace: Trace) -> Markup:
    """A line with gaps where values are missing."""
    runs = [slice(a, b) for a, b, there in stretches(np.isfinite(trace.low)) if there]
    path = "".join(_path(trace.x[run] * WIDE, (1 - trace.low[run]) * HIGH) for run in runs)
    return tag("path", {"class": "vd-line", "d": path + ("h1" if len(trace.x) == 1 and path else "")})


def _path(x: Floats, y: Floats) -> str:
    """Path data through points: the first, then steps from one to the next, all in whole numbers."""
    places = np.stack([x, y], axis=1).round().astype(int)
    first, steps = places[0], np.diff(places, axis=0)
    return f"M{first[0]} {first[1]}" + "".join(f"l{a} {b}".replace(" -", "-") for a, b in steps.tolist())


def _area(x: Floats, low: Floats, high: Floats) -> Markup:
    """One closed shape, never thinner than a line."""
    top, bottom = (1 - high) * HIGH - 2, (1 - low) * HIGH + 2
    across, along = np.r_[x, x[::-1]] * WIDE, np.r_[top, bottom[::-1]]
    return tag("path", {"class": "vd-area", "d": _path(across, along) + "z" if len(x) else ""})
