"""Networks: torch modules that take instances as a representer gives them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np

from veridical.attribute.ask import described, n_rows
from veridical.errors import InputError, ModelError, VeridicalError, require
from veridical.records import Floats

AT_ONCE = 2**16  # numbers of input that the module is asked about at once, about: layers of more leave the cache
ON_GPU = 2**24
CUDNN = Lock()
COMPILED = "_orig_mod"  # where torch.compile keeps the module

Spans = Callable[[str], Sequence[tuple[int, int]]]


@dataclass(frozen=True, eq=False)
class Network:
    """A torch network that takes instances as a representer gives them.

    ``prepare`` turns a batch of instances (an array, a tensor, a DataFrame, a list of texts) into the module's
    input; without it they become a tensor of the module's own type, on its device. Methods that need gradients
    explain the module's own outputs, which should be logits; the others see what ``answers`` makes of them:
    "softmax", "sigmoid", a function of the output tensor, or the outputs themselves, which is what to leave it at
    where methods of both kinds are compared.

    Where the module's inputs are token ids, ``embedding`` names the submodule that turns them into vectors, by
    which gradients are taken, and ``spans`` gives for a text the (start, stop) of the characters of each token,
    (0, 0) for tokens that stand for none.

    The module is never changed: no weight, no flag, no hook.
    """

    module: Any
    prepare: Callable[[Any], Any] | None = None
    answers: str | Callable[[Any], Any] | None = None
    embedding: str | None = None
    spans: Spans | None = None

    def __post_init__(self) -> None:
        if not is_module(self.module):
            raise InputError(f"Network wants a torch.nn.Module, not {self.module!r}: pass functions as predict")
        for name in ("prepare", "spans"):
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise InputError(f"{name} wants a function, not {given!r}")
        if not (self.answers in (None, "softmax", "sigmoid") or callable(self.answers)):
            raise InputError(f'answers is "softmax", "sigmoid" or a function of the outputs, not {self.answers!r}')
        if self.embedding is not None:
            self.embedder()

    def __call__(self, batch: Any) -> Floats:
        """What the network answers to a batch of instances: (n, k), as ``answers`` says."""
        torch = require("torch", extra="torch")
        inputs, found = self.tensor(batch), []
        with torch.no_grad():
            for piece in pieces(inputs, ON_GPU if inputs.is_cuda else AT_ONCE):
                found.append(as_numbers(self.answered(self.ask(inputs[piece]))))
        return np.concatenate(found) if found else np.empty((0, 1))

    def tensor(self, batch: Any) -> Any:
        """A batch of instances as the module's own input."""
        torch = require("torch", extra="torch")
        if self.prepare is None:
            return self.own(batch)
        made = self._prepared(batch)
        if not isinstance(made, torch.Tensor):
            raise InputError(
                f"prepare must give a tensor, the module's input; it gave {type(made).__name__}: wrap a module of "
                "several inputs in one that takes a single tensor"
            )
        if not made.dim() or len(made) != n_rows(batch):
            raise InputError(
                f"prepare gave a tensor of shape {tuple(made.shape)} for {n_rows(batch)} instances; it must give "
                "one row per instance"
            )
        return self.moved(made)

    def _prepared(self, batch: Any) -> Any:
        assert self.prepare is not None
        if isinstance(batch, np.ndarray) and not batch.flags.writeable:
            batch = batch.copy()  # torch warns of arrays that are locked
        try:
            return self.prepare(batch)
        except VeridicalError:
            raise
        except Exception as cause:
            raise InputError(
                f"prepare failed with {type(cause).__name__} on {described(batch)}: {cause}; it must turn a batch "
                "of instances into the module's input"
            ) from cause

    def moved(self, inputs: Any) -> Any:
        """A tensor of inputs on the module's device, and of its type unless they are whole numbers."""
        like = self._like(require("torch", extra="torch"))
        dtype = like.dtype if inputs.is_floating_point() else inputs.dtype
        return inputs.detach().to(device=like.device, dtype=dtype)

    def ask(self, inputs: Any) -> Any:
        """The module's own outputs (n, k) to its own inputs, differentiable where gradients are on."""
        outputs = self._run(inputs)
        if hasattr(outputs, "detach") and len(inputs) == 1 and outputs.dim() < 2:
            outputs = outputs.reshape(1, -1)  # a module that squeezes its answer
        shape = tuple(getattr(outputs, "shape", ()))
        if not hasattr(outputs, "detach") or len(shape) not in (1, 2) or shape[0] != len(inputs):
            what = f"a tensor of shape {shape}" if hasattr(outputs, "detach") else type(outputs).__name__
            raise ModelError(
                f"the module gave {what} for {len(inputs)} inputs; wanted one row, or one number, per input: wrap "
                "it in a module that returns its logits alone"
            )
        return outputs[:, None] if len(shape) == 1 else outputs

    def _run(self, inputs: Any) -> Any:
        check_ready(self.module)
        try:
            with _without_chance(self.module, inputs):
                return self.module(inputs.clone())  # it may change them in place
        except VeridicalError:
            raise
        except Exception as cause:
            hint = (
                ""
                if self.prepare
                else "; if it takes them otherwise, say channels first, give vd.Network(module, prepare=…)"
            )
            kind, shape = type(cause).__name__, tuple(inputs.shape)
            raise ModelError(f"the module raised {kind} on a tensor of shape {shape}: {cause}{hint}") from cause

    def uncompiled(self) -> Network:
        """The network as it was before torch.compile, whose code sees no hook that came later."""
        inner = getattr(self.module, COMPILED, None)
        if inner is None:
            return self
        name = None if self.embedding is None else self.embedding.removeprefix(f"{COMPILED}.")
        return replace(self, module=inner, embedding=name)

    def embedder(self) -> Any:
        """The submodule that turns token ids into vectors."""
        known = dict(self.module.named_modules())
        if self.embedding not in known:
            names = [n for n, m in known.items() if "Embedding" in type(m).__name__]
            hint = f"; it has {', '.join(names)}" if names else ""
            raise InputError(f"the module has no submodule {self.embedding!r} for embedding{hint}")
        return known[self.embedding]

    def answered(self, outputs: Any) -> Any:
        """What the caller sees of the module's own outputs, as ``answers`` says."""
        if self.answers == "sigmoid":
            return outputs.sigmoid()
        if self.answers == "softmax":
            if outputs.shape[1] == 1:
                raise InputError('the network has one output, whose softmax is always 1: use answers="sigmoid"')
            return outputs.softmax(dim=1)
        found = self.answers(outputs) if callable(self.answers) else outputs
        shape = tuple(getattr(found, "shape", ()))
        if not hasattr(found, "detach") or len(shape) not in (1, 2) or shape[0] != len(outputs):
            what = f"a tensor of shape {shape}" if hasattr(found, "detach") else type(found).__name__
            raise InputError(
                f"answers made {what} of outputs of shape {tuple(outputs.shape)}; it must give a tensor with one "
                "row, or one number, per input"
            )
        return found

    def own(self, batch: Any) -> Any:
        """Numbers as a tensor of the module's own type, on its device; token ids stay whole."""
        torch = require("torch", extra="torch")
        like = self._like(torch)
        if not isinstance(batch, torch.Tensor):
            batch = torch.as_tensor(_as_array(batch))
        ids = self.embedding is not None and not batch.is_floating_point()
        return batch.detach().to(device=like.device, dtype=torch.long if ids else like.dtype)

    def _like(self, torch: Any) -> Any:
        """A number of the module's own, whose type and device inputs get."""
        every = [*self.module.parameters(), *self.module.buffers()]
        return next((p for p in every if p.is_floating_point()), torch.zeros(()))


