"""Cleaning: is a model better once it is trained without what should not matter (section 6.3 of the LIME paper)?

Taking away any shown feature can help by itself, and so can another seed. So the model is also trained without as
many random features of those shown, and with nothing removed and other seeds; a gain counts only beyond both. Half
of the rows are watched and the other half stays sealed, for whoever removes by looking at the watched half flatters
the result. Held-out rows of the same source share a leak: only right answers from elsewhere can show that a model
got better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from veridical.checks.removal import RemovedFeatures, draw_controls, hold_out, list_names, removable_names, without
from veridical.checks.subjects import Subject, Train, build_cases
from veridical.errors import InputError, NotApplicable, check_whole
from veridical.methods.lime import Lime
from veridical.metrics.significance import Z_95, adjust_holm, interval
from veridical.models.adapters import Explainable
from veridical.models.outputs import Model, n_rows, rows_at
from veridical.models.targets import as_plain
from veridical.models.validation import check_list, seed_of
from veridical.protocols import Method, Representer, Seed
from veridical.records import Explanation, Floats, Ints, Measured, Record, Verdict
from veridical.seeds import child_of, generator

WATCHED, ELSEWHERE, SEALED = (
    "watched rows",
    "elsewhere",
    "sealed rows",
)  # which right answers a model is held against
AS_IT_WAS, CLEANED, AT_RANDOM, RESEEDED = "as it was", "cleaned", "at random", "reseeded"  # kinds of models
MIN_ROWS = 20  # of which half are watched
MIN_DRAWS = 3  # of random removals: fewer say nothing of their spread
N_DRAWS = 10
N_EXPLAINED = 40  # watched rows whose explanations say what is shown, and what took over
N_SHOWN, K_SHOWN = 5, 10  # explanations that are picked, and features of each that are looked at
N_NAMED = 3  # columns that took over
HALVES, EXPLAINED, DRAWN, TRAINED = range(4)  # what seeds are for

RightAnswers: TypeAlias = tuple[Any, Any]  # instances, and their right answers
Progress: TypeAlias = Callable[..., Iterable[Any]]  # wraps an iteration that has a known length


@dataclass(frozen=True, slots=True, eq=False)
class RoundTrial(Record):
    """One model of a round, and how good it is.

    Attributes
    ----------
    kind : str
        "as it was", "cleaned", "at random" (as many random features removed) or "reseeded" (nothing removed).
    draw : int
        Which of its kind.
    removed : tuple of str
        What the model was trained without.
    scores : mapping of str to array
        Of "watched rows", "elsewhere" or "sealed rows": 1 where an answer is right and 0 where it is wrong; of numbers
        the absolute error, negative.
    """

    kind: str
    draw: int
    removed: tuple[str, ...]
    scores: Mapping[str, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class RoundPlan(Record):
    """What a round trains and measures, all seeds and draws fixed."""

    subject: Subject
    removed: tuple[str, ...]
    data: Mapping[str, RightAnswers]  # watched, or sealed; and elsewhere, if that is known
    seed: Seed
    shown: tuple[str, ...]
    draws: tuple[tuple[str, ...], ...]  # of random removals
    explained: Ints  # rows of X

    def __len__(self) -> int:
        return 1 + 3 * len(self.draws)

    def removal(self, names: Iterable[str]) -> RemovedFeatures:
        """How these are taken out."""
        return without(self.subject.representer, self.subject.training_data()[0], names)

    def train(self, names: Sequence[str], draw: int) -> Model:
        """Train the model without these; it takes whole instances."""
        X, y = self.subject.training_data()
        seed = int(generator(self.seed, TRAINED, draw).integers(2**31))
        if not names:
            return self.subject.train_model(X, y, seed)
        removal = self.removal(names)
        fresh = self.subject.train_model(removal(X), y, seed)
        return fresh.with_predict(removal.wrap(fresh.predict))

    def trials(self) -> Iterator[RoundTrial]:
        """Train and measure one model after the other; a generator, so that whoever asks can stop."""
        yield self._measure(AS_IT_WAS, 0, (), self.subject.checked_model)
        for draw, names in enumerate(self.draws):
            yield self._measure(CLEANED, draw, self.removed, self.train(self.removed, draw))
            yield self._measure(AT_RANDOM, draw, names, self.train(names, draw))
            yield self._measure(RESEEDED, draw, (), self.train((), draw))

    def _measure(self, kind: str, draw: int, removed: tuple[str, ...], model: Model) -> RoundTrial:
        scores = {}
        for name, (X, y) in self.data.items():
            instances = self.subject.representer.each(X)
            scores[name] = score_answers(model, model(instances.inputs(0, len(instances))), y)
        return RoundTrial(kind, draw, removed, scores)


def score_answers(model: Model, outputs: Floats, y: Any) -> Floats:
    """1 where the model is right and 0 where it is wrong; of a model of numbers its absolute error, negative."""
    answers, k = [as_plain(each) for each in np.asarray(y, dtype=object)], outputs.shape[1]
    known = model.classes or (list(dict.fromkeys(sorted(answers, key=str))) if model.scores else None)
    if model.scores and k == 1 and known is not None:
        said: list[Any] = [known[int(each >= 0)] for each in outputs[:, 0]]
    elif k > 1:
        names = model.names_of(k) or range(k)
        said = [names[i] for i in outputs.argmax(axis=1)]
    elif (
        set(map(str, answers)) <= {"0", "1", "0.0", "1.0", "True", "False"}
        and ((outputs >= 0) & (outputs <= 1)).all()
    ):
        said, answers = [int(each >= 0.5) for each in outputs[:, 0]], [int(float(each)) for each in answers]
    else:
        wrong = [each for each in answers if isinstance(each, str) or not np.isscalar(each)]
        if wrong:
            raise InputError(
                f"the model gives one number, and right answers are such as {wrong[0]!r}: give a function that "
                "returns one column per class, and classes=[…]"
            )
        return np.asarray(-np.abs(outputs[:, 0] - np.array(answers, dtype=float)))
    strange = (
        set(map(str, answers)) - set(map(str, said)) - set(map(str, known or (model.names_of(k) or range(k))))
    )
    if len(strange) == len(set(map(str, answers))):
        raise InputError(
            f"no right answer is a class of the model: it says {said[0]!r}, and answers are such as {answers[0]!r}"
        )
    return np.array([str(a) == str(b) for a, b in zip(said, answers, strict=True)], dtype=float)


def plan_round(
    subject: Subject,
    removed: Iterable[str],
    *,
    elsewhere: RightAnswers | None = None,
    shown: Iterable[str] | None = None,
    sealed: bool = False,
    n_draws: int = N_DRAWS,
    method: Method | None = None,
    rng: Any = 0,
) -> RoundPlan:
    """Check what a round is given, and draw what it needs; ``shown`` are by default the features of a few picks."""
    names, seed = tuple(dict.fromkeys(check_list("removed", removed))), seed_of(rng)
    check_whole("n_draws", n_draws, MIN_DRAWS)
    n = n_rows(subject.X)
    if subject.y is None:
        raise NotApplicable("without right answers nothing says whether a model is better: give y, or --label")
    if subject.training is None:
        raise NotApplicable(
            "a model is trained again on rows of its own: give training=(X_train, y_train), or --training FILE. "
            "The check reliance asks the model itself, without training"
        )
    if subject.train is None:
        raise NotApplicable(
            "nothing says how this model is trained: give train=…, a function of (X, y, seed) that returns the "
            "predict function of a new model, or a scikit-learn estimator. The check reliance asks the model "
            "itself, without training"
        )
    if n < MIN_ROWS:
        raise InputError(
            f"a round needs at least {MIN_ROWS} rows with right answers, half of them watched; X has {n}"
        )
    if not names:
        raise InputError("nothing is removed: name at least one column or word")
    subject.training_data()
    every = list_names(subject.representer, subject.training[0])
    without(subject.representer, subject.training[0], names)  # refuses what there is not
    if len(names) >= len(every):
        raise InputError("nothing is left to learn from: remove fewer")
    halves = hold_out(n, child_of(seed, HALVES))
    rows = halves[int(sealed)]
    data = {SEALED if sealed else WATCHED: (rows_at(subject.X, rows), rows_at(subject.y, rows))}
    if elsewhere is not None:
        if not isinstance(elsewhere, (tuple, list)) or len(elsewhere) != 2:
            raise InputError("elsewhere needs a pair of instances and right answers")
        if n_rows(elsewhere[0]) != n_rows(elsewhere[1]):
            raise InputError(
                f"elsewhere needs one answer per instance: there are {n_rows(elsewhere[0])} instances and "
                f"{n_rows(elsewhere[1])} answers"
            )
        data[ELSEWHERE] = (elsewhere[0], elsewhere[1])
    explained = np.sort(generator(seed, EXPLAINED).permutation(halves[0])[:N_EXPLAINED])
    if shown is None:
        shown = list_shown(subject, explained, method or Lime(), child_of(seed, EXPLAINED))
    draws = draw_controls(list(shown), names, every, n_draws, child_of(seed, DRAWN))
    if not draws:
        raise NotApplicable(
            f"{len(names)} of {len(every)} features are removed, and as many random others are not left to compare "
            "with: remove fewer"
        )
    return RoundPlan(subject, names, data, seed, tuple(shown), draws, explained)


def list_shown(subject: Subject, rows: Ints, method: Method, seed: Seed) -> tuple[str, ...]:
    """What a reader of a few explanations comes across: names of columns or words, the heaviest first."""
    found: dict[str, float] = {}
    for why, names in _explain(subject, rows, method, seed, None)[:: max(len(rows) // N_SHOWN, 1)]:
        for j in np.argsort(-np.abs(np.nan_to_num(why.weights)), kind="stable")[:K_SHOWN]:
            if names[j] and why.weights[j]:
                found[names[j]] = max(found.get(names[j], 0.0), abs(float(why.weights[j])))
    return tuple(sorted(found, key=lambda name: -found[name]))


def _explain(
    subject: Subject, rows: Ints, method: Method, seed: Seed, model: Model | None
) -> list[tuple[Explanation, tuple[str, ...]]]:
    """Explanations of these rows, each with what its parts are called where they are removed."""
    cases = build_cases(method, subject, rows, seed)
    instances = subject.representer.each(cases.X)
    names = [removable_names(each) for each in instances.batch(0, len(rows))]
    return list(zip(cases.explain(model=model), names, strict=True))


# ---- what the models come to


@dataclass(frozen=True, slots=True, eq=False)
class Gain(Record):
    """How much better the cleaned model is than models beside it, with an interval over rows and draws."""

    value: float
    low: float
    high: float


def measure_gain(cleaned: Floats, others: Floats) -> Gain:
    """The mean score of the cleaned models (m, n) less that of others, each trained with the same seed as its other.

    Both count: that other rows had been drawn (n), and other seeds and removals (m).
    """
    m, n = cleaned.shape
    apart = cleaned - others
    value, rows, draws = float(apart.mean()), apart.mean(axis=0), apart.mean(axis=1)
    by_rows = stdtrit(n - 1, 0.975) * rows.std(ddof=1) / np.sqrt(n) if n > 1 else np.inf
    half = float(np.hypot(by_rows, stdtrit(m - 1, 0.975) * draws.std(ddof=1) / np.sqrt(m)))
    return Gain(value, value - half, value + half)


def wilson(scores: Floats) -> tuple[float, float, float]:
    """Mean share of right answers of models (m, n) with a 95 % interval over rows (Wilson 1927); of errors, Student's."""
    n, share = scores.shape[-1], float(scores.mean())
    if set(np.unique(scores).tolist()) - {0.0, 1.0}:
        return interval(scores.reshape(-1, n).mean(axis=0))
    middle, half = share + Z_95**2 / (2 * n), Z_95 * np.sqrt(share * (1 - share) / n + Z_95**2 / (4 * n * n))
    return share, float((middle - half) / (1 + Z_95**2 / n)), float((middle + half) / (1 + Z_95**2 / n))


