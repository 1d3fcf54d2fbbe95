"""Picks, groups and memberships as figures."""

from __future__ import annotations

import math
from typing import Any

from veridical.render.blocks import (
    EMPTY,
    PAD,
    Row,
    facts,
    faded,
    grid,
    judgment,
    legend,
    notes,
    paragraph,
    saying,
    table,
    weights_table,
)
from veridical.render.board import SMALL, TINY, Block, Board, Ink, Look, beside, share, stacked
from veridical.render.groups import (
    EFFECT_HEADS,
    HOW,
    NUMBERS,
    REASON_HEADS,
    SPEAKS,
    WHY,
    Entry,
    Line,
    effect_entries,
    facts_of,
    foot_words,
    headline,
    held,
    line_of,
    membership_sentence,
    notes_of,
    reason_entries,
    runner_up,
    size_words,
    span_of,
    together,
)
from veridical.render.markup import minus
from veridical.render.picks import (
    Matrix,
    chance_words,
    first_words,
    matrix_of,
    models_of,
    pick_sentence,
    row_name,
)
from veridical.render.picks import facts_of as pick_facts
from veridical.render.picks import notes_of as pick_notes
from veridical.render.tables import WHISKER, Scale, scale_of
from veridical.render.words import decimals, first, percent, plain, sentence
from veridical.summarize.records import Grouping, Membership, Pick

MOST_ROWS, MOST_COLUMNS = 24, 24
MOST_GROUPS, MOST_PARTS = 12, 10
TITLE = Ink(10.0, bold=True)
UP_DOWN = ("up: raises the output", "down: lowers it")


def pick(p: Pick, look: Look) -> list[Block]:
    """The pick, or both sides of a pick for two models."""
    return [block for name, side in models_of(p) for block in _pick(name, side, look)]


def _pick(name: str, p: Pick, look: Look) -> list[Block]:
    said, m = pick_sentence(p), matrix_of(p, MOST_ROWS, min(MOST_COLUMNS, look.rows))
    head = paragraph(f"{sentence(f'{name}: {said}' if name else said)}.", look, Ink(11.0, bold=True))
    if not len(p.chosen) or not len(m.columns):
        return [head, notes(first(p.notes), look)]
    key = legend(["tinted cell: the first row that shows the part"], look, UP_DOWN)
    return [
        head,
        facts(pick_facts(p, m), look),
        stacked([_matrix(p, m, look), key], 0.08),
        _parts(p, m, look),
        notes(pick_notes(p, m), look),
    ]


def _matrix(p: Pick, m: Matrix, look: Look) -> Block:
    """One line a row: a bar up or down for each part that it gives weight."""
    rows = [
        Row(sentence(row_name(p, t)), math.nan, None, (percent(float(p.share[t])), chance_words(p, t)))
        for t in range(len(m.weights))
    ]

    def paint(board: Board, panel: Any) -> None:
        panel.set_xlim(0, len(m.columns))
        style = {"size": 7.2 * board.scale, "weight": "bold", "color": look.palette.ink}
        for c, letter in enumerate(m.letters):
            panel.text(c + 0.5, panel.get_ylim()[1] - 0.12, letter, ha="center", va="bottom", **style)
        for t in range(len(m.weights)):
            _cells(panel, m, t, board)

    heads = ("Row", "", "Covered", "At random")
    return grid(heads, rows, look, paint)


def _cells(panel: Any, m: Matrix, t: int, board: Board) -> None:
    """The weights of one row, each at the place of its part."""
    colors = board.look.palette
    panel.axhline(t, color=colors.ink, alpha=0.35, linewidth=0.6 * board.scale)
    for c, j in enumerate(m.columns):
        strength = float(m.strengths[t, c])
        if not strength:
            continue
        color = colors.up if strength > 0 else colors.down
        if m.first[j] == t:
            panel.bar([c + 0.5], [0.92], width=0.94, bottom=t - 0.46, color=faded(color, 0.2), linewidth=0)
        panel.bar([c + 0.5], [-0.44 * strength], width=0.72, bottom=t, color=color, linewidth=0)


