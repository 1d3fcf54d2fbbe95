"""Where a suspected region lies in an instance, and how much of an explanation lies there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.errors import InputError, NotApplicable
from veridical.evaluate.compare import interval
from veridical.evaluate.truth import truth_of
from veridical.evaluate.weights import mass_of
from veridical.records import Bools, Explanation, Floats, Measured, Record, Representation

INSIDE = 0.5  # share of a part from which on it is taken for inside


@dataclass(frozen=True, slots=True, eq=False)
class Inside(Record):
    """Where a region lies in one instance."""

    shares: Floats  # (d,) the share of each part that lies inside
    places: Any = None  # bools of the instance's shape, perhaps channels aside; None where the region is named

    @property
    def parts(self) -> Bools:
        """Which parts are inside, (d,): those by half, or else the one that is most."""
        return np.asarray(self.shares >= min(INSIDE, self.shares.max()))

    @property
    def across(self) -> int:
        """How many parts lie across the border."""
        return int(((self.shares > 0) & (self.shares < 1)).sum())

    def size(self, explanation: Explanation) -> float:
        """The share that the region has of an explanation that is the same everywhere."""
        same = np.where(explanation.tested, 1.0, np.nan)
        return self._of(same, None if explanation.map is None else np.ones(explanation.map.shape))

    def share(self, explanation: Explanation) -> float:
        """The share of an explanation, in size, that lies inside; nan if it has none, or nothing was tested."""
        return self._of(explanation.weights, explanation.map)

    def _of(self, weights: Floats, values: Any) -> float:
        if values is not None and self.places is not None:
            sizes = np.abs(np.asarray(values, dtype=np.float64))
            where = fitted(self.places, sizes.shape)
            if where is not None:
                return float((sizes * where).sum() / sizes.sum()) if sizes.any() else np.nan
        if np.isnan(weights[self.shares > 0]).all() or not np.nan_to_num(weights).any():
            return np.nan
        return float(mass_of(weights) @ self.shares)


def fitted(places: Any, shape: tuple[int, ...]) -> Any:
    """Bools of an instance's shape, one axis aside, so that they broadcast to it; None if they do not fit."""
    for axis in (None, *range(len(shape))):
        if places.shape == (shape if axis is None else shape[:axis] + shape[axis + 1 :]):
            return places if axis is None else np.expand_dims(places, axis)
    return None


def items_of(region: Any, n: int) -> list[Any]:
    """One item an instance: names, a mask, or a function of the representation."""
    if region is None:
        raise NotApplicable(
            "there is no region to look at: give region=…, names of columns or words, or one mask an instance"
        )
    if isinstance(region, str):
        return [[region]] * n
    if callable(region) or isinstance(region, (set, frozenset)) or _are_names(region):
        return [region if callable(region) else list(region)] * n
    if not hasattr(region, "__len__") or not len(region):
        raise InputError(f"region wants names of columns or words, or one mask an instance, not {region!r}")
    if len(region) == n and all(np.ndim(item) or callable(item) for item in region):
        return list(region)
    if hasattr(region, "shape"):  # one mask for all
        return [region] * n
    if not all(np.ndim(item) or callable(item) for item in region):
        raise InputError(f"region wants names of columns or words, or one mask an instance, not {region!r}")
    raise InputError(f"region wants one mask an instance: there are {n} instances and {len(region)} masks")


def inside(item: Any, representation: Representation, x: Any) -> Inside | None:
    """Where a region lies in an instance; None where it is named and the instance has no such part."""
    if callable(item):
        return _checked(np.asarray(item(representation), dtype=np.float64), representation)
    if _are_names(item):
        known = {name for part in representation.parts for name in (part.name, part.column)}
        if not known & set(item):
            return None
    try:
        shares = truth_of(item, representation, x)
    except InputError as cause:
        raise InputError(str(cause).replace("the truth", "the region")) from cause
    named = _are_names(item) or np.shape(item) == (len(representation.parts),)
    return Inside(shares, None if named and np.shape(x) != np.shape(item) else np.asarray(item, dtype=bool))


def _checked(shares: Floats, representation: Representation) -> Inside | None:
    d = len(representation.parts)
    if shares.shape != (d,) or not np.isfinite(shares).all() or shares.min() < 0 or shares.max() > 1:
        raise InputError(f"the region's function must give a share from 0 to 1 of each part: {d} of them")
    return Inside(shares) if shares.any() else None


def _are_names(item: Any) -> bool:
    return isinstance(item, (list, tuple, set, frozenset)) and all(isinstance(each, str) for each in item)


def shares_measured(
    name: str, explanations: Sequence[Explanation], where: Sequence[Inside], rng: np.random.Generator
) -> tuple[Floats, Measured]:
    """The share of each explanation inside, (n,), and a line of a table with those that know nothing."""
    shares = np.array([each.share(own) for each, own in zip(where, explanations, strict=True)])
    found = Measured(
        name, *interval(shares), int(np.isfinite(shares).sum()), null_shares(explanations, where, rng)
    )
    return shares, found


def null_shares(
    explanations: Sequence[Explanation], where: Sequence[Inside], rng: np.random.Generator
) -> dict[str, float]:
    """The mean share inside of explanations that know nothing, and of those of other instances."""

    def mean(change: Callable[[Floats], Floats]) -> float:
        found = [each._of(change(own.weights), None) for each, own in zip(where, explanations, strict=True)]
        return float(np.nanmean(found)) if np.isfinite(found).any() else np.nan

    others = [*explanations[1:], explanations[0]]
    pairs = [(each, own) for each, own in zip(where, others, strict=True) if len(own.weights) == len(each.shares)]
    another = np.array([each.share(own) for each, own in pairs])
    known = {
        "constant": float(np.mean([each.size(own) for each, own in zip(where, explanations, strict=True)])),
        "noise": mean(lambda weights: rng.standard_normal(len(weights))),
        "shuffled": mean(rng.permutation),
        "another": float(np.nanmean(another)) if np.isfinite(another).any() else np.nan,
    }
    return {key: value for key, value in known.items() if np.isfinite(value)}
