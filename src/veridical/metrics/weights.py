"""What is read off the weights of an explanation alone: order, shares, correlations, complexity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import rankdata

from veridical.errors import InputError
from veridical.metrics.reports import Metric, Trial
from veridical.records import TOGETHER, Bools, Explanation, Floats, Ints, Part


def rank_descending(weights: Floats, rng: np.random.Generator) -> Ints:
    """Positions from the largest number down; ties in random order."""
    mixed = rng.permutation(len(weights))
    return mixed[np.argsort(-weights[mixed], kind="stable")]


def mask_heaviest(weights: Floats, k: int, rng: np.random.Generator) -> Bools:
    """Which features are the k heaviest, (d,); never one without weight."""
    size = np.abs(weights)
    found = np.zeros(len(size), bool)
    found[rank_descending(size, rng)[:k]] = True
    return found & (size > 0)


def share_weights(weights: Floats) -> Floats:
    """The share of all weight, in size, of each feature, (d,); 0 if it was not tested."""
    size = np.nan_to_num(np.abs(weights))
    total = float(size.sum())
    if total == 0:
        raise InputError("the explanation is empty: no feature has weight")
    return np.asarray(size / total)


def correlation(a: Floats, b: Floats, weights: Floats | None = None) -> float:
    """Weighted Pearson correlation; 0 if one of the two is constant."""
    w = np.full(len(a), 1 / len(a)) if weights is None else weights / weights.sum()
    one, other = a - w @ a, b - w @ b
    spread = float(np.sqrt((w @ one**2) * (w @ other**2)))
    scale = float(np.abs(a).max() * np.abs(b).max())
    return 0.0 if spread <= 1e-12 * scale else float(np.clip((w * one) @ other / spread, -1, 1))


def tested_in_both(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """The weights of features that both explanations tested; at least two."""
    known = ~(np.isnan(a) | np.isnan(b))
    if known.all():
        return a, b
    if known.sum() < 2:
        raise InputError("fewer than two features were tested in both explanations")
    return a[known], b[known]


def has_weight(explanation: Explanation) -> bool:
    """Whether any feature has weight."""
    return bool(np.nan_to_num(explanation.weights).any())


def count_invalid(explanation: Explanation) -> int:
    """How many weights are NaN or infinite, except those of untested features, which have no interval."""
    untested = np.isnan(explanation.intervals).all(axis=1) if len(explanation.intervals) else np.zeros(0, bool)
    known = np.isfinite(explanation.weights)
    return (
        int((~known & ~(np.isnan(explanation.weights) & untested)).sum()) if known.shape == untested.shape else 0
    )


def rank_correlation(a: Floats, b: Floats) -> float:
    """Spearman's correlation (of values); 1 if both are constant, 0 if one is."""
    a, b = tested_in_both(a, b)
    return 1.0 if np.ptp(a) == np.ptp(b) == 0 else correlation(rankdata(a), rankdata(b))


def cosine_similarity(a: Floats, b: Floats) -> float:
    """Cosine of the angle between two lists of weights: 1 if one is a multiple of the other."""
    a, b = tested_in_both(a, b)
    sizes = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    if not a.any() and not b.any():
        raise InputError("the explanation is empty: no feature has weight")
    return 0.0 if sizes == 0 else float(np.clip(a @ b / sizes, -1, 1))


def spread_blocks(explanation: Explanation, parts: Sequence[Part]) -> Explanation:
    """The explanation by single columns: those of a block have equal shares of its weight."""
    if all(part.relation != TOGETHER for part in explanation.parts):
        return explanation
    places = {part.column: i for i, part in enumerate(parts)}
    at, shares, owners = list[int](), list[float](), list[int]()
    for j, part in enumerate(explanation.parts):
        columns = part.value if part.relation == TOGETHER else (part.column,)
        for column in columns:
            if column not in places:
                raise InputError(f"the explanation is of the column {column!r}, which is no feature here")
            at.append(places[column])
            shares.append(1 / len(columns))
            owners.append(j)
    weights, intervals = np.zeros(len(parts)), np.zeros((len(parts), 2))
    weights[at] = explanation.weights[owners] * shares
    intervals[at] = explanation.intervals[owners] * np.array(shares)[:, None]
    return replace(
        explanation,
        parts=tuple(parts),
        weights=weights,
        intervals=intervals,
        unsettled=(),
        values=(),
        positions=(),
        pairs=(),
        chosen=(),
    )


def match_parts(first: Explanation, second: Explanation) -> tuple[Ints, Ints]:
    """Match the features of two explanations: their positions in the first and in the second, (m,) each.

    Features match by name; regions by the places they share; columns of a table by column; else names that both
    have.
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
        raise InputError("the features of nearby instances have nothing in common")
    pairs = np.array(found, dtype=np.int64)
    return pairs[:, 0], pairs[:, 1]


def sum_by_column(explanations: Sequence[Explanation]) -> Floats:
    """Weights (n, c) by column, those of a column summed; 0 where an explanation lacks the column."""
    columns = {part.column: None for why in explanations for part in why.parts}
    at = {column: j for j, column in enumerate(columns)}
    found = np.zeros((len(explanations), len(at)))
    for row, why in zip(found, explanations, strict=True):
        np.add.at(row, [at[part.column] for part in why.parts], np.nan_to_num(why.weights))
    return found


def count_nonzero(trial: Trial, rng: np.random.Generator) -> float:
    """Number of features with weight."""
    return float(np.count_nonzero(np.nan_to_num(trial.explanation.weights)))


def entropy(trial: Trial, rng: np.random.Generator) -> float:
    """Entropy of the shares of weight, in nats (Bhatt et al. 2020, Definition 4)."""
    mass = share_weights(trial.explanation.weights)
    some = mass[mass > 0]
    return float(-some @ np.log(some))


def gini_index(trial: Trial, rng: np.random.Generator) -> float:
    """Gini index of the weights' sizes, 0 if all are the same (Chalasani et al. 2020)."""
    mass = np.sort(share_weights(trial.explanation.weights)[trial.explanation.tested])
    d = len(mass)
    return float((2 * np.arange(1, d + 1) - d - 1) @ mass / d)


COMPLEXITY = (
    Metric("size", count_nonzero, "lower", "complexity",
           "How many features have a weight that is not zero.", least=0.0),
    Metric("entropy", entropy, "lower", "complexity",
           "How evenly the weight is spread over features, in nats: 0 if one feature has it all; the unit of "
           "the weights does not matter.", least=0.0),
    Metric("sparseness", gini_index, "higher", "complexity",
           "Gini index of the sizes of weights: 0 if all are the same, almost 1 if one feature has all; the "
           "unit of the weights does not matter.", least=0.0, most=1.0),
)  # fmt: skip
