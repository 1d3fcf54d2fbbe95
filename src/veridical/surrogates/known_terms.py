"""Known terms: sums of effects whose weights at any row are known, and control variates, whose weights are zero.

A sum of one effect per state of each part is fitted once to a sample that rows share. The weights that it has at a
row are known without sampling, since the parts are drawn independently; what it leaves over has no main effects.

Control variates are columns, and a tree over masks, that take up what a linear fit of one row leaves over. Each is
orthogonal to 1 and to the designs under the law that drew them, in closed form, and its size is fitted beside the
parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, ndtr
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import ThreadpoolController

from veridical.protocols import Shareable
from veridical.records import Floats
from veridical.sampling.moments import PRODUCTS, MaskLaw
from veridical.surrogates.least_squares import SHRINK, TINY, Folds, Problem, on_grid, solve, total_of

CROWDED = 4  # samples an effect, below which a sum of effects would be fitted to noise


@dataclass(frozen=True, eq=False)
class EffectSum:
    """A sum of effects of the states of all parts, fitted to the samples that rows share."""

    constant: float
    effects: Floats  # (states,)
    values: Floats  # (n,)

    @classmethod
    def fit(cls, X: Floats, y: Floats) -> EffectSum:
        """The sum that is nearest to outputs y (n,), of states X (n, s)."""
        n, mean, counts = (
            len(y),
            float(y.mean()),
            X.T @ X,
        )  # whole numbers: these sums, and those on grids, are exact
        rest, centers = on_grid(y[None] - mean)[0], counts.diagonal() / n
        gram = counts - n * centers[:, None] * centers
        gram[np.diag_indices(len(gram))] += 1e-8 * n  # the states of a part sum to 1
        with algebra().limit(limits=1, user_api="blas"):  # for several threads would have other last bits
            effects = on_grid(solve(gram, rest @ X - centers * rest.sum())[None])[0]
        constant = mean - float((centers * effects).sum())
        return cls(constant, effects, X @ effects + constant)

    def at(self, rows: Sequence[Shareable], unit: float) -> KnownSum:
        """What is known of it at rows, for outputs that are divided by a unit."""
        weights, intercepts = rows[0].common.weights_of(rows, self.effects / unit)
        return KnownSum(self.values / unit, weights, intercepts + self.constant / unit, len(self.effects))


@dataclass(frozen=True, eq=False)
class KnownSum:
    """A sum of effects as a ``KnownTerm`` of rows."""

    values: Floats  # (n,)
    weights: Floats  # (r, d)
    intercepts: Floats  # (r,)
    n_effects: int


@lru_cache(maxsize=1)
def algebra() -> ThreadpoolController:
    """The libraries of linear algebra that are loaded, whose threads can be limited."""
    return ThreadpoolController()


FEWEST = 5  # samples a leaf
NOTHING = 1e-9  # what rounding leaves, relative to the outputs


@dataclass(frozen=True, eq=False)
class MaskTree:
    """The leaves of a tree over masks: what each says, and the parts that it wants kept or taken away."""

    values: Floats  # (l,)
    kept: npt.NDArray[np.bool_]  # (l, d)
    gone: npt.NDArray[np.bool_]  # (l, d)

    @classmethod
    def of(cls, tree: Any, d: int) -> MaskTree:
        """Those of a fitted scikit-learn tree, which asks of each part once at most on the way to a leaf."""
        kept, gone = np.zeros((2, tree.node_count, d), bool)
        for node in range(tree.node_count):  # parents come before their children
            left, right, part = tree.children_left[node], tree.children_right[node], tree.feature[node]
            if left >= 0:
                kept[left] = kept[right] = kept[node]
                gone[left] = gone[right] = gone[node]
                gone[left, part] = kept[right, part] = True
        ends = tree.children_left < 0
        return cls(tree.value[ends, 0, 0], kept[ends], gone[ends])

    def projection(self, law: MaskLaw) -> tuple[float, Floats]:
        """Intercept and slopes (d,) of the tree's best linear fit under a law of masks.

        All masks of a size are equally likely, so how often a leaf is reached depends on how many parts it wants
        kept and gone; and so it does beside any other part that is kept.
        """
        n_kept, n_gone = self.kept.sum(axis=1), self.gone.sum(axis=1)
        reached = self.values * reach(law, n_kept, n_gone)
        beside = self.values * reach(law, n_kept + 1, n_gone)  # and a part is kept that the leaf does not ask of
        mean = float(reached.sum())
        together = beside.sum() + (reached - beside) @ self.kept - beside @ self.gone
        pull = together - law.share * mean
        slopes = (pull - law.common * pull.sum()) / law.apart
        return mean - law.share * float(slopes.sum()), np.asarray(slopes)


def reach(law: MaskLaw, kept: Any, gone: Any) -> Floats:
    """Probability that a mask keeps so many given parts (l,), and takes so many others (l,) away."""
    rest, s = law.d - kept - gone, np.arange(law.d + 1)
    free = s - kept[:, None]  # kept besides
    possible = (free >= 0) & (free <= rest[:, None])
    ways = _log_choose(np.maximum(rest, 0)[:, None], np.where(possible, free, 0))
    return np.asarray(np.where(possible, np.exp(ways - _log_choose(law.d, s)), 0.0) @ law.sizes)


def tree_column(problem: Problem) -> Floats:
    """A tree's answers less what 1 and the designs say of them, (1, n): each fold's tree comes from the others.

    (0, n) if that is nothing, as it is where one part decides.
    """
    assert problem.design.sizes is not None
    law, found = MaskLaw.of(problem.design.sizes), np.empty((1, problem.n))
    Z, root, t = problem.Z[0].T, problem.root[0], problem.t[0]
    designs, weights, outputs = Z.astype(np.float32), root**2, t / np.maximum(root, 1e-300)
    for fold in problem.folds:
        other = np.ones(len(outputs), bool)
        other[fold] = False
        tree = DecisionTreeRegressor(min_samples_leaf=FEWEST, random_state=0)
        tree.fit(designs[other], outputs[other], sample_weight=weights[other])
        constant, slopes = MaskTree.of(tree.tree_, law.d).projection(law)
        found[0, fold] = tree.predict(designs[fold]) - constant - Z[fold] @ slopes
    return found if np.linalg.norm(found[0] * root) > NOTHING * np.linalg.norm(t) else found[:0]


def _log_choose(n: Any, k: Any) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


KNOTS = np.array([-1.2, -0.6, 0.0, 0.6, 1.2])
HEAVY_TAILS = 12.0  # kurtosis of what a linear fit leaves over, above which control variates do harm
MANY = 48  # samples a part, from which on each part may have one of its own
PAIRED = 12  # heaviest parts, each two of which may have one, too
CLEAR = 0.95  # share of the outputs' variance from which on that would gain nothing


def with_controls(problem: Problem, folds: Folds, trees: bool = False) -> tuple[Problem, Floats, Floats]:
    """The problem of one row with the control variates of its law, and its Gram matrix and moment with them.

    With ``trees``, masks get one more, which has to be learned. Where tails are heavy, there are none: control
    variates would follow them. Masks have no tails.
    """
    gram, moment = total_of(folds)
    if problem.design.sizes is None:
        rest = problem.t[0] - solve(_ridged(gram[0], TINY), moment[0]) @ problem.columns(slice(0, problem.n))[0]
        squares = rest**2
        if problem.n * (squares @ squares) >= HEAVY_TAILS * squares.sum() ** 2:
            return problem, gram, moment
        return _extended(problem, folds, index_columns(problem, folds))
    columns = size_columns(problem, folds)
    if trees:
        columns = np.concatenate([columns, tree_column(problem)])
    found, gram, moment = _extended(problem, folds, columns)
    d = problem.d
    if problem.n >= MANY * d:
        ridge = np.append(np.full(d, TINY), np.full(len(columns), SHRINK))
        weights = solve(_ridged(gram[0], ridge), moment[0])
        if float(moment[0] @ weights) < CLEAR * float(problem.t[0] @ problem.t[0]):
            law, Z = MaskLaw.of(problem.design.sizes), problem.Z[0].T
            heaviest = np.argsort(-np.abs(weights[:d]), kind="stable")[:PAIRED]
            more = law.interactions(Z).T, law.pairs(Z, heaviest).T
            return _extended(problem, folds, np.concatenate([columns, *more]))
    return found, gram, moment


def _ridged(gram: Floats, ridge: Any) -> Floats:
    """A Gram matrix with a ridge relative to its own diagonal."""
    return gram + np.diag(ridge * np.diag(gram))


def _extended(problem: Problem, folds: Folds, columns: Floats) -> tuple[Problem, Floats, Floats]:
    """The problem with more columns (c, n); what is known of its own is not worked out again."""
    d, c = problem.d, len(columns)
    gram, moment = np.empty((1, d + c, d + c)), np.empty((1, d + c))
    gram[:, :d, :d], moment[:, :d] = total_of(folds)
    scaled = columns * problem.root
    gram[0, d:, :d] = sum(scaled[:, piece] @ problem.columns(piece)[0].T for piece in problem.pieces)
    gram[0, :d, d:], gram[0, d:, d:], moment[0, d:] = gram[0, d:, :d].T, scaled @ scaled.T, scaled @ problem.t[0]
    rows = None if problem.scaled is None else np.concatenate([problem.scaled, scaled[None]], axis=1)
    return replace(problem, controls=columns[None], scaled=rows), gram, moment


def directions(problem: Problem, folds: Folds) -> Floats:
    """The direction that is being explained, (folds, d): each fold's comes from the other folds."""
    (gram, moment), d = total_of(folds), problem.d
    found = []
    for own, product in folds:
        rest = (gram - own)[0]
        rest[np.diag_indices(d)] += 1e-4 * np.trace(rest) / d
        found.append(solve(rest, (moment - product)[0]))
    return np.array(found)


