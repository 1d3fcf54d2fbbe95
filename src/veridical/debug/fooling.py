"""Does the model behave differently on perturbed inputs than on real ones?

A model can hide what it does from every method that changes inputs: it tells changed inputs from real ones, and
answers those by another rule (Slack et al. 2020). What its answers to changed inputs teach then fails on real
ones. Some of that is so for honest models, too, so some of those are trained to answer as this one does on real
instances, and what holds for them is the scale.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from veridical.attribute.given import seed_of
from veridical.attribute.question import is_flat
from veridical.attribute.targets import resolve
from veridical.debug.asked import asked
from veridical.debug.cases import examples
from veridical.debug.points import points
from veridical.debug.records import Rng, Subject, rows_at
from veridical.errors import NotApplicable
from veridical.evaluate.compare import interval
from veridical.masks import child_of, generator
from veridical.records import Bools, Floats, Ints, Measured, Method, Output, Record, Seed, Verdict

REAL = 500  # real instances, at most
FEWEST = 30  # and at least
CHANGED = 100  # of them whose changed copies are looked at
TIMES = 3  # honest models of each kind
LEVEL = 0.95  # of the honest models that are let pass
SMALL = 0.02  # share of the variation that is too small to compare
WORST = 10  # rows that are named
CHOICE, ASK, HONEST, NULL, EVIDENCE = range(5)  # what seeds are for


@dataclass(frozen=True, slots=True, eq=False)
class Ground(Record):
    """Real instances and changed ones as points, with what the model says of both."""

    real: Floats  # (n, p)
    changed: Floats  # (m, p)
    at_real: Floats  # (n,)
    at_changed: Floats  # (m,)

    def unlearned(self, at_changed: Floats, at_real: Floats) -> Floats:
        """What answers to changed inputs do not teach of those to real ones, (n,): shares of their variation."""
        guess = learned(self.changed, at_changed, self.real)
        return np.asarray((guess - at_real) ** 2 / (at_real.var() or 1.0))


def fooling(method: Method, subject: Subject, rng: Rng) -> Verdict:
    """Does the model behave differently on perturbed inputs than on real ones?

    Answers to what the method asks are learned, by a line and boosted trees, and held against answers to real
    instances. Observed is the share of their variation that is predicted: at most 1, below 0 where a constant
    would do better. Expected is what 95 % of honest models reach, of the kind that reaches least; a model fails if
    its whole interval is below.
    """
    seed = seed_of(rng)
    rows, ground = _ground(method, subject, seed)
    if is_flat(ground.at_real):
        raise NotApplicable("the model says the same of every real instance: there is nothing to hide")
    missed = ground.unlearned(ground.at_changed, ground.at_real)
    honest = _honest(ground, seed)
    limit = _limit(list(honest.values()))
    mean, least, most = interval(missed)
    observed, low, high = 1 - mean, 1 - most, 1 - least
    nulls = _nulls(ground, generator(seed, NULL))
    order = np.argsort(-missed, kind="stable")[:WORST]
    passed = bool(least <= limit)
    return Verdict(
        passed=passed,
        observed=observed,
        expected=1 - limit,
        sentence=_sentence(passed, observed, 1 - limit),
        interval=(low, high),
        nulls=nulls,
        measures=(
            Measured("this model", observed, low, high, len(missed), nulls),
            *(Measured(f"honest {kind}", *interval(1 - each), len(each)) for kind, each in honest.items()),
        ),
        evidence=examples(method, subject, rows[order[:1]], child_of(seed, EVIDENCE)),
        rows=tuple(int(i) for i in rows[order]),
        notes=(f"{len(ground.real)} real instances and {len(ground.changed)} changed ones were compared.",),
    )


def kinds() -> Mapping[str, tuple[Any, Any]]:
    """Kinds of honest models: a classifier and a regressor each."""
    from sklearn.ensemble import (  # takes as long to import as all of veridical
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    return {
        "linear model": (LogisticRegression(max_iter=1000), Ridge()),
        "forest": (RandomForestClassifier(30), RandomForestRegressor(30)),
        "boosting": (HistGradientBoostingClassifier(max_iter=40), HistGradientBoostingRegressor(max_iter=40)),
        "network": (
            MLPClassifier(hidden_layer_sizes=(32,), max_iter=120),
            MLPRegressor(hidden_layer_sizes=(32,), max_iter=120),
        ),
    }


def learned(points: Floats, answers: Floats, wanted: Floats) -> Floats:
    """Answers at other points: a line, and boosted trees for what is left; never beyond the answers seen."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # as above

    line = make_pipeline(StandardScaler(), Ridge(1e-3 * len(points))).fit(points, answers)
    trees = HistGradientBoostingRegressor(max_iter=40, learning_rate=0.15, early_stopping=False, random_state=0)
    trees.fit(points, answers - line.predict(points))
    guess = line.predict(wanted) + trees.predict(wanted)
    return np.asarray(np.clip(guess, answers.min(), answers.max()))


