"""Domains of attacks: where an instance is changed, in the network's input or in the recording behind it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from veridical.errors import InputError, ModelError, require
from veridical.groundtruth.causes import Aim, Decision
from veridical.models.outputs import check_outputs
from veridical.models.torch_modules import Network, as_numbers, gradients_on
from veridical.networks.maps import find_layout
from veridical.records import Floats, Ints
from veridical.representations.regions import Array, as_type, is_tensor, numbers_of
from veridical.representations.sounds import check_recording

LOG_OFFSET = 1e-12  # added to probabilities before their logarithm
SUM_TOLERANCE = 1e-3  # by which probabilities may miss a sum of 1
PROBE_STEP = 1e-2  # of the data's spread, by which instances are moved to see what prepare makes of that


@dataclass(frozen=True, eq=False)
class LossAtPoint:
    """The decisions, the support of the wanted labels, and the gradient of the loss at some inputs."""

    labels: Ints  # (m,)
    support: Floats  # (m,) of the wanted label
    slope: Any  # (m, …) tensor


@dataclass(frozen=True, eq=False)
class LossSurface:
    """The loss of a network's outputs against wanted labels, as a function of its instances' values.

    A ``prepare`` made of torch operations is differentiated too. Any other may only scale the values of an
    instance and move its axes; how it does is found by trial steps.
    """

    network: Network
    decision: Decision
    dtype: np.dtype[Any]  # of the instances
    layout: Callable[[Floats], Floats] | None = None  # from the network's inputs to instances
    scale: Any = None  # (1, …) by which values are multiplied on their way into the network

    @classmethod
    def of(cls, network: Network, decision: Decision, batch: Array) -> LossSurface:
        """The surface for instances of one shape, some of which are in ``batch``."""
        inputs = network.tensor(batch)
        if network.prepare is None or _is_differentiable(network, batch, inputs):
            return cls(network, decision, batch.dtype)
        layout = find_layout(network, batch[:1], inputs[:1])
        return cls(network, decision, batch.dtype, layout, _measure_scale(network, batch))

    def __call__(self, values: Any, wanted: Ints) -> LossAtPoint:
        """How instances (m, …), whose values are a tensor, stand to the labels wanted of them (m,)."""
        torch = require("torch", extra="torch")
        with gradients_on(self.network.module):
            if self.layout is None:
                at = values.detach().clone().requires_grad_()
                inputs = at if self.network.prepare is None else self.network.prepare(at)
                like = self.network.to_tensor(np.zeros(1))
                inputs = inputs.to(device=like.device, dtype=like.dtype)
            else:
                inputs = self.network.tensor(as_type(values.detach().cpu().numpy(), self.dtype))
                inputs = at = inputs.clone().requires_grad_()
            outputs = self.network.ask(inputs)
            goal = torch.as_tensor(np.array(wanted), device=outputs.device)
            loss = compute_losses(self.network, self.decision, outputs, goal)
            slope = None
            if loss.requires_grad:
                (slope,) = torch.autograd.grad(loss.sum(), at, allow_unused=True)
        slope = torch.zeros_like(at) if slope is None else slope
        if not torch.isfinite(slope).all():
            raise ModelError("the network's gradient is NaN or infinite; it must be finite near the instances")
        answers = check_outputs(as_numbers(self.network.transform_outputs(outputs.detach())), len(wanted))
        support = self.decision.support(answers, wanted)
        if self.layout is None:
            slope = slope.detach().to(values.dtype)
        else:  # by the instances' values, from that by the network's inputs
            slope = values.new_tensor(self.layout(as_numbers(slope * self.scale)))
        return LossAtPoint(self.decision(answers), support, slope)


def compute_losses(network: Network, decision: Decision, outputs: Any, wanted: Any) -> Any:
    """Cross-entropy (m,) of the wanted labels, from logits where ``answers`` says what the outputs are."""
    functional: Any = require("torch.nn.functional", extra="torch")
    if network.answers == "softmax":
        return functional.cross_entropy(outputs, wanted, reduction="none")
    if network.answers == "sigmoid":
        goal = wanted[:, None] if outputs.shape[1] == 1 else functional.one_hot(wanted, outputs.shape[1])
        loss = functional.binary_cross_entropy_with_logits(outputs, goal.to(outputs.dtype), reduction="none")
        return loss.sum(dim=1)
    found = network.transform_outputs(outputs)
    found = found[:, None] if found.dim() == 1 else found
    probable = _are_probabilities(found.detach(), decision)
    if found.shape[1] == 1:
        one = found[:, 0]
        if probable:
            return -(one.where(wanted == 1, 1 - one) + LOG_OFFSET).log()
        return functional.softplus((decision.least - one) * (2 * wanted - 1))
    if probable:
        return -(found.gather(1, wanted[:, None])[:, 0] + LOG_OFFSET).log()
    return functional.cross_entropy(found, wanted, reduction="none")


def _are_probabilities(found: Any, decision: Decision) -> bool:
    """Whether answers are probabilities already."""
    if found.min() < 0 or found.max() > 1:
        return False
    if found.shape[1] == 1:
        return 0 < decision.least < 1
    return bool(((found.sum(dim=1) - 1).abs() < SUM_TOLERANCE).all())


def _is_differentiable(network: Network, batch: Array, inputs: Any) -> bool:
    """Whether ``prepare`` takes tensors of instances, and does with them what it does with arrays."""
    torch = require("torch", extra="torch")
    if batch.dtype.kind != "f" or network.prepare is None:
        return False
    try:
        with warnings.catch_warnings(), torch.enable_grad():
            warnings.simplefilter("ignore")
            made = network.prepare(torch.tensor(batch, device=inputs.device).requires_grad_())
        follows = isinstance(made, torch.Tensor) and made.requires_grad and made.is_floating_point()
        return bool(follows and torch.allclose(made.to(inputs), inputs, rtol=1e-4, atol=1e-5))
    except Exception:  # whatever it raises on tensors, it is asked about arrays instead
        return False


def _measure_scale(network: Network, batch: Array) -> Any:
    """By what a step of the values of an instance is multiplied, value by value, on its way into the network."""
    whole = batch.dtype.kind in "iu"
    before = np.zeros_like(batch[:1]) if whole else batch[:1]
    step = 1.0 if whole else PROBE_STEP * (float(batch.std()) or 1.0)
    moved = as_type(before + step, batch.dtype)
    return (network.tensor(moved) - network.tensor(before)) / step


Limits: TypeAlias = tuple[float, float] | None
MAX_FRONT_DIFFERENCE = 1e-2  # by which spectrograms in torch may miss those that they stand for


@dataclass(frozen=True)
class PaperSettings:
    """The settings of Praher et al. (2021) in a domain."""

    eps: float
    step: float
    alpha: float


@dataclass(frozen=True, eq=False)
class AttackSpace:
    """Values that an attack changes, of instances of one shape, and what the network makes of them."""

    rows: Ints  # (n,) which instances of the aim
    start: Any  # (n, …) tensor on the network's device
    surface: LossSurface
    finish: Callable[[slice, Any, Limits], Sequence[tuple[Any, Any]]]  # changes to inputs, and what is heard
    spread: float  # standard deviation of the values
    unit: float = 1.0  # what counts as 1 where sizes of changes are compared with a loss
    whole: bool = False  # the values are whole numbers
    limits: Limits = None  # within which the values have to stay
    usual: PaperSettings | None = None
    view: Callable[[Any], Any] | None = None  # from values to instances as the network takes them

    @property
    def n_values(self) -> int:
        """How many values an instance has."""
        return int(np.prod(self.start.shape[1:]))

    def within(self, values: Any) -> Any:
        """Values as an instance may have them."""
        values = values.round() if self.whole else values
        return values if self.limits is None else values.clamp(*self.limits)

    def height(self, values: Any, wanted: Ints) -> LossAtPoint:
        """How the network decides, and the slope of its loss by the values."""
        if self.view is None:
            return self.surface(values, wanted)
        torch = require("torch", extra="torch")
        with torch.inference_mode(False), torch.enable_grad():
            at = values.detach().clone().requires_grad_()
            inputs = self.view(at)
        found = self.surface(inputs.detach(), wanted)
        (slope,) = torch.autograd.grad(inputs, at, found.slope.to(inputs.dtype))
        return LossAtPoint(found.labels, found.support, slope)


class Domain(Protocol):
    """Where an attack changes an instance."""

    def group(self, aim: Aim) -> Sequence[Ints]:
        """The instances, grouped by the shape of their values."""
        ...

    def build_space(self, aim: Aim, rows: Ints, network: Network) -> AttackSpace:
        """What is changed of some instances of one shape."""
        ...


@dataclass(frozen=True)
class InputDomain:
    """The instances themselves, as the network takes them."""

    def group(self, aim: Aim) -> Sequence[Ints]:
        """The instances, grouped by shape."""
        return group_by_shape([_check_numbers(each) for each in aim.inputs])

    def build_space(self, aim: Aim, rows: Ints, network: Network) -> AttackSpace:
        """Arrays or tensors of one shape."""
        own = [aim.inputs[i] for i in rows]
        batch = np.concatenate([_check_numbers(each) for each in own])
        whole = batch.dtype.kind in "iu"
        bounded = whole or (batch.size > 0 and batch.min() >= 0 and batch.max() <= 1)
        unit = float(np.iinfo(batch.dtype).max) if whole else 1.0
        low = float(np.iinfo(batch.dtype).min) if whole else 0.0

        def finish(some: slice, delta: Any, limits: Limits) -> Sequence[tuple[Any, Any]]:
            moves = delta.cpu().double().numpy()
            return [(_add_change(x, move[None], limits), None) for x, move in zip(own[some], moves, strict=True)]

        return AttackSpace(
            rows, make_tensor(batch, network), LossSurface.of(network, aim.decision, batch), finish,
            float(batch.std()), unit=unit, whole=whole, limits=(low, unit) if bounded else None,
        )  # fmt: skip


@dataclass(frozen=True)
class RecordingDomain:
    """Domains in which recordings are changed, from which a front end makes the network's input."""

    needs: ClassVar[str]  # what the front end has in torch

    front: Any = None  # that of the representer, which it has to be

    def group(self, aim: Aim) -> Sequence[Ints]:
        """The recordings, grouped by length."""
        self.check_front(aim)
        return group_by_shape(self.recordings(aim))

    def check_front(self, aim: Aim) -> Any:
        """The front end that both the domain and the representer use."""
        own, name = getattr(aim.represent, "front", None), f"vd.attacks.{type(self).__name__}"
        if own is None:
            raise InputError(
                f"{name} changes what a front end hears, and the representer has none: give it one, as in "
                "vd.Tiles(front=vd.sounds.Mel()), with recordings as instances, or leave domain out"
            )
        if self.front is not None and self.front != own:
            raise InputError(
                f"{name} has the front {self.front!r}, the representer {own!r}: recordings have one front end, so "
                "give the same to both, or none to the domain"
            )
        if not hasattr(own, self.needs):
            raise InputError(
                f"{name} differentiates the front end, which needs {self.needs}(…) in torch, as vd.sounds.Mel has "
                "it"
            )
        rates = [getattr(each, "rate", None) for each in (own, aim.represent)]
        if None not in rates and rates[0] != rates[1]:
            raise InputError(
                f"the front end hears {rates[0]:g} samples per second, and the representer {rates[1]:g}: resample "
                "the recordings to one rate, and give that to both"
            )
        return own

    def recordings(self, aim: Aim) -> list[Array]:
        """The instances as recordings, each a batch of one."""
        found = []
        for i, x in enumerate(aim.X):
            if np.ndim(x) != 1:
                raise InputError(
                    f"vd.attacks.{type(self).__name__} changes recordings (samples,), but instance {i} has shape "
                    f"{np.shape(x)}: give the recordings that the spectrograms were made of"
                )
            found.append(check_recording(x, f"recording {i}")[None])
        return found


