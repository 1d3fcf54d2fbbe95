"""Verdicts of checks, audits and reports of metrics as blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from veridical.checks.audits import CHECKS, METHOD, MODEL, OUTCOMES, Audit, Result
from veridical.display import blocks, media
from veridical.display.explanations import LISTED, listed, target_of, top_names, verdict_words
from veridical.display.marks import UNMARKED
from veridical.display.words import count, first, listing, number, percent, plain, sentence
from veridical.metrics.reports import EASY, Comparison, Curve, Example, Metric, Report, Score
from veridical.records import LABELS, Explanation, Measured, Verdict, View

WORDS = {key: blocks.LABELS.get(key, key).capitalize() for key in OUTCOMES}
OBSERVED, EXPECTED, LIMIT = "observed", "expected", "limit"
BASELINE_WORDS = {"another": "another instance"}  # of null baselines whose keys say too little
MOST_ROWS = 12  # of the data that are named
MOST_EVIDENCE, MOST_VIEWS = 6, 3  # explanations shown, and of them with their picture; one where all is well


# ---- verdicts of checks


def verdict(v: Verdict, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """Which check of which method, what it found, and the numbers that rests on."""
    about = " · ".join(plain(word, 80) for word in (v.check, v.method) if word)
    asks = question_of(v.check)
    said = ((asks, ""),) if asks else ()
    return (
        *([blocks.Headline(("", about), said, about)] if about else []),
        verdict_words(v),
        *(grounds(v, limits) if v.label not in LABELS else ()),
    )


def grounds(v: Verdict, limits: blocks.Limits, views: int = MOST_VIEWS) -> tuple[blocks.Block, ...]:
    """Numbers beside their null rows, then rows, notes and explanations."""
    own = (v.measured or OBSERVED, v.observed, *v.interval, 0, v.nulls)
    every = [own, *((m.name, m.value, m.low, m.high, m.n, m.nulls) for m in v.measures if _is_new(m, v))]
    want = LIMIT if v.better else EXPECTED
    drawn, left = measures(every[: limits.measures], v.expected, limits, want), len(every) - limits.measures
    asides = [f"And {count(left, 'more line')}, not drawn."] if left > 0 else []
    if v.rows:
        some, more = ", ".join(map(str, v.rows[:MOST_ROWS])), len(v.rows) - MOST_ROWS
        which = f"Rows {some} and {more:,} more" if more > 0 else f"Rows {some}"
        asides.append(f"{which} of the data, the worst first." if len(v.rows) > 1 else f"Row {some} of the data.")
    told = f"Evidence: {count(len(v.evidence), 'explanation')}"
    asides += [told] if v.evidence and not limits.folds else []
    signs = ("value", *([want] if math.isfinite(v.expected) else []), *([v.better] if v.better else []))
    signs = (*signs, *(["nulls"] if drawn.nulls else []))
    shown = (drawn, blocks.Legend(signs), blocks.Notes(first(v.notes, 2 * limits.notes), tuple(asides)))
    if not v.evidence or not limits.folds:
        return shown
    items = list[blocks.Block]()
    for i, e in enumerate(v.evidence[:MOST_EVIDENCE]):
        said = f"target {plain(target_of(e), 40)}: {top_names(e)}"
        items.append(
            blocks.Details((f"Explanation {i + 1}",), said, listed(e, limits, LISTED if i < views else 0))
        )
    left = len(v.evidence) - MOST_EVIDENCE
    items += [blocks.Text((f"And {left:,} more, not drawn.",), "key")] if left > 0 else []
    return *shown, blocks.Details((told,), "", tuple(items), kind="evidence")


def _is_new(m: Measured, v: Verdict) -> bool:
    """Whether a line says more than that of what was observed."""
    return (m.name, m.value) != (v.measured, v.observed)


def measures(
    found: Sequence[Any], expected: float, limits: blocks.Limits, want_name: str = EXPECTED
) -> blocks.Measures:
    """Lines of (name, value, low, high, n, null rows), the first beside what was expected, on one scale if it can be."""
    nulls = tuple(dict.fromkeys(name for *_, own in found for name in own))
    every = [x for _, value, low, high, _, own in found for x in (value, low, high, *own.values(), expected)]
    low, high = min(filter(math.isfinite, every), default=0.0), max(filter(math.isfinite, every), default=1.0)
    shared = ((-1.0 if low < -0.25 else min(low, 0.0)), 1.0) if low >= -1.0 and high <= 1.0 else None
    ranged, counted = any(math.isfinite(line[2] + line[3]) for line in found), any(line[4] for line in found)
    told = tuple(BASELINE_WORDS.get(name, name) for name in nulls)
    heads = ("Value", *(["95 % interval"] if ranged else []), *(["n"] if counted else []), *told)
    lines = list[blocks.MeasureLine]()
    for name, value, low, high, n, own in found:
        ends = (low, high) if math.isfinite(low + high) else None
        gray, want = tuple(own.get(null, math.nan) for null in nulls), math.nan if lines else expected
        span = shared or blocks.span_of((value, *(ends or ()), *gray, want))
        texts = [limits.signed(brief(value))]
        texts += [limits.ends(brief, low, high) if ends else ""] if ranged else []
        texts += [f"{n:,}" if n else ""] if counted else []
        texts += [limits.signed(brief(own[null])) if null in own else "" for null in nulls]
        dot = blocks.Dot(value, ends, span, gray, want) if math.isfinite(value) else None
        lines.append(blocks.MeasureLine(name, dot, tuple(texts)))
        if math.isfinite(want):
            beside = ("",) * (len(heads) - 1)
            lines.append(blocks.MeasureLine(want_name, None, (limits.signed(brief(expected)), *beside)))
    return blocks.Measures(heads, tuple(lines), told)


def brief(value: float) -> str:
    """A number to three decimals, or as few digits as say it, or a dash."""
    if not math.isfinite(value):
        return "–"
    value = value or 0.0  # no sign before nothing
    if value and not 0.0005 <= abs(value) < 1e6:
        return f"{value:.1e}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"


def _short_words(v: Verdict) -> str:
    """What the sentence rests on, in one line."""
    low, high = v.interval
    ranged = math.isfinite(low) and math.isfinite(high)
    said = f"{v.measured or OBSERVED}{':' if v.measured else ''} {brief(v.observed)}"
    said += f" [{brief(low)}, {brief(high)}]" if ranged else ""
    said += f"; {v.better} is better" if v.better else ""
    said += f", {LIMIT if v.better else EXPECTED} {brief(v.expected)}" if math.isfinite(v.expected) else ""
    nulls = ", ".join(f"{plain(BASELINE_WORDS.get(k, k), 30)} {brief(value)}" for k, value in v.nulls.items())
    return said + (f"; baselines: {nulls}" if nulls else "")


# ---- audits

HEADS = {MODEL: "The model and its data", METHOD: "Its explanations"}
MOST_OPEN, MOST_RESULTS = 8, 200  # results that stand open, and that are told


def audit(a: Audit, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """The outcome of each part, one line a check, and what each rests on to be opened; what failed comes first."""
    code = a.exit_code
    outcome = (
        "failed" if code == 1 else "skipped" if code == 2 else "unclear" if a.outcome == "unclear" else "passed"
    )
    title, parts = title_of(a), [(name, a.part(name)) for name in (MODEL, METHOD)]
    cost = f"the model was asked about {count(a.n_calls, 'input')}, in {time_words(a.seconds)}"
    return (
        blocks.Headline(("", title), (), title),
        blocks.Judgment(outcome, a.sentence, word="not checked" if outcome == "skipped" else ""),
        blocks.Facts(_audit_facts(a), (cost,)),
        blocks.Notes(first(a.notes, 2 * limits.notes)),
        *(_outcomes(own, HEADS[name]) for name, own in parts if own.results),
        *(
            _results(HEADS[name], own, limits)
            for name, own in parts
            if any(r.outcome != "skipped" for r in own.results)
        ),
        *_left_out([r for r in a.results if r.outcome == "skipped"], limits),
    )


def title_of(a: Audit) -> str:
    return plain(a.title, 200).strip() or count(len(a.results), "check")


def question_of(check: str) -> str:
    """What a check asks, in one line; nothing for a check of the caller's own."""
    known = getattr(CHECKS.get(check), "__doc__", None) or ""
    return known.strip().split("\n")[0].replace("``", "").replace("subject.", "the ")


