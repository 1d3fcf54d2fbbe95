"""How good methods are: the words and tables that all media share, and the plain text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from veridical.evaluate.records import Metric, Report, Score
from veridical.render.terminal import column, wrap
from veridical.render.words import Fact, cells, count, plain, shorten

ARROWS = {"higher": "↑", "lower": "↓"}
LONGEST = 9  # characters of a number before it is written with an exponent
NAMES, HEADS = 28, 24  # columns of a terminal that the name of a method and of a metric may take
BEST = "best of its column, or cannot be told from the best (paired test, adjusted for all pairs of a metric)"
LEVEL = "not shown to be better than all of its null rows"
RANGE = "95 % interval over instances"
MORE = "{} more metrics, with curves and examples: .save('report.html'); all numbers: .to_frame()"
REFERENCES = "rows that know what was changed"


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a table, and what is to be said of it."""

    score: Score
    best: bool  # or cannot be told from the best
    level: bool  # a method that does not beat all of its null rows
    note: int  # which footnote, from 1; 0: none

    @property
    def known(self) -> bool:
        return math.isfinite(self.score.mean)

    @property
    def ranged(self) -> bool:
        return self.known and math.isfinite(self.score.low) and math.isfinite(self.score.high)


@dataclass(frozen=True, slots=True)
class Column:
    """One metric: a cell a row, and how its numbers are written."""

    metric: Metric
    cells: tuple[Cell, ...]
    show: Callable[[float], str]
    title: str  # the name of the metric, without that of the cause that heads the table

    @property
    def arrow(self) -> str:
        return ARROWS.get(self.metric.better, "")


@dataclass(frozen=True, slots=True)
class Sheet:
    """The metrics of one family, as a table: methods first, then rows that know more, then null rows."""

    family: str
    sentences: tuple[str, ...]
    rows: tuple[str, ...]
    n_methods: int
    n_references: int
    columns: tuple[Column, ...]
    notes: tuple[str, ...]  # footnotes: why a number is missing, or rests on less

    @property
    def n_real(self) -> int:
        """Rows that know something."""
        return self.n_methods + self.n_references


def sheets_of(report: Report) -> list[Sheet]:
    """A sheet a family, in the order of the metrics."""
    families = dict.fromkeys(m.family for m in report.metrics)
    return [_sheet(report, family, [m for m in report.metrics if m.family == family]) for family in families]


def _short(report: Report) -> list[Sheet]:
    """The first metric of every kind of cause, side by side in one sheet."""
    causes = dict.fromkeys(c.cause for c in report.curves)
    first = [m for cause in causes for m in [m for m in report.metrics if m.family == cause][:1]]
    sheet = _sheet(report, first[0].name.rpartition(" (")[0] or first[0].name, first)
    columns = tuple(replace(c, title=c.metric.family) for c in sheet.columns)
    return [replace(sheet, columns=columns, sentences=(first[0].sentence,))]


def headline(r: Report) -> str:
    """What is compared, and how."""
    title = (
        plain(r.title, 200).strip() or f"{count(len(r.methods), 'method')} on {count(r.n_instances, 'instance')}"
    )
    beside = [f"{count(len(r.references), 'row')} that know the causes"] if r.references else []
    beside.append(count(len(r.nulls), "null row"))
    return f"{title}, by {count(len(r.metrics), 'metric')}, beside {' and '.join(beside)}"


def facts_of(r: Report) -> tuple[Fact, ...]:
    """How much was compared."""
    known = ("Rows that know", f"{len(r.references):,}", "what was changed, as no method may")
    return (
        ("Methods", f"{len(r.methods):,}", "in the order they were given"),
        *((known,) if r.references else ()),
        ("Null rows", f"{len(r.nulls):,}", "what knowing nothing gets"),
        ("Instances", f"{r.n_instances:,}", "the same for every method"),
        ("Model calls", f"{r.n_calls:,}", "inputs the model was asked about"),
    )


def note_of(score: Score, n_instances: int) -> str:
    """Why a number is missing or rests on less than all instances, or nothing."""
    reason = plain(score.reason, 300)
    if not math.isfinite(score.mean):
        return reason or "not measured, and no reason was given"
    if score.n < n_instances:
        return f"on {score.n:,} of {count(n_instances, 'instance')}" + (f": {reason}" if reason else "")
    missing = not (math.isfinite(score.low) and math.isfinite(score.high))
    return reason or ("no interval" if missing else "")


def best_of(r: Report, metric: str) -> tuple[str, ...]:
    """The best method and all that cannot be told from it; none where nothing was compared."""
    some = any(math.isfinite(c.p) for c in r.comparisons if c.metric == metric)
    known = sum(math.isfinite(r.score(metric, m).mean) for m in r.methods)
    return r.best(metric) if some and known > 1 else ()


def _sheet(r: Report, family: str, metrics: Sequence[Metric]) -> Sheet:
    known = {s.method for s in r.scores if math.isfinite(s.mean) and s.metric in {m.name for m in metrics}}
    references = [row for row in r.references if row in known]
    rows = (*r.methods, *references, *(row for row in r.nulls if row in known or not r.curves))
    notes, columns, causes = dict[str, int](), [], {c.cause for c in r.curves}
    for metric in metrics:
        own, made = r.alone(metric.name), []
        best = best_of(own, metric.name)
        for name in rows:
            score = own.score(metric.name, name)
            note = note_of(score, r.n_instances)
            at = notes.setdefault(note, len(notes) + 1) if note else 0
            level = name in r.methods and bool(own.no_better_than(metric.name, name))
            made.append(Cell(score, name in best, level and math.isfinite(score.mean), at))
        title, _, cause = metric.name.rpartition(" (")
        short = title if cause.removesuffix(")") in causes else metric.name
        columns.append(Column(metric, tuple(made), figures(c.score for c in made), short))
    sentences, sizes = tuple(r.sentence(m) for m in metrics), (len(r.methods), len(references))
    return Sheet(family, sentences, rows, *sizes, tuple(columns), tuple(notes))