@dataclass(frozen=True)
class Waveform(RecordingDomain):
    """The recording itself, from which a front end makes what the network takes.

    Instances are recordings, and the front end is the representer's, such as ``vd.Tiles(front=vd.sounds.Mel())``; its
    ``tensor`` method must do in torch what the front end does. The front end itself turns changed recordings into
    inputs: causes hold spectrograms, and both recordings in ``sounds``.

    Parameters
    ----------
    front : object, optional
        The representer's front end; it must be the same.

    Examples
    --------
    >>> import veridical as vd
    >>> vd.attacks.Pgd(domain=vd.attacks.Waveform()).domain
    Waveform(front=None)
    """

    needs: ClassVar[str] = "tensor"

    def build_space(self, aim: Aim, rows: Ints, network: Network) -> AttackSpace:
        """Recordings of one length."""
        front, every = self.check_front(aim), self.recordings(aim)
        batch = np.concatenate([every[i] for i in rows])
        start = make_tensor(batch, network)
        surface = _surface_of_front(aim, rows, network, front.tensor(start[:1]))

        def finish(some: slice, delta: Any, limits: Limits) -> Sequence[tuple[Any, Any]]:
            found = []
            for x, i, move in zip(batch[some], rows[some], delta.cpu().double().numpy(), strict=True):
                changed, own = _add_change(x, move, limits), aim.inputs[i]
                heard = np.asarray(front(changed), dtype=own.dtype)[None] if move.any() else own
                found.append((heard, (x, changed, _sampling_rate(front))))
            return found

        return AttackSpace(
            rows, start, surface, finish, float(batch.std()), _largest_sample(batch), batch.dtype.kind in "iu",
            usual=PaperSettings(eps=0.01, step=3e-4, alpha=2.0), view=front.tensor,
        )  # fmt: skip


