"""Views as markup: the text, picture, recording or series itself, with what each part counts on it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
    kind,
    layer,
    note,
    shape,
    short,
    strength,
    summary,
    ticks,
    with_unit,
)
from veridical.render.marks import Marks, pieces, telling
from veridical.render.markup import NONE, Markup, escape, join, spaced, tag, whole
from veridical.render.media import PICTURE, SMALL, picture
from veridical.render.pixels import Bytes, Labels, borders, heat, inside, outline, sample, shrink
from veridical.render.waves import players, series, waveform
from veridical.render.words import percent

WIDTH, STRIP, MAP = 412, 196, 360  # pixels: a picture, one of several frames, a spectrogram
FINE, MANY = 140, 80  # places of an outline along the longer side of a picture; fewer where parts are many
MOST_FRAMES = 8
MOST_SHAPES = 40  # parts tinted in one frame
MOST_TINTED, MOST_TOLD = 400, 150  # pieces of a text that are tinted, and that tell their numbers
SIGNS = ("raises the output, solid line", "lowers it, dashed line")
KEY = ("deeper tint: stronger", "no line: may be zero, by its interval")
BARE = Marks((), np.empty(0), np.empty(0), (), (), np.empty(0, bool), {})  # of an instance that is only shown


def drawing(view: View, marks: Marks, most: int = PICTURE) -> Markup:
    """The whole view, with its key; its pictures may take so many bytes."""
    return tag("div", {"class": "vd-view"}, _view(view, marks, most), _key())


def bare(view: View) -> Markup:
    """The instance as it is, without any mark."""
    return tag("div", {"class": "vd-view"}, _view(view, BARE, SMALL))


def _view(view: View, marks: Marks, most: int) -> Markup:
    kinds: Mapping[str, Callable[[View, Marks, int], Markup]] = {
        "text": _text,
        "picture": _picture,
        "spectrogram": _spectrogram,
        "sound": _sound,
        "series": lambda view, marks, most: series(view, marks),
        "fields": _fields,
    }
    draw = kinds.get(view.kind)
    return draw(view, marks, most) if draw else NONE


def _key() -> Markup:
    signs = zip(("vd-up", "vd-down"), SIGNS, strict=True)
    entries = [tag("span", {}, tag("i", {"class": sign}), escape(words)) for sign, words in signs]
    return tag("p", {"class": "vd-key"}, *spaced(*entries, *(tag("span", {}, escape(w)) for w in KEY)))


def _text(view: View, marks: Marks, most: int) -> Markup:
    """The text as it stands, never cut; the pieces of the heaviest parts tinted."""
    found = list(pieces(view))
    tinted = _heaviest(found, marks, MOST_TINTED * min(most / PICTURE, 1.0))
    told = _heaviest(found, marks, MOST_TOLD) if most >= SMALL else set()
    shown = []
    for text, part in found:
        if part not in tinted:
            shown.append(whole(text))
            continue
        attributes: dict[str, object] = {"class": kind(marks, part), "style": strength(marks, part)}
        if part in told:
            attributes["title"] = f"{marks.numbers[part]} ({marks.ranges[part]})"
        shown.append(tag("mark", attributes, whole(text)))
    box = {"class": "vd-text", "dir": "auto", "role": "group", "aria-label": "The text, with its parts marked"}
    left = sum(1 for part in marks.marked() if part not in tinted)
    more = note(f"Tinted are the {len(tinted):,} heaviest parts; {left:,} smaller ones are not.") if left else NONE
    return join(tag("div", {**box, "tabindex": 0}, *shown), more)


def _heaviest(found: Sequence[tuple[str, int]], marks: Marks, most: float) -> set[int]:
    """The heaviest parts that have at most so many pieces of a text together, and at least one."""
    counts, chosen, used = Counter(part for _, part in found), set[int](), 0
    for part in marks.marked():
        used += counts[part]
        if used > most and chosen:
            break
        chosen.add(part)
    return chosen


def _picture(view: View, marks: Marks, most: int) -> Markup:
    """Each frame as it is, and beside it in gray with its parts tinted."""
    pixels, labels = np.asarray(view.data["pixels"]), np.asarray(view.data["labels"])
    titles = [str(t) for t in view.data.get("titles") or [""] * len(pixels)]
    chosen = telling(labels, marks, MOST_FRAMES)
    width = WIDTH if len(chosen) == 1 and most >= SMALL else STRIP
    pairs = []
    for f in chosen:
        frame, parts, wide = fitted(pixels[f], labels[f], width)
        first, second = _pair(
            picture(frame, most // len(chosen)), parts, marks, (titles[f] or "the picture", wide, Axes())
        )
        if not marks.names:
            pairs.append(figure(escape(titles[f], 80) if titles[f] else NONE, first))
        elif len(chosen) == 1:
            pairs += [
                figure(escape(titles[f] or "as it is", 80), first),
                figure(escape("what counts in it"), second),
            ]
        else:
            pairs.append(figure(escape(titles[f] or f"frame {f}", 80), first, second))
    left = len(pixels) - len(chosen)
    more = note(f"{len(chosen)} of {len(pixels):,} frames: those with the heaviest parts.") if left else NONE
    return join(tag("div", {"class": "vd-pair" if len(chosen) == 1 else "vd-strip"}, *pairs), more)


def _spectrogram(view: View, marks: Marks, most: int) -> Markup:
    """A heat map as it is, and beside it in gray with its tiles tinted; the recording below."""
    data = view.data
    levels, labels = np.asarray(data["levels"])[::-1], np.asarray(data["labels"])[::-1]
    axes = scales(data, labels) if data.get("bounds") is not None else Axes()
    h, w = min(levels.shape[0], 240), min(levels.shape[1], 2 * MAP)
    content = picture(heat()[shrink(levels, h, w)], most // 2)
    told = ("the spectrogram", MAP, axes)
    first, second = _pair(content, sample(labels, h, w), marks, told, (MAP, 220))
    pair = [figure(escape("as it is"), first), figure(escape("what counts in it"), second)]
    pair = pair if marks.names else [figure(NONE, first)]
    return join(tag("div", {"class": "vd-pair"}, *pair), players(data, marks))


def _sound(view: View, marks: Marks, most: int) -> Markup:
    """A waveform, or a spectrogram where parts differ in frequency and the rate is known."""
    if view.data.get("stems") is None and view.data["rate"] and sound.tiled(view.data):
        return _spectrogram(View("spectrogram", sound.spectrum(view.data)), marks, most)
    return waveform(view, marks)


def _fields(view: View, marks: Marks, most: int) -> Markup:
    """One field under the other, each with its share of the effect."""
    fields = view.data["fields"]
    large = sum(isinstance(inner, View) for *_, inner in fields.values())
    shown = []
    for name, (first, count, inner) in fields.items():
        own = marks.field(int(first), int(count))
        bar = tag("i", {"style": f"width:{100 * own.share:.1f}%"})
        share = tag("small", {}, escape(f"{percent(own.share)} of the effect"))
        head = tag("p", {"class": "vd-field"}, tag("b", {}, escape(name)), share, tag("span", {}, bar))
        if isinstance(inner, View):
            body = _view(inner, own, most // large)
        else:
            body = tag("div", {"class": "vd-text", "dir": "auto"}, whole(str(inner)[:20_000]))
        shown.append(tag("div", {"class": "vd-one"}, head, body))
    return join(*shown)


def fitted(frame: Bytes, labels: Labels, width: int) -> tuple[Bytes, Labels, int]:
    """A frame of at most ``width`` pixels either way, and how wide to draw it."""
    h, w = frame.shape[:2]
    scale = width / max(h, w)
    wide = max(round(w * scale), 1)
    if scale >= 1:
        return frame, labels, wide
    size = max(round(h * scale), 1), wide
    return shrink(frame, *size), sample(labels, *size), wide


def _pair(
    content: str,
    labels: Labels,
    marks: Marks,
    told: tuple[str, int, Axes],
    look: tuple[int, int] | None = None,
) -> tuple[Markup, Markup]:
    """A picture as it is, and in gray under the tinted outlines of its parts; stored once, shown twice."""
    what, width, axes = told
    sharp = "vd-sharp" if max(labels.shape) < 128 else ""
    labels = _coarse(labels, FINE if width > STRIP and len(marks.names) <= MANY else FINE * 3 // 4)
    h, w = labels.shape
    size = (float(w), float(h))
    name = f"vd-{hashlib.blake2b(content.encode(), digest_size=8).hexdigest()}"
    box = {"width": w, "height": h, "preserveAspectRatio": "none"}
    stored = tag("image", {"id": name, **box, "href": content})
    plain_layer = layer(size, what, stored, wash=sharp)
    wash = "vd-light" if look else "vd-gray"
    gray = layer(size, "", tag("use", {"href": f"#{name}"}), wash=f"{wash} {sharp}".strip())
    found = set(np.unique(labels).tolist())
    here = [j for j in marks.marked() if j in found]
    masks = {j: labels == j for j in here[:MOST_SHAPES]}
    outlines = [shape(marks, j, outline(mask)) for j, mask in reversed(masks.items())]
    lines = tag("path", {"class": "vd-borders", "d": borders(labels)})
    tinted = layer(size, summary(marks, f"{what}, its parts tinted", here), lines, *outlines)
    places = {j: inside(mask) for j, mask in masks.items() if j in marks.letters}
    badges = [badge(marks, j, x / w, y / h) for j, (x, y) in places.items()]
    shown = (float(look[0]), float(look[1])) if look else size
    return (
        drawn(Stage(shown, [plain_layer], (), axes, width)),
        drawn(Stage(shown, [gray, tinted], badges, axes, width)),
    )


def _coarse(labels: Labels, most: int) -> Labels:
    """Labels on at most so many places either way: finer outlines would cost much and show nothing."""
    scale = most / max(labels.shape)
    h, w = (max(round(n * scale), 1) for n in labels.shape)
    return labels if scale >= 1 else sample(labels, h, w)


def scales(data: Mapping[str, Any], labels: Labels) -> Axes:
    """Seconds and hertz along a spectrogram, from where its parts lie and what they span."""
    unit = data.get("unit", ("s", "Hz"))
    names = [str(u).strip() for u in (unit.split(",") if isinstance(unit, str) else unit)]
    bounds, n = np.asarray(data["bounds"], dtype=np.float64), labels.shape
    across, up = [], []
    for j in range(len(bounds)):
        rows, cols = np.nonzero(labels == j)
        if len(rows):
            across += [(cols.min() / n[1], bounds[j, 0]), ((cols.max() + 1) / n[1], bounds[j, 1])]
            up += [(1 - (rows.max() + 1) / n[0], bounds[j, 2]), (1 - rows.min() / n[0], bounds[j, 3])]
    x, y = _monotone(across), _monotone(up)
    times = ticks(float(x[0, 1]), float(x[-1, 1]), 5) if len(x) else []
    across_ticks = [(float(np.interp(t, x[:, 1], x[:, 0])), f"{t:g}") for t in times]
    up_ticks = [(at, short(value)) for at, value in _apart(y)]
    return Axes(with_unit(across_ticks, names[0]), with_unit(up_ticks, names[-1]))


def _monotone(points: Sequence[tuple[float, float]]) -> Floats:
    """Points (m, 2) in order, each place once, values that never fall."""
    found = np.array(sorted({(round(float(a), 6), float(b)) for a, b in points if np.isfinite([a, b]).all()}))
    if not len(found):
        return np.empty((0, 2))
    kept = found[np.unique(found[:, 0], return_index=True)[1]]
    return kept[np.r_[True, np.diff(np.maximum.accumulate(kept[:, 1])) > 0]]


def _apart(points: Floats) -> list[tuple[float, float]]:
    """Points far enough from one another for their labels."""
    chosen: list[tuple[float, float]] = []
    for at, value in points:
        if not chosen or at - chosen[-1][0] >= 0.09:
            chosen.append((float(at), float(value)))
    return chosen
