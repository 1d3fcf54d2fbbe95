"""Does an output depend on a concept that people have a word for? (TCAV, Kim et al. 2018)

A concept is a direction at a layer: the normal of a linear classifier that separates examples of it from others.
The score is the share of inputs whose output grows along this direction. Random examples have directions too, so
the concept is compared with many random ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from veridical.checks.influence import (
    MAX_VALUES_PER_PASS,
    check_used_once,
    flatten_rows,
    leave_one_out_residuals,
    record_layer,
    watch_layer,
)
from veridical.checks.subjects import MIN_INSTANCES, Rng, Subject, explain_rows
from veridical.errors import InputError, ModelError, check_whole, require
from veridical.metrics.significance import interval
from veridical.models.adapters import model_of
from veridical.models.outputs import n_rows
from veridical.models.torch_modules import Network, gradients_on, split_batches
from veridical.models.validation import seed_of
from veridical.networks.derivatives import target_reader
from veridical.protocols import Method
from veridical.records import Floats, Ints, Measured, Output, Record, Verdict
from veridical.seeds import generator
from veridical.summaries.concepts import Concepts

__all__ = ["Concept", "Concepts", "tcav"]

MAX_P = 0.05
RIDGE_SHARE = 0.1  # of the classifier, relative to the mean square of what it tells apart
N_RANDOM_CONCEPTS = 30  # random concepts that a concept is compared with
N_EVIDENCE = 3  # explanations that are evidence
MAX_EXAMPLES = 100  # examples a side that a direction is learned from, at most


@dataclass(frozen=True, eq=False)
class Concept:
    """A concept that people have a word for, given by examples. It is also a check.

    ``vd.debug(network, …, check=concept)`` asks whether the target depends on the concept, whatever the method.

    Parameters
    ----------
    name : str
        The word for the concept.
    examples : array or tensor
        At least 10 instances that show the concept, as the network takes them.
    layer : str
        Name of the layer at which to look for a direction, as in ``module.named_modules()``.
    counters : array or tensor
        At least 20 random instances that do not show the concept.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> rows = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    >>> concept = vd.concepts.Concept("high first column", rows[:20] + [3, 0, 0, 0], "0", rows)
    >>> concept.name
    'high first column'
    """

    name: str
    examples: Any
    layer: str
    counters: Any

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.layer, str):
            raise InputError(
                "name and layer of a concept are texts, as in vd.concepts.Concept('sky', images, 'conv3', …)"
            )
        for what in ("examples", "counters"):
            least = MIN_INSTANCES if what == "examples" else 2 * MIN_INSTANCES
            if not hasattr(getattr(self, what), "__len__") or n_rows(getattr(self, what)) < least:
                raise InputError(f"{what} of the concept {self.name!r} must be at least {least} instances")

    def __call__(self, method: Method, subject: Subject, rng: Rng) -> Verdict:
        """Ask whether the subject's target depends on the concept; the method only shows examples."""
        instances = subject.representer.each(subject.X)
        inputs = instances.inputs(0, len(instances))
        found = tcav(subject.checked_model.predict, inputs, concept=self, target=subject.target, rng=rng)
        return replace(found, evidence=explain_rows(method, subject, np.arange(N_EVIDENCE), seed_of(rng)))


@dataclass(frozen=True, slots=True, eq=False)
class Directions(Record):
    """Directions at a layer between sets of rows, and how an output changes along them.

    Everything is computed from inner products, so no direction is ever as long as a layer is wide.
    """

    activations: Floats  # (r, p) of all rows that directions are learned from
    products: Floats  # (r, r) of activations
    slopes: Floats  # (n, r) of inputs' gradients with activations
    steepness: Floats  # (n,) lengths of those gradients

    def contrast(self, first: Ints, second: Ints) -> tuple[float, float]:
        """The share of inputs whose output grows from the second set to the first, and the mean cosine."""
        rows = np.r_[first, second]
        K = self.products[np.ix_(rows, rows)]
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
        signs = np.r_[np.full(len(first), 1 / len(first)), np.full(len(second), -1 / len(second))]
        level = RIDGE_SHARE * np.trace(K) / len(rows) or 1.0
        a = np.linalg.solve(K + level * np.eye(len(rows)), signs)
        a -= a.mean()
        return self._read(self.slopes[:, rows] @ a, float(np.sqrt(max(a @ K @ a, 0.0))))

    def follow(self, direction: Floats, gradients: Floats) -> tuple[float, float]:
        """The same along one direction (p,)."""
        return self._read(gradients @ direction, float(np.linalg.norm(direction)))

    def _read(self, change: Floats, length: float) -> tuple[float, float]:
        live = self.steepness > 0
        change = np.where(live, change, 0.0)
        cosines = change[live] / (self.steepness[live] * length) if length > 0 else np.zeros(0)
        share = float(np.mean(change > 0) + np.mean(change == 0) / 2)
        return share, float(cosines.mean()) if len(cosines) else 0.0

    def accuracy(self, first: Ints, second: Ints) -> float:
        """Leave-one-out accuracy of the classifier that separates the two sets."""
        A = self.activations[np.r_[first, second]]
        y = np.r_[np.ones(len(first)), -np.ones(len(second))]
        level = RIDGE_SHARE * float(((A - A.mean(axis=0)) ** 2).sum()) / len(A) or 1.0
        return float(np.mean(leave_one_out_residuals(A, y, level)[:, 0] * y < 1))


