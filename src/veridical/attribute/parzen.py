"""Parzen windows (Baehrens et al. 2010): the gradient of a smooth estimate of the model, at the instance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veridical.attribute.ask import Model, checked, n_rows, stacked
from veridical.attribute.linear import effective_size
from veridical.attribute.neighborhood import private
from veridical.attribute.question import EPSILON, ROUNDING, Answer, Outputs, Question, judged
from veridical.attribute.removal import Removal
from veridical.errors import InputError, check_positive, check_whole
from veridical.records import Explanation, Features, Fit, Floats, Replacement, Representation, Seed

WIDTHS = (0.1, 0.25, 0.5, 0.75, *map(float, range(1, 11)))  # that are tried, as in the LIME paper's experiments
CLOSE = 1e-9  # two points are one
COMPARED = 1024  # windows by which a width is chosen, at most


@dataclass(frozen=True)
class Parzen:
    """Explain by the gradient of an estimate: outputs averaged with Gaussian windows of a ``width``.

    Windows stand at samples near the instance, ``n_samples`` of them, or at other instances, the ``data``: texts
    for Words, rows for Rows. ``answers`` are the model's outputs for the data, if they are known. The width is in
    parts that differ, for sparse rows in their values; unless it is given, it is the one by which windows foretell
    each other's outputs best.
    """

    data: Any = None
    answers: Any = None
    width: float | None = None
    n_samples: int = 1024

    def __post_init__(self) -> None:
        check_whole("n_samples", self.n_samples, 2)
        if self.width is not None:
            check_positive("width", self.width)
        if self.answers is not None and self.data is None:
            raise InputError("answers are the model's outputs for data: give the data, too")

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[Any], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance: one explanation a target, all from the same windows."""
        question = Question(model, representation, targets, seed)
        windows, outputs, n_calls = (self._sampled if self.data is None else self._given)(question)

        def answer(asked: Outputs) -> Answer:
            width = windows.best_width(asked.y[1:]) if self.width is None else float(self.width)
            fit, size = windows.fit(asked.y[1:], width)
            if self.data is None:
                fit = replace(fit, fidelity=windows.fidelity(asked.y[1:], width))
            note = f"the windows are {width:g} wide, and {size:.0f} of {len(asked.y) - 1} count, in effect"
            made = replace(judged(fit, asked, n_calls, (note,)), effective_size=size)
            return made if self.data is None else replace(made, replacement=Replacement.sound(len(fit.weights)))

        return question.conclude(self, outputs, answer)

    def _sampled(self, question: Question) -> tuple[Windows, Floats, int]:
        """Windows at samples near the instance."""
        own = question.representation
        sample, outputs = private(question.model, own, own.kernel, question.seed)(0, self.n_samples)
        d = sample.designs.shape[1]
        features = Features(sample.designs, np.arange(d), np.ones(d))
        return Windows(features, sample.weights[1:], sample.design.cluster), outputs, len(outputs)

    def _given(self, question: Question) -> tuple[Windows, Floats, int]:
        """Windows at the data."""
        find = getattr(question.representation, "features", None)
        features = None if find is None else find(self.data)
        if features is None:
            raise InputError(
                "Parzen can place data beside a text of Words or a row of Rows only: leave data out, and windows "
                "stand at samples"
            )
        model, n = question.model, features.points.shape[0] - 1
        removal = Removal.of(model, question.representation, question.seed, "Parzen")
        own = removal(np.ones((1, removal.d), bool), 0)
        if self.answers is not None:
            known = checked(self.answers, n)
            return Windows(features, np.ones(n), 1), stacked([own, known]), 1
        data = list(self.data) if n_rows(self.data) and not hasattr(self.data, "shape") else self.data
        return Windows(features, np.ones(n), 1), stacked([own, model(data, 1)]), 1 + n


