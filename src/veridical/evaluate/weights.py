"""What metrics read off the weights of an explanation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from veridical.errors import InputError
from veridical.records import Bools, Explanation, Floats, Ints


def ordered(weights: Floats, rng: np.random.Generator) -> Ints:
    """Parts from the largest number down; parts that are the same in an order of their own, drawn at random."""
    mixed = rng.permutation(len(weights))
    order: Ints = mixed[np.argsort(-weights[mixed], kind="stable")]
    return order


def top_of(weights: Floats, k: int, rng: np.random.Generator) -> Bools:
    """Which parts are the k heaviest, (d,); a part without weight is never among them."""
    size = np.abs(weights)
    found = np.zeros(len(size), bool)
    found[ordered(size, rng)[:k]] = True
    return found & (size > 0)


def mass_of(weights: Floats) -> Floats:
    """The share of all weight, in size, that each part has, (d,); one that was not tested has none."""
    size = np.nan_to_num(np.abs(weights))
    total = float(size.sum())
    if total == 0:
        raise InputError("the explanation is empty: no part has weight")
    return np.asarray(size / total)


def correlation(a: Floats, b: Floats, weights: Floats | None = None) -> float:
    """Pearson's correlation, weighted; 0 where one of the two does not move, which says nothing of the other."""
    w = np.full(len(a), 1 / len(a)) if weights is None else weights / weights.sum()
    one, other = a - w @ a, b - w @ b
    spread = float(np.sqrt((w @ one**2) * (w @ other**2)))
    scale = float(np.abs(a).max() * np.abs(b).max())
    return 0.0 if spread <= 1e-12 * scale else float(np.clip((w * one) @ other / spread, -1, 1))


def tested_in_both(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The numbers of parts that were tested in both of two explanations, at least two of them."""
    known = ~(np.isnan(a) | np.isnan(b))
    if known.all():
        return a, b
    if known.sum() < 2:
        raise InputError("fewer than two parts were tested in both explanations")
    return a[known], b[known]


def has_weight(explanation: Explanation) -> bool:
    """Whether any part has weight; one that was not tested has none."""
    return bool(np.nan_to_num(explanation.weights).any())


def unsound(explanation: Explanation) -> int:
    """How many weights are no numbers, but for those of parts that were not tested: these have no interval."""
    untested = np.isnan(explanation.intervals).all(axis=1) if len(explanation.intervals) else np.zeros(0, bool)
    known = np.isfinite(explanation.weights)
    return (
        int((~known & ~(np.isnan(explanation.weights) & untested)).sum()) if known.shape == untested.shape else 0
    )


def rank_correlation(a: Floats, b: Floats) -> float:
    """Spearman's correlation, of values and not of orders; 1 if both are the same all over, 0 if one is."""
    a, b = tested_in_both(a, b)
    return 1.0 if _same(a, b) else correlation(rankdata(a), rankdata(b))


def likeness(a: Floats, b: Floats) -> float:
    """The cosine of the angle between two lists of weights: 1 if one is a multiple of the other."""
    a, b = tested_in_both(a, b)
    sizes = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    if not a.any() and not b.any():
        raise InputError("the explanation is empty: no part has weight")
    return 0.0 if sizes == 0 else float(np.clip(a @ b / sizes, -1, 1))


def matched(first: Explanation, second: Explanation) -> tuple[Ints, Ints]:
    """Parts of two explanations that stand for the same: positions in the first and in the second, (m,) each.

    Parts with the same names; regions that lie at the same places, each place one; the same columns of a table;
    or else those names that both have.
    """
    if first.names == second.names:
        same = np.arange(len(first.parts))
        return same, same
    one, other = (None if e.view is None else e.view.data.get("labels") for e in (first, second))
    if one is not None and other is not None and one.shape == other.shape:
        return np.asarray(one, dtype=np.int64).ravel(), np.asarray(other, dtype=np.int64).ravel()
    columns = [[p.column for p in e.parts] for e in (first, second)]
    by_column = all(len(set(c)) == len(c) for c in columns)
    keys = columns if by_column else [list(first.names), list(second.names)]
    places = {key: j for j, key in enumerate(keys[1])}
    found = [(i, places[key]) for i, key in enumerate(keys[0]) if key in places]
    if len(found) < 2:
        raise InputError("the parts of nearby instances have nothing in common")
    pairs = np.array(found, dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]


def _same(a: Floats, b: Floats) -> bool:
    return bool(np.ptp(a) == 0 and np.ptp(b) == 0)


def by_column(explanations: Sequence[Explanation]) -> Floats:
    """Weights (n, c) of all columns that any explanation has, those of a column summed; 0 where it has none."""
    columns = {part.column: None for why in explanations for part in why.parts}
    at = {column: j for j, column in enumerate(columns)}
    found = np.zeros((len(explanations), len(at)))
    for row, why in zip(found, explanations, strict=True):
        np.add.at(row, [at[part.column] for part in why.parts], np.nan_to_num(why.weights))
    return found
