"""Words and numbers that all media share."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd

from veridical.errors import JOINERS, harmless
from veridical.records import TOGETHER, Explanation, Floats, Part

Scale: TypeAlias = tuple[tuple[float, float], Callable[[float], str]]  # an axis, and how to write its numbers
NOT_TESTED = "not tested"  # a part that its replacement leaves as it was


class Weighed(Protocol):
    """Parts with weights: an explanation, or that of a group."""

    @property
    def parts(self) -> tuple[Part, ...]: ...

    @property
    def weights(self) -> Floats:
        """(d,)"""
        ...

    @property
    def intervals(self) -> Floats:
        """(d, 2)"""
        ...


def plain(text: object, limit: int = 200) -> str:
    """Foreign text on one line: cut to ``limit``, control and direction characters made harmless."""
    head = str(text)[: limit + 1]
    safe = head if head.isprintable() else "".join(harmless(c) for c in head)
    return safe if len(safe) <= limit else safe[: limit - 1] + "…"


def joined(words: Sequence[str], limit: int = 200) -> str:
    """Words one after the other, foreign ones made harmless."""
    return "".join(plain(word, limit) for word in words)


def number(value: float) -> str:
    """Four digits of a number as people write it, or a word: 155,946, and 0.6214."""
    if not math.isfinite(value):
        return "unknown"
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def rounded(value: float) -> str:
    """Two decimals of a number of people's size, else as many digits as say it."""
    if not 0.095 <= abs(value) < 1e3:
        return "0" if value == 0 else number(value) if abs(value) >= 1e3 else f"{value:.2g}"
    return f"{value:.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}"


def factor(log: float) -> str:
    """What a logarithm multiplies by."""
    times = math.exp(min(max(log, -50.0), 50.0))
    return f"{times:.2g}" if times < 1 else f"{times:.2f}" if times < 10 else f"{times:,.0f}"


def count(n: int, what: str) -> str:
    """So many of something."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def percent(share: float) -> str:
    """A share as a whole percentage that is 0 or 100 only when it is exactly so."""
    if not math.isfinite(100 * share):
        return "unknown"
    rounded = round(100 * share)
    if rounded == 100 and share < 1:
        return "> 99 %"
    return "< 1 %" if rounded == 0 and share > 0 else f"{rounded} %"


def decimals(values: Iterable[float]) -> Callable[[float], str]:
    """How to write signed numbers, so that the largest gets three significant digits."""
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    power = math.floor(math.log10(largest)) if largest > 0 else 0
    form = "+.2e" if not -4 <= power < 15 else f"+,.{max(2 - power, 0)}f"

    def show(value: float) -> str:
        text = format(value, form)
        return " " + text[1:] if not text.strip("+-0.,e") else text

    return show


def ranked(weights: Floats, k: int | None = None) -> list[int]:
    """Where the k heaviest parts are, or all; a weight of zero is never among them."""
    size = np.abs(weights)
    order = np.argsort(-size, kind="stable")
    return [int(j) for j in order if 0 < size[j] < math.inf][:k]


def unknown_words(weighed: Weighed, j: int) -> str:
    """Why a part has no interval."""
    return NOT_TESTED if math.isnan(weighed.weights[j]) else "not measured"


def row_label(row: object, limit: int = 60) -> str:
    """The name of a row, on one line: of several labels, one after the other."""
    return plain(", ".join(map(str, row)) if isinstance(row, tuple) else row, limit)


def value_words(value: Any) -> str:
    """The row's own value of a column."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return "missing" if math.isnan(value) else str(value)
        return f"{value:.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"  # 71000, not 7.1e+04
    if isinstance(value, pd.Timestamp) and value == value.normalize():
        return str(value.date())
    return plain(value, 40)


def part_words(weighed: Weighed, j: int) -> tuple[str, str, str]:
    """A feature as a reader sees it: its column, the row's own value, and the bin that this is in."""
    part, values = weighed.parts[j], weighed.values if isinstance(weighed, Explanation) else ()
    if len(values) != len(weighed.parts) or values[j] is None:
        return part.name, "", ""
    own = value_words(values[j])
    they = part.name.rfind(" (they ")  # what other rows have, of a contrast
    if they >= 0:
        lead = str(part.value[0]) if part.relation == TOGETHER else part.column
        beside, _, rest = part.name[they + 2 :].partition(")")
        return lead + rest, part.name[len(lead) + 1 : they], beside
    if part.relation == "per sd":
        return part.name, own, "per sd"
    if part.relation == "=" and part.name.startswith(part.column):
        return part.column, own, ""
    if part.relation not in ("≤", ">", "in") or not part.column:
        return part.name, "", ""
    before, middle, after = part.name.partition(part.column)
    if not middle:  # a field has its own columns
        return part.name, own, ""
    if part.relation == "in":
        return part.column, own, f"{before.removesuffix(' < ')}–{after.removeprefix(' ≤ ')}"
    return part.column, own, after.strip()


def measured(weighed: Weighed) -> list[bool]:
    """False where an interval is infinite: the samples say nothing about the part."""
    finite = np.isfinite(weighed.intervals)
    return [bool(low and high) for low, high in finite]


def listing(names: Sequence[str], joint: str = ", ") -> str:
    """The first few names, and how many more there are."""
    shown = joint.join(plain(name, 60) for name in names[:6])
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown


def first(notes: Sequence[str], most: int) -> tuple[str, ...]:
    """The first notes, and how many more there are."""
    more = len(notes) - most
    return *notes[:most], *([f"And {count(more, 'more note')}."] if more > 0 else [])


def sentence(text: str) -> str:
    """With a capital letter."""
    return text[:1].upper() + text[1:]


def cells(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) or c in JOINERS else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def fit(text: str, limit: int) -> str:
    """As much of the text as fits into ``limit`` columns of a terminal."""
    used = 0
    for i, c in enumerate(text):
        used += cells(c)
        if used > limit:
            return text[:i]
    return text


def shorten(text: str, limit: int) -> str:
    """The text, or what fits into ``limit`` columns of a terminal, and an ellipsis."""
    return text if fit(text, limit) == text else fit(text, limit - 1) + "…"
