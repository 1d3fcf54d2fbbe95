"""Untrained networks made anew from the top: which maps notice is a property of the backward rule alone."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.stats import spearmanr

import veridical as vd

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
nn = torch.nn

SEEDS, PICTURES = 6, 2
STEPS = (1, 2, 4, 6, 8)  # layers made anew: last dense, both dense, down to convolution 4, 2 and 0 of 6

# Spearman signed and absolute, against the first map: (steps, 2).
TABLE = {
    "Gradient": [(0.11, 0.18), (0.00, 0.18), (0.00, 0.17), (0.00, 0.16), (0.00, 0.10)],
    "GuidedBackprop": [(0.99, 0.97), (0.99, 0.95), (0.97, 0.91), (0.92, 0.79), (0.72, 0.37)],
    "DeconvNet": [(0.82, 0.67), (0.77, 0.60), (0.66, 0.46), (0.50, 0.29), (-0.04, 0.01)],
}


def untrained(seed: int) -> Any:
    """Six convolutions of 32 to 128, three pools, two dense layers, as He et al. start them."""
    rng, layers, width = torch.Generator().manual_seed(seed), list[Any](), 3
    for wider in (32, 64, 128):
        for _ in range(2):
            layers += [nn.Conv2d(width, wider, 3, padding=1), nn.ReLU()]
            width = wider
        layers.append(nn.MaxPool2d(2))
    module = nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 64, 256), nn.ReLU(), nn.Linear(256, 10))
    for part in weighted(module):
        nn.init.kaiming_normal_(part.weight, nonlinearity="relu", generator=rng)
        nn.init.zeros_(part.bias)
    return module.eval()


def weighted(module: Any) -> list[Any]:
    return [part for part in module if hasattr(part, "weight")]


def alike(first: Any, later: Any) -> tuple[float, float]:
    """Rank correlations of two maps (3, h, w): value by value, and of the size of each pixel."""
    sizes = [np.abs(each).sum(axis=0).ravel() for each in (first, later)]
    return spearmanr(first.ravel(), later.ravel())[0], spearmanr(*sizes)[0]


def cascade(method: Any, seed: int) -> Any:
    """(1 + steps, 2): means over pictures, of no step first."""
    smooth = gaussian_filter(np.random.default_rng(seed).normal(size=(PICTURES, 3, 64, 64)), (0, 0, 2, 2))
    x = torch.as_tensor(smooth / smooth.std(), dtype=torch.float32)
    module, other, found = untrained(seed), untrained(seed + 100), []
    targets = module(x).argmax(dim=1)
    first, changed = method.maps(vd.Network(module), x, targets).values, deepcopy(module)
    pairs = list(zip(weighted(changed), weighted(other), strict=True))[::-1]
    for step in range(len(pairs) + 1):
        if step:
            pairs[step - 1][0].load_state_dict(pairs[step - 1][1].state_dict())
        if step in (0, *STEPS):
            later = method.maps(vd.Network(changed), x, targets).values
            found.append(np.mean([alike(a, b) for a, b in zip(first, later, strict=True)], axis=0))
    return np.array(found)


def fits(found: Any, name: str) -> bool:
    """Whether the table is one more draw of weights like these (seeds, steps, 2), and its last digit."""
    distance = np.abs(found.mean(axis=0) - TABLE[name])
    return bool((distance <= 3 * found.std(axis=0, ddof=1) + 0.015).all())


@pytest.mark.parametrize("method", [vd.Gradient(absolute=False), vd.GuidedBackprop(), vd.DeconvNet()])
def test_the_table_of_untrained_networks(method: Any) -> None:
    found = np.array([cascade(method, seed) for seed in range(SEEDS)])
    np.testing.assert_allclose(found[:, 0], 1.0)
    assert [name for name in TABLE if fits(found[:, 1:], name)] == [type(method).__name__]
