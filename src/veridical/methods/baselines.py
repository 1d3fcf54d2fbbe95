"""Baselines: random features, greedy removal (Martens and Provost 2014), Parzen windows (Baehrens et al. 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veridical.errors import InputError, check_positive, check_whole
from veridical.evidence.verdicts import LEAST_STABLE, Evidence, TopK, intervals
from veridical.methods.engine import PrivateSamples, ask_by
from veridical.methods.occlusion import Removal
from veridical.methods.results import EPSILON, ROUNDING, Answer, Question, is_flat, judged
from veridical.models.outputs import Model, check_outputs, n_rows, stack_outputs
from veridical.models.targets import resolve
from veridical.protocols import Comparable, Representation, Seed
from veridical.records import Explanation, Features, Fit, Floats, Replacement, Verdict
from veridical.seeds import generator
from veridical.surrogates.linear import effective_size

__all__ = ["Greedy", "Parzen", "RandomParts"]

RANDOM = "These features and weights were drawn at random, for other explanations to be compared with."


@dataclass(frozen=True)
class RandomParts:
    """What do weights look like that know nothing? Random weights of random features, whatever the model does.

    The sizes of the weights sum to that of the prediction.

    Parameters
    ----------
    n_features : int, optional
        Features that have a weight; all if this is None.
    """

    n_features: int | None = 10

    def __post_init__(self) -> None:
        if self.n_features is not None:
            check_whole("n_features", self.n_features)

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[object], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Weights for one instance, the same for each target but for their size."""
        removal = Removal.of(model, representation, seed, "RandomParts")
        d, rng = removal.d, generator(seed, 10)
        shares, kept = rng.normal(size=d), rng.permutation(d)[: self.n_features]
        chosen = np.isin(np.arange(d), kept)
        shares[~chosen] = 0.0
        shares /= np.abs(shares).sum()
        outputs, found = removal(np.ones((1, d), bool), 0), list[Explanation]()
        question = Question(model, representation, targets, seed, removes=True)
        for seen in question.read(outputs):
            weights = shares * (abs(float(seen.y[0])) or 1.0)
            total, unknown = float(weights.sum()), np.where(chosen, np.inf, 0.0)
            fit = Fit(weights, 0.0, np.diag(unknown), total, float("nan"), ~chosen, chosen, 1.0)
            verdict = Verdict(False, 0.0, LEAST_STABLE, RANDOM, label="unchecked")
            evidence = Evidence(intervals(fit), 0.0, (), np.zeros(d, bool))
            found.append(question.record(self, seen, Answer(fit, evidence, TopK().k, 1, 1.0, verdict=verdict)))
        return tuple(found)


WEIGHT_DRAWS = (0, 0)  # path of the draws that weights come from: one removal after another sees the same ones
MAX_SHOWN_PARTS = 20  # parts whose order a note tells


