"""How many labels are wrong, as far as confident answers that contradict them can tell.

Where classes overlap, labels are contradicted too, but the less the surer the model is. Wrong ones are so however
sure it is: as a function of confidence, the share of contradictions has a floor.

    P(contradicted) = r (1 - s) + (1 - r) s,  s = 1 / (1 + exp(b + a × confidence))

r is the share of wrong labels, s the chance that the model itself errs. Confidence is the log of the ratio of the
two highest probabilities. Where it is 0 a model of two classes errs half of the time, so b is 0; one of more
classes errs more often. It is no proof: rows on which the model is confidently wrong look the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit

from veridical.records import Bools, Floats, Ints, Record

LEAST = 1e-3  # probabilities below this are as good as none
MOST = 0.45  # wrong labels, as a share; with more, the right ones would be the wrong ones
LEVEL = (-1.5, 0.0)  # b, with more than two classes
SLOPE = (0.05, 20.0)  # a
STARTS = (0.02, 0.15)
ONE_SIDED = 2.71  # of twice the log likelihood ratio: 5 % where r cannot be below 0
TWO_SIDED = 3.84
THIRD = 1 / 3  # of all contradictions: fewer are not told from what the curve misses


@dataclass(frozen=True, slots=True, eq=False)
class Noise(Record):
    """Wrong labels among n, by confident contradictions."""

    share: float  # estimated
    low: float  # and its 95 % interval
    high: float
    strength: float  # twice the log likelihood ratio to no wrong label at all
    contradicted: float  # the share of labels that the model contradicts
    wrong: Floats  # (n,) the probability that a label is wrong

    @property
    def found(self) -> bool:
        """Whether there are more than chance and overlap leave.

        The rule was chosen on made and real data with and without wrong labels: models whose confidence is no
        logit, such as forests, bend the curve, which a third of all contradictions is seldom mistaken for.
        """
        return self.strength > ONE_SIDED and self.share > THIRD * self.contradicted

    @property
    def suspects(self) -> Ints:
        """Labels that are more likely wrong than not, the worst first."""
        order = np.argsort(-self.wrong, kind="stable")
        return np.asarray(order[self.wrong[order] > 0.5])


def noise_of(probabilities: Floats, labels: Ints) -> Noise:
    """Wrong labels by probabilities (n, k) of a model that did not see them."""
    logs = np.sort(np.log(np.clip(probabilities, LEAST, 1.0)), axis=1)
    against = np.asarray(probabilities.argmax(axis=1) != labels)
    curve = Curve(logs[:, -1] - logs[:, -2], against, (0.0, 0.0) if logs.shape[1] == 2 else LEVEL)
    (b, a, r), loss = min((curve.fit((curve.level[0], 1.0, start)) for start in STARTS), key=lambda fit: fit[1])
    none = min(curve.fit((*start, 0.0), (0.0, 0.0))[1] for start in ((b, a), (curve.level[0], 1.0)))

    def beyond(share: float) -> float:
        return 2 * (curve.fit((b, a, share), (share, share))[1] - loss) - TWO_SIDED

    strength = max(2 * (none - loss), 0.0)
    low = brentq(beyond, 0.0, r, xtol=1e-4) if strength > TWO_SIDED and beyond(0.0) > 0 else 0.0
    high = brentq(beyond, r, MOST, xtol=1e-4) if beyond(MOST) > 0 else MOST
    s = expit(-(b + a * curve.confidence))
    wrong = np.where(against, r * (1 - s) / np.maximum(r * (1 - s) + (1 - r) * s, 1e-12), 0.0)
    return Noise(r, low, high, strength, float(against.mean()), wrong)


@dataclass(frozen=True, slots=True, eq=False)
class Curve(Record):
    """Contradictions as a function of confidence."""

    confidence: Floats  # (n,)
    against: Bools  # (n,) labels that the model contradicts
    level: tuple[float, float]  # that b lies between

    def fit(
        self, start: tuple[float, float, float], share: tuple[float, float] = (0.0, MOST)
    ) -> tuple[tuple[float, float, float], float]:
        """b, a and r of the greatest likelihood, and minus its log; r lies between the two shares."""
        bounds = [self.level, SLOPE, share]
        found = minimize(self._loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
        b, a, r = (float(each) for each in found.x)
        return (b, a, r), float(found.fun)

    def _loss(self, at: Floats) -> tuple[float, Floats]:
        s, r = expit(-(at[0] + at[1] * self.confidence)), at[2]
        p = np.clip(r * (1 - s) + (1 - r) * s, 1e-9, 1 - 1e-9)
        slope = np.where(self.against, -1 / p, 1 / (1 - p))
        by_s = slope * -s * (1 - s) * (1 - 2 * r)
        value = -np.log(np.where(self.against, p, 1 - p)).sum()
        return float(value), np.array([by_s.sum(), (by_s * self.confidence).sum(), (slope * (1 - 2 * s)).sum()])
