"""Records as data frames, one line for each thing that has a number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from veridical.checks.audits import Audit
from veridical.comparisons.differences import Difference
from veridical.comparisons.watching import Drift
from veridical.errors import tame
from veridical.methods.flips import Flips
from veridical.metrics.reports import Report
from veridical.records import Explanation, Failure, Measured, Verdict, clear_weights
from veridical.summaries.groupings.groups import Grouping, Membership
from veridical.summaries.importances import Importance
from veridical.summaries.picks import Pick


def frame(items: Sequence[Explanation], numbers: Sequence[int] | None = None) -> pd.DataFrame:
    """One line per part, with the name and the number of the row it belongs to."""
    numbers = range(len(items)) if numbers is None else numbers
    counts = np.array([len(e.parts) for e in items], dtype=np.int64)
    parts = list(chain.from_iterable(e.parts for e in items))
    intervals = np.concatenate([np.empty((0, 2)), *(e.on_outputs[1] for e in items)])
    number = np.repeat(np.arange(len(items)), counts)
    rows = row_column([i if e.row is None else e.row for i, e in zip(numbers, items, strict=True)])
    targets = target_column([e.target for e in items])
    measured = ("prediction", "local_prediction", "fidelity")
    calls = np.array([e.n_calls for e in items], dtype=np.int64)
    return pd.DataFrame(
        {
            "row": _repeat(rows, number),
            "number": np.array(numbers, dtype=np.int64)[number],
            "target": _repeat(targets, number),
            "part": _texts(p.name for p in parts),
            "column": _texts(p.column for p in parts),
            "relation": _texts(p.relation for p in parts),
            "value": value_column(chain.from_iterable(e.values or (None,) * len(e.parts) for e in items)),
            "weight": np.concatenate([np.empty(0), *(e.on_outputs[0] for e in items)]),
            "low": intervals[:, 0],
            "high": intervals[:, 1],
            "clear": np.concatenate(
                [np.empty(0, bool), *(clear_weights(e.on_outputs[1], e.doubtful) for e in items)]
            ),
            "label": _texts(e.verdict.label for e, n in zip(items, counts, strict=True) for _ in range(n)),
            **{key: np.repeat([float(getattr(e, key)) for e in items], counts) for key in measured},
            "n_calls": np.repeat(calls, counts),
        }
    )


def _repeat(column: pd.Series, at: Any) -> pd.Series:
    """Entries of a column, of a type that pandas knows where it finds one."""
    found = column.take(at).reset_index(drop=True)
    try:
        return found.infer_objects() if found.dtype == object else found
    except UnicodeEncodeError:
        return found


def row_column(names: Sequence[Any]) -> pd.Series:
    """A column of names of rows: numbers or texts where all are, else of objects."""
    kinds = set(map(type, names))
    if kinds == {int}:
        try:
            return pd.Series(names, dtype=np.int64)
        except OverflowError:
            pass
    if kinds == {str}:
        return _texts(names)
    column = pd.Series([None] * len(names), dtype=object)
    column[:] = np.fromiter(names, object, len(names))  # tuples stay what they are
    return column


def value_column(values: Iterable[Any]) -> pd.Series:
    """A column of rows' own values: of floats where all are, else of objects."""
    found = list(values)
    if found and set(map(type, found)) == {float}:
        return pd.Series(found, dtype=np.float64)
    return pd.Series(np.fromiter(found, object, len(found)), dtype=object)


def failed_frame(failures: Sequence[Failure]) -> pd.DataFrame:
    """One line per row that could not be explained."""
    return pd.DataFrame(
        {
            "row": row_column([f.row for f in failures]) if failures else np.empty(0, np.int64),
            "number": np.array([f.number for f in failures], dtype=np.int64),
            "error": _texts(f.error for f in failures),
        }
    )


