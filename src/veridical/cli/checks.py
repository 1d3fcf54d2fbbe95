"""Checks of a model and of its explanations."""

from __future__ import annotations

from typing import Any

from veridical import reports
from veridical.cli.given import Given, beside, check_heard, few, given_by, track_of
from veridical.cli.names import method_of, methods_of, settings_of, words
from veridical.cli.show import check_outs, put
from veridical.debug.adversary import CAUSES
from veridical.debug.audit import Audit
from veridical.debug.records import Subject
from veridical.errors import InputError
from veridical.evaluate.records import Report
from veridical.read.places import finished, thing_at
from veridical.records import Verdict
from veridical_command import asked

USUAL = "lime,occlusion"  # methods, where none are named


def evaluate(given: asked.Evaluate) -> int:
    """Measure how good explanations are."""
    check_outs(given, Report)
    about = few(given_by(given, given.model, given.data), given)
    found = reports.evaluate(
        about.predict,
        about.represent,
        about.X,
        metrics=words(given.metrics),
        target=about.target,
        track=track_of(given, "rows"),
        **_methods(given, about),
    )
    put(found, given)
    return 0


def veracity(given: asked.Veracity) -> int:
    """Ask whether explanations name what made the model err."""
    if given.target is not None:
        raise InputError("--target is not for veracity, which asks why the model decided as it did: leave it out")
    check_outs(given, Report)
    about = few(given_by(given, given.model, given.data), given)
    found = reports.veracity(
        about.predict,
        about.represent,
        about.X,
        causes=[settings_of(name, CAUSES, "cause") for name in words(given.causes) or ()] or None,
        y=about.data.labels,
        threshold=given.threshold,
        track=track_of(given, "decisions"),
        **_methods(given, about),
    )
    put(found, given)
    return 0


def debug(given: asked.Debug) -> int:
    """Run one check."""
    check_outs(given, Verdict)
    about = given_by(given, given.model, given.data)
    found = reports.debug(
        about.predict,
        about.represent,
        about.X,
        check=given.check,
        method=method_of(given.method, given.samples),
        rng=given.rng,
        track=track_of(given, "calls"),
        **_known(given, about),
    )
    put(found, given)
    return int(given.fail and not found.passed)


def audit(given: asked.Audit) -> int:
    """Run all checks that apply."""
    check_outs(given, Audit)
    model, *data = given.source
    if not data:
        check_heard(given, "checks methods samples rng", "a vd.Subject, which says it all")
    found = reports.audit(
        subject_of(given, given_by(given, model, data)) if data else subject_at(model),
        methods=methods_of(given.methods, given.samples),
        checks=words(given.checks),
        rng=given.rng,
        track=track_of(given, "checks"),
    )
    put(found, given)
    return found.exit_code


def _methods(given: asked.Evaluate | asked.Veracity, about: Given) -> dict[str, Any]:
    """Whose explanations are measured."""
    methods = methods_of(given.methods or USUAL, given.samples)
    return {"methods": methods, "classes": about.classes, "rng": given.rng}


def _known(given: asked.Debug | asked.Audit, about: Given) -> dict[str, Any]:
    """What is known of a model and its data, as checks are told it."""
    other = None if given.shifted is None else beside(given, given.shifted, about.model)
    return {
        "y": about.data.labels,
        "training": about.training,
        "region": words(given.region),
        "shifted": None if other is None else other.instances,
        "target": about.target,
        "classes": about.classes,
    }


def subject_of(given: asked.Audit, about: Given) -> Subject:
    """What an audit looks at, of a model and its data."""
    return Subject(about.predict, about.represent, about.X, **_known(given, about))


def subject_at(place: str) -> Subject:
    """The Subject at module:name or file.py:name, or what the function there gives."""
    found: Any = thing_at(place)
    if not isinstance(found, Subject) and callable(found):
        found = finished(found, f"calling {place}, without arguments,")
    if not isinstance(found, Subject):
        raise InputError(
            f"{place} is {type(found).__name__}, and a vd.Subject was wanted, or a function that gives one: "
            "subject = vd.Subject(model.predict_proba, vd.Rows(X_train), X_test); a model wants its data, too: "
            f"veridical audit {place} data.csv"
        )
    return found
