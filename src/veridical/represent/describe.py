"""What parts are like, from an explanation's view, where part j of two instances is not the same thing.

Each kind of view has a Describer: features of every part, how much each block of them matters to likeness, and
words for parts that are alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from veridical.records import Floats, Ints, View
from veridical.represent.looks import LOOKS, look, look_words
from veridical.represent.shapes import SHAPES, shape, shape_words
from veridical.represent.timbres import SOUNDS, TILES, sound, sound_words, tile, tile_words

# Relations of parts that are the same thing in every instance, and where others lie in a view.
COMPARABLE = frozenset({"≤", ">", "in", "=", "is missing", "not zero", "per sd", "word", "sentence"})
WHERE = {"picture": "labels", "series": "labels", "spectrogram": "labels", "sound": "bounds"}

Blocks = tuple[tuple[str, int, float, float], ...]  # (what, n features, weight in likeness, least spread)


@dataclass(frozen=True)
class Describer:
    """What a kind of view tells about its parts."""

    features: Callable[[View, int], Floats]  # of each part (d, f); nan where the view does not show it
    blocks: Blocks  # of the features, in order; a block of weight 0 is there for the words
    words: Callable[[Floats, Floats, str], str]  # (members, all parts, unit) to what the members have in common


DESCRIBERS = {
    "picture": Describer(look, LOOKS, look_words),
    "series": Describer(shape, SHAPES, shape_words),
    "sound": Describer(sound, SOUNDS, sound_words),
    "spectrogram": Describer(tile, TILES, tile_words),
}


@dataclass(frozen=True, eq=False)
class Scene:
    """A view of one of these kinds, and which parts of the explanation it shows."""

    title: str  # of the field or channel; none where it is all there is
    unit: str
    view: View
    parts: Ints  # (n,) their positions in the explanation

    @property
    def group(self) -> tuple[str, str, str]:
        """Parts of different groups are never alike."""
        return self.title, self.view.kind, self.unit

    @property
    def describer(self) -> Describer:
        return DESCRIBERS[self.view.kind]

    def features(self) -> Floats:
        """Of each part (n, f); a part too small for the view is taken for the mean of the others."""
        found = self.describer.features(self.view, len(self.parts))
        shown = ~np.isnan(found).any(axis=1)
        found[~shown] = found[shown].mean(axis=0) if shown.any() else 0.0
        return found

    def layout(self) -> bytes:
        """Where parts lie: equal for instances that are cut alike."""
        digest = blake2b(repr((self.group, self.parts.tolist())).encode())
        for name in ("labels", "bounds"):
            where = self.view.data.get(name)
            if where is not None:
                array = np.asarray(where, dtype=np.float64)
                digest.update(f"{name} {array.shape}".encode() + array.tobytes())
        return digest.digest()


def scenes(view: View | None, n_parts: int) -> Iterator[Scene]:
    """All that is in a view whose parts belong to one instance alone: not those of texts and tables."""
    if view is None:
        return
    if view.kind == "fields":
        for name, (first, n, own) in view.data["fields"].items():
            if isinstance(own, View):
                yield from _scenes(own, np.arange(first, first + n), str(name))
    else:
        yield from _scenes(view, np.arange(n_parts), "")


def _scenes(view: View, parts: Ints, title: str) -> Iterator[Scene]:
    if view.kind not in DESCRIBERS or view.data.get(WHERE[view.kind]) is None or not len(parts):
        return
    if view.kind == "series":
        yield from _channels(view, parts, title)
        return
    rate = f"Hz of {float(view.data.get('rate') or 0):g}"  # octaves are counted down from half the rate
    unit = view.data.get("unit") or ""
    unit = rate if view.kind == "sound" else unit if isinstance(unit, str) else str(unit[-1])
    yield Scene(title, unit, view, parts)


def _channels(view: View, parts: Ints, title: str) -> Iterator[Scene]:
    """A series channel by channel, for each has units of its own; all at once where parts are of several."""
    labels = np.asarray(view.data["labels"]).astype(np.int64)
    own = [np.unique(column[(column >= 0) & (column < len(parts))]) for column in labels.T]
    names = tuple(map(str, view.data.get("channels") or [""] * len(own)))
    if sum(map(len, own)) > len(np.unique(np.concatenate(own))) or len(own) == 1:
        yield Scene(title, " ".join(names), view, parts)
        return
    for c, (name, at) in enumerate(zip(names, own, strict=True)):
        where = np.searchsorted(at, labels[:, [c]])
        data = {"values": np.asarray(view.data["values"])[:, [c]], "labels": where}
        yield Scene(f"{title}, {name}" if title else name, name, View("series", data), parts[at])
