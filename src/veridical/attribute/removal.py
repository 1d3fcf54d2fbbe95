"""Asking the model about an instance without some of its parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.attribute.ask import Model
from veridical.attribute.neighborhood import Make, asking
from veridical.errors import InputError
from veridical.records import Bools, Floats, Removable, Representation, Seed


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

    def draws(self, n_draws: int) -> int:
        """How often the model is asked about a mask: once where nothing is drawn."""
        return 1 if self.representation.steady else n_draws

    def start(self, masks: Bools, n_draws: int) -> Floats:
        """The answer to the instance itself, then those of ``repeated``, (1 + draws · n, k)."""
        return self(np.vstack([np.ones((1, self.d), bool), np.tile(masks, (self.draws(n_draws), 1))]), 0)

    def repeated(self, masks: Bools, n_draws: int, first: int, *path: int) -> Floats:
        """Answers to all masks, and again for each draw of what is there without the parts, (draws · n, k)."""
        return self(np.tile(masks, (self.draws(n_draws), 1)), first, *path)
