"""One instance, and what the model says around it: asked once, for all methods and metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from veridical.attribute.ask import Model, n_rows, rows_of
from veridical.attribute.neighborhood import private
from veridical.attribute.question import is_flat
from veridical.attribute.removal import Removal, removable
from veridical.attribute.targets import Target
from veridical.evaluate.nearby import nearby
from veridical.masks import child_of, generator
from veridical.records import (
    Bools,
    Floats,
    Neighborhood,
    Removable,
    Representation,
    Representer,
    Seed,
    Stream,
)

FRESH = 512  # samples of a neighborhood that no method has seen
SPREAD = 32  # random masks that say how much the output moves
NEARBY = 2  # instances close to this one
CELLS = 2**24  # values of inputs that are drawn at once, about


@dataclass(frozen=True, eq=False)
class Keeping:
    """What the output is with some of the parts."""

    kept: Bools  # (n, d) masks of the parts that are kept
    draws: int = 32  # of the background a mask, where parts are not simply taken away
    key: int = 0  # the same key draws the same background


@dataclass(frozen=True, eq=False)
class Scene:
    """An instance with a model and a target; every answer is kept as long as the instance is looked at.

    Randomness comes from the seed, a child of its own for each purpose: what a metric gets does not depend on
    which other metrics there are.
    """

    x: Any
    represent: Representer
    representation: Representation
    model: Model
    target: Target
    seed: Seed
    found: dict[Any, Any] = field(default_factory=dict)
    calls: list[int] = field(default_factory=lambda: [0])

    @property
    def d(self) -> int:
        """How many parts there are."""
        return len(self.representation.names)

    def child(self, *key: int) -> np.random.SeedSequence:
        """A seed of its own for a purpose."""
        return child_of(self.seed, *key)

    def fresh(self) -> tuple[Floats, Floats, Floats]:
        """Designs (n, d), outputs (n,) and weights (n,) of samples that no method has seen."""
        near = self._once("fresh", self._fresh)
        return near.designs[1:], self.target.read(near.outputs)[1:], near.weights[1:]

    def own_design(self) -> Floats:
        """The instance itself as a row of designs, (d,); the model is not asked."""
        own = self.representation
        found: Floats = self._once("own", lambda: own.draw(own.kernel, self.child(1), 0, FRESH).designs[0])
        return found

    def without(self, wanted: Keeping) -> Floats:
        """The output for each mask of parts that are kept, (n,); on average, where they are drawn."""
        own = self._removable()
        self.ask([wanted])
        if not own.steady:
            drawn: Floats = self.found[_key(wanted)]
            return drawn
        return np.array([self.found["mask", row.tobytes()] for row in wanted.kept])

    def ask(self, several: Sequence[Keeping]) -> None:
        """Ask the model, at once, about all of these that it was not asked about."""
        own = self._removable()
        if not own.steady:
            new = {_key(each): each for each in several if _key(each) not in self.found}
            for some in _batches(new):
                self._ask_drawn(own, some)
            return
        masks = {row.tobytes(): row for each in several for row in each.kept}
        unknown = [row for key, row in masks.items() if ("mask", key) not in self.found]
        if unknown:
            outputs = self._read(np.array(unknown))
            self.found.update({("mask", row.tobytes()): float(y) for row, y in zip(unknown, outputs, strict=True)})

    def some(self) -> Keeping:
        """No part, all of them, and random ones."""
        rng = generator(self.seed, 2)
        masks = rng.random((SPREAD, self.d)) < rng.random((SPREAD, 1))
        ends = np.zeros((2, self.d), bool)
        ends[1] = True
        return Keeping(np.vstack([ends, masks]))

    def spread(self) -> tuple[float, float]:
        """The output without any part, and the range of outputs over random masks, the whole instance included."""
        outputs = self.without(self.some())
        return float(outputs[0]), 0.0 if is_flat(outputs) else float(np.ptp(outputs))

    def neighbors(self) -> list[Representation]:
        """Instances close to this one."""
        found: list[Representation] = self._once("nearby", self._nearby)
        return found

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self.found:
            self.found[key] = make()
        return self.found[key]

    def _fresh(self) -> Neighborhood:
        own, kernel = self.representation, self.representation.kernel
        every = own.enumerate(kernel, FRESH)
        if every is None:
            sample, outputs = private(self.model, own, kernel, self.child(1))(0, FRESH)
        else:
            sample, outputs = every, self.model(own.realize(every))
        self.calls[0] += len(outputs)
        return Neighborhood(own.names, sample.designs, outputs, sample.weights, sample.design)

    def _removable(self) -> Removable:
        return removable(self.representation, "this metric")

    def _ask_drawn(self, own: Removable, several: Mapping[Any, Keeping]) -> None:
        """Means over draws; what each is does not depend on what else is asked."""
        inputs = [
            own.keeping(np.repeat(each.kept, each.draws, axis=0), self.child(3, each.key))
            for each in several.values()
        ]
        outputs = self._read_all(inputs)
        for (key, each), y in zip(several.items(), outputs, strict=True):
            self.found[key] = y.reshape(len(each.kept), each.draws).mean(axis=1)

    def _read_all(self, inputs: list[Any]) -> list[Floats]:
        """The output for several batches of inputs, asked as one where they are tables."""
        sizes = [n_rows(each) for each in inputs]
        first = self.calls[0]
        self.calls[0] += sum(sizes)
        if hasattr(inputs[0], "iloc"):
            inputs = [pd.concat(inputs, ignore_index=True)]
        elif isinstance(inputs[0], np.ndarray):
            inputs = [np.concatenate(inputs)]
        outputs = np.concatenate([self.target.read(self.model(each, first)) for each in inputs])
        return np.split(outputs, np.cumsum(sizes)[:-1])

    def _read(self, masks: Bools) -> Floats:
        """The output for masks, by a shortcut that the representation knows for this model if there is one."""
        ask = self._once("ask", lambda: Removal.of(self.model, self.representation, self.seed, "this metric"))
        before = self.found.get("asked", 0)
        self.found["asked"] = before + len(masks)
        self.calls[0] += len(masks)
        return self.target.read(ask(masks, before))

    def _nearby(self) -> list[Representation]:
        return nearby(self.x, self.represent, self.representation, self.child(4), NEARBY)


def own_input(representation: Representation, seed: Seed) -> Any:
    """A batch of inputs as the model takes them, of which the first is the instance itself."""
    if isinstance(representation, Removable):
        return representation.keeping(np.ones((1, len(representation.names)), bool), seed)
    return representation.realize(representation.draw(representation.kernel, seed, 0, FRESH))


def own_batch(representation: Representation, seed: Seed) -> Any:
    """The instance alone, as the model takes it."""
    own = own_input(representation, seed)
    return rows_of(next(iter(own.batches())) if isinstance(own, Stream) else own, slice(0, 1))


def _batches(several: Mapping[Any, Keeping]) -> Iterator[dict[Any, Keeping]]:
    """Some at a time, so that their inputs fit into memory together."""
    batch: dict[Any, Keeping] = {}
    cells = 0
    for key, each in several.items():
        more = each.kept.size * each.draws
        if batch and cells + more > CELLS:
            yield batch
            batch, cells = {}, 0
        batch[key], cells = each, cells + more
    if batch:
        yield batch


def _key(wanted: Keeping) -> tuple[Any, ...]:
    return wanted.kept.shape, wanted.kept.tobytes(), wanted.draws, wanted.key