@dataclass(frozen=True, slots=True, eq=False)
class Takeover(Record):
    """A column whose weight rose once others were removed."""

    name: str
    before: float  # mean size of its weight
    rise: Gain
    association: float  # with what was removed, from 0 to 1; nan where unknown


def find_takeovers(plan: RoundPlan, method: Method) -> tuple[Takeover, ...]:
    """Columns whose weight rose by more than the noise, those that rose most first."""
    seed = child_of(plan.seed, EXPLAINED, 1)
    cleaned = plan.train(plan.removed, 0)
    sizes = [_sizes(_explain(plan.subject, plan.explained, method, seed, model)) for model in (None, cleaned)]
    names = [name for name in dict.fromkeys([*sizes[0], *sizes[1]]) if name and name not in plan.removed]
    none = np.zeros(len(plan.explained))
    pairs = [tuple(side.get(name, none) for side in sizes) for name in names]
    rises = [interval(after - before) for before, after in pairs]
    p = np.array([_one_sided(after - before) for before, after in pairs])
    sure = adjust_holm(p) < 0.05 if len(p) else np.empty(0, bool)
    found = [
        Takeover(name, float(pair[0].mean()), Gain(*rise), _association(plan, name))
        for name, pair, rise, known in zip(names, pairs, rises, sure, strict=True)
        if known
    ]
    return tuple(sorted(found, key=lambda each: -each.rise.value))[:N_NAMED]


