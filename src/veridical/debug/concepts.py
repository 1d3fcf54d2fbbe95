"""Does a class depend on a concept that people have a word for? (TCAV, Kim et al. 2018)

A concept is a direction at a layer: the normal of a linear classifier that tells examples of it from others. The
score is the share of inputs whose output grows along it. Random examples have directions too, and along each of
them an output grows or falls: what counts is whether the concept's is unlike theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from veridical.attribute.ask import n_rows
from veridical.attribute.given import seed_of
from veridical.attribute.models import model_of
from veridical.attribute.network import Network
from veridical.debug.activations import given_and_made, slopes_at
from veridical.debug.cases import examples
from veridical.debug.influence import left_out_residuals
from veridical.debug.records import FEWEST, Rng, Subject
from veridical.errors import InputError, check_whole
from veridical.evaluate.compare import interval
from veridical.masks import generator
from veridical.records import Floats, Ints, Measured, Method, Output, Record, Verdict

LEVEL = 0.05
RIDGE = 0.1  # of the classifier, relative to the mean square of what it tells apart
CHANCES = 30  # random concepts that a concept is compared with
SHOWN = 3  # explanations that are evidence
LARGEST = 100  # examples a side that a direction is learned from, at most


@dataclass(frozen=True, eq=False)
class Concept:
    """Something that people have a word for, by examples: instances as the network takes them.

    ``counters`` are random others, at least twice as many. ``layer`` is the name of the layer at which the
    network may have a direction for it, as in ``module.named_modules()``. A concept is a check, too:
    ``vd.debug(network, …, check=concept)`` asks whether the target depends on it, whatever the method.
    """

    name: str
    examples: Any
    layer: str
    counters: Any

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.layer, str):
            raise InputError("name and layer of a concept are texts, as in vd.Concept('sky', images, 'conv3', …)")
        for what in ("examples", "counters"):
            least = FEWEST if what == "examples" else 2 * FEWEST
            if not hasattr(getattr(self, what), "__len__") or n_rows(getattr(self, what)) < least:
                raise InputError(f"{what} of the concept {self.name!r} must be at least {least} instances")

    def __call__(self, method: Method, subject: Subject, rng: Rng) -> Verdict:
        """Whether the subject's target depends on the concept."""
        instances = subject.represent.each(subject.X)
        inputs = instances.inputs(0, len(instances))
        found = tcav(subject.model.predict, inputs, concept=self, target=subject.target, rng=rng)
        return replace(found, evidence=examples(method, subject, np.arange(SHOWN), seed_of(rng)))


@dataclass(frozen=True, slots=True, eq=False)
class Directions(Record):
    """Directions at a layer that sets of rows lie in, and how an output depends on them.

    All is told by inner products: no direction is ever as long as a layer is wide.
    """

    activations: Floats  # (r, p) of all rows that directions are learned from
    products: Floats  # (r, r) of activations
    slopes: Floats  # (n, r) of inputs' gradients with activations
    steepness: Floats  # (n,) lengths of those gradients

    def along(self, first: Ints, second: Ints) -> tuple[float, float]:
        """The share of inputs whose output grows from the second set to the first, and the mean cosine."""
        rows = np.r_[first, second]
        K = self.products[np.ix_(rows, rows)]
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
        signs = np.r_[np.full(len(first), 1 / len(first)), np.full(len(second), -1 / len(second))]
        level = RIDGE * np.trace(K) / len(rows) or 1.0
        a = np.linalg.solve(K + level * np.eye(len(rows)), signs)
        a -= a.mean()
        return self._read(self.slopes[:, rows] @ a, float(np.sqrt(max(a @ K @ a, 0.0))))

    def of(self, direction: Floats, gradients: Floats) -> tuple[float, float]:
        """The same along one direction (p,)."""
        return self._read(gradients @ direction, float(np.linalg.norm(direction)))

    def _read(self, change: Floats, length: float) -> tuple[float, float]:
        live = self.steepness > 0
        change = np.where(live, change, 0.0)
        cosines = change[live] / (self.steepness[live] * length) if length > 0 else np.zeros(0)
        share = float(np.mean(change > 0) + np.mean(change == 0) / 2)
        return share, float(cosines.mean()) if len(cosines) else 0.0

    def accuracy(self, first: Ints, second: Ints) -> float:
        """The share of rows on the right side of the classifier that is learned without them."""
        A = self.activations[np.r_[first, second]]
        y = np.r_[np.ones(len(first)), -np.ones(len(second))]
        level = RIDGE * float(((A - A.mean(axis=0)) ** 2).sum()) / len(A) or 1.0
        return float(np.mean(left_out_residuals(A, y, level)[:, 0] * y < 1))


