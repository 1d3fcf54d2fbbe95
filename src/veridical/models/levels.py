"""What every value of every column of a background becomes before a recognized model: found by asking its transform.

A feature that two columns decide is refused, and so is one that is not found by putting single columns together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from veridical.models.trees import UnreadableError
from veridical.records import Floats, Ints
from veridical.representations.tables.axes import table_of_codes
from veridical.representations.tables.backgrounds import TableBackground

CHECKED = 48  # rows on which single columns, put together, must become what the whole row becomes
ROWS_AT_ONCE = 2**15  # that are transformed, of few columns


@dataclass(frozen=True, eq=False)
class Levels:
    """The features of a model by the values of the columns that decide them.

    Values have the codes of the columns' axes, 0..m-1; a feature that no column decides belongs to part ``d``.
    """

    features: Callable[[Any], Floats]
    owner: Ints  # (f,)
    usual: Floats  # (f,)
    owned: tuple[Ints, ...]  # the features of each part
    values: tuple[Floats, ...]  # (m, features of the part) of each part
    shares: tuple[Floats, ...]  # (m,) of each part's values

    @property
    def d(self) -> int:
        """How many parts there are."""
        return len(self.owned)

    @classmethod
    def of(cls, background: TableBackground, features: Callable[[Any], Floats]) -> Levels:
        """Ask for every value of every column; raises ``UnreadableError`` where features mix columns."""
        sizes = [len(seen.cumulative) for seen in background.seen]
        base = np.array([int(np.argmax(seen.shares)) for seen in background.seen])
        usual = checked(features(table_of_codes(background, background.usual, base[None])), 1)[0]
        owner, owned, values = np.full(len(usual), len(sizes)), list[Ints](), list[Floats]()
        for some in _together(sizes, max(ROWS_AT_ONCE * len(sizes) // max(len(usual), 1), 1)):
            codes = np.tile(base, (sum(sizes[j] for j in some), 1))
            ends = np.cumsum([sizes[j] for j in some])
            for j, end in zip(some, ends.tolist(), strict=True):
                codes[end - sizes[j] : end, j] = np.arange(sizes[j])
            found = checked(features(table_of_codes(background, background.usual, codes)), len(codes))
            for j, block in zip(some, np.split(found, ends[:-1]), strict=True):
                moved = np.flatnonzero(~same(block, usual).all(axis=0))
                if (owner[moved] < len(sizes)).any():
                    raise UnreadableError("a feature that two columns decide")
                owner[moved] = j
                owned.append(moved)
                values.append(block[:, moved])
        levels = cls(
            features, owner, usual, tuple(owned), tuple(values), tuple(seen.shares for seen in background.seen)
        )
        drawn = np.random.default_rng(0).random((CHECKED, len(sizes)))
        codes = (drawn * np.array(sizes)).astype(np.int64)
        whole = checked(features(table_of_codes(background, background.usual, codes)), CHECKED)
        if not same(levels.assembled(codes, np.tile(usual, (CHECKED, 1))), whole).all():
            raise UnreadableError("features that mix columns")
        return levels

    def block(self, part: int, codes: Ints | None = None) -> Floats:
        """The features (m, f) of all values of a part, or of some, other features as usual."""
        values = self.values[part] if codes is None else self.values[part][codes]
        found = np.tile(self.usual, (len(values), 1))
        found[:, self.owned[part]] = values
        return found

    def assembled(self, codes: Ints, own: Floats) -> Floats:
        """Features (n, f) of rows by the codes of their values (n, d); a code past the levels is the row's own."""
        found = own.copy()
        for at, block, code in zip(self.owned, self.values, codes.T, strict=True):
            known = np.flatnonzero(code < len(block))
            found[known[:, None], at] = block[code[known]]
        return found


def _together(sizes: list[int], most: int) -> list[list[int]]:
    """Parts whose values are asked for at once: as many as have so many values."""
    found, total = [[0]], sizes[0]
    for j, size in enumerate(sizes[1:], 1):
        if total + size > most:
            found.append([])
            total = 0
        found[-1].append(j)
        total += size
    return found


def checked(features: Any, n: int) -> Floats:
    """Features of n rows, or a refusal."""
    if features.ndim != 2 or len(features) != n or np.isinf(features).any():
        raise UnreadableError("features that are no numbers")
    return np.asarray(features, np.float64)


def same(one: Floats, other: Floats) -> npt.NDArray[np.bool_]:
    """Where numbers are the same, or missing on both sides."""
    return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))
