"""All checks that apply to a model, in one go: the records, and how they are made."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import joblib

from veridical.attribute.ask import Model, heard
from veridical.attribute.gradients import SmoothGrad
from veridical.attribute.lime import Lime
from veridical.attribute.models import model_of
from veridical.attribute.network import Network
from veridical.attribute.paths import IntegratedGradients
from veridical.attribute.recipe import name_of, recipe_of
from veridical.debug import CHECKS
from veridical.debug.records import Check, Subject, Train
from veridical.debug.run import check_of, run
from veridical.errors import InputError, NotApplicable, describe_error
from veridical.evaluate.report import named
from veridical.records import VERSION, Method, Predict, Record, Seen, Verdict

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = ("failed", "error", "passed", "skipped")  # in the order that a reader wants them


@dataclass(frozen=True, slots=True, eq=False)
class Result(Record):
    """What one check says of one method, or why it says nothing."""

    check: str
    method: str
    verdict: Verdict | None
    reason: str = ""  # why there is no verdict
    seconds: float = 0.0
    broken: bool = False  # it applies, but something went wrong in it

    @property
    def outcome(self) -> str:
        """ "passed", "failed", "skipped" (it does not apply) or "error" (it could not be finished)."""
        if self.verdict is None:
            return "error" if self.broken else "skipped"
        return "passed" if self.verdict.passed else "failed"


@dataclass(frozen=True, slots=True, eq=False)
class Audit(Seen):
    """What all checks say of a model and of the methods that explain it."""

    title: str
    results: tuple[Result, ...]
    n_calls: int = 0  # inputs that the model was asked about
    seconds: float = 0.0
    recipe: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """Of the command: 0 if all passed, 1 if a check failed or broke, 2 if nothing could be checked."""
        counts = self.counts
        if not counts["passed"] + counts["failed"]:
            return 2
        return int(counts["failed"] + counts["error"] > 0)

    @property
    def passed(self) -> bool:
        """Whether something was checked, and nothing wrong was found."""
        return self.exit_code == 0

    @property
    def counts(self) -> dict[str, int]:
        """How many results have each outcome."""
        found = Counter(result.outcome for result in self.results)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    @property
    def sentence(self) -> str:
        """The whole audit in one line."""
        counts, done = self.counts, sum(result.verdict is not None for result in self.results)
        finished = " that could be finished" if counts["error"] else ""
        if not done:
            words = ["Nothing could be checked"]
        elif counts["failed"]:
            words = [f"{counts['failed']} of {done} checks failed"]
        else:
            words = ["The check passed" if done == 1 else f"All {done} checks{finished} passed"]
        words += [f"{counts['error']} could not be finished"] if counts["error"] else []
        words += [f"{counts['skipped']} did not apply"] if counts["skipped"] else []
        return "; ".join(words) + "."

    def to_frame(self) -> pd.DataFrame:
        """One line a check and method."""
        from veridical.frames import audit_frame

        return audit_frame(self)

    def __repr__(self) -> str:
        from veridical.render.audits import audit_picture

        return audit_picture(self)


@dataclass(frozen=True, eq=False)
class Checking:
    """All that is to be checked."""

    subject: Counted
    methods: Mapping[str, Method]
    checks: Mapping[str, Check]
    rng: int

    def __len__(self) -> int:
        return len(self.methods) * len(self.checks)


@dataclass(frozen=True, slots=True, eq=False)
class Counted(Subject):
    """A subject whose own model counts what it is asked, whichever check asks."""

    calls: list[int] = field(default_factory=lambda: [0])
    hear: Callable[[int], None] = lambda n: None

    @property
    def model(self) -> Model:
        """The predict function, its answers checked and its inputs counted."""
        return heard(model_of(self.predict, self.classes), self._count)

    def _count(self, n: int) -> None:
        self.calls[0] += n
        self.hear(n)


@dataclass(frozen=True, eq=False)
class _Once:
    """Trains a model once, whichever methods and checks ask for it: the same data and seed give the same model."""

    train: Train
    known: dict[tuple[str, int], Predict] = field(default_factory=dict)

    def __call__(self, X: Any, y: Any, seed: int) -> Predict:
        key = (str(joblib.hash((X, y))), seed)
        if key not in self.known:
            self.known[key] = self.train(X, y, seed)
        return self.known[key]


def counted(subject: Subject, hear: Callable[[int], None]) -> Counted:
    """The same subject, counting and telling ``hear`` what it is asked, and training no model twice."""
    once = subject if subject.train is None else replace(subject, train=_Once(subject.train))
    known = {each.name: getattr(once, each.name) for each in fields(once)}
    return Counted(**known, hear=hear)


def results(plan: Checking) -> Iterator[Result]:
    """Check after check, each by every method; whatever goes wrong in one is told, and the others go on."""
    for name, check in plan.checks.items():
        for title, method in plan.methods.items():
            start = time.perf_counter()
            found = _result(name, title, check, method, plan)
            yield replace(found, seconds=time.perf_counter() - start)


def _result(name: str, title: str, check: Check, method: Method, plan: Checking) -> Result:
    try:
        verdict = run(check, method, plan.subject, plan.rng)
    except NotApplicable as cause:
        return Result(name, title, None, str(cause))
    except Exception as cause:  # a model, a method or a check of the caller's own may raise anything
        return Result(name, title, None, f"{describe_error(cause)}", broken=True)
    return Result(name, title, replace(verdict, check=name, method=title))


def checks_of(checks: Any) -> dict[str, Check]:
    """Checks by name or as they are; by default all."""
    if checks is None:
        return dict(CHECKS)
    several = [checks] if isinstance(checks, str) or not isinstance(checks, Iterable) else list(checks)
    found = [check_of(each) for each in several]
    names = [name for name, _ in found]
    if not found or len(set(names)) < len(names):
        raise InputError(
            "two checks have the same name" if found else f"no checks: name some of {', '.join(CHECKS)}"
        )
    return dict(found)


def methods_of(methods: Any, subject: Subject) -> dict[str, Any]:
    """Methods by name; by default LIME, and two that need gradients where there are some."""
    if methods is not None:
        return named(methods)
    gradients = [IntegratedGradients(), SmoothGrad()] if isinstance(subject.model.predict, Network) else []
    return named([Lime(), *gradients])


def audited(plan: Checking, found: Sequence[Result]) -> Audit:
    """The audit of all results."""
    subject, n = plan.subject, len(plan.subject.represent.each(plan.subject.X))
    predict = subject.model.predict
    owner = predict.module if isinstance(predict, Network) else getattr(predict, "__self__", None)
    model = name_of(predict) if owner is None else type(owner).__name__
    title = f"{model} on {n:,} instances ({type(subject.represent).__name__})"
    return Audit(title, tuple(found), subject.calls[0], sum(r.seconds for r in found), _recipe(plan))


def _recipe(plan: Checking) -> dict[str, Any]:
    return {
        "veridical": VERSION,
        "methods": {name: recipe_of(method) for name, method in plan.methods.items()},
        "checks": list(plan.checks),
        "rng": plan.rng,
    }
