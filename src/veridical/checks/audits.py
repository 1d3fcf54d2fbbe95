"""Audits: the registry of checks, one check by its name, and all checks that apply to a model."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

import joblib
import numpy as np

from veridical.checks.accuracy_checks import accuracy
from veridical.checks.answers import ask_each
from veridical.checks.label_checks import labels
from veridical.checks.leakage_checks import leakage
from veridical.checks.query_checks import fooling, sampling
from veridical.checks.randomization import randomize
from veridical.checks.reliance_checks import reliance
from veridical.checks.shift_checks import mismatch, shift
from veridical.checks.spurious_checks import spurious
from veridical.checks.subjects import MIN_INSTANCES, Check, Rng, Subject, Train
from veridical.errors import InputError, ModelError, NotApplicable, describe_error
from veridical.groundtruth.veracity import veracity
from veridical.methods.lime import Lime
from veridical.methods.results import describe, name_of
from veridical.metrics.evaluations import name_methods
from veridical.models.adapters import model_of
from veridical.models.outputs import Model, with_progress
from veridical.models.torch_modules import Network
from veridical.networks.gradients import IntegratedGradients, SmoothGrad
from veridical.protocols import Method, Predict
from veridical.records import UNCLEAR, VERSION, Record, Tabular, Verdict

MODEL, METHOD, BOTH = "model", "method", "both"  # parts of an audit
MODEL_CHECKS: dict[str, Check] = {  # of a model and its data: run once, with the first method that they can use
    "accuracy": accuracy,
    "fooling": fooling,
    "labels": labels,
    "leakage": leakage,
    "reliance": reliance,
    "shift": shift,
}
METHOD_CHECKS: dict[str, Check] = {  # of explanations: run with every method
    "mismatch": mismatch,
    "randomize": randomize,
    "sampling": sampling,
    "spurious": spurious,
    "veracity": veracity,
}
CHECKS: dict[str, Check] = {**MODEL_CHECKS, **METHOD_CHECKS}


def find_check(check: Any) -> tuple[str, Check]:
    """The name of a check, and the check."""
    if isinstance(check, str):
        if check not in CHECKS:
            raise InputError(f"no check is called {check!r}; there are {', '.join(CHECKS)}")
        return check, CHECKS[check]
    if not callable(check) or isinstance(check, type):
        raise InputError(
            f"check must be the name of a check ({', '.join(CHECKS)}), or a function of (method, subject, rng) "
            f"that returns a vd.Verdict, not {check!r}"
        )
    return str(getattr(check, "__name__", type(check).__name__)), check


def run_check(check: Any, method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Run one check of a method on a subject; the verdict names both."""
    name, function = find_check(check)
    found = function(method, subject, rng)
    if not isinstance(found, Verdict):
        raise InputError(f"the check {name} must return a vd.Verdict; it returned {type(found).__name__}")
    own = "" if name in MODEL_CHECKS else next(iter(name_methods(method)))
    return replace(found, check=found.check or name, method=found.method or own)


OUTCOMES = ("failed", "error", UNCLEAR, "passed", "skipped")  # in the order that a reader wants them


