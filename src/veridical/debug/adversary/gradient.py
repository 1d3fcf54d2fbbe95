"""Attacks that follow a network's gradient: the smallest change they find is known, so what it does is, too."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from veridical.debug.adversary.descent import SPREAD, Move, attacked, check_settings
from veridical.debug.adversary.domains import Domain, Ground
from veridical.debug.adversary.records import Aim, Cause
from veridical.errors import InputError
from veridical.records import Seed
from veridical.represent.masked import checked_flag

FIRST, SECOND = 0.9, 0.999  # how long Adam remembers slopes, and their squares
STRIDE = 2.5  # times its bound that a change can go in all steps of PGD
STEPS = 20  # from nothing to the bound, unless the caller says
PATIENCE = 20  # steps without a change that is shorter
WEIGHT = 0.025  # of the loss times the doubt that is left, beside a change that is at its bound everywhere
DOUBT, SURE = 0.05, 1e-4  # where none is asked for, and the least that can be


@dataclass(frozen=True)
class Pgd:
    """Steps along the sign of the gradient, within a ball around the instance (Madry et al. 2018).

    No value is changed by more than ``eps``; with ``norm=2`` the whole change is no longer than ``eps``. Without
    ``eps`` it is a fifth of the data's standard deviation. The search ends where the wanted label has
    ``confidence``, or with None at the first that is decided so. With ``parts=k`` only k random parts are changed,
    and others are tried where that fails. Whole numbers keep their type, and what lies between 0 and 1 stays
    there; other values do where ``bounds`` says so. ``domain`` is where the change is made: in what the model
    takes, or by ``vd.Waveform()`` or ``vd.Spectrum()`` in what that is made of.
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

        def signs(delta: Any, slope: Any, _rows: Any) -> Any:
            return (delta - stride * slope.sign()).clamp(-eps, eps)

        def lengths(delta: Any, slope: Any, _rows: Any) -> Any:
            moved = delta - stride * _unit(slope)
            return moved * (eps / _length(moved)).clamp(max=1.0)

        return lengths if self.norm == 2 else signs


@dataclass(frozen=True)
class CarliniWagner:
    """The targeted attack of Praher et al. (2021), after Carlini and Wagner: a short change and a small loss.

    It minimizes ‖change‖² + ``alpha`` · loss by steps of ``step`` along the sign of the gradient, no value
    changed by more than ``eps``. In the domains ``vd.Waveform()`` and ``vd.Spectrum()`` all three are those of
    the paper, unless they are given; elsewhere they come from the data. ``adam`` feeds the signs to Adam, as the
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
        alpha = self.alpha or (usual.alpha if usual else self._weight(ground, eps))
        pull, memory = 2 / ground.unit**2, Memory()

        def moved(delta: Any, slope: Any, rows: Any) -> Any:
            sign = (pull * delta + alpha * slope).sign()
            way = memory(sign, rows) if self.adam else sign
            return (delta - step * way).clamp(-eps, eps)

        return moved

    def _weight(self, ground: Ground, eps: float) -> float:
        """How much the loss counts beside a change that is at its bound everywhere: the more, the surer it is."""
        doubt = DOUBT if self.confidence is None else max(1 - self.confidence, SURE)
        return WEIGHT / doubt * ground.n_values * (eps / ground.unit) ** 2


@dataclass(frozen=True, eq=False)
class Memory:
    """Adam's running means of what it is fed, for rows that come and go."""

    means: dict[str, Any] = field(default_factory=dict)

    def __call__(self, fed: Any, rows: Any) -> Any:
        """Which way to go, (m, …), for the rows (m,) that are left."""
        if not self.means:
            self.means.update(rows=rows, first=fed.new_zeros(fed.shape), second=fed.new_zeros(fed.shape), n=0)
        kept = (self.means["rows"][:, None] == rows[None]).any(dim=1)
        first = FIRST * self.means["first"][kept] + (1 - FIRST) * fed
        second = SECOND * self.means["second"][kept] + (1 - SECOND) * fed**2
        n = self.means["n"] + 1
        self.means.update(rows=rows, first=first, second=second, n=n)
        return (first / (1 - FIRST**n)) / ((second / (1 - SECOND**n)).sqrt() + 1e-8)


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
