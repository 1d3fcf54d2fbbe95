"""Which training rows have a wrong label? Confident contradictions, influence, and what explanations say.

Where classes overlap, labels are contradicted too, but the less the surer the model is. Wrong ones are so however
sure it is: as a function of confidence, the share of contradictions has a floor.

    P(contradicted) = r (1 - s) + (1 - r) s,  s = 1 / (1 + exp(b + a × confidence))

r is the share of wrong labels, s the chance that the model itself errs. Confidence is the log of the ratio of the
two highest probabilities. Where it is 0 a model of two classes errs half of the time, so b is 0; one of more
classes errs more often. It is no proof: rows on which the model is confidently wrong look the same.

The loss of a model that was trained without the row is the ranking to beat. Beside it stand the loss of the model
that saw the row, self-influence, TracIn, and what explanations say of the labels; how good each is, is measured on
labels that are flipped on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit

from veridical.checks.answers import find_class_columns, order_classes, place_answers, to_probabilities
from veridical.checks.influence import self_influence, tracin
from veridical.checks.similarity import ANOTHER, CONSTANT, NOISE, NULLS, SHUFFLED
from veridical.checks.subjects import Rng, Subject
from veridical.errors import InputError, NotApplicable, check_whole
from veridical.methods.many import Plan, can_share, explain_all
from veridical.metrics.evaluations import name_methods
from veridical.metrics.significance import auroc, precision
from veridical.metrics.weights import sum_by_column
from veridical.models.adapters import model_of
from veridical.models.outputs import VALUE, Model, n_rows, rows_at
from veridical.models.torch_modules import Network
from veridical.models.validation import seed_of
from veridical.protocols import MapMethod, Method, Seed
from veridical.records import Bools, Explanation, Floats, Ints, Measured, Output, Record, Verdict
from veridical.seeds import child_of, generator

MIN_LABELED_ROWS = 40  # labeled rows, below which nothing is told of them


@dataclass(frozen=True, slots=True, eq=False)
class LabeledRows(Record):
    """Rows of a subject's training data, each with a position in the classes as its label."""

    subject: Subject
    X: Any
    labels: Ints  # (n,)
    answers: Any  # (k,) what the labels are in y
    rows: Ints  # (n,) of the data that was given

    def __len__(self) -> int:
        return len(self.labels)

    def select(self, rows: Ints) -> LabeledRows:
        """Some of the rows."""
        return replace(self, X=rows_at(self.X, rows), labels=self.labels[rows], rows=self.rows[rows])

    def train_model(self, rows: Ints, seed: int) -> Model:
        """A model that is trained on these rows alone."""
        assert self.subject.train is not None
        return model_of(self.subject.train(rows_at(self.X, rows), self.answers[self.labels[rows]], seed))

    def outputs(self, model: Model) -> Floats:
        """What a model answers to the rows."""
        return model(self.subject.representer.each(self.X).inputs(0, len(self)))

    def probabilities(self, model: Model) -> Floats:
        """What a model makes of the rows, (n, k); a class that it was not trained on has probability 0."""
        found, columns = to_probabilities(self.outputs(model)), find_class_columns(model, self.answers)
        wide = np.zeros((len(self), len(self.answers)))
        known = (columns >= 0) & (columns < found.shape[1])
        wide[:, known] = found[:, columns[known]]
        return wide

    def cross_validate(self, n_folds: int, seed: Seed) -> Floats:
        """Probabilities (n, k) for each row of a model that was trained without it."""
        drawn = generator(seed).permutation(len(self))
        order = drawn[np.argsort(self.labels[drawn], kind="stable")]  # class by class, at random
        folds = np.empty(len(self), np.int64)
        folds[order] = np.arange(len(self)) % n_folds
        found = np.empty((len(self), len(self.answers)))
        for fold in range(n_folds):
            left = np.flatnonzero(folds == fold)
            model = self.train_model(np.flatnonzero(folds != fold), fold)
            found[left] = self.select(left).probabilities(model)
        return found

    def explain(self, method: Method, model: Model, seed: Seed) -> tuple[tuple[Explanation, ...], Floats]:
        """An explanation of each row's own label, and the sign (n,) that makes its weights speak for the label."""
        columns = find_class_columns(model, self.answers)[self.labels]
        single = self.select(np.arange(1)).outputs(model).shape[1] == 1
        found: dict[int, Explanation] = {}
        for label in np.unique(self.labels):
            at = np.flatnonzero(self.labels == label)
            target = VALUE if single else Output(columns[at[0]])
            instances = self.subject.representer.each(rows_at(self.X, at))
            own = child_of(seed, int(label))
            found |= dict(
                zip(at.tolist(), explain_all(method, model, instances, target, own, Plan()), strict=True)
            )
        signs = np.where(single & (self.labels == 0), -1.0, 1.0)
        return tuple(found[i] for i in range(len(self))), signs

    def flip(self, rows: Ints, rng: np.random.Generator) -> LabeledRows:
        """The same rows, of which these have another label, drawn from all others."""
        labels, k = self.labels.copy(), len(self.answers)
        labels[rows] = (labels[rows] + rng.integers(1, k, len(rows))) % k
        return replace(self, labels=labels)


