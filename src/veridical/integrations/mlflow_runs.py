"""Explanations, reports and audits in runs of MLflow, and an audit as a step of its model evaluation."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from veridical.api import audit
from veridical.checks.audits import Audit
from veridical.checks.subjects import Check, Subject
from veridical.comparisons.differences import Difference
from veridical.display.saving import save
from veridical.errors import InputError, require, safe_repr
from veridical.metrics.reports import Report
from veridical.records import VERSION, Explanation, Explanations, Page, Verdict
from veridical.storage.schema import KINDS, Saved
from veridical.summaries.importances import Importance

FOLDER = "veridical"  # of the artifacts of a run
MAX_COLUMNS = 10  # columns of an importance that become metrics
LONGEST = 250  # characters of the key of a metric that MLflow stores
ALLOWED = re.compile(r"[^\w. -]")  # what the key of a metric may not hold


def log(record: Saved, name: str | None = None, *, run_id: str | None = None) -> str:
    """Log a record to a run of MLflow: a page and a file as artifacts, key numbers as metrics, its label as a tag.

    Parameters
    ----------
    record : Explanation, Explanations, Verdict, Report, Audit, Difference, Importance, Page, …
        Whatever ``record.save("x.html")`` writes.
    name : str, optional
        What to call it in the run; by default its kind, such as "audit". A slash makes folders. A second record of the
        same name replaces the files of the first.
    run_id : str, optional
        The run; by default the active one.

    Returns
    -------
    str
        The path of the page among the artifacts of the run.

    Raises
    ------
    InputError
        If no run is active and none is given, or the record cannot be saved.
    """
    mlflow = require("mlflow", extra="mlflow")
    if type(record) not in KINDS:
        kinds = ", ".join(KINDS.values())
        raise InputError(f"log wants a record of veridical ({kinds}), not {type(record).__name__}")
    own = KINDS[type(record)] if name is None else name
    folders = own.split("/") if isinstance(own, str) else [""]
    if any(not part.strip(". ") or ALLOWED.search(part) for part in folders):
        raise InputError(f"name wants letters, digits, spaces, -, _ and . between slashes, not {safe_repr(own)}")
    if run_id is None:
        active = mlflow.active_run()
        if active is None:
            raise InputError("no run of MLflow is active: log inside `with mlflow.start_run():`, or give run_id=")
        run_id = active.info.run_id
    numbers = {f"{own}/{key}": value for key, value in read_numbers(record).items() if math.isfinite(value)}
    tags = {f"veridical.{own}.label": label_of(record), "veridical.version": VERSION}
    at = int(time.time() * 1000)
    client = mlflow.MlflowClient()
    with TemporaryDirectory() as folder:
        for suffix in suffixes_of(record):
            save(record, Path(folder, f"{folders[-1]}{suffix}"))
        client.log_artifacts(run_id, folder, "/".join([FOLDER, *folders[:-1]]))
    client.log_batch(
        run_id,
        metrics=[mlflow.entities.Metric(key[:LONGEST], float(value), at, 0) for key, value in numbers.items()],
        tags=[mlflow.entities.RunTag(key, value) for key, value in tags.items() if value],
    )
    return "/".join([FOLDER, *folders]) + ".html"


def make_audit_metric(
    subject: Subject,
    *,
    methods: Any = None,
    checks: Sequence[str | Check] | None = None,
    rng: int | np.random.Generator = 0,
    name: str = "audit",
) -> Any:
    """Make an audit a metric for ``mlflow.models.evaluate(extra_metrics=[…])``.

    The evaluation then runs the audit, logs its page, and has the metrics ``audit/failed``, ``audit/passed``,
    ``audit/unclear``, ``audit/error`` and ``audit/skipped``: numbers of checks, which
    ``mlflow.validate_evaluation_results`` can hold against thresholds.

    Parameters
    ----------
    subject : Subject
        The model and its data, and what is known about them.
    methods : method, str, list or mapping, optional
        The methods whose explanations are checked: by default ``vd.Lime()``, and two gradient methods for networks.
    checks : sequence of str or callable, optional
        Names in ``vd.checks.CHECKS``, or functions; by default all.
    rng : int or numpy.random.Generator, default 0
        The seed: the verdicts are those of ``vd.audit`` with the same.
    name : str, default "audit"
        What to call the metric, and the page.

    Returns
    -------
    mlflow.models.EvaluationMetric
        Lower is better.
    """
    metrics = require("mlflow.metrics", extra="mlflow")
    if not isinstance(subject, Subject):
        raise InputError(
            f"subject wants a vd.Subject, such as vd.Subject(model, rows, X), not {safe_repr(subject)}"
        )

    def run_audit(predictions: Any, targets: Any = None, metrics_so_far: Any = None) -> Any:
        found = audit(subject, methods=methods, checks=checks, rng=rng, progress=lambda work, total: work)
        log(found, name)
        return metrics.MetricValue(aggregate_results={key: float(n) for key, n in found.counts.items()})

    return metrics.make_metric(eval_fn=run_audit, greater_is_better=False, name=name)


def suffixes_of(record: Saved) -> tuple[str, ...]:
    """Which files are logged: a page, and what ``vd.load`` reads back; Parquet for many explanations, if it can be."""
    if isinstance(record, Page):
        return (".html",)
    many = isinstance(record, Explanations) and find_spec("pyarrow") is not None
    return ".html", ".parquet" if many else ".json"


def label_of(record: Saved) -> str:
    """The answer of a record in a word; of many explanations the most frequent label, and none where there is no verdict."""
    if isinstance(record, (Explanation, Difference)):
        return record.verdict.label
    if isinstance(record, Verdict):
        return record.label
    if isinstance(record, Audit):
        return record.outcome
    importance = record.importance() if isinstance(record, Explanations) else record
    return (
        max(importance.labels, key=lambda pair: pair[1], default=("", 0))[0]
        if isinstance(importance, Importance)
        else ""
    )


def read_numbers(record: Saved) -> dict[str, float]:
    """The key numbers of a record by name; some may be nan."""
    if isinstance(record, Explanation):
        told = {"fidelity": record.fidelity, "prediction": record.prediction, "calls": record.n_calls}
        return {key: float(value) for key, value in told.items()}
    if isinstance(record, Verdict):
        return {"observed": record.observed, "expected": record.expected, "passed": float(record.passed)}
    if isinstance(record, Audit):
        counts = {key: float(n) for key, n in record.counts.items()}
        verdicts = ((each.check, each.method, each.verdict) for each in record.results if each.verdict is not None)
        return counts | unique((("observed", check, method), v.observed) for check, method, v in verdicts)
    if isinstance(record, Report):
        return unique((("score", each.metric, each.method), each.mean) for each in record.scores if not each.null)
    if isinstance(record, Difference):
        largest = float(np.nanmax(np.abs(record.difference), initial=0.0))
        return {"features that differ": float(record.larger.sum()), "largest difference": largest}
    if isinstance(record, Explanations):
        return read_numbers(record.importance())
    if isinstance(record, Importance):
        n = record.n_rows + record.n_failed
        labels = {label: count / n for label, count in record.labels}
        top = unique((("importance", name), value) for name, value in record.top(MAX_COLUMNS))
        return {"rows": float(n), "fidelity": record.fidelity, "reliable": labels.get("reliable", 0.0), **top}
    return {}


def unique(named: Iterable[tuple[Sequence[str], float]]) -> dict[str, float]:
    """Numbers by keys that MLflow takes, none of them twice."""
    found: dict[str, float] = {}
    for parts, value in named:
        key = "/".join(ALLOWED.sub("_", part).strip(". ") or "_" for part in parts if part)
        while key in found:
            key += "_"
        found[key] = float(value)
    return found
