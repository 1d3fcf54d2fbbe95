"""What an evaluation is: records like those of ``veridical.records``, and kept the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.errors import InputError
from veridical.records import Explanation, Floats, Record, Representation, Representer, Seen, View

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05  # of the tests, once they are adjusted for their number
BETTER = ("higher", "lower")
EXAMPLE = {"family": "fidelity", "sentence": "What it measures."}
EASY = {  # families that some null rows are perfect in, so that a method need not beat them
    "stability": ("constant",),  # it never changes
    "randomization": ("random", "shuffled"),  # they always do
    "complexity": ("random", "constant", "shuffled"),  # short is not yet good
}


@dataclass(frozen=True, slots=True, eq=False)
class Trial(Record):
    """One explanation of one instance, and all that a metric may want to know to measure it."""

    x: Any  # the instance as the model takes it; of a table, one row
    represent: Representer
    representation: Representation
    model: Any  # answers (n, k) to a batch of inputs
    target: Any  # resolved: target.read makes values (n,) of answers
    explanation: Explanation
    explain: Callable[..., Explanation]  # of (representation, seed): the same method, on the same target
    again: Callable[..., Explanation] | None = None  # the same, with another number of samples
    truth: Floats | None = None  # (d,) share of each part that lies inside the truth
    randomized: Any = None  # a model whose parameters are random
    scene: Any = None  # what all explanations of this instance share, asked once


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A number that says how good an explanation is, and which direction is better.

    ``measure`` takes a Trial and a numpy Generator, which is the same for all methods on an instance. Where there
    is nothing to measure it raises InputError, whose message is the reason that the table shows.
    """

    name: str
    measure: Callable[[Trial, np.random.Generator], float]
    better: str  # "higher" or "lower"
    family: str
    sentence: str  # what it measures
    least: float = -np.inf  # that it can be, and the most: no interval of its mean goes beyond
    most: float = np.inf

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"a metric has a name, such as 'fidelity', not {self.name!r}")
        for each in ("family", "sentence"):
            if not isinstance(getattr(self, each), str):
                raise InputError(f"{each} is text, such as {EXAMPLE[each]!r}, not {getattr(self, each)!r}")
        if self.better not in BETTER:
            raise InputError(f"better is 'higher' or 'lower', not {self.better!r}")
        if not callable(self.measure):
            raise InputError(f"measure is a function of a trial and an rng, not {self.measure!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Score(Record):
    """One metric of one method, or of one null row, over all instances."""

    metric: str
    method: str
    values: Floats  # (n,) one an instance, nan where it was not measured
    mean: float
    low: float  # 95 % interval of the mean, over instances
    high: float
    n: int  # instances that were measured
    null: bool = False  # the row of an explanation that knows nothing
    reason: str = ""  # why there is no number, or not one for every instance


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Record):
    """Two methods, or a method and a null row, on the instances that both were measured on."""

    metric: str
    first: str
    second: str
    difference: float  # mean of first minus second
    low: float  # its 95 % interval, over instances
    high: float
    p: float  # that so much is chance: paired, and adjusted (Holm) for all comparisons of the metric


@dataclass(frozen=True, slots=True, eq=False)
class Curve(Record):
    """How often the k parts that a row ranks highest bring about a decision by themselves, for k from 0 on."""

    cause: str
    method: str  # or a reference, or a null row
    flips: Floats  # (n, d + 1) 1 where they do, nan where an instance has no such cause
    rate: Floats  # (d + 1,) the mean over instances
    low: Floats  # (d + 1,) its 95 % interval
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Example(Record):
    """One instance with a known cause of a wrong decision, and what methods say of it."""

    cause: str
    row: int  # of the instances
    label: int | str  # decided before the change, and the wrong one after it
    wanted: int | str
    before: float  # how sure the model is of the wrong label: a probability
    after: float
    parts: tuple[str, ...]  # those that were changed, or were changed most
    methods: tuple[str, ...]
    explanations: tuple[Explanation, ...]  # one a method, of the changed instance
    original: View | None = None  # of the instance before the change
    sounds: tuple[Any, Any, float] | None = None  # samples before and after, and their rate


