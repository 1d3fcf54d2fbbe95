"""Where a change is made: in the network's input, or in what a front end makes that of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from veridical.attribute.network import Network
from veridical.debug.adversary.records import Aim
from veridical.debug.adversary.surface import Height, Surface
from veridical.errors import InputError, require
from veridical.records import Floats, Ints
from veridical.represent.regions import Array, as_type, is_tensor, numbers_of
from veridical.represent.sounds import recording

Limits: TypeAlias = tuple[float, float] | None
ALIKE = 1e-2  # by which spectrograms in torch may miss those that they stand for


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
    finish: Callable[[slice, Any, Limits], Sequence[tuple[Any, Any]]]  # changes to inputs, and what is heard
    spread: float  # standard deviation of the values
    unit: float = 1.0  # what counts as 1 where sizes of changes are compared with a loss
    whole: bool = False  # the values are whole numbers
    limits: Limits = None  # within which the values have to stay
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

        def finish(some: slice, delta: Any, limits: Limits) -> Sequence[tuple[Any, Any]]:
            moves = delta.cpu().double().numpy()
            return [(_moved(x, move[None], limits), None) for x, move in zip(own[some], moves, strict=True)]

        return Ground(
            rows, tensor_of(batch, network), Surface.of(network, aim.decision, batch), finish, float(batch.std()),
            unit=unit, whole=whole, limits=(low, unit) if bounded else None,
        )  # fmt: skip


@dataclass(frozen=True)
class OfRecordings:
    """Domains of what a front end makes the network's input of: instances are recordings."""

    needs: ClassVar[str]  # what the front end has in torch

    front: Any = None  # that of the representer, which it has to be

    def alike(self, aim: Aim) -> Sequence[Ints]:
        """The recordings, by length."""
        self.hearing(aim)
        return by_shape(self.recordings(aim))

    def hearing(self, aim: Aim) -> Any:
        """The front end that both the domain and the representer mean."""
        own, name = getattr(aim.represent, "front", None), f"vd.{type(self).__name__}"
        if own is None:
            raise InputError(
                f"{name} changes what a front end hears, and the representer has none: give it one, as in "
                "vd.Tiles(front=vd.Mel()), with recordings as instances, or leave domain out"
            )
        if self.front is not None and self.front != own:
            raise InputError(
                f"{name} has the front {self.front!r}, the representer {own!r}: recordings are heard by one, so "
                "give the same to both, or none to the domain"
            )
        if not hasattr(own, self.needs):
            raise InputError(
                f"{name} differentiates the front end, which needs {self.needs}(…) in torch, as vd.Mel has it"
            )
        rates = [getattr(each, "rate", None) for each in (own, aim.represent)]
        if None not in rates and rates[0] != rates[1]:
            raise InputError(
                f"the front end hears {rates[0]:g} samples a second, and the representer {rates[1]:g}: resample "
                "the recordings to one rate, and give that to both"
            )
        return own

    def recordings(self, aim: Aim) -> list[Array]:
        """The instances as recordings, each a batch of one."""
        found = []
        for i, x in enumerate(aim.X):
            if np.ndim(x) != 1:
                raise InputError(
                    f"vd.{type(self).__name__} changes recordings (samples,), but instance {i} has shape "
                    f"{np.shape(x)}: give the recordings that the spectrograms were made of"
                )
            found.append(recording(x, f"recording {i}")[None])
        return found


@dataclass(frozen=True)
class Waveform(OfRecordings):
    """The recording, of which a front end makes what the network takes.

    The front is that of the representer, such as ``vd.Tiles(front=vd.Mel())``, and instances are recordings. Its
    ``tensor`` has to do in torch what the front does. Changed recordings are heard by the front itself, so causes
    hold spectrograms, and both recordings in ``sounds``.
    """

    needs: ClassVar[str] = "tensor"

    def ground(self, aim: Aim, rows: Ints, network: Network) -> Ground:
        """Recordings of one length."""
        front, every = self.hearing(aim), self.recordings(aim)
        batch = np.concatenate([every[i] for i in rows])
        start = tensor_of(batch, network)
        surface = _seen(aim, rows, network, front.tensor(start[:1]))

        def finish(some: slice, delta: Any, limits: Limits) -> Sequence[tuple[Any, Any]]:
            found = []
            for x, i, move in zip(batch[some], rows[some], delta.cpu().double().numpy(), strict=True):
                changed, own = _moved(x, move, limits), aim.inputs[i]
                heard = np.asarray(front(changed), dtype=own.dtype)[None] if move.any() else own
                found.append((heard, (x, changed, _rate(front))))
            return found

        return Ground(
            rows, start, surface, finish, float(batch.std()), _unit(batch), batch.dtype.kind in "iu",
            usual=Usual(eps=0.01, step=3e-4, alpha=2.0), view=front.tensor,
        )  # fmt: skip


