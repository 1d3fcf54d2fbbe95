"""Asking the model about an instance without some of its parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.attribute.ask import Model, stacked
from veridical.attribute.neighborhood import Make, asking
from veridical.errors import InputError
from veridical.masks import child_of
from veridical.records import Bools, Floats, Removable, Representation, Seed

AT_ONCE = 2**22  # numbers in the masks that inputs are made for at once, about


def removable(representation: Representation, wanted_by: str) -> Removable:
    """A Representation whose parts can be taken away, or an error that says what it lacks."""
    if not isinstance(representation, Removable):
        raise InputError(
            f"{wanted_by} takes parts away as it likes, and {type(representation).__name__} does not say how: it "
            "needs steady and keeping(masks, seed), as in veridical.records.Removable (of the methods, vd.Lime "
            "does without)"
        )
    return representation


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
        whole = np.ones((1, self.d), bool)
        if self.representation.steady:  # all at once, so that a shortcut is tried on more than the instance
            return self(np.vstack([whole, masks]), 0)
        return stacked([self(whole, 0), self.repeated(masks, n_draws, 1)])

    def repeated(self, masks: Bools, n_draws: int, first: int, *path: int) -> Floats:
        """Answers to all masks, and again for each draw of what is there without the parts, (draws · n, k)."""
        draws, found = self.draws(n_draws), []
        step = max(AT_ONCE // max(masks.size, 1), 1)
        for start in range(0, draws, step):
            again = np.tile(masks, (min(step, draws - start), 1))
            found.append(self(again, first + start * len(masks), *path, start))
        return stacked(found)
