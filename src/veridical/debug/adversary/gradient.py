"""Attacks that follow a network's gradient: the smallest change they find is known, so what it does is, too."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from veridical.debug.adversary.descent import SPREAD, Going, Move, attacked, check_settings
from veridical.debug.adversary.domains import Domain, Ground
from veridical.debug.adversary.records import Aim, Cause
from veridical.errors import InputError
from veridical.records import Seed
from veridical.represent.masked import checked_flag

FIRST, SECOND = 0.9, 0.999  # how long Adam remembers slopes, and their squares
STRIDE = 2.5  # times its bound that a change can go in all steps of PGD
STEPS = 20  # from nothing to the bound, unless the caller says
PATIENCE = 20  # steps without a change that is shorter
WEIGHT = 0.5  # of the loss at first, beside a change that is at its bound everywhere, unless the caller says
MORE, FAR = 1.1, 1e6  # by which that weight rises in a step, or falls, and in all steps


@dataclass(frozen=True)
class Pgd:
    """Steps along the sign of the gradient, within a ball around the instance (Madry et al. 2018).

    No value is changed by more than ``eps``; with ``norm=2`` the whole change is no longer than ``eps``. Without
    ``eps`` it is a fifth of the data's standard deviation, and twice or four times that where it finds nothing.
    The search ends where the wanted label has ``confidence``, or with None at the first that is decided so. With
    ``parts=k`` only k random parts are changed, and others are tried where that fails. Whole numbers keep their
    type, and what lies between 0 and 1 stays there; other values do where ``bounds`` says so. ``domain`` is where
    the change is made: in what the model takes, or by ``vd.Waveform()`` or ``vd.Spectrum()`` in what that is made
    of.
    """

    purpose: ClassVar[str] = "change"

    eps: float | None = None
    n_steps: int = 40
    confidence: float | None = 0.95
    parts: int | None = None
    norm: float = math.inf
    domain: Domain | None = None
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.norm not in (2, math.inf):
            raise InputError(f"norm is math.inf (no value by more than eps) or 2 (length), not {self.norm!r}")

    def __call__(self, aim: Aim, seed: Seed) -> tuple[Cause, ...]:
        """One cause an instance."""
        return attacked(self, aim, seed)

    @property
    def patience(self) -> int:
        """The first change that suffices is taken."""
        return 0

    def size(self, ground: Ground) -> float:
        """How far a change may go."""
        many = math.sqrt(ground.n_values) if self.norm == 2 else 1.0
        return _bound(self.eps, ground, many)

    def mover(self, ground: Ground, eps: float) -> Move:
        """A step down the slope, back into the ball."""
        stride = STRIDE * eps / self.n_steps

        def signs(delta: Any, slope: Any, _going: Going) -> Any:
            return (delta - stride * slope.sign()).clamp(-eps, eps)

        def lengths(delta: Any, slope: Any, _going: Going) -> Any:
            moved = delta - stride * _unit(slope)
            return moved * (eps / _length(moved)).clamp(max=1.0)

        return lengths if self.norm == 2 else signs


@dataclass(frozen=True)
class CarliniWagner:
    """The targeted attack of Praher et al. (2021), after Carlini and Wagner: a short change and a small loss.

    It minimizes ‖change‖² + ``alpha`` · loss by steps of ``step`` along the sign of the gradient, no value
    changed by more than ``eps``. In the domains ``vd.Waveform()`` and ``vd.Spectrum()`` all three are those of
    the paper, unless they are given; elsewhere the first two come from the data, and ``alpha`` rises where the
    network is not as sure as asked for, and falls where it is. ``adam`` feeds the signs to Adam, as the
    paper's code does. The paper ends at the first change that is decided as wanted, which is ``confidence=None``:
    a part of such a change does nothing. By default it goes on to ``confidence``, and from there as long as the
    change gets shorter. The rest is as for ``vd.Pgd``.
    """

    purpose: ClassVar[str] = "change"

    eps: float | None = None
    step: float | None = None
    alpha: float | None = None
    n_steps: int = 1000
    confidence: float | None = 0.95
    parts: int | None = None
    adam: bool = True
    domain: Domain | None = None
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        checked_flag("adam", self.adam)

    def __call__(self, aim: Aim, seed: Seed) -> tuple[Cause, ...]:
        """One cause an instance."""
        return attacked(self, aim, seed)

    @property
    def patience(self) -> int:
        """Steps without a shorter change after which one that suffices is taken."""
        return 0 if self.confidence is None else PATIENCE

    def size(self, ground: Ground) -> float:
        """How far a change may go."""
        return _bound(self.eps, ground)

    def mover(self, ground: Ground, eps: float) -> Move:
        """A step along signs, of the loss and of the change's own size."""
        usual = ground.usual
        step = self.step or (usual.step * ground.unit if usual else eps / STEPS)
        alpha = self.alpha or (usual.alpha if usual else None)
        first = WEIGHT * ground.n_values * (eps / ground.unit) ** 2 if alpha is None else alpha
        pull, memory = 2 / ground.unit**2, Memory(first, fixed=alpha is not None)

        def moved(delta: Any, slope: Any, going: Going) -> Any:
            memory.keep(delta, going)
            sign = (pull * delta + memory.alpha * slope).sign()
            return (delta - step * (memory.adam(sign) if self.adam else sign)).clamp(-eps, eps)

        return moved


