"""Gradients of a network's output by its input, at the instance and around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veridical.attribute.maps import ByGradient, Drawn
from veridical.attribute.question import ROUNDING
from veridical.attribute.slopes import Slopes
from veridical.errors import InputError, check_positive, check_whole
from veridical.masks import generator
from veridical.records import Bools, Floats, Ints, Seed
from veridical.represent.masked import checked_flag


@dataclass(frozen=True)
class Gradient(ByGradient):
    """How much the output changes with each value of the network's input; its size, unless ``absolute`` is False.

    It is taken in the units of the network's input, after ``prepare``. Where the output no longer changes because
    the network is sure, nothing is found.
    """

    absolute: bool = True

    def __post_init__(self) -> None:
        checked_flag("absolute", self.absolute)

    def drawn(self, slopes: Slopes, x: Floats, rows: Ints, seeds: Sequence[Seed]) -> Drawn:
        """One gradient an input."""
        slope = slopes(x[:, None], rows)[:, 0]
        return Drawn(np.abs(slope) if self.absolute else slope)


@dataclass(frozen=True)
class InputXGradient(ByGradient):
    """Each value of the input times the gradient there; ``absolute`` takes the size of the gradient.

    On a linear network without constants it is what each value adds to the output. Zero gets no weight, whatever
    the network makes of it.
    """

    absolute: bool = False

    def __post_init__(self) -> None:
        checked_flag("absolute", self.absolute)

    def drawn(self, slopes: Slopes, x: Floats, rows: Ints, seeds: Sequence[Seed]) -> Drawn:
        """One gradient an input."""
        slope = slopes(x[:, None], rows)[:, 0]
        return Drawn(x * (np.abs(slope) if self.absolute else slope))


@dataclass(frozen=True)
class SmoothGrad(ByGradient):
    """The mean gradient at noisy copies of the input (Smilkov et al. 2017).

    The noise is normal, its standard deviation the share ``noise`` of the range of all values of the input, so
    ``prepare`` should scale columns alike. Intervals are those of the mean of ``n_draws`` copies.
    """

    n_draws: int = 25
    noise: float = 0.15

    def __post_init__(self) -> None:
        check_whole("n_draws", self.n_draws, 2)
        check_positive("noise", self.noise)

    @property
    def n_points(self) -> int:
        """One a draw."""
        return self.n_draws

    def drawn(self, slopes: Slopes, x: Floats, rows: Ints, seeds: Sequence[Seed]) -> Drawn:
        """The gradients at noisy copies, combined."""
        ranges = np.ptp(x.reshape(len(x), -1), axis=1)
        noise = [generator(seed, 0).standard_normal((self.n_draws, *x.shape[1:])) for seed in seeds]
        points = np.stack([own + self.noise * r * z for own, r, z in zip(x, ranges, noise, strict=True)])
        return self.combined(slopes(points, rows))

    def combined(self, slopes: Floats) -> Drawn:
        """The maps of gradients (r, m, …) at noisy copies."""
        return Drawn(slopes.mean(axis=1), slopes)


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

    def combined(self, slopes: Floats) -> Drawn:
        """The mean of squares, or the square of the mean with what each draw adds to it, to first order."""
        if self.square == "before":
            squares = slopes**2
            return Drawn(squares.mean(axis=1), squares)
        mean = slopes.mean(axis=1)
        return Drawn(mean**2, 2 * mean[:, None] * slopes - mean[:, None] ** 2)


@dataclass(frozen=True)
class VarGrad(SmoothGrad):
    """The variance of the gradient over noisy copies of the input (Adebayo et al. 2018): never negative."""

    def combined(self, slopes: Floats) -> Drawn:
        """The variance, and what each draw adds to it, to first order; none where draws differ by rounding."""
        squares = (slopes - slopes.mean(axis=1, keepdims=True)) ** 2
        squares *= ~_same(slopes)[:, None]
        return Drawn(squares.mean(axis=1), squares)


def _same(slopes: Floats) -> Bools:
    """Where gradients (r, m, …) are the same for all m, but for rounding in the precision they seem to have."""
    single = bool((slopes == slopes.astype(np.float32)).all())
    unit = float(np.finfo(np.float32 if single else np.float64).eps)
    return np.asarray(np.ptp(slopes, axis=1) <= ROUNDING * unit * np.abs(slopes).max(axis=1))
