"""Attacks: small changes of inputs that turn a decision, found by gradients or by queries alone.

An attack is a kind of cause: settings to call with an aim and a seed, which return one ``Cause`` per instance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from veridical.errors import InputError, check_positive, check_probability, check_whole
from veridical.groundtruth.causes import Aim, Cause, ChangedInput, fit_range, required_confidence
from veridical.groundtruth.domains import (
    AttackSpace,
    Domain,
    InputDomain,
    Spectrum,
    Waveform,
    check_array,
    group_by_shape,
)
from veridical.models.torch_modules import MAX_NUMBERS_ON_GPU
from veridical.protocols import Representation, Seed
from veridical.records import Bools, Floats, Ints
from veridical.representations.masking import Masked, check_flag
from veridical.representations.regions import Array, is_tensor, numbers_of
from veridical.seeds import generator

__all__ = ["CarliniWagner", "Pgd", "Spectrum", "Spsa", "Square", "Waveform"]

VALUES_PER_BATCH = 2**17  # numbers of instances that are changed at once, about: what fits the cache is quickest
DEFAULT_EPS_SHARE = 0.2  # share of the data's standard deviation that a change may have, unless the caller says
EPS_FACTORS = (1, 2, 4)  # times that bound, where a narrower one finds nothing and the caller gives none
N_PART_CHOICES = 10  # choices of parts, where the change is confined to some
MUCH_SHORTER = 0.99  # how much shorter a change must be, to be much better
NO_SLOPE = "the gradient of the loss is zero at the instance"

# The change (m, …) and the slope of the loss (m, …), to a new change
StepRule = Callable[[Any, Any, "ActiveRows"], Any]


@dataclass(frozen=True, eq=False)
class ActiveRows:
    """Instances whose search goes on."""

    rows: Any  # (m,) tensor of their numbers
    sure: Bools  # (m,) whether they are decided as wanted now, as surely as is asked for


class GradientAttack(ABC):
    """An attack that follows a network's gradient: its settings, and how it steps."""

    purpose: ClassVar[str] = "change"

    eps: float | None
    n_steps: int
    confidence: float | None
    parts: int | None
    domain: Domain | None
    bounds: tuple[float, float] | None

    def __call__(self, aim: Aim, seed: Seed) -> tuple[Cause, ...]:
        """Search for one cause per instance."""
        name, network = type(self).__name__, aim.network
        if network is None:
            raise InputError(
                f"{name} needs gradients, so it needs a torch network: pass the module itself, or "
                "vd.Network(module, …); vd.attacks.Spsa and vd.attacks.Square need only a predict function"
            )
        if network.embedding is not None:
            raise InputError(
                f"{name} changes numbers, and this network reads token ids: use vd.edits.SwappedWords()"
            )
        domain = self.domain or InputDomain()
        found: dict[int, ChangedInput] = {}
        for rows in domain.group(aim):
            space = bound_space(domain.build_space(aim, rows, network), self.bounds)
            size = max(space.n_values, 1)
            step = max((MAX_NUMBERS_ON_GPU if space.start.is_cuda else VALUES_PER_BATCH) // size, 1)
            given = self.eps is not None or space.usual is not None
            bounds = tuple(times * self.size(space) for times in (EPS_FACTORS[:1] if given else EPS_FACTORS))
            for first in range(0, len(rows), step):
                found |= AttackSearch(self, aim, space, bounds, slice(first, first + step)).best(seed)
        return aim.judge([found[i] for i in range(len(aim))], name, self.confidence)

    @property
    def patience(self) -> int:
        """Steps without a shorter change after which the search ends: 0, the first that suffices is taken."""
        return 0

    @abstractmethod
    def size(self, space: AttackSpace) -> float:
        """How far a change may go."""

    @abstractmethod
    def step_rule(self, space: AttackSpace, eps: float) -> StepRule:
        """How a change goes on."""


@dataclass(frozen=True, eq=False)
class AttackSearch:
    """The search among some instances of one space."""

    kind: GradientAttack
    aim: Aim
    space: AttackSpace
    bounds: tuple[float, ...]  # how far a change may go: the next where the one before finds nothing
    some: slice  # of the ground's rows

    @property
    def rows(self) -> Ints:
        """The instances (m,), by their numbers in the aim."""
        return self.space.rows[self.some]

    def best(self, seed: Seed) -> dict[int, ChangedInput]:
        """The best change of each instance, with the parts that it is confined to."""
        m, k = len(self.rows), self.kind.parts
        state = BestChanges(self.space.start[self.some], self.kind.confidence)
        todo = np.flatnonzero(self.aim.labels[self.rows] != self.aim.wanted[self.rows])
        if k is None:
            for eps in self.bounds:
                self._descend(state, todo[~state.reached[todo]], None, eps)
            return self._found(state, [None] * m)
        X = self.aim.X
        own = [self.aim.represent(X.iloc[row] if hasattr(X, "iloc") else X[row]) for row in self.rows]
        orders = [
            shuffle_parts(k, len(each.names), generator(seed, int(row)))
            for row, each in zip(self.rows, own, strict=True)
        ]
        chosen: list[Bools | None] = [choose_turn(order, k, 0) for order in orders]
        for eps, attempt in product(self.bounds, range(N_PART_CHOICES)):
            some = todo[~state.reached[todo]]
            if not len(some):
                break
            state.attempt = attempt
            tried = [choose_turn(orders[i], k, attempt) for i in some]
            shape = tuple(state.start.shape[1:])
            masks = [mask_values(own[i], mask, shape) for i, mask in zip(some, tried, strict=True)]
            self._descend(state, some, state.start.new_tensor(np.stack(masks)), eps)
            for i, mask in zip(some, tried, strict=True):
                chosen[i] = mask if state.at[i] == attempt else chosen[i]
        return self._found(state, chosen)

    def _descend(self, state: BestChanges, todo: Ints, mask: Any, eps: float) -> None:
        """Go down the loss for instances that are not done; the best change on the way is kept."""
        if not len(todo):
            return
        start, wanted = state.start[todo], self.aim.wanted[self.rows][todo]
        move, delta = self.kind.step_rule(self.space, eps), start.new_zeros(start.shape)
        active = np.arange(len(todo))
        for step in range(self.kind.n_steps + 1):
            rows = start.new_tensor(active).long()
            values = self.space.within(start[rows] + delta[rows])
            height = self.space.height(values, wanted[active])
            moved = values - start[rows]
            sure = state.keep(todo[active], moved, height.labels == wanted[active], height.support)
            if not step:
                state.flat[todo] = (height.slope == 0).flatten(1).all(dim=1).cpu().numpy()
            done = state.reached[todo[active]] & (state.idle[todo[active]] >= self.kind.patience)
            going = np.flatnonzero(~done)
            if not len(going) or step == self.kind.n_steps:
                return
            slope = height.slope[going] if mask is None else height.slope[going] * mask[active[going]]
            active, rows = active[going], rows[going]
            delta[rows] = move(delta[rows], slope, ActiveRows(rows, sure[going]))

    def _found(self, state: BestChanges, chosen: Sequence[Bools | None]) -> dict[int, ChangedInput]:
        made = self.space.finish(self.some, state.delta, self.space.limits)
        return {
            int(row): ChangedInput(
                changed,
                int(state.n_calls[i]),
                chosen[i],
                sounds,
                NO_SLOPE if state.flat[i] else describe_reach(self.bounds[-1]),
            )
            for i, (row, (changed, sounds)) in enumerate(zip(self.rows, made, strict=True))
        }


class BestChanges:
    """The best change of each instance so far.

    The surest one, until an instance is decided as wanted as surely as asked for; from there on, the shortest
    such.
    """

    def __init__(self, start: Any, confidence: float | None) -> None:
        m = len(start)
        self.start = start
        self.least = required_confidence(confidence)
        self.delta = start.new_zeros(start.shape)
        self.level = np.full(m, -1)  # 0: not as wanted, 1: as wanted, 2: and sure enough
        self.merit = np.full(m, -np.inf)  # of two on one level the better has more
        self.idle = np.zeros(m, np.int64)  # steps since it got much better
        self.flat = np.zeros(m, bool)
        self.n_calls = np.zeros(m, np.int64)
        self.attempt, self.at = 0, np.zeros(m, np.int64)  # this one, and the one at which the best was found

    def keep(self, rows: Ints, delta: Any, flips: Bools, support: Floats) -> Bools:
        """Record what was tried for some rows; return which are sure enough (m,)."""
        level = flips * (1 + (support >= self.least))
        merit = np.where(level == 2, -delta.flatten(1).norm(dim=1).cpu().double().numpy(), support)
        rises, equal = level > self.level[rows], level == self.level[rows]
        better = rises | (equal & (merit > self.merit[rows]))
        much = rises | (equal & (merit > MUCH_SHORTER * self.merit[rows]))
        at = np.flatnonzero(better)
        self.level[rows[at]], self.merit[rows[at]], self.at[rows[at]] = level[at], merit[at], self.attempt
        self.delta[self.start.new_tensor(rows[at]).long()] = delta[self.start.new_tensor(at).long()]
        self.idle[rows] = np.where(much, 0, self.idle[rows] + 1)
        self.n_calls[rows] += 1
        return np.asarray(level == 2)

    @property
    def reached(self) -> Bools:
        """Which are decided as wanted, as surely as is asked for (m,)."""
        return np.asarray(self.level == 2)


def describe_reach(eps: float) -> str:
    """How far a failed search could go, in words."""
    return f"searched within eps={eps:.3g}"


def shuffle_parts(k: int | None, d: int, rng: np.random.Generator) -> Ints:
    """All d parts in the random order in which k at a time are tried."""
    if k is not None and k > d:
        raise InputError(f"parts={k}, but an instance has only {d} features: give fewer")
    return np.asarray(rng.permutation(d))


def choose_turn(order: Ints, k: int, attempt: int) -> Bools:
    """The k parts (d,) that are changed at an attempt: the next ones in their order, and round again."""
    return np.isin(np.arange(len(order)), order[(np.arange(k) + attempt * k) % len(order)])


def mask_values(representation: Any, mask: Bools, shape: tuple[int, ...]) -> Floats:
    """1 at the values of an instance of this shape that lie in some parts, else 0."""
    if isinstance(representation, Masked):
        return np.append(mask, False)[representation.places.spread].astype(np.float64)
    painted = np.asarray(representation.paint(mask.astype(np.float64)))
    if painted.shape != shape:
        raise InputError(
            f"features are places of shape {painted.shape}, and what is changed has shape {shape}: leave out "
            "parts or domain"
        )
    return painted


def bound_space(space: AttackSpace, bounds: tuple[float, float] | None) -> AttackSpace:
    """A space whose values stay within the caller's bounds."""
    if bounds is None:
        return space
    low, high = float(space.start.min()), float(space.start.max())
    if low < bounds[0] or high > bounds[1]:
        raise InputError(f"the data go from {low:g} to {high:g}, beyond the bounds {bounds}: give wider ones")
    return replace(space, limits=bounds)


def check_settings(kind: Any) -> None:
    """Refuse settings of an attack that make no sense."""
    check_whole("n_steps", kind.n_steps)
    for name in ("eps", "step", "alpha"):
        if getattr(kind, name, None) is not None:
            check_positive(name, getattr(kind, name))
    if kind.confidence is not None:
        check_probability("confidence", kind.confidence)
    if kind.parts is not None:
        check_whole("parts", kind.parts)


def check_gradient_settings(kind: Any) -> None:
    """The same of a gradient attack, with its domain and bounds."""
    check_settings(kind)
    if kind.parts is not None and kind.domain is not None:
        raise InputError(
            "parts are features of what the model takes, and a change in another domain spreads over them: leave "
            "out parts or domain"
        )
    if kind.bounds is not None and not (np.shape(kind.bounds) == (2,) and kind.bounds[0] < kind.bounds[1]):
        raise InputError(f"bounds are the least and the largest value, not {kind.bounds!r}")
    if kind.domain is not None and not hasattr(kind.domain, "build_space"):
        raise InputError(
            "domain is vd.attacks.Waveform() or vd.attacks.Spectrum(), or None for the inputs, not "
            f"{kind.domain!r}"
        )


ADAM_MEAN, ADAM_SQUARES = 0.9, 0.999  # how long Adam remembers slopes, and their squares
PGD_TRAVEL = 2.5  # times its bound that a change can go in all steps of PGD
STEPS_TO_BOUND = 20  # from nothing to the bound, unless the caller says
PATIENCE = 20  # steps without a change that is shorter
FIRST_ALPHA = 0.5  # of the loss at first, beside a change that is at its bound everywhere, unless the caller says
ALPHA_FACTOR, MAX_ALPHA_CHANGE = 1.1, 1e6  # by which that weight rises in a step, or falls, and in all steps


@dataclass(frozen=True)
class Pgd(GradientAttack):
    """Projected gradient descent: steps along the gradient's sign within a ball (Madry et al. 2018).

    Whole numbers keep their type, and values between 0 and 1 stay there.

    Parameters
    ----------
    eps : float, optional
        The most that any value changes; with ``norm=2``, the length of the whole change. By default a fifth of the
        data's standard deviation, and twice and four times that where it finds nothing.
    n_steps : int, default 40
        Number of steps.
    confidence : float or None, default 0.95
        Probability of the wanted label at which the search ends. None ends it at the first change that is decided
        as wanted.
    parts : int, optional
        Change only so many features, drawn at random; where this fails, others are tried.
    norm : float, default math.inf
        Norm of the ball: math.inf bounds each value, 2 the whole change.
    domain : Waveform or Spectrum, optional
        Where the change is made; by default in what the model takes.
    bounds : tuple of float, optional
        Least and largest value that a changed input may have.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> import veridical as vd
    >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 1)).eval()
    >>> torch.nn.init.ones_(network[1].weight).mean().item()
    1.0
    >>> spectrograms = np.random.default_rng(0).normal(size=(2, 4, 4)).astype(np.float32)
    >>> model = vd.Network(network, answers="sigmoid")
    >>> found = vd.causes(model, vd.Tiles(times=2, bands=2), spectrograms, kind=vd.attacks.Pgd(eps=1.0))
    >>> [cause.success for cause in found]
    [True, True]
    """

    eps: float | None = None
    n_steps: int = 40
    confidence: float | None = 0.95
    parts: int | None = None
    norm: float = math.inf
    domain: Domain | None = None
    bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_gradient_settings(self)
        if self.norm not in (2, math.inf):
            raise InputError(f"norm is math.inf (no value by more than eps) or 2 (length), not {self.norm!r}")

    def size(self, space: AttackSpace) -> float:
        """How far a change may go."""
        many = math.sqrt(space.n_values) if self.norm == 2 else 1.0
        return _choose_eps(self.eps, space, many)

    def step_rule(self, space: AttackSpace, eps: float) -> StepRule:
        """A step down the slope, back into the ball."""
        stride = PGD_TRAVEL * eps / self.n_steps

        def signs(delta: Any, slope: Any, _going: ActiveRows) -> Any:
            return (delta - stride * slope.sign()).clamp(-eps, eps)

        def lengths(delta: Any, slope: Any, _going: ActiveRows) -> Any:
            moved = delta - stride * (slope / _lengths(slope))
            return moved * (eps / _lengths(moved)).clamp(max=1.0)

        return lengths if self.norm == 2 else signs


@dataclass(frozen=True)
class CarliniWagner(GradientAttack):
    """A short change with a small loss (Carlini and Wagner; the targeted attack of Praher et al. 2021).

    It minimizes ‖change‖² + ``alpha`` · loss by steps along the sign of the gradient. The paper ends at the first
    change that is decided as wanted (``confidence=None``), of which a part does nothing. By default the search
    goes on to ``confidence``, and from there as long as the change gets shorter.

    Parameters
    ----------
    eps : float, optional
        The most that any value changes. By default the paper's in the domains ``vd.attacks.Waveform()`` and
        ``vd.attacks.Spectrum()``, elsewhere from the data as for ``vd.attacks.Pgd``.
    step : float, optional
        Size of a step. By default the paper's in those domains, elsewhere a twentieth of ``eps``.
    alpha : float, optional
        Weight of the loss. By default the paper's in those domains; elsewhere it rises while the network is less
        sure than asked for, and falls while it is surer.
    n_steps : int, default 1000
        Number of steps.
    confidence : float or None, default 0.95
        Probability of the wanted label that the change must reach.
    parts : int, optional
        Change only so many features, drawn at random; where this fails, others are tried.
    adam : bool, default True
        Feed the signs to Adam, as the paper's code does.
    domain : Waveform or Spectrum, optional
        Where the change is made; by default in what the model takes.
    bounds : tuple of float, optional
        Least and largest value that a changed input may have.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> import veridical as vd
    >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16, 1)).eval()
    >>> torch.nn.init.ones_(network[1].weight).mean().item()
    1.0
    >>> spectrograms = np.random.default_rng(0).normal(size=(2, 4, 4)).astype(np.float32)
    >>> model = vd.Network(network, answers="sigmoid")
    >>> attack = vd.attacks.CarliniWagner(eps=1.0, n_steps=100)
    >>> found = vd.causes(model, vd.Tiles(times=2, bands=2), spectrograms, kind=attack)
    >>> [cause.success for cause in found]
    [True, True]
    """

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
        check_gradient_settings(self)
        check_flag("adam", self.adam)

    @property
    def patience(self) -> int:
        """Steps without a shorter change after which the search ends."""
        return 0 if self.confidence is None else PATIENCE

    def size(self, space: AttackSpace) -> float:
        """How far a change may go."""
        return _choose_eps(self.eps, space)

    def step_rule(self, space: AttackSpace, eps: float) -> StepRule:
        """A step along signs, of the loss and of the change's own size."""
        usual = space.usual
        step = self.step or (usual.step * space.unit if usual else eps / STEPS_TO_BOUND)
        alpha = self.alpha or (usual.alpha if usual else None)
        first = FIRST_ALPHA * space.n_values * (eps / space.unit) ** 2 if alpha is None else alpha
        pull, memory = 2 / space.unit**2, AdamMemory(first, fixed=alpha is not None)

        def moved(delta: Any, slope: Any, going: ActiveRows) -> Any:
            memory.keep(delta, going)
            sign = (pull * delta + memory.alpha * slope).sign()
            return (delta - step * (memory.adam(sign) if self.adam else sign)).clamp(-eps, eps)

        return moved


class AdamMemory:
    """What the attack remembers of active instances: the weight of their loss, and Adam's running means."""

    def __init__(self, alpha: float, fixed: bool) -> None:
        self.start, self.fixed, self.n = alpha, fixed, 0
        self.rows: Any = None  # (m,)
        self.alpha: Any = None  # (m, 1, …)
        self.means: Any = None  # (2, m, …) of what Adam is fed, and of its squares

    def keep(self, delta: Any, going: ActiveRows) -> None:
        """Drop instances that are done; raise the loss's weight where they are not sure enough, else lower it."""
        if self.rows is None:
            self.alpha = delta.new_full((len(delta), *[1] * (delta.dim() - 1)), self.start)
            self.means = delta.new_zeros((2, *delta.shape))
        else:
            left = (self.rows[:, None] == going.rows[None]).any(dim=1)
            self.alpha, self.means = self.alpha[left], self.means[:, left]
        self.rows = going.rows
        if not self.fixed:
            factor = np.where(going.sure, 1 / ALPHA_FACTOR, ALPHA_FACTOR)
            alpha = self.alpha * self.alpha.new_tensor(factor).reshape(self.alpha.shape)
            self.alpha = alpha.clamp(self.start / MAX_ALPHA_CHANGE, self.start * MAX_ALPHA_CHANGE)

    def adam(self, fed: Any) -> Any:
        """Adam's step (m, …) for this input."""
        self.n += 1
        for mean, new, keeps in ((self.means[0], fed, ADAM_MEAN), (self.means[1], fed**2, ADAM_SQUARES)):
            mean.mul_(keeps).add_(new, alpha=1 - keeps)
        first, second = self.means[0] / (1 - ADAM_MEAN**self.n), self.means[1] / (1 - ADAM_SQUARES**self.n)
        return first / (second.sqrt() + 1e-8)


def _choose_eps(eps: float | None, space: AttackSpace, many: float = 1.0) -> float:
    """The caller's bound, or the domain's, or a share of the data's spread."""
    if eps is not None:
        found = float(eps)
    elif space.usual is not None:
        found = space.usual.eps * space.unit * many
    else:
        found = DEFAULT_EPS_SHARE * space.spread * many or DEFAULT_EPS_SHARE
    return max(math.floor(found), 1.0) if space.whole else found


def _lengths(values: Any) -> Any:
    """Euclidean lengths (m, 1, …), never zero."""
    sizes = values.flatten(1).norm(dim=1).clamp(min=1e-30)
    return sizes.reshape(-1, *[1] * (values.dim() - 1))


MAX_VALUES_PER_QUERY = 2**24  # numbers that are changed at once, at most
ODDS_OFFSET = 1e-9  # added to probabilities before their logarithm
MAX_CHANNELS = 4  # places of an axis up to which it holds channels, whose signs are drawn apart
FIRST_SQUARE, LAST_SQUARE = 0.05, 0.002  # share of an instance that a square has, at first and at last
N_PAIRS = 8  # of opposite directions, that a slope is estimated by
MOMENTUM = 0.8  # of the slope of the steps before
N_BLOCK_SIZES = 4  # sizes of blocks, each twice the one before
SPSA_STEP = 0.1  # of the bound, that a usual value goes in a step


class QuerySearch:
    """The state of a search, for some instances of one shape."""

    def __init__(self, aim: Aim, rows: Ints, seed: Seed) -> None:
        self.aim, self.rows = aim, rows
        self.x = np.concatenate([numbers_of(aim.inputs[i], "an instance") for i in rows])  # (m, …)
        self.rngs = [generator(seed, int(i)) for i in rows]
        self.delta: Any
        self.best: Any
        self.delta, self.best = np.zeros((2, *self.x.shape), np.result_type(self.x, np.float32))
        self.flips: Bools = np.zeros(len(rows), bool)
        self.support = aim.decision.support(aim.outputs[rows], aim.wanted[rows])
        self.level = _log_odds(self.support)  # log-odds of the wanted label, under the change so far
        self.n_calls = np.zeros(len(rows), np.int64)
        self.parts: list[Bools | None] = [None] * len(rows)  # (m) those that the best change is confined to
        self.boxes = [[(0, n) for n in self.x.shape[1:]]] * len(rows)  # from where to where, along each axis
        self.inside: Array | None = None  # (m, …) 1 where values may be changed; None for everywhere

    def restart(self, at: Ints) -> None:
        """Start some instances again from their own values."""
        said = self.aim.decision.support(self.aim.outputs[self.rows[at]], self.aim.wanted[self.rows[at]])
        self.delta[at], self.level[at] = 0.0, _log_odds(said)

    def resume(self, at: Ints) -> None:
        """Go on with the best change of some instances."""
        self.delta[at], self.level[at] = self.best[at], _log_odds(self.support[at])

    def query(self, at: Ints, deltas: Floats) -> Floats:
        """Query changed copies of some instances: log-odds of the wanted label (n,); the best are kept."""
        wanted, decision = self.aim.wanted[self.rows[at]], self.aim.decision
        outputs = self.aim.model(self._made(at, deltas))
        flips, support = decision(outputs) == wanted, decision.support(outputs, wanted)
        np.add.at(self.n_calls, at, 1)
        order = np.lexsort((support, flips))  # the last one of an instance is its best
        for i, row in {int(at[row]): row for row in order}.items():
            if (flips[row], support[row]) > (self.flips[i], self.support[i]):
                self.flips[i], self.support[i], self.best[i] = flips[row], support[row], deltas[row]
        return _log_odds(support)

    def unfinished(self, among: Ints, confidence: float | None) -> Ints:
        """Which of some instances are not yet decided as wanted, as surely as asked for."""
        done = self.flips[among] & (self.support[among] >= required_confidence(confidence))
        return among[~done]

    def draw_signs(self, i: int) -> Floats:
        """Random signs over instance i, the same in blocks of 1, 2, 4 or 8 places per side."""
        shape, rng = self.x.shape[1:], self.rngs[i]
        block = 2 ** int(rng.integers(N_BLOCK_SIZES))
        sides = [1 if n <= MAX_CHANNELS else block for n in shape]
        starts = [int(rng.integers(side)) for side in sides]
        sizes = [(n + start - 1) // side + 1 for n, start, side in zip(shape, starts, sides, strict=True)]
        drawn: Any = rng.integers(0, 2, sizes) * 2.0 - 1.0
        for axis, (n, start, side) in enumerate(zip(shape, starts, sides, strict=True)):
            drawn = drawn.take((np.arange(n) + start) // side, axis=axis)
        return np.asarray(drawn if self.inside is None else drawn * self.inside[i])

    def confine(self, own: Mapping[int, tuple[Representation, Any]]) -> None:
        """Change values of some instances only within these of their parts."""
        if self.inside is None:
            self.inside = np.zeros(self.x.shape)
        for i, (representation, mask) in own.items():
            self.inside[i] = mask_values(representation, mask, self.x.shape[1:])
            at = np.nonzero(self.inside[i])
            self.boxes[i] = [(int(each.min()), int(each.max()) + 1) for each in at]

    def collect(self, eps: float) -> dict[int, ChangedInput]:
        """The best change of each instance, from a search that went as far as ``eps``."""
        made = self._made(np.arange(len(self.rows)), self.best)
        return {
            int(row): ChangedInput(
                made[i : i + 1], int(self.n_calls[i]), self.parts[i], reason=describe_reach(eps)
            )
            for i, row in enumerate(self.rows)
        }

    def _made(self, at: Ints, deltas: Floats) -> Any:
        made, first = fit_range(self.x[at] + deltas, self.x), self.aim.inputs[self.rows[0]]
        return first.new_tensor(made) if is_tensor(first) else made


@dataclass(frozen=True)
class QueryAttack(ABC):
    """A search for a small change that only queries the model; ``stepper`` says how it goes on."""

    purpose: ClassVar[str] = "change"

    eps: float | None = None
    n_steps: int = 500
    confidence: float | None = 0.95
    parts: int | None = None

    def __post_init__(self) -> None:
        check_settings(self)

    @abstractmethod
    def stepper(self, search: QuerySearch, eps: float) -> Any:
        """A function that changes some instances once more, given which and how far the search is, 0 to 1."""

    def __call__(self, aim: Aim, seed: Seed) -> tuple[Cause, ...]:
        """Search for one cause per instance."""
        who = f"vd.attacks.{type(self).__name__} changes"
        hint = "for texts use vd.edits.SwappedWords(), for tables vd.edits.EditedColumns()"
        arrays = [check_array(each, who, hint) for each in aim.inputs]
        found: dict[int, ChangedInput] = {}
        for rows in group_by_shape(arrays):
            bounds = self._bounds(np.concatenate([arrays[i] for i in rows]))
            size = max(MAX_VALUES_PER_QUERY // (2 * N_PAIRS * max(arrays[rows[0]].size, 1)), 1)
            for first in range(0, len(rows), size):
                search = QuerySearch(aim, rows[first : first + size], seed)
                for eps in bounds:
                    self._widen(search, eps, max(self.n_steps // len(bounds), 1))
                found |= search.collect(max(bounds))
        return aim.judge([found[i] for i in range(len(aim))], type(self).__name__, self.confidence)

    def _widen(self, search: QuerySearch, eps: float, n_steps: int) -> None:
        """Search within this bound, for those that found nothing so far."""
        todo = np.flatnonzero(search.aim.labels[search.rows] != search.aim.wanted[search.rows])
        todo = search.unfinished(todo, self.confidence)
        if self.parts is not None:
            self._within(search, todo, eps, n_steps)
        else:
            search.restart(todo)
            self._climb(search, todo, eps, n_steps)

    def _within(self, search: QuerySearch, todo: Ints, eps: float, n_steps: int) -> None:
        """A few steps within one choice of parts after the other, then all within the best of them."""
        every = search.aim.represent.each(search.aim.X).batch(0, len(search.aim))
        own = {int(i): every[int(search.rows[i])] for i in todo}
        k = self.parts or 1
        orders = {i: shuffle_parts(k, len(each.names), search.rngs[i]) for i, each in own.items()}
        for attempt in range(N_PART_CHOICES):
            todo = search.unfinished(todo, self.confidence)
            before = search.best.copy()
            masks = {int(i): choose_turn(orders[int(i)], k, attempt) for i in todo}
            search.confine({i: (own[i], mask) for i, mask in masks.items()})
            search.restart(todo)
            self._climb(search, todo, eps, max(n_steps // N_PART_CHOICES, 1))
            for i, mask in masks.items():
                if search.parts[i] is None or (search.best[i] != before[i]).any():
                    search.parts[i] = mask
        todo = search.unfinished(todo, self.confidence)
        search.confine({int(i): (own[int(i)], search.parts[i]) for i in todo})
        search.resume(todo)
        self._climb(search, todo, eps, n_steps)

    def _climb(self, search: QuerySearch, todo: Ints, eps: float, n_steps: int) -> None:
        """Step by step, until all are decided as wanted, or the steps are used up."""
        step = self.stepper(search, eps)
        for number in range(n_steps):
            todo = search.unfinished(todo, self.confidence)
            if not len(todo):
                return
            step(todo, number / max(n_steps - 1, 1))

    def _bounds(self, batch: Array) -> tuple[float, ...]:
        """How far values may be moved; where the caller does not say, further where that finds nothing."""
        if self.eps is not None:
            return (float(self.eps),)
        least = DEFAULT_EPS_SHARE * float(batch.std()) or DEFAULT_EPS_SHARE
        least = max(least, 1.0) if batch.dtype.kind in "iu" else least
        return tuple(times * least for times in EPS_FACTORS)


@dataclass(frozen=True)
class Square(QueryAttack):
    """Random squares moved up or down, kept where they help (after Andriushchenko et al. 2020).

    It needs no gradients, so it attacks any predict function. Squares become smaller during the search. Unlike the
    paper's, the search starts from the instance itself, queries both signs of a square, and keeps squares that
    help more than usual, so the change is where it does something.

    Parameters
    ----------
    eps : float, optional
        The most that any value changes. By default a fifth of the data's standard deviation, and twice and four
        times that where it finds nothing.
    n_steps : int, default 500
        Number of squares that are tried.
    confidence : float or None, default 0.95
        Probability of the wanted label at which the search ends. None ends it at the first change that is decided
        as wanted.
    parts : int, optional
        Change only so many features, drawn at random; where this fails, others are tried.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> def model(spectrograms):
    ...     return 1 / (1 + np.exp(-4 * spectrograms.mean(axis=(1, 2))))
    >>> spectrograms = np.random.default_rng(0).normal(size=(2, 4, 4))
    >>> found = vd.causes(model, vd.Tiles(times=2, bands=2), spectrograms, kind=vd.attacks.Square(eps=1.0, confidence=0.7))
    >>> [cause.success for cause in found]
    [True, True]
    """

    def stepper(self, search: QuerySearch, eps: float) -> Any:
        """A square an instance, at a random place."""
        gained, n = np.zeros((2, len(search.rows)))

        def step(todo: Ints, share: float) -> None:
            ways = [_draw_squares(search, int(i), eps, share) for i in todo]
            both = np.concatenate([[up for up, _ in ways], [down for _, down in ways]])
            heights = search.query(np.tile(todo, 2), both).reshape(2, -1)
            gain = heights.max(axis=0) - search.level[todo]
            gained[todo] += np.maximum(gain, 0.0)
            n[todo] += 1
            for j in np.flatnonzero(gain > gained[todo] / n[todo]):
                search.level[todo[j]] += gain[j]
                search.delta[todo[j]] = ways[j][int(heights[:, j].argmax())]

        return step


@dataclass(frozen=True)
class Spsa(QueryAttack):
    """Steps along a gradient that is estimated from random directions (Spall 1992; Uesato et al. 2018).

    It needs no gradients, so it attacks any predict function. Each step queries 8 pairs of opposite directions, in
    blocks of neighboring values, and remembers earlier steps.

    Parameters
    ----------
    eps : float, optional
        The most that any value changes. By default a fifth of the data's standard deviation, and twice and four
        times that where it finds nothing.
    n_steps : int, default 120
        Number of steps.
    confidence : float or None, default 0.95
        Probability of the wanted label at which the search ends. None ends it at the first change that is decided
        as wanted.
    parts : int, optional
        Change only so many features, drawn at random; where this fails, others are tried.

    Examples
    --------
    >>> import numpy as np
    >>> import veridical as vd
    >>> def model(spectrograms):
    ...     return 1 / (1 + np.exp(-4 * spectrograms.mean(axis=(1, 2))))
    >>> spectrograms = np.random.default_rng(0).normal(size=(2, 4, 4))
    >>> found = vd.causes(model, vd.Tiles(times=2, bands=2), spectrograms, kind=vd.attacks.Spsa(eps=1.0, confidence=0.7))
    >>> [cause.success for cause in found]
    [True, True]
    """

    n_steps: int = 120

    def stepper(self, search: QuerySearch, eps: float) -> Any:
        """A step along the mean slope."""
        slopes = np.zeros(search.x.shape)

        def step(todo: Ints, share: float) -> None:
            found = np.zeros((len(todo), *search.x.shape[1:]))
            for _ in range(N_PAIRS):
                ways = np.stack([search.draw_signs(int(i)) for i in todo])
                both = np.concatenate([search.delta[todo] + eps * ways / 2, search.delta[todo] - eps * ways / 2])
                up, down = np.split(search.query(np.tile(todo, 2), both.clip(-eps, eps)), 2)
                found += (up - down).reshape(-1, *[1] * (ways.ndim - 1)) * ways
            slopes[todo] = MOMENTUM * slopes[todo] + found
            usual = np.sqrt(np.mean(slopes[todo] ** 2, axis=tuple(range(1, slopes.ndim)), keepdims=True))
            moved = search.delta[todo] + SPSA_STEP * eps * slopes[todo] / np.maximum(usual, ODDS_OFFSET)
            search.delta[todo] = np.clip(moved, -eps, eps)
            search.query(todo, search.delta[todo])

        return step


def _draw_squares(search: QuerySearch, i: int, eps: float, share: float) -> tuple[Floats, Floats]:
    """The change of instance i with a square at the bound, up and down."""
    shape, rng = search.x.shape[1:], search.rngs[i]
    long = [n > MAX_CHANNELS for n in shape]
    part = (FIRST_SQUARE * (LAST_SQUARE / FIRST_SQUARE) ** share) ** (1 / max(sum(long), 1))
    at, sizes = [], []
    for (low, high), is_long in zip(search.boxes[i], long, strict=True):
        side = max(round(part * (high - low)), 1) if is_long else high - low
        start = int(rng.integers(low, high - side + 1))
        at.append(slice(start, start + side))
        sizes.append(1 if is_long else side)
    signs = rng.integers(0, 2, sizes) * 2.0 - 1.0
    found = []
    for way in (eps, -eps):
        moved = search.delta[i].copy()
        moved[tuple(at)] = way * signs
        found.append(moved if search.inside is None else moved * search.inside[i])
    return found[0], found[1]


def _log_odds(support: Floats) -> Floats:
    return np.asarray(np.log(support + ODDS_OFFSET) - np.log1p(ODDS_OFFSET - support))
