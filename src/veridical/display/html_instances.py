"""The instance on a page (text, picture, recording, series, map), with what each feature counts on it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from veridical.display import blocks, media
from veridical.display.marks import Axes, Marks, Trace, stretches
from veridical.display.markup import NONE, Markup, data_uri, escape, join, minus, spaced, tag, whole
from veridical.display.media import PICTURE, SMALL, picture, recording
from veridical.display.pixels import (
    Labels,
    borders,
    fitted,
    heat,
    inside,
    means,
    outline,
    png,
    sample,
    shrink,
    shrunk,
    tinted,
)
from veridical.display.views import map_key, reach
from veridical.records import Floats

Size: TypeAlias = tuple[float, float]
NO_AXES = Axes()
WIDE, HIGH = 2000.0, 400.0  # coordinates of a panel: whole numbers are fine enough
WIDTH, STRIP, SPECTRUM = 412, 196, 360  # pixels: a picture, one of several frames, a spectrogram
FINE, MANY = 140, 80  # places of an outline along the longer side of a picture; fewer where parts are many
MOST_SHAPES = 40  # parts tinted in one frame
MOST_TINTED, MOST_TOLD = 400, 150  # pieces of a text that are tinted, and that tell their numbers
MOST_TRACKS = 4  # players of one recording
HEAVIEST = 3  # parts that are heard, where more than half of all raise the output
SIDES = {1: "vd-up", -1: "vd-down", 0: ""}
SIGNS = blocks.SIGNS | {
    "nulls": (0, f"│ gray: {blocks.NULLS}"),
    "interval": (0, "● mean, ─ 95 % interval over instances, each column on its own scale"),
    "null": (0, "thin upright line: the best mean of a null row"),
    "best": (0, f"★ {blocks.BEST}"),
    "level": (0, f"≈ {blocks.LEVEL}"),
}


# ---- a box with layers, letters on them, and axes


def draw_legend(b: blocks.Legend) -> Markup:
    """What signs mean; then more words."""
    entries = [*(SIGNS[sign] for sign in b.signs), *((0, word) for word in b.words)]
    said = (
        tag("span", {}, tag("i", {"class": SIDES[side]}) if side else NONE, escape(words, 200))
        for side, words in entries
    )
    return tag("p", {"class": "vd-key"}, *spaced(*said)) if entries else NONE


def draw_stage(
    size: Size,
    *layers: Markup,
    axes: Axes = NO_AXES,
    width: int = 0,
    height: int = 0,
    badges: Iterable[Markup] = (),
) -> Markup:
    """A box on the page, as wide as given in pixels or as there is room: layers, badges on them, axes around."""
    shape = f"--w:{width}px;--r:{size[0] / size[1]:.4f}" if width else f"--h:{height}px"
    plot = tag("div", {"class": "vd-plot", "style": shape}, *layers, *badges)
    room = "vd-stage" if width else "vd-stage vd-wide"
    left = [tag("span", {"style": f"top:{100 * (1 - at):.1f}%"}, escape(minus(say))) for at, say in axes.y]
    below = [tag("span", {"style": _tick_place(at)}, escape(minus(say))) for at, say in axes.x]
    ruler = tag("div", {"class": "vd-y", "aria-hidden": "true"}, *left) if left else NONE
    base = tag("div", {"class": "vd-x", "aria-hidden": "true"}, *below) if below else NONE
    return tag("div", {"class": f"{room} vd-ruled" if left else room}, ruler, plot, base)


def _tick_place(at: float) -> str:
    """Where the middle of a tick's words stands; of the last, where they end, for they would stick out."""
    return f"left:{100 * at:.1f}%" if at < 0.97 else f"right:{100 * (1 - at):.1f}%;transform:none"


def draw_layer(size: Size, label: str, *inner: Markup, wash: str = "") -> Markup:
    """One drawing that fills the box; without a label it is decoration."""
    told: dict[str, object] = {"role": "img", "aria-label": label} if label else {"aria-hidden": "true"}
    box = {"viewBox": f"0 0 {size[0]:g} {size[1]:g}", "preserveAspectRatio": "none"}
    return tag("svg", {**told, **box, **({"class": wash} if wash else {})}, *inner)


def _aside(text: str) -> Markup:
    return tag("p", {"class": "vd-aside"}, escape(text, 200)) if text else NONE


def draw_figure(caption: Markup, *inner: Markup) -> Markup:
    """A drawing under its name."""
    return tag("figure", {}, tag("figcaption", {}, caption) if caption else NONE, *inner)


def _shape(marks: Marks, part: int, d: str) -> Markup:
    """The outline of a part, tinted by sign and strength, with its numbers to hover."""
    title = tag("title", {}, escape(marks.words(part), 200))
    look = {"class": f"vd-part {_kind(marks, part)}", "style": _strength(marks, part)}
    return tag("path", {**look, "data-part": marks.first + part, "d": d}, title)


