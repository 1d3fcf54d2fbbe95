"""Blocks as plain text, as wide as a terminal, and in its colors.

Colors repeat what signs and words say. ``rich`` leaves them out where there is no terminal, or NO_COLOR is set,
and foreign text is never read as its markup, for all that reaches it is literal.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from veridical.display import blocks
from veridical.display.contents import blocks_of
from veridical.display.marks import Marks, stretches, telling
from veridical.display.pixels import Labels, envelope, inside, sample
from veridical.display.views import view_blocks
from veridical.display.words import cells, fit, joined, percent, plain, shorten
from veridical.errors import harmless, require
from veridical.records import Floats

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text as RichText

Lines: TypeAlias = list[str]

TERMINAL = blocks.Limits(
    parts=8, listed=6, entries=0, compared=10, changed=5, groups=10, group_parts=8, matrix=(12, 12), measures=60,
    notes=10**6, minus="-", interval="[{}, {}]",
)  # fmt: skip
NARROWEST, WIDEST = 50, 120  # columns; bars that are longer say no more
ONE_LINE = 140  # columns of what ``repr`` says of a record
NAMES, HEADS = 36, 24  # columns that the names of rows may take, and the heads of a table
RAISES, LOWERS, NOTHING = "░▒▓", "-=≡", "·"  # the stronger, the denser
KEY = f"{RAISES} raises the output, {LOWERS} lowers it; letters as below"
BLOCKS = "▁▂▃▄▅▆▇█"
SIGNS = {sign: words for sign, (_, words) in blocks.SIGNS.items() if sign in ("higher", "lower")} | {
    "interval": "[ ] 95 % interval over instances",
    "best": f"* {blocks.BEST}",
    "level": f"~ {blocks.LEVEL}",
}


def render_text(record: Any, width: int = 80) -> str:
    """The plain text of a record, in lines of at most ``width`` columns where it can be."""
    return "\n".join(write_lines(blocks_of(record, TERMINAL), width))


def terminal_text(record: Any) -> str:
    """The plain text of a record, as wide as the terminal."""
    columns = shutil.get_terminal_size((80, 24)).columns
    return render_text(record, min(max(columns, NARROWEST), WIDEST))


def one_line(record: Any) -> str:
    """What a record is, on one line: the first thing that it says, and its label."""
    shown = blocks_of(record, TERMINAL)
    first = next(iter(write_lines(shown[:1], 10_000)), "")
    label = next((f"; {blocks.MARKS[b.label]} {b.said}" for b in shown if isinstance(b, blocks.Judgment)), "")
    return f"<{type(record).__name__}: {shorten(first.strip(), ONE_LINE)}{label}>"


def write_lines(inner: Iterable[blocks.Block], width: int) -> Lines:
    """Blocks one under the other, with an empty line around all that is drawn."""
    lines, drawn_before = Lines(), False
    for block in inner:
        write = WRITERS.get(type(block))
        found = write(block, width) if write else []
        if found:
            drawn = isinstance(block, DRAWN)
            lines += [""] if lines and (drawn or drawn_before) else []
            lines += chain.from_iterable(wrap(line, width) for line in found)
            drawn_before = drawn
    return lines


def _wide(width: int) -> int:
    """Columns that a drawing takes: in fewer, it says nothing."""
    return max(width, NARROWEST)


def _small(text: str) -> str:
    """Without a capital letter, as lines of a terminal are."""
    return text[:1].lower() + text[1:]


def _title(words: blocks.Words) -> str:
    return joined((_small(words[0]), *words[1:]))


def _headline(b: blocks.Headline, width: int) -> Lines:
    said = ", ".join(" ".join(filter(None, pair)) for pair in b.said)
    title = _title(b.title)
    return [b.line or ": ".join(filter(None, (title, said)))]


def _judgment(b: blocks.Judgment, width: int) -> Lines:
    numbers = " · ".join(f"{name} {value}" for name, value in b.numbers)
    lines = [f"{blocks.MARKS[b.label]} {b.said}. {plain(b.sentence, 1000)}"]
    return [*lines, *([numbers] if numbers else []), *([plain(b.advice, 300)] if b.advice else [])]


def _label_counts(b: blocks.LabelCounts, width: int) -> Lines:
    return [b.words, *([plain(b.advice, 300)] if b.advice else [])]


def _facts(b: blocks.Facts, width: int) -> Lines:
    if b.lines is not None:
        return list(b.lines)
    return [f"{name.lower():<10}{value} {meaning}" for name, value, meaning in b.entries]


def _text(b: blocks.Text, width: int) -> Lines:
    return [joined(b.words, 1000)]


def _findings(b: blocks.Findings, width: int) -> Lines:
    return [plain(name + said, 900).strip() for name, said in b.lines]


def _notes(b: blocks.Notes, width: int) -> Lines:
    path = "path: " + " → ".join(plain(step, 80) for step in b.path[:20])
    asides = [_small(plain(line, 500)) for line in b.asides]
    return [*asides, *([path] if b.path else []), *(f"note: {plain(line, 500)}" for line in b.lines)]


def _legend(b: blocks.Legend, width: int) -> Lines:
    said = "; ".join([*(SIGNS[sign] for sign in b.signs if sign in SIGNS), *b.words])
    return [said] if said else []


# ---- bars


def _bars(b: blocks.Bars, width: int) -> Lines:
    """One line a part: name, bar around a common zero, number, and a last column."""
    if not b.lines:
        return []
    wide, heads = _wide(width), [head.lower() for head in b.heads[2:]]
    numbers, last = ([line.numbers[i] for line in b.lines] for i in (0, 1))
    digits = max(len(heads[0]), *map(len, numbers))
    longest = _longest(line.value for line in b.lines)
    taken = digits + max(map(cells, (heads[1], *last))) + 8
    room = max(wide - taken - 22 if b.sizes else (wide - taken) * 2 // 3, 12)
    names = _aligned([_label(line, room) for line in b.lines], right=False)
    half = 12 if b.sizes else max((wide - taken - cells(names[0]) - 1) // 2, 4)
    room = half + 1 if b.sizes else 2 * half + 3
    lines = [b.title] if b.title else []
    lines.append(f"  {'':{cells(names[0]) + room}}  {heads[0]:>{digits}}  {heads[1]}")
    for name, line in zip(names, b.lines, strict=True):
        size = f"{_solid(line.value, longest, half):<{half}}"
        drawn = size if b.sizes else _around_zero(line.value, longest, half)
        lines.append(f"  {name}  {drawn}  {line.numbers[0]:>{digits}}  {line.numbers[1]}".rstrip())
    return lines


def _longest(values: Iterable[float]) -> float:
    return max((abs(v) for v in values if math.isfinite(v)), default=0.0) or 1.0


def _around_zero(value: float, longest: float, half: int) -> str:
    """A bar to the left or right of a common zero; none of what is not known."""
    bar = _solid(value, longest, half)
    left, right = (bar[::-1].replace("▌", "▐"), "") if value < 0 else ("", bar)
    return f"{left:>{half}}│{right:<{half}}"


def _solid(value: float, longest: float, room: int) -> str:
    """A bar as long as its share of the longest, to half a character; nothing only where there is nothing."""
    if not value or math.isnan(value):
        return ""
    halves = max(round(2 * room * min(abs(value) / longest, 1.0)), 1)
    return "█" * (halves // 2) + "▌" * (halves % 2)


def column(names: Sequence[str], limit: int) -> Lines:
    """Names cut in the middle, for many differ at their ends, and padded to one width."""
    return _aligned([cut(name, limit) for name in names], right=False)


def cut(text: str, limit: int) -> str:
    """The text, or what fits into ``limit`` columns without its middle."""
    if fit(text, limit) == text:
        return text
    end = fit(text[::-1], max((limit - 1) // 2, 0))[::-1]
    return shorten(text, limit - cells(end)) + end


def _label(line: blocks.BarLine, limit: int) -> str:
    """The name of a bar, of which the row's own value and its bin are never cut unless they alone are too long."""
    letter = f"{line.badge.letter} " if line.badge else ""
    own, rest = (
        (f" {plain(line.own, 40)}" if line.own else ""),
        (f" ({plain(line.rest, 80)})" if line.rest else ""),
    )
    for tail in (own + rest, own, ""):
        if not tail or cells(tail) <= limit * 2 // 3:
            return cut(letter + plain(line.name), limit - cells(tail)) + tail
    return cut(letter + plain(line.name), limit)


