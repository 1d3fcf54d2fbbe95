"""Whether a module can be asked: by itself alone, without chance, and with its steps in sight."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from veridical.errors import InputError, require


def check_ready(module: Any) -> None:
    """Refuse a module whose answers depend on chance or on the rest of a batch, or that would learn from them."""
    torch = require("torch", extra="torch")
    for part in parts_of(module):
        batch = isinstance(part, torch.nn.modules.batchnorm._BatchNorm)
        if batch and part.running_mean is None:
            raise InputError(
                f"{_place(module, part)} keeps no running statistics, so the answer to an input depends on the "
                "others of its batch: train it with track_running_stats=True"
            )
        if part.training and (batch or _varies(torch, part)):
            raise InputError(
                f"the network is in training mode, in which {_place(module, part)} does not answer an input by "
                "itself alone: call module.eval() first"
            )


def parts_of(module: Any) -> list[Any]:
    """A module and all within it, each once: what ``modules()`` gives, in a third of the time."""
    found, waiting = dict[Any, None](), [module]
    while waiting:
        part = waiting.pop()
        if part is not None and part not in found:
            found[part] = None
            waiting += reversed(part._modules.values())
    return list(found)


def _place(module: Any, part: Any) -> str:
    """What kind of module a part is, and where it stands."""
    name = next(name for name, each in module.named_modules() if each is part)
    return f"{type(part).__name__} {f'({name})' if name else ''}"


@contextmanager
def without_chance(module: Any) -> Iterator[None]:
    """Refuse that a module in training mode draws random numbers, as functions do that no module stands for."""
    if not any(part.training for part in parts_of(module)):
        yield
        return
    torch = require("torch", extra="torch")
    on_gpu = {p.device for p in module.parameters() if p.is_cuda}

    def drawn() -> list[Any]:
        return [torch.get_rng_state(), *(torch.cuda.get_rng_state(device) for device in on_gpu)]

    before = drawn()
    yield
    if not all(map(torch.equal, drawn(), before)):
        raise InputError(
            "the network is in training mode, in which it draws random numbers (for nn.functional.dropout, say), "
            "so that its answers depend on chance: call module.eval() first"
        )


def _varies(torch: Any, part: Any) -> bool:
    """Whether a part in training mode drops numbers at random, or learns from what it is asked."""
    if isinstance(part, torch.nn.modules.dropout._DropoutNd):
        return bool(part.p > 0)
    if isinstance(part, (torch.nn.RNNBase, torch.nn.MultiheadAttention)):
        return bool(part.dropout > 0)
    return isinstance(part, torch.nn.modules.instancenorm._InstanceNorm) and bool(part.track_running_stats)


def check_seen(module: Any, wanted_by: str) -> None:
    """Refuse a module whose steps cannot be watched."""
    torch = require("torch", extra="torch")
    if any(isinstance(each, torch.jit.ScriptModule) for each in module.modules()):
        raise InputError(f"{wanted_by} cannot see into a scripted module: pass the module it was made of")
