"""The submodular pick from more explanations than are held: they are read again and again, a few at a time.

Once the importance of parts is known, a pass keeps the rows that add most. What a row adds only falls while others
are picked (coverage is submodular), so the best of those that were kept is the best of all for as long as it adds
more than any other row did in that pass. Then comes another pass. Not one row differs from the pick in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
from scipy.sparse import csr_matrix

from veridical.records import Ints
from veridical.summarize.pick import Gains, filled, least, units_of
from veridical.summarize.table import Block, Table

MOST = 2**21  # rows and weights that are held; of more, each pass keeps what it needs
KEPT = 2**12  # sets of parts that a pass keeps

Read: TypeAlias = Callable[[], Iterable[Block]]  # all rows once more, in order


def greedy_by_passes(table: Table, read: Read, budget: int) -> Ints:
    """Positions of the rows that ``greedy`` would pick if it held them all."""
    units, b = units_of(table.importance), min(budget, table.n_rows)
    chosen: list[int] = []
    while len(chosen) < b and units.any():
        kept = _Kept(units)
        for block in read():
            kept.add(block)
        chosen += kept.picks(b - len(chosen))
    return filled(chosen, b)


def rows_at(table: Table, read: Read, positions: Ints) -> Table:
    """The table of the rows at these positions, which rise."""

    def blocks() -> Iterator[Block]:
        start = 0
        for block in read():
            stop = start + len(block.numbers)
            first, last = np.searchsorted(positions, (start, stop))
            if first < last:
                yield block.take(positions[first:last] - start)
            start = stop

    return table.of(blocks())


class _Kept:
    """The rows that add most: of those with the same parts that are not covered yet, the first."""

    def __init__(self, units: Ints) -> None:
        self.units = units
        self.bound = 0  # no row that was let go adds more
        self.n = 0  # rows seen
        self.sets: dict[bytes, tuple[int, int]] = {}  # what the first row with these parts adds, and its position

    def add(self, block: Block) -> None:
        rows = self._uncovered(block)
        gains = rows @ self.units
        for i in np.flatnonzero(gains > self.bound):
            parts = rows.indices[rows.indptr[i] : rows.indptr[i + 1]].tobytes()
            self.sets.setdefault(parts, (int(gains[i]), self.n + int(i)))
        self.n += len(gains)
        if len(self.sets) > KEPT:
            self._let_go()

    def picks(self, most: int) -> list[int]:
        """The rows that are surely the next, at least one; what they cover is taken out of the units."""
        parts = np.frombuffer(b"".join(self.sets), np.int32)
        starts = np.cumsum([0, *(len(each) // parts.itemsize for each in self.sets)])
        shape = len(self.sets), len(self.units)
        state = Gains.of(csr_matrix((np.ones(len(parts), np.int8), parts, starts), shape=shape), self.units)
        positions = [position for _, position in self.sets.values()]
        chosen: list[int] = []
        while len(chosen) < most and state.left and (not chosen or self.bound < least(state.gains)):
            i = state.best()
            state.cover(i)
            chosen.append(positions[i])
        return chosen

    def _uncovered(self, block: Block) -> csr_matrix:
        """Which rows have which parts that are not covered."""
        there = self.units[block.weights.indices] > 0
        starts = np.r_[0, np.cumsum(there)][block.weights.indptr]
        parts = block.weights.indices[there].astype(np.int32)
        return csr_matrix((np.ones(len(parts), np.int8), parts, starts), shape=block.weights.shape)

    def _let_go(self) -> None:
        """Keep those that add most, and each that may be the first of all that are as good as the best.

        That is one that adds more than all before it: where more are as good as can be kept, it is not lost.
        """
        gains = np.array([gain for gain, _ in self.sets.values()])
        order = np.argsort(-gains, kind="stable")
        before = np.r_[0, np.maximum.accumulate(gains)[:-1]]
        kept = (gains > before) & (gains >= least(gains))
        kept[order[:KEPT]] = True
        self.bound = int(gains[order[KEPT - 1]])
        self.sets = {parts: at for (parts, at), stays in zip(self.sets.items(), kept, strict=True) if stays}
