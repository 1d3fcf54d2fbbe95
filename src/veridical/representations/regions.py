"""Inputs made from masks, and arrays cut into regions by labels: pictures, spectrograms and series alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from veridical.errors import InputError, require
from veridical.protocols import Hook, Predict
from veridical.records import Bools, Features, Floats

Array = npt.NDArray[Any]
A = TypeVar("A", bound="ArrayComposer")

# Changes that count as none, in standard deviations of the instance: about what flat sky, blank paper and sensor
# noise vary by; of recordings and series 60 dB below it, for quiet parts matter there, too.
UNCHANGED_IN_PICTURES, UNCHANGED_IN_SIGNALS = 0.05, 1e-3
ROUNDING, ROUNDING_SINGLE = 1e-12, 1e-5  # of the largest value: a standard deviation of less is none
WAS_THERE = "what replaces {it} is what was there"


@dataclass(frozen=True, eq=False)
class Places:
    """Which part lies where in an array of the instance's shape."""

    labels: npt.NDArray[np.intp]  # the part of each place, channels aside; -1 where none is
    shape: tuple[int, ...]  # of the instance
    channel: int | None = None  # the axis that labels lack
    apart: int | None = None  # the axis along which values are of different kinds, as channels of a series are
    tolerance: float = UNCHANGED_IN_PICTURES  # a part that changes by no more standard deviations is unchanged

    @property
    def spread(self) -> npt.NDArray[np.intp]:
        """The part of each value, (shape)."""
        whole = self.labels if self.channel is None else np.expand_dims(self.labels, self.channel)
        return np.broadcast_to(whole, self.shape)

    def gather(self, values: Any, n_parts: int) -> Floats:
        """Sums over the parts (d,) of an array of the instance's shape, or of one number per place."""
        array = numbers_of(values, "a map").astype(np.float64, copy=False)
        if array.shape not in (self.shape, self.labels.shape):
            raise InputError(
                f"the map has shape {array.shape}, but the instance has {self.shape}: give one number per value"
            )
        whole = array.shape == self.shape
        return _sums(self.spread if whole else self.labels, array, n_parts)

    def paint(self, weights: Floats, n_parts: int) -> Floats:
        """The weight of its part at every place, channels aside; 0 where no part is."""
        if np.shape(weights) != (n_parts,):
            raise InputError(
                f"there are {n_parts} parts, but weights of shape {np.shape(weights)}: give one weight per part"
            )
        return np.append(np.asarray(weights, dtype=np.float64), 0.0)[self.labels]

    def shares(self, values: Floats, n_parts: int) -> Floats | None:
        """The mean over each part (d,) of an array that fits the instance, one axis aside; None if it does not."""
        for axis in (None, *range(len(self.shape))):
            if values.shape == (self.shape if axis is None else self.shape[:axis] + self.shape[axis + 1 :]):
                fitting = np.broadcast_to(values if axis is None else np.expand_dims(values, axis), self.shape)
                counts = _sums(self.spread, np.ones(self.shape), n_parts)
                return _sums(self.spread, fitting, n_parts) / np.maximum(counts, 1.0)
        return None

    def unchanged(self, own: Any, other: Any, n_parts: int) -> Bools:
        """Parts (d,) in which two instances are the same, or nearly.

        The root mean square of the differences in the part is compared with the standard deviation of the whole
        instance (of each channel, where those are of different kinds), so that neither the unit of the values
        nor what is added to all of them matters. The limit for pictures, 5 %, was chosen on scikit-learn's digits
        and scikit-image's camera and coffee: whatever has one color is below it, and flat sky (3 to 5 %), but next
        to nothing else. On chelsea, rocket, moon, coins and astronaut nothing is below it, with 16 superpixels or
        64 squares; of a page of text, blank paper is (11 % of the squares).
        """
        if is_tensor(own):
            return self._unchanged_there(own, other, n_parts)
        scaled = other.astype(np.float64)
        scaled -= own
        scaled /= spread_of(own, self.apart)
        squares = np.square(scaled, out=scaled)
        return self._small(
            _sums(self.labels, squares if self.channel is None else squares.sum(self.channel), n_parts)
        )

    def _small(self, squares: Floats) -> Bools:
        """Whether sums of squares (d,) are small for the number of values of each part."""
        d, values = len(squares), math.prod(self.shape) // max(self.labels.size, 1)
        counts = np.bincount(np.where(self.labels < 0, d, self.labels).ravel(), minlength=d + 1)[:d]
        return np.asarray(np.sqrt(squares / np.maximum(values * counts, 1)) <= self.tolerance)

    def _unchanged_there(self, own: Any, other: Any, n_parts: int) -> Bools:
        """The same for tensors, where they are."""
        torch = require("torch", extra="torch")
        on_mps = own.device.type == "mps"  # which has no doubles
        precise, least = (torch.float32, ROUNDING_SINGLE) if on_mps else (torch.float64, ROUNDING)
        x, y = own.detach().to(precise), other.detach().to(precise)
        axes = [a for a in range(x.dim()) if a != self.apart]
        sd = (x - x.mean(dim=axes, keepdim=True)).square().mean(dim=axes, keepdim=True).sqrt()
        size = x.abs().amax(dim=axes, keepdim=True)
        scale = torch.where(sd > least * size, sd, torch.where(size > 0, size, torch.ones_like(size)))
        squares = ((y - x) / scale).square()
        squares = squares if self.channel is None else squares.sum(dim=self.channel)
        labels = torch.as_tensor(np.where(self.labels < 0, n_parts, self.labels).ravel(), device=x.device)
        sums = squares.new_zeros(n_parts + 1).index_add(0, labels, squares.reshape(-1))
        return self._small(sums.cpu().numpy()[:n_parts].astype(np.float64))