def _sizes(explained: Sequence[tuple[Explanation, tuple[str, ...]]]) -> dict[str, Floats]:
    """The size of the weight of each column in every row (n,); 0 where a row does not have it."""
    found: dict[str, Floats] = {}
    for i, (why, names) in enumerate(explained):
        for name, weight in zip(names, why.weights.tolist(), strict=True):
            if not np.isnan(weight):
                found.setdefault(name, np.zeros(len(explained)))[i] += abs(weight)
    return found


def _one_sided(apart: Floats) -> float:
    """P of a mean that is not above zero (Student's t)."""
    n, spread = len(apart), float(apart.std(ddof=1)) if len(apart) > 1 else 0.0
    if spread == 0:
        return float(not apart.mean() > 0)
    return float(stdtr(n - 1, -apart.mean() * np.sqrt(n) / spread))


def _association(plan: RoundPlan, name: str) -> float:
    """The strongest association of a column with one that was removed, in the training data: the size of a rank
    correlation of numbers, Cramér's V of others; nan of words."""
    X = plan.subject.training_data()[0]
    known = list_names(plan.subject.representer, X)
    if not hasattr(X, "shape") or getattr(X, "ndim", 1) != 2 or len(known) != X.shape[1]:
        return np.nan
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    columns = {each: frame.iloc[:, j] for j, each in enumerate(known)}
    return max(
        (_associate(columns[name], columns[gone]) for gone in plan.removed if gone in columns), default=np.nan
    )


