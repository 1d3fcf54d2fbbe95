"""The additive surrogate: a function per part and a few pairs, on the scale of the outputs or of log-odds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit, stdtrit

from veridical.errors import InputError, check_whole, safe_repr
from veridical.protocols import KnownTerm, Selector
from veridical.records import (
    IDENTITY,
    LOG_ODDS,
    Bools,
    Explanation,
    FeatureCurve,
    FeaturePair,
    Fit,
    Fits,
    Floats,
    Ints,
    Neighborhood,
    Shape,
)
from veridical.surrogates.least_squares import BLOCKS, invert, solve, steadiness
from veridical.surrogates.linear import effective_size, measured

RIDGES = (1e-8, 1e-3, 1e-2, 0.05, 0.25)  # relative to the diagonal of the Gram matrix
BETTER = 0.97  # a choice must bring the held-out error below this share of what it was
END = 0.25  # weight of the instance itself, relative to that of all samples
SURE = 0.02  # outputs nearer to 0 or 1 count as this near in the first step on log-odds
FLATTEST = 1e-5  # least variance p (1 - p) in the steps after it
STEPS = 2  # of Newton's method
PAIRED, TRIED = 8, 5  # largest parts whose pairs are looked at, and pairs of these that are tried
PAIR_RIDGE = 0.02
CLEAR = 0.005  # share of the variance left over, below which no other scale is tried
GROWTHS = (0.25, 0.5, 0.75, 1.0)
CROWDED = 0.5  # functions per sample, above which parts have fewer


@dataclass(frozen=True)
class Additive:
    """A sum of one function per feature, and of a few pairs of features.

    Columns of a table have a curve each, or an effect per category; words, regions and windows are there or not.
    Intercept, weights and pairs add up to the local prediction.

    Parameters
    ----------
    pairs : int
        Pairs of features at most; each must lower the error on samples that were held out.
    link : {"auto", "identity", "log-odds"}
        The scale on which they are added up: that of the outputs or, of probabilities, that of log-odds. By
        default the one with the smaller error on held-out samples.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> lime = vd.Lime(surrogate=vd.surrogates.Additive(pairs=0))
    >>> why = vd.explain(lambda X: X[:, 0] ** 2 + X[:, 1], vd.Rows(X, names=["a", "b"]), X[0], method=lime)
    >>> why.scale, [curve.numeric for curve in why.curves]
    ('identity', [True, True])
    """

    pairs: int = 3
    link: str = "auto"

    def __post_init__(self) -> None:
        if isinstance(self.pairs, bool) or not isinstance(self.pairs, (int, np.integer)) or self.pairs < 0:
            check_whole("pairs, unless it is 0,", self.pairs)
        if self.link not in ("auto", IDENTITY, LOG_ODDS):
            raise InputError(f'link is "auto", "identity" or "log-odds", not {safe_repr(self.link)}')

    def __call__(
        self,
        near: Neighborhood,
        outputs: Floats,
        select: Selector | None = None,
        k: int | None = None,
        known: KnownTerm | None = None,
    ) -> Fits:
        """Fit outputs (r, n), or (n,) for all rows; with a selector, keep at most k parts of each."""
        y, found = np.broadcast_to(outputs, near.weights.shape), list[Fit]()
        live, size = measured(near)
        for i in range(len(y)):
            one, kept = near.row(i), live[i]
            if select is not None and k is not None and k < kept.sum():
                kept = _select(one, y[i], kept, select, k)
            samples = Samples.of(one, y[i], kept)
            found.append(self._fit(samples, live[i]))
        unsure = np.any(~live & (near.shares > 0) & (near.shares < 1), axis=1)
        return replace(Fits.of(found), effective_size=size, open=unsure)

    def _fit(self, samples: Samples, live: Bools) -> Fit:
        """The local model of one row."""
        model, notes = choose_scale(samples, self.link), list(samples.notes)
        if self.link == LOG_ODDS and model.scale == IDENTITY:
            notes.append("link is log-odds, but the outputs are no probabilities: parts are added up as they are")
        model = choose_growth(samples, model)
        for product in choose_pairs(samples, model, self.pairs):
            model = replace(model, products=(*model.products, product))
        return finish(samples, model, live, tuple(notes))


def _select(near: Neighborhood, y: Floats, live: Bools, select: Selector, k: int) -> Bools:
    """The parts that a selector keeps by whether samples have the instance's own values."""
    Z, w, parts = near.designs[0][:, live], near.weights[0], np.flatnonzero(live)
    Z = Z - w @ Z / w.sum()
    keep = np.zeros(len(live), bool)
    keep[parts[select((Z * w[:, None]).T @ Z, Z.T @ (w * (y - w @ y / w.sum())), k)]] = True
    return keep


