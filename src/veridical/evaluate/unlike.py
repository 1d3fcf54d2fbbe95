"""What makes the weights of two explanations unlike each other, besides the models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from veridical.attribute.purposes import question_of
from veridical.records import PER_UNIT, Bools, Explanation

AMOUNTS = frozenset({"n_samples", "max_calls", "until", "n_draws"})  # settings that change noise, not meaning

SCALES = (
    "One output lies between 0 and 1, the other does not: if one is a probability and the other is not, their "
    "weights are in different units."
)


def same_draws(a: Explanation, b: Explanation) -> bool:
    """Whether both may have been asked about the same samples."""
    one, other = a.recipe.get("rng"), b.recipe.get("rng")
    return one is None or other is None or one == other


def set_to_zero(e: Explanation) -> Bools:
    """Parts (d,) that a method left out, so that a weight of zero says nothing of how much they count."""
    if _method(e).get("n_features") is None and not e.path:
        return np.zeros(len(e.weights), bool)
    return np.asarray((e.weights == 0) & (e.intervals == 0).all(axis=1))


class Unlike:
    """What a reader should know of pairs of explanations that come one after the other, each thing once."""

    def __init__(self) -> None:
        self.found: dict[str, None] = {}
        self.within = [True, True]  # whether all outputs of each side look like probabilities
        self.n_pairs, self.unlike_targets = 0, list[tuple[str, str]]()

    def add(self, a: Explanation, b: Explanation) -> Unlike:
        """One more pair."""
        self.found |= dict.fromkeys(_notes(a, b))
        self.n_pairs += 1
        if str(a.target) != str(b.target):
            self.unlike_targets.append((str(a.target), str(b.target)))
        self.within = [
            all_so_far and 0 <= e.prediction <= 1 for all_so_far, e in zip(self.within, (a, b), strict=True)
        ]
        return self

    def notes(self) -> tuple[str, ...]:
        """What was found."""
        return (*self._targets(), *self.found, *([SCALES] if self.within[0] != self.within[1] else []))

    def _targets(self) -> list[str]:
        """That explanations of different targets were compared."""
        if not self.unlike_targets:
            return []
        (first, second), n = self.unlike_targets[0], len(self.unlike_targets)
        if self.n_pairs == 1:
            return [f"The two explain different targets: {first} and {second}."]
        where = f"In {n:,} of {self.n_pairs:,} rows" if n < self.n_pairs else "In all rows"
        return [f"{where} the two explain different targets, such as {first} and {second}."]


def _notes(a: Explanation, b: Explanation) -> list[str]:
    found = [*_methods(a, b)]
    if a.purpose != b.purpose:
        asked = f"{question_of(a.purpose)} and {question_of(b.purpose)}"
        found.append(f"Different things were asked, so the weights mean different things: {asked}.")
    if _in_units(a, b) != _in_units(b, a):
        found.append(
            "One weighs a number by its standard deviation, the other by the bin it lies in: their weights cannot "
            "be compared."
        )
    if same_draws(a, b) and not _exact(a, b):
        found.append(
            "Both may come from the same samples (their rng is the same, or not known), so the noise of the "
            "difference is taken at its worst: give one of them another rng for a sharper comparison."
        )
    if set_to_zero(a).any() or set_to_zero(b).any():
        found.append("Parts that a method left out have no weight to compare; they count as not measured.")
    return found


def _methods(a: Explanation, b: Explanation) -> list[str]:
    one, other = _method(a), _method(b)
    names = [str(each.get("name", "another method")) for each in (one, other)]
    if names[0] != names[1]:
        return [f"{names[0]} and {names[1]} do not mean the same by a weight: part of the difference is theirs."]
    unlike = [key for key in one if key not in AMOUNTS and one[key] != other.get(key)]
    return [f"The settings of {names[0]} differ in {', '.join(unlike)}."] if unlike else []


def _method(e: Explanation) -> Mapping[str, Any]:
    found = e.recipe.get("method")
    return found if isinstance(found, Mapping) else {} if found is None else {"name": found}


def _in_units(e: Explanation, other: Explanation) -> set[str]:
    """Columns of both whose weight is here of one unit."""
    both = {part.column for part in other.parts}
    return {part.column for part in e.parts if part.relation == PER_UNIT and part.column in both}


def _exact(a: Explanation, b: Explanation) -> bool:
    return all(bool((e.intervals[:, 0] == e.intervals[:, 1]).all()) for e in (a, b))