def tcav(
    network: Any, X: Any, *, concept: Concept, target: Any = None, n_random: int = 10, rng: Rng = 0
) -> Verdict:
    """Ask whether an output of a network depends on a concept.

    Parameters
    ----------
    network : torch.nn.Module or Network
        The network to look into.
    X : array or tensor
        At least 10 instances of the class in question, as the network takes them.
    concept : Concept
        The concept, with the layer at which to look.
    target : int or callable, optional
        The output: an index, or a function of the output tensor. By default the predicted class of each input.
    n_random : int, default 10
        Number of random sets that the concept is separated from.
    rng : int or numpy.random.Generator, default 0
        Seed of the random sets.

    Returns
    -------
    Verdict
        It passed if the output is not shown to depend on the concept, compared with 30 random concepts.
        ``observed`` is the TCAV score, the share of instances whose output grows with the concept; ``expected`` is
        the mean score of the random concepts.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> import veridical as vd
    >>> _ = torch.manual_seed(0)
    >>> network = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2)).eval()
    >>> rows = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    >>> high = (rows[:20] + [3, 0, 0, 0]).astype(np.float32)
    >>> concept = vd.concepts.Concept("high first column", high, "0", rows)
    >>> verdict = vd.tcav(network, rows[:20], concept=concept, target=1)
    >>> 0 <= verdict.observed <= 1
    True
    """
    model = model_of(network).predict
    if not isinstance(model, Network):
        raise InputError("tcav looks into a network: give a torch module or a vd.Network, not a function")
    if not isinstance(concept, Concept):
        raise InputError(
            f"concept must be a vd.concepts.Concept(name, examples, layer, counters), not {concept!r}"
        )
    check_whole("n_random", n_random, 2)
    if n_rows(X) < MIN_INSTANCES:
        raise InputError(
            f"at least {MIN_INSTANCES} instances are needed to say anything; X has {n_rows(X)}: give more"
        )
    gradients = layer_gradients(model, X, concept.layer, target)
    own, others = (record_layer(model, each, concept.layer)[1] for each in (concept.examples, concept.counters))
    rng_ = generator(seed_of(rng))
    found = _compare_with_random(own, others, gradients, n_random=n_random, rng=rng_)
    return _judge_dependence(found, concept, _name_target(target))


@dataclass(frozen=True, slots=True, eq=False)
class ConceptComparison(Record):
    """A concept beside random ones: one number per random set, or per random concept."""

    scores: Floats  # (s,) of the concept, one a random set it is told from
    cosines: Floats  # (s,)
    chance_scores: Floats  # (c, s) of random concepts
    chance_cosines: Floats  # (c, s)
    accuracy: tuple[float, float]  # of the concept's direction, and of random ones
    noise: float  # the mean score of normal directions
    shuffled: float  # and of what tells examples from others once they are mixed

    @property
    def p(self) -> float:
        """Two-sided p of the concept's mean cosine as one more draw of the random concepts' (t)."""
        chance = self.chance_cosines.mean(axis=1)
        spread = float(chance.std(ddof=1)) * np.sqrt(1 + 1 / len(chance))
        away = float(self.cosines.mean() - chance.mean())
        if spread == 0:
            return 1.0 if away == 0 else 0.0
        return float(2 * stats.t.sf(abs(away) / spread, len(chance) - 1))

    @property
    def paper_p(self) -> float:
        """The paper's p: a two-sided t-test of the concept's scores and those of random sets."""
        mine, chance = self.scores, self.chance_scores[:, 0]
        parts = np.array([mine.var(ddof=1) / len(mine), chance.var(ddof=1) / len(chance)])
        away, error = float(mine.mean() - chance.mean()), float(np.sqrt(parts.sum()))
        if error == 0:
            return 1.0 if away == 0 else 0.0
        freedom = error**4 / (parts**2 / [len(mine) - 1, len(chance) - 1]).sum()
        return float(2 * stats.t.sf(abs(away) / error, freedom))