def spread_of(values: Array, apart: int | None = None) -> Floats:
    """The standard deviation of an instance's values, or of each kind of them along an axis; never 0."""
    x = values.astype(np.float64)
    axes = None if apart is None else tuple(a for a in range(x.ndim) if a != apart)
    sd, size = x.std(axes, keepdims=True), np.abs(x).max(axes, keepdims=True)
    return np.asarray(np.where(sd > ROUNDING * size, sd, np.where(size > 0, size, 1.0)), dtype=np.float64)


class Composer:
    """Base of what makes inputs from masks; a subclass says what else is known of its parts."""

    reason: ClassVar[str] = ""  # why parts may be unchanged, after "not tested: "; {it} stands for them
    notes: tuple[str, ...] = ()  # what replaces parts instead of what one would expect
    batch_size: int | None = None  # inputs that the model is given at once, at most; None: as memory allows

    @property
    def size(self) -> int:
        """Bytes of one input, about."""
        raise NotImplementedError

    def __call__(self, masks: Bools, buffer: Any = None) -> Any:
        """One input per mask (n, d); in the memory of ``buffer``, an earlier answer, if that fits."""
        raise NotImplementedError

    @property
    def unchanged(self) -> Bools | None:
        """Parts (d,) that are as they were where they are taken away, and so not tested; None if unknown."""
        return None

    def move(self, size: float, rng: np.random.Generator, n_blocks: int | None = None) -> MovedComposer:
        """All parts moved a little."""
        raise InputError(
            f"{type(self).__name__} does not say how parts are moved a little: it needs move(size, rng, n_blocks)"
        )

    def features(self, X: Any) -> Features | None:
        """This instance and others as points, if it can be said."""
        return None

    def shortcut(self, predict: Predict) -> Callable[[Floats], Any] | None:
        """A quicker way to the answers of this model, from designs, if there is one."""
        return None


@runtime_checkable
class PlacedComposer(Protocol, metaclass=Hook):
    """A Composer whose parts lie at places of the instance."""

    @property
    def places(self) -> Places: ...


@runtime_checkable
class SwitchableComposer(PlacedComposer, Protocol, metaclass=Hook):
    """A Composer each of whose numbers is the instance's own or the fill's: a network may make its inputs itself."""

    @property
    def ends(self) -> tuple[Any, Any]:
        """The input that keeps all parts, and the one that keeps none."""
        ...


@dataclass(frozen=True, eq=False)
class MovedComposer:
    """What makes inputs of parts that are moved a little, and of parts that are moved the opposite way."""

    ahead: Any  # as whatever makes those of parts that are taken away
    back: Any  # None where there is no opposite
    drawn: bool
    says: str
    still: Bools | None = None  # (d,) parts that it does not move at all; None: it moves all


def _sums(labels: npt.NDArray[np.intp], values: Floats, n_parts: int) -> Floats:
    """Sums of values by label, from 0 on; the last bin takes what has none."""
    bins = np.where(labels < 0, n_parts, labels).ravel()
    return np.asarray(np.bincount(bins, values.ravel(), n_parts + 1)[:n_parts])


