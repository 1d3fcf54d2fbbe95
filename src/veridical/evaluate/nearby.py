"""Instances that are close to one: a little noise on numbers, or one part less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from veridical.errors import InputError
from veridical.masks import generator
from veridical.records import PER_UNIT, Removable, Representation, Representer, Seed
from veridical.represent.regions import as_type, is_tensor, numbers_of

NOISE = 0.02  # of the spread of a picture, sound or series
STEP = 0.05  # of a column's standard deviation
ROWS = 256  # of the background, which say how much a column varies
NUMBERS = ("≤", ">", "in", PER_UNIT)  # relations of parts whose column holds numbers


def nearby(
    x: Any, represent: Representer, representation: Representation, seed: Seed, n: int
) -> list[Representation]:
    """n instances close to x, as parts.

    A picture, sound or series gets noise, a row gets noise in its columns of numbers; of anything else, each has
    one part less.
    """
    rng = generator(seed)
    numbers = _number_columns(represent, representation)
    if numbers:
        made = _moved(x, representation, numbers, rng=rng, seed=seed, n=n)
    elif isinstance(x, np.ndarray) or is_tensor(x):
        made = [_noisy(x, rng) for _ in range(n)]
    else:
        made = _fewer(representation, rng, seed, n)
    try:
        return list(represent.each(made).batch(0, n))
    except InputError as cause:
        raise InputError(f"no nearby instances could be made: {cause}") from cause


def _noisy(x: Any, rng: np.random.Generator) -> Any:
    array = numbers_of(x, "an instance")
    moved = array + NOISE * float(array.std()) * rng.standard_normal(array.shape)
    if not is_tensor(x):
        return as_type(moved, array.dtype)
    return x.new_tensor(as_type(moved, array.dtype))


def _fewer(representation: Representation, rng: np.random.Generator, seed: Seed, n: int) -> Any:
    if not isinstance(representation, Removable):
        raise InputError("no nearby instances could be made: parts cannot be taken away")
    masks = np.ones((n, len(representation.names)), bool)
    masks[np.arange(n), rng.choice(masks.shape[1], n, replace=n > masks.shape[1])] = False
    made = representation.keeping(masks, seed)
    return made[0:n] if hasattr(made, "batches") else made


def _number_columns(represent: Any, representation: Representation) -> list[int]:
    """Positions of a table's columns that hold numbers and may change."""
    names = getattr(represent, "names", None)
    if names is None or not hasattr(representation, "row"):
        return []
    changing = {part.column for part in representation.parts if part.relation in NUMBERS}
    return [j for j, name in enumerate(names) if str(name) in changing]


def _moved(
    x: Any, representation: Representation, columns: Sequence[int], *, rng: np.random.Generator, seed: Seed, n: int
) -> Any:
    """Rows whose numbers differ a little from those of x, within what the background has."""
    assert isinstance(representation, Removable)
    empty = np.zeros((ROWS, len(representation.names)), bool)
    drawn = representation.keeping(empty, seed)
    if not hasattr(x, "iloc"):
        made = np.repeat(np.atleast_2d(x), n, axis=0)
        for j in columns:
            made[:, j] = _steps(made[:, j], drawn[:, j], rng)
        return made
    made = x.iloc[np.zeros(n, dtype=int)].reset_index(drop=True)
    for j in columns:
        if is_numeric_dtype(made.dtypes.iloc[j]):
            own, other = (t.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan) for t in (made, drawn))
            made.isetitem(j, pd.Series(_steps(own, other, rng)).astype(made.dtypes.iloc[j]))
    return made


def _steps(values: Any, drawn: Any, rng: np.random.Generator) -> Any:
    """Numbers moved a little; whole numbers stay whole, and what is missing stays missing."""
    own, other = np.asarray(values, dtype=np.float64), np.asarray(drawn, dtype=np.float64)
    known = other[np.isfinite(other)]
    spread = float(known.std()) if len(known) else 0.0
    moved = own + STEP * spread * rng.standard_normal(len(own))
    if len(known):
        moved = np.clip(moved, np.fmin(known.min(), own), np.fmax(known.max(), own))
    whole = np.array_equal(known, np.rint(known)) and np.array_equal(own, np.rint(own))
    return np.rint(moved) if whole else moved
