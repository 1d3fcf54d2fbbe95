"""The instance as blocks (text, picture, sound, series, record, map): one function per kind of view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from veridical.display import blocks, media
from veridical.display.marks import (
    MINUS,
    Axes,
    Box,
    Marks,
    Trace,
    pieces,
    short,
    stretches,
    telling,
    ticks,
    with_unit,
)
from veridical.display.pixels import Labels, envelope
from veridical.display.words import number
from veridical.records import Explanation, Floats, View

POINTS = 600  # drawn of one line
MOST_FRAMES, MOST_PANELS, MOST_MAPS = 8, 8, 4
PERCENTILE = 99  # of the sizes of a map: what is larger has the deepest color


def instance_of(e: Explanation, marks: Marks, n_bytes: int) -> tuple[blocks.Block, ...]:
    """The instance of an explanation, and its map, over the pale picture if there is one; both share the bytes."""
    if e.view is None:
        return ()
    found = planes(e)
    if found is None:
        return (blocks.Instance(e.view, marks, n_bytes),)
    shown, half, grays = found[:MOST_MAPS], n_bytes // 2, (None,) * MOST_MAPS
    if e.view.kind == "picture":
        pixels = np.asarray(e.view.data["pixels"])[:MOST_MAPS]
        grays = tuple(255 - (255 - frame.mean(axis=-1)) * 0.55 for frame in pixels)
    return blocks.Instance(e.view, marks, half), blocks.HeatMap(tuple(shown), grays[: len(shown)], half)


def view_blocks(b: blocks.Instance) -> tuple[blocks.Block, ...]:
    """What an instance is drawn from; nothing of a kind that nobody knows."""
    known = VIEWS.get(b.view.kind)
    return known(b) if known else ()


def _text(b: blocks.Instance) -> tuple[blocks.Block, ...]:
    return (blocks.Passage(tuple(pieces(b.view)), b.marks, b.n_bytes),)


def _picture(b: blocks.Instance) -> tuple[blocks.Block, ...]:
    """The frames that show the heaviest parts."""
    data = b.view.data
    pixels, labels = np.asarray(data["pixels"]), np.asarray(data["labels"])
    titles = [str(t) for t in data.get("titles") or [""] * len(pixels)]
    frames = (
        blocks.Frame(titles[f] or (f"frame {f}" if len(pixels) > 1 else ""), pixels[f], labels[f])
        for f in telling(labels, b.marks, MOST_FRAMES)
    )
    return (blocks.Frames(tuple(frames), b.marks, b.n_bytes, len(pixels)),)


def _spectrogram(b: blocks.Instance) -> tuple[blocks.Block, ...]:
    """Low bands below; then the recording, if there is one."""
    data, said, axes = b.view.data, "", Axes()
    levels, labels = np.asarray(data["levels"])[::-1], np.asarray(data["labels"])[::-1]
    if data.get("bounds") is not None:
        names, bounds = _units(data), np.asarray(data["bounds"], dtype=float)
        axes = _scales(names, bounds, labels)
        if len(bounds):
            low, high = bounds.min(axis=0), bounds.max(axis=0)
            said = f"→ {low[0]:.3g} to {high[1]:.3g} {names[0]}, ↑ {low[2]:.4g} to {high[3]:.4g} {names[-1]}"
    frame = blocks.Frame("", levels, labels)
    return blocks.Frames((frame,), b.marks, b.n_bytes, axes=axes, said=said), blocks.Players(data, b.marks)


def _sound(b: blocks.Instance) -> tuple[blocks.Block, ...]:
    """A waveform or a panel a stem, or a spectrogram where parts differ in frequency and the rate is known."""
    data, player = b.view.data, blocks.Players(b.view.data, b.marks)
    if data.get("stems") is None and data["rate"] and media.tiled(data):
        return _spectrogram(replace(b, view=View("spectrogram", media.spectrum(data))))
    if data.get("stems") is not None and len(b.marks.names):
        return _stems(data, b.marks), player
    bounds, samples = np.asarray(data["bounds"], dtype=np.float64), np.asarray(data["samples"], dtype=np.float64)
    long, top = media.length(data), float(bounds[:, 3].max(initial=0.0))
    boxes = [(_box(bound, long, top), j) for j, bound in enumerate(bounds)]
    trace = _loud("", f"recording of {long:.3g} {_seconds(data)}", samples, 0.0, boxes, _times(data))
    return blocks.Traces((trace,), (), b.marks), player


def _series(b: blocks.Instance) -> tuple[blocks.Block, ...]:
    """A trace a channel, those with the most weight chosen."""
    data = b.view.data
    values, step = np.asarray(data["values"], dtype=np.float64), int(data.get("step", 1))
    labels, names = data.get("labels"), [str(c) for c in data["channels"]]
    n, count = values.shape
    owners = [np.unique(labels[:, c]).tolist() if labels is not None else [] for c in range(count)]
    chosen, traces = _heaviest(owners, b.marks), []
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
        traces.append(Trace(names[c], what, x, (y - low) / (high - low), None, boxes, axes))
    notes = [f"And {count - len(chosen):,} more channels, with less weight."] if count > len(chosen) else []
    notes += ["The parts are bands of frequency: they have no place in time."] if labels is None else []
    return (blocks.Traces(tuple(traces), tuple(notes), b.marks),)


def _fields(b: blocks.Instance) -> tuple[blocks.Block, ...]:
    """One field after the other, each with its share of the effect."""
    shown = []
    for name, (first, count, inner) in b.view.data["fields"].items():
        own = b.marks.within(int(first), int(count))
        text = blocks.Text(("", str(inner)), "field")
        within = view_blocks(replace(b, view=inner, marks=own)) if isinstance(inner, View) else (text,)
        shown.append(blocks.FieldBlock(str(name), own.share, within))
    return tuple(shown)


def _heaviest(groups: Sequence[Sequence[int]], marks: Marks) -> list[int]:
    """Which groups of parts have the most weight, in order."""
    weight = [-marks.size(group) for group in groups]
    return sorted(np.argsort(weight, kind="stable")[:MOST_PANELS].tolist())


VIEWS: Mapping[str, Callable[[blocks.Instance], tuple[blocks.Block, ...]]] = {
    "text": _text,
    "picture": _picture,
    "spectrogram": _spectrogram,
    "sound": _sound,
    "series": _series,
    "fields": _fields,
}


# ---- sounds and series


def _stems(data: Any, marks: Marks) -> blocks.Traces:
    """A panel a stem, those with the most weight, on one scale; the parts of a stem are stretches of time."""
    stems, bounds = np.asarray(data["stems"], dtype=np.float64), np.asarray(data["bounds"], dtype=np.float64)
    loudest, long = float(np.abs(stems).max(initial=0.0)), media.length(data)
    starts = np.flatnonzero(np.r_[True, np.diff(bounds[:, 0]) <= 0])  # where time begins again
    groups = [list(range(a, b)) for a, b in pairwise([*starts.tolist(), len(bounds)])]
    chosen, traces = [groups[i] for i in _heaviest(groups, marks)], []
    for group in chosen:
        name = marks.names[group[0]]
        name = name.rpartition(",")[0] or name if len(group) > 1 else name
        boxes = [(_box(bounds[j], long, 0.0), j) for j in group]
        axes = _times(data) if group is chosen[-1] else Axes()
        traces.append(_loud(name, f"stem {name}", stems[group].sum(axis=0), loudest, boxes, axes))
    left = len(groups) - len(chosen)
    notes = (f"And {left:,} more stems, with less weight.",) if left > 0 else ()
    return blocks.Traces(tuple(traces), notes, marks)


def _loud(
    name: str, what: str, samples: Floats, loudest: float, boxes: Sequence[tuple[Box, int]], axes: Axes
) -> Trace:
    """The least and greatest sample of each stretch as one closed shape."""
    low, high = envelope(samples, POINTS)
    x = (np.arange(len(low)) + 0.5) / max(len(low), 1)
    peak = loudest or float(np.abs(samples).max(initial=0.0)) or 1.0
    return Trace(name, what, x, 0.5 + 0.46 * low / peak, 0.5 + 0.46 * high / peak, boxes, axes)


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
    long = media.length(data)
    return Axes(with_unit([(t / long, short(t)) for t in ticks(0, long)] if long else [], _seconds(data)))


def _seconds(data: Any) -> str:
    """The unit of time, unless the rate was never known."""
    return "s" if data["rate"] else ""


def _limits(values: Floats) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    margin = (high - low) * 0.06 or 0.5
    return low - margin, high + margin


def _units(data: Mapping[str, Any]) -> list[str]:
    """The units of a spectrogram, across and up."""
    unit = data.get("unit", ("s", "Hz"))
    return [str(u).strip() for u in (unit.split(",") if isinstance(unit, str) else unit)]


def _scales(names: Sequence[str], bounds: Floats, labels: Labels) -> Axes:
    """Seconds and hertz along a spectrogram, from where its parts lie and what they span."""
    across, up, n = [], [], labels.shape
    for j in range(len(bounds)):
        rows, cols = np.nonzero(labels == j)
        if len(rows):
            across += [(cols.min() / n[1], bounds[j, 0]), ((cols.max() + 1) / n[1], bounds[j, 1])]
            up += [(1 - (rows.max() + 1) / n[0], bounds[j, 2]), (1 - rows.min() / n[0], bounds[j, 3])]
    x, y = _monotone(across), _monotone(up)
    times = ticks(float(x[0, 1]), float(x[-1, 1]), 5) if len(x) else []
    heights: list[tuple[float, str]] = []
    for at, value in y.tolist():  # far enough from one another for their labels
        if not heights or at - heights[-1][0] >= 0.09:
            heights.append((at, short(value)))
    along = [(float(np.interp(t, x[:, 1], x[:, 0])), f"{t:g}") for t in times]
    return Axes(with_unit(along, names[0]), with_unit(heights, names[-1]))


def _monotone(points: Sequence[tuple[float, float]]) -> Floats:
    """Points (m, 2) in order, each place once, values that never fall."""
    found = np.array(sorted({(round(float(a), 6), float(b)) for a, b in points if np.isfinite([a, b]).all()}))
    if not len(found):
        return np.empty((0, 2))
    kept = found[np.unique(found[:, 0], return_index=True)[1]]
    return kept[np.r_[True, np.diff(np.maximum.accumulate(kept[:, 1])) > 0]]


# ---- maps of gradients


def planes(e: Explanation) -> Floats | None:
    """The map as frames (f, h, w) that lie on those of the view, its channels summed; none if it does not fit."""
    view = e.view
    if view is None or not isinstance(e.map, np.ndarray) or e.map.dtype.kind not in "biuf" or not e.map.size:
        return None
    values = np.nan_to_num(e.map.astype(np.float64), posinf=0.0, neginf=0.0)
    axes = dict.fromkeys(
        (values.ndim - 1, *range(values.ndim))
    )  # that may hold channels: the last, the first, others
    placed = (_placed(found, view) for found in (values, *(values.sum(axis=axis) for axis in axes)))
    return next((found for found in placed if found is not None), None)


def _placed(values: Floats, view: View) -> Floats | None:
    if view.kind == "picture" and values.ndim in (2, 3):
        frames = values if values.ndim == 3 else values[None]
        pixels = np.asarray(view.data["pixels"])
        n, h, w = pixels.shape[:3]
        alike = abs(frames.shape[1] * w - frames.shape[2] * h) <= max(frames.shape[1:])
        at = np.unique(np.linspace(0, len(frames) - 1, n).round().astype(int))
        fits = frames.shape[1] >= h and frames.shape[2] >= w and alike
        return frames[at] if fits and len(at) == n and (n > 1) == (len(frames) > 1) else None
    if view.kind == "spectrogram" and values.ndim == 2:
        levels = np.asarray(view.data["levels"])
        turned = values if values.shape == levels.shape else values.T
        return turned[::-1][None] if turned.shape == levels.shape else None
    return None


def map_key(limit: float) -> blocks.Legend:
    """What the colors of a map mean."""
    least = f"deepest color: from {number(limit).replace('-', MINUS)} on, the 99th percentile of sizes"
    return blocks.Legend(("raises", "lowers"), (least,))


def reach(values: Floats) -> float:
    """Where the deepest color begins: the 99th percentile of sizes, or the largest where that is zero."""
    sizes = np.abs(values)
    return float(np.percentile(sizes, PERCENTILE)) or float(sizes.max(initial=0.0)) or 1.0
