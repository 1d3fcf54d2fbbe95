"""Small changes of an array that lower an output: by gradients, or by answers to random directions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from veridical.attribute.layout import layout_of
from veridical.attribute.maps import only
from veridical.attribute.network import Network, as_numbers
from veridical.attribute.slopes import Read, Slopes
from veridical.records import Floats, Refillable, Removable, Seed, Step
from veridical.represent.regions import numbers_of


@dataclass(frozen=True, eq=False)
class Subject:
    """An array that is changed a little."""

    representation: Refillable
    batch: Any  # the instance alone, as the model takes it
    reach: Floats  # how far each value goes, in one standard deviation

    @classmethod
    def of(cls, representation: Refillable, step: Step, seed: Seed) -> Subject:
        """Of an instance that a step moves both ways by one standard deviation."""
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
class Gradients:
    """A network's slopes at an instance that is changed a little."""

    subject: Subject
    network: Network
    read: Read
    counted: list[int]  # rows that the network was asked about

    def descent(self, step: float) -> Iterator[Floats]:
        """Changes, each a step further along the signs of the slopes."""
        change = np.zeros_like(self.subject.reach)
        while True:
            change = change - step * self.subject.reach * np.sign(self._slope(change))
            yield change

    def _slope(self, change: Floats) -> Floats:
        batch = self.subject.at(change)
        inputs = self.network.tensor(batch)
        slopes = Slopes(self.network, inputs, self.read)
        found = slopes(slopes.of(inputs)[:, None], slopes.rows)[:, 0]
        self.counted.append(slopes.n_rows)
        slope: Floats = layout_of(self.network, batch, inputs)(as_numbers(found))[0]
        return slope


def drawn_descent(subject: Subject, steps: Sequence[Step], changes: Floats, step: float) -> Iterator[Floats]:
    """Changes, each a step further against the random directions that raise the output.

    ``changes`` (m, d) are of the output, by each of ``steps`` in each part alone.
    """
    slope, alone = np.zeros_like(subject.reach), ~np.eye(changes.shape[1], dtype=bool)[:, None]
    for one, change in zip(steps, changes, strict=True):
        for mask, by in zip(alone, change, strict=True):  # one at a time, for instances may be large
            slope += by * (values_of(only(one.ahead(mask))) - subject.x)
    for i in count(1):
        yield -i * step * subject.reach * np.sign(slope)