def _ground(method: Method, subject: Subject, seed: Seed) -> tuple[Ints, Ground]:
    """Rows of X that are looked at, and what the model says of them and of their changed copies."""
    n = len(subject.represent.each(subject.X))
    if n < FEWEST:
        raise NotApplicable(f"this check wants at least {FEWEST} real instances, X has {n}: give more of them")
    rows = generator(seed, CHOICE).permutation(n)[:REAL]
    real = subject.represent.each(rows_at(subject.X, rows)).inputs(0, len(rows))
    outputs = subject.model(real)
    read = _reader(subject, outputs)
    found = asked(method, subject, rows[:CHANGED], child_of(seed, ASK))
    at_real, at_changed = read(outputs), read(subject.model(found.inputs))
    here, there = points(real, found.inputs)
    new: Bools = (there != here[found.owner]).any(axis=1)
    if new.sum() < FEWEST:
        raise NotApplicable("the method hardly changes the instances that it asks about: there is nothing to see")
    return rows, Ground(here, there[new], at_real, at_changed[new])


def _reader(subject: Subject, outputs: Floats) -> Callable[[Floats], Floats]:
    """The output that is looked at: the target, or the one that differs most between real instances."""
    wanted = subject.target
    if wanted is None and outputs.shape[1] > 1:
        wanted = Output(np.argmax(outputs.var(axis=0)))
    return resolve(wanted, subject.model, outputs).read


def _honest(ground: Ground, seed: Seed) -> dict[str, Floats]:
    """What is not learned of honest models that answer alike on real instances, (times,) of each kind.

    Where answers are probabilities, labels are drawn from them first: a model that was trained on labels has
    learned some of their noise, and so must these.
    """
    found: dict[str, Floats] = {}
    scale = StandardScaler().fit(ground.real)
    real, changed = scale.transform(ground.real), scale.transform(ground.changed)
    for number, (kind, (classifier, regressor)) in enumerate(kinds().items()):
        missed = []
        for time in range(TIMES):
            rng = generator(seed, HONEST, number, time)
            predict = _trained(classifier, regressor, real, ground.at_real, rng)
            own, there = predict(real), predict(changed)
            at_real, at_changed = (_leveled(each, own, ground.at_real) for each in (own, there))
            missed.append(float(ground.unlearned(at_changed, at_real).mean()) if np.ptp(at_real) else 0.0)
        found[kind] = np.array(missed)
    return found


def _trained(
    classifier: Any, regressor: Any, X: Floats, answers: Floats, rng: np.random.Generator
) -> Callable[[Floats], Floats]:
    """An honest model of these answers."""
    labels = rng.random(len(answers)) < answers
    probabilities = answers.min() >= 0 and answers.max() <= 1 and 3 <= labels.sum() <= len(labels) - 3
    model = classifier if probabilities else regressor
    if "random_state" in model.get_params():
        model.set_params(random_state=int(rng.integers(2**31)))
    some = slice(None) if probabilities else rng.integers(0, len(X), len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a network that would learn on is as honest
        model.fit(X[some], labels if probabilities else answers[some])
    return (lambda Z: model.predict_proba(Z)[:, 1]) if probabilities else model.predict


def _leveled(answers: Floats, own: Floats, wanted: Floats) -> Floats:
    """Answers of an honest model, as sharp as those that it learned: by their rank among its own."""
    order = np.sort(own)
    rank = (np.searchsorted(order, answers, "left") + np.searchsorted(order, answers, "right")) // 2
    return np.asarray(np.sort(wanted)[np.clip(rank, 0, len(wanted) - 1)])


def _limit(missed: list[Floats]) -> float:
    """What is missed of at most one in twenty honest models, of the kind of which most is missed.

    Of logarithms, a t interval for one more model: kinds differ in their means, and share a spread.
    """
    logs = np.log(np.stack(missed) + SMALL)
    kinds, times = logs.shape
    spread = float(np.sqrt(logs.var(axis=1, ddof=1).mean()))
    far = stdtrit(kinds * (times - 1), LEVEL) * spread * np.sqrt(1 + 1 / times)
    return float(np.exp(logs.mean(axis=1).max() + far) - SMALL)


def _nulls(ground: Ground, rng: np.random.Generator) -> dict[str, float]:
    """What answers to changed inputs teach that have nothing to do with them."""
    spread = float(ground.at_changed.std())
    answers = {
        "constant": np.full(len(ground.at_changed), ground.at_changed.mean()),
        "noise": rng.normal(ground.at_changed.mean(), spread, len(ground.at_changed)),
        "shuffled": rng.permutation(ground.at_changed),
        "another": np.roll(ground.at_changed, len(ground.at_changed) // 2),  # they come instance by instance
    }
    return {key: 1 - float(ground.unlearned(each, ground.at_real).mean()) for key, each in answers.items()}


def _sentence(passed: bool, observed: float, expected: float) -> str:
    share = f"{100 * max(observed, 0):.0f} % of how its answers to real instances differ"
    least = f"{100 * max(expected, 0):.0f} %"
    if passed and observed < expected:
        return (
            "It is not clear whether the model behaves on the changed inputs that the explanation asks about as "
            f"on real ones: what its answers there teach predicts {share}, and honest models that say the same of "
            f"real instances have at least {least}, but so little may be chance: give more instances."
        )
    if passed:
        return (
            "The model behaves on the changed inputs that the explanation asks about much as on real ones: what "
            f"its answers there teach predicts {share}, and honest models that say the same of real instances may "
            f"have as little as {least}."
        )
    return (
        "The model answers the changed inputs that the explanation asks about by another rule than real ones, so "
        f"the explanation is not about what it does: what its answers there teach predicts {share}, and of honest "
        f"models that say the same of real instances, 95 % have at least {least}."
    )
