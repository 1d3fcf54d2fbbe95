"""The plugin of pytest: explanations and audits as tests. Until one is used, it imports nothing but pytest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import numpy as np

    from veridical.checks.subjects import Check, Subject, Train
    from veridical.integrations.reasons import Reasons
    from veridical.models.adapters import Explainable
    from veridical.protocols import Method, Representer
    from veridical.records import Verdict

WROTE = "veridical wrote"  # the property of a test's report that names a baseline file
WIDE = 100  # characters of a line of a check's numbers


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--veridical-update``."""
    group = parser.getgroup("veridical", "explanations")
    group.addoption(
        "--veridical-update",
        action="store_true",
        help="write the baseline files of reasons anew, instead of holding the reasons against them",
    )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Name the baseline files that were written, by whichever worker."""
    every = (each for some in terminalreporter.stats.values() for each in some)
    reports = (each for each in every if isinstance(each, pytest.TestReport))
    wrote = {str(value) for each in reports for key, value in each.user_properties if key == WROTE}
    for path in sorted(wrote):
        terminalreporter.write_line(f"veridical wrote {path}: look at what changed, and commit it")


@pytest.fixture
def explained(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    record_property: Callable[[str, object], None],
) -> Callable[..., Reasons]:
    """Explain a model over many rows: ``explained(model, X).relies_on("income").not_on("customer_id")``.

    The arguments are ``explained(model, X, background=None, representer=None, target=None, method=None, rng=0)``, and
    the assertions ``relies_on``, ``not_on``, ``reliable`` and ``like_before``.
    """

    def claim(path: Path) -> bool:
        """Whether to write a baseline file, which only one test of a run may."""
        if not request.config.getoption("--veridical-update"):
            return False
        claim_file(path, request.node.nodeid, tmp_path_factory, is_worker=hasattr(request.config, "workerinput"))
        record_property(WROTE, str(path))
        return True

    def explain(
        model: Explainable,
        X: Any,
        background: Any = None,
        representer: Representer | None = None,
        target: Any = None,
        method: Method | str | None = None,
        rng: int | np.random.Generator = 0,
    ) -> Reasons:
        __tracebackhide__ = True

        from veridical.integrations.reasons import explain_reasons

        found = explain_reasons(
            model, X, background=background, representer=representer, target=target, method=method, rng=rng
        )
        return replace(found, folder=request.path.parent, claim=claim)

    return explain


def claim_file(path: Path, test: str, factory: pytest.TempPathFactory, *, is_worker: bool) -> None:
    """Fail if another test of this run, in whichever process, has written this file."""
    __tracebackhide__ = True
    own = factory.getbasetemp()
    folder = (own.parent if is_worker else own) / "veridical-baselines"  # workers share the parent
    folder.mkdir(exist_ok=True)
    mark = folder / sha256(str(path.resolve()).encode()).hexdigest()
    try:
        with mark.open("x", encoding="utf-8") as stream:  # exclusive: only one process makes it
            stream.write(test)
    except FileExistsError:
        other = mark.read_text(encoding="utf-8")
        if other != test:
            pytest.fail(
                f"two tests write the baseline {path.name!r}, this one and {other or 'another'}: give each its own file",
                pytrace=False,
            )


@dataclass(frozen=True, eq=False)
class AuditCase:
    """One check of an audit as a test; ``run`` runs it.

    Attributes
    ----------
    name : str
        The check, and the method where its explanations are checked.
    check : callable
        Runs the check and returns a ``Result``.
    strict : bool
        Whether a check that is not clear, or does not apply, fails instead of being skipped.
    """

    name: str
    check: Callable[[], Any]
    strict: bool = False

    def run(self) -> Verdict:
        """Run the check: return its verdict, fail with its sentence, or skip with the reason.

        Returns
        -------
        Verdict
            Of a check that passed.
        """
        __tracebackhide__ = True
        from veridical.display.assessments import grounds, said_of
        from veridical.display.terminal import TERMINAL, write_lines

        result = self.check()
        outcome, said = result.outcome, said_of(result)
        words = {"unclear": "not clear: ", "skipped": "not checked: ", "error": "could not be finished: "}
        if outcome in ("unclear", "skipped") and not self.strict:
            pytest.skip(words[outcome] + said)
        if outcome != "passed":
            lines = write_lines(grounds(result.verdict, TERMINAL), WIDE) if result.verdict is not None else []
            pytest.fail("\n".join([f"{self.name}: {words.get(outcome, '')}{said}", *lines]), pytrace=False)
        found: Verdict = result.verdict
        return found


def audit_cases(
    model: Explainable | Subject,
    representer: Representer | None = None,
    X: Any = None,
    *,
    y: Any = None,
    train: Train | None = None,
    training: tuple[Any, Any] | None = None,
    region: Any = None,
    shifted: Any = None,
    methods: Any = None,
    checks: Sequence[str | Check] | None = None,
    target: Any = None,
    classes: Sequence[Any] | None = None,
    strict: bool = False,
    rng: int | np.random.Generator = 0,
) -> list[Any]:
    """Make one test case per check of an audit, for ``pytest.mark.parametrize``; nothing is run before the tests are.

    Parameters
    ----------
    model : model or Subject
        A ``vd.Subject``, or a model, as for ``vd.audit``.
    representer : Rows, Words, Superpixels or another representer
        What the features are and how they are changed, such as ``vd.Rows(X_train)``.
    X : instances
        The instances that the checks look at.
    y, train, training, region, shifted
        What is known about the model and its data: see ``vd.Subject``.
    methods : method, str, list or mapping, optional
        The methods whose explanations are checked: by default ``vd.Lime()``, and two gradient methods for networks.
    checks : sequence of str or callable, optional
        Names in ``vd.checks.CHECKS``, or functions; by default all.
    target : class, Output or callable, optional
        One output for all instances; by default the predicted class of each.
    classes : sequence, optional
        Names of the model's outputs, in their order, where the model does not know them.
    strict : bool, default False
        Fail where a check is not clear or does not apply, instead of skipping it.
    rng : int or numpy.random.Generator, default 0
        The seed: the verdicts are those of ``vd.audit`` with the same.

    Returns
    -------
    list of pytest.param
        One ``AuditCase`` per check of the model, and one per check and method.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import veridical as vd
    >>> X, y = load_wine(return_X_y=True)
    >>> cases = audit_cases(GaussianNB().fit(X, y), vd.Rows(X), X, y=y, checks=["accuracy", "randomize"])
    >>> [case.id for case in cases]
    ['accuracy', 'randomize-Lime']
    """
    from veridical.api import audit
    from veridical.checks import audits
    from veridical.checks.subjects import Subject
    from veridical.errors import InputError
    from veridical.methods.registry import resolve_names

    rest = (representer, X, y, train, training, region, shifted, target, classes)
    if isinstance(model, Subject) and any(each is not None for each in rest):
        raise InputError("a vd.Subject says it all: besides it, give methods, checks, strict and rng at most")
    subject = model if isinstance(model, Subject) else Subject(model, *rest)  # type: ignore[arg-type]
    if subject.train is not None:  # each check would train the same models again
        subject = replace(subject, train=audits.TrainOnce(subject.train))
    found = audits.choose_methods(resolve_names(methods), subject)
    silent = lambda work, total: work  # noqa: E731

    def run(check: Any, by: Any) -> Any:
        return audit(subject, methods=by, checks=[check], rng=rng, progress=silent).results[0]

    cases = []
    for name, check in audits.choose_checks(checks).items():
        own = name if name in audits.CHECKS else check
        several = (
            [("", found)] if name in audits.MODEL_CHECKS else [(title, {title: by}) for title, by in found.items()]
        )
        for title, by in several:
            label = f"{name}-{title}" if title else name
            cases.append(pytest.param(AuditCase(label, partial(run, own, by), strict), id=label))
    return cases