def said_of(r: Result) -> str:
    """The sentence of the verdict, or why there is none."""
    text = plain(r.reason if r.verdict is None else r.verdict.sentence, 1000).strip()
    return text or ("No reason was given." if r.verdict is None else "The check says no more than that.")


def time_words(seconds: float) -> str:
    """A time as people say it."""
    if not seconds < 1e9:
        return "unknown time"
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60} s"


def _audit_facts(a: Audit) -> tuple[blocks.Fact, ...]:
    """How many checks had which outcome, and what they cost."""
    counts = a.counts
    errors = [("Errors", f"{counts['error']:,}", "could not be finished")] if counts["error"] else []
    unclear = (
        [("Not clear", f"{counts['unclear']:,}", "may be either; give more data")] if counts["unclear"] else []
    )
    return (
        ("Passed", f"{counts['passed']:,}", "nothing wrong was found"),
        ("Failed", f"{counts['failed']:,}", "something is wrong"),
        *unclear,
        *errors,
        ("Skipped", f"{counts['skipped']:,}", "need more than was given, or do not fit"),
        ("Model calls", f"{a.n_calls:,}", "inputs it was asked about"),
        ("Time", time_words(a.seconds), "for all checks together"),
    )


def _outcomes(a: Audit, label: str) -> blocks.Table:
    """A line a check, one column per method; one column where the model itself was checked."""
    checks = list(dict.fromkeys(r.check for r in a.results))[:MOST_RESULTS]
    methods = list(dict.fromkeys(r.method for r in a.results))
    found, rows = {(r.check, r.method): r.outcome for r in a.results}, []
    for check in checks:
        outcomes = (found.get((check, method), "") for method in methods)
        cells = (blocks.Cell(WORDS.get(outcome, ""), outcome) for outcome in outcomes)
        rows.append((blocks.Cell(check, small=question_of(check)), *cells))
    heads = (label, *(method or "Outcome" for method in methods))
    return blocks.Table(f"Outcomes: {label.lower()}", heads, tuple(rows), "outcomes")


