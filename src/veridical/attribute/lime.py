"""LIME (Ribeiro et al. 2016): a sparse or full linear model, or a tree, fitted near one instance."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

import numpy as np

from veridical.attribute.additive import Sums, fits_from
from veridical.attribute.ask import Model
from veridical.attribute.choose import Selector, as_package, highest_weights, lasso_path
from veridical.attribute.evidence import TopK, no_evidence, too_few, top_probability, weigh
from veridical.attribute.fits import of_one
from veridical.attribute.linear import Linear, effective_size
from veridical.attribute.neighborhood import Answers, Source, grow, private, shared, sizes
from veridical.attribute.question import Answer, Outputs, Question, flat_fit, is_flat
from veridical.attribute.recipe import name_of
from veridical.errors import InputError, check_positive, check_whole
from veridical.keywords import teach_settings
from veridical.masks import Gaussian
from veridical.records import (
    Explanation,
    Fit,
    Floats,
    Kernel,
    Neighborhood,
    Representation,
    Sample,
    Seed,
    Shareable,
)

STEADY = 0.9  # from this efficiency on, one instance too is explained from samples that any could share

Surrogate: TypeAlias = Callable[..., Fit]
Steps: TypeAlias = Generator[tuple[int, int], tuple[Sample, Floats, Fit | None], tuple[Explanation, ...]]


def plain_mean(outputs: Floats, weights: Floats) -> float:
    """The intercept of the paper's experiments: the mean output, without weights."""
    return float(outputs.mean())


def nothing(outputs: Floats, weights: Floats) -> float:
    """The paper's formula has no intercept."""
    return 0.0


