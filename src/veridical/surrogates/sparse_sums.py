"""A sum of few parts and pairs of them, fitted to answers between two known ends: nothing kept, and everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from scipy.special import expit, logit

from veridical.records import IDENTITY, LOG_ODDS, Bools, Floats, Ints
from veridical.surrogates.least_squares import invert, solve

BETTER = 0.97  # a choice must bring the held-out error below this share of what it was
KNOWN, END = 50.0, 0.25  # weight of both ends, relative to that of all masks: the first is met
RIDGES = (1e-4, 1e-2, 0.1)  # relative to the squares of a column
PAIR_RIDGE = 1e-2
SURE = 1e-3  # outputs nearer to 0 or 1 count as this near on log-odds
FLATTEST = 1e-3  # least variance p (1 - p) in a step
STEPS, LONGEST, CLOSE = 12, 3.0, 1e-3  # of Newton's method, and the change of a slope that is too long, or none
FOLDS = 5
LEAST_HELD_OUT = 10  # masks, below which nothing is held out


@dataclass(frozen=True, eq=False)
class Answers:
    """What is answered where some parts are kept, and at both ends; each mask has the mean of some numbers."""

    masks: Bools  # (n, d) without the ends
    y: Floats  # (n,)
    ends: tuple[float, float]  # nothing is kept, everything is
    exact: bool = False  # the masks are all there are

    @property
    def probable(self) -> bool:
        """All are in [0, 1]."""
        low, high = min(self.y.min(initial=1.0), *self.ends), max(self.y.max(initial=0.0), *self.ends)
        return bool(low >= 0 and high <= 1)

    @property
    def whole(self) -> tuple[Bools, Floats, Floats]:
        """The masks and both ends, their answers, and what they weigh."""
        (n, d), known = self.masks.shape, np.array([KNOWN, END])
        masks = np.vstack([self.masks, np.zeros((1, d), bool), np.ones((1, d), bool)])
        return masks, np.append(self.y, self.ends), np.append(np.ones(n), np.maximum(known * n, 1.0))

    def rows(self, at: Ints) -> Answers:
        """Some of the masks, and both ends."""
        return replace(self, masks=self.masks[at], y=self.y[at])


@dataclass(frozen=True, eq=False)
class SparseSum:
    """Parts and pairs of them on a scale.

    A pair counts where one of its parts is kept and the other is not, so that the weights are the Shapley values
    of the sum, and add up from one end to the other.
    """

    scale: str
    parts: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    intercept: float
    slopes: Floats  # of the parts, and then of the pairs
    ridge: float
    rests: Floats  # (n,) errors at masks that are left out, unless the masks are all there are
    pulls: Floats  # (columns, n + 2) how far an answer, and those at the ends, move intercept and slopes

    @property
    def error(self) -> float:
        """Mean square at masks that are left out."""
        return float(np.mean(np.square(self.rests))) if len(self.rests) else 0.0

    @property
    def covariance(self) -> Floats:
        """Of the slopes, from the choice of masks alone."""
        moves = self.pulls[1:, : len(self.rests)] * self.rests
        return np.asarray(moves @ moves.T)

    def __call__(self, masks: Bools) -> Floats:
        """Its answers to masks (n, d)."""
        sums = _columns(masks, self.parts, self.pairs) @ np.append(self.intercept, self.slopes)
        return np.asarray(expit(sums) if self.scale == LOG_ODDS else sums)

    def weights(self, d: int) -> Floats:
        """Of all parts (d,)."""
        found = np.zeros(d)
        found[list(self.parts)] = self.slopes[: len(self.parts)]
        return found

    def refitted(self, answers: Answers) -> SparseSum:
        """The same parts and pairs, fitted to other answers to the same masks."""
        return fit_columns(answers, self.scale, self.parts, self.pairs, (self.ridge,))


def fit_sparse_sum(answers: Answers, parts: int, pairs: int) -> SparseSum:
    """At most so many parts and pairs; scale and pairs are chosen by the error of answers that are left out."""
    best: SparseSum | None = None
    for scale in (IDENTITY, LOG_ODDS) if answers.probable else (IDENTITY,):
        found = _fit_on(answers, scale, parts, pairs)
        if best is None or found.error < BETTER * best.error:
            best = found
    assert best is not None
    return best


def fidelity_of(answers: Answers, parts: int, pairs: int, rng: np.random.Generator) -> float:
    """R² on masks that had no say in any choice, fold by fold; of all masks where these are all there are."""
    n, y = len(answers.y), answers.y
    if not n:  # a single part has all that is between the ends
        return 1.0
    total = float(np.square(y - y.mean()).sum())
    if not total > 0:
        return float("nan")
    if answers.exact or n < LEAST_HELD_OUT:
        left = float(np.square(y - fit_sparse_sum(answers, parts, pairs)(answers.masks)).sum())
        return 1 - left / total
    left, order = 0.0, rng.permutation(n)
    for fold in range(FOLDS):
        out = order[fold::FOLDS]
        rest = np.setdiff1d(order, out)
        guess = fit_sparse_sum(answers.rows(rest), parts, pairs)(answers.masks[out])
        left += float(np.square(y[out] - guess).sum())
    return 1 - left / total


def equal_shares(answers: Answers) -> float:
    """R² of the sum in which every part has the same share of what is between the ends."""
    y, (low, high) = answers.y, answers.ends
    total = float(np.square(y - y.mean()).sum()) if len(y) else 0.0
    guess = low + (high - low) * answers.masks.mean(axis=1)
    return 1 - float(np.square(y - guess).sum()) / total if total > 0 else float("nan")


def _fit_on(answers: Answers, scale: str, n_parts: int, n_pairs: int) -> SparseSum:
    """The largest parts, and the pairs that pay, on one scale."""
    d = answers.masks.shape[1]
    every = fit_columns(answers, scale, range(d), (), RIDGES)
    large = np.argsort(-np.abs(every.slopes), kind="stable")[:n_parts]
    model = every if d <= n_parts else fit_columns(answers, scale, np.sort(large).tolist(), (), RIDGES)
    while len(model.pairs) < n_pairs:
        pair = _next_pair(answers, model)
        more = None if pair is None else fit_columns(answers, scale, model.parts, (*model.pairs, pair), RIDGES)
        if more is None or more.error >= BETTER * model.error:
            break
        model = more
    return model


def _next_pair(answers: Answers, model: SparseSum) -> tuple[int, int] | None:
    """The pair of the model's parts that says most of what it leaves over."""
    left = [pair for pair in combinations(model.parts, 2) if pair not in model.pairs]
    if not left or len(answers.y) < len(model.slopes) + (0 if answers.exact else 2):
        return None
    masks, y, w = answers.whole
    root = np.sqrt(w)[:, None]
    own, new = _columns(masks, model.parts, model.pairs) * root, _columns(masks, (), left)[:, 1:] * root
    gram = own.T @ own
    new = new - own @ solve(gram + 1e-9 * np.eye(len(gram)), own.T @ new)
    rest = (y - model(masks)) * root[:, 0]
    size = np.square(new).sum(axis=0)
    gains = np.where(size > 1e-9, np.square(new.T @ rest) / np.maximum(size, 1e-9), 0.0)
    return left[int(np.argmax(gains))] if gains.any() else None


