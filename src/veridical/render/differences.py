"""Two explanations side by side: the words that all media share, and the plain text."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

import numpy as np

from veridical.evaluate.differences import Difference, Side, differ
from veridical.records import Explanation, Explanations, Floats
from veridical.render.glyphs import glyphs
from veridical.render.marks import Marks, keyed, letters, marks_of
from veridical.render.stores import store_words
from veridical.render.terminal import column, solid, wrap
from veridical.render.words import (
    NOT_TESTED,
    asked_words,
    cells,
    count,
    decimals,
    digest,
    fidelity_words,
    number,
    percent,
    plain,
    row_label,
    shorten,
    target_of,
    teller,
)
from veridical.scale.stores.store import Store

MOST_PARTS, MOST_ROWS = 10, 5  # in a terminal
LARGER, NOISE, UNMEASURED = "●", "○", "?"
MARKS = {LARGER: "larger than the noise", NOISE: "may be noise", UNMEASURED: "not measured"}
KEY = "● larger than the noise, all parts taken together (Holm, 5 %); ○ may be noise; ? not measured"
SAYS = {True: "no difference beyond the noise", False: "they differ"}


def ordered(d: Difference, k: int) -> list[int]:
    """The k parts to show: differences larger than the noise first, then by size; without any weight never."""
    size = np.abs(d.difference)
    heavy = np.nan_to_num(np.abs(d.weights)).max(axis=1, initial=0.0)
    order = np.lexsort((-np.nan_to_num(heavy, posinf=0.0), -np.nan_to_num(size, posinf=0.0), ~d.larger))
    return [int(j) for j in order if 0 < heavy[j] < math.inf][: max(k, 0)]


def mark_of(d: Difference, j: int) -> str:
    """Whether a difference is larger than the noise, as one character."""
    if not np.isfinite(d.intervals[j]).all():
        return UNMEASURED
    return LARGER if d.larger[j] else NOISE


def verdict_words(d: Difference) -> str:
    """The verdict in three words, before its sentence."""
    return "nothing can be said" if math.isnan(d.verdict.observed) else SAYS[d.verdict.passed]


def formats(d: Difference, chosen: list[int]) -> Floats:
    """The numbers that one way of writing must serve: both weights and the differences."""
    return np.concatenate([np.nan_to_num(d.weights[chosen]).ravel(), np.nan_to_num(d.difference[chosen])])


def side_words(side: Side) -> list[str]:
    """What one side says: answers, fidelity, what was asked, verdict."""
    if isinstance(side, Explanations):
        found = digest(side)
        fidelity = f"median held-out R² {number(found.fidelity)}"
        return [f"{count(found.n_items, 'explanation')}, {fidelity}, {percent(found.passed)} can be believed"]
    if not isinstance(side, Explanation):
        return [store_words(side)] if isinstance(side, Store) else [count(len(side), "explanation")]
    e = side
    answers = f"the model says {number(e.prediction)}, the {teller(e)} {number(e.local_prediction)}"
    mark = "believe it" if e.verdict.passed else "read with care"
    return [
        f"target {plain(target_of(e), 60)}: {answers}",
        f"{asked_words(e)}; {fidelity_words(e.fidelity)}",
        f"{mark}: {plain(e.verdict.sentence, 1000)}",
    ]


def sides(d: Difference) -> list[tuple[str, Side]]:
    """Both sides, each with its name."""
    return [(d.titles[0], d.first), (d.titles[1], d.second)]


def letters_of(d: Difference, chosen: list[int]) -> dict[int, str]:
    """A letter for each part that is shown, the same on both sides, where a picture needs them."""
    shown = [side for _, side in sides(d) if isinstance(side, Explanation) and keyed(side.view)]
    return dict(zip(chosen, letters(len(chosen)), strict=True)) if shown else {}


def marked(d: Difference, side: Explanation, chosen: list[int]) -> Marks:
    """The marks of one side, with the letters that both sides share."""
    place = {name: j for j, name in enumerate(side.names)}
    shared = dict(zip(chosen, letters(len(chosen)), strict=True))
    at = {place[name]: letter for j, letter in shared.items() for name in _own_names(d, j) if name in place}
    return replace(marks_of(side, len(chosen)), letters=at)


def _own_names(d: Difference, j: int) -> tuple[str, ...]:
    """What a part may be called on one side."""
    name = d.parts[j].name
    return (name, *name.split(" | ")) if d.parts[j].relation == "|" else (name,)


def changed(d: Difference, k: int) -> list[tuple[int, Difference]]:
    """Of many rows, the k whose explanations are farthest apart, each as a difference of its own."""
    if isinstance(d.first, Explanation) or isinstance(d.second, Explanation):
        return []
    rows = [int(i) for i in d.rows[:k] if d.changes[i] > 0]
    return [(i, differ(d.first[i], d.second[i], d.titles)) for i in rows]


def changed_label(d: Difference, row: int) -> str:
    """The name of a row of which both have an explanation, or its number."""
    name = d.first[row].row if isinstance(d.first, Explanations) else None
    return row_label(row if name is None else name)


def difference_picture(difference: Difference, width: int = 80) -> str:
    """Both weights of each part as bars, the difference beside its name, and the evidence below."""
    d, wide = difference, max(width, 50)
    first, second = (plain(title, 40) for title in d.titles)
    lines = [f"{verdict_words(d)}: {plain(d.verdict.sentence, 1000)}", ""]
    chosen = ordered(d, MOST_PARTS)
    for title, side in sides(d):
        lines += [*_view(d, plain(title, 40), side, chosen, wide)]
    if chosen:
        lines += [*_chart(d, chosen, wide), "", f"difference: {second} less {first}, with 95 % interval", KEY]
        left = int((np.nan_to_num(np.abs(d.weights)).max(axis=1) > 0).sum()) - len(chosen)
        lines += [f"and {count(left, 'more part')}"] if left > 0 else []
    else:
        lines += ["no part has any weight"]
    for title, side in sides(d):
        lines += [f"{plain(title, 40)}: {words}" for words in side_words(side)]
    lines += _rows(d)
    lines += [f"note: {plain(note, 500)}" for note in d.notes]
    return "\n".join(chain.from_iterable(wrap(line, width) for line in lines))


def _view(d: Difference, title: str, side: Side, chosen: list[int], width: int) -> list[str]:
    """One side's instance with its parts marked."""
    if not isinstance(side, Explanation) or side.view is None or not chosen:
        return []
    drawn = glyphs(side.view, marked(d, side, chosen), width)
    return [f"{title}:", *drawn, ""] if drawn else []


