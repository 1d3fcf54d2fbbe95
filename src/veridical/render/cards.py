"""Groups as markup: a card each, on one scale; and why an instance belongs to one."""

from __future__ import annotations

import math

from veridical.render.groups import (
    EFFECT_HEADS,
    HOW,
    NUMBERS,
    REASON_HEADS,
    SPEAKS,
    WHY,
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
from veridical.render.markup import NONE, Markup, escape, join, minus, spaced, tag
from veridical.render.tables import (
    EFFECT,
    WHISKER,
    Scale,
    bar,
    facts,
    judgment,
    legend,
    notes,
    row,
    scale_of,
    table,
    weights_table,
)
from veridical.render.words import percent, sentence
from veridical.summarize.records import Grouping, Membership

MOST_GROUPS, MOST_PARTS = 24, 12


def groups(g: Grouping) -> Markup:
    """What is true of all groups, then a card each, the largest first."""
    shown = held(g)
    drawn = [line_of(g, group) for group in shown[:MOST_GROUPS]]
    whole = together(drawn)
    scale = scale_of(whole, range(len(whole.weights)))
    cards = [_card(g, group, line, scale) for group, line in zip(shown, drawn, strict=False)]
    said = (
        tag("h3", {}, escape("Target "), tag("bdi", {}, escape(g.target, 80))),
        tag("span", {}, escape(headline(g))),
    )
    return tag(
        "div",
        {"class": "vd-summary"},
        tag("div", {"class": "vd-say"}, *spaced(*said)),
        judgment(g.verdict),
        facts(facts_of(g)),
        notes(notes_of(g, len(drawn))),
        tag("div", {"class": "vd-cards"}, *cards) if cards else NONE,
        legend(*EFFECT, WHISKER, "all groups on one scale", NUMBERS) if cards else NONE,
    )


def _card(g: Grouping, group: int, line: Line, scale: Scale) -> Markup:
    """One group: its number, size and region, its weights, its fidelity."""
    name = f"Group {group}"
    head = tag("header", {}, tag("h4", {}, escape(name)), tag("span", {}, escape(size_words(g, group))))
    where = tag(
        "p", {"class": "vd-where"}, escape("Where "), tag("bdi", {}, escape(g.regions[group].sentence, 600))
    )
    chosen = range(min(len(line.parts), MOST_PARTS))
    drawn = (
        weights_table(line, chosen, scale=scale) if chosen else tag("p", {}, escape("No feature has any weight."))
    )
    foot = foot_words(g, group, len(line.parts) - len(chosen))
    return tag(
        "article",
        {"class": "vd-card", "aria-label": name},
        head,
        where,
        drawn,
        tag("p", {"class": "vd-foot"}, escape(foot, 400)),
    )


def belonging(m: Membership) -> Markup:
    """Which group an instance belongs to, why, and how the group's explanation comes to what it says."""
    second, lead = runner_up(m), sentence(membership_sentence(m, minus))
    said = [
        tag("h3", {}, escape(f"Group {m.group}")),
        tag("span", {}, escape("with "), tag("b", {}, escape(percent(float(m.probabilities[m.group]))))),
        *([tag("span", {}, escape(second))] if second else []),
    ]
    return tag(
        "div",
        {"class": "vd-summary"},
        tag("div", {"class": "vd-say"}, *spaced(*said)),
        tag("p", {"class": "vd-lead"}, escape(f"{lead}.", 800)),
        tag("p", {"class": "vd-where"}, escape("Where "), tag("bdi", {}, escape(m.region.sentence, 600))),
        _reasons(m),
        _effects(m),
    )


def _reasons(m: Membership) -> Markup:
    entries = reason_entries(m, MOST_PARTS)
    if not entries:
        return NONE
    span = span_of(entries)
    rows = [row(name, bar(score, None, span), numbers) for name, score, numbers in entries]
    return join(tag("h4", {}, escape(WHY)), table(REASON_HEADS, rows), legend(*SPEAKS))


def _effects(m: Membership) -> Markup:
    entries, rows = effect_entries(m, MOST_PARTS), []
    span = span_of(entries)
    for name, value, numbers in entries:
        rows.append(row(name, NONE if math.isnan(value) else bar(value, None, span), numbers))
    return join(tag("h4", {}, escape(HOW)), table(EFFECT_HEADS, rows), legend(*EFFECT))
