"""Is the model right at all? Its answers beside a constant guess, a simple model and a freshly trained twin.

No check of explanations can tell that a model was loaded with the wrong weights, or is given inputs that were
prepared otherwise than in training: its explanations are sound explanations of a useless model. So the right
answers come first. Where they look wrong, the usual mistakes are tried the other way round: outputs in another
order, numbers on another scale, columns or channels in another order. What helps is named as a suspicion, with
how much it helps.

Everything is measured twice, over all rows and as the mean over classes, so that neither a rare class nor a
threshold that was moved on purpose decides alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from veridical.checks.answers import RightAnswers, ask_each, name_class, read_right_answers, to_probabilities
from veridical.checks.influence import find_last_linear, record_layer
from veridical.checks.preparations import list_preparations
from veridical.checks.query_checks import embed_batches
from veridical.checks.similarity import ANOTHER, CONSTANT, NOISE, SHUFFLED
from veridical.checks.subjects import Rng, Subject, draw_order, explain_rows
from veridical.errors import InputError, ModelError, NotApplicable, VeridicalError
from veridical.metrics.significance import mean_rate
from veridical.models.outputs import Model, n_rows, rows_at
from veridical.models.torch_modules import Network
from veridical.models.validation import seed_of
from veridical.protocols import Method, Seed
from veridical.records import UNCLEAR, Floats, Ints, Measured, Record, Verdict
from veridical.seeds import child_of, generator

MAX_ROWS = 2000  # rows that the model is asked about
MAX_TRAINING_ROWS = 4000  # rows that other models are trained on
MAX_TRIED_ROWS = 400  # rows on which other preparations are tried
MIN_SURE_ROWS = 100  # rows from which on a model that is not shown to be better than a guess fails
MIN_COMPARED_ROWS = 30  # right answers that other models need to be trained on
N_FOLDS = 3
SURE = 2.576  # standard errors of an interval that holds 99 %
USUAL = 1.960  # and 95 %
MIN_LOSS = 0.05  # of the share of right answers: what a model may lose against what reads its outputs anew
MIN_HELP = 0.03  # by how much another preparation must help before it is suspected
MIN_GAIN_KEPT = 0.5  # share of a simple model's gain over a guess that a model must have
MIN_RECOVERED = 0.8  # share of what outputs lose that another order of theirs must win back
N_EVIDENCE, MAX_WORST_ROWS, MAX_NAMED_ROWS, MAX_NAMED_CLASSES = 3, 10, 5, 3
MIN_PROBABILITY = 1e-6
FOLDS, EVIDENCE, NULL, TWIN, ROWS, TRIED = range(6)  # what seeds are for


@dataclass(frozen=True, slots=True, eq=False)
class RightShares(Record):
    """How right some answers are, row by row: as they count over all rows, and in the mean over classes."""

    plain: Floats  # (n,) 1 for a right answer; of numbers, 1 less the squared error by that of a constant
    balanced: Floats  # (n,) the same of answers that are made for the mean over classes

    def __sub__(self, other: RightShares) -> RightShares:
        return RightShares(self.plain - other.plain, self.balanced - other.balanced)

    def scaled(self, factor: float) -> RightShares:
        return RightShares(factor * self.plain, factor * self.balanced)


@dataclass(frozen=True, slots=True, eq=False)
class Asked(Record):
    """Rows with their right answers and the model's outputs."""

    subject: Subject
    model: Model
    rows: Ints  # (n,) of the subject's X
    outputs: Floats  # (n, k)
    right: RightAnswers
    seed: Seed

    @property
    def labels(self) -> Ints:
        """(n,) the class of each row; all the same where answers are numbers."""
        values = self.right.values
        return values if self.right.n_classes else np.zeros(len(values), np.int64)

    @property
    def folds(self) -> Ints:
        """(n,) a fold for each row, classes spread evenly."""
        drawn = generator(self.seed, FOLDS).permutation(len(self.rows))
        order = drawn[np.argsort(self.labels[drawn], kind="stable")]
        found = np.empty(len(order), np.int64)
        found[order] = np.arange(len(order)) % N_FOLDS
        return found

    def take(self, at: Ints) -> Asked:
        """Some of the rows."""
        right = replace(self.right, values=self.right.values[at])
        return replace(self, rows=self.rows[at], outputs=self.outputs[at], right=right)

    def inputs(self) -> Any:
        return self.subject.representer.each(rows_at(self.subject.X, self.rows)).inputs(0, len(self.rows))

    def score(self, outputs: Floats, model: Model | None = None) -> RightShares:
        """How right outputs are, as a model reads them."""
        if not self.right.n_classes:
            errors = (outputs[:, 0] - self.right.values) ** 2
            return self.score_errors(errors)
        hits = self.right.decide(outputs, model or self.model) == self.right.values
        return RightShares(hits.astype(np.float64), hits.astype(np.float64))

    def score_errors(self, errors: Floats) -> RightShares:
        unit = float(self.right.values.var()) or 1.0
        return RightShares(1 - errors / unit, 1 - errors / unit)

    def score_guess(self) -> RightShares:
        """How right the best constant is: 1 of the most frequent class, 1/k in the mean over classes."""
        n = len(self.rows)
        if not self.right.n_classes:
            return RightShares(np.zeros(n), np.zeros(n))
        counts = np.bincount(self.labels, minlength=self.right.n_classes)
        here = float(1 / (counts > 0).sum())
        return RightShares((self.labels == counts.argmax()).astype(np.float64), np.full(n, here))

    def score_learned(self, p: Floats) -> RightShares:
        """How right probabilities (n, classes) of a model that was trained here are; or its numbers (n,)."""
        if p.ndim == 1:
            return self.score_errors((p - self.right.values) ** 2)
        counts = np.bincount(self.labels, minlength=p.shape[1])
        plain = p.argmax(axis=1) == self.labels
        balanced = (p / np.maximum(counts, 1)).argmax(axis=1) == self.labels
        return RightShares(plain.astype(np.float64), balanced.astype(np.float64))

    def ends(self, scores: RightShares, errors: float = SURE) -> tuple[tuple[float, float], tuple[float, float]]:
        """The interval of the mean over all rows, and of the mean over classes."""
        d, n = scores.plain, len(self.rows)
        half = errors * float(d.std(ddof=1)) / np.sqrt(n)
        means, square = [], 0.0
        for label in np.unique(self.labels):
            own = scores.balanced[self.labels == label]
            means.append(float(own.mean()))
            spread = float(own.var(ddof=1)) if len(own) > 1 else 0.25
            square += spread / len(own)
        k = len(means)
        middle, wide = float(np.mean(means)), errors * float(np.sqrt(square)) / k
        return (float(d.mean()) - half, float(d.mean()) + half), (middle - wide, middle + wide)

    def surely_above(self, scores: RightShares, least: float = 0.0) -> bool:
        """Whether both means are clearly above a number."""
        return all(low > least for low, _ in self.ends(scores))

    def surely_below(self, scores: RightShares, most: float = 0.0) -> bool:
        """Whether both means are clearly below a number."""
        return all(high < most for _, high in self.ends(scores))


