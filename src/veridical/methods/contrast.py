"""Contrast: why this answer rather than the other one? A row held against the nearest rows with another answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from threading import Lock
from typing import Any, ClassVar, cast
from weakref import WeakKeyDictionary, ref

import numpy as np
from scipy.special import ndtri

from veridical.errors import InputError, check_whole, safe_repr, safe_str, teach_settings
from veridical.evidence.verdicts import LEAST_STABLE, TopK, no_evidence, top_probability, weigh
from veridical.methods.results import Answer, Outputs, Question, flat_fit, is_flat
from veridical.models.adapters import identify
from veridical.models.outputs import VALUE, Model, stack_outputs
from veridical.models.targets import Target, as_plain, list_classes, resolve
from veridical.protocols import Contrastable, Contrasted, References, Removable, Representation, Seed
from veridical.records import LOG_ODDS, Bools, Explanation, FeaturePair, Fit, Floats, Output, Shape, Verdict
from veridical.representations.tables.columns import format_number
from veridical.seeds import generator
from veridical.surrogates.sparse_sums import (
    Answers,
    SparseSum,
    equal_shares,
    fidelity_of,
    fit_columns,
    fit_sparse_sum,
)

TOGETHER = 0.7  # rank correlation from which on columns are one part, unless Rows(blocks=…) says otherwise
CALLS = 1200  # inputs that masks of all references make, about
MIN_MASKS, MAX_MASKS = 48, 400
LEAST_TOLD = 0.05  # share of the way between both answers, below which a pair is not worth a note
LEAST_ALIKE = 6  # references whose weights are all of one sign, from which on that is no chance
LISTED_PARTS = 12  # parts, up to which masks are drawn without repeating any
REMEMBERED = 4  # models whose answers to one background are remembered


@teach_settings
@dataclass(frozen=True)
class Contrast:
    """Why this answer rather than the other one? What sets a row of a table apart from the nearest rows answered otherwise.

    The row is held against the ``n`` nearest rows of the background that the model answers otherwise. Each feature is
    kept, or replaced by what those rows have, and the answers are averaged over them. A weight is how much the row's own
    value, rather than theirs, contributes to the difference: the intercept is what those rows are answered, and
    intercept and weights add up to the answer for this row, on ``why.scale``. Strongly correlated columns are one
    feature: see ``blocks`` of ``vd.Rows``. An interval runs from the smallest to the largest weight against one of
    these rows alone.

    It is an easier question than that of ``vd.Lime``, and explanations are more faithful. The model is asked about 500
    rows of the background at most, once per model, and about 1,250 more inputs per explanation at most.

    Parameters
    ----------
    n : int
        Rows of the background that a row is held against.
    against : class or number, optional
        The other answer. By default the other one of two classes, of more the runner-up, and of a number one on the
        other side of the median of the background's. A number is a bound: the rows held against are answered with at
        most as much, or with at least as much if the row itself is answered with less.
    parts : int
        Features that have a weight, at most.
    pairs : int
        Pairs of these that count by themselves, at most; each must lower the error on samples that were held out.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> import veridical as vd
    >>> data = load_breast_cancer(as_frame=True)
    >>> names = data.target_names[data.target]
    >>> model = LogisticRegression(max_iter=10_000).fit(data.data, names)
    >>> why = vd.explain(model, vd.Rows(data.data), data.data.iloc[0], method=vd.Contrast())
    >>> why.target, len(why.top(9)) <= 5
    ('malignant', True)
    """

    n: int = 8
    against: Any = None
    parts: int = 5
    pairs: int = 2

    purpose: ClassVar[str] = "why this answer rather than another"

    def __post_init__(self) -> None:
        check_whole("n", self.n)
        check_whole("parts", self.parts)
        if isinstance(self.pairs, bool) or not isinstance(self.pairs, (int, np.integer)) or self.pairs < 0:
            check_whole("pairs, unless it is 0,", self.pairs)
        if isinstance(self.against, (list, tuple, set, Mapping, np.ndarray)):
            raise InputError(f"against wants one class or number, not {safe_repr(self.against)}")

    @property
    def most_calls(self) -> int:
        """Inputs that it asks about at most, those of the background counted."""
        return 501 + self.n * (1 + min(max(CALLS // self.n, MIN_MASKS), MAX_MASKS))

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[Any], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one row: one explanation per target, each against rows of its own."""
        row = check_contrastable(representation)
        whole = np.ones((1, len(representation.names)), bool)
        own = model(cast(Removable, representation).keeping(whole, seed))
        return tuple(self._explain(model, row, wanted, own, seed) for wanted in targets)

    def _explain(self, model: Model, row: Contrastable, wanted: Any, own: Floats, seed: Seed) -> Explanation:
        """One target against the rows that are answered otherwise."""
        known, n_before = ask_references(model, row.references), 1
        for fresh in (False, True):
            if fresh:  # the model is not what it was when the background was asked about
                forget(model, row.references)
                n_before += len(known)
                known = ask_references(model, row.references)
            other = find_other(self, model, wanted, own, known)
            distance = np.where(other.rows, row.distances(), np.inf)
            at = np.argsort(distance, kind="stable")[: min(self.n, int(other.rows.sum()))]
            beside = row.contrasted(at, TOGETHER)
            if not len(at):
                return self._without_references(model, beside, wanted, own, known, n_before, seed)
            asked = ask_masks(model, beside, self, seed, n_before + len(known), len(at))
            if fresh or asked.agrees_with(known[at]):
                break
            n_before += asked.n_calls
        outputs = stack_outputs([own, asked.outputs])
        n_calls = n_before + len(known) + asked.n_calls
        question = Question(model, cast(Representation, beside), (wanted,), seed)
        (seen,) = question.read(outputs)
        made, told = self._answer(beside, asked, seen, n_calls, seed)
        words = other.question(seen, float(seen.y[1 : 1 + len(at)].mean()) * seen.unit, len(at))
        few = (few_rows(len(at), self.n, len(known), other),) if len(at) < self.n else ()
        made = replace(made, notes=(*told, *other.notes, *few))
        return replace(question, purpose=words).record(self, seen, made)

    def _answer(
        self, beside: Contrasted, asked: MaskAnswers, seen: Outputs, n_calls: int, seed: Seed
    ) -> tuple[Answer, tuple[str, ...]]:
        """Weights with their evidence, and what a reader should know of them."""
        rule, differs, n = TopK(), asked.differs, asked.n_references
        y = seen.y[1:].reshape(-1, n)  # (1 + masks, references)
        if is_flat(seen.y):
            fit = flat_fit(len(differs), float(seen.y[0]), True)
            verdict = no_evidence(seen.prediction, seen.prediction, n_calls)
            return Answer(fit, weigh(fit, rule, 0.0), rule.k, n_calls, float(len(y)), verdict=verdict), ()
        own = float(seen.y[0])
        answers = Answers(asked.masks, y[1:].mean(axis=1), (float(y[0].mean()), own), asked.exact)
        model = fit_sparse_sum(answers, self.parts, self.pairs)
        alone = [model.refitted(replace(answers, y=y[1:, r], ends=(float(y[0, r]), own))) for r in range(n)]
        fidelity = fidelity_of(answers, self.parts, self.pairs, generator(seed, 21))
        fit = made_fit(model, alone, answers, differs, fidelity)
        probability = top_probability(every_part(model, answers), rule)
        evidence, spans = weigh(fit, rule, probability), bands(fit.weights, alone, differs)
        clear = (
            evidence.clear if n < LEAST_ALIKE else noticed(fit.weights, model, answers, differs) & one_sign(spans)
        )
        evidence = replace(evidence, intervals=spans, clear=clear)
        answer = Answer(fit, evidence, rule.k, n_calls, float(len(asked.masks)), rule=rule)
        return answer, told_of(model, answers, beside, fidelity, n)

    def _without_references(
        self, model: Model, beside: Contrasted, wanted: Any, own: Floats, known: Floats, n_before: int, seed: Seed
    ) -> Explanation:
        """The record where no row of the background has another answer."""
        question = Question(model, cast(Representation, beside), (wanted,), seed, purpose=self.purpose)
        (seen,) = question.read(own)
        rule, n_calls = TopK(), n_before + len(known)
        fit = flat_fit(len(beside.parts), float(seen.y[0]), False)
        words = (
            f"The model has one answer for this row and all {len(known)} of the background: there is no other one."
        )
        advice = "Try `method=vd.Lime()`, which asks what moves the answer at all."
        verdict = Verdict(False, 0.0, LEAST_STABLE, words, label="none", advice=advice)
        return question.record(
            self, seen, Answer(fit, weigh(fit, rule, 0.0), rule.k, n_calls, 1.0, verdict=verdict)
        )


