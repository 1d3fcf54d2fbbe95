"""Gradients of a network's output by its input, at the instance and around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from veridical.attribute.maps import ByGradient, Drawn
from veridical.attribute.question import ROUNDING
from veridical.attribute.slopes import Slopes
from veridical.errors import InputError, check_positive, check_whole, require
from veridical.masks import child_of
from veridical.records import Seed
from veridical.represent.masked import checked_flag


@dataclass(frozen=True)
class Gradient(ByGradient):
    """How much the output changes with each value of the network's input; its size, unless ``absolute`` is False.

    It is taken in the units of the network's input, after ``prepare``. Where the output no longer changes because
    the network is sure, nothing is found.
    """

    absolute: bool = True

    purpose: ClassVar[str] = "change"

    def __post_init__(self) -> None:
        checked_flag("absolute", self.absolute)

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """One gradient an input."""
        slope = slopes(x[:, None], rows)[:, 0]
        return Drawn(slope.abs() if self.absolute else slope)


@dataclass(frozen=True)
class InputXGradient(ByGradient):
    """Each value of the input times the gradient there; ``absolute`` takes the size of the gradient.

    On a linear network without constants it is what each value adds to the output. Zero gets no weight, whatever
    the network makes of it.
    """

    absolute: bool = False

    def __post_init__(self) -> None:
        checked_flag("absolute", self.absolute)

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """One gradient an input."""
        slope = slopes(x[:, None], rows)[:, 0]
        return Drawn(x * (slope.abs() if self.absolute else slope))


@dataclass(frozen=True)
class SmoothGrad(ByGradient):
    """The mean gradient at noisy copies of the input (Smilkov et al. 2017).

    The noise is normal, its standard deviation the share ``noise`` of the range of all values of the input, so
    ``prepare`` should scale columns alike. Intervals are those of the mean of ``n_draws`` copies.
    """

    n_draws: int = 25
    noise: float = 0.15

    purpose: ClassVar[str] = "change"

    def __post_init__(self) -> None:
        check_whole("n_draws", self.n_draws, 2)
        check_positive("noise", self.noise)

    @property
    def n_points(self) -> int:
        """One a draw."""
        return self.n_draws

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """The gradients at noisy copies, combined."""
        points = _noise(x, self.n_draws, seeds)
        ranges = x.flatten(1).amax(dim=1) - x.flatten(1).amin(dim=1)
        points *= self.noise * ranges.view(-1, *[1] * x.dim())
        points += x[:, None]
        return self.combined(slopes(points, rows))

    def combined(self, slopes: Any) -> Drawn:
        """The maps of gradients (r, m, …) at noisy copies."""
        return Drawn(slopes.mean(dim=1), slopes)


@dataclass(frozen=True)
class SmoothGradSquared(SmoothGrad):
    """The squared gradient at noisy copies of the input: never negative.

    ``square`` says when: "before" the mean, as in ROAR (Hooker et al. 2019), or "after", the square of SmoothGrad.
    """

    square: str = "before"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.square not in ("before", "after"):
            raise InputError(f'square is "before" or "after" the mean over draws, not {self.square!r}')

    def combined(self, slopes: Any) -> Drawn:
        """The mean of squares, or the square of the mean with what each draw adds to it, to first order."""
        if self.square == "before":
            return super().combined(slopes.square_())
        mean = slopes.mean(dim=1)
        return Drawn(mean**2, slopes.mul_(2 * mean[:, None]).sub_(mean[:, None] ** 2))


@dataclass(frozen=True)
class VarGrad(SmoothGrad):
    """The variance of the gradient over noisy copies of the input (Adebayo et al. 2018): never negative."""

    def combined(self, slopes: Any) -> Drawn:
        """The variance, and what each draw adds to it, to first order; none where draws differ by rounding."""
        varies = ~_same(slopes)[:, None]
        squares = slopes.sub_(slopes.mean(dim=1, keepdim=True)).square_()
        return super().combined(squares.mul_(varies))


def _noise(x: Any, n_draws: int, seeds: Sequence[Seed]) -> Any:
    """Normal numbers (r, n_draws, …) like x (r, …), drawn on its device, of each input by its own seed."""
    torch, noise = require("torch", extra="torch"), x.new_empty(len(x), n_draws, *x.shape[1:])
    for own, seed in zip(noise, seeds, strict=True):
        state = int(child_of(seed, 0).generate_state(1, np.uint64)[0])
        own.normal_(generator=torch.Generator(x.device).manual_seed(state))
    return noise


def _same(slopes: Any) -> Any:
    """Where gradients (r, m, …) are the same for all m, but for rounding in the precision they seem to have."""
    single = bool((slopes == slopes.float()).all())
    unit = float(np.finfo(np.float32 if single else np.float64).eps)
    low, high = slopes.amin(dim=1), slopes.amax(dim=1)
    return high - low <= ROUNDING * unit * low.abs().maximum(high.abs())