def verdict_frame(v: Verdict) -> pd.DataFrame:
    """What the verdict rests on, and below it one line per measure; null rows are columns."""
    lines = [Measured("", v.observed, *v.interval, 0, v.nulls), *v.measures]
    nulls = dict.fromkeys(chain.from_iterable(line.nulls for line in lines))
    n = len(lines)
    return pd.DataFrame(
        {
            "label": _texts([v.label] * n),
            "passed": [bool(v.passed)] * n,
            "observed": np.array([line.value for line in lines], dtype=float),
            "expected": [float(v.expected)] * n,
            "sentence": _texts([v.sentence] * n),
            "check": _texts([v.check] * n),
            "method": _texts([v.method] * n),
            "measure": _texts(line.name for line in lines),
            **{key: np.array([getattr(line, key) for line in lines], dtype=float) for key in ("low", "high")},
            "n": np.array([line.n for line in lines], dtype=np.int64),
            **{f"null: {tame(each)}": [float(line.nulls.get(each, np.nan)) for line in lines] for each in nulls},
        }
    )


def audit_frame(a: Audit) -> pd.DataFrame:
    """One line per check and method."""
    found = [r.verdict for r in a.results]
    blank = Verdict(False, np.nan, np.nan, "")
    known = [blank if v is None else v for v in found]
    return pd.DataFrame(
        {
            "check": _texts(r.check for r in a.results),
            "method": _texts(r.method for r in a.results),
            "outcome": _texts(r.outcome for r in a.results),
            **{key: np.array([getattr(v, key) for v in known], dtype=float) for key in ("observed", "expected")},
            "low": np.array([v.interval[0] for v in known], dtype=float),
            "high": np.array([v.interval[1] for v in known], dtype=float),
            "sentence": _texts(v.sentence for v in known),
            "reason": _texts(r.reason for r in a.results),
            "seconds": np.array([r.seconds for r in a.results], dtype=float),
        }
    )


def difference_frame(d: Difference) -> pd.DataFrame:
    """One line per part: both weights, and their difference with its interval."""
    return pd.DataFrame(
        {
            "part": _texts(d.names),
            "column": _texts(p.column for p in d.parts),
            "first": d.weights[:, 0],
            "second": d.weights[:, 1],
            "difference": d.difference,
            "low": d.intervals[:, 0],
            "high": d.intervals[:, 1],
            "p": d.p,
            "larger": d.larger,
            "rows": d.counts,
        }
    )


def drift_frame(d: Drift) -> pd.DataFrame:
    """One line per number: both values, and the change with its interval."""
    return pd.DataFrame(
        {
            "kind": _texts(d.kinds),
            "name": _texts(d.names),
            "first": d.values[:, 0],
            "second": d.values[:, 1],
            "change": d.change,
            "low": d.intervals[:, 0],
            "high": d.intervals[:, 1],
            "p": d.p,
            "changed": d.changed,
        }
    )


def grouping_frame(g: Grouping) -> pd.DataFrame:
    """One line per group and feature that its explanation has."""
    group, part = np.nonzero(g.weights)
    names = g.names
    return pd.DataFrame(
        {
            "group": group,
            "size": g.sizes[group],
            "part": _texts(names[j] for j in part),
            "weight": g.weights[group, part],
            "low": g.intervals[group, part, 0],
            "high": g.intervals[group, part, 1],
            "region": _texts(g.regions[k].sentence for k in group),
            "fidelity": g.fidelities[group],
            "intercept": g.intercepts[group],
        }
    )


def membership_frame(m: Membership) -> pd.DataFrame:
    """One line per feature: what the instance has, how much it speaks for the group, and the group's weight."""
    return pd.DataFrame(
        {
            "group": np.full(len(m.parts), m.group, dtype=np.int64),
            "probability": np.full(len(m.parts), m.probabilities[m.group], dtype=float),
            "part": _texts(part.name for part in m.parts),
            **{key.removesuffix("s"): getattr(m, key) for key in ("values", "reasons", "weights")},
        }
    )


def importance_frame(found: Importance) -> pd.DataFrame:
    """One line per column, the most important first."""
    return pd.DataFrame(
        {
            "column": _texts(found.columns),
            "importance": found.importance,
            "low": found.intervals[:, 0],
            "high": found.intervals[:, 1],
            "mean": found.means,
            "rows": found.counts,
            "raising": found.raising,
        }
    )


