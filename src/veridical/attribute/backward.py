"""Backward rules: a network runs as it is, and each step back through a layer is a rule's, not the gradient's.

What goes back are messages: a unit's relevance divided by its activation. Then everything that is linear without
weights of its own (sums, residual adds, reshapes, pooling) needs no rule: its gradient is one. Functions are
watched, not modules, so that functional, in-place and shared ReLUs are no exception and no hook is ever set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from typing import Any
from weakref import ref

from veridical.attribute.ready import check_seen
from veridical.attribute.slopes import Slopes
from veridical.attribute.steps import (
    ACTIVATIONS,
    AFFINE,
    ARGUMENTS,
    CONVOLUTIONS,
    DENSE,
    ENDS,
    GATES,
    SHAPES,
    is_inplace,
    is_known,
    moving,
    tensors,
)
from veridical.errors import InputError, require

Rule = Callable[["Layer", Any], Any]  # (layer, message from above) -> message to below

_ALONE = Lock()  # weights are exchanged for fixed ones while a network runs, which two at once must not


@dataclass(frozen=True, eq=False)
class Layer:
    """A dense or convolutional layer in one pass, with the batch norm after it folded in."""

    number: int  # in the order of calls
    call: Callable[[Any, Any, Any], Any]  # of inputs, weight and bias
    x: Any  # its inputs, a leaf
    weight: Any  # (units, …)
    bias: Any  # (units,) or None
    z: Any  # its outputs, of a graph that goes back to x and no further
    dense: bool

    def back(self, message: Any) -> Any:
        """The message through the layer's own weights."""
        torch = require("torch", extra="torch")
        return torch.autograd.grad(self.z, self.x, message, retain_graph=True)[0]

    def through(self, weight: Any, message: Any) -> Any:
        """The message through other weights in their place."""
        torch = require("torch", extra="torch")
        with torch.enable_grad():
            x = self.x.detach().requires_grad_()
            return torch.autograd.grad(self.call(x, weight, None), x, message)[0]


@dataclass(frozen=True)
class Rules:
    """How messages go back through layers.

    ``first`` is the rule of layers that see the input, and turns messages into relevance, which activations pass
    on as it is. Without it messages are gradients: activations have their own, and no layer is special.
    """

    name: str  # of the method, for errors
    layer: Rule
    first: Rule | None = None
    rescaled: bool = False  # to 1 wherever all messages of an input come through one layer, so as to stay numbers


