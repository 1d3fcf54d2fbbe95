"""Patterns (Kindermans et al. 2018): the direction of its input that each unit responds to, learned from data.

A unit's weights also cancel what disturbs it, so that they do not look like what it detects; its pattern does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, ref

from veridical.errors import InputError, require
from veridical.models.outputs import n_rows
from veridical.models.torch_modules import Network, check_ready, split_batches
from veridical.networks.derivatives import MAX_NUMBERS_PER_BATCH, OutputGradients, replace_output
from veridical.networks.lrp import BackwardPass, Layer, Rules, apply_rules, rescale
from veridical.networks.maps import GradientMethod, MapBatch
from veridical.protocols import Seed

MIN_INSTANCES = 10  # to learn patterns from
MIN_SIGNAL = 1e-6  # share of a unit's mean square below which its pattern has no direction


@dataclass(frozen=True, eq=False)
class PatternNet(GradientMethod):
    """Shows what in the input made the output: the signal that the network detected.

    A gradient with every weight replaced by its pattern (Kindermans et al. 2018). Patterns are learned once per
    network, and again if its weights change. A map has no unit: its largest value is 1 in size.

    Parameters
    ----------
    data : batch of instances
        Instances like those that the network was trained on, at least 10, better a few hundred. They must not be
        changed meanwhile.
    """

    data: Any

    def __post_init__(self) -> None:
        if isinstance(self.data, str) or not hasattr(self.data, "__len__") or n_rows(self.data) < MIN_INSTANCES:
            raise InputError(
                f"{type(self).__name__} learns patterns from data, a batch of at least {MIN_INSTANCES} instances, "
                "better hundreds, such as some of the training data"
            )

    def attribute(self, gradients: OutputGradients, x: Any, rows: Any, seeds: Sequence[Seed]) -> MapBatch:
        """One backward pass per input."""
        name = type(self).__name__
        patterns = learn_patterns(gradients.network, self.data, name)

        def rule(layer: Layer, message: Any) -> Any:
            return layer.through(self._weights(layer, patterns[layer.number]), message)

        found = apply_rules(gradients, Rules(name, rule, rescaled=True))(x[:, None], rows)[:, 0]
        return MapBatch(rescale(found))

    def _weights(self, layer: Layer, pattern: Any) -> Any:
        """What stands in place of a layer's weights on the way back."""
        return pattern


@dataclass(frozen=True, eq=False)
class PatternAttribution(PatternNet):
    """Shows how much of the output comes from each value of the input, by the signal in it.

    A gradient with every weight multiplied by its pattern (Kindermans et al. 2018). A map has no unit: its largest
    value is 1 in size.

    Parameters
    ----------
    data : batch of instances
        What patterns are learned from, as for ``PatternNet``.
    """

    def _weights(self, layer: Layer, pattern: Any) -> Any:
        return pattern * layer.weight


@dataclass(frozen=True, eq=False)
class LearnedPatterns:
    """Patterns, and what they were learned from."""

    data: Any
    prepare: Callable[[], Any]  # weakly: it may hold the network
    embedding: str | None
    state: dict[str, Any]  # the weights then
    patterns: tuple[Any, ...]  # one per layer, in the order of their calls

    def holds(self, network: Network, data: Any) -> bool:
        """Whether nothing has changed since."""
        torch, now = require("torch", extra="torch"), network.module.state_dict()
        if data is not self.data or network.prepare is not self.prepare() or network.embedding != self.embedding:
            return False
        if now.keys() != self.state.keys():
            return False
        return all(
            value.device == self.state[name].device and torch.equal(value, self.state[name])
            for name, value in now.items()
        )


# As long as a network lives, of its last two uses: inputs may be prepared in two ways, to be compared. Weights are
# compared at each use; data are taken to be the same as long as they are the same object.
_LEARNED: WeakKeyDictionary[Any, tuple[LearnedPatterns, ...]] = WeakKeyDictionary()


