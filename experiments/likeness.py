"""How alike two stacks of maps are: SSIM for looks, Spearman's correlation for ranks, beside what nothing gets.

The measures are those of ``veridical.checks.similarity``, worked out for a whole stack at once, on the GPU where
there is one. Maps are (n, channels, side, side); looks and ranks are of the sum over channels, of sizes (*abs*) or
as they are (*signed*).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

MEASURES = ("ssim_abs", "ssim_signed", "rank_abs", "rank_signed")
NULLS = ("constant", "noise", "shuffled", "another")
BRIGHT = 0.99  # the quantile of sizes that is shown as the brightest
SIGMA, REACH = 1.5, 5  # of the Gaussian window of SSIM
STEADY = (0.01**2, 0.03**2)  # of SSIM, for values of 0 to 1
BLIND = ("constant", "noise", "shuffled")  # null rows that do not even know the network
RESAMPLES = 1000
NOTHING = 1e-6  # between the null rows and the method itself: nothing can be told


@dataclass(frozen=True, eq=False)
class Shown:
    """Maps as they are looked at, (n, side, side) of 0 to 1, and their ranks (n, pixels), scaled to length 1."""

    looks: Mapping[str, Any]
    ranks: Mapping[str, Any]

    def at(self, rows: Any) -> Shown:
        """The maps of other pictures in place of these."""
        return Shown({k: v[rows] for k, v in self.looks.items()}, {k: v[rows] for k, v in self.ranks.items()})

    def shuffled(self, generator: torch.Generator) -> Shown:
        """The same values at other places; one permutation for all maps."""
        n, side, across = self.looks["abs"].shape
        mixed = torch.randperm(side * across, generator=generator).to(self.looks["abs"].device)
        looks = {k: v.reshape(n, -1)[:, mixed].reshape(n, side, across) for k, v in self.looks.items()}
        return Shown(looks, {k: v[:, mixed] for k, v in self.ranks.items()})


def shown(maps: Any) -> Shown:
    """Maps (n, channels, side, side), ready to be compared."""
    maps = torch.as_tensor(maps, dtype=torch.float64)
    planes = {"abs": maps.abs().sum(1), "signed": maps.sum(1)}
    return Shown(
        {"abs": gray(planes["abs"]), "signed": diverging(planes["signed"])},
        {name: _ranks(plane.flatten(1)) for name, plane in planes.items()},
    )


def gray(plane: Any) -> Any:
    """Planes (n, side, side) as they are looked at: from the least to the brightest, 0 to 1; 0.5 if it is flat."""
    low = plane.amin((1, 2), keepdim=True)
    return torch.where(plane.amax((1, 2), keepdim=True) > low, _bright(plane - low), 0.5)


def _bright(sizes: Any) -> Any:
    """Sizes (n, side, side) in units of nearly the largest, at most 1."""
    high = torch.quantile(sizes.flatten(1), BRIGHT, dim=1)[:, None, None]
    high = torch.where(high > 0, high, sizes.amax((1, 2), keepdim=True))
    return (sizes / _some(high)).clamp(0, 1)


def diverging(plane: Any) -> Any:
    """Planes (n, side, side) as they are looked at in two colors: 0.5 is nothing, half of the range each sign."""
    return (_bright(plane.abs()) * plane.sign() + 1) / 2


def _some(scale: Any) -> Any:
    return torch.where(scale > 0, scale, torch.ones_like(scale))


def _ranks(values: Any) -> Any:
    """Mid-ranks; those of a flat map are all 0, like nothing."""
    ordered = values.sort(dim=1).values.contiguous()
    values = values.contiguous()
    middle = torch.searchsorted(ordered, values) + torch.searchsorted(ordered, values, right=True)
    centered = middle.double() - middle.double().mean(1, keepdim=True)
    return centered / _some(centered.norm(dim=1, keepdim=True))


def compared(first: Shown, second: Shown) -> dict[str, Any]:
    """Each measure, one value a picture."""
    found = {f"ssim_{k}": ssim(first.looks[k], second.looks[k]) for k in ("abs", "signed")}
    found |= {f"rank_{k}": (first.ranks[k] * second.ranks[k]).sum(1) for k in ("abs", "signed")}
    return {name: found[name].cpu().numpy() for name in MEASURES}


def ssim(first: Any, second: Any) -> Any:
    """Wang et al. 2004, with a Gaussian window; the rim that it does not reach is left out."""
    places = torch.arange(-REACH, REACH + 1, device=first.device, dtype=first.dtype)
    window = torch.exp(-0.5 * (places / SIGMA) ** 2)
    window = window / window.sum()

    def smooth(x: Any) -> Any:
        x = torch.nn.functional.conv2d(x[:, None], window[None, None, :, None])
        return torch.nn.functional.conv2d(x, window[None, None, None, :])[:, 0]

    a, b = smooth(first), smooth(second)
    spread = smooth(first**2) - a**2 + smooth(second**2) - b**2
    joint = smooth(first * second) - a * b
    c1, c2 = STEADY
    return ((2 * a * b + c1) * (2 * joint + c2) / ((a**2 + b**2 + c1) * (spread + c2))).mean((1, 2))


def nulls(first: Shown, second: Shown, seed: int, names: Sequence[str] = NULLS) -> dict[str, dict[str, Any]]:
    """What maps that know nothing of a picture get beside the first ones; the last two are made of the second."""
    generator = torch.Generator().manual_seed(seed)
    shape = first.looks["abs"].shape
    device = first.looks["abs"].device
    made: dict[str, Any] = {
        "constant": lambda: shown(torch.ones(shape, device=device)[:, None]),
        "noise": lambda: shown(torch.randn(shape, generator=generator).to(device)[:, None]),
        "shuffled": lambda: second.shuffled(generator),
        "another": lambda: second.at(torch.arange(shape[0], device=device).roll(1)),
    }
    return {name: compared(first, made[name]()) for name in names}


def summed(values: Any) -> dict[str, float]:
    """Mean over pictures and its standard error; what could not be measured is left out."""
    values = np.asarray(values, float)
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return {"mean": float(values.mean()) if len(values) else float("nan"), "sem": float("nan")}
    return {"mean": float(values.mean()), "sem": float(values.std(ddof=1) / np.sqrt(len(values)))}


def calibrated(observed: Any, nulls: Sequence[Any], again: Any, seed: int) -> dict[str, float]:
    """Ours, with a 95 % interval: 0 as like as the best of the blind null rows, 1 as the method is to itself."""
    rng, n = np.random.default_rng(seed), len(observed)
    rows = np.concatenate([np.arange(n)[None], rng.integers(0, n, (RESAMPLES, n))])
    low = np.max([np.asarray(values)[rows].mean(1) for values in nulls], axis=0)
    reach = np.asarray(again)[rows].mean(1) - low
    found = (np.asarray(observed)[rows].mean(1) - low) / np.where(np.abs(reach) > NOTHING, reach, np.nan)
    value, drawn = found[0], found[1:][~np.isnan(found[1:])]
    low, high = np.quantile(drawn, [0.025, 0.975]) if len(drawn) else (np.nan, np.nan)
    return {"value": float(value), "low": float(low), "high": float(high)}


def judged(first: Shown, second: Shown, itself: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """What is kept of a comparison: observed, every null row, how far beyond them, and the calibrated likeness."""
    observed, chance = compared(first, second), nulls(first, second, seed)
    found: dict[str, Any] = {"observed": {m: summed(observed[m]) for m in MEASURES}}
    for name, values in chance.items():
        found[name] = {m: summed(values[m]) for m in MEASURES}
        found[f"beyond {name}"] = {m: summed(observed[m] - values[m]) for m in MEASURES}
    found["calibrated"] = {
        m: calibrated(observed[m], [chance[null][m] for null in BLIND], itself[m], seed) for m in MEASURES
    }
    return found