def is_module(thing: Any) -> bool:
    """Whether it is a torch module, told without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.nn.Module)


def check_ready(module: Any) -> None:
    """Refuse a module whose answers depend on chance or on the rest of a batch, or that would learn from them."""
    torch = require("torch", extra="torch")
    for name, part in module.named_modules():
        kind, where = type(part).__name__, f"({name})" if name else ""
        batch = isinstance(part, torch.nn.modules.batchnorm._BatchNorm)
        if batch and part.running_mean is None:
            raise InputError(
                f"{kind} {where} keeps no running statistics, so the answer to an input depends on the others of "
                "its batch: train it with track_running_stats=True"
            )
        if part.training and (batch or _varies(torch, part)):
            raise InputError(
                f"the network is in training mode, in which {kind} {where} does not answer an input by itself "
                "alone: call module.eval() first"
            )


@contextmanager
def _without_chance(module: Any, inputs: Any) -> Iterator[None]:
    """Refuse that a module in training mode draws random numbers, as functions do that no module stands for."""
    if not any(part.training for part in module.modules()):
        yield
        return
    torch = require("torch", extra="torch")

    def drawn() -> Any:
        return torch.cuda.get_rng_state(inputs.device) if inputs.is_cuda else torch.get_rng_state()

    before = drawn()
    yield
    if not torch.equal(drawn(), before):
        raise InputError(
            "the network is in training mode, in which it draws random numbers (for nn.functional.dropout, say), "
            "so that its answers depend on chance: call module.eval() first"
        )


def check_seen(module: Any, wanted_by: str) -> None:
    """Refuse a module whose steps cannot be watched."""
    torch = require("torch", extra="torch")
    if any(isinstance(each, torch.jit.ScriptModule) for each in module.modules()):
        raise InputError(f"{wanted_by} cannot see into a scripted module: pass the module it was made of")


def _varies(torch: Any, part: Any) -> bool:
    """Whether a part in training mode drops numbers at random, or learns from what it is asked."""
    if isinstance(part, torch.nn.modules.dropout._DropoutNd):
        return bool(part.p > 0)
    if isinstance(part, (torch.nn.RNNBase, torch.nn.MultiheadAttention)):
        return bool(part.dropout > 0)
    return isinstance(part, torch.nn.modules.instancenorm._InstanceNorm) and bool(part.track_running_stats)


@contextmanager
def gradients_on(module: Any) -> Iterator[None]:
    """Gradients, whatever the caller has switched off."""
    torch = require("torch", extra="torch")
    recurrent = any(isinstance(part, torch.nn.RNNBase) and part.weight_hh_l0.is_cuda for part in module.modules())
    with torch.inference_mode(False), torch.enable_grad(), without_cudnn() if recurrent else nullcontext():
        yield


@contextmanager
def without_cudnn() -> Iterator[None]:
    """For recurrent networks, which cuDNN differentiates in training mode only; one thread at a time."""
    settings: Any = require("torch.backends.cudnn", extra="torch")
    with CUDNN:
        before = settings.enabled
        settings.enabled = False
        try:
            yield
        finally:
            settings.enabled = before


def pieces(inputs: Any, at_once: int) -> list[slice]:
    """Cuts of a batch, of about so many numbers each."""
    each = max(int(np.prod(inputs.shape[1:])), 1)
    step = max(at_once // each, 1)
    return [slice(start, start + step) for start in range(0, len(inputs), step)]


def as_numbers(outputs: Any) -> Floats:
    """Outputs as NumPy, whatever their type and device."""
    numbers: Floats = outputs.detach().cpu().double().numpy()
    return numbers


def _as_array(batch: Any) -> Any:
    """A batch of instances as one array of numbers."""
    if hasattr(batch, "toarray"):
        batch = batch.toarray()
    try:
        array = np.stack([np.asarray(x) for x in batch]) if isinstance(batch, list) else np.asarray(batch)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError, VeridicalError) as cause:
        raise InputError(
            f"a batch of {type(batch).__name__} does not become a tensor by itself ({cause}): give "
            "vd.Network(module, prepare=…), a function from a batch of instances to the module's input"
        ) from cause
    if array.dtype.kind not in "biuf":
        raise InputError(
            f"instances of type {array.dtype} do not become a tensor by themselves: give "
            "vd.Network(module, prepare=…), a function from a batch of instances to the module's input"
        )
    return np.array(array)  # a copy: views may be read-only or reversed, which torch has not
