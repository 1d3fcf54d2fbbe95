"""Every record as a matplotlib figure, on the screen and in files."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from veridical.debug.audit import Audit
from veridical.evaluate.differences import Difference
from veridical.evaluate.records import Report
from veridical.pages import Page
from veridical.records import Explanation, Explanations, Verdict
from veridical.render.blocks import paragraph
from veridical.render.board import DARK, HEAD, LIGHT, Block, Ink, Look, bare_figure, show
from veridical.render.contrasts import contrast
from veridical.render.dots import report
from veridical.render.fonts import MISSING, face_of
from veridical.render.markup import Markup, escape, join, tag, whole
from veridical.render.outcomes import audit, verdict
from veridical.render.plot import explanation, explanations
from veridical.render.summaries import groups, membership, pick
from veridical.render.words import plain
from veridical.summarize.records import Grouping, Membership, Pick

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Drawn: TypeAlias = Callable[[Any, Look], Sequence[Block]]

KINDS: dict[type, Drawn] = {
    Explanation: explanation,
    Explanations: explanations,
    Pick: pick,
    Grouping: groups,
    Membership: membership,
    Report: report,
    Verdict: verdict,
    Audit: audit,
    Difference: contrast,
    Page: lambda page, look: page_blocks(page, look),
}
DPI = 200  # of a PNG
FONT = "sans-serif"  # what matplotlib brings, or whatever a browser has instead
MOST_TOLD = 20_000  # characters of the description of an SVG


def page_blocks(page: Page, look: Look) -> list[Block]:
    """Every section, one under the other."""
    shown = [
        paragraph(plain(page.title, 200), look, Ink(14.0, bold=True)),
        paragraph(plain(page.lead, 2000), look),
    ]
    for heading, record, text in page.sections:
        shown += [paragraph(plain(heading, 200), look, HEAD), paragraph(plain(text, 2000), look)]
        shown += KINDS[type(record)](record, look)
    return shown


def plot(record: Any, ax: Axes | None = None) -> Axes:
    """The record inside these axes, or on a new figure; it is not shown, and the current figure stays current."""
    draw = KINDS[type(record)]
    return show(lambda look: draw(record, look), ax)


def write(record: Any, form: str, stream: BinaryIO) -> None:
    """The record as PNG, PDF or SVG: the same bytes each time, whatever the style."""
    draw, out = KINDS[type(record)], io.BytesIO()
    face = face_of(FONT, "" if form == "svg" else MISSING)
    title = f"{type(record).__name__}: {plain(repr(record).splitlines()[0], 120)}"
    pdf = {"Title": title, "Creator": "veridical", "CreationDate": None}
    known: dict[str, dict[str, Any]] = {"pdf": pdf, "svg": {"Date": None}}
    with bare_figure(lambda look: draw(record, look), face) as figure, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure.savefig(out, format=form, dpi=DPI, metadata=known.get(form, {}), transparent=form == "svg")
    content = out.getvalue()
    stream.write(content if form != "svg" else _told(content.decode(), title, record).encode())


def _told(svg: str, title: str, record: Any) -> str:
    """An SVG that readers of screens can tell, and that changes its colors on a dark ground."""
    start = svg.index("viewBox")  # of the outermost element
    end = svg.index(">", start) + 1
    names = 'role="img" aria-labelledby="vd-title vd-text"'
    style = Markup(f"@media (prefers-color-scheme: dark) {{ {_dark()} }}")
    inner = join(
        tag("title", {"id": "vd-title"}, escape(title)),
        tag("desc", {"id": "vd-text"}, whole(repr(record)[:MOST_TOLD])),
        tag("style", {}, style),
    )
    return f"{svg[:start]}{names} {svg[start:end]}\n{inner}{svg[end:]}"


def _dark() -> str:
    """Rules that give every color its counterpart on a dark ground."""
    both = [(getattr(LIGHT, f.name), getattr(DARK, f.name)) for f in fields(LIGHT)]
    changed = [(light, dark) for light, dark in both if light != dark]
    rules = [
        f'[style*="{kind}: {light}"], [{kind}="{light}"] {{ {kind}: {dark} !important }}'
        for light, dark in changed
        for kind in ("fill", "stroke")
    ]
    return " ".join(rules)
