"""What a record shows, as blocks that every medium can draw, and how much of it each medium has room for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from veridical.display.marks import Axes, Badge, Marks, Trace
from veridical.display.markup import NONE, Markup
from veridical.display.words import percent, plain
from veridical.records import Bools, Floats, View

Fact: TypeAlias = tuple[str, str, str]  # a name, its value, what it means
Span: TypeAlias = tuple[float, float]  # the ends of an axis or of an interval
Words: TypeAlias = tuple[str, ...]  # ours and foreign in turns, so that foreign text can be set apart


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of a record a medium shows, and how it writes numbers."""

    parts: int  # of one explanation
    listed: int  # parts of one explanation of several
    entries: int  # explanations of a list
    compared: int  # parts of a difference
    changed: int  # rows of a difference
    groups: int
    group_parts: int
    matrix: tuple[int, int]  # rows and columns of a pick
    measures: int  # of a verdict
    notes: int
    columns: int = 8  # of the importance over many rows
    points: int = 0  # rows of a swarm, at most
    folds: bool = False  # whether readers can open what is closed
    n_bytes: int = 0  # of a list: instances are drawn as long as the rest fits without
    minus: str = "−"
    interval: str = "{} to {}"

    def signed(self, text: str) -> str:
        """A number as the medium writes it."""
        return text.replace("-", self.minus)

    def ends(self, show: Callable[[float], str], low: float, high: float) -> str:
        """An interval in words."""
        return self.signed(self.interval.format(show(low), show(high)))


@dataclass(frozen=True, slots=True)
class Headline:
    """What a record is about, and what is said beside it, each with its number."""

    title: Words
    said: tuple[tuple[str, str], ...] = ()
    line: str = ""  # the same in one line of plain text, where that is shorter


@dataclass(frozen=True, slots=True)
class Judgment:
    """A verdict: a mark and a word beside the color, a sentence, three numbers, and one thing to try."""

    label: str  # a key of MARKS
    sentence: str
    numbers: tuple[tuple[str, str], ...] = ()  # "faithful", "adds up", "stable"
    advice: str = ""
    word: str = ""  # in place of the label

    @property
    def said(self) -> str:
        """The label as it is shown."""
        return self.word or LABELS.get(self.label, self.label)


@dataclass(frozen=True, slots=True)
class Facts:
    """Numbers, each with its name and what it means; ``lines`` say the same in sentences, for plain text."""

    entries: tuple[Fact, ...]
    lines: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    words: Words
    kind: str = ""  # "lead", "where", "foot", "side", "by", "aside", "key" or "field"


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """How many verdicts have each label, as one stacked bar, and what to try."""

    counts: tuple[tuple[str, int], ...]  # a label and how often it is there, the best first
    advice: str = ""

    @property
    def total(self) -> int:
        return sum(n for _, n in self.counts)

    @property
    def words(self) -> str:
        """The same in words: "12 reliable · 28 rough"."""
        return " · ".join(f"{MARKS[label]} {n:,} {LABELS.get(label, label)}" for label, n in self.counts)


@dataclass(frozen=True, slots=True)
class Findings:
    """Sentences under one another, each with what it is about."""

    lines: tuple[tuple[str, str], ...]
    kind: str = ""  # "found": what a report comes to


@dataclass(frozen=True, slots=True)
class Notes:
    """What a reader should know besides, one thing per line."""

    lines: tuple[str, ...]  # notes of the record
    asides: tuple[str, ...] = ()  # what is not drawn or not known
    path: tuple[str, ...] = ()  # through a tree


@dataclass(frozen=True, slots=True)
class Legend:
    """What signs mean: each medium has its own words for those it draws; then more words."""

    signs: tuple[str, ...]
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ValueCurve:
    """What other values of a feature would contribute, as a small drawing."""

    heights: tuple[float, ...]  # in order of the values, 0 to 1 from the bottom; nan: a gap
    zero: float  # the height of no effect
    own: tuple[float, float] | None  # where the instance's own value lies: across, and its height
    line: bool  # values lie on a line
    words: str