def read_labels(subject: Subject) -> LabeledRows:
    """The rows and labels that a subject's model was trained on, or else X and y."""
    X, y = subject.training_data()
    if n_rows(X) < MIN_LABELED_ROWS:
        raise NotApplicable(
            f"at least {MIN_LABELED_ROWS} labeled rows are needed to tell wrong labels from chance; there are "
            f"{n_rows(X)}"
        )
    given = np.asarray(y)
    if given.ndim != 1:
        raise NotApplicable(f"labels are one class per row, not an array of shape {given.shape}")
    first = subject.checked_model(subject.representer.each(rows_at(X, [0])).inputs(0, 1))
    answers = order_classes(given, subject.checked_model, first.shape[1])
    return LabeledRows(subject, X, place_answers(given, answers), answers, np.arange(len(given)))


MIN_PROBABILITY = 1e-3  # probabilities below this are as good as none
MAX_NOISE_SHARE = 0.45  # wrong labels, as a share; with more, the right ones would be the wrong ones
LEVEL_BOUNDS = (-1.5, 0.0)  # b, with more than two classes
SLOPE_BOUNDS = (0.05, 20.0)  # a
START_SHARES = (0.02, 0.15)
ONE_SIDED_LIMIT = 2.71  # of twice the log likelihood ratio: 5 % where r cannot be below 0
TWO_SIDED_LIMIT = 3.84
MIN_NOISE_PER_CONTRADICTION = 1 / 3  # of all contradictions: fewer are not told from what the curve misses


@dataclass(frozen=True, slots=True, eq=False)
class LabelNoise(Record):
    """Wrong labels among n, by confident contradictions."""

    share: float  # estimated
    low: float  # and its 95 % interval
    high: float
    strength: float  # twice the log likelihood ratio to no wrong label at all
    contradicted: float  # the share of labels that the model contradicts
    wrong: Floats  # (n,) the probability that a label is wrong

    @property
    def found(self) -> bool:
        """Whether there are more than chance and overlap leave.

        The rule was chosen on made and real data with and without wrong labels: models whose confidence is no
        logit, such as forests, bend the curve, which a third of all contradictions is seldom mistaken for.
        """
        return self.strength > ONE_SIDED_LIMIT and self.share > MIN_NOISE_PER_CONTRADICTION * self.contradicted

    @property
    def suspects(self) -> Ints:
        """Labels that are more likely wrong than not, the worst first."""
        order = np.argsort(-self.wrong, kind="stable")
        return np.asarray(order[self.wrong[order] > 0.5])


