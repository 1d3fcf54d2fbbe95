"""A Report as lists of numbers and texts, and back; what a metric calls is not kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from veridical.errors import InputError
from veridical.evaluate.records import Comparison, Curve, Example, Metric, Report, Score
from veridical.packing.explanations import Pool, pack_explanation
from veridical.packing.values import counted, floats, mapping, numbers, pack, pack_view, text, unpack, unpack_view
from veridical.packing.views import check_sounds, check_view


def pack_report(r: Report) -> dict[str, Any]:
    """A Report as strict JSON: each score and each comparison is one list."""
    return {
        "title": r.title,
        "metrics": [[m.name, m.better, m.family, m.sentence, *numbers((m.least, m.most))] for m in r.metrics],
        "methods": list(r.methods),
        "nulls": list(r.nulls),
        "scores": [
            [
                *(s.metric, s.method, numbers(s.values), *numbers((s.mean, s.low, s.high))),
                *(int(s.n), bool(s.null), s.reason),
            ]
            for s in r.scores
        ],
        "comparisons": [
            [c.metric, c.first, c.second, *numbers((c.difference, c.low, c.high, c.p))] for c in r.comparisons
        ],
        "n_instances": int(r.n_instances),
        "n_calls": int(r.n_calls),
        "recipe": pack(r.recipe),
        "notes": list(r.notes),
        "references": list(r.references),
        "curves": [
            [c.cause, c.method, *(pack_view(each) for each in (c.flips, c.rate, c.low, c.high))] for c in r.curves
        ],
        "findings": list(r.findings),
        "examples": [_pack_example(e) for e in r.examples],
    }


def _pack_example(e: Example) -> dict[str, Any]:
    plain = {key: pack(getattr(e, key)) for key in ("cause", "row", "label", "wanted", "before", "after")}
    return {
        **plain,
        "parts": list(e.parts),
        "methods": list(e.methods),
        "explanations": [pack_explanation(each) for each in e.explanations],
        "original": pack_view(e.original),
        "sounds": pack_view(e.sounds),
    }


def unpack_report(body: Mapping[str, Any]) -> Report:
    """The inverse of ``pack_report``; its metrics can be read, but measure no more. Older files know no causes."""
    pool = Pool()
    found = Report(
        text(body["title"]),
        tuple(map(_metric, body["metrics"])),
        tuple(map(text, body["methods"])),
        tuple(map(text, body["nulls"])),
        tuple(map(_score, body["scores"])),
        tuple(map(_comparison, body["comparisons"])),
        counted(body["n_instances"]),
        counted(body["n_calls"]),
        mapping(unpack(body["recipe"])),
        tuple(map(text, body["notes"])),
        tuple(map(text, body.get("references", ()))),
        tuple(map(_curve, body.get("curves", ()))),
        tuple(map(text, body.get("findings", ()))),
        tuple(_example(entry, pool) for entry in body.get("examples", ())),
    )
    wanted = {(m.name, row) for m in found.metrics for row in found.rows}
    if {(s.metric, s.method) for s in found.scores} != wanted:
        raise ValueError("not one score for each metric and method")
    if {s.values.shape for s in found.scores} - {(found.n_instances,)}:
        raise ValueError(f"{found.n_instances} instances, but scores of another number")
    return found


def _metric(entry: Any) -> Metric:
    name, better, family, sentence, least, most = entry
    words = text(better), text(family), text(sentence)
    return Metric(text(name), _unkept, *words, least=float(least), most=float(most))


def _score(entry: Any) -> Score:
    metric, method, values, mean, low, high, n, null, reason = entry
    numbers = (float(mean), float(low), float(high))
    return Score(text(metric), text(method), floats(values), *numbers, counted(n), null is True, text(reason))


def _comparison(entry: Any) -> Comparison:
    metric, first, second, difference, low, high, p = entry
    numbers = (float(difference), float(low), float(high), float(p))
    return Comparison(text(metric), text(first), text(second), *numbers)


def _curve(entry: Any) -> Curve:
    cause, method, *arrays = entry
    flips, rate, low, high = (floats(unpack_view(each)) for each in arrays)
    if flips.ndim != 2 or {each.shape for each in (rate, low, high)} != {flips.shape[1:]}:
        raise ValueError("the numbers of a curve do not fit each other")
    return Curve(text(cause), text(method), flips, rate, low, high)


def _example(entry: Mapping[str, Any], pool: Pool) -> Example:
    label, wanted = unpack(entry["label"]), unpack(entry["wanted"])
    before, after = (float(unpack(entry[key])) for key in ("before", "after"))
    explanations = tuple(map(pool.explanation, entry["explanations"]))
    view = check_view(unpack_view(entry["original"]), None)
    sounds = check_sounds(unpack_view(entry["sounds"]))
    parts, methods = pool.texts(entry["parts"]), pool.texts(entry["methods"])
    known = text(entry["cause"]), counted(entry["row"]), label, wanted, before, after
    return Example(*known, parts, methods, explanations, view, sounds)


def _unkept(trial: Any, rng: Any) -> float:
    """In the place of a metric's function, once the report was saved."""
    raise InputError("a metric that was loaded from a file cannot measure: evaluate again with the metric itself")
