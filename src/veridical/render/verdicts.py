"""What a check found: the words and tables that all media share, and the plain text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from veridical.records import Verdict
from veridical.render.terminal import column, wrap
from veridical.render.words import cells, count, plain

MARKS = {"passed": "✓", "failed": "✗", "skipped": "–", "error": "!"}
WORDS = {"passed": "Passed", "failed": "Failed", "skipped": "Skipped", "error": "Error"}
NULLS = "what explanations that know nothing get"
RANGE = "95 % interval"
OBSERVED = "observed"
MOST_LINES, MOST_ROWS = 60, 12
NAMES = 36  # columns of a terminal that the name of a measure may take


@dataclass(frozen=True, slots=True)
class Line:
    """One number of a check, and what is beside it."""

    name: str
    value: float
    low: float
    high: float
    n: int
    nulls: Mapping[str, float]

    @property
    def ranged(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    def numbers(self) -> list[float]:
        """All that a drawing has to hold."""
        every = (self.value, self.low, self.high, *self.nulls.values())
        return [number for number in every if math.isfinite(number)]


def lines_of(v: Verdict) -> list[Line]:
    """What the verdict rests on, then all that was measured."""
    own = Line(OBSERVED, v.observed, *v.interval, 0, v.nulls)
    return [own, *(Line(m.name, m.value, m.low, m.high, m.n, m.nulls) for m in v.measures)]


def nulls_of(lines: Iterable[Line]) -> list[str]:
    """Names of the null rows, in the order in which they come."""
    return list(dict.fromkeys(chain.from_iterable(line.nulls for line in lines)))


def about(v: Verdict) -> str:
    """Which check of which method."""
    return " · ".join(plain(word, 80) for word in (v.check, v.method) if word) or "Verdict"


def outcome_of(v: Verdict) -> str:
    return "passed" if v.passed else "failed"


def brief(value: float) -> str:
    """A number to three decimals, or as few digits as say it, or a dash."""
    if not math.isfinite(value):
        return "–"
    value = value or 0.0  # no sign before nothing
    if value and not 0.0005 <= abs(value) < 1e6:
        return f"{value:.1e}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"


def span_words(line: Line, form: str = "{} to {}") -> str:
    """From where to where, or nothing."""
    return form.format(brief(line.low), brief(line.high)) if line.ranged else ""


def short_words(v: Verdict) -> str:
    """What the sentence rests on, in one line."""
    own = lines_of(v)[0]
    said = f"observed {brief(own.value)}" + (f" [{brief(own.low)}, {brief(own.high)}]" if own.ranged else "")
    said += f", expected {brief(v.expected)}" if math.isfinite(v.expected) else ""
    nulls = ", ".join(f"{plain(name, 30)} {brief(value)}" for name, value in v.nulls.items())
    return said + (f"; null rows: {nulls}" if nulls else "")


def rows_words(v: Verdict) -> str:
    """Rows of the data that the verdict is about, or nothing."""
    shown, more = ", ".join(map(str, v.rows[:MOST_ROWS])), len(v.rows) - MOST_ROWS
    if not v.rows:
        return ""
    return f"{'Row' if len(v.rows) == 1 else 'Rows'} {shown}" + (f" and {more:,} more" if more > 0 else "")


# ---- plain text


def verdict_picture(verdict: Verdict, width: int = 80) -> str:
    """What was found, in words and as a table."""
    v, outcome = verdict, outcome_of(verdict)
    lines = [f"{MARKS[outcome]} {about(v)}: {outcome}", plain(v.sentence, 1000), *body(v, max(width, 50))]
    return "\n".join(chain.from_iterable(wrap(line, width) for line in lines))


def body(v: Verdict, width: int) -> list[str]:
    """What the sentence rests on."""
    every = lines_of(v)
    shown, left = every[:MOST_LINES], len(every) - MOST_LINES
    said = ["", *_table(shown, width)]
    said += [f"  and {count(left, 'more line')}"] if left > 0 else []
    said += ["", f"expected {brief(v.expected)}"] if math.isfinite(v.expected) else [""]
    names = [plain(name, 30) for name in nulls_of(shown)]
    said += [f"{', '.join(names)}: {NULLS}"] if names else []
    rows = rows_words(v)
    said += [f"{rows}, the worst first"] if len(v.rows) > 1 else [rows] if rows else []
    said += [f"evidence: {count(len(v.evidence), 'explanation')}"] if v.evidence else []
    return [*said, *(f"note: {plain(n, 500)}" for n in v.notes)]


def _table(lines: Sequence[Line], width: int) -> list[str]:
    """As many columns side by side as there is room for, and the others below."""
    names = column(["", *(plain(line.name) for line in lines)], NAMES)
    drawn = [[plain(head, 14), *texts] for head, texts in _columns(lines)]
    blocks, used = [list[list[str]]()], cells(names[0]) + 2
    for texts in drawn:
        wide = max(map(cells, texts))
        if blocks[-1] and used + wide + 2 > width:
            blocks.append([])
            used = cells(names[0]) + 2
        blocks[-1].append([" " * (wide - cells(text)) + text for text in texts])
        used += wide + 2
    return [
        "  ".join(["", name, *(texts[at] for texts in block)]).rstrip()
        for block in blocks
        for at, name in enumerate(names)
    ]


def _columns(lines: Sequence[Line]) -> list[tuple[str, list[str]]]:
    found = [("value", [brief(line.value) for line in lines])]
    if any(line.ranged for line in lines):
        found.append((RANGE, [span_words(line, "[{}, {}]") for line in lines]))
    if any(line.n for line in lines):
        found.append(("n", [f"{line.n:,}" if line.n else "" for line in lines]))
    for name in nulls_of(lines):
        found.append((name, [brief(line.nulls[name]) if name in line.nulls else "" for line in lines]))
    return found
