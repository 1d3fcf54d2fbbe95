"""What a layer of a network gets and gives, and how an output depends on what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from veridical.attribute.launches import pieces
from veridical.attribute.network import Network, gradients_on
from veridical.attribute.slopes import reader
from veridical.errors import InputError, ModelError, require
from veridical.records import Floats

AT_ONCE = 2**21  # numbers of input that the network is asked about at once, about


def given_and_made(network: Network, X: Any, layer: str) -> tuple[Floats, Floats]:
    """What a layer is given and what it makes of it, for instances: (n, p) and (n, q)."""
    torch = require("torch", extra="torch")
    inputs, found = network.tensor(X), list[tuple[Floats, Floats]]()

    def keep(given: Any, made: Any) -> Any:
        found.append((_flat(given), _flat(made)))
        return made

    with torch.no_grad(), watched(network, layer, keep) as calls:
        for piece in pieces(inputs, AT_ONCE):
            network.ask(inputs[piece])
            _check_once(calls, layer)
    return np.concatenate([each for each, _ in found]), np.concatenate([each for _, each in found])


def slopes_at(network: Network, X: Any, layer: str, target: Any) -> Floats:
    """Derivatives (n, q) of an output by what a layer makes of each instance."""
    torch = require("torch", extra="torch")
    inputs, found, leaf = network.tensor(X), list[Floats](), list[Any]()
    read = reader(network, inputs, target)

    def cut(given: Any, made: Any) -> Any:
        leaf.append(made.detach().requires_grad_())
        return leaf[-1].clone()  # which the next layer may change in place

    with watched(network, layer, cut) as calls:
        for piece in pieces(inputs, AT_ONCE):
            with gradients_on(network.module):
                rows = torch.arange(len(inputs), device=inputs.device)[piece]
                value = read(network.ask(inputs[piece]), rows)
                _check_once(calls, layer)
                found.append(_flat(_slope(torch, value, leaf.pop())))
    return np.concatenate(found)


@contextmanager
def watched(network: Network, layer: str, change: Callable[[Any, Any], Any]) -> Iterator[list[int]]:
    """A layer that gives what ``change`` makes of its input and output; the list has one item a call."""
    known = dict(network.module.named_modules())
    if layer not in known or not layer:
        names = [name for name, part in known.items() if name and not any(part.children())]
        raise InputError(f"the network has no layer {layer!r}; it has {', '.join(names)}")
    calls: list[int] = []

    def hook(_module: Any, given: Any, made: Any) -> Any:
        calls.append(1)
        if not hasattr(made, "detach"):
            raise InputError(f"the layer {layer!r} gives {type(made).__name__}, not one tensor: name another")
        return change(given[0] if given else None, made)

    handle = known[layer].register_forward_hook(hook)
    try:
        yield calls
    finally:
        handle.remove()


def _check_once(calls: list[int], layer: str) -> None:
    """Refuse a layer that is used not at all, or more than once a pass; and begin to count anew."""
    n = len(calls)
    calls.clear()
    if n != 1:
        raise InputError(f"the network uses the layer {layer!r} {n} times a pass; name one that it uses once")


def _slope(torch: Any, value: Any, at: Any) -> Any:
    slope = torch.autograd.grad(value.sum(), at, allow_unused=True)[0] if value.requires_grad else None
    if slope is None:
        return torch.zeros_like(at)
    if not torch.isfinite(slope).all():
        raise ModelError("the network's gradient at this layer is NaN or infinite; it must be finite")
    return slope


def _flat(tensor: Any) -> Floats:
    """A row an instance."""
    if not hasattr(tensor, "detach"):
        return np.empty((0, 0))
    numbers: Floats = tensor.detach().cpu().double().numpy()
    return numbers.reshape(len(numbers), -1)
