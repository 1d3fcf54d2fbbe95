"""Explanations of predictions, of one row or of many."""

from __future__ import annotations

import warnings
from dataclasses import replace

from veridical import api
from veridical.cli.given import Given, given_by, question_of, row_of, track_of
from veridical.cli.say import say
from veridical.cli.scale import explain_at_scale, is_at_scale
from veridical.cli.show import check_outs, put
from veridical.errors import InputError, RowsFailedWarning
from veridical.records import Explanation, Explanations
from veridical_command import asked


def explain(given: asked.Explain) -> int:
    """Explain one prediction, or many."""
    check_row(given)
    if is_at_scale(given):
        return explain_at_scale(given)
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
    found: Explanation = api.explain(about.predict, about.represent, x, track=track, **question_of(given, about))
    name = about.data.names[row]
    return replace(found, row=row if name == str(row) else name)


def many(given: asked.Asking, about: Given) -> Explanations:
    """The explanations of all rows."""
    track = track_of(given, "rows")
    question = question_of(given, about)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RowsFailedWarning)  # which is said below
        found: Explanations = api.explain_many(about.predict, about.represent, about.X, track=track, **question)
    names = about.data.names
    if any(name != str(i) for i, name in enumerate(names)) and len(names) == len(found) + len(found.failures):
        failures = tuple(f._replace(row=names[f.number]) for f in found.failures)
        left = {f.number for f in failures}
        numbers = [i for i in range(len(names)) if i not in left]
        items = [replace(e, row=names[i]) for i, e in zip(numbers, found, strict=True)]
        found = Explanations(tuple(items), failures)
    for failure in found.failures[:5]:
        say(f"row {failure.row} could not be explained: {failure.error}")
    if (more := len(found.failures) - 5) > 0:
        say(f"and {more} more rows could not be explained")
    return found


def check_row(given: asked.Explain | asked.Compare) -> None:
    """Refuse two ways of asking for rows at once."""
    if given.row is not None and given.rows is not None:
        raise InputError("--row explains one row, --rows several: give one of the two")
