"""Small changes of an array that lower an output: by gradients, or by answers to random directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.attribute.layout import layout_of
from veridical.attribute.maps import only
from veridical.attribute.network import Network, as_numbers
from veridical.attribute.slopes import Read, Slopes
from veridical.records import Floats, Refillable, Removable, Seed, Step
from veridical.represent.regions import numbers_of

OVERSHOOT = 2.5  # how far all steps together could go, in the largest change

Find = Callable[[float], Floats]  # a change of the instance's shape, by how many steps it may be


@dataclass(frozen=True, eq=False)
class Subject:
    """An array that is changed a little."""

    representation: Refillable
    batch: Any  # the instance alone, as the model takes it
    reach: Floats  # how far each value goes in a step

    @classmethod
    def of(cls, representation: Refillable, step: Step, seed: Seed) -> Subject:
        """Of an instance that a step moves both ways."""
        nothing = np.zeros((1, len(step.both)), bool)
        batch = only(representation.keeping(~nothing, seed))
        ways = [np.abs(values_of(only(way(nothing))) - values_of(batch)) for way in (step.ahead, step.back)]
        return cls(representation, batch, np.maximum(*ways))

    @property
    def x(self) -> Floats:
        return values_of(self.batch)

    def refilled(self, change: Floats) -> Removable:
        """The same parts, with the change where they are taken away."""
        return self.representation.refilled(self.x + change)

    def at(self, change: Floats) -> Any:
        """The instance with the change everywhere, as the model takes it."""
        nothing = np.zeros((1, len(self.representation.names)), bool)
        return only(self.refilled(change).keeping(nothing, np.random.SeedSequence(0)))


def values_of(batch: Any) -> Floats:
    """The only instance of a batch, as floats."""
    return numbers_of(batch[0], "an instance").astype(np.float64)


@dataclass(frozen=True, eq=False)
class ByGradients:
    """Steps along the signs of gradients, within the largest change (projected, as in PGD)."""

    subject: Subject
    network: Network
    read: Read
    n_steps: int
    counted: list[int]  # rows that the network was asked about

    def __call__(self, size: float) -> Floats:
        """The change after all steps."""
        most = size * self.subject.reach
        change = np.zeros_like(most)
        for _ in range(self.n_steps):
            pace = min(OVERSHOOT / self.n_steps, 1.0)
            change = np.clip(change - pace * most * np.sign(self._slope(change)), -most, most)
        return change

    def _slope(self, change: Floats) -> Floats:
        batch = self.subject.at(change)
        inputs = self.network.tensor(batch)
        slopes = Slopes(self.network, inputs, self.read)
        found = slopes(slopes.of(inputs)[:, None], slopes.rows)[:, 0]
        self.counted.append(slopes.n_rows)
        slope: Floats = layout_of(self.network, batch, inputs)(as_numbers(found))[0]
        return slope


@dataclass(frozen=True, eq=False)
class ByDraws:
    """Against the mean of random directions, each weighed by how far it raises the output in its part."""

    subject: Subject
    direction: Floats  # of the instance's shape

    @classmethod
    def of(cls, subject: Subject, steps: Sequence[Step], changes: Floats) -> ByDraws:
        """``changes`` (m, d) are of the output, by each step in each part alone."""
        slope, d = np.zeros_like(subject.reach), changes.shape[1]
        for step, change in zip(steps, changes, strict=True):
            moved = numbers_of(step.ahead(~np.eye(d, dtype=bool))[0:d], "moved instances")
            slope += np.tensordot(change, moved - subject.x, axes=1)
        return cls(subject, -np.sign(slope))

    def __call__(self, size: float) -> Floats:
        """As far as it may go."""
        return size * self.subject.reach * self.direction
