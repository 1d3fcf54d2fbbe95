"""Models whose true explanation is known, for demos, docs, tests and checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veridical.protocols import Kernel, Representation, Seed
from veridical.records import Bools, Floats, Part, Sample, Step
from veridical.sampling.kernels import Gaussian
from veridical.sampling.masks import ByLaw, Sizes, coins


@dataclass(frozen=True)
class LinearModel:
    """A weighted sum of columns: the weight of a kept part is its coefficient times what keeping it changes.

    Parameters
    ----------
    coefficients : tuple of float
        One per column.
    intercept : float, optional
        The value of a row of zeros.

    Examples
    --------
    >>> LinearModel((2.0, -1.0))([[1, 1], [0, 3]])
    array([ 1., -3.])
    """

    coefficients: tuple[float, ...]
    intercept: float = 0.0

    def __call__(self, X: Any) -> Floats:
        return np.asarray(np.asarray(X, float) @ np.asarray(self.coefficients) + self.intercept)


def all_of(*parts: int) -> Callable[[Floats], Floats]:
    """A function of masks that is 1 if all of these parts are kept.

    Parameters
    ----------
    parts : int
        Positions of the parts.

    Returns
    -------
    callable
        From masks (n, d) to numbers (n,).

    Examples
    --------
    >>> all_of(0, 2)(np.array([[1.0, 1, 0], [1, 0, 1]]))
    array([0., 1.])
    """
    return lambda masks: np.asarray(masks)[:, list(parts)].min(axis=1)


def any_of(*parts: int) -> Callable[[Floats], Floats]:
    """A function of masks that is 1 if any of these parts is kept.

    Parameters
    ----------
    parts : int
        Positions of the parts.

    Returns
    -------
    callable
        From masks (n, d) to numbers (n,).

    Examples
    --------
    >>> any_of(0, 2)(np.array([[1.0, 1, 0], [1, 0, 1]]))
    array([1., 1.])
    """
    return lambda masks: np.asarray(masks)[:, list(parts)].max(axis=1)


def one_of(first: int, second: int) -> Callable[[Floats], Floats]:
    """A function of masks that is 1 if exactly one of two parts is kept.

    Parameters
    ----------
    first, second : int
        Positions of the parts.

    Returns
    -------
    callable
        From masks (n, d) to numbers (n,).

    Examples
    --------
    >>> one_of(0, 1)(np.array([[1.0, 1, 0], [1, 0, 1]]))
    array([0., 1.])
    """
    return lambda masks: np.abs(np.asarray(masks)[:, first] - np.asarray(masks)[:, second])


@dataclass(frozen=True)
class Game:
    """A representer for functions of masks: its instance is the number of parts, its inputs the masks.

    Any set function can be explained through it, so one with known values tests a method.

    Parameters
    ----------
    law : callable, optional
        How masks are drawn, by the number of parts.
    kernel : callable, optional
        How near a mask is to the whole, by its distance.

    Examples
    --------
    >>> import veridical as vd
    >>> why = vd.explain(all_of(0), Game(), 3, method=vd.KernelShap())
    >>> why.weights.round(2)
    array([1., 0., 0.])
    """

    law: Callable[[int], Sizes] = coins
    kernel: Kernel = field(default_factory=lambda: Gaussian(0.25))

    def __call__(self, x: int) -> Representation:
        return Masks(self.law(x), self.kernel)

    def each(self, X: Sequence[int]) -> Games:
        return Games(self, tuple(X))


@dataclass(frozen=True, eq=False)
class Games:
    """Several games."""

    game: Game
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.sizes)

    def batch(self, start: int, stop: int) -> list[Representation]:
        return [self.game(d) for d in self.sizes[start:stop]]

    def inputs(self, start: int, stop: int) -> list[Floats]:
        return [np.ones(d) for d in self.sizes[start:stop]]


@dataclass(frozen=True, eq=False)
class Masks(ByLaw):
    """d nameless parts, kept or taken away."""

    law: Sizes
    kernel: Kernel
    notes: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(Part(name, name, "=", 1) for name in self.names)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"part {j}" for j in range(self.law.d))

    def realize(self, sample: Sample) -> Floats:
        return sample.designs

    def keeping(self, masks: Bools, seed: Seed) -> Floats:
        """The masks themselves."""
        return masks.astype(np.float64)

    def step(self, size: float, seed: Seed, n_blocks: int | None = None) -> Step:
        """All the way: a part is there or not."""
        never = np.zeros(self.law.d, bool)
        return Step(lambda masks: self.keeping(masks, seed), lambda masks: masks, never, False, "each part goes")

    def gather(self, values: Any) -> Floats:
        """The values themselves: there is one number per part."""
        return np.asarray(values, dtype=np.float64)

    def paint(self, weights: Floats) -> Floats:
        """The weights themselves: each part is one place."""
        return np.asarray(weights, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Scaffold:
    """A model that hides what it does from methods that change inputs (Slack et al. 2020).

    Explanations are made from inputs that do not look real, and so show nothing of the bias.

    Parameters
    ----------
    biased : callable
        The model for inputs that look real.
    innocuous : callable
        The model for all others.
    looks_real : callable
        Says of each input of a batch whether it looks real.
    """

    biased: Callable[[Any], Floats]
    innocuous: Callable[[Any], Floats]
    looks_real: Callable[[Any], Bools]

    def __call__(self, X: Any) -> Floats:
        return np.where(self.looks_real(X), self.biased(X), self.innocuous(X))


def looks_real(real: Any, changed: Any, features: Callable[[Any], Any] = np.asarray) -> Callable[[Any], Bools]:
    """Train a forest that tells real inputs from changed ones.

    Parameters
    ----------
    real, changed : batch
        Inputs of either kind.
    features : callable, optional
        Makes an array of numbers of a batch.

    Returns
    -------
    callable
        From a batch to booleans.
    """
    from sklearn.ensemble import RandomForestClassifier  # takes as long to import as all of veridical

    forest = RandomForestClassifier(100, class_weight="balanced", random_state=0)
    rows = [features(real), features(changed)]
    forest.fit(np.vstack(rows), np.repeat([True, False], [len(each) for each in rows]))
    return lambda X: np.asarray(forest.predict(features(X)))
