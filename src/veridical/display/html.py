"""Blocks as HTML, in files and notebooks.

No script, nothing from outside, nothing that only a color or a hover tells.
A fragment takes its ink from the notebook around it, so it reads well in any theme;
a page brings its own, light and dark.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import resources
from io import BytesIO
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from veridical.display import blocks
from veridical.display import html_charts as charts
from veridical.display import html_instances as instances
from veridical.display.contents import blocks_of
from veridical.display.figures import write
from veridical.display.marks import UNMARKED, letters
from veridical.display.markup import NONE, SPACE, Markup, escape, join, spaced, tag, whole
from veridical.display.terminal import render_text
from veridical.display.views import view_blocks
from veridical.display.words import joined, percent, plain
from veridical.errors import VeridicalError, require

Scale: TypeAlias = tuple[blocks.Span, float]  # of a column: its ends, and where the best null row is

PAGE = blocks.Limits(
    parts=8, listed=6, entries=1000, compared=20, changed=6, groups=24, group_parts=12, matrix=(40, 24),
    measures=60, notes=6, columns=12, points=200, folds=True, n_bytes=4_500_000,
)  # fmt: skip
NOTEBOOK = replace(PAGE, entries=12, columns=8, n_bytes=200_000)  # every cell is kept in the file of the notebook
HEADINGS = ("vd-h3", "vd-h4", "vd-h5", "vd-h6")  # of a record and what is in it, whatever their level will be
LEAN = 4_000  # bytes of an entry without its picture, about
FEWEST_LINKS = 3  # sections of a page that lists them
COLORS = 8  # that lines have before they repeat
HIGH = 250  # pixels of a chart
CELL, HEIGHT = 10, 32  # of a cell of a matrix, in units of the drawing
TOLD = 5  # parts that the text alternative of a row names
STOP = tag("i", {"class": "vd-bare"}, escape(";"))  # where styles are taken away
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:"


# ---- pages and fragments


def fragment(record: Any) -> str:
    """One record or page, to be shown inside another page such as a notebook."""
    inner = part(record, 3, limits=NOTEBOOK)
    style = _style(inner).replace(".vd ", ".vd.vd ")  # stronger than what notebooks say of tables and lists
    return f'<div class="vd"><style>{style}</style>{inner}</div>'


def part(
    record: Any,
    level: int,
    *,
    limits: blocks.Limits = PAGE,
    controls: Mapping[int, Markup] = MappingProxyType({}),
    was: Mapping[int, float] = MappingProxyType({}),
) -> Markup:
    """A record without its style, to stand in an element of class ``vd`` on a page that has ``stylesheet()``.

    Its headings are of this level and the next. Bars, shapes and marks say in ``data-part`` which feature of the
    explanation they are; ``controls`` are put beside the bar of a feature, and ``was`` is drawn behind it.
    """
    shown = blocks_of(record, limits)
    if controls or was:
        shown = tuple(_with_controls(block, controls, was) for block in shown)
    return leveled(draw(shown), level)


def _with_controls(b: blocks.Block, controls: Mapping[int, Markup], was: Mapping[int, float]) -> blocks.Block:
    """The bars of a block with what belongs beside and behind them."""
    if isinstance(b, blocks.Details):
        return replace(b, blocks=tuple(_with_controls(each, controls, was) for each in b.blocks))
    if not isinstance(b, blocks.Bars):
        return b
    known = {line.part: was[line.part] for line in b.lines if line.part in was}
    lines = tuple(
        replace(line, control=controls.get(line.part, NONE), was=known.get(line.part, math.nan))
        for line in b.lines
    )
    low, high = blocks.span_of(list(known.values()))
    return replace(b, lines=lines, span=(min(low, b.span[0]), max(high, b.span[1])))


def stylesheet() -> str:
    """The style of all that ``part`` makes; what belongs to whole pages is not in it."""
    return "".join(css for name, css in sheets().items() if name != "page")


def page(record: Any) -> str:
    """A whole page that stands alone, with a heading for every section that has one.

    A page of one record that has neither title nor heading takes the record's own as its title.
    """
    (document,) = blocks_of(record, PAGE)
    assert isinstance(document, blocks.Document)
    title, links, body = escape(document.title), list[str](), ""
    alone = not document.title and len(document.sections) == 1 and not document.sections[0][0]
    for at, (heading, text, shown) in enumerate(document.sections, 1):
        inner = leveled(draw(shown), 3 if heading else 1 if alone else 2)
        head = f"<h2>{escape(heading)}</h2>" if heading else ""
        words = f'<p class="text">{escape(text, 2000)}</p>' if text else ""
        body += f'\n<section id="s{at}">{head}{words}<div class="vd">{inner}</div></section>'
        links += [f'<li><a href="#s{at}">{escape(heading)}</a></li>'] if heading else []
    contents = f'<nav aria-label="Contents"><ol>{"".join(links)}</ol></nav>' if len(links) >= FEWEST_LINKS else ""
    lead_line = f'<p class="lead">{escape(document.lead, 2000)}</p>' if document.lead else ""
    header = f"<header><h1>{title}</h1>{lead_line}{contents}</header>" if not alone else ""
    sorts = 'class="vd-rows"' in body  # which foreign text cannot hold
    allowed, scripts = (
        (f"; {charts.script_policy()}", f"<script>{charts.script()}</script>") if sorts else ("", "")
    )
    if alone:
        heads = (b for b in document.sections[0][2] if isinstance(b, blocks.Headline))
        title = escape(next((b.line or joined(b.title) for b in heads), "veridical"))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}{allowed}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><style>{_style(body)}{sheets()['page']}</style></head>\n"
        f"<body><main>{header}{body}"
        "<footer>Made with veridical. Intervals tell how far sampling can be off, not how far the model "
        f"can.</footer></main>{scripts}</body></html>\n"
    )


@cache
def sheets() -> Mapping[str, str]:
    """The sections of page.css by name: ``all`` and ``page``, and those that a page has only if it needs them."""
    css = resources.files("veridical.display").joinpath("page.css").read_text(encoding="utf-8")
    _, *parts = re.split(r"/\* == ([\w -]+) == \*/", css)
    found = zip(parts[::2], parts[1::2], strict=True)
    return {name: re.sub(r"/\*.*?\*/|\n\s*", "", text, flags=re.DOTALL) for name, text in found}


def _style(inner: str) -> str:
    """The sections of the style sheet that are of use: those whose name is that of a class of the markup."""
    own = {name: css for name, css in sheets().items() if name not in ("all", "page")}
    needed = (css for names, css in own.items() if any(name in inner for name in names.split(" or ")))
    return sheets()["all"] + "".join(needed)


def _booklet(b: blocks.Document) -> Markup:
    """A page inside another page: its headings are those of a record, and there are no links to them."""
    top = 4 if b.title else 3
    parts = [tag(HEADINGS[0], {}, escape(b.title)) if b.title else NONE, _paragraph(b.lead)]
    for heading, text, shown in b.sections:
        head = tag(HEADINGS[top - 3], {}, escape(heading)) if heading else NONE
        parts += [head, _paragraph(text), _lowered(draw(shown), top - 2 if heading else top - 3)]
    return join(*parts)


def _lowered(inner: Markup, by: int) -> Markup:
    """Markup whose headings are so many levels lower."""
    for name, below in zip(HEADINGS[::-1][by:], HEADINGS[::-1], strict=False):
        inner = Markup(inner.replace(f"<{name}>", f"<{below}>").replace(f"</{name}>", f"</{below}>"))
    return inner


def _paragraph(text: str, kind: str = "") -> Markup:
    return tag("p", {"class": kind or None}, escape(text, 2000)) if text else NONE


def leveled(inner: Markup, level: int) -> Markup:
    """Markup whose headings have levels, the first this one; foreign text has no element that could be meant."""
    for at, name in enumerate(HEADINGS, level):
        inner = Markup(inner.replace(f"<{name}>", f'<h{min(at, 6)} class="{name}">'))
        inner = Markup(inner.replace(f"</{name}>", f"</h{min(at, 6)}>"))
    return inner


TEXTS = ("text/plain", "text/html")
PICTURES = {"image/svg+xml": "svg", "image/png": "png", "application/pdf": "pdf"}


def bundle(record: Any, include: Collection[str] | None, exclude: Collection[str] | None) -> dict[str, Any]:
    """What is shown by kind of content: the notebook takes the first that it can show.

    Pictures are made only for those who name them in ``include``: they would make every notebook larger.
    """
    kinds = [kind for kind in (*TEXTS, *PICTURES) if kind in (TEXTS if include is None else include)]
    made = {kind: _content(record, kind) for kind in kinds if kind not in (exclude or ())}
    return {kind: content for kind, content in made.items() if content is not None}


def _content(record: Any, kind: str) -> str | bytes | None:
    """A text, or a picture as a file has it; none of a record that has no picture, or without matplotlib."""
    if kind in TEXTS:
        return render_text(record) if kind == "text/plain" else str(record._repr_html_())
    stream = BytesIO()
    try:
        require("matplotlib", extra="plot")
        write(PICTURES[kind], record, stream)
    except VeridicalError:
        return None
    return stream.getvalue().decode() if kind == "image/svg+xml" else stream.getvalue()


# ---- words


def draw(shown: Iterable[blocks.Block]) -> Markup:
    """Blocks one under the other."""
    return join(*(DRAWERS[type(block)](block) for block in shown))


def _words(words: blocks.Words, limit: int = 100) -> Markup:
    """Ours as they are, and foreign words set apart, so that their direction stays theirs."""
    return join(
        *(tag("bdi", {}, escape(w, limit)) if i % 2 else escape(w, 1000) for i, w in enumerate(words) if w)
    )


def _headline(b: blocks.Headline) -> Markup:
    said = list[Markup]()
    for i, (words, number) in enumerate(b.said):
        bold = join(SPACE, tag("b", {}, escape(number))) if number else NONE
        said.append(tag("span", {}, escape(words, 200), bold, STOP if i < len(b.said) - 1 else NONE))
    return tag("div", {"class": "vd-say"}, *spaced(tag(HEADINGS[0], {}, _words(b.title, 300)), *said))


def _judgment(b: blocks.Judgment) -> Markup:
    """A mark and the label beside the color; the sentence, three numbers, and what to try."""
    said = [tag("p", {}, tag("strong", {}, escape(f"{b.said}.")), SPACE, escape(b.sentence, 1000))]
    if b.numbers:
        three = (tag("span", {}, escape(name), SPACE, tag("b", {}, escape(value))) for name, value in b.numbers)
        said.append(tag("p", {"class": "vd-three"}, *spaced(*three)))
    said += [tag("p", {"class": "vd-try"}, _coded(b.advice))] if b.advice else []
    return tag("div", {"class": f"vd-verdict vd-{_tone(b.label)}"}, _mark(b.label), tag("div", {}, *said))


def _coded(text: str) -> Markup:
    """A text whose code stands between backticks."""
    pieces = text.split("`")
    return join(
        *(tag("code", {}, escape(p, 300)) if i % 2 else escape(p, 1000) for i, p in enumerate(pieces) if p)
    )


def _tone(label: str) -> str:
    return blocks.TONES.get(label, "none")


def _label_counts(b: blocks.LabelCounts) -> Markup:
    """One stacked bar, and each label with its mark and number."""
    bars, entries = list[Markup](), list[Markup]()
    for label, n in b.counts:
        bars.append(tag("i", {"class": f"vd-{_tone(label)}", "style": f"flex-grow:{n}"}))
        said = escape(f" {n:,} {blocks.LABELS.get(label, label)}")
        entries.append(tag("span", {"class": f"vd-{_tone(label)}"}, _mark(label), said))
    advice = tag("p", {"class": "vd-try"}, _coded(b.advice)) if b.advice else NONE
    drawn = tag("div", {"class": "vd-stack", "aria-hidden": "true"}, *bars)
    return tag("div", {"class": "vd-labels"}, drawn, tag("p", {}, *spaced(*entries)), advice)


def _mark(outcome: str, words: str = "") -> Markup:
    """The sign of an outcome; without words it stands beside them."""
    told = {"role": "img", "aria-label": words} if words else {"aria-hidden": "true"}
    return tag("span", {"class": "vd-mark", **told}, escape(blocks.MARKS[outcome]))


def _facts(b: blocks.Facts) -> Markup:
    """Numbers, each with its name above and what it means below."""
    shown = []
    for name, value, meaning in b.entries:
        said = tag("dd", {}, escape(value), SPACE, tag("small", {}, escape(meaning)))
        shown.append(tag("div", {}, tag("dt", {}, escape(name)), said))
    return tag("dl", {}, *shown)


def _text(b: blocks.Text) -> Markup:
    if b.kind == "field":
        return tag("div", {"class": "vd-text", "dir": "auto"}, whole("".join(b.words)[:20_000]))
    return tag("p", {"class": f"vd-{b.kind}" if b.kind else None}, _words(b.words, 1000))


def _findings(b: blocks.Findings) -> Markup:
    items = []
    for name, said in b.lines:
        head = tag("b", {}, tag("bdi", {}, escape(name, 60))) if name else NONE
        items.append(tag("li", {}, head, tag("bdi", {}, escape(said, 800))))
    return tag("ul", {"class": f"vd-says vd-{b.kind}" if b.kind else "vd-says"}, *items) if items else NONE


def _notes(b: blocks.Notes) -> Markup:
    items = [tag("li", {}, escape(line, 280)) for line in (*b.asides, *b.lines)]
    if b.path:
        steps = (tag("li", {}, tag("bdi", {}, escape(step, 60))) for step in b.path[:20])
        items.append(tag("li", {}, escape("Path through the tree"), tag("ol", {"class": "vd-path"}, *steps)))
    return tag("ul", {"class": "vd-notes"}, *items) if items else NONE


# ---- pairs of bars, and matrices


def _pairs(b: blocks.PairedBars) -> Markup:
    """One line per part: both bars, both weights, the difference with its interval."""
    first, second = (plain(title, 24) for title in b.titles)
    heads = (*b.heads, f"{second} less {first}", "95 % interval")
    titles = zip(("", "", "vd-w", "vd-apart", "vd-i"), map(escape, heads), strict=True)
    body = tag("tbody", {}, *(_pair(line, b.spans) for line in b.lines))
    return charts.draw_table("vd-pairs", titles, body, columns=("vd-cn", "vd-cb", "vd-cw", "vd-cb", "vd-ci"))


def _pair(b: blocks.PairLine, spans: tuple[blocks.Span, blocks.Span]) -> Markup:
    *both, apart = (0.0 if math.isnan(v) else v for v in (*b.weights, b.difference))
    sign = tag("b", {"class": "vd-sign", "role": "img", "aria-label": b.mark_words}, escape(b.mark))
    number = tag("div", {}, sign, escape(f" {b.numbers[0].strip()}"))
    return tag(
        "tr",
        {"class": "vd-larger" if b.larger else None},
        tag(
            "th",
            {"scope": "row"},
            charts.draw_letter(b.badge) if b.badge else NONE,
            tag("bdi", {}, escape(b.name)),
        ),
        tag("td", {"class": "vd-b vd-two"}, *(charts.draw_bar(weight, None, spans[0]) for weight in both)),
        tag("td", {"class": "vd-w"}, *(tag("div", {}, escape(word.strip())) for word in b.weight_words)),
        tag("td", {"class": "vd-b vd-apart"}, charts.draw_bar(apart, b.ends, spans[1])),
        tag("td", {"class": "vd-i"}, number, tag("small", {}, escape(b.numbers[1]))),
    )


def _matrix(b: blocks.Matrix) -> Markup:
    """One line a row: a bar up or down for each part that it gives weight."""
    keys = tag(
        "div", {"class": "vd-letters", "aria-hidden": "true"}, *(tag("b", {}, escape(a)) for a in b.letters)
    )
    rows = (
        charts.draw_bar_row(tag("bdi", {}, escape(name[:1].upper() + name[1:])), _strip(b, i), (covered, chance))
        for i, (name, covered, chance) in enumerate(b.lines)
    )
    return charts.draw_bar_table(b.heads, rows, "vd-matrix", keys)


def _strip(b: blocks.Matrix, row: int) -> Markup:
    """The weights of one row, each at the place of its part."""
    wide, middle, told = CELL * len(b.letters), HEIGHT // 2, list[tuple[float, str]]()
    grid = "".join(f"M{CELL * c} 0V{HEIGHT}" for c in range(len(b.letters) + 1))
    shapes = [tag("path", {"class": "vd-grid", "d": grid})]
    for c, strength in enumerate(b.strengths[row].tolist()):
        if not strength:
            continue
        size, say = abs(strength) * (middle - 1), f"{b.letters[c]} {plain(b.names[c], 60)}: {b.numbers[row][c]}"
        told.append((-abs(strength), say))
        kind, top = ("vd-up", middle - size) if strength > 0 else ("vd-down", middle)
        if b.new[row, c]:
            cell = {"x": CELL * c, "y": 0, "width": CELL, "height": HEIGHT}
            shapes.append(tag("rect", {"class": f"{kind} vd-new", **cell}))
        box = {"x": CELL * c + 1, "y": f"{top:.1f}", "width": CELL - 2, "height": f"{max(size, 1):.1f}"}
        shapes.append(tag("rect", {"class": kind, **box}, tag("title", {}, escape(say, 200))))
    shapes.append(tag("path", {"class": "vd-axis", "d": f"M0 {middle}H{wide}"}))
    heaviest = "; ".join(say for _, say in sorted(told)[:TOLD]) or "none of these parts has weight"
    label = {"role": "img", "aria-label": f"{b.lines[row][0]}: {heaviest}"}
    return tag("svg", {**label, "viewBox": f"0 0 {wide} {HEIGHT}", "preserveAspectRatio": "none"}, *shapes)


# ---- tables


def _scrolling(label: str, inner: Markup) -> Markup:
    """A wide table scrolls inside it, by keyboard too."""
    return tag("div", {"class": "vd-box", "role": "group", "aria-label": label, "tabindex": 0}, inner)


def _dot(b: blocks.Dot) -> Markup:
    """A number as a dot, its interval as a line, a gray stroke for every null row; words beside it say the same."""

    def at(value: float) -> float:
        return blocks.place(value, b.span, 3, 94)

    paths = [("vd-axis", f"M{at(0.0)} 0V16")] if b.span[0] <= 0 <= b.span[1] else []
    paths += [("vd-nothing", f"M{at(value)} 2V14") for value in b.nulls if math.isfinite(value)]
    paths += [("vd-whisk", f"M{at(b.ends[0])} 8H{at(b.ends[1])}")] if b.ends else []
    paths += [("vd-want", f"M{at(b.want)} 0V16")] if math.isfinite(b.want) else []
    shapes = (tag("path", {"class": kind, "d": d}) for kind, d in (*paths, ("vd-dot", f"M{at(b.value)} 8h.01")))
    box = {"aria-hidden": "true", "viewBox": "0 0 100 16", "preserveAspectRatio": "none"}
    return tag("svg", box, *shapes)


def _measures(b: blocks.Measures) -> Markup:
    """A row a measure; what knowing nothing gets stands in gray at the right."""
    kinds, rows, above = ["vd-null" if head in b.nulls else "" for head in b.heads], list[Markup](), NONE
    names = (tag("bdi", {}, escape(head, 40)) for head in b.heads)
    heads = (("", escape("Measure")), ("", escape("Drawn")), *zip(kinds, names, strict=True))
    if b.nulls:
        over = {"colspan": len(b.nulls), "scope": "colgroup", "class": "vd-null"}
        said = tag("th", over, escape(f"Null rows: {blocks.NULLS}"))
        above = tag("tr", {}, tag("td", {"colspan": len(heads) - len(b.nulls)}), said)
    for line in b.lines:
        name = tag("th", {"scope": "row"}, tag("bdi", {}, escape(line.name, 80)))
        drawn = tag("td", {"class": "vd-b"}, _dot(line.dot) if line.dot else NONE)
        texts = (tag("td", {"class": k or None}, escape(t)) for k, t in zip(kinds, line.texts, strict=True))
        rows.append(tag("tr", {}, name, drawn, *texts))
    return _scrolling(
        "What was measured", charts.draw_table("vd-measures", heads, tag("tbody", {}, *rows), above=above)
    )


def _scores(b: blocks.Scores) -> Markup:
    """A column a metric; methods first, then rows that know more, then null rows; footnotes below."""
    heads, rows = [tag("th", {"scope": "col"}, escape("Method"))], list[Markup]()
    for c in b.columns:
        arrow = {"role": "img", "aria-label": f"{plain(c.better, 20)} is better"}
        shown = tag("span", arrow, escape(c.arrow)) if c.arrow else NONE
        heads.append(tag("th", {"scope": "col"}, tag("bdi", {}, escape(c.title, 60)), SPACE, shown))
    for i, name in enumerate(b.rows):
        head = tag("th", {"scope": "row"}, tag("bdi", {}, escape(name, 60)))
        rows.append(tag("tr", {}, head, *(_score_cell(c.cells[i]) for c in b.columns)))
    known, nulls = rows[b.n_methods : b.n_real], rows[b.n_real :]
    bodies = [tag("thead", {}, tag("tr", {}, *heads)), tag("tbody", {}, *rows[: b.n_methods])]
    bodies += [_over("Rows that know what was changed", len(heads), known)] if known else []
    words = "Null rows: what explanations that know nothing of the model get"
    bodies += [_over(words, len(heads), nulls, "vd-null")] if nulls else []
    drawn = tag("table", {"class": "vd-scores", "style": f"--n:{len(b.columns)}"}, *bodies)
    feet = [tag("li", {}, tag("sup", {}, escape(i)), escape(f" {note}", 400)) for i, note in enumerate(b.notes, 1)]
    foots = tag("ul", {"class": "vd-foots"}, *feet) if feet else NONE
    return join(_scrolling(f"Scores: {plain(b.family, 60)}", drawn), foots)


def _over(words: str, n: int, rows: Sequence[Markup], kind: str = "") -> Markup:
    """Rows under a line that heads them."""
    head = tag("th", {"scope": "rowgroup", "colspan": n}, tag("span", {}, escape(words)))
    return tag("tbody", {"class": kind or None}, tag("tr", {"class": "vd-over"}, head), *rows)


def _score_cell(cell: blocks.ScoreCell) -> Markup:
    """Mean, marks and footnote; the interval below; a dot on the scale of the column below that."""
    shown = tag("strong" if cell.best else "span", {}, escape(cell.texts[0]))
    signs = (("★", "among the best", cell.best), ("≈", blocks.LEVEL, cell.level))
    marks = [tag("span", {"role": "img", "aria-label": say}, escape(sign)) for sign, say, there in signs if there]
    marks += [tag("sup", {}, escape(cell.note))] if cell.note else []
    drawn = _dot(cell.dot) if cell.dot and not cell.null else NONE
    interval = tag("small", {}, escape(cell.texts[1]))
    return tag("td", {}, shown, SPACE, tag("i", {}, *marks), SPACE, interval, drawn)


def _cells(b: blocks.Table) -> Markup:
    """Words and outcomes in rows and columns."""
    heads = (("", tag("bdi", {}, escape(head, 60))) for head in b.heads)
    rows = (tag("tr", {}, _first_cell(row[0]), *map(_cell, row[1:])) for row in b.rows)
    kind = "vd-outcomes" if b.kind == "outcomes" else "vd-scores vd-compared"
    return _scrolling(b.label, charts.draw_table(kind, heads, tag("tbody", {}, *rows)))


def _changes(b: blocks.ChangeTable) -> Markup:
    """Old and new values side by side; a change of two columns has two rows."""
    heads = (("", escape(head, 60)) for head in b.heads)
    rows = (
        tag("tr", {}, _first_cell(blocks.Cell(name)), *(_cell(blocks.Cell(text)) for text in others))
        for name, *others in b.rows
    )
    return _scrolling("Changes", charts.draw_table("vd-outcomes", heads, tag("tbody", {}, *rows)))


def _first_cell(c: blocks.Cell) -> Markup:
    small = tag("small", {}, escape(c.small, 200)) if c.small else NONE
    name = tag("bdi", {}, escape(c.text, 60))
    return tag("th", {"scope": "row"}, tag("b", {}, name) if c.small else name, SPACE, small)


def _cell(c: blocks.Cell) -> Markup:
    if c.outcome:
        return tag("td", {"class": f"vd-{_tone(c.outcome)}"}, _mark(c.outcome), SPACE, escape(c.text))
    text = tag("bdi", {}, escape(c.text, 60))
    return tag("td", {}, tag("strong", {}, text) if c.bold else text)


# ---- curves


def _curves(b: blocks.Curves) -> Markup:
    return join(*(_panel(panel, b.says) for panel in b.panels))


def _panel(b: blocks.CurvePanel, says: str) -> Markup:
    """Methods in color with a letter each, other rows without."""
    k, own = b.most, [line for line in b.lines if line.kind == "method"]
    size, keys, badges = (float(k), 1.0), letters(len(own)), list[Markup]()
    lines = (tag("path", {"class": _look(line), "d": _path(line, k, b.high)}) for line in reversed(b.lines))
    label = f"{says}; {'; '.join(line.words for line in b.lines)}"
    for i, (line, key) in enumerate(zip(own, keys, strict=True)):  # at several places, so that all can be read
        at = min(1 + round((k - 2) * (i + 0.5) / len(own)), len(line.rate) - 1)
        y = float(np.nan_to_num(line.rate[at])) / b.high
        badges.append(instances.draw_badge(key, f"vd-b{i % COLORS}", line.words, (at / k, 1 - y), (0.55, 0.6)))
    body = instances.draw_stage(
        size, instances.draw_layer(size, label, *lines), badges=badges, axes=b.axes(4), height=HIGH
    )
    known = {line.name: key for line, key in zip(own, keys, strict=True)}
    entries = (_entry(line, known.get(line.name, "")) for line in b.lines)
    legend = tag("p", {"class": "vd-key"}, *spaced(*entries))
    inner = tag("div", {"class": "vd-curves"}, instances.draw_figure(escape(says, 200), body), legend)
    return tag("div", {"class": "vd-view"}, inner)


def _look(b: blocks.CurveLine) -> str:
    if b.kind == "method":
        return f"vd-line vd-c{b.at % COLORS}"
    return f"vd-line vd-{'known' if b.kind == 'known' else 'nothing'} vd-d{b.at % 3}"


def _path(b: blocks.CurveLine, k: int, high: float) -> str:
    points = [(i, y) for i, y in enumerate(b.rate[: k + 1].tolist()) if math.isfinite(y)]
    return "M" + "L".join(f"{i} {1 - y / high:.4f}" for i, y in points)


def _entry(b: blocks.CurveLine, key: str) -> Markup:
    """A line of the key: the line, its letter and its name."""
    line = tag("path", {"class": _look(b), "d": "M0 5H28"})
    sample = tag("svg", {"aria-hidden": "true", "viewBox": "0 0 28 10"}, line)
    said = f"{key}  {plain(b.name, 60)}" if key else plain(b.name, 60)
    return tag("span", {}, sample, tag("bdi", {}, escape(said, 80)))


# ---- blocks that hold others


def _section(b: blocks.Section) -> Markup:
    title = tag(HEADINGS[1], {}, tag("bdi", {}, escape(b.title, 60)))
    return tag("section", {"class": "vd-family"}, title, draw(b.blocks))


def _details(b: blocks.Details) -> Markup:
    """A line, to be opened where there is more to see."""
    if b.kind == "line":
        return _line(b)
    said = tag("small", {}, escape(b.small, 400)) if b.small else NONE
    mark = join(_mark(b.outcome, blocks.LABELS.get(b.outcome, b.outcome)), SPACE) if b.outcome else NONE
    kind = f"vd-{_tone(b.outcome)}" if b.outcome else None
    head = tag("summary", {"class": kind}, mark, _words(b.title), SPACE if said else NONE, said)
    own = {"class": f"vd-{b.kind}" if b.kind else None, "open": "" if b.opened else None}
    return tag("details", own, head, tag("div", {}, draw(b.blocks)))


def _line(b: blocks.Details) -> Markup:
    """The result of a check: its mark, its name with its methods, and what it found."""
    methods = tag("bdi", {}, escape(b.title[3], 200)) if len(b.title) > 3 else NONE
    by = tag("span", {}, escape(" by "), methods) if methods else NONE
    name = tag("span", {"class": "vd-name"}, tag("b", {}, tag("bdi", {}, escape(b.title[1], 80))), by)
    said = tag("span", {"class": "vd-said"}, tag("bdi", {}, escape(b.small, 1000)))
    head = (_mark(b.outcome, blocks.LABELS.get(b.outcome, b.outcome).capitalize()), SPACE, name, SPACE, said)
    kind = {"class": f"vd-result vd-{_tone(b.outcome)}"}
    if not b.blocks:
        return tag("div", kind, *head)
    own = {"class": "vd-check", "open": "" if b.opened else None}
    return tag("details", own, tag("summary", kind, *head), tag("div", {}, draw(b.blocks)))


def _listing(b: blocks.Listing) -> Markup:
    """Entries with their instances as long as there is room."""
    drawn, used, n_seen, n_known = list[Markup](), 0, 0, 0
    for at, item in enumerate(b.items):
        known = any(isinstance(block, blocks.Instance) for block in item.blocks)
        seen = known and used + LEAN * (len(b.items) - at) < b.n_bytes
        drawn.append(_details(item if seen or not known else replace(item, blocks=_unseen(item.blocks))))
        used, n_seen, n_known = used + len(drawn[-1]), n_seen + seen, n_known + known
    cut = f"Only the first {n_seen:,} show their instance, so that the page stays small."
    told = [words for words in (b.more, cut if n_seen < n_known else "") if words]
    more = tag("p", {"class": "vd-key"}, *spaced(*(tag("span", {}, escape(words)) for words in told)))
    return join(tag("div", {"class": "vd-list"}, *drawn), more if told else NONE)


def _unseen(shown: Sequence[blocks.Block]) -> tuple[blocks.Block, ...]:
    """The same without the instance, and without the letters that only it explains."""
    kept = (b for b in shown if not isinstance(b, (blocks.Instance, blocks.HeatMap)))
    return tuple(
        replace(b, lines=tuple(replace(line, badge=None) for line in b.lines)) if isinstance(b, blocks.Bars) else b
        for b in kept
    )


def _cards(b: blocks.Cards) -> Markup:
    return tag("div", {"class": "vd-cards"}, *map(_card, b.cards)) if b.cards else NONE


def _card(b: blocks.Card) -> Markup:
    small = tag("span", {}, escape(b.small)) if b.small else NONE
    head = tag("header", {}, tag(HEADINGS[1], {}, _words(b.title, 80)), small)
    return tag("article", {"class": "vd-card", "aria-label": "".join(b.title)}, head, draw(b.blocks))


def _instance(b: blocks.Instance) -> Markup:
    """What was explained, with its key."""
    key = NONE if b.marks is UNMARKED else instances.draw_legend(blocks.TINTS)
    return tag("div", {"class": "vd-view"}, draw(view_blocks(b)), key)


def _field(b: blocks.FieldBlock) -> Markup:
    """One field with its share of the effect."""
    bar = tag("i", {"style": f"width:{100 * b.share:.1f}%"})
    share = tag("small", {}, escape(f"{percent(b.share)} of the effect"))
    head = tag("p", {"class": "vd-field"}, tag("b", {}, escape(b.name)), share, tag("span", {}, bar))
    return tag("div", {"class": "vd-one"}, head, draw(b.blocks))


DRAWERS: Mapping[type, Callable[[Any], Markup]] = {
    blocks.Headline: _headline,
    blocks.Judgment: _judgment,
    blocks.LabelCounts: _label_counts,
    blocks.Facts: _facts,
    blocks.Text: _text,
    blocks.Findings: _findings,
    blocks.Notes: _notes,
    blocks.Legend: instances.draw_legend,
    blocks.Bars: charts.draw_bars,
    blocks.PairedBars: _pairs,
    blocks.Matrix: _matrix,
    blocks.Measures: _measures,
    blocks.Scores: _scores,
    blocks.Curves: _curves,
    blocks.Table: _cells,
    blocks.ChangeTable: _changes,
    blocks.Section: _section,
    blocks.Details: _details,
    blocks.Listing: _listing,
    blocks.Cards: _cards,
    blocks.Document: _booklet,
    blocks.Instance: _instance,
    blocks.FieldBlock: _field,
    blocks.Passage: instances.draw_passage,
    blocks.Frames: instances.draw_frames,
    blocks.Traces: instances.draw_traces,
    blocks.Players: instances.draw_players,
    blocks.HeatMap: instances.draw_map,
    blocks.Waterfall: charts.draw_waterfall,
    blocks.Swarm: charts.draw_swarm,
    blocks.Scatter: charts.draw_scatter,
    blocks.Heat: charts.draw_heat,
    blocks.RowTable: partial(charts.draw_rows, tones=blocks.TONES),
}