def draw_badge(key: str, kind: str, words: str, at: Size, edges: Size) -> Markup:
    """A letter at a place in shares of the box; its words, on hover and on focus, open away from the edges."""
    x, y = at
    kind += (" vd-flip" if x > edges[0] else "") + (" vd-rise" if y > edges[1] else "")
    look = {"class": f"vd-badge {kind}", "style": f"left:{100 * x:.1f}%;top:{100 * y:.1f}%"}
    return tag("span", {**look, "tabindex": 0, "role": "img", "aria-label": f"{key}: {words}"}, escape(key))


def _badge(marks: Marks, part: int, x: float, y: float) -> Markup:
    """The letter of a part, if it has one."""
    if part not in marks.letters:
        return NONE
    return draw_badge(marks.letters[part], _kind(marks, part), marks.words(part), (x, y), (0.55, 0.6))


def draw_passage(b: blocks.Passage) -> Markup:
    """The text as it stands, never cut; the pieces of the heaviest parts tinted."""
    marks, shown = b.marks, []
    tinted = _heaviest(b, MOST_TINTED * min(b.n_bytes / PICTURE, 1.0))
    told = _heaviest(b, MOST_TOLD) if b.n_bytes >= SMALL else set()
    for text, part in b.pieces:
        if part not in tinted:
            shown.append(whole(text))
            continue
        look: dict[str, object] = {"class": _kind(marks, part), "style": _strength(marks, part)}
        look["data-part"] = marks.first + part
        hover = {"title": f"{marks.numbers[part]} ({marks.ranges[part]})"} if part in told else {}
        shown.append(tag("mark", {**look, **hover}, whole(text)))
    box = {"class": "vd-text", "dir": "auto", "role": "group", "aria-label": "The text, with its parts marked"}
    left = sum(1 for part in marks.marked() if part not in tinted)
    more = f"Tinted are the {len(tinted):,} heaviest parts; {left:,} smaller ones are not." if left else ""
    return join(tag("div", {**box, "tabindex": 0}, *shown), _aside(more))


