"""One check, by name or of the caller's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veridical.debug import CHECKS
from veridical.debug.records import Check, Rng, Subject
from veridical.errors import InputError
from veridical.evaluate.report import named
from veridical.records import Method, Verdict


def check_of(check: Any) -> tuple[str, Check]:
    """The name of a check, and the check."""
    if isinstance(check, str):
        if check not in CHECKS:
            raise InputError(f"no check is called {check!r}; there are {', '.join(CHECKS)}")
        return check, CHECKS[check]
    if not callable(check) or isinstance(check, type):
        raise InputError(
            f"check wants the name of a check ({', '.join(CHECKS)}), or a function of (method, subject, rng) that "
            f"gives a vd.Verdict, not {check!r}"
        )
    return str(getattr(check, "__name__", type(check).__name__)), check


def run(check: Any, method: Method, subject: Subject, rng: Rng) -> Verdict:
    """What a check says of a method on a subject, with the names of both."""
    name, function = check_of(check)
    found = function(method, subject, rng)
    if not isinstance(found, Verdict):
        raise InputError(f"the check {name} must return a vd.Verdict; it returned {type(found).__name__}")
    own = next(iter(named(method)))
    return replace(found, check=found.check or name, method=found.method or own)