@dataclass(frozen=True)
class Greedy:
    """Tell which features, removed one after the other, lower the output most.

    It ends when ``n_features`` are gone, when none lowers the output, or when the model predicts another class. A weight is
    how much the output fell when the feature went; the others' is zero.

    Parameters
    ----------
    n_features : int
        Features that are removed at most.
    stop_at_flip : bool
        Whether to end when the model predicts another class.
    n_draws : int
        In tables, draws of the values in place of features, and once more for the weight of the one that was chosen, so
        that it is not the luckiest of many.
    """

    n_features: int = 10
    stop_at_flip: bool = False
    n_draws: int = 64

    def __post_init__(self) -> None:
        check_whole("n_features", self.n_features)
        check_whole("n_draws", self.n_draws, 2)
        if not isinstance(self.stop_at_flip, bool):
            raise InputError(f"stop_at_flip is True or False, not {self.stop_at_flip!r}")

    def __call__(
        self, model: Model, representation: Representation, targets: Sequence[Any], seed: Seed
    ) -> tuple[Explanation, ...]:
        """Explain one instance; each target has an order of its own."""
        found: list[Explanation] = []
        for wanted in targets:
            removal = Removal.of(model, representation, seed, "Greedy")
            walk = self._walk(removal, wanted, model)
            question = Question(model, representation, (wanted,), seed, removes=True)
            (seen,) = question.read(walk.outputs)
            fit = _fit(removal, walk, seen.y[1:].reshape(-1, removal.draws(self.n_draws)), float(seen.y[0]))
            made = judged(fit, seen, walk.n_calls, walk.notes(representation.names))
            found.append(question.record(self, seen, made))
        return tuple(found)

    def _walk(self, removal: Removal, wanted: Any, model: Model) -> RemovalSequence:
        """Take parts away until it ends."""
        gone = list[int]()
        tried = removal.start(_without(removal.d, gone), self.n_draws)
        own, tried = tried[:1], tried[1:]
        target, draws = resolve(wanted, model, own), removal.draws(self.n_draws)
        if self.stop_at_flip and own.shape[1] == 1:
            raise InputError("stop_at_flip needs a model with one output per class; this one has a single output")
        n_calls, before, outputs, why = 1 + removal.d * draws, float(target.read(own)[0]), [own], ""
        while not why:
            left = [j for j in range(removal.d) if j not in gone]
            means = target.read(tried).reshape(-1, len(left)).mean(axis=0)
            best = int(np.argmin(means))
            if means[best] >= before or is_flat(np.array([before, means[best]])):
                why = "taking away no other part lowers it"
                break
            gone.append(left[best])
            after = tried.reshape(-1, len(left), own.shape[1])[:, best]
            if not removal.representation.steady:
                kept = _without(removal.d, gone[:-1])[[best]]
                after, n_calls = removal.ask_draws(kept, self.n_draws, n_calls, *WEIGHT_DRAWS), n_calls + draws
            outputs.append(after)
            before = float(target.read(after).mean())
            why = self._reason(own, after, len(gone), removal.d)
            if not why:
                masks = _without(removal.d, gone)
                tried = removal.ask_draws(masks, self.n_draws, n_calls, len(gone))
                n_calls += len(masks) * draws
        return RemovalSequence(tuple(gone), stack_outputs(outputs), n_calls, why)

    def _reason(self, own: Floats, after: Floats, n: int, d: int) -> str:
        """Why it ends here, or nothing."""
        if self.stop_at_flip and np.argmax(after.mean(axis=0)) != np.argmax(own[0]):
            return "the model predicts another class without them"
        if n == d:
            return "nothing is left"
        return f"{n} were wanted" if n == self.n_features else ""


@dataclass(frozen=True, eq=False)
class RemovalSequence:
    """The parts that were taken away in order, and the answers after each."""

    order: tuple[int, ...]
    outputs: Floats  # (1 + parts · draws, k); row 0 is the instance
    n_calls: int
    why: str

    def notes(self, names: Sequence[str]) -> tuple[str, ...]:
        if not self.order:
            return ("taking away any one part does not lower the output",)
        more = f" and {len(self.order) - MAX_SHOWN_PARTS} more" if len(self.order) > MAX_SHOWN_PARTS else ""
        shown = ", ".join(names[j] for j in self.order[:MAX_SHOWN_PARTS])
        return (f"taken away in this order: {shown}{more}; then {self.why}",)


def _without(d: int, gone: Sequence[int]) -> Any:
    """Masks without the parts that are gone and one more, one mask per part that is left."""
    masks = ~np.eye(d, dtype=bool)
    masks[:, list(gone)] = False
    return np.delete(masks, list(gone), axis=0)


def _fit(removal: Removal, walk: RemovalSequence, after: Floats, own: float) -> Fit:
    """The falls of the output from one removal to the next, of answers (parts, draws)."""
    order, draws = list(walk.order), after.shape[1]
    steps = np.vstack([np.full((1, draws), own), after])
    falls = steps[:-1] - steps[1:]
    weights, covariance = np.zeros(removal.d), np.zeros((removal.d, removal.d))
    weights[order] = falls.mean(axis=1)
    if draws > 1 and order:
        covariance[np.ix_(order, order)] = np.atleast_2d(np.cov(falls)) / draws
    chosen = np.isin(np.arange(removal.d), order)
    left = float(steps[-1].mean())
    return Fit(
        weights, left, covariance, own, float("nan"), np.ones(removal.d, bool), chosen, max(draws - 1.0, 1.0)
    )