def tcav(
    network: Any, X: Any, *, concept: Concept, target: Any = None, n_random: int = 10, rng: Rng = 0
) -> Verdict:
    """Ask whether an output of a network depends on a concept.

    ``X`` are instances of the class that is asked about, ``target`` the output: an index, or a function of the
    output tensor; by default each input's own class. The verdict passed if the output is not shown to depend on
    the concept, compared with 30 sets of random examples that are called concepts; ``observed`` is the score,
    the share of instances whose output grows with the concept, and ``expected`` that of random concepts. Each
    concept is told from ``n_random`` random sets.
    """
    model = model_of(network).predict
    if not isinstance(model, Network):
        raise InputError("tcav looks into a network: give a torch module or a vd.Network, not a function")
    if not isinstance(concept, Concept):
        raise InputError(f"concept wants a vd.Concept(name, examples, layer, counters), not {concept!r}")
    check_whole("n_random", n_random, 2)
    if n_rows(X) < FEWEST:
        raise InputError(f"at least {FEWEST} instances are needed to say anything; X has {n_rows(X)}: give more")
    gradients = slopes_at(model, X, concept.layer, target)
    own, others = (given_and_made(model, each, concept.layer)[1] for each in (concept.examples, concept.counters))
    rng_ = generator(seed_of(rng))
    found = _compared(own, others, gradients, n_random=n_random, rng=rng_)
    return _verdict(found, concept, _named(target))


@dataclass(frozen=True, slots=True, eq=False)
class Compared(Record):
    """A concept and random ones: one number a random set, or a random concept."""

    scores: Floats  # (s,) of the concept, one a random set it is told from
    cosines: Floats  # (s,)
    chance_scores: Floats  # (c, s) of random concepts
    chance_cosines: Floats  # (c, s)
    accuracy: tuple[float, float]  # of the concept's direction, and of random ones
    noise: float  # the mean score of normal directions
    shuffled: float  # and of what tells examples from others once they are mixed

    @property
    def p(self) -> float:
        """That a random concept moves the output as far (two-sided t of one more draw)."""
        chance = self.chance_cosines.mean(axis=1)
        spread = float(chance.std(ddof=1)) * np.sqrt(1 + 1 / len(chance))
        away = float(self.cosines.mean() - chance.mean())
        if spread == 0:
            return 1.0 if away == 0 else 0.0
        return float(2 * stats.t.sf(abs(away) / spread, len(chance) - 1))

    @property
    def paper_p(self) -> float:
        """Of the paper: a two-sided t-test of the scores with those of random sets told from random sets."""
        mine, chance = self.scores, self.chance_scores[:, 0]
        parts = np.array([mine.var(ddof=1) / len(mine), chance.var(ddof=1) / len(chance)])
        away, error = float(mine.mean() - chance.mean()), float(np.sqrt(parts.sum()))
        if error == 0:
            return 1.0 if away == 0 else 0.0
        freedom = error**4 / (parts**2 / [len(mine) - 1, len(chance) - 1]).sum()
        return float(2 * stats.t.sf(abs(away) / error, freedom))


