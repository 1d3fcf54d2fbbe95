"""Explanations as plain text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np

from veridical.pages import Page
from veridical.records import Explanation, Explanations, Floats
from veridical.render.glyphs import glyphs
from veridical.render.marks import Marks, keyed, marks_of
from veridical.render.words import (
    Weighed,
    cells,
    decimals,
    digest,
    evidence,
    failed_words,
    fit,
    measured,
    n_weighty,
    number,
    part_line,
    percent,
    plain,
    ranked,
    row_label,
    shorten,
    target_of,
    teller,
    unknown_words,
)


def picture(explanation: Explanation, k: int = 10, width: int = 80) -> str:
    """The explanation as a bar chart, with the evidence for it below."""
    e = explanation
    answers = f"the model says {number(e.prediction)}, the {teller(e)} {number(e.local_prediction)}"
    row = "" if e.row is None else f"row {row_label(e.row)}, "
    lines = [f"{row}target {plain(target_of(e), 60)}: {answers}", ""]
    chosen = ranked(e, k)
    marks = marks_of(e, k) if e.view is not None else None
    if chosen:
        lines += [*glyphs(e.view, marks, width), ""] if e.view is not None and marks is not None else []
        lines += [*_chart(e, chosen, max(width, 50), marks if keyed(e.view) else None), ""]
        left = n_weighty(e) - len(chosen)
        lines += [f"and {left} smaller parts"] if left > 0 else []
        lines += evidence(e)
    mark = "believe it" if e.verdict.passed else "read with care"
    lines += [f"{mark}: {plain(e.verdict.sentence, 1000)}", *(f"note: {plain(n, 500)}" for n in e.notes)]
    return "\n".join(chain.from_iterable(wrap(line, width) for line in lines))


def overview(explanations: Explanations) -> str:
    """Many explanations as a short table."""
    d = digest(explanations)
    if not d.n_items:
        return "no explanations"
    targets = ", ".join(f"{plain(name, 30)} ({count:,})" for name, count in d.targets[:5])
    more = f" and {len(d.targets) - 5} more" if len(d.targets) > 5 else ""
    lines = [
        f"{d.n_items:,} explanation{'s' if d.n_items > 1 else ''}",
        f"targets   {targets}{more}",
        f"fidelity  {number(d.fidelity)} (median held-out R²)",
        f"verdicts  {percent(d.passed)} passed",
        *([f"failed    {failed_words(d.n_failed, d.n_items)}: see .failed"] if d.n_failed else []),
    ]
    if d.top:
        show = decimals([mean for _, mean, _ in d.top])
        names = column([plain(name) for name, _, _ in d.top], 36)
        lines += ["", "parts with the largest mean |weight|"]
        for name, (_, mean, count) in zip(names, d.top, strict=True):
            bar = solid(mean / d.top[0][1] * 12)
            lines.append(f"  {name}  {show(mean)[1:]}  {bar:<12}  in {count:,}")
    return "\n".join(lines)


def page(whole: Page, width: int = 80) -> str:
    """Every record of a page under its heading."""
    blocks = ["\n".join(wrap(plain(words, 2000), width)) for words in (whole.title, whole.lead) if words]
    for heading, record, text in whole.sections:
        title = plain(heading, 200)
        blocks += [f"{title}\n{'─' * min(cells(title), width)}"] if title else []
        blocks += ["\n".join(wrap(plain(text, 2000), width))] if text else []
        blocks.append(repr(record))
    return "\n\n".join(blocks)


def _chart(e: Explanation, chosen: Sequence[int], width: int, marks: Marks | None) -> list[str]:
    letters = [f"{marks.letters[j]} " if marks else "" for j in chosen]
    names = [letter + part_line(e, j) for letter, j in zip(letters, chosen, strict=True)]
    return chart(names, e.weights[list(chosen)], ranges(e, chosen), width)


def ranges(e: Weighed, chosen: Sequence[int]) -> list[str]:
    """The 95 % intervals of the chosen parts."""
    show, known, ends = decimals(e.weights[list(chosen)]), measured(e), e.intervals
    return [f"[{show(ends[j, 0])}, {show(ends[j, 1])}]" if known[j] else unknown_words(e, j) for j in chosen]


def chart(
    names: Sequence[str],
    values: Floats,
    last: Sequence[str],
    width: int,
    heads: tuple[str, str] = ("weight", "95 % interval"),
) -> list[str]:
    """One line a part: name, bar around a common zero, number, and a last column."""
    sizes = np.abs(values)
    show, longest = decimals(values), float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0
    numbers = [show(value) for value in values]
    digits = max(len(heads[0]), *map(len, numbers))
    taken = digits + max(map(cells, (heads[1], *last))) + 8
    shown = column(names, max((width - taken) * 3 // 5, 12))
    half = max((width - taken - cells(shown[0]) - 1) // 2, 4)
    lines = [f"  {'':{cells(shown[0]) + 2 * half + 3}}  {heads[0]:>{digits}}  {heads[1]}"]
    for name, value, written, beside in zip(shown, values, numbers, last, strict=True):
        bar = solid(min(abs(value) / longest, 1.0) * half) if value and not math.isnan(value) else ""
        left, right = (bar[::-1].replace("▌", "▐"), "") if value < 0 else ("", bar)
        lines.append(f"  {name}  {left:>{half}}│{right:<{half}}  {written:>{digits}}  {beside}")
    return lines


def solid(length: float) -> str:
    """A bar of this many characters, to half a character; never nothing."""
    halves = max(round(2 * length), 1) if math.isfinite(length) else 1
    return "█" * (halves // 2) + "▌" * (halves % 2)


def column(names: Sequence[str], limit: int) -> list[str]:
    """Names cut and padded to one width; where cutting their ends makes two alike, they are cut in the middle."""
    short = [shorten(name, limit) for name in names]
    alike = Counter(dict(zip(names, short, strict=True)).values())
    short = [_ends(name, limit) if alike[cut] > 1 else cut for name, cut in zip(names, short, strict=True)]
    widest = max(map(cells, short))
    return [name + " " * (widest - cells(name)) for name in short]


def _ends(name: str, limit: int) -> str:
    """How a name begins and how it ends."""
    end = fit(name[::-1], limit // 2)[::-1]
    return shorten(name, limit - cells(end)) + end


def wrap(line: str, width: int) -> list[str]:
    """Lines of at most ``width`` columns; percentages stay whole. What begins with two spaces is set already."""
    if line.startswith("  ") or cells(line) <= width:
        return [line.rstrip()]
    lines = [""]
    for word in re.split(r"\s+(?!%)", line.strip()):
        indent = "    " if len(lines) > 1 else ""
        if lines[-1].strip() and cells(lines[-1]) + 1 + cells(word) > width:
            lines.append("    ")
            indent = "    "
        lines[-1] += word if lines[-1] in ("", indent) else f" {word}"
        while cells(lines[-1]) > width:  # a word longer than a line
            head = fit(lines[-1], width)
            lines[-1:] = [head, "    " + lines[-1][len(head) :]]
    return lines
