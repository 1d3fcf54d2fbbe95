"""What differs between two models over many rows: pairs come one after the other, and only sums are kept."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeAlias

import numpy as np
from scipy.special import stdtrit

from veridical.errors import InputError
from veridical.evaluate.differences import (
    HALF,
    Difference,
    Gap,
    adjusted,
    gap_of,
    hidden_by,
    judged,
    second_less_first,
    size_of,
)
from veridical.evaluate.unlike import Unlike
from veridical.records import Explanation, Floats, Ints, Part

AGAIN = 5  # rows, on average, from which on a bin or category is a part of its own
AT_ONCE = 1024  # pairs
Pair: TypeAlias = tuple[int, Explanation, Explanation]  # the number of a row, and both explanations of it


def differ_over_rows(
    sides: tuple[Any, Any], n_rows: int, pairs: Iterable[Pair], titles: tuple[str, str] = ("first", "second")
) -> Difference:
    """Two explanations of each row: the mean difference of each part, with its interval over the rows.

    ``sides`` are where both come from, of which the Difference knows; a row that has no pair has changed by 0.
    """
    found, rest = _Tally(n_rows), iter(pairs)
    while some := list(islice(rest, AT_ONCE)):
        found.add(some)
    if not found.n_pairs:
        raise InputError("there are no explanations to compare")
    together = any(each.again for each in found.draws)
    weights, reach, counts, parts = found.means(together)
    apart = second_less_first(weights)
    fewest = 2 * found.fewest  # twice as many will do where noise is taken at its worst
    degrees = np.clip(counts - 1.0, 1.0, fewest if together else None)
    p = adjusted(apart, np.c_[reach, reach], degrees, weights)
    said = "over {:,} rows; mean predictions {:.4g} and {:.4g}".format(found.n_pairs, *found.predictions)
    return Difference(
        *sides,
        titles,
        parts,
        weights,
        np.stack([apart - reach, apart + reach], axis=1),
        p,
        counts,
        found.changes,
        judged(parts, apart, p, said, hidden_by(np.c_[reach, reach], degrees)),
        (*found.unlike.notes(), *_left_out(n_rows - found.n_pairs)),
    )


def _left_out(n: int) -> list[str]:
    return [f"{n:,} row{'s' * (n != 1)} that not both explain {'are' if n != 1 else 'is'} left out."] if n else []


class _Draws:
    """Whether two rows may have been explained from the same draws, so that their noise does not average out."""

    def __init__(self) -> None:
        self.again, self._seen = False, set[int]()

    def add(self, e: Explanation) -> None:
        if not self.again:
            key = hash(str(e.recipe.get("rng")))
            self.again = key in self._seen
            self._seen.add(key)


@dataclass
class _Sums:
    """Sums over the rows that a part was measured in; of the differences, the mean and squares around it."""

    n: Floats  # (d,) rows
    known: Floats  # (d, 2) rows in which each side has the part
    weights: Floats  # (d, 2)
    mean: Floats  # (d,)
    squares: Floats  # (d,)
    reach: Floats  # (d,)

    @classmethod
    def of(cls, codes: Ints, entries: Floats, d: int) -> _Sums:
        """``entries`` are both weights, the difference and the reach of its noise, as numbered by the codes."""
        measured = np.isfinite(entries[:, 3]) & np.isfinite(entries[:, 2])
        own, kept = codes[measured], entries[measured]
        n, sums = _summed(own, np.ones((len(own), 1)), d)[:, 0], _summed(own, np.nan_to_num(kept), d)
        mean = sums[:, 2] / np.maximum(n, 1)
        squares = _summed(own, np.square(kept[:, 2:3] - mean[own, None]), d)[:, 0]
        return cls(n, _summed(own, np.isfinite(kept[:, :2]), d), sums[:, :2], mean, squares, sums[:, 3])

    def merged(self, group: Ints, d: int) -> _Sums:
        """Those of parts with the same number in ``group`` together (Chan et al. 1983)."""
        n, total, reach = _summed(group, np.c_[self.n, self.n * self.mean, self.reach], d).T
        mean = total / np.maximum(n, 1)
        squares = _summed(group, np.c_[self.squares + self.n * np.square(self.mean - mean[group])], d)[:, 0]
        return _Sums(n, _summed(group, self.known, d), _summed(group, self.weights, d), mean, squares, reach)

    def beside(self, other: _Sums) -> _Sums:
        """Both, one after the other."""
        return _Sums(*(np.concatenate(two) for two in zip(vars(self).values(), vars(other).values(), strict=True)))


def _summed(group: Ints, columns: Any, d: int) -> Floats:
    """Sums (d, c) of the lines of columns (m, c) that have the same number."""
    return np.stack([np.bincount(group, column, d).astype(np.float64) for column in columns.T], axis=1)


class _Tally:
    """Pairs come in, and only sums over rows are kept, for each part by all its names."""

    def __init__(self, n_rows: int) -> None:
        self.changes = np.zeros(n_rows)  # (n,)
        self.fewest = np.inf  # degrees of freedom
        self.draws, self.unlike = (_Draws(), _Draws()), Unlike()
        self.n_pairs, self.totals = 0, np.zeros(2)
        self.number: dict[tuple[Hashable, str], int] = {}
        self.parts: list[Part] = []
        self.times: list[int] = []
        self.sums = _Sums.of(np.empty(0, np.int64), np.empty((0, 4)), 0)

    def add(self, pairs: Sequence[Pair]) -> None:
        """Some more rows."""
        gaps = [gap_of(a, b) for _, a, b in pairs]
        apart = [g.apart for g in gaps]
        for (i, *both), own in zip(pairs, apart, strict=True):
            self.changes[i] = size_of(own)
            self.unlike.add(*both)
            for draws, e in zip(self.draws, both, strict=True):
                draws.add(e)
        self.n_pairs += len(pairs)
        self.totals += np.sum([[a.prediction, b.prediction] for _, a, b in pairs], axis=0)
        self.fewest = min(self.fewest, *(g.degrees for g in gaps))
        codes = self._codes(gaps)
        entries = np.concatenate(
            [np.c_[g.weights, own, g.reach.max(axis=1)] for g, own in zip(gaps, apart, strict=True)]
        )
        d = len(self.parts)
        more = _Sums.of(codes, entries, d)
        self.sums = self.sums.beside(more).merged(np.r_[np.arange(len(self.sums.n)), np.arange(d)], d)

    def _codes(self, gaps: Sequence[Gap]) -> Ints:
        """A number for each part of each row, by what it is and what it is called."""
        codes = []
        for key, part in chain.from_iterable(zip(g.keys, g.parts, strict=True) for g in gaps):
            at = self.number.setdefault((key, part.name), len(self.parts))
            if at == len(self.parts):
                self.parts.append(part)
                self.times.append(0)
            self.times[at] += 1
            codes.append(at)
        return np.array(codes, dtype=np.int64)

    @property
    def predictions(self) -> Floats:
        """Mean answers of both models."""
        return np.asarray(self.totals / self.n_pairs)

    def means(self, together: bool) -> tuple[Floats, Floats, Ints, tuple[Part, ...]]:
        """Mean weights (d, 2), half of the interval over rows (d,), rows (d,), and the parts.

        What varies from row to row holds the noise of each, unless rows share their draws: then the noise may be
        the same in all of them, and is added.
        """
        group, parts = self._grouped()
        own = self.sums.merged(group, len(parts))
        n = np.maximum(own.n, 1)
        weights = np.where(own.known > 0, own.weights / n[:, None], np.nan)
        error = np.sqrt(own.squares / np.maximum(own.n - 1, 1) / n)
        common = own.reach / n / stdtrit(1e6, HALF) if together else 0.0
        reach = stdtrit(np.maximum(own.n - 1.0, 1.0), HALF) * np.sqrt(np.square(error) + np.square(common))
        return weights, np.where(own.n > 1, reach, np.inf), own.n.astype(np.int64), parts

    def _grouped(self) -> tuple[Ints, tuple[Part, ...]]:
        """A number for each part, the same for the same thing; and the parts that are numbered.

        Bins and categories of a column are parts of their own, for their weights mean different things, unless
        they hardly ever come again: then the column is one part.
        """
        times, kinds = dict[Hashable, int](), dict[Hashable, int]()
        for (key, _), often in zip(self.number, self.times, strict=True):
            times[key] = times.get(key, 0) + often
            kinds[key] = kinds.get(key, 0) + 1
        number: dict[Hashable, int] = {}
        named, group = list[Part](), list[int]()
        for (key, name), part in zip(self.number, self.parts, strict=True):
            rare = kinds[key] > 1 and times[key] < AGAIN * kinds[key]
            own = key if rare or kinds[key] == 1 else (key, name)
            if own not in number:
                number[own] = len(named)
                named.append(Part(part.column, part.column, "|") if rare else part)
            group.append(number[own])
        return np.array(group, dtype=np.int64), tuple(named)