def _columns(masks: Bools, parts: Sequence[int], pairs: Sequence[tuple[int, int]]) -> Floats:
    """One, a column per part, and one per pair: -1/2 where one of its two is kept alone."""
    ones = np.ones((len(masks), 1))
    alone = [-0.5 * (masks[:, i] != masks[:, j])[:, None] for i, j in pairs]
    return np.hstack([ones, masks[:, list(parts)].astype(float), *alone])


def fit_columns(
    answers: Answers, scale: str, parts: Sequence[int], pairs: Sequence[tuple[int, int]], ridges: Sequence[float]
) -> SparseSum:
    """Least squares, or the likeliest log-odds, with the ridge that leaves out answers best."""
    n = len(answers.y)
    masks, y, w = answers.whole
    X = _columns(masks, parts, pairs)
    best: SparseSum | None = None
    for ridge in ridges:
        penalty = np.append(1e-9, np.full(X.shape[1] - 1, ridge * 0.25 * n + 1e-9))
        penalty[1 + len(parts) :] = max(ridge, PAIR_RIDGE) * 0.25 * n / 4 + 1e-9
        fitted = _likeliest(X, y, w, penalty) if scale == LOG_ODDS else _least(X, y, w, penalty)
        slopes, bread, change, guess = fitted
        pulls = bread @ (X * w[:, None]).T
        leverage = np.minimum(np.einsum("ij,ji->i", X, pulls) * change, 0.99)
        left_out = 0.0 if answers.exact else leverage[:n]  # of all masks, what is found is what there is
        rests = (y - guess)[:n] / (1 - left_out)
        one = SparseSum(scale, tuple(parts), tuple(pairs), float(slopes[0]), slopes[1:], ridge, rests, pulls)
        if best is None or one.error < best.error:
            best = one
    assert best is not None
    return best


def _least(X: Floats, y: Floats, w: Floats, penalty: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Slopes by least squares, the inverse of the Gram matrix, how fast answers change with a sum, and answers."""
    bread = invert((X * w[:, None]).T @ X + np.diag(penalty))
    slopes = bread @ (X.T @ (w * y))
    return slopes, bread, np.ones(len(y)), X @ slopes


def _likeliest(X: Floats, y: Floats, w: Floats, penalty: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The same by Newton's method on log-odds, with steps that are cut where they are long."""
    y = np.clip(y, SURE, 1 - SURE)
    mean = float(np.average(y, weights=w))
    slopes = np.zeros(X.shape[1])
    slopes[0] = float(logit(mean))
    scaled = penalty * 0.25  # the variance of a fair coin
    for _ in range(STEPS):
        p = expit(X @ slopes)
        change = np.maximum(p * (1 - p), FLATTEST)
        gram = (X * (w * change)[:, None]).T @ X + np.diag(scaled)
        step = solve(gram, X.T @ (w * (y - p)) - scaled * slopes)
        most = float(np.abs(step).max())
        slopes = slopes + step * min(1.0, LONGEST / max(most, 1e-12))
        if most < CLOSE:
            break
    p = expit(X @ slopes)
    change = np.maximum(p * (1 - p), FLATTEST)
    return slopes, invert((X * (w * change)[:, None]).T @ X + np.diag(scaled)), change, p
