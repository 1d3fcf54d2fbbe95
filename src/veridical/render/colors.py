"""Records in the colors of a terminal: the plain text, as wide as the terminal, painted.

Colors repeat what signs and words say. ``rich`` leaves them out where there is no terminal, or NO_COLOR is set,
and foreign text is never read as its markup, for all that reaches it is literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veridical.debug.audit import Audit
from veridical.errors import require
from veridical.evaluate.differences import Difference
from veridical.evaluate.records import Report
from veridical.pages import Page
from veridical.records import Explanation, Record, Verdict
from veridical.render.audits import audit_picture
from veridical.render.differences import difference_picture
from veridical.render.glyphs import LOWERS, NOTHING, RAISES
from veridical.render.groups import grouping_picture, membership_picture
from veridical.render.picks import pick_picture
from veridical.render.reports import report_picture
from veridical.render.terminal import page, picture
from veridical.render.verdicts import verdict_picture
from veridical.summarize.records import Grouping, Membership, Pick

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

NARROWEST, WIDEST = 50, 120  # columns; bars that are longer say no more
UP, DOWN = "#3d8fd4", "#e07b18"  # blue and orange, as everywhere; readable on black and on white
STYLES = {
    "up": UP,
    "up_more": f"bold {UP}",
    "down": DOWN,
    "down_more": f"bold {DOWN}",
    "yes": "bold green",
    "no": "bold red",
    "care": "bold yellow",
    "head": "bold",
    "aside": "dim",
}
SHADES = re.escape(RAISES + LOWERS + NOTHING)
PATTERNS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"\A(?P<head>.+)$",
        r"^(?P<head>── .+ ──|group \d+: .+|first model:|second model:)$",
        r"^(?P<yes>believe it:|✓( passed)?)",
        r"^(?P<care>read with care:)",
        r"^(?P<no>✗( failed)?|! error)",
        r"^(?P<aside>–( skipped)?|note:|path:|asked:)",
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

    record: Record

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield painted(written(self.record, min(max(options.max_width, NARROWEST), WIDEST)))


def written(record: Record, width: int) -> str:
    """The plain text of a record, in lines of at most ``width`` columns where it can be."""
    kinds: dict[type, Callable[[Any, int], str]] = {
        Explanation: lambda found, wide: picture(found, width=wide),
        Grouping: grouping_picture,
        Membership: membership_picture,
        Pick: pick_picture,
        Report: report_picture,
        Verdict: verdict_picture,
        Audit: audit_picture,
        Difference: difference_picture,
        Page: page,
    }
    known = kinds.get(type(record))
    return known(record, width) if known else repr(record)


def painted(text: str) -> Text:
    """Our own text in color: bars and numbers by their sign, verdicts by what they say."""
    made: Text = require("rich.text", extra="cli").Text(text, no_wrap=True, overflow="ignore")
    for pattern in PATTERNS:
        for match in pattern.finditer(text):
            _paint(made, match, 0)
    for line in MAP.finditer(text):
        if sum(c in RAISES + LOWERS + NOTHING for c in line.group()) >= len(line.group().split()[-1]) // 2:
            for match in SHADE.finditer(line.group()):
                _paint(made, match, line.start())
    return made


def _paint(text: Text, match: re.Match[str], start: int) -> None:
    for name, found in match.groupdict().items():
        if found is not None:
            text.stylize(STYLES[name], start + match.start(name), start + match.end(name))
