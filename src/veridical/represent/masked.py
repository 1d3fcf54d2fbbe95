"""Instances as parts that are kept or taken away: what text, pictures, sounds and series share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Protocol, cast, overload

import numpy as np

from veridical.errors import InputError, VeridicalError, safe_str
from veridical.masks import ByLaw, Gaussian, Sizes, generator
from veridical.records import (
    Bools,
    Features,
    Floats,
    Kernel,
    Part,
    Predict,
    Replacement,
    Representation,
    Sample,
    Seed,
    Step,
    View,
)
from veridical.represent.regions import Moved, Places

NEAR = Gaussian(0.25)
AT_ONCE = 2**25  # bytes of inputs that are made at once, about


class NoParts(InputError):  # noqa: N818 - reads as what it is
    """There is nothing to take away: an error by itself, and a field of a record that does not matter."""


class Compose(Protocol):
    """Makes inputs from masks."""

    @property
    def size(self) -> int:
        """Bytes of one input, about."""
        ...

    def __call__(self, masks: Bools, buffer: Any = None) -> Any:
        """One input a mask (n, d); in the memory of ``buffer``, an earlier answer, if that fits."""
        ...


class Compared(Compose, Protocol):
    """A Compose that knows which parts are as they were where they are taken away."""

    @property
    def unchanged(self) -> Bools:
        """Those parts, (d,): in them nothing is tested."""
        ...

    @property
    def reason(self) -> str:
        """Why there are such parts, in words that follow "not tested: "; {it} stands for them."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What stands in for other parts than one would think, in words."""
        ...


def unchanged_by(compose: Compose) -> Bools | None:
    """Parts that are as they were where they are taken away, of a Compose that may be ``Compared``."""
    found: Bools | None = getattr(compose, "unchanged", None)  # once, for it may take a while
    return found


@dataclass(frozen=True, eq=False)
class Masked(ByLaw):
    """A Representation by masks; what is kept and taken away is up to ``compose``."""

    parts: tuple[Part, ...]
    law: Sizes
    compose: Compose
    view: View | None = None
    notes: tuple[str, ...] = ()
    kernel: Kernel = field(default=NEAR)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @cached_property
    def replacement(self) -> Replacement:
        """Which parts are as they were where they are taken away."""
        unchanged = unchanged_by(self.compose)
        if unchanged is None:
            return Replacement.sound(len(self.parts))
        made = cast(Compared, self.compose)
        notes = made.notes
        if unchanged.any():
            n, what = int(unchanged.sum()), self.parts[0].relation
            count, it = (f"1 {what} was", "it") if n == 1 else (f"{n} {what}s were", "them")
            notes = (*notes, f"{count} not tested: {made.reason.format(it=it)}{self.advice(unchanged)}")
        return Replacement(unchanged, notes)

    def advice(self, unchanged: Bools) -> str:
        """What to do about parts that are not tested, in words that follow the reason."""
        return ""

    def realize(self, sample: Sample) -> Composed:
        return Composed(self.compose, sample.designs, self.view)

    def keeping(self, masks: Bools, seed: Seed) -> Composed:
        """What masks stand for, which is the same for every seed."""
        return Composed(self.compose, masks.astype(np.float64))

    def gather(self, values: Any) -> Floats:
        """Sums over the parts (d,) of a map of the instance's shape; of a text, of one number a character."""
        return self.places.gather(values, len(self.parts))

    def paint(self, weights: Floats) -> Floats:
        """The weight of its part at every place, channels aside."""
        return self.places.paint(weights, len(self.parts))

    @property
    def places(self) -> Places:
        """Which part lies where."""
        known: Places | None = getattr(self.compose, "places", None)
        if known is None:
            raise InputError(
                "these parts lie over each other, so that no place is of one part alone: cut the recording by "
                "vd.Slices(), the series by windows, or explain the model of a spectrogram by vd.Tiles()"
            )
        return known

    def step(self, size: float, seed: Seed, n_blocks: int | None = None) -> Step:
        """All parts moved a little, as they can be."""
        move: Callable[..., Moved] | None = getattr(self.compose, "moved", None)
        if move is None:
            raise InputError(
                f"{type(self.compose).__name__} does not say how parts are moved a little: it needs "
                "moved(size, rng, n_blocks)"
            )
        found = move(size, generator(seed), n_blocks)
        back = found.ahead if found.back is None else found.back
        both = np.full(len(self.parts), found.back is not None)
        ahead, behind = partial(Composed, found.ahead), partial(Composed, back)
        return Step(ahead, behind, both, found.drawn, found.says, found.still)

    def features(self, X: Any) -> Features | None:
        """This instance and others as points, if it can be said."""
        known = getattr(self.compose, "features", None)
        return None if known is None else known(X)

    def shortcut(self, predict: Predict) -> Callable[[Floats], Any] | None:
        """A quicker way to ask this model about designs, if there is one."""
        known = getattr(self.compose, "shortcut", None)
        return None if known is None else known(predict)


