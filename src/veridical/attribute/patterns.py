"""Patterns (Kindermans et al. 2018): which direction of a layer's input its units respond to, learned from data.

A unit's weights also cancel what disturbs it, so that they do not look like what it detects; its pattern does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, ref

from veridical.attribute.ask import n_rows
from veridical.attribute.backward import Layer, Rules, Walk, by_rules, rescaled
from veridical.attribute.launches import pieces
from veridical.attribute.maps import ByGradient, Drawn
from veridical.attribute.network import Network
from veridical.attribute.ready import check_ready
from veridical.attribute.slopes import AT_ONCE, Slopes, instead
from veridical.errors import InputError, require
from veridical.records import Seed

FEWEST = 10  # instances to learn from
NOTHING = 1e-6  # of a unit's mean square, below which its pattern has no direction


@dataclass(frozen=True, eq=False)
class PatternNet(ByGradient):
    """What in the input made the output: a gradient with every weight replaced by its pattern.

    Patterns are learned from ``data``, instances like those the network was trained on (a few hundred will do),
    once for a network, and again if its weights change; data must not be changed meanwhile. A map's largest value
    is 1 in size: it has no unit.
    """

    data: Any

    def __post_init__(self) -> None:
        _check_data(self)

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """One pass back an input."""
        return _backed(self, slopes, x, rows, signal=True)


@dataclass(frozen=True, eq=False)
class PatternAttribution(ByGradient):
    """How much of the output comes from where: a gradient with every weight multiplied by its pattern.

    Patterns are learned from ``data`` as for ``PatternNet``; a map's largest value is 1 in size.
    """

    data: Any

    def __post_init__(self) -> None:
        _check_data(self)

    def drawn(self, slopes: Slopes, x: Any, rows: Any, seeds: Sequence[Seed]) -> Drawn:
        """One pass back an input."""
        return _backed(self, slopes, x, rows, signal=False)


def _check_data(method: Any) -> None:
    if isinstance(method.data, str) or not hasattr(method.data, "__len__") or n_rows(method.data) < FEWEST:
        raise InputError(
            f"{type(method).__name__} learns patterns from data, a batch of at least {FEWEST} instances, better "
            "hundreds, such as some of the training data"
        )


def _backed(method: Any, slopes: Slopes, x: Any, rows: Any, *, signal: bool) -> Drawn:
    """Maps by patterns alone, or by patterns times weights."""
    learned, name = patterns(slopes.network, method.data, type(method).__name__), type(method).__name__

    def rule(layer: Layer, message: Any) -> Any:
        pattern = learned[layer.number]
        return layer.through(pattern if signal else pattern * layer.weight, message)

    found = by_rules(slopes, Rules(name, rule, rescaled=True))(x[:, None], rows)[:, 0]
    return Drawn(rescaled(found))


@dataclass(frozen=True, eq=False)
class Learned:
    """Patterns, and what they were learned from."""

    data: Any
    prepare: Callable[[], Any]  # weakly: it may hold the network
    embedding: str | None
    state: dict[str, Any]  # the weights then
    patterns: tuple[Any, ...]  # one a layer, in the order of their calls

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
_LEARNED: WeakKeyDictionary[Any, tuple[Learned, ...]] = WeakKeyDictionary()


def patterns(network: Network, data: Any, wanted_by: str) -> tuple[Any, ...]:
    """The pattern of every layer's units, each of the shape of the layer's weights."""
    before = _LEARNED.get(network.module, ())
    known = next((each for each in before if each.holds(network, data)), None)
    if known is None:
        state = {name: value.clone() for name, value in network.module.state_dict().items()}
        found = _learn(network, data, wanted_by)
        known = Learned(data, _weakly(network.prepare), network.embedding, state, found)
        _LEARNED[network.module] = (known, *before[:1])
    return known.patterns


def _weakly(thing: Any) -> Callable[[], Any]:
    """A reference that keeps nothing alive; None of what can have none."""
    try:
        return ref(thing)
    except TypeError:
        return lambda: None


def _learn(network: Network, data: Any, wanted_by: str) -> tuple[Any, ...]:
    """One pass over the data."""
    check_ready(network.module)
    inputs, sums = network.tensor(data), list[Sums]()
    for piece in pieces(inputs, AT_ONCE):
        walk = _walked(network, inputs[piece], wanted_by)
        found = [Sums.of(layer, layer.number in walk.gated) for layer in walk.layers]
        sums = [a + b for a, b in zip(sums, found, strict=True)] if sums else found
    return tuple(each.pattern() for each in sums)


def _walked(network: Network, inputs: Any, wanted_by: str) -> Walk:
    """The layers of a network with their inputs and outputs."""
    torch, walk = require("torch", extra="torch"), Walk(network.module, Rules(wanted_by, Layer.back))
    if network.embedding is None:
        walk(inputs.detach().requires_grad_())
        return walk
    with torch.no_grad():
        vectors = network.embedder()(inputs)
    with instead(network.embedder(), vectors.requires_grad_()):
        walk(inputs)
    return walk


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over samples, and patches of them, of a layer's inputs x and of its outputs y without bias."""

    weight: Any  # (units, …)
    xy: Any  # (units, …) x times y, where the unit fires
    x: Any  # (units, …) where it fires
    y: Any  # (units,) everywhere
    fired: Any  # (units,) how often
    n: int

    @classmethod
    def of(cls, layer: Layer, gated: bool) -> Sums:
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

    def __add__(self, other: Sums) -> Sums:
        new = (getattr(self, name) + getattr(other, name) for name in ("xy", "x", "y", "fired", "n"))
        return Sums(self.weight, *new)

    def pattern(self) -> Any:
        """The covariance of x and y, of length 1 along the weights; zero for a unit that never fires."""
        torch, wide = require("torch", extra="torch"), (-1, *[1] * (self.weight.dim() - 1))
        weight, often = self.weight.double(), self.fired.clamp(min=1).view(wide)
        covariance = self.xy / often - self.x / often * (self.y / self.n).view(wide)
        along = (weight * covariance).flatten(1).sum(dim=1).view(wide)
        square = (weight * self.xy / often).flatten(1).sum(dim=1).view(wide)
        found = torch.where(along.abs() > NOTHING * square, covariance / along, 0.0)
        return found.to(self.weight.dtype)
