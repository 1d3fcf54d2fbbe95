"""How well scores find what is wrong: area under the ROC curve, and precision among the highest."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from veridical.evaluate.compare import interval
from veridical.records import Bools, Floats

Z = float(ndtri(0.975))


def auroc(scores: Floats, wrong: Bools) -> tuple[float, float, float]:
    """The chance that a wrong row scores above a right one, ties half, and its 95 % interval (DeLong et al. 1988).

    0.5 for scores that know nothing; nan if all rows are alike.
    """
    bad, good = int(wrong.sum()), int((~wrong).sum())
    if not bad or not good:
        return (np.nan,) * 3
    every = placements(scores, wrong)
    above, below = every[wrong], every[~wrong]
    value = float(above.mean())
    error = np.sqrt(above.var(ddof=1) / bad + below.var(ddof=1) / good) if min(bad, good) > 1 else np.nan
    return value, float(max(value - Z * error, 0.0)), float(min(value + Z * error, 1.0))


def placements(scores: Floats, wrong: Bools) -> Floats:
    """Of each wrong row, the share of right ones below it; of each right one, that of wrong ones above, (n,).

    Their mean over either kind of rows, or over all, is the area under the curve.
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
    return p, *wilson(p, k)


def rate(values: Floats) -> tuple[float, float, float]:
    """The mean of numbers and its 95 % interval: Wilson's of zeros and ones, which may all be alike."""
    known = values[np.isfinite(values)]
    if len(known) > 1 and np.isin(known, (0.0, 1.0)).all():
        return float(known.mean()), *wilson(float(known.mean()), len(known))
    return interval(values)


def wilson(p: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share p of n (Wilson 1927)."""
    center, half = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    scale = 1 + Z**2 / n
    return float(max((center - half) / scale, 0.0)), float(min((center + half) / scale, 1.0))