def _associate(a: Any, b: Any) -> float:
    if all(pd.api.types.is_numeric_dtype(each.dtype) for each in (a, b)):
        return abs(float(a.astype(float).rank().corr(b.astype(float).rank())))
    codes = [
        pd.qcut(e.rank(method="first"), 4, labels=False) if e.nunique() > 20 else pd.factorize(e)[0]
        for e in (a, b)
    ]
    table = pd.crosstab(codes[0], codes[1]).to_numpy(dtype=float)
    wanted = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    most = min(table.shape) - 1
    return float(np.sqrt(((table - wanted) ** 2 / wanted).sum() / table.sum() / most)) if most else np.nan


def judge_round(
    removed: Sequence[str], trials: Sequence[RoundTrial], took_over: Sequence[Takeover] = (), method: str = "Lime"
) -> Verdict:
    """What a round comes to: passed if the model is better elsewhere, beyond random removals and other seeds."""
    by_kind = {
        kind: [each for each in trials if each.kind == kind] for kind in (AS_IT_WAS, CLEANED, AT_RANDOM, RESEEDED)
    }
    (was,) = by_kind[AS_IT_WAS]
    measures, gains = list[Measured](), dict[str, tuple[Gain, Gain]]()
    counts = all(not (set(np.unique(scores).tolist()) - {0.0, 1.0}) for scores in was.scores.values())
    unit = "right" if counts else "error, negative,"
    after = dict[str, float]()
    for name, scores in was.scores.items():
        kinds = (CLEANED, AT_RANDOM, RESEEDED)
        cleaned, *others = (np.stack([each.scores[name] for each in by_kind[kind]]) for kind in kinds)
        means = {
            AS_IT_WAS: float(scores.mean()),
            AT_RANDOM: float(others[0].mean()),
            RESEEDED: float(others[1].mean()),
        }
        measures.append(Measured(f"{unit} {name}", *wilson(cleaned), len(scores), means))
        after[name] = float(cleaned.mean())
        gains[name] = measure_gain(cleaned, others[0]), measure_gain(cleaned, others[1])
        for said, gain in zip(("beyond random", "beyond seeds"), gains[name], strict=True):
            measures.append(Measured(f"gain {name} {said}", gain.value, gain.low, gain.high, len(scores)))
    measures += [Measured(f"took over: {t.name}", t.rise.value, t.rise.low, t.rise.high) for t in took_over]
    told = ELSEWHERE if ELSEWHERE in gains else next(iter(gains))
    beyond, seeds = gains[told]
    better = told == ELSEWHERE and beyond.low > 0 and seeds.low > 0
    worse = told == ELSEWHERE and beyond.high < 0 and seeds.high < 0
    label = "passed" if better else "failed" if worse else "none"
    shares = float(was.scores[told].mean()), after[told]
    sentence = _sentence(removed, told, label, shares, beyond, counts)
    return Verdict(
        better,
        beyond.value,
        0.0,
        sentence,
        "cleaning",
        method,
        (beyond.low, beyond.high),
        {AT_RANDOM: 0.0},
        tuple(measures),
        notes=_notes(told, by_kind, took_over),
        label=label,
    )