@dataclass(frozen=True, slots=True, eq=False)
class Result(Record):
    """The result of one check of one method, or why there is none.

    Attributes
    ----------
    check : str
        Name of the check.
    method : str
        Name of the method whose explanations were checked; empty where the model itself was.
    verdict : Verdict or None
        What the check found; None if it did not apply or could not be finished.
    reason : str
        Why there is no verdict.
    seconds : float
        How long the check took.
    broken : bool
        Whether the check applies, but raised an error.
    """

    check: str
    method: str
    verdict: Verdict | None
    reason: str = ""  # why there is no verdict
    seconds: float = 0.0
    broken: bool = False  # it applies, but something went wrong in it

    @property
    def part(self) -> str:
        """What the result is about: "model" (and its data) or "method" (its explanations)."""
        return METHOD if self.method else MODEL

    @property
    def outcome(self) -> str:
        """One of "passed", "failed", "unclear" (it may be either), "skipped" (it does not apply) and "error"."""
        if self.verdict is None:
            return "error" if self.broken else "skipped"
        return self.verdict.outcome


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Audit(Tabular):
    """The results of all checks of a model and of the methods that explain it.

    Attributes
    ----------
    title : str
        Model, number of instances and representer.
    results : tuple of Result
        One result per check of the model, and one per check and method.
    n_calls : int
        Number of inputs that the model was queried with.
    seconds : float
        How long all checks took.
    recipe : mapping
        Version, settings of the methods, names of the checks and seed: all that is needed to run the audit again.
    notes : tuple of str
        What a reader should know.
    fail_on : str
        Which part decides the exit code: "model", "method" or "both".
    strict : bool
        Whether a check that is not clear counts as failed.
    """

    title: str
    results: tuple[Result, ...]
    n_calls: int = 0  # inputs that the model was asked about
    seconds: float = 0.0
    recipe: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fail_on: str = BOTH
    strict: bool = False

    def __post_init__(self) -> None:
        Tabular.__post_init__(self)
        if self.fail_on not in (MODEL, METHOD, BOTH):
            raise InputError(f'fail_on is "model", "method" or "both", not {self.fail_on!r}')
        if not isinstance(self.strict, bool):
            raise InputError(f"strict is True or False, not {self.strict!r}")

    def part(self, name: str) -> Audit:
        """Return the results of one part as an audit of its own.

        Parameters
        ----------
        name : str
            "model" (the model and its data), "method" (explanations) or "both".

        Returns
        -------
        Audit
            Whose ``outcome``, ``sentence`` and ``exit_code`` are those of that part.
        """
        if name not in (MODEL, METHOD, BOTH):
            raise InputError(f'a part is "model", "method" or "both", not {name!r}')
        kept = tuple(result for result in self.results if name in (BOTH, result.part))
        return replace(self, results=kept, fail_on=BOTH)

    @property
    def exit_code(self) -> int:
        """Exit code of the command: 0 if nothing failed, 1 if a check failed or broke, 2 if nothing was decided.

        What counts is the part that ``fail_on`` names; what is not clear counts as failed where ``strict`` is set.
        """
        counts = (self if self.fail_on == BOTH else self.part(self.fail_on)).counts
        failed = counts["failed"] + counts["error"] + (counts[UNCLEAR] if self.strict else 0)
        if not counts["passed"] + counts["failed"] and not (self.strict and failed):
            return 2
        return int(failed > 0)

    @property
    def passed(self) -> bool:
        """Whether at least one check passed, and none failed or broke."""
        return self.exit_code == 0

    @property
    def outcome(self) -> str:
        """The worst outcome of any check: "failed", "error", "unclear", "passed", or "skipped" if none applied."""
        counts = self.counts
        return next((outcome for outcome in OUTCOMES if counts[outcome]), "skipped")

    @property
    def counts(self) -> dict[str, int]:
        """Number of results per outcome."""
        found = Counter(result.outcome for result in self.results)
        return {outcome: found[outcome] for outcome in OUTCOMES}

    @property
    def sentence(self) -> str:
        """The whole audit in a sentence for each part."""
        parts = {name: self.part(name) for name in (MODEL, METHOD)}
        said = [f"{SUBJECTS[name]}: {own._summary()}." for name, own in parts.items() if own.results]
        return " ".join(said) or "Nothing was checked."

    def _summary(self) -> str:
        """The results of one part in a clause."""
        counts = self.counts
        done = counts["passed"] + counts["failed"] + counts[UNCLEAR]
        finished = " that could be finished" if counts["error"] else ""
        if not done:
            words = ["nothing could be checked"]
        elif counts["failed"]:
            words = [f"{counts['failed']} of {done} check{'s' * (done > 1)} failed"]
        elif counts[UNCLEAR]:
            words = [f"{counts['passed']} of {done} check{'s' * (done > 1)} passed"]
        else:
            words = ["the check passed" if done == 1 else f"all {done} checks{finished} passed"]
        words += (
            [f"{counts[UNCLEAR]} {'is' if counts[UNCLEAR] == 1 else 'are'} not clear"] if counts[UNCLEAR] else []
        )
        words += [f"{counts['error']} could not be finished"] if counts["error"] else []
        return "; ".join(words)


SUBJECTS = {MODEL: "The model", METHOD: "Its explanations"}


@dataclass(frozen=True, slots=True, eq=False)
class CountingSubject(Subject):
    """A subject whose model counts its inputs, whichever check queries it."""

    calls: list[int] = field(default_factory=lambda: [0])
    progress: Callable[[int], None] = lambda n: None

    @property
    def checked_model(self) -> Model:
        """The predict function, its answers checked and its inputs counted."""
        return with_progress(model_of(self.model, self.classes), self._count)

    def _count(self, n: int) -> None:
        self.calls[0] += n
        self.progress(n)