class RegionComposer(Composer):
    """Base of composers of arrays and tensors: the instance's values where a part is kept, else the fill's."""

    places: Places
    known: Bools | None  # which parts are unchanged, if it was computed before
    reason: ClassVar[str] = WAS_THERE

    @classmethod
    def of(cls, x: Any, fill: Any, places: Places) -> RegionComposer:
        """Of an instance, the same with all its parts filled, and where the parts are."""
        raise NotImplementedError

    @property
    def ends(self) -> tuple[Any, Any]:
        """The instance with all its parts, and with none."""
        raise NotImplementedError

    @property
    def unchanged(self) -> Bools:
        """Parts (d,) that the fill leaves as they are, or nearly."""
        n_parts = int(self.places.labels.max()) + 1
        return self.places.unchanged(*self.ends, n_parts) if self.known is None else self.known

    def move(self, size: float, rng: np.random.Generator, n_blocks: int | None = None) -> MovedComposer:
        """Every value moved by a random sign, or all of a block of places alike, about n_blocks of them per part."""
        places, own = self.places, self.ends[0]
        x = numbers_of(own, "an instance")
        if n_blocks is None:
            ways = 2 * rng.random(x.shape) - 1
        else:
            n_parts = int(places.labels.max()) + 1
            edge = max(round((places.labels.size / (n_parts * n_blocks)) ** (1 / places.labels.ndim)), 1)
            blocks = [np.arange(n) // edge for n in places.labels.shape]
            ways = (2 * rng.random([int(b[-1]) + 1 for b in blocks]) - 1)[np.ix_(*blocks)]
            ways = ways if places.channel is None else np.expand_dims(ways, places.channel)
        if x.dtype.kind == "b":  # there is no less than the whole way, and no opposite
            flipped = self.of(own, x ^ (np.abs(ways) < size), places)
            return MovedComposer(flipped, None, True, f"{100 * size:.3g} % of the values of a part flip")
        step = size * spread_of(x, places.apart)
        if x.dtype.kind in "iu":
            step = np.maximum(np.rint(step), 1.0)
        ahead, back = (self.of(own, as_type(x + way * step * np.sign(ways), x.dtype), places) for way in (1, -1))
        far = " or ".join(f"{one:.3g}" for one in np.unique(step)[:3])
        return MovedComposer(ahead, back, True, f"each value moves by {far}, up or down at random")


@dataclass(frozen=True, eq=False)
class ArrayComposer(RegionComposer):
    """Arrays that have the instance's values where a part is kept, and the fill's elsewhere.

    Values are bits here: what differs between the two is switched on where the part's mask says so. One gather
    and two passes over the memory serve every type and layout.
    """

    fill: Array  # (m,) flat, as unsigned integers
    switch: Array  # (m,) the bits in which the instance differs from the fill
    labels: npt.NDArray[np.intp]  # (m,)
    places: Places
    dtype: np.dtype[Any]
    notes: tuple[str, ...] = ()
    known: Bools | None = None

    @classmethod
    def of(cls: type[A], x: Array, fill: Array, places: Places) -> A:
        bits = np.dtype(f"u{x.dtype.itemsize}")
        own, other = (np.ascontiguousarray(a).view(bits).ravel() for a in (x, fill))
        return cls(other, own ^ other, places.spread.ravel(), places, x.dtype)

    @property
    def size(self) -> int:
        return int(self.switch.nbytes)

    @property
    def ends(self) -> tuple[Array, Array]:
        """The instance with all its parts, and with none."""
        own, other = (
            bits.view(self.dtype).reshape(self.places.shape) for bits in (self.fill ^ self.switch, self.fill)
        )
        return own, other

    def __call__(self, masks: Bools, buffer: Any = None) -> Array:
        n, bits = len(masks), self.switch.dtype
        fits = buffer is not None and len(buffer) == n
        made = buffer.view(bits).reshape(n, -1) if fits else np.empty((n, len(self.switch)), bits)
        ones = np.where(masks, bits.type(np.iinfo(bits).max), bits.type(0))
        for row, on in zip(made, ones, strict=True):
            np.take(on, self.labels, out=row, mode="clip")
            row &= self.switch
            row ^= self.fill
        return made.view(self.dtype).reshape(n, *self.places.shape)


@dataclass(frozen=True, eq=False)
class TensorComposer(RegionComposer):
    """The same for torch tensors, without leaving their device."""

    x: Any
    fill: Any
    labels: Any  # broadcasts to x
    places: Places
    notes: tuple[str, ...] = ()
    known: Bools | None = None

    @classmethod
    def of(cls, x: Any, fill: Any, places: Places) -> TensorComposer:
        torch = require("torch", extra="torch")
        labels = torch.as_tensor(places.labels.astype(np.int32), device=x.device).long()
        whole = labels if places.channel is None else labels.unsqueeze(places.channel)
        return cls(x.detach(), convert_like(x, fill), whole, places)

    @property
    def size(self) -> int:
        return int(self.x.numel() * self.x.element_size())

    @property
    def ends(self) -> tuple[Any, Any]:
        """The instance with all its parts, and with none."""
        return self.x, self.fill

    def __call__(self, masks: Bools, buffer: Any = None) -> Any:
        kept = require("torch", extra="torch").as_tensor(masks, device=self.x.device)[:, self.labels.reshape(-1)]
        return self.x.where(kept.reshape(len(masks), *self.labels.shape), self.fill)


@dataclass(frozen=True, eq=False)
class SumComposer(Composer):
    """The instance less the parts that are taken away; with all parts kept it is the very instance."""

    x: Array
    parts: Floats  # (d, x.size)
    like: Any = None  # the tensor that x was, if it was one
    reason: ClassVar[str] = "there is nothing to take out of {it}"

    @classmethod
    def of(cls, x: Any, parts: Floats) -> SumComposer:
        """Of an array or a tensor; sums are worked out in NumPy, and go back to the tensor's device."""
        return cls(numbers_of(x, "the signal"), parts, x.detach() if is_tensor(x) else None)

    @property
    def size(self) -> int:
        return int(self.x.size * 8)

    def __call__(self, masks: Bools, buffer: Any = None) -> Any:
        gone: Floats = (~masks).astype(self.parts.dtype) @ self.parts
        made = as_type(self.x - gone.reshape(len(masks), *self.x.shape), self.x.dtype)
        if self.like is None:
            return made
        torch = require("torch", extra="torch")
        return torch.as_tensor(made, dtype=self.like.dtype, device=self.like.device)

    @property
    def unchanged(self) -> Bools:
        """Parts that are silent, next to the whole, (d,): there is nothing to take away."""
        sizes = np.sqrt(np.mean(np.square(self.parts, dtype=np.float64), axis=1))
        return np.asarray(sizes <= UNCHANGED_IN_SIGNALS * float(spread_of(self.x).item()))

    def move(self, size: float, rng: np.random.Generator, n_blocks: int | None = None) -> MovedComposer:
        """Every part louder, and softer."""
        ahead, back = (replace(self, parts=way * size * self.parts) for way in (-1, 1))
        says = f"each part becomes {100 * size:.3g} % louder, and softer"
        return MovedComposer(ahead, back, False, says, np.asarray(~self.parts.any(axis=1)))


def compose_regions(x: Any, fill: Any, places: Places) -> ArrayComposer | TensorComposer:
    """What makes the masked inputs of an array or a tensor."""
    return TensorComposer.of(x, fill, places) if is_tensor(x) else ArrayComposer.of(np.asarray(x), fill, places)


def batch_hint(shape: tuple[int, ...], most: int) -> str:
    """What to do about an instance of more axes than it can have, in words that follow its shape."""
    if len(shape) <= most:
        return ""
    if shape[0] == 1:
        return ": its first axis looks like a batch of one; pass the instance alone, x[0]"
    return ": its first axis may be a batch; pass one instance, x[0], or call explain_many"


def convert_like(x: Any, other: Any) -> Any:
    """Another array or tensor, of the type of x and on its device if that is a tensor."""
    if not is_tensor(x):
        return other
    given = other if is_tensor(other) else require("torch", extra="torch").tensor(np.ascontiguousarray(other))
    return given.to(dtype=x.dtype, device=x.device)


def is_tensor(x: Any) -> bool:
    """Whether it is a torch tensor, told without importing torch."""
    return type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "detach")


def on_gpu(x: Any) -> bool:
    """Whether it is a tensor of real numbers on a GPU."""
    return is_tensor(x) and bool(x.is_cuda and x.is_floating_point())


def numbers_of(x: Any, what: str) -> Array:
    """An array or tensor as NumPy, if it is made of finite real numbers."""
    if isinstance(x, (str, bytes)) or x is None:
        raise InputError(f"wanted {what} as an array, got {'None' if x is None else type(x).__name__}")
    try:
        if is_tensor(x):
            x = x.detach().cpu()
            x = (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()
        array = np.asarray(x)
    except ValueError as cause:
        raise InputError(f"{what} must be an array; this list has rows of unequal length") from cause
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InputError(f"{what} must hold real numbers, not values of type {array.dtype}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int((~np.isfinite(array)).sum())
        raise InputError(f"{what} has NaN or infinity in {bad} of {array.size} places: replace them first")
    return array


def as_type(values: Any, dtype: np.dtype[Any]) -> Array:
    """Numbers in the instance's own type; whole numbers are rounded and kept within their range."""
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return np.asarray(np.clip(np.rint(values), ends.min, ends.max).astype(dtype))
    return np.asarray(values).astype(dtype) if dtype.kind == "f" else np.asarray(values) >= 0.5