@dataclass(frozen=True)
class Spectrum(RecordingDomain):
    """The magnitudes of the recording's spectra.

    As ``vd.attacks.Waveform``, but the attack changes magnitudes, which may become negative, and the network gets what the
    front end makes of them. The recording of a cause combines them with the phases of the original. The front end
    needs the methods ``spectra``, ``levels`` and ``sound``, as ``vd.sounds.Mel`` has them.

    Parameters
    ----------
    front : object, optional
        The representer's front end; it must be the same.

    Examples
    --------
    >>> import veridical as vd
    >>> vd.attacks.CarliniWagner(domain=vd.attacks.Spectrum()).domain
    Spectrum(front=None)
    """

    needs: ClassVar[str] = "levels"

    def build_space(self, aim: Aim, rows: Ints, network: Network) -> AttackSpace:
        """Magnitudes of recordings of one length."""
        front, every = self.check_front(aim), self.recordings(aim)
        batch = np.concatenate([every[i] for i in rows])
        spectra = front.spectra(make_tensor(batch, network))
        start, phases = spectra.abs(), spectra.sgn()
        surface = _surface_of_front(aim, rows, network, front.levels(start[:1]))

        def finish(some: slice, delta: Any, _limits: Limits) -> Sequence[tuple[Any, Any]]:
            before, after = front.levels(start[some]), front.levels(start[some] + delta)
            moves = (after - before).cpu().double().numpy()
            changed = front.sound(phases[some] * (start[some] + delta), batch.shape[1]).cpu().numpy()
            made = zip(rows[some], batch[some], moves, changed, strict=True)
            return [
                (_add_change(aim.inputs[i], move[None], None), (x, new, _sampling_rate(front)))
                for i, x, move, new in made
            ]

        return AttackSpace(
            rows, start, surface, finish, float(start.std()), _largest_sample(batch),
            usual=PaperSettings(eps=0.1, step=5e-4, alpha=15.0), view=front.levels,
        )  # fmt: skip