def estimate_noise(probabilities: Floats, labels: Ints) -> LabelNoise:
    """Wrong labels by probabilities (n, k) of a model that did not see them."""
    logs = np.sort(np.log(np.clip(probabilities, MIN_PROBABILITY, 1.0)), axis=1)
    against = np.asarray(probabilities.argmax(axis=1) != labels)
    curve = ContradictionCurve(
        logs[:, -1] - logs[:, -2], against, (0.0, 0.0) if logs.shape[1] == 2 else LEVEL_BOUNDS
    )
    (b, a, r), loss = min(
        (curve.fit((curve.level[0], 1.0, start)) for start in START_SHARES), key=lambda fit: fit[1]
    )
    none = min(curve.fit((*start, 0.0), (0.0, 0.0))[1] for start in ((b, a), (curve.level[0], 1.0)))

    def beyond(share: float) -> float:
        return 2 * (curve.fit((b, a, share), (share, share))[1] - loss) - TWO_SIDED_LIMIT

    strength = max(2 * (none - loss), 0.0)
    low = brentq(beyond, 0.0, r, xtol=1e-4) if strength > TWO_SIDED_LIMIT and beyond(0.0) > 0 else 0.0
    high = brentq(beyond, r, MAX_NOISE_SHARE, xtol=1e-4) if beyond(MAX_NOISE_SHARE) > 0 else MAX_NOISE_SHARE
    s = expit(-(b + a * curve.confidence))
    wrong = np.where(against, r * (1 - s) / np.maximum(r * (1 - s) + (1 - r) * s, 1e-12), 0.0)
    return LabelNoise(r, low, high, strength, float(against.mean()), wrong)


