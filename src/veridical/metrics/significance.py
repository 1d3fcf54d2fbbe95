"""Significance: confidence intervals, and paired tests adjusted for their number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.special import ndtri, stdtrit
from scipy.stats import rankdata

from veridical.metrics.reports import LEVEL, Comparison
from veridical.protocols import Seed
from veridical.records import Bools, Floats, Ints
from veridical.seeds import generator

MAX_EXACT_INSTANCES = 14  # instances up to which every choice of signs is tried
N_SIGN_DRAWS = 19_999  # choices of signs that are drawn for more
ROUNDING = 1e-12  # of the largest score, below which a difference is none
MAX_SIGNS_AT_ONCE = 2**22  # signs in memory, about


def interval(values: Floats) -> tuple[float, float, float]:
    """Mean of the known values and its 95 % interval (Student's t); nan if there are none."""
    known = values[np.isfinite(values)]
    n = len(known)
    if n == 0:
        return (np.nan,) * 3
    mean = float(known.mean())
    if n == 1:
        return mean, np.nan, np.nan
    half = float(stdtrit(n - 1, 0.975) * known.std(ddof=1) / np.sqrt(n))
    return mean, mean - half, mean + half


def compare_rows(
    metric: str, values: Mapping[str, Floats], pairs: Sequence[tuple[str, str]], seed: Seed
) -> list[Comparison]:
    """Compare all pairs of rows by one metric: differences with intervals, and p adjusted for all of them."""
    known = np.concatenate([each[np.isfinite(each)] for each in values.values()])
    least = ROUNDING * float(np.abs(known).max(initial=0.0))
    differences = [values[first] - values[second] for first, second in pairs]
    differences = [
        np.where(np.abs(each) <= least, 0.0, each) for each in differences
    ]  # 0 if rounding alone differs
    tested = [at for at, each in enumerate(differences) if np.isfinite(each).sum() > 1]
    p = np.full(len(pairs), np.nan)
    if tested:
        p[tested] = adjust_holm(sign_flip_test(np.stack([differences[at] for at in tested]), seed))
    return [
        Comparison(metric, first, second, *interval(difference), float(each))
        for (first, second), difference, each in zip(pairs, differences, p, strict=True)
    ]


def sign_flip_test(differences: Floats, seed: Seed) -> Floats:
    """Two-sided p of paired differences (m, n): the sign-flip test of their mean; missing values are left out.

    If two methods are alike, each difference could as well have the other sign: p is the share of all sign choices
    whose sum is at least as far from zero. It assumes no distribution, and it is exact for few instances.
    """
    rows = np.where(np.isfinite(differences), differences, 0.0)
    observed = np.abs(rows.sum(axis=1)) - 1e-12 * np.abs(rows).sum(axis=1)
    count, far = 0, np.zeros(len(rows))
    for signs in _draw_signs(rows.shape[1], seed):
        count += len(signs)
        far += np.sum(np.abs(signs @ rows.T) >= observed, axis=0)
    return far / count


def _draw_signs(n: int, seed: Seed) -> Iterator[Floats]:
    """All choices of n signs, or many random ones and the observed one, in batches."""
    if n <= MAX_EXACT_INSTANCES:
        yield _bits_to_signs((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return
    rng = generator(seed)
    yield np.ones((1, n))
    step = max(MAX_SIGNS_AT_ONCE // n, 1)
    for start in range(0, N_SIGN_DRAWS, step):
        yield _bits_to_signs(rng.integers(0, 2, (min(step, N_SIGN_DRAWS - start), n)))


def _bits_to_signs(bits: Ints) -> Floats:
    return np.where(bits == 0, 1.0, -1.0)


def adjust_holm(p: Floats) -> Floats:
    """Adjust p so that the chance of any false claim among them stays below the level (Holm 1979)."""
    m, order = len(p), np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((m - np.arange(m)) * p[order])
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def min_instances(n_pairs: int) -> int:
    """The number of instances below which no test of so many pairs can be significant."""
    return int(np.ceil(np.log2(2 * max(n_pairs, 1) / LEVEL)))


Z_95 = float(ndtri(0.975))


def auroc(scores: Floats, wrong: Bools) -> tuple[float, float, float]:
    """Area under the ROC curve, and its 95 % interval (DeLong et al. 1988).

    The area is the chance that a wrong row scores above a right one, ties half: 0.5 for scores that know nothing.
    It is nan if all rows are alike.
    """
    bad, good = int(wrong.sum()), int((~wrong).sum())
    if not bad or not good:
        return (np.nan,) * 3
    every = placements(scores, wrong)
    above, below = every[wrong], every[~wrong]
    value = float(above.mean())
    error = np.sqrt(above.var(ddof=1) / bad + below.var(ddof=1) / good) if min(bad, good) > 1 else np.nan
    return value, float(max(value - Z_95 * error, 0.0)), float(min(value + Z_95 * error, 1.0))


def placements(scores: Floats, wrong: Bools) -> Floats:
    """Of each wrong row the share of right rows below it, of each right row the share of wrong ones above, (n,).

    Their mean over either kind of rows, or over all, is the area under the ROC curve.
    """
    every, found = rankdata(scores), np.empty(len(scores))
    found[wrong] = (every[wrong] - rankdata(scores[wrong])) / (~wrong).sum()
    found[~wrong] = 1 - (every[~wrong] - rankdata(scores[~wrong])) / wrong.sum()
    return found


def precision(scores: Floats, wrong: Bools, share: float = 0.1) -> tuple[float, float, float]:
    """The share of wrong rows among the highest scores, and its 95 % interval (Wilson).

    Rows that tie at the edge count by the share of them that fits.
    """
    k = max(round(share * len(scores)), 1)
    edge = np.sort(scores)[-k]
    sure, tied = scores > edge, scores == edge
    hits = wrong[sure].sum() + (k - sure.sum()) * wrong[tied].mean()
    p = float(hits / k)
    return p, *wilson_interval(p, k)


def mean_rate(values: Floats) -> tuple[float, float, float]:
    """The mean and its 95 % interval: Wilson's for zeros and ones, which may all be alike."""
    known = values[np.isfinite(values)]
    if len(known) > 1 and np.isin(known, (0.0, 1.0)).all():
        return float(known.mean()), *wilson_interval(float(known.mean()), len(known))
    return interval(values)


def wilson_interval(p: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share p of n (Wilson 1927)."""
    center, half = p + Z_95**2 / (2 * n), Z_95 * np.sqrt(p * (1 - p) / n + Z_95**2 / (4 * n**2))
    scale = 1 + Z_95**2 / n
    return float(max((center - half) / scale, 0.0)), float(min((center + half) / scale, 1.0))
