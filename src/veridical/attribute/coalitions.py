"""Which masks Shapley values are estimated from: complement pairs, each number of parts by its share.

In a Shapley value as a regression (Lundberg and Lee 2017) a mask of s of d parts has weight 1 / (s (d - s)) shared
by all masks of its size. A class is the pairs of one size and the complements; classes that are small are taken
whole, the rest is sampled without repeating a mask.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations

import numpy as np
import numpy.typing as npt

from veridical.attribute.ask import stacked
from veridical.attribute.removal import Removal
from veridical.masks import generator, log_choose
from veridical.records import Bools, Floats, Ints, Seed

DRAWS = 8  # of the empty mask, at least
LISTED = 2**14  # pairs of a class, up to which it is listed and shuffled


@dataclass(frozen=True, eq=False)
class Coalitions:
    """The pairs of d parts, in an order that the seed fixes."""

    d: int
    seed: Seed
    again: bool  # a mask is worth asking about more than once
    sizes: Ints  # of each class, the parts in the smaller half of a pair
    shares: Floats  # of each class, what it weighs; all together 1
    counts: Floats  # of each class, its pairs; infinite if they are very many

    @classmethod
    def of(cls, d: int, seed: Seed, again: bool) -> Coalitions:
        """Of an instance with d parts."""
        sizes = np.arange(1, d // 2 + 1)
        halved = np.where(2 * sizes == d, 0.5, 1.0)  # a mask of half the parts has a complement of its own size
        shares = halved / (sizes * (d - sizes))
        many = log_choose(d)[1 : d // 2 + 1] > np.log(2.0**40)
        counts = [np.inf if much else float(math.comb(d, int(s))) for s, much in zip(sizes, many, strict=True)]
        return cls(d, seed, again, sizes, shares / shares.sum(), halved * counts)

    @property
    def unbiased(self) -> float:
        """The factor by which the mean of (mask - its share of parts) times differences is a Shapley value."""
        return float(np.sum(1 / np.arange(1, self.d)))

    def allot(self, pairs: int, had: Ints) -> Ints:
        """Pairs to have of each class: all, where its share is more than there are; no fewer than it had."""
        counts = np.full(len(had), np.inf) if self.again else self.counts
        taken, whole, wanted = np.zeros(len(had)), np.zeros(len(had), bool), np.zeros(len(had))
        while not whole.all():
            left = np.where(whole, 0.0, self.shares)
            wanted = (pairs - taken[whole].sum()) * left / left.sum()
            more = ~whole & (wanted >= counts)
            if not more.any():
                break
            whole |= more
            taken[whole] = counts[whole]
        start = generator(self.seed, 12).random()  # so that what is rounded away is right on average
        rounded = np.diff(np.floor(np.append(0.0, np.cumsum(wanted)) + start))
        taken = np.maximum(np.where(whole, taken, np.minimum(rounded, counts)), had)
        for place in np.argsort(had - taken, kind="stable"):  # what was had already may be more than its share
            taken[place] -= min(max(taken.sum() - pairs, 0), taken[place] - had[place])
        return taken.astype(np.int64)

    def masks(self, place: int, start: int, stop: int) -> Bools:
        """The smaller halves of pairs start..stop of a class, (n, d)."""
        size = int(self.sizes[place])
        if self.counts[place] > LISTED:
            keys = generator(self.seed, 13, size, start).random((stop - start, self.d), dtype=np.float32)
            return np.asarray(keys.argsort(axis=1) < size)
        every = _combinations(self.d, size)[: int(self.counts[place])]
        order = generator(self.seed, 13, size).permutation(len(every))
        masks = np.zeros((stop - start, self.d), bool)
        chosen = every[order[np.arange(start, stop) % len(every)]].astype(np.intp)
        np.put_along_axis(masks, chosen, True, axis=1)
        return masks

    def weigh(self, taken: Ints) -> tuple[Floats, Floats]:
        """The weight of each pair that was taken, (m,), and its chance not to be, by which its error counts."""
        whole = np.zeros(len(taken), bool) if self.again else taken >= self.counts
        rest = self.shares[~whole].sum() / max(int(taken[~whole].sum()), 1)
        each = np.where(whole, self.shares / np.maximum(taken, 1), rest)
        listed = (self.counts <= LISTED) & (not self.again)
        missed = np.where(listed, 1 - taken / self.counts, 1.0)
        return np.repeat(each, taken), np.repeat(missed, taken)


@lru_cache(maxsize=32)
def _combinations(d: int, size: int) -> npt.NDArray[np.uint16]:
    """All sets of so many of d parts, (n, size), in order; kept for the next explanation."""
    parts = np.fromiter(chain.from_iterable(combinations(range(d), size)), np.uint16)
    every = parts.reshape(-1, size)
    every.flags.writeable = False
    return every


@dataclass(frozen=True, eq=False)
class Asked:
    """The model's answers so far: to the instance, to no part at all, and to pairs, class by class."""

    coalitions: Coalitions
    own: Floats  # (1, k)
    empty: Floats  # (draws, k)
    masks: tuple[Bools, ...]  # a class: (m, d)
    answers: tuple[Floats, ...]  # a class: (2 m, k), the halves of a pair in turn
    n_calls: int

    @classmethod
    def nothing(cls, coalitions: Coalitions) -> Asked:
        """Before the first call."""
        none = tuple(np.zeros((0, coalitions.d), bool) for _ in coalitions.sizes)
        return cls(coalitions, np.empty((0, 1)), np.empty((0, 1)), none, (), 0)

    @property
    def taken(self) -> Ints:
        """Pairs of each class."""
        return np.array([len(masks) for masks in self.masks], np.int64)

    @property
    def complete(self) -> bool:
        """Whether no mask is left to ask about."""
        return not self.coalitions.again and bool((self.taken >= self.coalitions.counts).all())

    @property
    def outputs(self) -> Floats:
        """The instance, the empty mask, all first halves and all second halves, (n, k)."""
        halves = [answers[half::2] for half in (0, 1) for answers in self.answers]
        return np.concatenate([self.own, self.empty, *halves])

    def grown(self, removal: Removal, n: int) -> Asked:
        """With answers to n samples in all; those that are there are kept."""
        d, had = removal.d, len(self.empty)
        draws = max(n // (d + 2), DRAWS) if self.coalitions.again else 1  # about the share that their error has
        wanted = self.coalitions.allot((n - draws) // 2, self.taken)
        new = [self.coalitions.masks(i, len(masks), int(wanted[i])) for i, masks in enumerate(self.masks)]
        pieces = [np.ones((0 if self.n_calls else 1, d), bool), np.zeros((draws - had, d), bool)]
        pieces += [np.stack([masks, ~masks], axis=1).reshape(-1, d) for masks in new]
        found = removal(np.concatenate(pieces), self.n_calls, 14, self.n_calls)
        own, empty, *answers = np.split(found, np.cumsum([len(piece) for piece in pieces])[:-1])
        if self.n_calls:
            own, empty = stacked([self.own, own]), stacked([self.empty, empty])
            answers = [stacked([a, b]) for a, b in zip(self.answers, answers, strict=True)]
        masks = tuple(np.concatenate([a, b]) for a, b in zip(self.masks, new, strict=True))
        return Asked(self.coalitions, own, empty, masks, tuple(answers), self.n_calls + len(found))
