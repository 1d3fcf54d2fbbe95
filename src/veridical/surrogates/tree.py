"""The tree surrogate: a decision tree of limited depth, the paper's other interpretable family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeRegressor

from veridical.errors import InputError, check_whole
from veridical.protocols import KnownTerm, Selector
from veridical.records import Design, Fit, Fits, Floats, Neighborhood

RESAMPLES = 50
FOLDS = 5


@dataclass(frozen=True)
class Tree:
    """A decision tree; a part's weight is what its splits add along the instance's path.

    The weights and the mean at the root sum to the leaf's value. Intervals come from resampling the samples.
    """

    max_depth: int = 3

    def __post_init__(self) -> None:
        check_whole("max_depth", self.max_depth)

    def __call__(
        self,
        near: Neighborhood,
        outputs: Floats,
        select: Selector | None = None,
        k: int | None = None,
        known: KnownTerm | None = None,
    ) -> Fits:
        """Fit outputs (r, n), or (n,) for all rows: a tree for each."""
        if select is not None:
            raise InputError("a tree chooses its own parts: leave out select and n_features")
        y = np.broadcast_to(outputs, near.weights.shape)
        every = zip(near.designs, y, near.weights, near.own, near.names, strict=True)
        return Fits.of([self._fit(*one, near.design) for one in every])

    def _fit(self, Z: Floats, y: Floats, w: Floats, x: Floats, names: Sequence[str], design: Design) -> Fit:
        """The tree of one row."""
        tree = self._grow(Z, y, w, design.exact)
        weights, root, leaf, path = _follow(tree, x, names)
        clusters = np.arange(len(y)) // design.cluster
        return Fit(
            weights=weights,
            intercept=root,
            covariance=np.zeros((len(x), len(x))) if design.exact else self._spread(Z, y, w, x, clusters),
            local_prediction=leaf,
            fidelity=_r2(y, tree.predict(Z), w) if design.exact else self._held_out(Z, y, w, clusters),
            measured=np.ones(len(x), bool),
            chosen=np.ones(len(x), bool),
            degrees=float(RESAMPLES - 1),
            path=path,
        )

    def _grow(self, Z: Floats, y: Floats, w: Floats, exact: bool = False) -> DecisionTreeRegressor:
        least = 1 if exact else 5
        tree = DecisionTreeRegressor(max_depth=self.max_depth, min_samples_leaf=least, random_state=0)
        return tree.fit(Z, y, sample_weight=w)

    def _spread(self, Z: Floats, y: Floats, w: Floats, x: Floats, clusters: npt.NDArray[np.intp]) -> Floats:
        """Covariance of the weights over trees grown on resampled clusters."""
        rng = np.random.default_rng(0)
        drawn = []
        for _ in range(RESAMPLES):
            counts = rng.multinomial(clusters[-1] + 1, np.full(clusters[-1] + 1, 1 / (clusters[-1] + 1)))
            drawn.append(_follow(self._grow(Z, y, w * counts[clusters]), x, ())[0])
        return np.atleast_2d(np.cov(np.array(drawn).T))

    def _held_out(self, Z: Floats, y: Floats, w: Floats, clusters: npt.NDArray[np.intp]) -> float:
        """Weighted R² of trees on the fifth of the samples they were not grown on."""
        fold = clusters % FOLDS
        guess = np.empty(len(y))
        for f in range(FOLDS):
            out = fold == f
            guess[out] = self._grow(Z[~out], y[~out], w[~out]).predict(Z[out])
        return _r2(y, guess, w)


def _r2(y: Floats, guess: Floats, w: Floats) -> float:
    spread = float(w @ (y - w @ y / w.sum()) ** 2)
    return 1 - float(w @ (y - guess) ** 2) / spread if spread > 0 else float("nan")


def _follow(
    grown: DecisionTreeRegressor, x: Floats, names: Sequence[str]
) -> tuple[Floats, float, float, tuple[str, ...]]:
    """What each part adds on the way of x, the root's mean, the leaf's, and the way in words."""
    tree = grown.tree_
    value, node = tree.value[:, 0, 0], 0
    weights = np.zeros(len(x))
    path = []
    while tree.children_left[node] >= 0:
        part, cut = tree.feature[node], tree.threshold[node]
        stays = x[part] > cut
        following = (tree.children_right if stays else tree.children_left)[node]
        weights[part] += value[following] - value[node]
        if names:
            binary = x[part] == 1 and 0 < cut < 1
            path.append(names[part] if binary else f"{names[part]} {'>' if stays else '≤'} {cut:.3g} sd")
        node = following
    path.append(f"leaf: {value[node]:.4g}, {tree.n_node_samples[node]} samples")
    return weights, float(value[0]), float(value[node]), tuple(path)
