"""Layer-wise relevance propagation: an output is shared out among the units below it, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from veridical.attribute.backward import Layer, Rule, Rules, by_rules
from veridical.attribute.maps import ByGradient, Drawn
from veridical.attribute.slopes import Slopes
from veridical.errors import check_positive, require
from veridical.records import Seed

DENSE_EPSILON = 0.1  # of sequential preset A


@dataclass(frozen=True)
class LrpEpsilon(ByGradient):
    """Relevance by the epsilon rule: each value's share of the output is what it adds to it, layer by layer.

    Without biases the shares sum to the output, and are input times gradient; what biases add is nobody's share,
    and is said as the residual. Batch norm counts with the layer before it.
    """

    epsilon: float = 1e-7

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """One pass back an input."""
        rule = epsilon_rule(self.epsilon)
        return _relevance(slopes, x, rows, Rules("LrpEpsilon", rule, of_inputs(rule)))


@dataclass(frozen=True)
class LrpPresetAFlat(ByGradient):
    """Relevance by sequential preset A, flat (Alber et al. 2019): a rule for each depth.

    Dense layers have the epsilon rule, convolutions share out what helps alone (alpha 1, beta 0), and layers that
    see the input spread relevance evenly over all that they see. Such maps are smooth, and hardly differ between
    classes: every step back through what helps alone makes them more alike.
    """

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """One pass back an input."""
        return _relevance(slopes, x, rows, Rules("LrpPresetAFlat", _preset_a, flat_rule))


def _relevance(slopes: Slopes, x: Any, rows: Any, rules: Rules) -> Drawn:
    outputs, found = by_rules(slopes, rules).with_values(x[:, None], rows)
    return Drawn(found[:, 0], reference=x.new_zeros(len(x)), outputs=outputs[:, 0])


def _preset_a(layer: Layer, message: Any) -> Any:
    return epsilon_rule(DENSE_EPSILON)(layer, message) if layer.dense else positive_rule(layer, message)


def epsilon_rule(epsilon: float) -> Rule:
    """Each input's share of z is what it adds to it; what epsilon adds to z is lost (Bach et al. 2015, eq. 58)."""

    def rule(layer: Layer, message: Any) -> Any:
        z = layer.z.detach()
        return layer.back(message * z / (z + z.new_full((), epsilon).copysign(z)))

    return rule


def positive_rule(layer: Layer, message: Any) -> Any:
    """Alpha 1, beta 0: only what adds to z has a share (Bach et al. 2015, eq. 60).

    With messages: of relevance z × message, divided by the positive part of z, through the weights that help.
    """
    torch = require("torch", extra="torch")
    x, bias = layer.x.detach(), None if layer.bias is None else layer.bias.clamp(min=0)
    helping = [(x.clamp(min=0), layer.weight.clamp(min=0), x > 0)]
    if (x < 0).any():
        helping.append((x.clamp(max=0), layer.weight.clamp(max=0), x < 0))
    with torch.enable_grad():
        inputs = [part.requires_grad_() for part, _, _ in helping]
        biases = [bias, None]
        z = sum(layer.call(part, helping[i][1], biases[i]) for i, part in enumerate(inputs))
    share = torch.where(z > 0, message * layer.z.detach() / z, 0.0).detach()
    found = torch.autograd.grad(z, inputs, share)
    return sum(each * side for each, (_, _, side) in zip(found, helping, strict=True))


def flat_rule(layer: Layer, message: Any) -> Any:
    """A unit's relevance in equal shares to all that it sees, whatever is there (Lapuschkin et al. 2017).

    A unit whose weights are all zero sees nothing.
    """
    torch, weight = require("torch", extra="torch"), layer.weight
    used = weight.flatten(1).any(dim=1).view(-1, *[1] * (weight.dim() - 1))
    ones = used.to(weight.dtype).expand_as(weight)
    seen = layer.call(torch.ones_like(layer.x), ones, None).detach()
    return layer.through(ones, torch.where(seen > 0, message * layer.z.detach() / seen, 0.0))


def of_inputs(rule: Rule) -> Rule:
    """The rule of a first layer, where messages become relevance."""
    return lambda layer, message: layer.x.detach() * rule(layer, message)