def index_columns(problem: Problem, folds: Folds) -> Floats:
    """Index control variates of normal designs: hinges of the direction that is being explained, (5, n).

    Most of what a linear fit leaves over of a saturating model is a function of the fitted sum itself. The
    hinges are made orthogonal to 1 and the designs under their normal law, in closed form, so that adding them
    leaves the estimate's meaning alone.
    """
    center, spread = problem.design.center, problem.design.spread
    assert center is not None
    assert spread is not None
    index = np.empty(problem.n)
    for fold, b in zip(problem.folds, directions(problem, folds), strict=True):
        b = b / max(float(np.linalg.norm(spread * b)), 1e-300)
        index[fold] = b @ problem.Z[0][:, fold] - center @ b
    density, above = np.exp(-0.5 * KNOTS**2) / np.sqrt(2 * np.pi), ndtr(-KNOTS)
    columns: Floats = np.maximum(index - KNOTS[:, None], 0) - above[:, None] * index
    columns -= (density - KNOTS * above)[:, None]
    return columns


def size_columns(problem: Problem, folds: Folds) -> Floats:
    """Index and size control variates of masks: products of powers of the fitted sum and of the mask's size.

    All masks of a size are equally likely, so the mean of any such product, alone and with a part kept, is a
    polynomial in the power sums of the direction: no sampling is needed to make the columns orthogonal to 1
    and the designs under their law.
    """
    assert problem.design.sizes is not None
    law, Z = MaskLaw.of(problem.design.sizes), problem.Z[0]
    ways = directions(problem, folds)
    ways /= np.maximum(law.spread(ways), 1e-300)[:, None]
    means, slopes = law.projections(ways)
    constant = means - law.share * slopes.sum(axis=1)
    found = np.empty((len(PRODUCTS), problem.n))
    size = law.standard[Z.sum(axis=0).astype(int)]
    sizes = [np.ones_like(size), size, size**2, size**2 * size, (size**2) ** 2]
    for fold, b, offset, slope in zip(problem.folds, ways, constant, slopes, strict=True):
        index, *pulls = np.column_stack([b, slope]).T @ Z[:, fold]
        index -= law.share * b.sum()
        powers = [1.0, index, index**2, index**2 * index]
        for c, (k, power) in enumerate(PRODUCTS):
            found[c, fold] = powers[k] * sizes[power][fold] - pulls[c] - offset[c]
    return found
