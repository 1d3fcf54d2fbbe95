"""Checks of a model and its explanations."""

from __future__ import annotations

from typing import Any

from veridical import api
from veridical.cli.names import methods_of, words
from veridical.cli.places import finished, object_at
from veridical.cli.show import check_outs, put
from veridical.debug.audit import Audit
from veridical.debug.records import Subject
from veridical.errors import InputError
from veridical_command import asked


def audit(given: asked.Audit) -> int:
    """Run all checks that apply."""
    check_outs(given, Audit)
    (place,) = given.source
    found = api.audit(
        subject_at(place), methods=methods_of(given.methods), checks=words(given.checks), rng=given.rng
    )
    put(found, given)
    return found.exit_code


def subject_at(place: str) -> Subject:
    """The Subject at module:name or file.py:name, or what the function there gives."""
    found: Any = object_at(place, Subject)
    if not isinstance(found, Subject) and callable(found):
        found = finished(found, f"calling {place}, without arguments,")
    if not isinstance(found, Subject):
        raise InputError(
            f"{place} is {type(found).__name__}, and a vd.Subject was wanted, or a function that gives one: "
            "subject = vd.Subject(model.predict_proba, vd.Rows(X_train), X_test)"
        )
    return found