class Memory:
    """What the attack remembers of instances that go on: the weight of their loss, and Adam's running means."""

    def __init__(self, alpha: float, fixed: bool) -> None:
        self.start, self.fixed, self.n = alpha, fixed, 0
        self.rows: Any = None  # (m,)
        self.alpha: Any = None  # (m, 1, …)
        self.means: Any = None  # (2, m, …) of what Adam is fed, and of its squares

    def keep(self, delta: Any, going: Going) -> None:
        """Forget those that are done; the loss counts more where they are not sure enough yet, else less."""
        if self.rows is None:
            self.alpha = delta.new_full((len(delta), *[1] * (delta.dim() - 1)), self.start)
            self.means = delta.new_zeros((2, *delta.shape))
        else:
            left = (self.rows[:, None] == going.rows[None]).any(dim=1)
            self.alpha, self.means = self.alpha[left], self.means[:, left]
        self.rows = going.rows
        if not self.fixed:
            factor = np.where(going.sure, 1 / MORE, MORE)
            alpha = self.alpha * self.alpha.new_tensor(factor).reshape(self.alpha.shape)
            self.alpha = alpha.clamp(self.start / FAR, self.start * FAR)

    def adam(self, fed: Any) -> Any:
        """Which way Adam goes (m, …) when it is fed this."""
        self.n += 1
        for mean, new, keeps in ((self.means[0], fed, FIRST), (self.means[1], fed**2, SECOND)):
            mean.mul_(keeps).add_(new, alpha=1 - keeps)
        first, second = self.means[0] / (1 - FIRST**self.n), self.means[1] / (1 - SECOND**self.n)
        return first / (second.sqrt() + 1e-8)


def _bound(eps: float | None, ground: Ground, many: float = 1.0) -> float:
    """The caller's bound, or the domain's, or a share of the data's spread."""
    if eps is not None:
        found = float(eps)
    elif ground.usual is not None:
        found = ground.usual.eps * ground.unit * many
    else:
        found = SPREAD * ground.spread * many or SPREAD
    return max(math.floor(found), 1.0) if ground.whole else found


def _length(values: Any) -> Any:
    """Euclidean lengths (m, 1, …), never zero."""
    sizes = values.flatten(1).norm(dim=1).clamp(min=1e-30)
    return sizes.reshape(-1, *[1] * (values.dim() - 1))


def _unit(values: Any) -> Any:
    return values / _length(values)
