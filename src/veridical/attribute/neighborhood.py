"""Neighborhoods: samples near an instance with the model's answers, grown a piece at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from veridical.attribute.ask import Model
from veridical.records import Common, Floats, Kernel, Neighborhood, Representation, Sample, Seed, Shareable

Source: TypeAlias = Callable[[int, int], tuple[Sample, Floats]]  # samples start..stop with their outputs


def private(model: Model, representation: Representation, kernel: Kernel, seed: Seed) -> Source:
    """Samples drawn for this instance alone; the instance is asked about together with the first ones."""

    def more(start: int, stop: int) -> tuple[Sample, Floats]:
        sample = representation.draw(kernel, seed, start, stop)
        return sample, model(representation.realize(sample), first=start and start + 1)

    return more


@dataclass(frozen=True, eq=False)
class Answers:
    """One sample for many instances: drawn and asked about once, when it is first needed."""

    model: Model
    common: Common
    seed: Seed
    instance: Shareable | None = None  # asked about together with the first samples
    pieces: dict[tuple[int, int], tuple[Any, Floats]] = field(default_factory=dict)
    own: list[Floats] = field(default_factory=list)  # the answer to the instance, once it was asked
    lock: Lock = field(default_factory=Lock)

    def __call__(self, start: int, stop: int) -> tuple[Any, Floats]:
        with self.lock:
            if (start, stop) not in self.pieces:
                values = self.common.draw(self.seed, start, stop)
                inputs = self.common.realize(values)
                if self.instance is not None and start == 0:
                    outputs = self.model(self.instance.below(inputs))
                    self.own.append(outputs[0])
                    self.pieces[start, stop] = (values, outputs[1:])
                else:
                    before = start + (self.instance is not None)
                    self.pieces[start, stop] = (values, self.model(inputs, first=before))
        return self.pieces[start, stop]

    def first(self, n: int) -> list[tuple[Any, Floats]]:
        """The pieces of the first n samples, in order, which have been asked about."""
        return [self.pieces[piece] for piece in sorted(self.pieces) if piece[1] <= n]


def shared(answers: Answers, representation: Shareable, kernel: Kernel, own: Floats | None = None) -> Source:
    """The shared sample as one instance sees it; ``own`` is the answer to the instance, if it was asked apart."""

    def more(start: int, stop: int) -> tuple[Sample, Floats]:
        values, outputs = answers(start, stop)
        sample = representation.place(values, kernel, with_instance=start == 0)
        return sample, outputs if start else np.vstack([answers.own[0] if own is None else own, outputs])

    return more


def grow(near: Neighborhood | None, sample: Sample, outputs: Floats, names: tuple[str, ...]) -> Neighborhood:
    """A neighborhood with more samples."""
    if near is None:
        return Neighborhood(names, sample.designs, outputs, sample.weights, sample.design)
    return Neighborhood(
        names,
        np.concatenate([near.designs, sample.designs]),
        np.concatenate([near.outputs, outputs]),
        np.concatenate([near.weights, sample.weights]),
        sample.design,
    )
