"""A pick of explanations: the words that all media share, and the plain text."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain

import numpy as np

from veridical.records import Floats, Ints
from veridical.render.glyphs import LOWERS, NOTHING, RAISES
from veridical.render.marks import letters
from veridical.render.terminal import column, solid, wrap
from veridical.render.words import Fact, cells, count, decimals, first, percent, plain, row_label, shorten
from veridical.summarize.records import Pick

MOST_ROWS, MOST_COLUMNS = 12, 12  # in a terminal
KEY = f"{RAISES} raises the output, {LOWERS} lowers it, {NOTHING} no weight; letters as below"
MODELS = ("first model", "second model")


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """The chosen rows and the most important parts, as a picture shows them."""

    columns: Ints  # (c,) the most important parts, of those with any weight
    letters: tuple[str, ...]  # (c,)
    weights: Floats  # (r, c)
    strengths: Floats  # (r, c) over the largest size: -1 to 1
    first: Ints  # (p,) which of the chosen rows shows each part first; -1: none
    n_parts: int  # with any weight in some explanation
    rest: float  # share of the importance that the columns leave out


def matrix_of(p: Pick, n_rows: int, n_columns: int) -> Matrix:
    """At most so many rows and columns, columns by importance."""
    order = np.argsort(-p.importance, kind="stable")
    order = order[p.importance[order] > 0]
    columns = order[:n_columns].astype(np.int64)
    weights = np.asarray(p.weights[:n_rows][:, columns].toarray(), dtype=np.float64)
    largest = float(np.abs(weights).max(initial=0.0)) or 1.0
    first = np.full(len(p.importance), -1, dtype=np.int64)
    found = p.weights.tocoo()
    for step, part in sorted(zip(found.row.tolist(), found.col.tolist(), strict=True), reverse=True):
        first[part] = step
    rest = 1 - float(p.importance[columns].sum()) / (p.total or 1.0)
    return Matrix(
        columns, tuple(letters(len(columns))), weights, weights / largest, first, len(order), max(rest, 0.0)
    )


def pick_sentence(p: Pick) -> str:
    """How much the pick covers, and how much chance would."""
    b = len(p.chosen)
    if not b:
        return f"no row was picked, of {p.n:,}"
    rows = f"{b:,} of {count(p.n, 'row')}"
    if p.total <= 0:
        return f"{rows}; no part has any weight, so there is nothing to cover"
    mine, chance = percent(float(p.share[-1])), percent(float(p.random[-1, 0]) / p.total)
    random = f"{count(b, 'random row')} cover{'s' if b == 1 else ''}"
    return f"{rows} cover{'s' if b == 1 else ''} {mine} of what matters; {random} {chance} on average"


def chance_words(p: Pick, step: int) -> str:
    """What as many random rows cover, with the standard deviation."""
    mean, spread = p.random[step] / (p.total or 1.0)
    known = f" ± {round(100 * float(spread))}" if np.isfinite(100 * float(spread)) else ""
    return f"{percent(float(mean))}{known}"


def target_words(p: Pick) -> str:
    """How often each target was picked, or nothing if there is but one."""
    counts = Counter(str(t) for t in p.chosen_targets).most_common()
    shown = ", ".join(f"{plain(name, 30)} ({times:,})" for name, times in counts[:5])
    return f"{shown} and {len(counts) - 5} more" if len(counts) > 5 else shown if len(counts) > 1 else ""


def facts_of(p: Pick, m: Matrix) -> list[Fact]:
    """How much the pick shows."""
    targets, shown = target_words(p), int((m.first[p.importance > 0] >= 0).sum())
    several = [("Targets", str(len(set(map(str, p.chosen_targets)))), targets)] if targets else []
    return [
        ("Rows", f"{len(p.chosen):,} of {p.n:,}", "in the order of the pick"),
        ("Covered", percent(float(p.share[-1])), "of the importance of all parts"),
        ("At random", chance_words(p, len(p.chosen) - 1), "as many rows, mean and standard deviation"),
        ("Parts", f"{shown:,} of {m.n_parts:,}", "have weight in some row that was picked"),
        *several,
    ]


def notes_of(p: Pick, m: Matrix) -> list[str]:
    """What is not drawn, and what a reader should know besides."""
    left, rest = len(p.chosen) - len(m.weights), m.n_parts - len(m.columns)
    lines = [f"And {count(left, 'more row')}, not drawn."] if left > 0 else []
    hidden = f"And {count(rest, 'part')} with {percent(m.rest)} of the importance, not drawn."
    return [*lines, *([hidden] if rest > 0 else []), *first(p.notes)]


def row_name(p: Pick, step: int) -> str:
    """The row and, where there are several, its target."""
    several = len(set(map(str, p.chosen_targets))) > 1
    return f"row {chosen_label(p, step)}" + (f" ({plain(p.chosen_targets[step], 20)})" if several else "")


def chosen_label(p: Pick, step: int) -> str:
    """The name of a chosen row, or its number."""
    return row_label(p.rows[step] if p.rows else p.chosen[step], 40)


def first_words(p: Pick, m: Matrix, part: int) -> str:
    """Which chosen row shows a part first."""
    step = int(m.first[part])
    return f"in row {chosen_label(p, step)}" if step >= 0 else "in no row"


def models_of(p: Pick) -> list[tuple[str, Pick]]:
    """The pick, or both of a pick for two models, each with its name."""
    return [("", p)] if p.second is None else [(MODELS[0], p), (MODELS[1], p.second)]


def pick_picture(pick: Pick, width: int = 80) -> str:
    """Rows × parts in characters, the coverage beside it, and the most important parts below."""
    lines: list[str] = []
    for name, p in models_of(pick):
        lines += [*([""] if lines else []), *([f"{name}:"] if name else []), pick_sentence(p)]
        targets = target_words(p)
        lines += [f"targets {targets}"] if targets else []
        m = matrix_of(p, MOST_ROWS, MOST_COLUMNS)
        if len(p.chosen) and len(m.columns):
            lines += ["", *_matrix(p, m, max(width, 50)), "", *_parts(p, m, max(width, 50))]
        lines += [f"note: {plain(n, 500)}" for n in p.notes]
    return "\n".join(chain.from_iterable(wrap(line, width) for line in lines))


def _matrix(p: Pick, m: Matrix, width: int) -> list[str]:
    steps = range(len(m.weights))
    names = column([row_name(p, t) for t in steps], width - 2 * len(m.columns) - 26)
    random = [chance_words(p, t) for t in steps]
    head = " ".join(m.letters)
    lines = [f"  {'':{cells(names[0])}}  {head}  covered  at random"]
    for t in steps:
        shown = " ".join(_shade(s) for s in m.strengths[t])
        lines.append(f"  {names[t]}  {shown}  {percent(float(p.share[t])):>7}  {random[t]:>9}")
    left = len(p.chosen) - len(m.weights)
    lines += [f"  and {count(left, 'more row')}"] if left > 0 else []
    return [*lines, f"  {shorten(KEY, width - 2)}"]


def _shade(strength: float) -> str:
    if not strength:
        return NOTHING
    return (RAISES if strength > 0 else LOWERS)[min(int(abs(strength) * 3), 2)]


def _parts(p: Pick, m: Matrix, width: int) -> list[str]:
    """The most important parts, with a bar, and the row that shows each first."""
    values = p.importance[m.columns]
    show = decimals(values)
    numbers, first = [show(v)[1:] for v in values], [first_words(p, m, int(j)) for j in m.columns]
    digits, last = max(len("importance"), *map(len, numbers)), max(map(len, first))
    named = [f"{letter} {plain(p.names[j])}" for letter, j in zip(m.letters, m.columns, strict=True)]
    names = column(named, width - digits - last - 28)
    lines = [f"  {'':{cells(names[0]) + 14}}  {'importance':>{digits}}  shown first"]
    for name, value, number, row in zip(names, values, numbers, first, strict=True):
        lines.append(f"  {name}  {solid(float(value) / float(values[0]) * 12):<12}  {number:>{digits}}  {row}")
    left = m.n_parts - len(m.columns)
    return [*lines, *([f"and {count(left, 'part')} with {percent(m.rest)} of the importance"] if left > 0 else [])]
