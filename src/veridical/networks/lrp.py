"""Layer-wise relevance propagation: rules by which an output is shared out among the units below, layer by layer.

What goes back are messages: a unit's relevance divided by its activation. Then everything that is linear without
weights of its own (sums, residual adds, reshapes, pooling) needs no rule: its gradient is one. Functions are
watched, not modules, so that functional, in-place and shared ReLUs are no exception and no hook is ever set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from typing import Any
from weakref import ref

from veridical.errors import InputError, check_positive, require
from veridical.models.torch_modules import check_hookable
from veridical.networks.derivatives import OutputGradients
from veridical.networks.maps import GradientMethod, MapBatch
from veridical.protocols import Seed

DENSE = {"linear", "matmul", "mm"}
CONVOLUTIONS = {"conv1d", "conv2d", "conv3d"}
ARGUMENTS = ("input", "weight", "bias")

# By name without underscores, as functions, methods and operators of torch are called.
# Steps that change nothing but the order or the type of numbers, copy them, or leave some out:
SHAPES = {
    "bfloat16", "channel_shuffle", "chunk", "clone", "contiguous", "double", "dropout", "dropout1d", "dropout2d",
    "dropout3d", "expand", "flatten", "flip", "float", "gather", "get", "getitem", "half", "index_select",
    "moveaxis", "movedim", "narrow", "pad", "permute", "pixel_shuffle", "pixel_unshuffle", "repeat", "reshape",
    "roll", "select", "split", "squeeze", "swapaxes", "t", "tensor_split", "tile", "to", "transpose", "type",
    "unbind", "unflatten", "unfold", "unsqueeze", "view",
}  # fmt: skip
# Steps that are linear, or a choice among their inputs, so that the gradient of messages is their rule:
LINEAR = SHAPES | {
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "add", "alpha_dropout", "amax", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm", "cat", "concat", "feature_alpha_dropout", "iadd", "interpolate", "isub",
    "leaky_relu", "masked_fill", "max", "max_pool1d", "max_pool2d", "max_pool3d", "mean", "neg", "prelu", "radd",
    "relu", "rsub", "stack", "sub", "sum", "upsample",
}  # fmt: skip
PRODUCTS = {"div", "idiv", "imul", "itruediv", "mul", "rmul", "true_divide", "truediv"}  # linear in one factor
AFFINE = {"add", "batch_norm", "div", "mul", "radd", "rmul", "rsub", "sub", "true_divide", "truediv"}
ACTIVATIONS = {
    "celu", "clamp", "clamp_max", "clamp_min", "clip", "elu", "gelu", "hardswish", "hardtanh", "mish", "relu6",
    "rrelu", "selu", "silu", "softsign", "tanh", "threshold",
}  # fmt: skip
GATES = {"hardtanh", "relu", "relu6"}
ENDS = {"log_softmax", "sigmoid", "softmax"}


def is_inplace(function: Any, options: dict[str, Any]) -> bool:
    """Whether the function changes what it is given."""
    name = function.__name__
    return bool(options.get("inplace")) or (name.endswith("_") and not name.endswith("__"))


def has_linear_rule(name: str, args: Any, options: Any) -> bool:
    """Whether the gradient of messages is the rule of this function."""
    if name in PRODUCTS:
        return len(find_moving((args, options))) == 1 and (args[0].requires_grad or "mul" in name)
    return name in LINEAR | ACTIVATIONS


def find_tensors(given: Any) -> list[Any]:
    """All tensors of arguments or results, however they are nested."""
    torch = require("torch", extra="torch")
    if isinstance(given, torch.Tensor):
        return [given]
    if isinstance(given, dict):
        given = given.values()
    elif not isinstance(given, (list, tuple)):
        return []
    return [tensor for each in given for tensor in find_tensors(each)]


def find_moving(given: Any) -> list[Any]:
    """The tensors that depend on the leaf."""
    return [each for each in find_tensors(given) if each.requires_grad]


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


class BackwardPass:
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
        check_hookable(self._module, self._rules.name)
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
        for each in find_moving((args, options)):
            seen = self._seen.get(id(each))
            if not (each.is_leaf or id(each) in self._raw or (seen is not None and seen() is each)):
                raise self._refusal(f"what made an input of {function.__name__}, a function of its own", (), {})
        found = self._step(function, args, options)
        self._seen |= {id(each): ref(each) for each in find_moving(found)}
        return found

    def _step(self, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Do what the module does, and note how to go back."""
        name, given = function.__name__.strip("_"), find_moving((args, options))
        if name == "batch_norm" and options["training"]:
            raise self._refusal(f"{name} by the statistics of each batch", args, options)
        if not given:
            return function(*args, **options)
        if self._is_raw(given[0]) and len(given) == 1:
            found = self._on_raw(name, function, args, options)
            if found is not None:
                return found
        args, options = self._to_messages(args), self._to_messages(options)
        if name in DENSE | CONVOLUTIONS:
            return self._layer(name, function, args, options)
        made = self._maker(args[0] if args else None)
        if name == "batch_norm" and made is not None and (not made[1].dense or made[1].z.dim() == 2):
            return self._fold_batch_norm(made, function, args, options)
        if name in ACTIVATIONS and self._rules.first is not None:
            return self._activation(name, function, args, options)
        if name in GATES and made is not None:
            self.gated.add(made[1].number)
        found = function(*args, **options)
        if find_moving(found) and not has_linear_rule(name, args, options):
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
            self._raw |= {id(each): each for each in find_moving(found)}
            return found
        if is_inplace(function, options):
            raise self._refusal(f"{name} in place on the input itself", args, options)
        if name in AFFINE and args:
            torch, leaf = require("torch", extra="torch"), x.detach().requires_grad_()
            value = function(leaf, *args[1:], **options)
            if value.shape == x.shape:
                reached = torch.autograd.grad(value.sum(), leaf)[0] != 0  # not where it is multiplied by zero
                found = _with_backward(x, value.detach(), lambda message: message * reached)
                self._raw[id(found)] = found
                return found
        return None

    def _to_messages(self, given: Any) -> Any:
        """Arguments with relevance turned into messages, where they are the input itself."""
        if isinstance(given, dict):
            return {name: self._to_messages(each) for name, each in given.items()}
        if type(given) in (list, tuple):
            return type(given)(self._to_messages(each) for each in given)
        if not self._is_raw(given):
            return given
        x = given.detach().clone()
        return _with_backward(given, x.clone(), lambda message: message * x)

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
            return rule(layer, rescale(message) if layer.number in self._narrow else message)

        found = _with_backward(x, layer.z.detach().clone(), back)
        self._nodes[layer.number] = found.grad_fn
        self._made[id(found)] = (found, found._version, x, layer)
        return found

    def _maker(self, z: Any) -> tuple[Any, Layer] | None:
        """The layer that made z, after its inputs, unless z was changed since."""
        if id(z) not in self._made:
            return None
        _, version, x, layer = self._made[id(z)]
        return (x, layer) if version == z._version else None

    def _fold_batch_norm(self, made: tuple[Any, Layer], function: Any, args: Any, options: dict[str, Any]) -> Any:
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
        return _with_backward(args[0], value, lambda message: message * ratio, is_inplace(function, options))

    def _refusal(self, name: str, args: Any, options: Any) -> InputError:
        """Which step it is that has no rule, and what to do."""
        owner = next((self._owners[id(t)] for t in find_tensors((args, options)) if id(t) in self._owners), None)
        types = {each: type(part).__name__ for each, part in self._module.named_modules()}
        where = f"{types[owner]} ({owner or 'itself'}), by its {name}," if owner in types else name
        hint = f"; leave the last {name} out: the module's outputs should be logits" if name in ENDS else ""
        return InputError(
            f"{self._rules.name} has no rule for {where} which this network uses{hint}. It knows linear and "
            "convolutional layers, batch norm, ReLU and its like, pooling, sums and reshapes; Gradient and "
            "IntegratedGradients need only gradients, Lime, KernelShap and Occlusion need only predictions"
        )


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


