"""Asking the model about an instance without some of its parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.attribute.ask import Model, stacked
from veridical.attribute.neighborhood import Make, asking
from veridical.errors import InputError
from veridical.records import Bools, Floats, Removable, Representation, Seed

BLOCKS = 8  # independent nets that draws come from, so that their error can be told


def removable(representation: Representation, wanted_by: str) -> Removable:
    """A Representation whose parts can be taken away, or an error that says what it lacks."""
    if not isinstance(representation, Removable):
        raise InputError(
            f"{wanted_by} takes parts away as it likes, and {type(representation).__name__} does not say how: it "
            "needs steady and keeping(masks, seed), as in veridical.records.Removable; vd.Lime does without"
        )
    return representation


def child_of(seed: Seed, *path: int) -> Seed:
    """A seed for one purpose."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *path))


@dataclass(frozen=True, eq=False)
class Removal:
    """One instance, and a model that is asked about what is left of it."""

    representation: Removable
    ask: Callable[[Floats, Make, int], Floats]
    seed: Seed

    @classmethod
    def of(cls, model: Model, representation: Representation, seed: Seed, wanted_by: str) -> Removal:
        return cls(removable(representation, wanted_by), asking(model, representation), seed)

    @property
    def d(self) -> int:
        return len(self.representation.names)

    def __call__(self, masks: Bools, first: int, *path: int) -> Floats:
        """Answers (n, k) to one input a mask, of which ``first`` were asked before; ``path`` is for the seed."""
        child = child_of(self.seed, *path)

        def keep(rows: slice | None) -> Any:
            return self.representation.keeping(masks if rows is None else masks[rows], child)

        return self.ask(masks.astype(np.float64), keep, first)

    def blocks(self, n_draws: int) -> int:
        """How many independent answers a mask gets: one where nothing is drawn."""
        return 1 if self.representation.steady else min(BLOCKS, n_draws)

    def draws(self, n_draws: int) -> int:
        """How often the model is asked about a mask: ``n_draws``, as far as blocks of equal size allow."""
        blocks = self.blocks(n_draws)
        return 1 if self.representation.steady else n_draws // blocks * blocks

    def start(self, masks: Bools, n_draws: int) -> Floats:
        """The answer to the instance itself, then those of ``means``, (1 + blocks · n, k)."""
        whole = np.ones((1, self.d), bool)
        if self.representation.steady:
            return self(np.vstack([whole, masks]), 0)
        return stacked([self(whole, 0), self.means(masks, n_draws, 1)])

    def means(self, masks: Bools, n_draws: int, first: int, *path: int) -> Floats:
        """Mean answers to masks, over draws of what is there without the parts, (blocks · n, k).

        The draws of a block are a net, blocks are independent.
        """
        blocks, found = self.blocks(n_draws), []
        each = self.draws(n_draws) // blocks
        for block in range(blocks):
            answers = self(np.repeat(masks, each, axis=0), first + block * each * len(masks), *path, block)
            found.append(answers.reshape(len(masks), each, -1).mean(axis=1))
        return stacked(found)
