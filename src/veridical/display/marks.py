"""What a drawn instance says of each part (its sign, its strength, its letter), and the axes it is drawn along."""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from veridical.display.words import decimals, measured, plain, unknown_words
from veridical.records import Bools, Explanation, Floats, View

LETTERS = string.ascii_uppercase
FAINT = 0.04  # of the strongest part: below this, nothing is marked
MINUS = "−"  # of numbers, where it is not that of a keyboard

Tick: TypeAlias = tuple[float, str]  # where on the axis, from 0 to 1, and what it says
Box: TypeAlias = tuple[float, float, float, float]  # left, right, top, bottom, in shares of a panel


@dataclass(frozen=True, slots=True)
class Badge:
    """The letter of a part: which sign its weight has, if any, and whether that is settled."""

    letter: str
    sign: int = 0
    sure: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """The parts of an explanation, or of one field of it."""

    names: tuple[str, ...]
    strengths: Floats  # (d,) weight over the largest size of a weight: -1 to 1
    ranges: tuple[str, ...]  # intervals in words
    numbers: tuple[str, ...]  # weights in words
    sure: Bools  # (d,) whether the weight can be told from zero, all parts counted
    letters: Mapping[int, str]  # of the parts that stand in the table, heaviest first
    share: float = 1.0  # of the size of all weights
    first: int = 0  # which of the explanation's parts is the first of these

    def words(self, part: int) -> str:
        """One part as a sentence: what hovering tells."""
        return f"{plain(self.names[part], 60)}: weight {self.numbers[part]}, 95 % interval {self.ranges[part]}"

    def badge(self, part: int) -> Badge:
        """The letter of a part that has one."""
        return Badge(self.letters[part], 1 if self.strengths[part] > 0 else -1, bool(self.sure[part]))

    def summary(self, what: str, parts: Iterable[int]) -> str:
        """The text alternative of a drawing: what it shows, and its heaviest parts."""
        heaviest = "; ".join(f"{self.letters.get(j, '')} {self.words(j)}".strip() for j in list(parts)[:5])
        return f"{what}; {heaviest}" if heaviest else f"{what}; no part stands out"

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

    def size(self, parts: Iterable[int]) -> float:
        """How heavy some parts are together; what is no part weighs nothing."""
        return sum(abs(float(self.strengths[j])) for j in parts if 0 <= j < len(self.names))

    def within(self, first: int, count: int) -> Marks:
        """The parts of one field, numbered from 0."""
        span = slice(first, first + count)
        total = float(np.abs(self.strengths).sum()) or 1.0
        letters = {j - first: key for j, key in self.letters.items() if first <= j < first + count}
        share = self.share * float(np.abs(self.strengths[span]).sum()) / total
        ranges, numbers, sure = self.ranges[span], self.numbers[span], self.sure[span]
        at = self.first + first
        return Marks(self.names[span], self.strengths[span], ranges, numbers, sure, letters, share, at)


UNMARKED = Marks((), np.empty(0), (), (), np.empty(0, bool), {})  # of an instance that is only shown


def marks_of(e: Explanation, chosen: Sequence[int]) -> Marks:
    """The marks of an explanation whose chosen parts are in the table."""

    def show(value: float) -> str:
        return form(value).strip().replace("-", MINUS)

    weights = np.where(np.isfinite(e.weights), e.weights, 0.0)
    form, known = decimals(e.weights[list(chosen)]), measured(e)
    ends = ((show(low), show(high)) for low, high in e.intervals)
    return Marks(
        e.names,
        weights / (float(np.abs(weights).max(initial=0.0)) or 1.0),
        tuple(f"{a} to {b}" if known[j] else unknown_words(e, j) for j, (a, b) in enumerate(ends)),
        tuple("none" if np.isnan(w) else show(w) for w in e.weights),
        e.clear,
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


@dataclass(frozen=True, slots=True)
class Axes:
    """Ticks along a box."""

    x: Sequence[Tick] = ()
    y: Sequence[Tick] = ()  # from the bottom


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One panel: a line, or the area between two, and where its parts lie; heights from the bottom."""

    name: str
    what: str
    x: Floats  # (m,)
    low: Floats  # (m,) nan where there is a gap
    high: Floats | None  # (m,) none: a line
    boxes: Sequence[tuple[Box, int]]  # and whose they are
    axes: Axes = field(default_factory=Axes)

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


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high."""
    if not (math.isfinite(low) and math.isfinite(high) and high > low):
        return [low] if math.isfinite(low) else []
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def with_unit(axis: Sequence[Tick], unit: str) -> list[Tick]:
    """Ticks of which the last names the unit."""
    return [*axis[:-1], *((at, f"{say} {unit}".strip()) for at, say in axis[-1:])]


def short(value: float) -> str:
    """A number on an axis."""
    if abs(value) >= 1000 and abs(value) < 1e6:
        return f"{value / 1000:.3g}k"
    return f"{value:.3g}" if value else "0"