@dataclass(frozen=True, slots=True, eq=False)
class ContradictionCurve(Record):
    """Contradictions as a function of confidence."""

    confidence: Floats  # (n,)
    against: Bools  # (n,) labels that the model contradicts
    level: tuple[float, float]  # that b lies between

    def fit(
        self, start: tuple[float, float, float], share: tuple[float, float] = (0.0, MAX_NOISE_SHARE)
    ) -> tuple[tuple[float, float, float], float]:
        """b, a and r of the greatest likelihood, and minus its log; r lies between the two shares."""
        bounds = [self.level, SLOPE_BOUNDS, share]
        found = minimize(self._loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        b, a, r = (float(each) for each in found.x)
        return (b, a, r), float(found.fun)

    def _loss(self, at: Floats) -> tuple[float, Floats]:
        s, r = expit(-(at[0] + at[1] * self.confidence)), at[2]
        p = np.clip(r * (1 - s) + (1 - r) * s, 1e-9, 1 - 1e-9)
        slope = np.where(self.against, -1 / p, 1 / (1 - p))
        by_s = slope * -s * (1 - s) * (1 - 2 * r)
        value = -np.log(np.where(self.against, p, 1 - p)).sum()
        return float(value), np.array([by_s.sum(), (by_s * self.confidence).sum(), (slope * (1 - 2 * s)).sum()])


# explanations' weights (n, c) for the given labels, by column, and the labels (n,), to one score per row
LabelScore = Callable[[Floats, Ints], Floats]


def weigh_against_label(weights: Floats, labels: Ints) -> Floats:
    """The share of all weight that speaks against the given label."""
    total = np.abs(weights).sum(axis=1)
    return np.asarray(np.maximum(-weights, 0).sum(axis=1) / np.where(total > 0, total, 1.0))


def distance_from_class(weights: Floats, labels: Ints) -> Floats:
    """How unlike the mean explanation of the other rows with its label a row's is: 1 less the cosine."""
    found = np.ones(len(weights))
    for label in np.unique(labels):
        own = weights[labels == label]
        if len(own) > 1:
            found[labels == label] = 1 - rowwise_cosines(own, own.sum(axis=0) - own)
    return found


def rowwise_cosines(a: Floats, b: Floats) -> Floats:
    """Of rows, pair by pair; 0 where one has no weight."""
    sizes = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray((a * b).sum(axis=1) / np.where(sizes > 0, sizes, 1.0))


SCORES: Mapping[str, LabelScore] = {
    "weight against the label": weigh_against_label,
    "unlike its class": distance_from_class,
}


DRAWN, FOLDS, FLIPS, PLANTED, EXPLAINED, RANDOM = range(6)  # what seeds are for
N_EVIDENCE = 3  # rows whose explanations are shown
MAX_NAMED_ROWS = 5  # suspects that the sentence names
MAX_SUSPECTS = 1000  # suspects that the verdict lists, at most
MAX_CHEAP_EXPLANATIONS, MAX_COSTLY_EXPLANATIONS = 200, 40  # explanations
MAX_SUSPECTED_ROWS = 50_000  # rows that are looked at where wrong labels were found among fewer
UNSEEN_LOSS, TRAINING_LOSS = "loss, trained without the row", "training loss"
PRECISION_AT = ": precision at "
POWERFUL, POWERLESS = (
    "this check fails, as it should",
    "this check passes all the same: it cannot see wrong labels here",
)
N_NULL_DRAWS = 8  # of scores that know nothing

Measure: TypeAlias = Callable[[Floats, Bools], tuple[float, float, float]]


@dataclass(frozen=True)
class Labels:
    """Which training rows have a wrong label?

    Parameters
    ----------
    share : float, default 0.1
        Share of the labels that are flipped on purpose, to see what finds them.
    n_explained : int, optional
        Number of rows to explain for that; by default 200 where explanations share samples or need none, else 40.
    n_rows : int, default 2000
        Number of rows that models are trained on.
    n_folds : int, default 3
        Number of models that are trained anew.
    """

    share: float = 0.1
    n_explained: int | None = None
    n_rows: int = 2000
    n_folds: int = 3

    def __post_init__(self) -> None:
        if not isinstance(self.share, float) or not 0 < self.share < 0.5:
            raise InputError(f"share is the share of labels to flip, above 0 and below 0.5, not {self.share!r}")
        for name, least in (("n_explained", 20), ("n_rows", 40), ("n_folds", 2)):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least)

    def __call__(self, method: Method, subject: Subject, rng: Rng) -> Verdict:
        """Estimate the share of wrong labels; passed if there are no more than chance leaves."""
        seed, every = seed_of(rng), read_labels(subject)
        data = every.select(np.sort(generator(seed, DRAWN).permutation(len(every))[: self.n_rows]))
        noise, measures, notes = self._noise(data, seed), list[Measured](), list[str]()
        if subject.train is not None:
            measures, notes = self._planted(data, noise, method, seed)
        if noise.found and len(data) < len(every):
            data = every.select(np.sort(generator(seed, DRAWN).permutation(len(every))[:MAX_SUSPECTED_ROWS]))
            noise = self._noise(data, seed)
        if len(data) < len(every):
            notes.append(f"{len(data):,} of {len(every):,} rows, drawn at random, were checked.")
        return self._verdict(data, noise, method, seed, measures=measures, notes=[*_note_memory(subject), *notes])

    def _noise(self, data: LabeledRows, seed: Seed) -> LabelNoise:
        """Wrong labels by models that did not see them, or else by the model itself."""
        known = data.subject.train is not None
        p = (
            data.cross_validate(self.n_folds, child_of(seed, FOLDS))
            if known
            else data.probabilities(data.subject.checked_model)
        )
        return estimate_noise(p, data.labels)

    def _planted(
        self, data: LabeledRows, noise: LabelNoise, method: Method, seed: Seed
    ) -> tuple[list[Measured], list[str]]:
        """How well scores find labels that are flipped on purpose, among those that do not look wrong by now."""
        rng = generator(seed, FLIPS)
        fair = rng.permutation(np.flatnonzero(noise.wrong <= 0.5))
        wrong, right = np.split(fair, [max(round(self.share * len(fair)), 1)])
        flipped = data.flip(wrong, rng)
        unseen = flipped.cross_validate(self.n_folds, child_of(seed, PLANTED))
        model = flipped.train_model(np.arange(len(flipped)), 0)
        n = min(self.n_explained or _count_affordable(data, method), len(fair))
        n_wrong = max(round(self.share * n), 1)
        at = np.r_[wrong[:n_wrong], right[: n - n_wrong]]
        known = FlippedRows(flipped, at, np.arange(len(at)) < n_wrong, self.share, child_of(seed, RANDOM))
        measures = [
            *known.score_directly(unseen, model),
            *known.score_explanations(method, model, child_of(seed, EXPLAINED)),
        ]
        seen = estimate_noise(unseen, flipped.labels)
        power = POWERFUL if seen.found else POWERLESS
        return measures, [f"With {100 * self.share:.0f} % of the labels flipped on purpose, {power}."]

    def _verdict(
        self,
        data: LabeledRows,
        noise: LabelNoise,
        method: Method,
        seed: Seed,
        *,
        measures: list[Measured],
        notes: list[str],
    ) -> Verdict:
        suspects = noise.suspects[:MAX_SUSPECTS]
        rows = tuple(int(row) for row in data.rows[suspects])
        worst = np.argsort(-noise.wrong, kind="stable")[:N_EVIDENCE]
        evidence = data.select(worst).explain(method, data.subject.checked_model, child_of(seed, EXPLAINED))[0]
        return Verdict(
            not noise.found, noise.share, 0.0, _write_sentence(noise, rows, measures, notes),
            check="labels", interval=(noise.low, noise.high), measures=tuple(measures), evidence=evidence,
            rows=rows, notes=tuple(notes),
        )  # fmt: skip


