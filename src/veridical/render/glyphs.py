"""Views as plain characters: marked words, maps of parts, lines over time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from veridical.errors import harmless
from veridical.records import Floats, View
from veridical.render import sound
from veridical.render.marks import Marks, pieces, stretches, telling
from veridical.render.pixels import Labels, envelope, inside, sample
from veridical.render.words import cells, fit, percent, plain, shorten

RAISES, LOWERS, NOTHING = "░▒▓", "-=≡", "·"  # the stronger, the denser
KEY = f"{RAISES} raises the output, {LOWERS} lowers it; letters as below"
BLOCKS = "▁▂▃▄▅▆▇█"
MOST_LINES = 12  # of a text
MOST_FRAMES = 3
MOST_CHANNELS = 4
ROWS, COLUMNS = 10, 30  # of a map
LONG = 64  # characters of a line over time


def glyphs(view: View, marks: Marks, width: int) -> list[str]:
    """The view in lines of at most ``width`` columns."""
    kinds: Mapping[str, Callable[[View, Marks, int], list[str]]] = {
        "text": _text,
        "picture": _picture,
        "spectrogram": _spectrogram,
        "sound": _sound,
        "series": _series,
        "fields": _fields,
    }
    draw = kinds.get(view.kind)
    return draw(view, marks, max(width, 20)) if draw else []


def _text(view: View, marks: Marks, width: int) -> list[str]:
    """The text with its heaviest parts in brackets; of a long one, the lines that hold most of them."""
    written, at, scores = [], 0, list[tuple[int, float]]()
    for text, part in pieces(view):
        safe = "".join(c if c == "\n" else harmless(c) for c in text.replace("\r\n", "\n"))
        if marks.sign(part) and part in marks.letters:
            fence = ("+" if marks.sign(part) > 0 else "-") * (2 if abs(marks.strengths[part]) >= 0.5 else 1)
            scores.append((at, abs(float(marks.strengths[part]))))
            safe = f"[{fence}{safe}{fence}]"
        written.append(safe)
        at += len(safe)
    lines = list(_wrapped("".join(written), width - 2))
    if len(lines) <= MOST_LINES:
        return [f"  {line}" for _, line in lines]
    starts, weight = np.array([start for start, _ in lines]), np.zeros(len(lines))
    places, sizes = np.array(scores).reshape(-1, 2).T
    np.add.at(weight, np.searchsorted(starts, places, side="right") - 1, sizes)
    best = sorted(np.argsort(-weight, kind="stable")[:MOST_LINES].tolist())
    shown = [f"{'…' if i and i - 1 not in best else ' '} {lines[i][1]}" for i in best]
    return [*shown, f"  … {len(lines) - len(best):,} more lines"]


def _wrapped(text: str, width: int) -> Iterator[tuple[int, str]]:
    """(start, line) of each line that is not empty; words too long for one are broken."""
    line, start, used = "", 0, 0
    for match in re.finditer(r"\n|[^\S\n]+|\S+", text):
        word = match.group()
        if word == "\n" or (line and used + cells(word) > width and not word.isspace()):
            if line.strip():
                yield start, line.rstrip()
            line, used = "", 0
        if word == "\n" or (not line and word.isspace()):
            continue
        place, end = match.start(), match.end()
        while len(head := fit(text[place : min(end, place + 4 * width)], width)) < end - place:
            yield place, head
            place += len(head)
        word = head
        start = start if line else place
        line, used = line + word, used + cells(word)
    if line.strip():
        yield start, line.rstrip()


def _picture(view: View, marks: Marks, width: int) -> list[str]:
    """A map of the parts; several frames side by side."""
    labels = np.asarray(view.data["labels"])
    titles = [plain(t, 40) for t in view.data.get("titles") or [""] * len(labels)]
    chosen = telling(labels, marks, MOST_FRAMES)
    room = (width - 2 - 2 * (len(chosen) - 1)) // max(len(chosen), 1)
    maps = [_map(labels[f], marks, room) for f in chosen]
    heads = [shorten(titles[f] or (f"frame {f}" if len(labels) > 1 else ""), room) for f in chosen]
    lines = ["  ".join(_padded(head, cells(m[0])) for head, m in zip(heads, maps, strict=True))]
    lines = [*(lines if lines[0].strip() else []), *("  ".join(row) for row in zip(*maps, strict=True))]
    return [*(f"  {line}".rstrip() for line in lines), f"  {shorten(KEY, width - 2)}"]


def _spectrogram(view: View, marks: Marks, width: int) -> list[str]:
    """A map of the tiles, low bands below."""
    lines = [f"  {line}" for line in _map(np.asarray(view.data["labels"])[::-1], marks, width - 2, wide=True)]
    bounds = view.data.get("bounds")
    if bounds is not None and len(bounds):
        unit = view.data.get("unit", ("s", "Hz"))
        names = unit.split(",") if isinstance(unit, str) else unit
        low, high = np.asarray(bounds, dtype=float).min(axis=0), np.asarray(bounds, dtype=float).max(axis=0)
        axes = f"→ {low[0]:.3g} to {high[1]:.3g} {names[0]}, ↑ {low[2]:.4g} to {high[3]:.4g} {names[-1]}"
        lines.append(f"  {shorten(plain(axes), width - 2)}")
    return [*lines, f"  {shorten(KEY, width - 2)}"]


def _sound(view: View, marks: Marks, width: int) -> list[str]:
    """The loudness over time, and below it what each slice counts."""
    if view.data.get("stems") is None and view.data["rate"] and sound.tiled(view.data):
        return _spectrogram(View("spectrogram", sound.spectrum(view.data)), marks, width)
    samples = np.asarray(view.data["samples"], dtype=np.float64)
    n = min(width - 2, LONG)
    low, high = envelope(samples, n)
    lines = [f"  {_spark(np.maximum(np.abs(low), np.abs(high)), 0.0)}"]
    if view.data.get("stems") is None and len(samples):
        times = (np.arange(len(low)) + 0.5) * sound.length(view.data) / max(len(low), 1)
        owners = np.full(len(times), -1)
        for j, (start, stop, *_) in enumerate(np.asarray(view.data["bounds"], dtype=float)):
            owners[(times >= start) & (times < stop)] = j
        lines += [f"  {_band(owners, marks)}", f"  {shorten(KEY, width - 2)}"]
    return lines


def _series(view: View, marks: Marks, width: int) -> list[str]:
    """Each channel as a line, and below it what each window counts."""
    values, labels = np.asarray(view.data["values"], dtype=np.float64), view.data.get("labels")
    names = [plain(c, 40) for c in view.data["channels"]]
    lines = []
    weight = [_size(labels[:, c], marks) if labels is not None else 0.0 for c in range(values.shape[1])]
    chosen = sorted(np.argsort(-np.array(weight), kind="stable")[:MOST_CHANNELS].tolist())
    for c in chosen:
        line = np.where(np.isfinite(values[:, c]), values[:, c], np.nan)
        low, high = envelope(line, min(width - 2, LONG))
        lines += [f"  {shorten(names[c], width - 2)}"] if len(names) > 1 and names[c] else []
        known = line[np.isfinite(line)]
        lines.append(f"  {_spark((low + high) / 2, float(known.min()) if known.size else 0.0)}")
        if labels is not None and len(low):
            at = ((np.arange(len(low)) + 0.5) * len(values) / len(low)).astype(int)
            lines.append(f"  {_band(np.asarray(labels)[at, c], marks)}")
    left = values.shape[1] - len(chosen)
    lines += [f"  and {left:,} more channels"] if left else []
    return [*lines, f"  {shorten(KEY, width - 2)}"] if labels is not None else lines


def _fields(view: View, marks: Marks, width: int) -> list[str]:
    """One field under the other, each with its share of the effect."""
    lines = []
    for name, (first, count, inner) in view.data["fields"].items():
        own = marks.field(int(first), int(count))
        lines.append(f"  {shorten(plain(name), width - 26)}: {percent(own.share)} of the effect")
        if isinstance(inner, View):
            lines += [f"  {line}" for line in glyphs(inner, own, width - 2)]
        else:
            lines += [f"    {line}" for _, line in list(_wrapped(plain(inner, 400), width - 4))[:3]]
    return lines


def _map(labels: Labels, marks: Marks, room: int, wide: bool = False) -> list[str]:
    """Parts as shades, each with its letter where it is deepest."""
    h, w = labels.shape
    columns = max(min(room, 2 * COLUMNS if wide else COLUMNS), 1)
    rows = ROWS if wide else max(round(columns * h / w / 2), 1)
    if rows > ROWS:
        rows, columns = ROWS, max(min(round(2 * ROWS * w / h), columns), 1)
    small = sample(labels, rows, columns)
    grid = [[_shade(marks, int(part)) for part in row] for row in small]
    for part, letter in marks.letters.items():
        mask = small == part
        if marks.sign(part) and mask.any():
            x, y = inside(mask)
            grid[int(y)][int(x)] = letter[0]
    return ["".join(row) for row in grid]


def _band(owners: Sequence[int] | Floats | Any, marks: Marks) -> str:
    """One line of shades, each stretch with its letter in its middle."""
    line = []
    for start, stop, part in stretches(owners):
        run = [_shade(marks, part)] * (stop - start)
        if marks.sign(part) and part in marks.letters:
            run[(stop - start) // 2] = marks.letters[part][0]
        line += run
    return "".join(line)


def _shade(marks: Marks, part: int) -> str:
    sign = marks.sign(part)
    if not sign:
        return NOTHING
    level = min(int(abs(marks.strengths[part]) * 3), 2)
    return (RAISES if sign > 0 else LOWERS)[level]


def _spark(values: Floats, low: float) -> str:
    """One block a value; a space where it is missing."""
    known = values[np.isfinite(values)]
    span = float(known.max()) - low if known.size else 0.0
    if span <= 0:
        return "".join(BLOCKS[0] if np.isfinite(v) else " " for v in values)
    return "".join(BLOCKS[min(int((v - low) / span * 8), 7)] if np.isfinite(v) else " " for v in values)


def _size(labels: Any, marks: Marks) -> float:
    parts = [int(j) for j in np.unique(labels) if 0 <= j < len(marks.names)]
    return float(np.abs(marks.strengths[parts]).sum())


def _padded(text: str, width: int) -> str:
    short = shorten(text, max(width, 1))
    return short + " " * (width - cells(short))
