"""Parts that are kept or taken away by masks: what text, pictures, sounds and series share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from veridical.errors import InputError, VeridicalError, safe_str
from veridical.protocols import Kernel, Predict, Representation, Seed
from veridical.records import Bools, Features, Floats, Part, Replacement, Sample, Step, View
from veridical.representations.regions import Composer, PlacedComposer, Places
from veridical.sampling.kernels import MASK_KERNEL
from veridical.sampling.masks import ByLaw, Sizes
from veridical.seeds import generator

MAX_BYTES_PER_BATCH = 2**25  # bytes of inputs that are made at once, about


class NoParts(InputError):  # noqa: N818 - reads as what it is
    """There is nothing to take away: an error, but for a field of a record, which is then left out."""


@dataclass(frozen=True, eq=False)
class Masked(ByLaw):
    """A Representation by masks; what is kept and taken away is up to ``compose``."""

    parts: tuple[Part, ...]
    law: Sizes
    compose: Composer
    show: Callable[[], View | None] | None = None  # makes the view when it is first asked for
    notes: tuple[str, ...] = ()
    kernel: Kernel = field(default=MASK_KERNEL)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    @cached_property
    def view(self) -> View | None:
        """What a picture of the instance needs."""
        return None if self.show is None else self.show()

    @cached_property
    def replacement(self) -> Replacement:
        """Which parts are as they were where they are taken away."""
        unchanged, notes = self.compose.unchanged, self.compose.notes
        if unchanged is None:
            return Replacement.sound(len(self.parts))
        if unchanged.any():
            n, what = int(unchanged.sum()), self.parts[0].relation
            count, it = (f"1 {what} was", "it") if n == 1 else (f"{n} {what}s were", "them")
            notes = (*notes, f"{count} not tested: {self.compose.reason.format(it=it)}{self.advice(unchanged)}")
        return Replacement(unchanged, notes)

    def advice(self, unchanged: Bools) -> str:
        """What to do about parts that are not tested, in words that follow the reason."""
        return ""

    def realize(self, sample: Sample) -> MaskedInputs:
        return MaskedInputs(self.compose, sample.designs, lambda: self.view)

    def keeping(self, masks: Bools, seed: Seed) -> MaskedInputs:
        """What masks stand for, which is the same for every seed."""
        return MaskedInputs(self.compose, masks.astype(np.float64))

    def gather(self, values: Any) -> Floats:
        """Sums over the parts (d,) of a map of the instance's shape; of a text, of one number a character."""
        return self.places.gather(values, len(self.parts))

    def paint(self, weights: Floats) -> Floats:
        """The weight of its part at every place, channels aside."""
        return self.places.paint(weights, len(self.parts))

    @property
    def places(self) -> Places:
        """Which part lies where."""
        if not isinstance(self.compose, PlacedComposer):
            raise InputError(
                "these parts lie over each other, so that no place is of one part alone: cut the recording by "
                "vd.Slices(), the series by windows, or explain the model of a spectrogram by vd.Tiles()"
            )
        return self.compose.places

    def step(self, size: float, seed: Seed, n_blocks: int | None = None) -> Step:
        """All parts moved a little, as they can be."""
        found = self.compose.move(size, generator(seed), n_blocks)
        ahead = partial(MaskedInputs, found.ahead)
        back = ahead if found.back is None else partial(MaskedInputs, found.back)
        both = np.full(len(self.parts), found.back is not None)
        return Step(ahead, back, both, found.drawn, found.says, found.still)

    def features(self, X: Any) -> Features | None:
        """This instance and others as points, if it can be said."""
        return self.compose.features(X)

    def shortcut(self, predict: Predict) -> Callable[[Floats], Any] | None:
        """A quicker way to ask this model about designs, if there is one."""
        return self.compose.shortcut(predict)


@dataclass(frozen=True, eq=False)
class Filled(Masked):
    """Parts that a fill stands in for where they are taken away, so that another fill can."""

    refill: Callable[[Any], Composer] = field(kw_only=True)
    others: Sequence[Any] = field(default=(), kw_only=True)  # fills that may change what the chosen one leaves

    def advice(self, unchanged: Bools) -> str:
        """The first of the other fills that changes most of them."""
        left = []
        for fill in self.others:
            still = self.refill(fill).unchanged
            left.append(0 if still is None else int((unchanged & still).sum()))
            if not left[-1]:
                break
        if not left or min(left) == unchanged.sum():
            return "; give a fill=… that changes such parts, as vd.fills.Constant(value) may"
        return f"; try fill=vd.fills.{self.others[int(np.argmin(left))]!r}"

    def refilled(self, fill: Any) -> Filled:
        """The same parts of the same instance, with another fill, or another instance of the same shape."""
        return replace(self, compose=self.refill(fill), show=lambda: self.view)


