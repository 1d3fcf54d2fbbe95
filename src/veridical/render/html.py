"""Explanations as HTML; ``markup`` escapes what is foreign, ``views`` draws what bars cannot show.

No script, nothing from outside, nothing that only a color or a hover tells.
A fragment takes its ink from the notebook around it, so it reads well in any theme;
a page brings its own, light and dark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from veridical.debug.audit import Audit
from veridical.evaluate.differences import Difference
from veridical.evaluate.records import Report
from veridical.pages import Page, Section
from veridical.records import Explanation, Explanations, Verdict
from veridical.render.beside import beside
from veridical.render.canvas import letter
from veridical.render.cards import belonging, groups
from veridical.render.entries import NOTEBOOK, VIEW, WHOLE, Room, entries
from veridical.render.findings import audit, verdict
from veridical.render.ledger import ledger
from veridical.render.maps import heat_map, planes
from veridical.render.marks import Marks, keyed, marks_of
from veridical.render.markup import NONE, Markup, escape, minus, tag
from veridical.render.matrix import picked
from veridical.render.media import PICTURE
from veridical.render.stores import stored
from veridical.render.style import (
    CHECK_STYLE,
    CURVE_STYLE,
    DIFFERENCE_STYLE,
    PAGE_STYLE,
    REPORT_STYLE,
    STYLE,
    SUMMARY_STYLE,
    VIEW_STYLE,
)
from veridical.render.tables import EFFECT, WHISKER, facts, judgment, legend, notes, weights_table
from veridical.render.views import drawing
from veridical.render.words import (
    asked_words,
    evidence,
    facts_of,
    notes_of,
    number,
    ranked,
    row_label,
    sentence,
    target_of,
    teller,
)
from veridical.scale.stores.store import Store
from veridical.summarize.records import Grouping, Membership, Pick

Shown: TypeAlias = (
    Explanation | Explanations | Grouping | Membership | Pick | Report | Verdict | Audit | Difference | Store
)

MOST_PARTS = 20  # drawn in one explanation
MOST_LISTED = 6  # parts drawn in one of a list
FEWEST_LINKS = 3  # sections of a page that lists them
STOP = '<i class="vd-bare">;</i>'  # where styles are taken away
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:"


def fragment(shown: Shown | Page) -> str:
    """One record or page, to be shown inside another page such as a notebook."""
    inner = _booklet(shown) if isinstance(shown, Page) else _drawn(shown, NOTEBOOK)
    style = _style(inner).replace(".vd ", ".vd.vd ")  # stronger than what notebooks say of tables and lists
    return f'<div class="vd"><style>{style}</style>{inner}</div>'


def page(whole: Page) -> str:
    """A whole page that stands alone, with a heading for every section that has one."""
    title, sections = whole.title, whole.sections
    body = "".join(_section(at, section) for at, section in enumerate(sections, 1))
    lead_line = f'<p class="lead">{escape(whole.lead, 2000)}</p>' if whole.lead else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{_style(body)}{PAGE_STYLE}</style></head>\n"
        f"<body><main><header><h1>{escape(title)}</h1>{lead_line}{_contents(sections)}</header>{body}"
        "<footer>Made with veridical. Intervals tell how far sampling can be off, not how far the model "
        "can.</footer></main></body></html>\n"
    )


def _style(inner: str) -> str:
    """The style of views, summaries and reports only where there is one."""
    kinds = {"view": VIEW_STYLE, "summary": SUMMARY_STYLE, "report": REPORT_STYLE, "check": CHECK_STYLE}
    kinds |= {"curves": CURVE_STYLE, "difference": DIFFERENCE_STYLE}
    return STYLE + "".join(style for kind, style in kinds.items() if f'<div class="vd-{kind}"' in inner)


def _contents(sections: Sequence[Section]) -> str:
    """Links to all sections that have a heading, where there are several."""
    named = [(at, heading) for at, (heading, *_) in enumerate(sections, 1) if heading]
    links = "".join(f'<li><a href="#s{at}">{escape(heading)}</a></li>' for at, heading in named)
    return f'<nav aria-label="Contents"><ol>{links}</ol></nav>' if len(named) >= FEWEST_LINKS else ""


def _section(at: int, section: Section) -> str:
    """One record under its heading; without one, its own headings move up in its place."""
    heading, shown, text = section
    title = f"<h2>{escape(heading)}</h2>" if heading else ""
    words = f'<p class="text">{escape(text, 2000)}</p>' if text else ""
    drawn = _drawn(shown, WHOLE)
    inner = drawn if heading else _moved(drawn, -1)
    return f'\n<section id="s{at}">{title}{words}<div class="vd">{inner}</div></section>'


def _booklet(whole: Page) -> str:
    """A page inside another page: its headings are smaller, and there are no links to them."""
    parts = [f"<h2>{escape(whole.title)}</h2>" if whole.title else ""]
    parts += [f"<p>{escape(whole.lead, 2000)}</p>" if whole.lead else ""]
    for heading, shown, text in whole.sections:
        parts += [f"<h3>{escape(heading)}</h3>" if heading else "", f"<p>{escape(text, 2000)}</p>" if text else ""]
        parts.append(_moved(_drawn(shown, NOTEBOOK), 1))
    return "".join(parts)


def _moved(inner: str, by: int) -> str:
    """Markup whose headings are so many levels lower; foreign text has no element that could be meant."""
    return inner.replace("<h3>", f'<h3 aria-level="{3 + by}">').replace("<h4>", f'<h4 aria-level="{4 + by}">')


def _drawn(shown: Shown, room: Room) -> str:
    kinds: dict[type, Callable[[Any], str]] = {
        Explanation: _explanation,
        Explanations: lambda found: entries(found, room, _listed),
        Grouping: groups,
        Membership: belonging,
        Pick: picked,
        Report: lambda found: ledger(found, _evidence),
        Verdict: lambda found: verdict(found, _evidence),
        Audit: lambda found: audit(found, _evidence),
        Difference: beside,
        Store: stored,
    }
    return kinds[type(shown)](shown)


def _explanation(e: Explanation) -> str:
    """One explanation alone: its view, its bars, and what it rests on."""
    marks = marks_of(e, MOST_PARTS) if e.view is not None else None
    view = _view(e, marks, PICTURE) if marks is not None else ""
    chosen = ranked(e, MOST_PARTS)
    chart = _chart(e, chosen, marks) + facts(facts_of(e)) if chosen else ""
    return _said(e) + judgment(e.verdict) + view + chart + _notes(e, chosen)


def _listed(e: Explanation, most: int) -> str:
    """One of many explanations, with a view of at most so many bytes, if any."""
    marks = marks_of(e, MOST_LISTED) if e.view is not None and most else None
    view = _view(e, marks, most) if marks is not None else ""
    chosen = ranked(e, MOST_LISTED)
    chart = weights_table(e, chosen, _key(e, marks)) if chosen else ""
    rests = "; ".join(evidence(e)[1:]) if chosen else ""
    return _said(e) + judgment(e.verdict) + view + chart + notes([sentence(rests), *e.notes] if rests else e.notes)


def _evidence(e: Explanation, with_view: bool) -> str:
    return _listed(e, VIEW if with_view else 0)


def _said(e: Explanation) -> str:
    row = "" if e.row is None else f"Row <bdi>{escape(row_label(e.row), 80)}</bdi>, target"
    return (
        f'<div class="vd-say"><h3>{row or "Target"} <bdi>{escape(target_of(e), 80)}</bdi></h3>'
        f"<span>the model says <b>{minus(number(e.prediction))}</b>{STOP}</span> "
        f"<span>the {teller(e)} says <b>{minus(number(e.local_prediction))}</b>{STOP}</span> "
        f"<span>{escape(asked_words(e), 120)}</span></div>"
    )


def _view(e: Explanation, marks: Marks, most: int) -> str:
    """The view, and the map; both are to share the bytes."""
    if e.view is None:
        return ""
    found = planes(e)
    if found is None:
        return drawing(e.view, marks, most)
    return drawing(e.view, marks, most // 2) + heat_map(e, found, most // 2)


def _key(e: Explanation, marks: Marks | None) -> Callable[[int], Markup]:
    return lambda j: letter(marks, j) if marks is not None and keyed(e.view) else NONE


def _chart(e: Explanation, chosen: Sequence[int], marks: Marks | None) -> str:
    drawn = weights_table(e, chosen, _key(e, marks))
    return drawn + legend(*EFFECT, WHISKER)


def _notes(e: Explanation, chosen: Sequence[int]) -> str:
    lines = notes_of(e, len(chosen))
    steps = [tag("li", {}, tag("bdi", {}, escape(step, 60))) for step in e.path[:20]]
    path = [tag("li", {}, escape("Path through the tree"), tag("ol", {"class": "vd-path"}, *steps))]
    return notes(lines, *(path if steps else []))
