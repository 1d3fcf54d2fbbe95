"""Explanations of predictions: of one or many, and of two side by side."""

from __future__ import annotations

from typing import Any

from veridical import api
from veridical.cli.given import Given, given_by, row_of, track_of
from veridical.cli.names import method_of
from veridical.cli.show import check_outs, put
from veridical.errors import InputError
from veridical.records import Explanation, Explanations
from veridical_command import asked


def explain(given: asked.Explain) -> int:
    """Explain one prediction, or many."""
    check_row(given)
    check_outs(given, Explanations if given.row is None else Explanation)
    found = explained(given, given_by(given, given.model, given.data))
    put(found, given)
    verdicts = [each.verdict for each in (found if isinstance(found, Explanations) else [found])]
    return int(given.fail and not all(verdict.passed for verdict in verdicts))


def explained(given: Any, about: Given) -> Explanation | Explanations:
    """The row that is asked for, or else all."""
    method = method_of(given.method, given.samples)
    question: dict[str, Any] = {"target": about.target, "classes": about.classes, "rng": given.rng}
    question |= {"method": method, "purpose": given.purpose}
    if given.row is None:
        return api.explain_many(
            about.predict, about.represent, about.X, track=track_of(given, "rows"), **question
        )
    x = about.data.instance(row_of(given.row, about.data))
    return api.explain(about.predict, about.represent, x, track=track_of(given, "calls, at most"), **question)


def check_row(given: Any) -> None:
    """Refuse two ways of asking for rows at once."""
    if given.row is not None and given.rows is not None:
        raise InputError("--row explains one row, --rows several: give one of the two")
