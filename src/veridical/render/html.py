"""Explanations as HTML; ``markup`` escapes what is foreign, ``views`` draws what bars cannot show.

No script, nothing from outside, nothing that only a color or a hover tells.
A fragment takes its ink from the notebook around it, so it reads well in any theme;
a page brings its own, light and dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from veridical.records import Explanation, Explanations, Verdict
from veridical.render.canvas import letter
from veridical.render.marks import Marks, keyed, marks_of
from veridical.render.markup import escape, minus
from veridical.render.style import PAGE_STYLE, STYLE, VIEW_STYLE
from veridical.render.views import drawing
from veridical.render.words import (
    Digest,
    decimals,
    digest,
    fidelity_words,
    listing,
    measured,
    number,
    percent,
    plain,
    ranked,
    unmeasured_words,
)

MOST_PARTS = 20  # drawn in one explanation
MOST_NOTES = 6
MOST_ITEMS = 12  # drawn in one list
MOST_LISTED = 6  # parts drawn in one of a list
MOST_VIEWS = 3  # of a list that show their instance; pictures and sounds are large
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:"
KEY = (
    '<p class="vd-key"><span><i style="background:var(--vd-up)"></i>right: raises the output</span>'
    '<span><i style="background:var(--vd-down)"></i>left: lowers it</span>'
    "<span>├─┤ 95 % interval of the sampling error</span></p>"
)


def fragment(explanation: Explanation) -> str:
    """One explanation, to be shown inside another page such as a notebook."""
    return _alone(_explanation(explanation))


def list_fragment(explanations: Explanations) -> str:
    """Many explanations: what they have in common first, then each to unfold."""
    return _alone(_explanations(explanations))


def page(title: str, sections: Sequence[tuple[str, Explanation | Explanations]], lead: str = "") -> str:
    """A whole page that stands alone, with a heading for every section that has one."""
    body = "".join(_section(heading, shown) for heading, shown in sections)
    lead_line = f'<p class="lead">{escape(lead, 2000)}</p>' if lead else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{_style(body)}{PAGE_STYLE}</style></head>\n"
        f"<body><main><header><h1>{escape(title)}</h1>{lead_line}</header>{body}"
        "<footer>Made with veridical. Intervals tell how far sampling can be off, not how far the model "
        "can.</footer></main></body></html>\n"
    )


def _alone(inner: str) -> str:
    return f'<div class="vd"><style>{_style(inner)}</style>{inner}</div>'


def _style(inner: str) -> str:
    """The style of views only where there is one."""
    return STYLE + VIEW_STYLE if 'class="vd-view"' in inner else STYLE


def _section(heading: str, shown: Explanation | Explanations) -> str:
    inner = _explanations(shown) if isinstance(shown, Explanations) else _explanation(shown)
    title = f"<h2>{escape(heading)}</h2>" if heading else ""
    return f'\n<section>{title}<div class="vd">{inner}</div></section>'


def _explanation(e: Explanation, most: int = MOST_PARTS, with_view: bool = True) -> str:
    said = (
        f'<div class="vd-say"><h3>Target <bdi>{escape(e.target, 80)}</bdi></h3>'
        f"<span>the model says <b>{minus(number(e.prediction))}</b></span>"
        f"<span>the surrogate says <b>{minus(number(e.local_prediction))}</b></span></div>"
    )
    chosen = ranked(e, most)
    seen = e.view if with_view else None
    marks = marks_of(e, most) if seen is not None else None
    view = drawing(seen, marks) if seen is not None and marks is not None else ""
    chart = _chart(e, chosen, marks if keyed(seen) else None) + _facts(e) if chosen else ""
    return said + _verdict(e.verdict) + view + chart + _notes(e, chosen)


def _verdict(verdict: Verdict) -> str:
    kind, mark, words = ("yes", "✓", "Believe it") if verdict.passed else ("no", "✗", "Read with care")
    return (
        f'<div class="vd-verdict vd-{kind}"><span class="vd-mark" aria-hidden="true">{mark}</span>'
        f"<p><strong>{words}</strong>{escape(verdict.sentence, 800)}</p></div>"
    )


def _chart(e: Explanation, chosen: Sequence[int], marks: Marks | None) -> str:
    """A table whose second column is drawn, so that bars and numbers stay side by side."""
    show, known, span = decimals(e.weights[list(chosen)]), measured(e), _span(e, chosen)
    rows = []
    for j in chosen:
        low, high = (minus(show(end)) for end in e.intervals[j])
        weight, interval = minus(show(e.weights[j])), f"{low} to {high}" if known[j] else "not measured"
        label = f"{escape(e.parts[j].name, 40)}: weight {weight}, 95 % interval {interval}"
        ends = (float(e.intervals[j, 0]), float(e.intervals[j, 1])) if known[j] else None
        bar = _bar(float(e.weights[j]), ends, span, label)
        key = letter(marks, j) if marks else ""
        rows.append(_row(e.parts[j].name, bar, (weight, interval), key))
    return _table(("Part", "Effect on the output", "Weight", "95 % interval"), rows) + KEY


def _row(name: str, bar: str, numbers: tuple[str, str], key: str = "") -> str:
    return (
        f'<tr><th scope="row">{key}<bdi>{escape(name)}</bdi></th><td class="vd-b">{bar}</td>'
        f'<td class="vd-w">{numbers[0]}</td><td class="vd-i">{numbers[1]}</td></tr>'
    )


def _table(heads: tuple[str, str, str, str], rows: Sequence[str]) -> str:
    part, bar, first, second = heads
    return (
        '<table><colgroup><col class="vd-cn"><col><col class="vd-cw"><col class="vd-ci"></colgroup>'
        f'<thead><tr><th scope="col">{part}</th><th scope="col">{bar}</th><th scope="col" class="vd-w">'
        f'{first}</th><th scope="col" class="vd-i">{second}</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _span(e: Explanation, chosen: Sequence[int]) -> tuple[float, float]:
    """The axis: holds zero, every bar, and every interval that is not absurdly long."""
    weights = [float(e.weights[j]) for j in chosen]
    limit = 2 * max(abs(w) for w in weights)
    ends = [min(max(float(v), -limit), limit) for j in chosen for v in e.intervals[j] if math.isfinite(v)]
    return min(0.0, *weights, *ends), max(0.0, *weights, *ends)


def _bar(weight: float, ends: tuple[float, float] | None, span: tuple[float, float], label: str) -> str:
    """One bar from zero, with a whisker where the interval is finite."""

    def at(value: float) -> float:
        share = (value - span[0]) / (span[1] - span[0])
        return round(400 * min(max(share, 0.0), 1.0), 1)

    left, right = sorted((at(0.0), at(weight)))
    kind = "up" if weight > 0 else "down"
    whisker = ""
    if ends:
        low, high = at(ends[0]), at(ends[1])
        whisker = f'<path class="vd-whisk" d="M{low} 16H{high}M{low} 12V20M{high} 12V20"/>'
    return (
        f'<svg role="img" aria-label="{label}" viewBox="0 0 400 32" preserveAspectRatio="none">'
        f'<rect class="vd-{kind}" x="{left}" y="8" width="{right - left:.1f}" height="16"/>'
        f'<path class="vd-axis" d="M{at(0.0)} 0V32"/>{whisker}</svg>'
    )


def _facts(e: Explanation) -> str:
    agreement = percent(e.fidelity) if e.fidelity > 0 else "none" if e.fidelity <= 0 else "unknown"
    explained = "of what the model does here is explained (held-out R²)"
    meaning = explained if e.fidelity > 0 else fidelity_words(e.fidelity)
    facts = (
        ("Fidelity", agreement, meaning),
        (f"Top {e.top_k} are right", percent(e.top_probability), "probability, within the tolerance"),
        ("Effective sample", f"{e.effective_size:,.0f}", "samples, once weighted by proximity"),
        ("Model calls", f"{e.n_calls:,}", "rows the model was asked about"),
    )
    return _list(facts)


def _list(facts: Sequence[tuple[str, str, str]]) -> str:
    cells = (
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(meaning)}</small></dd></div>"
        for name, value, meaning in facts
    )
    return f"<dl>{''.join(cells)}</dl>"


def _notes(e: Explanation, chosen: Sequence[int]) -> str:
    left = sum(1 for w in e.weights if w != 0) - len(chosen)
    lines = [f"And {left:,} smaller parts, not drawn."] if left > 0 else []
    lines += [f"Order not settled: {listing(group, ' ~ ')}" for group in e.unsettled[:5]]
    unmeasured = unmeasured_words(e) if chosen else ""
    lines += [unmeasured[0].upper() + unmeasured[1:]] if unmeasured else []
    lines += e.notes[:MOST_NOTES]
    lines += [f"And {len(e.notes) - MOST_NOTES} more notes."] if len(e.notes) > MOST_NOTES else []
    items = "".join(f"<li>{escape(line, 400)}</li>" for line in lines)
    steps = "".join(f"<li><bdi>{escape(step, 60)}</bdi></li>" for step in e.path[:20])
    path = f'<li>Path through the tree<ol class="vd-path">{steps}</ol></li>' if steps else ""
    return f'<ul class="vd-notes">{items}{path}</ul>' if items or path else ""


def _explanations(many: Explanations) -> str:
    d = digest(many)
    drawn = "".join(_detail(i, e) for i, e in enumerate(many.items[:MOST_ITEMS]))
    left = d.n_items - MOST_ITEMS
    more = f'<p class="vd-key">And {left:,} more, not drawn here.</p>' if left > 0 else ""
    return _summary(d) + (f'<div class="vd-list">{drawn}</div>{more}' if drawn else "")


def _summary(d: Digest) -> str:
    """What many explanations have in common."""
    facts = (
        ("Explanations", f"{d.n_items:,}", "one a row"),
        ("Targets", f"{len(d.targets):,}", ", ".join(f"{plain(t, 20)} ({n:,})" for t, n in d.targets[:3])),
        ("Fidelity", minus(number(d.fidelity)), "median held-out R²"),
        ("Verdicts", percent(d.passed), "of the explanations can be believed"),
    )
    if not d.top:
        return _list(facts)
    show, longest = decimals([mean for _, mean, _ in d.top]), d.top[0][1]
    rows = []
    for name, mean, count in d.top:
        label = f"{escape(name, 60)}: mean size of weight {show(mean)[1:]}, counts in {count:,}"
        rows.append(_row(name, _bar(mean, None, (0.0, longest), label), (show(mean)[1:], f"{count:,}")))
    return _list(facts) + _table(("Part", "Mean size of the weight", "Mean", "Counts in"), rows)


def _detail(row: int, e: Explanation) -> str:
    kind, mark, words = ("yes", "✓", "believe") if e.verdict.passed else ("no", "✗", "with care")
    top = ", ".join(plain(name, 30) for name, _ in e.top(3)) or "no part has any weight"
    return (
        f'<details><summary class="vd-{kind}"><span class="vd-mark" role="img" aria-label="{words}">{mark}'
        f"</span>Row {row}<small>target {escape(e.target, 40)}, model {minus(number(e.prediction))}: "
        f"{escape(top)}</small></summary><div>{_explanation(e, MOST_LISTED, row < MOST_VIEWS)}</div></details>"
    )
