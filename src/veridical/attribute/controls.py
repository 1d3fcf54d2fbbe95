"""Control variates: columns that take up what a linear fit leaves over, and leave its meaning alone.

Each is orthogonal to 1 and to the designs under the law that drew them, in closed form.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from veridical.attribute.least_squares import SHRINK, Folds, Problem, tiny, total_of
from veridical.attribute.leaves import tree_column
from veridical.attribute.moments import PRODUCTS, MaskLaw
from veridical.records import Floats

KNOTS = np.array([-1.2, -0.6, 0.0, 0.6, 1.2])
HEAVY_TAILS = 12.0  # kurtosis of what a linear fit leaves over, above which control variates do harm
MANY = 48  # samples a part, from which on each part may have one of its own
PAIRED = 12  # heaviest parts, each two of which may have one, too
CLEAR = 0.95  # share of the outputs' variance from which on that would gain nothing


def heavy_tailed(problem: Problem, gram: Floats, moment: Floats) -> bool:
    """Whether what a linear fit leaves over has tails that control variates would follow; masks have none."""
    if problem.design.sizes is not None:
        return False
    rest = problem.t - problem.rows(slice(0, len(problem.t))) @ np.linalg.solve(gram + tiny(gram), moment)
    squares = rest**2
    return bool(len(rest) * (squares @ squares) >= HEAVY_TAILS * squares.sum() ** 2)


def with_controls(problem: Problem, folds: Folds, trees: bool = False) -> tuple[Problem, Floats, Floats]:
    """The problem with the control variates of its law, and its Gram matrix and moment with them.

    With ``trees``, masks get one more, which has to be learned.
    """
    if problem.design.sizes is None:
        return _extended(problem, folds, index_columns(problem, folds))
    columns = size_columns(problem, folds)
    if trees:
        columns = np.hstack([columns, tree_column(problem)])
    found, gram, moment = _extended(problem, folds, columns)
    n, d = problem.Z.shape
    if n >= MANY * d:
        penalty = np.append(np.full(d, 1e-10), np.full(columns.shape[1], SHRINK)) * np.diag(gram)
        weights = np.linalg.solve(gram + np.diag(penalty), moment)
        if float(moment @ weights) < CLEAR * float(problem.t @ problem.t):
            law = MaskLaw.of(problem.design.sizes)
            heaviest = np.argsort(-np.abs(weights[:d]), kind="stable")[:PAIRED]
            more = law.interactions(problem.Z), law.pairs(problem.Z, heaviest)
            return _extended(problem, folds, np.hstack([columns, *more]))
    return found, gram, moment


def _extended(problem: Problem, folds: Folds, columns: Floats) -> tuple[Problem, Floats, Floats]:
    """The problem with more columns; what is known of its own is not worked out again."""
    d, c = problem.Z.shape[1], columns.shape[1]
    gram, moment = np.empty((d + c, d + c)), np.empty(d + c)
    gram[:d, :d], moment[:d] = total_of(folds)
    scaled = columns * problem.root[:, None]
    gram[:d, d:] = sum(problem.rows(piece).T @ scaled[piece] for piece in problem.pieces)
    gram[d:, :d], gram[d:, d:], moment[d:] = gram[:d, d:].T, scaled.T @ scaled, scaled.T @ problem.t
    rows = None if problem.scaled is None else np.hstack([problem.scaled, scaled])
    return replace(problem, controls=columns, scaled=rows), gram, moment


def directions(problem: Problem, folds: Folds) -> Floats:
    """The direction that is being explained, (folds, d): each fold's comes from the other folds."""
    (gram, moment), d = total_of(folds), problem.Z.shape[1]
    found = []
    for own, product in folds:
        rest = gram - own
        rest[np.diag_indices(d)] += 1e-4 * np.trace(rest) / d
        found.append(np.linalg.solve(rest, moment - product))
    return np.array(found)


def index_columns(problem: Problem, folds: Folds) -> Floats:
    """Index control variates of normal designs: hinges of the direction that is being explained, (n, 5).

    Most of what a linear fit leaves over of a saturating model is a function of the fitted sum itself. The
    hinges are made orthogonal to 1 and the designs under their normal law, in closed form, so that adding them
    leaves the estimate's meaning alone.
    """
    center, spread = problem.design.center, problem.design.spread
    assert center is not None
    assert spread is not None
    index = np.empty(len(problem.t))
    for block, b in zip(problem.folds, directions(problem, folds), strict=True):
        b = b / max(float(np.linalg.norm(spread * b)), 1e-300)
        index[block] = problem.Z[block] @ b - center @ b
    density, above = np.exp(-0.5 * KNOTS**2) / np.sqrt(2 * np.pi), ndtr(-KNOTS)
    columns: Floats = np.maximum(index[:, None] - KNOTS, 0) - above * index[:, None]
    columns -= density - KNOTS * above
    return columns


def size_columns(problem: Problem, folds: Folds) -> Floats:
    """Index and size control variates of masks: products of powers of the fitted sum and of the mask's size.

    All masks of a size are equally likely, so the mean of any such product, alone and with a part kept, is a
    polynomial in the power sums of the direction: no sampling is needed to make the columns orthogonal to 1
    and the designs under their law.
    """
    assert problem.design.sizes is not None
    law = MaskLaw.of(problem.design.sizes)
    ways = directions(problem, folds)
    ways /= np.maximum(law.spread(ways), 1e-300)[:, None]
    means, slopes = law.projections(ways)
    constant = means - law.share * slopes.sum(axis=1)
    found = np.empty((len(problem.t), len(PRODUCTS)), order="F")
    size = law.standard[problem.Z.sum(axis=1).astype(int)]
    sizes = [np.ones_like(size), size, size**2, size**2 * size, (size**2) ** 2]
    for fold, b, offset, slope in zip(problem.folds, ways, constant, slopes, strict=True):
        index, *pulls = np.column_stack([b, slope]).T @ problem.Z[fold].T
        index -= law.share * b.sum()
        powers = [1.0, index, index**2, index**2 * index]
        for c, (k, power) in enumerate(PRODUCTS):
            found[fold, c] = powers[k] * sizes[power][fold] - pulls[c] - offset[c]
    return found