@dataclass(frozen=True, eq=False)
class Windows:
    """Where windows stand, and what each counts."""

    features: Features
    weights: Floats  # (n,)
    cluster: int  # this many consecutive ones were drawn together

    def best_width(self, y: Floats) -> float:
        """The width by which windows foretell best what the model says at others, elsewhere than they stand.

        None is narrower than the distance to the nearest window that is not at the instance: it would see none.
        """
        every = self.features.points
        away = _squares(every[:1], every[1:])
        nearest = float(np.sqrt(away[away > CLOSE].min(initial=np.inf)))
        widths = [width for width in WIDTHS if width >= nearest - CLOSE]
        if not widths:
            return nearest if np.isfinite(nearest) else WIDTHS[-1]
        step = -(-len(y) // COMPARED)
        points, y, weights = every[1:][::step], y[::step], self.weights[::step]
        squares = _squares(points, points)
        squares[squares <= CLOSE] = np.inf
        errors = []
        for width in widths:
            near = weights * _bells(squares, width)
            total = np.maximum(near.sum(axis=1), 1e-300)
            errors.append(float(weights @ (near @ y / total - y) ** 2))
        return widths[int(np.argmin(errors))]

    def fit(self, y: Floats, width: float) -> tuple[Fit, float]:
        """The gradient at the instance along its parts, and how many windows count there, in effect."""
        points, columns, steps = self.features.points, self.features.columns, self.features.steps
        near = self.weights * _bells(_squares(points[:1], points[1:]), width)[0]
        near /= near.sum()
        own, others = (_dense(block[:, columns]) for block in (points[:1], points[1:]))
        away = (others - own) * steps / width**2
        mean = float(near @ y)
        pulls = near * (y - mean)
        weights = pulls @ away
        weights[np.abs(weights) < ROUNDING * EPSILON * np.abs(weights).max()] = (
            0.0  # what rounding leaves of nothing
        )
        scores = pulls[:, None] * (away - near @ away) - near[:, None] * weights
        scores = np.add.reduceat(scores, np.arange(0, len(scores), self.cluster), axis=0)
        size, every = effective_size(near), np.ones(len(weights), bool)
        kept = np.where(steps == 1, own[0], 1.0)  # the instance's own design
        return Fit(
            weights=weights,
            intercept=mean - float(kept @ weights),
            covariance=scores.T @ scores,
            local_prediction=mean,
            fidelity=float("nan"),
            measured=every,
            chosen=every,
            degrees=max(size / self.cluster - 1, 1.0),
        ), size

    def fidelity(self, y: Floats, width: float) -> float:
        """Share of the outputs' variance that the gradient of one half of the samples explains in the other."""
        half = np.arange(len(y)) // self.cluster % 2
        designs, left, total = self.features.points, 0.0, 0.0
        for own in (0, 1):
            seen, rest = half == own, half != own
            some = replace(self.features, points=designs[np.append(True, seen)])
            fit, _ = Windows(some, self.weights[seen], self.cluster).fit(y[seen], width)
            w, told = self.weights[rest], fit.intercept + designs[1:][rest] @ fit.weights
            left += float(w @ (y[rest] - told) ** 2)
            total += float(w @ (y[rest] - w @ y[rest] / w.sum()) ** 2)
        return 1 - left / total if total > 0 else float("nan")


def _squares(a: Any, b: Any) -> Floats:
    """Squared distances of each two points, (n, m)."""
    first, second = (
        np.asarray((block.power(2) if hasattr(block, "power") else block**2).sum(axis=1)) for block in (a, b)
    )
    return np.asarray(np.maximum(first.reshape(-1, 1) + second.ravel() - 2 * _dense(a @ b.T), 0.0))


def _bells(squares: Floats, width: float) -> Floats:
    """Gaussian windows, each row relative to its nearest one, so that none are all zero."""
    nearest = squares.min(axis=1, keepdims=True)
    return np.asarray(np.exp((np.where(np.isinf(nearest), 0.0, nearest) - squares) / (2 * width**2)))


def _dense(block: Any) -> Floats:
    return np.asarray(block.toarray() if hasattr(block, "toarray") else block, np.float64)
