"""Seeds as arguments: children of a seed by a path of numbers, and their generators."""

from __future__ import annotations

import numpy as np

from veridical.protocols import Seed


def child_of(seed: Seed, *path: int) -> np.random.SeedSequence:
    """A seed for one purpose.

    Parameters
    ----------
    seed : SeedSequence
        The seed of the whole.
    path : int
        Numbers that name the purpose.

    Returns
    -------
    SeedSequence
    """
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *path))


def generator(seed: Seed, *path: int) -> np.random.Generator:
    """A random generator for one purpose: the same seed and path give the same numbers, whatever else was drawn.

    Parameters
    ----------
    seed : SeedSequence
        The seed of the whole.
    path : int
        Numbers that name the purpose.

    Returns
    -------
    Generator

    Examples
    --------
    >>> seed = np.random.SeedSequence(0)
    >>> bool(generator(seed, 1).normal() == generator(seed, 1).normal())
    True
    """
    return np.random.default_rng(child_of(seed, *path))