def figures(scores: Iterable[Score]) -> Callable[[float], str]:
    """How a column writes its numbers: thousandths where methods score up to ten, or an exponent."""
    known = [s for s in scores if math.isfinite(s.mean)]
    sizes = [abs(s.mean) for s in known if not s.null] or [abs(s.mean) for s in known]
    power = math.floor(math.log10(max(sizes))) if sizes and max(sizes) > 0 else 0
    places = 2 - power if power < 0 else (3, 1, 1)[power] if power < 3 else 0

    def written(value: float) -> str:
        text = f"{value:.{places}f}" if places <= LONGEST else f"{value:.1e}"
        text = text.lstrip("-") if float(text) == 0 else text
        return text if len(text) <= LONGEST else f"{value:.1e}"

    return written


def p_words(p: float) -> str:
    """A p-value, never as zero."""
    return "–" if not math.isfinite(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


# ---- plain text


def report_picture(report: Report, width: int = 80) -> str:
    """Every family as a table, what its numbers say above it; of known causes, the findings and one table."""
    r, wide = report, max(width, 50)
    lines = [headline(r), *([""] if r.findings else []), *(plain(s, 900).strip() for s in r.findings)]
    sheets = _short(r) if r.curves else sheets_of(r)
    for sheet in sheets:
        lines += ["", f"── {plain(sheet.family, 60)} ──", *(plain(s, 600).strip() for s in sheet.sentences)]
        lines += _table(sheet, wide)
        lines += [f"({i}) {note}" for i, note in enumerate(sheet.notes, 1)]
    lines += ["", *_key(sheets)] if sheets else []
    shown = sum(len(sheet.columns) for sheet in sheets)
    lines += [MORE.format(len(r.metrics) - shown)] if shown < len(r.metrics) else []
    lines += [f"the model was asked about {r.n_calls:,} inputs", *(f"note: {plain(n, 500)}" for n in r.notes)]
    return "\n".join(chain.from_iterable(wrap(line, width) for line in lines))


def _key(sheets: Sequence[Sheet]) -> list[str]:
    every = [cell for sheet in sheets for c in sheet.columns for cell in c.cells]
    said = [f"[ ] {RANGE}"] if any(cell.ranged for cell in every) else []
    said += [f"* {BEST}"] if any(cell.best for cell in every) else []
    said += [f"~ {LEVEL}"] if any(cell.level for cell in every) else []
    arrows = {c.arrow: f"{c.arrow} {c.metric.better} is better" for sheet in sheets for c in sheet.columns}
    return ["; ".join([*arrows.values(), *said])]


def _table(sheet: Sheet, width: int) -> list[str]:
    """As many columns side by side as there is room for, and the others below."""
    names = column([plain(name) for name in sheet.rows], NAMES)
    room, lines = width - cells(names[0]) - 2, list[str]()
    block, used = list[list[str]](), 0
    for c in sheet.columns:
        drawn = _column(c, room - 2)
        if block and used + cells(drawn[0]) + 2 > room:
            lines += _block(names, block, sheet)
            block, used = [], 0
        block.append(drawn)
        used += cells(drawn[0]) + 2
    return [*lines, *_block(names, block, sheet)]


def _block(names: Sequence[str], columns: Sequence[Sequence[str]], sheet: Sheet) -> list[str]:
    def line(name: str, at: int) -> str:
        return "  ".join(["", name, *(c[at] for c in columns)]).rstrip()

    blank, (heads, *rows) = " " * cells(names[0]), range(len(names) + 1)
    found = [line(name, at) for name, at in zip(names, rows, strict=True)]
    real, nulls = found[: sheet.n_real], found[sheet.n_real :]
    known = [f"  {REFERENCES}", *real[sheet.n_methods :]] if sheet.n_references else []
    more = [*known, *(["  null rows", *nulls] if nulls else [])]
    return ["", line(blank, heads), *real[: sheet.n_methods], *more]


def _column(c: Column, limit: int) -> list[str]:
    """The head and every cell, all of one width."""
    means = [c.show(cell.score.mean) if cell.known else "-" for cell in c.cells]
    marks = ["*" * cell.best + "~" * cell.level for cell in c.cells]
    ends = [f"[{c.show(cell.score.low)}, {c.show(cell.score.high)}]" if cell.ranged else "" for cell in c.cells]
    told = [f" ({cell.note})" if cell.note else "" for cell in c.cells]
    digits, mark, span = (max(map(len, texts)) for texts in (means, marks, ends))
    rows = [
        f"{a:>{digits}}{b:<{mark}}{' ' if span else ''}{e:>{span}}{t}".rstrip()
        for a, b, e, t in zip(means, marks, ends, told, strict=True)
    ]
    head = f"{shorten(plain(c.title), min(HEADS, limit - 2))} {c.arrow}".rstrip()
    widest = max(map(cells, (head, *rows)))
    return [text + " " * (widest - cells(text)) for text in (head, *rows)]
