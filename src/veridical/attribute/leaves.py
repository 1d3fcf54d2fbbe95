"""A tree as a control variate of masks: learned from other samples, and made orthogonal in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln
from sklearn.tree import DecisionTreeRegressor

from veridical.attribute.least_squares import Problem
from veridical.attribute.moments import MaskLaw
from veridical.records import Floats

FEWEST = 5  # samples a leaf
NOTHING = 1e-9  # what rounding leaves, relative to the outputs


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaves of a tree over masks: what each says, and the parts that it wants kept or taken away."""

    values: Floats  # (l,)
    kept: npt.NDArray[np.bool_]  # (l, d)
    gone: npt.NDArray[np.bool_]  # (l, d)

    @classmethod
    def of(cls, tree: Any, d: int) -> Leaves:
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
    """A tree's answers less what 1 and the designs say of them, (n, 1): each fold's tree comes from the others.

    (n, 0) if that is nothing, as it is where one part decides.
    """
    assert problem.design.sizes is not None
    law, found = MaskLaw.of(problem.design.sizes), np.empty((len(problem.t), 1))
    designs, weights = problem.Z.astype(np.float32), problem.root**2
    outputs = problem.t / np.maximum(problem.root, 1e-300)
    for fold in problem.folds:
        other = np.ones(len(outputs), bool)
        other[fold] = False
        tree = DecisionTreeRegressor(min_samples_leaf=FEWEST, random_state=0)
        tree.fit(designs[other], outputs[other], sample_weight=weights[other])
        constant, slopes = Leaves.of(tree.tree_, law.d).projection(law)
        found[fold, 0] = tree.predict(designs[fold]) - constant - problem.Z[fold] @ slopes
    something = np.linalg.norm(found[:, 0] * problem.root) > NOTHING * np.linalg.norm(problem.t)
    return found if something else found[:, :0]


def _log_choose(n: Any, k: Any) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