def check_contrastable(representation: Representation) -> Contrastable:
    """A Representation that rows of a background can stand in for, or an error that says what else to use."""
    if not isinstance(representation, Contrastable):
        raise InputError(
            f"Contrast holds a row of a table against other rows, and {type(representation).__name__} is none: give "
            "vd.Rows(…) with a background of rows, or explain this with vd.Lime()"
        )
    return representation


@dataclass(frozen=True, eq=False)
class Remembered:
    """A model, by a reference that does not keep it alive, and its answers to all references."""

    kinds: tuple[Any, ...]
    model: Any
    outputs: Floats


# Of the last few models that were asked about a background, as long as that lives. Some of the answers are asked for again
# with each explanation, so that a model that was fitted again is found.
_REMEMBERED: WeakKeyDictionary[Any, tuple[Remembered, ...]] = WeakKeyDictionary()
_LOCK = Lock()


def ask_references(model: Model, references: References) -> Floats:
    """The model's answers to all references (n, k): asked once, and remembered."""
    kinds, given = identify(model.predict)
    with _LOCK:
        before = _REMEMBERED.get(references, ())
        known = next((each for each in before if each.kinds == kinds and each.model() is given), None)
        if known is None:
            outputs = model(references.inputs, first=1)
            outputs.flags.writeable = False
            try:
                known = Remembered(kinds, ref(given), outputs)
            except TypeError:  # of the caller's own kind, to which there are no references
                return outputs
            _REMEMBERED[references] = (known, *before[: REMEMBERED - 1])
        return known.outputs