@dataclass(eq=False)
class Samples:
    """Samples as columns, of one row: the instance first, then quarters, of which the last decides nothing."""

    X: Floats  # (1 + n, p), the first column of ones
    y: Floats  # (1 + n,)
    w: Floats  # (1 + n,)
    judged: Floats  # (1 + n,) weights by which errors are counted
    part: Ints  # (p,) of each column, -1 of the first
    penalty: Floats  # (p,)
    near: Neighborhood
    parts: list[int]  # that are fitted
    flat: list[tuple[Floats, Floats]]  # of each of them, its functions and few of them for products (1 + n, …)
    notes: tuple[str, ...]
    probable: bool  # outputs are all in [0, 1]
    grams: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, near: Neighborhood, y: Floats, live: Bools) -> Samples:
        """The samples of a row, whose own output is known or not, in terms of its live parts."""
        design, w, notes = near.design, near.weights[0], list[str]()
        own = None if near.predictions is None else float(near.predictions[0])
        Z = np.vstack([near.own[0], near.designs[0]])
        parts, n, length = np.flatnonzero(live).tolist(), len(y), None
        blocks, penalties, flat = list[Floats](), list[Floats](), list[tuple[Floats, Floats]]()
        if design.axes:
            for most in (2, 1):
                if sum(design.axes[j].functions[:, :length].shape[1] for j in parts) > CROWDED * n:
                    length = most
        if length is not None:
            notes.append(f"{n} samples are few for {len(parts)} columns: effects are simpler than curves")
        for j in parts:
            if design.axes:
                axis = design.axes[j]
                assert near.codes is not None
                codes = np.append(axis.own, near.codes[:, j])
                blocks.append(axis.functions[:, :length][codes])
                penalties.append(axis.penalties[:length])
                flat.append((blocks[-1], axis.coarse[codes]))
            else:
                blocks.append(Z[:, [j]])
                penalties.append(np.full(1, 0.3))
                flat.append((blocks[-1], blocks[-1]))
        pooled = sum(design.axes[j].pooled > 0 for j in parts) if design.axes else 0
        if pooled:
            what = "1 column" if pooled == 1 else f"{pooled} columns"
            notes.append(f"rare values of {what} share one effect each, for the samples have few of them")
        sizes = [block.shape[1] for block in blocks]
        end = 0.0 if design.exact or own is None else END * float(w.sum())
        judged = np.append(0.0, w)
        if design.sizes is not None:  # where almost all parts are kept, or none, any model is right
            share = Z.mean(axis=1)
            middle = judged * ((share >= 0.25) & (share <= 0.75))
            judged = middle if middle.sum() >= 0.2 * judged.sum() else judged
        every = np.append(0.0 if own is None else own, y)
        inside = own is not None and near.unit == 1 and bool(every.min() >= 0 and every.max() <= 1)
        return cls(
            X=np.column_stack([np.ones(n + 1), *blocks]),
            y=every,
            w=np.append(end, w),
            judged=judged,
            part=np.append(-1, np.repeat(np.array(parts, np.int64), sizes)),
            penalty=np.concatenate([[0.0], *penalties]),
            near=near,
            parts=parts,
            flat=flat,
            notes=tuple(notes),
            probable=inside,
        )

    def before(self, stage: int) -> slice:
        """The instance and the quarters before one; all where samples are all there are."""
        n = len(self.y) - 1
        return slice(0, n + 1) if self.near.design.exact else slice(0, 1 + n * stage // 4)

    def quarter(self, stage: int) -> slice:
        """One quarter; all where samples are all there are."""
        n = len(self.y) - 1
        return self.before(4) if self.near.design.exact else slice(1 + n * stage // 4, 1 + n * (stage + 1) // 4)

    def gram(self, stage: int) -> Floats:
        """The Gram matrix of the columns over the quarters before one."""
        if stage not in self.grams:
            start = max((s for s in self.grams if s < stage), default=0)
            rows = slice(self.before(start).stop if start else 0, self.before(stage).stop)
            A = self.X[rows] * np.sqrt(self.w[rows])[:, None]
            self.grams[stage] = A.T @ A + (self.grams[start] if start else 0.0)
        return self.grams[stage]

    def error(self, guess: Floats, stage: int) -> float:
        """Squares that are left over by what is guessed for a quarter."""
        rows = self.quarter(stage)
        return float(self.judged[rows] @ np.square(self.y[rows] - guess))

    def total(self, stage: int) -> float:
        """Squares of the outputs of a quarter around their mean."""
        rows = self.quarter(stage)
        w, y = self.judged[rows], self.y[rows]
        return float(w @ np.square(y - w @ y / max(w.sum(), 1e-300)))


@dataclass(frozen=True, eq=False)
class Product:
    """A pair of parts: products of few functions of each, of which their own effects are taken off."""

    pair: tuple[int, int]  # among the parts that are fitted
    columns: Floats  # (1 + n, c)
    share: Floats  # (1 + functions of both, c) of the parts' own effects in the products
    slopes: Floats  # (c,)

    @classmethod
    def of(cls, samples: Samples, pair: tuple[int, int]) -> Product:
        """That of two parts, before it is fitted."""
        (f, a), (g, b) = (samples.flat[i] for i in pair)
        raw = (a[:, :, None] * b[:, None]).reshape(len(a), -1)
        own = np.column_stack([np.ones(len(a)), f, g])
        weighted = own * samples.w[:, None]
        gram = own.T @ weighted
        share = solve(gram + np.diag(1e-9 * gram.diagonal() + 1e-300), weighted.T @ raw)
        return cls(pair, raw - own @ share, share, np.zeros(raw.shape[1]))

    @property
    def values(self) -> Floats:
        """What the pair adds to each sample."""
        return np.asarray(self.columns @ self.slopes)

    def moved(self, samples: Samples, model: LocalModel, sums: Floats, rows: slice) -> Product:
        """The same with slopes that fit what is left over by sums (1 + n,) in some samples."""
        rest, variance = model.residual(samples, sums, rows)
        P, w = self.columns[rows], samples.w[rows]
        gram = (P * (w * variance)[:, None]).T @ P
        own = gram.diagonal()
        penalty = np.diag(PAIR_RIDGE * own + 1e-9 * own.max() + 1e-300)
        step = solve(gram + penalty, P.T @ (w * rest) - penalty @ self.slopes)
        return replace(self, slopes=self.slopes + step)


@dataclass(frozen=True, eq=False)
class LocalModel:
    """Slopes of all columns on a scale, and pairs."""

    scale: str
    ridge: float
    slopes: Floats  # (p,)
    error: float  # on the third quarter
    plain_ridge: float  # of the best model on the scale of the outputs
    growth: float = 0.0
    products: tuple[Product, ...] = ()

    def answers(self, sums: Floats) -> Floats:
        """Outputs for sums of effects."""
        return np.asarray(expit(sums)) if self.scale == LOG_ODDS else sums

    def residual(self, samples: Samples, sums: Floats, rows: slice) -> tuple[Floats, Floats]:
        """What sums of effects leave of the outputs of some samples, and how fast answers change with a sum."""
        guess = self.answers(sums[rows])
        flat = self.scale == IDENTITY
        change = np.ones_like(guess) if flat else np.maximum(guess * (1 - guess), FLATTEST)
        return samples.y[rows] - guess, change

    @property
    def paired(self) -> Any:
        """What all pairs add to each sample."""
        return sum((product.values for product in self.products), start=np.zeros(1))

    def refitted(self, samples: Samples, stage: int) -> LocalModel:
        """The same choices, fitted to the quarters before one."""
        rows, paired = samples.before(stage), np.broadcast_to(self.paired, samples.y.shape)
        if self.scale == IDENTITY:
            slopes = _identity_slopes(samples, stage, (self.ridge,), paired)[0]
        else:
            slopes = self.slopes
            for _ in range(STEPS):
                slopes = _newton(samples, rows, slopes, self.ridge, paired)
        model = replace(self, slopes=slopes)
        for i, product in enumerate(model.products):
            sums = samples.X @ slopes + model.paired
            moved = (*model.products[:i], product.moved(samples, model, sums, rows), *model.products[i + 1 :])
            model = replace(model, products=moved)
        return model


def _identity_slopes(samples: Samples, stage: int, ridges: Sequence[float], offset: Floats) -> list[Floats]:
    """Least squares of the quarters before one, for some ridges."""
    rows, gram = samples.before(stage), samples.gram(stage)
    moment = samples.X[rows].T @ (samples.w[rows] * (samples.y[rows] - offset[rows]))
    return [solve(gram + _penalty(samples, gram, ridge), moment) for ridge in ridges]


def _penalty(samples: Samples, gram: Floats, ridge: float) -> Floats:
    """A ridge relative to each column's own size, and next to nothing where a column is zero."""
    own = gram.diagonal()
    return np.diag(ridge * samples.penalty * own + 1e-10 * own + 1e-14 * own.max())


def _first_log_odds(samples: Samples, ridges: Sequence[float], stage: int) -> list[Floats]:
    """Least squares of log-odds, cut where outputs are almost sure: where Newton's steps start."""
    rows = samples.before(stage)
    p = np.clip(samples.y[rows], SURE, 1 - SURE)
    w = samples.w[rows] * p * (1 - p)
    A = (samples.X[rows] * np.sqrt(w)[:, None]).astype(np.float32)
    gram, moment = (A.T @ A).astype(np.float64), samples.X[rows].T @ (w * logit(p))
    return [solve(gram + _penalty(samples, gram, ridge), moment) for ridge in ridges]


def _newton(samples: Samples, rows: slice, slopes: Floats, ridge: float, offset: Floats) -> Floats:
    """A damped step of Newton's method towards the likeliest slopes on log-odds."""
    X, y, w = samples.X[rows], samples.y[rows], samples.w[rows]
    sums = X @ slopes + offset[rows]
    p = expit(sums)
    A = (X * np.sqrt(w * np.maximum(p * (1 - p), FLATTEST))[:, None]).astype(np.float32)
    gram = (A.T @ A).astype(np.float64)
    penalty = _penalty(samples, gram, ridge)
    step = solve(gram + penalty, X.T @ (w * (y - p)) - penalty @ slopes)
    own, along = penalty.diagonal(), X @ step

    def loss(t: float) -> float:
        at, there = sums + t * along, slopes + t * step
        return float(w @ (np.logaddexp(0, at) - y * at)) + 0.5 * float(own @ np.square(there))

    best = min((0.0, 0.25, 0.5, 1.0), key=loss)
    return slopes + best * step


def choose_scale(samples: Samples, link: str) -> LocalModel:
    """The scale and ridge with the least error on the third quarter, of models fitted to the first half."""
    rows, none = samples.quarter(2), np.zeros(len(samples.y))
    ridges: tuple[float, ...] = RIDGES[:1] if samples.near.design.exact else RIDGES
    found = _identity_slopes(samples, 2, ridges, none)
    errors = [samples.error(samples.X[rows] @ slopes, 2) for slopes in found]
    best = int(np.argmin(errors))
    model = LocalModel(IDENTITY, ridges[best], found[best], errors[best], ridges[best])
    sure = model.error <= CLEAR * samples.total(2) and link == "auto"
    if link == IDENTITY or not samples.probable or sure:
        return model
    ridges = ridges[1:] or ridges
    found = _first_log_odds(samples, ridges, 2)
    errors = [samples.error(expit(samples.X[rows] @ slopes), 2) for slopes in found]
    best = int(np.argmin(errors))
    slopes = found[best]
    for _ in range(STEPS):
        slopes = _newton(samples, samples.before(2), slopes, ridges[best], none)
    error = samples.error(expit(samples.X[rows] @ slopes), 2)
    if link == LOG_ODDS or error < BETTER * model.error:
        return LocalModel(LOG_ODDS, ridges[best], slopes, error, model.ridge)
    return model


def choose_growth(samples: Samples, model: LocalModel) -> LocalModel:
    """How much more a part counts where fewer are kept, of masks whose sizes vary; columns are scaled by it."""
    design = samples.near.design
    if design.sizes is None or design.exact or len(samples.parts) < 4:
        return model
    share = np.append(1.0, samples.near.designs[0].mean(axis=1))
    plain, rows = samples.X, samples.quarter(2)
    for growth in GROWTHS:
        X = plain * np.maximum(share, 1 / len(design.shares))[:, None] ** -growth
        X[:, 0] = 1.0
        trial = replace(samples, X=X, grams={})
        if model.scale == LOG_ODDS:
            slopes = _first_log_odds(trial, (model.ridge,), 2)[0]
            for _ in range(STEPS):
                slopes = _newton(trial, trial.before(2), slopes, model.ridge, np.zeros(len(X)))
        else:
            slopes = _identity_slopes(trial, 2, (model.ridge,), np.zeros(len(X)))[0]
        error = trial.error(model.answers(X[rows] @ slopes), 2)
        if error >= BETTER * model.error:
            break
        model = replace(model, slopes=slopes, error=error, growth=growth)
        samples.X, samples.grams = X, trial.grams
    return model


def choose_pairs(samples: Samples, model: LocalModel, most: int) -> list[Product]:
    """The pairs among large parts that lower the error on the third quarter, each by some percent."""
    rows, half, w = samples.quarter(2), samples.before(2), samples.w
    kept = list[Product]()
    if not most or len(samples.parts) < 2 or model.error <= 1e-12 * samples.total(2):
        return kept
    effects = np.stack(
        [samples.X[half][:, samples.part == j] @ model.slopes[samples.part == j] for j in samples.parts]
    )
    spread = np.sqrt(
        np.maximum(effects**2 @ w[half] / w[half].sum() - (effects @ w[half] / w[half].sum()) ** 2, 0)
    )
    large = sorted(np.argsort(-spread, kind="stable")[:PAIRED].tolist())
    sums = samples.X @ model.slopes
    rest, _ = model.residual(samples, sums, half)
    weighted = w[half] * rest
    gains = dict[tuple[int, int], float]()
    for at, i in enumerate(large):
        a = samples.flat[i][1][half]
        for j in large[at + 1 :]:
            b = samples.flat[j][1][half]
            sizes = (a**2 * w[half, None]).T @ b**2 - ((a * w[half, None]).T @ b) ** 2 / w[half].sum()
            gains[i, j] = float(np.max(((a * weighted[:, None]).T @ b) ** 2 / np.maximum(sizes, 1e-9 * w.sum())))
    for pair in sorted(gains, key=lambda pair: -gains[pair])[:TRIED]:
        product = Product.of(samples, pair)
        for _ in range(1 if model.scale == IDENTITY else STEPS):
            product = product.moved(samples, model, sums + product.values, half)
        error = samples.error(model.answers((sums + product.values)[rows]), 2)
        if error < BETTER * model.error:
            kept.append(product)
            sums, model = sums + product.values, replace(model, error=error)
        if len(kept) == most:
            break
    return kept


def finish(samples: Samples, model: LocalModel, live: Bools, notes: tuple[str, ...]) -> Fit:
    """The fit to all samples, its errors, and its fidelity on the last quarter, which decided nothing."""
    near, d = samples.near, len(live)
    held = model.refitted(samples, 3)
    last = samples.quarter(3)
    left = samples.error(held.answers((samples.X[last] @ held.slopes) + _of(held.paired, last)), 3)
    total = samples.total(3)
    model = model.refitted(samples, 4)
    sums = samples.X @ model.slopes + model.paired
    shares = np.zeros(d)
    flags = {j: int(np.flatnonzero(samples.part == j)[0]) for j in samples.parts}
    if near.design.axes:
        for j in samples.parts:
            shares[j] = near.design.axes[j].shares[near.design.axes[j].own]
    turn = np.zeros((d, len(model.slopes)))
    for j, at in flags.items():
        turn[j, at] = 1 - shares[j]
    weights = turn @ model.slopes
    weights[np.abs(weights) < 1e-9 * np.abs(weights).max(initial=0.0)] = 0.0  # what rounding leaves of nothing
    intercept = float(model.slopes[0]) + sum(shares[j] * float(model.slopes[at]) for j, at in flags.items())
    pulls, steady, used = _pulls(samples, model, sums, turn)
    by_part = pulls @ turn.T
    covariance = by_part.T @ by_part * steady
    np.einsum("dd->d", covariance)[~live] = np.inf
    size = float(effective_size(near.weights)[0])
    degrees = max(size / near.design.cluster - used, 1.0)
    sure = float(stdtrit(degrees, 0.975)) * np.sqrt(steady)
    at_x = near.own[0] if not near.design.axes else np.ones(d)
    pairs = tuple(_pair(samples, model, product, sums, sure) for product in model.products)
    chosen = np.isin(np.arange(d), samples.parts)
    changes = _changes(samples, model, turn, live, degrees)
    return Fit(
        weights=weights,
        intercept=intercept,
        covariance=covariance,
        local_prediction=float(
            model.answers(np.array(intercept + weights @ at_x + sum(pair.weight for pair in pairs)))
        ),
        fidelity=1 - left / total if total > 0 else float("nan"),
        measured=live,
        chosen=chosen & live,
        degrees=degrees,
        shape=Shape(
            model.scale, _curves(samples, model, pulls, shares, sure), pairs, notes, model.growth, changes
        ),
    )


def _changes(samples: Samples, model: LocalModel, turn: Floats, live: Bools, degrees: float) -> Floats | None:
    """Weights of a plain sum on the scale of the outputs, and their intervals (d, 3), where the model's own are others.

    They have the same meaning whatever was chosen, so that explanations can be held against each other.
    """
    ridge = model.plain_ridge if samples.near.design.axes else RIDGES[0]
    if model.scale == IDENTITY and not model.growth and model.ridge == ridge:
        return None
    if model.growth:
        samples = replace(
            samples, X=np.column_stack([np.ones(len(samples.y)), *(f for f, _ in samples.flat)]), grams={}
        )
    slopes = _identity_slopes(samples, 4, (ridge,), np.zeros(len(samples.y)))[0]
    pulls, steady, _ = _pulls(samples, LocalModel(IDENTITY, ridge, slopes, 0.0, ridge), samples.X @ slopes, turn)
    half = float(stdtrit(degrees, 0.975)) * np.sqrt(steady * np.square(pulls @ turn.T).sum(axis=0))
    half[~live] = np.inf
    weights = turn @ slopes
    return np.stack([weights, weights - half, weights + half], axis=1)


def _of(values: Floats, rows: slice) -> Floats:
    """Values of some samples, of pairs that may be none."""
    return values if len(values) == 1 else values[rows]


def _pulls(samples: Samples, model: LocalModel, sums: Floats, turn: Floats) -> tuple[Floats, float, float]:
    """How far each sample, or each that were drawn together, moves the slopes (m, p) by its error.

    And by how much the variance of a net is smaller than that of independent samples, and how many slopes count.
    """
    design, n = samples.near.design, len(samples.y) - 1
    if design.exact:
        return np.zeros((1, len(model.slopes))), 0.0, 0.0
    rest, change = model.residual(samples, sums, samples.before(4))
    if model.scale == IDENTITY:
        gram = samples.gram(4)
    else:
        A = (samples.X * np.sqrt(samples.w * change)[:, None]).astype(np.float32)
        gram = (A.T @ A).astype(np.float64)
    bread = invert(gram + _penalty(samples, gram, model.ridge))
    used = float(np.sum(bread * gram))
    scores = (samples.X[1:] * (samples.w * rest)[1:, None]).astype(np.float32)
    if design.cluster > 1:
        scores = np.add.reduceat(scores, np.arange(0, n, design.cluster), axis=0)
    pulls = (scores @ bread.astype(np.float32)).astype(np.float64) * (n / max(n - used, 1.0))
    if not design.net:
        return pulls, 1.0, used
    by_part = pulls @ turn.T
    starts = np.arange(0, len(by_part), -(-len(by_part) // BLOCKS))
    blocks, variance = np.add.reduceat(by_part, starts, axis=0), np.square(by_part).sum()
    return pulls, float(steadiness(blocks[None], np.array([variance]))[0]), used


def _curves(
    samples: Samples, model: LocalModel, pulls: Floats, shares: Floats, sure: float
) -> tuple[FeatureCurve, ...]:
    """The effects of the values of each column, with their bands."""
    found = list[FeatureCurve]()
    for j in samples.parts if samples.near.design.axes else ():
        axis, columns = samples.near.design.axes[j], samples.part == j
        functions = axis.functions[axis.shown, : int(columns.sum())].copy()
        functions[:, 0] -= shares[j]
        effects, errors = functions @ model.slopes[columns], pulls[:, columns] @ functions.T
        half = sure * np.sqrt(np.square(errors).sum(axis=0))
        band = np.stack([effects - half, effects + half], axis=1)
        found.append(FeatureCurve(j, axis.values, effects, band, axis.numeric))
    return tuple(found)


def _pair(samples: Samples, model: LocalModel, product: Product, sums: Floats, sure: float) -> FeaturePair:
    """What two parts contribute together: at the instance, with an interval, and at all values of both."""
    (i, j), near = product.pair, samples.near
    if near.design.axes:
        first, second = (_grid(samples, at) for at in (i, j))
    else:
        first = second = (np.array([[0.0], [1.0]]),) * 2
    (f, a), (g, b) = first, second
    raw = (a[:, None, :, None] * b[None, :, None]).reshape(len(a), len(b), -1) @ product.slopes
    own = product.share @ product.slopes
    effects = raw - own[0] - (f @ own[1 : 1 + f.shape[1]])[:, None] - (g @ own[1 + f.shape[1] :])[None]
    weight, half = float(product.values[0]), 0.0
    if not near.design.exact:
        rest, change = model.residual(samples, sums, samples.before(4))
        P = product.columns
        gram = (P * (samples.w * change)[:, None]).T @ P
        size = gram.diagonal()
        bread = invert(gram + np.diag(PAIR_RIDGE * size + 1e-9 * size.max() + 1e-300))
        moves = (P * (samples.w * rest)[:, None])[1:] @ (bread @ P[0])
        half = sure * float(np.sqrt(np.square(moves).sum()))
    parts = samples.parts[i], samples.parts[j]
    return FeaturePair(parts, weight, (float(weight - half), float(weight + half)), effects)


def _grid(samples: Samples, at: int) -> tuple[Floats, Floats]:
    """The functions of a column, and few for products, at the values of its curve and then at its own."""
    axis = samples.near.design.axes[samples.parts[at]]
    codes = np.append(axis.shown, axis.own)
    return axis.functions[codes][:, : samples.flat[at][0].shape[1]], axis.coarse[codes]


def local_values(why: Explanation, X: Any) -> Floats:
    """What the local model of an explanation answers for other inputs than the one that it explains.

    Parameters
    ----------
    why : Explanation
        With curves, as those of table rows by ``Lime(surrogate=Additive())``; or of features that are kept or taken
        away.
    X : DataFrame, array or masks
        Rows with the columns of the features, where there are curves; else masks (n, d), 1 where a feature is kept.

    Returns
    -------
    array (n,)
        Answers on the model's own scale.

    Raises
    ------
    InputError
        If columns are missing, or values are not of the kind that the curves have.
    """
    d = len(why.parts)
    weights, places = np.nan_to_num(why.weights), dict[int, Floats]()
    if why.curves:
        table = X if isinstance(X, pd.DataFrame) else np.atleast_2d(np.asarray(X))
        sums = np.full(len(table), why.intercept)
        for curve in why.curves:
            places[curve.part] = _places_on(curve, _column_of(why, curve.part, table), _own_value(why, curve.part))
            sums += places[curve.part] @ np.append(curve.effects, weights[curve.part])
        for pair in why.pairs:
            sums += np.einsum("na,nb,ab->n", places[pair.parts[0]], places[pair.parts[1]], pair.effects)
    else:
        masks = np.asarray(X, np.float64)
        if masks.ndim != 2 or masks.shape[1] != d:
            raise InputError(f"wanted masks of shape (n, {d}), one number per feature; got shape {masks.shape}")
        share = np.maximum(masks.mean(axis=1), 1e-9)
        sums = why.intercept + share**-why.growth * (masks @ weights)
        for pair in why.pairs:
            i, j = (masks[:, part].astype(int) for part in pair.parts)
            sums = sums + pair.effects[i, j]
    return np.asarray(expit(sums)) if why.scale == LOG_ODDS else sums


def _own_value(why: Explanation, part: int) -> Any:
    return why.values[part] if why.values else why.parts[part].value


def _column_of(why: Explanation, part: int, table: Any) -> Any:
    """The values that rows of a table have in the column of a part."""
    name = why.parts[part].column
    if isinstance(table, pd.DataFrame):
        if name in table.columns:
            return table[name]
        raise InputError(f"the local model wants the column {name!r}, which the rows have not")
    position = why.positions[part] if why.positions else part
    if table.ndim != 2 or table.shape[1] <= position:
        raise InputError(
            f"the local model wants rows with at least {position + 1} columns; got shape {table.shape}"
        )
    return table[:, position]


def _places_on(curve: FeatureCurve, given: Any, own: Any) -> Floats:
    """Where values lie on a curve (n, m + 1): between two of its values, or the last where they are the own one."""
    m, gone = len(curve.values), np.asarray(pd.isna(given), bool)
    found = np.zeros((len(given), m + 1))
    missing = m - 1 if curve.values and curve.values[-1] is None else -1
    known = [value for value in curve.values if value is not None]
    is_own = gone & bool(pd.isna(own)) | np.array(
        [not lost and value == own for value, lost in zip(given, gone, strict=True)], bool
    )
    found[is_own, m] = 1.0
    found[gone & ~is_own, missing] = 1.0 if missing >= 0 else 0.0
    rest = np.flatnonzero(~gone & ~is_own)
    some = [given.iloc[i] if isinstance(given, pd.Series) else given[i] for i in rest]
    if curve.numeric:
        line, numbers = (_on_line(values) for values in (known, some))
        at = np.interp(numbers, line, np.arange(len(line), dtype=float))
        low = np.minimum(at.astype(int), max(len(line) - 2, 0))
        found[rest, low] = 1 - (at - low)
        if len(line) > 1:
            found[rest, low + 1] = at - low
        return found
    places = {value: i for i, value in enumerate(known)}
    for i, value in zip(rest.tolist(), some, strict=True):
        if value not in places:
            raise InputError(
                f"the local model never saw the value {safe_repr(value)}; it knows {safe_repr(known)}"
            )
        found[i, places[value]] = 1.0
    return found


def _on_line(values: Sequence[Any]) -> Floats:
    """Numbers or dates as numbers."""
    try:
        if values and isinstance(values[0], (pd.Timestamp, np.datetime64, pd.Timedelta, np.timedelta64)):
            return np.asarray(pd.Series(list(values)).astype("int64"), np.float64)
        return np.asarray(list(values), np.float64)
    except (TypeError, ValueError) as cause:
        raise InputError(
            f"the local model wants numbers in a column of numbers, not {safe_repr(values)}"
        ) from cause
