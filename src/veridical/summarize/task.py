"""What a grouping method is given, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from scipy.sparse import vstack

from veridical.attribute.ask import Model
from veridical.attribute.targets import Target
from veridical.masks import child_of, generator
from veridical.records import Floats, Kernel, Seed
from veridical.represent.space import Space
from veridical.summarize.near import Lines, Matrix, Near, is_sparse


class Gate(Protocol):
    """Which group an instance belongs to, from its features alone."""

    def __call__(self, rows: Matrix) -> Floats:
        """Probabilities (n, k)."""
        ...

    def reasons(self, row: Matrix, group: int) -> Floats:
        """How much each feature of one row (1, d) speaks for the group, against the others: (d,)."""
        ...


@dataclass(frozen=True, eq=False)
class Found:
    """K explanations, and the gate that chooses among them."""

    lines: Lines
    gate: Gate


@dataclass(frozen=True, eq=False)
class Task:
    """Instances to group. A method draws the neighbors it needs; what it draws is counted."""

    model: Model
    target: Target
    space: Space
    points: Any  # the instances, as the space reads them
    held: Any  # and those that were held out
    k: int
    n_features: int
    seed: Seed
    calls: list[int] = field(default_factory=list)

    def child(self, *path: int) -> np.random.SeedSequence:
        """A seed for one purpose."""
        return child_of(self.seed, *path)

    def near(self, n: int, *, kernel: Kernel | None = None, draw: int = 0) -> Near:
        """n neighbors of every instance; another number ``draw`` gives others."""
        return self._asked(self.points, n, kernel, self.child(0, draw))

    def near_held(self, n: int, *, draw: int = 0) -> Near:
        """n neighbors of every instance that was held out."""
        return self._asked(self.held, n, None, self.child(1, draw))

    def new(self, count: int, n: int, *, draw: int = 0, held: bool = False) -> Near | None:
        """n neighbors of about ``count`` new instances between the instances; None where nothing lies there."""
        points = self.held if held else self.points
        some = self.space.between(points, -(-count // len(points)), self.child(2, draw))
        if some is None:
            return None
        at = np.arange(count)
        if count < len(points):  # all parts of a sorted table, not its top
            at = np.sort(generator(self.child(4, draw)).permutation(len(points))[:count])
        return self._asked(some[at], n, None, self.child(3, draw))

    def _asked(self, points: Any, n: int, kernel: Kernel | None, seed: Seed) -> Near:
        designs, values, weights = list[Matrix](), list[Floats](), list[Floats]()
        for drawn in self.space.near(points, n, kernel, seed):
            outputs = self.model(drawn.inputs, first=sum(self.calls))
            self.calls.append(len(outputs))
            designs.append(drawn.designs)
            values.append(self.target.read(outputs).reshape(drawn.weights.shape))
            weights.append(drawn.weights)
        whole = vstack(designs).tocsr() if is_sparse(designs[0]) else np.concatenate(designs)
        rows = self.space.rows(points)
        return Near(rows, whole, np.concatenate(values), np.concatenate(weights), np.ones(len(points)))


class Groups(Protocol):
    """A grouping method: frozen settings that are called with a task."""

    def __call__(self, task: Task) -> Found: ...