def forget(model: Model, references: References) -> None:
    """Have the model asked about the references again."""
    given = identify(model.predict)[1]
    with _LOCK:
        kept = (each for each in _REMEMBERED.get(references, ()) if each.model() is not given)
        _REMEMBERED[references] = tuple(kept)


@dataclass(frozen=True, eq=False)
class OtherAnswer:
    """Which references are answered otherwise, and in words what they are answered."""

    rows: Bools  # (n,)
    words: str  # "benign", or "at most 21.2"
    notes: tuple[str, ...] = ()

    def question(self, seen: Outputs, theirs: float, n: int) -> str:
        """What is asked, with the answers of both sides."""
        own, other = format_number(seen.prediction, 3), format_number(theirs, 3)
        what = own if seen.target.label == VALUE else f"{safe_str(seen.target.label)} ({own})"
        rows = "the nearest row" if n == 1 else f"the {n} nearest rows"
        return f"why {what} rather than {self.words} ({other} for {rows} answered so)?"


def find_other(method: Contrast, model: Model, wanted: Any, own: Floats, known: Floats) -> OtherAnswer:
    """The references (n, k) that are answered otherwise than the row itself (1, k)."""
    target, k = resolve(wanted, model, own), own.shape[1]
    second = model.scores and k == 1  # the only output is a score of the second of two classes
    position = _class_position(target, second) if k > 1 or second else None
    if position is None:
        return _beyond(method.against, float(target.read(own)[0]), target.read(known))
    decided = (known[:, 0] >= 0).astype(int) if second else known.argmax(axis=1)
    named = model.classes if second or len(model.classes or ()) == k else None
    labels = named or tuple(map(Output, range(k)))
    answered = [int(c) for c in np.unique(decided)]
    if method.against is not None:
        other = _class_position(resolve(method.against, model, own), second)
        if other == position:
            raise InputError(
                f"against is {safe_repr(labels[position])}, the class that is explained: give another one, or say by "
                "target=… which class to explain"
            )
        if other not in answered:
            raise InputError(
                f"against is {safe_repr(method.against)}, but the model answers so for none of the {len(known)} "
                f"rows of the background: it answers {list_classes([labels[c] for c in answered])}"
            )
        return OtherAnswer(decided == other, safe_str(labels[other]))
    others = [c for c in answered if c != position]
    if not others:
        return OtherAnswer(np.zeros(len(known), bool), "another answer")
    if second:
        return OtherAnswer(decided == others[0], safe_str(labels[others[0]]))
    next_ones = [c for c in np.argsort(-own[0], kind="stable").tolist() if c != position]
    other = next(c for c in next_ones if c in others)
    words, first = safe_str(labels[other]), safe_str(labels[next_ones[0]])
    skipped = (
        f"the model answers no row of the background with the runner-up, {first}, so {words} is the other answer"
    )
    return OtherAnswer(decided == other, words, (skipped,) * (other != next_ones[0]))