class Walk:
    """One pass of a batch through a module, by whose outputs' gradient the rules go back."""

    def __init__(self, module: Any, rules: Rules) -> None:
        torch = require("torch", extra="torch")
        self.layers: list[Layer] = []  # in the order of their calls
        self.gated: set[int] = set()  # those whose outputs a ReLU sees
        while isinstance(module, torch.nn.DataParallel):  # which spreads a batch over devices, and no more
            module = module.module
        self._module, self._rules = module, rules
        self._fixed = {name: p.detach() for name, p in module.named_parameters()}
        both = [*self._fixed.items(), *module.named_parameters()]
        self._owners = {id(p): name.rpartition(".")[0] for name, p in both}
        self._seen: dict[int, Any] = {}  # weakly, what steps have made
        self._nodes: dict[int, Any] = {}  # of the graph, by layer
        self._narrow: set[int] = set()  # layers that all messages come through
        self._made: dict[int, tuple[Any, int, Any, Layer]] = {}  # by outputs, as made: inputs and layer
        self._raw: dict[int, Any] = {}  # what differs from the input by order, unit or origin alone

    def __call__(self, inputs: Any) -> Any:
        """The module's outputs to inputs that have a gradient, or to tokens whose vectors are leaves with one."""
        torch = require("torch", extra="torch")
        check_seen(self._module, self._rules.name)
        self._raw[id(inputs)] = inputs
        try:
            with _ALONE, torch.enable_grad(), _watch(self._watched):
                outputs = torch.func.functional_call(self._module, self._fixed, (inputs,))
            if self._rules.rescaled:
                narrow, n = _bottlenecks(outputs.grad_fn), len(inputs)
                self._narrow = {
                    layer.number
                    for layer in self.layers
                    if self._nodes[layer.number] in narrow and len(layer.z) == n
                }
            return outputs
        finally:  # the graph holds this object: what held the graph in turn would never be freed
            for held in (self._seen, self._nodes, self._made, self._raw):
                held.clear()

    def _is_raw(self, tensor: Any) -> bool:
        """Whether it is as good as the input: weights are fixed, so that no other leaf has a gradient."""
        if self._rules.first is None or not getattr(tensor, "requires_grad", False):
            return False
        return id(tensor) in self._raw or bool(tensor.is_leaf)

    def _watched(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """A step, all of whose arguments come from steps that were seen."""
        for each in moving((args, options)):
            seen = self._seen.get(id(each))
            if not (each.is_leaf or id(each) in self._raw or (seen is not None and seen() is each)):
                raise self._refusal(f"what made an input of {function.__name__}, a function of its own", (), {})
        found = self._step(function, args, options)
        self._seen |= {id(each): ref(each) for each in moving(found)}
        return found

    def _step(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Do what the module does, and note how to go back."""
        name, given = function.__name__.strip("_"), moving((args, options))
        if name == "batch_norm" and options["training"]:
            raise self._refusal(f"{name} by the statistics of each batch", args, options)
        if not given:
            return function(*args, **options)
        if self._is_raw(given[0]) and len(given) == 1:
            found = self._on_raw(name, function, args, options)
            if found is not None:
                return found
        args, options = self._entered(args), self._entered(options)
        if name in DENSE | CONVOLUTIONS:
            return self._layer(name, function, args, options)
        made = self._maker(args[0] if args else None)
        if name == "batch_norm" and made is not None and _norms_units(made[1]):
            return self._folded(made, function, args, options)
        if name in ACTIVATIONS and self._rules.first is not None:
            return self._activation(name, function, args, options)
        if name in GATES and made is not None:
            self.gated.add(made[1].number)
        found = function(*args, **options)
        if moving(found) and not is_known(name, args, options):
            raise self._refusal(name, args, options)
        return found

    def _on_raw(self, name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
        """A step that leaves the relevance of the input where it is; None if this is no such step."""
        x: Any = args[0] if args else options.get("input")
        if not self._is_raw(x):
            return None
        if name in DENSE | CONVOLUTIONS:
            return self._layer(name, function, args, options)
        if name in SHAPES:
            found = function(*args, **options)
            self._raw |= {id(each): each for each in moving(found)}
            return found
        if is_inplace(function, options):
            raise self._refusal(f"{name} in place on the input itself", args, options)
        if name in AFFINE and args:
            torch, leaf = require("torch", extra="torch"), x.detach().requires_grad_()
            value = function(leaf, *args[1:], **options)
            if value.shape == x.shape:
                reached = torch.autograd.grad(value.sum(), leaf)[0] != 0  # not where it is multiplied by zero
                found = _replaced(x, value.detach(), lambda message: message * reached)
                self._raw[id(found)] = found
                return found
        return None

    def _entered(self, given: Any) -> Any:
        """Arguments with relevance turned into messages, where they are the input itself."""
        if isinstance(given, dict):
            return {name: self._entered(each) for name, each in given.items()}
        if type(given) in (list, tuple):
            return type(given)(self._entered(each) for each in given)
        if not self._is_raw(given):
            return given
        x = given.detach().clone()
        return _replaced(given, x.clone(), lambda message: message * x)

    def _layer(self, name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
        torch = require("torch", extra="torch")
        rest, options = args[3:], dict(options)
        args = [*args, *(options.pop(key) for key in ARGUMENTS[len(args) :] if key in options)]
        x, weight, bias = (*args[:3], None)[:3]
        if not x.requires_grad or weight.requires_grad:
            raise self._refusal(f"{name} by what depends on the input", args, options)
        if name != "linear" and name in DENSE:
            if weight.dim() != 2:
                raise self._refusal(f"{name} in {weight.dim()} dimensions", args, options)
            function, weight = torch.nn.functional.linear, weight.T

        def call(inputs: Any, weights: Any, biases: Any) -> Any:
            return function(inputs, weights, biases, *rest, **options)

        leaf = x.detach().requires_grad_()
        layer = Layer(len(self.layers), call, leaf, weight, bias, call(leaf, weight, bias), name in DENSE)
        self.layers.append(layer)
        return self._through(x, layer)

    def _through(self, x: Any, layer: Layer) -> Any:
        """The outputs of a layer, whose way back is its rule's."""
        rule = self._rules.layer
        if self._is_raw(x):
            assert self._rules.first is not None
            rule = self._rules.first

        def back(message: Any) -> Any:
            return rule(layer, rescaled(message) if layer.number in self._narrow else message)

        found = _replaced(x, layer.z.detach().clone(), back)
        self._nodes[layer.number] = found.grad_fn
        self._made[id(found)] = (found, found._version, x, layer)
        return found

    def _maker(self, z: Any) -> tuple[Any, Layer] | None:
        """The layer that made z, after its inputs, unless z was changed since."""
        if id(z) not in self._made:
            return None
        _, version, x, layer = self._made[id(z)]
        return (x, layer) if version == z._version else None

    def _folded(self, made: tuple[Any, Layer], function: Any, args: Any, options: dict[str, Any]) -> Any:
        """Batch norm after a layer: the two are one layer of other weights."""
        torch, (x, layer) = require("torch", extra="torch"), made
        exact: list[Any] = [
            None if t is None else t.double() for t in (*args[1:3], options["weight"], options["bias"])
        ]
        ends = torch.tensor([[0.0], [1.0]]).to(exact[0]).expand(2, len(exact[0]))
        shift, one = function(ends, *exact, training=False, eps=options["eps"])
        scale, shift = (one - shift).to(layer.weight), shift.to(layer.weight)
        weight = layer.weight * scale.view(-1, *[1] * (layer.weight.dim() - 1))
        bias = shift if layer.bias is None else layer.bias * scale + shift
        z = function(layer.z, *args[1:], **options)
        self.layers[layer.number] = folded = replace(layer, weight=weight, bias=bias, z=z)
        return self._through(x, folded)

    def _activation(self, name: str, function: Any, args: Any, options: dict[str, Any]) -> Any:
        """Relevance passes an activation as it is, if nothing comes of nothing."""
        torch, x = require("torch", extra="torch"), args[0].detach().clone()
        if function(torch.zeros_like(x[:1]), *args[1:], **options).any():
            raise self._refusal(f"{name} that is not zero at zero", args, options)
        value = function(x.clone(), *args[1:], **options)
        ratio = torch.where(x == 0, 0.0, value / x)
        return _replaced(args[0], value, lambda message: message * ratio, is_inplace(function, options))

    def _refusal(self, name: str, args: Any, options: Any) -> InputError:
        """Which step it is that has no rule, and what to do."""
        owner = next((self._owners[id(t)] for t in tensors((args, options)) if id(t) in self._owners), None)
        types = {each: type(part).__name__ for each, part in self._module.named_modules()}
        where = f"{types[owner]} ({owner or 'itself'}), by its {name}," if owner in types else name
        hint = f"; leave the last {name} out: the module's outputs should be logits" if name in ENDS else ""
        return InputError(
            f"{self._rules.name} has no rule for {where} which this network uses{hint}. It knows linear and "
            "convolutional layers, batch norm, ReLU and its like, pooling, sums and reshapes; Gradient and "
            "IntegratedGradients need only gradients, Lime, KernelShap and Occlusion need only predictions"
        )


def _norms_units(layer: Layer) -> bool:
    """Whether batch norm after the layer works on its units, which are the second axis."""
    return not layer.dense or bool(layer.z.dim() == 2)


def _bottlenecks(root: Any) -> set[Any]:
    """The nodes of a graph that every way from the root to the leaf goes through."""
    arrivals, found, seen = Counter[Any](), set[Any](), [root]
    for node in seen:  # grows: each node once
        for below in _below(node):
            seen += [] if below in arrivals else [below]
            arrivals[below] += 1
    ready, crossing, missing = [root], 0, dict(arrivals)
    while ready:  # a node after all above it; ``crossing`` counts the edges out of those before
        node = ready.pop()
        crossing -= arrivals[node]
        if crossing == 0:
            found.add(node)
        for below in _below(node):
            crossing += 1
            missing[below] -= 1
            ready += [below] if missing[below] == 0 else []
    return found


def _below(node: Any) -> list[Any]:
    return [] if node is None else [below for below, _ in node.next_functions if below is not None]


def rescaled(message: Any) -> Any:
    """Messages (n, …), the largest of each input 1 in size."""
    largest = message.abs().flatten(1).amax(dim=1)
    return message / largest.where(largest > 0, 1.0).view(-1, *[1] * (message.dim() - 1))


def _replaced(x: Any, value: Any, back: Callable[[Any], Any], inplace: bool = False) -> Any:
    """The value as if made of x, with a way back of its own."""
    return _torch_parts()[0].apply(x, lambda: value, back, inplace)


def _watch(step: Callable[[Any, Any, Any], Any]) -> Any:
    """A context in which each torch function goes through ``step``."""
    return _torch_parts()[1](step)


def by_rules(slopes: Slopes, rules: Rules) -> Slopes:
    """Slopes of the same network, whose gradients are what the rules give."""
    network = slopes.network
    embedding = None if network.embedding is None else f"inner.{network.embedding}"
    return replace(
        slopes, network=replace(network, module=_torch_parts()[2](network.module, rules), embedding=embedding)
    )


@cache
def _torch_parts() -> tuple[Any, Any, Any]:
    """The classes that can be defined only where torch is."""
    torch: Any = require("torch", extra="torch")

    class Replaced(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, value: Callable[[], Any], back: Callable[[Any], Any], inplace: bool) -> Any:
            ctx.back = back
            if not inplace:
                return value()
            ctx.mark_dirty(x)
            return x.copy_(value())

        @staticmethod
        def backward(ctx: Any, message: Any) -> tuple[Any, None, None, None]:
            return ctx.back(message), None, None, None

    class Watch(require("torch.overrides", extra="torch").TorchFunctionMode):  # type: ignore[misc]
        def __init__(self, step: Callable[[Any, Any, Any], Any]) -> None:
            super().__init__()
            self.step = step

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return self.step(function, args, kwargs or {})

    class Ruled(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, module: Any, rules: Rules) -> None:
            super().__init__()
            self.inner, self.rules, self.training = module, rules, module.training

        def forward(self, inputs: Any) -> Any:
            return Walk(self.inner, self.rules)(inputs)

    return Replaced, Watch, Ruled
