"""Groups as markup: a card each, on one scale; and why an instance belongs to one."""

from __future__ import annotations

import math

from veridical.render.groups import (
    NUMBERS,
    Line,
    effects_of,
    facts_of,
    foot_words,
    headline,
    held,
    line_of,
    membership_sentence,
    notes_of,
    product,
    reasons_of,
    runner_up,
    size_words,
    together,
    value_words,
)
from veridical.render.markup import NONE, Markup, escape, join, minus, tag
from veridical.render.tables import (
    EFFECT,
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
from veridical.render.words import count, decimals, number, percent, sentence
from veridical.summarize.records import Grouping, Membership

MOST_GROUPS, MOST_PARTS = 24, 12
WHISKER = "├─┤ 95 % interval of the sampling error"


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
        tag("div", {"class": "vd-say"}, *said),
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
        tag("div", {"class": "vd-say"}, *said),
        tag("p", {"class": "vd-lead"}, escape(f"{lead}.", 800)),
        tag("p", {"class": "vd-where"}, escape("Where "), tag("bdi", {}, escape(m.region.sentence, 600))),
        _reasons(m),
        _effects(m),
    )


def _reasons(m: Membership) -> Markup:
    why = reasons_of(m, MOST_PARTS)
    if not why:
        return NONE
    scores = [float(m.reasons[j]) for j in why]
    show, span, rows = decimals(scores), (min(0.0, *scores, 0.0), max(0.0, *scores, 0.0)), []
    for j, score in zip(why, scores, strict=True):
        value = minus(value_words(m.parts[j], float(m.values[j])))
        rows.append(row(m.parts[j].name, bar(score, None, span), (minus(show(score)), value)))
    title = tag("h4", {}, escape("Why it belongs there"))
    key = legend("right: speaks for the group", "left: against it")
    return join(title, table(("Feature", "Why this group", "Score", "Value"), rows), key)


def _effects(m: Membership) -> Markup:
    used, effects = effects_of(m)
    shown = used[:MOST_PARTS]
    rest = float(effects[used[MOST_PARTS:]].sum()) if len(used) > MOST_PARTS else 0.0
    entries = [(m.parts[j].name, float(effects[j]), product(m, j)) for j in shown]
    entries += [(count(len(used) - MOST_PARTS, "smaller part"), rest, "")] if len(used) > MOST_PARTS else []
    finite = [value for _, value, _ in entries if math.isfinite(value)]
    show, span = decimals(finite), (min(0.0, *finite, 0.0), max(0.0, *finite, 0.0))
    rows = []
    for name, value, made in entries:
        rows.append(row(name, bar(value, None, span), (minus(show(value)), minus(made))))
    rows.append(row("Intercept", NONE, (minus(number(m.intercept)), "")))
    rows.append(row("What the explanation predicts", NONE, (minus(number(m.prediction)), "the sum")))
    title = tag("h4", {}, escape("What its explanation predicts, and how"))
    return join(
        title, table(("Feature", "Effect on the output", "Effect", "Weight × value"), rows), legend(*EFFECT)
    )
