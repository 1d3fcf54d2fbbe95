"""Explanations of predictions, of one row or of many."""

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
    about = given_by(given, given.model, given.data)
    check_outs(given, Explanations if row_asked(given, about) is None else Explanation)
    found = explained(given, about)
    put(found, given)
    verdicts = [each.verdict for each in (found if isinstance(found, Explanations) else [found])]
    return int(given.fail and not all(verdict.passed for verdict in verdicts))


def explained(given: asked.Explain | asked.Compare, about: Given) -> Explanation | Explanations:
    """The row that is asked for, or else all."""
    row = row_asked(given, about)
    return many(given, about) if row is None else one(given, about, row)


def row_asked(given: asked.Explain | asked.Compare, about: Given) -> int | None:
    """The row that is asked for, or the only one that there is."""
    if given.row is not None:
        return row_of(given.row, about.data)
    return 0 if given.rows is None and len(about.data) == 1 else None


def one(given: asked.Asking, about: Given, row: int) -> Explanation:
    """The explanation of one row."""
    x, track = about.data.instance(row), track_of(given, "calls, at most")
    found: Explanation = api.explain(about.predict, about.represent, x, track=track, **_question(given, about))
    return found


def many(given: asked.Asking, about: Given) -> Explanations:
    """The explanations of all rows."""
    track = track_of(given, "rows")
    question = _question(given, about)
    found: Explanations = api.explain_many(about.predict, about.represent, about.X, track=track, **question)
    return found


def check_row(given: asked.Explain | asked.Compare) -> None:
    """Refuse two ways of asking for rows at once."""
    if given.row is not None and given.rows is not None:
        raise InputError("--row explains one row, --rows several: give one of the two")


def _question(given: asked.Asking, about: Given) -> dict[str, Any]:
    """What is asked of the model."""
    method = method_of(given.method, given.samples)
    known = {"target": about.target, "classes": about.classes, "rng": given.rng}
    return {**known, "method": method, "purpose": given.purpose}
