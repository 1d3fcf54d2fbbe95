"""What a first layer sees: small patches of a picture, compared with typical ones, and averaged over large squares.

Single-layer networks of this kind (k-means on whitened patches, Coates, Ng and Lee 2011) need no pretrained weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import MiniBatchKMeans


class Patches(TransformerMixin, BaseEstimator):
    """Pictures (n, side, side, 3) as the mean answers of ``k`` filters in ``cells`` × ``cells`` squares."""

    def __init__(self, k: int = 48, size: int = 6, step: int = 3, cells: int = 4, seed: int = 0) -> None:
        self.k, self.size, self.step, self.cells, self.seed = k, size, step, cells, seed

    def fit(self, pictures: Any, y: Any = None) -> Patches:
        """Typical patches: the centers of clusters, where directions of little variance count like the others."""
        rng = np.random.default_rng(self.seed)
        patches = np.concatenate([self._cut(p[None])[0].reshape(-1, self.size**2 * 3) for p in pictures])
        some = patches[rng.permutation(len(patches))[:40_000]].astype(np.float64)
        self.mean_ = some.mean(axis=0)
        values, vectors = np.linalg.eigh(np.cov(some - self.mean_, rowvar=False))
        self.whiten_ = (vectors / np.sqrt(np.maximum(values, 0) + 0.01)).astype(np.float32)
        found = MiniBatchKMeans(self.k, random_state=self.seed, n_init=3, batch_size=4096)
        self.centers_ = found.fit((some - self.mean_) @ self.whiten_).cluster_centers_.astype(np.float32)
        return self

    def transform(self, pictures: Any) -> Any:
        return np.concatenate([self._answers(pictures[i : i + 32]) for i in range(0, len(pictures), 32)])

    def _answers(self, pictures: Any) -> Any:
        cut = self._cut(pictures)
        n, rows, cols = cut.shape[:3]
        flat = cut.reshape(n * rows * cols, -1)
        white = (flat - self.mean_.astype(np.float32)) @ self.whiten_
        squared = (white**2).sum(1)[:, None] - 2 * white @ self.centers_.T + (self.centers_**2).sum(1)
        apart = np.sqrt(np.maximum(squared, 0))
        active = np.maximum(apart.mean(1, keepdims=True) - apart, 0).reshape(n, rows, cols, self.k)
        bounds = np.linspace(0, rows, self.cells + 1).round().astype(int)[:-1]
        sums = np.add.reduceat(np.add.reduceat(active, bounds, axis=1), bounds, axis=2)
        sizes = np.diff([*bounds, rows])
        return (sums / np.multiply.outer(sizes, sizes)[None, :, :, None]).reshape(n, -1)

    def _cut(self, pictures: Any) -> Any:
        """All patches, (n, rows, cols, size * size * 3)."""
        pictures = np.asarray(pictures, dtype=np.float32)
        views = sliding_window_view(pictures, (self.size, self.size), axis=(1, 2))[:, :: self.step, :: self.step]
        return views.reshape(*views.shape[:3], -1)