def _parts(p: Pick, m: Matrix, look: Look) -> Block:
    values = [float(v) for v in p.importance[m.columns]]
    show, rows = decimals(values), []
    for letter, j, value in zip(m.letters, m.columns, values, strict=True):
        numbers = (show(value)[1:], first_words(p, m, int(j)))
        rows.append(
            Row(plain(p.names[j]), value, None, numbers, (letter, look.palette.gray, True), look.palette.gray)
        )
    heads = ("Part", "Importance over all rows", "Importance", "Shown first")
    return table(heads, rows, ((0.0, values[0]), look))


def groups(g: Grouping, look: Look) -> list[Block]:
    """What is true of all groups, then a card each, the largest first."""
    shown = held(g)[:MOST_GROUPS]
    drawn = [line_of(g, group) for group in shown]
    whole = together(drawn)
    scale, n = scale_of(whole, range(len(whole.weights))), 2 if look.width > 5.5 and len(shown) > 1 else 1
    inner = share(look, n)
    cards = [
        _card(g, group, line, (scale, inner.within(inner.width - 2 * PAD)))
        for group, line in zip(shown, drawn, strict=True)
    ]
    lines = [cards[i : i + n] for i in range(0, len(cards), n)]
    rows = [
        beside([_framed(card, inner, max(c.height for c in line)) for card in line], look, n) for line in lines
    ]
    return [
        saying(f"Target {plain(g.target, 80)}", [headline(g)], look),
        judgment(g.verdict, look),
        facts(facts_of(g), look),
        notes(notes_of(g, len(drawn)), look),
        *rows,
        legend([WHISKER, "all groups on one scale", NUMBERS], look) if cards else EMPTY,
    ]


def _card(g: Grouping, group: int, line: Line, room: tuple[Scale, Look]) -> Block:
    """One group: its number, size and region, its weights, its fidelity."""
    scale, look = room
    chosen = range(min(len(line.parts), MOST_PARTS))
    return stacked(
        [
            saying(f"Group {group}", [size_words(g, group)], look),
            paragraph(f"Where {plain(g.regions[group].sentence, 600)}", look, Ink(8.2), 6),
            weights_table(line, chosen, look, scale=scale)
            if chosen
            else paragraph("No feature has any weight.", look),
            paragraph(foot_words(g, group, len(line.parts) - len(chosen)), look, TINY),
        ],
        0.09,
    )


def _framed(card: Block, look: Look, tall: float) -> Block:
    """A card with a border around it."""

    def draw(board: Board, top: float) -> None:
        border = {"fill": False, "edgecolor": look.palette.gray, "alpha": 0.5, "linewidth": 0.6}
        board.box((0.0, top), (look.width, tall + 2 * PAD), border)
        card.draw(board.moved(PAD, look.width - 2 * PAD), top + PAD)

    return Block(tall + 2 * PAD, draw)


def membership(m: Membership, look: Look) -> list[Block]:
    """Which group an instance belongs to, why, and how the group's explanation comes to what it says."""
    second, lead = runner_up(m), sentence(membership_sentence(m, minus))
    said = [f"with {percent(float(m.probabilities[m.group]))}", *([second] if second else [])]
    reasons, effects = reason_entries(m, MOST_PARTS), effect_entries(m, MOST_PARTS)
    why = [paragraph(WHY, look, TITLE), _entries(REASON_HEADS, reasons, look), legend([], look, SPEAKS)]
    how = [paragraph(HOW, look, TITLE), _entries(EFFECT_HEADS, effects, look), legend([], look)]
    return [
        saying(f"Group {m.group}", said, look),
        paragraph(f"{plain(lead, 800)}.", look),
        paragraph(f"Where {plain(m.region.sentence, 600)}", look, SMALL),
        stacked(why, 0.06) if reasons else EMPTY,
        stacked(how, 0.06),
    ]


def _entries(heads: tuple[str, str, str, str], entries: list[Entry], look: Look) -> Block:
    rows = [Row(plain(name), value, None, numbers) for name, value, numbers in entries]
    return table(heads, rows, (span_of(entries), look))
