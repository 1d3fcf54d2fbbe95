"""Layers of a network, re-initialized on a copy: from the top down, or one alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from veridical.attribute.network import Network
from veridical.debug.broken import Twin
from veridical.debug.records import Subject
from veridical.errors import InputError, NotApplicable, describe_error, require
from veridical.masks import generator
from veridical.records import Seed


@dataclass(frozen=True)
class Depths:
    """How many of the layers are looked at."""

    down: int = 5  # steps from the last layer alone to all of them
    alone: int = 3  # layers that are re-initialized by themselves


def layer_twins(subject: Subject, depths: Depths, seed: Seed, n: int) -> Iterator[Twin]:
    """n times: the network with its last layer re-initialized, then more and more, then single layers."""
    model = subject.model
    network: Network = model.predict  # type: ignore[assignment]
    names = layers_of(network, subject.represent.each(subject.X).inputs(0, 1))
    if not names:
        raise NotApplicable("the network has no layer with parameters of its own: nothing can be re-initialized")
    last = len(names) - 1
    down = _spread(0, last, depths.down)
    alone = [at for at in _spread(0, last, depths.alone) if at > 0]  # the last layer alone is the first step down
    for i in range(n):
        base = int(generator(seed, i).integers(2**31))
        for at in down:
            made = reinitialized(network, names[: at + 1], base)
            yield Twin(f"down to {names[at]}", model.with_predict(made))
        for at in alone:
            made = reinitialized(network, [names[at]], base)
            yield Twin(f"only {names[at]}", model.with_predict(made), decides=False)


def layers_of(network: Network, batch: Any) -> tuple[str, ...]:
    """Names of the submodules with parameters of their own, the last to answer first."""
    module = copied(network.module)
    layers = [name for name, part in module.named_modules() if _own(part)]
    called: dict[str, int] = {}
    for name, part in module.named_modules():
        part.register_forward_pre_hook(_noting(called, name))
    with require("torch", extra="torch").no_grad():
        twin = replace(network, module=module)
        twin.ask(twin.tensor(batch))
    order = {name: (_when(name, called), at) for at, name in enumerate(layers)}
    return tuple(sorted(layers, key=order.__getitem__, reverse=True))


def reinitialized(network: Network, names: Sequence[str], seed: int) -> Network:
    """The network with these layers as they were before any training; the same seed, the same layer."""
    torch = require("torch", extra="torch")
    module = copied(network.module)
    parts = dict(module.named_modules())
    every = {name: at for at, name in enumerate(parts)}
    devices = sorted({values.device.index or 0 for values in module.parameters() if values.is_cuda})
    with torch.random.fork_rng(devices), torch.no_grad():
        for name in names:
            torch.manual_seed((seed + every[name]) % 2**63)
            _reset(torch, parts[name])
    return replace(network, module=module)


def copied(module: Any) -> Any:
    """A copy that shares nothing, so that the caller's module stays as it is."""
    try:
        return deepcopy(module)
    except Exception as cause:
        raise InputError(
            f"the network cannot be copied ({describe_error(cause)}), which it must be, since a check "
            "re-initializes a copy"
        ) from cause


def _reset(torch: Any, layer: Any) -> None:
    """By the layer's own initializer, running statistics too; where it has none, its numbers are shuffled."""
    own = getattr(layer, "reset_parameters", None) or getattr(layer, "_reset_parameters", None)
    if callable(own):
        own()
        return
    for values in layer.parameters(recurse=False):
        values.copy_(
            values.flatten()[torch.randperm(values.numel(), device="cpu").to(values.device)].view_as(values)
        )


def _noting(called: dict[str, int], name: str) -> Callable[[Any, Any], None]:
    """A hook that notes when a submodule is first called."""

    def note(part: Any, inputs: Any) -> None:
        called.setdefault(name, len(called))

    return note


def _own(part: Any) -> bool:
    return next(iter(part.parameters(recurse=False)), None) is not None


def _when(name: str, called: dict[str, int]) -> int:
    """When a submodule was first called; one that its parent uses without a call, when that was."""
    while name and name not in called:
        name = name.rpartition(".")[0]
    return called.get(name, 0)


def _spread(first: int, last: int, n: int) -> list[int]:
    """At most n whole numbers from first to last, both included."""
    return sorted({int(at) for at in np.rint(np.linspace(first, last, n))}) if n else []
