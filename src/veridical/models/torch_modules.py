"""Torch modules as models: checks that they are in eval mode, deterministic and hookable; batches and devices."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from veridical.errors import InputError, ModelError, VeridicalError, describe_error, require, safe_str
from veridical.models.outputs import describe_inputs, n_rows
from veridical.models.switching import ENOUGH, Switched, n_looked_at, switch_between, switch_seen
from veridical.records import Floats
from veridical.representations.masking import MaskedInputs
from veridical.representations.regions import SwitchableComposer


def check_ready(module: Any) -> None:
    """Refuse a module whose answers are random, depend on the rest of a batch, or that would learn from inputs."""
    torch = require("torch", extra="torch")
    for part in list_submodules(module):
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


def list_submodules(module: Any) -> list[Any]:
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
    """Refuse a module in training mode that draws random numbers, as nn.functional.dropout does."""
    if not any(part.training for part in list_submodules(module)):
        yield
        return
    torch = require("torch", extra="torch")
    on_gpu = {p.device for p in module.parameters() if p.is_cuda}

    def states() -> list[Any]:
        return [torch.get_rng_state(), *(torch.cuda.get_rng_state(device) for device in on_gpu)]

    before = states()
    yield
    if not all(map(torch.equal, states(), before)):
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


def check_hookable(module: Any, wanted_by: str) -> None:
    """Refuse a module whose operations cannot be followed."""
    torch = require("torch", extra="torch")
    if any(isinstance(each, torch.jit.ScriptModule) for each in module.modules()):
        raise InputError(f"{wanted_by} cannot see into a scripted module: pass the module it was made of")


MAX_NUMBERS_ON_CPU = 2**16  # of input at once, about: layers of more leave the cache
MAX_NUMBERS_ON_GPU = 2**24
MAX_NUMBERS_WITHOUT_GRADIENTS = 2**27  # on a GPU, where nothing is kept for a backward pass and memory allows
MIN_FREE_MEMORY = 64  # times as much memory as inputs take must be free before they are tried all at once
NUMBERS_PER_TOKEN = 2**10  # that a token's id becomes, about


@dataclass(frozen=True)
class LaunchPlan:
    """How a module is run: how much at once, and in which memory layout."""

    numbers: int  # of input, at once
    last: bool  # pictures have their channels last in memory, which a GPU is quicker at

    @classmethod
    def first(cls, like: Any) -> LaunchPlan:
        """The plan to try first; ``like`` is of the module's type and device."""
        if not like.is_cuda:
            return cls(MAX_NUMBERS_ON_CPU, last=False)
        torch = require("torch", extra="torch")
        free, _ = torch.cuda.mem_get_info(like.device)
        kept = torch.cuda.memory_reserved(like.device) - torch.cuda.memory_allocated(like.device)
        return cls(
            min((free + kept) // (MIN_FREE_MEMORY * like.element_size()), MAX_NUMBERS_WITHOUT_GRADIENTS), last=True
        )

    def easier(self, error: Exception, n: int, each: int) -> LaunchPlan | None:
        """The plan to try after an error with n inputs of so many numbers each; None if there is none."""
        short = require("torch", extra="torch").cuda.OutOfMemoryError
        if isinstance(error.__cause__ or error, short):
            return replace(self, numbers=(n + 1) // 2 * each) if n > 1 else None
        return replace(self, last=False) if self.last else None  # a view of numbers that do not lie in a row, say


LAUNCH_PLANS = WeakKeyDictionary[Any, LaunchPlan]()  # by module, of those on a GPU or run in an easier way


def launch_batches(answer: Callable[[slice, bool], Any], inputs: Any, way: LaunchPlan) -> tuple[Any, LaunchPlan]:
    """The answers to all inputs, on their device, which may still be computing them, and the plan that worked.

    ``answer`` gives those to some of them, with channels last or not.
    """
    torch, found, at, n = require("torch", extra="torch"), list[Any](), 0, len(inputs)
    each = count_numbers(inputs)
    while at < n:
        stop = min(at + max(way.numbers // each, 1), n)
        done = _try_batch(answer, slice(at, stop), way, each)
        if isinstance(done, LaunchPlan):
            way = done
            torch.cuda.empty_cache()
        else:
            found.append(done)
            at = stop
    return found[0] if len(found) == 1 else torch.cat(found), way


def count_numbers(inputs: Any) -> int:
    """How many numbers one of many inputs has; a token's id becomes many on a GPU."""
    vectors = inputs.is_cuda and not inputs.is_floating_point()
    return max(int(np.prod(inputs.shape[1:])), 1) * (NUMBERS_PER_TOKEN if vectors else 1)


def _try_batch(answer: Callable[[slice, bool], Any], rows: slice, way: LaunchPlan, each: int) -> Any:
    """The answers to some rows, or an easier plan: by then, the memory that the error held is free."""
    try:
        return answer(rows, way.last)
    except Exception as error:
        easier = way.easier(error, rows.stop - rows.start, each)
        if easier is None:
            raise
    return easier


def copy_inputs(inputs: Any, last: bool) -> Any:
    """A copy of inputs, on a GPU with channels last or contiguous."""
    torch = require("torch", extra="torch")
    if not inputs.is_cuda:
        return inputs.clone()
    turned = last and inputs.dim() == 4
    return inputs.clone(memory_format=torch.channels_last if turned else torch.contiguous_format)


def fetch_numbers(numbers: Any) -> Any:
    """Numbers on their way to the CPU as doubles, which some devices do not have."""
    torch, own = require("torch", extra="torch"), numbers.detach()
    if not own.is_cuda:
        return own.cpu().to(torch.float64, copy=True)
    return torch.empty(own.shape, dtype=torch.float64, pin_memory=True).copy_(own.double(), non_blocking=True)


def split_batches(inputs: Any, at_once: int) -> list[slice]:
    """Slices of a batch, of about so many numbers each."""
    each = max(int(np.prod(inputs.shape[1:])), 1)
    step = max(at_once // each, 1)
    return [slice(start, start + step) for start in range(0, len(inputs), step)]


CUDNN_LOCK = Lock()
PRECISIONS = ("float16", "bfloat16")
COMPILED_NAME = "_orig_mod"  # where torch.compile keeps the module

Spans = Callable[[str], Sequence[tuple[int, int]]]


@dataclass(frozen=True, eq=False)
class Network:
    """A torch network as a model: how instances become its input, and its outputs answers.

    The module is never changed: no weight, no flag, no hook. How many inputs are answered at once depends on the
    memory, and on a GPU pictures have their channels last where the module can take them so; both change answers
    by rounding alone.

    Parameters
    ----------
    module : torch.nn.Module
        The network, in eval mode.
    prepare : function, optional
        Turns a batch of instances (an array, a tensor, a DataFrame, a list of texts) into the module's input. By
        default they become a tensor of the module's own type, on its device.
    answers : {"softmax", "sigmoid"} or function, optional
        What methods without gradients see of the module's outputs; a function takes and gives a tensor. By default
        the outputs themselves, which is best where both kinds of methods are compared. Methods that need gradients
        always explain the module's own outputs, which should be logits.
    embedding : str, optional
        Name of the submodule that turns token ids into vectors; gradients are taken by those.
    spans : function, optional
        Gives for a text the (start, stop) of the characters of each token, (0, 0) for tokens that stand for none.
    precision : {"bfloat16", "float16"}, optional
        Answer by a copy of the module in that type, made now: about twice as fast on a GPU, with about three
        digits. Methods that need gradients use the module itself.

    Raises
    ------
    InputError
        If the module is no torch module, has no such submodule, or cannot be copied in that precision.
    """

    module: Any
    prepare: Callable[[Any], Any] | None = None
    answers: str | Callable[[Any], Any] | None = None
    embedding: str | None = None
    spans: Spans | None = None
    precision: str | None = None
    quick: Network | None = field(default=None, init=False, repr=False)  # the copy of that precision

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
        if self.precision is not None:
            copy = _convert(self.module, self.precision)
            object.__setattr__(self, "quick", replace(self, module=copy, precision=None))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, each.name) for each in fields(self) if each.init)

    def __call__(self, batch: Any) -> Floats:
        """The network's answers (n, k) to a batch of instances, as ``answers`` says."""
        if self.quick is not None:
            return self.quick(batch)
        inputs = batch if isinstance(batch, Switched) else self.tensor(batch)
        if not len(inputs):
            return np.empty((0, 1))
        answers = self.launch(inputs)
        if isinstance(batch, Switched) and batch.meanwhile is not None:
            batch.meanwhile()
        return as_numbers(answers)

    def launch(self, inputs: Any) -> Any:
        """The answers (n, k) to the module's own inputs, on its device, which may still be computing them."""
        if self.quick is not None:
            return self.quick.launch(inputs)
        torch = require("torch", extra="torch")
        check_ready(self.module)

        def answer(rows: slice, last: bool) -> Any:
            fresh = inputs.made(rows, last) if isinstance(inputs, Switched) else copy_inputs(inputs[rows], last)
            return self.transform_outputs(self._ask(fresh))

        first = LAUNCH_PLANS.get(self.module) or LaunchPlan.first(self._like())
        # inference_mode is no quicker, and spoils what modules keep
        with torch.no_grad(), without_chance(self.module):
            answers, way = launch_batches(answer, inputs, first)
        if inputs.is_cuda or way is not first:
            LAUNCH_PLANS[self.module] = way
        return answers

    def switched(self, inputs: Any) -> Switched | None:
        """Masked inputs as the network can make them on its own device; None if only their composer can."""
        if self.quick is not None:
            return self.quick.switched(inputs)
        if not isinstance(inputs, MaskedInputs) or not isinstance(inputs.compose, SwitchableComposer):
            return None
        compose, masks, ends = inputs.compose, inputs.designs, inputs.compose.ends
        switch, d = None, masks.shape[1]
        if self.prepare is None:
            switch = switch_between(self.to_tensor(ends[0]), self.to_tensor(ends[1]), compose)
        elif len(masks) >= ENOUGH * n_looked_at(d):
            switch = switch_seen(lambda some: self.tensor(inputs.compose(some)), d)
        return None if switch is None else Switched.of(switch, masks != 0, inputs.meanwhile)

    def tensor(self, batch: Any) -> Any:
        """A batch of instances as the module's own input."""
        torch = require("torch", extra="torch")
        if self.prepare is None:
            return self.to_tensor(batch)
        if isinstance(batch, np.ndarray) and not batch.flags.writeable:
            batch = batch.copy()  # torch warns of arrays that are locked
        try:
            made = self.prepare(batch)
        except VeridicalError:
            raise
        except Exception as cause:
            raise InputError(
                f"prepare failed with {type(cause).__name__} on {describe_inputs(batch)}: {safe_str(cause)}; it "
                "must turn a batch of instances into the module's input"
            ) from cause
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
        return self.to_device(made)

    def to_device(self, inputs: Any) -> Any:
        """A tensor of inputs on the module's device, and of its type unless they are whole numbers."""
        like = self._like()
        dtype = like.dtype if inputs.is_floating_point() else inputs.dtype
        return _send(inputs, like, dtype)

    def ask(self, inputs: Any) -> Any:
        """The module's own outputs (n, k) to its own inputs, differentiable where gradients are on."""
        check_ready(self.module)
        with without_chance(self.module):
            return self._ask(inputs.clone())  # it may change them in place

    def _ask(self, inputs: Any) -> Any:
        """The module's own outputs (n, k), or an error that says what is wrong with them."""
        n = len(inputs)
        try:
            outputs = self.module(inputs)
        except VeridicalError:
            raise
        except Exception as cause:
            hint = "; if it takes them otherwise, say channels first, give vd.Network(module, prepare=…)"
            raise ModelError(
                f"the module raised {type(cause).__name__} on a tensor of shape {tuple(inputs.shape)}: "
                f"{safe_str(cause)}{'' if self.prepare else hint}"
            ) from cause
        if hasattr(outputs, "detach") and n == 1 and outputs.dim() < 2:
            outputs = outputs.reshape(1, -1)  # a module that squeezes its answer
        if not _has_row_per_input(outputs, n):
            raise ModelError(
                f"the module gave {_describe_tensor(outputs)} for {n} inputs; wanted one row, or one number, per "
                "input: wrap it in a module that returns its logits alone"
            )
        return outputs[:, None] if outputs.dim() == 1 else outputs

    def unwrap(self) -> Network:
        """The network as it was before torch.compile, whose code ignores hooks that are set later."""
        inner = getattr(self.module, COMPILED_NAME, None)
        if inner is None:
            return self
        name = None if self.embedding is None else self.embedding.removeprefix(f"{COMPILED_NAME}.")
        return replace(self, module=inner, embedding=name)

    def embedder(self) -> Any:
        """The submodule that turns token ids into vectors."""
        known = dict(self.module.named_modules())
        if self.embedding not in known:
            names = [n for n, m in known.items() if "Embedding" in type(m).__name__]
            hint = f"; it has {', '.join(names)}" if names else ""
            raise InputError(f"the module has no submodule {self.embedding!r} for embedding{hint}")
        return known[self.embedding]

    def transform_outputs(self, outputs: Any) -> Any:
        """The answers that methods without gradients see, as ``answers`` says."""
        if outputs.element_size() < 4:
            outputs = outputs.float()
        if self.answers == "sigmoid":
            return outputs.sigmoid()
        if self.answers == "softmax":
            if outputs.shape[1] == 1:
                raise InputError('the network has one output, whose softmax is always 1: use answers="sigmoid"')
            return outputs.softmax(dim=1)
        found = self.answers(outputs) if callable(self.answers) else outputs
        if not _has_row_per_input(found, len(outputs)):
            raise InputError(
                f"answers made {_describe_tensor(found)} of outputs of shape {tuple(outputs.shape)}; it must give "
                "a tensor with one row, or one number, per input"
            )
        return found

    def to_tensor(self, batch: Any) -> Any:
        """Numbers as a tensor of the module's own type, on its device; token ids stay whole."""
        torch = require("torch", extra="torch")
        like = self._like()
        if not isinstance(batch, torch.Tensor):
            batch = torch.as_tensor(_as_array(batch))
        ids = self.embedding is not None and not batch.is_floating_point()
        return _send(batch, like, torch.long if ids else like.dtype)

    @property
    def device(self) -> Any:
        """Where the module is."""
        return self._like().device

    def _like(self) -> Any:
        """A number of the module's own, whose type and device inputs get."""
        every = chain(self.module.parameters(), self.module.buffers())
        found = next((p for p in every if p.is_floating_point()), None)
        return require("torch", extra="torch").zeros(()) if found is None else found


def _has_row_per_input(outputs: Any, n: int) -> bool:
    return hasattr(outputs, "detach") and outputs.dim() in (1, 2) and len(outputs) == n


def _describe_tensor(outputs: Any) -> str:
    is_tensor = hasattr(outputs, "detach")
    return f"a tensor of shape {tuple(outputs.shape)}" if is_tensor else type(outputs).__name__


def is_module(thing: Any) -> bool:
    """Whether it is a torch module, told without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.nn.Module)


@contextmanager
def gradients_on(module: Any) -> Iterator[None]:
    """Turn gradients on, whatever the caller has turned off."""
    torch = require("torch", extra="torch")
    recurrent = any(isinstance(part, torch.nn.RNNBase) and part.weight_hh_l0.is_cuda for part in module.modules())
    with torch.inference_mode(False), torch.enable_grad(), without_cudnn() if recurrent else nullcontext():
        yield


@contextmanager
def without_cudnn() -> Iterator[None]:
    """Turn cuDNN off, which differentiates recurrent networks in training mode only; one thread at a time."""
    settings: Any = require("torch.backends.cudnn", extra="torch")
    with CUDNN_LOCK:
        before = settings.enabled
        settings.enabled = False
        try:
            yield
        finally:
            settings.enabled = before


def as_numbers(outputs: Any) -> Floats:
    """Outputs as NumPy, whatever their type and device."""
    held = fetch_numbers(outputs)
    if outputs.is_cuda:
        require("torch", extra="torch").cuda.current_stream(outputs.device).synchronize()
    numbers: Floats = held.numpy()
    return numbers


def _send(inputs: Any, like: Any, dtype: Any) -> Any:
    """Inputs where ``like`` is, in a type; a GPU converts them itself, which threads of the CPU are slower at."""
    given = inputs.detach().to(like.device) if like.is_cuda else inputs.detach()
    return given.to(device=like.device, dtype=dtype)


def _convert(module: Any, precision: str) -> Any:
    """A copy of a module in another type."""
    if precision not in PRECISIONS:
        raise InputError(f"precision is {' or '.join(map(repr, PRECISIONS))}, not {precision!r}")
    torch = require("torch", extra="torch")
    try:
        return deepcopy(module).to(getattr(torch, precision))
    except Exception as cause:
        raise InputError(
            f"the module cannot be copied for precision={precision!r} ({describe_error(cause)}): convert "
            "it yourself, as in module.bfloat16(), and leave precision out"
        ) from cause


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
