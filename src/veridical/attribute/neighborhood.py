"""Neighborhoods: samples near an instance with the model's answers, grown a piece at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from veridical.attribute.ask import Model, checked, stacked
from veridical.errors import InputError
from veridical.records import Common, Floats, Kernel, Neighborhood, Representation, Sample, Seed, Shareable

CHECKED = 33  # samples, the instance among them, on which a shortcut must agree with the model

Source: TypeAlias = Callable[[int, int], tuple[Sample, Floats]]  # samples start..stop with their outputs


def private(model: Model, representation: Representation, kernel: Kernel, seed: Seed) -> Source:
    """Samples drawn for this instance alone; the instance is asked about together with the first ones."""

    ask = asking(model, representation)

    def more(start: int, stop: int) -> tuple[Sample, Floats]:
        sample = representation.draw(kernel, seed, start, stop)

        def realize(rows: slice | None) -> Any:
            some = sample if rows is None else replace(sample, designs=sample.designs[rows])
            return representation.realize(some)

        return sample, ask(sample.designs, realize, start and start + 1)

    return more


Make: TypeAlias = Callable[[slice | None], Any]  # inputs for some rows of the designs, or for all of them


def asking(model: Model, representation: Representation) -> Callable[[Floats, Make, int], Floats]:
    """How to ask about designs: by inputs, or by a shortcut that the representation knows for this model.

    The shortcut's answers to the first designs are compared with the model's own, which are kept; unless they
    agree, it is not used.
    """
    find = getattr(representation, "shortcut", None)
    shortcut = None if find is None else find(model.predict)

    def ask(designs: Floats, make: Make, first: int) -> Floats:
        nonlocal shortcut
        if shortcut is not None and first == 0:
            own = model(make(slice(0, CHECKED)))
            quick = _try(shortcut, designs)
            if quick is not None and quick.shape == (len(designs), own.shape[1]) and _agree(own, quick):
                quick[: len(own)] = own
                return quick
            shortcut = None
            rest = make(slice(CHECKED, None))
            return np.concatenate([own, model(rest, first=len(own))]) if len(rest) else own
        quick = None if shortcut is None else _try(shortcut, designs)
        return model(make(None), first=first) if quick is None else quick

    return ask


def _try(shortcut: Callable[[Floats], Any], designs: Floats) -> Floats | None:
    """The answers of a shortcut, or nothing if it fails: the model itself is asked then, and may say why."""
    try:
        return np.array(checked(shortcut(designs), len(designs)))
    except Exception:
        return None


def _agree(own: Floats, quick: Floats) -> bool:
    return bool(np.allclose(own, quick[: len(own)], rtol=1e-6, atol=1e-9))


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
        return sample, outputs if start else stacked([(answers.own[0] if own is None else own)[None], outputs])

    return more


def grow(near: Neighborhood | None, sample: Sample, outputs: Floats, names: tuple[str, ...]) -> Neighborhood:
    """A neighborhood with more samples."""
    if near is None:
        return Neighborhood(names, sample.designs, outputs, sample.weights, sample.design)
    return Neighborhood(
        names,
        np.concatenate([near.designs, sample.designs]),
        stacked([near.outputs, outputs]),
        np.concatenate([near.weights, sample.weights]),
        sample.design,
    )


def sizes(n_samples: int | None, max_calls: int, d: int, least: int) -> tuple[int, int]:
    """The first and the last number of samples for d parts, of which at least ``least`` are needed."""
    if n_samples is not None:
        if n_samples < least:
            raise InputError(
                f"n_samples is {n_samples}, but {d} parts need at least {least}: "
                "ask for more samples, or leave n_samples out"
            )
        return n_samples, n_samples
    last = max_calls - 1
    if last < least:
        raise InputError(
            f"max_calls is {max_calls}, but {d} parts need at least {least + 1}: give a larger budget, "
            "or larger parts"
        )
    first = max(128, 1 << (8 * d - 1).bit_length())
    return min(first, last), last
