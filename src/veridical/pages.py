"""One page for a model: what it goes by, rows that show it, groups, where explanations are unreliable, and checks."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from sklearn.pipeline import Pipeline

from veridical import api
from veridical.checks.audits import CHECKS, Audit
from veridical.checks.subjects import Subject
from veridical.display.blocks import LABELS
from veridical.display.words import count, number, percent, plain, row_label
from veridical.errors import InputError, ModelError, RowsFailedWarning, VeridicalError, check_whole, teach_keywords
from veridical.methods.many import ProgressCallback
from veridical.methods.results import name_of
from veridical.models import outputs
from veridical.models.adapters import Explainable
from veridical.models.outputs import VALUE, Model, rows_at
from veridical.models.targets import Predicted
from veridical.models.validation import check_request, split_names
from veridical.protocols import Instances, Method, Representer, Seed
from veridical.records import VERSION, Explanations, Floats, Ints, Output, Page, Record, Verdict
from veridical.representations.fields import Fields
from veridical.representations.tables.rows import Rows
from veridical.representations.words import Words
from veridical.scale.picks import Pick, pick
from veridical.seeds import generator
from veridical.summaries.groupings.mixture import Mixture
from veridical.summaries.importances import Importance
from veridical.summaries.subgroups import MIN_WANTED, describe_label

__all__ = ["report_model"]

T = TypeVar("T")

SHARED_FEATURES = (Rows, Fields, Words)  # representers whose features all instances share
QUICK_CHECKS = ("accuracy", "leakage", "labels", "fooling", "sampling", "spurious")  # run where answers are known
MAX_CHECKED = 300  # rows that they look at
N_REPORTED = 1000  # rows that are drawn and explained
N_GROUPS, QUICK_GROUPS = 3, Mixture(n_starts=4)
N_PICKED, MAX_PICKED_BY = 5, 5  # rows, and the features of each that count
MAX_NAMED = 5  # rows in a sentence
DRAW = 40  # what the seed is for: which rows are drawn
DOUBTFUL = ("unreliable", "rough")  # labels, the worst first


@teach_keywords
def report_model(
    model: Explainable,
    representer: Representer,
    X: Any,
    *,
    y: Any = None,
    training: tuple[Any, Any] | None = None,
    target: Any = None,
    method: Method | str | None = None,
    n_rows: int = N_REPORTED,
    classes: Sequence[Any] | None = None,
    title: str | None = None,
    rng: int | np.random.Generator = 0,
    progress: ProgressCallback | None = None,
) -> Page:
    """Make one page that says what a model goes by, and where explanations of it can be relied on.

    Of many rows some are drawn at random and explained. The page has the importance of columns or words, how weights
    depend on values, five rows that cover most of it (SP-LIME), three groups in sentences, where explanations are
    unreliable, and quick checks where the right answers are known.

    Parameters
    ----------
    model : estimator, booster, torch or Keras network, pipeline, or callable
        The model itself, or a function of a batch that returns one number or one row of numbers per input.
    representer : Rows, Words or Fields
        ``vd.Rows(X_train)`` for a table, ``vd.Words()`` for texts.
    X : instances
        A table or a list of texts.
    y : sequence, optional
        The right answers, one per instance: then checks are run.
    training : pair, optional
        Instances and answers that the model was trained on, for the checks.
    target : class, Output or callable, optional
        One output for all rows. By default the second of two classes; of more, the one that is predicted most often.
    method : method or str, optional
        Settings such as ``vd.KernelShap()``, or a name such as "kernel_shap"; by default ``vd.Lime()``.
    n_rows : int, default 1000
        How many rows are drawn and explained, at most.
    classes : sequence, optional
        Names of the model's outputs, in their order, where the model does not know them.
    title : str, optional
        The title of the page; by default it names the model.
    rng : int or numpy.random.Generator, default 0
        The seed: the same seed gives the same page.
    progress : callable, optional
        Wraps the iteration of each step, as ``tqdm.tqdm`` does; ``lambda work, total: work`` is silent. By default a
        bar per step appears in terminals and notebooks after a second.

    Returns
    -------
    Page
        Save it: ``page.save("report.html")``.

    Raises
    ------
    InputError
        If the instances are pictures, sounds or series, whose regions differ from one to the next.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> rows = vd.Rows(X, names=["age", "height", "debt"])
    >>> page = vd.pages.report_model(lambda X: 3 * X[:, 0] + X[:, 2], rows, X, n_rows=60)
    >>> [heading for heading, *_ in page.sections][:2]
    ['What the model goes by', 'Rows that show it']
    """
    single = "a report explains one target for all rows: make one for each"
    asked = check_request(model, representer, target=target, classes=classes, rng=rng, single=single)
    if not isinstance(representer, SHARED_FEATURES):
        raise InputError(
            "a report sums up features that all rows share: columns of tables (vd.Rows, vd.Fields) and words of texts "
            f"(vd.Words); those of {type(representer).__name__} differ from one instance to the next: explain some by "
            "vd.explain_many, and sum them up by vd.pick"
        )
    check_whole("n_rows", n_rows, 2)
    instances, names = split_names(representer, X)
    drawing = draw_rows(instances, n_rows, asked.seed)
    some = rows_at(instances, drawing.rows)
    aim = choose_target(asked.model, representer.each(some)) if target is None else target
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RowsFailedWarning)  # which the page says
        many: Explanations = api.explain_many(
            model, representer, some, target=aim, method=method, classes=classes, rng=rng, progress=progress
        )
    if not len(many):
        raise ModelError(f"no row could be explained; the first failed so: {many.failures[0].error}")
    many = name_rows(many, [int(i) if names is None else names[i] for i in drawing.rows])
    found = many.importance()
    groups = try_step(
        lambda: api.group(
            model,
            representer,
            some,
            k=N_GROUPS,
            method=QUICK_GROUPS,
            target=aim,
            classes=classes,
            rng=rng,
            progress=progress,
        )
    )
    checks: Audit | str = "No right answers were given (y=, or --label), so nothing was checked."
    if y is not None:
        answers = check_answers(y, drawing.total)
        kept = {"X": rows_at(instances, drawing.checked), "y": answers[drawing.checked], "training": training}
        checks = try_step(
            lambda: api.audit(
                Subject(model, representer, **kept, target=target, classes=classes),
                checks=QUICK_CHECKS,
                methods=method,
                rng=rng,
                progress=progress,
            )
        )
    k = min(MAX_PICKED_BY, -(-len(found.columns) // 3) or 1)  # by all features, rows would be the same
    picked = pick(many, N_PICKED, k=k, rng=rng)
    sections = (
        ("What the model goes by", found),
        ("Rows that show it", picked, pick_words(many, picked, k)),
        ("Groups of rows", *section_of(groups, GROUP_WORDS)),
        ("Where explanations are unreliable", *locate_doubts(many, found)),
        ("Checks", *section_of(checks, check_words(len(drawing.checked)))),
        ("How this page was made", None, method_words(many, drawing, asked.seed)),
    )
    return Page(title or f"What {model_name(asked.model)} goes by", sections, lead_words(found, checks, drawing))


@dataclass(frozen=True, slots=True, eq=False)
class Drawing(Record):
    """Which rows are explained, and which of them the checks look at."""

    total: int  # rows that there are
    rows: Ints  # (n,) in their order
    checked: Ints  # (c,) in their order


def draw_rows(instances: Any, most: int, seed: Seed) -> Drawing:
    """Rows drawn at random without replacement; all where there are no more."""
    total = outputs.n_rows(instances)
    if total < 2:
        raise InputError(f"a report sums up several rows; X has {total}: explain one by vd.explain")
    order = generator(seed, DRAW).permutation(total)[:most]
    return Drawing(total, np.sort(order), np.sort(order[:MAX_CHECKED]))


def choose_target(model: Model, instances: Instances) -> Any:
    """The second of two classes; of more, the one that is predicted most often; nothing to choose of one output."""
    n = len(instances)
    try:
        answers = model(instances.inputs(0, n))
    except ModelError:  # of some rows, which others need not wait for
        known = list[Floats]()
        for i in range(n):
            with suppress(ModelError):
                known.append(model(instances.inputs(i, i + 1), i))
        if not known:
            raise
        answers = np.concatenate(known)
    k = answers.shape[1]
    if k == 1:
        return Predicted(1) if model.scores else None
    return Output(1 if k == 2 else int(np.bincount(answers.argmax(axis=1), minlength=k).argmax()))


def name_rows(many: Explanations, names: Sequence[Any]) -> Explanations:
    """The explanations under the names of the rows, which are their numbers among all rows where they have none."""
    items = (replace(why, row=names[i]) for i, why in zip(many.numbers, many, strict=True))
    return Explanations(tuple(items), tuple(each._replace(row=names[each.number]) for each in many.failures))


def check_answers(y: Any, n: int) -> Any:
    """The right answers, one per row."""
    answers = np.asarray(y)
    if answers.ndim != 1 or len(answers) != n:
        raise InputError(f"y needs one answer per row: X has {n} rows, y the shape {answers.shape}")
    return answers


def try_step(step: Callable[[], T]) -> T | str:
    """What a step finds, or why it does not apply here: the page then says so, and goes on."""
    try:
        return step()
    except VeridicalError as cause:
        return f"Left out: {cause}."


def section_of(found: Any, words: str) -> tuple[Any, str]:
    """A record with what is said above it, or what is said in its place."""
    return (None, found) if isinstance(found, str) else (found, words)


# ---- sentences

GROUP_WORDS = (
    "One simple model per group of rows: where the group lies, and what raises and lowers the output there."
)


def lead_words(found: Importance, checks: Audit | str, drawing: Drawing) -> str:
    """The answer first: what counts most, how many explanations are reliable, what the checks found; of which rows."""
    n, n_good, drawn = found.n_rows, dict(found.labels).get("reliable", 0), len(drawing.rows)
    names = [plain(name, 40) for name, value in found.top(3) if value > 0]
    many = "s" * (len(names) == 1)
    said = [f"{join_names(names)} count{many} most for {target_words(found)}." if names else "No feature counts."]
    said.append(f"{n_good:,} of {count(n, 'explanation')} are reliable.")
    said += [checks.sentence] if isinstance(checks, Audit) else []
    which = f"of {drawing.total:,} rows, drawn at random" if drawn < drawing.total else "rows, all that were given"
    return " ".join([*said, f"Made from {drawn:,} {which}."])


def pick_words(many: Explanations, picked: Pick, k: int) -> str:
    """How rows were picked, and what the model and the verdict say of each."""
    chosen = [many[i] for i in picked.chosen.tolist()]
    said = [
        f"{number(why.prediction)} (row {row_label(why.row, 40)}, {said_label(why.verdict.label)})"
        for why in chosen
    ]
    heavy = "heaviest feature counts" if k == 1 else f"{k} heaviest features count"
    return (
        f"Picked by SP-LIME: of each row the {heavy}, and each row adds what those before it do not show. The model "
        f"says {join_names(said)}."
    )


def said_label(label: str) -> str:
    """A label as pages write it."""
    return LABELS.get(label, label)


def model_name(model: Model) -> str:
    """The class of an estimator, the last one of a pipeline, or the name of a function."""
    owner = getattr(model.predict, "__self__", None)
    if owner is None:
        name = name_of(model.predict)
        return name if name.isidentifier() else "the model"
    return type(owner.steps[-1][1] if isinstance(owner, Pipeline) else owner).__name__


def join_names(names: Sequence[str]) -> str:
    """Names as a sentence lists them."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def target_words(found: Importance) -> str:
    """What was explained."""
    if len(found.targets) > 1:
        return "what each row was predicted as"
    target = found.targets[0][0]
    return "the output" if target == VALUE else plain(target, 40)