WIDTHS = (0.1, 0.25, 0.5, 0.75, *map(float, range(1, 11)))  # that are tried, as in the LIME paper's experiments
SAME_POINT = 1e-9  # two points are one
MAX_COMPARED_WINDOWS = 1024  # windows by which a width is chosen, at most


@dataclass(frozen=True)
class Parzen:
    """How do the answers around this instance change? The gradient of outputs averaged with Gaussian windows.

    Parameters
    ----------
    data : texts or rows, optional
        Where windows stand: texts for Words, rows for Rows; by default at samples near the instance.
    answers : array, optional
        The model's outputs for the data, if they are known.
    width : float, optional
        Of the windows, in features that differ, for sparse rows in their values; by default the one by which windows
        predict each other's outputs best.
    n_samples : int
        Samples, where there are no data.
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
        """Explain one instance: one explanation per target, all from the same windows."""
        question = Question(model, representation, targets, seed)
        windows, outputs, n_calls = (self._sampled if self.data is None else self._given)(question)
        found, tested = list[Explanation](), None
        if self.data is not None:
            tested = Replacement.sound(len(representation.names))
        for seen in question.read(outputs):
            y = seen.y[1:]
            width = windows.best_width(y) if self.width is None else float(self.width)
            fit, size = windows.fit(y, width)
            if self.data is None:
                fit = replace(fit, fidelity=windows.fidelity(y, width))
            note = f"the windows are {width:g} wide, and {size:.0f} of {len(y)} count, in effect"
            made = replace(judged(fit, seen, n_calls, (note,)), effective_size=size, replacement=tested)
            found.append(question.record(self, seen, made))
        return tuple(found)

    @property
    def most_calls(self) -> int:
        """Inputs that it asks about at most."""
        return self.n_samples

    def _sampled(self, question: Question) -> tuple[ParzenWindows, Floats, int]:
        """Windows at samples near the instance."""
        own = question.representation
        source = PrivateSamples(own, own.kernel, question.seed, ask_by(question.model, own))
        source.grow(0, self.n_samples)
        assert source.sample is not None
        sample, outputs, d = source.sample, source.answers, len(own.names)
        features = Features(sample.designs, np.arange(d), np.ones(d))
        return ParzenWindows(features, sample.weights[1:], sample.design.cluster), outputs, len(outputs)

    def _given(self, question: Question) -> tuple[ParzenWindows, Floats, int]:
        """Windows at the data."""
        representation = question.representation
        features = representation.features(self.data) if isinstance(representation, Comparable) else None
        if features is None:
            raise InputError(
                "Parzen can place data beside a text of Words or a row of Rows only: leave data out, and windows "
                "stand at samples"
            )
        model, n = question.model, features.points.shape[0] - 1
        removal = Removal.of(model, representation, question.seed, "Parzen")
        own = removal(np.ones((1, removal.d), bool), 0)
        if self.answers is not None:
            known = check_outputs(self.answers, n)
            return ParzenWindows(features, np.ones(n), 1), stack_outputs([own, known]), 1
        data = list(self.data) if n_rows(self.data) and not hasattr(self.data, "shape") else self.data
        return ParzenWindows(features, np.ones(n), 1), stack_outputs([own, model(data, 1)]), 1 + n


@dataclass(frozen=True, eq=False)
class ParzenWindows:
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
        nearest = float(np.sqrt(away[away > SAME_POINT].min(initial=np.inf)))
        widths = [width for width in WIDTHS if width >= nearest - SAME_POINT]
        if not widths:
            return nearest if np.isfinite(nearest) else WIDTHS[-1]
        step = -(-len(y) // MAX_COMPARED_WINDOWS)
        points, y, weights = every[1:][::step], y[::step], self.weights[::step]
        squares = _squares(points, points)
        squares[squares <= SAME_POINT] = np.inf
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
        rounding = np.abs(weights) < ROUNDING * EPSILON * np.abs(weights).max()
        weights[rounding] = 0.0
        scores = pulls[:, None] * (away - near @ away) - near[:, None] * weights
        scores = np.add.reduceat(scores, np.arange(0, len(scores), self.cluster), axis=0)
        size, every = float(effective_size(near)), np.ones(len(weights), bool)
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
            fit, _ = ParzenWindows(some, self.weights[seen], self.cluster).fit(y[seen], width)
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
