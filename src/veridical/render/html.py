"""Explanations as HTML: the only module that writes markup, and where foreign text is escaped.

No script, nothing from outside, nothing that only a color or a hover tells.
A fragment takes its ink from the notebook around it, so it reads well in any theme;
a page brings its own, light and dark.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from veridical.records import Explanation, Explanations, Verdict
from veridical.render.terminal import (
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
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """
.vd{--vd-up:#2f7fc1;--vd-down:#d9730d;--vd-yes:#0f8a6d;--vd-no:#cf3a63;--vd-line:rgba(128,128,128,.28);
--vd-tint:rgba(128,128,128,.09);color:var(--jp-content-font-color1,var(--vscode-editor-foreground,inherit));
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
max-width:860px;font-variant-numeric:tabular-nums;text-align:left;overflow-wrap:anywhere}
.vd *{box-sizing:border-box}
.vd p,.vd h3,.vd dl,.vd dd,.vd dt,.vd ol,.vd ul{margin:0;padding:0}
.vd .vd-say{display:flex;flex-wrap:wrap;align-items:baseline;gap:.15em 1.6em;margin:0 0 .9em}
.vd h3{font-size:1.2em;font-weight:650;line-height:1.3;letter-spacing:-.01em}
.vd .vd-say span{opacity:.75}
.vd .vd-say b{font-weight:650}
.vd .vd-verdict{display:flex;gap:.85em;align-items:flex-start;padding:.8em 1em;margin:0 0 1.2em;
border:1px solid;border-left-width:5px;border-radius:8px}
.vd .vd-verdict.vd-yes{border-color:var(--vd-yes);background:rgba(15,138,109,.1)}
.vd .vd-verdict.vd-no{border-color:var(--vd-no);background:rgba(207,58,99,.1)}
.vd .vd-mark{flex:none;width:1.55em;height:1.55em;margin-top:.05em;border-radius:50%;color:#fff;
font-weight:700;line-height:1.55em;text-align:center}
.vd .vd-yes .vd-mark{background:var(--vd-yes)}
.vd .vd-no .vd-mark{background:var(--vd-no)}
.vd .vd-verdict strong{display:block;font-weight:650}
.vd table{width:100%;margin:0;border-collapse:collapse;table-layout:fixed;font-size:1em;border:0}
.vd thead th{font-size:.8em;font-weight:500;opacity:.7;padding:0 0 .35em}
.vd thead tr{border:0}
.vd tbody tr,.vd tbody tr:nth-child(n),.vd tbody tr:hover{background:none;border:0;
border-top:1px solid var(--vd-line)}
.vd th,.vd td{border:0;padding:0;text-align:left;vertical-align:middle;white-space:normal;max-width:none;
color:inherit;background:none}
.vd tbody th{font-weight:450;padding:.35em 1em .35em 0}
.vd .vd-w,.vd .vd-i{text-align:right;white-space:nowrap}
.vd td.vd-w{font-weight:600}
.vd .vd-i{opacity:.75;font-size:.87em}
.vd col.vd-cn{width:32%}.vd col.vd-cw{width:5.6em}.vd col.vd-ci{width:10.8em}
.vd svg{display:block;width:100%;height:32px;overflow:visible}
.vd .vd-axis{stroke:currentColor;stroke-opacity:.45}
.vd .vd-whisk{stroke:currentColor;stroke-width:1.6;fill:none}
.vd svg *{vector-effect:non-scaling-stroke}
.vd .vd-up{fill:var(--vd-up)}.vd .vd-down{fill:var(--vd-down)}
.vd .vd-key{display:flex;flex-wrap:wrap;gap:.2em 1.4em;margin:.7em 0 1.3em;font-size:.84em}
.vd .vd-key i{display:inline-block;width:.8em;height:.8em;margin-right:.45em;border-radius:2px}
.vd dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:1em 1.6em;
padding:.95em 1.1em;background:var(--vd-tint);border-radius:8px}
.vd dt{font-size:.8em;font-weight:500;opacity:.75}
.vd dd{font-size:1.12em;font-weight:600;line-height:1.35}
.vd dd small{display:block;font-size:.74em;font-weight:400;opacity:.8}
.vd dl+table{margin:1.6em 0 0}
.vd .vd-notes{list-style:none;margin:1.3em 0 0;padding-left:1em;font-size:.9em;
border-left:2px solid var(--vd-line)}
.vd .vd-notes li{margin:.35em 0}
.vd .vd-path{display:flex;flex-wrap:wrap;gap:.4em;list-style:none;margin:.35em 0 0}
.vd .vd-path li{margin:0;padding:.1em .65em;border:1px solid var(--vd-line);border-radius:99px}
.vd details{border-top:1px solid var(--vd-line)}
.vd details>div{padding:.7em 0 2em}
.vd summary{cursor:pointer;padding:.6em .2em}
.vd summary .vd-mark{display:inline-block;width:1.35em;height:1.35em;line-height:1.35em;margin:0 .6em 0 .3em;
font-size:.82em}
.vd summary small{opacity:.75;margin-left:.7em;font-size:.87em}
.vd .vd-list{margin:1.6em 0 0}
@media(max-width:620px){.vd thead{display:none}.vd table,.vd tbody{display:block}
.vd tbody tr{display:grid;grid-template-columns:1fr auto;padding:.45em 0}
.vd tbody th{padding:0 .8em 0 0}.vd .vd-b{grid-column:1/3;grid-row:2}
.vd .vd-i{grid-column:1/3;grid-row:3}.vd svg{height:24px}.vd colgroup{display:none}}
@media print{.vd{max-width:none;print-color-adjust:exact;-webkit-print-color-adjust:exact}
.vd tr,.vd .vd-verdict,.vd dl{break-inside:avoid}}
"""
PAGE_STYLE = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1d2126}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:900px;margin:0 auto;padding:56px 20px 72px}
h1{margin:0;font-size:2em;font-weight:700;line-height:1.2;letter-spacing:-.02em;overflow-wrap:anywhere}
h2{margin:0 0 1em;font-size:1.25em;font-weight:650;overflow-wrap:anywhere}
.lead{max-width:65ch;margin:.7em 0 0;font-size:1.08em;opacity:.8;overflow-wrap:anywhere}
section{margin:2.6em 0 0}
section+section{padding-top:2.6em;border-top:1px solid rgba(128,128,128,.28)}
.vd{max-width:none}
footer{margin:4em 0 0;font-size:.84em;opacity:.65}
@media(max-width:620px){main{padding:28px 16px 40px}h1{font-size:1.55em}}
@media(prefers-color-scheme:dark){:root{--paper:#15181c;--ink:#e4e7ea}
.vd{--vd-up:#58a6e6;--vd-down:#f0923e}}
@media print{:root{--paper:#fff;--ink:#000}main{padding:0}}
"""
KEY = (
    '<p class="vd-key"><span><i style="background:var(--vd-up)"></i>right: raises the output</span>'
    '<span><i style="background:var(--vd-down)"></i>left: lowers it</span>'
    "<span>├─┤ 95 % interval of the sampling error</span></p>"
)