def learn_patterns(network: Network, data: Any, wanted_by: str) -> tuple[Any, ...]:
    """The pattern of every layer's units, each of the shape of the layer's weights; what was learned is kept."""
    before = _LEARNED.get(network.module, ())
    known = next((each for each in before if each.holds(network, data)), None)
    if known is None:
        state = {name: value.clone() for name, value in network.module.state_dict().items()}
        check_ready(network.module)
        inputs, sums = network.tensor(data), list[PatternSums]()
        for piece in split_batches(inputs, MAX_NUMBERS_PER_BATCH):
            run = _run_layers(network, inputs[piece], wanted_by)
            found = [PatternSums.of(layer, layer.number in run.gated) for layer in run.layers]
            sums = [a + b for a, b in zip(sums, found, strict=True)] if sums else found
        patterns = tuple(each.pattern() for each in sums)
        known = LearnedPatterns(data, _weak_reference(network.prepare), network.embedding, state, patterns)
        _LEARNED[network.module] = (known, *before[:1])
    return known.patterns


def _weak_reference(thing: Any) -> Callable[[], Any]:
    """A reference that keeps nothing alive; to None of what can have none."""
    try:
        return ref(thing)
    except TypeError:
        return lambda: None


def _run_layers(network: Network, inputs: Any, wanted_by: str) -> BackwardPass:
    """The layers of a network with their inputs and outputs."""
    torch, run = require("torch", extra="torch"), BackwardPass(network.module, Rules(wanted_by, Layer.back))
    if network.embedding is None:
        run(inputs.detach().requires_grad_())
        return run
    with torch.no_grad():
        vectors = network.embedder()(inputs)
    with replace_output(network.embedder(), vectors.requires_grad_()):
        run(inputs)
    return run


@dataclass(frozen=True, eq=False)
class PatternSums:
    """Sums over samples, and patches of them, of a layer's inputs x and of its outputs y without bias."""

    weight: Any  # (units, …)
    xy: Any  # (units, …) x times y, where the unit fires
    x: Any  # (units, …) where it fires
    y: Any  # (units,) everywhere
    fired: Any  # (units,) how often
    n: int

    @classmethod
    def of(cls, layer: Layer, gated: bool) -> PatternSums:
        """Of one batch. A sum of patches times outputs is what the gradient by the weights is."""
        torch = require("torch", extra="torch")
        with torch.enable_grad():
            weight = layer.weight.detach().requires_grad_()
            y = layer.call(layer.x.detach(), weight, None)
        fires = (layer.z.detach() > 0 if gated else torch.ones_like(y)).to(y.dtype)
        (xy,) = torch.autograd.grad(y, weight, y.detach() * fires, retain_graph=True)
        (x,) = torch.autograd.grad(y, weight, fires)
        units = -1 if layer.dense else 1
        by_unit = [each.detach().double().movedim(units, 0).flatten(1) for each in (y, fires)]
        total, fired = (each.sum(dim=1) for each in by_unit)
        return cls(weight.detach(), xy.double(), x.double(), total, fired, by_unit[0].shape[1])

    def __add__(self, other: PatternSums) -> PatternSums:
        new = (getattr(self, name) + getattr(other, name) for name in ("xy", "x", "y", "fired", "n"))
        return PatternSums(self.weight, *new)

    def pattern(self) -> Any:
        """The covariance of x and y, of length 1 along the weights; zero for a unit that never fires."""
        torch, wide = require("torch", extra="torch"), (-1, *[1] * (self.weight.dim() - 1))
        weight, often = self.weight.double(), self.fired.clamp(min=1).view(wide)
        covariance = self.xy / often - self.x / often * (self.y / self.n).view(wide)
        along = (weight * covariance).flatten(1).sum(dim=1).view(wide)
        square = (weight * self.xy / often).flatten(1).sum(dim=1).view(wide)
        found = torch.where(along.abs() > MIN_SIGNAL * square, covariance / along, 0.0)
        return found.to(self.weight.dtype)
