"""The submodular pick (SP-LIME, Algorithm 2 of Ribeiro et al. 2016), in memory or in passes over a store.

c(V) is the importance of all parts that some explanation in V gives weight. Greedy takes, again and again, the
explanation that adds most, and reaches at least 1 - 1/e of what is possible. Lazy greedy (Minoux 1978) keeps old
gains as upper bounds, and works out again those that may be the largest. Here nothing is worked out again: a part
is covered once, and its column says which rows lose its importance then. All these updates together are one pass
over the matrix, so gains are always exact, and a pick is the largest of them.

Once the importance of parts is known, a pass keeps the rows that add most. What a row adds only falls while others
are picked (coverage is submodular), so the best of those that were kept is the best of all for as long as it adds
more than any other row did in that pass. Then comes another pass. Not one row differs from the pick in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix

from veridical.protocols import Seed
from veridical.records import Floats, Ints, Part, Tabular
from veridical.seeds import generator
from veridical.summaries.concepts import PartCluster
from veridical.summaries.matrices import ExplanationMatrix, RowBlock

MAX_DRAWS = 100  # random picks, for the spread of what they cover
MAX_ENTRIES = 2**21  # of the matrix that these draws look at, at most
ROWS_PER_BLOCK = 2**14  # rows whose gains are worked out at once
TIE_BITS = 40  # gains that differ by less than one part in 2 ** TIE_BITS are equal: rounding may be all of it


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pick(Tabular):
    """A few explanations that cover together what the model uses (SP-LIME, Algorithm 2).

    The importance of a part is the root of the sum, over all explanations, of the size of its weight; coverage is
    the importance of all parts that some chosen explanation gives weight. It is absolute: ``share`` is
    coverage over ``total``. Where explanations have several targets, a part counts for each target separately.

    Attributes
    ----------
    chosen : array (b,)
        Row numbers, in the order of the pick.
    coverage : array (b,)
        Coverage after each pick.
    importance : array (p,)
        The importance of each part.
    total : float
        The importance of all parts together.
    names : tuple of str (p,)
        The name of each part, without duplicates; with the target where there are several.
    parts : tuple of Part (p,)
        The parts themselves.
    targets : tuple (p,)
        The target that each part counts for.
    weights : CSR matrix (b, p)
        The signed weights of the chosen explanations.
    chosen_targets : tuple (b,)
        The target of each chosen explanation.
    n : int
        How many explanations there were to pick from.
    random : array (b, 2)
        Mean and standard deviation of the coverage of as many random rows.
    concepts : tuple of PartCluster
        The concepts, where parts were matched by likeness.
    notes : tuple of str
        What a reader should know.
    second : Pick, optional
        Of ``pick_for_two``: the same rows as the second model's explanations see them.
    rows : tuple (b,)
        Names of the chosen rows; empty where only their numbers are known.
    """

    chosen: Ints
    coverage: Floats
    importance: Floats
    total: float
    names: tuple[str, ...]
    parts: tuple[Part, ...]
    targets: tuple[Any, ...]
    weights: Any
    chosen_targets: tuple[Any, ...]
    n: int
    random: Floats
    concepts: tuple[PartCluster, ...] = ()
    notes: tuple[str, ...] = ()
    second: Pick | None = None
    rows: tuple[Any, ...] = ()

    @property
    def share(self) -> Floats:
        """Coverage after each pick, as a share of all there is to cover."""
        return np.asarray(self.coverage / (self.total or 1.0))


def greedy(tables: Sequence[ExplanationMatrix], budget: int) -> Ints:
    """Positions of the rows picked; step t goes by table t modulo their number, and one pick serves all tables.

    Of rows that add the same the first is taken; so are the first rows once nothing is left to cover.
    """
    b = min(budget, *(table.n_rows for table in tables))
    states = [Gains.start(table.weights, to_units(table.importance)) for table in tables]
    chosen: list[int] = []
    while len(chosen) < b and any(state.left for state in states):
        i = states[len(chosen) % len(states)].best()
        chosen.append(i)
        for state in states:
            state.cover(i)
    return fill_up(chosen, b)


def fill_up(chosen: Sequence[int], b: int) -> Ints:
    """These rows, and then the first of all others, b together."""
    rest = np.setdiff1d(np.arange(b), chosen)[: b - len(chosen)]
    return np.concatenate([np.array(chosen, dtype=np.int64), rest])


def shuffle_rows(table: ExplanationMatrix, budget: int, seed: Seed) -> Ints:
    """Positions of as many rows in random order; a smaller budget gives the first of them."""
    return generator(seed, 0).permutation(table.n_rows)[:budget]


def to_units(importance: Floats) -> Ints:
    """Importance in units of 2 ** -62 of the total, or finer: whole numbers, whose sums have no rounding."""
    _, exponent = np.frexp(importance.sum())
    return np.asarray(np.ceil(np.ldexp(importance, 62 - exponent)), np.int64)


@dataclass
class Gains:
    """What each row would add: whole numbers, so that taking away leaves no rounding behind."""

    rows: Any  # CSR
    columns: Any  # CSC that says which rows have a part
    units: Ints  # (p,) importance of what is not covered; this changes with each pick
    gains: Ints  # (n,) their sum over the parts of each row; -1 for rows that were picked

    @classmethod
    def start(cls, rows: Any, units: Ints) -> Gains:
        there = csr_matrix((np.ones(rows.nnz, np.int8), rows.indices, rows.indptr), shape=rows.shape)
        starts = range(0, rows.shape[0], ROWS_PER_BLOCK)
        gains = [np.empty(0, np.int64), *(np.asarray(there[i : i + ROWS_PER_BLOCK] @ units) for i in starts)]
        return cls(rows, there.tocsc(), units, np.concatenate(gains))

    @property
    def left(self) -> bool:
        """Whether some row would still add something."""
        return len(self.gains) > 0 and int(self.gains.max()) > 0

    def best(self) -> int:
        """The row that adds most; of those that do, the first."""
        return int(np.argmax(self.gains >= tie_threshold(self.gains)))

    def cover(self, i: int) -> None:
        """Cover the parts of a row, and take it out."""
        for j in self.rows.indices[self.rows.indptr[i] : self.rows.indptr[i + 1]]:
            if self.units[j]:
                having = self.columns.indices[self.columns.indptr[j] : self.columns.indptr[j + 1]]
                self.gains[having] -= self.units[j]
                self.units[j] = 0
        self.gains[i] = -1


def tie_threshold(gains: Ints) -> int:
    """What a row must add to be as good as the best: less by rounding is not less."""
    most = int(gains.max())
    return most - (most >> TIE_BITS)


def measure_coverage(table: ExplanationMatrix, chosen: Ints, importance: Floats) -> Floats:
    """c(V) after each row of one pick (b,), or of several (m, b)."""
    steps, p = table.weights[chosen.ravel()], len(importance)
    row = np.repeat(np.arange(chosen.size), np.diff(steps.indptr))
    pick = row // max(chosen.shape[-1], 1)
    parts, first = np.unique(pick * p + steps.indices, return_index=True)  # where each pick has a part first
    added = np.bincount(row[first], importance[parts % max(p, 1)], chosen.size).reshape(chosen.shape)
    whole = importance.sum()  # which is all of it, whatever the order of the sum
    return np.asarray(np.minimum(np.cumsum(added, axis=-1), whole))


def draw_rows(table: ExplanationMatrix, b: int, seed: Seed) -> Ints:
    """Positions (m, b) of random rows, m times: fewer times where they have many parts."""
    rng, entries = generator(seed, 1), max(b * int(table.having.sum()) / max(table.n_rows, 1), 1)
    draws = range(int(np.clip(MAX_ENTRIES / entries, 10, MAX_DRAWS)))
    picks = (rng.choice(table.n_rows, b, replace=False) if b else np.empty(0) for _ in draws)
    return np.array(list(picks), dtype=np.int64)


def estimate_random_coverage(table: ExplanationMatrix, draws: Ints, importance: Floats) -> Floats:
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
    return np.stack([means, measure_coverage(table, draws, importance).std(axis=0, ddof=1)], axis=1)


def build_pick(table: ExplanationMatrix, chosen: Ints, draws: Ints) -> Pick:
    """The record of rows that were picked, and of random ones to compare with, by their positions in the table."""
    importance = table.importance
    weights = table.weights[chosen]
    for array in (weights.data, weights.indices, weights.indptr):
        array.flags.writeable = False
    return Pick(
        chosen=table.rows[chosen],
        coverage=measure_coverage(table, chosen, importance),
        importance=importance,
        total=float(importance.sum()),
        names=table.names,
        parts=table.parts,
        targets=table.targets,
        weights=weights,
        chosen_targets=tuple(table.row_targets[i] for i in chosen),
        n=table.n_rows,
        random=estimate_random_coverage(table, draws, importance),
        notes=_notes(table),
    )


def _notes(table: ExplanationMatrix) -> tuple[str, ...]:
    targets = list(dict.fromkeys(map(str, table.labels)))
    if len(targets) < 2:
        return ()
    shown = ", ".join(targets[:6]) + (", …" if len(targets) > 6 else "")
    return (
        f"The explanations are of {len(targets)} targets ({shown}), and a part counts for each of them apart.",
    )


MAX_HELD = 2**21  # rows and weights that are held; of more, each pass keeps what it needs
MAX_CANDIDATES = 2**12  # sets of parts that a pass keeps

Read: TypeAlias = Callable[[], Iterable[RowBlock]]  # all rows once more, in order


def greedy_by_passes(table: ExplanationMatrix, read: Read, budget: int) -> Ints:
    """Positions of the rows that ``greedy`` would pick if it held them all."""
    units, b = to_units(table.importance), min(budget, table.n_rows)
    chosen: list[int] = []
    while len(chosen) < b and units.any():
        kept = _Candidates(units)
        for block in read():
            kept.add(block)
        chosen += kept.take_picks(b - len(chosen))
    return fill_up(chosen, b)


def select_rows(table: ExplanationMatrix, read: Read, positions: Ints) -> ExplanationMatrix:
    """The table of the rows at these positions, which rise."""

    def blocks() -> Iterator[RowBlock]:
        start = 0
        for block in read():
            stop = start + len(block.numbers)
            first, last = np.searchsorted(positions, (start, stop))
            if first < last:
                yield block.take(positions[first:last] - start)
            start = stop

    return table.with_rows(blocks())


class _Candidates:
    """The rows that add most: of those with the same parts that are not covered yet, the first."""

    def __init__(self, units: Ints) -> None:
        self.units = units
        self.bound = 0  # no row that was let go adds more
        self.n = 0  # rows seen
        self.sets: dict[bytes, tuple[int, int]] = {}  # what the first row with these parts adds, and its position

    def add(self, block: RowBlock) -> None:
        rows = self._select_uncovered(block)
        gains = rows @ self.units
        for i in np.flatnonzero(gains > self.bound):
            parts = rows.indices[rows.indptr[i] : rows.indptr[i + 1]].tobytes()
            self.sets.setdefault(parts, (int(gains[i]), self.n + int(i)))
        self.n += len(gains)
        if len(self.sets) > MAX_CANDIDATES:
            self._drop()

    def take_picks(self, most: int) -> list[int]:
        """The rows that are surely the next, at least one; what they cover is taken out of the units."""
        parts = np.frombuffer(b"".join(self.sets), np.int32)
        starts = np.cumsum([0, *(len(each) // parts.itemsize for each in self.sets)])
        shape = len(self.sets), len(self.units)
        state = Gains.start(csr_matrix((np.ones(len(parts), np.int8), parts, starts), shape=shape), self.units)
        positions = [position for _, position in self.sets.values()]
        chosen: list[int] = []
        while len(chosen) < most and state.left and (not chosen or self.bound < tie_threshold(state.gains)):
            i = state.best()
            state.cover(i)
            chosen.append(positions[i])
        return chosen

    def _select_uncovered(self, block: RowBlock) -> csr_matrix:
        """Which rows have which parts that are not covered."""
        there = self.units[block.weights.indices] > 0
        starts = np.r_[0, np.cumsum(there)][block.weights.indptr]
        parts = block.weights.indices[there].astype(np.int32)
        return csr_matrix((np.ones(len(parts), np.int8), parts, starts), shape=block.weights.shape)

    def _drop(self) -> None:
        """Keep those that add most, and each that may be the first of all that are as good as the best.

        That is one that adds more than all before it: where more are as good as can be kept, it is not lost.
        """
        gains = np.array([gain for gain, _ in self.sets.values()])
        order = np.argsort(-gains, kind="stable")
        before = np.r_[0, np.maximum.accumulate(gains)[:-1]]
        kept = (gains > before) & (gains >= tie_threshold(gains))
        kept[order[:MAX_CANDIDATES]] = True
        self.bound = int(gains[order[MAX_CANDIDATES - 1]])
        self.sets = {parts: at for (parts, at), stays in zip(self.sets.items(), kept, strict=True) if stays}
