"""How far a network is from a label that is wanted, and which way leads there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from veridical.attribute.ask import checked
from veridical.attribute.layout import layout_of
from veridical.attribute.network import Network, as_numbers, gradients_on
from veridical.debug.adversary.records import Decision
from veridical.errors import ModelError, require
from veridical.records import Floats, Ints
from veridical.represent.regions import Array, as_type

TINY = 1e-12  # added to probabilities before their logarithm
NEAR = 1e-3  # by which probabilities may miss a sum of 1
STEP = 1e-2  # of the data's spread, by which instances are moved to see what prepare makes of that


@dataclass(frozen=True, eq=False)
class Height:
    """Where some inputs stand: what is decided, how surely what is wanted, and the slope of the loss."""

    labels: Ints  # (m,)
    support: Floats  # (m,) of the wanted label
    slope: Any  # (m, …) tensor


@dataclass(frozen=True, eq=False)
class Surface:
    """The loss of a network's answers against wanted labels, by the values of its instances.

    Where ``prepare`` is made of torch operations it is differentiated too. Where it is not, it may only scale the
    values of an instance and move its axes, and how it does is found by moving them.
    """

    network: Network
    decision: Decision
    dtype: np.dtype[Any]  # of the instances
    layout: Callable[[Floats], Floats] | None = None  # from the network's inputs to instances
    scale: Any = None  # (1, …) by which values are multiplied on their way into the network

    @classmethod
    def of(cls, network: Network, decision: Decision, batch: Array) -> Surface:
        """The surface for instances of one shape, some of which are in ``batch``."""
        inputs = network.tensor(batch)
        if network.prepare is None or _differentiable(network, batch, inputs):
            return cls(network, decision, batch.dtype)
        layout = layout_of(network, batch[:1], inputs[:1])
        return cls(network, decision, batch.dtype, layout, _scale(network, batch))

    def __call__(self, values: Any, wanted: Ints) -> Height:
        """How instances (m, …), whose values are a tensor, stand to the labels wanted of them (m,)."""
        torch = require("torch", extra="torch")
        with gradients_on(self.network.module):
            at = (values.detach() if self.layout is None else self._inputs(values)).clone().requires_grad_()
            inputs = at if self.layout is not None else self._direct(at)
            outputs = self.network.ask(inputs)
            goal = torch.as_tensor(np.array(wanted), device=outputs.device)
            loss = losses(self.network, self.decision, outputs, goal)
            slope = None
            if loss.requires_grad:
                (slope,) = torch.autograd.grad(loss.sum(), at, allow_unused=True)
        slope = torch.zeros_like(at) if slope is None else slope
        if not torch.isfinite(slope).all():
            raise ModelError("the network's gradient is NaN or infinite; it must be finite near the instances")
        answers = checked(as_numbers(self.network.answered(outputs.detach())), len(wanted))
        support = self.decision.support(answers, wanted)
        return Height(self.decision(answers), support, self._back(slope, values))

    def _direct(self, values: Any) -> Any:
        network = self.network
        made = values if network.prepare is None else network.prepare(values)
        like = network.own(np.zeros(1))
        return made.to(device=like.device, dtype=like.dtype)

    def _inputs(self, values: Any) -> Any:
        return self.network.tensor(as_type(values.detach().cpu().numpy(), self.dtype))

    def _back(self, slope: Any, values: Any) -> Any:
        """The slope by the instances' values, from that by the network's inputs."""
        if self.layout is None:
            return slope.detach().to(values.dtype)
        return values.new_tensor(self.layout(as_numbers(slope * self.scale)))


def losses(network: Network, decision: Decision, outputs: Any, wanted: Any) -> Any:
    """Cross-entropy (m,) of what is wanted, from logits where the network's answers say what they are."""
    functional: Any = require("torch.nn.functional", extra="torch")
    if network.answers == "softmax":
        return functional.cross_entropy(outputs, wanted, reduction="none")
    if network.answers == "sigmoid":
        return _binary(functional, outputs, wanted)
    found = network.answered(outputs)
    found = found[:, None] if found.dim() == 1 else found
    probable = _probable(found.detach(), decision)
    if found.shape[1] == 1:
        one = found[:, 0]
        if probable:
            return -(one.where(wanted == 1, 1 - one) + TINY).log()
        return functional.softplus((decision.least - one) * (2 * wanted - 1))
    if probable:
        return -(found.gather(1, wanted[:, None])[:, 0] + TINY).log()
    return functional.cross_entropy(found, wanted, reduction="none")


def _binary(functional: Any, logits: Any, wanted: Any) -> Any:
    """Of logits that each stand for themselves: the wanted one up, the others down."""
    goal = wanted[:, None] if logits.shape[1] == 1 else functional.one_hot(wanted, logits.shape[1])
    loss = functional.binary_cross_entropy_with_logits(logits, goal.to(logits.dtype), reduction="none")
    return loss.sum(dim=1)


def _probable(found: Any, decision: Decision) -> bool:
    """Whether answers are probabilities already."""
    if found.min() < 0 or found.max() > 1:
        return False
    if found.shape[1] == 1:
        return 0 < decision.least < 1
    return bool(((found.sum(dim=1) - 1).abs() < NEAR).all())


def _differentiable(network: Network, batch: Array, inputs: Any) -> bool:
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


def _scale(network: Network, batch: Array) -> Any:
    """By what a step of the values of an instance is multiplied, value by value, on its way into the network."""
    whole = batch.dtype.kind in "iu"
    before = np.zeros_like(batch[:1]) if whole else batch[:1]
    step = 1.0 if whole else STEP * (float(batch.std()) or 1.0)
    moved = as_type(before + step, batch.dtype)
    return (network.tensor(moved) - network.tensor(before)) / step
