"""Records of evaluations: metrics, scores, comparisons, and the report that holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from veridical.errors import InputError
from veridical.protocols import Representation, Representer
from veridical.records import Explanation, Floats, Record, Tabular, View

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
    """One explanation of one instance, with everything that a metric may need.

    Attributes
    ----------
    x : array, str or DataFrame
        The instance as the model takes it; for a table, one row.
    represent : representer
        Turns instances into features that can be changed.
    representation : Representation
        The instance as its features.
    model : callable
        Returns outputs (n, k) for a batch of inputs.
    target : Target
        ``target.read(outputs)`` returns the values (n,) that are explained.
    explanation : Explanation
        The explanation to measure.
    explain : callable
        ``explain(representation, seed)`` explains another instance by the same method, for the same target.
    again : callable or None
        The same with another number of samples, where the method has one.
    truth : array (d,) or None
        Share of each feature that lies inside the truth.
    randomized : Model or None
        A model with random parameters.
    scene : Scene or None
        What all explanations of this instance share.
    """

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

    Parameters
    ----------
    name : str
        Name of the metric.
    measure : callable
        ``measure(trial, rng)`` returns the number; ``rng`` is the same for all methods on an instance. Where there
        is nothing to measure it raises ``InputError``, and the report shows the message as the reason.
    better : {"higher", "lower"}
        Which direction is better.
    family : str
        Table in which the metric stands, such as "fidelity".
    sentence : str
        What the metric measures.
    least, most : float, optional
        Smallest and largest possible value; no interval goes beyond them.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> def largest(trial, rng):
    ...     return float(np.nanmax(np.abs(trial.explanation.weights)))
    >>> vd.metrics.Metric("largest", largest, "higher", "size", "The largest weight.").better
    'higher'
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
    """One metric of one method, or of one null baseline, over all instances.

    Attributes
    ----------
    metric, method : str
        Names of the metric and of the row.
    values : array (n,)
        One value per instance, nan where it was not measured.
    mean, low, high : float
        Mean over instances, and its 95 % confidence interval.
    n : int
        Number of instances that were measured.
    null : bool
        Whether the row is a null baseline.
    reason : str
        Why there is no value, or not one for every instance.
    """

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
    """Two methods, or a method and a null baseline, on the instances that both were measured on.

    Attributes
    ----------
    metric : str
        Name of the metric.
    first, second : str
        Names of the two rows.
    difference : float
        Mean of the first minus the second.
    low, high : float
        95 % confidence interval of the difference, over instances.
    p : float
        P-value of the paired test, adjusted for all comparisons of the metric (Holm).
    """

    metric: str
    first: str
    second: str
    difference: float  # mean of first minus second
    low: float  # its 95 % interval, over instances
    high: float
    p: float  # that so much is chance: paired, and adjusted (Holm) for all comparisons of the metric


@dataclass(frozen=True, slots=True, eq=False)
class Curve(Record):
    """How often the k features that a row ranks highest turn the decision by themselves, for k from 0 on.

    Attributes
    ----------
    cause : str
        Kind of cause.
    method : str
        Name of the row: a method, a reference or a null baseline.
    flips : array (n, d + 1)
        1 where they turn the decision, 0 where not, nan where an instance has no such cause.
    rate, low, high : array (d + 1,)
        Mean over instances, and its 95 % confidence interval.
    """

    cause: str
    method: str  # or a reference, or a null row
    flips: Floats  # (n, d + 1) 1 where they do, nan where an instance has no such cause
    rate: Floats  # (d + 1,) the mean over instances
    low: Floats  # (d + 1,) its 95 % interval
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Example(Record):
    """One instance with a known cause of a wrong decision, and its explanations.

    Attributes
    ----------
    cause : str
        Kind of cause.
    row : int
        Position among the instances.
    label, wanted : int or str
        The decision before the change, and the wrong one after it.
    before, after : float
        Probability of the wrong label before and after the change.
    parts : tuple of str
        Features that were changed, or were changed most.
    methods : tuple of str
        Methods that explain the changed instance.
    explanations : tuple of Explanation
        One explanation per method.
    original : View or None
        The instance before the change, to be drawn.
    sounds : tuple or None
        Samples before and after the change, and their rate.
    """

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report(Tabular):
    """How good the explanations of several methods are, by several metrics, beside null baselines.

    A veracity report also has rows that know the causes (``references``), curves, examples and findings.

    Attributes
    ----------
    title : str
        What was evaluated.
    metrics : tuple of Metric
        The metrics.
    methods : tuple of str
        Names of the methods.
    nulls : tuple of str
        Names of the null baselines, such as "random", "constant" and "shuffled Lime".
    scores : tuple of Score
        One score per metric and row.
    comparisons : tuple of Comparison
        Tests between rows.
    n_instances : int
        Number of instances.
    n_calls : int
        Number of inputs that the model was queried with.
    recipe : mapping
        Settings and seed: all that is needed to evaluate again.
    notes : tuple of str
        What a reader should know.
    references : tuple of str
        Rows that know the causes: "norm" and "greedy".
    curves : tuple of Curve
        How often the first k features of each row turn the decision.
    findings : tuple of str
        One sentence per method.
    examples : tuple of Example
        One instance per kind of cause, with its explanations.
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
        """Names of all rows: methods, references, null baselines."""
        return (*self.methods, *self.references, *self.nulls)

    def metric(self, name: str) -> Metric:
        """Return the metric of this name.

        Parameters
        ----------
        name : str
            Name of a metric.

        Returns
        -------
        Metric

        Raises
        ------
        InputError
            If the report has no such metric.
        """
        found = {metric.name: metric for metric in self.metrics}
        if name not in found:
            raise InputError(f"no metric {name!r} in this report; it has {', '.join(found)}")
        return found[name]

    def score(self, metric: str, method: str) -> Score:
        """Return the score of a row by a metric.

        Parameters
        ----------
        metric : str
            Name of a metric.
        method : str
            Name of a method, reference or null baseline.

        Returns
        -------
        Score

        Raises
        ------
        InputError
            If the report has no such metric or row.
        """
        self.metric(metric)
        for score in self.scores:
            if (score.metric, score.method) == (metric, method):
                return score
        raise InputError(f"no method {method!r} in this report; it has {', '.join(self.rows)}")

    def curve(self, cause: str, method: str) -> Curve:
        """Return the curve of a row for a kind of cause.

        Parameters
        ----------
        cause : str
            Kind of cause.
        method : str
            Name of a method, reference or null baseline.

        Returns
        -------
        Curve

        Raises
        ------
        InputError
            If the report has no such curve.
        """
        found = {(c.cause, c.method): c for c in self.curves}
        if (cause, method) not in found:
            known = join_words([f"{c} by {m}" for c, m in found]) if found else "none"
            raise InputError(f"no curve of {cause!r} by {method!r} in this report; it has {known}")
        return found[cause, method]

    def beats(self, metric: str, first: str, second: str) -> bool:
        """Whether one row is significantly better than another.

        Parameters
        ----------
        metric : str
            Name of a metric.
        first, second : str
            Names of two rows.

        Returns
        -------
        bool
        """
        higher = self.metric(metric).better == "higher"
        for c in self.comparisons:
            if c.metric == metric and {c.first, c.second} == {first, second} and c.p < LEVEL:
                return bool((c.difference > 0) == (higher == (c.first == first)))
        return False

    def ranking(self, metric: str) -> list[tuple[int, str]]:
        """Rank the methods, best first.

        Parameters
        ----------
        metric : str
            Name of a metric.

        Returns
        -------
        list of (int, str)
            Rank and name: the rank is 1 plus the number of methods that are significantly better.
        """
        order = self._order(metric)
        ranks = [(1 + sum(self.beats(metric, other, m) for other in order), m) for m in order]
        return sorted(ranks, key=lambda found: found[0])

    def best(self, metric: str) -> tuple[str, ...]:
        """Return the best method, and all that are not significantly worse.

        Parameters
        ----------
        metric : str
            Name of a metric.

        Returns
        -------
        tuple of str
        """
        order = self._order(metric)
        return tuple(m for m in order if not self.beats(metric, order[0], m))

    def _order(self, metric: str) -> list[str]:
        """Methods that have a number, the best mean first."""
        known = {m: self.score(metric, m).mean for m in self.methods}
        higher = self.metric(metric).better == "higher"
        return sorted((m for m in known if np.isfinite(known[m])), key=lambda m: -known[m] if higher else known[m])

    def alone(self, metric: str) -> Report:
        """Return the same report with one metric only.

        Parameters
        ----------
        metric : str
            Name of a metric.

        Returns
        -------
        Report
        """
        own = self.metric(metric)
        scores = tuple(s for s in self.scores if s.metric == metric)
        comparisons = tuple(c for c in self.comparisons if c.metric == metric)
        return replace(self, metrics=(own,), scores=scores, comparisons=comparisons)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The findings, then one sentence per metric: which methods are best, tied, or beat no baseline."""
        return (*self.findings, *(self.sentence(metric) for metric in self.metrics))

    def sentence(self, metric: Metric) -> str:
        """Say which method is best by a metric, which are tied with it, and which do not beat a null baseline.

        Parameters
        ----------
        metric : Metric
            One of the report's metrics.

        Returns
        -------
        str
        """
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
            words = [f"{join_words(order)} cannot be told apart"]
        elif tied:
            words.append(f"{join_words(tied)} cannot be told from it")
        empty: dict[str, list[str]] = {}
        for method in order:
            nulls = [null.partition(" ")[0] for null in self.no_better_than(metric.name, method)]
            if nulls:
                empty.setdefault(join_words(nulls, "or"), []).append(method)
        words += [
            f"{join_words(m)} {'is' if len(m) == 1 else 'are'} not shown to be better than {n}"
            for n, m in empty.items()
        ]
        return f"{metric.name} ({metric.better} is better): {'; '.join(words)}."

    def no_better_than(self, metric: str, method: str) -> tuple[str, ...]:
        """Return the null baselines that a method does not beat.

        Baselines that are perfect by construction do not count: a constant explanation is perfectly stable, and a
        random one always changes with the model. Shuffled weights count only where shuffling changes the score.

        Parameters
        ----------
        metric, method : str
            Names of a metric and a method.

        Returns
        -------
        tuple of str
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


def join_words(names: list[str], joint: str = "and") -> str:
    """'Lime', 'Lime and KernelShap', 'Lime, KernelShap and Occlusion'."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {joint} {names[-1]}"
