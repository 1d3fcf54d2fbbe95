"""The submodular pick (SP-LIME, Algorithm 2 of Ribeiro et al. 2016): few explanations that cover much.

c(V) is the importance of all parts that some explanation in V gives weight. Greedy takes, again and again, the
explanation that adds most, and reaches at least 1 - 1/e of what is possible. Lazy greedy (Minoux 1978) keeps old
gains as upper bounds, and works out again those that may be the largest. Here nothing is worked out again: a part
is covered once, and its column says which rows lose its importance then. All these updates together are one pass
over the matrix, so gains are always exact, and a pick is the largest of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from veridical.masks import generator
from veridical.records import Floats, Ints, Seed
from veridical.summarize.records import Pick
from veridical.summarize.table import Table

DRAWS = 100  # random picks, for the spread of what they cover
ENTRIES = 2**21  # of the matrix that these draws look at, at most
BLOCK = 2**14  # rows whose gains are worked out at once
TIE = 40  # gains that differ by less than one part in 2 ** TIE are equal: they may differ by rounding alone


def greedy(tables: Sequence[Table], budget: int) -> Ints:
    """Positions of the rows picked; step t goes by table t modulo their number, and one pick serves all tables.

    Of rows that add the same the first is taken; so are the first rows once nothing is left to cover.
    """
    n = min(len(table.rows) for table in tables)
    states = [_Gains.of(table) for table in tables]
    chosen: list[int] = []
    while len(chosen) < min(budget, n) and any(state.left for state in states):
        i = states[len(chosen) % len(states)].best()
        chosen.append(i)
        for state in states:
            state.cover(i)
    rest = np.setdiff1d(np.arange(n), chosen)[: max(min(budget, n) - len(chosen), 0)]
    return np.concatenate([np.array(chosen, dtype=np.int64), rest])


def at_random(table: Table, budget: int, seed: Seed) -> Ints:
    """Positions of as many rows in random order; a smaller budget gives the first of them."""
    return generator(seed, 0).permutation(len(table.rows))[:budget]


@dataclass
class _Gains:
    """What each row would add: whole numbers, so that taking away leaves no rounding behind."""

    rows: Any  # CSR
    columns: Any  # CSC that says which rows have a part
    units: Ints  # (p,) importance of what is not covered, in units of 2 ** -62 of the total, or finer
    gains: Ints  # (n,) their sum over the parts of each row; -1 for rows that were picked

    @classmethod
    def of(cls, table: Table) -> _Gains:
        importance = table.importance
        _, exponent = np.frexp(importance.sum())
        units = np.ceil(np.ldexp(importance, 62 - exponent)).astype(np.int64)
        w = table.weights
        there = csr_matrix((np.ones(w.nnz, np.int8), w.indices, w.indptr), shape=w.shape)
        starts = range(0, w.shape[0], BLOCK)
        gains = [np.empty(0, np.int64), *(np.asarray(there[i : i + BLOCK] @ units) for i in starts)]
        return cls(w, there.tocsc(), units, np.concatenate(gains))

    @property
    def left(self) -> bool:
        """Whether some row would still add something."""
        return len(self.gains) > 0 and int(self.gains.max()) > 0

    def best(self) -> int:
        """The row that adds most; of those that do, the first."""
        most = int(self.gains.max())
        return int(np.argmax(self.gains >= most - (most >> TIE)))

    def cover(self, i: int) -> None:
        """Cover the parts of a row, and take it out."""
        for j in self.rows.indices[self.rows.indptr[i] : self.rows.indptr[i + 1]]:
            if self.units[j]:
                having = self.columns.indices[self.columns.indptr[j] : self.columns.indptr[j + 1]]
                self.gains[having] -= self.units[j]
                self.units[j] = 0
        self.gains[i] = -1


def coverage_of(table: Table, chosen: Ints, importance: Floats) -> Floats:
    """c(V) after each row of one pick (b,), or of several (m, b)."""
    steps, p = table.weights[chosen.ravel()], len(importance)
    row = np.repeat(np.arange(chosen.size), np.diff(steps.indptr))
    pick = row // max(chosen.shape[-1], 1)
    parts, first = np.unique(pick * p + steps.indices, return_index=True)  # where each pick has a part first
    added = np.bincount(row[first], importance[parts % max(p, 1)], chosen.size).reshape(chosen.shape)
    whole = importance.sum()  # which is all of it, whatever the order of the sum
    return np.asarray(np.minimum(np.cumsum(added, axis=-1), whole))


def chance(table: Table, budget: int, importance: Floats, seed: Seed) -> Floats:
    """Mean and standard deviation (b, 2) of the coverage that 1, 2, … random rows reach.

    The mean is exact: b rows of n miss a part that m rows have with probability C(n - m, b) / C(n, b). The
    standard deviation is that of random picks.
    """
    n, b = len(table.rows), min(budget, len(table.rows))
    counts, group = np.unique(_rows_with(table), return_inverse=True)
    shared = np.bincount(group, importance, len(counts))
    means, missed = np.empty(b), np.ones(len(counts))
    for t in range(b):
        missed *= np.maximum(n - counts - t, 0) / (n - t)
        means[t] = shared @ (1 - missed)
    rng, entries = generator(seed, 1), max(b * table.weights.nnz / max(n, 1), 1)
    draws = range(int(np.clip(ENTRIES / entries, 10, DRAWS)))
    picks = np.array([rng.choice(n, b, replace=False) if b else np.empty(0) for _ in draws], dtype=np.int64)
    return np.stack([means, coverage_of(table, picks, importance).std(axis=0, ddof=1)], axis=1)


def _rows_with(table: Table) -> Ints:
    """How many rows have each part (p,)."""
    indices, p = table.weights.indices, table.weights.shape[1]
    some = (indices[i : i + ENTRIES] for i in range(0, len(indices), ENTRIES))
    return sum((np.bincount(each, minlength=p) for each in some), np.zeros(p, np.int64))


def picked(table: Table, chosen: Ints, seed: Seed) -> Pick:
    """The record of rows that were picked, by their positions."""
    importance = table.importance
    weights = table.weights[chosen]
    for array in (weights.data, weights.indices, weights.indptr):
        array.flags.writeable = False
    return Pick(
        chosen=table.rows[chosen],
        coverage=coverage_of(table, chosen, importance),
        importance=importance,
        total=float(importance.sum()),
        names=table.names,
        parts=table.parts,
        targets=table.targets,
        weights=weights,
        chosen_targets=tuple(table.row_targets[i] for i in chosen),
        n=len(table.rows),
        random=chance(table, len(chosen), importance, seed),
        notes=_notes(table),
    )


def _notes(table: Table) -> tuple[str, ...]:
    targets = list(dict.fromkeys(map(str, table.row_targets)))
    if len(targets) < 2:
        return ()
    shown = ", ".join(targets[:6]) + (", …" if len(targets) > 6 else "")
    return (
        f"The explanations are of {len(targets)} targets ({shown}), and a part counts for each of them apart.",
    )