@dataclass(frozen=True, slots=True, eq=False)
class BarLine:
    """A name, a bar with a whisker, and two columns of numbers."""

    name: str
    value: float  # nan: no bar
    numbers: tuple[str, str]
    rest: str = ""  # stands in gray after the name
    ends: Span | None = None  # of its interval, where it was measured
    badge: Badge | None = None
    thumb: npt.NDArray[np.uint8] | None = None  # a small picture (h, w, 3)
    thumb_words: str = ""
    own: str = ""  # the row's own value, which stands after the name
    clear: bool = True  # whether the value can be told from zero; else the bar is pale
    part: int = -1  # which feature of the record it is; -1: none
    spark: ValueCurve | None = None
    was: float = math.nan  # an earlier value, drawn behind the bar
    control: Markup = NONE  # what a page puts beside the bar, such as a button

    @property
    def label(self) -> str:
        """The name with what stands after it."""
        shown = f"{plain(self.name)} {plain(self.own, 40)}".rstrip()
        return f"{shown} ({plain(self.rest, 80)})" if self.rest else shown


@dataclass(frozen=True, slots=True)
class Bars:
    """A table whose second column is drawn, all bars on one axis."""

    heads: tuple[str, str, str, str]
    lines: tuple[BarLine, ...]
    span: Span
    title: str = ""  # for plain text, which has no heads above its bars
    sizes: bool = False  # no effects but sizes, which have no sign

    @classmethod
    def of(cls, heads: tuple[str, str, str, str], lines: Sequence[BarLine]) -> Bars:
        """The lines on an axis that holds all bars."""
        return cls(heads, tuple(lines), span_of([line.value for line in lines]))


@dataclass(frozen=True, slots=True)
class WaterfallLine:
    """A step from one sum to the next, or a sum."""

    name: str
    own: str  # the row's own value
    start: float
    stop: float
    total: bool = False  # a sum

    @property
    def label(self) -> str:
        """The name with the row's own value."""
        return f"{plain(self.name)} {plain(self.own, 40)}".rstrip()


@dataclass(frozen=True, slots=True)
class Waterfall:
    """From a base value to a prediction, one step per feature."""

    lines: tuple[WaterfallLine, ...]
    unit: str

    @property
    def span(self) -> Span:
        """The ends of the axis."""
        every = [end for line in self.lines for end in (line.start, line.stop)]
        return min(every), max(every)


@dataclass(frozen=True, slots=True)
class PairLine:
    """A part in two explanations: both weights, and the difference with its interval."""

    name: str
    weights: tuple[float, float]  # nan: not there
    weight_words: tuple[str, str]
    difference: float
    ends: Span | None
    mark: str
    mark_words: str
    numbers: tuple[str, str]  # the difference and its interval
    badge: Badge | None = None
    larger: bool = False  # than the noise


@dataclass(frozen=True, slots=True)
class PairedBars:
    """Two bars a part, and the difference beside them."""

    titles: tuple[str, str]
    lines: tuple[PairLine, ...]
    spans: tuple[Span, Span]  # of both weights, of the differences
    heads: tuple[str, str, str] = ("Part", "Effect on the output", "Weights")  # of names, bars and numbers


@dataclass(frozen=True, slots=True, eq=False)
class Matrix:
    """Rows by parts: a bar up or down where a row gives a part weight."""

    heads: tuple[str, str, str, str]
    lines: tuple[tuple[str, str, str], ...]  # the name of each row, and two numbers
    letters: tuple[str, ...]  # (c,) of the parts
    names: tuple[str, ...]  # (c,)
    numbers: tuple[tuple[str, ...], ...]  # (r, c) weights in words
    strengths: Floats  # (r, c) weight over the largest size: -1 to 1
    new: Bools  # (r, c) where the first row shows a part