def _class_position(target: Target, second: bool) -> int | None:
    """The position of a target among the classes; None where it is none of them."""
    if not isinstance(target.key, Mapping) or "output" not in target.key:
        return None
    return 0 if target.key.get("negated") else int(target.key["output"]) + second


def _beyond(against: Any, own: float, values: Floats) -> OtherAnswer:
    """References whose number is on the other side of a bound, by default of the median."""
    if against is None:
        bound, words = float(np.median(values)), " (the median)"
    elif isinstance(against, Real) and not isinstance(against, (bool, np.bool_)) and np.isfinite(float(against)):
        bound, words = float(against), ""
    else:
        raise InputError(
            f"the model answers with numbers, so against wants one, not {safe_repr(as_plain(against))}"
        )
    below = own > bound or (own == bound and bool((values < bound).any()))
    strict = own == bound or (against is None and bool(((values < bound) if below else (values > bound)).any()))
    if below:
        rows, said = values < bound if strict else values <= bound, "less than" if strict else "at most"
    else:
        rows, said = values > bound if strict else values >= bound, "more than" if strict else "at least"
    said = f"{said} {format_number(bound, 3)}{words}"
    if against is not None and not rows.any():
        ends = f"from {format_number(float(values.min()), 4)} to {format_number(float(values.max()), 4)}"
        raise InputError(
            f"against is {safe_repr(against)}, but the model answers none of the {len(values)} rows of the background "
            f"with {said}: its answers go {ends}"
        )
    return OtherAnswer(rows, said)


def few_rows(n: int, wanted: int, n_known: int, other: OtherAnswer) -> str:
    """A note that there are fewer references than were asked for."""
    what = "1 row is" if n == 1 else f"{n} rows are"
    return f"only {what} answered with {other.words} among the {n_known} of the background, fewer than the {wanted} asked for"


@dataclass(frozen=True, eq=False)
class MaskAnswers:
    """What the model answers where some parts are those of references."""

    differs: Bools  # (b,) parts that references have otherwise: the others do nothing
    masks: Bools  # (n, d) of those that differ
    exact: bool  # they are all there are
    n_references: int
    outputs: Floats  # ((1 + n) · references, k), those to nothing kept first
    again: Floats  # (references, k) to the references themselves
    genuine: bool  # nothing kept is a reference itself

    @property
    def n_calls(self) -> int:
        """Inputs that were asked about."""
        return len(self.outputs) + (0 if self.genuine else len(self.again))

    def agrees_with(self, known: Floats) -> bool:
        """Whether the references are answered as they were when all were."""
        return known.shape == self.again.shape and bool(np.allclose(known, self.again, rtol=1e-5, atol=1e-8))


