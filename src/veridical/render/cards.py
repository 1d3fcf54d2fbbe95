"""Groups as markup: a card each, on one scale; and why an instance belongs to one."""

from __future__ import annotations

import math

from veridical.render.groups import (
    NUMBERS,
    Line,
    effects_of,
    empty_words,
    headline,
    held,
    line_of,
    membership_sentence,
    own_words,
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
from veridical.render.words import count, decimals, fidelity_words, number, percent, plain
from veridical.summarize.records import Grouping, Membership

MOST_GROUPS, MOST_PARTS, MOST_NOTES = 24, 12, 6
WHISKER = "├─┤ 95 % interval of the sampling error"


def groups(g: Grouping) -> Markup:
    """What is true of all groups, then a card each, the largest first."""
    shown = held(g)
    drawn = [line_of(g, group) for group in shown[:MOST_GROUPS]]
    whole = together(drawn)
    scale = scale_of(whole, range(len(whole.weights)))
    cards = [_card(g, group, line, scale) for group, line in zip(shown, drawn, strict=False)]
    left, empty = len(shown) - len(drawn), empty_words(g)
    lines = [f"And {count(left, 'smaller group')}, not drawn."] if left > 0 else []
    lines += [empty[0].upper() + empty[1:] + "."] if empty else []
    lines += g.notes[:MOST_NOTES]
    lines += [f"And {count(len(g.notes) - MOST_NOTES, 'more note')}."] if len(g.notes) > MOST_NOTES else []
    said = (
        tag("h3", {}, escape("Target "), tag("bdi", {}, escape(g.target, 80))),
        tag("span", {}, escape(headline(g))),
    )
    return tag(
        "div",
        {"class": "vd-summary"},
        tag("div", {"class": "vd-say"}, *said),
        judgment(g.verdict),
        _facts(g),
        notes(lines),
        tag("div", {"class": "vd-cards"}, *cards) if cards else NONE,
        legend(*EFFECT, WHISKER, "all groups on one scale", NUMBERS) if cards else NONE,
    )


def _facts(g: Grouping) -> Markup:
    explained = "of what the model does around held-out instances is explained (R²)"
    good = g.fidelity > 0
    return facts(
        (
            ("Fidelity", percent(g.fidelity) if good else "none" if g.fidelity <= 0 else "unknown",
             explained if good else fidelity_words(g.fidelity)),
            ("Error", number(g.error), "root mean square on held-out instances, in units of the output"),
            ("Ceiling", number(g.ceiling), "the error if the best group of each instance were known"),
            ("Model calls", f"{g.n_calls:,}", "inputs the model was asked about"),
        )
    )  # fmt: skip


def _card(g: Grouping, group: int, line: Line, scale: Scale) -> Markup:
    """One group: its number, size and region, its weights, its fidelity."""
    name, fidelity = f"Group {group}", float(g.fidelities[group])
    head = tag("header", {}, tag("h4", {}, escape(name)), tag("span", {}, escape(size_words(g, group))))
    where = tag(
        "p", {"class": "vd-where"}, escape("Where "), tag("bdi", {}, escape(g.regions[group].sentence, 600))
    )
    chosen = range(min(len(line.parts), MOST_PARTS))
    drawn = (
        weights_table(line, chosen, scale=scale) if chosen else tag("p", {}, escape("No feature has any weight."))
    )
    left = len(line.parts) - len(chosen)
    more = f"And {count(left, 'smaller part')}. " if left > 0 else ""
    words = own_words(fidelity)
    foot = f"{more}Intercept {minus(number(float(g.intercepts[group])))}; {words}."
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
    second, sentence = runner_up(m), membership_sentence(m, minus)
    said = [
        tag("h3", {}, escape(f"Group {m.group}")),
        tag("span", {}, escape("with "), tag("b", {}, escape(percent(float(m.probabilities[m.group]))))),
        *([tag("span", {}, escape(second))] if second else []),
    ]
    return tag(
        "div",
        {"class": "vd-summary"},
        tag("div", {"class": "vd-say"}, *said),
        tag("p", {"class": "vd-lead"}, escape(sentence[0].upper() + sentence[1:] + ".", 800)),
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
        side, value = "for" if score > 0 else "against", minus(value_words(m.parts[j], float(m.values[j])))
        label = f"{plain(m.parts[j].name, 40)}, value {value}: speaks {side} the group, score {minus(show(score))}"
        rows.append(row(m.parts[j].name, bar(score, None, span, label), (minus(show(score)), value)))
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
        label = f"{plain(name, 40)}: effect {minus(show(value))}, {minus(made)}"
        rows.append(row(name, bar(value, None, span, label), (minus(show(value)), minus(made))))
    rows.append(row("Intercept", NONE, (minus(number(m.intercept)), "")))
    rows.append(row("What the explanation predicts", NONE, (minus(number(m.prediction)), "the sum")))
    title = tag("h4", {}, escape("What its explanation predicts, and how"))
    return join(
        title, table(("Feature", "Effect on the output", "Effect", "Weight × value"), rows), legend(*EFFECT)
    )