def pick_frame(p: Pick) -> pd.DataFrame:
    """One line per chosen row and part that it gives weight; of both models, where there are two."""
    found = p.weights.tocoo()
    step, part = found.row, found.col
    own = pd.DataFrame(
        {
            "model": np.ones(len(step), dtype=np.int64),
            "row": row_column([p.rows[t] if p.rows else int(p.chosen[t]) for t in step.tolist()]),
            "number": p.chosen[step],
            "target": target_column([p.chosen_targets[t] for t in step]),
            "part": _texts(p.names[j] for j in part),
            "weight": np.asarray(found.data, dtype=np.float64),
            "importance": p.importance[part],
            "coverage": p.coverage[step],
        }
    )
    if p.second is None:
        return own.drop(columns="model")
    return pd.concat([own, pick_frame(p.second).assign(model=2)[own.columns]], ignore_index=True)


def report_frame(r: Report) -> pd.DataFrame:
    """One line per metric and method, null rows included; ranks are of methods that have a number."""
    metrics = {m.name: m for m in r.metrics}
    ranks = {(metric, method): rank for metric in metrics for rank, method in r.alone(metric).ranking(metric)}
    found = [ranks.get((s.metric, s.method)) for s in r.scores]
    return pd.DataFrame(
        {
            "family": _texts(metrics[s.metric].family for s in r.scores),
            "metric": _texts(s.metric for s in r.scores),
            "better": _texts(metrics[s.metric].better for s in r.scores),
            "method": _texts(s.method for s in r.scores),
            "null": np.array([s.null for s in r.scores], dtype=bool),
            **{key: np.array([getattr(s, key) for s in r.scores], dtype=float) for key in ("mean", "low", "high")},
            "n": np.array([s.n for s in r.scores], dtype=np.int64),
            "rank": pd.array(found, dtype="Int64"),
            "reason": _texts(s.reason for s in r.scores),
        }
    )


def _texts(values: Iterable[str]) -> pd.Series:
    """A column of texts, whether or not there are any; of objects where one is not valid Unicode."""
    found = list(values)
    try:
        return pd.Series(found, dtype=str)
    except UnicodeEncodeError:
        return pd.Series(found, dtype=object)


def target_column(targets: Sequence[Any]) -> pd.Series:
    """A column of targets: of their type if they have one that pandas knows, else of objects as they are."""
    kinds = set(map(type, targets))
    if kinds and all(issubclass(kind, str) for kind in kinds):
        return _texts(map(str, targets))
    if len(kinds) == 1 and kinds <= {int, bool, float, pd.Timestamp}:
        return pd.Series(list(targets))
    column = np.empty(len(targets), dtype=object)
    for i, target in enumerate(targets):  # one by one: NumPy would take tuples apart
        column[i] = target
    return pd.Series(column)


def flips_frame(f: Flips) -> pd.DataFrame:
    """One line per column that a change changes, or per part that it leaves out."""
    lines = [(i, item, name) for i, item in enumerate(f.items) for name in item.changes]
    return pd.DataFrame(
        {
            "change": np.array([i for i, _, _ in lines], dtype=np.int64),
            "column": _texts(name for _, _, name in lines),
            "from": value_column(item.values[name] for _, item, name in lines),
            "to": value_column(item.changes[name] for _, item, name in lines),
            "answer": target_column([item.answer for _, item, _ in lines]),
            **{
                key: np.array([getattr(item, key) for _, item, _ in lines], dtype=float)
                for key in ("before", "after", "size")
            },
        }
    )


FRAMES: dict[str, Callable[[Any], pd.DataFrame]] = {
    "Audit": audit_frame,
    "Difference": difference_frame,
    "Drift": drift_frame,
    "Explanation": lambda e: frame([e]),
    "Explanations": lambda many: frame(many.items, many.numbers),
    "Flips": flips_frame,
    "Grouping": grouping_frame,
    "Importance": importance_frame,
    "Membership": membership_frame,
    "Pick": pick_frame,
    "Report": report_frame,
    "Verdict": verdict_frame,
}


def to_frame(record: Any) -> pd.DataFrame:
    """The table of a record."""
    return FRAMES[type(record).__name__](record)