def _compare_with_random(
    own: Floats, others: Floats, gradients: Floats, *, n_random: int, rng: np.random.Generator
) -> ConceptComparison:
    """Compare a concept's examples (r, p) with others (q, p), by the gradients of inputs (n, p)."""
    m = min(len(own), len(others) // 2, MAX_EXAMPLES)
    own = own[rng.permutation(len(own))[:m]]
    rows = np.vstack([own, others])
    space = Directions(rows, rows @ rows.T, gradients @ rows.T, np.linalg.norm(gradients, axis=1))
    pool, examples = m + np.arange(len(others)), np.arange(m)

    def against(first: Ints, left: Ints) -> list[tuple[Ints, Ints]]:
        return [(first, rng.permutation(left)[:m]) for _ in range(n_random)]

    pairs = against(examples, pool)
    mine = np.array([space.contrast(*pair) for pair in pairs])
    chance = np.empty((N_RANDOM_CONCEPTS, n_random, 2))
    for each in chance:
        drawn = rng.permutation(pool)
        each[:] = [space.contrast(*pair) for pair in against(drawn[:m], drawn[m:])]
    accuracy = float(np.mean([space.accuracy(*pair) for pair in pairs[:3]]))
    by_chance = float(np.mean([space.accuracy(*np.split(rng.permutation(pool)[: 2 * m], 2)) for _ in range(3)]))
    normal = [
        space.follow(each, gradients)[0] for each in rng.standard_normal((N_RANDOM_CONCEPTS, gradients.shape[1]))
    ]
    mixed = [space.contrast(*np.split(rng.permutation(np.r_[pair]), 2))[0] for pair in pairs]
    return ConceptComparison(
        mine[:, 0], mine[:, 1], chance[..., 0], chance[..., 1], (accuracy, by_chance),
        noise=float(np.mean(normal)), shuffled=float(np.mean(mixed)),
    )  # fmt: skip


def _judge_dependence(found: ConceptComparison, concept: Concept, target: str) -> Verdict:
    score, low, high = interval(found.scores)
    cosine, least, most = interval(found.cosines)
    chance, p = float(found.chance_scores.mean()), found.p
    nulls = {"constant": 0.5, "noise": found.noise, "shuffled": found.shuffled, "another": chance}
    spread = {"another": float(np.abs(found.chance_cosines.mean(axis=1)).mean()), "constant": 0.0}
    measures = (
        Measured("TCAV score", score, max(low, 0.0), min(high, 1.0), len(found.scores), nulls),
        Measured("mean cosine of gradient and concept", cosine, least, most, len(found.cosines), spread),
        Measured("p, beside random concepts", p, n=N_RANDOM_CONCEPTS),
        Measured("p, t-test of the paper", found.paper_p, n=N_RANDOM_CONCEPTS),
        Measured(
            "accuracy of the direction", found.accuracy[0], n=len(found.scores),
            nulls={"another": found.accuracy[1], "constant": 0.5},
        ),
    )  # fmt: skip
    used = p < MAX_P
    move = "rises" if cosine > 0 else "falls"
    said = (
        f"{target} {move} with {concept.name!r}" if used else f"No sign that {target} depends on {concept.name!r}"
    )
    sentence = (
        f"{said}: along its direction at {concept.layer} the output grows for {100 * score:.0f} % of the "
        f"instances, along random concepts' for {100 * chance:.0f} % (p = {p:.2g})."
    )
    notes = [
        f"The interval is over the random sets that {concept.name!r} was separated from, not over other examples "
        "of it."
    ]
    if found.accuracy[0] < max(0.6, found.accuracy[1]):
        notes.append(
            f"The layer hardly separates {concept.name!r} from others (accuracy {100 * found.accuracy[0]:.0f} %): "
            "its direction may mean nothing; try another layer, or more examples."
        )
    return Verdict(
        not used, score, chance, sentence[0].upper() + sentence[1:], check="tcav", interval=(low, high),
        nulls=nulls, measures=measures, notes=tuple(notes),
    )  # fmt: skip


def _name_target(target: Any) -> str:
    if target is None:
        return "the predicted class"
    return f"{getattr(target, '__name__', 'the target')}" if callable(target) else str(Output(target))


def layer_gradients(network: Network, X: Any, layer: str, target: Any) -> Floats:
    """Gradients (n, q) of an output by what a layer outputs for each instance."""
    torch = require("torch", extra="torch")
    inputs, found, leaf = network.tensor(X), list[Floats](), list[Any]()
    read = target_reader(network, inputs, target)

    def cut(given: Any, made: Any) -> Any:
        leaf.append(made.detach().requires_grad_())
        return leaf[-1].clone()  # which the next layer may change in place

    with watch_layer(network, layer, cut) as calls:
        for piece in split_batches(inputs, MAX_VALUES_PER_PASS):
            with gradients_on(network.module):
                rows = torch.arange(len(inputs), device=inputs.device)[piece]
                value = read(network.ask(inputs[piece]), rows)
                check_used_once(calls, layer)
                found.append(flatten_rows(_gradient_at(torch, value, leaf.pop())))
    return np.concatenate(found)


def _gradient_at(torch: Any, value: Any, at: Any) -> Any:
    slope = torch.autograd.grad(value.sum(), at, allow_unused=True)[0] if value.requires_grad else None
    if slope is None:
        return torch.zeros_like(at)
    if not torch.isfinite(slope).all():
        raise ModelError("the network's gradient at this layer is NaN or infinite; it must be finite")
    return slope
