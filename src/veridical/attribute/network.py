"""Networks: torch modules that take instances as a representer gives them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np

from veridical.attribute.ask import described, n_rows
from veridical.attribute.launches import KNOWN, Way, copied, fetched, launched
from veridical.attribute.ready import check_ready, without_chance
from veridical.attribute.switches import ENOUGH, Switched, n_looked_at, switch_between, switch_seen
from veridical.errors import InputError, ModelError, VeridicalError, describe_error, require, safe_str
from veridical.records import Floats
from veridical.represent.masked import with_data

CUDNN = Lock()
PRECISIONS = ("float16", "bfloat16")
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

    ``precision`` "bfloat16" or "float16" answers by a copy of the module in that type, which is made here and now:
    about twice as fast on a GPU, and answers have about three digits. Methods that need gradients keep to the
    module itself.

    Inputs of masks are made on the module's device where ``prepare`` works number by number, which is looked at
    first. How many are answered at once depends on the memory, and on a GPU pictures lie in it with their channels
    last where the module can take them so: both change answers by rounding alone.

    The module is never changed: no weight, no flag, no hook.
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
            copy = _converted(self.module, self.precision)
            object.__setattr__(self, "quick", replace(self, module=copy, precision=None))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (
            self.module, self.prepare, self.answers, self.embedding, self.spans, self.precision,
        )  # fmt: skip

    def __call__(self, batch: Any) -> Floats:
        """What the network answers to a batch of instances: (n, k), as ``answers`` says."""
        if self.quick is not None:
            return self.quick(batch)
        inputs = batch if isinstance(batch, Switched) else self.tensor(batch)
        if not len(inputs):
            return np.empty((0, 1))
        answers = self.launch(inputs)
        if isinstance(batch, Switched):
            with_data(batch.view)  # while the device works
        return as_numbers(answers)

    def launch(self, inputs: Any) -> Any:
        """The answers (n, k) to the module's own inputs, on its device, which may still be working on them."""
        if self.quick is not None:
            return self.quick.launch(inputs)
        torch = require("torch", extra="torch")
        check_ready(self.module)

        def answer(rows: slice, last: bool) -> Any:
            fresh = inputs.made(rows, last) if isinstance(inputs, Switched) else copied(inputs[rows], last)
            return self.answered(self._checked(self._run(fresh), len(fresh)))  # it may change them in place

        first = KNOWN.get(self.module) or Way.first(self._like())
        with (
            torch.no_grad(),
            without_chance(self.module),
        ):  # inference_mode is no quicker, and spoils what modules keep
            answers, way = launched(answer, inputs, first)
        if inputs.is_cuda or way is not first:
            KNOWN[self.module] = way
        return answers

    def switched(self, inputs: Any) -> Switched | None:
        """The inputs of masks as the network makes them itself, where it is; None if only their maker can."""
        if self.quick is not None:
            return self.quick.switched(inputs)
        compose, masks = getattr(inputs, "compose", None), getattr(inputs, "designs", None)
        places, ends = (getattr(compose, name, None) for name in ("places", "ends"))
        if places is None or ends is None or masks is None:
            return None
        switch, d = None, masks.shape[1]
        if self.prepare is None:
            switch = switch_between(self.own(ends[0]), self.own(ends[1]), compose)
        elif len(masks) >= ENOUGH * n_looked_at(d):
            switch = switch_seen(lambda some: self.tensor(inputs.compose(some)), d)
        return None if switch is None else Switched.of(switch, masks != 0, getattr(inputs, "view", None))

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
                f"prepare failed with {type(cause).__name__} on {described(batch)}: {safe_str(cause)}; it must "
                "turn a batch of instances into the module's input"
            ) from cause

    def moved(self, inputs: Any) -> Any:
        """A tensor of inputs on the module's device, and of its type unless they are whole numbers."""
        like = self._like()
        dtype = like.dtype if inputs.is_floating_point() else inputs.dtype
        return _sent(inputs, like, dtype)

    def ask(self, inputs: Any) -> Any:
        """The module's own outputs (n, k) to its own inputs, differentiable where gradients are on."""
        check_ready(self.module)
        with without_chance(self.module):
            return self._checked(self._run(inputs.clone()), len(inputs))  # it may change them in place

    def _checked(self, outputs: Any, n: int) -> Any:
        """Outputs as (n, k), or an error that says what is wrong with them."""
        if hasattr(outputs, "detach") and n == 1 and outputs.dim() < 2:
            outputs = outputs.reshape(1, -1)  # a module that squeezes its answer
        shape = tuple(getattr(outputs, "shape", ()))
        if not hasattr(outputs, "detach") or len(shape) not in (1, 2) or shape[0] != n:
            what = f"a tensor of shape {shape}" if hasattr(outputs, "detach") else type(outputs).__name__
            raise ModelError(
                f"the module gave {what} for {n} inputs; wanted one row, or one number, per input: wrap "
                "it in a module that returns its logits alone"
            )
        return outputs[:, None] if len(shape) == 1 else outputs

    def _run(self, inputs: Any) -> Any:
        try:
            return self.module(inputs)
        except VeridicalError:
            raise
        except Exception as cause:
            hint = (
                ""
                if self.prepare
                else "; if it takes them otherwise, say channels first, give vd.Network(module, prepare=…)"
            )
            kind, shape = type(cause).__name__, tuple(inputs.shape)
            raise ModelError(
                f"the module raised {kind} on a tensor of shape {shape}: {safe_str(cause)}{hint}"
            ) from cause

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
        if outputs.element_size() < 4:
            outputs = outputs.float()
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
        like = self._like()
        if not isinstance(batch, torch.Tensor):
            batch = torch.as_tensor(_as_array(batch))
        ids = self.embedding is not None and not batch.is_floating_point()
        return _sent(batch, like, torch.long if ids else like.dtype)

    @property
    def device(self) -> Any:
        """Where the module is."""
        return self._like().device

    def _like(self) -> Any:
        """A number of the module's own, whose type and device inputs get."""
        every = chain(self.module.parameters(), self.module.buffers())
        found = next((p for p in every if p.is_floating_point()), None)
        return require("torch", extra="torch").zeros(()) if found is None else found


def is_module(thing: Any) -> bool:
    """Whether it is a torch module, told without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.nn.Module)


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


def as_numbers(outputs: Any) -> Floats:
    """Outputs as NumPy, whatever their type and device."""
    held = fetched(outputs)
    if outputs.is_cuda:
        require("torch", extra="torch").cuda.current_stream(outputs.device).synchronize()
    numbers: Floats = held.numpy()
    return numbers


def _sent(inputs: Any, like: Any, dtype: Any) -> Any:
    """Inputs where ``like`` is, in a type; a GPU converts them itself, which threads of the CPU are slower at."""
    given = inputs.detach().to(like.device) if like.is_cuda else inputs.detach()
    return given.to(device=like.device, dtype=dtype)


def _converted(module: Any, precision: str) -> Any:
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
