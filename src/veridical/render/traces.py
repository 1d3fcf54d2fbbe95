"""Sounds and series as lines over time: what all media draw, in shares of a panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from veridical.records import Floats, View
from veridical.render import sound
from veridical.render.canvas import Axes, short, ticks, with_unit
from veridical.render.marks import Marks, stretches
from veridical.render.pixels import envelope

POINTS = 600  # drawn of one line
MOST_PANELS = 8
Box: TypeAlias = tuple[float, float, float, float]  # left, right, top, bottom, in shares of a panel


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One panel: a line, or the area between two, and where its parts lie; heights from the bottom."""

    name: str
    what: str
    x: Floats  # (m,)
    low: Floats  # (m,) nan where there is a gap
    high: Floats | None  # (m,) none: a line
    boxes: Sequence[tuple[Box, int]]  # and whose they are
    axes: Axes

    @property
    def tall(self) -> bool:
        """Whether parts lie above one another."""
        return len({box[2:] for box, _ in self.boxes}) > 1

    def widest(self, marks: Marks) -> dict[int, Box]:
        """The widest box of each part that is marked: where its letter is put."""
        found = dict[int, Box]()
        for box, part in self.boxes:
            if marks.sign(part):
                known = found.get(part, (0.0, 0.0, 0.0, 0.0))
                found[part] = max(known, box, key=lambda b: b[1] - b[0])
        return found

    def place(self, box: Box) -> tuple[float, float]:
        """Where a letter is put in a box, from the upper left corner of the panel."""
        return (box[0] + box[1]) / 2, (box[2] + box[3]) / 2 if self.tall else 0.13


def series_traces(view: View, marks: Marks) -> tuple[list[Trace], list[str]]:
    """A trace a channel, those with the most weight chosen; and what is not drawn."""
    values, step = np.asarray(view.data["values"], dtype=np.float64), int(view.data.get("step", 1))
    labels, names = view.data.get("labels"), [str(c) for c in view.data["channels"]]
    n, count = values.shape
    owned = [np.unique(labels[:, c]) if labels is not None else np.empty(0, int) for c in range(count)]
    weight = [sum(abs(marks.strengths[j]) for j in parts if 0 <= j < len(marks.names)) for parts in owned]
    chosen = sorted(np.argsort([-w for w in weight], kind="stable")[:MOST_PANELS].tolist())
    traces = []
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
        x, y = _points(line)
        name = names[c] if count > 1 or names[c] else ""
        traces.append(Trace(name, what, x, (y - low) / (high - low), None, boxes, axes))
    notes = [f"And {count - len(chosen):,} more channels, with less weight."] if count > len(chosen) else []
    notes += ["The parts are bands of frequency: they have no place in time."] if labels is None else []
    return traces, notes


def sound_traces(data: Any, marks: Marks) -> tuple[list[Trace], list[str]]:
    """The recording with its slices, or a trace a stem, those with the most weight; and what is not drawn."""
    if data.get("stems") is not None and len(marks.names):
        return _stems(data, marks)
    bounds = np.asarray(data["bounds"], dtype=np.float64)
    long, top = sound.length(data), float(bounds[:, 3].max(initial=0.0))
    boxes = [(_box(b, long, top), j) for j, b in enumerate(bounds)]
    what = f"recording of {long:.3g} {_unit(data)}"
    return [_loud(("", what), np.asarray(data["samples"], dtype=np.float64), 0.0, (boxes, _times(data)))], []


def _stems(data: Any, marks: Marks) -> tuple[list[Trace], list[str]]:
    """All on one scale; the parts of a stem are stretches of time."""
    stems, bounds = np.asarray(data["stems"], dtype=np.float64), np.asarray(data["bounds"], dtype=np.float64)
    loudest = float(np.abs(stems).max(initial=0.0))
    starts = np.flatnonzero(np.r_[True, np.diff(bounds[:, 0]) <= 0])  # where time begins again
    groups = [list(range(a, b)) for a, b in pairwise([*starts.tolist(), len(bounds)])]
    weight = [-float(np.abs(marks.strengths[group]).sum()) for group in groups]
    chosen = [groups[i] for i in sorted(np.argsort(weight, kind="stable")[:MOST_PANELS].tolist())]
    traces = []
    for group in chosen:
        name = marks.names[group[0]]
        name = name.rpartition(",")[0] or name if len(group) > 1 else name
        boxes = [(_box(bounds[j], sound.length(data), 0.0), j) for j in group]
        axes = _times(data) if group is chosen[-1] else Axes()
        traces.append(_loud((name, f"stem {name}"), stems[group].sum(axis=0), loudest, (boxes, axes)))
    left = len(groups) - len(chosen)
    return traces, [f"And {left:,} more stems, with less weight."] if left > 0 else []


def _loud(
    told: tuple[str, str], samples: Floats, loudest: float, rest: tuple[Sequence[tuple[Box, int]], Axes]
) -> Trace:
    """The least and greatest sample of each stretch as one closed shape."""
    low, high = envelope(samples, POINTS)
    x = (np.arange(len(low)) + 0.5) / max(len(low), 1)
    peak = loudest or float(np.abs(samples).max(initial=0.0)) or 1.0
    return Trace(*told, x, 0.5 + 0.46 * low / peak, 0.5 + 0.46 * high / peak, *rest)


def _points(values: Floats) -> tuple[Floats, Floats]:
    """A line with gaps where values are missing; the least and greatest of a stretch where there are many."""
    n = len(values)
    if n <= POINTS:
        return (np.arange(n) + 0.5) / max(n, 1), values
    ends = np.stack(envelope(values, POINTS // 2), axis=1)
    ends[1::2] = ends[1::2, ::-1]  # down and up in turn: no needless jumps
    return (np.arange(ends.size) + 0.5) / ends.size, ends.ravel()


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
