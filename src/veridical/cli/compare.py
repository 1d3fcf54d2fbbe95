"""Two explanations side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veridical import differences
from veridical.attribute.ask import VALUE
from veridical.cli.explain import check_row, explained
from veridical.cli.given import check_heard, matched, reading_of
from veridical.cli.names import words
from veridical.cli.say import tell
from veridical.cli.show import check_outs, put
from veridical.errors import InputError
from veridical.evaluate.differences import Difference
from veridical.read.data import data_of
from veridical.records import Explanation
from veridical_command import asked


def compare(given: asked.Compare) -> int:
    """Hold two explanations side by side: saved ones, or those of two models."""
    check_row(given)
    check_outs(given, Difference)
    names = _names(given)  # before the work
    found = differences.compare(*_two(given), names=names)
    put(found, given)
    return int(given.fail and not found.verdict.passed)


def _two(given: asked.Compare) -> tuple[Any, Any]:
    """The two, or where they are saved; the second model is asked about what the first one said of a row."""
    if not given.data:
        check_heard(given, "names fail", "saved explanations, which are compared as they are")
        return given.first, given.second
    data = data_of(given.data, reading_of(given))
    one, about = (matched(given, model, data) for model in (given.first, given.second))
    tell(given, [*one.notes, *about.notes])
    first = explained(given, one)
    if given.target is None and isinstance(first, Explanation) and first.target != VALUE:
        about = replace(about, target=first.target)
    return first, explained(replace(given, rng=given.rng + 1), about)  # noise of its own


def _names(given: asked.Compare) -> list[str]:
    """What the two are called: as asked, or as they were named in the command."""
    own = [given.first, given.second] if given.first != given.second else ["first", "second"]
    names = words(given.names) or own
    if len(names) != 2:
        raise InputError(f"--names wants two names, such as before,after, not {given.names!r}")
    return names