def labels(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Which training rows have a wrong label?"""
    return Labels()(method, subject, rng)


@dataclass(frozen=True, slots=True, eq=False)
class FlippedRows(Record):
    """Rows of which some have a label that was flipped, and how well scores tell which."""

    data: LabeledRows  # all rows that models were trained on
    at: Ints  # (n,) those that are scored
    wrong: Bools  # (n,)
    share: float
    seed: Seed

    def score_directly(self, unseen: Floats, model: Model) -> Iterator[Measured]:
        """Scores that need no explanation."""
        seen, labels = self.data.probabilities(model), self.data.labels
        yield from self.rate(UNSEEN_LOSS, _label_loss(unseen, labels)[self.at])
        yield from self.rate(TRAINING_LOSS, _label_loss(seen, labels)[self.at])
        inputs = self.data.subject.representer.each(self.data.X).inputs(0, len(self.data))
        with suppress(NotApplicable):
            yield from self.rate("self-influence", self_influence(model.predict, inputs, labels)[self.at])
        if isinstance(model.predict, Network):
            with suppress(NotApplicable):
                yield from self.rate("TracIn, last checkpoint", tracin([model.predict], inputs, labels)[self.at])

    def score_explanations(self, method: Method, model: Model, seed: Seed) -> Iterator[Measured]:
        """Scores of explanations of the given labels."""
        data, name = self.data.select(self.at), next(iter(name_methods(method)))
        why, signs = data.explain(method, model, seed)
        weights, labels = sum_by_column(why) * signs[:, None], data.labels
        nulls = list(self._nulls(weights))
        for kind, score in SCORES.items():
            empty = [(null, score(changed, labels)) for null, changed in nulls]
            yield from self.rate(f"{name}: {kind}", score(weights, labels), empty)
        told = signs * np.array([each.local_prediction for each in why])
        yield from self.rate(f"{name}: what the weights sum to", -told)
        clean, clean_signs = data.explain(method, data.subject.checked_model, seed)
        before = sum_by_column(clean) * clean_signs[:, None]
        if before.shape == weights.shape:
            empty = [(null, 1 - rowwise_cosines(before, changed)) for null, changed in nulls]
            yield from self.rate(f"{name}: changed by the flips", 1 - rowwise_cosines(before, weights), empty)

    def _nulls(self, weights: Floats) -> Iterator[tuple[str, Floats]]:
        """Explanations that know nothing in the place of these."""
        rng = generator(self.seed)
        for _ in range(N_NULL_DRAWS):
            yield from ((name, np.array([change(row, rng) for row in weights])) for name, change in NULLS.items())
            yield ANOTHER, weights[rng.permutation(len(weights))]

    def rate(
        self, name: str, scores: Floats, nulls: Sequence[tuple[str, Floats]] | None = None
    ) -> Iterator[Measured]:
        """Precision and AUROC of scores, beside those of scores that know nothing."""
        if nulls is None:
            rng = generator(self.seed)
            nulls = [(SHUFFLED, rng.permutation(scores)) for _ in range(N_NULL_DRAWS)]
            nulls += [(NOISE, rng.standard_normal(len(scores))) for _ in range(N_NULL_DRAWS)]
            nulls.append((CONSTANT, np.zeros(len(scores))))
        rate: Measure = partial(precision, share=self.share)
        for what, measure in ((f"{PRECISION_AT}{100 * self.share:.0f} %", rate), (": AUROC", auroc)):
            known: dict[str, list[float]] = {}
            for null, each in nulls:
                known.setdefault(null, []).append(measure(each, self.wrong)[0])
            means = {null: float(np.mean(values)) for null, values in known.items()}
            yield Measured(f"{name}{what}", *measure(scores, self.wrong), len(scores), means)


def _label_loss(p: Floats, labels: Ints) -> Floats:
    """Log loss (n,) of given labels."""
    return np.asarray(-np.log(np.clip(p[np.arange(len(labels)), labels], 1e-12, 1.0)))


def _count_affordable(data: LabeledRows, method: Method) -> int:
    """How many rows to explain, twice: many if each costs little."""
    first = data.subject.representer.each(data.X).batch(0, 1)[0]
    cheap = can_share(method, first) or isinstance(method, MapMethod)
    return MAX_CHEAP_EXPLANATIONS if cheap else MAX_COSTLY_EXPLANATIONS


def _note_memory(subject: Subject) -> list[str]:
    """What to know of labels that no other model could be asked about."""
    if subject.train is not None:
        return []
    known = (
        "was trained on these labels and may have memorized them"
        if subject.training is not None
        else ("is assumed not to have seen these labels; if it was trained on them, it may have memorized them")
    )
    return [f"The model {known}: give train=…, and each row is judged by models that did not see it."]


def _write_sentence(noise: LabelNoise, rows: tuple[int, ...], measures: list[Measured], notes: list[str]) -> str:
    n = len(noise.wrong)
    if noise.found:
        first = ", ".join(str(row) for row in rows[:MAX_NAMED_ROWS])
        said = (
            f"About {100 * noise.share:.1f} % of the labels look wrong ({100 * noise.low:.1f} % to "
            f"{100 * noise.high:.1f} %, with 95 % confidence): for {len(rows):,} of {n:,} rows the model is surer "
            f"of another class than overlap and chance explain. Look at rows {first} first; either their labels "
            "are wrong, or the model is confidently wrong."
        )
    elif any(POWERLESS in note for note in notes):
        said = (
            f"No sign of wrong labels, but that says little: there was none either when labels of these {n:,} "
            "rows were flipped on purpose."
        )
    else:
        often = (
            f"{100 * noise.contradicted:.1f} % of {n:,}, the less often the surer it is, as where classes overlap"
        )
        said = (
            f"No sign of wrong labels: the model contradicts {often if noise.contradicted else f'none of {n:,}'}."
        )
    rates = {each.name.partition(PRECISION_AT)[0]: each.value for each in measures if PRECISION_AT in each.name}
    explained = {name: value for name, value in rates.items() if ": " in name}
    if not explained:
        return said
    best = max(explained, key=lambda name: explained[name])
    method, _, kind = best.partition(": ")
    return (
        f"{said} Of the rows that explanations by {method} suspect most ({kind}, the best of its scores), "
        f"{100 * explained[best]:.0f} % have a label that was flipped on purpose; of those by the loss of a "
        f"model that did not see the row, {100 * rates[UNSEEN_LOSS]:.0f} %."
    )