def draw_frames(b: blocks.Frames) -> Markup:
    """Each frame as it is, and beside it in gray with its parts tinted; a spectrogram as a heat map."""
    one, shown = len(b.frames) == 1, list[Markup]()
    width = SPECTRUM if b.axes else WIDTH if one and b.n_bytes >= SMALL else STRIP
    for frame in b.frames:
        h, w = frame.labels.shape
        if b.axes is None:
            h, w, wide = fitted(h, w, width)
            content, what = picture(shrink(frame.pixels, h, w), b.n_bytes // len(b.frames)), "the picture"
        else:
            h, w, wide = min(h, 240), min(w, 2 * SPECTRUM), width
            content, what = picture(heat()[shrink(frame.pixels, h, w)], b.n_bytes // 2), "the spectrogram"
        pair = _pair(content, sample(frame.labels, h, w), b, frame.title or what, wide)
        if one and b.marks.names:
            names = (frame.title or "as it is", "what counts in it")
            shown += [draw_figure(escape(name, 80), each) for name, each in zip(names, pair, strict=True)]
        else:
            shown.append(draw_figure(escape(frame.title, 80), *pair))
    more = f"{len(b.frames)} of {b.n_frames:,} frames: those with the heaviest parts."
    many = _aside(more) if b.n_frames > len(b.frames) else NONE
    return join(tag("div", {"class": "vd-pair" if one else "vd-strip"}, *shown), many)


def _kind(marks: Marks, part: int) -> str:
    """The classes of a part: its sign, and whether that is settled."""
    sign = "vd-up" if marks.strengths[part] > 0 else "vd-down"
    return sign if marks.sure[part] else f"{sign} vd-unsure"


def _strength(marks: Marks, part: int) -> str:
    return f"--s:{abs(marks.strengths[part]):.2g}".replace("0.", ".")


# ---- the instance


def _heaviest(b: blocks.Passage, most: float) -> set[int]:
    """The heaviest parts that have at most so many pieces of a text together, and at least one."""
    counts, chosen, used = Counter(part for _, part in b.pieces), set[int](), 0
    for part in b.marks.marked():
        used += counts[part]
        if used > most and chosen:
            break
        chosen.add(part)
    return chosen


def _pair(content: str, labels: Labels, b: blocks.Frames, what: str, width: int) -> list[Markup]:
    """A picture as it is, and in gray under the tinted outlines of its parts; stored once, shown twice."""
    marks, sharp = b.marks, "vd-sharp" if max(labels.shape) < 128 else ""
    most = FINE if width > STRIP and len(marks.names) <= MANY else FINE * 3 // 4
    labels = sample(labels, *shrunk(labels.shape, most))  # finer outlines would cost much and show nothing
    h, w = labels.shape
    size, axes = (float(w), float(h)), b.axes or NO_AXES
    box = size if b.axes is None else (float(SPECTRUM), 220.0)
    stored, again = _stored(content, size)
    alone = draw_stage(box, draw_layer(size, what, stored, wash=sharp), axes=axes, width=width)
    if not marks.names:
        return [alone]
    wash = "vd-gray" if b.axes is None else "vd-light"
    gray = draw_layer(size, "", again, wash=f"{wash} {sharp}".strip())
    found = set(np.unique(labels).tolist())
    here = [j for j in marks.marked() if j in found]
    masks = {j: labels == j for j in here[:MOST_SHAPES]}
    outlines = [_shape(marks, j, outline(mask)) for j, mask in reversed(masks.items())]
    lines = tag("path", {"class": "vd-borders", "d": borders(labels)})
    over = draw_layer(size, marks.summary(f"{what}, its parts tinted", here), lines, *outlines)
    places = {j: inside(mask) for j, mask in masks.items() if j in marks.letters}
    badges = [_badge(marks, j, x / w, y / h) for j, (x, y) in places.items()]
    return [alone, draw_stage(box, gray, over, axes=axes, width=width, badges=badges)]


def _stored(content: str, size: Size) -> tuple[Markup, Markup]:
    """A picture that fills a drawing, and how it is shown once more."""
    name = f"vd-{hashlib.blake2b(content.encode(), digest_size=8).hexdigest()}"
    return _image(content, size, {"id": name}), tag("use", {"href": f"#{name}"})


def _image(content: str, size: Size, name: Mapping[str, str]) -> Markup:
    box = {"width": f"{size[0]:g}", "height": f"{size[1]:g}", "preserveAspectRatio": "none"}
    return tag("image", {**name, **box, "href": content})


def draw_traces(b: blocks.Traces) -> Markup:
    """One panel under the other."""
    panels = ((trace.name, _panel(trace, b.marks)) for trace in b.traces)
    shown = (draw_figure(escape(name, 60), panel) if name else panel for name, panel in panels)
    return join(*shown, *map(_aside, b.notes))


def _panel(trace: Trace, marks: Marks) -> Markup:
    """A curve over the boxes of the parts; each part has its letter in its largest box."""
    shapes, widest, size = [], trace.widest(marks), (WIDE, HIGH)
    for box, part in trace.boxes:
        if marks.sign(part):
            left, right, top, bottom = (v * s for v, s in zip(box, (WIDE, WIDE, HIGH, HIGH), strict=True))
            shapes.append(_shape(marks, part, f"M{left:.0f} {top:.0f}H{right:.0f}V{bottom:.0f}H{left:.0f}z"))
    badges = [_badge(marks, j, *trace.place(box)) for j, box in widest.items()]
    order = [j for j in marks.marked() if j in widest]
    layer = draw_layer(size, marks.summary(trace.what, order), *shapes, _curve(trace))
    return draw_stage(size, layer, badges=badges, axes=trace.axes, height=170 if trace.tall else 104)


def _curve(trace: Trace) -> Markup:
    """A line with gaps where values are missing; or one closed shape, never thinner than a line."""
    if trace.high is None:
        runs = [slice(a, b) for a, b, there in stretches(np.isfinite(trace.low)) if there]
        path = "".join(_path(trace.x[run] * WIDE, (1 - trace.low[run]) * HIGH) for run in runs)
        return tag("path", {"class": "vd-line", "d": path + ("h1" if len(trace.x) == 1 and path else "")})
    top, bottom = (1 - trace.high) * HIGH - 2, (1 - trace.low) * HIGH + 2
    across, along = np.r_[trace.x, trace.x[::-1]] * WIDE, np.r_[top, bottom[::-1]]
    return tag("path", {"class": "vd-area", "d": _path(across, along) + "z" if len(across) else ""})


def _path(x: Floats, y: Floats) -> str:
    """Path data through points: the first, then steps from one to the next, all in whole numbers."""
    places = np.stack([x, y], axis=1).round().astype(int)
    first, steps = places[0], np.diff(places, axis=0)
    return f"M{first[0]} {first[1]}" + "".join(f"l{a} {b}".replace(" -", "-") for a, b in steps.tolist())


# ---- recordings


def draw_players(b: blocks.Players) -> Markup:
    """The recording, what raises the output in it, the rest alone, and what lowers the output, to be heard."""
    if b.tracks:
        heard = _heard([("", words, samples) for words, samples in b.tracks], float(b.data["rate"]))
        return tag("div", {"class": "vd-view"}, heard)
    data = media.audible(b.data)
    if data.get("samples") is None or not data.get("rate") or not len(data["samples"]):
        return NONE
    said = "The recording" if data.get("front") is None else "The spectrogram as sound"
    seconds = len(data["samples"]) / float(data["rate"])
    if data.get("stems") is None:  # what is not played need not be filtered
        samples = np.asarray(data["samples"], dtype=np.int16)
        samples, rate = media.playable(samples, float(data["rate"]), MOST_TRACKS)
        data = {**data, "samples": samples, "rate": rate}
    tracks = [("", said, np.asarray(data["samples"]))]
    if data.get("unit", ("s",))[0] == "s":  # else the bounds do not say what to keep
        up, down = ([j for j in b.marks.ordered() if np.sign(b.marks.strengths[j]) == sign] for sign in (1, -1))
        d, words = len(b.marks.names), "what raises the output"
        if len(up) > max(d / 2, HEAVIEST):
            up, words = up[:HEAVIEST], f"the {HEAVIEST} heaviest parts"
        tracks += [("vd-up", f"Only {words}", media.kept(data, up))] if up else []
        tracks += [("", f"All but {words}", media.without(data, up))] if 0 < len(up) < d else []
        tracks += [("vd-down", "Only what lowers it", media.kept(data, down))] if down else []
    return _heard(tracks, float(data["rate"]), seconds)


def _heard(tracks: Sequence[tuple[str, str, Any]], rate: float, seconds: float = 0.0) -> Markup:
    """A player a track; a recording of so many seconds may have been cut before."""
    shown, more = [], ""
    for kind, words, samples in tracks:
        clip, speed = media.playable(np.asarray(samples, dtype=np.int16), rate, len(tracks))
        told = {"aria-label": words, "src": recording(clip, speed)}
        player = tag("audio", {"controls": "", "preload": "metadata", **told})
        swatch = tag("i", {"class": kind}) if kind else NONE
        shown.append(draw_figure(join(swatch, escape(words)), player))
        if max(len(samples) / rate, seconds) - len(clip) / speed > 0.05:
            more = f"Players hold the first {len(clip) / speed:.0f} seconds."
    return join(tag("div", {"class": "vd-players"}, *shown), _aside(more))


# ---- maps of gradients

MAP, MAP_STRIP = 412, 206  # pixels: a map, one of several
PLACES = (224, 160, 112, 80)  # that a map keeps either way, the first that fit
LEVELS = 6  # tints of either sign
SHARP = 128  # places: a smaller map shows each


def draw_map(b: blocks.HeatMap) -> Markup:
    """Maps alone and over the picture in gray, in about so many bytes; each is stored once, shown twice."""
    shown = [means(plane, *shrunk(plane.shape, PLACES[0])) for plane in b.planes]
    limit, figures, most = reach(np.concatenate([plane.ravel() for plane in shown])), [], b.n_bytes // len(shown)
    width = MAP if len(shown) == 1 and b.n_bytes >= SMALL // 2 else MAP_STRIP
    for plane, gray in zip(shown, b.grays, strict=True):
        h, w = plane.shape
        wide, sharp, size = (
            round(width * w / max(h, w)),
            "vd-sharp" if max(h, w) < SHARP else "",
            (float(w), float(h)),
        )
        stored, again = _stored(_colored(plane / limit, 2 * most // 3), size)
        ground = tag("rect", {"width": w, "height": h, "class": "vd-ground"})
        alone = draw_layer(size, "the map of weights", ground, stored, wash=sharp)
        figures.append(draw_figure(escape("the map, place by place"), draw_stage(size, alone, width=wide)))
        if gray is not None:
            pale = means(gray, *shrunk(gray.shape, PLACES[0])).round().astype(np.uint8)
            below = _image(picture(np.repeat(pale[..., None], 3, axis=-1), most // 3), size, {})
            over = draw_layer(size, "the map over the picture", below, again, wash=sharp)
            figures.append(draw_figure(escape("the map on the picture"), draw_stage(size, over, width=wide)))
    key = draw_legend(map_key(limit))
    return tag("div", {"class": "vd-view"}, tag("div", {"class": "vd-pair"}, *figures), key)


def _colored(shares: Floats, most: int) -> str:
    """A picture of few colors, the weaker the clearer, with fewer places until it fits."""
    sides = np.arange(-LEVELS, LEVELS + 1) / LEVELS
    palette = np.c_[tinted((sides + np.sign(sides)) / 2, 1.0), np.abs(255 * sides)]
    for fine in PLACES:
        small = means(shares, *shrunk(shares.shape, fine))
        content = png((LEVELS + LEVELS * np.clip(small, -1, 1)).round().astype(np.uint8), palette)
        if len(content) <= most:
            break
    return data_uri("image/png", content)
