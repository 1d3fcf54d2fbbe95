"""Explanations as figures: what a page says of them, in the same order and the same words."""

from __future__ import annotations

from veridical.records import Explanation, Explanations
from veridical.render.blocks import (
    EMPTY,
    Badge,
    Row,
    disc,
    facts,
    judgment,
    legend,
    notes,
    paragraph,
    saying,
    table,
    weights_table,
)
from veridical.render.board import SMALL, STRONG, Block, Board, Look, stacked
from veridical.render.marks import Marks, keyed, marks_of
from veridical.render.markup import minus
from veridical.render.scenes import heat_map, scene
from veridical.render.shots import letter_of
from veridical.render.tables import WHISKER
from veridical.render.words import (
    asked_words,
    brief,
    decimals,
    digest,
    facts_of,
    notes_of,
    number,
    plain,
    ranked,
    row_label,
    target_of,
    teller,
)

MOST_PARTS, MOST_ITEMS = 20, 12


def explanation(e: Explanation, look: Look, most: int = MOST_PARTS) -> list[Block]:
    """The answer, the verdict, the instance with its parts tinted, their weights, and what they rest on."""
    said = [
        f"the model says {minus(number(e.prediction))}",
        f"the {teller(e)} says {minus(number(e.local_prediction))}",
        plain(asked_words(e), 120),
    ]
    row = "T" if e.row is None else f"Row {row_label(e.row)}, t"
    most = min(most, look.rows)
    chosen, marks = ranked(e, most), marks_of(e, most)
    seen = [] if e.view is None else [scene(e.view, marks, look), heat_map(e, look)]
    return [
        saying(f"{row}arget {plain(target_of(e), 80)}", said, look),
        judgment(e.verdict, look),
        *seen,
        stacked([_bars(e, chosen, look, marks if keyed(e.view) else None), legend([WHISKER], look)], 0.06)
        if chosen
        else paragraph("No part has any weight.", look),
        facts(facts_of(e), look),
        notes([*notes_of(e, len(chosen)), *_path(e)], look),
    ]


def _bars(e: Explanation, chosen: list[int], look: Look, marks: Marks | None) -> Block:
    def key(part: int) -> Badge | None:
        return letter_of(marks, part, look.palette) if marks is not None else None

    return weights_table(e, chosen, look, key)


def _path(e: Explanation) -> list[str]:
    steps = " → ".join(plain(step, 60) for step in e.path[:20])
    return [f"Path through the tree: {steps}"] if steps else []


def explanations(many: Explanations, look: Look) -> list[Block]:
    """What many explanations have in common, then a line each."""
    d = digest(many)
    left = d.n_items - MOST_ITEMS
    more = f"And {left:,} more, not drawn here." if left > 0 else ""
    show = decimals([mean for _, mean, _ in d.top])
    rows = [Row(plain(n), mean, None, (show(mean)[1:], f"{k:,}"), None, look.palette.up) for n, mean, k in d.top]
    heads = ("Part", "Mean size of the weight", "Mean", "Counts in")
    lines = stacked([_line(i, e, look) for i, e in enumerate(many.items[:MOST_ITEMS])], 0.0)
    return [
        facts(d.facts(), look),
        table(heads, rows, ((0.0, d.top[0][1]), look)) if d.top else EMPTY,
        lines,
        paragraph(more, look, SMALL),
    ]


def _line(row: int, e: Explanation, look: Look) -> Block:
    """One of many: whether it can be believed, which row, what it says."""
    mark, color = ("✓", look.palette.yes) if e.verdict.passed else ("✗", look.palette.no)
    name = look.face.cut(f"Row {row_label(row if e.row is None else e.row)}", STRONG.size, 2.0)
    left = max(0.95, 0.26 + look.face.width(name, STRONG.size, bold=True) + 0.15)
    said = look.face.cut(brief(e), SMALL.size, look.width - left)

    def draw(board: Board, top: float) -> None:
        board.line([0.0, look.width], [top, top], {"alpha": 0.18, "linewidth": 0.5})
        disc(board, (0.1, top + 0.12), mark, color, 9.5)
        board.text((0.26, top + 0.12), name, STRONG)
        board.text((left, top + 0.12), said, SMALL)

    return Block(0.24, draw)