@dataclass(frozen=True, slots=True, eq=False)
class SwarmLine:
    """The weights of one feature in many rows, a dot each."""

    name: str
    xs: Floats  # (m,) weights
    ys: Floats  # (m,) heights, -1 to 1
    tones: npt.NDArray[np.int64]  # (m,) 0, the lowest values of the feature, to 4, the highest; -1: none
    words: str


@dataclass(frozen=True, slots=True, eq=False)
class Swarm:
    """One line per feature and one dot per row, all on one axis (a beeswarm plot)."""

    lines: tuple[SwarmLine, ...]
    span: Span
    n_drawn: int
    n_rows: int
    colored: bool  # by the rows' own values

    @property
    def told(self) -> str:
        """Of how many rows it is."""
        return (
            f"{self.n_drawn:,} of {self.n_rows:,} rows" if self.n_drawn < self.n_rows else f"{self.n_rows:,} rows"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """Weight against value of one feature, one dot per row (a dependence plot); places are shares of the box."""

    name: str
    xs: Floats  # (m,) from the left
    ys: Floats  # (m,) from the bottom
    zero: float  # the height of no effect
    signs: npt.NDArray[np.int64]  # (m,)
    curves: tuple[tuple[Floats, Floats], ...]  # of local models, from the left and from the bottom
    axes: Axes
    words: str


@dataclass(frozen=True, slots=True, eq=False)
class Heat:
    """Rows by features, each in the color of its weight (a heat map)."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    strengths: Floats  # (r, c) weight over the largest size: -1 to 1
    words: tuple[tuple[str, ...], ...]  # (r, c) weights in words


@dataclass(frozen=True, slots=True)
class RowLine:
    """One explanation in a table of many."""

    name: str
    model: tuple[str, float]  # what it says, in words and as a number to sort by
    label: str
    faithful: tuple[str, float]
    top: str


@dataclass(frozen=True, slots=True)
class RowTable:
    """Explanations a line each, which a page can sort and filter."""

    heads: tuple[str, ...]
    lines: tuple[RowLine, ...]
    more: str = ""


@dataclass(frozen=True, slots=True)
class Dot:
    """A number with its interval on an axis, beside those that it is held against."""

    value: float
    ends: Span | None  # of its interval, where there is one
    span: Span  # of the axis
    nulls: tuple[float, ...] = ()  # what null rows get; nan: nothing
    want: float = math.nan  # what was expected


@dataclass(frozen=True, slots=True)
class MeasureLine:
    """One number of a check, drawn and in words."""

    name: str
    dot: Dot | None
    texts: tuple[str, ...]  # one below each head


@dataclass(frozen=True, slots=True)
class Measures:
    """Numbers of a check beside what null rows get; the first is what the verdict rests on."""

    heads: tuple[str, ...]  # "Value", "95 % interval", "n", as far as they are known, then the null rows
    lines: tuple[MeasureLine, ...]
    nulls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScoreCell:
    """One number of a table of scores, and what is to be said of it."""

    method: str
    dot: Dot | None  # none: not measured
    texts: tuple[str, str]  # the mean and its interval
    null: bool
    best: bool  # or cannot be told from the best
    level: bool  # a method that does not beat all of its null rows
    note: int  # which footnote, from 1; 0: none
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    """One metric: one cell per row, and how its numbers are written."""

    name: str
    title: str  # the name, without that of the cause that heads the table
    better: str  # "higher" or "lower"
    sentence: str  # what it measures
    cells: tuple[ScoreCell, ...]
    show: Callable[[float], str]

    @property
    def arrow(self) -> str:
        return {"higher": "↑", "lower": "↓"}.get(self.better, "")


@dataclass(frozen=True, slots=True)
class Scores:
    """The metrics of one family as a table: methods first, then rows that know more, then null rows."""

    family: str
    rows: tuple[str, ...]
    n_methods: int
    n_real: int  # rows that know something
    columns: tuple[ScoreColumn, ...]
    notes: tuple[str, ...] = ()  # footnotes: why a number is missing, or rests on less

    @property
    def signs(self) -> tuple[str, ...]:
        """The signs that a drawing of it has."""
        every = [cell for column in self.columns for cell in column.cells]
        known = (
            ("interval", any(cell.texts[1] for cell in every)),
            ("null", any(cell.dot and cell.null for cell in every)),
            ("best", any(cell.best for cell in every)),
            ("level", any(cell.level for cell in every)),
        )
        return (*dict.fromkeys(c.better for c in self.columns), *(sign for sign, there in known if there))


@dataclass(frozen=True, slots=True, eq=False)
class CurveLine:
    """The share of wrong decisions of one row of a report, by how many parts are changed."""

    name: str
    kind: str  # "method", "known" (it knows what was changed) or "null"
    at: int  # which of its kind
    rate: Floats  # (k + 1,)
    low: Floats
    high: Floats
    words: str


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """The curves of one kind of cause, up to where there is something to see."""

    title: str
    lines: tuple[CurveLine, ...]
    most: int  # parts
    high: float = 1.0  # share at the top

    def axes(self, n: int) -> Axes:
        """Numbers of parts along it, and n + 1 shares up."""
        every = range(0, self.most + 1, max(1, -(-self.most // 20)))
        up = [(i / n, percent(self.high * i / n)) for i in range(n + 1)]
        return Axes([(i / self.most, str(i)) for i in every], up)


@dataclass(frozen=True, slots=True)
class Curves:
    """Panels of curves, and what they show."""

    says: str
    panels: tuple[CurvePanel, ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    text: str = ""
    outcome: str = ""  # its mark and color, if any
    small: str = ""
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Words and outcomes in rows and columns."""

    label: str
    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    kind: str  # "outcomes" or "pairs"


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One change of one or more features, and what the model says then."""

    steps: tuple[tuple[str, str, str], ...]  # a feature, its value, and the new one
    answer: str
    outputs: str  # before and after


@dataclass(frozen=True, slots=True)
class ChangeTable:
    """Changes, one below the other."""

    heads: tuple[str, str, str, str]
    lines: tuple[ChangeLine, ...]

    @property
    def rows(self) -> tuple[tuple[str, str, str, str], ...]:
        """One per step; what the model says stands beside the first of a change."""
        found = list[tuple[str, str, str, str]]()
        for line in self.lines:
            said = ", ".join(filter(None, (line.answer, line.outputs)))
            for i, (name, old, new) in enumerate(line.steps):
                found.append((f"and {name}" if i else name, old, new, "" if i else said))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Details:
    """A line that can be opened where a medium can do that."""

    title: Words
    small: str
    blocks: tuple[Block, ...] = ()
    outcome: str = ""  # its mark and color, if any
    kind: str = ""  # "line": a result of a check; "evidence"
    opened: bool = False
    lines: tuple[str, ...] = ()  # more of it, for plain text


@dataclass(frozen=True, slots=True)
class Listing:
    """Many things to be opened; their instances are drawn as long as there is room."""

    items: tuple[Details, ...]
    more: str = ""  # what is not drawn
    n_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Card:
    """Blocks with a title in a frame."""

    title: Words
    small: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Cards:
    """Frames side by side."""

    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """What was explained, with what each part counts on it; ``views`` makes blocks of it when it is drawn."""

    view: View
    marks: Marks
    n_bytes: int  # of its pictures, about


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A text in order, cut where parts begin and end; part -1 is what no part owns."""

    pieces: tuple[tuple[str, int], ...]
    marks: Marks
    n_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A picture and the part of each of its pixels."""

    title: str
    pixels: npt.NDArray[np.uint8]  # (h, w, 3)
    labels: npt.NDArray[np.int64]  # (h, w)


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """A picture, frames of a film, or a spectrogram: each as it is, and in gray with its parts tinted."""

    frames: tuple[Frame, ...]
    marks: Marks
    n_bytes: int
    n_frames: int = 1  # that there are
    axes: Axes | None = None  # of a spectrogram
    said: str = ""  # of the axes, in plain text


@dataclass(frozen=True, slots=True, eq=False)
class Traces:
    """Lines over time with their parts shaded."""

    traces: tuple[Trace, ...]
    notes: tuple[str, ...]
    marks: Marks


@dataclass(frozen=True, slots=True, eq=False)
class Players:
    """A recording, and what is heard of it with some parts alone; or tracks that are known."""

    data: Any  # of a view
    marks: Marks
    tracks: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class FieldBlock:
    """One field of a record, with its share of the effect."""

    name: str
    share: float
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """Maps of gradients with the pale picture below each, if there is one."""

    planes: tuple[Floats, ...]  # (h, w) each
    grays: tuple[Floats | None, ...]
    n_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """Several records under headings."""

    title: str
    lead: str
    sections: tuple[tuple[str, str, tuple[Block, ...]], ...]  # a heading, a text, and the blocks of a record


Block: TypeAlias = (
    Headline | Judgment | LabelCounts | Facts | Text | Findings | Notes | Legend | Bars | PairedBars | Matrix | Measures | Scores
    | Curves | Table | Section | Details | Listing | Cards | Instance | Passage | Frames | Traces | Players
    | FieldBlock | HeatMap | Document | Swarm | Scatter | Heat | RowTable | Waterfall | ChangeTable
)  # fmt: skip


def span_of(values: Sequence[float], intervals: Sequence[Span] = ()) -> Span:
    """An axis that holds zero, every bar, and every interval that is not absurdly long."""
    known = [float(v) for v in values if math.isfinite(v)]
    limit = 2 * max(map(abs, known), default=0.0)
    known += [min(max(float(v), -limit), limit) for pair in intervals for v in pair if not math.isnan(v)]
    return min(0.0, *known, 0.0), max(0.0, *known, 0.0)


def place(value: float, span: Span, start: float, size: float) -> float:
    """Where a value lies on a drawing of an axis; what lies outside is at its ends."""
    low, high = span
    share = (value / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)  # halves cannot overflow
    return round(start + size * min(max(share, 0.0), 1.0), 1)


MARKS = {  # of labels and outcomes
    **{"reliable": "✓", "rough": "◐", "unreliable": "✗", "unchecked": "?", "none": "–"},
    **{"passed": "✓", "failed": "✗", "same": "=", "different": "≠", "unclear": "?", "skipped": "–", "error": "!"},
}
LABELS = {"none": "no effect", "unclear": "not clear"}  # labels that are shown by another word
TONES = {  # the color of a label; of all others, gray
    **{"reliable": "yes", "passed": "yes", "same": "yes", "rough": "care", "unclear": "care"},
    **{"unreliable": "no", "failed": "no", "error": "no"},
}
BEST = "best of its column, or cannot be told from the best (paired test, adjusted for all pairs of a metric)"
LEVEL = "not shown to be better than all of its null rows"
NULLS = "what explanations that know nothing get"
REFERENCES = "rows that know what was changed"
SIGNS = {  # what signs mean, and the side of each, if it has one; media have their own for scores
    "right": (1, "right: raises the output"),
    "left": (-1, "left: lowers it"),
    "for": (1, "right: speaks for the group"),
    "against": (-1, "left: against it"),
    "up": (1, "up: raises the output"),
    "down": (-1, "down: lowers it"),
    "whisker": (0, "├─┤ 95 % confidence interval"),
    "curve": (0, "curve: what other values would contribute, ● this row's"),
    "new": (0, "tinted cell: the first row that shows the part"),
    "value": (0, "● value, ─ 95 % interval"),
    "expected": (0, "┊ expected"),
    "limit": (0, "┊ limit"),
    "higher": (0, "↑ higher is better"),
    "lower": (0, "↓ lower is better"),
    "solid": (1, "raises the output, solid line"),
    "dashed": (-1, "lowers it, dashed line"),
    "raises": (1, "raises the output"),
    "lowers": (-1, "lowers it"),
}
TINTS = Legend(("solid", "dashed"), ("deeper tint: stronger", "no line: may be zero, by its interval"))