def _results(head: str, a: Audit, limits: blocks.Limits) -> blocks.Section:
    """What was found of one part, what failed first."""
    every = [
        several for outcome in OUTCOMES[:-1] for several in _alike([r for r in a.results if r.outcome == outcome])
    ]
    shown, left = every[:MOST_RESULTS], len(every) - MOST_RESULTS
    rows = [_result(own, limits, own[0].outcome in OUTCOMES[:2] and i < MOST_OPEN) for i, own in enumerate(shown)]
    more = (blocks.Text((f"And {count(left, 'more result')}.",), "key"),) if left > 0 else ()
    return blocks.Section(head, (*rows, *more))


def _left_out(some: Sequence[Result], limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """One line, to be opened, of what was not run, and why."""
    if not some:
        return ()
    every = _alike(some)
    names = [
        f"{r.check}{f' by {listing([each.method for each in own])}' if r.method else ''}"
        for own in every
        for r in own[:1]
    ]
    reasons = tuple((name, f": {said_of(own[0])}") for name, own in zip(names, every, strict=True))[:MOST_RESULTS]
    title = f"Not run: {count(len(some), 'check')} that need more than was given, or do not fit"
    if not limits.folds:
        said = "; ".join(f"{name} ({plain(reason[2:], 300)})" for name, reason in reasons)
        return (blocks.Notes((f"Not run: {said}.",)),)
    return (blocks.Details((title,), listing(names), (blocks.Findings(reasons),), kind="folded"),)


def _alike(some: Sequence[Result]) -> list[list[Result]]:
    """Results together that say the same of several methods: why a check did not run, or what it found."""
    found: dict[Any, list[Result]] = {}
    for r in some:
        v = r.verdict
        says = r.reason if v is None else (v.sentence, repr(v.observed), repr(v.expected), repr(v.interval))
        found.setdefault((r.check, says), []).append(r)
    return list(found.values())


def _result(several: Sequence[Result], limits: blocks.Limits, opened: bool) -> blocks.Details:
    """One line, to be opened where there is more to see; it may say the same of several methods."""
    r, methods = several[0], listing([each.method for each in several if each.method])
    views, inner = MOST_VIEWS if r.outcome == "failed" else 1, list[blocks.Block]()
    for each in several if limits.folds else ():
        by = blocks.Text(("By ", each.method), "by")
        inner += [by] if len(several) > 1 and each.verdict is not None else []
        inner += grounds(each.verdict, limits, views) if each.verdict is not None else ()
    title = ("", r.check, *((" · ", methods) if methods else ()))
    lines = (_short_words(r.verdict),) if r.verdict is not None else ()
    return blocks.Details(title, said_of(r), tuple(inner), r.outcome, "line", opened, lines)


# ---- reports

LONG_NUMBER = 9  # characters of a number before it is written with an exponent
MORE = "{} more metrics, with curves and examples: .save('report.html'); all numbers: .to_frame()"
PAIRS = ("Metric", "First", "Second", "First − second", "95 % interval", "p, adjusted")
MOST_PAIRS = 60  # differences drawn of one family
MOST_LINES = 16  # methods in one chart
SETTLED = 0.995  # of all lines, from which on the rest of a chart shows nothing new
TOLD = (1, 3, 5)  # k that the words of a curve name
SAYS = "Share of decisions that are the wrong one if only the k heaviest parts are changed, for k from 0 on"


def report(r: Report, limits: blocks.Limits) -> tuple[blocks.Block, ...]:
    """What was compared and found, then every family: sentences or curves, table, and what its metrics measure.

    Where nothing can be opened, known causes have one table: the first metric of each.
    """
    families = dict.fromkeys(m.family for m in r.metrics)
    names = {family: [m for m in r.metrics if m.family == family] for family in families}
    compact = bool(r.curves) and not limits.folds
    every = [] if compact else [scores(r, family, some, limits) for family, some in names.items()]
    sheets = [_compact(r, names, limits)] if compact else every
    shown = sum(len(sheet.columns) for sheet in sheets)
    signs = tuple(dict.fromkeys(sign for sheet in sheets for sign in sheet.signs))
    some = r.examples if limits.folds else ()
    examples = tuple(_example(each, limits, i < MOST_VIEWS) for i, each in enumerate(some))
    return (
        blocks.Headline(("", headline(r)), (), headline(r)),
        blocks.Facts(_report_facts(r), (f"the model was asked about {r.n_calls:,} inputs",)),
        blocks.Findings(tuple(_about(m, s) for m, s in zip(r.methods, r.findings, strict=False)), "found"),
        blocks.Notes(first(r.notes, 2 * limits.notes)),
        *([_curves(r, list(dict.fromkeys(c.cause for c in r.curves)))] if compact else []),
        *(_family(sheet, r, compact, limits) for sheet in sheets),
        blocks.Legend(signs),
        *([blocks.Text((MORE.format(len(r.metrics) - shown),))] if compact else []),
        *([blocks.Section("Examples", examples)] if examples else []),
    )


def headline(r: Report) -> str:
    """What is compared, and how."""
    title = (
        plain(r.title, 200).strip() or f"{count(len(r.methods), 'method')} on {count(r.n_instances, 'instance')}"
    )
    beside = [f"{count(len(r.references), 'row')} that know the causes"] if r.references else []
    beside.append(count(len(r.nulls), "null row"))
    return f"{title}, by {count(len(r.metrics), 'metric')}, beside {' and '.join(beside)}"


def _report_facts(r: Report) -> tuple[blocks.Fact, ...]:
    """How much was compared."""
    known = ("Rows that know", f"{len(r.references):,}", "what was changed, as no method may")
    return (
        ("Methods", f"{len(r.methods):,}", "in the order they were given"),
        *((known,) if r.references else ()),
        ("Null rows", f"{len(r.nulls):,}", "what knowing nothing gets"),
        ("Instances", f"{r.n_instances:,}", "the same for every method"),
        ("Model calls", f"{r.n_calls:,}", "inputs the model was asked about"),
    )


def _about(name: str, said: str) -> tuple[str, str]:
    """What is said, apart from whom it is about where it begins with that."""
    rest = said.removeprefix(name)
    return (name, rest) if rest != said else ("", said)


def scores(r: Report, family: str, metrics: Sequence[Metric], limits: blocks.Limits) -> blocks.Scores:
    """The table of some metrics."""
    known = {s.method for s in r.scores if math.isfinite(s.mean) and s.metric in {m.name for m in metrics}}
    references = [row for row in r.references if row in known]
    rows = (*r.methods, *references, *(row for row in r.nulls if row in known or not r.curves))
    notes, columns, causes = dict[str, int](), [], {c.cause for c in r.curves}
    for metric in metrics:
        own, cells = r.alone(metric.name), []
        best, found = best_of(own, metric.name), [own.score(metric.name, name) for name in rows]
        show, span, null = figures(found), _span_of(found), _best_null(metric, found, len(r.methods))
        for name, score in zip(rows, found, strict=True):
            note, there = note_of(score, r.n_instances), math.isfinite(score.mean)
            at = notes.setdefault(note, len(notes) + 1) if note else 0
            ends = (score.low, score.high) if there and math.isfinite(score.low + score.high) else None
            dot = blocks.Dot(score.mean, ends, span, (null,)) if there else None
            texts = limits.signed(show(score.mean)) if there else "–", limits.ends(show, *ends) if ends else ""
            level = name in r.methods and bool(own.no_better_than(metric.name, name)) and there
            cells.append(blocks.ScoreCell(name, dot, texts, score.null, name in best, level, at, score.reason))
        title, _, cause = metric.name.rpartition(" (")
        short = title if cause.removesuffix(")") in causes else metric.name
        column = (metric.name, short, metric.better, metric.sentence, tuple(cells), show)
        columns.append(blocks.ScoreColumn(*column))
    real = len(r.methods) + len(references)
    return blocks.Scores(family, rows, len(r.methods), real, tuple(columns), tuple(notes))


def _span_of(found: Sequence[Score]) -> blocks.Span:
    """An axis that holds all means, and intervals that are not absurdly long."""
    means = [s.mean for s in found if math.isfinite(s.mean)]
    low, high = min(means, default=0.0), max(means, default=1.0)
    reach = (high - low) or abs(high) or 1.0
    ends = [end for s in found for end in (s.low, s.high) if low - reach <= end <= high + reach]
    return min([low, *ends]), max([high, *ends])


def _compact(r: Report, names: dict[str, list[Metric]], limits: blocks.Limits) -> blocks.Scores:
    """The first metric of every kind of cause, side by side."""
    chosen = [names[cause][0] for cause in dict.fromkeys(c.cause for c in r.curves) if cause in names]
    sheet = scores(r, chosen[0].name.rpartition(" (")[0] or chosen[0].name, chosen, limits)
    columns = (replace(c, title=m.family) for c, m in zip(sheet.columns, chosen, strict=True))
    return replace(sheet, columns=tuple(columns))


def _best_null(metric: Metric, found: Sequence[Score], n_methods: int) -> float:
    """The best null row that means something."""
    easy, best = EASY.get(metric.family, ()), min if metric.better == "lower" else max
    known = [s for s in found[n_methods:] if math.isfinite(s.mean) and s.null]
    return best((s.mean for s in known if s.method.partition(" ")[0] not in easy), default=math.nan)


def note_of(score: Score, n_instances: int) -> str:
    """Why a number is missing or rests on less than all instances, or nothing."""
    reason = plain(score.reason, 300)
    if not math.isfinite(score.mean):
        return reason or "not measured, and no reason was given"
    if score.n < n_instances:
        return f"on {score.n:,} of {count(n_instances, 'instance')}" + (f": {reason}" if reason else "")
    missing = not (math.isfinite(score.low) and math.isfinite(score.high))
    return reason or ("no interval" if missing else "")


def best_of(r: Report, metric: str) -> tuple[str, ...]:
    """The best method and all that cannot be told from it; none where nothing was compared."""
    some = any(math.isfinite(c.p) for c in r.comparisons if c.metric == metric)
    known = sum(math.isfinite(r.score(metric, m).mean) for m in r.methods)
    return r.best(metric) if some and known > 1 else ()


def figures(found: Iterable[Score]) -> Callable[[float], str]:
    """How a column writes its numbers: thousandths where methods score up to ten, or an exponent."""
    known = [s for s in found if math.isfinite(s.mean)]
    sizes = [abs(s.mean) for s in known if not s.null] or [abs(s.mean) for s in known]
    power = math.floor(math.log10(max(sizes))) if sizes and max(sizes) > 0 else 0
    places = 2 - power if power < 0 else (3, 1, 1)[power] if power < 3 else 0

    def written(value: float) -> str:
        text = f"{value:.{places}f}" if places <= LONG_NUMBER else f"{value:.1e}"
        text = text.lstrip("-") if float(text) == 0 else text
        return text if len(text) <= LONG_NUMBER else f"{value:.1e}"

    return written


def p_words(p: float) -> str:
    """A p-value, never as zero."""
    return "–" if not math.isfinite(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _family(sheet: blocks.Scores, r: Report, compact: bool, limits: blocks.Limits) -> blocks.Section:
    """The metrics of one family."""
    if compact:
        return blocks.Section(sheet.family, (blocks.Findings((("", sheet.columns[0].sentence),)), sheet))
    known, curves = {m.name: m for m in r.metrics}, _curves(r, [sheet.family])
    told = blocks.Findings(tuple(_about(c.name, r.sentence(known[c.name])) for c in sheet.columns))
    measures = blocks.Findings(tuple((c.name, f" ({c.better} is better): {c.sentence}") for c in sheet.columns))
    folded: list[tuple[str, tuple[blocks.Block, ...]]]
    folded = [("What the numbers say, one by one", (told,))] if r.findings else []
    folded += [("What these metrics measure", (measures,)), *_differences(sheet, r)]
    below = (blocks.Details((title,), "", inner, kind="folded") for title, inner in folded if limits.folds)
    above: tuple[blocks.Block, ...] = (told,) if not r.findings else (curves,) if curves.panels else ()
    return blocks.Section(sentence(sheet.family), (*above, sheet, *below))


def _differences(sheet: blocks.Scores, r: Report) -> list[tuple[str, tuple[blocks.Block, ...]]]:
    """Methods against one another, instance by instance."""
    columns, methods = {c.name: c for c in sheet.columns}, set(sheet.rows[: sheet.n_methods])
    pairs = [c for c in r.comparisons if c.metric in columns and {c.first, c.second} <= methods]
    if not pairs:
        return []
    rows = tuple(_pair(c, columns[c.metric].show) for c in pairs[:MOST_PAIRS])
    left, label = len(pairs) - len(rows), "Differences between methods"
    more = [blocks.Text((f"And {count(left, 'more pair')}, not drawn.",), "key")] if left else []
    return [(f"{label}, on the same instances", (blocks.Table(label, PAIRS, rows, "pairs"), *more))]


def _pair(c: Comparison, show: Callable[[float], str]) -> tuple[blocks.Cell, ...]:
    ranged = math.isfinite(c.low) and math.isfinite(c.high)
    difference = show(c.difference).replace("-", "−") if math.isfinite(c.difference) else "–"
    interval = f"{show(c.low)} to {show(c.high)}".replace("-", "−") if ranged else "–"
    numbers = (blocks.Cell(text, bold=c.p < 0.05) for text in (difference, interval, p_words(c.p)))
    return blocks.Cell(c.metric), blocks.Cell(c.first), blocks.Cell(c.second), *numbers


def _curves(r: Report, causes: Sequence[str]) -> blocks.Curves:
    """The curves of some kinds of cause: methods, rows that know what was changed, and null rows."""
    panels, kinds = [], (("method", r.methods[:MOST_LINES]), ("known", r.references), ("null", r.nulls))
    for cause in causes:
        found = {c.method: c for c in r.curves if c.cause == cause and np.isfinite(c.rate).any()}
        every = [
            (kind, at, found[name]) for kind, names in kinds for at, name in enumerate(names) if name in found
        ]
        lines = (blocks.CurveLine(c.method, kind, at, c.rate, c.low, c.high, _words(c)) for kind, at, c in every)
        panels += [blocks.CurvePanel(cause, tuple(lines), _reach(list(found.values())))] if every else []
    return blocks.Curves(SAYS, tuple(panels))


def _reach(curves: Sequence[Curve]) -> int:
    """Parts up to which there is something to see, and at least a few."""
    most = max(len(c.rate) - 1 for c in curves)
    lowest = np.nanmin([c.rate for c in curves if len(c.rate) == most + 1], axis=0)
    settled = np.flatnonzero(lowest < SETTLED)
    return int(min(max(settled[-1] + 1 if settled.size else 1, 5), most)) if most else 1


def _words(curve: Curve) -> str:
    told = [f"{percent(float(curve.rate[k]))} with {k}" for k in TOLD if k < len(curve.rate)]
    return f"{plain(curve.method, 60)} flips {', '.join(told)}"


def _example(e: Example, limits: blocks.Limits, with_views: bool) -> blocks.Details:
    """Before and after a change, then each method's explanation of what came after, to be opened."""
    change = f"{limits.signed(number(e.before))} to {limits.signed(number(e.after))}"
    label, wrong = plain(e.label, 40), plain(e.wanted, 40)
    what = f"Decided {label}; after the change {wrong}, whose probability went from {change}."
    where = f" Changed most: {listing(e.parts)}." if e.parts else ""
    inner = list[blocks.Block]()
    original = e.original if e.original is None or e.sounds is None else _silent(e.original)
    if original is not None and with_views:
        inner += [blocks.Text(("Before the change",), "aside"), blocks.Instance(original, UNMARKED, media.SMALL)]
    if e.sounds is not None:  # each as loud beside the other as it is
        *samples, rate = e.sounds
        peak = max(map(media.peak_of, samples))
        before, after = (media.as_samples(each, peak) for each in samples)
        inner.append(
            blocks.Players({"rate": rate}, UNMARKED, (("Before the change", before), ("After it", after)))
        )
    for method, why in zip(e.methods, e.explanations, strict=False):
        shown = listed(_audible(e, why), limits, LISTED if with_views else 0)
        inner.append(blocks.Details(("", method), top_names(why), shown))
    return blocks.Details((f"{plain(e.cause, 60)}, instance {e.row}",), what + where, tuple(inner))


def _audible(e: Example, why: Explanation) -> Explanation:
    """An explanation of a spectrogram with the recording it was made of, so that its parts can be heard."""
    if e.sounds is None or why.view is None or why.view.kind != "spectrogram" or "samples" in why.view.data:
        return why
    _, after, rate = e.sounds
    known = {"samples": media.as_samples(after, media.peak_of(after)), "rate": float(rate)}
    return replace(why, view=View("spectrogram", {**_silent(why.view).data, **known}))


def _silent(view: View) -> View:
    """A view of which no sound is made."""
    return View(view.kind, {key: value for key, value in view.data.items() if key not in ("front", "values")})
