"""Records as data frames, a line for each thing that has a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import pandas as pd

from veridical.evaluate.records import Report
from veridical.packing.explanations import judgment
from veridical.records import Explanation, Verdict
from veridical.summarize.records import Grouping, Pick


def frame(items: Sequence[Explanation]) -> pd.DataFrame:
    """One line a part, with the number of the explanation it belongs to."""
    counts = np.array([len(e.parts) for e in items], dtype=np.int64)
    parts = list(chain.from_iterable(e.parts for e in items))
    intervals = np.concatenate([np.empty((0, 2)), *(e.intervals for e in items)])
    targets = pd.Series([e.target for e in items], dtype=None if items else object)
    numbers = ("prediction", "local_prediction", "fidelity")
    calls = np.array([e.n_calls for e in items], dtype=np.int64)
    return pd.DataFrame(
        {
            "row": np.repeat(np.arange(len(items)), counts),
            "target": targets.repeat(counts.tolist()).array,
            "part": [p.name for p in parts],
            "column": [p.column for p in parts],
            "relation": [p.relation for p in parts],
            "weight": np.concatenate([np.empty(0), *(e.weights for e in items)]),
            "low": intervals[:, 0],
            "high": intervals[:, 1],
            **{key: np.repeat([float(getattr(e, key)) for e in items], counts) for key in numbers},
            "n_calls": np.repeat(calls, counts),
        }
    )


def verdict_frame(verdict: Verdict) -> pd.DataFrame:
    """The verdict as one line."""
    return pd.DataFrame([judgment(verdict)])


def grouping_frame(g: Grouping) -> pd.DataFrame:
    """One line a group and feature that its explanation has."""
    group, part = np.nonzero(g.weights)
    names, regions = np.array(g.names, dtype=object), np.array([r.sentence for r in g.regions], dtype=object)
    return pd.DataFrame(
        {
            "group": group,
            "size": g.sizes[group],
            "part": names[part],
            "weight": g.weights[group, part],
            "low": g.intervals[group, part, 0],
            "high": g.intervals[group, part, 1],
            "region": regions[group],
            "fidelity": g.fidelities[group],
            "intercept": g.intercepts[group],
        }
    )


def pick_frame(p: Pick) -> pd.DataFrame:
    """One line a chosen row and each part that it gives weight; of both models, where there are two."""
    found = p.weights.tocoo()
    step, part = found.row, found.col
    own = pd.DataFrame(
        {
            "model": np.ones(len(step), dtype=np.int64),
            "row": p.chosen[step],
            "target": pd.Series([p.chosen_targets[t] for t in step], dtype=None if len(step) else object),
            "part": [p.names[j] for j in part],
            "weight": np.asarray(found.data, dtype=np.float64),
            "importance": p.importance[part],
            "coverage": p.coverage[step],
        }
    )
    if p.second is None:
        return own.drop(columns="model")
    return pd.concat([own, pick_frame(p.second).assign(model=2)[own.columns]], ignore_index=True)


def report_frame(r: Report) -> pd.DataFrame:
    """One line a metric and method, null rows included; ranks are of methods that have a number."""
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
    """A column of texts, whether or not there are any."""
    return pd.Series(list(values), dtype=str)
