"""Small changes found by asking alone: no gradient is needed, so any predict function will do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from veridical.debug.adversary.contents import within
from veridical.debug.adversary.descent import SPREAD, TRIES, WIDER, enough, places_of, reached, shuffled, turn
from veridical.debug.adversary.domains import by_shape
from veridical.debug.adversary.records import Aim, Cause, Found
from veridical.errors import InputError, check_positive, check_probability, check_whole
from veridical.masks import generator
from veridical.records import Bools, Floats, Ints, Representation, Seed
from veridical.represent.regions import Array, is_tensor, numbers_of

AT_ONCE = 2**24  # numbers that are changed at once, at most
TINY = 1e-9  # added to probabilities before their logarithm
FEW = 4  # places of an axis up to which it holds channels, whose signs are drawn apart
LARGE, SMALL = 0.05, 0.002  # share of an instance that a square has, at the first step and at the last
PAIRS = 8  # of opposite directions, that a slope is estimated by
MEMORY = 0.8  # of the slope of the steps before
BLOCKS = 4  # sizes of blocks, each twice the one before
STRIDE = 0.1  # of the bound, that a usual value goes in a step


class Climb:
    """How far a search has come, for some instances of one shape."""

    def __init__(self, aim: Aim, rows: Ints, seed: Seed) -> None:
        self.aim, self.rows = aim, rows
        self.x = np.concatenate([numbers_of(aim.inputs[i], "an instance") for i in rows])  # (m, …)
        self.rngs = [generator(seed, int(i)) for i in rows]
        self.delta: Any
        self.best: Any
        self.delta, self.best = np.zeros((2, *self.x.shape), np.result_type(self.x, np.float32))
        self.flips: Bools = np.zeros(len(rows), bool)
        self.support = aim.decision.support(aim.outputs[rows], aim.wanted[rows])
        self.level = _odds(self.support)  # log-odds of the wanted label, under the change so far
        self.n_calls = np.zeros(len(rows), np.int64)
        self.parts: list[Bools | None] = [None] * len(rows)  # (m) those that the best change is confined to
        self.boxes = [[(0, n) for n in self.x.shape[1:]]] * len(rows)  # from where to where, along each axis
        self.inside: Array | None = None  # (m, …) 1 where values may be changed; None for everywhere

    def again(self, at: Ints) -> None:
        """Begin some instances anew."""
        said = self.aim.decision.support(self.aim.outputs[self.rows[at]], self.aim.wanted[self.rows[at]])
        self.delta[at], self.level[at] = 0.0, _odds(said)

    def further(self, at: Ints) -> None:
        """Go on with the best change of some instances."""
        self.delta[at], self.level[at] = self.best[at], _odds(self.support[at])

    def heights(self, at: Ints, deltas: Floats) -> Floats:
        """Log-odds of the wanted label, of moved copies of some instances (n,); the best are kept."""
        wanted, decision = self.aim.wanted[self.rows[at]], self.aim.decision
        outputs = self.aim.model(self._made(at, deltas))
        flips, support = decision(outputs) == wanted, decision.support(outputs, wanted)
        np.add.at(self.n_calls, at, 1)
        order = np.lexsort((support, flips))  # the last one of an instance is its best
        for i, row in {int(at[row]): row for row in order}.items():
            if (flips[row], support[row]) > (self.flips[i], self.support[i]):
                self.flips[i], self.support[i], self.best[i] = flips[row], support[row], deltas[row]
        return _odds(support)

    def going(self, among: Ints, confidence: float | None) -> Ints:
        """Those of some instances that are not yet decided as wanted, as surely as asked for."""
        done = self.flips[among] & (self.support[among] >= enough(confidence))
        return among[~done]

    def signs(self, i: int) -> Floats:
        """Random signs over instance i, the same throughout blocks of 1, 2, 4 or 8 places a side."""
        shape, rng = self.x.shape[1:], self.rngs[i]
        block = 2 ** int(rng.integers(BLOCKS))
        sides = [1 if n <= FEW else block for n in shape]
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
            self.inside[i] = places_of(representation, mask, self.x.shape[1:])
            at = np.nonzero(self.inside[i])
            self.boxes[i] = [(int(each.min()), int(each.max()) + 1) for each in at]

    def found(self, eps: float) -> dict[int, Found]:
        """The best of each instance, of a search that went as far as this."""
        made = self._made(np.arange(len(self.rows)), self.best)
        return {
            int(row): Found(made[i : i + 1], int(self.n_calls[i]), self.parts[i], reason=reached(eps))
            for i, row in enumerate(self.rows)
        }

    def _made(self, at: Ints, deltas: Floats) -> Any:
        made, first = within(self.x[at] + deltas, self.x), self.aim.inputs[self.rows[0]]
        return first.new_tensor(made) if is_tensor(first) else made


@dataclass(frozen=True)
class ByAsking(ABC):
    """A search for a small change that asks the model alone; ``step`` says how it goes on."""

    purpose: ClassVar[str] = "change"

    eps: float | None = None
    n_steps: int = 500
    confidence: float | None = 0.95
    parts: int | None = None

    def __post_init__(self) -> None:
        check_whole("n_steps", self.n_steps)
        if self.eps is not None:
            check_positive("eps", self.eps)
        if self.confidence is not None:
            check_probability("confidence", self.confidence)
        if self.parts is not None:
            check_whole("parts", self.parts)

    @abstractmethod
    def stepper(self, climb: Climb, eps: float) -> Any:
        """What changes some instances once more: a function of which, and of how far the search is, 0 to 1."""

    def __call__(self, aim: Aim, seed: Seed) -> tuple[Cause, ...]:
        """One cause an instance, in order; those for which none was found say why."""
        arrays = [self._numbers(each) for each in aim.inputs]
        found: dict[int, Found] = {}
        for rows in by_shape(arrays):
            bounds = self._bounds(np.concatenate([arrays[i] for i in rows]))
            size = max(AT_ONCE // (2 * PAIRS * max(arrays[rows[0]].size, 1)), 1)
            for first in range(0, len(rows), size):
                climb = Climb(aim, rows[first : first + size], seed)
                for eps in bounds:
                    self._widen(climb, eps, max(self.n_steps // len(bounds), 1))
                found |= climb.found(max(bounds))
        return aim.causes([found[i] for i in range(len(aim))], type(self).__name__, self.confidence)

    def _widen(self, climb: Climb, eps: float, n_steps: int) -> None:
        """Search within this bound, for those that found nothing so far."""
        todo = np.flatnonzero(climb.aim.labels[climb.rows] != climb.aim.wanted[climb.rows])
        todo = climb.going(todo, self.confidence)
        if self.parts is not None:
            self._within(climb, todo, eps, n_steps)
        else:
            climb.again(todo)
            self._climb(climb, todo, eps, n_steps)

    def _within(self, climb: Climb, todo: Ints, eps: float, n_steps: int) -> None:
        """A few steps within one choice of parts after the other, then all within the best of them."""
        every = climb.aim.represent.each(climb.aim.X).batch(0, len(climb.aim))
        own = {int(i): every[int(climb.rows[i])] for i in todo}
        k = self.parts or 1
        orders = {i: shuffled(k, len(each.names), climb.rngs[i]) for i, each in own.items()}
        for attempt in range(TRIES):
            todo = climb.going(todo, self.confidence)
            before = climb.best.copy()
            masks = {int(i): turn(orders[int(i)], k, attempt) for i in todo}
            climb.confine({i: (own[i], mask) for i, mask in masks.items()})
            climb.again(todo)
            self._climb(climb, todo, eps, max(n_steps // TRIES, 1))
            for i, mask in masks.items():
                if climb.parts[i] is None or (climb.best[i] != before[i]).any():
                    climb.parts[i] = mask
        todo = climb.going(todo, self.confidence)
        climb.confine({int(i): (own[int(i)], climb.parts[i]) for i in todo})
        climb.further(todo)
        self._climb(climb, todo, eps, n_steps)

    def _climb(self, climb: Climb, todo: Ints, eps: float, n_steps: int) -> None:
        """Step by step, until all are decided as wanted, or the steps are used up."""
        step = self.stepper(climb, eps)
        for number in range(n_steps):
            todo = climb.going(todo, self.confidence)
            if not len(todo):
                return
            step(todo, number / max(n_steps - 1, 1))

    def _bounds(self, batch: Array) -> tuple[float, ...]:
        """How far values may be moved; where the caller does not say, further where that finds nothing."""
        if self.eps is not None:
            return (float(self.eps),)
        least = SPREAD * float(batch.std()) or SPREAD
        least = max(least, 1.0) if batch.dtype.kind in "iu" else least
        return tuple(times * least for times in WIDER)

    def _numbers(self, batch: Any) -> Array:
        if not is_tensor(batch) and not isinstance(batch, np.ndarray):
            raise InputError(
                f"vd.{type(self).__name__} changes arrays of numbers, and the model takes "
                f"{type(batch).__name__}: for texts take vd.SwappedWords(), for tables vd.EditedColumns()"
            )
        return numbers_of(batch, "an instance")


@dataclass(frozen=True)
class Square(ByAsking):
    """Squares that are moved up or down by ``eps``, kept where that helps (after Andriushchenko et al. 2020).

    They grow smaller as the search goes on. Unlike the paper's, the search starts from the instance itself, asks
    about both signs of a square, and keeps those that help more than usual: so the change is where it does
    something, and nowhere else. No value is changed by more than ``eps``: by default a fifth of the data's
    standard deviation, or, where that finds nothing, two or four. It ends where the wanted label has
    ``confidence``, or with None at the first that is decided so. With ``parts=k`` only k random parts are
    changed, and others are tried where that fails.
    """

    def stepper(self, climb: Climb, eps: float) -> Any:
        """A square an instance, at a random place."""
        gained, n = np.zeros((2, len(climb.rows)))

        def step(todo: Ints, share: float) -> None:
            ways = [_squared(climb, int(i), eps, share) for i in todo]
            both = np.concatenate([[up for up, _ in ways], [down for _, down in ways]])
            heights = climb.heights(np.tile(todo, 2), both).reshape(2, -1)
            gain = heights.max(axis=0) - climb.level[todo]
            gained[todo] += np.maximum(gain, 0.0)
            n[todo] += 1
            for j in np.flatnonzero(gain > gained[todo] / n[todo]):
                climb.level[todo[j]] += gain[j]
                climb.delta[todo[j]] = ways[j][int(heights[:, j].argmax())]

        return step


@dataclass(frozen=True)
class Spsa(ByAsking):
    """Steps along a slope that is estimated by random directions (Spall 1992; Uesato et al. 2018).

    Each step asks about 8 pairs of opposite directions, in blocks of neighboring values, and remembers the steps
    before. The settings are as for ``vd.Square``.
    """

    n_steps: int = 120

    def stepper(self, climb: Climb, eps: float) -> Any:
        """A step along the mean slope."""
        slopes = np.zeros(climb.x.shape)

        def step(todo: Ints, share: float) -> None:
            found = np.zeros((len(todo), *climb.x.shape[1:]))
            for _ in range(PAIRS):
                ways = np.stack([climb.signs(int(i)) for i in todo])
                both = np.concatenate([climb.delta[todo] + eps * ways / 2, climb.delta[todo] - eps * ways / 2])
                up, down = np.split(climb.heights(np.tile(todo, 2), both.clip(-eps, eps)), 2)
                found += _along(up - down, ways)
            slopes[todo] = MEMORY * slopes[todo] + found
            usual = np.sqrt(np.mean(slopes[todo] ** 2, axis=tuple(range(1, slopes.ndim)), keepdims=True))
            moved = climb.delta[todo] + STRIDE * eps * slopes[todo] / np.maximum(usual, TINY)
            climb.delta[todo] = np.clip(moved, -eps, eps)
            climb.heights(todo, climb.delta[todo])

        return step


def _squared(climb: Climb, i: int, eps: float, share: float) -> tuple[Floats, Floats]:
    """The change of instance i with a square at the bound, up and down."""
    shape, rng = climb.x.shape[1:], climb.rngs[i]
    long = [n > FEW for n in shape]
    part = (LARGE * (SMALL / LARGE) ** share) ** (1 / max(sum(long), 1))
    at, sizes = [], []
    for (low, high), is_long in zip(climb.boxes[i], long, strict=True):
        side = max(round(part * (high - low)), 1) if is_long else high - low
        start = int(rng.integers(low, high - side + 1))
        at.append(slice(start, start + side))
        sizes.append(1 if is_long else side)
    signs = rng.integers(0, 2, sizes) * 2.0 - 1.0
    found = []
    for way in (eps, -eps):
        moved = climb.delta[i].copy()
        moved[tuple(at)] = way * signs
        found.append(moved if climb.inside is None else moved * climb.inside[i])
    return found[0], found[1]


def _along(rise: Floats, ways: Floats) -> Floats:
    """Directions (m, …), each as far as it rises (m,)."""
    return np.asarray(rise.reshape(-1, *[1] * (ways.ndim - 1)) * ways)


def _odds(support: Floats) -> Floats:
    return np.asarray(np.log(support + TINY) - np.log1p(TINY - support))