def rescale(message: Any) -> Any:
    """Messages (n, …), the largest of each input 1 in size."""
    largest = message.abs().flatten(1).amax(dim=1)
    return message / largest.where(largest > 0, 1.0).view(-1, *[1] * (message.dim() - 1))


def _with_backward(x: Any, value: Any, back: Callable[[Any], Any], inplace: bool = False) -> Any:
    """The value as if made of x, with a way back of its own."""
    return _torch_parts()[0].apply(x, lambda: value, back, inplace)


def _watch(step: Callable[[Any, Any, Any], Any]) -> Any:
    """A context in which each torch function goes through ``step``."""
    return _torch_parts()[1](step)


def apply_rules(gradients: OutputGradients, rules: Rules) -> OutputGradients:
    """Slopes of the same network, whose gradients are what the rules give."""
    network = gradients.network
    embedding = None if network.embedding is None else f"inner.{network.embedding}"
    return replace(
        gradients, network=replace(network, module=_torch_parts()[2](network.module, rules), embedding=embedding)
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
            return BackwardPass(self.inner, self.rules)(inputs)

    return Replaced, Watch, Ruled


DENSE_EPSILON = 0.1  # of sequential preset A


@dataclass(frozen=True)
class LrpEpsilon(GradientMethod):
    """Shows what share of the output comes from each value of the input, by LRP with the epsilon rule.

    At each layer, a value's share is what it adds to the sum (Bach et al. 2015). Without biases the shares sum to
    the output, and are input times gradient; what biases add is given as the residual in the notes. Batch norm
    counts with the layer before it.

    Parameters
    ----------
    epsilon : float, default 1e-7
        Added to each sum in size, so that shares of small sums stay finite; more of it makes maps sparser.
    """

    epsilon: float = 1e-7

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)

    def attribute(self, gradients: OutputGradients, x: Any, rows: Any, seeds: Sequence[Seed]) -> MapBatch:
        """One backward pass per input."""
        rule = epsilon_rule(self.epsilon)
        return _relevance(gradients, x, rows, Rules("LrpEpsilon", rule, input_rule(rule)))


@dataclass(frozen=True)
class LrpPresetAFlat(GradientMethod):
    """Shows what share of the output comes from each region of the input, by LRP with preset A, flat.

    A rule per depth (Alber et al. 2019): epsilon for dense layers, alpha 1 and beta 0 for convolutions, and equal
    shares (flat) for the layers that see the input. Such maps are smooth, and hardly differ between classes.
    """

    def attribute(self, gradients: OutputGradients, x: Any, rows: Any, seeds: Sequence[Seed]) -> MapBatch:
        """One backward pass per input."""
        return _relevance(gradients, x, rows, Rules("LrpPresetAFlat", _preset_a, flat_rule))


def _relevance(gradients: OutputGradients, x: Any, rows: Any, rules: Rules) -> MapBatch:
    outputs, found = apply_rules(gradients, rules).with_values(x[:, None], rows)
    return MapBatch(found[:, 0], reference=x.new_zeros(len(x)), outputs=outputs[:, 0])


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


def input_rule(rule: Rule) -> Rule:
    """The rule of a first layer, where messages become relevance."""
    return lambda layer, message: layer.x.detach() * rule(layer, message)