@dataclass(frozen=True)
class Spectrum(OfRecordings):
    """The magnitudes of the recording's spectra, which a change may make negative.

    As ``vd.Waveform``, but what the network takes is made of the magnitudes as they are; the recording of a cause
    has them with the phases of the original. The front needs ``spectra``, ``levels`` and ``sound``, as ``vd.Mel``.
    """

    needs: ClassVar[str] = "levels"

    def ground(self, aim: Aim, rows: Ints, network: Network) -> Ground:
        """Magnitudes of recordings of one length."""
        front, every = self.hearing(aim), self.recordings(aim)
        batch = np.concatenate([every[i] for i in rows])
        spectra = front.spectra(tensor_of(batch, network))
        start, phases = spectra.abs(), spectra.sgn()
        surface = _seen(aim, rows, network, front.levels(start[:1]))

        def finish(some: slice, delta: Any, _limits: Limits) -> Sequence[tuple[Any, Any]]:
            before, after = front.levels(start[some]), front.levels(start[some] + delta)
            moves = (after - before).cpu().double().numpy()
            changed = front.sound(phases[some] * (start[some] + delta), batch.shape[1]).cpu().numpy()
            made = zip(rows[some], batch[some], moves, changed, strict=True)
            return [(_moved(aim.inputs[i], move[None], None), (x, new, _rate(front))) for i, x, move, new in made]

        return Ground(
            rows, start, surface, finish, float(start.std()), _unit(batch),
            usual=Usual(eps=0.1, step=5e-4, alpha=15.0), view=front.levels,
        )  # fmt: skip


def _seen(aim: Aim, rows: Ints, network: Network, first: Any) -> Surface:
    """The network by what the front makes of recordings; ``first`` is what it makes of the first in torch."""
    own = np.concatenate([_numbers(aim.inputs[i]) for i in rows])
    made = first.detach().cpu().numpy()
    gap = np.abs(made - own[:1]).max() if made.shape == own[:1].shape else np.inf
    if gap > ALIKE:
        raise InputError(
            f"in torch the front end gives a spectrogram of shape {made.shape[1:]} where it gives {own.shape[1:]} "
            f"by itself, or other values (up to {gap:.2g} apart): both have to be the same"
        )
    return Surface.of(network, aim.decision, own)


def _rate(front: Any) -> float:
    """Samples a second; 0 if nothing says."""
    return float(getattr(front, "rate", 0))


def _unit(batch: Array) -> float:
    """The largest sample that there can be."""
    return float(np.iinfo(batch.dtype).max) + 1 if batch.dtype.kind in "iu" else 1.0


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


def _moved(x: Any, move: Floats, limits: Limits) -> Any:
    """Numbers with something added to them, in their own type."""
    own = _numbers(x)
    moved = own + move if limits is None else np.clip(own + move, *limits)
    made = as_type(moved, own.dtype)
    return require("torch", extra="torch").as_tensor(made).to(x) if is_tensor(x) else made


def _numbers(batch: Any) -> Array:
    if not is_tensor(batch) and not isinstance(batch, np.ndarray):
        raise InputError(
            f"gradients change arrays of numbers, and the model takes {type(batch).__name__}: for texts take "
            "vd.SwappedWords(), for tables vd.EditedColumns(), or give the tables as arrays"
        )
    array = numbers_of(batch, "an instance")
    if array.dtype.kind == "b":
        raise InputError("gradients change numbers, and these instances are True or False: give them as floats")
    return array