def _chart(d: Difference, chosen: list[int], width: int) -> list[str]:
    """Three lines a part: its name with the difference, and a bar for each side."""
    show, keys = decimals(formats(d, chosen)), letters_of(d, chosen)
    titles = column([plain(title) for title in d.titles], 16)
    wide = cells(titles[0])
    apart = [_apart(d, j, show) for j in chosen]
    room = max(map(cells, apart))
    half = max((width - wide - 20) // 2, 4)
    longest = float(np.nan_to_num(np.abs(d.weights[chosen])).max()) or 1.0
    lines = []
    for j, said in zip(chosen, apart, strict=True):
        letter = f"{keys[j]} " if j in keys else ""
        name = shorten(letter + plain(d.parts[j].name), max(width - room - 4, 12))
        lines.append(f"  {name}{' ' * max(width - 4 - cells(name) - room, 2)}{said:<{room}}")
        for title, weight in zip(titles, d.weights[j], strict=True):
            there = np.isfinite(weight)
            bar = solid(abs(weight) / longest * half) if there and weight else ""
            left, right = (bar[::-1].replace("▌", "▐"), "") if there and weight < 0 else ("", bar)
            written = show(weight) if there else absent_words(d, j)
            lines.append(f"    {title}  {left:>{half}}│{right:<{half}}  {written}")
    return lines


def _apart(d: Difference, j: int, show: Callable[[float], str]) -> str:
    mark, (low, high) = mark_of(d, j), d.intervals[j]
    if np.isnan(d.difference[j]):
        return f"{mark} {NOT_TESTED}"
    ends = "not measured" if mark == UNMEASURED else f"[{show(low)}, {show(high)}]"
    return f"{mark} {show(d.difference[j])} {ends}"


def absent_words(d: Difference, j: int) -> str:
    """What is said of a part that one of two explanations has no weight of."""
    return NOT_TESTED if np.isnan(d.difference[j]) else "not there"


def _rows(d: Difference) -> list[str]:
    """The rows whose explanations are farthest apart."""
    found = changed(d, MOST_ROWS)
    if not found:
        return []
    lines = ["", "rows that changed most"]
    for row, own in found:
        named = ", ".join(f"{plain(name, 40)} {value:+.3g}" for name, value in own.top(2))
        lines.append(f"  row {changed_label(d, row)}: {named}")
    return lines
