"""Where a change is made: in the network's input, or in what a front end makes that of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from veridical.attribute.network import Network
from veridical.debug.adversary.records import Aim
from veridical.debug.adversary.surface import Height, Surface
from veridical.errors import InputError, require
from veridical.records import Floats, Ints
from veridical.represent.regions import Array, as_type, is_tensor, numbers_of


@dataclass(frozen=True)
class Usual:
    """The settings of Praher et al. (2021) in a domain."""

    eps: float
    step: float
    alpha: float


@dataclass(frozen=True, eq=False)
class Ground:
    """Values that are changed, of instances that are of one shape, and what the network makes of them."""

    rows: Ints  # (n,) which instances of the aim
    start: Any  # (n, …) tensor on the network's device
    surface: Surface
    finish: Callable[[slice, Any], Sequence[tuple[Any, Any]]]  # changes (m, …) to inputs, and what is heard
    spread: float  # standard deviation of the values
    unit: float = 1.0  # what counts as 1 where sizes of changes are compared with a loss
    whole: bool = False  # the values are whole numbers
    limits: tuple[float, float] | None = None  # within which the values have to stay
    usual: Usual | None = None
    view: Callable[[Any], Any] | None = None  # from values to instances as the network takes them

    @property
    def n_values(self) -> int:
        """How many values an instance has."""
        return int(np.prod(self.start.shape[1:]))

    def within(self, values: Any) -> Any:
        """Values as an instance may have them."""
        values = values.round() if self.whole else values
        return values if self.limits is None else values.clamp(*self.limits)

    def height(self, values: Any, wanted: Ints) -> Height:
        """How the network decides, and the slope of its loss by the values."""
        if self.view is None:
            return self.surface(values, wanted)
        torch = require("torch", extra="torch")
        with torch.inference_mode(False), torch.enable_grad():
            at = values.detach().clone().requires_grad_()
            inputs = self.view(at)
        found = self.surface(inputs.detach(), wanted)
        (slope,) = torch.autograd.grad(inputs, at, found.slope.to(inputs.dtype))
        return Height(found.labels, found.support, slope)


class Domain(Protocol):
    """Where a change is made."""

    def alike(self, aim: Aim) -> Sequence[Ints]:
        """The instances, by groups whose values have one shape."""
        ...

    def ground(self, aim: Aim, rows: Ints, network: Network) -> Ground:
        """What is changed of some instances of one shape."""
        ...


@dataclass(frozen=True)
class Inputs:
    """The instances themselves, as the network takes them."""

    def alike(self, aim: Aim) -> Sequence[Ints]:
        """The instances, by shape."""
        return by_shape([_numbers(each) for each in aim.inputs])

    def ground(self, aim: Aim, rows: Ints, network: Network) -> Ground:
        """Arrays or tensors of one shape."""
        own = [aim.inputs[i] for i in rows]
        batch = np.concatenate([_numbers(each) for each in own])
        whole = batch.dtype.kind in "iu"
        bounded = whole or (batch.size > 0 and batch.min() >= 0 and batch.max() <= 1)
        unit = float(np.iinfo(batch.dtype).max) if whole else 1.0
        low = float(np.iinfo(batch.dtype).min) if whole else 0.0

        def finish(some: slice, delta: Any) -> Sequence[tuple[Any, Any]]:
            moves = delta.cpu().double().numpy()
            return [(_moved(x, move[None]), None) for x, move in zip(own[some], moves, strict=True)]

        return Ground(
            rows, tensor_of(batch, network), Surface.of(network, aim.decision, batch), finish, float(batch.std()),
            unit=unit, whole=whole, limits=(low, unit) if bounded else None,
        )  # fmt: skip


def by_shape(arrays: Sequence[Array]) -> list[Ints]:
    """Numbers of arrays, in groups of one shape and type, in order."""
    kinds = [(each.shape[1:], each.dtype.str) for each in arrays]
    return [np.array([i for i, kind in enumerate(kinds) if kind == one]) for one in dict.fromkeys(kinds)]


def tensor_of(batch: Array, network: Network) -> Any:
    """Numbers as a tensor on the network's device, in its precision, or in single where that is less."""
    torch = require("torch", extra="torch")
    like = network.own(np.zeros(1))
    dtype = torch.promote_types(like.dtype, torch.float32)
    return torch.tensor(np.ascontiguousarray(batch)).to(device=like.device, dtype=dtype)


def _moved(batch: Any, move: Floats) -> Any:
    """A batch of one with something added to it, in its own type."""
    if is_tensor(batch):
        torch = require("torch", extra="torch")
        return torch.as_tensor(as_type(_numbers(batch) + move, _numbers(batch).dtype)).to(batch)
    return as_type(batch + move, batch.dtype)


def _numbers(batch: Any) -> Array:
    if not is_tensor(batch) and not isinstance(batch, np.ndarray):
        raise InputError(
            f"gradients change arrays of numbers, and the model takes {type(batch).__name__}: for texts take "
            "vd.SwappedWords(), for tables vd.EditedColumns(), or give the tables as arrays"
        )
    array = numbers_of(batch, "an instance")
    return array if array.dtype.kind in "iuf" else array.astype(np.float64)
