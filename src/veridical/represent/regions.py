"""Arrays cut into regions by labels: pictures, spectrograms and series are one thing here."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from veridical.errors import InputError, require
from veridical.records import Bools, Floats

Array = npt.NDArray[Any]

NEARLY = 0.05  # of a picture's standard deviation: about what flat sky, blank paper and sensor noise vary by
ROUNDING, ROUNDING_SINGLE = 1e-12, 1e-5  # of the largest value: a standard deviation of less is none
WAS_THERE = "what replaces {it} is what was there"
HARDLY = 1e-3  # of that of a recording or series (60 dB below it), where quiet parts matter, too


@dataclass(frozen=True, eq=False)
class Places:
    """Which part lies where in an array of the instance's shape."""

    labels: npt.NDArray[np.intp]  # the part of each place, channels aside; -1 where none is
    shape: tuple[int, ...]  # of the instance
    channel: int | None = None  # the axis that labels lack
    apart: int | None = None  # the axis along which values are of different kinds, as channels of a series are
    nearly: float = NEARLY  # standard deviations of the instance: a part that changes by no more is unchanged

    @property
    def spread(self) -> npt.NDArray[np.intp]:
        """The part of each value, (shape)."""
        whole = self.labels if self.channel is None else np.expand_dims(self.labels, self.channel)
        return np.broadcast_to(whole, self.shape)

    def gather(self, values: Any, n_parts: int) -> Floats:
        """Sums over the parts (d,) of an array of the instance's shape, or of one number a place."""
        array = numbers_of(values, "a map").astype(np.float64, copy=False)
        if array.shape not in (self.shape, self.labels.shape):
            raise InputError(
                f"the map has shape {array.shape}, but the instance has {self.shape}: give one number a value"
            )
        whole = array.shape == self.shape
        return _sums(self.spread if whole else self.labels, array, n_parts)

    def paint(self, weights: Floats, n_parts: int) -> Floats:
        """The weight of its part at every place, channels aside; 0 where no part is."""
        if np.shape(weights) != (n_parts,):
            raise InputError(
                f"there are {n_parts} parts, but weights of shape {np.shape(weights)}: give one weight a part"
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

    def signs(self, rng: np.random.Generator, n_blocks: int | None) -> Floats:
        """Numbers from -1 to 1, one a value, or one a block of places, with about ``n_blocks`` blocks a part."""
        if n_blocks is None:
            return 2 * rng.random(self.shape) - 1
        n_parts = int(self.labels.max()) + 1
        edge = max(round((self.labels.size / (n_parts * n_blocks)) ** (1 / self.labels.ndim)), 1)
        blocks = [np.arange(n) // edge for n in self.labels.shape]
        coarse = (2 * rng.random([int(b[-1]) + 1 for b in blocks]) - 1)[np.ix_(*blocks)]
        whole = coarse if self.channel is None else np.expand_dims(coarse, self.channel)
        return np.broadcast_to(whole, self.shape)

    def moved(self, x: Array, size: float, signs: Floats) -> tuple[Array, Array | None, str]:
        """The instance moved by the signs of numbers, the opposite way if there is one, and how far, in words."""
        if x.dtype.kind == "b":  # there is no less than the whole way
            return x ^ (np.abs(signs) < size), None, f"{100 * size:.3g} % of the values of a part flip"
        step = size * self.spread_of(x)
        if x.dtype.kind in "iu":
            step = np.maximum(np.rint(step), 1.0)
        ahead, back = (as_type(x + way * step * np.sign(signs), x.dtype) for way in (1, -1))
        far = " or ".join(f"{one:.3g}" for one in np.unique(step)[:3])
        return ahead, back, f"each value moves by {far}, up or down at random"

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
        scaled /= self.spread_of(own)
        squares = np.square(scaled, out=scaled)
        return self._small(
            _sums(self.labels, squares if self.channel is None else squares.sum(self.channel), n_parts)
        )

    def _small(self, squares: Floats) -> Bools:
        """Whether sums of squares (d,) are small for the number of values of each part."""
        d, values = len(squares), math.prod(self.shape) // max(self.labels.size, 1)
        counts = np.bincount(np.where(self.labels < 0, d, self.labels).ravel(), minlength=d + 1)[:d]
        return np.asarray(np.sqrt(squares / np.maximum(values * counts, 1)) <= self.nearly)

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

    def spread_of(self, values: Array) -> Floats:
        """The standard deviation of the instance's values, or of each kind of them; never 0."""
        x = values.astype(np.float64)
        axes = None if self.apart is None else tuple(a for a in range(x.ndim) if a != self.apart)
        sd, size = (
            np.asarray(f, np.float64) for f in (x.std(axes, keepdims=True), np.abs(x).max(axes, keepdims=True))
        )
        return np.where(sd > ROUNDING * size, sd, np.where(size > 0, size, 1.0))


@dataclass(frozen=True, eq=False)
class Moved:
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


@dataclass(frozen=True, eq=False)
class ArrayComposer:
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
    known: Bools | None = None  # which parts are unchanged, if it was found out before
    reason: ClassVar[str] = WAS_THERE

    @classmethod
    def of(cls, x: Array, fill: Array, places: Places) -> ArrayComposer:
        bits = np.dtype(f"u{x.dtype.itemsize}")
        own, other = (np.ascontiguousarray(a).view(bits).ravel() for a in (x, fill))
        return cls(other, own ^ other, places.spread.ravel(), places, x.dtype)

    @property
    def size(self) -> int:
        return int(self.switch.nbytes)

    @property
    def unchanged(self) -> Bools:
        """Parts that the fill leaves as they are, or nearly, (d,)."""
        n_parts = int(self.places.labels.max()) + 1
        return self.places.unchanged(*self.ends, n_parts) if self.known is None else self.known

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

    def moved(self, size: float, rng: np.random.Generator, n_blocks: int | None = None) -> Moved:
        """Every value moved by a random sign."""
        x, _ = self.ends
        of = partial(ArrayComposer.of, x, places=self.places)
        return _moved(of, self.places.moved(x, size, self.places.signs(rng, n_blocks)))


@dataclass(frozen=True, eq=False)
class TensorComposer:
    """The same for torch tensors, without leaving their device."""

    x: Any
    fill: Any
    labels: Any  # broadcasts to x
    places: Places
    notes: tuple[str, ...] = ()
    known: Bools | None = None  # which parts are unchanged, if it was found out before
    reason: ClassVar[str] = WAS_THERE

    @classmethod
    def of(cls, x: Any, fill: Any, places: Places) -> TensorComposer:
        torch = require("torch", extra="torch")
        given = fill if is_tensor(fill) else torch.tensor(np.ascontiguousarray(fill))
        other = given.to(dtype=x.dtype, device=x.device)
        labels = torch.as_tensor(places.labels.astype(np.int32), device=x.device).long()
        whole = labels if places.channel is None else labels.unsqueeze(places.channel)
        return cls(x.detach(), other, whole, places)

    @property
    def size(self) -> int:
        return int(self.x.numel() * self.x.element_size())

    @property
    def unchanged(self) -> Bools:
        """Parts that the fill leaves as they are, or nearly, (d,)."""
        n_parts = int(self.places.labels.max()) + 1
        return self.places.unchanged(*self.ends, n_parts) if self.known is None else self.known

    @property
    def ends(self) -> tuple[Any, Any]:
        """The instance with all its parts, and with none."""
        return self.x, self.fill

    def __call__(self, masks: Bools, buffer: Any = None) -> Any:
        kept = require("torch", extra="torch").as_tensor(masks, device=self.x.device)[:, self.labels.reshape(-1)]
        return self.x.where(kept.reshape(len(masks), *self.labels.shape), self.fill)

    def moved(self, size: float, rng: np.random.Generator, n_blocks: int | None = None) -> Moved:
        """Every value moved by a random sign."""
        x = numbers_of(self.x, "an instance")
        of = partial(TensorComposer.of, self.x, places=self.places)
        return _moved(of, self.places.moved(x, size, self.places.signs(rng, n_blocks)))


def _moved(of: Callable[..., Any], ways: tuple[Array, Array | None, str]) -> Moved:
    """What makes inputs of arrays that were moved; ``of`` gives what fills with another."""
    ahead, back, says = ways
    return Moved(of(fill=ahead), None if back is None else of(fill=back), True, says)


def compose(
    x: Any, fill: Any, labels: Any, channel: int | None = None, apart: int | None = None, nearly: float = NEARLY
) -> ArrayComposer | TensorComposer:
    """What makes the inputs of an array or a tensor; ``labels`` lack the axis of the channels."""
    places = Places(np.asarray(labels, dtype=np.intp), tuple(np.shape(x)), channel, apart, nearly)
    return TensorComposer.of(x, fill, places) if is_tensor(x) else ArrayComposer.of(np.asarray(x), fill, places)


def batch_hint(shape: tuple[int, ...], most: int) -> str:
    """What to do about an instance of more axes than it can have, in words that follow its shape."""
    if len(shape) > most and shape[0] == 1:
        return ": its first axis looks like a batch of one; pass the instance alone, x[0]"
    return (
        ": its first axis may be a batch; pass one instance, x[0], or call explain_many"
        if len(shape) > most
        else ""
    )


def like(x: Any, make: Callable[[], Any]) -> Any:
    """What ``make`` gives, of the type of x, and on its device if that is a tensor."""
    other = make()
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
        array = _from_tensor(x) if is_tensor(x) else np.asarray(x)
    except ValueError as cause:
        raise InputError(f"{what} must be an array; this list has rows of unequal length") from cause
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InputError(f"{what} must hold real numbers, not values of type {array.dtype}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = int((~np.isfinite(array)).sum())
        raise InputError(f"{what} has NaN or infinity in {bad} of {array.size} places: replace them first")
    return array


def _from_tensor(x: Any) -> Array:
    own = x.detach().cpu()
    array: Array = (own.float() if str(own.dtype) == "torch.bfloat16" else own).numpy()
    return array


def as_type(values: Any, dtype: np.dtype[Any]) -> Array:
    """Numbers in the instance's own type; whole numbers are rounded and kept within their range."""
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return np.asarray(np.clip(np.rint(values), ends.min, ends.max).astype(dtype))
    return np.asarray(values).astype(dtype) if dtype.kind == "f" else np.asarray(values) >= 0.5
