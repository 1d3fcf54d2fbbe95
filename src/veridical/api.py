"""The border: checks and defaults, then calls down."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from veridical.attribute import METHODS, SETTINGS
from veridical.attribute.ask import heard
from veridical.attribute.given import answered, checked_representer, listed, name_unseen, seed_of
from veridical.attribute.many import Plan, Track, explain_all, explain_each
from veridical.attribute.models import Explainable, model_of
from veridical.attribute.recipe import restore
from veridical.attribute.single import one_thread
from veridical.attribute.targets import check_single, is_several, predicted, target_of_recipe
from veridical.debug.chosen import method_asked, most_calls, settings_of
from veridical.errors import InputError, RowsFailedWarning, VeridicalError, check_whole
from veridical.evaluate.scene import own_batch
from veridical.keywords import teach_keywords
from veridical.records import Explanation, Explanations, Method, Representer
from veridical.render.progress import Progress, beating, counting
from veridical.represent.row_names import get_row_name
from veridical.scale.engines.local import engine_asked
from veridical.scale.engines.pools import Engine
from veridical.scale.runs import Run, chunk_size, explain_here, explain_in_memory, explain_into, source_of
from veridical.scale.sources.files import paths_of
from veridical.scale.sources.memory import refuse_foreign
from veridical.scale.stores.store import Store, instances_of
from veridical.scale.work import Job
from veridical.summarize import GROUPINGS
from veridical.summarize.group import Wanted, group_all
from veridical.summarize.mixture import Mixture
from veridical.summarize.records import Grouping
from veridical.summarize.task import Groups


@overload
def explain(
    predict: Explainable,
    represent: Representer,
    x: Any,
    *,
    target: list[Any] | tuple[Any, ...],
    method: Method | str | None = None,
    purpose: str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    track: Track | None = None,
) -> Explanations: ...
@overload
def explain(
    predict: Explainable,
    represent: Representer,
    x: Any,
    *,
    target: Any = None,
    method: Method | str | None = None,
    purpose: str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    track: Track | None = None,
) -> Explanation: ...
@teach_keywords
def explain(
    predict: Explainable,
    represent: Representer,
    x: Any,
    *,
    target: Any = None,
    method: Method | str | None = None,
    purpose: str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    track: Track | None = None,
) -> Explanation | Explanations:
    """Explain one prediction.

    ``predict`` is the model itself or a function of a batch: an estimator or pipeline (asked by its
    ``predict_proba``, else ``decision_function``, else ``predict``), a booster of XGBoost, LightGBM or CatBoost, a
    Keras or torch network, a text-classification pipeline of Hugging Face, or a function that returns one number
    or one row of numbers per input. ``target`` is the class itself, as the model or ``classes`` name it, a
    position among the outputs such as ``vd.records.Output(0)``, or a function of the outputs (n, k); where no
    classes are known, a number is a position. By default it is the predicted class. A list of targets gives one
    explanation each, from the same samples. The same ``rng`` gives the same bits.

    ``purpose`` says what is asked, where parts have something around them, and chooses the method: "content" (what
    each part holds), "change" (where a small change would act) or "either" (it is not known which). Without it the
    method is ``vd.Lime()``; a method may be given by its name, such as "lime". Long work shows how many inputs the
    model has answered, as ``explain_many`` its rows.

    >>> from sklearn.datasets import load_wine
    >>> from sklearn.linear_model import LogisticRegression
    >>> import veridical as vd
    >>> wine = load_wine(as_frame=True)
    >>> model = LogisticRegression(max_iter=10_000).fit(wine.data, wine.target)
    >>> why = vd.explain(model, vd.Rows(wine.data), wine.data.iloc[0])
    >>> why.top(1)[0][0]
    'proline > 985'
    """
    model = model_of(predict, classes)
    work = method_asked(method, purpose)
    seed = seed_of(rng)
    several = is_several(target, model.classes)
    targets = list(target) if several else [target]
    if not targets:
        raise InputError("the list of targets is empty: name at least one, or leave target out")
    representation, most = checked_representer(represent)(x), most_calls(work)
    with counting(track or Progress("calls, at most"), most) as hear, name_unseen(representation):
        if model.decide is not None and any(each is None for each in targets):
            own = predicted(model, own_batch(representation, seed))[0]
            targets = [own if each is None else each for each in targets]
        found = answered(work(heard(model, hear), representation, targets, seed), len(targets))
    if (name := get_row_name(represent, x)) is not None:
        found = tuple(replace(each, row=name) for each in found)
    return Explanations(found) if several else found[0]


@overload
def explain_many(
    predict: Explainable,
    represent: Representer,
    X: Any,
    *,
    target: Any = None,
    method: Method | str | None = None,
    purpose: str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    batch_size: int | None = None,
    n_jobs: int = 1,
    engine: Engine | None = None,
    store: None = None,
    keep: Sequence[str] = (),
    track: Track | None = None,
) -> Explanations: ...
@overload
def explain_many(
    predict: Explainable,
    represent: Representer,
    X: Any,
    *,
    target: Any = None,
    method: Method | str | None = None,
    purpose: str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    batch_size: int | None = None,
    n_jobs: int = 1,
    engine: Engine | None = None,
    store: str | Path,
    keep: Sequence[str] = (),
    track: Track | None = None,
) -> Store: ...
@teach_keywords
def explain_many(
    predict: Explainable,
    represent: Representer,
    X: Any,
    *,
    target: Any = None,
    method: Method | str | None = None,
    purpose: str | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    batch_size: int | None = None,
    n_jobs: int = 1,
    engine: Engine | None = None,
    store: str | Path | None = None,
    keep: Sequence[str] = (),
    track: Track | None = None,
) -> Explanations | Store:
    """Explain many predictions, with one shared sample for all of them where that is sound.

    The errors of explanations that share a sample go together, so comparing rows is safer than each interval
    says. ``batch_size`` and ``n_jobs`` change speed and memory, never a bit of the result; jobs are threads, which
    pay where ``predict`` is slow and lets others run meanwhile. ``track`` wraps the iteration, as ``tqdm.tqdm``
    does, and ``lambda work, total: work`` is silent; by default work of more than a second shows in a terminal or
    notebook how far it is. A ``vd.Network`` on a GPU is asked in one stream, which never waits for a fit; what
    comes out is what each gives alone, but for rounding. The rest is as for ``explain``.

    Rows that are more than memory holds come from files and go into a folder. X is the path, folder, pattern or
    list of paths of .parquet, .csv or .tsv files, or a table of the engine's own. ``store`` is the folder: rows
    are explained and written a chunk at a time (4,096 of them, or ``batch_size`` in whole blocks of 1,024), a run
    that was stopped goes on where it was, and rows that cannot be explained are written down with their error
    (``vd.Store``). ``keep`` names columns that are not the model's, such as ids, and are stored beside the
    explanations. ``engine`` says who does the work: ``vd.engines.Local(2)`` is two processes, each of which gets
    the model once; a model that cannot be sent to one is given as ``vd.Factory(load_model)``. The rows' numbers
    and the seed fix every bit, on any engine, in chunks of any size.

    >>> import tempfile
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> def predict(X):
    ...     return X[:, 0] - X[:, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = vd.explain_many(predict, vd.Rows(X), X, store=f"{folder}/why", method=vd.Lime(n_samples=64))
    ...     len(store), store.manifest["n_calls"]
    (2000, 2080)
    """
    model, represent = model_of(predict, classes), checked_representer(represent)
    asked, seed = method_asked(method, purpose), seed_of(rng)
    if batch_size is not None:
        check_whole("batch_size", batch_size)
    check_single(target, model.classes, "explain_many explains one target per row; call it once for each target")
    doing, track = engine_asked(engine, n_jobs), track or Progress()
    told = heard(model, beating(track))
    if engine is None and store is None and not keep and paths_of(X) is None:
        refuse_foreign(X)
        plan = Plan(1000 if batch_size is None else int(batch_size), int(n_jobs))
        found = explain_in_memory(
            represent,
            X,
            lambda instances, rows: explain_each(asked, told, instances, target, seed, plan, rows),
            track,
        )
        return _warned(found)
    names = None if classes is None else model.classes
    job = Job(predict, represent, asked, target, seed, names, keep=tuple(dict.fromkeys(listed("keep", keep))))
    run = Run(doing, job, source_of(doing, X, job), track, chunk_size(batch_size))
    return _warned(explain_here(run, told)) if store is None else explain_into(store, run, told)


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
def group(
    predict: Explainable,
    represent: Representer,
    X: Any,
    *,
    k: int | Sequence[int],
    n_features: int = 5,
    target: Any = None,
    method: Groups | str | None = None,
    validation: Any = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    track: Track | None = None,
) -> Grouping:
    """Explain a model by k groups of instances, each with one sparse linear explanation and its region.

    ``represent`` is ``vd.Rows(X_train)`` for a table, ``vd.Words()`` for texts. X may be a store, or its path: the
    groups are those of its rows, or of about 10,000 drawn from more. ``k`` is a number of groups, or several of
    them, such as ``range(2, 11)``: each is tried, and the fewest are kept that are as good as the best on
    instances that were held out. ``n_features`` is the most features that an explanation has; a region is told by
    few, too, unless the method says otherwise. ``method`` is how groups are found: ``vd.Mixture()`` by default, or
    a peer such as ``vd.Gime()`` or ``vd.ModelTree()``. ``validation`` are instances to hold out; by default some
    of X. ``target`` is one for all instances: unless it is given, the class that is predicted most often.

    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(120, 3))
    >>> def predict(X):
    ...     return np.where(X[:, 0] > 0, 2 * X[:, 1], X[:, 2])
    >>> groups = vd.group(predict, vd.Rows(X), X, k=2)
    >>> groups.weights.shape
    (2, 3)
    """
    model, represent = model_of(predict, classes), checked_representer(represent)
    ks = list(k) if isinstance(k, Iterable) and not isinstance(k, (str, bytes)) else [k]
    if not ks:
        raise InputError("k is an empty list: name at least one number of groups")
    for number in ks:
        check_whole("k, the number of groups,", number)
    check_whole("n_features", n_features)
    check_single(
        target, model.classes, "groups explain one target for all instances; call group once for each target"
    )
    work = Mixture() if method is None else settings_of(method, "vd.Mixture()", METHODS, GROUPINGS)
    X, notes = instances_of(X)
    with counting(track or Progress("calls")) as hear:
        told = heard(model, hear)
        wanted = Wanted(told, represent, X, validation, target, int(n_features), seed_of(rng))
        found = group_all(work, wanted, sorted({int(n) for n in ks}))
    return replace(found, notes=(*notes, *found.notes))


@teach_keywords
def rerun(predict: Explainable, represent: Representer, x: Any, recipe: Mapping[str, Any]) -> Explanation:
    """Make an explanation again from its recipe: the same model, background and row give the same bits."""
    try:
        method = restore(recipe["method"], SETTINGS)
        seed = np.random.SeedSequence(recipe["rng"]["entropy"], spawn_key=tuple(recipe["rng"]["spawn_key"]))
        classes, shared, _ = recipe["classes"], recipe["shared"], recipe["target"]
    except VeridicalError:
        raise
    except Exception as cause:  # whatever is in the place of what was written
        raise InputError("this is not the recipe of an explanation: pass why.recipe") from cause
    model, represent = model_of(predict, classes), checked_representer(represent)
    target = target_of_recipe(recipe, model)
    with one_thread if shared or seed.spawn_key else nullcontext():  # as it was among many
        if not shared:
            return answered(method(model, represent(x), [target], seed))[0]
        rows = represent.each(x if getattr(x, "ndim", 1) == 2 else [x])
        return next(explain_all(method, model, rows, target, seed, Plan()))