def escape(text: object, limit: int = 100) -> str:
    """Foreign text made fit for markup; nothing foreign enters a page another way."""
    return html.escape(plain(text, limit), quote=True)


def fragment(explanation: Explanation) -> str:
    """One explanation, to be shown inside another page such as a notebook."""
    return f'<div class="vd"><style>{STYLE}</style>{_explanation(explanation)}</div>'


def list_fragment(explanations: Explanations) -> str:
    """Many explanations: what they have in common first, then each to unfold."""
    return f'<div class="vd"><style>{STYLE}</style>{_explanations(explanations)}</div>'


def page(title: str, sections: Sequence[tuple[str, Explanation | Explanations]], lead: str = "") -> str:
    """A whole page that stands alone, with a heading for every section that has one."""
    body = "".join(_section(heading, shown) for heading, shown in sections)
    lead_line = f'<p class="lead">{escape(lead, 2000)}</p>' if lead else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{STYLE}{PAGE_STYLE}</style></head>\n"
        f"<body><main><header><h1>{escape(title)}</h1>{lead_line}</header>{body}"
        "<footer>Made with veridical. Intervals tell how far sampling can be off, not how far the model "
        "can.</footer></main></body></html>\n"
    )


def _section(heading: str, shown: Explanation | Explanations) -> str:
    inner = _explanations(shown) if isinstance(shown, Explanations) else _explanation(shown)
    title = f"<h2>{escape(heading)}</h2>" if heading else ""
    return f'\n<section>{title}<div class="vd">{inner}</div></section>'


def _explanation(e: Explanation, most: int = MOST_PARTS) -> str:
    said = (
        f'<div class="vd-say"><h3>Target <bdi>{escape(e.target, 80)}</bdi></h3>'
        f"<span>the model says <b>{_minus(number(e.prediction))}</b></span>"
        f"<span>the surrogate says <b>{_minus(number(e.local_prediction))}</b></span></div>"
    )
    chosen = ranked(e, most)
    chart = _chart(e, chosen) + _facts(e) if chosen else ""
    return said + _verdict(e.verdict) + chart + _notes(e, chosen)


def _verdict(verdict: Verdict) -> str:
    kind, mark, words = ("yes", "✓", "Believe it") if verdict.passed else ("no", "✗", "Read with care")
    return (
        f'<div class="vd-verdict vd-{kind}"><span class="vd-mark" aria-hidden="true">{mark}</span>'
        f"<p><strong>{words}</strong>{escape(verdict.sentence, 800)}</p></div>"
    )


def _chart(e: Explanation, chosen: Sequence[int]) -> str:
    """A table whose second column is drawn, so that bars and numbers stay side by side."""
    show, known, span = decimals(e.weights[list(chosen)]), measured(e), _span(e, chosen)
    rows = []
    for j in chosen:
        low, high = (_minus(show(end)) for end in e.intervals[j])
        weight, interval = _minus(show(e.weights[j])), f"{low} to {high}" if known[j] else "not measured"
        label = f"{escape(e.parts[j].name, 40)}: weight {weight}, 95 % interval {interval}"
        ends = (float(e.intervals[j, 0]), float(e.intervals[j, 1])) if known[j] else None
        bar = _bar(float(e.weights[j]), ends, span, label)
        rows.append(_row(e.parts[j].name, bar, (weight, interval)))
    return _table(("Part", "Effect on the output", "Weight", "95 % interval"), rows) + KEY


def _row(name: str, bar: str, numbers: tuple[str, str]) -> str:
    return (
        f'<tr><th scope="row"><bdi>{escape(name)}</bdi></th><td class="vd-b">{bar}</td>'
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
        ("Fidelity", _minus(number(d.fidelity)), "median held-out R²"),
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
        f"</span>Row {row}<small>target {escape(e.target, 40)}, model {_minus(number(e.prediction))}: "
        f"{escape(top)}</small></summary><div>{_explanation(e, MOST_LISTED)}</div></details>"
    )


def _minus(text: str) -> str:
    return text.replace("-", "−")
