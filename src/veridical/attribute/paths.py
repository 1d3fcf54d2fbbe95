"""Gradients along the way from a baseline to the instance: they sum to the difference of the outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from veridical.attribute.ask import n_rows
from veridical.attribute.maps import ByGradient, Drawn
from veridical.attribute.slopes import Slopes
from veridical.errors import InputError, check_number, check_whole
from veridical.masks import child_of, generator
from veridical.records import Floats, Ints, Removable, Seed

RULES = ("midpoint", "trapezoid", "gauss")
REMOVED = "removed"


@dataclass(frozen=True)
class IntegratedGradients(ByGradient):
    """The mean gradient on the line from a baseline to the input, times their distance (Sundararajan et al. 2017).

    The weights sum to what the output exceeds that of the baseline by, but for the ``n_steps`` of the sum, and
    the notes say how far they miss it. ``baseline`` is a number in the units of the network's input, an instance
    like the one that is explained, or "removed": the instance with all parts taken away. ``rule`` places the
    steps: in the "midpoint" of equal pieces, as "trapezoid" with both ends, or by "gauss" (Legendre).
    """

    baseline: Any = 0.0
    n_steps: int = 50
    rule: str = "midpoint"

    def __post_init__(self) -> None:
        check_whole("n_steps", self.n_steps, 2)
        if self.rule not in RULES:
            raise InputError(f"rule is one of {', '.join(map(repr, RULES))}, not {self.rule!r}")
        if self.baseline is None:
            raise InputError('baseline wants a number, an instance or "removed", not None')
        if isinstance(self.baseline, Real):
            check_number("baseline", self.baseline)

    @property
    def n_points(self) -> int:
        """One a step."""
        return self.n_steps

    def references(self, representation: Removable | None, seed: Seed) -> Any:
        """The baseline, unless it is a number."""
        if isinstance(self.baseline, Real):
            return None
        if self.baseline != REMOVED if isinstance(self.baseline, str) else True:
            return _one(self.baseline)
        if representation is None:
            raise InputError('maps knows no parts to be "removed": give a number or an instance as baseline')
        if not representation.steady:
            raise InputError(
                "what is there without the parts of this instance is drawn anew each time, so there is no one "
                'baseline "removed": use vd.ExpectedGradients(), which is the mean over such draws'
            )
        return representation.keeping(np.zeros((1, len(representation.names)), bool), seed)[0:1]

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """The weighted sum of gradients on the line."""
        given = slopes.references
        base = (x.new_full((), self.baseline) if given is None else _fitting(given, x)).expand_as(x)
        shares, weights = (_along(each, x) for each in _steps(self.n_steps, self.rule))
        found = slopes(base[:, None].lerp(x[:, None], shares), rows)
        mean = found.mul_(weights).sum(dim=1)
        reference = slopes.values(base[:, None], rows)[:, 0]
        return Drawn((x - base) * mean, reference=reference, differs=x != base)


@dataclass(frozen=True)
class ExpectedGradients(ByGradient):
    """Integrated gradients, averaged over baselines (Erion et al. 2021): one point on the way from each.

    ``background`` are instances, of which ``n_draws`` are drawn, all of them equally often; without it they are
    the instance with all parts taken away, which in tables is drawn from the representer's background. The
    weights sum to what the output exceeds the mean of the baselines' by, but for the error of the draws.
    """

    background: Any = None
    n_draws: int = 200

    def __post_init__(self) -> None:
        check_whole("n_draws", self.n_draws, 2)
        if self.background is not None and (isinstance(self.background, str) or not n_rows(self.background)):
            raise InputError("background wants a batch of instances, such as some of the training data")

    @property
    def n_points(self) -> int:
        """One a draw."""
        return self.n_draws

    def references(self, representation: Removable | None, seed: Seed) -> Any:
        """The background, or the instance without its parts."""
        if self.background is not None:
            n = n_rows(self.background)
            if n <= self.n_draws:
                return self.background
            return _chosen(self.background, generator(seed, 1).choice(n, self.n_draws, replace=False))
        if representation is None:
            raise InputError("maps knows no parts to take away: give vd.ExpectedGradients(background=…)")
        masks = np.zeros((1 if representation.steady else self.n_draws, len(representation.names)), bool)
        return representation.keeping(masks, child_of(seed, 1))[: len(masks)]

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """One gradient a draw, somewhere on the way from its baseline."""
        known = _fitting(slopes.references, x)
        chosen, shares = zip(*(self._paths(len(known), seed) for seed in seeds), strict=True)
        base = known[np.stack(chosen)]
        found = slopes(base.lerp(x[:, None], _along(np.stack(shares), x)), rows)
        draws = found.mul_(x[:, None] - base)
        differs = (x[:, None] != base).any(dim=1)
        return Drawn(draws.mean(dim=1), draws, slopes.values(base, rows).mean(dim=1), differs=differs)

    def _paths(self, n: int, seed: Seed) -> tuple[Ints, Floats]:
        """For each draw, which of n baselines its path comes from, and where on it the gradient is taken."""
        rng, rounds = generator(seed, 0), -(-self.n_draws // n)
        chosen = np.concatenate([rng.permutation(n) for _ in range(rounds)])[: self.n_draws]
        return chosen, rng.random(self.n_draws)


def _along(numbers: Floats, x: Any) -> Any:
    """Numbers (…, m), one a point, to be multiplied with points (…, m, …) of inputs x (r, …)."""
    return x.new_tensor(numbers).view(*numbers.shape, *[1] * (x.dim() - 1))


def _steps(n: int, rule: str) -> tuple[Floats, Floats]:
    """Where on the line from 0 to 1 gradients are taken, and what they weigh."""
    if rule == "midpoint":
        return (np.arange(n) + 0.5) / n, np.full(n, 1 / n)
    if rule == "trapezoid":
        weights = np.full(n, 1 / (n - 1))
        weights[[0, -1]] /= 2
        return np.linspace(0, 1, n), weights
    nodes, weights = np.polynomial.legendre.leggauss(n)
    return (nodes + 1) / 2, weights / 2


def _one(instance: Any) -> Any:
    """An instance as a batch of one."""
    if isinstance(instance, str):
        return [instance]
    if hasattr(instance, "iloc"):
        return instance.to_frame().T if instance.ndim == 1 else instance
    if hasattr(instance, "toarray"):
        return instance.reshape(1, -1)
    return instance[None] if hasattr(instance, "shape") else np.asarray(instance)[None]


def _chosen(batch: Any, rows: Ints) -> Any:
    """Some instances of a batch of any kind."""
    if isinstance(batch, (list, tuple)):
        return [batch[i] for i in rows]
    return batch.iloc[rows] if hasattr(batch, "iloc") else batch[rows]


def _fitting(references: Any, x: Any) -> Any:
    """Points to compare with, if they are like the instance's."""
    wanted, given = tuple(x.shape[1:]), tuple(references.shape[1:])
    if given != wanted:
        raise InputError(
            f"the baseline becomes an input of shape {given}, but the instance one of {wanted}: give an instance "
            "of the same shape"
        )
    return references