@dataclass(frozen=True, slots=True, eq=False)
class Rival(Record):
    """Something else that answers the same rows."""

    name: str  # "a simple model of the same data"
    scores: RightShares
    short: str  # as a line of a table names it


def accuracy(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Is the model right more often than a guess, a simple model or a freshly trained twin would be?"""
    seed, total = seed_of(rng), len(subject.representer.each(subject.X))
    drawn = np.sort(draw_order(total, child_of(seed, ROWS))[:MAX_ROWS])
    outputs, known, said = ask_each(subject, drawn)
    if not known.all():
        return _fail_on_rows(drawn[~known], len(drawn), said)
    if subject.y is None:
        raise NotApplicable(
            "the most important check needs the right answers: give y, one per instance of X, and the model is held "
            "against a constant guess, a simple model and, with training=(X_train, y_train), a freshly trained twin"
        )
    model = subject.checked_model
    right = read_right_answers(model, outputs, rows_at(np.asarray(subject.y), drawn))
    asked = Asked(subject, model, drawn, outputs, right, seed)
    if right.n_classes and len(np.unique(right.values)) < 2:
        share = float(asked.score(outputs).plain.mean())
        raise NotApplicable(
            f"all right answers are {name_class(right.classes, int(right.values[0]))}, of which the model has "
            f"{100 * share:.0f} % right; a constant guess would have all: give instances of other classes, too"
        )
    own, guess = asked.score(outputs), asked.score_guess()
    rivals, notes = list[Rival](), list[str]()
    for find in (_read_outputs_anew, _probe_last_layer, _train_simple_model, _train_twin):
        try:
            rivals += [each for each in (find(asked),) if each is not None]
        except NotApplicable:
            continue
        except (ModelError, InputError) as cause:
            notes.append(f"Not compared with a freshly trained model: {cause}.")
    tried = list(_try_preparations(asked))
    words = _Words(asked, own, guess, {each.short: each for each in rivals}, tried)
    outcome, sentence, advice = words.judge()
    value, low, high = words.share(own)
    order = np.argsort(own.plain, kind="stable")
    worst = [int(row) for row in asked.rows[order] if own.plain[np.searchsorted(asked.rows, row)] < 1]
    if len(drawn) < total:
        notes.append(f"{len(drawn):,} of {total:,} instances, drawn at random, were looked at.")
    return Verdict(
        outcome == "passed", value, words.share(guess)[0], sentence, interval=(low, high), label=outcome,
        nulls=_guess_at_random(asked), measures=words.lines(), rows=tuple(worst[:MAX_WORST_ROWS]),
        evidence=_explain_wrong(method, asked, order[:N_EVIDENCE]), notes=tuple(notes), advice=advice,
        measured=words.measured, better="higher",
    )  # fmt: skip


def _fail_on_rows(failing: Ints, n: int, said: str) -> Verdict:
    """The verdict on a model that cannot answer some of the rows."""
    share, low, high = mean_rate((np.arange(n) < len(failing)).astype(np.float64))
    line = Measured("share of instances that the model fails on", share, low, high, n)
    sentence = (
        f"The model fails on {len(failing):,} of {n:,} instances (rows {_list(failing)}): {said.rstrip('.')}."
    )
    return Verdict(
        False, share, 0.0, sentence,
        interval=(low, high), measures=(line,), rows=tuple(int(row) for row in failing[:MAX_WORST_ROWS]),
        advice="Repair what raises the error, or leave these instances out.", measured=line.name, better="lower",
    )  # fmt: skip


def _explain_wrong(method: Method, asked: Asked, at: Ints) -> tuple[Any, ...]:
    """Explanations of answers that are wrong."""
    with suppress(VeridicalError):
        return explain_rows(method, asked.subject, asked.rows[at], child_of(asked.seed, EVIDENCE))
    return ()


def _guess_at_random(asked: Asked) -> dict[str, float]:
    """What is right of answers that know nothing."""
    rng, guess = generator(asked.seed, NULL), float(asked.score_guess().plain.mean())
    values, n = asked.right.values, len(asked.rows)
    order = rng.permutation(n)
    if not asked.right.n_classes:
        drawn = rng.normal(values.mean(), values.std(), n)
        every = {NOISE: drawn, SHUFFLED: asked.outputs[order, 0], ANOTHER: np.roll(asked.outputs[:, 0], 1)}
        return {CONSTANT: guess} | {
            key: float(asked.score_errors((each - values) ** 2).plain.mean()) for key, each in every.items()
        }
    decided = asked.right.decide(asked.outputs, asked.model)
    every = {
        NOISE: rng.integers(0, asked.right.n_classes, n),
        SHUFFLED: decided[order],
        ANOTHER: np.roll(decided, 1),
    }
    return {CONSTANT: guess} | {key: float((each == values).mean()) for key, each in every.items()}


# ---- what else answers the same rows

ANEW, PROBE, SIMPLE, FRESH = "outputs read anew", "last layer read anew", "simple model", "freshly trained model"


def _out_of_fold(asked: Asked, X: Any) -> Floats:
    """Probabilities (n, classes), or numbers (n,), of simple models for rows that they were not trained on."""
    folds, k = asked.folds, asked.right.n_classes
    found = np.zeros((len(folds), k) if k else len(folds))
    for fold in range(N_FOLDS):
        left = folds == fold
        found[left] = _fit(X[~left], asked.right.values[~left], k)(X[left])
    return found


def _fit(X: Floats, values: Any, k: int, trees: bool = False) -> Callable[[Floats], Floats]:
    """A line, or boosted trees: probabilities of k classes, or numbers."""
    from sklearn.ensemble import (  # takes as long to import as all of veridical
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )

    settings: dict[str, Any] = {"max_iter": 60, "early_stopping": False, "random_state": 0}
    if k and len(np.unique(values)) < 2:
        only = np.eye(k)[int(values[0])]
        return lambda Z: np.tile(only, (len(Z), 1))
    learner: Any = LogisticRegression(max_iter=500) if k else Ridge(1.0)
    if trees:
        learner = HistGradientBoostingClassifier(**settings) if k else HistGradientBoostingRegressor(**settings)
    made = learner if trees else make_pipeline(StandardScaler(), learner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what does not converge is as good as it is
        made.fit(X, values)

    def predict(Z: Floats) -> Floats:
        if not k:
            return np.asarray(made.predict(Z))
        wide = np.zeros((len(Z), k))
        wide[:, made.classes_.astype(np.int64)] = made.predict_proba(Z)
        return wide

    return predict


def _read_outputs_anew(asked: Asked) -> Rival | None:
    """What a line makes of the outputs: it knows their order and scale."""
    if len(asked.rows) < MIN_COMPARED_ROWS or asked.right.codes:
        return None
    outputs = asked.outputs
    if asked.right.n_classes and outputs.min() >= 0 and outputs.max() <= 1:
        p = np.clip(to_probabilities(outputs), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        outputs = np.log(p) - np.log(1 - p)
    return Rival("its own outputs, read anew", asked.score_learned(_out_of_fold(asked, outputs)), ANEW)


def _probe_last_layer(asked: Asked) -> Rival | None:
    """What a line makes of the numbers that a network's last layer is given."""
    predict = asked.model.predict
    if not isinstance(predict, Network) or len(asked.rows) < MIN_COMPARED_ROWS:
        return None
    given = record_layer(predict.unwrap(), asked.inputs(), find_last_linear(predict.unwrap()))[0]
    if len(given) != len(asked.rows):
        return None
    return Rival("a line fitted to its last hidden layer", asked.score_learned(_out_of_fold(asked, given)), PROBE)


def _train_simple_model(asked: Asked) -> Rival | None:
    """The best of a line and boosted trees, on the training data, and out of fold on X."""
    k, values, found = asked.right.n_classes, asked.right.values, list[RightShares]()
    inputs = asked.inputs()
    if asked.subject.training is not None:
        with suppress(NotApplicable, InputError, ValueError):
            X, y = _training_rows(asked, asked.subject.training)
            targets = _place(y, asked.right.classes) if k else np.asarray(y, dtype=np.float64)
            train, here = embed_batches(asked.subject.representer.each(X).inputs(0, n_rows(X)), inputs)
            found += [asked.score_learned(_fit(train, targets, k, trees)(here)) for trees in (False, True)]
    if len(values) >= MIN_COMPARED_ROWS:
        found.append(asked.score_learned(_out_of_fold(asked, embed_batches(inputs, rows_at(inputs, [0]))[0])))
    if not found:
        return None
    best = max(found, key=lambda each: float(each.plain.mean() + each.balanced.mean()))
    return Rival("a simple model of the same data", best, SIMPLE)


def _place(y: Any, classes: Any) -> Ints:
    """Positions of training answers among the classes; those of other classes are refused."""
    at = {value: j for j, value in enumerate(np.asarray(classes).tolist())}
    found = [at.get(value) for value in np.asarray(y).tolist()]
    if None in found:
        raise NotApplicable("training has other classes than y")
    return np.array(found, dtype=np.int64)


def _training_rows(asked: Asked, training: tuple[Any, Any]) -> tuple[Any, Any]:
    rows = np.sort(generator(asked.seed, TWIN).permutation(n_rows(training[1]))[:MAX_TRAINING_ROWS])
    return rows_at(training[0], rows), np.asarray(rows_at(training[1], rows))


def _train_twin(asked: Asked) -> Rival | None:
    """A freshly trained model: on the training data, or on the other half of X."""
    subject = asked.subject
    if subject.train is None:
        return None
    name = "a freshly trained model"
    if subject.training is not None:
        fresh = subject.train_model(*_training_rows(asked, subject.training), 0)
        outputs = fresh(asked.inputs())
        _check_width(outputs, asked.outputs)
        return Rival(name, asked.score(outputs, fresh), FRESH)
    if len(asked.rows) < 2 * MIN_COMPARED_ROWS:
        return None
    found = np.zeros_like(asked.outputs)
    y = np.asarray(rows_at(np.asarray(subject.y), asked.rows))
    for left in (asked.folds == 0, asked.folds != 0):
        own = rows_at(subject.X, asked.rows[~left])
        fresh = subject.train_model(own, y[~left], 0)
        outputs = fresh(subject.representer.each(rows_at(subject.X, asked.rows[left])).inputs(0, int(left.sum())))
        _check_width(outputs, found)
        found[left] = outputs
    return Rival(name, asked.score(found), FRESH)


def _check_width(fresh: Floats, own: Floats) -> None:
    if fresh.shape[1] != own.shape[1]:
        raise ModelError(
            f"train returned another kind of model: it gives {fresh.shape[1]} numbers per instance, and this one "
            f"{own.shape[1]}"
        )


def _try_preparations(asked: Asked) -> Iterator[tuple[str, RightShares, RightShares]]:
    """The usual mistakes the other way round: how right the model is then, and as it is, on some rows."""
    some = asked.take(np.sort(generator(asked.seed, TRIED).permutation(len(asked.rows))[:MAX_TRIED_ROWS]))
    inputs, own = some.inputs(), some.score(some.outputs)
    for name, change in list_preparations(asked.subject, inputs):
        try:
            outputs = some.model(change(inputs))
        except Exception:
            continue
        if outputs.shape == some.outputs.shape:
            yield name, some.score(outputs), own


# ---- words


@dataclass(frozen=True, eq=False)
class _Words:
    """What was found, and what is said of it."""

    asked: Asked
    own: RightShares
    guess: RightShares
    rivals: dict[str, Rival]
    tried: Sequence[tuple[str, RightShares, RightShares]]

    @property
    def measured(self) -> str:
        return "share of right answers" if self.asked.right.n_classes else "share of the variation explained (R²)"

    def share(self, scores: RightShares) -> tuple[float, float, float]:
        """The share of right answers with its interval, or R²."""
        if self.asked.right.n_classes:
            return mean_rate(scores.plain)
        low, high = self.asked.ends(scores, USUAL)[0]
        return float(scores.plain.mean()), low, high

    def percent(self, scores: RightShares) -> str:
        return f"{100 * self.share(scores)[0]:.0f} %"

    def lines(self) -> tuple[Measured, ...]:
        """The model, what it is held against, and each class."""
        n = len(self.asked.rows)
        found = [Measured(self.measured, *self.share(self.own), n, {CONSTANT: self.share(self.guess)[0]})]
        if self.asked.right.n_classes:
            (low, high), middle = self.asked.ends(self.own, USUAL)[1], self._balanced(self.own)
            chance = {CONSTANT: self._balanced(self.guess)}
            found.append(Measured("the same, mean over classes", middle, low, high, n, chance))
        found.append(Measured("a constant guess", *self.share(self.guess), n))
        found += [Measured(each.name, *self.share(each.scores), n) for each in self.rivals.values()]
        found += [
            Measured(f"if inputs were {name}", *self.share(scores), len(scores.plain))
            for name, scores, own in self.tried
            if scores.plain.mean() > own.plain.mean() + MIN_HELP
        ]
        for j in range(self.asked.right.n_classes):
            hits = self.own.plain[self.asked.labels == j]
            if len(hits):
                name = name_class(self.asked.right.classes, j)
                found.append(Measured(f"right for {name}", *mean_rate(hits), len(hits)))
        return tuple(found)

    def _balanced(self, scores: RightShares) -> float:
        low, high = self.asked.ends(scores)[1]
        return (low + high) / 2

    def judge(self) -> tuple[str, str, str]:
        """The outcome, the sentence and one thing to try."""
        n = len(self.asked.rows)
        what = "of the variation of" if not self.asked.right.n_classes else "of"
        verb = "explains" if not self.asked.right.n_classes else "answers"
        right = "" if not self.asked.right.n_classes else " right"
        base = f"The model {verb} {self.percent(self.own)} {what} {n:,} instances{right}"
        suspicion = self._suspect()
        if suspicion:
            return "failed", f"{base}, and {suspicion[0]}.", suspicion[1]
        skilled = self._skilled()
        weak = self._weaker()
        guess = f"a constant guess {self.percent(self.guess)}"
        if weak:
            rival = f"{weak.name} {self.percent(weak.scores)}"
            return (
                "failed",
                f"{base}, {guess} and {rival}: it has not learned what there is to learn, or it is not the model "
                "that was trained.",
                "Check which weights were loaded, and how the inputs are prepared.",
            )
        if skilled:
            beside = [guess, *(f"{each.name} {self.percent(each.scores)}" for each in self._told())]
            return "passed", f"{base}; {', '.join(beside[:-1])}{' and ' if beside[1:] else ''}{beside[-1]}.", ""
        if n >= MIN_SURE_ROWS or self.asked.surely_below(self.own - self.guess, MIN_LOSS):
            return (
                "failed",
                f"{base}, which is not clearly more than {guess}.",
                "Check which weights were loaded, and how the inputs are prepared.",
            )
        return (
            UNCLEAR,
            f"{base}, and {guess}: with so few instances that may be chance.",
            f"Give at least {MIN_SURE_ROWS} instances with right answers.",
        )

    def _told(self) -> list[Rival]:
        return [self.rivals[key] for key in (SIMPLE, FRESH) if key in self.rivals]

    def _skilled(self) -> bool:
        """Whether it is clearly better than a guess, in one way of counting at least."""
        if not self.asked.right.n_classes:  # one answer far off spoils the share of the variation, not the order
            ranks = rankdata(self.asked.outputs[:, 0]), rankdata(self.asked.right.values)
            if np.ptp(ranks[0]) and np.corrcoef(*ranks)[0, 1] > SURE / np.sqrt(len(ranks[0]) - 1):
                return True
        known = [self.own - self.guess]
        if ANEW in self.rivals:  # scores that tell classes apart, whatever the threshold
            known.append(self.rivals[ANEW].scores - self.guess)
        return any(low > 0 for each in known for low, _ in self.asked.ends(each))

    def _weaker(self) -> Rival | None:
        """What is clearly better than the model, of what was trained on the same data."""
        if FRESH in self.rivals and self.asked.surely_below(self.own - self.rivals[FRESH].scores, -MIN_LOSS):
            return self.rivals[FRESH]
        if SIMPLE not in self.rivals:
            return None
        half = (self.rivals[SIMPLE].scores - self.guess).scaled(MIN_GAIN_KEPT)
        return self.rivals[SIMPLE] if self.asked.surely_below(self.own - self.guess - half) else None

    def _suspect(self) -> list[str] | None:
        """What seems to be wrong with how the model is used, and what to do: the simplest that helps as much as any."""
        prepared = sorted(self._suspect_preparation(), key=lambda each: -each[0])
        found = [*prepared, *self._suspect_outputs(), *self._suspect_last_layer()]
        most = max((gain for gain, *_ in found), default=0.0)
        return next((said for gain, *said in found if gain >= MIN_RECOVERED * most), None)

    def _suspect_preparation(self) -> Iterator[tuple[float, str, str]]:
        for name, scores, own in self.tried:
            some = replace_rows(self.asked, len(scores.plain))
            better = some.surely_above(scores - own, MIN_HELP) and some.surely_above(scores - some.score_guess())
            if better:
                yield (
                    float((scores - own).plain.mean()),
                    f"{100 * scores.plain.mean():.0f} % if inputs were {name} ({100 * own.plain.mean():.0f} % of the "
                    "same instances as they are): they seem to be prepared otherwise than in training",
                    f"Try inputs that are {name}, and compare with how the training data were prepared.",
                )

    def _suspect_last_layer(self) -> Iterator[tuple[float, str, str]]:
        if PROBE in self.rivals and self.asked.surely_above(self.rivals[PROBE].scores - self.own, MIN_LOSS):
            yield (
                float((self.rivals[PROBE].scores - self.own).plain.mean()),
                f"{self.percent(self.rivals[PROBE].scores)} would be right if a line were fitted to its last hidden "
                "layer: the last layer does not seem to be the one that was trained",
                "Check which weights were loaded into the last layer.",
            )

    def _suspect_outputs(self) -> Iterator[tuple[float, str, str]]:
        """Outputs that know more than is read off them: in another order or unit, perhaps."""
        if ANEW not in self.rivals or not self.asked.surely_above(self.rivals[ANEW].scores - self.own, MIN_LOSS):
            return
        anew, asked = self.percent(self.rivals[ANEW].scores), self.asked
        k, gain = asked.right.n_classes, float((self.rivals[ANEW].scores - self.own).plain.mean())
        if not k:
            r = float(np.corrcoef(rankdata(asked.outputs[:, 0]), rankdata(asked.right.values))[0, 1])
            yield (
                gain,
                f"its outputs would explain {anew} on another scale (rank correlation with the right answers "
                f"{r:.2f}): they seem to be in other units, or transformed",
                "Check the unit and the transformation of the target.",
            )
            return
        decided = asked.right.decide(asked.outputs, asked.model)
        table = np.zeros((k, k))
        np.add.at(table, (np.maximum(decided, 0), asked.labels), 1)
        moved = linear_sum_assignment(-table)[1]
        ordered = float(table[np.arange(k), moved].sum() / table.sum() - self.own.plain.mean())
        if (moved != np.arange(k)).any() and ordered > MIN_RECOVERED * gain:
            names = [
                f"{name_class(asked.right.classes, i)} for {name_class(asked.right.classes, int(j))}"
                for i, j in enumerate(moved)
                if i != j and table[i].sum()
            ]
            said = ", ".join(names[:MAX_NAMED_CLASSES]) + (", …" if len(names) > MAX_NAMED_CLASSES else "")
            yield (
                ordered,
                f"{100 * (ordered + self.own.plain.mean()):.0f} % with its outputs in another order ({said}): they seem "
                "to be permuted",
                "Check the order of the classes: give classes=[…] as the outputs have them.",
            )
            return
        yield (
            gain,
            f"{anew} would be right if its outputs were read anew by a line: the largest output does not stand for "
            "the class it should",
            "Check the order of the outputs, and which weights were loaded into the last layer.",
        )


def replace_rows(asked: Asked, n: int) -> Asked:
    """The rows that other preparations were tried on."""
    if n == len(asked.rows):
        return asked
    return asked.take(np.sort(generator(asked.seed, TRIED).permutation(len(asked.rows))[:MAX_TRIED_ROWS]))


def _list(rows: Ints) -> str:
    some = ", ".join(str(int(row)) for row in rows[:MAX_NAMED_ROWS])
    return f"{some}, …" if len(rows) > MAX_NAMED_ROWS else some
