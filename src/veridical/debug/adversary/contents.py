"""Other content for parts of pictures, spectrograms and series: noise, shapes, and what another instance has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.debug.adversary.edits import AT_ONCE, Edit, NothingToTake, Scene
from veridical.errors import InputError
from veridical.records import Bools, Floats, Representation, Representer
from veridical.represent.masked import Masked
from veridical.represent.regions import Array, Places, as_type, is_tensor, numbers_of
from veridical.represent.words import TextComposer

FAINT, LOUD = 0.4, 2.4  # noise that is tried, from and to, in standard deviations of the instance
DIM, BRIGHT = 0.6, 1.4  # levels of shapes that are tried: 0 is the median of the instance, 1 its largest value
THICK = 0.4  # of the distance from one ridge to the next, how much is ridge


@dataclass(frozen=True, eq=False)
class Sheet:
    """An array cut into parts by labels."""

    x: Any  # a batch of one, an array or a tensor
    places: Places
    n_parts: int

    def mix(self, others: Array, masks: Bools) -> Any:
        """Arrays with the parts of a mask from others (n, …), and the rest of the instance."""
        own = numbers_of(self.x, "an instance")
        made = np.where(masks[:, self.places.spread], as_type(others, own.dtype), own)
        return self.x.new_tensor(made) if is_tensor(self.x) else made

    def named(self, changed: Any, mask: Bools, represent: Representer) -> Bools:
        """The same places are the parts of both."""
        return mask


class OfArrays(Edit):
    """Edits of what is an array cut into parts."""

    def canvas(self, x: Any, own: Representation) -> Sheet:
        """The instance as the model takes it, and where its parts lie."""
        if not isinstance(own, Masked) or isinstance(own.compose, TextComposer):
            raise InputError(
                f"vd.{type(self).__name__} edits pictures, spectrograms and series: take vd.SwappedWords() for "
                "texts, vd.EditedColumns() for tables"
            )
        return Sheet(x, own.places, len(own.parts))


@dataclass(frozen=True)
class NoisyParts(OfArrays):
    """Normal noise on k parts, louder and louder until the model decides otherwise."""

    def others(self, scene: Scene, strength: float, rng: np.random.Generator) -> Array:
        """The instance under noise of its own spread, times a factor that rises."""
        x = numbers_of(scene.x, "an instance")
        noise = rng.standard_normal((AT_ONCE, *x.shape[1:]), dtype=np.float32)
        noise *= _level(FAINT, LOUD, strength) * (float(x.std()) or 1.0)
        return within(x + noise, x)


@dataclass(frozen=True)
class DrawnShape(OfArrays):
    """Bright ridges drawn over k parts, brighter and brighter until the model decides otherwise.

    Loud ones in a spectrogram, high pulses in a series; they run in one direction, which is drawn at random.
    """

    def others(self, scene: Scene, strength: float, rng: np.random.Generator) -> Array:
        """The instance under ridges of a level that rises."""
        own, x = scene.canvas, numbers_of(scene.x, "an instance").astype(np.float64)
        middle, high = float(np.median(x)), float(x.max())
        level = middle + _level(DIM, BRIGHT, strength) * ((high - middle) or 1.0)
        shape, channel = own.places.labels.shape, own.places.channel
        side = (own.places.labels.size / own.n_parts) ** (1 / len(shape))
        drawn = np.stack([ridges(shape, max(round(side / 2), 3), rng) for _ in range(AT_ONCE)])
        where = drawn if channel is None else np.expand_dims(drawn, channel + 1)
        return within(np.where(where, np.maximum(x, level), x), x)


@dataclass(frozen=True)
class SwappedParts(OfArrays):
    """K parts from the same places of another instance, one that the model gives the wanted label."""

    def others(self, scene: Scene, strength: float, rng: np.random.Generator) -> Array:
        """Other instances, drawn at random."""
        inputs = scene.aim.inputs
        same = [j for j in scene.decided if np.shape(inputs[j]) == np.shape(scene.x)]
        if not same:
            raise NothingToTake(f"no instance of the same shape is decided as {scene.sought}, to take parts from")
        return np.concatenate([numbers_of(inputs[j], "an instance") for j in rng.choice(same, AT_ONCE)])


def ridges(shape: tuple[int, ...], period: int, rng: np.random.Generator) -> Bools:
    """Parallel ridges across an array, along a direction and from a start that are drawn at random."""
    long = [axis for axis, n in enumerate(shape) if n >= 2 * period] or [int(np.argmax(shape))]
    slopes = np.zeros(len(shape))
    while not slopes.any():
        slopes[long] = rng.integers(-1, 2, len(long))
    along = sum(slope * grid for slope, grid in zip(slopes, np.indices(shape, sparse=True), strict=True))
    return np.asarray((along + rng.integers(period)) % period < max(THICK * period, 1))


def within(values: Floats, x: Array) -> Array:
    """Values in the type of an instance, and from 0 to 1 if that is where all of its own are."""
    unit = x.dtype.kind == "f" and x.min() >= 0 and x.max() <= 1
    return as_type(np.clip(values, 0, 1) if unit else values, x.dtype)


def _level(low: float, high: float, strength: float) -> float:
    return float(low * (high / low) ** strength)
