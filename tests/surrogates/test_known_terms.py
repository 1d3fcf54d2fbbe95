"""A tree as a control variate: orthogonal in closed form, and worth its milliseconds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

import veridical as vd
from veridical.sampling.kernels import Gaussian
from veridical.sampling.masks import Sizes, coins, removals
from veridical.sampling.moments import MaskLaw
from veridical.surrogates.known_terms import MaskTree
from veridical.toys import Game, LinearModel, all_of

KERNEL = Gaussian(0.25)
PLAIN, LEARNED = vd.Lime(n_samples=1024), vd.Lime(n_samples=1024, surrogate=vd.surrogates.Linear(trees=True))


def steps(masks: np.ndarray) -> np.ndarray:
    """Thresholds behind thresholds: a tree of five parts among many."""
    a, b, c, d, e = np.asarray(masks)[:, :5].astype(bool).T
    return np.where(a, np.where(b, np.where(c, 1.0, 0.2), 0.1), np.where(d, np.where(e, 0.0, 0.7), 0.4))


def truth_of(law: Sizes, f: object) -> np.ndarray:
    """Intercept and weights of the best linear fit over all masks, by brute force."""
    every = law.enumerate(KERNEL, 2**law.d)
    root = np.sqrt(every.weights[1:])
    A = np.column_stack([np.ones(len(root)), every.designs[1:]])
    found: np.ndarray = np.linalg.lstsq(A * root[:, None], f(every.designs[1:]) * root, rcond=None)[0]
    return found


@pytest.mark.parametrize("law", [coins, removals])
@pytest.mark.parametrize("depth", [1, 3, None])
def test_projection_is_the_best_linear_fit(law: object, depth: int | None) -> None:
    masks, rng = law(9), np.random.default_rng(3)
    near = masks.near(KERNEL)
    every = masks.enumerate(KERNEL, 512).designs[1:]
    tree = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(every, rng.normal(size=len(every)))
    constant, slopes = MaskTree.of(tree.tree_, 9).projection(MaskLaw.of(near / near.sum()))
    np.testing.assert_allclose([constant, *slopes], truth_of(masks, tree.predict), atol=1e-12)


def test_errors_shrink_and_intervals_still_cover() -> None:
    """At 14 parts and 1,024 of 16,384 masks: about five times less squared error, and honest intervals."""
    truth = truth_of(removals(14), steps)[1:]
    game, errors, hits = Game(removals, KERNEL), {PLAIN: [], LEARNED: []}, {PLAIN: [], LEARNED: []}
    for seed in range(30):
        for method in (PLAIN, LEARNED):
            why = vd.explain(steps, game, 14, method=method, rng=seed)
            errors[method].append(np.mean((why.weights - truth) ** 2))
            low, high = why.intervals.T
            hits[method].append(np.mean((low <= truth) & (truth <= high)))
    assert np.mean(errors[LEARNED]) < np.mean(errors[PLAIN]) / 3
    spread = np.std(hits[LEARNED], ddof=1) / np.sqrt(30)
    assert np.mean(hits[LEARNED]) > 0.95 - 4 * spread


def test_a_tree_that_says_nothing_new_is_left_out() -> None:
    """One part decides, or the model is a sum: what the tree finds is in the designs already."""
    for model in (all_of(3), LinearModel((1.0, -2.0, 0.5, *[0.0] * 17))):
        plain, learned = (vd.explain(model, Game(removals, KERNEL), 20, method=m) for m in (PLAIN, LEARNED))
        np.testing.assert_allclose(learned.weights, plain.weights, atol=1e-6)
        assert learned.n_calls == plain.n_calls


def test_it_is_a_recipe_like_any_other() -> None:
    game = Game(removals, KERNEL)
    why = vd.explain(steps, game, 14, method=LEARNED, rng=5)
    again = vd.rerun(steps, game, 14, why.recipe)
    np.testing.assert_array_equal(again.weights, why.weights)
    with pytest.raises(vd.errors.InputError, match="trees is True or False, not 'yes'"):
        vd.surrogates.Linear(trees="yes")
