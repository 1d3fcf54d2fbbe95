"""Every public function: arguments are checked once, defaults filled in, and the rooms called."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, overload

import numpy as np

from veridical.checks import audits
from veridical.checks.audits import Audit
from veridical.checks.subjects import Check, Subject, Train
from veridical.comparisons.alignment import RowSet, match_rows, pair_rows
from veridical.comparisons.differences import Difference, differ, differ_over_rows
from veridical.display.progress import Progress, beating, counting
from veridical.errors import InputError, ModelError, RowsFailedWarning, VeridicalError, check_whole, teach_keywords
from veridical.groundtruth import CAUSES
from veridical.groundtruth.causes import Cause, CauseKind, Decision, choose_aim
from veridical.groundtruth.trials import examine_causes
from veridical.groundtruth.veracity import build_veracity_report, check_kind, plan_veracity
from veridical.methods.flips import Flips, find_flips
from veridical.methods.lime import Lime
from veridical.methods.many import CHUNK, Plan, ProgressCallback, explain_all, explain_each
from veridical.methods.registry import METHODS, SETTINGS, choose_settings, resolve_names
from veridical.methods.results import restore
from veridical.metrics.belief import judge_belief
from veridical.metrics.evaluations import (
    Evaluation,
    build_report,
    check_truth,
    choose_metrics,
    evaluate_instances,
    name_methods,
)
from veridical.metrics.reports import Metric, Report
from veridical.metrics.scenes import own_batch
from veridical.models.adapters import Explainable, model_of
from veridical.models.outputs import VALUE, Model, with_progress
from veridical.models.targets import predict_classes, target_of_recipe
from veridical.models.validation import (
    check_explanations,
    check_list,
    check_request,
    explanations_of,
    get_row_name,
    name_unseen,
    one_thread,
    seed_of,
)
from veridical.protocols import Limited, Method, Representer
from veridical.records import Explanation, Explanations, Verdict
from veridical.scale.driver import BLOCKS, Job, Run, explain_here, explain_in_memory, explain_into
from veridical.scale.engines.local import Engine, check_engine
from veridical.scale.sources import instance_source, paths_of, refuse_foreign
from veridical.scale.stores.store import Store, instances_of, load
from veridical.storage.exchange import read_attributions
from veridical.summaries.groupings import GROUPINGS
from veridical.summaries.groupings.groups import Grouping, GroupingRequest, group_all
from veridical.summaries.groupings.mixture import Mixture
from veridical.summaries.groupings.tasks import Groups

NO_METHODS = (*GROUPINGS.values(), *CAUSES.values())  # settings for another purpose
_choose_method = partial(
    choose_settings, default=Lime(), example="vd.Lime(n_samples=2000)", others=NO_METHODS, known=METHODS
)


@teach_keywords
def attributions(
    names: Iterable[str],
    weights: Any,
    *,
    intercept: Any = None,
    prediction: Any = None,
    values: Any = None,
    rows: Any = None,
    target: Any = VALUE,
    method: str = "attributions",
    intervals: Any = None,
) -> Explanation | Explanations:
    """Read weights that another library made, such as lime or captum, as explanations.

    They can then be shown, compared, picked, watched and saved as any others. What nobody measured is not made up:
    the label of the verdict is "unchecked", and weights without intervals count as not measured.
    ``vd.compat.from_shap`` reads what shap gives.

    Parameters
    ----------
    names : sequence of str
        The features (d,), such as the columns of a table.
    weights : array (d,) or (n, d)
        Their weights: of one row, or of many; nan where a feature was not tested.
    intercept : number or array (n,), optional
        The base value. Where it is given, the local prediction is the intercept plus all weights.
    prediction : number or array (n,), optional
        What the model says. Whether intercept and weights add up to it is then checked, and said in a note.
    values : sequence (d,), (n, d) or DataFrame, optional
        The rows' own values.
    rows : object or sequence (n,), optional
        Names of the rows, by which they are matched with those of other explanations.
    target : class or sequence (n,), default "value"
        What is explained, such as the name of a class.
    method : str, default "attributions"
        The name of what made the weights.
    intervals : array (d, 2) or (n, d, 2), or 0, optional
        95 % confidence intervals; 0 says that the weights are exact.

    Returns
    -------
    Explanation or Explanations
        One explanation of weights (d,), as many as there are rows of weights (n, d).

    Raises
    ------
    InputError
        If the lengths disagree, a name comes twice, or weights are no numbers.

    Examples
    --------
    >>> import veridical as vd
    >>> why = vd.attributions(["age", "debt"], [0.3, -0.1], intercept=0.5, prediction=0.7, values=[41, 1200])
    >>> why.top(1), round(why.local_prediction, 2), why.verdict.label
    ([('age = 41', 0.3)], 0.7, 'unchecked')
    """
    return read_attributions(names, weights, intercept, prediction, values, rows, target, method, intervals)


@teach_keywords
def believe(
    model: Explainable,
    representer: Representer,
    x: Any,
    why: Explanation,
    *,
    target: Any = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    progress: ProgressCallback | None = None,
) -> Verdict:
    """Estimate how probable it is that the heaviest feature of an explanation caused the output.

    Features are removed in several ways that fail differently, and the verdict rests on how far these agree with
    the explanation, whatever method it is by. It says nothing about outputs that many features cause together.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input.
    representer : Rows, Words, Superpixels or another representer
        What the features are and how they are changed, such as ``vd.Rows(X_train)``.
    x : instance
        The instance that was explained.
    why : Explanation
        The explanation to test.
    target : class, Output or callable, optional
        Needed where the target of the explanation was a function.
    classes : sequence, optional
        Names of the model's outputs, in their order, where the model does not know them.
    rng : int or numpy.random.Generator, default 0
        The seed: the same seed gives the same result, bit by bit.
    progress : callable, optional
        Wraps the iteration, as ``tqdm.tqdm`` does; ``lambda work, total: work`` is silent. By default a bar appears
        in terminals and notebooks after a second.

    Returns
    -------
    Verdict
        ``observed`` is the probability, ``measures`` are the numbers behind it.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> def predict(pictures):
    ...     return 1 / (1 + np.exp(-pictures[:, 2:4, 2:4].sum(axis=(1, 2))))
    >>> x = np.zeros((8, 8))
    >>> x[2:4, 2:4] = 1.0
    >>> parts = vd.Grid(4, 4)
    >>> vd.believe(predict, parts, x, vd.explain(predict, parts, x, method=vd.methods.Undo())).passed
    True
    """
    if not isinstance(why, Explanation):
        raise InputError(f"why wants an explanation, as vd.explain gives it, not {type(why).__name__}")
    asked = check_request(model, representer, classes=classes, rng=rng)
    with _count_calls(asked.model, progress) as own:
        return judge_belief(own, asked.representer(x), why, target=target, seed=asked.seed)


@teach_keywords
def compare(first: Any, second: Any, *, names: Sequence[str] = ("first", "second")) -> Difference:
    """Compare two explanations: two models, two classes, two rows, or before and after.

    Rows are matched by their names (index labels, ids) where both sides have names, and by position where they have
    none. Columns of tables are compared column by column and words by what they are; regions of pictures, sounds
    and series must lie at the same places. Give the two sides different seeds (``rng``): their noise is then
    independent, and smaller differences can be found. In wide tables, explain the row with several seeds on each
    side, and give the two lists.

    Parameters
    ----------
    first, second : Explanation, Explanations, Store, list or path
        The two sides: one explanation each, or many of the same rows. A store is read a little at a time; a path is
        that of a store or of a file that either was saved in.
    names : pair of str, default ("first", "second")
        What to call the two sides.

    Returns
    -------
    Difference
        The second minus the first, with intervals; ``larger`` says which features differ by more than the noise.

    Raises
    ------
    InputError
        If the two sides do not explain the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> rows = vd.Rows(X, names=["age", "height", "debt"])
    >>> old = vd.explain(lambda X: X[:, 0] + X[:, 2], rows, X[0])
    >>> new = vd.explain(lambda X: X[:, 0] - X[:, 2], rows, X[0], rng=1)
    >>> found = vd.compare(old, new, names=("old", "new"))
    >>> [name for name, larger in zip(found.names, found.larger) if larger]
    ['debt = 0.6404']
    """
    a, b = _read("first", first), _read("second", second)
    titles = tuple(names) if isinstance(names, (list, tuple)) else ()
    if (
        len(titles) != 2
        or not all(isinstance(name, str) and name.strip() for name in titles)
        or titles[0] == titles[1]
    ):
        raise InputError(f'names are two different texts, such as ("before", "after"), not {names!r}')
    if isinstance(a, Explanation) and isinstance(b, Explanation):
        return differ(a, b, titles)
    if not isinstance(a, Explanation) and not isinstance(b, Explanation):
        one, other, notes = match_rows(_row_set(a), _row_set(b))
        if one.n_rows != other.n_rows:
            raise InputError(
                "both must explain the same rows in the same order, but there are "
                f"{one.n_rows} explanations and {other.n_rows}"
            )
        found = differ_over_rows((one.source, other.source), one.n_rows, pair_rows(one, other), titles)
        return replace(found, notes=(*notes, *found.notes))
    kinds = [
        f"one {type(each).__name__}" if isinstance(each, Explanation) else f"{len(each)} of them"
        for each in (a, b)
    ]
    raise InputError(f"compare wants one explanation and one, or many and as many, not {kinds[0]} and {kinds[1]}")


def _read(which: str, given: Any) -> Explanation | Explanations | Store:
    """An explanation or many, given or saved."""
    if isinstance(given, (str, Path)):
        found = load(given)
        if isinstance(found, (Explanation, Explanations, Store)):
            return found
        raise InputError(f"{str(given)!r} holds one {type(found).__name__}, and explanations were wanted")
    if isinstance(given, (Explanation, Explanations, Store)):
        return given
    return Explanations(explanations_of(which, given))


def _row_set(many: Explanations | Store) -> RowSet:
    """Explanations of many rows, as they are compared."""
    if isinstance(many, Explanations):
        return RowSet.in_memory(many)
    return RowSet(many, many.row_names(), many.n_rows, many.numbered, complete=bool(many.manifest["complete"]))


@teach_keywords
def causes(
    model: Explainable,
    representer: Representer,
    X: Any,
    *,
    kind: CauseKind,
    threshold: float | None = None,
    wanted: Any = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    progress: ProgressCallback | None = None,
) -> tuple[Cause, ...]:
    """Change instances until the model decides otherwise: one cause per instance, with what was changed.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input.
    representer : Rows, Words, Superpixels or another representer
        What the features are and how they are changed, such as ``vd.Rows(X_train)``.
    X : instances
        The instances to change.
    kind : kind of cause
        How they are changed, such as ``vd.attacks.Pgd()`` or ``vd.edits.NoisyParts()``.
    threshold : float, optional
        Where a single output, or the second of two, makes the decision; by default 0.5.
    wanted : class or sequence, optional
        The class that each decision is turned into; by default the other one, or the next class.
    classes : sequence, optional
        Names of the model's outputs, in their order, where the model does not know them.
    rng : int or numpy.random.Generator, default 0
        The seed: the same seed gives the same result, bit by bit.
    progress : callable, optional
        Wraps the iteration, as ``tqdm.tqdm`` does; ``lambda work, total: work`` is silent. By default a bar appears
        in terminals and notebooks after a second.

    Returns
    -------
    tuple of Cause
        The instance ``x``, its ``changed`` copy, the ``label`` of the one and the ``wanted`` label of the other.
        Where no cause was found, ``success`` is False and ``reason`` says why.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> def predict(pictures):
    ...     return 1 / (1 + np.exp(-pictures[:, 2:4, 2:4].sum(axis=(1, 2))))
    >>> X = np.random.default_rng(0).normal(size=(4, 8, 8))
    >>> found = vd.causes(predict, vd.Grid(4, 4), X, kind=vd.edits.DrawnShape())
    >>> found[0].label, found[0].wanted, found[0].success
    (0, 1, True)
    """
    search = check_kind(kind, "kind")
    asked = check_request(model, representer, classes=classes, rng=rng)
    with _count_calls(asked.model, progress) as own:
        aim = choose_aim(own, asked.representer, X, decision=Decision(threshold), wanted=wanted)
        return search(aim, asked.seed)


@teach_keywords
def evaluate(
    model: Explainable,
    representer: Representer,
    X: Any,
    *,
    methods: Any,
    metrics: Sequence[str | Metric] | None = None,
    truth: Sequence[Any] | None = None,
    randomized: Explainable | None = None,
    target: Any = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    progress: ProgressCallback | None = None,
) -> Report:
    """Measure how good the explanations of methods are, beside null baselines.

    Each metric is also measured on a random explanation, on a constant one (both as heavy as the median of the
    methods'), and on each method's own weights shuffled over the features.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input.
    representer : Rows, Words, Superpixels or another representer
        What the features are and how they are changed, such as ``vd.Rows(X_train)``.
    X : instances
        The instances to explain.
    methods : method, str, list or mapping
        The methods to examine, such as ``[vd.Lime(), vd.KernelShap()]``, or a mapping of names to them.
    metrics : sequence of str or Metric, optional
        Names of metrics, or ``vd.metrics.Metric`` objects; by default all that apply.
    truth : sequence, optional
        What matters in each instance: one bool per feature, names of features or columns, or an array of the shape
        of the picture, series or spectrogram.
    randomized : model, optional
        The same model with random parameters, for metrics that compare with it.
    target : class, Output or callable, optional
        One output for all instances; by default the predicted class of each.
    classes : sequence, optional
        Names of the model's outputs, in their order, where the model does not know them.
    rng : int or numpy.random.Generator, default 0
        The seed: the same seed gives the same result, bit by bit.
    progress : callable, optional
        Wraps the iteration, as ``tqdm.tqdm`` does; ``lambda work, total: work`` is silent. By default a bar appears
        in terminals and notebooks after a second.

    Returns
    -------
    Report
        One score per metric and method, with intervals; ``sentences`` say who is best.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> def predict(X):
    ...     return 3 * X[:, 0] + X[:, 1]
    >>> report = vd.evaluate(predict, vd.Rows(X), X[:12], methods=vd.Lime(), metrics=["correlation"])
    >>> report.sentences
    ('correlation (higher is better): Lime has 1.',)
    """
    single = "evaluate takes one target for all instances; call it once for each"
    asked = check_request(model, representer, target=target, classes=classes, rng=rng, single=single)
    instances = asked.representer.each(X)
    found = _choose_methods(methods)
    progress = progress or Progress()
    plan = Evaluation(
        model=with_progress(asked.model, beating(progress)),
        represent=asked.representer,
        instances=instances,
        methods=found,
        metrics=choose_metrics(metrics, truth=truth is not None, randomized=randomized is not None),
        target=target,
        seed=asked.seed,
        truth=check_truth(truth, instances),
        randomized=None if randomized is None else model_of(randomized, classes),
    )
    return build_report(plan, list(progress(evaluate_instances(plan), total=len(instances))))


@teach_keywords
def veracity(
    model: Explainable,
    representer: Representer,
    X: Any,
    *,
    methods: Any,
    causes: Any = None,
    y: Any = None,
    threshold: float | None = None,
    wanted: Any = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    progress: ProgressCallback | None = None,
) -> Report:
    """Change instances until the model decides wrongly, and test whether explanations name what was changed.

    The cause of each wrong decision is known: a small adversarial change, or other content in known features. The
    methods see the model and the changed instance alone, and explain the wrong label; the features to which they
    give the most weight are compared with the truth (Praher et al. 2021, and more), beside references that know it
    (the size of the change in each feature, a greedy oracle) and null baselines.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input.
    representer : Rows, Words, Superpixels or another representer
        What the features are and how they are changed, such as ``vd.Rows(X_train)``.
    X : instances
        The instances to change.
    methods : method, str, list or mapping
        The methods to examine, such as ``[vd.Lime(), vd.KernelShap()]``, or a mapping of names to them.
    causes : kind of cause, list or mapping, optional
        Kinds such as ``[vd.attacks.Pgd(), vd.edits.NoisyParts()]``, or a mapping of names to them; by default some
        that fit the instances and the model.
    y : sequence, optional
        The right answers: instances that the model decides wrongly by itself are left out.
    threshold : float, optional
        Where a single output, or the second of two, makes the decision; by default 0.5.
    wanted : class or sequence, optional
        The class that each decision is turned into; by default the other one, or the next class.
    classes : sequence, optional
        Names of the model's outputs, in their order, where the model does not know them.
    rng : int or numpy.random.Generator, default 0
        The seed: the same seed gives the same result, bit by bit.
    progress : callable, optional
        Wraps the iteration, as ``tqdm.tqdm`` does; ``lambda work, total: work`` is silent. By default a bar appears
        in terminals and notebooks after a second.

    Returns
    -------
    Report
        With ``references``, ``curves``, ``findings`` (one sentence per method) and ``examples``.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> def predict(pictures):
    ...     return 1 / (1 + np.exp(-pictures[:, 2:4, 2:4].sum(axis=(1, 2))))
    >>> X = np.random.default_rng(0).normal(size=(12, 8, 8))
    >>> report = vd.veracity(predict, vd.Grid(4, 4), X, methods=vd.methods.Undo(), causes=vd.edits.SwappedParts())
    >>> report.findings
    ('Undo: the heaviest feature is guilty in 100 % of SwappedParts (random features: 25 %).',)
    """
    found = _choose_methods(methods)
    progress = progress or Progress("decisions")
    asked = check_request(model, representer, classes=classes, rng=rng)
    data = (with_progress(asked.model, beating(progress)), asked.representer, X)
    decision = Decision(threshold)
    plan = plan_veracity(data, found, causes, y=y, decision=decision, wanted=wanted, seed=asked.seed)
    return build_veracity_report(plan, list(progress(examine_causes(plan), total=len(plan))))


@teach_keywords
def debug(
    model: Explainable,
    representer: Representer,
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
    progress: ProgressCallback | None = None,
) -> Verdict:
    """Run one check: whether explanations would show a broken model, or whether this model is broken.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input.
    representer : Rows, Words, Superpixels or another representer
        What the features are and how they are changed, such as ``vd.Rows(X_train)``.
    X : instances
        The instances that the check looks at.
    check : str or callable, default "randomize"
        A name in ``vd.checks.CHECKS``, or a function ``(method, subject, rng) -> Verdict``.
    method : method or str, optional
        Settings such as ``vd.KernelShap()``, or a name such as "kernel_shap"; by default ``vd.Lime()``.
    y, train, training, region, shifted
        What is known about the model and its data: see ``vd.Subject``.
    target : class, Output or callable, optional
        One output for all instances; by default the predicted class of each.
    classes : sequence, optional
        Names of the model's outputs, in their order, where the model does not know them.
    rng : int or numpy.random.Generator, default 0
        The seed: the same seed gives the same result, bit by bit.
    progress : callable, optional
        Wraps the iteration, as ``tqdm.tqdm`` does; ``lambda work, total: work`` is silent. By default a bar appears
        in terminals and notebooks after a second.

    Returns
    -------
    Verdict
        Passed if nothing wrong was found; ``nulls`` are what null baselines get.

    Raises
    ------
    NotApplicable
        If the check needs something that was not given; the message says what.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import veridical as vd
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> method = vd.Lime(n_samples=256)
    >>> vd.debug(model.predict_proba, vd.Rows(X), X, y=y, check="randomize", method=method).passed
    True
    """
    subject = Subject(model, representer, X, y, train, training, region, shifted, target, classes)
    with counting(progress or Progress("calls")) as report:
        return audits.run_check(check, _choose_method(method), audits.count_queries(subject, report), rng)


@teach_keywords
def audit(
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
    fail_on: str = "both",
    strict: bool = False,
    rng: int | np.random.Generator = 0,
    progress: ProgressCallback | None = None,
) -> Audit:
    """Run all checks that apply to a model and its data, before it is shipped.

    The more is given, the more can be checked; a check that does not apply says what it needs. Each verdict is the
    one that ``vd.debug`` gives with the same ``rng``.

    Parameters
    ----------
    model : model or Subject
        A ``vd.Subject``, which holds all that follows up to ``classes``; or a model, as for ``vd.explain``.
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
    fail_on : {"both", "model", "method"}, default "both"
        Which part decides the exit code: checks of the model and its data, or of its explanations.
    strict : bool, default False
        Count checks that are not clear as failed.
    rng : int or numpy.random.Generator, default 0
        The seed: the same seed gives the same result, bit by bit.
    progress : callable, optional
        Wraps the iteration, as ``tqdm.tqdm`` does; ``lambda work, total: work`` is silent. By default a bar appears
        in terminals and notebooks after a second.

    Returns
    -------
    Audit
        ``exit_code`` is 0 if nothing failed, 1 if a check failed or broke, 2 if nothing could be decided;
        ``part("model")`` and ``part("method")`` are its two parts; ``save`` writes .html, .json, .xml (JUnit), .csv
        and more.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import veridical as vd
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GaussianNB().fit(X, y)
    >>> found = vd.audit(model.predict_proba, vd.Rows(X), X, y=y, checks=["randomize"])
    >>> found.sentence
    'Its explanations: the check passed.'
    """
    rest = (representer, X, y, train, training, region, shifted, target, classes)
    subject = model if isinstance(model, Subject) else Subject(model, *rest)  # type: ignore[arg-type]
    if subject is model and any(each is not None for each in rest):
        raise InputError(
            "a vd.Subject says it all: besides it, give methods, checks, fail_on, strict and rng at most"
        )
    Audit("", (), fail_on=fail_on, strict=strict)  # refuses what they cannot be, before anything is run
    found = {name: _choose_method(method) for name, method in audits.choose_methods(methods, subject).items()}
    entropy: Any = seed_of(rng).entropy
    progress = progress or Progress("checks")
    counting_subject, chosen = audits.count_queries(subject, beating(progress)), audits.choose_checks(checks)
    results = audits.run_checks(counting_subject, found, chosen, int(entropy))
    total = sum(1 if name in audits.MODEL_CHECKS else len(found) for name in chosen)
    done = list(progress(results, total=total))
    return audits.build_audit(counting_subject, found, chosen, int(entropy), done, fail_on=fail_on, strict=strict)


@overload
def explain(
    model: Explainable,
    representer: Representer,
    x: Any,
    *,
    target: list[Any] | tuple[Any, ...],
    method: Method | str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    progress: ProgressCallback | None = None,
) -> Explanations: ...
@overload
def explain(
    model: Explainable,
    representer: Representer,
    x: Any,
    *,
    target: Any = None,
    method: Method | str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    progress: ProgressCallback | None = None,
) -> Explanation: ...
@teach_keywords
def explain(
    model: Explainable,
    representer: Representer,
    x: Any,
    *,
    target: Any = None,
    method: Method | str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    progress: ProgressCallback | None = None,
) -> Explanation | Explanations:
    """Explain one prediction.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input. Of an
        estimator or pipeline ``predict_proba`` is called, else ``decision_function``, else ``predict``.
    representer : Rows, Words, Superpixels or another representer
        What the features are and how they are changed, such as ``vd.Rows(X_train)``.
    x : instance
        A row, a text, a picture …: what the representer is for.
    target : class, Output, callable or list, optional
        The output to explain: the class itself, as the model or ``classes`` name it; a position such as
        ``vd.records.Output(0)``; or a function of the outputs (n, k). Where no classes are known, a number is a
        position. By default the predicted class. A list of targets gives one explanation each, from the same
        samples.
    method : method or str, optional
        Settings such as ``vd.KernelShap()``, or a name such as "kernel_shap"; by default ``vd.Lime()``.
    classes : sequence, optional
        Names of the model's outputs, in their order, where the model does not know them.
    rng : int or numpy.random.Generator, default 0
        The seed: the same seed gives the same result, bit by bit.
    progress : callable, optional
        Wraps the iteration, as ``tqdm.tqdm`` does; ``lambda work, total: work`` is silent. By default a bar appears
        in terminals and notebooks after a second.

    Returns
    -------
    Explanation
        Weights with intervals, a verdict, and all that was measured; ``Explanations`` for a list of targets.

    Raises
    ------
    InputError
        If an argument cannot be used; the message says what to give.
    ModelError
        If the model fails, or its outputs cannot be explained.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> import veridical as vd
    >>> wine = load_wine(as_frame=True)
    >>> model = LogisticRegression(max_iter=10_000).fit(wine.data, wine.target)
    >>> why = vd.explain(model, vd.Rows(wine.data), wine.data.iloc[0])
    >>> why.top(1)[0][0]
    'proline = 1065'
    """
    asked = check_request(model, representer, target=target, classes=classes, rng=rng)
    targets, seed, work = asked.targets, asked.seed, _choose_method(method)
    representation = asked.representer(x)
    try:
        with _count_calls(asked.model, progress, "calls, at most", work) as own:
            if own.decide is not None and any(each is None for each in targets):
                predicted = predict_classes(own, own_batch(representation, seed))[0]
                targets = tuple(predicted if each is None else each for each in targets)
            found = check_explanations(work(own, representation, targets, seed), len(targets))
    except ModelError as error:
        raise name_unseen(error, representation) from error.__cause__
    if (name := get_row_name(representer, x)) is not None:
        found = tuple(replace(each, row=name) for each in found)
    return Explanations(found) if asked.several else found[0]


@overload
def explain_many(
    model: Explainable,
    representer: Representer,
    X: Any,
    *,
    target: Any = None,
    method: Method | str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    batch_size: int | None = None,
    n_jobs: int = 1,
    engine: Engine | None = None,
    store: None = None,
    keep: Sequence[str] = (),
    progress: ProgressCallback | None = None,
) -> Explanations: ...
@overload
def explain_many(
    model: Explainable,
    representer: Representer,
    X: Any,
    *,
    target: Any = None,
    method: Method | str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    batch_size: int | None = None,
    n_jobs: int = 1,
    engine: Engine | None = None,
    store: str | Path,
    keep: Sequence[str] = (),
    progress: ProgressCallback | None = None,
) -> Store: ...
@teach_keywords
def explain_many(
    model: Explainable,
    representer: Representer,
    X: Any,
    *,
    target: Any = None,
    method: Method | str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    batch_size: int | None = None,
    n_jobs: int = 1,
    engine: Engine | None = None,
    store: str | Path | None = None,
    keep: Sequence[str] = (),
    progress: ProgressCallback | None = None,
) -> Explanations | Store:
    """Explain many predictions, from one shared sample where that is sound.

    The errors of explanations that share a sample are correlated, so comparing rows is safer than each interval
    says. A ``vd.Network`` on a GPU is one stream that never waits for a fit.

    More rows than memory holds come from files and go into a folder: they are explained and written chunk by chunk,
    a run that was stopped goes on where it was, and rows that cannot be explained are kept with their error. The
    rows' numbers and the seed fix every bit, on any engine, in chunks of any size.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input.
    representer : Rows, Words, Superpixels or another representer
        What the features are and how they are changed, such as ``vd.Rows(X_train)``.
    X : instances or path
        Rows of a table, texts, pictures …; or the path, folder, pattern or list of paths of .parquet, .csv or .tsv
        files; or a table of the engine's own.
    target : class, Output or callable, optional
        One output for all rows; by default the predicted class of each.
    method : method or str, optional
        Settings such as ``vd.KernelShap()``, or a name such as "kernel_shap"; by default ``vd.Lime()``.
    classes : sequence, optional
        Names of the model's outputs, in their order, where the model does not know them.
    rng : int or numpy.random.Generator, default 0
        The seed: the same seed gives the same result, bit by bit.
    batch_size : int, optional
        Rows that are worked on together; it changes speed and memory, never a bit of the result. With ``store``,
        chunks are of 4,096 rows, or of this many in whole blocks of 1,024.
    n_jobs : int, default 1
        Number of threads, which pay where the model is slow and releases the lock.
    engine : engine, optional
        Who does the work: ``vd.engines.Local(2)`` is two processes, each of which gets the model once. A model that
        cannot be sent to a process is given as ``vd.Factory(load_model)``.
    store : str or Path, optional
        The folder to write.
    keep : sequence of str, optional
        Columns that are not the model's, such as ids: they are stored beside the explanations.
    progress : callable, optional
        Wraps the iteration, as ``tqdm.tqdm`` does; ``lambda work, total: work`` is silent. By default a bar appears
        in terminals and notebooks after a second.

    Returns
    -------
    Explanations or Store
        The explanations in memory, with rows that failed in ``failed``; or the store that was written.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> def predict(X):
    ...     return X[:, 0] - X[:, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = vd.explain_many(predict, vd.Rows(X), X, store=f"{folder}/why", method=vd.Lime(n_samples=64))
    ...     len(store), store.manifest["n_calls"]
    (2000, 130016)
    """
    single = "explain_many takes one target for all rows; call it once for each"
    asked = check_request(model, representer, target=target, classes=classes, rng=rng, single=single)
    work, seed = _choose_method(method), asked.seed
    if batch_size is not None:
        check_whole("batch_size", batch_size)
    doing, progress = check_engine(engine, n_jobs), progress or Progress()
    counted = with_progress(asked.model, beating(progress))
    if engine is None and store is None and not keep and paths_of(X) is None:
        refuse_foreign(X)
        plan = Plan(1000 if batch_size is None else int(batch_size), int(n_jobs))
        found = explain_in_memory(
            representer,
            X,
            lambda instances, rows: explain_each(work, counted, instances, target, seed, plan, rows),
            progress,
        )
        return _warned(found)
    names = None if classes is None else asked.model.classes
    job = Job(model, representer, work, target, seed, names, keep=tuple(dict.fromkeys(check_list("keep", keep))))
    size = -(-(BLOCKS * CHUNK if batch_size is None else batch_size) // CHUNK) * CHUNK  # whole blocks
    run = Run(doing, job, instance_source(doing, X, representer, job.keep), progress, size)
    return _warned(explain_here(run, counted)) if store is None else explain_into(store, run, counted)


def _warned(found: Explanations) -> Explanations:
    """The explanations, with a warning if there are rows without any; for ``explain_many`` to return."""
    if found.failures:
        first, n = found.failures[0], len(found.failures)
        warnings.warn(
            f"{n:,} of {n + len(found):,} rows could not be explained, the first of them row {first.row}: "
            f"{first.error}; see .failed of what explain_many returned",
            RowsFailedWarning,
            stacklevel=4,  # past explain_many and what teaches its keywords
        )
    return found


@teach_keywords
def flips(
    model: Explainable,
    representer: Representer,
    x: Any,
    *,
    to: Any = None,
    target: Any = None,
    immutable: Sequence[str | int] = (),
    n: int = 5,
    max_calls: int | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    progress: ProgressCallback | None = None,
) -> Flips:
    """Find the smallest changes that turn the model's answer: counterfactual explanations, each verified by the model.

    Of a table, one column is changed, or two where no single one is enough: numbers to a value between those of the
    background, categories to another one. Of texts, pictures and others, words or regions are left out. A change of
    fewer columns comes first, then the smaller one: how many rows of the background lie between the old value and
    the new one.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input.
    representer : Rows, Words, Superpixels or another representer
        What the features are and how they are changed, such as ``vd.Rows(X_train)``.
    x : instance
        The instance whose answer is to turn.
    to : class or float, optional
        The class that the answer should become; by default any other one. Where the output is a number, the value that
        it should cross, from whichever side it is on.
    target : class, Output or callable, optional
        The output that should cross the value ``to``, such as the probability of one class.
    immutable : list of str or int
        Columns (words, regions) that are never changed, besides those that the representer holds.
    n : int, default 5
        How many changes at most.
    max_calls : int, optional
        How many inputs the model is asked about at most; by default 300, or 5 per column of a wide table.
    classes : sequence, optional
        Names of the model's outputs, in their order, where the model does not know them.
    rng : int or numpy.random.Generator, default 0
        The seed, of replacements that are drawn by chance: the same seed gives the same result, bit by bit.
    progress : callable, optional
        Wraps the iteration, as ``tqdm.tqdm`` does; ``lambda work, total: work`` is silent. By default a bar appears
        in terminals and notebooks after a second.

    Returns
    -------
    Flips
        The changes, the smallest first, each with ``changes``, ``values``, ``answer``, ``before`` and ``after``; empty,
        with a verdict that says so, where none was found.

    Raises
    ------
    InputError
        If an argument cannot be used, such as ``to`` missing where the output is a number.
    ModelError
        If the model fails on the instance itself; changes that it fails on are skipped, and a note says so.

    Examples
    --------
    >>> import pandas as pd
    >>> import veridical as vd
    >>> people = pd.DataFrame({"income": range(20, 60), "debts": [0, 1, 2, 3] * 10})
    >>> def predict(table):
    ...     paid = (table["income"] - 5 * table["debts"] > 30).astype(float)
    ...     return pd.DataFrame({"lost": 1 - paid, "paid": paid})
    >>> found = vd.flips(predict, vd.Rows(people), {"income": 28, "debts": 2}, classes=["lost", "paid"])
    >>> [(dict(flip.changes), flip.answer) for flip in found]
    [({'income': 41}, 'paid')]
    """
    check_whole("n", n)
    if max_calls is not None:
        check_whole("max_calls", max_calls, 10)
    single = "flips has one target: the output that should cross the value to"
    asked = check_request(model, representer, target=target, classes=classes, rng=rng, single=single)
    representation = asked.representer(x)
    try:
        with _count_calls(asked.model, progress, "calls, at most") as own:
            found = find_flips(
                own,
                representation,
                asked.seed,
                to=to,
                target=target,
                immutable=immutable,
                n=n,
                max_calls=max_calls,
            )
    except ModelError as error:
        raise name_unseen(error, representation) from error.__cause__
    return replace(found, row=get_row_name(representer, x))


@teach_keywords
def group(
    model: Explainable,
    representer: Representer,
    X: Any,
    *,
    k: int | Sequence[int],
    n_features: int = 5,
    target: Any = None,
    method: Groups | str | None = None,
    validation: Any = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    progress: ProgressCallback | None = None,
) -> Grouping:
    """Explain a model by k groups of instances, each with one sparse linear explanation and its region.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input.
    representer : Rows or Words
        ``vd.Rows(X_train)`` for a table, ``vd.Words()`` for texts.
    X : instances, Store or path
        The instances to group; of a store with more than 10,000 rows about so many are drawn.
    k : int or sequence of int
        The number of groups, or several such as ``range(2, 11)``: each is tried, and the fewest groups are kept that
        are as good as the best on held-out instances.
    n_features : int, default 5
        The most features that an explanation has. A region is described by few, too, unless the method says
        otherwise.
    target : class, Output or callable, optional
        One output for all instances; by default the class that is predicted most often.
    method : grouping method or str, optional
        How groups are found: ``vd.groupings.Mixture()`` by default, or another such as ``vd.groupings.Gime()``.
    validation : instances, optional
        Instances to hold out; by default some of X.
    classes : sequence, optional
        Names of the model's outputs, in their order, where the model does not know them.
    rng : int or numpy.random.Generator, default 0
        The seed: the same seed gives the same result, bit by bit.
    progress : callable, optional
        Wraps the iteration, as ``tqdm.tqdm`` does; ``lambda work, total: work`` is silent. By default a bar appears
        in terminals and notebooks after a second.

    Returns
    -------
    Grouping
        Weights (k, d) and intercepts (k,) of the groups, and ``assign(X)`` for new instances.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(120, 3))
    >>> def predict(X):
    ...     return np.where(X[:, 0] > 0, 2 * X[:, 1], X[:, 2])
    >>> groups = vd.group(predict, vd.Rows(X), X, k=2)
    >>> groups.weights.shape
    (2, 3)
    """
    single = "groups explain one target for all instances; call group once for each target"
    asked = check_request(model, representer, target=target, classes=classes, rng=rng, single=single)
    ks = list(k) if isinstance(k, Iterable) and not isinstance(k, (str, bytes)) else [k]
    if not ks:
        raise InputError("k is an empty list: name at least one number of groups")
    for number in ks:
        check_whole("k, the number of groups,", number)
    check_whole("n_features", n_features)
    others = tuple(METHODS.values())
    work = choose_settings(method, Mixture(), "vd.groupings.Mixture()", others, GROUPINGS)
    X, notes = instances_of(X)
    with _count_calls(asked.model, progress) as own:
        request = GroupingRequest(own, asked.representer, X, validation, target, int(n_features), asked.seed)
        found = group_all(work, request, sorted({int(n) for n in ks}))
    return replace(found, notes=(*notes, *found.notes))


@teach_keywords
def rerun(model: Explainable, representer: Representer, x: Any, recipe: Mapping[str, Any]) -> Explanation:
    """Make an explanation again from its recipe: the same model, background and instance give the same bits.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input.
    representer : Rows, Words, Superpixels or another representer
        What the features are and how they are changed, such as ``vd.Rows(X_train)``.
    x : instance
        The instance that was explained.
    recipe : mapping
        ``why.recipe`` of the explanation.

    Returns
    -------
    Explanation
        The same explanation.

    Raises
    ------
    InputError
        If this is not the recipe of an explanation.
    """
    try:
        method = restore(recipe["method"], SETTINGS)
        seed = np.random.SeedSequence(recipe["rng"]["entropy"], spawn_key=tuple(recipe["rng"]["spawn_key"]))
        classes, shared, _ = recipe["classes"], recipe["shared"], recipe["target"]
    except VeridicalError:
        raise
    except Exception as cause:  # whatever is in the place of what was written
        raise InputError("this is not the recipe of an explanation: pass why.recipe") from cause
    own = check_request(model, representer, classes=classes).model
    target = target_of_recipe(recipe, own)
    with one_thread if shared or seed.spawn_key else nullcontext():  # as it was among many
        if not shared:
            return check_explanations(method(own, representer(x), [target], seed))[0]
        rows = representer.each(x if getattr(x, "ndim", 1) == 2 else [x])
        return next(explain_all(method, own, rows, target, seed, Plan()))


def _choose_methods(methods: Any) -> dict[str, Any]:
    """Several methods by name."""
    return {name: _choose_method(method) for name, method in name_methods(resolve_names(methods)).items()}


@contextmanager
def _count_calls(
    model: Model, progress: ProgressCallback | None, unit: str = "calls", method: Any = None
) -> Iterator[Model]:
    """The model, which tells of every input that it answers to whoever watches; as it is where nobody does."""
    ipython = sys.modules.get("IPython")
    in_notebook = ipython is not None and ipython.get_ipython() is not None
    if progress is None and not in_notebook and not (sys.stderr and sys.stderr.isatty()):
        yield model
        return
    total = method.most_calls if isinstance(method, Limited) else None
    with counting(progress or Progress(unit), total) as hear:
        yield with_progress(model, hear)
