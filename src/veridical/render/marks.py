"""What a picture says of each part: its sign, its strength, its letter and its numbers."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from veridical.records import Bools, Explanation, Floats, View
from veridical.render.words import decimals, measured, plain, ranked, unknown_words

LETTERS = string.ascii_uppercase
FAINT = 0.04  # of the strongest part: below this, nothing is marked


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """The parts of an explanation, or of one field of it."""

    names: tuple[str, ...]
    weights: Floats  # (d,)
    strengths: Floats  # (d,) weight over the largest size of a weight: -1 to 1
    ranges: tuple[str, ...]  # intervals in words
    numbers: tuple[str, ...]  # weights in words
    sure: Bools  # (d,) whether the interval leaves zero out
    letters: Mapping[int, str]  # of the parts that stand in the table, heaviest first
    share: float = 1.0  # of the size of all weights

    def words(self, part: int) -> str:
        """One part as a sentence: what hovering tells."""
        return f"{plain(self.names[part], 60)}: weight {self.numbers[part]}, 95 % interval {self.ranges[part]}"

    def sign(self, part: int) -> int:
        """1, -1, or 0 where a part is too weak to be marked, or no part at all."""
        known = 0 <= part < len(self.names) and abs(self.strengths[part]) >= FAINT
        return int(np.sign(self.strengths[part])) if known else 0

    def marked(self) -> list[int]:
        """The parts strong enough to be marked, heaviest first."""
        return [j for j in self.ordered() if self.sign(j)]

    def ordered(self) -> list[int]:
        """All parts, heaviest first."""
        return [int(j) for j in np.argsort(-np.abs(self.strengths), kind="stable")]

    def field(self, first: int, count: int) -> Marks:
        """The parts of one field, numbered from 0."""
        span = slice(first, first + count)
        total = float(np.abs(self.strengths).sum()) or 1.0
        return replace(
            self,
            names=self.names[span],
            weights=self.weights[span],
            strengths=self.strengths[span],
            ranges=self.ranges[span],
            numbers=self.numbers[span],
            sure=self.sure[span],
            letters={j - first: key for j, key in self.letters.items() if first <= j < first + count},
            share=self.share * float(np.abs(self.strengths[span]).sum()) / total,
        )


def marks_of(explanation: Explanation, k: int) -> Marks:
    """The marks of an explanation whose k heaviest parts are in the table."""

    def show(value: float) -> str:
        return form(value).strip().replace("-", "−")

    e, chosen = explanation, ranked(explanation, k)
    sizes = np.abs(np.where(np.isfinite(e.weights), e.weights, 0.0))
    largest = float(sizes.max(initial=0.0)) or 1.0
    form, known = decimals(e.weights[chosen]), measured(e)
    ends = ((show(low), show(high)) for low, high in e.intervals)
    return Marks(
        e.names,
        e.weights,
        np.where(np.isfinite(e.weights), e.weights, 0.0) / largest,
        tuple(f"{a} to {b}" if known[j] else unknown_words(e, j) for j, (a, b) in enumerate(ends)),
        tuple("none" if np.isnan(w) else show(w) for w in e.weights),
        np.asarray(known, dtype=bool) & (np.sign(e.intervals).prod(axis=1) > 0),
        dict(zip(chosen, letters(len(chosen)), strict=True)),
    )


def letters(n: int) -> list[str]:
    """A, B, C and so on; AA, AB once they are used up."""
    more = (a + b for a in LETTERS for b in LETTERS)
    return [*LETTERS[:n], *(next(more) for _ in range(n - len(LETTERS)))]


def keyed(view: View | None) -> bool:
    """Whether the picture shows parts that only a letter can name; a text says its parts itself."""
    if view is None:
        return False
    if view.kind == "fields":
        return any(isinstance(inner, View) and keyed(inner) for _, _, inner in view.data["fields"].values())
    return view.kind != "text" and not (view.kind == "series" and view.data.get("labels") is None)


def pieces(view: View) -> Iterator[tuple[str, int]]:
    """A text in order, cut where parts begin and end; part -1 is what no part owns."""
    text, at = str(view.data["text"]), 0
    for start, stop, part in np.asarray(view.data["spans"], dtype=int).reshape(-1, 3).tolist():
        if start > at:
            yield text[at:start], -1
        if stop > max(start, at):
            yield text[max(start, at) : stop], part
        at = max(at, stop)
    if at < len(text):
        yield text[at:], -1


def even(n: int, most: int) -> Sequence[int]:
    """At most ``most`` of n things, evenly spread, the first and the last among them."""
    return range(n) if n <= most else np.linspace(0, n - 1, most).round().astype(int).tolist()


def telling(labels: npt.NDArray[np.int64], marks: Marks, most: int) -> list[int]:
    """At most ``most`` frames of labels (frames, h, w): those that show the heaviest parts, else evenly spread."""
    n, chosen = len(labels), set[int]()
    if n <= most:
        return list(range(n))
    small = labels[:, :: max(labels.shape[1] // 64, 1), :: max(labels.shape[2] // 64, 1)]
    for part in marks.marked()[:60]:
        areas = (small == part).sum(axis=(1, 2))
        if len(chosen) < most and areas.any() and not areas[sorted(chosen)].any():
            chosen.add(int(areas.argmax()))
    spare = (f for f in [*even(n, most), *range(n)] if f not in chosen)
    while len(chosen) < most:
        chosen.add(next(spare))
    return sorted(chosen)


def stretches(labels: Sequence[int] | Floats) -> list[tuple[int, int, int]]:
    """(start, stop, label) of each run of one label."""
    line = np.asarray(labels)
    if not len(line):
        return []
    edges = [0, *(np.flatnonzero(np.diff(line)) + 1).tolist(), len(line)]
    return [(a, b, int(line[a])) for a, b in pairwise(edges)]