def locate_doubts(many: Explanations, found: Importance) -> tuple[Verdict | None, str]:
    """Which region of the data holds most explanations that are not reliable, with how many there are of each label."""
    counts = dict(found.labels)
    told = join_names([f"{n:,} {said_label(label)}" for label, n in found.labels])
    said = [f"Of {count(found.n_rows, 'explanation')}: {told}."]
    labels = DOUBTFUL[: 1 if counts.get(DOUBTFUL[0], 0) >= MIN_WANTED else 2]
    where = describe_label(found, labels)
    bad = [why for why in many if why.verdict.label in DOUBTFUL]
    if not bad:
        return None, f"{said[0]} None is rough or unreliable."
    if where is None:
        said.append(
            f"{'Too few' if len(bad) < found.n_rows / 2 else 'Too many'} are not reliable to say where they lie."
        )
    worst = sorted(bad, key=lambda why: np.nan_to_num(why.fidelity, nan=1.0))[:MAX_NAMED]
    named = join_names([f"{row_label(why.row, 40)} ({percent(max(why.fidelity, 0.0))})" for why in worst])
    said.append(f"Least faithful {'is row' if len(worst) == 1 else 'are rows'} {named}.")
    advice = Counter(why.verdict.advice for why in bad if why.verdict.advice).most_common(1)
    said += [advice[0][0].replace("`", "")] if advice else []
    return where, " ".join(said)


def check_words(n: int) -> str:
    """What was checked, and what was not."""
    left = [name for name in CHECKS if name not in QUICK_CHECKS]
    return (
        f"The quick ones of {len(CHECKS)} checks, on {count(n, 'row')}. Not run here: {join_names(left)}, which train "
        "or attack the model, or need more data. vd.audit (veridical audit) runs them."
    )


def method_words(many: Explanations, drawing: Drawing, seed: Any) -> str:
    """How rows were drawn and explained."""
    drawn, total = len(drawing.rows), drawing.total
    how = (
        f"{drawn:,} of {total:,} rows were drawn at random, each with the same chance and none twice (seed {seed.entropy}). "
        "All numbers are of these rows, and 95 % intervals say how far other rows could lead."
        if drawn < total
        else f"All {total:,} rows were explained."
    )
    failed = f" {count(len(many.failures), 'row')} could not be explained." if many.failures else ""
    method = many[0].recipe["method"]["name"]
    return (
        f"{how}{failed} Each row was explained by {method}; beeswarm, dependence and the table show at most 200 of them. "
        f"veridical {VERSION}; the same call with the same seed gives the same page."
    )
