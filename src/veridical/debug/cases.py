"""Some instances of a subject, explained by one method: under its own model, or another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.attribute.ask import VALUE, Model
from veridical.attribute.given import seed_of
from veridical.attribute.lime import Lime
from veridical.attribute.many import Plan, explain_all
from veridical.debug.records import DEAR, DEAREST, MOST, Rng, Subject, rows_at
from veridical.errors import InputError, NotApplicable
from veridical.evaluate.weights import has_weight, unsound
from veridical.masks import child_of, generator
from veridical.records import Explanation, Floats, Instances, Ints, Method, Output, Seed, Shareable

QUICK = 10  # points of an input that a gradient is taken at, up to which a map costs little
OWN, AGAIN, CHOICE = 0, 1, 2  # what seeds are for: the explanations, those of another seed, which instances


@dataclass(frozen=True, eq=False)
class Cases:
    """Instances with a target each, which stays the same whatever model is asked."""

    method: Method
    subject: Subject
    rows: Ints  # (n,) of the subject's X, in order
    outputs: Floats  # (n, k) of the subject's model
    targets: tuple[Any, ...]  # (n,)
    seed: Seed

    @property
    def X(self) -> Any:  # noqa: N802 - as users write it
        """The instances."""
        return rows_at(self.subject.X, self.rows)

    @property
    def inputs(self) -> Any:
        """The instances as the model takes them."""
        return self.subject.represent.each(self.X).inputs(0, len(self.rows))

    @property
    def notes(self) -> tuple[str, ...]:
        """That not all instances were looked at, where it is so."""
        n, every = len(self.rows), len(self.subject.represent.each(self.subject.X))
        return (f"{n} of {every} instances, drawn at random, were explained.",) if n < every else ()

    def explained(self, key: int = OWN, model: Model | None = None, X: Any = None) -> tuple[Explanation, ...]:
        """An explanation an instance, or of others in their place; another key draws other samples.

        Instances with the same target share their samples where the method can: a check costs little more than
        one explanation of each.
        """
        model, X = model or self.subject.model, self.X if X is None else X
        found: list[Explanation | None] = [None] * len(self.rows)
        for number, target in enumerate(dict.fromkeys(self.targets)):
            at = [i for i, own in enumerate(self.targets) if own == target]
            instances = self.subject.represent.each(rows_at(X, at))
            seed = child_of(self.seed, key, number)
            for i, each in zip(at, explain_all(self.method, model, instances, target, seed, Plan()), strict=True):
                found[i] = checked(each)
        return tuple(each for each in found if each is not None)


def checked(explanation: Explanation) -> Explanation:
    """An explanation with a finite weight for each part."""
    bad = unsound(explanation)
    if bad or explanation.weights.shape != (len(explanation.parts),):
        what = (
            f"{bad} weights that are NaN or infinite" if bad else f"weights of shape {explanation.weights.shape}"
        )
        raise InputError(f"the method gave {what} for {len(explanation.parts)} parts; wanted one number a part")
    return explanation


def check_not_empty(explanations: Sequence[Explanation]) -> None:
    """Refuse explanations of a model that answers the same to everything: they can show nothing."""
    if np.mean([not has_weight(each) for each in explanations]) > 0.5:
        raise NotApplicable(
            "most explanations are empty: the model answers the same whatever is changed, so they show nothing"
        )


def cases(method: Method, subject: Subject, rng: Rng, most: int | None = None) -> Cases:
    """At most so many instances, drawn at random; each has the class that is predicted for it as target."""
    seed, instances = seed_of(rng), subject.represent.each(subject.X)
    return cases_at(method, subject, drawn(len(instances), seed)[: most or most_of(method, instances)], seed)


def drawn(n: int, seed: Seed) -> Ints:
    """All instances in the random order in which they are taken."""
    return generator(seed, CHOICE).permutation(n)


def cases_at(method: Method, subject: Subject, rows: Ints, seed: Seed) -> Cases:
    """These instances, in order."""
    rows = np.sort(rows)
    outputs = subject.model(subject.represent.each(rows_at(subject.X, rows)).inputs(0, len(rows)))
    return Cases(method, subject, rows, outputs, targets_of(subject.target, outputs), seed)


def examples(method: Method, subject: Subject, rows: Ints, seed: Seed) -> tuple[Explanation, ...]:
    """Explanations of these instances, to be shown."""
    instances = subject.represent.each(rows_at(subject.X, rows))
    found = explain_all(method, subject.model, instances, subject.target, seed, Plan())
    return tuple(checked(each) for each in found)


def most_of(method: Method, instances: Instances) -> int:
    """How many instances a check explains: it depends on what an explanation costs."""
    table, n_points = isinstance(instances.batch(0, 1)[0], Shareable), getattr(method, "n_points", 1)
    if hasattr(method, "maps"):
        return MOST if n_points <= QUICK else DEAR
    return MOST if table and isinstance(method, Lime) else DEAR if table else DEAREST


def targets_of(target: Any, outputs: Floats) -> tuple[Any, ...]:
    """One target an instance: the given one, or the class that is predicted."""
    if target is not None:
        return (target,) * len(outputs)
    if outputs.shape[1] == 1:
        return (VALUE,) * len(outputs)
    return tuple(Output(i) for i in np.argmax(outputs, axis=1))