def wrap(line: str, width: int) -> Lines:
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


def _pairs(b: blocks.PairedBars, width: int) -> Lines:
    """Three lines a part: its name with the difference, and a bar for each side."""
    wide, titles = _wide(width), column(b.titles, 16)
    apart = [
        f"{line.mark} {line.numbers[0]}" + ("" if math.isnan(line.difference) else f" {line.numbers[1]}")
        for line in b.lines
    ]
    room, half = max(map(cells, apart)), max((wide - cells(titles[0]) - 20) // 2, 4)
    longest, lines = _longest(weight for line in b.lines for weight in line.weights), []
    for line, said in zip(b.lines, apart, strict=True):
        letter = f"{line.badge.letter} " if line.badge else ""
        name = shorten(letter + plain(line.name), max(wide - room - 4, 12))
        lines.append(f"  {name}{' ' * max(wide - 4 - cells(name) - room, 2)}{said:<{room}}")
        for title, weight, written in zip(titles, line.weights, line.weight_words, strict=True):
            lines.append(f"    {title}  {_around_zero(weight, longest, half)}  {written}")
    first, second = b.titles
    return [*lines, "", f"difference: {second} less {first}, with 95 % interval"]


# ---- tables


def _changes(b: blocks.ChangeTable, width: int) -> Lines:
    """One line per column that changes: its name, the old value and the new one, and what the model then says."""
    rows = [b.heads, *([plain(text) for text in row] for row in b.rows)]
    names, *others = (list(texts) for texts in zip(*rows, strict=True))
    limit = max(_wide(width) // 4, 12)
    columns = [
        column([_small(text) if not i else text for i, text in enumerate(texts)], limit) for texts in others[:2]
    ]
    room = _wide(width) - sum(cells(each[0]) for each in columns) - 8
    longest = min(max(map(cells, names)), room // 2)
    told = [cut(_small(text) if not i else text, room - longest) for i, text in enumerate(others[2])]
    first = column([_small(text) if not i else text for i, text in enumerate(names)], room - max(map(cells, told)))
    return ["  ".join(["", *line]).rstrip() for line in zip(first, *columns, told, strict=True)]


def _matrix(b: blocks.Matrix, width: int) -> Lines:
    """Rows by parts in characters, the coverage beside it."""
    names = column([name for name, *_ in b.lines], _wide(width) - 2 * len(b.letters) - 26)
    lines = [f"  {'':{cells(names[0])}}  {' '.join(b.letters)}  covered  at random"]
    for name, (_, covered, chance), strengths in zip(names, b.lines, b.strengths.tolist(), strict=True):
        drawn = " ".join(_shade(strength, int(np.sign(strength))) for strength in strengths)
        lines.append(f"  {name}  {drawn}  {covered:>7}  {chance:>9}")
    key = KEY.replace(";", f", {NOTHING} no weight;")
    return [*lines, f"  {shorten(key, _wide(width) - 2)}"]


def _folded(names: Sequence[str], columns: Sequence[Sequence[str]], width: int) -> list[Lines]:
    """Tables of as many columns side by side as there is room for, the others below."""
    tables, used = [list[Sequence[str]]()], cells(names[0]) + 2
    for texts in columns:
        wide = max(map(cells, texts))
        if tables[-1] and used + wide + 2 > width:
            tables.append([])
            used = cells(names[0]) + 2
        tables[-1].append(texts)
        used += wide + 2
    return [
        ["  ".join(["", name, *(texts[at] for texts in table)]).rstrip() for at, name in enumerate(names)]
        for table in tables
    ]


def _aligned(texts: Sequence[str], right: bool) -> Lines:
    """Texts of one width."""
    wide = max(map(cells, texts))
    return [" " * (wide - cells(t)) + t if right else t + " " * (wide - cells(t)) for t in texts]


def _measures(b: blocks.Measures, width: int) -> Lines:
    """Numbers of a check beside those of null rows."""
    names = column(["", *(plain(line.name) for line in b.lines)], NAMES)
    heads = [head if head in b.nulls else _small(head) for head in b.heads]
    texts = zip(*(line.texts for line in b.lines), strict=True)
    columns = [_aligned([plain(head, 14), *told], right=True) for head, told in zip(heads, texts, strict=True)]
    lines = list(chain.from_iterable(_folded(names, columns, _wide(width))))
    return [*lines, "", f"{', '.join(plain(name, 30) for name in b.nulls)}: {blocks.NULLS}"] if b.nulls else lines


def _scores(b: blocks.Scores, width: int) -> Lines:
    """Every metric as a column; the rows that know more and the null rows below their heads."""
    wide, names = _wide(width), column(["", *(plain(name) for name in b.rows)], 28)
    columns = [_score_column(c, wide - cells(names[0]) - 4) for c in b.columns]
    lines = []
    for head, *rows in _folded(names, columns, wide):
        known, nulls = rows[b.n_methods : b.n_real], rows[b.n_real :]
        lines += ["", head, *rows[: b.n_methods]]
        lines += [f"  {blocks.REFERENCES}", *known] if known else []
        lines += ["  null rows", *nulls] if nulls else []
    return [*lines[1:], *(f"({i}) {note}" for i, note in enumerate(b.notes, 1))]


def _score_column(c: blocks.ScoreColumn, limit: int) -> Lines:
    """The head and every cell, all of one width."""
    means, ends = zip(*(cell.texts for cell in c.cells), strict=True)
    marks = ["*" * cell.best + "~" * cell.level for cell in c.cells]
    told = [f" ({cell.note})" if cell.note else "" for cell in c.cells]
    digits, mark, span = (max(map(len, texts)) for texts in (means, marks, ends))
    rows = [
        f"{a:>{digits}}{b:<{mark}}{' ' if span else ''}{e:>{span}}{t}".rstrip()
        for a, b, e, t in zip(means, marks, ends, told, strict=True)
    ]
    head = f"{shorten(plain(c.title), min(HEADS, limit - 2))} {c.arrow}".rstrip()
    return _aligned([head, *rows], right=False)


# ---- blocks that hold others


def _section(b: blocks.Section, width: int) -> Lines:
    inner = write_lines(b.blocks, width)
    return [f"── {plain(b.title, 60)} ──", *inner] if inner else []


def _details(b: blocks.Details, width: int) -> Lines:
    title = _title(b.title)
    if not b.outcome:
        return [f"  {title}: {b.small}"]
    lines = chain.from_iterable(wrap(line, width - 2) for line in (b.small, *b.lines))
    return [
        f"{blocks.MARKS[b.outcome]} {blocks.LABELS.get(b.outcome, b.outcome):<7}  {title}",
        *(f"  {line.strip()}" for line in lines),
    ]


def _cards(b: blocks.Cards, width: int) -> Lines:
    """One under the other, all bars to one scale."""
    lines = Lines()
    charts = [inner for card in b.cards for inner in card.blocks if isinstance(inner, blocks.Bars)]
    every = tuple(chain.from_iterable(chart.lines for chart in charts))
    rows = iter(_bars(replace(charts[0], lines=every), width) if charts else [])
    head = next(rows, "")
    for card in b.cards:
        title = _title(card.title)
        lines += ["", f"{title}: {card.small}".rstrip()]
        for block in card.blocks:
            if isinstance(block, blocks.Bars):
                lines += [head, *(next(rows) for _ in block.lines)]
            else:
                lines += write_lines((block,), width)
    return lines[1:]


def _document(b: blocks.Document, width: int) -> Lines:
    """Every record under its heading."""
    parts = ["\n".join(wrap(plain(words, 2000), width)) for words in (b.title, b.lead) if words]
    for heading, text, inner in b.sections:
        title = plain(heading, 200)
        parts += [f"{title}\n{'─' * min(cells(title), width)}"] if title else []
        parts += ["\n".join(wrap(plain(text, 2000), width))] if text else []
        parts.append("\n".join(write_lines(inner, width)))
    return "\n\n".join(parts).split("\n")


# ---- the instance in characters

MOST_LINES = 12  # of a text
MOST_FRAMES, MOST_CHANNELS = 3, 4
ROWS, COLUMNS = 10, 30  # of a map
LONG = 64  # characters of a line over time


def _instance(b: blocks.Instance, width: int) -> Lines:
    return write_lines(view_blocks(b), max(width, 20))


def _passage(b: blocks.Passage, width: int) -> Lines:
    """The text with its heaviest parts in brackets; of a long one, the lines that hold most of them."""
    written, at, scores, marks = [], 0, list[tuple[int, float]](), b.marks
    for text, part in b.pieces:
        safe = "".join(c if c == "\n" else harmless(c) for c in text.replace("\r\n", "\n"))
        if marks.sign(part) and part in marks.letters:
            fence = ("+" if marks.sign(part) > 0 else "-") * (2 if abs(marks.strengths[part]) >= 0.5 else 1)
            scores.append((at, abs(float(marks.strengths[part]))))
            safe = f"[{fence}{safe}{fence}]"
        written.append(safe)
        at += len(safe)
    lines = list(_wrapped("".join(written), width - 2))
    if len(lines) <= MOST_LINES:
        return [f"  {line}" for _, line in lines]
    starts, weight = np.array([start for start, _ in lines]), np.zeros(len(lines))
    places, sizes = np.array(scores).reshape(-1, 2).T
    np.add.at(weight, np.searchsorted(starts, places, side="right") - 1, sizes)
    best = sorted(np.argsort(-weight, kind="stable")[:MOST_LINES].tolist())
    shown = [f"{'…' if i and i - 1 not in best else ' '} {lines[i][1]}" for i in best]
    return [*shown, f"  … {len(lines) - len(best):,} more lines"]


def _wrapped(text: str, width: int) -> Iterator[tuple[int, str]]:
    """(start, line) of each line that is not empty; words too long for one are broken."""
    line, start, used = "", 0, 0
    for match in re.finditer(r"\n|[^\S\n]+|\S+", text):
        word = match.group()
        if word == "\n" or (line and used + cells(word) > width and not word.isspace()):
            if line.strip():
                yield start, line.rstrip()
            line, used = "", 0
        if word == "\n" or (not line and word.isspace()):
            continue
        place, end = match.start(), match.end()
        while len(head := fit(text[place : min(end, place + 4 * width)], width)) < end - place:
            yield place, head
            place += len(head)
        word = head
        start = start if line else place
        line, used = line + word, used + cells(word)
    if line.strip():
        yield start, line.rstrip()


def _frames(b: blocks.Frames, width: int) -> Lines:
    """A map of the parts; several frames side by side, a spectrogram wide."""
    labels, wide = [frame.labels for frame in b.frames], b.axes is not None
    chosen = telling(np.stack(labels), b.marks, MOST_FRAMES)
    room = (width - 2 - 2 * (len(chosen) - 1)) // max(len(chosen), 1)
    maps = [_map(labels[f], b.marks, room, wide) for f in chosen]
    heads = [shorten(plain(b.frames[f].title, 40), room) for f in chosen]
    padded = [head + " " * (cells(m[0]) - cells(head)) for head, m in zip(heads, maps, strict=True)]
    lines = ["  ".join(padded)] if any(heads) else []
    lines += ["  ".join(row) for row in zip(*maps, strict=True)]
    lines += [shorten(plain(b.said), width - 2)] if b.said else []
    return [f"  {line}".rstrip() for line in (*lines, shorten(KEY, width - 2))]


def _map(labels: Labels, marks: Marks, room: int, wide: bool) -> Lines:
    """Parts as shades, each with its letter where it is deepest."""
    h, w = labels.shape
    columns = max(min(room, 2 * COLUMNS if wide else COLUMNS), 1)
    rows = ROWS if wide else max(round(columns * h / w / 2), 1)
    if rows > ROWS:
        rows, columns = ROWS, max(min(round(2 * ROWS * w / h), columns), 1)
    small = sample(labels, rows, columns)
    grid = [[_shade_of(marks, int(part)) for part in row] for row in small]
    for part, letter in marks.letters.items():
        mask = small == part
        if marks.sign(part) and mask.any():
            x, y = inside(mask)
            grid[int(y)][int(x)] = letter[0]
    return ["".join(row) for row in grid]


def _shade_of(marks: Marks, part: int) -> str:
    sign = marks.sign(part)
    return _shade(float(marks.strengths[part]) if sign else 0.0, sign)


def _shade(strength: float, sign: int) -> str:
    if not sign:
        return NOTHING
    return (RAISES if sign > 0 else LOWERS)[min(int(abs(strength) * 3), 2)]


def _traces(b: blocks.Traces, width: int) -> Lines:
    """Each line over time, and below it what each of its parts counts."""
    weight = [-b.marks.size({part for _, part in trace.boxes}) for trace in b.traces]
    chosen = sorted(np.argsort(weight, kind="stable")[:MOST_CHANNELS].tolist())
    lines = Lines()
    for trace in (b.traces[i] for i in chosen):
        n = min(width - 2, LONG)
        if trace.high is None:
            low, high = envelope(trace.low, n)
            known = trace.low[np.isfinite(trace.low)]
            line = _spark((low + high) / 2, float(known.min()) if known.size else 0.0)
        else:
            line = _spark(envelope(np.maximum(abs(trace.low - 0.5), abs(trace.high - 0.5)), n)[1], 0.0)
        times, owners = (np.arange(len(line)) + 0.5) / max(len(line), 1), np.full(len(line), -1)
        for (left, right, *_), part in trace.boxes:
            owners[(times >= left) & (times < right)] = part
        lines += [shorten(plain(trace.name, 40), width - 2)] if len(b.traces) > 1 and trace.name else []
        lines += [line, *([_band(owners, b.marks)] if trace.boxes else [])]
    left = len(b.traces) - len(chosen)
    lines += [f"and {left:,} more of less weight"] if left else []
    lines += [shorten(_small(note), width - 2) for note in b.notes]
    boxed = any(trace.boxes for trace in b.traces)
    return [f"  {line}" for line in (*lines, *([shorten(KEY, width - 2)] if boxed else []))]


def _band(owners: Sequence[int] | Any, marks: Marks) -> str:
    """One line of shades, each stretch with its letter in its middle."""
    line = []
    for start, stop, part in stretches(owners):
        run = [_shade_of(marks, part)] * (stop - start)
        if marks.sign(part) and part in marks.letters:
            run[(stop - start) // 2] = marks.letters[part][0]
        line += run
    return "".join(line)


def _spark(values: Floats, low: float) -> str:
    """One block a value; a space where it is missing."""
    known = values[np.isfinite(values)]
    span = float(known.max()) - low if known.size else 0.0
    if span <= 0:
        return "".join(BLOCKS[0] if np.isfinite(v) else " " for v in values)
    return "".join(BLOCKS[min(int((v - low) / span * 8), 7)] if np.isfinite(v) else " " for v in values)


def _field(b: blocks.FieldBlock, width: int) -> Lines:
    """One field with its share of the effect."""
    lines = [f"  {shorten(plain(b.name), width - 26)}: {percent(b.share)} of the effect"]
    for block in b.blocks:
        if isinstance(block, blocks.Text):
            lines += [f"    {line}" for _, line in list(_wrapped(joined(block.words, 400), width - 4))[:3]]
        else:
            lines += [f"  {line}" for line in write_lines((block,), width - 2)]
    return lines


WRITERS: Mapping[type, Callable[[Any, int], Lines]] = {
    blocks.Headline: _headline,
    blocks.Judgment: _judgment,
    blocks.LabelCounts: _label_counts,
    blocks.Facts: _facts,
    blocks.Text: _text,
    blocks.Findings: _findings,
    blocks.Notes: _notes,
    blocks.Legend: _legend,
    blocks.Bars: _bars,
    blocks.PairedBars: _pairs,
    blocks.Matrix: _matrix,
    blocks.Measures: _measures,
    blocks.Scores: _scores,
    blocks.Section: _section,
    blocks.Details: _details,
    blocks.Cards: _cards,
    blocks.Document: _document,
    blocks.Instance: _instance,
    blocks.Passage: _passage,
    blocks.Frames: _frames,
    blocks.Traces: _traces,
    blocks.FieldBlock: _field,
    blocks.ChangeTable: _changes,
}  # tables, curves, players, maps and what opens are for pages and figures
DRAWN = (
    blocks.Bars, blocks.PairedBars, blocks.Matrix, blocks.Measures, blocks.Scores, blocks.Instance, blocks.Section,
    blocks.Cards, blocks.ChangeTable,
)  # fmt: skip


# ---- in color

UP, DOWN = "#3d8fd4", "#e07b18"  # blue and orange, as everywhere; readable on black and on white
STYLES = {
    "up": UP, "up_more": f"bold {UP}", "down": DOWN, "down_more": f"bold {DOWN}",
    "yes": "bold green", "no": "bold red", "care": "bold yellow", "head": "bold", "aside": "dim",
}  # fmt: skip
SHADES = re.escape(RAISES + LOWERS + NOTHING)
PATTERNS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"\A(?P<head>.+)$",
        r"^(?P<head>── .+ ──|group \d+: .+|first model:|second model:)",
        r"^(?P<yes>[✓=] [a-z]+\.?)",
        r"^(?P<care>◐ [a-z]+\.?)",
        r"^(?P<no>[✗!] [a-z]+\.?)",
        r"^(?P<aside>[–?≠] [a-z ]+?\.|– skipped|note:|path:|Try .+)",
        r"^  .*  (?P<down>[█▐]+)│ *  (?P<down_more> *[-\d]\S*)(?:  (?P<aside>.*))?$",
        r"^  .*│(?P<up>[█▌]+) *  (?P<up_more> *[+\d]\S*)(?:  (?P<aside>.*))?$",
        r"^  .*  (?:(?P<up_more>● \+\S+)|(?P<down_more>● -\S+)|[○?] +\S+) (?P<aside>\[.+\]|not measured)$",
        rf"^  (?P<up>{RAISES}) raises the output, (?P<down>{re.escape(LOWERS)}) lowers it",
        r"(?<= )(?P<head>-?\d[\d.e+-]*\*)(?= |$)",  # the best of a column
        r"\[(?P<up_more>\+\+[^\[\]]+\+\+)\]",
        r"\[(?P<up>\+(?!\+)[^\[\]]*[^\[\]+]\+)\]",
        r"\[(?P<down_more>--[^\[\]]+--)\]",
        r"\[(?P<down>-(?!-)[^\[\]]*[^\[\]-]-)\]",
    )
)
MAP = re.compile(rf"^  +(?:row .*  )?(?:[{SHADES}A-Za-z]{{2,}}|(?:[{SHADES}] )+)", re.MULTILINE)
SHADE = re.compile(rf"(?P<up>[{RAISES}]+)|(?P<down>[{re.escape(LOWERS)}]+)")


@dataclass(frozen=True, slots=True)
class Colored:
    """What ``rich`` prints instead of a record."""

    record: Any

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RichText]:
        yield _painted(render_text(self.record, min(max(options.max_width, NARROWEST), WIDEST)))


def _painted(text: str) -> RichText:
    """Our own text in color: bars and numbers by their sign, verdicts by what they say."""
    made: RichText = require("rich.text", extra="cli").Text(text, no_wrap=True, overflow="ignore")
    for pattern in PATTERNS:
        for match in pattern.finditer(text):
            _paint(made, match, 0)
    for line in MAP.finditer(text):
        if sum(c in RAISES + LOWERS + NOTHING for c in line.group()) >= len(line.group().split()[-1]) // 2:
            for match in SHADE.finditer(line.group()):
                _paint(made, match, line.start())
    return made


def _paint(text: RichText, match: re.Match[str], start: int) -> None:
    for name, found in match.groupdict().items():
        if found is not None:
            text.stylize(STYLES[name], start + match.start(name), start + match.end(name))