def ask_masks(
    model: Model, beside: Contrasted, method: Contrast, seed: Seed, first: int, n_references: int
) -> MaskAnswers:
    """Answers where nothing is kept, and where random halves are, each with every reference."""
    differs = beside.differs
    d = int(differs.sum())
    masks, exact = draw_halves(d, min(max(CALLS // n_references, MIN_MASKS), MAX_MASKS), seed)
    every = np.ones((1 + len(masks), len(differs)), bool)
    every[:, differs] = np.vstack([np.zeros((1, d), bool), masks])
    outputs = model(beside.keeping(every), first=first)
    again = outputs[:n_references] if beside.genuine else model(beside.others, first=first + len(outputs))
    return MaskAnswers(differs, masks, exact, n_references, outputs, again, beside.genuine)


def draw_halves(d: int, n: int, seed: Seed) -> tuple[Bools, bool]:
    """Masks (n, d) that keep each part by the toss of a coin, but neither none nor all; or all masks, if they are few."""
    if d <= LISTED_PARTS:
        every = np.arange(1, max(2**d - 1, 1))
        exact = len(every) <= n
        which = every if exact else np.sort(generator(seed, 20).permutation(every)[:n])
        return (which[:, None] >> np.arange(d)) % 2 == 1, exact
    rng, masks = generator(seed, 20), np.zeros((n, d), bool)
    left = np.arange(n)
    while len(left):
        masks[left] = rng.random((len(left), d)) < 0.5
        left = left[(masks[left].sum(axis=1) % d) == 0]
    return masks, False


def made_fit(
    model: SparseSum, alone: Sequence[SparseSum], answers: Answers, differs: Bools, fidelity: float
) -> Fit:
    """The fit of all parts; its errors are those of the masks, and of the choice of references."""
    d, n, weights, at = answers.masks.shape[1], len(alone), np.zeros(len(differs)), np.flatnonzero(differs)
    own, chosen = list(model.parts), np.zeros(len(differs), bool)
    weights[at], chosen[at[own]] = model.weights(d), True
    k = len(own)
    small = np.zeros((k, k)) if answers.exact else model.covariance[:k, :k]
    if n > 1:
        small = small + np.atleast_2d(np.cov(np.array([each.slopes[:k] for each in alone]).T)) / n
    covariance = np.zeros((len(differs), len(differs)))
    covariance[np.ix_(at[own], at[own])] = small
    pairs = tuple(
        FeaturePair((int(at[i]), int(at[j])), 0.0, (0.0, 0.0), np.array([[0.0, -c / 2], [-c / 2, 0.0]]))
        for (i, j), c in zip(model.pairs, model.slopes[k:].tolist(), strict=True)
    )
    return Fit(
        weights=weights,
        intercept=model.intercept,
        covariance=covariance,
        local_prediction=float(model(np.ones((1, d), bool))[0]),
        fidelity=fidelity,
        measured=np.ones(len(differs), bool),
        chosen=chosen,
        degrees=max(n - 1.0, 1.0),
        shape=Shape(model.scale, (), pairs),
    )


def every_part(model: SparseSum, answers: Answers) -> Fit:
    """A fit of all parts that differ, by which it is judged whether other masks would have the same top."""
    d = answers.masks.shape[1]
    found = fit_columns(answers, model.scale, range(d), (), (model.ridge,))
    covariance = np.zeros((d, d)) if answers.exact else found.covariance
    every, degrees = np.ones(d, bool), max(float(len(answers.y) - d), 1.0)
    return Fit(found.slopes, found.intercept, covariance, 0.0, 0.0, every, every, degrees)


def bands(weights: Floats, alone: Sequence[SparseSum], differs: Bools) -> Floats:
    """From the smallest to the largest weight of each part against one reference (b, 2)."""
    each = np.zeros((len(alone) + 1, len(weights)))
    each[:-1, differs] = [one.weights(int(differs.sum())) for one in alone]
    each[-1] = weights
    return np.stack([each.min(axis=0), each.max(axis=0)], axis=1)


def noticed(weights: Floats, model: SparseSum, answers: Answers, differs: Bools) -> Bools:
    """Weights (b,) that other masks would not have made zero, all at once with 95 % certainty."""
    least, k = np.zeros(len(weights)), len(model.parts)
    if not answers.exact:
        errors = np.sqrt(model.covariance.diagonal()[:k])
        least[np.flatnonzero(differs)[list(model.parts)]] = ndtri(1 - 0.025 / max(k, 1)) * errors
    return np.abs(weights) > least


def one_sign(spans: Floats) -> Bools:
    """Weights (b,) with the same sign against every reference: by chance, one in 2 to the power of n - 1 would be."""
    return np.asarray((spans[:, 0] > 0) | (spans[:, 1] < 0))


def told_of(model: SparseSum, answers: Answers, beside: Contrasted, fidelity: float, n: int) -> tuple[str, ...]:
    """What a reader should know of a fit."""
    told, names = list[str](), [part.column for part, own in zip(beside.parts, beside.differs, strict=True) if own]
    null = equal_shares(answers)
    if np.isfinite(fidelity):
        told.append(
            f"explains {_share(fidelity)} of what the model does between those rows and this one (held out); equal "
            f"shares for all features would explain {_share(null)}"
        )
    if n > 1:
        told.append(
            f"intervals are of the weights against each of the {n} rows alone, from the smallest to the largest"
        )
    what = "the log-odds are" if model.scale == LOG_ODDS else "the answer is"
    least = LEAST_TOLD * abs(float(model.slopes[: len(model.parts)].sum()))
    for (i, j), c in zip(model.pairs, model.slopes[len(model.parts) :].tolist(), strict=True):
        if abs(c) / 2 < least:
            continue
        way = "higher" if c < 0 else "lower"
        told.append(
            f"where only one of {names[i]} and {names[j]} is this row's, {what} {format_number(abs(c) / 2, 2)} {way} "
            "than their weights say"
        )
    same = int((~beside.differs).sum())
    if same:
        some = "1 feature is" if same == 1 else f"{same} features are"
        told.append(f"{some} the same in all of these rows, and can have no weight")
    return tuple(told)


def _share(r2: float) -> str:
    """A share in percent; nothing below 0."""
    return "nothing" if not r2 > 0 else f"{100 * r2:.0f} %" if r2 < 0.995 or r2 == 1 else "more than 99 %"
