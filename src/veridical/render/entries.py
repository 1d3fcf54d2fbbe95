"""Many explanations as markup: what they have in common, then an entry each that opens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from veridical.records import Explanation, Explanations
from veridical.render.markup import NONE, SPACE, Markup, escape, join, spaced, tag
from veridical.render.tables import bar, facts, row, table
from veridical.render.words import Digest, brief, count, decimals, digest, percent, row_label

Draw: TypeAlias = Callable[[Explanation, int], str]  # an explanation, and bytes that its picture may take

SHEET = 100  # entries that open together
VIEW = 2_000  # bytes of the picture of an entry; outlines and marks come on top
LEAN = 4_000  # bytes of an entry without its picture, about


@dataclass(frozen=True, slots=True)
class Room:
    """How much of a long list is drawn."""

    n_entries: int
    n_bytes: int  # pictures are drawn as long as the rest fits without


NOTEBOOK = Room(12, 200_000)  # every cell is kept in the file of the notebook
WHOLE = Room(1_000, 4_500_000)


def entries(many: Explanations, room: Room, draw: Draw) -> Markup:
    """The summary, then the rows in order; of very many, in sheets that open."""
    d, items = digest(many), many.items[: room.n_entries]
    drawn, n_seen = _drawn(items, room, draw)
    sheets = [drawn[start : start + SHEET] for start in range(0, len(drawn), SHEET)]
    shown = [_sheet(many, at, sheet) for at, sheet in enumerate(sheets)] if len(sheets) > 1 else drawn
    said = [f"And {d.n_items - len(drawn):,} more, not drawn here."] if d.n_items > len(drawn) else []
    if n_seen < sum(e.view is not None for e in items):
        said.append(f"Only the first {n_seen:,} show their instance, so that the page stays small.")
    more = (
        tag("p", {"class": "vd-key"}, *spaced(*(tag("span", {}, escape(words)) for words in said)))
        if said
        else NONE
    )
    return join(_summary(d), tag("div", {"class": "vd-list"}, *shown) if shown else NONE, more)


def _drawn(items: Sequence[Explanation], room: Room, draw: Draw) -> tuple[list[Markup], int]:
    """An entry each, with its view as long as there is room; and how many have one."""
    made, used, n_seen = list[Markup](), 0, 0
    for at, e in enumerate(items):
        seen = e.view is not None and used + LEAN * (len(items) - at) < room.n_bytes
        inner = draw(e, VIEW if seen else 0)
        used, n_seen = used + len(inner), n_seen + seen
        made.append(_entry(at, e, Markup(inner)))
    return made, n_seen


def _sheet(many: Explanations, at: int, drawn: Sequence[Markup]) -> Markup:
    """Entries that open together, the first already open."""
    first = at * SHEET
    part = many.items[first : first + len(drawn)]
    passed = percent(sum(e.verdict.passed for e in part) / len(part))
    words = f"{count(len(part), 'explanation')}, {passed} of them can be believed"
    ends = [i if e.row is None else e.row for i, e in ((first, part[0]), (first + len(part) - 1, part[-1]))]
    name = escape(f"Rows {row_label(ends[0], 40)} to {row_label(ends[1], 40)}")
    title = tag("summary", {}, name, SPACE, tag("small", {}, escape(words)))
    opened = {"open": ""} if at == 0 else {}
    return tag("details", {"class": "vd-sheet", **opened}, title, tag("div", {}, *drawn))


def _entry(at: int, e: Explanation, inner: Markup) -> Markup:
    kind, mark, words = ("yes", "✓", "believe") if e.verdict.passed else ("no", "✗", "with care")
    badge = tag("span", {"class": "vd-mark", "role": "img", "aria-label": words}, escape(mark))
    said = (
        badge,
        SPACE,
        escape(f"Row {row_label(at if e.row is None else e.row)}"),
        SPACE,
        tag("small", {}, escape(brief(e), 200)),
    )
    return tag("details", {}, tag("summary", {"class": f"vd-{kind}"}, *said), tag("div", {}, inner))


def _summary(d: Digest) -> Markup:
    """What many explanations have in common."""
    if not d.top:
        return facts(d.facts())
    show, longest = decimals([mean for _, mean, _ in d.top]), d.top[0][1]
    rows = []
    for name, mean, n in d.top:
        rows.append(row(name, bar(mean, None, (0.0, longest)), (show(mean)[1:], f"{n:,}")))
    return join(facts(d.facts()), table(("Part", "Mean size of the weight", "Mean", "Counts in"), rows))
