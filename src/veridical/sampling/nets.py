"""Low-discrepancy nets: scrambled Sobol points, uniform or normal."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri
from scipy.stats import qmc

from veridical.protocols import Seed
from veridical.records import Floats
from veridical.seeds import generator

Words = npt.NDArray[np.uint32]

REMEMBERED = 2**19  # numbers; larger nets are made anew each time
LARGEST_NET = 21201  # dimensions for which Sobol direction numbers are tabulated


@lru_cache(maxsize=16)
def _sobol(d: int, start: int, stop: int) -> Words:
    """Points of one fixed scrambled Sobol sequence; which one does not matter under a digital shift."""
    sequence = qmc.Sobol(d, scramble=True, bits=32, seed=0)
    if start:
        sequence.fast_forward(start)
    count = stop - start if start else 1 << (stop - 1).bit_length()  # a first draw wants a power of two
    points: Words = (sequence.random(count)[: stop - start] * 2.0**32).astype(np.uint32)
    points.flags.writeable = False
    return points


def net(d: int, seed: Seed, start: int, stop: int) -> Words:
    """Points start..stop of a randomized Sobol net on [0, 2³²)ᵈ.

    A digital shift makes each point uniform and keeps the net's balance; shuffled dimensions decide anew which
    of them go together, since the first digits of a net are a fixed code that a shift cannot change. Above
    21,201 dimensions no net is tabulated, and the points are independent.
    """
    if d > LARGEST_NET:
        independent: Words = generator(seed, 1, start).integers(0, 2**32, (stop - start, d), dtype=np.uint32)
        return independent
    make = _net if (stop - start) * d <= REMEMBERED else _net.__wrapped__
    return make(d, seed.entropy, seed.spawn_key, start, stop)


@lru_cache(maxsize=8)
def _net(d: int, entropy: int, spawn_key: tuple[int, ...], start: int, stop: int) -> Words:
    """Small nets are kept for the next explanation with the same seed."""
    rng = generator(np.random.SeedSequence(entropy, spawn_key=spawn_key), 0)
    shift = rng.integers(0, 2**32, d, dtype=np.uint32)
    make = _sobol if (stop - start) * d <= REMEMBERED else _sobol.__wrapped__
    words: Words = make(d, start, stop).take(rng.permutation(d), axis=1) ^ shift
    words.flags.writeable = False
    return words


def normal_net(d: int, seed: Seed, start: int, stop: int) -> Floats:
    """The same net as standard normal numbers; small ones are kept, too."""
    make = _normal_net if (stop - start) * d <= REMEMBERED else _normal_net.__wrapped__
    return make(d, seed.entropy, seed.spawn_key, start, stop)


@lru_cache(maxsize=8)
def _normal_net(d: int, entropy: int, spawn_key: tuple[int, ...], start: int, stop: int) -> Floats:
    quantiles = normal_quantiles(net(d, np.random.SeedSequence(entropy, spawn_key=spawn_key), start, stop))
    quantiles.flags.writeable = False
    return quantiles


def normal_quantiles(words: Words, ends: Floats | None = None) -> Floats:
    """Uniform words as standard normal numbers; of a cut normal, between the quantiles ``ends`` (2, d)."""
    uniform: Floats = np.multiply(words, 2.0**-32, dtype=np.float64)
    uniform += 2.0**-33
    if ends is not None:
        uniform *= ends[1] - ends[0]
        uniform += ends[0]
    quantiles: Floats = ndtri(uniform, out=uniform)
    return quantiles