@teach_settings
@dataclass(frozen=True)
class Lime:
    """Explain by a simple model that agrees with the model nearby.

    By default it samples until the top parts are settled (``until``, at most ``max_calls`` rows) and fits all
    parts, so that the intervals are valid. ``n_samples`` fixes the number of samples instead. ``width`` widens
    or narrows the representation's own kernel, ``kernel`` replaces it. ``n_features`` with ``select`` keeps few
    parts and sets the others to zero.
    """

    n_samples: int | None = None
    until: TopK = field(default_factory=TopK)
    max_calls: int = 8192
    kernel: Kernel | None = None
    width: float = 1.0
    n_features: int | None = None
    select: Selector = highest_weights
    surrogate: Surrogate = field(default_factory=Linear)

    def __post_init__(self) -> None:
        check_whole("max_calls", self.max_calls)
        for name in ("n_samples", "n_features"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name))
        check_positive("width", self.width)
        if not isinstance(self.until, TopK):
            raise InputError(f"until wants TopK(…), not {self.until!r}")
        wanted = {
            "kernel": "a function of distances, such as Gaussian(0.5)",
            "select": "a selector, such as lasso_path",
        }
        wanted["surrogate"] = "settings, such as Linear() or Tree()"
        if self.n_features is None and self.select is not highest_weights:
            raise InputError("select needs n_features: how many parts to keep")
        if self.kernel is not None and self.width != 1:
            raise InputError(
                "width is for the representation's own kernel: give the kernel itself the width you want"
            )
        for name, what in wanted.items():
            value = getattr(self, name)
            if (value is not None or name != "kernel") and (not callable(value) or isinstance(value, type)):
                raise InputError(f"{name} wants {what}, not {value!r}")

    @classmethod
    def paper(cls, n_features: int = 10) -> Lime:
        """As in the paper's Algorithm 1: kernel exp(-D²/σ²), K-LASSO, least squares, no intercept."""
        return cls(
            n_samples=5000,
            width=2**-0.5,
            n_features=n_features,
            select=lasso_path,
            surrogate=Linear(offset=nothing),
        )

    @classmethod
    def experiments(cls, n_features: int = 10) -> Lime:
        """As in the code of the paper's experiments: outputs centered by their plain mean, 15,000 samples."""
        return replace(cls.paper(n_features), n_samples=15000, surrogate=Linear(offset=plain_mean))

    @classmethod
    def package(cls, n_features: int = 10) -> Lime:
        """What the lime package estimates, its bugs excepted: its kernel, selection and ridge of 1."""
        return cls(n_samples=5000, n_features=n_features, select=as_package, surrogate=Linear(ridge=1.0))

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[Any], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation a target, all from the same samples."""
        question = Question(model, representation, targets, seed)
        kernel = self.kernel_for(representation)
        every = self.every(representation, kernel)
        if every is not None:
            return self.explain_every(every, model(representation.realize(every)), question)
        if self.n_samples is None and self.plain and hasattr(representation, "common"):
            row = cast(Shareable, representation)
            if row.efficiency(kernel) >= STEADY:
                sums = Sums(Answers(model, row.common, seed, row))
                return self.explain(shared(sums.answers, row, kernel), replace(question, known=sums))
        return self.explain(private(model, representation, kernel, seed), question)

    def every(self, representation: Representation, kernel: Kernel) -> Sample | None:
        """All samples that there are, weighted as if so many were drawn, where they are few."""
        affordable = min(self.max_calls // 8, getattr(representation, "whole", 0) or self.max_calls)
        every = representation.enumerate(kernel, self.n_samples or affordable)
        if every is None:
            return None
        return replace(every, weights=every.weights * (self.n_samples or len(every.weights)))

    def explain_every(self, every: Sample, outputs: Floats, question: Question) -> tuple[Explanation, ...]:
        """Explain from all samples that there are."""
        near = grow(None, every, outputs, question.representation.names)
        return self._conclude(near, question, True)

    def explain(self, source: Source, question: Question) -> tuple[Explanation, ...]:
        """Explain from a source of samples, growing the neighborhood until it is enough."""
        steps = self.steps(question)
        wanted = next(steps)
        while True:
            try:
                wanted = steps.send((*source(*wanted), None))
            except StopIteration as end:
                found: tuple[Explanation, ...] = end.value
                return found

    def steps(self, question: Question) -> Steps:
        """Explain by asking for samples start..stop as often as it takes, to be sent them with their outputs.

        Whoever has fitted all that was sent so far sends that too.
        """
        names, near = question.representation.names, None
        pieces = self.ladder(question.representation)
        for start, stop in pieces:
            sample, outputs, fit = yield start, stop
            near = grow(near, sample, outputs, names)
            found = self._conclude(near, question, stop == pieces[-1][1], fit)
            if found:
                break
        return found

    def ladder(self, representation: Representation) -> list[tuple[int, int]]:
        """The pieces, from one sample to another, that are drawn at most: each as many as all before it."""
        d = len(representation.names)
        least = max(d + 2, getattr(representation, "fewest", 0))
        n, last = sizes(self.n_samples, self.max_calls, d, least)
        if self.n_samples is None:  # a sample that balances itself is better drawn whole
            n = min(max(n, getattr(representation, "whole", 0)), last)
        pieces = [(0, n)]
        while n < last:
            pieces.append((n, min(2 * n, last)))
            n = pieces[-1][1]
        return pieces

    def kernel_for(self, representation: Representation) -> Kernel:
        """The kernel of these settings, made to measure for the representation."""
        if self.kernel is not None:
            return self.kernel if isinstance(self.kernel, Gaussian) else checked_kernel(self.kernel)
        scaled: Callable[[float], Kernel] | None = getattr(representation.kernel, "scaled", None)
        return checked_kernel(representation.kernel) if scaled is None else scaled(self.width)

    def _conclude(
        self, near: Neighborhood, question: Question, settled: bool, known: Fit | None = None
    ) -> tuple[Explanation, ...]:
        """One explanation a target; none at all if the top of one is not settled and there is budget left.

        A plain fit of the outputs may be known already.
        """

        def answer(asked: Outputs) -> Answer | None:
            fit, probability = self._fit(near, asked, question, known if asked.unit == 1 else None)
            more = self.n_samples is None and not settled and not is_flat(asked.y)
            if more and (probability < self.until.probability or _open(fit, near)):
                return None
            return self._answer(near, asked, fit, probability)

        return question.conclude(self, near.outputs, answer)

    def _fit(self, near: Neighborhood, asked: Outputs, question: Question, full: Fit | None) -> tuple[Fit, float]:
        """The surrogate of outputs in their unit, and the probability that the top of all parts is right."""
        y = asked.y
        if is_flat(y[1:]):
            return flat_fit(len(near.names), float(y[1]), near.design.exact), 0.0
        if question.known is not None and self.plain:
            known = question.known(len(y) - 1, asked.target, asked.unit)
            full = fits_from(of_one(near), y[1:], known, [cast(Shareable, question.representation)])[0]
        elif full is None:
            full = (self.surrogate if self.plain else Linear())(near, y)
        probability = top_probability(full, self.until)
        if self.plain:
            return full, probability
        selection = (None, None) if self.n_features is None else (self.select, self.n_features)
        return self.surrogate(near, y, *selection), probability

    @property
    def plain(self) -> bool:
        """All parts are fitted by least squares."""
        return self.n_features is None and self.surrogate in (Linear(), Linear(trees=True))

    def _answer(self, near: Neighborhood, asked: Outputs, fit: Fit, probability: float) -> Answer:
        """A fit with its evidence."""
        y, n_calls, size = asked.y, len(asked.y), effective_size(near.weights[1:])
        evidence, verdict = weigh(fit, self.until, probability, n_calls), None
        if is_flat(y[1:]):
            sampled = float(y[0] if is_flat(y) else y[1]) * asked.unit  # rounding is no answer of its own
            verdict = no_evidence(float(y[0]) * asked.unit, sampled, n_calls, self.until.probability)
        elif not near.design.exact and size < len(near.names) + 2:
            verdict = too_few(size, n_calls, self.until.probability)
        notes = self.notes(fit)
        return Answer(fit, evidence, self.until.k, n_calls, size, notes, rule=self.until, verdict=verdict)

    def notes(self, fit: Fit) -> tuple[str, ...]:
        """What a reader should know of a fit by these settings."""
        notes = []
        if self.n_features is not None and not fit.path:
            notes.append(
                f"{int(fit.chosen.sum())} of {len(fit.weights)} parts were chosen by {name_of(self.select)}; "
                "the others are set to zero, and the intervals do not count the choice"
            )
        missed = int((~fit.measured).sum())
        if missed:
            what = "1 part hardly ever changes" if missed == 1 else f"{missed} parts hardly ever change"
            notes.append(f"{what} in the samples, and has no weight")
        return tuple(notes)


def checked_kernel(kernel: Kernel) -> Kernel:
    """A kernel of the caller's own, whose answers are checked."""

    def proximity(distances: Floats) -> Floats:
        near = np.asarray(kernel(distances), dtype=np.float64)
        if near.shape != distances.shape:
            raise InputError(f"the kernel gave shape {near.shape} for distances of shape {distances.shape}")
        if not np.isfinite(near).all() or (near < 0).any():
            raise InputError("the kernel gave negative, infinite or missing proximities; wanted numbers from 0 on")
        if not near.any():
            raise InputError("the kernel is zero for all samples: give a wider one")
        return near

    return proximity


def _open(fit: Fit, near: Neighborhood) -> bool:
    """Some part could be measured with more samples."""
    shares = near.design.shares
    return bool((~fit.measured & (shares > 0) & (shares < 1)).any())
