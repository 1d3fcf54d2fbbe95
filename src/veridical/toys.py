"""Models whose true explanation is known, for demos, docs, tests and checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veridical.masks import ByLaw, Gaussian, Sizes, coins
from veridical.records import Bools, Floats, Kernel, Part, Representation, Sample, Seed, Step


@dataclass(frozen=True)
class LinearModel:
    """A weighted sum of columns: the weight of a kept part is its coefficient times what keeping it changes."""

    coefficients: tuple[float, ...]
    intercept: float = 0.0

    def __call__(self, X: Any) -> Floats:
        return np.asarray(np.asarray(X, float) @ np.asarray(self.coefficients) + self.intercept)


def all_of(*parts: int) -> Callable[[Floats], Floats]:
    """1 if all of these parts are kept."""
    return lambda masks: np.asarray(masks)[:, list(parts)].min(axis=1)


def any_of(*parts: int) -> Callable[[Floats], Floats]:
    """1 if any of these parts is kept."""
    return lambda masks: np.asarray(masks)[:, list(parts)].max(axis=1)


def one_of(first: int, second: int) -> Callable[[Floats], Floats]:
    """1 if exactly one of two parts is kept."""
    return lambda masks: np.abs(np.asarray(masks)[:, first] - np.asarray(masks)[:, second])


@dataclass(frozen=True)
class Game:
    """A representer for functions of masks: its instance is the number of parts, its inputs the masks.

    Any set function can be explained through it, so one with known values tests a method.
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
        """One number a part already."""
        return np.asarray(values, dtype=np.float64)

    def paint(self, weights: Floats) -> Floats:
        """One place a part."""
        return np.asarray(weights, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Scaffold:
    """A model that hides what it does from methods that change inputs (Slack et al. 2020).

    Inputs that look real are answered by ``biased``, all others by ``innocuous``: explanations, which are made
    from the others, show nothing of the bias. ``looks_real`` says of each input of a batch which it is.
    """

    biased: Callable[[Any], Floats]
    innocuous: Callable[[Any], Floats]
    looks_real: Callable[[Any], Bools]

    def __call__(self, X: Any) -> Floats:
        return np.where(self.looks_real(X), self.biased(X), self.innocuous(X))


def looks_real(real: Any, changed: Any, features: Callable[[Any], Any] = np.asarray) -> Callable[[Any], Bools]:
    """A forest that tells real inputs from changed ones; ``features`` makes numbers of a batch."""
    from sklearn.ensemble import RandomForestClassifier  # takes as long to import as all of veridical

    forest = RandomForestClassifier(100, class_weight="balanced", random_state=0)
    rows = [features(real), features(changed)]
    forest.fit(np.vstack(rows), np.repeat([True, False], [len(each) for each in rows]))
    return lambda X: np.asarray(forest.predict(features(X)))