@dataclass(frozen=True, slots=True, eq=False)
class Report(Seen):
    """How good the explanations of several methods are, by several metrics, beside rows that know nothing.

    Where causes are known, rows that know them are ``references``, and ``findings`` say it all, one a method.
    """

    title: str
    metrics: tuple[Metric, ...]
    methods: tuple[str, ...]
    nulls: tuple[str, ...]  # "random", "constant", "shuffled Lime"
    scores: tuple[Score, ...]
    comparisons: tuple[Comparison, ...]
    n_instances: int
    n_calls: int  # inputs the model was asked about
    recipe: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    references: tuple[str, ...] = ()  # rows that know more than any method may: "norm", "greedy"
    curves: tuple[Curve, ...] = ()
    findings: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of all rows: methods, references, null rows."""
        return (*self.methods, *self.references, *self.nulls)

    def metric(self, name: str) -> Metric:
        """The metric of this name."""
        found = [metric for metric in self.metrics if metric.name == name]
        if not found:
            raise InputError(
                f"no metric {name!r} in this report; it has {', '.join(m.name for m in self.metrics)}"
            )
        return found[0]

    def score(self, metric: str, method: str) -> Score:
        """The score of a method, or of a null row, by one metric."""
        self.metric(metric)
        found = [s for s in self.scores if s.metric == metric and s.method == method]
        if not found:
            raise InputError(f"no method {method!r} in this report; it has {', '.join(self.rows)}")
        return found[0]

    def curve(self, cause: str, method: str) -> Curve:
        """How often the parts that a row ranks highest flip the decision, by how many they are."""
        found = [c for c in self.curves if (c.cause, c.method) == (cause, method)]
        if not found:
            known = listed([f"{c.cause} by {c.method}" for c in self.curves]) if self.curves else "none"
            raise InputError(f"no curve of {cause!r} by {method!r} in this report; it has {known}")
        return found[0]

    def beats(self, metric: str, first: str, second: str) -> bool:
        """Whether first is better than second by this metric, and not by chance."""
        higher = self.metric(metric).better == "higher"
        for c in self.comparisons:
            if c.metric == metric and {c.first, c.second} == {first, second} and c.p < LEVEL:
                return bool((c.difference > 0) == (higher == (c.first == first)))
        return False

    def ranking(self, metric: str) -> list[tuple[int, str]]:
        """Methods by rank, the best first: 1 and the number of methods that are better, chance excluded."""
        order = self._order(metric)
        ranks = [(1 + sum(self.beats(metric, other, m) for other in order), m) for m in order]
        return sorted(ranks, key=lambda found: found[0])

    def best(self, metric: str) -> tuple[str, ...]:
        """The best method, and all that cannot be told from it."""
        order = self._order(metric)
        return tuple(m for m in order if not self.beats(metric, order[0], m))

    def _order(self, metric: str) -> list[str]:
        """Methods that have a number, the best mean first."""
        known = {m: self.score(metric, m).mean for m in self.methods}
        higher = self.metric(metric).better == "higher"
        return sorted((m for m in known if np.isfinite(known[m])), key=lambda m: -known[m] if higher else known[m])

    def alone(self, metric: str) -> Report:
        """The same report with this metric only."""
        own = self.metric(metric)
        scores = tuple(s for s in self.scores if s.metric == metric)
        comparisons = tuple(c for c in self.comparisons if c.metric == metric)
        return replace(self, metrics=(own,), scores=scores, comparisons=comparisons)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Findings first; then one a metric: who is best, who may be as good, who may know nothing."""
        return (*self.findings, *(self.sentence(metric) for metric in self.metrics))

    def sentence(self, metric: Metric) -> str:
        """Who is best by a metric, who cannot be told from the best, who is not shown to beat a null row."""
        return self.alone(metric.name)._sentence(metric)

    def _sentence(self, metric: Metric) -> str:
        order = self._order(metric.name)
        if not order:
            reasons = dict.fromkeys(self.score(metric.name, m).reason for m in self.methods)
            return f"{metric.name}: not measured ({'; '.join(filter(None, reasons)) or 'no instance'})."
        best, *tied = self.best(metric.name)
        words = [f"{best} is best ({self.score(metric.name, best).mean:.3g})"]
        if len(order) == 1:
            words = [f"{best} has {self.score(metric.name, best).mean:.3g}"]
        elif len(tied) == len(order) - 1:
            words = [f"{listed(order)} cannot be told apart"]
        elif tied:
            words.append(f"{listed(tied)} cannot be told from it")
        empty: dict[str, list[str]] = {}
        for method in order:
            nulls = [null.partition(" ")[0] for null in self.no_better_than(metric.name, method)]
            if nulls:
                empty.setdefault(listed(nulls, "or"), []).append(method)
        words += [
            f"{listed(m)} {'is' if len(m) == 1 else 'are'} not shown to be better than {n}"
            for n, m in empty.items()
        ]
        return f"{metric.name} ({metric.better} is better): {'; '.join(words)}."

    def no_better_than(self, metric: str, method: str) -> tuple[str, ...]:
        """Null rows that a method does not beat, of those that say something and that it was compared with.

        A constant explanation is perfectly stable and a random one always changes with the model: to lose to
        them says nothing. Its own weights, shuffled, count only where that changes the score.
        """
        own, easy = self.score(metric, method).values, EASY.get(self.metric(metric).family, ())
        tested = {
            c.second for c in self.comparisons if (c.metric, c.first) == (metric, method) and np.isfinite(c.p)
        }
        found = []
        for null in self.nulls:
            kind, _, of = null.partition(" ")
            if null not in tested or kind in easy or of not in ("", method):
                continue
            values = self.score(metric, null).values
            both = np.isfinite(own) & np.isfinite(values)
            same = kind == "shuffled" and np.allclose(own[both], values[both], rtol=1e-9, atol=1e-12)
            if not same and not self.beats(metric, method, null):
                found.append(null)
        return tuple(found)

    def to_frame(self) -> pd.DataFrame:
        """One line a metric and method, null rows included."""
        from veridical.frames import report_frame

        return report_frame(self)

    def __repr__(self) -> str:
        from veridical.render.reports import report_picture

        return report_picture(self)


def listed(names: list[str], joint: str = "and") -> str:
    """'Lime', 'Lime and KernelShap', 'Lime, KernelShap and Occlusion'."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {joint} {names[-1]}"
