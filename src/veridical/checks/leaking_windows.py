"""Windows of pictures that give the answer away: stamps, logos, borders, burnt-in marks.

What natural pictures never do is repeat themselves value by value. A window that is exactly the same in many
pictures of one class, and in hardly any of the others, was put there. Whether the model learned it is seen by
putting what other pictures have there into it, and it into them. A piece of a picture that turns most others into
its class wherever it comes from says too much, too, even where it does not repeat.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.checks.suspects import Material, Suspect
from veridical.protocols import Seed
from veridical.records import Bools, Floats, Ints
from veridical.representations.images import channel_axis
from veridical.representations.regions import numbers_of
from veridical.seeds import generator

MAX_LOOKED = 1200  # pictures that are searched for what repeats
MAX_ANYWHERE = 400  # of them for what repeats at any place
SIDES = (3, 4, 6, 8)  # of windows, in pixels
MAX_STEPS = 48  # places of a window along a side
MIN_CONTRAST = 0.45  # share of a class that has it, less that of any other class
MIN_FLAT_SIDE = 4  # of windows of one value, which small ones often are by chance
MAX_USUAL = 0.3  # share of all values that are the same, from which on that is the background
MIN_FILLED = 0.3  # share of a window that is not the most frequent value of all pictures
MIN_LOST, MIN_CHANGED = 0.02, 0.05  # of its class's output, or of its answers, without a window that was learned
N_TILES, N_TURNED = 4, 40  # tiles along a side, and pictures that each is put into
MAX_TURNED = 0.5  # share of other pictures that a tile may turn into its class
MAX_CLASSES = 12
MAX_CANDIDATES = 6
TILES, DONORS = 20, 21  # what seeds are for
ROUNDED = 4  # decimals to which values are the same


@dataclass(frozen=True, eq=False)
class Window:
    """A square of pictures, at a place, or wherever it is."""

    top: int
    left: int
    side: int
    has: Bools  # (m,) labeled pictures that have it
    label: int  # the class that it stands for
    contrast: float


@dataclass(frozen=True, eq=False)
class PictureStack:
    """Pictures as (n, h, w, c) numbers, and back."""

    values: Floats
    channel: int | None

    @classmethod
    def of(cls, pictures: Any) -> PictureStack:
        values = numbers_of(pictures, "an input").astype(np.float64)
        channel = channel_axis(tuple(values.shape[1:]), None)
        if channel is None:
            return cls(values[..., None], None)
        return cls(np.moveaxis(values, channel + 1, -1), channel)

    def back(self, values: Floats, like: Any) -> Any:
        """Pictures in their own layout and type."""
        found = values[..., 0] if self.channel is None else np.moveaxis(values, -1, self.channel + 1)
        if hasattr(like, "detach"):
            return like.new_tensor(found)
        return np.ascontiguousarray(found).astype(like.dtype)


def search_windows(material: Material, seed: Seed) -> list[Suspect]:
    """Suspects among the windows of pictures."""
    if not material.has_labels or not material.right.n_classes:
        return []
    some = np.sort(generator(seed, DONORS).permutation(len(material.labels))[:MAX_LOOKED])
    stack = PictureStack.of(material.labeled_inputs[some])
    if stack.values.ndim != 4:
        return []
    labels = material.labels[some]
    windows = sorted(find_repeated(np.round(stack.values, ROUNDED), labels), key=lambda w: (-w.contrast, -w.side))
    kept = list[Window]()
    for window in windows:  # one of those that lie over each other
        if len(kept) < MAX_CANDIDATES and all(not _overlap(window, other) for other in kept):
            kept.append(window)
    found = [_examine(material, stack, labels, window, seed) for window in kept]
    told = [each for each in found if each.label]
    return told or search_tiles(material, seed)


def find_repeated(values: Floats, labels: Ints) -> Iterator[Window]:
    """Windows that are exactly alike in many pictures of one class, and in few of the others."""
    h, w = values.shape[1:3]
    every = np.unique(values, return_counts=True)
    common = every[1].max() > MAX_USUAL * values.size
    usual = float(every[0][every[1].argmax()]) if common else np.inf
    classes = [c for c in np.unique(labels) if (labels == c).sum() >= 10][:MAX_CLASSES]
    for side in SIDES:
        if side > min(h, w) // 2:
            continue
        marks = np.random.default_rng(side).random((side, side, values.shape[3]))
        windows = np.lib.stride_tricks.sliding_window_view(values, (side, side), axis=(1, 2))
        step = max(max(windows.shape[1:3]) // MAX_STEPS, 1)
        for top in range(0, windows.shape[1], step):
            codes = np.round(np.einsum("nxcij,ijc->nx", windows[:, top, ::step], marks), 8)
            for column in range(codes.shape[1]):
                yield from _most_contrast(
                    codes[:, column], labels, classes, (top, column * step, side), (values, usual)
                )


def _most_contrast(
    codes: Floats, labels: Ints, classes: list[Any], at: tuple[int, int, int], pixels: tuple[Floats, float]
) -> Iterator[Window]:
    """The commonest content of each class at a place, where other classes have it much less often."""
    (top, left, side), (values, usual) = at, pixels
    for c in classes:
        own = codes[labels == c]
        found, counts = np.unique(own, return_counts=True)
        best = int(counts.argmax())
        share = counts[best] / len(own)
        if share < MIN_CONTRAST:
            continue
        has = codes == found[best]
        others = max((float(has[labels == other].mean()) for other in classes if other != c), default=0.0)
        if share - others <= MIN_CONTRAST:
            continue
        content = values[int(np.flatnonzero(has)[0]), top : top + side, left : left + side]
        flat = np.ptp(content) == 0
        if (flat and side < MIN_FLAT_SIDE) or (content != usual).mean() < MIN_FILLED:
            continue
        yield Window(top, left, side, has, int(c), float(share - others))


def _overlap(a: Window, b: Window) -> bool:
    return abs(a.top - b.top) < max(a.side, b.side) and abs(a.left - b.left) < max(a.side, b.side)


def _examine(material: Material, stack: PictureStack, labels: Ints, window: Window, seed: Seed) -> Suspect:
    """Whether the model learned a window: put what others have there into it, and it into others."""
    place = (
        slice(None),
        slice(window.top, window.top + window.side),
        slice(window.left, window.left + window.side),
    )
    content = stack.values[int(np.flatnonzero(window.has)[0])][place[1:]]
    own = PictureStack.of(material.inputs)
    has = np.isclose(own.values[place], content, atol=10.0**-ROUNDED).all(axis=(1, 2, 3))
    rng = generator(seed, DONORS, 1)
    without = np.flatnonzero(~window.has & (labels != window.label))
    often = (float(window.has[labels == window.label].mean()), float(window.has[labels != window.label].mean()))
    name = f"a window of {window.side} × {window.side} pixels at row {window.top}, column {window.left}"
    base = Suspect(
        kind="window", name=name, place=(window.top, window.left, window.side), often=often, of_class=window.label
    )
    right = material.share_right(material.outputs)
    lost = used = turned = 0.0
    swapped = own.values.copy()
    if has.any() and len(without):
        donors = stack.values[rng.choice(without, int(has.sum()))]
        swapped[has, place[1], place[2]] = donors[place]
        outputs = material.ask(own.back(swapped, material.inputs))
        lost = float(
            (material.for_class(material.outputs, window.label) - material.for_class(outputs, window.label))[
                has
            ].mean()
        )
        used = float((material.decide(outputs) != material.decide(material.outputs))[has].mean())
        right_without = material.share_right(outputs)
    else:
        right_without = float("nan")
    others = np.flatnonzero(~has & (material.decide(material.outputs) != window.label))[:N_TURNED]
    if len(others):
        pasted = own.values[others].copy()
        pasted[place] = content
        answers = material.decide(material.ask(own.back(pasted, material.inputs)))
        turned = float((answers == window.label).mean())
    learned = lost > MIN_LOST or used > MIN_CHANGED or turned > MAX_TURNED
    return Suspect(
        **{key: getattr(base, key) for key in ("kind", "name", "place", "often", "of_class")},
        used=max(used, turned), right=right, right_without=right_without,
        label="failed" if learned else "", reason="repeats" if learned else "",
        rows=tuple(int(row) for row in material.rows[np.flatnonzero(has)[:3]]),
    )  # fmt: skip


def search_tiles(material: Material, seed: Seed) -> list[Suspect]:
    """Tiles that turn most pictures of other classes into their own wherever they come from."""
    own, decided = PictureStack.of(material.inputs), material.decide(material.outputs)
    rng, found = generator(seed, TILES), list[Suspect]()
    h, w = own.values.shape[1:3]
    classes = np.unique(decided)[:MAX_CLASSES]
    for c in classes:
        mine, others = np.flatnonzero(decided == c), np.flatnonzero(decided != c)
        if len(mine) < 5 or len(others) < 5:
            continue
        into = rng.choice(others, min(N_TURNED, len(others)), replace=False)
        made = list[Floats]()
        for i in range(N_TILES):
            for j in range(N_TILES):
                rows = slice(i * h // N_TILES, (i + 1) * h // N_TILES)
                columns = slice(j * w // N_TILES, (j + 1) * w // N_TILES)
                pasted = own.values[into].copy()
                pasted[:, rows, columns] = own.values[rng.choice(mine, len(into))][:, rows, columns]
                made.append(pasted)
        answers = material.decide(material.ask(own.back(np.concatenate(made), material.inputs)))
        turned = (answers == c).reshape(len(made), -1).mean(axis=1)
        best = int(turned.argmax())
        if turned[best] > MAX_TURNED:
            i, j = divmod(best, N_TILES)
            found.append(
                Suspect(
                    kind="tile",
                    name=f"tile {i + 1}, {j + 1} of {N_TILES} × {N_TILES}",
                    place=(i, j),
                    used=float(turned[best]),
                    right=material.share_right(material.outputs),
                    label="failed",
                    reason="turns others",
                    of_class=int(c),
                    rows=tuple(int(row) for row in material.rows[mine[:3]]),
                )
            )
    return sorted(found, key=lambda each: -each.used)[:MAX_CANDIDATES]