@dataclass(frozen=True, eq=False)
class TrainOnce:
    """Trains each model once: the same data and seed give the same model."""

    train: Train
    known: dict[tuple[str, int], Predict] = field(default_factory=dict)

    def __call__(self, X: Any, y: Any, seed: int) -> Predict:
        key = (str(joblib.hash((X, y))), seed)
        if key not in self.known:
            self.known[key] = self.train(X, y, seed)
        return self.known[key]


def count_queries(subject: Subject, progress: Callable[[int], None]) -> CountingSubject:
    """The same subject, which counts its inputs, reports them to ``progress``, and trains no model twice."""
    known = {each.name: getattr(subject, each.name) for each in fields(subject)}
    if subject.train is not None and not isinstance(subject.train, TrainOnce):
        known["train"] = TrainOnce(subject.train)
    return CountingSubject(**known, progress=progress)


def run_checks(
    subject: Subject, methods: Mapping[str, Method], checks: Mapping[str, Check], rng: int
) -> Iterator[Result]:
    """Run each check, of explanations with each method; one that breaks is recorded, and the others go on.

    Where the model fails on some instances, ``accuracy`` says so, and the other checks go on without them.
    """
    sound, tried = subject, False
    for name, check in checks.items():
        runs = (
            [("", [*methods.values()])] if name in MODEL_CHECKS else [(title, [m]) for title, m in methods.items()]
        )
        for title, some in runs:
            found, failed = _run_once((name, check), (title, some), sound, rng)
            if failed and not tried:
                sound, tried = leave_out_failing(subject), True
                if sound is not subject:
                    found, _ = _run_once((name, check), (title, some), sound, rng)
            yield found


def leave_out_failing(subject: Subject) -> Subject:
    """The subject without the instances that the model fails on, if enough are left."""
    with suppress(ModelError):
        known = ask_each(subject, np.arange(len(subject.representer.each(subject.X))))[1]
        if MIN_INSTANCES <= known.sum() < len(known):
            return subject.select(np.flatnonzero(known))
    return subject


def _run_once(
    named: tuple[str, Check], by: tuple[str, Sequence[Method]], subject: Subject, rng: int
) -> tuple[Result, bool]:
    """The result with the first method that the check can use, and whether the model failed."""
    (name, check), (title, methods) = named, by
    start, failed, found, reasons = time.perf_counter(), False, None, list[str]()
    for each in methods:
        try:
            verdict = replace(run_check(check, each, subject, rng), check=name, method=title)
            found = Result(name, title, verdict)
            break
        except NotApplicable as cause:
            reasons.append(str(cause))
        except Exception as cause:  # a model, a method or a check of the caller's own may raise anything
            found, failed = (
                Result(name, title, None, describe_error(cause), broken=True),
                isinstance(cause, ModelError),
            )
            break
    result = found or Result(name, title, None, reasons[0])
    return replace(result, seconds=time.perf_counter() - start), failed


def choose_checks(checks: Any) -> dict[str, Check]:
    """Checks by name; by default all."""
    if checks is None:
        return dict(CHECKS)
    several = [checks] if isinstance(checks, str) or not isinstance(checks, Iterable) else list(checks)
    found = [find_check(each) for each in several]
    names = [name for name, _ in found]
    if not found or len(set(names)) < len(names):
        raise InputError(
            "two checks have the same name" if found else f"no checks: name some of {', '.join(CHECKS)}"
        )
    return dict(found)


def choose_methods(methods: Any, subject: Subject) -> dict[str, Any]:
    """Methods by name; by default LIME, and two gradient methods for networks."""
    if methods is not None:
        return name_methods(methods)
    gradients = [IntegratedGradients(), SmoothGrad()] if isinstance(subject.checked_model.predict, Network) else []
    return name_methods([Lime(), *gradients])


def build_audit(
    subject: CountingSubject,
    methods: Mapping[str, Method],
    checks: Iterable[str],
    rng: int,
    found: Sequence[Result],
    *,
    fail_on: str = BOTH,
    strict: bool = False,
) -> Audit:
    """Collect all results in an audit."""
    predict = subject.checked_model.predict
    owner = predict.module if isinstance(predict, Network) else getattr(predict, "__self__", None)
    model = name_of(predict) if owner is None else type(owner).__name__
    n = len(subject.representer.each(subject.X))
    title = f"{model} on {n:,} instances ({type(subject.representer).__name__})"
    recipe = {
        "veridical": VERSION,
        "methods": {name: describe(method) for name, method in methods.items()},
        "checks": list(checks),
        "rng": rng,
    }
    seconds = sum(each.seconds for each in found)
    return Audit(title, tuple(found), subject.calls[0], seconds, recipe, fail_on=fail_on, strict=strict)