def name_some(names: Sequence[str], most: int = 3) -> str:
    """Names for a sentence."""
    shown = [f"{name[:40]}…" if len(name) > 40 else name for name in names[:most]]
    return ", ".join(shown) + (f" and {len(names) - most} more" if len(names) > most else "")


def _sentence(
    removed: Sequence[str], told: str, label: str, shares: tuple[float, float], gain: Gain, counts: bool
) -> str:
    was, now = (f"{100 * share:.1f} %" if counts else f"{-share:.3g}" for share in shares)
    what = "right answers" if counts else "the mean error"
    points = f"{100 * gain.value:+.1f} points" if counts else f"{gain.value:+.3g}"
    where = "elsewhere" if told == ELSEWHERE else f"on {told}"
    moved = f"Without {name_some(removed)}, {what} {where} went from {was} to {now}"
    if told != ELSEWHERE:
        return f"{moved}; rows of the same source cannot show whether that is better."
    ends = {"passed": "better", "failed": "worse", "none": "may be noise"}[label]
    return f"{moved}, {points} beyond as many random removals: {ends}."


def _notes(
    told: str, by_kind: Mapping[str, Sequence[RoundTrial]], took_over: Sequence[Takeover]
) -> tuple[str, ...]:
    n = len(by_kind[AT_RANDOM])
    found = [
        f"Better means: beyond as many random removals ({n} draws), and beyond nothing removed with the same seeds; "
        "both intervals count rows and draws (95 %).",
        "Held-out rows of the same source share a leak: there, accuracy may fall when a leak is removed.",
    ]
    if told != ELSEWHERE:
        found.append(
            "Give right answers from another source (elsewhere=…, --elsewhere) to see whether it is better."
        )
    for each in took_over:
        known = (
            ""
            if np.isnan(each.association)
            else f"; its association with what was removed is {each.association:.2f}"
        )
        rise = f"{each.rise.value:+.3g} [{each.rise.low:+.3g}, {each.rise.high:+.3g}]"
        found.append(
            f"{each.name} took over: the mean size of its weight rose by {rise} from {each.before:.3g}{known}."
        )
    return tuple(found)


