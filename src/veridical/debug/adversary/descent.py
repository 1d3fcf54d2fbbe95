"""The search for a small change by which a network decides as wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Protocol

import numpy as np

from veridical.attribute.launches import ON_GPU
from veridical.debug.adversary.domains import Domain, Ground, Inputs
from veridical.debug.adversary.records import Aim, Cause, Found
from veridical.errors import InputError, check_positive, check_probability, check_whole
from veridical.masks import generator
from veridical.records import Bools, Floats, Ints, Seed
from veridical.represent.masked import Masked

AT_ONCE = 2**17  # numbers of instances that are changed at once, about: what fits the cache is quickest
SPREAD = 0.2  # share of the data's standard deviation that a change may have, unless the caller says
WIDER = (1, 2, 4)  # times that bound, where a narrower one finds nothing and the caller gives none
TRIES = 10  # choices of parts, where the change is confined to some
SLACK = 1e-3  # by which a search goes beyond the confidence that is asked for, lest rounding takes it back
SHORTER = 0.99  # how much shorter a change must be, to be much better
FLAT = "the loss has no slope at the instance"

Move = Callable[[Any, Any, "Going"], Any]  # the change (m, …) and the slope of the loss (m, …), to a new change


@dataclass(frozen=True, eq=False)
class Going:
    """Instances whose search goes on."""

    rows: Any  # (m,) tensor of their numbers
    sure: Bools  # (m,) whether they are decided as wanted now, as surely as is asked for


class Settings(Protocol):
    """What a kind of gradient attack says of itself."""

    @property
    def eps(self) -> float | None: ...
    @property
    def n_steps(self) -> int: ...
    @property
    def confidence(self) -> float | None: ...
    @property
    def parts(self) -> int | None: ...
    @property
    def domain(self) -> Domain | None: ...
    @property
    def bounds(self) -> tuple[float, float] | None: ...

    @property
    def patience(self) -> int:
        """Steps without a shorter change after which one that suffices is taken."""
        ...

    def size(self, ground: Ground) -> float:
        """How far a change may go."""
        ...

    def mover(self, ground: Ground, eps: float) -> Move:
        """How a change goes on."""
        ...


def attacked(kind: Settings, aim: Aim, seed: Seed) -> tuple[Cause, ...]:
    """One cause an instance by a gradient attack."""
    name, network = type(kind).__name__, aim.network
    if network is None:
        raise InputError(
            f"{name} needs gradients, so it needs a torch network: pass the module itself, or vd.Network(module, "
            "…); vd.Spsa and vd.Square need only a predict function"
        )
    if network.embedding is not None:
        raise InputError(f"{name} changes numbers, and this network reads token ids: take vd.SwappedWords()")
    domain = kind.domain or Inputs()
    found: dict[int, Found] = {}
    for rows in domain.alike(aim):
        ground = bounded(domain.ground(aim, rows, network), kind.bounds)
        found |= _searched(kind, aim, ground, seed)
    return aim.causes([found[i] for i in range(len(aim))], name, kind.confidence)


def _searched(kind: Settings, aim: Aim, ground: Ground, seed: Seed) -> dict[int, Found]:
    """What is found for the instances of one ground, piece by piece."""
    size = max(int(np.prod(ground.start.shape[1:])), 1)
    step = max((ON_GPU if ground.start.is_cuda else AT_ONCE) // size, 1)
    given = kind.eps is not None or ground.usual is not None
    bounds = tuple(times * kind.size(ground) for times in (WIDER[:1] if given else WIDER))
    found: dict[int, Found] = {}
    for first in range(0, len(ground.rows), step):
        search = Search(kind, aim, ground, bounds, slice(first, first + step))
        found |= search.best(seed)
    return found


@dataclass(frozen=True, eq=False)
class Search:
    """The search among some instances of one ground."""

    kind: Settings
    aim: Aim
    ground: Ground
    bounds: tuple[float, ...]  # how far a change may go: the next where the one before finds nothing
    some: slice  # of the ground's rows

    @property
    def rows(self) -> Ints:
        """The instances (m,), by their numbers in the aim."""
        return self.ground.rows[self.some]

    def best(self, seed: Seed) -> dict[int, Found]:
        """The best that was found for each instance, with the parts that it is confined to."""
        m, k = len(self.rows), self.kind.parts
        state = Best(self.ground.start[self.some], self.kind.confidence)
        todo = np.flatnonzero(self.aim.labels[self.rows] != self.aim.wanted[self.rows])
        if k is None:
            for eps in self.bounds:
                self._descend(state, todo[~state.reached[todo]], None, eps)
            return self._found(state, [None] * m)
        orders = [self._order(int(row), seed) for row in self.rows]
        chosen: list[Bools | None] = [turn(order, k, 0) for order in orders]
        for eps, attempt in product(self.bounds, range(TRIES)):
            some = todo[~state.reached[todo]]
            if not len(some):
                break
            state.attempt = attempt
            tried = [turn(orders[i], k, attempt) for i in some]
            masks = [self._places(i, mask) for i, mask in zip(some, tried, strict=True)]
            self._descend(state, some, state.start.new_tensor(np.stack(masks)), eps)
            for i, mask in zip(some, tried, strict=True):
                chosen[i] = mask if state.at[i] == attempt else chosen[i]
        return self._found(state, chosen)

    def _descend(self, state: Best, todo: Ints, mask: Any, eps: float) -> None:
        """Go down the loss, for those that are still to be done; what is best on the way is kept."""
        if not len(todo):
            return
        start, wanted = state.start[todo], self.aim.wanted[self.rows][todo]
        move, delta = self.kind.mover(self.ground, eps), start.new_zeros(start.shape)
        active = np.arange(len(todo))
        for step in range(self.kind.n_steps + 1):
            rows = start.new_tensor(active).long()
            values = self.ground.within(start[rows] + delta[rows])
            height = self.ground.height(values, wanted[active])
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
            delta[rows] = move(delta[rows], slope, Going(rows, sure[going]))

    def _found(self, state: Best, chosen: Sequence[Bools | None]) -> dict[int, Found]:
        made = self.ground.finish(self.some, state.delta, self.ground.limits)
        return {
            int(row): Found(
                changed,
                int(state.n_calls[i]),
                chosen[i],
                sounds,
                FLAT if state.flat[i] else reached(self.bounds[-1]),
            )
            for i, (row, (changed, sounds)) in enumerate(zip(self.rows, made, strict=True))
        }

    def _order(self, row: int, seed: Seed) -> Ints:
        """The parts of an instance in the order in which they are tried."""
        return shuffled(self.kind.parts, len(self._representation(row).names), generator(seed, row))

    def _places(self, i: int, mask: Bools) -> Floats:
        """1 at the values of the parts that are changed, else 0."""
        return places_of(self._representation(int(self.rows[i])), mask, tuple(self.ground.start.shape[1:]))

    def _representation(self, row: int) -> Any:
        return self.aim.represent(self.aim.X.iloc[row] if hasattr(self.aim.X, "iloc") else self.aim.X[row])


class Best:
    """The best change of each instance so far.

    The surest, until one is decided as wanted as surely as is asked for; from there on, the shortest such.
    """

    def __init__(self, start: Any, confidence: float | None) -> None:
        m = len(start)
        self.start = start
        self.least = enough(confidence)
        self.delta = start.new_zeros(start.shape)
        self.level = np.full(m, -1)  # 0: not as wanted, 1: as wanted, 2: and sure enough
        self.merit = np.full(m, -np.inf)  # of two on one level the better has more
        self.idle = np.zeros(m, np.int64)  # steps since it got much better
        self.flat = np.zeros(m, bool)
        self.n_calls = np.zeros(m, np.int64)
        self.attempt, self.at = 0, np.zeros(m, np.int64)  # this one, and the one at which the best was found

    def keep(self, rows: Ints, delta: Any, flips: Bools, support: Floats) -> Bools:
        """Note what was found for some rows; which are sure enough (m,)."""
        level = flips * (1 + (support >= self.least))
        merit = np.where(level == 2, -delta.flatten(1).norm(dim=1).cpu().double().numpy(), support)
        rises, equal = level > self.level[rows], level == self.level[rows]
        better = rises | (equal & (merit > self.merit[rows]))
        much = rises | (equal & (merit > SHORTER * self.merit[rows]))
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


def reached(eps: float) -> str:
    """How far a search that failed could go."""
    return f"searched within eps={eps:.3g}"


def shuffled(k: int | None, d: int, rng: np.random.Generator) -> Ints:
    """All d parts in the random order in which k at a time are tried."""
    if k is not None and k > d:
        raise InputError(f"parts={k}, but an instance has only {d} parts: give fewer")
    return np.asarray(rng.permutation(d))


def turn(order: Ints, k: int, attempt: int) -> Bools:
    """The k parts (d,) that are changed at an attempt: the next ones in their order, and round again."""
    return np.isin(np.arange(len(order)), order[(np.arange(k) + attempt * k) % len(order)])


def enough(confidence: float | None) -> float:
    """How sure the model has to be at which a search ends: a little more than was asked for."""
    return -np.inf if confidence is None else confidence + min(SLACK, abs(1 - confidence) / 2)


def places_of(representation: Any, mask: Bools, shape: tuple[int, ...]) -> Floats:
    """1 at the values of an instance of this shape that lie in some parts, else 0."""
    if isinstance(representation, Masked):
        return np.append(mask, False)[representation.places.spread].astype(np.float64)
    painted = np.asarray(representation.paint(mask.astype(np.float64)))
    if painted.shape != shape:
        raise InputError(
            f"parts are places of shape {painted.shape}, what is changed has {shape}: leave parts out, or domain"
        )
    return painted


def bounded(ground: Ground, bounds: tuple[float, float] | None) -> Ground:
    """A ground whose values stay within the caller's bounds."""
    if bounds is None:
        return ground
    low, high = float(ground.start.min()), float(ground.start.max())
    if low < bounds[0] or high > bounds[1]:
        raise InputError(f"the data go from {low:g} to {high:g}, beyond the bounds {bounds}: give wider ones")
    return replace(ground, limits=bounds)


def check_settings(kind: Any) -> None:
    """Refuse settings of a gradient attack that make no sense."""
    check_whole("n_steps", kind.n_steps)
    for name in ("eps", "step", "alpha"):
        if getattr(kind, name, None) is not None:
            check_positive(name, getattr(kind, name))
    if kind.confidence is not None:
        check_probability("confidence", kind.confidence)
    if kind.parts is not None:
        check_whole("parts", kind.parts)
        if kind.domain is not None:
            raise InputError(
                "parts are of what the model takes, and a change in another domain spreads over them: leave parts "
                "or domain out"
            )
    if kind.bounds is not None and not (np.shape(kind.bounds) == (2,) and kind.bounds[0] < kind.bounds[1]):
        raise InputError(f"bounds are the least and the largest value, not {kind.bounds!r}")
    if kind.domain is not None and not hasattr(kind.domain, "ground"):
        raise InputError(f"domain is vd.Waveform() or vd.Spectrum(), or None for the inputs, not {kind.domain!r}")
