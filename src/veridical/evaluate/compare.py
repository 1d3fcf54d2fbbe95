"""Which differences are not chance: intervals over instances, and paired tests adjusted for their number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.special import stdtrit

from veridical.evaluate.records import LEVEL, Comparison
from veridical.masks import generator
from veridical.records import Floats, Ints, Seed

EXACT = 14  # instances up to which every choice of signs is tried
FLIPS = 19_999  # choices of signs that are drawn for more
ROUNDING = 1e-12  # of the largest score, below which a difference is none
AT_ONCE = 2**22  # signs in memory, about


def interval(values: Floats) -> tuple[float, float, float]:
    """Mean of what was measured and its 95 % interval over instances (Student's t); nan where there is none."""
    known = values[np.isfinite(values)]
    n = len(known)
    if n == 0:
        return (np.nan,) * 3
    mean = float(known.mean())
    if n == 1:
        return mean, np.nan, np.nan
    half = float(stdtrit(n - 1, 0.975) * known.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def compare(
    metric: str, values: Mapping[str, Floats], pairs: Sequence[tuple[str, str]], seed: Seed
) -> list[Comparison]:
    """All pairs of rows of one metric: differences with their intervals, and p adjusted for all of them."""
    known = np.concatenate([each[np.isfinite(each)] for each in values.values()])
    least = ROUNDING * float(np.abs(known).max(initial=0.0))
    differences = [_apart(values[first], values[second], least) for first, second in pairs]
    tested = [at for at, each in enumerate(differences) if np.isfinite(each).sum() > 1]
    p = np.full(len(pairs), np.nan)
    if tested:
        p[tested] = holm(sign_flips(np.stack([differences[at] for at in tested]), seed))
    return [
        Comparison(metric, first, second, *interval(difference), float(each))
        for (first, second), difference, each in zip(pairs, differences, p, strict=True)
    ]


def _apart(a: Floats, b: Floats, least: float) -> Floats:
    """What a has more than b; nothing where only rounding tells them apart, which may always go the same way."""
    return np.where(np.abs(a - b) <= least, 0.0, a - b)


def sign_flips(differences: Floats, seed: Seed) -> Floats:
    """Two-sided p of paired differences (m, n), missing ones left out: the sign-flip test of their mean.

    If two methods are alike, each instance could as well have had its difference the other way round: p is
    the share of all choices of signs whose sum is as far from zero. No other law of the scores is assumed, and
    for few instances it is exact.
    """
    rows = np.where(np.isfinite(differences), differences, 0.0)
    observed = np.abs(rows.sum(axis=1)) - 1e-12 * np.abs(rows).sum(axis=1)
    count, far = 0, np.zeros(len(rows))
    for signs in _signs(rows.shape[1], seed):
        count += len(signs)
        far += np.sum(np.abs(signs @ rows.T) >= observed, axis=0)
    return far / count


def _signs(n: int, seed: Seed) -> Iterator[Floats]:
    """All choices of n signs, or many of them, the one that was seen among them; a few at a time."""
    if n <= EXACT:
        yield _plus_or_minus((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return
    rng = generator(seed)
    yield np.ones((1, n))
    step = max(AT_ONCE // n, 1)
    for start in range(0, FLIPS, step):
        yield _plus_or_minus(rng.integers(0, 2, (min(step, FLIPS - start), n)))


def _plus_or_minus(bits: Ints) -> Floats:
    return np.where(bits == 0, 1.0, -1.0)


def holm(p: Floats) -> Floats:
    """Holm 1979: p adjusted so that the chance of any false claim among them stays below the level."""
    m, order = len(p), np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((m - np.arange(m)) * p[order])
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def fewest(n_pairs: int) -> int:
    """Instances below which nothing can be told of so many pairs, even if all of them agree."""
    return int(np.ceil(np.log2(2 * max(n_pairs, 1) / LEVEL)))