def clean(
    model: Explainable,
    representer: Representer,
    X: Any,
    *,
    removed: Iterable[str],
    y: Any,
    training: RightAnswers | None = None,
    train: Train | None = None,
    elsewhere: RightAnswers | None = None,
    shown: Iterable[str] | None = None,
    sealed: bool = False,
    n_draws: int = N_DRAWS,
    method: Method | None = None,
    classes: Sequence[Any] | None = None,
    rng: int | np.random.Generator = 0,
    progress: Progress | None = None,
) -> Verdict:
    """Train a model again without some columns or words, and say whether it is better.

    Parameters
    ----------
    model : estimator, torch module or callable
        The model: whatever ``vd.explain`` takes.
    representer : Rows, Words or Fields
        What the features are, such as ``vd.Rows(X_train)``.
    X : array, DataFrame or list of str
        Held-out instances, at least 20. Half of them are watched; the others stay sealed.
    removed : iterable of str
        Names of columns, or words, as explanations show them.
    y : array
        Right answers, one per instance of ``X``.
    training : tuple of (X, y), optional
        Instances and answers to train on.
    train : callable, optional
        ``train(X, y, seed)`` returns the predict function of a new model. By default a clone of the scikit-learn
        estimator is trained.
    elsewhere : tuple of (X, y), optional
        Instances and right answers from another source, where a leak shows. Without it nothing is called better.
    shown : iterable of str, optional
        Names among which random removals are drawn; by default those that a few explanations show.
    sealed : bool, default False
        Measure on the sealed half instead of the watched one: once, at the end.
    n_draws : int, default 10
        How many random removals, and how many other seeds, the model is compared with; 3 at least.
    method : method, optional
        By which features are shown, ``vd.Lime()`` by default.
    classes : sequence, optional
        Names of the model's outputs.
    rng : int or numpy.random.Generator, default 0
        The seed.
    progress : callable, optional
        Wraps the iteration over the models that are trained, as ``tqdm.tqdm`` does.

    Returns
    -------
    Verdict
        Passed if the model is better elsewhere: beyond as many random removals, and beyond other seeds with nothing
        removed. ``observed`` is the gain beyond random removals; ``measures`` has all numbers.

    Raises
    ------
    NotApplicable
        If nothing says how the model is trained, or on what.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 900)
    >>> X = np.c_[rng.normal(size=(900, 4)) + y[:, None], 3 * y + rng.normal(size=900)]
    >>> X[600:, 4] = 3 * rng.integers(0, 2, 300) + rng.normal(size=300)  # the last column leaks, but not elsewhere
    >>> model = LogisticRegression().fit(X[:300], y[:300])
    >>> rows = vd.Rows(X[:300], names=["a", "b", "c", "d", "leak"])
    >>> train, elsewhere = (X[:300], y[:300]), (X[600:], y[600:])
    >>> found = vd.checks.clean(
    ...     model, rows, X[300:600], y=y[300:600], removed=["leak"], training=train, elsewhere=elsewhere
    ... )
    >>> found.passed, round(found.observed, 2) > 0.1
    (True, True)
    """
    subject = Subject(model, representer, X, y, train, training, classes=classes)
    plan = plan_round(
        subject,
        [removed] if isinstance(removed, str) else removed,
        elsewhere=elsewhere,
        shown=shown,
        sealed=sealed,
        n_draws=n_draws,
        method=method,
        rng=rng,
    )
    trials = plan.trials() if progress is None else progress(plan.trials(), total=len(plan))
    done = list(trials)
    own = method or Lime()
    return judge_round(plan.removed, done, find_takeovers(plan, own), type(own).__name__)
