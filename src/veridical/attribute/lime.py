"""LIME (Ribeiro et al. 2016): a sparse or full linear model, or a tree, fitted near one instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from veridical.attribute.ask import Model, Target, resolve
from veridical.attribute.choose import Selector, as_package, forward_selection, highest_weights, lasso_path
from veridical.attribute.evidence import TopK, no_evidence, top_probability, weigh
from veridical.attribute.linear import Linear
from veridical.attribute.neighborhood import Source, grow, private
from veridical.attribute.recipe import recipe_of
from veridical.attribute.tree import Tree
from veridical.errors import InputError
from veridical.masks import Gaussian
from veridical.records import (
    VERSION,
    Explanation,
    Fit,
    Floats,
    Kernel,
    Neighborhood,
    Representation,
    Seed,
)

Surrogate: TypeAlias = Callable[..., Fit]


def plain_mean(outputs: Floats, weights: Floats) -> float:
    """The intercept of the paper's experiments: the mean output, without weights."""
    return float(outputs.mean())


def nothing(outputs: Floats, weights: Floats) -> float:
    """The paper's formula has no intercept."""
    return 0.0


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
        for name in ("n_samples", "max_calls", "n_features"):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if value is None and name != "max_calls":
                continue
            if not whole or value < 1:
                raise InputError(f"{name} must be a whole number of at least 1, not {value!r}")
        if not isinstance(self.until, TopK):
            raise InputError(f"until wants TopK(…), not {self.until!r}")
        if not (np.isfinite(self.width) and self.width > 0):
            raise InputError(f"width must be a positive number, not {self.width!r}")

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
        return cls(
            n_samples=15000,
            width=2**-0.5,
            n_features=n_features,
            select=lasso_path,
            surrogate=Linear(offset=plain_mean),
        )

    @classmethod
    def package(cls, n_features: int = 10) -> Lime:
        """What the lime package estimates, its bugs excepted: its kernel, selection and ridge of 1."""
        return cls(n_samples=5000, n_features=n_features, select=as_package, surrogate=Linear(ridge=1.0))

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[Any], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation a target, all from the same samples."""
        kernel = self.kernel_for(representation)
        budget = self.n_samples or self.max_calls // 8
        every = representation.enumerate(kernel, budget)
        if every is not None:
            outputs = model(representation.realize(every))
            near = grow(None, every, outputs, representation.names)
            return self._conclude(near, model, representation, targets, seed, settled=True)
        return self.explain(private(model, representation, kernel, seed), model, representation, targets, seed)

    def explain(
        self,
        source: Source,
        model: Model,
        representation: Representation,
        targets: Sequence[Any],
        seed: Seed,
    ) -> tuple[Explanation, ...]:
        """Explain from a source of samples, growing the neighborhood until it is enough."""
        names = representation.names
        n, last = self.sizes(len(names))
        near = grow(None, *source(0, n), names)
        while True:
            found = self._conclude(near, model, representation, targets, seed, settled=n >= last)
            if found:
                return found
            more = min(2 * n, last)
            near = grow(near, *source(n, more), names)
            n = more

    def sizes(self, d: int) -> tuple[int, int]:
        """The first and the last number of samples for d parts."""
        if self.n_samples is not None:
            if self.n_samples < d + 2:
                raise InputError(
                    f"n_samples is {self.n_samples}, but {d} parts need at least {d + 2}: "
                    "ask for more samples, or leave n_samples out"
                )
            return self.n_samples, self.n_samples
        last = self.max_calls - 1
        if last < d + 2:
            raise InputError(
                f"max_calls is {self.max_calls}, but {d} parts need at least {d + 3}: give a larger budget"
            )
        first = max(128, 1 << (8 * d - 1).bit_length())
        return min(first, last), last

    def kernel_for(self, representation: Representation) -> Kernel:
        """The kernel of these settings, made to measure for the representation."""
        if self.kernel is not None:
            return self.kernel
        usual = representation.kernel
        if isinstance(usual, Gaussian):
            return Gaussian(usual.width * self.width)
        return lambda distances: usual(distances / self.width)

    def _conclude(
        self,
        near: Neighborhood,
        model: Model,
        representation: Representation,
        targets: Sequence[Any],
        seed: Seed,
        settled: bool,
    ) -> tuple[Explanation, ...]:
        """One explanation a target; none at all if the top of one is not settled and there is budget left."""
        found = []
        for wanted in targets:
            target = resolve(wanted, model, near.outputs)
            y = target.read(near.outputs)
            if np.ptp(y) <= 8 * np.finfo(float).eps * np.abs(y).max():
                found.append(self._explanation(near, None, 0.0, y, target, representation, seed))
                continue
            fit = self.surrogate(near, y, *self._selection())
            probability = top_probability(fit, self.until)
            if not settled and self.n_samples is None and probability < self.until.probability:
                return ()
            found.append(self._explanation(near, fit, probability, y, target, representation, seed))
        return tuple(found)

    def _selection(self) -> tuple[Selector | None, int | None]:
        return (None, None) if self.n_features is None else (self.select, self.n_features)

    def _explanation(
        self,
        near: Neighborhood,
        fit: Fit | None,
        probability: float,
        y: Floats,
        target: Target,
        representation: Representation,
        seed: Seed,
    ) -> Explanation:
        """The record of a fit and its evidence; without a fit, that there is nothing to explain."""
        n_calls, parts, w = len(y), representation.parts, near.weights[1:]
        unsettled: tuple[tuple[str, ...], ...] = ()
        recipe = {
            "veridical": VERSION,
            "method": recipe_of(self),
            "target": target.label,
            "rng": {"entropy": seed.entropy, "spawn_key": list(seed.spawn_key)},
        }
        if fit is None:
            fit = _flat_fit(len(parts), float(y[0]))
            verdict = no_evidence(float(y[0]), n_calls, self.until.probability)
            bounds = np.zeros((len(parts), 2))
        else:
            evidence = weigh(fit, self.until, probability, n_calls)
            bounds, verdict = evidence.intervals, evidence.verdict
            unsettled = tuple(tuple(parts[j].name for j in group) for group in evidence.unsettled)
        return Explanation(
            parts=parts,
            weights=fit.weights,
            intervals=bounds,
            intercept=fit.intercept,
            prediction=float(y[0]),
            local_prediction=fit.local_prediction,
            fidelity=fit.fidelity,
            effective_size=float(w.sum() ** 2 / (w @ w)),
            n_calls=n_calls,
            target=target.label,
            top_k=self.until.k,
            top_probability=probability,
            unsettled=unsettled,
            verdict=verdict,
            recipe=recipe,
            notes=(*representation.notes, *self._notes(fit)),
            path=fit.path,
        )

    def _notes(self, fit: Fit) -> tuple[str, ...]:
        notes = []
        if self.n_features is not None and not fit.path:
            notes.append(
                f"{int(fit.chosen.sum())} of {len(fit.weights)} parts were chosen by {self.select.__name__}; "
                "the others are set to zero, and the intervals do not count the choice"
            )
        if not fit.measured.all():
            notes.append(
                f"{int((~fit.measured).sum())} parts hardly ever change in the background, so they have no weight"
            )
        return tuple(notes)


def _flat_fit(d: int, value: float) -> Fit:
    """The fit to a model that does not move."""
    every = np.ones(d, bool)
    return Fit(np.zeros(d), value, np.zeros((d, d)), value, float("nan"), every, every, 1.0)


SETTINGS: dict[str, Any] = {
    f.__name__: f
    for f in (Lime, TopK, Gaussian, Linear, Tree, highest_weights, lasso_path, forward_selection, as_package)
} | {"plain_mean": plain_mean, "nothing": nothing}