def _surface_of_front(aim: Aim, rows: Ints, network: Network, first: Any) -> LossSurface:
    """The network by what the front makes of recordings; ``first`` is what it makes of the first in torch."""
    own = np.concatenate([_check_numbers(aim.inputs[i]) for i in rows])
    made = first.detach().cpu().numpy()
    gap = np.abs(made - own[:1]).max() if made.shape == own[:1].shape else np.inf
    if gap > MAX_FRONT_DIFFERENCE:
        raise InputError(
            f"in torch the front end gives a spectrogram of shape {made.shape[1:]} where it gives {own.shape[1:]} "
            f"by itself, or other values (up to {gap:.2g} apart): both have to be the same"
        )
    return LossSurface.of(network, aim.decision, own)


def _sampling_rate(front: Any) -> float:
    """Samples a second; 0 if nothing says."""
    return float(getattr(front, "rate", 0))


def _largest_sample(batch: Array) -> float:
    """The largest sample that there can be."""
    return float(np.iinfo(batch.dtype).max) + 1 if batch.dtype.kind in "iu" else 1.0


def group_by_shape(arrays: Sequence[Array]) -> list[Ints]:
    """Positions of arrays, grouped by shape and type, in order."""
    kinds = [(each.shape[1:], each.dtype.str) for each in arrays]
    return [np.array([i for i, kind in enumerate(kinds) if kind == one]) for one in dict.fromkeys(kinds)]


def make_tensor(batch: Array, network: Network) -> Any:
    """Numbers as a tensor on the network's device, in its precision, at least single."""
    torch = require("torch", extra="torch")
    like = network.to_tensor(np.zeros(1))
    dtype = torch.promote_types(like.dtype, torch.float32)
    return torch.tensor(np.ascontiguousarray(batch)).to(device=like.device, dtype=dtype)


def _add_change(x: Any, move: Floats, limits: Limits) -> Any:
    """Numbers plus a change, in their own type."""
    own = _check_numbers(x)
    moved = own + move if limits is None else np.clip(own + move, *limits)
    made = as_type(moved, own.dtype)
    return require("torch", extra="torch").as_tensor(made).to(x) if is_tensor(x) else made


def check_array(batch: Any, who: str, hint: str) -> Array:
    """What the model takes as an array; refuses texts and tables."""
    if not is_tensor(batch) and not isinstance(batch, np.ndarray):
        raise InputError(f"{who} arrays of numbers, and the model takes {type(batch).__name__}: {hint}")
    return numbers_of(batch, "an instance")


def _check_numbers(batch: Any) -> Array:
    hint = "vd.edits.SwappedWords(), for tables vd.edits.EditedColumns(), or give the tables as arrays"
    array = check_array(batch, "gradients change", f"for texts use {hint}")
    if array.dtype.kind == "b":
        raise InputError("gradients change numbers, and these instances are True or False: give them as floats")
    return array