def _compared(
    own: Floats, others: Floats, gradients: Floats, *, n_random: int, rng: np.random.Generator
) -> Compared:
    """A concept's examples (r, p) and others (q, p), by the gradients of inputs (n, p)."""
    m = min(len(own), len(others) // 2, LARGEST)
    own = own[rng.permutation(len(own))[:m]]
    rows = np.vstack([own, others])
    space = Directions(rows, rows @ rows.T, gradients @ rows.T, np.linalg.norm(gradients, axis=1))
    pool, examples = m + np.arange(len(others)), np.arange(m)

    def against(first: Ints, left: Ints) -> list[tuple[Ints, Ints]]:
        return [(first, rng.permutation(left)[:m]) for _ in range(n_random)]

    pairs = against(examples, pool)
    mine = np.array([space.along(*pair) for pair in pairs])
    chance = np.empty((CHANCES, n_random, 2))
    for each in chance:
        drawn = rng.permutation(pool)
        each[:] = [space.along(*pair) for pair in against(drawn[:m], drawn[m:])]
    accuracy = float(np.mean([space.accuracy(*pair) for pair in pairs[:3]]))
    by_chance = float(np.mean([space.accuracy(*np.split(rng.permutation(pool)[: 2 * m], 2)) for _ in range(3)]))
    normal = [space.of(each, gradients)[0] for each in rng.standard_normal((CHANCES, gradients.shape[1]))]
    mixed = [space.along(*np.split(rng.permutation(np.r_[pair]), 2))[0] for pair in pairs]
    return Compared(
        mine[:, 0], mine[:, 1], chance[..., 0], chance[..., 1], (accuracy, by_chance),
        noise=float(np.mean(normal)), shuffled=float(np.mean(mixed)),
    )  # fmt: skip


def _verdict(found: Compared, concept: Concept, target: str) -> Verdict:
    score, low, high = interval(found.scores)
    cosine, least, most = interval(found.cosines)
    chance, p = float(found.chance_scores.mean()), found.p
    nulls = {"constant": 0.5, "noise": found.noise, "shuffled": found.shuffled, "another": chance}
    spread = {"another": float(np.abs(found.chance_cosines.mean(axis=1)).mean()), "constant": 0.0}
    measures = (
        Measured("TCAV score", score, max(low, 0.0), min(high, 1.0), len(found.scores), nulls),
        Measured("mean cosine of gradient and concept", cosine, least, most, len(found.cosines), spread),
        Measured("p, beside random concepts", p, n=CHANCES),
        Measured("p, t-test of the paper", found.paper_p, n=CHANCES),
        Measured(
            "accuracy of the direction", found.accuracy[0], n=len(found.scores),
            nulls={"another": found.accuracy[1], "constant": 0.5},
        ),
    )  # fmt: skip
    used = p < LEVEL
    move = "rises" if cosine > 0 else "falls"
    said = (
        f"{target} {move} with {concept.name!r}" if used else f"No sign that {target} depends on {concept.name!r}"
    )
    sentence = (
        f"{said}: along its direction at {concept.layer} the output grows for {100 * score:.0f} % of the "
        f"instances, along random concepts' for {100 * chance:.0f} % (p = {p:.2g})."
    )
    notes = [
        f"The interval is over the random sets that {concept.name!r} was told from, not over other examples of it."
    ]
    if found.accuracy[0] < max(0.6, found.accuracy[1]):
        notes.append(
            f"The layer hardly tells {concept.name!r} from others (accuracy {100 * found.accuracy[0]:.0f} %): its "
            "direction may mean nothing; try another layer, or more examples."
        )
    return Verdict(
        not used, score, chance, sentence[0].upper() + sentence[1:], check="tcav", interval=(low, high),
        nulls=nulls, measures=measures, notes=tuple(notes),
    )  # fmt: skip


def _named(target: Any) -> str:
    if target is None:
        return "the predicted class"
    return f"{getattr(target, '__name__', 'the target')}" if callable(target) else str(Output(target))
