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
    b = min(budget, *(table.n_rows for table in tables))
    states = [Gains.of(table.weights, units_of(table.importance)) for table in tables]
    chosen: list[int] = []
    while len(chosen) < b and any(state.left for state in states):
        i = states[len(chosen) % len(states)].best()
        chosen.append(i)
        for state in states:
            state.cover(i)
    return filled(chosen, b)


def filled(chosen: Sequence[int], b: int) -> Ints:
    """These rows, and then the first of all others, b together."""
    rest = np.setdiff1d(np.arange(b), chosen)[: b - len(chosen)]
    return np.concatenate([np.array(chosen, dtype=np.int64), rest])


def at_random(table: Table, budget: int, seed: Seed) -> Ints:
    """Positions of as many rows in random order; a smaller budget gives the first of them."""
    return generator(seed, 0).permutation(table.n_rows)[:budget]


def units_of(importance: Floats) -> Ints:
    """Importance in units of 2 ** -62 of the total, or finer: whole numbers, whose sums have no rounding."""
    _, exponent = np.frexp(importance.sum())
    units: Ints = np.ceil(np.ldexp(importance, 62 - exponent)).astype(np.int64)
    return units


@dataclass
class Gains:
    """What each row would add: whole numbers, so that taking away leaves no rounding behind."""

    rows: Any  # CSR
    columns: Any  # CSC that says which rows have a part
    units: Ints  # (p,) importance of what is not covered; this changes with each pick
    gains: Ints  # (n,) their sum over the parts of each row; -1 for rows that were picked

    @classmethod
    def of(cls, rows: Any, units: Ints) -> Gains:
        there = csr_matrix((np.ones(rows.nnz, np.int8), rows.indices, rows.indptr), shape=rows.shape)
        starts = range(0, rows.shape[0], BLOCK)
        gains = [np.empty(0, np.int64), *(np.asarray(there[i : i + BLOCK] @ units) for i in starts)]
        return cls(rows, there.tocsc(), units, np.concatenate(gains))

    @property
    def left(self) -> bool:
        """Whether some row would still add something."""
        return len(self.gains) > 0 and int(self.gains.max()) > 0

    def best(self) -> int:
        """The row that adds most; of those that do, the first."""
        return int(np.argmax(self.gains >= least(self.gains)))

    def cover(self, i: int) -> None:
        """Cover the parts of a row, and take it out."""
        for j in self.rows.indices[self.rows.indptr[i] : self.rows.indptr[i + 1]]:
            if self.units[j]:
                having = self.columns.indices[self.columns.indptr[j] : self.columns.indptr[j + 1]]
                self.gains[having] -= self.units[j]
                self.units[j] = 0
        self.gains[i] = -1


def least(gains: Ints) -> int:
    """What a row must add to be as good as the best: less by rounding is not less."""
    most = int(gains.max())
    return most - (most >> TIE)


def coverage_of(table: Table, chosen: Ints, importance: Floats) -> Floats:
    """c(V) after each row of one pick (b,), or of several (m, b)."""
    steps, p = table.weights[chosen.ravel()], len(importance)
    row = np.repeat(np.arange(chosen.size), np.diff(steps.indptr))
    pick = row // max(chosen.shape[-1], 1)
    parts, first = np.unique(pick * p + steps.indices, return_index=True)  # where each pick has a part first
    added = np.bincount(row[first], importance[parts % max(p, 1)], chosen.size).reshape(chosen.shape)
    whole = importance.sum()  # which is all of it, whatever the order of the sum
    return np.asarray(np.minimum(np.cumsum(added, axis=-1), whole))


def drawn(table: Table, b: int, seed: Seed) -> Ints:
    """Positions (m, b) of random rows, m times: fewer times where they have many parts."""
    rng, entries = generator(seed, 1), max(b * int(table.having.sum()) / max(table.n_rows, 1), 1)
    draws = range(int(np.clip(ENTRIES / entries, 10, DRAWS)))
    picks = (rng.choice(table.n_rows, b, replace=False) if b else np.empty(0) for _ in draws)
    return np.array(list(picks), dtype=np.int64)


def chance(table: Table, draws: Ints, importance: Floats) -> Floats:
    """Mean and standard deviation (b, 2) of the coverage that 1, 2, … random rows reach.

    The mean is exact: b rows of n miss a part that m rows have with probability C(n - m, b) / C(n, b). The
    standard deviation is that of random picks.
    """
    n, b = table.n_rows, draws.shape[1]
    counts, group = np.unique(table.having, return_inverse=True)
    shared = np.bincount(group, importance, len(counts))
    means, missed = np.empty(b), np.ones(len(counts))
    for t in range(b):
        missed *= np.maximum(n - counts - t, 0) / (n - t)
        means[t] = shared @ (1 - missed)
    return np.stack([means, coverage_of(table, draws, importance).std(axis=0, ddof=1)], axis=1)


def picked(table: Table, chosen: Ints, draws: Ints) -> Pick:
    """The record of rows that were picked, and of random ones to compare with, by their positions in the table."""
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
        n=table.n_rows,
        random=chance(table, draws, importance),
        notes=_notes(table),
    )


def _notes(table: Table) -> tuple[str, ...]:
    targets = list(dict.fromkeys(map(str, table.labels)))
    if len(targets) < 2:
        return ()
    shown = ", ".join(targets[:6]) + (", …" if len(targets) > 6 else "")
    return (
        f"The explanations are of {len(targets)} targets ({shown}), and a part counts for each of them apart.",
    )