@dataclass(frozen=True, eq=False)
class Filled(Masked):
    """Parts that a fill stands in for where they are taken away, so that another fill can."""

    refill: Callable[[Any], Compose] = field(kw_only=True)
    others: Sequence[Any] = field(default=(), kw_only=True)  # fills that may change what the chosen one leaves

    def advice(self, unchanged: Bools) -> str:
        """The first of the other fills that changes most of them."""
        left = []
        for fill in self.others:
            still = unchanged_by(self.refill(fill))
            left.append(0 if still is None else int((unchanged & still).sum()))
            if not left[-1]:
                break
        if not left or min(left) == unchanged.sum():
            return "; give a fill=… that changes such parts, as vd.Constant(value) may"
        return f"; try fill=vd.{self.others[int(np.argmin(left))]!r}"

    def refilled(self, fill: Any) -> Filled:
        """The same parts of the same instance, with another fill, or another instance of the same shape."""
        return replace(self, compose=self.refill(fill))


class Later(Mapping[str, Any]):
    """The data of a view, made when it is first read: there may be a better time than the beginning."""

    def __init__(self, make: Callable[[], Mapping[str, Any]]) -> None:
        self._make = make

    @cached_property
    def now(self) -> Mapping[str, Any]:
        """What it is."""
        return self._make()

    def __getitem__(self, name: str) -> Any:
        return self.now[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.now)

    def __len__(self) -> int:
        return len(self.now)


def with_data(view: View | None) -> View | None:
    """A view whose data is there, and which keeps nothing else."""
    return replace(view, data=dict(view.data)) if view is not None and isinstance(view.data, Later) else view


@dataclass(frozen=True, eq=False)
class Composed:
    """The inputs that masks stand for, made when they are asked for."""

    compose: Compose
    designs: Floats
    view: View | None = None  # of the instance, whose data may be made while a device works on these

    def __len__(self) -> int:
        return len(self.designs)

    def __getitem__(self, rows: slice) -> Any:
        return self.compose(self.designs[rows] != 0)

    def batches(self) -> Iterator[Any]:
        """All inputs in order, in one piece of memory that is used again."""
        step, buffer = max(AT_ONCE // max(self.compose.size, 1), 1), None
        for start in range(0, len(self), step):
            buffer = self.compose(self.designs[start : start + step] != 0, buffer)
            yield buffer


@dataclass(frozen=True, eq=False)
class Listed:
    """Many instances, each represented when its turn comes."""

    represent: Callable[[Any], Representation]
    items: Sequence[Any]

    @classmethod
    def of(cls, represent: Callable[[Any], Representation], X: Any, kind: str) -> Listed:
        """Any collection of instances; ``kind`` says what they are, in the plural."""
        if isinstance(X, (str, bytes, Mapping)) or not (hasattr(X, "__iter__") or hasattr(X, "__getitem__")):
            raise InputError(f"wanted a list of {kind}, got {_kind_of(X)}: for one alone, call explain")
        if hasattr(X, "columns"):
            raise InputError(f"wanted a list of {kind}, got a table: pass one of its columns, as in X['text']")
        if not getattr(X, "shape", (1,)):
            raise InputError(f"wanted a list of {kind}, got a single number")
        items = X if hasattr(X, "shape") and not hasattr(X, "iloc") else list(X)
        if not len(items):
            raise InputError(f"there are no {kind} to explain: the list is empty")
        return cls(represent, items)

    def __len__(self) -> int:
        return len(self.items)

    def batch(self, start: int, stop: int) -> Lazily:
        return Lazily(self, range(start, stop))

    def inputs(self, start: int, stop: int) -> Any:
        return self.items[start:stop]


@dataclass(frozen=True, eq=False)
class Lazily(Sequence[Representation]):
    """Representations that are made one at a time."""

    listed: Listed
    numbers: range

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> Representation: ...
    @overload
    def __getitem__(self, at: slice) -> Lazily: ...
    def __getitem__(self, at: int | slice) -> Representation | Lazily:
        if isinstance(at, slice):
            return Lazily(self.listed, self.numbers[at])
        number = self.numbers[at]
        try:
            return self.listed.represent(self.listed.items[number])
        except InputError as cause:
            raise InputError(f"number {number} of the list: {cause}") from cause


def unique(names: Sequence[str]) -> list[str]:
    """Names with a number after those that come more than once: good[1], good[2]."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    seen: dict[str, int] = {}
    taken, found = set(counts), []
    for name in names:
        chosen = name
        while counts[name] > 1 and chosen in taken:
            seen[name] = seen.get(name, 0) + 1
            chosen = f"{name}[{seen[name]}]"
        taken.add(chosen)
        found.append(chosen)
    return found


def tried(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of the caller's own gives; if it fails, say which one it was."""
    try:
        return function(*arguments)
    except VeridicalError:
        raise
    except Exception as cause:
        shapes = ", ".join(f"an array of shape {a.shape}" if hasattr(a, "shape") else repr(a) for a in arguments)
        raise InputError(f"{name} failed with {type(cause).__name__} on {shapes}: {safe_str(cause)}") from cause


def checked_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is True or False, not {value!r}")


def checked_parts(n: int, least: int, what: str, do: str) -> None:
    """Refuse an instance with too few parts to compare."""
    if n < least:
        count, error = ("no", NoParts) if n == 0 else ("only one", InputError)
        raise error(f"{count} {what} was found, and an explanation compares at least {least}: {do}")


def _kind_of(X: Any) -> str:
    return "None" if X is None else type(X).__name__