@dataclass(frozen=True, eq=False)
class MaskedInputs:
    """The inputs that masks stand for, made when they are asked for."""

    compose: Composer
    designs: Floats
    meanwhile: Callable[[], Any] | None = None  # what can be done while a device works on these

    def __len__(self) -> int:
        return len(self.designs)

    def __getitem__(self, rows: slice) -> Any:
        return self.compose(self.designs[rows] != 0)

    def batches(self) -> Iterator[Any]:
        """All inputs in order, in one piece of memory that is used again."""
        step, buffer = max(MAX_BYTES_PER_BATCH // max(self.compose.size, 1), 1), None
        step = min(step, self.compose.batch_size or step)
        for start in range(0, len(self.designs), step):
            buffer = self.compose(self.designs[start : start + step] != 0, buffer)
            yield buffer


@dataclass(frozen=True, eq=False)
class InstanceList(Sequence[Representation]):
    """Many instances, each represented when its turn comes."""

    represent: Callable[[Any], Representation]
    items: Sequence[Any]
    numbers: range  # of those that are represented, among all items

    @classmethod
    def of(cls, represent: Callable[[Any], Representation], X: Any, kind: str) -> InstanceList:
        """Any collection of instances; ``kind`` says what they are, in the plural."""
        if isinstance(X, (str, bytes, Mapping)) or not (hasattr(X, "__iter__") or hasattr(X, "__getitem__")):
            came = "None" if X is None else type(X).__name__
            raise InputError(f"wanted a list of {kind}, got {came}: for one alone, call explain")
        if hasattr(X, "columns"):
            raise InputError(f"wanted a list of {kind}, got a table: pass one of its columns, as in X['text']")
        if not getattr(X, "shape", (1,)):
            raise InputError(f"wanted a list of {kind}, got a single number")
        items = X if hasattr(X, "shape") and not hasattr(X, "iloc") else list(X)
        if not len(items):
            raise InputError(f"there are no {kind} to explain: the list is empty")
        return cls(represent, items, range(len(items)))

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, at: Any) -> Any:
        number = self.numbers[at]
        if isinstance(number, range):
            return replace(self, numbers=number)
        try:
            return self.represent(self.items[number])
        except InputError as cause:
            raise InputError(f"number {number} of the list: {cause}") from cause

    def batch(self, start: int, stop: int) -> InstanceList:
        return replace(self, numbers=self.numbers[start:stop])

    def inputs(self, start: int, stop: int) -> Any:
        return self.items[start:stop]


class PartRepresenter:
    """Base of representers whose parts are kept or taken away."""

    kind: ClassVar[str] = "instances"  # what they represent, in the plural

    def __call__(self, x: Any) -> Masked:
        """Represent one instance by its parts.

        Parameters
        ----------
        x
            The instance.

        Returns
        -------
        Masked
            Its parts, which are kept or taken away.

        Raises
        ------
        InputError
            If the instance is of another kind, or has no parts.
        """
        return self.parts_of(x)

    def parts_of(self, x: Any) -> Masked:
        """Represent one instance by its parts."""
        raise NotImplementedError

    def each(self, X: Any) -> InstanceList:
        """Represent many instances, each when its turn comes.

        Parameters
        ----------
        X : sequence
            The instances.

        Returns
        -------
        InstanceList
            What ``vd.explain_many`` goes through.
        """
        return InstanceList.of(self, X, self.kind)


def number_parts(names: Sequence[str], relation: str, columns: Sequence[str] | None = None) -> tuple[Part, ...]:
    """Parts by name, whose values are their numbers; each is its own column unless ``columns`` are given."""
    owners = names if columns is None else columns
    return tuple(Part(n, owner, relation, j) for j, (n, owner) in enumerate(zip(names, owners, strict=True)))


def make_unique(names: Sequence[str]) -> list[str]:
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


def call_user_function(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of the caller's own gives; if it fails, say which one it was."""
    try:
        return function(*arguments)
    except VeridicalError:
        raise
    except Exception as cause:
        shapes = ", ".join(f"an array of shape {a.shape}" if hasattr(a, "shape") else repr(a) for a in arguments)
        raise InputError(f"{name} failed with {type(cause).__name__} on {shapes}: {safe_str(cause)}") from cause


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is True or False, not {value!r}")


def check_parts(n: int, what: str, do: str) -> None:
    """Refuse an instance without parts."""
    if not n:
        raise NoParts(f"no {what} was found, so there is nothing to take away: {do}")
