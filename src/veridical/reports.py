"""The border of scores and checks: how good explanations are, and whether they would show a broken model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.attribute.ask import heard
from veridical.attribute.given import checked_representer, seed_of
from veridical.attribute.many import Track
from veridical.attribute.models import Explainable, model_of
from veridical.attribute.targets import check_single
from veridical.debug import CHECKS
from veridical.debug.adversary.records import Decision
from veridical.debug.audit import Audit, Checking, audited, checks_of, counted, methods_of, results
from veridical.debug.chosen import method_of, methods_called
from veridical.debug.records import Check, Subject, Train
from veridical.debug.run import run
from veridical.debug.veracity.plan import examination
from veridical.debug.veracity.report import examined
from veridical.debug.veracity.trials import outcomes
from veridical.errors import InputError
from veridical.evaluate import METRICS
from veridical.evaluate.records import Metric, Report
from veridical.evaluate.report import checked_truth, chosen, named, reported
from veridical.evaluate.trials import Evaluation, trials
from veridical.keywords import teach_keywords
from veridical.records import Method, Predict, Representer, Verdict
from veridical.render.progress import Progress, beating, counting


@teach_keywords
def evaluate(
    predict: Explainable,
    represent: Representer,
    X: Any,
    *,
    methods: Any,
    metrics: Sequence[str | Metric] | None = None,
    truth: Sequence[Any] | None = None,
    randomized: Explainable | None = None,
    target: Any = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    track: Track | None = None,
) -> Report:
    """Measure how good the explanations of methods are, beside explanations that know nothing.

    ``methods`` are settings such as ``[vd.Lime(), vd.KernelShap()]``, or a mapping of names to them. ``metrics``
    are names (all that apply by default), or ``vd.Metric`` objects of your own. Each metric is also measured on a
    random explanation, on a constant one (both as heavy as the median of the methods'), and on each method's own
    weights shuffled over the parts.

    ``truth`` says what matters, an item an instance: a bool a part, names of parts or columns, or an array of the
    shape of the picture, series or spectrogram. ``randomized`` is the predict function of the same model with
    random parameters. ``target`` is one for all instances; by default the class that is predicted for each.

    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> def predict(X):
    ...     return 3 * X[:, 0] + X[:, 1]
    >>> report = vd.evaluate(predict, vd.Rows(X), X[:12], methods=vd.Lime(), metrics=["correlation"])
    >>> report.sentences
    ('correlation (higher is better): Lime has 0.371.',)
    """
    model = model_of(predict, classes)
    instances = checked_representer(represent).each(X)
    check_single(target, model.classes, "evaluate explains one target per instance; call it once for each target")
    found = {name: method_of(method) for name, method in named(methods_called(methods)).items()}
    track = track or Progress()
    plan = Evaluation(
        model=heard(model, beating(track)),
        represent=represent,
        instances=instances,
        methods=found,
        metrics=chosen(metrics, truth=truth is not None, randomized=randomized is not None),
        target=target,
        seed=seed_of(rng),
        truth=checked_truth(truth, instances),
        randomized=None if randomized is None else model_of(randomized, classes),
    )
    return reported(plan, list(track(trials(plan), total=len(instances))))


@teach_keywords
def veracity(
    predict: Explainable,
    represent: Representer,
    X: Any,
    *,
    methods: Any,
    causes: Any = None,
    y: Any = None,
    threshold: float | None = None,
    wanted: Any = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    track: Track | None = None,
) -> Report:
    """Change instances until the model decides wrongly, and ask whether explanations name what was changed.

    The cause of each wrong decision is known: a small change that was searched for, or other content in known
    parts. ``methods`` see the model and the changed instance only, and explain the label that is wrong now; the
    parts that they give the most weight are held against the truth (Praher et al. 2021, and more), beside rows
    that know it (the size of the change in each part, a greedy oracle) and rows that know nothing.

    ``causes`` are kinds such as ``[vd.Pgd(), vd.NoisyParts()]``, or a mapping of names to them; by default some
    that fit the instances and the model. ``threshold`` is where a single output, or the second of two, makes the
    decision. ``wanted`` is the label that each decision is turned into; by default the other one, or the class
    that comes next. With ``y``, instances that the model decides wrongly by itself are left out.

    >>> import numpy as np
    >>> import veridical as vd
    >>> def predict(pictures):
    ...     return 1 / (1 + np.exp(-pictures[:, 2:4, 2:4].sum(axis=(1, 2))))
    >>> X = np.random.default_rng(0).normal(size=(12, 8, 8))
    >>> report = vd.veracity(predict, vd.Grid(4, 4), X, methods=vd.Undo(), causes=vd.SwappedParts())
    >>> report.findings
    ('Undo: the heaviest part is guilty in 100 % of SwappedParts (random parts: 25 %).',)
    """
    found = {name: method_of(method) for name, method in named(methods_called(methods)).items()}
    track = track or Progress("decisions")
    model = heard(model_of(predict, classes), beating(track))
    asked, decision = (model, checked_representer(represent), X), Decision(threshold)
    plan = examination(asked, found, causes, y=y, decision=decision, wanted=wanted, seed=seed_of(rng))
    return examined(plan, list(track(outcomes(plan), total=len(plan))))


@teach_keywords
def debug(
    predict: Explainable,
    represent: Representer,
    X: Any,
    *,
    check: str | Check = "randomize",
    method: Method | str | None = None,
    y: Any = None,
    train: Train | None = None,
    training: tuple[Any, Any] | None = None,
    region: Any = None,
    shifted: Any = None,
    target: Any = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    track: Track | None = None,
) -> Verdict:
    """Ask whether explanations would show a broken model, or whether this one is.

    ``check`` is a name in ``veridical.debug.CHECKS``, or a function ``(method, subject, rng) -> Verdict`` of your
    own. The verdict passed if nothing wrong was found; ``nulls`` are what explanations that know nothing get.
    What else is given is what ``vd.Subject`` says of it; a check that misses something raises
    ``vd.NotApplicable``, which says what to give.

    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import veridical as vd
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> method = vd.Lime(n_samples=256)
    >>> vd.debug(model.predict_proba, vd.Rows(X), X, y=y, check="randomize", method=method).passed
    True
    """
    subject = Subject(predict, represent, X, y, train, training, region, shifted, target, classes)
    with counting(track or Progress("calls")) as hear:
        return run(check, method_of(method), counted(subject, hear), rng)


@teach_keywords
def audit(
    predict: Predict | Subject,
    represent: Representer | None = None,
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
    rng: int | np.random.Generator = 0,
    track: Track | None = None,
) -> Audit:
    """Run all checks of ``debug`` that apply to a model and its data, before it is shipped.

    ``vd.audit(subject)`` takes a ``vd.Subject``; without one, the arguments are those of ``vd.Subject``. The more
    is given, the more can be checked; a check that does not apply says what it needs. ``methods`` are those whose
    explanations are checked: by default ``vd.Lime()``, and two that need gradients for a network. Each verdict is
    the one that ``vd.debug`` gives with the same ``rng``. ``exit_code`` is 0 if all passed, 1 if a check failed
    or could not be finished, 2 if nothing could be checked; ``save`` writes .html, .json, .xml (JUnit), .csv and
    more.

    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import veridical as vd
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> found = vd.audit(model.predict_proba, vd.Rows(X), X, y=y, checks=["randomize"])
    >>> found.sentence
    'The check passed.'
    """
    given = (represent, X, y, train, training, region, shifted, target, classes)
    subject = predict if isinstance(predict, Subject) else Subject(predict, *given)  # type: ignore[arg-type]
    if subject is predict and any(each is not None for each in given):
        raise InputError("a vd.Subject says it all: besides it, give methods, checks and rng at most")
    found = {name: method_of(method) for name, method in methods_of(methods, subject).items()}
    entropy: Any = seed_of(rng).entropy
    track = track or Progress("checks")
    plan = Checking(counted(subject, beating(track)), found, checks_of(checks), int(entropy))
    return audited(plan, list(track(results(plan), total=len(plan))))


# ``vd.evaluate`` and ``vd.debug`` stand before packages of those names: their registries are found there, too.
evaluate.METRICS = METRICS  # type: ignore[attr-defined]
debug.CHECKS = CHECKS  # type: ignore[attr-defined]
